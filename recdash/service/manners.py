"""Small rules that experiments, runs and online tests share: names, and progress."""

from __future__ import annotations

from collections.abc import Callable

from recdash.errors import InputError, Problem

Progress = Callable[[float, str], None]


def quiet(fraction: float, text: str) -> None:
    """Progress that nobody watches."""


def clean_name(name: str) -> str:
    if not name.strip():
        raise InputError(Problem("no-name", "name", "nothing", "Give it a name."))
    return name.strip()


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
