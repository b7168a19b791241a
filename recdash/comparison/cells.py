"""Cells of tables that need to know metrics or judged differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from recdash.formatting.tables import PERCENT, Number, Word, aligned, finding
from recdash.metrics.naming import scale_of

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair


def metric_values(
    metric: str,
    values: Iterable[Any],
    why: Sequence[str] = (),
    *,
    like: Iterable[Any] | None = None,
    has_unit: bool = True,
) -> list[Number]:
    """Values of a metric; fractions of a catalogue are read in %.

    ``why``: for each that is missing; ``like``: the values that decide the decimals, else all; ``has_unit``:
    each has its "%", where the head of the column does not say so.
    """
    scale = scale_of(metric)
    cells = aligned(values, scale=scale, unit=PERCENT if scale == 100 and has_unit else "", like=like)
    return [
        Number(None, why=reason) if cell.value is None and reason else cell
        for cell, reason in zip(cells, why or [""] * len(cells), strict=True)
    ]


def metric_value(metric: str, value: float | None) -> Number:
    """One value of a metric, with three significant digits."""
    return metric_values(metric, [value])[0]


def from_to(metric: str, before: float, after: float) -> str:
    """``23.4 % to 20.8 %``."""
    return f"{metric_value(metric, before).shown} to {metric_value(metric, after).shown}"


def finding_of(pair: Pair) -> Word:
    return finding(pair.judged.word, pair.judged.sign)


def corrected(pair: Pair) -> tuple[float, float]:
    """Returns the ends of the corrected interval, in units of the metric."""
    return pair.judged.corrected.low, pair.judged.corrected.high
