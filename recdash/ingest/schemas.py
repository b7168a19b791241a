"""Compares the columns of several Arrow schemas: their names and types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa


def repeated_name(names: Sequence[str]) -> str | None:
    """Returns the first name that occurs twice; None if all differ."""
    return next((name for name in names if names.count(name) > 1), None)


def common_type(types: Iterable[pa.DataType]) -> pa.DataType:
    """Returns the type that has room for values of all these types; text if they have nothing in common."""
    try:
        schemas = [pa.schema([pa.field("", own)]) for own in types]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return pa.string()
