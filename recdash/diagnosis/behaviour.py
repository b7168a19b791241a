"""What users did in the test: over time, in sessions, and in which group of them."""

from __future__ import annotations

import math

from recdash.diagnosis.answer import CheckAnswer, Looked, between, cannot, change, ends
from recdash.diagnosis.evidence import (
    About,
    Evidence,
    Missing,
    NoveltyEvidence,
    OnlineChange,
    SegmentEvidence,
    SegmentsEvidence,
)
from recdash.diagnosis.mini_chart import Bar, Picture
from recdash.formatting import numbers

MIX_BELOW = 0.001
"""As for the split of users: it is looked at each time."""
LEVEL = 0.05
MATTERS = 0.02
"""The margin of sessions per user as a guardrail: very many users settle smaller changes, which matter to no
one.
"""
MOST_SHOWN = 8


# ── 9 novelty ────────────────────────────────────────────────────────────────────────────────


def novelty(evidence: Evidence) -> CheckAnswer:
    """Does the effect change with the days since users first saw it?

    The same users early and late after their first exposure: change = log(1 + late) − log(1 + early).
    *Supports*: its 95 % interval excludes 0. *Rules out*: it holds 0 but not the change that would cancel
    the whole lift, −log(1 + lift). *Can't tell*: it holds both.
    """
    found, lift = evidence.fading, evidence.lift
    if isinstance(found, Missing):
        return cannot("novelty", found)
    if isinstance(lift, Missing):
        return cannot("novelty", lift)
    looked = Looked(
        "novelty",
        f"lift early {change(found.early)}, late {change(found.late)}; "
        f"change {between(math.expm1(found.low), math.expm1(found.high))}",
        _fading_picture(found),
    )
    if found.low > 0 or found.high < 0:
        word = "rises" if found.change > 0 else "falls"
        return looked.supports(
            f"The lift {word} from {change(found.early)} in a user's first days to {change(found.late)} "
            "later: the test's mean is not what stays.",
            f"the lift {word} with the days since users first saw it", 1,
        )  # fmt: skip
    if _could_cancel(found.low, found.high, lift):
        return looked.too_little(
            "So few days and users would not show it if the whole lift came and went.",
            "more days or more users",
        )
    return looked.rules_out("The lift of a user's first days is that of later ones.")


def _could_cancel(low: float, high: float, lift: OnlineChange) -> bool:
    """Does the interval of a change (of logarithms) hold the one that would cancel the lift?"""
    cancels = -math.log1p(max(lift.value, -0.999))
    return low <= cancels <= high


def _fading_picture(found: NoveltyEvidence) -> Picture:
    bars = (Bar("Early", 100 * found.early, side="run"), Bar("Late", 100 * found.late, side="run"))
    return Picture("Lift by days since a user's first exposure", bars, "%", sign=True)


# ── 11 sessions per user ─────────────────────────────────────────────────────────────────────


def sessions(evidence: Evidence) -> CheckAnswer:
    """Did users come more or less often, so that a rate per session misleads?

    *Supports*: the online metric is not per user, the 95 % interval of the lift of sessions per user excludes
    0, and the change is at least 2 % or, of a rate per session, turns the lift into its opposite per user (of
    another rate, per list for one, the number per user is not told by sessions). *Rules out*: the metric is
    per user; or the change is smaller; or the interval holds 0 and not the change that would cancel the
    metric's lift. *Can't tell*: it holds both, or sessions are not counted.
    """
    found, lift, about = evidence.sessions, evidence.lift, evidence.about
    if about.per is None:
        looked = Looked("sessions", f"{about.online} is counted per user")
        return looked.rules_out("It is a number per user, not a rate: fewer sessions cannot raise it.")
    if isinstance(found, Missing):
        return cannot("sessions", found)
    if isinstance(lift, Missing):
        return cannot("sessions", lift)
    return _sessions(found, lift, about)


def _sessions(found: OnlineChange, lift: OnlineChange, about: About) -> CheckAnswer:
    if found.low is None or found.high is None:
        return _without_interval(found)
    told = f"sessions per user {change(found.value)} ({between(found.low, found.high)})"
    looked = Looked("sessions", told, _session_picture(found, lift, about.online))
    whole = (1 + found.value) * (1 + lift.value) - 1 if about.per == "sessions" else lift.value
    turns = whole * lift.value < 0
    if found.sign and (abs(found.value) >= MATTERS or turns):
        per_user = f"; per user the change is {change(whole)}" if about.per == "sessions" else ""
        return looked.supports(
            f"Users come {'more' if found.sign > 0 else 'less'} often, so {_within(about.online)} is over "
            f"other {about.per}{per_user}.",
            f"sessions per user changed by {change(found.value)}", 2 if turns else 1,
        )  # fmt: skip
    if not found.sign and _could_cancel(math.log1p(max(found.low, -0.999)), math.log1p(found.high), lift):
        return looked.too_little(
            "A change in sessions as large as the lift itself would not show here.", "more users"
        )
    return looked.rules_out("Users come as often as before, as far as that matters for the lift.")


def _within(title: str) -> str:
    """As it is written within a sentence."""
    return f"{title[:1].lower()}{title[1:]}"


def _without_interval(found: OnlineChange) -> CheckAnswer:
    """As where all users have as many sessions."""
    if found.value == 0:
        return Looked("sessions", "sessions per user 0 %").rules_out("All users came equally often.")
    return cannot("sessions", Missing("more users, for an interval of the sessions per user"))


def _session_picture(found: OnlineChange, lift: OnlineChange, online: str) -> Picture:
    rows = (("Sessions per user", found), (online, lift))
    bars = tuple(_lift_bar(label, one) for label, one in rows)
    return Picture("Lift over the control", bars, "%", sign=True)


def _lift_bar(label: str, lift: OnlineChange, note: str = "") -> Bar:
    return Bar(label, 100 * lift.value, *ends(lift.low, lift.high), side="run", note=note)


# ── 12 segments ──────────────────────────────────────────────────────────────────────────────


def segments(evidence: Evidence) -> CheckAnswer:
    """Is the result that of everybody?

    *Supports*: a segment with the opposite sign (p < .05, Benjamini and Hochberg over all segments); every
    segment of one kind against the whole beyond chance (Simpson's paradox); or mixes of segments that differ
    between the variants (p < .001). *Rules out*: none of them.
    """
    found, lift = evidence.segments, evidence.lift
    if isinstance(found, Missing):
        return cannot("segments", found)
    if isinstance(lift, Missing):
        return cannot("segments", lift)
    against = [row for row in found.rows if _is_against(row, lift)]
    looked = Looked("segments", _segment_statistic(found, len(against)), _segment_picture(found))
    if found.reversed_by:
        by = found.reversed_by[0]
        return looked.supports(
            f"Within every {by} the lift goes the other way than over all: the variants' users are mixed "
            "differently (Simpson's paradox).",
            f"the mix of {by} turns the result", 3,
        )  # fmt: skip
    uneven = [by for by, p in found.mix_p.items() if p < MIX_BELOW]
    if uneven:
        return looked.supports(
            f"The variants' users differ by {uneven[0]} more than chance allows: they cannot be compared as "
            "they are.",
            f"the variants' users differ by {uneven[0]}", 3,
        )  # fmt: skip
    if against:
        row = max(against, key=lambda row: row.n)
        return looked.supports(
            f"Among {row.by} = {row.label} ({numbers.count(row.n)} users) the lift is "
            f"{change(row.lift.value)}, over all {change(lift.value)}.",
            f"{row.by} = {row.label} goes the other way", 1,
        )  # fmt: skip
    return looked.rules_out("No segment is settled in the other direction, and their mix is the same.")


def _is_against(row: SegmentEvidence, lift: OnlineChange) -> bool:
    return row.p is not None and row.p < LEVEL and row.lift.value * lift.value < 0


def _segment_statistic(found: SegmentsEvidence, n_against: int) -> str:
    lowest = min(found.mix_p.values(), default=None)
    mix = f"; mix of users p {numbers.p_value(lowest)}" if lowest is not None else ""
    return f"{n_against} of {len(found.rows)} segments the other way{mix}"


def _segment_picture(found: SegmentsEvidence) -> Picture:
    """The largest segments."""
    rows = sorted(found.rows, key=lambda row: -row.n)[:MOST_SHOWN]
    bars = [_lift_bar(f"{row.by}: {row.label}", row.lift, f"n = {numbers.count(row.n)}") for row in rows]
    return Picture("Lift by segment", tuple(bars), "%", sign=True)
