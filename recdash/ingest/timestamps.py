"""Reads timestamps of online logs in all common forms, checks them, and converts them to UTC."""

from __future__ import annotations

import difflib
import zoneinfo

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.errors import Problem, UploadError
from recdash.ingest.columns import ALWAYS
from recdash.ingest.values import (
    UNITS,
    ColumnCheck,
    how_to_state_order,
    is_missing,
    is_text,
    plain,
    read_floats,
    units_of,
    with_dates_written_out,
    year_first,
)

LOCAL, UTC = pa.timestamp("us"), pa.timestamp("us", "UTC")
HOW = "Write 2026-11-02T09:00:00Z, or seconds since 1970."
SHAPE = (
    r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
    r"([ T]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
)
ZONED = r":\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
# so that Arrow reads database output: '2026-11-02 09:00:00.123456789 UTC'
SPELLINGS = ((r" ?(UTC|GMT|z)$", "Z"), (r"(\.\d{6})\d+", r"\1"), (r"(:\d\d(\.\d+)?) ([+-]\d)", r"\1\3"))
EARLIEST, LATEST = pa.scalar(0, UTC), pa.scalar(4_102_444_800_000_000, UTC)  # 1970 and 2100


def known_zone(zone: str | None) -> str | None:
    """Returns the time zone, None for an empty one. Raises ``UploadError`` for an unknown name."""
    if not zone:
        return None
    try:
        pc.assume_timezone(pa.array([0], LOCAL), zone)
    except pa.ArrowException:
        near = difflib.get_close_matches(zone, sorted(zoneinfo.available_timezones()), n=1, cutoff=0.6)
        hint = f"Did you mean '{near[0]}'? " if near else ""
        fix = f"{hint}Time zones have names such as Europe/Berlin, America/New_York or UTC."
        finding = f"no time zone is called '{zone}'"
        raise UploadError(Problem("unknown-zone", "time zone", finding, fix)) from None
    return zone


def read_moments(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns timestamps in UTC with microseconds; null if empty and optional.

    Refuses timestamps before 1970 or from 2100 on, which come from a clock that was never set, or stand for
    "no end".
    """
    array = with_dates_written_out(plain(array), check)
    moments = _of_type(array, check)
    _refuse_far(moments, array, check)
    if _must_be_written(check):
        empty = array.is_null(nan_is_null=True)
        if is_text(array.type):
            empty = pc.or_(empty, is_missing(pc.utf8_trim_whitespace(array)))
        empty = pc.and_(moments.is_null(), empty)
        check.refuse(empty, array, "missing-time", "'{value}' is not a time", HOW)
    return moments


def _must_be_written(check: ColumnCheck) -> bool:
    return check.role.required and check.role.filled == ALWAYS


def _refuse_far(moments: pa.Array, written: pa.Array, check: ColumnCheck) -> None:
    far = pc.or_(pc.less(moments, EARLIEST), pc.greater_equal(moments, LATEST))
    far = pc.fill_null(far, False)
    if pc.any(far).as_py():
        do = "leave such rows out" if _must_be_written(check) else "leave such cells empty"
        fix = f"If 9999-12-31 or 0001-01-01 means no time, {do}. Otherwise correct the year."
        is_time = not (is_text(written.type) or pa.types.is_floating(written.type))
        written = written.cast(pa.string()) if is_time else written  # Python supports no year above 9999
        check.refuse(far, written, "far-time", "'{value}' is not between the years 1970 and 2100", fix)


def _of_type(array: pa.Array, check: ColumnCheck) -> pa.Array:
    if pa.types.is_timestamp(array.type) and array.type.tz:
        return array.cast(UTC, safe=False)
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return _in_utc(array.cast(LOCAL, safe=False), check)
    if is_text(array.type):
        return _of_text(array, check)
    return _since_1970(read_floats(array, check, "a time", HOW), array, check)


def _since_1970(numbers: pa.Array, written: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns timestamps from numbers of seconds since 1970.

    Numbers that are too large for seconds are milli-, micro- or nanoseconds.
    """
    values = pc.fill_null(numbers, np.nan).to_numpy()
    units, _ = units_of(values, check)
    micro = np.round(values * np.array([by for _, by, _ in UNITS])[units])
    beyond = np.abs(micro) >= 2.0**62
    check.refuse(pa.array(beyond), written, "bad-time", "'{value}' is not a time", HOW)
    unknown = ~np.isfinite(micro) | beyond
    return pa.array(np.where(unknown, 0, micro).astype(np.int64), UTC, mask=unknown)


def _of_text(array: pa.Array, check: ColumnCheck) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(array)
    text = pc.if_else(is_missing(trimmed), None, trimmed)
    first = text.drop_null().slice(0, 1)
    for kind in (pa.float64(), LOCAL, UTC):
        try:  # a column usually has one form; the whole column is not tried if its first value has another
            first.cast(kind)
            values = text.cast(kind)
            if kind == LOCAL:
                return _in_utc(values, check)
            return values if kind == UTC else _since_1970(values, array, check)
        except pa.ArrowInvalid:
            continue
    text = year_first(text, check)
    for pattern, replacement in SPELLINGS:
        text = pc.replace_substring_regex(text, pattern, replacement)
    return _mixed(text, array, check)


def _mixed(text: pa.Array, written: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns timestamps from text that has times with and without a zone.

    Refuses other text, which becomes null.
    """
    bad = pc.fill_null(pc.invert(pc.match_substring_regex(text, SHAPE)), False)
    zoned = pc.fill_null(pc.match_substring_regex(text, ZONED), False)
    fix = HOW + how_to_state_order(text, check)
    check.refuse(bad, written, "bad-time", "'{value}' is not a time", fix)
    text = pc.if_else(bad, None, text)
    far = _cast_what_is(pc.if_else(zoned, text, None), UTC, written, check)
    near = _cast_what_is(pc.if_else(zoned, None, text), LOCAL, written, check)
    return pc.coalesce(far, _in_utc(near, check))


def _cast_what_is(text: pa.Array, kind: pa.DataType, written: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns timestamps; refuses days that do not exist, such as 30 February, which become null."""
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:
        good = pa.array([_is(kind, value) for value in text.to_pylist()])
    check.refuse(pc.invert(good), written, "bad-time", "'{value}' is not a time", HOW)
    return pc.if_else(good, text, None).cast(kind)


def _is(kind: pa.DataType, value: str | None) -> bool:
    try:
        pa.scalar(value, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _in_utc(local: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns local times converted to UTC from the declared time zone; without one they are taken as UTC."""
    written = len(local) - local.null_count
    if check.zone is None:
        fix = "If they are local times, name the time zone, such as Europe/Berlin."
        example = check.first(local.is_valid(), local)
        check.note("naive-times", "times without a zone in {rows} were taken as UTC", fix, written, example)
        return local.cast(UTC)
    moments = pc.assume_timezone(local, check.zone, ambiguous="earliest", nonexistent="latest")
    _note_change_of_clocks(local, moments, check)
    return moments.cast(UTC)


def _note_change_of_clocks(local: pa.Array, moments: pa.Array, check: ColumnCheck) -> None:
    """Adds notices about times that a change of clocks repeats or skips, with the time that was used."""
    later = pc.assume_timezone(local, check.zone, ambiguous="latest", nonexistent="latest")
    is_twice = pc.not_equal(moments, later)
    twice = pc.sum(is_twice).as_py() or 0
    finding = f"times that occurred twice in {check.zone}, when clocks went back, in {{rows}}"
    fix = "The earlier of the two was used. Write times in UTC to avoid this."
    check.note("repeated-hour", finding, fix, twice, check.first(is_twice, local))
    is_never = pc.not_equal(pc.local_timestamp(moments), local)
    never = pc.sum(is_never).as_py() or 0
    finding = f"times that never occurred in {check.zone}, when clocks went forward, in {{rows}}"
    fix = "The moment of the change was used. Write times in UTC to avoid this."
    check.note("skipped-hour", finding, fix, never, check.first(is_never, local))
