"""The table of the candidate's other metrics, guardrails and segments."""

from __future__ import annotations

from recdash.comparison import relative
from recdash.comparison.cells import metric_values
from recdash.comparison.evidence import VerdictEvidence
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.comparison.wording import guardrails_text
from recdash.formatting import numbers
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    Interval,
    Number,
    Table,
    Word,
    count,
    factor,
    intervals,
    number_columns,
    single,
)
from recdash.formatting.wording import CORRECTIONS, capital
from recdash.metrics.naming import metric_at
from recdash.report.context import ReportContext
from recdash.report.document import RISKS_WORDING

ALL_LISTS = "catalogue-level metric: one value for all lists"


def other_metrics_table(context: ReportContext, evidence: VerdictEvidence) -> Table:
    """Returns a table with a row for each number that the verdict considers; changes are in % of the
    baseline's value.
    """
    k = evidence.comparison.query.k
    primary = evidence.comparison.query.metric
    rows = [_pair_row(context, metric_at(metric, k), metric, pair) for metric, pair in evidence.metrics]
    rows += [_rail_row(context, metric_at(rail.metric, k), rail) for rail in evidence.guardrails]
    rows += [
        _pair_row(context, f"{metric_at(primary, k)}: {part.title}", primary, part.pair)
        for part in evidence.slices
    ]
    titles = number_columns(evidence.name, evidence.base, "Change", "95 % CI")
    columns = (Column("Metric"), *titles, Column("Finding"), *number_columns("n"))
    rule = CORRECTIONS.get(evidence.comparison.query.terms.correction)
    judged = f" Other metrics are corrected together ({rule}), and so are segments." if rule else ""
    guardrails = capital(guardrails_text(evidence.comparison.query.terms))
    factors = "" if context.wording <= RISKS_WORDING else ", from a doubling on as a factor"
    note = f"Change in % of {evidence.base}'s value{factors}.{judged} {guardrails}."
    return Table(f"{evidence.name}: other metrics, guardrails and segments", columns, tuple(rows), note)


def _pair_row(context: ReportContext, title: str, metric: str, pair: Pair) -> tuple[Cell, ...]:
    value, base = metric_values(metric, [pair.value, pair.base_value])
    change = single(pair.percent(pair.paired.mean), sign=True, unit=PERCENT)
    (bounds,) = intervals([context.percents_of(pair, metric)], unit=PERCENT)
    if context.wording > RISKS_WORDING and not relative.is_in_percent(pair):
        change, bounds = _large_change(pair.paired.mean, pair.interval, pair.base_value)
    return title, value, base, change, bounds, context.finding_of(pair), count(pair.paired.n)


def _rail_row(context: ReportContext, title: str, rail: GuardrailResult) -> tuple[Cell, ...]:
    value, base = metric_values(rail.metric, [rail.value, rail.base_value])
    change = single(100 * rail.change, sign=True, unit=PERCENT)
    bounds: Cell = Number(None, why=f"no interval: {rail.why_no_interval}")
    if rail.has_interval:
        (bounds,) = intervals([(100 * rail.low, 100 * rail.high)], unit=PERCENT)
    text = rail.former_word if context.wording <= RISKS_WORDING else rail.shown
    word = Word(rail.sign, text, "worse" if rail.is_broken else "same")
    if context.wording > RISKS_WORDING and rail.change >= relative.DOUBLED:
        ends = (rail.low * rail.base_value, rail.high * rail.base_value)
        change, large = _large_change(rail.value - rail.base_value, ends, rail.base_value)
        bounds = large if rail.has_interval else bounds
    return title, value, base, change, bounds, word, Number(None, why=ALL_LISTS)


def _large_change(difference: float, ends: tuple[float, float], base: float) -> tuple[Number, Interval]:
    """Returns the cells of a change that is not written in %, and of its interval, all given in units of the
    metric: as factors of the baseline's value, from nearly 0 in units.
    """
    if base <= 0 or difference / base >= relative.FROM_ZERO:
        (bounds,) = intervals([ends])
        return single(difference, sign=True), bounds
    low, high = (1 + end / base for end in ends)
    decimals = numbers.places([low, high])
    bounds = Interval(factor(low, decimals), factor(high, decimals))
    return factor(1 + difference / base), bounds
