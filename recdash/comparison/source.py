"""The protocol by which a comparison reads its runs, whether they are scored from files or stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from recdash.domain.hits import IdOverlap
from recdash.domain.kinds import Users
from recdash.domain.records import Replicated
from recdash.domain.results import AbTestElsewhere, OnlineLift, UserValues
from recdash.errors import Problem
from recdash.stats.jackknife import Pulls

if TYPE_CHECKING:
    from recdash.domain.results import Slice


class Source(Protocol):
    """Runs by their ids, all evaluated against one test set."""

    @property
    def names(self) -> Mapping[str, str]:
        """Returns {run id: name}."""

    def under(self, users: Users) -> Source:
        """Returns a source of the same runs in which another rule decides which users count."""

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        """Returns the metric's values of the users who count; None if the run lacks the metric.

        Raises InputError for a metric without a value per user, and for a k beyond the length of the stored
        lists.
        """

    def value(self, run: str, metric: str, k: int) -> float | None:
        """Returns the metric's value over all users who count; None if the run lacks it. Works for every
        metric.
        """

    def why_absent(self, run: str, metric: str) -> str:
        """Returns why the run lacks the metric; empty if no reason is known."""

    def user_slices(self) -> Sequence[Slice]:
        """Returns the slices of users in which a candidate is checked for harm."""

    def replicated(self, run: str) -> Replicated | None:
        """Returns the run's folds or seeds; None if it was uploaded once."""

    def replicate_value(self, run: str, label: str, metric: str, k: int) -> float | None:
        """Returns the value of a catalogue-level metric in one replicate, given by its label; None if it
        lacks the metric.
        """

    def replicate_values(self, run: str, label: str, metric: str, k: int) -> UserValues | None:
        """Returns the metric's values of the users who count in one replicate; in a fold these are users with
        a list. None if it lacks the metric.
        """

    def list_pulls(
        self, runs: Sequence[str], metrics: Sequence[str], k: int
    ) -> Sequence[Mapping[str, Pulls]]:
        """Returns one {metric: pulls} per run: how far each group of its users pulls the value of a
        catalogue-level metric at k. Groups contain the same users in all runs.

        Leaves out metrics that cannot be computed list by list. Raises RecdashError if lists are missing.
        """

    def online(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        """Returns the lifts of the run against the baseline in A/B tests."""

    def lifts_elsewhere(self, run: str, baseline: str) -> Sequence[OnlineLift]:
        """Returns the lifts of the run in A/B tests against other runs than the baseline."""

    def tests_elsewhere(self, run: str, baseline: str) -> Sequence[AbTestElsewhere]:
        """Returns the A/B tests against other runs than the baseline in which the run was a variant or
        control.
        """

    def invalid_tests(self, run: str, baseline: str) -> Sequence[str]:
        """Returns the names of A/B tests between the run and the baseline that have no valid result."""

    def unlinked_tests(self) -> Sequence[str]:
        """Returns the names of A/B tests in which no variant beside control is linked to a run: they say
        nothing of any candidate.
        """

    def known_ids(self, run: str) -> IdOverlap | None:
        """Returns how many of the run's ids occur in test set, catalogue and training data; None for a
        reference candidate, which is computed from these.
        """

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        """Returns problems that make the numbers of these runs less comparable or incomparable."""
