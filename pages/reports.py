"""Reports & decisions: what was decided and why, reviews of candidates, who did what."""

from __future__ import annotations

from recdash.ui import decision_page, frame

view = frame.show(without_runs=True)
decision_page.show(view)
