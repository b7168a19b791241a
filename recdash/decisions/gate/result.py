"""The result of a gate: of each rule, and of all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite, nan
from typing import Any, Literal

from recdash.decisions.gate.rules import GateRule
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.wording import capital, listed, many

Outcome = Literal["holds", "fails", "inconclusive", "not judged"]
Verdict = Literal["pass", "fail", "inconclusive"]
Inconclusive = Literal["pass", "fail"]
HEAD = ("metric", "baseline", "candidate", "difference", "interval", "margin", "result", "n")
"""The columns of the table of rules."""
INCONCLUSIVE: tuple[Inconclusive, ...] = ("fail", "pass")
EXIT_CODES: Mapping[bool, int] = {True: 0, False: 1}
"""Whether the gate passes → the exit code of ``recdash gate``."""


@dataclass(frozen=True)
class RuleResult:
    """What the data say of one rule.

    ``difference``, ``low`` and ``high`` are the candidate's change from the baseline and the ends of its
    interval: shares of the baseline's value if the rule's margin is relative, else in units of the metric;
    NaN without one. ``n`` is the number of users. ``method`` names the test. ``note`` says why there is no
    interval, or what else decides. ``more_users``: how many more users most likely decide the rule; None if
    unknown.
    """

    rule: GateRule
    title: str
    base_value: float
    value: float
    difference: float = nan
    low: float = nan
    high: float = nan
    n: int = 0
    outcome: Outcome = "inconclusive"
    method: str = ""
    note: str = ""
    more_users: int | None = None

    @property
    def has_interval(self) -> bool:
        return isfinite(self.low) or isfinite(self.high)

    @property
    def texts(self) -> tuple[str, str]:
        """Returns the difference and its interval as texts."""
        scale, unit = (100, " %") if self.rule.relative else (1, "")
        ends = [scale * end for end in (self.low, self.high)]
        places = numbers.places([scale * self.difference, *ends])
        amount = numbers.signed(scale * self.difference, places)
        low, high = (numbers.signed(end, places) for end in ends)
        if not self.has_interval:
            interval = numbers.NONE
        elif not isfinite(self.high):
            interval = f"{low}{unit} or more"
        else:
            interval = f"{low} to {high}{unit}"
        return (amount if amount == numbers.NONE else f"{amount}{unit}"), interval

    @property
    def cells(self) -> list[str]:
        """Returns the texts of the rule's line in the columns ``HEAD``."""
        places = numbers.places([self.base_value, self.value])
        values = [numbers.fixed(value, places) for value in (self.base_value, self.value)]
        n = numbers.count(self.n) if self.n else numbers.NONE
        return [self.title, *values, *self.texts, self.rule.bound, self.outcome, n]

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; a number that is not finite becomes None."""
        rule = self.rule
        ends = {name: _finite(getattr(self, name)) for name in ("difference", "low", "high")}
        return {
            "rule": str(rule),
            "metric": rule.metric,
            "online": rule.online,
            "direction": ">=" if rule.at_least else "<=",
            "margin": rule.margin,
            "relative": rule.relative,
            "baseline": none_if_nan(self.base_value),
            "candidate": none_if_nan(self.value),
            **ends,
            "n": self.n,
            "result": self.outcome,
            "method": self.method,
            "note": self.note,
            "more_users": self.more_users,
        }


def judged(result: RuleResult) -> RuleResult:
    """Returns the result with the outcome that its interval implies: the rule *holds* if the whole interval
    is on the right side of the margin, and *fails* if it is on the other; else it is *inconclusive*.
    """
    if not result.has_interval:
        return result
    rule = result.rule
    above, below = result.low > rule.margin, result.high < rule.margin
    holds, fails = (above, below) if rule.at_least else (below, above)
    return replace(result, outcome="holds" if holds else "fails" if fails else "inconclusive")


@dataclass(frozen=True)
class ExpectedLift:
    """The online lift to expect of an offline difference, from the track record of the metric.

    ``lift``, ``low`` and ``high`` are shares of the baseline's value; the interval is the 95 % prediction
    interval of a new test. ``n_tests`` is the number of A/B tests behind it.
    """

    metric: str
    online_metric: str
    lift: float
    low: float
    high: float
    n_tests: int

    @property
    def sentence(self) -> str:
        lift, interval = numbers.estimate(100 * self.lift, 100 * self.low, 100 * self.high, " %")
        return (
            f"Expected online: {self.online_metric} {lift} (95 % prediction interval {interval}), by how "
            f"{self.metric} predicted {many(self.n_tests, 'A/B test')}."
        )


@dataclass(frozen=True, repr=False)
class GateResult:
    """Whether a candidate keeps to the rules of a gate, with the result of each rule.

    ``level`` is that of each interval: all of them hold together at 95 %. ``inconclusive`` says what an
    undecided rule does to the verdict. ``why_not_expected`` says why there is no ``expected`` lift, if one
    was looked for.
    """

    baseline: str
    candidate: str
    rules: tuple[RuleResult, ...]
    level: float
    inconclusive: Inconclusive = "fail"
    expected: ExpectedLift | None = None
    why_not_expected: str = ""
    notices: tuple[Problem, ...] = ()

    def of(self, outcome: Outcome) -> list[RuleResult]:
        return [rule for rule in self.rules if rule.outcome == outcome]

    @property
    def verdict(self) -> Verdict:
        """Returns *fail* if a rule fails or cannot be judged, else *inconclusive* if one is undecided."""
        if self.of("fails") or self.of("not judged"):
            return "fail"
        return "inconclusive" if self.of("inconclusive") else "pass"

    @property
    def passed(self) -> bool:
        return self.verdict == "pass" or (self.verdict == "inconclusive" and self.inconclusive == "pass")

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.passed]

    @property
    def headline(self) -> str:
        """Returns the verdict as a sentence that names the rules which decide it."""
        n = len(self.rules)
        all_rules = {1: "its rule", 2: "both rules"}.get(n, f"all {n} rules")
        if self.verdict == "pass":
            return f"Pass: {self.candidate} keeps to {all_rules} against {self.baseline}."
        parts = [
            f"{words} {listed([rule.title for rule in rules])}"
            for outcome, words in _WORDS.items()
            if (rules := self.of(outcome))
        ]
        is_excused = self.verdict == "inconclusive" and self.passed
        ending = " Inconclusive rules count as passed." if is_excused else ""
        word = capital(self.verdict)
        return f"{word}: {self.candidate} against {self.baseline} {'; '.join(parts)}.{ending}"

    @property
    def footnote(self) -> str:
        """Returns how the intervals were made, as a sentence."""
        if len(self.rules) == 1:
            return "Interval: 95 %. A rule holds if the whole interval is within its margin."
        each = f"Intervals: {100 * self.level:.4g} % each"
        return (
            f"{each}, so that all hold together at 95 % (Bonferroni). A rule holds if the "
            "whole interval is within its margin."
        )

    @property
    def remarks(self) -> list[str]:
        """Returns sentences: why rules have no result, how many users undecided ones need, how the intervals
        were made, and the online lift to expect.
        """
        lines = [f"{rule.title}: {rule.note}." for rule in self.rules if rule.note]
        needed = [(rule.title, numbers.rounded(rule.more_users)) for rule in self.rules if rule.more_users]
        lines += [f"{title}: about {n:,} more users would most likely decide it." for title, n in needed]
        lines.append(self.footnote)
        if self.expected is not None:
            lines.append(self.expected.sentence)
        elif self.why_not_expected:
            lines.append(f"No expected online lift: {self.why_not_expected}.")
        return lines

    @property
    def warnings(self) -> list[str]:
        """Returns the notices about the data as texts."""
        return [str(notice) for notice in self.notices]

    def __repr__(self) -> str:
        """Returns the verdict, the first rules and remarks as text: see ``Display``."""
        return self._display().text()

    def _repr_html_(self) -> str:
        """Returns the verdict, the rules and the remarks as HTML, for a notebook."""
        return self._display().html()

    def _display(self) -> Display:
        rows = [HEAD, *(rule.cells for rule in self.rules)]
        return Display(self.headline, rows, self.remarks, self.warnings)

    def table(self) -> Any:
        """Returns a data frame with one row per rule and the keys of ``RuleResult.as_dict``."""
        import pandas as pd

        return pd.DataFrame([result.as_dict() for result in self.rules])

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return {
            "verdict": self.verdict,
            "passed": self.passed,
            "headline": self.headline,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "inconclusive": self.inconclusive,
            "level_of_each": self.level,
            "rules": [result.as_dict() for result in self.rules],
            "expected_lift": asdict(self.expected) if self.expected else None,
            "why_no_expected_lift": self.why_not_expected,
            "notices": [{"code": notice.code, "text": str(notice)} for notice in self.notices],
        }


_WORDS: Mapping[Outcome, str] = {
    "fails": "fails",
    "not judged": "cannot be judged by",
    "inconclusive": "is undecided in",
}


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None
