"""Why: what explains that a candidate won offline and lost online."""

from __future__ import annotations

from recdash.ui.app import state
from recdash.ui.components import online_tests
from recdash.ui.offline_online import diagnosis, page
from recdash.ui.shell import frame

view = frame.show()
tests = online_tests.tests(view)
if not tests:
    page.no_test()
    state.stop()
test, online_metric = page.choose(view, tests)
sides = page.gather(view, test, online_metric)
if sides.rows.empty:
    page.no_link(sides)
    state.stop()
diagnosis.show(view, sides)
