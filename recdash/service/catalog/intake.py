"""Several files at once: what each is, how it is read, and how they fit together; then all stored in one go.

``workspace.intake.plan(files)`` reads first rows and the test set, and stores nothing. A plan is a value:
``with_choice``, ``with_settings`` and ``with_files`` return a corrected one, which reads nothing again that
is known already. ``workspace.intake.commit(plan)`` scores and stores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.kinds import DEFAULT_DEPTH, Duplicates, OnlineKind, Replication, TableKind, Users
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import InputError, Problem, RecdashError
from recdash.evaluation.candidates import PreparedRun
from recdash.ingest.reader import without_suffixes
from recdash.ingest.sorting import Look, SortedFile, sort_files
from recdash.service.catalog.experiments import Experiments
from recdash.service.catalog.runs import AddedRun, FirstIds, Runs
from recdash.service.context import ServiceContext
from recdash.service.validation import Progress, quiet

if TYPE_CHECKING:
    from recdash.ingest import Preview

LISTS: tuple[TableKind, ...] = ("run", "predictions")
"""Files that are candidates."""
OF_A_TEST: tuple[TableKind, ...] = ("sessions", "exposures", "events", "served", "aggregates")
"""Files of an A/B test."""
NO_FILES = Problem("no-files", "files", "no file to store", "Add a test set and the runs to compare.")


# ── what is given ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class IntakeFile:
    """A file as it was given; ``key`` tells files of the same name apart (any text that stays the same)."""

    key: str
    name: str
    source: Any


@dataclass(frozen=True)
class FileChoice:
    """What a person chose for one file; None (or empty) where nothing was chosen.

    ``mapping`` is {role: column} as ``PlannedFile.mapping`` shows it, with "" for a role that is not read.
    ``run`` names the candidate: files of the same name are its seeds or folds, and predictions of the name of
    a run belong to it. ``accept_ids``: score the run although its users or items hardly meet the test set's.
    """

    kind: TableKind | None = None
    mapping: Mapping[str, str] | None = None
    sheet: str | None = None
    left_out: bool = False
    run: str | None = None
    accept_ids: bool = False
    tags: tuple[str, ...] = ()
    note: str = ""
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class IntakeSettings:
    """What a person chose for the experiment and the A/B test; None takes what the plan suggests.

    ``threshold`` 0 counts every row above 0 as relevant; ``relevance`` "none" every row. ``baseline`` is the
    name of a run of the plan. ``links`` are {variant: run's name}.
    """

    name: str | None = None
    note: str = ""
    relevance: str | None = None
    threshold: float | None = None
    depth: int | None = None
    users: Users = "truth"
    duplicates: Duplicates = "first"
    baseline: str | None = None
    replicates: Replication | None = None
    test_name: str | None = None
    control: str | None = None
    zone: str | None = None
    links: Mapping[str, str] = field(default_factory=dict)


# ── what is planned ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PlannedFile:
    """One file of a plan: what it is, how it is read, and what is wrong with it.

    ``kind`` is None while it must be chosen. ``sorted`` says what it was taken for and why, ``is_chosen``
    whether a person chose otherwise or confirmed. ``mapping`` is role → column as read now, ``same_as`` the
    name of the file whose chosen columns are reused because it has the same header. ``problems`` prevent
    storing (place, finding, fix), ``notices`` do not. ``first_ids`` is the overlap of the first rows with the
    test set; ``asks_ids``: tick ``FileChoice.accept_ids`` to score it all the same.
    """

    key: str
    file_name: str
    kind: TableKind | None
    sorted: SortedFile
    is_chosen: bool = False
    left_out: bool = False
    run: str = ""
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    preview: Preview | None = None
    same_as: str = ""
    first_ids: FirstIds | None = None
    asks_ids: bool = False
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()

    @property
    def mapping(self) -> Mapping[str, str]:
        return (self.preview.mapping if self.preview else None) or {}

    @property
    def n_rows(self) -> int | None:
        """Returns the number of rows; None where only reading the whole file would tell."""
        return self.preview.n_rows if self.preview else None

    @property
    def is_usable(self) -> bool:
        return self.left_out or (self.kind is not None and not self.problems)


@dataclass(frozen=True)
class RelevancePlan:
    """From which grade a row of the test set counts as relevant, and what that changes.

    ``threshold`` None: every row above 0. ``suggested`` is the threshold that the scale suggests, None where
    every row above 0 is the usual reading; ``reason`` says why in one sentence.
    """

    column: str
    scale: str
    threshold: float | None
    suggested: float | None
    reason: str
    rows: int
    kept_rows: int
    users: int
    kept_users: int


@dataclass(frozen=True)
class DepthPlan:
    """How deep lists are read; ``longest`` is the longest list seen, None if unknown."""

    depth: int
    longest: int | None
    reason: str


@dataclass(frozen=True)
class TestPlan:
    """The A/B test that files of the plan make: {kind: key of the file}, its variants and control."""

    name: str
    kind: OnlineKind
    files: Mapping[TableKind, str]
    variants: tuple[str, ...] = ()
    control: str = ""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class PlanInputs:
    """Everything that a plan follows from."""

    files: tuple[IntakeFile, ...]
    choices: Mapping[str, FileChoice] = field(default_factory=dict)
    settings: IntakeSettings = IntakeSettings()
    experiment_id: str | None = None


@dataclass(frozen=True)
class IntakePlan:
    """What would be stored, with everything that is wrong with it.

    ``experiment_id`` is the experiment that runs are added to, None for a new one, which ``name`` names.
    ``relevance`` and ``depth`` are None where there is nothing to choose. ``baseline`` is the run that others
    are compared with, "" for none yet. ``problems`` are those of the files together; those of each file stand
    in the file.
    """

    inputs: PlanInputs
    files: tuple[PlannedFile, ...]
    name: str
    relevance: RelevancePlan | None = None
    depth: DepthPlan | None = None
    baseline: str = ""
    test: TestPlan | None = None
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    make: Callable[[PlanInputs], IntakePlan] = field(repr=False, compare=False, default=None)  # type: ignore[assignment]

    @property
    def experiment_id(self) -> str | None:
        return self.inputs.experiment_id

    @property
    def settings(self) -> IntakeSettings:
        return self.inputs.settings

    @property
    def used(self) -> tuple[PlannedFile, ...]:
        """Returns the files that are not left out."""
        return tuple(file for file in self.files if not file.left_out)

    def of_kind(self, *kinds: TableKind) -> tuple[PlannedFile, ...]:
        return tuple(file for file in self.used if file.kind in kinds)

    @property
    def run_names(self) -> tuple[str, ...]:
        """Returns the names of the candidates, each once, in the order of their files."""
        return tuple(dict.fromkeys(file.run for file in self.of_kind(*LISTS)))

    @property
    def is_ab_only(self) -> bool:
        """Returns whether the files make an A/B test and nothing else."""
        return self.test is not None and not self.of_kind("truth", *LISTS)

    @property
    def is_ready(self) -> bool:
        """Returns whether it can be committed: it has files, and nothing is wrong with them."""
        of_test = self.test.problems if self.test else ()
        return (
            bool(self.used) and all(file.is_usable for file in self.files) and not (*self.problems, *of_test)
        )

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """Returns the problems of all files, each placed in its file, and those of the files together."""
        of_files = [
            replace(problem, place=f"{file.file_name}, {problem.place}")
            for file in self.used
            for problem in file.problems
        ]
        return (*of_files, *self.problems, *(self.test.problems if self.test else ()))

    def choice(self, key: str) -> FileChoice:
        return self.inputs.choices.get(key, FileChoice())

    def with_choice(self, key: str, **changed: Any) -> IntakePlan:
        """Returns the plan with another choice for one file; ``changed`` are fields of ``FileChoice``."""
        choice = replace(self.choice(key), **changed)
        return self.make(replace(self.inputs, choices={**self.inputs.choices, key: choice}))

    def with_settings(self, **changed: Any) -> IntakePlan:
        """Returns the plan with other settings; ``changed`` are fields of ``IntakeSettings``."""
        return self.make(replace(self.inputs, settings=replace(self.inputs.settings, **changed)))

    def with_files(self, files: Sequence[IntakeFile]) -> IntakePlan:
        """Returns the plan of these files; choices and what was read stay for files of the same key."""
        return self.make(replace(self.inputs, files=tuple(files)))

    def with_experiment(self, experiment_id: str | None) -> IntakePlan:
        """Returns the plan that adds to another experiment; None makes a new one."""
        return self.make(replace(self.inputs, experiment_id=experiment_id))


# ── what was stored ──────────────────────────────────────────────────────────────────────────


class IntakeCancelled(RecdashError):
    """The intake was cancelled; nothing was stored."""


@dataclass(frozen=True)
class RefusedFile:
    """A candidate or A/B test that was not stored, and why; nothing of it is in the store."""

    name: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class IntakeResult:
    """What a commit stored: the experiment (``is_new``: just created), runs, the A/B test, and refusals."""

    experiment: Experiment
    is_new: bool
    runs: tuple[AddedRun, ...] = ()
    test: OnlineTest | None = None
    refused: tuple[RefusedFile, ...] = ()


class Intake:
    """Plans and stores several files at once."""

    def __init__(self, context: ServiceContext, experiments: Experiments, runs: Runs) -> None:
        self._context, self._experiments, self._runs = context, experiments, runs

    def plan(self, files: Sequence[IntakeFile], *, experiment_id: str | None = None) -> IntakePlan:
        """Returns what the files are and how they would be stored; stores nothing and never raises for bad
        data.
        """
        read: dict[tuple[object, ...], Any] = {}

        def make(inputs: PlanInputs) -> IntakePlan:
            return replace(self._plan(inputs, read), make=make)

        return make(PlanInputs(tuple(files), experiment_id=experiment_id))

    def _plan(self, inputs: PlanInputs, read: dict[tuple[object, ...], Any]) -> IntakePlan:
        looks = [self._look(file, read) for file in inputs.files]
        files = []
        for file, is_sorted in zip(inputs.files, sort_files(looks), strict=True):
            choice = inputs.choices.get(file.key, FileChoice())
            kind = choice.kind or is_sorted.kind
            preview = None
            if kind is not None:
                mapping = choice.mapping or is_sorted.mapping or None
                preview = self._experiments.preview(kind, file.source, file.name, mapping=mapping)
            files.append(
                PlannedFile(
                    file.key,
                    file.name,
                    kind,
                    is_sorted,
                    is_chosen=choice.kind is not None,
                    left_out=choice.left_out,
                    run=choice.run or without_suffixes(file.name),
                    preview=preview,
                    problems=preview.problems if preview else (),
                    notices=preview.notices if preview else (),
                )
            )
        truth = next((file for file in files if file.kind == "truth"), None)
        name = inputs.settings.name or (without_suffixes(truth.file_name) if truth else "")
        return IntakePlan(inputs, tuple(files), name, depth=DepthPlan(DEFAULT_DEPTH, None, ""))

    def _look(self, file: IntakeFile, read: dict[tuple[object, ...], Any]) -> Look:
        key = ("look", file.key)
        if key not in read:
            preview = self._experiments.preview("run", file.source, file.name)
            read[key] = Look(file.name, preview.columns, preview.rows, preview.n_rows)
        look: Look = read[key]
        return look

    def commit(
        self,
        plan: IntakePlan,
        *,
        skip_refused: bool = False,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] = bool,
    ) -> IntakeResult:
        """Scores everything, then stores it in one go.

        ``cancelled`` is asked between files; ``progress(fraction, text)`` says what is being done. What fails
        while it is scored refuses everything, unless ``skip_refused``: then the rest is stored, and the
        refusals stand in the result.

        Raises IntakeCancelled, and InputError with the problems of all files; then nothing is stored.
        """
        self._context.must_be_editor()
        if not plan.is_ready:
            raise InputError(
                plan.all_problems or Problem("no-files", "files", "no file to store", "Add files.")
            )
        tell = progress or quiet
        by_key = {file.key: file.source for file in plan.inputs.files}
        sources = {file.kind: by_key[file.key] for file in plan.used if file.kind not in LISTS}
        setup = self._experiments.read_setup(
            plan.name, sources["truth"], train=sources.get("train"), catalogue=sources.get("catalogue")
        )
        prepared: list[PreparedRun] = []
        refused: list[RefusedFile] = []
        for number, file in enumerate(plan.of_kind("run")):
            if cancelled():
                raise IntakeCancelled("Cancelled. Nothing was stored.")
            tell(number / len(plan.used), f"Scoring {file.run}")
            try:
                prepared += self._runs.prepare(setup, by_key[file.key], name=file.run)
            except InputError as error:
                refused.append(RefusedFile(file.run, tuple(error.placed())))
        if refused and not (skip_refused and prepared):
            raise InputError([problem for refusal in refused for problem in refusal.problems])
        experiment = self._experiments.store_setup(setup)
        added = self._runs.store_prepared(experiment.id, prepared, progress=progress)
        return IntakeResult(experiment, is_new=True, runs=tuple(added), refused=tuple(refused))
