"""Sentences that follow the statistics. Pure functions: tidy frames in, words out.

Better and worse are said only when a paired interval excludes zero; otherwise a difference is not
settled. A run's value is the mean over its own users, a difference that over the users it shares with
another: with ``users=both`` the two may disagree, and then both are said. Nothing here tells anyone what
to ship.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash import numbers
from recdash.charts.rows import records
from recdash.metrics import define
from recdash.numbers import glyph, is_number
from recdash.ui.words import finding, listed, metric_at, metric_name, named_number
from recdash.views import lower_is_better

if TYPE_CHECKING:
    import pandas as pd

    from recdash.views import Standing

EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""
SAME_USERS = 1e-9
"""Means over the same users differ by their paired difference, but for rounding."""


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

    @property
    def is_equal(self) -> bool:
        return abs(self.mean_diff) <= EQUAL

    def percent(self, amount: float) -> float:
        """``amount`` in % of the baseline's value; NaN where that is zero or a mean over other users."""
        same = abs(self.value - self.base_value - self.mean_diff) <= SAME_USERS
        return 100 * amount / abs(self.base_value) if self.base_value and same else float("nan")


@dataclass(frozen=True)
class Headline:
    """The finding of the overview: its word (better, worse, not settled), title and two sentences.

    ``about``: the difference that it tells, None where there is none.
    """

    word: str
    title: str
    sentence: str
    aside: str = ""
    about: Delta | None = None


@dataclass(frozen=True)
class Cell:
    """One "what would change this": a question and its answer."""

    question: str
    answer: str


def values(scores: pd.DataFrame, metric: str) -> dict[str, float]:
    """Run id → value of ``metric``, in the order of the scoreboard (best first)."""
    rows = records(scores[scores["metric"] == metric])
    return {row["run_id"]: float(row["value"]) for row in rows if is_number(row["value"])}


def leaders(known: Mapping[Any, float]) -> list[Any]:
    """The first of ``known`` (best first), and all that equal it."""
    best = next(iter(known.values()), float("nan"))
    return [one for one, value in known.items() if abs(value - best) <= EQUAL]


def apart(known: Mapping[str, float], differences: pd.DataFrame, metric: str, baseline: str) -> list[str]:
    """Run ids that share no user with the baseline: both have a value, but there is nothing to pair."""
    if baseline not in known or not define(metric).has_user_values:
        return []
    paired = {row["run_id"] for row in records(differences) if is_number(row["mean_diff"])}
    return [run_id for run_id in known if run_id not in paired and run_id != baseline]


def no_shared_user(names: Sequence[str], base: str) -> str:
    """``ALS shares no user with Popular: there is nothing to pair.``"""
    if not names:
        return ""
    verb = "shares" if len(names) == 1 else "share"
    return f"{listed(names)} {verb} no user with {base}: there is nothing to pair."


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
    known: Mapping[str, float], names: Mapping[str, str], baseline: str, found: Sequence[Delta],
    metric: str, k: int,
) -> Headline:  # fmt: skip
    """What the best candidate's paired difference to the baseline says.

    ``known``: run id → value, best first; ``found``: differences to the baseline, best first.
    """
    where, base = metric_at(metric, k), names[baseline]
    top = leaders(known)
    if not found:
        title, sentence = _unpaired(known, names, baseline, metric, where)
        return Headline("not settled", title, sentence)
    odd = _contradicting(found, top, baseline)
    best = odd or found[0]
    title = _over_shared_users(odd, base, where) if odd else _title(best, top, names, baseline, where)
    return Headline(best.word, title, difference_sentence(best, base, where), about=best)


def _unpaired(
    known: Mapping[str, float], names: Mapping[str, str], baseline: str, metric: str, where: str
) -> tuple[str, str]:
    """Title and sentence where no candidate has a paired difference to the baseline."""
    base, first = names[baseline], _first(leaders(known), names, where)
    if not define(metric).has_user_values:
        return first or f"No run has {where}", "This metric has no value per user: there are no intervals."
    if baseline in known and len(known) > 1:
        return f"No candidate shares a user with {base}", "Means over different users cannot be compared."
    without = [names[run_id] for run_id in names if run_id not in known]
    return first or f"No run has {where}", f"There is nothing to pair: {listed(without)} without {where}."


def _first(top: Sequence[str], names: Mapping[str, str], where: str) -> str:
    """``ALS is first on nDCG@10``, ``ALS and BPR share first on nDCG@10``; empty without a value."""
    if len(top) < 2:
        return "".join(f"{names[run_id]} is first on {where}" for run_id in top)
    who = listed([names[run_id] for run_id in top]) if len(top) < 4 else f"{named_number(len(top))} runs"
    return f"{who} share first on {where}"


def _title(best: Delta, top: Sequence[str], names: Mapping[str, str], baseline: str, where: str) -> str:
    base = names[baseline]
    if len(top) > 1:
        return _first(top, names, where)
    if best.run_id in top:
        return _leading(best, base, where)
    if baseline not in top:
        return f"{names[top[0]]} has the best mean {where}, but shares no user with {base}"
    if best.word == "not settled":
        return f"{base} leads on {where}; {best.name} is not settled against it"
    return f"No candidate beats {base} on {where}"


def _contradicting(found: Sequence[Delta], top: Sequence[str], baseline: str) -> Delta | None:
    """A candidate whose mean, over its own users, orders it otherwise than the users it shares."""
    if baseline in top:
        return next((delta for delta in found if delta.mean_diff > EQUAL), None)
    return next((delta for delta in found if delta.run_id in top and delta.mean_diff <= EQUAL), None)


def _over_shared_users(delta: Delta, base: str, where: str) -> str:
    side = "level with" if delta.is_equal else "above" if delta.mean_diff > 0 else "below"
    open_ = ", but that is not settled" if delta.word == "not settled" and not delta.is_equal else ""
    return f"Over the users they share, {delta.name} is {side} {base} on {where}{open_}"


def _leading(best: Delta, base: str, where: str) -> str:
    if best.word == "not settled":
        return f"{best.name} is ahead of {base} on {where}, but that is not settled"
    return f"{best.name} leads on {where}"


def difference_sentence(delta: Delta, base: str, where: str) -> str:
    """``nDCG@10 of ALS v3 is 14.9 % above Popular (difference …, 95 % CI …, paired over 6,040 users).``"""
    decimals = numbers.places([delta.mean_diff, delta.ci_low, delta.ci_high])
    bounds = numbers.interval(delta.ci_low, delta.ci_high, decimals)
    users = f"{numbers.count(delta.n_users)} {'user' if delta.n_users == 1 else 'users'}"
    return (
        f"{where} of {delta.name} {_stands(delta, base)} "
        f"(difference {numbers.signed(delta.mean_diff, decimals)}, 95 % CI {bounds}, paired over {users})."
    )


def _stands(delta: Delta, base: str) -> str:
    """``is 14.9 % above Popular``; without the percentage where values and difference are of other users."""
    if delta.is_equal:
        return f"equals that of {base}"
    change = delta.percent(delta.mean_diff)
    amount = f"{numbers.three(abs(change))} % " if is_number(change) else ""
    return f"is {amount}{'above' if delta.mean_diff > 0 else 'below'} {base}"


def _close(to_leader: pd.DataFrame) -> list[Mapping[str, Any]]:
    """The runs whose paired interval to the leader includes zero; one shared user gives no interval."""
    return [
        row
        for row in records(to_leader)
        if is_number(row["ci_low"]) and glyph(row["ci_low"], row["ci_high"]) == "="
    ]


def not_separable(to_leader: pd.DataFrame, leader: str) -> str:
    """Which runs the leader cannot be told apart from: their paired interval to it includes zero."""
    close = [row["run"] for row in _close(to_leader)]
    if not close:
        return ""
    others = listed(close) if len(close) < 4 else f"{len(close)} others"
    return f"{leader} is not separable from {others}: the paired interval includes zero."


def stands(standing: Standing | None, best_first: Sequence[str]) -> str:
    """Where the best uploaded run stands between floor and ceiling; empty where nothing says so."""
    told = (standing.sentence(run_id) for run_id in best_first) if standing else iter(())
    return next((sentence for sentence in told if sentence), "")


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


def leaders_at(first_at: Mapping[int, Sequence[str]], present: Sequence[str]) -> Cell:
    """Who is first at other cutoffs. ``first_at``: k → names; ``present``: those first at the view's k."""
    question = "k = " + ", ".join(str(k) for k in first_at)
    others = [f"{listed(names)} first at {k}" for k, names in first_at.items() if set(names) != set(present)]
    return Cell(question, "; ".join(others) if others else f"Nothing: {listed(present)} first at each")


def leader_by(other: str, metric: str, first: Sequence[str], present: Sequence[str]) -> Cell:
    """Who is first by another metric."""
    return Cell(f"{metric_name(other)} instead of {metric_name(metric)}", still_first(first, present))


def still_first(first: Sequence[str], present: Sequence[str]) -> str:
    """``Nothing: ALS first too``, or who is first instead."""
    if not first:
        return "No run has it"
    return f"Nothing: {listed(present)} first too" if set(first) == set(present) else f"{listed(first)} first"


def shared_first(
    known: Mapping[str, float], names: Mapping[str, str], to_leader: pd.DataFrame, where: str
) -> str:
    """The leaderboard's H1: one first, or those not separable from the first. ``known``: best first."""
    top, close = leaders(known), {row["run_id"] for row in _close(to_leader)}
    above = [row["run"] for row in records(to_leader) if glyph(row["ci_low"], row["ci_high"]) == "▲"]
    tied = [names[run_id] for run_id in known if run_id in top or run_id in close]
    if len(known) == 1:
        return f"{tied[0]} is the only run with {where}"
    if above:
        does = "does" if len(above) == 1 else "do"
        return f"{tied[0]} has the best mean {where}, but {listed(above)} {does} better over shared users"
    if len(top) == len(tied):
        return _first(top, names, where)
    if len(tied) > 3:
        return f"{_first(top, names, where)}, not separable from {len(tied) - len(top)} others"
    return f"{listed(tied)} are not separable at the top on {where}"


NOT_SETTLED = ("undecided", "blocked")


def agreement(quadrants: Sequence[str]) -> str:
    """The H1 of offline vs online."""
    if quadrants and set(quadrants) == {"blocked"}:
        return "Offline and online: not judged, the split of users is broken"
    settled = [quadrant for quadrant in quadrants if quadrant not in NOT_SETTLED]
    same = sum(quadrant in {"won both", "lost both"} for quadrant in settled)
    if not settled:
        return "Offline and online: nothing is settled yet"
    total = named_number(len(quadrants)).lower()
    word = "candidate" if len(quadrants) == 1 else "candidates"
    agreed = named_number(same).lower() if same else "none"
    return f"Offline and online agree on {agreed} of {total} {word}"
