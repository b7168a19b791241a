"""The table of the candidate's other metrics, guardrails and segments."""

from __future__ import annotations

from recdash.comparison.cells import metric_values
from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.comparison.wording import guardrails_text
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    Number,
    Table,
    Word,
    count,
    intervals,
    number_columns,
    single,
)
from recdash.formatting.wording import CORRECTIONS, capital
from recdash.metrics.naming import metric_at
from recdash.report.context import ReportContext

ALL_LISTS = "catalogue-level metric: one value for all lists"


def other_metrics_table(context: ReportContext, evidence: VerdictEvidence) -> Table:
    """Returns a table with a row for each number that the verdict considers; changes are in % of the
    baseline's value.
    """
    k = evidence.comparison.query.k
    primary = evidence.comparison.query.metric
    rows = [_pair_row(context, metric_at(metric, k), metric, pair) for metric, pair in evidence.metrics]
    rows += [_rail_row(metric_at(rail.metric, k), rail) for rail in evidence.guardrails]
    rows += [
        _pair_row(context, f"{metric_at(primary, k)}: {part.title}", primary, part.pair)
        for part in evidence.slices
    ]
    numbers = number_columns(evidence.name, evidence.base, "Change", "95 % CI")
    columns = (Column("Metric"), *numbers, Column("Finding"), *number_columns("n"))
    rule = CORRECTIONS.get(evidence.comparison.query.terms.correction)
    judged = f" Other metrics are corrected together ({rule}), and so are segments." if rule else ""
    guardrails = capital(guardrails_text(evidence.comparison.query.terms))
    note = f"Change in % of {evidence.base}'s value.{judged} {guardrails}."
    return Table(f"{evidence.name}: other metrics, guardrails and segments", columns, tuple(rows), note)


def _pair_row(context: ReportContext, title: str, metric: str, pair: Pair) -> tuple[Cell, ...]:
    value, base = metric_values(metric, [pair.value, pair.base_value])
    change = single(pair.percent(pair.paired.mean), sign=True, unit=PERCENT)
    (bounds,) = intervals([context.percents_of(pair, metric)], unit=PERCENT)
    return title, value, base, change, bounds, context.finding_of(pair), count(pair.paired.n)


def _rail_row(title: str, rail: GuardrailResult) -> tuple[Cell, ...]:
    value, base = metric_values(rail.metric, [rail.value, rail.base_value])
    change = single(100 * rail.change, sign=True, unit=PERCENT)
    bounds: Cell = Number(None, why=f"no interval: {rail.why_no_interval}")
    if rail.has_interval:
        (bounds,) = intervals([(100 * rail.low, 100 * rail.high)], unit=PERCENT)
    word = Word(rail.sign, rail.word, "worse" if rail.is_broken else "same")
    return title, value, base, change, bounds, word, Number(None, why=ALL_LISTS)
