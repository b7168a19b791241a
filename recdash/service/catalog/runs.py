"""Candidates: read, scored, stored, renamed, archived, deleted; reference candidates too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.domain.hits import Hits, IdOverlap
from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import Replication
from recdash.domain.records import Run
from recdash.domain.results import Curve
from recdash.engines import Reference, hits_to_tables, match
from recdash.errors import EvidenceDamaged, InputError, NameTaken, NotFound, Problem
from recdash.evaluation import reading, request, scoring
from recdash.evaluation.column_choice import ColumnsGiven, column_choice
from recdash.evaluation.comparability import served_users_hash
from recdash.evaluation.known_ids import id_problems
from recdash.evaluation.replicate_merge import merge_replicates
from recdash.evaluation.replicates import group_by_candidate, hits_of, lists_of, overlap_of, score_candidate
from recdash.evaluation.uploads import read_uploads
from recdash.formatting.sanitize import check_name, check_note, visible
from recdash.references import REFERENCES, make_references
from recdash.service import frames
from recdash.service.catalog.experiments import Setup
from recdash.service.context import ServiceContext
from recdash.service.run_data import RunData
from recdash.service.validation import Progress, check_typed, clean_name, quiet
from recdash.store import new_id

if TYPE_CHECKING:
    import pyarrow as pa

REFERENCE_TAG = "reference"


@dataclass(frozen=True)
class AddedRun:
    """A run and whether the very same upload was there before."""

    run: Run
    already_there: bool

    @property
    def is_archived(self) -> bool:
        """There already, but out of sight until it is restored."""
        return self.run.archived is not None


@dataclass(frozen=True)
class PreparedRun:
    """A run that was read and scored, and is not stored yet; of several folds or seeds all rows together."""

    run: Recommendations
    scored: scoring.Scored


@dataclass(frozen=True)
class ReferenceChoice:
    """A reference candidate for one experiment: what it lacks ("" = nothing), whether it is there, and if so
    whether it is archived.
    """

    name: str
    label: str
    meaning: str
    lacks: str
    is_there: bool
    is_archived: bool


@dataclass(frozen=True)
class FirstIds:
    """What is known of the ids in the first ``rows`` of an upload, and what is wrong with them.

    ``overlap`` is None where the rows cannot be read, and where no user is known.
    """

    rows: int
    overlap: IdOverlap | None
    problems: tuple[Problem, ...]


class Runs:
    """Everything that is done to runs."""

    def __init__(self, context: ServiceContext, data: RunData) -> None:
        self._context, self._data = context, data
        self._lacks = context.cached(self._read_lacks, most=64)

    def all(self, experiment_id: str, archived: bool = False) -> list[Run]:
        """The candidates of an experiment."""
        return self._context.runs(experiment_id, archived)

    def add_runs(
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
        params: Mapping[str, str] | None = None,
        replicates: Replication | None = None,
        accept_unknown_ids: bool = False,
        columns: ColumnsGiven | None = None,
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Score an upload (one candidate, or several told apart by a column) and store it.

        ``source`` None with ``predictions`` is a candidate that predicts ratings and has no lists.

        Several tables, {label: table} or a list of them, and a column ``fold`` or ``seed``, make one
        candidate of several folds or seeds; ``replicates`` says which ("seeds" serve the same users, "folds"
        divide them), None looks: see ``recdash.evaluation.replicates``. A run whose ids hardly meet those of
        the experiment is refused unless ``accept_unknown_ids``. ``columns`` says which column means what, as
        for ``recdash.evaluate``; ``mapping`` and ``predictions_mapping`` are the same for one table.

        Raises InputError for a file that cannot be used, NameTaken when another upload has the name;
        then nothing of it is stored.
        """
        prepared = self.prepare_runs(
            experiment_id,
            source,
            name=name,
            mapping=mapping,
            predictions=predictions,
            predictions_mapping=predictions_mapping,
            replicates=replicates,
            accept_unknown_ids=accept_unknown_ids,
            columns=columns,
            progress=progress,
        )
        facts = {"tags": tuple(tags), "note": note, "params": dict(params or {})}
        return self.store_runs(experiment_id, prepared, facts, progress)

    def prepare_runs(
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
        progress: Progress | None = None,
    ) -> list[PreparedRun]:
        """Read and score an upload for an experiment (its id) or a set-up not stored yet; stores nothing.

        Raises InputError for a file that cannot be used, and for predictions alone without a name.
        """
        self._context.must_be_editor()
        tell = progress or quiet
        tell(0.0, "Reading the file")
        own = [name] if name else []
        choice = column_choice(columns, ("run", "predictions"), own)
        lists = choice.of("run", *own, also=mapping) if columns else mapping
        ratings = choice.of("predictions", *own, also=predictions_mapping) if columns else predictions_mapping
        found = (
            []
            if source is None
            else group_by_candidate(read_uploads(source, name, lists, self._context.limits))
        )
        rated = reading.open_predictions(predictions, ratings, self._context.limits)
        choice.check_used()
        if source is None:
            return [self._rated_only(where, name, rated, accept_unknown_ids=accept_unknown_ids)]
        if rated is not None and len(found) > 1:
            raise InputError(_predictions_of_several(len(found)))
        return self._scored(where, found, rated, tell, replicates, accept_unknown_ids=accept_unknown_ids)

    def first_ids(
        self,
        experiment_id: str,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
    ) -> FirstIds:
        """How far the ids in the first rows of an upload are those of the experiment; stores nothing."""
        n_rows, reference = 0, self._data.reference(experiment_id)
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

    def store_runs(
        self,
        experiment_id: str,
        prepared: Sequence[PreparedRun],
        facts: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[AddedRun]:
        """Store scored runs, all or, when a name is taken, none. ``facts``: tags, note, params of each."""
        self._context.must_be_editor()
        _check_facts(facts or {})
        tell = progress or quiet
        for one in prepared:
            clean_name(one.run.name)
        uploads = {one.run.name: self._context.store.put(one.run.batches()) for one in prepared}
        self._check_names_free(experiment_id, uploads)
        added = []
        for place, one in enumerate(prepared, start=1):
            tell(place / len(prepared), f"Storing {one.run.name}")
            added.append(self.add_scored(experiment_id, one, uploads[one.run.name], facts or {}))
        return added

    def add_references(
        self, experiment_id: str, names: str | Sequence[str], progress: Progress | None = None
    ) -> list[AddedRun]:
        """Compute reference candidates (``"popular,oracle"``) from the set-up's tables, score and store them.

        Computed again, they are recognised. Raises UnknownName, and InputError when a table that one needs is
        missing; then nothing is stored.
        """
        prepared = self.prepare_references(experiment_id, names, progress)
        return self.store_runs(experiment_id, prepared, progress=progress)

    def prepare_references(
        self, where: str | Setup, names: str | Sequence[str], progress: Progress | None = None
    ) -> list[PreparedRun]:
        """Compute and score reference candidates for an experiment (its id) or a set-up; stores nothing."""
        self._context.must_be_editor()
        if isinstance(where, Setup):
            tables, reference, settings = where.tables, where.reference, where.settings
        else:
            tables, reference = self._data.tables(where), self._data.reference(where)
            settings = self._context.experiment(where).settings
        found = make_references(names, reference, tables, settings["depth"])
        return self._scored(where, [(one,) for one in found], None, progress or quiet)

    def reference_choices(self, experiment_id: str) -> list[ReferenceChoice]:
        """The reference candidates that this experiment may have, has, or lacks a table for."""
        lacks = self._lacks(experiment_id)
        there = {run.reference for run in self._context.runs(experiment_id, archived=True)}
        in_sight = {run.reference for run in self._context.runs(experiment_id)}
        return [
            ReferenceChoice(
                one.name,
                one.label,
                one.meaning,
                lacks[one.name],
                is_there=one.name in there,
                is_archived=one.name in there - in_sight,
            )
            for one in REFERENCES.values()
        ]

    def _read_lacks(self, experiment_id: str) -> dict[str, str]:
        """What each reference candidate lacks in the experiment's tables, by its name."""
        tables = self._data.tables(experiment_id)
        return {name: one.lacks(tables) for name, one in REFERENCES.items()}

    def _scored(
        self,
        where: str | Setup,
        candidates: Sequence[Sequence[Recommendations]],
        predictions: Any,
        tell: Progress,
        kind: Replication | None = None,
        *,
        accept_unknown_ids: bool = False,
    ) -> list[PreparedRun]:
        prepared = []
        for place, runs in enumerate(candidates):
            tell(place / len(candidates), f"Scoring {runs[0].name}")
            scored = self._score(where, runs, predictions, kind, accept_unknown_ids)
            prepared.append(
                PreparedRun(merge_replicates(runs, labelled=True) if len(runs) > 1 else runs[0], scored)
            )
        return prepared

    def _rated_only(
        self, where: str | Setup, name: str | None, rated: Upload | None, *, accept_unknown_ids: bool
    ) -> PreparedRun:
        """A candidate without lists, scored by its predicted ratings."""
        if rated is None or not name:
            found = "neither lists nor predictions" if rated is None else "predictions without a name"
            fix = "Give the candidate lists, or predictions and a name."
            raise InputError(Problem("no-run", "candidate", found, fix))
        reference, asked, rules = self.how_scored(where, accept_unknown_ids=accept_unknown_ids)
        scored = scoring.score_predictions(name, rated, reference, asked, rules)
        return PreparedRun(rows_of_predictions(name, rated), scored)

    def _score(
        self,
        where: str | Setup,
        runs: Sequence[Recommendations],
        predictions: Any,
        kind: Replication | None,
        accept_unknown_ids: bool,
    ) -> scoring.Scored:
        reference, asked, rules = self.how_scored(where, accept_unknown_ids=accept_unknown_ids)
        return score_candidate(runs, reference, asked, rules, kind, predictions=predictions)

    def how_scored(
        self, where: str | Setup, *, accept_unknown_ids: bool
    ) -> tuple[Reference, Sequence[request.MetricRequest], request.CountingRules]:
        """The shared tables, the metrics and the rules of an experiment or a set-up."""
        if isinstance(where, Setup):
            settings, reference = where.settings, where.reference
        else:
            settings, reference = self._context.experiment(where).settings, self._data.reference(where)
        asked, rules = request.read_question(
            None,
            depth=settings["depth"],
            users=settings["users"],
            duplicates=settings.get("duplicates", "first"),
        )
        return reference, asked, replace(rules, accept_unknown_ids=accept_unknown_ids)

    def add_scored(
        self, experiment_id: str, prepared: PreparedRun, upload: str, facts: Mapping[str, Any]
    ) -> AddedRun:
        run, scored = prepared.run, prepared.scored
        hits = lists_of(scored)
        # Put again even if the run is there: that mends files that were lost or damaged.
        tables = self._put_hits(scored.hits)
        below = self._replicates(experiment_id, run, scored)
        known = self._context.store.find_run(experiment_id, upload)
        if known is not None:
            _check_nothing_new(known, scored)
            return AddedRun(known, already_there=True)
        if scored.predictions is not None:
            tables["predictions"] = self._context.store.put(scored.predictions)
        new = Run(
            id=new_id(),
            experiment=experiment_id,
            name=run.name,
            created=self._context.now(),
            slot=-1,
            upload=upload,
            hits=tables,
            ledger=scored.ledger.as_dict() if scored.ledger else {},
            notices=scored.notices,
            absent=scored.absent,
            provenance=self._provenance(experiment_id, run, hits, scored) if hits else self._scored_by(),
            **_tagged(facts, run),
        )
        try:
            return AddedRun(
                self._context.store.add_run(new, list(scored.curves.values()), below), already_there=False
            )
        except NameTaken:
            # Another tab may have stored the same upload since we looked.
            known = self._context.store.find_run(experiment_id, upload)
            if known is None:
                raise
            return AddedRun(known, already_there=True)

    def _put_hits(self, hits: Hits | None) -> dict[str, str]:
        """{kind: sha256}; the mean of seeds has no hits of its own."""
        return (
            {}
            if hits is None
            else {kind: self._context.store.put(one) for kind, one in hits_to_tables(hits).items()}
        )

    def _replicates(
        self, experiment_id: str, run: Recommendations, candidate: scoring.Scored
    ) -> list[tuple[Run, list[Curve]]]:
        """The folds or seeds, to be stored below their candidate, whose upload holds the lists of all."""
        if candidate.replicated is None:
            return []
        counts = {"users": "both"} if candidate.replicated.kind == "folds" else {}
        return [
            (self._replicate(experiment_id, run, label, scored, counts), list(scored.curves.values()))
            for label, scored in zip(candidate.replicated.labels, candidate.replicates, strict=True)
        ]

    def _replicate(
        self,
        experiment_id: str,
        run: Recommendations,
        label: str,
        scored: scoring.Scored,
        counts: Mapping[str, str],
    ) -> Run:
        hits = hits_of(scored)
        return Run(
            id=new_id(),
            experiment=experiment_id,
            name=label,
            created=self._context.now(),
            slot=-1,
            upload=None,
            hits=self._put_hits(hits),
            ledger=scored.ledger.as_dict() if scored.ledger else {},
            notices=scored.notices,
            absent=scored.absent,
            provenance={**self._provenance(experiment_id, run, hits, scored), **counts},
        )

    def _scored_by(self) -> dict[str, Any]:
        """All that is to be said of how predicted ratings were scored."""
        from recdash.version import __version__

        return {"version": __version__}

    def _provenance(
        self, experiment_id: str, run: Recommendations, hits: Hits, scored: scoring.Scored
    ) -> dict[str, Any]:
        return {
            **self._scored_by(),
            "order": hits.order,
            "ties": "file",
            "depth": hits.depth,
            "duplicates": hits.duplicates,
            "users": self._context.experiment(experiment_id).settings["users"],
            "mapping": dict(run.mapping),
            "list_end": frames.list_end(hits),
            "served": served_users_hash(hits),
            "rows": scored.ledger.rows if scored.ledger else hits.ledger.rows,
            **({"known_ids": overlap.as_dict()} if (overlap := overlap_of(scored)) else {}),
            **({"reference": run.reference} if run.reference else {}),
            **({"replicates": asdict(scored.replicated)} if scored.replicated else {}),
        }

    def _check_names_free(self, experiment_id: str, uploads: Mapping[str, str]) -> None:
        """Before any of the uploads, by name, is stored. The very same upload may come again: it repairs."""
        known = {run.name: run for run in self._context.runs(experiment_id, archived=True)}
        for name in sorted(known.keys() & uploads.keys()):
            again = known[name].upload == uploads[name]
            if not again and self._context.store.find_run(experiment_id, uploads[name]) is None:
                raise NameTaken(_taken(known[name]))

    def unreadable(self, run_ids: Sequence[str], *, with_lists: bool = False) -> dict[str, str]:
        """{run id: why} of the runs whose stored hits are lost or damaged, their replicates' too; with lists,
        also of those whose stored upload is.

        A file is read and compared once in a process.
        """
        reasons: dict[str, str] = {}
        for run in self._context.runs_of(run_ids):
            try:
                for part in (run, *self._data.replicates_of(run.id)):
                    files = {*part.hits.values(), *([part.upload] if with_lists and part.upload else [])}
                    for sha256 in files:
                        self._context.store.path(sha256)
            except (NotFound, EvidenceDamaged) as error:
                reasons[run.id] = str(error)
        return reasons

    def refuse_damage(self, run_ids: Sequence[str], test_id: str | None = None) -> None:
        """Raises EvidenceDamaged where something stored of the runs or the test is not what was written."""
        self._data.refuse_damage(run_ids, test_id)

    def rename_run(self, run_id: str, name: str) -> Run:
        return self._context.writable_store().update_run(run_id, name=clean_name(name))

    def tag_run(self, run_id: str, tags: Sequence[str]) -> Run:
        cleaned = dict.fromkeys(check_name("tag", tag) for tag in tags if tag.strip())
        return self._context.writable_store().update_run(run_id, tags=tuple(cleaned))

    def note_run(self, run_id: str, note: str) -> Run:
        return self._context.writable_store().update_run(run_id, note=check_note("note", note))

    def set_params(self, run_id: str, params: Mapping[str, str]) -> Run:
        _check_facts({"params": params})
        return self._context.writable_store().update_run(run_id, params=dict(params))

    def archive_run(self, run_id: str) -> Run:
        return self._context.writable_store().update_run(run_id, archived=self._context.now())

    def restore_run(self, run_id: str) -> Run:
        return self._context.writable_store().update_run(run_id, archived=None)

    def delete_run(self, run_id: str, typed_name: str) -> None:
        """A damaged run can be deleted, too. Raises InputError unless the name was typed exactly."""
        self._context.must_be_editor()
        check_typed(typed_name, self._context.store.run_name(run_id))
        self._context.writable_store().delete_run(run_id)
        self._context.store.collect()


def rows_of_predictions(name: str, rated: Upload) -> Recommendations:
    """The predicted rows in the place of lists: they are what is stored as the upload."""

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = rated.table if columns is None else rated.table.select(list(columns))
        return iter(table.to_batches())

    return Recommendations(name, batches, has_rank=False, has_score=False, n_rows=rated.table.num_rows)


def _taken(run: Run) -> str:
    if run.archived is None:
        return f"Another run of this experiment is called '{run.name}'. Choose another name."
    fix = "Choose another name, or restore or delete that one on the Runs page, under Show archived."
    return f"An archived run of this experiment is called '{run.name}'. {fix}"


def _tagged(facts: Mapping[str, Any], run: Recommendations) -> Mapping[str, Any]:
    """A reference candidate carries its tag beside those that were asked for."""
    if not run.reference:
        return facts
    return {**facts, "tags": tuple(dict.fromkeys((*facts.get("tags", ()), REFERENCE_TAG)))}


def _check_nothing_new(known: Run, scored: scoring.Scored) -> None:
    if scored.predictions is not None and "predictions" not in known.hits:
        raise InputError(
            Problem(
                "predictions-too-late",
                f"run '{known.name}'",
                "it is already there, without rating predictions",
                "Delete it, then add it again together with its predictions.",
            )
        )


def _predictions_of_several(count: int) -> Problem:
    found = f"the file of lists holds {count} candidates"
    return Problem(
        "whose-predictions", "rating predictions", found, "Upload each candidate in a file of its own."
    )


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Raises InputError for control characters in tags, note or params."""
    check_note("note", facts.get("note", ""))
    for tag in filter(str.strip, facts.get("tags", ())):
        check_name("tag", tag)
    for name, value in facts.get("params", {}).items():
        check_note(f"parameter '{visible(name)}'", f"{name}{value}")
