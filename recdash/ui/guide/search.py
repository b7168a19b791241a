"""Finds words in the articles of the guide, and the passage of an article that contains them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from recdash.ui.guide.reading import Article

UNMARKED = re.compile(r"(`[^`]*`|\$\$.*?\$\$)", re.DOTALL)
"""Code and formulas, in which Markdown shows a mark as text."""
LEFT_OUT = re.compile(r"\u2060*@\u2060*\w+|[()\u2060]")
MINUS = re.compile(r"-(?=\d)")
RULE = re.compile(r"[|\-: ]+")
"""The line between head and body of a table."""


def search(articles: Sequence[Article], words: str) -> list[Article]:
    """Returns the articles that contain the ``words`` side by side, those with most of them in the title
    first; if there are none, those that contain all of them anywhere.

    A word is found in upper and lower case, and at the beginning of a longer word.
    """
    phrase = _asked(words)
    exact = [article for article in articles if _has(_text(article), phrase)]
    if exact:
        return sorted(exact, key=partial(_place, phrase))
    wanted = phrase.split()
    return [article for article in articles if _n_in(_text(article), wanted) == len(wanted)]


def _place(phrase: str, article: Article) -> tuple[int, bool]:
    """Returns what sorts the articles with most words of the phrase in their title to the front, of these the
    ones whose title begins with it.
    """
    title = _plain(article.title)
    return -_n_in(title, phrase.split()), not title.startswith(phrase)


def excerpt(article: Article, words: str) -> str:
    """Returns the passage of an article with most of the ``words``, marked, as Markdown. If only the title
    has them, it is the first passage.
    """
    phrase = _asked(words)
    best = max(passages(article), key=lambda text: (_has(_plain(text), phrase), _n_in(text, phrase.split())))
    marked = [phrase] if _has(_plain(best), phrase) else phrase.split()
    parts = UNMARKED.split(best)
    parts[::2] = [_marked(part, marked) for part in parts[::2]]  # the others are code and formulas
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
    return [re.sub(r"\s+", " ", part) for part in parts]


def _text(article: Article) -> str:
    return _plain(f"{article.title} {article.body}")


def _plain(text: str) -> str:
    """Returns the text in lower case, on one line and without marks of emphasis."""
    return " ".join(text.replace("*", "").lower().split())


def _asked(words: str) -> str:
    """Returns the words that a reader looks for as the guide writes them: a metric without its cutoff
    (``@10``), no brackets and invisible characters, and a minus before a number.
    """
    return _plain(MINUS.sub("−", LEFT_OUT.sub("", words)))


def _n_in(text: str, words: Iterable[str]) -> int:
    """Returns how many of the words the text has."""
    return sum(_has(text, word) for word in words)


def _has(text: str, word: str) -> bool:
    return bool(word) and _pattern(word).search(text) is not None


def _pattern(*words: str) -> re.Pattern[str]:
    """Returns a pattern that finds each of the words, but not within another word; the longest counts where
    two begin.
    """
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(r"(?<![^\W_])(?:" + "|".join(map(re.escape, longest_first)) + ")", re.IGNORECASE)


def _marked(text: str, words: Sequence[str]) -> str:
    """Returns the text with a mark around each of the words."""
    return _pattern(*words).sub(r":orange-background[\g<0>]", text) if words else text
