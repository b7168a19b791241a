"""What the pages of curves show: lines up to the end of lists, and the words about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.curves import metric_curve, values_at_k, with_interval
from recdash.definitions.conventions import POPULATION
from recdash.domain.kinds import Users
from recdash.formatting.html import markdown
from recdash.formatting.wording import listed, plural, users
from recdash.metrics import define
from recdash.metrics.naming import curve_metrics, has_k, is_percent, metric_and_unit, metric_title
from recdash.report.sections.curves import means_note, stops
from recdash.ui.app import cached, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.chart_key import key_below

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ["run_id", "run", "metric", "k", "value", "low", "high", "n_users"]


def names(view: View) -> dict[str, str]:
    """Returns {metric: title} of the metrics that have a cutoff."""
    return {metric: metric_title(metric) for metric in view.metrics if has_k(metric)}


def usual(view: View) -> list[str]:
    """Returns the metrics that are drawn by default: the primary metric and up to three more."""
    return curve_metrics(view.metric, view.metrics)


def warn_of_unknown(view: View) -> None:
    """Warns about metrics in the link that cannot be drawn against k here."""
    wanted = state.params().get("ms", "").split(state.SEPARATOR)
    unknown = [metric for metric in dict.fromkeys(wanted) if metric and metric not in names(view)]
    if unknown:
        named = markdown(listed([f'"{metric}"' for metric in unknown]))
        verb = "isn't" if len(unknown) == 1 else "aren't"
        st.warning(f"{plural(len(unknown), 'Metric')} {named} {verb} available here.")


def gather(view: View, metrics: tuple[str, ...]) -> pd.DataFrame:
    """Returns the curves of the runs in the frame: run_id, run, metric, k, value, std_error, n_users."""
    return cached.curves(view, view.shown_ids, metrics)


def values(view: View, metrics: tuple[str, ...]) -> pd.DataFrame:
    """Returns all values with the intervals of the means, as a frame with the columns ``SHOWN``."""
    rows = gather(view, metrics)
    return with_interval(rows.dropna(subset=["k"]))[SHOWN]


def deltas(view: View, metrics: tuple[str, ...]) -> pd.DataFrame:
    """Returns all differences from the baseline with their paired intervals: ``SHOWN``.

    Those of the baseline are 0.
    """
    import pandas as pd

    parts = [part for metric in metrics if not (part := _delta(view, metric)).empty]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=SHOWN)


def _delta(view: View, metric: str) -> pd.DataFrame:
    import pandas as pd

    baseline = view.shown[0].id
    rows = _paired(view, metric) if define(metric).has_user_values else _plain(view, metric)
    if rows.empty:
        return pd.DataFrame(columns=SHOWN)
    ks = sorted(set(rows["k"]))
    zero = {"run_id": baseline, "run": view.name(baseline), "value": 0.0, "low": 0.0, "high": 0.0}
    itself = pd.DataFrame([{**zero, "k": k, "n_users": rows["n_users"].max()} for k in ks])
    return pd.concat([itself, rows], ignore_index=True).assign(metric=metric)[SHOWN]


def _paired(view: View, metric: str) -> pd.DataFrame:
    rows = cached.delta_curves(view, metric)
    return rows.rename(columns={"mean_diff": "value", "ci_low": "low", "ci_high": "high"})


def _plain(view: View, metric: str) -> pd.DataFrame:
    """Returns the differences of a metric without a value per user at the same cutoffs; their intervals are
    NaN.
    """
    rows = gather(view, (metric,))
    rows = rows[rows["k"].isin(cached.cutoffs(view))]
    base = rows[rows["run_id"] == view.shown[0].id].set_index("k")["value"]
    others = rows[(rows["run_id"] != view.shown[0].id) & rows["k"].isin(base.index)]
    gaps = others["value"] - others["k"].map(base)
    return others.assign(value=gaps, low=float("nan"), high=float("nan"))


def last_k(view: View) -> dict[str, int | None]:
    """Returns {run id: last k at which most of its lists have an item}; None if they reach the depth."""
    ends = cached.list_ends(view.shown_ids)
    return {run: None if end is None else max(1, end - 1) for run, end in ends.items()}


def lists_ended(view: View) -> str:
    """Returns where most lists of runs end, such as ``ALS at 12 and EASE at 7``; empty if all reach the
    depth.
    """
    return listed([f"{view.short(run)} at {end}" for run, end in last_k(view).items() if end is not None])


def pairs(metrics: Sequence[str]) -> list[list[str]]:
    return [list(metrics[start : start + 2]) for start in range(0, len(metrics), 2)]


def draw(view: View, curves: pd.DataFrame, metric: str, *, ribbon: bool, delta: bool) -> None:
    """Draws the title and the chart of one metric, or says why no run has the metric."""
    widgets.section(f"{'Difference in ' if delta else ''}{metric_and_unit(metric, 'k')}")
    rows = curves[curves["metric"] == metric]
    if rows.empty:
        reasons = sorted(set(cached.absences(view.shown_ids, metric, view.scope).values()))
        st.caption(f"– {'; '.join(reasons) or 'not scored'}")
        return
    chart = metric_curve(
        rows,
        view.marks,
        theme.palette(),
        view.k,
        last_k(view),
        ribbon=ribbon,
        percent=is_percent(metric),
        delta=delta,
        key=True,
    )
    k, values = values_at_k(rows, view.k, percent=is_percent(metric), delta=delta)
    text = alt(metric, k, [f"{view.name(run)} {value}" for run, value in values], delta=delta)
    widgets.chart(chart, f"curve-{metric}", text, narrowest=0)
    st.html(key_below(view.marks, f"At k = {k}", values))


def alt(metric: str, k: int, values: Sequence[str], *, delta: bool) -> str:
    """Returns the chart's alternative text, with the runs' values at k."""
    title = f"Difference in {metric_title(metric)}" if delta else metric_title(metric)
    return f"{title} against k. At k = {k}: {listed(values)}."


def subtitle(view: View, *, delta: bool) -> str:
    rows = gather(view, (view.metric,))
    base, counts = view.short(view.shown[0].id), {int(n) for n in rows["n_users"]}
    note = means_note(base, counts)
    if len(view.shown) == 1:
        note = f"Mean over {users(counts)} with its 95 % CI (band)."
    elif delta:
        note = f"Difference to {base} (heavy line) over {users(counts)}. Band: 95 % CI at each marked k."
    return f"{note}{stops(lists_ended(view))}"


def tidy(curves: pd.DataFrame) -> pd.DataFrame:
    return curves.drop(columns="run_id")


MICRO = (
    "Precision@k: hits of all users in their first k positions ÷ (k × users).",
    "Recall@k: hits of all users in their first k positions ÷ all relevant items of the test set.",
    "Micro average: users with more relevant items weigh more.",
)
MACRO = (
    "Precision@k: a user's hits in the first k positions ÷ k. Empty positions count as misses.",
    "Recall@k: a user's hits in the first k positions ÷ the user's relevant items in the test set.",
    "Macro average: the mean over users.",
)


def definition(average: str, users: Users) -> list[str]:
    """Returns the definitions that are shown next to the precision–recall chart.

    ``users`` is the population rule.
    """
    return [*(MICRO if average == "micro" else MACRO), POPULATION[users]]
