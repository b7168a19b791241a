"""Column mappings that a caller gives, for all tables of a request or for one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from recdash.domain.kinds import TableKind
from recdash.errors import InputError, Problem, UnknownName
from recdash.ingest.columns import ROLES, SharedColumns, TableMapping, listed, near

ColumnsGiven = Mapping[str, str | Mapping[str, str]]
"""{role: column} for every table that has the column, or {table: {role: column}} for a single table."""

TITLES = {
    "users": "user_attributes", "vectors": "item_vectors", "similarity": "item_similarity", "bandit": "log",
    "policy": "target",
}  # fmt: skip
"""Names that callers may use for kinds of tables."""
EXAMPLES: Mapping[tuple[type, ...], str] = {
    (str, Mapping): '{"user_id": "uid"} for all tables, {"truth": {"item_id": "isbn"}} for one',
    (str,): '{"item_id": "arm"}',
    (Mapping,): '{"sessions": {"unit_id": "uid"}}',
}  # fmt: skip
"""Types of the values of a mapping → how to write it."""
KINDS = {title: kind for kind, title in TITLES.items()}


@dataclass(frozen=True)
class ColumnChoice:
    """The given column mappings: ``shared`` for all tables, ``by_table`` for one kind of table or one
    candidate.
    """

    shared: SharedColumns
    by_table: Mapping[str, Mapping[str, str]]

    def of(self, kind: TableKind, *names: str, also: Mapping[str, str] | None = None) -> TableMapping | None:
        """Returns the mapping of a table of this kind; None if none was given.

        Mappings for ``names`` (of a candidate) override those for the kind, and ``also``, a mapping that was
        given with the table itself, overrides both.
        """
        own: dict[str, str] = {}
        for table in (kind, *names):
            own.update(self.by_table.get(table, {}))
        own.update(also or {})
        return TableMapping(own, self.shared) if own or self.shared.chosen else None

    def check_given(self, tables: Collection[str], mappings: Mapping[str, Any] | None = None) -> None:
        """Raises InputError for columns of a table, and for ``mappings`` of one, that is not among the
        ``tables`` of the request.
        """
        arguments = {"columns": self.by_table, "mappings": mappings or {}}
        given = [TITLES.get(table, table) for table in tables]
        problems = [
            Problem(
                "table-not-given",
                f"{name}, {TITLES.get(table, table)}",
                "this table was not given",
                near(table, given)
                + f"Give the table, or leave its columns out. Tables given: {listed(given)}.",
            )
            for name, by_table in arguments.items()
            for table, chosen in by_table.items()
            if chosen and table not in tables
        ]
        if problems:
            raise InputError(problems)

    def check_used(self) -> None:
        """Raises InputError for a shared column that no table has, naming the columns of all tables that were
        read.
        """
        tables = self.shared.seen
        unused = [(r, c) for r, c in self.shared.chosen.items() if r not in self.shared.used]
        if not unused or not tables:
            return
        names = sorted({column for columns in tables.values() for column in columns})
        columns_by_table = "; ".join(f"{table}: {listed(columns)}" for table, columns in tables.items())
        raise InputError(
            [
                Problem(
                    "unknown-column",
                    f"columns, {role}",
                    f"no table has a column '{column}' for {role}; found: {columns_by_table}",
                    near(column, names) + "Name one of the columns found.",
                )
                for role, column in unused
            ]
        )


def read_column_choice(
    columns: ColumnsGiven | None, kinds: Sequence[TableKind], candidates: Iterable[str] = ()
) -> ColumnChoice:
    """Returns the column choice that ``columns`` describes. ``kinds`` are the kinds of tables in the request,
    ``candidates`` the names of its candidates.

    Raises UnknownName for any other table, and InputError for a role that no table of the request has or for
    values that do not have the type ``ColumnsGiven``.
    """
    check_columns("columns", columns)
    shared: dict[str, str] = {}
    by_table: dict[str, Mapping[str, str]] = {}
    names = [*(TITLES.get(kind, kind) for kind in kinds), *candidates]
    for name, chosen in (columns or {}).items():
        if isinstance(chosen, Mapping):
            by_table[_table(name, kinds, names)] = dict(chosen)
        else:
            shared[name] = chosen
    _check_roles(shared, kinds)
    return ColumnChoice(SharedColumns(shared), by_table)


def check_columns(name: str, columns: object, kinds: tuple[type, ...] = (str, Mapping)) -> None:
    """Raises InputError with every key of an argument that is no text, and every value that is not of these
    ``kinds``: a column for all tables, or a dict of columns for one of them.
    """
    fix = f'Write {EXAMPLES[kinds]}; "" ignores a column.'

    def bad_type(place: str, value: object, expected: str) -> Problem:
        finding = f"{type(value).__name__} {value!r:.40}, not {expected}"
        return Problem("bad-columns", place, finding, fix)

    if columns is None:
        return
    if not isinstance(columns, Mapping):
        raise InputError(bad_type(name, columns, "a dict"))
    entries = [(f"{name}, {key}", key, value, kinds) for key, value in columns.items()]
    entries += [
        (f"{name}, {table}, {role}", role, column, (str,))
        for table, chosen in columns.items()
        if isinstance(chosen, Mapping) and Mapping in kinds
        for role, column in chosen.items()
    ]
    keys = [bad_type(place, key, "a text as key") for place, key, _, _ in entries if not isinstance(key, str)]
    values = [
        bad_type(place, value, " or ".join("a text" if kind is str else "a dict" for kind in of_kinds))
        for place, _, value, of_kinds in entries
        if not isinstance(value, of_kinds)
    ]
    if keys or values:
        raise InputError([*keys, *values])


def _table(name: str, kinds: Sequence[TableKind], names: Sequence[str]) -> str:
    plain = name.replace("-", "_")
    kind = KINDS.get(plain, plain)
    if kind in kinds:
        return kind
    if name not in names:
        raise UnknownName("table", name, list(names))
    return name


def _check_roles(shared: Mapping[str, str], kinds: Sequence[TableKind]) -> None:
    roles = list(dict.fromkeys(role.name for kind in kinds for role in ROLES[kind]))
    unknown = [role for role in shared if role not in roles]
    if unknown:
        fix = f"These tables have the roles {', '.join(roles)}."
        raise InputError(
            [
                Problem("unknown-role", "columns", f"no role is called '{role}'", near(role, roles) + fix)
                for role in unknown
            ]
        )


def by_kind(mappings: Mapping[str, Mapping[str, str]] | None) -> dict[str, Mapping[str, str]]:
    """Returns {kind of table: mapping} of mappings whose tables may have the names that callers use."""
    return {KINDS.get(name, name): mapping for name, mapping in (mappings or {}).items()}


def mappings_of(
    choice: ColumnChoice, kinds: Sequence[str], also: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Mapping[str, str]]:
    """Returns {kind: mapping} for the tables that have a mapping."""
    mappings = {kind: choice.of(cast("TableKind", kind), also=(also or {}).get(kind)) for kind in kinds}
    return {kind: mapping for kind, mapping in mappings.items() if mapping is not None}
