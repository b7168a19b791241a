"""Creates and reads a store's secret, which is a file next to its other files."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from recdash.errors import StoreError
from recdash.store.artifacts import make_private, sync

NAME, N_BYTES = "secret.key", 32
CLAIM_SECONDS = 10


def kept_secret(folder: Path) -> bytes:
    """Returns the store's secret, at least 32 bytes.

    The first process creates it, readable by its user only.

    Raises StoreError if the file can neither be read nor created, or has no such secret.
    """
    file = folder / NAME
    try:
        if not file.exists():
            create_private(file, secrets.token_hex(N_BYTES) + "\n")
        secret = bytes.fromhex(file.read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise StoreError(
            f"The secret in {file} cannot be used: {error}. Restore it, or remove it."
        ) from error
    if len(secret) < N_BYTES:
        raise StoreError(f"The secret in {file} is too short: {len(secret)} bytes. Restore it, or remove it.")
    return secret


def create_private(file: Path, text: str) -> None:
    """Creates a file that only its owner can read: writes a temporary one, then links it under its name.

    So no process reads half a file, and if several create it, the first one wins. It is on disk before
    anything is written that needs it.
    """
    make_private(file.parent)
    aside = file.with_name(f"{file.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as new:
        new.write(text)
        new.flush()
        os.fsync(new.fileno())
    try:
        with suppress(FileExistsError):
            os.link(aside, file)
    except OSError:  # a file system without links
        _place_without_links(aside, file)
    finally:
        aside.unlink(missing_ok=True)
    sync(file.parent)


def _place_without_links(aside: Path, file: Path) -> None:
    """Renames ``aside`` to ``file``, unless that is there: only who creates the claim beside it may rename,
    and others wait for the file.
    """
    claim = file.with_name(f"{file.name}.claim")
    deadline = time.monotonic() + CLAIM_SECONDS
    while not file.exists():
        try:
            os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        except FileExistsError:
            if time.monotonic() > deadline:  # its process ended in between
                raise
            time.sleep(0.05)
            continue
        try:
            if not file.exists():
                aside.replace(file)
        finally:
            claim.unlink(missing_ok=True)
