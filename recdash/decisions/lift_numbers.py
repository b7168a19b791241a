"""The key numbers behind a decision on an A/B test, the same on the page and in the report."""

from __future__ import annotations

from recdash.comparison.key_numbers import LIFT_LEVEL, MOST, KeyNumber
from recdash.formatting import numbers
from recdash.formatting.numbers import percent
from recdash.formatting.wording import adjusted, many, shown
from recdash.online.analysis.results import OnlineResults, OnlineRow


def lift_numbers(
    results: OnlineResults, variant: str, *, tells_adjusted: bool = True
) -> list[tuple[str, KeyNumber]]:
    """Returns (metric, key number) for the variant's first goals and the guardrail that matters most, three
    at most. ``tells_adjusted``: a lift that CUPED adjusted says so.
    """
    rows = [row for row in results.rows if row.variant == variant and row.lift is not None]
    goals = [row for row in rows if row.role == "goal"]
    guardrails = sorted((row for row in rows if row.role == "guardrail"), key=_urgency)[:1]
    chosen = [*goals[: MOST - len(guardrails)], *guardrails]
    n_corrected = sum(row.role == "goal" and row.p is not None for row in results.rows if not row.is_control)
    return [
        (row.metric, _number(row, n_corrected, row.plain_lift if tells_adjusted else None)) for row in chosen
    ]


def users_of(results: OnlineResults) -> str:
    """Returns the users of all variants, such as ``900 users in 3 variants``; empty if they are unknown."""
    if not results.users:
        return ""
    n_variants = len(results.variants)
    where = "in all" if n_variants <= 2 else f"in {many(n_variants, 'variant')}"
    return f"{numbers.users(sum(results.users.values()))} {where}"


def _urgency(row: OnlineRow) -> int:
    """Returns 0 for a broken guardrail, 1 for one that is inconclusive, and 2 for one that holds."""
    return {"broken": 0, "holds": 2}.get(row.word, 1)


def _number(row: OnlineRow, n_corrected: int, plain: float | None) -> KeyNumber:
    """Returns a lift with the interval that judges it. ``n_corrected`` is the number of lifts in goals, of
    all variants, that Holm corrects together; ``plain`` is the unadjusted lift to tell beside an adjusted
    one.
    """
    is_corrected = row.role == "goal" and n_corrected > 1
    low, high = row.judged_interval
    lift, ends = numbers.estimate(percent(row.lift), percent(low), percent(high), unit=" %")
    has_interval = low is not None and high is not None
    note = f"{LIFT_LEVEL} {ends}" if has_interval else row.note or "no interval"
    corrected = ", Holm" if is_corrected and has_interval else ""
    beside = adjusted(plain, "; {}")
    title = row.title
    if row.role == "guardrail":
        limit = f", margin {100 * row.margin:g} %" if row.margin else ""
        title = f"{row.title} (guardrail{limit})"
    return KeyNumber(title, lift, shown(row.word) or "not judged", f"{note}{corrected}{beside}")
