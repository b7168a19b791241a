"""Renaming, archiving, unarchiving, deleting, tags and notes from a terminal."""

from __future__ import annotations

import pytest
from small_tables import ADD_FILMS
from terminal import Fill, Recdash, as_json

from recdash.report.reports import Reports
from recdash.service import Workspace

FILES = {
    "truth.csv": "user_id,item_id\nann,dune\nbob,emma\n",
    "als.csv": "user_id,item_id,rank\nann,dune,1\n",
    "ease.csv": "user_id,item_id,rank\nann,emma,1\nbob,emma,2\n",
}
ALS = ("--experiment", "films", "--run", "als")


@pytest.fixture
def films(run: Recdash, filled: Fill) -> Recdash:
    def fill() -> None:
        added = run(*ADD_FILMS)
        assert added.exit_code == 0, added.output

    filled(fill)
    return run


def runs(films: Recdash) -> dict[str, list[str]]:
    """Names → tags of what is not archived."""
    (experiment,) = as_json(films, "list")["experiments"]
    return {run["name"]: run["tags"] for run in experiment["runs"]}


def test_an_experiment_and_a_run_get_another_name(films: Recdash) -> None:
    assert films("rename", *ALS, "ALS v3").stdout == "Renamed the run 'als' to 'ALS v3'.\n"
    assert list(runs(films)) == ["ALS v3", "ease"]
    assert films("rename", "--experiment", "films", "Films 2026").exit_code == 0
    assert as_json(films, "list")["experiments"][0]["name"] == "Films 2026"
    refused = films("rename", "--experiment", "Films 2026", "--run", "ease", "ALS v3")
    assert refused.exit_code == 2
    assert "has the name 'ALS v3'" in refused.stderr


def test_what_is_archived_comes_back(films: Recdash) -> None:
    assert films("archive", *ALS).stdout == "Archived the run 'als'.\n"
    assert list(runs(films)) == ["ease"]
    assert films("unarchive", *ALS).stdout == "Unarchived the run 'als'.\n"
    assert list(runs(films)) == ["als", "ease"]
    films("archive", "--experiment", "films")
    assert as_json(films, "list")["experiments"] == []
    films("unarchive", "--experiment", "films")
    assert len(runs(films)) == 2


def test_a_report_is_archived_by_its_title(films: Recdash) -> None:
    space = Workspace.open()
    (experiment,) = space.experiments.all()
    report = Reports(space).make(Reports(space).question(experiment.id), ["defined"], title="Spring")
    assert films("archive", "--experiment", "films", "--report", "Spring").exit_code == 0
    assert Reports(space).all(experiment.id) == []
    films("unarchive", "--experiment", "films", "--report", report.id)
    assert [known.title for known in Reports(space).all(experiment.id)] == ["Spring"]
    refused = films("archive", "--experiment", "films", "--report", "Sprong")
    assert "No report is called 'Sprong'. Did you mean 'Spring'?" in refused.stderr


def test_deleting_asks_for_the_name(films: Recdash, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.prompt", lambda *_, **__: "alz")
    refused = films("delete", *ALS)
    assert refused.exit_code == 2
    assert "Type 'als' exactly to delete it for good." in refused.stderr
    monkeypatch.setattr("click.prompt", lambda text, **_: text.split("'")[1])
    assert films("delete", *ALS).stdout == "Deleted the run 'als'.\n"
    assert list(runs(films)) == ["ease"]
    monkeypatch.undo()
    assert films("delete", "--experiment", "films", "--yes").exit_code == 0
    assert as_json(films, "list")["experiments"] == []


def test_tags_are_added_and_removed(films: Recdash) -> None:
    assert films("tag", *ALS, "autumn", "weekly").stdout == "Tags of the run 'als': autumn, weekly.\n"
    assert films("tag", *ALS, "autumn").stdout == "Tags of the run 'als': autumn, weekly.\n"
    assert films("tag", *ALS, "--remove", "autumn").stdout == "Tags of the run 'als': weekly.\n"
    assert runs(films)["als"] == ["weekly"]
    assert films("tag", *ALS, "--remove", "weekly").stdout == "Tags of the run 'als': none.\n"


def test_a_note_is_written_and_removed(films: Recdash) -> None:
    films("note", *ALS, "Trained on 90 days.")
    films("note", "--experiment", "films", "For the home page.")
    space = Workspace.open()
    (experiment,) = space.experiments.all()
    assert experiment.note == "For the home page."
    assert [run.note for run in space.runs.all(experiment.id)] == ["Trained on 90 days.", ""]
    films("note", *ALS, "")
    assert space.runs.all(experiment.id)[0].note == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("archive", "--experiment", "films", "--run", "alz"), "No run is called 'alz'. Did you mean 'als'?"),
        (("archive", "--experiment", "films", "--test", "May"), "No test is called 'May'"),
        (("archive", *ALS, "--test", "May"), "--run and --test: two things at once"),
        (("rename", "--experiment", "songs", "x"), "No experiment is called 'songs'"),
    ],
)
def test_what_is_not_there_is_named(films: Recdash, command: tuple[str, ...], words: str) -> None:
    refused = films(*command)
    assert refused.exit_code == 2
    assert words in refused.stderr
