"""Sentences that follow the statistics. Pure functions: tidy frames in, words out.

Better and worse are said only when a paired interval excludes zero; otherwise a difference is not
settled. Nothing here tells anyone what to ship.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.charts import numbers
from recdash.charts.numbers import glyph, is_number
from recdash.charts.rows import records
from recdash.ui.words import finding, listed, metric_at, metric_name, named_number
from recdash.views import lower_is_better

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Delta:
    """One run's paired difference to the baseline, with what it is a difference of."""

    run_id: str
    name: str
    metric: str
    value: float
    base_value: float
    mean_diff: float
    ci_low: float
    ci_high: float
    n_users: int
    wins: int
    ties: int
    losses: int

    @property
    def word(self) -> str:
        return finding(self.ci_low, self.ci_high, lower_is_better=lower_is_better(self.metric))

    @property
    def sign(self) -> str:
        return glyph(self.ci_low, self.ci_high)

    def percent(self, amount: float) -> float:
        """``amount`` in % of the baseline's value; NaN where that is zero."""
        return 100 * amount / abs(self.base_value) if self.base_value else float("nan")


@dataclass(frozen=True)
class Headline:
    """The finding of the overview: its word (better, worse, not settled), title and two sentences."""

    word: str
    title: str
    sentence: str
    aside: str = ""


@dataclass(frozen=True)
class Cell:
    """One "what would change this": a question and its answer."""

    question: str
    answer: str


def values(scores: pd.DataFrame, metric: str) -> dict[str, float]:
    """Run id → value of ``metric``, in the order of the scoreboard (best first)."""
    rows = records(scores[scores["metric"] == metric])
    return {row["run_id"]: float(row["value"]) for row in rows if is_number(row["value"])}


def deltas(differences: pd.DataFrame, scores: pd.DataFrame, metric: str, baseline: str) -> list[Delta]:
    """The differences joined with their values, in the order of the scoreboard."""
    known = values(scores, metric)
    base_value = known.get(baseline, float("nan"))
    rows = {row["run_id"]: row for row in records(differences) if is_number(row["mean_diff"])}
    return [
        Delta(run_id, rows[run_id]["run"], metric, value, base_value, **_numbers(rows[run_id]))
        for run_id, value in known.items()
        if run_id in rows
    ]


def _numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("mean_diff", "ci_low", "ci_high", "n_users", "wins", "ties", "losses")
    return {name: row[name] for name in names}


def headline(
    order: Sequence[str], names: Mapping[str, str], baseline: str, found: Sequence[Delta], metric: str, k: int
) -> Headline:
    """What the best candidate's paired difference to the baseline says.

    ``order``: run ids, best first; ``found``: differences to the baseline, best first.
    """
    where, base = metric_at(metric, k), names[baseline]
    if not found:
        first = names[order[0]] if order else base
        nothing = "This metric has no value per user, so there is no paired interval."
        return Headline("not settled", f"{first} is first on {where}", nothing)
    best = found[0]
    return Headline(best.word, _title(best, order, base, where), difference_sentence(best, base, where))


def _title(best: Delta, order: Sequence[str], base: str, where: str) -> str:
    if order and order[0] == best.run_id:
        if best.word == "not settled":
            return f"{best.name} is ahead of {base} on {where}, but that is not settled"
        return f"{best.name} leads on {where}"
    if best.word == "not settled":
        return f"{base} leads on {where}; {best.name} is not settled against it"
    return f"No candidate beats {base} on {where}"


def difference_sentence(delta: Delta, base: str, where: str) -> str:
    """``nDCG@10 of ALS v3 is 14.9 % above Popular (difference …, 95 % CI …, paired over 6,040 users).``"""
    decimals = numbers.places([delta.mean_diff, delta.ci_low, delta.ci_high])
    change = delta.percent(delta.mean_diff)
    side = "above" if delta.mean_diff >= 0 else "below"
    amount = f"{numbers.three(abs(change))} % " if is_number(change) else ""
    bounds = numbers.interval(delta.ci_low, delta.ci_high, decimals)
    return (
        f"{where} of {delta.name} is {amount}{side} {base} "
        f"(difference {numbers.signed(delta.mean_diff, decimals)}, 95 % CI {bounds}, "
        f"paired over {numbers.count(delta.n_users)} users)."
    )


def not_separable(to_leader: pd.DataFrame, leader: str) -> str:
    """Which runs the leader cannot be told apart from: their paired interval to it includes zero."""
    close = [row["run"] for row in records(to_leader) if glyph(row["ci_low"], row["ci_high"]) == "="]
    if not close:
        return ""
    others = listed(close) if len(close) < 4 else f"{len(close)} others"
    return f"{leader} is not separable from {others}: the paired interval includes zero."


def beats(found: Sequence[Delta], base: str) -> str:
    """``Three of four candidates beat Popular``."""
    better = sum(delta.word == "better" for delta in found)
    if len(found) == 1:
        words = {"better": "beats", "worse": "is worse than", "not settled": "is not settled against"}
        return f"{found[0].name} {words.get(found[0].word, 'differs from')} {base}"
    many = named_number(len(found)).lower()
    if better == 0:
        return f"None of {many} candidates beats {base}"
    return f"{named_number(better)} of {many} candidates {'beats' if better == 1 else 'beat'} {base}"


def leaders_at(first_at: Mapping[int, str], present: str) -> Cell:
    """Who is first at the other cutoffs. ``first_at``: k → name."""
    question = "k = " + ", ".join(str(k) for k in first_at)
    others = [f"{name} first at {k}" for k, name in first_at.items() if name != present]
    return Cell(question, "; ".join(others) if others else f"Nothing: {present} first at each")


def leader_by(other: str, metric: str, leader: str, present: str) -> Cell:
    """Who is first by another metric."""
    answer = f"Nothing: {present} first too" if leader == present else f"{leader} first"
    return Cell(f"{metric_name(other)} instead of {metric_name(metric)}", answer)


def shared_first(order: Sequence[str], names: Mapping[str, str], to_leader: pd.DataFrame, where: str) -> str:
    """The leaderboard's H1: one first, or those not separable from the first."""
    rows = records(to_leader)
    close = [row["run_id"] for row in rows if glyph(row["ci_low"], row["ci_high"]) == "="]
    tied = [names[run_id] for run_id in order if run_id == order[0] or run_id in close]
    if len(order) == 1:
        return f"{tied[0]} is the only run with {where}"
    if len(tied) == 1:
        return f"{tied[0]} is first on {where}"
    if len(tied) > 3:
        return f"{tied[0]} is first on {where}, not separable from {len(tied) - 1} others"
    return f"{listed(tied)} are not separable at the top on {where}"


def agreement(quadrants: Sequence[str]) -> str:
    """The H1 of offline vs online."""
    settled = [quadrant for quadrant in quadrants if quadrant != "undecided"]
    same = sum(quadrant in {"won both", "lost both"} for quadrant in settled)
    if not settled:
        return "Offline and online: nothing is settled yet"
    total = named_number(len(quadrants)).lower()
    word = "candidate" if len(quadrants) == 1 else "candidates"
    return f"Offline and online agree on {named_number(same).lower().replace('no', 'none')} of {total} {word}"
