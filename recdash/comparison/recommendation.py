"""Recommends what to do with which candidate, from all evidence.

Every candidate is judged by the primary metric, the other accuracy metrics, guardrails, slices, folds or
seeds, and A/B tests. The results of A/B tests count more than any offline metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Literal, get_args

from recdash.comparison import relative
from recdash.comparison.candidate_case import (
    BUT,
    CandidateCase,
    Case,
    against_control,
    control_of,
    correction_note,
    interval_of,
    metric_of,
    offline_words,
    online_words,
    relation,
    two,
)
from recdash.comparison.equal_users import equality_of
from recdash.comparison.evidence import (
    VerdictEvidence,
    evidence_of_each,
    gather_evidence,
    is_examined,
    leader_of,
    with_harm,
    with_intervals,
    without_blocked,
)
from recdash.comparison.missing_lists import MOST, missing_lists
from recdash.comparison.pairs import Comparison
from recdash.comparison.source import Source
from recdash.comparison.verdict import OfflineVerdict, decide
from recdash.comparison.wording import MANY, Piece, RichText, lift_name, plain, why_not
from recdash.domain.results import AbTestElsewhere, OnlineLift
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.result_table import frame
from recdash.formatting.wording import capital, listed, loss_of, many, named_number
from recdash.metrics.naming import metric_title

if TYPE_CHECKING:
    import pandas as pd

Action = Literal["ship", "keep", "test", "collect data", "not comparable"]
ACTIONS: tuple[Action, ...] = get_args(Action)
MOST_TESTED, MOST_REASONS, FEW = 2, 2, 2
TO_TEST: tuple[Case, ...] = ("sound", "invalid test", "inconclusive", "contested")
"""Cases in which an A/B test is recommended, the most promising first."""
ALL = 0.995
"""The share of a difference from which it is written as all of it."""
UNTESTED: RichText = (Piece("But no A/B test has confirmed it yet.", "ab-results"),)


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What to do, and with which run.

    ``run`` is the candidate to ship, to test or to collect data for, or the baseline to keep; None if the
    runs cannot be compared. ``why`` has at most two sentences, ``risks`` the reasons against it, the most
    serious first. ``cases`` has every judged candidate, best offline first. ``evidence`` is that on the
    candidate in question: the one to ship, test or collect data for, else the best offline.
    """

    action: Action
    run: str | None
    headline: str
    why: tuple[RichText, ...]
    risks: tuple[RichText, ...]
    cases: tuple[CandidateCase, ...]
    evidence: VerdictEvidence

    def _display(self) -> Display:
        return Display(self.headline, (), [*map(plain, self.sentences), "Each candidate: .table()"])

    def __repr__(self) -> str:
        """Returns headline, reasons and the most serious risk, a line each."""
        return "\n".join([self.headline, *self._display().remarks])

    def _repr_html_(self) -> str:
        """Returns the same as HTML, for notebooks."""
        return self._display().html()

    @property
    def state(self) -> Action:
        return self.action

    @property
    def name(self) -> str | None:
        return self.evidence.comparison.names[self.run] if self.run else None

    @property
    def sentences(self) -> tuple[RichText, ...]:
        """Returns the reasons and the most serious risk: at most three sentences."""
        return (*self.why, *self.gravest_risk)

    @property
    def gravest_risk(self) -> tuple[RichText, ...]:
        """Returns the two most serious risks as a sentence, with the number of further risks; empty without
        a risk.
        """
        if len(self.risks) < 2:
            return self.risks
        (*words, end), (begin, *second) = self.risks[:2]
        joint = "; " if begin == BUT else "; it also "
        first = (*words, replace(end, text=f"{end.text.removesuffix('.')}{joint}"))
        if len(self.risks) == 2:
            return ((*first, *second),)
        others = (
            f"; there {'is' if len(self.risks) == 3 else 'are'} {many(len(self.risks) - 2, 'more risk')}."
        )
        *words, end = second
        return ((*first, *words, replace(end, text=f"{end.text.removesuffix('.')}{others}")),)

    @property
    def text(self) -> str:
        """Returns headline, reasons and the most serious risk as plain text."""
        return " ".join([f"{self.headline}.", *map(plain, self.sentences)])

    @cached_property
    def offline(self) -> OfflineVerdict:
        """Returns the verdict that follows from offline numbers alone, on the candidate in question."""
        return decide(self.evidence)

    @property
    def facts(self) -> tuple[str, ...]:
        """Returns the case for every candidate and its risks as codes, by which two recommendations are
        compared whatever their words.
        """
        return tuple(sorted(f"{case.pair.candidate} {fact}" for case in self.cases for fact in case.facts))

    def case_of(self, run: str) -> CandidateCase | None:
        return next((case for case in self.cases if case.pair.candidate == run), None)

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per judged candidate, the best offline first; see
        ``CandidateCase.as_dict``.
        """
        rows = [case.as_dict() for case in self.cases]
        return frame(rows, tuple(rows[0]) if rows else ())

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values; the run is given by its name."""
        return {
            "state": self.action,
            "run": self.name,
            "headline": self.headline,
            "text": self.text,
            "why": [plain(sentence) for sentence in self.why],
            "risks": [plain(sentence) for sentence in self.risks],
        }


def recommend(
    source: Source,
    comparison: Comparison,
    *,
    intervals: bool = True,
    same_users: bool = True,
    unlinked: bool = True,
    missing: bool = True,
    named: bool = True,
    tells_control: bool = True,
    repeats: bool = False,
    former: bool = False,
) -> Recommendation:
    """Returns the recommendation that follows from all evidence on every candidate of the comparison.

    ``intervals=False`` leaves out the guardrails' intervals: they need all lists to be read again, and the
    recommendation does not depend on them. ``same_users=False`` compares the other metrics over the
    experiment's users even if the primary metric names other ones, as older reports do.
    ``unlinked=False`` does not say which A/B tests are not used, ``missing=False`` does not say whether a
    loss comes from users without recommendations, and ``named=False`` neither names the candidate from which
    another does not differ nor says how much was examined, as in older reports. Nor do those use A/B tests
    against another run than the baseline (``tells_control=False``), except for losses. ``repeats=True``
    says twice that no candidate beats the baseline, and of one that equals it that more users would be
    needed, as in reports of wording 10 and older. ``former=True`` gives the sentences of wording 11 and
    older: see ``CandidateCase``. Where the baseline is kept, they do not say in which other metrics the best
    candidate loses.
    """
    comparable, left_out = without_blocked(source, comparison)
    cases = tuple(
        CandidateCase(evidence.leader, evidence, tells_control=tells_control, former=former)
        for evidence in evidence_of_each(source, comparable, same_users=same_users, of_controls=tells_control)
        if evidence.leader is not None
    )
    if not cases or cases[0].evidence.blocking:
        return _not_comparable(cases, gather_evidence(source, comparison, intervals=False))
    if missing:
        cases = (*(_with_missing(source, case) for case in cases[:MOST_REASONS]), *cases[MOST_REASONS:])
    if not repeats:
        cases = (*(_with_equality(source, case) for case in cases[:MOST_REASONS]), *cases[MOST_REASONS:])
    comparison, chosen = comparable, _choose(cases, named=named, repeats=repeats)
    evidence = _in_question(chosen, comparison).evidence
    if not is_examined(evidence):
        evidence = with_harm(source, evidence, same_users=same_users)
    if not former and chosen.action == "keep":
        chosen = _keep(cases, repeats=repeats, harmed=evidence)
    if tells_control and chosen.action == "keep":
        base = comparison.query.baseline
        chosen = _with_losses_of_baseline(chosen, source.lifts_elsewhere(base, base))
    if left_out:
        chosen = replace(chosen, why=(*chosen.why[: MOST_REASONS - 1], _left_out(left_out, comparison)))
    if unlinked and (tests := source.unlinked_tests()):
        chosen = _with_unused(chosen, tests)
    without = replace(chosen, evidence=evidence)
    return with_guardrail_intervals(source, without) if intervals else without


def _with_missing(source: Source, case: CandidateCase) -> CandidateCase:
    return replace(case, missing=missing_lists(source, case.evidence.comparison.query, case.pair))


def _with_equality(source: Source, case: CandidateCase) -> CandidateCase:
    evidence = case.evidence
    equality = equality_of(source, evidence.comparison.query, case.pair, evidence.base)
    return replace(case, equality=equality)


def with_guardrail_intervals(source: Source, recommendation: Recommendation) -> Recommendation:
    """Returns the recommendation with the intervals that ``recommend`` left out."""
    if recommendation.action == "not comparable":
        return recommendation
    return replace(recommendation, evidence=with_intervals(source, recommendation.evidence))


def untested_rivals(today: Recommendation) -> str:
    """Returns why a candidate that won its A/B test is shipped rather than others that do not differ
    significantly from it offline: they were not in one. Empty if there are none.
    """
    leader = today.evidence.leader
    chosen = today.case_of(today.run) if today.run and today.action == "ship" else None
    if chosen is None or leader is None or chosen.case != "proven":
        return ""
    rivals = {run for pair in today.evidence.rivals() for run in (pair.baseline, pair.candidate)}
    others = [case for case in today.cases if case.pair.candidate in rivals and case.pair != chosen.pair]
    names = [case.name for case in others if not (case.was_tested or case.was_tested_elsewhere)]
    if not names:
        return ""
    do, have = ("does", "has") if len(names) == 1 else ("do", "have")
    same = f"{listed(names)} {do} not differ significantly from {chosen.name} offline"
    return f"{same}, but {have} not been in an A/B test."


def open_guardrails(today: Recommendation) -> str:
    """Returns, for each guardrail that the A/B test of the recommended candidate leaves open, which loss it
    does not rule out and how many more users would decide it. Empty if there is none.
    """
    chosen = today.case_of(today.run) if today.run else None
    lifts = [lift for lift in chosen.evidence.lifts if lift.is_open] if chosen else []
    return " ".join(map(_open_guardrail, lifts))


def _open_guardrail(lift: OnlineLift) -> str:
    loss = capital(loss_of(lift.margin, rises=lift.lower_is_better))
    text = f"{loss} in {lift_name(lift)} is not ruled out: {interval_of(lift)}"
    if not lift.more_users:
        return f"{text}."
    return f"{text}. About {numbers.count(numbers.rounded(lift.more_users))} more users would decide it."


def _choose(cases: tuple[CandidateCase, ...], *, named: bool, repeats: bool) -> Recommendation:
    """Returns the recommendation. The first of these steps that applies decides:

    1. Ship a candidate that won an A/B test: a valid test result counts more than a higher offline score. If
       it lost another test to a control without a risk, ship that one.
    2. If no candidate was tested, ship the best one without a risk.
    3. If the best of the candidates that wait for a test result has a running test, let it run on; if its
       test had a broken split (SRM), repeat the test. A broken split says nothing about the candidate, so a
       weaker candidate must not replace it only because its own test is valid or has not begun.
    4. Test the most promising candidate without a result. A test that reached its planned sample size has a
       result, even if that is not significant: extending it after a look at the result finds effects by
       chance. A candidate that lost a test to another control has a result too.
    5. Collect more data on a candidate that is ahead, unless a better one has completed a test.
    6. Keep the baseline.

    Of two candidates of one step, of which one was the control of the other's A/B test, the one that won that
    test is the better. Nor do steps 3 and 4 test one that lost to a candidate of the other of these steps.
    """
    is_tested = any(case.was_tested for case in cases)
    by_case: dict[Case, list[CandidateCase]] = {}
    for case in cases:
        by_case.setdefault(case.case, []).append(case)
    if proven := by_case.get("proven"):
        best = _best_online(_without_losers(proven))
        winner = next(
            (case for case in by_case.get("sound", ()) if case.pair.candidate in best.lost_to), best
        )
        return _ship(winner, cases, named=named)
    sound = by_case.get("sound", [])
    if sound and not is_tested:
        return _ship(_unbeaten(_without_losers(sound)), cases, named=named)
    may_be_tested = [
        case for case in cases if case.case in TO_TEST and not (case.has_ended or _is_settled(case))
    ]
    to_test = [case for case in may_be_tested if not _lost_clearly(case, may_be_tested)] or may_be_tested
    waiting = [case for case in to_test if case.case in ("sound", "invalid test") or case.is_running]
    if waiting and (best := _unbeaten(_without_losers(waiting))).case != "sound":
        alike = [case for case in to_test if case.case == best.case]
        return _test([best] if best.is_running else _without_losers(alike), cases)
    for kind in TO_TEST:
        if of_kind := [case for case in to_test if case.case == kind]:
            return _test(_without_losers(of_kind), cases)
    unsure = [case for case in by_case.get("unsure", ()) if _may_win(case, cases)]
    if unsure:
        return _collect(min(unsure, key=lambda case: case.pair.judged.more_users or inf), cases)
    return _keep(cases, repeats=repeats)


def _without_losers(cases: Sequence[CandidateCase]) -> Sequence[CandidateCase]:
    """Returns the candidates except those that lost an A/B test to another of them, as a variant or as the
    control; all of them if that leaves none.
    """
    beaten = {run for case in cases for run in case.won_against}
    others = {case.pair.candidate for case in cases}
    return [
        case for case in cases if case.pair.candidate not in beaten and not case.lost_to & others
    ] or cases


def _lost_clearly(case: CandidateCase, others: Sequence[CandidateCase]) -> bool:
    """Returns whether a candidate lost an A/B test to one of the others that lost none to it."""
    return any(_lost(case, other) and not _lost(other, case) for other in others)


def _lost(case: CandidateCase, other: CandidateCase) -> bool:
    """Returns whether a candidate lost an A/B test to the other, as a variant or as the control."""
    return other.pair.candidate in case.lost_to or case.pair.candidate in other.won_against


def _is_settled(case: CandidateCase) -> bool:
    """Returns whether the only A/B test result of a candidate is that it lost to another control."""
    return case.case == "contested" and bool(case.lost_to)


def _may_win(unsure: CandidateCase, cases: tuple[CandidateCase, ...]) -> bool:
    """Returns whether more data may show that a candidate is the one to test: it is ahead, its difference is
    within reach, and no better candidate has completed a test without a significant lift.
    """
    if unsure.gain <= 0 or unsure.is_out_of_reach:
        return False
    return not any(case.has_ended and (case.gain >= unsure.gain or _beats(case, unsure)) for case in cases)


def _best_online(proven: Sequence[CandidateCase]) -> CandidateCase:
    """Returns the candidate with the largest lift in the first goal that was measured for all of them in the
    same test; if there is none, the best offline.
    """
    for goal in proven[0].evidence.lifts:
        by_case = [{(lift.test, lift.title): lift.lift for lift in case.evidence.lifts} for case in proven]
        key = (goal.test, goal.title)
        if goal.is_goal and all(key in lifts for lifts in by_case):
            return max(zip(proven, by_case, strict=True), key=lambda item: item[1][key])[0]
    return proven[0]


def _in_question(chosen: Recommendation, comparison: Comparison) -> CandidateCase:
    """Returns the case of the recommended candidate; if the baseline is recommended, of the candidate that is
    best offline.
    """
    own = chosen.case_of(chosen.run) if chosen.run else None
    if own is not None:
        return own
    leader = leader_of(comparison, chosen.cases[0].evidence.over_replicates)
    return next(case for case in chosen.cases if case.pair == leader)


# ── the five actions ─────────────────────────────────────────────────────────────────────────


def _not_comparable(cases: tuple[CandidateCase, ...], evidence: VerdictEvidence) -> Recommendation:
    reasons = [problem.found for problem in evidence.blocking] or list(evidence.comparison.apart.values())
    reason = reasons[0] if reasons else f"there is no candidate beside {evidence.base}"
    headline = f"Cannot be compared: {reason}"
    return Recommendation("not comparable", None, headline, tuple(why_not(evidence)), (), cases, evidence)


def _ship(chosen: CandidateCase, cases: tuple[CandidateCase, ...], *, named: bool) -> Recommendation:
    offline = offline_words(chosen)
    if chosen.case == "sound":
        nothing = "no other metric, segment of users or guardrail speaks against it"
        why = _linked(f"{offline}, and {_examined(chosen) if named else nothing}.", "leaderboard")
    else:
        won, finding = chosen.evidence.won_online[0], chosen.evidence.finding
        lift = online_words(won)
        text = f"It won offline and online: {offline}, and {lift}."
        if finding != "better":
            unsure = ", which is not significant" if finding == "not settled" else ""
            text = f"It won online: {lift}; offline, {offline}{unsure}."
        why = (Piece(text, "offline-online", metric_of(_telling(won, cases))),)
    risks = chosen.objections or (() if chosen.evidence.lifts else (_untested(chosen),))
    others = [*_passed_over(chosen, cases), *_lost_to(chosen, cases), *_as_good(chosen, cases, named=named)]
    return Recommendation(
        "ship", chosen.pair.candidate, f"Ship {chosen.name}", (why, *others)[:MOST_REASONS], risks, cases,
        chosen.evidence,
    )  # fmt: skip


def _telling(won: OnlineLift, cases: Sequence[CandidateCase]) -> OnlineLift:
    """Returns the lift whose metric tells most about both sides: one that a candidate which is better offline
    lost in the same test, the one won if it is among them or if there is none.
    """
    disagreeing = [
        lift
        for case in cases
        if case.evidence.finding == "better"
        for lift in case.evidence.lost_online
        if lift.test == won.test
    ]
    is_among = any(lift.metric == won.metric for lift in disagreeing)
    return won if is_among or not disagreeing else disagreeing[0]


def _test(to_test: Sequence[CandidateCase], cases: tuple[CandidateCase, ...]) -> Recommendation:
    """Returns the recommendation to test the best of these candidates, and one more if it does not differ
    significantly from the best.
    """
    first = _unbeaten(to_test)
    others = (case for case in to_test if case is not first and not _beats(first, case))
    chosen = [first, *others][:MOST_TESTED]
    names = listed([case.name for case in chosen])
    headline, end = f"Run an A/B test of {names}", "; it has not been in an A/B test"
    if first.was_tested_elsewhere:
        headline = f"{headline} against {first.evidence.base}"
    if first.evidence.lost_elsewhere or (first.as_control and not first.lifts_elsewhere):
        end = f"; it has not been in an A/B test against {first.evidence.base}"
    elif first.lifts_elsewhere:
        end = f"; {_tested_elsewhere(first)}"
    elif first.invalid_elsewhere:
        end = f"; its A/B test against {control_of(first.invalid_elsewhere[0])} is invalid (SRM)"
    if first.case == "inconclusive":
        known = [lift.more_users for lift in first.evidence.lifts if lift.is_goal and lift.more_users]
        more = f": about {numbers.count(numbers.rounded(min(known)))} more users" if known else ""
        headline = f"Run a longer A/B test of {first.name}{more}"
        end = ", but its A/B test shows no significant lift yet"
    if first.case == "invalid test":
        headline = f"Run the A/B test of {names} again: its split is broken"
        end = ", but the A/B test split its users unevenly (SRM) and has no valid result"
    own = first.evidence.comparison.query.where
    is_named = len(chosen) > 1 or first.was_tested_elsewhere
    of_which = f"{own} of {first.name}" if is_named else own
    text = f"{of_which} is {relation(first)}{end}."
    others_why = (*_passed_over(first, cases), *_lost_to(first, cases))
    why = (_linked(text, "leaderboard"), *others_why)[:MOST_REASONS]
    return Recommendation(
        "test", first.pair.candidate, headline, why, first.objections, cases, first.evidence
    )


def _collect(chosen: CandidateCase, cases: tuple[CandidateCase, ...]) -> Recommendation:
    pair, more = chosen.pair, chosen.pair.judged.more_users
    seeds = chosen.evidence.leader_over_replicates
    if pair.judged.word == "better" and seeds is not None:
        headline = f"Not enough data: the gain of {chosen.name} does not hold across {seeds.noun}s"
    elif more:
        headline = f"Not enough data: about {numbers.count(numbers.rounded(more))} more users"
    else:
        headline = f"Not enough data to judge {chosen.name}"
    where = chosen.evidence.comparison.query.where
    standing = f"{where} of {chosen.name} is {relation(chosen)}"
    why = [_linked(f"{standing}, which is not significant.", "leaderboard")]
    if note := correction_note(chosen):
        why.append(_linked(f"{note}.", "leaderboard"))
    if chosen.evidence.lifts:
        why.append(_linked("Its A/B test shows no significant lift either.", "ab-results"))
    why += _passed_over(chosen, cases)
    run = chosen.pair.candidate
    return Recommendation(
        "collect data", run, headline, tuple(why[:MOST_REASONS]), (), cases, chosen.evidence
    )


def _keep(
    cases: tuple[CandidateCase, ...], *, repeats: bool, harmed: VerdictEvidence | None = None
) -> Recommendation:
    """Returns the recommendation to keep the baseline, with the reasons against the best candidates. For a
    candidate that won and lost online, a sentence says when to ship it. ``harmed`` is the evidence on one of
    them of which it is told in which other metrics it loses.
    """
    first, n = cases[0], len(cases)
    base = first.evidence.base
    none_beats = n > FEW and not any(case.evidence.finding == "better" for case in cases)
    is_closest = none_beats and not repeats
    ordered = sorted(cases, key=lambda case: not (case.evidence.lost_online or _is_settled(case)))
    why = [
        (*_declined(case, is_closest=is_closest and case is first), *_other_losses(case, harmed))
        for case in ordered
    ]
    if none_beats:
        why.insert(
            0, _linked(f"None of the {named_number(n).lower()} candidates beats {base}.", "leaderboard")
        )
    mixed = [case for case in cases if case.case == "mixed"]
    unless = [_linked(_unless(case), "offline-online") for case in mixed[:1]]
    ended = [case for case in cases if case.has_ended]
    unless += [
        _linked(f"If a smaller lift matters to you, plan a larger A/B test of {case.name}.", "ab-results")
        for case in ended[: 1 - len(unless)]
    ]
    unless += [
        _linked(f"{case.name} has not been in an A/B test against {base}.", "ab-results")
        for case in [case for case in cases if _is_settled(case)][: 1 - len(unless)]
    ]
    run = first.pair.baseline
    reasons = tuple(why[:MOST_REASONS])
    return Recommendation("keep", run, f"Keep {base}", reasons, tuple(unless), cases, first.evidence)


def _with_losses_of_baseline(kept: Recommendation, lifts: Sequence[OnlineLift]) -> Recommendation:
    """Returns the recommendation with what the baseline lost in A/B tests in which it was a variant, in place
    of when to ship another.
    """
    base = kept.evidence.base
    losses = tuple(
        (Piece(f"But {base} "), *against_control(lift), Piece(".")) for lift in lifts if lift.is_lost
    )
    return replace(kept, risks=losses or kept.risks)


def _left_out(left_out: Mapping[str, Problem], comparison: Comparison) -> RichText:
    """Returns a sentence on the candidates that were not judged, and why."""
    names = listed([comparison.names[run] for run in left_out])
    if len(left_out) == 1:
        return _linked(f"{names} is left out: {next(iter(left_out.values())).found}.", "runs")
    base = comparison.names[comparison.query.baseline]
    return _linked(f"{names} are left out: they cannot be compared with {base}.", "runs")


def _with_unused(chosen: Recommendation, tests: Sequence[str]) -> Recommendation:
    """Returns the recommendation with a sentence on the A/B tests that are not used, and what to do."""
    are, their = f"{many(len(tests), 'A/B test')} are", "their"
    if len(tests) == 1:
        are, their = f"the A/B test {tests[0]} is", "its"
    text = f"{are} not used: link {their} variants to the runs that they served."
    if chosen.risks == (UNTESTED,):
        return replace(chosen, risks=(_linked(f"But {text}", "offline-online"),))
    sentence = _linked(capital(text), "offline-online")
    return replace(chosen, why=(*chosen.why[: MOST_REASONS - 1], sentence))


# ── sentences ────────────────────────────────────────────────────────────────────────────────


def _untested(case: CandidateCase) -> RichText:
    """Returns that no A/B test has confirmed the difference from the baseline, or against which run the
    candidate was tested, and the result.
    """
    if not case.lifts_elsewhere:
        return _invalid_elsewhere(case) if case.invalid_elsewhere else UNTESTED
    lift = case.telling_elsewhere[0]
    return (
        Piece("But its A/B test was against "),
        _link_to_control(lift),
        Piece(f", not {case.evidence.base}: "),
        Piece(online_words(lift), "ab-results", metric_of(lift)),
        Piece(_significance(lift)),
    )


def _invalid_elsewhere(case: CandidateCase) -> RichText:
    test = case.invalid_elsewhere[0]
    return (
        Piece("But its A/B test "),
        Piece(test.test, "ab-results"),
        Piece(" was against "),
        _link_to_control(test),
        Piece(f", not {case.evidence.base}, and is invalid: it split its users unevenly (SRM)."),
    )


def _link_to_control(result: OnlineLift | AbTestElsewhere) -> Piece:
    """Returns the name of the run that control served, which leads to the page with it as the baseline."""
    return Piece(control_of(result), "overview", {"b": result.control_run} if result.control_run else {})


def _significance(lift: OnlineLift) -> str:
    return ", which is not significant." if lift.low <= 0 <= lift.high else "."


def _tested_elsewhere(case: CandidateCase) -> str:
    """Returns against which run a candidate was tested, such as ``its A/B test was against ALS, not
    Popular``.
    """
    lift = case.telling_elsewhere[0]
    return f"its A/B test was against {control_of(lift)}, not {case.evidence.base}"


def _unless(case: CandidateCase) -> str:
    """Returns when to ship a candidate that won and lost online. If two tests contradict each other in a
    metric, returns the advice to repeat the test.
    """
    lost, won = case.evidence.lost_online, case.evidence.won_online
    for lift in lost:
        other = next((other for other in won if other.title == lift.title), None)
        if other is not None:
            return (
                f"Repeat its A/B test before you decide: {lift_name(lift)} of {case.name} "
                f"improved in {other.test} and got worse in {lift.test}."
            )
    return f"Ship {case.name} if {lift_name(lost[0])} matters less to you than {lift_name(won[0])}."


def _declined(case: CandidateCase, *, is_closest: bool) -> RichText:
    """Returns why a candidate is not shipped, as a sentence.

    ``is_closest`` is whether the sentence before says that no candidate beats the baseline, and this one is
    the best of them.
    """
    base, where = case.evidence.base, case.evidence.comparison.query.where
    if case.evidence.lost_online or _is_settled(case):
        offline = "wins offline, but " if case.evidence.finding == "better" else ""
        return (Piece(f"Don't ship {case.name} yet: it {offline}"), *case.risks[0], Piece("."))
    if case.has_ended:
        goals = [f": {lift_name(lift)} {interval_of(lift)}" for lift in case.evidence.lifts if lift.is_goal]
        text = f"{case.name} wins offline, but its A/B test ended without a significant lift"
        return _linked(f"{text}{''.join(goals[:1])}.", "ab-results")
    if case.case == "no gain":
        margin = case.evidence.comparison.query.terms.margin
        return _linked(f"{case.name} differs from {base} by less than the margin of {margin}.", "leaderboard")
    if case.case == "worse":
        text = f"{case.name} is worse: its {where} is {relation(case)}."
        return (*_linked(text, "leaderboard"), *_of_missing(case))
    end = (
        f", and more than {MANY} times the users would be needed to confirm it"
        if case.is_out_of_reach
        else ""
    )
    why = case.equality or f"its {where} is {relation(case)}{end}"
    text = f"{case.name} {'comes closest' if is_closest else f'does not beat {base}'}: {why}."
    return (*_linked(text, "leaderboard"), *_of_missing(case))


def _other_losses(case: CandidateCase, harmed: VerdictEvidence | None) -> RichText:
    """Returns a sentence on the other metrics in which a candidate is worse that is not worse in the primary
    one: ``Its Recall@10 is significantly worse: 9.6 % below Popular.`` Empty for one that ``harmed`` is not
    about.
    """
    if harmed is None or harmed.leader != case.pair or case.case not in ("no gain", "unsure"):
        return ()
    k = harmed.comparison.query.k
    worse = [(metric, pair) for metric, pair in harmed.metrics if pair.judged.word == "worse"]
    if not worse:
        return ()
    metric, pair = worse[0]
    more = f" and {many(len(worse) - 1, 'more metric')} are" if len(worse) > 1 else " is"
    amount = relative.relation_to(pair, harmed.base, two)
    name = Piece(metric_title(metric, k), "metric-vs-k", {"m": metric})
    return (Piece(" Its "), name, Piece(f"{more} significantly worse: {amount}."))


def _of_missing(case: CandidateCase) -> RichText:
    """Returns a sentence on how much of a loss comes from users without recommendations, and what remains for
    the others: ``96 % of this loss comes from 1,685 users without recommendations from it; for the other
    2,871, there is no significant difference.`` Empty unless it is most of the loss.
    """
    missing = case.missing
    if missing is None or case.gain >= 0 or missing.share < MOST:
        return ()
    pair, base, where = missing.served, case.evidence.base, case.evidence.comparison.query.where
    findings = {
        "tie": "the difference is too small to matter",
        "not settled": "there is no significant difference",
    }
    finding = findings.get(pair.judged.word, f"its {where} is {relative.relation_to(pair, base, two)}")
    if pair.is_identical:
        finding = f"it equals {base}"
    share = "All" if missing.share >= ALL else f"{100 * missing.share:.0f} %"
    without = f"{numbers.users(missing.n_users)} without recommendations from it"
    others = f"for the other {numbers.count(pair.paired.n)}, {finding}"
    return (Piece(f" {share} of this loss comes from {without}; {others}."),)


def _passed_over(chosen: CandidateCase, cases: tuple[CandidateCase, ...]) -> Iterator[RichText]:
    """Yields a sentence for each candidate that is significantly better offline than the chosen one: why it
    was not chosen. If the chosen one has risks too, what sets them apart is that only it was in an A/B test.
    """
    for case in cases:
        if case is not chosen and _beats(case, chosen):
            better = "better" if case.evidence.comparison.lower_is_better else "higher"
            if chosen.won_as_variant_against(case.pair.candidate):
                why = Piece(f"{chosen.name} won the A/B test against it", "ab-results")
                yield (Piece(f"{case.name} scores {better} offline, but "), why, Piece("."))
                continue
            is_apart = case.case == "contested" and bool(chosen.risks) and chosen.was_tested
            end = (Piece(", and "), Piece("has not been in an A/B test", "ab-results")) if is_apart else ()
            yield (Piece(f"{case.name} scores {better} offline, but "), *against(case), *end, Piece("."))


def _lost_to(chosen: CandidateCase, cases: tuple[CandidateCase, ...]) -> Iterator[RichText]:
    """Yields what each candidate lost that lost an A/B test to the chosen one as the control, and that is not
    significantly better offline.
    """
    for case in cases:
        if chosen.pair.candidate in case.lost_to and not _beats(case, chosen):
            yield (Piece(f"{case.name} "), *case.loss_to(chosen.pair.candidate), Piece("."))


def _examined(case: CandidateCase) -> str:
    """Returns that nothing speaks against a candidate, with how much was examined, such as ``nothing speaks
    against it in 5 other metrics, 3 segments of users and 5 guardrails``.
    """
    evidence = case.evidence
    counts = (
        (len(evidence.metrics), "other metric", ""),
        (len(evidence.slices), "segment", " of users"),
        (len(evidence.guardrails), "guardrail", ""),
    )
    looked_at = [f"{many(n, noun)}{of}" for n, noun, of in counts if n]
    return f"nothing speaks against it in {listed(looked_at)}" if looked_at else "nothing else was examined"


def _as_good(chosen: CandidateCase, cases: tuple[CandidateCase, ...], *, named: bool) -> Iterator[RichText]:
    """Yields a sentence for each candidate that has the same case as the chosen one and is not significantly
    worse.
    """
    for case in cases:
        if case is chosen or case.case != chosen.case or _beats(chosen, case):
            continue
        other = chosen.name if named else "it"
        text = f"is not significantly different from {other}"
        if chosen.case == "proven":
            text = "also won its A/B test"
        yield _linked(f"{case.name} {text}.", "leaderboard")


def against(case: CandidateCase) -> RichText:
    """Returns why a candidate is not chosen, as the end of a sentence that begins with its name."""
    base = case.evidence.base
    if case.case == "worse":
        where = case.evidence.comparison.query.where
        return (Piece(f"is worse offline: {where} is {relation(case)}", "leaderboard"),)
    if case.risks:
        return case.risks[0]
    words: Mapping[Case, tuple[str, str]] = {
        "no gain": (f"differs from {base} by less than the margin", "leaderboard"),
        "unsure": (f"does not differ significantly from {base}", "leaderboard"),
        "inconclusive": ("shows no significant lift in its A/B test", "ab-results"),
        "invalid test": ("has no valid A/B test", "ab-results"),
        "proven": ("gained less in the A/B test", "offline-online"),
    }
    untested = "has not been in an A/B test"
    if case.was_tested_elsewhere:
        untested = f"{untested} against {base}"
    text, page = words.get(case.case, (untested, "ab-results"))
    return (Piece(text, page),)


def _unbeaten(cases: Sequence[CandidateCase]) -> CandidateCase:
    """Returns the first candidate that no other beats significantly, else the first of all.

    The first of all may be beaten: its gain is largest over the users that it shares with the baseline, and
    other pairs share other users.
    """
    for case in cases:
        if not any(_beats(other, case) for other in cases):
            return case
    return cases[0]


def _beats(case: CandidateCase, other: CandidateCase) -> bool:
    """Returns whether the first candidate is significantly better than the second, over the users that they
    share.
    """
    first, second = case.pair.candidate, other.pair.candidate
    if first == second:
        return False
    word = {(first, second): "worse", (second, first): "better"}
    return any(
        pair.judged.word == word.get((pair.baseline, pair.candidate))
        for pair in case.evidence.comparison.among
    )


def _linked(text: str, page: str) -> RichText:
    return (Piece(text, page),)
