"""``recdash check``: checks whether stored data is unchanged."""

from __future__ import annotations

from dataclasses import asdict

import click

from recdash.cli.options import form_option
from recdash.cli.terminal import say, say_json
from recdash.errors import Problem, StoreError


@click.command()
@form_option
@click.pass_context
def check(context: click.Context, form: str) -> None:
    """Read all stored rows and files, list what is damaged or missing, and exit with 1 if anything is.

    Each line says what it is, what was found, and how it is repaired.
    """
    from recdash.service import Workspace

    try:
        problems = Workspace.open().audit.check()
    except StoreError as error:  # the store cannot be opened
        problems = [Problem("unusable", "store", str(error), "")]
    if form == "json":
        say_json([asdict(problem) for problem in problems])
    elif problems:
        for problem in problems:
            say(str(problem))
    else:
        say("All stored data is intact.")
    context.exit(1 if problems else 0)
