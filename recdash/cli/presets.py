"""``recdash presets``: lists the presets, and whether each reproduces its library's numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from recdash.cli.options import form_option
from recdash.cli.terminal import say_json, say_lines
from recdash.formatting.text_table import text_table

if TYPE_CHECKING:
    from recdash.metrics.agreement import PresetAgreement


@click.command()
@click.argument("name", required=False)
@form_option
def presets(name: str | None, form: str) -> None:
    """List the presets and whether each reproduces the numbers of the library it is named after.

    With the NAME of a preset, list its metrics.
    """
    from recdash.metrics import preset
    from recdash.metrics.agreement import agreement_table

    agreements = [row for row in agreement_table() if name is None or row.preset == preset(name).name]
    if form == "json":
        say_json([asdict(row) for row in agreements])
    elif name is None:
        overview = _overview(agreements)
        say_lines(text_table(overview, len(overview[0])))
    else:
        say_lines(text_table([["metric", "library"], *([row.spec, row.sentence()] for row in agreements)], 2))


def _overview(agreements: list[PresetAgreement]) -> list[list[str]]:
    """Returns a header and one row per preset, with the number of its metrics in each state of agreement."""
    from recdash.metrics.agreement import WORDS

    names = dict.fromkeys(agreement.preset for agreement in agreements)
    rows = []
    for name in names:
        of_preset = [agreement for agreement in agreements if agreement.preset == name]
        counts = [str(sum(agreement.state == state for agreement in of_preset)) for state in WORDS]
        rows.append([name, f"{of_preset[0].library} {of_preset[0].version}".strip(), *counts])
    return [["preset", "library", *WORDS.values()], *rows]
