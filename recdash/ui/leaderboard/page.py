"""Gathers what the leaderboard shows."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.forest import BESIDE_TABLE, forest, shows_margin
from recdash.comparison import ComparisonQuery, headlines
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.records import records
from recdash.formatting.wording import CORRECTIONS, listed, users
from recdash.metrics import define
from recdash.metrics.naming import BEYOND, base, metric_at, why_not_installed
from recdash.stats import Correction
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import corrections, widgets
from recdash.ui.components.absences import reasons
from recdash.ui.components.metric_sets import metrics_of_set
from recdash.ui.leaderboard import table as cells
from recdash.ui.leaderboard.table import PAGE, SETS, Board, words

if TYPE_CHECKING:
    import pandas as pd

LONGEST_NAME = 26
"""The maximum length of a run's name in the table, which has many columns."""
WITHOUT_STANDING, WITH_STANDING = 3, 1
"""How many more metrics there is room for next to the forest plot, without and with columns on standing."""


def search() -> str:
    """Draws the search box for names and tags, and returns its text; the URL keeps it."""
    return widgets.search("Search runs and tags", "q", "leaderboard-search", "name or tag", reset=("p",))


def choices(view: View) -> tuple[str, bool, Correction]:
    """Draws the choices above the table and returns the set of columns, whether differences are in %, and the
    correction. A single run has no difference.
    """
    if len(view.runs) < 2:
        return widgets.choice("Columns", "cols", SETS, "core"), False, "holm"
    unit = widgets.choice("Difference", "diff", {"abs": "Absolute", "rel": "Relative"}, "abs")
    chosen = widgets.choice("Columns", "cols", SETS, "core")
    return chosen, unit == "rel", corrections.choose()


def compared(view: View, correction: Correction = "holm") -> ComparisonQuery:
    """Returns the comparison of all runs except reference candidates with the baseline."""
    return replace(view.query, runs=view.own_ids, terms=replace(view.terms, correction=correction))


def gather(view: View, wanted: str, chosen: str, *, relative: bool, correction: Correction) -> Board:
    """Returns the rows that match the search, by rank, then by value."""
    standing = cached.standing(view, view.run_ids)
    metrics = _metrics(view, chosen, correction, WITH_STANDING if standing else WITHOUT_STANDING)
    scores = cached.scoreboard(view, view.run_ids, metrics, view.k)
    pairs = cached.pairs(view, compared(view, correction))
    known = headlines.values(scores, view.metric)
    places = _places(view, known, correction)
    primary = scores[scores["metric"] == view.metric]
    differences = cells.in_percent(pairs, view.metric) if relative and len(pairs) else pairs
    return Board(
        order=_order(view, known, places, wanted),
        metrics=metrics,
        scores=scores,
        pairs={row["run_id"]: row for row in records(differences)},
        places=places,
        absences=_absences(view, scores, metrics, chosen),
        n_users=dict(zip(primary["run_id"], primary["n_users"], strict=True)),
        correction=correction,
        relative=relative,
        without_common_users=_without_common_users(view, known, pairs),
        standing=standing,
    )


def _metrics(view: View, chosen: str, correction: Correction, few: int) -> tuple[str, ...]:
    if chosen == "differ":
        return (view.metric, *differing(view, correction))
    return metrics_of_set(view.metrics, view.metric, chosen, few)


def differing(view: View, correction: Correction) -> list[str]:
    """Returns the other metrics in which any run is better or worse than the baseline after correction.

    A metric without a value per user counts if its values differ in the first three digits.
    """
    others = [metric for metric in view.metrics if metric != view.metric]
    with st.spinner(f"Comparing {len(others)} metrics", show_time=False):
        return [metric for metric in others if _differs(view, metric, correction)]


def _differs(view: View, metric: str, correction: Correction) -> bool:
    query = replace(compared(view, correction), metric=metric)
    if define(metric).is_paired:
        pairs = cached.pairs(view, query)
        return bool(pairs["word"].isin(["better", "worse"]).any())
    known = headlines.values(cached.scoreboard(view, query.shown, (metric,), view.k), metric)
    return len({f"{value:.3g}" for value in known.values()}) > 1


def _places(view: View, known: dict[str, float], correction: Correction) -> dict[str, cells.RankRange]:
    """Returns the ranks with their ranges; by value without a test for a single run, and for a metric without
    a value per user.
    """
    query = compared(view, correction)
    everyone = frozenset(query.shown)
    ranked = {run: value for run, value in known.items() if run in everyone}
    if len(ranked) > 1 and define(view.metric).is_paired:
        return cells.places_of(cached.ranks(view, query))
    return cells.places_by_value(ranked)


def _order(
    view: View, known: dict[str, float], places: dict[str, cells.RankRange], wanted: str
) -> tuple[str, ...]:
    """Returns the ids of the rows by rank, then by value; runs without a rank and reference candidates come
    last.
    """
    everyone = [*known, *(run for run in view.run_ids if run not in known)]
    everyone.sort(key=lambda run: (view.is_reference(run), places[run].rank if run in places else inf))
    matching = set(cells.matching(view, wanted))
    return tuple(run for run in everyone if run in matching)


def _without_common_users(view: View, known: dict[str, float], pairs: pd.DataFrame) -> frozenset[str]:
    """Returns the runs that have the metric, but no user in common with the baseline."""
    baseline = view.shown[0].id
    if baseline not in known or not define(view.metric).is_paired:
        return frozenset()
    return frozenset(known).intersection(view.own_ids).difference(pairs["run_id"], {baseline})


def _absences(
    view: View, scores: pd.DataFrame, metrics: tuple[str, ...], chosen: str
) -> dict[str, dict[str, str]]:
    """Returns {metric: {run id: reason}} for the columns, and for metrics of the set that no run has."""
    gone = cached.gone_metrics(view.run_ids)
    absent = sorted({metric for run in view.runs for metric in (*run.absent, *gone)}.difference(metrics))
    wanted = {"core": (), "differ": (), "beyond": BEYOND}.get(chosen)
    explained = [*metrics, *(metric for metric in absent if wanted is None or base(metric) in wanted)]
    by_metric = {metric: _without_value(view, scores, metric) for metric in explained}
    return {
        metric: cached.absences(run_ids, metric, view.scope) if run_ids else {}
        for metric, run_ids in by_metric.items()
    }


def _without_value(view: View, scores: pd.DataFrame, metric: str) -> tuple[str, ...]:
    """Returns the runs that have no value of the metric; all of them for one that is not installed, of which
    values may be stored.
    """
    if why_not_installed(metric):
        return view.run_ids
    having = set(scores.loc[scores["metric"] == metric, "run_id"])
    return tuple(run_id for run_id in view.run_ids if run_id not in having)


def one_page(view: View, board: Board) -> Board:
    """Draws the choice of a page of the table, and returns its rows; the baseline's row is on each page."""
    baseline = view.shown[0].id
    n_others = len(set(board.order) - {baseline})
    if n_others <= PAGE:
        return board
    starts = range(0, n_others, PAGE)
    ends = {str(1 + start // PAGE): f"{start + 1}–{min(start + PAGE, n_others)}" for start in starts}
    page = int(widgets.choice(f"Rows of {n_others}", "p", ends, "1")) - 1
    return replace(board, order=cells.page_of(board.order, baseline, page))


# ── in words ─────────────────────────────────────────────────────────────────────────────────


def finding(view: View, board: Board) -> str:
    """Returns the headline: which run is first, or which runs share the first rank."""
    where = metric_at(view.metric, view.k)
    known = headlines.values(board.scores, view.metric)
    if not define(view.metric).is_paired:
        shown = compared(view).shown
        return headlines.best_value(
            {view.short(run): value for run, value in known.items() if run in shown}, where
        )
    first = [run for run in known if run in board.places and board.places[run].rank == 1]
    baseline = view.shown[0]
    if first == [baseline.id] and baseline.reference and len(board.places) > 1:
        return f"No candidate beats {view.short(baseline.id)} on {where}"
    if known and not board.places:
        return f"The runs share too few users to be ranked by {where}"
    names, unranked = [view.short(run) for run in first], bool(_unranked(view, board))
    return headlines.first_place(names, len(board.places), where, unranked=unranked)


def subtitle(view: View, board: Board) -> str:
    where = metric_at(view.metric, view.k)
    ranked = board.places or compared(view).shown
    counts = [board.n_users[run] for run in board.n_users if run in ranked]
    if not define(view.metric).is_paired:
        return f"{where} is a catalogue-level metric: ranked by value alone."
    shared = " Runs share a rank unless they differ significantly." if len(ranked) > 1 else ""
    return f"{where}, {users(counts)}.{shared}"


def table(view: View, board: Board) -> Html:
    bands = [place for place, run_id in enumerate(board.order) if view.marks[run_id].role == "baseline"]
    columns, rows = cells.columns(view, board), cells.rows(view, board)
    kind, label = "rd-board", "Ranking"
    name_at = [column.title for column in columns].index("Run")
    return widgets.table_html(
        columns, rows, view.marks, bands=bands, kind=kind, row_head=name_at, label=label, longest=LONGEST_NAME
    )


def plot_head(view: View, board: Board) -> Html:
    metric = metric_at(view.metric, view.k)
    return html(
        '<div class="rd-board-head">Paired difference in {what}</div>',
        what=f"{metric}{', %' if board.relative else ''}",
    )


def footnote(view: View, board: Board) -> Html:
    """Returns notes on how to read the table, and why cells are empty."""
    own = [run for run in headlines.values(board.scores, view.metric) if not view.is_reference(run)]
    alone = [view.short(run_id) for run_id in board.order if run_id in board.without_common_users]
    return widgets.note_html(
        [
            *_how_to_read(view, board),
            headlines.no_shared_user(alone, view.short(view.shown[0].id)) if alone else "",
            _unranked_note(view, board),
            _references(view, board),
            *reasons(view, board.order, board.absences),
            headlines.standing_sentence(board.standing, own),
        ]
    )


def _how_to_read(view: View, board: Board) -> list[str]:
    if not board.pairs:
        return ["= marks equal values."] if len(board.order) > 1 else []
    grey = set(view.own_ids) - set(view.shown_ids)
    others = " Grey mark: not among the chosen candidates." if grey else ""
    margins = sorted({numbers.three(row["margin"]) for row in board.pairs.values() if row["margin"]})
    band = ""
    if margins:
        margin = f"±{' or '.join(margins[:2])}{board.unit}"
        is_seen = shows_margin(_forest_rows(board))
        band = f" Grey band: within the margin ({margin})." if is_seen else f" Too small to matter: {margin}."
    ranks = (
        "Rank: 1 + the number of significantly better runs; = marks a shared rank. "
        "Beside it: 95 % rank range (bootstrap, 1,000 resamples, widened to the rank where it lies outside)."
    )
    is_filled = {row["word"] in ("better", "worse") for row in board.pairs.values()}
    filled = "Filled mark: significant." if True in is_filled else ""
    hollow = " Hollow mark: not significant." if False in is_filled else ""
    marks = f"{filled}{hollow}{band}{others}".strip()
    return [f"{ranks} {marks}", _family(board)]


def _family(board: Board) -> str:
    """Returns a sentence on how the differences are corrected; empty for a single difference."""
    if len(board.pairs) < 2:
        return ""
    if board.correction == "off":
        return "Not corrected for multiple tests: 1 in 20 is significant by chance."
    rule = CORRECTIONS[board.correction]
    return (
        f"{rule}-corrected: ranks over all pairs, differences over the {len(board.pairs)} to the baseline. "
        "So a run can beat the baseline and still share its rank."
    )


def _references(view: View, board: Board) -> str:
    """Returns a sentence on how to read the rows and columns of reference candidates; empty if there are
    none.
    """
    if len(view.own_ids) == len(view.runs):
        return ""
    line = "Reference candidates are not ranked. Choose one as baseline to compare with it."
    if board.standing and board.standing.share:
        line += " Of the way: 0 % is Random, 100 % is Oracle."
    return line


def _unranked(view: View, board: Board) -> list[str]:
    """Returns the runs that have the metric, but no rank."""
    known, shown = headlines.values(board.scores, view.metric), compared(view).shown
    return [run for run in known if run in shown and run not in board.places]


def _unranked_note(view: View, board: Board) -> str:
    unranked = _unranked(view, board)
    if not (unranked and board.places):
        return ""
    names = headlines.some([view.short(run) for run in unranked])
    verb = "shares" if len(unranked) == 1 else "share"
    return f"Not ranked: {names} {verb} fewer than two users with the ranked runs."


MOST_BY_POPULATION = 30
"""The number of runs above which comparing two populations would take too long; the warning names the
difference then.
"""


@st.fragment(parallel=True)
@widgets.show_errors
def population_note(view: View) -> None:
    """Writes a note if users without a list decide which run is first, in a separate fragment."""
    if len(view.own_ids) > MOST_BY_POPULATION:
        return
    effect = cached.population_effect(view, view.own_ids)
    if effect and effect.changes:
        widgets.note([view.with_short_names(effect.sentence)])


def alt(view: View, board: Board) -> str:
    parts = [
        f"{view.name(run)} {numbers.three(board.pairs[run]['mean_diff'])}{board.unit} "
        f"({words(board.pairs[run])})"
        for run in board.order
        if run in board.pairs
    ]
    where = metric_at(view.metric, view.k)
    return f"Paired differences in {where}: {listed(parts)}." if parts else "No differences."


def show_table(view: View, board: Board) -> None:
    """Draws the table, with the forest plot next to its rows if there are differences."""
    if not board.pairs:
        st.html(table(view, board))
        return
    left, right = st.columns([4, 1], gap=None, wrap=False)
    with left:
        st.html(table(view, board))
    with right, st.container(gap=None):
        st.html(plot_head(view, board))
        chart = forest(_forest_rows(board), board.order, view.marks, theme.palette(), BESIDE_TABLE)
        widgets.chart(chart, "leaderboard-forest", alt(view, board), narrowest=0)


def _forest_rows(board: Board) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(board.pairs.values()), columns=["run_id", *cells.DIFFERENCE, "word"])
