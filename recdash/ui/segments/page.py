"""What the page Segments shows: in which segments a candidate is better than the baseline, and in which
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import streamlit as st

from recdash.charts.attribute_shares import panels
from recdash.charts.layout import escape as plotly
from recdash.charts.segments import SegmentPoint, SegmentRow, ends_of, segment_panels
from recdash.comparison import segment_wording
from recdash.comparison.cells import metric_value, metric_values
from recdash.comparison.segment_wording import (
    about,
    looks,
    shared_sentences,
    title_parts,
    why_in_no_segment,
)
from recdash.comparison.segments import EVERYBODY, SegmentComparison, flags
from recdash.comparison.segments import Cell as SegmentCell
from recdash.definitions.conventions import POPULATION
from recdash.evaluation.slices import BANDED
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, markdown
from recdash.formatting.tables import Cell, Number, cell_html, finding, muted, number_columns, text_columns
from recdash.formatting.wording import CORRECTIONS, count_range, unavailable
from recdash.metrics.naming import is_percent, scale_of
from recdash.stats import LEAST, Correction
from recdash.ui.app import cached, links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import corrections, widgets
from recdash.ui.components.page_subject import candidate_in_question
from recdash.ui.components.widgets import stacked_table_html

if TYPE_CHECKING:
    import pandas as pd

DERIVED = {
    "user_warmth": "Known and new users",
    "item_warmth": "Known and new items",
    "history": "Length of the user's history",
    "popularity": "Popularity of the item",
}
WARMTH = {"user_warmth": "users", "item_warmth": "items"}
"""Attributes that tell known from new ones, and of what."""
COLUMNS = {"user:": "Users by", "item:": "Items by"}
MOST_LEAST = 1_000_000
FEW_RUNS, FEW_FLAGS = 5, 2


# ── choices ──────────────────────────────────────────────────────────────────────────────────


def choose(view: View) -> tuple[str, int, Correction] | None:
    """Draws the choices and returns the attribute, the minimum segment size and the correction; the URL keeps
    them.

    None if the experiment has no segments.
    """
    known = cached.slices(view.experiment.id)
    if not known:
        widgets.empty(
            "This experiment has no segments yet",
            "Training data separates known from new users and popular from rare items. A table of users or a "
            "catalogue adds its columns as segments.",
        )
        links.page_button("Add data", "upload")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = _choose_by(view.experiment.id, known)
        least = _choose_least()
        correction = corrections.choose()
    return by, least, correction


def _choose_by(experiment_id: str, known: Sequence[str]) -> str:
    """Draws the choice of an attribute and returns it; without a choice, the first with two segments.

    A link may name an attribute of items without its prefix. Bands come before single numbers.
    """
    known = bands_first(known)
    first = next((by for by in known if cached.splits(experiment_id, by)), known[0])
    wanted = state.params().get("by", first)
    spelled = (wanted, f"item:{wanted}{BANDED}", f"item:{wanted}")
    match = next((by for by in spelled if by in known), None)
    if match is None:
        st.warning(f"{unavailable('segment', markdown(wanted), markdown(by_title(first)))}.")
    chosen = match or first
    titles = {by: by_title(by) for by in known}
    widgets.select("Segments", "by", titles, chosen, "segments-by", widgets.BOX)
    state.write("by", chosen if match else wanted)
    return chosen


def compared(view: View, comparison: SegmentComparison) -> str:
    """Returns what is compared; of a single run, also what it takes to compare it."""
    words = segment_wording.compared(comparison)
    if len(comparison.runs) > 1:
        return words
    need = "A second run is needed" if len(view.runs) == 1 else "Choose a candidate"
    return f"{words} {need} to compare with it."


def bands_first(known: Sequence[str]) -> list[str]:
    """Returns the attributes with each one in bands directly before its single values."""
    of_column = [by for by in known if not by.endswith(BANDED)]
    return [choice for by in of_column for choice in (by + BANDED, by) if choice in known]


def by_title(by: str) -> str:
    """Returns the title of an attribute, such as ``Items by genre`` for ``item:genre``."""
    prefix = next((start for start in COLUMNS if by.startswith(start)), "")
    column = by.removeprefix(prefix).removesuffix(BANDED)
    title = DERIVED.get(by) or f"{COLUMNS.get(prefix, '')} {column}".strip()
    return f"{title}, in bands" if by.endswith(BANDED) else title


def _choose_least() -> int:
    wanted = state.params().get("least", str(LEAST))
    valid = wanted.isdecimal() and 2 <= int(wanted[:9]) <= MOST_LEAST
    bound = widgets.bound_to_url("least", "segments-least", int(wanted[:9]) if valid else LEAST)
    least = int(st.number_input("Minimum segment size", 2, MOST_LEAST, width=170, **bound))
    state.write("least", str(least))
    return least


def gather(view: View, by: str, least: int, correction: Correction) -> SegmentComparison:
    """Returns the comparison in each segment of the runs in the frame with the baseline."""
    query = replace(view.query, terms=replace(view.terms, correction=correction))
    return state.workspace().segments.segmented(query, by, least=least)


def headline(view: View, comparison: SegmentComparison) -> str:
    """Returns the headline: for which users the candidate in question is worse, else what the segments say of
    all candidates.
    """
    run = _subject(view, comparison)
    return about(comparison, run) if run else segment_wording.finding(comparison)


def subtitle(view: View, comparison: SegmentComparison) -> str:
    """Returns what is compared, and why a candidate that is better over all users may be so in no segment."""
    run = _subject(view, comparison)
    why = why_in_no_segment(comparison, run) if run else ""
    return f"{why} {compared(view, comparison)}".strip()


def _subject(view: View, comparison: SegmentComparison) -> str | None:
    return None if comparison.by_value else candidate_in_question(view, comparison.candidates)


# ── charts ───────────────────────────────────────────────────────────────────────────────────


def banner(comparison: SegmentComparison) -> None:
    """Draws a warning for each disagreement between the total and its segments; nothing if there is none."""
    sentences = shared_sentences(comparison, flags(comparison))
    if not sentences:
        return
    lines = widgets.paragraphs(sentences[:FEW_FLAGS])
    if more := sentences[FEW_FLAGS:]:
        rest = "<details><summary>{n} more</summary>{lines}</details>"
        lines += html(rest, n=len(more), lines=widgets.paragraphs(more))
    st.html(widgets.banner(lines, "The total and its segments"))


def draw(view: View, comparison: SegmentComparison) -> None:
    """Draws a panel of differences for each candidate; of a metric without a value per user, a panel of
    values for each run.
    """
    runs = comparison.candidates or comparison.runs if comparison.by_value else comparison.candidates
    lines = panels(runs) if runs else []
    beside = len(lines[0]) if lines else 0
    dots = {run: [_dot(comparison, segment, run, beside) for segment in comparison.titles] for run in runs}
    ends = ends_of(dots, zero=not comparison.by_value)
    rows = [_row(comparison, segment) for segment in comparison.titles]
    with st.container(key=f"panels-{beside}-slices"):
        widgets.chart_caption(looks(comparison))
        for place, line in enumerate(lines):
            dots_of_line = {run: dots[run] for run in line}
            chart = segment_panels(rows, dots_of_line, beside, view.marks, theme.palette(), ends)
            widgets.chart(chart, f"segments-{place}", alt(view, comparison, line))


def _row(comparison: SegmentComparison, segment: str) -> SegmentRow:
    """Returns the segment's row, with the remark of its title before the number of users: on a phone, a long
    title leaves no room for marks.
    """
    title, remark = title_parts(shown_title(comparison, segment))
    n_users = f"n = {_users(comparison, segment)}"
    return SegmentRow(title, f"{remark}, {n_users}" if remark else n_users)


def shown_title(comparison: SegmentComparison, segment: str) -> str:
    """Returns the segment's title; those of known and new users or items without their remark on rows of
    training data, which the caption explains.
    """
    title = comparison.titles.get(segment, "All users")
    return title_parts(title)[0] if comparison.by in WARMTH else title


def _users(comparison: SegmentComparison, segment: str) -> str:
    """Returns the number of users in the segment, such as ``312``, or ``300 to 312`` if it differs between
    runs.
    """
    return count_range({comparison.cell(segment, run).n for run in comparison.runs} - {0} or {0})


def _dot(comparison: SegmentComparison, segment: str, run: str, beside: int) -> SegmentPoint:
    cell = comparison.cell(segment, run)
    name = plotly(f"{comparison.names[run]}, {shown_title(comparison, segment)}")
    if comparison.by_value:
        scale = scale_of(comparison.query.metric)
        value = metric_value(comparison.query.metric, cell.value)
        tick = comparison.cell(segment, comparison.query.baseline).value * scale
        hover = f"{name}<br>{value.shown}, n = {numbers.count(cell.n)}"
        return SegmentPoint(cell.value * scale, value.text, hover, tick=tick)
    if cell.pair is None:
        words = "–" if beside > 3 else f"– {cell.why or 'not scored'}"
        hover = f"{name}<br>{cell.why}, n = {numbers.count(cell.n_shared)}"
        return SegmentPoint(cell.difference, words, hover, look="faint")
    low, high = cell.pair.interval
    judged = [cell for (key, _), cell in comparison.cells.items() if key != EVERYBODY and cell.pair]
    digits = numbers.places(cell.difference for cell in judged)  # the same for all, so that they align
    amount = numbers.signed(cell.difference, digits)
    word, n_users = cell.words, numbers.count(cell.n_shared)
    ends = "" if cell.pair.is_identical else f" ({numbers.interval(low, high, digits)})"
    hover = f"{name}<br>{amount}{ends}<br>{word}, n = {n_users}"
    look: Literal["filled", "hollow"] = "filled" if cell.word in ("better", "worse") else "hollow"
    words = f"{cell.sign} {amount} {word}"
    if beside >= 3:  # narrow panels have no room for all words, which the table shows
        words = f"{cell.sign} {word}" if beside == 3 else cell.sign
    return SegmentPoint(cell.difference, words, hover, low, high, look=look)


def alt(view: View, comparison: SegmentComparison, run_ids: Sequence[str]) -> str:
    parts = []
    for run in run_ids:
        words = ", ".join(
            f"{shown_title(comparison, segment)} {_cell_words(comparison, comparison.cell(segment, run))}"
            for segment in comparison.titles
        )
        parts.append(f"{view.name(run)}: {words}")
    return f"{comparison.query.where} by segment. {'; '.join(parts)}."


def _cell_words(comparison: SegmentComparison, cell: SegmentCell) -> str:
    if cell.pair is None:
        value = metric_value(comparison.query.metric, cell.value)
        return value.shown if comparison.by_value else cell.why or "not scored"
    return f"{numbers.change(cell.difference)} {cell.words}"


# ── the values ───────────────────────────────────────────────────────────────────────────────


def show_values(view: View, comparison: SegmentComparison) -> None:
    """Draws a table with a row per segment and one for all users: every run's value, n and finding."""
    unit = ", %" if is_percent(comparison.query.metric) else ""
    words = "Below each mean: its comparison with the baseline." if comparison.candidates else ""
    if comparison.by_value:
        words = "Of the lists of each segment's users."
    elif comparison.of_items:
        words += " Counts only the segment's items, and users who have one."
    else:
        words += f" {POPULATION[view.experiment.settings.get('users', 'truth')]}"
    words += f" {all_users_correction(comparison)}"
    if comparison.by in WARMTH:
        words += f" Known {WARMTH[comparison.by]} have training data, new ones have none."
    widgets.section(f"{comparison.query.where} by segment{unit}", words.strip())
    st.html(values_table(view, comparison))
    why = {(run, cell.why) for (_, run), cell in comparison.cells.items() if cell.why and not cell.n}
    widgets.note(f"– {view.short(run)}: {reason}." for run, reason in sorted(why))


def all_users_correction(comparison: SegmentComparison) -> str:
    """Returns the correction of the row of all users, a family of its own; empty without a difference, and
    where nothing is corrected.
    """
    n_tested = sum(comparison.whole(run).pair is not None for run in comparison.candidates)
    correction = comparison.query.terms.correction
    if not n_tested or correction == "off":
        return ""
    if n_tested == 1:
        return "The row of all users is not corrected."
    return f"The row of all users is {CORRECTIONS[correction]}-corrected over {n_tested} differences."


def values_table(view: View, comparison: SegmentComparison) -> Html:
    segments = (EVERYBODY, *comparison.titles)
    names = widgets.run_cells(view.marks, 20 if len(comparison.runs) > FEW_RUNS else 28)
    heads = [names[run] for run in comparison.runs]
    columns = [*text_columns("Segment"), *number_columns(*heads)]
    keys = [(segment, run) for segment in segments for run in comparison.runs]
    metric, cells = comparison.query.metric, [comparison.cell(*key) for key in keys]
    values = metric_values(metric, [cell.value for cell in cells], has_unit=False)
    value_of = {key: _judged(comparison, *key, value) for key, value in zip(keys, values, strict=True)}
    rows = [
        [_segment_cell(comparison, segment), *(value_of[segment, run] for run in comparison.runs)]
        for segment in segments
    ]
    return stacked_table_html(columns, rows, bands=(0,), kind="rd-sticky", label="Values by segment")


def _segment_cell(comparison: SegmentComparison, segment: str) -> Html:
    """Returns the cell with the segment's title, and below it its number of users."""
    n_users = f"n = {_users(comparison, segment)}"
    return widgets.two_lines(shown_title(comparison, segment), n_users)


def _judged(comparison: SegmentComparison, segment: str, run: str, value: Number) -> Cell:
    """Returns a cell with the value, and below it its finding against the baseline; on a narrow page, which
    has no chart, also the difference with its interval.
    """
    cell = comparison.cell(segment, run)
    if run == comparison.query.baseline or not cell.n_shared:
        return value
    word = finding(cell.words, cell.sign) if cell.word else muted(cell.why)
    template = '{value}<br><small>{word}<span class="rd-without-chart">{difference}</span></small>'
    return html(template, value=cell_html(value), word=cell_html(word), difference=_difference(cell))


def _difference(cell: SegmentCell) -> str:
    """Returns the difference with its interval, such as ``−0.0131 (−0.0190 to −0.0072)``; empty if it was not
    tested, and if it is 0 for every user.
    """
    if cell.pair is None or cell.pair.is_identical:
        return ""
    low, high = cell.pair.interval
    digits = numbers.places([cell.difference, low, high])
    return f"{numbers.signed(cell.difference, digits)} ({numbers.interval(low, high, digits)})"


def tidy(comparison: SegmentComparison) -> pd.DataFrame:
    """Returns a frame with one row per segment and run: see ``Segments.of``."""
    rows = state.workspace().segments.of(comparison.query, comparison.by, least=comparison.least)
    return rows.drop(columns=["run_id", "segment"]).rename(columns={"title": "segment"})
