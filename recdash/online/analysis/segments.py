"""Computes lifts per segment of users, such as country or platform."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import UnknownName
from recdash.formatting.numbers import none_if_nan
from recdash.online.analysis import group_comparisons, grouped_lifts, judgement, quantile_groups
from recdash.online.analysis.comparison import Comparison
from recdash.online.analysis.group_comparisons import (
    ByComparison,
    ByDeltaMethod,
    GroupComparisons,
    UsersByCell,
)
from recdash.online.analysis.grouped_lifts import Sums
from recdash.online.analysis.health import p_independent
from recdash.online.analysis.lift import CONFIDENCE, Estimate
from recdash.online.analysis.moments import GroupedMoments
from recdash.online.analysis.pair_values import ROUNDED
from recdash.online.analysis.quantiles import compare_sides
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers

FALSE_FINDINGS = 0.05
MIX_BELOW = 0.001
"""Level of the test that segments are independent of variants.

It is as strict as that of the split, because both tests are made every time.
"""


@dataclass(frozen=True)
class SegmentLift:
    """The lift of one variant in one segment, as a share, with its 95 % interval.

    ``segment`` is None for users without a known segment. ``p_bh`` and ``corrected_*`` are corrected over all
    segments and variants (Benjamini–Hochberg). Unavailable numbers are None, and ``note`` says why.
    """

    variant: str
    segment: str | None
    n_control: int
    n_variant: int
    control_value: float | None
    variant_value: float | None
    lift: float | None
    low: float | None
    high: float | None
    p: float | None
    p_bh: float | None
    note: str = ""
    corrected_low: float | None = None
    corrected_high: float | None = None


@dataclass(frozen=True)
class Reversal:
    """The segments in which a variant's lift has the opposite sign of its overall lift.

    ``all_of_them`` means Simpson's paradox: every segment has the opposite sign, because the segments have
    different weights in the two variants. It is reported only if chance does not explain it. The overall lift
    must be significant. In addition, the mix of segments must differ between the variants (p < .001), or the
    precision-weighted mean of the segments' lifts must be significant with the opposite sign. Without
    ``all_of_them``, the lifts in ``segments`` are significant (p_bh ≤ .05), so that the overall lift does not
    apply to them.
    """

    variant: str
    segments: tuple[str | None, ...]
    all_of_them: bool


def by_segment(
    users: OnlineUsers | GroupedMoments,
    metric: OnlineMetric,
    control: str,
    name: str,
    *,
    delta_method: bool = False,
) -> list[SegmentLift]:
    """Returns the lifts per variant and segment of the attribute ``name``; segments keep their own order.

    ``delta_method`` as in the rules. Raises UnknownName for an unknown attribute or control.
    """
    base = grouped_lifts.control_index(users, control)
    if name not in users.segments:
        raise UnknownName("segment", name, list(users.segments))
    labels: list[str | None] = [*users.segments[name].labels, None]
    shape = len(users.variants), len(labels)
    others = [code for code in range(len(users.variants)) if code != base]
    cells = _compared(metric, users, _cells(users, name), shape, base, others, delta_method=delta_method)
    compared = cells.compared
    lifts = [of_variant.lifts(CONFIDENCE) for of_variant in compared]
    family = iter(judgement.family([lift.p for of_variant in lifts for lift in of_variant], "bh"))
    rows: list[SegmentLift] = []
    for code, comparisons, of_variant in zip(others, compared, lifts, strict=True):
        p_bh, levels = zip(*(next(family) for _ in labels), strict=True)
        corrected = comparisons.lifts(np.array(levels))
        variant = users.variants[code]
        rows += _rows(variant, labels, (cells[base], cells[code]), (of_variant, corrected), p_bh)
    return [row for row in rows if row.n_control + row.n_variant]


def whole(
    users: OnlineUsers | GroupedMoments, metric: OnlineMetric, control: str, *, delta_method: bool = False
) -> dict[str, Estimate]:
    """Returns variant → lift over all users, without CUPED like the lifts in segments."""
    base, n = grouped_lifts.control_index(users, control), len(users.variants)
    others = [code for code in range(n) if code != base]
    cells = _compared(metric, users, users.variant, (n, 1), base, others, delta_method=delta_method)
    return {
        users.variants[code]: of_variant.lifts(CONFIDENCE)[0]
        for code, of_variant in zip(others, cells.compared, strict=True)
    }


def simpson(rows: Sequence[SegmentLift], overall: Mapping[str, Estimate]) -> tuple[Reversal, ...]:
    """Returns the variants whose segments contradict their ``overall`` lift, which ``whole`` computes.

    Both must be without CUPED: an adjusted lift may have another sign than the unadjusted lifts of its
    segments by chance.
    """
    reversals = (_reversal(variant, rows, lift) for variant, lift in overall.items() if lift.value)
    return tuple(reversal for reversal in reversals if reversal is not None)


def _cells(users: OnlineUsers | GroupedMoments, name: str) -> Ints:
    """Returns the cell of each user, or group of users: its variant and segment.

    The last segment has the users without a known one.
    """
    segment = users.segments[name]
    n_labels = len(segment.labels) + 1
    return users.variant * n_labels + np.where(segment.label < 0, n_labels - 1, segment.label)


class OfSegments(NamedTuple):
    """The users and the metric of one variant in each segment [segments]; NaN without a value."""

    n: Floats
    value: Floats


@dataclass(frozen=True)
class _Cells:
    """The number of users and the metric by variant and segment [variants, segments], and the comparisons of
    each other variant with the control.
    """

    n: Floats
    value: Floats
    compared: Sequence[GroupComparisons]

    def __getitem__(self, code: int) -> OfSegments:
        return OfSegments(self.n[code], self.value[code])


def _compared(
    metric: OnlineMetric,
    users: OnlineUsers | GroupedMoments,
    cell: Ints,
    shape: tuple[int, int],
    base: int,
    others: Sequence[int],
    *,
    delta_method: bool,
) -> _Cells:
    """Returns the cells with the comparisons of each of the ``others`` with the control, by segment.

    ``shape`` is the number of variants and that of segments, whose cells are numbered row by row.
    """
    if metric.quantile is not None and isinstance(users, OnlineUsers):
        sides = quantile_groups.by_cell(users, metric, cell, shape[0] * shape[1])
        rows = [sides[first : first + shape[1]] for first in range(0, len(sides), shape[1])]
        n = np.array([[side.n_users for side in row] for row in rows], dtype=np.float64)
        compared = [ByComparison(list(map(compare_sides, rows[base], rows[code]))) for code in others]
        return _Cells(n, np.array([quantile_groups.values(row) for row in rows]), compared)
    sums = grouped_lifts.sums_of(users, metric, cell, shape[0] * shape[1]).reshape(shape)
    if delta_method:
        return _Cells(sums.n, sums.value, _by_delta_method(metric, sums, base, others))
    return _Cells(sums.n, sums.value, _by_comparison(metric, users, cell, shape, base, others))


def _by_delta_method(
    metric: OnlineMetric, sums: Sums, base: int, others: Sequence[int]
) -> list[GroupComparisons]:
    return [ByDeltaMethod(metric, sums[base], sums[code]) for code in others]


def _by_comparison(
    metric: OnlineMetric,
    users: OnlineUsers | GroupedMoments,
    cell: Ints,
    shape: tuple[int, ...],
    base: int,
    others: Sequence[int],
) -> list[GroupComparisons]:
    """Returns the comparisons of each of the ``others`` with the control, segment by segment.

    ``shape`` is the number of variants and that of segments, whose cells are numbered row by row.
    """
    n_cells, n_labels = shape[0] * shape[1], shape[1]
    if isinstance(users, GroupedMoments):
        moments = group_comparisons.of_moments(users, metric, cell, n_cells)

        def compare(control: int, variant: int) -> Comparison:
            return moments.compare(control, variant)

    else:
        numerator, denominator = grouped_lifts.numerator_and_denominator(metric, users.totals)
        by_cell = UsersByCell(numerator, denominator, cell, n_cells)

        def compare(control: int, variant: int) -> Comparison:
            return by_cell.compare(metric, control, variant)

    return [
        ByComparison([compare(base * n_labels + at, code * n_labels + at) for at in range(n_labels)])
        for code in others
    ]


def _rows(
    variant: str,
    labels: Sequence[str | None],
    sides: tuple[OfSegments, OfSegments],
    lifts: tuple[Sequence[Estimate], Sequence[Estimate]],
    p_bh: Sequence[float | None],
) -> Iterator[SegmentLift]:
    """Yields a row per segment. ``sides`` are control and variant, ``lifts`` those with plain and with
    corrected intervals.
    """
    control, own = sides
    for place, label in enumerate(labels):
        lift, corrected = lifts[0][place], lifts[1][place]
        yield SegmentLift(
            variant=variant,
            segment=label,
            n_control=int(control.n[place]),
            n_variant=int(own.n[place]),
            control_value=none_if_nan(control.value[place]),
            variant_value=none_if_nan(own.value[place]),
            lift=lift.value,
            low=lift.low,
            high=lift.high,
            p=lift.p,
            p_bh=p_bh[place],
            note=lift.note,
            corrected_low=corrected.low,
            corrected_high=corrected.high,
        )


def _reversal(variant: str, rows: Sequence[SegmentLift], overall: Estimate) -> Reversal | None:
    own = [row for row in rows if row.variant == variant and row.lift is not None]
    against = [row for row in own if (row.lift or 0.0) * (overall.value or 0.0) < 0]
    if len(own) > 1 and len(against) == len(own) and _is_paradox(own, overall):
        return Reversal(variant, tuple(row.segment for row in against), all_of_them=True)
    sure = tuple(row.segment for row in against if row.p_bh is not None and row.p_bh <= FALSE_FINDINGS)
    return Reversal(variant, sure, all_of_them=False) if sure else None


def _is_paradox(rows: Sequence[SegmentLift], overall: Estimate) -> bool:
    """Returns True if chance does not explain the opposite sign of all segments."""
    sign = _sign(overall.low, overall.high)
    users = np.array([[row.n_control, row.n_variant] for row in rows])
    return sign != 0 and (_sign(*_inside(rows)) == -sign or p_independent(users) < MIX_BELOW)


def _inside(rows: Sequence[SegmentLift]) -> tuple[float | None, float | None]:
    """Returns the 95 % interval of the segments' mean lift, whose logarithms are weighted by 1 / SE².

    Both ends are None if no segment has an interval.
    """
    ends = [
        (row.low, row.high) for row in rows if row.low is not None and row.high is not None and row.low > -1
    ]
    if not ends:
        return None, None
    low, high = np.log1p(ends).T
    half = np.maximum((high - low) / 2, ROUNDED)
    weight = 1 / half**2
    middle, width = float(weight @ (low + high) / 2 / weight.sum()), float(weight.sum() ** -0.5)
    return math.expm1(middle - width), math.expm1(middle + width)


def _sign(low: float | None, high: float | None) -> int:
    """Returns 1 or −1 if the interval excludes 0; 0 if it does not, or if it is missing."""
    return 0 if low is None or high is None else int(low > 0) - int(high < 0)
