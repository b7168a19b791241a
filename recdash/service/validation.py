"""Validation rules shared by experiments, runs and online tests: names and texts; and progress."""

from __future__ import annotations

from collections.abc import Callable

from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import check_name, is_visible, on_a_line

Progress = Callable[[float, str], None]


def quiet(fraction: float, text: str) -> None:
    """Ignores progress."""


LONGEST_NAME = 255
"""Most characters of a name, as in file systems. Longer ones fill pages and break links and files."""


def clean_name(name: str) -> str:
    """Returns the stripped name. Raises InputError if it is empty, longer than ``LONGEST_NAME`` or has
    control or invisible characters.
    """
    return short_text("name", check_name("name", name), LONGEST_NAME)


def one_line(field: str, text: str, most: int) -> str:
    """Returns the text on one line, without control characters; empty if nothing is visible. Raises as
    ``short_text``.
    """
    line = " ".join(on_a_line(short_text(field, text, most)).split())
    return line if is_visible(line) else ""


def long_text(field: str, text: str, most: int) -> str:
    """Returns the text with its line ends, otherwise as ``one_line``; empty if nothing is visible."""
    lines = short_text(field, text, most).splitlines()
    joined = "\n".join(on_a_line(line).rstrip() for line in lines)
    return joined.strip() if is_visible(joined) else ""


def short_text(field: str, text: str, most: int) -> str:
    """Returns the stripped text. Raises InputError for one of more than ``most`` characters."""
    if len(text) > most:
        fix = f"Use at most {most:,} characters."
        raise InputError(Problem("text-too-long", field, f"{len(text):,} characters", fix))
    return text.strip()


def check_typed(typed: str, name: str) -> None:
    if typed != name:
        raise InputError(
            Problem("name-not-typed", "name", f"'{typed}'", f"Type '{name}' exactly to delete it for good.")
        )
