"""Small rules that experiments, runs and online tests share: names, and progress."""

from __future__ import annotations

import re
from collections.abc import Callable

from recdash.errors import InputError, Problem

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What moves a cursor, rings a bell, ends a line or turns the direction of writing."""
Progress = Callable[[float, str], None]


def quiet(fraction: float, text: str) -> None:
    """Progress that nobody watches."""


def clean_name(name: str) -> str:
    if not name.strip():
        raise InputError(Problem("no-name", "name", "nothing", "Give it a name."))
    return name.strip()


def one_line(what: str, text: str, most: int) -> str:
    """The text on one line, without characters that only control a terminal. Raises as ``short_text``."""
    return " ".join(CONTROL.sub(" ", short_text(what, text, most)).split())


def short_text(what: str, text: str, most: int) -> str:
    """The text without blanks around it. Raises InputError for one of more than ``most`` characters."""
    if len(text) > most:
        fix = f"Use at most {most:,} characters."
        raise InputError(Problem("text-too-long", what, f"{len(text):,} characters", fix))
    return text.strip()


def check_typed(typed: str, name: str) -> None:
    if typed != name:
        raise InputError(
            Problem("name-not-typed", "name", f"'{typed}'", f"Type '{name}' exactly to delete it for good.")
        )
