"""``recdash compare``: pairs and a verdict, the same from files, from a store and from Python."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from terminal import Recdash, answer

import recdash
from recdash.comparison import ComparisonQuery, Margin, Terms
from recdash.domain.results import Scope
from recdash.service import Workspace

PAIR_KEYS = {
    "baseline", "candidate", "n_users", "mean_diff", "ci_low", "ci_high", "t_p", "wilcoxon_p",
    "permutation_p", "t_p_holm", "wins", "ties", "losses",
}  # fmt: skip
USERS = 60


def lists(share_found: float, seed: int) -> str:
    """Of each user the one held-out item, at rank 1 for so many of the users, else at rank 3."""
    rng = np.random.default_rng(seed)
    lines = ["user_id,item_id,rank"]
    for user in range(USERS):
        first = rng.random() < share_found
        items = [f"i{user}", "x", "y"] if first else ["x", "y", f"i{user}"]
        lines += [f"u{user},{item},{rank}" for rank, item in enumerate(items, start=1)]
    return "\n".join(lines)


FILES = {
    "truth.csv": "user_id,item_id\n" + "\n".join(f"u{user},i{user}" for user in range(USERS)),
    "train.csv": "user_id,item_id\n" + "\n".join(f"u{user},x" for user in range(0, USERS, 2)),
    "old.csv": lists(0.2, 1),
    "new.csv": lists(0.8, 2),
    "other.csv": lists(0.75, 3),
}


@pytest.fixture
def call(run: Recdash) -> Recdash:
    return partial(run, "compare")


RUNS = ("--run", "old=old.csv", "--run", "new=new.csv", "--run", "other=other.csv")
FROM_FILES = ("--truth", "truth.csv", *RUNS, "--baseline", "old", "--metric", "ndcg@3")


def test_every_pair_is_answered_the_baseline_first(call: Recdash) -> None:
    result = answer(call(*FROM_FILES, "--format", "json"))
    pairs = [(pair["baseline"], pair["candidate"]) for pair in result["pairs"]]
    assert pairs == [("old", "new"), ("old", "other"), ("new", "other")]
    assert all(pair.keys() >= PAIR_KEYS for pair in result["pairs"])
    assert result["verdict"].keys() == {"state", "run", "headline", "text", "why", "risks"}
    assert [case["candidate"] for case in result["candidates"]] == ["new", "other"]
    assert result["offline"].keys() == {"state", "run", "text"}


def test_the_mean_difference_is_that_of_the_lists(call: Recdash) -> None:
    """A hit at rank 1 is worth 1, at rank 3 1/log2(4) = 0.5."""
    mean = {
        name: np.mean([1.0 if f"u{user},i{user},1" in FILES[f"{name}.csv"] else 0.5 for user in range(USERS)])
        for name in ("old", "new", "other")
    }
    for pair in answer(call(*FROM_FILES, "--format", "json"))["pairs"]:
        assert pair["mean_diff"] == pytest.approx(mean[pair["candidate"]] - mean[pair["baseline"]])
        assert pair["n_users"] == USERS
        assert pair["wins"] + pair["ties"] + pair["losses"] == USERS


def test_the_verdict_ships_the_best_and_names_its_rival(call: Recdash) -> None:
    result = answer(call(*FROM_FILES, "--format", "json"))
    verdict = result["verdict"]
    assert (verdict["state"], verdict["run"]) == ("ship", "new")
    assert verdict["text"].startswith("Ship new. nDCG@3 is ")
    assert "other is not significantly different from new." in verdict["text"]
    assert "Not separable from other (difference " in result["offline"]["text"]


def test_the_text_is_the_verdict_and_one_line_per_pair(call: Recdash) -> None:
    result = call(*FROM_FILES)
    recommended, evidence, cases, table, *_ = result.stdout.split("\n\n")
    assert recommended.startswith("Ship new. ")
    assert evidence.startswith("nDCG@3 is ")
    assert "paired over 60 users" in evidence
    assert [line.split()[0] for line in cases.splitlines()] == ["candidate", "new", "other"]
    head, *lines = table.splitlines()
    titles = ["candidate", "baseline", "difference", "CI", "p", "p, Holm", "finding", "users"]
    assert head.split() == " ".join(titles).split()
    assert [line.split()[:2] for line in lines[:3]] == [["new", "old"], ["other", "old"], ["other", "new"]]
    lines = result.stdout.splitlines()
    message = "CI and the second p are corrected by Holm over 2 differences from the baseline."
    assert lines[-1] == message
    assert [line.split(":")[0] for line in lines if "known to test set" in line] == ["old", "new", "other"]


def test_a_wide_margin_makes_a_tie(call: Recdash) -> None:
    """No user can differ by more than 0.5, so a margin of 0.6 holds everything."""
    result = answer(call(*FROM_FILES, "--margin", "0.6", "--format", "json"))
    assert (result["verdict"]["state"], result["offline"]["state"]) == ("keep", "tie")
    assert {pair["finding"] for pair in result["pairs"]} == {"tie"}


def test_without_correction_the_interval_is_the_plain_one(call: Recdash) -> None:
    text = call(*FROM_FILES, "--correction", "off").stdout
    assert "corrected" not in text


def test_files_store_and_python_say_the_same(call: Recdash, folder: Path) -> None:
    space = Workspace.open()
    made = space.experiments.create("Films", folder / "truth.csv", train=folder / "train.csv")
    ids = {
        name: space.runs.add(made.id, folder / f"{name}.csv")[0].run.id for name in ("old", "new", "other")
    }
    from_files = answer(call(*FROM_FILES, "--train", "train.csv", "--format", "json"))
    stored = ("--experiment", "Films", "--baseline", "old", "--metric", "ndcg@3", "--format", "json")
    assert answer(call(*stored)) == from_files
    in_python = space.comparisons.compare(
        ComparisonQuery(tuple(ids.values()), ids["old"], "ndcg", 3)
    ).as_dict()
    assert json.loads(json.dumps(in_python)) == from_files
    runs = {name: folder / f"{name}.csv" for name in ids}
    scored = recdash.evaluate(runs, folder / "truth.csv", train=folder / "train.csv")
    assert json.loads(json.dumps(scored.compare("ndcg@3", "old").as_dict())) == from_files


def test_some_of_the_stored_runs_can_be_named(call: Recdash, folder: Path) -> None:
    space = Workspace.open()
    made = space.experiments.create("Films", folder / "truth.csv")
    for name in ("old", "new", "other"):
        space.runs.add(made.id, folder / f"{name}.csv")
    options = ("--experiment", "Films", "--baseline", "old", "--run", "new", "--metric", "ndcg@3")
    result = answer(call(*options, "--format", "json"))
    assert [(pair["baseline"], pair["candidate"]) for pair in result["pairs"]] == [("old", "new")]


def test_a_slice_of_the_stored_users_is_compared_alone(call: Recdash, folder: Path) -> None:
    space = Workspace.open()
    made = space.experiments.create("Films", folder / "truth.csv", train=folder / "train.csv")
    ids = [space.runs.add(made.id, folder / f"{name}.csv")[0].run.id for name in ("old", "new")]
    options = ("--experiment", "Films", "--baseline", "old", "--metric", "ndcg@3", "--format", "json")
    (pair,) = answer(call(*options, "--slice", "user_warmth=cold"))["pairs"]
    assert pair["n_users"] == USERS / 2
    scope = Scope(slice="user_warmth=cold")
    in_python = space.comparisons.pairs(ComparisonQuery(tuple(ids[1:]), ids[0], "ndcg", 3, scope=scope))
    assert pair["mean_diff"] == pytest.approx(in_python["mean_diff"].item())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--baseline", "old"), "neither --truth nor --experiment"),
        (("--truth", "truth.csv", "--experiment", "Films", *RUNS, "--baseline", "old"), "both --truth and"),
        (("--truth", "truth.csv", "--baseline", "old"), "no candidate"),
        (("--truth", "truth.csv", *RUNS, "--baseline", "odl"), "No run is called 'odl'. Did you mean 'old'?"),
        ((*FROM_FILES[:-1], "ndcg"), "no cutoff to compare at. Write ndcg@10"),
        ((*FROM_FILES[:-1], "coverage@3"), "it is a catalogue-level metric and has no value per user"),
        ((*FROM_FILES[:-1], "ndgc@3"), "Did you mean 'ndcg'?"),
        ((*FROM_FILES, "--margin", "little"), "margin: 'little'. Write 1%"),
        ((*FROM_FILES, "--margin", "1000%"), "'1000%' is more than 100 %"),
        ((*FROM_FILES, "--slice", "user_warmth=cold"), "--slice: with files"),
        (("--experiment", "Flims", "--baseline", "old"), "No experiment is called 'Flims'"),
        (("--experiment", "Films", "--baseline", "old", "--users", "both"), "--users: with --experiment."),
        (("--experiment", "Films", "--baseline", "old", *RUNS), "--run old=old.csv, --run new=new.csv"),
    ],
)
def test_what_cannot_be_compared_says_what_to_do(
    call: Recdash, arguments: tuple[str, ...], words: str
) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_nothing_beside_the_baseline_is_refused(call: Recdash) -> None:
    result = call("--truth", "truth.csv", "--run", "old=old.csv", "--baseline", "old", "--metric", "ndcg@3")
    assert result.exit_code == 2
    assert "no candidate besides 'old'. Add a candidate with --run." in result.stderr


def test_what_a_finding_rests_on_is_in_the_json(call: Recdash) -> None:
    result = answer(call(*FROM_FILES, "--format", "json"))
    assert (result["correction"], result["families"]) == ("holm", {"to the baseline": 2, "other pairs": 1})
    to_baseline = sorted(result["pairs"][:2], key=lambda pair: pair["p"])
    assert to_baseline[0]["p_corrected"] == pytest.approx(2 * to_baseline[0]["p"])
    assert to_baseline[0]["p_corrected"] <= 0.05  # so that Holm holds the second against the whole 5 %
    assert [pair["ci_corrected_level"] for pair in to_baseline] == pytest.approx([0.975, 0.95])
    (other,) = result["pairs"][2:]
    assert other["ci_corrected_level"] == result["level"] == 0.95
    assert other["p_corrected"] == other["p"]
    assert (other["ci_corrected_low"], other["ci_corrected_high"]) == (other["ci_low"], other["ci_high"])


def test_terms_are_told_from_python_too(folder: Path) -> None:
    runs = {name: folder / f"{name}.csv" for name in ("old", "new")}
    scored = recdash.evaluate(runs, folder / "truth.csv", metrics="ndcg@3")
    result = scored.compare("ndcg@3", "old", Terms(margin=Margin(0.6, relative=False), correction="off"))
    assert (result.verdict.state, result.verdict.offline.state) == ("keep", "tie")
    assert result.table()["margin"].tolist() == [0.6]
