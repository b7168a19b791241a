"""The first steps: add data or load the demo, with template files and code to begin with."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import many
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import demo_button, widgets
from recdash.ui.components.templates import RUN, TEMPLATES, TRUTH, template_button
from recdash.ui.shell.purposes import PURPOSES

THREE_LINES = """import recdash
evaluation = recdash.evaluate({"als": "als.csv", "popular": "popular.csv"}, truth="truth.csv")
print(evaluation.compare("ndcg@10", baseline="popular").verdict.text)"""
ANOTHER_RUN = "user_id,item_id,rank\nu1,film-02,1\nu1,film-07,2\nu2,film-07,1\nu2,film-05,2\nu3,film-05,1\n"
FILES = {"truth.csv": TRUTH.text, "als.csv": RUN.text, "popular.csv": ANOTHER_RUN}
"""The files that the code in ``THREE_LINES`` reads."""
GROUPS: Mapping[str, Sequence[str]] = {
    "To compare candidates": ("truth", "run", "train", "catalogue"),
    "To learn more about them": ("users", "vectors", "similarity", "predictions"),
    "An A/B test": ("sessions", "exposures", "events", "served", "aggregates"),
    "An interleaving test": ("interleaving",),
    "A log with propensities": ("bandit", "policy"),
}
_READ, _DISMISSED = "recdash.verdict-read", "recdash.strip-dismissed"
READ_COOKIE = "recdash-demo-read"
"""The cookie in which page.js keeps, for the next session, that the demo's recommendation was read."""


@dataclass(frozen=True)
class Step:
    """A step on the line above the demo's pages; ``now`` is whether it is the next one."""

    title: str
    done: bool = False
    now: bool = False


LOAD_TITLE, READ_TITLE, ADD_TITLE = "Load the demo", "Read the recommendation", "Add your own data"
HEADING = "Which recommender should you ship?"
LEAD = "recdash answers from offline runs and A/B tests, and says what speaks against its answer."
LOAD = "A baseline, four candidates and an A/B test of a film service. Remove it again under Add data."
ADD = (
    "A test set (what users chose later) and the recommendations of two runs or more, one of them the "
    "baseline. Or only an A/B test: one CSV with a row per user, the variant, and a column for each number, "
    "such as orders."
)
NO_DATA = "No data yet"
STARTS = ("overview", "experiments")
"""The addresses of the pages that show the first steps."""


def show() -> None:
    """Draws the first steps in place of a page while nothing is stored; on a tab, what it will show."""
    may_write = workspace().person.may("editor")
    if state.page() not in STARTS:
        widgets.empty(NO_DATA, PURPOSES[state.page()].text)
        if may_write:
            with st.container(horizontal=True):
                _add_button()
                _load_button()
        return
    if not may_write:
        widgets.empty(HEADING, f"{LEAD} An editor adds a test set and recommendations, or an A/B test.")
        return
    widgets.empty(HEADING, LEAD)
    cards = ((ADD_TITLE, ADD, _add_button), (LOAD_TITLE, LOAD, _load_button))
    for column, (title, words, button) in zip(st.columns(2, gap="medium"), cards, strict=True):
        with column, st.container(border=True, height="stretch", key=f"start-{title.split()[0].lower()}"):
            card = '<div class="rd-step"><h2>{title}</h2><p>{words}</p></div>'
            st.html(html(card, title=title, words=words))
            button()
    if archived := len(workspace().experiments.all(archived=True)):
        st.caption(f"{many(archived, 'experiment').capitalize()} archived: see Home, or Runs under Settings.")
    _files()
    _lines()


def _add_button() -> None:
    links.page_button("Add data", "upload")


def _load_button() -> None:
    demo_button.draw("load-demo")


def _files() -> None:
    """Draws buttons to download a template of every table; each template passes all checks."""
    with st.expander("Files to start from: a template of every table"):
        for column, (title, kinds) in zip(st.columns(len(GROUPS)), GROUPS.items(), strict=True):
            with column, st.container(gap="xsmall"):
                st.caption(title)
                for kind in kinds:
                    template_button(kind, "first")
        named = {template.file_name: template.text for template in TEMPLATES.values()}
        _zip_button("↓ All of them as a zip file", named, "recdash-templates.zip", "all-templates")


def _lines() -> None:
    with st.expander("In Python: compare two files in three lines"):
        st.caption("They recommend one of two files. Nothing is stored.")
        st.code(THREE_LINES, language="python")
        label, name = "↓ The three files they read", "recdash-three-lines.zip"
        _zip_button(label, FILES, name, "three-files", type="tertiary")


def _zip_button(label: str, files: Mapping[str, str], name: str, key: str, **look: Any) -> None:
    widgets.download(label, lambda: zipped(files), name, "application/zip", key, **look)


def zipped(files: Mapping[str, str]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return written.getvalue()


# ── the strip ────────────────────────────────────────────────────────────────────────────────


def _steps() -> tuple[Step, Step, Step]:
    """Returns the three steps with what this person has done."""
    loaded, read = workspace().demo.exists(), was_read()
    return (
        Step(LOAD_TITLE, done=loaded, now=not loaded),
        Step(READ_TITLE, done=loaded and read, now=loaded and not read),
        Step(ADD_TITLE, now=loaded and read),
    )


def was_read() -> bool:
    """Returns whether this browser has shown the demo's recommendation, in this session or an earlier one."""
    return bool(st.session_state.get(_READ)) or READ_COOKIE in dict(st.context.cookies)


def show_strip(view: View) -> None:
    """Draws the steps above pages of the demo, until other data is stored or the person dismisses them."""
    if state.page() == "overview" and view.experiment.demo:
        st.session_state[_READ] = True
    if not view.experiment.demo or st.session_state.get(_DISMISSED) or not workspace().person.may("editor"):
        return
    if not all(experiment.demo for experiment in workspace().experiments.all(archived=True)):
        return
    steps = _steps()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="first-steps"):
        st.html(strip_html(steps))
        st.space("stretch")
        if not steps[1].done and st.button(READ_TITLE, key="strip-read", type="tertiary"):
            links.go("overview")
        if st.button(ADD_TITLE, key="strip-upload", type="tertiary"):
            links.go("upload")
        dismiss = partial(st.session_state.update, {_DISMISSED: True})
        st.button("Dismiss", key="strip-dismiss", type="tertiary", on_click=dismiss)


def strip_html(steps: Sequence[Step]) -> Html:
    """Returns the steps on one line, such as ``You are looking at the demo: ✓ Load the demo → … → 3 Add your
    own data``.
    """
    parts = []
    for number, step in enumerate(steps, start=1):
        text, kind = f"{'✓' if step.done else number} {step.title}", "rd-step-now" if step.now else ""
        parts.append(html('<span class="{kind}">{text}</span>', kind=kind, text=text))
    tour = join(parts, ' <span aria-hidden="true">→</span> ')
    kind = "rd-tour-read" if steps[1].done else ""
    template = '<div class="rd-tour {kind}"><b>You are looking at the demo</b>{tour}</div>'
    return html(template, kind=kind, tour=tour)
