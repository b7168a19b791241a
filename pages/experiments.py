"""Experiments: what each asks, which candidate to ship, what was decided and what changed last."""

from __future__ import annotations

from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.experiments import page
from recdash.ui.shell import first_run

listed = state.workspace().experiments.all(archived=True)
widgets.damaged(state.workspace().damaged())
if not listed:
    first_run.show()
    state.stop()
page.show()
