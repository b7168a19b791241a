"""Makes the chapters of the guide from metrics, presets and written articles, and draws them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import streamlit as st

from recdash.definitions.guide import MetricGuide, PresetGuide
from recdash.formatting.html import markdown
from recdash.formatting.wording import unavailable
from recdash.metrics.naming import metric_title
from recdash.service import Workspace
from recdash.ui.app import links, state
from recdash.ui.components import widgets
from recdash.ui.components.templates import template_button
from recdash.ui.guide.decisions import DECIDING
from recdash.ui.guide.online import ONLINE
from recdash.ui.guide.reading import DISAGREE, READING, Article, table_row
from recdash.ui.guide.rules import RULES
from recdash.ui.guide.search import excerpt, search
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


def chapters(workspace: Workspace) -> dict[str, Chapter]:
    """Returns all chapters by slug, in reading order."""
    metrics = tuple(map(metric_article, workspace.definitions.guide()))
    presets = (DISAGREE, *map(preset_article, workspace.definitions.presets()))
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
        "metrics": Chapter("Metrics", SYMBOLS, metrics),
        "rules": Chapter(
            "Scoring rules",
            "Population, ties and short lists often change a score more than its formula.",
            RULES,
        ),
        "presets": Chapter(
            "Presets",
            "A preset sets every parameter, the ties and the population like a known library.",
            presets,
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


def linked_first(by_slug: Mapping[str, Chapter]) -> None:
    """Draws the article that the link names on top of the page, or warns if there is none with this name."""
    slug = state.params().get("metric")
    if slug is None:
        return
    state.write("metric", slug)
    articles = {article.slug: article for chapter in by_slug.values() for article in chapter.articles}
    if slug not in articles:
        st.warning(f"{unavailable('entry', markdown(slug), 'the whole guide')}.")
        return
    with st.container(border=True, key="guide-linked"):
        _article(articles[slug], anchor=None)
        _way_out()


def _way_out() -> None:
    """Draws a button that opens the page from which the reader came; if it is not known, one that hides the
    entry.
    """
    page = state.params().get("back", "")
    if not links.is_there(page):
        st.button("Close", key="guide-close", on_click=_close)
        return
    state.write("back", page)
    if st.button(f"Back to {links.title(page)}", key="guide-back"):
        state.choose(metric=None, back=None)
        links.go(page)


def _close() -> None:
    state.choose(metric=None, back=None)
    for name in ("metric", "back"):
        st.query_params.pop(name, None)


def first_chapter(workspace: Workspace) -> str:
    """Returns the chapter with which the guide opens: which files to add, as long as nothing is stored."""
    return "deciding" if workspace.experiments.all(archived=True) else "tables"


def show(by_slug: Mapping[str, Chapter], words: str, first: str) -> None:
    """Draws the chosen chapter, at first ``first``; with search words, the articles of all chapters that
    contain them.
    """
    if words.strip():
        _search_results(by_slug.values(), words)
        return
    titles = {slug: chapter.title for slug, chapter in by_slug.items()}
    _chapter(by_slug[widgets.choice("Chapter", "chapter", titles, first)])


def _search_results(searched: Collection[Chapter], words: str) -> None:
    """Draws the articles that contain the words, the closest first: the place with the words, and the whole
    article folded below it.
    """
    chapter_of = {article.slug: chapter for chapter in searched for article in chapter.articles}
    hits = search([article for chapter in searched for article in chapter.articles], words)
    if not hits:
        st.info("No entry contains these words. Try fewer words, or the name of a metric.")
    for article in hits:
        with st.container(border=True):
            st.subheader(article.title, anchor=article.slug)
            st.caption(chapter_of[article.slug].title)
            st.markdown(excerpt(article, words))
            with st.expander("Whole entry", key=f"guide-hits-{article.slug}"):
                _body(article, "guide")


def _chapter(chapter: Chapter) -> None:
    widgets.section(chapter.title, chapter.subtitle)
    for article in chapter.articles:
        with st.container(border=True):
            _article(article, anchor=article.slug)


def _article(article: Article, anchor: str | None) -> None:
    st.subheader(article.title, anchor=anchor or False)
    _body(article, "guide" if anchor else "linked")


def _body(article: Article, place: str) -> None:
    st.markdown(article.body)
    if article.template:
        template_button(article.template, place)
