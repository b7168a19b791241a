"""What people were really shown: items never seen before, places that nobody had, another system."""

from __future__ import annotations

import numpy as np

from recdash.diagnosis.answer import CheckAnswer, Looked, cannot, percent
from recdash.diagnosis.evidence import About, Evidence, ExposureEvidence, Gain, Missing, Places, ServedOverlap
from recdash.diagnosis.mini_chart import Bar, Picture
from recdash.diagnosis.robustness import becomes, left
from recdash.formatting import numbers

KNOWN_GAP = 0.1
"""What nobody met, or the truth has not judged, counts as wrong: a tenth of the places is as much as most
gains.
"""
OVERLAP_LEAST = 0.8
"""Two of ten items may differ by freshness and rules of the shop; more is another list."""
WITHOUT_MOST = 0.1
"""From one user in ten on, the fallback is a part of the result."""
MOST_RANKS = 12


# ── 6 exposure ───────────────────────────────────────────────────────────────────────────────


def exposure(evidence: Evidence) -> CheckAnswer:
    """Could anybody have reacted offline to what the run recommends?

    The share of places within k with items that somebody met before the test (the control showed them, or
    they are in train or in the truth); and, where the truth has rows that are not relevant, the share of
    places that it judges. What nobody met, or nobody judged, counts as wrong offline. *Supports*: the side
    that won offline is ahead of the other by at least a tenth of the places. *Rules out*: it is not. *Can't
    tell*: one side is so far ahead, and neither has won offline.
    """
    found, gain = evidence.seen, evidence.gain
    if isinstance(found, Missing):
        return cannot("exposure", found)
    looked = Looked("exposure", _seen_statistic(found), _seen_picture(found, evidence.about))
    sign = 0 if isinstance(gain, Missing) else gain.sign
    met, judged = found.unseen_base - found.unseen_run, (found.judged_run or 0) - (found.judged_base or 0)
    if max(abs(met), abs(judged)) < KNOWN_GAP:
        return looked.rules_out("Of what either side recommends people had met about as much.")
    if not sign:
        return looked.too_little("Neither side has won offline by what is known of it.", "more users offline")
    if sign * met >= KNOWN_GAP:
        return _never_met(looked, found, evidence.about.k)
    if sign * judged >= KNOWN_GAP:
        return looked.supports(
            f"The truth has judged {percent(found.judged_run)} of its places and "
            f"{percent(found.judged_base)} of the baseline's; what it has not judged counts as wrong.",
            "offline judges one side more than the other", 1,
        )  # fmt: skip
    return looked.rules_out("The side that won offline is the one of which less is known.")


def _never_met(looked: Looked, found: ExposureEvidence, k: int) -> CheckAnswer:
    mine, base = percent(found.unseen_run), percent(found.unseen_base)
    return looked.supports(
        f"{mine} of its first {k} places hold items that nobody met before the test, of the baseline's "
        f"{base}: offline they count as wrong, whatever people think of them.",
        f"nobody met {mine} of what it shows before, of the baseline {base}", 1,
    )  # fmt: skip


def _seen_statistic(found: ExposureEvidence) -> str:
    told = (
        f"never met before: {percent(found.unseen_run)} of the places, baseline {percent(found.unseen_base)}"
    )
    if found.judged_run is None:
        return told
    return f"{told}; judged {percent(found.judged_run)}, baseline {percent(found.judged_base)}"


def _seen_picture(found: ExposureEvidence, about: About) -> Picture:
    bars = [
        Bar(f"Never met, {about.run}", 100 * found.unseen_run, side="run"),
        Bar(f"Never met, {about.base}", 100 * found.unseen_base, side="baseline"),
    ]
    if found.judged_run is not None and found.judged_base is not None:
        bars.append(Bar(f"Judged, {about.run}", 100 * found.judged_run, side="run"))
        bars.append(Bar(f"Judged, {about.base}", 100 * found.judged_base, side="baseline"))
    return Picture(f"Share of the first {about.k} places", tuple(bars), "%")


# ── 7 position ───────────────────────────────────────────────────────────────────────────────


def position(evidence: Evidence) -> CheckAnswer:
    """Is the gain in places that people really had?

    The offline gain once more at k = the slots of a served list, as a share of the baseline's value.
    *Supports*: less than half of it is left within the slots, and its interval there does not hold the whole
    of it. *Rules out*: people had all places that offline looked at; or it is settled in the slots too, and
    at least half is left. *Can't tell*: it is too uncertain there; no ranks in the served lists; or no
    settled gain to begin with. Clicks by rank stand beside it.
    """
    found, gain = evidence.places, evidence.gain
    if isinstance(found, Missing):
        return cannot("position", found)
    if isinstance(gain, Missing):
        return cannot("position", gain)
    about = evidence.about
    looked = Looked("position", _places_statistic(found, gain, about), _places_picture(found, gain, about))
    if found.slots >= about.k:
        return looked.rules_out(
            f"Offline looked at {about.k} places, and people were shown {found.slots}: they had them all."
        )
    if gain.sign == 0:
        return looked.too_little("There is no settled offline gain that could turn.", "more users offline")
    return _within_slots(looked, found, gain, about)


def _within_slots(looked: Looked, found: Places, gain: Gain, about: About) -> CheckAnswer:
    rest = left(gain, found.gain)
    if rest == "stays":
        return looked.rules_out(f"Within the {found.slots} places that were shown the gain is there too.")
    if rest == "can't tell":
        return looked.too_little(
            f"Within the {found.slots} places that were shown the gain is so uncertain that all of it may be "
            "there.",
            "more users offline",
        )
    return looked.supports(
        f"Offline looked at {about.k} places and people were shown {found.slots}: there the gain "
        f"{becomes(gain, found.gain)}.",
        f"its gain is in places that nobody had (k = {about.k}, shown {found.slots})", 2,
    )  # fmt: skip


def _places_statistic(found: Places, gain: Gain, about: About) -> str:
    both = [gain.mean, found.gain.mean]
    at_k, at_slots = (numbers.signed(value, numbers.places(both)) for value in both)
    return f"gain {at_k} at k = {about.k}, {at_slots} at {found.slots} places shown{_top_clicks(found)}"


def _top_clicks(found: Places) -> str:
    if found.clicked is None or not found.clicked.sum():
        return ""
    first = found.clicked[:3].sum() / found.clicked.sum()
    return f"; first 3 places: {percent(float(first))} of the clicks"


def _places_picture(found: Places, gain: Gain, about: About) -> Picture:
    if found.clicked is not None and found.shown.any():
        rates = 100 * found.clicked / np.maximum(found.shown, 1)
        bars = [Bar(f"Place {rank}", float(rate)) for rank, rate in enumerate(rates[:MOST_RANKS], start=1)]
        return Picture("Clicks of times shown, by place", tuple(bars), "%")
    rows = ((f"k = {about.k}", gain), (f"k = {found.slots}, as shown", found.gain))
    ends = tuple(Bar(label, one.mean, one.low, one.high, side="run") for label, one in rows)
    return Picture(f"Difference in {about.metric.split('@')[0]}", ends, sign=True)


# ── 8 served ─────────────────────────────────────────────────────────────────────────────────


def served(evidence: Evidence) -> CheckAnswer:
    """Was what people were served what was evaluated?

    Per user of the variant, the share of shown items that stand in as many first places of the uploaded
    list; and of the users known offline the share without an uploaded list, who were served something else.
    *Supports*: the mean share is below .8, or more than a tenth are without a list. *Rules out*: neither.
    """
    found = evidence.served
    if isinstance(found, Missing):
        return cannot("served", found)
    if not found.n_known:
        return cannot("served", Missing("the same user ids in the served lists as in the upload"))
    without = found.n_without / found.n_known
    mean = float(found.overlap.mean()) if len(found.overlap) else 0.0
    looked = Looked("served", _served_statistic(found, mean, without), _served_picture(found))
    of = f"Of {numbers.count(found.n_units)} users served, {numbers.count(found.n_known)} are known offline. "
    if mean < OVERLAP_LEAST and len(found.overlap):
        return looked.supports(
            f"{of}Only {percent(mean)} of what they were shown is in the uploaded list: another system, or "
            "another day's, was tested.",
            f"the lists served are not those evaluated ({percent(mean)} in common)", 3,
        )  # fmt: skip
    if without > WITHOUT_MOST:
        return looked.supports(
            f"{of}{percent(without)} of them have no list in the upload: what they saw was not evaluated.",
            f"{percent(without)} of the users were served a fallback", 2,
        )  # fmt: skip
    return looked.rules_out(f"{of}They were shown what was evaluated.")


def _served_statistic(found: ServedOverlap, mean: float, without: float) -> str:
    shared = percent(mean) if len(found.overlap) else numbers.NONE
    return f"{shared} of shown items in the uploaded list; {percent(without)} without a list"


def _served_picture(found: ServedOverlap) -> Picture:
    """Users by how much of what they saw was in their list."""
    edges = np.array([0.0, 0.5, 0.8, 0.9999, np.inf])
    counts = np.histogram(found.overlap, edges)[0]
    labels = ("less than half", "half to 80 %", "80 % and more", "all of it")
    bars = [Bar(label, float(count)) for label, count in zip(labels, counts.tolist(), strict=True)]
    return Picture("Users by how much of what they saw was in their uploaded list", tuple(bars))
