"""Scores candidates, each of which may have several uploads (folds or seeds)."""

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
    """A candidate that was read and scored but not stored yet. With several folds or seeds, ``run`` has the
    rows of all. ``files`` are those of ``Scoring``.
    """

    run: Recommendations
    scored: Scored
    files: frozenset[str] = frozenset()


def group_by_candidate(runs: Iterable[Recommendations]) -> list[tuple[Recommendations, ...]]:
    """Returns one tuple per candidate with all its replicates, in order of first appearance; a run that is
    not a replicate is a candidate of its own.
    """
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
    """Returns the score of a candidate over all its uploads.

    ``kind`` says whether they are seeds or folds; with None it is detected from their users. Raises
    InputError if that is ambiguous, for folds that share users, and for rating predictions of a candidate
    with several uploads.
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
    """Returns each candidate with its score and the rows to store. Calls ``tell`` with the progress (0 to 1)
    and a text.

    Raises InputError as ``score_candidate`` does.
    """
    prepared = []
    for index, runs in enumerate(candidates):
        tell(index / len(candidates), f"Scoring {runs[0].name}")
        scored = score_candidate(runs, scoring, kind, predictions)
        rows = merge_replicates(runs, labelled=True) if len(runs) > 1 else runs[0]
        prepared.append(PreparedRun(rows, scored, scoring.files))
    return prepared


def prepare_predictions(name: str, rated: Upload, scoring: Scoring) -> PreparedRun:
    """Returns a candidate without lists, scored by its predicted ratings; the rated rows are stored as its
    upload.
    """

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        table = rated.table if columns is None else rated.table.select(list(columns))
        return iter(table.to_batches())

    rows = Recommendations(name, batches, has_rank=False, has_score=False, n_rows=rated.table.num_rows)
    return PreparedRun(rows, score_predictions(name, rated, scoring), scoring.files)
