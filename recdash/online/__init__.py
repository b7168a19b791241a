"""Online tests: logs or aggregates → users → values, lifts and intervals per variant, and their health."""

from __future__ import annotations

from recdash.online.agreement.agreement import quadrant
from recdash.online.analysis.health import Health
from recdash.online.analysis.results import OnlineResults, OnlineRow, results_of_upload
from recdash.online.metrics import METRICS, OnlineMetric
from recdash.online.rules import OnlineRules
from recdash.online.templates import templates
from recdash.online.users import OnlineUsers

__all__ = [
    "METRICS",
    "Health",
    "OnlineMetric",
    "OnlineResults",
    "OnlineRow",
    "OnlineRules",
    "OnlineUsers",
    "quadrant",
    "results_of_upload",
    "templates",
]
