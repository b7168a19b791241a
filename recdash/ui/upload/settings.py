"""The choices for all files together: experiment, baseline, relevance, depth and A/B test; others under
"Advanced".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from recdash.definitions.conventions import POPULATION
from recdash.domain.kinds import Duplicates
from recdash.domain.records import Experiment
from recdash.evaluation.uploads import shared_name
from recdash.formatting.html import as_label, markdown
from recdash.formatting.names import same_names
from recdash.formatting.wording import many
from recdash.ingest.file_names import plain_name
from recdash.service.catalog.intake import IntakePlan, RelevancePlan, TestPlan
from recdash.ui.app import state
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets
from recdash.ui.upload import metric_choices, purposes, words
from recdash.ui.upload.online_rules import rules_boxes, zone_box
from recdash.ui.upload.state import UploadState

NEW = ""
Meaning = Literal["each", "seeds", "folds"]
MEANINGS: Mapping[Meaning, str] = {
    "each": "one candidate each",
    "seeds": "seeds of one candidate",
    "folds": "folds of one candidate",
}
MEANING_HELP = (
    "Seeds serve the same users again: the candidate is their mean, user by user. Folds divide the users: "
    "each file has lists for users of its own. Either way the spread over the files is shown."
)
REPEATED_ITEMS: Mapping[Duplicates, str] = {
    "first": "first: it counts once, at its better position",
    "keep": "keep: it counts at each position",
}
WIDTH = 260


# ── the experiment ───────────────────────────────────────────────────────────────────────────


def suggested_experiment(
    plan: IntakePlan,
    experiments: Mapping[str, Experiment],
    viewed_id: str | None,
    runs: Callable[[str], Sequence[str]] = lambda _: (),
) -> str | None:
    """Returns the id of the experiment to which the files are added by default; None for a new one.

    A test set makes a new experiment, unless the one viewed before (``viewed_id``) has none yet. Files added
    from a page of the demo make a new one, too. An A/B test alone is added to the experiment in which most of
    its variants are named like a run, the newest of several. ``runs(id)`` returns the names of an
    experiment's runs.
    """
    viewed = experiments.get(viewed_id or "")
    if any("truth" in (file.kind, file.kind or file.sorted.kind) for file in plan.used):
        waits = viewed is not None and viewed.truth is None and not viewed.demo
        return viewed_id if waits else None
    own = [experiment for experiment in experiments.values() if not experiment.demo]
    if viewed_id in {experiment.id for experiment in own}:
        return viewed_id
    if plan.is_ab_only:
        return _served_runs_of(plan, own, runs)
    with_test_set = [experiment for experiment in own if experiment.truth is not None]
    if not with_test_set:
        return None
    return max(with_test_set, key=lambda experiment: experiment.created).id


def _served_runs_of(
    plan: IntakePlan, experiments: Sequence[Experiment], runs: Callable[[str], Sequence[str]]
) -> str | None:
    """Returns the experiment whose runs the variants of an A/B test are named like; None without one."""
    variants = [variant for test in plan.tests for variant in test.variants]
    newest_first = sorted(experiments, key=lambda experiment: experiment.created, reverse=True)
    same = {own.id: len(same_names(variants, runs(own.id))) for own in newest_first}
    best = max(same, key=same.__getitem__, default=None)
    return best if best is not None and same[best] else None


def _bound(upload: UploadState, name: str, value: Any, change: Callable[[Any], None]) -> dict[str, Any]:
    """Returns the arguments of a widget that shows ``value``, and calls ``change`` with a new value."""
    key = upload.key(name)
    st.session_state[key] = value
    return {"key": key, "on_change": lambda: change(st.session_state[key])}


def show(upload: UploadState, plan: IntakePlan) -> None:
    """Draws the important choices on one or two lines, and the others in an expander."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="upload-settings"):
        _choose_experiment(upload, plan)
        if plan.run_names and not _has_baseline(plan):
            _choose_baseline(upload, plan)
        if plan.test is not None:
            _choose_test(upload, plan.test)
        if _has_own_test_set(plan):
            _choose_definitions(upload, plan)
    if _has_own_test_set(plan) and plan.relevance is not None:
        said = f"{plan.relevance.reason} {words.relevance_effect(plan.relevance)}"
        st.caption(markdown(f"{said.strip()} {words.gain_of_grades(plan.relevance)}"))
    if served := words.served_runs(plan):
        st.caption(markdown(served))
    for test in plan.tests:
        _choose_links(upload, plan, test)
    if plan.test is not None:
        if plan.test.analysis is not None:
            st.caption(markdown(words.planned_metrics(plan.test.analysis)))
        if plan.test.is_proposed:
            purposes.boxes(upload, plan.test.purposes)
        metric_choices.boxes(upload, plan.settings.choices, plan.test)
    with st.expander("Advanced"):
        _show_advanced(upload, plan)


def _choose_experiment(upload: UploadState, plan: IntakePlan) -> None:
    experiments = {experiment.id: experiment.name for experiment in workspace().experiments.all()}

    def choose(experiment_id: str) -> None:
        upload.target = experiment_id
        upload.change_plan(lambda plan: plan.with_experiment(experiment_id or None))

    if experiments:
        titles = {NEW: "New experiment", **experiments}
        box = _bound(upload, "for_experiment", plan.experiment_id or NEW, choose)
        st.selectbox("Add to", **widgets.titled(titles), width=WIDTH, **box)
    if plan.experiment_id is None:
        name = _bound(
            upload,
            "experiment_name",
            plan.name,
            lambda text: upload.change_settings(name=text.strip() or None),
        )
        st.text_input("Name of the experiment", width=WIDTH, max_chars=200, **name)


def run_names(experiment_id: str) -> list[str]:
    """Returns the names of an experiment's runs."""
    return [run.name for run in workspace().runs.all(experiment_id)]


def _has_baseline(plan: IntakePlan) -> bool:
    if plan.experiment_id is None:
        return False
    return workspace().experiments.get(plan.experiment_id).baseline is not None


def _choose_baseline(upload: UploadState, plan: IntakePlan) -> None:
    names = dict.fromkeys(plan.run_names)
    chosen = plan.baseline if plan.baseline in names else None
    box = _bound(upload, "baseline", chosen, lambda name: upload.change_settings(baseline=name))
    hint = "What you would otherwise ship, such as popular items or what runs in production."
    st.selectbox(
        "Baseline", list(names), width=WIDTH, placeholder="Choose the baseline", index=None, help=hint, **box
    )


def _choose_test(upload: UploadState, test: TestPlan) -> None:
    name = _bound(
        upload, "online_name", test.name, lambda text: upload.change_settings(test_name=text.strip() or None)
    )
    st.text_input(f"Name of the {words.test_noun(test)}", width=WIDTH, max_chars=200, **name)
    if test.variants:
        hint = "The variant that the others are compared with."
        box = _bound(upload, "control", test.control, lambda control: upload.change_settings(control=control))
        st.selectbox("Control", list(test.variants), width=WIDTH, help=hint, **box)


# ── relevance and depth ──────────────────────────────────────────────────────────────────────


def _has_own_test_set(plan: IntakePlan) -> bool:
    """Returns whether one of the files is a test set."""
    return bool(plan.of_kind("truth"))


def _choose_definitions(upload: UploadState, plan: IntakePlan) -> None:
    if plan.relevance is not None:
        _choose_threshold(upload, plan.relevance)
    if plan.depth is not None:
        box = _bound(
            upload, "depth", plan.depth.depth, lambda depth: upload.change_settings(depth=int(depth))
        )
        hint = f"The longest cutoff k that is kept. {plan.depth.reason}".strip()
        st.number_input("List depth", 1, 10_000, step=10, width=140, help=markdown(hint), **box)


def _choose_threshold(upload: UploadState, relevance: RelevancePlan) -> None:
    # 0 counts every row above 0; the box shows that as empty
    box = _bound(
        upload,
        "threshold",
        relevance.threshold or None,
        lambda least: upload.change_settings(threshold=least or 0.0),
    )
    st.number_input(
        f"Relevant from {as_label(relevance.column)} of",
        value=None,
        placeholder="above 0",
        width=WIDTH,
        format="%g",
        help="Rows of the test set with at least this value count as relevant.",
        **box,
    )


# ── advanced ─────────────────────────────────────────────────────────────────────────────────


def _show_advanced(upload: UploadState, plan: IntakePlan) -> None:
    if len(plan.of_kind("run")) > 1:
        _choose_meaning(upload, plan)
    if _has_own_test_set(plan):
        _choose_rules(upload, plan)
    if plan.experiment_id is None:
        note = _bound(
            upload,
            "experiment_note",
            plan.settings.note,
            lambda text: upload.change_settings(note=text.strip()),
        )
        st.text_input("Note on the experiment", **note)
    _choose_refused(upload, plan)
    if plan.test is not None:
        _show_test_options(upload, plan, plan.test)


def _choose_refused(upload: UploadState, plan: IntakePlan) -> None:
    """Shows a box to choose the notices with which files are refused; none without notices."""
    codes = words.refusable(plan)
    if codes:
        box = _bound(
            upload,
            "refuse",
            list(plan.settings.refuse),
            lambda chosen: upload.change_settings(refuse=tuple(chosen)),
        )
        hint = "A file with one of these notices then has a problem, so that nothing is stored with it."
        st.multiselect("Refuse files with", codes, format_func=words.notice_name, help=hint, **box)


def _choose_meaning(upload: UploadState, plan: IntakePlan) -> None:
    files = plan.of_kind("run")
    meaning: Meaning = "each"
    if len({file.run for file in files}) == 1:
        meaning = "folds" if plan.settings.replicates == "folds" else "seeds"

    names = [plan.choice(file.key).run or plain_name(file.file_name) for file in files]

    def choose(chosen: Meaning) -> None:
        together = None if chosen == "each" else shared_name(names) or names[0]
        for file in files:
            upload.choose(file.key, run=together)
        upload.change_settings(replicates=None if chosen == "each" else chosen)

    box = _bound(upload, "meaning", meaning, choose)
    label = f"The {many(len(files), 'file')} of recommendations are"
    st.segmented_control(label, **widgets.titled(MEANINGS), required=True, help=MEANING_HELP, **box)


def _choose_rules(upload: UploadState, plan: IntakePlan) -> None:
    settings = plan.settings
    with st.container(horizontal=True, gap="small"):
        if plan.relevance is not None or settings.relevance == "none":
            titles = {"": "by its column", "none": "every row is relevant"}
            box = _bound(
                upload,
                "relevance",
                settings.relevance or "",
                lambda way: upload.change_settings(relevance=way or None),
            )
            st.selectbox("Relevance", **widgets.titled(titles), width=WIDTH, **box)
        users = {rule: f"{rule}: {meaning}" for rule, meaning in POPULATION.items()}
        box = _bound(upload, "users_rule", settings.users, lambda rule: upload.change_settings(users=rule))
        hint = "For accuracy. The rule of an experiment is fixed."
        st.selectbox("Users who count", **widgets.titled(users), width=WIDTH, help=hint, **box)
        box = _bound(
            upload,
            "duplicates_rule",
            settings.duplicates,
            lambda rule: upload.change_settings(duplicates=rule),
        )
        st.selectbox("An item that a list repeats", **widgets.titled(REPEATED_ITEMS), width=WIDTH, **box)


def _show_test_options(upload: UploadState, plan: IntakePlan, test: TestPlan) -> None:
    if not test.is_proposed:
        purposes.boxes(upload, test.purposes)
    metric_choices.covariate_boxes(upload, plan.settings.choices, test)
    if test.kind not in ("aggregates", "interleaving"):
        zone_box(upload, plan.settings.zone)
        rules_boxes(upload, test, plan.settings.rules)


def _choose_links(upload: UploadState, plan: IntakePlan, test: TestPlan) -> None:
    """Shows boxes to choose the run that each variant served; none if there is no run to link."""
    names = workspace().intake.runs_to_link(plan)
    if not names or not test.variants:
        return
    _tell_links(plan.settings.links, test)
    with st.container(horizontal=True, gap="small"):
        for number, variant in enumerate(test.variants):
            # a variant of both tests is linked once
            key = f"{test.kind}_{number}" if test is plan.interleaved else str(number)
            _choose_link(upload, plan, key, variant, names)


def _tell_links(links: Mapping[str, str] | None, test: TestPlan) -> None:
    """Says what the boxes are for, and what it means if no variant other than control is linked."""
    if links and any(links.get(variant) for variant in test.variants):
        st.caption("Which run each variant served, suggested where the names are the same:")
        return
    st.warning(
        "Choose which run each variant served: no name of a variant is that of a run. Variants that are not "
        "linked do not count for the recommendation. You can link them later on *Results* or *Runs*."
    )


def _choose_link(upload: UploadState, plan: IntakePlan, place: str, variant: str, names: list[str]) -> None:
    links = dict(plan.settings.links or {})

    def choose(name: str) -> None:
        others = {own: run for own, run in links.items() if own != variant}
        upload.change_settings(links={**others, variant: name} if name else others)

    box = _bound(upload, f"link_{place}", links.get(variant, ""), choose)
    titles = {"": "not linked", **{name: name for name in names}}
    st.selectbox(f"{as_label(variant)} served", **widgets.titled(titles), width=WIDTH, **box)


def viewed_experiment_id() -> str | None:
    """Returns the id of the experiment that was viewed before this page; None if there was none."""
    return state.params().get("e")
