"""Judges the lifts of an A/B test: the findings for goals and guardrails.

The lifts of all variants in all goals are one family, whose p-values are corrected (Holm by default). A
guardrail is judged on its own: is it certain that the metric did not get worse by the margin? It needs no
correction, because all guardrails must hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from recdash.formatting.numbers import none_if_nan
from recdash.online.analysis import lift
from recdash.online.metrics import OnlineMetric
from recdash.stats import Correction, corrected
from recdash.stats.family import levels

Word = Literal["better", "worse", "not settled", "holds", "broken", "not judged", ""]
TONES = {"better": "better", "worse": "worse", "broken": "worse", "holds": "better"}
"""Finding → the tone in which pages and reports show it; every other finding has the tone "same"."""
SIGNIFICANCE_LEVEL = 0.05


def family(p: Sequence[float | None], correction: Correction) -> list[tuple[float | None, float]]:
    """Returns for each p the corrected p, and the level at which its interval excludes a lift of 0."""
    values = np.array([np.nan if value is None else value for value in p], dtype=np.float64)
    adjusted = map(none_if_nan, corrected(values, correction).tolist())
    return list(zip(adjusted, levels(values, correction).tolist(), strict=True))


def word(
    metric: OnlineMetric, estimate: lift.Estimate, p: float | None, difference: lift.Estimate | None = None
) -> Word:
    """Returns the finding for a lift, given its interval and p, corrected where the metric is a goal.

    A goal whose lift has no interval, such as that of a control of 0, is judged by the ``difference``.

    A guardrail *holds* if the interval excludes a loss of the margin or more. It is *broken* if the interval
    excludes every smaller loss.
    """
    if estimate.low is None and difference is not None and metric.role != "guardrail":
        estimate = difference
    if estimate.low is None or estimate.high is None or p is None:
        return "not settled"
    low, high = estimate.low, estimate.high
    if metric.direction == "down":  # so that more is better
        low, high = -high, -low
    if metric.role == "guardrail":
        loss = -(metric.margin or 0.0)
        return "holds" if low > loss else "broken" if high < loss else "not settled"
    if p > SIGNIFICANCE_LEVEL or low <= 0 <= high:
        return "not settled"
    return "better" if low > 0 else "worse"
