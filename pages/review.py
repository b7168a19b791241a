"""Review: what was decided and why, reviews of candidates with their checklists, and who did what."""

from __future__ import annotations

from recdash.ui.decisions import page
from recdash.ui.shell import frame

page.show(frame.show(without_runs=True))
