"""Whether a report's numbers hold is computed anew from the uploads; what was changed is named."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from report_tables import CANDIDATES, TRUTH, altered, asked, copied, films, opened, recomputed_once

from recdash.domain.access import Person
from recdash.errors import EvidenceDamaged, InputError, NotFound
from recdash.formatting.wording import day
from recdash.metrics import naming
from recdash.report.document import TIES_WORDING, WORDING, Document, Lead
from recdash.report.formats.html import to_html
from recdash.report.formats.json import from_json, to_json
from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports
from recdash.report.reproduce.compare_documents import check
from recdash.report.reproduce.reproduce import Reproduction, reproduction
from recdash.service import Workspace
from recdash.service.question import Question


@dataclass(frozen=True)
class Made:
    """A store with the films, and the report of it in the forms that are read back."""

    folder: Path
    space: Workspace
    question: Question
    forms: dict[str, bytes]
    recomputed: dict[str, Document] = field(default_factory=dict)


@pytest.fixture(scope="module")
def made(films_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = copied(films_folder, tmp_path_factory.mktemp("films"))
    space = opened(folder)
    question = asked(space)
    content = Reports(space).content(question, author="ann", title="Which?")
    return Made(folder, space, question, {form: FORMS[form].write(content) for form in ("html", "json")})


@pytest.fixture
def untouched(made: Made) -> Iterator[Workspace]:
    """The store of the films, for tests that change what a file says and nothing else."""
    with recomputed_once(made.recomputed):
        yield made.space


@pytest.fixture
def space(made: Made, tmp_path: Path) -> Workspace:
    shutil.copytree(made.folder, tmp_path, dirs_exist_ok=True)
    return opened(tmp_path)


@pytest.fixture
def question(made: Made) -> Question:
    return made.question


@pytest.fixture
def written(made: Made, tmp_path: Path) -> Callable[[str], Path]:
    """The report of the untouched films as a file of a form."""

    def write(form: str) -> Path:
        file = tmp_path / f"report.{form}"
        file.write_bytes(made.forms[form])
        return file

    return write


def in_older_words(space: Workspace, question: Question, file: Path, old: str, new: str) -> Path:
    """A report of wording 11, with one text changed."""
    document = Reports(space).content(question, author="ann", wording=TIES_WORDING)
    values = json.loads(FORMS["json"].write(document)) | {"wording": TIES_WORDING}
    file.write_text(json.dumps(values, ensure_ascii=False), "utf-8")
    return altered(file, old, new)


AGREE = "Offline and online agree on one of two candidates"
"""The title of the A/B test's section until wording 11."""
TODAY = "ease won offline, lost online; als won both"


@pytest.mark.parametrize("otherwise", ["By one of two candidates, both say the same", "One of two"])
def test_other_words_of_an_older_recdash_for_the_same_facts_are_confirmed(
    untouched: Workspace, question: Question, tmp_path: Path, otherwise: str
) -> None:
    file = in_older_words(untouched, question, tmp_path / "report.json", AGREE, otherwise)
    found = reproduction(untouched, file)
    assert found.holds, found.text
    assert found.checked.reworded == 1
    assert "1 sentence in the words of an older recdash, with the same numbers and runs" in found.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ship als", "Ship ease"),
        pytest.param("Ship als", "Keep als", marks=pytest.mark.long),
        ("times that of popular", "times that of ease"),
        pytest.param(AGREE, f"{AGREE} of 3", marks=pytest.mark.long),
        (AGREE, "als agrees"),
    ],
)
def test_older_words_for_other_facts_are_named(
    untouched: Workspace, question: Question, tmp_path: Path, old: str, new: str
) -> None:
    file = in_older_words(untouched, question, tmp_path / "report.json", old, new)
    assert new in told(reproduction(untouched, file))


@pytest.mark.parametrize(
    ("old", "new"),
    [('"author": "ann", "moment"', '"author": "mallory", "moment"'), ('"reason": "Yes."', '"reason": "No."')],
)
def test_who_decided_and_why_has_no_older_words(
    space: Workspace, question: Question, tmp_path: Path, old: str, new: str
) -> None:
    space.decisions.decide(question.experiment, "ship", run_id=question.query.runs[0], text="Yes.")
    evidence = "Evidence at the time"
    file = in_older_words(space, question, tmp_path / "report.json", evidence, f"The {evidence.lower()}")
    assert reproduction(space, file).holds
    assert "verdict › decision" in told(reproduction(space, altered(file, old, new)))


def test_other_words_of_this_recdash_are_named(untouched: Workspace, written: Callable[[str], Path]) -> None:
    assert "One of two" in told(reproduction(untouched, altered(written("json"), TODAY, "One of two")))


def told(found: Reproduction) -> str:
    assert not found.holds
    return found.text


def test_a_report_made_before_a_metric_was_added_is_confirmed_and_the_metric_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(naming, "SCORED", tuple(spec for spec in naming.SCORED if spec != "rbp"))
        space = opened(tmp_path)
        content = Reports(space).content(films(space))
    assert "RBP@3" not in to_json(content)
    file = tmp_path / "report.json"
    file.write_text(to_json(content), "utf-8")
    found = reproduction(opened(tmp_path), file)
    assert found.holds, found.text
    assert "note: recdash scores RBP@3 today, which the report does not list" in found.text


@pytest.mark.parametrize("metric", ["nDCG@3", pytest.param("Recall@3", marks=pytest.mark.long), "Gini@3"])
def test_a_row_that_every_recdash_scores_cannot_be_left_out(
    untouched: Workspace, written: Callable[[str], Path], metric: str
) -> None:
    values = json.loads(written("json").read_text("utf-8"))
    (scores,) = [section for section in values["sections"] if section["name"] == "scores"]
    rows = scores["parts"][0]["rows"]
    scores["parts"][0]["rows"] = [row for row in rows if row[0] != metric]
    assert len(scores["parts"][0]["rows"]) == len(rows) - 1
    file = written("json")
    file.write_text(json.dumps(values, ensure_ascii=False), "utf-8")
    assert metric in told(reproduction(untouched, file))


@pytest.mark.parametrize("form", ["html", "json"])
def test_every_number_of_an_untouched_report_is_confirmed(
    space: Workspace, written: Callable[[str], Path], form: str
) -> None:
    found = reproduction(space, written(form))
    assert found.holds, found.text
    assert found.checked.numbers > 300
    assert found.text.startswith("Confirmed: ")
    assert found.notes == ()
    assert found.outcome == "confirmed"


def test_nothing_that_was_computed_before_is_used(
    space: Workspace, question: Question, written: Callable[[str], Path], tmp_path: Path
) -> None:
    """A report of falsified curves and results is found out, though it says what the store says."""
    file = written("json")
    run = question.query.runs[0]
    curves = space.store.curves.of_runs([run])[run]
    truthful = reproduction(space, file)
    falsified = space.store.runs.get(run)
    folder = space.store.artifacts.path(falsified.upload or "").parents[1]
    shutil.copytree(folder, tmp_path / "kept")
    space.runs.delete(run, falsified.name)
    shutil.copytree(tmp_path / "kept", folder, dirs_exist_ok=True)  # its files went with the run
    curves["recall"].value[:] += 0.01
    space.store.runs.add(falsified, list(curves.values()))
    space.online_tests.link_variants(
        space.online_tests.all(question.experiment)[0].id,
        {"A": question.query.baseline, "B": run, "C": question.query.runs[1]},
    )
    fresh = opened(space.store.artifacts.path(falsified.upload or "").parents[3])
    file.write_bytes(FORMS["json"].write(Reports(fresh).content(question)))
    found = reproduction(fresh, file)
    assert truthful.holds
    assert "Recall" in told(found)


def test_a_number_changed_in_the_json_is_named_with_both_values(
    space: Workspace, written: Callable[[str], Path]
) -> None:
    file = written("json")
    document = json.loads(file.read_text())
    evidence = next(one for one in document["sections"] if one["name"] == "evidence")
    cell = evidence["parts"][0]["table"]["rows"][0][3]
    true, cell["value"] = cell["value"], 0.999
    file.write_text(json.dumps(document))
    text = told(reproduction(space, file))
    assert "Candidates against popular, nDCG@3 › als › Difference" in text
    assert f"the report says 0.999; recomputed: {true!r}" in text


def test_the_last_digit_of_a_number_matters(untouched: Workspace, written: Callable[[str], Path]) -> None:
    file = written("json")
    document = json.loads(file.read_text())
    evidence = next(one for one in document["sections"] if one["name"] == "evidence")
    evidence["parts"][0]["table"]["rows"][0][3]["value"] *= 1 + 1e-11
    file.write_text(json.dumps(document))
    assert len(reproduction(untouched, file).checked.changes) == 1


def test_a_cell_changed_in_the_html_is_shown_with_what_it_should_be(
    untouched: Workspace, written: Callable[[str], Path]
) -> None:
    file = altered(written("html"), ">0.815<", ">0.915<")
    found = reproduction(untouched, file)
    assert not found.checked.changes
    assert "0.915" in found.page_difference
    assert "0.815" in found.page_difference
    assert not found.holds


def test_one_word_of_the_verdict_is_found(space: Workspace, written: Callable[[str], Path]) -> None:
    text = told(
        reproduction(space, altered(written("json"), '"headline": "Ship als"', '"headline": "Ship ease"'))
    )
    assert "verdict › headline" in text
    assert "“Ship ease”; recomputed: “Ship als”" in text


def test_a_changed_document_inside_the_html_is_found_though_the_page_shows_it(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    document = Reports(space).content(question)
    lie = from_json(to_json(document).replace("Ship als", "Ship ease"))
    file = tmp_path / "lie.html"
    file.write_text(to_html(lie), encoding="utf-8", newline="")
    found = reproduction(space, file)
    assert found.page_difference == ""
    assert "Ship ease" in told(found)


def test_a_script_slipped_into_the_html_is_found(
    untouched: Workspace, written: Callable[[str], Path]
) -> None:
    file = altered(written("html"), "</body>", "<script>alert(1)</script></body>")
    assert "alert(1)" in told(reproduction(untouched, file))


OLD = {"recdash": "0.0.1", "plotly": "1.0"}


def of_old(space: Workspace, question: Question, file: Path) -> Path:
    """A report that says another version of itself, and a page that was made by this one."""
    old = Reports(space).content(question, versions=OLD)
    file.write_text(to_html(old, "0.0.1"), encoding="utf-8", newline="")
    return file


def test_a_page_that_is_made_alike_but_for_its_version_is_confirmed(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    found = reproduction(space, of_old(space, question, tmp_path / "old.html"))
    assert found.holds, found.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (">0.815<", ">0.915<"),
        ("</body>", "<script>alert(1)</script></body>"),
        pytest.param("data-n>Ship als</h1>", "data-n>Ship ease</h1>", marks=pytest.mark.long),
    ],
)
def test_a_page_of_another_version_that_shows_something_else_is_never_confirmed(
    space: Workspace, question: Question, tmp_path: Path, old: str, new: str
) -> None:
    found = reproduction(space, altered(of_old(space, question, tmp_path / "old.html"), old, new))
    assert found.outcome == "data confirmed, page not compared"
    assert "recdash 0.0.1 made it" in told(found)
    assert not found.checked.changes


@pytest.mark.parametrize(
    ("cell", "outcome"), [(">0.815<", "confirmed"), (">0.915<", "data confirmed, page not compared")]
)
def test_a_page_in_the_words_of_an_older_recdash_is_not_refused(
    untouched: Workspace, question: Question, tmp_path: Path, cell: str, outcome: str
) -> None:
    """Its layout may be that of its time, so that what it shows otherwise proves nothing."""
    older = Reports(untouched).content(question, wording=WORDING - 1)
    document = replace(older, wording=WORDING - 1)
    file = tmp_path / "report.html"
    file.write_text(to_html(document).replace(">0.815<", cell), encoding="utf-8", newline="")
    assert reproduction(untouched, file).outcome == outcome


def test_line_ends_that_git_or_mail_changed_are_no_change(
    untouched: Workspace, written: Callable[[str], Path]
) -> None:
    file = written("html")
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert reproduction(untouched, file).holds


def test_a_decision_of_the_same_second_is_told_alike(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    made = space.decisions.decide(
        question.experiment, "ship", run_id=question.query.runs[0], text="Yes."
    ).entry.created
    file = tmp_path / "report.json"
    moment = made.replace(microsecond=min(made.microsecond + 1, 999_999))
    file.write_bytes(FORMS["json"].write(Reports(space).content(question, moment=moment)))
    assert "Yes." in file.read_text()
    assert reproduction(space, file).holds


def test_the_words_that_nobody_can_check_are_named(space: Workspace, written: Callable[[str], Path]) -> None:
    file = altered(written("json"), '"author": "ann"', '"author": "The CTO"')
    found = reproduction(space, file)
    assert found.snapshot.unchecked == ("title", "narrative", "author", "moment", "live", "head")
    assert "title, narrative, author, moment, live and head are the file's own words" in found.text


def test_a_report_has_the_hash_of_the_last_line_of_its_time_and_stays_confirmed(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    head, file = space.store.audit.last(), tmp_path / "report.json"
    file.write_bytes(FORMS["json"].write(Reports(space).content(question)))
    assert f'"recdash verify --head={head}"' in file.read_text()
    space.experiments.rename(question.experiment, "Cinema")
    assert space.store.audit.last() != head
    assert reproduction(space, file).holds


def test_a_report_for_guests_and_one_without_the_hash_do_not_show_it(
    made: Made, question: Question, tmp_path: Path
) -> None:
    guest = Workspace(made.space.store, person=Person("guest", experiment=question.experiment))
    file = tmp_path / "report.json"
    for space, head in ((guest, None), (made.space, "")):
        file.write_bytes(FORMS["json"].write(Reports(space).content(question, head=head)))
        assert "recdash verify" not in file.read_text()
        assert reproduction(made.space, file).holds


def test_a_kept_snapshot_is_recognised_and_a_word_changed_in_it_is_named(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    kept = Reports(space).make(question, title="Which?", narrative="As it is.")
    file = tmp_path / "kept.json"
    file.write_bytes(Reports(space).file(kept.id, "json").content)
    assert reproduction(space, file).snapshot.report == kept.id
    text = told(reproduction(space, altered(file, "As it is.", "Popular wins.")))
    assert "narrative: the report says “Popular wins.”; the store kept “As it is.”" in text


def test_a_moment_that_is_still_to_come_is_not_confirmed(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    moment = datetime(2126, 1, 1, tzinfo=UTC)
    file.write_bytes(FORMS["json"].write(Reports(space).content(question, moment=moment)))
    assert "is still to come" in told(reproduction(space, file))


def test_a_run_that_was_deleted_and_uploaded_again_by_another_name_changes_nothing(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    twice = pd.concat([CANDIDATES["als"], CANDIDATES["als"][:4]])
    run = space.runs.add(question.experiment, twice, name="als twice")[0].run
    assert run.notices
    other = Reports(space).question(
        question.experiment, space.queries.of(question.experiment, [run.id], question.query.baseline, k=3)
    )
    file = tmp_path / "report.json"
    file.write_bytes(FORMS["json"].write(Reports(space).content(other)))
    space.runs.delete(run.id, "als twice")
    space.runs.add(question.experiment, twice, name="als v9")
    found = reproduction(space, file)
    assert found.holds, found.text
    assert "'als twice' is called 'als v9' today" in found.text


def test_a_text_that_is_the_word_nothing_is_not_missing() -> None:
    lead = Lead("=", "b", "same", "w", "h", ("nothing",))
    said = Document("t", "e", "m", "", False, "", lead, (), (), {}, ())
    (change,) = check(said, replace(said, lead=replace(lead, sentences=()))).changes
    assert change.said == "“nothing”"
    assert change.found == "nothing"


def test_renaming_a_run_later_changes_no_number_and_is_told(
    space: Workspace, question: Question, written: Callable[[str], Path]
) -> None:
    file = written("html")
    space.runs.rename(question.query.runs[0], "als v2")
    found = reproduction(space, file)
    assert found.holds, found.text
    assert "'als' is called 'als v2' today" in found.text


def test_the_name_of_another_run_is_no_renaming(space: Workspace, written: Callable[[str], Path]) -> None:
    file = written("json")
    other = {"als": "ease", "ease": "als"}
    file.write_text(re.sub(r"\b(als|ease)\b", lambda name: other[name[0]], file.read_text()))
    assert "is that of another run" in told(reproduction(space, file))


def test_another_link_or_baseline_set_later_does_not_touch_the_report(
    space: Workspace, question: Question, written: Callable[[str], Path]
) -> None:
    file = written("json")
    space.experiments.set_baseline(question.experiment, question.query.runs[1])
    test = space.online_tests.all(question.experiment)[0]
    space.online_tests.link_variants(test.id, {"A": question.query.baseline})
    found = reproduction(space, file)
    assert found.holds
    assert "the report has other links than the store today" in found.text


def test_a_test_that_was_given_another_control_is_not_confirmed(
    space: Workspace, written: Callable[[str], Path]
) -> None:
    file = written("json")
    known = json.loads(file.read_text())
    (test,) = known["provenance"]["tests"]
    test["control"] = next(variant for variant in test["links"] if variant != test["control"])
    file.write_text(json.dumps(known))
    assert "the report has other control than the store today" in told(reproduction(space, file))


def test_what_was_decided_later_does_not_touch_the_report(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    space.decisions.decide(question.experiment, "ship", run_id=question.query.runs[0], text="Yes.")
    file = tmp_path / "report.json"
    file.write_bytes(FORMS["json"].write(Reports(space).content(question)))
    space.decisions.decide(question.experiment, "inconclusive", text="Wait.")
    assert reproduction(space, file).holds


def test_a_damaged_upload_confirms_nothing(
    space: Workspace, question: Question, written: Callable[[str], Path], tmp_path: Path
) -> None:
    file = written("json")
    upload = space.store.artifacts.path(space.store.runs.get(question.query.runs[0]).upload or "")
    upload.write_bytes(upload.read_bytes()[:-1] + b"x")
    os.utime(upload, (0, 0))
    with pytest.raises(EvidenceDamaged):
        reproduction(opened(tmp_path), file)


def test_a_deleted_run_is_named(space: Workspace, question: Question, written: Callable[[str], Path]) -> None:
    file = written("html")
    space.runs.delete(question.query.runs[0], "als")
    with pytest.raises(NotFound, match="The run 'als' of the report"):
        reproduction(space, file)


@pytest.mark.parametrize("form", ["json", "html"])
def test_a_report_whose_user_was_deleted_says_when_and_what_differs_without_them(
    space: Workspace, written: Callable[[str], Path], form: str
) -> None:
    """The user is in the test set and in every run. The report can be read, and not be computed again."""
    file = written(form)
    today = datetime.now(UTC).date()
    space.purge.user("u07")
    result = reproduction(space, file)
    assert (result.outcome, result.holds, result.deleted) == ("data deleted", False, (today,))
    first, second, *lines = result.text.splitlines()
    assert first == (
        f"Not computed again: data of users were deleted on {day(today)}, after 'Which?' was made. It can "
        "still be read, but its numbers can no longer be confirmed or refuted."
    )
    assert second.startswith("Computed without these users, "), second
    assert any("the report says" in line for line in lines)
    assert "u07" not in result.text
    assert not any(change.where.startswith("provenance") for change in result.checked.changes)
    assert result.as_dict()["deleted_on"] == [today.isoformat()]


def test_a_report_without_the_deleted_user_stays_confirmed(
    space: Workspace, written: Callable[[str], Path]
) -> None:
    """The user is only in another experiment."""
    file = written("json")
    space.experiments.create("songs", pd.DataFrame({"user_id": ["zoe", "max"], "item_id": ["a", "b"]}))
    space.purge.user("zoe")
    result = reproduction(space, file)
    assert result.holds, result.text


def test_a_report_with_a_changed_table_is_not_told_of_deletions_elsewhere(
    space: Workspace, written: Callable[[str], Path]
) -> None:
    file = written("json")
    document = json.loads(file.read_text())
    document["provenance"]["experiment"]["truth"] = "0" * 64
    file.write_text(json.dumps(document))
    space.experiments.create("songs", pd.DataFrame({"user_id": ["zoe", "max"], "item_id": ["a", "b"]}))
    space.purge.user("zoe")
    with pytest.raises(NotFound, match="No stored experiment has the tables of 'films'"):
        reproduction(space, file)


def test_a_store_that_never_held_the_tables_says_so(written: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No stored experiment has the tables of 'films'"):
        reproduction(opened(tmp_path / "elsewhere"), written("json"))


def test_the_same_tables_in_another_store_confirm_it(written: Callable[[str], Path], tmp_path: Path) -> None:
    """Ids differ there; the files are the same."""
    other = opened(tmp_path / "elsewhere")
    films(other, name="films again")
    found = reproduction(other, written("html"))
    assert found.holds, found.text


NOT_PACKED = '<script type="text/plain" id="packed-document">7:abc</script>'


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.html", "<html>hello</html>"), ("a.json", '{"is": "Document"}'), ("b.json", "[]"), ("c.json", "{"),
     ("d.json", '{"is": "Lead"}'), ("e.html", NOT_PACKED), ("f.json", '{"a":' * 200_000)],
)  # fmt: skip
def test_a_file_that_is_no_report_is_refused(
    space: Workspace, tmp_path: Path, name: str, content: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(InputError, match="recdash report"):
        reproduction(space, file)


@pytest.mark.parametrize(
    ("name", "value"),
    [("lead", "x"), ("lead", None), ("sections", [1, 2]), ("sections", ["x"]), ("runs", None), ("title", 3),
     ("live", 1), ("moment", "today"), ("provenance", []), ("question", {"runs": 7})],
)  # fmt: skip
def test_a_report_that_holds_something_else_is_refused_in_words(
    space: Workspace, written: Callable[[str], Path], name: str, value: object
) -> None:
    file = written("json")
    file.write_text(json.dumps({**json.loads(file.read_text()), name: value}))
    with pytest.raises(InputError, match="cannot be read"):
        reproduction(space, file)


def test_a_report_without_its_question_is_refused(space: Workspace, written: Callable[[str], Path]) -> None:
    file = written("json")
    document = json.loads(file.read_text())
    document["question"] = {}
    file.write_text(json.dumps(document))
    with pytest.raises(InputError, match="cannot be read"):
        reproduction(space, file)


@pytest.mark.parametrize("kind", ["seeds", "folds"])
def test_runs_of_several_seeds_or_folds_are_recomputed_too(tmp_path: Path, kind: str) -> None:
    space = opened(tmp_path)
    made = space.experiments.create("several", TRUTH, depth=4)
    space.runs.add(made.id, CANDIDATES["popular"], name="popular")
    als = CANDIDATES["als"]
    first = als["user_id"] < "u20"
    tables = {"1": als[first], "2": als[~first]} if kind == "folds" else {"1": als, "2": _later(als)}
    space.runs.add(made.id, tables, name="als")
    file = tmp_path / "report.json"
    file.write_bytes(
        FORMS["json"].write(
            Reports(space).content(Reports(space).question(made.id, space.queries.of(made.id, k=3)))
        )
    )
    found = reproduction(space, file)
    assert found.holds, found.text
    assert kind[:-1] in file.read_text()


@pytest.mark.parametrize("table", [None, CANDIDATES["als"]], ids=["ratings only", "lists too"])
def test_runs_with_rating_predictions_are_recomputed_too(tmp_path: Path, table: pd.DataFrame | None) -> None:
    space = opened(tmp_path)
    truth = TRUTH.assign(rating=[1.0, 2.0, 4.0, 5.0] * 10)
    made = space.experiments.create("rated", truth, depth=4)
    space.runs.add(made.id, CANDIDATES["popular"], name="popular")
    predictions = truth.assign(prediction=truth["rating"] + [1.0, 0.0] * 20)
    (added,) = space.runs.add(made.id, table, name="svd", predictions=predictions)
    asked_of = Reports(space).question(made.id, space.queries.of(made.id, k=3))
    file = tmp_path / "report.json"
    file.write_bytes(FORMS["json"].write(Reports(space).content(asked_of)))
    assert added.run.hits["predictions"] in file.read_text()
    found = reproduction(space, file)
    assert found.holds, found.text


def test_a_changed_error_of_predicted_ratings_is_named(tmp_path: Path) -> None:
    space = opened(tmp_path)
    truth = TRUTH.assign(rating=[1.0, 2.0, 4.0, 5.0] * 10)
    made = space.experiments.create("rated", truth, depth=4)
    for name, error in (("knn", 0.1), ("svd", 1.0)):
        predictions = truth.assign(prediction=truth["rating"] + [error, 0.0] * 20)
        space.runs.add(made.id, None, name=name, predictions=predictions)
    asked_of = Reports(space).question(made.id, space.queries.of(made.id, metric="mae"))
    file = tmp_path / "report.json"
    file.write_bytes(FORMS["json"].write(Reports(space).content(asked_of)))
    assert reproduction(space, file).holds
    document = json.loads(file.read_text())
    evidence = next(section for section in document["sections"] if section["name"] == "evidence")
    evidence["parts"][0]["table"]["rows"][0][3]["value"] *= 1.01
    file.write_text(json.dumps(document))
    assert len(reproduction(space, file).checked.changes) == 1


def _later(lists: pd.DataFrame) -> pd.DataFrame:
    """Every list with its first item last."""
    return lists.assign(rank=(lists["rank"] + 2) % 4 + 1)


def test_reference_candidates_and_a_baseline_among_them_are_recomputed(
    space: Workspace, question: Question, tmp_path: Path
) -> None:
    space.runs.add_references(question.experiment, "random,popular,oracle")
    base = next(run for run in space.runs.all(question.experiment) if run.reference == "popular")
    other = Reports(space).question(
        question.experiment, space.queries.of(question.experiment, question.query.runs, base.id, k=3)
    )
    file = tmp_path / "report.json"
    file.write_bytes(FORMS["json"].write(Reports(space).content(other)))
    found = reproduction(space, file)
    assert found.holds, found.text
