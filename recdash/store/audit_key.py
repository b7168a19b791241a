"""The key of a store's audit log: a file beside the store's artifacts, outside the database.

The lines of the log are hashed with it, so that they cannot be hashed again with the database alone. It is
created when this version first opens a store; the lines until then have plain hashes, and the key's file
says which one must be the last of them.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from recdash.errors import StoreError
from recdash.store.artifacts import sync
from recdash.store.secret import N_BYTES, create_private

NAME = "audit.key"


@dataclass(frozen=True)
class LogState:
    """The log at one moment: the number of its last line, that line's hash, and the rows (``word id``) that
    no line says were added, because they were stored before there was a log.
    """

    last: int = 0
    hash: str = ""
    unlogged: tuple[str, ...] = ()


@dataclass(frozen=True)
class AuditKey:
    """The secret of an audit log, and ``since``: the log when the secret was created. All lines after it are
    hashed with the secret.
    """

    secret: bytes
    since: LogState


def key_of(folder: Path, state: Callable[[], LogState], may_create: Callable[[], bool]) -> AuditKey | None:
    """Returns the key in the folder of a store's files. The first process creates it if it may, else None.

    Raises ``StoreError`` for a key that can neither be read nor created.
    """
    file = folder / NAME
    try:
        if not file.exists():
            if may_create():
                create_private(file, _text(AuditKey(secrets.token_bytes(N_BYTES), state())))
            elif not file.exists():  # another process may have created it, and written with it, meanwhile
                return None
        return _key(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        fix = "Restore it from a backup."
        raise StoreError(f"The key of the audit log, {file}, cannot be used: {error!r}. {fix}") from error


def begin_again(folder: Path, key: AuditKey, state: LogState) -> None:
    """Records that the log was put back to a state before the key was created, as by an old backup."""
    file = folder / NAME
    fresh = file.with_name(f"{NAME}.{secrets.token_hex(8)}")
    create_private(fresh, _text(AuditKey(key.secret, state)))
    fresh.replace(file)
    sync(folder)


def _text(key: AuditKey) -> str:
    return json.dumps({"secret": key.secret.hex(), "since": asdict(key.since)}) + "\n"


def _key(text: str) -> AuditKey:
    facts = json.loads(text)
    since = facts["since"]
    state = LogState(int(since["last"]), str(since["hash"]), tuple(since["unlogged"]))
    secret = bytes.fromhex(facts["secret"])
    if len(secret) < N_BYTES:
        raise ValueError("it is too short")
    return AuditKey(secret, state)
