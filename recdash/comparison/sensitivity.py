"""The sensitivity of the recommendation: whether it changes with another k, another metric or other users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from recdash.comparison.candidate_case import CASES
from recdash.comparison.cells import metric_values
from recdash.comparison.evidence import metrics_beside
from recdash.comparison.pairs import Pair, compare
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.source import Source
from recdash.comparison.wording import MANY, slice_words
from recdash.domain.defaults import USUAL_K
from recdash.domain.kinds import Users
from recdash.errors import InputError
from recdash.formatting import numbers
from recdash.formatting.wording import capital, listed, many, shown, small
from recdash.metrics import define
from recdash.metrics.naming import metric_row, metric_title
from recdash.metrics.populations import POPULATION
from recdash.stats.sparse import TIE

OTHER_USERS: dict[Users, tuple[Users, str]] = {
    "truth": ("both", "Only users with a list"),
    "both": ("truth", "Users without a list count as 0"),
    "judged": ("both", "Only users with a relevant item and a list"),
    "judged_both": ("truth", "Users without a list count as 0, users without a relevant item are excluded"),
    "run": ("truth", "Users without a list count as 0, users without a relevant item are excluded"),
}


DEFINITIONS: dict[str, str] = {
    "gain=exp": "With exponential gain",
    "over=list": "Divided by the length of the list",
    "norm=min": "Divided by min(k, relevant items)",
    "average=means": "From mean precision and mean recall",
    "sum=all": "Counting every hit",
}
"""Alternative definitions of metrics with which the recommendation is tried, and their names in words."""


Kind = Literal["cutoff", "metric", "definition", "users", "relevance", "guardrails", "segment", "completion"]


@dataclass(frozen=True)
class WhatIf:
    """A question about another query, its answer in a few words, and URL parameters of the view that shows
    it.

    ``kind`` is what the other query changes. ``matters``: whether the recommendation would change.
    ``is_open``: there is too little data to know. ``needs_data``: the other recommendation is to collect more
    data.
    """

    kind: Kind
    question: str
    answer: str
    matters: bool
    params: tuple[tuple[str, str], ...] = ()
    is_open: bool = False
    needs_data: bool = False


TITLE = "What would change it"
CHANGES = "Changes: "


def summary_of(what_ifs: Sequence[WhatIf]) -> str:
    """Returns how many of the questions would change the recommendation and how many leave it open, such as
    ``1 of 7 other questions would change the recommendation; 2 leave it open``.
    """
    changing = sum(what_if.matters for what_if in what_ifs)
    unknown = sum(what_if.is_open for what_if in what_ifs)
    text = f"{changing or 'None'} of {many(len(what_ifs), 'other question')} would change the recommendation"
    return f"{text}; {unknown} {'leaves' if unknown == 1 else 'leave'} it open" if unknown else text


def former_summary(what_ifs: Sequence[WhatIf]) -> str:
    """Returns the summary in reports of wording 9 and older."""
    if changing := sum(what_if.matters for what_if in what_ifs):
        return f"{changing} of {len(what_ifs)} other questions would change the recommendation"
    is_known = " is known to" if any(what_if.is_open for what_if in what_ifs) else " would"
    return f"Nothing here{is_known} change the recommendation"


Recommend = Callable[[ComparisonQuery], Recommendation]
"""Returns the recommendation for a query. Raises InputError if its runs cannot be compared."""


def changes(
    source: Source,
    today: Recommendation,
    depth: int,
    users: Users,
    *,
    recommendation: Recommend | None = None,
    same_users: bool = True,
    thresholds: Mapping[str, float] | None = None,
    former: bool = False,
    named: bool = True,
    opened: bool = True,
    by_rule: bool = True,
) -> list[WhatIf]:
    """Returns up to seven alternative queries, each with what it would change, those that change it first,
    then those that leave it open; empty without a pair. ``today`` is the current recommendation, ``depth``
    the largest k, ``thresholds`` {question: another relevance threshold to try}.

    ``recommendation`` returns that for another query of the source's users, by default computed anew. One
    that remembers its answers halves the time: each usual k asks for all the others. ``same_users=False``
    gives the answers of older reports: see ``recommend``. So does ``former``: a slice whose users all score
    as with the baseline would not change the recommendation, *Same result* with another threshold does not
    say whose gain is gone there, and a segment may have the same users as the answer on other users.
    ``named=False`` keeps the questions in one order, and does not name to what a slice changes the
    recommendation, as in reports of wording 9 and older. ``opened=False`` writes neither *Open* nor that
    guardrails are *offline* ones, calls each other case with other users open, and does not use A/B tests
    against another run than the baseline, as in reports of wording 10 and older. ``by_rule=False`` calls an
    answer open where a candidate is inconclusive, as in those of wording 11 and older, rather than where the
    rules recommend to collect more data.
    """
    if today.evidence.comparison.is_empty:
        return []
    again = recommendation or partial(_recommend, source, same_users=same_users, tells_control=opened)
    other_users = _under_other_rule(source, today, users, opened=opened) if same_users else None
    same = [] if former or other_users is None else [other_users.pair]
    what_ifs = [
        _other_cutoffs(again, today, depth),
        _other_metric(again, today),
        _other_definition(again, today),
        _other_users(today, other_users, former=former, opened=opened, by_rule=by_rule)
        if same_users
        else _other_rule(source, today, users),
        *(_other_relevance(again, today, *other, former=former) for other in (thresholds or {}).items()),
        _no_guardrails(again, today, opened=opened),
        _most_unlike_slice(
            today,
            [pair for pair in same if pair],
            former=former,
            named=named,
            opened=opened,
            by_rule=by_rule,
        ),
    ]
    known = [what_if for what_if in what_ifs if what_if is not None]
    if by_rule:
        known = list(map(_open_to_more_data, known))
    return in_order(known) if named else known


def _open_to_more_data(what_if: WhatIf) -> WhatIf:
    """Returns the answer as an open one if the recommendation would change to collecting more data."""
    if not (what_if.matters and what_if.needs_data):
        return what_if
    answer = f"Open: {what_if.answer.removeprefix(CHANGES)}"
    return replace(what_if, answer=answer, matters=False, is_open=True)


def in_order(what_ifs: Sequence[WhatIf]) -> list[WhatIf]:
    """Returns the questions that would change the recommendation first, then those that leave it open."""
    return sorted(what_ifs, key=lambda what_if: (not what_if.matters, not what_if.is_open))


def brief(recommendation: Recommendation) -> str:
    """Returns the headline in lower case for use in a sentence: ``ship ALS`` · ``not enough data: about 1,900
    more users``.
    """
    return small(recommendation.headline)


def _users_needed(pair: Pair, *, former: bool) -> str:
    """Returns how many more users would decide a difference; empty if that is unknown or too many to tell
    anybody what to do.
    """
    more = None if pair.is_identical else pair.judged.more_users
    if more and more > MANY * pair.paired.n and not former:
        return ""
    return f": about {numbers.count(numbers.rounded(more))} more users needed" if more else ""


def _recommend(
    source: Source, query: ComparisonQuery, *, same_users: bool = True, tells_control: bool = True
) -> Recommendation:
    comparison = compare(source, query)
    return recommend(source, comparison, intervals=False, same_users=same_users, tells_control=tells_control)


def _if_any(recommendation: Recommend, query: ComparisonQuery) -> Recommendation | None:
    """Returns the recommendation for another query; None if its runs cannot be compared."""
    try:
        other = recommendation(query)
    except InputError:
        return None
    return None if other.evidence.comparison.is_empty else other


def is_same_answer(today: Recommendation, other: Recommendation) -> bool:
    """Returns whether both recommend the same action for the same run. If both ask for more data, the run may
    differ.
    """
    same_run = today.run == other.run or today.action == "collect data"
    return today.action == other.action and same_run


def _what_if(
    kind: Kind, question: str, today: Recommendation, other: Recommendation, *params: tuple[str, str]
) -> WhatIf:
    is_same = is_same_answer(today, other)
    answer = "Same result" if is_same else f"{CHANGES}{brief(other)}"
    return WhatIf(kind, question, answer, not is_same, params, needs_data=_needs_data(other))


def _needs_data(other: Recommendation) -> bool:
    return other.action == "collect data"


def _other_cutoffs(again: Recommend, today: Recommendation, depth: int) -> WhatIf | None:
    query = today.evidence.comparison.query
    if not define(query.metric).metric.has_cutoff:
        return None
    cutoffs = [k for k in USUAL_K if k <= depth and k != query.k]
    others = {k: other for k in cutoffs if (other := _if_any(again, replace(query, k=k)))}
    if not others:
        return None
    question = f"Other k than {query.k}"
    differ = {k: other for k, other in others.items() if not is_same_answer(today, other)}
    if not differ:
        return WhatIf("cutoff", question, f"Same result at k = {listed([*map(str, others)])}", matters=False)
    answer = "; ".join(f"{brief(other)} at k = {k}" for k, other in differ.items())
    needs_data = all(map(_needs_data, differ.values()))
    params = (("k", str(min(differ))),)
    return WhatIf(
        "cutoff", question, f"{CHANGES}{answer}", matters=True, params=params, needs_data=needs_data
    )


def _other_metric(again: Recommend, today: Recommendation) -> WhatIf | None:
    query = today.evidence.comparison.query
    for metric in metrics_beside(query.metric):
        if other := _if_any(again, replace(query, metric=metric)):
            question = f"{metric_title(metric)} instead of {metric_title(query.metric)}"
            return _what_if("metric", question, today, other, ("m", metric))
    return None


def _other_definition(again: Recommend, today: Recommendation) -> WhatIf | None:
    query = today.evidence.comparison.query
    row = metric_row(query.metric)
    metric = row.name
    if query.metric == row.name:
        if not row.usage.other_definition:
            return None
        metric = f"{row.name}({row.usage.other_definition})"
    is_plain = metric == row.name
    question = "With the default definition" if is_plain else DEFINITIONS[row.usage.other_definition]
    other = _if_any(again, replace(query, metric=metric))
    if other is None:
        return None
    return _what_if("definition", question, today, other, ("m", metric))


@dataclass(frozen=True)
class _OtherUsers:
    """The recommendation if other users count, the question that asks for it, and URL parameters of its
    view.

    ``pair`` is the difference over these users of the candidate in question today; None without one.
    """

    question: str
    other: Recommendation
    params: tuple[tuple[str, str], ...]
    pair: Pair | None


def _under_other_rule(
    source: Source, today: Recommendation, users: Users, *, opened: bool
) -> _OtherUsers | None:
    query = today.evidence.comparison.query
    known = define(query.metric)
    if not known.has_user_values:
        return None  # predicted ratings have no lists that a user may lack
    own = known.own_rule
    rule, question = OTHER_USERS[own or users]
    spec = str(replace(known, parameters={**known.parameters, POPULATION.name: rule}))
    params = (("m", spec),) if spec != str(known) else ()  # only some metrics name the users who count
    if own:  # whatever the source counts
        query = replace(query, metric=spec)
    elif _has_same_values(source, source.under(rule), query):
        return _OtherUsers(question, today, params, _pair_in_question(today, today))
    else:
        source = source.under(rule)
    other = _if_any(partial(_recommend, source, tells_control=opened), query)
    if other is None:
        return None
    return _OtherUsers(question, other, params, _pair_in_question(today, other))


def _has_same_values(source: Source, other: Source, query: ComparisonQuery) -> bool:
    """Returns whether both sources have the very same values of each run, as a source that keeps them has
    under two rules if all users have a list: the recommendation is then the same, too.
    """
    try:
        return all(
            source.values(run, query.metric, query.k) is other.values(run, query.metric, query.k)
            for run in query.shown
        )
    except InputError:
        return False


def _pair_in_question(today: Recommendation, other: Recommendation) -> Pair | None:
    """Returns the difference in another recommendation of the candidate in question today; None without
    one.
    """
    leader = today.evidence.leader
    case = other.case_of(leader.candidate) if leader else None
    return case.pair if case else None


def _other_users(
    today: Recommendation, other_users: _OtherUsers | None, *, former: bool, opened: bool, by_rule: bool
) -> WhatIf | None:
    """Returns what other users would change. In reports of wording 11 and older it is open if the difference
    of the candidate that is best there is not significant, in still older ones also if it is worse there and
    not here, or the reverse.
    """
    if other_users is None:
        return None
    answer = _what_if("users", other_users.question, today, other_users.other, *other_users.params)
    is_unsure = opened and not by_rule and _is_unsure(other_users.other)
    joint = " has " if is_unsure else ": "
    differs = "" if answer.matters else _other_case(today, other_users.other, joint, former=former)
    if not differs:
        return answer
    if is_unsure:
        return replace(answer, answer=f"Open: {differs}", is_open=True)
    return replace(answer, answer=f"{answer.answer}, but {differs}", is_open=not opened)


def _is_unsure(other: Recommendation) -> bool:
    leader = other.evidence.leader
    return leader is not None and leader.judged.word == "not settled"


def _other_relevance(
    again: Recommend, today: Recommendation, question: str, threshold: float, *, former: bool
) -> WhatIf | None:
    query = today.evidence.comparison.query
    if not define(query.metric).has_user_values:
        return None  # errors of predicted ratings count every rated row
    other = _if_any(again, replace(query, scope=replace(query.scope, threshold=threshold)))
    if other is None:
        return None
    answer = _what_if("relevance", question, today, other, ("th", f"{threshold:g}"))
    lost = [] if answer.matters or former else _no_longer_better(today, other)
    if not lost:
        return answer
    names = f"{listed(lost)} no longer {'beats' if len(lost) == 1 else 'beat'} {today.evidence.base} offline"
    return replace(answer, answer=f"{answer.answer}, but {names}")


def _no_longer_better(today: Recommendation, other: Recommendation) -> list[str]:
    """Returns the names of the candidates that are better than the baseline offline, and are not with another
    query.
    """
    better = {case.pair.candidate for case in other.cases if case.evidence.finding == "better"}
    return [
        case.name
        for case in today.cases
        if case.evidence.finding == "better" and case.pair.candidate not in better
    ]


def _other_rule(source: Source, today: Recommendation, users: Users) -> WhatIf | None:
    """Returns the answer of older reports, which do not regard the users that the metric names."""
    query = today.evidence.comparison.query
    if not define(query.metric).has_user_values:
        return None
    rule, question = OTHER_USERS[users]
    other = _if_any(partial(_recommend, source.under(rule), same_users=False, tells_control=False), query)
    return _what_if("users", question, today, other) if other else None


def _other_case(today: Recommendation, other: Recommendation, joint: str, *, former: bool) -> str:
    """Returns what a query with the same recommendation finds about the candidate that is best there, such as
    ``ease: no significant difference (0.0459 vs 0.0467, n = 2,871)``; empty if the candidate's case is the
    same today. ``joint`` is what is written between its name and its case.
    """
    leader = other.evidence.leader
    case = other.case_of(leader.candidate) if leader else None
    before = today.case_of(leader.candidate) if leader else None
    if case is None or before is None or case.case == before.case:
        return ""
    words = f"{case.name}{joint}{small(CASES[case.case])}"
    if former:
        return words
    metric, n_users = other.evidence.comparison.query.metric, numbers.count(case.pair.paired.n)
    value, base = (cell.shown for cell in metric_values(metric, [case.pair.value, case.pair.base_value]))
    return f"{words} ({value} vs {base}, n = {n_users})"


def _no_guardrails(again: Recommend, today: Recommendation, *, opened: bool) -> WhatIf | None:
    """Returns what would change without offline guardrails; None if none is broken. The guardrails of A/B
    tests stay.
    """
    if not any(rail.is_broken for case in today.cases for rail in case.evidence.guardrails):
        return None
    query = today.evidence.comparison.query
    other = _if_any(again, replace(query, terms=replace(query.terms, guard=())))
    question = "Without offline guardrails" if opened else "Without guardrails"
    return _what_if("guardrails", question, today, other) if other else None


_MOST_UNLIKE = ("worse", "better", "tie", "not settled")


def _most_unlike_slice(
    today: Recommendation,
    answered: Sequence[Pair],
    *,
    former: bool,
    named: bool,
    opened: bool,
    by_rule: bool,
) -> WhatIf | None:
    """Returns the slice whose finding differs most from the leader's; None if all agree. Slices with
    the users of the differences ``answered``, which another answer is about, are left out.

    A slice that is inconclusive is not known to change the recommendation where more data may decide it, in
    reports of wording 11 and older wherever it is; one whose users all score as with the baseline would:
    there is nothing to gain for them.
    """
    leader = today.evidence.leader
    if leader is None:
        return None
    unlike = [
        part
        for part in today.evidence.slices
        if part.pair.judged.word != leader.judged.word
        and not any(_has_same_users(part.pair, pair) for pair in answered)
    ]
    if not unlike:
        return None
    part = min(unlike, key=lambda part: _MOST_UNLIKE.index(part.pair.judged.word))
    word, n_users = part.pair.judged.word, numbers.count(part.pair.paired.n)
    question, params = f"Only {slice_words(part)}", (("s", f"{part.by}={part.value}"),)
    is_open = word == "not settled" and not part.pair.is_identical
    if by_rule:
        if is_open and _is_decided_online(today):
            return WhatIf("segment", question, f"Same result (inconclusive, n = {n_users})", False, params)
        is_open = is_open and _may_be_decided(part.pair)
    if named and not is_open:
        answer, matters = _within_slice(today, part.pair, opened=opened)
        return WhatIf("segment", question, answer, matters, params)
    finding = f"Open: {shown(word)}" if is_open and opened else capital(shown(word))
    if part.pair.is_identical:
        finding = f"No difference: equal to {today.evidence.base} for every user"
    answer = f"{finding}{_users_needed(part.pair, former=former)} (n = {n_users})"
    matters = word != "not settled" or (part.pair.is_identical and not former)
    return WhatIf("segment", question, answer, matters, params, is_open)


def _may_be_decided(pair: Pair) -> bool:
    """Returns whether the candidate is ahead, and at most ``MANY`` times the users would decide it: then more
    data are to be collected.
    """
    return pair.paired.mean > 0 and (pair.judged.more_users or 0) <= MANY * pair.paired.n


def _is_decided_online(today: Recommendation) -> bool:
    """Returns whether the candidate won or lost an A/B test, which no inconclusive difference undoes."""
    return bool(today.evidence.won_online or today.evidence.lost_online)


def _within_slice(today: Recommendation, pair: Pair, *, opened: bool) -> tuple[str, bool]:
    """Returns what a slice with a known finding would change, such as ``Changes: keep Popular (equal for
    every user, n = 110)``, and whether it would.

    Where the candidate is not better there is no reason to leave the baseline. Where data are too few to
    recommend anything, any finding changes that. Of several candidates, only the one in question was compared
    in the slice, so that another may be better there; older reports say to keep the baseline all the same.
    """
    base, n_users = today.evidence.base, numbers.count(pair.paired.n)
    is_better = pair.judged.word == "better"
    if today.action == "collect data" or is_better == (today.action == "keep"):
        is_inconclusive = pair.judged.word == "not settled" and not pair.is_identical
        how = "better" if is_better else "not significantly better" if is_inconclusive else "no better"
        change = f"{today.evidence.name} is {how} than {base}"
        if not is_better and (len(today.cases) == 1 or not opened):
            change = f"keep {base}"
        why = "" if is_better else f"{_WITHIN.get(pair.words, pair.words)}, "
        return f"Changes: {change} ({why}n = {n_users})", True
    return f"Same result ({_WITHIN.get(pair.words, pair.words)}, n = {n_users})", False


_WITHIN = {"tie": "difference too small to matter", "not settled": "inconclusive"}


def _has_same_users(first: Pair, second: Pair) -> bool:
    """Returns whether two differences of the same candidate are over the same users, as far as their numbers
    tell.
    """
    counts = [(pair.paired.n, pair.paired.wins, pair.paired.losses) for pair in (first, second)]
    return counts[0] == counts[1] and abs(first.paired.mean - second.paired.mean) < TIE
