"""Makes the chapters of the guide from metrics, presets and written articles, for the page and the site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recdash.definitions.guide import MetricGuide, PresetGuide
from recdash.metrics.naming import metric_title
from recdash.ui.guide.decisions import DECIDING
from recdash.ui.guide.online import ONLINE
from recdash.ui.guide.reading import DISAGREE, READING, Article, table_row
from recdash.ui.guide.rules import RULES
from recdash.ui.guide.tables import TABLES

SYMBOLS = (
    "k: the cutoff, up to the depth of the lists. For each user: m relevant items; r_j, the rank of the j-th "
    "hit; g, its gain. A score is the mean over the users that count."
)


@dataclass(frozen=True)
class Chapter:
    title: str
    subtitle: str
    articles: tuple[Article, ...]


def guide_chapters(metrics: Iterable[MetricGuide], presets: Iterable[PresetGuide]) -> dict[str, Chapter]:
    """Returns all chapters by slug, in reading order."""
    metric_articles = tuple(map(metric_article, metrics))
    preset_articles = (DISAGREE, *map(preset_article, presets))
    return {
        "deciding": Chapter(
            "Deciding", "From the evidence to a recommendation, a review and a decision.", DECIDING
        ),
        "tables": Chapter(
            "Files to add",
            "Which files recdash reads, and their columns. Usual names are recognised.",
            TABLES,
        ),
        "reading": Chapter(
            "Reading the pages", "Intervals, ranks, segments, trade-offs, offline vs online.", READING
        ),
        "online": Chapter(
            "A/B tests", "How the Online pages judge a test, and when not to trust it.", ONLINE
        ),
        "metrics": Chapter("Metrics", SYMBOLS, metric_articles),
        "rules": Chapter(
            "Scoring rules",
            "Population, ties and short lists often change a score more than its formula.",
            RULES,
        ),
        "presets": Chapter(
            "Presets",
            "A preset sets every parameter, the ties and the population like a known library.",
            preset_articles,
        ),
    }


def metric_article(metric: MetricGuide) -> Article:
    """Returns the article about a metric: what a value means for users, then its definition, range,
    parameters, example and source.
    """
    facts = f"{metric.range} · {metric.unit} · {metric.direction} · needs {metric.needs}"
    parts = [
        metric.plain,
        f"**Definition.** {metric.title}.",
        f"$$\n{metric.formula}\n$$",
        facts,
        _parameters(metric),
        f"**Example.** {metric.example}",
        f"**Source.** {metric.source}",
    ]
    body = "\n\n".join(part for part in parts if part)
    return Article(metric.name, f"{metric_title(metric.name)} · `{metric.name}`", body)


def _parameters(metric: MetricGuide) -> str:
    """Returns the metric's parameters as a Markdown table with a row per value; empty if it has none."""
    rows = [
        table_row(f"`{name}={value}`", "yes" if value == default else "", meaning)
        for name, default, choices in metric.parameters
        for value, meaning in choices.items()
    ]
    head = "| parameter | default | meaning |\n|---|---|---|\n"
    return head + "\n".join(rows) if rows else ""


def preset_article(preset: PresetGuide) -> Article:
    """Returns the article about a preset: its purpose, its definitions, and whether the library agrees."""
    specs = [f"- `{spec}`" for spec in preset.specs]
    rules = [f"- {rule}" for rule in preset.rules]
    agreement = (
        ["", "Compared with the library:", "", *(f"- {line}" for line in preset.agreement)]
        if preset.agreement
        else []
    )
    return Article(
        f"preset-{preset.name}",
        f"{preset.title} · `{preset.name}`",
        "\n".join([preset.why, "", *specs, *rules, *agreement]),
    )
