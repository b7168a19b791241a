"""Reports & decisions: what was decided and why, reviews of candidates, who did what, and reports."""

from __future__ import annotations

from recdash.ui.decisions import page
from recdash.ui.reports import builder, listing
from recdash.ui.shell import frame

view = frame.show(without_runs=True)
page.show(view)
listing.show(view)
builder.show(view)
