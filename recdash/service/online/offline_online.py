"""One online metric of an A/B test, with the runs that the variants served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recdash.domain.records import OnlineTest
from recdash.formatting.numbers import none_if_nan
from recdash.metrics import naming
from recdash.online.agreement.agreement import DifferenceInterval
from recdash.online.agreement.join import judged_by, lower_is_better, split_is_broken

BROKEN = "the split of users between the variants is broken (sample ratio mismatch)"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class OfflineOnlineResult:
    """One online metric of an A/B test.

    ``rows`` and ``runs`` are the results and the run ids by variant, control first; ``names`` are the runs'
    names by id.
    """

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
        """Returns −1 if less of the online metric is better, else 1."""
        return -1 if lower_is_better(next(iter(self.rows.values()))) else 1

    @property
    def broken(self) -> str:
        """Returns why no metric can be judged (a sample ratio mismatch); empty if the split is sound."""
        return BROKEN if split_is_broken(self.test.notices) else ""

    @property
    def variants(self) -> list[str]:
        """Returns the variants that are linked to a run and have the metric."""
        return [variant for variant in self.runs if variant in self.rows]

    def lift(self, variant: str) -> float | None:
        """Returns the variant's lift, signed so that more is better; 0 for the control, None if it has no
        lift.
        """
        if variant == self.test.control:
            return 0.0
        lift = none_if_nan(self.rows[variant]["lift"])
        return None if lift is None else self.sign * lift

    def interval(self, variant: str) -> DifferenceInterval:
        """Returns the interval of the variant's lift over control, corrected over the goals of the test."""
        return oriented(DifferenceInterval(*judged_by(self.rows[variant])), self.sign)


def sign_of(metric: str) -> int:
    """Returns −1 if less of the offline metric is better, else 1."""
    return -1 if naming.lower_is_better(metric) else 1


def oriented(ends: DifferenceInterval, sign: int) -> DifferenceInterval:
    """Returns the interval so that more is better: negated if ``sign`` is −1."""
    low, high = ends
    return ends if sign > 0 or low is None or high is None else DifferenceInterval(-high, -low)
