"""Online tests: uploaded sessions or aggregates → values, lifts and intervals per variant."""

from __future__ import annotations

from recdash.online.agreement import quadrant
from recdash.online.health import Health
from recdash.online.measures import METRICS, OnlineMetric
from recdash.online.results import OnlineResults, OnlineRow, results
from recdash.online.templates import templates

__all__ = [
    "METRICS",
    "Health",
    "OnlineMetric",
    "OnlineResults",
    "OnlineRow",
    "quadrant",
    "results",
    "templates",
]
