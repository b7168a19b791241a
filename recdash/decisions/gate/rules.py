"""The rules of a gate: ``ndcg@10 >= -0.5%`` bounds the change of a metric from the baseline."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

from recdash.domain.arguments import texts_of
from recdash.errors import InputError, Problem, all_or_problems
from recdash.formatting import numbers
from recdash.stats import LEVEL

ONLINE = "online."
"""The prefix of a metric of the A/B test."""
MOST_RULES = 100
LARGEST_LOSS = -1.0
"""The largest loss of a metric that is never below 0, as a share of the baseline's value."""
_SIGN = re.compile(r">=|<=|≥|≤")
_MARGIN = re.compile(r"([-+−]?)\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)")
FORM = "Write METRIC >= MARGIN, such as 'ndcg@10 >= -0.5%', 'rmse <= 1%' or 'online.conversion >= 0'."


@dataclass(frozen=True)
class GateRule:
    """A bound of the change of ``metric`` from the baseline to the candidate: at least or at most
    ``margin``.

    ``margin`` is a share of the baseline's value if ``relative``, else in units of the metric. ``online``:
    the metric is one of the A/B test.
    """

    metric: str
    online: bool
    at_least: bool
    margin: float
    relative: bool

    def __str__(self) -> str:
        return f"{ONLINE if self.online else ''}{self.metric} {self.bound}"

    @property
    def bound(self) -> str:
        """Returns the bound as text, such as ``≥ −0.5 %``."""
        return f"{'≥' if self.at_least else '≤'} {self.margin_text}"

    @property
    def margin_text(self) -> str:
        amount = 100 * self.margin if self.relative else self.margin
        text = f"{amount:+.6g}".replace("-", numbers.MINUS) if amount else "0"
        return f"{text} %" if self.relative else text

    @property
    def allows_no_change(self) -> bool:
        """Returns whether a candidate that equals the baseline keeps to the rule."""
        return self.margin <= 0 if self.at_least else self.margin >= 0


def read_rule(text: str) -> GateRule:
    """Returns the rule that a text such as ``ndcg@10 >= -0.5%`` states. Raises InputError for other texts."""
    sign = _SIGN.search(text)
    name = text[: sign.start()].strip() if sign else ""
    amount = _MARGIN.fullmatch(text[sign.end() :].strip()) if sign else None
    if sign is None or amount is None or not name or "\n" in name:
        raise InputError(Problem("bad-rule", "rule", f"'{text}'", FORM))
    minus, digits, percent = amount.groups()
    margin = float(digits) * (-1 if minus in {"-", numbers.MINUS} else 1)
    margin = margin / 100 if percent else margin
    if not isfinite(margin):
        raise InputError(Problem("bad-rule", "rule", f"the margin of '{name}' is no finite number", FORM))
    online = name.startswith(ONLINE)
    metric = name.removeprefix(ONLINE).strip()
    if not metric:
        raise InputError(Problem("bad-rule", "rule", f"'{text}' names no metric", FORM))
    rule = GateRule(metric, online, sign[0] in {">=", "≥"}, margin + 0.0, bool(percent))
    if rule.relative and rule.at_least and margin <= LARGEST_LOSS:
        fix = "Write a margin above −100 %, or leave the rule out."
        raise InputError(Problem("bad-rule", "rule", f"'{text}' allows every loss", fix))
    return rule


def read_rules(texts: str | Sequence[str]) -> tuple[GateRule, ...]:
    """Returns the rules that one or several texts state. Raises InputError with the problems of all of them,
    without any rule, and for two equal bounds of a metric.
    """
    texts = texts_of("rules", texts, "ndcg@10 >= -0.5%")
    rules = all_or_problems([partial(read_rule, text) for text in texts])
    if not rules:
        raise InputError(Problem("no-rule", "rules", "there is none", f"Add --rule. {FORM}"))
    if len(rules) > MOST_RULES:
        fix = f"Use at most {MOST_RULES}: each of them widens the intervals of all."
        raise InputError(Problem("many-rules", "rules", numbers.counted(len(rules), "rule"), fix))
    sides = [(rule.metric, rule.online, rule.at_least) for rule in rules]
    twice = next((rule for rule, side in zip(rules, sides, strict=True) if sides.count(side) > 1), None)
    if twice is not None:
        finding = f"two rules bound {twice.metric} from the same side"
        raise InputError(Problem("rule-twice", "rules", finding, "Remove one of them."))
    return tuple(rules)


def level_of_each(rules: Sequence[GateRule]) -> float:
    """Returns the level of each rule's interval with which all intervals hold together at 95 % (Bonferroni):
    1 − 5 % / number of rules.

    It holds however the metrics depend on each other. The number is that of the rules, not of those that can
    be judged: it must not depend on the data.
    """
    return 1 - (1 - LEVEL) / max(len(rules), 1)
