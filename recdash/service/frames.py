"""Tidy data frames for pages, command line and reports; nothing is stored or drawn here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from recdash.domain.hits import Hits
from recdash.domain.records import Run
from recdash.domain.results import Curve, UserValues
from recdash.metrics import check_k
from recdash.metrics.naming import less_is_wanted

if TYPE_CHECKING:
    from recdash.evaluation.scoring import SliceScores


def curve_frame(runs: Sequence[Run], curves: Mapping[str, Mapping[str, Curve]]) -> pd.DataFrame:
    """Returns the runs' curves as a frame: run_id, run, metric, k, value, std_error, n_users.

    Each row is a metric at one k; k is NaN for a metric without cutoff. Empty if there are no curves.
    ``curves``: run id → metric → curve.
    """
    columns = ["run_id", "run", "metric", "k", "value", "std_error", "n_users"]
    parts = []
    for run in runs:
        for curve in curves.get(run.id, {}).values():
            k = curve.k.astype(float) if len(curve.k) else np.array([np.nan])
            cells = (run.id, run.name, curve.metric, k, curve.value, curve.std_error, curve.n_users)
            parts.append(pd.DataFrame(dict(zip(columns, cells, strict=True))))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)


def score_rows(
    runs: Sequence[Run], scores: Mapping[tuple[str, str], Mapping[str, Any]], metrics: Sequence[str]
) -> pd.DataFrame:
    """Returns a frame of run_id, run, metric, value, std_error, n_users; the runs that are best in the first
    metric come first.

    ``scores`` maps (run id, metric) to value, std_error and n_users; a missing pair has no row.
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
    return in_order(frame, metrics[0], least_first=less_is_wanted(metrics[0]))


def in_order(scores: pd.DataFrame, metric: str, *, least_first: bool) -> pd.DataFrame:
    """Returns the rows of a scoreboard with the runs in the order of their values of the metric."""
    values = scores[scores["metric"] == metric].set_index("run_id")["value"]
    keys = scores["run_id"].map(values) * (1 if least_first else -1)
    return scores.iloc[np.argsort(keys.to_numpy(), kind="stable")].reset_index(drop=True)


def slice_rows(scores: Iterable[tuple[Run, str, Sequence[SliceScores]]], k: int) -> pd.DataFrame:
    """Returns a frame of run_id, run, slice, title, metric, value, std_error, n_users, reason at k, a row per
    slice.

    If a slice has no value of the metric, value and std_error are NaN, n_users is 0 and ``reason`` says why.
    """
    columns = ["run_id", "run", "slice", "title", "metric", "value", "std_error", "n_users", "reason"]
    none = {"value": np.nan, "std_error": np.nan, "n_users": 0}
    rows = []
    for run, metric, slices in scores:
        for of_slice in slices:
            cut, curve = of_slice.of, of_slice.curves.get(metric)
            score = none if curve is None else score_at(curve, k)
            reason = of_slice.absent.get(metric, "")
            rows.append((run.id, run.name, cut.value, cut.title, metric, *score.values(), reason))
    return pd.DataFrame(rows, columns=columns)


def score_at(curve: Curve, k: int) -> dict[str, Any]:
    """Returns the curve's ``value``, ``std_error`` and ``n_users`` at k; k is ignored by a curve without
    cutoff.

    Raises InputError for a k that ``check_k`` refuses.
    """
    check_k(k, len(curve.k) or None)
    place = k - 1 if len(curve.k) else 0
    return {"value": curve.value[place], "std_error": curve.std_error[place], "n_users": curve.n_users}


def score_of_values(values: UserValues) -> dict[str, Any]:
    """Returns ``value`` (the mean), ``std_error`` (NaN for one user) and ``n_users`` of a metric's values per
    user.
    """
    n, own = len(values.users), values.values
    error = float(own.std(ddof=1)) / n**0.5 if n > 1 else np.nan
    return {"value": float(own.mean()), "std_error": error, "n_users": n}


def list_end(hits: Hits) -> int | None:
    """Returns the smallest k for which more than half of the run's non-empty lists are shorter than k.

    None if there is no such k up to the run's depth.
    """
    lengths = np.sort(hits.list_length[hits.list_length > 0])
    end = int(lengths[len(lengths) // 2]) + 1 if len(lengths) else 1
    return end if end <= hits.depth else None
