"""Compares the offline winner with the online winner, and only where both intervals allow a decision.

``quadrant`` compares one run with the control; ``Agreement`` compares the order of all runs of a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from recdash.formatting import numbers
from recdash.formatting.result_table import frame, of_values
from recdash.stats.concordance import Tau, best, tau

if TYPE_CHECKING:
    import pandas as pd

UNDECIDED = "undecided"
DISAGREE = ("won offline, lost online", "lost offline, won online")
AGREE = ("won both", "lost both")
WON_ONLINE = ("won both", "lost offline, won online")
LEAST_RUNS = 6
"""Smallest number of runs for naming a best metric; with fewer, some metric is likely to agree by chance."""
CONVINCING = 0.05

Outcome = Literal["concordant", "discordant", "undecided"]


def quadrant(
    offline_low: float | None, offline_high: float | None, online_low: float | None, online_high: float | None
) -> str:
    """Returns the quadrant of a candidate, such as "won both" or "won offline, lost online".

    The arguments are the interval of its offline difference from the baseline and of its online lift over the
    control. Returns "undecided" if one of the intervals contains 0 or is missing.
    """
    outcomes = [
        "won" if low is not None and low > 0 else "lost" if high is not None and high < 0 else UNDECIDED
        for low, high in ((offline_low, offline_high), (online_low, online_high))
    ]
    if UNDECIDED in outcomes:
        return UNDECIDED
    offline, online = outcomes
    return f"{offline} both" if offline == online else f"{offline} offline, {online} online"


class DifferenceInterval(NamedTuple):
    """The interval of a difference; both ends are None if there is none."""

    low: float | None = None
    high: float | None = None


PAIR_COLUMNS = ("first", "second", "offline_low", "offline_high", "online_low", "online_high", "outcome")


@dataclass(frozen=True)
class ServedRun:
    """A run that a variant served, with its offline value and its online lift over the control.

    The control's own lift is 0. Both numbers have their sign set so that more is better; None if unavailable.
    """

    run_id: str
    run: str
    variant: str
    is_control: bool
    offline: float | None
    online: float | None

    @property
    def on_both_sides(self) -> bool:
        return self.offline is not None and self.online is not None


@dataclass(frozen=True)
class RunPair:
    """Two runs with the offline and online intervals of ``second`` minus ``first``; more is better.

    They are the intervals by which the pair is judged. A pair with the control has those of the test's own
    page; those of two other variants are corrected over all such pairs (Holm).
    """

    first: str
    second: str
    offline: DifferenceInterval
    online: DifferenceInterval

    @property
    def outcome(self) -> Outcome:
        """Returns *concordant* or *discordant* if both differences are significant, else *undecided*."""
        corner = quadrant(*self.offline, *self.online)
        if corner == UNDECIDED:
            return "undecided"
        return "concordant" if corner.endswith("both") else "discordant"


@dataclass(frozen=True)
class Agreement:
    """The agreement of an offline metric with an online metric on the order of a test's runs.

    ``runs`` have both values and include the control's run if one is linked; ``pairs`` are all pairs of them.
    ``reason`` says why the agreement cannot be judged; empty if it can. ``tau`` is None if it cannot, or if
    all runs are equal. ``signs`` are those of the offline and of the online metric: −1 where less is better.
    """

    metric: str
    online_metric: str
    runs: tuple[ServedRun, ...]
    pairs: tuple[RunPair, ...]
    tau: Tau | None
    reason: str = ""
    signs: tuple[int, int] = (1, 1)

    def count(self, outcome: Outcome) -> int:
        return sum(pair.outcome == outcome for pair in self.pairs)

    @property
    def decided(self) -> int:
        """Returns the number of pairs whose difference is significant both offline and online."""
        return len(self.pairs) - self.count("undecided")

    @property
    def sentences(self) -> list[str]:
        """Returns text: how many pairs agree, and whether the rank correlation of all runs is significant."""
        if self.reason:
            return [f"Agreement cannot be judged: {self.reason}."]
        return [_pairs_in_words(self), *([_tau_in_words(self.tau)] if self.tau else [])]

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per pair of runs: both differences with their intervals, and the
        outcome.
        """
        rows = (
            dict(
                zip(
                    PAIR_COLUMNS,
                    (pair.first, pair.second, *pair.offline, *pair.online, pair.outcome),
                    strict=True,
                )
            )
            for pair in self.pairs
        )
        return frame(rows, PAIR_COLUMNS)

    def as_dict(self) -> dict[str, Any]:
        """Returns the agreement as a dict of JSON-ready values."""
        return {
            "metric": self.metric,
            "online_metric": self.online_metric,
            "n_runs": len(self.runs),
            "concordant": self.count("concordant"),
            "discordant": self.count("discordant"),
            "undecided": self.count("undecided"),
            "tau": self.tau.value if self.tau else None,
            "p": self.tau.p if self.tau else None,
            "least_p": self.tau.least_p if self.tau else None,
            "exact": self.tau.exact if self.tau else None,
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    "offline": list(pair.offline),
                    "online": list(pair.online),
                    "outcome": pair.outcome,
                }
                for pair in self.pairs
            ],
            "reason": self.reason,
            "sentences": self.sentences,
        }


def agreement(
    metric: str,
    online_metric: str,
    runs: Sequence[ServedRun],
    pairs: Mapping[tuple[str, str], RunPair],
    reason: str = "",
    signs: tuple[int, int] = (1, 1),
) -> Agreement:
    """Returns the agreement on the runs that have both values; ``pairs`` are keyed by their two variants.

    ``reason`` says why the agreement cannot be judged; empty if it can. ``signs``: see ``Agreement``.
    """
    on_both_sides = tuple(run for run in runs if run.on_both_sides)
    if not reason and len(on_both_sides) < 2:
        n_runs = "one run has" if on_both_sides else "no run has"
        reason = f"{n_runs} both an offline and an online value, and comparing orders needs two"
    if reason:
        return Agreement(metric, online_metric, on_both_sides, (), None, reason, signs)
    variants = {run.variant for run in on_both_sides}
    both = tuple(pair for names, pair in pairs.items() if variants.issuperset(names))
    sides = np.array([[run.offline, run.online] for run in on_both_sides], dtype=np.float64)
    order = tau(sides[:, 0], sides[:, 1])
    return Agreement(metric, online_metric, on_both_sides, both, order, signs=signs)


def _pairs_in_words(agreement: Agreement) -> str:
    """Returns text: in how many decided pairs offline picked the online winner, and how many are undecided.

    Reports of earlier versions say the same numbers in other words, and are compared by these numbers.
    """
    total, decided = len(agreement.pairs), agreement.decided
    if not decided:
        none = "The 1 pair of runs is not" if total == 1 else f"None of {total} pairs of runs is"
        return f"{none} significant both offline and online, so agreement cannot be judged yet."
    same, opposite = agreement.count("concordant"), agreement.count("discordant")
    left = total - decided
    pairs = "decided pair" if decided == 1 else "decided pairs"
    wrong = f", and the loser in {opposite}" if opposite else ""
    rest = f" {left} of all {total} {'is' if left == 1 else 'are'} undecided." if left else ""
    return f"Offline picked the online winner in {same} of {decided} {pairs}{wrong}.{rest}"


def _tau_in_words(tau: Tau) -> str:
    """Returns text: Kendall's τ, its p-value, and whether so few runs could show agreement at all."""
    text = f"Kendall's τ over all {tau.n} runs is {numbers.fixed(tau.value, 2)}"
    p = numbers.p_equals(tau.p)
    if tau.least_p > CONVINCING:
        least = numbers.fixed(tau.least_p, 3)
        return f"{text} ({p}). With {tau.n} runs, even full agreement has p = {least}."
    if tau.p > CONVINCING:
        return f"{text}, which is not significant ({p})."
    return f"{text}, which is significant ({p})."


# ── which offline metric would have ranked the runs like the test? ───────────────────────────


@dataclass(frozen=True)
class Prediction:
    """One offline metric with its rank agreement: τ between its order of the runs and the online order.

    ``tau`` is None if it is undefined.
    """

    metric: str
    k: int | None
    label: str
    tau: float | None


@dataclass(frozen=True)
class BestMetric:
    """All offline metrics ranked by their agreement with the online order; the best one may be named or not.

    ``p`` is the probability that the best of these metrics agrees as well with a random online order;
    ``perfect`` is the probability that one of them then agrees completely. ``winners`` is empty if ``reason``
    says why none is named. ``left_out`` are the metrics that some run lacks.
    """

    online_metric: str
    n: int
    predictions: tuple[Prediction, ...]
    p: float | None
    perfect: float | None
    winners: tuple[str, ...]
    reason: str
    left_out: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """Returns a frame with a row per offline metric: its k, label and τ."""
        return of_values("Offline metrics", Prediction, self.predictions).table()

    def as_dict(self) -> dict[str, Any]:
        return {
            "online_metric": self.online_metric,
            "n_runs": self.n,
            "winners": list(self.winners),
            "p": self.p,
            "perfect_by_chance": self.perfect,
            "reason": self.reason,
            "metrics": [asdict(prediction) for prediction in self.predictions],
            "left_out": list(self.left_out),
        }


def best_metric(
    online_metric: str,
    candidates: Mapping[tuple[str, int | None, str], Sequence[float | None]],
    online: Sequence[float],
    reason: str = "",
) -> BestMetric:
    """Returns which of the ``candidates`` orders the runs most like the ``online`` values do.

    ``candidates`` maps (metric, k, label) to the values of the runs. All values have their sign set so that
    more is better. ``reason`` says why no metric may be judged; empty if one may.
    """
    complete = {name: values for name, values in candidates.items() if None not in values}
    left_out = tuple(name[2] for name in candidates if name not in complete)
    measured = np.array(list(complete.values()), dtype=np.float64).reshape(len(complete), len(online))
    result = None if reason or len(online) < 2 or not complete else best(measured, np.array(online))
    taus = [None] * len(complete) if result is None else map(numbers.none_if_nan, result.tau)
    predictions = [Prediction(*name, tau) for name, tau in zip(complete, taus, strict=True)]
    predictions.sort(key=lambda metric: 2.0 if metric.tau is None else -metric.tau)
    ranked = (online_metric, len(online), tuple(predictions))
    if result is None:
        reason = reason or "fewer than two runs can be ranked"
        return BestMetric(*ranked, None, None, (), reason, left_out)
    if result.n < LEAST_RUNS:
        perfect = numbers.of_100(round(1e6 * result.perfect), 1_000_000)
        reason = (
            f"with {result.n} runs, one of {len(complete)} metrics matches their whole order by "
            f"chance in {perfect} of 100 cases; the best is named from {LEAST_RUNS} runs on"
        )
    elif result.p > CONVINCING:
        p = numbers.p_value(result.p)
        reason = f"the best of {len(complete)} metrics does as well by chance with p = {p}"
    labels = [label for _, _, label in complete]
    winners = () if reason else tuple(labels[place] for place in result.places)
    return BestMetric(*ranked, result.p, result.perfect, winners, reason, left_out)
