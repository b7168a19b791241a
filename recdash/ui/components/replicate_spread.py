"""Shows how values spread over folds or seeds, if a shown run has them, and whether differences hold across
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.replicates import LEAST_FOR_BOX, replicate_spread
from recdash.comparison import headlines
from recdash.errors import Problem
from recdash.evaluation.comparability import LISTED
from recdash.formatting import numbers, tables
from recdash.formatting.html import Html
from recdash.formatting.signs import OPEN
from recdash.formatting.tables import (
    RunName,
    Word,
    muted,
    number_columns,
    p_value,
    text_columns,
    with_intervals,
)
from recdash.formatting.wording import listed, plural
from recdash.metrics.naming import is_percent, lower_is_better, metric_at, scale_of
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import table_html

if TYPE_CHECKING:
    import pandas as pd

    from recdash.domain.records import Run
    from recdash.stats.replicates import ReplicateDifference


@dataclass(frozen=True)
class Spread:
    """The values of runs over their folds or seeds.

    ``rows`` are the values of the replicates, ``values`` those of the runs, ``differences`` those from the
    baseline by run, and ``noun`` is "folds" or "seeds".
    """

    rows: pd.DataFrame
    values: Mapping[str, float]
    differences: Mapping[str, ReplicateDifference]
    noun: str


def section(view: View) -> None:
    """Draws the spread over folds or seeds; nothing if no shown run has any with the metric."""
    spread = gather(view)
    if spread is None:
        return
    st.space("small")
    widgets.section(finding(view, spread), note(view, spread))
    scale = scale_of(view.metric)
    chart = replicate_spread(spread.rows, spread.values, view.marks, theme.palette(), scale)
    widgets.chart(chart, "replicate-spread", alt(view, spread))
    if spread.differences:
        st.html(differences_table(view, spread))
    widgets.table_behind(spread.rows.drop(columns="run_id"), "replicates")


def gather(view: View) -> Spread | None:
    several = [run for run in view.shown if run.replicated]
    rows = cached.spread(view, tuple(run.id for run in several)) if several else None
    if rows is None or rows.empty:
        return None
    scores = cached.scoreboard(view, tuple(run.id for run in view.shown), (view.metric,), view.k)
    known = headlines.values(scores, view.metric)
    values = {run_id: known[run_id] for run_id in view.shown_ids if run_id in known}
    baseline = view.shown[0]
    others = [run for run in view.shown[1:] if run.id in values and (run.replicated or baseline.replicated)]
    differences = cached.replicate_differences(view, tuple(run.id for run in others))
    return Spread(rows, values, differences, noun_of(several))


def notices(view: View) -> list[Problem]:
    """Returns a notice on whether the differences from the baseline hold across folds or seeds; empty if
    there are none.
    """
    spread = gather(view)
    if spread is None:
        return []
    words = {True: f"holds across {spread.noun} for", False: f"is not significant across {spread.noun} for"}
    parts = []
    for significant, text in words.items():
        names = [view.short(run) for run, row in spread.differences.items() if row.significant is significant]
        parts += [f"{text} {listed(names)}"] if names else []
    if not parts:
        return []
    place = f"difference to {view.short(view.shown[0].id)} in {metric_at(view.metric, view.k)}"
    return [Problem("replicates", place, "; it ".join(parts), "See the spread on Ranking.")]


def noun_of(runs: list[Run]) -> str:
    """Returns what the runs have: ``seeds``, ``folds``, or ``folds and seeds``; empty for none."""
    return listed(sorted({f"{run.replicated.noun}s" for run in runs if run.replicated}))


def finding(view: View, spread: Spread) -> str:
    """Returns a headline on what the spread means for the differences from the baseline."""
    tested = [row for row in spread.differences.values() if row.significant is not None]
    if not tested:
        return f"Spread over {spread.noun}"
    lasting = sum(bool(row.significant) for row in tested)
    noun = plural(len(tested), "difference")
    if lasting == len(tested):
        return f"The {noun} hold{'s' if len(tested) == 1 else ''} across {spread.noun}"
    if lasting:
        base = view.short(view.shown[0].id)
        return f"{lasting} of {len(tested)} differences to {base} hold across {spread.noun}"
    if all(_wider(spread, run_id) for run_id in spread.differences):
        return f"{spread.noun.capitalize()} differ more than the candidates do"
    return f"The {noun} {'is' if len(tested) == 1 else 'are'} not significant across {spread.noun}"


def _wider(spread: Spread, run_id: str) -> bool:
    """Returns whether the spread over replicates (of this run, or else of the others) is larger than the
    run's difference from the baseline.
    """
    ranges = spread.rows.groupby("run_id")["value"].agg(lambda values: values.max() - values.min())
    own = ranges.get(run_id, ranges.max())
    return bool(own > abs(spread.differences[run_id].mean))


def note(view: View, spread: Spread) -> str:
    where = metric_at(view.metric, view.k) + (" in %" if is_percent(view.metric) else "")
    most = int(spread.rows.groupby("run_id").size().max())
    boxes = " Box: quartiles; whiskers: lowest and highest." if most >= LEAST_FOR_BOX else ""
    points = f"{where}. Points: {spread.noun}; line: mean.{boxes}"
    tested = sum(row.significant is not None for row in spread.differences.values())
    corrected = " CI and p are Holm-corrected." if tested > 1 else ""
    return points + corrected + _left_out(view, spread)


def _left_out(view: View, spread: Spread) -> str:
    """Returns a sentence on why the mean over folds may differ from the candidate's value; empty if it
    cannot.

    Each fold scores only its own users.
    """
    folds = [run for run in view.shown if run.id in set(spread.rows["run_id"]) and not run.is_mean]
    without = sum((run.ledger.get("without_list") or 0) for run in folds)
    if not without or view.experiment.settings.get("users") in LISTED:
        return ""
    return " A fold counts only users it has lists for; the table above counts the others as 0."


def differences_table(view: View, spread: Spread) -> Html:
    """Returns a table with a row per candidate: its difference over replicates, and the test of it in
    words.
    """
    columns = [
        *text_columns("Run"),
        *number_columns(f"Difference to {view.short(view.shown[0].id)}", "95 % CI", "p"),
        *text_columns(f"Over the {spread.noun}", "Tested by"),
    ]
    differences = spread.differences.values()
    values, bounds = with_intervals(
        [row.mean for row in differences], [(row.low, row.high) for row in differences]
    )
    rows = [
        (RunName(run_id), value, bound, p_value(row.p), _word(view, row), row.method)
        for (run_id, row), value, bound in zip(spread.differences.items(), values, bounds, strict=True)
    ]
    return table_html(columns, rows, view.marks)


def _word(view: View, difference: ReplicateDifference) -> Word:
    if difference.significant is None:
        return muted("not tested")
    if not difference.significant:
        return Word(OPEN, "not significant")
    is_gain = difference.mean > 0
    word = "better" if is_gain != lower_is_better(view.metric) else "worse"
    return tables.finding(word, "▲" if is_gain else "▼")


def alt(view: View, spread: Spread) -> str:
    ends = spread.rows.groupby("run_id", sort=False)["value"].agg(["min", "max"])
    parts = [
        f"{view.name(str(run_id))} {numbers.three(low)} to {numbers.three(high)}"
        for run_id, low, high in ends.itertuples()
    ]
    return f"Spread of {metric_at(view.metric, view.k)} over {spread.noun}: {listed(parts)}."
