"""Cells of tables: columns whose numbers stand alike, and words that follow the statistics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from recdash.formatting import numbers
from recdash.formatting.wording import tone
from recdash.metrics.naming import scale_of
from recdash.report.document import Interval, Number, Tone, Word

if TYPE_CHECKING:
    from recdash.comparison.pairs import Pair

PERCENT = " %"


def number_of(value: Any) -> float | None:
    """None for what is missing; whole numbers stay whole."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, int) else float(value)


def alike(values: Iterable[Any], *, sign: bool = False, unit: str = "", scale: int = 1) -> list[Number]:
    """Numbers of one column: as many decimals as the largest needs for three digits."""
    known = [number_of(value) for value in values]
    decimals = numbers.places(None if value is None else value * scale for value in known)
    return [Number(value, decimals, sign, unit, scale) for value in known]


def single(value: Any, *, sign: bool = False, unit: str = "", scale: int = 1) -> Number:
    """A number by itself, with three digits."""
    return alike([value], sign=sign, unit=unit, scale=scale)[0]


def count(value: Any) -> Number:
    return Number(number_of(value))


def range_of(counts: Iterable[int]) -> str:
    """``6,040``; ``5,100 to 6,040`` where they differ; ``–`` where there is none."""
    known = sorted(set(counts))
    ends = dict.fromkeys((*known[:1], *known[-1:]))
    return " to ".join(map(numbers.count, ends)) or numbers.NONE


def p_value(value: Any) -> Number:
    return Number(number_of(value), style="p")


def metric_values(metric: str, values: Sequence[Any], why: Sequence[str] = ()) -> list[Number]:
    """Values of a metric; fractions of a catalogue are read in %. ``why``: for each that is missing."""
    scale = scale_of(metric)
    cells = alike(values, scale=scale, unit=PERCENT if scale == 100 else "")
    return [
        Number(None, why=reason) if cell.value is None and reason else cell
        for cell, reason in zip(cells, why or [""] * len(cells), strict=True)
    ]


def intervals(
    ends: Sequence[tuple[Any, Any]], *, unit: str = "", scale: int = 1, beside: Sequence[Any] = ()
) -> list[Interval]:
    """Signed intervals of one column, with the decimals of the numbers ``beside`` them."""
    flat = alike([*(end for pair in ends for end in pair), *beside], sign=True, unit=unit, scale=scale)
    return [Interval(*flat[2 * row : 2 * row + 2]) for row in range(len(ends))]


def level_numbers(
    values: Sequence[Any], ends: Sequence[tuple[Any, Any]], *, unit: str = "", scale: int = 1
) -> tuple[list[Number], list[Interval]]:
    """Signed numbers and their intervals, all with the same decimals."""
    bounds = intervals(ends, unit=unit, scale=scale, beside=values)
    decimals = bounds[0].low.decimals if bounds else 0
    return [Number(number_of(value), decimals, sign=True, unit=unit, scale=scale) for value in values], bounds


def finding(word: str, sign: str) -> Word:
    return Word(sign, word, cast("Tone", tone(word)))


def finding_of(pair: Pair) -> Word:
    return finding(pair.judged.word, pair.judged.sign)


def corrected(pair: Pair) -> tuple[float, float]:
    return pair.judged.corrected.low, pair.judged.corrected.high
