"""Judges the offline rules of a gate, on runs from files or from the store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, nextafter

from recdash.comparison.pairs import UnjudgedPair, pair_of
from recdash.comparison.replicates import replicate_difference_from
from recdash.comparison.source import Source
from recdash.decisions.gate.result import Outcome, RuleResult, judged
from recdash.decisions.gate.rules import GateRule
from recdash.errors import InputError, Problem, RecdashError
from recdash.metrics import define
from recdash.metrics.naming import metric_at, metric_title
from recdash.stats import Paired, required_users
from recdash.stats.jackknife import LEAST_LISTS, ROUNDED, change_interval, difference_interval
from recdash.stats.relative_difference import difference_from_share, relative_interval
from recdash.stats.replicates import ReplicateDifference
from recdash.stats.sparse import Unknown

SAME_LISTS = "both have the same lists"
JACKKNIFE = "jackknife over users"
ABSOLUTE = "Write a margin without %, such as >= -0.002."


@dataclass(frozen=True)
class OfflineRule:
    """A rule with its metric as it is computed, and the cutoff."""

    rule: GateRule
    metric: str
    k: int

    @property
    def title(self) -> str:
        return metric_at(self.metric, self.k)


@dataclass(frozen=True)
class GatePair:
    """A baseline and a candidate, by run id, of one source of runs. ``same_lists``: their lists are the same,
    so that every metric of them is.
    """

    source: Source
    baseline: str
    candidate: str
    same_lists: bool = False

    def judge(self, rule: OfflineRule, level: float) -> RuleResult:
        """Returns the result of a rule, by an interval at ``level``.

        Raises InputError if one of the runs lacks the metric, and for a relative margin if the baseline's
        value is not above 0.
        """
        check_direction(rule)
        if define(rule.metric).is_paired:
            result = self._of_users(rule, level)
        else:
            result = self._of_catalogue(rule, level)
        if self.same_lists and not result.has_interval:
            outcome: Outcome = "holds" if rule.rule.allows_no_change else "inconclusive"
            return replace(result, difference=0.0, outcome=outcome, note=SAME_LISTS, more_users=None)
        return result

    def _of_users(self, rule: OfflineRule, level: float) -> RuleResult:
        """Returns the result for a metric with a value per user, over the users that both runs have."""
        values = [self.source.values(run, rule.metric, rule.k) for run in (self.baseline, self.candidate)]
        if values[0] is None or values[1] is None:
            raise self._lacks(rule, self.baseline if values[0] is None else self.candidate)
        pair = pair_of(self.baseline, self.candidate, *values, level=level)
        if pair is None:
            raise InputError(Problem("no-shared-user", rule.title, "the runs share no user", ""))
        result = RuleResult(rule.rule, rule.title, pair.base_value, pair.value, n=pair.paired.n)
        if self.same_lists and not pair.paired.wins and not pair.paired.losses:
            return result
        result = _relative(result, pair, level) if rule.rule.relative else _absolute(result, pair, level)
        return self._over_replicates(result, rule, level)

    def _over_replicates(self, result: RuleResult, rule: OfflineRule, level: float) -> RuleResult:
        """Returns the result; undecided if it does not hold over folds or seeds, of those that have some."""
        share = 1 + rule.rule.margin if rule.rule.relative else 1.0
        runs = (self.baseline, self.candidate)
        over = replicate_difference_from(self.source, rule.metric, rule.k, runs, share=share, level=level)
        if over is None or over.significant is None or result.outcome not in {"holds", "fails"}:
            return result
        if _side(over, 0.0 if rule.rule.relative else rule.rule.margin) == (
            (result.outcome == "holds") == rule.rule.at_least
        ):
            return replace(result, method=f"{result.method}; {over.method}")
        note = f"decided over users, but not by the {over.method}"
        return replace(result, outcome="inconclusive", note=note)

    def _of_catalogue(self, rule: OfflineRule, level: float) -> RuleResult:
        """Returns the result for a metric with one value for all lists."""
        values = [self.source.value(run, rule.metric, rule.k) for run in (self.baseline, self.candidate)]
        base, own = values
        if base is None or own is None or not isfinite(base) or not isfinite(own):
            raise self._lacks(rule, self.baseline if base is None or not isfinite(base) else self.candidate)
        result = RuleResult(rule.rule, rule.title, base, own, method=JACKKNIFE)
        difference = own - base
        if rule.rule.relative:
            _check_share(result)
            difference /= base
        result = replace(result, difference=difference)
        try:
            pulls = self.source.list_pulls((self.baseline, self.candidate), [rule.metric], rule.k)
        except InputError as error:
            return replace(result, note="; ".join(problem.found for problem in error.problems))
        except RecdashError as error:
            return replace(result, note=str(error).rstrip("."))
        of_base, of_own = (of_run.get(rule.metric) for of_run in pulls)
        if of_base is None or of_own is None:
            note = "no interval: lists do not add up to this metric"
            return replace(result, outcome="not judged", note=note)
        interval = change_interval if rule.rule.relative else difference_interval
        low, high = interval(own, base, of_own, of_base, level)
        n = min(of_base.n_lists, of_own.n_lists)
        few = f"fewer than {LEAST_LISTS} users have a list"
        note = "" if isfinite(low) else few if n < LEAST_LISTS else "no interval: the lists do not vary"
        return judged(replace(result, low=low, high=high, n=n, note=note))

    def _lacks(self, rule: OfflineRule, run: str) -> InputError:
        name = self.source.names[run]
        reason = self.source.why_absent(run, rule.metric) or "it was not scored"
        fix = "Add the input it needs, or remove the rule."
        return InputError(Problem("metric-absent", f"rule '{rule.rule}'", f"'{name}': {reason}", fix))


def check_direction(rule: OfflineRule) -> None:
    """Raises InputError for a rule that bounds a gain: ≤ where more is better, ≥ where less is.

    Catalogue-level metrics may be bounded on either side: what is wanted of them depends on the service.
    """
    definition = define(rule.metric)
    if definition.is_paired and definition.lower_is_better == rule.rule.at_least:
        better, sign = ("less", "<=") if definition.lower_is_better else ("more", ">=")
        finding = f"it limits a gain: {better} of {metric_title(rule.metric)} is better"
        raise InputError(Problem("bad-direction", f"rule '{rule.rule}'", finding, f"Write {sign}."))


def _check_share(result: RuleResult) -> None:
    """Raises InputError if the baseline's value is not above 0, so that it has no share."""
    if result.base_value < ROUNDED:
        finding = f"the baseline's {result.title} is {result.base_value:.3g}, of which a share says nothing"
        raise InputError(Problem("no-share", f"rule '{result.rule}'", finding, ABSOLUTE))


def _absolute(result: RuleResult, pair: UnjudgedPair, level: float) -> RuleResult:
    """Returns the result by the paired difference, in units of the metric."""
    paired = pair.paired.at(level)
    result = replace(
        result, difference=paired.mean, low=paired.low, high=paired.high, method=paired.method.name
    )
    if isinstance(paired.method, Unknown):
        return replace(result, note=paired.method.reason)
    shifted = replace(paired, mean=paired.mean - result.rule.margin)
    return _with_more_users(judged(result), shifted, level)


def _relative(result: RuleResult, pair: UnjudgedPair, level: float) -> RuleResult:
    """Returns the result by the difference from 1 + margin times the baseline's values, and the interval of
    the difference as a share of the baseline's value.
    """
    rule, base = result.rule, pair.base_value
    _check_share(result)
    own, of_base = pair.values.values, pair.base_values.values
    bound = pair.bound if isfinite(pair.bound) else None
    from_margin = difference_from_share(own, of_base, 1 + rule.margin, level, bound)
    method = from_margin.method
    result = replace(result, difference=pair.value / base - 1, method=method.name)
    if isinstance(method, Unknown):
        return replace(result, note=method.reason)
    low, high = relative_interval(own, of_base, level, bound)
    # The test at the margin decides; the ends, which are finding by a search, must not say otherwise.
    if from_margin.low > 0:
        low = max(low, nextafter(rule.margin, inf))
    elif from_margin.high < 0:
        high = min(high, nextafter(rule.margin, -inf))
    else:
        low, high = min(low, rule.margin), max(high, rule.margin)
    return _with_more_users(judged(replace(result, low=low, high=high)), from_margin, level)


def _with_more_users(result: RuleResult, from_margin: Paired, level: float) -> RuleResult:
    """Returns the result; an inconclusive one with the number of users that it most likely needs further."""
    if result.outcome != "inconclusive":
        return result
    needed = required_users(from_margin, level=level)
    return replace(result, more_users=needed - result.n if needed and needed > result.n else None)


def _side(over: ReplicateDifference, margin: float) -> bool | None:
    """Returns True if the interval is above the margin, False if it is below, None if it contains it."""
    return True if over.low > margin else False if over.high < margin else None
