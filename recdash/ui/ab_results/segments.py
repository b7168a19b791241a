"""One metric of an A/B test by what is known of its users: country, platform, whatever the logs hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.attribute_shares import panels
from recdash.charts.layout import escape as plotly
from recdash.charts.segments import SegmentPoint, SegmentRow, ends_of, segment_panels
from recdash.formatting import numbers
from recdash.formatting.html import html, join
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.wording import cut, listed, lowered
from recdash.online.analysis.judgement import SETTLED_P, SIGNS
from recdash.online.analysis.segments import Reversal
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.table import percent
from recdash.ui.app import links, state, theme
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd

NOT_KNOWN = "(not known)"
MOST_SEGMENTS, MOST_NAMED = 20, 4
Rows = Mapping[str, Mapping[str, Row]]
"""Variant → segment → its row."""


def show(found: AbTest, metric: str) -> None:
    widgets.section(f"{found.titles[metric]} by segment")
    known = cached.segments(found.test)
    if not known:
        st.caption(
            "No column tells users apart. Add one with words, such as country or platform, to the logs."
        )
        return
    segment = _choose(known)
    frame = cached.by_segment(found.test, metric, segment)
    _warn(found, cached.reversals(found.test, metric, segment), segment)
    rows = _by_variant(frame, found.challengers)
    _draw(found, metric, rows)
    widgets.table_behind(_tidy(frame, segment), f"{metric}-{segment}")


def _choose(known: Sequence[str]) -> str:
    links.tell_unknown("seg", "split of users", known)
    wanted = state.option("seg", known[0], known)
    st.session_state["ab-segment"] = wanted
    st.selectbox(
        "Users by", known, key="ab-segment", width=330,
        on_change=lambda: state.choose(seg=st.session_state["ab-segment"]),
    )  # fmt: skip
    state.write("seg", wanted)
    return wanted


def _by_variant(frame: pd.DataFrame, variants: Sequence[str]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {variant: {} for variant in variants}
    for row in records(frame):
        found[row["variant"]][_title(row["segment"])] = row
    return found


def _title(segment: object) -> str:
    return segment if isinstance(segment, str) else NOT_KNOWN


def _warn(found: AbTest, reversals: Sequence[Reversal], segment: str) -> None:
    """Where the parts say something else than the whole."""
    lines = [html("<p>{text}</p>", text=reversal_words(one, segment)) for one in reversals]
    if lines and not found.blocked:
        st.html(
            html(
                '<div class="rd-banner" role="note" aria-label="The whole and its parts">'
                '<b class="rd-worse">!</b><div>{lines}</div></div>',
                lines=join(lines),
            )
        )


def reversal_words(one: Reversal, segment: str) -> str:
    if one.all_of_them:
        return (
            f"{one.variant}: in every segment of {segment} the lift points the other way than over all users "
            "(Simpson's paradox). The segments have another weight in the variant than in the control: find "
            "out why before you trust the whole."
        )
    titles = [_title(name) for name in one.segments]
    more = f" and {len(titles) - MOST_NAMED} more" if len(titles) > MOST_NAMED else ""
    named = f"{', '.join(titles[:MOST_NAMED])}{more}" if more else listed(titles)
    return f"{one.variant}: against its lift over all users goes {segment} {named}, beyond chance."


# ── the dots ─────────────────────────────────────────────────────────────────────────────────


def _draw(found: AbTest, metric: str, rows: Rows) -> None:
    largest = _largest(rows)
    lines = panels(list(rows))
    beside = len(lines[0])
    dots = {
        variant: [_dot(found, metric, rows[variant].get(one), beside) for one in largest] for variant in rows
    }
    ends = ends_of(dots, zero=True)
    labels = [SegmentRow(one, f"n = {numbers.count(_users(rows, one))}") for one in largest]
    with st.container(key=f"panels-{beside}-segments"):
        for place, line in enumerate(lines):
            some = {variant: dots[variant] for variant in line}
            chart = segment_panels(labels, some, beside, found.marks, theme.palette(), ends)
            widgets.chart(chart, f"ab-segments-{place}", _alt(found, metric, rows, line))
    adjusted = any(row.metric == metric and row.plain_lift is not None for row in found.results.rows)
    plain = " They are plain lifts, without CUPED, as is that over all users which they are held against."
    st.caption(f"{_caption(len(largest), rows)}{plain if adjusted else ''}")


def _largest(rows: Rows) -> list[str]:
    """In their own order; of very many the largest."""
    known = list(dict.fromkeys(one for of_variant in rows.values() for one in of_variant))
    kept = set(sorted(known, key=lambda one: -_users(rows, one))[:MOST_SEGMENTS])
    return [one for one in known if one in kept]


def _users(rows: Rows, segment: str) -> int:
    """Of all variants and the control, which every row names."""
    some = [of_variant[segment] for of_variant in rows.values() if segment in of_variant]
    return sum(row["n_variant"] for row in some) + max(row["n_control"] for row in some)


def _caption(n_shown: int, rows: Rows) -> str:
    n_all = len({one for of_variant in rows.values() for one in of_variant})
    most = f"The {n_shown} largest of {n_all} are drawn; the table has all. " if n_all > n_shown else ""
    return (
        f"{most}Lift in %, with its 95 % interval; n of all variants. The words follow p-values corrected "
        "over all segments and variants (Benjamini and Hochberg). A filled mark is settled."
    )


def _dot(found: AbTest, metric: str, row: Row | None, beside: int) -> SegmentPoint:
    if row is None or not is_number(row["low"]):
        note = row["note"] if row else "no users"
        x = percent(row["lift"]) if row and is_number(row["lift"]) else float("nan")
        return SegmentPoint(x, "–" if beside > 2 else f"– {cut(note, 40)}", plotly(note), look="faint")
    x, low, high = (100 * row[name] for name in ("lift", "low", "high"))
    word = _word(found, metric, row)
    digits = numbers.places([x, low, high])
    amount = f"{numbers.signed(x, digits)} %"
    hover = (
        f"{plotly(row['variant'])}, {plotly(_title(row['segment']))}<br>{amount} "
        f"({numbers.interval(low, high, digits)})<br>{word}, p (BH) {numbers.p_value(row['p_bh'])}<br>"
        f"n = {numbers.count(row['n_control'])} and {numbers.count(row['n_variant'])}"
    )
    settled = word in ("better", "worse")
    return SegmentPoint(
        x, _words(word, amount, beside), hover, low, high, look="filled" if settled else "hollow"
    )


def _word(found: AbTest, metric: str, row: Row) -> str:
    if found.blocked:
        return "not judged"
    if not is_number(row["p_bh"]) or row["p_bh"] > SETTLED_P:
        return "not settled"
    return "better" if (row["lift"] > 0) == (found.metrics[metric].direction == "up") else "worse"


def _words(word: str, amount: str, beside: int) -> str:
    """As many as there is room for; the table has all of them."""
    if beside > 3:
        return SIGNS[word]
    return f"{SIGNS[word]} {word}" if beside == 3 else f"{SIGNS[word]} {amount} {word}"


def _alt(found: AbTest, metric: str, rows: Rows, line: Sequence[str]) -> str:
    told = [
        f"{variant}: {listed([f'{one} {_amount(row)}' for one, row in rows[variant].items()])}"
        for variant in line
    ]
    return f"Lift in {lowered(found.titles[metric])} by segment. {'; '.join(told)}."


def _amount(row: Row) -> str:
    value = percent(row["lift"]) if is_number(row["lift"]) else float("nan")
    text = numbers.signed(value, numbers.places([value]))
    return text if text == numbers.NONE else f"{text} %"


def _tidy(frame: pd.DataFrame, segment: str) -> pd.DataFrame:
    shares = ("lift", "low", "high")
    found = frame.assign(
        segment=[_title(one) for one in frame["segment"]],
        **{name: 100 * frame[name].astype(float) for name in shares},
    )
    return found.rename(columns={"segment": segment, **{name: f"{name}_percent" for name in shares}})
