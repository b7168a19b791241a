"""How far offline metrics and A/B tests agree: the card, the metrics that had the order right, the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from recdash.charts.track_record import track_record
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import capital, many, named_number
from recdash.metrics.naming import metric_at
from recdash.online.agreement.agreement import LEAST_RUNS
from recdash.ui.app import cached, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import table_html
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
    agreement: Agreement = cached.answer(
        state.workspace().agreement.of,
        (sides.test.id, view.metric, view.k, sides.online_metric),
        version=_version(view),
    )
    widgets.section("Agreement", f"{agreement.metric} and {sides.online_title.lower()}, by pairs of runs")
    first, *others = agreement.sentences
    rest = [html('<p class="rd-lead rd-muted">{text}</p>', text=text) for text in others]
    st.html(html('<p class="rd-lead">{first}</p>{rest}', first=first, rest=join(rest)))
    if agreement.pairs:
        widgets.note([pairs_note(agreement)])


def pairs_note(agreement: Agreement) -> str:
    """Which runs make the pairs."""
    control = next((run.run for run in agreement.runs if run.is_control), None)
    among = f", the control's ({control}) among them" if control else ""
    return (
        f"Pairs of {many(len(agreement.runs), 'run')}{among}; two variants make a pair as much as a variant "
        "and the control. A pair is undecided where the interval of its difference holds 0 on either side. "
        "Against the control that is the one of A/B results, corrected over all goals; the pairs of two "
        "variants are corrected together (Holm)."
    )


# ── which metric, and how often ──────────────────────────────────────────────────────────────


def sections(view: View, sides: OfflineOnlinePage) -> None:
    """Which metric had the order of this test, and how the frame's has called all tests."""
    version = _version(view)
    best: BestMetric = cached.answer(
        state.workspace().agreement.best_metric, (sides.test.id, sides.online_metric), version=version
    )
    record: TrackRecord = cached.answer(
        state.workspace().track_records.of,
        (view.metric, view.k, sides.online_metric),
        version=version,
    )
    left, right = st.columns([1, 1.5], gap="large")
    with left:
        widgets.section(best_heading(best), best_words(best))
        if any(prediction.tau is not None for prediction in best.predictions):
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
        widgets.note(record_notes(record))
        widgets.table_behind(tidy(record), "track-record")


def best_heading(best: BestMetric) -> str:
    if best.winners:
        had = "has" if len(best.winners) == 1 else "have"
        more = f" and {len(best.winners) - 1} more" if len(best.winners) > 1 else ""
        return f"{best.winners[0]}{more} {had} the order of these runs best"
    if best.p is None:
        return "No metric can be set against this test"
    if best.n < LEAST_RUNS:
        return f"{named_number(best.n)} runs are too few to name the best metric"
    return "No metric does better than chance"


def best_words(best: BestMetric) -> str:
    """The caution: what chance does with so many metrics."""
    if best.p is None or best.n < LEAST_RUNS:
        return f"{capital(best.reason)}."
    p = f"p = {numbers.p_value(best.p)}".replace("= <", "< ")
    return (
        f"Looking for a pattern, no proof: the best of {len(best.predictions)} metrics does as well by "
        f"chance with {p}."
    )


def metric_table(best: BestMetric, own: str) -> Html:
    """The metrics nearest to the online order, and the frame's own; τ with a bar from the middle."""
    ranked = [
        (prediction.label, prediction.tau) for prediction in best.predictions if prediction.tau is not None
    ]
    listed = ranked[:SHOWN_METRICS] + [row for row in ranked[SHOWN_METRICS:] if row[0] == own]
    rows = [[label, numbers.fixed(tau, 2), _bar(tau)] for label, tau in listed]
    bands = [index for index, (label, _) in enumerate(listed) if label == own]
    columns = [*text_columns("Offline metric"), *number_columns("τ"), *text_columns("opposite to same order")]
    return table_html(columns, rows, bands=bands, kind="rd-small")


def _bar(tau: float) -> Html:
    """From the middle to the right where the order is the same, to the left where it is the opposite."""
    return html(
        '<div class="rd-tau" aria-hidden="true"><span class="rd-tau-zero"></span>'
        '<span class="rd-tau-bar" style="left:{left}%;width:{width}%"></span></div>',
        left=f"{50 + 50 * min(tau, 0):.1f}",
        width=f"{50 * abs(tau):.1f}",
    )


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
    without_point = [f"{test} has no point: {reason}." for test, reason in record.left_out[:MOST_LEFT_OUT]]
    more = len(record.left_out) - len(without_point)
    return [*lines, *without_point, *([f"{many(more, 'more test')} without a point."] if more else [])]


def record_alt(record: TrackRecord) -> str:
    points = [
        f"{point.run} in {point.test}: {numbers.three(point.offline)} % offline, "
        f"{numbers.three(point.online)} % online"
        for point in record.points[:8]
    ]
    variants = many(len(record.points), "variant")
    return f"Offline difference against online lift of {variants}. {'; '.join(points)}."


def tidy(record: TrackRecord) -> pd.DataFrame:
    import pandas as pd

    columns = ["experiment", "test", "run", "offline", "offline_error", "online", "online_error", "calls"]
    rows = [[getattr(point, name) for name in columns] for point in record.points]
    return pd.DataFrame(rows, columns=columns)


# ── kept numbers ─────────────────────────────────────────────────────────────────────────────


def _version(view: View) -> tuple[str, ...]:
    """What the answers depend on and people may change: tests with their links, baselines, names."""
    source = state.workspace()
    experiments = source.experiments.all()
    tests = [repr(test) for experiment in experiments for test in source.online_tests.all(experiment.id)]
    names = [f"{run.id} {run.name}" for run in view.runs]
    return (*map(repr, experiments), *tests, *names)
