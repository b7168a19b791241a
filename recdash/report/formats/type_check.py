"""Whether a value that was read from a file has in each field what the field promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from recdash.report import document


def check_types(value: Any) -> None:
    """Check the fields of a frozen value. Raises TypeError for the first that holds something else."""
    kinds = _kinds(type(value).__name__)
    for field in fields(value):
        held = getattr(value, field.name)
        if not _is(held, kinds[field.name]):
            raise TypeError(f"{type(value).__name__}.{field.name} is {type(held).__name__}")


@lru_cache(maxsize=64)
def _kinds(name: str) -> dict[str, Any]:
    return get_type_hints(getattr(document, name))


def _is(held: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return any(_is(held, option) for option in inner)
    if origin is Literal:
        return isinstance(held, str) and held in inner
    if origin is tuple:  # of any length: documents have no other
        return isinstance(held, tuple) and all(_is(item, inner[0]) for item in held)
    if isinstance(held, bool):
        return kind is bool
    return isinstance(held, (float, int) if kind is float else Mapping if origin is Mapping else kind)
