"""The guide: its chapters, the search, and the entries that pages link to."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from app_pages import link, lists, open_page, press, said, store

from recdash.comparison.recommendation import ACTIONS
from recdash.comparison.rules import PRESETS
from recdash.definitions.guide import metric_guides
from recdash.metrics.naming import GUARDRAILS
from recdash.service import Workspace
from recdash.ui.ab_results.definitions import GUIDE as OF_RESULTS
from recdash.ui.decisions.page import GUIDE as OF_REVIEWS
from recdash.ui.guide.chapters import metric_article
from recdash.ui.guide.decisions import RECOMMENDATION, RULES_OF_DECISION
from recdash.ui.guide.page import chapters, first_chapter
from recdash.ui.guide.reading import READING, Article, table_row
from recdash.ui.guide.rules import RULES
from recdash.ui.guide.search import excerpt, passages, search
from recdash.ui.shell import navigation


def test_every_page_but_those_of_help_has_an_entry_that_help_opens(workspace: Workspace) -> None:
    entries = Counter(
        article.slug for chapter in chapters(workspace).values() for article in chapter.articles
    )
    assert set(entries.values()) == {1}
    pages = {name for tabs in navigation.EVERYTHING.values() for name in tabs}
    assert set(navigation.HELP) == pages - set(navigation.TOOLS["Help"])
    assert {*navigation.HELP.values(), *OF_RESULTS, *OF_REVIEWS} <= set(entries)


def test_the_guide_opens_with_the_files_to_add_until_something_is_stored(workspace: Workspace) -> None:
    assert first_chapter(workspace) == "tables"
    workspace.experiments.create("films")
    assert first_chapter(workspace) == "deciding"


def test_help_within_help_opens_no_entry() -> None:
    assert [navigation.help_entry(path) for path in ("", "upload", "guide", "definitions")] == [
        "recommendation",
        "files",
        None,
        None,
    ]


def test_the_guide_names_every_action_and_every_guardrail_preset() -> None:
    text = RECOMMENDATION.body.casefold().replace("not enough data", "collect data")
    text = text.replace("cannot be compared", "not comparable")
    assert [action for action in ACTIONS if action not in text] == []
    for name, shares in PRESETS.items():
        share = f"{100 * max(shares.values()):.0f} %" if shares else "any amount"
        assert f"| {name.capitalize()} | {share} |" in RULES_OF_DECISION.body
    assert [metric for metric in GUARDRAILS if metric not in RULES_OF_DECISION.body.casefold()] == []


def test_the_guide_explains_the_equals_sign_as_a_shared_rank() -> None:
    shared = next(article for article in READING if article.slug == "rank-shared")
    assert "“=1” means that several runs share the rank" in shared.body


def test_search_wants_every_word_and_prefers_them_side_by_side() -> None:
    titles = [article.title for article in search(RULES, "TREC score")]
    assert {"Order of a list", "Ties"} <= set(titles) < {article.title for article in RULES}
    assert [article.title for article in search(READING, "sign test")] == [
        "Users who gain and lose, and the sign test"
    ]


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("sign test", "users-gain"),
        ("engagement rate", "online-metrics"),
        ("always-valid", "peeking"),
        ("Holm", "holm"),
        ("exponential gain", "gain"),
        ("relevance of 4", "relevance"),
        ("ndcg", "ndcg"),
        ("nDCG\u2060@\u206010", "ndcg"),  # as a page writes it, and copied from there
        ("coverage@10", "coverage"),
        ("margin -2 %", "guardrail"),
        ("baseline", "decision-rules"),
        ("Split (SRM)", "srm"),
        ("sign test p", "users-gain"),
        ("coverage", "coverage"),
        ("gini", "gini"),
        ("lift", "online-metrics"),
        ("▲ better", "recommendation"),
    ],
)
def test_search_finds_a_term_where_it_is_explained_and_shows_the_place(
    workspace: Workspace, words: str, first: str
) -> None:
    articles = [article for chapter in chapters(workspace).values() for article in chapter.articles]
    hits = search(articles, words)
    assert hits[0].slug == first
    for article in hits:
        shown = excerpt(article, words)
        in_title = words.replace("\u2060", "").partition("@")[0].casefold() in article.title.casefold()
        assert in_title or ":orange-background[" in shown or "`" in shown or "$$" in shown


def test_search_leaves_code_and_formulas_unmarked() -> None:
    article = Article("x", "Ties", "The rule `ties=file` keeps ties.\n\n| a | b |\n|---|---|\n| tie | 1 |")
    assert excerpt(article, "ties") == "The rule `ties=file` keeps :orange-background[ties]."
    assert passages(article) == ["The rule `ties=file` keeps ties.", "a: tie · b: 1"]


def test_a_row_of_a_table_keeps_the_heads_of_its_columns_and_bars_within_cells() -> None:
    table = f"| a | b |\n|---|---|\n{table_row('tie', 'x|y')}"
    assert table.endswith(r"| tie | x\|y |")
    assert passages(Article("x", "Ties", table)) == ["a: tie · b: x|y"]


def test_an_excerpt_explains_the_term_and_is_not_its_source(workspace: Workspace) -> None:
    articles = {article.slug: article for part in chapters(workspace).values() for article in part.articles}
    assert excerpt(articles["gini"], "gini").startswith("How unevenly items are recommended")
    assert "a hit with relevance 5 counts: 31" in excerpt(articles["gain"], "exponential gain")
    assert excerpt(articles["decision-rules"], "baseline").startswith(
        "rule: :orange-background[Baseline] · means:"
    )


def test_the_definition_of_every_metric_begins_with_what_a_value_says_to_a_reader() -> None:
    for metric in metric_guides():
        body = metric_article(metric).body
        assert metric.plain
        assert body.startswith(metric.plain)
        assert re.search(r"\d|compare candidates", metric.plain), metric.name
        assert not re.search(r"[_\\Σ]|log[2 (]", metric.plain), metric.name


def test_an_entry_leads_back_to_the_page_with_its_view(workspace: Workspace) -> None:
    made = store(workspace, {"poor": lists(9), "best": lists(1)})
    app = open_page("guide", metric="holm", back="leaderboard", e=made["films"], k="3")
    press(app, "Back to Compare: Ranking")
    assert "best" in said(app)
    assert (link(app)["e"], link(app)["k"]) == (made["films"], "3")
    assert not {"metric", "back"} & set(link(app))


def test_an_entry_without_a_way_back_can_be_closed(workspace: Workspace) -> None:
    workspace.experiments.create("films")
    app = press(open_page("guide", metric="holm", back="nowhere"), "Close")
    assert "metric" not in link(app)
