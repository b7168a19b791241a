"""The metrics of an A/B test: goals, guardrails, others; a row per metric and variant beside its lift."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import nan
from statistics import median_high

import streamlit as st

from recdash.charts.ab_lifts import LiftRow, lifts
from recdash.charts.layout import escape as plotly
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.numbers import is_number, percent
from recdash.formatting.tables import Cell, number_columns, p_value, text_columns
from recdash.formatting.wording import cut_inside, listed
from recdash.online import OnlineRow
from recdash.online.analysis.judgement import SIGNS, TONES
from recdash.ui.ab_results.definitions import GUIDE, definitions
from recdash.ui.ab_results.page import ROLES, AbTest
from recdash.ui.ab_results.wording import SETTLED, meaning, reading, variant_cell, wanted
from recdash.ui.app import links, theme
from recdash.ui.app.state import View
from recdash.ui.components import corrections, widgets
from recdash.ui.components.online_tests import SHARE
from recdash.ui.components.widgets import table_html

SUBTITLES = {
    "goal": "what the test is meant to move",
    "guardrail": "each must exclude a loss of its margin",
    "other": "shown only; they decide nothing",
}
LONGEST_HEAD = 22
MILLION = 1_000_000
MOST_DIGITS = 2


def show(view: View, ab_test: AbTest) -> None:
    """Draw all metrics by role on one axis, how to read them, and what is measured."""
    if ab_test.challengers:
        _show_lifts(ab_test)
    else:
        st.html(values_table(ab_test))
    widgets.note(reading(ab_test))
    st.html(links.to_guide(view, GUIDE))
    with st.expander("What is measured"):
        st.html(definitions(ab_test))


def _show_lifts(ab_test: AbTest) -> None:
    with st.container(key="ab-body", gap=None):
        left, right = st.columns([2.75, 1], gap=None, wrap=False)
        with left:
            st.html(lifts_table(ab_test))
        with right, st.container(gap=None):
            control = cut_inside(ab_test.control, LONGEST_HEAD)
            st.html(html('<div class="rd-board-head">Lift over {control}, %</div>', control=control))
            chart = lifts(drawn(ab_test), ab_test.marks, theme.palette())
            widgets.chart(chart, "ab-lifts", alt(ab_test), narrowest=0)
        hint = "In a narrow window some columns are left out: see the table below."
        st.html(f'<p class="rd-if-narrow">{hint}</p>')


def sections(ab_test: AbTest) -> dict[str, list[OnlineRow]]:
    """Role → its rows, where there are any."""
    return {role: rows for role in ROLES if (rows := ab_test.rows(role))}


# ── the chart ────────────────────────────────────────────────────────────────────────────────


def drawn(ab_test: AbTest) -> list[LiftRow | None]:
    """The rows of the table below each other; None for a heading."""
    rows: list[LiftRow | None] = []
    for role in sections(ab_test):
        rows += [None, *(_lift(ab_test, row) for row in ab_test.lifted(role))]
    return rows


def _lift(ab_test: AbTest, row: OnlineRow) -> LiftRow:
    low, high = map(percent, interval_of(row))
    return LiftRow(
        variant=row.variant,
        lift=percent(row.lift),
        low=low,
        high=high,
        peek_low=percent(row.sequence_low),
        peek_high=percent(row.sequence_high),
        margin=nan if row.role != "guardrail" else percent(row.margin) * (-1 if row.direction == "up" else 1),
        settled=row.word in SETTLED,
        starts=row.variant == ab_test.challengers[0],
        hover=_hover(row),
    )


def interval_of(row: OnlineRow) -> tuple[float | None, float | None]:
    """The corrected interval, which the word follows; else the plain 95 %."""
    if row.corrected_low is None:
        return row.lift_low, row.lift_high
    return row.corrected_low, row.corrected_high


def _hover(row: OnlineRow) -> str:
    lines = [
        f"{plotly(row.variant)}, {plotly(row.title)}",
        f"{amount_text(row.lift)} {row.word}",
        f"95 % CI, corrected: {_bounds(*interval_of(row))}",
        f"looked at every day: {row.sequence_note or _bounds(row.sequence_low, row.sequence_high)}",
    ]
    if row.plain_lift is not None:
        lines.append(f"without CUPED: {_plain(row)}")
    return "<br>".join(lines)


def _plain(row: OnlineRow) -> str:
    return f"{amount_text(row.plain_lift)} ({_bounds(row.plain_low, row.plain_high)})"


def amount_text(share: float | None) -> str:
    return numbers.change(percent(share), " %")


def _bounds(low: float | None, high: float | None) -> str:
    ends = (percent(low), percent(high))
    return numbers.interval(*ends, numbers.places(ends), " %")


def alt(ab_test: AbTest) -> str:
    findings = [f"{row.title}, {row.variant} {amount_text(row.lift)} {row.word}" for row in ab_test.lifted()]
    return f"Lifts over {ab_test.control}: {listed(findings)}." if findings else "No lifts."


# ── the table ────────────────────────────────────────────────────────────────────────────────


def lifts_table(ab_test: AbTest) -> Html:
    """One row per metric and variant; a metric and its control are named in the first of them."""
    rule = "" if ab_test.correction == "off" else f"({corrections.TITLES[ab_test.correction]})"
    columns = [
        *text_columns("Metric"),
        *number_columns(_head("Control", cut_inside(ab_test.control, 14))),
        *text_columns("Variant"),
        *number_columns(_head("Variant's", "value"), _head("Lift, %", "95 % CI"), _head("p", rule)),
        *text_columns("Finding"),
    ]
    digits = _digits(ab_test)
    body: list[list[Cell]] = []
    bands = []
    for role, rows in sections(ab_test).items():
        bands.append(len(body))
        heading = html(  # it spills over the cells right of it
            '<span class="rd-spill"><b>{title}</b> <small class="rd-muted">{text}</small></span>',
            title=ROLES[role],
            text=SUBTITLES[role],
        )
        body += [[heading, *[""] * (len(columns) - 1)]]
        for _, group in groupby(rows, lambda row: row.metric):
            body += _lines(ab_test, list(group), digits)
    kind = "rd-board rd-lifts" + (" rd-grouped" if len(ab_test.challengers) > 1 else "")
    return table_html(columns, body, bands=bands, kind=kind)


def _head(first: str, second: str) -> Html:
    """A column's title in two lines."""
    return html("{first}<br>{second}", first=first, second=second)


def _digits(ab_test: AbTest) -> int:
    """The decimals of all lifts: as many as most of them need, at most two."""
    ends_of_rows = [[percent(end) for end in (row.lift, *interval_of(row))] for row in ab_test.lifted()]
    needed = [numbers.places(ends) for ends in ends_of_rows if any(is_number(end) and end for end in ends)]
    return min(MOST_DIGITS, median_high(needed or [0]))


def _lines(ab_test: AbTest, group: Sequence[OnlineRow], digits: int) -> list[list[Cell]]:
    control = next((row for row in group if row.is_control), None)
    decimals = numbers.places(_written(row, row.value) for row in group)
    control_value = _value_cell(control, decimals) if control else ""
    lines: list[list[Cell]] = []
    for row in (row for row in group if not row.is_control):
        first: list[Cell] = ["", ""] if lines else [_metric_cell(ab_test, row), control_value]
        p: Cell = p_value(row.p_corrected) if row.role == "goal" else _uncorrected(row)
        cells = [_value_cell(row, decimals), _lift_cell(row, digits), p, _finding_cell(row)]
        lines.append([*first, variant_cell(ab_test.marks[row.variant]), *cells])
    return lines


def _uncorrected(row: OnlineRow) -> Html:
    cell = '<span class="rd-muted" title="of no change, not corrected">{p}</span>'
    return html(cell, p=numbers.p_value(row.p))


def _written(row: OnlineRow, value: float | None) -> float | None:
    """A value of the metric as it is read: a share in %."""
    return None if value is None else value * (100 if row.unit == SHARE else 1)


def _metric_cell(ab_test: AbTest, row: OnlineRow) -> Html:
    unit = "" if row.unit == SHARE else row.unit
    small = " · ".join(part for part in (wanted(row), unit) if part)
    cell = '<span class="rd-metric" title="{meaning}"><bdi>{title}</bdi><small>{small}</small></span>'
    return html(cell, meaning=meaning(ab_test, row), title=row.title, small=small)


def _value_cell(row: OnlineRow, decimals: int) -> Html:
    unit = " %" if row.unit == SHARE and row.value is not None else ""
    low, high = (numbers.fixed(_written(row, end), decimals) for end in (row.ci_low, row.ci_high))
    value = f"{numbers.fixed(_written(row, row.value), decimals)}{unit}"
    cell = html('<span title="95 % CI {low} to {high}">{value}</span>', low=low, high=high, value=value)
    return widgets.above(cell, counts(row))


def counts(row: OnlineRow) -> str:
    """``5,290 / 8,567``: the sums of a ratio; ``n = 2,030``: the users of a mean."""
    if row.numerator is None or row.denominator is None:
        return f"n = {numbers.count(row.n_users)}"
    return f"{numbers.count(row.numerator)} / {numbers.count(row.denominator)}"


def _lift_cell(row: OnlineRow, digits: int) -> Html:
    plain = f"without CUPED {_plain(row)}" if row.plain_lift is not None else ""
    low, high = map(percent, interval_of(row))
    lift = numbers.signed(percent(row.lift), digits)
    cell = html('<b title="{plain}">{lift}</b>', plain=plain, lift=lift)
    return widgets.above(cell, numbers.interval(low, high, digits))


def _finding_cell(row: OnlineRow) -> Html:
    if row.lift is None or not row.word:
        return html('<span class="rd-muted" title="{note}">–</span>', note=row.note)
    more = f"≈ {_rounded(row.more_users)} more users" if row.more_users and row.word == "not settled" else ""
    tone = TONES.get(row.word, "same")
    return widgets.above(widgets.toned(f"{SIGNS[row.word]} {row.word}", tone), more)


def _rounded(users: int) -> str:
    """A forecast of users as text, rounded to two digits."""
    if users >= MILLION:
        return f"{float(f'{users / MILLION:.2g}'):g} M"
    return numbers.count(float(f"{users:.2g}"))


def values_table(ab_test: AbTest) -> Html:
    """The table of values alone, where there is nothing to compare them with."""
    body = []
    for row in (row for rows in sections(ab_test).values() for row in rows):
        value = _value_cell(row, numbers.places([_written(row, row.value)]))
        body.append([_metric_cell(ab_test, row), variant_cell(ab_test.marks[row.variant]), value])
    columns = [*text_columns("Metric", "Variant"), *number_columns("Value")]
    return table_html(columns, body, kind="rd-board")
