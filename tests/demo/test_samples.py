"""The demo comes with a sample review, decision and report; removing the demo removes all of it."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
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


def test_it_is_dated_after_the_end_of_the_test_and_never_later_than_now(
    space: Workspace, experiment: Experiment, decision: Decision
) -> None:
    assert decision.created <= min(datetime(2026, 11, 23, 15, tzinfo=UTC), space.now())
    assert decision.created.date() == min(datetime(2026, 11, 23, tzinfo=UTC), experiment.created).date()
    days = [entry.created for entry in space.journal.entries(experiment.id)]
    assert days == sorted(days, reverse=True)


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
