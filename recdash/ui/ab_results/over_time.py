"""One metric of an A/B test over its days: up to each day, on each day, and by days since the exposure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.ab_over_time import LiftPoint, ends_of, over_time
from recdash.charts.attribute_shares import panels
from recdash.charts.layout import escape as plotly
from recdash.formatting import numbers
from recdash.formatting.html import html, join
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.wording import listed, lowered, many
from recdash.online.analysis.health import FADES_BELOW
from recdash.online.analysis.judgement import SETTLED_P, family
from recdash.online.analysis.novelty_effect import NoveltyEffect
from recdash.online.validity import MANY_LOOKS
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.table import percent
from recdash.ui.app import links, theme
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd

HOW = {"cumulative": "Up to each day", "daily": "On each day", "since": "Since the exposure"}
SUBTITLES = {
    "cumulative": "The lift of all users exposed by then, in %. Band: the 95 % interval for one look. "
    "Dotted: the interval for looking again and again, from the day on which it is valid "
    f"({MANY_LOOKS.users} users of each variant, a relative standard error of "
    f"{100 * MANY_LOOKS.relative_error:g} %). Neither is corrected.",
    "daily": "The lift of each day alone, in %, with its 95 % interval, of all users exposed by then. "
    "Filled: the interval excludes zero, as one in twenty does by chance.",
    "since": "The lift by days since a user's first exposure, in %, with its 95 % interval, of the users "
    "who could be watched that long. Filled: the interval excludes zero.",
}
MAY = {"fades": "may be fading", "rises": "may be rising", "falls": "may be falling"}
TICKS, FEW_TICKS = {1: 6, 2: 4}, 1.6
"""Steps of the axis; of narrow panels a second name stands clear of the next panel's first."""
DAY_S = 86_400


def show(found: AbTest, metric: str) -> None:
    """Below a choice of the kind of days; the reason where there are none."""
    widgets.section(f"{found.titles[metric]} over time")
    if found.census is None or found.census.days < 2:
        st.caption("There are no days to tell apart: all rows are of one day, or no row has a time.")
        return
    links.tell_unknown("over", "kind of days", HOW)
    how = widgets.choice("Days", "over", HOW, "cumulative")
    adjusted = any(row.metric == metric and row.plain_lift is not None for row in found.results.rows)
    st.caption(f"{SUBTITLES[how]}{' It is the plain lift, without CUPED.' if adjusted else ''}")
    rows = cached.over_time(found.test, metric, how)
    series = _series(rows, found.challengers)
    if not any(is_number(one.lift) for moments in series.values() for one in moments):
        notes = sorted({str(note) for note in rows["note"] if note})
        st.caption(f"There is no lift on any day: {'; '.join(notes) or 'nothing was counted'}.")
        return
    _draw(found, metric, how, series)
    if how == "since":
        _fading(found, metric)
    widgets.table_behind(_tidy(rows, how), f"{metric}-{how}")


def _series(rows: pd.DataFrame, variants: Sequence[str]) -> dict[str, list[LiftPoint]]:
    """Variant → its days from 0 on, lifts in %."""
    first = int(rows["day"].min()) if len(rows) else 0
    found: dict[str, list[LiftPoint]] = {variant: [] for variant in variants}
    for row in records(rows):
        found[row["variant"]].append(_moment(row, row["day"] - first))
    return found


def _moment(row: Row, day: int) -> LiftPoint:
    lift, low, high = (_percent(row[name]) for name in ("lift", "low", "high"))
    digits = numbers.places([lift, low, high])
    when = f"day {row['day']}" if row["day"] < 3_000 else f"{_date(row['day']):%-d %b}"
    lines = [
        f"{plotly(row['variant'])}, {when}",
        f"{numbers.signed(lift, digits)} % ({numbers.interval(low, high, digits)})",
        f"n = {numbers.count(row['n'])}, with the control",
    ]
    peek = _percent(row["sequence_low"]), _percent(row["sequence_high"])
    return LiftPoint(day, lift, low, high, *peek, hover="<br>".join(lines))


def _percent(share: float | None) -> float:
    return percent(share if is_number(share) else None)


def _date(day: int) -> datetime:
    return datetime.fromtimestamp(day * DAY_S, UTC)


def _draw(found: AbTest, metric: str, how: str, series: Mapping[str, Sequence[LiftPoint]]) -> None:
    lines = panels(list(series))
    beside, ends = len(lines[0]), ends_of(series)
    with st.container(key=f"panels-{beside}-time"):
        for place, line in enumerate(lines):
            chart = over_time(
                {variant: series[variant] for variant in line}, found.marks, theme.palette(), ends=ends,
                beside=beside, days=_days(found, how, series, beside),
                drawn="line" if how == "cumulative" else "points",
            )  # fmt: skip
            widgets.chart(chart, f"ab-{how}-{place}", _alt(found, metric, how, series, line))


def _days(found: AbTest, how: str, series: Mapping[str, Sequence[LiftPoint]], beside: int) -> dict[int, str]:
    """Names of as many days as there is room for."""
    last = max((one.day for moments in series.values() for one in moments), default=0)
    step = max(1, ceil(last / TICKS.get(beside, FEW_TICKS)))
    days = range(0, last + 1, step)
    if how == "since" or found.census is None or found.census.first is None:
        return {day: str(day) for day in days}
    first = found.census.first
    return {day: f"{_date(first + day):%-d %b}" for day in days}


def _alt(
    found: AbTest, metric: str, how: str, series: Mapping[str, Sequence[LiftPoint]], line: Sequence[str]
) -> str:
    last = {one: [m.lift for m in series[one] if is_number(m.lift)][-1:] for one in line}
    told = [f"{one} {numbers.three(lift[0])} %" for one, lift in last.items() if lift]
    return f"Lift in {lowered(found.titles[metric])} {HOW[how].lower()}; on the last day {listed(told)}."


# ── does it fade? ────────────────────────────────────────────────────────────────────────────


def _fading(found: AbTest, metric: str) -> None:
    """The same users early and late, in a sentence per variant."""
    told = cached.fading(found.test, metric)
    chances = [p for p, _ in family([one.p for one in told], "holm")]
    lines = [html("<p>{text}</p>", text=fading_words(one, p)) for one, p in zip(told, chances, strict=True)]
    st.html(html('<div class="rd-note">{lines}</div>', lines=join(lines)))


def fading_words(one: NoveltyEffect, p: float | None) -> str:
    """``als: +5.1 % on days 0 to 4, +1.2 % on days 5 to 9 of the same 812 users: the lift fades``."""
    if one.early_lift is None or one.late_lift is None or p is None:
        return f"{one.variant}: whether the lift changes cannot be told: {one.note}."
    lifts = [100 * lift for lift in (one.early_lift, one.late_lift)]
    digits = numbers.places(lifts)
    early, late = (
        f"{numbers.signed(lift, digits)} % {_span(span)}"
        for lift, span in zip(lifts, (one.early_days, one.late_days), strict=True)
    )
    chance = "p < 0.001" if p < 0.001 else f"p = {numbers.fixed(p, 3)}"
    told = f"{_change(one, p)} ({chance}, this metric alone)"
    users = f"the same {many(one.n, 'user')}, the control's included"
    return f"{one.variant}: {early}, {late}, of {users}: {told}."


def _span(days: tuple[int, int]) -> str:
    return f"on day {days[0]}" if days[0] == days[1] else f"on days {days[0]} to {days[1]}"


def _change(one: NoveltyEffect, p: float) -> str:
    if p > SETTLED_P or one.difference is None:
        return "no change is settled"
    return f"the lift {one.course if p <= FADES_BELOW else MAY[one.course]}"


def _tidy(rows: pd.DataFrame, how: str) -> pd.DataFrame:
    """Lifts in %, days as dates where they are."""
    shares = ("lift", "low", "high", "sequence_low", "sequence_high")
    found = rows.assign(**{name: 100 * rows[name].astype(float) for name in shares})
    if how != "since":
        found = found.assign(day=[_date(day).date().isoformat() for day in rows["day"]])
    renamed = {name: f"{name}_percent" for name in shares}
    return found.rename(columns=renamed).dropna(axis="columns", how="all")
