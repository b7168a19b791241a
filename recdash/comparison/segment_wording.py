"""Puts the findings of a comparison by segment into words; they follow the corrected differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.comparison.segments import MOST
from recdash.formatting import numbers
from recdash.formatting.names import shortened
from recdash.formatting.wording import CORRECTIONS, capital, cut, listed, named_number, small

if TYPE_CHECKING:
    from recdash.comparison.segments import Flag, SegmentComparison

MOST_NAMED = 2
MOST_CANDIDATES_NAMED = 3
LONGEST_NAME = 32
FILLED = "Filled: significant."


def segment_title(comparison: SegmentComparison, segment: str) -> str:
    """Returns the segment's title for use in a sentence: ``known users`` for ``Known users (with train
    rows)``.
    """
    title, _ = title_parts(comparison.titles[segment])
    return cut(small(title), 60)


def title_parts(title: str) -> tuple[str, str]:
    """Returns a segment's title without its remark in parentheses, and the remark: ``Known users`` and ``with
    train rows``; the remark is empty if there is none.
    """
    remark = re.search(r"(?<=[^:\s]) \(([^()]*)\)$", title)
    return (title[: remark.start()], remark[1]) if remark else (title, "")


def where(comparison: SegmentComparison, segments: Sequence[str]) -> str:
    """Returns where a finding applies: ``for known users and new users``, or ``in 3 of 12 segments`` if more
    than ``MOST_NAMED``.
    """
    if len(segments) > MOST_NAMED:
        return f"in {len(segments)} of {len(comparison.titles)} segments"
    return f"for {listed([segment_title(comparison, segment) for segment in segments])}"


def finding(comparison: SegmentComparison, *, former: bool = False) -> str:
    """Returns the headline, such as ``EASE is better for known users and worse for new users``.

    ``former`` does not say *significantly* where candidates are worse in some segments, as older reports do.
    """
    runs = [run for run in comparison.candidates if comparison.judged(run)]
    mixed = [
        run for run in runs if comparison.with_word(run, "better") and comparison.with_word(run, "worse")
    ]
    if not runs:
        return _unjudged(comparison)
    if not mixed:
        return _one_way(comparison, runs, former=former)
    best = max(mixed, key=lambda run: comparison.whole(run).difference)
    better, worse = (comparison.with_word(best, word) for word in ("better", "worse"))
    in_better = where(comparison, better)
    if min(len(better), len(worse)) > MOST_NAMED:
        in_better = f"in {len(better)}"
    others = [_name(comparison, run) for run in mixed if run != best]
    also = ""
    if others:
        also = f"{others[0]} is" if len(others) == 1 else f"{named_number(len(others)).lower()} others are"
        also = f"; {also} mixed, too"
    return f"{_name(comparison, best)} is better {in_better} and worse {where(comparison, worse)}{also}"


def about(comparison: SegmentComparison, run: str) -> str:
    """Returns the headline on one candidate, first for which users it is worse, such as ``ALS is worse in no
    segment; better for known users, equal for users new to the service``.
    """
    judged = comparison.judged(run)
    if not judged:
        return finding(comparison)
    name, worse = _name(comparison, run), comparison.with_word(run, "worse")
    better = comparison.with_word(run, "better")
    if len(better) == len(judged):
        return f"{name} is better {_in_all_judged(comparison, run)}"
    if len(worse) == len(judged):
        return f"{name} is worse {_in_all_judged(comparison, run)}"
    equal = [segment for segment, cell in judged.items() if cell.pair and cell.pair.is_identical]
    others = [segment for segment in judged if segment not in (*worse, *better, *equal)]
    first = f"{name} is worse {where(comparison, worse) if worse else 'in no segment'}"
    findings = {"better": better, "equal": equal, "not significantly different": others}
    rest = [f"{word} {where(comparison, segments)}" for word, segments in findings.items() if segments]
    return f"{first}; {', '.join(rest)}"


def why_in_no_segment(comparison: SegmentComparison, run: str) -> str:
    """Returns why a candidate that is better over all users is better in no segment; empty if it is in one,
    and if there are fewer than two segments.
    """
    judged = comparison.judged(run)
    if comparison.whole(run).word != "better" or comparison.with_word(run, "better") or len(judged) < 2:
        return ""
    n_family = sum(len(comparison.judged(candidate)) for candidate in comparison.candidates)
    correction = comparison.query.terms.correction
    corrected = (
        "" if correction == "off" else f", and {CORRECTIONS[correction]} corrects {n_family} differences"
    )
    base = f"{_name(comparison, run)} is better over all users, though in no segment by itself"
    return f"{base}: each segment has fewer users{corrected}."


def _unjudged(comparison: SegmentComparison) -> str:
    metric = comparison.query.where
    if len(comparison.runs) < 2:
        return f"{_name(comparison, comparison.query.baseline)} has no candidate to compare with"
    if comparison.by_value:
        return f"{metric} by segment, without a test"
    return f"No segment is large enough to compare {metric}"


def _one_way(comparison: SegmentComparison, runs: Sequence[str], *, former: bool) -> str:
    """Returns the headline for comparisons in which no run is better in some segments and worse in others."""
    base = _name(comparison, comparison.query.baseline)
    better, worse = ({run: comparison.with_word(run, word) for run in runs} for word in ("better", "worse"))
    n_judged = {run: len(comparison.judged(run)) for run in runs}
    everywhere = [run for run in runs if len(better[run]) == n_judged[run]]
    best = max(runs, key=lambda run: len(better[run]))
    if everywhere:
        return f"{_are(comparison, everywhere)} better {_in_all_judged(comparison, everywhere[0])}"
    if better[best]:
        return (
            f"{_name(comparison, best)} is better {where(comparison, better[best])} and worse in no segment"
        )
    if len(runs) == 1:
        relation = f"not significantly different from {base} in any segment"
        if worse[runs[0]]:
            relation = f"worse {where(comparison, worse[runs[0]])} and better in no segment"
        return f"{_name(comparison, runs[0])} is {relation}"
    if all(len(worse[run]) == n_judged[run] for run in runs):
        return f"{_are(comparison, runs)} worse {_in_all_judged(comparison, runs[0])}"
    relation = "significantly different from"
    if any(worse.values()):
        relation = "better than" if former else "significantly better than"
    return f"No candidate is {relation} {base} in any segment"


def _in_all_judged(comparison: SegmentComparison, run: str) -> str:
    judged = list(comparison.judged(run))
    return where(comparison, judged) if len(judged) == 1 else "in every segment tested"


def _are(comparison: SegmentComparison, runs: Sequence[str]) -> str:
    if len(runs) > MOST_NAMED + 1:
        return f"{named_number(len(runs))} candidates are"
    return f"{listed([_name(comparison, run) for run in runs])} {'is' if len(runs) == 1 else 'are'}"


def _name(comparison: SegmentComparison, run: str) -> str:
    return shortened(comparison.names.values(), LONGEST_NAME)[comparison.names[run]]


def subtitle(comparison: SegmentComparison, *, former: bool = False) -> str:
    """Returns the chart's caption: the metric, the baseline, the interval and its correction, and what each
    look of a mark means.

    ``former`` gives the caption in reports of wording 11 and older: of a single run, it asks for a candidate,
    and says that a catalogue-level metric has no CI.
    """
    if former and len(comparison.runs) < 2:
        return f"{compared(comparison)} Choose a candidate to compare with it."
    has_looks = len(comparison.runs) > 1 and not comparison.by_value
    return compared(comparison, former=former) + (f" {FILLED} {_untested(comparison)}" if has_looks else "")


def compared(comparison: SegmentComparison, *, former: bool = False) -> str:
    """Returns what is compared: the metric, the baseline, the interval and its correction; see ``subtitle``
    for ``former``.
    """
    metric, base = comparison.query.where, _name(comparison, comparison.query.baseline)
    if len(comparison.runs) < 2:
        return f"{metric} of {base} in each segment."
    if comparison.by_value:
        no_interval = "no CI" if former else "no CI drawn here"
        return f"{metric} is a catalogue-level metric, {no_interval}. Grey tick: {base}."
    correction = comparison.query.terms.correction
    n_family = sum(len(comparison.judged(run)) for run in comparison.candidates)
    corrected = "not corrected" if correction == "off" else f"{CORRECTIONS[correction]}-corrected"
    is_named = n_family > 1 or correction == "off"
    rule = f", {corrected} over {n_family} differences" if is_named else ""
    return f"Change in {metric} vs {base}, 95 % CI{rule}."


def looks(comparison: SegmentComparison) -> str:
    """Returns what the looks of marks mean that occur in a chart of the differences; empty without a
    chart of differences.
    """
    if comparison.by_value:
        return ""
    cells = [comparison.cell(segment, run) for segment in comparison.titles for run in comparison.candidates]
    meanings = {
        FILLED: any(cell.word in ("better", "worse") for cell in cells),
        "Hollow: not significant, or a tie.": any(
            cell.pair and cell.word not in ("better", "worse") for cell in cells
        ),
        _untested(comparison): any(not cell.pair and cell.n_shared for cell in cells),
    }
    return " ".join(text for text, occurs in meanings.items() if occurs)


def _untested(comparison: SegmentComparison) -> str:
    return f"Grey: fewer than {comparison.least} users, not tested."


# ── contradictions between segments and the whole ───────────────────────────────────────────


def shared_sentences(comparison: SegmentComparison, flagged: Sequence[Flag]) -> list[str]:
    """Returns the sentences of the flags. Candidates with most of their difference in the same segment share
    one, with or without a flag: where the limit of a flag falls between them tells nothing.
    """
    sentences = []
    for flag in flagged:
        alike = _alike(comparison, flag, flagged)
        several = len(alike) > 1
        sentences.append(_of_several(comparison, flag, alike) if several else flag_sentence(comparison, flag))
    return list(dict.fromkeys(sentences))


def _alike(comparison: SegmentComparison, flag: Flag, flagged: Sequence[Flag]) -> list[str]:
    """Returns the candidates with the same finding as the flag's over all users, and most of their difference
    in its one segment; without those that have another flag.
    """
    if flag.kind != "one segment" or not comparison.is_additive(flag.run):
        return [flag.run]
    (segment,), word = flag.segments, comparison.whole(flag.run).word
    others = {other.run for other in flagged if (other.kind, other.segments) != (flag.kind, flag.segments)}
    return [
        run
        for run in comparison.candidates
        if run not in others
        and comparison.is_additive(run)
        and comparison.whole(run).word == word
        and comparison.cells[segment, run].word == word
        and comparison.contribution(segment, run) > max(MOST, comparison.share(segment, run))
    ]


def _of_several(comparison: SegmentComparison, flag: Flag, runs: Sequence[str]) -> str:
    (segment,), word = flag.segments, comparison.whole(flag.run).word
    everyone = len(runs) == len(comparison.candidates) > MOST_CANDIDATES_NAMED
    names = f"All {named_number(len(runs)).lower()} candidates"
    if not everyone:
        names = listed([_name(comparison, run) for run in runs], MOST_CANDIDATES_NAMED)
    shares = [min(100.0, 100 * comparison.contribution(segment, run)) for run in runs]
    least, most = f"{min(shares):.0f}", f"{max(shares):.0f}"
    each = f"{least} %" if least == most else f"{least} to {most} %"
    users = numbers.three(100 * comparison.share(segment, flag.run))
    return (
        f"{names} are {word} than {_name(comparison, comparison.query.baseline)} over all users, mostly "
        f"because of {segment_title(comparison, segment)} ({users} % of the users): {each} of each "
        f"{'gain' if word == 'better' else 'loss'} comes from them."
    )


def flag_sentence(comparison: SegmentComparison, flag: Flag) -> str:
    """Returns one or two sentences that explain the flag with its numbers."""
    sentences = {
        "reversed": _reversed,
        "cancelled": _cancelled,
        "outvoted": _outvoted,
        "one segment": _one_segment,
    }
    return sentences[flag.kind](comparison, flag)


def _with_n(comparison: SegmentComparison, run: str, segments: Sequence[str]) -> str:
    """Returns up to four segments with their differences and numbers of users, such as ``new users (−0.0391,
    n = 2,376)``, then ``and 2 more``.
    """
    cells = {segment: comparison.cells[segment, run] for segment in segments[:4]}
    digits = numbers.places(cell.difference for cell in cells.values())
    texts = [
        f"{segment_title(comparison, segment)} "
        f"({numbers.signed(cell.difference, digits)}, n = {numbers.count(cell.n_shared)})"
        for segment, cell in cells.items()
    ]
    more = len(segments) - len(texts)
    return listed([*texts, *([f"{more} more"] if more else [])])


def _overall(comparison: SegmentComparison, run: str) -> str:
    """Returns the run's result over all users, such as ``EASE is worse than Popular over all users
    (−0.0131)``.
    """
    whole, base = comparison.whole(run), _name(comparison, comparison.query.baseline)
    relation = {
        "better": f"is better than {base}",
        "worse": f"is worse than {base}",
        "tie": f"is equal to {base}",
        "not settled": f"is not significantly different from {base}",
    }[whole.word or "not settled"]
    amount = numbers.change(whole.difference)
    return f"{_name(comparison, run)} {relation} over all users ({amount})"


def _cancelled(comparison: SegmentComparison, flag: Flag) -> str:
    """Returns the sentence on gains and losses. It says that they cancel only for segments of users: segments
    of items do not add up to the whole.
    """
    better, worse = (
        _with_n(comparison, flag.run, comparison.with_word(flag.run, word)) for word in ("better", "worse")
    )
    why = ", but it is" if comparison.of_items else ": gains and losses cancel. It is"
    return f"{_overall(comparison, flag.run)}{why} better for {better}, and worse for {worse}."


def _outvoted(comparison: SegmentComparison, flag: Flag) -> str:
    run, judged = flag.run, comparison.judged(flag.run)
    word = comparison.cells[flag.segments[0], run].word
    how_many = f"{len(flag.segments)} of {len(judged)} segments"
    if len(flag.segments) == len(judged):
        how_many = "every segment"
    segments = _with_n(comparison, run, flag.segments)
    text = f"{_overall(comparison, run)}, but {word} in {how_many}: {segments}."
    if comparison.of_items:
        return f"{text} Each segment counts only its own items, so they do not add up to the total."
    opposite = [segment for segment in judged if segment not in flag.segments]
    if not opposite:
        return f"{text} Users in no segment make the difference."
    users = 100 * sum(comparison.share(segment, run) for segment in opposite)
    carried_by = _with_n(comparison, run, opposite)
    return f"{text} The total follows {carried_by}, {numbers.three(users)} % of the users."


def _one_segment(comparison: SegmentComparison, flag: Flag) -> str:
    (segment,), run = flag.segments, flag.run
    word = comparison.whole(run).word
    kind = "gain" if word == "better" else "loss"
    named = _with_n(comparison, run, flag.segments)
    if not comparison.is_additive(run):
        return f"{_overall(comparison, run)}. Only one segment shows it: {named}."
    contribution = comparison.contribution(segment, run)
    much = "all of the" if contribution >= 1 else f"{numbers.three(100 * contribution)} % of the"
    return (
        f"{_overall(comparison, run)}. {capital(much)} {kind} comes from {named}, "
        f"{numbers.three(100 * comparison.share(segment, run))} % of the users. No other segment "
        f"{'improves' if word == 'better' else 'declines'} significantly."
    )


def _reversed(comparison: SegmentComparison, flag: Flag) -> str:
    run, base = flag.run, comparison.query.baseline
    means = [comparison.whole(of_run).value for of_run in (run, base)]
    side, other = ("above", "below") if means[0] > means[1] else ("below", "above")
    own_shares = {
        segment: [
            comparison.cells[segment, of_run].n / max(1, comparison.whole(of_run).n) for of_run in (run, base)
        ]
        for segment in flag.segments
    }
    apart = max(flag.segments, key=lambda segment: abs(own_shares[segment][0] - own_shares[segment][1]))
    shares = [f"{numbers.three(100 * share)} %" for share in own_shares[apart]]
    name, base_name = _name(comparison, run), _name(comparison, base)
    return (
        f"The mean of {name} is {side} that of {base_name} ({' vs '.join(map(numbers.three, means))}), but "
        f"{other} it in every segment tested. They count different users: {segment_title(comparison, apart)} "
        f"are {shares[0]} of those of {name} and {shares[1]} of those of {base_name}."
    )
