"""What an A/B test says, in words: the finding, what was measured, and how to read its intervals."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.charts.marks import Mark
from recdash.formatting import numbers
from recdash.formatting.html import Html, html
from recdash.formatting.wording import cut, cut_inside, listed, lowered, many
from recdash.online import OnlineMetric, OnlineRow, OnlineRules
from recdash.online.analysis.lift import per
from recdash.online.analysis.results import validity_notes
from recdash.online.validity import MANY_LOOKS
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import theme
from recdash.ui.components import corrections

SETTLED = ("better", "worse", "holds", "broken")
PEEKING = (
    "Thick interval: for one look, at the end that was planned. Thin interval: for looking again and again, "
    "and the one to stop a test early by: of tests without an effect it ever leaves out zero in at most 5 %. "
    f"It is shown once that is true, from {MANY_LOOKS.users} users of each variant on whose value is known "
    f"to {100 * MANY_LOOKS.relative_error:g} % (relative standard error). It is not corrected for "
    "several goals."
)
LONGEST_NAME, LONGEST_CELL, MOST_NAMED, MOST_TITLES = 48, 34, 3, 3


# ── the finding ──────────────────────────────────────────────────────────────────────────────


def finding(found: AbTest) -> str:
    if found.blocked:
        return "Nothing is judged: the split of users is broken"
    if not found.challengers:
        return f"{cut_inside(found.control, LONGEST_NAME)} is the only variant: there is nothing to compare"
    told = [(one, clause) for one in found.challengers if (clause := _clause(found, one))]
    if not told:
        return _nothing_settled(found)
    told.sort(key=lambda pair: not _has_loss(found, pair[0]))
    clauses = [f"{cut_inside(one, LONGEST_NAME)} {clause}" for one, clause in told[:MOST_NAMED]]
    more = len(told) - len(clauses)
    return "; ".join(
        [*clauses, *([f"{many(more, 'other variant')} differ{'s' * (more == 1)}"] if more else [])]
    )


def _nothing_settled(found: AbTest) -> str:
    what = "No goal is settled" if found.rows("goal") else "No metric of this test is a goal"
    days = found.census.days if found.census else 0
    return f"{what} after {many(days, 'day')}" if days and found.rows("goal") else what


def _has_loss(found: AbTest, variant: str) -> bool:
    return any(row.word in ("worse", "broken") for row in _decisive(found, variant))


def _decisive(found: AbTest, variant: str) -> list[OnlineRow]:
    return [row for row in found.results.rows if row.variant == variant and row.role != "other"]


def _clause(found: AbTest, variant: str) -> str:
    """``wins engagement rate, but loses videos watched``; empty where nothing is settled."""
    rows = _decisive(found, variant)
    won, *lost = [
        f"{verb} {_named(some, rows, word)}" if (some := [row for row in rows if row.word == word]) else ""
        for verb, word in (("wins", "better"), ("loses", "worse"), ("breaks the guardrail", "broken"))
    ]
    return ", but ".join(part for part in (won, listed([one for one in lost if one])) if part)


def _named(some: Sequence[OnlineRow], rows: Sequence[OnlineRow], word: str) -> str:
    """The metrics by title; ``all 5 goals`` or ``4 of 12 goals`` of many."""
    role = "guardrail" if word == "broken" else "goal"
    of = sum(row.role == role for row in rows)
    if len(some) <= MOST_TITLES:
        return listed([lowered(cut(row.title, LONGEST_NAME)) for row in some])
    return f"all {of} {role}s" if len(some) == of else f"{len(some)} of {of} {role}s"


def subtitle(found: AbTest) -> str:
    """What, when, n per variant, control, rules."""
    dates = found.census.dates if found.census else ""
    when = f", {dates}, {many(found.census.days, 'day')}" if found.census and dates else ""
    parts = [f"{found.test.name}{when}", _sizes(found), f"control: {found.control}"]
    return f"{'; '.join(part for part in parts if part)}. {_corrected(found)}{_counted(found)}"


def _sizes(found: AbTest) -> str:
    counts = sorted(found.results.users.values())
    if not counts:
        return ""
    low, high = counts[0], counts[-1]
    range_of = numbers.count(low) if low == high else f"{numbers.count(low)} to {numbers.count(high)}"
    return f"n = {range_of} users per variant"


def family_size(found: AbTest) -> int:
    return sum(row.p is not None for row in found.lifted("goal"))


def _corrected(found: AbTest) -> str:
    n = family_size(found)
    if n < 2:
        return ""
    if found.correction == "off":
        return f"The {n} lifts in goals are not corrected. "
    return f"The {n} lifts in goals are corrected together ({corrections.TITLES[found.correction]}). "


def _counted(found: AbTest) -> str:
    if found.census is None:
        return "The numbers were added up before the upload."
    return f"{_in_short(found.rules)}."


def _in_short(rules: OnlineRules) -> str:
    """The rules that move numbers most, in one sentence without its full stop."""
    limits = [
        f"{numbers.count(limit)} {what}"
        for limit, what in ((rules.bot_clicks, "clicks"), (rules.bot_sessions, "sessions"))
        if limit is not None
    ]
    bots = (
        f"Users with more than {' or '.join(limits)} a day are left out"
        if limits
        else "Bots are not left out"
    )
    if rules.winsorise is None:
        return f"{bots}; totals are not cut"
    return f"{bots}; totals are cut at the {rules.winsorise:g} quantile of users"


# ── names ────────────────────────────────────────────────────────────────────────────────────


def variant_cell(mark: Mark) -> Html:
    """A variant's mark and name: of a long one its beginning and end, all of it on hover."""
    return html(
        '<span class="rd-run rd-variant">{glyph}<bdi title="{name}">{shown}</bdi></span>',
        glyph=theme.glyph(mark), name=mark.name, shown=cut_inside(mark.name, LONGEST_CELL),
    )  # fmt: skip


# ── how to read ──────────────────────────────────────────────────────────────────────────────


def reading(found: AbTest) -> list[str]:
    """The notes under the tables."""
    if not found.challengers:
        return []
    marks = "Filled mark: settled. Hollow mark: not settled, which is no proof of equality."
    margin = "Dashed line: the loss that a guardrail must exclude." if found.rows("guardrail") else ""
    lines = [" ".join([marks, margin, _thick(found)]), PEEKING, _looked_at(found)]
    lines += [*_adjusted(found), *(f"– {note}" for note in validity_notes(found.lifted()))]
    return [line for line in lines if line]


def _thick(found: AbTest) -> str:
    if family_size(found) < 2 or found.correction == "off":
        return "All intervals are 95 %."
    return "Goals have the corrected interval, which excludes zero where the corrected p is at most 0.05."


def _looked_at(found: AbTest) -> str:
    """How many of the goals that are settled now would be so for who looked every day."""
    if found.blocked:
        return ""
    settled = [row for row in found.lifted("goal") if row.word in ("better", "worse")]
    if not settled:
        return ""
    kept = [row for row in settled if _excludes_zero(row.sequence_low, row.sequence_high)]
    of = "The settled lift" if len(settled) == 1 else f"Of {len(settled)} settled lifts in goals, {len(kept)}"
    if len(settled) == 1:
        return f"{of} in a goal {'also holds' if kept else 'does not hold'} for who looked every day."
    return f"{of} {'holds' if len(kept) == 1 else 'hold'} for who looked every day as well."


def _excludes_zero(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and (low > 0 or high < 0)


def _adjusted(found: AbTest) -> list[str]:
    """By how much CUPED made the intervals narrower, metric by metric."""
    by_title: dict[str, list[float]] = {}
    for row in found.lifted():
        if row.narrower is not None:
            by_title.setdefault(row.title, []).append(100 * row.narrower)
    if not by_title:
        return []
    told = listed([f"{lowered(title)} {_range(shares)}" for title, shares in by_title.items()])
    by = f"Adjusted by what users did before the test (CUPED); intervals are narrower by: {told}."
    return [f"{by} The plain lift is in the hover text and in the table."]


def _range(shares: Sequence[float]) -> str:
    low, high = (numbers.fixed(end, 0) for end in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"


# ── definitions ──────────────────────────────────────────────────────────────────────────────


def made_of(metric: OnlineMetric) -> str:
    """``engaged sessions ÷ sessions``."""
    return f"{metric.numerator.replace('_', ' ')} ÷ {per(metric)}"


def meaning(found: AbTest, row: OnlineRow) -> str:
    metric = found.metrics.get(row.metric)
    if metric is None:
        return "As it was added up before the upload."
    return f"{metric.meaning} Σ {made_of(metric)}."


def wanted(row: OnlineRow) -> str:
    """Which way is better, and what a guardrail must exclude."""
    if row.role == "guardrail" and row.margin:
        loss = "−" if row.direction == "up" else "+"
        return f"margin: {loss}{100 * row.margin:g} %"
    return "less is better" if row.direction == "down" else ""
