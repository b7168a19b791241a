"""What the leaderboard shows of a view, gathered once for its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from recdash import numbers
from recdash.ui import data, findings, state
from recdash.ui.board import FEW, Board, baseline_first, columns, matching, metrics_of_set, reasons, rows
from recdash.ui.escaping import Html, html, join
from recdash.ui.state import View
from recdash.ui.widgets import table_html
from recdash.ui.words import BEYOND, base, listed, metric_at

if TYPE_CHECKING:
    import pandas as pd


def search() -> str:
    """The text to look for in names and tags, kept in the URL."""
    st.session_state["leaderboard-search"] = state.params().get("q", "")
    found = st.text_input(
        "Search runs and tags", key="leaderboard-search", placeholder="name or tag",
        on_change=lambda: state.choose(q=st.session_state["leaderboard-search"]),
    )  # fmt: skip
    if found or "q" in state.params():
        state.write("q", found)
    return found


def compared(view: View) -> tuple[str, ...]:
    """The baseline and every run but the references."""
    return tuple(dict.fromkeys((view.shown[0].id, *view.own_ids)))


def differences(view: View) -> pd.DataFrame:
    """Paired differences of every run of the experiment, but for the references, to the baseline."""
    return data.differences(view, view.own_ids, view.shown[0].id, view.metric, view.k)


def gather(view: View, wanted: str, chosen: str) -> Board:
    """Rows that match the search, best first under the baseline's band."""
    standing = data.standing(view, view.run_ids)
    metrics = metrics_of_set(view.metrics, view.metric, chosen, few=FEW - 2 if standing else FEW)
    scores = data.scoreboard(view, view.run_ids, metrics, view.k)
    known = findings.values(scores, view.metric)
    everyone = [*known, *(run for run in view.run_ids if run not in known)]
    everyone.sort(key=view.is_reference)  # below the candidates: they are not ranked
    kept = set(matching(view, wanted))
    order = baseline_first([run for run in everyone if run in kept], view.shown[0].id)
    paired, baseline = differences(view), view.shown[0].id
    found = findings.deltas(paired, scores, view.metric, baseline)
    primary = scores[scores["metric"] == view.metric]
    return Board(
        order=order, metrics=metrics, scores=scores, deltas={delta.run_id: delta for delta in found},
        absences={name: data.absences(view.run_ids, name) for name in _explained(view, metrics, chosen)},
        n_users=dict(zip(primary["run_id"], primary["n_users"], strict=True)),
        apart=frozenset(findings.apart(known, paired, view.metric, baseline)) & frozenset(view.own_ids),
        standing=standing,
    )  # fmt: skip


def _explained(view: View, metrics: tuple[str, ...], chosen: str) -> list[str]:
    """The columns, and what the set would hold but no run has: its absence has reasons."""
    absent = sorted({metric for run in view.runs for metric in run.absent}.difference(metrics))
    wanted = {"core": (), "beyond": BEYOND}.get(chosen)
    return [*metrics, *(metric for metric in absent if wanted is None or base(metric) in wanted)]


def finding(view: View) -> str:
    """The H1: who is first among all runs, and who cannot be told apart from it."""
    where = metric_at(view.metric, view.k)
    found = findings.values(data.scoreboard(view, view.run_ids, (view.metric,), view.k), view.metric)
    known = {run_id: value for run_id, value in found.items() if run_id in view.own_ids}
    if not known:
        return f"No run has {where}"
    leader, baseline = next(iter(known)), view.shown[0]
    if baseline.reference and list(found).index(baseline.id) < list(found).index(leader):
        return f"No candidate has a better mean {where} than {baseline.name}"
    to_leader = data.differences(view, view.own_ids, leader, view.metric, view.k)
    names = {run.id: run.name for run in view.runs}
    return findings.shared_first(known, names, to_leader, where)


def subtitle(view: View) -> str:
    base = view.name(view.shown[0].id)
    effect = data.population_effect(view, view.own_ids)
    known = findings.values(data.scoreboard(view, view.own_ids, (view.metric,), view.k), view.metric)
    stands = findings.stands(data.standing(view, view.own_ids), list(known))
    return (
        f"{metric_at(view.metric, view.k)}; differences to {base} are paired over users. "
        "Not separable: the paired 95 % interval of the difference includes zero. "
        f"{effect.sentence if effect and effect.changes else ''} {stands}"
    ).rstrip()


def table(view: View, shown: Board) -> Html:
    bands = [place for place, run_id in enumerate(shown.order) if view.marks[run_id].role == "baseline"]
    return table_html(columns(view, shown), rows(view, shown), bands=bands, kind="rd-board")


def plot_head(view: View) -> Html:
    return html(
        '<div class="rd-board-head">Paired difference, {where}</div>', where=metric_at(view.metric, view.k)
    )


def footnote(view: View, shown: Board) -> Html:
    """How to read the marks, and why cells are empty."""
    grey = (
        " Grey marks: runs that are not among the chosen candidates."
        if set(view.own_ids) - set(view.shown_ids)
        else ""
    )
    lines = [
        "Equal values share a rank (=). Filled mark: the interval excludes zero. Hollow mark: it does not. "
        "Intervals are per run, not corrected for the number of runs." + grey,
        *_alone(view, shown),
        *references(view, shown),
        *reasons(view, shown.order, shown.absences),
    ]
    paragraphs = [html("<p>{line}</p>", line=line) for line in lines]
    return html('<div class="rd-note">{lines}</div>', lines=join(paragraphs))


def references(view: View, shown: Board) -> list[str]:
    """How to read the rows and columns of the reference candidates."""
    if len(view.own_ids) == len(view.runs):
        return []
    line = "Reference candidates are not ranked; choose one as baseline to see differences to it."
    if shown.standing and shown.standing.share:
        line += " Of the way: where the value lies between Random (0 %) and Oracle (100 %)."
    return [line]


def _alone(view: View, shown: Board) -> list[str]:
    alone = [view.name(run_id) for run_id in shown.order if run_id in shown.apart]
    return [findings.no_shared_user(alone, view.name(view.shown[0].id))] if alone else []


def alt(view: View, shown: Board) -> str:
    parts = [
        f"{delta.name} {numbers.three(delta.mean_diff)} ({delta.word})"
        for run_id, delta in shown.deltas.items()
        if run_id in shown.order
    ]
    return (
        f"Paired differences in {metric_at(view.metric, view.k)}: {listed(parts)}."
        if parts
        else "No differences."
    )
