"""The same use cases from a terminal: results on standard output, messages on standard error, 0 or 2."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_tables import ADD_FILMS
from terminal import Recdash, as_json

import recdash
from recdash.cli import main
from recdash.metrics import PRESETS
from recdash.service import Workspace

FILES = {
    "truth.csv": "user_id,item_id,rating\nu,a,5\nu,b,3\nv,a,4\nw,c,2\n",
    "als.csv": "user_id,item_id,score\nu,a,0.9\nu,x,0.8\nu,b,0.7\nv,x,0.9\nv,a,0.1\n",
    "ease.csv": "user_id,item_id,rank\nu,b,1\nu,a,2\nv,a,1\nw,x,1\nw,c,2\n",
    "train.csv": "user_id,item_id\np,a\nq,a\np,x\n",
    "catalogue.csv": "item_id,title\na,A\nb,B\nc,C\nx,X\n",
    "ratings.csv": "user_id,item_id,rating,prediction\nu,a,3,4\nv,a,2,5\n",
    "strangers.csv": "user_id,item_id,rank\nnobody,a,1\n",
    "no_item.csv": "user_id,when\nu,today\n",
    "empty.csv": "",
    "sessions.csv": "unit_id,session_id,start_ts,variant,clicks,watch_s\n"
    + "".join(
        f"p{n},s{n},2026-03-01T10:00:00Z,{'old' if n % 2 else 'new'},{n % 3},{60 + n}\n" for n in range(40)
    ),
}


def zipped(data: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("als.csv", data)
    return held.getvalue()


EVALUATE = ("evaluate", "--truth", "truth.csv", "--run", "als=als.csv")


# ── evaluate ─────────────────────────────────────────────────────────────────────────────────


def test_scores_come_as_json_of_the_promised_shape(run: Recdash) -> None:
    result = as_json(run, *EVALUATE, "--metrics", "ndcg(gain=binary)@2,recall@2,r_precision")
    assert set(result) >= {"scores", "ledger", "warnings"}
    ndcg, recall, r_precision = result["scores"]
    assert set(ndcg) == {"run", "metric", "k", "value", "std_error", "n_users"}
    assert (ndcg["run"], ndcg["metric"], ndcg["k"]) == ("als", "ndcg(gain=binary)", 2)
    assert (recall["value"], recall["n_users"]) == (pytest.approx((1 / 2 + 1 + 0) / 3), 3)
    assert (r_precision["metric"], r_precision["k"]) == ("r_precision", None)
    assert result["ledger"]["als"]["without_list"] == 1


def test_the_terminal_and_python_say_the_same(run: Recdash, folder: Path) -> None:
    result = as_json(
        run, *EVALUATE, "--run", "ease=ease.csv", "--train", "train.csv", "--catalogue", "catalogue.csv",
        "--predictions", "als=ratings.csv", "--depth", "3",
    )  # fmt: skip
    same = recdash.evaluate(
        {"als": folder / "als.csv", "ease": folder / "ease.csv"},
        folder / "truth.csv",
        train=folder / "train.csv",
        catalogue=folder / "catalogue.csv",
        predictions={"als": folder / "ratings.csv"},
        depth=3,
    )
    assert result == same.as_dict()
    assert {row["metric"] for row in result["scores"]} >= {"novelty", "coverage", "rmse"}


def recall_at_2(run: Recdash, *options: str) -> float:
    (row,) = as_json(run, *EVALUATE, "--metrics", "recall@2", *options)["scores"]
    return float(row["value"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), (1 / 2 + 1 + 0) / 3),
        (("--users", "both"), (1 / 2 + 1) / 2),
        (("--preset", "recommenders"), (1 / 2 + 1) / 2),
        (("--preset", "recommenders", "--users", "truth"), (1 / 2 + 1 + 0) / 3),
        (("--relevance-threshold", "4"), (1 + 1) / 2),
        (("--relevance", "none"), (1 / 2 + 1 + 0) / 3),
        (("--order", "score", "--ties", "item_desc"), (1 / 2 + 1 + 0) / 3),
    ],
)
def test_options_change_how_is_counted(run: Recdash, options: tuple[str, ...], expected: float) -> None:
    assert recall_at_2(run, *options) == pytest.approx(expected)


def test_the_table_has_a_line_per_metric_and_a_column_per_candidate(run: Recdash) -> None:
    result = run(*EVALUATE, "--run", "ease=ease.csv", "--metrics", "recall@2,coverage")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["metric", "als", "ease"],
        ["recall@2", "0.500", "1.00"],
        [],
        ["als:", "3", "users", "counted,", "1", "of", "them", "without", "recommendations"],
        ["ease:", "3", "users", "counted,", "0", "of", "them", "without", "recommendations"],
        # x is in no table: it takes two of the five places within als, one of the five within ease
        *[
            f"{name}: {words}".split()
            for name, known, of_truth in (
                (
                    "als",
                    "60 % (3 of 5); of its users 100 % (2 of 2)",
                    "67 % (2 of 3); of its users 67 % (2 of 3)",
                ),
                (
                    "ease",
                    "80 % (4 of 5); of its users 100 % (3 of 3)",
                    "100 % (3 of 3); of its users 100 % (3 of 3)",
                ),
            )
            for words in (
                f"known to test set, catalogue or training data: of recommended items {known}",
                f"of the test set known to run, catalogue or training data: of its items {of_truth}",
            )
        ],
        *[
            f"{name}: no coverage: needs a catalogue table, and none was given".split()
            for name in ("als", "ease")
        ],
    ]


def test_csv_can_be_read_back_and_opened_in_a_spreadsheet_without_danger(run: Recdash) -> None:
    result = run(
        "evaluate",
        "--truth",
        "truth.csv",
        "--run",
        "=1+1=als.csv",
        "--run",
        "als.csv",
        "--metrics",
        "recall@2",
    )
    assert result.exit_code == 0  # the name is =1+1: what is left of it is a file
    named = run(
        "evaluate",
        "--truth",
        "truth.csv",
        "--run",
        "@sum=als.csv",
        "--metrics",
        "recall@2",
        "--format",
        "csv",
    )
    (row,) = csv.DictReader(io.StringIO(named.stdout))
    assert (row["run"], row["metric"], row["k"], float(row["value"])) == ("'@sum", "recall", "2", 0.5)


def test_a_file_without_a_name_is_called_by_its_stem(run: Recdash) -> None:
    result = as_json(run, "evaluate", "--truth", "truth.csv", "--run", "als.csv", "--metrics", "recall@1")
    assert [row["run"] for row in result["scores"]] == ["als"]


def test_notices_go_to_standard_error_and_into_the_json(run: Recdash) -> None:
    result = run(*EVALUATE, "--metrics", "recall@3", "--format", "json")
    (short,) = [line for line in result.stderr.splitlines() if "lists shorter than k = 3" in line]
    counted = "lists shorter than k = 3: 1 of the 2 users with a list"
    assert short == f"note: run 'als': {counted}. The missing positions count as misses."
    assert short.removeprefix("note: ") in json.loads(result.stdout)["warnings"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--truth", "truth.csv"), "no candidate. Add --run NAME=FILE."),
        (("--truth", "nowhere.csv", "--run", "als.csv"), "nowhere.csv: cannot be opened"),
        (("--truth", "no_item.csv", "--run", "als.csv"), "no item column"),
        (("--truth", "truth.csv", "--run", "empty.csv"), "empty"),
        (("--truth", "truth.csv", "--run", "strangers.csv"), "no user of this run is in the truth"),
        (("--truth", "truth.csv", "--run", "als.csv", "--metrics", "ndgc@10"), "Did you mean 'ndcg'?"),
        (("--truth", "truth.csv", "--run", "als.csv", "--preset", "treceval"), "Did you mean 'trec_eval'?"),
        (("--truth", "truth.csv", "--run", "als.csv", "--users", "all"), "Choose truth, both, judged,"),
        (
            ("--truth", "truth.csv", "--run", "als.csv", "--order", "rank"),
            "no rank column to order the lists by",
        ),
        (
            ("--truth", "truth.csv", "--run", "als.csv", "--depth", "0"),
            "Use a whole number from 1 to 10,000.",
        ),
        (
            ("--truth", "truth.csv", "--run", "a=als.csv", "--run", "a=als.csv", "--replicates", "folds"),
            "in several folds",
        ),
        (
            ("--truth", "truth.csv", "--run", "als.csv", "--relevance-threshold", "9"),
            "Lower the relevance threshold",
        ),
    ],
)
def test_bad_input_exits_with_2_and_says_what_to_do(
    run: Recdash, arguments: tuple[str, ...], message: str
) -> None:
    result = run("evaluate", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("recdash: ")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_several_problems_come_as_a_list(run: Recdash) -> None:
    result = run("evaluate", "--truth", "no_item.csv", "--run", "als.csv", "--catalogue", "empty.csv")
    assert result.exit_code == 2
    head, *problems = result.stderr.splitlines()
    assert head == "recdash: 2 problems:"
    assert all(line.startswith("  - ") for line in problems)
    assert len(problems) == 2


def test_evaluate_stores_nothing(run: Recdash, folder: Path) -> None:
    run(*EVALUATE)
    assert not (folder / "store").exists()


# ── the store ────────────────────────────────────────────────────────────────────────────────

ADD = ("add", "--experiment", "Films", "--truth", "truth.csv", "--depth", "5")


def listed(run: Recdash) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = as_json(run, "list")["experiments"]
    return result


def test_what_was_added_is_listed(run: Recdash) -> None:
    result = run(
        *ADD, "--run", "als=als.csv", "--run", "ease=ease.csv", "--tag", "autumn", "--baseline", "als"
    )
    assert (result.exit_code, result.stdout.split("\n")[:2]) == (0, ["als: added", "ease: added"])
    (films,) = listed(run)
    assert (films["name"], films["depth"]) == ("Films", 5)
    assert [(run_["name"], run_["tags"], run_["baseline"]) for run_ in films["runs"]] == [
        ("als", ["autumn"], True),
        ("ease", ["autumn"], False),
    ]
    assert "Films (3 users, depth 5)" in run("list").stdout


def test_adding_again_changes_nothing_and_says_so(run: Recdash) -> None:
    run(*ADD, "--run", "als=als.csv")
    result = run(*ADD, "--run", "als=als.csv")
    assert (result.exit_code, result.stdout) == (0, "als: already stored\n")
    (films,) = listed(run)
    assert len(films["runs"]) == 1


def test_of_an_archived_run_it_is_said_how_to_bring_it_back(run: Recdash) -> None:
    run(*ADD, "--run", "als=als.csv")
    space = Workspace.open()
    (films,) = space.experiments.all()
    (als,) = space.runs.all(films.id)
    space.runs.archive(als.id)
    again = run(*ADD, "--run", "als=als.csv")
    assert "als: already stored, but archived" in again.stdout
    assert "recdash unarchive" in again.stdout
    other = run(*ADD, "--run", "als=ease.csv")
    assert other.exit_code == 2
    assert "An archived run of this experiment has the name 'als'" in other.stderr
    assert run(*ADD, "--run", "als=als.csv", "--baseline", "als").exit_code == 2


def test_a_run_can_be_added_to_an_experiment_that_is_there(run: Recdash) -> None:
    run(*ADD)
    result = run("add", "--experiment", "Films", "--run", "ease.csv")
    assert (result.exit_code, result.stdout) == (0, "ease: added\n")


def test_an_experiment_without_a_truth_must_be_there(run: Recdash) -> None:
    result = run("add", "--experiment", "Films", "--run", "als.csv")
    assert result.exit_code == 2
    assert "No experiment is called 'Films'. Experiments: none." in result.stderr
    assert listed(run) == []


def test_another_truth_cannot_take_the_name_of_an_experiment(run: Recdash) -> None:
    run(*ADD)
    result = run("add", "--experiment", "Films", "--truth", "ease.csv")
    assert result.exit_code == 2
    assert "'Films'" in result.stderr
    assert len(listed(run)) == 1


@pytest.mark.parametrize("file", ["no_item.csv", "empty.csv", "strangers.csv"])
def test_with_a_bad_candidate_nothing_is_stored(run: Recdash, file: str) -> None:
    result = run(*ADD, "--run", f"als={file}")
    assert (result.exit_code, result.stdout) == (2, "")
    assert listed(run) == []


def test_a_bad_candidate_takes_nothing_away(run: Recdash) -> None:
    run(*ADD)
    assert run("add", "--experiment", "Films", "--run", "als=strangers.csv").exit_code == 2
    assert [row["name"] for row in listed(run)] == ["Films"]
    assert run(*ADD, "--run", "als.csv", "--run", "bad=strangers.csv").exit_code == 2
    assert listed(run)[0]["runs"] == []
    run(*ADD, "--run", "als.csv")
    assert [row["name"] for row in listed(run)[0]["runs"]] == ["als"]


@pytest.mark.parametrize("typo", [("--baseline", "alz"), ("--link", "new=alz")])
def test_a_name_that_is_nobodys_is_found_before_anything_is_stored(
    run: Recdash, typo: tuple[str, str]
) -> None:
    result = run(*ADD, "--run", "als.csv", *typo)
    assert result.exit_code == 2
    assert "No run is called 'alz'. Did you mean 'als'?" in result.stderr
    assert listed(run) == []
    assert list(Path.cwd().rglob("*.parquet")) == []


def test_a_bad_online_table_is_found_before_anything_is_stored(run: Recdash) -> None:
    result = run(*ADD, "--run", "als.csv", "--sessions", "spring=als.csv")
    assert result.exit_code == 2
    assert listed(run) == []


def test_the_set_up_of_an_experiment_cannot_be_changed_in_passing(run: Recdash) -> None:
    run(*ADD, "--run", "als.csv")
    result = run("add", "--experiment", "Films", "--run", "ease.csv", "--depth", "7")
    assert result.exit_code == 2
    assert "--depth: given without --truth" in result.stderr
    assert [row["name"] for row in listed(run)[0]["runs"]] == ["als"]


def test_predictions_must_name_a_candidate(run: Recdash) -> None:
    result = run(*ADD, "--run", "als.csv", "--predictions", "alz=ratings.csv")
    assert result.exit_code == 2
    assert "No run is called 'alz'. Did you mean 'als'?" in result.stderr
    assert listed(run) == []
    assert run(*ADD, "--run", "als.csv", "--predictions", "als=ratings.csv").exit_code == 0


def test_an_online_test_is_added_with_its_links(run: Recdash) -> None:
    online = (
        "--sessions",
        "spring=sessions.csv",
        "--control",
        "old",
        "--link",
        "old=als",
        "--link",
        "new=ease",
    )
    result = run(*ADD, "--run", "als.csv", "--run", "ease.csv", *online)
    assert result.exit_code == 0, result.stderr
    assert "spring: added, control 'old'" in result.stdout
    (films,) = listed(run)
    assert films["online_tests"] == ["spring"]


def test_an_a_b_test_alone_makes_an_experiment_and_a_test_set_can_follow(run: Recdash) -> None:
    rows = "".join(f"u{n},{'new' if n % 2 else 'control'},{n % 4}\n" for n in range(40))
    Path("shop.csv").write_text(f"customer,group,orders\n{rows}")
    result = run("add", "--experiment", "Shop", "--sessions", "checkout=shop.csv")
    assert result.exit_code == 0, result.stderr
    assert "checkout: added, control 'control'" in result.stdout
    assert "Shop (no test set, 1 A/B test)" in run("list").stdout
    shown = as_json(run, "online", "--experiment", "Shop")["results"]
    # orders: 0, 2 for each in control; 1, 3 for each in new
    assert [(row["metric"], row["control_value"], row["variant_value"]) for row in shown] == [
        ("orders", 1, 2)
    ]
    refused = run("add", "--experiment", "Shop", "--run", "als.csv")
    assert refused.exit_code == 2
    assert "experiment 'Shop': it has no test set" in refused.stderr
    added = run("add", "--experiment", "Shop", "--truth", "truth.csv", "--run", "als.csv")
    assert added.exit_code == 0, added.stderr
    (shop,) = listed(run)
    assert ([run["name"] for run in shop["runs"]], shop["online_tests"]) == (["als"], ["checkout"])


def test_a_link_to_an_unknown_run_is_answered_with_the_nearest(run: Recdash) -> None:
    result = run(*ADD, "--run", "als.csv", "--sessions", "spring=sessions.csv", "--link", "new=alz")
    assert result.exit_code == 2
    assert "No run is called 'alz'. Did you mean 'als'?" in result.stderr


def test_an_empty_store_points_to_the_demo(run: Recdash) -> None:
    assert run("list").stdout == "No experiment yet. Try: recdash demo\n"
    assert listed(run) == []


def test_the_demo_comes_and_goes(run: Recdash) -> None:
    loaded = run("demo")
    assert loaded.exit_code == 0
    assert loaded.stdout.startswith("Loaded '")
    assert "100% Done" in loaded.stderr
    (demo,) = listed(run)
    assert len(demo["runs"]) == 5
    assert run("demo", "--remove").stdout == "The demo is removed.\n"
    assert listed(run) == []


# ── the program ──────────────────────────────────────────────────────────────────────────────


ROOT = Path(recdash.__file__).resolve().parents[1]


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = [sys.executable, "-m", "recdash"]
    return subprocess.run(
        [*start, *arguments], cwd=folder, env=path, capture_output=True, text=True, check=False
    )


def test_the_module_is_the_command(folder: Path) -> None:
    result = command(*EVALUATE, "--metrics", "recall@2", "--format", "json", folder=folder)
    assert (result.returncode, result.stderr.count("Traceback")) == (0, 0)
    assert json.loads(result.stdout)["scores"][0]["value"] == pytest.approx(0.5)
    refused = command("evaluate", "--truth", "empty.csv", "--run", "als.csv", folder=folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("recdash: ")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("RECDASH_MAX_COMPRESSION_RATIO", "times its compressed size, over the limit of 200"),
        ("RECDASH_MAX_INFLATED_BYTES", "bytes of unpacked size, over the limit of 1,000,000"),
    ],
)
@pytest.mark.parametrize("pack", [gzip.compress, zipped], ids=["gzip", "zip"])
def test_a_bomb_is_refused_with_the_setting_that_lets_it_in(
    run: Recdash,
    store_in: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    words: str,
    pack: Callable[[bytes], bytes],
) -> None:
    text = "user_id,item_id,rank\nu,a,1\n" + f"u,{'a' * 200},2\n" * 100_000
    Path("bomb.csv.gz").write_bytes(pack(text.encode()))
    if setting == "RECDASH_MAX_INFLATED_BYTES":
        monkeypatch.setenv("RECDASH_MAX_COMPRESSION_RATIO", "2000")
        monkeypatch.setenv(setting, "1000000")
    store_in(Path("store"))
    evaluate = ("evaluate", "--truth", "truth.csv", "--run", "als=bomb.csv.gz", "--metrics", "recall@2")
    refused = run(*evaluate)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert words in refused.stderr
    assert f"raise {setting}" in refused.stderr
    monkeypatch.setenv(setting, "100000000")
    store_in(Path("store"))
    assert run(*evaluate).exit_code == 0


def test_evaluate_starts_without_the_heavy_rooms(folder: Path) -> None:
    script = (
        "import sys; from recdash.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "heavy = {'pandas', 'scipy', 'streamlit', 'plotly', 'sqlalchemy', 'pydantic', 'polars'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    start = [sys.executable, "-c", script]
    result = subprocess.run(
        [*start, *EVALUATE], cwd=folder, env=path, capture_output=True, text=True, check=True
    )
    assert result.stderr.splitlines()[-1] == "[]"


def test_whole_numbers_are_evaluated_without_what_only_text_and_addresses_need(folder: Path) -> None:
    for name, columns in (("truth", "user_id item_id relevance"), ("als", "user_id item_id rank")):
        numbers = {column: pa.array([1, 2], pa.int64()) for column in columns.split()}
        pq.write_table(pa.table(numbers), folder / f"{name}.parquet")
    script = (
        "import sys; from recdash.cli import main; main(sys.argv[1:], standalone_mode=False); "
        "unused = {'pyarrow.compute', 'urllib.request', 'http.client', 'numpy.ma', 'recdash.stats'} | "
        "{'recdash.cli.gate', 'recdash.ingest.formats.text'}; "
        "print(sorted(unused & set(sys.modules)), file=sys.stderr)"
    )
    evaluate = ["evaluate", "--truth", "truth.parquet", "--run", "als=als.parquet", "--metrics", "ndcg@2"]
    result = subprocess.run(
        [sys.executable, "-c", script, *evaluate],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stderr.splitlines()[-1] == "[]"


def test_the_version_is_the_packages(run: Recdash) -> None:
    assert run("--version").stdout == f"recdash, version {recdash.__version__}\n"


def test_every_command_and_option_explains_itself(run: Recdash) -> None:
    context = click.Context(main)
    for name in main.list_commands(context):
        result = main.get_command(context, name)
        assert result is not None
        assert result.help, name
        unexplained = [
            option.name
            for option in result.params
            if isinstance(option, click.Option) and not option.help and option.name != "form"
        ]
        assert unexplained == [], name
        assert run(name, "--help").exit_code == 0


def test_an_unknown_command_exits_with_2(run: Recdash) -> None:
    assert run("evalaute").exit_code == 2


# ── reference candidates ─────────────────────────────────────────────────────────────────────


def test_references_are_scored_beside_the_runs(run: Recdash) -> None:
    result = run(
        "evaluate", "--truth", "truth.csv", "--train", "train.csv", "--run", "als.csv",
        "--reference", "popular, oracle", "--metrics", "ndcg@2", "--format", "json",
    )  # fmt: skip
    scores = {row["run"]: row["value"] for row in json.loads(result.stdout)["scores"]}
    assert list(scores) == ["als", "Most popular (reference)", "Oracle (reference)"]
    assert scores["Oracle (reference)"] == pytest.approx(1)


def test_references_are_added_once(run: Recdash) -> None:
    question = ("add", "--experiment", "films", "--truth", "truth.csv", "--reference", "oracle")
    assert "Oracle (reference): added" in run(*question, "--run", "als.csv").output
    assert "Oracle (reference): already stored" in run(*question).output


def test_a_reference_without_its_table_is_refused_by_name(run: Recdash) -> None:
    result = run("evaluate", "--truth", "truth.csv", "--reference", "popular,oracle")
    assert result.exit_code == 2
    assert "reference 'popular': it needs the training data. Add it to the set-up" in result.stderr


# ── definitions ──────────────────────────────────────────────────────────────────────────────

DEFINITIONS = ("definitions", "--experiment", "films", "--run")


def test_one_run_is_shown_under_every_preset(run: Recdash) -> None:
    assert run(*ADD_FILMS).exit_code == 0
    result = as_json(run, *DEFINITIONS, "als", "--metric", "recall@2")
    assert [row["preset"] for row in result["presets"]] == list(PRESETS)
    by_preset = {row["preset"]: row for row in result["presets"]}
    # u finds a of a and b at 1, v finds a at 2, w has no list: (1/2 + 1 + 0) / 3, with lists only / 2
    assert by_preset["default"]["value"] == pytest.approx(1 / 2)
    assert by_preset["recommenders"]["value"] == pytest.approx(3 / 4)
    causes = {(row["preset"], row["cause"]): row["difference"] for row in result["causes"]}
    assert causes["recommenders", "population"] == pytest.approx(1 / 4)
    assert (result["k"], result["metric"], result["ledger"]["without_list"]) == (2, "recall", 1)
    assert result["tie_band"] is None


def test_what_cannot_be_counted_is_null_with_its_reason(run: Recdash) -> None:
    run(*ADD_FILMS)
    result = as_json(run, *DEFINITIONS, "ease", "--metric", "ndcg@2")
    (row,) = [row for row in result["presets"] if row["preset"] == "trec_eval"]
    assert (row["value"], row["reason"]) == (None, "no score column to order the lists by")


def test_what_ties_can_do_stands_below(run: Recdash, folder: Path) -> None:
    # u's list is one tie: a at rank 1 at best, at 2 at worst; v's and w's find nothing
    (folder / "tied.csv").write_text("user_id,item_id,score\nu,a,1\nu,x,1\n")
    run("add", "--experiment", "films", "--truth", "truth.csv", "--run", "tied=tied.csv")
    band = as_json(run, *DEFINITIONS, "tied", "--metric", "mrr@2")["tie_band"]
    assert (band["worst"], band["best"]) == (pytest.approx(1 / 6), pytest.approx(1 / 3))
    text = run(*DEFINITIONS, "tied", "--metric", "mrr@2").stdout
    assert "of 1 users  0.166667" in text


def test_the_presets_are_a_table_of_text_too(run: Recdash) -> None:
    run(*ADD_FILMS)
    text = run(*DEFINITIONS, "als", "--metric", "recall@2").stdout
    assert "recommenders  recall" in text
    assert "50 % higher" in text
    assert "population" in text
    assert "Without a list" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--run", "als2", "--metric", "ndcg"), "Did you mean 'als'?"),
        (("--run", "als", "--metric", "ndgc@2"), "Did you mean 'ndcg'?"),
        (("--run", "als", "--metric", "ndcg@101"), "the depth is 100"),
    ],
)
def test_definitions_asked_for_in_vain_name_what_there_is(
    run: Recdash, arguments: tuple[str, ...], says: str
) -> None:
    run(*ADD_FILMS)
    result = run("definitions", "--experiment", "films", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr
