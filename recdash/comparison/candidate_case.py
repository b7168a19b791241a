"""The case for each candidate: one word that sums up all evidence on it, and the risks of shipping it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor, log10
from typing import Any, Literal

from recdash.comparison import relative
from recdash.comparison.evidence import SliceDifference, VerdictEvidence
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.missing_lists import MissingLists
from recdash.comparison.pairs import Pair
from recdash.comparison.wording import MANY, Piece, RichText, lift_name, n_tested, plain, slice_words
from recdash.domain.results import AbTestElsewhere, OnlineLift
from recdash.formatting import numbers
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.wording import CORRECTIONS, adjusted, capital, listed, loss_of
from recdash.metrics.naming import metric_row, metric_title
from recdash.stats import Finding

Case = Literal[
    "proven", "mixed", "lost online", "sound", "contested", "inconclusive", "invalid test", "unsure",
    "no gain", "worse",
]  # fmt: skip
WITHOUT_GAIN: Mapping[Finding, Case] = {"worse": "worse", "tie": "no gain", "not settled": "unsure"}
CASES: Mapping[Case, str] = {
    "proven": "Won its A/B test",
    "mixed": "Won and lost in its A/B test",
    "lost online": "Lost its A/B test",
    "sound": "Better offline, not tested online",
    "contested": "Better offline, with a risk",
    "inconclusive": "Better offline, A/B test inconclusive",
    "invalid test": "Better offline, A/B test invalid",
    "unsure": "No significant difference",
    "no gain": "Difference too small to matter",
    "worse": "Worse offline",
}
"""The words that readers see for each case."""
BUT = Piece("But ")


@dataclass(frozen=True)
class CandidateCase:
    """The case for shipping one candidate, which is the leader of its ``evidence``.

    ``pair`` is its difference from the baseline by the primary metric. ``missing`` is what the users without
    recommendations from it have of that difference; None if there are none, or if it was not asked for.
    ``tells_control`` is whether words use A/B tests against another run than the baseline, and name that run;
    in older reports only its losses there are told. ``equality`` is how it equals the baseline for every
    user; empty if it does not: see ``equality_of``.
    ``former`` gives the words of reports of wording 11 and older: they do not say that a segment of users
    gets no recommendations, and say of a guardrail that an A/B test leaves open that the candidate may break
    it, rather than which loss is not ruled out.
    """

    pair: Pair
    evidence: VerdictEvidence
    missing: MissingLists | None = None
    tells_control: bool = True
    equality: str = ""
    former: bool = False

    @property
    def lifts_elsewhere(self) -> tuple[OnlineLift, ...]:
        """Returns the results of A/B tests against another run than the baseline, where words use them."""
        return self.evidence.lifts_elsewhere if self.tells_control else ()

    @property
    def tests_elsewhere(self) -> tuple[AbTestElsewhere, ...]:
        """Returns the A/B tests against another run than the baseline in which the candidate was a variant or
        control, where words use them.
        """
        return self.evidence.tests_elsewhere if self.tells_control else ()

    @property
    def invalid_elsewhere(self) -> tuple[AbTestElsewhere, ...]:
        """Returns its A/B tests against another run than the baseline that have no valid result."""
        return tuple(test for test in self.tests_elsewhere if not (test.is_control or test.is_valid))

    @property
    def as_control(self) -> tuple[AbTestElsewhere, ...]:
        """Returns the A/B tests in which control served the candidate."""
        return tuple(test for test in self.tests_elsewhere if test.is_control)

    @property
    def lost_to(self) -> frozenset[str]:
        """Returns the ids of the runs to which it lost an A/B test in which they were the control, with an
        empty id for an unknown run; nothing in older reports.
        """
        return frozenset(lift.control_run for lift in self.lifts_elsewhere if lift.is_lost)

    @property
    def won_against(self) -> frozenset[str]:
        """Returns the ids of the runs against which it won an A/B test and lost nothing there; nothing in
        older reports.
        """
        return frozenset(lift.control_run for lift in self.lifts_elsewhere if lift.is_won) - self.lost_to

    def won_as_variant_against(self, run_id: str) -> bool:
        """Returns whether it won an A/B test in which this run was the control, and lost nothing to it."""
        won = (lift.control_run for lift in self.lifts_elsewhere if lift.is_won and not lift.is_reversed)
        return run_id in won and run_id not in self.lost_to

    @property
    def was_tested(self) -> bool:
        """Returns whether it was in an A/B test against the baseline."""
        return bool(self.evidence.lifts or self.evidence.invalid_tests)

    @property
    def was_tested_elsewhere(self) -> bool:
        """Returns whether it was in an A/B test against another run than the baseline, as a variant or as
        control, and words use that test.
        """
        return bool(self.lifts_elsewhere or self.tests_elsewhere)

    @property
    def telling_elsewhere(self) -> tuple[OnlineLift, ...]:
        """Returns its significant results in A/B tests against another run than the baseline, losses first;
        without one the first goal, else the first guardrail.
        """
        lifts = self.lifts_elsewhere
        lost, won = [lift for lift in lifts if lift.is_lost], [lift for lift in lifts if lift.is_won]
        return (*lost, *won) or tuple(sorted(lifts, key=lambda lift: not lift.is_goal)[:1])

    @property
    def name(self) -> str:
        return self.evidence.name

    @cached_property
    def case(self) -> Case:
        """Returns the case for shipping the candidate; results of A/B tests outweigh offline results.

        *proven*: it won a goal of an A/B test and lost none. *mixed*: it won and lost there. *lost online*:
        it only lost. Without a significant result online, *sound*: it is better offline, and there is no
        risk. *contested*: it is better offline, with at least one risk. *inconclusive*: it is better offline,
        and its A/B test has no significant lift. *invalid test*: it is better offline, and its A/B test has
        no valid result. *unsure*: the offline difference is not significant. *no gain*: that difference is
        too small to matter. *worse*: it is worse offline.
        """
        evidence = self.evidence
        if evidence.lost_online:
            return "mixed" if evidence.won_online else "lost online"
        if evidence.won_online:
            return "proven"
        if evidence.finding != "better":
            return WITHOUT_GAIN[evidence.finding]
        if evidence.lifts:
            return "inconclusive"
        if evidence.invalid_tests:
            return "invalid test"
        return "contested" if self.risks else "sound"

    @property
    def is_running(self) -> bool:
        """Returns whether its A/B test has no significant lift yet and may go on: fewer users than planned
        were exposed, or no number of users was planned.
        """
        return self.case == "inconclusive" and not all(lift.is_complete for lift in self.evidence.lifts)

    @property
    def has_ended(self) -> bool:
        """Returns whether its A/B test has no significant lift although all planned users were exposed."""
        return self.case == "inconclusive" and not self.is_running

    @property
    def is_out_of_reach(self) -> bool:
        """Returns whether a significant offline difference would need more than ``MANY`` times as many users
        as it has.
        """
        judged = self.pair.judged
        return judged.word == "not settled" and (judged.more_users or 0) > MANY * self.pair.paired.n

    @property
    def words(self) -> str:
        """Returns the case in words, such as ``Won its A/B test`` or ``Better offline, won in its A/B test
        against ALS``.
        """
        if self.case not in ("sound", "contested"):
            return CASES[self.case]
        result = self._result_elsewhere
        if not result:
            return CASES[self.case]
        other_risks = len(self.risks) > len(self.evidence.lost_elsewhere)
        return f"Better offline, {result}{', with a risk' if other_risks else ''}"

    @property
    def _result_elsewhere(self) -> str:
        """Returns the result of its A/B tests against another run than the baseline, such as ``lost in its
        A/B test against ALS``; empty without one.
        """
        if self.telling_elsewhere:
            by_verb = {
                "won": self._controls_of(self.evidence.won_elsewhere),
                "lost": self._controls_of(self.evidence.lost_elsewhere),
            }
            verbs = [verb for verb, controls in by_verb.items() if controls]
            if not verbs:
                return f"A/B test against {control_of(self.telling_elsewhere[0])} inconclusive"
            several = {name for controls in by_verb.values() for name in controls}
            if len(several) == 1:
                return f"{' and '.join(verbs)} in its A/B test against {several.pop()}"
            return f"{' and '.join(f'{verb} against {listed(by_verb[verb])}' for verb in verbs)} in A/B tests"
        if self.invalid_elsewhere:
            return f"A/B test against {control_of(self.invalid_elsewhere[0])} invalid"
        return f"control of the A/B test {self.as_control[0].test}" if self.as_control else ""

    def _controls_of(self, lifts: Sequence[OnlineLift]) -> list[str]:
        return list(dict.fromkeys(map(control_of, lifts)))

    @property
    def gain(self) -> float:
        """Returns the offline difference from the baseline in units of the metric; above 0 if the candidate
        is better.
        """
        mean = self.pair.paired.mean
        return -mean if self.evidence.comparison.lower_is_better else mean

    @property
    def decided_by_correction(self) -> bool:
        """Returns whether the offline difference is significant before the correction for several candidates,
        and not after it.
        """
        judged = self.pair.judged
        return (
            judged.word == "not settled"
            and self.pair.paired.excludes_zero
            and not judged.corrected.excludes_zero
        )

    @property
    def risks(self) -> tuple[RichText, ...]:
        """Returns the reasons not to ship the candidate, the most serious first; empty if there are none.

        Each is the end of a sentence that begins with the candidate, such as ``cut session watch time by 12
        %``, or a clause of its own, such as ``a drop of 2 % in sessions per user is not ruled out``.
        """
        return tuple(risk.text for risk in self._risks)

    @property
    def objections(self) -> tuple[RichText, ...]:
        """Returns each risk as a sentence that begins with *But*. In a clause of its own, *But* is a piece
        of its own.
        """
        begin = Piece(f"But {self.name} ")
        return tuple((BUT if risk.is_clause else begin, *risk.text, Piece(".")) for risk in self._risks)

    @property
    def risk_sentences(self) -> tuple[str, ...]:
        """Returns each risk as a sentence without *But*."""
        texts = [(risk.is_clause, plain(risk.text)) for risk in self._risks]
        return tuple(f"{capital(text) if is_clause else f'{self.name} {text}'}." for is_clause, text in texts)

    @property
    def facts(self) -> tuple[str, ...]:
        """Returns the case and each risk as a code without numbers, such as ``mixed`` and ``lost Homepage:
        session_watch_time``. They stay the same while only words or amounts change.
        """
        return (self.case, *(risk.code for risk in self._risks))

    def _of_lists(self, part: SliceDifference) -> str:
        """Returns that a slice gets no recommendations, which is then why the candidate is worse in it."""
        if self.former or not part.has_no_list:
            return ""
        return f" (no recommendations for any of these {numbers.count(part.pair.paired.n)})"

    @cached_property
    def _risks(self) -> tuple[_Risk, ...]:
        evidence, k = self.evidence, self.evidence.comparison.query.k
        lifts = [_Risk(f"lost {_code(lift)}", against_online(lift)) for lift in evidence.lost_online]
        metrics = [
            _risk(
                f"worse {metric}",
                f"{'raises' if pair.judged.lower_is_better else 'lowers'} ",
                f"{metric_title(metric, k)} by {percent_of(pair)}",
                "metric-vs-k",
                m=metric,
            )
            for metric, pair in sorted(evidence.metrics, key=lambda item: item[1].judged.lower_is_better)
            if pair.judged.word == "worse"
        ]
        slices = [
            _risk(
                f"worse {part.by}={part.value}",
                "is worse for ",
                slice_words(part),
                "segments",
                self._of_lists(part),
                by=part.by,
                c=part.pair.candidate,
            )
            for part in evidence.slices
            if part.pair.judged.word == "worse"
        ]
        rails = [
            _risk(
                f"breaks {rail.metric}",
                f"{'raises' if rail.change > 0 else 'lowers'} ",
                f"{metric_row(rail.metric).usage.guardrail} {rail_amount(rail, evidence.base)}",
                "settings",
                f", which exceeds the {100 * rail.guard:.3g} % guardrail",
            )
            for rail in evidence.guardrails
            if rail.is_broken
        ]
        elsewhere = [
            _Risk(f"lost elsewhere {_code(lift)}", self._against_elsewhere(lift))
            for lift in evidence.lost_elsewhere
        ]
        unknown = [self._open(lift) for lift in evidence.lifts if lift.is_open]
        return (*lifts, *elsewhere, *metrics, *slices, *rails, *unknown)

    def _open(self, lift: OnlineLift) -> _Risk:
        code, name = f"may break {_code(lift)}", lift_name(lift)
        if self.former:
            return _risk(code, "may break the guardrail ", name, "ab-results", " in the A/B test")
        loss = f"{loss_of(lift.margin, rises=lift.lower_is_better)} in "
        return replace(_risk(code, loss, name, "ab-results", " is not ruled out"), is_clause=True)

    def loss_to(self, run_id: str) -> RichText:
        """Returns what it lost in an A/B test to a run that was the control, as the end of a sentence."""
        lost = next(lift for lift in self.evidence.lost_elsewhere if lift.control_run == run_id)
        return against_control(lost)

    def _against_elsewhere(self, lift: OnlineLift) -> RichText:
        if self.tells_control:
            return against_control(lift)
        end = f" {lift.test}, against another run than {self.evidence.base}"
        return (*against_online(lift), Piece(end))

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values: the case, the offline difference with p before and after the correction,
        the lifts of A/B tests and the risks. NaN becomes None.
        """
        pair, judged = self.pair, self.pair.judged
        return {
            "candidate": self.name,
            "case": self.case,
            "words": self.words,
            "mean_diff": pair.paired.mean,
            "ci_low": none_if_nan(judged.corrected.low),
            "ci_high": none_if_nan(judged.corrected.high),
            "p": none_if_nan(pair.paired.p),
            "p_corrected": none_if_nan(judged.p),
            "decided_by_correction": self.decided_by_correction,
            "lifts": [
                {"test": lift.test, "metric": lift.title, "lift": lift.change, "ci": list(lift.interval)}
                for lift in self.evidence.lifts
            ],
            "invalid_tests": list(self.evidence.invalid_tests),
            "risks": [plain(risk) for risk in self.risks],
        }


def correction_note(case: CandidateCase) -> str:
    """Returns a note such as ``Significant alone, not after Holm over 8 candidates``; empty unless the
    correction removes the significance.
    """
    rule = CORRECTIONS.get(case.evidence.comparison.query.terms.correction)
    n = n_tested(case.evidence.comparison.against)
    if not rule or not case.decided_by_correction:
        return ""
    return f"Significant alone, not after {rule} over {n} candidates"


# ── words ────────────────────────────────────────────────────────────────────────────────────


def offline_words(case: CandidateCase) -> str:
    """Returns the offline difference in words, such as ``nDCG@10 is 60 % above Popular``."""
    return f"{case.evidence.comparison.query.where} is {relation(case)}"


def relation(case: CandidateCase) -> str:
    """Returns the difference from the baseline with two significant digits, such as ``60 % above Popular``
    or ``2.4 times that of Popular``; ``equal to Popular`` for 0.
    """
    return relative.relation_to(case.pair, case.evidence.base, two)


def online_words(lift: OnlineLift) -> str:
    """Returns a lift in words, such as ``session watch time rose by 5.1 % in the A/B test``."""
    verb = "rose" if lift.change > 0 else "fell"
    beside = adjusted(lift.plain, " ({})")
    return f"{lift_name(lift)} {verb} by {two(100 * abs(lift.change))} % in the A/B test{beside}"


def interval_of(lift: OnlineLift) -> str:
    """Returns the interval of a lift in words, such as ``−2.00 to +4.00 % (95 % CI)``: the changes that the
    test does not exclude.
    """
    low, high = (100 * end for end in lift.interval)
    return f"{numbers.interval(low, high, numbers.places([low, high]), ' %')} (95 % CI)"


def control_of(result: OnlineLift | AbTestElsewhere) -> str:
    """Returns the name of the run that control served, or *another run* if it is unknown."""
    return result.control or "another run"


def against_online(lift: OnlineLift, which: str = "") -> RichText:
    """Returns a loss in an A/B test as the end of a sentence, such as ``cut session watch time by 12 % in the
    A/B test``. ``which`` names the test.
    """
    verb = "raised" if lift.change > 0 else "cut"
    amount = f"{lift_name(lift)} by {two(100 * abs(lift.change))} %"
    limit = f", which exceeds its {100 * lift.margin:.3g} % margin" if lift.margin else ""
    beside = adjusted(lift.plain, " ({})")
    return (
        Piece(f"{verb} "),
        Piece(amount, "offline-online", metric_of(lift)),
        Piece(f" in the A/B test{which}{beside}{limit}"),
    )


def against_control(lift: OnlineLift) -> RichText:
    """Returns a loss in an A/B test, with the names of test and control: see ``against_online``."""
    return against_online(lift, f" {lift.test} against {control_of(lift)}")


def metric_of(lift: OnlineLift) -> dict[str, str]:
    """Returns the URL parameter with which a page of the A/B test opens with the lift's metric."""
    return {"om": lift.metric} if lift.metric else {}


def percent_of(pair: Pair) -> str:
    """Returns the size of a difference, such as ``12 %``; in units of the metric unless the baseline's value
    is above 0.
    """
    mean = abs(pair.paired.mean)
    return f"{two(pair.percent(mean))} %" if pair.base_value > 0 else numbers.three(mean)


def rail_amount(rail: GuardrailResult, base: str) -> str:
    """Returns the change of a guardrail, such as ``by 22 %`` or ``to 7.2 times that of Popular``."""
    if rail.change >= relative.DOUBLED:
        return f"to {two(1 + rail.change)} times that of {base}"
    return f"by {two(100 * abs(rail.change))} %"


def two(amount: float) -> str:
    """Returns a number ≥ 0 with two significant digits, and without a decimal point from 10 on: ``12`` ·
    ``5.1`` · ``0.53``.
    """
    rounded = float(f"{amount:.1e}")
    return numbers.fixed(rounded, max(0, 1 - floor(log10(rounded)))) if rounded else "0"


@dataclass(frozen=True)
class _Risk:
    """A reason not to ship a candidate: a code that stays the same, and the end of a sentence, or a clause
    with a subject of its own (``is_clause``).
    """

    code: str
    text: RichText
    is_clause: bool = False


def _risk(code: str, begin: str, text: str, page: str, end: str = "", **params: str) -> _Risk:
    pieces = (Piece(begin), Piece(text, page, params), Piece(end))
    return _Risk(code, tuple(piece for piece in pieces if piece.text))


def _code(lift: OnlineLift) -> str:
    return f"{lift.test}: {lift.metric or lift.title}"
