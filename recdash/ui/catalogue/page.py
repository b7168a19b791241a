"""What the page Catalogue shows: catalogue-level metrics, and the distribution of slots over an attribute's
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st

from recdash.charts.attribute_shares import LONGEST_VALUE, panels, percent_decimals, shown_by
from recdash.comparison.cells import metric_values
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.headlines import some, values
from recdash.comparison.relative import FROM_ZERO, rail_change, share
from recdash.errors import RecdashError
from recdash.evaluation.slices import BANDED, NONE
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, markdown
from recdash.formatting.records import Row, by_run, records
from recdash.formatting.tables import (
    Cell,
    Number,
    RunName,
    cell_html,
    count,
    number_columns,
    number_of,
    text_columns,
)
from recdash.formatting.wording import cut_inside, listed, unavailable
from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.naming import base, catalogue_metrics, less_is_wanted, metric_and_unit, metric_row
from recdash.ui.app import cached, links, state, theme
from recdash.ui.app.state import SEPARATOR, View, workspace
from recdash.ui.components import widgets
from recdash.ui.components.absences import reasons
from recdash.ui.components.widgets import stacked_table_html

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS, FEW_RUNS = 16, 6
MOST_FACTOR = 10_000
"""Changes by more are from 0, but for rounding."""


@dataclass(frozen=True)
class AttributeRows:
    """The rows of ``Slices.shown_by`` for the runs in the frame and one attribute."""

    attribute: str
    frame: pd.DataFrame

    @cached_property
    def values_shown(self) -> dict[str, int]:
        """Returns {run id: number of attribute values of which the run shows an item}."""
        return {run_id: int(part["values_shown"].sum()) for run_id, part in by_run(self.frame)}

    @cached_property
    def n_values(self) -> int:
        return max(int(part["values"].sum()) for _, part in by_run(self.frame))

    @cached_property
    def n_items(self) -> int:
        """Returns the number of items in the catalogue."""
        row = next(row for row in records(self.frame) if row["items"])
        return round(row["items"] / row["catalogue_share"])

    @cached_property
    def chosen(self) -> pd.DataFrame:
        """Returns the rows that are drawn: those of the values with the largest shares, in their order."""
        largest = self.frame[["share", "catalogue_share"]].max(axis=1).groupby(self.frame["value"]).max()
        drawn = largest[largest > 0].nlargest(MOST_ROWS).index
        return self.frame[self.frame["value"].isin(drawn)]

    @cached_property
    def largest(self) -> float:
        return max(*self.frame["share"], *self.frame["catalogue_share"])


# ── the attribute ────────────────────────────────────────────────────────────────────────────


def choose_attribute(view: View) -> str | None:
    """Draws the choice of an attribute of the catalogue and returns it; None if there is none.

    The URL keeps it.
    """
    names = cached.attributes(view.experiment.id)
    if not names:
        return None
    # on Segments, attributes of items have this prefix, and bands this suffix
    wanted = state.params().get("by", names[0]).removeprefix("item:").removesuffix(BANDED)
    if wanted not in names and wanted not in cached.slices(view.experiment.id):
        st.warning(f"{unavailable('attribute', markdown(wanted), markdown(names[0]))}.")
    chosen, titles = wanted if wanted in names else names[0], dict(zip(names, names, strict=True))
    widgets.select("Attribute", "by", titles, chosen, "catalogue-attribute", widgets.BOX)
    state.write("by", wanted)
    return chosen


def gather(view: View, attribute: str) -> AttributeRows | None:
    """Returns the distribution over the attribute's values; None if no run in the frame has lists."""
    rows = cached.shown_by(view, view.shown_ids, attribute)
    return None if rows.empty else AttributeRows(attribute, rows)


def show_nothing(view: View) -> None:
    """Says why there is no distribution, and what to do."""
    if view.experiment.catalogue is None:
        widgets.empty(
            "Add a catalogue to see what the lists show of it",
            "A catalogue lists all items with attributes such as year, genre or author. "
            f"{'Add' if state.person().may('editor') else 'An editor adds'} it in a new experiment with the "
            "same test set.",
        )
    elif not cached.attributes(view.experiment.id):
        widgets.empty(
            "The catalogue has no attribute to compare by",
            "Its columns differ for almost every item. Add columns such as year, genre or author; write "
            "several values as Crime|Drama.",
        )
    else:
        widgets.empty("These runs have no lists", "Choose a run with recommendations above.")
        return
    links.page_button("Upload", "upload")


# ── catalogue-level metrics ──────────────────────────────────────────────────────────────────


def coverage_words(view: View, distribution: AttributeRows) -> str:
    """Returns a sentence on which run shows the most values of the attribute, and which the fewest; if all
    show all values, on the first candidate's largest gaps to the catalogue.
    """
    by_run = distribution.values_shown
    counts = {run: count for run, count in by_run.items() if run in view.verdict_query.shown} or by_run
    most, fewest = max(counts.values()), min(counts.values())
    total = f"{numbers.count(distribution.n_values)} values of {distribution.attribute}"
    of = f"all {total}" if most == distribution.n_values else f"{numbers.count(most)} of {total}"
    if most == fewest == distribution.n_values and distribution.n_values > 1:
        own = [run for run in view.candidate_ids if run in counts]
        return _gaps(view, distribution, (own or list(counts))[0])
    if most == fewest and len(counts) > 1:
        return f"{'Both' if len(counts) == 2 else 'All'} runs show {of}"
    first = _named(view, counts, most)
    rest = f"; {_named(view, counts, fewest)} {numbers.count(fewest)}" if fewest < most else ""
    return f"{first} {of}{rest}".replace(" shows 0", " shows none")


def _gaps(view: View, distribution: AttributeRows, run_id: str) -> str:
    """Returns which values the run recommends most above and most below their share of the catalogue."""
    rows = records(distribution.frame[distribution.frame["run_id"] == run_id])
    rows.sort(key=lambda row: row["share"] - row["catalogue_share"])
    below, above = (cut_inside(row["value"], LONGEST_VALUE) for row in (rows[0], rows[-1]))
    name = view.short(run_id)
    if rows[0]["share"] == rows[0]["catalogue_share"]:
        return f"{name} recommends all {distribution.attribute} values in proportion to the catalogue"
    return f"{name} over-recommends {above} the most of all values, and under-recommends {below} the most"


def _named(view: View, counts: dict[str, int], count: int) -> str:
    names = [view.short(run) for run, own in counts.items() if own == count]
    return f"{some(names)} {'shows' if len(names) == 1 else 'show'}"


def subtitle(view: View, distribution: AttributeRows) -> str:
    return (
        f"Slots: the first {view.k} positions of all lists, by {distribution.attribute}. "
        f"The catalogue has {numbers.counted(distribution.n_items, 'item')}."
    )


def measures_table(view: View, distribution: AttributeRows | None) -> Html:
    """Returns a table with the catalogue-level metrics of each run."""
    metrics = catalogue_metrics()
    scores = cached.scoreboard(view, view.shown_ids, metrics, view.k)
    known = {metric: values(scores, metric) for metric in metrics}
    rails = _guardrails(view)
    columns = [
        _link(view, metric, f"{metric_and_unit(metric, view.k)}{_wanted(view, metric)}") for metric in known
    ]
    cells: list[list[Cell]] = [
        [
            _beside_rail(value, rails.get((run_id, metric)))
            for run_id, value in zip(
                view.shown_ids,
                metric_values(metric, map(of_run.get, view.shown_ids), has_unit=False),
                strict=True,
            )
        ]
        for metric, of_run in known.items()
    ]
    if distribution:
        columns.append(_link(view, "coverage_by", f"Values of {distribution.attribute}"))
        cells.append([_shown_of(distribution, run_id) for run_id in view.shown_ids])
    rows = zip(map(RunName, view.shown_ids), *cells, strict=True)
    return stacked_table_html(
        [*text_columns("Run"), *number_columns(*columns)], list(rows), view.marks, kind="rd-small"
    )


def _guardrails(view: View) -> dict[tuple[str, str], GuardrailResult]:
    """Returns {(run id, metric): the candidate's guardrail}; empty if runs cannot be compared."""
    try:
        today = workspace().comparisons.recommendation(view.verdict_query)
    except RecdashError:  # the metrics alone are shown
        return {}
    return {
        (case.pair.candidate, rail.metric): rail for case in today.cases for rail in case.evidence.guardrails
    }


def _beside_rail(value: Number, rail: GuardrailResult | None) -> Cell:
    """Returns a cell with the value, and below it its change from the baseline; if that breaks the guardrail,
    also the guardrail.
    """
    if rail is None or not isfinite(rail.change):
        return value
    limit = f" ▼ exceeds {100 * rail.guard:.3g} %" if rail.is_broken else ""
    template = '{value}<br><small class="rd-{tone}">{change}{limit}</small>'
    change = rail_change(rail)
    if FROM_ZERO <= rail.change < MOST_FACTOR:  # a difference would read as one of the values in percent
        change = share(rail.change)
    tone = "worse" if rail.is_broken else "muted"
    return html(template, value=cell_html(value), tone=tone, change=change, limit=limit)


def _wanted(view: View, metric: str) -> str:
    """Returns an arrow in the direction that is wanted of a guardrail metric; empty for other metrics."""
    if metric not in view.terms.guards:
        return ""
    return "\u00a0↓" if less_is_wanted(metric) else "\u00a0↑"


def _link(view: View, metric: str, text: str) -> Html:
    """Returns the name of a metric as a link to its definition in the guide, which keeps the view."""
    query = urlencode(links.of_view(view) | state.params() | {"metric": base(metric)}, safe=SEPARATOR)
    hint = f"A higher value means: {_higher_means(metric)}"
    return html('<a href="guide?{query}" title="{hint}">{text}</a>', query=query, hint=hint, text=text)


def _shown_of(distribution: AttributeRows, run_id: str) -> str:
    if run_id not in distribution.values_shown:
        return numbers.NONE
    return f"{numbers.count(distribution.values_shown[run_id])} of {numbers.count(distribution.n_values)}"


def footnote(view: View) -> Html:
    """Returns a note on how to read the metrics, and why cells are empty."""
    absences = {metric: cached.absences(view.shown_ids, metric) for metric in catalogue_metrics()}
    lines = [
        "Click a metric for its definition. Higher is not better by itself: random lists cover most.",
        "↑ ↓: a change the other way counts against its guardrail.",
        *(["Below a value: its change against the baseline."] if view.candidates else []),
        *reasons(view, view.shown_ids, absences),
    ]
    return widgets.note_html(lines)


def _higher_means(metric: str) -> str:
    """Returns what a higher value of the metric means, such as ``more concentrated``."""
    row = metric_row(metric)
    return row.higher_is if isinstance(row, CatalogueMetric) else "better"


# ── distribution over the values ─────────────────────────────────────────────────────────────


def show_distribution(view: View, distribution: AttributeRows) -> None:
    """Draws a panel for each run, then the same numbers as a table."""
    st.space("small")
    widgets.section(coverage_words(view, distribution), distribution_words(distribution))
    runs = [run for run in view.shown_ids if run in distribution.values_shown]
    lines = panels(runs)
    with st.container(key=f"panels-{len(lines[0])}-catalogue"):
        widgets.chart_caption("Grey tick: share of the catalogue.")
        for place, line in enumerate(lines):
            beside, largest = len(lines[0]), distribution.largest
            chart = shown_by(distribution.chosen, line, beside, view.marks, theme.palette(), largest)
            widgets.chart(chart, f"catalogue-{place}", alt(view, distribution, line))
    st.html(value_table(view, distribution, runs))


def finding(view: View, distribution: AttributeRows) -> str:
    """Returns the largest gap between a run and the catalogue, such as ``ALS over-recommends Horror: 29.5 %
    of slots (Popular: 20.1 %) vs 10.5 % of the catalogue``.

    The baseline counts as well: its gap may be what a candidate reduces.
    """
    rows = records(distribution.frame)
    compared = [run for run in view.shown_ids if run == view.shown_ids[0] or not view.is_reference(run)]
    own = [row for row in rows if row["run_id"] in compared]
    row = max(own or rows, key=lambda row: abs(row["share"] - row["catalogue_share"]))
    share, catalogue = (numbers.three(100 * row[name]) for name in ("share", "catalogue_share"))
    if row["share"] == row["catalogue_share"]:
        return f"All runs recommend {distribution.attribute} in proportion to the catalogue"
    verb = "over-recommends" if row["share"] > row["catalogue_share"] else "under-recommends"
    run, value = view.short(row["run_id"]), cut_inside(row["value"], LONGEST_VALUE)
    others = [other for other in own if other["value"] == row["value"] and other["run_id"] != row["run_id"]]
    beside = ""
    if others and (len(others) == 1 or row["run_id"] != compared[0]):
        other = next((other for other in others if other["run_id"] == compared[0]), others[0])
        beside = f" ({view.short(other['run_id'])}: {numbers.three(100 * other['share'])} %)"
    return f"{run} {verb} {value}: {share} % of slots{beside} vs {catalogue} % of the catalogue"


def distribution_words(distribution: AttributeRows) -> str:
    frame = distribution.frame[distribution.frame["value"] != NONE]
    filled = frame[(frame["share"] > 0) | (frame["items"] > 0)]
    n_rows, drawn = (
        rows["value"].nunique() for rows in (filled, distribution.chosen.query("value != @NONE"))
    )
    note = ""
    if drawn < n_rows:
        some = f"Showing {drawn} of {numbers.count(n_rows)}"
        by = "with the largest shares in a run or the catalogue"
        note = f" {some}, {by}; “All shares in full precision” has all."
    each = "Items with several values count in each."
    return f"Share of slots. {each}{note}"


def alt(view: View, distribution: AttributeRows, run_ids: list[str]) -> str:
    """Returns the chart's alternative text: the three largest shares of each run, with the catalogue's."""
    parts = []
    for run_id in run_ids:
        rows = records(distribution.chosen[distribution.chosen["run_id"] == run_id].nlargest(3, "share"))
        parts.append(f"{view.name(run_id)}: {listed([_both_shares(row) for row in rows])}")
    return f"Share of slots by {distribution.attribute}, with the catalogue's share. {'; '.join(parts)}."


def _both_shares(row: Row) -> str:
    share, catalogue = (numbers.three(100 * row[name]) for name in ("share", "catalogue_share"))
    return f"{cut_inside(row['value'], LONGEST_VALUE)} {share} % ({catalogue} %)"


def value_table(view: View, distribution: AttributeRows, run_ids: list[str]) -> Html:
    """Returns a table with a row for each value that is drawn: number of items, and shares of catalogue and
    runs in %.
    """
    decimals = percent_decimals(distribution.largest)
    shares = {run_id: part.set_index("value")["share"] for run_id, part in by_run(distribution.chosen)}
    cells = widgets.run_cells(view.marks, 20 if len(run_ids) > FEW_RUNS else 24)
    names = [cells[run_id] for run_id in run_ids]
    columns = [*text_columns(distribution.attribute), *number_columns("Items", "Catalogue, %", *names)]
    rows: list[list[Cell]] = []
    for row in records(distribution.chosen.drop_duplicates("value")):
        parts = [row["catalogue_share"], *(float(shares[run_id][row["value"]]) for run_id in run_ids)]
        percents = [Number(number_of(share), decimals, scale=100) for share in parts]
        rows.append([_value_cell(row["value"]), count(row["items"]), *percents])
    return stacked_table_html(columns, rows, kind="rd-small rd-sticky", label="Shares by value")


def _value_cell(value: str) -> Html:
    """Returns a cell with the value, shortened in the middle if it is long; its tooltip has all of it."""
    return html('<span title="{value}">{short}</span>', value=value, short=cut_inside(value, LONGEST_VALUE))


def tidy(distribution: AttributeRows) -> pd.DataFrame:
    return distribution.frame.drop(columns="run_id").assign(attribute=distribution.attribute)
