"""The base that all services share: the store as one person sees it, the clock, and cached results."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, lru_cache, partial, wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from recdash.domain.access import Person
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.errors import InputError, NotFound, Problem
from recdash.service.cache import ROOM, SizedCache, VersionCache
from recdash.settings import settings
from recdash.store import OneExperiment, Store

if TYPE_CHECKING:
    from recdash.ingest import Limits


UNNAMED, KEY_HOLDER = "local user", "key holder"
"""The names of a local user and of a user with the dashboard's key, if their own names are unknown."""
SYSTEM_ACCOUNTS = frozenset({"admin", "administrator", "daemon", "nobody", "root", "system"})
"""Login names that do not say who the person is."""
CLEAR_SECONDS = 60.0
"""How long pages that began before a user was removed may still store old answers in a cache."""
LOOK_SECONDS = 2.0
"""How long pages may show cached answers after files of the store were damaged."""

P = ParamSpec("P")
Answer = TypeVar("Answer")


def local_person() -> Person:
    """Returns the local user as an admin, named by the settings or else by the login name."""
    return Person(settings().user or login_name(), "admin", named=False)


@cache
def login_name() -> str:
    """Returns the login name; ``UNNAMED`` if there is none, and for a system account."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):
        return UNNAMED
    return UNNAMED if name.lower() in SYSTEM_ACCOUNTS else name


def no_test_set(experiment: str) -> Problem:
    """Returns the problem to report if runs are to be scored in an experiment without a test set."""
    fix = "Add one first, on the page Add data or with recdash add --truth FILE."
    message = "it has no test set, so runs cannot be scored"
    return Problem("no-test-set", f"experiment '{experiment}'", message, fix)


def now_in_utc() -> datetime:
    return datetime.now(UTC)


@dataclass
class ChangesSeen:
    """How many users and records had been removed when that was last counted (``n_purges`` is None before),
    the time until which caches are cleared after a user was removed, and when the files of the store were
    compared.
    """

    n_purges: int | None = None
    clear_until: float = 0.0
    n_deletions: int = 0
    last_look: float = 0.0


@dataclass
class ServiceContext:
    """A store as one person sees it, with the limits of uploads and the clock.

    Contexts for other persons on the same store share its cached answers. ``limits`` None: uploads have no
    limits.
    """

    store: Store
    person: Person
    limits: Limits | None = None
    now: Callable[[], datetime] = now_in_utc
    _caches: dict[tuple[str, int], Any] = field(default_factory=dict)
    _changes: ChangesSeen = field(default_factory=ChangesSeen)
    _other_caches: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._fixed_settings = self.cached(self._read_settings, most=64)
        self._runs_of = self.cached_until_written(self._read_runs, most=256)

    def seen_by(self, person: Person) -> ServiceContext:
        """Returns this context for another person, with the same cached answers; read-only for
        non-editors.
        """
        store = self.store.by(person.name, person.role, read_only=not person.may("editor"))
        return replace(self, person=person, store=store)

    def narrowed_to(self, experiment_id: str, numbers_only: bool) -> ServiceContext:
        """Returns a context that sees one experiment only and has its own cache.

        Ids of other experiments are not found in it. ``numbers_only`` is as in ``OneExperiment``.
        """
        store = OneExperiment(self.store, experiment_id, numbers_only=numbers_only)
        return replace(self, store=store, _caches={})

    def cached(self, function: Callable[P, Answer], *, most: int) -> Callable[P, Answer]:
        """Returns the function with a cache of its last ``most`` answers, shared by all persons who see this
        store.

        Its arguments must identify immutable data; its answers must not depend on the person.
        """
        cache: Callable[P, Answer] = self._cache(function, most, lru_cache(most))
        return cache

    def cached_until_written(self, function: Callable[P, Answer], *, most: int) -> Callable[P, Answer]:
        """Returns the function with a cache of ``most`` answers, which are computed again after anything is
        stored.

        Its answers may depend on names, rules and tests, but not on the person. Nothing is cached for a
        guest.
        """
        known: VersionCache[P, Answer] = self._cache(function, most, partial(VersionCache, most=most))

        @wraps(function)
        def current(*args: P.args, **kwargs: P.kwargs) -> Answer:
            version = self.version()
            return known(version, *args, **kwargs) if version else function(*args, **kwargs)

        return current

    def sized_cache(
        self, function: Callable[P, Answer], *, least: int, room: int = ROOM
    ) -> SizedCache[P, Answer]:
        """Returns the function with a cache for large answers: always the last ``least``, and more while
        they take at most ``room`` bytes.
        """
        cache: SizedCache[P, Answer]
        cache = self._cache(function, least, partial(SizedCache, least=least, room=room))
        return cache

    def _cache(
        self, function: Callable[P, Answer], size: int, make: Callable[[Callable[P, Answer]], Any]
    ) -> Any:
        """Returns the cache of a function with this size, created by ``make`` at the first call.

        One function can have two caches of different sizes, one for small and one for large answers.
        """
        key = (function.__qualname__, size)
        if key not in self._caches:
            self._caches.setdefault(key, make(function))
        return self._caches[key]

    def clear_caches(self) -> None:
        """Clears all caches, also those of guests and of pages."""
        for known in list(self._caches.values()):
            known.cache_clear()
        for clear in self._other_caches:
            clear()

    def also_clear(self, clear: Callable[[], None]) -> None:
        """Makes ``clear_caches`` call ``clear``, which clears a cache elsewhere."""
        self._other_caches.append(clear)

    def clear_caches_after_purge(self) -> None:
        """Clears all caches if a user was removed from the stored data in the last minute.

        The minute begins when a call first sees the removal: pages that began before may still store old
        answers. Removals before the first call do not count. For a guest, who cannot read the audit log, it
        does nothing.
        """
        if self.person.is_guest:
            return
        now, n_purges, seen = monotonic(), self.store.audit.n_purges(), self._changes
        if seen.n_purges is not None and seen.n_purges != n_purges:
            seen.clear_until = now + CLEAR_SECONDS
        seen.n_purges = n_purges
        if now < seen.clear_until:
            self.clear_caches()

    def clear_caches_after_alteration(self) -> None:
        """Clears all caches if files of the store were altered, so that damage is noticed when they are read
        again. It looks at most every ``LOOK_SECONDS``.
        """
        now, seen = monotonic(), self._changes
        if self.person.is_guest or now - seen.last_look < LOOK_SECONDS:
            return
        seen.last_look = now
        if self.store.has_altered_files():
            self.clear_caches()

    def clear_caches_after_deletion(self) -> None:
        """Clears all caches if anything was deleted since the last call."""
        before, self._changes.n_deletions = self._changes.n_deletions, self.store.audit.n_deletions()
        if before != self._changes.n_deletions:
            self.clear_caches()

    def settings_of(self, experiment_id: str) -> Mapping[str, Any]:
        """Returns the settings that were stored with the experiment's test set.

        Raises InputError for an experiment without a test set.
        """
        return self._fixed_settings(experiment_id)

    def _read_settings(self, experiment_id: str) -> Mapping[str, Any]:
        experiment = self.store.experiments.get(experiment_id)
        if experiment.truth is None:  # an error is not cached: a test set can be added later
            raise InputError(no_test_set(experiment.name))
        return experiment.settings

    def version(self) -> str:
        """Returns a text that changes whenever something is stored; empty for a guest, who cannot read the
        audit log.
        """
        return "" if self.person.is_guest else self.store.audit.last()

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """Returns the runs in the order of ``run_ids``, normally with two queries in all. Raises NotFound."""
        return list(self._runs_of(tuple(run_ids)))

    def _read_runs(self, run_ids: tuple[str, ...]) -> list[Run]:
        if not run_ids:
            return []
        experiment = self.store.runs.get(run_ids[0]).experiment
        known = {run.id: run for run in self.store.runs.of_experiment(experiment, archived=True)}
        return [known.get(run_id) or self.store.runs.get(run_id) for run_id in run_ids]

    def experiment_of(self, run_id: str) -> Experiment:
        """Returns the experiment of a run."""
        return self.store.experiments.get(self.store.runs.get(run_id).experiment)

    def ab_tests(self, experiment_id: str, archived: bool = False) -> list[OnlineTest]:
        """Returns the experiment's A/B tests, the newest first; archived ones only if ``archived``."""
        tests = self.store.online_tests.of_experiment(experiment_id, archived)
        return [test for test in tests if not test.is_interleaved]

    def ab_test(self, test_id: str) -> OnlineTest:
        """Returns the A/B test with this id. Raises NotFound, also for an interleaving test."""
        test = self.store.online_tests.get(test_id)
        if test.is_interleaved:
            raise other_kind(test)
        return test

    def interleaving_test(self, interleaving_id: str) -> OnlineTest:
        """Returns the interleaving test with this id. Raises NotFound, also for an A/B test."""
        test = self.store.online_tests.get(interleaving_id)
        if not test.is_interleaved:
            raise other_kind(test)
        return test

    def must_be_of_kind(self, experiment_id: str, name: str | None, *, interleaved: bool) -> None:
        """Raises NotFound if the experiment's test with this name is of the other kind."""
        if name is None:
            return
        for test in self.store.online_tests.of_experiment(experiment_id):
            if test.name == name and test.is_interleaved != interleaved:
                raise other_kind(test)

    def run_of_control(self, test: OnlineTest) -> str | None:
        """Returns the id of the run that the test's control served: the linked run, else the experiment's
        baseline.

        None if neither is known.
        """
        return test.links.get(test.control) or self.store.experiments.get(test.experiment).baseline

    def secret(self) -> bytes:
        """Returns the secret that signs links and cookies: the one in the settings, else the one in the
        store.
        """
        known = settings().secret
        return self.store.secret() if known is None else known.get_secret_value().encode()

    def must_be_editor(self) -> None:
        self.person.must_be("editor")

    def writable_store(self) -> Store:
        self.must_be_editor()
        return self.store


def other_kind(test: OnlineTest) -> NotFound:
    """Returns the error for a test of the kind that was not asked for."""
    if test.is_interleaved:
        return NotFound(f"'{test.name}' is an interleaving test, not an A/B test.")
    return NotFound(f"'{test.name}' is an A/B test, not an interleaving test.")
