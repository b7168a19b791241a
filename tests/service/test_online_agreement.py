"""Offline metrics against stored A/B tests: in one test, by all metrics, over all tests; recdash agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest
from app_pages import lists, store
from terminal import Recdash, answer, as_json

from recdash.errors import InputError, UnknownName
from recdash.online import OnlineMetric
from recdash.online.agreement.agreement import DifferenceInterval
from recdash.service import Workspace
from recdash.service.online.offline_online import oriented, sign_of

WATCH = "session_watch_time"
FILES: Mapping[str, str] = {}
USERS = [f"u{number}" for number in range(1, 81)]
"""So many that what all of them gain by one rank is significant."""
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number}" for number in range(1, 81)]})
RUNS = {"third": lists(3, USERS), "second": lists(2, USERS), "first": lists(1, USERS)}
"""Every user's own item at rank 3, 2 and 1: nDCG@5 is 1/2, 1/log2 3 = .63 and 1."""


def summary(means: Mapping[str, float], metric: str = WATCH, variance: float = 1.0) -> pd.DataFrame:
    """10,000 users in each variant: the standard error of a mean is .01 with variance 1."""
    rows = [(variant, metric, 10_000, mean, variance) for variant, mean in means.items()]
    return pd.DataFrame(rows, columns=["variant", "metric", "n", "mean", "variance"])


def ab_test(
    space: Workspace, experiment: str, means: Mapping[str, float], links: Mapping[str, str], *names: str
) -> str:
    """A stored test (Spring, unless it is named) of session watch time with these means."""
    made = space.online_tests.add(
        experiment, *(names or ("Spring",)), {"aggregates": summary(means)}, control="control", links=links
    )
    return made.id


@pytest.fixture
def films(workspace: Workspace) -> dict[str, str]:
    return store(workspace, RUNS, truth=TRUTH)


def links_of(films: Mapping[str, str]) -> dict[str, str]:
    return {"control": films["third"], "B": films["second"], "C": films["first"]}


# ── one test ─────────────────────────────────────────────────────────────────────────────────


def test_runs_in_the_same_order_agree_in_every_pair(workspace: Workspace, films: dict[str, str]) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 11, "C": 12}, links_of(films))
    found = workspace.agreement.of(test, "ndcg", 5, WATCH)
    assert [(one.run, one.is_control) for one in found.runs] == [
        ("third", True),
        ("second", False),
        ("first", False),
    ]
    assert [one.online for one in found.runs] == [0, pytest.approx(0.1), pytest.approx(0.2)]
    assert found.runs[2].offline == pytest.approx(1.0)
    assert (found.count("concordant"), len(found.pairs)) == (3, 3)
    assert found.tau is not None
    assert (found.tau.value, found.tau.p) == (pytest.approx(1), pytest.approx(1 / 3))


def test_a_pair_between_variants_is_tested_like_one_with_the_control(
    workspace: Workspace, films: dict[str, str]
) -> None:
    """C over B: 12 ÷ 12.5 − 1 = −4 %, with a relative standard error of .01·√(1/12² + 1/12.5²) = .12 %."""
    test = ab_test(workspace, films["films"], {"control": 10, "B": 12.5, "C": 12}, links_of(films))
    pair = workspace.agreement.of(test, "ndcg", 5, WATCH).pairs[2]
    assert (pair.first, pair.second, pair.outcome) == ("second", "first", "discordant")
    assert pair.online.low == pytest.approx(-0.04 - 1.96 * 0.96 * 0.0011555, abs=1e-5)
    assert pair.online.high == pytest.approx(-0.04 + 1.96 * 0.96 * 0.0011555, abs=1e-5)


def test_disagreements_are_computed_once_and_follow_links_and_names(
    workspace: Workspace, films: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 9, "C": 12}, links_of(films))
    asked = (films["films"], "ndcg", 5)
    (found,) = workspace.online_tests.disagreements(*asked)
    assert (found[0].id, found[1]["run"], found[1]["quadrant"]) == (
        test,
        "second",
        "won offline, lost online",
    )
    workspace.runs.rename(films["second"], "ALS")
    assert [row["run"] for _, row in workspace.online_tests.disagreements(*asked)] == ["ALS"]
    with monkeypatch.context() as patch:
        patch.setattr(workspace.comparisons, "pairs", lambda *_: pytest.fail("computed again"))
        assert len(workspace.online_tests.disagreements(*asked)) == 1
    workspace.online_tests.link_variants(test, {"control": films["third"], "C": films["first"]})
    assert workspace.online_tests.disagreements(*asked) == []


def test_a_changed_frame_changes_no_later_answer(workspace: Workspace, films: dict[str, str]) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 9, "C": 9}, links_of(films))
    first = workspace.online_tests.offline_online(test, "ndcg", 5, WATCH)
    first["quadrant"] = "spoilt"
    assert "spoilt" not in set(workspace.online_tests.offline_online(test, "ndcg", 5, WATCH)["quadrant"])


def test_a_pair_that_online_does_not_settle_is_undecided(workspace: Workspace, films: dict[str, str]) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 12, "C": 12.01}, links_of(films))
    assert [pair.outcome for pair in workspace.agreement.of(test, "ndcg", 5, WATCH).pairs] == [
        "concordant",
        "concordant",
        "undecided",
    ]


def test_a_variant_is_judged_as_on_the_page_of_its_test(workspace: Workspace, films: dict[str, str]) -> None:
    """B loses 4 %: p = .028 alone, .114 among four goals; A/B results calls that not settled."""
    rows = [
        summary({"control": 10, "B": 9.6}, metric, 165.7) for metric in (WATCH, "calls", "plays", "visits")
    ]
    rows[1:] = [rows[1].assign(mean=10.0), rows[2].assign(mean=10.0), rows[3].assign(mean=10.0)]
    test = workspace.online_tests.add(
        films["films"], "Spring", {"aggregates": pd.concat(rows)},
        control="control", links={"control": films["third"], "B": films["second"]},
    )  # fmt: skip
    lost = next(row for row in test.results if row["metric"] == WATCH and row["variant"] == "B")
    assert (lost["p"], lost["p_corrected"]) == (pytest.approx(0.028, abs=0.001), pytest.approx(4 * lost["p"]))
    page = workspace.online_tests.offline_online(test.id, "ndcg", 5, WATCH).set_index("variant")["quadrant"]
    assert page["B"] == "undecided"
    assert [pair.outcome for pair in workspace.agreement.of(test.id, "ndcg", 5, WATCH).pairs] == ["undecided"]
    assert [one.calls for one in workspace.track_records.of("ndcg", 5, WATCH).points] == [None]


def test_pairs_between_variants_are_corrected_together(workspace: Workspace, films: dict[str, str]) -> None:
    """Of B, C, D only C over B is near: 4 % with p = .028, and three pairs are looked at."""
    links = {"control": films["third"], "B": films["third"], "C": films["second"], "D": films["first"]}
    table = summary({"control": 10, "B": 9.8, "C": 10.2, "D": 10.0}, variance=164)
    test = workspace.online_tests.add(
        films["films"], "Row", {"aggregates": table}, control="control", links=links
    )
    pair = workspace.agreement.of(test.id, "ndcg", 5, WATCH).pairs[3]
    assert (pair.first, pair.second, pair.outcome) == ("third", "second", "undecided")
    assert pair.online.low is not None
    assert pair.online.low < 0


def test_a_control_that_is_not_linked_served_the_baseline(
    workspace: Workspace, films: dict[str, str]
) -> None:
    workspace.experiments.set_baseline(films["films"], films["third"])
    links = {"B": films["second"]}
    test = ab_test(workspace, films["films"], {"control": 10, "B": 12}, links)
    found = workspace.agreement.of(test, "ndcg", 5, WATCH)
    assert [one.run for one in found.runs] == ["third", "second"]


def test_two_variants_of_one_run_are_settled_offline_against_others_and_not_against_each_other(
    workspace: Workspace, films: dict[str, str]
) -> None:
    links = {"control": films["third"], "B": films["first"], "C": films["first"]}
    test = ab_test(workspace, films["films"], {"control": 10, "B": 11, "C": 12}, links)
    assert [pair.outcome for pair in workspace.agreement.of(test, "ndcg", 5, WATCH).pairs] == [
        "concordant",
        "concordant",
        "undecided",
    ]


def test_users_known_one_by_one_are_compared_between_variants_too(
    workspace: Workspace, films: dict[str, str]
) -> None:
    minutes = {"control": 10, "B": 20, "C": 40}
    rows = [
        (f"{variant}{n}", f"s{variant}{n}", variant, 1, 60 * (base + n % 3))
        for variant, base in minutes.items()
        for n in range(60)
    ]
    sessions = pd.DataFrame(rows, columns=["unit_id", "session_id", "variant", "clicks", "watch_s"])
    test = workspace.online_tests.add(
        films["films"], "Row", {"sessions": sessions.assign(start_ts="2026-01-01T00:00:00Z")},
        control="control", links=links_of(films),
    )  # fmt: skip
    found = workspace.agreement.of(test.id, "ndcg", 5, WATCH)
    assert found.count("concordant") == 3
    low, high = found.pairs[2].online
    assert low is not None
    assert high is not None
    assert low < 41 / 21 - 1 < high


def test_of_an_online_metric_of_which_less_is_better_the_lowest_wins(
    workspace: Workspace, films: dict[str, str]
) -> None:
    stalls = OnlineMetric("stalls", "Stalls", "", "", "value", direction="down")
    test = workspace.online_tests.add(
        films["films"], "Stalls", {"aggregates": summary({"control": 12, "B": 11, "C": 10}, "stalls")},
        control="control", metrics=[stalls], links=links_of(films),
    )  # fmt: skip
    found = workspace.agreement.of(test.id, "ndcg", 5, "stalls")
    assert [one.online for one in found.runs] == [0, pytest.approx(1 / 12), pytest.approx(2 / 12)]
    assert found.count("concordant") == 3
    record = workspace.track_records.of("ndcg", 5, "stalls")
    assert record.called[:2] == (2, 2)


def test_a_test_in_two_experiments_counts_once_in_the_track_record(
    workspace: Workspace, films: dict[str, str]
) -> None:
    means = {"control": 10.0, "B": 11.0, "C": 12.0}
    first = ab_test(workspace, films["films"], means, links_of(films))
    again = workspace.experiments.create("more films", TRUTH, depth=5).id
    runs = {
        name: workspace.runs.add(again, table, name=name, accept_unknown_ids=True)[0].run.id
        for name, table in RUNS.items()
    }
    own = ab_test(workspace, again, means, links_of(runs), "Summer")
    for test, kept, other in ((own, "Summer in more films", "Spring"), (first, "Spring in films", "Summer")):
        record = workspace.track_records.of("ndcg", 5, WATCH, test)
        assert record.n_tests == 1
        assert record.called[:2] == (2, 2)
        assert record.left_out == ((other, f"it has the data of {kept}, which counts already"),)


def test_of_an_offline_metric_of_which_less_is_better_signs_are_turned() -> None:
    assert (sign_of("rmse"), sign_of("ndcg")) == (-1, 1)
    assert oriented(DifferenceInterval(1.0, 2.0), -1) == DifferenceInterval(-2.0, -1.0)
    assert oriented(DifferenceInterval(None, None), -1) == DifferenceInterval(None, None)


def test_a_metric_without_a_value_per_user_has_an_order_and_no_settled_pair(
    workspace: Workspace, films: dict[str, str]
) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 11, "C": 12}, links_of(films))
    found = workspace.agreement.of(test, "personalization", 5, WATCH)
    assert found.decided == 0
    assert len(found.runs) == 3


def test_a_broken_split_is_judged_in_none_of_the_three_ways(
    workspace: Workspace, films: dict[str, str]
) -> None:
    rows = [
        (f"{variant}{n}", f"s{variant}{n}", variant, 1.0, 60.0 + n % 5)
        for variant, count in (("control", 900), ("B", 500))
        for n in range(count)
    ]
    sessions = pd.DataFrame(rows, columns=["unit_id", "session_id", "variant", "clicks", "watch_s"])
    test = workspace.online_tests.add(
        films["films"], "Row", {"sessions": sessions.assign(start_ts="2026-01-01T00:00:00Z")},
        control="control", links={"control": films["third"], "B": films["first"]},
    )  # fmt: skip
    broken = "the split of users between the variants is broken (sample ratio mismatch)"
    assert workspace.agreement.of(test.id, "ndcg", 5, WATCH).reason == broken
    assert workspace.agreement.best_metric(test.id, WATCH).reason == broken
    record = workspace.track_records.of("ndcg", 5, WATCH)
    assert (record.points, record.left_out) == ((), (("Row", broken),))


def test_an_online_metric_that_the_test_lacks_is_named(workspace: Workspace, films: dict[str, str]) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 11, "C": 12}, links_of(films))
    with pytest.raises(UnknownName, match="session_watch_time"):
        workspace.agreement.of(test, "ndcg", 5, "watch")
    with pytest.raises(InputError, match="the depth is 5"):
        workspace.agreement.of(test, "ndcg", 6, WATCH)


# ── all metrics ──────────────────────────────────────────────────────────────────────────────


def test_every_metric_is_asked_at_a_few_k_and_none_is_named_of_three_runs(
    workspace: Workspace, films: dict[str, str]
) -> None:
    test = ab_test(workspace, films["films"], {"control": 10, "B": 11, "C": 12}, links_of(films))
    found = workspace.agreement.best_metric(test, WATCH)
    by_label = {one.label: one.tau for one in found.predictions}
    assert by_label["nDCG@5"] == pytest.approx(1)
    assert by_label["Recall@5"] is None, "all three find the item within five places"
    assert {one.k for one in found.predictions} <= {None, 1, 5}
    assert found.winners == ()
    assert found.reason.startswith("with 3 runs, one of ")


def test_of_six_runs_the_metric_that_had_their_order_is_named(workspace: Workspace) -> None:
    """Run n finds the items of n of six groups of users at rank 1, the others' at rank 2."""
    runs = {
        f"run{n}": pd.concat([lists(1, USERS[: 3 * n + 1]), lists(2, USERS[3 * n + 1 :])]) for n in range(6)
    }
    made = store(workspace, runs)
    variants = ["control", "B", "C", "D", "E", "F"]
    links = {variant: made[run] for variant, run in zip(variants, runs, strict=True)}
    means = {variant: 10.0 + n for n, variant in enumerate(variants)}
    found = workspace.agreement.best_metric(ab_test(workspace, made["films"], means, links), WATCH)
    assert "nDCG@5" in found.winners
    assert "Recall@5" not in found.winners
    assert found.reason == ""
    assert found.p is not None
    assert found.p <= 0.05


# ── all tests ────────────────────────────────────────────────────────────────────────────────


def test_the_track_record_goes_over_all_experiments(workspace: Workspace, films: dict[str, str]) -> None:
    """second over third: (1/log2 3 − 1/2) ÷ 1/2 = 26.2 % offline; lifts of 10 % and −10 %."""
    ab_test(
        workspace, films["films"], {"control": 10, "B": 11}, {"control": films["third"], "B": films["second"]}
    )
    other = workspace.experiments.create("books", TRUTH, depth=5)
    ids = {name: workspace.runs.add(other.id, table, name=name)[0].run.id for name, table in RUNS.items()}
    ab_test(
        workspace, other.id, {"control": 10, "B": 9}, {"control": ids["third"], "B": ids["second"]}, "Autumn"
    )
    record = workspace.track_records.of("ndcg", 5, WATCH)
    assert [(one.experiment, one.test, one.run, one.calls) for one in record.points] == [
        ("films", "Spring", "second", True),
        ("books", "Autumn", "second", False),
    ]
    assert record.points[0].offline == pytest.approx(26.186, abs=0.001)
    assert record.points[0].online == pytest.approx(10)
    assert record.points[0].online_error == pytest.approx(
        100 * 1.1 * 0.01 * (1 / 10**2 + 1 / 11**2) ** 0.5, rel=1e-3
    )
    assert record.called[:2] == (1, 2)
    assert record.reason.startswith("2 tests so far")


def test_a_test_that_has_no_point_says_why(workspace: Workspace, films: dict[str, str]) -> None:
    ab_test(workspace, films["films"], {"control": 10, "B": 11}, {})
    workspace.online_tests.add(
        films["films"], "Other", {"aggregates": summary({"control": 1, "B": 2}, "sales")}, control="control"
    )
    reasons = dict(workspace.track_records.of("ndcg", 5, WATCH).left_out)
    assert reasons["Spring"].startswith("its variants are not linked to runs")
    assert reasons["Other"] == "without this online metric"
    assert workspace.track_records.of("ndcg", 50, WATCH).points == ()


def test_a_test_whose_evidence_is_damaged_hides_no_other(
    workspace: Workspace, films: dict[str, str], tmp_path: Path
) -> None:
    links = {"control": films["third"], "B": films["second"]}
    ab_test(workspace, films["films"], {"control": 10, "B": 11}, links)
    for path in (tmp_path / "artifacts").rglob("*.parquet"):
        path.chmod(0o644)
        path.write_bytes(b"damaged")
    fresh = Workspace.open(f"sqlite:///{tmp_path / 'recdash.db'}", tmp_path / "artifacts")
    ((test, reason),) = fresh.track_records.of("ndcg", 5, WATCH).left_out
    assert test == "Spring"
    assert "is damaged" in reason


def test_from_ten_tests_on_there_is_a_line(workspace: Workspace, films: dict[str, str]) -> None:
    """Ten tests of one difference, 26.186 % offline, all with a lift of 10 %: the slope is 10 ÷ 26.186."""
    links = {"control": films["third"], "B": films["second"]}
    for n in range(10):
        ab_test(workspace, films["films"], {"control": 10, "B": 11}, links, f"Test {n}")
    line = workspace.track_records.of("ndcg", 5, WATCH).calibration
    assert line is not None
    assert line.slope == pytest.approx(10 / 26.186, rel=1e-3)


def test_what_a_gain_has_meant_is_told_by_the_other_tests(
    workspace: Workspace, films: dict[str, str]
) -> None:
    """Ten tests with a lift of 10 %, and one with 50 %, to which only the ten others may tell anything."""
    links = {"control": films["third"], "B": films["second"]}
    tests = [
        ab_test(workspace, films["films"], {"control": 10, "B": 11}, links, f"Test {n}") for n in range(10)
    ]
    assert workspace.track_records.slope("ndcg", 5, WATCH, tests[0]) is None  # nine others
    last = ab_test(workspace, films["films"], {"control": 10, "B": 15}, links, "Last")
    slope = workspace.track_records.slope("ndcg", 5, WATCH, last)
    assert slope == pytest.approx(10 / 26.186, rel=1e-3)
    (told,) = [
        one
        for one in workspace.diagnosis.explain(last, "B", "ndcg", 5, WATCH).answers
        if one.check == "noise"
    ]
    plain = workspace.diagnosis.explain(last, "B", "ndcg", 5, WATCH, by_record=False)
    (as_reported,) = [one for one in plain.answers if one.check == "noise"]
    assert "expected" in told.statistic or told.needs
    assert "expected" not in as_reported.statistic


def test_a_trial_of_one_pair_over_again_changes_no_order(workspace: Workspace, films: dict[str, str]) -> None:
    links = {"control": films["third"], "B": films["second"]}
    ab_test(workspace, films["films"], {"control": 10, "B": 11}, links, "one")
    archived = ab_test(workspace, films["films"], {"control": 10, "B": 11}, links, "two")
    workspace.online_tests.archive(archived)
    assert [one.test for one in workspace.track_records.of("ndcg", 5, WATCH).points] == ["one"]


def test_a_test_is_found_by_its_name_and_without_one_the_newest(
    workspace: Workspace, films: dict[str, str]
) -> None:
    spring = ab_test(workspace, films["films"], {"control": 10, "B": 11}, {}, "Spring")
    autumn = ab_test(workspace, films["films"], {"control": 10, "B": 12}, {}, "Autumn")
    assert workspace.online_tests.named(films["films"], "Spring").id == spring
    assert workspace.online_tests.named(films["films"]).id == autumn
    with pytest.raises(UnknownName, match="Did you mean 'Spring'"):
        workspace.online_tests.named(films["films"], "Sprint")


# ── in the terminal ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def stored(folder: Path) -> dict[str, str]:
    """Films with a test of three variants, in the store that the commands open."""
    assert folder.is_dir()
    space = Workspace.open()
    made = store(space, RUNS, truth=TRUTH)
    ab_test(space, made["films"], {"control": 10, "B": 11, "C": 12}, links_of(made))
    return made


@pytest.mark.usefixtures("stored")
def test_the_terminal_says_what_agrees(run: Recdash) -> None:
    result = run("agree", "--experiment", "films", "--metric", "ndcg@5")
    assert result.exit_code == 0
    assert "Offline picked the online winner in 3 of 3 decided pairs." in result.stdout
    assert re.search(r"third \(control\) +0\.50 +0\.0\n", result.stdout)
    assert "No best metric: with 3 runs, one of" in result.stdout
    assert "nDCG@5 predicted the winner 2 of 2 times" in result.stdout
    assert "No calibration: 1 test so far" in result.stdout


RATED = pd.DataFrame({"user_id": USERS, "item_id": TRUTH["item_id"], "rating": 3.0})


def predicted(error: float) -> pd.DataFrame:
    """Returns predicted ratings that are off by ``error``, a little more for some users than for others."""
    off = [3 + error * (1 + 0.1 * (number % 3)) for number in range(len(USERS))]
    return RATED.assign(prediction=off)


@pytest.fixture
def rated(folder: Path) -> tuple[Workspace, dict[str, str]]:
    """Predicted ratings of three qualities, with a test of them, in the store that the commands open."""
    assert folder.is_dir()
    space = Workspace.open()
    errors = {"third": 0.9, "second": 0.5, "first": 0.1}
    experiment = space.experiments.create("films", TRUTH, depth=5).id
    made = {"films": experiment}
    for name, error in errors.items():
        (added,) = space.runs.add(experiment, None, name=name, predictions=predicted(error))
        made[name] = added.run.id
    ab_test(space, made["films"], {"control": 10, "B": 11, "C": 12}, links_of(made))
    return space, made


def test_of_a_rating_error_the_lowest_wins_offline(rated: tuple[Workspace, dict[str, str]]) -> None:
    space, made = rated
    test = space.online_tests.all(made["films"])[0].id
    frame = space.online_tests.offline_online(test, "mae", 1, WATCH)
    assert frame["quadrant"].tolist() == ["control", "won both", "won both"]
    assert (frame["offline_delta"].iloc[1:] < 0).all()
    assert space.online_tests.disagreeing_metrics(test, "mae", 1) == {}
    former = space.online_tests.offline_online(test, "mae", 1, WATCH, former=True)
    assert set(former["quadrant"]) == {"control", "undecided"}


@pytest.mark.usefixtures("rated")
def test_the_terminal_shows_values_and_lifts_as_measured(run: Recdash) -> None:
    result = run("agree", "--experiment", "films", "--metric", "mae@1")
    assert "Offline picked the online winner in 3 of 3 decided pairs." in result.stdout
    assert "MAE (lower is better)" in result.stdout
    assert re.search(r"first +0\.1\d* +\+20", result.stdout)
    assert re.search(r"third \(control\) +0\.9\d+", result.stdout)


@pytest.mark.usefixtures("stored")
def test_the_terminal_answers_in_json(run: Recdash) -> None:
    told = as_json(run, "agree", "--experiment", "films", "--test", "Spring", "--metric", "ndcg@5")
    assert (told["test"], told["concordant"], told["tau"]) == ("Spring", 3, pytest.approx(1))
    assert told["best_metric"]["winners"] == []
    assert told["track_record"]["called"]["right"] == 2


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--experiment", "books"], "No experiment is called 'books'"),
        (["--test", "Sprint"], "Did you mean 'Spring'?"),
        (["--metric", "ndcg"], "no cutoff to compare at"),
        (["--metric", "ndcg@9"], "the depth is 5"),
        (["--online", "watch"], "No online metric is called 'watch'"),
    ],
)
def test_what_is_not_there_is_said_in_words(run: Recdash, options: list[str], says: str) -> None:
    result = run("agree", "--experiment", "films", "--metric", "ndcg@5", *options)
    assert result.exit_code == 2
    assert says in result.stderr


@pytest.mark.parametrize("command", ["agree", "why", "online"])
def test_an_experiment_without_a_test_says_what_to_do(run: Recdash, command: str) -> None:
    store(Workspace.open(), RUNS)
    says = "'films' has no A/B test yet. Add one with recdash add, or on the page Add data."
    assert says in run(command, "--experiment", "films").stderr
    assert answer(run("list", "--format", "json"))
