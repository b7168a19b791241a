"""The verdict in plain words: one template per thing that there is to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from recdash.comparison.evidence import SliceDifference, VerdictEvidence
from recdash.comparison.guardrails import NOT_ASKED, GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.comparison.verdict_state import State
from recdash.domain.results import OnlineLift
from recdash.formatting import numbers
from recdash.metrics.naming import metric_title
from recdash.stats.replicates import ReplicateDifference
from recdash.stats.sparse import StudentT, Unknown

MOST_NAMED = 3
NOTABLE = 0.05
"""A guardrail's change of less than this share is not worth a sentence."""
RAIL_WORDS = {
    "coverage": "catalogue coverage",
    "novelty": "novelty",
    "diversity": "diversity",
    "personalization": "personalization",
    "gini": "Gini",
}


@dataclass(frozen=True)
class Piece:
    """Some words of a sentence; ``page`` and ``params`` of the view lead to the chart that shows them.

    ``hint``: what pages say of the words only to who points at them.
    """

    text: str
    page: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""


Sentence = tuple[Piece, ...]


def plain(sentence: Sentence) -> str:
    return "".join(piece.text for piece in sentence)


def headline(state: State, run: str | None, weighed: VerdictEvidence) -> str:
    """``Ship ALS v3`` · ``Keep Popular`` · ``ALS v3 and Popular are a tie`` …"""
    if state == "ship" and weighed.leader is not None and run == weighed.leader.baseline:
        return f"Keep {weighed.base}"
    return {
        "ship": f"Ship {weighed.name}",
        "tie": f"{weighed.name} and {weighed.base} are a tie",
        "trade-off": f"{weighed.name} is a trade-off",
        "not enough evidence": f"Not enough evidence for {weighed.name}",
        "not comparable": "These runs cannot be compared",
    }[state]


def told(state: State, weighed: VerdictEvidence) -> tuple[Sentence, ...]:
    """The sentences of a verdict, the evidence first."""
    if state == "not comparable" or weighed.leader is None:
        return tuple(_why_not(weighed))
    said = [evidence(weighed, weighed.leader)]
    if weighed.leader.judged.word == "not settled":
        said.append(how_many_more(weighed.leader))
    said += _over_replicates(weighed)
    if state == "tie":
        said.append(too_small(weighed, weighed.leader))
    said += [
        *_other_metrics(weighed),
        *_online(weighed),
        *_rails(weighed),
        *_rivals(weighed),
        *_parts(weighed),
        *_one_training_run(weighed),
    ]
    return tuple(said)


def _why_not(weighed: VerdictEvidence) -> list[Sentence]:
    if weighed.blocking:
        return [(Piece(_sentence(f"{one.found}. {one.fix}"), "runs"),) for one in weighed.blocking]
    apart = [f"{reason}." for reason in weighed.comparison.apart.values()]
    shown = " ".join(apart[:MOST_NAMED]) or "There is no candidate beside the baseline."
    more = f" And {len(apart) - MOST_NAMED} more." if len(apart) > MOST_NAMED else ""
    return [(Piece(shown + more, "runs"),)]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


# ── the evidence ─────────────────────────────────────────────────────────────────────────────


def evidence(weighed: VerdictEvidence, pair: Pair) -> Sentence:
    """``nDCG@10 is 14.9 % above Popular (95 % CI +12.7 to +17.2 %, …; better for 41 of 100 users …).``"""
    comparison = weighed.comparison
    where = metric_title(comparison.metric, comparison.k)
    subject = where if weighed.finding == "better" else f"{where} of {weighed.name}"
    return (
        Piece(f"{subject} is "),
        Piece(stands(pair, weighed.base), "leaderboard"),
        Piece(" ("),
        Piece(
            f"{interval(weighed, pair, _tested(comparison.against))}, paired over {users(pair.paired.n)}",
            "leaderboard",
            hint=_method(pair),
        ),
        Piece("; "),
        Piece(who_gains(pair), "users", {"of": pair.candidate}),
        Piece(")."),
    )


def _method(pair: Pair) -> str:
    """``McNemar's exact test``; nothing where no method is valid."""
    method = pair.paired.method
    return "" if isinstance(method, Unknown) else method.name


def stands(pair: Pair, base: str) -> str:
    """``14.9 % above Popular`` · ``0.0031 below Popular`` where the baseline is 0 · ``equal to Popular``."""
    mean = pair.paired.mean
    if mean == 0:
        return f"equal to {base}"
    share = pair.percent(abs(mean))
    amount = f"{numbers.three(share)} %" if isfinite(share) else numbers.three(abs(mean))
    return f"{amount} {'above' if mean > 0 else 'below'} {base}"


def interval(weighed: VerdictEvidence, pair: Pair, n_family: int) -> str:
    """``95 % CI +12.7 to +17.2 %, Holm-corrected over 10``, this being one of so many differences."""
    return f"{level(weighed)} {bounds(pair)}{correction(weighed, n_family)}"


def _tested(family: Sequence[Pair]) -> int:
    """How many differences the correction is over: those with a p."""
    return sum(isfinite(pair.paired.p) for pair in family)


def level(weighed: VerdictEvidence) -> str:
    return f"{100 * weighed.comparison.terms.level:.3g} % CI"


def correction(weighed: VerdictEvidence, n_family: int) -> str:
    """``, Holm-corrected over 10``; nothing for a difference alone, and without a correction."""
    name = {"holm": "Holm", "bh": "BH"}.get(weighed.comparison.terms.correction)
    return f", {name}-corrected over {n_family}" if name and n_family > 1 else ""


def bounds(pair: Pair) -> str:
    """``+12.7 to +17.2 %`` of the baseline's value; in units of the metric where that is 0."""
    low, high = pair.judged.corrected.low, pair.judged.corrected.high
    if not isfinite(low):
        return f"unknown: {why_unknown(pair)}"
    if pair.base_value:
        low, high = pair.percent(low), pair.percent(high)
        return numbers.interval(low, high, numbers.places([low, high]), " %")
    return numbers.interval(low, high, numbers.places([low, high]))


def why_unknown(pair: Pair) -> str:
    """Why no method is valid for the difference."""
    method = pair.paired.method
    return method.reason if isinstance(method, Unknown) else "no method is valid"


def who_gains(pair: Pair) -> str:
    """``better for 41 of 100 users, worse for 30``; in users where there are fewer than 100."""
    paired = pair.paired
    wins, losses = paired.wins, paired.losses
    if paired.n < 100:
        return f"better for {wins} of {users(paired.n)}, worse for {losses}"
    better, worse = (numbers.of_100(count, paired.n) for count in (wins, losses))
    return f"better for {better} of 100 users, worse for {worse}"


def users(count: int) -> str:
    return f"{numbers.count(count)} {'user' if count == 1 else 'users'}"


def _over_replicates(weighed: VerdictEvidence) -> list[Sentence]:
    """``But it does not hold across seeds: over 5 seeds of it and 5 of Popular it is +0.012 (…).``"""
    over, leader = weighed.leader_over_replicates, weighed.leader
    if over is None or leader is None or leader.judged.word == "not settled":
        return []
    seeds = f"{over.noun}s"
    if over.significant is None:
        only = f"Only one of the {seeds} has the metric" if over.n == over.n_baseline == 1 else ""
        why = only or f"The {seeds} do not differ"
        return [(Piece(f"{why}, so they say nothing about another training run."),)]
    digits = numbers.places([over.mean, over.low, over.high])
    ends = f"{level(weighed)} {numbers.interval(over.low, over.high, digits)}"
    amount = f"{numbers.signed(over.mean, digits)} ({ends}{correction(weighed, over.family)})"
    holds = weighed.finding == leader.judged.word
    begin = f"It holds across {seeds}" if holds else f"But it does not hold across {seeds}"
    return [
        (
            Piece(f"{begin}: over {_training_runs(weighed, over)} it is "),
            Piece(amount, "leaderboard"),
            Piece("."),
        )
    ]


def _training_runs(weighed: VerdictEvidence, over: ReplicateDifference) -> str:
    """``3 seeds of ALS and 3 of Popular`` · ``5 folds of ALS, and their users in Popular``."""
    if over.noun == "fold" and min(over.n, over.n_baseline) == 1:
        names = weighed.name, weighed.base
        several, once = names if over.n > 1 else names[::-1]
        return f"{max(over.n, over.n_baseline)} folds of {several}, and their users in {once},"
    return f"{_replicates(over.n, over.noun)} of {weighed.name} and {over.n_baseline} of {weighed.base}"


def _replicates(count: int, noun: str) -> str:
    return f"{count} {noun if count == 1 else f'{noun}s'}"


def _one_training_run(weighed: VerdictEvidence) -> list[Sentence]:
    """Who was trained once only: what another training run would give is not known."""
    over, leader = weighed.leader_over_replicates, weighed.leader
    if leader is None or leader.judged.word == "not settled":
        return []
    if over is None:
        text = "Each was trained once; another training run may give another difference."
        return [(Piece(text),)]
    once = [name for name, n in ((weighed.name, over.n), (weighed.base, over.n_baseline)) if n == 1]
    if not once or over.significant is None:
        return []
    other = weighed.base if once == [weighed.name] else weighed.name
    another = "another training run of it is" if over.noun == "fold" else f"its {over.noun}s are"
    text = f"{once[0]} was trained once; {another} taken to vary as much as {other}'s."
    return [(Piece(text),)]


def how_many_more(pair: Pair) -> Sentence:
    """``Not significant. If the true difference is the one measured, about 1,900 more users …``"""
    n, more = pair.paired.n, pair.judged.more_users
    if not isfinite(pair.judged.corrected.low):
        return (Piece(f"There is no interval: {why_unknown(pair)}."),)
    if more is None:
        return (Piece("The interval includes zero. How many more users it takes is not known."),)
    if more > MANY * n:
        return (Piece(f"The interval includes zero. More than {MANY} times the users would be needed."),)
    about = "about" if isinstance(pair.paired.method, StudentT) else "at most about"
    users_like_these = f"{numbers.count(rounded(more))} more {'user' if more == 1 else 'users'} like these"
    given = "If the true difference is the one measured, and training again does not change it"
    answer = "would give an answer with a chance of 80 %"
    return (Piece(f"The interval includes zero. {given}, {about} {users_like_these} {answer}."),)


MANY = 100


def rounded(count: int) -> int:
    """To two significant digits: it is an estimate."""
    unit: int = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // unit) * unit


def too_small(weighed: VerdictEvidence, pair: Pair) -> Sentence:
    """``Whatever the difference is, it is within ±1 % (0.000271): too small to matter.``"""
    size = numbers.three(pair.judged.margin)
    margin = weighed.comparison.terms.margin
    width = f"±{margin} ({size})" if margin.relative else f"±{size}"
    return (Piece(f"Whatever the difference is, it is within {width}: too small to matter."),)


# ── what stands beside it ────────────────────────────────────────────────────────────────────


def _other_metrics(weighed: VerdictEvidence) -> list[Sentence]:
    """``But Recall@10 is 3.1 % below Popular (95 % CI …).``: the metrics that say otherwise."""
    if weighed.leader is None:
        return []
    against = "better" if weighed.finding == "worse" else "worse"
    k = weighed.comparison.k
    return [
        (
            Piece("But "),
            Piece(f"{metric_title(metric, k)} is {stands(pair, weighed.base)}", "metric-vs-k", {"m": metric}),
            Piece(f" ({interval(weighed, pair, len(weighed.metrics))})."),
        )
        for metric, pair in weighed.metrics
        if pair.judged.word == against
    ]


def _online(weighed: VerdictEvidence) -> list[Sentence]:
    """``But online it lost: session watch time −12.2 % (95 % CI −15.7 to −8.56 %).``"""
    against = weighed.leader is not None and weighed.finding != "worse"
    said = [
        _about_lifts("But online it lost: " if against else "Online it lost: ", weighed.lost_online),
        _about_lifts("Online it won: ", weighed.won_online),
    ]
    return [sentence for sentence in said if sentence]


def _about_lifts(begin: str, lifts: Sequence[OnlineLift]) -> Sentence:
    pieces = []
    for lift in lifts:
        ends = [100 * one for one in (lift.lift, lift.low, lift.high)]
        digits = numbers.places(ends)
        name = f"{lift.title[:1].lower()}{lift.title[1:]}"
        bounds_ = numbers.interval(ends[1], ends[2], digits, " %")
        pieces.append(f"{name} {numbers.signed(ends[0], digits)} % (95 % CI {bounds_})")
    return (Piece(begin), Piece(", ".join(pieces), "offline-online"), Piece(".")) if pieces else ()


def _rails(weighed: VerdictEvidence) -> list[Sentence]:
    """What the leader costs, a sentence each, and what it raises; nothing where little changes."""
    shipped = weighed.leader is not None and weighed.finding == "better"
    who = "It" if shipped else weighed.name
    unsure = [rail for rail in weighed.guardrails if rail.may_be_broken]
    others = [rail for rail in weighed.guardrails if isfinite(rail.change) and not rail.may_be_broken]
    notable = [rail for rail in others if abs(rail.change) >= NOTABLE]
    return [
        *(_cost(who, weighed, rail) for rail in notable if rail.loss > 0),
        *(_may_cost(who, weighed, rail) for rail in unsure),
        *_gained(who, weighed, [rail for rail in notable if rail.loss < 0]),
    ]


def _cost(who: str, weighed: VerdictEvidence, rail: GuardrailResult) -> Sentence:
    """``It costs 11.0 % of catalogue coverage@10 (from 23.4 % to 20.8 %; 95 % CI −14.1 to −7.9 %).``

    ``It raises Gini@10 by 24.1 % (from 0.62 to 0.77; …), more than the 20 % that is allowed.``
    """
    share, name = f"{numbers.three(100 * abs(rail.change))} %", _rail_name(weighed, rail)
    verb = "raises " if rail.less_is_better else "costs "
    amount = f"{name} by {share}" if rail.less_is_better else f"{share} of {name}"
    broken = f", more than the {_guard(rail)} that is allowed" if rail.is_broken else ""
    unsure = "; the interval does not exclude less" if rail.is_broken and _holds_less(rail) else ""
    return (
        Piece(f"{who} {verb}"),
        Piece(amount, "catalogue"),
        Piece(f" ({_from_to(rail)}{_rail_interval(weighed, rail)}){broken}{unsure}."),
    )


def _may_cost(who: str, weighed: VerdictEvidence, rail: GuardrailResult) -> Sentence:
    """``It may cost more than the 20 % of novelty@10 that is allowed: −15 % (…; 95 % CI −31 to +2 %).``"""
    name, share = _rail_name(weighed, rail), 100 * rail.change
    less = rail.less_is_better
    begin, end = (
        ("raise ", f" by more than the {_guard(rail)} that is allowed")
        if less
        else (f"cost more than the {_guard(rail)} of ", " that is allowed")
    )
    change = f"{numbers.signed(share, numbers.places([share]))} %"
    facts = f"{change} ({_from_to(rail)}{_rail_interval(weighed, rail)})"
    return (Piece(f"{who} may {begin}"), Piece(name, "catalogue"), Piece(f"{end}: {facts}."))


def _holds_less(rail: GuardrailResult) -> bool:
    return rail.has_interval and not rail.is_surely_broken


def _guard(rail: GuardrailResult) -> str:
    return f"{100 * rail.guard:.3g} %"


def _rail_interval(weighed: VerdictEvidence, rail: GuardrailResult) -> str:
    """``; 95 % CI −14.1 to −7.9 %``, or why there is none."""
    if rail.has_interval:
        return f"; {level(weighed)} {rail_bounds(rail)}"
    return "" if rail.why_no_interval == NOT_ASKED else f"; no interval: {rail.why_no_interval}"


def rail_bounds(rail: GuardrailResult) -> str:
    """``−14.1 to −7.9 %``."""
    low, high = 100 * rail.low, 100 * rail.high
    return numbers.interval(low, high, numbers.places([low, high]), " %")


def _gained(who: str, weighed: VerdictEvidence, rails: Sequence[GuardrailResult]) -> list[Sentence]:
    """``It raises catalogue coverage@10 from 1.20 % to 23.4 % and novelty@10 from 3.90 to 5.81.``

    ``It lowers Gini@10 from 0.91 to 0.68.``
    """
    said: list[Sentence] = []
    for verb, less in (("raises", False), ("lowers", True)):
        told = [
            f"{_rail_name(weighed, rail)} {_from_to(rail)}" for rail in rails if rail.less_is_better == less
        ]
        if told:
            listed = _listed(told, len(told))
            said.append((Piece(f"{who} {verb} "), Piece(listed, "catalogue"), Piece(".")))
    return said


def _rail_name(weighed: VerdictEvidence, rail: GuardrailResult) -> str:
    return f"{RAIL_WORDS[rail.metric]}@{weighed.comparison.k}"


def _from_to(rail: GuardrailResult) -> str:
    return f"from {rail_value(rail, rail.base_value)} to {rail_value(rail, rail.value)}"


def rail_value(rail: GuardrailResult, value: float) -> str:
    return f"{numbers.three(100 * value)} %" if rail.metric == "coverage" else numbers.three(value)


def _rivals(weighed: VerdictEvidence) -> list[Sentence]:
    """``Not separable from EASE: difference +0.0017, 95 % CI −0.0009 to +0.0043.``"""
    rivals, leader = weighed.rivals(), weighed.leader
    if not rivals or leader is None:
        return []
    names = weighed.comparison.names
    others = [
        (pair, pair.baseline if pair.candidate == leader.candidate else pair.candidate) for pair in rivals
    ]
    if len(others) > 1:
        listed = _listed([names[other] for _, other in others])
        return [(Piece("Not separable from "), Piece(listed, "leaderboard"), Piece("."))]
    ((pair, other),) = others
    sign = 1 if pair.candidate == leader.candidate else -1
    low, high = sorted((sign * pair.judged.corrected.low, sign * pair.judged.corrected.high))
    mean = sign * pair.paired.mean
    digits = numbers.places([mean, low, high])
    bounds_ = f"{level(weighed)} {numbers.interval(low, high, digits)}"
    corrected = correction(weighed, _tested(weighed.comparison.among))
    found = f"difference {numbers.signed(mean, digits)}, {bounds_}{corrected}"
    return [(Piece("Not separable from "), Piece(f"{names[other]} ({found})", "leaderboard"), Piece("."))]


def _parts(weighed: VerdictEvidence) -> list[Sentence]:
    """``Worse for new users (n = 312).`` · ``Not shown to be better for new users (n = 312).``"""
    worse = [part for part in weighed.parts if part.pair.judged.word == "worse"]
    better = weighed.leader is not None and weighed.finding == "better"
    unsure = [part for part in weighed.parts if part.pair.judged.word in ("tie", "not settled")]
    improved = [part for part in weighed.parts if part.pair.judged.word == "better"]
    said = [_about_parts("Worse for ", worse)]
    said.append(_about_parts("Not shown to be better for ", unsure) if better else ())
    said.append(() if better else _about_parts("Better for ", improved))
    return [sentence for sentence in said if sentence]


def title_of(part: SliceDifference) -> str:
    """``users new to the service``; of an uploaded column as it is written, ``users with country: NL``."""
    ours = ":" not in part.by
    return f"{part.title[:1].lower()}{part.title[1:]}" if ours else f"users with {part.title}"


def _about_parts(begin: str, parts: Sequence[SliceDifference]) -> Sentence:
    if not parts:
        return ()
    pieces: list[Piece] = [Piece(begin)]
    for place, part in enumerate(parts[:MOST_NAMED]):
        joint = "" if place == 0 else " and " if place == len(parts) - 1 else ", "
        text = f"{title_of(part)} (n = {numbers.count(part.pair.paired.n)})"
        pieces += [Piece(joint), Piece(text, "segments", {"by": part.by, "c": part.pair.candidate})]
    more = len(parts) - MOST_NAMED
    pieces.append(Piece(f" and {more} more {'slice' if more == 1 else 'slices'}." if more > 0 else "."))
    return tuple(pieces)


def _listed(names: Sequence[str], most_named: int = MOST_NAMED) -> str:
    if len(names) > most_named:
        return f"{', '.join(names[:most_named])} and {len(names) - most_named} more"
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
