"""The labels of the demo's pages: the technical ones find their entry by the guide's search."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import pytest
from app_pages import markup, open_page, opened

from recdash.metrics import METRICS
from recdash.service import Workspace
from recdash.ui.guide.page import chapters
from recdash.ui.guide.search import search
from recdash.ui.shell.navigation import EVERYTHING

PAGES = [page for tabs in EVERYTHING.values() for page in tabs if page not in {"upload", "guide"}]
"""Pages that show numbers of the demo."""
HEAD = re.compile(r"<thead.*?</thead>", re.DOTALL)
COLUMN = re.compile(r"<th\b[^>]*>(.*?)(?=<th\b|</tr|</thead)", re.DOTALL)
CHECKS = re.compile(r'class="rd-checks"((?:(?!class="rd-tiles").)*)', re.DOTALL)
CHECK = re.compile(r"<h2[^>]*>(.*?)</h2>", re.DOTALL)
TILE = re.compile(r'<div class="rd-tile">\s*<(?:p|h3)\b[^>]*>(.*?)</(?:p|h3)>', re.DOTALL)
BADGE = re.compile(r'<span class="rd-badge[^"]*"[^>]*>(.*?)</span>', re.DOTALL)
OF_METRIC = {metric.label.casefold(): name for name, metric in METRICS.items()}

ENTRIES = {
    "95 % CI": "interval",
    "95 % CI (paired, Holm)": "interval",
    "95 % CI, Holm": "interval",
    "95 % CI, corrected": "interval",
    "A/B test": "table-sessions",
    "Baseline": "decision-rules",
    "Bots": "test-health",
    "Control": "online-metrics",
    "Counting rules": "test-health",
    "Credited requests": "interleaving",
    "Days": "test-health",
    "Difference 95 % CI": "interval",
    "Engagement rate, A/B test": "online-metrics",
    "Engagement rate: trend": "online-metrics",
    "Excluded data": "test-health",
    "Exposed, no session": "test-health",
    "First picks": "interleaving",
    "Guardrail": "guardrail",
    "Hits of this run only": "users-items",
    "Interaction": "disagree",
    "Items known": "population",
    "Items only this run hits": "users-items",
    "Lift": "online-metrics",
    "Lift, %": "online-metrics",
    "Lift, % 95 % CI": "online-metrics",
    "Margin": "guardrail",
    "Minimum detectable effect": "sample-size",
    "More users to detect +2 %": "sample-size",
    "Multiple exposures": "test-health",
    "Not in the test set": "population",
    "Novelty effect": "novelty-effect",
    "Online metric": "online-metrics",
    "Order and ties": "disagree",
    "Population": "population",
    "Preset": "disagree",
    "RBO": "users-items",
    "Rank, range": "rank-shared",
    "Relevance": "relevance",
    "Relevant": "relevance",
    "Role": "guardrail",
    "Segment": "segments",
    "Shared items at 10, %": "users-items",
    "Split (SRM)": "srm",
    "Test items hit": "users-items",
    "Users known": "population",
    "Users who gain and lose": "users-gain",
    "Variant": "online-metrics",
    "n": "interval",
    "p": "interval",
    "p (Holm)": "holm",
    "p, Holm": "holm",
    "p, corrected": "interval",
    "▲ Ship": "recommendation",
}
"""Technical labels → the entry that explains them."""
PLAIN = {
    "A/B test needs",
    "Approved",
    "Better",
    "But",
    "By",
    "Candidate",
    "Case",
    "Catalogue, %",
    "Change this test",
    "Change",
    "Comment",
    "Count",
    "Counted as",
    "Counted",
    "Created",
    "Credit",
    "Decided",
    "Definition",
    "Demo",
    "Difference to recdash",
    "Difference",
    "Download",
    "Engagement rate: sample size",
    "Engagement rate: segments",
    "Equal to the library",
    "Finding",
    "Formula",
    "Here",
    "Hit",
    "Hits lost by switching",
    "Hits won by switching",
    "Interleaved",
    "Interleaving needs",
    "It says",
    "Item",
    "Items",
    "Made",
    "Meaning",
    "Measure",
    "Metric",
    "Note",
    "Numbers",
    "Offline",
    "Online",
    "Online: engagement rate",
    "Online: session watch time",
    "Other notices",
    "Pair",
    "Position",
    "Property",
    "Recommended, never hit",
    "Relevant item but no recommendations",
    "Report",
    "Result",
    "Reviewed",
    "Rows read",
    "Rule",
    "Run",
    "Setting",
    "Share of 596, %",
    "Slots",
    "Sum so far",
    "Tags",
    "Test items recommended",
    "Times as many",
    "Total",
    "Unit",
    "Users",
    "Users and rows",
    "Users in the test set",
    "Users it is relevant to",
    "Users needed: interleaved or A/B",
    "Users now, control included",
    "Value",
    "Values of genre",
    "Variant value",
    "What",
    "When",
    "Where it comes from",
    "Who",
    "genre",
}
"""Labels in everyday words, or explained where they stand."""


@pytest.mark.usefixtures("with_demo")
def test_technical_labels_of_the_demo_find_their_entry_among_the_first_three(workspace: Workspace) -> None:
    articles = [article for chapter in chapters(workspace).values() for article in chapter.articles]
    names = {
        run.name for experiment in workspace.experiments.all() for run in workspace.runs.all(experiment.id)
    }
    experiment = max(workspace.experiments.all(), key=lambda experiment: experiment.created)
    (decision, *_) = workspace.journal.decisions(experiment.id)
    pages = [*map(open_page, PAGES), opened(open_page("review"), f"numbers-{decision.id}")]
    labels = {label for page in pages for label in _labels(markup(page))}
    unknown, lost = [], []
    for label in sorted(labels):
        slug = ENTRIES.get(label) or OF_METRIC.get(_metric_in(label))
        if slug is None:
            unknown += [label] * (label not in PLAIN and not any(name in label for name in names))
        elif slug not in (found := [article.slug for article in search(articles, label)[:3]]):
            lost.append(f"{label}: {found} instead of {slug}")
    assert (unknown, lost) == ([], [])
    assert set(ENTRIES) <= labels


def _metric_in(label: str) -> str:
    """Returns the part of a label that may name a metric: ``gini`` of ``Gini@10 ↓``."""
    return re.split(r"\s?@|,", label)[0].casefold()


def _labels(page: str) -> Iterator[str]:
    """Yields the titles of columns, checks and tiles, and the badges of a page, as a person reads them."""
    columns = [title for head in HEAD.findall(page) for title in COLUMN.findall(head)]
    checks = [title for part in CHECKS.findall(page) for title in CHECK.findall(part)]
    for title in [*columns, *checks, *TILE.findall(page), *BADGE.findall(page)]:
        text = html.unescape(re.sub(r"<[^>]+>", " ", title)).replace("\u2060", "")
        if label := re.sub(r"\s+", " ", text).strip(" ?"):
            yield label
