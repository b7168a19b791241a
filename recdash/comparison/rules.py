"""The decision rules of an experiment: the default metric and k of its comparisons, the margin and the
guardrails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from recdash.comparison.query import GUARD, Terms, read_margin
from recdash.errors import InputError, Problem, UnknownName, all_or_problems
from recdash.formatting.sanitize import check_name
from recdash.formatting.wording import listed
from recdash.metrics import check_k, define
from recdash.metrics.naming import GUARDRAILS, metric_row

USUAL_MARGIN, STRICT_GUARD, CUSTOM = "1%", 0.1, "custom"
PRESETS: Mapping[str, Mapping[str, float]] = {
    "strict": dict.fromkeys(GUARDRAILS, STRICT_GUARD),
    "usual": dict.fromkeys(GUARDRAILS, GUARD),
    "none": {},
}
"""Presets of guardrails: {preset: {metric: share of the baseline's value that it may lose}}."""
LONGEST_OWNER = 100


@dataclass(frozen=True)
class DecisionRules:
    """The rules by which an experiment is judged.

    ``margin``: ``1%`` of the baseline's value or ``0.002`` in units of the metric; smaller differences do not
    matter. ``guardrails``: {metric: share of the baseline's value that it may lose}; other metrics are no
    guardrails. ``metric`` and ``k``: the first choice of comparisons; None for the usual one. ``owner``: who
    is responsible for the decision. ``two_people``: who proposed a candidate does not decide its review, and
    *ship* needs a review.
    """

    margin: str = USUAL_MARGIN
    guardrails: Mapping[str, float] = field(default_factory=lambda: PRESETS["usual"])
    metric: str | None = None
    k: int | None = None
    owner: str = ""
    two_people: bool = False

    @property
    def preset(self) -> str:
        """Returns the name of the preset with these guardrails; *custom* if there is none."""
        return next((name for name, known in PRESETS.items() if known == self.guardrails), CUSTOM)

    @property
    def terms(self) -> Terms:
        """Returns the terms by which differences are judged. Raises InputError for an unreadable margin."""
        return Terms(margin=read_margin(self.margin), guard=tuple(self.guardrails.items()))

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; guardrails that match a preset are given by its name."""
        guardrails = self.preset if self.preset != CUSTOM else dict(self.guardrails)
        return {
            "margin": self.margin,
            "guardrails": guardrails,
            "metric": self.metric,
            "k": self.k,
            "owner": self.owner,
            **({"two_people": True} if self.two_people else {}),
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> DecisionRules:
        """Returns the rules from the values that ``as_dict`` wrote. Fields that it does not know are
        ignored.
        """
        stored = facts["guardrails"]
        guardrails = PRESETS[stored] if isinstance(stored, str) else dict(stored)
        return cls(
            facts["margin"],
            guardrails,
            facts["metric"],
            facts["k"],
            facts["owner"],
            facts.get("two_people", False),
        )


USUAL = DecisionRules()
"""The rules of an experiment for which none were set."""


def checked(rules: DecisionRules, depth: int) -> DecisionRules:
    """Returns the rules in canonical spelling. Raises InputError with all that is wrong with them.

    ``depth`` is the length of the experiment's recommendation lists, the largest possible k.
    """
    margin, owner = rules.margin.strip(), rules.owner.strip()
    checks: list[Callable[[], object]] = [
        lambda: read_margin(margin),
        *(partial(_check_guardrail, *guardrail) for guardrail in rules.guardrails.items()),
        lambda: _check_metric(rules.metric) if rules.metric else None,
        lambda: check_k(rules.k, depth) if rules.k is not None else None,
        lambda: _check_owner(owner),
    ]
    all_or_problems(checks)
    guardrails = {name: float(rules.guardrails[name]) for name in GUARDRAILS if name in rules.guardrails}
    metric = str(define(rules.metric)) if rules.metric else None
    return DecisionRules(margin, guardrails, metric, rules.k, owner, rules.two_people)


def _check_metric(metric: str) -> None:
    if not define(metric).is_paired:
        fix = f"Name an accuracy metric, such as ndcg. Guardrails limit {listed(list(GUARDRAILS))}."
        why = "it is a catalogue-level metric and cannot decide: differences in it are not tested"
        raise InputError(Problem("undecided-metric", f"primary metric '{metric}'", why, fix))


def _check_guardrail(metric: str, share: float) -> None:
    if metric not in GUARDRAILS:
        raise UnknownName("guardrail", metric, list(GUARDRAILS))
    if not 0 <= share <= 1:
        fix = "Write the share that may be lost, from 0% to 100%."
        raise InputError(Problem("bad-guardrail", f"guardrail '{metric}'", f"{100 * share:.3g} %", fix))


def _check_owner(owner: str) -> None:
    if owner:
        check_name("owner", owner)
    if len(owner) > LONGEST_OWNER:
        fix = f"Use at most {LONGEST_OWNER} characters."
        raise InputError(Problem("text-too-long", "owner", f"{len(owner):,} characters", fix))


def guardrail_title(metric: str) -> str:
    """Returns the name of a guardrail metric for use in a sentence, such as ``catalogue coverage``."""
    return metric_row(metric).usage.guardrail


def read_share(text: str) -> float:
    """Returns the share that a text describes: 0.2 for ``20%`` and for ``0.2``. Raises InputError for other
    texts, and for more than 100 %.
    """
    number, percent = text.strip().removesuffix("%").strip(), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        fix = "Write the share that may be lost, from 0% to 100%: 20% or 0.2."
        raise InputError(Problem("bad-guardrail", "guardrail", f"'{text}'", fix))
    return share
