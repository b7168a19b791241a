"""Experiments: what each asks, whom to ship, what was decided and what changed last."""

from __future__ import annotations

from recdash.ui import experiments, first_run, state, widgets

listed = state.workspace().experiments(archived=True)
widgets.damaged(state.workspace().damaged())
if not listed:
    first_run.show()
    state.stop()
experiments.show()
