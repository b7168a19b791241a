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
from recdash.errors import Forbidden, InputError, NameTaken, NotFound, UnknownName
from recdash.ingest import Limits
from recdash.ingest.isolation import isolated_reader
from recdash.online.metrics import OnlineMetric
from recdash.online.plan import AnalysisPlan
from recdash.online.rules import USUAL
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
    return space.online_tests.add(shop, name, {"sessions": orders_of_400(seed)})


def orders_of_400(seed: int = 3, gain: float = 1.3) -> pd.DataFrame:
    """400 users, half of them new: ``gain`` orders each against 1."""
    rng, is_new = np.random.default_rng(seed), np.arange(400) % 2 == 1
    return pd.DataFrame(
        {
            "user_id": range(400),
            "variant": np.where(is_new, "new", "control"),
            "orders": rng.poisson(np.where(is_new, gain, 1.0)),
        }
    )


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


def test_plans_of_an_archived_experiment_cannot_be_changed(space: Workspace, shop: str) -> None:
    plan = space.plans.add(shop, PLAN)
    space.experiments.archive(shop)
    for write in (
        lambda: space.plans.change(shop, plan.id, replace(PLAN, users=800), "Too few users."),
        lambda: space.plans.add(shop, replace(PLAN, test="June")),
    ):
        with pytest.raises(InputError, match="'Shop': it is archived"):
            write()
    assert space.plans.all(shop) == [plan]
    space.experiments.unarchive(shop)
    assert (
        space.plans.change(shop, plan.id, replace(PLAN, users=800), "Too few users.").current.plan.users
        == 800
    )


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
    assert space.online_tests.rules(test.id).planned_users is None


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


def test_the_planned_size_is_that_of_the_rules(space: Workspace, shop: str, clock: StandingClock) -> None:
    space.plans.add(shop, replace(PLAN, users=4000))
    clock.wait(days=1)
    test = add_test(space, shop)
    assert space.online_tests.rules(test.id).planned_users == 4000
    assert add_test(space, shop).id == test.id
    # the always-valid interval is narrowest at that size
    given = replace(USUAL, planned_users=4000)
    other = space.experiments.create("Other").id
    same = space.online_tests.add(other, "x", {"sessions": orders_of_400()}, rules=given)
    rows = {row["variant"]: row for row in test.results if row["metric"] == "orders"}
    expected = {row["variant"]: row for row in same.results if row["metric"] == "orders"}
    assert rows["new"]["sequence_low"] == expected["new"]["sequence_low"] is not None
    variant = next(name for name in test.variants if name != test.control)
    space.decisions.decide(shop, "do not ship", variant=variant, text="Too few users.")
    (decision,) = space.journal.decisions(shop)
    (size,) = (item for item in decision.checklist if item.name == "Sample size")
    assert size.reason.startswith("400 of 4,000 planned users")


def test_a_size_that_was_planned_after_the_data_does_not_count(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    dated = orders_of_400().assign(start_ts="2026-03-01T10:00:00Z")
    clock.wait(days=5)
    space.plans.add(shop, PLAN)
    clock.wait(days=1)
    test = space.online_tests.add(shop, "late", {"sessions": dated})
    assert space.online_tests.rules(test.id).planned_users is None


@pytest.mark.parametrize("asked", [None, 300])
def test_a_test_stored_before_its_rules_took_the_planned_size_is_the_same(
    space: Workspace, shop: str, clock: StandingClock, asked: int | None
) -> None:
    space.plans.add(shop, PLAN)
    clock.wait(days=1)
    upload = {"sessions": orders_of_400()}
    rules = replace(USUAL, planned_users=asked)
    first = space.online_tests.add(shop, "checkout", upload, rules=rules)
    space.store.online_tests.update(first.id, rules=rules.as_dict())  # as it was stored before
    assert space.online_tests.add(shop, "checkout", upload, rules=rules).id == first.id
    assert [test.id for test in space.online_tests.all(shop)] == [first.id]


def test_a_test_is_the_same_after_another_plan_without_a_name(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    space.plans.add(shop, PLAN)
    clock.wait(days=1)
    first = add_test(space, shop)
    clock.wait(days=1)
    space.plans.add(shop, replace(PLAN, users=900))  # for the next test
    clock.wait(days=1)
    assert add_test(space, shop).id == first.id


def test_another_planned_size_that_is_asked_for_is_another_test(space: Workspace, shop: str) -> None:
    upload = {"sessions": orders_of_400()}
    space.online_tests.add(shop, "checkout", upload, rules=replace(USUAL, planned_users=400))
    with pytest.raises(NameTaken):
        space.online_tests.add(shop, "checkout", upload, rules=replace(USUAL, planned_users=900))


@pytest.mark.parametrize(("dated", "action"), [(False, "keep running"), (True, "ship")])
def test_a_gain_before_the_planned_size_ends_only_a_test_with_dates(
    space: Workspace, shop: str, clock: StandingClock, dated: bool, action: str
) -> None:
    space.plans.add(shop, replace(PLAN, users=4000))
    clock.wait(days=1)
    table = orders_of_400(gain=2.5)
    if dated:
        table["start_ts"] = [f"2026-03-{2 + n % 7:02d}T10:00:00Z" for n in range(400)]
    clock.wait(days=10)
    test = space.online_tests.add(shop, "checkout", {"sessions": table})
    _, (step,) = space.online_tests.next_steps(test.id)
    assert step.action == action  # the always-valid interval excludes 0
    check = space.plans.check(test.id)
    assert check is not None
    assert [deviation.code for deviation in check.deviations] == ["users"]
    if not dated:
        assert step.more_users == 3600
        assert "no dates show how long the test ran" in step.reason


# ── sample sizes from an earlier test ────────────────────────────────────────────────────────


def test_the_baseline_is_the_control_of_an_earlier_test(space: Workspace, shop: str) -> None:
    test = add_test(space, shop)
    users = space.online_tests.users(test.id)
    orders = users.totals["orders"][users.variant == users.variants.index("control")]
    read = space.plans.baselines(test.id)
    baseline = read.of("orders")
    assert (baseline.mean, baseline.std_dev) == pytest.approx((orders.mean(), orders.std(ddof=1)))
    assert (baseline.is_rate, baseline.users_per_day) == (False, None)
    assert (read.control, read.n_users, read.other_users) == ("control", 200, {"new": 200})
    with pytest.raises(UnknownName):
        read.of("revenue")


def test_a_table_gives_the_baselines_that_its_stored_test_has(space: Workspace, shop: str) -> None:
    table = orders_of_400().rename(columns={"user_id": "unit_id"})
    stored = space.plans.baselines(add_test(space, shop).id)
    assert space.plans.read_baselines(table).as_dict() == stored.as_dict()
    of_new = space.plans.read_baselines(orders_of_400(), control="new")
    orders = orders_of_400().query("variant == 'new'")["orders"]
    assert of_new.of("orders").mean == pytest.approx(orders.mean())
    assert (of_new.n_users, of_new.other_users) == (200, {"control": 200})


def test_a_file_with_a_baseline_is_read_in_a_process_with_limits(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = Workspace(space.store, limits=Limits(read_seconds=60))
    file = orders_of_400().to_csv(index=False).encode()
    assert limited.plans.read_baselines(file).n_users == 200

    def refuse(*_: object) -> None:
        raise BlockingIOError

    monkeypatch.setattr(isolated_reader.FORK_SERVER, "fork", refuse)
    with pytest.raises(InputError, match="no process can be created"):
        limited.plans.read_baselines(file)


def test_a_metric_whose_denominator_is_zero_has_no_baseline(space: Workspace, shop: str) -> None:
    """Others of the same test have one."""
    test = space.online_tests.add(shop, "visits", {"sessions": orders_of_400().assign(visits=0)})
    ratio = OnlineMetric("orders_per_visit", "Orders per visit", "", "", "orders", "visits")
    space.online_analysis.set_own_metrics(
        test.id, [ratio, OnlineMetric("orders", "Orders", "", "", "orders")]
    )
    read = space.plans.baselines(test.id)
    assert read.of("orders").mean > 0
    assert read.as_dict()["metrics"]["orders_per_visit"] == {"mean": None, "std_dev": None, "is_rate": False}
    with pytest.raises(InputError, match="its value is nan"):
        read.of("orders_per_visit").check()
