"""The frame above every page with numbers: experiment, metric and k, baseline, candidates, and users."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import streamlit as st

from recdash.domain.defaults import MOST_CANDIDATES, USUAL_K
from recdash.domain.records import Experiment, OnlineTest
from recdash.formatting.html import html, markdown
from recdash.formatting.wording import listed, many, unavailable
from recdash.metrics.naming import metric_at, metric_title
from recdash.ui.app import links, state
from recdash.ui.app.state import SEPARATOR, View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import empty
from recdash.ui.sharing import popover as sharing
from recdash.ui.shell import first_run, header, iframe, scope_picker
from recdash.ui.shell.purposes import ANY, PURPOSES

Part = Literal["metric", "baseline", "candidates"]
PARTS: Collection[Part] = ("metric", "baseline", "candidates")
REPAIR = "Upload the files of the runs again, or restore them from a backup."
NAME_LENGTH, BASE_LENGTH = 36, 18
"""The maximum length of a name and of the baseline's on a button of the frame; a longer one is shortened in
the middle.
"""

COPY_LINK = (
    '<button type="button" class="rd-copy-link" data-copied="{copied}" '
    'title="For people who can open this dashboard">'
    '<span aria-live="polite">Copy link</span></button>'
)
"""A button; at a click page.js copies the address of the view, and shows what is in ``data-copied``."""


def show(
    *,
    scoped: bool = False,
    without_runs: bool = False,
    with_lists: bool = False,
    parts: Collection[Part] = PARTS,
) -> View:
    """Draws the frame and returns the view.

    Without an experiment or a run, says what to do and ends this run of the page.

    ``scoped`` is whether the page follows the chosen part of the users and items. ``without_runs`` is whether
    the page can show an experiment without runs. ``with_lists`` is whether it reads stored uploads; runs
    whose upload is missing or damaged are then left out and named. ``parts`` are the choices that change the
    page.
    """
    experiment, view = _draw_frame(scoped=scoped, with_lists=with_lists, parts=parts)
    damage = state.workspace().damaged(experiment.id)
    state.below_title(lambda: widgets.damaged(damage))
    if view is None:
        _write_experiment(experiment)
    if view is None and without_runs:
        return state.view_without_runs(experiment)
    if view is None:
        no_runs(experiment)
        state.stop()
    missing = view.missing
    if state.workspace().person.may("editor"):
        refused = (str(problem).rstrip(".") for problem in state.workspace().definitions.refused_metrics())
        missing = (*missing, *refused)
    state.below_title(lambda: state.warn(missing))
    return view


def _draw_frame(*, scoped: bool, with_lists: bool, parts: Collection[Part]) -> tuple[Experiment, View | None]:
    """Draws the frame; ends this run of the page if there is no experiment, or the link's experiment is
    unknown.
    """
    experiments = state.workspace().experiments.all()
    if not experiments:
        widgets.damaged(state.workspace().damaged())
        if "e" in state.params():
            _warn_unknown("Nothing is stored here now.")
        first_run.show()
        state.stop()
    experiment = _experiment(experiments)
    view = state.view_of(experiment, scoped=scoped, with_lists=with_lists) if experiment else None
    with st.container(key="frame", gap="small"):
        if view and iframe.is_on():
            iframe.show_heading(view)
            _write(view)
        else:
            _draw(experiments, experiment, view, scoped=scoped, parts=parts)
            if view:
                scope_picker.show(view, scoped=scoped)
                _tell_guest(view)
                first_run.show_strip(view)
    if experiment is None:
        widgets.damaged(state.workspace().damaged())
        _warn_unknown("Choose another experiment above.")
        state.stop()
    return experiment, view


def _tell_guest(view: View) -> None:
    """Tells a guest that the view has another metric or k than the rules of the experiment, with a link to
    these; nothing for others, and for a view by the rules.
    """
    source = state.workspace()
    if not source.person.is_guest:
        return
    usual = source.queries.of(view.experiment.id)
    if (view.metric, view.k) == (usual.metric, usual.k):
        return
    rules = links.link(
        view, metric_at(usual.metric, usual.k), state.page(), {"m": usual.metric, "k": str(usual.k)}
    )
    template = (
        '<div class="rd-guest" role="note"><span>View: <b>{view}</b>. By the rules: {rules}.</span></div>'
    )
    st.html(html(template, view=metric_at(view.metric, view.k), rules=rules))


def _warn_unknown(next_step: str) -> None:
    """Warns that the experiment of the link does not exist here."""
    wanted = markdown(state.params().get("e", ""))
    why = "It may be archived, deleted or in another store"
    st.warning(f"{unavailable('experiment', wanted, '')}. {why}. {next_step}")


def _experiment(experiments: list[Experiment]) -> Experiment | None:
    """Returns the experiment that the view names, None if it is unknown; by default the newest."""
    newest = max(experiments, key=lambda experiment: experiment.created)
    wanted = state.params().get("e", newest.id)
    return next((experiment for experiment in experiments if experiment.id == wanted), None)


def _draw(
    experiments: list[Experiment],
    experiment: Experiment | None,
    view: View | None,
    *,
    scoped: bool,
    parts: Collection[Part],
) -> None:
    with st.container(
        horizontal=True, vertical_alignment="center", gap="xsmall", wrap=False, key="frame-row"
    ):
        _choose_experiment(experiments, experiment)
        if view is None:
            if experiment is not None and not iframe.is_on():
                _offer_link(state.view_without_runs(experiment))
            return
        if "metric" in parts:
            with st.popover(markdown(metric_at(view.metric, view.k)), key="frame-metric-k"):
                _choose_metric(view)
                _choose_k(view)
        if "baseline" in parts:
            with st.popover(
                f"vs {_short(view.base_name, BASE_LENGTH) or 'no baseline'}", key="frame-against"
            ):
                _choose_baseline(view)
        if "candidates" in parts:
            with st.popover(how_many(view), key="frame-runs"):
                _choose_candidates(view)
        if scoped:
            with st.popover(_short(scope_picker.title(view)), key="frame-part"):
                scope_picker.choose(view)
    _offer_link(view)
    _write(view)


def _offer_link(view: View) -> None:
    """Draws *Copy link* and *Share* in the header."""
    # It is filled after the page is drawn, as only then all parameters of the view are known.
    place = header.place_for_link()
    is_guest = state.workspace().person.is_guest
    copied = f"Link copied. {sharing.NEEDS_SHARE_LINK}" if is_guest else "Link copied"
    place.html(html(COPY_LINK, copied=copied), width="content")
    share = place.popover("Share", type="tertiary", key="frame-link")
    state.at_end(lambda: sharing.show(share, view))


def how_many(view: View) -> str:
    """Returns the number of candidates, such as ``4 candidates``, or ``8 of 20 candidates`` if not all are
    shown.

    A reference candidate only counts if it is shown.
    """
    n_shown = len(view.candidates)
    n_all = sum(run in view.candidates or not run.reference for run in view.others)
    return many(n_all, "candidate") if n_shown == n_all else f"{n_shown} of {many(n_all, 'candidate')}"


def _short(name: str, longest: int = NAME_LENGTH) -> str:
    """Returns the name as Markdown for a button, shortened in the middle if it is long."""
    if len(name) > longest:
        end = longest // 2
        name = f"{name[:end].rstrip()}…{name[1 - end :].lstrip()}"
    return markdown(name)


def _choose_experiment(experiments: list[Experiment], experiment: Experiment | None) -> None:
    names = {known.id: known.name for known in experiments}
    if experiment and state.workspace().person.is_guest:
        return  # a guest has only one experiment, which the line above the page names
    st.session_state["frame-experiment"] = experiment.id if experiment else None
    longest = len(experiment.name) if experiment else NAME_LENGTH
    st.selectbox(
        "Experiment",
        **widgets.titled(names),
        key="frame-experiment",
        width=56 + 6 * min(max(longest, BASE_LENGTH), NAME_LENGTH),  # as wide as its name
        index=0 if experiment else None,
        placeholder="Choose an experiment",
        on_change=lambda: state.show_experiment(st.session_state["frame-experiment"]),
        label_visibility="collapsed",
    )


def _choose_metric(view: View) -> None:
    metrics = {metric: metric_title(metric) for metric in view.metrics}
    bound = widgets.bound_to_url("m", "frame-metric", view.metric)
    st.selectbox("Primary metric", **widgets.titled(metrics), **bound)


def _choose_k(view: View) -> None:
    usual = [k for k in USUAL_K if k <= view.depth]
    chosen = view.k if view.k in usual else None
    st.segmented_control(
        "k", usual, **widgets.bound_to_url("k", "frame-k", chosen, lambda k: str(k or view.k))
    )
    any_k = widgets.bound_to_url("k", "frame-any-k", view.k)
    st.number_input(f"Any k up to {view.depth}", 1, view.depth, **any_k)


def _choose_baseline(view: View) -> None:
    names = {run.id: run.name for run in view.runs}
    key = "frame-baseline"
    st.session_state[key] = view.baseline.id if view.baseline else None
    st.selectbox(
        "Baseline", **widgets.titled(names), key=key, width=330, on_change=_change_baseline, args=(view,)
    )


def _change_baseline(view: View) -> None:
    """Changes the baseline; among the candidates, the old baseline replaces the new one."""
    new, old = st.session_state["frame-baseline"], view.baseline.id if view.baseline else ""
    swapped = [old if run_id == new else run_id for run_id in view.chosen_ids]
    state.choose(b=new, c=SEPARATOR.join(run_id for run_id in swapped if run_id))


def _choose_candidates(view: View) -> None:
    others = {run.id: run.name for run in view.others}
    label, chosen = f"Candidates (at most {MOST_CANDIDATES})", list(view.chosen_ids)
    bound = widgets.bound_to_url("c", "frame-candidates", chosen, SEPARATOR.join)
    st.multiselect(label, **widgets.titled(others), max_selections=MOST_CANDIDATES, width=420, **bound)


def _write(view: View) -> None:
    """Writes the view to the URL."""
    _write_experiment(view.experiment)
    written = links.of_view(view)
    for name, value in written.items():
        state.write(name, value)
    for name in set(links.PART).difference(written).intersection(st.query_params):
        state.write(name, None)


def _write_experiment(experiment: Experiment) -> None:
    """Writes the experiment to the URL, so that a newer one does not replace it."""
    state.choose(e=experiment.id)
    state.write("e", experiment.id)


def no_runs(experiment: Experiment) -> None:
    """Says what the tab will show and what to do in an experiment without runs, or which people can do it."""
    may_write = state.workspace().person.may("editor")
    if experiment.truth is None:
        _no_test_set(experiment)
        return
    source = state.workspace()
    if unreadable := len(source.runs.all(experiment.id)):
        empty(
            f"No run to show: {many(unreadable, 'run')} {'is' if unreadable == 1 else 'are'} damaged", REPAIR
        )
        return
    archived = len(source.runs.all(experiment.id, archived=True))
    if archived:
        are = f"{many(archived, 'run')} {'is' if archived == 1 else 'are'} archived"
        hint = "An editor can unarchive what you need."
        if may_write:
            hint = "Unarchive what you need under Settings, or add other runs."
        empty(f"No run to show: {are}", hint)
        if may_write and st.button("View archived runs", type="primary", key="go-runs"):
            st.session_state["runs-archived"] = True
            links.go("runs")
        return
    if source.damaged(experiment.id):  # rows of runs, which are not listed then
        empty("No run to show: stored data is damaged", REPAIR)
        return
    uploads = "Add" if may_write else "An editor adds"
    empty(
        "This experiment has no runs yet",
        f"{PURPOSES[state.page()].shows} {uploads} the recommendations of one or more candidates.",
    )
    links.page_button("Add data", "upload")


def _no_test_set(experiment: Experiment) -> None:
    """Says what the tab of an experiment with only A/B tests would show and needs, and links to what it
    has.
    """
    tests = state.workspace().online_tests.all(experiment.id)
    purpose = PURPOSES[state.page()]
    planned = [] if tests else state.workspace().plans.without_test(experiment.id)
    heading = f"{links.title(state.page())} needs a test set"
    if purpose.needs == ANY:
        heading = planned[0].current.plan.summary if planned else "No test set yet"
    empty(heading, f"{purpose.text}{_segments_instead(tests)}")
    with st.container(horizontal=True):
        if planned:
            links.page_button("View plan", "ab-results", kind="secondary")
        if tests:
            links.page_button("View A/B results", "ab-results")
        links.page_button("Add data", "upload", kind="secondary" if tests else "primary")


def _segments_instead(tests: Sequence[OnlineTest]) -> str:
    """Returns where the lifts of A/B tests by segment are, on the tab of segments; else an empty text."""
    if state.page() != "segments":
        return ""
    tests = [test for test in tests if test.kind != "aggregates"]
    analysis = state.workspace().online_analysis
    names = list(dict.fromkeys(name for test in tests for name in analysis.segments(test.id)))
    return f" Lifts of the A/B test by {listed(names)} are under Online: Results." if names else ""
