"""``recdash check``: is all that is stored what was written?"""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from recdash.cli.terminal import say, say_lines
from recdash.errors import Problem, StoreError

FORMATS = click.Choice(["text", "json"])


@click.command()
@click.option("--format", "form", type=FORMATS, default="text", show_default=True)
@click.pass_context
def check(context: click.Context, form: str) -> None:
    """Read everything that is stored, rows and files; name what is damaged or lost; then exit with 1.

    Each line says what it is, what was found, and how it is repaired.
    """
    wrong = _everything_wrong()
    if form == "json":
        say_lines(json.dumps([asdict(problem) for problem in wrong], ensure_ascii=False, indent=2))
    elif wrong:
        for problem in wrong:
            say(str(problem))
    else:
        say("Everything that is stored is what was written.")
    context.exit(1 if wrong else 0)


def _everything_wrong() -> list[Problem]:
    """One problem where the store cannot be opened at all."""
    from recdash.service import Workspace

    try:
        return Workspace.open().audit.check()
    except StoreError as error:
        return [Problem("unusable", "store", str(error), "")]
