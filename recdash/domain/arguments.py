"""Checks the types of the arguments that callers in Python give."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from recdash.errors import InputError, Problem

MOST_SHOWN = 60


def wrong_type(name: str, value: Any, fix: str) -> InputError:
    """Returns the error for an argument of a type that it cannot have; ``fix`` says what to give."""
    shown = repr(value) if isinstance(value, str | bytes | float) or is_number(value) else ""
    finding = f"{type(value).__name__} {shown[:MOST_SHOWN]}".rstrip()
    return InputError(Problem("bad-type", name, finding, fix))


def check_type(name: str, value: Any, kind: type | tuple[type, ...], fix: str) -> None:
    """Raises InputError for an argument of another type; ``fix`` says what to give."""
    if not isinstance(value, kind):
        raise wrong_type(name, value, fix)


def check_number(name: str, value: object, fix: str) -> None:
    """Raises InputError for an argument that is no finite number; ``fix`` says what to give."""
    if not is_number(value):
        raise wrong_type(name, value, fix)


def check_whole(name: str, value: object, fix: str) -> None:
    """Raises InputError for an argument that is no whole number; ``fix`` says what to give."""
    check_number(name, value, fix)
    check_type(name, value, Integral, fix)


def check_flag(name: str, value: object) -> None:
    """Raises InputError for an argument that is neither true nor false, in Python or NumPy."""
    check_type(name, value, (bool, np.bool_), "Give True or False.")


def is_number(value: object) -> bool:
    """Returns whether a value is a finite number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def texts_of(name: str, value: object, example: str) -> list[str]:
    """Returns the texts of an argument that is one text or several. Raises InputError for anything else."""
    return one_or_several(name, value, str, f"Give a text, such as {example!r}, or a list of texts.")


def paths_of(name: str, value: object) -> list[str | os.PathLike[str]]:
    """Returns the paths of an argument that is one path or several. Raises InputError for anything else."""
    return one_or_several(name, value, (str, os.PathLike), "Give a path or a list of paths.")


def one_or_several(name: str, value: object, kind: type | tuple[type, ...], fix: str) -> list[Any]:
    """Returns the values of an argument that is one value of a kind, or several. Raises InputError for
    anything else; ``fix`` says what to give.
    """
    if isinstance(value, kind):
        return [value]
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise wrong_type(name, value, fix)
    values = list(value)
    for each in values:
        check_type(name, each, kind, fix)
    return values
