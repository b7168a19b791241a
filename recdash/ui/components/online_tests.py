"""Lists the A/B tests of the experiment in view, draws the choice of one, and collects their notices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.domain.results import WHOLE
from recdash.errors import Problem
from recdash.formatting.html import markdown
from recdash.formatting.wording import unavailable
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.ui.app import state
from recdash.ui.app.state import View
from recdash.ui.components import widgets

SHARE = "0..1"


def tests(view: View) -> list[OnlineTest]:
    """Returns the experiment's A/B tests, the newest first."""
    return list(state.workspace().online_tests.all(view.experiment.id))


def disagreements(view: View) -> list[Problem]:
    """Returns a problem for each run in view that won offline and lost in an A/B test, or the reverse.

    None for a part of the experiment, of whose offline differences the stored sentences say nothing.
    """
    if view.scope != WHOLE:
        return []
    rows = state.workspace().online_tests.disagreements(view.experiment.id, view.metric, view.k)
    return [
        Problem("sides-disagree", test.name, row["sentence"], "See Offline vs online.")
        for test, row in rows
        if row["run_id"] in view.shown_ids
    ]


def notices_of_tests(view: View) -> tuple[list[Problem], list[Problem]]:
    """Returns the notices of all A/B tests, with the tests' names: sample ratio mismatches, then all
    others.
    """
    notices = []
    for test in tests(view):
        notices += [replace(notice, place=f"{test.name}, {notice.place}") for notice in test.notices]
    broken = [notice for notice in notices if notice.code == SPLIT_BROKEN]
    return broken, [notice for notice in notices if notice.code != SPLIT_BROKEN]


def tell_gone(known: Collection[str], showing: str = "") -> None:
    """Warns if the A/B test of the link (``t``) is not among the ``known`` ids."""
    wanted = state.params().get("t")
    if wanted is not None and wanted not in known:
        gone = unavailable("A/B test", markdown(wanted), showing)
        st.warning(f"{gone}. It may be deleted, archived or of another experiment.")


def choose_test(tests: list[OnlineTest]) -> OnlineTest:
    """Draws the choice of a test and returns the chosen one, at first the one in the URL (``t``), else the
    newest, which is the first of the ``tests``.
    """
    by_id = {test.id: test for test in tests}
    newest = tests[0].id
    wanted = state.params().get("t", newest)
    tell_gone(by_id, "the newest")
    value = wanted if wanted in by_id else newest
    names = {test.id: test.name for test in tests}
    return by_id[widgets.select("A/B test", "t", names, value, "online-test", reset=("v", "seg"))]


def online_metrics(test_id: str) -> dict[str, str]:
    """Returns {online metric: title} in the order of the results."""
    results = state.workspace().online_tests.result_frame(test_id)
    return dict(zip(results["metric"], results["title"], strict=True))
