"""Decision: the recommendation from all evidence, or the decision that stands, and what it rests on."""

from __future__ import annotations

from recdash.ui.app import state
from recdash.ui.overview import ab_alone, page
from recdash.ui.shell import frame

view = frame.show(scoped=True, without_runs=True)
if not view.runs:
    if not ab_alone.show(view):
        frame.no_runs(view.experiment)
    state.stop()
page.show(view)
