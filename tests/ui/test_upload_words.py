"""What the page Add data says of a file, of all files, and of what came of them; no page is drawn."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from recdash import ingest
from recdash.domain.kinds import TableKind
from recdash.domain.records import Experiment, Run
from recdash.errors import Problem
from recdash.evaluation.known_ids import ACCEPT
from recdash.formatting.names import same_names
from recdash.ingest.notice_rules import NOTICE_RULES
from recdash.ingest.sorting import SortedFile
from recdash.service import AddedRun
from recdash.service.catalog.intake import (
    NAME_TAKEN,
    Intake,
    IntakePlan,
    IntakeResult,
    IntakeSettings,
    PlanInputs,
    PlannedFile,
    RelevancePlan,
)
from recdash.service.catalog.intake import TestPlan as AbTestPlan
from recdash.ui.upload import words
from recdash.ui.upload.rows import column_name, read_as, row_html
from recdash.ui.upload.settings import suggested_experiment

PROBLEM = Problem(
    "missing-column", "columns", "no item column; found: a, b", "Name it item_id (--columns …)."
)


def planned(kind: TableKind | None, text: str = "user_id,item_id\nu,a\n", **facts: Any) -> PlannedFile:
    name = facts.pop("name", f"{kind}.csv")
    preview = ingest.preview(kind, text.encode(), name=name) if kind else None
    known = {"run": name.removesuffix(".csv"), "preview": preview, **facts}
    return PlannedFile(name, name, kind, SortedFile(kind, "sure"), **known)


def plan_of(*files: PlannedFile, **facts: Any) -> IntakePlan:
    return IntakePlan(PlanInputs(()), files, "films", **facts)


SLOTS = (
    "request_id,unit_id,rank,item_id,team,clicked,country,price\nr,u,1,a,als,0,SE,3\nr,u,2,b,ease,1,SE,4\n"
)


def test_segments_of_an_interleaving_test_are_told() -> None:
    """Which columns they are is known once the test was counted."""
    counted = planned("interleaving", SLOTS, segments=("country",))
    assert words.columns_in_words(counted).endswith("clicked · 1 segment: country · not used: price")
    assert (read_as(counted)["country"], "price" in read_as(counted)) == ("segment", False)
    assert words.columns_in_words(planned("interleaving", SLOTS)).endswith("clicked")


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("run", "customer_id,isbn13,rank\nu,a,1\n", "customer_id → user · isbn13 → item · rank → position"),
        ("truth", "user_id,item_id,rating\nu,a,5\n", "user_id → user · item_id → item · rating → relevance"),
        (
            "catalogue",
            "item_id,title,genre,year\na,A,x,1\n",
            "item_id → item · title · 2 attributes: genre and year",
        ),
        (
            "sessions",
            "customer,group,revenue,country\na,x,1,SE\nb,y,2,PT\n",
            "customer → user · group → variant · 2 metrics or segments: revenue and country",
        ),
        (
            "sessions",
            "customer,group,revenue,pre_revenue\nu,A,5,4\nv,B,5,3\n",
            (
                "customer → user · group → variant · 1 metric or segment: revenue · before the test, for "
                "CUPED: pre_revenue"
            ),
        ),
        ("users", "user,age\nu,3\n", "user · 1 attribute: age"),
    ],
)
def test_columns_are_told_by_what_they_are_read_as(kind: TableKind, text: str, says: str) -> None:
    assert words.columns_in_words(planned(kind, text)) == says


def test_a_distance_reads_as_least_is_best() -> None:
    file = planned("run", "user_id,item_id,distance\nu,a,0.1\nu,b,0.2\nv,a,0.1\nv,b,0.3\n")
    assert "distance (least is best) → score" in words.columns_in_words(file)
    assert column_name("-distance", ["-distance"]) == "distance (least is best)"


def test_a_row_says_how_many_rows_and_whose_columns_it_reuses() -> None:
    file = planned("users", "user,age\nu,3\nv,4\n", same_as="first.csv")
    known = replace(file, preview=replace(file.preview, n_rows=1204))
    assert words.about(known) == "1,204 rows · user · 1 attribute: age · columns as in first.csv"
    assert words.about(replace(known, left_out=True)) == "Not used"
    assert words.about(planned(None)) == "Choose what this file is."
    unsure = replace(planned(None), problems=(Problem("what-is-it", "file", "it may be several", ""),))
    assert words.about(unsure) == "Choose what this file is."
    empty = replace(planned(None), problems=(Problem("empty", "file", "it is empty", ""),))
    assert words.about(empty) == "It cannot be read."


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("user,age\nu,3\nv,4\n", 3),
        ("user,age\nu,3\nv,4", 3),
        ("user,age\n\n\nv,4\n\n", 4),
        ('user,about\nu,"one\ntwo"\n', 2),
        ('user,about\nu,"one\n\n\ntwo"\nv,"\n"\n', 3),
    ],
)
@pytest.mark.parametrize("block", [1, 3, 2**20])
def test_lines_of_plain_text_are_counted_but_not_breaks_between_quotes(
    text: str, lines: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BLOCK", block)
    spooled = tmp_path / "users.csv"
    spooled.write_bytes(text.encode())
    assert words.count_lines(spooled) == lines
    spooled.write_bytes(gzip.compress(text.encode()))
    assert words.count_lines(spooled) is None


def test_every_file_says_how_many_rows_it_has() -> None:
    file = planned("users", "user,age\nu,3\nv,4\n")
    columns = " · user · 1 attribute: age"
    assert words.about(replace(file, rows_seen=2, has_more=False)) == f"2 rows{columns}"
    assert words.about(replace(file, rows_seen=20_000), 30_001) == f"30,000 rows{columns}"
    assert words.about(replace(file, rows_seen=20_000)) == f"all rows, more than 20,000{columns}"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_rows_of_every_delimited_text_are_counted(delimiter: str) -> None:
    file = planned("users", f"user{delimiter}age\nu{delimiter}3\n")
    assert words.needs_lines(replace(file, rows_seen=20_000, has_more=True))


def test_positions_from_zero_are_said_to_be_read_as_from_one() -> None:
    file = planned("run", "user,item,position\nu,a,0\nu,b,1\n")
    assert file.preview is not None
    assert words.about(replace(file, notices=file.preview.notices)).endswith(
        "user · item · position (from 0, read as from 1)"
    )


@pytest.mark.parametrize(
    ("file", "sign"),
    [
        (planned("truth"), "✓"),
        (planned("truth", problems=(PROBLEM,)), "!"),
        (planned(None), "?"),
        (planned("truth", problems=(PROBLEM,), left_out=True), "–"),
    ],
)
def test_each_row_has_a_sign_and_a_word_for_it(file: PlannedFile, sign: str) -> None:
    assert f">{sign}</b>" in row_html(file, "")
    assert 'aria-label="' in row_html(file, "")


def test_a_name_is_shown_as_text() -> None:
    assert "<img" not in row_html(planned(None, name="<img src=x onerror=alert(1)>.csv"), "<img src=x>")


def test_the_page_offers_its_own_repair_of_a_missing_column() -> None:
    assert "--columns" not in words.for_page(PROBLEM).fix
    other = replace(PROBLEM, code="other", fix="Look at line 2.")
    assert words.for_page(other) == other


@pytest.mark.parametrize(
    ("problem", "place", "found", "fix"),
    [
        (
            Problem(
                "no-common-user",
                "run 'truth', column 'user_id'",
                "no user of this run is in the truth (which knows 'truth'); its train knows 'user_id'",
                "Replace the prefix 'x' by 'u' in user_id.",
            ),
            "run 'truth', user column",
            "no user of this run is in the test set (which knows 'truth'); its training data knows 'user_id'",
            "Replace the prefix 'x' by 'u' in the user column.",
        ),
        (
            Problem("missing-column", "columns", "no ts column; found: unit_id, truth", "Name it ts."),
            "columns",
            "no time column; found: unit_id, truth",
            "Choose the column under Details, or choose what else the file is.",
        ),
        (
            Problem("ids-spelled-otherwise", "truth 'a', column 'item_id'", "few", f"Look. {ACCEPT}"),
            "test set 'a', item column",
            "few",
            "Look. If these ids are correct, accept them in the file's details.",
        ),
        (
            Problem("columns-by-values", "columns", "read as user_id = 'Kunde', rank = 'rank', by it", ""),
            "columns",
            "read 'Kunde' as user, 'rank' as position, by it",
            "",
        ),
    ],
)
def test_a_problem_speaks_of_the_test_set_and_the_user_column(
    problem: Problem, place: str, found: str, fix: str
) -> None:
    """What is quoted, or listed as it is in the file, stays."""
    assert words.for_page(problem) == replace(problem, place=place, found=found, fix=fix)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ranks-from-zero", "If this is wrong, choose other columns under Details, or “not used”."),
        ("duplicate-pairs", "The better rank counts. If this is wrong, let each row count under Advanced."),
        ("outside-scale", "The predictions are used as they are. Bring both to one scale."),
        ("decimal-comma", "If this is wrong, write decimal points."),
        ("bots", "If this is wrong, choose the limits under Advanced."),
        ("before", "If this is wrong, choose the first day under Advanced."),
        ("ties", "Tied scores keep file order."),
        ("footer", "Put it between quotes if it is one."),
    ],
)
def test_a_notice_says_once_what_was_done_and_how_to_choose_otherwise(code: str, said: str) -> None:
    own = {
        "duplicate-pairs": "The better rank counts.",
        "outside-scale": "Bring both to one scale.",
        "ties": "Tied scores keep file order.",
        "footer": "Put it between quotes if it is one.",
    }
    assert words.noted(Problem(code, "file", "found", own.get(code, ""))).fix == said


@pytest.mark.parametrize("code", NOTICE_RULES)
def test_notices_on_the_page_have_no_words_of_commands(code: str) -> None:
    said = words.noted(Problem(code, "file", "found", "")).fix
    assert not [word for word in ("--", "Python", "FILE", "NAME", "on the page") if word in said]


def test_codes_with_more_to_say_are_those_of_notices() -> None:
    assert set(NOTICE_RULES) >= words.DONE_UNSAID | words.WAY_UNSAID
    assert not words.DONE_UNSAID & words.WAY_UNSAID


def test_the_title_says_how_far_the_files_are_ready() -> None:
    files = (planned("truth"), planned("run", name="als.csv"), planned("run", name="ease.csv"))
    assert words.finding(plan_of(*files)) == "Ready: 2 candidates and a test set"
    assert (
        words.finding(plan_of(*files, planned("train")))
        == "Ready: 2 candidates, a test set and 1 further table"
    )
    assert words.finding(plan_of(*files, planned(None))) == "1 of 4 files needs your attention"
    broken = planned("train", problems=(PROBLEM,))
    assert words.finding(plan_of(*files, planned(None), broken)) == "2 of 5 files need your attention"
    assert words.finding(plan_of(*files, problems=(PROBLEM,))) == "Almost ready"


def test_the_button_says_what_it_does() -> None:
    test = AbTestPlan("shop", "sessions", {"sessions": "shop.csv"})
    one, two = planned("run", name="als.csv"), planned("run", name="ease.csv")
    assert words.button(plan_of(one)) == "Evaluate 1 candidate"
    assert words.button(plan_of(planned("truth"), one, two, test=test)) == "Evaluate 2 candidates"
    with_baseline = replace(plan_of(planned("truth"), one, two), baseline="als")
    assert words.button(with_baseline) == "Evaluate 1 candidate and the baseline"
    assert words.finding(with_baseline) == "Ready: 1 candidate, a baseline and a test set"
    assert words.button(plan_of(planned("sessions"), test=test)) == "Analyze A/B test"
    assert words.button(plan_of(planned("truth"))) == "Create experiment"


def test_a_threshold_is_told_by_what_it_changes() -> None:
    relevance = RelevancePlan(
        "rating", "1 to 5", 4.0, 4.0, "", rows=1000, kept_rows=600, users=90, kept_users=80
    )
    assert words.relevance_effect(relevance) == (
        "Counts 600 of 1,000 rows as relevant; 80 of 90 users have at least one."
    )
    assert words.relevance_effect(replace(relevance, kept_rows=1000)) == "All 1,000 rows count as relevant."


def test_a_threshold_counts_of_all_rows_of_the_file() -> None:
    """Of 343 rows, 266 have a value above 0, and 157 reach the threshold."""
    relevance = RelevancePlan("rating", "-1 to 10", 7.0, 7.0, "", 266, 157, 40, 38, rows_of_zero=77)
    assert words.relevance_effect(relevance).startswith("Counts 157 of 343 rows as relevant;")


def test_rows_of_zero_are_told_apart_from_those_that_count() -> None:
    relevance = RelevancePlan("grade", "0 to 3", None, None, "", 4837, 4837, 90, 90, rows_of_zero=2566)
    assert words.relevance_effect(relevance) == (
        "4,837 of 7,403 rows count as relevant, those of 0 or less do not."
    )
    assert words.gain_of_grades(relevance).endswith(
        "choose “every row is relevant” under Advanced. Then the 2,566 rows of 0 or less count too."
    )


def test_what_values_do_in_ndcg_is_told() -> None:
    relevance = RelevancePlan("qty", "1 to 3", None, None, "", 1000, 1000, users=90, kept_users=90)
    assert words.gain_of_grades(relevance).startswith(
        "nDCG weights relevant rows by qty: a 2 counts twice as much as a 1. To count all rows alike"
    )


def test_variants_are_linked_to_runs_of_the_same_name() -> None:
    assert same_names(["control", "ALS"], ["als", "ease"]) == {"ALS": "als"}
    ours = ["recs_als", "recs_bert", "recs_bestseller"]
    assert same_names(["control", "als", "BERT"], ours) == {"als": "recs_als", "BERT": "recs_bert"}
    assert same_names(["als"], ["run_als"]) == {"als": "run_als"}
    assert same_names(["als", "ease"], ["als-2026", "ease-2026"]) == {"als": "als-2026", "ease": "ease-2026"}
    assert same_names(["als"], ["als", "recs_als"]) == {"als": "als"}
    assert same_names(["als"], ["recs_als", "run_als", "ease"]) == {}
    assert same_names(["a", "b"], ["recs_als", "recs_bert"]) == {}
    assert same_names(["als", "recs_als"], ["recs_als", "recs_ease"]) == {"recs_als": "recs_als"}
    assert same_names(["als", "ALS"], ["recs_als", "recs_ease"]) == {}


def test_a_variant_is_linked_to_the_only_run_whose_name_has_its_name_as_words() -> None:
    runs = ["team_factor", "team_bestseller", "Popular", "team_factor_v2"]
    assert same_names(["bestseller"], runs) == {"bestseller": "team_bestseller"}
    assert same_names(["factor"], runs) == {}
    assert same_names(["factor"], ["team_factor", "Popular"]) == {"factor": "team_factor"}
    assert same_names(["variant_als"], ["als", "Popular"]) == {"variant_als": "als"}
    assert same_names(["new als v3"], ["ALS-v3", "Popular"]) == {"new als v3": "ALS-v3"}
    assert same_names(["fact", "pop"], ["team_factor", "Popular"]) == {}
    assert same_names(["factor", "factor-new"], ["team_factor", "Popular"]) == {"factor": "team_factor"}


def test_columns_that_a_test_set_or_a_run_does_not_use_are_named() -> None:
    text = "user_id,item_id,regal,filiale\nu,a,2,Bonn\n"
    assert words.columns_in_words(planned("truth", text)).endswith(
        "item_id → item · not used: regal and filiale"
    )
    wide = "user_id,rec_1,rec_2\nu,a,b\n"
    assert words.columns_in_words(planned("run", wide)) == "user_id → user · rec_1 … rec_2 → item"


INTAKE = Intake(cast(Any, SimpleNamespace(must_be_editor=lambda: None)), *cast(Any, [None] * 5))
"""It needs no store for a plan without an experiment."""


@pytest.mark.parametrize(
    ("links", "runs", "linked"),
    [
        (None, ("als",), {"als": "als"}),
        (None, ("ease",), None),  # a run that comes with a later file may be meant
        ({}, ("als",), {}),  # the link was removed
        ({"als": "ease"}, ("als", "ease"), {"als": "ease"}),
    ],
)
def test_links_are_suggested_until_they_are_chosen(
    links: dict[str, str] | None, runs: tuple[str, ...], linked: dict[str, str] | None
) -> None:
    def plan(links: dict[str, str] | None) -> Any:
        settings, test = IntakeSettings(links=links), SimpleNamespace(variants=("als", "control"))
        return SimpleNamespace(
            settings=settings,
            test=test,
            tests=(test,),
            experiment_id=None,
            run_names=runs,
            with_settings=plan,
        )

    assert INTAKE.with_links(plan(links)).settings.links == linked


def test_a_plan_without_names_to_link_is_not_made_again() -> None:
    settings, test = IntakeSettings(), SimpleNamespace(variants=("a", "b"))
    plan: Any = SimpleNamespace(
        settings=settings, test=test, tests=(test,), experiment_id=None, run_names=("als",)
    )
    assert INTAKE.with_links(plan) is plan


NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
FILMS = Experiment("e", "films", NOON, "sha")


def added(name: str, *, already_there: bool = False, archived: bool = False) -> AddedRun:
    run = Run(name, "e", name, NOON, 0, None, {}, {}, archived=NOON if archived else None)
    return AddedRun(run, already_there)


def test_the_outcome_is_one_line() -> None:
    result = IntakeResult(FILMS, is_new=True, runs=(added("als"), added("ease")))
    assert words.outcome(result) == "Evaluated 2 candidates in films."
    based = replace(result, experiment=replace(FILMS, baseline="als"))
    assert words.outcome(based) == "Evaluated 1 candidate and the baseline in films."
    again = replace(result, runs=(added("als", already_there=True), added("new")))
    assert (
        words.outcome(again) == "Evaluated 1 candidate and found 1 candidate stored already (als) in films."
    )
    assert words.outcome(IntakeResult(FILMS, is_new=True)) == "Created the experiment films."
    assert words.archived(replace(result, runs=(added("old", already_there=True, archived=True),))) == ["old"]


def test_own_files_begin_a_new_experiment_or_join_the_one_looked_at() -> None:
    demo, empty = replace(FILMS, id="d", demo=True), replace(FILMS, id="ab", truth=None)
    runs, test = plan_of(planned("run")), AbTestPlan("shop", "sessions", {})
    both = {"d": demo, "e": FILMS}
    assert suggested_experiment(plan_of(planned("truth"), planned("run")), both, "e") is None
    assert suggested_experiment(plan_of(planned("truth")), {"ab": empty}, "ab") == "ab"
    twice = replace(planned(None), sorted=SortedFile("truth", "unsure"))
    assert suggested_experiment(plan_of(twice, planned("run")), both, None) is None
    assert suggested_experiment(runs, both, "e") == "e"
    assert suggested_experiment(runs, both, "d") == "e"  # never the demo
    assert suggested_experiment(runs, {"d": demo}, "d") is None
    assert suggested_experiment(runs, {"ab": empty}, None) is None  # it has no test set to score against
    assert suggested_experiment(plan_of(planned("sessions"), test=test), both, None) is None
    assert suggested_experiment(plan_of(planned("sessions"), test=test), both, "e") == "e"


def test_an_ab_test_goes_by_default_to_the_experiment_whose_runs_it_served() -> None:
    later = replace(FILMS, id="later", created=NOON + timedelta(days=1))
    known = {"e": ["als", "ease"], "later": ["als"], "other": ["bpr"]}
    both = {"e": FILMS, "later": later, "other": replace(later, id="other")}
    test = AbTestPlan("shop", "sessions", {}, variants=("control", "ALS", "ease"))
    plan = plan_of(planned("sessions"), test=test)
    assert suggested_experiment(plan, both, None, known.__getitem__) == "e"
    one = plan_of(planned("sessions"), test=replace(test, variants=("control", "als")))
    assert suggested_experiment(one, both, None, known.__getitem__) == "later"
    assert suggested_experiment(one, both, "other", known.__getitem__) == "other"
    none = plan_of(planned("sessions"), test=replace(test, variants=("a", "b")))
    assert suggested_experiment(none, both, None, known.__getitem__) is None


def test_where_an_ab_test_goes_is_said_before_it_is_stored() -> None:
    test = AbTestPlan("shop", "sessions", {}, variants=("control", "als", "ease"))
    settings = IntakeSettings(links={"als": "als", "ease": "ease"})
    plan = replace(plan_of(planned("sessions"), test=test), name="films")
    plan = replace(plan, inputs=replace(plan.inputs, experiment_id="e", settings=settings))
    assert words.served_runs(plan) == "The A/B test goes to films: als and ease are named like runs of it."
    assert words.served_runs(replace(plan, inputs=replace(plan.inputs, experiment_id=None))) == ""


def test_a_name_that_is_taken_is_said_above_the_button() -> None:
    taken, other = Problem(NAME_TAKEN, "candidate 'als'", "taken", ""), replace(PROBLEM, code="other", fix="")
    plan = IntakePlan(PlanInputs(()), (), "Shop", notices=(other, taken))
    assert words.noticed(plan) == ([taken], [other])
