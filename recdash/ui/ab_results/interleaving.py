"""Shows interleaving tests: which of two rankings users prefer, whether to trust it, and the users needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from recdash.charts.marks import Marks
from recdash.domain.records import OnlineTest
from recdash.formatting import numbers, tables
from recdash.formatting.html import markdown
from recdash.formatting.tables import Cell, Interval, Number, Word, number_columns, text_columns
from recdash.formatting.wording import many
from recdash.online.interleaving.power import PREFERENCES
from recdash.online.interleaving.results import MEASURES, InterleavingResults
from recdash.online.interleaving.team_split import MISMATCH_BELOW
from recdash.service.online.interleaving import LiftOfPair
from recdash.ui.ab_results.health import HealthCheck, checks_html
from recdash.ui.ab_results.page import variant_marks
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.actions import attempt
from recdash.ui.components.variant_links import link_form

METHODS = {
    "team draft": "team draft: clicks on the items of each ranking",
    "balanced": "balanced: clicks down to the depth at which all clicked items are seen",
    "credits": "credits given in the table",
}
"""Method → how credits were assigned."""
GUIDE = ("interleaving", "interleaving tests")


@dataclass(frozen=True)
class InterleavingTest:
    """A stored interleaving test with everything that its block shows; ``marks`` are by ranking."""

    test: OnlineTest
    results: InterleavingResults
    marks: Marks
    lifts: Sequence[LiftOfPair]

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
    columns = (
        *text_columns("Measure"),
        *number_columns(f"Preference for {test.b}", "95 % CI", "p"),
        *text_columns("Finding"),
        *number_columns("Users"),
    )
    st.html(widgets.stacked_table_html(columns, measure_rows(test), label=f"Preference in {test.test.name}"))
    widgets.note(reading(test))
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
            widgets.notices(test.test.notices)
    _change(test)
    widgets.table_behind(test.results.table(), f"interleaving-{number}", "Table of the interleaving test")


def _change(test: InterleavingTest) -> None:
    """Draws the forms with which editors link the rankings to runs and choose the control."""
    workspace = state.workspace()
    runs = workspace.runs.all(test.test.experiment, archived=True)
    if not workspace.person.may("editor"):
        return
    with st.expander("Change this interleaving test"):
        if runs:
            link_form(workspace, test.test, runs)
        other = test.results.b
        label = f"Compare with {markdown(other)} instead"
        if st.button(label, key=f"interleaving-control-{test.test.id}"):
            attempt(lambda: workspace.interleaving.set_control(test.test.id, other))


def finding(test: InterleavingTest) -> str:
    """Returns the headline of the test."""
    results = test.results
    if results.reason:
        return f"Interleaved, {test.b} against {test.a}: no verdict, {results.reason}"
    if results.finding == "not settled":
        return f"Interleaved, users show no significant preference between {test.a} and {test.b}"
    better, worse = (test.b, test.a) if results.finding == "better" else (test.a, test.b)
    return f"Interleaved, users prefer {better} to {worse}"


def subtitle(test: InterleavingTest) -> str:
    """Returns the line below the headline."""
    results = test.results
    requests = f"{results.n_requests:,} requests of {numbers.users(results.n_users)}"
    return f"{test.test.name} · {requests} · {METHODS[results.method]}"


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


def measure_rows(test: InterleavingTest) -> list[list[Cell]]:
    """Returns a row per measure: the preference, its interval, p, the finding and the users."""
    rows: list[list[Cell]] = []
    for place, row in enumerate(test.results.rows):
        values = [row.share, row.low, row.high]
        digits = numbers.places(None if value is None else 100 * value for value in values)
        share, low, high = (
            Number(value, digits, unit=tables.PERCENT, scale=100, why=row.note) for value in values
        )
        word: Cell = tables.muted("for information")
        if place == 0:
            word = _finding_word(test.results)
        p = Number(row.p, style="p", why=row.note)
        rows.append([MEASURES[row.measure], share, Interval(low, high), p, word, Number(row.n_users)])
    return rows


def _finding_word(results: InterleavingResults) -> Word:
    if results.finding == "not judged":
        return Word("!", "not judged", "worse")
    return tables.finding(results.finding)


def sensitivity_rows(test: InterleavingTest) -> list[list[Cell]]:
    """Returns a row per goal of each A/B test of the same pair of runs."""
    rows: list[list[Cell]] = []
    for pair in test.lifts:
        compared = pair.sensitivity
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


def reading(test: InterleavingTest) -> list[str]:
    """Returns notes on how to read the preference, and what the test can find."""
    meaning = (
        f"Preference: the share of credited requests that {test.b} won; ties count half, and 50 % is no "
        "preference. p and interval are by user, from one sign-flip test."
    )
    lines = [meaning]
    if test.results.detectable is not None:
        needed = [(share, test.results.users_for(share)) for share in PREFERENCES]
        texts = [f"{100 * share:.0f} % needs {numbers.users(count)}" for share, count in needed if count]
        smallest = numbers.fixed(100 * test.results.detectable, 1)
        lines.append(
            f"Power 80 %: this test finds a preference of {smallest} %; {'; '.join(texts)} with a click."
        )
    return lines
