"""Recognises columns of unknown names by the values of the files that are given together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recdash import ingest
from recdash.domain.kinds import TableKind
from recdash.errors import Problem
from recdash.evaluation.column_choice import TITLES, ColumnsGiven
from recdash.ingest import Sheet
from recdash.ingest.sorting import Context, columns_for, sort_files


@dataclass(frozen=True)
class GivenFile:
    """A file, or a sheet of one, whose kind the caller said.

    ``candidate`` is the name of the candidate whose lists or predictions it holds.
    """

    kind: TableKind
    source: Path | Sheet
    candidate: str = ""

    @property
    def table(self) -> str:
        """Returns the name of the table in mappings of columns."""
        return self.candidate or TITLES.get(self.kind, self.kind)


def columns_by_values(
    files: Sequence[GivenFile], given: ColumnsGiven
) -> tuple[dict[str, str | Mapping[str, str]], list[Problem]]:
    """Returns ``given`` with the columns that only values tell, and a notice for each table that has some.

    The files are compared as those of an intake are. What the caller said about a role stays.
    """
    looks = [ingest.look(file.source, name=file.table) for file in files]
    kinds = {number: file.kind for number, file in enumerate(files)}
    columns: dict[str, str | Mapping[str, str]] = dict(given)
    notices = []
    for file, look, is_sorted in zip(files, looks, sort_files(looks, Context(kinds)), strict=True):
        own = columns.get(file.table, {})
        said = {} if isinstance(own, str) else own
        of_kind = given.get(TITLES.get(file.kind, file.kind), {})
        stated = {*said, *(() if isinstance(of_kind, str) else of_kind)}
        stated |= {role for role, column in given.items() if column in ("", *look.columns)}
        mapping = columns_for(file.kind, is_sorted.mapping)
        by_values = {role: column for role, column in mapping.items() if role not in stated}
        if by_values:
            columns[file.table] = {**by_values, **said}
            pairs = ", ".join(f"{role} = '{column}'" for role, column in by_values.items())
            finding = f"read as {pairs}, by the values of these columns"
            fix = "Choose others by --columns if this is wrong."
            notices.append(Problem("columns-by-values", file.table, finding, fix))
    return columns, notices
