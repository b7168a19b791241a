"""Converts frames to plain, typed rows."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


def records(frame: pd.DataFrame) -> list[Row]:
    """Returns one dict per row: {column name: value}, with Python's own numbers."""
    # Column by column, as pandas reads a frame of text and numbers row by row six times as long: it was a
    # fifth of a page's time.
    columns = [_plain_values(frame[name]) for name in frame]
    return [dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_values(column: pd.Series[Any]) -> list[Any]:
    import pandas as pd

    values: list[Any] = column.tolist()
    if column.dtype == object:
        return [value.item() if hasattr(value, "item") else value for value in values]
    if getattr(column.dtype, "na_value", None) is pd.NA:
        return [None if value is pd.NA else value for value in values]
    return values


def by_run(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Returns (run id, its rows) for each run, in order of first appearance."""
    return [(str(run_id), part) for run_id, part in frame.groupby("run_id", sort=False)]


def last_of_run(frame: pd.DataFrame) -> list[Row]:
    """Returns the last row of each run."""
    return records(frame.groupby("run_id", sort=False).tail(1))


def plain_columns(frame: pd.DataFrame, columns: list[str]) -> dict[str, list[Any]]:
    """Returns {column: its values as a list} for a figure's data; numbers that are not finite become None."""
    return {
        name: [
            None if isinstance(value, float) and not isfinite(value) else value
            for value in frame[name].tolist()
        ]
        for name in columns
    }
