"""What the offline measurement itself may have got wrong: popularity, time, users, labels."""

from __future__ import annotations

import math

from recdash.diagnosis.answer import CheckAnswer, Looked, between, cannot, change, percent
from recdash.diagnosis.evidence import (
    About,
    AudienceEvidence,
    Evidence,
    Gain,
    Missing,
    OnlineChange,
    Popularity,
    Stricter,
)
from recdash.diagnosis.mini_chart import Bar, Picture, Side
from recdash.diagnosis.robustness import becomes, left
from recdash.formatting import numbers

HEAD_MOST = 2 / 3
"""Where two of three items that are gained are popular ones, the gain is mostly theirs."""
LEAK_SHARE = 0.01
"""A row in a hundred before the end of train is more than ties explain."""
ALIKE = 0.005
"""Gini coefficients that are nearer to each other read the same."""
COLD_MATTERS = 0.1
"""Below one new user in ten, even a gain of nothing among them leaves nine tenths of the whole."""


# ── 3 popularity ─────────────────────────────────────────────────────────────────────────────


def popularity(evidence: Evidence) -> CheckAnswer:
    """Does the offline gain sit in items that everybody knows?

    The change in relevant items found within k, against the baseline, is split into head and tail: the
    head are the most popular items that together have half of the train rows. *Supports*: at least two
    thirds of the change are in the head, and more than of what the baseline finds, beyond chance (95 %
    interval over users). *Rules out*: less; or no change; or one against the gain. *Can't tell*: the gain,
    the change, or that the head has more of it, is not settled. Gini coefficients of what is shown stand
    beside it.
    """
    found, gain = evidence.popularity, evidence.gain
    if isinstance(found, Missing):
        return cannot("popularity", found)
    if isinstance(gain, Missing):
        return cannot("popularity", gain)
    looked = Looked("popularity", _popular_statistic(found), _popular_picture(found, evidence.about))
    if found.head + found.tail == 0:
        return looked.rules_out("It finds as many held-out items as the baseline: there is no gain to split.")
    if not gain.sign * found.change.sign:
        return looked.too_little(
            "The change in items found is not settled: how it is split may be chance.", "more users offline"
        )
    if gain.sign != found.change.sign:
        fewer, word = ("fewer", "wins") if gain.sign > 0 else ("more", "loses")
        return looked.rules_out(
            f"It {word} offline and finds {fewer} held-out items: that is in their order, not in which they "
            "are."
        )
    return _split(looked, found, "gain" if gain.sign > 0 else "loss")


def _split(looked: Looked, found: Popularity, word: str) -> CheckAnswer:
    """Of a settled change in items found."""
    share, usual = found.head / (found.head + found.tail), found.usual_head
    shown = _concentration(found)
    beside = f"and {percent(usual)} of what the baseline finds"
    if share < HEAD_MOST or share <= usual:
        return looked.rules_out(
            f"The {numbers.count(found.n_head)} most popular items make {_of_whole(max(share, 0))} of the "
            f"{word}, {beside}. {shown}".rstrip()
        )
    if found.leaning.sign != found.change.sign:
        return looked.too_little(
            f"They make {_of_whole(share)} of the {word}, {beside}: the difference may be chance.",
            "more users offline",
        )
    return looked.supports(
        f"The {numbers.count(found.n_head)} most popular of {numbers.count(found.n_items)} items make "
        f"{_of_whole(share)} of the {word}, {beside}: items that people find by themselves. {shown}".rstrip(),
        f"its offline {word} sits in popular items ({_of_whole(share)} of it)", 1,
    )  # fmt: skip


def _of_whole(share: float) -> str:
    return percent(share) if share <= 1 else "all"


def _popular_statistic(found: Popularity) -> str:
    return (
        f"found items: head {numbers.signed(found.head, 0)}, tail {numbers.signed(found.tail, 0)}; "
        f"Gini {numbers.fixed(found.gini_run, 3)}, baseline {numbers.fixed(found.gini_base, 3)}"
    )


def _concentration(found: Popularity) -> str:
    if math.isnan(found.gini_run) or math.isnan(found.gini_base):
        return ""
    if abs(found.gini_run - found.gini_base) < ALIKE:
        return "What it shows is spread as that of the baseline."
    more = "more" if found.gini_run > found.gini_base else "less"
    return f"What it shows is {more} concentrated than the baseline."


def _popular_picture(found: Popularity, about: About) -> Picture:
    rows: tuple[tuple[str, int, Side], ...] = (
        (f"Head, {about.run}", found.run_head, "run"),
        (f"Head, {about.base}", found.base_head, "baseline"),
        (f"Tail, {about.run}", found.run_tail, "run"),
        (f"Tail, {about.base}", found.base_tail, "baseline"),
    )
    bars = tuple(Bar(label, float(count), side=side) for label, count, side in rows)
    return Picture(f"Held-out items found within {about.k}", bars)


# ── 4 leakage ────────────────────────────────────────────────────────────────────────────────


def leakage(evidence: Evidence) -> CheckAnswer:
    """Could candidates learn from the time that they were tested on?

    The share of truth rows earlier than the end of train: when 99 of 100 of its rows had happened, so that
    a few wrong clocks are no leak. *Supports*: at least 1 %: train knows what came after them, as nothing
    online can. *Rules out*: less.
    """
    found = evidence.times
    if isinstance(found, Missing):
        return cannot("leakage", found)
    early = found.truth < found.train_end
    share = float(early.mean())
    bars = (Bar("Before the end of train", 100 * share), Bar("After it", 100 * (1 - share)))
    looked = Looked(
        "leakage",
        f"{percent(share)} of {numbers.count(len(early))} truth rows before the end of train",
        Picture("Rows of the truth", bars, "%"),
    )
    if share < LEAK_SHARE:
        return looked.rules_out("Train ends before the truth begins, as it does online.")
    return looked.supports(
        "Train holds what happened after these rows: offline a candidate may know the future, online never.",
        f"train overlaps the truth in time ({percent(share)} of its rows)", 3,
    )  # fmt: skip


# ── 5 users ──────────────────────────────────────────────────────────────────────────────────


def users(evidence: Evidence) -> CheckAnswer:
    """Were the users who were served those who were evaluated?

    First the users who were both: *rules out* where the lift among them is settled as that of all,
    *supports* where it is settled the other way. Else the offline gain is put together again with the online
    share of new users (without a row in train): (1 − cold online) · gain of known + cold online · gain of new
    users, with both errors. *Supports*: it turns, or less than half of it is left, and not the whole of it is
    within the interval; or nobody new was evaluated and at least a tenth is new online. *Rules out*: it is
    settled as before, and at least half is left. *Can't tell*: else; no train, no ids that are in both, no
    known users offline, no settled gain.
    """
    found, gain = evidence.audience, evidence.gain
    if isinstance(found, Missing):
        return cannot("users", found)
    if isinstance(gain, Missing):
        return cannot("users", gain)
    if found.n_both == 0:
        return cannot("users", Missing("the same user ids in the test as in the truth"))
    looked = Looked("users", _audience_statistic(found), _audience_picture(found))
    lift = None if isinstance(evidence.lift, Missing) else evidence.lift
    if lift and found.evaluated and lift.sign * found.evaluated.sign:
        return _of_both(looked, found.n_both, lift, found.evaluated)
    return _of_others(looked, found, gain)


def _of_both(looked: Looked, n_both: int, lift: OnlineChange, evaluated: OnlineChange) -> CheckAnswer:
    told = f"Among the {numbers.count(n_both)} users who were evaluated and served the lift is"
    mine = f"{change(evaluated.value)} ({between(evaluated.low, evaluated.high)})"
    if lift.sign == evaluated.sign:
        return looked.rules_out(f"{told} {mine} too: it is not that other people were served.")
    return looked.supports(
        f"{told} {mine}, the opposite of all: other people were served than evaluated.",
        f"other users were served than evaluated (among those {change(evaluated.value)})", 2,
    )  # fmt: skip


def _of_others(looked: Looked, found: AudienceEvidence, gain: Gain) -> CheckAnswer:
    if found.cold is None:
        return _nobody_new(looked, found)
    if found.warm is None:
        return looked.too_little("Only new users were evaluated.", "known users in the truth")
    return _put_together(looked, found, gain, found.warm, found.cold)


def _nobody_new(looked: Looked, found: AudienceEvidence) -> CheckAnswer:
    if found.cold_online < COLD_MATTERS:
        return looked.rules_out("Known users were evaluated, and nearly all users served are known.")
    return looked.supports(
        f"{percent(found.cold_online)} of the users served have no row in train; hardly one of the users "
        "evaluated was new.",
        f"new users were not evaluated ({percent(found.cold_online)} online)", 1,
    )  # fmt: skip


def _put_together(looked: Looked, found: AudienceEvidence, gain: Gain, warm: Gain, cold: Gain) -> CheckAnswer:
    if gain.sign == 0:
        return looked.too_little("There is no settled offline gain that could turn.", "more users offline")
    mixed = _mixed(found.cold_online, warm, cold, gain.base)
    amount = f"{_amount(mixed.mean)} instead of {_amount(gain.mean)}"
    told = f"With the share of new users online the gain is {amount}"
    rest = left(gain, mixed)
    if rest == "can't tell":
        few = "new" if found.cold_online * _half(cold) > (1 - found.cold_online) * _half(warm) else "known"
        return looked.too_little(
            f"{told}, but so uncertain that all of it or none may be left.", f"more {few} users in the truth"
        )
    if rest == "goes":
        return looked.supports(
            f"{told}: what is measured for known users does not hold for new ones.",
            f"the users differ (new ones {percent(found.cold_offline)} offline, "
            f"{percent(found.cold_online)} online)", 2,
        )  # fmt: skip
    return looked.rules_out(f"{told}: other users are not the reason.")


def _mixed(cold_share: float, warm: Gain, cold: Gain, base: float) -> Gain:
    """The gain among so many new users; known and new are different users, so their errors add in squares."""
    mean = (1 - cold_share) * warm.mean + cold_share * cold.mean
    half = math.hypot((1 - cold_share) * _half(warm), cold_share * _half(cold))
    return Gain(mean, mean - half, mean + half, base, warm.n + cold.n)


def _half(gain: Gain) -> float:
    return (gain.high - gain.low) / 2


def _audience_statistic(found: AudienceEvidence) -> str:
    return (
        f"{percent(found.n_both / max(found.n_online, 1))} of the users served were evaluated; new: "
        f"{percent(found.cold_offline)} offline, {percent(found.cold_online)} online"
    )


def _audience_picture(found: AudienceEvidence) -> Picture:
    parts = (("known users", found.warm), ("new users", found.cold))
    bars = [_gain_bar(f"Gain, {label}", gain) for label, gain in parts if gain is not None]
    return Picture("Offline gain against the baseline", tuple(bars), sign=True)


def _gain_bar(label: str, gain: Gain) -> Bar:
    return Bar(label, gain.mean, gain.low, gain.high, side="run", note=f"n = {numbers.count(gain.n)}")


def _amount(value: float) -> str:
    return numbers.signed(value, numbers.places([value]))


# ── 10 labels ────────────────────────────────────────────────────────────────────────────────


def labels(evidence: Evidence) -> CheckAnswer:
    """Does offline count as success what online counts as one?

    The offline gain once more, only those rows of the truth being relevant that the online rule would
    count. *Supports*: less than half of the gain, as a share of the baseline's value, is left, and its
    interval does not hold the whole of it. *Rules out*: it is settled as before, and at least half is left;
    or offline counts by that rule already. *Can't tell*: it is too uncertain; or no settled gain.
    """
    found, gain = evidence.stricter, evidence.gain
    if isinstance(found, Missing):
        return cannot("labels", found)
    if isinstance(gain, Missing):
        return cannot("labels", gain)
    looked = Looked("labels", _label_statistic(found, gain), _label_picture(found, gain, evidence.about))
    if found.already:
        return looked.rules_out(f"Offline counts {found.rule} already.")
    if gain.sign == 0:
        return looked.too_little("There is no settled offline gain that could turn.", "more users offline")
    rest = left(gain, found.gain)
    if rest == "can't tell":
        return looked.too_little(
            f"Counting only {found.rule}, the gain is so uncertain that all of it may be left.",
            "more users offline",
        )
    return (
        _counted_otherwise(looked, found, gain)
        if rest == "goes"
        else looked.rules_out(f"Counting only {found.rule}, the gain stays what it is.")
    )


def _counted_otherwise(looked: Looked, found: Stricter, gain: Gain) -> CheckAnswer:
    word = becomes(gain, found.gain)
    return looked.supports(
        f"Counting only {found.rule}, the offline difference {word}: it was made of what hardly counts "
        f"online ({percent(1 - found.kept)} of the relevant rows).",
        f"offline counts what online does not (with only {found.rule} the gain {word})", 2,
    )  # fmt: skip


def _label_statistic(found: Stricter, gain: Gain) -> str:
    return f"{change(gain.share)} offline; {change(found.gain.share)} with {found.rule}"


def _label_picture(found: Stricter, gain: Gain, about: About) -> Picture:
    bars = (_gain_bar("As counted offline", gain), _gain_bar(f"Only {found.rule}", found.gain))
    return Picture(f"Difference in {about.metric} to {about.base}", bars, sign=True)
