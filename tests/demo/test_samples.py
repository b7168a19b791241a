"""The demo comes with a sample review, decision and report; removing the demo removes all of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from report_tables import ANN, opened

from recdash.decisions import Decision
from recdash.domain.records import Experiment
from recdash.report.reports import Reports
from recdash.service import Workspace


@pytest.fixture(scope="module")
def space(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return opened(Path(shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo"), dirs_exist_ok=True)))


@pytest.fixture(scope="module")
def experiment(space: Workspace) -> Experiment:
    (experiment,) = space.experiments.all()
    return experiment


@pytest.fixture(scope="module")
def decision(space: Workspace, experiment: Experiment) -> Decision:
    (decision,) = space.journal.decisions(experiment.id)
    return decision


def test_a_review_of_als_was_approved_and_says_that_it_is_a_sample(
    space: Workspace, experiment: Experiment, decision: Decision
) -> None:
    (review,) = space.journal.reviews(experiment.id)
    assert (review.about, review.state) == ("ALS v3", "approved")
    assert (decision.label, decision.about, decision.review) == ("Ship", "ALS v3", review.id)
    assert {entry.author for entry in space.journal.entries(experiment.id)} == {"demo (sample)"}
    assert decision.text.startswith("Sample decision.")


def test_no_sample_is_older_than_the_runs_and_the_test_that_it_is_about(
    space: Workspace, experiment: Experiment, decision: Decision
) -> None:
    (test,) = space.online_tests.all(experiment.id)
    runs = [run.created for run in space.runs.all(experiment.id)]
    entries = space.journal.entries(experiment.id)[::-1]
    assert max(experiment.created, test.created, *runs) <= entries[0].created
    assert [entry.kind for entry in entries] == [
        "proposal",
        "offline evidence",
        "online evidence",
        "decision",
    ]
    assert decision.created <= space.now()


def test_what_loading_it_stores_is_one_change(space: Workspace, experiment: Experiment) -> None:
    card = space.overview.card(experiment.id)
    assert [change.what for change in card.history] == ["loaded the demo"]


def test_later_changes_of_the_demo_are_changes_of_a_person(demo_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(demo_folder, tmp_path, dirs_exist_ok=True)
    own = Workspace(opened(tmp_path).store, person=ANN)
    (experiment,) = own.experiments.all()
    own.experiments.set_note(experiment.id, "tried")
    assert str(own.overview.card(experiment.id).last_change) == "ann changed the note"


def test_a_sample_report_is_live_and_about_the_candidates_of_the_demo(
    space: Workspace, experiment: Experiment
) -> None:
    (report,) = Reports(space).all(experiment.id)
    assert report.title.startswith("Sample report")
    assert (report.author, report.document) == ("demo (sample)", None)
    names = {run.id: run.name for run in space.runs.all(experiment.id)}
    assert {names[run] for run in report.question["runs"]} == {*names.values()} - {"Popular"}


def test_removing_the_demo_leaves_no_entry_and_no_report(demo_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(demo_folder, tmp_path, dirs_exist_ok=True)
    own = Workspace(opened(tmp_path).store, person=ANN)
    (experiment,) = own.experiments.all()
    own.demo.remove()
    assert own.experiments.all(archived=True) == []
    assert own.store.journal.of_experiment(experiment.id) == []
    assert own.store.reports.of_experiment(experiment.id, archived=True) == []
