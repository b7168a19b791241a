"""Finds words in the articles of the guide, and the passage of an article that contains them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial

from recdash.ui.guide.reading import BAR, Article

UNMARKED = re.compile(r"(`[^`]*`|\$\$.*?\$\$)", re.DOTALL)
"""Code and formulas, in which Markdown shows a mark as text."""
LEFT_OUT = re.compile(r"\u2060?@\u2060?\w+|,\s*%|[()?!✓▲▼↑↓\u2060]")
"""The cutoff of a metric, a unit, and marks, which a column's title has and the guide does not."""
BRACKETED = re.compile(r"\(([^()]+)\)")
QUALIFIED = re.compile(r"[,:] ")
COMMA = re.compile(r",(?!\d)")
"""A comma that is not in a number."""
LETTER = re.compile(r"[^\W\d_]")
MINUS = re.compile(r"-(?=\d)")
RULE = re.compile(r"[|\-: ]+")
"""The line between head and body of a table."""
CELL_END = re.compile(r"(?<!\\)\|")
SOURCE = "**Source.**"
"""How the passage begins that names a metric's source. It explains nothing."""


def search(articles: Sequence[Article], words: str) -> list[Article]:
    """Returns the articles that contain the ``words`` side by side; if there are none, those that contain
    what stands in brackets, as in ``Split (SRM)``, or before a comma; then those that contain all words
    anywhere; then those with one of the words in their title. Articles with most of the words in the title
    come first.

    A word is found in upper and lower case, and at the beginning of a longer word. Single letters among
    longer words, as in ``sign test p``, are not searched.
    """
    asked = _asked(words)
    if not asked:
        return []
    texts = {article: _text(article) for article in articles}
    parts = [*BRACKETED.findall(words), *QUALIFIED.split(words)[:1]]
    for phrase in filter(None, (asked, *map(_asked, parts))):
        if exact := [article for article in articles if _has(texts[article], phrase)]:
            return sorted(exact, key=partial(_place, phrase))
    wanted = asked.split()
    hits = [article for article in articles if _n_in(texts[article], wanted) == len(wanted)]
    hits = hits or [article for article in articles if _n_in(_plain(article.title), wanted)]
    return sorted(hits, key=partial(_place, asked))


def _place(phrase: str, article: Article) -> tuple[bool, int, bool]:
    """Returns what sorts to the front the article whose title is the phrase, then those with most of its
    words in their title, of these the ones whose title begins with it.
    """
    title = _plain(article.title)
    names = [name.strip(" `") for name in title.split("·")]
    return phrase not in names, -_n_in(title, phrase.split()), not title.startswith(phrase)


def excerpt(article: Article, words: str) -> str:
    """Returns the passage of an article with most of the ``words``, marked, as Markdown; of several, one that
    begins with them. If only the title or the source has them, it is the first passage.
    """
    phrase = _asked(words)
    explaining = [text for text in passages(article) if not text.startswith(SOURCE)]
    best = max(explaining, key=partial(_worth, phrase))
    marked = [phrase] if _has(best, phrase) else phrase.split()
    parts = UNMARKED.split(best)
    parts[::2] = [_marked(part, marked) for part in parts[::2]]  # the others are code and formulas
    return "".join(parts)


def _worth(phrase: str, passage: str) -> tuple[bool, int, bool]:
    """Returns what makes a passage fit for the excerpt, the highest is the best: that it has the phrase, how
    many of its words, and that it begins with it, as the row of a table does after the head of its column.
    """
    text = _plain(passage)
    begins = text.startswith(phrase) or text.partition(": ")[2].startswith(phrase)
    return _has(text, phrase), _n_in(text, phrase.split()), begins


def passages(article: Article) -> list[str]:
    """Returns the paragraphs, list entries and rows of tables of an article, as Markdown; the cells of a
    row with the heads of their columns.
    """
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", article.body.strip()):
        lines = block.splitlines()
        if block.lstrip().startswith("|"):
            head, *rows = [_cells(line) for line in lines if not RULE.fullmatch(line)]
            parts += [_row_in_words(head, row) for row in rows]
        elif re.match(r"(- |\d+\. )", block):
            parts += re.split(r"\n(?=- |\d+\. )", block)
        else:
            parts.append(block)
    return [re.sub(r"\s+", " ", part) for part in parts]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(BAR, "|") for cell in CELL_END.split(line.strip())[1:-1]]


def _row_in_words(head: Sequence[str], row: Sequence[str]) -> str:
    """Returns a row of a table in words, such as ``preset: Strict · each metric may lose: 10 %``."""
    cells = zip(head, row, strict=True)
    return " · ".join(f"{title}: {cell}" if title else cell for title, cell in cells if cell)


def _text(article: Article) -> str:
    return _plain(f"{article.title} {article.body}")


def _plain(text: str) -> str:
    """Returns the text in lower case, on one line and without commas and marks of emphasis."""
    return " ".join(COMMA.sub("", text.replace("*", "")).lower().split())


def _asked(words: str) -> str:
    """Returns the words that a reader looks for as the guide writes them: a metric without its cutoff
    (``@10``), no brackets and invisible characters, a minus before a number, and no single letters among
    longer words.
    """
    asked = _plain(MINUS.sub("−", LEFT_OUT.sub("", words))).split()
    return " ".join([word for word in asked if not LETTER.fullmatch(word)] or asked)


def _n_in(text: str, words: Iterable[str]) -> int:
    """Returns how many of the words the text has."""
    return sum(_has(text, word) for word in words)


def _has(text: str, word: str) -> bool:
    return bool(word) and _pattern(word).search(text) is not None


def _pattern(*words: str) -> re.Pattern[str]:
    """Returns a pattern that finds each of the words, but not within another word; the longest counts where
    two begin. A single letter is a word of its own.
    """
    longest_first = sorted(words, key=len, reverse=True)
    forms = [re.escape(word) + (r"(?!\w)" if LETTER.fullmatch(word) else "") for word in longest_first]
    return re.compile(r"(?<![^\W_])(?:" + "|".join(forms) + ")", re.IGNORECASE)


def _marked(text: str, words: Sequence[str]) -> str:
    """Returns the text with a mark around each of the words."""
    return _pattern(*words).sub(r":orange-background[\g<0>]", text) if words else text
