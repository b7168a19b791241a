"""Compares runs with a baseline in segments: which gain, which lose, and where segments contradict the
whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from recdash.comparison.pairs import Pair, UnjudgedPair, judge_family, pair_of
from recdash.comparison.query import ComparisonQuery
from recdash.domain.results import UserValues
from recdash.formatting.signs import sign_of
from recdash.metrics import define
from recdash.stats import Finding

EVERYBODY = ""
"""The key that stands for all users among the segments."""
MOST = 0.5
"""A flag needs segments that together have more than this share of the users."""
NEARLY_ALL = 0.9
"""Share of the whole difference from which it counts as coming from one segment."""

Values = Mapping[str, UserValues | None]
"""{run id: users' values in a segment}; None for a run that lacks the metric."""
FlagKind = Literal["reversed", "cancelled", "outvoted", "one segment"]


@dataclass(frozen=True)
class Cell:
    """The result of one run in one segment.

    ``value`` is the mean over its own ``n`` users. ``difference`` is the mean difference from the baseline
    over the ``n_shared`` users that both have, NaN if there are none. ``pair`` is that difference with
    interval and finding; None if it is not judged, and ``why`` is then the reason.
    """

    value: float
    n: int
    difference: float = float("nan")
    n_shared: int = 0
    pair: Pair | None = None
    why: str = ""

    @property
    def word(self) -> Finding | None:
        return self.pair.judged.word if self.pair else None

    @property
    def words(self) -> str:
        """Returns the finding as shown to people; empty if it is not judged."""
        return self.pair.words if self.pair else ""

    @property
    def sign(self) -> str:
        return sign_of(self.words)


@dataclass(frozen=True)
class SegmentComparison:
    """Runs compared with a baseline in every segment, by one metric at one k.

    ``by`` names the attribute that forms the segments. ``titles``: {segment: title}, in the order of display.
    ``cells``: {(segment, run id): cell}, where ``EVERYBODY`` is a segment too. ``least``: the fewest users
    for which a segment is judged. ``of_items``: the segments contain items instead of users, and each counts
    only its own items.
    """

    query: ComparisonQuery
    by: str
    names: Mapping[str, str]
    titles: Mapping[str, str]
    cells: Mapping[tuple[str, str], Cell]
    least: int
    of_items: bool = False

    @cached_property
    def runs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run for _, run in self.cells))

    @property
    def by_value(self) -> bool:
        """Returns whether the metric has no value per user, so that runs are compared by its value without a
        test of significance.
        """
        return not define(self.query.metric).has_user_values

    @property
    def candidates(self) -> tuple[str, ...]:
        return tuple(run for run in self.runs if run != self.query.baseline)

    def cell(self, segment: str, run: str) -> Cell:
        """Returns the run's cell in the segment; an empty cell if it was not scored there."""
        return self.cells.get((segment, run)) or Cell(float("nan"), 0, why="not scored")

    def whole(self, run: str) -> Cell:
        """Returns the run's cell over all users."""
        return self.cells[EVERYBODY, run]

    def judged(self, run: str) -> dict[str, Cell]:
        """Returns {segment: cell} for the segments in which the run is judged."""
        return {segment: cell for segment in self.titles if (cell := self.cells[segment, run]).pair}

    def with_word(self, run: str, word: str) -> list[str]:
        """Returns the segments in which the run's finding is ``word``, such as *better*."""
        return [segment for segment, cell in self.judged(run).items() if cell.word == word]

    def is_additive(self, run: str) -> bool:
        """Returns whether each user is in exactly one segment, so that the segments' shares of users and of
        the difference add up to 1.
        """
        n_in_segments = sum(self.cells[segment, run].n_shared for segment in self.titles)
        return not self.of_items and n_in_segments == self.whole(run).n_shared

    def share(self, segment: str, run: str) -> float:
        """Returns which share of the users that run and baseline have in common is in the segment: 0..1, NaN
        without such users.
        """
        n_users = self.whole(run).n_shared
        return self.cells[segment, run].n_shared / n_users if n_users else float("nan")

    def contribution(self, segment: str, run: str) -> float:
        """Returns the segment's share of the whole difference; above 1 if other segments cancel a part of it,
        NaN if the whole difference is 0.
        """
        whole, own = self.whole(run).difference, self.cells[segment, run].difference
        return self.share(segment, run) * own / whole if whole else float("nan")


@dataclass(frozen=True)
class Flag:
    """A contradiction between a run's difference over all users and its differences in segments.

    *reversed*: the means over all users order run and baseline one way, the means in every judged segment the
    other way (the two have different users). *cancelled*: gains and losses in segments cancel each other.
    *outvoted*: most users are in segments that contradict the whole. *one segment*: nearly the whole
    difference comes from a single segment. ``segments`` are those that show it.
    """

    kind: FlagKind
    run: str
    segments: tuple[str, ...]


def compare_segments(empty: SegmentComparison, values: Mapping[str, Values]) -> SegmentComparison:
    """Returns ``empty`` with its cells filled from ``values``: {segment: {run id: users' values}}, including
    ``EVERYBODY``.

    The differences of all candidates in all segments with at least ``least`` users are corrected as one
    family, those over all users as another.
    """
    baseline = empty.query.baseline
    cells: dict[tuple[str, str], Cell] = {}
    families: dict[bool, dict[tuple[str, str], UnjudgedPair]] = {True: {}, False: {}}
    for segment, of_runs in values.items():
        for run, own in of_runs.items():
            cell = _cell_of(own)
            base = None if run == baseline else of_runs[baseline]
            if pair := pair_of(baseline, run, base, own):
                n = pair.paired.n
                is_judged = n >= max(empty.least, 2)
                why = "" if is_judged else "too few users"
                cell = replace(cell, difference=pair.paired.mean, n_shared=n, why=why)
                if is_judged:
                    families[segment == EVERYBODY][segment, run] = pair
            cells[segment, run] = cell
    for family in families.values():
        pairs = judge_family(family, empty.query.terms)
        cells |= {key: replace(cells[key], pair=pair) for key, pair in pairs.items()}
    return replace(empty, cells=cells)


def _cell_of(values: UserValues | None) -> Cell:
    """Returns the cell with the run's own mean, before it is compared."""
    if values is None or not len(values.users):
        return Cell(float("nan"), 0, why="" if values is None else "no user counts")
    return Cell(float(values.values.mean()), len(values.users))


# ── contradictions between segments and the whole ───────────────────────────────────────────


def flags(comparison: SegmentComparison) -> list[Flag]:
    """Returns the most serious flag of each candidate; candidates without a contradiction have none."""
    tests = (_reversed, _cancelled, _outvoted, _one_segment)
    gravest = [
        next(filter(None, (test(comparison, run) for test in tests)), None) for run in comparison.candidates
    ]
    return [flag for flag in gravest if flag]


def _ahead(comparison: SegmentComparison, segment: str, run: str) -> float:
    """Returns the run's mean minus the baseline's in a segment, each over its own users."""
    return comparison.cells[segment, run].value - comparison.cells[segment, comparison.query.baseline].value


def _reversed(comparison: SegmentComparison, run: str) -> Flag | None:
    judged, cells, base = list(comparison.judged(run)), comparison.cells, comparison.query.baseline
    same_users = all(cells[segment, run].n == cells[segment, base].n for segment in (*judged, EVERYBODY))
    if same_users or comparison.of_items or len(judged) < 2:
        return None
    overall = _ahead(comparison, EVERYBODY, run)
    other_way = all(_ahead(comparison, segment, run) * overall < 0 for segment in judged)
    if overall and other_way and _hold_most(comparison, judged, run):
        return Flag("reversed", run, tuple(judged))
    return None


def _hold_most(comparison: SegmentComparison, segments: Sequence[str], run: str) -> bool:
    """Returns whether more than half of the run's users, and of the baseline's, are in these segments."""
    return all(
        sum(comparison.cells[segment, of_run].n for segment in segments) > MOST * comparison.whole(of_run).n
        for of_run in (run, comparison.query.baseline)
    )


def _cancelled(comparison: SegmentComparison, run: str) -> Flag | None:
    better, worse = comparison.with_word(run, "better"), comparison.with_word(run, "worse")
    if comparison.whole(run).word in ("tie", "not settled") and better and worse:
        return Flag("cancelled", run, (*better, *worse))
    return None


def _outvoted(comparison: SegmentComparison, run: str) -> Flag | None:
    overall, judged = comparison.whole(run).word, comparison.judged(run)
    n_judged = sum(cell.n_shared for cell in judged.values())
    for word in ("better", "worse"):
        segments = comparison.with_word(run, word)
        in_all_judged = len(judged) > 1 and len(segments) == len(judged)
        n_users = sum(judged[segment].n_shared for segment in segments)
        most = overall in ("better", "worse") and n_users > MOST * n_judged
        if overall not in (None, word) and (in_all_judged or most) and _hold_most(comparison, segments, run):
            return Flag("outvoted", run, tuple(segments))
    return None


def _one_segment(comparison: SegmentComparison, run: str) -> Flag | None:
    """Returns a flag if nearly all of the difference comes from a single one of several judged segments; else
    None.
    """
    overall = comparison.whole(run).word
    segments = comparison.with_word(run, overall) if overall in ("better", "worse") else []
    if len(segments) != 1 or len(comparison.judged(run)) < 2:
        return None
    if comparison.is_additive(run):
        holds = comparison.contribution(segments[0], run) >= NEARLY_ALL > comparison.share(segments[0], run)
    else:
        holds = not comparison.with_word(run, "not settled")
    return Flag("one segment", run, tuple(segments)) if holds else None
