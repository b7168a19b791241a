"""Finds what comes first in dates such as 1/2/2024: the day or the month."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import DateOrder, TableKind
from recdash.errors import UploadError
from recdash.ingest.columns import DATE_ORDERS, ROLES, Columns, is_of_times
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.values import SLASHED, shown_order
from recdash.ingest.values import plain as decoded


def with_date_choices(raw: RawTable, kind: TableKind, columns: Columns) -> Columns:
    """Returns ``columns`` with two labels to choose from for each column of dates with slashes."""
    labels = [f"{column}{mark}" for column in _slashed(raw, kind, columns, ()) for mark in DATE_ORDERS]
    return replace(columns, families=(*columns.families, *labels)) if labels else columns


def orders_of_dates(raw: RawTable, kind: TableKind, columns: Columns) -> dict[str, DateOrder]:
    """Returns column → what comes first in its dates with slashes, if a number above 12 shows it.

    Blocks are read until one shows it: the first rows may have none, and all must be read by one order.
    """
    orders: dict[str, DateOrder] = {}
    for column in _slashed(raw, kind, columns, columns.dates):
        try:
            shown = (shown_order(decoded(batch.column(0))) for batch in raw.blocks([column], ()))
            order = next((each for each in shown if each is not None), None)
        except UploadError:  # reported when the whole table is read
            continue
        if order is not None:
            orders[column] = order
    return orders


def _slashed(raw: RawTable, kind: TableKind, columns: Columns, stated: Collection[str]) -> list[str]:
    """Returns the columns of times whose first values are dates with slashes, without the stated roles."""
    names = [
        columns.mapping[role.name]
        for role in ROLES[kind]
        if is_of_times(role) and role.name in columns.mapping and role.name not in stated
    ]
    if not names:
        return []
    try:
        rows = raw.sample()
    except UploadError:
        return []
    return [name for name in names if _has_slashes([row.get(name, "") for row in rows])]


def _has_slashes(values: list[str]) -> bool:
    texts = pc.utf8_trim_whitespace(pa.array(values, pa.string()))
    return bool(pc.any(pc.match_substring_regex(texts, SLASHED)).as_py())
