"""``recdash mcp``: answers the questions of assistants."""

from __future__ import annotations

from importlib.util import find_spec

import click

from recdash.cli.options import open_workspace
from recdash.errors import InputError, Problem


@click.command()
def mcp() -> None:
    """Answer the questions of assistants over the Model Context Protocol, on standard input and output.

    It changes nothing: it reads with the role of a viewer.
    """
    if find_spec("mcp") is None:
        fix = "Install it: pip install 'recdash[mcp]'."
        raise InputError(Problem("no-package", "recdash mcp", "the package mcp is not installed", fix))
    from recdash.mcp.server import serve

    serve(open_workspace())
