"""The page Runs: the choice of an experiment, its table of runs, the users they cover, and the form for one
run.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.charts.marks import Marks, marks
from recdash.definitions.conventions import POPULATION
from recdash.definitions.population_counts import KNOWN_TITLES, known_cells
from recdash.domain.records import Experiment, Run
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import Cell, RunName, number_columns, text_columns
from recdash.formatting.wording import many, moment
from recdash.service import Workspace
from recdash.ui.app import state, theme
from recdash.ui.components import widgets
from recdash.ui.runs import forms
from recdash.ui.runs.table import (
    ledger_names,
    ledger_row,
    ledger_title,
    parameter_names,
    parameter_row,
)

KNOWN_NOTE = "Known: how many of the items and users in a run's lists the experiment's other tables have."


SUBTITLE = "What was uploaded and scored, and where its numbers come from."


def finding(experiment: Experiment, runs: Sequence[Run]) -> str:
    """Returns the headline, such as ``5 runs, baseline Popular``, or ``3 runs, 1 archived`` without a chosen
    baseline.
    """
    archived = sum(run.archived is not None for run in runs)
    base = next((run.name for run in runs if run.id == experiment.baseline), "")
    parts = [
        many(len(runs), "run"),
        *([f"{numbers.count(archived)} archived"] if archived else []),
        *([f"baseline {base}"] if base else []),
    ]
    return ", ".join(parts)


def choose_experiment(workspace: Workspace) -> tuple[Experiment | None, bool]:
    """Draws the choice of an experiment and the switch for archived ones, and returns both.

    The experiment is None if there is none.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        archived = st.session_state.get("runs-archived", False)
        listed = workspace.experiments.all(archived=archived)
        experiments = {experiment.id: experiment for experiment in listed}
        chosen = _experiment_box(experiments) if experiments else None
        archived = st.toggle("Show archived", key="runs-archived")
    return chosen, archived


def _experiment_box(experiments: dict[str, Experiment]) -> Experiment | None:
    newest = max(experiments.values(), key=lambda experiment: experiment.created).id
    wanted = state.params().get("e", newest)
    st.session_state["runs-experiment"] = wanted if wanted in experiments else newest
    names = {known.id: known.name for known in experiments.values()}
    names |= {known.id: f"{known.name} (archived)" for known in experiments.values() if known.archived}
    chosen: str = st.selectbox(
        "Experiment",
        **widgets.titled(names),
        key="runs-experiment",
        width=420,
        on_change=lambda: state.show_experiment(st.session_state["runs-experiment"]),
    )
    state.write("e", chosen)
    return experiments[chosen]


def show_table(experiment: Experiment, runs: Sequence[Run]) -> None:
    """Draws a table with name, time, tags, note and parameters of every run; a switch hides parameters that
    are equal.
    """
    has_params = len(runs) > 1 and any(run.params for run in runs)
    only = has_params and st.toggle("Only parameters that differ", value=True, key="runs-only-differences")
    names = parameter_names(runs, only)
    base = _baseline(experiment, runs)
    cells = widgets.run_cells(_marks(base, runs))
    rows = []
    for run in runs:
        aside = "baseline" if experiment.baseline else "suggested baseline"
        name = _name_cell(run, cells[run.id], aside if run.id == base else "")
        created = html('<span class="rd-nowrap">{when}</span>', when=moment(run.created))
        rows.append([name, created, _tags(run), run.note, *parameter_row(run, names)])
    baseline = [place for place, run in enumerate(runs) if run.id == base]
    widgets.table(text_columns("Run", "Created", "Tags", "Note", *names), rows, bands=baseline)


def _baseline(experiment: Experiment, runs: Sequence[Run]) -> str:
    """Returns the id of the run that the pages compare with: the chosen baseline or the suggested one; empty
    if all runs are archived.
    """
    active = [run for run in runs if run.archived is None]
    return state.workspace().queries.baseline(experiment, active).id if active else ""


def _marks(baseline: str, runs: Sequence[Run]) -> Marks:
    """Returns the marks of all runs as the other pages draw them."""
    return marks(runs, baseline, [run.id for run in runs if run.id != baseline], theme.palette())


def _name_cell(run: Run, cell: Html, baseline: str) -> Html:
    asides = [str(run.replicated)] if run.replicated else []
    asides += ["archived"] if run.archived else [baseline] if baseline else []
    aside = f" ({', '.join(asides)})" if asides else ""
    return html('{cell}<span class="rd-muted">{aside}</span>', cell=cell, aside=aside)


def _tags(run: Run) -> Html:
    return join([widgets.badge(tag) for tag in run.tags], " ")


def show_ledger(workspace: Workspace, experiment: Experiment, runs: Sequence[Run]) -> None:
    """Draws a table of which users count in each run, and how many of its items and users are known."""
    widgets.section(
        "Coverage of users", f"{POPULATION[experiment.settings.get('users', 'truth')]} {KNOWN_NOTE}"
    )
    names = ledger_names(runs)
    titles = [*map(ledger_title, names), *KNOWN_TITLES]
    rows: list[list[Cell]] = []
    for run in runs:
        known = known_cells(workspace.scores.id_overlap(run.id))
        rows.append([RunName(run.id), *ledger_row(run, names), *map(_share_cell, known)])
    looks = _marks(_baseline(experiment, runs), runs)
    columns = [*text_columns("Run"), *number_columns(*titles)]
    st.html(widgets.stacked_table_html(columns, rows, looks, label="Coverage of users"))


def _share_cell(known: str) -> Html:
    """Returns a cell with the share of known ids; its tooltip has the counts, which Provenance also lists."""
    return html('<span title="{known}">{share}</span>', known=known, share=known.partition(" (")[0])


def work_on_one(workspace: Workspace, experiment: Experiment, runs: Sequence[Run]) -> None:
    """Draws the choice of a run, and its form."""
    names = {run.id: run.name for run in runs}
    key = f"runs-one-{experiment.id}"
    chosen = st.selectbox("Selected run", **widgets.titled(names), key=key, width=420)
    tags = sorted({tag for run in runs for tag in run.tags})
    forms.run_panel(workspace, experiment, next(run for run in runs if run.id == chosen), tags)
