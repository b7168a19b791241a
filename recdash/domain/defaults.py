"""Default baseline, candidates, metric and k of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recdash.domain.records import Experiment, Run

MOST_CANDIDATES, FIRST_CANDIDATES = 20, 8
"""Most candidates that are drawn side by side, and how many where none were chosen."""
DEFAULT_K, DEFAULT_METRIC, DEFAULT_RATING_METRIC = 10, "ndcg", "rmse"
DEFAULT_SPEC = f"{DEFAULT_METRIC}@{DEFAULT_K}"
USUAL_K = (5, 10, 20, 50)
"""The cutoffs that are offered, and at which a verdict is computed again."""
BASELINES = ("popular", "weighted_rating", "content", "random")
"""References, the best known first."""


def default_baseline(experiment: Experiment, runs: Sequence[Run]) -> Run:
    """Returns the experiment's baseline; else the first run, or, with only one candidate, its best known
    reference.
    """
    own = next((run for run in runs if run.id == experiment.baseline), None)
    if own is not None:
        return own
    references = {run.reference: run for run in runs if run.reference}
    if len(runs) - len(references) != 1:
        return runs[0]
    return next((references[name] for name in BASELINES if name in references), runs[0])


def default_candidates(runs: Sequence[Run], baseline: Run | None) -> tuple[Run, ...]:
    """Returns the first that are neither the baseline nor a reference, at most eight."""
    return tuple([run for run in runs if run != baseline and not run.reference][:FIRST_CANDIDATES])


def default_metric(offered: Sequence[str]) -> str:
    return DEFAULT_METRIC if DEFAULT_METRIC in offered or not offered else offered[0]


def default_k(depth: int) -> int:
    return min(DEFAULT_K, depth)
