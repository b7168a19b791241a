"""Checks of exposure: items that users never saw, positions that were not shown, lists that were not
served.
"""

from __future__ import annotations

import numpy as np

from recdash.charts.picture import Bar, Picture
from recdash.diagnosis.answer import NO_GAIN, CheckAnswer, MissingEvidence, Result, check, need, percent
from recdash.diagnosis.evidence import About, Evidence, ExposureEvidence, Gain, Missing, Places
from recdash.diagnosis.robustness import becomes, left
from recdash.formatting import numbers

KNOWN_GAP = 0.1
"""The gap between run and baseline, in shares of positions, from which unseen or unjudged items matter. They
count as wrong offline, and a tenth of the positions is as much as most gains.
"""
OVERLAP_LEAST = 0.8
"""Smallest mean overlap of served and uploaded lists. Two of ten items may differ because of freshness and
business rules; more make a different list.
"""
WITHOUT_MOST = 0.1
"""Largest share of users without an uploaded list; with more, the fallback that they were served affects the
result.
"""
MOST_RANKS = 12


# ── 6 exposure ───────────────────────────────────────────────────────────────────────────────


@check
def exposure(evidence: Evidence) -> CheckAnswer:
    """Checks whether users could have interacted with what the run recommends before the test.

    It measures the share of positions within k with items that users saw before the test (shown by control,
    in the training data, or in the truth). If the truth has rows that are not relevant, it also measures the
    share of positions that the truth judges. Unseen and unjudged items count as wrong offline. *Supports*:
    the side that won offline has a share larger by at least a tenth of the positions. *Rules out*: it has
    not. *Can't tell*: one side has such a larger share, but no side has won offline.
    """
    seen, gain, k = need(evidence.seen), evidence.gain, evidence.about.k
    unseen, unseen_base = percent(seen.unseen_run), percent(seen.unseen_base)
    judged, judged_base = percent(seen.judged_run), percent(seen.judged_base)
    statistic = f"unseen before: {unseen} of the positions, baseline {unseen_base}"
    if seen.judged_run is not None:
        statistic += f"; judged {judged}, baseline {judged_base}"
    result = Result("exposure", statistic, _seen_picture(seen, evidence.about))
    sign = 0 if isinstance(gain, Missing) else gain.sign
    met_gap = seen.unseen_base - seen.unseen_run
    judged_gap = (seen.judged_run or 0) - (seen.judged_base or 0)
    if max(abs(met_gap), abs(judged_gap)) < KNOWN_GAP:
        return result.rules_out("Users had seen about as much of what either recommends.")
    if not sign:
        return result.too_little(
            "Neither has a significant offline gain that this could explain.", "more users offline"
        )
    if sign * met_gap >= KNOWN_GAP:
        return result.supports(
            1,
            f"{unseen} of its recommendations were unseen before, of the baseline's {unseen_base}",
            f"{unseen} of its top {k} positions have items that no user saw before the test, of the "
            f"baseline's {unseen_base}. Offline these count as wrong, whatever users think of them.",
        )
    if sign * judged_gap >= KNOWN_GAP:
        return result.supports(
            1,
            "the test set judges one run more than the other",
            f"The test set has judged {judged} of its positions and {judged_base} of the baseline's; "
            "unjudged items count as wrong.",
        )
    return result.rules_out("The run that won offline is the one with fewer seen or judged items.")


def _seen_picture(seen: ExposureEvidence, about: About) -> Picture:
    bars = [
        Bar(f"Unseen before, {about.run}", 100 * seen.unseen_run, side="run"),
        Bar(f"Unseen before, {about.base}", 100 * seen.unseen_base, side="baseline"),
    ]
    if seen.judged_run is not None and seen.judged_base is not None:
        bars.append(Bar(f"Judged, {about.run}", 100 * seen.judged_run, side="run"))
        bars.append(Bar(f"Judged, {about.base}", 100 * seen.judged_base, side="baseline"))
    return Picture(f"Share of the top {about.k} positions", tuple(bars), "%")


# ── 7 position ───────────────────────────────────────────────────────────────────────────────


@check
def position(evidence: Evidence) -> CheckAnswer:
    """Checks whether the offline gain is at positions that users saw.

    It computes the offline gain again at k = the number of slots in a served list, as a share of the
    baseline's value. *Supports*: less than half of the gain remains within the slots, and its interval there
    does not contain the whole gain. *Rules out*: users saw all positions that count offline; or the gain is
    significant within the slots and at least half of it remains. *Can't tell*: the gain within the slots is
    too uncertain; served lists have no ranks; or there is no significant gain. Clicks by rank are reported
    too.
    """
    places, gain, about = need(evidence.places), need(evidence.gain), evidence.about
    slots, both = places.slots, [gain.mean, places.gain.mean]
    at_k, at_slots = (numbers.signed(value, numbers.places(both)) for value in both)
    statistic = f"gain {at_k} at k = {about.k}, {at_slots} at the {slots} positions shown"
    if places.clicked is not None and places.clicked.sum():
        first = float(places.clicked[:3].sum() / places.clicked.sum())
        statistic += f"; top 3 positions: {percent(first)} of the clicks"
    result = Result("position", statistic, _places_picture(places, gain, about))
    if slots >= about.k:
        return result.rules_out(
            f"Offline counted {about.k} positions and users saw {slots}: they saw them all."
        )
    if gain.sign == 0:
        return result.too_little(NO_GAIN, "more users offline")
    remaining = left(gain, places.gain)
    if remaining == "stays":
        return result.rules_out(f"Within the {slots} positions shown, the gain remains.")
    if remaining == "can't tell":
        return result.too_little(
            f"Within the {slots} positions shown, the gain is too uncertain to tell whether it remains.",
            "more users offline",
        )
    return result.supports(
        2,
        f"its gain is at positions that users did not see (k = {about.k}, shown {slots})",
        f"Offline counted {about.k} positions and users saw {slots}: there the gain "
        f"{becomes(gain, places.gain)}.",
    )


def _places_picture(places: Places, gain: Gain, about: About) -> Picture:
    if places.clicked is not None and places.shown.any():
        rates = 100 * places.clicked / np.maximum(places.shown, 1)
        bars = [Bar(f"Place {rank}", float(rate)) for rank, rate in enumerate(rates[:MOST_RANKS], start=1)]
        return Picture("Click-through rate by position", tuple(bars), "%")
    gains = ((f"k = {about.k}", gain), (f"k = {places.slots}, as shown", places.gain))
    bars = [Bar(label, gain.mean, gain.low, gain.high, side="run") for label, gain in gains]
    return Picture(f"Difference in {about.metric.split('@')[0]}", tuple(bars), sign=True)


# ── 8 served ─────────────────────────────────────────────────────────────────────────────────


@check
def served(evidence: Evidence) -> CheckAnswer:
    """Checks whether the evaluated lists are the ones that were served.

    For each user of the variant, it measures the share of shown items that are within as many top positions
    of the uploaded list. Among the users known offline, it also measures the share without an uploaded list,
    who were served something else. *Supports*: the mean of the first share is below .8, or the second share
    is above a tenth. *Rules out*: neither.
    """
    lists = need(evidence.served)
    if not lists.n_known:
        raise MissingEvidence("the same user ids in the served lists as in the upload")
    share_without = lists.n_without / lists.n_known
    without = percent(share_without)
    mean = float(lists.overlap.mean()) if len(lists.overlap) else 0.0
    edges = np.array([0.0, 0.5, 0.8, 0.9999, np.inf])
    counts = np.histogram(lists.overlap, edges)[0].tolist()
    labels = ("less than half", "half to 80 %", "80 % and more", "all of it")
    bars = tuple(Bar(label, float(count)) for label, count in zip(labels, counts, strict=True))
    picture = Picture("Users by share of shown items in their uploaded list", bars)
    shared = percent(mean) if len(lists.overlap) else numbers.NONE
    statistic = f"{shared} of shown items in the uploaded list; {without} without a list"
    result = Result("served", statistic, picture)
    of = f"Of {numbers.count(lists.n_units)} users served, {numbers.count(lists.n_known)} are known offline. "
    if mean < OVERLAP_LEAST and len(lists.overlap):
        return result.supports(
            3,
            f"the lists served are not those evaluated ({shared} in common)",
            f"{of}Only {shared} of what they were shown is in the uploaded list: another system, or "
            "another day's lists, were tested.",
        )
    if share_without > WITHOUT_MOST:
        return result.supports(
            2,
            f"{without} of the users were served a fallback",
            f"{of}{without} of them have no list in the upload: what they saw was not evaluated.",
        )
    return result.rules_out(f"{of}They were shown the evaluated lists.")
