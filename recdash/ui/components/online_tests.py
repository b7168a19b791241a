"""A/B tests of the experiment in view: which there are, the one that is chosen, what was noticed in them."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.errors import Problem
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.ui.app import state
from recdash.ui.app.state import View
from recdash.ui.components import widgets

SHARE = "0..1"


def tests(view: View) -> list[OnlineTest]:
    return list(state.workspace().online_tests.all(view.experiment.id))


def disagreements(view: View) -> list[Problem]:
    """Runs in view that won on one side and lost on the other, by the metrics of any online test."""
    rows = state.workspace().online_tests.disagreements(view.experiment.id, view.metric, view.k)
    return [
        Problem("sides-disagree", test.name, row["sentence"], "See Offline vs online.")
        for test, row in rows
        if row["run_id"] in view.shown_ids
    ]


def notices_of_tests(view: View) -> tuple[list[Problem], list[Problem]]:
    """What was noticed in the online tests, named by test: broken splits, then everything else."""
    notices = []
    for test in tests(view):
        notices += [replace(notice, place=f"{test.name}, {notice.place}") for notice in test.notices]
    broken = [notice for notice in notices if notice.code == SPLIT_BROKEN]
    return broken, [notice for notice in notices if notice.code != SPLIT_BROKEN]


def choose_test(tests: list[OnlineTest]) -> OnlineTest:
    """The test of the URL's ``t``, else the newest."""
    by_id = {test.id: test for test in tests}
    newest = max(tests, key=lambda test: test.created).id
    wanted = state.params().get("t", newest)
    if wanted not in by_id:
        st.warning("That online test is not here: deleted, archived, or kept elsewhere. The newest is shown.")
    value = wanted if wanted in by_id else newest
    names = {test.id: test.name for test in tests}
    return by_id[widgets.select("Online test", "t", names, value, "online-test", reset=("v", "seg"))]


def online_metrics(test_id: str) -> dict[str, str]:
    """Online metric → title, in the order of the results."""
    results = state.workspace().online_tests.result_frame(test_id)
    return dict(zip(results["metric"], results["title"], strict=True))
