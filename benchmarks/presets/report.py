"""docs/presets.md: the preset table as Markdown, from the recorded agreement alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.presets.tables import WORLDS
from recdash.metrics import METRICS, PRESETS
from recdash.metrics.agreement import PresetAgreement, agreement_table, preset_agreement
from recdash.metrics.presets import preset

MARKS = {
    "own": "own",
    "equal": "**equal**",
    "different": "different",
    "documented": "not run",
    "not offered": "–",
}
HEAD = """# Presets and the libraries they are named after

This page is made by `make presets` (`python -m benchmarks.presets`); do not edit it. Each library is
installed in an environment of its own and scores random tables. Its numbers are compared
with those of recdash under the preset, user by user if the library gives them.

- **equal**: both numbers are the same, up to the largest difference given below.
- different: the number of recdash differs, for the reason given below. `recdash evaluate` warns of it.
- not run: the formula follows the library's documentation or source code; the library was not run.
- –: the library does not offer the metric. Under its preset recdash uses its own definition, and says so.
- own: the definition of recdash.
"""


def page(presets: Mapping[str, Any]) -> str:
    """The whole page."""
    parts = [
        HEAD,
        overview(),
        tables_words(),
        *(section(name, presets[name]) for name in PRESETS if name in presets),
    ]
    return "\n".join(parts)


def overview() -> str:
    """Metrics down, presets across."""
    known = {
        (agreement.preset, agreement.spec.partition("(")[0]): agreement.state
        for agreement in agreement_table()
    }
    rows = [[f"`{metric}`", *(MARKS[known[name, metric]] for name in PRESETS)] for metric in METRICS]
    return "\n".join(
        ["## Preset × metric", "", *markdown([["", *(f"`{name}`" for name in PRESETS)], *rows]), ""]
    )


def tables_words() -> str:
    lines = [f"- *{name}*: {words}." for name, words in WORLDS.items()]
    drawn = "Random, with a fixed seed, 40 users and 60 items:"
    return "\n".join(["## The tables", "", drawn, "", *lines, ""])


def section(name: str, known: Mapping[str, Any]) -> str:
    """One preset: its numbers beside the library's, and what recdash does not reproduce."""
    rows = [["the library's number", "recdash", "state", "values", "largest difference", "because"]]
    rows += [_row(name, row) for row in known["rows"]]
    return "\n".join(
        [f"## {known['library']} · `{name}`", "", _about(name, known), "", *markdown(rows), "",
         *_not_reproduced(known)]
    )  # fmt: skip


def _about(name: str, known: Mapping[str, Any]) -> str:
    ran = f"Not run: {known['not_run']}." if known["not_run"] else f"Version {known['version']}, compared on "
    return f"{ran}{'' if known['not_run'] else ', '.join(known['worlds']) + '.'} {preset(name).why}"


def _row(name: str, row: Mapping[str, Any]) -> list[str]:
    agreement: PresetAgreement = preset_agreement(name, _under(name, row["spec"]))
    measured = f"{row['values']:,}" if row["values"] else ""
    largest = f"{row['largest']:.0e}" if row["values"] else ""
    return [row["name"], f"`{agreement.spec}`", MARKS[agreement.state], measured, largest, row["because"]]


def _under(name: str, spec: str) -> str:
    from recdash.metrics import define, parse

    return str(define(preset(name).apply(parse(spec))))


def _not_reproduced(known: Mapping[str, Any]) -> Iterator[str]:
    if known["not_reproduced"]:
        yield "Printed by the library, without a definition in recdash:"
        yield ""
        yield from (f"- {name}: {why}." for name, why in known["not_reproduced"].items())
        yield ""


def markdown(rows: list[list[str]]) -> Iterator[str]:
    """The rows as a table, the first being the head."""
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    yield f"| {' | '.join(cells[0])} |"
    yield "|" + "---|" * len(cells[0])
    yield from (f"| {' | '.join(row)} |" for row in cells[1:])
