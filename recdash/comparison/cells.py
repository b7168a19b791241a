"""Table cells for values of metrics and for differences between runs."""

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
    """Returns one number cell per value of a metric; metrics that are fractions of a catalogue are shown in
    %.

    ``why`` gives, for each value, the reason if it is missing. ``like`` are the values from which the number
    of decimals is derived, by default the values themselves. ``has_unit=False`` leaves out the "%" where the
    column's heading has it.
    """
    scale = scale_of(metric)
    cells = aligned(values, scale=scale, unit=PERCENT if scale == 100 and has_unit else "", like=like)
    return [
        Number(None, why=reason) if cell.value is None and reason else cell
        for cell, reason in zip(cells, why or [""] * len(cells), strict=True)
    ]


def metric_value(metric: str, value: float | None) -> Number:
    """Returns the number cell of one value of a metric, with three significant digits."""
    return metric_values(metric, [value])[0]


def from_to(metric: str, before: float, after: float) -> str:
    """Returns two values of a metric as text: ``23.4 % to 20.8 %``."""
    return f"{metric_value(metric, before).shown} to {metric_value(metric, after).shown}"


def finding_of(pair: Pair) -> Word:
    """Returns the cell of a difference's finding; ``equal for every user`` if no user has another value."""
    return finding(pair.words)
