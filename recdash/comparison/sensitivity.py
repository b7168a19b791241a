"""What would change the verdict: the same decision at another k, by another metric, for other users."""

from __future__ import annotations

from dataclasses import dataclass

from recdash.comparison.evidence import metrics_beside, weigh
from recdash.comparison.pairs import Comparison, compare
from recdash.comparison.source import Source
from recdash.comparison.verdict import Verdict, decide
from recdash.comparison.wording import rounded, title_of
from recdash.domain.kinds import Users
from recdash.errors import InputError
from recdash.formatting import numbers
from recdash.metrics import define
from recdash.metrics.naming import metric_title

USUAL_K = (5, 10, 20, 50)
STRICTER: dict[str, str] = {
    "ndcg": "ndcg(gain=exp)",
    "precision": "precision(over=list)",
    "recall": "recall(norm=min)",
    "map": "map(norm=min)",
    "mrr": "mrr(sum=all)",
    "f1": "f1(average=means)",
}
"""Of each metric the definition that other tools use most."""
OTHER_USERS: dict[Users, tuple[Users, str]] = {
    "truth": ("both", "Only users with a list"),
    "both": ("truth", "Users without a list count as 0"),
    "judged": ("both", "Only users with a relevant item and a list"),
    "judged_both": ("truth", "Users without a list count as 0, without a relevant item not at all"),
    "run": ("truth", "Users without a list count as 0, without a relevant item not at all"),
}


@dataclass(frozen=True)
class WhatIf:
    """A question, its answer in a few words, and the parameters of the view that show it.

    ``matters``: would the verdict be another?
    """

    question: str
    answer: str
    matters: bool
    params: tuple[tuple[str, str], ...] = ()


def changes(source: Source, verdict: Verdict, depth: int, users: Users) -> list[WhatIf]:
    """The four to five questions that a reader asks first, each answered by deciding anew."""
    asked = verdict.weighed.comparison
    found = [
        _other_cutoffs(source, verdict, depth),
        _other_metric(source, verdict),
        _other_definition(source, verdict),
        _other_users(source, verdict, users),
        _parts(verdict),
    ]
    return [change for change in found if change is not None and asked.pairs]


def brief(verdict: Verdict) -> str:
    """A verdict in a few words: ``ship ALS`` · ``keep Popular`` · ``about 1,900 more users needed``."""
    weighed = verdict.weighed
    if verdict.state == "ship":
        return (
            f"keep {verdict.name}" if verdict.run == weighed.comparison.baseline else f"ship {verdict.name}"
        )
    if verdict.state == "not enough evidence" and weighed.leader is not None:
        more = weighed.leader.judged.more_users
        needs = f": about {numbers.count(rounded(more))} more users needed" if more else ""
        return f"not enough evidence for {verdict.name}{needs}"
    return f"{verdict.state} for {verdict.name}" if verdict.name else verdict.state


def _again(
    source: Source, verdict: Verdict, metric: str, k: int, users: Users | None = None
) -> Verdict | None:
    """The same runs on the same terms, asked otherwise; None where that cannot be had."""
    asked: Comparison = verdict.weighed.comparison
    runs = [*(pair.candidate for pair in asked.against), *asked.apart]
    source = source.under(users) if users else source
    try:
        found = compare(source, runs, asked.baseline, metric, k, asked.terms)
    except InputError:
        return None
    return decide(weigh(source, found, intervals=False)) if found.pairs else None


def _same(one: Verdict, other: Verdict) -> bool:
    return (one.state, one.run) == (other.state, other.run)


def _told(question: str, verdict: Verdict, other: Verdict | None, *params: tuple[str, str]) -> WhatIf | None:
    if other is None:
        return None
    same = _same(verdict, other)
    answer = f"Nothing: {brief(other)}" if same else _capital(brief(other))
    return WhatIf(question, answer, not same, params)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _other_cutoffs(source: Source, verdict: Verdict, depth: int) -> WhatIf | None:
    asked = verdict.weighed.comparison
    if not define(asked.metric).metric.has_cutoff:
        return None
    found = {k: _again(source, verdict, asked.metric, k) for k in USUAL_K if k <= depth and k != asked.k}
    told = {k: other for k, other in found.items() if other is not None}
    if not told:
        return None
    question = "k = " + ", ".join(map(str, told))
    differ = {k: other for k, other in told.items() if not _same(verdict, other)}
    if not differ:
        return WhatIf(question, f"Nothing: {brief(verdict)} at each", matters=False)
    first = next(iter(differ))
    said = "; ".join(f"{brief(other)} at {k}" for k, other in differ.items())
    return WhatIf(question, _capital(said), matters=True, params=(("k", str(first)),))


def _other_metric(source: Source, verdict: Verdict) -> WhatIf | None:
    asked = verdict.weighed.comparison
    for metric in metrics_beside(asked.metric):
        if other := _again(source, verdict, metric, asked.k):
            question = f"{metric_title(metric)} instead of {metric_title(asked.metric)}"
            return _told(question, verdict, other, ("m", metric))
    return None


def _other_definition(source: Source, verdict: Verdict) -> WhatIf | None:
    asked = verdict.weighed.comparison
    plain = define(asked.metric).metric.name
    other = STRICTER.get(plain) if asked.metric == plain else plain
    if other is None:
        return None
    return _told(
        f"Defined as {metric_title(other)}", verdict, _again(source, verdict, other, asked.k), ("m", other)
    )


def _other_users(source: Source, verdict: Verdict, users: Users) -> WhatIf | None:
    rule, question = OTHER_USERS[users]
    asked = verdict.weighed.comparison
    if not define(asked.metric).has_user_values:
        return None  # predicted ratings have rows, and no user without a list
    return _told(question, verdict, _again(source, verdict, asked.metric, asked.k, rule))


def _parts(verdict: Verdict) -> WhatIf | None:
    """The slice in which the leader's finding is most unlike the whole: the opposite, a tie, or not settled.

    Too few users to settle it there would not change the verdict.
    """
    leader = verdict.weighed.leader
    if leader is None:
        return None
    unlike = [part for part in verdict.weighed.parts if part.pair.judged.word != leader.judged.word]
    if not unlike:
        return None
    part = min(unlike, key=lambda one: _MOST_UNLIKE.index(one.pair.judged.word))
    judged, n = part.pair.judged, part.pair.paired.n
    more = judged.more_users
    needs = f": about {numbers.count(rounded(more))} more users needed" if more else ""
    answer = f"{_capital(judged.word)}{needs} (n = {numbers.count(n)})"
    return WhatIf(f"Only {title_of(part)}", answer, judged.word != "not settled", (("by", part.by),))


_MOST_UNLIKE = ("worse", "better", "tie", "not settled")
