"""The recommendation: what to do, and with which candidate, from all evidence.

Every candidate is judged over the primary metric, the other accuracy metrics, guardrails, slices, folds or
seeds, and A/B tests. What users did in a test counts more than any offline metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from recdash.comparison.evidence import VerdictEvidence, gather_evidence
from recdash.comparison.pairs import Comparison, Pair
from recdash.comparison.source import Source
from recdash.comparison.wording import (
    Piece,
    RichText,
    lift_name,
    plain,
    relation_to,
    rounded,
    slice_title,
    why_not,
)
from recdash.domain.results import OnlineLift
from recdash.formatting import numbers
from recdash.formatting.wording import listed
from recdash.metrics.naming import metric_title, row_of
from recdash.stats import Finding

Action = Literal["ship", "keep", "test", "collect data", "not comparable"]
Case = Literal["proven", "sound", "contested", "inconclusive", "unsure", "no gain", "refuted"]
MOST_TESTED, MOST_PASSED_OVER = 2, 2
WITHOUT_GAIN: Mapping[Finding, Case] = {"worse": "refuted", "tie": "no gain", "not settled": "unsure"}


@dataclass(frozen=True)
class CandidateCase:
    """What all evidence says of one candidate, which is the ``leader`` of its evidence."""

    pair: Pair
    evidence: VerdictEvidence

    @property
    def name(self) -> str:
        return self.evidence.name

    @property
    def case(self) -> Case:
        """The case for shipping it, from the strongest evidence that there is.

        *proven*: it won an A/B test. *refuted*: it lost one, or is worse offline. *sound*: better offline,
        and nothing speaks against it; *contested*: better offline, and something does; *inconclusive*: better
        offline, without a significant lift in its A/B test. *unsure*: the offline difference is not
        significant; *no gain*: it is too small to matter.
        """
        evidence = self.evidence
        if evidence.lost_online:
            return "refuted"
        if evidence.won_online:
            return "proven"
        if evidence.finding != "better":
            return WITHOUT_GAIN[evidence.finding]
        if evidence.lifts:
            return "inconclusive"
        return "contested" if self.risks else "sound"

    @property
    def risks(self) -> list[RichText]:
        """What speaks against it, the gravest first; each is the end of a sentence about it."""
        evidence, k = self.evidence, self.evidence.comparison.query.k
        metrics = [
            _risk("lowers ", f"{metric_title(metric, k)} by {_percent(pair)}", "metric-vs-k", m=metric)
            for metric, pair in evidence.metrics
            if pair.judged.word == "worse"
        ]
        slices = [
            _risk("is worse for ", slice_title(part), "segments", by=part.by, c=part.pair.candidate)
            for part in evidence.slices
            if part.pair.judged.word == "worse"
        ]
        rails = [
            _risk(
                f"{'raises' if rail.change > 0 else 'lowers'} ",
                f"{row_of(rail.metric).usage.guardrail} by {numbers.three(100 * abs(rail.change))} %",
                "catalogue",
                f", which exceeds the {100 * rail.guard:.3g} % guardrail",
            )
            for rail in evidence.guardrails
            if rail.is_broken
        ]
        lifts = [
            _risk("cut ", f"{_lift(lift)}", "offline-online", " in the A/B test")
            for lift in evidence.lost_online
        ]
        return [*lifts, *metrics, *slices, *rails]


@dataclass(frozen=True)
class Recommendation:
    """What to do. ``run``: the candidate to ship or test, the baseline to keep; None where there is none.

    ``why``: the evidence for it, and which candidates were passed over; ``risks``: what speaks against it.
    ``cases``: every candidate that was judged, best offline first.
    """

    action: Action
    run: str | None
    headline: str
    why: tuple[RichText, ...]
    risks: tuple[RichText, ...]
    cases: tuple[CandidateCase, ...]

    @property
    def text(self) -> str:
        """Headline, reasons and risks, plain."""
        return " ".join([f"{self.headline}.", *map(plain, (*self.why, *self.risks))])

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready; runs by their names."""
        names = {case.pair.candidate: case.name for case in self.cases}
        names |= {case.pair.baseline: case.evidence.base for case in self.cases}
        return {
            "action": self.action,
            "run": names.get(self.run or ""),
            "text": self.text,
            "candidates": {case.name: case.case for case in self.cases},
        }


def recommend(source: Source, comparison: Comparison) -> Recommendation:
    """What to do, judged by all evidence on every candidate of the comparison."""
    cases = tuple(
        CandidateCase(pair, gather_evidence(source, comparison, leader=pair, intervals=False))
        for pair in comparison.against
    )
    evidence = cases[0].evidence if cases else gather_evidence(source, comparison)
    if evidence.blocking or not cases:
        why = tuple(why_not(evidence))
        return Recommendation("not comparable", None, "These runs cannot be compared", why, (), cases)
    is_tested = any(case.evidence.lifts for case in cases)
    by_case: dict[Case, list[CandidateCase]] = {}
    for case in cases:
        by_case.setdefault(case.case, []).append(case)
    if proven := by_case.get("proven"):
        return _ship(proven[0], cases)
    sound, contested = by_case.get("sound", []), by_case.get("contested", [])
    if sound and not is_tested:
        return _ship(sound[0], cases)
    if to_test := [*sound, *contested, *by_case.get("inconclusive", [])]:
        return _test(to_test, cases)
    if unsure := by_case.get("unsure"):
        return _collect(unsure[0], cases)
    return _keep(cases)


def _ship(chosen: CandidateCase, cases: tuple[CandidateCase, ...]) -> Recommendation:
    offline = f"{_where(chosen)} is {relation_to(chosen.pair, chosen.evidence.base)}"
    if chosen.case == "sound":
        begin = f"{offline}, and nothing here speaks against it."
    else:
        lift = f"{_lift(chosen.evidence.won_online[0], 'rose')} in the A/B test"
        is_open = ", which is not significant" if chosen.evidence.finding == "not settled" else ""
        begin = (
            f"It won offline and online: {offline}, and {lift}."
            if chosen.evidence.finding == "better"
            else f"It won online: {lift}. Offline, {offline}{is_open}."
        )
    why = (_linked(begin, "offline-online" if chosen.evidence.lifts else "leaderboard"),)
    return Recommendation(
        "ship",
        chosen.pair.candidate,
        f"Ship {chosen.name}",
        (*why, *_passed_over(chosen, cases)),
        _but(chosen),
        cases,
    )


def _test(to_test: Sequence[CandidateCase], cases: tuple[CandidateCase, ...]) -> Recommendation:
    """Test the best of these, together with those from which it does not differ significantly."""
    first = to_test[0]
    chosen = [first, *(case for case in to_test[1:] if not _differ(first, case))][:MOST_TESTED]
    names = listed([case.name for case in chosen])
    is_longer = first.case == "inconclusive"
    why = [_linked(f"{_where(first)} is {relation_to(first.pair, first.evidence.base)}.", "leaderboard")]
    if is_longer:
        why.append(_linked("Its A/B test shows no significant lift yet.", "online"))
    return Recommendation(
        "test",
        first.pair.candidate,
        f"Run the A/B test of {first.name} longer" if is_longer else f"Run an A/B test of {names}",
        (*why, *_passed_over(first, cases)),
        _but(first),
        cases,
    )


def _collect(chosen: CandidateCase, cases: tuple[CandidateCase, ...]) -> Recommendation:
    more = chosen.pair.judged.more_users
    needed = f": about {numbers.count(rounded(more))} more users are needed" if more else ""
    why = f"The difference of {chosen.name} to {chosen.evidence.base} in {_where(chosen)} is not significant."
    return Recommendation(
        "collect data",
        chosen.pair.candidate,
        f"Not enough data{needed}",
        (_linked(why, "leaderboard"), *_passed_over(chosen, cases)),
        (),
        cases,
    )


def _keep(cases: tuple[CandidateCase, ...]) -> Recommendation:
    first = cases[0]
    why = [(Piece(f"{case.name} "), *_against(case), Piece(".")) for case in cases[:MOST_PASSED_OVER]]
    mixed = [case for case in cases if case.evidence.won_online]
    unless = [
        _linked(
            f"Ship {case.name} only if {lift_name(case.evidence.lost_online[0])} matters less to you than "
            f"{lift_name(case.evidence.won_online[0])}.",
            "offline-online",
        )
        for case in mixed[:1]
    ]
    base = first.evidence.base
    return Recommendation("keep", first.pair.baseline, f"Keep {base}", tuple(why), tuple(unless), cases)


def _passed_over(chosen: CandidateCase, cases: tuple[CandidateCase, ...]) -> Iterator[RichText]:
    """Why candidates that score significantly higher offline than the chosen one are not chosen."""
    higher = [case for case in cases[: cases.index(chosen)] if _differ(case, chosen)]
    for case in higher[:MOST_PASSED_OVER]:
        yield (Piece(f"{case.name} scores higher offline, but "), *_against(case), Piece("."))


def _but(case: CandidateCase) -> tuple[RichText, ...]:
    return tuple((Piece(f"But {case.name} "), *risk, Piece(".")) for risk in case.risks)


def _against(case: CandidateCase) -> RichText:
    """Why a candidate is not shipped, as the end of a sentence."""
    if case.case in ("refuted", "contested") and (risks := case.risks):
        return risks[0]
    pair, base = case.pair, case.evidence.base
    if case.case == "refuted":
        return (Piece(f"is worse offline: {_where(case)} is {relation_to(pair, base)}", "leaderboard"),)
    if case.case == "no gain":
        return (Piece(f"differs from {base} by less than the margin", "leaderboard"),)
    if case.case == "unsure":
        return (Piece(f"does not differ significantly from {base}", "leaderboard"),)
    if case.case == "inconclusive":
        return (Piece("shows no significant lift in its A/B test", "online"),)
    return (Piece("has not been tried in an A/B test", "online"),)


def _differ(one: CandidateCase, other: CandidateCase) -> bool:
    """Whether the offline scores of two candidates differ significantly."""
    both = {one.pair.candidate, other.pair.candidate}
    words = [
        pair.judged.word for pair in one.evidence.comparison.among if {pair.baseline, pair.candidate} == both
    ]
    return any(word in ("better", "worse") for word in words)


# ── words ────────────────────────────────────────────────────────────────────────────────────


def _where(case: CandidateCase) -> str:
    return case.evidence.comparison.query.where


def _percent(pair: Pair) -> str:
    share = abs(pair.percent(pair.paired.mean))
    return f"{numbers.three(share)} %" if isfinite(share) else numbers.three(abs(pair.paired.mean))


def _lift(lift: OnlineLift, verb: str = "") -> str:
    """``session watch time by 12.2 %``; with a verb ``session watch time rose by 5.1 %``."""
    amount = f"by {numbers.three(100 * abs(lift.lift))} %"
    return " ".join(filter(None, (lift_name(lift), verb, amount)))


def _risk(begin: str, text: str, page: str, end: str = "", **params: str) -> RichText:
    pieces = (Piece(begin), Piece(text, page, params), Piece(end))
    return tuple(piece for piece in pieces if piece.text)


def _linked(text: str, page: str) -> RichText:
    return (Piece(text, page),)
