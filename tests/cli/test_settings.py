"""The decision rules of an experiment from a terminal, and what compares by them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from terminal import Fill, Recdash, answer, as_json

from recdash.comparison.rules import USUAL, DecisionRules
from recdash.metrics.naming import GUARDRAILS
from recdash.service.rules import Rules

USERS = 60


def lists(first_hit: int) -> str:
    """Every user's own item at rank 2; of those from ``first_hit`` on at rank 1."""
    rows = [
        f"u{user},i{user},{1 if user >= first_hit else 2}\nu{user},x,{2 if user >= first_hit else 1}"
        for user in range(USERS)
    ]
    return "user_id,item_id,rank\n" + "\n".join(rows) + "\n"


FILES = {
    "truth.csv": "user_id,item_id\n" + "".join(f"u{user},i{user}\n" for user in range(USERS)),
    "train.csv": "user_id,item_id\n" + "".join(f"u{user},x\n" for user in range(1, USERS, 2)),
    "als.csv": lists(20),
    "popular.csv": lists(40),
    "few.csv": "user_id,item_id,rank\nu0,i0,1\n",
}


@pytest.fixture
def films(run: Recdash, filled: Fill) -> Recdash:
    def fill() -> None:
        added = run(
            "add", "--experiment", "Films", "--truth", "truth.csv", "--train", "train.csv",
            "--run", "als=als.csv", "--run", "popular=popular.csv",
        )  # fmt: skip
        assert added.exit_code == 0, added.output

    filled(fill)
    return run


def test_an_experiment_shows_the_usual_rules_and_a_suggested_baseline(films: Recdash) -> None:
    shown = as_json(films, "settings", "Films")
    assert shown.pop("recommendation").startswith("Ship als")
    assert shown == {
        "experiment": "Films", "baseline": "popular", "baseline_chosen": False, "metric": "ndcg", "k": 10,
        "margin": "1%", "preset": "usual", "guardrails": dict.fromkeys(GUARDRAILS, 0.2), "owner": "",
        "two_people": False, "relevance_threshold": None, "depth": 100,
    }  # fmt: skip
    text = films("settings", "Films").stdout
    assert "popular (suggested; none is chosen)" in text
    assert "nDCG@10" in text
    assert "1% of the baseline's value" in text
    assert "fixed when the experiment was created" in text


def test_what_is_given_is_set_and_the_rest_stays(films: Recdash) -> None:
    first = (
        "--baseline",
        "als",
        "--metric",
        "recall@1",
        "--margin",
        "0.002",
        "--owner",
        "Ann",
        "--preset",
        "strict",
    )
    films("settings", "Films", *first)
    films("settings", "Films", "--guardrail", "coverage=30%", "--no-guardrail", "gini")
    shown = as_json(films, "settings", "Films")
    assert (shown["baseline"], shown["baseline_chosen"]) == ("als", True)
    assert (shown["metric"], shown["k"], shown["margin"], shown["owner"]) == ("recall", 1, "0.002", "Ann")
    strict = dict.fromkeys(GUARDRAILS, 0.1) | {"coverage": 0.3}
    del strict["gini"]
    assert (shown["preset"], shown["guardrails"]) == ("custom", strict)
    films("settings", "Films", "--preset", "none", "--owner", "")
    shown = as_json(films, "settings", "Films")
    assert (shown["preset"], shown["guardrails"], shown["owner"], shown["k"]) == ("none", {}, "", 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--baseline", "alz"), "No run is called 'alz'. Did you mean 'als'?"),
        (("--margin", "?", "--k", "200"), "2 problems"),
        (("--guardrail", "coverage"), "Write METRIC=SHARE"),
        (("--guardrail", "coverage=20"), "from 0% to 100%"),
        (("--guardrail", "coverag=20%"), "No guardrail is called 'coverag'"),
        (("--no-guardrail", "novelti"), "Did you mean 'novelty'?"),
        (("--metric", "recall@5", "--k", "10"), "Write the cutoff once"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_changes(
    films: Recdash, options: tuple[str, ...], words: str
) -> None:
    before = as_json(films, "settings", "Films")
    refused = films("settings", "Films", "--owner", "Ann", *options)
    assert refused.exit_code == 2
    assert words in refused.stderr
    assert as_json(films, "settings", "Films") == before


def test_a_comparison_takes_what_is_not_given_from_the_settings(films: Recdash) -> None:
    films("settings", "Films", "--baseline", "als", "--metric", "recall@1", "--margin", "90%")
    compared = as_json(films, "compare", "--experiment", "Films")
    assert (compared["baseline"], compared["metric"], compared["k"]) == ("als", "recall", 1)
    assert [(pair["candidate"], pair["finding"]) for pair in compared["pairs"]] == [("popular", "tie")]
    asked = as_json(
        films,
        "compare",
        "--experiment",
        "Films",
        "--baseline",
        "popular",
        "--metric",
        "ndcg@2",
        "--margin",
        "1%",
    )
    assert (asked["baseline"], asked["metric"], asked["k"]) == ("popular", "ndcg", 2)
    assert [pair["finding"] for pair in asked["pairs"]] == ["better"]


def test_of_files_a_name_can_say_which_is_the_baseline(run: Recdash) -> None:
    files = ("--truth", "truth.csv", "--run", "als=als.csv", "--metric", "ndcg@2")
    compared = run("compare", *files, "--run", "popular=popular.csv", "--format", "json")
    assert answer(compared)["baseline"] == "popular"
    assert "'popular' is the baseline because of its name" in compared.stderr
    refused = run("compare", *files, "--run", "few=few.csv")
    assert refused.exit_code == 2
    assert "no baseline. Add --baseline NAME, one of als, few." in refused.stderr


def test_a_run_is_completed_with_popular_items(films: Recdash) -> None:
    """few serves one user of 60, all others get x or, who has x, nothing new."""
    films("add", "--experiment", "Films", "--run", "few=few.csv")
    added = films("add", "--experiment", "Films", "--fallback-for", "few")
    assert added.stdout.splitlines()[0] == "few + popular for the rest: added"
    refused = films("add", "--experiment", "Films", "--fallback-for", "als")
    assert refused.exit_code == 2
    assert "every user has a list" in refused.stderr


@pytest.mark.parametrize("how", [("--run", "few=few.csv"), ("few.csv",)])
def test_a_run_that_cannot_be_completed_leaves_the_new_ones_unstored(
    films: Recdash, how: tuple[str, ...]
) -> None:
    completed = ("--fallback-for", "few", "--fallback-for", "als")
    refused = films("add", "--experiment", "Films", *how, *completed)
    assert refused.exit_code == 2
    assert "every user has a list" in refused.stderr
    done = films("add", "--experiment", "Films", *how, *completed[:2])
    assert done.stdout.splitlines()[-2:] == ["few: added", "few + popular for the rest: added"]


def test_a_rule_that_another_writer_sets_meanwhile_survives(
    films: Recdash, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command reads the rules; another process sets the margin; then the command sets the owner."""
    read = Rules.of

    def read_before(rules: Rules, experiment_id: str) -> DecisionRules:
        monkeypatch.setattr(Rules, "of", read)
        before = rules.of(experiment_id)
        rules.set(experiment_id, replace(USUAL, margin="5%"))
        return before

    monkeypatch.setattr(Rules, "of", read_before)
    rules = as_json(films, "settings", "Films", "--owner", "Ann")
    assert (rules["margin"], rules["owner"]) == ("5%", "Ann")
