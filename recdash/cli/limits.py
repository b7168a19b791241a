"""``recdash limits``: the limits of a file, and the settings that change them."""

from __future__ import annotations

import click

from recdash.cli.options import form_option
from recdash.cli.terminal import say_json, say_lines
from recdash.formatting.text_table import text_table


@click.command()
@form_option
def limits(form: str) -> None:
    """List the limits of one file, with the settings that change them.

    They apply to files on the page Add data and to those of `recdash add` and `recdash inspect` alike.
    """
    from recdash.settings import settings

    rows = settings().limit_rows()
    if form == "json":
        say_json(rows)
    else:
        head = ["setting", "counts", "limit", "default"]
        lines = [[row["setting"], row["counts"], f"{row['limit']:,}", f"{row['default']:,}"] for row in rows]
        say_lines(text_table([head, *lines], 2))
