"""What every service needs: the store as one person sees it, the clock, and what was computed once."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from recdash.domain.access import Person
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.service.cache import SizedCache
from recdash.settings import settings
from recdash.store import OneExperiment, Store

if TYPE_CHECKING:
    from recdash.ingest import Limits


P = ParamSpec("P")
Answer = TypeVar("Answer")


def person_here() -> Person:
    """Whoever sits at this machine may do everything, under the name of the settings or of the login."""
    return Person(settings().user or login_name(), "admin", named=False)


def login_name() -> str:
    """``you`` where the system does not know the user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "you"


def now_in_utc() -> datetime:
    return datetime.now(UTC)


@dataclass
class ServiceContext:
    """A store as one person sees it; answers that are kept are shared with all who see the same store."""

    store: Store
    person: Person
    limits: Limits | None = None
    now: Callable[[], datetime] = now_in_utc
    _caches: dict[tuple[str, int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.settings_of = self.cached(self._read_settings, most=64)

    def seen_by(self, person: Person) -> ServiceContext:
        """The same for another person, with the same kept answers."""
        store = self.store.by(person.name, person.role, read_only=not person.may("editor"))
        return replace(self, person=person, store=store)

    def narrowed_to(self, experiment_id: str) -> ServiceContext:
        """One experiment of the store, with answers of its own: no id of another one finds anything there."""
        return replace(self, store=OneExperiment(self.store, experiment_id), _caches={})

    def cached(self, function: Callable[P, Answer], *, most: int) -> Callable[P, Answer]:
        """A service's method with its last ``most`` answers, one cache for all who see this store.

        Its arguments must name things that never change; its answers must not depend on who asks.
        """
        cache: Callable[P, Answer] = self._cache(function, most, lru_cache(most))
        return cache

    def sized_cache(self, function: Callable[P, Answer], *, least: int) -> SizedCache[P, Answer]:
        """The same for large answers: ``least`` of them, and more while there is room."""
        cache: SizedCache[P, Answer] = self._cache(function, least, partial(SizedCache, least=least))
        return cache

    def _cache(
        self, function: Callable[P, Answer], size: int, make: Callable[[Callable[P, Answer]], Any]
    ) -> Any:
        """Found by the method and its size: a method may have a cache for small answers and one for large."""
        key = (function.__qualname__, size)
        if key not in self._caches:
            self._caches.setdefault(key, make(function))
        return self._caches[key]

    def _read_settings(self, experiment_id: str) -> Mapping[str, Any]:
        return self.store.experiments.get(experiment_id).settings

    def runs_of(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs in the order asked for; two queries, however many they are."""
        if not run_ids:
            return []
        experiment = self.store.runs.get(run_ids[0]).experiment
        known = {run.id: run for run in self.store.runs.of_experiment(experiment, archived=True)}
        return [known.get(run_id) or self.store.runs.get(run_id) for run_id in run_ids]

    def experiment_of(self, run_id: str) -> Experiment:
        """The experiment that a run belongs to."""
        return self.store.experiments.get(self.store.runs.get(run_id).experiment)

    def run_of_control(self, test: OnlineTest) -> str | None:
        """The run that a test's control served: the one it is linked to, else the experiment's baseline."""
        return test.links.get(test.control) or self.store.experiments.get(test.experiment).baseline

    def secret(self) -> bytes:
        """What links and cookies are signed with: that of the settings, else that of the store."""
        known = settings().secret
        return self.store.secret() if known is None else known.get_secret_value().encode()

    def must_be_editor(self) -> None:
        self.person.must_be("editor")

    def writable_store(self) -> Store:
        self.must_be_editor()
        return self.store
