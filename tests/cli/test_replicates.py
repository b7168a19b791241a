"""Folds and seeds from a terminal."""

from __future__ import annotations

from pathlib import Path

from terminal import Recdash, as_json

FILES = {
    "truth.csv": "user_id,item_id\nu1,a\nu2,b\nu3,c\nu4,d\n",
    "seed_7.csv": "user_id,item_id\nu1,a\nu2,x\nu3,c\nu4,x\n",
    "seed_42.csv": "user_id,item_id\nu1,a\nu2,b\nu3,c\nu4,x\n",
    "folds.csv": "user_id,item_id,fold\nu1,a,1\nu2,x,1\nu3,c,2\n",
    "pop.csv": "user_id,item_id\nu1,a\nu2,a\nu3,a\nu4,a\n",
}
EVALUATE = ("evaluate", "--truth", "truth.csv", "--metrics", "recall@1")
SEEDS = ("--run", "als=seed_7.csv", "--run", "als=seed_42.csv")


def test_files_under_one_name_are_the_seeds_of_one_candidate(run: Recdash) -> None:
    result = as_json(run, *EVALUATE, *SEEDS)
    assert [(row["run"], row["value"]) for row in result["scores"]] == [("als", (2 / 4 + 3 / 4) / 2)]
    keys = ("run", "replicate", "kind", "value", "n_users")
    assert [tuple(row[key] for key in keys) for row in result["replicates"]] == [
        ("als", "7", "seeds", 2 / 4, 4),
        ("als", "42", "seeds", 3 / 4, 4),
    ]


def test_the_text_says_how_far_replicates_lie_apart(run: Recdash) -> None:
    result = run(*EVALUATE, *SEEDS, "--run", "pop=pop.csv")
    spread = result.stdout[result.stdout.index("spread over") :].splitlines()[1]
    assert spread.split() == ["als", "recall@1", "2", "seeds", "0.500", "0.750"]
    assert "2 seeds of one candidate over the same users: 7, 42" in result.stderr


def test_of_a_whole_curve_the_spread_is_told_at_one_cutoff(run: Recdash) -> None:
    result = run("evaluate", "--truth", "truth.csv", "--metrics", "recall", "--depth", "3", *SEEDS)
    spread = result.stdout[result.stdout.index("spread over") :].splitlines()[1:]
    assert [line.split()[1] for line in spread] == ["recall@3"]


def test_a_column_of_folds_is_read_as_folds(run: Recdash) -> None:
    result = as_json(run, *EVALUATE, "--run", "knn=folds.csv")
    assert [row["value"] for row in result["scores"]] == [2 / 4]
    assert [(row["replicate"], row["value"], row["n_users"]) for row in result["replicates"]] == [
        ("1", 1 / 2, 2), ("2", 1.0, 1),
    ]  # fmt: skip


def test_what_replicates_are_may_be_said(run: Recdash) -> None:
    found = as_json(run, *EVALUATE, "--run", "knn=folds.csv", "--replicates", "seeds")
    assert [row["value"] for row in found["scores"]] == [(1 / 4 + 1 / 4) / 2]
    result = run(*EVALUATE, *SEEDS, "--replicates", "folds")
    assert result.exit_code == 2
    assert "4 users, such as 'u1', have lists in several folds" in result.stderr


def test_files_that_are_called_alike_by_chance_are_refused(run: Recdash, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pop.csv").write_text(FILES["pop.csv"])
    result = run(*EVALUATE, "--run", "pop.csv", "--run", "other/pop.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'pop' names two candidates" in result.stderr


def test_without_replicates_there_is_no_word_of_them(run: Recdash) -> None:
    assert "replicates" not in as_json(run, *EVALUATE, "--run", "pop.csv")
    assert "spread" not in run(*EVALUATE, "--run", "pop.csv").stdout


def test_seeds_are_added_as_one_run_and_listed_with_their_number(run: Recdash) -> None:
    add = ("add", "--experiment", "Films", "--truth", "truth.csv", *SEEDS, "--run", "knn=folds.csv")
    result = run(*add, "--run", "pop=pop.csv")
    assert result.stdout.splitlines() == ["als: added", "knn: added", "pop: added"]
    assert run(*add).stdout.splitlines() == ["als: already stored", "knn: already stored"]
    lines = [line.strip() for line in run("list").stdout.splitlines()]
    assert lines[1:] == [
        "als (2 seeds, 0 users without recommendations)",
        "knn (2 folds, 1 users without recommendations)",
        "pop (0 users without recommendations)",
    ]
    (films,) = as_json(run, "list")["experiments"]
    assert [row["replicates"] for row in films["runs"]] == [
        {"n": 2, "kind": "seeds", "noun": "seed", "labels": ["7", "42"]},
        {"n": 2, "kind": "folds", "noun": "fold", "labels": ["1", "2"]},
        None,
    ]


def test_seeds_are_compared_by_the_users_means(run: Recdash) -> None:
    result = as_json(
        run, "compare", "--truth", "truth.csv", *SEEDS, "--run", "pop=pop.csv", "--baseline", "pop",
        "--metric", "recall@1",
    )  # fmt: skip
    (pair,) = result["pairs"]
    # users' means 1, 1/2, 1, 0 against 1, 0, 0, 0
    assert (pair["candidate"], pair["mean_diff"], pair["wins"]) == ("als", 1.5 / 4, 2)


def test_what_replicates_are_may_be_said_to_a_comparison_too(run: Recdash) -> None:
    result = run(
        "compare", "--truth", "truth.csv", *SEEDS, "--replicates", "folds", "--run", "pop=pop.csv",
        "--baseline", "pop",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "have lists in several folds" in result.stderr
