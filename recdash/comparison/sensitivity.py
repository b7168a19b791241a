"""Sensitivity of the verdict: the same decision at another k, by another metric, for other users."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recdash.comparison.evidence import gather_evidence, metrics_beside
from recdash.comparison.pairs import Pair, compare
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.source import Source
from recdash.comparison.verdict import Verdict, decide
from recdash.comparison.wording import rounded, slice_title
from recdash.domain.defaults import USUAL_K
from recdash.domain.kinds import Users
from recdash.errors import InputError
from recdash.formatting import numbers
from recdash.metrics import define
from recdash.metrics.naming import metric_title, row_of

OTHER_USERS: dict[Users, tuple[Users, str]] = {
    "truth": ("both", "Only users with a list"),
    "both": ("truth", "Users without a list count as 0"),
    "judged": ("both", "Only users with a relevant item and a list"),
    "judged_both": ("truth", "Users without a list count as 0, users without a relevant item are excluded"),
    "run": ("truth", "Users without a list count as 0, users without a relevant item are excluded"),
}


@dataclass(frozen=True)
class WhatIf:
    """A question, its answer in a few words, and the parameters of the view that show it.

    ``matters``: whether the verdict would change.
    """

    question: str
    answer: str
    matters: bool
    params: tuple[tuple[str, str], ...] = ()


def changes(source: Source, verdict: Verdict, depth: int, users: Users) -> list[WhatIf]:
    """Returns four to five alternative queries, each with its own verdict."""
    if not verdict.evidence.comparison.pairs:
        return []
    what_ifs = [
        _other_cutoffs(source, verdict, depth),
        _other_metric(source, verdict),
        _other_definition(source, verdict),
        _other_users(source, verdict, users),
        _most_unlike_slice(verdict),
    ]
    return [what_if for what_if in what_ifs if what_if is not None]


def brief(verdict: Verdict) -> str:
    """Returns a verdict in a few words: ``ship ALS`` · ``keep Popular`` · ``about 1,900 more users
    needed``.
    """
    evidence = verdict.evidence
    if verdict.state == "ship":
        verb = "keep" if verdict.run == evidence.comparison.query.baseline else "ship"
        return f"{verb} {verdict.name}"
    if verdict.state == "not enough evidence" and evidence.leader is not None:
        return f"not enough evidence for {verdict.name}{_users_needed(evidence.leader)}"
    return f"{verdict.state} for {verdict.name}" if verdict.name else verdict.state


def _users_needed(pair: Pair) -> str:
    more = pair.judged.more_users
    return f": about {numbers.count(rounded(more))} more users needed" if more else ""


def _decide_again(source: Source, query: ComparisonQuery, users: Users | None = None) -> Verdict | None:
    """Returns the verdict on another query or population; None if there is none."""
    source = source.under(users) if users else source
    try:
        comparison = compare(source, query)
    except InputError:
        return None
    return decide(gather_evidence(source, comparison, intervals=False)) if comparison.pairs else None


def _is_same(verdict: Verdict, other: Verdict) -> bool:
    return (verdict.state, verdict.run) == (other.state, other.run)


def _what_if(question: str, verdict: Verdict, other: Verdict, *params: tuple[str, str]) -> WhatIf:
    is_same = _is_same(verdict, other)
    answer = f"Nothing: {brief(other)}" if is_same else _capital(brief(other))
    return WhatIf(question, answer, not is_same, params)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _other_cutoffs(source: Source, verdict: Verdict, depth: int) -> WhatIf | None:
    query = verdict.evidence.comparison.query
    if not define(query.metric).metric.has_cutoff:
        return None
    cutoffs = [k for k in USUAL_K if k <= depth and k != query.k]
    others = {k: other for k in cutoffs if (other := _decide_again(source, replace(query, k=k)))}
    if not others:
        return None
    question = "k = " + ", ".join(map(str, others))
    differ = {k: other for k, other in others.items() if not _is_same(verdict, other)}
    if not differ:
        return WhatIf(question, f"Nothing: {brief(verdict)} at each", matters=False)
    answer = _capital("; ".join(f"{brief(other)} at {k}" for k, other in differ.items()))
    return WhatIf(question, answer, matters=True, params=(("k", str(min(differ))),))


def _other_metric(source: Source, verdict: Verdict) -> WhatIf | None:
    query = verdict.evidence.comparison.query
    for metric in metrics_beside(query.metric):
        if other := _decide_again(source, replace(query, metric=metric)):
            question = f"{metric_title(metric)} instead of {metric_title(query.metric)}"
            return _what_if(question, verdict, other, ("m", metric))
    return None


def _other_definition(source: Source, verdict: Verdict) -> WhatIf | None:
    query = verdict.evidence.comparison.query
    row = row_of(query.metric)
    metric = row.name
    if query.metric == row.name:
        if not row.usage.other_definition:
            return None
        metric = f"{row.name}({row.usage.other_definition})"
    other = _decide_again(source, replace(query, metric=metric))
    if other is None:
        return None
    return _what_if(f"With {metric_title(metric)}", verdict, other, ("m", metric))


def _other_users(source: Source, verdict: Verdict, users: Users) -> WhatIf | None:
    rule, question = OTHER_USERS[users]
    query = verdict.evidence.comparison.query
    if not define(query.metric).has_user_values:
        return None  # predicted ratings have rows, and no user without a list
    other = _decide_again(source, query, rule)
    return _what_if(question, verdict, other) if other else None


_MOST_UNLIKE = ("worse", "better", "tie", "not settled")


def _most_unlike_slice(verdict: Verdict) -> WhatIf | None:
    """Returns the slice whose finding differs most from the leader's: the opposite, a tie, or inconclusive.

    A slice with too few users would not change the verdict.
    """
    leader = verdict.evidence.leader
    if leader is None:
        return None
    unlike = [part for part in verdict.evidence.slices if part.pair.judged.word != leader.judged.word]
    if not unlike:
        return None
    part = min(unlike, key=lambda part: _MOST_UNLIKE.index(part.pair.judged.word))
    word, n_users = part.pair.judged.word, numbers.count(part.pair.paired.n)
    answer = f"{_capital(word)}{_users_needed(part.pair)} (n = {n_users})"
    return WhatIf(f"Only {slice_title(part)}", answer, word != "not settled", (("by", part.by),))
