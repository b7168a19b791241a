"""The audit log: a chain of lines, each with the hash of itself and of the line before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent
from recdash.errors import EvidenceDamaged
from recdash.store.tables import KINDS, DeedRow, Kind, deed_of

SEALED = tuple(kind for kind in KINDS if kind.changes is not None)
"""What people wrote, which has to stay as it was."""
LONGEST = 200
"""Characters of a value that are noted; of results and other long things only that they changed."""


def note(session: Session, deed: AuditEvent) -> None:
    """Append a line to the log, in the transaction of what it notes; number and hash are given here.

    Writers stand in line at the gate, so that two never follow the same line.
    """
    with session.no_autoflush:  # what is noted may not be complete yet
        last = session.scalar(select(DeedRow).order_by(DeedRow.number.desc()).limit(1))
        numbered = replace(deed, number=last.number + 1 if last else 1)
        details = json.dumps(dict(deed.details))
        line = {**vars(numbered), "details": details, "hash": hash_of(numbered, last.hash if last else "")}
        session.execute(insert(DeedRow), line)


def hash_of(deed: AuditEvent, before: str) -> str:
    """sha256 in hex of the line and of the hash of the line before it ("" for the first)."""
    line = [deed.number, deed.at.astimezone(UTC).isoformat(), deed.who, deed.role, deed.action, deed.target]
    text = json.dumps([before, *line, dict(deed.details)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def breaks(deeds: Iterable[AuditEvent]) -> list[int]:
    """Numbers of the lines at which the chain is broken, of all lines, the first one first.

    Whoever writes the whole chain anew, or cuts its end off, is not found by this: keep a copy of the last
    hash elsewhere.
    """
    found, before, expected = [], "", 1
    for deed in deeds:
        if deed.number != expected or deed.hash != hash_of(deed, before):
            found.append(deed.number)
        before, expected = deed.hash, deed.number + 1
    return found


def seal(kind: Kind, thing: Any) -> str:
    """sha256 in hex of all that must not change in a thing."""
    fixed = {name: getattr(thing, name) for name in kind.names if name not in kind.changeable}
    text = json.dumps(fixed, sort_keys=True, default=_canonical)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else dict(value)


def altered(session: Session) -> list[str]:
    """What is stored and is not what the log says was written, such as ``decision k3v…``."""
    added = session.scalars(select(DeedRow).where(DeedRow.action.in_([f"add {one.word}" for one in SEALED])))
    seals = {row.target: deed_of(row).details.get("sha256") for row in added}
    return [
        f"{getattr(row, 'kind', kind.word)} {row.id}"
        for kind in SEALED
        for row in session.scalars(select(kind.row))
        if seals.get(row.id) != _seal_of_row(kind, row)
    ]


def _seal_of_row(kind: Kind, row: Any) -> str | None:
    """None for a row that cannot be read."""
    try:
        return seal(kind, kind.unchecked(row))
    except (EvidenceDamaged, ValueError, TypeError, AttributeError):
        return None


def short(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What changed, fit for a line: short values as they are, moments as text, of others only their kind."""
    return {name: _short(value) for name, value in fields.items()}


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, Mapping) and len(value) <= 20:
        return {str(name): _short(one) for name, one in value.items()}
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value) and len(value) <= 20:
        return [_short(one) for one in value]
    return "…"


def events(session: Session, limit: int | None) -> list[AuditEvent]:
    """The newest ``limit`` lines, oldest first; all of them without a limit."""
    newest = session.scalars(select(DeedRow).order_by(DeedRow.number.desc()).limit(limit))
    return [deed_of(row) for row in newest][::-1]
