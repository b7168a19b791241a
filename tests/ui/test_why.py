"""The page Why: the likely cause first, then twelve checks that open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import pytest
from app_pages import TRUTH, USERS, MadeOnce, Open, link, lists, markup, passed, said, store
from streamlit.testing.v1 import AppTest

from recdash.service import Workspace

NAME = "new " + "n" * 70 + " <b>x</b>"


def sessions(watched: dict[str, float], users: Sequence[str] = USERS) -> pd.DataFrame:
    """Users by turns in the variants, two sessions each; every fourth user watches double."""
    names = list(watched)
    rows = [
        (user, f"{user}-{visit}", names[n % len(names)], 1_000_000 + 86_400 * visit, 1,
         watched[names[n % len(names)]] * (1 + n // len(names) % 2))
        for n, user in enumerate(users)
        for visit in range(2)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["unit_id", "session_id", "variant", "start_ts", "clicks", "watch_s"])


def stored(
    workspace: Workspace, watched: dict[str, float], runs: dict[str, Any], users: Sequence[str] = USERS
) -> dict[str, str]:
    """The experiment films with the runs, served by the variants in the same order; the first is control."""
    ids = store(workspace, runs)
    links = {variant: ids[run] for variant, run in zip(watched, runs, strict=True)}
    tables = {"sessions": sessions(watched, users)}
    test = workspace.online_tests.add(ids["films"], "spring", tables, control="control", links=links)
    return ids | {"test": test.id}


def add_lost(workspace: Workspace) -> dict[str, str]:
    """New finds everybody's item first and the old run nobody's; online it is watched half as long."""
    return stored(workspace, {"control": 600, "new": 300}, {"old": lists(9), NAME: lists(1)})


@pytest.fixture
def lost(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_lost)


@pytest.fixture
def shown(open_page: Open) -> Callable[..., AppTest]:
    return partial(open_page, "why", om="session_watch_time")


@pytest.mark.usefixtures("lost")
def test_the_sentence_comes_first_then_all_twelve_checks(shown: Open) -> None:
    text = said(shown())
    assert f"{NAME} won offline, lost online, and no check explains why" in text
    assert "12 checks: 9 inconclusive, 3 ruled out as the cause." in text
    assert "Noise ○ not the cause lift online " in text
    assert "Served ≠ evaluated ? inconclusive needs a table of served lists" in text
    assert text.count("inconclusive needs") == 9
    assert markup(shown()).count("<details>") == 12


@pytest.mark.usefixtures("lost")
def test_a_name_of_markup_is_text_in_every_part(shown: Open) -> None:
    raw = markup(shown())
    assert "<b>x</b>" not in raw
    assert "&lt;b&gt;x&lt;/b&gt;" in raw


def test_a_cause_comes_with_what_to_do(workspace: Workspace, shown: Open) -> None:
    """The items that new finds have a rating of 1; those of users 11 to 20, rated 5, only old finds."""
    rated = TRUTH.assign(rating=[1] * 10 + [5] * 10)
    ids = store(workspace, {"old": lists(1, USERS[10:]), "new": lists(1, USERS)}, truth=rated)
    table = {"sessions": sessions({"control": 600, "new": 300})}
    links = {"control": ids["old"], "new": ids["new"]}
    workspace.online_tests.add(ids["films"], "spring", table, control="control", links=links)
    text = said(shown())
    assert "won offline, lost online, most likely because of what counts as relevant offline" in text
    assert "of what counted as relevant offline were grades below 5. Counting only grades of 5" in text
    assert "Label definition ● most likely cause +100 % offline; 0 % with grades of 5" in text
    assert "12 checks: 1 most likely cause, " in text
    assert "possible cause" not in text
    assert "What to do: Set the relevance threshold" in text
    assert "See the recommendation with relevance from 5 on →" in text
    assert "th=5" in markup(shown())


def test_it_opens_on_the_variant_that_disagrees_and_another_is_kept_in_the_link(
    workspace: Workspace, shown: Open
) -> None:
    runs = {"old": lists(9), "good": lists(2), "odd": lists(1)}
    more = [f"n{number}" for number in range(40)]  # twenty users a variant
    stored(workspace, {"control": 600, "a": 1200, "b": 300}, runs, [*USERS, *more])
    app = shown()
    assert "odd won offline, lost online, and no check explains why" in said(app)
    (chooser,) = [element for element in app.selectbox if element.label == "Variant"]
    app = passed(chooser.set_value("a").run())
    assert "good won both: no check finds a reason for doubt" in said(app)
    assert link(app)["v"] == "a"
    assert "good won both: no check finds a reason for doubt" in said(shown(**link(app)))


def test_a_metric_without_a_value_per_user_says_why_there_is_no_explanation(
    workspace: Workspace, shown: Open
) -> None:
    ids = store(workspace, {"old": lists(9), "new": lists(1)}, catalogue=TRUTH[["item_id"]])
    links = {"control": ids["old"], "new": ids["new"]}
    tables = {"sessions": sessions({"control": 600, "new": 300})}
    workspace.online_tests.add(ids["films"], "spring", tables, control="control", links=links)
    app = shown(m="coverage")
    assert "new cannot be explained here" in said(app)
    assert "no value per user" in said(app)
