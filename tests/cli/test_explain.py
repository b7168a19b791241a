"""``recdash why``: the same twelve answers from a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Fill, Recdash, as_json

FILES = {
    "truth.csv": "user_id,item_id\n" + "".join(f"u{n},i{n}\n" for n in range(20)),
    "old.csv": "user_id,item_id,rank\n" + "".join(f"u{n},x,1\n" for n in range(20)),
    "new.csv": "user_id,item_id,rank\n" + "".join(f"u{n},i{n},1\n" for n in range(20)),
    "sessions.csv": "unit_id,session_id,variant,start_ts,clicks,watch_s\n"
    + "".join(
        f"u{n},s{n},{('control', 'b')[n % 2]},{1000 + n},1,{(600, 300)[n % 2] + n}\n" for n in range(20)
    ),
}
"""New finds what all hold out and old nothing; online its users watch about half as long."""

ADD = (
    "add", "--accept-unknown-ids",
    "--experiment", "films", "--truth", "truth.csv", "--run", "old.csv", "--run", "new.csv",
    "--baseline", "old", "--sessions", "spring=sessions.csv", "--control", "control",
    "--link", "control=old", "--link", "b=new",
)  # fmt: skip
WHY = ("why", "--experiment", "films")


@pytest.fixture
def added(run: Recdash, filled: Fill) -> Recdash:
    def fill() -> None:
        assert run(*ADD).exit_code == 0

    filled(fill)
    return run


def test_the_sentence_is_followed_by_a_line_for_each_check(added: Recdash) -> None:
    output = added(*WHY, "--metric", "ndcg@5").stdout
    lines = output.splitlines()
    assert lines[0] == "Why did new win offline and lose online?"
    assert lines[1].startswith("None of the twelve checks finds a cause. Ruled out: noise, split of users")
    assert sum("can't tell" in line and "needs" in line for line in lines[3:]) >= 8
    assert len(lines) == 3 + 13


def test_json_names_the_variant_by_its_run(added: Recdash) -> None:
    result = as_json(added, *WHY, "--run", "new", "--test", "spring", "--online", "engagement_rate")
    assert (result["variant"], result["run"], result["online"]) == ("b", "new", "Engagement rate")
    assert [answer["check"] for answer in result["answers"]][:3] == ["noise", "split", "popularity"]


def test_a_table_with_a_row_per_user_is_explained_by_its_own_metric(run: Recdash, folder: Path) -> None:
    rows = "".join(f"u{n},{('control', 'b')[n % 2]},{(600, 300)[n % 2] + n}\n" for n in range(20))
    (folder / "users.csv").write_text(f"user_id,variant,minutes\n{rows}")
    assert run(*[word.replace("sessions.csv", "users.csv") for word in ADD]).exit_code == 0
    assert "Why did new win offline and lose online?" in run(*WHY, "--metric", "ndcg@5").stdout
    assert "lift in Minutes, %" in run("agree", "--experiment", "films", "--metric", "ndcg@5").stdout


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (("--test", "summer"), "No A/B test is called 'summer'"),
        (("--variant", "c"), "No variant is called 'c'. Known: b."),
        (("--run", "old"), "No variant of 'spring' is linked to that run."),
        (("--run", "new", "--variant", "b"), "both a variant and a run are named"),
        (("--online", "joy"), "No online metric is called 'joy'"),
        (("--metric", "ndcg"), "no cutoff to compare at"),
    ],
)
def test_what_does_not_exist_is_said(added: Recdash, options: tuple[str, ...], output: str) -> None:
    result = added(*WHY, *options)
    assert result.exit_code == 2
    assert output in result.stderr


def test_an_experiment_without_a_test_is_said(run: Recdash) -> None:
    assert run(*ADD[:10]).exit_code == 0
    assert "has no A/B test" in run(*WHY).stderr
