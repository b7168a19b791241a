"""Groups numbers into a few readable bands; a band is given by the largest number in it, its top."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recdash.domain.kinds import Floats, Ints


def equal_tops(numbers: Floats, weight: Ints | Floats, bands: int) -> Floats:
    """Returns the tops of about ``bands`` bands of about equal total ``weight``. A number that alone has the
    weight of a band becomes a band of its own.
    """
    distinct, of = np.unique(numbers, return_inverse=True)
    held = np.bincount(of, weight)
    ends = np.searchsorted(np.cumsum(held) * bands, np.arange(1, bands + 1) * held.sum())
    alone = np.flatnonzero(held * bands >= held.sum())
    return distinct[np.unique([*ends, *alone, *np.maximum(alone - 1, 0)])]


def round_tops(numbers: Floats, most: int) -> Floats:
    """Returns the tops of at most ``most`` bands that all have the same round width, such as decades. Bands
    without numbers are left out.
    """
    distinct = np.unique(numbers)
    least = (distinct[-1] - distinct[0]) / (most - 1)
    power = 10.0 ** np.floor(np.log10(least))
    width = float(next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9)))
    ends_band = np.diff(np.floor(distinct / width)) > 0
    return distinct[np.append(ends_band, True)]


def range_labels(ranges: Sequence[tuple[float, float]]) -> list[str]:
    """Returns one label per range, such as ``1913–1985``, with as many digits as are needed to make the
    labels distinct.
    """
    for digits in (4, 17):
        labels = [_range_label(low, high, digits) for low, high in ranges]
        if len(set(labels)) == len(labels):
            break
    return labels


def _range_label(low: float, high: float, digits: int) -> str:
    first, last = (
        f"{number:.0f}" if _plain_whole(number) else f"{number:.{digits}g}" for number in (low, high)
    )
    return first if low == high else f"{first}–{last}"


def _plain_whole(number: float) -> bool:
    return number.is_integer() and abs(number) < 1e15
