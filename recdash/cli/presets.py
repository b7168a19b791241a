"""``recdash presets``: the presets, and whether each gives the numbers of its library."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from recdash.cli.output import aligned
from recdash.cli.terminal import say_lines

if TYPE_CHECKING:
    from recdash.metrics.agreement import PresetAgreement


@click.command()
@click.argument("name", required=False)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def presets(name: str | None, form: str) -> None:
    """Whether each preset gives the numbers of the library it is named after.

    With the NAME of a preset: metric by metric.
    """
    from recdash.metrics import preset
    from recdash.metrics.agreement import agreement_table

    found = [one for one in agreement_table() if name is None or one.preset == preset(name).name]
    if form == "json":
        say_lines(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
    else:
        rows = _overview(found) if name is None else _metric_by_metric(found)
        say_lines(aligned(rows, len(rows[0])))


def _overview(found: list[PresetAgreement]) -> list[list[str]]:
    """A row for each preset: how many of the metrics are in each state."""
    from recdash.metrics.agreement import WORDS

    names = dict.fromkeys(one.preset for one in found)
    rows = []
    for name in names:
        of_preset = [one for one in found if one.preset == name]
        counts = [str(sum(one.state == state for one in of_preset)) for state in WORDS]
        rows.append([name, f"{of_preset[0].library} {of_preset[0].version}".strip(), *counts])
    return [["preset", "library", *WORDS.values()], *rows]


def _metric_by_metric(found: list[PresetAgreement]) -> list[list[str]]:
    return [["metric", "library"], *([one.spec, one.sentence()] for one in found)]
