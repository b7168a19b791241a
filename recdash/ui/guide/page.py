"""The guide as chapters of articles: from the metric table, the presets and our own prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from recdash.definitions.guide import MetricGuide, PresetGuide
from recdash.formatting.html import markdown
from recdash.metrics.naming import metric_title
from recdash.service import Workspace
from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.components.templates import template_button
from recdash.ui.guide.decisions import DECIDING
from recdash.ui.guide.online import ONLINE
from recdash.ui.guide.reading import DISAGREE, READING, Article
from recdash.ui.guide.rules import RULES
from recdash.ui.guide.tables import TABLES

SYMBOLS = (
    "k: cutoff, from 1 to the depth. Per user: m relevant items, r_j the rank of the j-th hit, g its gain. "
    "A score is the mean over the users who count."
)


@dataclass(frozen=True)
class Chapter:
    title: str
    subtitle: str
    articles: tuple[Article, ...]


def chapters(workspace: Workspace) -> dict[str, Chapter]:
    """All chapters by slug, in reading order."""
    metrics = tuple(map(metric_article, workspace.definitions.guide()))
    presets = (DISAGREE, *map(preset_article, workspace.definitions.presets()))
    return {
        "metrics": Chapter("Metrics", SYMBOLS, metrics),
        "presets": Chapter("Presets", "One word sets every parameter, the ties and who is counted.", presets),
        "rules": Chapter("Rules", "They often move scores more than the formula does.", RULES),
        "reading": Chapter("Reading the pages", "Intervals, shared ranks, offline against online.", READING),
        "online": Chapter("A/B tests", "What the page A/B results says, and when not to believe it.", ONLINE),
        "deciding": Chapter(
            "Deciding", "What the page Reports & decisions asks, and what it keeps.", DECIDING
        ),
        "tables": Chapter("Tables to upload", "Bring the columns you have; usual names are known.", TABLES),
    }


def metric_article(metric: MetricGuide) -> Article:
    """Meaning, formula, range, parameters, worked example and source of one metric."""
    facts = f"{metric.range} · {metric.unit} · {metric.direction} · needs {metric.needs}"
    parts = [
        f"{metric.title}.",
        f"$$\n{metric.formula}\n$$",
        facts,
        _parameters(metric),
        f"**Example.** {metric.example}",
        f"**Source.** {metric.source}",
    ]
    body = "\n\n".join(part for part in parts if part)
    return Article(metric.name, f"{metric_title(metric.name)} · `{metric.name}`", body)


def _parameters(metric: MetricGuide) -> str:
    """A table of the metric's parameters: the default first, then what else it may be."""
    rows = [
        f"| `{name}={value}` | {'default' if value == default else ''} | {meaning} |"
        for name, default, choices in metric.parameters
        for value, meaning in choices.items()
    ]
    head = "| parameter | unless named | meaning |\n|---|---|---|\n"
    return head + "\n".join(rows) if rows else ""


def preset_article(preset: PresetGuide) -> Article:
    specs = [f"- `{spec}`" for spec in preset.specs]
    rules = [f"- {rule}" for rule in preset.rules]
    agreement = (
        ["", "Beside the library:", "", *(f"- {line}" for line in preset.agreement)]
        if preset.agreement
        else []
    )
    return Article(
        f"preset-{preset.name}",
        f"{preset.title} · `{preset.name}`",
        "\n".join([preset.why, "", *specs, *rules, *agreement]),
    )


def linked_first(by_slug: Mapping[str, Chapter]) -> None:
    """The article that the link names stands on top, open; an unknown name is reported."""
    slug = state.params().get("metric")
    if slug is None:
        return
    state.write("metric", slug)
    articles = {article.slug: article for chapter in by_slug.values() for article in chapter.articles}
    if slug not in articles:
        st.warning(f"The link names {markdown(slug)}, which the guide does not have.")
        return
    with st.container(border=True, key="guide-linked"):
        _article(articles[slug], anchor=None)
        st.button("Close", key="guide-close", on_click=_close)


def _close() -> None:
    state.choose(metric=None)
    st.query_params.pop("metric", None)


def show(by_slug: Mapping[str, Chapter], words: str) -> None:
    """The chosen chapter; with search words, the articles of all chapters that hold every one."""
    titles = {slug: chapter.title for slug, chapter in by_slug.items()}
    chosen = widgets.choice("Chapter", "chapter", titles, "metrics")
    wanted = by_slug.values() if words.strip() else [by_slug[chosen]]
    hits = [(chapter, [entry for entry in chapter.articles if entry.mentions(words)]) for chapter in wanted]
    if not any(articles for _, articles in hits):
        st.info("Nothing in the guide holds all of these words. Try fewer, or a metric's name.")
    for chapter, articles in hits:
        if articles:
            _chapter(chapter, articles)


def _chapter(chapter: Chapter, articles: Sequence[Article]) -> None:
    widgets.section(chapter.title, chapter.subtitle)
    for article in articles:
        with st.container(border=True):
            _article(article, anchor=article.slug)


def _article(article: Article, anchor: str | None) -> None:
    st.subheader(article.title, anchor=anchor or False)
    st.markdown(article.body)
    if article.template:
        template_button(article.template, "guide" if anchor else "linked")
