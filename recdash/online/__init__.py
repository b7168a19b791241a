"""Analyses A/B tests: logs or aggregates → users → values, lifts and intervals per variant, and test
health.
"""

from __future__ import annotations

from recdash.online.analysis.results import OnlineResults, OnlineRow
from recdash.online.metrics import METRICS, OnlineMetric
from recdash.online.rules import OnlineRules
from recdash.online.templates import templates

__all__ = ["METRICS", "OnlineMetric", "OnlineResults", "OnlineRow", "OnlineRules", "templates"]
