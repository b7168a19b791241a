"""Reads the uploads of one candidate: a single table, or several folds or seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order
from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import check_name
from recdash.ingest.spark_frames import is_spark_frame

if TYPE_CHECKING:
    from recdash.evaluation.spark import Spark
    from recdash.ingest import Limits


def read_uploads(
    source: Any,
    name: str | None = None,
    mapping: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    order: Order | None = None,
    engine: Spark | None = None,
) -> list[Recommendations]:
    """Returns the candidates in ``source``, which is one table or several tables of one candidate (see
    ``several_of``). ``order`` says by what lists are ordered; with None, by what the table has. ``engine``
    reads the tables; with None it is Spark for its data frames, else this process.

    Raises InputError for several tables without a name, and for control characters in a name.
    """
    tables = several_of(source)
    if tables is None:
        runs = _read_table(source, engine, name=name, mapping=mapping, limits=limits, order=order)
        return [_with_checked_names(run) for run in runs]
    if name is None:
        fix = "Give the candidate a common name for all tables."
        raise InputError(Problem("no-name", "candidate", f"{len(tables)} tables and no name", fix))
    return [
        _with_checked_names(replace(run, replicate=_within(label, run.replicate)))
        for label, table in tables.items()
        for run in _read_table(table, engine, name=name, mapping=mapping, limits=limits, order=order)
    ]


def _read_table(source: Any, engine: Spark | None, **how: Any) -> list[Recommendations]:
    if engine is None and not is_spark_frame(source):
        from recdash import ingest

        return ingest.read_recommendations(source, **how)
    from recdash.evaluation.spark import Spark

    return (engine or Spark()).read(source, **how)


def _with_checked_names(run: Recommendations) -> Recommendations:
    """Returns the run unchanged. Raises InputError for control characters in the name of the candidate, a
    fold or a seed.
    """
    check_name("candidate", run.name)
    if run.replicate is not None:
        check_name(run.noun or "upload", run.replicate)
    return run


def _within(label: str, replicate: str | None) -> str:
    """Returns the label of a replicate; if the table itself has several replicates, of the table and of the
    one within it.
    """
    return label if replicate is None else f"{label}, {replicate}"


def several_of(source: Any) -> dict[str, Any] | None:
    """Returns {label: table} if ``source`` is a mapping or a list of tables; None if it is a single table.

    Some dicts are single tables: {user: {item: score}}, {user: [items]}, {column: values}, and {model: {user:
    [items]}}, which has several candidates unless its keys look like labels of replicates (1, 2 or seed_1,
    fold 2). The tables of a list are labelled with their file names; if these are not distinct, with their
    folders, else 1, 2, 3.
    """
    if isinstance(source, Mapping):
        is_several = bool(source) and all(map(_is_table, source.values())) and not _is_by_model(source)
        return {str(label): table for label, table in source.items()} if is_several else None
    if isinstance(source, list | tuple) and source and all(map(_is_table, source)):
        return dict(zip(labels_of(source), source, strict=True))
    return None


def _is_by_model(source: Mapping[Any, Any]) -> bool:
    """Returns whether ``source`` is {model: {user: items}}, a single table of several candidates, as in a
    JSON file.
    """
    from recdash.ingest import are_replicates

    return all(isinstance(table, Mapping) for table in source.values()) and not are_replicates(source)


def _is_table(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value) and all(
            isinstance(held, Mapping | list | tuple | set | frozenset) for held in value.values()
        )
    is_frame = hasattr(value, "__arrow_c_stream__") and (
        hasattr(value, "columns") or hasattr(value, "schema")
    )
    from recdash.ingest import Member, Sheet

    return (
        is_frame
        or is_spark_frame(value)
        or isinstance(value, str | Path | bytes | Member | Sheet)
        or hasattr(value, "read")
    )


def can_be_read_again(source: Any) -> bool:
    """Returns whether a table can be read more than once: no open file, stream of batches, or table that is
    read already.
    """
    from recdash.ingest import innermost

    source = innermost(source)
    if hasattr(source, "__arrow_c_stream__"):
        return hasattr(source, "columns")
    return isinstance(source, str | Path | bytes | Mapping)


def labels_of(tables: Sequence[Any]) -> list[str]:
    """Returns one label per table: the distinguishing part of the file names, else of the folders, else 1, 2,
    3.
    """
    paths = [Path(table) for table in tables if isinstance(table, str | Path)]
    if len(paths) == len(tables) > 1:
        stems = [path.name.split(".")[0] for path in paths]
        for names in (_own_part(stems), _own_part([path.parent.name for path in paths])):
            if len(set(names)) == len(names) and all(names):
                return names
    return [str(number) for number in range(1, len(tables) + 1)]


_LEADING_ON = ("seed", "fold", "split", "repeat", "run", "part", "s", "f")


def shared_name(names: Sequence[str]) -> str:
    """Returns the common beginning of the names, without a trailing word such as seed or fold: als_seed1,
    als_seed2 → als.
    """
    alike = _without_last_signs(names[0].removesuffix(_own_part(names)[0]))
    for word in _LEADING_ON:
        before = alike[: -len(word)]
        if alike[-len(word) :].lower() == word and before and not before[-1].isalnum():
            return _without_last_signs(before)
    return alike


def _without_last_signs(name: str) -> str:
    """Returns the name without trailing characters that are neither letters nor digits."""
    end = len(name)
    while end and not name[end - 1].isalnum():  # a pattern would take quadratic time on many such characters
        end -= 1
    return name[:end]


def _own_part(names: Sequence[str]) -> list[str]:
    """Returns the names without their common beginning: ``als_seed1``, ``als_seed2`` → ``1``, ``2``."""
    shared = len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))))
    while shared and any(name[shared - 1].isalnum() and not name[shared - 1].isalpha() for name in names):
        shared -= 1  # never split a number: 10 and 11
    return [name[shared:] for name in names]
