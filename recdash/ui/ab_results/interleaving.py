"""Shows interleaving tests: which of two rankings users prefer, whether to trust it, and the users needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from recdash.charts.marks import Marks
from recdash.domain.records import OnlineTest
from recdash.formatting import numbers, tables
from recdash.formatting.html import markdown
from recdash.formatting.result_table import ResultTable
from recdash.formatting.tables import Cell, Column, Number, number_columns, text_columns
from recdash.formatting.wording import many
from recdash.online.interleaving import wording
from recdash.online.interleaving.power import Sensitivity
from recdash.online.interleaving.results import InterleavingResults
from recdash.online.interleaving.team_split import MISMATCH_BELOW
from recdash.service.online.interleaving import LiftOfPair
from recdash.ui.ab_results.health import HealthCheck, checks_html
from recdash.ui.ab_results.page import variant_marks
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.actions import attempt
from recdash.ui.components.notice_words import of_stored
from recdash.ui.components.variant_links import link_form

GUIDE = ("interleaving", "interleaving tests")
NOT_LINKED = (
    "No ranking of this test is linked to a run, so Offline vs online does not show it beside the runs. "
    "Choose the run of each ranking."
)


@dataclass(frozen=True)
class InterleavingTest:
    """A stored interleaving test with everything that its block shows; ``marks`` are by ranking."""

    test: OnlineTest
    results: InterleavingResults
    marks: Marks
    lifts: Sequence[tuple[LiftOfPair, Sensitivity]]

    @property
    def a(self) -> str:
        return self.marks[self.results.a].name

    @property
    def b(self) -> str:
        return self.marks[self.results.b].name


def gather(view: View) -> list[InterleavingTest]:
    """Returns the interleaving tests of the experiment in view, the newest first."""
    service = state.workspace().interleaving
    runs = {run.id: run for run in state.workspace().runs.all(view.experiment.id, archived=True)}
    runs |= {run.id: run for run in view.runs}
    tests = []
    for test in service.all(view.experiment.id):
        results = service.results(test.id)
        marks = variant_marks(results, test.links, runs)
        tests.append(InterleavingTest(test, results, marks, service.sensitivities(test.id)))
    return tests


def show(view: View, tests: Sequence[InterleavingTest]) -> None:
    """Draws a block for each interleaving test; nothing without one."""
    for number, test in enumerate(tests):
        st.html('<hr class="rd-rule">')
        widgets.section(finding(test), subtitle(test), links.explained(view, *GUIDE))
        _show(test, number)


def show_alone(view: View, tests: Sequence[InterleavingTest]) -> None:
    """Draws the page of an experiment that has interleaving tests and no A/B test."""
    newest, *others = tests
    widgets.title(finding(newest), subtitle(newest), links.explained(view, *GUIDE))
    _show(newest, len(others))
    show(view, others)


def _show(test: InterleavingTest, number: int) -> None:
    for warning in test.results.warnings:
        st.error(widgets.problem_text(warning))
    st.html(checks_html(checks(test), {}))
    columns, rows = wording.measure_columns(test.b), wording.measure_rows(test.results)
    st.html(widgets.stacked_table_html(columns, rows, label=f"Preference in {test.test.name}"))
    widgets.note(wording.reading(test.results, test.b))
    _parts_of_requests(test)
    if not test.test.links:
        _link(test.test)
    if test.lifts:
        widgets.section(
            "Users needed: interleaved or A/B", "To find what each test has seen, with a power of 80 %."
        )
        columns = (
            *text_columns("A/B test", "Metric"),
            *number_columns("Lift", "A/B test needs", "Interleaving needs", "Times as many", "95 % CI"),
        )
        label = "Users needed by either kind of test"
        st.html(widgets.stacked_table_html(columns, sensitivity_rows(test), label=label))
    if test.test.notices:
        with st.expander(f"Notices of this interleaving test ({len(test.test.notices)})"):
            widgets.notices(of_stored(test.test.notices))
    _change(test)
    widgets.table_behind(test.results.table(), f"interleaving-{number}", "Table of the interleaving test")
    for name, table in parts(test.results).items():
        widgets.table_behind(table.table(), f"interleaving-{name}-{number}", table.title)


def parts(results: InterleavingResults) -> dict[str, ResultTable]:
    """Returns {name: table} of the preference by segment and by day, where the table has attributes and
    times.
    """
    labels = results.requests.labels
    tables = {"segments": results.segments()} if labels.segments else {}
    return tables if labels.day is None else {**tables, "days": results.days("daily")}


def _parts_of_requests(test: InterleavingTest) -> None:
    """Draws a table of the preference in the segments of each attribute, and one of days, where the upload
    has them.
    """
    results, labels = test.results, test.results.requests.labels
    for attribute in sorted(labels.segments):
        columns, rows = wording.segment_columns(attribute, test.b), wording.segment_rows(results, attribute)
        _part(f"By {attribute}", test, columns, rows, wording.segment_note(attribute))
    if labels.day is not None:
        days, note = wording.latest_days(results)
        _part("By day", test, wording.day_columns(test.b), days, note)


def _part(
    title: str, test: InterleavingTest, columns: Sequence[Column], rows: list[list[Cell]], note: str
) -> None:
    widgets.section(title, note)
    st.html(widgets.stacked_table_html(columns, rows, label=f"{title}: preference in {test.test.name}"))


def _link(test: OnlineTest) -> None:
    """Draws the boxes that link the rankings to runs, and what for; nothing without runs, or for people who
    may not.
    """
    workspace = state.workspace()
    runs = workspace.runs.all(test.experiment, archived=True)
    if runs and workspace.person.may("editor"):
        st.info(NOT_LINKED)
        link_form(workspace, test, runs)


def _change(test: InterleavingTest) -> None:
    """Draws the forms with which editors link the rankings to runs and choose the control."""
    workspace = state.workspace()
    runs = workspace.runs.all(test.test.experiment, archived=True)
    if not workspace.person.may("editor"):
        return
    with st.expander("Change this interleaving test"):
        if runs and test.test.links:
            link_form(workspace, test.test, runs)
        other = test.results.b
        label = f"Compare with {markdown(other)} instead"
        if st.button(label, key=f"interleaving-control-{test.test.id}"):
            attempt(lambda: workspace.interleaving.set_control(test.test.id, other))


def finding(test: InterleavingTest) -> str:
    """Returns the headline of the test."""
    return wording.headline(test.results, test.a, test.b)


def subtitle(test: InterleavingTest) -> str:
    """Returns the line below the headline."""
    return f"{test.test.name} · {wording.size(test.results)}"


def checks(test: InterleavingTest) -> list[HealthCheck]:
    """Returns the checks of the teams, and how many requests were credited."""
    results, split = test.results, test.results.split
    wins = results.wins
    share = numbers.share(results.n_credited, results.n_requests)
    outcome = f"{test.a} won {wins['a']:,}, {test.b} {wins['b']:,}, {many(wins['tie'], 'tie')}"
    if split.first is None:
        first = HealthCheck("First picks", "unknown", "not known", split.unchecked)
        slots = HealthCheck("Slots", "unknown", "not known", split.unchecked)
    else:
        first = _check("First picks", split.first, split.first_p, split.unchecked)
        slots = _check("Slots", split.more_slots, split.slots_p, split.unchecked or "by design uneven")
    return [first, slots, HealthCheck("Credited requests", "good", share, outcome)]


def _check(title: str, sides: tuple[int, int] | None, p: float | None, unchecked: str) -> HealthCheck:
    if sides is None or p is None:
        return HealthCheck(title, "unknown", "not known", unchecked)
    is_uneven = p < MISMATCH_BELOW
    counts = f"{sides[0]:,} and {sides[1]:,} requests, {numbers.p_equals(p)}"
    if not any(sides):
        counts = "as many in every request"
    return HealthCheck(title, "bad" if is_uneven else "good", "uneven" if is_uneven else "even", counts)


def sensitivity_rows(test: InterleavingTest) -> list[list[Cell]]:
    """Returns a row per goal of each A/B test of the same pair of runs."""
    rows: list[list[Cell]] = []
    for pair, compared in test.lifts:
        interval: Cell = numbers.NONE
        if compared.low is not None:
            low = numbers.three(compared.low)
            end = f"from {low}" if compared.high is None else f"{low} to {numbers.three(compared.high)}"
            interval = end
        rows.append(
            [
                pair.test.name,
                str(pair.row["title"]),
                Number(pair.row["lift"], 1, sign=True, unit=tables.PERCENT, scale=100),
                numbers.count(compared.ab_users),
                numbers.count(compared.interleaving_users),
                Number(compared.ratio, 1, style="factor", why=compared.note),
                interval,
            ]
        )
    return rows
