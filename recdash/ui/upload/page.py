"""The page Add data: one drop zone, a row per file, a few choices and one button; then progress and the
outcome.
"""

from __future__ import annotations

from typing import Literal

import streamlit as st

from recdash.domain.defaults import FIRST_CANDIDATES
from recdash.errors import Problem
from recdash.evaluation.relevance import notices_of
from recdash.formatting.html import markdown
from recdash.ingest import get_ready
from recdash.service.catalog.intake import IntakeFile, IntakePlan, IntakeResult
from recdash.service.catalog.intake_job import IntakeJob
from recdash.service.catalog.turns import Turns, waits_for
from recdash.settings import settings as limits
from recdash.ui.app import links, state
from recdash.ui.app.state import workspace
from recdash.ui.components import file_zone, widgets
from recdash.ui.upload import examples, rows, settings, sources, words
from recdash.ui.upload.state import UploadState
from recdash.web.received_files import ReceivedFile, received_files

DROP = "Drop all files here: test set, recommendations, training data, catalogue, users, A/B tests"
FIRST_LINE = "recdash tells what each file is. Nothing is stored before you have checked it."
NEEDED = (
    "Start with the test set (what users actually chose later) and the recommendations of two runs or more, "
    "one of them the baseline. Or start with an A/B test alone: one CSV with a row per user, the variant, "
    "and a column for each number, such as orders."
)
LOOKS = Turns(4)
"""The pages that look at files at a time; each reads one file after the other."""
POLL_S, SHORT_S = 0.4, 1.0
"""The seconds between two checks of a running job, and how long the first check waits for its end."""


def show() -> None:
    """Draws the progress of a running job, else the outcome, the drop zone and the plan of the files."""
    upload: UploadState = st.session_state.setdefault("recdash.upload", UploadState())
    get_ready()  # starts the process that reads files while the person still chooses some
    if state.arrived():
        upload.result = None  # a person who comes back has seen it before
    if upload.job is not None and not upload.job.is_done(SHORT_S):
        widgets.title("Evaluating", "If you cancel it, nothing is stored.")
        _watch(upload)
        return
    upload.finish()
    title = st.container()
    if upload.result is not None:
        _show_result(upload.result)
    files = _drop_zone(upload)
    if files:
        upload.result = None
    plan = _plan_of(upload, files)
    with title:
        _show_title(upload, plan)
    if upload.problems:
        _show_problems(upload.problems)
    if plan is None:
        if upload.result is None:
            st.caption(NEEDED)
        examples.show()
        return
    rows.show(upload, plan.files)
    settings.show(upload, plan)
    _show_button(upload, plan)


def _show_title(upload: UploadState, plan: IntakePlan | None) -> None:
    if plan is not None:
        widgets.title(words.finding(plan), "Check what recdash took each file for. Nothing is stored yet.")
    elif upload.result is not None:
        widgets.title(words.outcome(upload.result).rstrip("."), "")
    else:
        widgets.title("Add your data", FIRST_LINE)


def _drop_zone(upload: UploadState) -> list[ReceivedFile]:
    with st.container(key="drop-zone"):
        files = file_zone.show(DROP, upload.zone, multiple=True)
        st.caption(_formats())
    sources.show(upload)
    return files


def _formats() -> str:
    """Returns a sentence on the formats of files, and how large one may be."""
    most = limits().max_upload_bytes / 2**30
    size = f"{most:.3g} GB" if most >= 1 else f"{1024 * most:.3g} MB"
    return f"CSV, TSV, Excel, Parquet, JSON or TREC, also zipped. At most {size} per file."


# ── the plan ─────────────────────────────────────────────────────────────────────────────────


def _plan_of(upload: UploadState, files: list[ReceivedFile]) -> IntakePlan | None:
    """Returns the plan of these files, which is only made again if files were added or removed."""
    known = upload.plan.given_keys if upload.plan else []
    if [file.id for file in files] != known:
        _plan_again(upload, files)
    if upload.plan is not None:  # files, or a choice, may have shown which variants there are
        upload.plan = workspace().intake.with_links(upload.plan)
    return upload.plan


def _plan_again(upload: UploadState, files: list[ReceivedFile]) -> None:
    upload.problems = ()
    if not files:
        upload.plan, upload.opened, upload.target = None, None, None
        return
    given = [IntakeFile(file.id, file.name, file.path) for file in files]
    place = st.empty()

    def wait(n_before: int) -> None:
        place.caption(waits_for(n_before))

    with LOOKS.taken(wait), st.spinner("Looking at the files"):
        place.empty()
        plan = upload.plan.with_files(given) if upload.plan else workspace().intake.plan(given)
        target = upload.target
        if target is None:
            experiments = {experiment.id: experiment for experiment in workspace().experiments.all()}
            target = (
                settings.suggested_experiment(
                    plan, experiments, settings.viewed_experiment_id(), settings.run_names
                )
                or settings.NEW
            )
        if (target or None) != plan.experiment_id:
            plan = plan.with_experiment(target or None)
    upload.plan = plan
    upload.opened = next((file.key for file in plan.files if words.state_of(file) == "bad"), None)


# ── storing ──────────────────────────────────────────────────────────────────────────────────


def _show_button(upload: UploadState, plan: IntakePlan) -> None:
    if together := (*plan.problems, *plan.test_problems):
        _show_problems(together)
    first, notices = words.noticed(plan)
    if first:
        st.warning(widgets.problem_list(first))
    if notices:
        with st.expander(f"Notes ({len(notices)})"):
            widgets.notices(notices)
    ready = plan.is_ready and not upload.form_problems
    if not ready:
        st.caption(
            "Nothing is stored yet: solve the problems above, or set files that have them to *Not used*."
        )
    st.button(
        words.button(plan),
        type="primary",
        key=upload.key("store"),
        disabled=not ready,
        on_click=_store,
        args=(upload,),
    )


def _store(upload: UploadState) -> None:
    """Starts to store the plan. As a callback it runs before the page, so that no other click undoes it."""
    if upload.plan is None:  # removed in the meantime
        return
    upload.result, upload.problems = None, ()
    in_use = received_files.in_use(file_zone.session_id())
    upload.job = IntakeJob(workspace().intake, upload.plan, in_use, received_files.folder)


def _cancel(upload: UploadState) -> None:
    if upload.job is not None:
        upload.job.cancel()


@st.fragment(run_every=POLL_S)
def _watch(upload: UploadState) -> None:
    """Shows the progress of the job until it is done."""
    job = upload.job
    if job is None or job.is_done():
        st.rerun()
    st.progress(job.fraction, text=markdown(job.text))
    st.button("Cancel", key="cancel-intake", on_click=_cancel, args=(upload,))


def _show_problems(problems: tuple[Problem, ...]) -> None:
    st.error(widgets.problem_list(map(words.for_page, problems)))


# ── the outcome ──────────────────────────────────────────────────────────────────────────────


def _show_result(result: IntakeResult) -> None:
    """Draws links to the results, and what was refused."""
    for name in words.archived(result):
        st.info(f"{markdown(name)} is archived; unarchive it under Settings, Runs.")
    for refused in result.refused:
        lines = widgets.problem_list(map(words.for_page, refused.problems))
        st.error(f"**{markdown(refused.name)}** was refused. Nothing of it was stored.\n\n{lines}")
    with st.container(horizontal=True, gap="small"):
        if result.runs and st.button("View recommendation", type="primary", key="view-recommendation"):
            _show_experiment(result)
            links.go("overview")
        kind: Literal["primary", "secondary"] = "secondary" if result.runs else "primary"
        is_interleaved = result.test is not None and result.test.is_interleaved
        label = "View interleaving results" if is_interleaved else "View A/B results"
        label = "View results of both tests" if result.interleaved is not None else label
        if result.test and st.button(label, type=kind, key="view-ab-results"):
            state.show_experiment(result.experiment.id)
            state.choose(t=None if is_interleaved else result.test.id)
            links.go("ab-results")
    notices = [notice for added in result.runs for notice in added.run.notices]
    notices += [notice for test in result.tests for notice in test.notices]
    if result.runs:  # what no run shows alone, such as users who get a list from some runs only
        every = [run.id for run in workspace().runs.all(result.experiment.id)]
        of_data = notices_of(result.experiment.settings)
        notices = [*of_data, *workspace().scores.comparability(every), *notices]
    if notices:
        with st.expander(f"What was noticed ({len(notices)})"):
            widgets.notices([words.for_page(notice) for notice in notices])


def _show_experiment(result: IntakeResult) -> None:
    state.show_experiment(result.experiment.id)
    runs, queries = workspace().runs.all(result.experiment.id), workspace().queries
    if len(runs) > FIRST_CANDIDATES + 1:
        added, baseline = [added.run.id for added in result.runs], queries.baseline(result.experiment, runs)
        best = queries.candidates(result.experiment, added, baseline.id)
        state.choose(c=state.SEPARATOR.join(run.id for run in best) or None)
