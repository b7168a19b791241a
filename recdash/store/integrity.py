"""Reads all stored rows and files, and reports those that are damaged or missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateIndex

from recdash.domain.journal import Mismatch
from recdash.domain.results import Unavailable
from recdash.errors import EvidenceDamaged, NotFound, Problem
from recdash.store import audit
from recdash.store.artifacts import Artifacts
from recdash.store.audit_key import NAME as KEY_FILE
from recdash.store.audit_key import AuditKey
from recdash.store.replay import AT_ONCE, replay
from recdash.store.tables import (
    CURVE_DAMAGED,
    KINDS,
    RESTORE,
    UPLOAD_AGAIN,
    ArtifactRow,
    Base,
    CurveRow,
    ExperimentRow,
    Kind,
    RunRow,
    curve_of,
    has_its_key,
)

InTable = tuple[str, Problem]
"""The name of a table, and what is wrong in it."""
REMOVE_UNUSED = "If a deletion was interrupted, recdash gc removes it."
VERSION_TABLE = "alembic_version"
"""The table in which Alembic keeps the number of the schema."""
MOST_FAULTS = 10
"""How many faults in the structure of the database are listed at most."""


@dataclass
class NeededFiles:
    """The files that intact rows need: {sha256: the place of such a row}. ``is_complete`` is whether all rows
    are intact.
    """

    places: dict[str, str] = field(default_factory=dict)
    is_complete: bool = True


def everything_wrong(session: Session, artifacts: Artifacts, key: AuditKey | None) -> list[Problem]:
    """Returns what is damaged or missing, each with its experiment and how to repair it; empty if all is
    intact.
    """
    log = partial(_log, session, key)
    wrong = [*everything_damaged(session, artifacts), *_until_unreadable(log)]
    return [problem for _, problem in wrong]


def everything_damaged(
    session: Session, artifacts: Artifacts, *, with_unneeded: bool = False
) -> list[InTable]:
    """Returns the rows and files that do not match their own checksums, without the audit log.

    ``with_unneeded`` returns also rows of files that nothing needs: a killed deletion leaves some, too.
    """
    needed = NeededFiles()
    parts: tuple[Callable[[], Iterator[InTable]], ...] = (
        partial(_structure, session),
        partial(_references, session),
        partial(_rows, session, artifacts, needed),
        partial(_registered, session, artifacts, needed, with_unneeded=with_unneeded),
        partial(_curves, session),
    )
    return [problem for part in parts for problem in _until_unreadable(part)]


def mismatch_of(table: str, problem: Problem) -> Mismatch:
    """Returns a problem of ``everything_damaged`` as a mismatch."""
    return Mismatch(table, problem.place, problem.found, f"what was written. {problem.fix}".strip())


def _until_unreadable(part: Callable[[], Iterator[InTable]]) -> Iterator[InTable]:
    """Yields the problems that a check finds; if the database becomes unreadable, yields that as the last
    problem.
    """
    try:
        yield from part()
    except DBAPIError as error:
        yield "database", Problem("damaged", "database", f"cannot be read further: {error.orig}", RESTORE)


def structure(session: Session) -> Iterator[Problem]:
    """Yields the faults that SQLite finds in the structure of its file; nothing for PostgreSQL, which checks
    its own.
    """
    if session.get_bind().dialect.name != "sqlite":
        return
    faults = session.scalars(text(f"PRAGMA integrity_check({MOST_FAULTS})")).all()
    for fault in faults:
        if fault != "ok":
            yield Problem("damaged", "database", f"its structure is damaged: {fault}", RESTORE)


def _structure(session: Session) -> Iterator[InTable]:
    for problem in (*structure(session), *_additions(session)):
        yield "database", problem


def _additions(session: Session) -> Iterator[Problem]:
    """Yields what an SQLite database has besides recdash's tables: triggers and views change what others
    write or read, and tables are in no line of the log. Yields the indexes that it lacks, too: without one
    that is unique, two candidates may have one name.
    """
    if session.get_bind().dialect.name != "sqlite":
        return
    query = text("SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY 2")
    present = [(kind, name) for kind, name in session.execute(query).all()]
    own = {("table", name) for name in (*Base.metadata.tables, VERSION_TABLE)}
    for kind, name in present:
        if kind != "index" and (kind, name) not in own:
            finding = f"it has a {kind} '{name}', which recdash did not make"
            fix = f"Remove it (DROP {kind.upper()}), or restore a backup."
            yield Problem("altered", "database", finding, fix)
    for table in Base.metadata.sorted_tables:
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if ("index", index.name) not in present and ("table", table.name) in present:
                make = " ".join(str(CreateIndex(index).compile(session.connection())).split())
                finding = f"the index '{index.name}' of table {table.name} is missing"
                yield Problem("altered", "database", finding, f"Make it again ({make}), or restore a backup.")


def _references(session: Session) -> Iterator[InTable]:
    if session.get_bind().dialect.name == "sqlite":
        for table, *_ in session.execute(text("PRAGMA foreign_key_check")).all():
            yield table, Problem("damaged", f"table {table}", "a row refers to a missing one", RESTORE)


def _rows(session: Session, artifacts: Artifacts, needed: NeededFiles) -> Iterator[InTable]:
    """Yields the damaged rows, and those whose files are; adds the files of the others to ``needed``."""
    names: dict[str, str] = {row.id: row.name for row in session.scalars(select(ExperimentRow))}
    for kind in KINDS:
        for row in session.scalars(select(kind.row)):
            home = f" of '{names.get(row.experiment, row.experiment)}'" if kind.has("experiment") else ""
            yield from _row(kind, row, home, artifacts, needed)
        session.expunge_all()


def _row(kind: Kind, row: Any, home: str, artifacts: Artifacts, needed: NeededFiles) -> Iterator[InTable]:
    damage = kind.damage(row)
    place = f"{damage.place}{home}"
    try:
        value = kind.to_value(row)
    except EvidenceDamaged:
        needed.is_complete = False
        yield kind.row.__tablename__, replace(damage, place=place)
        return
    for sha256 in sorted(kind.needs(value)):
        needed.places.setdefault(sha256, place)
        yield from _file(sha256, place, artifacts)


def _file(sha256: str, place: str, artifacts: Artifacts) -> Iterator[InTable]:
    try:
        artifacts.path(sha256)
    except EvidenceDamaged as error:
        yield "artifact", Problem("damaged-file", place, f"a file is damaged: {error.problem.found}", "")
    except NotFound:
        fix = "Upload the same file again, or restore it from a backup."
        yield "artifact", Problem("lost-file", place, f"its file {sha256} is missing", fix)


def _registered(
    session: Session, artifacts: Artifacts, needed: NeededFiles, *, with_unneeded: bool
) -> Iterator[InTable]:
    """Yields where the table of files differs from the files that are needed and stored."""
    query = select(ArtifactRow.sha256, ArtifactRow.n_bytes)
    registered = {row.sha256: row.n_bytes for row in session.execute(query)}

    def is_unneeded(sha256: str) -> bool:
        return with_unneeded and needed.is_complete and sha256 not in needed.places

    for sha256, place in needed.places.items():
        if sha256 not in registered:
            yield "artifact", Problem("altered", place, f"its file {sha256} has no row", RESTORE)
    for sha256, n_bytes in registered.items():
        place = needed.places.get(sha256, f"file {sha256}")
        try:
            actual = artifacts.n_bytes(sha256)
        except NotFound:  # the row that needs it is named; a killed removal leaves rows that nothing needs
            if is_unneeded(sha256):
                finding = "it is missing, and nothing that is stored needs it"
                yield "artifact", Problem("altered", place, finding, REMOVE_UNUSED)
            continue
        if is_unneeded(sha256):
            yield "artifact", Problem("altered", place, "nothing that is stored needs it", REMOVE_UNUSED)
        if actual != n_bytes and _is_whole(sha256, artifacts):
            problem = f"the row of its file {sha256} says {n_bytes} bytes; the file has {actual}"
            yield "artifact", Problem("altered", place, problem, RESTORE)


def _is_whole(sha256: str, artifacts: Artifacts) -> bool:
    try:
        artifacts.path(sha256)
    except EvidenceDamaged:  # the row that needs it is named
        return False
    return True


def _curves(session: Session) -> Iterator[InTable]:
    names = {row.id: row.name for row in session.scalars(select(RunRow))}
    session.expunge_all()
    query = select(CurveRow).order_by(CurveRow.run, CurveRow.metric).execution_options(yield_per=AT_ONCE)
    for row in session.scalars(query):
        place = f"{row.metric} of run '{names.get(row.run, row.run)}'"
        if not has_its_key(row.run, row.metric, row.checksum):
            what = "its run or metric is not what was written"
            yield "curve", Problem("damaged", place, what, UPLOAD_AGAIN)
        elif isinstance(curve_of(row), Unavailable):
            what = CURVE_DAMAGED.removesuffix(UPLOAD_AGAIN).strip()
            yield "curve", Problem("damaged", place, what, UPLOAD_AGAIN)


def _log(session: Session, key: AuditKey | None) -> Iterator[InTable]:
    log = audit.events(session, None)
    if audit.lacks_key(log, key):
        finding = f"its key, {KEY_FILE}, is missing, so that lines made with it cannot be verified"
        yield "deed", Problem("lost-key", "audit log", finding, "Put the folder of the store's files back.")
    for number in () if audit.lacks_key(log, key) else audit.breaks(log, key):
        yield "deed", Problem("changed-log", f"audit log, line {number}", "it was changed", RESTORE)
    for mismatch in replay(session, log, key).mismatches:
        if not mismatch.is_damaged:
            yield mismatch.table, Problem("altered", mismatch.record, "it is not what was written", RESTORE)
