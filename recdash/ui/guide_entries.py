"""The guide as a list of chapters with articles: from the metric table, the presets and our prose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from recdash.ui.guide_text import READING, RULES, TABLES, Article


@dataclass(frozen=True)
class Chapter:
    title: str
    subtitle: str
    articles: tuple[Article, ...]


def chapters(workspace: Any) -> tuple[Chapter, ...]:
    return (
        Chapter("Metrics", "As implemented.", tuple(map(metric_article, workspace.guide()))),
        Chapter(
            "Presets",
            "One word sets every parameter, the ties and who is counted, to reproduce a known tool.",
            tuple(map(preset_article, workspace.presets())),
        ),
        Chapter("Rules that move scores", "They often matter more than the formula.", RULES),
        Chapter("Reading the pages", "Intervals, shared ranks, offline against online.", READING),
        Chapter("Tables you can upload", "Bring the columns you have; names are recognised.", TABLES),
    )


def metric_article(metric: Any) -> Article:
    """Formula, parameters, range, unit, needs, source and worked example of one metric."""
    facts = {
        "Range": metric.range, "Unit": metric.unit, "Needs": metric.needs, "Source": metric.source,
        "Example": metric.example,
    }  # fmt: skip
    listed = "\n".join(f"- **{name}**: {value}" for name, value in facts.items() if value)
    body = f"{metric.title}.\n\n$$\n{metric.formula}\n$$\n\n{_parameters(metric.parameters)}{listed}"
    return Article(metric.name, metric.name, body)


def _parameters(parameters: Sequence[tuple[str, Any, Any, str]]) -> str:
    if not parameters:
        return ""
    rows = "\n".join(
        f"| `{name}` | `{default}` | {', '.join(f'`{choice}`' for choice in choices)} | {meaning} |"
        for name, default, choices, meaning in parameters
    )
    return f"| parameter | default | choices | meaning |\n|---|---|---|---|\n{rows}\n\n"


def preset_article(preset: Any) -> Article:
    meaning = preset.meaning
    lines = [meaning] if isinstance(meaning, str) else [f"- {line}" for line in meaning]
    return Article(f"preset-{preset.name}", preset.name, f"{preset.title}\n\n" + "\n".join(lines))


def linked_first(found: Sequence[Chapter], slug: str | None) -> None:
    """The article that the link names stands on top, open; a name in vain is said."""
    if not slug:
        return
    articles = {article.slug: article for chapter in found for article in chapter.articles}
    if slug in articles:
        with st.container(border=True):
            _article(articles[slug], anchor=None)
    else:
        st.warning("The link names an entry that the guide does not have.")


def show(found: Sequence[Chapter], words: str) -> None:
    """All chapters, or those articles that hold every word of the search."""
    hits = [(chapter, [one for one in chapter.articles if one.mentions(words)]) for chapter in found]
    if not any(articles for _, articles in hits):
        st.info("Nothing in the guide holds all of these words. Try fewer, or a metric's name.")
    for chapter, articles in hits:
        if articles:
            _chapter(chapter, articles)


def _chapter(chapter: Chapter, articles: Sequence[Article]) -> None:
    st.header(chapter.title, anchor=chapter.title.lower().replace(" ", "-"))
    st.caption(chapter.subtitle)
    for article in articles:
        with st.container(border=True):
            _article(article, anchor=article.slug)


def _article(article: Article, anchor: str | None) -> None:
    st.subheader(article.title, anchor=anchor or False)
    st.markdown(article.body)
