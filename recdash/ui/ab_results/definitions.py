"""What the metrics of an A/B test mean, and where the guide explains the words of its page."""

from __future__ import annotations

from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.online import OnlineRow
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import made_of
from recdash.ui.app import links
from recdash.ui.app.state import View
from recdash.ui.components.widgets import TableColumn, table_html

GUIDE = {
    "srm": "split of users (SRM)", "guardrail": "guardrails and margins", "cuped": "CUPED",
    "small": "small tests", "peeking": "looking every day", "novelty": "novelty",
    "winsorising": "winsorising",
}  # fmt: skip


def guide_links(view: View) -> Html:
    """The words of the page, each leading to what the guide says of it."""
    found = [links.link(view, text, "guide", {"metric": slug}) for slug, text in GUIDE.items()]
    return html('<div class="rd-note"><p>In the guide: {links}.</p></div>', links=join(found, ", "))


def definitions(found: AbTest) -> Html:
    """Every metric: what it means, what it is made of, which way is better, and its role."""
    columns = [TableColumn(one) for one in ("Metric", "Meaning", "Made of", "Better", "Role", "Margin")]
    first = {row.metric: row for row in reversed(found.results.rows)}
    return table_html(columns, [_definition(found, first[name]) for name in found.titles], kind="rd-words")


def _definition(found: AbTest, row: OnlineRow) -> list[object]:
    metric = found.metrics.get(row.metric)
    return [
        row.title,
        metric.meaning if metric else "As it was added up before the upload.",
        f"Σ {made_of(metric)}" if metric else numbers.NONE,
        "more" if row.direction == "up" else "less",
        row.role,
        f"{100 * row.margin:g}\u00a0%" if row.margin else numbers.NONE,
    ]
