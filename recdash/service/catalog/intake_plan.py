"""The values of an intake: what is given, what is chosen, what is planned, and what was stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.kinds import Duplicates, OnlineKind, Replication, TableKind, Users
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import Problem, RecdashError
from recdash.ingest.sorting import SortedFile
from recdash.online.rules import USUAL, OnlineRules
from recdash.service.catalog.experiments import Setup
from recdash.service.catalog.runs import AddedRun, FirstIds

if TYPE_CHECKING:
    from recdash.ingest import Preview

LISTS: tuple[TableKind, ...] = ("run", "predictions")
"""Files that are candidates."""
OF_A_TEST: tuple[TableKind, ...] = ("sessions", "exposures", "events", "served", "aggregates")
"""Files of an A/B test."""


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
    name of a run of the plan. ``rules`` are those by which the A/B test is counted, in the time zone
    ``zone``; ``links`` are {variant: run's name}.
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
    rules: OnlineRules = USUAL
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def rules_in_zone(self) -> OnlineRules:
        return replace(self.rules, zone=self.zone)


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
    columns: Mapping[str, str] | None = None
    """{role: column} that the reader is told; None where it guesses all by names."""
    tags: tuple[str, ...] = ()
    note: str = ""
    params: Mapping[str, str] = field(default_factory=dict)

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
    """The A/B test that files of the plan make: {kind: key of the file}, its variants and control.

    ``notices`` are those of counting it, such as a broken split and what the rules exclude.
    """

    name: str
    kind: OnlineKind
    files: Mapping[TableKind, str]
    variants: tuple[str, ...] = ()
    control: str = ""
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()


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
    setup: Setup | None = field(repr=False, compare=False, default=None)
    """The test set and the tables beside it as read; None where there is none, or where it cannot be read."""
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
