"""The audit log: a chain of lines, each of which has a hash of its contents and of the line before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent
from recdash.errors import EvidenceDamaged
from recdash.store.tables import KINDS, AuditEventRow, Kind, audit_event_of

SEALED = tuple(kind for kind in KINDS if kind.changes is not None)
"""The kinds of records that people write and that must not change afterwards."""
ADDED_LATER = {"numbers_only"}
"""Fields that older records lack. A seal leaves them out when they are None, and so stays as it was."""
PURGE = "purge user"
"""The action of the event that a user was removed from the stored data."""
VERBS = ("add", "change", "delete")
HOLDERS = ("experiment", "report")
"""The kinds of records whose deletion deletes other records."""
LONGEST = 200
"""The number of characters to which a logged text is cut."""


def note(session: Session, event: AuditEvent) -> None:
    """Appends an event to the log, with its number and hash, in the transaction that it describes.

    Only one writer at a time can do this, so no two events follow the same one.
    """
    with session.no_autoflush:  # pending rows may still be incomplete
        last = session.scalar(select(AuditEventRow).order_by(AuditEventRow.number.desc()).limit(1))
        numbered = replace(event, number=last.number + 1 if last else 1)
        details = json.dumps(dict(event.details))
        line = {**vars(numbered), "details": details, "hash": hash_of(numbered, last.hash if last else "")}
        session.execute(insert(AuditEventRow), line)


def hash_of(event: AuditEvent, before: str) -> str:
    """Returns the sha256 (hex) of a line's contents and ``before``, the hash of the line before it ("" for
    the first).
    """
    moment = event.at.astimezone(UTC).isoformat()
    line = [before, event.number, moment, event.who, event.role, event.action, event.target]
    text = json.dumps([*line, dict(event.details)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def breaks(log: Iterable[AuditEvent]) -> list[int]:
    """Returns the numbers of the lines at which the chain is broken; empty if it is intact.

    ``log`` must be the complete log, the first line first. A chain that was rewritten as a whole, or cut off
    at its end, is not detected: keep a copy of the last hash elsewhere.
    """
    broken, before, expected = [], "", 1
    for event in log:
        if event.number != expected or event.hash != hash_of(event, before):
            broken.append(event.number)
        before, expected = event.hash, event.number + 1
    return broken


def seal(kind: Kind, thing: Any) -> str:
    """Returns the sha256 (hex) of all fields of a value that must not change."""
    fixed = {name: getattr(thing, name) for name in kind.names if name not in kind.changeable}
    fixed = {name: value for name, value in fixed.items() if value is not None or name not in ADDED_LATER}
    text = json.dumps(fixed, sort_keys=True, default=_canonical)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else dict(value)


def altered(session: Session) -> list[str]:
    """Returns the records that differ from what the log says, such as ``decision k3v…``; empty if none does.

    A record may have another content than was written, be missing although it was never deleted, or have
    another state than its last change, such as a link that was revoked and no longer is.
    """
    expected = _replayed(session)
    differing = []
    for kind in SEALED:
        rows = {row.id: row for row in session.scalars(select(kind.row))}
        for key, row in rows.items():
            name = f"{getattr(row, 'kind', kind.word)} {key}"
            record = expected.get((kind.word, key))
            if record is None or record.seal != _seal_of_row(kind, row):
                differing.append(name)
            else:
                differing += [f"{name} ({field})" for field in _changed(kind, row, record)]
        differing += [
            f"{record.name} {key} (missing)"
            for (word, key), record in expected.items()
            if word == kind.word and key not in rows
        ]
    return differing


@dataclass
class Recorded:
    """What the log says of a record: its seal, and the last value of each field that was changed since."""

    name: str
    seal: str | None
    experiment: str
    report: str | None
    changes: dict[str, Any] = field(default_factory=dict)


def _replayed(session: Session) -> dict[tuple[str, str], Recorded]:
    """Returns {(word of the kind, id): what the log says} of all records that should exist."""
    words = {kind.word for kind in SEALED}
    records: dict[tuple[str, str], Recorded] = {}
    for row in session.scalars(select(AuditEventRow).order_by(AuditEventRow.number)):
        verb, _, word = row.action.partition(" ")
        if (word not in words and row.action != "delete experiment") or verb not in VERBS:
            continue
        details = audit_event_of(row).details
        key = (word, row.target)
        if verb == "add":
            records[key] = Recorded(
                str(details.get("kind", word)),
                details.get("sha256"),
                str(details.get("experiment")),
                details.get("report"),
            )
        elif verb == "change" and key in records:
            records[key].changes |= details
        elif verb == "delete":
            records.pop(key, None)
            if word in HOLDERS:
                _forget_held(records, row.target)
    return records


def _forget_held(records: dict[tuple[str, str], Recorded], holder: str) -> None:
    """Removes the records that were deleted with the experiment or report that held them."""
    held = [key for key, record in records.items() if holder in (record.experiment, record.report)]
    for key in held:
        del records[key]


def _changed(kind: Kind, row: Any, record: Recorded) -> list[str]:
    """Returns the fields that have another value than their last change; they are None until then."""
    value = kind.unchecked(row)
    return sorted(
        name for name in kind.changeable if _short(getattr(value, name)) != record.changes.get(name)
    )


def _seal_of_row(kind: Kind, row: Any) -> str | None:
    """Returns the hash of a row's fields that must not change; None for an unreadable row."""
    try:
        return seal(kind, kind.unchecked(row))
    except (EvidenceDamaged, ValueError, TypeError, AttributeError):
        return None


def short(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns changed fields as the log records them: texts cut to ``LONGEST`` characters, times as text, and
    … in place of other or large values.
    """
    return {name: _short(value) for name, value in fields.items()}


def _short(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, Mapping) and len(value) <= 20:
        return {str(name): _short(item) for name, item in value.items()}
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value) and len(value) <= 20:
        return [_short(item) for item in value]
    return "…"


def last(session: Session) -> str:
    """Returns the hash of the log's newest line, which identifies the whole log; empty if the log is
    empty.
    """
    newest = select(AuditEventRow.hash).order_by(AuditEventRow.number.desc()).limit(1)
    return session.scalar(newest) or ""


def n_purges(session: Session) -> int:
    """Returns how often users were removed from the stored data."""
    return session.scalar(select(func.count()).select_from(AuditEventRow).filter_by(action=PURGE)) or 0


def events(session: Session, limit: int | None) -> list[AuditEvent]:
    """Returns the newest ``limit`` events of the log, the oldest of them first; all events for None."""
    newest = session.scalars(select(AuditEventRow).order_by(AuditEventRow.number.desc()).limit(limit))
    return [audit_event_of(row) for row in newest][::-1]
