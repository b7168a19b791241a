"""What the segments say of the candidates, in words that follow the corrected differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.comparison.segments import EVERYBODY
from recdash.formatting import numbers
from recdash.formatting.wording import cut, listed, named_number
from recdash.metrics.naming import metric_at

if TYPE_CHECKING:
    from recdash.comparison.segments import Cell, Flag, Segmented

MOST_NAMED = 2
LONGEST_NAME = 32
RULES = {"holm": "Holm", "bh": "Benjamini–Hochberg", "off": "not corrected"}


def titled(found: Segmented, segment: str) -> str:
    """``Known users (with train rows)`` → ``known users``, for the middle of a sentence."""
    title = re.sub(r"(?<=[^:\s]) \([^()]*\)$", "", found.titles[segment])
    return cut(f"{title[:1].lower()}{title[1:]}", 60)


def where(found: Segmented, segments: Sequence[str]) -> str:
    """``for known users and new users``; of many how many."""
    if len(segments) > MOST_NAMED:
        return f"in {len(segments)} of {len(found.titles)} segments"
    return f"for {listed([titled(found, one) for one in segments])}"


def finding(found: Segmented) -> str:
    """``EASE is better for known users and worse for new users``."""
    runs = [run for run in found.candidates if found.judged(run)]
    mixed = [run for run in runs if found.in_words(run, "better") and found.in_words(run, "worse")]
    if not runs:
        return _unjudged(found)
    if not mixed:
        return _one_way(found, runs)
    best = max(mixed, key=lambda run: found.cells[EVERYBODY, run].difference)
    others = [_name(found, run) for run in mixed if run != best]
    also = f"; {_others(others)} mixed too" if others else ""
    return f"{_name(found, best)} is {_both_ways(found, best)}{also}"


def _both_ways(found: Segmented, run: str) -> str:
    """``better in 3 and worse in 6 of 12 segments``, or named."""
    better, worse = (found.in_words(run, word) for word in ("better", "worse"))
    if min(len(better), len(worse)) > MOST_NAMED:
        return f"better in {len(better)} and worse {where(found, worse)}"
    return f"better {where(found, better)} and worse {where(found, worse)}"


def _unjudged(found: Segmented) -> str:
    metric = metric_at(found.metric, found.k)
    if len(found.runs) < 2:
        return f"{_name(found, found.baseline)} has nobody to be compared with"
    if found.by_value:
        return f"{metric} by segment: values only, without a verdict"
    return f"No segment can be judged on {metric}"


def _one_way(found: Segmented, runs: Sequence[str]) -> str:
    """Nobody is better here and worse there: who is better everywhere, or somewhere, or nowhere."""
    everywhere = [run for run in runs if _is_everywhere(found, run, "better")]
    if everywhere:
        return f"{_are(found, everywhere)} better {_every(found, everywhere[0])}"
    best, worst = (_most(found, runs, word) for word in ("better", "worse"))
    if best:
        return _only(found, best, "better", "worse")
    if worst and len(runs) == 1:
        return _only(found, worst, "worse", "better")
    return _nobody(found, runs)


def _is_everywhere(found: Segmented, run: str, word: str) -> bool:
    return len(found.in_words(run, word)) == len(found.judged(run))


def _only(found: Segmented, run: str, word: str, other: str) -> str:
    return f"{_name(found, run)} is {word} {where(found, found.in_words(run, word))}, and nowhere {other}"


def _nobody(found: Segmented, runs: Sequence[str]) -> str:
    base = _name(found, found.baseline)
    if all(_is_everywhere(found, run, "worse") for run in runs):
        return f"{_are(found, runs)} worse {_every(found, runs[0])}"
    if any(found.in_words(run, "worse") for run in runs):
        return f"No candidate is better than {base} in any segment"
    if len(runs) == 1:
        return f"{_name(found, runs[0])} is not settled against {base} in any segment"
    return f"No candidate is settled against {base} in any segment"


def _most(found: Segmented, runs: Sequence[str], word: str) -> str | None:
    """The run that is ``word`` in most segments; None where none is in any."""
    saying = [run for run in runs if found.in_words(run, word)]
    return max(saying, key=lambda run: len(found.in_words(run, word)), default=None)


def _every(found: Segmented, run: str) -> str:
    judged = list(found.judged(run))
    return where(found, judged) if len(judged) == 1 else "in every segment that is judged"


def _are(found: Segmented, runs: Sequence[str]) -> str:
    if len(runs) > MOST_NAMED + 1:
        return f"{named_number(len(runs))} candidates are"
    return f"{listed([_name(found, run) for run in runs])} {'is' if len(runs) == 1 else 'are'}"


def _others(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{named_number(len(names)).lower()} others are"


def _name(found: Segmented, run: str) -> str:
    return cut(found.names[run], LONGEST_NAME)


def subtitle(found: Segmented) -> str:
    """What is drawn, against whom, and how it is judged."""
    metric, base = metric_at(found.metric, found.k), found.names[found.baseline]
    if len(found.runs) < 2:
        return f"{metric} of {base} in each segment. Choose a candidate to see for whom it is better."
    if found.by_value:
        return f"{metric} within each segment: it has no value per user, so no interval. Grey tick: {base}."
    family = sum(len(found.judged(run)) for run in found.candidates)
    rule = (
        f", {RULES[found.terms.correction]} over {family} differences"
        if family > 1 or found.terms.correction == "off"
        else ""
    )
    return (
        f"{metric} against {base}, paired user by user; 95 % intervals{rule}. "
        f"Filled: settled. Grey: fewer than {found.least} users, not judged."
    )


# ── what the whole does not show ─────────────────────────────────────────────────────────────


def flagged(found: Segmented, flag: Flag) -> str:
    """One or two sentences, with the numbers that explain the flag."""
    tell = {
        "reversed": _reversed,
        "cancelled": _cancelled,
        "outvoted": _outvoted,
        "one segment": _one_segment,
    }
    return tell[flag.kind](found, flag)


def _whole(found: Segmented, run: str) -> Cell:
    return found.cells[EVERYBODY, run]


def _with_n(found: Segmented, run: str, segments: Sequence[str]) -> str:
    """``new users (−0.0391, n = 2,376)`` and so on."""
    cells = [(titled(found, one), found.cells[one, run]) for one in segments[:4]]
    digits = numbers.places(cell.difference for _, cell in cells)
    told = [
        f"{title} ({numbers.signed(cell.difference, digits)}, n = {numbers.count(cell.n_shared)})"
        for title, cell in cells
    ]
    more = len(segments) - len(told)
    return listed([*told, *([f"{more} more"] if more else [])])


def _overall(found: Segmented, run: str) -> str:
    """``EASE is worse than Popular over all users (−0.0131)``."""
    cell, base = _whole(found, run), found.names[found.baseline]
    said = {
        "better": f"is better than {base}", "worse": f"is worse than {base}", "tie": f"is level with {base}",
        "not settled": f"is not settled against {base}",
    }[cell.word or "not settled"]  # fmt: skip
    amount = numbers.signed(cell.difference, numbers.places([cell.difference]))
    return f"{found.names[run]} {said} over all users ({amount})"


def _cancelled(found: Segmented, flag: Flag) -> str:
    """Of users the parts make the whole; of items they do not, and only stand beside it."""
    better, worse = (_with_n(found, flag.run, found.in_words(flag.run, word)) for word in ("better", "worse"))
    why = ", but" if found.of_items else " because its gains and losses hide each other:"
    return f"{_overall(found, flag.run)}{why} better for {better}, worse for {worse}."


def _outvoted(found: Segmented, flag: Flag) -> str:
    word = found.cells[flag.segments[0], flag.run].word
    judged = found.judged(flag.run)
    every = (
        "every segment"
        if len(flag.segments) == len(judged)
        else f"{len(flag.segments)} of {len(judged)} segments"
    )
    those = _with_n(found, flag.run, flag.segments)
    told = f"{_overall(found, flag.run)}, but {word} in {every}: {those}."
    opposite = [one for one in judged if one not in flag.segments]
    if found.of_items:
        return f"{told} A segment counts only its own items, so the whole is not the mean of the segments."
    return f"{told} {_carried(found, flag.run, opposite)}"


def _carried(found: Segmented, run: str, segments: Sequence[str]) -> str:
    """Who turns the whole: larger differences of fewer users."""
    if not segments:
        return "The users whom no segment holds turn it."
    users = 100 * sum(found.share(one, run) for one in segments)
    return f"The whole follows {_with_n(found, run, segments)}: {numbers.three(users)} % of the users."


def _one_segment(found: Segmented, flag: Flag) -> str:
    (segment,), run = flag.segments, flag.run
    word = _whole(found, run).word
    kind = "gain" if (word == "better") else "loss"
    who = _with_n(found, run, flag.segments)
    if not found.is_additive(run):
        return f"{_overall(found, run)}, but of the segments only {who} shows it."
    part = found.contribution(segment, run)
    much = "all of the" if part >= 1 else f"{numbers.three(100 * part)} % of the"
    return (
        f"{_overall(found, run)}, and {much} {kind} comes from {who}: "
        f"{numbers.three(100 * found.share(segment, run))} % of the users. Nobody else is shown to be {word}."
    )


def _reversed(found: Segmented, flag: Flag) -> str:
    run, base = flag.run, found.baseline
    whole = [_whole(found, one).value for one in (run, base)]
    side, other = ("above", "below") if whole[0] > whole[1] else ("below", "above")
    apart = max(
        flag.segments, key=lambda one: abs(_own_share(found, one, run) - _own_share(found, one, base))
    )
    shares = [f"{numbers.three(100 * _own_share(found, apart, one))} %" for one in (run, base)]
    values = " against ".join(numbers.three(value) for value in whole)
    return (
        f"By its own mean {found.names[run]} is {side} {found.names[base]} ({values}), but {other} it in "
        f"every segment that is judged. They count different users: {titled(found, apart)} are {shares[0]} "
        f"of those of {found.names[run]} and {shares[1]} of those of {found.names[base]}."
    )


def _own_share(found: Segmented, segment: str, run: str) -> float:
    """Of the users whom the run counts."""
    return found.cells[segment, run].n / max(1, _whole(found, run).n)
