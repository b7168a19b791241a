"""Analyses A/B tests: from logs or aggregates to lifts, intervals and checks of the test's health."""

from __future__ import annotations

from recdash.online.analysis.results import OnlineResults, OnlineRow
from recdash.online.metrics import METRICS, OnlineMetric
from recdash.online.rules import OnlineRules
from recdash.online.templates import templates

__all__ = ["METRICS", "OnlineMetric", "OnlineResults", "OnlineRow", "OnlineRules", "templates"]
