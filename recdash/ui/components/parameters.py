"""Converts the parameters of a run to and from text, with one ``name = value`` per line."""

from __future__ import annotations

from collections.abc import Mapping

from recdash.errors import InputError, Problem


def params_from(text: str) -> dict[str, str]:
    """Returns the parameters in a text: a line ``factors = 64`` gives {"factors": "64"}; empty lines are
    ignored.

    Raises InputError with every line that is not of this form.
    """
    params: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if name and equals:
            params[name] = value
        elif line.strip():
            problems.append(_no_param(number, line.strip()))
    if problems:
        raise InputError(problems, source="parameters")
    return params


def params_as_text(params: Mapping[str, str]) -> str:
    """Returns the parameters as text, which :func:`params_from` reads."""
    return "\n".join(f"{name} = {value}" for name, value in params.items())


def _no_param(number: int, line: str) -> Problem:
    return Problem(
        code="not-a-parameter",
        place=f"parameters, line {number}",
        found=f"'{line}' is not a parameter",
        fix="Write one per line as name = value, e.g. factors = 64.",
    )
