"""Review: what was decided and why, reviews of candidates with their checklists, and who did what."""

from __future__ import annotations

from recdash.ui.app import state
from recdash.ui.decisions import page
from recdash.ui.shell import frame

# For people who decide nothing the choices of the frame would change nothing here.
page.show(frame.show(without_runs=True, parts=frame.PARTS if state.person().may("editor") else ()))
