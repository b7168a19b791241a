"""Analysis plans in a store: kept with all their changes, found for their tests, and followed by
decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from interleaved_tables import team_draft
from standing_clock import StandingClock

from recdash.domain.access import Person
from recdash.domain.records import OnlineTest
from recdash.errors import Forbidden, InputError, NotFound, UnknownName
from recdash.online.plan import AnalysisPlan
from recdash.service import Workspace
from recdash.store import open_store

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)
PLAN = AnalysisPlan("orders", effect=0.1, users=400)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock(BEGIN)


@pytest.fixture
def space(tmp_path: Path, clock: StandingClock) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "editor"), clock=clock)
    store.close()


@pytest.fixture
def shop(space: Workspace) -> str:
    return space.experiments.create("Shop").id


def add_test(space: Workspace, shop: str, name: str = "checkout", seed: int = 3) -> OnlineTest:
    """400 users, half of them new: 1.3 orders each against 1."""
    rng, is_new = np.random.default_rng(seed), np.arange(400) % 2 == 1
    table = pd.DataFrame(
        {
            "user_id": range(400),
            "variant": np.where(is_new, "new", "control"),
            "orders": rng.poisson(np.where(is_new, 1.3, 1.0)),
        }
    )
    return space.online_tests.add(shop, name, {"sessions": table})


def test_every_change_is_kept_with_time_person_and_reason(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    first = space.plans.add(shop, PLAN)
    clock.wait(days=1)
    later = replace(PLAN, users=800)
    changed = space.seen_by(Person("bob", "editor")).plans.change(shop, first.id, later, "Too few users.")
    (stored,) = space.plans.all(shop)
    assert stored == changed
    assert [
        (version.plan, version.author, version.created, version.reason) for version in stored.versions
    ] == [
        (PLAN, "ann", BEGIN, "Made."),
        (later, "bob", BEGIN + timedelta(days=1), "Too few users."),
    ]
    assert stored.until(BEGIN) == first
    assert stored.until(BEGIN - timedelta(days=1)) is None


def test_the_audit_log_has_every_change(space: Workspace, shop: str) -> None:
    before = len(space.store.audit.events())
    plan = space.plans.add(shop, PLAN)
    space.plans.change(shop, plan.id, replace(PLAN, users=800), "Too few users.")
    events = space.store.audit.events()[before:]
    assert [(event.action, event.who) for event in events] == [("add entry", "ann")] * 2
    assert space.store.audit.altered() == []


def test_a_change_needs_a_reason(space: Workspace, shop: str) -> None:
    plan = space.plans.add(shop, PLAN)
    with pytest.raises(InputError, match="reason"):
        space.plans.change(shop, plan.id, replace(PLAN, users=800), " ")
    assert len(space.plans.get(shop, plan.id).versions) == 1


def test_the_same_plan_is_no_change(space: Workspace, shop: str) -> None:
    plan = space.plans.add(shop, PLAN)
    assert space.plans.change(shop, plan.id, PLAN, "") == plan


def test_viewers_read_plans(space: Workspace, shop: str) -> None:
    plan = space.plans.add(shop, PLAN)
    viewer = space.seen_by(Person("eve", "viewer"))
    assert viewer.plans.all(shop) == [plan]
    with pytest.raises(Forbidden):
        viewer.plans.change(shop, plan.id, replace(PLAN, users=1), "because")


def test_two_plans_of_a_name_are_refused(space: Workspace, shop: str) -> None:
    space.plans.add(shop, replace(PLAN, test="March"))
    with pytest.raises(InputError, match="has one already"):
        space.plans.add(shop, replace(PLAN, test="march"))
    with pytest.raises(NotFound):
        space.plans.get(shop, "other")


def test_a_form_that_is_sent_twice_plans_once(space: Workspace, shop: str) -> None:
    first, again = (space.plans.add(shop, replace(PLAN, test="March"), key="form") for _ in range(2))
    assert first == again


# ── which plan is for a test ─────────────────────────────────────────────────────────────────


def test_a_plan_without_a_name_is_for_the_tests_after_it(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    before = add_test(space, shop, "January")
    clock.wait(days=1)
    spring = space.plans.add(shop, PLAN)
    clock.wait(days=1)
    march = add_test(space, shop, "March")
    clock.wait(days=1)
    summer = space.plans.add(shop, PLAN)
    clock.wait(days=1)
    june = add_test(space, shop, "June")
    assert [space.plans.of_test(test.id) for test in (before, march, june)] == [None, spring, summer]


def test_an_interleaving_test_is_no_look_at_the_plan(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    space.plans.add(shop, PLAN)
    clock.wait(days=1)
    space.interleaving.add(shop, "interleaved", team_draft())
    clock.wait(days=1)
    check = space.plans.check(add_test(space, shop).id)
    assert check is not None
    assert check.look == 1
    assert "looks" not in {deviation.code for deviation in check.deviations}


def test_a_plan_with_a_name_is_for_the_uploads_of_its_test(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    plan = space.plans.add(shop, replace(PLAN, test="March"))
    tests = []
    for name in ("march", "March week 2", "Marching"):
        clock.wait(days=1)
        tests.append(add_test(space, shop, name))
    assert [space.plans.of_test(test.id) for test in tests] == [plan, plan, None]
    checks = [space.plans.check(test.id) for test in tests[:2]]
    assert [check.look for check in checks if check] == [1, 2]
    assert checks[1] is not None
    assert [deviation.code for deviation in checks[1].deviations] == ["looks"]


def test_what_was_planned_after_the_data_is_told(space: Workspace, shop: str, clock: StandingClock) -> None:
    plan = space.plans.add(shop, PLAN)
    clock.wait(days=1)
    test = add_test(space, shop)
    clock.wait(days=1)
    space.plans.change(shop, plan.id, replace(PLAN, users=300), "We stop.")
    check = space.plans.check(test.id)
    assert check is not None
    assert [deviation.code for deviation in check.deviations] == ["changed-users"]
    assert check.plan == PLAN
    then = space.plans.check(test.id, BEGIN + timedelta(days=1))
    assert then is not None
    assert then.deviations == ()
    assert space.plans.check(test.id, BEGIN - timedelta(days=1)) is None


def test_a_test_without_a_plan_has_no_check(space: Workspace, shop: str) -> None:
    assert space.plans.check(add_test(space, shop).id) is None


# ── decisions ────────────────────────────────────────────────────────────────────────────────


def test_the_decision_follows_the_plan(space: Workspace, shop: str, clock: StandingClock) -> None:
    test = add_test(space, shop, "unplanned", seed=11)
    unplanned, _ = space.online_tests.next_steps(test.id)
    clock.wait(days=1)
    space.plans.add(shop, replace(PLAN, users=400))
    clock.wait(days=1)
    planned = add_test(space, shop, "planned", seed=11)
    assert unplanned == "Ship new if this size was planned"
    assert space.online_tests.next_steps(planned.id)[0] == "Ship new"
    assert space.online_tests.next_steps(planned.id, planned=False)[0] == unplanned


def test_a_larger_plan_keeps_the_test_running(space: Workspace, shop: str, clock: StandingClock) -> None:
    plan = space.plans.add(shop, replace(PLAN, users=4000))
    clock.wait(days=1)
    test = add_test(space, shop, seed=11)
    _, (step,) = space.online_tests.next_steps(test.id)
    assert (step.action, step.more_users) == ("keep running", 3600)
    clock.wait(days=1)
    space.plans.change(shop, plan.id, replace(PLAN, users=400), "It looks good.")
    _, (again,) = space.online_tests.next_steps(test.id)
    assert again.action == "keep running"  # the size was changed when the test had data


# ── sample sizes from an earlier test ────────────────────────────────────────────────────────


def test_the_baseline_is_the_control_of_an_earlier_test(space: Workspace, shop: str) -> None:
    test = add_test(space, shop)
    users = space.online_tests.users(test.id)
    orders = users.totals["orders"][users.variant == users.variants.index("control")]
    baseline = space.plans.baseline(test.id, "orders")
    assert (baseline.mean, baseline.std_dev) == pytest.approx((orders.mean(), orders.std(ddof=1)))
    assert (baseline.is_rate, baseline.users_per_day) == (False, None)
    with pytest.raises(UnknownName):
        space.plans.baseline(test.id, "revenue")
