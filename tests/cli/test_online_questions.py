"""``recdash online --bayesian --segments --days --power``: the numbers of Python, as text, JSON and CSV."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from terminal import Recdash, as_json

import recdash
from recdash.online.analysis.analysed_test import AnalysedTest
from recdash.online.analysis.chance_to_win import INFORMED

FILE = "sessions.csv"
FILES: dict[str, str] = {}


@pytest.fixture
def logs(run: Recdash) -> AnalysedTest:
    """The results of 600 simulated users, whose sessions are a file in the working folder."""
    assert run("demo", "--online", "logs", "--users", "600").exit_code == 0
    Path(FILE).write_bytes(Path("logs/sessions.csv").read_bytes())
    return recdash.ab_test(sessions=FILE)


def same(rows: list[dict[str, object]], frame: pd.DataFrame) -> None:
    """Asserts that rows of JSON or CSV are those of a frame."""
    read = pd.DataFrame(rows, columns=frame.columns)
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]):
            np.testing.assert_allclose(read[name].astype(float), frame[name].astype(float), rtol=1e-12)
        else:
            texts = [column.astype(object).fillna("").tolist() for column in (read[name], frame[name])]
            assert texts[0] == texts[1]


def test_a_folder_that_cannot_be_made_is_named(run: Recdash, folder: Path) -> None:
    (folder / "file").write_text("")
    result = run("demo", "--online", "file/logs", "--users", "50")
    assert result.exit_code == 2
    assert result.stderr.startswith("recdash: --online: 'file/logs' cannot be written (Not a directory).")


def test_json_has_what_python_has(run: Recdash, logs: AnalysedTest) -> None:
    printed = as_json(run, "online", "--sessions", FILE, "--segments", "--days", "daily", "--power", "2%")
    same(printed["segments"], logs.segments().table())
    same(printed["days"], logs.days(scale="daily").table())
    same(printed["power"], logs.power(0.02).table())
    assert {row["attribute"] for row in printed["segments"]} == {"country", "platform"}


def test_one_attribute_and_metric_can_be_chosen(run: Recdash, logs: AnalysedTest) -> None:
    options = ("--segments", "country", "--online-metric", "engagement_rate")
    printed = as_json(run, "online", "--sessions", FILE, *options)["segments"]
    same(printed, logs.segments("country", "engagement_rate").table())


def test_all_attributes_can_be_named_as_the_help_says(run: Recdash, logs: AnalysedTest) -> None:
    printed = as_json(run, "online", "--sessions", FILE, "--segments", "all")["segments"]
    same(printed, logs.segments().table())


def test_csv_is_one_table(run: Recdash, logs: AnalysedTest) -> None:
    printed = run("online", "--sessions", FILE, "--days", "--format", "csv").stdout
    same(pd.read_csv(io.StringIO(printed)).to_dict("records"), logs.days().table())  # type: ignore[arg-type]
    results = pd.read_csv(io.StringIO(run("online", "--sessions", FILE, "--format", "csv").stdout))
    assert list(results.columns) == list(logs.table(all_columns=True).columns)
    assert len(results) == len(logs.rows)


def test_two_tables_are_no_csv(run: Recdash, logs: AnalysedTest) -> None:
    assert logs.rows
    result = run("online", "--sessions", FILE, "--days", "--power", "--format", "csv")
    assert result.exit_code == 2
    assert "--days, --power" in result.stderr


def test_chances_stand_beside_p(run: Recdash, logs: AnalysedTest) -> None:
    chances = logs.chance_to_win(INFORMED)
    printed = as_json(run, "online", "--sessions", FILE, "--bayesian", "--prior", "0,0.3")
    assert printed["prior"]["std_dev"] == 0.3
    for row in printed["results"]:
        chance = chances.of(row["metric"], row["variant"])
        assert (row["chance_to_win"], row["expected_loss"]) == (chance.chance, chance.loss)
    table = run("online", "--sessions", FILE, "--prior", "0,0.3", "--format", "csv").stdout
    lifts = pd.read_csv(io.StringIO(table)).dropna(subset=["chance_to_win"])
    np.testing.assert_allclose(lifts["chance_to_win"], [row.chance for row in chances.rows], rtol=1e-12)


def test_without_the_option_there_is_no_chance(run: Recdash, logs: AnalysedTest) -> None:
    assert logs.rows
    printed = as_json(run, "online", "--sessions", FILE)
    assert "prior" not in printed
    assert not any("chance_to_win" in row for row in printed["results"])


def test_text_is_in_percent_and_names_the_prior(run: Recdash, logs: AnalysedTest) -> None:
    text = run("online", "--sessions", FILE, "--bayesian", "--power", "0.5").stdout
    assert "chance %" in text
    assert "Prior of the lift: flat" in text
    (row, *_) = logs.power(0.5, "engagement_rate").rows
    line = next(line for line in text.splitlines() if line.startswith("engagement_rate") and "50.0" in line)
    assert line.split()[-1] == f"{row['more_users']:,}"


def test_a_stored_test_is_asked_alike(run: Recdash, logs: AnalysedTest) -> None:
    added = run("add", FILE, "--experiment", "Films")
    assert added.exit_code == 0, added.stderr
    options = ("--segments", "--days", "--power", "1%", "--bayesian")
    stored = as_json(run, "online", "--experiment", "Films", *options)
    same(stored["segments"], logs.segments().table())
    same(stored["days"], logs.days().table())
    same(stored["power"], logs.power(0.01).table())
    assert stored["results"][0]["chance_to_win"] == logs.chance_to_win().rows[0].chance


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--power", "two"], "'two'"),
        (["--power", "0"], "'0'"),
        (["--segments", "planet"], "planet"),
        (["--days", "--online-metric", "engagment_rate"], "engagement_rate"),
        (["--online-metric", "engagement_rate"], "given alone"),
        (["--prior", "wide"], "'wide'"),
        (["--days", "hourly"], "hourly"),
    ],
)
def test_what_cannot_be_answered_is_an_error(
    run: Recdash, logs: AnalysedTest, options: list[str], message: str
) -> None:
    assert logs.rows
    result = run("online", "--sessions", FILE, *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_aggregates_have_power_but_no_segments(run: Recdash) -> None:
    table = {
        "variant": ["control", "new"],
        "metric": "m",
        "n": [1000, 1000],
        "mean": [2.0, 2.1],
        "variance": 4.0,
    }
    pd.DataFrame(table).to_csv("aggregates.csv", index=False)
    ours = as_json(run, "online", "--aggregates", "aggregates.csv", "--power", "5%", "--bayesian")
    # (1.959964 + 0.841621)² · 2 · 4 / (.05 · 2)² users a variant, 2,000 of both are there
    assert ours["power"][0]["more_users"] == pytest.approx(2 * 7.8489 * 8 / 0.01 - 2000, abs=2)
    result = run("online", "--aggregates", "aggregates.csv", "--segments")
    assert result.exit_code == 2
    assert "no data per user" in result.stderr
