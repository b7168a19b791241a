"""Checks values while they are read: ids, ranks, scores, relevance, numbers and times.

Each reader takes one column of a block and returns the checked column. Problems and notices are added to
``Findings``, which counts those of the same kind together and keeps the place of the first. A reader that
*refuses* values adds a problem, with which the file will be rejected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import MISSING, DateOrder, Floats, Ints
from recdash.errors import Problem
from recdash.formatting.sanitize import INVISIBLE
from recdash.ingest.columns import CHOOSE, COMPACT, DATE_ORDERS, WORDS, Reading, Role
from recdash.ingest.rejects import Reject, Rejects

YES_NO = {
    **dict.fromkeys(("yes", "y", "true", "t", "wahr", "vrai", "verdadero", "vero"), 1.0),
    **dict.fromkeys(("no", "n", "false", "f", "falsch", "faux", "falso"), 0.0),
}
"""{a truth value in lower case: its number}; Excel writes TRUE and FALSE in the language of the machine."""
# in a column with commas, 1,200 may have a thousands separator; 900, 0.5 or 1,200,300 prove that it has
MAYBE_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$"
SURELY_THOUSANDS = r"^[+-]?\d{3,}$|^[+-]?\d*\.\d|,.*[,.]"
A_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity|nan)$"
WHOLE_DECIMAL = r"^[+-]?\d+\.0+$"
EXACT_FLOAT, EXACT_FLOAT32 = 2**53, 2**24
SCIENTIFIC = r"^[+-]?\d(\.\d+)?[eE]\+\d{2,}$|^[+-]?\d\.\d+[eE][+-]?\d+$"
"""Numbers in scientific notation, as spreadsheets and languages write them: 8.8E+05, 1e+16, 1.5E7.

5E12 and 3E-10 may be names, and do not match.
"""
UNSEEN = f"[{INVISIBLE}\u202a-\u202e\u2066-\u2069]"
AS_TEXT = "Export the ids as text or as whole numbers: the missing digits are lost."
CODES = pa.dictionary(pa.int32(), pa.string())
NO_IDS = pa.array([], pa.string())


@dataclass(frozen=True)
class Commas:
    """What the commas in a column of numbers have shown so far.

    ``value`` and ``where`` are the first number whose comma may separate thousands, and its place.
    ``thousands``: another value confirms that; ``decimal``: another value refutes it.
    """

    value: str = ""
    where: Callable[[], str] = str
    thousands: bool = False
    decimal: bool = False

    @property
    def misleading(self) -> bool:
        """Returns True if the column's commas separate thousands, and not decimals."""
        return bool(self.value) and self.thousands and not self.decimal


class Findings:
    """The problems and notices found while a file is read; equal ones are counted together.

    Problems reject the file.
    """

    def __init__(self, rejects: Rejects | None = None) -> None:
        self.rejects = rejects
        self._problems: dict[tuple[str, str], Problem] = {}
        self._notices: dict[tuple[str, str], Problem] = {}
        self.commas: dict[str, Commas] = {}
        self.units: dict[str, int] = {}
        """Column of times → the place in ``UNITS`` of the unit of its first values."""
        self.dates: dict[str, DateOrder] = {}
        """Column of dates with slashes → what comes first in them."""
        self.compact_dates: dict[str, bool] = {}
        """Column of times → whether most of its first values are dates such as 20260301."""
        self.percent: dict[str, bool] = {}
        """Column of scores → whether all of its first values are in percent."""
        self.clean_ids: dict[str, pa.Array] = {}
        """Column of ids → a dictionary of ASCII texts that are read unchanged; later blocks may share it."""
        self.lengths: dict[str, int] = {}
        """Column → the length of its first vector."""

    def problem(
        self, code: str, column: str, where: Callable[[], str], finding: str, fix: str, count: int
    ) -> None:
        earlier = self._problems.get((code, column))
        first = earlier or Problem(code, f"column '{column}', {where()}", finding, fix, 0)
        self._problems[code, column] = replace(first, count=first.count + count)

    def notice(
        self,
        code: str,
        place: str,
        finding: str,
        fix: str,
        count: int,
        example: Callable[[], str] = str,
    ) -> None:
        """Adds a notice; ``{rows}`` in ``finding`` becomes '1 row', '5 rows' … once all are counted.

        ``example`` gives one of the values, and is called for the first notice of a kind.
        """
        earlier = self._notices.get((code, place))
        first = earlier or Problem(code, place, finding, fix, 0, example())
        self._notices[code, place] = replace(first, count=first.count + count)

    def drop(self, places: Ints, column: str, values: pa.ChunkedArray, why: str) -> None:
        """Lists rows of a whole table that are dropped, if rejected rows are wanted."""
        if self.rejects is not None:
            self.rejects.add_kept(places, column, values, why)

    @property
    def problems(self) -> list[Problem]:
        """Returns the problems, each with the number of others like it."""
        problems = []
        for problem in self._problems.values():
            more = f" (and {problem.count - 1} more like it)" if problem.count > 1 else ""
            problems.append(replace(problem, found=problem.found + more))
        return problems

    @property
    def notices(self) -> list[Problem]:
        """Returns the notices, each with its number of rows in the text."""
        return [replace(p, found=p.found.replace("{rows}", in_rows(p.count))) for p in self._notices.values()]


def in_rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


@dataclass(frozen=True)
class ColumnCheck:
    """A column of a block while it is checked."""

    role: Role
    column: str
    findings: Findings
    where: Callable[[int], str]  # index within the block → place in the file
    decimal: str = "."
    needed: pa.Array | None = None  # mask [rows] of required values; None for all
    zone: str | None = None  # of timestamps without a zone
    numbers: Callable[[], Ints] | None = None  # gives the rows' numbers in the file
    date_order: DateOrder | None = None  # of dates with slashes, as the user stated it

    @property
    def place(self) -> str:
        return f"column '{self.column}'"

    def refuse(self, bad: pa.Array, values: pa.Array, code: str, says: str, fix: str) -> None:
        """Adds a problem for the rows where ``bad`` is true.

        ``says`` contains ``{value}``, the first such value.
        """
        count = _count(bad)
        if count:
            row = pc.index(bad, True).as_py()
            value = python_values(values.slice(row, 1))[0]
            finding = says.replace("{value}", _shown(value))
            self.findings.problem(code, self.column, lambda: self.where(row), finding, fix, count)
            self.reject(bad, values, says.replace("'{value}'", "the value").replace("{value}", "the value"))

    def reject(self, rows: pa.Array, values: pa.Array, why: str) -> None:
        """Lists the rows where ``rows`` is true as rejected, if rejected rows are wanted."""
        rejects = self.findings.rejects
        if rejects is not None and self.numbers is not None:
            marked = pc.indices_nonzero(pc.fill_null(rows, False)).to_numpy()
            listed, rejects.count = marked[: rejects.room], rejects.count + len(marked)
            numbers = self.numbers() if len(listed) else listed
            for row in listed:
                value = _shown(python_values(values.slice(row, 1))[0])
                rejects.rows.append(Reject(int(numbers[row]), self.column, value, why))

    def note(self, code: str, finding: str, fix: str, count: int, example: Callable[[], str] = str) -> None:
        if count:
            self.findings.notice(code, self.place, finding, fix, count, example)

    def first(self, rows: pa.Array, values: pa.Array) -> Callable[[], str]:
        """Returns what gives the first of the ``values`` whose row is marked, with its place: '12.0' (line
        5).
        """

        def example() -> str:
            row = pc.index(pc.fill_null(rows, False), True).as_py()
            value = _shown(python_values(values.slice(row, 1))[0])
            return f"'{value}' ({self.where(row)})" if value else self.where(row)

        return example

    def first_coded(self, entries: pa.Array, array: pa.DictionaryArray) -> Callable[[], str]:
        """Returns the same for a column of codes, of whose dictionary some ``entries`` are marked."""

        def example() -> str:
            return self.first(pc.fill_null(entries.take(array.indices), False), array)()

        return example


def python_values(array: pa.Array) -> list[Any]:
    """Returns the values as Python objects.

    They become text if Python has no equivalent, as for timestamps after the year 9999.
    """
    try:
        return array.to_pylist()
    except (ValueError, OverflowError):
        return array.cast(pa.string()).to_pylist()


def _shown(value: Any) -> str:
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _count(mask: pa.BooleanArray) -> int:
    return int(mask.true_count)


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_missing(text: pa.Array) -> pa.Array:
    """Returns [rows] True for an empty text, and for words that libraries write for missing values."""
    return pc.is_in(text, pa.array(MISSING))


def plain(array: pa.Array) -> pa.Array:
    """Returns the array without dictionary encoding.

    Text of any width becomes ``string``, and so do columns of nulls only.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    narrow = pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)
    return array.cast(pa.string()) if narrow or pa.types.is_null(array.type) else array


# ── ids ──────────────────────────────────────────────────────────────────────────────────────


def read_ids(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns ids as int64 or as dictionary-encoded text; null for a missing id."""
    kind = array.type
    if pa.types.is_int64(kind):
        return array
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return array.cast(pa.int64())
    if pa.types.is_floating(kind):
        most = EXACT_FLOAT if pa.types.is_float64(kind) else EXACT_FLOAT32
        return _float_ids(array.cast(pa.float64()), check, most)
    if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
        return read_ids(array.dictionary_decode(), check)
    return _text_ids(_coded(array), check)


def _coded(array: pa.Array) -> pa.DictionaryArray:
    if array.type == CODES:
        return array
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(
            array.indices.cast(pa.int32()), array.dictionary.cast(pa.string())
        )
    return array.cast(pa.string()).dictionary_encode()


def _float_ids(array: pa.Array, check: ColumnCheck, most: int = EXACT_FLOAT) -> pa.Array:
    """Returns ids that are floats as whole numbers; pandas turns integer ids into floats if one is missing.

    Above ``most`` the type cannot represent every integer, so that an id may have been rounded; such ids are
    refused.
    """
    known = pc.if_else(pc.is_nan(array), None, array)
    if most < EXACT_FLOAT:
        beyond = pc.fill_null(pc.greater(pc.abs(known), most), False)
        says = f"{{value}} as float32, which is exact only for whole numbers up to {most:,}"
        check.refuse(
            beyond, known.cast(pa.int64(), safe=False).cast(pa.string()), "rounded-id", says, AS_TEXT
        )
    whole = pc.and_(pc.equal(pc.floor(known), known), pc.less_equal(pc.abs(known), EXACT_FLOAT))
    fix = "Ids are whole numbers or text; write them as text to keep every digit."
    check.refuse(pc.fill_null(pc.invert(whole), False), array, "bad-id", "{value} is not an id", fix)
    count = len(known) - known.null_count
    finding = "ids are decimals in {rows} and were read as whole numbers"
    check.note("decimal-ids", finding, "", count, check.first(known.is_valid(), array))
    return pc.if_else(whole, known, None).cast(pa.int64())


def _text_ids(array: pa.DictionaryArray, check: ColumnCheck) -> pa.DictionaryArray:
    """Returns ids without surrounding blanks, '12.0' as '12', and null for words that mean a missing value.

    Only the dictionary is changed.
    """
    raw, findings = array.dictionary, check.findings
    if pc.are_plain_numbers(raw) or raw.equals(findings.clean_ids.get(check.column, NO_IDS)):
        return array
    is_ascii = pc.all(pc.string_is_ascii(raw)).as_py() is not False
    if not is_ascii:
        _note_unicode_forms(array, check)
    trimmed = pc.utf8_trim_whitespace(raw)
    missing = is_missing(trimmed)
    numeric = pc.match_substring_regex(trimmed, f"{WHOLE_DECIMAL}|{SCIENTIFIC}")
    padded = pc.and_(pc.not_equal(trimmed, raw), pc.invert(missing))
    if not (pc.any(padded).as_py() or pc.any(missing).as_py() or pc.any(numeric).as_py()):
        if is_ascii:
            findings.clean_ids[check.column] = raw
        return array
    rows = _rows_per_value(array)
    padded_rows, example = _weigh(padded, rows), check.first_coded(padded, array)
    check.note("blanks-trimmed", "blanks trimmed around the id in {rows}", "", padded_rows, example)
    trimmed = _without_exponents(trimmed, array, rows, check)
    decimal = pc.match_substring_regex(trimmed, WHOLE_DECIMAL)
    _note_decimals(decimal, missing, rows, check, check.first_coded(decimal, array))
    clean = pc.if_else(decimal, pc.replace_substring_regex(trimmed, r"\.0+$", ""), trimmed)
    again = pc.if_else(missing, None, clean).dictionary_encode()
    return pa.DictionaryArray.from_arrays(again.indices.take(array.indices), again.dictionary)


def _note_unicode_forms(array: pa.DictionaryArray, check: ColumnCheck) -> None:
    """Counts the rows of ids with invisible characters, and of those that other rows of the block write in
    another Unicode form, such as é as two signs.
    """
    entries = array.dictionary
    rows = _rows_per_value(array)
    hidden = pc.match_substring_regex(entries, UNSEEN)
    finding = "ids hold invisible characters in {rows}, which are read as part of them"
    fix = "Write the ids without them."
    check.note("invisible-characters", finding, fix, _weigh(hidden, rows), check.first_coded(hidden, array))
    whole = pc.utf8_normalize(entries, form="NFC")
    other = pc.and_(pc.not_equal(whole, entries), pc.is_in(whole, entries))
    count = _weigh(other, rows)
    finding = "ids that differ only by their Unicode form from others, in {rows}, are read as other ids"
    fix = "Write ids in one form (NFC), if these are the same."
    check.note("unicode-forms", finding, fix, count, check.first_coded(other, array))


def _without_exponents(
    entries: pa.Array, array: pa.DictionaryArray, rows: pa.Array, check: ColumnCheck
) -> pa.Array:
    """Returns '8.829770E+05' as '882977'; refuses '8.8E+05', which lacks digits and may stand for 881234."""
    scientific = pc.fill_null(pc.match_substring_regex(entries, SCIENTIFIC), False)
    if not pc.any(scientific).as_py():
        return entries
    whole = [
        _whole_number(text) if is_scientific else text
        for text, is_scientific in zip(entries.to_pylist(), scientific.to_pylist(), strict=True)
    ]
    exact = pa.array(whole, pa.string())
    rounded = pc.and_(scientific, pc.is_null(exact))
    says = "'{value}' is an id in scientific notation that lacks digits"
    in_rows_rounded = pc.fill_null(rounded.take(array.indices), False)
    check.refuse(in_rows_rounded, array, "rounded-id", says, AS_TEXT)
    read = _weigh(pc.and_not(scientific, rounded), rows)
    finding = "ids in scientific notation in {rows} were read as whole numbers: no digit is missing"
    example = check.first_coded(pc.and_not(scientific, rounded), array)
    check.note("scientific-ids", finding, "Export ids as text to be sure.", read, example)
    return pc.if_else(scientific, exact, entries)


def _whole_number(text: str) -> str | None:
    """Returns the number in plain digits; None if it has a fraction or lacks digits."""
    try:
        value = Decimal(text)
    except InvalidOperation:  # an exponent of twenty digits
        return None
    exponent = value.as_tuple().exponent
    shows_all = isinstance(exponent, int) and exponent <= 0
    return f"{value.to_integral_value():f}" if shows_all and value == value.to_integral_value() else None


def _rows_per_value(array: pa.DictionaryArray) -> pa.Array:
    used = array.indices.drop_null().to_numpy(zero_copy_only=False)
    return pa.array(np.bincount(used, minlength=len(array.dictionary)))


def _weigh(mask: pa.Array, rows: pa.Array) -> int:
    return int(pc.sum(pc.if_else(mask, rows, 0), min_count=0).as_py() or 0)


def _note_decimals(
    decimal: pa.Array, missing: pa.Array, rows: pa.Array, check: ColumnCheck, example: Callable[[], str]
) -> None:
    count = _weigh(decimal, rows)
    mixed = _weigh(pc.invert(pc.or_(decimal, missing)), rows) > 0
    if mixed:
        finding = "mixed id forms: '12.0' beside '12' in {rows}, read as '12'"
        check.note("mixed-id-forms", finding, "Write each id in one form.", count, example)
    else:
        check.note("decimal-ids", "ids are decimals in {rows}: '12.0' was read as '12'", "", count, example)


def note_missing(array: pa.Array, check: ColumnCheck) -> None:
    """Adds a notice with the number of rows that are dropped because they have no id, variant or metric."""
    word = WORDS.get(check.role.name, check.role.name) + (
        " id" if check.role.reading in ("id", "token") else ""
    )
    code = f"missing-{check.role.name.replace('_', '-')}"
    example = check.first(array.is_null(), array)
    check.note(code, f"no {word} in {{rows}}", "These rows are ignored.", array.null_count, example)
    check.reject(array.is_null(), array, f"no {word}")


def note_gaps(array: pa.Array, check: ColumnCheck) -> None:
    """Adds a notice with the number of rows without an optional id.

    An example is an exposed user without a session.
    """
    word = WORDS.get(check.role.name, check.role.name)
    example = check.first(array.is_null(), array)
    check.note(
        f"without-{word.replace('_', '-')}",
        f"no {word} in {{rows}}",
        check.role.gaps,
        array.null_count,
        example,
    )


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


def read_floats(array: pa.Array, check: ColumnCheck, noun: str, fix: str) -> pa.Array:
    """Returns numbers as float64, null if empty; refuses values that are not numbers.

    ``noun`` and ``fix`` are for the problem's text.
    """
    array = plain(array)
    kind = array.type
    if pa.types.is_float64(kind):
        return array
    if pa.types.is_boolean(kind):
        return array.cast(pa.int8()).cast(pa.float64())
    if pa.types.is_integer(kind) or pa.types.is_float32(kind):
        return _wider(array)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return array.cast(pa.float64())
    if is_text(kind):
        return _parsed(array, check, noun, fix)
    check.refuse(pc.is_valid(array), array.cast(pa.string()), "bad-number", f"'{{value}}' is not {noun}", fix)
    return pa.nulls(len(array), pa.float64())


def _wider(array: pa.Array) -> pa.Array:
    """Returns numbers as float64; missing numbers stay missing."""
    if array.null_count:
        return pc.cast(array, pa.float64(), safe=False)
    values = array.to_numpy().astype(np.float64)
    return pa.Array.from_buffers(pa.float64(), len(values), [None, pa.py_buffer(values)])


def _parsed(array: pa.Array, check: ColumnCheck, noun: str, fix: str) -> pa.Array:
    text = pc.utf8_trim_whitespace(array)
    if check.decimal == ",":
        text = _with_points(text, check)
    text = pc.if_else(is_missing(text), None, text)
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        good = pc.match_substring_regex(text, A_NUMBER)
    check.refuse(pc.fill_null(pc.invert(good), False), array, "bad-number", f"'{{value}}' is not {noun}", fix)
    return pc.if_else(good, text, None).cast(pa.float64())


def _with_points(text: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns text with points for decimal commas.

    Refuses numbers with thousands separators, which become null.
    """
    maybe = pc.match_substring_regex(text, MAYBE_THOUSANDS)
    known = check.findings.commas.get(check.column, Commas())
    commas = _learnt(known, text, maybe, check)
    check.findings.commas[check.column] = commas
    if not commas.misleading:
        return pc.replace_substring(text, ",", ".")
    fix = "Write numbers without a thousands separator: 1200 or 1200.5."
    finding = f"'{_shown(commas.value)}' has a thousands separator, as other values of the column show"
    count = _count(maybe) + (not known.misleading and known.value != "")
    check.findings.problem("thousands", check.column, commas.where, finding, fix, count)
    return pc.if_else(maybe, None, pc.replace_substring(text, ",", "."))


def _learnt(known: Commas, text: pa.Array, maybe: pa.Array, check: ColumnCheck) -> Commas:
    """Returns what the column's commas have shown after another block."""
    row = pc.index(maybe, True).as_py()
    if row >= 0 and not known.value:
        known = replace(known, value=text[row].as_py(), where=lambda: check.where(row))
    sure = pc.match_substring_regex(text, SURELY_THOUSANDS)
    other = pc.and_not(pc.match_substring(text, ","), maybe)
    return replace(
        known,
        thousands=known.thousands or pc.any(sure).as_py() is True,
        decimal=known.decimal or pc.any(other).as_py() is True,
    )


RANKS = "Ranks are whole numbers from 1, the best item first."
RANK_DIGITS = 15


def read_ranks(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns whole numbers of at least 1, without missing values; refuses others."""
    if not pa.types.is_integer(array.type):
        array = _whole_ranks(array, check)
    ranks = array if pa.types.is_signed_integer(array.type) else array.cast(pa.int64(), safe=False)
    if ranks.null_count:
        check.refuse(pc.is_null(ranks), ranks, "bad-rank", "'{value}' is not a rank", RANKS)
    known = ranks.drop_null() if ranks.null_count else ranks
    least = known.to_numpy().min(initial=1)
    if least < 1:
        low = pc.fill_null(pc.less(ranks, 1), False)
        fix = RANKS + (" If yours count from 0, add 1 to each." if least == 0 else "")
        check.refuse(low, ranks, "rank-below-one", "'{value}' is not a rank", fix)
    return ranks


def read_ranks_from_zero(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns ranks that start at 0 as ranks that start at 1."""
    if not pa.types.is_integer(array.type):
        array = _whole_ranks(array, check)
    return read_ranks(pc.add(array.cast(pa.int64(), safe=False), 1), check)


def _whole_ranks(array: pa.Array, check: ColumnCheck) -> pa.Array:
    values = plain(array)
    if (numbers := _plain_ranks(values)) is not None:
        return numbers
    floats = _rank_floats(values, check)
    whole = pc.and_(pc.equal(pc.floor(floats), floats), pc.less(pc.abs(floats), EXACT_FLOAT))
    known = pc.fill_null(whole, False)
    check.refuse(pc.invert(known), values, "bad-rank", "'{value}' is not a rank", RANKS)
    # refused rows get rank 1 so that the rest of the file can still be checked
    return pc.if_else(known, floats, 1.0).cast(pa.int64())


def _plain_ranks(values: pa.Array) -> pa.Array | None:
    """Returns ranks that are text and plain numbers, which need no regular expression; else None."""
    numbers = pc.plain_numbers(values) if is_text(values.type) else None
    return None if numbers is None or numbers.to_numpy().max() >= 10**RANK_DIGITS else numbers


def _rank_floats(values: pa.Array, check: ColumnCheck) -> pa.Array:
    if not is_text(values.type):
        return read_floats(values, check, "a rank", RANKS)
    text = _without_number_signs(pc.utf8_trim_whitespace(values), check)
    good = pc.match_substring_regex(text, rf"^[+-]?\d{{1,{RANK_DIGITS}}}(\.0*)?$")
    return pc.if_else(good, text, None).cast(pa.float64())


ORDINAL = r"^(#\s*)?(\d+)(st|[nr]d|th)?$"
"""A rank as it is written in words: #1, 1st."""


def _without_number_signs(text: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns '#1' and '1st' as '1', with a notice."""
    signed = pc.fill_null(pc.match_substring_regex(text, r"^#\s*\d|\d(st|[nr]d|th)$"), False)
    if not _count(signed):
        return text
    fix = f"If it is no rank, choose{CHOOSE}: rank=."
    check.note(
        "number-sign",
        "a rank such as '#1' or '1st' in {rows} was read as 1",
        fix,
        _count(signed),
        check.first(signed, text),
    )
    return pc.replace_substring_regex(text, ORDINAL, r"\2")


def _all_finite(values: pa.Array) -> bool:
    return values.null_count == 0 and bool(np.isfinite(values.to_numpy()).all())


SCORES = "Scores are numbers; higher is better."


def read_scores(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns float64 without NaN; an item without a usable score gets −∞ and is ranked last."""
    scores = read_floats(_without_percent(plain(array), check), check, "a score", SCORES)
    if _all_finite(scores):
        return scores
    missing = pc.is_nan(pc.fill_null(scores, float("nan")))
    fix = "These items are ranked last."
    example = check.first(missing, plain(array))
    check.note("score-nan", "NaN or no score in {rows}", fix, _count(missing), example)
    fix = "They rank first and last."
    endless = pc.is_inf(scores)
    example = check.first(endless, plain(array))
    check.note("score-inf", "inf or -inf as score in {rows}", fix, _count(endless), example)
    return pc.if_else(missing, float("-inf"), scores)


def _without_percent(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns '12 %' as '12', with a notice; refuses scores of which only some are in percent.

    12 % beside 0.035 would be the higher score.
    """
    if not is_text(array.type):
        return array
    earlier = check.findings.percent.get(check.column)
    if not earlier and not pc.any(pc.match_substring(array, "%")).as_py():  # as nearly always
        check.findings.percent[check.column] = False
        return array
    signed = pc.fill_null(pc.match_substring_regex(array, r"\d\s*%\s*$"), False)
    count = _count(signed)
    text = pc.utf8_trim_whitespace(array)
    others = pc.and_not(pc.is_valid(text), pc.or_(is_missing(text), signed))
    fix = "Write all scores in one form."
    if earlier is False or (_count(others) and not earlier):
        check.refuse(signed, array, "mixed-percent", "'{value}' is in percent, and other scores are not", fix)
    elif _count(others):
        check.refuse(others, array, "mixed-percent", "'{value}' is not in percent, as other scores are", fix)
    check.findings.percent.setdefault(check.column, True)
    fix = f"If it is no score, choose another column, or none{CHOOSE}: score=."
    finding = "scores in percent in {rows}: the number before the sign was read"
    check.note("percent", finding, fix, count, check.first(signed, text))
    return pc.replace_substring_regex(text, r"\s*%$", "")


def read_reversed_scores(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns scores with the sign changed, for scores of which lower is better.

    Items without a score are ranked last.
    """
    scores = read_scores(array, check)
    written = pc.equal(scores, float("-inf"))
    return pc.if_else(written, scores, pc.negate(scores))


NUMBERS = "Write a number there, or remove the row."


def read_numbers(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns float64; refuses rows in which a required number is missing or infinite."""
    values = read_floats(array, check, "a number", NUMBERS)
    if check.role.required:
        refuse_gaps(values, array, check, "a number")
    return values


def read_predictions(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns predicted ratings as float64, NaN if missing; a notice counts the missing ones."""
    values = read_floats(array, check, "a number", NUMBERS)
    check.refuse(pc.fill_null(pc.is_inf(values), False), plain(array), "bad-number", "'{value}'", NUMBERS)
    values = pc.fill_null(values, float("nan"))
    fix = "They are excluded from the errors but counted: a model that predicts little may look good."
    missing = pc.is_nan(values)
    example = check.first(missing, plain(array))
    check.note("no-prediction", "no prediction in {rows}", fix, _count(missing), example)
    return values


def refuse_gaps(values: pa.Array, written: pa.Array, check: ColumnCheck, noun: str) -> None:
    """Refuses rows in which a required number is missing, or in which a number is infinite.

    Rows that were already refused because they have no number are left out.
    """
    if _all_finite(values):
        return
    text = plain(written)
    text = pc.utf8_trim_whitespace(text) if is_text(text.type) else None
    empty = pc.is_null(values) if text is None else pc.or_kleene(pc.is_null(text), is_missing(text))
    endless = pc.fill_null(pc.is_inf(values), False)
    nothing = pc.or_(pc.fill_null(empty, True), pc.fill_null(pc.is_nan(values), False))
    bad = pc.or_(nothing if check.needed is None else pc.and_(nothing, check.needed), endless)
    check.refuse(bad, plain(written), "missing-number", f"'{{value}}' is not {noun}", NUMBERS)


def read_relevance(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns finite float64; yes and no become 1 and 0. A notice counts negative relevance."""
    array = plain(array)
    if is_text(array.type):
        array = _without_yes_no(array, check)
    fix = "Relevance is a number; above 0 is relevant. Or remove the column."
    values = read_floats(array, check, "a relevance", fix)
    refuse_gaps(values, array, check, "a relevance")
    negative = values.to_numpy(zero_copy_only=False) < 0
    if negative.any():  # pyarrow imports numpy.ma to make an array of it: 0.02 s
        rows = pa.array(negative)
        fix, example = "They count as not relevant.", check.first(rows, array)
        check.note("negative-relevance", "negative relevance in {rows}", fix, _count(rows), example)
    return values


def _without_yes_no(text: pa.Array, check: ColumnCheck) -> pa.Array:
    words = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    answer = pc.index_in(words, pa.array(list(YES_NO)))
    count = len(answer) - answer.null_count
    finding = "yes/no in {rows}: yes was read as relevant (1), no as not relevant (0)"
    check.note("yes-no", finding, "", count, check.first(answer.is_valid(), text))
    numbers = pa.array([f"{value:g}" for value in YES_NO.values()]).take(answer)
    return pc.coalesce(numbers, text) if count else text


# ── text and time ────────────────────────────────────────────────────────────────────────────


def read_text(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns text without surrounding blanks; a required text is null if empty."""
    array = plain(array)
    text = array if is_text(array.type) else array.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(text)
    return pc.if_else(is_missing(trimmed), None, trimmed) if check.role.required else trimmed


def read_times(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns numbers as float64 and ISO text as timestamps; null if empty."""
    array = with_dates_written_out(plain(array), check)
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        return array.cast(pa.timestamp("us", getattr(array.type, "tz", None)))
    if not is_text(array.type):
        return _in_one_unit(read_floats(array, check, "a time", TIMES), check)
    return _parsed_times(array, check)


COMPACT_DATE = (r"^(\d{4})(\d\d)(\d\d)(\.0+)?$", r"\1-\2-\3")
COMPACT_TIME = (
    r"^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.0+)?$", r"\1-\2-\3 \4:\5:\6"
)  # fmt: skip


def with_dates_written_out(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns 20260301 and 20260301093000 as 2026-03-01 and 2026-03-01 09:30:00; others unchanged.

    As seconds since 1970, the first would be a day of that year. Numbers are dates if most values of the
    first block are; other numbers are refused then.
    """
    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    if not is_number and not is_text(array.type):
        return array
    if not check.findings.compact_dates.get(check.column, True):
        return array
    text = pc.utf8_trim_whitespace(array if is_text(array.type) else _digits(array))
    is_date = pc.match_substring_regex(text, COMPACT)
    if check.column not in check.findings.compact_dates:
        others = pc.and_not(pc.fill_null(pc.invert(is_date), False), is_missing(text))
        n_dates, n_others = (pc.sum(mask, min_count=0).as_py() for mask in (is_date, others))
        check.findings.compact_dates[check.column] = n_dates > n_others
        if n_dates <= n_others:
            return array
    return pc.replace_substring_regex(pc.replace_substring_regex(text, *COMPACT_TIME), *COMPACT_DATE)


def _digits(numbers: pa.Array) -> pa.Array:
    """Returns numbers as text, whole ones without decimals and exponent; null for NaN."""
    if pa.types.is_integer(numbers.type):
        return numbers.cast(pa.string())
    is_whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), EXACT_FLOAT))
    whole = pc.if_else(is_whole, numbers, None).cast(pa.int64()).cast(pa.string())
    return pc.coalesce(whole, pc.if_else(pc.is_nan(numbers), None, numbers).cast(pa.string()))


TIMES = "Write seconds since 1970, or 2024-12-31 23:59:59."
TEXT_TIMES = f"{TIMES} To read the table without them, choose no column: timestamp=."
DATE = re.compile(r"(\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4})([ T]+\d{1,2}:\d\d.*)?")
"""A date, with or without a time: 2024-12-31 23:59, 31.12.2024 23:59 or 12/31/2024."""
DAY_FIRST = (
    (r"^(\d)\.", r"0\1."),
    (r"^(\d\d)\.(\d)\.", r"\1.0\2."),
    (r"^(\d\d)\.(\d\d)\.(\d{4})", r"\3-\2-\1"),
)
"""Replacements that make 31.12.2024 to 2024-12-31; with slashes, day and month could be confused."""
DATE_APART = (r"^([\d/.-]+), ?(\d)", r"\1 \2")
"""The replacement for a comma between date and time, as JavaScript writes it: 12/31/2024, 9:05:00 PM."""
TWO_DIGITS = (
    (r"^(\d{4})/(\d{1,2})/(\d{1,2})", r"\1-\2-\3"),
    (r"^(\d{4}-)(\d-)", r"\10\2"),
    (r"^(\d{4}-\d\d-)(\d)(\D|$)", r"\10\2\3"),
    (r"^(\S+[ T])(\d:)", r"\10\2"),
    (r"(:\d\d),(\d)", r"\1.\2"),
    (r"^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)", r"\1-\2-\3T\4:\5:\6"),
)
"""Replacements that make 2024/1/2 9:05:00,5 and 20240102T090500,5 to 2024-01-02 09:05:00.5."""
NAMED_MONTH = (
    r"^\[?(?:[A-Za-z]{3}, )?(?P<day>\d{1,2})[ /-](?P<month>[A-Z][a-z]{2})[ /-](?P<year>\d{4})"
    r"(?:[ :](?P<time>\d\d:\d\d(?::\d\d)?))?(?: ?(?P<zone>[+-]\d{4}|GMT|UTC|Z))?\]?$"
)
"""A time as e-mail and web servers write it: Sun, 01 Mar 2026 09:00:00 +0000, 01/Mar/2026:09:00:00 +0000."""
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
HALF_DAY = (
    r"^(?P<date>\S+[ T])(?P<hour>0[1-9]|1[0-2])(?P<rest>(?::\d\d){1,2}(?:\.\d+)?)"
    r"\s?(?P<half>[AaPp])\.?[Mm]\.?(?P<zone>.*)$"
)
"""A time of twelve hours: 2024-12-31 09:05:00 PM."""


def _parsed_times(array: pa.Array, check: ColumnCheck) -> pa.Array:
    text = pc.utf8_trim_whitespace(array)
    text = pc.if_else(is_missing(text), None, text)
    spellings: tuple[Callable[[], pa.Array], ...] = (lambda: text, lambda: year_first(text, check))
    for spelled in spellings:
        form = spelled()
        for kind in (pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                times = form.cast(kind)
            except pa.ArrowInvalid:
                continue
            return _in_one_unit(times, check) if kind == pa.float64() else times
    return _refused_times(text, check)


UNITS = (
    (1e11, 1e6, "seconds"),
    (1e14, 1e3, "milliseconds"),
    (1e17, 1.0, "microseconds"),
    (np.inf, 1e-3, "nanoseconds"),
)
"""(limit, microseconds, name) of the units of numbers since 1970: below 10¹¹ they are seconds."""
FIRST_TIME = 100_000_000
"""A smaller number, such as 0 or -1 for no time, is of its column's unit: as seconds it is before 1973."""


def units_of(values: Floats, check: ColumnCheck) -> tuple[Ints, int]:
    """Returns the place in ``UNITS`` of each value's unit [rows], and that of the column's first values.

    A notice counts the values in other units.
    """
    sizes = np.abs(np.where(np.isfinite(values), values, 0.0))
    telling = sizes >= FIRST_TIME
    units = np.searchsorted([below for below, _, _ in UNITS], sizes, "right")
    usual = check.findings.units.get(check.column, 0)
    if telling.any():
        usual = check.findings.units.setdefault(check.column, int(np.bincount(units[telling]).argmax()))
    other = telling & (units != usual)
    if other.any():
        row = int(np.argmax(other))
        finding = (
            f"times in {UNITS[units[row]][2]} beside times in {UNITS[usual][2]} in {{rows}}: each was read so"
        )
        fix = "Write all in one unit if this is wrong."
        shown = f"'{values[row]:.15g}'"
        check.note(
            "mixed-time-units", finding, fix, int(other.sum()), lambda: f"{shown} ({check.where(row)})"
        )
    return np.where(other, units, usual), usual


def _in_one_unit(times: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns numbers in the unit of the column's first values."""
    values = pc.fill_null(times, np.nan).to_numpy(zero_copy_only=False)
    units, usual = units_of(values, check)
    if (units == usual).all():
        return times
    scale = np.array([by for _, by, _ in UNITS])
    return pa.array(values * scale[units] / scale[usual], pa.float64(), from_pandas=True)


def year_first(text: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns text with times such as 31.12.2024 9:05 PM written as 2024-12-31 21:05.

    Dates with slashes are changed if a number above 12 shows which of the first two is the day.
    """
    text = _with_month_numbers(pc.replace_substring_regex(text, *DATE_APART))
    order = _slash_order(text, check)
    if order is not None:
        text = pc.replace_substring_regex(text, SLASHED, r"\1.\2.\3" if order == "day" else r"\2.\1.\3")
    for pattern, replacement in (*DAY_FIRST, *TWO_DIGITS):
        text = pc.replace_substring_regex(text, pattern, replacement)
    return _of_whole_days(text)


def _with_month_numbers(text: pa.Array) -> pa.Array:
    """Returns text with times such as 01/Mar/2026:09:00:00 +0000 written as 2026-03-01T09:00:00+0000."""
    parts = pc.extract_regex(text, NAMED_MONTH)
    if parts.null_count == len(parts):
        return text
    day, name, year, time, zone = (
        pc.struct_field(parts, part) for part in ("day", "month", "year", "time", "zone")
    )
    number = pc.add(pc.index_in(name, pa.array(MONTHS)), 1).cast(pa.string())
    date = pc.binary_join_element_wise(year, pc.utf8_lpad(number, 2, "0"), pc.utf8_lpad(day, 2, "0"), "-")
    time = pc.if_else(pc.equal(time, ""), "00:00:00", time)
    zone = pc.if_else(pc.is_in(zone, pa.array(["GMT", "UTC"])), "Z", zone)
    return pc.coalesce(
        pc.binary_join_element_wise(date, pc.binary_join_element_wise(time, zone, ""), "T"), text
    )


def _of_whole_days(text: pa.Array) -> pa.Array:
    """Returns text with times of twelve hours written with those of a whole day: 09:05 PM as 21:05."""
    parts = pc.extract_regex(text, HALF_DAY)
    if parts.null_count == len(parts):
        return text
    date, hour, rest, half, zone = (
        pc.struct_field(parts, name) for name in ("date", "hour", "rest", "half", "zone")
    )
    after_noon = pc.and_(pc.equal(pc.utf8_lower(half), "p"), pc.not_equal(hour, "12"))
    before_one = pc.and_(pc.equal(pc.utf8_lower(half), "a"), pc.equal(hour, "12"))
    number = hour.cast(pa.int64())
    number = pc.if_else(after_noon, pc.add(number, 12), pc.if_else(before_one, 0, number))
    hour = pc.utf8_lpad(number.cast(pa.string()), 2, "0")
    whole = pc.binary_join_element_wise(date, hour, rest, zone, "")
    return pc.coalesce(whole, text)


SLASHED = r"^(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})"


def _slash_order(text: pa.Array, check: ColumnCheck) -> DateOrder | None:
    """Returns what comes first in dates with slashes, with a notice; None without them, or if unclear.

    What the user stated needs no notice.
    """
    slashed = pc.fill_null(pc.match_substring_regex(text, SLASHED), False)
    count = _count(slashed)
    if not count or check.date_order is not None:
        return check.date_order
    order = check.findings.dates.get(check.column) or shown_order(text)
    if order is not None:
        check.findings.dates[check.column] = order
        finding = (
            f"dates with slashes in {{rows}} were read with the {order} first, as a number above 12 shows"
        )
        other = next(mark for mark, stated in DATE_ORDERS.items() if stated != order)
        fix = f"If this is wrong, choose{CHOOSE}: {check.role.name}={check.column}{other}."
        check.note("slash-dates", finding, fix, count, check.first(slashed, text))
    return order


def shown_order(text: pa.Array) -> DateOrder | None:
    """Returns what a number above 12 shows to come first in dates with slashes.

    None if no date has such a number, or if dates contradict each other.
    """
    if not is_text(text.type):
        return None
    dates = pc.extract_regex(pc.utf8_trim_whitespace(text), SLASHED).drop_null()
    first, second = (pc.struct_field(dates, name).cast(pa.int64()) for name in ("first", "second"))
    is_day, is_month = (bool(pc.any(pc.greater(part, 12)).as_py()) for part in (first, second))
    return None if is_day == is_month else "day" if is_day else "month"


def how_to_state_order(text: pa.Array, check: ColumnCheck) -> str:
    """Returns how to say what comes first in dates with slashes; an empty text without such dates."""
    if not pc.any(pc.match_substring_regex(text, SLASHED)).as_py():
        return ""
    labels = [f"{check.role.name}={check.column}{mark}" for mark in DATE_ORDERS]
    return f" For dates such as 1/2/2024, choose{CHOOSE}: {' or '.join(labels)}."


def _refused_times(text: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns optional times that cannot be read as text, with a notice; refuses required ones."""
    if not check.role.required:
        finding = "times could not be read in {rows} and are kept as text"
        fix = TEXT_TIMES + how_to_state_order(text, check)
        check.note("text-times", finding, fix, len(text), check.first(text.is_valid(), text))
        return text
    good = pc.match_substring_regex(
        text, r"^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$"
    )
    bad = pc.fill_null(pc.invert(good), False)
    bad = bad if pc.any(bad).as_py() else pc.is_valid(text)
    fix = TIMES + how_to_state_order(text, check)
    check.refuse(bad, text, "bad-time", "'{value}' is not a time", fix)
    return pa.nulls(len(text), pa.timestamp("us"))


def read_extra(array: pa.Array, _seen: ColumnCheck) -> pa.Array:
    """Returns a column of attributes: numbers and text unchanged, lists joined by '|', all else as text."""
    array = plain(array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or is_text(array.type):
        return array
    if pa.types.is_nested(array.type):
        return pa.array([_joined(value) for value in array.to_pylist()], pa.string())
    return array.cast(pa.string())


def _joined(value: Any) -> str | None:
    return "|".join(map(str, value)) if isinstance(value, list) else None if value is None else str(value)


READERS: Mapping[Reading, Callable[[pa.Array, ColumnCheck], pa.Array]] = {
    "id": read_ids,
    "rank": read_ranks,
    "score": read_scores,
    "rank from 0": read_ranks_from_zero,
    "reversed score": read_reversed_scores,
    "number": read_numbers,
    "prediction": read_predictions,
    "relevance": read_relevance,
    "time": read_times,
    "text": read_text,
    "run": read_text,
    "extra": read_extra,
}
