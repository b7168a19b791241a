"""``recdash backup`` and ``restore``: copies of a store."""

from __future__ import annotations

from pathlib import Path

import click

from recdash.cli.options import open_workspace
from recdash.cli.terminal import say
from recdash.formatting.wording import many


@click.command()
@click.argument("target", type=Path)
def backup(target: Path) -> None:
    """Write a backup of the store to TARGET, a new folder or a new file that ends in .tar.

    The dashboard may be running. The backup holds the database, all stored files and the secret that signs
    links, with a hash of each: keep it where only you can read it.
    """
    done = open_workspace().maintenance.back_up(target)
    for problem in done.problems:
        say(f"not in the backup: {problem}", err=True)
    say(f"Backed up {many(done.n_files, 'file')} ({_size(done.n_bytes)}) to {done.path}.")


@click.command()
@click.argument("source", type=Path, metavar="BACKUP")
@click.option("--replace", is_flag=True, help="Replace a store that holds data; it is kept aside.")
def restore(source: Path, *, replace: bool) -> None:
    """Restore the store from BACKUP, after verifying the hash of every file in it.

    Stop the dashboard first. To show again what was archived, see unarchive.
    """
    from recdash.service.access.maintenance import restore as restore_store

    done = restore_store(source, replace=replace)
    for folder in done.aside:
        say(f"The replaced store is in {folder}.")
    for sha256 in done.missing:
        say(f"missing, as when the backup was written: file {sha256}", err=True)
    files = f"{many(done.n_files, 'file')} ({_size(done.n_bytes)})"
    say(f"Restored {files} from the backup of {done.created:%Y-%m-%d %H:%M} UTC.")


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"
