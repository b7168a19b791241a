"""``recdash review``, ``decide`` and ``decisions``: the way of a candidate from a terminal."""

from __future__ import annotations

import re
from typing import Any

import pytest
from decision_worlds import checkout, films, home_page
from terminal import Fill, Recdash, as_json

from recdash.service import Workspace

FILES: dict[str, str] = {}
FILMS = ("--experiment", "films")


@pytest.fixture
def output(run: Recdash, filled: Fill) -> Any:
    """``output("decide", "--run", …)``: what a call about the films says, which are stored."""

    def fill() -> None:
        space = Workspace.open()
        films(space)
        space.store.close()

    filled(fill)

    def call(*words: str, fails: bool = False) -> str:
        *command, rest = (words[0], words[1:]) if words[0] != "review" else (*words[:2], words[2:])
        result = run(*command, *FILMS, *rest)
        assert result.exit_code == (2 if fails else 0), result.output
        return str(result.stderr if fails else result.stdout)

    return call


def test_a_candidate_goes_its_way(output: Any, run: Recdash) -> None:
    space = Workspace.open()
    home = space.experiments.named("films").id
    home_page(space, {"films": home, **{row.name: row.id for row in space.runs.all(home)}})
    space.store.close()
    steps = [
        output("review", "propose", "--run", "als", "--text", "Trains in minutes."),
        output("review", "offline"),
        output("review", "online", "--test", "home page", "--author", "Mary"),
    ]
    assert [re.sub(r" \(\w{10}\)\n", "", step) for step in steps] == [
        "als: proposed", "als: offline evidence", "als: online evidence",
    ]  # fmt: skip
    message = output(
        "decide", "--outcome", "ship", "--review", "als", "--text", "Ship it.", "--author", "Mary"
    )
    assert message.startswith("Ship: als (")
    (review,) = as_json(run, "review", "show", *FILMS)["reviews"]
    assert (review["state"], review["run"], review["next"]) == ("approved", "als", None)
    assert {row["name"]: row["state"] for row in review["checklist"]} == dict.fromkeys(
        ("Gain", "Guardrails", "Split of users", "Slices", "Agreement"), "holds"
    )
    (decision,) = as_json(run, "decisions", *FILMS)["decisions"]
    assert (decision["outcome"], decision["author"], decision["review"]) == ("ship", "Mary", review["id"])


def test_a_decision_comes_with_its_numbers_as_json(output: Any, run: Recdash) -> None:
    output("decide", "--outcome", "needs-ab", "--run", "ease", "--metric", "recall@2", "--text", "Not yet.")
    (result,) = as_json(run, "decisions", *FILMS)["decisions"]
    assert (result["outcome"], result["run"], result["metric"]) == ("needs A/B", "ease", "Recall@2")
    ease = result["offline"]["subject"]["run"]["id"]
    (pair,) = [row for row in result["offline"]["pairs"] if row["candidate"] == ease and row["wins"] == 20]
    assert (pair["value"], pair["base_value"], pair["n"], pair["word"]) == (3 / 8, 1 / 8, 80, "better")
    assert result["provenance"]["versions"]["recdash"]


def test_approving_without_a_test_says_what_is_not_known_and_needs_a_reason(output: Any) -> None:
    output("review", "propose", "--run", "als")
    words = ("decide", "--outcome", "ship", "--review", "als", "--text", "Ship it.")
    assert "no A/B test" not in output(*words, fails=True)
    assert (
        "gain over the baseline, guardrails, split of users in the A/B test, segments of users"
        " and agreement of offline and online are not known yet" in output(*words, fails=True)
    )
    assert output(*words, "--although", "No time.").startswith("Ship: als")


def test_the_last_decision_is_superseded_and_stays_listed(output: Any) -> None:
    output("decide", "--outcome", "ship", "--run", "als", "--text", "Yes.")
    output("decide", "--outcome", "do-not-ship", "--supersedes", "last", "--text", "It breaks\nsearch.")
    first, second = output("decisions").splitlines()[1:]
    assert re.search(r"Don't ship +als +\w.* yes +It breaks search\.$", first)
    assert re.search(r"Ship +als +.* no: \w{10} +Yes\.$", second)
    assert first.split()[0] in second


def test_comments_stand_in_the_review(output: Any, run: Recdash) -> None:
    output("review", "propose", "--run", "als")
    output("review", "comment", "--text", "Good.", "--author", "Bob")
    (review,) = as_json(run, "review", "show", *FILMS, "--review", "als")["reviews"]
    assert [(comment["author"], comment["text"]) for comment in review["comments"]] == [("Bob", "Good.")]
    assert "als: proposed" in output("review", "show")
    assert "Next: Attach the offline evidence" in output("review", "show")


def test_a_name_or_a_reason_from_elsewhere_moves_no_terminal(output: Any) -> None:
    """Such a name is refused today; an older store may hold one."""
    space = Workspace.open()
    home = space.experiments.named("films").id
    (als,) = (stored_run.id for stored_run in space.runs.all(home) if stored_run.name == "als")
    space.store.runs.update(als, name="als\x1b[2J\x9b31m")
    review = space.reviews.propose(home, als)
    space.decisions.decide(home, "do not ship", about=review.id, text="No.\n\x1b]0;x\x07Never.")
    space.store.close()
    for message in (output("review", "show"), output("decisions")):
        assert "[2J" in message
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", message)


def test_an_experiment_without_decisions_says_so(output: Any) -> None:
    assert output("decisions") == "'films' has no decision yet.\n"
    assert output("review", "show") == "'films' has no review yet.\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("decide", "--outcome", "ship", "--text", "Yes."), "no run is named"),
        (("decide", "--outcome", "ship", "--run", "moon", "--text", "Yes."), "No run is called 'moon'"),
        (("decide", "--outcome", "ship", "--run", "als", "--text", " "), "the text is empty"),
        (("decide", "--outcome", "ship", "--review", "als", "--text", "Yes."), "No review is called 'als'"),
        (("decide", "--outcome", "ship", "--supersedes", "last", "--text", "Y"), "no decision to replace"),
        (
            ("decide", "--outcome", "ship", "--run", "als", "--test", "t", "--text", "Yes."),
            "--test needs --variant",
        ),
        (
            ("decide", "--outcome", "ship", "--variant", "B", "--metric", "ndcg@10", "--text", "Yes."),
            "--metric is of a decision on a run",
        ),
        (
            ("decide", "--outcome", "ship", "--variant", "B", "--baseline", "als", "--text", "Yes."),
            "--baseline is of a decision on a run",
        ),
        (("review", "propose"), "either --run or --variant"),
        (("review", "offline"), "No review is open"),
        (("review", "propose", "--run", "popular"), "it is the baseline itself"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_words(output: Any, words: tuple[str, ...], reason: str) -> None:
    assert reason in output(*words, fails=True)


def test_two_people_propose_and_decide_if_the_settings_say_so(output: Any, run: Recdash) -> None:
    assert run("settings", "films", "--two-people").exit_code == 0
    assert "decided by another person than proposes" in run("settings", "films", "--owner", "Ann").stdout
    alone = output("decide", "--outcome", "ship", "--run", "als", "--text", "Yes.", fails=True)
    assert "Propose the candidate for a review." in alone
    output("review", "propose", "--run", "als", "--author", "Mary")
    words = ("decide", "--outcome", "ship", "--review", "als", "--text", "Yes.", "--although", "So.")
    assert "Ask another editor to decide." in output(*words, "--author", "Mary", fails=True)
    assert output(*words, "--author", "Bob").startswith("Ship: als (")
    assert as_json(run, "settings", "films", "--no-two-people")["two_people"] is False


def test_a_variant_is_decided_on_where_no_run_is_stored(run: Recdash, filled: Fill) -> None:
    def fill() -> None:
        space = Workspace.open()
        checkout(space)
        space.store.close()

    filled(fill)
    words = ("--experiment", "shop", "--variant", "B", "--test", "checkout", "--text", "More watch time.")
    result = run("decide", *words, "--outcome", "ship")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Ship: B (")
    (decision,) = as_json(run, "decisions", "--experiment", "shop")["decisions"]
    assert (decision["run"], decision["variant"], decision["metric"]) == (None, "B", "A/B test checkout")
    again = run("decide", *words, "--outcome", "needs-ab")
    assert "'B' is in an A/B test already" in again.output
    shop = ("--experiment", "shop")
    proposed = run("review", "propose", *shop, "--variant", "B")
    assert proposed.stdout.startswith("B: proposed ("), proposed.output
    assert "next: Attach the results of checkout." in proposed.stderr
    assert run("review", "online", *shop).stdout.startswith("B: online evidence (")
    assert "Lift over the control" in run("review", "show", *shop).stdout
    (shown,) = as_json(run, "review", "show", *shop)["reviews"]
    assert (shown["run"], shown["variant"], len(shown["checklist"])) == ("B", "B", 5)
    words = ("--outcome", "ship", "--text", "More.", "--although", "It was planned.")
    assert run("decide", *shop, "--review", "B", *words).stdout.startswith("Ship: B (")


def test_a_decision_on_a_variant_of_a_deleted_test_is_replaced(run: Recdash, filled: Fill) -> None:
    def fill() -> None:
        space = Workspace.open()
        test = checkout(space)
        space.decisions.decide(test.experiment, "ship", variant="B", text="More watch time.")
        space.online_tests.delete(test.id, "checkout")
        space.store.close()

    filled(fill)
    words = ("--experiment", "shop", "--supersedes", "last", "--text", "The test is gone.")
    result = run("decide", *words, "--outcome", "do-not-ship")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("Don't ship: B (")
