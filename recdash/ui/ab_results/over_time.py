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
from recdash.formatting.numbers import is_number, percent
from recdash.formatting.records import Row, records
from recdash.formatting.wording import listed, lowered, many
from recdash.online.analysis.health import FADES_BELOW
from recdash.online.analysis.judgement import SETTLED_P, family
from recdash.online.analysis.novelty_effect import NoveltyEffect
from recdash.online.validity import MANY_LOOKS
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state, theme
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


def show(ab_test: AbTest, metric: str) -> None:
    """Draw the lifts over days, below a choice of the kind of days; or why there are none."""
    widgets.section(f"{ab_test.titles[metric]} over time")
    if ab_test.census is None or ab_test.census.days < 2:
        st.caption("There are no days to tell apart: all rows are of one day, or no row has a time.")
        return
    links.tell_unknown("over", "kind of days", HOW)
    how = widgets.choice("Days", "over", HOW, "cumulative")
    plain = " It is the plain lift, without CUPED." if ab_test.is_adjusted(metric) else ""
    st.caption(f"{SUBTITLES[how]}{plain}")
    rows = cached.ask(state.workspace().online_analysis.over_time, ab_test.test, metric, how)
    series = _series(rows, ab_test.challengers)
    if not any(is_number(point.lift) for points in series.values() for point in points):
        notes = sorted({str(note) for note in rows["note"] if note})
        st.caption(f"There is no lift on any day: {'; '.join(notes) or 'nothing was counted'}.")
        return
    _draw(ab_test, metric, how, series)
    if how == "since":
        _novelty(ab_test, metric)
    widgets.table_behind(_tidy(rows, how), f"{metric}-{how}")


def _series(rows: pd.DataFrame, variants: Sequence[str]) -> dict[str, list[LiftPoint]]:
    """Variant → its days from 0 on, lifts in %."""
    first = int(rows["day"].min()) if len(rows) else 0
    series: dict[str, list[LiftPoint]] = {variant: [] for variant in variants}
    for row in records(rows):
        series[row["variant"]].append(_point(row, row["day"] - first))
    return series


def _point(row: Row, day: int) -> LiftPoint:
    names = ("lift", "low", "high", "sequence_low", "sequence_high")
    lifts = (percent(row[name] if is_number(row[name]) else None) for name in names)
    lift, low, high, peek_low, peek_high = lifts
    digits = numbers.places([lift, low, high])
    when = f"day {row['day']}" if row["day"] < 3_000 else f"{_date(row['day']):%-d %b}"
    lines = [
        f"{plotly(row['variant'])}, {when}",
        f"{numbers.signed(lift, digits)} % ({numbers.interval(low, high, digits)})",
        f"n = {numbers.count(row['n'])}, with the control",
    ]
    return LiftPoint(day, lift, low, high, peek_low, peek_high, hover="<br>".join(lines))


def _date(day: int) -> datetime:
    return datetime.fromtimestamp(day * DAY_S, UTC)


def _draw(ab_test: AbTest, metric: str, how: str, series: Mapping[str, Sequence[LiftPoint]]) -> None:
    lines = panels(list(series))
    beside, ends = len(lines[0]), ends_of(series)
    with st.container(key=f"panels-{beside}-time"):
        for place, line in enumerate(lines):
            chart = over_time(
                {variant: series[variant] for variant in line},
                ab_test.marks,
                theme.palette(),
                ends=ends,
                beside=beside,
                days=_days(ab_test, how, series, beside),
                drawn="line" if how == "cumulative" else "points",
            )
            widgets.chart(chart, f"ab-{how}-{place}", _alt(ab_test, metric, how, series, line))


def _days(
    ab_test: AbTest, how: str, series: Mapping[str, Sequence[LiftPoint]], beside: int
) -> dict[int, str]:
    """The days that are named on the axis, as many as there is room for."""
    last = max((point.day for points in series.values() for point in points), default=0)
    step = max(1, ceil(last / TICKS.get(beside, FEW_TICKS)))
    days = range(0, last + 1, step)
    if how == "since" or ab_test.census is None or ab_test.census.first is None:
        return {day: str(day) for day in days}
    first = ab_test.census.first
    return {day: f"{_date(first + day):%-d %b}" for day in days}


def _alt(
    ab_test: AbTest, metric: str, how: str, series: Mapping[str, Sequence[LiftPoint]], line: Sequence[str]
) -> str:
    last = {variant: [m.lift for m in series[variant] if is_number(m.lift)][-1:] for variant in line}
    lifts = [f"{variant} {numbers.three(lift[0])} %" for variant, lift in last.items() if lift]
    return f"Lift in {lowered(ab_test.titles[metric])} {HOW[how].lower()}; on the last day {listed(lifts)}."


# ── novelty ──────────────────────────────────────────────────────────────────────────────────


def _novelty(ab_test: AbTest, metric: str) -> None:
    """The same users early and late, in a sentence per variant."""
    effects = cached.ask(state.workspace().online_analysis.novelty_effect, ab_test.test, metric)
    chances = [p for p, _ in family([effect.p for effect in effects], "holm")]
    widgets.note(novelty_text(effect, p) for effect, p in zip(effects, chances, strict=True))


def novelty_text(effect: NoveltyEffect, p: float | None) -> str:
    """``als: +5.1 % on days 0 to 4, +1.2 % on days 5 to 9 of the same 812 users: the lift fades``."""
    if effect.early_lift is None or effect.late_lift is None or p is None:
        return f"{effect.variant}: whether the lift changes cannot be told: {effect.note}."
    lifts = [100 * lift for lift in (effect.early_lift, effect.late_lift)]
    digits = numbers.places(lifts)
    early, late = (
        f"{numbers.signed(lift, digits)} % {_span(span)}"
        for lift, span in zip(lifts, (effect.early_days, effect.late_days), strict=True)
    )
    chance = "p < 0.001" if p < 0.001 else f"p = {numbers.fixed(p, 3)}"
    change = "no change is settled"
    if p <= SETTLED_P and effect.difference is not None:
        change = f"the lift {effect.course if p <= FADES_BELOW else MAY[effect.course]}"
    users = f"the same {many(effect.n, 'user')}, the control's included"
    return f"{effect.variant}: {early}, {late}, of {users}: {change} ({chance}, this metric alone)."


def _span(days: tuple[int, int]) -> str:
    return f"on day {days[0]}" if days[0] == days[1] else f"on days {days[0]} to {days[1]}"


def _tidy(rows: pd.DataFrame, how: str) -> pd.DataFrame:
    """Lifts in %, days as dates where they are."""
    shares = ("lift", "low", "high", "sequence_low", "sequence_high")
    table = rows.assign(**{name: 100 * rows[name].astype(float) for name in shares})
    if how != "since":
        table["day"] = [_date(day).date().isoformat() for day in rows["day"]]
    table = table.rename(columns={name: f"{name}_percent" for name in shares})
    return table.dropna(axis="columns", how="all")
