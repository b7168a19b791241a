"""recdash interleave: the preference as text and JSON, the same as in Python, and what is refused."""

from __future__ import annotations

import pytest
from interleaved_tables import team_draft
from terminal import Recdash, as_json

import recdash

THREE = "r1,u1,1,a,x,0\nr1,u1,2,b,y,1\nr1,u1,3,c,z,0\n"
FILES = {
    "test.csv": team_draft(lean=0.8).to_csv(index=False),
    "few.csv": team_draft(n_users=3).to_csv(index=False),
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
