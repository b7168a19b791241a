"""Tidy frames and sentences that pages, terminal and reports show; no storing, no drawing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from recdash.domain import Curve, Hits, Run, UserValues
from recdash.metrics import METRICS, check_k, define, parse
from recdash.numbers import three
from recdash.references import REFERENCES

if TYPE_CHECKING:
    from recdash.evaluation.scoring import SliceScores

_Row = Mapping[Hashable, Any]
_Rows = Mapping[str, _Row]


def metric_title(metric: str, k: int | None = None) -> str:
    """``ndcg(gain=exp)`` at 10 → ``nDCG(gain=exp)@10``, as a person reads it."""
    spec = parse(metric)
    name = METRICS[spec.name].label + spec.label[len(spec.name) :]
    return f"{name}@{k}" if k and METRICS[spec.name].has_cutoff else name


def lower_is_better(metric: str) -> bool:
    return define(metric).lower_is_better


def curve_frame(runs: Sequence[Run], curves: Mapping[str, Mapping[str, Curve]]) -> pd.DataFrame:
    """run_id, run, metric, k (NaN where a metric has none), value, std_error, n_users."""
    parts = [_of_curve(run, curve) for run in runs for curve in curves.get(run.id, {}).values()]
    columns = ["run_id", "run", "metric", "k", "value", "std_error", "n_users"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def _of_curve(run: Run, curve: Curve) -> pd.DataFrame:
    k = curve.k.astype(float) if len(curve.k) else np.array([np.nan])
    return pd.DataFrame(
        {
            "run_id": run.id,
            "run": run.name,
            "metric": curve.metric,
            "k": k,
            "value": curve.value,
            "std_error": curve.std_error,
            "n_users": curve.n_users,
        }
    )


def score_rows(
    runs: Sequence[Run], scores: Mapping[tuple[str, str], Mapping[str, Any]], metrics: Sequence[str]
) -> pd.DataFrame:
    """run_id, run, metric, value, std_error, n_users; the best run by the first metric first.

    ``scores``: the last three by (run id, metric).
    """
    rows = [
        {"run_id": run.id, "run": run.name, "metric": metric, **scores[run.id, metric]}
        for run in runs
        for metric in metrics
        if (run.id, metric) in scores
    ]
    frame = pd.DataFrame(rows, columns=["run_id", "run", "metric", "value", "std_error", "n_users"])
    if frame.empty:
        return frame
    first = frame[frame["metric"] == metrics[0]].set_index("run_id")["value"]
    worst_last = frame["run_id"].map(first) * (1 if lower_is_better(metrics[0]) else -1)
    return frame.iloc[np.argsort(worst_last.to_numpy(), kind="stable")].reset_index(drop=True)


def slice_rows(scores: Iterable[tuple[Run, str, Sequence[SliceScores]]], k: int) -> pd.DataFrame:
    """run_id, run, slice, title, metric, value, std_error, n_users, reason at k.

    Where a slice lacks the metric, value and std_error are NaN, n_users is 0 and ``reason`` says why.
    """
    none = {"value": np.nan, "std_error": np.nan, "n_users": 0}
    rows = []
    for run, metric, slices in scores:
        for one in slices:
            named = {"run_id": run.id, "run": run.name, "slice": one.of.value, "title": one.of.title}
            found = at(one.curves[metric], k) if metric in one.curves else none
            rows.append({**named, "metric": metric, **found, "reason": one.absent.get(metric, "")})
    columns = ["run_id", "run", "slice", "title", "metric", "value", "std_error", "n_users", "reason"]
    return pd.DataFrame(rows, columns=columns)


def at(curve: Curve, k: int) -> dict[str, Any]:
    """value, std_error and n_users at k. Raises InputError for a k that ``check_cutoff`` refuses."""
    check_cutoff(k, len(curve.k) or None)
    place = k - 1 if len(curve.k) else 0
    return {"value": curve.value[place], "std_error": curve.std_error[place], "n_users": curve.n_users}


def of_values(values: UserValues) -> dict[str, Any]:
    """value, std_error and n_users of a metric's values, user by user."""
    n, own = len(values.users), values.values
    error = float(own.std(ddof=1)) / n**0.5 if n > 1 else np.nan
    return {"value": float(own.mean()), "std_error": error, "n_users": n}


def check_cutoff(k: Any, depth: int | None = None) -> None:
    """Raises InputError for a k that is no whole number from 1, and for one deeper than lists were read."""
    check_k(k, depth)


def list_end(hits: Hits) -> int | None:
    """The k from which more than half of the run's lists have ended; None if never within depth."""
    lengths = np.sort(hits.list_length[hits.list_length > 0])
    end = int(lengths[len(lengths) // 2]) + 1 if len(lengths) else 1
    return end if end <= hits.depth else None


# ── the population decides ───────────────────────────────────────────────────────────────────


_EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""


@dataclass(frozen=True)
class PopulationEffect:
    """Who leads when every truth user counts, and when only users with a list do.

    Leaders are run ids; several where values are equal. ``values`` and ``n_users`` are
    {"truth" | "both": {run id: number}}.
    """

    leaders_truth: tuple[str, ...]
    leaders_both: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]
    n_users: Mapping[str, Mapping[str, int]]
    changes: bool
    sentence: str


def leaders(values: Mapping[str, float]) -> tuple[str, ...]:
    """The keys of the highest value, and of all that equal it."""
    best = max(values.values())
    return tuple(key for key, value in values.items() if best - value <= _EQUAL)


def population_effect(
    names: Mapping[str, str],
    values: Mapping[str, Mapping[str, float]],
    n_users: Mapping[str, Mapping[str, int]],
    title: str,
) -> PopulationEffect:
    """Compare the two rules; ``names`` are {run id: name}."""
    truth, both = leaders(values["truth"]), leaders(values["both"])
    if set(truth) == set(both):
        verb = "leads" if len(truth) == 1 else "lead"
        sentence = f"{_named(truth, names)} {verb} by {title} whether or not users without a list count."
    else:
        sentence = (
            f"Counting only users with lists puts {_named(both, names)} first by {title} "
            f"({values['both'][both[0]]:.3g} over {n_users['both'][both[0]]:,} users); counting every user "
            f"with a relevant item puts {_named(truth, names)} first ({values['truth'][truth[0]]:.3g} over "
            f"{n_users['truth'][truth[0]]:,})."
        )
    return PopulationEffect(truth, both, values, n_users, set(truth) != set(both), sentence)


def _named(ids: Sequence[str], names: Mapping[str, str]) -> str:
    *most, last = [names[one] for one in ids]
    return f"{', '.join(most)} and {last}" if most else last


# ── between floor and ceiling ────────────────────────────────────────────────────────────────

FLOOR, CEILING, USUAL = "random", "oracle", "popular"
"""The reference candidates that a run's value is seen against."""


@dataclass(frozen=True)
class Level:
    """What a reference candidate reaches."""

    label: str
    value: float


@dataclass(frozen=True)
class Standing:
    """Where runs stand between the reference candidates, by the metric called ``title``.

    ``share`` {run id: of the way from floor to ceiling, 0..1; below 0 under the floor} where both are there;
    ``times`` {run id: multiple of the usual, Most popular}; both of references too. Runs whose mean is over
    other users than the reference's are left out.
    """

    title: str
    names: Mapping[str, str]
    floor: Level | None
    ceiling: Level | None
    usual: Level | None
    share: Mapping[str, float]
    times: Mapping[str, float]

    def sentence(self, run_id: str) -> str:
        """``EASE reaches 3.47 % of the way from Random (0.000350) to Oracle (1.00) and …``; may be empty."""
        parts = [part for part in (self._way(run_id), self._multiple(run_id)) if part]
        return f"{self.names[run_id]} {' and '.join(parts)}." if parts else ""

    def _way(self, run_id: str) -> str:
        if run_id not in self.share or not self.floor or not self.ceiling:
            return ""
        floor, ceiling = (f"{one.label} ({three(one.value)})" for one in (self.floor, self.ceiling))
        share = self.share[run_id]
        if share < 0:
            return f"is below {floor} on {self.title}"
        return f"reaches {three(100 * share)} % of the way from {floor} to {ceiling} on {self.title}"

    def _multiple(self, run_id: str) -> str:
        if run_id not in self.times or not self.usual:
            return ""
        on = "" if run_id in self.share else f" on {self.title}"
        return f"has {three(self.times[run_id])} times the value of {self.usual.label}{on}"


def standing(runs: Sequence[Run], scores: pd.DataFrame, metric: str, k: int) -> Standing | None:
    """From the scoreboard of the runs with their references; None where these say nothing.

    ``metric`` is one by which the ideal list is best: of the others the oracle is no ceiling. Where a run of
    another experiment is above it all the same, nothing is said of the way to it.
    """
    rows = {row["run_id"]: row for row in scores[scores["metric"] == metric].to_dict("records")}
    known = {run.reference: rows[run.id] for run in reversed(runs) if run.reference and run.id in rows}
    floor, ceiling, usual = (known.get(name) for name in (FLOOR, CEILING, USUAL))
    share = _shares(rows, floor, ceiling)
    times = {} if not usual or usual["value"] <= 0 else _over(rows, usual, lambda x: x / usual["value"])
    if not (share or times):
        return None
    names = {run.id: run.name for run in runs}
    low, high, often = (_level(name, known.get(name)) for name in (FLOOR, CEILING, USUAL))
    return Standing(metric_title(metric, k), names, low, high, often, share, times)


def _shares(rows: _Rows, floor: _Row | None, ceiling: _Row | None) -> dict[str, float]:
    if not floor or not ceiling or floor["n_users"] != ceiling["n_users"]:
        return {}
    low, high = floor["value"], ceiling["value"]
    if not low < high or any(row["value"] > high + _EQUAL for row in rows.values()):
        return {}
    return _over(rows, ceiling, lambda x: (x - low) / (high - low))


def _over(rows: _Rows, level: _Row, change: Callable[[float], float]) -> dict[str, float]:
    """The changed values of the runs whose mean is over as many users as that of the level."""
    same = {run_id: row["value"] for run_id, row in rows.items() if row["n_users"] == level["n_users"]}
    return {run_id: change(value) for run_id, value in same.items() if not np.isnan(value)}


def _level(name: str, row: _Row | None) -> Level | None:
    return None if row is None else Level(REFERENCES[name].label, float(row["value"]))
