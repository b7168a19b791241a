"""Recognises columns of unknown names by the values of the files that are given together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from recdash import ingest
from recdash.domain.inputs import Upload
from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.evaluation.column_choice import TITLES, ColumnsGiven
from recdash.evaluation.uploads import can_be_read_again, several_of
from recdash.formatting.wording import listed
from recdash.ingest.columns import CHOOSE, ROLES
from recdash.ingest.id_columns import (
    ITEM_NAMES,
    SHARED,
    USER_NAMES,
    IdColumns,
    columns_of_units,
    share_of,
)
from recdash.ingest.limits import Limits
from recdash.ingest.looks import Look
from recdash.ingest.sorting import Context, columns_for, sort_files

UNKNOWN_COLUMNS = {"missing-column", "unread-scores"}
"""Codes of problems after which the columns may be known by their values."""
BY_VALUES: tuple[TableKind, ...] = ("truth", "train", "catalogue", "users")
"""Kinds of tables, beside lists and predictions, whose columns may be known by their values."""


@dataclass(frozen=True)
class GivenTable:
    """A table, such as a file or a data frame, whose kind the caller said.

    ``candidate`` is the name of the candidate whose lists or predictions it holds.
    """

    kind: TableKind
    source: Any
    candidate: str = ""

    @property
    def table(self) -> str:
        """Returns the name of the table in mappings of columns."""
        return self.candidate or TITLES.get(self.kind, self.kind)


def given_tables(
    tables: Mapping[TableKind, Any], runs: Mapping[str, Any], predictions: Mapping[str, Any]
) -> list[GivenTable]:
    """Returns the tables whose columns may be known by their values; none if any table can be read only
    once, since all are read again with these columns.
    """
    given = [GivenTable(kind, tables[kind]) for kind in BY_VALUES if tables.get(kind) is not None]
    given += [
        GivenTable("run", table, name)
        for name, source in runs.items()
        for table in (several_of(source) or {"": source}).values()
    ]
    given += [GivenTable("predictions", table, name) for name, table in predictions.items()]
    looked_at = [table.source for table in given]
    others = [tables[kind] for kind in tables.keys() - {*BY_VALUES} if tables[kind] is not None]
    is_read_again = all(map(can_be_read_again, looked_at)) and all(
        isinstance(other, Upload) or can_be_read_again(other) for other in others
    )
    return given if is_read_again else []


def tables_of_a_test(tables: Mapping[str, Any]) -> list[GivenTable]:
    """Returns the tables of an A/B test, keyed by kind; none if one can be read only once."""
    given = [GivenTable(cast("TableKind", kind), table) for kind, table in tables.items()]
    return given if all(can_be_read_again(table.source) for table in given) else []


def columns_by_values(
    files: Sequence[GivenTable], given: ColumnsGiven, limits: Limits | None = None
) -> tuple[dict[str, str | Mapping[str, str]], list[Problem]]:
    """Returns ``given`` with the columns that only values tell, and a notice for each table that has some.

    The files are compared as those of an intake are. Users and items must occur in another file: the place of
    a column alone may mislead. What the caller said about a role stays. Raises UploadError for a table of an
    A/B test in which several columns may hold the units.
    """
    looks = [ingest.look(file.source, name=file.table, limits=limits) for file in files]
    kinds = {number: file.kind for number, file in enumerate(files)}
    suggested = [
        columns_for(file.kind, is_sorted.mapping)
        for file, is_sorted in zip(files, sort_files(looks, Context(kinds)), strict=True)
    ]
    columns: dict[str, str | Mapping[str, str]] = dict(given)
    notices = []
    for number, (file, look) in enumerate(zip(files, looks, strict=True)):
        own = columns.get(file.table, {})
        said = {} if isinstance(own, str) else own
        of_kind = given.get(TITLES.get(file.kind, file.kind), {})
        stated = {*said, *(() if isinstance(of_kind, str) else of_kind)}
        stated |= {role for role, column in given.items() if column in ("", *look.columns)}
        units = _possible_units(look, {*stated, *suggested[number]}, file.kind)
        if len(units) > 1:
            raise UploadError(_several_units(file.table, units))
        by_values = {role: column for role, column in suggested[number].items() if role not in stated}
        if by_values and _occur_elsewhere(number, looks, suggested):
            columns[file.table] = {**by_values, **said}
            notices.append(by_values_notice(file.table, by_values, f"Name others if this is wrong{CHOOSE}."))
    return columns, notices


def _possible_units(look: Look, known: Collection[str], kind: TableKind) -> list[str]:
    """Returns the columns that may hold the units of an A/B test if no one said which, and no name or other
    file tells it; none for a table of another kind.
    """
    has_units = any(role.name == "unit_id" for role in ROLES[kind])
    if not has_units or "unit_id" in known or look.first_of(USER_NAMES) is not None:
        return []
    return columns_of_units(look, IdColumns())


def _several_units(place: str, units: Sequence[str]) -> Problem:
    quoted = listed([f"'{column}'" for column in units], joint="or")
    choices = listed([f"unit_id={column}" for column in units], joint="or")
    fix = f"Choose the one that was assigned to variants{CHOOSE}: {choices}."
    return Problem("missing-column", place, f"{quoted} may hold the users", fix)


def by_values_notice(place: str, mapping: Mapping[str, str], fix: str) -> Problem:
    """Returns the notice that columns, {role: column}, were recognised by their values."""
    pairs = ", ".join(f"{role} = '{column}'" for role, column in mapping.items())
    return Problem("columns-by-values", place, f"read as {pairs}, by the values of these columns", fix)


def _occur_elsewhere(number: int, looks: Sequence[Look], suggested: Sequence[Mapping[str, str]]) -> bool:
    """Returns whether the ids in the suggested columns of a file occur as users, or items, in other files.

    Users alone must occur if all other files have their items in lists, since these are not looked at.
    """
    for role, names in (("user_id", USER_NAMES), ("item_id", ITEM_NAMES)):
        if role not in suggested[number]:
            continue
        columns = [
            mapping.get(role) or look.first_of(names) for look, mapping in zip(looks, suggested, strict=True)
        ]
        ids = [
            look.by_name[column].distinct if column in look.by_name else frozenset()
            for look, column in zip(looks, columns, strict=True)
        ]
        others = frozenset().union(*ids[:number], *ids[number + 1 :])
        if role == "item_id" and not others and "user_id" in suggested[number]:
            continue
        if share_of(looks[number].by_name[suggested[number][role]], others) < SHARED:
            return False
    return True
