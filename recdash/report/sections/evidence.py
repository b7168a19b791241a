"""The section that compares every candidate with the baseline: values, paired differences, intervals,
findings.
"""

from __future__ import annotations

from recdash.comparison import Comparison
from recdash.comparison.cells import metric_values
from recdash.comparison.headlines import beats
from recdash.comparison.wording import differences_note
from recdash.formatting.tables import (
    PERCENT,
    Cell,
    Column,
    RunName,
    Table,
    aligned,
    count,
    number_columns,
    p_value,
    single,
    with_intervals,
)
from recdash.formatting.wording import CORRECTIONS, listed
from recdash.report.context import ReportContext
from recdash.report.document import Figure, Paragraph, Part, Section
from recdash.report.sections.leader_table import other_metrics_table


def evidence(context: ReportContext) -> Section | None:
    """Returns the section; None if no runs are compared, as the table of all metrics shows the values
    then.
    """
    comparison = context.comparison
    if comparison is None or context.evidence is None or not comparison.against:
        return None
    words = {comparison.names[pair.candidate]: pair.judged.word for pair in comparison.against}
    parts: list[Part] = [_forest(context, comparison)]
    parts += [Paragraph(f"{why}.", "muted") for why in comparison.apart.values()]
    if context.evidence.leader:
        parts.append(other_metrics_table(context, context.evidence))
    return Section("evidence", beats(words, context.base), differences_note(comparison), tuple(parts))


def forest(context: ReportContext) -> Figure | None:
    """Returns the differences from the baseline as a chart; None if no runs are compared."""
    comparison = context.comparison
    return _forest(context, comparison) if comparison is not None and comparison.against else None


def _forest(context: ReportContext, comparison: Comparison) -> Figure:
    pairs = comparison.against
    outcomes = [
        f"{context.short_names[pair.candidate]} {difference.shown} ({context.finding_of(pair).word})"
        for pair in pairs
        for difference in [single(pair.paired.mean, sign=True)]
    ]
    ends = [context.interval_of(pair) for pair in pairs]
    data = {
        "run_id": [pair.candidate for pair in pairs],
        "mean_diff": [pair.paired.mean for pair in pairs],
        "ci_low": [low for low, _ in ends],
        "ci_high": [high for _, high in ends],
        "word": [pair.judged.word for pair in pairs],
        "margin": [pair.judged.margin for pair in pairs],
    }
    if context.tells_equal_users:
        data["sign"] = [context.finding_of(pair).sign for pair in pairs]
    title = f"Difference from {context.base} in {context.query.where}"
    alt = f"Paired difference in {context.query.where} from {context.base}: {listed(outcomes)}."
    return Figure("forest", title, note="", alt=alt, data=data, table=_table(context, comparison))


def _table(context: ReportContext, comparison: Comparison) -> Table:
    """Returns a table with one row per candidate, the best first."""
    pairs = comparison.against
    also = ", corrected" if comparison.query.terms.correction in CORRECTIONS and len(pairs) > 1 else ""
    values = metric_values(context.query.metric, [pair.value for pair in pairs])
    bases = metric_values(context.query.metric, [pair.base_value for pair in pairs])
    ends = [context.interval_of(pair) for pair in pairs]
    gaps, bounds = with_intervals([pair.paired.mean for pair in pairs], ends)
    shares = aligned([pair.percent(pair.paired.mean) for pair in pairs], sign=True, unit=PERCENT)
    rows: list[tuple[Cell, ...]] = []
    for pair, *cells in zip(pairs, values, bases, gaps, bounds, shares, strict=True):
        users = (count(pair.paired.wins), count(pair.paired.losses), count(pair.paired.n))
        rows.append(
            (RunName(pair.candidate), *cells, p_value(pair.judged.p), context.finding_of(pair), *users)
        )
    interval = f"{100 * comparison.query.terms.level:.3g} % CI{also}"
    titles = (context.query.where, context.base, "Difference", interval, "In %", f"p{also}")
    columns = (
        Column("Candidate"),
        *number_columns(*titles),
        Column("Finding"),
        *number_columns("Users better", "Users worse", "n"),
    )
    return Table(f"Candidates against {context.base}, {context.query.where}", columns, tuple(rows))
