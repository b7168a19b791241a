"""One A/B test by one online metric, with the runs that its variants served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recdash.domain.records import OnlineTest
from recdash.formatting.numbers import none_if_nan
from recdash.metrics import naming
from recdash.online.agreement.agreement import DifferenceInterval
from recdash.online.agreement.join import judged_by, split_is_broken

BROKEN = "the split of users between the variants is broken (sample ratio mismatch)"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class OfflineOnlineResult:
    """A test by one online metric: ``rows`` and ``runs`` by variant, control first; ``names`` of the runs."""

    test: OnlineTest
    online_metric: str
    rows: Mapping[str, Row]
    runs: Mapping[str, str]
    names: Mapping[str, str]

    @property
    def title(self) -> str:
        return str(next(iter(self.rows.values()))["title"])

    @property
    def sign(self) -> int:
        """Returns −1 for an online metric of which less is better, else 1."""
        return -1 if next(iter(self.rows.values())).get("direction") == "down" else 1

    @property
    def broken(self) -> str:
        """Returns why no metric is judged; empty if the split is sound."""
        return BROKEN if split_is_broken(self.test.notices) else ""

    @property
    def variants(self) -> list[str]:
        """Returns the variants that are linked to a run and have the metric."""
        return [variant for variant in self.runs if variant in self.rows]

    def lift(self, variant: str) -> float | None:
        """Returns the lift, more is better; 0 for the control."""
        if variant == self.test.control:
            return 0.0
        lift = none_if_nan(self.rows[variant]["lift"])
        return None if lift is None else self.sign * lift

    def interval(self, variant: str) -> DifferenceInterval:
        """Returns the interval that judges the lift over control: corrected within the goals of the test."""
        return turned(DifferenceInterval(*judged_by(self.rows[variant])), self.sign)


def sign_of(metric: str) -> int:
    """Returns −1 for a metric of which less is better, else 1."""
    return -1 if naming.lower_is_better(metric) else 1


def turned(ends: DifferenceInterval, sign: int) -> DifferenceInterval:
    """Returns the interval, negated for ``sign`` −1, so that more is better."""
    low, high = ends
    return ends if sign > 0 or low is None or high is None else DifferenceInterval(-high, -low)
