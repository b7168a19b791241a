"""Texts that people read use the field's terms: docstrings, comments, messages, help, pages and documents."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

INSTEAD = {
    r"\boutliv\w*": "holds across folds or seeds",
    r"\bin vain\b": "without success",
    r"\bnobody\b": "no user, no one, none",
    r"\bwho(m|ever|soever)\b": "which user, anyone who",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\b(be|is|was|to be) had\b": "available",
    r"\bperhaps\b": "optionally, possibly",
    r"\bof an only one\b": "of a single one",
    r"\b(un)?settle[sd]?\b": "significant, inconclusive, undecided",
    r"\bholds? (it|them|the item) out\b": "has it in the test set",
    r"\bcensus\b": "summary, counts",
    r"\bfading\b": "novelty effect",
    r"\bstrays?\b": "outlier",
    r"\bledger\b": "population counts",
    r"\bin the house\b|\bthe door\b": "in the package, access checks",
    r"\b(tell|tells|told|telling)( [\w']+){0,3} apart\b": "distinguish",
    r"\breckon\w*": "compute, calculate",
    r"\b(looked at|looks?) (again and again|every day|each day)\b": "always-valid, continuous monitoring",
    r"\b(a|for) machine'?s\b": "bot",
    r"\b(is|are) there twice\b": "occurs twice",
    r"\bcalled like\b": "named like",
    r"\bstands? (beside|still|there)\b": "is, is shown with",
    r"\bworth finding\b": "minimum detectable effect",
    r"\bhabits?\b": "convention",
    r"\bso (few|many|large|small|uneven) (a |do |are |is )": "few enough to be negligible, this uneven",
    r"\btake it away\b": "download",
    r"\bin your own words\b": "summary for readers",
    r"\b(have|has|takes?|filled) (the|their|its|all) places\b": "positions, slots",
    r"\b(a|the) train tables?\b": "training data",
    r"\bmore would, but for\b": "more differ only by",
    r"\b(called|call) the winner\b": "predicted the winner",
    r"\b(is|are) not to be had\b": "not available",
}
"""Pattern → what to write instead. Only words that are never right here belong into it."""

VALUES = {"not settled", "Not settled", "= Not settled"}
"""Findings as they are stored and exchanged (JSON, snapshots): shown texts say inconclusive."""

EMPTY_NAMES = {"found", "one"}
"""Names of variables that do not say what they hold."""
HISTORY = ("recdash/store/migrations/",)
DOCUMENTS = ("README.md", "SECURITY.md", "CHANGELOG.md", "Makefile", "docs/*.md")

ANY = re.compile("|".join(INSTEAD), re.IGNORECASE)


def denied(text: str) -> Iterator[tuple[str, str]]:
    """Yields (the denied words, what to write) in a text, whatever its line breaks."""
    if text not in VALUES:
        for match in ANY.finditer(" ".join(text.split())):
            for pattern, words in INSTEAD.items():
                if re.fullmatch(pattern, match[0], re.IGNORECASE):
                    yield match[0], words


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yields (line, text) of comments, docstrings, and literals of more than one word."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def is_checked(name: str) -> bool:
    return not name.startswith(HISTORY)


def complaints(root: Path) -> Iterator[str]:
    """Yields ``file:line: 'denied words': write …`` for code and documents."""
    for path in sorted([*root.glob("recdash/**/*.py"), *root.glob("pages/*.py"), root / "app.py"]):
        name = path.relative_to(root).as_posix()
        if is_checked(name):
            for line, text in texts_of(path.read_text(encoding="utf-8")):
                yield from (f"{name}:{line}: '{words}': write {new}" for words, new in denied(text))
    for path in sorted(path for pattern in DOCUMENTS for path in root.glob(pattern)):
        paragraphs = re.split(r"(?<=\n)\s*\n", path.read_text(encoding="utf-8"))
        for paragraph in paragraphs:
            yield from (f"{path.name}: '{words}': write {new}" for words, new in denied(paragraph))


def test_texts_use_the_terms_of_the_field(root: Path) -> None:
    found = list(complaints(root))
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def names_bound(source: str) -> Iterator[tuple[int, str]]:
    """Yields (line, name) of variables and parameters; fields of classes and names of others do not count."""
    tree = ast.parse(source)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    fields = {id(line.target) for node in classes for line in node.body if isinstance(line, ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def test_variables_say_what_they_hold(root: Path) -> None:
    complaints = []
    for path in sorted(root.glob("recdash/**/*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(HISTORY):
            bound = names_bound(path.read_text(encoding="utf-8"))
            complaints += [f"{name}:{line}: {word}" for line, word in bound if word in EMPTY_NAMES]
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)


def test_a_variable_that_says_nothing_is_seen() -> None:
    source = "found = 1\nclass A:\n    found: int\n    def f(self, one): ...\nx = [y for y in z]\n"
    assert [word for _, word in names_bound(source) if word in EMPTY_NAMES] == ["found", "one"]


def test_a_denied_word_is_seen_in_each_kind_of_text() -> None:
    source = '"""For nobody."""\n# whoever asks\nx = f"{1} is not settled here"\ny = "not settled"\n'
    found = [words for _, text in texts_of(source) for words, _ in denied(text)]
    assert sorted(found) == ["nobody", "settled", "whoever"]


@pytest.mark.parametrize("text", ["one line that\nis\nsettled", "by Whom"])
def test_denied_words_are_seen_across_lines_and_cases(text: str) -> None:
    assert list(denied(text))
