"""Reads the file in which an admin names the tables that pages and the HTTP API may fetch."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from recdash.errors import InputError, Problem
from recdash.ingest.sources.address import Address, address_in

LONGEST_NAME = 60
"""Characters of a name, by which files are called."""
EXAMPLE = '"als of tonight" = "s3://bucket/als.parquet"'


def named_sources(path: Path | None) -> dict[str, Address]:
    """Returns {name: address} of a TOML file, in its order; empty without a file.

    Raises ``InputError`` with a problem for each line that is no name with an address.
    """
    if path is None:
        return {}
    try:
        written = tomllib.loads(path.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(_problem(path, f"cannot be read ({error.strerror or error})")) from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise InputError(_problem(path, f"is no TOML file ({error})")) from None
    if problems := list(_problems(path, written)):
        raise InputError(problems)
    return {name: address for name, text in written.items() if (address := address_in(text)) is not None}


def _problems(path: Path, written: dict[str, object]) -> Iterator[Problem]:
    for name, text in written.items():
        if not _names_a_file(name):
            yield _problem(path, f"the name {name[:LONGEST_NAME]!r} is too long, or no file can be called so")
        elif not isinstance(text, str) or address_in(text) is None:
            yield _problem(path, f"'{name}' has no address")


def _names_a_file(name: str) -> bool:
    return (
        bool(name.strip(". "))
        and len(name) <= LONGEST_NAME
        and name.isprintable()
        and not {"/", "\\"} & set(name)
    )


def _problem(path: Path, finding: str) -> Problem:
    return Problem("bad-sources", str(path), finding, f"Write a line for each table, such as {EXAMPLE}.")
