"""Default baseline, candidates, metric and k of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recdash.domain.records import Experiment, Run

MOST_CANDIDATES = 8
"""So many are drawn side by side."""
DEFAULT_K, DEFAULT_METRIC = 10, "ndcg"
BASELINES = ("popular", "weighted_rating", "content", "random")
"""Of references, the best known first."""


@dataclass(frozen=True)
class DefaultQuestion:
    """The question that an experiment answers until another is asked; ``candidates`` without references."""

    baseline: Run
    candidates: tuple[Run, ...]
    metric: str
    k: int

    @property
    def contender_ids(self) -> tuple[str, ...]:
        """Baseline first."""
        return (self.baseline.id, *(run.id for run in self.candidates))


def default_question(
    experiment: Experiment, runs: Sequence[Run], metrics: Sequence[str], depth: int
) -> DefaultQuestion:
    """``runs``: those of the experiment that are not archived, at least one; ``metrics`` in reading order."""
    baseline = default_baseline(experiment, runs)
    return DefaultQuestion(
        baseline, default_candidates(runs, baseline), default_metric(metrics), default_k(depth)
    )


def default_baseline(experiment: Experiment, runs: Sequence[Run]) -> Run:
    """The experiment's own; else the first run, or, beside one candidate alone, its best known reference."""
    own = next((run for run in runs if run.id == experiment.baseline), None)
    if own is not None:
        return own
    references = {run.reference: run for run in runs if run.reference}
    if len(runs) - len(references) != 1:
        return runs[0]
    return next((references[name] for name in BASELINES if name in references), runs[0])


def default_candidates(runs: Sequence[Run], baseline: Run | None) -> tuple[Run, ...]:
    """The first that are neither the baseline nor a reference, as many as are drawn."""
    return tuple([run for run in runs if run != baseline and not run.reference][:MOST_CANDIDATES])


def default_metric(offered: Sequence[str]) -> str:
    return DEFAULT_METRIC if DEFAULT_METRIC in offered or not offered else offered[0]


def default_k(depth: int) -> int:
    return min(DEFAULT_K, depth)
