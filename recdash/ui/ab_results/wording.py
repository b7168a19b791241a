"""Words for an A/B test: its decision, its facts, and how to read its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recdash.charts.mark_html import glyph
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.wording import cut_inside, listed, lowered, many, span
from recdash.ingest.moment_columns import EARLIER
from recdash.online import OnlineMetric, OnlineRow, OnlineRules
from recdash.online.analysis import next_step
from recdash.online.analysis.lift import per
from recdash.online.analysis.results import validity_notes, value_notes
from recdash.online.validity import MANY_LOOKS
from recdash.ui.ab_results.page import AbTest
from recdash.ui.components import corrections

SIGNIFICANT = ("better", "worse", "holds", "broken")
INTERVALS = (
    "Thick: fixed-horizon 95 % CI. Thin: always-valid CI, safe for early stopping; "
    f"shown from {MANY_LOOKS.users} users per variant on."
)
INCONCLUSIVE = "Inconclusive does not prove equality."
AGGREGATED = "As aggregated before the upload."
LONGEST_CELL, LONGEST_OWN = 34, 12


# ── title and subtitle ───────────────────────────────────────────────────────────────────────


def finding(ab_test: AbTest) -> str:
    """Returns the headline of the page: the decision on the test."""
    days = ab_test.sample.days if ab_test.sample else 0
    return next_step.headline(ab_test.results, ab_test.steps, ab_test.names, days)


def subtitle(ab_test: AbTest) -> str:
    """Returns the line below the headline: test, dates, users and control."""
    sample = ab_test.sample
    dates = [f"{sample.dates} ({many(sample.days, 'day')})"] if sample and sample.dates else []
    control = ab_test.names[ab_test.control]
    named = [] if control.casefold() == "control" else [f"control: {control}"]
    return f"{' · '.join([ab_test.test.name, *dates, *_users(ab_test), *named])}."


def _users(ab_test: AbTest) -> list[str]:
    """Returns the number of users, with the share of the planned number or that none was planned; empty
    without counts.
    """
    counts = ab_test.results.users
    if not counts:
        return []
    users = many(sum(counts.values()), "user")
    plan = ab_test.plan.plan if ab_test.plan else None
    planned = (plan.users if plan else None) or ab_test.rules.planned_users
    if not planned:
        return [f"{users}, no planned sample size"]
    primary = plan.primary if plan else None
    pairs = [ab_test.results.users_of_pair(name, primary) or 0 for name in ab_test.challengers]
    reached = min(pairs, default=0)
    share = min(100, 100 * reached // planned)
    return [users, f"{share} % of the planned {numbers.count(planned)} users per comparison"]


def counting(ab_test: AbTest) -> str:
    """Returns a note on corrections, and on the rules that change results most."""
    parts = [
        _corrected(ab_test),
        _rules_in_short(ab_test.rules, has_sessions=ab_test.sample.has_sessions)
        if ab_test.sample
        else AGGREGATED,
    ]
    return " ".join(part for part in parts if part)


def family_size(ab_test: AbTest) -> int:
    return sum(row.p is not None for row in ab_test.lifted("goal"))


def _corrected(ab_test: AbTest) -> str:
    n = family_size(ab_test)
    if n < 2:
        return ""
    if ab_test.correction == "off":
        return f"The {n} lifts in goals are not corrected."
    return f"The {n} lifts in goals are {corrections.TITLES[ab_test.correction]}-corrected."


def _rules_in_short(rules: OnlineRules, *, has_sessions: bool) -> str:
    limits = [
        f"{numbers.count(limit)} {noun}"
        for limit, noun in ((rules.bot_clicks, "clicks"), (rules.bot_sessions, "sessions"))
        if limit is not None
    ]
    bots = (
        f"Bot filter: more than {' or '.join(limits)} per day."
        if limits and has_sessions
        else "No bot filter."
    )
    if rules.winsorise is None:
        return f"{bots} No outlier capping."
    return f"{bots} Outlier capping at the {rules.winsorise:g} quantile of users."


# ── names ────────────────────────────────────────────────────────────────────────────────────


def variant_cell(ab_test: AbTest, variant: str) -> Html:
    """Returns a cell with a variant's mark, the name of its run, shortened in the middle, and its own name if
    that is another; its tooltip has both names.
    """
    mark = ab_test.marks[variant]
    own = "" if mark.name == variant else cut_inside(variant, LONGEST_OWN)
    small = html(' <small class="rd-muted">{own}</small>', own=own) if own else ""
    cell = '<span class="rd-run rd-variant">{glyph}<bdi title="{title}">{short}</bdi>{small}</span>'
    title = mark.name if mark.name == variant else f"{mark.name} (variant {variant})"
    return html(cell, glyph=glyph(mark), title=title, short=cut_inside(mark.name, LONGEST_CELL), small=small)


# ── how to read ──────────────────────────────────────────────────────────────────────────────


def reading(ab_test: AbTest) -> list[str]:
    """Returns the notes below the table of lifts."""
    rows = [replace(row, variant=ab_test.names[row.variant]) for row in ab_test.results.rows]
    of_values = [f"– {note}" for note in value_notes(rows)]
    if not ab_test.challengers:
        return [counting(ab_test), *of_values]
    lines = [INCONCLUSIVE, counting(ab_test), monitored(ab_test), _adjusted(ab_test)]
    named = [replace(row, variant=ab_test.names[row.variant]) for row in ab_test.lifted()]
    notes = [f"– {note}" for note in validity_notes(named)]
    return [line for line in [*lines, *notes, *of_values] if line]


def marks_of_chart(ab_test: AbTest) -> str:
    """Returns what the marks of the chart beside the table mean."""
    margin = " Dashed line: guardrail margin." if ab_test.rows("guardrail") else ""
    return f"{INTERVALS} Filled: significant. Hollow: inconclusive.{margin}"


def monitored(ab_test: AbTest) -> str:
    """Returns how many significant lifts in goals also hold under continuous monitoring; empty if no lift is
    significant.
    """
    significant = [row for row in ab_test.lifted("goal") if row.word in ("better", "worse")]
    if ab_test.blocked or not significant:
        return ""
    n = len(significant)
    n_hold = sum((row.sequence_low or 0) > 0 or (row.sequence_high or 0) < 0 for row in significant)
    if n == 1:
        holds = "also holds" if n_hold else "does not hold"
        return f"The significant lift {holds} under continuous monitoring."
    if n_hold == n:
        return f"{'Both' if n == 2 else f'All {n}'} significant lifts also hold under continuous monitoring."
    hold = "holds" if n_hold == 1 else "hold"
    return f"{n_hold or 'None'} of {n} significant lifts {hold} under continuous monitoring."


def _adjusted(ab_test: AbTest) -> str:
    """Returns what CUPED adjusts, by which values, and by how much it narrows the intervals; empty if it
    adjusts no lift.
    """
    rows = [row for row in ab_test.lifted() if row.narrower is not None]
    if not rows:
        return ""
    shares = [100 * max(row.narrower, 0.0) for row in rows if row.narrower is not None]
    by = span(numbers.fixed(min(shares), 0), numbers.fixed(max(shares), 0))
    titles = listed(list(dict.fromkeys(lowered(row.title) for row in rows)))
    return (
        f"Lifts in {titles} are adjusted (CUPED) by {_covariates(ab_test, rows)}, so they are not the plain "
        "difference of the two values. This removes differences between users that existed before the test "
        f"(variance reduction): the interval is {by} % narrower. Unadjusted lifts are in the tooltips and "
        "the table."
    )


def _covariates(ab_test: AbTest, rows: Sequence[OnlineRow]) -> str:
    """Returns what CUPED adjusts by: the columns of a table with a row per user, else the earlier
    sessions.
    """
    if ab_test.sample is not None and ab_test.sample.has_sessions:
        return "the users' sessions before the test"
    definitions = {**ab_test.metrics, **ab_test.own_metrics}  # a derived metric's numerator has another name
    metrics = [definitions[row.metric] for row in rows]
    return listed(list(dict.fromkeys(m.covariate or f"{EARLIER}{m.numerator}" for m in metrics)))


# ── definitions ──────────────────────────────────────────────────────────────────────────────


def formula(metric: OnlineMetric) -> str:
    """Returns the formula in words, such as ``engaged sessions ÷ sessions``."""
    if metric.quantile is not None:
        return metric.formula
    return f"{metric.numerator.replace('_', ' ')} ÷ {per(metric)}"


def summed(metric: OnlineMetric) -> str:
    """Returns the formula as a ratio of sums; that of a quantile as it is."""
    return formula(metric) if metric.quantile is not None else f"Σ {formula(metric)}"


def meaning(ab_test: AbTest, row: OnlineRow) -> str:
    metric = ab_test.metrics.get(row.metric)
    if metric is None:
        return AGGREGATED
    return f"{metric.meaning} {summed(metric)}.".strip()


def wanted(row: OnlineRow) -> str:
    """Returns the margin of a guardrail, or that lower is better; else empty."""
    if row.role == "guardrail" and row.margin:
        loss = "−" if row.direction == "up" else "+"
        return f"margin: {loss}{100 * row.margin:g} %"
    return "lower is better" if row.direction == "down" else ""
