"""Checks of names and texts that experiments, runs and online tests share, and the type of progress
callbacks.
"""

from __future__ import annotations

from collections.abc import Callable

from recdash.domain.arguments import check_number, check_type
from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import check_name, is_visible, on_a_line

Progress = Callable[[float, str], None]


def quiet(fraction: float, text: str) -> None:
    """Ignores a report of progress."""


LONGEST_NAME = 255
"""The maximum number of characters in a name, as in file systems.

Longer names break pages, links and files.
"""


def clean_name(name: str) -> str:
    """Returns the stripped name.

    Raises InputError if it is empty, longer than ``LONGEST_NAME``, or has control or invisible characters.
    """
    return short_text("name", check_name("name", name), LONGEST_NAME)


def one_line(field: str, text: str, most: int) -> str:
    """Returns the text on one line, without control characters; empty if no character is visible.

    Raises InputError for a text of more than ``most`` characters. ``field`` names it in the error.
    """
    line = " ".join(on_a_line(short_text(field, text, most)).split())
    return line if is_visible(line) else ""


def long_text(field: str, text: str, most: int) -> str:
    """Returns the text without control characters but with its line ends; empty if no character is visible.

    Raises InputError for a text of more than ``most`` characters. ``field`` names it in the error.
    """
    lines = short_text(field, text, most).splitlines()
    joined = "\n".join(on_a_line(line).rstrip() for line in lines)
    return joined.strip() if is_visible(joined) else ""


def check_days(days: float, most: int) -> None:
    """Raises InputError for a duration that is not above 0, or longer than ``most`` days."""
    fix = f"Enter more than 0 and at most {most} days."
    given: object = days
    if not isinstance(given, float):  # of which nan and inf are durations that are out of range
        check_number("days", given, fix)
    if not 0 < days <= most:
        raise InputError(Problem("bad-days", "days", f"'{days:g}'", fix))


def short_text(field: str, text: str, most: int) -> str:
    """Returns the stripped text. Raises InputError if it has more than ``most`` characters."""
    check_type(field, text, str, "Give a text.")
    if len(text) > most:
        fix = f"Use at most {most:,} characters."
        raise InputError(Problem("text-too-long", field, f"{len(text):,} characters", fix))
    return text.strip()


def check_typed(typed: str, name: str) -> None:
    if typed != name:
        raise InputError(
            Problem("name-not-typed", "name", f"'{typed}'", f"Type '{name}' exactly to delete it for good.")
        )
