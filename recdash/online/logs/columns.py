"""Reads the raw columns of an A/B log once: ids and names become codes, times become seconds since 1970.

Letters in shapes: ``rows`` the rows of a table, ``units`` the users of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import Problem
from recdash.online.logs.id_spellings import Spellings
from recdash.online.logs.timestamp_outliers import TimestampOutliers
from recdash.online.logs.user_totals import SessionRows
from recdash.online.users import Segment

if TYPE_CHECKING:
    import pyarrow as pa

# A number this large would be a date tens of thousands of years ahead: its unit is smaller.
UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
ROLES = ("unit_id", "session_id", "variant", "start_ts", "end_ts", "clicks", "watch_s")
"""Columns with a fixed meaning.

Every other column of numbers is summed, every other one of text is a segment.
"""
VALUE = " value"
"""The end of the name of a column with the sum of an event's values; that of the event counts it."""
EXPOSURE_ROLES = ("unit_id", "session_id", "variant", "ts", "experiment_id")


class Labels(NamedTuple):
    """A column of names: ``code`` [rows] are indexes into ``names``, −1 for an empty cell."""

    code: Ints
    names: Sequence[Any]


@dataclass(frozen=True)
class Exposures:
    """The exposures of an A/B test, without those at an outlying time.

    ``table`` has the n rows, ``at`` [n] their seconds since 1970, ``variant`` their variants. ``outliers``
    has the removed times; their order among the others is unknown.
    """

    table: pa.Table
    at: Floats
    variant: Labels
    outliers: TimestampOutliers


@dataclass(frozen=True)
class SessionLog:
    """The sessions and exposures of a log, with common codes for units (users) and sessions.

    ``far`` [rows] marks sessions at an outlying time. ``variant`` [rows] is None if the sessions have no such
    column. ``exposed`` [exposures] is the unit of each exposure, ``exposed_in`` its session, None if the
    exposures name none. ``segments`` maps a column of text to the units' values.
    """

    unit_ids: pa.Array
    rows: SessionRows
    far: Mask
    variant: Labels | None
    exposures: Exposures | None
    exposed: Ints
    exposed_in: Ints | None
    segments: Mapping[str, Segment]
    notices: tuple[Problem, ...]


def read_exposures(table: pa.Table) -> Exposures:
    import pyarrow as pa

    at = seconds(table["ts"])
    outliers = TimestampOutliers.among(at)
    if outliers.far.any():
        table, at = table.filter(pa.array(~outliers.far)), at[~outliers.far]
    return Exposures(table, at, labels(table["variant"]), outliers)


def read_sessions(table: pa.Table, exposures: pa.Table | None) -> SessionLog:
    """Returns sessions and exposures with common codes.

    If both say something about a user, the exposures take precedence.
    """
    known = None if exposures is None else read_exposures(exposures)
    tables = [table] if known is None else [table, known.table]
    units, unit_ids = codes(*(rows["unit_id"] for rows in tables))
    has_sessions = "session_id" in table.column_names
    named = [rows for rows in tables if has_sessions and "session_id" in rows.column_names]
    sessions = codes(*(rows["session_id"] for rows in named))[0] if named else []
    spelled = [] if known is None else _in_one_spelling(units, unit_ids)
    no_session = np.full(table.num_rows, -1, dtype=np.int64)
    rows, outliers = _rows(table, units[0], sessions[0] if has_sessions else no_session)
    segments = _segments(units[0], text_columns(table, ROLES), len(unit_ids), rows.at)
    notices = [*spelled, *outliers.notices("sessions", "They do not count, but their users do.")]
    if known is not None:
        segments |= _segments(units[1], text_columns(known.table, EXPOSURE_ROLES), len(unit_ids), known.at)
        fix = "They do not count, nor do users who have no other rows."
        notices = [*known.outliers.notices("exposures", fix), *notices]
    variant = labels(table["variant"]) if "variant" in table.column_names else None
    exposed, exposed_in = units[-1], sessions[1] if len(sessions) > 1 else None
    return SessionLog(
        unit_ids, rows, outliers.far, variant, known, exposed, exposed_in, segments, tuple(notices)
    )


def _rows(table: pa.Table, unit: Ints, session: Ints) -> tuple[SessionRows, TimestampOutliers]:
    """Returns the session rows, and the outliers among their times.

    A row at an outlying time only shows that its user exists: it has no session, no totals and no time.
    """
    start = seconds(table["start_ts"]) if "start_ts" in table.column_names else np.zeros(len(unit))
    usual = [name for name in ("clicks", "watch_s") if name in table.column_names]
    names = [*usual, *number_columns(table, ROLES)]
    # an empty cell, as of a user without a session, adds nothing
    numbers = {name: np.nan_to_num(table[name].cast("float64").to_numpy()) for name in names}
    # a session lasts at least as long as was watched in it
    end = seconds(table["end_ts"]) if "end_ts" in table.column_names else start
    if "end_ts" not in table.column_names and "watch_s" in numbers:
        end = start + numbers["watch_s"]
    end, outliers = np.fmax(start, end), TimestampOutliers.among(start)
    far = outliers.far
    if far.any():
        session = np.where(far, -1, session)
        start, end = (np.where(far, np.nan, times) for times in (start, end))
        numbers = {name: np.where(far, 0.0, values) for name, values in numbers.items()}
    has_sessions = "session_id" in table.column_names
    return SessionRows(unit, session, start, end, numbers, has_sessions), outliers


def _segments(unit: Ints, named: Iterable[tuple[str, Labels]], n: int, ts: Floats) -> dict[str, Segment]:
    """Returns the segments by column: each of the ``n`` units gets the earliest value in its rows.

    ``ts`` [rows] are seconds since 1970; an unknown time (NaN) counts as the latest. If several values have
    the same time, the first in alphabetical order counts, so that the order of rows does not matter.
    """
    segments = {}
    for name, label in named:
        texts = tuple(map(str, label.names))
        segments[name] = Segment(texts, _earliest(unit, label.code, texts, n, ts))
    return segments


def _earliest(unit: Ints, label: Ints, texts: tuple[str, ...], n_units: int, ts: Floats) -> Ints:
    """Returns [n_units] the index in ``texts`` of each unit's earliest value.

    The index is −1 if no row of the unit has a value.
    """
    rows = np.flatnonzero((label >= 0) & (unit >= 0))
    unit, label, ts = unit[rows], label[rows], np.nan_to_num(ts[rows], nan=np.inf)
    first = np.full(n_units, np.inf)
    np.minimum.at(first, unit, ts)
    is_first = ts == first[unit]
    by_name = np.argsort(np.array(texts, dtype=object), kind="stable")
    place = np.empty(len(texts) + 1, dtype=np.int64)
    place[by_name], place[-1] = np.arange(len(texts)), len(texts)
    least = np.full(n_units, len(texts), dtype=np.int64)
    np.minimum.at(least, unit[is_first], place[label[is_first]])
    return np.append(by_name, -1)[least]


def _in_one_spelling(units: list[Ints], ids: pa.Array) -> list[Problem]:
    """Replaces the code of users in the sessions whose id is spelled differently in the exposures.

    Changes ``units`` in place. Returns the notices about such ids.
    """
    import pyarrow as pa

    sessions, exposed = map(np.unique, units)
    other = np.setdiff1d(sessions, exposed, assume_unique=True)
    other = other[other >= 0]
    spellings = Spellings(ids.take(pa.array(exposed[exposed >= 0])))
    place = spellings.find(ids.take(pa.array(other)))
    code = np.arange(len(ids))
    code[other[place >= 0]] = exposed[exposed >= 0][place[place >= 0]]
    units[0] = code[units[0]]
    return spellings.notices()


# ── single columns ───────────────────────────────────────────────────────────────────────────


def labels(column: pa.ChunkedArray) -> Labels:
    return Labels(*_coded(column))


def codes(*columns: pa.ChunkedArray) -> tuple[list[Ints], Any]:
    """Returns each column as indexes [rows] into the distinct values of all columns, and these values.

    An empty cell has the index −1.
    """
    import pyarrow as pa

    alike = _of_one_type(columns)
    together = pa.chunked_array([chunk for column in alike for chunk in column.chunks], alike[0].type)
    code, values = _coded(together)
    return np.split(code, np.cumsum([len(column) for column in columns])[:-1]), values


def _coded(column: pa.ChunkedArray) -> tuple[Ints, Any]:
    import pyarrow as pa

    if pa.types.is_integer(column.type) and not column.null_count:
        # Arrow's hash table of a million numbers takes 90 MiB, sorting them 30.
        values, code = np.unique(column.to_numpy(), return_inverse=True)
        return code.astype(np.int64, copy=False), pa.array(values)
    if pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
    else:
        encoded = column.combine_chunks().dictionary_encode()
    code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return code, encoded.dictionary


def _of_one_type(columns: Sequence[pa.ChunkedArray]) -> Sequence[pa.ChunkedArray]:
    """Returns the columns cast to a common type, which is text if their types differ."""
    import pyarrow as pa

    types = {column.type for column in columns}
    if len(types) == 1:
        return columns
    values = {kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types}
    common = values.pop() if len(values) == 1 else pa.string()
    return [column.cast(common) for column in columns]


def seconds(column: pa.ChunkedArray) -> Floats:
    """Returns [rows] seconds since 1970; NaN for an unknown time.

    Numbers are read as seconds, or as milli-, micro- or nanoseconds if they are too large to be seconds.
    """
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
    """Returns the times in a column of text; null if it cannot be read as times."""
    import pyarrow as pa

    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return pa.chunked_array([pa.nulls(len(column), pa.float64())])


def _floats(column: pa.ChunkedArray) -> Floats:
    # from the year 2255 on, microseconds have more digits than a float
    return column.cast("float64", safe=False).to_numpy()


def text_columns(table: pa.Table, apart_from: tuple[str, ...]) -> Iterator[tuple[str, Labels]]:
    """Yields name and labels of each column of text or booleans, except those in ``apart_from``."""
    import pyarrow as pa

    def is_text(kind: pa.DataType) -> bool:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)

    for field in table.schema:
        if field.name not in apart_from and is_text(field.type):
            yield field.name, labels(table[field.name])


def column_values(table: pa.Table, total: str) -> Floats:
    """Returns [rows] the values of the column from which a total is summed; NaN for an empty cell.

    The sum of an event's values, such as ``purchase value``, is empty in rows without that event.
    """
    if total not in table.column_names:
        column, per = ("watch_s", 60.0) if total == "watch_min" else ("", 1.0)
        if column not in table.column_names:  # a total that no column has, such as sessions
            return np.full(table.num_rows, np.nan)
        return _floats(table[column]) / per
    values = _floats(table[total])
    event = total.removesuffix(VALUE)
    if event != total and event in table.column_names:
        values = np.where(np.nan_to_num(_floats(table[event])) > 0, values, np.nan)
    return values


def number_columns(table: pa.Table, apart_from: tuple[str, ...]) -> list[str]:
    import pyarrow as pa

    def is_number(kind: pa.DataType) -> bool:
        return pa.types.is_integer(kind) or pa.types.is_floating(kind)

    return [field.name for field in table.schema if field.name not in apart_from and is_number(field.type)]
