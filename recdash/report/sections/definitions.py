"""The section with definitions: which users count, how the metric is computed, and how differences are
tested.
"""

from __future__ import annotations

from recdash.definitions.conventions import POPULATION
from recdash.definitions.latex import formula
from recdash.definitions.population_counts import KNOWN_TITLES, known_cells, ledger_lines
from recdash.domain.results import WHOLE
from recdash.formatting.tables import Cell, Column, Number, RunName, Table, number_columns
from recdash.formatting.wording import CORRECTIONS, count_range
from recdash.metrics import define
from recdash.metrics.spec import parse
from recdash.report.context import ReportContext
from recdash.report.document import LISTS_WORDING, Formula, Paragraph, Part, Section
from recdash.stats.sparse import Unknown

LEDGER = ("counted", "without_list", "without_relevant", "without_truth", "short_lists", "duplicates")


def defined(context: ReportContext) -> Section:
    definition = define(context.query.metric)
    users = count_range(run.ledger["counted"] or 0 for run in context.runs if run.ledger)
    parts: list[Part] = [
        Paragraph(_population(context)),
        Formula(_name(context), formula(definition), definition.metric.title),
        Paragraph(_judgement(context), "muted"),
    ]
    counts = _counts(context)
    if counts.rows:
        parts.append(counts)
    title = f"{context.query.where} over {users} users of {context.experiment.name}"
    return Section("defined", title, _scope(context), tuple(parts))


def _name(context: ReportContext) -> str:
    """Returns the metric's name with its cutoff; older reports have all its parameters as code."""
    definition = define(context.query.metric)
    if context.wording > LISTS_WORDING or not definition.own_rule:
        return context.query.where
    spec = parse(context.query.metric)
    label = definition.metric.label + spec.label[len(spec.name) :]
    return f"{label}@{context.query.k}" if definition.metric.has_cutoff else label


def _population(context: ReportContext) -> str:
    """Returns sentences on which users count, and which rows of the test set are relevant."""
    settings = context.experiment.settings
    threshold = context.query.scope.threshold or settings.get("relevance_threshold")
    above = f"from a relevance of {threshold:g}" if threshold is not None else "with a relevance above 0"
    relevant = f"A row of the test set is relevant {above}."
    if settings.get("relevance") == "none":
        relevant = "Every row of the test set is relevant."
    depth = f"Lists were read to depth {settings['depth']}; missing positions up to k are misses."
    counts_once = settings.get("duplicates", "first") == "first"
    repeated = "" if counts_once else " Repeated items count at each position."
    return f"{POPULATION[settings['users']]} {relevant} {depth}{repeated}"


def _scope(context: ReportContext) -> str:
    if context.query.scope == WHOLE:
        return ""
    titles = context.workspace.scopes.of(context.experiment.id, context.query.scope.threshold)
    part = titles.get(context.query.scope.slice, context.query.scope.slice)
    return f"Only a segment: {part}." if part else "With its own relevance threshold."


def _judgement(context: ReportContext) -> str:
    terms = context.query.terms
    rule = CORRECTIONS.get(terms.correction)
    corrected = f"corrected together ({rule})" if rule else "each by itself, without a correction"
    share = " of the baseline’s value" if terms.margin.relative else ""
    return (
        f"Differences are paired by user, with {100 * terms.level:.3g} % CIs by {_methods(context)}, "
        f"{corrected}. Better or worse: the CI excludes zero. Tie: the CI lies within "
        f"{terms.margin}{share}. Inconclusive: neither."
    )


def _methods(context: ReportContext) -> str:
    """Returns the names of the tests that the primary metric's differences were judged by."""
    pairs = context.comparison.against if context.comparison else ()
    known = (pair.paired.method for pair in pairs)
    names = dict.fromkeys(method.name for method in known if not isinstance(method, Unknown))
    return " and ".join(names) or "the paired t-test"


def _counts(context: ReportContext) -> Table:
    """Returns a table with the population counts of each run."""
    settings = context.experiment.settings
    rules = (settings["users"], settings["depth"], settings.get("duplicates", "first"))
    rows: list[tuple[Cell, ...]] = []
    titles: tuple[str, ...] = ()
    for run in context.runs:
        if not run.ledger:
            continue
        by_name = {line.name: line for line in ledger_lines(run.ledger, *rules)}
        lines = [by_name[name] for name in LEDGER]
        titles = tuple(line.title for line in lines)
        counts = (Number(line.count, why="not counted" if line.count is None else "") for line in lines)
        rows.append((RunName(run.id), *counts, *known_cells(context.workspace.scores.id_overlap(run.id))))
    columns = (Column("Run"), *number_columns(*titles, *KNOWN_TITLES))
    return Table("Users counted", columns, tuple(rows))
