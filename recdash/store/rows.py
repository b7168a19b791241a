"""Rows of any kind in the database: read, added, changed, deleted, each in one short transaction.

A write happens whole, with its line in the audit log, or not at all.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import insert, null, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent
from recdash.errors import Forbidden, NameTaken, NotFound, Problem
from recdash.settings import FoundArtifacts
from recdash.store import audit
from recdash.store.connections import DatabaseUrl, connect, spoken
from recdash.store.damage import Damage
from recdash.store.integrity import structure
from recdash.store.ownership import artifacts_of, refuse_lost
from recdash.store.schema import ensure_schema
from recdash.store.secret import kept_secret
from recdash.store.tables import (
    EXPERIMENT,
    KINDS,
    RUN,
    SAVED_VIEW,
    ArtifactRow,
    ExperimentRow,
    Kind,
    RunRow,
)

SYSTEM = "recdash"
"""Who wrote where nobody said."""
TOLD = (
    "experiment", "name", "title", "kind", "about", "label", "report", "expires", "upload", "truth", "text",
)  # fmt: skip


def _now() -> datetime:
    return datetime.now(UTC)


class RowStore:
    """The transactions of a store, and what is done alike to every kind of thing."""

    def __init__(
        self,
        url: DatabaseUrl,
        artifacts: Path,
        read_only: bool = False,
        clock: Callable[[], datetime] = _now,
        found_artifacts: FoundArtifacts = "ask",
    ) -> None:
        self._who, self._role, self._clock, self._root = SYSTEM, "admin", clock, artifacts
        if url.file is not None and not read_only:
            refuse_lost(url.file, artifacts, found_artifacts)
        with spoken(url.url.render_as_string(hide_password=True)):
            self._database = connect(url, read_only)
        self._read_only, self._damage = read_only, Damage()
        self._finalizer = weakref.finalize(self, self._database.dispose)
        try:
            ensure_schema(self._database)
            with spoken(self._database.place):
                self._artifacts = artifacts_of(self._database, artifacts, found_artifacts)
                with Session(self._database.reader) as session, session.begin():
                    self._damage.of_all(structure(session))
        except BaseException:
            self.close()
            raise

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def notices(self) -> tuple[Problem, ...]:
        return self._database.notices

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        if self._damage.is_of_rows:
            with self._read() as session:
                self._damage.forget_gone(session)
        return self._damage.found(experiment)

    def close(self) -> None:
        self._finalizer()

    def secret(self) -> bytes:
        return kept_secret(self._root)

    def by(self, who: str, role: str, read_only: bool = False) -> Self:
        # A copy shares the connections; ``_origin`` keeps them open as long as somebody has a copy.
        same, narrowed = copy.copy(self), self._read_only or read_only
        vars(same).update(_who=who, _role=role, _read_only=narrowed, _origin=self)
        return same

    # transactions ──────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _read(self) -> Iterator[Session]:
        with spoken(self._database.place):
            self._database.check()
            with Session(self._database.reader) as session, session.begin():
                yield session

    @contextmanager
    def _write(self) -> Iterator[Session]:
        self._refuse_if_read_only()
        with spoken(self._database.place), self._database.gate.hold():
            self._database.check()
            with Session(self._database.writer) as session, session.begin():
                yield session

    def _note(self, session: Session, action: str, target: str, **details: Any) -> None:
        """A line in the audit log, written if the transaction is."""
        short = audit.short(details)
        audit.note(
            session, AuditEvent(0, self._clock(), self._who, self._role, action, target, short, hash="")
        )

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise Forbidden("This store is open for reading only.")

    # any kind of thing ─────────────────────────────────────────────────────────────────────────

    def _one(self, kind: Kind, key: str) -> Any:
        with self._read() as session:
            return self._damage.checked(kind, row_of(session, kind, key))

    def _name(self, kind: Kind, key: str) -> str:
        """The name, or what damage made of it."""
        with self._read() as session:
            return str(row_of(session, kind, key).name)

    def _listed(self, kind: Kind, archived: bool, *order: Any, **where: str | None) -> list[Any]:
        query = select(kind.row).filter_by(**where).order_by(*order)
        if not archived and kind.has("archived"):
            query = query.where(kind.row.archived.is_(None))
        with self._read() as session:
            return self._damage.whole(kind, session.scalars(query))

    def _add(self, kind: Kind, value: Any) -> Any:
        with self._write() as session:
            row = session.get(kind.row, value.id)
            if row is None:
                row = self._insert(session, kind, value)
            return stored(session, kind, row)

    def _insert(self, session: Session, kind: Kind, value: Any) -> Any:
        if kind is not EXPERIMENT:
            row_of(session, EXPERIMENT, value.experiment)
        _refuse_conflicts(session, kind, value)
        self._register(session, _needed(kind, value), value.created)
        row = kind.to_row(value)
        session.add(row)
        self._note(session, f"add {kind.word}", value.id, **_told(kind, value), **_sealed(kind, value))
        return row

    def _update(self, kind: Kind, key: str, fields: dict[str, Any]) -> Any:
        if wrong := fields.keys() - kind.changeable:
            raise TypeError(f"{', '.join(sorted(wrong))} of a stored {kind.word} cannot be changed")
        with self._write() as session, session.no_autoflush:
            row = whole_row_of(session, kind, key)
            before = kind.to_value(row)
            after, changed = replace(before, **fields), _changed(before, fields)
            for name, column in kind.columns(after).items():
                if name in fields:
                    setattr(row, name, column)
            _refuse_conflicts(session, kind, after)
            self._register(session, _needed(kind, after) - _needed(kind, before), row.created)
            if changed:
                self._note(session, f"change {kind.word}", key, **_named(kind, row), **changed)
            return stored(session, kind, row)

    def _delete(self, kind: Kind, key: str) -> None:
        with self._write() as session:
            row = row_of(session, kind, key)
            self._note(session, f"delete {kind.word}", key, **_told(kind, row))
            session.delete(row)

    def _replace(self, session: Session, kind: Kind, row: Any, value: Any) -> None:
        """Take away a damaged row in whose place another comes."""
        told = {"experiment": value.experiment, "name": value.name, "by": value.id}
        self._note(session, f"replace damaged {kind.word}", row.id, **told)
        session.delete(row)
        session.flush()

    def _register(self, session: Session, needed: frozenset[str], created: datetime) -> None:
        """Note which files are needed from now on; raises ``NotFound`` for one that is not there."""
        sizes = {sha256: self._artifacts.n_bytes(sha256) for sha256 in sorted(needed)}
        known = set(session.scalars(select(ArtifactRow.sha256).where(ArtifactRow.sha256.in_(needed))))
        rows = [
            {"sha256": sha256, "n_bytes": n_bytes, "created": created}
            for sha256, n_bytes in sizes.items()
            if sha256 not in known
        ]
        if rows:
            session.execute(insert(ArtifactRow), rows)


def row_of(session: Session, kind: Kind, key: str) -> Any:
    row = session.get(kind.row, key)
    if row is None:
        raise NotFound(f"There is no {kind.word} with the id '{key}'.")
    return row


def whole_row_of(session: Session, kind: Kind, key: str) -> Any:
    """A row that may be changed: writing a damaged one would give it a checksum that holds.

    Raises ``EvidenceDamaged``.
    """
    row = row_of(session, kind, key)
    kind.to_value(row)
    return row


def stored(session: Session, kind: Kind, row: Any) -> Any:
    """The value as it will be read later, times in UTC and so on."""
    session.flush()
    session.refresh(row)
    return kind.to_value(row)


def _refuse_conflicts(session: Session, kind: Kind, value: Any) -> None:
    """Refuse a name in use, and a baseline that is not a run of its experiment."""
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
        fix = "Choose another name, or restore or delete that one on the Runs page, under Show archived."
        raise NameTaken(f"An archived {kind.word} is already called '{value.name}'. {fix}")
    if other is not None:
        raise NameTaken(f"Another {kind.word} is already called '{value.name}'. Choose another name.")


def _told(kind: Kind, thing: Any) -> dict[str, Any]:
    """What the audit log says of a thing that comes or goes."""
    return {name: getattr(thing, name) for name in TOLD if kind.has(name) and getattr(thing, name)}


def _sealed(kind: Kind, value: Any) -> dict[str, Any]:
    """The hash of what has to stay as it was written, so that the log shows whether it did."""
    return {} if kind.changes is None else {"sha256": audit.seal(kind, value)}


def _named(kind: Kind, row: Any) -> dict[str, Any]:
    """Where the thing is at home, for a line that tells only what changed."""
    return {} if kind is EXPERIMENT else {"experiment": row.experiment}


def _changed(value: Any, fields: dict[str, Any]) -> dict[str, Any]:
    return {name: new for name, new in fields.items() if getattr(value, name) != new}


def _needed(kind: Kind, value: Any) -> frozenset[str]:
    """The sha256 of every file that a value needs."""
    return frozenset(sha256 for sha256 in kind.needs(value) if sha256 is not None)


def used_files(session: Session) -> frozenset[str]:
    """The sha256 of every file that something stored needs.

    Raises ``EvidenceDamaged`` where a row does not say any more what it needs.
    """
    return frozenset().union(
        *(_needed(kind, kind.to_value(row)) for kind in KINDS for row in session.scalars(select(kind.row)))
    )
