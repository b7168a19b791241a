"""Why: what explains that a candidate won offline and lost online, or the reverse."""

from __future__ import annotations

from recdash.ui.shell import frame
from recdash.ui.why import page

view = frame.show(parts={"metric"})
page.show(view)
