"""The part of a plan's form that reads the primary metric before the test: from a stored A/B test, or from a
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.errors import InputError, Problem, RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import markdown
from recdash.formatting.wording import listed, many
from recdash.ingest.attributes import MAYBE_START
from recdash.online.plan import Baseline
from recdash.online.plan_baseline import ALL_USERS, MetricBaselines
from recdash.ui.app.state import workspace
from recdash.ui.components import file_zone, widgets
from recdash.ui.components.notice_words import OF_COLUMNS, in_page_words
from recdash.web.received_files import ReceivedFile

MOST_TESTS = 50
WIDTH, METRIC_WIDTH = 390, 230
DROP = "Drop the table of an earlier test, or of users: a row per user or session"
NOT_STORED = "The file is read for the sample size only, and is not stored."
NAME_COLUMN = "Write below which column has the users."
OTHER_COLUMNS = "If this is wrong, call the columns in the file unit_id and variant."
NAME_TIMES = "If it is when each user came, rename it exposed_at: then users per day follow from it."
NO_VARIANTS = ""
"""The choice of a table whose users are all counted."""

Chosen = tuple[str, Baseline | None]
"""The name of the metric and its baseline, None as long as there is none."""


def stored_tests() -> dict[str, OnlineTest]:
    """Returns {id: test} of the newest A/B tests of all experiments."""
    experiments = workspace().experiments.all()
    tests = [test for experiment in experiments for test in workspace().online_tests.all(experiment.id)]
    newest_first = sorted(tests, key=lambda test: test.created, reverse=True)
    return {test.id: test for test in newest_first[:MOST_TESTS]}


def of_stored_test(form: str, tests: Mapping[str, OnlineTest], wanted: str = "") -> Chosen:
    """Draws the choice of a test and of its metric, at first the ``wanted`` one, and what its control had."""
    names = {experiment.id: experiment.name for experiment in workspace().experiments.all()}
    titles = {test.id: f"{names[test.experiment]}, {test.name}" for test in tests.values()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        test_id = widgets.pick("Stored A/B test", titles, "", f"{form}-stored", width=WIDTH)
        metrics = {str(row["metric"]): str(row["title"]) for row in tests[test_id].results}
        primary = wanted if wanted in metrics else tests[test_id].primary_metric
        key = f"{form}-metric-{test_id}"
        metric = str(widgets.pick("Its metric", metrics, primary, key, width=METRIC_WIDTH))
    return _chosen(lambda: workspace().plans.baselines(test_id), metric)


def of_file(form: str, wanted: str = "") -> Chosen:
    """Draws the place for a file, the choice of its control and metric, at first the ``wanted`` one, and what
    was read of them.
    """
    with st.container(gap="xsmall"):
        files = file_zone.show(DROP, f"{form}-file")
        st.caption(NOT_STORED)
    if not files:
        return "", None
    file = files[-1]
    unit_column = str(st.session_state.get(_unit_key(form, file), "")).strip()
    columns = {"unit_id": unit_column} if unit_column else {}
    try:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            read = _with_control(form, file, columns)
            metrics = {name: name for name in read.baselines}
            key = f"{form}-metric-{file.id}"
            metric = str(widgets.pick("Its metric", metrics, wanted, key, width=METRIC_WIDTH))
    except InputError as error:
        _refused(form, file, error)
        return "", None
    chosen = _chosen(lambda: read, metric)
    if noticed := _noticed(read):
        widgets.notices(noticed)
    return chosen


def _with_control(form: str, file: ReceivedFile, columns: dict[str, str]) -> MetricBaselines:
    """Draws the choice of a file's control, and returns what is read for it. Raises InputError if the file
    cannot be read.
    """
    read = _read(file.id, None, columns, file.path)
    if read.attributes:
        titles = {NO_VARIANTS: "None: all users count", **{name: name for name in read.attributes}}
        key = f"{form}-variants-{file.id}"
        column = str(widgets.pick("Column of variants", titles, NO_VARIANTS, key, width=METRIC_WIDTH))
        if column != NO_VARIANTS:
            columns = {**columns, "variant": column}
            read = _read(file.id, None, columns, file.path)
    if read.other_users:
        titles = {name: f"{name} ({numbers.users(n)})" for name, n in sorted(read.users.items())}
        key = f"{form}-control-{file.id}-{columns.get('variant', '')}"
        control = str(widgets.pick("Control", titles, read.control, key, width=METRIC_WIDTH))
        if control != read.control:
            read = _read(file.id, control, columns, file.path)
    return read


@st.cache_data(show_spinner="Reading the file", max_entries=32)
def _read(
    file_id: str,  # noqa: ARG001 - for the cache
    control: str | None,
    columns: Mapping[str, str],
    _path: Path,
) -> MetricBaselines:
    return workspace().plans.read_baselines(_path, control, columns)


def _refused(form: str, file: ReceivedFile, error: InputError) -> None:
    """Draws why a file cannot be read, and the box for the name of its user column if that is why."""
    lacks_column = any(problem.code == "missing-column" for problem in error.problems)
    problems = [_in_page_words(problem) for problem in error.problems]
    st.error(f"**{markdown(file.name)}**\n\n{widgets.problem_list(problems)}")
    if lacks_column:
        st.text_input("Column of users", key=_unit_key(form, file), width=METRIC_WIDTH)


def _unit_key(form: str, file: ReceivedFile) -> str:
    return f"{form}-unit-{file.id}"


def _in_page_words(problem: Problem) -> Problem:
    fix = NAME_COLUMN if problem.code == "missing-column" else in_page_words(problem.fix)
    if problem.code in OF_COLUMNS:
        fix = OTHER_COLUMNS
    elif problem.fix == MAYBE_START:
        fix = NAME_TIMES
    return replace(problem, place=in_page_words(problem.place), found=in_page_words(problem.found), fix=fix)


def _noticed(read: MetricBaselines) -> list[Problem]:
    """Returns what was noticed and excluded while a file was read."""
    excluded = (part.notice(list(read.users)) for part in read.removed)
    return [_in_page_words(notice) for notice in (*read.notices, *excluded)]


def _chosen(baselines: Callable[[], MetricBaselines], metric: str) -> Chosen:
    """Draws what the users of the control have; a warning if no sample size follows from it."""
    try:
        read = baselines()
        baseline = read.of(metric)
        baseline.check()
    except RecdashError as error:
        st.warning(markdown(f"No sample size follows from this metric: {error}"))
        return metric, None
    st.caption(markdown(in_words(read, baseline)))
    return metric, baseline


def in_words(read: MetricBaselines, baseline: Baseline) -> str:
    """Returns who has which value, how many users a day there were, and whose users are left out."""
    value = f"mean {numbers.three(baseline.mean)}, standard deviation {numbers.three(baseline.std_dev)}"
    if baseline.is_rate:
        value = f"{numbers.three(100 * baseline.mean)} % of users"
    pace = ""
    if baseline.users_per_day is not None:
        pace = f", {many(round(baseline.users_per_day), 'user')} a day"
    others = listed([f"{variant} ({numbers.users(n)})" for variant, n in read.other_users.items()])
    left_out = f" Left out: {others}." if others else ""
    users = "users unknown" if read.n_users is None else numbers.users(read.n_users)
    who = f"All {users}" if read.control == ALL_USERS else f"Control ({read.control}, {users})"
    return f"{who}: {value}{pace}.{left_out}"
