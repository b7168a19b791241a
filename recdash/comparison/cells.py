"""Cells of tables that need to know metrics or judged differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recdash.formatting.tables import PERCENT, Number, Word, aligned, finding
from recdash.metrics.naming import scale_of

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair


def metric_values(metric: str, values: Sequence[Any], why: Sequence[str] = ()) -> list[Number]:
    """Values of a metric; fractions of a catalogue are read in %. ``why``: for each that is missing."""
    scale = scale_of(metric)
    cells = aligned(values, scale=scale, unit=PERCENT if scale == 100 else "")
    return [
        Number(None, why=reason) if cell.value is None and reason else cell
        for cell, reason in zip(cells, why or [""] * len(cells), strict=True)
    ]


def finding_of(pair: Pair) -> Word:
    return finding(pair.judged.word, pair.judged.sign)


def corrected(pair: Pair) -> tuple[float, float]:
    """The ends of the corrected interval, in units of the metric."""
    return pair.judged.corrected.low, pair.judged.corrected.high
