"""``recdash push``: sends files to a dashboard elsewhere, and stores them there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import NamedFile, Stem, addition_options, form_option, links_of
from recdash.cli.terminal import say, say_json
from recdash.errors import InputError, Problem
from recdash.formatting.sanitize import visible

if TYPE_CHECKING:
    from recdash.ingest import Sheet


@click.command()
@click.argument("experiment")
@click.argument("files", nargs=-1, type=NamedFile(), metavar="FILE...")
@click.option(
    "--source",
    "sources",
    multiple=True,
    help="A table that the server fetches, by the name an admin gave it; RUN=NAME names a run.",
)
@click.option("--server", envvar="RECDASH_SERVER", required=True, help="Address; or set RECDASH_SERVER.")
@click.option("--token", envvar="RECDASH_TOKEN", required=True, help="API token; or set RECDASH_TOKEN.")
@click.option("--tag", "tags", multiple=True, help="A tag for the runs; repeatable.")
@click.option("--control", help="Control variant of the A/B test.")
@click.option("--link", "links", multiple=True, help="Which run a variant served, as VARIANT=RUN.")
@addition_options
@form_option
def push(
    experiment: str,
    files: Sequence[tuple[str, Path | Sheet]],
    server: str,
    token: str,
    *,
    sources: Sequence[str],
    links: Sequence[str],
    tags: Sequence[str],
    refuse: Sequence[str],
    form: str,
    **options: Any,
) -> None:
    """Send files to a dashboard, and store them in EXPERIMENT there, which is created if it does not exist.

    Each FILE is recognised by its columns, as recdash add does; NAME=FILE names a candidate. All of them are
    stored, or none. After a lost connection, and with the same command again, sending continues. Progress
    goes to standard error, except with --format json.
    """
    from recdash.client.connection import Server
    from recdash.client.pushing import FileToPush, SourceToFetch
    from recdash.client.pushing import push as send

    if not files and not sources:
        raise click.UsageError("Name at least one FILE or --source.")
    sent: list[FileToPush | SourceToFetch] = []
    for name, file in files:
        if not isinstance(file, Path):
            fix = "Export the sheet as CSV, or send the whole workbook."
            raise InputError(Problem("not-a-file", str(file), "only whole files can be sent", fix))
        is_named = not isinstance(name, Stem)
        sent.append(FileToPush(file, *((name, "run") if is_named else ())))
    for source in sources:
        run, equals, name = source.rpartition("=")
        sent.append(SourceToFetch(name, *((run, "run") if equals else ())))
    chosen = {
        **options,
        "tags": list(tags),
        "refuse": list(refuse),
        "links": links_of(links, [name for name, _ in files]) or None,
    }
    progress = {} if form == "json" else {"tell": partial(say, err=True)}
    stored = send(Server(server, token), experiment, sent, chosen, **progress)
    for notice in stored["notices"]:
        say(
            f"note: {visible(notice['place'])}: {visible(notice['finding'])}. {visible(notice['fix'])}",
            err=True,
        )
    if form == "json":
        say_json(stored)
        return
    for run in stored["runs"]:
        say(f"{visible(run['name'])}: {'already stored' if run['already_stored'] else 'added'}")
    for test in stored["online_tests"]:
        served = [f", {variant} served {run}" for variant, run in test["links"].items()]
        say(visible(f"{test['name']}: added{''.join(served)}"))
