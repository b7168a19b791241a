"""Reads, adds, changes and deletes rows of any kind, each in one short transaction."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

from sqlalchemy import null, select
from sqlalchemy.orm import Session

from recdash.errors import NameTaken, NotFound
from recdash.store import audit
from recdash.store.garbage import deleting
from recdash.store.tables import (
    EXPERIMENT,
    RUN,
    SAVED_VIEW,
    ExperimentRow,
    Kind,
    RunRow,
)
from recdash.store.transactions import Transactions

LOGGED = (
    "experiment", "name", "title", "kind", "about", "label", "report", "expires", "upload", "truth", "text",
    "numbers_only", "replicate_of", "role",
)  # fmt: skip
"""The fields of an added or deleted value that the audit log records."""

Value = TypeVar("Value")
Answer = TypeVar("Answer")


class Rows(Generic[Value]):
    """The stored values of one kind, listed by ``order``."""

    kind: ClassVar[Kind]
    order: ClassVar[tuple[Any, ...]]
    is_remembered: ClassVar[bool] = True
    """Whether values that were read stay in memory until anybody commits."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._damage = transactions.damage

    def get(self, key: str) -> Value:
        """Returns the value with this id.

        Raises ``NotFound``, or ``EvidenceDamaged`` if its row is damaged.
        """

        def read(session: Session) -> Value:
            value: Value = self._damage.checked(self.kind, row_of(session, self.kind, key))
            return value

        return self._read((key,), read)

    def _read(self, question: tuple[Hashable, ...], read: Callable[[Session], Answer]) -> Answer:
        if self.is_remembered:
            return self._transactions.remembered((self.kind.word, *question), read)
        with self._transactions.read() as session:
            return read(session)

    def name_of(self, key: str) -> str:
        """Returns the stored name of a value, even if its row is damaged. Raises ``NotFound``."""
        with self._transactions.read() as session:
            return str(row_of(session, self.kind, key).name)

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Value]:
        return self._list(archived, experiment=experiment)

    def _list(self, archived: bool = True, **columns: str | None) -> list[Value]:
        def read(session: Session) -> list[Value]:
            query = select(self.kind.row).filter_by(**columns).order_by(*self.order)
            if not archived and self.kind.has("archived"):
                query = query.where(self.kind.row.archived.is_(None))
            return self._damage.intact(self.kind, session.scalars(query))

        return list(self._read((archived, *columns.items()), read))

    def add(self, value: Value) -> Value:
        with self._transactions.write() as session:
            return self._add_in(session, value)

    def _add_in(self, session: Session, value: Any) -> Value:
        row = session.get(self.kind.row, value.id)
        return stored(session, self.kind, row or self._insert(session, value))

    def _insert(self, session: Session, value: Any, seals: Mapping[str, str | None] | None = None) -> Any:
        """Adds a row and its line of the audit log; ``seals`` are those of other rows that belong to it."""
        kind = self.kind
        if kind.has("experiment"):
            row_of(session, EXPERIMENT, value.experiment)
        _refuse_conflicts(session, kind, value)
        self._transactions.register(session, kind.needs(value), value.created)
        row = kind.to_row(value)
        session.add(row)
        sealed = {**audit.sealed((kind, row)), **(seals or {})}
        self._transactions.note(session, f"add {kind.word}", value.id, sealed, **_logged(kind, value))
        return row

    def update(self, key: str, **fields: Any) -> Value:
        return self.change(key, lambda _: fields)

    def change(self, key: str, fields_of: Callable[[Value], Mapping[str, Any]]) -> Value:
        """Changes the fields that ``fields_of`` returns for the stored value, in one transaction; returns the
        value.
        """
        kind = self.kind
        with self._transactions.write() as session, session.no_autoflush:
            row = intact_row_of(session, kind, key)
            before = kind.to_value(row)
            fields = fields_of(before)
            if fixed := fields.keys() - kind.changeable:
                raise TypeError(f"{', '.join(sorted(fixed))} of a stored {kind.word} cannot be changed")
            after = replace(before, **fields)
            for name, column in kind.columns(after).items():
                if name in fields:
                    setattr(row, name, column)
            _refuse_conflicts(session, kind, after)
            self._transactions.register(session, kind.needs(after) - kind.needs(before), row.created)
            changed = {
                name: _changed_values(getattr(before, name), new)
                for name, new in fields.items()
                if getattr(before, name) != new
            }
            if changed:
                home = {"experiment": row.experiment} if kind.has("experiment") else {}
                sealed = audit.sealed((kind, row))
                self._transactions.note(session, f"change {kind.word}", key, sealed, **home, **changed)
            return stored(session, kind, row)

    def _replace(
        self, session: Session, row: Any, value: Any, seals: Mapping[str, str | None] | None = None
    ) -> None:
        """Deletes a damaged row, and records that ``value`` replaces it; ``seals`` are those of other rows
        that were changed for it.
        """
        details = {"experiment": value.experiment, "name": value.name, "by": value.id}
        self._transactions.note(session, f"replace damaged {self.kind.word}", row.id, seals, **details)
        session.delete(row)
        session.flush()


class DeletableRows(Rows[Value]):
    """The stored values of a kind whose values can be deleted one by one."""

    def delete(self, key: str) -> None:
        with deleting(self._transactions, has_files=bool(self.kind.files)) as session:
            row = row_of(session, self.kind, key)
            self._transactions.note(session, f"delete {self.kind.word}", key, **_logged(self.kind, row))
            session.delete(row)


def row_of(session: Session, kind: Kind, key: str) -> Any:
    """Returns the row with this id. Raises ``NotFound``."""
    row = session.get(kind.row, key)
    if row is None:
        raise NotFound(f"No {kind.word} has the id '{key}'.")
    return row


def intact_row_of(session: Session, kind: Kind, key: str) -> Any:
    """Returns an intact row, which may be changed.

    Raises ``NotFound``, or ``EvidenceDamaged`` if it is damaged.

    A damaged row must not be changed, as that would give it a valid checksum.
    """
    row = row_of(session, kind, key)
    kind.to_value(row)
    return row


def stored(session: Session, kind: Kind, row: Any) -> Any:
    """Returns the row's value as it will be read later, for example with times in UTC."""
    session.flush()
    session.refresh(row)
    return kind.to_value(row)


def _changed_values(before: Any, after: Any) -> Any:
    """Returns the new value as the audit log records it; of a mapping, only the entries that changed."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    return {name: after.get(name) for name in {**before, **after} if before.get(name) != after.get(name)}


def _logged(kind: Kind, thing: Any) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in LOGGED if kind.has(name) and getattr(thing, name)}


def _refuse_conflicts(session: Session, kind: Kind, value: Any) -> None:
    """Raises ``NameTaken`` for a name in use, and ``NotFound`` for a baseline that is not a run of the
    experiment.
    """
    if kind.has("name"):
        _refuse_taken_name(session, kind, value)
    if kind is EXPERIMENT and value.baseline is not None:
        _refuse_foreign_baseline(session, value)


def _refuse_foreign_baseline(session: Session, experiment: ExperimentRow) -> None:
    run = session.get(RunRow, experiment.baseline)
    if run is None or run.experiment != experiment.id or run.replicate_of is not None:
        raise NotFound(f"The experiment has no run with the id '{experiment.baseline}'.")


def _refuse_taken_name(session: Session, kind: Kind, value: Any) -> None:
    archived = kind.row.archived if kind.has("archived") else null()
    others = select(archived).where(kind.row.name == value.name, kind.row.id != value.id)
    if kind not in (EXPERIMENT, SAVED_VIEW):
        others = others.where(kind.row.experiment == value.experiment)
    if kind is RUN:
        others = others.where(kind.row.replicate_of.is_not_distinct_from(value.replicate_of))
    other = session.execute(others.limit(1)).first()
    if other is not None and other[0] is not None:
        fix = (
            "Choose another name, or unarchive or delete the archived one on the Runs page, under Show "
            "archived."
        )
        raise NameTaken(f"An archived {kind.word} already has the name '{value.name}'. {fix}")
    if other is not None:
        raise NameTaken(f"Another {kind.word} already has the name '{value.name}'. Choose another name.")
