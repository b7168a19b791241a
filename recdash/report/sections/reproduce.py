"""How to have every number again: hashes of the tables, versions, and the commands."""

from __future__ import annotations

from recdash.report.command import command
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Command, Number, Paragraph, Part, RunName, Section, Table

RECOMPUTES = "Recomputes every number of this report from the stored tables, and names one that was changed."


def reproducing(asked: ReportContext) -> Section:
    made_with = ", ".join(f"{name} {number}" for name, number in asked.versions.items())
    parts: list[Part] = [
        Command("recdash reproduce FILE", RECOMPUTES),
        Command(command(asked, asked.blocks), "Makes the same report again."),
        _tables(asked),
        Paragraph(f"Made with {made_with}.", "muted"),
    ]  # fmt: skip
    note = "Tables are named by their sha256: whoever holds these files has these numbers."
    return Section("reproducing", "Reproduce it", note, tuple(parts))


def _tables(asked: ReportContext) -> Table:
    """Every table that a number comes from."""
    one = asked.experiment
    main = {"truth": one.truth, "train": one.train, "catalogue": one.catalogue, **one.tables}
    rows: list[tuple[Cell, ...]] = [(kind, one.name, sha) for kind, sha in main.items() if sha]
    shown = set(asked.shown)
    for run in asked.all_runs.values():
        if run.id in shown:
            upload: Cell = run.upload or Number(None, why="its upload was not kept")
            rows.append(("recommendations", RunName(run.id), upload))
            rows += [("predictions", RunName(run.id), sha) for sha in [run.hits.get("predictions")] if sha]
    for test in [asked.test] if asked.test else []:
        rows.append((test.kind, test.name, test.upload))
        rows += [(kind, test.name, sha) for kind, sha in test.tables.items()]
    return Table("Tables by their hash", (Column("Table"), Column("Of"), Column("sha256")), tuple(rows))
