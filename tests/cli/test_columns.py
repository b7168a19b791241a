"""``--columns``: which column means what, for all files of a command or for one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bookshop
import pandas as pd
import pytest
from terminal import Recdash, as_json

import recdash
from recdash.errors import InputError, UnknownName

FILES = {
    "truth.csv": "uid,shelf_no\n1,a\n2,b\n3,c\n",
    "als.csv": "uid,sku,s\n1,x,3\n1,a,2\n2,b,1\n",
    "far.csv": "uid,sku,cost\n1,a,0.1\n1,x,0.9\n2,x,0.1\n2,b,0.3\n",
    "log.csv": "arm,reward,chance\n" + "a,1,0.5\nb,0,0.5\n" * 20,
    "target.csv": "arm,p_new\na,0.7\nb,0.3\n",
    "sessions.csv": "person,visit,began,branch,clicks,watch_s\n"
    + "".join(
        f"p{n},s{n},2026-03-01T10:00:00Z,{'old' if n % 2 else 'new'},{n % 3},{60 + n}\n" for n in range(40)
    ),
}
CHOSEN = "user_id=uid,item_id=sku,als:score=s,truth:item_id=shelf_no"
EVALUATE = ("evaluate", "--truth", "truth.csv", "--run", "als=als.csv", "--metrics", "mrr@2")
BY_HAND = (1 / 2 + 1 + 0) / 3
"""User 1 finds a at place 2, user 2 finds b at place 1, user 3 has no list."""


def test_a_column_holds_for_every_file_that_has_it_and_a_table_for_itself(run: Recdash) -> None:
    (score,) = as_json(run, *EVALUATE, "--columns", CHOSEN)["scores"]
    assert score["value"] == pytest.approx(BY_HAND)


def test_the_prefix_of_a_table_holds_for_the_rest_of_the_option(run: Recdash) -> None:
    twice = ("--columns", "item_id=sku,user_id=uid", "--columns", "truth:user_id=uid,item_id=shelf_no")
    (score,) = as_json(run, *EVALUATE, *twice)["scores"]
    assert score["value"] == pytest.approx(BY_HAND)


@pytest.mark.usefixtures("folder")
def test_python_takes_the_same_columns() -> None:
    columns = {"user_id": "uid", "item_id": "sku", "als": {"score": "s"}, "truth": {"item_id": "shelf_no"}}
    result = recdash.evaluate({"als": "als.csv"}, "truth.csv", metrics="mrr@2", columns=columns)
    assert [row["value"] for row in result.rows()] == [pytest.approx(BY_HAND)]


@pytest.mark.usefixtures("folder")
def test_a_minus_says_that_the_least_is_the_best() -> None:
    columns = {"user_id": "uid", "truth": {"item_id": "shelf_no"}}
    values = {}
    for score in ("cost", "-cost"):
        far = {"far": {"item_id": "sku", "score": score}}
        result = recdash.evaluate(
            {"far": "far.csv"}, "truth.csv", metrics="mrr@2", columns={**columns, **far}
        )
        values[score] = next(result.rows())["value"]
    # by -cost: a at place 1, b at place 2; by cost: a at place 2, b at place 1
    assert values == {"cost": pytest.approx((1 / 2 + 1) / 3), "-cost": pytest.approx((1 + 1 / 2) / 3)}
    result = recdash.evaluate({"far": "far.csv"}, "truth.csv", metrics="hit_rate@1",
                             columns={**columns, "far": {"item_id": "sku", "score": "-cost"}})  # fmt: skip
    assert [row["value"] for row in result.rows()] == [pytest.approx(1 / 3)]
    per_user = result.per_user("hit_rate@1").set_index("user_id")["value"].to_dict()
    assert per_user["1"] == 1.0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "truth:item_id=shelf_n,user_id=uid",
            ["no column is called 'shelf_n'; found: uid, shelf_no", "Did you mean 'shelf_no'?"],
        ),
        (
            "user_id=uid,item_id=shelf_nr,score=s",
            ["no column is called 'shelf_nr'; found: uid, shelf_no", "'shelf_no'"],
        ),
        (f"timestamp=when,{CHOSEN}", ["no table has a column 'when' for timestamp", "als: uid, sku, s"]),
        ("user_id=uid,scor=s", ["no role is called 'scor'", "Did you mean 'score'?"]),
        ("thruth:item_id=shelf_no", ["No table is called 'thruth'. Did you mean 'truth'?"]),
        ("user_id", ["'user_id'. Write ROLE=COLUMN"]),
        ("user_id=nope,item_id=nada", ["no column is called 'nope'; found", "no column is called 'nada'"]),
        (
            "user_id=uid,item_id=r_1..r_3,score=s",
            ["no column is called 'r_1'; found: uid, shelf_no", "no column is called 'r_3'"],
        ),
        ("user_id=,item_id=sku", ["user_id is ignored ('user_id=' without a column)"]),
        ("user_id=uid,user_id=sku", ["two columns for user_id: 'uid' and 'sku'"]),
    ],
)
def test_a_slip_is_told_with_what_there_is(run: Recdash, columns: str, message: list[str]) -> None:
    result = run(*EVALUATE, "--columns", columns)
    assert result.exit_code == 2
    assert [words for words in message if words not in result.stderr] == []


@pytest.mark.usefixtures("folder")
def test_python_tells_the_same_slips() -> None:
    with pytest.raises(UnknownName, match="No table is called 'thruth'"):
        recdash.evaluate({"als": "als.csv"}, "truth.csv", columns={"thruth": {"item_id": "shelf_no"}})
    with pytest.raises(InputError, match="no role is called 'scor'"):
        recdash.evaluate({"als": "als.csv"}, "truth.csv", columns={"scor": "s"})


@pytest.mark.parametrize(
    "columns",
    [
        ["user_id"],
        "user_id=uid",
        {"user_id": None},
        {"user_id": ["uid"]},
        {"truth": {"item_id": 3}},
        {5: "uid"},
        {"truth": {5: "uid"}},
    ],
)
@pytest.mark.usefixtures("folder")
def test_columns_of_a_wrong_type_are_a_clear_error(columns: Any) -> None:
    with pytest.raises(InputError) as refusal:
        recdash.evaluate({"als": "als.csv"}, "truth.csv", columns=columns)
    assert {problem.code for problem in refusal.value.problems} == {"bad-columns"}
    assert 'Write {"user_id": "uid"} for all tables' in str(refusal.value)


def test_case_and_blanks_around_a_name_do_not_count(run: Recdash) -> None:
    chosen = "user_id = UID ,item_id= Sku,als:score=S,truth:item_id=SHELF_NO"
    (score,) = as_json(run, *EVALUATE, "--columns", chosen)["scores"]
    assert score["value"] == pytest.approx(BY_HAND)


def test_files_are_compared_and_stored_with_their_columns(run: Recdash) -> None:
    files = ("--truth", "truth.csv", "--run", "als=als.csv", "--run", "far=far.csv")
    chosen = ("--columns", f"{CHOSEN},far:score=-cost")
    compared = as_json(run, "compare", *files, "--baseline", "als", "--metric", "mrr@2", *chosen)
    added = run("add", "--experiment", "books", *files, *chosen)
    assert added.exit_code == 0, added.stderr
    assert {row["name"] for row in as_json(run, "list")["experiments"][0]["runs"]} == {"als", "far"}
    stored = as_json(run, "compare", "--experiment", "books", "--baseline", "als", "--metric", "mrr@2")
    assert stored["pairs"] == compared["pairs"]


def test_columns_of_a_file_that_is_not_added_are_refused(run: Recdash) -> None:
    files = ("--truth", "truth.csv", "--run", "als=als.csv", "--columns", f"{CHOSEN},train:user_id=uid")
    added = run("add", "--experiment", "books", *files)
    assert added.exit_code == 2
    assert "columns, train: this table was not given" in added.stderr


@pytest.mark.usefixtures("folder")
def test_a_workspace_takes_the_same_columns() -> None:
    space = recdash.open()
    books = space.experiments.create(
        "books", "truth.csv", columns={"user_id": "uid", "truth": {"item_id": "shelf_no"}}
    )
    columns = {"user_id": "uid", "item_id": "sku", "als": {"score": "s"}}
    (added,) = space.runs.add(books.id, "als.csv", name="als", columns=columns)
    assert space.scores.scoreboard([added.run.id], ["mrr"], 2)["value"].tolist() == [pytest.approx(BY_HAND)]
    with pytest.raises(InputError, match="no table has a column 'ranking' for rank"):
        space.runs.add(
            books.id, "als.csv", name="other", columns={"user_id": "uid", "item_id": "sku", "rank": "ranking"}
        )


def test_columns_are_not_passed_over_where_runs_are_stored(run: Recdash) -> None:
    result = run("compare", "--experiment", "books", "--baseline", "als", "--columns", "user_id=uid")
    assert result.exit_code == 2
    assert "--columns" in result.stderr


def test_an_ab_test_and_a_bandit_log_are_read_with_their_columns(run: Recdash) -> None:
    sessions = "unit_id=person,session_id=visit,start_ts=began,variant=branch"
    test = as_json(run, "online", "--sessions", "sessions.csv", "--control", "old", "--columns", sessions)
    assert {row["n_variant"] for row in test["results"]} == {20}
    log = "item_id=arm,log:click=reward,propensity_score=chance,target:probability=p_new"
    result = as_json(run, "ope", "--log", "log.csv", "--target", "target.csv", "--columns", log)
    # a is shown half of the time and always clicked; the target shows it 0.7 of the time
    assert result["ips"] == pytest.approx(0.5 * 1 * 0.7 / 0.5)


@pytest.mark.parametrize("command", ["evaluate", "compare", "add", "online", "ope"])
def test_every_command_that_reads_tables_explains_the_option(run: Recdash, command: str) -> None:
    assert "--columns ROLE=COLUMN" in run(command, "--help").stdout


# ── names that nothing knows, in files given together ────────────────────────────────────────


@pytest.fixture
def shop() -> dict[str, str]:
    return {name: data.decode() for name, data in bookshop.files(bookshop.UNKNOWN).items()}


def test_columns_that_add_knows_by_their_values_are_known_to_evaluate(
    run: Recdash, shop: dict[str, str]
) -> None:
    for name, text in shop.items():
        Path(name).write_text(text)
    command = ("evaluate", "--truth", "orders_2026.csv", "--run", "als=als.csv", "--run", "ease=ease.csv")
    read = run(*command, "--train", "orders_2025.csv", "--metrics", "ndcg@5", "--format", "json")
    assert read.exit_code == 0, read.stderr
    assert "note: truth: read as user_id = 'zakaznik', item_id = 'polozka', by the values" in read.stderr
    named = ("--columns", "user_id=zakaznik,item_id=polozka,run:rank=folge")
    chosen = run(*command, "--train", "orders_2025.csv", "--metrics", "ndcg@5", "--format", "json", *named)
    assert json.loads(read.stdout)["scores"] == json.loads(chosen.stdout)["scores"]
    assert "by the values" not in chosen.stderr
    in_python = recdash.evaluate(
        {"als": "als.csv", "ease": pd.read_csv("ease.csv")},
        Path("orders_2026.csv"),
        train="orders_2025.csv",
        metrics="ndcg@5",
    )
    assert list(in_python.rows()) == json.loads(chosen.stdout)["scores"]
    assert "columns-by-values" in [notice.code for notice in in_python.notices()]
    compared = run("compare", *command[1:], "--baseline", "als", "--metric", "ndcg@5")
    assert compared.exit_code == 0, compared.stderr


def test_columns_known_by_their_values_can_be_refused(run: Recdash, shop: dict[str, str]) -> None:
    for name, text in shop.items():
        Path(name).write_text(text)
    command = ("evaluate", "--truth", "orders_2026.csv", "--run", "als=als.csv", "--run", "ease=ease.csv")
    refused = run(*command, "--train", "orders_2025.csv", "--refuse", "columns-by-values")
    assert refused.exit_code == 2
    assert "Files with the notice 'columns-by-values' are refused" in refused.stderr


def test_a_file_that_can_be_read_only_once_is_not_looked_at_again(
    run: Recdash,  # noqa: ARG001 - it sets the working directory
    shop: dict[str, str],
) -> None:
    for name, text in shop.items():
        Path(name).write_text(text)
    with Path("als.csv").open("rb") as als, pytest.raises(InputError, match="no user column"):
        recdash.evaluate({"als": als}, "orders_2026.csv", train="orders_2025.csv", metrics="ndcg@5")


def test_a_column_that_values_do_not_tell_stays_a_problem(run: Recdash) -> None:
    refused = run(*EVALUATE)
    assert refused.exit_code == 2
    assert "no item column; found: uid, shelf_no" in refused.stderr


JOBS = {
    "applications.csv": "candidate_ref,job_ref,applied_at\n"
    + "".join(
        f"C{n},J{n % 7},2026-10-0{1 + n % 9}\nC{n},J{(n + 3) % 7},2026-10-0{1 + n % 9}\n" for n in range(30)
    ),
    "wide.csv": "candidate_ref,rec_1,rec_2,rec_3\n"
    + "".join(f"C{n},J{(n + 1) % 7},J{n % 7},J{(n + 5) % 7}\n" for n in range(30)),
    "lists.jsonl": "".join(
        json.dumps({"candidate_ref": f"C{n}", "job_ref": [f"J{n % 7}", f"J{(n + 1) % 7}"]}) + "\n"
        for n in range(30)
    ),
    "ab.csv": "candidate_ref,variant,device,applications\n"
    + "".join(f"C{n},{'AB'[n % 2]},{'mobile' if n % 3 else 'desktop'},{n % 5}\n" for n in range(60)),
}


@pytest.mark.parametrize(("file", "value"), [("wide.csv", 0.5), ("lists.jsonl", 1.0)])
def test_unknown_columns_are_known_beside_a_single_file_of_lists(
    run: Recdash, folder: Path, file: str, value: float
) -> None:
    for name, text in JOBS.items():
        (folder / name).write_text(text)
    (score,) = as_json(
        run, "evaluate", "--truth", "applications.csv", "--run", f"one={file}", "--metrics", "mrr@3"
    )["scores"]
    assert score["value"] == pytest.approx(value)
    truth = pd.read_csv(folder / "applications.csv")
    result = recdash.evaluate({"one": str(folder / file)}, truth, metrics="mrr@3")
    assert next(result.rows())["value"] == pytest.approx(value)


def test_the_units_of_a_test_alone_are_known_by_their_rows(run: Recdash, folder: Path) -> None:
    (folder / "ab.csv").write_text(JOBS["ab.csv"])
    alone = as_json(run, "online", "--sessions", "ab.csv")
    chosen = as_json(run, "online", "--sessions", "ab.csv", "--columns", "unit_id=candidate_ref")
    assert alone["results"] == chosen["results"]
    assert "columns-by-values" in {notice["code"] for notice in alone["notices"]}
    assert recdash.ab_test(sessions=str(folder / "ab.csv")).control == "A"
    added = run("add", "--experiment", "test", "ab.csv")
    assert added.exit_code == 0, added.stderr
    inspected = run("inspect", "ab.csv")
    assert (inspected.exit_code, "ab.csv: accept" in inspected.stdout) == (0, True)


def test_a_test_of_receipts_names_both_columns_that_may_be_its_units(run: Recdash, folder: Path) -> None:
    rows = (f"R{n * 7919 % 4001},w{n % 200},{'AB'[n % 2]},{n // 200 % 3}\n" for n in range(4000))
    (folder / "ab.csv").write_text("receipt,who,variant,orders\n" + "".join(rows))
    refused = run("online", "--sessions", "ab.csv")
    assert refused.exit_code == 2
    assert "'receipt' or 'who' may hold the users" in refused.stderr
    with pytest.raises(InputError, match="'receipt' or 'who' may hold the users"):
        recdash.ab_test(sessions=str(folder / "ab.csv"))
    chosen = as_json(run, "online", "--sessions", "ab.csv", "--columns", "unit_id=who")
    assert "columns-by-values" not in {notice["code"] for notice in chosen["notices"]}
