"""A test of an experiment with a plan has its primary metric and guardrails where none are chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from standing_clock import StandingClock

from recdash.domain.access import Person
from recdash.domain.records import OnlineTest
from recdash.online import OnlineMetric
from recdash.online.plan import AnalysisPlan
from recdash.online.proposals import MetricChoices, MetricPurpose
from recdash.service import Workspace
from recdash.service.catalog.intake_plan import IntakeFile
from recdash.store import open_store

BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)
PLAN = AnalysisPlan("orders", {"load_ms": 0.05}, effect=0.1, users=400)


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


def table() -> pd.DataFrame:
    """400 users with orders, revenue and load times."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "user_id": range(400),
            "variant": np.where(np.arange(400) % 2, "new", "control"),
            "revenue": rng.gamma(2, 5, 400),
            "orders": rng.poisson(1.2, 400),
            "load_ms": rng.gamma(20, 10, 400),
        }
    )


def stored(space: Workspace, shop: str, choices: MetricChoices | None = None) -> OnlineTest:
    return space.online_tests.add(shop, "checkout", {"sessions": table()}, choices=choices or MetricChoices())


def roles(space: Workspace, test: OnlineTest) -> dict[str, tuple[str, float | None]]:
    """{metric: (role, margin)}, the primary metric first."""
    return {row.metric: (row.role, row.margin) for row in space.online_tests.results(test.id).rows}


def test_the_planned_metric_comes_first_and_planned_guardrails_have_their_margin(
    space: Workspace, shop: str
) -> None:
    space.plans.add(shop, PLAN)
    test = stored(space, shop)
    assert list(roles(space, test).items()) == [
        ("orders", ("goal", None)),
        ("revenue", ("goal", None)),
        ("load_ms", ("guardrail", 0.05)),
    ]
    check = space.plans.check(test.id)
    assert check is not None
    assert check.deviations == ()


def test_without_a_plan_all_are_goals_alike(space: Workspace, shop: str) -> None:
    assert [role for role, _ in roles(space, stored(space, shop)).values()] == ["goal"] * 3


def test_what_is_chosen_counts_and_is_named_as_a_difference(space: Workspace, shop: str) -> None:
    space.plans.add(shop, PLAN)
    chosen = MetricChoices(primary="revenue", purposes={"load_ms": MetricPurpose("other", "down")})
    test = stored(space, shop, chosen)
    assert next(iter(roles(space, test).items())) == ("revenue", ("goal", None))
    assert roles(space, test)["load_ms"] == ("other", None)
    check = space.plans.check(test.id)
    assert check is not None
    assert {deviation.code for deviation in check.deviations} == {"primary", "no-guardrail"}


def test_a_planned_primary_metric_that_is_for_information_by_choice_is_no_goal(
    space: Workspace, shop: str
) -> None:
    space.plans.add(shop, PLAN)
    test = stored(space, shop, MetricChoices(purposes={"orders": MetricPurpose("other", "up")}))
    assert roles(space, test)["orders"] == ("other", None)


def test_goals_that_are_chosen_without_the_planned_primary_metric_are_the_only_ones(
    space: Workspace, shop: str
) -> None:
    space.plans.add(shop, PLAN)
    assert roles(space, stored(space, shop, MetricChoices(goals=("revenue",)))) == {
        "revenue": ("goal", None),
        "load_ms": ("guardrail", 0.05),
        "orders": ("other", None),
    }


def own(name: str, **changed: Any) -> OnlineMetric:
    return OnlineMetric(name, name, "", "", name, low=None, **changed)


def test_metrics_that_are_given_keep_the_roles_and_margins_given_with_them(
    space: Workspace, shop: str
) -> None:
    space.plans.add(shop, PLAN)
    metrics = [own("orders"), own("load_ms", role="guardrail", margin=0.1), own("revenue", is_primary=True)]
    test = space.online_tests.add(shop, "checkout", {"sessions": table()}, metrics=metrics)
    assert list(roles(space, test).items()) == [
        ("revenue", ("goal", None)),
        ("orders", ("goal", None)),
        ("load_ms", ("guardrail", 0.1)),
    ]


def test_metrics_that_are_given_without_a_role_have_the_planned_one(space: Workspace, shop: str) -> None:
    space.plans.add(shop, PLAN)
    metrics = [own("revenue"), own("orders"), own("load_ms", direction="down")]
    test = space.online_tests.add(shop, "checkout", {"sessions": table()}, metrics=metrics)
    assert next(iter(roles(space, test))) == "orders"
    assert roles(space, test)["load_ms"] == ("guardrail", 0.05)


def test_a_guardrail_of_another_direction_keeps_the_planned_margin(space: Workspace, shop: str) -> None:
    space.plans.add(shop, PLAN)
    test = stored(space, shop, MetricChoices(purposes={"load_ms": MetricPurpose("guardrail", "up")}))
    assert roles(space, test)["load_ms"] == ("guardrail", 0.05)


def test_a_planned_metric_that_the_test_lacks_changes_nothing(space: Workspace, shop: str) -> None:
    space.plans.add(shop, AnalysisPlan("signups", {"crashes": 0.1}))
    assert [role for role, _ in roles(space, stored(space, shop)).values()] == ["goal"] * 3


def test_a_plan_of_another_test_changes_nothing(space: Workspace, shop: str) -> None:
    space.plans.add(shop, replace(PLAN, test="ranking"))
    assert [role for role, _ in roles(space, stored(space, shop)).values()] == ["goal"] * 3


def test_the_same_upload_is_one_test_also_when_it_was_stored_before_its_plan(
    space: Workspace, shop: str, clock: StandingClock
) -> None:
    before = stored(space, shop)
    clock.wait(days=1)
    space.plans.add(shop, replace(PLAN, test="checkout"))
    assert stored(space, shop).id == before.id
    assert len(space.online_tests.all(shop)) == 1


@pytest.mark.parametrize("test", ["", "ranking"])
def test_the_same_upload_is_one_test_also_when_its_plan_is_now_another_one(
    space: Workspace, shop: str, clock: StandingClock, test: str
) -> None:
    """The plan of the next test, or a plan whose test has another name by now."""
    plan = space.plans.add(shop, PLAN)
    before = stored(space, shop)
    clock.wait(days=1)
    if test:
        space.plans.change(shop, plan.id, replace(PLAN, test=test), "It is for the ranking.")
    else:
        space.plans.add(shop, AnalysisPlan("revenue"))
    assert stored(space, shop).id == before.id


def test_add_data_shows_the_roles_that_are_stored(space: Workspace, shop: str, tmp_path: Path) -> None:
    space.plans.add(shop, PLAN)
    file = tmp_path / "checkout.csv"
    table().to_csv(file, index=False)
    intake = space.intake.plan([IntakeFile("1", "checkout.csv", file)], experiment_id=shop)
    assert intake.test is not None
    assert intake.test.analysis == PLAN
    assert intake.test.purposes["load_ms"] == MetricPurpose("guardrail", "down")
    space.intake.commit(intake)
    (test,) = space.online_tests.all(shop)
    assert roles(space, test)["load_ms"] == ("guardrail", 0.05)
    assert next(iter(roles(space, test))) == "orders"


@pytest.mark.parametrize("name", [" ", "x" * 300, "a\x07b"])
def test_add_data_tells_an_impossible_name_of_the_test(
    space: Workspace, shop: str, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "checkout.csv"
    table().to_csv(file, index=False)
    for experiment in (None, shop):
        intake = space.intake.plan([IntakeFile("1", "checkout.csv", file)], experiment_id=experiment)
        (problem,) = intake.with_settings(test_name=name).test_problems
        assert problem.place == "name of the test"
