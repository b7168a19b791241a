"""The table of an A/B test's metrics, and the entries of the guide to which its page links."""

from __future__ import annotations

from recdash.formatting import numbers
from recdash.formatting.html import Html
from recdash.formatting.tables import text_columns
from recdash.online import OnlineRow
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import AGGREGATED, summed
from recdash.ui.components.widgets import table_html

GUIDE = {
    "srm": "sample ratio mismatch (SRM)",
    "guardrail": "guardrails and margins",
    "cuped": "CUPED",
    "small": "small tests",
    "peeking": "always-valid CI",
    "novelty-effect": "novelty effect",
    "winsorising": "outlier capping",
}


def definitions(ab_test: AbTest) -> Html:
    """Returns the table of all metrics with meaning, formula, better direction, role and margin."""
    columns = text_columns("Metric", "Meaning", "Formula", "Better", "Role", "Margin")
    first = {row.metric: row for row in reversed(ab_test.results.rows)}
    rows = [_definition(ab_test, first[name]) for name in ab_test.titles]
    return table_html(columns, rows, kind="rd-words")


def _definition(ab_test: AbTest, row: OnlineRow) -> list[str]:
    metric = ab_test.metrics.get(row.metric)
    return [
        row.title,
        metric.meaning if metric else AGGREGATED,
        summed(metric) if metric else numbers.NONE,
        "higher" if row.direction == "up" else "lower",
        row.role,
        f"{100 * row.margin:g}\u00a0%" if row.margin else numbers.NONE,
    ]
