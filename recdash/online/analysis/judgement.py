"""What a lift means: the words of goals and guardrails, several metrics and variants judged together.

All goals of all variants are one family, whose p-values are corrected (Holm, unless asked otherwise). A
guardrail is another kind of question, asked of each by itself: is it certain that the metric has not got
worse by the margin? That every one of them must hold is correction enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from recdash.online.analysis import lift
from recdash.online.metrics import OnlineMetric
from recdash.stats import Correction, corrected
from recdash.stats.family import levels

Word = Literal["better", "worse", "not settled", "holds", "broken", "not judged", ""]
SIGNS = {"better": "▲", "worse": "▼", "broken": "▼", "holds": "✓", "not settled": "=", "not judged": "–"}
TONES = {"better": "better", "worse": "worse", "broken": "worse", "holds": "better"}
"""How each word is shown, on pages and in reports; the others have the tone "same"."""
SETTLED_P = 0.05


def family(p: Sequence[float | None], correction: Correction) -> list[tuple[float | None, float]]:
    """Each p corrected with the others, and the level at which its interval excludes no lift."""
    values = np.array([np.nan if one is None else one for one in p], dtype=np.float64)
    found = zip(corrected(values, correction).tolist(), levels(values, correction).tolist(), strict=True)
    return [(None if np.isnan(one) else one, level) for one, level in found]


def word(metric: OnlineMetric, found: lift.Estimate, p: float | None) -> Word:
    """In one word what a lift with its (corrected) interval and p says of the metric."""
    if found.low is None or found.high is None or p is None:
        return "not settled"
    low, high = oriented(metric, found.low, found.high)
    if metric.role == "guardrail":
        return guarded(low, high, metric.margin or 0.0)
    if p > SETTLED_P or low <= 0 <= high:
        return "not settled"
    return "better" if low > 0 else "worse"


def oriented(metric: OnlineMetric, low: float, high: float) -> tuple[float, float]:
    """The interval turned so that more is better."""
    return (low, high) if metric.direction == "up" else (-high, -low)


def guarded(low: float, high: float, margin: float) -> Word:
    """*holds* where a loss of the margin is excluded, *broken* where a smaller one is."""
    if low > -margin:
        return "holds"
    return "broken" if high < -margin else "not settled"
