"""Shows the decision on each variant, and the lifts in goals, guardrails and other metrics."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import nan

import streamlit as st

from recdash.charts.ab_lifts import LiftRow, lifts
from recdash.charts.layout import escape as plotly
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.numbers import percent
from recdash.formatting.signs import sign_of
from recdash.formatting.tables import Cell, number_columns, p_value, text_columns
from recdash.formatting.wording import cut_inside, listed, shown, small
from recdash.online import OnlineRow
from recdash.online.analysis.caveats import open_loss
from recdash.online.analysis.judgement import TONES
from recdash.online.analysis.next_step import STEP_LOOKS, brief, is_out_of_reach
from recdash.ui.ab_results.definitions import GUIDE, definitions
from recdash.ui.ab_results.page import ROLES, AbTest
from recdash.ui.ab_results.wording import SIGNIFICANT, marks_of_chart, meaning, reading, variant_cell, wanted
from recdash.ui.app import links, theme
from recdash.ui.app.state import View
from recdash.ui.components import corrections, widgets
from recdash.ui.components.lift_words import estimate, lift_text
from recdash.ui.components.online_tests import SHARE
from recdash.ui.components.widgets import table_html

SUBTITLES = {
    "goal": "what the test should improve",
    "guardrail": "must not lose more than the margin",
    "other": "for information",
}
LONGEST_HEAD = 22


def show(view: View, ab_test: AbTest) -> None:
    """Draws all metrics by role, notes on how to read them, and their definitions."""
    if ab_test.challengers:
        _show_lifts(ab_test)
    else:
        st.html(values_table(ab_test))
    widgets.note(reading(ab_test))
    st.html(links.to_guide(view, GUIDE))
    with st.expander("Metric definitions"):
        st.html(definitions(ab_test))


def _show_lifts(ab_test: AbTest) -> None:
    with st.container(key="ab-body", gap=None):
        left, right = st.columns([4, 1], gap=None, wrap=False)
        with left:
            st.html(lifts_table(ab_test))
        with right, st.container(gap=None):
            control = cut_inside(ab_test.names[ab_test.control], LONGEST_HEAD)
            st.html(html('<div class="rd-board-head">Lift over {control}, %</div>', control=control))
            chart = lifts(drawn(ab_test), ab_test.marks, theme.palette())
            widgets.chart(chart, "ab-lifts", alt(ab_test), narrowest=0)
        with st.container(key="ab-lifts-caption"):
            widgets.chart_caption(marks_of_chart(ab_test))
        hint = "Some columns are hidden in a narrow window; the table below has all."
        st.html(f'<p class="rd-if-narrow">{hint}</p>')


def sections(ab_test: AbTest) -> dict[str, list[OnlineRow]]:
    """Returns {role: its rows}, without roles that have no rows."""
    return {role: rows for role in ROLES if (rows := ab_test.rows(role))}


# ── the decision ─────────────────────────────────────────────────────────────────────────────


def show_steps(ab_test: AbTest) -> None:
    """Draws the decision on each variant with its lift in the decision metric; nothing if there is no
    decision.
    """
    if ab_test.steps:
        st.html(steps_html(ab_test))


def steps_html(ab_test: AbTest) -> Html:
    row = (
        '<li><b class="rd-{tone}">{sign} {title}</b><div>{variant}<p>{lift}</p>'
        '<p class="rd-muted">{reason}</p></div></li>'
    )
    rows = []
    for step in ab_test.steps:
        sign, tone = STEP_LOOKS[step.action]
        cell, lift = variant_cell(ab_test, step.variant), lift_text(step.lift)
        fields = {"title": step.title, "variant": cell, "lift": lift, "reason": step.reason}
        rows.append(html(row, sign=sign, tone=tone, **fields))
    template = '<ul class="rd-list rd-decisions" aria-label="Decision by variant">{rows}</ul>'
    return widgets.unbroken_html(html(template, rows=join(rows)))


# ── the chart ────────────────────────────────────────────────────────────────────────────────


def drawn(ab_test: AbTest) -> list[LiftRow | None]:
    """Returns the rows of the chart, which are next to those of the table; None for the row of a heading."""
    rows: list[LiftRow | None] = []
    for role in sections(ab_test):
        rows += [None, *(_lift(ab_test, row) for row in ab_test.lifted(role))]
    return rows


def _lift(ab_test: AbTest, row: OnlineRow) -> LiftRow:
    low, high = map(percent, row.judged_interval)
    return LiftRow(
        variant=row.variant,
        lift=percent(row.lift),
        low=low,
        high=high,
        peek_low=percent(row.sequence_low),
        peek_high=percent(row.sequence_high),
        margin=nan if row.role != "guardrail" else percent(row.margin) * (-1 if row.direction == "up" else 1),
        settled=row.word in SIGNIFICANT,
        starts=row.variant == ab_test.challengers[0],
        hover=_hover(ab_test, row),
    )


def _hover(ab_test: AbTest, row: OnlineRow) -> str:
    amount, interval = estimate(row.lift, *row.judged_interval)
    _, always_valid = estimate(row.lift, row.sequence_low, row.sequence_high)
    lines = [
        f"{plotly(ab_test.names[row.variant])}, {plotly(row.title)}",
        f"{amount} {shown(row.word)}",
        f"95 % CI, corrected: {interval}",
        f"always-valid CI: {row.sequence_note or always_valid}",
    ]
    if row.plain_lift is not None:
        lines.append(f"without CUPED: {_plain(row)}")
    return "<br>".join(lines)


def _plain(row: OnlineRow) -> str:
    amount, interval = estimate(row.plain_lift, row.plain_low, row.plain_high)
    return f"{amount} ({interval})"


def alt(ab_test: AbTest) -> str:
    findings = [
        f"{row.title}, {ab_test.names[row.variant]} {estimate(row.lift, *row.judged_interval)[0]} "
        f"{shown(row.word)}"
        for row in ab_test.lifted()
    ]
    control = ab_test.names[ab_test.control]
    return f"Lifts over {control}: {listed(findings)}." if findings else "No lifts."


# ── the table ────────────────────────────────────────────────────────────────────────────────


def lifts_table(ab_test: AbTest) -> Html:
    """Returns the table of lifts: a row per metric and variant, with the metric's name in its first row."""
    rule = "" if ab_test.correction == "off" else f"({corrections.TITLES[ab_test.correction]})"
    columns = [
        *text_columns("Metric"),
        *number_columns(_control_head(ab_test)),
        *text_columns("Variant"),
        *number_columns(
            _head("Variant", "value"),
            _head("Lift, %", "95 % CI"),
            _head("Difference", "95 % CI"),
            _head("p", rule),
        ),
        *text_columns("Finding"),
    ]
    body: list[list[Cell]] = []
    bands = []
    for role, rows in sections(ab_test).items():
        bands.append(len(body))
        heading = html(  # it extends over the cells to its right
            '<span class="rd-spill"><b>{title}</b> <small class="rd-muted">{text}</small></span>',
            title=ROLES[role],
            text=_subtitle(ab_test, role),
        )
        body += [[heading, *[""] * (len(columns) - 1)]]
        for _, group in groupby(rows, lambda row: row.metric):
            body += _lines(ab_test, list(group))
    kind = "rd-board rd-lifts" + (" rd-grouped" if len(ab_test.challengers) > 1 else "")
    return table_html(columns, body, bands=bands, kind=kind)


def _control_head(ab_test: AbTest) -> Html:
    """Returns the title of the control's column, with the control's name unless that is ``control``."""
    name = ab_test.names[ab_test.control]
    return _head("Control", "value" if name.casefold() == "control" else cut_inside(name, 14))


def _head(first: str, second: str) -> Html:
    """Returns a column's title on two lines."""
    return html("{first}<br>{second}", first=first, second=second)


def _subtitle(ab_test: AbTest, role: str) -> str:
    """Returns what a role means; of goals it asks whether those of which less is better are guardrails, if
    there is no guardrail.
    """
    falls = list(dict.fromkeys(row.title for row in ab_test.lifted("goal") if row.direction == "down"))
    if role != "goal" or not falls or ab_test.rows("guardrail"):
        return SUBTITLES[role]
    is_or_are = "Is" if len(falls) == 1 else "Are"
    kind = "a guardrail" if len(falls) == 1 else "guardrails"
    return f"{SUBTITLES[role]}. {is_or_are} {small(listed(falls))} {kind}? Change the role below."


def _lines(ab_test: AbTest, group: Sequence[OnlineRow]) -> list[list[Cell]]:
    control = next((row for row in group if row.is_control), None)
    decimals = numbers.places(_written(row, row.value) for row in group)
    control_value = _value_cell(control, decimals) if control else ""
    lines: list[list[Cell]] = []
    for row in (row for row in group if not row.is_control):
        first: list[Cell] = ["", ""] if lines else [_metric_cell(ab_test, row), control_value]
        users = row.n_users + (control.n_users if control else 0)
        p: Cell = p_value(row.p_corrected) if row.role == "goal" else _uncorrected(ab_test, row)
        estimates = [_lift_cell(row), _difference_cell(row)]
        cells = [_value_cell(row, decimals), *estimates, p, finding_cell(row, users)]
        lines.append([*first, variant_cell(ab_test, row.variant), *cells])
    return lines


def _uncorrected(ab_test: AbTest, row: OnlineRow) -> Html:
    """Returns the p-value of a metric that is no goal, marked as uncorrected where goals are corrected."""
    p = html('<span class="rd-muted">{p}</span>', p=numbers.p_value(row.p))
    return p if row.p is None or ab_test.correction == "off" else widgets.two_lines(p, "uncorrected")


def _written(row: OnlineRow, value: float | None) -> float | None:
    """Returns a value as it is shown: shares in %, others unchanged; None for None."""
    return None if value is None else value * (100 if row.unit == SHARE else 1)


def _metric_cell(ab_test: AbTest, row: OnlineRow) -> Html:
    # the title may say the unit already, as in Sessions per user
    unit = "" if row.unit == SHARE or row.unit.casefold() == row.title.casefold() else row.unit
    small = " · ".join(part for part in (wanted(row), unit) if part)
    cell = '<span class="rd-metric" title="{meaning}"><bdi>{title}</bdi><small>{small}</small></span>'
    return html(cell, meaning=meaning(ab_test, row), title=row.title, small=small)


def _value_cell(row: OnlineRow, decimals: int) -> Html:
    unit = " %" if row.unit == SHARE and row.value is not None else ""
    value = f"{numbers.fixed(_written(row, row.value), decimals)}{unit}"
    cell = html('<span title="{interval}">{value}</span>', interval=_interval(row, decimals), value=value)
    return widgets.two_lines(cell, counts(row))


def _interval(row: OnlineRow, decimals: int) -> str:
    """Returns the interval of a value as text, or why there is none."""
    if row.ci_low is None or row.ci_high is None:
        return f"no 95 % CI: {row.value_note}" if row.value_note else "no 95 % CI"
    low, high = (numbers.fixed(_written(row, end), decimals) for end in (row.ci_low, row.ci_high))
    return f"95 % CI {low} to {high}"


def counts(row: OnlineRow) -> str:
    """Returns the sums of a ratio (``5,290 / 8,567``), or the number of users of a mean (``n = 2,030``)."""
    if row.numerator is None or row.denominator is None:
        return f"n = {numbers.count(row.n_users)}"
    return f"{numbers.count(row.numerator)} / {numbers.count(row.denominator)}"


def _lift_cell(row: OnlineRow) -> Html:
    plain = f"without CUPED {_plain(row)}" if row.plain_lift is not None else ""
    lift, interval = estimate(row.lift, *row.judged_interval, unit="")
    adjusted = html('<small class="rd-muted">adjusted</small> ') if plain else Html("")
    cell = html('{adjusted}<b title="{plain}">{lift}</b>', adjusted=adjusted, plain=plain, lift=lift)
    return widgets.two_lines(cell, interval)


def _difference_cell(row: OnlineRow) -> Html:
    """Returns the absolute difference from control with its interval, of shares in percentage points."""
    unit = " pp" if row.unit == SHARE else ""
    ends = (row.difference, *row.judged_difference_interval)
    difference, low, high = (_written(row, value) for value in ends)
    amount, interval = numbers.estimate(difference, low, high, unit)
    return widgets.two_lines(
        html('<span title="{why}">{amount}</span>', why=_meant(row), amount=amount), interval
    )


def _meant(row: OnlineRow) -> str:
    unit = "in percentage points" if row.unit == SHARE else f"in {row.unit}" if row.unit else ""
    return f"difference from control {unit}".strip()


def finding_cell(row: OnlineRow, users: int) -> Html:
    """Returns the finding; ``users`` are those of control and variant."""
    if row.lift is None or not row.word:
        return html('<span class="rd-muted" title="{note}">–</span>', note=row.note)
    more = _open_question(row, users) if row.word == "not settled" else ""
    tone = TONES.get(row.word, "same")
    return widgets.two_lines(widgets.toned(f"{sign_of(row.word)} {shown(row.word)}", tone), more)


def _open_question(row: OnlineRow, users: int) -> str:
    """Returns how many more users would decide an inconclusive result, for what; of a guardrail the loss that
    it does not rule out, also if that number is unknown.
    """
    if not row.more_users:
        return f"{open_loss(row)} is not ruled out" if row.role == "guardrail" and row.margin else ""
    needs = f"needs ≈ {brief(row.more_users)} more users"
    if row.role == "guardrail" and row.margin:
        return f"{open_loss(row)} is not ruled out: {needs}"
    if is_out_of_reach(row.more_users, users):
        return f"too small to tell: {needs}"
    return f"a lift as observed {needs}"


def values_table(ab_test: AbTest) -> Html:
    """Returns the table of values without lifts, for a test with one variant."""
    body = []
    for row in (row for rows in sections(ab_test).values() for row in rows):
        value = _value_cell(row, numbers.places([_written(row, row.value)]))
        body.append([_metric_cell(ab_test, row), variant_cell(ab_test, row.variant), value])
    columns = [*text_columns("Metric", "Variant"), *number_columns("Value")]
    return table_html(columns, body, kind="rd-board")
