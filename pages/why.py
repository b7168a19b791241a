"""Why: what explains that a candidate won offline and lost online, or the reverse."""

from __future__ import annotations

from recdash.ui.components.offline_online import SERVED_LISTS
from recdash.ui.shell import frame
from recdash.ui.why import page

view = frame.show(parts={"metric"}, needs_runs=SERVED_LISTS)
page.show(view)
