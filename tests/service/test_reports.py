"""Reports in a workspace: snapshots keep their numbers, live ones follow; who may do what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_tables import asked, copied, opened

from recdash.domain.access import Person
from recdash.errors import Forbidden, InputError, NotFound, UnknownName
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.question import Question

BOB = Person("bob", "editor")


@pytest.fixture
def space(films_folder: Path, tmp_path: Path) -> Workspace:
    return opened(copied(films_folder, tmp_path))


@pytest.fixture
def question(space: Workspace) -> Question:
    return asked(space)


def test_a_question_fills_in_what_was_left_open(space: Workspace, question: Question) -> None:
    names = {run.name: run.id for run in space.runs.all(question.experiment)}
    assert question.query.baseline == names["popular"]
    assert question.query.runs == (names["als"], names["ease"])
    assert question.by == "user_warmth"
    assert question.test == space.online_tests.all(question.experiment)[0].id
    assert Question.of(question.as_dict()) == question


@pytest.mark.parametrize(
    ("asked", "error"),
    [({"runs": ("nobody",)}, NotFound), ({"metric": "ndgc"}, UnknownName), ({"k": 0}, InputError),
     ({"k": 99}, InputError), ({"test": "none"}, NotFound), ({"online_metric": "x"}, UnknownName),
     ({"by": "item:genre"}, UnknownName)],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(
    space: Workspace, question: Question, asked: dict[str, object], error: type[Exception]
) -> None:
    beside = {name: asked.pop(name) for name in ("by", "test", "online_metric") if name in asked}

    def ask() -> Question:
        query = space.queries.of(question.experiment, **asked)  # type: ignore[arg-type]
        return Reports(space).question(question.experiment, query, **beside)  # type: ignore[arg-type]

    with pytest.raises(error):
        ask()


@pytest.mark.parametrize(("changed", "error"), [({"runs": ("gone",)}, NotFound), ({"k": 99}, InputError)])
def test_a_query_that_the_experiment_cannot_answer_is_refused(
    space: Workspace, question: Question, changed: dict[str, Any], error: type[Exception]
) -> None:
    query = replace(question.query, **changed)
    with pytest.raises(error):
        Reports(space).question(question.experiment, query)


def test_a_snapshot_keeps_its_numbers_and_a_live_report_follows(space: Workspace, question: Question) -> None:
    kept = Reports(space).make(question, title="Kept")
    live = Reports(space).make(question, title="Live", live=True)
    before = Reports(space).document(kept.id)
    space.runs.rename(question.query.runs[0], "als v2")
    assert Reports(space).document(kept.id) == before
    assert before.lead.headline == "Ship als"
    assert Reports(space).document(live.id).lead.headline == "Ship als v2"
    assert (kept.document is None, live.document is None) == (False, True)


def test_a_snapshot_outlives_its_runs_and_a_live_report_says_what_is_gone(
    space: Workspace, question: Question
) -> None:
    kept = Reports(space).make(question)
    live = Reports(space).make(question, live=True)
    space.runs.delete(question.query.runs[0], "als")
    assert b"Ship als" in Reports(space).file(kept.id, "md").content
    with pytest.raises(NotFound, match="not here any more"):
        Reports(space).file(live.id)


def test_a_report_file_has_a_name_a_type_and_the_same_bytes_each_time(
    space: Workspace, question: Question
) -> None:
    kept = Reports(space).make(question, title="Which one? <b>")
    file = Reports(space).file(kept.id, "csv")
    assert (file.name, file.media_type) == ("which-one-b.csv", "text/csv")
    assert Reports(space).file(kept.id, "html").content == Reports(space).file(kept.id, "html").content


def test_reports_are_listed_newest_first_archived_restored_and_deleted_by_title(
    space: Workspace, question: Question
) -> None:
    first, second = (Reports(space).make(question, title=title) for title in ("First", "Second"))
    assert {one.title for one in Reports(space).all(question.experiment)} == {"First", "Second"}
    Reports(space).archive(first.id)
    assert [one.id for one in Reports(space).all(question.experiment)] == [second.id]
    assert len(Reports(space).all(question.experiment, archived=True)) == 2
    Reports(space).unarchive(first.id)
    with pytest.raises(InputError, match="Type 'First' exactly"):
        Reports(space).delete(first.id, "first")
    Reports(space).delete(first.id, "First")
    with pytest.raises(NotFound):
        Reports(space).get(first.id)


def test_sending_a_form_twice_makes_one_report(space: Workspace, question: Question) -> None:
    assert Reports(space).make(question, key="once").id == Reports(space).make(question, key="once").id
    assert len(Reports(space).all(question.experiment)) == 1
    assert Reports(space).make(question, key="once", title="Other words").title == "Other words"


def test_the_author_is_who_asked(space: Workspace, question: Question) -> None:
    made = Reports(space.seen_by(BOB)).make(question, author="somebody else")
    assert made.author == "bob"
    assert Reports(space).document(made.id).author == "bob"
    assert space.audit.events(1)[0].action == "add report"


def test_viewers_read_reports_and_change_none(space: Workspace, question: Question) -> None:
    made = Reports(space).make(question)
    viewer = space.seen_by(Person("vic", "viewer"))
    assert Reports(viewer).file(made.id, "json").content == Reports(space).file(made.id, "json").content
    for act in (
        lambda: Reports(viewer).make(question),
        lambda: Reports(viewer).archive(made.id),
        lambda: Reports(viewer).unarchive(made.id),
        lambda: Reports(viewer).delete(made.id, made.title),
    ):
        with pytest.raises(Forbidden):
            act()


@pytest.mark.parametrize("live", [False, True])
def test_a_link_to_a_report_opens_it_as_it_is(space: Workspace, question: Question, live: bool) -> None:
    made = Reports(space).make(question, title="Mine", live=live)
    token = space.sharing.share(question.experiment, report_id=made.id).token
    found = Reports(space).shared(token)
    assert found.name == "mine.html"
    assert b"Ship als" in found.content


@pytest.mark.parametrize(
    "told", [{"title": "x" * 300}, {"narrative": "x" * 30_000}, {"blocks": ("nothing",)}]
)
def test_too_much_text_and_unknown_blocks_are_refused(
    space: Workspace, question: Question, told: dict[str, object]
) -> None:
    with pytest.raises(InputError):
        Reports(space).make(question, **told)  # type: ignore[arg-type]
    assert Reports(space).all(question.experiment) == []


def test_an_archived_run_can_still_be_reported(space: Workspace, question: Question) -> None:
    space.runs.archive(question.query.runs[1])
    assert question.query.runs[1] not in Reports(space).question(question.experiment).query.runs
    assert Reports(space).content(question).lead.headline == "Ship als"


def test_a_report_is_written_from_python_in_a_line(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    found = Reports(space).write(question, tmp_path / "films.md", ("evidence",), title="Which?")
    assert (tmp_path / "films.md").read_text().startswith("# Ship als")
    assert (found.title, found.author) == ("Which?", "ann")
    with pytest.raises(InputError, match="no form of a report"):
        Reports(space).write(question, tmp_path / "films.docx")
