"""Texts and table rows of an interleaving test, which pages and reports share.

``a`` and ``b`` are what the two rankings are called there, the control first.
"""

from __future__ import annotations

from collections.abc import Mapping

from recdash.formatting import numbers, tables
from recdash.formatting.tables import Cell, Column, Interval, Number, Word, number_columns, text_columns
from recdash.online.interleaving.credits import Method
from recdash.online.interleaving.power import PREFERENCES
from recdash.online.interleaving.results import MEASURES, InterleavingResults

METHODS: Mapping[Method, str] = {
    "team draft": "team draft: clicks on the items of each ranking",
    "balanced": "balanced: clicks down to the depth at which all clicked items are seen",
    "credits": "credits given in the table",
}
"""Method → how credits were assigned."""


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
        values = [row.share, row.low, row.high]
        digits = numbers.places(None if value is None else 100 * value for value in values)
        share, low, high = (
            Number(value, digits, unit=tables.PERCENT, scale=100, why=row.note) for value in values
        )
        word = finding_word(results) if place == 0 else tables.muted("for information")
        p = Number(row.p, style="p", why=row.note)
        rows.append([MEASURES[row.measure], share, Interval(low, high), p, word, Number(row.n_users)])
    return rows


def finding_word(results: InterleavingResults) -> Word:
    if results.finding == "not judged":
        return Word("!", "not judged", "worse")
    return tables.finding(results.finding)


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
