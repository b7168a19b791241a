"""Lists the A/B tests of the experiment in view, draws the choice of one, and collects their notices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.domain.results import WHOLE
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.html import markdown
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.wording import unavailable
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.online.interleaving.results import SIGNIFICANCE_LEVEL
from recdash.online.interleaving.team_split import UNEVEN
from recdash.ui.app import state
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.notice_words import of_stored

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


def interleaved(view: View) -> list[Problem]:
    """Returns a remark for each interleaving test with a preference between runs in view, or between rankings
    that are not linked to runs.

    None for a part of the experiment, of which the stored preferences say nothing.
    """
    tests = [] if view.scope != WHOLE else state.workspace().interleaving.all(view.experiment.id)
    return [
        remark
        for test in tests
        if not test.links or set(test.links.values()) <= {*view.shown_ids}
        if (remark := _preference(view, test)) is not None
    ]


def _preference(view: View, test: OnlineTest) -> Problem | None:
    """Returns what users of an interleaving test preferred; None if it has no verdict."""
    sides = [row for row in test.results if row["metric"] == "requests"]
    if len(sides) != 2 or any(notice.code in UNEVEN for notice in test.notices):
        return None
    worse, better = sorted(sides, key=lambda row: row["share"] or 0.0)
    share, low, high = (none_if_nan(better[name]) for name in ("share", "low", "high"))
    p = none_if_nan(better["p"])
    if share is None or low is None or high is None or p is None or p >= SIGNIFICANCE_LEVEL:
        return None
    names = [
        view.name(test.links[row["variant"]]) if row["variant"] in test.links else row["variant"]
        for row in (better, worse)
    ]
    digits = numbers.places([100 * share, 100 * low, 100 * high])
    percent = [numbers.fixed(100 * value, digits) for value in (share, low, high)]
    sentence = (
        f"interleaved, users prefer {names[0]} to {names[1]}; {names[0]} won {percent[0]} % of the "
        f"credited requests (95 % CI {percent[1]} to {percent[2]} %)"
    )
    next_step = "See Results." if test.links else "Link its rankings to runs on Results."
    return Problem("interleaved", test.name, sentence, next_step)


def notices_of_tests(view: View) -> tuple[list[Problem], list[Problem]]:
    """Returns the notices of all A/B tests, with the tests' names: sample ratio mismatches, then all
    others.
    """
    notices = []
    for test in tests(view):
        notices += [
            replace(notice, place=f"{test.name}, {notice.place}") for notice in of_stored(test.notices)
        ]
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
