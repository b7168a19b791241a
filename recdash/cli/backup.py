"""``recdash backup``, ``restore`` and ``gc``: copies of a store, and files that it no longer needs."""

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
    if done.secret_left:
        say(
            "The secret that signs links was not restored, because other stores in the same folder of files "
            "use the one there. Links of the backup do not open here.",
            err=True,
        )
    files = f"{many(done.n_files, 'file')} ({_size(done.n_bytes)})"
    say(f"Restored {files} from the backup of {done.created:%Y-%m-%d %H:%M} UTC.")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only count the files.")
@click.pass_context
def gc(context: click.Context, *, dry_run: bool) -> None:
    """Remove stored files that nothing needs and that are older than a day (garbage collection).

    Such files are left by uploads that failed. A deletion removes its own files at once. Exits with 1 if it
    cannot tell which files are needed.
    """
    garbage = open_workspace().maintenance.collect_garbage(dry_run=dry_run)
    if garbage.refused:
        say(f"Nothing was removed: {garbage.refused}.", err=True)
        context.exit(1)
    verb = "Would remove" if dry_run else "Removed"
    say(f"{verb} {many(garbage.n_files, 'file')} ({_size(garbage.n_bytes)}).")


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"
