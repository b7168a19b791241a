"""Converts frames to plain, typed rows."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]


def records(frame: pd.DataFrame) -> list[Row]:
    """Returns one dict per row: {column name: value}."""
    return cast("list[Row]", frame.to_dict("records"))


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
