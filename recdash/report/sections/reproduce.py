"""How to recompute every number: hashes of the tables, versions, and the commands."""

from __future__ import annotations

from recdash.report.command import command
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Command, Number, Paragraph, Part, RunName, Section, Table

RECOMPUTES = "Recomputes every number of this report from the stored tables, and names one that was changed."


def reproducing(context: ReportContext) -> Section:
    made_with = ", ".join(f"{name} {number}" for name, number in context.versions.items())
    parts: list[Part] = [
        Command("recdash reproduce FILE", RECOMPUTES),
        Command(command(context, context.blocks), "Makes the same report again."),
        _tables(context),
        Paragraph(f"Made with {made_with}.", "muted"),
    ]
    note = "Tables are named by their sha256: whoever holds these files has these numbers."
    return Section("reproducing", "Reproduce it", note, tuple(parts))


def _tables(context: ReportContext) -> Table:
    """Every table that a number comes from."""
    experiment, test = context.experiment, context.test
    main = {"truth": experiment.truth, "train": experiment.train, "catalogue": experiment.catalogue}
    tables = main | dict(experiment.tables)
    rows: list[tuple[Cell, ...]] = [(kind, experiment.name, sha) for kind, sha in tables.items() if sha]
    for run in context.all_runs.values():
        if run.id in context.shown:
            upload: Cell = run.upload or Number(None, why="its upload was not kept")
            rows.append(("recommendations", RunName(run.id), upload))
            if predictions := run.hits.get("predictions"):
                rows.append(("predictions", RunName(run.id), predictions))
    if test is not None:
        rows.append((test.kind, test.name, test.upload))
        rows += [(kind, test.name, sha) for kind, sha in test.tables.items()]
    return Table("Tables by their hash", (Column("Table"), Column("Of"), Column("sha256")), tuple(rows))
