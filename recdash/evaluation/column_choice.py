"""Column mappings that a caller gives, for all tables of a request or for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

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
    _check_types(columns)
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


def _check_types(columns: object) -> None:
    """Raises InputError with every key and value of ``columns`` that is neither a text nor a dict of
    texts.
    """
    if columns is None:
        return
    if not isinstance(columns, Mapping):
        raise InputError(_bad_type("columns", columns, "a dict"))
    entries = [(f"columns, {name}", name, value, "a text or a dict") for name, value in columns.items()]
    entries += [
        (f"columns, {table}, {role}", role, column, "a text")
        for table, chosen in columns.items()
        if isinstance(chosen, Mapping)
        for role, column in chosen.items()
    ]
    keys = [
        _bad_type(place, key, "a text as key") for place, key, _, _ in entries if not isinstance(key, str)
    ]
    values = [
        _bad_type(place, value, expected)
        for place, _, value, expected in entries
        if not isinstance(value, str) and not (expected != "a text" and isinstance(value, Mapping))
    ]
    if keys or values:
        raise InputError([*keys, *values])


def _bad_type(place: str, value: object, expected: str) -> Problem:
    fix = (
        'Write {"user_id": "uid"} for all tables, {"truth": {"item_id": "isbn"}} for one; "" ignores '
        "a column."
    )
    return Problem("bad-columns", place, f"{type(value).__name__} {value!r:.40}, not {expected}", fix)


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


def mappings_of(
    choice: ColumnChoice, kinds: Sequence[str], also: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Mapping[str, str]]:
    """Returns {kind: mapping} for the tables that have a mapping."""
    mappings = {kind: choice.of(cast("TableKind", kind), also=(also or {}).get(kind)) for kind in kinds}
    return {kind: mapping for kind, mapping in mappings.items() if mapping is not None}
