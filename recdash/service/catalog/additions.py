"""Stores an experiment, runs, a baseline and A/B tests together: all of them, or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.kinds import TableKind
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import Problem, UnknownName
from recdash.evaluation.candidates import PreparedRun
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.service.catalog.experiments import Experiments, Setup
from recdash.service.catalog.runs import AddedRun, Runs, StagedRun
from recdash.service.context import ServiceContext
from recdash.service.online.interleaving import KIND as INTERLEAVING
from recdash.service.online.interleaving import Interleaving
from recdash.service.online.tests import NewTest, OnlineTests, StagedTest
from recdash.service.staging import store_with_files
from recdash.service.validation import Progress, quiet

if TYPE_CHECKING:
    from recdash.store.artifacts import Artifacts


@dataclass(frozen=True)
class Addition:
    """What is to be stored together.

    ``experiment_id`` None stores ``setup`` as a new experiment; with both, the set-up is the test set that
    the experiment lacks. ``facts`` are tags, note and params of each run.

    ``baseline`` is the name of one of the runs, and becomes the baseline of an experiment without one; with
    ``replaces_baseline`` it may be any run of the experiment, and replaces the baseline. Links of A/B tests
    to runs that the experiment does not have are left out.

    ``completed`` are the names of runs, of these or of stored ones, to store also completed: with popular
    items for test users without a list. ``refuse`` are codes of notices: nothing is stored if a file has one.

    ``staged`` are runs that another process scored; ``staged_files`` has the files that they need.
    """

    experiment_id: str | None
    setup: Setup | None = None
    runs: Sequence[PreparedRun] = ()
    facts: Sequence[Mapping[str, Any]] = ()
    baseline: str = ""
    replaces_baseline: bool = False
    tests: Sequence[NewTest] = ()
    completed: Sequence[str] = ()
    staged: Sequence[StagedRun] = ()
    staged_files: Artifacts | None = None
    refuse: Sequence[str] = ()


@dataclass(frozen=True)
class Added:
    """What was stored; ``is_new`` is whether the experiment was."""

    experiment: Experiment
    is_new: bool
    runs: tuple[AddedRun, ...]
    tests: tuple[OnlineTest, ...]
    completed: tuple[AddedRun, ...] = ()


@dataclass(frozen=True)
class Staged:
    """An addition whose files are stored, and whose rows are not; each test has its links."""

    files: Mapping[TableKind, str]
    runs: Sequence[StagedRun]
    tests: Sequence[StagedTest]
    completed: Sequence[StagedRun] = ()


class Additions:
    """Stores additions: everything is computed and all files are written first, then all rows are stored in
    one short transaction.
    """

    def __init__(
        self,
        context: ServiceContext,
        experiments: Experiments,
        runs: Runs,
        online_tests: OnlineTests,
        interleaving: Interleaving,
    ) -> None:
        self._context, self._experiments, self._runs = context, experiments, runs
        self._online_tests, self._interleaving = online_tests, interleaving

    def store(self, addition: Addition, progress: Progress | None = None) -> Added:
        """Stores an addition. If it raises, or the process dies, nothing of it is stored."""
        return store_with_files(
            self._context.writable_store(),
            lambda: self.stage(addition, progress),
            lambda staged: self.store_staged(addition, staged),
        )

    def stage(self, addition: Addition, progress: Progress | None = None) -> Staged:
        """Stores the files of an addition, and returns what ``store_staged`` stores of it."""
        self._context.must_be_editor()
        tell = progress or quiet
        setup = addition.setup
        where = addition.experiment_id if setup is None or setup.reference is None else setup
        tests = [self._stage_test(test, addition.experiment_id) for test in addition.tests]
        check_refused(_noticed(addition, tests), read_codes(addition.refuse))
        runs: list[StagedRun] = []
        completed: list[StagedRun] = []
        if where is not None:
            runs = self._runs.stage(where, addition.runs, addition.facts, tell)
            completed = self._runs.stage_completed(where, addition.completed, addition.runs, runs, tell)
        if addition.staged_files is not None:
            self._runs.store_files(addition.staged, addition.staged_files)
        tables = self._experiments.store_tables(setup) if setup else {}
        return Staged(tables, [*addition.staged, *runs], tests, completed)

    def _stage_test(self, test: NewTest, experiment_id: str | None) -> StagedTest:
        if INTERLEAVING in test.tables:
            return self._interleaving.stage(test)
        return self._online_tests.stage(test, experiment_id)

    def store_staged(self, addition: Addition, staged: Staged) -> Added:
        """Stores the rows of a staged addition, within the caller's transaction."""
        self._context.must_be_editor()
        experiment, is_new = self._experiment(addition, staged)
        added = self._runs.store_staged(experiment.id, staged.runs)
        experiment = self._with_baseline(addition, staged, experiment, added)
        ids = self._ids(experiment.id, staged, added)
        tests = []
        for test in staged.tests:
            links = {variant: ids[name] for variant, name in test.links.items() if name in ids}
            tests.append(self._online_tests.store_staged(experiment.id, test, links))
        stored = {new.run.id: done.run.id for new, done in zip(staged.runs, added, strict=True)}
        completed = [_completing(run, stored) for run in staged.completed]
        return Added(
            experiment,
            is_new,
            tuple(added),
            tuple(tests),
            tuple(self._runs.store_staged(experiment.id, completed)),
        )

    def _with_baseline(
        self, addition: Addition, staged: Staged, experiment: Experiment, added: Sequence[AddedRun]
    ) -> Experiment:
        """Returns the experiment with the baseline that the addition names.

        Raises UnknownName for one that must be set and is not there, or is archived.
        """
        shown = [(new, done) for new, done in zip(staged.runs, added, strict=True) if not done.is_archived]
        given = {new.run.name: done.run.id for new, done in shown}
        if addition.replaces_baseline:
            ids = {**{run.name: run.id for run in self._runs.all(experiment.id)}, **given}
            if addition.baseline not in ids:
                raise UnknownName("run", addition.baseline, list(ids))
            return self._experiments.set_baseline(experiment.id, ids[addition.baseline])
        if experiment.baseline is None and addition.baseline in given:
            return self._experiments.set_baseline(experiment.id, given[addition.baseline])
        return experiment

    def _ids(self, experiment_id: str, staged: Staged, added: Sequence[AddedRun]) -> dict[str, str]:
        """Returns {name: run id}; a run that is stored already may have another name than it was given
        now.
        """
        stored = {run.name: run.id for run in self._runs.all(experiment_id)}
        return stored | {new.run.name: done.run.id for new, done in zip(staged.runs, added, strict=True)}

    def _experiment(self, addition: Addition, staged: Staged) -> tuple[Experiment, bool]:
        """Returns the experiment in which everything is stored, and whether it is new."""
        experiment_id, setup = addition.experiment_id, addition.setup
        if experiment_id is not None:
            if setup is not None:
                return self._experiments.store_test_set(experiment_id, setup, staged.files), False
            return self._experiments.get(experiment_id), False
        known = {experiment.id for experiment in self._experiments.all(archived=True)}
        assert setup is not None  # noqa: S101 a new experiment always has a set-up
        experiment = self._experiments.store_setup(setup, staged.files)
        return experiment, experiment.id not in known


def _noticed(addition: Addition, tests: Sequence[StagedTest]) -> Iterator[Problem]:
    """Yields the notices of the test set, the runs and the A/B tests of an addition."""
    if addition.setup is not None:
        yield from (Problem(**notice) for notice in addition.setup.settings.get("notices", ()))
    for prepared in addition.runs:
        yield from prepared.scored.notices
    for scored_apart in addition.staged:
        yield from scored_apart.run.notices
    for staged in tests:
        yield from staged.notices


def _completing(completed: StagedRun, stored: Mapping[str, str]) -> StagedRun:
    """Returns a completed run that names the run that it completes by its stored id.

    ``stored`` is {id of the staged run: id of the stored one}; they differ if it was stored before.
    """
    run = completed.run
    of = dict(run.fallback or {})
    of["of"] = stored.get(of["of"], of["of"])
    return replace(completed, run=replace(run, provenance={**run.provenance, "fallback": of}))
