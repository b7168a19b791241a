"""recdash ope: the estimates as text and JSON, targets in files, and what is refused."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest
from terminal import Recdash, as_json

import recdash
from recdash.errors import InputError

ROWS = "a,1,1,0.5,phone\nb,1,0,0.25,tv\nc,2,1,0.25,tv\na,2,0,0.5,phone\n"
FILES = {
    "log.csv": f"item_id,position,click,propensity_score,device\n{ROWS}",
    "target.csv": "item_id,probability\na,0.25\nb,0.25\nc,0.5\n",
    "by_device.csv": "item_id,probability,device\na,1,phone\nb,0.5,tv\nc,0.5,tv\n",
    "by_age.csv": "item_id,probability,age\na,1,20\n",
    "short.csv": "item_id,probability\na,0.25\nb,0.25\n",
    "no_chance.csv": "item_id,click,propensity_score\na,1,0\n",
}


def test_the_answer_has_the_promised_names(run: Recdash) -> None:
    """Weights under uniform over three items: a (1/3) / 0.5 = 2/3, b and c (1/3) / 0.25 = 4/3."""
    output = as_json(run, "ope", "--log", "log.csv", "--target", "uniform")
    assert output["ips"] == pytest.approx((2 / 3 + 4 / 3) / 4)
    assert output["snips"] == pytest.approx((2 / 3 + 4 / 3) / 4)
    assert output["mean_weight"] == pytest.approx(1)
    assert output["max_weight"] == pytest.approx(4 / 3)
    assert output["ess"] == pytest.approx(4**2 / (2 * 4 / 9 + 2 * 16 / 9))
    assert isinstance(output["dr"], float)
    assert (output["clicks"], output["n"], output["observed"]) == (2, 4, 0.5)
    assert output["verdict"] == "refused"
    assert output["reasons"] == [
        "4 rows are worth only 4 after weighting; below 200, a few rows decide",
        "the target would have shown 2 of the rows with a click; below 50, an interval is meaningless",
    ]


def test_a_refusal_is_an_answer_and_says_why(run: Recdash) -> None:
    result = run("ope", "--log", "log.csv")
    assert result.exit_code == 0
    assert result.stdout.startswith("No verdict on uniform over 3 items: 4 rows are worth only 4")
    assert "\nDo not use the estimates below.\n" in result.stdout
    assert "smallest propensity" in result.stdout
    assert "2 positions: each row counts as a separate slot" in result.stderr


def test_a_target_in_a_file_may_depend_on_columns_of_the_log(run: Recdash) -> None:
    plain = as_json(run, "ope", "--log", "log.csv", "--target", "target.csv")
    assert plain["ips"] == pytest.approx((0.25 / 0.5 + 0.5 / 0.25) / 4)
    assert plain["target"] == "the policy target"
    by_device = as_json(run, "ope", "--log", "log.csv", "--target", "by_device.csv")
    assert by_device["ips"] == pytest.approx((1 / 0.5 + 0.5 / 0.25) / 4)


def test_weights_are_clipped_where_asked(run: Recdash) -> None:
    output = as_json(run, "ope", "--log", "log.csv", "--clip", "1")
    assert output["clipped"] == pytest.approx((2 / 3 + 1) / 4)
    assert output["clip"] == 1


def test_uniform_may_choose_from_more_items_than_the_log_shows(run: Recdash) -> None:
    assert as_json(run, "ope", "--log", "log.csv", "--items", "4")["mean_weight"] == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--target", "short.csv"], "the probabilities add up to 0.5"),
        (["--target", "by_age.csv"], "the log has no column 'age'"),
        (["--target", "nowhere.csv"], "nowhere.csv"),
        (["--log", "no_chance.csv"], "propensity"),
        (["--log", "target.csv"], "click"),
        (["--clip", "0"], "Give the largest weight, above 0."),
        (["--items", "2"], "2 items to choose from, but the log shows 3"),
        (["--items", "5", "--target", "target.csv"], "Give it with the uniform target"),
    ],
)
def test_bad_input_is_said_in_words_and_exits_with_2(run: Recdash, options: list[str], says: str) -> None:
    result = run("ope", "--log", "log.csv", *options)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_from_python_tables_in_memory_will_do(folder: Path) -> None:
    log = pd.read_csv(folder / "log.csv")
    result = recdash.ope(log, pd.DataFrame({"item_id": ["a", "b", "c"], "probability": [0.25, 0.25, 0.5]}))
    assert result.ips.value == pytest.approx((0.25 / 0.5 + 0.5 / 0.25) / 4)
    assert result.target == "the target policy"
    assert recdash.ope(folder / "log.csv").target == "uniform over 3 items"


def test_from_python_a_table_that_is_no_log_is_refused() -> None:
    with pytest.raises(InputError, match="propensity"):
        recdash.ope(pd.DataFrame({"item_id": ["a"], "click": [1]}))


def test_the_open_bandit_logs_from_the_terminal(run: Recdash, shared_data: Path) -> None:
    output = as_json(run, "ope", "--log", str(shared_data / "openbandit/bts_men.csv.gz"))
    assert output["ips"] == pytest.approx(0.003009, abs=1e-6)
    assert output["snips"] == pytest.approx(0.003189, abs=1e-6)
    assert (round(output["ess"]), output["clicks"], output["verdict"]) == (656, 69, "usable")
    women = as_json(run, "ope", "--log", str(shared_data / "openbandit/bts_women.csv.gz"))
    assert women["verdict"] == "refused"
    assert "10,000 rows are worth only 2 after weighting" in women["sentence"]


def test_standard_errors_are_by_user_where_a_column_says_whose_rows_they_are(run: Recdash) -> None:
    rows = "".join(f"{'ab'[user % 2]},{user % 3 % 2},0.5,u{user}\n" * 4 for user in range(100))
    Path("users.csv").write_text(f"item_id,click,propensity_score,person\n{rows}")
    by_row = run("ope", "--log", "users.csv")
    assert "rows (no user column)" in by_row.stdout
    assert "no column names the user: each row counts as a separate user" in by_row.stderr
    by_user = as_json(run, "ope", "--log", "users.csv", "--user-column", "person")
    assert (by_user["n_users"], by_user["errors_by"]) == (100, "users")
    errors = [by_user["std_errors"]["ips"], as_json(run, "ope", "--log", "users.csv")["std_errors"]["ips"]]
    assert errors[0] == pytest.approx(2 * errors[1], rel=0.01)  # four equal rows of each user
    assert "standard errors by" in run("ope", "--log", "users.csv", "--user-column", "person").stdout


def test_a_log_with_a_refused_notice_gives_no_estimate(run: Recdash, folder: Path) -> None:
    (folder / "gaps.csv").write_text(f"item_id,position,click,propensity_score,device\n{ROWS},1,1,0.5,tv\n")
    assert run("ope", "--log", "gaps.csv").exit_code == 0
    refused = run("ope", "--log", "gaps.csv", "--refuse", "missing-item-id")
    assert "Files with the notice 'missing-item-id' are refused, as you chose" in refused.output


LOGGED = "".join(f"u{n},{'in'[n % 2]}{n % 4},{n % 3 % 2},0.5,1\n" for n in range(40))
SET = {
    "slots.csv": f"user_id,item_id,click,propensity_score,position\n{LOGGED}",
    "truth.csv": "user_id,item_id\n" + "".join(f"u{n},i0\n" for n in range(40)),
    "als.csv": "user_id,item_id,rank,score\n"
    + "".join(f"u{n},i{n % 4},1,{math.log(3)}\nu{n},n{n % 4},2,0\n" for n in range(40)),
}
OF_RUN = ("--log", "slots.csv", "--experiment", "films", "--run", "als")


@pytest.fixture
def films(run: Recdash, folder: Path) -> Recdash:
    for name, text in SET.items():
        (folder / name).write_text(text)
    added = run("add", "--experiment", "films", "--truth", "truth.csv", "--run", "als.csv")
    assert added.exit_code == 0, added.output
    return run


def test_a_stored_run_is_the_target_at_the_top_or_by_its_scores(films: Recdash) -> None:
    """Users with even numbers were shown i, the first of their lists, the others n, the second. A click on i
    counts 1 ÷ 0.5 = 2; by scores of log 3 and 0, i has 3/4 and n 1/4. Of the even numbers below 40, six have
    a click (4, 10 .. 34), of the odd ones seven (1, 7 .. 37).
    """
    on_first, on_second = 6, 7
    top = as_json(films, "ope", *OF_RUN)
    assert top["target"] == "the top of als"
    assert top["ips"] == pytest.approx(on_first * 2 / 40)
    assert top["not_shown_share"] == 0.5
    drawn = as_json(films, "ope", *OF_RUN, "--temperature", "1")
    assert drawn["target"] == "softmax over the top 10 of als (temperature 1)"
    assert drawn["ips"] == pytest.approx((on_first * 1.5 + on_second * 0.5) / 40)
    first = as_json(films, "ope", *OF_RUN, "--temperature", "1", "--k", "1")
    assert first["ips"] == top["ips"]
    assert "rows whose item it never shows" in films("ope", *OF_RUN).stdout


def test_an_estimate_of_a_run_is_kept_with_its_experiment(films: Recdash) -> None:
    result = films("ope", *OF_RUN, "--keep", "films")
    assert result.exit_code == 0
    assert "kept with 'films'" in result.stderr
    assert "nowhere" in films("ope", *OF_RUN, "--keep", "nowhere").stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--log", "slots.csv", "--run", "als"], "Give --experiment and --run."),
        ([*OF_RUN, "--target", "truth.csv"], "--target names another target than --run"),
        ([*OF_RUN, "--items", "4"], "--items names another target than --run"),
        ([*OF_RUN, "--k", "4"], "--k counts with a temperature only"),
        ([*OF_RUN, "--run", "nowhere"], "nowhere"),
        (["--log", "slots.csv", "--temperature", "1"], "--temperature without --run"),
        ([*OF_RUN, "--log", "log.csv"], "no column names the user"),
    ],
)
def test_what_is_no_target_of_a_run_is_refused(films: Recdash, options: list[str], says: str) -> None:
    result = films("ope", *options)
    assert result.exit_code == 2
    assert says in result.stderr


def test_a_log_of_slates_has_estimates_per_slate(run: Recdash, folder: Path) -> None:
    """Under uniform over a and b, weights are 1 ÷ 0.5 · 0.5 = 1: each estimate is what was observed."""
    rows = "".join(f"s{n},1,a,{n % 2},0.5\ns{n},2,b,1,0.5\n" for n in range(300))
    (folder / "slates.csv").write_text(f"slate_id,position,item_id,click,propensity_score\n{rows}")
    slates = as_json(run, "ope", "--log", "slates.csv")["slates"]
    assert slates["n"] == 300
    assert [slates[name]["value"] for name in ("independent", "reward_interaction", "standard")] == [1.5] * 3
    assert slates["standard"]["usable"]
    text = run("ope", "--log", "slates.csv").stdout
    assert re.search(r"reward interaction \(RIPS\) +1\.5\d* +1\.\d+ to 1\.\d+ +300 +0\S* % +yes", text)
