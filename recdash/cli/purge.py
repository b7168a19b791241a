"""``recdash purge``: removes one user from all stored data."""

from __future__ import annotations

import click

from recdash.cli.options import open_workspace
from recdash.cli.terminal import say
from recdash.formatting.sanitize import visible
from recdash.formatting.wording import many


@click.command()
@click.option("--user", required=True, metavar="ID", help="The user's id, exactly as the dashboard shows it.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", is_flag=True, help="Remove without asking for the id.")
@click.pass_context
def purge(context: click.Context, user: str, *, dry_run: bool, yes: bool) -> None:
    """Remove one user from every stored table, and compute all runs and A/B tests with their rows again.

    Decisions and reports keep the numbers of their time, which name no user. Backups are not changed. Exits
    with 1 if damaged rows could not be searched, or old files could not be removed.
    """
    workspace = open_workspace()
    if not dry_run and not yes:
        typed = click.prompt(f"Type '{visible(user)}' to remove this user's data for good", err=True)
        if typed != user:
            raise click.UsageError("Nothing was removed: the id that was typed is another one.")
    done = workspace.purge.user(
        user, dry_run=dry_run, progress=lambda part, text: say(f"{part:4.0%} {text}", err=True)
    )
    if done.is_empty:
        stored = "table that can be read" if done.left else "stored table"
        say(f"No {stored} has a row of this user. Ids are compared as text: '007' is not '7'.")
    else:
        rows = f"{many(done.n_rows, 'row')} in {many(len(done.experiments), 'experiment')}"
        views = many(len(done.views), "saved view")
        say(f"{'Would remove' if dry_run else 'Removed'} {rows}, {views}.")
        for noun, names in (("run", done.runs), ("test", done.tests)):
            if names:
                verb = "Would compute again" if dry_run else "Computed again"
                say(f"{verb}: {many(len(names), noun)} ({', '.join(names)}).")
    for place in done.mentioned:
        say(f"The id may be mentioned in: {place}. People wrote this text; it was not changed.", err=True)
    if not dry_run:
        say("Backups, downloads and copies elsewhere still have this user; delete or redo them.", err=True)
    if done.left:
        say(f"Not complete: {done.left}.", err=True)
        context.exit(1)
