"""Stored interleaving tests: numbers as in Python, links, offline and A/B results beside them, removal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from interleaved_tables import team_draft

import recdash
from recdash.errors import InputError, NotFound, UnknownName
from recdash.online.rules import USUAL
from recdash.report.reports import Reports
from recdash.report.reproduce.verify import verify
from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile
from recdash.store import open_store

USERS = [f"u{number:04d}" for number in range(60)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": ["a", "b"] * 30})
POPULAR = pd.DataFrame(
    {"user_id": USERS * 2, "item_id": ["a"] * 60 + ["b"] * 60, "rank": [1] * 60 + [2] * 60}
)
ALS = pd.DataFrame({"user_id": USERS, "item_id": TRUTH["item_id"], "rank": 1})


def sessions(seed: int = 0) -> pd.DataFrame:
    """One row per user of an A/B test in which the variant has more orders."""
    chance = np.random.default_rng(seed)
    variant = np.repeat(["control", "new"], 500)
    orders = chance.poisson(np.where(variant == "new", 1.6, 1.0))
    return pd.DataFrame({"user_id": [f"v{n}" for n in range(1000)], "variant": variant, "orders": orders})


@pytest.fixture
def films(workspace: Workspace) -> str:
    made = workspace.experiments.create("films", TRUTH, depth=2)
    popular = workspace.runs.add(made.id, POPULAR, name="popular")[0].run
    workspace.runs.add(made.id, ALS, name="als")
    workspace.experiments.set_baseline(made.id, popular.id)
    return made.id


def runs(workspace: Workspace, experiment_id: str) -> dict[str, str]:
    return {run.name: run.id for run in workspace.runs.all(experiment_id)}


def test_a_stored_test_has_the_numbers_of_python(workspace: Workspace, films: str) -> None:
    test = workspace.interleaving.add(films, "May", team_draft(lean=0.5), control="popular")
    stored = workspace.interleaving.results(test.id)
    expected = recdash.interleaving(team_draft(lean=0.5), control="popular")
    assert stored.rows == expected.rows
    assert workspace.interleaving.table(test.id).equals(expected.table())
    assert [row["share"] for row in test.results if row["variant"] == "als"] == [
        row.share for row in expected.rows
    ]


def test_it_is_no_ab_test_and_changes_no_recommendation(workspace: Workspace, films: str) -> None:
    before = workspace.overview.verdict(films)
    report = Reports(workspace).content(Reports(workspace).question(films))
    links = {name: runs(workspace, films)[name] for name in ("popular", "als")}
    test = workspace.interleaving.add(films, "May", team_draft(lean=0.5), control="popular", links=links)
    assert workspace.online_tests.all(films) == []
    assert [stored.id for stored in workspace.interleaving.all(films)] == [test.id]
    assert workspace.overview.verdict(films) == before
    again = Reports(workspace).content(Reports(workspace).question(films))
    assert again.lead == report.lead
    others = [section for section in again.sections if section.name != "interleaving"]
    assert len(others) == len(again.sections) - 1
    for old, new in zip(report.sections, others, strict=True):
        assert old == new or old.name == "reproducing"  # it has the time and the last line of the audit log


def test_the_same_test_is_stored_once_and_gets_the_links(workspace: Workspace, films: str) -> None:
    first = workspace.interleaving.add(films, "May", team_draft(), control="popular")
    links = {"als": runs(workspace, films)["als"]}
    again = workspace.interleaving.add(films, "May", team_draft(), control="popular", links=links)
    assert again.id == first.id
    assert dict(again.links) == links


def test_a_guessed_control_gives_way_to_the_ranking_of_the_baseline(workspace: Workspace, films: str) -> None:
    links = {name: runs(workspace, films)[name] for name in ("popular", "als")}
    test = workspace.interleaving.add(films, "May", team_draft(), links=links)
    assert test.control == "popular"  # als would be the first by name


def test_the_control_can_be_changed(workspace: Workspace, films: str) -> None:
    test = workspace.interleaving.add(films, "May", team_draft(lean=0.5))
    assert test.control == "als"
    changed = workspace.interleaving.set_control(test.id, "popular")
    assert changed.control == "popular"
    assert not any(notice.code == "guessed-control" for notice in changed.notices)
    assert workspace.interleaving.results(test.id).finding == "better"
    with pytest.raises(UnknownName, match="ease"):
        workspace.interleaving.set_control(test.id, "ease")


def test_the_pair_of_runs_is_seen_offline_interleaved_and_in_its_ab_test(
    workspace: Workspace, films: str
) -> None:
    known = runs(workspace, films)
    links = {"popular": known["popular"], "als": known["als"]}
    workspace.interleaving.add(films, "May", team_draft(lean=0.5), control="popular", links=links)
    workspace.online_tests.add(
        films,
        "June",
        {"sessions": sessions()},
        control="control",
        links={"control": known["popular"], "new": known["als"]},
    )
    (pair,) = workspace.interleaving.pairs(films, "ndcg", 2)
    assert pair.names == ("popular", "als")
    assert pair.offline is not None
    # als has the only relevant item first; popular has it first for half of the users and second for the rest
    assert pair.offline["mean_diff"] == pytest.approx((1 - 1 / np.log2(3)) / 2)
    (lift,) = pair.lifts
    assert lift.test.name == "June"
    assert lift.row["metric"] == "orders"
    assert lift.sensitivity is not None
    assert lift.sensitivity.ratio is not None
    assert lift.sensitivity.interleaving_users is not None
    (same,) = workspace.interleaving.sensitivities(pair.test.id)
    assert same == (lift, lift.sensitivity)


@pytest.mark.parametrize(("n_users", "uneven"), [(10, False), (60, True)], ids=["few users", "uneven teams"])
def test_an_ab_test_is_beside_a_test_without_a_verdict_and_not_compared_with_it(
    workspace: Workspace, films: str, n_users: int, uneven: bool
) -> None:
    known = runs(workspace, films)
    links = {"popular": known["popular"], "als": known["als"]}
    frame = team_draft(n_users, lean=0.5)
    if uneven:
        frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    test = workspace.interleaving.add(films, "May", frame, control="popular", links=links)
    served = {"control": known["popular"], "new": known["als"]}
    workspace.online_tests.add(films, "June", {"sessions": sessions()}, control="control", links=served)
    assert workspace.interleaving.results(test.id).reason
    (pair,) = workspace.interleaving.pairs(films, "ndcg", 2)
    assert [lift.test.name for lift in pair.lifts] == ["June"]
    assert workspace.interleaving.sensitivities(test.id) == []


def test_unlinked_rankings_have_no_pair(workspace: Workspace, films: str) -> None:
    test = workspace.interleaving.add(films, "May", team_draft())
    assert workspace.interleaving.pairs(films, "ndcg", 2) == []
    assert workspace.interleaving.sensitivities(test.id) == []


def test_it_is_archived_and_deleted_as_an_ab_test_is(workspace: Workspace, films: str) -> None:
    test = workspace.interleaving.add(films, "May", team_draft())
    workspace.online_tests.archive(test.id)
    assert workspace.interleaving.all(films) == []
    with pytest.raises(NotFound, match="has no interleaving test yet"):
        workspace.interleaving.named(films)
    workspace.online_tests.unarchive(test.id)
    assert workspace.interleaving.named(films).id == test.id
    with pytest.raises(UnknownName, match="May"):
        workspace.interleaving.named(films, "June")
    workspace.online_tests.delete(test.id, "May")
    assert workspace.interleaving.all(films, archived=True) == []


def test_an_ab_test_is_no_interleaving_test(workspace: Workspace, films: str) -> None:
    test = workspace.online_tests.add(films, "June", {"sessions": sessions()}, control="control")
    asked: list[Callable[[], Any]] = [
        lambda: workspace.interleaving.results(test.id),
        lambda: workspace.interleaving.table(test.id),
        lambda: workspace.interleaving.sensitivities(test.id),
        lambda: workspace.interleaving.set_control(test.id, "new"),
        lambda: workspace.interleaving.named(films, "June"),
    ]
    for ask in asked:
        with pytest.raises(NotFound, match="'June' is an A/B test, not an interleaving test"):
            ask()


def test_an_interleaving_test_is_no_ab_test(workspace: Workspace, films: str) -> None:
    test = workspace.interleaving.add(films, "May", team_draft(), control="popular")
    online, analysis = workspace.online_tests, workspace.online_analysis
    asked: list[Callable[[], Any]] = [
        lambda: online.named(films, "May"),
        lambda: online.results(test.id),
        lambda: online.rules(test.id),
        lambda: online.set_rules(test.id, USUAL),
        lambda: online.count_again(test.id, control="als"),
        lambda: online.next_steps(test.id),
        lambda: online.sample(test.id),
        lambda: online.activations(test.id),
        lambda: online.aggregate_table(test.id),
        lambda: online.result_frame(test.id),
        lambda: online.offline_online(test.id, "ndcg", 2, "requests"),
        lambda: online.disagreeing_metrics(test.id, "ndcg", 2),
        lambda: analysis.results(test.id),
        lambda: analysis.metrics(test.id),
        lambda: analysis.totals(test.id),
        lambda: analysis.over_time(test.id, "requests", "daily"),
        lambda: analysis.segments(test.id),
        lambda: analysis.measured(test.id, "requests"),
        lambda: workspace.agreement.best_metric(test.id, "requests"),
        lambda: workspace.plans.of_test(test.id),
        lambda: workspace.plans.check(test.id),
        lambda: workspace.plans.baselines(test.id),
    ]
    for ask in asked:
        with pytest.raises(NotFound, match="'May' is an interleaving test, not an A/B test"):
            ask()


def test_a_wrong_ranking_is_called_a_ranking(workspace: Workspace, films: str) -> None:
    test = workspace.interleaving.add(films, "May", team_draft(), control="popular")
    with pytest.raises(UnknownName, match="No ranking is called 'zzz'"):
        workspace.online_tests.link_variants(test.id, {"zzz": runs(workspace, films)["als"]})
    with pytest.raises(NotFound, match="Ranking 'als' is linked to a run that is not in this experiment"):
        workspace.online_tests.link_variants(test.id, {"als": "zzz"})


def test_a_removed_user_is_in_no_row_and_no_number(workspace: Workspace, films: str) -> None:
    frame = team_draft(lean=0.5)
    test = workspace.interleaving.add(films, "May", frame, control="popular")
    purged = workspace.purge.user("u0003")
    assert purged.tests == ("May",)
    without = recdash.interleaving(frame[frame["user_id"] != "u0003"], control="popular")
    assert workspace.interleaving.results(test.id).rows == without.rows
    (stored,) = workspace.interleaving.all(films)
    table = workspace.store.artifacts.table(stored.upload)
    assert "u0003" not in table["unit_id"].to_pylist()


def test_verifying_computes_it_again_and_notices_a_changed_number(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    workspace = Workspace(store)
    made = workspace.experiments.create("films", TRUTH, depth=2)
    test = workspace.interleaving.add(made.id, "May", team_draft(lean=0.5), control="popular")
    assert verify(workspace, everything=True).mismatches == ()
    rows = [{**row, "share": 0.9} if row["metric"] == "requests" else row for row in test.results]
    store.online_tests.update(test.id, results=rows)
    places = [str(mismatch) for mismatch in verify(workspace, everything=True).mismatches]
    assert any("interleaving test 'May'" in place for place in places), places
    store.close()


def test_a_notice_can_be_refused(workspace: Workspace, films: str) -> None:
    with pytest.raises(InputError, match="Files with the notice 'guessed-control' are refused"):
        workspace.interleaving.add(films, "May", team_draft(), refuse="guessed-control")
    assert workspace.interleaving.all(films) == []


@pytest.mark.parametrize(
    "columns", [{}, {"team": "model", "clicked": "is_click"}, {"team": "source", "rank": "position"}]
)
def test_add_data_recognises_the_file_and_stores_it(
    workspace: Workspace, films: str, columns: dict[str, str]
) -> None:
    data = team_draft(lean=0.5).rename(columns=columns).to_csv(index=False).encode()
    plan = workspace.intake.plan([IntakeFile("1", "may.csv", data)], experiment_id=films)
    assert [file.kind for file in plan.files] == ["interleaving"]
    assert plan.all_problems == ()
    assert plan.test is not None
    assert (plan.test.kind, plan.test.control) == ("interleaving", "popular")
    assert set(plan.test.variants) == {"als", "popular"}
    result = workspace.intake.commit(plan.with_settings(links={"als": "als", "popular": "popular"}))
    assert result.test is not None
    assert result.test.is_interleaved
    assert dict(result.test.links) == runs(workspace, films)
    assert workspace.interleaving.results(result.test.id).finding == "better"


def test_credits_are_recognised_too(workspace: Workspace) -> None:
    rows = [f"r{n},u{n % 40},{n % 2},{n % 3 % 2}" for n in range(200)]
    data = "\n".join(["request_id,user_id,credit_a,credit_b", *rows]).encode()
    plan = workspace.intake.plan([IntakeFile("1", "may.csv", data)])
    assert [file.kind for file in plan.files] == ["interleaving"]
    result = workspace.intake.commit(plan)
    assert result.test is not None
    assert result.test.control == "A"


def test_add_data_stores_an_ab_and_an_interleaving_test_together(workspace: Workspace, films: str) -> None:
    known = runs(workspace, films)
    files = [
        IntakeFile("1", "may.csv", team_draft(lean=0.5).to_csv(index=False).encode()),
        IntakeFile("2", "june.csv", sessions().to_csv(index=False).encode()),
    ]
    for order in (files, files[::-1]):
        plan = workspace.intake.plan(order, experiment_id=films)
        assert {file.file_name: file.kind for file in plan.files} == {
            "may.csv": "interleaving",
            "june.csv": "sessions",
        }
        assert plan.all_problems == ()
        assert [(test.name, test.kind, test.control) for test in plan.tests] == [
            ("june", "sessions", "control"),
            ("may", "interleaving", "popular"),
        ]
    links = {"control": "popular", "new": "als", "popular": "popular", "als": "als"}
    result = workspace.intake.commit(plan.with_settings(links=links))
    assert [test.name for test in result.tests] == ["june", "may"]
    ab_test, interleaved = result.tests
    assert dict(ab_test.links) == {"control": known["popular"], "new": known["als"]}
    assert dict(interleaved.links) == known
    assert len(workspace.interleaving.pairs(films, "ndcg", 2)[0].lifts) == 1
    with pytest.raises(UnknownName, match="zzz"):
        workspace.intake.commit(
            workspace.intake.plan(files, experiment_id=films).with_settings(links={"zzz": "als"})
        )


def test_chosen_name_and_control_are_those_of_the_ab_test(workspace: Workspace) -> None:
    files = [
        IntakeFile("1", "may.csv", team_draft(lean=0.5).to_csv(index=False).encode()),
        IntakeFile("2", "june.csv", sessions().to_csv(index=False).encode()),
    ]
    plan = workspace.intake.plan(files).with_settings(control="new", test_name="may")
    assert [(test.name, test.control) for test in plan.tests] == [
        ("may", "new"),
        ("may interleaved", "popular"),
    ]
    assert [test.name for test in workspace.intake.commit(plan).tests] == ["may", "may interleaved"]


def test_a_problem_of_either_test_is_one_of_the_plan(workspace: Workspace) -> None:
    one_team = team_draft(lean=0.5).assign(team="als")
    files = [
        IntakeFile("1", "may.csv", one_team.to_csv(index=False).encode()),
        IntakeFile("2", "june.csv", sessions().to_csv(index=False).encode()),
    ]
    plan = workspace.intake.plan(files)
    assert not plan.is_ready
    assert [problem.code for problem in plan.all_problems] == ["not-two-teams"]
