"""Does each preset give the numbers of its library? ``python -m benchmarks.presets`` asks the libraries.

A module of ``libraries`` describes one library: what to install, which of its numbers belong to which of our
specs, and ``values(tables, k)``, which runs inside the library's own environment. Where a library does not
install, ``NOT_RUN`` says why, and the formulas are taken from its documentation.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

Values = Mapping[str, "float | Mapping[str, float]"]
"""By spec under the preset, without its cutoff: the mean, or each user's value."""


class Library(Protocol):
    """``PRINTED``: our spec under the preset → the library's name for the number.

    ``DIFFERENT``: spec → why our value differs from the library's. A metric without a row here is one that
    the library does not offer. ``NOT_REPRODUCED``: the library's name → why recdash has no definition for it.
    ``WORLDS``: the tables that the library can read. ``TOLERANCE``: how far values may lie apart and still
    count as equal, 1e-6 where the library computes in single precision.
    """

    TITLE: str
    REQUIREMENTS: Sequence[str]
    PRINTED: Mapping[str, str]
    DIFFERENT: Mapping[str, str]
    NOT_REPRODUCED: Mapping[str, str]
    WORLDS: Sequence[str]
    TOLERANCE: float
    NOT_RUN: str

    def values(self, tables: Tables, k: int) -> Values: ...


def library_names() -> list[str]:
    """The presets that have a library."""
    from benchmarks.presets import libraries

    return [module.name for module in pkgutil.iter_modules(libraries.__path__)]


def library(name: str) -> Library:
    """Raises ModuleNotFoundError for a name that no file has."""
    return cast("Library", import_module(f"benchmarks.presets.libraries.{name}"))
