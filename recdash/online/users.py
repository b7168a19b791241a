"""The users of an A/B test, the source of every online number: one row per randomised user, and per day.

Letters in shapes: ``U`` users, ``n`` rows of users and days.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import Problem
from recdash.online.metrics import OnlineMetric


@dataclass(frozen=True)
class Days:
    """The activity per day: one row for each user and day with anything counted, sorted by user and day.

    ``unit`` [n] are indexes into the users, ``day`` [n] days since 1970 (UTC), ``totals`` maps a total to its
    values [n].
    """

    unit: Ints
    day: Ints
    totals: Mapping[str, Floats]


@dataclass(frozen=True)
class Segment:
    """The users' values of one attribute: ``label`` [U] are indexes into ``labels``, −1 if unknown."""

    labels: tuple[str, ...]
    label: Ints


class RowValues(NamedTuple):
    """The values of a column in the rows of the test that have one: ``value`` [n], ``user`` [n], the index of
    the user of each row, and ``day`` [n], in days since 1970 (UTC).
    """

    user: Ints
    value: Floats
    day: Ints


@dataclass(frozen=True)
class Removed:
    """What one rule excluded.

    ``what`` is a description, ``unit`` what is counted (rows, sessions, users), ``by_variant`` the number per
    variant.
    """

    rule: str
    what: str
    unit: str
    by_variant: Mapping[str, int]

    @property
    def count(self) -> int:
        return sum(self.by_variant.values())

    def notice(self, variants: Sequence[str]) -> Problem:
        """Returns the notice of how many units the rule excluded in each variant."""
        counts = ", ".join(f"{variant} {self.by_variant.get(variant, 0):,}" for variant in variants)
        return Problem(
            self.rule, "excluded", f"{self.count:,} {self.unit} {self.what} ({counts})", "", self.count
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns what was excluded as JSON-ready values."""
        return {
            "rule": self.rule,
            "what": self.what,
            "unit": self.unit,
            "by_variant": dict(self.by_variant),
        }


@dataclass(frozen=True)
class OnlineUsers:
    """One row per user who saw exactly one variant and was not excluded by a rule.

    ``unit`` [U] are ids, ``variant`` [U] indexes into ``variants``. ``totals`` maps each total to its values
    [U] over the test: sessions, engaged_sessions, clicks, watch_min; if uploaded videos, lists,
    answered_lists and clicked_lists; and every further number of the upload under its own name. ``exposed``
    [U] is the day of the first exposure (or session), in days since 1970. ``before`` has the same totals
    before the exposure, empty without pre-test data. ``assigned`` is the number of users per variant before
    all rules except the exclusion of the ``crossed`` users, who had multiple exposures. ``activated`` is the
    number of users per variant who reached what the test changes, None without this rule. ``values`` maps
    the columns of which metrics need single values to these.
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
    activated: Mapping[str, int] | None = None
    values: Mapping[str, RowValues] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.variant)

    def has_rows_of(self, metric: OnlineMetric) -> bool:
        """Returns True if the metric is a quantile of values that are here."""
        return metric.quantile is not None and metric.numerator in self.values

    @property
    def n(self) -> dict[str, int]:
        """Returns variant → number of users that count."""
        counts = np.bincount(self.variant, minlength=len(self.variants)).tolist()
        return dict(zip(self.variants, counts, strict=True))
