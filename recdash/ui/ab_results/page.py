"""One A/B test as its page shows it: results, definitions, rules, and what each variant looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import cycle
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.marks import CONTEXT_GREY, SHAPES, Mark, Marks, colour, shape
from recdash.domain.records import OnlineTest, Run
from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules
from recdash.online.analysis.sample import SampleSummary
from recdash.stats import Correction
from recdash.ui.ab_results import cached
from recdash.ui.app import links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import corrections, online_tests, widgets

if TYPE_CHECKING:
    import pandas as pd

ROLES = {"goal": "Goals", "guardrail": "Guardrails", "other": "Others"}
PERCENT_FIELDS = (
    "lift", "lift_low", "lift_high", "corrected_low", "corrected_high", "sequence_low", "sequence_high",
    "plain_lift", "plain_low", "plain_high",
)  # fmt: skip


@dataclass(frozen=True)
class AbTest:
    """``metrics``: definitions by name, none for a test of aggregates; ``marks`` by variant.

    ``census`` is None where users are not known one by one.
    """

    test: OnlineTest
    results: OnlineResults
    metrics: Mapping[str, OnlineMetric]
    marks: Marks
    rules: OnlineRules
    census: SampleSummary | None
    correction: Correction

    @property
    def control(self) -> str:
        return self.results.control

    @property
    def challengers(self) -> tuple[str, ...]:
        return tuple(variant for variant in self.results.variants if variant != self.control)

    @property
    def blocked(self) -> bool:
        return self.results.health.blocked

    @property
    def titles(self) -> dict[str, str]:
        """Metric → title: goals, guardrails, others."""
        return {row.metric: row.title for role in ROLES for row in self.rows(role)}

    def rows(self, role: str) -> list[OnlineRow]:
        return [row for row in self.results.rows if row.role == role]

    def lifted(self, role: str | None = None) -> list[OnlineRow]:
        """Rows of a role, or of all, but the control's."""
        return [row for row in self.results.rows if not row.is_control and (role is None or row.role == role)]

    def is_adjusted(self, metric: str) -> bool:
        """Whether CUPED adjusts a lift in this metric."""
        return any(row.metric == metric and row.plain_lift is not None for row in self.results.rows)


def no_test() -> None:
    widgets.empty(
        "No A/B test yet",
        "Upload its sessions, its exposures and events, or a table that is added up already. "
        "The demo brings one along too.",
    )
    with st.container(horizontal=True):
        links.offer("Upload an online test", "upload")
        if state.person().may("editor") and st.button("Load the demo", key="load-demo"):
            state.show_experiment(state.workspace().demo.load().id)
            st.rerun()


def choose(tests: Sequence[OnlineTest]) -> tuple[OnlineTest, Correction]:
    """The test, by the same parameter as on Offline vs online, and the correction of its goals."""
    links.tell_unknown("corr", "correction", corrections.TITLES)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=420):
            test = online_tests.choose_test(list(tests))
        correction = corrections.choose("Correction of the goals")
    return test, correction


def gather(view: View, test: OnlineTest, correction: Correction) -> AbTest:
    results = cached.results(test, correction)
    runs = {run.id: run for run in state.workspace().runs.all(view.experiment.id, archived=True)}
    runs |= {run.id: run for run in view.runs}
    return AbTest(
        test=test,
        results=results,
        metrics=cached.metrics(test),
        marks=variant_marks(results, test.links, runs),
        rules=state.workspace().online_tests.rules(test.id),
        census=cached.census(test),
        correction=correction,
    )


def variant_marks(results: OnlineResults, links: Mapping[str, str], runs: Mapping[str, Run]) -> Marks:
    """Variant → mark: colour and shape of the run that it served.

    Variants linked to no run are grey, with shapes that no run here has.
    """
    served = {name: runs[links[name]] for name in results.variants if links.get(name) in runs}
    taken = {shape(run.slot) for run in served.values()}
    free = cycle([name for name in SHAPES if name not in taken] or SHAPES)
    marks = {}
    for name in results.variants:
        if name == results.control:
            marks[name] = Mark(name, name, theme.palette().baseline, "circle", "baseline")
        elif run := served.get(name):
            marks[name] = Mark(name, name, colour(run.slot), shape(run.slot), "candidate")
        else:
            marks[name] = Mark(name, name, CONTEXT_GREY, next(free), "candidate")
    return marks


def tidy(ab_test: AbTest) -> pd.DataFrame:
    """Every number of the results; lifts in %."""
    import pandas as pd

    rows = pd.DataFrame(ab_test.results.rows, columns=[field.name for field in fields(OnlineRow)])
    for name in PERCENT_FIELDS:
        rows[name] = [None if share is None else 100 * share for share in rows[name]]
    return rows.rename(columns={name: f"{name}_percent" for name in PERCENT_FIELDS}).convert_dtypes()
