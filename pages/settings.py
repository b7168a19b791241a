"""Decision rules: the baseline, metric, margin and guardrails that the recommendation goes by."""

from __future__ import annotations

from recdash.ui.settings import page
from recdash.ui.shell import frame

page.show(frame.show(without_runs=True, parts=()))
