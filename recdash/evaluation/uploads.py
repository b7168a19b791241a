"""From what a person gives for one candidate to its uploads: one table, or several folds or seeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.domain import Order, Recommendations
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    from recdash.ingest import Limits


def read_uploads(
    source: Any,
    name: str | None = None,
    mapping: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    order: Order | None = None,
) -> list[Recommendations]:
    """The candidates in ``source``, a table or several tables of one candidate: see ``several_of``.

    ``order`` is what orders the lists, where that was said.

    Raises InputError for several tables without a name.
    """
    from recdash import ingest

    tables = several_of(source)
    if tables is None:
        return ingest.read_recommendations(source, name=name, mapping=mapping, limits=limits, order=order)
    if name is None:
        fix = "Give the candidate a name that they share."
        raise InputError(Problem("no-name", "candidate", f"{len(tables)} tables and no name", fix))
    return [
        replace(run, replicate=_within(label, run.replicate))
        for label, table in tables.items()
        for run in ingest.read_recommendations(table, name=name, mapping=mapping, limits=limits, order=order)
    ]


def _within(label: str, replicate: str | None) -> str:
    """A file of its own may hold several folds as well."""
    return label if replicate is None else f"{label}, {replicate}"


def several_of(source: Any) -> dict[str, Any] | None:
    """{label: table} where ``source`` is a mapping of tables, or a list of them; None for a single table.

    Dicts of another kind are tables: {user: {item: score}}, {user: [items]}, {column: values}. The tables of
    a list are called as their files; where these do not tell them apart, as their folders; else 1, 2, 3.
    """
    if isinstance(source, Mapping):
        is_several = bool(source) and all(map(_is_table, source.values()))
        return {str(label): table for label, table in source.items()} if is_several else None
    if isinstance(source, list | tuple) and source and all(map(_is_table, source)):
        return dict(zip(labels_of(source), source, strict=True))
    return None


def _is_table(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(held, Mapping | list | tuple) for held in value.values())
    is_frame = hasattr(value, "__arrow_c_stream__") and (
        hasattr(value, "columns") or hasattr(value, "schema")
    )
    return is_frame or isinstance(value, str | Path | bytes) or hasattr(value, "read")


def labels_of(tables: Sequence[Any]) -> list[str]:
    """What the replicates of one candidate are called."""
    paths = [Path(table) for table in tables if isinstance(table, str | Path)]
    if len(paths) == len(tables) > 1:
        stems = [path.name.split(".")[0] for path in paths]
        for names in (_own_part(stems), _own_part([path.parent.name for path in paths])):
            if len(set(names)) == len(names) and all(names):
                return names
    return [str(number) for number in range(1, len(tables) + 1)]


_LEADING_ON = re.compile(r"[\W_]+(seed|fold|split|repeat|run|part|s|f)?[\W_]*$", re.IGNORECASE)


def shared_name(names: Sequence[str]) -> str:
    """What names begin with alike, but for what leads to a number: ``als_seed1``, ``als_seed2`` → als."""
    return _LEADING_ON.sub("", names[0][: len(names[0]) - len(_own_part(names)[0])])


def _own_part(names: Sequence[str]) -> list[str]:
    """Without what all begin with: ``als_seed1``, ``als_seed2`` → ``1``, ``2``."""
    shared = _shared_length(names)
    while shared and any(name[shared - 1].isalnum() and not name[shared - 1].isalpha() for name in names):
        shared -= 1  # never through a number: 10 and 11
    return [name[shared:] for name in names]


def _shared_length(names: Iterable[str]) -> int:
    length = 0
    for letters in zip(*names, strict=False):
        if len(set(letters)) > 1:
            break
        length += 1
    return length
