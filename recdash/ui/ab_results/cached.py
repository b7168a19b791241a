"""Cached answers about an A/B test, which depend on its id and its counting rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.ui.app import answers
from recdash.ui.app.state import workspace

if TYPE_CHECKING:
    from recdash.online import OnlineMetric, OnlineResults
    from recdash.online.analysis.sample import SampleSummary
    from recdash.stats import Correction


Answer = TypeVar("Answer")
Version = tuple[str, str]
"""A test's id, and its rules and metrics as one text. The results are the same as long as these are."""


@st.cache_data(show_spinner=False, max_entries=64)
def _sample_summary(version: Version) -> SampleSummary:
    return workspace().online_tests.sample(version[0])


def ask(method: Callable[..., Answer], test: OnlineTest, *arguments: Any) -> Answer:
    """Returns what a service's method answers about a test; cached by method, arguments and the test's
    rules.
    """
    return answers.answer(method, (test.id, *arguments), version=_version(test))


def _version(test: OnlineTest) -> Version:
    counted = [dict(test.rules), [dict(metric) for metric in test.metrics]]
    return test.id, json.dumps(counted, sort_keys=True, default=str)


def results(test: OnlineTest, correction: Correction) -> OnlineResults:
    return ask(workspace().online_tests.results, test, correction)


def sample_summary(test: OnlineTest) -> SampleSummary | None:
    """Returns the summary of the test's users; None for aggregated data."""
    return None if test.kind == "aggregates" else _sample_summary(_version(test))


def metrics(test: OnlineTest) -> dict[str, OnlineMetric]:
    """Returns {name: definition} of the test's metrics; empty for aggregated data."""
    return ask(workspace().online_analysis.definitions, test)
