"""Says in plain words what is wrong with the syntax of a YAML or TOML file, and in which line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recdash.errors import Problem

if TYPE_CHECKING:
    from tomllib import TOMLDecodeError

    from yaml import YAMLError

CODE = "bad-rules-file"
SHOWN = 60
"""The maximum number of characters of a line that is quoted."""
IN_QUOTES = "Put the text in single quotes."
CLOSE_QUOTE = "the quotes of a text that begins here are not closed"


@dataclass(frozen=True)
class Cause:
    """What a parser says of an error, as a pattern; what that means, and how to correct the line."""

    pattern: re.Pattern[str]
    meaning: str
    fix: str
    where_it_began: bool = False
    """Whether the line to correct is the one where the faulty part begins."""


YAML_CAUSES = (
    Cause(re.compile(r"unexpected end of stream"), CLOSE_QUOTE, "Close the quotes.", where_it_began=True),
    Cause(
        re.compile(r"<stream end>"),
        "a bracket that opens here is not closed",
        "Close it.",
        where_it_began=True,
    ),
    Cause(
        re.compile(r"character '\\t'"),
        "a tab stands where YAML takes blanks",
        "Write blanks in place of the tab.",
    ),
    Cause(re.compile(r"found character '(.)'"), "a text cannot begin with '{}'", IN_QUOTES),
    Cause(re.compile(r"undefined alias"), "a text cannot begin with '*'", IN_QUOTES),
    Cause(
        re.compile(r"chomping or indentation|comment or a line break"),
        "a text cannot begin with '>' or '|'",
        "Begin a rule with its metric, without quotes.",
    ),
    Cause(
        re.compile(r"mapping values are not allowed"),
        "': ' stands where no key can be",
        "Put a text that has ': ' in quotes, and begin keys in the same column.",
    ),
    Cause(
        re.compile(r"could not find expected ':'"),
        "it is neither 'key: value' nor an item of a list",
        "Write '- ' before a rule, and ': ' after a key.",
        where_it_began=True,
    ),
    Cause(re.compile(r"escape character"), "a backslash stands in double quotes", "Use single quotes."),
    Cause(
        re.compile(r"another document"),
        "a second document begins here",
        "Keep one, without '---' between two.",
    ),
    Cause(re.compile(r"sequence entries"), "a list begins behind a key", "Begin the list on the next line."),
    Cause(
        re.compile(r"<block end>"),
        "it does not continue the lines above",
        "Begin all rules in the same column, and all keys in another one; quote a text as a whole.",
    ),
    Cause(
        re.compile(r"unhashable|complex key"), "a list or a mapping stands in place of a key", "Write a text."
    ),
    Cause(re.compile(r"not allowed"), "it has a control character", "Remove the character."),
)
PERCENT = Cause(re.compile(r"^%(?!YAML|TAG)", re.MULTILINE), "a line cannot begin with '%'", IN_QUOTES)
"""The cause of an error in a file with such a line, of which the parser says something else each time."""
TOML_CAUSES = (
    Cause(
        re.compile(r"Invalid value"),
        "no value of TOML follows '=', '[' or ','",
        "Put a text in quotes, and close the list.",
    ),
    Cause(
        re.compile(r"Expected '='|Invalid statement|initial character"),
        "it is not key = value",
        "Write key = value.",
    ),
    Cause(re.compile(r"overwrite|Duplicate"), "it gives a key a second value", "Keep one of the two."),
    Cause(
        re.compile(r"Cannot (?:declare|mutate)"), "it begins a table a second time", "Join the two tables."
    ),
    Cause(
        re.compile(r"table declaration|array declaration"),
        "the name of a table has no closing bracket",
        "Add it.",
    ),
    Cause(
        re.compile(r"Unclosed|inline table"),
        "a bracket is not closed, or a comma is missing",
        "Add what is missing.",
    ),
    Cause(
        re.compile(r"Unterminated|character '\\n'|Expected \""),
        "the quotes of a text are not closed",
        "Close them.",
    ),
    Cause(
        re.compile(r"Unescaped|escape|Escaped"), "a backslash stands in double quotes", "Use single quotes."
    ),
    Cause(
        re.compile(r"Expected newline"),
        "more follows after the value",
        "Begin a new line, or quote the whole text.",
    ),
    Cause(re.compile(r"character"), "it has a control character", "Remove the character."),
)


def yaml_problem(file: str, text: str, error: YAMLError) -> Problem:
    """Returns the problem of a text that is not YAML."""
    import yaml

    if percent := PERCENT.pattern.search(text):
        return _problem(file, text, text.count("\n", 0, percent.start()), PERCENT, "", "YAML")
    said = str(error)
    line = text.count("\n", 0, error.position) if isinstance(error, yaml.reader.ReaderError) else None
    if isinstance(error, yaml.MarkedYAMLError):
        said = error.problem or said
    cause = _cause(YAML_CAUSES, said)
    if isinstance(error, yaml.MarkedYAMLError):
        began = error.context_mark if cause and cause.where_it_began else None
        mark = began or error.problem_mark
        line = None if mark is None else mark.line
    return _problem(file, text, line, cause, said, "YAML")


def toml_problem(file: str, text: str, error: TOMLDecodeError) -> Problem:
    """Returns the problem of a text that is not TOML."""
    at = re.search(r"\(at line (\d+)", str(error))
    return _problem(
        file, text, int(at[1]) - 1 if at else None, _cause(TOML_CAUSES, str(error)), str(error), "TOML"
    )


def _cause(causes: Sequence[Cause], said: str) -> Cause | None:
    return next((cause for cause in causes if cause.pattern.search(said)), None)


def _problem(
    file: str, text: str, line: int | None, cause: Cause | None, said: str, language: str
) -> Problem:
    """Returns the problem of a line, of which ``line`` are before it; None: it is at the end of the text."""
    lines = text.rstrip().split("\n")
    index = len(lines) - 1 if line is None else min(line, len(lines) - 1)
    quoted = lines[index].strip()
    quoted = quoted if len(quoted) <= SHOWN else f"{quoted[: SHOWN - 1]}…"
    meaning, fix = f"the line is not {language}", "Correct the line."
    if cause is not None:
        meaning = cause.meaning.format(*cause.pattern.findall(said)[:1])
        fix = cause.fix
    return Problem(CODE, f"{file}, line {index + 1}", f"{meaning}, in '{quoted}'", fix)
