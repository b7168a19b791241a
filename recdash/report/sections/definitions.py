"""What was asked: the population, the definitions, and how differences are judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recdash.definitions.conventions import POPULATION
from recdash.definitions.latex import formula
from recdash.definitions.population_counts import KNOWN_TITLES, LedgerLine, known_cells, ledger_lines
from recdash.domain.records import Run
from recdash.domain.results import WHOLE
from recdash.metrics import define
from recdash.report.cells import count
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Formula, Number, Paragraph, Part, RunName, Section, Table
from recdash.report.ranges import range_of

RULES = {
    "holm": "corrected together (Holm)", "bh": "corrected together (Benjamini–Hochberg)",
    "off": "each by itself, not corrected",
}  # fmt: skip
LEDGER = ("counted", "without_list", "without_relevant", "without_truth", "short_lists", "duplicates")


def defined(asked: ReportContext) -> Section:
    definition = define(asked.question.metric)
    users = range_of(run.ledger["counted"] or 0 for run in asked.runs if run.ledger)
    parts: list[Part] = [
        Paragraph(_population(asked)),
        Formula(asked.where, formula(definition), definition.metric.title),
        Paragraph(_judged(asked), "muted"),
    ]
    ledger = _ledger(asked)
    return Section(
        "defined", f"{asked.where} over {users} users of {asked.experiment.name}",
        _part(asked), (*parts, *([ledger] if ledger.rows else [])),
    )  # fmt: skip


def _lines_of(run: Run, settings: Mapping[str, Any]) -> list[LedgerLine]:
    duplicates = settings.get("duplicates", "first")
    return ledger_lines(run.ledger, settings["users"], settings["depth"], duplicates)


def _population(asked: ReportContext) -> str:
    """Who counts, and from which relevance on a row does."""
    settings = asked.experiment.settings
    threshold = asked.question.scope.threshold or settings.get("relevance_threshold")
    above = f"from a relevance of {threshold:g} on" if threshold is not None else "with a relevance above 0"
    every = settings.get("relevance") == "none"
    relevant = "Every row of the truth is relevant." if every else f"A row of the truth is relevant {above}."
    depth = f"Lists were read to depth {settings['depth']}; short lists are misses up to k."
    repeated = (
        "" if settings.get("duplicates", "first") == "first" else " Repeated items count at each place."
    )
    return f"{POPULATION[settings['users']]} {relevant} {depth}{repeated}"


def _part(asked: ReportContext) -> str:
    if asked.question.scope == WHOLE:
        return ""
    titles = asked.space.scopes.of(asked.experiment.id, asked.question.scope.threshold)
    part = titles.get(asked.question.scope.slice, asked.question.scope.slice)
    return f"Of a part only: {part}." if part else "With a threshold of its own."


def _judged(asked: ReportContext) -> str:
    terms = asked.question.terms
    return (
        f"Differences are paired user by user, with {100 * terms.level:.3g} % intervals of a t-test, or of a "
        f"test that holds for few where few users differ, {RULES[terms.correction]}. Better or worse: the "
        "interval excludes zero. A tie: all of it lies "
        f"within {terms.margin}{' of the baseline’s value' if terms.margin.relative else ''}. "
        "Not settled: neither."
    )


def _ledger(asked: ReportContext) -> Table:
    """Who was counted, run by run."""
    settings = asked.experiment.settings
    rows: list[tuple[Cell, ...]] = []
    titles: tuple[str, ...] = ()
    for run in asked.runs:
        lines = {one.name: one for one in _lines_of(run, settings)}
        if run.ledger:
            titles = tuple(lines[name].title for name in LEDGER)
            counts = (_counted(lines[name].count) for name in LEDGER)
            rows.append((RunName(run.id), *counts, *known_cells(asked.space.scores.id_overlap(run.id))))
    columns = (Column("Run"), *(Column(title, number=True) for title in (*titles, *KNOWN_TITLES)))
    return Table("Who was counted", columns, tuple(rows))


def _counted(value: int | None) -> Number:
    return count(value) if value is not None else Number(None, why="not counted")
