"""Every candidate against the baseline: values, paired differences with their intervals, and words."""

from __future__ import annotations

from recdash.comparison import Comparison
from recdash.comparison.headlines import beats
from recdash.formatting import numbers
from recdash.formatting.wording import listed
from recdash.report.cells import (
    PERCENT,
    alike,
    corrected,
    count,
    finding_of,
    level_numbers,
    metric_values,
    one,
    p_value,
)
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Figure, Paragraph, Part, RunName, Section, Table
from recdash.report.ranges import range_of
from recdash.report.sections.leader_table import beside

RULES = {"holm": "Holm", "bh": "Benjamini–Hochberg"}


def evidence(asked: ReportContext) -> Section | None:
    """None where nothing is compared: the table of all metrics has the values then."""
    if asked.verdict is None or not asked.verdict.evidence.comparison.against:
        return None
    found = asked.verdict.evidence.comparison
    words = {found.names[pair.candidate]: pair.judged.word for pair in found.against}
    parts: list[Part] = [_forest(asked, found)]
    parts += [Paragraph(f"{why}.", "muted") for why in found.apart.values()]
    parts += [beside(asked.verdict)] if asked.verdict.evidence.leader else []
    return Section("evidence", beats(words, asked.base), _note(asked, found), tuple(parts))


def _note(asked: ReportContext, found: Comparison) -> str:
    users = range_of(pair.paired.n for pair in found.against)
    rule, family = RULES.get(found.terms.correction), len(found.against)
    judged = f", {rule}-corrected over {family}" if rule and family > 1 else ""
    return (
        f"Paired difference in {asked.where} to {asked.base}, {_level(found)} CI{judged}, n = {users}. "
        f"{_band(found)}Hollow: not settled, or a tie."
    )


def _level(found: Comparison) -> str:
    return f"{100 * found.terms.level:.3g} %"


def _band(found: Comparison) -> str:
    sizes = sorted({pair.judged.margin for pair in found.against if pair.judged.margin})
    ends = " to ".join(dict.fromkeys(numbers.three(size) for size in (*sizes[:1], *sizes[-1:])))
    return f"Grey band: too small to matter (±{ends}). " if ends else ""


def _forest(asked: ReportContext, found: Comparison) -> Figure:
    pairs = found.against
    told = [
        f"{asked.brief[pair.candidate]} {one(pair.paired.mean, sign=True).shown} ({pair.judged.word})"
        for pair in pairs
    ]  # fmt: skip
    ends = [corrected(pair) for pair in pairs]
    data = {
        "run_id": [pair.candidate for pair in pairs],
        "mean_diff": [pair.paired.mean for pair in pairs],
        "ci_low": [low for low, _ in ends],
        "ci_high": [high for _, high in ends],
        "word": [pair.judged.word for pair in pairs],
        "margin": [pair.judged.margin for pair in pairs],
    }
    return Figure(
        kind="forest",
        title=f"Difference to {asked.base} in {asked.where}",
        note="",
        alt=f"Paired difference in {asked.where} to {asked.base}: {listed(told)}.",
        data=data,
        table=_table(asked, found),
    )


def _table(asked: ReportContext, found: Comparison) -> Table:
    """One row per candidate, best first."""
    pairs = found.against
    also = ", corrected" if found.terms.correction in RULES and len(pairs) > 1 else ""
    values = metric_values(asked.question.metric, [pair.value for pair in pairs])
    bases = metric_values(asked.question.metric, [pair.base_value for pair in pairs])
    gaps, bounds = level_numbers([pair.paired.mean for pair in pairs], [corrected(pair) for pair in pairs])
    shares = alike([pair.percent(pair.paired.mean) for pair in pairs], sign=True, unit=PERCENT)
    rows: list[tuple[Cell, ...]] = [
        (
            RunName(pair.candidate), value, base, gap, interval, share, p_value(pair.judged.p),
            finding_of(pair), count(pair.paired.wins), count(pair.paired.losses), count(pair.paired.n),
        )
        for pair, value, base, gap, interval, share in zip(
            pairs, values, bases, gaps, bounds, shares, strict=True
        )
    ]  # fmt: skip
    columns = (
        Column("Candidate"), Column(asked.where, number=True), Column(asked.base, number=True),
        Column("Difference", number=True), Column(f"{_level(found)} CI{also}", number=True),
        Column("In %", number=True), Column(f"p{also}", number=True), Column("Finding"),
        Column("Users better", number=True), Column("Users worse", number=True), Column("n", number=True),
    )  # fmt: skip
    return Table(f"Candidates against {asked.base}, {asked.where}", columns, tuple(rows))
