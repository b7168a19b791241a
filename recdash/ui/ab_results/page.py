"""Gathers what the page of an A/B test shows: results, decision, definitions, rules, and marks of
variants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import cycle
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.marks import CONTEXT_GREY, SHAPES, Mark, Marks, colour, shape
from recdash.domain.records import OnlineTest, Run
from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules
from recdash.online.analysis.next_step import NextStep, next_steps
from recdash.online.analysis.plan_check import PlanCheck
from recdash.online.analysis.sample import SampleSummary
from recdash.online.interleaving.results import InterleavingResults
from recdash.stats import Correction
from recdash.ui.ab_results import cached
from recdash.ui.app import links, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import corrections, demo_button, online_tests, widgets

if TYPE_CHECKING:
    import pandas as pd

ROLES = {"goal": "Goals", "guardrail": "Guardrails", "other": "Other metrics"}
PERCENT_FIELDS = (
    "lift", "lift_low", "lift_high", "corrected_low", "corrected_high", "sequence_low", "sequence_high",
    "plain_lift", "plain_low", "plain_high",
)  # fmt: skip


@dataclass(frozen=True)
class AbTest:
    """An A/B test with everything that its page shows.

    ``metrics`` are definitions by name; ``marks`` are by variant, and have the name of the run that it
    served; ``steps`` are what to do next. ``plan`` compares the test with its analysis plan, None without
    one. For aggregated data ``sample`` is None, and ``metrics`` is empty without sums over users.
    """

    test: OnlineTest
    results: OnlineResults
    metrics: Mapping[str, OnlineMetric]
    marks: Marks
    rules: OnlineRules
    sample: SampleSummary | None
    correction: Correction
    steps: tuple[NextStep, ...] = ()
    plan: PlanCheck | None = None

    @property
    def names(self) -> dict[str, str]:
        """Returns {variant: name to show}, which is the name of its run or else its own."""
        return {variant: mark.name for variant, mark in self.marks.items()}

    @property
    def control(self) -> str:
        return self.results.control

    @property
    def challengers(self) -> tuple[str, ...]:
        return tuple(variant for variant in self.results.variants if variant != self.control)

    @property
    def own_metrics(self) -> dict[str, OnlineMetric]:
        """Returns {name: definition} of the test's own metrics: proposed from its columns, or custom."""
        own = state.workspace().online_analysis.own_metrics(self.test.id)
        return {metric.name: metric for metric in own}

    @property
    def has_sums(self) -> bool:
        """Returns True if the test has users, or the sums over users of an aggregated table."""
        return self.sample is not None or bool(self.metrics)

    @property
    def blocked(self) -> bool:
        return self.results.health.blocked

    @property
    def titles(self) -> dict[str, str]:
        """Returns {metric: title}, with goals first, then guardrails, then others."""
        return {row.metric: row.title for role in ROLES for row in self.rows(role)}

    def rows(self, role: str) -> list[OnlineRow]:
        return [row for row in self.results.rows if row.role == role]

    def lifted(self, role: str | None = None) -> list[OnlineRow]:
        """Returns the rows that have a lift, of one role or by default of all."""
        return [row for row in self.results.rows if not row.is_control and (role is None or row.role == role)]

    def is_adjusted(self, metric: str) -> bool:
        """Returns whether CUPED adjusts a lift in this metric."""
        return any(row.metric == metric and row.plain_lift is not None for row in self.results.rows)

    def method_of_parts(self, metric: str) -> str:
        """Returns how the lifts of days and segments differ from those of the table, as a sentence; empty if
        they do not.
        """
        return " Lifts are unadjusted (no CUPED)." if self.is_adjusted(metric) else ""


def no_test() -> None:
    online_tests.tell_gone(())
    may_write = state.person().may("editor")
    uploads, demo = "An editor uploads", ""
    if may_write:
        uploads, demo = "Upload", " The demo, an experiment beside yours, shows one."
    widgets.empty(
        "No A/B test yet",
        f"{uploads} a table with a row per user (variant, and a column for each number such as orders), the "
        f"sessions, the exposures and events, or aggregated results. Results then says which variant to ship."
        f"{demo}",
    )
    with st.container(horizontal=True):
        links.page_button("Upload an A/B test", "upload")
        if may_write:
            demo_button.draw("load-demo", page="ab-results")


def choose(tests: Sequence[OnlineTest]) -> tuple[OnlineTest, Correction]:
    """Draws the choices of the test and of the correction over its goals, and returns both; the URL keeps
    them.
    """
    links.tell_unknown("corr", "correction", corrections.TITLES)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width=420):
            test = online_tests.choose_test(list(tests))
        correction = corrections.choose("Correction over goals")
    return test, correction


def gather(view: View, test: OnlineTest, correction: Correction) -> AbTest:
    """Returns an A/B test with everything that its page shows."""
    results, sample = cached.results(test, correction), cached.sample_summary(test)
    rules = state.workspace().online_tests.rules(test.id)
    runs = {run.id: run for run in state.workspace().runs.all(view.experiment.id, archived=True)}
    runs |= {run.id: run for run in view.runs}
    plan = state.workspace().plans.check(test.id)
    return AbTest(
        test=test,
        results=results,
        metrics=cached.metrics(test),
        marks=variant_marks(results, test.links, runs),
        rules=rules,
        sample=sample,
        correction=correction,
        steps=next_steps(results, rules, sample, plan.binding if plan else None),
        plan=plan,
    )


def variant_marks(
    results: OnlineResults | InterleavingResults, links: Mapping[str, str], runs: Mapping[str, Run]
) -> Marks:
    """Returns {variant: mark} with the name, colour and shape of the run that each variant served.

    A variant without a run is grey, and has a shape that no run here has. If two variants served the same
    run, the variant's name follows the run's.
    """
    served = {name: runs[links[name]] for name in results.variants if links.get(name) in runs}
    taken = {shape(run.slot) for run in served.values()}
    free = cycle([name for name in SHAPES if name not in taken] or SHAPES)
    marks = {}
    times_served = Counter(run.id for run in served.values())
    for name in results.variants:
        run = served.get(name)
        title = name if run is None else run.name
        if run is not None and times_served[run.id] > 1:
            title = f"{run.name} ({name})"
        if name == results.control:
            marks[name] = Mark(name, title, theme.palette().baseline, "circle", "baseline")
        elif run is not None:
            marks[name] = Mark(name, title, colour(run.slot), shape(run.slot), "candidate")
        else:
            marks[name] = Mark(name, title, CONTEXT_GREY, next(free), "candidate")
    return marks


def tidy(ab_test: AbTest) -> pd.DataFrame:
    """Returns all numbers of the results as a frame, with lifts in %."""
    import pandas as pd

    rows = pd.DataFrame(ab_test.results.rows, columns=[field.name for field in fields(OnlineRow)])
    for name in PERCENT_FIELDS:
        rows[name] = [None if share is None else 100 * share for share in rows[name]]
    return rows.rename(columns={name: f"{name}_percent" for name in PERCENT_FIELDS}).convert_dtypes()
