"""Checks for errors of the offline evaluation: popularity, temporal leakage, users, labels."""

from __future__ import annotations

import math
from dataclasses import replace

from recdash.charts.picture import Bar, Picture
from recdash.diagnosis.answer import (
    NO_GAIN,
    CheckAnswer,
    MissingEvidence,
    Result,
    amounts,
    change,
    check,
    lift_texts,
    need,
    percent,
)
from recdash.diagnosis.evidence import AudienceEvidence, Evidence, Gain, Missing, OnlineChange, Popularity
from recdash.diagnosis.robustness import becomes, left
from recdash.formatting import numbers

HEAD_MOST = 2 / 3
"""Share of the head in the change in items found from which the gain is mostly one in popular items."""
LEAK_SHARE = 0.01
"""Share of test rows before the end of the training data from which this is a leak; ties in time explain
less.
"""
ALIKE = 0.005
"""Gini coefficients that differ by less count as equal."""
COLD_MATTERS = 0.1
"""Smallest share of new users online that matters. With fewer, nine tenths of the gain remain even if new
users gain nothing.
"""
MOSTLY_NEW = 0.5
"""The gap between the shares of new users online and offline from which many new ones must be evaluated."""
ENOUGH_NEW = 1_000
"""Smallest number of evaluated new users whose gain may stand for that of users who are mostly new online.

The interval of their gain covers chance alone, not whether a few new users are like all others.
"""


# ── 3 popularity ─────────────────────────────────────────────────────────────────────────────


@check
def popularity(evidence: Evidence) -> CheckAnswer:
    """Checks whether the offline gain comes from popular items.

    The change in relevant items found within k, against the baseline, is divided into head and tail: the head
    are the most popular items that together have half of the train rows. *Supports*: at least two thirds of
    the change are in the head, significantly more than the head's share of what the baseline finds (95 %
    interval over users). *Rules out*: the head has a smaller share, or nothing changes, or the change is
    opposite to the gain. *Can't tell*: the gain, the change, or the excess of the head is not significant.
    Gini coefficients of exposure are reported too.
    """
    items, gain, about = need(evidence.popularity), need(evidence.gain), evidence.about
    statistic = (
        f"hits: head {numbers.signed(items.head, 0)}, tail {numbers.signed(items.tail, 0)}; "
        f"Gini {numbers.fixed(items.gini_run, 3)}, baseline {numbers.fixed(items.gini_base, 3)}"
    )
    bars = (
        Bar(f"Head, {about.run}", float(items.run_head), side="run"),
        Bar(f"Head, {about.base}", float(items.base_head), side="baseline"),
        Bar(f"Tail, {about.run}", float(items.run_tail), side="run"),
        Bar(f"Tail, {about.base}", float(items.base_tail), side="baseline"),
    )
    result = Result("popularity", statistic, Picture(f"Test items found within {about.k}", bars))
    if items.head + items.tail == 0:
        return result.rules_out("It finds as many test items as the baseline: there is no gain to split.")
    if not gain.sign * items.change.sign:
        return result.too_little(
            "The change in items found is not significant, so its split may be chance.", "more users offline"
        )
    if gain.sign != items.change.sign:
        fewer, word = ("fewer", "wins") if gain.sign > 0 else ("more", "loses")
        return result.rules_out(
            f"It {word} offline but finds {fewer} test items: the difference is in their order."
        )
    return _split(result, items, "gain" if gain.sign > 0 else "loss")


def _split(result: Result, items: Popularity, word: str) -> CheckAnswer:
    """Returns the answer for a significant change in items found: whether most of it is in the head."""
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
            f"They are {of_whole} of the {word}, {baseline}: the difference may be chance.",
            "more users offline",
        )
    sentence = f"The {n_head} most popular of {numbers.count(items.n_items)} items make {of_whole} of the "
    sentence += f"{word}, {baseline}: items that users find by themselves. {concentration}"
    cause = f"its offline {word} comes from popular items ({of_whole} of it)"
    return result.supports(1, cause, sentence.rstrip())


def _concentration(items: Popularity) -> str:
    if math.isnan(items.gini_run) or math.isnan(items.gini_base):
        return ""
    if abs(items.gini_run - items.gini_base) < ALIKE:
        return "Its recommendations are as concentrated as the baseline's."
    more = "more" if items.gini_run > items.gini_base else "less"
    return f"Its recommendations are {more} concentrated than the baseline's."


# ── 4 leakage ────────────────────────────────────────────────────────────────────────────────


@check
def leakage(evidence: Evidence) -> CheckAnswer:
    """Checks whether candidates could learn from the test period.

    It measures the share of test rows before the end of the training data. That end is the time before which
    99 % of the training rows happened, so that a few clock errors are no leak. *Supports*: the share is at
    least 1 %, so training data has later events than the test set, which is impossible online. *Rules out*:
    the share is smaller.
    """
    times = need(evidence.times)
    early = times.truth < times.train_end
    share = float(early.mean())
    bars = (Bar("Before the end of training data", 100 * share), Bar("After it", 100 * (1 - share)))
    statistic = f"{percent(share)} of {numbers.count(len(early))} test rows before the end of training data"
    result = Result("leakage", statistic, Picture("Test rows", bars, "%"))
    if share < LEAK_SHARE:
        return result.rules_out("Training data ends before the test set begins, as it does online.")
    return result.supports(
        3,
        f"training data overlaps the test set in time ({percent(share)} of its rows)",
        "Training data contains events after these rows: a candidate may know the future offline, but not "
        "online.",
    )


# ── 5 users ──────────────────────────────────────────────────────────────────────────────────


@check
def users(evidence: Evidence) -> CheckAnswer:
    """Checks whether the users in the test were evaluated offline.

    First it uses the users who are in both. *Rules out*: the lift among them is significant, with the sign of
    the overall lift. *Supports*: it is significant with the opposite sign. If it is not significant, the
    offline gain is reweighted with the online share of new users (users without a training row): (1 − cold
    online) · gain of known users + cold online · gain of new users, with the errors of both. *Supports*: this
    gain is reversed, or less than half of the gain remains and the interval does not contain the whole gain;
    or no new user was evaluated and at least a tenth of the users online is new. *Rules out*: this gain is
    significant with the same sign, and at least half remains. *Can't tell*: all else, such as no training
    data, no ids that are in both, no known users offline, no significant gain, or mostly new users online
    with few of them evaluated.
    """
    audience, gain = need(evidence.audience), need(evidence.gain)
    if audience.n_both == 0:
        raise MissingEvidence("the same user ids in the A/B test as in the test set")
    new = f"{percent(audience.cold_offline)} offline, {percent(audience.cold_online)} online"
    evaluated = percent(audience.n_both / max(audience.n_online, 1))
    parts = (("known users", audience.warm), ("new users", audience.cold))
    bars = tuple(_gain_bar(f"Gain, {label}", part) for label, part in parts if part is not None)
    picture = Picture("Offline gain against the baseline", bars, sign=True)
    result = Result("users", f"{evaluated} of the users of both variants were evaluated; new: {new}", picture)
    lift = None if isinstance(evidence.lift, Missing) else evidence.lift
    if lift and audience.evaluated and lift.sign * audience.evaluated.sign:
        return _of_both(result, audience.n_both, lift, audience.evaluated)
    if audience.cold is None:
        return _none_new(result, audience.cold_online)
    if audience.warm is None:
        return result.too_little("Only new users were evaluated.", "known users in the test set")
    if gain.sign == 0:
        return result.too_little(NO_GAIN, "more users offline")
    return _mixed(result, audience, gain, audience.warm, audience.cold)


def _of_both(result: Result, n_both: int, lift: OnlineChange, evaluated: OnlineChange) -> CheckAnswer:
    amount, interval = lift_texts(evaluated)
    sentence = (
        f"Among the {numbers.count(n_both)} users who were evaluated and served the lift is {amount} "
        f"({interval})"
    )
    # What decides is the lift of the users who are in both, not the share of new users, which may be large.
    evaluated_share, _, _ = result.statistic.partition(";")
    result = replace(result, statistic=f"{evaluated_share}; lift among them: {amount}")
    if lift.sign == evaluated.sign:
        return result.rules_out(f"{sentence} too: different users are not the reason.")
    return result.supports(
        2,
        f"other users were tested than evaluated (among those {change(evaluated.value)})",
        f"{sentence}, the opposite of the overall lift: other users were tested than evaluated.",
    )


def _none_new(result: Result, new_online: float) -> CheckAnswer:
    if new_online < COLD_MATTERS:
        return result.rules_out("Known users were evaluated, and nearly all users in the test are known.")
    return result.supports(
        1,
        f"new users were not evaluated ({percent(new_online)} online)",
        f"{percent(new_online)} of the users in the A/B test have no training rows; hardly any evaluated "
        "user was new.",
    )


def _mixed(result: Result, audience: AudienceEvidence, gain: Gain, warm: Gain, cold: Gain) -> CheckAnswer:
    """Returns the answer from the gain that is reweighted with the online share of new users, compared with
    the measured gain.
    """
    mean = (1 - audience.cold_online) * warm.mean + audience.cold_online * cold.mean
    # known and new users are independent, so the squares of their errors add up
    half_warm = (1 - audience.cold_online) * ((warm.high - warm.low) / 2)
    half_cold = audience.cold_online * ((cold.high - cold.low) / 2)
    half = math.hypot(half_warm, half_cold)
    mixed = Gain(mean, mean - half, mean + half, gain.base, warm.n + cold.n)
    amount, usual = map(numbers.change, (mean, gain.mean))
    sentence = f"With the share of new users online the gain is {amount} instead of {usual}"
    remaining = left(gain, mixed)
    if remaining == "can't tell":
        few = "new" if half_cold > half_warm else "known"
        sentence = f"{sentence}, but too uncertain to tell whether it remains."
        return result.too_little(sentence, f"more {few} users in the test set")
    if remaining == "goes":
        new = f"{percent(audience.cold_offline)} offline, {percent(audience.cold_online)} online"
        sentence = f"{sentence}: what is measured for known users does not apply to new ones."
        return result.supports(2, f"the users differ (new ones {new})", sentence)
    if audience.cold_online - audience.cold_offline < MOSTLY_NEW:
        return result.rules_out(f"{sentence}: different users are not the reason.")
    own, n_new = numbers.change(cold.mean), numbers.count(cold.n)
    if cold.n < ENOUGH_NEW:
        of_new = (
            f"{percent(audience.cold_online)} of the users online are new, but only "
            f"{percent(audience.cold_offline)} of those evaluated ({n_new})"
        )
        sentence = f"{of_new}. The offline gain says little of them: {own} for so few of them."
        unclear = result.too_little(
            sentence, f"{numbers.count(ENOUGH_NEW)} new users or more in the test set"
        )
        return replace(unclear, former_verdict="rules out")
    return result.rules_out(
        f"{sentence}. It rests on {n_new} new users who were evaluated, whose gain is {own}: many more "
        "users are new online, and that alone is not the reason."
    )


def _gain_bar(label: str, gain: Gain) -> Bar:
    return Bar(label, gain.mean, gain.low, gain.high, side="run", note=f"n = {numbers.count(gain.n)}")


# ── 10 labels ────────────────────────────────────────────────────────────────────────────────


@check
def labels(evidence: Evidence) -> CheckAnswer:
    """Checks whether success offline means the same as success online.

    It computes the offline gain again with only those rows of the truth as relevant that the online
    definition would count. *Supports*: less than half of the gain, as a share of the baseline's value,
    remains, and its interval does not contain the whole gain. *Rules out*: the gain is significant with the
    same sign and at least half remains; or offline uses this definition already. *Can't tell*: the gain is
    too uncertain, or there was no significant gain.
    """
    stricter, gain, about = need(evidence.stricter), need(evidence.gain), evidence.about
    rule = stricter.rule
    bars = (_gain_bar("As counted offline", gain), _gain_bar(f"Only {rule}", stricter.gain))
    picture = Picture(f"Difference in {about.metric} to {about.base}", bars, sign=True)
    as_counted, as_online = amounts(gain, stricter.gain)
    statistic = f"{as_counted} offline; {as_online} with {rule}"
    result = Result("labels", statistic, picture)
    if stricter.already:
        return result.rules_out(f"Offline counts {rule} already.")
    if gain.sign == 0:
        return result.too_little(NO_GAIN, "more users offline")
    remaining = left(gain, stricter.gain)
    if remaining == "can't tell":
        return result.too_little(
            f"Counting only {rule}, the gain is too uncertain to tell whether it remains.",
            "more users offline",
        )
    if remaining == "stays":
        return result.rules_out(f"Counting only {rule}, the gain remains.")
    word = becomes(gain, stricter.gain)
    supported = result.supports(
        2,
        f"what counts as relevant offline, as the offline gain {word} if only {rule} count",
        f"{percent(1 - stricter.kept)} of what counted as relevant offline were {stricter.left_out}. "
        f"Counting only {rule}, the offline gain {word}.",
        former_cause=f"label mismatch: the offline gain {word} if only {stricter.former_rule or rule} count",
    )
    mismatch = f"label mismatch: the offline gain {word} if only {rule} count"
    return replace(supported, mismatch_cause=mismatch, threshold=stricter.threshold)
