"""Shows how far offline metrics and A/B tests agree: by pairs of runs, by metric, and over all tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from recdash.charts.track_record import track_record
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import CORRECTIONS, capital, listed, many
from recdash.metrics.naming import metric_at
from recdash.online.agreement.agreement import LEAST_RUNS
from recdash.report.sections.online import DIRECTION
from recdash.ui.app import answers, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.offline_online import OfflineOnline
from recdash.ui.components.widgets import table_html

if TYPE_CHECKING:
    import pandas as pd

    from recdash.online.agreement.agreement import Agreement, BestMetric
    from recdash.online.agreement.track_record import TrackRecord

SHOWN_METRICS = 8
MOST_LEFT_OUT = 4
MOST_NAMED = 4

Answer = TypeVar("Answer")


# ── the card ─────────────────────────────────────────────────────────────────────────────────


def card(view: View, sides: OfflineOnline) -> None:
    """Shows in how many pairs offline results picked the online winner, and whether the order of all runs
    agrees.
    """
    agreement: Agreement = answers.answer(
        state.workspace().agreement.of,
        (sides.test.id, view.metric, view.k, sides.online_metric),
        version=_version(view),
    )
    widgets.section("Agreement", f"{agreement.metric} and {sides.online_title.lower()}")
    first, *others = agreement.sentences
    shown = others if len(agreement.runs) > 2 else []  # a rank correlation of two runs is always 1 or −1
    rest = [html('<p class="rd-lead rd-muted">{text}</p>', text=text) for text in shown]
    st.html(html('<p class="rd-lead">{first}</p>{rest}', first=first, rest=join(rest)))
    if agreement.pairs:
        n_runs = many(len(agreement.runs), "run")
        st.caption(f"Every two of {n_runs} make a pair, the control included.", help=pairs_note())


def pairs_note() -> str:
    """Returns a tooltip on which runs make pairs, and when a pair is decided."""
    return (
        "Every two runs make a pair. A pair is decided if its difference is significant offline and online. "
        f"Differences to the control are corrected over all goals, as on Results; pairs of two variants "
        f"are {CORRECTIONS['holm']}-corrected together. "
        "Kendall's τ is 1 if both orders of the runs are the same and −1 if one is the reverse of the other."
    )


# ── the best metric, and the track record ────────────────────────────────────────────────────


def sections(view: View, sides: OfflineOnline) -> None:
    """Shows which offline metric ranked this test's runs best, if they are enough to tell, and how well the
    frame's metric predicted all tests.
    """
    version = _version(view)
    best: BestMetric = answers.answer(
        state.workspace().agreement.best_metric, (sides.test.id, sides.online_metric), version=version
    )
    record: TrackRecord = answers.answer(
        state.workspace().track_records.of,
        (view.metric, view.k, sides.online_metric, sides.test.id),
        version=version,
    )
    if best.n >= LEAST_RUNS:  # of fewer runs, some metric has the online order by chance
        left, right = st.columns([1, 1.5], gap="large")
        with left:
            widgets.section(best_heading(best), best_words(best))
            if any(prediction.tau is not None for prediction in best.predictions):
                st.html(metric_table(best, metric_at(view.metric, view.k)))
    else:
        right = st.container()
    with right:
        widgets.section(record_heading(record), record_words(record, of_all=not state.person().is_guest))
        if record.points:
            unit = "" if record.in_units else ", %"
            change = "difference" if record.in_units else "change"
            offline, online = (DIRECTION if sign < 0 else "" for sign in record.signs)
            titles = (
                f"Offline: {change} in {record.metric}{unit}{offline}",
                f"Online: lift in {sides.online_title}, %{online}",
            )
            chart = track_record(record, sides.test.id, sides.marks, theme.palette(), titles)
            widgets.chart(chart, "track-record", record_alt(record), narrowest=0)
        widgets.note(record_notes(record))
        widgets.table_behind(tidy(record), "track-record")


def best_heading(best: BestMetric) -> str:
    if best.winners:
        more = f" and {len(best.winners) - 1} more" if len(best.winners) > 1 else ""
        return f"{best.winners[0]}{more} predicted this test best"
    if best.p is None:
        return "No metric can be compared with this test"
    return "No metric predicts this test better than chance"


def best_words(best: BestMetric) -> str:
    """Returns a caution on how well the best of so many metrics does by chance."""
    if best.p is None:
        return f"{capital(best.reason)}."
    n, p = len(best.predictions), numbers.p_equals(best.p)
    return f"Exploratory: the best of {n} metrics does as well by chance with {p}."


def metric_table(best: BestMetric, own: str) -> Html:
    """Returns the table of metrics whose order is closest to the online order, with the frame's own
    metric.
    """
    ranked = [
        (prediction.label, prediction.tau) for prediction in best.predictions if prediction.tau is not None
    ]
    listed = ranked[:SHOWN_METRICS] + [row for row in ranked[SHOWN_METRICS:] if row[0] == own]
    rows = [[label, numbers.fixed(tau, 2), _bar(tau)] for label, tau in listed]
    bands = [index for index, (label, _) in enumerate(listed) if label == own]
    columns = [*text_columns("Offline metric"), *number_columns("τ"), *text_columns("Opposite to same order")]
    return table_html(columns, rows, bands=bands, kind="rd-small")


def _bar(tau: float) -> Html:
    """Returns a bar from the middle: to the right for the same order, to the left for the opposite order."""
    return html(
        '<div class="rd-tau" aria-hidden="true"><span class="rd-tau-zero"></span>'
        '<span class="rd-tau-bar" style="left:{left}%;width:{width}%"></span></div>',
        left=f"{50 + 50 * min(tau, 0):.1f}",
        width=f"{50 * abs(tau):.1f}",
    )


# ── the track record ─────────────────────────────────────────────────────────────────────────


def record_heading(record: TrackRecord) -> str:
    if record.n_tests == 1:
        return "Track record: one A/B test so far"
    if not record.called.n:
        return f"Track record: no decided comparison for {record.metric} yet"
    decided = f"{many(record.called.n, 'decided comparison')} with a control"
    return f"Track record: {record.metric} picked the winner in {record.called.right} of {decided}"


def record_words(record: TrackRecord, *, of_all: bool) -> str:
    """Returns the interval of the share of correct predictions, and a sentence on what the points are.

    ``of_all`` is whether the tests are those of all experiments, not only of the one that a guest sees.
    """
    low, high = record.called.low, record.called.high
    share = ""
    if low is not None and high is not None and record.n_tests > 1:
        share = f"That is {numbers.fixed(100 * low, 0)} to {numbers.fixed(100 * high, 0)} % (95 % CI). "
    tests = capital(many(record.n_tests, "A/B test"))
    where = "all experiments" if of_all else "this experiment"
    return (
        f"{share}{tests} of {where}, each variant vs its control. "
        "Hollow: inconclusive offline or online. Crosses: uncorrected 95 % CIs."
    )


def record_notes(record: TrackRecord) -> list[str]:
    """Returns notes on the line, or why there is none, and on which tests have no point."""
    line = record.shown_calibration
    if line is None:
        lines = [f"No line: {record.reason}."]
    else:
        ends = numbers.interval(line.low, line.high, numbers.places([line.low, line.high]))
        lines = [
            f"1 % offline has meant {numbers.three(line.slope)} % online (95 % CI {ends}).",
            "The band contains the true lift of 95 % of new tests, at the usual error of offline results.",
            f"Residual τ = {numbers.three(line.tau)} % (95 % CI {line.tau_text}).",
            "Both the offline and the online errors count (York regression); the CI is clustered by test.",
        ]
    return [*lines, *_left_out(record)]


def _left_out(record: TrackRecord) -> list[str]:
    """Returns a sentence for each reason why tests have no point, with the tests' names."""
    by_reason: dict[str, list[str]] = {}
    for test, reason in record.left_out:
        by_reason.setdefault(reason, []).append(test)
    shown = list(by_reason.items())[:MOST_LEFT_OUT]
    sentences = [
        f"{listed(tests, MOST_NAMED)} {'is' if len(tests) == 1 else 'are'} not shown: {reason}."
        for reason, tests in shown
    ]
    more = len(record.left_out) - sum(len(tests) for _, tests in shown)
    return [*sentences, *([f"{many(more, 'more test')} not shown."] if more else [])]


def record_alt(record: TrackRecord) -> str:
    points = [
        f"{point.run} in {point.test}: {record.offline_text(point)} offline, "
        f"{numbers.signed(point.online, numbers.places([point.online]))} % online"
        for point in record.shown_points[:8]
    ]
    variants, kind = many(len(record.points), "variant"), "difference" if record.in_units else "change"
    return f"Offline {kind} against online lift of {variants}. {'; '.join(points)}."


def tidy(record: TrackRecord) -> pd.DataFrame:
    return record.table()


# ── caching ─────────────────────────────────────────────────────────────────────────────────


def _version(view: View) -> tuple[str, ...]:
    """Returns everything changeable on which the answers depend: tests with their links, baselines, and
    names.
    """
    source = state.workspace()
    experiments = source.experiments.all()
    tests = [repr(test) for experiment in experiments for test in source.online_tests.all(experiment.id)]
    names = [f"{run.id} {run.name}" for run in view.runs]
    return (*map(repr, experiments), *tests, *names)
