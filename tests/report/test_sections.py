"""What a report says: the verdict, who counts, every candidate, and where nothing is known, why."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib import import_module
from math import log2
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from report_tables import (
    CANDIDATES,
    HIDDEN,
    SPREAD,
    TRUTH,
    asked,
    copied,
    films,
    lists,
    opened,
    rated_films,
    with_runs,
)

from recdash.domain.results import Scope
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.formatting.tables import Number, Table, Word, shown
from recdash.online.analysis.results import OnlineRow, validity_notes
from recdash.report.document import (
    NOVELTY_WORDING,
    RISKS_WORDING,
    SIGNED_WORDING,
    THRESHOLD_WORDING,
    TIES_WORDING,
    WORDING,
    Document,
    Figure,
    Paragraph,
    Section,
)
from recdash.report.reports import Reports
from recdash.report.sections import BLOCKS, decisions, lead
from recdash.report.sections.curves import means_note
from recdash.report.sections.online import _finding
from recdash.service import Workspace
from recdash.service.question import Question

MOMENT = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def space(films_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return opened(copied(films_folder, tmp_path_factory.mktemp("films")))


@pytest.fixture(scope="module")
def question(space: Workspace) -> Question:
    return asked(space)


@pytest.fixture
def own(films_folder: Path, tmp_path: Path) -> Workspace:
    """The films in a store of the test's own, which it may change."""
    return opened(copied(films_folder, tmp_path))


@pytest.fixture(scope="module")
def report(space: Workspace, question: Question) -> Document:
    return Reports(space).content(question, moment=MOMENT)


def section(document: Document, name: str) -> Section:
    return next(one for one in document.sections if one.name == name)


def table(document: Document, title: str) -> Table:
    return next(one for _, one in document.tables() if one.title == title)


def cells(document: Document, title: str, row: str) -> dict[str, str]:
    found = table(document, title)
    names = [column.title for column in found.columns]
    line = next(one for one in found.rows if shown(one[0], document.names) == row)
    return dict(zip(names, (shown(cell, document.names) for cell in line), strict=True))


def test_it_opens_with_the_verdict_and_who_gains(report: Document) -> None:
    assert report.lead.headline == "Ship als"
    assert report.lead.badge == "Ship"
    assert report.lead.sentences[0].startswith(
        "It won offline and online: nDCG@3 is 3.3 times that of popular"
    )
    assert report.lead.split is not None
    assert (report.lead.split.wins, report.lead.split.ties, report.lead.split.losses) == (40, 0, 0)


def test_every_block_that_has_something_to_tell_is_there_in_its_order(report: Document) -> None:
    told = [one.name for one in report.sections]
    assert told == [name for name in BLOCKS if name not in {"decisions", "interleaving"}]


def test_values_and_differences_are_those_of_the_definition(report: Document) -> None:
    """als: rank 1 or 2, popular: rank 3 or (beyond k) 4, half of the users each."""
    als, popular = (1 + 1 / log2(3)) / 2, (1 / log2(4)) / 2
    row = next(one for one in table(report, "Candidates against popular, nDCG@3").rows)
    numbers = [cell.value for cell in row if isinstance(cell, Number)]
    assert numbers[:3] == pytest.approx([als, popular, als - popular])
    assert numbers[3] == pytest.approx(100 * (als - popular) / popular)
    assert isinstance(row[7], Word)
    assert row[7].shown == "▲ better"


def test_it_says_who_counts_by_which_formula_and_how_it_is_judged(report: Document) -> None:
    text = str(section(report, "defined"))
    assert "a user without recommendations counts as 0" in text
    assert r"\log_2(r_j + 1)" in text
    assert "corrected together (Holm)" in text
    assert cells(report, "Users counted", "als")["Counted"] == "40"


def test_offline_and_online_stand_side_by_side(report: Document) -> None:
    online = section(report, "online")
    assert online.title == "ease won offline, lost online; als won both"
    row = cells(report, "Offline and online, run by run", "als")
    assert row["Result"] == "won both"
    assert "March: goals and guardrails" in [one.title for one in online.parts if isinstance(one, Table)]


def test_every_figure_has_words_and_a_table(report: Document) -> None:
    figures = [part for one in report.sections for part in one.parts if isinstance(part, Figure)]
    assert {one.kind for one in figures} == {
        "forest", "curve", "precision-recall", "bars", "quadrants", "segments",
    }  # fmt: skip
    for one in figures:
        assert len(one.alt) > 20, one.title
        assert one.table.rows, one.title


def test_the_same_question_at_the_same_moment_is_the_same_document(
    space: Workspace, question: Question, report: Document
) -> None:
    assert Reports(space).content(question, moment=MOMENT) == report


def test_blocks_are_told_in_the_order_asked_for(space: Workspace, question: Question) -> None:
    asked = ("caveats", "evidence", "caveats")
    found = Reports(space).content(question, asked, moment=MOMENT)
    assert [one.name for one in found.sections] == ["caveats", "evidence"]


def test_an_unknown_block_is_refused_with_the_known_ones(space: Workspace, question: Question) -> None:
    with pytest.raises(UnknownName, match="evidence"):
        Reports(space).content(question, ("evidense",))


def test_a_metric_without_a_value_per_user_gives_values_and_no_verdict(
    space: Workspace, question: Question
) -> None:
    asked = Reports(space).question(
        question.experiment, space.queries.of(question.experiment, metric="coverage")
    )
    found = Reports(space).content(asked, moment=MOMENT)
    assert found.lead.badge == "No verdict"
    assert "differences are not tested" in found.lead.sentences[0]
    assert "evidence" not in [one.name for one in found.sections]
    assert "scores" in [one.name for one in found.sections]


def test_the_notes_on_intervals_are_those_of_the_page_of_the_test(
    space: Workspace, question: Question, report: Document
) -> None:
    told = [one.text for one in section(report, "online").parts if isinstance(one, Paragraph)]
    rows = [OnlineRow(**row) for row in space.store.online_tests.get(str(question.test)).results]
    few = [note for note in validity_notes(rows) if "users" in note and "needs about" in note]
    assert few
    assert set(few) <= set(told)


def told_online(document: Document) -> list[str]:
    return [part.text for part in section(document, "online").parts if isinstance(part, Paragraph)]


def test_a_report_begins_with_the_online_metric_in_which_offline_and_online_disagree(
    space: Workspace, question: Question
) -> None:
    """The first goal is the engagement rate; ease lost session watch time only."""
    by_default = Reports(space).question(question.experiment, question.query)
    assert by_default.online_metric == "session_watch_time"
    asked = Reports(space).question(question.experiment, question.query, online_metric="engagement_rate")
    named = "Offline and online disagree in session watch time."
    assert named in told_online(Reports(space).content(asked, ["online"]))
    assert named not in told_online(Reports(space).content(asked, ["online"], wording=7))
    assert named not in told_online(Reports(space).content(by_default, ["online"]))


def test_the_first_page_names_what_was_not_tested_and_what_would_change_it(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = rated_films(space, HIDDEN)
    space.runs.add(made, lists(lambda _: 2), name="late")
    query = space.queries.of(made, metric="ndcg", k=3)
    question = Reports(space).question(made, query)
    opening = Reports(space).content(question, ["online"], moment=MOMENT).lead
    former = Reports(space).content(question, ["online"], moment=MOMENT, wording=TIES_WORDING).lead
    untested, equal, changing = opening.risks[len(former.risks) :]
    assert untested == "Not in the A/B test: late."
    assert equal.startswith("als equals popular for every user of these segments: Known users")
    assert changing.startswith("1 of 5 other questions would change the recommendation: Only known users")


@pytest.mark.parametrize(
    ("online_metric", "wording", "title", "result"),
    [
        ("sales", WORDING, "Offline and online agree on two of two candidates, but als lost clicks online",
         "won both, but lost clicks online"),
        ("sales", TIES_WORDING, "Offline and online agree on two of two candidates", "won both"),
        ("clicks", WORDING, "als won offline, lost online; ease won both", "won offline, lost online"),
        ("clicks", TIES_WORDING, "Offline and online agree on one of two candidates",
         "won offline, lost online"),
    ],
)  # fmt: skip
def test_a_run_that_lost_another_metric_online_has_not_simply_won_both(
    tmp_path: Path, online_metric: str, wording: int, title: str, result: str
) -> None:
    space = opened(tmp_path)
    made = with_runs(space, CANDIDATES)
    ids = {run.name: run.id for run in space.runs.all(made)}
    means = {"A": (10, 10), "B": (12, 8), "C": (11, 11)}
    sums = [
        {"variant": variant, "metric": metric, "n": 10_000, "mean": mean, "variance": 1.0}
        for variant, both in means.items()
        for metric, mean in zip(("sales", "clicks"), both, strict=True)
    ]
    links = {"A": ids["popular"], "B": ids["als"], "C": ids["ease"]}
    space.online_tests.add(made, "Sums", {"aggregates": pd.DataFrame(sums)}, control="A", links=links)
    query = space.queries.of(made, metric="ndcg", k=3)
    assert Reports(space).question(made, query).online_metric == "clicks"
    question = Reports(space).question(made, query, online_metric=online_metric)
    shown_section = section(Reports(space).content(question, ["online"], wording=wording), "online")
    figures = [part for part in shown_section.parts if isinstance(part, Figure)]
    rows = next(figure.table.rows for figure in figures if figure.kind == "quadrants")
    assert (shown_section.title, rows[0][-1]) == (title, result)


def test_the_heading_without_a_disagreement_names_the_metric_and_others_that_disagree(
    space: Workspace, question: Question
) -> None:
    """By the engagement rate nothing disagrees; ease lost session watch time only."""

    def heading(online_metric: str, wording: int) -> str:
        asked_of = Reports(space).question(question.experiment, question.query, online_metric=online_metric)
        document = Reports(space).content(asked_of, ["online"], wording=wording)
        figures = [part for part in section(document, "online").parts if isinstance(part, Figure)]
        return next(figure.title for figure in figures if figure.kind == "quadrants")

    assert heading("engagement_rate", WORDING) == (
        "Offline and online disagree significantly in session watch time, not in engagement rate"
    )
    assert heading("engagement_rate", TIES_WORDING) == (
        "No significant disagreement in engagement rate, but in session watch time"
    )
    assert heading("engagement_rate", RISKS_WORDING) == "No significant disagreement"
    assert heading("session_watch_time", WORDING) == "ease won offline, lost online"


def test_charts_of_a_metric_of_which_less_is_better_say_so_but_not_in_older_reports(
    space: Workspace, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("recdash.report.sections.online")
    monkeypatch.setattr(module, "lower_metric_is_better", lambda *_: True)

    def directions(wording: int) -> list[tuple[str, bool, bool]]:
        document = Reports(space).content(question, ["online"], wording=wording)
        return [
            (part.kind, "lower_is_better" in part.data, "(lower is better)" in f"{part.title}{part.data}")
            for part in section(document, "online").parts
            if isinstance(part, Figure)
        ]

    assert directions(WORDING) == [("bars", False, False), ("bars", True, True), ("quadrants", True, True)]
    assert not any(any(told) for _, *told in directions(TIES_WORDING))


def test_lifts_that_cuped_adjusted_say_so_but_not_in_older_reports(tmp_path: Path) -> None:
    """Revenue is that of the time before plus what the variant earns."""
    space = opened(tmp_path)
    made = with_runs(space, CANDIDATES)
    ids = {run.name: run.id for run in space.runs.all(made)}
    rows = [
        (f"{variant}-{user}", variant, 4 + user % 10 + user % 2 + earned, 4 + user % 10)
        for variant, earned in (("A", 0), ("B", 1))
        for user in range(200)
    ]
    users = pd.DataFrame(rows, columns=["unit_id", "variant", "revenue", "pre_revenue"])
    links = {"A": ids["popular"], "B": ids["als"]}
    space.online_tests.add(made, "March", {"sessions": users}, control="A", links=links)
    question = Reports(space).question(made, space.queries.of(made, metric="ndcg", k=3))

    def told(wording: int) -> str:
        document = Reports(space).content(question, ["online"], wording=wording)
        return f"{document.lead}{told_online(document)}"

    today = told(WORDING)
    assert "in the A/B test (CUPED-adjusted, +" in today
    assert re.search(r"unadjusted lift in brackets: revenue B \+[\d.]+ % \(\+[\d.]+ %\)", today)
    assert re.search(r"95 % CI [^;]*; CUPED-adjusted, \+[\d.]+ % unadjusted", today)
    assert "djusted" not in told(TIES_WORDING)


def test_a_report_of_an_older_wording_keeps_its_causes(
    space: Workspace, question: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    def causes(
        _: object,
        *,
        former: bool,
        mismatch: bool,
        former_verdicts: bool,
        former_answers: bool,
        signed_answers: bool,
    ) -> str:
        words = "older" if former else "mismatch" if mismatch else "new"
        level = ", 95 % novelty" if former_answers else ", signed" if signed_answers else ""
        return f"{words} words, {'older' if former_verdicts else 'new'} verdicts{level}"

    module = import_module("recdash.report.sections.online")
    monkeypatch.setattr(module, "summary", causes)
    ends = {
        n: [
            text.split("? ")[-1]
            for text in told_online(Reports(space).content(question, ["online"], wording=n))
        ]
        for n in (7, RISKS_WORDING, TIES_WORDING, NOVELTY_WORDING, SIGNED_WORDING, WORDING)
    }
    assert "new words, new verdicts, signed" in ends[SIGNED_WORDING]
    assert "older words, older verdicts, 95 % novelty" in ends[7]
    assert "mismatch words, older verdicts, 95 % novelty" in ends[RISKS_WORDING]
    assert "mismatch words, new verdicts, 95 % novelty" in ends[TIES_WORDING]
    assert "new words, new verdicts, 95 % novelty" in ends[NOVELTY_WORDING]
    assert "new words, new verdicts" in ends[WORDING]


def test_a_part_of_the_users_is_named_and_needs_no_online_test(space: Workspace, question: Question) -> None:
    asked = Reports(space).question(
        question.experiment,
        space.queries.of(question.experiment, metric="ndcg", k=3, scope=Scope("user_warmth=cold")),
    )
    found = Reports(space).content(asked, moment=MOMENT)
    assert "Only a segment" in section(found, "defined").note
    assert "online" not in [one.name for one in found.sections]
    assert "over 10 users" in section(found, "evidence").note or "n = 10" in section(found, "evidence").note


def test_with_another_threshold_the_a_b_test_counts_and_is_shown(tmp_path: Path) -> None:
    space = opened(tmp_path)
    experiment = rated_films(space, SPREAD)
    query = space.queries.of(experiment, metric="ndcg", k=3, scope=Scope(threshold=2))
    document = Reports(space).content(Reports(space).question(experiment, query), moment=MOMENT)
    assert "in the A/B test" in document.lead.sentences[0]
    note = section(document, "online").note
    assert "Offline numbers of this section have the experiment's relevance threshold." in note
    assert isinstance(document.lead.chart, Figure)
    assert document.lead.chart.kind == "forest"  # its differences have the threshold of the report
    losses = [risk for risk in document.lead.risks if "catalogue coverage@3" in risk]
    assert [risk.partition("; 95 % CI")[0] for risk in losses] == [
        "als costs 7.14 % of catalogue coverage@3 (from 95.5 % to 88.6 %"
    ]


@pytest.mark.parametrize(
    ("n_users", "mean"),
    [
        ([40, 40], "Mean over 40 users with its 95 % CI"),
        ([32, 40], "Mean over each run's own users (32 to 40) with its 95 % CI"),
    ],
)
def test_means_of_runs_that_have_other_users_say_so(n_users: list[int], mean: str) -> None:
    assert means_note("popular", n_users).startswith(mean)


def test_one_run_is_reported_without_a_verdict(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = space.experiments.create("alone", TRUTH, depth=4)
    space.runs.add(made.id, CANDIDATES["als"], name="als")
    found = Reports(space).content(
        Reports(space).question(made.id, space.queries.of(made.id, k=3)), moment=MOMENT
    )
    assert found.lead.headline == "als is the only run"
    assert "over 40 users" in found.lead.sentences[0]


def test_an_experiment_without_runs_is_refused(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = space.experiments.create("empty", TRUTH)
    with pytest.raises(InputError, match="no run"):
        Reports(space).question(made.id)


def test_a_run_that_was_deleted_is_named(own: Workspace) -> None:
    question = asked(own)
    own.runs.delete(question.query.runs[0], "als")
    with pytest.raises(NotFound, match="not here any more"):
        Reports(own).content(question)


def test_a_metric_that_a_run_lacks_is_a_dash_with_its_reason(own: Workspace) -> None:
    question = asked(own)
    rated = pd.DataFrame(
        {"user_id": ["u00", "u01"], "item_id": ["i00", "i01"], "rating": [4.0, 3.0], "prediction": [3.5, 3.0]}
    )
    made = own.runs.add(
        question.experiment, CANDIDATES["ease"].sort_values("item_id"), name="rated", predictions=rated
    )[0]
    other = Reports(own).question(
        question.experiment, own.queries.of(question.experiment, (made.run.id,), k=3)
    )
    found = Reports(own).content(other, moment=MOMENT)
    missing = [cell for row in table(found, "All metrics at k = 3").rows for cell in row
               if isinstance(cell, Number) and cell.value is None]  # fmt: skip
    assert missing
    assert all(one.why for one in missing)
    assert any("RMSE" in str(one) for one in [section(found, "caveats")])


def test_decisions_are_told_with_their_author(own: Workspace) -> None:
    question = asked(own)
    own.decisions.decide(
        question.experiment, "ship", run_id=question.query.runs[0], text="Clear on both sides."
    )
    found = section(Reports(own).content(question), "decisions")
    assert found.title.startswith("Ship als: ann, ")
    assert "Clear on both sides." in str(found)


def test_an_earlier_decision_is_replaced_and_superseded_in_the_words_of_older_reports(own: Workspace) -> None:
    question = asked(own)
    first = own.decisions.decide(question.experiment, "ship", run_id=question.query.runs[0], text="Yes.")
    own.decisions.decide(question.experiment, "do not ship", supersedes=first.id, text="It breaks search.")
    rule = {
        THRESHOLD_WORDING: "Decisions are immutable: a later one supersedes an earlier one.",
        WORDING: "A decision cannot be edited; a new one replaces it.",
    }
    for wording, word in ((THRESHOLD_WORDING, "Superseded since."), (WORDING, "Replaced since.")):
        context: Any = SimpleNamespace(decisions=own.journal.decisions(question.experiment), wording=wording)
        found = decisions.decided(context)
        assert found is not None
        assert found.note == f"Two decisions, the newest first. {rule[wording]}"
        told = [part.text for part in found.parts if isinstance(part, Paragraph)]
        assert [word in text for text in told] == [False, False, True, False]


def test_a_report_opens_with_the_decision_that_stands(own: Workspace) -> None:
    """popular finds every second item at rank 3 (gain 1/2), als all of them at ranks 1 and 2."""
    question = asked(own)
    als = question.query.runs[0]
    own.decisions.decide(question.experiment, "ship", run_id=als, text="Clear on both sides.")
    opening = Reports(own).content(question).lead
    assert opening.headline == "Ship als"
    assert opening.decision is not None
    assert (opening.decision.author, opening.decision.reason) == ("ann", "Clear on both sides.")
    assert opening.decision.agrees
    assert opening.decision.evidence == "Evidence today: agrees. The decision compared als with popular."
    gain = 100 * ((1 + 1 / log2(3)) / 2 / (0.5 / 2) - 1)
    assert opening.numbers[0].value == f"×{1 + gain / 100:.2f}"
    assert opening.chart is not None


def test_a_decision_that_the_evidence_contradicts_is_said_and_its_own_numbers_are_shown(
    own: Workspace,
) -> None:
    """ease is better offline, and was watched for 300 s less in the A/B test."""
    question = asked(own)
    ease = question.query.runs[1]
    own.decisions.decide(
        question.experiment,
        "ship",
        run_id=ease,
        text="It is cheaper.",
        query=question.query,
        although="Cost.",
    )
    opening = Reports(own).content(question).lead
    assert opening.headline == "Ship ease"
    assert opening.decision is not None
    assert opening.decision.agrees is False
    assert opening.decision.evidence.startswith("Evidence today: unchanged; decided although ease cut ")
    assert opening.decision.evidence.endswith(
        "the recommendation is “Ship als”. Approved although gain over the baseline and agreement of offline "
        "and online fail; guardrails are not known yet: “Cost.” The decision compared ease with popular."
    )
    assert opening.sentences == ()
    assert opening.split is not None
    assert opening.split.run == "ease"
    assert opening.risks[0].startswith("ease cut session watch time by ")
    assert not any("Approved" in risk for risk in opening.risks)
    former = Reports(own).content(question, wording=RISKS_WORDING).lead
    assert former.decision is not None
    assert former.decision.evidence.endswith("the recommendation is “Ship als”.")
    assert former.risks == (*opening.risks[:-1], "Approved despite risks: Cost.")


def test_the_report_links_to_the_view_in_the_dashboard(own: Workspace) -> None:
    question = asked(own)
    link = Reports(own).content(question, home="http://here/").link
    runs = "~".join(question.query.runs)
    beside = f"b={question.query.baseline}&c={runs}&m=ndcg&k=3"
    assert link == f"http://here/?e={question.experiment}&{beside}"


def test_a_live_report_whose_ab_test_was_deleted_says_so(own: Workspace) -> None:
    question = asked(own)
    own.online_tests.delete(str(question.test), "March")
    notices = section(Reports(own).content(question), "caveats").parts[0]
    assert "the A/B test of this report was deleted" in str(notices)


@pytest.mark.parametrize(
    ("word", "shown_as", "tone"),
    [("holds", "✓ holds", "better"), ("broken", "▼ broken", "worse"), ("better", "▲ better", "better"),
     ("", "–", "muted")],
)  # fmt: skip
def test_a_lift_has_the_sign_and_the_tone_of_the_pages(word: str, shown_as: str, tone: str) -> None:
    """A lift of −5 % is ▲ better of a metric of which less is better; what nobody judged has no word."""
    found = _finding({"word": word, "low": -0.06, "high": -0.04}, judged=True)
    assert (found.shown, found.tone) == (shown_as, tone)


def test_a_run_that_is_called_like_an_option_is_a_name_in_the_command(tmp_path: Path) -> None:
    space = opened(tmp_path)
    question = films(space, {"als": "-x"})
    assert "--run=-x" in str(section(Reports(space).content(question), "reproducing"))


@pytest.mark.parametrize(
    ("metric", "wording", "sentences"),
    [
        ("ndcg", RISKS_WORDING, ("37 % of users get no recommendations from ALS and count as 0.",)),
        ("ndcg", WORDING, ("37 % of users get no recommendations from ALS and count as 0.",)),
        ("ndcg(users=both)", WORDING, ()),
        ("ndcg", 6, ()),  # the sentence came with wording 7: older reports are made again without it
    ],
)
def test_the_first_page_says_who_gets_no_recommendations(
    metric: str, wording: int, sentences: tuple[str, ...]
) -> None:
    text = "37 % of users get no recommendations from ALS and count as 0"
    problems = [Problem("lists-missing", "comparison", text, ""), Problem("other", "comparison", "else", "")]
    asked_about = ["a", "b"] if wording == WORDING else ["a", "c", "b"]
    scores = SimpleNamespace(comparability=lambda runs: problems if runs == asked_about else [])
    context: Any = SimpleNamespace(
        query=SimpleNamespace(metric=metric, baseline="a"),
        subject="b",
        wording=wording,
        verdict_query=SimpleNamespace(shown=("a", "c", "b")),
        workspace=SimpleNamespace(scores=scores),
    )
    assert lead._missing_lists(context) == sentences
