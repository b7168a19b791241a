"""Texts and table rows of an interleaving test, which pages and reports share.

``a`` and ``b`` are what the two rankings are called there, the control first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from recdash.formatting import numbers, tables
from recdash.formatting.tables import Cell, Column, Interval, Number, Word, number_columns, text_columns
from recdash.formatting.wording import long_day
from recdash.online.interleaving.credits import Method
from recdash.online.interleaving.grouped_preferences import by_day, by_segment
from recdash.online.interleaving.power import PREFERENCES
from recdash.online.interleaving.results import MEASURES, SIGNIFICANCE_LEVEL, InterleavingResults

METHODS: Mapping[Method, str] = {
    "team draft": "team draft: clicks on the items of each ranking",
    "balanced": "balanced: clicks down to the depth at which all clicked items are seen",
    "credits": "credits given in the table",
}
"""Method → how credits were assigned."""
MOST_DAYS = 31
"""The most days that a table shows."""
UNKNOWN = "(unknown)"
"""The segment of requests without a value."""


def headline(results: InterleavingResults, a: str, b: str) -> str:
    """Returns the finding as a headline."""
    if results.reason:
        return f"Interleaved, {b} against {a}: no verdict, {results.reason}"
    if results.finding == "not settled":
        return f"Interleaved, users show no significant preference between {a} and {b}"
    better, worse = (b, a) if results.finding == "better" else (a, b)
    return f"Interleaved, users prefer {better} to {worse}"


def size(results: InterleavingResults) -> str:
    """Returns the number of requests and users, and how credits were assigned."""
    requests = f"{results.n_requests:,} requests of {numbers.users(results.n_users)}"
    return f"{requests} · {METHODS[results.method]}"


def measure_columns(b: str) -> tuple[Column, ...]:
    """Returns the columns of ``measure_rows``."""
    return (
        *text_columns("Measure"),
        *number_columns(f"Preference for {b}", "95 % CI", "p"),
        *text_columns("Finding"),
        *number_columns("Users"),
    )


def measure_rows(results: InterleavingResults) -> list[list[Cell]]:
    """Returns a row per measure: the preference, its interval, p, the finding and the users."""
    rows: list[list[Cell]] = []
    for place, row in enumerate(results.rows):
        share, low, high = _in_percent((row.share, row.low, row.high), row.note)
        word = tables.muted("for information")
        if place == 0:
            word = finding_word(results, row.p, row.share)
        p = Number(row.p, style="p", why=row.note)
        rows.append([MEASURES[row.measure], share, Interval(low, high), p, word, Number(row.n_users)])
    return rows


def finding_word(results: InterleavingResults, p: float | None, share: float | None) -> Word:
    """Returns the finding by p and the preference of all requests, or of a part of them."""
    finding = results.finding_of(p, share)
    return Word("!", "not judged", "worse") if finding == "not judged" else tables.finding(finding)


def segment_columns(attribute: str, b: str) -> tuple[Column, ...]:
    """Returns the columns of ``segment_rows``."""
    return (
        *text_columns(attribute),
        *number_columns(f"Preference for {b}", "95 % CI", "p"),
        *text_columns("Finding"),
        *number_columns("Users", "Requests"),
    )


def segment_rows(results: InterleavingResults, attribute: str) -> list[list[Cell]]:
    """Returns a row per segment of an attribute: the preference, interval and p, both corrected over the
    segments, the finding, and the users and requests with credit.
    """
    rows: list[list[Cell]] = []
    for row in by_segment(results.requests, attribute):
        share, low, high = _in_percent((row.preference, row.corrected_low, row.corrected_high), row.note)
        word = finding_word(results, row.p_bh, row.preference)
        p = Number(row.p_bh, style="p", why=row.note)
        name = UNKNOWN if row.segment is None else row.segment
        of_users = Number(row.n_users), Number(row.n_requests)
        rows.append([name, share, Interval(low, high), p, word, *of_users])
    return rows


def day_columns(b: str) -> tuple[Column, ...]:
    """Returns the columns of ``day_rows``."""
    return (
        *text_columns("Day (UTC)"),
        *number_columns(f"Preference for {b}", "95 % CI", "Users", "Requests"),
    )


def day_rows(results: InterleavingResults) -> list[list[Cell]]:
    """Returns a row per day: the preference on this day with its interval, and the users and requests with
    credit.
    """
    rows: list[list[Cell]] = []
    for row in by_day(results.requests, "daily"):
        share, low, high = _in_percent((row.preference, row.low, row.high), row.note)
        day = long_day(datetime.fromisoformat(row.date))
        rows.append([day, share, Interval(low, high), Number(row.n_users), Number(row.n_requests)])
    return rows


def segment_note(attribute: str) -> str:
    """Returns how the table of an attribute's segments is to be read."""
    return f"Intervals and p are corrected over the segments of {attribute} (Benjamini–Hochberg)."


def day_note(n_days: int) -> str:
    """Returns how a table of days is to be read."""
    by_chance = n_days * SIGNIFICANCE_LEVEL
    note = "Each day alone, not corrected over the days."
    if by_chance < 1:
        return note
    return f"{note} Of {n_days} days, about {by_chance:.0f} would exclude 50 % by chance."


def latest_days(results: InterleavingResults) -> tuple[list[list[Cell]], str]:
    """Returns the rows of the last ``MOST_DAYS`` days, and how their table is to be read."""
    rows = day_rows(results)
    note = day_note(len(rows))
    if len(rows) > MOST_DAYS:
        note = f"The last {MOST_DAYS} of {len(rows)} days. {note}"
    return rows[-MOST_DAYS:], note


def _in_percent(values: Sequence[float | None], why: str) -> list[Number]:
    digits = numbers.places(None if value is None else 100 * value for value in values)
    return [Number(value, digits, unit=tables.PERCENT, scale=100, why=why) for value in values]


def reading(results: InterleavingResults, b: str) -> list[str]:
    """Returns notes on how to read the preference, and what the test can find."""
    meaning = (
        f"Preference: the share of credited requests that {b} won; ties count half, and 50 % is no "
        "preference. p and interval are by user, from one sign-flip test."
    )
    lines = [meaning]
    if results.detectable is not None:
        needed = [(share, results.users_for(share)) for share in PREFERENCES]
        texts = [f"{100 * share:.0f} % needs {numbers.users(count)}" for share, count in needed if count]
        smallest = numbers.fixed(100 * results.detectable, 1)
        lines.append(
            f"Power 80 %: this test finds a preference of {smallest} %; {'; '.join(texts)} with a click."
        )
    return lines
