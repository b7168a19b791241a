"""One metric of an A/B test by what is known of its users: country, platform, whatever the logs hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.attribute_shares import panels
from recdash.charts.layout import escape as plotly
from recdash.charts.segments import SegmentPoint, SegmentRow, ends_of, segment_panels
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number, percent
from recdash.formatting.records import Row, records
from recdash.formatting.wording import cut, listed, lowered
from recdash.online.analysis.judgement import SETTLED_P, SIGNS
from recdash.online.analysis.segments import Reversal
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.table import amount_text
from recdash.ui.app import links, state, theme
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd

NOT_KNOWN = "(not known)"
MOST_SEGMENTS, MOST_NAMED = 20, 4
Rows = Mapping[str, Mapping[str, Row]]
"""Variant → segment → its row."""


def show(ab_test: AbTest, metric: str) -> None:
    widgets.section(f"{ab_test.titles[metric]} by segment")
    analysis = state.workspace().online_analysis
    known = cached.ask(analysis.segments, ab_test.test)
    if not known:
        hint = "Add one with words, such as country or platform, to the logs."
        st.caption(f"No column tells users apart. {hint}")
        return
    links.tell_unknown("seg", "split of users", known)
    wanted = state.option("seg", known[0], known)
    names = {name: name for name in known}
    segment = widgets.select("Users by", "seg", names, wanted, "ab-segment", widgets.BOX)
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
    return segment if isinstance(segment, str) else NOT_KNOWN


def _warn(ab_test: AbTest, reversals: Sequence[Reversal], segment: str) -> None:
    """Warn where segments say something else than the whole."""
    if reversals and not ab_test.blocked:
        lines = widgets.paragraphs(reversal_words(reversal, segment) for reversal in reversals)
        st.html(widgets.banner(lines, "The whole and its parts"))


def reversal_words(reversal: Reversal, segment: str) -> str:
    if reversal.all_of_them:
        return (
            f"{reversal.variant}: in every segment of {segment} the lift points the other way than over all "
            "users (Simpson's paradox). The segments have another weight in the variant than in the control: "
            "find out why before you trust the whole."
        )
    titles = [_title(name) for name in reversal.segments]
    more = f" and {len(titles) - MOST_NAMED} more" if len(titles) > MOST_NAMED else ""
    named = f"{', '.join(titles[:MOST_NAMED])}{more}" if more else listed(titles)
    return f"{reversal.variant}: against its lift over all users goes {segment} {named}, beyond chance."


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
            chart = segment_panels(labels, dots_of_line, beside, ab_test.marks, theme.palette(), ends)
            widgets.chart(chart, f"ab-segments-{place}", _alt(ab_test, metric, rows, line))
    plain = " They are plain lifts, without CUPED, as is that over all users which they are held against."
    st.caption(f"{_caption(len(largest), rows)}{plain if ab_test.is_adjusted(metric) else ''}")


def _largest(rows: Rows) -> list[str]:
    """The segments in their own order; of very many only the largest."""
    known = list(dict.fromkeys(segment for of_variant in rows.values() for segment in of_variant))
    largest = set(sorted(known, key=lambda segment: -_users(rows, segment))[:MOST_SEGMENTS])
    return [segment for segment in known if segment in largest]


def _users(rows: Rows, segment: str) -> int:
    """Of all variants and the control, which every row names."""
    some = [of_variant[segment] for of_variant in rows.values() if segment in of_variant]
    return sum(row["n_variant"] for row in some) + max(row["n_control"] for row in some)


def _caption(n_shown: int, rows: Rows) -> str:
    n_all = len({segment for of_variant in rows.values() for segment in of_variant})
    most = f"The {n_shown} largest of {n_all} are drawn; the table has all. " if n_all > n_shown else ""
    return (
        f"{most}Lift in %, with its 95 % interval; n of all variants. The words follow p-values corrected "
        "over all segments and variants (Benjamini and Hochberg). A filled mark is settled."
    )


def _dot(ab_test: AbTest, metric: str, row: Row | None, beside: int) -> SegmentPoint:
    if row is None or not is_number(row["low"]):
        note = row["note"] if row else "no users"
        x = percent(row["lift"]) if row and is_number(row["lift"]) else float("nan")
        return SegmentPoint(x, "–" if beside > 2 else f"– {cut(note, 40)}", plotly(note), look="faint")
    x, low, high = (100 * row[name] for name in ("lift", "low", "high"))
    word = _word(ab_test, metric, row)
    digits = numbers.places([x, low, high])
    amount = f"{numbers.signed(x, digits)} %"
    hover = (
        f"{plotly(row['variant'])}, {plotly(_title(row['segment']))}<br>{amount} "
        f"({numbers.interval(low, high, digits)})<br>{word}, p (BH) {numbers.p_value(row['p_bh'])}<br>"
        f"n = {numbers.count(row['n_control'])} and {numbers.count(row['n_variant'])}"
    )
    if beside > 3:  # as many words as there is room for; the table has all of them
        text = SIGNS[word]
    else:
        text = f"{SIGNS[word]} {word}" if beside == 3 else f"{SIGNS[word]} {amount} {word}"
    settled = word in ("better", "worse")
    return SegmentPoint(x, text, hover, low, high, look="filled" if settled else "hollow")


def _word(ab_test: AbTest, metric: str, row: Row) -> str:
    if ab_test.blocked:
        return "not judged"
    if not is_number(row["p_bh"]) or row["p_bh"] > SETTLED_P:
        return "not settled"
    return "better" if (row["lift"] > 0) == (ab_test.metrics[metric].direction == "up") else "worse"


def _alt(ab_test: AbTest, metric: str, rows: Rows, line: Sequence[str]) -> str:
    lifts = []
    for variant in line:
        of_segments = [f"{segment} {amount_text(row['lift'])}" for segment, row in rows[variant].items()]
        lifts.append(f"{variant}: {listed(of_segments)}")
    return f"Lift in {lowered(ab_test.titles[metric])} by segment. {'; '.join(lifts)}."


def _tidy(frame: pd.DataFrame, segment: str) -> pd.DataFrame:
    shares = ("lift", "low", "high")
    table = frame.assign(
        segment=[_title(value) for value in frame["segment"]],
        **{name: 100 * frame[name].astype(float) for name in shares},
    )
    return table.rename(columns={"segment": segment, **{name: f"{name}_percent" for name in shares}})
