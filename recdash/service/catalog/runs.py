"""Reads, scores, stores, renames, archives and deletes candidates and reference candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Real
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.arguments import check_flag, check_type, texts_of
from recdash.domain.hits import Hits, IdOverlap
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Replication
from recdash.domain.records import Run
from recdash.domain.results import Curve
from recdash.engines import hits_to_tables, match
from recdash.errors import EvidenceDamaged, InputError, NameTaken, NotFound, Problem, check_known
from recdash.evaluation import reading, request
from recdash.evaluation.candidates import (
    PreparedRun,
    group_by_candidate,
    prepare_predictions,
    prepare_runs,
)
from recdash.evaluation.column_choice import ColumnsGiven, read_column_choice
from recdash.evaluation.comparability import served_users_hash
from recdash.evaluation.known_ids import id_problems
from recdash.evaluation.replicates import hits_of, lists_of, overlap_of
from recdash.evaluation.scoring import Scored, Scoring
from recdash.evaluation.uploads import read_uploads
from recdash.formatting.sanitize import check_name, check_note, visible
from recdash.formatting.wording import cut_inside
from recdash.metrics import METRICS, naming
from recdash.references import REFERENCES, TABLES_NEEDED, make_references
from recdash.references.context import RankerInputs
from recdash.references.fallback import completed
from recdash.service import frames
from recdash.service.catalog.experiments import Setup
from recdash.service.context import ServiceContext, no_test_set
from recdash.service.run_data import RunData
from recdash.service.staging import store_with_files
from recdash.service.validation import LONGEST_NAME, Progress, check_typed, clean_name, quiet
from recdash.store import new_id

if TYPE_CHECKING:
    from recdash.evaluation.spark import Spark
    from recdash.store.artifacts import Artifacts

REFERENCE_TAG = "reference"
TAG, PARAMS_ARE = "nightly", "Give {name: value}: texts, numbers, True, False or None."
Param = str | float | bool | None
PARAM_TYPES = (str, Real, np.bool_, NoneType)
FALLBACK_NAME = " + popular for the rest"


@dataclass(frozen=True)
class AddedRun:
    """A run, and whether it was stored already before this call."""

    run: Run
    already_there: bool

    @property
    def is_archived(self) -> bool:
        """Returns whether the run is archived; only one that was stored before can be."""
        return self.run.archived is not None


@dataclass(frozen=True)
class StagedRun:
    """A scored run whose files are stored already, and whose rows are not.

    ``replicates`` are its folds or seeds with their curves. ``files`` are the experiment's stored tables with
    which it was scored; empty for a set-up that was not stored.
    """

    run: Run
    curves: tuple[Curve, ...]
    replicates: tuple[tuple[Run, list[Curve]], ...] = ()
    files: frozenset[str] = frozenset()

    @property
    def needs(self) -> frozenset[str]:
        """Returns the hashes of the files that the run and its replicates need."""
        runs = [self.run, *(run for run, _ in self.replicates)]
        uploads = [run.upload for run in runs if run.upload]
        return frozenset([*uploads, *(sha256 for run in runs for sha256 in run.hits.values())])

    def of(self, experiment_id: str) -> StagedRun:
        """Returns the run as one of this experiment."""
        below = tuple((replace(run, experiment=experiment_id), curves) for run, curves in self.replicates)
        return replace(self, run=replace(self.run, experiment=experiment_id), replicates=below)


@dataclass(frozen=True)
class ReferenceChoice:
    """A reference candidate for an experiment.

    ``lacks`` is the table that it needs and the experiment lacks, "" for none. ``is_there`` is whether it is
    stored, and ``is_archived`` whether it is also archived.
    """

    name: str
    label: str
    meaning: str
    lacks: str
    is_there: bool
    is_archived: bool


@dataclass(frozen=True)
class FallbackOffer:
    """A run whose missing lists can be filled with popular items.

    ``n_users`` is the number of test users without a list.
    """

    run_id: str
    name: str
    n_users: int


@dataclass(frozen=True)
class FirstIds:
    """The overlap of ids in the first ``rows`` rows of an upload with the test set, and its problems.

    ``overlap`` is None if the rows cannot be read, and if no user is known.
    """

    rows: int
    overlap: IdOverlap | None
    problems: tuple[Problem, ...]


class Runs:
    """The service for operations on runs: read, score, store, rename, archive and delete them."""

    def __init__(self, context: ServiceContext, data: RunData) -> None:
        self._context, self._data = context, data
        self._store = context.store
        self._lacks = context.cached(self._read_lacks, most=64)

    def all(self, experiment_id: str, archived: bool = False) -> list[Run]:
        """Returns the runs of an experiment, reference candidates included."""
        return self._store.runs.of_experiment(experiment_id, archived)

    def add(
        self,
        experiment_id: str,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
        predictions: Any = None,
        predictions_mapping: Mapping[str, str] | None = None,
        tags: Sequence[str] = (),
        note: str = "",
        params: Mapping[str, Param] | None = None,
        replicates: Replication | None = None,
        accept_unknown_ids: bool = False,
        columns: ColumnsGiven | None = None,
        engine: Spark | None = None,
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Scores an upload and stores it: one candidate, or several that a column distinguishes.

        ``source`` None with ``predictions`` is a candidate that predicts ratings and has no lists. Several
        tables ({label: table} or a list), or a column ``fold`` or ``seed``, make one candidate of several
        folds or seeds. ``replicates`` says which: "seeds" recommend to the same users, "folds" to different
        ones; None detects it (see ``recdash.evaluation.replicates``). A run whose ids hardly overlap with the
        experiment's is refused unless ``accept_unknown_ids``. ``columns`` and ``engine`` are as in
        ``recdash.evaluate``; ``mapping`` and ``predictions_mapping`` map the columns of one table.

        Raises InputError for an unusable file, NameTaken if another upload has the name; then nothing is
        stored.
        """
        check_type("params", params, (Mapping, NoneType), PARAMS_ARE)
        tags = tuple(texts_of("tags", tags, TAG))
        facts = {"tags": tags, "note": note, "params": _texts_of_params(params or {})}
        _check_facts(facts)
        prepared = self.prepare(
            experiment_id,
            source,
            name=name,
            mapping=mapping,
            predictions=predictions,
            predictions_mapping=predictions_mapping,
            replicates=replicates,
            accept_unknown_ids=accept_unknown_ids,
            columns=columns,
            engine=engine,
            progress=progress,
        )
        return self.store_prepared(experiment_id, prepared, facts, progress)

    def prepare(
        self,
        where: str | Setup,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
        predictions: Any = None,
        predictions_mapping: Mapping[str, str] | None = None,
        replicates: Replication | None = None,
        accept_unknown_ids: bool = False,
        columns: ColumnsGiven | None = None,
        engine: Spark | None = None,
        progress: Progress | None = None,
    ) -> list[PreparedRun]:
        """Reads and scores an upload for ``where``, an experiment's id or a set-up; stores nothing.

        Raises InputError for an unusable file, and for predictions without lists that have no name.
        """
        self._context.must_be_editor()
        check_flag("accept_unknown_ids", accept_unknown_ids)
        scoring = self.how_scored(where, accept_unknown_ids=accept_unknown_ids)
        tell, limits = progress or quiet, self._context.limits
        tell(0.0, "Reading the file")
        names = [name] if name else []
        choice = read_column_choice(columns, ("run", "predictions"), names)
        sources = {"run": source, "predictions": predictions}
        choice.check_given([*names, *(kind for kind, table in sources.items() if table is not None)])
        if columns:
            mapping = choice.of("run", *names, also=mapping)
            predictions_mapping = choice.of("predictions", *names, also=predictions_mapping)
        uploads = [] if source is None else read_uploads(source, name, mapping, limits, engine=engine)
        candidates = group_by_candidate(uploads)
        rated = reading.open_predictions(predictions, predictions_mapping, limits)
        choice.check_used()
        if source is None and (rated is None or not name):
            problem = "neither lists nor predictions" if rated is None else "predictions without a name"
            fix = "Give the candidate lists, or predictions and a name."
            raise InputError(Problem("no-run", "candidate", problem, fix))
        if rated is not None and len(candidates) > 1:
            problem = f"the file of lists holds {len(candidates)} candidates"
            fix = "Upload each candidate as a separate file."
            raise InputError(Problem("whose-predictions", "rating predictions", problem, fix))
        if source is None and rated is not None:
            return [prepare_predictions(str(name), rated, scoring)]
        return prepare_runs(candidates, scoring, tell, replicates, rated)

    def first_ids(
        self,
        where: str | Setup,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
    ) -> FirstIds:
        """Returns how many ids in the first rows of an upload the test set has; stores nothing.

        ``where`` is an experiment's id or a set-up. Raises Forbidden for a guest whose link shows numbers
        only, as the answer holds examples of ids.
        """
        self._context.person.must_see_users()
        n_rows, reference = 0, self.how_scored(where).reference
        try:
            run, *_ = read_uploads(source, name, mapping, self._context.limits)
            rows = next(iter(run.batches(columns=("user_id", "item_id"))))
            n_rows = rows.num_rows
            first = replace(
                run, batches=lambda columns: iter([rows.select(columns)]), has_rank=False, has_score=False
            )
            hits, _ = match(first, reference, depth=request.DEEPEST, exposure=False)
        except InputError as error:
            return FirstIds(n_rows, None, error.problems)
        return FirstIds(n_rows, hits.overlap, tuple(id_problems(first, hits, reference)))

    def store_prepared(
        self,
        experiment_id: str,
        prepared: Sequence[PreparedRun],
        facts: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Stores scored runs, all of them or, if a name is taken, none (NameTaken).

        ``facts`` are tags, note, params and source (see ``Run.source``), the same for each run.
        """
        return self.store_each(experiment_id, prepared, [facts or {}] * len(prepared), progress)

    def store_each(
        self,
        experiment_id: str,
        prepared: Sequence[PreparedRun],
        facts: Sequence[Mapping[str, Any]],
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Stores scored runs like ``store_prepared``; ``facts`` has an entry for each of them."""
        return store_with_files(
            self._context.writable_store(),
            lambda: self.stage(experiment_id, prepared, facts, progress),
            lambda staged: self.store_staged(experiment_id, staged),
        )

    def stage(
        self,
        where: str | Setup,
        prepared: Sequence[PreparedRun],
        facts: Sequence[Mapping[str, Any]],
        progress: Progress | None = None,
    ) -> list[StagedRun]:
        """Stores the files of scored runs, and returns what ``store_staged`` stores of them.

        ``where`` is an experiment's id or a set-up.
        """
        self._context.must_be_editor()
        for of_run in facts:
            _check_facts(of_run)
        for scored in prepared:
            clean_name(scored.run.name)
        tell, staged = progress or quiet, []
        for number, (scored, of_run) in enumerate(zip(prepared, facts, strict=True), start=1):
            tell(number / len(prepared), f"Storing {scored.run.name}")
            upload = self._store.artifacts.put(scored.run.batches())
            staged.append(self._staged(where, scored, upload, of_run))
        return staged

    def store_files(self, staged: Sequence[StagedRun], files: Artifacts) -> None:
        """Stores the files of runs that another process staged in ``files``."""
        artifacts = self._context.writable_store().artifacts
        for sha256 in sorted(frozenset().union(*(run.needs for run in staged))):
            artifacts.put_file(files.path(sha256))

    def store_staged(self, experiment_id: str, staged: Sequence[StagedRun]) -> list[AddedRun]:
        """Stores the rows of staged runs, within the caller's transaction.

        Raises NameTaken if another upload has the name of one, and InputError if a user was removed from the
        experiment's tables since it was scored.
        """
        self._context.must_be_editor()
        experiment = self._store.experiments.get(experiment_id)
        if any(new.files and new.files != experiment.files for new in staged):
            problem = "a user was removed from its tables while these runs were scored"
            raise InputError(
                Problem("tables-changed", f"experiment '{experiment.name}'", problem, "Add the runs again.")
            )
        known = {run.name: run for run in self._store.runs.of_experiment(experiment_id, archived=True)}
        for new in sorted((new.run for new in staged if new.run.name in known), key=lambda run: run.name):
            # storing the same upload again is allowed, as it repairs a damaged one
            again = known[new.name].upload == new.upload
            if not again and self._store.runs.find(experiment_id, str(new.upload)) is None:
                raise NameTaken(_name_taken(known[new.name]))
        return [self._store_one(new.of(experiment_id)) for new in staged]

    def add_references(
        self, experiment_id: str, names: str | Sequence[str], progress: Progress | None = None
    ) -> list[AddedRun]:
        """Computes reference candidates (such as ``"popular,oracle"``) from the set-up's tables, scores and
        stores them.

        Stored ones are returned as they are. Raises UnknownName, and InputError if a table that one needs is
        missing; then nothing is stored.
        """
        prepared = self.prepare_references(experiment_id, names, progress)
        return self.store_prepared(experiment_id, prepared, progress=progress)

    def prepare_references(
        self, where: str | Setup, names: str | Sequence[str], progress: Progress | None = None
    ) -> list[PreparedRun]:
        """Computes and scores reference candidates for ``where``, an experiment's id or a set-up; stores
        nothing.
        """
        self._context.must_be_editor()
        tables = where.tables if isinstance(where, Setup) else self._data.tables(where)
        scoring = self.how_scored(where)
        candidates = make_references(names, scoring.reference, tables, scoring.rules.depth)
        return prepare_runs([(candidate,) for candidate in candidates], scoring, progress or quiet)

    def add_fallback(self, run_id: str, progress: Progress | None = None) -> AddedRun:
        """Stores a new candidate: the lists of a run, completed for test users who have none.

        They get the most popular items of the training data, except those that they have there already. If
        this candidate is stored already, it is returned. Raises InputError with the reason if the run cannot
        be completed.
        """
        self._context.must_be_editor()
        run = self._store.runs.get(run_id)
        prepared = self.prepare_completed(run.experiment, run, None, progress)
        return self.store_prepared(run.experiment, [prepared], progress=progress)[0]

    def stage_completed(
        self,
        where: str | Setup,
        names: Sequence[str],
        prepared: Sequence[PreparedRun],
        staged: Sequence[StagedRun],
        progress: Progress | None = None,
    ) -> list[StagedRun]:
        """Stores the files of the runs with these names, each completed as by ``add_fallback``, and returns
        what ``store_staged`` stores of them.

        ``where`` is an experiment's id or a set-up. A name is that of one of the ``prepared`` runs, which
        were ``staged``, or else of a stored run. Raises UnknownName for any other, and InputError for a run
        that cannot be completed.
        """
        self._context.must_be_editor()
        if not names:
            return []
        experiments = self._store.experiments
        experiment = experiments.get(where) if isinstance(where, str) else experiments.named(where.name)
        stored = [] if experiment is None else self.all(experiment.id)
        by_name: dict[str, tuple[Run, PreparedRun | None]] = {run.name: (run, None) for run in stored}
        by_name |= {new.run.name: (done.run, new) for new, done in zip(prepared, staged, strict=True)}
        check_known("run", names, by_name)
        completed = [self.prepare_completed(where, *by_name[name], progress) for name in names]
        return self.stage(where, completed, [{}] * len(completed), progress)

    def prepare_completed(
        self,
        where: str | Setup,
        run: Run,
        source: PreparedRun | None = None,
        progress: Progress | None = None,
    ) -> PreparedRun:
        """Returns a run, completed with popular items for test users without a list, and scored.

        Its upload must be stored; its hits are those of ``source``, or the stored ones if that is None.
        Raises InputError if it cannot be completed.
        """
        self._context.must_be_editor()
        tables = where.tables if isinstance(where, Setup) else self._data.tables(where)
        if problem := _why_no_fallback(run, has_train="train" in tables):
            raise InputError(problem)
        hits = self._data.hits(run.id) if source is None else hits_of(source.scored)
        has_list, longest = hits.list_length > 0, int(hits.list_length.max())
        facts = {
            "of": run.id,
            "name": run.name,
            "upload": run.upload,
            "with": "popular",
            "users": int((~has_list).sum()),
        }
        name = f"{cut_inside(run.name, LONGEST_NAME - len(FALLBACK_NAME))}{FALLBACK_NAME}"
        scoring = self.how_scored(where, accept_unknown_ids=True)
        inputs = RankerInputs(scoring.reference, tables, longest)
        candidate = completed(self._data.lists_of(run), name, has_list, inputs, facts)
        return prepare_runs([(candidate,)], scoring.in_order(hits.order), progress or quiet)[0]

    def fallback_offer(self, run_ids: Sequence[str]) -> list[FallbackOffer]:
        """Returns those of the runs that ``add_fallback`` can complete and has not completed yet."""
        runs = self._context.runs_of(run_ids)
        if not runs:
            return []
        others = self._store.runs.of_experiment(runs[0].experiment, archived=True)
        done = {other.fallback["of"] for other in others if other.fallback}
        has_train = self._store.experiments.get(runs[0].experiment).train is not None
        return [
            FallbackOffer(run.id, run.name, int(run.ledger["without_list"] or 0))
            for run in runs
            if run.id not in done and _why_no_fallback(run, has_train=has_train) is None
        ]

    def reference_choices(self, experiment_id: str) -> list[ReferenceChoice]:
        """Returns all reference candidates, with whether the experiment can add them or has stored them."""
        lacks = self._lacks(experiment_id)
        runs = self._store.runs.of_experiment(experiment_id, archived=True)
        stored = {run.reference for run in runs}
        archived = stored - {run.reference for run in runs if run.archived is None}
        return [
            ReferenceChoice(
                choice.name,
                choice.label,
                choice.meaning,
                lacks[choice.name],
                is_there=choice.name in stored,
                is_archived=choice.name in archived,
            )
            for choice in REFERENCES.values()
        ]

    def _read_lacks(self, experiment_id: str) -> dict[str, str]:
        """Returns the missing table of each reference candidate: {name: table}; "" if none is missing."""
        tables = self._data.tables_of(self._store.experiments.get(experiment_id), TABLES_NEEDED)
        return {name: reference.missing_table(tables) for name, reference in REFERENCES.items()}

    def how_scored(self, where: str | Setup, *, accept_unknown_ids: bool = False) -> Scoring:
        """Returns the shared tables, metrics and rules with which runs of ``where`` are scored.

        ``where`` is an experiment's id or a set-up. Raises InputError without a test set.
        """
        files: frozenset[str] = frozenset()
        if isinstance(where, Setup):
            if where.reference is None:
                raise InputError(no_test_set(where.name))
            settings, reference = where.settings, where.reference
        else:
            self._context.clear_caches_after_purge()
            files = self._store.experiments.get(where).files
            settings, reference = self._context.settings_of(where), self._data.reference(where)
        duplicates = settings.get("duplicates", "first")
        metrics, rules = request.read_question(
            naming.SCORED, depth=settings["depth"], users=settings["users"], duplicates=duplicates
        )
        rules = replace(rules, accept_unknown_ids=accept_unknown_ids)
        return Scoring(reference, metrics, rules, files=files)

    def add_scored(
        self, experiment_id: str, prepared: PreparedRun, upload: str, facts: Mapping[str, Any]
    ) -> AddedRun:
        """Stores one scored run with its folds or seeds.

        ``upload`` is the hash of its stored rows.

        If the same upload is stored already, its run is returned. Raises InputError if that run lacks the
        rating predictions of this one.
        """
        return self._store_one(self._staged(experiment_id, prepared, upload, facts))

    def _staged(
        self, where: str | Setup, prepared: PreparedRun, upload: str, facts: Mapping[str, Any]
    ) -> StagedRun:
        """Returns a scored run whose files, all but ``upload``, are stored by this call.

        They are stored even if the run exists: that repairs files that were lost or damaged.
        """
        run, scored = prepared.run, prepared.scored
        tables = self._put_hits(scored.hits)
        replicates = self._replicates(where, run, scored)
        if scored.predictions is not None:
            tables["predictions"] = self._store.artifacts.put(scored.predictions)
        source = facts.get("source")
        facts = {name: value for name, value in facts.items() if name != "source"}
        if run.reference:
            facts = {**facts, "tags": tuple(dict.fromkeys((*facts.get("tags", ()), REFERENCE_TAG)))}
        new = self._new_run(where, run, scored, lists_of(scored), tables)
        provenance = {**new.provenance, **({"source": source} if source else {})}
        return StagedRun(
            replace(new, upload=upload, provenance=provenance, **facts),
            tuple(scored.curves.values()),
            tuple(replicates),
            prepared.files,
        )

    def _store_one(self, staged: StagedRun) -> AddedRun:
        new, upload = staged.run, str(staged.run.upload)
        known = self._store.runs.find(new.experiment, upload)
        if known is not None:
            if "predictions" in new.hits and "predictions" not in known.hits:
                problem = "it is already stored without rating predictions"
                fix = "Delete it, then add it again together with its predictions."
                raise InputError(Problem("predictions-too-late", f"run '{known.name}'", problem, fix))
            return AddedRun(known, already_there=True)
        stored = self._store.runs.add(new, staged.curves, staged.replicates)
        return AddedRun(stored, already_there=False)

    def _put_hits(self, hits: Hits | None) -> dict[str, str]:
        """Stores the hits, and returns their hashes: {kind: sha256}; empty for the mean of seeds, which has
        no hits.
        """
        tables = {} if hits is None else hits_to_tables(hits)
        return {kind: self._store.artifacts.put(table) for kind, table in tables.items()}

    def _replicates(
        self, where: str | Setup, run: Recommendations, candidate: Scored
    ) -> list[tuple[Run, list[Curve]]]:
        """Returns the folds or seeds of a candidate with their curves, to be stored with it; empty if it has
        none.
        """
        if candidate.replicated is None:
            return []
        users = {"users": "both"} if candidate.replicated.kind == "folds" else {}
        replicates = []
        for label, scored in zip(candidate.replicated.labels, candidate.replicates, strict=True):
            hits = hits_of(scored)
            new = self._new_run(where, run, scored, hits, self._put_hits(hits))
            replicate = replace(new, name=label, provenance={**new.provenance, **users})
            replicates.append((replicate, list(scored.curves.values())))
        return replicates

    def _new_run(
        self,
        where: str | Setup,
        run: Recommendations,
        scored: Scored,
        hits: Hits | None,
        tables: Mapping[str, str],
    ) -> Run:
        from recdash.version import __version__

        provenance = {"version": __version__}  # the only entry of a run that just predicts ratings
        if hits is not None:
            provenance |= self._provenance(where, run, hits, scored)
        return Run(
            id=new_id(),
            experiment=where if isinstance(where, str) else "",
            name=run.name,
            created=self._context.now(),
            slot=-1,
            upload=None,
            hits=tables,
            ledger=scored.ledger.as_dict() if scored.ledger else {},
            notices=scored.notices,
            absent=scored.absent,
            provenance=provenance,
        )

    def _provenance(
        self, where: str | Setup, run: Recommendations, hits: Hits, scored: Scored
    ) -> dict[str, Any]:
        settings = where.settings if isinstance(where, Setup) else self._context.settings_of(where)
        return {
            "order": hits.order,
            "ties": "file",
            "depth": hits.depth,
            "duplicates": hits.duplicates,
            "users": settings["users"],
            "mapping": dict(run.mapping),
            "list_end": frames.list_end(hits),
            "served": served_users_hash(hits),
            "rows": scored.ledger.rows if scored.ledger else hits.ledger.rows,
            **({"known_ids": overlap.as_dict()} if (overlap := overlap_of(scored)) else {}),
            **({"reference": run.reference} if run.reference else {}),
            **({"fallback": dict(run.fallback)} if run.fallback else {}),
            **({"replicates": asdict(scored.replicated)} if scored.replicated else {}),
            **({"own_metrics": sorted(METRICS.own)} if METRICS.own else {}),
        }

    def unreadable(self, run_ids: Sequence[str], *, with_lists: bool = False) -> dict[str, str]:
        """Returns {run id: reason} of the runs whose stored hits, or whose replicates' hits, are missing or
        damaged.

        ``with_lists`` checks the stored upload, too. A file is read and verified once per process.
        """
        reasons: dict[str, str] = {}
        for run in self._context.runs_of(run_ids):
            try:
                for part in (run, *self._data.replicates_of(run.id)):
                    files = {*part.hits.values(), *([part.upload] if with_lists and part.upload else [])}
                    for sha256 in files:
                        self._store.artifacts.path(sha256)
            except (NotFound, EvidenceDamaged) as error:
                reasons[run.id] = str(error)
        return reasons

    def refuse_damage(self, run_ids: Sequence[str], test_id: str | None = None) -> None:
        """Raises EvidenceDamaged if stored data of the runs or the A/B test was altered."""
        self._data.refuse_damage(run_ids, test_id)

    def rename(self, run_id: str, name: str) -> Run:
        return self._context.writable_store().runs.update(run_id, name=clean_name(name))

    def set_tags(self, run_id: str, tags: Sequence[str]) -> Run:
        tags = texts_of("tags", tags, TAG)
        cleaned = dict.fromkeys(check_name("tag", tag) for tag in tags if tag.strip())
        return self._context.writable_store().runs.update(run_id, tags=tuple(cleaned))

    def set_note(self, run_id: str, note: str) -> Run:
        return self._context.writable_store().runs.update(run_id, note=check_note("note", note))

    def set_params(self, run_id: str, params: Mapping[str, Param]) -> Run:
        check_type("params", params, Mapping, PARAMS_ARE)
        texts = _texts_of_params(params)
        _check_facts({"params": texts})
        return self._context.writable_store().runs.update(run_id, params=texts)

    def archive(self, run_id: str) -> Run:
        return self._context.writable_store().runs.update(run_id, archived=self._context.now())

    def unarchive(self, run_id: str) -> Run:
        return self._context.writable_store().runs.update(run_id, archived=None)

    def delete(self, run_id: str, typed_name: str) -> None:
        """Deletes a run, even a damaged one. Raises InputError unless ``typed_name`` is its exact name."""
        self._context.must_be_editor()
        check_typed(typed_name, self._store.runs.name_of(run_id))
        self._context.writable_store().runs.delete(run_id)


def _why_no_fallback(run: Run, *, has_train: bool) -> Problem | None:
    """Returns why a run cannot be completed with popular items; None if it can."""
    reasons = (
        (run.reference, "it is a reference candidate", "Complete one of your own runs."),
        (
            run.replicated,
            f"it was uploaded as {run.replicated}",
            "Complete the lists before the upload, or upload one of them as a separate run.",
        ),
        (not run.has_lists, "it has no lists", "Upload its lists of recommendations."),
        (
            not has_train,
            "the experiment has no training data, so the popular items are unknown",
            "Create the experiment with training data.",
        ),
        (not run.ledger.get("without_list"), "every user has a list", "Nothing is missing."),
    )
    for applies, reason, fix in reasons:
        if applies:
            return Problem("no-fallback", f"run '{run.name}'", reason, fix)
    return None


def _name_taken(run: Run) -> str:
    if run.archived is None:
        return f"Another run of this experiment has the name '{run.name}'. Choose another name."
    fix = "Choose another name, or unarchive or delete the archived one: Runs page, Show archived."
    return f"An archived run of this experiment has the name '{run.name}'. {fix}"


def _texts_of_params(params: Mapping[str, object]) -> dict[str, str]:
    """Returns {name: value as text} of the parameters of a run. Raises InputError for values of
    other types.
    """
    for name, value in params.items():
        check_type("params, name", name, str, "Give a text.")
        check_type(f"params, {visible(name)}", value, PARAM_TYPES, PARAMS_ARE)
    return {name: str(value) for name, value in params.items()}


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Raises InputError for control characters in tags, note or params."""
    check_note("note", facts.get("note", ""))
    for tag in filter(str.strip, facts.get("tags", ())):
        check_name("tag", tag)
    for name, value in facts.get("params", {}).items():
        check_note(f"parameter '{visible(name)}'", f"{name}{value}")
