"""The section Reports of the page Reports & decisions: make, list, take away, share, put away."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from app_pages import Open, markup, passed, press, said, shell, turn_to
from report_tables import films, lists
from streamlit.testing.v1 import AppTest

from recdash.domain.access import Person
from recdash.domain.journal import Report
from recdash.formatting.wording import day
from recdash.report.formats.pdf import find_browser
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.question import Question
from recdash.ui.app import state


@pytest.fixture
def question(workspace: Workspace) -> Question:
    return films(workspace)


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def made(workspace: Workspace, question: Question) -> None:
    (report,) = Reports(workspace).all(question.experiment)
    assert report.title == "Which one?"
    assert report.narrative == "For the homepage."
    assert report.blocks == ("evidence", "caveats")
    assert report.document is not None


def test_an_editor_makes_a_report_of_the_present_view(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    app = open_page("reports", e=question.experiment, k="3")
    title = next(element for element in app.text_input if element.label == "Title")
    assert title.value == "films"
    title.input("Which one?")
    next(element for element in app.text_area if element.label == "Summary for readers").input(
        "For the homepage."
    )
    next(element for element in app.multiselect if element.label.startswith("What to show")).set_value(
        ["evidence", "caveats"]
    )
    app = press(app, "Make report")
    made(workspace, question)
    (report,) = Reports(workspace).all(question.experiment)
    assert Question.of(report.question).query.k == 3
    assert Question.of(report.question).query.runs == question.query.runs
    assert "1 report The newest first" in said(app)
    assert "Which one? " in said(app)


def made_with(workspace: Workspace, question: Question, open_page: Open, choice: str, value: str) -> Report:
    """Returns the report that the form makes after this choice."""
    app = open_page("reports", e=question.experiment)
    next(element for element in app.radio if element.label == choice).set_value(value)
    press(app, "Make report")
    return Reports(workspace).all(question.experiment)[0]


def test_a_live_report_is_made_where_that_is_chosen(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    assert made_with(workspace, question, open_page, "Numbers", "live").document is None


def test_a_report_of_the_decision_only_has_what_would_change_it(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    assert made_with(workspace, question, open_page, "Length", "decision").blocks == ("changes",)


def test_each_report_opens_and_can_be_taken_away_in_every_form(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    report = Reports(workspace).make(question, ("evidence",), title="<b>Mine</b> https://x.example")
    app = open_page("reports", e=question.experiment)
    body = markup(app)
    assert f'<a href="reports/{report.id}" target="_blank" rel="noopener">&lt;b&gt;Mine&lt;/b&gt;' in body
    for form in ("html", "md", "csv", "json", "tex", *(["pdf"] if find_browser() else [])):
        assert f'href="reports/{report.id}.{form}" download' in body


def test_the_form_counts_many_candidates(workspace: Workspace, question: Question, open_page: Open) -> None:
    """als and ease, and two more."""
    for at in (1, 2):
        workspace.runs.add(question.experiment, lists(lambda _, at=at: at), name=f"more {at}")
    captions = [element.value for element in open_page("reports", e=question.experiment, k="3").caption]
    assert any(" of 4 candidates against popular" in text for text in captions)


def test_the_list_says_what_each_report_decides_or_recommends(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    kept = Reports(workspace).make(question, ("evidence",), title="Before")
    workspace.decisions.decide(question.experiment, "do not ship", run_id=question.query.runs[0], text="No.")
    live = Reports(workspace).make(question, ("evidence",), title="Today", live=True)
    told = [Reports(workspace).headline(report) for report in (kept, live)]
    assert told == ["Ship als", "Don't ship als"]
    text = said(open_page("reports", e=question.experiment))
    assert all(headline in text for headline in told)
    workspace.runs.delete(question.query.runs[0], "als")
    assert [Reports(workspace).headline(report) for report in (kept, live)][1] == ""


def test_without_a_chromium_it_says_why_there_is_no_pdf(
    workspace: Workspace, question: Question, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Reports(workspace).make(question, ("evidence",))
    monkeypatch.setenv("PATH", "/nowhere")
    app = open_page("reports", e=question.experiment)
    assert f"reports/{report.id}.pdf" not in markup(app)
    assert any("No Chromium was found" in str(element.value) for element in app.caption)


def test_a_report_is_archived_restored_and_deleted_with_its_title_typed(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    report = Reports(workspace).make(question, ("evidence",), title="Old")
    app = open_page("reports", e=question.experiment)
    app = passed(app.button(key=f"report-archive-{report.id}").click().run())
    assert Reports(workspace).all(question.experiment) == []
    app = passed(app.button(key=f"report-unarchive-{report.id}").click().run())
    assert len(Reports(workspace).all(question.experiment)) == 1
    app.text_input(key=f"delete-name-{report.id}").input("old")
    app = passed(app.button(key=f"delete-report-{report.id}").click().run())
    assert len(Reports(workspace).all(question.experiment)) == 1
    assert any("exactly" in str(element.value) for element in app.error)
    app.text_input(key=f"delete-name-{report.id}").input("Old")
    passed(app.button(key=f"delete-report-{report.id}").click().run())
    assert Reports(workspace).all(question.experiment, archived=True) == []


def test_a_share_link_of_a_report_is_shown_once(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    report = Reports(workspace).make(question, ("evidence",), title="Shared")
    app = open_page("reports", e=question.experiment)
    app = passed(app.button(key=f"share-report-go-{report.id}").click().run())
    (link,) = workspace.sharing.links(question.experiment)
    assert link.report == report.id
    assert [element for element in app.code if re.search(r"(^|/)s/\S{20,}$", str(element.value))]
    passed(app.run())


def test_a_viewer_reads_the_list_and_can_change_nothing(
    workspace: Workspace, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    Reports(workspace).make(question, ("evidence",), title="Theirs")
    viewer = workspace.seen_by(Person("vic", "viewer"))
    for module in ("listing", "builder"):  # first: loaded after the next line they would keep this workspace
        monkeypatch.setattr(f"recdash.ui.reports.{module}.workspace", lambda: viewer)
    monkeypatch.setattr(state, "workspace", lambda: viewer)
    app = turn_to(passed(shell({"e": question.experiment}).run()), "reports")
    assert "Theirs" in said(app)
    assert not {"Make report", "Archive", "Delete for good", "Create link"} & set(labels(app))


def test_an_experiment_without_runs_offers_no_report(workspace: Workspace, open_page: Open) -> None:
    from report_tables import TRUTH

    made = workspace.experiments.create("empty", TRUTH)
    app = open_page("reports", e=made.id)
    assert "Make report" not in labels(app)


# ── the form ─────────────────────────────────────────────────────────────────────────────────


def test_the_form_is_open_until_there_is_a_report(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    def is_open() -> bool:
        app = open_page("reports", e=question.experiment)
        return next(box for box in app.expander if box.label == "Make a report").proto.expanded

    assert is_open()
    Reports(workspace).make(question, ("evidence",))
    assert not is_open()


def test_the_section_ab_test_is_only_chosen_if_there_is_one(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    def chosen() -> list[str]:
        app = open_page("reports", e=question.experiment)
        return next(box for box in app.multiselect if box.label.startswith("What to show")).value

    assert "online" in chosen()
    for test in workspace.online_tests.all(question.experiment):
        workspace.online_tests.delete(test.id, test.name)
    assert chosen()
    assert "online" not in chosen()


def test_a_report_is_confirmed_with_a_link_where_it_is_made(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    app = press(open_page("reports", e=question.experiment), "Make report")
    (report,) = Reports(workspace).all(question.experiment)
    assert [toast.value for toast in app.toast] == ["The report is made."]
    assert "The report is made: films . To make another, open the form." in said(app)
    assert markup(app).count(f'href="reports/{report.id}" target="_blank"') == 2
    assert "The report is made" not in said(passed(turn_to(passed(turn_to(app, "overview")), "reports")))


def test_a_list_of_reports_says_which_follow_the_data_and_making_one_comes_before_managing(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    Reports(workspace).make(question, ("evidence",), title="Stays")
    Reports(workspace).make(question, ("evidence",), title="Follows", live=True)
    app = open_page("reports", e=question.experiment)
    assert "A live report follows the data, a snapshot keeps its numbers." in said(app)
    assert re.search(r"Follows .* 20\d\d Numbers Live, follows the data Download HTML", said(app))
    assert re.search(r"Stays .* 20\d\d Numbers Snapshot, keeps its numbers Download HTML", said(app))
    names = [element.label for element in app.expander]
    assert names.index("Make a report") < names.index("Manage a report")


def test_decisions_are_proposed_for_a_report_once_there_are_some(question: Question, open_page: Open) -> None:
    app = open_page("reports", e=question.experiment)
    (chosen,) = [element for element in app.multiselect if element.label.startswith("What to show")]
    assert "evidence" in chosen.value
    assert "decisions" not in chosen.value


def test_a_snapshot_says_when_data_of_a_user_were_deleted(
    workspace: Workspace, question: Question, open_page: Open
) -> None:
    Reports(workspace).make(question, ("evidence",), title="Stays")
    truth = workspace.store.artifacts.table(str(workspace.experiments.get(question.experiment).truth))
    workspace.purge.user(str(truth["user_id"][0]))
    app = open_page("reports", e=question.experiment)
    says = "Snapshot, keeps its numbers; data of users were deleted from the experiment on "
    assert says + day(datetime.now(UTC)) in said(app)
