"""recdash interleave: the preference as text and JSON, the same as in Python, and what is refused."""

from __future__ import annotations

import pytest
from interleaved_tables import team_draft
from terminal import Recdash, as_json

import recdash

THREE = "r1,u1,1,a,x,0\nr1,u1,2,b,y,1\nr1,u1,3,c,z,0\n"
LABELLED = team_draft(lean=0.8).assign(
    device=lambda rows: rows["request_id"].str[-1].isin(list("02468")).map({True: "phone", False: "tv"}),
    timestamp=lambda rows: "2026-03-0" + rows["request_id"].str[-2].replace("0", "1") + "T09:00:00Z",
)
FILES = {
    "labelled.csv": LABELLED.to_csv(index=False),
    "test.csv": team_draft(lean=0.8).to_csv(index=False),
    "few.csv": team_draft(n_users=3).to_csv(index=False),
    "sessions.csv": "user_id,variant,orders\n"
    + "".join(f"v{n},{('control', 'new')[n % 2]},{n % 3}\n" for n in range(200)),
    "three.csv": f"request_id,user_id,rank,item_id,team,clicked\n{THREE}",
}


def test_the_answer_is_that_of_python(run: Recdash) -> None:
    output = as_json(run, "interleave", "test.csv", "--control", "popular")
    expected = recdash.interleaving(team_draft(lean=0.8), control="popular").as_dict()
    assert output["results"] == expected["results"]
    assert (output["control"], output["candidate"], output["finding"]) == ("popular", "als", "better")


def test_the_text_begins_with_the_finding(run: Recdash) -> None:
    lines = run("interleave", "test.csv", "--control", "popular").stdout.splitlines()
    assert lines[0].startswith("Users prefer als to popular: als won ")
    assert any(line.startswith("Teams: popular came first in ") for line in lines)
    assert any(line.startswith("Power 80 %: this test detects a preference of ") for line in lines)


def test_few_users_have_no_verdict(run: Recdash) -> None:
    result = run("interleave", "few.csv", "--control", "popular")
    assert result.exit_code == 0
    assert result.stdout.startswith("No verdict on als against popular: ")
    assert "at least 20 are needed" in result.stdout


@pytest.mark.parametrize("code", ["columns-guessed", "guessed-control"])
def test_a_notice_can_be_refused(run: Recdash, code: str) -> None:
    result = run("interleave", "test.csv", "--refuse", code)
    assert result.exit_code == 2
    assert f"Files with the notice '{code}' are refused" in result.stderr


def test_three_teams_are_refused(run: Recdash) -> None:
    result = run("interleave", "three.csv")
    assert result.exit_code == 2
    assert "3 teams: 'x', 'y', 'z'" in result.stderr


def test_a_test_is_stored_and_shown_again(run: Recdash) -> None:
    assert run("add", "--experiment", "films", "--interleaving", "May=test.csv").exit_code == 0
    shown = as_json(run, "interleave", "--experiment", "films", "--test", "May")
    expected = as_json(run, "interleave", "test.csv")
    assert shown["results"] == expected["results"]
    assert shown["ab_tests"] == []
    stored = as_json(run, "interleave", "test.csv", "--experiment", "films", "--control", "popular")
    assert stored["control"] == "popular"
    (films,) = as_json(run, "list")["experiments"]
    assert films["interleaving_tests"] == ["test", "May"]
    assert films["online_tests"] == []


def test_a_file_is_recognised_by_add(run: Recdash) -> None:
    result = run("add", "--experiment", "films", "test.csv")
    assert result.exit_code == 0, result.stderr
    assert "test.csv: interleaving" in result.stdout
    assert "test: added, control 'popular'" in result.stdout


def test_it_is_archived_and_deleted_by_its_name(run: Recdash) -> None:
    assert run("add", "--experiment", "films", "test.csv").exit_code == 0
    assert run("archive", "--experiment", "films", "--test", "test").exit_code == 0
    assert run("interleave", "--experiment", "films").exit_code == 2
    unknown = run("delete", "--experiment", "films", "--test", "june", "--yes")
    assert "No test is called 'june'. Known: test." in unknown.stderr
    deleted = run("delete", "--experiment", "films", "--test", "test", "--yes")
    assert deleted.stdout == "Deleted the interleaving test 'test'.\n"


def test_options_that_a_stored_test_keeps_are_refused(run: Recdash) -> None:
    assert run("add", "--experiment", "films", "test.csv").exit_code == 0
    result = run("interleave", "--experiment", "films", "--control", "als", "--link", "als=als")
    assert result.exit_code == 2
    assert "--control: not possible for a stored test" in result.stderr
    assert "--link: not possible for a stored test" in result.stderr


@pytest.mark.parametrize("options", [(), ("test.csv", "--test", "May"), ("test.csv", "--link", "als=als")])
def test_what_is_missing_is_named(run: Recdash, options: tuple[str, ...]) -> None:
    result = run("interleave", *options)
    assert result.exit_code == 2
    assert "--experiment NAME" in result.stderr


def test_both_kinds_of_test_are_recognised_together(run: Recdash) -> None:
    result = run("add", "--experiment", "films", "test.csv", "sessions.csv")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[-2:] == ["sessions: added, control 'control'", "test: added, control 'popular'"]


def test_segments_and_days_are_those_of_python(run: Recdash) -> None:
    options = ("interleave", "labelled.csv", "--control", "popular", "--segments", "--days", "daily")
    output = as_json(run, *options)
    expected = recdash.interleaving(LABELLED, control="popular")
    assert output["segments"] == expected.segments().records()
    assert output["days"] == expected.days("daily").records()
    lines = run(*options).stdout.splitlines()
    place = lines.index("Preference for als by segment.")
    assert lines[place + 1].split()[:4] == ["attribute", "segment", "n_users", "n_requests"]
    assert [line.split()[:2] for line in lines[place + 2 : place + 4]] == [
        ["device", "phone"],
        ["device", "tv"],
    ]
    assert "Preference for als by day (daily)." in lines


def test_a_stored_test_has_its_segments_and_days(run: Recdash) -> None:
    assert run("add", "--experiment", "films", "--interleaving", "May=labelled.csv").exit_code == 0
    stored = as_json(run, "interleave", "--experiment", "films", "--segments", "device", "--days")
    given = as_json(run, "interleave", "labelled.csv", "--segments", "device", "--days", "cumulative")
    assert (stored["segments"], stored["days"]) == (given["segments"], given["days"])


def test_segments_that_a_table_lacks_are_said_to_be_missing(run: Recdash) -> None:
    assert (
        "None: no column of text is the same in all rows"
        in run("interleave", "test.csv", "--segments").stdout
    )
    unknown = run("interleave", "labelled.csv", "--segments", "country")
    assert (unknown.exit_code, "No segment is called 'country'. Known: device." in unknown.stderr) == (
        2,
        True,
    )
    assert "no column of times" in run("interleave", "test.csv", "--days").stderr
