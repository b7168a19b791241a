"""Shows the lift in one metric over time: cumulative, daily, and by days since exposure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil, floor
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.ab_over_time import LiftPoint, ends_of, over_time
from recdash.charts.attribute_shares import panels
from recdash.charts.layout import escape as plotly
from recdash.errors import NotFound
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number, percent
from recdash.formatting.records import Row, records
from recdash.formatting.wording import listed, lowered, many, span
from recdash.online.analysis.health import FADES_BELOW
from recdash.online.analysis.judgement import SIGNIFICANCE_LEVEL, family
from recdash.online.analysis.novelty_effect import NoveltyEffect
from recdash.online.validity import MANY_LOOKS
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state, theme
from recdash.ui.components import widgets

if TYPE_CHECKING:
    import pandas as pd

HOW = {"cumulative": "Cumulative", "daily": "Daily", "since": "By days since exposure"}
SUBTITLES = {
    "cumulative": "Lift of all users exposed so far, in %. Band: fixed-horizon 95 % CI. "
    f"Dotted: always-valid CI, from {MANY_LOOKS.users} users per variant on. Both uncorrected.",
    "daily": "Lift of each day alone, in %, 95 % CI. "
    "Filled: the CI excludes zero, which happens by chance on 1 of 20 days.",
    "since": "Lift by days since a user's first exposure, in %, 95 % CI. "
    "Only users observed that long are included. Filled: the CI excludes zero.",
}
MAY = {"fades": "may fade", "rises": "may rise", "falls": "may fall"}
TICKS, FEW_TICKS = {1: 4, 2: 3}, 1.6
"""The number of steps on the axis for one and two panels in a row (TICKS), and for more (FEW_TICKS), as
labels in narrow panels would overlap.
"""
LAST_TICK = 0.85
"""The share of a panel's days from which days have no label where panels are beside each other: a label at
the end of a panel would touch the first one of the next.
"""
DAY_S = 86_400


def show(ab_test: AbTest, metric: str) -> None:
    """Draws the lift over time, or says why there is none."""
    widgets.section(f"{ab_test.titles[metric]}: trend")
    if ab_test.sample is None:
        _of_sums(ab_test, metric)
        return
    if ab_test.sample.days < 2:
        dated = ab_test.sample.days
        why = (
            "all data is of one day"
            if dated
            else "the data has no dates; add a column named date, when each user entered the test"
        )
        st.caption(f"No trend: {why}.")
        return
    links.tell_unknown("over", "trend", HOW)
    how = widgets.choice("Trend", "over", HOW, "cumulative")
    st.caption(f"{SUBTITLES[how]}{ab_test.method_of_parts(metric)}")
    rows = cached.ask(state.workspace().online_analysis.over_time, ab_test.test, metric, how)
    series = _series(rows, ab_test.names, ab_test.challengers)
    if not any(is_number(point.lift) for points in series.values() for point in points):
        notes = sorted({str(note) for note in rows["note"] if note})
        st.caption(f"No lift on any day: {'; '.join(notes) or 'no data'}.")
        return
    _draw(ab_test, metric, how, series, ab_test.sample.first)
    if how == "since":
        _novelty(ab_test, metric)
    widgets.table_behind(_tidy(rows, how), f"{metric}-{how}")


def _of_sums(ab_test: AbTest, metric: str) -> None:
    """Draws the lift over the users exposed up to each day, of an aggregated table with rows of days."""
    analysis = state.workspace().online_analysis
    try:
        rows = cached.ask(analysis.over_time, ab_test.test, metric, "cumulative")
    except NotFound:
        st.caption("No trend: the table has no rows per day.")
        return
    st.caption(
        "Lift of all users first exposed up to each day, in %. " + SUBTITLES["cumulative"].split(". ", 1)[1]
    )
    series = _series(rows, ab_test.names, ab_test.challengers)
    _draw(ab_test, metric, "cumulative", series, int(rows["day"].min()))
    widgets.table_behind(_tidy(rows, "cumulative"), f"{metric}-cumulative")


def _series(
    rows: pd.DataFrame, names: Mapping[str, str], variants: Sequence[str]
) -> dict[str, list[LiftPoint]]:
    """Returns {variant: its lift in % by day}; days begin with 0."""
    first = int(rows["day"].min()) if len(rows) else 0
    series: dict[str, list[LiftPoint]] = {variant: [] for variant in variants}
    for row in records(rows):
        series[row["variant"]].append(_point(row, names[row["variant"]], row["day"] - first))
    return series


def _point(row: Row, name: str, day: int) -> LiftPoint:
    names = ("lift", "low", "high", "sequence_low", "sequence_high")
    lifts = (percent(row[name] if is_number(row[name]) else None) for name in names)
    lift, low, high, peek_low, peek_high = lifts
    digits = numbers.places([lift, low, high])
    when = f"day {row['day']}" if row["day"] < 3_000 else f"{_date(row['day']):%-d %b}"
    lines = [
        f"{plotly(name)}, {when}",
        f"{numbers.signed(lift, digits)} % ({numbers.interval(low, high, digits)})",
        f"n = {numbers.count(row['n'])}, control included",
    ]
    return LiftPoint(day, lift, low, high, peek_low, peek_high, hover="<br>".join(lines))


def _date(day: int) -> datetime:
    return datetime.fromtimestamp(day * DAY_S, UTC)


def _draw(
    ab_test: AbTest,
    metric: str,
    how: str,
    series: Mapping[str, Sequence[LiftPoint]],
    first: int | None,
) -> None:
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
                days=day_labels(first, how, series, beside),
                drawn="line" if how == "cumulative" else "points",
            )
            widgets.chart(chart, f"ab-{how}-{place}", _alt(ab_test, metric, how, series, line))


def day_labels(
    first: int | None, how: str, series: Mapping[str, Sequence[LiftPoint]], beside: int
) -> dict[int, str]:
    """Returns {day: label} for the axis: as many as the panels, ``beside`` in a row, have room for."""
    last = max((point.day for points in series.values() for point in points), default=0)
    step = max(1, ceil(last / TICKS.get(beside, FEW_TICKS)))
    end = last if beside == 1 else floor(LAST_TICK * last)
    days = range(0, end + 1, step)
    if how == "since" or first is None:
        return {day: str(day) for day in days}
    return {day: f"{_date(first + day):%-d %b}" for day in days}


def _alt(
    ab_test: AbTest, metric: str, how: str, series: Mapping[str, Sequence[LiftPoint]], line: Sequence[str]
) -> str:
    last = {variant: [m.lift for m in series[variant] if is_number(m.lift)][-1:] for variant in line}
    lifts = [f"{ab_test.names[variant]} {numbers.three(lift[0])} %" for variant, lift in last.items() if lift]
    return f"Lift in {lowered(ab_test.titles[metric])} {HOW[how].lower()}; on the last day {listed(lifts)}."


# ── novelty ──────────────────────────────────────────────────────────────────────────────────


def _novelty(ab_test: AbTest, metric: str) -> None:
    """Writes a sentence about the novelty effect of each variant."""
    effects = cached.ask(state.workspace().online_analysis.novelty_effect, ab_test.test, metric)
    chances = [p for p, _ in family([effect.p for effect in effects], "holm")]
    widgets.note(
        novelty_text(replace(effect, variant=ab_test.names[effect.variant]), p)
        for effect, p in zip(effects, chances, strict=True)
    )


def novelty_text(effect: NoveltyEffect, p: float | None) -> str:
    """Returns a sentence on whether the lift changes for the same users, with the early and the late lift."""
    if effect.early_lift is None or effect.late_lift is None or p is None:
        return f"{effect.variant}: a novelty effect cannot be tested: {effect.note}."
    lifts = [100 * lift for lift in (effect.early_lift, effect.late_lift)]
    digits = numbers.places(lifts)
    early, late = (f"{numbers.signed(lift, digits)} %" for lift in lifts)
    chance = numbers.p_equals(p)
    change = "no significant change of the lift"
    if p <= SIGNIFICANCE_LEVEL and effect.difference is not None:
        change = f"the lift {effect.course if p <= FADES_BELOW else MAY[effect.course]}"
    days = f"{_days_text(effect.early_days)} vs {_days_text(effect.late_days)}"
    users = f"the same {many(effect.n, 'user')}, control included"
    return f"{effect.variant}: {change}, {early} early and {late} late ({chance}). Days {days}, {users}."


def _days_text(days: tuple[int, int]) -> str:
    return span(str(days[0]), str(days[1]))


def _tidy(rows: pd.DataFrame, how: str) -> pd.DataFrame:
    """Returns the rows with lifts in %, and dates instead of day numbers."""
    shares = ("lift", "low", "high", "sequence_low", "sequence_high")
    table = rows.assign(**{name: 100 * rows[name].astype(float) for name in shares})
    if how != "since":
        table["day"] = [_date(day).date().isoformat() for day in rows["day"]]
    table = table.rename(columns={name: f"{name}_percent" for name in shares})
    return table.dropna(axis="columns", how="all")
