"""What the offline measurement itself may have got wrong: popularity, time, users, labels."""

from __future__ import annotations

import math

from recdash.diagnosis.answer import (
    NO_GAIN,
    CheckAnswer,
    MissingEvidence,
    Result,
    between,
    change,
    check,
    need,
    percent,
)
from recdash.diagnosis.evidence import AudienceEvidence, Evidence, Gain, Missing, OnlineChange, Popularity
from recdash.diagnosis.mini_chart import Bar, Picture
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


@check
def popularity(evidence: Evidence) -> CheckAnswer:
    """Does the offline gain sit in items that everybody knows?

    The change in relevant items found within k, against the baseline, is split into head and tail: the
    head are the most popular items that together have half of the train rows. *Supports*: at least two
    thirds of the change are in the head, and more than of what the baseline finds, beyond chance (95 %
    interval over users). *Rules out*: less; or no change; or one against the gain. *Can't tell*: the gain,
    the change, or that the head has more of it, is not settled. Gini coefficients of what is shown stand
    beside it.
    """
    items, gain, about = need(evidence.popularity), need(evidence.gain), evidence.about
    statistic = (
        f"found items: head {numbers.signed(items.head, 0)}, tail {numbers.signed(items.tail, 0)}; "
        f"Gini {numbers.fixed(items.gini_run, 3)}, baseline {numbers.fixed(items.gini_base, 3)}"
    )
    bars = (
        Bar(f"Head, {about.run}", float(items.run_head), side="run"),
        Bar(f"Head, {about.base}", float(items.base_head), side="baseline"),
        Bar(f"Tail, {about.run}", float(items.run_tail), side="run"),
        Bar(f"Tail, {about.base}", float(items.base_tail), side="baseline"),
    )
    result = Result("popularity", statistic, Picture(f"Held-out items found within {about.k}", bars))
    if items.head + items.tail == 0:
        return result.rules_out("It finds as many held-out items as the baseline: there is no gain to split.")
    if not gain.sign * items.change.sign:
        return result.too_little(
            "The change in items found is not settled: how it is split may be chance.", "more users offline"
        )
    if gain.sign != items.change.sign:
        fewer, word = ("fewer", "wins") if gain.sign > 0 else ("more", "loses")
        return result.rules_out(
            f"It {word} offline and finds {fewer} held-out items: that is in their order, not in which they "
            "are."
        )
    return _split(result, items, "gain" if gain.sign > 0 else "loss")


def _split(result: Result, items: Popularity, word: str) -> CheckAnswer:
    """Whether a settled change in items found is mostly in the head."""
    share, usual = items.head / (items.head + items.tail), items.usual_head
    concentration, of_whole = _concentration(items), percent(share) if share <= 1 else "all"
    baseline = f"and {percent(usual)} of what the baseline finds"
    n_head = numbers.count(items.n_head)
    if share < HEAD_MOST or share <= usual:
        part = percent(0) if share < 0 else of_whole
        return result.rules_out(
            f"The {n_head} most popular items make {part} of the {word}, {baseline}. {concentration}".rstrip()
        )
    if items.leaning.sign != items.change.sign:
        return result.too_little(
            f"They make {of_whole} of the {word}, {baseline}: the difference may be chance.",
            "more users offline",
        )
    sentence = f"The {n_head} most popular of {numbers.count(items.n_items)} items make {of_whole} of the "
    sentence += f"{word}, {baseline}: items that people find by themselves. {concentration}"
    cause = f"its offline {word} sits in popular items ({of_whole} of it)"
    return result.supports(1, cause, sentence.rstrip())


def _concentration(items: Popularity) -> str:
    if math.isnan(items.gini_run) or math.isnan(items.gini_base):
        return ""
    if abs(items.gini_run - items.gini_base) < ALIKE:
        return "What it shows is spread as that of the baseline."
    more = "more" if items.gini_run > items.gini_base else "less"
    return f"What it shows is {more} concentrated than the baseline."


# ── 4 leakage ────────────────────────────────────────────────────────────────────────────────


@check
def leakage(evidence: Evidence) -> CheckAnswer:
    """Could candidates learn from the time that they were tested on?

    The share of truth rows earlier than the end of train: when 99 of 100 of its rows had happened, so that
    a few wrong clocks are no leak. *Supports*: at least 1 %: train knows what came after them, as nothing
    online can. *Rules out*: less.
    """
    times = need(evidence.times)
    early = times.truth < times.train_end
    share = float(early.mean())
    bars = (Bar("Before the end of train", 100 * share), Bar("After it", 100 * (1 - share)))
    statistic = f"{percent(share)} of {numbers.count(len(early))} truth rows before the end of train"
    result = Result("leakage", statistic, Picture("Rows of the truth", bars, "%"))
    if share < LEAK_SHARE:
        return result.rules_out("Train ends before the truth begins, as it does online.")
    return result.supports(
        3,
        f"train overlaps the truth in time ({percent(share)} of its rows)",
        "Train holds what happened after these rows: offline a candidate may know the future, online never.",
    )


# ── 5 users ──────────────────────────────────────────────────────────────────────────────────


@check
def users(evidence: Evidence) -> CheckAnswer:
    """Were the users who were served those who were evaluated?

    First the users who were both: *rules out* where the lift among them is settled as that of all,
    *supports* where it is settled the other way. Else the offline gain is put together again with the online
    share of new users (without a row in train): (1 − cold online) · gain of known + cold online · gain of new
    users, with both errors. *Supports*: it turns, or less than half of it is left, and not the whole of it is
    within the interval; or no new user was evaluated and at least a tenth is new online. *Rules out*: it is
    settled as before, and at least half is left. *Can't tell*: else; no train, no ids that are in both, no
    known users offline, no settled gain.
    """
    audience, gain = need(evidence.audience), need(evidence.gain)
    if audience.n_both == 0:
        raise MissingEvidence("the same user ids in the test as in the truth")
    new = f"{percent(audience.cold_offline)} offline, {percent(audience.cold_online)} online"
    evaluated = percent(audience.n_both / max(audience.n_online, 1))
    parts = (("known users", audience.warm), ("new users", audience.cold))
    bars = tuple(_gain_bar(f"Gain, {label}", part) for label, part in parts if part is not None)
    picture = Picture("Offline gain against the baseline", bars, sign=True)
    result = Result("users", f"{evaluated} of the users served were evaluated; new: {new}", picture)
    lift = None if isinstance(evidence.lift, Missing) else evidence.lift
    if lift and audience.evaluated and lift.sign * audience.evaluated.sign:
        return _of_both(result, audience.n_both, lift, audience.evaluated)
    if audience.cold is None:
        return _none_new(result, audience.cold_online)
    if audience.warm is None:
        return result.too_little("Only new users were evaluated.", "known users in the truth")
    if gain.sign == 0:
        return result.too_little(NO_GAIN, "more users offline")
    return _mixed(result, audience, gain, audience.warm, audience.cold)


def _of_both(result: Result, n_both: int, lift: OnlineChange, evaluated: OnlineChange) -> CheckAnswer:
    amount = change(evaluated.value)
    sentence = (
        f"Among the {numbers.count(n_both)} users who were evaluated and served the lift is {amount} "
        f"({between(evaluated.low, evaluated.high)})"
    )
    if lift.sign == evaluated.sign:
        return result.rules_out(f"{sentence} too: it is not that other people were served.")
    return result.supports(
        2,
        f"other users were served than evaluated (among those {amount})",
        f"{sentence}, the opposite of all: other people were served than evaluated.",
    )


def _none_new(result: Result, new_online: float) -> CheckAnswer:
    if new_online < COLD_MATTERS:
        return result.rules_out("Known users were evaluated, and nearly all users served are known.")
    return result.supports(
        1,
        f"new users were not evaluated ({percent(new_online)} online)",
        f"{percent(new_online)} of the users served have no row in train; hardly one of the users evaluated "
        "was new.",
    )


def _mixed(result: Result, audience: AudienceEvidence, gain: Gain, warm: Gain, cold: Gain) -> CheckAnswer:
    """The gain with the online share of new users, against the gain as it was measured."""
    mean = (1 - audience.cold_online) * warm.mean + audience.cold_online * cold.mean
    # known and new are different users, so their errors add in squares
    half_warm = (1 - audience.cold_online) * ((warm.high - warm.low) / 2)
    half_cold = audience.cold_online * ((cold.high - cold.low) / 2)
    half = math.hypot(half_warm, half_cold)
    mixed = Gain(mean, mean - half, mean + half, gain.base, warm.n + cold.n)
    amount, usual = (numbers.signed(value, numbers.places([value])) for value in (mean, gain.mean))
    sentence = f"With the share of new users online the gain is {amount} instead of {usual}"
    remaining = left(gain, mixed)
    if remaining == "can't tell":
        few = "new" if half_cold > half_warm else "known"
        sentence = f"{sentence}, but so uncertain that all of it or none may be left."
        return result.too_little(sentence, f"more {few} users in the truth")
    if remaining == "goes":
        new = f"{percent(audience.cold_offline)} offline, {percent(audience.cold_online)} online"
        sentence = f"{sentence}: what is measured for known users does not hold for new ones."
        return result.supports(2, f"the users differ (new ones {new})", sentence)
    return result.rules_out(f"{sentence}: other users are not the reason.")


def _gain_bar(label: str, gain: Gain) -> Bar:
    return Bar(label, gain.mean, gain.low, gain.high, side="run", note=f"n = {numbers.count(gain.n)}")


# ── 10 labels ────────────────────────────────────────────────────────────────────────────────


@check
def labels(evidence: Evidence) -> CheckAnswer:
    """Does offline count as success what online counts as one?

    The offline gain once more, only those rows of the truth being relevant that the online rule would
    count. *Supports*: less than half of the gain, as a share of the baseline's value, is left, and its
    interval does not hold the whole of it. *Rules out*: it is settled as before, and at least half is left;
    or offline counts by that rule already. *Can't tell*: it is too uncertain; or no settled gain.
    """
    stricter, gain, about = need(evidence.stricter), need(evidence.gain), evidence.about
    rule = stricter.rule
    bars = (_gain_bar("As counted offline", gain), _gain_bar(f"Only {rule}", stricter.gain))
    picture = Picture(f"Difference in {about.metric} to {about.base}", bars, sign=True)
    statistic = f"{change(gain.share)} offline; {change(stricter.gain.share)} with {rule}"
    result = Result("labels", statistic, picture)
    if stricter.already:
        return result.rules_out(f"Offline counts {rule} already.")
    if gain.sign == 0:
        return result.too_little(NO_GAIN, "more users offline")
    remaining = left(gain, stricter.gain)
    if remaining == "can't tell":
        return result.too_little(
            f"Counting only {rule}, the gain is so uncertain that all of it may be left.",
            "more users offline",
        )
    if remaining == "stays":
        return result.rules_out(f"Counting only {rule}, the gain stays what it is.")
    word = becomes(gain, stricter.gain)
    return result.supports(
        2,
        f"offline counts what online does not (with only {rule} the gain {word})",
        f"Counting only {rule}, the offline difference {word}: it was made of what hardly counts online "
        f"({percent(1 - stricter.kept)} of the relevant rows).",
    )
