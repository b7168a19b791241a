"""Adds several files at once: decides what each one is and how to read it, checks them together, stores them.

``workspace.intake.plan(files)`` reads the first rows and the test set, and stores nothing. It returns a plan;
the plan's methods ``with_choice``, ``with_settings`` and ``with_files`` return a corrected plan, without
reading the same data again. ``workspace.intake.commit(plan)`` scores the candidates and stores everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.errors import InputError, Problem, UploadError
from recdash.evaluation.candidates import PreparedRun
from recdash.evaluation.inspection import inspect, rejects_csv
from recdash.evaluation.uploads import labels_of
from recdash.formatting.names import same_names
from recdash.formatting.numbers import counted, users
from recdash.formatting.wording import listed
from recdash.ingest import Limits, sheet_of, tables_in
from recdash.ingest.byte_source import n_bytes
from recdash.ingest.split_tables import SplitTable, is_one_table, may_be_split, n_users_missing
from recdash.ingest.spool import Spooled, SpooledParts
from recdash.online.analysis.health import is_control_guessed
from recdash.service.catalog.additions import Addition, Additions
from recdash.service.catalog.candidate_scoring import COLUMNS_GUESSED, Candidate, prepare, score_each
from recdash.service.catalog.experiments import Experiments, Setup
from recdash.service.catalog.intake_plan import (
    KINDS,
    LISTS,
    NAME_TAKEN,
    OF_A_TEST,
    DepthPlan,
    FileChoice,
    IntakeCancelled,
    IntakeFile,
    IntakePlan,
    IntakeResult,
    IntakeSettings,
    PlanInputs,
    PlannedFile,
    RefusedFile,
    RelevancePlan,
    TestPlan,
)
from recdash.service.catalog.intake_reading import Planner, Services
from recdash.service.catalog.readings import Readings
from recdash.service.catalog.runs import Runs
from recdash.service.catalog.scoring_process import ScoringRequest, is_worth_a_process, score_apart
from recdash.service.context import ServiceContext
from recdash.service.online.interleaving import Interleaving
from recdash.service.online.tests import NewTest, OnlineTests
from recdash.service.validation import Progress, quiet

if TYPE_CHECKING:
    from recdash.store.artifacts import Artifacts

__all__ = [
    "KINDS", "LISTS", "NAME_TAKEN", "OF_A_TEST", "DepthPlan", "FileChoice", "Intake", "IntakeCancelled",
    "IntakeFile", "IntakePlan", "IntakeResult", "IntakeSettings", "PlanInputs", "PlannedFile", "RefusedFile",
    "RelevancePlan", "TestPlan",
]  # fmt: skip

NO_FILES = Problem("no-files", "files", "no file to store", "Add a test set and the runs to compare.")
MOST_PARTS = 4
"""Largest number of parts of a table that a notice names."""
STORING = 0.95
"""The fraction of the progress at which scoring ends and storing begins."""


class PlanMaker:
    """Makes a plan and those derived from it; what it has read is kept for all of them.

    Plans refer to it and it refers to no plan, so that what was read is freed with the last plan, without
    waiting for the collector.
    """

    def __init__(self, services: Services) -> None:
        self._services, self._limits = services, services.context.limits
        self._readings = Readings(self._limits)

    def make(self, inputs: PlanInputs) -> IntakePlan:
        given = inputs.given or inputs.files
        tables = [table for file in given for table in self._tables_of(file)]
        files, notices = self._joined(tables, inputs.settings)
        inputs = replace(inputs, files=files, given=given, notices=notices)
        plan = Planner(self._services, inputs, self._readings).plan()
        return replace(plan, make=self.make)

    def _joined(
        self, files: Sequence[IntakeFile], settings: IntakeSettings
    ) -> tuple[tuple[IntakeFile, ...], tuple[Problem, ...]]:
        """Returns the files, those that are parts of one table as one file, and a notice for each table."""
        names = [file.name for file in files]
        joined, left_out, notices = dict(enumerate(files)), set(), []
        for table in may_be_split(names, [file.folder for file in files]):
            parts = [files[place] for place in table.places]
            looks = {place: self._readings.look(files[place]) for place in table.places}
            if any(not isinstance(part.source, str | Path | bytes) for part in parts):
                continue
            if (settings.replicates and not table.is_sure) or not is_one_table(table, looks):
                continue
            first = min(table.places)
            try:
                joined[first] = self._of_parts(table.name, parts)
            except UploadError:  # such as an archive of several tables
                continue
            left_out |= set(table.places) - {first}
            n_users = n_users_missing(table, looks) if table.n_missing else None
            notices.append(_parts_notice(table, [part.name for part in parts], n_users))
        return tuple(file for place, file in joined.items() if place not in left_out), tuple(notices)

    def _of_parts(self, name: str, parts: Sequence[IntakeFile]) -> IntakeFile:
        """Returns one file of the parts, which are kept on disk as one archive.

        Raises ``UploadError`` for a part that holds no single table.
        """
        own = "+".join(part.key for part in parts)
        sources = {part.name: part.source for part in parts}
        spooled = self._readings.once(("parts", own), lambda: SpooledParts(sources, self._limits))
        return IntakeFile(own, name, spooled.source, own)

    def _tables_of(self, file: IntakeFile) -> list[IntakeFile]:
        """Returns the file, or the tables of a zip archive or a workbook of several."""
        return self._readings.once(
            ("tables", file.key), lambda: _tables_in(self._spooled(file), self._limits)
        )

    def _spooled(self, file: IntakeFile) -> IntakeFile:
        spooled = self._readings.once(
            ("spooled", file.key), lambda: Spooled(file.source, file.name, self._limits)
        )
        return replace(file, source=spooled.source)


class Intake:
    """The service for adding several files at once: it plans how they are stored, and stores them."""

    def __init__(
        self,
        context: ServiceContext,
        experiments: Experiments,
        runs: Runs,
        online_tests: OnlineTests,
        additions: Additions,
        interleaving: Interleaving,
    ) -> None:
        self._context, self._experiments, self._runs = context, experiments, runs
        self._online_tests, self._additions = online_tests, additions
        self._interleaving = interleaving

    def plan(self, files: Sequence[IntakeFile], *, experiment_id: str | None = None) -> IntakePlan:
        """Returns what the files are and how they would be stored; stores nothing.

        Bad data does not raise: its problems are in the plan. ``experiment_id`` None plans a new experiment.
        """
        self._context.must_be_editor()
        services = Services(
            self._context, self._experiments, self._runs, self._online_tests, self._interleaving
        )
        return PlanMaker(services).make(PlanInputs(tuple(files), experiment_id=experiment_id))

    def with_links(self, plan: IntakePlan) -> IntakePlan:
        """Returns the plan with each variant linked to the run that it is named like, unless links, or none,
        were chosen.
        """
        self._context.must_be_editor()
        if plan.test is None or plan.settings.links is not None:
            return plan
        variants = dict.fromkeys(variant for test in plan.tests for variant in test.variants)
        links = same_names(list(variants), self.runs_to_link(plan))
        return plan.with_settings(links=links) if links else plan

    def runs_to_link(self, plan: IntakePlan) -> list[str]:
        """Returns the names of the runs that a variant may have served: stored ones and those in files."""
        self._context.must_be_editor()
        stored = [run.name for run in self._runs.all(plan.experiment_id)] if plan.experiment_id else []
        return list(dict.fromkeys([*stored, *plan.run_names]))

    def rejects(self, plan: IntakePlan, key: str) -> str:
        """Returns the rejected rows of one file of a plan as CSV, read as planned; see ``rejects_csv``."""
        self._context.must_be_editor()
        file = next(file for file in plan.files if file.key == key)
        inspection = inspect(
            _source(plan, file),
            file.kind,
            name=file.file_name,
            columns=file.columns,
            limits=self._context.limits,
        )
        return rejects_csv([inspection])

    def commit(
        self,
        plan: IntakePlan,
        *,
        skip_refused: bool = False,
        references: str = "",
        baseline: str | None = None,
        completed: Sequence[str] = (),
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = bool,
        scratch: Path | None = None,
    ) -> IntakeResult:
        """Scores all candidates, then stores everything in one transaction.

        ``references`` are reference candidates to compute and store with them (such as ``"popular"``).
        ``baseline`` is the run to set as baseline even if the experiment has one; None takes the plan's for
        an experiment without.
        ``completed`` are names of runs, new or stored, to store also with popular items for users without a
        list.
        ``progress(fraction, text)`` is called at each step; ``cancelled()`` is called with it until storing
        begins. If a candidate cannot be scored, nothing is stored; with ``skip_refused`` the others are
        stored, and the result lists the refused ones. Large files are scored in a process of their own, which
        writes to a folder in ``scratch``; without that, and if runs are to be completed, in this one.

        Raises IntakeCancelled, and InputError with the problems of all files; in both cases nothing is
        stored.
        """
        self._context.must_be_editor()
        if not plan.is_ready:
            raise InputError(plan.all_problems or NO_FILES)
        tell = progress or quiet

        def storing(fraction: float, text: str) -> None:
            tell(STORING + (1 - STORING) * fraction, text)

        def scoring(fraction: float, text: str) -> None:
            if cancelled():
                raise IntakeCancelled("Cancelled. Nothing was stored.")
            tell(STORING * fraction, text)

        scoring(0.0, "Starting")
        setup = self._setup(plan)
        with self._scored(plan, setup, scoring, None if completed else scratch) as (scored, refused):
            addition = scored
            if references:
                where = self._where(plan, setup)
                assert where is not None  # noqa: S101 a plan has a set-up or an experiment
                computed = self._runs.prepare_references(where, references, scoring)
                facts = [*addition.facts, *({} for _ in computed)]
                addition = replace(addition, runs=[*addition.runs, *computed], facts=facts)
            if refused and not (skip_refused and (addition.runs or addition.staged)):
                raise InputError([problem for refusal in refused for problem in refusal.problems])
            scoring(1.0, "Storing")
            addition = replace(
                addition,
                baseline=baseline or plan.baseline,
                replaces_baseline=baseline is not None,
                tests=tuple(_new_test(plan, test) for test in plan.tests),
                completed=completed,
                refuse=plan.settings.refuse,
            )
            added = self._additions.store(addition, storing)
        tell(1.0, "Done")
        test, interleaved, *_ = (*added.tests, None, None)
        return IntakeResult(
            added.experiment, added.is_new, added.runs, test, tuple(refused), added.completed, interleaved
        )

    # ── steps ────────────────────────────────────────────────────────────────────────────────

    def _setup(self, plan: IntakePlan) -> Setup | None:
        """Returns the set-up to store, with the rules chosen in the plan; None if no test set is added to an
        existing experiment.
        """
        settings = plan.settings
        if plan.setup is None:
            if plan.experiment_id is not None:
                return None
            return self._experiments.read_setup(plan.name, note=settings.note)
        setup = self._experiments.with_rules(
            plan.setup,
            name=plan.name,
            note=settings.note,
            threshold=plan.relevance.threshold if plan.relevance else None,
            depth=plan.depth.depth if plan.depth else None,
            users=settings.users,
            duplicates=settings.duplicates,
        )
        notices = [notice for notice in setup.settings["notices"] if notice["code"] != COLUMNS_GUESSED]
        return replace(setup, settings={**setup.settings, "notices": notices})

    @contextmanager
    def _scored(
        self, plan: IntakePlan, setup: Setup | None, tell: Progress, scratch: Path | None
    ) -> Iterator[tuple[Addition, list[RefusedFile]]]:
        """Yields the scored candidates as an addition without a baseline, and the refused ones. The files of
        candidates that were scored in another process exist until the end of the ``with`` block.
        """
        where, candidates = self._where(plan, setup), _candidates(plan)
        addition = Addition(plan.experiment_id, setup)
        if scratch is not None and where is not None and is_worth_a_process(candidates):
            with self._context.writable_store().artifacts.apart(scratch) as artifacts:
                scored = score_apart(self._request(where, candidates, artifacts), tell)
                yield replace(addition, staged=scored.runs, staged_files=artifacts), list(scored.refused)
            return

        def prepared(candidate: Candidate, share: Progress) -> list[tuple[PreparedRun, Mapping[str, Any]]]:
            assert where is not None  # noqa: S101 a plan has a set-up or an experiment
            return [(run, candidate.facts) for run in prepare(self._runs, where, candidate, share)]

        runs, refused = score_each(candidates, prepared, tell)
        facts = [of_run for _, of_run in runs]
        yield replace(addition, runs=[run for run, _ in runs], facts=facts), refused

    def _where(self, plan: IntakePlan, setup: Setup | None) -> str | Setup | None:
        """Returns with what the candidates are scored: a new set-up, or the id of an experiment."""
        return setup if setup is not None and setup.reference is not None else plan.experiment_id

    def _request(
        self, where: str | Setup, candidates: Sequence[Candidate], artifacts: Artifacts
    ) -> ScoringRequest:
        experiment = None
        if isinstance(where, str):
            experiment = self._experiments.get(where)
            where = Setup(experiment.name, {}, None, self._context.settings_of(where))
        setup = replace(where, reference=None)
        person, limits = self._context.person, self._context.limits
        return ScoringRequest(candidates, setup, experiment, artifacts, person, limits)


def _tables_in(file: IntakeFile, limits: Limits | None) -> list[IntakeFile]:
    """Returns the tables of a zip archive of several, or the sheets of a workbook of several, each as a file;
    any other file as it is.
    """
    try:
        tables = tables_in(file.source, limits=limits)
    except UploadError:  # which its preview states
        tables = []
    return [IntakeFile(f"{file.key}/{table.name}", shown, table, file.key) for shown, table in tables] or [
        file
    ]


def _parts_notice(table: SplitTable, parts: Sequence[str], n_users: int | None) -> Problem:
    """Returns the notice that files are read as one table, of which parts may be missing; it names the first
    of many. ``n_users`` is about how many users the missing parts list, if that is known.
    """
    shown = [f"'{part}'" for part in parts[:MOST_PARTS]]
    more = [f"{len(parts) - MOST_PARTS} more"] if len(parts) > MOST_PARTS else []
    finding = f"{listed([*shown, *more])} are read as one table"
    fix = "If these are several tables, rename them so that their names do not count."
    if table.n_missing:
        cost = "" if n_users is None else f", with about {users(n_users)}"
        why = "" if n_users is None else ": users without a list count as 0"
        finding += f"; {counted(table.n_missing, 'part')} may be missing{cost}"
        fix = f"Add the missing parts{why}. {fix}"
    return Problem("parts", f"'{table.name}'", finding, fix, len(parts))


def _new_test(plan: IntakePlan, test: TestPlan) -> NewTest:
    files = {file.key: file for file in plan.used}
    tables = {kind: files[key] for kind, key in test.files.items()}
    is_guessed = is_control_guessed(test.notices)
    of_others = {name for other in plan.tests for name in other.variants} - set(test.variants)
    links = {name: run for name, run in (plan.settings.links or {}).items() if name not in of_others}
    return NewTest(
        test.name,
        {kind: _source(plan, file) for kind, file in tables.items()},
        control=None if is_guessed else test.control or None,  # a guess is stored with its notice
        rules=plan.settings.rules_in_zone,
        mappings={kind: file.columns for kind, file in tables.items() if file.columns is not None},
        links=links,
        choices=plan.settings.metric_choices,
    )


def _source(plan: IntakePlan, file: PlannedFile) -> Any:
    source = next(given.source for given in plan.inputs.files if given.key == file.key)
    return sheet_of(source, file.sheet)


def _candidates(plan: IntakePlan) -> list[Candidate]:
    lists, rated = plan.of_kind("run"), {file.run: file for file in plan.of_kind("predictions")}
    return [
        _candidate(plan, name, [file for file in lists if file.run == name], rated.get(name))
        for name in plan.run_names
    ]


def _candidate(
    plan: IntakePlan, name: str, lists: Sequence[PlannedFile], rated: PlannedFile | None
) -> Candidate:
    """Returns the candidate of these files: its lists (several files are seeds or folds), and its rating
    predictions.
    """
    sources = [_source(plan, file) for file in lists]
    source: Any = sources[0] if sources else None
    if len(sources) > 1:
        source = dict(zip(labels_of([file.file_name for file in lists]), sources, strict=True))
    predictions = _source(plan, rated) if rated else None
    arguments = {
        "source": source,
        "mapping": lists[0].columns if lists else None,
        "predictions": predictions,
        "predictions_mapping": rated.columns if rated else None,
        "replicates": plan.settings.replicates if len(sources) > 1 else None,
        "accept_unknown_ids": any(plan.choice(file.key).accept_ids for file in lists),
    }
    first = lists[0] if lists else rated
    assert first is not None  # noqa: S101 a candidate has lists or predictions
    facts = {
        "tags": first.tags,
        "note": first.note,
        "params": dict(first.params),
        "source": dict(plan.choice(first.key).source),
    }
    sizes = [n_bytes(file) for file in (*sources, *([predictions] if rated else []))]
    return Candidate(name, arguments, facts, None if None in sizes else sum(filter(None, sizes)))
