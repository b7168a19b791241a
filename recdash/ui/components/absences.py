"""Says why cells of a table are empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recdash.metrics.naming import metric_title
from recdash.ui.app.state import View


def reasons(view: View, order: Sequence[str], absences: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Returns why cells are empty or columns missing: a line for each reason and the runs to which it
    applies.
    """
    lines: dict[tuple[str, str], list[str]] = {}
    for metric, absent in absences.items():
        for reason in dict.fromkeys(absent.values()):
            concerned = [run for run in order if absent.get(run) == reason]
            everyone = len(concerned) == len(order)
            runs = "all runs" if everyone else ", ".join(view.name(run) for run in concerned)
            if concerned:
                lines.setdefault((runs, reason), []).append(metric_title(metric))
    return [f"– {', '.join(metrics)} ({runs}): {reason}" for (runs, reason), metrics in lines.items()]
