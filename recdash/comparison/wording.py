"""Puts an offline verdict into words: one function for each kind of sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

from recdash.comparison import relative
from recdash.comparison.cells import from_to
from recdash.comparison.evidence import SliceDifference, VerdictEvidence
from recdash.comparison.guardrails import NOT_ASKED, GuardrailResult
from recdash.comparison.pairs import Comparison, Pair
from recdash.comparison.query import Terms
from recdash.comparison.verdict_state import State
from recdash.domain.results import OnlineLift
from recdash.formatting import numbers
from recdash.formatting.wording import (
    CORRECTIONS,
    adjusted,
    capital,
    count_range,
    listed,
    lowered,
    many,
    plural,
    small,
)
from recdash.metrics.naming import metric_row, metric_title
from recdash.stats.replicates import ReplicateDifference
from recdash.stats.sparse import StudentT, Unknown

MOST_NAMED = 3
FEW = 100
"""Below this number of users, counts of users are given as they are instead of per 100."""
NOTABLE = 0.05
"""Guardrail metrics that change by less than this share are not mentioned."""


@dataclass(frozen=True)
class Piece:
    """Some words of a sentence, which may link to the chart that shows them.

    ``page`` and ``params`` are the link's page and URL parameters; without a page there is no link. ``hint``
    is the tooltip.
    """

    text: str
    page: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""


RichText = tuple[Piece, ...]


def plain(sentence: RichText) -> str:
    return "".join(piece.text for piece in sentence)


def sentences_of(state: State, evidence: VerdictEvidence, *, former: bool = False) -> tuple[RichText, ...]:
    """Returns the sentences of an offline verdict; the first gives the difference from the baseline.

    ``former`` writes numbers as reports of the first format do: all differences in % (``relative.bounds``),
    and each share of users rounded by itself (``who_gains``).
    """
    if state == "not comparable" or evidence.leader is None:
        return tuple(why_not(evidence))
    leader = evidence.leader
    return (
        evidence_sentence(evidence, leader, former=former),
        *([how_many_more(evidence, leader, former=former)] if leader.judged.word == "not settled" else []),
        *_over_replicates(evidence),
        *([too_small(evidence, leader)] if state == "tie" else []),
        *_other_metrics(evidence, former=former),
        *_online(evidence),
        *_rails(evidence),
        *_rivals(evidence, former=former),
        *_slices(evidence),
        *_one_training_run(evidence),
    )


def why_not(evidence: VerdictEvidence) -> list[RichText]:
    """Returns why there is no verdict: the problems that make the runs incomparable, or why there is no pair
    of runs to compare.
    """
    if evidence.blocking:
        texts = [f"{problem.found}. {problem.fix}" for problem in evidence.blocking]
        return [(Piece(f"{capital(text).rstrip('.')}.", "runs"),) for text in texts]
    apart = [f"{reason}." for reason in evidence.comparison.apart.values()]
    reasons = " ".join(apart[:MOST_NAMED]) or "There is no candidate to compare with the baseline."
    more = f" And {len(apart) - MOST_NAMED} more." if len(apart) > MOST_NAMED else ""
    return [(Piece(reasons + more, "runs"),)]


# ── the evidence ─────────────────────────────────────────────────────────────────────────────


def evidence_sentence(evidence: VerdictEvidence, pair: Pair, *, former: bool = False) -> RichText:
    """Returns a sentence such as ``nDCG@10 is 14.9 % above Popular (95 % CI +12.7 to +17.2 %, …; better for
    41 of 100 users …).``
    """
    comparison, method = evidence.comparison, pair.paired.method
    where = metric_title(comparison.query.metric, comparison.query.k)
    subject = where if evidence.finding == "better" else f"{where} of {evidence.name}"
    n_family = n_tested(comparison.against)
    in_family = interval(evidence, comparison.query.metric, pair, n_family, "candidate", former=former)
    return (
        Piece(f"{subject} is "),
        Piece(relative.relation_to(pair, evidence.base, former=former), "leaderboard"),
        Piece(" ("),
        Piece(
            f"{in_family}, paired over {numbers.users(pair.paired.n)}",
            "leaderboard",
            hint="" if isinstance(method, Unknown) else method.name,
        ),
        Piece("; "),
        Piece(who_gains(pair, former=former), "users", {"of": pair.candidate}),
        Piece(")."),
    )


def interval(
    evidence: VerdictEvidence, metric: str, pair: Pair, n_family: int, noun: str, *, former: bool = False
) -> str:
    """Returns the corrected interval as text, such as ``95 % CI +12.7 to +17.2 %, Holm-corrected over 10
    candidates``. ``n_family`` is the number of differences that are corrected together, each of a ``noun``,
    which reports of the first format do not name.
    """
    if pair.is_identical and not former:
        return f"no {level(evidence)}: every user has the same value"
    ends = relative.bounds(pair, metric, former=former)
    return f"{level(evidence)} {ends}{correction(evidence, n_family, '' if former else noun)}"


def n_tested(family: Sequence[Pair]) -> int:
    """Returns the number of differences that have a p and thus count for the correction."""
    return sum(isfinite(pair.paired.p) for pair in family)


def level(evidence: VerdictEvidence) -> str:
    return f"{100 * evidence.comparison.query.terms.level:.3g} % CI"


def correction(evidence: VerdictEvidence, n_family: int, noun: str = "") -> str:
    """Returns ``, Holm-corrected over 10 candidates``; empty for a single difference and without a
    correction.
    """
    corrected = _corrected(evidence, n_family)
    return f"{corrected} over {many(n_family, noun) if noun else n_family}" if corrected else ""


def _corrected(evidence: VerdictEvidence, n_family: int) -> str:
    name = CORRECTIONS.get(evidence.comparison.query.terms.correction)
    return f", {name}-corrected" if name and n_family > 1 else ""


def short_interval(evidence: VerdictEvidence, metric: str, pair: Pair, n_family: int) -> str:
    """Returns the corrected interval for a tile, such as ``95 % CI +12.7 to +17.2 %, Holm-corrected``.
    ``n_family`` is the number of differences that are corrected together.
    """
    corrected = _corrected(evidence, n_family) if isfinite(pair.judged.corrected.low) else ""
    return f"{level(evidence)} {relative.bounds(pair, metric)}{corrected}"


def who_gains(pair: Pair, *, former: bool = False) -> str:
    """Returns how many users gain and lose, such as ``better for 41 of 100 users, worse for 30``; as plain
    counts if there are fewer than 100 users.

    ``former`` rounds each share by itself, so that they may add up to 99 or 101.
    """
    paired = pair.paired
    of, (gain, _, lose) = user_split(paired.wins, paired.ties, paired.losses)
    better, worse = gain.share, lose.share
    if former and paired.n >= FEW:
        better, worse = (numbers.of_100(count, paired.n) for count in (paired.wins, paired.losses))
    return f"better for {better} of {numbers.users(of)}, worse for {worse}"


def _over_replicates(evidence: VerdictEvidence) -> list[RichText]:
    """Returns whether the difference holds across folds or seeds, such as ``But it does not hold across
    seeds: over 5 seeds of it and 5 of Popular it is +0.012 (…).``

    Empty without replicates, and if the difference is not significant anyway.
    """
    over, leader = evidence.leader_over_replicates, evidence.leader
    if over is None or leader is None or leader.judged.word == "not settled":
        return []
    seeds = f"{over.noun}s"
    if over.significant is None:
        only = f"Only one of the {seeds} has the metric" if over.n == over.n_baseline == 1 else ""
        why = only or f"The {seeds} do not differ"
        return [(Piece(f"{why}, so they do not show the effect of another training run."),)]
    digits = numbers.places([over.mean, over.low, over.high])
    ends = f"{level(evidence)} {numbers.interval(over.low, over.high, digits)}"
    amount = f"{numbers.signed(over.mean, digits)} ({ends}{correction(evidence, over.family)})"
    holds = evidence.finding == leader.judged.word
    begin = f"It holds across {seeds}" if holds else f"But it does not hold across {seeds}"
    return [
        (
            Piece(f"{begin}: over {_training_runs(evidence, over)} it is "),
            Piece(amount, "leaderboard"),
            Piece("."),
        )
    ]


def _training_runs(evidence: VerdictEvidence, over: ReplicateDifference) -> str:
    """Returns the replicates that were compared: ``3 seeds of ALS and 3 of Popular``, or ``5 folds of ALS,
    and their users in Popular,``.
    """
    if over.noun == "fold" and min(over.n, over.n_baseline) == 1:
        names = evidence.name, evidence.base
        several, once = names if over.n > 1 else names[::-1]
        return f"{max(over.n, over.n_baseline)} folds of {several}, and their users in {once},"
    return f"{over.n} {plural(over.n, over.noun)} of {evidence.name} and {over.n_baseline} of {evidence.base}"


def _one_training_run(evidence: VerdictEvidence) -> list[RichText]:
    """Returns a caveat if one of the two runs, or each, was trained only once: another training run may give
    another difference. Else empty.
    """
    over, leader = evidence.leader_over_replicates, evidence.leader
    if leader is None or leader.judged.word == "not settled":
        return []
    if over is None:
        return [(Piece("Each was trained once; another training run may give another difference."),)]
    once = [name for name, n in ((evidence.name, over.n), (evidence.base, over.n_baseline)) if n == 1]
    if not once or over.significant is None:
        return []
    other = evidence.base if once == [evidence.name] else evidence.name
    another = "another training run of it is" if over.noun == "fold" else f"its {over.noun}s are"
    text = f"{once[0]} was trained once; {another} assumed to vary as much as {other}'s."
    return [(Piece(text),)]


def how_many_more(evidence: VerdictEvidence, pair: Pair, *, former: bool = False) -> RichText:
    """Returns how many more users a significant result would need, or why this is unknown: ``The interval
    includes zero. If the true difference is the one measured, … about 1,900 more users …``
    """
    n, more = pair.paired.n, pair.judged.more_users
    if pair.is_identical and not former:
        return (Piece("More users like these would not show a difference."),)
    if not isfinite(pair.judged.corrected.low):
        return (Piece(f"There is no interval: {relative.why_unknown(pair)}."),)
    if more is None:
        return (Piece("The interval includes zero. The number of users needed is unknown."),)
    if more > MANY * n:
        return (Piece(f"The interval includes zero. More than {MANY} times the users would be needed."),)
    about = "about" if isinstance(pair.paired.method, StudentT) else "at most about"
    users_like_these = f"{numbers.count(numbers.rounded(more))} more {plural(more, 'user')} like these"
    condition = "If the true difference is the one measured, and training again does not change it"
    question = f"whether {evidence.comparison.query.where} differs from {evidence.base}'s"
    answer = f"would show with a probability of 80 % {question}"
    if former:
        answer = "would give an answer with a probability of 80 %"
    return (Piece(f"The interval includes zero. {condition}, {about} {users_like_these} {answer}."),)


MANY = 100


def too_small(evidence: VerdictEvidence, pair: Pair) -> RichText:
    """Returns a sentence such as ``The difference is within ±1 % (0.000271): too small to matter.``"""
    size = numbers.three(pair.judged.margin)
    margin = evidence.comparison.query.terms.margin
    width = f"±{margin} ({size})" if margin.relative else f"±{size}"
    return (Piece(f"The difference is within {width}: too small to matter."),)


def tiles_note(evidence: VerdictEvidence) -> str:
    """Returns the caption of the candidate's key numbers: the baseline, and level and correction of their
    intervals.
    """
    families = {
        "candidate": n_tested(evidence.comparison.against),
        "other metric": len(evidence.metrics),
        "segment": len(evidence.slices),
    }
    rule = CORRECTIONS.get(evidence.comparison.query.terms.correction)
    over = [many(n, of) for of, n in families.items() if n > 1]
    by_family = " separately" if len(over) > 1 else ""
    rails = "; guardrails are not corrected" if evidence.guardrails else ""
    judged = f", {rule}-corrected{by_family} over {listed(over)}{rails}" if rule and over else ""
    return f"Change vs {evidence.base}, {level(evidence)}{judged}"


def differences_note(comparison: Comparison, *, has_band: bool = True, has_hollow: bool = True) -> str:
    """Returns the caption of a chart of the candidates' differences: metric, interval, correction, users and
    margin. ``has_band`` and ``has_hollow`` are whether the chart has a visible band and hollow marks.
    """
    pairs, terms = comparison.against, comparison.query.terms
    base, users = comparison.names[comparison.query.baseline], count_range(pair.paired.n for pair in pairs)
    rule = CORRECTIONS.get(terms.correction)
    n_family = n_tested(pairs)
    judged = f", {rule}-corrected over {many(n_family, 'candidate')}" if rule and n_family > 1 else ""
    sizes = sorted({pair.judged.margin for pair in pairs if pair.judged.margin})
    ends = " to ".join(dict.fromkeys(numbers.three(size) for size in (*sizes[:1], *sizes[-1:])))
    interval_of = f"{100 * terms.level:.3g} % CI{judged}"
    notes = [
        f"Paired difference in {comparison.query.where} to {base}, {interval_of}, n = {users}.",
        *([f"Grey band: too small to matter (±{ends})."] if ends and has_band else []),
        *(["Hollow: not significant, or a tie."] if has_hollow else []),
    ]
    return " ".join(notes)


@dataclass(frozen=True)
class SplitPart:
    """The users with one outcome (better, same or worse); ``share`` is their number per 100, or ``count`` if
    there are fewer than 100 users.
    """

    tone: str
    sign: str
    words: str
    count: int
    share: str


def user_split(wins: int, ties: int, losses: int) -> tuple[int, list[SplitPart]]:
    """Returns the number of users that the shares are of (100, or all if they are fewer), and for how many
    of them the candidate is better, the same and worse.
    """
    n = wins + ties + losses
    outcomes = (
        ("better", "▲", "better for", wins),
        ("same", "=", "no change for", ties),
        ("worse", "▼", "worse for", losses),
    )
    counts = (ties, wins, losses)
    same, better, worse = numbers.shares_of_100(counts) if n >= FEW else map(numbers.count, counts)
    shares = (better, same, worse)
    parts = [SplitPart(*outcome, share) for outcome, share in zip(outcomes, shares, strict=True)]
    return min(n, FEW), parts


# ── caveats ──────────────────────────────────────────────────────────────────────────────────


def _other_metrics(evidence: VerdictEvidence, *, former: bool) -> list[RichText]:
    """Returns one sentence for each metric that contradicts the primary one, such as ``But Recall@10 is 3.1 %
    below Popular (95 % CI …).``
    """
    if evidence.leader is None:
        return []
    against = "better" if evidence.finding == "worse" else "worse"
    k, sentences = evidence.comparison.query.k, list[RichText]()
    for metric, pair in evidence.metrics:
        if pair.judged.word == against:
            relation = relative.relation_to(pair, evidence.base, former=former)
            ends = interval(evidence, metric, pair, len(evidence.metrics), "other metric", former=former)
            where = Piece(f"{metric_title(metric, k)} is {relation}", "metric-vs-k", {"m": metric})
            sentences.append((Piece("But "), where, Piece(f" ({ends}).")))
    return sentences


def _online(evidence: VerdictEvidence) -> list[RichText]:
    """Returns sentences on lost and won A/B tests, such as ``But online it lost: session watch time −12.2 %
    (95 % CI −15.7 to −8.56 %).``
    """
    against = evidence.leader is not None and evidence.finding != "worse"
    lost = "But online it lost: " if against else "Online it lost: "
    return [
        (Piece(begin), Piece(", ".join(map(_lift_text, lifts)), "offline-online"), Piece("."))
        for begin, lifts in ((lost, evidence.lost_online), ("Online it won: ", evidence.won_online))
        if lifts
    ]


def lift_name(lift: OnlineLift) -> str:
    """Returns the name of a lift's metric for use in a sentence, such as ``session watch time``."""
    return lowered(lift.title)


def _lift_text(lift: OnlineLift) -> str:
    percents = [100 * share for share in (lift.change, *lift.interval)]
    digits = numbers.places(percents)
    interval_text = numbers.interval(percents[1], percents[2], digits, " %")
    beside = adjusted(lift.plain, "; {}")
    return f"{lift_name(lift)} {numbers.signed(percents[0], digits)} % (95 % CI {interval_text}{beside})"


def _rails(evidence: VerdictEvidence) -> list[RichText]:
    """Returns one sentence for each guardrail that the leader breaks or may break and for each notable loss,
    and one or two for improvements.
    """
    shipped = evidence.leader is not None and evidence.finding == "better"
    subject = "It" if shipped else evidence.name
    unsure = [rail for rail in evidence.guardrails if rail.may_be_broken]
    others = [rail for rail in evidence.guardrails if isfinite(rail.change) and not rail.may_be_broken]
    notable = [rail for rail in others if abs(rail.change) >= NOTABLE]
    return [
        *(_cost(subject, evidence, rail) for rail in notable if rail.loss > 0),
        *(_may_cost(subject, evidence, rail) for rail in unsure),
        *_improved(subject, evidence, [rail for rail in notable if rail.loss < 0]),
    ]


def _cost(subject: str, evidence: VerdictEvidence, rail: GuardrailResult) -> RichText:
    """Returns the sentence on a loss: ``It costs 11.0 % of catalogue coverage@10 (from 23.4 % to 20.8 %; 95 %
    CI −14.1 to −7.9 %).``

    For a metric of which less is better: ``It raises Gini@10 by 24.1 % (from 0.62 to 0.77; …), beyond its 20
    % guardrail.``
    """
    share, name = f"{numbers.three(100 * abs(rail.change))} %", _rail_name(evidence, rail)
    verb = "raises " if rail.less_is_better else "costs "
    amount = f"{name} by {share}" if rail.less_is_better else f"{share} of {name}"
    if rail.change >= relative.DOUBLED:
        amount = f"{name} {relative.share(rail.change)}"
    broken = f", beyond its {_guard(rail)} guardrail" if rail.is_broken else ""
    is_unsure = rail.is_broken and rail.has_interval and not rail.is_surely_broken
    unsure = "; the interval does not exclude less" if is_unsure else ""
    return (
        Piece(f"{subject} {verb}"),
        Piece(amount, "catalogue"),
        Piece(f" ({_from_to(rail)}{_rail_interval(evidence, rail)}){broken}{unsure}."),
    )


def allowed_losses(evidence: VerdictEvidence) -> list[RichText]:
    """Returns one sentence for each notable loss in a guardrail metric that its guardrail allows."""
    return [
        _cost(evidence.name, evidence, rail)
        for rail in evidence.guardrails
        if isfinite(rail.change) and rail.loss >= NOTABLE and not (rail.is_broken or rail.may_be_broken)
    ]


def _may_cost(subject: str, evidence: VerdictEvidence, rail: GuardrailResult) -> RichText:
    """Returns the sentence on a guardrail that may be broken: ``It may cost more than the 20 % of novelty@10
    that its guardrail allows: −15 % (…; 95 % CI −31 to +2 %).``
    """
    name = _rail_name(evidence, rail)
    begin, end = f"cost more than the {_guard(rail)} of ", " that its guardrail allows"
    if rail.less_is_better:
        begin, end = "raise ", f" by more than its {_guard(rail)} guardrail"
    facts = f"{relative.share(rail.change)} ({_from_to(rail)}{_rail_interval(evidence, rail)})"
    return (Piece(f"{subject} may {begin}"), Piece(name, "catalogue"), Piece(f"{end}: {facts}."))


def guardrails_text(terms: Terms) -> str:
    """Returns the guardrails as a clause, where *it* is the baseline's value: ``a guardrail may lose 20 % of
    it``.

    If their shares differ, each is named: ``guardrails may lose 10 % (catalogue coverage) and 20 % (novelty)
    of it``.
    """
    guards = terms.guards
    if not guards:
        return "there are no guardrails"
    if not isinstance(terms.guard, tuple):
        return f"a guardrail may lose {100 * terms.guard:.3g} % of it"
    shares = [
        f"{100 * share:.3g} % ({metric_row(metric).usage.guardrail})" for metric, share in guards.items()
    ]
    return f"guardrails may lose {listed(shares)} of it"


def _guard(rail: GuardrailResult) -> str:
    return f"{100 * rail.guard:.3g} %"


def _rail_interval(evidence: VerdictEvidence, rail: GuardrailResult) -> str:
    """Returns the interval of the change, such as ``; 95 % CI −14.1 to −7.9 %``, or why there is none; empty
    if it was not requested.
    """
    if rail.has_interval:
        return f"; {level(evidence)} {rail_bounds(rail)}"
    return "" if rail.why_no_interval == NOT_ASKED else f"; no interval: {rail.why_no_interval}"


def rail_bounds(rail: GuardrailResult) -> str:
    """Returns the ends of a guardrail's interval, such as ``−14.1 to −7.9 %``."""
    return relative.share_bounds(rail.low, rail.high, rail.change, -inf)


def _improved(subject: str, evidence: VerdictEvidence, rails: Sequence[GuardrailResult]) -> list[RichText]:
    """Returns the sentences on improvements, such as ``It raises catalogue coverage@10 from 1.20 % to 23.4 %
    and novelty@10 from 3.90 to 5.81.`` Metrics of which less is better have their own: ``It lowers Gini@10
    from 0.91 to 0.68.``
    """
    changes: dict[str, list[str]] = {"raises": [], "lowers": []}
    for rail in rails:
        verb = "lowers" if rail.less_is_better else "raises"
        changes[verb].append(f"{_rail_name(evidence, rail)} {_from_to(rail)}")
    return [
        (Piece(f"{subject} {verb} "), Piece(listed(texts), "catalogue"), Piece("."))
        for verb, texts in changes.items()
        if texts
    ]


def _rail_name(evidence: VerdictEvidence, rail: GuardrailResult) -> str:
    return f"{metric_row(rail.metric).usage.guardrail}@{evidence.comparison.query.k}"


def _from_to(rail: GuardrailResult) -> str:
    return f"from {from_to(rail.metric, rail.base_value, rail.value)}"


def _rivals(evidence: VerdictEvidence, *, former: bool) -> list[RichText]:
    """Returns a sentence on candidates that do not differ significantly from the leader: ``Not separable from
    EASE (difference +0.0017, 95 % CI −0.0009 to +0.0043).``
    """
    rivals, leader = evidence.rivals(), evidence.leader
    if not rivals or leader is None:
        return []
    names = evidence.comparison.names
    others = [
        (pair, pair.baseline if pair.candidate == leader.candidate else pair.candidate) for pair in rivals
    ]
    if len(others) > 1:
        text = listed([names[other] for _, other in others], MOST_NAMED)
        return [(Piece("Not separable from "), Piece(text, "leaderboard"), Piece("."))]
    ((pair, other),) = others
    if pair.is_identical and not former:
        return [(Piece(f"{names[other]} has the same value for every user.", "leaderboard"),)]
    sign = 1 if pair.candidate == leader.candidate else -1
    low, high = sorted((sign * pair.judged.corrected.low, sign * pair.judged.corrected.high))
    mean = sign * pair.paired.mean
    digits = numbers.places([mean, low, high])
    corrected = correction(evidence, n_tested(evidence.comparison.among))
    interval_text = f"{level(evidence)} {numbers.interval(low, high, digits)}{corrected}"
    text = f"{names[other]} (difference {numbers.signed(mean, digits)}, {interval_text})"
    return [(Piece("Not separable from "), Piece(text, "leaderboard"), Piece("."))]


def _slices(evidence: VerdictEvidence) -> list[RichText]:
    """Returns sentences on slices, such as ``Worse for new users (n = 312).`` and ``No significant gain for
    new users (n = 312).``
    """
    other: tuple[str, tuple[str, ...]] = ("Better for ", ("better",))
    if evidence.leader is not None and evidence.finding == "better":
        other = ("No significant gain for ", ("tie", "not settled"))
    sentences = []
    for begin, words in (("Worse for ", ("worse",)), other):
        named = [part for part in evidence.slices if part.pair.judged.word in words]
        if named:
            sentences.append(_about_slices(begin, named))
    return sentences


def slice_title(part: SliceDifference) -> str:
    """Returns the slice's title for use in a sentence: ``users new to the service``; for an uploaded column
    as written there, ``users with country: NL``.
    """
    ours = ":" not in part.by
    return small(part.title) if ours else f"users with {part.title}"


def slice_words(part: SliceDifference) -> str:
    """Returns the slice's title for use in a sentence, without its part in brackets: ``users new to the
    service``.
    """
    return slice_title(part).partition(" (")[0]


def _about_slices(begin: str, slices: Sequence[SliceDifference]) -> RichText:
    pieces = [Piece(begin)]
    for place, part in enumerate(slices[:MOST_NAMED]):
        joint = "" if place == 0 else " and " if place == len(slices) - 1 else ", "
        text = f"{slice_words(part)} (n = {numbers.count(part.pair.paired.n)})"
        pieces += [Piece(joint), Piece(text, "segments", {"by": part.by, "c": part.pair.candidate})]
    more = len(slices) - MOST_NAMED
    pieces.append(Piece(f" and {more} more {plural(more, 'slice')}." if more > 0 else "."))
    return tuple(pieces)
