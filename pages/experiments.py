"""Experiments: what each asks, whom to ship, what was decided and what changed last."""

from __future__ import annotations

from recdash.ui import experiments, first_run, state

if not state.workspace().experiments(archived=True):
    first_run.show()
    state.stop()
experiments.show()
