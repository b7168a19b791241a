"""Draws the chapters of the guide, and what a search in them finds."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from recdash.formatting.html import markdown
from recdash.formatting.wording import unavailable
from recdash.service import Workspace
from recdash.ui.app import links, state
from recdash.ui.components import widgets
from recdash.ui.components.templates import template_button
from recdash.ui.guide.chapters import Chapter, guide_chapters
from recdash.ui.guide.reading import Article
from recdash.ui.guide.search import excerpt, search


def chapters(workspace: Workspace) -> dict[str, Chapter]:
    return guide_chapters(workspace.definitions.guide(), workspace.definitions.presets())


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
