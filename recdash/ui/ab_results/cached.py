"""Answers about an A/B test for its page, kept by the test's id and by how its logs are counted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.ui.app.state import workspace

if TYPE_CHECKING:
    import pandas as pd

    from recdash.online import OnlineMetric, OnlineResults
    from recdash.online.analysis.novelty_effect import Fading
    from recdash.online.analysis.sample import Census
    from recdash.online.analysis.segments import Reversal
    from recdash.stats import Correction


Version = tuple[str, str]
"""A test's id, and its rules and metrics as one text: under others it says something else."""


@st.cache_data(show_spinner=False, max_entries=256)
def _kept(method: str, version: Version, arguments: tuple[Any, ...]) -> Any:
    return getattr(workspace(), method)(version[0], *arguments)


@st.cache_data(show_spinner=False, max_entries=64)
def _census(version: Version) -> Census:
    from recdash.online.analysis import sample

    return sample.taken(workspace().online_users(version[0]))


def _ask(method: str, test: OnlineTest, *arguments: Any) -> Any:
    return _kept(method, _version(test), arguments)


def _version(test: OnlineTest) -> Version:
    counted = [dict(test.rules), [dict(one) for one in test.metrics]]
    return test.id, json.dumps(counted, sort_keys=True, default=str)


def results(test: OnlineTest, correction: Correction) -> OnlineResults:
    found: OnlineResults = _ask("ab_results", test, correction)
    return found


def census(test: OnlineTest) -> Census | None:
    """None for a test of aggregates: its users are not known."""
    return None if test.kind == "aggregates" else _census(_version(test))


def metrics(test: OnlineTest) -> dict[str, OnlineMetric]:
    """The definitions by name; none for a test of aggregates, which was added up elsewhere."""
    if test.kind == "aggregates":
        return {}
    return {one.name: one for one in _ask("online_metrics", test)}


def totals(test: OnlineTest) -> list[str]:
    found: list[str] = _ask("online_totals", test)
    return found


def over_time(test: OnlineTest, metric: str, how: str) -> pd.DataFrame:
    found: pd.DataFrame = _ask("over_time", test, metric, how)
    return found


def fading(test: OnlineTest, metric: str) -> list[Fading]:
    found: list[Fading] = _ask("online_fading", test, metric)
    return found


def segments(test: OnlineTest) -> list[str]:
    found: list[str] = _ask("online_segments", test)
    return found


def by_segment(test: OnlineTest, metric: str, segment: str) -> pd.DataFrame:
    found: pd.DataFrame = _ask("by_segment", test, metric, segment)
    return found


def reversals(test: OnlineTest, metric: str, segment: str) -> tuple[Reversal, ...]:
    found: tuple[Reversal, ...] = _ask("reversals", test, metric, segment)
    return found


def detectable(test: OnlineTest, metric: str) -> dict[str, float | None]:
    found: dict[str, float | None] = _ask("detectable", test, metric)
    return found


def more_users(test: OnlineTest, metric: str, variant: str, effect: float) -> int | None:
    found: int | None = _ask("more_users", test, metric, variant, effect)
    return found
