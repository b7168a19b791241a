"""Reports & decisions: what was decided and why, reviews of candidates, who did what, and reports."""

from __future__ import annotations

from recdash.ui import decision_page, frame, report_builder, report_list

view = frame.show(without_runs=True)
decision_page.show(view)
report_list.show(view)
report_builder.show(view)
