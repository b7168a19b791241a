"""``recdash inspect``: check files as if they were added, without storing anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.input_file import InputFile
from recdash.cli.options import ACCEPT_HELP, columns_option, refuse_option
from recdash.cli.output_file import writing
from recdash.cli.terminal import say, say_json

if TYPE_CHECKING:
    from recdash.evaluation.inspection import Inspection
    from recdash.ingest import Sheet

KINDS = (
    "run", "truth", "catalogue", "train", "predictions", "users", "vectors", "similarity", "sessions",
    "exposures", "events", "served", "aggregates", "interleaving",
)  # fmt: skip
REJECTED = 1


@click.command()
@click.argument("files", nargs=-1, required=True, type=InputFile(), metavar="FILE…")
@click.option("--as", "kind", type=click.Choice(KINDS), help="What the files are (default: recognised).")
@columns_option
@click.option("--truth", type=InputFile(), help="Test set with which the files are compared.")
@click.option("--train", type=InputFile(), help="Training data with which the files are compared.")
@click.option("--catalogue", type=InputFile(), help="Catalogue with which the files are compared.")
@click.option("--accept-unknown-ids", is_flag=True, help=ACCEPT_HELP)
@refuse_option
@click.option("--rejects", type=Path, help="Write the rows that are dropped, and why, to this CSV file.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def inspect(
    context: click.Context, /, files: Sequence[Path | Sheet], rejects: Path | None, form: str, **how: Any
) -> None:
    """Check each FILE as if it were added, and list its problems and notices. Nothing is stored.

    Several files are compared with each other, as they are when added: name all of them in one call.

    A file is accepted, accepted with a mapping (how it is read was guessed), accepted with a warning, or
    rejected (exit status 1). "-" reads standard input. FILE.xlsx#SHEET names a sheet of a workbook,
    and s3://…, https://… or 'sql:URL QUERY' a table that is elsewhere. Each
    table of a zip archive is a file of its own.
    """
    from recdash.evaluation.inspection import inspect_together, rejects_csv
    from recdash.ingest import Limits
    from recdash.settings import settings

    limits = Limits(**settings().limits())
    inspections = inspect_together(files, limits=limits, **how)
    if form == "json":
        facts = [inspection.as_dict() for inspection in inspections]
        say_json(facts[0] if len(facts) == 1 else facts)
    else:
        for inspection in inspections:
            _say(inspection)
    if rejects is not None:
        with writing("--rejects", rejects):
            rejects.write_text(rejects_csv(inspections), encoding="utf-8")
    if any(inspection.action == "reject" for inspection in inspections):
        context.exit(REJECTED)


def _say(inspection: Inspection) -> None:
    rows = "" if inspection.rows is None else f"{inspection.rows:,} row{'' if inspection.rows == 1 else 's'}"
    what = [inspection.action, inspection.kind or "", rows, inspection.format]
    say(f"{inspection.file}: {' · '.join(filter(None, what))}")
    for reason in inspection.taken_for:
        say(f"  {reason}")
    columns = ", ".join(f"{role} = '{column}'" for role, column in inspection.mapping.items())
    if columns:
        say(f"  columns: {columns}")
    for row in inspection.as_dict()["problems"]:
        example = f" For example: {row['example']}." if row["example"] else ""
        say(f"  {row['level']}: {row['place']}: {row['found'].rstrip('.')}. {row['fix']}".rstrip() + example)
        if otherwise := row.get("otherwise"):
            say(f"    {row['done']} {otherwise}")
    if inspection.n_rejects:
        say(f"  rejected rows: {inspection.n_rejects:,} (--rejects FILE lists them)")
