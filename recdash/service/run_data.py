"""Stored data of runs and their experiment, read once: tables, lists, hits and replicates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import TableKind
from recdash.domain.records import Experiment, Run
from recdash.domain.results import Scope, Slice, Unavailable
from recdash.engines import EXPOSURE_TABLES, Reference, hits_from_tables, match, with_exposure
from recdash.errors import EvidenceDamaged, InputError, NotFound, Problem, UnknownName
from recdash.evaluation import reading, replicate_merge
from recdash.evaluation.slices import known_slices, slices_of, tables_with_slices
from recdash.service.context import ServiceContext, no_test_set

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.metrics.ratings import Predictions


def _several_lists(run: Run) -> Problem:
    problem = f"it is the mean of {run.replicated}, so each user has several lists"
    return Problem(
        "several-lists", f"run '{run.name}'", problem, "Upload one of them as a separate run to see lists."
    )


class RunData:
    """The service for tables, lists and hits of stored runs. They are cached by ids, as they never change."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store
        self.reference = context.cached(self._read_reference, most=4)
        self.hits = context.sized_cache(self._read_hits, least=64)
        self.hits_alone = context.sized_cache(self._read_hits_alone, least=64)
        """Returns the hits without their exposure: with 200 runs, half of the time of reading them, and most
        of the memory of a run with many items.
        """
        self.cached_run = context.sized_cache(self._read_run, least=4096)
        """Returns a cached run, for data that never changes, such as hits. Its name may be outdated."""
        self.reference_under = context.cached(self._apply_threshold, most=8)
        self.slices_by = context.cached(self._cut_into, most=32)
        self.known_slices = context.cached(self._read_known_slices, most=64)
        self.rated_pairs = context.cached(self._read_rated_pairs, most=4)
        self.replicates_of = context.cached(self._read_replicates, most=4096)

    def _read_run(self, run_id: str) -> Run:
        return self._store.runs.get(run_id)

    def remember_runs(self, runs: Iterable[Run]) -> None:
        """Stores runs that were read together as ``cached_run``: one by one, 200 take half a second."""
        for run in runs:
            if not self.cached_run.knows(run.id):
                self.cached_run.remember(run, run.id)

    def reference_of(self, run_id: str) -> Reference:
        """Returns the reference data (test set, training data, catalogue) of the run's experiment."""
        return self.reference(self.cached_run(run_id).experiment)

    def _read_rated_pairs(self, experiment_id: str) -> reading.RatedPairs:
        return reading.RatedPairs(self.reference(experiment_id))

    def refuse_damage(self, run_ids: Sequence[str], test_id: str | None = None) -> None:
        """Raises EvidenceDamaged if stored data of these runs, of the A/B test or of their experiment was
        altered.

        It checks stored numbers, hits, uploads and tables; a file is read once per process. A deleted file
        does not raise, because the numbers computed from it stay valid.
        """
        store = self._store
        runs = [part for run in self._context.runs_of(run_ids) for part in (run, *self.replicates_of(run.id))]
        names = {run.id: run.name for run in runs}
        for run_id, curves in store.curves.of_runs(list(names)).items():
            for curve in curves.values():
                if isinstance(curve, Unavailable):
                    place = f"{curve.metric} of run '{names[run_id]}'"
                    raise EvidenceDamaged(Problem("damaged", place, curve.reason, ""))
        files: list[str | None] = []
        for experiment in map(store.experiments.get, {run.experiment for run in runs}):
            files += experiment.files
        for run in runs:
            files += [run.upload, *run.hits.values()]
        if test_id:
            test = store.online_tests.get(test_id)
            files += [test.upload, *test.tables.values()]
        for sha256 in filter(None, files):
            with suppress(NotFound):
                store.artifacts.path(sha256)

    def _read_replicates(self, run_id: str) -> tuple[Run, ...]:
        """Returns the folds or seeds of a run; empty for a run without replicates."""
        return tuple(self._store.runs.replicates([run_id])[run_id])

    def replicate_ids(self, run_id: str) -> list[str]:
        return [replicate.id for replicate in self.replicates_of(run_id)]

    def predictions(self, run_id: str) -> Predictions | None:
        sha = self._store.runs.get(run_id).hits.get("predictions")
        if sha is None:
            return None
        return reading.predictions_of(Upload("predictions", run_id, self._store.artifacts.table(sha), {}))

    def slice(self, experiment_id: str, scope: Scope) -> Slice:
        """Returns the slice that ``scope`` names.

        Raises UnknownName if no user of the experiment is in it.
        """
        columns = self.known_slices(experiment_id)
        by = max((column for column in columns if scope.slice.startswith(f"{column}=")), key=len, default="")
        slices = self.slices_by(experiment_id, by, scope.threshold) if by else ()
        by_name = {f"{part.by}={part.value}": part for part in slices}
        if scope.slice not in by_name:
            raise UnknownName("slice", scope.slice, sorted(by_name) or [f"{column}=…" for column in columns])
        return by_name[scope.slice]

    def _read_known_slices(self, experiment_id: str) -> tuple[str, ...]:
        """Returns the rules of its slices; reads no table of an experiment with a test set alone."""
        stored = self._store.experiments.get(experiment_id)
        if stored.truth is not None and not stored.kinds & tables_with_slices():
            return ()
        return tuple(known_slices(self.reference(experiment_id)))

    def _cut_into(self, experiment_id: str, by: str, threshold: float | None = None) -> tuple[Slice, ...]:
        return tuple(slices_of(self.reference_under(experiment_id, threshold), by))

    def _apply_threshold(self, experiment_id: str, threshold: float | None) -> Reference:
        """Returns the experiment's reference data with another relevance threshold; unchanged for None.

        Raises InputError if the threshold is not above 0, or leaves no relevant row.
        """
        reference = self.reference(experiment_id)
        if threshold is None:
            return reference
        if not threshold > 0:
            fix = "Use a number above 0; rows with relevance 0 or less are never relevant."
            raise InputError(Problem("bad-threshold", "relevance threshold", f"{threshold:g}", fix))
        truth = reference.truth.under(threshold)
        if not truth.relevant().any():
            problem = f"no row of the test set has a relevance of {threshold:g} or more"
            fix = f"The largest is {float(truth.gain.max()):g}; choose a smaller threshold."
            raise InputError(Problem("nothing-relevant", "relevance threshold", problem, fix))
        return replace(reference, truth=truth)

    def _read_hits(self, run_id: str) -> Hits:
        hits = self.hits_alone(run_id)
        stored = self.cached_run(run_id).hits
        return with_exposure(
            hits, self._tables({name: stored[name] for name in stored.keys() & EXPOSURE_TABLES})
        )

    def _read_hits_alone(self, run_id: str) -> Hits:
        run = self.cached_run(run_id)
        if run.is_mean:
            raise InputError(_several_lists(run))
        names = run.hits.keys() - EXPOSURE_TABLES - {"predictions"}
        tables = self._tables({name: run.hits[name] for name in names})
        return hits_from_tables(tables, self.reference(run.experiment).truth)

    def _tables(self, stored: Mapping[str, str]) -> dict[str, pa.Table]:
        return {name: self._store.artifacts.table(sha) for name, sha in stored.items()}

    def lists_of(self, run: Run) -> Recommendations:
        """Returns the stored lists of a run; those of a fold or seed are read from its candidate's upload.

        Raises InputError if the upload was not kept, and for a candidate of several seeds, whose users have
        several lists.
        """
        from recdash import ingest

        candidate = run if run.replicate_of is None else self._store.runs.get(run.replicate_of)
        if candidate.upload is None:
            raise InputError(Problem("no-upload", f"run '{run.name}'", "its upload was not kept", ""))
        if run.is_mean:
            raise InputError(_several_lists(run))
        column = {"replicate": replicate_merge.LABEL if run is not candidate else ""}
        mapping = column if candidate.replicated else None
        uploads = ingest.read_recommendations(
            self._store.artifacts.path(candidate.upload), name=run.name, mapping=mapping, checked=True
        )
        return next(upload for upload in uploads if upload.replicate is None or upload.replicate == run.name)

    def match_again(self, run_id: str, reference: Reference | None = None, **how: Any) -> Hits:
        """Computes hits again from the stored upload, for data that was not stored with the hits.

        ``how`` are arguments of ``match``; depth, order and duplicates default to those of the stored hits,
        ``reference`` to the experiment's own. Raises InputError as ``lists_of`` does.
        """
        run, stored = self._store.runs.get(run_id), self.hits(run_id)
        how = {"depth": stored.depth, "order": stored.order, "duplicates": stored.duplicates} | how
        return match(self.lists_of(run), reference or self.reference(run.experiment), **how)[0]

    def _read_reference(self, experiment_id: str) -> Reference:
        threshold = self._context.settings_of(experiment_id)["relevance_threshold"]
        return reading.reference_of(self.tables(experiment_id), threshold)

    def tables(self, experiment_id: str) -> dict[TableKind, Upload]:
        """Returns the stored tables of the experiment's set-up by kind.

        Raises InputError without a test set.
        """
        return self.tables_of(self._store.experiments.get(experiment_id))

    def tables_of(
        self, experiment: Experiment, kinds: Collection[TableKind] | None = None
    ) -> dict[TableKind, Upload]:
        """Returns the tables as ``tables`` does, of an experiment whose row need not be stored; with
        ``kinds`` only these.
        """
        if experiment.truth is None:
            raise InputError(no_test_set(experiment.name))
        return {
            kind: Upload(kind, experiment.name, self._store.artifacts.table(sha), {})
            for kind, sha in experiment.all_tables.items()
            if sha is not None and (kinds is None or kind in kinds)
        }
