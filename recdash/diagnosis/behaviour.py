"""Checks of how users behaved during the test: over time, in sessions, and by segment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from recdash.charts.picture import Bar, Picture
from recdash.diagnosis.answer import (
    CheckAnswer,
    MissingEvidence,
    Result,
    between,
    change,
    check,
    ends,
    lift_texts,
    need,
)
from recdash.diagnosis.evidence import (
    SMALLEST_SHARE,
    Evidence,
    NoveltyEvidence,
    OnlineChange,
    SegmentEvidence,
)
from recdash.formatting import numbers
from recdash.formatting.wording import small
from recdash.online.analysis.health import FADES_BELOW

MIX_BELOW = 0.001
"""Segments are mixed differently in the variants if p is below this level. It is as strict as that of the SRM
check, because both tests are made for every A/B test.
"""
LEVEL = 0.05
CAUSE_BELOW = FADES_BELOW
"""The level of a novelty effect and of a change in sessions: that at which Results warns of a novelty effect.

With twelve checks of every test, a level of 5 % for each would find causes too often where there are none.
"""
FORMER_CONFIDENCE = 0.95
"""The confidence of the interval of a novelty effect in reports of wording 14 and older."""
MATTERS = 0.02
"""The smallest change in sessions per user that matters; with very many users, smaller changes are
significant too.
"""
MOST_SHOWN = 8


# ── 9 novelty ────────────────────────────────────────────────────────────────────────────────


@check
def novelty(evidence: Evidence) -> CheckAnswer:
    """Checks whether the effect changes with the days since users first saw it (a novelty effect).

    It compares the same users early and late after their first exposure: change = log(1 + late) − log(1 +
    early). *Supports*: the change's 99 % interval excludes 0, the level at which Results warns of a novelty
    effect. *Rules out*: the interval contains 0, but not −log(1 + lift), the change that would cancel the
    whole lift. *Can't tell*: it contains both.
    """
    effect, lift = need(evidence.novelty), need(evidence.lift)
    answer = _novelty_at(1 - CAUSE_BELOW, effect, lift, -lift.log_gain)
    signed, former = (
        _novelty_at(confidence, effect, lift, -_former_log(lift))
        for confidence in (1 - CAUSE_BELOW, FORMER_CONFIDENCE)
    )
    return _with_former(answer, former, signed)


def _with_former(answer: CheckAnswer, former: CheckAnswer, signed: CheckAnswer) -> CheckAnswer:
    """Returns the answer with those of reports up to wording 14, and of 15, where they differ."""
    return replace(answer, former_answer=answer.unless_same(former), signed_answer=answer.unless_same(signed))


def _former_log(lift: OnlineChange) -> float:
    """Returns the logarithm of a lift as reports of wording 15 and older took it, after the sign."""
    return math.log1p(max(lift.value, SMALLEST_SHARE))


def _novelty_at(
    confidence: float, effect: NoveltyEvidence, lift: OnlineChange, cancelling: float
) -> CheckAnswer:
    """Returns the answer of the check by the change's interval with this confidence; ``cancelling`` is the
    change that would cancel the lift.
    """
    early, late = change(effect.early), change(effect.late)
    low, high = effect.interval(confidence)
    sign = -1 if lift.lower_is_better else 1
    shares = (sign * math.expm1(sign * end) for end in (low, high))  # negated as the lifts are
    interval = f"{between(*shares)} ({100 * confidence:.0f} % CI)"
    sides = (("Early", effect.early), ("Late", effect.late))
    bars = tuple(Bar(label, 100 * share, side="run") for label, share in sides)
    picture = Picture("Lift by days since a user's first exposure", bars, "%", sign=True)
    result = Result("novelty", f"lift early {early}, late {late}; change {interval}", picture)
    if low > 0 or high < 0:
        word = "rises" if effect.change > 0 else "falls"
        return result.supports(
            1,
            f"the lift {word} with the days since users first saw it",
            f"The lift {word} from {early} in a user's first days to {late} later: the test's mean "
            "does not predict the long-term effect.",
        )
    if low <= cancelling <= high:
        return result.too_little(
            "The test has too few days or users to detect even a complete novelty effect.",
            "more days or more users",
        )
    return result.rules_out("The lift in a user's first days is about the same as later.")


# ── 11 sessions per user ─────────────────────────────────────────────────────────────────────


@check
def sessions(evidence: Evidence) -> CheckAnswer:
    """Checks whether users came more or less often, which makes a rate per session misleading.

    *Supports*: the online metric is not per user; the lift in sessions per user has p < .01, and its interval
    excludes 0; and the change either is at least 2 % or, for a rate per session, reverses the lift per user.
    (For other rates, such as those per list, sessions do not give the number per user.) *Rules out*: the
    metric is per user, or the change is smaller, or the interval contains 0 but not the change that would
    cancel the metric's lift. *Can't tell*: the interval contains both, or p is larger although the interval
    excludes 0, or sessions are not counted.
    """
    answer = _sessions_below(CAUSE_BELOW, evidence)
    signed, former = (_sessions_below(level, evidence, is_signed=True) for level in (CAUSE_BELOW, 1.0))
    return _with_former(answer, former, signed)


def _sessions_below(level: float, evidence: Evidence, *, is_signed: bool = False) -> CheckAnswer:
    """Returns the answer of the check if a change with a larger p than ``level`` is no cause. ``is_signed``:
    a lift of which less is better is negated before it is multiplied with the sessions, as in reports of
    wording 15 and older.
    """
    about = evidence.about
    if about.per is None:
        result = Result("sessions", f"{about.online} is counted per user")
        return result.rules_out("It is a number per user, not a rate: fewer sessions cannot raise it.")
    visits, lift = need(evidence.sessions), need(evidence.lift)
    if visits.low is None or visits.high is None:
        if visits.value == 0:  # all users have equally many sessions
            return Result("sessions", "sessions per user 0 %").rules_out("All users came equally often.")
        raise MissingEvidence("more users, for an interval of the sessions per user")
    bars = (_lift_bar("Sessions per user", visits), _lift_bar(about.online, lift))
    picture = Picture("Lift over the control", bars, "%", sign=True)
    amount, interval = lift_texts(visits)
    statistic = f"sessions per user {amount} ({interval})"
    result = Result("sessions", statistic, picture)
    lift_log, sign = lift.log_ratio, -1 if lift.lower_is_better else 1
    if is_signed:
        lift_log, sign = _former_log(lift), 1
    per_user_change = lift.value
    if about.per == "sessions":  # of the metric itself, then signed as its lift
        per_user_change = sign * ((1 + visits.value) * (1 + sign * lift.value) - 1)
    turns = per_user_change * lift.value < 0
    has_changed = visits.sign and (abs(visits.value) >= MATTERS or turns)
    if has_changed and visits.p is not None and visits.p >= level:
        chance = numbers.p_equals(visits.p)
        return result.too_little(
            f"The change in sessions per user may be chance ({chance}; a cause needs p < {level}).",
            "more users",
        )
    if has_changed:
        per_user = f"; per user the change is {change(per_user_change)}" if about.per == "sessions" else ""
        title = small(about.online)
        return result.supports(
            2 if turns else 1,
            f"sessions per user changed by {change(visits.value)}",
            f"Users come {'more' if visits.sign > 0 else 'less'} often, so {title} is measured over "
            f"other {about.per}{per_user}.",
        )
    low, high = (math.log1p(max(end, SMALLEST_SHARE)) for end in (visits.low, visits.high))
    if not visits.sign and low <= -lift_log <= high:
        return result.too_little(
            "A change in sessions as large as the lift itself would not be detected.", "more users"
        )
    return result.rules_out("Users come as often as before, within what matters for the lift.")


def _lift_bar(label: str, lift: OnlineChange, note: str = "") -> Bar:
    return Bar(label, 100 * lift.value, *ends(lift.low, lift.high), side="run", note=note)


# ── 12 segments ──────────────────────────────────────────────────────────────────────────────


@check
def segments(evidence: Evidence) -> CheckAnswer:
    """Checks whether the overall result holds in all segments.

    *Supports*: a segment has a significant lift of the opposite sign (p < .05, Benjamini–Hochberg over all
    segments); or all segments of one kind contradict the whole by more than chance (Simpson's paradox); or
    segments are mixed differently in the variants (p < .001). *Rules out*: none of these.
    """
    groups, lift = need(evidence.segments), need(evidence.lift)
    tested = [row for row in groups.rows if row.p is not None and row.p < LEVEL]
    against = [row for row in tested if row.lift.value * lift.value < 0]
    lowest = min(groups.mix_p.values(), default=None)
    mix = f"; mix of users: {numbers.p_equals(lowest)}" if lowest is not None else ""
    statistic = f"{len(against)} of {len(groups.rows)} segments in the other direction{mix}"
    result = Result("segments", statistic, _segment_picture(groups.rows))
    if groups.reversed_by:
        by = groups.reversed_by[0]
        return result.supports(
            3,
            f"the mix of {by} reverses the result",
            f"Within every {by} the lift has the opposite direction of the overall lift: the "
            "variants' users are mixed differently (Simpson's paradox).",
        )
    for by, p in groups.mix_p.items():
        if p < MIX_BELOW:
            cause = f"the variants' users differ by {by}"
            sentence = f"The variants' users differ by {by} more than chance allows: they cannot be compared"
            return result.supports(3, cause, f"{sentence} as they are.")
    if against:
        row = max(against, key=lambda row: row.n)
        return result.supports(
            1,
            f"{row.by} = {row.label} has the opposite lift",
            f"In {row.by} = {row.label} ({numbers.count(row.n)} users) the lift is "
            f"{change(row.lift.value)}, overall {change(lift.value)}.",
        )
    return result.rules_out(
        "No segment has a significant lift in the other direction, and the mix of segments is the same."
    )


def _segment_picture(rows: Sequence[SegmentEvidence]) -> Picture:
    """Returns a picture of the lifts in the largest segments."""
    largest = sorted(rows, key=lambda row: -row.n)[:MOST_SHOWN]
    bars = [_lift_bar(f"{row.by}: {row.label}", row.lift, f"n = {numbers.count(row.n)}") for row in largest]
    return Picture("Lift by segment", tuple(bars), "%", sign=True)
