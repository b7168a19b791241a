"""Tidy frames and sentences that pages, terminal and reports show; no storing, no drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from recdash.domain import Curve, Hits, Run
from recdash.errors import Problem
from recdash.metrics import METRICS, define, parse

TITLES = {
    "precision": "Precision", "recall": "Recall", "f1": "F1", "hit_rate": "Hit rate", "mrr": "MRR",
    "map": "MAP", "mar": "MAR", "ndcg": "nDCG", "r_precision": "R-precision", "coverage": "Coverage",
    "novelty": "Novelty", "personalization": "Personalization", "gini": "Gini", "popularity": "Popularity",
    "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip


def metric_title(metric: str, k: int | None = None) -> str:
    """``ndcg(gain=exp)`` at 10 → ``nDCG(gain=exp)@10``, as a person reads it."""
    spec = parse(metric)
    name = TITLES.get(spec.name, spec.name) + spec.label[len(spec.name) :]
    return f"{name}@{k}" if k and METRICS[spec.name].has_cutoff else name


def lower_is_better(metric: str) -> bool:
    return bool(getattr(define(parse(metric)).metric, "lower_is_better", False))


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
    runs: Sequence[Run], curves: Mapping[str, Mapping[str, Curve]], metrics: Sequence[str], k: int
) -> pd.DataFrame:
    """run_id, run, metric, value, std_error, n_users at k; the best run by the first metric first."""
    rows = [
        {"run_id": run.id, "run": run.name, "metric": metric, **_at(curves[run.id][metric], k)}
        for run in runs
        for metric in metrics
        if metric in curves.get(run.id, {})
    ]
    frame = pd.DataFrame(rows, columns=["run_id", "run", "metric", "value", "std_error", "n_users"])
    if frame.empty:
        return frame
    first = frame[frame["metric"] == metrics[0]].set_index("run_id")["value"]
    worst_last = frame["run_id"].map(first) * (1 if lower_is_better(metrics[0]) else -1)
    return frame.iloc[np.argsort(worst_last.to_numpy(), kind="stable")].reset_index(drop=True)


def _at(curve: Curve, k: int) -> dict[str, Any]:
    place = 0 if not len(curve.k) else min(k, len(curve.k)) - 1
    return {"value": curve.value[place], "std_error": curve.std_error[place], "n_users": curve.n_users}


def list_end(hits: Hits) -> int | None:
    """The k from which more than half of the run's lists have ended; None if never within depth."""
    lengths = np.sort(hits.list_length[hits.list_length > 0])
    end = int(lengths[len(lengths) // 2]) + 1 if len(lengths) else 1
    return end if end <= hits.depth else None


# ── the population decides ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PopulationEffect:
    """Who leads when every truth user counts, and when only users with a list do.

    ``values`` and ``n_users`` are {"truth" | "both": {run id: number}}.
    """

    leader_truth: str
    leader_both: str
    values: Mapping[str, Mapping[str, float]]
    n_users: Mapping[str, Mapping[str, int]]
    changes: bool
    sentence: str


def population_effect(
    names: Mapping[str, str],
    values: Mapping[str, Mapping[str, float]],
    n_users: Mapping[str, Mapping[str, int]],
    title: str,
) -> PopulationEffect:
    """Compare the two rules; ``names`` are {run id: name}."""
    leader = {rule: max(found, key=found.__getitem__) for rule, found in values.items()}
    truth, both = leader["truth"], leader["both"]
    if truth == both:
        sentence = f"{names[truth]} leads by {title} whether or not users without a list count."
    else:
        sentence = (
            f"Counting only users with lists puts {names[both]} first by {title} "
            f"({values['both'][both]:.3g} over {n_users['both'][both]:,} users); counting every user with a "
            f"relevant item puts {names[truth]} first ({values['truth'][truth]:.3g} over "
            f"{n_users['truth'][truth]:,})."
        )
    return PopulationEffect(truth, both, values, n_users, truth != both, sentence)


def comparability(runs: Sequence[Run]) -> list[Problem]:
    """What makes the runs' numbers less than fully comparable."""
    found = [*_lists_missing(runs), *_different_rules(runs)]
    return [Problem(code, "comparison", what, fix) for code, what, fix in found]


def _lists_missing(runs: Sequence[Run]) -> Iterable[tuple[str, str, str]]:
    share = {run.name: _share_without_list(run) for run in runs if run.ledger.get("counted")}
    if share and max(share.values()) - min(share.values()) > 0.01:
        worst = [
            f"{name} for {part:.0%}" for name, part in share.items() if part > min(share.values()) + 0.01
        ]
        told = ", ".join(worst[:4]) + (f" and {len(worst) - 4} more" if len(worst) > 4 else "")
        yield (
            "lists-missing",
            f"some runs have no list for users that others serve: {told} of the users",
            "Those users count as 0; compare both population rules before you decide.",
        )


def _share_without_list(run: Run) -> float:
    counted = run.ledger.get("counted") or 1
    return (run.ledger.get("without_list") or 0) / counted


def _different_rules(runs: Sequence[Run]) -> Iterable[tuple[str, str, str]]:
    rules = {name: {str(run.provenance.get(name)) for run in runs} for name in ("depth", "users")}
    for name, values in rules.items():
        if len(values) > 1:
            yield (
                f"different-{name}",
                f"the runs were scored with different {name}: {', '.join(sorted(values))}",
                "Upload them again under one rule.",
            )
