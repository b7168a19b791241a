"""Candidates: all uploads of one, scored as one and with their rows together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.domain.inputs import Recommendations, Upload
from recdash.domain.kinds import Replication
from recdash.evaluation.replicate_merge import merge_replicates
from recdash.evaluation.replicates import check_replicates, score_replicates
from recdash.evaluation.scoring import Scored, Scoring, score_predictions, score_run

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class PreparedRun:
    """A run that was read and scored but is not stored yet; of several folds or seeds all rows together."""

    run: Recommendations
    scored: Scored


def group_by_candidate(runs: Iterable[Recommendations]) -> list[tuple[Recommendations, ...]]:
    """Returns the replicates of each candidate together, in order of first appearance; other runs alone."""
    groups: dict[object, list[Recommendations]] = {}
    for place, run in enumerate(runs):
        groups.setdefault(place if run.replicate is None else run.name, []).append(run)
    return [tuple(group) for group in groups.values()]


def score_candidate(
    runs: Sequence[Recommendations],
    scoring: Scoring,
    kind: Replication | None = None,
    predictions: Any = None,
) -> Scored:
    """Returns the uploads of one candidate scored as one; a single one is scored as it is.

    ``kind`` says how several relate; None detects it from their users. Raises InputError if that is
    ambiguous, for folds that share users, and for rating predictions with several uploads.
    """
    if len(runs) == 1:
        return score_run(runs[0], scoring, predictions)
    check_replicates(runs, predictions)
    return score_replicates(runs, [score_run(run, scoring) for run in runs], scoring, kind)


def prepare_runs(
    candidates: Sequence[Sequence[Recommendations]],
    scoring: Scoring,
    tell: Callable[[float, str], None],
    kind: Replication | None = None,
    predictions: Any = None,
) -> list[PreparedRun]:
    """Returns each candidate scored, with the rows that are stored of it; ``tell`` is called with the
    progress (0 to 1).

    Raises InputError as ``score_candidate`` does.
    """
    prepared = []
    for index, runs in enumerate(candidates):
        tell(index / len(candidates), f"Scoring {runs[0].name}")
        scored = score_candidate(runs, scoring, kind, predictions)
        rows = merge_replicates(runs, labelled=True) if len(runs) > 1 else runs[0]
        prepared.append(PreparedRun(rows, scored))
    return prepared


def prepare_predictions(name: str, rated: Upload, scoring: Scoring) -> PreparedRun:
    """Returns a candidate without lists, scored by its predicted ratings; these rows are stored as its
    upload.
    """

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = rated.table if columns is None else rated.table.select(list(columns))
        return iter(table.to_batches())

    rows = Recommendations(name, batches, has_rank=False, has_score=False, n_rows=rated.table.num_rows)
    return PreparedRun(rows, score_predictions(name, rated, scoring))
