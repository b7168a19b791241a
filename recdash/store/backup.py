"""Copies a store to a backup while it is in use, and restores a store from one.

A backup is a folder, or a ``.tar`` file with the same content: ``manifest.json`` with the hash of every
file, the database, the artifacts and the secret. It gets its name only after all of it is on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import tarfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from recdash.errors import EvidenceDamaged, NotFound, Problem, StoreError
from recdash.store.artifacts import CHUNK_BYTES, Artifacts, HashingFile, files_in, make_private, sync
from recdash.store.audit_key import NAME as AUDIT_KEY
from recdash.store.connections import Database, DatabaseUrl, sqlite_driver
from recdash.store.ownership import ID, is_shared
from recdash.store.schema import refuse_newer
from recdash.store.secret import NAME as SECRET
from recdash.store.write_lock import write_lock_of_file
from recdash.version import __version__

FORMAT = 2
MANIFEST, DATABASE, ARTIFACTS = "manifest.json", "recdash.db", "artifacts"
ALLOWED = re.compile(
    rf"{re.escape(DATABASE)}|{re.escape(SECRET)}|{re.escape(AUDIT_KEY)}|"
    rf"{ARTIFACTS}/[0-9a-f]{{2}}/[0-9a-f]{{64}}\.(parquet|bin)"
)
INTERRUPTED = re.compile(r"\..+\.[0-9a-f]{8}\.partial(\.tar)?")
"""Names of backups that are being written."""
KILLED_AFTER = timedelta(days=1)
"""Age from which a backup is no longer being written."""
MANIFEST_BYTES = 256 * 2**20
MOST_NAMED = 5
POSTGRESQL_BACKUP = (
    "recdash backs up SQLite only. For PostgreSQL use pg_dump for the database {place}, then copy the folder "
    "of the artifacts, {root}."
)
POSTGRESQL_RESTORE = (
    "recdash restores SQLite only. For PostgreSQL use pg_restore, or psql, for the database, then copy the "
    "artifacts back to {root}."
)


@dataclass(frozen=True)
class BackupSummary:
    """A written backup. ``problems`` are what the store lacked or had damaged, and what the backup therefore
    lacks.
    """

    path: Path
    n_files: int
    n_bytes: int
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class RestoreSummary:
    """A restored store. ``aside`` are the folders in which the replaced store was kept; empty if there was
    none. ``secret_left`` tells that the backup's secret was not restored, as other stores use another one.
    """

    created: datetime
    n_files: int
    n_bytes: int
    aside: tuple[Path, ...] = ()
    missing: tuple[str, ...] = ()
    secret_left: bool = False


# ── backup ───────────────────────────────────────────────────────────────────────────────────


def write_backup(database: Database, artifacts: Artifacts, root: Path, target: Path) -> BackupSummary:
    """Writes a backup of an open store to ``target``, a new folder or a new file that ends in ``.tar``.

    Others can read and write meanwhile; the backup has the state of one moment. Raises ``StoreError`` if
    ``target`` exists, is inside the store's folder or cannot be written, and for PostgreSQL.
    """
    if database.file is None:
        raise StoreError(POSTGRESQL_BACKUP.format(place=database.place, root=root))
    target = target.absolute()
    if os.path.lexists(target):
        raise StoreError(f"{target} exists already. Choose another name for the backup.")
    if target.resolve().is_relative_to(artifacts.folder.resolve()):
        # a restore of another store removes this folder
        raise StoreError(f"{target} is inside the store's folder. Choose another for the backup.")
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        make_private(target.parent)
        _remove_interrupted(target.parent)
        partial.mkdir(0o700)
        summary = _write(database, artifacts, root, partial, target)
    except (OSError, sqlite_driver().Error) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(f"The backup {target} cannot be written: {why}. Nothing was kept of it.") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):
            _tar_of(partial).unlink()
    return summary


def _remove_interrupted(folder: Path) -> None:
    """Removes what backups into a folder left that were killed more than a day ago; what cannot be removed
    stays, such as the file of another person, as the new backup does not need it to go.
    """
    before = time.time() - KILLED_AFTER.total_seconds()
    with suppress(PermissionError):  # a folder may be written to, but not listed
        for left in folder.iterdir():
            if INTERRUPTED.fullmatch(left.name):
                with suppress(OSError):
                    _remove_if_older(left, before)


def _remove_if_older(path: Path, before: float) -> None:
    if path.lstat().st_mtime >= before:
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write(
    database: Database, artifacts: Artifacts, root: Path, partial: Path, target: Path
) -> BackupSummary:
    lost = _copy_store(database, artifacts, partial)
    if lost:
        # Something may have been deleted between the copies of database and files. While this holds the
        # lock, nothing can be.
        with database.write_lock.hold():
            lost = _copy_store(database, artifacts, partial)
    for own in (root / SECRET, artifacts.folder / AUDIT_KEY):
        with suppress(FileNotFoundError), own.open("rb") as secret:
            _copy(secret, partial / own.name)
    files = {
        str(path.relative_to(partial)): {"sha256": _hash_of(path), "bytes": path.stat().st_size}
        for path in sorted(partial.rglob("*"))
        if path.is_file()
    }
    schema, store_id = _identity(partial / DATABASE)
    manifest = {
        "format": FORMAT,
        "recdash": __version__,
        "created": datetime.now(UTC).isoformat(),
        "schema": schema,
        "store": store_id,
        "files": files,
        "missing": sorted(lost),
    }
    text = json.dumps(manifest, indent=1).encode()
    with closing(HashingFile(partial / MANIFEST)) as file:
        file.write(text)
        file.seal()
    _sync_below(partial)
    if target.suffix == ".tar":
        packed = _packed(partial)
        os.link(packed, target)  # fails if there is such a file by now
    else:
        partial.rename(target)
    sync(target.parent)
    n_bytes = sum(int(str(file["bytes"])) for file in files.values())
    return BackupSummary(target, len(files), n_bytes, tuple(lost.values()))


def _copy_store(database: Database, artifacts: Artifacts, folder: Path) -> dict[str, Problem]:
    """Copies the database, and those of its files that are not in ``folder`` yet; removes from there what the
    database does not need.

    Returns the files that cannot be copied: {sha256: problem}.
    """
    copy = folder / DATABASE
    copy.unlink(missing_ok=True)
    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite_driver().connect(str(copy), isolation_level=None)) as new:
        source = database.reader.raw_connection()
        try:
            source.driver_connection.backup(new, pages=-1)  # type: ignore[union-attr]
        finally:
            source.close()
        new.execute("PRAGMA journal_mode=DELETE").fetchall()
        needed = dict.fromkeys(row[0] for row in new.execute("SELECT sha256 FROM artifact ORDER BY sha256"))
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    lost = {}
    for sha256 in needed:
        try:
            _copy_artifact(artifacts, sha256, folder / ARTIFACTS)
        except (NotFound, EvidenceDamaged) as error:
            fix = "Run recdash check, which says what needs it."
            lost[str(sha256)] = Problem("not-in-backup", f"file {sha256}", str(error), fix)
    for path in [path for path in files_in(folder / ARTIFACTS) if path.stem not in needed]:
        path.unlink()
    return lost


def _copy_artifact(artifacts: Artifacts, sha256: str, folder: Path) -> None:
    source = artifacts.path(sha256)
    copy = folder / sha256[:2] / source.name
    if copy.exists():
        return
    make_private(copy.parent)
    try:
        with source.open("rb") as stream:
            copied = _copy(stream, copy)
    except FileNotFoundError:
        raise NotFound(f"The stored file {source} was removed.") from None
    if copied != sha256:
        copy.unlink()
        raise EvidenceDamaged(f"The stored file {source} changed while it was copied.")


def _copy(source: IO[bytes], target: Path) -> str:
    """Copies a file to a new one that only its owner can read, and returns the sha256 of what was copied."""
    with closing(HashingFile(target)) as file:
        while chunk := source.read(CHUNK_BYTES):
            file.write(chunk)
        return file.seal()


def _tar_of(partial: Path) -> Path:
    return partial.with_name(f"{partial.name}.tar")


def _packed(folder: Path) -> Path:
    """Returns a tar file with the content of a folder, the manifest first."""
    packed = _tar_of(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    with os.fdopen(os.open(packed, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(paths, key=lambda path: path.name != MANIFEST):
                tar.add(path, str(path.relative_to(folder)), recursive=False)
        file.flush()
        os.fsync(file.fileno())
    return packed


# ── reading a backup ─────────────────────────────────────────────────────────────────────────


class Backup:
    """A backup that was opened for reading; its hashes are not verified yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tar = None if path.is_dir() else _open_tar(path)
        self.manifest = self._read_manifest()
        self.files: Mapping[str, Mapping[str, Any]] = self.manifest["files"]

    def _read_manifest(self) -> dict[str, Any]:
        try:
            with self.open(MANIFEST) as file:
                manifest = json.loads(file.read(MANIFEST_BYTES))
            is_ours = isinstance(manifest, dict) and isinstance(manifest.get("format"), int)
        except (OSError, ValueError, RecursionError, KeyError):
            is_ours = False
        if not is_ours:
            raise StoreError(f"{self.path} is not a backup of recdash: it has no readable {MANIFEST}.")
        if manifest["format"] > FORMAT:
            version = manifest.get("recdash", "?")
            raise StoreError(f"The backup {self.path} was written by a newer recdash ({version}). Update it.")
        if not _is_whole(manifest):
            raise StoreError(f"The backup {self.path} is damaged: its {MANIFEST} is not what was written.")
        result: dict[str, Any] = manifest
        return result

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Yields a file of the backup, which must be a regular file."""
        if self._tar is not None:
            member = self._tar.extractfile(self._tar.getmember(name))
            if member is None:
                raise OSError(f"{name} is not a regular file")
            with member:
                yield member
            return
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(self.path / name, flags), "rb") as file:
            yield file

    def damage(self) -> list[str]:
        """Reads every file, and returns the names of those that are missing or differ from the manifest."""
        return [name for name, entry in self.files.items() if self._hash(name) != entry["sha256"]]

    def _hash(self, name: str) -> str | None:
        try:
            with self.open(name) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        except (OSError, KeyError, tarfile.TarError):
            return None

    def close(self) -> None:
        if self._tar is not None:
            self._tar.close()


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    """Returns whether a manifest has all that a restore reads, so that it cannot fail half-way."""
    files, created = manifest.get("files"), manifest.get("created")
    if not isinstance(files, dict) or not all(map(_is_entry, files.items())) or DATABASE not in files:
        return False
    try:
        datetime.fromisoformat(str(created))
    except ValueError:
        return False
    return isinstance(manifest.get("missing", []), list)


def _is_entry(entry: tuple[Any, Any]) -> bool:
    name, facts = entry
    is_named = bool(ALLOWED.fullmatch(name)) and isinstance(facts, dict)
    return is_named and isinstance(facts.get("sha256"), str) and isinstance(facts.get("bytes", 0), int)


def _open_tar(path: Path) -> tarfile.TarFile:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise StoreError(f"{path} is not a backup of recdash: it is neither a folder nor a regular file.")
    try:
        return tarfile.open(path, mode="r:")
    except (OSError, tarfile.TarError) as error:
        raise StoreError(f"{path} is not a backup of recdash: {error}.") from error


# ── restore ──────────────────────────────────────────────────────────────────────────────────


def restore_backup(path: Path, url: DatabaseUrl, root: Path, *, replace: bool = False) -> RestoreSummary:
    """Restores the store of a backup, after verifying the hash of every file in it.

    A store that holds data is refused unless ``replace``, which keeps it aside. The database appears after
    its files and at once: if the process dies before, the store is as it was. Then the secret follows, unless
    other stores use the one that is there. Raises ``StoreError`` for a damaged backup, one of a newer schema,
    a store that another process has open in WAL mode, and PostgreSQL.
    """
    if url.file is None:
        raise StoreError(POSTGRESQL_RESTORE.format(root=root))
    with closing(Backup(path)) as backup:
        refuse_newer(str(backup.manifest.get("schema")), str(path))
        if damaged := backup.damage():
            named = ", ".join(damaged[:MOST_NAMED]) + (" …" if len(damaged) > MOST_NAMED else "")
            raise StoreError(
                f"The backup {path} is damaged: {len(damaged)} of its {len(backup.files)} files are missing "
                f"or not what was written ({named}). Nothing was changed. Use another backup."
            )
        try:
            make_private(url.file.parent)
            file = url.file.resolve()  # of a link, SQLite's logs lie beside the file, and the link stays
            with write_lock_of_file(file).hold():
                return _restore(backup, file, root, replace=replace)
        except OSError as error:
            raise StoreError(f"The backup cannot be restored: {error}. The store is as it was.") from error


def _restore(backup: Backup, file: Path, root: Path, *, replace: bool) -> RestoreSummary:
    holds_data = _holds_data(file)
    if holds_data and not replace:
        raise StoreError(
            f"The store {file} already holds data. Nothing was changed. Use --replace to restore the backup "
            "in its place; it is kept aside."
        )
    if file.exists():
        _refuse_if_open(file)
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(4)}.restore")
    # The folder of files may be that of several databases, which are restored at once.
    mark = hashlib.sha256(os.fsencode(file.resolve())).hexdigest()[:8]
    fresh_secret, fresh_key = root / f".{SECRET}.{mark}", root / f".{AUDIT_KEY}.{mark}"
    # What a restore of this database left that was killed.
    for left in (*file.parent.glob(f".{file.name}.*.restore"), fresh_secret, fresh_key):
        left.unlink(missing_ok=True)
    try:
        with backup.open(DATABASE) as stream:
            _expect(_copy(stream, fresh), backup.files[DATABASE]["sha256"])
        schema, store_id = _identity(fresh)
        refuse_newer(schema, str(backup.path))
        artifacts = Artifacts(root / f"store-{store_id}")
        for name, entry in backup.files.items():
            if name.startswith(ARTIFACTS):
                with backup.open(name) as stream:
                    _expect(artifacts.put_file(stream), entry["sha256"])
        old = _store_id(file)
        is_other = _is_other_secret(backup, root)
        used = is_other and _is_used_by_others(root, file if file.exists() else fresh, {old, store_id})
        if is_other and not used:
            make_private(root)
            _copy_secret(backup, SECRET, fresh_secret)
        if AUDIT_KEY in backup.files:
            make_private(artifacts.folder)
            _copy_secret(backup, AUDIT_KEY, fresh_key)
            if not (artifacts.folder / AUDIT_KEY).exists():  # else a store that is opened now creates one
                _put_secret(fresh_key, artifacts.folder / AUDIT_KEY)
        is_replaced = holds_data or _beside(file) or (fresh_secret.exists() and (root / SECRET).exists())
        aside = _keep_aside(file, root) if is_replaced else ()
        _remove_beside(file)
        fresh.replace(file)
        with already_restored(aside):
            sync(file.parent)
            _put_secret(fresh_secret, root / SECRET)
            _put_secret(fresh_key, artifacts.folder / AUDIT_KEY)
            if old not in (None, store_id) and not is_shared(root / f"store-{old}", str(file)):
                shutil.rmtree(root / f"store-{old}", ignore_errors=True)  # kept aside
    finally:
        fresh.unlink(missing_ok=True)
        fresh_secret.unlink(missing_ok=True)
        fresh_key.unlink(missing_ok=True)
    n_bytes = sum(int(entry.get("bytes", 0)) for entry in backup.files.values())
    created = datetime.fromisoformat(str(backup.manifest["created"]))
    missing = tuple(map(str, backup.manifest.get("missing", ())))
    return RestoreSummary(created, len(backup.files), n_bytes, aside, missing, secret_left=used)


def _expect(sha256: str, expected: Any) -> None:
    if sha256 != expected:
        raise StoreError("The backup changed while it was read. The store is as it was.")


@contextmanager
def already_restored(aside: Sequence[Path]) -> Iterator[None]:
    """Adds to errors of the block that the backup was restored, and where the store before it is."""
    try:
        yield
    except (OSError, StoreError) as error:
        kept = f" The store before it is in {' and '.join(map(str, aside))}." if aside else ""
        raise StoreError(f"The backup was restored, but not all is done: {error}{kept}") from error


def _is_other_secret(backup: Backup, root: Path) -> bool:
    """Returns whether the backup has a secret, and not the one that is in the folder of files."""
    if SECRET not in backup.files:
        return False
    with backup.open(SECRET) as stream, suppress(FileNotFoundError):
        return stream.read() != (root / SECRET).read_bytes()
    return True


def _is_used_by_others(root: Path, database: Path, own: Collection[str | None]) -> bool:
    """Returns whether the secret in the folder of files is also that of other stores or databases."""
    if not (root / SECRET).exists():
        return False
    folders = {f"store-{store_id}" for store_id in own}
    return any(
        folder.name not in folders or is_shared(folder, str(database)) for folder in root.glob("store-*")
    )


def _copy_secret(backup: Backup, name: str, fresh: Path) -> None:
    with backup.open(name) as stream:
        _expect(_copy(stream, fresh), backup.files[name]["sha256"])


def _put_secret(fresh: Path, secret: Path) -> None:
    """Makes ``fresh`` the secret, if there is such a file."""
    if fresh.exists():
        fresh.replace(secret)
        sync(secret.parent)


def _keep_aside(file: Path, root: Path) -> tuple[Path, ...]:
    """Links the store's database and files into new folders, and returns these.

    If both are on one file system, the folder is a store that can be opened.
    """
    name = f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
    aside = file.parent / name
    aside.mkdir(mode=0o700)
    for part in (file, *_beside(file)):
        if part.exists():
            os.link(part, aside / part.name)
    if not root.is_dir():
        _sync_below(aside)
        return (aside,)
    is_near = root.stat().st_dev == aside.stat().st_dev
    of_files = aside / ARTIFACTS if is_near else root / name
    of_files.mkdir(mode=0o700)
    store_id = _store_id(file)
    if store_id is not None:
        own = root / f"store-{store_id}"
        for artifact in files_in(own):
            copy = of_files / own.name / artifact.parent.name / artifact.name
            make_private(copy.parent)
            os.link(artifact, copy)
        if (own / AUDIT_KEY).exists():
            make_private(of_files / own.name)
            os.link(own / AUDIT_KEY, of_files / own.name / AUDIT_KEY)
    if (root / SECRET).exists():
        os.link(root / SECRET, of_files / SECRET)
    folders = (aside,) if is_near else (aside, of_files)
    _sync_below(*folders)
    return folders


def _sync_below(*folders: Path) -> None:
    """Waits until the names of these folders, and all names in them, are on disk."""
    for folder in folders:
        for path in (*(path for path in folder.rglob("*") if path.is_dir()), folder, folder.parent):
            sync(path)


def _beside(file: Path) -> list[Path]:
    """Returns the logs that SQLite keeps beside a database while it is open, or after its process died."""
    names = (file.name + end for end in ("-wal", "-shm", "-journal"))
    return [path for path in map(file.with_name, names) if os.path.lexists(path)]


def _remove_beside(file: Path) -> None:
    """Removes the logs beside a database that is to be replaced; SQLite would apply them to the new one."""
    logs = _beside(file)
    for log in logs:
        log.unlink(missing_ok=True)
    if logs:
        sync(file.parent)


def _refuse_if_open(file: Path) -> None:
    """Raises ``StoreError`` if another process has the database open in WAL mode; else leaves it without a
    WAL file.

    SQLite leaves the mode WAL only for its last connection. With a rollback journal, as on a network file
    system, only a transaction that runs now is noticed, not a process that has the database open. A file
    that is no database is not refused.
    """
    driver = sqlite_driver()
    try:
        with closing(driver.connect(f"{file.as_uri()}?mode=rw", uri=True, isolation_level=None)) as only:
            only.execute("PRAGMA busy_timeout=2000").fetchall()
            mode = only.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except driver.OperationalError as error:
        if "locked" not in str(error):
            return
        mode = "locked"
    except driver.DatabaseError:
        return
    if mode != "delete":
        raise StoreError(f"The store {file} is open in another process. Stop the dashboard first.")


def _holds_data(file: Path) -> bool:
    """Returns whether anything was ever stored in the database; also true for a file that cannot be read."""
    if not file.exists() or file.stat().st_size == 0:
        return False
    tables = _column(file, "SELECT name FROM sqlite_master WHERE type = 'table'")
    if tables is None:
        return True
    return any(
        bool(_column(file, f"SELECT 1 FROM {table} LIMIT 1"))  # noqa: S608 - names from here
        for table in ("experiment", "artifact", "deed")
        if table in tables
    )


def _store_id(file: Path) -> str | None:
    ids = _column(file, "SELECT id FROM store") if file.exists() else None
    return str(ids[0]) if ids and ID.fullmatch(str(ids[0])) else None


def _identity(file: Path) -> tuple[str, str]:
    """Returns schema and store id of a database. Raises ``StoreError`` if it is not one of recdash."""
    schema, store_id = _column(file, "SELECT version_num FROM alembic_version"), _store_id(file)
    if not schema or store_id is None:
        raise StoreError(
            "The database in the backup is not one of recdash, or of a release without store ids."
        )
    return str(schema[0]), store_id


def _column(file: Path, query: str) -> Sequence[Any] | None:
    """Returns the first column of a query's rows; None if the file cannot be read."""
    driver = sqlite_driver()
    try:
        with closing(driver.connect(f"{file.as_uri()}?mode=rw", uri=True, isolation_level=None)) as database:
            return [row[0] for row in database.execute(query)]
    except driver.Error:
        return None


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
