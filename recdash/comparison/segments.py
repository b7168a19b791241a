"""Runs against a baseline part by part: who gains, who loses, and what the whole does not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from recdash.comparison.pairs import Pair, Terms, UnjudgedPair, family_of, pair_of, shared
from recdash.domain.results import UserValues
from recdash.metrics import define
from recdash.stats import Word

EVERYBODY = ""
"""The key of all users among the segments."""
MOST = 0.5
"""Of the users: what is said of every segment is said of more than this share of them."""
NEARLY_ALL = 0.9
"""From this share of a difference on, it is said to come from one segment."""

Values = Mapping[str, UserValues | None]
"""Run id → its users' values in a segment; None where it lacks the metric."""
FlagKind = Literal["reversed", "cancelled", "outvoted", "one segment"]


@dataclass(frozen=True)
class Cell:
    """One run in one segment: its own mean over its ``n`` users, and what it differs from the baseline.

    ``difference``: mean over the ``n_shared`` users that count for both, NaN without one; ``pair``: the same
    with its interval and word, None where it is not judged, and ``why``.
    """

    value: float
    n: int
    difference: float = float("nan")
    n_shared: int = 0
    pair: Pair | None = None
    why: str = ""

    @property
    def word(self) -> Word | None:
        return self.pair.judged.word if self.pair else None

    @property
    def sign(self) -> str:
        return self.pair.judged.sign if self.pair else "–"


@dataclass(frozen=True)
class Segmented:
    """Runs in every segment by one metric at one k.

    ``titles``: segment → title, in order; ``cells``: (segment, run) → its cell, ``EVERYBODY`` being a segment
    too. ``of_items``: segments of items, in which only these count.
    """

    by: str
    metric: str
    k: int
    baseline: str
    names: Mapping[str, str]
    titles: Mapping[str, str]
    cells: Mapping[tuple[str, str], Cell]
    least: int
    terms: Terms
    of_items: bool = False

    @cached_property
    def runs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run for _, run in self.cells))

    @property
    def by_value(self) -> bool:
        """The metric has no value per user: there is nothing to judge."""
        return not define(self.metric).has_user_values

    @property
    def candidates(self) -> tuple[str, ...]:
        return tuple(run for run in self.runs if run != self.baseline)

    def judged(self, run: str) -> dict[str, Cell]:
        """Segment → cell, of those with a word."""
        return {one: cell for one in self.titles if (cell := self.cells[one, run]).pair}

    def in_words(self, run: str, word: str) -> list[str]:
        """The segments in which the run is ``word``."""
        return [one for one, cell in self.judged(run).items() if cell.word == word]

    def is_additive(self, run: str) -> bool:
        """Is each user in one segment, so that shares of users and of the difference add up to 1?"""
        parts = sum(self.cells[one, run].n_shared for one in self.titles)
        return not self.of_items and parts == self.cells[EVERYBODY, run].n_shared

    def share(self, segment: str, run: str) -> float:
        """Of the users whom run and baseline share, how many are in the segment; 0..1."""
        everybody = self.cells[EVERYBODY, run].n_shared
        return self.cells[segment, run].n_shared / everybody if everybody else float("nan")

    def contribution(self, segment: str, run: str) -> float:
        """The segment's share of the whole difference; more than 1 where others take some of it back."""
        whole = self.cells[EVERYBODY, run].difference
        return (
            self.share(segment, run) * self.cells[segment, run].difference / whole if whole else float("nan")
        )


@dataclass(frozen=True)
class Flag:
    """Where the whole and its parts do not say the same of a run.

    *reversed*: the means order the runs one way, those of every judged segment the other way, and most users
    are in these (the runs count different users); *cancelled*: gains and losses hide each other; *outvoted*:
    most users are in segments that say otherwise than the whole; *one segment*: the whole difference comes
    from it. ``segments``: those that say so.
    """

    kind: FlagKind
    run: str
    segments: tuple[str, ...]


def segmented(empty: Segmented, values: Mapping[str, Values]) -> Segmented:
    """``empty`` with the cells that follow from users' values in each segment, ``EVERYBODY`` among them.

    All segments × candidates with at least ``least`` users are one family; the whole is one of its own.
    """
    base = {one: of[empty.baseline] for one, of in values.items()}
    cells = {(one, run): _own(mine) for one, of in values.items() for run, mine in of.items()}
    found = {
        (one, run): difference
        for one, of in values.items()
        for run, mine in of.items()
        if run != empty.baseline and (difference := _difference(empty.baseline, run, base[one], mine))
    }
    cells |= {key: _different(cells[key], one, empty.least) for key, one in found.items()}
    for whole in (True, False):
        family = {
            key: one for key, one in found.items() if (key[0] == EVERYBODY) == whole and not cells[key].why
        }
        pairs = family_of(list(family.values()), empty.terms) if family else []
        cells |= {key: replace(cells[key], pair=pair) for key, pair in zip(family, pairs, strict=True)}
    return replace(empty, cells=cells)


def _own(mine: UserValues | None) -> Cell:
    if mine is None or not len(mine.users):
        return Cell(float("nan"), 0, why="" if mine is None else "nobody counts")
    return Cell(float(mine.values.mean()), len(mine.users))


def _difference(
    baseline: str, run: str, base: UserValues | None, mine: UserValues | None
) -> UnjudgedPair | None:
    if base is None or mine is None:
        return None
    low, high = shared(base, mine)
    return pair_of(baseline, run, low, high) if len(low.users) else None


def _different(cell: Cell, found: UnjudgedPair, least: int) -> Cell:
    n = found.paired.n
    why = "" if n >= max(least, 2) else "too few users"
    return replace(cell, difference=found.paired.mean, n_shared=n, why=why)


# ── what the whole does not show ─────────────────────────────────────────────────────────────


def flags(found: Segmented) -> list[Flag]:
    """At most one of each candidate, the gravest."""
    return [flag for run in found.candidates if (flag := _flag(found, run))]


def _flag(found: Segmented, run: str) -> Flag | None:
    tests = (_reversed, _cancelled, _outvoted, _one_segment)
    return next((flag for test in tests if (flag := test(found, run))), None)


def _ahead(found: Segmented, segment: str, run: str) -> float:
    """By how much the run's own mean is above the baseline's own; each over the users it counts."""
    return found.cells[segment, run].value - found.cells[segment, found.baseline].value


def _reversed(found: Segmented, run: str) -> Flag | None:
    judged = list(found.judged(run))
    same_users = all(
        found.cells[one, run].n == found.cells[one, found.baseline].n for one in (*judged, EVERYBODY)
    )
    if same_users or found.of_items or len(judged) < 2:
        return None
    whole = _ahead(found, EVERYBODY, run)
    if (
        whole
        and _hold_most(found, judged, run)
        and all(_ahead(found, one, run) * whole < 0 for one in judged)
    ):
        return Flag("reversed", run, tuple(judged))
    return None


def _hold_most(found: Segmented, segments: Sequence[str], run: str) -> bool:
    """Are most of the users whom the run counts in these segments, and of those whom the baseline does?"""
    return all(
        sum(found.cells[one, each].n for one in segments) > MOST * found.cells[EVERYBODY, each].n
        for each in (run, found.baseline)
    )


def _cancelled(found: Segmented, run: str) -> Flag | None:
    better, worse = found.in_words(run, "better"), found.in_words(run, "worse")
    if found.cells[EVERYBODY, run].word in ("tie", "not settled") and better and worse:
        return Flag("cancelled", run, (*better, *worse))
    return None


def _outvoted(found: Segmented, run: str) -> Flag | None:
    whole, judged = found.cells[EVERYBODY, run].word, found.judged(run)
    for word in ("better", "worse"):
        saying = found.in_words(run, word)
        every = len(judged) > 1 and len(saying) == len(judged)
        most = whole in ("better", "worse") and _users(judged, saying) > MOST * _users(judged, list(judged))
        if whole not in (None, word) and (every or most) and _hold_most(found, saying, run):
            return Flag("outvoted", run, tuple(saying))
    return None


def _users(judged: Mapping[str, Cell], segments: Sequence[str]) -> int:
    return sum(judged[one].n_shared for one in segments)


def _one_segment(found: Segmented, run: str) -> Flag | None:
    """Nearly all of the difference is one segment's, and no other shows it; of several judged."""
    whole = found.cells[EVERYBODY, run].word
    saying = found.in_words(run, whole) if whole in ("better", "worse") else []
    if len(saying) != 1 or len(found.judged(run)) < 2:
        return None
    if not found.is_additive(run):
        open_ = found.in_words(run, "not settled")
        return None if open_ else Flag("one segment", run, tuple(saying))
    enough = found.contribution(saying[0], run) >= NEARLY_ALL > found.share(saying[0], run)
    return Flag("one segment", run, tuple(saying)) if enough else None
