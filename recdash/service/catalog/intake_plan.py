"""The values of an intake: files as given, the person's choices, the plan, and what was stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.kinds import Duplicates, OnlineKind, Replication, TableKind, Users
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import Problem, RecdashError
from recdash.ingest.actions import Action, action_of
from recdash.ingest.sorting import SortedFile
from recdash.online.offers import NO_OFFER, MetricOffers
from recdash.online.plan import AnalysisPlan
from recdash.online.proposals import NO_CHOICE, MetricChoices, MetricPurpose
from recdash.online.rules import USUAL, OnlineRules
from recdash.service.catalog.experiments import Setup
from recdash.service.catalog.runs import AddedRun, FirstIds

if TYPE_CHECKING:
    from recdash.ingest import Preview

LISTS: tuple[TableKind, ...] = ("run", "predictions")
"""Kinds of files that make a candidate."""
KINDS: Mapping[TableKind, str] = {
    "truth": "Test set",
    "run": "Recommendations",
    "train": "Training data",
    "catalogue": "Catalogue",
    "users": "User attributes",
    "vectors": "Item vectors",
    "similarity": "Item similarities",
    "predictions": "Rating predictions",
    "sessions": "A/B test",
    "exposures": "A/B test: exposures",
    "events": "A/B test: events",
    "served": "A/B test: served lists",
    "aggregates": "A/B test: aggregates",
    "interleaving": "Interleaving test",
}
"""The kinds of tables in the menu of the page Add data."""
OF_A_TEST: tuple[TableKind, ...] = (
    "sessions", "exposures", "events", "served", "aggregates", "interleaving",
)  # fmt: skip
"""Kinds of files that make an A/B test or an interleaving test."""
NAME_TAKEN = "name-taken"
"""The code of a notice that a stored run has the name of a candidate."""


# ── files and choices ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class IntakeFile:
    """A file as it was given, a table of a zip archive that was given, or a table of several files.

    ``key`` is any constant text that is unique among the files; ``given`` is that of the archive, None for a
    file as it was given. ``folder`` is where the file was, "" if unknown.
    """

    key: str
    name: str
    source: Any
    given: str | None = None
    folder: str = ""


@dataclass(frozen=True)
class FileChoice:
    """What a person chose for one file; fields that are None or empty were not chosen.

    ``mapping`` is {role: column} like ``PlannedFile.mapping``, with "" for a role that is not read. ``run``
    names the candidate: files with the same name are its seeds or folds, and predictions with the name of a
    run belong to it. ``accept_ids`` scores the run although few of its users or items are in the test set.
    ``source`` is where a tracker has the run: see ``Run.source``.
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
    source: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IntakeSettings:
    """What a person chose for the experiment and the A/B test; None takes what the plan suggests.

    ``threshold`` 0 counts every row above 0 as relevant; ``relevance`` "none" counts every row. ``baseline``
    is the name of a run in the plan. ``rules`` are the counting rules of the A/B test, ``zone`` its time
    zone, and ``links`` maps variants to names of runs: {} links none, None was not chosen yet. ``purposes``
    are those of the A/B test's metrics that were chosen otherwise, ``choices`` are its primary metric,
    covariates and metrics of the library. ``refuse`` are codes of notices with which a file is refused.
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
    links: Mapping[str, str] | None = None
    purposes: Mapping[str, MetricPurpose] = field(default_factory=dict)
    choices: MetricChoices = NO_CHOICE
    refuse: tuple[str, ...] = ()

    @property
    def rules_in_zone(self) -> OnlineRules:
        return replace(self.rules, zone=self.zone)

    @property
    def metric_choices(self) -> MetricChoices:
        """Returns all that was chosen about the metrics of the A/B test."""
        return replace(self.choices, purposes={**self.choices.purposes, **self.purposes})


# ── the plan ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PlannedFile:
    """One file of a plan: what it is, how it is read, and what is wrong with it.

    ``kind`` is None while a person must choose it. ``sorted`` is the kind that recdash detected and why;
    ``is_chosen`` is whether a person chose or confirmed the kind. ``mapping`` is {role: column} as it is read
    now. ``same_as`` is the name of a file with the same header whose chosen columns are used here, too.
    ``problems`` prevent storing, ``notices`` do not. ``first_ids`` is the overlap of the first rows with the
    test set; ``asks_ids`` is whether ``FileChoice.accept_ids`` would remove a problem.
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
    """{role: column} that is passed to the reader; None if it detects all columns itself."""
    tags: tuple[str, ...] = ()
    note: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    rows_seen: int = 0
    """The number of rows that were looked at; ``has_more``: the file has others."""
    has_more: bool = True
    segments: tuple[str, ...] | None = None
    """The columns by which an interleaving test shows preferences; None if they are not known."""

    @property
    def mapping(self) -> Mapping[str, str]:
        return (self.preview.mapping if self.preview else None) or {}

    @property
    def n_rows(self) -> int | None:
        """Returns the number of rows; None if it is unknown until the whole file is read."""
        in_file = self.preview.n_rows if self.preview else None
        return self.rows_seen if in_file is None and not self.has_more else in_file

    @property
    def action(self) -> Action:
        """Returns what becomes of the file by its first rows: accept, with a mapping or a warning, or
        reject.
        """
        by_format = self.preview is not None and self.preview.format.startswith("JSON")
        return action_of(self.problems, self.notices, self.mapping, by_format=by_format)

    @property
    def is_usable(self) -> bool:
        return self.left_out or (self.kind is not None and not self.problems)


@dataclass(frozen=True)
class RelevancePlan:
    """From which grade a row of the test set counts as relevant, and how many rows and users that keeps.

    ``threshold`` None counts every row above 0. ``suggested`` is the threshold that fits the scale, None if
    every row above 0 should count; ``reason`` says why in one sentence. ``rows`` are those above 0, and
    ``rows_of_zero`` is the number of the others.
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
    rows_of_zero: int = 0


@dataclass(frozen=True)
class DepthPlan:
    """How many positions of each list are read; ``longest`` is the longest list seen, None if unknown."""

    depth: int
    longest: int | None
    reason: str


@dataclass(frozen=True)
class TestPlan:
    """The A/B test or interleaving test that some files of the plan make.

    ``files`` maps kinds of tables to keys of files.

    ``notices`` come from counting the test, such as a sample ratio mismatch and what the rules exclude.
    ``purposes`` are those of the metrics, by name; ``is_proposed`` is whether recdash proposed some of them
    by the columns. ``offers`` is what can be chosen about them. ``analysis`` is the analysis plan that the
    experiment has for the test.
    """

    name: str
    kind: OnlineKind
    files: Mapping[TableKind, str]
    variants: tuple[str, ...] = ()
    control: str = ""
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    purposes: Mapping[str, MetricPurpose] = field(default_factory=dict)
    is_proposed: bool = False
    offers: MetricOffers = NO_OFFER
    analysis: AnalysisPlan | None = None


@dataclass(frozen=True)
class PlanInputs:
    """Everything from which a plan is made.

    ``files`` are the tables found in those that were ``given``; () before they were looked for.
    """

    files: tuple[IntakeFile, ...]
    choices: Mapping[str, FileChoice] = field(default_factory=dict)
    settings: IntakeSettings = IntakeSettings()
    experiment_id: str | None = None
    given: tuple[IntakeFile, ...] = ()
    notices: tuple[Problem, ...] = ()
    """What was noticed when the tables of the files were found."""


@dataclass(frozen=True)
class IntakePlan:
    """What would be stored, and everything that is wrong with it.

    ``experiment_id`` is the existing experiment to which runs are added; None makes a new one called
    ``name``. ``relevance`` and ``depth`` are None if there is nothing to choose. ``baseline`` is the name of
    the run with which others are compared, "" if there is none yet. ``problems`` are about several files
    together; each file has its own problems besides.
    """

    inputs: PlanInputs
    files: tuple[PlannedFile, ...]
    name: str
    relevance: RelevancePlan | None = None
    depth: DepthPlan | None = None
    baseline: str = ""
    test: TestPlan | None = None
    interleaved: TestPlan | None = None
    """The interleaving test beside an A/B test; one that is given alone is ``test``."""
    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    setup: Setup | None = field(repr=False, compare=False, default=None)
    """The test set and the other tables of the set-up as read; None without a readable test set."""
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

    @property
    def given_keys(self) -> list[str]:
        """Returns the keys of the files that were given, an archive of several tables once."""
        return [file.key for file in self.inputs.given]

    def of_kind(self, *kinds: TableKind) -> tuple[PlannedFile, ...]:
        return tuple(file for file in self.used if file.kind in kinds)

    @property
    def run_names(self) -> tuple[str, ...]:
        """Returns the distinct names of the candidates, in the order of their files."""
        return tuple(dict.fromkeys(file.run for file in self.of_kind(*LISTS)))

    @property
    def is_ab_only(self) -> bool:
        """Returns whether the files make an A/B test, with no test set and no candidate."""
        return self.test is not None and not self.of_kind("truth", *LISTS)

    @property
    def is_ready(self) -> bool:
        """Returns whether the plan can be committed: it has files, and neither they nor the plan have
        problems.
        """
        together = (*self.problems, *self.test_problems)
        return bool(self.used) and all(file.is_usable for file in self.files) and not together

    @property
    def tests(self) -> tuple[TestPlan, ...]:
        """Returns the tests that the files make: at most an A/B test and an interleaving test."""
        return tuple(test for test in (self.test, self.interleaved) if test is not None)

    @property
    def test_problems(self) -> tuple[Problem, ...]:
        return tuple(problem for test in self.tests for problem in test.problems)

    @property
    def test_notices(self) -> tuple[Problem, ...]:
        return tuple(notice for test in self.tests for notice in test.notices)

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        """Returns the problems of each file (their places begin with its name), of the plan, and of the
        tests.
        """
        of_files = [
            replace(problem, place=f"{file.file_name}, {problem.place}")
            for file in self.used
            for problem in file.problems
        ]
        return (*of_files, *self.problems, *self.test_problems)

    def choice(self, key: str) -> FileChoice:
        return self.inputs.choices.get(key, FileChoice())

    def with_choice(self, key: str, **changed: Any) -> IntakePlan:
        """Returns the plan after a change of one file's choice; ``changed`` are fields of ``FileChoice``."""
        return self.with_choices({key: changed})

    def with_choices(self, changed: Mapping[str, Mapping[str, Any]]) -> IntakePlan:
        """Returns the plan after changes of the choices of several files: {key: fields of ``FileChoice``}."""
        choices = {key: replace(self.choice(key), **fields) for key, fields in changed.items()}
        return self.make(replace(self.inputs, choices={**self.inputs.choices, **choices}))

    def with_settings(self, **changed: Any) -> IntakePlan:
        """Returns the plan after a change of its settings; ``changed`` are fields of ``IntakeSettings``."""
        return self.make(replace(self.inputs, settings=replace(self.inputs.settings, **changed)))

    def with_files(self, files: Sequence[IntakeFile]) -> IntakePlan:
        """Returns the plan for these files; files with a known key keep their choices and are not read
        again.
        """
        return self.make(replace(self.inputs, files=tuple(files), given=(), notices=()))

    def with_experiment(self, experiment_id: str | None) -> IntakePlan:
        """Returns the plan for adding to another experiment; None plans a new one."""
        return self.make(replace(self.inputs, experiment_id=experiment_id))


# ── the result ───────────────────────────────────────────────────────────────────────────────


class IntakeCancelled(RecdashError):
    """The error of an intake that was cancelled before anything was stored."""


@dataclass(frozen=True)
class RefusedFile:
    """A candidate or A/B test of which nothing was stored, and why."""

    name: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True)
class IntakeResult:
    """What a commit stored: the experiment, its new runs and tests; and which candidates it refused.

    ``interleaved`` is an interleaving test beside the A/B test ``test``.
    ``is_new`` is whether the commit created the experiment. ``completed`` are runs with popular items for
    users without a list.
    """

    experiment: Experiment
    is_new: bool
    runs: tuple[AddedRun, ...] = ()
    test: OnlineTest | None = None
    refused: tuple[RefusedFile, ...] = ()
    completed: tuple[AddedRun, ...] = ()
    interleaved: OnlineTest | None = None

    @property
    def tests(self) -> tuple[OnlineTest, ...]:
        return tuple(test for test in (self.test, self.interleaved) if test is not None)
