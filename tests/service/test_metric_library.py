"""The metric library: each new A/B test with the columns of its metrics is counted by them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from terminal import Recdash, as_json

from recdash.domain.access import Person
from recdash.errors import Forbidden, InputError, NotFound
from recdash.online import OnlineMetric
from recdash.service.workspace import Workspace
from recdash.store import open_store

N = 200
USERS = np.arange(N)
PRICE = OnlineMetric("price", "Price", "", "", "revenue", "orders", low=None, role="other")
CAPPED = OnlineMetric("revenue", "Revenue up to 15", "", "", "revenue", cap=15.0)
TRUTH = pd.DataFrame({"user_id": ["a", "b"], "item_id": ["x", "y"]})


def customers(**more: object) -> pd.DataFrame:
    """Each user orders once or twice, for 10 in control and 20 in new per order."""
    orders, is_new = 1 + USERS // 2 % 2, USERS % 2 == 1
    table = {"user_id": USERS, "variant": np.where(is_new, "new", "control"), "orders": orders}
    return pd.DataFrame({**table, "revenue": orders * np.where(is_new, 20.0, 10.0), **more})


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    return Workspace(store, person=Person("ann", "admin"))


def values(space: Workspace, test_id: str) -> dict[str, list[float | None]]:
    rows = space.online_tests.results(test_id).rows
    return {
        name: [row.value for row in rows if row.metric == name]
        for name in dict.fromkeys(r.metric for r in rows)
    }


def test_a_new_test_is_counted_by_the_metrics_that_its_columns_allow(space: Workspace) -> None:
    for metric in (PRICE, CAPPED, OnlineMetric("skips", "Skips", "", "", "skips")):
        space.metric_library.add(metric)
    home = space.experiments.create("shop", TRUTH).id
    test = space.online_tests.add(home, "November", {"sessions": customers()})
    # capped at 15: 10 and 15 in control, 15 in new
    assert values(space, test.id) == {"orders": [1.5, 1.5], "revenue": [12.5, 15.0], "price": [10.0, 20.0]}
    assert "also counted by price (revenue / orders) and revenue (revenue per user, at most 15)" in "\n".join(
        map(str, test.notices)
    )
    assert space.online_analysis.over_time(test.id, "price", "cumulative")["lift"].tolist() == [1.0]


def test_a_stored_test_keeps_its_metrics(space: Workspace) -> None:
    home = space.experiments.create("shop", TRUTH).id
    space.metric_library.add(PRICE)
    test = space.online_tests.add(home, "November", {"sessions": customers()})
    space.metric_library.remove("price")
    assert "price" in values(space, test.id)
    assert space.metric_library.all() == ()
    assert "price" not in values(
        space, space.online_tests.add(home, "December", {"sessions": customers()}).id
    )


def test_metrics_that_are_given_take_its_place(space: Workspace) -> None:
    space.metric_library.add(PRICE)
    home = space.experiments.create("shop", TRUTH).id
    own = OnlineMetric("sales", "Sales", "", "", "revenue")
    test = space.online_tests.add(home, "November", {"sessions": customers()}, metrics=[own])
    assert list(values(space, test.id)) == ["sales"]


def test_metrics_for_which_no_user_was_observed_long_enough_are_left_out(space: Workspace) -> None:
    """Without dates no user was observed for a week; with dates of eight days some were."""
    back = OnlineMetric("back", "Back", "", "", "retention", retention_day=7)
    soon = OnlineMetric("soon", "Soon", "", "", "orders", within_hours=48.0)
    for metric in (back, soon):
        space.metric_library.add(metric)
    home = space.experiments.create("shop", TRUTH).id
    undated = space.online_tests.add(home, "November", {"sessions": customers()})
    assert {"back", "soon"}.isdisjoint(values(space, undated.id))
    days = [f"2026-11-{1 + n % 8:02d}T10:00:00Z" for n in range(N)]
    dated = space.online_tests.add(home, "December", {"sessions": customers(start_ts=days)})
    assert {"back", "soon"} <= set(values(space, dated.id))
    assert "back" in space.online_tests.preview({"sessions": customers(start_ts=days)}).offers.library
    assert "back" not in space.online_tests.preview({"sessions": customers()}).offers.library


def test_sums_of_a_warehouse_are_counted_by_the_metrics_that_they_allow(space: Workspace) -> None:
    """Price needs a sum of products, which the table lacks; nor has it rows for a quantile."""
    for metric in (PRICE, CAPPED, OnlineMetric("slow", "Slow", "", "", "revenue", quantile=0.9)):
        space.metric_library.add(metric)
    header = "variant,n,revenue_sum,revenue_sum_squares,orders_sum,orders_sum_squares"
    table = f"{header}\nA,100,500,3000,150,300\nB,100,510,3000,150,300\n".encode()
    home = space.experiments.create("shop", TRUTH).id
    test = space.online_tests.add(home, "November", {"aggregates": table})
    assert set(values(space, test.id)) == {"revenue", "orders"}


def test_each_change_is_a_line_of_the_audit_log(space: Workspace) -> None:
    space.metric_library.add(PRICE)
    space.metric_library.add(CAPPED)
    space.metric_library.remove("price")
    assert [(event.action, event.target) for event in space.audit.events()] == [
        ("remove metric", "price"),
        ("define metric", "revenue"),
        ("define metric", "price"),
    ]
    assert (space.audit.altered(), space.audit.breaks()) == ([], [])


def test_the_library_survives_and_is_of_editors(space: Workspace) -> None:
    space.metric_library.add(PRICE)
    editor = space.seen_by(Person("bob", "editor"))
    assert editor.metric_library.all() == (PRICE,)
    with pytest.raises(Forbidden):
        space.seen_by(Person("eve", "viewer")).metric_library.all()


def test_wrong_definitions_are_refused(space: Workspace) -> None:
    with pytest.raises(InputError, match="a guardrail without a margin"):
        space.metric_library.add(OnlineMetric("x", "X", "", "", "x", role="guardrail"))
    with pytest.raises(InputError, match="cap is -1"):
        space.metric_library.add(OnlineMetric("x", "X", "", "", "x", cap=-1.0))
    with pytest.raises(NotFound, match="has no 'x'"):
        space.metric_library.remove("x")


FILES: dict[str, str] = {}


def test_the_command_line_lists_adds_and_removes(run: Recdash) -> None:
    assert "library is empty" in run("metrics", "list").stdout
    assert run("metrics", "add", "price=revenue/orders:guardrail:0.02").stdout == "Added price.\n"
    run("metrics", "add", "day=orders:within=24:cap=3")
    listed = run("metrics", "list").stdout
    assert "revenue / orders" in listed
    assert "orders per user within 24 h, at most 3" in listed
    assert [metric["name"] for metric in as_json(run, "metrics", "list")] == ["day", "price"]
    assert run("metrics", "remove", "price").stdout == "Removed price.\n"
    assert run("metrics", "remove", "price").exit_code == 2
