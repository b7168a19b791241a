"""What the metrics of an A/B test mean, and where the guide explains the words of its page."""

from __future__ import annotations

from recdash.formatting import numbers
from recdash.formatting.html import Html
from recdash.formatting.tables import text_columns
from recdash.online import OnlineRow
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import ADDED_UP, made_of
from recdash.ui.components.widgets import table_html

GUIDE = {
    "srm": "split of users (SRM)",
    "guardrail": "guardrails and margins",
    "cuped": "CUPED",
    "small": "small tests",
    "peeking": "looking every day",
    "novelty": "novelty",
    "winsorising": "winsorising",
}


def definitions(ab_test: AbTest) -> Html:
    """Every metric: what it means, what it is made of, which way is better, and its role."""
    columns = text_columns("Metric", "Meaning", "Made of", "Better", "Role", "Margin")
    first = {row.metric: row for row in reversed(ab_test.results.rows)}
    rows = [_definition(ab_test, first[name]) for name in ab_test.titles]
    return table_html(columns, rows, kind="rd-words")


def _definition(ab_test: AbTest, row: OnlineRow) -> list[str]:
    metric = ab_test.metrics.get(row.metric)
    return [
        row.title,
        metric.meaning if metric else ADDED_UP,
        f"Σ {made_of(metric)}" if metric else numbers.NONE,
        "more" if row.direction == "up" else "less",
        row.role,
        f"{100 * row.margin:g}\u00a0%" if row.margin else numbers.NONE,
    ]
