"""The table that every online number comes from: one row per randomised user, and their days."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import Problem


@dataclass(frozen=True)
class Days:
    """Activity by day: a row for each user and day with anything counted, in their order.

    ``unit`` [n] indexes into the users, ``day`` [n] days since 1970 (UTC), ``totals`` [n] by name.
    """

    unit: Ints
    day: Ints
    totals: Mapping[str, Floats]


@dataclass(frozen=True)
class Segment:
    """Users by one of their attributes: ``label`` [U] is an index into ``labels``, −1 if unknown."""

    labels: tuple[str, ...]
    label: Ints


@dataclass(frozen=True)
class Removed:
    """What one rule excluded: ``what`` in words, ``unit`` (rows, sessions, users), how many by variant."""

    rule: str
    what: str
    unit: str
    by_variant: Mapping[str, int]

    @property
    def count(self) -> int:
        return sum(self.by_variant.values())


@dataclass(frozen=True)
class OnlineUsers:
    """One row per user who saw exactly one variant and was not excluded by a rule.

    ``unit`` [U] ids, ``variant`` [U] an index into ``variants``; ``totals`` [U] by name over the test:
    sessions, engaged_sessions, clicks, watch_min, if uploaded videos, lists, answered_lists and
    clicked_lists, and every further number of the upload under its own name. ``exposed`` [U] the day of the
    first exposure (or session), days since 1970. ``before`` [U] the same totals before the exposure, empty
    without pre-test data. ``assigned``: users by variant before any rule except that against multiple
    exposures, which ``crossed`` users had.
    """

    variants: tuple[str, ...]
    unit: Sequence[Any]
    variant: Ints
    totals: Mapping[str, Floats]
    exposed: Ints
    days: Days
    before: Mapping[str, Floats]
    segments: Mapping[str, Segment]
    assigned: Mapping[str, int]
    crossed: int
    removed: tuple[Removed, ...]
    notices: tuple[Problem, ...]

    def __len__(self) -> int:
        return len(self.variant)

    @property
    def n(self) -> dict[str, int]:
        """Returns users that count, by variant."""
        counts = np.bincount(self.variant, minlength=len(self.variants)).tolist()
        return dict(zip(self.variants, counts, strict=True))
