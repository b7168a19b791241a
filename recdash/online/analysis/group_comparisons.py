"""Compares variants in groups of users, such as segments and days, as ``choice`` compares all users.

Pre-test values are not used (no CUPED). Tests that were stored before are compared by the delta method over
arrays (``grouped_lifts``).

Letters in shapes: ``U`` users, ``G`` groups of users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis import choice, grouped_lifts
from recdash.online.analysis.comparison import Comparison, NoComparison
from recdash.online.analysis.grouped_lifts import Sums
from recdash.online.analysis.lift import Estimate
from recdash.online.analysis.moments import GroupedMoments
from recdash.online.analysis.pair_values import PairValues
from recdash.online.metrics import OnlineMetric


class GroupComparisons(Protocol):
    """A variant and the control in several groups."""

    def lifts(self, level: Floats | float) -> list[Estimate]:
        """Returns the lift in each group with its interval; ``level`` is one for all groups or for each."""


@dataclass(frozen=True)
class ByComparison:
    """Groups of which each has its own comparison."""

    comparisons: Sequence[Comparison]

    def lifts(self, level: Floats | float) -> list[Estimate]:
        levels = np.broadcast_to(level, len(self.comparisons)).tolist()
        return [pair.lift(of_pair) for pair, of_pair in zip(self.comparisons, levels, strict=True)]


@dataclass(frozen=True)
class ByDeltaMethod:
    """Groups that are compared by the delta method from their sums [G]."""

    metric: OnlineMetric
    control: Sums
    variant: Sums

    def lifts(self, level: Floats | float) -> list[Estimate]:
        lifts = grouped_lifts.lifts(self.metric, self.control, self.variant, level)
        return [lifts[place] for place in range(len(lifts.value))]


class UsersByCell:
    """The values of users [U] in order of their cells, so that those of a cell are a slice, and by size, so
    that the order of the file's rows changes no digit.
    """

    def __init__(self, numerator: Floats, denominator: Floats | None, cell: Ints, n_cells: int) -> None:
        keys = (numerator, cell) if denominator is None else (denominator, numerator, cell)
        order = np.lexsort(keys)
        self._numerator = numerator[order]
        self._denominator = None if denominator is None else denominator[order]
        self._ends = np.cumsum(np.bincount(cell, minlength=n_cells))

    def compare(self, metric: OnlineMetric, control: int, variant: int) -> Comparison:
        """Returns the comparison of two cells."""
        slices = [slice(self._ends[cell - 1] if cell else 0, self._ends[cell]) for cell in (control, variant)]
        return compare_slices(metric, self._numerator, self._denominator, slices)


def compare_slices(
    metric: OnlineMetric, numerator: Floats, denominator: Floats | None, slices: Sequence[slice]
) -> Comparison:
    """Returns the comparison of two slices of users, that of the control and that of the variant.

    Without ``denominator``, each is 1.
    """
    values = np.concatenate([numerator[of_side] for of_side in slices])
    below = np.ones(len(values))
    if denominator is not None:
        below = np.concatenate([denominator[of_side] for of_side in slices])
    n_control = len(numerator[slices[0]])
    return choice.of_users(metric, PairValues(values, below, np.arange(len(values)) >= n_control)).shown


class UsersUntil:
    """The users of a test in order of their variant and day of exposure, so that those who were exposed up to
    a day are the first of their variant.

    ``unit`` and ``day`` are the user and the day, from 0, of each row with values.
    """

    def __init__(self, variant: Ints, exposed: Ints, unit: Ints, day: Ints, n_days: int) -> None:
        order = np.lexsort((exposed, variant))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self._n = len(order)
        self._first = np.searchsorted(variant[order], np.arange(variant.max(initial=0) + 1))
        inside = np.flatnonzero((day >= 0) & (day < n_days))
        rows = inside[np.argsort(day[inside], kind="stable")]
        ends = np.cumsum(np.bincount(day[rows], minlength=n_days))
        self._rows = [rows[ends[d] - n : ends[d]] for d, n in enumerate(np.diff(ends, prepend=0).tolist())]
        self._place = [place[unit[of_day]] for of_day in self._rows]

    def compare(
        self,
        metric: OnlineMetric,
        rows: tuple[Floats, Floats | None],
        n: Ints,
        control: int,
        variants: Sequence[int],
        *,
        cumulative: bool,
    ) -> Iterator[list[Comparison]]:
        """Yields for each day the comparison of each of the ``variants`` with the control.

        ``rows`` are numerator and denominator of each row; ``n`` [variants, days] is the number of users by
        variant. ``cumulative``: values are those up to the day, else those on the day.
        """
        numerator = np.zeros(self._n)
        denominator = None if rows[1] is None else np.zeros(self._n)
        for day, (of_day, place) in enumerate(zip(self._rows, self._place, strict=True)):
            for total, values in ((numerator, rows[0]), (denominator, rows[1])):
                if total is None or values is None:
                    continue
                if not cumulative:
                    total[:] = 0.0
                total[place] += values[of_day]  # a user has one row on a day
            slices = [
                slice(first, first + of_variant)
                for first, of_variant in zip(self._first.tolist(), n[:, day].tolist(), strict=True)
            ]
            yield [
                compare_slices(metric, numerator, denominator, [slices[control], slices[code]])
                for code in variants
            ]


def of_moments(groups: GroupedMoments, metric: OnlineMetric, cell: Ints, n_cells: int) -> MomentCells:
    """Returns the moments of the groups put together by ``cell``."""
    return MomentCells(metric, groups.cells(cell, n_cells))


@dataclass(frozen=True)
class MomentCells:
    """Cells of which counts, means and variances are known: tea-tasting's aggregates of each."""

    metric: OnlineMetric
    cells: Sequence[object]

    def compare(self, control: int, variant: int) -> Comparison:
        """Returns the comparison of two cells, without pre-test values."""
        sides = [self.cells[control], self.cells[variant]]
        if not all(side.count() for side in sides):  # type: ignore[attr-defined]
            return NoComparison(None, None, "there are no users")
        chosen = choice.of_aggregates(self.metric, *sides)
        return chosen.plain or chosen.shown
