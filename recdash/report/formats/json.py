"""A document as JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite
from typing import Any

from recdash.errors import InputError, Problem
from recdash.report import document
from recdash.report.document import FORMAT, Document
from recdash.report.formats.type_check import check_types

KIND = "is"
"""The key that says which value a JSON object is."""
VALUES: Mapping[str, type[Any]] = {
    made.__name__: made for made in vars(document).values() if isinstance(made, type) and is_dataclass(made)
}


def to_plain(value: Any) -> Any:
    """JSON-ready: frozen values as objects that name themselves, without what is at its default."""
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


def from_plain(value: Any) -> Any:
    """The value that ``to_plain`` wrote. Raises KeyError, TypeError or RecursionError for anything else."""
    if isinstance(value, list):
        return [from_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    if KIND not in value:
        return {name: from_plain(part) for name, part in value.items()}
    facts = {name: _frozen(from_plain(part)) for name, part in value.items() if name != KIND}
    frozen = VALUES[value[KIND]](**facts)
    check_types(frozen)
    return frozen


def _frozen(value: Any) -> Any:
    """Lists are tuples in frozen values."""
    return tuple(_frozen(part) for part in value) if isinstance(value, list) else value


def to_json(document: Document, *, indent: int | None = None) -> str:
    """With one key order, so that the same document is always the same text."""
    separators = None if indent else (",", ":")
    return json.dumps(
        to_plain(document), ensure_ascii=False, allow_nan=False, indent=indent, separators=separators
    )


def from_json(text: str) -> Document:
    """Raises InputError for a text that is no report."""
    try:
        read = from_plain(json.loads(text))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _no_report(str(error)) from error
    if not isinstance(read, Document):
        raise _no_report("something else")
    if read.format > FORMAT:
        fix = "Upgrade recdash to read it."
        raise InputError(Problem("newer-report", "report", "it was made by a newer recdash", fix))
    return read


def _no_report(reason: str) -> InputError:
    fix = "Give an HTML or JSON file that recdash report wrote."
    return InputError(Problem("no-report", "report", f"it cannot be read as one ({reason})", fix))
