"""Recognises what the cells of a text column contain: an item, a list of items, or pairs of item and score.

A list may be written as JSON, Python or numpy write it, or with separators and without brackets. Pairs may be
written as ``[(item, score), …]``, ``{item: score}``, ``[{"item": …, "score": …}]``, ``[Row(itemId=…,
rating=…)]`` or ``item:0.5,item:0.25``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import (
    CHOOSE,
    ITEM,
    LISTS,
    RELEVANCE,
    SCORE,
    SINGLE,
    Columns,
    names_of,
    plain,
)
from recdash.ingest.formats.raw_table import RawTable, is_list
from recdash.ingest.layouts import (
    NUMPY_SCALAR,
    PLURALS,
    are_scored,
    is_bracketed,
    is_nested,
    is_set,
    list_in,
    separator_of,
    unwrapped,
)
from recdash.ingest.values import DATE, is_text
from recdash.ingest.values import plain as decoded

Holding = Literal["list", "item", "unclear"]

PAIRED: Mapping[TableKind, str] = {"run": "score", "truth": "relevance", "train": "rating"}
"""Kind of table → the role of the second value of a pair. Tables of other kinds have no lists."""
DEEPEST = 4
LOOKED_AT = 1_000
QUOTED = {'"': r'"(?:[^"\\]|\\.)*"|', "'": r"'(?:[^'\\]|\\.)*'|"}
UNCLOSED = {
    quotes: rf"(?P<unclosed>[{quotes}])[\s\S]*|" if quotes else "" for quotes in ("\"'", '"', "'", "")
}
TOKEN = {
    quotes: re.compile(
        "".join(map(QUOTED.__getitem__, quotes)) + unclosed + r"""[()\[\]{},:=]|[^()\[\]{},:='"]+"""
    )
    for quotes, unclosed in UNCLOSED.items()
}
"""Quotation marks that may enclose a token → the pattern of a token."""
CLOSING = {"[": "]", "(": ")", "{": "}"}
MARKS = {*CLOSING, *CLOSING.values(), ",", ":", "="}
PAIRS_FIX = "Write [[item, score], …] or {item: score} in each cell, or one row per item."
SEPARATORS = re.compile(r"[,;|]")
ITEM_FIELDS = {*names_of(ITEM), "id"}
SCORE_FIELDS = {*names_of(SCORE), *names_of(RELEVANCE)}


# ── one item or a list ───────────────────────────────────────────────────────────────────────


NUMBER_BEHIND = re.compile(r".*\S \([-+]?\d+(\.\d+)?\)")
"""A name with its year, or an item with its score."""
NUMBERS_BEHIND = re.compile(r"\S \([-+]?\d+(\.\d+)?\)(\s?[,|;]|\s\S+ \([-+]?\d+(\.\d+)?\))")
"""Several of these, with a separator or a blank between them."""


def holding(values: Sequence[str]) -> Holding:
    """Returns whether non-empty cells contain lists or single items; "item" without cells, as nothing in them
    is a list.

    Brackets, separators and members decide. Names may contain blanks and commas too. Cells without brackets
    are therefore lists only if most have several members without blanks, or if all members are numbers.
    Dates with times are no lists, in spite of their blanks, nor are cells such as Heat (1995) or 12 (0.5).
    Returns "unclear" if both are possible, as in 12 (0.5), 13 (0.4).
    """
    if not values or all(map(DATE.fullmatch, values)):
        return "item"
    if all(map(NUMBER_BEHIND.fullmatch, values)):
        return "unclear" if any(map(NUMBERS_BEHIND.search, values)) else "item"
    if all(map(is_bracketed, values)):
        return "list"
    cells = [list_in(value, separator_of(values)) for value in values]
    several = [cell for cell in cells if len(cell) > 1]
    if not several:
        return "item"
    return "list" if _are_lists(values, cells, several) else "unclear"


def _are_lists(values: Sequence[str], cells: Sequence[list[str]], several: Sequence[list[str]]) -> bool:
    if all(member.isdecimal() for cell in cells for member in cell):
        return True
    separator = separator_of(values)
    members = [member for cell in several for member in cell]
    if any(" " in member for member in members):
        return False
    if len(several) <= len(cells) / 2:
        counts = Counter(member for cell in cells for member in set(cell))
        repeated = sum(counts[member] > 1 for member in members)
        return separator is not None and 2 * repeated >= len(members)
    with_digits = [any(letter.isdigit() for letter in member) for member in members]
    spaced = any(f"{separator} " in value for value in values)
    if spaced and max(map(len, several)) == 2 and not any(with_digits):
        return False  # "Matrix, The"
    return all(with_digits) or separator is not None


def share_known(values: Sequence[str], lists: Sequence[str]) -> float:
    """Returns the share of the distinct values that occur in the lists, from 0 to 1."""
    known = {member for cell in lists for member in list_in(cell, separator_of(lists))}
    return len(set(values) & known) / len(set(values)) if values else 0.0


def values_of(rows: Sequence[Mapping[str, str]], column: str) -> list[str]:
    """Returns the non-empty values of a column in these rows."""
    return [value for row in rows if (value := row[column].strip())]


def with_cells(raw: RawTable, kind: TableKind, columns: Columns, stated: Collection[str]) -> Columns:
    """Returns ``columns`` completed by what the cells of the item column contain.

    They contain lists, pairs or single items. ``stated`` are the roles that the user mapped. If several
    readings fit, the result has a problem.
    """
    column = columns.mapping.get("item_id")
    if kind not in PAIRED or raw.roles is not None or columns.problems or columns.wide or column is None:
        return columns
    if column in raw.scores and PAIRED[kind] not in stated:
        return replace(columns, mapping={**columns.mapping, PAIRED[kind]: raw.scores[column]})
    is_stored = raw.format == "Parquet" and column == "item_id"  # as recdash writes it: rows
    if column in raw.lists or columns.single or is_stored:
        return columns
    values = values_of(raw.sample(), column)
    if columns.listed or all(map(is_bracketed, values)):
        return replace(columns, separator=separator_of(values))
    has_value = any(_are_numbers(raw, columns.mapping.get(role)) for role in ("rank", *PAIRED.values()))
    return columns if has_value else _with_texts(raw, columns, column, values, stated)


def _are_numbers(raw: RawTable, column: str | None) -> bool:
    """Returns True if each row of a rank or score column has one number, so that each row has one item."""
    values = [] if column is None or column in raw.lists else values_of(raw.sample(), column)
    return bool(values) and not any(is_bracketed(value) or len(list_in(value)) > 1 for value in values)


def _with_texts(
    raw: RawTable, columns: Columns, column: str, values: Sequence[str], stated: Collection[str]
) -> Columns:
    """Returns ``columns`` completed by what item cells without brackets contain."""
    users = [row[columns.mapping["user_id"]] for row in raw.sample() if "user_id" in columns.mapping]
    one_each = len(set(users)) == len(users) > 0
    is_stated = "item_id" in stated or not raw.header
    reading = _reading(values, one_each, plain(column) in PLURALS, is_stated)
    if reading == "item":
        return columns
    separator, place = separator_of(values), f"column '{column}'"
    if reading == "list":
        finding = f"the cells are read as lists with '{separator or ' '}' between the items"
        fix = f"Choose{CHOOSE} item_id={column}{SINGLE} if each cell holds one item."
        notices = (*columns.notices, Problem("split-cells", place, finding, fix))
        return replace(columns, listed=True, separator=separator, notices=notices)
    example = next(value for value in values if len(list_in(value, separator)) > 1)
    finding = f"cells such as '{example:.40}' may hold a list of items, or one item with that name"
    labels = (f"{column}{LISTS}", f"{column}{SINGLE}")
    fix = f"Choose{CHOOSE}: item_id={labels[0]} for lists, item_id={labels[1]} for one item per cell."
    mapping = {role: name for role, name in columns.mapping.items() if role != "item_id"}
    problem = Problem("list-or-item", place, finding, fix)
    return replace(columns, mapping=mapping, families=(*columns.families, *labels), problems=(problem,))


def _reading(values: Sequence[str], one_each: bool, is_named: bool, is_stated: bool) -> Holding:
    """Returns how to read item cells without brackets.

    ``one_each``: each user has one row. ``is_named``: the column's name is typical of lists. ``is_stated``:
    the user chose the item column, or the table has no header.
    """
    content, separator = holding(values), separator_of(values)
    if content == "item":
        return content
    if not one_each:
        return "unclear" if content == "list" and separator else "item"
    # few names have three members or more
    has_many = any(len(list_in(value, separator)) > 2 for value in values)
    if content == "list" and not (is_stated or is_named or has_many):
        return "unclear"
    if content == "list" or is_named:
        return "list"
    return "unclear" if is_stated or separator else "item"


# ── pairs ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class BracketGroup:
    """The members between two brackets as (key, value); the key is None if a member has none."""

    members: tuple[tuple[str | None, Any], ...]

    @property
    def is_keyed(self) -> bool:
        return bool(self.members) and all(key is not None for key, _ in self.members)


def tokens_in(text: str, quotes: str = "\"'") -> list[str]:
    """Returns quoted texts, punctuation, and the text between them.

    A quotation mark without its pair is ignored.
    """
    tokens: list[str] = []
    for token in TOKEN[quotes].finditer(text):
        if token.lastgroup:  # the rest of the text, which has no such pair of quotes
            return tokens + tokens_in(token[0][1:], quotes.replace(token["unclosed"], ""))
        tokens.append(token[0])
    return tokens


def pairs_in(text: str) -> list[tuple[str, str]]:
    """Returns (item, score) of each pair in a cell, as text. Raises ``ValueError`` for any other content.

    >>> pairs_in("[('a', 0.5), ('b', 0.25)]"), pairs_in("{7: 1.0}"), pairs_in("[Row(itemId=7, rating=4.5)]")
    ([('a', '0.5'), ('b', '0.25')], [('7', '1.0')], [('7', '4.5')])
    """
    inner = NUMPY_SCALAR.sub(r"\1", unwrapped(text.strip()))
    if inner[:1] not in CLOSING and _is_bare(inner):
        inner = f"{{{SEPARATORS.sub(',', inner)}}}"
    tokens = [token for token in tokens_in(inner) if token.strip()]
    if not tokens:
        return []
    value, end = _value(tokens, 0, 0)
    if end < len(tokens) or not isinstance(value, BracketGroup):
        raise ValueError("no brackets around the pairs")
    return [_pair(key, member) for key, member in value.members]


def _pair(key: str | None, member: Any) -> tuple[str, str]:
    if key is not None and isinstance(member, str):
        return key, member
    if key is not None or not isinstance(member, BracketGroup):
        raise ValueError(f"'{member}' is not a pair" if isinstance(member, str) else "nested too deeply")
    if member.is_keyed:
        return _field(member, ITEM_FIELDS), _field(member, SCORE_FIELDS)
    values = [value for _, value in member.members]
    if len(values) != 2 or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{len(values)} values where a pair has 2")
    return values[0], values[1]


def _values(pair: Sequence[Any] | None) -> tuple[str, str]:
    if pair is None or len(pair) != 2:
        raise ValueError(f"{len(pair or ())} values where a pair has 2")
    item, score = pair
    # in one list with a score, an id may have become a decimal number
    return str(int(item)) if isinstance(item, float) and item.is_integer() else str(item), str(score)


def _field(record: BracketGroup, names: Collection[str]) -> str:
    values = [value for key, value in record.members if plain(str(key)) in names]
    if len(values) != 1 or not isinstance(values[0], str):
        keys = ", ".join(str(key) for key, _ in record.members)
        raise ValueError(f"fields {keys}, not one item and one score")
    return values[0]


def _value(tokens: Sequence[str], start: int, depth: int) -> tuple[Any, int]:
    """Returns the text or group that starts at the token ``start``, and the index after it.

    Raises ``ValueError`` for brackets that are not closed or nested too deeply.
    """
    if start >= len(tokens) or depth > DEEPEST:
        raise ValueError("brackets that are not closed, or nested too deeply")
    if start + 1 < len(tokens) and tokens[start + 1] == "(" and tokens[start] not in MARKS:
        start += 1  # Row(…): the name Row carries no information
    token = tokens[start]
    if token in CLOSING:
        return _group(tokens, start, depth)
    if token[0] in "'\"":
        return token[1:-1].replace("\\" + token[0], token[0]).replace("\\\\", "\\"), start + 1
    return token.strip(), start + 1


def _group(tokens: Sequence[str], start: int, depth: int) -> tuple[BracketGroup, int]:
    """Returns the group whose opening bracket is the token ``start``, and the index after it.

    Raises ``ValueError`` for a bracket that is not closed.
    """
    closing, index = CLOSING[tokens[start]], start + 1
    members = []
    while index < len(tokens) and tokens[index] != closing:
        key, (value, index) = None, _value(tokens, index, depth + 1)
        if index + 1 < len(tokens) and tokens[index] in ":=" and isinstance(value, str):
            key, (value, index) = value, _value(tokens, index + 1, depth + 1)
        members.append((key, value))
        if index < len(tokens) and tokens[index] == ",":
            index += 1
    if index >= len(tokens):
        raise ValueError("a bracket that is not closed")
    return BracketGroup(tuple(members)), index + 1


# ── pairs as two columns of lists ────────────────────────────────────────────────────────────


def with_pairs(raw: RawTable, kind: TableKind) -> RawTable:
    """Returns the table with each column of pairs split into two list columns: the items, and ``NAME.score``.

    Raises ``UploadError`` for sets in a run, because they have no order.
    """
    if kind not in PAIRED or raw.roles is not None:
        return raw
    rows = raw.sample()
    values = {column: values_of(rows, column) for column in raw.columns}
    # some cells hold pairs, and all others are empty lists or similar
    nested = [c for c in raw.columns if any(map(is_nested, values[c]))]
    nested = [c for c in nested if all(is_nested(value) or is_bracketed(value) for value in values[c])]
    nested += [column for column in raw.columns if _are_bare_pairs(values[column])]
    nested = [column for column in nested if _may_hold_pairs(raw, column)]
    sets = {column for column in nested if any(map(is_set, values[column]))}
    if sets and kind == "run":
        raise UploadError([_unordered(column) for column in nested if column in sets])
    scores = {column: f"{column}.score" for column in nested if column not in sets}
    return _split_pairs(raw, scores) if scores else raw


def _are_bare_pairs(values: Sequence[str]) -> bool:
    """Returns whether all cells are pairs without brackets, and one cell has several."""
    several = any(separator_of([value]) for value in values)
    return several and all(_is_bare(unwrapped(value)) for value in values)


def _is_bare(cell: str) -> bool:
    """Returns whether a cell holds pairs without brackets, ``a:0.5,b:0.25``."""
    return ":" in cell and "." in cell and are_scored(SEPARATORS.split(cell))


def _may_hold_pairs(raw: RawTable, column: str) -> bool:
    """Returns True for a column of text or of lists of lists.

    In a sample, maps and records look like pairs too.
    """
    batch = next(iter(raw.blocks([column], ())), None)
    kind = pa.null() if batch is None else decoded(batch.column(0)).type
    return is_text(kind) or (is_list(kind) and is_list(kind.value_type))


def refuse_sets(source: Any) -> None:
    """Raises ``UploadError`` if columns of a pandas frame or dict contain sets.

    Arrow would read them as lists, although they have no order.
    """
    columns = _python_columns(source)
    bad = [name for name, values in columns if any(isinstance(value, set | frozenset) for value in values)]
    if bad:
        raise UploadError([_unordered(str(name)) for name in bad])


def _python_columns(source: Any) -> list[tuple[Any, Iterable[Any]]]:
    """Returns (name, first values) of the columns that may contain arbitrary Python objects."""
    if isinstance(source, Mapping):
        return [
            (name, values[:LOOKED_AT]) for name, values in source.items() if isinstance(values, list | tuple)
        ]
    kinds: Any = getattr(source, "dtypes", None)
    if not hasattr(kinds, "items"):
        return []
    return [(name, source[name].head(LOOKED_AT)) for name, kind in kinds.items() if str(kind) == "object"]


def _unordered(column: str) -> Problem:
    finding = "the cells hold sets, and a set has no order"
    fix = "Write lists in brackets, best item first: [a, b]."
    return Problem("unordered", f"column '{column}'", finding, fix)


def _split_pairs(raw: RawTable, scores: Mapping[str, str]) -> RawTable:
    items = {score: item for item, score in scores.items()}

    def blocks(columns: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        written = list(dict.fromkeys(items.get(column, column) for column in columns))
        first = 0
        for batch in raw.blocks(written, [column for column in ids if column not in scores]):
            arrays = {column: batch.column(column) for column in written}
            for column in scores.keys() & set(written):
                arrays[column], arrays[scores[column]] = _lists(batch.column(column), column, raw, first)
            yield pa.RecordBatch.from_arrays([arrays[column] for column in columns], list(columns))
            first += batch.num_rows

    def sample() -> list[dict[str, str]]:
        return [row | dict.fromkeys(items, "") for row in raw.sample()]

    both = {*scores, *items}
    return replace(
        raw,
        columns=(*raw.columns, *items),
        blocks=blocks,
        sample=sample,
        lists=raw.lists | both,
        scores=scores,
    )


def _lists(array: pa.Array, column: str, raw: RawTable, first: int) -> tuple[pa.Array, pa.Array]:
    """Returns two arrays with one list of text per row: the items and the scores.

    Raises ``UploadError`` for a cell that is not a list of pairs.
    """
    items: list[list[str]] = []
    scores: list[list[str]] = []
    for row, cell in enumerate(decoded(array).to_pylist()):
        try:
            pairs = [_values(pair) for pair in cell] if isinstance(cell, list) else pairs_in(cell or "")
        except ValueError as error:
            place = f"column '{column}', {raw.where(first + row)}"
            finding = f"a cell that cannot be read as pairs of item and score ({error})"
            raise UploadError(Problem("bad-pairs", place, finding, PAIRS_FIX)) from None
        items.append([item for item, _ in pairs])
        scores.append([score for _, score in pairs])
    kind = pa.list_(pa.string())
    return pa.array(items, kind), pa.array(scores, kind)
