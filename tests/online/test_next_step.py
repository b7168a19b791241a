"""The decision on an A/B test: what follows from its findings, its plan and its data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from recdash.online import OnlineResults, OnlineRow, OnlineRules
from recdash.online.ab_test import ab_test
from recdash.online.analysis.health import Health
from recdash.online.analysis.next_step import (
    NextStep,
    brief,
    days_for,
    headline,
    leading_step,
    next_steps,
    size_of,
)
from recdash.online.analysis.sample import SampleSummary

UNMONITORED = {"sequence_low": -0.01, "sequence_high": 0.1}
"""The always-valid interval of a lift that continuous monitoring does not confirm."""
FAIR, UNKNOWN, BROKEN = Health(0.5, 0), Health(None, 0, unchecked="trials"), Health(0.0001, 0)


def row(variant: str, metric: str, word: Any, **facts: Any) -> OnlineRow:
    """A lift of +5 % (−5 % where it is worse), and 100 users; of a guardrail if its word is that of one.

    A gain is confirmed by the always-valid interval.
    """
    lift = -0.05 if word in ("worse", "broken") else 0.05
    role = "guardrail" if metric.startswith("rail") else "goal"
    values: dict[str, Any] = dict.fromkeys(("ci_low", "ci_high", "lift_low", "lift_high"))
    fixed = {"p": 0.01, "note": "", "role": role, "margin": 0.02, "word": word, "lift": lift}
    if word == "better":
        fixed |= {"sequence_low": 0.01, "sequence_high": 0.1}
    names = metric, metric.capitalize(), "", variant, variant == "control"
    return OnlineRow(*names, 100, 1.0, **(values | fixed | facts))


def results(*lifts: OnlineRow, health: Health = FAIR) -> OnlineResults:
    """The rows, with a control of 100 users in each metric."""
    controls = [row("control", metric, "") for metric in dict.fromkeys(lift.metric for lift in lifts)]
    variants = ("control", *dict.fromkeys(lift.variant for lift in lifts))
    return OnlineResults("control", variants, (*controls, *lifts), health, (), {})


def sample(recent: int = 0) -> SampleSummary:
    """21 days; in the last seven so many new users in either variant."""
    return SampleSummary({}, 0, {}, {}, 1, 21, {"control": recent, "new": recent})


def step(*lifts: OnlineRow, **options: Any) -> NextStep:
    health = options.pop("health", FAIR)
    (only,) = next_steps(results(*lifts, health=health), **options)
    return only


def test_a_gain_without_a_loss_is_shipped() -> None:
    both = step(row("new", "clicks", "better"), row("new", "watch", "not settled"))
    assert (both.title, both.reason) == ("Ship", "Wins clicks. No guardrail is set.")
    safe = step(row("new", "clicks", "better"), row("new", "rail", "holds"))
    assert safe.reason == "Wins clicks. The guardrail holds."
    open_ = step(row("new", "clicks", "better"), row("new", "rail", "not settled"))
    assert (open_.action, open_.reason) == (
        "ship",
        "Wins clicks. But a drop of 2 % in rail is not ruled out.",
    )


@pytest.mark.parametrize(
    ("lifts", "reason"),
    [
        ((row("new", "clicks", "better"), row("new", "watch", "worse")), "Wins clicks, but loses watch."),
        ((row("new", "clicks", "worse"),), "Loses clicks."),
        ((row("new", "clicks", "not settled"), row("new", "rail", "broken")), "Breaks the guardrail rail."),
        (
            (row("new", "clicks", "worse"), row("new", "rail", "broken")),
            "Loses clicks and breaks the guardrail rail.",
        ),
        (tuple(row("new", f"g{n}", "worse") for n in range(4)), "Loses 4 goals."),
    ],
)
def test_a_loss_or_a_broken_guardrail_is_rolled_back(lifts: tuple[OnlineRow, ...], reason: str) -> None:
    loss = step(*lifts)
    assert (loss.title, loss.reason) == ("Roll back", reason)


def test_the_lift_that_is_shown_is_that_of_the_first_goal() -> None:
    lifts = row("new", "watch", "better"), row("new", "clicks", "better")
    assert step(*lifts).lift.metric == "watch"


def test_a_roll_back_shows_the_lift_that_caused_it() -> None:
    won = row("new", "watch", "better"), row("new", "clicks", "better")
    assert step(row("new", "rail", "broken"), *won).lift.metric == "rail"


@pytest.mark.parametrize(
    ("lifts", "metric"),
    [
        ((row("new", "watch", "not settled"), row("new", "clicks", "better")), "clicks"),
        ((row("new", "watch", "not settled"), row("new", "rail", "broken")), "rail"),
        ((row("new", "watch", "not settled"), row("new", "clicks", "not settled")), "watch"),
    ],
)
def test_a_decision_shows_the_significant_lift_it_rests_on(lifts: tuple[OnlineRow, ...], metric: str) -> None:
    assert step(*lifts).lift.metric == metric


def test_an_open_test_runs_as_long_as_the_observed_lift_needs() -> None:
    """70 new users a week in either variant are 20 a day: 100 more take 5 days, 8,000 more than a year."""
    lift = row("new", "clicks", "not settled", more_users=100)
    running = step(lift, sample=sample(70))
    assert running.title == "Keep running, about 5 days"
    assert running.reason == "No significant lift. The observed clicks lift needs ≈ 100 more users."
    too_long = step(replace(lift, more_users=8_000), sample=sample(70))
    assert too_long.title == "Inconclusive"
    assert step(lift, sample=sample(0)).title == "Inconclusive"  # no new users arrive
    assert step(lift).title == "Keep running, about 100 more users"  # aggregated: no days
    small = step(replace(lift, more_users=690_000))  # the test has 200 users
    assert (small.title, small.more_users) == ("Inconclusive", None)
    assert small.reason == (
        "No significant lift. The observed clicks lift is too small for this test to confirm."
    )


@pytest.mark.parametrize(("word", "action"), [("not settled", "inconclusive"), ("worse", "roll back")])
def test_an_inconclusive_guardrail_is_named_whatever_the_decision(word: str, action: str) -> None:
    decided = step(row("new", "clicks", word), row("new", "rail", "not settled"))
    assert decided.action == action
    assert decided.reason.endswith(" drop of 2 % in rail is not ruled out.")


@pytest.mark.parametrize(
    ("rails", "end"),
    [
        (("holds",), ""),
        (("not settled",), ", but the guardrail rail0 is inconclusive"),
        (("not settled", "holds", "not settled"), ", but the guardrails rail0 and rail2 are inconclusive"),
        (("not settled",) * 4, ", but 4 guardrails are inconclusive"),
    ],
)
@pytest.mark.parametrize("facts", [{}, UNMONITORED])
def test_the_headline_names_the_inconclusive_guardrails_of_what_is_shipped(
    rails: tuple[str, ...], end: str, facts: dict[str, float]
) -> None:
    lifts = (
        row("new", "clicks", "better", **facts),
        *(row("new", f"rail{n}", word) for n, word in enumerate(rails)),
    )
    found, begin = results(*lifts), "Ship new if this size was planned" if facts else "Ship new"
    assert headline(found, next_steps(found)) == f"{begin}{end}"
    assert headline(found, next_steps(found), former=True) == begin


def test_a_guardrail_of_what_is_rolled_back_is_not_in_the_headline() -> None:
    lost = results(row("new", "clicks", "worse"), row("new", "rail", "not settled"))
    assert headline(lost, next_steps(lost)) == "Roll back new"


def test_before_the_planned_size_only_the_always_valid_interval_decides() -> None:
    """100 and 100 users of 340 planned: 140 are missing, 7 days at 20 a day."""
    rules, gain = OnlineRules(planned_users=340), row("new", "clicks", "better", **UNMONITORED)
    early = step(gain, rules=rules, sample=sample(70))
    assert early.title == "Keep running, about 7 days"
    assert early.reason == (
        "Not significant under continuous monitoring. The planned sample size is 340 users."
    )
    valid = replace(gain, sequence_low=0.01, sequence_high=0.1)
    assert step(valid, rules=rules).title == "Ship"
    wide = replace(gain, sequence_low=-0.01, sequence_high=0.1)
    assert step(wide, rules=rules).action == "keep running"
    assert step(gain, rules=OnlineRules(planned_users=200)).title == "Ship"  # the plan is reached


def test_without_a_plan_a_gain_needs_the_always_valid_interval_or_an_answer() -> None:
    """The same gain is not shipped early with a plan, and not at an unknown end without one."""
    gain = row("new", "clicks", "better", **UNMONITORED)
    unplanned = step(gain)
    assert (unplanned.title, unplanned.action) == ("Ship if this size was planned", "check the plan")
    assert unplanned.reason == (
        "Wins clicks, but not under continuous monitoring. "
        "If results were looked at before the end, keep the test running. No guardrail is set."
    )
    assert headline(results(gain), [unplanned]) == "Ship new if this size was planned"
    small = step(replace(gain, sequence_low=None, sequence_high=None))
    assert small.reason.startswith("Wins clicks, but has too little data for continuous monitoring.")
    one_holds = step(gain, row("new", "watch", "better"))
    assert (one_holds.action, one_holds.reason) == ("ship", "Wins clicks and watch. No guardrail is set.")
    assert step(gain, row("new", "watch", "worse")).action == "roll back"
    assert step(gain, health=UNKNOWN).action == "check the split"


def test_before_the_planned_size_a_guardrail_breaks_beyond_its_margin_alone() -> None:
    """Margin 2 %: all of −10 to −3 % is beyond it, not all of −10 to −1 %."""
    rules, goal = OnlineRules(planned_users=340), row("new", "clicks", "not settled")
    rail = row("new", "rail", "broken", sequence_low=-0.1, sequence_high=-0.03)
    assert step(goal, rail, rules=rules).action == "roll back"
    assert step(goal, replace(rail, sequence_high=-0.01), rules=rules).action == "keep running"
    falls = replace(rail, direction="down", sequence_low=0.03, sequence_high=0.1)
    assert step(goal, falls, rules=rules).action == "roll back"


def test_at_the_planned_size_an_open_test_is_not_run_longer() -> None:
    lift = row("new", "clicks", "not settled", more_users=100)
    end = step(lift, rules=OnlineRules(planned_users=200), sample=sample(70))
    assert (end.title, end.reason) == ("Inconclusive", "No significant lift at the planned sample size.")


def test_trials_alone_do_not_ship() -> None:
    unchecked = step(row("new", "ctr", "better"), health=UNKNOWN)
    assert unchecked.title == "Check the split"
    assert unchecked.reason == "Wins ctr. No guardrail is set. The split of users cannot be checked."
    assert step(row("new", "ctr", "worse"), health=UNKNOWN).action == "roll back"


def test_nothing_is_decided_without_a_fair_split_or_a_goal() -> None:
    broken = results(row("new", "clicks", "not judged"), health=BROKEN)
    assert next_steps(broken) == ()
    assert headline(broken, ()) == "Sample ratio mismatch (SRM): no metric is judged"
    rails = results(row("new", "rail", "holds"))
    assert headline(rails, next_steps(rails)) == "No decision: no metric of this test is a goal"
    alone = OnlineResults("control", ("control",), (row("control", "clicks", ""),), FAIR, (), {})
    assert headline(alone, next_steps(alone)) == "Nothing to compare: control is the only variant"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"a": "better", "b": "worse", "c": "not settled"}, "Ship a; roll back b"),
        ({"a": "better", "b": "better"}, "Ship a or b"),
        ({"a": "worse", "b": "worse"}, "Roll back a and b"),
        ({"a": "not settled"}, "No significant lift after 21 days"),
        (dict.fromkeys("abcde", "better"), "Ship a, b, c or 2 other variants"),
    ],
)
def test_the_headline_names_the_variants_by_what_to_do(words: dict[str, Any], says: str) -> None:
    test = results(*(row(variant, "clicks", word) for variant, word in words.items()))
    assert headline(test, next_steps(test), days=21) == says


def test_the_headline_calls_variants_by_the_names_of_their_runs_and_says_how_long() -> None:
    test = results(row("new", "clicks", "better"))
    assert headline(test, next_steps(test), {"new": "ALS v3"}) == "Ship ALS v3"
    mixed = results(row("new", "clicks", "not settled", more_users=100), row("bad", "clicks", "worse"))
    assert headline(mixed, next_steps(mixed)) == "Keep running, about 100 more users; roll back bad"


def test_forecasts_are_as_precise_as_they_are() -> None:
    assert [brief(users) for users in (4_123, 99, 1_234_567)] == ["4,200", "99", "1.3 M"]
    assert days_for(1, sample(7), "control", "new") == 1
    assert days_for(21, sample(7), "control", "new") == 11  # two a day
    assert days_for(21, None, "control", "new") is None


def test_the_leading_step_is_the_one_with_which_the_headline_begins() -> None:
    lost, won = row("a", "clicks", "worse"), row("b", "clicks", "better")
    running = row("c", "clicks", "not settled", more_users=50)
    for rows, variant in (((lost, won, running), "b"), ((lost, running), "c"), ((lost,), "a")):
        of_test = results(*rows)
        steps = next_steps(of_test)
        leading = leading_step(steps)
        assert leading is not None
        assert leading.variant == variant
        assert headline(of_test, steps).startswith((leading.title, f"{leading.title} {variant}"))
    assert leading_step(()) is None


def test_a_size_counts_users_whom_the_metric_leaves_out() -> None:
    """The metric has 100 + 100 of the 150 + 160 users of both."""
    lift = row("new", "watch", "better")
    of_metric = results(lift)
    assert size_of(of_metric, lift) == 200
    assert size_of(replace(of_metric, users={"control": 150, "new": 160, "other": 90}), lift) == 310


def test_the_size_of_a_step_is_that_of_the_first_goal_where_another_metric_decides() -> None:
    """Of 9,000 + 9,100 users, 4,000 + 4,100 count for the first goal; only the other goal is significant.

    If as many users were planned as the step asks about, the test is complete.
    """
    table = {
        "variant": ["A", "B", "A", "B"], "metric": ["bought", "bought", "spend", "spend"],
        "n": [4000, 4100, 9000, 9100], "mean": [1.0, 1.001, 1.0, 1.045], "variance": [1.0] * 4,
    }  # fmt: skip
    tested = ab_test(aggregates=pd.DataFrame(table), goals=["bought", "spend"])
    (asked,) = next_steps(tested)
    assert (asked.action, asked.lift.metric, asked.size) == ("check the plan", "spend", 4000 + 4100)
    (planned,) = next_steps(tested, OnlineRules(planned_users=asked.size))
    assert planned.action == "ship"
