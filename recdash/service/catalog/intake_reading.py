"""Makes the plan of several files: detects what each one is, previews it, and checks all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from recdash import ingest
from recdash.domain.defaults import baseline_by_name, default_baseline
from recdash.domain.kinds import DEFAULT_DEPTH, OnlineKind, TableKind
from recdash.domain.records import Experiment, Run
from recdash.errors import InputError, Problem
from recdash.evaluation import relevance
from recdash.evaluation.columns_by_values import by_values_notice
from recdash.evaluation.known_ids import stopping
from recdash.evaluation.uploads import read_uploads, shared_name
from recdash.formatting.names import same_names
from recdash.formatting.wording import listed
from recdash.ingest.columns import plain
from recdash.ingest.file_names import plain_name
from recdash.ingest.id_columns import ITEM_NAMES, USER_NAMES
from recdash.ingest.list_lengths import MOST_BYTES, longest_list, longest_of
from recdash.ingest.looks import Look, id_form
from recdash.ingest.notice_rules import refused_by, with_example
from recdash.ingest.popular_lists import has_same_items
from recdash.ingest.reader import Preview
from recdash.ingest.sorting import Context, SortedFile, columns_for, sort_files
from recdash.online import OnlineResults
from recdash.online.analysis.health import is_called_control, is_control_guessed
from recdash.online.interleaving.results import InterleavingResults
from recdash.online.offers import NO_OFFER, MetricOffers
from recdash.online.proposals import LIBRARY, NO_CHOICE, PROPOSED, MetricPurpose
from recdash.service.catalog.experiments import Experiments, Setup
from recdash.service.catalog.intake_plan import (
    KINDS,
    LISTS,
    NAME_TAKEN,
    OF_A_TEST,
    DepthPlan,
    FileChoice,
    IntakeFile,
    IntakePlan,
    IntakeSettings,
    PlanInputs,
    PlannedFile,
    RelevancePlan,
    TestPlan,
)
from recdash.service.catalog.readings import Readings
from recdash.service.catalog.runs import FirstIds, Runs
from recdash.service.context import ServiceContext
from recdash.service.online.interleaving import Interleaving
from recdash.service.online.planned import PlanOfTest
from recdash.service.online.tests import OnlineTests, PreviewedTest
from recdash.service.validation import clean_name

MOST_IDS = 500_000
"""Largest number of an experiment's users, and items, with which the columns of files are compared."""
OF_A_SETUP: tuple[TableKind, ...] = ("truth", "train", "catalogue", "users", "vectors", "similarity")
ARGUMENTS: Mapping[TableKind, str] = {
    "users": "user_attributes", "vectors": "item_vectors", "similarity": "item_similarity",
}  # fmt: skip
"""The arguments of ``read_setup`` for tables whose kind has another name."""
TITLES: Mapping[TableKind, str] = {
    "truth": "test set", "train": "training data", "catalogue": "catalogue", "users": "users' attributes",
    "vectors": "item vectors", "similarity": "item similarities", "sessions": "sessions",
    "exposures": "exposures", "events": "events", "served": "served lists", "aggregates": "aggregates",
    "interleaving": "interleaving test",
    "run": "recommendations", "predictions": "rating predictions", "bandit": "off-policy log",
    "policy": "policy",
}  # fmt: skip
PLAIN_NAMES = {
    "truth", "test", "test_set", "test-set", "testset", "holdout", "held_out", "ground_truth", "qrels",
    "sessions", "users", "data", "ab_test", "ab-test", "abtest", "ab", "experiment",
}  # fmt: skip
"""Names of files that say nothing about which experiment they belong to."""


Trial = OnlineResults | InterleavingResults
"""What the results of a planned test would be."""


@dataclass(frozen=True)
class Services:
    """The services that a planner uses."""

    context: ServiceContext
    experiments: Experiments
    runs: Runs
    online_tests: OnlineTests
    interleaving: Interleaving


@dataclass
class Draft:
    """A file and all that is known about it while a plan is made."""

    file: IntakeFile
    choice: FileChoice
    look: Look
    sorted: SortedFile
    kind: TableKind | None
    mapping: Mapping[str, str] | None = None
    same_as: str = ""
    preview: Preview | None = None
    run: str = ""
    first_ids: FirstIds | None = None
    segments: tuple[str, ...] | None = None
    problems: list[Problem] = field(default_factory=list)
    notices: list[Problem] = field(default_factory=list)

    @property
    def source(self) -> Any:
        """Returns the file to read; of a workbook, the sheet that was chosen or suggested."""
        return ingest.sheet_of(self.file.source, self.look.sheet)

    @property
    def columns_read(self) -> Mapping[str, str]:
        """Returns {role: column} as the file is read; empty before it is previewed, and if it cannot be."""
        return (self.preview.mapping if self.preview else None) or {}

    @property
    def reads_well(self) -> bool:
        return self.preview is not None and not self.preview.problems

    @property
    def reading(self) -> tuple[object, ...]:
        """Returns a cache key of the file's rows: everything on which reading them depends."""
        mapping = None if self.mapping is None else tuple(sorted(self.mapping.items()))
        return (self.file.key, self.look.sheet, self.kind, mapping)


class Planner:
    """The maker of one plan. ``readings`` are kept also for plans that are derived from it."""

    def __init__(self, services: Services, inputs: PlanInputs, readings: Readings) -> None:
        self._services, self._inputs, self._readings = services, inputs, readings
        self._settings = inputs.settings
        self._experiment: Experiment | None = None
        if inputs.experiment_id is not None:
            self._experiment = services.experiments.get(inputs.experiment_id)
        self._problems: list[Problem] = []

    def plan(self) -> IntakePlan:
        """Returns the plan of the files with their problems and notices."""
        drafts = self._sorted()
        used = [draft for draft in drafts if not draft.choice.left_out]
        for draft in used:
            self._choose_columns(draft, used)
        self._name_runs(used)
        setup = self._setup(used)
        where = self._where(setup)
        for draft in used if where is not None else ():
            self._check_ids(draft, cast("str | Setup", where))
        self._check_together(used)
        notices = (*self._inputs.notices, *self._notices(used, setup), *self._names_taken(used))
        relevance_plan = self._relevance(used, setup)
        test, interleaved = self._tests(used)
        of_tests = [notice for planned in (test, interleaved) if planned for notice in planned.notices]
        self._problems += refused_by([*notices, *of_tests], self._settings.refuse)
        return IntakePlan(
            self._inputs,
            tuple(self._planned(draft) for draft in drafts),
            self._name(used),
            relevance_plan,
            self._depth(used) if self._makes_setup(used) else None,
            self._baseline(used),
            test,
            interleaved,
            tuple(self._problems),
            notices,
            setup=setup,
        )

    # ── what each file is, and how it is read ────────────────────────────────────────────────

    def _sorted(self) -> list[Draft]:
        files, choices = self._inputs.files, self._inputs.choices
        chosen = [choices.get(file.key, FileChoice()) for file in files]
        looks = [self._readings.look(file, choice.sheet) for file, choice in zip(files, chosen, strict=True)]
        places = [number for number, choice in enumerate(chosen) if not choice.left_out]
        kinds = {place: kind for place, number in enumerate(places) if (kind := chosen[number].kind)}
        target = self._experiment
        set_up = target.id if target is not None and target.truth is not None else None
        known = (*(id(looks[number]) for number in places), *sorted(kinds.items()), set_up)
        used = self._readings.once(
            ("sorted", *known),
            lambda: sort_files([looks[number] for number in places], self._context_of(kinds, set_up)),
        )
        by_number = dict(zip(places, used, strict=True))
        drafts = []
        for number, (file, choice, look) in enumerate(zip(files, chosen, looks, strict=True)):
            is_sorted = by_number.get(number, SortedFile(None, "unsure"))
            suggested = is_sorted.kind if is_sorted.confidence != "unsure" else None
            drafts.append(Draft(file, choice, look, is_sorted, choice.kind or suggested))
        _leave_out_other_sheets(drafts)
        return drafts

    def _context_of(self, kinds: Mapping[int, TableKind], set_up: str | None) -> Context:
        """Returns what is known besides the files: the chosen kinds, and the users and items of the test set
        of the experiment ``set_up`` to which they are added.
        """
        if set_up is None:
            return Context(kinds)
        truth = self._services.runs.how_scored(set_up).reference.truth
        users, items = (frozenset(map(id_form, ids[:MOST_IDS])) for ids in (truth.users, truth.items))
        return Context(kinds, is_set_up=True, users=users, items=items)

    def _choose_columns(self, draft: Draft, used: Sequence[Draft]) -> None:
        """Previews a file with the columns chosen for it, else those chosen for a file with the same columns,
        else the suggested ones.

        A file whose kind must be chosen gets a problem instead.
        """
        if draft.kind is None:
            problems = draft.look.problems or (_unsorted(draft.sorted),)
            draft.problems += problems
            return
        draft.mapping = draft.sorted.mapping or None
        if draft.choice.kind is not None and draft.choice.kind != draft.sorted.kind:
            draft.mapping = columns_for(draft.choice.kind, draft.sorted.mapping) or None
        if draft.choice.mapping is not None:
            draft.mapping = draft.choice.mapping
        elif (similar := _similar_file(draft, used)) is not None:
            draft.mapping, draft.same_as = similar.choice.mapping, similar.file.name
        self._preview(draft)
        if draft.mapping is not None and draft.mapping is draft.sorted.mapping:
            draft.notices.append(_columns_by_values(draft.mapping))
        if draft.kind in ("bandit", "policy"):
            fix = "Open it on the page Off-policy, or leave it out here."
            finding = "logs of a policy are not stored with an experiment"
            draft.problems.append(Problem("not-stored", "file", finding, fix))

    def _preview(self, draft: Draft) -> None:
        zone = self._settings.zone
        draft.preview = self._readings.once(
            ("preview", *draft.reading, zone),
            lambda: self._services.experiments.preview(
                cast("TableKind", draft.kind), draft.source, draft.file.name, mapping=draft.mapping, zone=zone
            ),
        )
        draft.problems += draft.preview.problems
        draft.notices += [*_sheet_notices(draft), *draft.preview.notices]

    def _name_runs(self, used: Sequence[Draft]) -> None:
        runs = [draft for draft in used if draft.kind in LISTS]
        stems = [plain_name(draft.file.name) for draft in runs]
        together = shared_name(stems) if self._settings.replicates and len(runs) > 1 else ""
        for draft, stem in zip(runs, stems, strict=True):
            draft.run = (draft.choice.run or together or stem).strip() or draft.file.name

    # ── the files together ───────────────────────────────────────────────────────────────────

    def _makes_setup(self, used: Sequence[Draft]) -> bool:
        has_truth = any(draft.kind == "truth" for draft in used)
        return has_truth and (self._experiment is None or self._experiment.truth is None)

    def _setup(self, used: Sequence[Draft]) -> Setup | None:
        """Returns the set-up: the whole test set and the tables that go with it; None if there is none to
        read.

        Its problems are added to the files that have them.
        """
        tables = {draft.kind: draft for draft in used if draft.kind in OF_A_SETUP and draft.reads_well}
        if not self._makes_setup(used) or "truth" not in tables:
            return None
        key = ("setup", self._settings.relevance, *(draft.reading for draft in tables.values()))
        setup = self._readings.once(key, lambda: self._read_setup(cast("Any", tables)))
        if isinstance(setup, InputError):
            self._place(setup, cast("Any", tables))
            return None
        return setup

    def _read_setup(self, tables: Mapping[TableKind, Draft]) -> Setup | InputError:
        sources: dict[str, Any] = {ARGUMENTS.get(kind, kind): draft.source for kind, draft in tables.items()}
        mappings = _mappings(tables)
        try:
            return self._services.experiments.read_setup(
                "plan", relevance=self._settings.relevance, mappings=mappings, **sources
            )
        except InputError as error:
            return error

    def _place(self, error: InputError, tables: Mapping[TableKind, Draft]) -> None:
        """Adds each problem of an error to the file that it is about, by default the test set."""
        for problem in error.placed():
            draft = next((d for kind, d in tables.items() if problem.place.startswith(kind)), tables["truth"])
            draft.problems.append(problem)

    def _notices(self, used: Sequence[Draft], setup: Setup | None) -> tuple[Problem, ...]:
        """Returns the set-up's notices about several tables; adds notices about one table to its file."""
        together = []
        for notice in setup.reference.notices if setup and setup.reference else ():
            draft = next(
                (d for d in used if notice.place.startswith(f"{d.kind} '") and ", " in notice.place), None
            )
            if draft is None:
                together.append(notice)
            elif notice.code not in {own.code for own in draft.notices}:
                draft.notices.append(replace(notice, place=notice.place.partition("', ")[2]))
        return tuple(together)

    def _where(self, setup: Setup | None) -> str | Setup | None:
        if setup is not None:
            return setup
        experiment = self._experiment
        return experiment.id if experiment is not None and experiment.truth is not None else None

    def _check_ids(self, draft: Draft, where: str | Setup) -> None:
        """Compares the ids in a run's first rows with all of the test set, and adds the problems to the file.

        If few ids are known, it tries whether the columns of users and items were swapped.
        """
        if draft.kind != "run" or not draft.reads_well:
            return
        draft.first_ids = self._first_ids(draft, where)
        if _ids_unknown(draft.first_ids) and draft.choice.mapping is None:
            self._try_swapped(draft, where)
        if _guesses_wrong_item(draft):
            self._without_item(draft)
            return
        first = draft.first_ids
        if first.overlap is None and draft.look.is_whole:  # there are no other rows to check
            draft.problems += first.problems
        elif not draft.choice.accept_ids:
            draft.problems += stopping(first.problems)

    def _try_swapped(self, draft: Draft, where: str | Setup) -> None:
        """Swaps the columns of users and items of a run if only then its ids are in the test set."""
        read = draft.columns_read
        if not {"user_id", "item_id"} <= set(read):
            return
        ids = {"user_id": read["item_id"], "item_id": read["user_id"]}
        swapped = replace(draft, mapping={**(draft.mapping or {}), **ids}, problems=[], notices=[])
        self._preview(swapped)
        if not swapped.reads_well:
            return
        first = self._first_ids(swapped, where)
        if not _ids_unknown(first):
            self._swap(draft, swapped, first)

    def _without_item(self, draft: Draft) -> None:
        """Reads a run without a column of items, which a person then has to choose."""
        column = (draft.mapping or {})["item_id"]
        draft.mapping, draft.first_ids = {**(draft.mapping or {}), "item_id": ""}, None
        draft.problems.clear()
        draft.notices.clear()
        self._preview(draft)
        draft.problems = [_no_items(column), *(own for own in draft.problems if own.code != "missing-column")]

    def _swap(self, draft: Draft, swapped: Draft, first: FirstIds) -> None:
        draft.mapping, draft.preview, draft.first_ids = swapped.mapping, swapped.preview, first
        draft.notices[:] = [_swapped(swapped.mapping or {}), *swapped.notices]

    def _first_ids(self, draft: Draft, where: str | Setup) -> FirstIds:
        place = where if isinstance(where, str) else id(where)
        return self._readings.once(
            ("ids", *draft.reading, draft.run, place),
            lambda: self._services.runs.first_ids(where, draft.source, name=draft.run, mapping=draft.mapping),
        )

    def _check_together(self, used: Sequence[Draft]) -> None:
        kinds: dict[TableKind, list[str]] = {}
        for draft in used:
            if draft.kind is not None and draft.kind not in LISTS:
                kinds.setdefault(draft.kind, []).append(draft.file.name)
        for kind, names in kinds.items():
            if len(names) > 1:
                finding = f"{len(names)} files look like the {TITLES[kind]}: {listed(names)}"
                fix = "Choose another kind for all but one, or leave them out."
                self._problems.append(Problem("several-tables", TITLES[kind], finding, fix))
        has_truth = "truth" in kinds or (self._experiment is not None and self._experiment.truth is not None)
        needing = [kind for kind in kinds if kind in OF_A_SETUP]
        needing += ["run"] if any(draft.kind in LISTS for draft in used) else []
        if needing and not has_truth:
            fix = "Add it (what users actually chose later), or choose the file that is the test set."
            self._problems.append(Problem("no-test-set", "files", "there is no test set", fix))
        if self._experiment is not None and self._experiment.truth is not None:
            self._refuse_tables([kind for kind in kinds if kind in OF_A_SETUP])
        self._check_names(used)

    def _refuse_tables(self, kinds: Sequence[TableKind]) -> None:
        if kinds:
            names = listed([TITLES[kind] for kind in kinds])
            finding = f"the files include {names}, which cannot be added to an experiment with a test set"
            fix = "Leave these files out, or start a new experiment."
            self._problems.append(Problem("has-test-set", "files", finding, fix))

    def _check_names(self, used: Sequence[Draft]) -> None:
        """Adds a problem for each name that several runs have although they are neither seeds nor folds."""
        named: dict[tuple[TableKind | None, str], list[Draft]] = {}
        for draft in used:
            if draft.kind in LISTS:
                named.setdefault((draft.kind, draft.run), []).append(draft)
        for (kind, name), drafts in named.items():
            if len(drafts) > 1 and (self._settings.replicates is None or kind != "run"):
                finding = f"{_number_of(drafts)} have this name{_apart_from_blanks(drafts)}"
                fix = "Rename them, or say that they are seeds or folds of one candidate."
                self._problems.append(Problem("same-name", f"candidate '{name}'", finding, fix))

    def _names_taken(self, used: Sequence[Draft]) -> tuple[Problem, ...]:
        """Returns a notice for each candidate whose name a stored run of the experiment has."""
        if self._experiment is None:
            return ()
        stored = {run.name for run in self._services.runs.all(self._experiment.id, archived=True)}
        names = dict.fromkeys(draft.run for draft in used if draft.kind in LISTS and draft.run in stored)
        finding = f"{self._experiment.name} has a run of this name already"
        fix = (
            "If the content is the same, it is not added again. If it differs, nothing is stored: then "
            "enter another name under Details."
        )
        return tuple(Problem(NAME_TAKEN, f"candidate '{name}'", finding, fix) for name in names)

    # ── what is suggested ────────────────────────────────────────────────────────────────────

    def _name(self, used: Sequence[Draft]) -> str:
        if self._experiment is not None:
            return self._experiment.name
        if self._settings.name:
            return self._settings.name
        first = [draft for draft in used if draft.kind == "truth"] or [d for d in used if d.kind in OF_A_TEST]
        name = plain_name(first[0].file.name) if first else ""
        if name.lower() in PLAIN_NAMES:  # such a name does not identify the experiment
            name = f"Experiment of {self._services.context.now():%-d %b %Y}"
        taken = {experiment.name for experiment in self._services.experiments.all(archived=True)}
        numbered = (f"{name} {number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(name for name in numbered if name not in taken)

    def _relevance(self, used: Sequence[Draft], setup: Setup | None) -> RelevancePlan | None:
        """Returns from which grade a row counts as relevant; None if the test set leaves no choice."""
        truth = next((draft for draft in used if draft.kind == "truth" and draft.preview), None)
        column = truth.columns_read.get("relevance") if truth else None
        if setup is None or setup.reference is None or column is None or self._settings.relevance:
            return None
        rows = setup.reference.truth
        suggestion = self._readings.once(("relevance", id(rows)), lambda: relevance.suggest(rows.gain))
        if suggestion is None:
            return None
        chosen = self._settings.threshold
        threshold = suggestion.threshold if chosen is None else chosen or None
        n_rows, n_users = self._kept(rows, None)
        n_kept, n_kept_users = self._kept(rows, threshold)
        if not n_kept:
            finding = f"no row has {column} {threshold:g} or more"
            self._problems.append(Problem("nothing-relevant", "relevance", finding, "Lower the threshold."))
        return RelevancePlan(
            column,
            suggestion.scale,
            threshold,
            suggestion.threshold,
            suggestion.reason,
            n_rows,
            n_kept,
            n_users,
            n_kept_users,
            rows_of_zero=len(rows.gain) - n_rows,
        )

    def _kept(self, truth: Any, threshold: float | None) -> tuple[int, int]:
        return self._readings.once(("kept", id(truth), threshold), lambda: relevance.kept(truth, threshold))

    def _depth(self, used: Sequence[Draft]) -> DepthPlan:
        runs = [draft for draft in used if draft.kind == "run" and draft.reads_well]
        lengths = [self._longest_list(draft) for draft in runs]
        known = [length for length in lengths if length]
        longest = max(known) if known and len(known) == len(lengths) else None
        depth = DEFAULT_DEPTH if longest is None else min(longest, DEFAULT_DEPTH)
        reason = f"The longest list has {longest:,} items." if longest else ""
        chosen = self._settings.depth
        return DepthPlan(depth if chosen is None else chosen, longest, reason)

    def _longest_list(self, draft: Draft) -> int | None:
        """Returns the length of a run's longest list; None if its first rows do not show it and it is too
        large to be read twice.
        """
        shown = longest_list(draft.look, draft.columns_read)
        if shown or "replicate" in draft.columns_read or draft.look.n_bytes > MOST_BYTES:
            return shown
        return self._readings.once(("longest", *draft.reading), lambda: self._counted_list(draft))

    def _counted_list(self, draft: Draft) -> int | None:
        limits = self._services.context.limits
        try:
            return longest_of(read_uploads(draft.source, draft.run, draft.mapping, limits))
        except InputError:  # which scoring states
            return None

    def _baseline(self, used: Sequence[Draft]) -> str:
        """Returns the name of the baseline: the chosen run, else one whose name or lists suggest it.

        "" for none, and if the experiment has a baseline already.
        """
        if self._experiment is not None and self._experiment.baseline is not None:
            return ""
        names = list(dict.fromkeys(draft.run for draft in used if draft.kind in LISTS))
        if self._settings.baseline in names:
            return str(self._settings.baseline)
        return baseline_by_name(names) or self._popular_run(used)

    def _popular_run(self, used: Sequence[Draft]) -> str:
        """Returns the only candidate whose lists hold the same few items for all users; "" without one."""
        runs = [draft for draft in used if draft.kind == "run" and draft.reads_well]
        popular = {draft.run for draft in runs if has_same_items(draft.look, draft.columns_read)}
        has_others = len({draft.run for draft in runs}) > 1
        return popular.pop() if len(popular) == 1 and has_others else ""

    # ── the A/B test ─────────────────────────────────────────────────────────────────────────

    def _tests(self, used: Sequence[Draft]) -> tuple[TestPlan | None, TestPlan | None]:
        """Returns the test that the files make, and the interleaving test beside an A/B test."""
        tables = {draft.kind: draft for draft in used if draft.kind in OF_A_TEST}
        interleaved = {kind: draft for kind, draft in tables.items() if kind == "interleaving"}
        of_ab_test = {kind: draft for kind, draft in tables.items() if kind != "interleaving"}
        if not interleaved or not of_ab_test:
            return (self._test(used, cast("Any", tables)) if tables else None), None
        test = self._test(used, cast("Any", of_ab_test))
        beside = self._test(used, cast("Any", interleaved), beside=test)
        return test, beside

    def _test(
        self, used: Sequence[Draft], tables: Mapping[TableKind, Draft], beside: TestPlan | None = None
    ) -> TestPlan:
        """Returns the plan of a test. Of one ``beside`` another, name and control are not chosen."""
        kind, problems = _kind_of_test(tables)
        files = {table: draft.file.key for table, draft in tables.items()}
        first = next(iter(tables.values()))
        chosen_name = self._settings.test_name if beside is None else None
        name = chosen_name or plain_name(first.file.name)
        if beside is not None and name == beside.name:
            name = f"{name} interleaved"
        plan = TestPlan(name, kind, files, problems=(*problems, *_problems_of_name(name)))
        if plan.problems or not all(draft.reads_well for draft in tables.values()):
            return plan
        chosen = self._settings.control if beside is None else None
        plan = replace(plan, offers=self._offers(tables, chosen))
        planned = self._plan_for(name) if kind != "interleaving" else None
        trial = self._counted(tables, chosen, planned)
        if chosen is None and not isinstance(trial, InputError):
            trial = self._counted(tables, self._served_baseline(used, trial), planned)
        if isinstance(trial, InputError):
            return replace(plan, problems=tuple(trial.placed()))
        if isinstance(trial, InterleavingResults):
            first.segments = tuple(sorted(trial.requests.labels.segments))
        for draft in tables.values():
            columns = draft.preview.columns if draft.preview else ()
            places = {f"column '{column}'" for column in columns}
            draft.notices += [n for n in trial.notices if n.code == "column-left-out" and n.place in places]
        of_files = {(notice.code, notice.place) for draft in tables.values() for notice in draft.notices}
        notices = tuple(notice for notice in trial.notices if (notice.code, notice.place) not in of_files)
        return replace(
            plan,
            variants=tuple(trial.variants),
            control=trial.control,
            notices=notices,
            purposes=_purposes(trial),
            is_proposed=any(notice.code in (PROPOSED, LIBRARY) for notice in trial.notices),
            analysis=trial.plan if isinstance(trial, PreviewedTest) else None,
        )

    def _plan_for(self, name: str) -> PlanOfTest | None:
        """Returns the analysis plan that the experiment has for a test with this name."""
        if self._experiment is None:
            return None
        return self._services.online_tests.planned(self._experiment.id, name)

    def _offers(self, tables: Mapping[TableKind, Draft], control: str | None) -> MetricOffers:
        """Returns what can be chosen about the test's metrics, whatever was chosen already."""
        rules = replace(self._settings.rules, activated_by=None)
        settings = replace(self._settings, rules=rules, choices=NO_CHOICE, purposes={})
        trial = self._counted(tables, control, settings=settings)  # counted anyway if nothing was chosen
        return trial.offers if isinstance(trial, PreviewedTest) else NO_OFFER

    def _counted(
        self,
        tables: Mapping[TableKind, Draft],
        control: str | None,
        planned: PlanOfTest | None = None,
        *,
        settings: IntakeSettings | None = None,
    ) -> Trial | InputError:
        reading, chosen = (draft.reading for draft in tables.values()), settings or self._settings
        versions = planned.key.versions if planned else ()
        key = ("test", str(chosen.rules_in_zone), str(chosen.metric_choices), control, versions, *reading)
        return self._readings.once(key, lambda: self._trial(tables, control, chosen, planned))

    def _served_baseline(self, used: Sequence[Draft], trial: Trial) -> str | None:
        """Returns the variant that is linked to the baseline or named like it; None to keep the control whose
        name says so.

        Unless a name says which variant is the control, it is the one whose name suggests a baseline, such as
        ``popular``.
        """
        stored = self._stored_runs()
        baseline = self._stored_baseline() or self._baseline(used)
        names = dict.fromkeys([*(run.name for run in stored), *(draft.run for draft in used if draft.run)])
        links = self._settings.links or same_names(trial.variants, list(names))
        links = {variant: run for variant, run in links.items() if variant in trial.variants}
        served = next((variant for variant, run in links.items() if run == baseline), None)
        if served is not None and not (is_called_control(trial.control) and trial.control not in links):
            return served
        return baseline_by_name(trial.variants) if is_control_guessed(trial.notices) else None

    def _stored_baseline(self) -> str:
        """Returns the name of the run that is the experiment's baseline; "" without one."""
        experiment, runs = self._experiment, self._stored_runs()
        return default_baseline(experiment, runs).name if experiment is not None and runs else ""

    def _stored_runs(self) -> list[Run]:
        return list(self._services.runs.all(self._experiment.id)) if self._experiment is not None else []

    def _trial(
        self,
        tables: Mapping[TableKind, Draft],
        control: str | None,
        settings: IntakeSettings,
        planned: PlanOfTest | None,
    ) -> Trial | InputError:
        """Returns the A/B test's results, with what the rules exclude as notices; the error if it cannot be
        counted.
        """
        data: dict[str, Any] = {kind: draft.source for kind, draft in tables.items()}
        try:
            if "interleaving" in tables:
                interleaved = tables["interleaving"]
                return self._services.interleaving.preview(
                    interleaved.source, control=control, mapping=interleaved.mapping
                ).with_warnings_noticed()
            results = self._services.online_tests.preview(
                data,
                control=control,
                rules=settings.rules_in_zone,
                mappings=_mappings(tables),
                choices=settings.metric_choices,
                planned=planned,
            )
        except InputError as error:
            return error
        return replace(results, notices=tuple(results.noticed()))

    # ── a file as planned ────────────────────────────────────────────────────────────────────

    def _planned(self, draft: Draft) -> PlannedFile:
        of_ids = draft.first_ids.problems if draft.first_ids else ()
        stops = stopping(of_ids)
        shown = [*stops, *draft.problems]
        notices = _distinct([*draft.notices, *(problem for problem in of_ids if problem not in shown)])
        rows = draft.preview.rows if draft.preview else ()
        notices = tuple(with_example(notice, rows) for notice in notices)
        refused = refused_by(notices, self._settings.refuse)
        return PlannedFile(
            draft.file.key,
            draft.file.name,
            draft.kind,
            draft.sorted,
            draft.choice.kind is not None,
            draft.choice.left_out,
            draft.run,
            draft.look.sheet,
            () if isinstance(draft.file.source, ingest.Sheet) else draft.look.sheets,
            draft.preview,
            draft.same_as,
            draft.first_ids,
            bool(stops),
            _distinct([*draft.problems, *refused]),
            notices,
            draft.mapping,
            draft.choice.tags,
            draft.choice.note,
            draft.choice.params,
            draft.look.rows.num_rows,
            not draft.look.is_whole or bool(draft.look.problems),
            draft.segments,
        )


def _problems_of_name(name: str) -> tuple[Problem, ...]:
    """Returns why no test can have this name."""
    try:
        clean_name(name)
    except InputError as error:
        return tuple(replace(problem, place="name of the test") for problem in error.problems)
    return ()


def _purposes(trial: Trial) -> dict[str, MetricPurpose]:
    """Returns what each metric is for; empty for an interleaving test."""
    if isinstance(trial, InterleavingResults):
        return {}
    return {row.metric: MetricPurpose(row.role, row.direction) for row in trial.rows}  # type: ignore[arg-type]


def _mappings(tables: Mapping[TableKind, Draft]) -> dict[str, Mapping[str, str]]:
    return {kind: draft.mapping for kind, draft in tables.items() if draft.mapping is not None}


def _number_of(drafts: Sequence[Draft]) -> str:
    """Returns how many files there are, as ``2 files`` or ``2 sheets``."""
    are_sheets = all(isinstance(draft.file.source, ingest.Sheet) for draft in drafts)
    return f"{len(drafts)} {'sheets' if are_sheets else 'files'}"


def _apart_from_blanks(drafts: Sequence[Draft]) -> str:
    """Returns that files have different names, if only blanks at their ends differ; else an empty text."""
    names = {draft.file.name for draft in drafts}
    if len(names) == 1 or len({name.strip() for name in names}) > 1:
        return ""
    quoted = [f"'{name}'" for name in sorted(names)]
    return f", apart from blanks at its ends: {listed(quoted)}"


def _leave_out_other_sheets(drafts: Sequence[Draft]) -> None:
    """Chooses to leave out each sheet of which nothing is known, beside sheets that are recognised, unless
    its kind was chosen.
    """
    known = {draft.file.given for draft in drafts if draft.kind is not None} - {None}
    for draft in drafts:
        is_sheet = isinstance(draft.file.source, ingest.Sheet) and draft.file.given in known
        if is_sheet and draft.kind is None and draft.sorted.kind is None:
            draft.choice = replace(draft.choice, left_out=True)


def _sheet_notices(draft: Draft) -> list[Problem]:
    """Returns a notice if the first of several sheets is read without a choice; else an empty list."""
    if draft.choice.sheet or isinstance(draft.file.source, ingest.Sheet) or len(draft.look.sheets) < 2:
        return []
    finding = f"read from the sheet '{draft.look.sheet}', one of {len(draft.look.sheets)}"
    return [Problem("sheet", "file", finding, "Choose another sheet if this is wrong.")]


def _columns_by_values(mapping: Mapping[str, str]) -> Problem:
    """Returns the notice that columns were recognised by their values rather than their names."""
    names = {role: plain(column) for role, column in mapping.items()}
    if names.get("user_id") in ITEM_NAMES and names.get("item_id") in USER_NAMES:
        return _swapped(mapping)
    return by_values_notice("columns", mapping, "Change it if wrong.")


def _swapped(mapping: Mapping[str, str]) -> Problem:
    finding = f"'{mapping['user_id']}' holds users and '{mapping['item_id']}' items, whatever their names say"
    return Problem("ids-swapped", "columns", finding, "Change the columns if this is wrong.")


def _no_items(column: str) -> Problem:
    finding = f"no item column: none of the values of '{column}' is an item of the test set"
    return Problem("missing-column", "columns", finding, "Map item_id to the column of the items.")


def _ids_unknown(first: FirstIds) -> bool:
    """Returns whether no user of the first rows is in the test set, or so few ids that scoring would stop."""
    return first.overlap is None or bool(stopping(first.problems))


def _guesses_wrong_item(draft: Draft) -> bool:
    """Returns whether a column was guessed to hold the items of a run, and none of its values is in the test
    set, in whatever spelling.
    """
    is_chosen = draft.choice.mapping is not None or draft.choice.accept_ids or bool(draft.same_as)
    overlap = draft.first_ids.overlap if draft.first_ids else None
    if is_chosen or "item_id" not in (draft.mapping or {}) or overlap is None:
        return False
    return not overlap.items.known and not overlap.items.respelled


def _unsorted(is_sorted: SortedFile) -> Problem:
    kinds = [is_sorted.kind] if is_sorted.kind else []
    likely = [f"'{KINDS[kind]}'" for kind in (*kinds, *is_sorted.alternatives) if kind in KINDS]
    fix = f"Choose what it is: {', '.join(likely)}." if likely else "Choose what it is, or leave it out."
    return Problem("what-is-it", "file", " ".join(is_sorted.reasons).rstrip("."), fix)


def _similar_file(draft: Draft, used: Sequence[Draft]) -> Draft | None:
    """Returns another file of the same kind and columns whose mapping a person chose; None if there is
    none.
    """
    for other in used:
        is_alike = (other.kind, other.look.columns) == (draft.kind, draft.look.columns)
        if other is not draft and is_alike and other.choice.mapping is not None:
            return other
    return None


def _kind_of_test(tables: Mapping[TableKind, Draft]) -> tuple[OnlineKind, list[Problem]]:
    """Returns the kind of log that the A/B test has, with problems if files are missing or several logs are
    given.
    """
    main = [kind for kind in ("sessions", "events", "aggregates", "interleaving") if kind in tables]
    problems = []
    if len(main) > 1:
        finding = f"{listed([TITLES[cast('TableKind', kind)] for kind in main])} are given together"
        fix = "Leave all but one out, since each gives an A/B test."
        problems.append(Problem("several-logs", "A/B test", finding, fix))
    kind = cast("OnlineKind", main[0] if main else "events")
    if not main or (kind == "events" and "exposures" not in tables):
        lacking = "exposures (which user saw which variant)" if main else "events, or sessions with numbers,"
        given = listed([TITLES[table] for table in tables])
        finding = f"only {given}; {lacking} are missing"
        problems.append(Problem("incomplete-test", "A/B test", finding, "Add the missing file."))
    return kind, problems


def _distinct(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys(problems))
