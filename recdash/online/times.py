"""Times of a log as seconds since 1970 (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from recdash.domain.kinds import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

DAY = 86_400
# A number this large would be a date tens of thousands of years ahead: it counts in a smaller unit.
UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def seconds(column: pa.ChunkedArray) -> Floats:
    """[rows] NaN where no time is written. Numbers are seconds, or milli-, micro- or nanoseconds by size."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        column = _parsed(column)
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz)).cast("int64")
        return _floats(column) / 1e6
    numbers = _floats(column)
    largest = np.nanmax(np.abs(numbers), initial=0.0)
    return numbers / next((unit for least, unit in UNITS if largest >= least), 1.0)


def _parsed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times that were stored as text; nulls where they cannot be read."""
    import pyarrow as pa

    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return pa.chunked_array([pa.nulls(len(column), pa.float64())])


def _floats(column: pa.ChunkedArray) -> Floats:
    # microseconds have more digits than a float from 2255 on
    return column.cast("float64", safe=False).to_numpy()


def day(times: Floats) -> Ints:
    """[rows] the day of each time, days since 1970; all of them known."""
    return np.floor_divide(times, DAY).astype(np.int64)


def date(day: int) -> datetime:
    return datetime.fromtimestamp(day * DAY, UTC)


def of_text(text: str, zone: str | None = None) -> float:
    """Seconds of an ISO date or time; one that says no zone is of ``zone`` (None: UTC). Raises ValueError."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=ZoneInfo(zone) if zone else UTC)).timestamp()
