"""Says what to do after an A/B test, per variant: ship it, roll it back, or keep the test running.

A step follows from the findings of goals and guardrails. Before the planned sample size is reached, a finding
counts only if the always-valid interval agrees, because repeated looks make fixed-horizon intervals too
narrow. Without a planned sample size it is unknown whether there were such looks: a gain that the
always-valid interval does not confirm is then enough to ship only if the test has ended as planned. If the
split of users cannot be checked, a gain is not enough to ship.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from recdash.formatting import numbers
from recdash.formatting.signs import OPEN
from recdash.formatting.wording import capital, cut, cut_inside, listed, lowered, many, small
from recdash.online.analysis.caveats import open_loss
from recdash.online.analysis.plan_check import in_order_of
from recdash.online.analysis.results import OnlineResults, OnlineRow
from recdash.online.analysis.sample import SampleSummary
from recdash.online.plan import AnalysisPlan
from recdash.online.rules import USUAL, OnlineRules

Action = Literal[
    "ship", "roll back", "keep running", "inconclusive", "check the split", "check the plan", "check the days"
]
TITLES: Mapping[Action, str] = {
    "ship": "Ship",
    "roll back": "Roll back",
    "keep running": "Keep running",
    "inconclusive": "Inconclusive",
    "check the split": "Check the split",
    "check the plan": "Ship if this size was planned",
    "check the days": "Ship if the planned duration is over",
}
STEP_LOOKS: Mapping[Action, tuple[str, Literal["better", "worse", "same"]]] = {
    "ship": ("▲", "better"),
    "roll back": ("▼", "worse"),
    "keep running": ("…", "same"),
    "inconclusive": (OPEN, "same"),
    "check the split": ("!", "worse"),
    "check the plan": (OPEN, "same"),
    "check the days": (OPEN, "same"),
}
"""Action → its sign, and the tone in which pages and reports show it."""
CLAUSES: Mapping[Action, str] = {
    "ship": "ship {}",
    "check the plan": "ship {} if this size was planned",
    "check the days": "ship {} if the planned duration is over",
    "check the split": "check the split of users before you ship {}",
    "roll back": "roll back {}",
}
SHIPPING: tuple[Action, ...] = ("ship", "check the plan", "check the days", "check the split")
"""The actions with which a variant is shipped, some only after a check."""
LEADING: tuple[Action, ...] = (
    "ship", "check the plan", "check the days", "check the split", "keep running", "roll back",
    "inconclusive",
)  # fmt: skip
"""The actions, the one with which a headline begins first."""
NO_GUARDRAIL = "No guardrail is set."
MOST_TIMES_MORE = 10
"""A lift that needs more than this many times the users of a test is too small for it."""
LONGEST_DAYS = 365
"""A test that needs more than a year is not recommended to run on."""
LONGEST_NAME, MOST_NAMED, MOST_TITLES = 40, 3, 3


@dataclass(frozen=True)
class NextStep:
    """What to do with one variant, and why.

    ``lift`` is the variant's row of the first goal; where another metric decides, such as the loss for which
    a variant is rolled back, the row of that metric. ``more_users`` is the number of users, of control and
    variant together, that are missing until the planned sample size, or until the observed lift would be
    significant. ``days`` is the time this takes at the pace of the last week. Both are None if unknown or not
    needed. ``size`` is the number of users that a planned sample size counts: those of the first goal, also
    where another metric decides.
    """

    variant: str
    action: Action
    reason: str
    lift: OnlineRow
    more_users: int | None = None
    days: int | None = None
    size: int = 0

    @property
    def title(self) -> str:
        """Returns the step as a title, such as ``Ship`` or ``Keep running, about 12 days``."""
        if self.action != "keep running":
            return TITLES[self.action]
        if self.days is not None:
            return f"{TITLES[self.action]}, about {many(self.days, 'day')}"
        return f"{TITLES[self.action]}, about {many(numbers.rounded(self.more_users or 0), 'more user')}"


def next_steps(
    results: OnlineResults,
    rules: OnlineRules = USUAL,
    sample: SampleSummary | None = None,
    plan: AnalysisPlan | None = None,
    *,
    all_roles: bool = False,
) -> tuple[NextStep, ...]:
    """Returns a step for each variant other than the control, by its goals and guardrails.

    The result is empty if the split is broken or there is no goal. ``sample`` is the summary of the test's
    users, from which the pace is computed; None if the test has no users. ``plan`` is the analysis plan if it
    was made before the test had data: its primary metric comes first, and the test ends at its sample size
    and duration. ``all_roles``: metrics for information decide, too, as in reports of wording 13 and older.
    """
    goals = in_order_of(plan, [row.metric for row in results.rows if row.role == "goal"])
    if plan is not None:
        rules = replace(rules, planned_users=plan.users or rules.planned_users)
    if results.health.blocked or not goals:
        return ()
    steps = []
    for variant in results.variants:
        rows = [row for row in results.rows if row.variant == variant and not row.is_control]
        rows = [row for row in rows if all_roles or row.role != "other"]
        lifts = [row for row in rows if row.metric == goals[0]]
        if lifts:
            step = _step(results, rules, sample, rows, lifts[0], plan=plan)
            steps.append(replace(step, size=size_of(results, lifts[0])))
    return tuple(steps)


def leading_step(steps: Sequence[NextStep]) -> NextStep | None:
    """Returns the step with which the headline begins; None without steps."""
    return min(steps, key=lambda step: (LEADING.index(step.action), step.days or math.inf), default=None)


def _step(
    results: OnlineResults,
    rules: OnlineRules,
    sample: SampleSummary | None,
    rows: Sequence[OnlineRow],
    lift: OnlineRow,
    *,
    plan: AnalysisPlan | None,
) -> NextStep:
    days_left = _days_left(plan, sample)
    has_planned_end = bool(rules.planned_users) or _knows_duration(plan, sample)
    n = _users_with_metric(results, lift)
    missing = max((rules.planned_users or 0) - size_of(results, lift), 0)
    is_early = missing > 0 or days_left > 0
    certain = [row for row in rows if not is_early or is_always_valid(row)]
    won = [row for row in certain if row.word == "better"]
    lost = [row for row in certain if row.word in ("worse", "broken")]
    if lost:
        reason = f"{capital(_findings(won, lost))}.{_guardrails(rows)}"
        return NextStep(lift.variant, "roll back", reason, _deciding(lift, lost))
    if won:
        guardrails = _guardrails(rows) or f" {NO_GUARDRAIL}"
        is_planned = has_planned_end or any(map(is_always_valid, won))
        step = _gained(results, won, guardrails, lift, is_planned=is_planned)
        if plan is None or (sample is not None and sample.days):
            return step
        return _undated(step, won, guardrails, plan, rules.planned_users, missing)
    if is_early:
        is_found = any(row.word in ("better", "worse", "broken") for row in rows)
        begin = "Not significant under continuous monitoring" if is_found else "No significant lift"
        days = days_for(missing, sample, results.control, lift.variant) if missing else days_left
        if days is not None:
            days = max(days, days_left)
        reason = (
            f"{begin}. {_planned_end(rules.planned_users if missing else None, plan if days_left else None)}"
        )
        return NextStep(lift.variant, "keep running", reason, lift, missing or None, days)
    if has_planned_end:
        end = "sample size" if rules.planned_users else "duration"
        reason = f"No significant lift at the planned {end}.{_guardrails(rows)}"
        return NextStep(lift.variant, "inconclusive", reason, lift)
    return _without_plan(results.control, sample, lift, n, _guardrails(rows))


def _gained(
    results: OnlineResults,
    won: Sequence[OnlineRow],
    guardrails: str,
    lift: OnlineRow,
    *,
    is_planned: bool,
) -> NextStep:
    """Returns the step for a variant that wins and loses nothing. ``is_planned`` is whether the test was to
    end now, or a gain holds however often it was looked at.
    """
    reason = f"{capital(_findings(won, ()))}.{guardrails}"
    if results.health.srm_p is None:
        unchecked = f"{reason} The split of users cannot be checked."
        return NextStep(lift.variant, "check the split", unchecked, _deciding(lift, won))
    if not is_planned:
        return NextStep(lift.variant, "check the plan", _unplanned(won, guardrails), _deciding(lift, won))
    return NextStep(lift.variant, "ship", reason, _deciding(lift, won))


def _days_left(plan: AnalysisPlan | None, sample: SampleSummary | None) -> int:
    """Returns how many days are left of the planned duration; 0 if it is over, unknown or not planned."""
    if plan is None or sample is None or not _knows_duration(plan, sample):
        return 0
    return max((plan.days or 0) - sample.days, 0)


def _knows_duration(plan: AnalysisPlan | None, sample: SampleSummary | None) -> bool:
    """Returns True if a duration is planned, and the days of the data are known."""
    return plan is not None and plan.days is not None and sample is not None and sample.days > 0


def _planned_end(users: int | None, plan: AnalysisPlan | None) -> str:
    """Returns a sentence on the planned size and duration, of which at least one is not reached yet."""
    duration = many(plan.days, "day") if plan and plan.days else ""
    if users is None:
        return f"The planned duration is {duration}."
    size = f"The planned sample size is {numbers.count(users)} users"
    return f"{size}, and the planned duration {duration}." if duration else f"{size}."


def size_of(results: OnlineResults, lift: OnlineRow) -> int:
    """Returns the number of users that a planned sample size counts; where the numbers of users are unknown,
    those with the metric of the lift.
    """
    return results.users_of_pair(lift.variant, lift.metric) or _users_with_metric(results, lift)


def _users_with_metric(results: OnlineResults, lift: OnlineRow) -> int:
    """Returns the number of users of control and variant together that the metric counts."""
    control = [row.n_users for row in results.rows if row.is_control and row.metric == lift.metric]
    return lift.n_users + sum(control)


def _unplanned(won: Sequence[OnlineRow], guardrails: str) -> str:
    """Returns the reason for a gain that counts only if no one looked at the results before the end."""
    is_monitored = any(row.sequence_low is not None for row in won)
    monitored = (
        "not under continuous monitoring" if is_monitored else "has too little data for continuous monitoring"
    )
    looked = "If results were looked at before the end, keep the test running."
    return f"{capital(_findings(won, ()))}, but {monitored}. {looked}{guardrails}"


def _undated(
    step: NextStep,
    won: Sequence[OnlineRow],
    guardrails: str,
    plan: AnalysisPlan,
    planned_users: int | None,
    missing: int,
) -> NextStep:
    """Returns the step for a gain in data without dates: go on before the planned size, and do not ship
    before someone knows that the planned duration is over.
    """
    if step.action == "check the split":
        return step
    if missing:
        size = f"the planned sample size of {numbers.count(planned_users)} users is not reached"
        why = f"{size}, and no dates show how long the test ran"
    elif plan.days is not None:
        why = f"no dates show whether the planned {many(plan.days, 'day')} are over"
    else:
        return step
    reason = f"{capital(_findings(won, ()))}, but {why}.{guardrails}"
    action: Action = "keep running" if missing else "check the days"
    return NextStep(step.variant, action, reason, step.lift, missing or None)


def _deciding(lift: OnlineRow, significant: Sequence[OnlineRow]) -> OnlineRow:
    """Returns the first goal's row if it is significant, else the first row that is."""
    return lift if lift in significant else significant[0]


def is_out_of_reach(more_users: int, users: int) -> bool:
    """Returns whether a lift is too small for a test: ``more_users`` are needed, and it has ``users``."""
    return more_users > MOST_TIMES_MORE * users


def _without_plan(
    control: str, sample: SampleSummary | None, lift: OnlineRow, n: int, guardrails: str
) -> NextStep:
    """Returns the step for a variant without a significant lift in a test without a planned sample size.

    It says how many users and days the observed lift needs to become significant. ``n`` are the users of
    control and variant.
    """
    if lift.more_users is None:
        why = f" {capital(lift.note.split('; ')[0])}." if lift.note and lift.p is None else ""
        return NextStep(lift.variant, "inconclusive", f"No significant lift.{why}{guardrails}", lift)
    if is_out_of_reach(lift.more_users, n):
        small_lift = f"The observed {lowered(lift.title)} lift is too small for this test to confirm"
        reason = f"No significant lift. {small_lift}.{guardrails}"
        return NextStep(lift.variant, "inconclusive", reason, lift)
    needs = f"The observed {lowered(lift.title)} lift needs ≈ {brief(lift.more_users)} more users"
    days = days_for(lift.more_users, sample, control, lift.variant)
    is_long = sample is not None and sample.days > 0 and (days is None or days > LONGEST_DAYS)
    action: Action = "inconclusive" if is_long else "keep running"
    reason = f"No significant lift. {needs}.{guardrails}"
    return NextStep(lift.variant, action, reason, lift, lift.more_users, days)


def is_always_valid(row: OnlineRow) -> bool:
    """Returns True if the always-valid interval confirms the row's finding, which is then significant."""
    if row.sequence_low is None or row.sequence_high is None:
        return False
    low, high = row.sequence_low, row.sequence_high
    if row.direction == "down":
        low, high = -high, -low
    if row.word == "better":
        return low > 0
    if row.word == "worse":
        return high < 0
    return row.word == "broken" and high < -(row.margin or 0.0)


def days_for(users: int, sample: SampleSummary | None, control: str, variant: str) -> int | None:
    """Returns the days until ``users`` more users are exposed, at the pace of the last week.

    The users are those of control and variant. Returns None if the test has no days, or if no user was first
    exposed in the last week.
    """
    if sample is None or not sample.days:
        return None
    pace = (sample.recent.get(control, 0) + sample.recent.get(variant, 0)) / sample.recent_days
    return max(math.ceil(users / pace), 1) if pace else None


# ── words ────────────────────────────────────────────────────────────────────────────────────


def headline(
    results: OnlineResults,
    steps: Sequence[NextStep],
    names: Mapping[str, str] | None = None,
    days: int = 0,
    *,
    former: bool = False,
) -> str:
    """Returns the decision on the test in one sentence, such as ``Ship ALS v3; roll back Two-tower``, with
    the inconclusive guardrails of what is shipped.

    ``names`` maps variants to the names to show, by default their own. ``days`` is how long the test has run;
    0 if unknown. ``former=True`` leaves out the guardrails, as in reports of wording 11 and older.
    """
    shown = {name: cut_inside((names or {}).get(name, name), LONGEST_NAME) for name in results.variants}
    if results.health.blocked:
        return "Sample ratio mismatch (SRM): no metric is judged"
    if len(shown) < 2:
        return f"Nothing to compare: {shown[results.control]} is the only variant"
    if not steps:
        return "No decision: no metric of this test is a goal"
    by_action: dict[Action, list[NextStep]] = {}
    for step in steps:
        by_action.setdefault(step.action, []).append(step)
    named = {
        action: _joined([shown[step.variant] for step in chosen], "and" if action == "roll back" else "or")
        for action, chosen in by_action.items()
    }
    open_ = {} if former else {action: _but_open(results, by_action.get(action, ())) for action in SHIPPING}
    clauses = [
        f"{clause.format(named[action])}{open_.get(action, '')}"
        for action, clause in CLAUSES.items()
        if action in named
    ]
    leading = leading_step(steps)
    if leading and leading.action == "keep running":
        clauses.insert(0, small(leading.title))
    if not clauses:
        clauses = [f"no significant lift after {many(days, 'day')}" if days else "no significant lift"]
    return capital("; ".join(clauses))


def _but_open(results: OnlineResults, steps: Sequence[NextStep]) -> str:
    """Returns the inconclusive guardrails of the variants of these steps, as the end of a clause such as
    ``, but the guardrail sessions per user is inconclusive``; empty if there is none.
    """
    variants = [step.variant for step in steps]
    rails = _open_guardrails([row for row in results.rows if row.variant in variants])
    titles = list(dict.fromkeys(lowered(cut(row.title, LONGEST_NAME)) for row in rails))
    if not titles:
        return ""
    if len(titles) > MOST_TITLES:
        return f", but {len(titles)} guardrails are inconclusive"
    noun, verb = ("guardrail", "is") if len(titles) == 1 else ("guardrails", "are")
    return f", but the {noun} {listed(titles)} {verb} inconclusive"


def _joined(names: Sequence[str], joint: str) -> str:
    """Returns the names as text, such as ``a, b or c``; at most three of them, with the number of others."""
    more = len(names) - MOST_NAMED
    some = [*names[:MOST_NAMED], many(more, "other variant")] if more > 0 else list(names)
    return f" {joint} ".join([", ".join(some[:-1]), some[-1]] if some[:-1] else some)


def _findings(won: Sequence[OnlineRow], lost: Sequence[OnlineRow]) -> str:
    """Returns the findings of a variant as text: ``wins engagement rate, but loses session watch time``."""
    clauses = []
    for verb, word in (("wins", "better"), ("loses", "worse"), ("breaks the guardrail", "broken")):
        titles = [lowered(cut(row.title, LONGEST_NAME)) for row in (*won, *lost) if row.word == word]
        noun = "guardrails" if word == "broken" else "goals"
        if titles:
            named = listed(titles) if len(titles) <= MOST_TITLES else f"{len(titles)} {noun}"
            clauses.append(f"{verb} {named}")
    gains = clauses[: bool(won)]
    return ", but ".join(filter(None, [listed(gains), listed(clauses[bool(won) :])]))


def _guardrails(rows: Sequence[OnlineRow]) -> str:
    """Returns a sentence about the guardrails that are not broken; an empty text without guardrails."""
    rails = [row for row in rows if row.role == "guardrail"]
    is_open = _open_guardrails(rows)
    if not rails:
        return ""
    if not is_open:
        if any(row.word == "broken" for row in rails):
            return ""
        return " All guardrails hold." if len(rails) > 1 else " The guardrail holds."
    if len(is_open) > MOST_TITLES:
        return f" Losses in {len(is_open)} guardrails are not ruled out."
    begin = "But " if any(row.word == "better" for row in rows) else ""
    some = f"{begin}{listed(list(map(_open_loss, is_open)))}"
    return f" {capital(some)} {'is' if len(is_open) == 1 else 'are'} not ruled out."


def _open_guardrails(rows: Sequence[OnlineRow]) -> list[OnlineRow]:
    """Returns the rows of guardrails that neither hold nor are broken."""
    lifts = [row for row in rows if row.role == "guardrail" and not row.is_control]
    return [row for row in lifts if row.word not in ("holds", "broken")]


def _open_loss(row: OnlineRow) -> str:
    """Returns the loss that an inconclusive guardrail leaves open, with its interval."""
    loss = f"{open_loss(row)} in {lowered(cut(row.title, LONGEST_NAME))}"
    if row.lift_low is None or row.lift_high is None:
        return loss
    lift, low, high = map(numbers.percent, (row.lift, row.lift_low, row.lift_high))
    _, ends = numbers.estimate(lift, low, high, " %")
    return f"{loss} (95 % CI {ends})"


def brief(users: int) -> str:
    """Returns a forecast number of users as text, such as ``4,100`` or ``1.2 M``."""
    about = numbers.rounded(users)
    return f"{about / 1e6:g} M" if about >= 1_000_000 else numbers.count(about)


def as_dict(steps: Sequence[NextStep]) -> list[dict[str, Any]]:
    """Returns the steps as JSON-ready dicts, each with the variant's lift in the decision metric."""
    return [{**asdict(step), "lift": step.lift.lift, "metric": step.lift.metric} for step in steps]
