"""Candidates: all that was uploaded for one, scored as one and with its rows together."""

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
    """A run that was read and scored, and is not stored yet; of several folds or seeds all rows together."""

    run: Recommendations
    scored: Scored


def group_by_candidate(runs: Iterable[Recommendations]) -> list[tuple[Recommendations, ...]]:
    """The replicates of each candidate together, in order of first appearance; others stand alone."""
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
    """The uploads of one candidate, scored as one; a single one is scored as it is.

    ``kind`` says how several relate; None looks at their users. Raises InputError where that leaves it open,
    for folds that share users, and for rating predictions beside several.
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
    """Each candidate scored, with the rows that are stored of it; ``tell`` hears how far it is (0 to 1).

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
    """A candidate without lists, scored by its predicted ratings; these rows are stored as its upload."""

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = rated.table if columns is None else rated.table.select(list(columns))
        return iter(table.to_batches())

    rows = Recommendations(name, batches, has_rank=False, has_score=False, n_rows=rated.table.num_rows)
    return PreparedRun(rows, score_predictions(name, rated, scoring))
