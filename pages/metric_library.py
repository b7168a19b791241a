"""Metric library: the metrics by which each new A/B test is counted."""

from __future__ import annotations

from recdash.ui.metric_library import page

page.show()
