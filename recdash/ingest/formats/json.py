"""Reads JSON documents and Python dicts, which may have rows, columns, or lists keyed by user."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import Content, whole
from recdash.ingest.columns import WITH_ATTRIBUTES, is_known, listed
from recdash.ingest.formats.json_values import (
    broken_json,
    column_array,
    ids_as_text,
    parse_documents,
    parse_json,
)
from recdash.ingest.formats.raw_table import RawTable, row_place, table_of_arrow
from recdash.ingest.formats.surrogates import printable, refuse_surrogates
from recdash.ingest.limits import UNLIMITED, Limits, keep_candidates_few, keep_names_within

AFTERWARDS = "Extra data"
"""What Python says of text after a JSON value."""


def is_json(content: Content) -> bool:
    return content.head.lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in (b"{", b"[")


def read_json(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """Returns the raw table of a JSON document.

    It may be {user: {item: score}}, {user: [items]}, a list of rows, or {column: values}. Raises
    ``UploadError`` for invalid JSON and for other forms.
    """
    try:
        text = whole(content).decode("utf-8-sig")
        try:
            document = parse_json(text)
        except json.JSONDecodeError as error:
            if error.msg != AFTERWARDS:
                raise
            document = parse_documents(text)
    except ValueError as error:
        raise UploadError(broken_json(error, "file")) from error
    except RecursionError:
        finding, fix = "JSON that is nested too deeply", "Write {user: {item: score}} or rows."
        raise UploadError(Problem("bad-json", "file", finding, fix)) from None
    return read_document(document, kind, limits)


PAIRS: Mapping[TableKind, tuple[str, str, str]] = {
    "truth": ("user_id", "item_id", "relevance"),
    "train": ("user_id", "item_id", "rating"),
    "similarity": ("item_a", "item_b", "similarity"),
}
"""Kind of table → the roles of the outer keys, the inner keys and the values of {…: {…: …}}.

Other kinds are read like a run.
"""


ENVELOPES = ("data", "rows", "records", "items", "results", "recommendations", "value")
"""Keys under which programs write a table beside other facts: {"data": […], "total": 2}."""


def _enveloped(document: Any) -> tuple[str, Any] | None:
    """Returns the key and the rows of an envelope; None for other values.

    With ``columns`` beside them, the rows may be lists, as pandas writes them (``orient="split"``). A value
    {user: {item: score}} or {user: [items]} is an envelope's too, whatever its key, if all other values are
    facts such as a model's name.
    """
    if not isinstance(document, dict):
        return None
    by_user = [key for key, value in document.items() if _is_by_user(value)]
    if len(by_user) == 1 and 1 < len(document) == 1 + sum(map(_is_fact, document.values())):
        return by_user[0], document[by_user[0]]
    keys = [key for key in ENVELOPES if isinstance(document.get(key), list) and document[key]]
    if len(keys) != 1:
        return None
    rows = _rows_of(document[keys[0]], document.get("columns"))
    return None if rows is None else (keys[0], rows)


def _rows_of(rows: list[Any], names: Any) -> list[dict[str, Any]] | None:
    """Returns rows as dicts, also if they are lists and ``names`` has a name for each value; else None."""
    if all(isinstance(row, dict) for row in rows):
        return rows
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    is_whole = all(isinstance(row, list) and len(row) == len(names) for row in rows)
    if not is_whole or len(set(names)) < len(names):
        return None
    return [dict(zip(names, row, strict=True)) for row in rows]


def _is_by_user(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(v, dict | list) for v in value.values())


def _is_fact(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def read_document(document: Any, kind: TableKind, limits: Limits = UNLIMITED) -> RawTable:
    """Returns the raw table of a JSON value, or of the same in Python.

    Raises ``UploadError`` for other forms, and for more columns than the limit.
    """
    if enveloped := _enveloped(document):
        key, rows = enveloped
        others = [printable(name) for name in document if name not in (key, "columns")]
        finding = f"the rows are those under '{printable(key)}'"
        finding += f"; not read: {listed(others)}" if others else ""
        fix = "Write the list of rows alone if this is wrong."
        notice = Problem("json-envelope", "file", finding, fix, len(rows), f"'{printable(key)}'")
        table = read_document(rows, kind, limits)
        return replace(table, notices=(*table.notices, notice))
    if isinstance(document, dict) and document and not _is_by_column(document, kind):
        return _by_key(document, kind)
    if isinstance(document, dict) and document:
        columns = {str(n): list(v.values()) if isinstance(v, dict) else list(v) for n, v in document.items()}
        if len({len(values) for values in columns.values()}) == 1:
            return _of_json(columns, "JSON columns")
    if isinstance(document, list) and document and all(isinstance(row, dict) for row in document):
        names = dict.fromkeys(name for row in document for name in row)
        keep_names_within(limits, names)  # a cell of each in every row takes long
        return _of_json({name: [row.get(name) for row in document] for name in names}, "JSON rows")
    finding = "JSON of an unknown structure" if document else "JSON without rows"
    fix = "Write {user: {item: score}}, {user: [items, best first]} or a list of rows."
    raise UploadError(Problem("bad-json" if document else "no-rows", "file", finding, fix))


def _is_by_column(document: Mapping[Any, Any], kind: TableKind) -> bool:
    """Returns True if the document is {column: values}.

    Two known column names show that; one is enough in tables with attributes, whose columns may have any
    name.
    """
    lists = all(isinstance(value, list) for value in document.values())
    enough = 1 if lists and kind in WITH_ATTRIBUTES else 2
    return sum(is_known(str(key)) for key in document) >= enough and all(
        isinstance(value, (list, dict)) for value in document.values()
    )


def _by_key(document: Mapping[Any, Any], kind: TableKind) -> RawTable:
    """Returns the raw table of {item: vector}, {user: {attribute: value}} or {user: {item: score}}."""
    if kind == "vectors":
        vectors = [v.tolist() if hasattr(v, "tolist") else v for v in document.values()]
        return _of_json({"item_id": [str(item) for item in document], "vector": vectors}, "JSON by item")
    if kind in WITH_ATTRIBUTES and all(isinstance(row, Mapping) for row in document.values()):
        id_column = "user_id" if kind == "users" else "item_id"
        return read_document([{id_column: str(key), **row} for key, row in document.items()], kind)
    if _are_rows_by_number(document):
        return _of_rows_by_number(document, kind)
    if kind == "run" and _is_by_model(document):
        return _of_models(document)
    return _of_pairs(document, *PAIRS.get(kind, ("user_id", "item_id", "score")))


def _are_rows_by_number(document: Mapping[Any, Any]) -> bool:
    """Returns True if the document is {row number: row}, as pandas writes it (``orient="index"``): all rows
    have the same names, of which two are known.
    """
    rows = list(document.values())
    names = rows[0].keys() if isinstance(rows[0], Mapping) else ()
    is_row = sum(is_known(str(name)) for name in names) > 1
    return is_row and all(isinstance(row, Mapping) and row.keys() == names for row in rows)


def _of_rows_by_number(document: Mapping[Any, Mapping[Any, Any]], kind: TableKind) -> RawTable:
    """Returns the raw table of {row number: row}; keys that do not count the rows are a column."""
    is_counted = [str(key) for key in document] == [str(number) for number in range(len(document))]
    rows = [dict(row) if is_counted else {"index": key, **row} for key, row in document.items()]
    return read_document(rows, kind)


def _is_by_model(document: Mapping[Any, Any]) -> bool:
    """Returns True if the document is {model: {user: [items]}} or {model: {user: {item: score}}}."""
    if not all(isinstance(users, Mapping) and users for users in document.values()):
        return False
    inner = [items for users in document.values() for items in users.values()]
    return all(isinstance(items, (list, tuple, Mapping, set, frozenset)) for items in inner)


REPLICATE_LABEL = re.compile(r"(?:(seed|fold|split|repeat|replicate)[ _-]?)?\d+", re.IGNORECASE)


def are_replicates(labels: Iterable[Any]) -> bool:
    """Returns True if all labels name replicates (1, seed_2, fold 3) and not models."""
    return all(REPLICATE_LABEL.fullmatch(str(label)) for label in labels)


def _of_models(document: Mapping[Any, Any]) -> RawTable:
    """Returns the raw table of {model: {user: [items]}}: rows of model, user, item and optionally score.

    Models named 1, 2 or seed_1, seed_2 … are replicates of one candidate. Raises ``UploadError`` if only some
    models have scores.
    """
    keep_candidates_few(len(document), "file")
    role, column = "run", "model"
    if are_replicates(document):
        label = REPLICATE_LABEL.fullmatch(str(next(iter(document))))
        role, column = "replicate", ((label and label[1]) or "replicate").lower()
    roles = ("user_id", "item_id", "score")
    tables = {str(model): _of_pairs(users, *roles) for model, users in document.items()}
    scored = {"score" in table.columns for table in tables.values()}
    if len(scored) > 1:
        finding, fix = "scores for some models only", "Write scores for all models, or for none."
        raise UploadError(Problem("mixed-types", "file", finding, fix))
    parts = []
    for model, table in tables.items():
        names = list(table.columns)
        for batch in table.blocks(names, ()):
            part = pa.Table.from_batches([batch])
            parts.append(part.add_column(0, column, pa.array([model] * len(batch), pa.string())))
    mapping = {"user_id": "user", "item_id": "item", role: column}
    mapping |= {"score": "score"} if True in scored else {}
    return table_of_arrow(pa.concat_tables(parts), "JSON by model", roles=mapping)


def _of_json(columns: Mapping[str, list[Any]], name: str) -> RawTable:
    refuse_surrogates(list(columns))
    arrays = [column_array(values, column, row_place) for column, values in columns.items()]
    raw = table_of_arrow(pa.Table.from_arrays(arrays, list(columns)), name)

    def blocks(names: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        return (ids_as_text(batch, ids) for batch in raw.blocks(names, ids))

    return RawTable(name, raw.columns, blocks, raw.where, raw.sample, lists=raw.lists, n_rows=raw.n_rows)


def _of_pairs(document: Mapping[Any, Any], outer: str, inner: str, value: str) -> RawTable:
    """Returns the raw table of {user: {item: score}}, {user: [items]} or {user: [[item, score], …]}.

    ``outer``, ``inner`` and ``value`` are the roles of the three. Raises ``UploadError`` if there are no
    items.
    """
    users: list[str] = []
    items: list[Any] = []
    scores: list[Any] = []
    for user, members in document.items():
        pairs = _pairs(user, members, is_ranked=value == "score")
        users += [str(user)] * len(pairs)
        items += [None if item is None else str(item) for item, _ in pairs]
        scores += [score for _, score in pairs]
    if not users:
        raise UploadError(Problem("no-rows", "file", "users but no items", "Write {user: {item: score}}."))
    roles = {role: role.removesuffix("_id") for role in (outer, inner)}
    columns: dict[str, list[Any]] = {roles[outer]: users, roles[inner]: items}
    if any(score is not None for score in scores):
        columns[value], roles[value] = scores, value
    where = lambda row: f"{roles[outer]} '{printable(users[row])}'"  # noqa: E731
    arrays = [column_array(values, column, where) for column, values in columns.items()]
    table = pa.Table.from_arrays(arrays, list(columns))
    return table_of_arrow(table, f"JSON by {roles[outer]}", roles=roles, where=where)


def _pairs(user: Any, members: Any, *, is_ranked: bool) -> list[tuple[Any, Any]]:
    """Returns (item, score) for each item of a user; the score is None in a list of items.

    Raises ``UploadError`` for other forms, and for a set if the order matters.
    """
    place = f"user '{printable(user)}'"
    if isinstance(members, Mapping):
        return list(members.items())
    if isinstance(members, set | frozenset):
        if is_ranked:
            finding = "a set of items, and a set has no order"
            fix = "Write a list, best item first, or {item: score}."
            raise UploadError(Problem("unordered", place, finding, fix))
        members = list(members)
    if hasattr(members, "tolist"):  # a numpy array or a pandas series
        members = members.tolist()
    if isinstance(members, (list, tuple)):
        if all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in members):
            return [(item, score) for item, score in members]
        if not any(isinstance(item, (list, tuple, Mapping)) for item in members):
            return [(item, None) for item in members]
    finding = f"neither a list of items nor {{item: score}}, but {type(members).__name__}"
    raise UploadError(Problem("bad-json", place, finding, "Write {user: {item: score}} or {user: [items]}."))
