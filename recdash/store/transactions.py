"""Transactions on an open database, each recorded in the audit log."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, insert, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent
from recdash.errors import Forbidden, StoreError
from recdash.store import audit
from recdash.store.artifacts import Artifacts
from recdash.store.audit_key import NAME as KEY_FILE
from recdash.store.audit_key import AuditKey
from recdash.store.connections import Database, translating_errors
from recdash.store.damage import Damage
from recdash.store.tables import ArtifactRow

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

LOST_KEY = (
    "The key of the audit log, {}, is missing: the folder of the store's files was lost, is not mounted, or "
    "is another one. Nothing was changed. Put it back, or name it with RECDASH_ARTIFACTS, and start recdash "
    "again; or restore a backup. If it is lost for good, RECDASH_FOUND_ARTIFACTS=leave goes on with a new "
    "key, and the lines until then can no longer be verified."
)


@dataclass(frozen=True)
class Transactions:
    """The database and files of a store as one person uses them; all parts of the store share one such
    object.

    A transaction is short, and happens completely or not at all; slow work is done before it.
    """

    database: Database
    files: Artifacts
    damage: Damage
    read_only: bool
    key: AuditKey | None = None
    """The key of the audit log; None for a store whose log is not continued: it is read-only, or its key is
    missing.
    """
    who: str = "recdash"
    role: str = "admin"
    _current: threading.local = field(default_factory=threading.local, repr=False, compare=False)
    """The connection of the transaction that a thread has joined with ``together``."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """Makes all that this thread reads and writes in the block one transaction.

        Nothing of it is stored if the block raises. Other writers wait, so slow work must be done before.
        """
        if self._joined is not None:
            yield
            return
        with self.write() as session:
            self._current.connection = session.connection()
            try:
                yield
            finally:
                self._current.connection = None

    @property
    def _joined(self) -> Connection | None:
        return getattr(self._current, "connection", None)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yields a session that reads one consistent state of the database."""
        if self._joined is not None:  # sees what this transaction has written
            with Session(self._joined, join_transaction_mode="rollback_only") as session:
                yield session
            return
        with translating_errors(self.database.place):
            self.database.check()
            with Session(self.database.reader) as session, session.begin():
                yield session

    def remembered(self, question: Hashable, read: Callable[[Session], Answer]) -> Answer:
        """Returns what ``read`` returns; the same question is not read again until anybody commits."""

        def in_session() -> Answer:
            with self.read() as session:
                return read(session)

        if self._joined is not None:  # what this transaction has written is not yet for others
            return in_session()
        with translating_errors(self.database.place):
            self.database.check()
            return self.database.until_commit(question, in_session)

    @contextmanager
    def write(self, then: Callable[[], None] | None = None) -> Iterator[Session]:
        """Yields a session that writes, while no other writer can.

        ``then`` is called after the commit and before the next writer, and its errors are logged; it is not
        called within ``together``, as its transaction is not complete yet.

        Raises ``Forbidden`` for a read-only store.
        """
        self.refuse_if_read_only()
        if self._joined is not None:  # an error in the block takes back only what the block has written
            joined = Session(self._joined, join_transaction_mode="create_savepoint")
            with joined as session, session.begin():
                yield session
            return
        with self.database.write_lock.hold():
            with translating_errors(self.database.place):
                self.database.check()
                with Session(self.database.writer) as session, session.begin():
                    yield session
            if then is not None:
                self._tidy(then)

    def _tidy(self, then: Callable[[], None]) -> None:
        """Calls ``then``. An error is logged: what was committed must not be reported as failed."""
        try:
            with translating_errors(self.database.place):
                then()
        except (OSError, StoreError):
            logger.warning("Not all could be tidied after a change, which was stored.", exc_info=True)

    def refuse_if_read_only(self) -> None:
        if self.read_only:
            raise Forbidden("This store is read-only.")

    def note(
        self,
        session: Session,
        action: str,
        target: str,
        seals: Mapping[str, str | None] | None = None,
        **details: Any,
    ) -> None:
        """Adds an event to the audit log, in the transaction that it describes.

        ``seals`` are those of all rows that the transaction has written, as ``audit.sealed`` returns them.
        """
        if self.key is None:
            raise StoreError(LOST_KEY.format(self.files.folder / KEY_FILE))
        told = audit.short(details) | ({audit.SEALS: dict(seals)} if seals else {})
        event = AuditEvent(0, datetime.now(UTC), self.who, self.role, action, target, told, hash="")
        audit.note(session, event, self.key)

    def register(self, session: Session, needed: frozenset[str], created: datetime) -> None:
        """Records that these files are needed from now on. Raises ``NotFound`` for a missing file."""
        sizes = {sha256: self.files.n_bytes(sha256) for sha256 in sorted(needed)}
        registered = set(session.scalars(select(ArtifactRow.sha256).where(ArtifactRow.sha256.in_(needed))))
        rows = [
            {"sha256": sha256, "n_bytes": n_bytes, "created": created}
            for sha256, n_bytes in sizes.items()
            if sha256 not in registered
        ]
        if rows:
            session.execute(insert(ArtifactRow), rows)
