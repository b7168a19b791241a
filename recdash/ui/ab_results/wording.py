"""What an A/B test says, in words: the finding, what was measured, and how to read its intervals."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.charts.mark_html import glyph
from recdash.charts.marks import Mark
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.wording import cut, cut_inside, listed, lowered, many, span
from recdash.online import OnlineMetric, OnlineRow, OnlineRules
from recdash.online.analysis.lift import per
from recdash.online.analysis.results import validity_notes
from recdash.online.validity import MANY_LOOKS
from recdash.ui.ab_results.page import AbTest
from recdash.ui.components import corrections

SETTLED = ("better", "worse", "holds", "broken")
PEEKING = (
    "Thick interval: for one look, at the end that was planned. Thin interval: for looking again and again, "
    "and the one to stop a test early by: of tests without an effect it ever leaves out zero in at most 5 %. "
    f"It is shown once that is true, from {MANY_LOOKS.users} users of each variant on whose value is known "
    f"to {100 * MANY_LOOKS.relative_error:g} % (relative standard error). It is not corrected for "
    "several goals."
)
ADDED_UP = "As it was added up before the upload."
LONGEST_NAME, LONGEST_CELL, MOST_NAMED, MOST_TITLES = 48, 34, 3, 3


# ── the finding ──────────────────────────────────────────────────────────────────────────────


def finding(ab_test: AbTest) -> str:
    if ab_test.blocked:
        return "Nothing is judged: the split of users is broken"
    if not ab_test.challengers:
        return f"{cut_inside(ab_test.control, LONGEST_NAME)} is the only variant: there is nothing to compare"
    decisive = {
        variant: [row for row in ab_test.results.rows if row.variant == variant and row.role != "other"]
        for variant in ab_test.challengers
    }
    clauses = {variant: clause for variant, rows in decisive.items() if (clause := _clause(rows))}
    if not clauses:
        if not ab_test.rows("goal"):
            return "No metric of this test is a goal"
        days = ab_test.census.days if ab_test.census else 0
        return f"No goal is settled after {many(days, 'day')}" if days else "No goal is settled"
    losers = [name for name in clauses if any(row.word in ("worse", "broken") for row in decisive[name])]
    named = list(dict.fromkeys([*losers, *clauses]))[:MOST_NAMED]
    more = len(clauses) - len(named)
    others = [f"{many(more, 'other variant')} differ{'s' * (more == 1)}"] if more else []
    return "; ".join([*(f"{cut_inside(name, LONGEST_NAME)} {clauses[name]}" for name in named), *others])


def _clause(rows: Sequence[OnlineRow]) -> str:
    """``wins engagement rate, but loses videos watched``; empty where nothing is significant."""
    clauses = []
    for verb, word in (("wins", "better"), ("loses", "worse"), ("breaks the guardrail", "broken")):
        of_word = [row for row in rows if row.word == word]
        clauses.append(f"{verb} {_named(of_word, rows, word)}" if of_word else "")
    won, *lost = clauses
    return ", but ".join(filter(None, [won, listed(list(filter(None, lost)))]))


def _named(some: Sequence[OnlineRow], rows: Sequence[OnlineRow], word: str) -> str:
    """The metrics by title; ``all 5 goals`` or ``4 of 12 goals`` of many."""
    role = "guardrail" if word == "broken" else "goal"
    of = sum(row.role == role for row in rows)
    if len(some) <= MOST_TITLES:
        return listed([lowered(cut(row.title, LONGEST_NAME)) for row in some])
    return f"all {of} {role}s" if len(some) == of else f"{len(some)} of {of} {role}s"


def subtitle(ab_test: AbTest) -> str:
    """The line under the title: test, days, n per variant, control and rules."""
    dates = ab_test.census.dates if ab_test.census else ""
    when = f", {dates}, {many(ab_test.census.days, 'day')}" if ab_test.census and dates else ""
    parts = [f"{ab_test.test.name}{when}", _sizes(ab_test), f"control: {ab_test.control}"]
    counted = _in_short(ab_test.rules) if ab_test.census else "The numbers were added up before the upload"
    return f"{'; '.join(filter(None, parts))}. {_corrected(ab_test)}{counted}."


def _sizes(ab_test: AbTest) -> str:
    counts = sorted(ab_test.results.users.values())
    if not counts:
        return ""
    return f"n = {span(numbers.count(counts[0]), numbers.count(counts[-1]))} users per variant"


def family_size(ab_test: AbTest) -> int:
    return sum(row.p is not None for row in ab_test.lifted("goal"))


def _corrected(ab_test: AbTest) -> str:
    n = family_size(ab_test)
    if n < 2:
        return ""
    if ab_test.correction == "off":
        return f"The {n} lifts in goals are not corrected. "
    return f"The {n} lifts in goals are corrected together ({corrections.TITLES[ab_test.correction]}). "


def _in_short(rules: OnlineRules) -> str:
    """The rules that move numbers most, in one sentence without its full stop."""
    limits = [
        f"{numbers.count(limit)} {noun}"
        for limit, noun in ((rules.bot_clicks, "clicks"), (rules.bot_sessions, "sessions"))
        if limit is not None
    ]
    bots = f"Users with more than {' or '.join(limits)} a day are" if limits else "Bots are not"
    cut_at = "not cut" if rules.winsorise is None else f"cut at the {rules.winsorise:g} quantile of users"
    return f"{bots} left out; totals are {cut_at}"


# ── names ────────────────────────────────────────────────────────────────────────────────────


def variant_cell(mark: Mark) -> Html:
    """A variant's mark and name: of a long one its beginning and end, all of it on hover."""
    cell = '<span class="rd-run rd-variant">{glyph}<bdi title="{name}">{short}</bdi></span>'
    short = cut_inside(mark.name, LONGEST_CELL)
    return html(cell, glyph=glyph(mark), name=mark.name, short=short)


# ── how to read ──────────────────────────────────────────────────────────────────────────────


def reading(ab_test: AbTest) -> list[str]:
    """The notes under the tables."""
    if not ab_test.challengers:
        return []
    marks = "Filled mark: settled. Hollow mark: not settled, which is no proof of equality."
    margin = "Dashed line: the loss that a guardrail must exclude." if ab_test.rows("guardrail") else ""
    thick = "Goals have the corrected interval, which excludes zero where the corrected p is at most 0.05."
    if family_size(ab_test) < 2 or ab_test.correction == "off":
        thick = "All intervals are 95 %."
    lines = [f"{marks} {margin} {thick}", PEEKING, _looked_at(ab_test)]
    lines += [*_adjusted(ab_test), *(f"– {note}" for note in validity_notes(ab_test.lifted()))]
    return [line for line in lines if line]


def _looked_at(ab_test: AbTest) -> str:
    """How many significant lifts in goals stay significant under daily looks."""
    if ab_test.blocked:
        return ""
    settled = [row for row in ab_test.lifted("goal") if row.word in ("better", "worse")]
    if not settled:
        return ""
    n_hold = sum((row.sequence_low or 0) > 0 or (row.sequence_high or 0) < 0 for row in settled)
    if len(settled) == 1:
        hold = "also holds" if n_hold else "does not hold"
        return f"The settled lift in a goal {hold} for who looked every day."
    hold = "holds" if n_hold == 1 else "hold"
    return f"Of {len(settled)} settled lifts in goals, {n_hold} {hold} for who looked every day as well."


def _adjusted(ab_test: AbTest) -> list[str]:
    """By how much CUPED made the intervals narrower, metric by metric."""
    by_title: dict[str, list[float]] = {}
    for row in ab_test.lifted():
        if row.narrower is not None:
            by_title.setdefault(row.title, []).append(100 * row.narrower)
    if not by_title:
        return []
    by_metric = [
        f"{lowered(title)} {span(numbers.fixed(min(shares), 0), numbers.fixed(max(shares), 0))} %"
        for title, shares in by_title.items()
    ]
    how = f"intervals are narrower by: {listed(by_metric)}"
    plain = "The plain lift is in the hover text and in the table."
    return [f"Adjusted by what users did before the test (CUPED); {how}. {plain}"]


# ── definitions ──────────────────────────────────────────────────────────────────────────────


def made_of(metric: OnlineMetric) -> str:
    """``engaged sessions ÷ sessions``."""
    return f"{metric.numerator.replace('_', ' ')} ÷ {per(metric)}"


def meaning(ab_test: AbTest, row: OnlineRow) -> str:
    metric = ab_test.metrics.get(row.metric)
    if metric is None:
        return ADDED_UP
    return f"{metric.meaning} Σ {made_of(metric)}."


def wanted(row: OnlineRow) -> str:
    """Which way is better, and what a guardrail must exclude."""
    if row.role == "guardrail" and row.margin:
        loss = "−" if row.direction == "up" else "+"
        return f"margin: {loss}{100 * row.margin:g} %"
    return "less is better" if row.direction == "down" else ""
