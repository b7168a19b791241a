"""Did the winner offline win online? In words, and only where both intervals allow it.

One run at a time against the control (``quadrant``), and the order of all runs of a test (``Agreement``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from recdash.formatting import numbers
from recdash.stats.concordance import Tau, best, tau

UNDECIDED = "undecided"
DISAGREE = ("won offline, lost online", "lost offline, won online")
LEAST_RUNS = 6
"""Of fewer runs some metric is likely to have their order by chance, and none is named."""
CONVINCING = 0.05

Outcome = Literal["concordant", "discordant", "undecided"]


def quadrant(
    offline_low: float | None, offline_high: float | None, online_low: float | None, online_high: float | None
) -> str:
    """Name of the corner in which a candidate stands against the baseline and the control.

    Takes the intervals of the offline difference and of the online lift; an interval that holds 0,
    or that is not there, decides nothing: "undecided".
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
    """Of a difference; None at both ends where there is none."""

    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ServedRun:
    """A run that a variant served, on both sides: its offline value and its lift over the control.

    The control's own lift is 0. Both are turned so that more is better; None where they cannot be had.
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
    """Two runs: the intervals of ``second`` minus ``first`` on both sides, turned so that more is better.

    They are those by which the pair is judged: with the control as on its test's own page, and between two
    variants corrected over all such pairs (Holm).
    """

    first: str
    second: str
    offline: DifferenceInterval
    online: DifferenceInterval

    @property
    def outcome(self) -> Outcome:
        """Only a pair that is settled on both sides agrees or disagrees."""
        corner = quadrant(*self.offline, *self.online)
        if corner == UNDECIDED:
            return "undecided"
        return "concordant" if corner.endswith("both") else "discordant"


@dataclass(frozen=True)
class Agreement:
    """Whether an offline metric and an online one put the runs of a test in the same order.

    ``runs`` are those that have both values, the control's among them where it is linked, and ``pairs`` all
    pairs of them. ``reason`` says why nothing is judged; ``tau`` is None then, and where all runs are alike.
    """

    metric: str
    online_metric: str
    runs: tuple[ServedRun, ...]
    pairs: tuple[RunPair, ...]
    tau: Tau | None
    reason: str = ""

    def count(self, outcome: Outcome) -> int:
        return sum(pair.outcome == outcome for pair in self.pairs)

    @property
    def decided(self) -> int:
        """Pairs that are settled on both sides."""
        return len(self.pairs) - self.count("undecided")

    @property
    def sentences(self) -> list[str]:
        """What agrees, pair by pair, and how much the order of all runs says."""
        if self.reason:
            return [f"Agreement is not judged: {self.reason}."]
        return [_pairs_in_words(self), *([_tau_in_words(self.tau)] if self.tau else [])]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
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
) -> Agreement:
    """The agreement over the ``runs`` that have both values, and over their ``pairs`` (by variants)."""
    on_both_sides = tuple(run for run in runs if run.on_both_sides)
    if not reason and len(on_both_sides) < 2:
        n_runs = "one run has" if on_both_sides else "no run has"
        reason = f"{n_runs} a value on both sides, and an order takes two"
    if reason:
        return Agreement(metric, online_metric, on_both_sides, (), None, reason)
    variants = {run.variant for run in on_both_sides}
    both = tuple(pair for names, pair in pairs.items() if variants.issuperset(names))
    sides = np.array([[run.offline, run.online] for run in on_both_sides], dtype=np.float64)
    return Agreement(metric, online_metric, on_both_sides, both, tau(sides[:, 0], sides[:, 1]))


def _pairs_in_words(agreement: Agreement) -> str:
    """Of the pairs that both sides settle, how many point the same way; how many are not settled."""
    total, decided = len(agreement.pairs), agreement.decided
    if not decided:
        return f"No pair of runs is settled on both sides, of {total}: there is nothing to agree on yet."
    same, opposite = agreement.count("concordant"), agreement.count("discordant")
    left = total - decided
    of = f"{same} of {decided} pair{'s' if decided > 1 else ''} of runs{' that both settle' if left else ''}"
    other = f", and opposite ways for {opposite}" if opposite else ""
    rest = f"; {left} of all {total} {'is' if left == 1 else 'are'} undecided" if left else ""
    return f"Offline and online point the same way for {of}{other}{rest}."


def _tau_in_words(tau: Tau) -> str:
    """The rank agreement, and whether so few runs could say anything."""
    text = f"Over the order of all {tau.n} runs Kendall's τ is {numbers.fixed(tau.value, 2)}"
    p = f"p = {numbers.p_value(tau.p)}".replace("= <", "< ")
    if tau.least_p > CONVINCING:
        least = numbers.fixed(tau.least_p, 3)
        return f"{text}, but {tau.n} runs say little ({p}; even full agreement has p = {least})."
    if tau.p > CONVINCING:
        return f"{text}, which chance explains ({p})."
    return f"{text}, more than chance explains ({p})."


# ── which offline metric would have had the order right? ─────────────────────────────────────


@dataclass(frozen=True)
class Prediction:
    """One offline metric: τ between its order of the runs and the online one; None where it has none."""

    metric: str
    k: int | None
    label: str
    tau: float | None


@dataclass(frozen=True)
class BestMetric:
    """All candidate metrics, best first, and whether the best may be named.

    ``p``: how often the best of all these metrics does as well when chance orders the runs online;
    ``perfect``: how often one of them has that order right completely. ``winners`` is empty where ``reason``
    says why none is named. ``left_out``: metrics that not all of the runs have.
    """

    online_metric: str
    n: int
    predictions: tuple[Prediction, ...]
    p: float | None
    perfect: float | None
    winners: tuple[str, ...]
    reason: str
    left_out: tuple[str, ...] = ()

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
    """Which of ``candidates`` {(metric, k, label): values of the runs} orders the runs as ``online`` does.

    Values are turned so that more is better. ``reason``: why nothing may be judged at all.
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
        reason = reason or "there are not two runs whose order could be right"
        return BestMetric(*ranked, None, None, (), reason, left_out)
    if result.n < LEAST_RUNS:
        perfect = numbers.of_100(round(1e6 * result.perfect), 1_000_000)
        reason = (
            f"with {result.n} runs one of {len(complete)} metrics has their whole order right by chance in "
            f"{perfect} of 100 cases; from {LEAST_RUNS} runs on the best is named"
        )
    elif result.p > CONVINCING:
        p = numbers.p_value(result.p)
        reason = f"the best of {len(complete)} metrics does as well by chance with p = {p}"
    labels = [label for _, _, label in complete]
    winners = () if reason else tuple(labels[place] for place in result.places)
    return BestMetric(*ranked, result.p, result.perfect, winners, reason, left_out)
