"""Every pair of runs: the paired difference, judged together with all the others that are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from recdash.comparison.source import Source
from recdash.domain.results import UserValues, common_bound
from recdash.errors import InputError, Problem
from recdash.metrics import define
from recdash.stats import LEVEL, Correction, JudgedDifference, Paired, judge, paired_difference

MARGIN, MOST_PERCENT = 0.01, 100
"""A difference of less than this share of the baseline's value is too small to matter, unless one says so."""

GUARD = 0.2


@dataclass(frozen=True)
class Margin:
    """What is too small to matter: a share of the baseline's value, or an amount of the metric."""

    size: float = MARGIN
    relative: bool = True

    def of(self, value: float) -> float:
        """In units of the metric, where the baseline has ``value``."""
        return self.size * abs(value) if self.relative else self.size

    def __str__(self) -> str:
        return f"{100 * self.size:.3g} %" if self.relative else f"{self.size:.3g}"


def read_margin(text: str) -> Margin:
    """``1%`` of the baseline's value, or ``0.002`` of the metric. Raises InputError for anything else."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)", text.strip())
    if found is None:
        fix = "Write 1% for a share of the baseline's value, or 0.002 for an amount of the metric."
        raise InputError(Problem("bad-margin", "margin", f"'{text}'", fix))
    size, percent = float(found[1]), bool(found[2])
    if percent and size > MOST_PERCENT:
        fix = "A difference as large as the value itself is not too small to matter."
        raise InputError(Problem("bad-margin", "margin", f"'{text}' is more than {MOST_PERCENT} %", fix))
    return Margin(size / 100 if percent else size, percent)


@dataclass(frozen=True)
class Terms:
    """How differences are judged: the margin, the correction of a family, the interval's level.

    ``guard``: the share of its value at the baseline that a guardrail may lose.
    """

    margin: Margin = field(default_factory=Margin)
    guard: float = GUARD
    correction: Correction = "holm"
    level: float = LEVEL


@dataclass(frozen=True)
class Pair:
    """Candidate minus baseline, by run id; ``value`` and ``base_value`` are means over the shared users."""

    baseline: str
    candidate: str
    base_value: float
    value: float
    judged: JudgedDifference

    @property
    def paired(self) -> Paired:
        return self.judged.paired

    def percent(self, amount: float) -> float:
        """``amount`` in % of the baseline's value; NaN where that is 0."""
        return 100 * amount / abs(self.base_value) if self.base_value else float("nan")


@dataclass(frozen=True)
class Comparison:
    """Runs against a baseline by one metric at one k, over the users that each pair shares.

    ``pairs``: the baseline with each candidate, best first, then every other pair. ``apart``: run id → why
    there is no difference to the baseline.
    """

    metric: str
    k: int
    baseline: str
    names: Mapping[str, str]
    pairs: tuple[Pair, ...]
    apart: Mapping[str, str]
    terms: Terms

    @property
    def lower_is_better(self) -> bool:
        return define(self.metric).lower_is_better

    @cached_property
    def against(self) -> tuple[Pair, ...]:
        """The candidates against the baseline, best first."""
        return tuple(pair for pair in self.pairs if pair.baseline == self.baseline)

    @cached_property
    def among(self) -> tuple[Pair, ...]:
        """Every other pair."""
        return tuple(pair for pair in self.pairs if pair.baseline != self.baseline)

    def to(self, run: str) -> Pair | None:
        """The candidate's pair with the baseline."""
        return next((pair for pair in self.against if pair.candidate == run), None)


def compare(
    source: Source,
    runs: Sequence[str],
    baseline: str,
    metric: str,
    k: int,
    terms: Terms | None = None,
    *,
    among: bool = True,
) -> Comparison:
    """Compare ``runs`` with the baseline; one of them may be the baseline itself.

    The candidates against the baseline are one family, all other pairs another; ``among=False`` leaves
    these out. Raises InputError for a metric without a value per user.
    """
    terms, lower = terms or Terms(), define(metric).lower_is_better
    known = {run: source.values(run, metric, k) for run in dict.fromkeys((baseline, *runs))}
    there = {run: values for run, values in known.items() if values is not None}
    candidates = [run for run in known if run != baseline]
    to_baseline = [(baseline, run) for run in candidates]
    between = combinations(candidates, 2) if among else ()
    against, others = (
        family_of(_paired(wanted, there, lower_is_better=lower, level=terms.level), terms)
        for wanted in (to_baseline, between)
    )
    against.sort(key=lambda pair: pair.paired.mean if lower else -pair.paired.mean)
    paired = {pair.candidate for pair in against}
    apart = {run: _why_apart(source, there, run, baseline, metric) for run in candidates if run not in paired}
    return Comparison(metric, k, baseline, source.names, (*against, *others), apart, terms)


@dataclass(frozen=True)
class UnjudgedPair:
    """A paired difference before it is judged, and the values that it is made of."""

    baseline: str
    candidate: str
    paired: Paired
    base_values: UserValues
    values: UserValues
    lower_is_better: bool = False

    @property
    def base_value(self) -> float:
        return float(self.base_values.values.mean())

    @property
    def value(self) -> float:
        return float(self.values.values.mean())


def family_of(found: Sequence[UnjudgedPair], terms: Terms) -> list[Pair]:
    """All differences judged as one family."""
    judged = judge(
        [one.paired for one in found],
        terms.correction,
        margins=[terms.margin.of(one.base_value) for one in found],
        level=terms.level,
    )
    return [
        Pair(one.baseline, one.candidate, one.base_value, one.value, _in_context(own, one, terms.margin))
        for one, own in zip(found, judged, strict=True)
    ]


def _in_context(judged: JudgedDifference, found: UnjudgedPair, margin: Margin) -> JudgedDifference:
    """By its own metric's direction: accuracy and errors may stand in one family.

    No tie where the baseline's own uncertainty leaves it open how wide the margin is: a share of the
    baseline's value is known no better than that. So the candidate must lie below 1 + size and above 1 − size
    times the baseline, user by user.
    """
    judged = replace(judged, lower_is_better=found.lower_is_better)
    if judged.word != "tie" or not margin.relative:
        return judged
    above, below = _beside_the_margin(found.base_values, found.values, margin, judged.corrected.level)
    return judged if above.high < 0 < below.low else replace(judged, margin_is_known=False)


def _beside_the_margin(
    base: UserValues, own: UserValues, margin: Margin, level: float = LEVEL
) -> tuple[Paired, Paired]:
    """What the candidate has beyond 1 + size and beyond 1 − size times the baseline, user by user."""
    largest = common_bound((base, own))
    bound = None if largest is None else (1 + margin.size) * largest
    above, below = (
        paired_difference(own.values, share * base.values, level, bound=bound)
        for share in (1 + margin.size, 1 - margin.size)
    )
    return above, below


def equivalence_of(pair: Pair, base: UserValues, own: UserValues, margin: Margin) -> float:
    """p of the one-sided tests that a tie needs, the largest of them; NaN where no method is valid.

    A tie at a level is where p is below (1 − level) / 2. ``base`` and ``own`` are the values of the pair.
    """
    within = pair.paired.method.p_beyond(margin.of(pair.base_value))
    if not margin.relative:
        return within
    above, below = _beside_the_margin(base, own, margin)
    return float(np.max([within, 1 - above.p_above_zero, below.p_above_zero]))


def _paired(
    wanted: Iterable[tuple[str, str]],
    there: Mapping[str, UserValues],
    *,
    lower_is_better: bool,
    level: float,
) -> list[UnjudgedPair]:
    found = []
    for baseline, candidate in wanted:
        if baseline in there and candidate in there:
            base, mine = shared(there[baseline], there[candidate])
            if len(base.users) and not rows_rated_otherwise(base, mine):
                found.append(
                    pair_of(baseline, candidate, base, mine, lower_is_better=lower_is_better, level=level)
                )
    return found


def pair_of(
    baseline: str,
    candidate: str,
    base: UserValues,
    mine: UserValues,
    *,
    lower_is_better: bool = False,
    level: float = LEVEL,
) -> UnjudgedPair:
    """The difference of two runs over the same users; ``wins`` are those who are better off."""
    own = (base.own, mine.own) if lower_is_better else (mine.own, base.own)
    paired = paired_difference(mine.values, base.values, level, own=own, bound=common_bound((base, mine)))
    return UnjudgedPair(baseline, candidate, paired, base, mine, lower_is_better)


def shared(one: UserValues, other: UserValues) -> tuple[UserValues, UserValues]:
    """Both over the users that count for both, in the same order; ratings over the rows that both predict."""
    if one.rated and other.rated:
        (mine, values_of_mine), (theirs, values_of_theirs) = one.rated, other.rated
        _, here, there = np.intersect1d(mine.key, theirs.key, assume_unique=True, return_indices=True)
        return values_of_mine(mine.of(here)), values_of_theirs(theirs.of(there))
    if np.array_equal(one.users, other.users):
        return one, other
    _, here, there = np.intersect1d(one.users, other.users, assume_unique=True, return_indices=True)
    return one.of(here), other.of(there)


def rows_rated_otherwise(base: UserValues, mine: UserValues) -> int:
    """Of rows that both predict, how many have another rating in one of the tables; 0 for other metrics."""
    if not base.rated or not mine.rated:
        return 0
    return int(np.count_nonzero(base.rated[0].rating != mine.rated[0].rating))


def _why_apart(source: Source, there: Mapping[str, UserValues], run: str, baseline: str, metric: str) -> str:
    for one in (run, baseline):
        if one not in there:
            reason = source.why_absent(one, metric) or "it was not scored"
            return f"{source.names[one]} lacks the metric: {reason}"
    otherwise = rows_rated_otherwise(*shared(there[baseline], there[run]))
    if otherwise:
        rows = f"{otherwise:,} {'row' if otherwise == 1 else 'rows'}"
        shares = f"that {source.names[run]} shares with {source.names[baseline]} differ"
        return f"the ratings of {rows} {shares}: these are two truths"
    if there[run].rated:
        return f"{source.names[run]} shares no rated row with {source.names[baseline]}"
    return f"{source.names[run]} shares no user with {source.names[baseline]}"
