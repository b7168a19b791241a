"""Converts a document to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from typing import Any

from pydantic import TypeAdapter, ValidationError

from recdash.errors import InputError, Problem
from recdash.report.document import FORMAT, Document

KIND = "is"
"""The key under which a JSON object has the name of its class."""
DOCUMENT = TypeAdapter(Document)


def to_plain(value: Any) -> Any:
    """Returns the value as JSON-ready values.

    A dataclass becomes an object with the name of its class.

    Its fields with default values are omitted, except ``format``. NaN and infinite numbers become None.
    """
    if is_dataclass(value) and not isinstance(value, type):
        plain = {KIND: type(value).__name__}
        for field in fields(value):
            part = getattr(value, field.name)
            if field.name == "format" or field.default is MISSING or part != field.default:
                plain[field.name] = to_plain(part)
        return plain
    if isinstance(value, Mapping):
        return {str(name): to_plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(part) for part in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value


def to_json(document: Document, *, indent: int | None = None) -> str:
    """Returns the document as JSON; the same document always gives the same text."""
    separators = None if indent else (",", ":")
    return json.dumps(
        to_plain(document), ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    )


def from_json(text: str) -> Document:
    """Returns the document in a JSON text.

    Raises InputError for a text that is not a report, and for a report of a newer recdash.
    """
    try:
        read = DOCUMENT.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise _no_report(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if read.format > FORMAT:
        fix = "Upgrade recdash to read it."
        raise InputError(Problem("newer-report", "report", "it was made by a newer recdash", fix))
    if to_plain(read) != json.loads(text):  # it has values of another type, or values that reports never have
        raise _no_report("it holds values that recdash does not write")
    return read


def _no_report(reason: str) -> InputError:
    fix = "Give an HTML or JSON file that recdash report wrote."
    return InputError(Problem("no-report", "report", f"it cannot be read as one ({reason})", fix))
