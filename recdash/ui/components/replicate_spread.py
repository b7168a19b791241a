"""The spread over folds or seeds, where a shown run has some, and whether differences hold across it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.replicates import LEAST_FOR_BOX, replicate_spread
from recdash.comparison import headlines
from recdash.errors import Problem
from recdash.evaluation.comparability import LISTED
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.wording import listed
from recdash.metrics.naming import is_percent, lower_is_better, metric_at
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import TableColumn, run_cell, table_html

if TYPE_CHECKING:
    import pandas as pd

    from recdash.domain.records import Run
    from recdash.stats.replicates import ReplicateDifference


@dataclass(frozen=True)
class Spread:
    """``rows`` of the replicates, the runs' own ``values`` best first, each one's difference to the baseline
    (``differences``), and what a replicate is called (``noun``).
    """

    rows: pd.DataFrame
    values: Mapping[str, float]
    differences: Mapping[str, ReplicateDifference]
    noun: str


def section(view: View) -> None:
    """Drawn only when a shown run has folds or seeds that have the metric."""
    found = gather(view)
    if found is None:
        return
    st.space("small")
    widgets.section(finding(view, found), note(view, found))
    scale = 100.0 if is_percent(view.metric) else 1.0
    chart = replicate_spread(found.rows, found.values, view.marks, theme.palette(), scale)
    widgets.chart(chart, "replicate-spread", alt(view, found))
    if found.differences:
        st.html(differences_table(view, found))
    widgets.table_behind(found.rows.drop(columns="run_id"), "replicates")


def gather(view: View) -> Spread | None:
    several = [run for run in view.shown if run.replicated]
    rows = cached.spread(view, tuple(run.id for run in several)) if several else None
    if rows is None or rows.empty:
        return None
    scores = cached.scoreboard(view, tuple(run.id for run in view.shown), (view.metric,), view.k)
    values = headlines.values(scores, view.metric)
    baseline = view.shown[0]
    others = [run for run in view.shown[1:] if run.id in values and (run.replicated or baseline.replicated)]
    differences = cached.replicate_differences(view, tuple(run.id for run in others), baseline.id)
    return Spread(rows, values, differences, noun_of(several))


def told(view: View) -> list[Problem]:
    """Whether the differences to the baseline hold across folds or seeds, as a notice for the Overview."""
    found = gather(view)
    if found is None:
        return []
    by_outcome = {
        outcome: [
            view.name(run_id) for run_id, one in found.differences.items() if one.significant is outcome
        ]
        for outcome in (True, False)
    }
    words = {True: f"holds across {found.noun} for", False: f"is not significant across {found.noun} for"}
    parts = [f"{words[outcome]} {listed(names)}" for outcome, names in by_outcome.items() if names]
    if not parts:
        return []
    place = f"difference to {view.shown[0].name} in {metric_at(view.metric, view.k)}"
    return [Problem("replicates", place, "; it ".join(parts), "The spread is on the Leaderboard.")]


def noun_of(runs: list[Run]) -> str:
    """``seeds``; ``folds and seeds`` where runs have either."""
    return listed(sorted({f"{run.replicated.noun}s" for run in runs if run.replicated}))


def finding(view: View, found: Spread) -> str:
    """What the spread means for the differences to the baseline."""
    told = [one for one in found.differences.values() if one.significant is not None]
    if not told:
        return f"How far the {found.noun} lie apart"
    lasting = sum(bool(one.significant) for one in told)
    what = "difference" if len(told) == 1 else "differences"
    if lasting == len(told):
        return f"The {what} hold{'s' if len(told) == 1 else ''} across {found.noun}"
    if lasting:
        return f"{lasting} of {len(told)} differences to {view.shown[0].name} hold across {found.noun}"
    if all(_wider(found, run_id) for run_id in found.differences):
        return f"{found.noun.capitalize()} differ by more than the candidates do"
    return f"The {what} {'is' if len(told) == 1 else 'are'} not significant across {found.noun}"


def _wider(found: Spread, run_id: str) -> bool:
    """Whether replicates, of this run or of those beside it, lie further apart than its difference."""
    ranges = found.rows.groupby("run_id")["value"].agg(lambda values: values.max() - values.min())
    own = ranges.get(run_id, ranges.max())
    return bool(own > abs(found.differences[run_id].mean))


def note(view: View, found: Spread) -> str:
    where = metric_at(view.metric, view.k) + (" in %" if is_percent(view.metric) else "")
    most = int(found.rows.groupby("run_id").size().max())
    boxes = "; boxes are quartiles, whiskers reach lowest and highest" if most >= LEAST_FOR_BOX else ""
    points = f"{where}. One point for each of the {found.noun}, the line is their mean{boxes}."
    tested = sum(one.significant is not None for one in found.differences.values())
    corrected = f" Intervals and p: Holm-corrected over {tested} differences." if tested > 1 else ""
    return points + corrected + _left_out(view, found)


def _left_out(view: View, found: Spread) -> str:
    """Folds score their own users, so that their mean may be another number than the candidate's."""
    folds = [run for run in view.shown if run.id in set(found.rows["run_id"]) and not run.is_mean]
    without = sum((run.ledger.get("without_list") or 0) for run in folds)
    if not without or view.experiment.settings.get("users") in LISTED:
        return ""
    return " A fold counts only users whom it has lists for; the table above counts the others as 0."


def differences_table(view: View, found: Spread) -> Html:
    """A row per candidate: its difference over replicates, with the test in words."""
    base = view.shown[0].name
    columns = [
        TableColumn("Run"),
        TableColumn(f"Difference to {base}", number=True),
        TableColumn("95 % CI", number=True),
        TableColumn("p", number=True),
        TableColumn(f"Over the {found.noun}"),
        TableColumn("Tested by"),
    ]
    told = found.differences.values()
    decimals = numbers.places([end for one in told for end in (one.mean, one.low, one.high)])
    return table_html(
        columns,
        [
            [
                run_cell(view.marks[run_id]),
                numbers.signed(one.mean, decimals),
                html(
                    '<span class="rd-muted">{text}</span>', text=numbers.interval(one.low, one.high, decimals)
                ),
                numbers.p_value(one.p),
                _word(view, one),
                one.method,
            ]
            for run_id, one in found.differences.items()
        ],
    )


def _word(view: View, one: ReplicateDifference) -> Html:
    if one.significant is None:
        return html('<span class="rd-muted">cannot be told</span>')
    if not one.significant:
        return html('<span class="rd-same">= not significant</span>')
    better = (one.mean > 0) != lower_is_better(view.metric)
    kind, word = ("rd-better", "better") if better else ("rd-worse", "worse")
    return html(
        '<span class="{kind}">{glyph} {word}</span>', kind=kind, glyph="▲" if one.mean > 0 else "▼", word=word
    )


def alt(view: View, found: Spread) -> str:
    ends = found.rows.groupby("run_id", sort=False)["value"].agg(["min", "max"])
    parts = [
        f"{view.name(str(run_id))} {numbers.three(low)} to {numbers.three(high)}"
        for run_id, low, high in ends.itertuples()
    ]
    return f"Spread of {metric_at(view.metric, view.k)} over {found.noun}: {listed(parts)}."
