"""Finds words in the articles of the guide, and the passage of an article that contains them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from recdash.ui.guide.reading import Article

UNMARKED = re.compile(r"(`[^`]*`|\$\$.*?\$\$)", re.DOTALL)
"""Code and formulas, in which Markdown shows a mark as text."""
RULE = re.compile(r"[|\-: ]+")
"""The line between head and body of a table."""


def search(articles: Iterable[Article], words: str) -> list[Article]:
    """Returns the articles that contain the ``words`` side by side, those with most of them in the title
    first; if there are none, those that contain all of them anywhere.

    A word is found in upper and lower case, and at the beginning of a longer word.
    """
    phrase, several = _pattern([_words(words)]), [_pattern([word]) for word in _words(words).split()]
    exact = [article for article in articles if phrase.search(_text(article))]
    if exact:
        return sorted(exact, key=lambda article: -sum(bool(word.search(article.title)) for word in several))
    return [article for article in articles if all(word.search(_text(article)) for word in several)]


def excerpt(article: Article, words: str) -> str:
    """Returns the passage of an article with most of the ``words``, marked, as Markdown. If only the title
    has them, it is the first passage.
    """
    phrase = _words(words)
    wanted = [_pattern([phrase]), *(_pattern([word]) for word in phrase.split())]
    best = max(passages(article), key=lambda text: [bool(word.search(_plain(text))) for word in wanted])
    marked = [phrase] if wanted[0].search(_plain(best)) else phrase.split()
    parts = UNMARKED.split(best)
    for number in range(0, len(parts), 2):  # the others are code and formulas
        parts[number] = _pattern(marked).sub(lambda match: f":orange-background[{match[0]}]", parts[number])
    return "".join(parts)


def passages(article: Article) -> list[str]:
    """Returns the paragraphs, list entries and rows of tables of an article, as Markdown."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", article.body.strip()):
        lines = block.splitlines()
        if block.lstrip().startswith("|"):
            rows = [line for line in lines if not RULE.fullmatch(line)]
            parts += [" · ".join(cell.strip() for cell in row.strip("| ").split("|")) for row in rows]
        elif re.match(r"(- |\d+\. )", block):
            parts += re.split(r"\n(?=- |\d+\. )", block)
        else:
            parts.append(block)
    return parts


def _text(article: Article) -> str:
    return _plain(f"{article.title} {article.body}")


def _words(words: str) -> str:
    return " ".join(_plain(words).split())


def _plain(text: str) -> str:
    """Returns the text in lower case, on one line and without marks of emphasis."""
    return re.sub(r"\s+", " ", text.replace("*", "")).casefold()


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Returns a pattern that finds any of the words, also across lines; not within another word."""
    any_of = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<!\w)(?:{any_of})", re.IGNORECASE)
