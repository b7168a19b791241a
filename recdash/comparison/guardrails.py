"""Guardrails: limits on what a gain in accuracy may cost in catalogue-level metrics, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Any

from recdash.comparison.pairs import Comparison, Pair
from recdash.comparison.source import Source
from recdash.errors import InputError, RecdashError
from recdash.metrics.naming import less_is_wanted
from recdash.stats.jackknife import LEAST_LISTS, ROUNDED, Pulls, change_interval

BELOW, ABOVE = "below its guardrail", "above its guardrail"
EXCEEDS, MAY_EXCEED = "exceeds its guardrail", "may exceed its guardrail"
WITHIN = "within its guardrail"
FEW_LISTS = f"fewer than {LEAST_LISTS} users have a list"
NOT_ASKED = "it was not requested"
NO_SHARE = "from 0: no share"


@dataclass(frozen=True)
class GuardrailResult:
    """The value of a catalogue-level metric for a candidate (``value``) and for the baseline
    (``base_value``).

    ``guard`` is the largest acceptable loss as a share of the baseline's value. ``low`` and ``high`` are the
    ends of the change's interval over resampled users, as shares too; NaN without an interval, and
    ``why_no_interval`` is then the reason.
    """

    metric: str
    value: float
    base_value: float
    guard: float
    low: float = nan
    high: float = nan
    why_no_interval: str = NOT_ASKED

    @property
    def change(self) -> float:
        """Returns the change as a share of the baseline's value; NaN if that value is 0."""
        base = abs(self.base_value)
        return (self.value - self.base_value) / base if base >= ROUNDED else nan

    @property
    def less_is_better(self) -> bool:
        return less_is_wanted(self.metric)

    @property
    def has_interval(self) -> bool:
        return isfinite(self.low)

    @property
    def loss(self) -> float:
        """Returns the change for the worse as a share of the baseline's value; below 0 for a gain."""
        return self.change if self.less_is_better else -self.change

    @property
    def largest_loss(self) -> float:
        """Returns the end of the interval with the larger loss, as a share; NaN without an interval."""
        return self.high if self.less_is_better else -self.low

    @property
    def smallest_loss(self) -> float:
        return self.low if self.less_is_better else -self.high

    @property
    def is_broken(self) -> bool:
        """Returns whether the measured loss exceeds the guardrail."""
        return self.loss > self.guard

    @property
    def is_surely_broken(self) -> bool:
        """Returns whether every loss in the interval exceeds the guardrail."""
        return self.is_broken and self.smallest_loss > self.guard

    @property
    def may_be_broken(self) -> bool:
        """Returns whether the measured loss is within the guardrail, but the interval includes losses beyond
        it.
        """
        return not self.is_broken and self.largest_loss > self.guard

    @property
    def former_word(self) -> str:
        """Returns the result in the words of reports of wording 10 and older: ``within its guardrail``, ``may
        be below its guardrail``, ``below its guardrail``, or the same with *above*.
        """
        if not isfinite(self.change):
            return NO_SHARE
        where = ABOVE if self.less_is_better else BELOW
        if self.is_broken:
            return where
        return f"may be {where}" if self.may_be_broken else WITHIN

    @property
    def shown(self) -> str:
        """Returns the result in words: what is lost, whichever direction is wanted. ``from 0: no share`` if
        the baseline's value is 0.
        """
        if not isfinite(self.change):
            return NO_SHARE
        if self.is_broken:
            return EXCEEDS
        return MAY_EXCEED if self.may_be_broken else WITHIN

    @property
    def sign(self) -> str:
        """Returns ▲ for a gain, ▼ for a loss, = for neither."""
        return "▼" if self.loss > 0 else "▲" if self.loss < 0 else "="

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; NaN becomes None."""
        shares = {"change": self.change, "ci_low": self.low, "ci_high": self.high}
        return {
            "metric": self.metric,
            "value": self.value,
            "base_value": self.base_value,
            **{name: share if isfinite(share) else None for name, share in shares.items()},
            "guard": self.guard,
            "finding": self.shown,
            "why_no_interval": self.why_no_interval,
        }


def check_guardrails(
    source: Source, comparison: Comparison, leader: Pair, *, intervals: bool = True
) -> list[GuardrailResult]:
    """Returns the result of each guardrail for the leader against the baseline. Metrics that one of the two
    lacks are left out.

    ``intervals=False`` leaves the intervals out, for which the lists of both runs would be read again.
    """
    runs, k = (leader.candidate, leader.baseline), comparison.query.k
    rails = []
    for metric, guard in comparison.query.terms.guards.items():
        value, base = (source.value(run, metric, k) for run in runs)
        if value is not None and base is not None and isfinite(value) and isfinite(base):
            rails.append(GuardrailResult(metric, value, base, guard))
    if not intervals or not rails:
        return rails
    try:
        pulls = source.list_pulls(runs, [rail.metric for rail in rails], k)
    except InputError as error:  # without the file there is no interval, but still a verdict
        why = "; ".join(problem.found for problem in error.problems)
        return [replace(rail, why_no_interval=why) for rail in rails]
    except RecdashError as error:
        return [replace(rail, why_no_interval=str(error).rstrip(".")) for rail in rails]
    return [_with_interval(rail, pulls, comparison.query.terms.level) for rail in rails]


def _with_interval(
    rail: GuardrailResult, pulls: Sequence[Mapping[str, Pulls]], level: float
) -> GuardrailResult:
    """Returns the guardrail with the interval of its change, or with the reason why there is none.

    ``pulls`` are {metric: how the users of a run pull its value}, of the leader and of the baseline.
    """
    of_leader, of_baseline = (of_run.get(rail.metric) for of_run in pulls)
    if of_leader is None or of_baseline is None:
        return replace(rail, why_no_interval="lists do not add up to this metric")
    low, high = change_interval(rail.value, rail.base_value, of_leader, of_baseline, level)
    if isfinite(low):
        return replace(rail, low=low, high=high, why_no_interval="")
    few = min(of_leader.n_lists, of_baseline.n_lists) < LEAST_LISTS
    near_zero = f"{rail.metric} is too close to 0 for an interval"
    return replace(rail, why_no_interval=FEW_LISTS if few else near_zero)
