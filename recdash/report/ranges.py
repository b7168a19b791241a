"""Counts that may differ from run to run, in words."""

from __future__ import annotations

from collections.abc import Iterable

from recdash.formatting import numbers


def range_of(counts: Iterable[int]) -> str:
    """``6,040``; ``5,100 to 6,040`` where they differ; ``–`` where there is none."""
    known = sorted(set(counts))
    ends = dict.fromkeys((*known[:1], *known[-1:]))
    return " to ".join(map(numbers.count, ends)) or numbers.NONE
