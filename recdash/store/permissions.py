"""Takes from others the permission to read a store that was made, or copied, with wider permissions."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG

from recdash.store.secret import NAME as SECRET

logger = logging.getLogger(__name__)
OF_OTHERS = 0o077
BESIDE_DATABASE = ("", "-wal", "-shm", "-journal", ".lock", ".lock.queue")


def tighten(database: Path | None, root: Path, folder: Path) -> None:
    """Makes the files of a store 0600 and its own folder 0700; logs a warning for those of another owner.

    ``database`` is its file or a link to it, if it has one. Folders that the store does not own, such as
    ``root``, stay as they are. Files in a folder that only its owner can open are not looked at.
    """
    if os.name != "posix":  # elsewhere modes say nothing about other users
        return
    files = [] if database is None else [Path(f"{database.resolve()}{end}") for end in BESIDE_DATABASE]
    paths = [*files, root / SECRET]
    if _is_open(folder):
        paths += _below(folder)
    refused = [path for path in [*paths, folder] if _is_open(path) and not _close(path)]
    if refused:
        others = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
        logger.warning(
            "Other users of this machine can open %s%s, which belong to another user.", refused[0], others
        )


def _below(folder: Path) -> Iterator[Path]:
    for name, folders, files in os.walk(folder):
        yield from (Path(name, below) for below in [*folders, *files])


def _is_open(path: Path) -> bool:
    """Returns whether others may open a file or folder; False for links, and for what does not exist."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return bool(mode & OF_OTHERS) and (S_ISREG(mode) or S_ISDIR(mode))


def _close(path: Path) -> bool:
    """Takes all permissions from others, and returns whether that was possible."""
    try:
        path.chmod(S_IMODE(path.stat().st_mode) & ~OF_OTHERS)
    except OSError:
        return False
    return True
