"""Judges the online rules of a gate, on the results of an A/B test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan

from recdash.decisions.gate.result import RuleResult, judged
from recdash.decisions.gate.rules import ONLINE, GateRule
from recdash.errors import InputError, Problem, UnknownName
from recdash.online.analysis.analysed_test import AnalysedTest

MISMATCH = "sample ratio mismatch: the test is not valid"


def variant_of(results: AnalysedTest, candidate: str, variant: str | None = None) -> str:
    """Returns the variant that served the candidate: the one that is named, else the only one beside the
    control, else the one with the candidate's name.

    Raises InputError if none of these is known.
    """
    others = [name for name in results.variants if name != results.control]
    if variant is not None:
        if variant not in others:
            raise UnknownName("variant", variant, others)
        return variant
    if len(others) == 1:
        return others[0]
    if candidate in others:
        return candidate
    finding = (
        f"the A/B test has the variants {', '.join(others)}" if others else "the A/B test has no variant"
    )
    fix = "Name the one that served the candidate by --variant."
    raise InputError(Problem("no-variant", "A/B test", finding, fix))


def judge_online(results: AnalysedTest, variant: str, rule: GateRule, level: float) -> RuleResult:
    """Returns the result of a rule for a variant against the control, by an interval at ``level``.

    A relative margin is that of the lift, an absolute one that of the difference. A test with a sample ratio
    mismatch is not judged. Raises UnknownName for an unknown metric.
    """
    comparison = results.compared(rule.metric, variant)
    rows = {row.variant: row for row in results.rows if row.metric == rule.metric}
    control, own = rows[results.control], rows[variant]
    _check_direction(rule, own.direction)
    shown = comparison.shown
    estimate = shown.lift(level) if rule.relative else shown.difference(level)
    result = RuleResult(
        rule,
        f"{ONLINE}{rule.metric}",
        _number(control.value),
        _number(own.value),
        difference=_number(estimate.value),
        n=control.n_users + own.n_users,
        method=shown.method,
    )
    if results.health.blocked:
        return replace(result, outcome="not judged", note=MISMATCH)
    if estimate.low is None or estimate.high is None:
        return replace(result, note=estimate.note or comparison.note or "no interval")
    return judged(replace(result, low=estimate.low, high=estimate.high))


def unfinished(results: AnalysedTest, variant: str, users: int | None = None) -> Sequence[Problem]:
    """Returns a notice if control and variant have fewer users than planned: under continuous monitoring a
    candidate passes more often than the intervals say. ``users`` are those of the planned primary metric, by
    default of the first goal.
    """
    planned, exposed = results.source.rules.planned_users, users or results.users_of_pair(variant)
    if planned is None or not exposed or exposed >= planned:
        return ()
    reached = f"{exposed:,} of {planned:,} planned users, control and variant together"
    finding = f"{reached}; the intervals are valid for one look at the end"
    return (Problem("unfinished-test", "A/B test", finding, "Judge it when it is complete."),)


def _check_direction(rule: GateRule, direction: str) -> None:
    if direction == "down" and rule.at_least:
        finding = f"it limits a gain: less of {rule.metric} is better"
        raise InputError(Problem("bad-direction", f"rule '{rule}'", finding, "Write <=."))


def _number(value: float | None) -> float:
    return nan if value is None else float(value)
