"""Which users of an A/B test are also in other tests of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recdash.domain.records import OnlineTest
from recdash.errors import InputError, StoreError
from recdash.service.context import ServiceContext
from recdash.service.online.planned import begins
from recdash.service.online.tests import OnlineTests

if TYPE_CHECKING:
    from recdash.online.analysis.shared_users import SharedUsers
    from recdash.online.users import OnlineUsers

MOST_TESTS = 20
"""How many other tests are looked at, the newest first; reading the users of each takes time."""


class ConcurrentTests:
    """The service that finds the users of an A/B test who are also in other tests of the store."""

    def __init__(self, context: ServiceContext, online_tests: OnlineTests) -> None:
        self._context, self._online_tests = context, online_tests
        self._cached = context.cached_until_written(self._find, most=64)

    def of(self, test_id: str) -> tuple[SharedUsers, ...]:
        """Returns how many users of a test are also in each other test that ran on one of its days; empty
        without any, and for a test with aggregated data.

        Other tests are the active ones of all experiments that the person may read, the newest 20. A test
        with the same data is the same test. So is one of the same experiment with a name that begins alike
        (``menu``, ``menu week 2``), in which all shared users are in variants of the same names: it has
        earlier or later data. Nothing of the answer is stored.
        """
        return self._cached(test_id)

    def _find(self, test_id: str) -> tuple[SharedUsers, ...]:
        from recdash.online.analysis.shared_users import are_assigned_alike, ran_together, shared_users

        test = self._context.ab_test(test_id)
        if test.kind == "aggregates":
            return ()
        users = self._online_tests.users(test_id)
        names = {experiment.id: experiment.name for experiment in self._context.store.experiments.all()}
        shared = []
        for other in self._others(test):
            others = self._users_of(other)
            if others is None or not len(others) or not ran_together(users, others):
                continue
            is_at_home = other.experiment == test.experiment
            in_both = shared_users(users, others, other.name, "" if is_at_home else names[other.experiment])
            is_upload = is_at_home and _begin_alike(test.name, other.name)
            # few users are in the same variants by chance
            if not (is_upload and in_both.is_uneven and are_assigned_alike(users, others)):
                shared.append(in_both)
        return tuple(sorted((each for each in shared if each.n), key=lambda each: -each.n))

    def _others(self, test: OnlineTest) -> list[OnlineTest]:
        others = [
            other
            for experiment in self._context.store.experiments.all()
            for other in self._online_tests.all(experiment.id)
            if other.upload != test.upload and other.kind != "aggregates"
        ]
        by_upload = {
            other.upload: other for other in others
        }  # one stored with several experiments counts once
        return sorted(by_upload.values(), key=lambda other: other.created, reverse=True)[:MOST_TESTS]

    def _users_of(self, test: OnlineTest) -> OnlineUsers | None:
        """Returns the users of another test; None if its files are damaged, which is no fault of this one."""
        try:
            return self._online_tests.users(test.id)
        except (InputError, StoreError):
            return None


def _begin_alike(name: str, other: str) -> bool:
    """Returns whether one of two names of tests is the beginning of the other, as of uploads of one test."""
    name, other = name.casefold(), other.casefold()
    return begins(name, other) or begins(other, name)
