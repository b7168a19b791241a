"""The audit log: a chain of lines, each of which has a hash of its contents and of the line before it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent, Mismatch
from recdash.store.audit_key import NAME, AuditKey
from recdash.store.tables import AuditEventRow, Kind, audit_event_of, seal_of

PURGE = "purge user"
"""The action of the event that a user was removed from the stored data."""
PURGED_EXPERIMENTS = "experiments"
"""The name of the ids of the experiments from which a user was removed, in the details of that event."""
SCORE_AGAIN = "score run again"
"""The action of the event that a run's numbers and replicates were replaced."""
DEFINE_METRIC, REMOVE_METRIC = "define metric", "remove metric"
"""The actions of events about a metric of the library, which is their target."""
LONGEST = 200
"""The number of characters to which a logged text is cut."""
SEALS = "seals"
"""The name of the seals in the details of a line: {``word id`` of a row: its seal after the change}."""


def note(session: Session, event: AuditEvent, key: AuditKey | None) -> None:
    """Appends an event to the log, with its number and hash, in the transaction that it describes.

    Only one writer at a time can do this, so no two events follow the same one.
    """
    with session.no_autoflush:  # pending rows may still be incomplete
        last = session.scalar(select(AuditEventRow).order_by(AuditEventRow.number.desc()).limit(1))
        numbered = replace(event, number=last.number + 1 if last else 1)
        details = json.dumps(dict(event.details))
        hashed = hash_of(numbered, last.hash if last else "", key)
        session.execute(insert(AuditEventRow), {**vars(numbered), "details": details, "hash": hashed})


def hash_of(event: AuditEvent, before: str, key: AuditKey | None = None) -> str:
    """Returns the hash (hex) of a line's contents and ``before``, the hash of the line before it ("" for the
    first): their HMAC-SHA256 with the key, without one their sha256, as in older releases.
    """
    moment = event.at.astimezone(UTC).isoformat()
    line = [before, event.number, moment, event.who, event.role, event.action, event.target]
    text = json.dumps([*line, dict(event.details)], sort_keys=True).encode()
    return hashlib.sha256(text).hexdigest() if key is None else hmac.digest(key.secret, text, "sha256").hex()


def breaks(log: Iterable[AuditEvent], key: AuditKey | None = None) -> list[int]:
    """Returns the numbers of the lines at which the chain is broken; empty if it is intact.

    ``log`` must be the complete log, the first line first. It is not noticed that lines were cut off at its
    end: compare the last hash with one that was noted elsewhere.
    """
    return [number for number, _ in broken_lines(log, key)]


def broken_lines(log: Iterable[AuditEvent], key: AuditKey | None) -> Iterator[tuple[int, Mismatch]]:
    """Yields each line at which the chain is broken: its number, and what is wrong."""
    log = list(log)
    if lacks_key(log, key):
        finding = "its key is missing, so that lines made with it cannot be verified"
        yield 1, Mismatch("deed", NAME, finding, "the file beside the store's files. Put their folder back")
        return
    before, expected, since = "", 1, key.since if key else None
    for event in log:
        row = f"line {event.number}"
        if event.number != expected:
            actual, wanted = f"it follows line {expected - 1}", f"line {expected}"
            yield event.number, Mismatch("deed", row, actual, wanted)
        elif not _is_hash(event, before, key):
            actual = "its hash is not that of its contents after the line before, made with the store's key"
            yield event.number, Mismatch("deed", row, actual, "the line that recdash wrote")
        elif since is not None and event.number == since.last and event.hash != since.hash:
            wanted = f"the hash {since.hash}, which was recorded beside the store's key"
            yield event.number, Mismatch("deed", row, f"the hash {event.hash}", wanted)
        before, expected = event.hash, event.number + 1
    if since is not None and expected <= since.last:
        actual, wanted = f"the log ends with line {expected - 1}", f"lines up to {since.last} at least"
        yield expected, Mismatch("deed", f"line {expected}", actual, wanted)


def _is_hash(event: AuditEvent, before: str, key: AuditKey | None) -> bool:
    if key is not None and hmac.compare_digest(event.hash.encode(), hash_of(event, before, key).encode()):
        return True
    is_older = key is None or event.number <= key.since.last
    return is_older and event.hash == hash_of(event, before)


def n_plain(log: Sequence[AuditEvent], key: AuditKey | None) -> int:
    """Returns how many lines, from the first on, were written before the log had a key."""
    last = len(log) if key is None else key.since.last
    hashes = ["", *(event.hash for event in log)]
    pairs = zip(log, hashes, strict=False)
    return sum(event.number <= last and event.hash == hash_of(event, before) for event, before in pairs)


def is_made_with_key(session: Session) -> bool:
    """Returns whether the newest line of the log was hashed with a key."""
    return _is_keyed(events(session, 2))


def lacks_key(log: Sequence[AuditEvent], key: AuditKey | None) -> bool:
    """Returns whether the key is missing with which the newest lines were hashed."""
    return key is None and _is_keyed(log)


def _is_keyed(lines: Sequence[AuditEvent]) -> bool:
    before = lines[-2].hash if len(lines) > 1 else ""
    return bool(lines) and lines[-1].hash != hash_of(lines[-1], before)


def sealed(*rows: tuple[Kind, Any]) -> dict[str, str | None]:
    """Returns the seals of rows, as a line of the log records them."""
    return {f"{kind.word} {row.id}": seal_of(kind, row) for kind, row in rows}


def metric_key(name: str) -> str:
    """Returns the name of the seal of a metric of the library."""
    return f"library metric {name}"


def curves_key(run_id: str) -> str:
    """Returns the name of the seal of a run's curves."""
    return f"curves {run_id}"


def short(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns changed fields as the log records them: texts cut to ``LONGEST`` characters, times as text, and
    … in place of other or large values.
    """
    return {name: shortened(value) for name, value in fields.items()}


def shortened(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if isinstance(value, Mapping) and len(value) <= 20:
        return {str(name): shortened(item) for name, item in value.items()}
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value) and len(value) <= 20:
        return [shortened(item) for item in value]
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


def purges_of(session: Session, experiment: str) -> list[datetime]:
    """Returns when users were removed from an experiment, the first time first."""
    rows = session.scalars(select(AuditEventRow).filter_by(action=PURGE).order_by(AuditEventRow.number))
    events = map(audit_event_of, rows)
    return [event.at for event in events if experiment in event.details.get(PURGED_EXPERIMENTS, [experiment])]


def n_deletions(session: Session) -> int:
    """Returns how often anything was deleted."""
    deletions = AuditEventRow.action.startswith("delete ")
    return session.scalar(select(func.count()).select_from(AuditEventRow).where(deletions)) or 0


def events(session: Session, limit: int | None) -> list[AuditEvent]:
    """Returns the newest ``limit`` events of the log, the oldest of them first; all events for None."""
    newest = session.scalars(select(AuditEventRow).order_by(AuditEventRow.number.desc()).limit(limit))
    return [audit_event_of(row) for row in newest][::-1]
