"""An experiment without a test set: A/B tests alone, no runs, and a test set that comes later."""

from __future__ import annotations

import pytest

from recdash.errors import InputError, NameTaken
from recdash.online import OnlineRules
from recdash.online.plan import AnalysisPlan
from recdash.service import Workspace

SHOP = b"""customer,group,revenue,orders
a,control,1,1
b,control,2,0
c,control,4,1
d,new,2,1
e,new,4,1
f,new,7,0
"""
TRUTH = b"user_id,item_id\nu1,a\nu2,b\n"
RUN = b"user_id,item_id,rank\nu1,a,1\nu2,a,1\n"


def test_an_a_b_test_alone_gives_results(workspace: Workspace) -> None:
    experiment = workspace.experiments.create("Shop")
    test = workspace.online_tests.add(experiment.id, "Checkout", {"sessions": SHOP})
    assert [metric["name"] for metric in test.metrics] == ["revenue", "orders"]
    rows = workspace.online_tests.results(test.id).rows
    assert {(row.metric, row.variant): row.value for row in rows} == {
        ("revenue", "control"): pytest.approx(7 / 3),
        ("revenue", "new"): pytest.approx(13 / 3),
        ("orders", "control"): pytest.approx(2 / 3),
        ("orders", "new"): pytest.approx(2 / 3),
    }
    card = workspace.overview.card(experiment.id)
    assert (card.question, [test.name for test in card.tests]) == ("A/B tests; no test set yet", ["Checkout"])


def test_the_a_b_test_says_what_to_do(workspace: Workspace) -> None:
    """Of 200 users each: 100 of new convert and 20 of control."""
    experiment = workspace.experiments.create("Shop")
    rows = "".join(
        f"u{n},{'new' if n % 2 else 'control'},{int(n // 2 < (100, 20)[1 - n % 2])}\n" for n in range(400)
    )
    table = f"customer,group,converted\n{rows}".encode()
    test = workspace.online_tests.add(experiment.id, "Checkout", {"sessions": table})
    assert {row["variant"]: row["value"] for row in test.results} == {"control": 0.1, "new": 0.5}
    assert workspace.online_tests.next_steps(test.id)[0] == "Ship new if this size was planned"
    workspace.online_tests.set_rules(test.id, OnlineRules(planned_users=400))
    headline, (step,) = workspace.online_tests.next_steps(test.id)
    assert (headline, step.variant, step.action) == ("Ship new", "new", "ship")
    assert workspace.overview.verdict(experiment.id).why_not == "Ship new"
    empty = workspace.experiments.create("Empty").id
    assert workspace.overview.verdict(empty).why_not == "No test set yet"
    workspace.plans.add(empty, AnalysisPlan("orders", users=400))
    planned = "The next A/B test is planned: primary metric orders, 400 users"
    assert workspace.overview.verdict(empty).why_not == planned


def test_a_run_needs_a_test_set_and_the_error_says_how_to_add_one(workspace: Workspace) -> None:
    experiment = workspace.experiments.create("Shop")
    said = "experiment 'Shop': it has no test set, so runs cannot be scored. Add one first"
    for add in (
        lambda: workspace.runs.add(experiment.id, RUN, name="als"),
        lambda: workspace.runs.add_references(experiment.id, "popular"),
        lambda: workspace.runs.first_ids(experiment.id, RUN),
    ):
        with pytest.raises(InputError, match=said):
            add()
    assert workspace.runs.all(experiment.id) == []


def test_a_test_set_can_be_added_later_and_runs_are_scored_with_it(workspace: Workspace) -> None:
    experiment = workspace.experiments.create("Shop", note="checkout")
    test = workspace.online_tests.add(experiment.id, "Checkout", {"sessions": SHOP})
    with pytest.raises(InputError):
        workspace.runs.add(experiment.id, RUN, name="als")
    changed = workspace.experiments.add_test_set(experiment.id, TRUTH, depth=5)
    assert (changed.id, changed.name, changed.note) == (experiment.id, "Shop", "checkout")
    (added,) = workspace.runs.add(experiment.id, RUN, name="als")
    # u1 is recommended its item at rank 1, u2 another one
    assert workspace.scores.scoreboard([added.run.id], ["hit_rate"], 1)["value"].tolist() == [0.5]
    assert [test.id for test in workspace.online_tests.all(experiment.id)] == [test.id]
    with pytest.raises(InputError, match="it has a test set already"):
        workspace.experiments.add_test_set(experiment.id, TRUTH)


def test_a_set_up_of_the_same_name_is_the_test_set_of_the_experiment(workspace: Workspace) -> None:
    experiment = workspace.experiments.create("Shop")
    assert workspace.experiments.create("Shop").id == experiment.id
    assert workspace.experiments.create("Shop", TRUTH).id == experiment.id
    with pytest.raises(NameTaken):
        workspace.experiments.create("Shop", b"user_id,item_id\nu1,z\n")


def test_tables_about_a_test_set_are_not_taken_without_one(workspace: Workspace) -> None:
    with pytest.raises(InputError, match="train table: given without a test set"):
        workspace.experiments.create("Shop", train=TRUTH)
