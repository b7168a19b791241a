"""The gate: what rules say, and when they hold, fail or stay undecided."""

from __future__ import annotations

from collections.abc import Iterator
from math import log2, nan, sqrt
from pathlib import Path
from typing import Any

import gate_files
import pandas as pd
import pytest
from decision_worlds import films, home_page
from scipy.stats import norm

import recdash
from recdash.decisions.gate import GateResult, RuleResult, read_rule, read_rules
from recdash.decisions.gate.result import judged
from recdash.decisions.gate.rules import level_of_each
from recdash.errors import InputError, UnknownName
from recdash.service import Workspace
from recdash.store import open_store


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("gate")
    gate_files.write(home)
    return home


def judge(folder: Path, candidate: str, *rules: str, **options: Any) -> GateResult:
    files = {name: folder / f"{name}.csv" for name in ("live", candidate)}
    catalogue = folder / "catalogue.csv"
    return recdash.gate(
        {"live": files["live"]},
        {candidate: files[candidate]},
        folder / "truth.csv",
        rules=rules,
        catalogue=catalogue,
        **options,
    )


# ── rules ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10 >= -0.5%", ("ndcg@10", False, True, -0.005, True)),
        ("  ndcg(gain=exp)@10>=-.5% ", ("ndcg(gain=exp)@10", False, True, -0.005, True)),
        ("recall@20 ≥ −0.002", ("recall@20", False, True, -0.002, False)),
        ("rmse <= 1%", ("rmse", False, False, 0.01, True)),
        ("online.conversion >= 0", ("conversion", True, True, 0.0, False)),
        ("online.revenue >= +2 %", ("revenue", True, True, 0.02, True)),
    ],
)
def test_a_rule_is_read(text: str, expected: tuple[Any, ...]) -> None:
    rule = read_rule(text)
    assert (rule.metric, rule.online, rule.at_least, pytest.approx(rule.margin), rule.relative) == expected


@pytest.mark.parametrize("text", ["ndcg@10 >= -0.5%", "rmse <= 1%", "online.conversion >= 0", "a >= 0.25"])
def test_a_rule_is_read_again_from_its_text(text: str) -> None:
    assert read_rule(str(read_rule(text))) == read_rule(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "ndcg@10", "ndcg@10 > -1%", "ndcg@10 >= x", ">= 1%", "online. >= 0", "a >= -100%",
        f"a >= -{'9' * 400}",
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read_rule(text)
    assert refused.value.problems[0].code == "bad-rule"


def test_all_bad_rules_are_named_together() -> None:
    with pytest.raises(InputError) as refused:
        read_rules(["a > 1", "b >= 0", "c = 2"])
    assert [problem.found for problem in refused.value.problems] == ["'a > 1'", "'c = 2'"]


@pytest.mark.parametrize(
    ("texts", "code"),
    [([], "no-rule"), (["a >= 0", "a >= -1%"], "rule-twice"), (["a >= 0"] * 101, "many-rules")],
)
def test_rules_that_make_no_gate_are_refused(texts: list[str], code: str) -> None:
    with pytest.raises(InputError) as refused:
        read_rules(texts)
    assert refused.value.problems[0].code == code


def test_a_metric_may_be_bounded_from_both_sides() -> None:
    assert len(read_rules(["gini@10 >= -5%", "gini@10 <= 5%"])) == 2


def test_the_level_of_each_interval_is_bonferronis() -> None:
    assert level_of_each(read_rules(["a >= 0"])) == pytest.approx(0.95)
    assert level_of_each(read_rules(["a >= 0", "b >= 0", "c >= 0", "d >= 0"])) == pytest.approx(0.9875)


# ── the outcome of an interval ───────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("rule", "low", "high", "outcome"),
    [
        ("a >= -1%", -0.009, 0.02, "holds"),
        ("a >= -1%", -0.01, 0.02, "inconclusive"),
        ("a >= -1%", -0.03, -0.01, "inconclusive"),
        ("a >= -1%", -0.03, -0.011, "fails"),
        ("a <= 1%", -0.03, 0.009, "holds"),
        ("a <= 1%", -0.03, 0.01, "inconclusive"),
        ("a <= 1%", 0.011, 0.03, "fails"),
        ("a >= 0", nan, nan, "inconclusive"),
    ],
)
def test_the_whole_interval_must_be_on_one_side_of_the_margin(
    rule: str, low: float, high: float, outcome: str
) -> None:
    result = judged(RuleResult(read_rule(rule), "A", 1.0, 1.0, 0.0, low, high))
    assert result.outcome == outcome


@pytest.mark.parametrize(
    ("outcomes", "inconclusive", "verdict", "code"),
    [
        (["holds", "holds"], "fail", "pass", 0),
        (["holds", "inconclusive"], "fail", "inconclusive", 1),
        (["holds", "inconclusive"], "pass", "inconclusive", 0),
        (["inconclusive", "fails"], "pass", "fail", 1),
        (["holds", "not judged"], "pass", "fail", 1),
    ],
)
def test_the_verdict_follows_from_all_rules(
    outcomes: list[Any], inconclusive: Any, verdict: str, code: int
) -> None:
    rules = tuple(RuleResult(read_rule("a >= 0"), "A", 1, 1, outcome=outcome) for outcome in outcomes)
    result = GateResult("b", "c", rules, 0.975, inconclusive)
    assert (result.verdict, result.exit_code, result.passed) == (verdict, code, code == 0)


# ── files ────────────────────────────────────────────────────────────────────────────────────


def test_a_better_candidate_passes_and_the_numbers_are_those_of_the_lists(folder: Path) -> None:
    """300 of 400 users find their item at rank 1 with the baseline, 330 with the candidate."""
    result = judge(folder, "new", "ndcg@2 >= -1%", "hit_rate@1 >= -0.01")
    ndcg, hits = result.rules
    assert (result.verdict, result.exit_code) == ("pass", 0)
    assert (hits.base_value, hits.value, hits.n) == (300 / 400, 330 / 400, 400)
    assert hits.difference == pytest.approx(30 / 400)
    assert ndcg.difference == pytest.approx(ndcg.value / ndcg.base_value - 1)
    assert -0.01 < ndcg.low < ndcg.difference < ndcg.high
    assert -0.01 < hits.low < hits.difference < hits.high


def test_a_candidate_far_below_fails_and_the_metric_is_named(folder: Path) -> None:
    result = judge(folder, "bad", "hit_rate@1 >= -10%", "mrr@2 >= -70%")
    assert (result.verdict, result.exit_code) == ("fail", 1)
    assert [rule.outcome for rule in result.rules] == ["fails", "holds"]
    assert result.rules[0].difference == pytest.approx(-0.5)
    assert result.headline == "Fail: bad against live fails Hit rate@1."


def test_an_undecided_rule_says_how_many_users_it_needs(folder: Path) -> None:
    """The candidate wins 40 users and loses 10: far from deciding whether it gains 9 %."""
    result = judge(folder, "new", "hit_rate@1 >= 9%")
    (rule,) = result.rules
    assert (rule.outcome, result.exit_code) == ("inconclusive", 1)
    assert rule.more_users is not None
    # d = c − 1.09 b: mean 0.825 − 1.09 · 0.75; with the variance of the five kinds of users
    kinds = {(1, 1): 290, (0, 1): 10, (1, 0): 40, (0, 0): 60}
    mean = sum(n * (c - 1.09 * b) for (c, b), n in kinds.items()) / 400
    variance = sum(n * (c - 1.09 * b - mean) ** 2 for (c, b), n in kinds.items()) / 399
    needed = ((norm.ppf(0.975) + norm.ppf(0.8)) / mean) ** 2 * variance
    assert rule.more_users == pytest.approx(needed - 400, rel=0.1)
    assert judge(folder, "new", "hit_rate@1 >= 9%", inconclusive="pass").exit_code == 0


def test_more_rules_make_wider_intervals(folder: Path) -> None:
    (alone,) = judge(folder, "new", "hit_rate@1 >= -10%").rules
    first, _, _ = judge(folder, "new", "hit_rate@1 >= -10%", "ndcg@2 >= -10%", "mrr@2 >= -10%").rules
    assert first.low < alone.low < alone.high < first.high


def test_the_same_lists_keep_to_every_rule_that_allows_no_change(folder: Path) -> None:
    result = judge(folder, "same", "ndcg@2 >= 0%", "coverage@2 >= -0.1%", "gini@2 <= 0", "recall@2 >= 0.5%")
    assert [rule.outcome for rule in result.rules] == ["holds", "holds", "holds", "inconclusive"]


def test_few_users_decide_nothing() -> None:
    """Two users without a hit in both runs look equal; of others nothing is known."""
    truth = {"u1": {"x": 1.0}, "u2": {"y": 1.0}}
    runs = [{user: {item: 1.0} for user in truth} for item in ("x", "y")]
    result = recdash.gate({"a": runs[0]}, {"b": runs[1]}, truth, rules=["hit_rate@1 >= -10%"])
    assert result.rules[0].outcome == "inconclusive"


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (["ndcg@2 <= 1%"], "bad-direction"),
        (["ndcg >= 1%"], "no-cutoff"),
        (["nope@2 >= 0"], "unknown-metric"),
        (["novelty@2 >= -1%"], "metric-absent"),
        (["online.conversion >= 0"], "no-ab-test"),
        (["serendipity@1 >= -1%"], "metric-absent"),
    ],
)
def test_rules_that_cannot_be_judged_are_bad_input(folder: Path, rules: list[str], code: str) -> None:
    with pytest.raises(InputError) as refused:
        judge(folder, "new", *rules)
    assert refused.value.problems[0].code == code


def test_a_share_of_0_is_bad_input() -> None:
    truth = {f"u{n}": {f"x{n}": 1.0} for n in range(40)}
    nothing = {user: {"z": 1.0} for user in truth}
    with pytest.raises(InputError) as refused:
        recdash.gate(
            {"a": nothing},
            {"b": truth},
            {**truth, "u": {"z": 1.0}},
            rules=["hit_rate@1 >= -1%"],
            users="both",
        )
    assert refused.value.problems[0].code == "no-share"


def test_an_error_metric_is_bounded_from_above() -> None:
    """The candidate's errors are twice the baseline's for every one of 60 users: +100 %."""
    truth = pd.DataFrame({"user_id": [f"u{n}" for n in range(60)], "item_id": "i", "rating": 3.0})
    ratings = ["user_id", "item_id", "rating", "prediction"]
    runs = {
        name: truth.assign(prediction=[3 + size * (1 + n % 3) / 10 for n in range(60)])[ratings]
        for name, size in (("live", 1), ("new", 2))
    }
    result = recdash.gate({"live": None}, {"new": None}, truth, rules=["mae <= 10%"], predictions=runs)
    (rule,) = result.rules
    assert (rule.outcome, rule.difference) == ("fails", pytest.approx(1.0))
    assert rule.low > 0.1


# ── A/B tests ────────────────────────────────────────────────────────────────────────────────


def test_a_lift_is_judged_by_its_interval(folder: Path) -> None:
    """10 % and 11 % of 20,000 users each: the score interval of the lift is about 10 % ± 1.96 · 3.2 %."""
    test = recdash.ab_test(aggregates=folder / "ab.csv")
    result = recdash.gate(rules=["online.conversion >= 0%"], ab_test=test)
    (rule,) = result.rules
    assert (result.baseline, result.candidate, result.verdict) == ("A", "B", "pass")
    assert (rule.difference, rule.n) == (pytest.approx(0.1), 40_000)
    error = sqrt((1 - 0.1) / (20_000 * 0.1) + (1 - 0.11) / (20_000 * 0.11))
    assert (rule.low, rule.high) == (
        pytest.approx(1.1 * (1 - 1.96 * error) - 1, abs=0.005),
        pytest.approx(1.1 * (1 + 1.96 * error) - 1, abs=0.005),
    )
    assert recdash.gate(rules=["online.conversion >= 15%"], ab_test=test).rules[0].outcome == "inconclusive"
    assert recdash.gate(rules=["online.conversion >= 30%"], ab_test=test).rules[0].outcome == "fails"
    (amount,) = recdash.gate(rules=["online.conversion >= 0.001"], ab_test=test).rules
    assert (amount.outcome, amount.difference) == ("holds", pytest.approx(0.01))


def test_offline_and_online_rules_are_one_family(folder: Path) -> None:
    test = recdash.ab_test(aggregates=folder / "ab.csv")
    result = judge(folder, "new", "hit_rate@1 >= -1%", "online.conversion >= 0", ab_test=test)
    assert result.level == pytest.approx(0.975)
    assert (result.candidate, result.verdict) == ("new", "pass")


def test_a_sample_ratio_mismatch_fails_whatever_undecided_rules_do() -> None:
    table = pd.DataFrame(
        {
            "unit_id": [f"u{n}" for n in range(1_000)],
            "session_id": range(1_000),
            "variant": ["A"] * 600 + ["B"] * 400,
            "start_ts": "2026-03-01T09:00Z",
            "clicks": [n % 3 for n in range(1_000)],
        }
    )
    test = recdash.ab_test(sessions=table)
    assert test.health.blocked
    metric = next(row.metric for row in test.rows)
    result = recdash.gate(rules=[f"online.{metric} >= -90%"], ab_test=test, inconclusive="pass")
    assert (result.rules[0].outcome, result.exit_code) == ("not judged", 1)


def test_one_of_several_variants_must_be_named() -> None:
    counts = {"variant": ["A", "B", "C"], "metric": "buy", "n": 900, "successes": [90, 95, 99]}
    test = recdash.ab_test(aggregates=pd.DataFrame(counts))
    with pytest.raises(InputError) as refused:
        recdash.gate(rules=["online.buy >= -50%"], ab_test=test)
    assert refused.value.problems[0].code == "no-variant"
    result = recdash.gate(rules=["online.buy >= -50%"], ab_test=test, variant="C")
    assert (result.candidate, result.rules[0].value) == ("C", pytest.approx(0.11))
    with pytest.raises(UnknownName):
        recdash.gate(rules=["online.buy >= -50%"], ab_test=test, variant="A")


def test_a_test_that_is_not_complete_is_noticed(folder: Path) -> None:
    rules = recdash.online.OnlineRules(planned_users=100_000)
    test = recdash.ab_test(aggregates=folder / "ab.csv", rules=rules)
    result = recdash.gate(rules=["online.conversion >= 0"], ab_test=test)
    assert "unfinished-test" in {notice.code for notice in result.notices}


def test_the_planned_size_counts_the_control_and_the_candidate_alone() -> None:
    """1,000 users are planned. Each pair has 900 of them, though all three variants have 1,350."""
    counts = {"variant": ["A", "B", "C"], "metric": "buy", "n": 450, "successes": [90, 95, 99]}
    rules = recdash.online.OnlineRules(planned_users=1_000)
    test = recdash.ab_test(aggregates=pd.DataFrame(counts), rules=rules)
    result = recdash.gate(rules=["online.buy >= -50%"], ab_test=test, variant="C")
    (notice,) = (notice for notice in result.notices if notice.code == "unfinished-test")
    assert notice.found.startswith("900 of 1,000 planned users, control and variant together;")


# ── folds and seeds ──────────────────────────────────────────────────────────────────────────


def test_what_holds_over_users_must_hold_over_seeds(folder: Path) -> None:
    """One seed finds the items of 360 users, another of 240: on average as many as the baseline."""
    seeds = {}
    for seed, found in (("1", 380), ("2", 220), ("3", 320)):
        path = folder / f"seed{seed}.csv"
        path.write_text(gate_files.lists(gate_files.hits_of(found)))
        seeds[seed] = path
    live = folder / "live.csv"
    result = recdash.gate(
        {"live": live}, {"new": seeds}, folder / "truth.csv", rules=["hit_rate@1 >= -15%"], replicates="seeds"
    )
    (rule,) = result.rules
    # over users alone: the mean of the three is 306.7 users, +2 % with an error below 3 %
    assert rule.low > -0.15
    assert rule.outcome == "inconclusive"
    assert "3 seeds" in rule.note


# ── stored runs ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, dict[str, str]]]:
    home = tmp_path_factory.mktemp("stored")
    space = Workspace(open_store(f"sqlite:///{home}/recdash.db", home / "artifacts"))
    made = films(space)
    home_page(space, made)
    yield space, made
    space.store.close()


def test_stored_runs_are_judged_as_their_files_are(stored: tuple[Workspace, dict[str, str]]) -> None:
    from decision_worlds import RUNS, TRAIN, TRUTH

    space, made = stored
    rules = ["ndcg@3 >= -1%", "novelty@3 >= -90%"]
    result = space.gates.judge(made["films"], made["popular"], made["als"], rules)
    of_files = recdash.gate(
        {"popular": RUNS["popular"]}, {"als": RUNS["als"]}, TRUTH, rules=rules, train=TRAIN
    )
    assert [rule.as_dict() for rule in result.rules] == [rule.as_dict() for rule in of_files.rules]
    assert result.rules[0].difference == pytest.approx(6)  # 7/8 against 1/8


def test_the_only_test_between_two_runs_is_taken(stored: tuple[Workspace, dict[str, str]]) -> None:
    space, made = stored
    rules = ["online.engagement_rate >= 0"]
    result = space.gates.judge(made["films"], made["popular"], made["als"], rules)
    assert (result.verdict, result.rules[0].n) == ("pass", 400)
    with pytest.raises(InputError) as refused:
        space.gates.judge(made["films"], made["popular"], made["ease"], rules)
    assert refused.value.problems[0].code == "no-ab-test"
    with pytest.raises(InputError) as refused:
        space.gates.judge(made["films"], made["ease"], made["als"], rules, test="home page")
    assert refused.value.problems[0].code == "other-control"


def test_a_run_against_itself_is_bad_input(stored: tuple[Workspace, dict[str, str]]) -> None:
    space, made = stored
    with pytest.raises(InputError) as refused:
        space.gates.judge(made["films"], made["als"], made["als"], ["ndcg@3 >= 0"])
    assert refused.value.problems[0].code == "same-run"


def test_without_ten_tests_no_lift_is_expected_and_the_gate_says_so(
    stored: tuple[Workspace, dict[str, str]],
) -> None:
    space, made = stored
    result = space.gates.judge(made["films"], made["popular"], made["ease"], ["ndcg@3 >= -1%"])
    assert result.expected is None
    assert "10 tests" in result.why_not_expected


def test_the_lift_to_expect_is_told_by_ten_tests_of_others(tmp_path: Path) -> None:
    """ease was served ten times: nDCG@3 3/8 against 1/8 (+200 %), 96 of 200 users engaged against 80 (+20 %).

    So als, at 7/8 (+600 %), will most likely raise engagement by 60 %. Its own test (+75 %) does not count.
    """
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    space = Workspace(store)
    made = films(space)
    home_page(space, made)
    as_als = {**made, "als": made["ease"]}
    rules = ["ndcg@3 >= -1%", "online.engagement_rate >= 0"]
    for number in range(10):
        before = space.gates.judge(made["films"], made["popular"], made["als"], rules)
        assert before.expected is None
        home_page(space, as_als, 96, f"test {number}")
    result = space.gates.judge(made["films"], made["popular"], made["als"], rules)
    store.close()
    assert result.expected is not None
    assert (result.expected.n_tests, result.expected.online_metric) == (10, "engagement_rate")
    assert result.expected.lift == pytest.approx(0.6)
    assert result.expected.low < 0.6 < result.expected.high
    assert result.verdict == before.verdict
    assert result.expected.sentence in result.remarks
    assert "+60" in result.expected.sentence
    assert result.as_dict()["expected_lift"]["lift"] == pytest.approx(0.6)


# ── Python ───────────────────────────────────────────────────────────────────────────────────


def test_the_repr_is_the_verdict_a_line_per_rule_and_how_intervals_were_made(folder: Path) -> None:
    result = judge(folder, "bad", "hit_rate@1 >= -10%", "mrr@2 >= -70%")
    title, head, hits, ranks, footnote, *rest = repr(result).splitlines()
    assert title == "Fail: bad against live fails Hit rate@1."
    assert head.split()[0] == "metric"
    assert hits.split()[:4] == ["Hit", "rate@1", "0.750", "0.375"]
    assert (hits.split()[-2], ranks.split()[-2]) == ("fails", "holds")
    assert footnote.startswith("Intervals: 97.5 % each")
    assert len(rest) <= 1
    assert result._repr_html_().count("<tr>") == 3


def test_the_table_has_a_row_per_rule(folder: Path) -> None:
    table = judge(folder, "new", "ndcg@2 >= -1%", "hit_rate@1 >= -0.01").table()
    assert table["result"].tolist() == ["holds", "holds"]
    assert table["baseline"].tolist()[1] == pytest.approx(0.75)


def test_ndcg_is_the_arithmetic_of_the_lists(folder: Path) -> None:
    """Some users' own item is their second one, at 1 / log2(3)."""
    (rule,) = judge(folder, "new", "ndcg@2 >= -1%").rules
    second = [user for user in range(400) if (user + 13) % 100 == user % 100]
    assert not second
    assert rule.base_value == pytest.approx(300 / 400 / log2(2))
