"""The form of an analysis plan: a new one, and a change of one with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import streamlit as st

from recdash.errors import InputError, Problem
from recdash.online.plan import POWER, AnalysisPlan, Baseline, PlanHistory, with_sample_size
from recdash.online.plan_texts import guardrails_of, names_of, split_of
from recdash.ui.ab_results import plan_baseline
from recdash.ui.app.state import View, workspace
from recdash.ui.components import idempotent_form, widgets

UNKNOWN, RATE, MEAN, STORED, FILE = "unknown", "rate", "mean", "stored", "file"
KINDS: Mapping[str, str] = {
    UNKNOWN: "Users are given",
    RATE: "A share of users",
    MEAN: "A mean per user",
    STORED: "A stored A/B test",
    FILE: "A file",
}
NARROW, WIDE = 190, 390
COMPUTED = "computed"


@dataclass(frozen=True)
class BaselineFields:
    """What the form says of the primary metric before the test; numbers are None where a box is empty."""

    kind: str
    value: float | None
    std_dev: float | None
    users_per_day: float | None
    read: Baseline | None = None
    """The baseline that a stored A/B test or a file gives."""

    def baseline(self) -> Baseline | None:
        """Returns the baseline; None if the sample size is given instead."""
        if self.read is not None:
            pace = self.users_per_day
            return self.read if pace is None else replace(self.read, users_per_day=pace)
        if self.kind == UNKNOWN or self.value is None:
            return None
        if self.kind == RATE:
            return Baseline.of_rate(self.value / 100, self.users_per_day)
        return Baseline(self.value, self.std_dev or 0.0, users_per_day=self.users_per_day)


def add(view: View) -> None:
    """Draws the form of a new plan, which can compute users and days."""
    form = f"plan-new-{view.experiment.id}"
    known = _known(form)
    with st.form(form, border=False):
        fields = _with_baseline(form, known, AnalysisPlan(known.metric))

        def store(sent: idempotent_form.Sent) -> None:
            workspace().plans.add(view.experiment.id, fields.plan(), **sent)

        idempotent_form.submit(form, "Store plan", store, "Planned.", key=f"{form}-send")


def change(view: View, history: PlanHistory) -> None:
    """Draws the form to change a plan, which asks for the reason and can compute users and days again."""
    form = f"plan-{history.id}-{len(history.versions)}"
    plan = history.current.plan
    st.markdown(
        "**Change the plan.** Each change is kept with its reason, and results name those that were made "
        "late. After a change of the effect, the power or the split, change users and days, too: choose "
        "what is known of the primary metric to compute them again."
    )
    known = _known(form, plan.primary)
    with st.form(form, border=False):
        fields = _with_baseline(form, known, replace(plan, primary=known.metric or plan.primary))
        reason = idempotent_form.text_area(form, "Reason of the change", height=80)

        def store(sent: idempotent_form.Sent) -> None:
            workspace().plans.change(view.experiment.id, history.id, fields.plan(), reason, **sent)

        idempotent_form.submit(form, "Change plan", store, "Changed.", key=f"{form}-send", kind="secondary")


class KnownBefore(NamedTuple):
    """What is known of the primary metric before the test: its kind, one of ``KINDS``; of a stored A/B test
    or a file also the name of the metric and its baseline.
    """

    kind: str
    metric: str = ""
    read: Baseline | None = None


def _known(form: str, primary: str = "") -> KnownBefore:
    """Draws the choice of what is known of the primary metric, and of the A/B test or file that has it."""
    tests = plan_baseline.stored_tests()
    kinds = {kind: title for kind, title in KINDS.items() if tests or kind != STORED}
    kind = widgets.pick("What is known of the primary metric", kinds, UNKNOWN, f"{form}-kind", width=WIDE)
    if kind == STORED:
        return KnownBefore(kind, *plan_baseline.of_stored_test(form, tests, primary))
    if kind == FILE:
        return KnownBefore(kind, *plan_baseline.of_file(form, primary))
    return KnownBefore(kind)


@dataclass(frozen=True)
class SizedPlanFields:
    """The fields of a plan beside those of its baseline."""

    baseline: BaselineFields
    texts: PlanFields

    def plan(self) -> AnalysisPlan:
        """Returns the plan, with users and days by the baseline where they are not given. Raises InputError
        for what is impossible, and without the baseline from which they are to be computed.
        """
        plan, baseline = self.texts.plan(), self.baseline.baseline()
        if baseline is not None:
            return with_sample_size(plan, baseline)
        if self.baseline.kind != UNKNOWN and plan.users is None:
            fix = f"Say what is known of the primary metric, or choose “{KINDS[UNKNOWN]}”."
            raise InputError(Problem("no-baseline", "plan", "nothing to compute a sample size from", fix))
        return plan


def _with_baseline(form: str, known: KnownBefore, plan: AnalysisPlan) -> SizedPlanFields:
    """Draws the fields of a plan; with a baseline, users and days are empty at first, to be computed."""
    baseline = _baseline(form, known.kind, known.read)
    if known.kind == UNKNOWN:
        return SizedPlanFields(baseline, _fields(form, plan, has_size=True))
    plan = replace(plan, users=None, days=None)
    return SizedPlanFields(baseline, _fields(form, plan, has_size=False, suffix=known.metric))


@dataclass(frozen=True)
class PlanFields:
    """What is written in the form of a plan; shares are in %."""

    known: AnalysisPlan
    test: str
    primary: str
    guardrails: str
    effect: float | None
    power: float
    users: int | None
    days: int | None
    looks: int
    split: str
    covariates: str

    def plan(self) -> AnalysisPlan:
        """Returns the plan. Raises InputError for texts that are no margins or shares."""
        return replace(
            self.known,
            test=self.test.strip(),
            primary=self.primary.strip(),
            guardrails=guardrails_of("guardrails", self.guardrails),
            effect=None if self.effect is None else round(self.effect / 100, 10),
            power=round(self.power / 100, 10),
            users=self.users,
            days=self.days,
            looks=self.looks,
            split=split_of("split", self.split),
            covariates=names_of(self.covariates),
        )


def _baseline(form: str, kind: str, read: Baseline | None) -> BaselineFields:
    if kind == UNKNOWN:
        return BaselineFields(kind, None, None, None)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        value = std_dev = None
        if kind in (RATE, MEAN):
            title = "Share of users, %" if kind == RATE else "Mean per user"
            value = st.number_input(title, 0.0, None, None, format="%g", key=f"{form}-value", width=NARROW)
        if kind == MEAN:
            label = "Standard deviation"
            std_dev = st.number_input(
                label, 0.0, None, None, format="%g", key=f"{form}-std-dev", width=NARROW
            )
        pace = st.number_input(
            "Users per day",
            1,
            None,
            None,
            key=f"{form}-pace",
            width=NARROW,
            placeholder=None if read is None or read.users_per_day is None else "as read",
            help="Users who enter the test on a day, over all variants. From them follows the duration.",
        )
    return BaselineFields(kind, value, std_dev, pace, read)


def _fields(form: str, plan: AnalysisPlan, *, has_size: bool, suffix: str = "") -> PlanFields:
    """Draws the fields of a plan. Without ``has_size``, users and days are computed unless they are given.

    With another ``suffix`` the primary metric is that of ``plan`` again; with another ``has_size``, users and
    days are.
    """
    margins = ", ".join(f"{metric}={100 * margin:g}%" for metric, margin in plan.guardrails.items())
    split = ", ".join(f"{variant}={share:g}" for variant, share in plan.split.items())
    empty, size = (None, form) if has_size else (COMPUTED, f"{form}-{COMPUTED}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        primary = st.text_input(
            "Primary metric",
            plan.primary,
            key=f"{form}-primary{suffix}",
            width=NARROW,
            placeholder="engagement_rate",
            help="The metric that decides, by the name that it will have in the results.",
        )
        guardrails = st.text_input(
            "Guardrails with margins",
            margins,
            key=f"{form}-guardrails",
            width=WIDE,
            placeholder="sessions_per_user=2%",
            help="Metrics that must not lose the margin, separated by commas.",
        )
        test = st.text_input(
            "A/B test",
            plan.test,
            key=f"{form}-test",
            width=NARROW,
            placeholder="the next one",
            help="Its name, or how the names of its uploads begin.",
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        effect = st.number_input(
            "Minimum detectable effect, %",
            0.01,
            1000.0,
            None if plan.effect is None else 100 * plan.effect,
            format="%g",
            key=f"{form}-effect",
            width=NARROW + 40,
            help="The smallest lift to detect.",
        )
        users = st.number_input(
            "Users",
            1,
            10**10,
            plan.users,
            key=f"{size}-users",
            width=NARROW,
            placeholder=empty,
            help="Control and variant together.",
        )
        days = st.number_input(
            "Days",
            1,
            3650,
            plan.days,
            key=f"{size}-days",
            width=NARROW,
            placeholder=empty,
            help="In full weeks.",
        )
        looks = st.number_input(
            "Looks",
            1,
            1000,
            plan.looks,
            key=f"{form}-looks",
            width=NARROW - 40,
            help="How often results are looked at, the one at the end included.",
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        power = st.number_input(
            "Power, %",
            50.0,
            99.9,
            100 * (plan.power or POWER),
            format="%g",
            key=f"{form}-power",
            width=NARROW,
        )
        shares = st.text_input(
            "Split",
            split,
            key=f"{form}-split",
            width=NARROW + 40,
            placeholder="even",
            help="Shares of the variants, the control first: control=2, new=1.",
        )
        covariates = st.text_input(
            "Covariates",
            ", ".join(plan.covariates),
            key=f"{form}-covariates",
            width=NARROW + 40,
            placeholder="none",
            help="Values before the test by which lifts are adjusted (CUPED), separated by commas.",
        )
    return PlanFields(plan, test, primary, guardrails, effect, power, users, days, looks, shares, covariates)
