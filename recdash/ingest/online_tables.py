"""Checks the values of online logs: event names, positions, propensities and labels of 0 or 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import MISSING
from recdash.errors import Problem, UploadError
from recdash.ingest.attributes import MOST, TOO_LARGE
from recdash.ingest.columns import Reading, listed, plain
from recdash.ingest.timestamps import read_moments
from recdash.ingest.values import (
    EXACT_FLOAT,
    NUMBERS,
    RANKS,
    WHOLE_DECIMAL,
    YES_NO,
    ColumnCheck,
    is_missing,
    is_text,
    read_floats,
    read_ids,
    read_text,
    refuse_gaps,
)
from recdash.ingest.values import plain as decoded

LONGEST_MISSING = max(map(len, MISSING))
LONGEST_NAME, CONTROL = 200, r"[\x00-\x1f\x7f\x{80}-\x{9f}\x{2028}-\x{202e}\x{2066}-\x{2069}]"
CODES = pa.dictionary(pa.int32(), pa.string())
SYNONYMS: Mapping[str, str] = {
    "impression": "impression impressions imp imps view views viewed shown show seen displayed rendered",
    "click": "click clicks clicked tap tapped item_click rec_click recommendation_click",
    "watch": "watch watched watching play plays played playback stream streamed",
    "heartbeat": "heartbeat heartbeats hb ping pings watch_progress play_progress playback_progress",
}
EVENTS = {plain(word): name for name, words in SYNONYMS.items() for word in words.split()}

# ── columns ──────────────────────────────────────────────────────────────────────────────────


def read_tokens(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns ids that differ in nearly every row, as int64 or text; null if empty."""
    array = decoded(array)
    if not is_text(array.type):
        return read_ids(array, check)
    text = pc.utf8_trim_whitespace(array)
    shortest = pc.min(pc.binary_length(text)).as_py()
    if shortest is not None and shortest <= LONGEST_MISSING:
        text = pc.if_else(is_missing(text), None, text)
    if not pc.any(pc.ends_with(text, ".0")).as_py():
        return text
    whole = pc.match_substring_regex(text, WHOLE_DECIMAL)
    return pc.if_else(whole, pc.replace_substring_regex(text, r"\.0+$", ""), text)


def read_labels(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns dictionary-encoded text without surrounding blanks; null if empty."""
    if not pa.types.is_dictionary(array.type):
        array = array.cast(pa.string()).dictionary_encode()
    words = pc.utf8_trim_whitespace(array.dictionary.cast(pa.string()))
    return _recoded(array, pc.if_else(is_missing(words), None, words))


def _recoded(array: pa.DictionaryArray, words: pa.Array) -> pa.DictionaryArray:
    """Returns the same rows with other words for the dictionary's entries; equal entries are merged."""
    again = words.dictionary_encode()
    if again.type != CODES:
        again = again.cast(CODES)
    return pa.DictionaryArray.from_arrays(again.indices.take(array.indices), again.dictionary)


def read_names(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns text without surrounding blanks, which is shown as a name; null if empty. Refuses bad names."""
    names = read_text(array, check)
    _refuse_names(names, check)
    return names


def read_label_names(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns the same as ``read_names``, dictionary-encoded."""
    names = read_labels(array, check)
    if pc.any(_bad_names(names.dictionary)).as_py():
        _refuse_names(names.dictionary_decode(), check)
    return names


def _bad_names(names: pa.Array) -> pa.Array:
    """Returns [n] True for names that have control characters or are too long."""
    bad = pc.or_(pc.match_substring_regex(names, CONTROL), pc.greater(pc.utf8_length(names), LONGEST_NAME))
    return pc.fill_null(bad, False)


def _refuse_names(names: pa.Array, check: ColumnCheck) -> None:
    bad = _bad_names(names)
    if pc.any(bad).as_py():
        fix = f"Names have no line breaks or other control characters, and at most {LONGEST_NAME} letters."
        printable = pc.replace_substring_regex(names, CONTROL, "�")
        check.refuse(bad, printable, "bad-name", "'{value}' is not a valid name", fix)


def read_events(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns event names: synonyms as one of recdash's four names, all others in lower case."""
    coded = read_labels(array, check)
    written = coded.dictionary.to_pylist()
    for entry, word in enumerate(written):
        name = EVENTS.get(plain(word), "")
        if name and word.lower() != name:
            place, count = f"{check.place}, '{word}'", pc.sum(pc.equal(coded.indices, entry)).as_py() or 0
            check.findings.notice("event-synonym", place, f"read as {name} in {{rows}}", "", count)
    return _recoded(coded, pa.array([EVENTS.get(plain(word), word.lower()) for word in written], pa.string()))


def read_amounts(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns float64 from 0 to ``MOST``; null if empty and optional. Refuses other numbers."""
    values = read_floats(array, check, "a number", NUMBERS)
    written = decoded(array)
    if check.role.required:
        refuse_gaps(values, written, check, "a number")
    values = pc.if_else(pc.is_nan(values), None, values)
    endless = pc.fill_null(pc.is_inf(values), False)
    if not check.role.required:
        check.refuse(endless, written, "bad-number", "'{value}'", NUMBERS)
    low = pc.and_not(pc.fill_null(pc.less(values, 0), False), endless)
    check.refuse(low, written, "negative", "'{value}' is below 0", "Counts and times start at 0.")
    high = pc.and_not(pc.fill_null(pc.greater(values, MOST), False), endless)
    check.refuse(high, written, "too-large", "'{value}' is more than 10¹²", TOO_LARGE)
    return values


def read_places(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns positions in a list, from 1, as int64; null if empty. Refuses other numbers."""
    values = read_floats(array, check, "a place", RANKS)
    values = pc.if_else(pc.is_nan(values), None, values)
    whole = pc.and_(pc.equal(pc.floor(values), values), pc.less(pc.abs(values), EXACT_FLOAT))
    good = pc.and_(whole, pc.greater_equal(values, 1))
    fix = f"{RANKS} If yours count from 0, add 1 to each."
    check.refuse(pc.fill_null(pc.invert(good), False), decoded(array), "bad-place", "'{value}'", fix)
    return pc.if_else(pc.fill_null(good, False), values, None).cast(pa.int64())


def read_propensities(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns float64 above 0 and at most 1, the probability of showing the item. Refuses other numbers."""
    fix = "A propensity is above 0 and at most 1: the probability with which the item was shown."
    values = read_floats(array, check, "a propensity", fix)
    values = pc.if_else(pc.is_nan(values), None, values)
    bad = pc.invert(pc.and_(pc.greater(values, 0), pc.less_equal(values, 1)))
    bad = pc.fill_null(bad, check.role.required)
    check.refuse(bad, decoded(array), "bad-propensity", "'{value}' is not a propensity", fix)
    return values


def read_answers(array: pa.Array, check: ColumnCheck) -> pa.Array:
    """Returns float64, 0 or 1; yes and no are read as 1 and 0. Refuses other values."""
    written = decoded(array)
    if is_text(written.type):
        words = pc.index_in(pc.utf8_lower(pc.utf8_trim_whitespace(written)), pa.array(list(YES_NO)))
        numbers = pa.array([f"{value:g}" for value in YES_NO.values()]).take(words)
        array = pc.coalesce(numbers, written)
    fix = "Write 1 where it was clicked and 0 where it was not."
    values = read_floats(array, check, "0 or 1", fix)
    refuse_gaps(values, written, check, "0 or 1")
    other = pc.is_in(values, pa.array([0.0, 1.0, None]))
    check.refuse(pc.invert(other), written, "not-zero-or-one", "'{value}' is neither 0 nor 1", fix)
    return values


READERS: Mapping[Reading, Callable[[pa.Array, ColumnCheck], pa.Array]] = {
    "moment": read_moments,
    "token": read_tokens,
    "label": read_labels,
    "name": read_names,
    "label name": read_label_names,
    "event": read_events,
    "amount": read_amounts,
    "place": read_places,
    "propensity": read_propensities,
    "answer": read_answers,
}


# ── whole tables ─────────────────────────────────────────────────────────────────────────────


def of_one_experiment(table: pa.Table, experiment: str | None) -> pa.Table:
    """Returns the exposures of the named experiment; if ``experiment`` is None, those of the only one.

    Raises ``UploadError`` if the table has several experiments and ``experiment`` is None, or if it lacks
    ``experiment``.
    """
    if "experiment_id" not in table.column_names:
        if experiment is None:
            return table
        finding = f"there is no column experiment_id to look for '{experiment}' in"
        fix = "Leave it out, or name the column experiment_id."
        raise UploadError(Problem("missing-column", "columns", finding, fix))
    known = [name for name in table["experiment_id"].unique().to_pylist() if name is not None]
    if experiment in known:
        return table.filter(pc.equal(table["experiment_id"], experiment))
    if experiment is None and len(known) < 2:
        return table
    finding, code = f"{len(known)} experiments: {listed(sorted(known))}", "several-experiments"
    if experiment is not None:
        finding = f"no experiment is called '{experiment}'; found: {listed(sorted(known))}"
        code = "unknown-experiment"
    fix = "Upload the exposures of one of them."
    raise UploadError(Problem(code, "column 'experiment_id'", finding, fix, len(known)))
