"""Reach: for how many users each run has a hit within k."""

from __future__ import annotations

from recdash.ui.reach import page
from recdash.ui.shell import frame

page.show(frame.show(scoped=True))
