"""Shows the lift in one metric by segment of the users: country, platform, or any column of the logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.attribute_shares import panels
from recdash.charts.layout import escape as plotly
from recdash.charts.segments import USUAL_WIDTH, Look, SegmentPoint, SegmentRow, ends_of, segment_panels
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number, percent
from recdash.formatting.records import Row, records
from recdash.formatting.signs import OPEN, sign_of
from recdash.formatting.wording import CORRECTIONS, cut, listed, lowered, shown
from recdash.online.analysis.judgement import SIGNIFICANCE_LEVEL
from recdash.online.analysis.segments import Reversal
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state, theme
from recdash.ui.components import widgets
from recdash.ui.components.lift_words import estimate

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "(unknown)"
NARROW = 358
"""Width of a figure in px on a phone, 390 px wide."""
MOST_SEGMENTS, MOST_NAMED = 20, 4
Rows = Mapping[str, Mapping[str, Row]]
"""Variant → segment → row of results."""


def show(ab_test: AbTest, metric: str) -> None:
    widgets.section(f"{ab_test.titles[metric]}: segments")
    analysis = state.workspace().online_analysis
    known = cached.ask(analysis.segments, ab_test.test)
    if not known:
        st.caption("No column divides the users into segments. Add one, such as country, to the logs.")
        return
    links.tell_unknown("seg", "segment", known)
    wanted = state.option("seg", known[0], known)
    names = {name: name for name in known}
    segment = widgets.select("Segment by", "seg", names, wanted, "ab-segment", widgets.BOX)
    frame = cached.ask(analysis.by_segment, ab_test.test, metric, segment)
    _warn(ab_test, cached.ask(analysis.reversals, ab_test.test, metric, segment), segment)
    rows = _by_variant(frame, ab_test.challengers)
    _draw(ab_test, metric, rows)
    widgets.table_behind(_tidy(frame, segment), f"{metric}-{segment}")


def _by_variant(frame: pd.DataFrame, variants: Sequence[str]) -> dict[str, dict[str, Row]]:
    by_variant: dict[str, dict[str, Row]] = {variant: {} for variant in variants}
    for row in records(frame):
        by_variant[row["variant"]][_title(row["segment"])] = row
    return by_variant


def _title(segment: object) -> str:
    return segment if isinstance(segment, str) else UNKNOWN


def _warn(ab_test: AbTest, reversals: Sequence[Reversal], segment: str) -> None:
    """Warns if a lift has the opposite sign in the segments."""
    if reversals and not ab_test.blocked:
        lines = widgets.paragraphs(
            reversal_words(replace(reversal, variant=ab_test.names[reversal.variant]), segment)
            for reversal in reversals
        )
        st.html(widgets.banner(lines, "Lifts that reverse in segments"))


def reversal_words(reversal: Reversal, segment: str) -> str:
    if reversal.all_of_them:
        return (
            f"{reversal.variant}: the lift reverses in every segment of {segment} (Simpson's paradox). "
            "The variants have different mixes of segments: find out why before you trust the overall lift."
        )
    named = listed([_title(name) for name in reversal.segments], MOST_NAMED)
    return f"{reversal.variant}: the lift reverses significantly in {segment} {named}."


# ── the dots ─────────────────────────────────────────────────────────────────────────────────


def _draw(ab_test: AbTest, metric: str, rows: Rows) -> None:
    largest = _largest(rows)
    lines = panels(list(rows))
    beside = len(lines[0])
    dots = {
        variant: [_dot(ab_test, metric, rows[variant].get(segment), beside) for segment in largest]
        for variant in rows
    }
    ends = ends_of(dots, zero=True)
    labels = [SegmentRow(segment, f"n = {numbers.count(_users(rows, segment))}") for segment in largest]
    with st.container(key=f"panels-{beside}-segments"):
        for place, line in enumerate(lines):
            dots_of_line = {variant: dots[variant] for variant in line}
            width = NARROW if beside == 1 else USUAL_WIDTH  # one panel fits on a phone
            chart = segment_panels(
                labels, dots_of_line, beside, ab_test.marks, theme.palette(), ends, width=width
            )
            widgets.chart(chart, f"ab-segments-{place}", _alt(ab_test, metric, rows, line))
    st.caption(f"{_caption(len(largest), rows)}{ab_test.method_of_parts(metric)}")


def _largest(rows: Rows) -> list[str]:
    """Returns the segments in their order; if there are too many, only the largest."""
    known = list(dict.fromkeys(segment for of_variant in rows.values() for segment in of_variant))
    largest = set(sorted(known, key=lambda segment: -_users(rows, segment))[:MOST_SEGMENTS])
    return [segment for segment in known if segment in largest]


def _users(rows: Rows, segment: str) -> int:
    """Returns the number of users in a segment, control included."""
    some = [of_variant[segment] for of_variant in rows.values() if segment in of_variant]
    return sum(row["n_variant"] for row in some) + max(row["n_control"] for row in some)


def _caption(n_shown: int, rows: Rows) -> str:
    n_all = len({segment for of_variant in rows.values() for segment in of_variant})
    most = f"The {n_shown} largest of {n_all} segments; the table has all. " if n_all > n_shown else ""
    return (
        f"{most}Lift in %, 95 % CI, {CORRECTIONS['bh']}-corrected over all segments and variants; n over all "
        f"variants. Filled: significant. Hollow ({OPEN}): inconclusive."
    )


def _dot(ab_test: AbTest, metric: str, row: Row | None, beside: int) -> SegmentPoint:
    if row is None or not is_number(row["corrected_low"]):
        note = row["note"] if row else "no users"
        x = percent(row["lift"]) if row and is_number(row["lift"]) else float("nan")
        return SegmentPoint(x, "–" if beside > 2 else f"– {cut(note, 40)}", plotly(note), look="faint")
    x, low, high = (100 * row[name] for name in ("lift", "corrected_low", "corrected_high"))
    word = _word(ab_test, metric, row)
    digits = numbers.places([x, low, high])
    amount = f"{numbers.signed(x, digits)} %"
    hover = (
        f"{plotly(ab_test.names[row['variant']])}, {plotly(_title(row['segment']))}<br>{amount} "
        f"({numbers.interval(low, high, digits)})<br>{shown(word)}, "
        f"p ({CORRECTIONS['bh']}) {numbers.p_value(row['p_bh'])}<br>"
        f"n = {numbers.count(row['n_control'])} and {numbers.count(row['n_variant'])}"
    )
    if beside > 3:  # narrow panels have no room for all words, which the table shows
        text = sign_of(word)
    else:
        text = f"{sign_of(word)} {shown(word)}" if beside == 3 else f"{sign_of(word)} {amount}"
    look: Look = "filled" if word in ("better", "worse") else "hollow"
    return SegmentPoint(x, text, hover, low, high, look=look)


def _word(ab_test: AbTest, metric: str, row: Row) -> str:
    if ab_test.blocked:
        return "not judged"
    if not is_number(row["p_bh"]) or row["p_bh"] > SIGNIFICANCE_LEVEL:
        return "not settled"
    if row["corrected_low"] <= 0 <= row["corrected_high"]:  # p comes from another test than the interval
        return "not settled"
    return "better" if (row["lift"] > 0) == (ab_test.metrics[metric].direction == "up") else "worse"


def _alt(ab_test: AbTest, metric: str, rows: Rows, line: Sequence[str]) -> str:
    lifts = []
    for variant in line:
        of_segments = [
            f"{segment} {estimate(row['lift'], row['corrected_low'], row['corrected_high'])[0]}"
            for segment, row in rows[variant].items()
        ]
        lifts.append(f"{ab_test.names[variant]}: {listed(of_segments)}")
    return f"Lift in {lowered(ab_test.titles[metric])} by segment. {'; '.join(lifts)}."


def _tidy(frame: pd.DataFrame, segment: str) -> pd.DataFrame:
    shares = ("lift", "low", "high", "corrected_low", "corrected_high")
    table = frame.assign(
        segment=[_title(value) for value in frame["segment"]],
        **{name: 100 * frame[name].astype(float) for name in shares},
    )
    return table.rename(columns={"segment": segment, **{name: f"{name}_percent" for name in shares}})
