"""How far offline metrics and A/B tests agree: the card, the metrics that had the order right, the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from recdash.charts.track_record import track_record
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import many, named_number
from recdash.metrics.naming import metric_at
from recdash.online.agreement.agreement import LEAST_RUNS
from recdash.ui.app import cached, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import TableColumn, table_html
from recdash.ui.offline_online.page import OfflineOnlinePage

if TYPE_CHECKING:
    import pandas as pd

    from recdash.online.agreement.agreement import Agreement, BestMetric
    from recdash.online.agreement.track_record import TrackRecord

SHOWN_METRICS = 8
MOST_LEFT_OUT = 4

Answer = TypeVar("Answer")


# ── the card ─────────────────────────────────────────────────────────────────────────────────


def card(view: View, sides: OfflineOnlinePage) -> None:
    """How many pairs of runs point the same way, and what the order of all says."""
    found: Agreement = cached.answer(
        state.workspace().agreement.agreement,
        (sides.test.id, view.metric, view.k, sides.online_metric),
        version=_told(view),
    )
    widgets.section("Agreement", f"{found.metric} and {sides.online_title.lower()}, by pairs of runs")
    first, *others = found.sentences
    rest = [html('<p class="rd-lead rd-muted">{text}</p>', text=text) for text in others]
    st.html(html('<p class="rd-lead">{first}</p>{rest}', first=first, rest=join(rest)))
    if found.pairs:
        st.html(html('<div class="rd-note"><p>{note}</p></div>', note=_who_counts(found)))


def _who_counts(found: Agreement) -> str:
    """Which runs make the pairs."""
    control = next((run.run for run in found.runs if run.is_control), None)
    runs = f"{many(len(found.runs), 'run')}"
    who = f"{runs}, the control's ({control}) among them" if control else runs
    return (
        f"Pairs of {who}; two variants make a pair as much as a variant and the control. A pair is undecided "
        "where the interval of its difference holds 0 on either side. Against the control that is the one "
        "of A/B results, corrected over all goals; the pairs of two variants are corrected together (Holm)."
    )


# ── which metric, and how often ──────────────────────────────────────────────────────────────


def sections(view: View, sides: OfflineOnlinePage) -> None:
    """Which metric had the order of this test, and how the frame's has called all tests."""
    told = _told(view)
    best: BestMetric = cached.answer(
        state.workspace().agreement.best_metric, (sides.test.id, sides.online_metric), version=told
    )
    record: TrackRecord = cached.answer(
        state.workspace().track_records.track_record, (view.metric, view.k, sides.online_metric), version=told
    )
    left, right = st.columns([1, 1.5], gap="large")
    with left:
        widgets.section(best_heading(best), best_words(best))
        if any(one.tau is not None for one in best.predictions):
            st.html(metric_table(best, metric_at(view.metric, view.k)))
    with right:
        widgets.section(record_heading(record), record_words(record))
        if record.points:
            titles = (
                f"Offline: difference in {record.metric}, %",
                f"Online: lift in {sides.online_title}, %",
            )
            chart = track_record(record, sides.test.id, sides.marks, theme.palette(), titles)
            widgets.chart(chart, "track-record", record_alt(record))
        st.html(_notes(record_notes(record)))
        widgets.table_behind(tidy(record), "track-record")


def best_heading(found: BestMetric) -> str:
    if found.winners:
        had = "has" if len(found.winners) == 1 else "have"
        more = f" and {len(found.winners) - 1} more" if len(found.winners) > 1 else ""
        return f"{found.winners[0]}{more} {had} the order of these runs best"
    if found.p is None:
        return "No metric can be set against this test"
    if found.n < LEAST_RUNS:
        return f"{named_number(found.n)} runs are too few to name the best metric"
    return "No metric does better than chance"


def best_words(found: BestMetric) -> str:
    """The caution: what chance does with so many metrics."""
    if found.p is None or found.n < LEAST_RUNS:
        return f"{found.reason[:1].upper()}{found.reason[1:]}."
    p = f"p = {numbers.p_value(found.p)}".replace("= <", "< ")
    return (
        f"Looking for a pattern, no proof: the best of {len(found.predictions)} metrics does as well by "
        f"chance with {p}."
    )


def metric_table(found: BestMetric, shown: str) -> Html:
    """The metrics nearest to the online order, and the frame's own; τ with a bar from the middle."""
    ranked = [one for one in found.predictions if one.tau is not None]
    listed = [one for place, one in enumerate(ranked) if place < SHOWN_METRICS or one.label == shown]
    rows = [[one.label, numbers.fixed(one.tau, 2), _bar(one.tau or 0.0)] for one in listed]
    bands = [place for place, one in enumerate(listed) if one.label == shown]
    columns = [
        TableColumn("Offline metric"),
        TableColumn("τ", number=True),
        TableColumn("opposite to same order"),
    ]
    return table_html(columns, rows, bands=bands, kind="rd-small")


def _bar(tau: float) -> Html:
    """From the middle to the right where the order is the same, to the left where it is the opposite."""
    return html(
        '<div class="rd-tau" aria-hidden="true"><span class="rd-tau-zero"></span>'
        '<span class="rd-tau-bar" style="left:{left}%;width:{width}%"></span></div>',
        left=f"{50 + 50 * min(tau, 0):.1f}", width=f"{50 * abs(tau):.1f}",
    )  # fmt: skip


# ── the track record ─────────────────────────────────────────────────────────────────────────


def record_heading(record: TrackRecord) -> str:
    if not record.called.n:
        return f"Track record: {record.metric} has called no settled comparison yet"
    times = "once" if record.called.n == 1 else f"{record.called.n} times"
    return f"Track record: {record.metric} called the winner {record.called.right} of {times}"


def record_words(record: TrackRecord) -> str:
    """How much that says, and what the points are."""
    low, high = record.called.low, record.called.high
    share = ""
    if low is not None and high is not None:
        share = f"{numbers.fixed(100 * low, 0)} to {numbers.fixed(100 * high, 0)} of 100 (95 % CI, Wilson). "
    tests = many(record.n_tests, "test") if record.n_tests else "No test"
    return (
        f"{share}{tests} of all experiments; each variant against its control. Hollow: a side not settled, "
        "corrected as on A/B results; the crosses are plain 95 % intervals."
    )


def record_notes(record: TrackRecord) -> list[str]:
    """The line in words or why there is none; which tests have no point."""
    line = record.calibration
    if line is None:
        lines = [f"No line: {record.reason}."]
    else:
        ends = numbers.interval(line.low, line.high, numbers.places([line.low, line.high]))
        lines = [
            f"1 % offline has meant {numbers.three(line.slope)} % online (95 % CI {ends}).",
            f"Weights 1/(SE² + τ²), τ = {numbers.three(line.tau)} % about the line (DerSimonian and Laird).",
            "Variants of a test share a control: the interval counts tests, not points.",
            "The band holds the true lift of 95 in 100 new tests.",
        ]
    told = [f"{test} has no point: {reason}." for test, reason in record.left_out[:MOST_LEFT_OUT]]
    more = len(record.left_out) - len(told)
    return [*lines, *told, *([f"{many(more, 'more test')} without a point."] if more else [])]


def record_alt(record: TrackRecord) -> str:
    told = [
        f"{one.run} in {one.test}: {numbers.three(one.offline)} % offline, "
        f"{numbers.three(one.online)} % online"
        for one in record.points[:8]
    ]
    variants = many(len(record.points), "variant")
    return f"Offline difference against online lift of {variants}. {'; '.join(told)}."


def tidy(record: TrackRecord) -> pd.DataFrame:
    import pandas as pd

    columns = [
        "experiment", "test", "run", "offline", "offline_error", "online", "online_error", "calls",
    ]  # fmt: skip
    return pd.DataFrame(
        [{name: getattr(one, name) for name in columns} for one in record.points], columns=columns
    )


def _notes(lines: list[str]) -> Html:
    return html('<div class="rd-note">{lines}</div>', lines=join([html("<p>{x}</p>", x=x) for x in lines]))


# ── kept numbers ─────────────────────────────────────────────────────────────────────────────


def _told(view: View) -> tuple[str, ...]:
    """All that somebody may change and that the answers tell: tests with their links, baselines, names."""
    source = state.workspace()
    experiments = source.experiments.all()
    tests = [repr(test) for one in experiments for test in source.online_tests.all(one.id)]
    names = [f"{run.id} {run.name}" for run in view.runs]
    return (*map(repr, experiments), *tests, *names)
