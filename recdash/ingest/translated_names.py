"""Checks by their values the columns whose role only a translated name suggests."""

from __future__ import annotations

from collections.abc import Collection

from recdash.ingest.cells import values_of
from recdash.ingest.columns import COUNTS_TRANSLATED, TIMES_TRANSLATED, Columns, plain
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.looks import ColumnLook

COUNTS = frozenset(map(plain, COUNTS_TRANSLATED.split()))
TIMES = frozenset(map(plain, TIMES_TRANSLATED.split()))


def contradicted_roles(raw: RawTable, columns: Columns, stated: Collection[str]) -> list[str]:
    """Returns the roles of columns that are named like counts or times in another language, and hold
    something else in the first rows. ``stated`` are roles that the user mapped, which are never returned.
    """
    free = {role: column for role, column in columns.mapping.items() if role not in stated}
    return [role for role, column in free.items() if _is_contradicted(raw, column)]


def _is_contradicted(raw: RawTable, column: str) -> bool:
    name = plain(column)
    if name not in COUNTS | TIMES or column in raw.lists:
        return False
    look = ColumnLook(column, [value for value in values_of(raw.sample(), column) if value])
    return bool(look.filled) and not (look.is_number if name in COUNTS else look.is_time)
