"""Estimates from logged propensities: against a world that can be enumerated, and against real logs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from online_results import results_of_upload

from benchmarks.calibration_estimates import LEAST_OFF_POLICY, LOGS, Log
from benchmarks.calibration_estimates import off_policy_log as simulated
from benchmarks.calibration_page import PAGE
from recdash.domain.inputs import Upload
from recdash.errors import InputError
from recdash.ingest import read_upload
from recdash.online.off_policy.estimates import OffPolicy, off_policy
from recdash.online.off_policy.reward_model import expected
from recdash.online.off_policy.target import Target, logged, of_table, uniform

ITEMS = ("a", "b", "c")
LOGGING = {"a": 0.5, "b": 0.3, "c": 0.2}
TARGET = {"a": 0.1, "b": 0.2, "c": 0.7}
RATE = {"a": 0.1, "b": 0.5, "c": 0.9}
TRUE = 0.1 * 0.1 + 0.2 * 0.5 + 0.7 * 0.9


def log_of(items: Sequence[str], clicks: Sequence[float], **columns: Any) -> pa.Table:
    """Rows as the world's own policy logs them."""
    propensity = [LOGGING[item] for item in items]
    return pa.table({"item_id": items, "click": clicks, "propensity_score": propensity, **columns})


def probabilities(by_item: Mapping[str, float]) -> pa.Table:
    return pa.table({"item_id": list(by_item), "probability": list(by_item.values())})


def estimated(
    rows: pa.Table, target: Mapping[str, float] | pa.Table = TARGET, clip: float | None = None
) -> OffPolicy:
    table = target if isinstance(target, pa.Table) else probabilities(target)
    log = logged(rows)
    return off_policy(log, of_table(log, rows, table, "the target"), clip)


def under_uniform(rows: pa.Table, n_items: int | None = None) -> OffPolicy:
    log = logged(rows)
    return off_policy(log, uniform(log, n_items))


def drawn(seed: int, n: int = 2000) -> pa.Table:
    chance = np.random.default_rng(seed)
    items = chance.choice(ITEMS, n, p=list(LOGGING.values()))
    rates = np.array([RATE[item] for item in items])
    return log_of(items.tolist(), (chance.random(n) < rates).astype(float).tolist())


# ── in a world where everything is known ─────────────────────────────────────────────────────


def every_log(n: int) -> Iterator[tuple[float, pa.Table]]:
    """Each log of ``n`` rows that can happen, and its probability."""
    one_row = [
        (LOGGING[item] * (RATE[item] if click else 1 - RATE[item]), item, click)
        for item in ITEMS
        for click in (0.0, 1.0)
    ]
    for rows in itertools.product(one_row, repeat=n):
        chances, items, clicks = zip(*rows, strict=True)
        yield math.prod(chances), log_of(items, clicks)


def test_over_all_logs_that_can_happen_ips_and_dr_average_the_true_value() -> None:
    result = [(chance, estimated(rows)) for chance, rows in every_log(3)]
    assert sum(chance for chance, _ in result) == pytest.approx(1)
    assert sum(chance * one.ips.value for chance, one in result) == pytest.approx(TRUE, abs=1e-12)
    assert sum(chance * one.dr.value for chance, one in result) == pytest.approx(TRUE, abs=1e-12)
    assert sum(chance * one.mean_weight for chance, one in result) == pytest.approx(1, abs=1e-12)


def test_over_all_logs_clipping_only_takes_away() -> None:
    """The heaviest weight is c's, 0.7 ÷ 0.2 = 3.5; cut at 2, c counts 0.2 · 2 = 0.4 instead of 0.7."""
    result = [(chance, estimated(rows, clip=2).clipped.value) for chance, rows in every_log(2)]
    assert sum(chance * value for chance, value in result) == pytest.approx(
        0.1 * 0.1 + 0.2 * 0.5 + 0.4 * 0.9, abs=1e-12
    )


def test_the_intervals_hold_the_true_value_about_95_times_in_100() -> None:
    result = [estimated(drawn(seed)) for seed in range(400)]
    for name in ("ips", "snips", "dr"):
        each = [getattr(one, name) for one in result]
        held = sum(one.low <= TRUE <= one.high for one in each) / len(each)
        assert 0.925 <= held <= 0.975, name


def test_a_model_that_knows_the_items_makes_dr_more_certain_than_ips() -> None:
    result = [estimated(drawn(seed)) for seed in range(60)]
    spread = {name: np.std([getattr(one, name).value for one in result]) for name in ("ips", "dr")}
    assert spread["dr"] < 0.6 * spread["ips"]
    assert all(one.dr.std_error < one.ips.std_error for one in result)


def test_standard_errors_are_the_spread_over_repeated_logs() -> None:
    result = [estimated(drawn(seed)) for seed in range(400)]
    for name in ("observed", "ips", "snips", "dr", "gain"):
        values = [getattr(one, name).value for one in result]
        mean = np.mean([getattr(one, name).std_error for one in result])
        assert mean == pytest.approx(np.std(values), rel=0.1), name


def test_the_gain_over_the_logs_own_policy_is_found() -> None:
    """The log's own policy gets 0.5 · 0.1 + 0.3 · 0.5 + 0.2 · 0.9 = 0.38, the target 0.74."""
    one = estimated(drawn(1))
    assert one.gain.low < 0.74 - 0.38 < one.gain.high
    assert one.sentence.startswith("The target would do better than the logging policy: 0.7")


# ── by hand ──────────────────────────────────────────────────────────────────────────────────


def test_four_rows_by_hand() -> None:
    """Weights: a 0.1 ÷ 0.5 = 0.2, b 0.2 ÷ 0.3 = 2 ÷ 3, c 0.7 ÷ 0.2 = 3.5."""
    one = estimated(log_of(["a", "b", "c", "a"], [1, 0, 1, 0]), clip=2)
    weights = np.array([0.2, 2 / 3, 3.5, 0.2])
    assert one.observed.value == 2 / 4
    assert one.ips.value == pytest.approx((0.2 + 3.5) / 4)
    assert one.snips.value == pytest.approx((0.2 + 3.5) / weights.sum())
    assert one.clipped.value == pytest.approx((0.2 + 2) / 4)
    assert one.mean_weight == pytest.approx(weights.sum() / 4)
    assert one.mean_weight_std_error == pytest.approx(weights.std(ddof=1) / 2)
    assert one.max_weight == pytest.approx(3.5)
    assert one.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert one.least_propensity == 0.2
    assert (one.n, one.clicks, one.clip) == (4, 2, 2)
    assert one.weights.carried[1] == pytest.approx(3.5 / 3.7)
    assert one.weights.carried[10] == pytest.approx(1)
    assert sum(one.weights.counts) == 4


def test_the_direct_method_is_what_the_model_expects_of_the_target() -> None:
    """The model is cross-fitted, so its mean over the rows is that of ``expected``."""
    rows = drawn(4, 200)
    log = logged(rows)
    _, of_target = expected(log, of_table(log, rows, probabilities(TARGET), "the target"))
    assert estimated(rows).dm == (pytest.approx(of_target.mean()), None, None, None)


@pytest.mark.parametrize(("switch", "is_used"), [(1.0, 1.0), (0.1, 0.0)])
def test_switch_dr_corrects_the_model_up_to_the_threshold_only(switch: float, is_used: float) -> None:
    """Weights: a 0.2, b 2/3 and c 3.5. Below all of them Switch-DR is the direct method."""
    rows = drawn(4, 200)
    log = logged(rows)
    target = of_table(log, rows, probabilities(TARGET), "the target")
    of_shown, of_target = expected(log, target)
    weight = target.probability / log.propensity
    correction = np.where(weight < 1, weight * (log.reward - of_shown), 0.0) * is_used
    one = off_policy(log, target, switch=switch)
    assert one.switch_dr.value == pytest.approx((of_target + correction).mean())
    assert one.switch == switch


def test_the_threshold_of_switch_dr_has_the_least_error_and_bias() -> None:
    """With clicks of 1, leaving out c may cost 0.7, far more than the standard error: nothing is left out.

    An item that the target shows once in a million cases and the log once in a hundred million has a weight
    of 100: leaving it out costs at most a millionth, and its one row would add about 100 · (1 − 0.5) / n.
    """
    one = estimated(drawn(6))
    assert one.switch == pytest.approx(3.5)
    assert one.switch_dr == one.dr
    table = pa.table({
        "item_id": ["a", "b"] * 500 + ["z"], "click": [1.0, 0.0] * 500 + [1.0],
        "propensity_score": [0.5] * 1000 + [1e-8],
    })  # fmt: skip
    rare = {"a": 0.5, "b": 0.499999, "z": 0.000001}
    assert estimated(table, rare).switch < 2


def test_the_table_has_a_row_for_each_estimate() -> None:
    one = estimated(drawn(5))
    table = one.table().set_index("estimate")
    assert list(table.index) == ["observed", "ips", "snips", "clipped", "dm", "dr", "switch_dr", "gain"]
    assert tuple(table.loc["dr"]) == one.dr


def test_a_log_of_the_target_itself_has_weights_of_one() -> None:
    one = estimated(drawn(3), LOGGING)
    assert one.mean_weight == pytest.approx(1)
    assert one.ess == pytest.approx(one.n)
    assert one.ips.value == pytest.approx(one.observed.value)
    assert one.verdict == "usable"


def test_a_row_whose_item_the_target_never_shows_weighs_nothing() -> None:
    one = estimated(log_of(["a", "b", "b"], [1, 1, 0]), {"b": 1.0})
    assert one.ips.value == pytest.approx((1 / 0.3) / 3)
    assert one.snips.value == pytest.approx(1 / 2)
    assert one.weights.zero == 1


def test_a_target_that_shares_nothing_with_the_log_has_no_normalised_estimate() -> None:
    one = estimated(log_of(["a", "b"], [1, 0]), {"z": 1.0})
    assert one.ips.value == 0
    assert one.snips.value is None
    assert (one.ess, one.verdict) == (0, "refused")
    assert "100 % of what the target shows is never in the log" in str(one.notices[0])


def test_any_reward_will_do() -> None:
    one = estimated(log_of(["a", "c"], [-2.0, 30.0]))
    assert one.ips.value == pytest.approx((0.2 * -2 + 3.5 * 30) / 2)
    assert one.clicks == 1
    assert one.ips.low < 0, "a reward that may be below 0 has no floor"


def test_no_interval_goes_below_the_least_that_clicks_can_be() -> None:
    assert estimated(log_of(["a", "b", "c"], [0, 0, 1])).ips.low == 0


def test_one_row_has_estimates_and_no_interval() -> None:
    one = estimated(log_of(["c"], [1]))
    assert one.ips == (pytest.approx(3.5), None, None, None)
    assert one.snips == (pytest.approx(1), None, None, None)
    assert one.verdict == "refused"


# ── the target ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("click", [0.0, 1.0])
@pytest.mark.parametrize("by_user", [True, False])
def test_rows_that_are_all_alike_make_no_interval_of_no_width(click: float, by_user: bool) -> None:
    """What nobody did in 600 rows is not shown to happen never."""
    users = {"user_id": [f"u{row % 50}" for row in range(600)]} if by_user else {}
    alike = under_uniform(
        pa.table({
            "item_id": [*"abcd"] * 150, "click": [click] * 600, "propensity_score": [0.25] * 600, **users
        })
    )  # fmt: skip
    for estimate in (alike.observed, alike.ips, alike.snips, alike.clipped, alike.dr):
        assert estimate.value == pytest.approx(click, abs=1e-12)
        assert (estimate.low, estimate.high) == (None, None)
    assert alike.against_log == "not settled"
    assert ("no interval, since all rows have the same reward" in alike.sentence) == (click > 0)


def test_uniform_is_over_the_items_of_the_log_or_over_as_many_as_there_are() -> None:
    rows = log_of(["a", "b", "c"], [1, 0, 0])
    assert under_uniform(rows).ips.value == pytest.approx((1 / 3) / 0.5 / 3)
    assert under_uniform(rows, 10).ips.value == pytest.approx((1 / 10) / 0.5 / 3)
    assert "70 % of what the target shows is never in the log" in str(under_uniform(rows, 10).notices[0])


def test_uniform_over_fewer_items_than_the_log_shows_is_refused() -> None:
    with pytest.raises(InputError, match="2 items to choose from, but the log shows 3"):
        under_uniform(log_of(["a", "b", "c"], [1, 0, 0]), 2)


def test_a_target_may_depend_on_columns_of_the_log() -> None:
    """On a phone the target shows only a, on a television only b."""
    rows = log_of(["a", "b", "a", "b"], [1, 1, 1, 0], device=["phone", "phone", "tv", "tv"])
    target = pa.table({"item_id": ["a", "b"], "probability": [1.0, 1.0], "device": ["phone", "tv"]})
    one = estimated(rows, target)
    assert one.ips.value == pytest.approx((1 / 0.5 + 0 + 0 + 0) / 4)
    assert one.mean_weight == pytest.approx((1 / 0.5 + 1 / 0.3) / 4)


def test_the_model_tells_positions_apart() -> None:
    """a is always clicked in position 1 and never in 2: the expectation of 200 rows is drawn by 100 more."""
    log = logged(log_of(["a", "a"] * 250, [1, 0] * 250, position=[1, 2] * 250))
    by_position = {1: (200 + 50) / 300, 2: 50 / 300}
    shown, _ = expected(log, uniform(log))
    assert shown[0] == pytest.approx(by_position[1], abs=0.03)
    assert shown[1] == pytest.approx(by_position[2], abs=0.03)


def test_no_row_is_scored_by_a_model_that_saw_it() -> None:
    """Changing one row's reward changes what is expected of others, never of itself."""
    clicks = [0.0] * 50
    before = logged(log_of(["a"] * 50, clicks))
    after = logged(log_of(["a"] * 50, [1000.0, *clicks[1:]]))
    shown = [expected(log, uniform(log))[0] for log in (before, after)]
    assert shown[0][0] == shown[1][0]
    assert (shown[0] != shown[1]).sum() == 40


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({"item_id": ["a", "b"], "probability": [0.5, 0.4]}, "the probabilities add up to 0.9"),
        ({"item_id": ["a", "b"], "probability": [1.5, -0.5]}, "the probability of 'b' is -0.5"),
        ({"item_id": ["a", "a"], "probability": [0.5, 0.5]}, "'a' occurs twice"),
        ({"item_id": ["a"], "probability": [1.0], "age": ["20"]}, "the log has no column 'age'"),
        ({"item_id": ["a"], "probability": [1.0], "position": [1]}, "the log has position 2"),
        (
            {"item_id": ["a", "a", "b"], "probability": [1.0, 0.3, 0.3], "position": [1, 2, 2]},
            "the probabilities add up to 0.6 for position 2",
        ),
    ],
)
def test_a_target_that_is_no_policy_is_refused_in_words(target: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        estimated(log_of(["a", "b"], [1, 0], position=[1, 2]), pa.table(target))


@pytest.mark.parametrize("propensity", [0.0, -0.1, 1.2, float("nan")])
def test_a_propensity_that_is_no_chance_is_refused(propensity: float) -> None:
    rows = pa.table({"item_id": ["a"], "click": [1.0], "propensity_score": [propensity]})
    with pytest.raises(InputError, match="in 1 row"):
        logged(rows)


@pytest.mark.parametrize("propensity", [1e-320, 1e-160, 1e-80])
def test_a_propensity_too_small_for_its_weight_is_refused(propensity: float) -> None:
    rows = pa.table({"item_id": ["a"], "click": [1.0], "propensity_score": [propensity]})
    with pytest.raises(InputError, match=f"{propensity:g} is so small that a row's weight is beyond 1e.75"):
        under_uniform(rows)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("propensity", [1e-70, 1e-12])
def test_one_row_with_nearly_all_weight_decides_alone(propensity: float) -> None:
    rows = pa.table({"item_id": ["a", "b"] * 20, "click": [1.0, 0.0, 0.0, 1.0] * 10,
                     "user_id": [f"u{n}" for n in range(40)],
                     "propensity_score": [propensity, *[0.5] * 39]})  # fmt: skip
    result = under_uniform(rows)
    assert (result.verdict, result.ess) == ("refused", pytest.approx(1))


# ── the verdict ──────────────────────────────────────────────────────────────────────────────


def test_a_large_clean_log_is_usable() -> None:
    one = estimated(drawn(5))
    assert (one.verdict, one.reasons) == ("usable", [])


def test_an_effective_sample_below_200_is_refused() -> None:
    assert estimated(drawn(5, n=300)).verdict == "refused"
    (reason,) = estimated(drawn(5, n=300)).reasons
    assert reason.startswith("300 rows are worth only 1")


def test_propensities_that_do_not_fit_the_log_are_refused() -> None:
    rows = drawn(5)
    wrong = rows.set_column(2, "propensity_score", pa.array([0.4] * len(rows)))
    (reason,) = estimated(wrong).reasons
    assert reason.startswith("the weights average ")
    assert " instead of 1 (standard error " in reason


def test_propensities_written_with_few_digits_are_not_refused() -> None:
    """0.3333 for a third: every weight is 1.0001, and nothing varies."""
    rows = pa.table({"item_id": ["a", "b", "c"] * 100, "click": [1.0, 0, 0] * 100,
                     "propensity_score": [0.3333] * 300})  # fmt: skip
    assert under_uniform(rows).verdict == "usable"


def test_a_propensity_below_one_in_10000_is_refused() -> None:
    rows = drawn(5)
    scores = rows["propensity_score"].to_pylist()
    scores[scores.index(0.5)] = 0.00009
    (reason,) = estimated(
        rows.set_column(2, "propensity_score", pa.array(scores)), {"a": 0.00009, "b": 0.3, "c": 0.69991}
    ).reasons
    assert reason.startswith("an item was shown with a probability of 0.00009, below 0.0001, so one row")


def test_fewer_than_50_clicks_are_refused() -> None:
    rows = {"item_id": ["a", "b", "c"] * 300, "propensity_score": [1 / 3] * 900}
    few, enough = (pa.table(rows | {"click": [0.0] * (900 - n) + [1.0] * n}) for n in (49, 50))
    assert under_uniform(few).reasons == [
        "the target would have shown 49 of the rows with a click; below 50, an interval is meaningless"
    ]
    assert under_uniform(enough).verdict == "usable"


def test_clicks_on_what_the_target_never_shows_do_not_count() -> None:
    """453 clicks on a; b, all that the target shows, was shown 1,000 times and never clicked."""
    rows = pa.table({"item_id": ["a", "b"] * 1000, "click": [1.0, 0.0] * 453 + [0.0] * 1094,
                     "propensity_score": [0.5] * 2000})  # fmt: skip
    one = estimated(rows, {"b": 1.0})
    assert (one.clicks, one.clicks_that_count, one.verdict) == (453, 0, "refused")
    assert one.reasons[0].startswith("the target would have shown none of the rows with a click")


def test_the_verdict_writes_small_numbers_and_minus_as_everything_else_does() -> None:
    rewards = np.where(np.arange(900) % 2, -0.00025, -0.0001)
    one = under_uniform(
        pa.table({"item_id": ["a", "b", "c"] * 300, "click": rewards, "propensity_score": [1 / 3] * 900})
    )
    assert "−0.000175 observed." in one.sentence
    assert "e-" not in one.sentence
    assert "-" not in one.sentence.replace("log's", "")


def test_slots_shown_together_are_said_to_count_apart() -> None:
    log = logged(log_of(["a", "b"], [1, 0], position=[1, 2]))
    (notice,) = off_policy(log, uniform(log)).notices
    assert "2 positions: each row counts as a separate slot" in str(notice)


# ── the Open Bandit logs ─────────────────────────────────────────────────────────────────────


def open_bandit(shared_data: Path, name: str) -> pa.Table:
    return read_upload("bandit", shared_data / "openbandit" / f"{name}.csv.gz").table


@pytest.mark.parametrize(
    ("campaign", "ips", "snips", "ess", "true", "verdict"),
    [
        ("all", 0.002360, 0.002334, 340, 0.0038, "refused"),
        ("men", 0.003009, 0.003189, 656, 0.0046, "usable"),
        ("women", 0.007438, 0.002373, 2, 0.0046, "refused"),
    ],
)
def test_on_the_open_bandit_logs_what_the_random_policy_would_get(
    shared_data: Path, campaign: str, ips: float, snips: float, ess: int, true: float, verdict: str
) -> None:
    one = under_uniform(open_bandit(shared_data, f"bts_{campaign}"))
    assert one.ips.value == pytest.approx(ips, abs=1e-6)
    assert one.snips.value == pytest.approx(snips, abs=1e-6)
    assert round(one.ess) == ess
    assert under_uniform(open_bandit(shared_data, f"random_{campaign}")).observed.value == true
    assert one.verdict == verdict


def test_on_the_open_bandit_logs_of_women_the_reasons_are_two_rows_few_clicks_and_one_in_a_million(
    shared_data: Path,
) -> None:
    rows, clicks, chance = under_uniform(open_bandit(shared_data, "bts_women")).reasons
    assert clicks.endswith("below 50, an interval is meaningless")
    assert rows == "10,000 rows are worth only 2 after weighting; below 200, a few rows decide"
    assert chance.startswith("an item was shown with a probability of 0.000001, below 0.0001")


def test_on_the_random_logs_the_uniform_target_is_the_log_itself(shared_data: Path) -> None:
    one = under_uniform(open_bandit(shared_data, "random_men"))
    assert one.max_weight == pytest.approx(1)
    assert one.ips.value == pytest.approx(one.observed.value)


@pytest.mark.parametrize(("campaign", "p"), [("all", 0.654), ("men", 0.031), ("women", 1.0)])
def test_the_same_logs_as_an_ab_test_have_the_p_of_the_two_sided_z(
    shared_data: Path, campaign: str, p: float
) -> None:
    """Through the table of successes and trials, from random to bts."""
    clicks = {name: open_bandit(shared_data, f"{name}_{campaign}")["click"] for name in ("random", "bts")}
    table = pa.table({
        "variant": list(clicks), "metric": ["click_rate"] * 2,
        "successes": [float(pa.compute.sum(value).as_py()) for value in clicks.values()],
        "trials": [float(len(value)) for value in clicks.values()],
    })  # fmt: skip
    rows = results_of_upload(Upload("aggregates", "test", table, {}), "random").rows
    assert round(rows[1].p or 0, 3) == p


def test_what_is_told_as_plain_values_has_the_promised_names() -> None:
    told = estimated(drawn(5)).as_dict()
    promised = {"ips", "snips", "dr", "mean_weight", "max_weight", "ess", "clicks", "verdict"}
    assert promised <= set(told)
    assert all(isinstance(told[name], float) for name in promised - {"clicks", "verdict"})
    assert isinstance(told["clicks"], int)
    assert told["verdict"] == "usable"


def test_a_targets_probabilities_add_up_to_one_in_each_case() -> None:
    log = logged(log_of(["a", "b"], [1, 0]))
    made: Target = uniform(log, 5)
    assert np.bincount(made.entry_case, made.entry_probability).tolist() == [pytest.approx(1)]


# ── rows of one user ─────────────────────────────────────────────────────────────────────────


def of_users(n_users: int, times: int, seed: int = 0) -> pa.Table:
    """Each user's one row, ``times`` over: as many rows say no more than one of each user."""
    rows = drawn(seed, n_users)
    repeated = rows.take(np.repeat(np.arange(n_users), times))
    return repeated.append_column("user_id", pa.array(np.repeat(np.arange(n_users), times)))


def test_rows_that_repeat_a_user_make_no_interval_narrower() -> None:
    """Of one row each, the errors by user are those of rows; repeating all of them changes no error."""
    single, tenfold = estimated(of_users(400, 1)), estimated(of_users(400, 10))
    plain = estimated(of_users(400, 1).drop(["user_id"]))
    for name in ("observed", "ips", "snips", "clipped"):
        one, ten, rows = (getattr(found, name) for found in (single, tenfold, plain))
        if name != "clipped":  # its cap is the root of the rows
            assert ten.value == pytest.approx(one.value)
            assert ten.std_error == pytest.approx(one.std_error)
        # users weigh unequally in the normalised mean, and each pulls it towards their own row
        assert one.std_error == pytest.approx(rows.std_error, rel=0.01 if name == "snips" else 1e-9)
    assert tenfold.mean_weight_std_error == pytest.approx(plain.mean_weight_std_error)
    assert tenfold.effective_users == pytest.approx(single.ess)
    naive = estimated(of_users(400, 10).drop(["user_id"]))
    assert naive.ips.std_error == pytest.approx(single.ips.std_error / math.sqrt(10), rel=2e-3)  # type: ignore[operator]


def test_the_error_by_user_is_that_of_the_clustered_formula() -> None:
    """The mean of five rows of three users: (0.2, 0.2, 0.2, −0.8, 0.2) add up to 0.4, −0.6 and 0.2; the users
    have the shares .4, .4 and .2 of the rows. D = L / (1 − L) is 2/3, 2/3 and 1/4, L · D is 4/15, 4/15 and
    1/20, and the degrees are 1 / (Σ D² − 2 Σ D · L D + (Σ L D)²). Hall's cubic: t of the skewness γ ends
    where ((1 + γ t / 3)³ − 1) / γ + γ / 6 is Student's quantile.
    """
    rows = log_of(["a"] * 5, [1.0, 1.0, 1.0, 0.0, 1.0], user_id=["x", "x", "y", "y", "z"])
    result = estimated(rows, {"a": 1.0}).observed
    error = math.sqrt(0.4**2 / 0.6 + 0.6**2 / 0.6 + 0.2**2 / 0.8) / 5
    assert result.std_error == pytest.approx(error)
    degrees = 1 / (
        2 * (2 / 3) ** 2 + 1 / 16 - 2 * (2 * 2 / 3 * 4 / 15 + 1 / 4 / 20) + (2 * 4 / 15 + 1 / 20) ** 2
    )
    skewness = (0.4**3 - 0.6**3 + 0.2**3) / (0.4**2 + 0.6**2 + 0.2**2) ** 1.5
    assert result.high is not None
    t = (0.8 - result.high) / error
    cubic = ((1 + skewness * t / 3) ** 3 - 1) / skewness + skewness / 6
    assert cubic == pytest.approx(-scipy.stats.t.ppf(0.975, degrees))


def test_rare_clicks_of_users_extend_the_interval_upwards() -> None:
    """Most users click never, a few often, so that the rate may be higher than measured, but hardly lower."""
    clicks = [1.0] * 5 + [0.0] * 195
    observed = estimated(log_of(["a"] * 200, clicks, user_id=[f"u{n}" for n in range(200)])).observed
    assert observed.value == pytest.approx(0.025)
    assert observed.low is not None
    assert observed.high is not None
    assert observed.high - 0.025 > 1.3 * (0.025 - observed.low)


@pytest.mark.parametrize("log", [Log(100, 20, 0.5), Log(400, 20, 1.0, uneven=True)], ids=str)
def test_intervals_by_user_contain_the_truth_as_often_as_they_say(log: Log) -> None:
    """At least 93 %, less three standard errors of 200 tries: 93 − 3 · 1.8."""
    tally = simulated(log, 200)
    assert tally.usable > 150
    assert min(tally.held) / tally.usable > 0.876


def test_the_page_has_every_log_and_all_intervals_are_wide_enough() -> None:
    """LEAST_OFF_POLICY less the 95 % error of the count: 1.96 · √(.93 · .07 / n)."""
    text = PAGE.read_text(encoding="utf-8").partition("### Off-policy estimates")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert [" | ".join(line[:3]) for line in lines] == [log.title for log in LOGS]
    for line in lines:
        n_usable = float(line[3]) / 100 * float(line[-1].replace(",", ""))
        least = LEAST_OFF_POLICY - 1.96 * math.sqrt(LEAST_OFF_POLICY * (1 - LEAST_OFF_POLICY) / n_usable)
        assert min(map(float, line[4:-1])) >= 100 * least, line


def test_the_user_is_known_by_a_usual_name_or_by_the_one_that_is_given() -> None:
    rows = drawn(0, 6).append_column("Visitor_ID", pa.array(["x", "x", "y", None, None, " "]))
    user = logged(rows).user
    assert user is not None
    assert user[0] == user[1] != user[2]
    assert len(set(user.tolist())) == 5  # each row without a user is one of its own
    assert logged(drawn(0, 6)).user is None
    named = logged(drawn(0, 6).append_column("who", pa.array(list("aabbcc"))), "who").user
    assert named is not None
    assert named.tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(InputError, match="the log has no column 'whom'"):
        logged(drawn(0, 6), "whom")


def test_what_standard_errors_take_for_independent_is_said() -> None:
    by_user, by_row = estimated(of_users(400, 5)), estimated(of_users(400, 5).drop(["user_id"]))
    assert by_user.errors_by == "users: rows of one user are not independent (2,000 rows of 400 users)"
    assert "rows of one user are treated as independent" in by_row.errors_by
    assert "slots-independent" not in {notice.code for notice in by_user.notices}
    assert "no column names the user" in str(by_row.notices[-1])
    assert (by_user.as_dict()["errors_by"], by_row.as_dict()["errors_by"]) == ("users", "rows")


def test_few_users_are_refused_however_many_rows_they_have() -> None:
    result = estimated(of_users(40, 100))
    assert result.failed.users
    assert "40 users are worth only" in result.sentence
    assert not estimated(of_users(400, 10)).failed.users


@pytest.mark.parametrize("empty", [None, " ", float("nan")])
def test_a_column_without_any_user_counts_as_no_column(empty: Any) -> None:
    kind = pa.float64() if isinstance(empty, float) else pa.string()
    rows = drawn(0, 300)
    result = estimated(rows.append_column("user_id", pa.array([empty] * 300, kind)))
    assert (result.n_users, result.errors_by) == (None, estimated(rows).errors_by)
    assert result.ips == estimated(rows).ips
    assert "slots-independent" in {notice.code for notice in result.notices}


def test_where_the_likeliest_column_is_empty_the_next_one_names_the_users() -> None:
    rows = drawn(0, 4).append_column("user_id", pa.array([None] * 4, pa.string()))
    user = logged(rows.append_column("visitor_id", pa.array(["x", "x", "y", "y"]))).user
    assert user is not None
    assert user.tolist() == [0, 0, 1, 1]


def test_rows_without_a_user_are_told_with_their_share() -> None:
    """Of 400 rows every other one has no user, NaN or none at all; 100 users have two rows each."""
    ids = [place // 4 if place % 2 else (math.nan if place % 4 else None) for place in range(400)]
    rows = drawn(0, 400).append_column("user_id", pa.array(ids, pa.float64()))
    result = estimated(rows)
    assert result.n_users == 100 + 200
    (notice,) = result.notices
    assert (notice.code, notice.count) == ("rows-without-user", 200)
    assert "50 % (200 of 400) of the rows name no user" in str(notice)
    assert not estimated(of_users(40, 10)).notices


def test_one_user_is_told_in_the_singular() -> None:
    result = estimated(of_users(1, 300))
    assert "1 user is worth only 1 after weighting" in result.sentence
    assert result.errors_by.endswith("(300 rows of 1 user)")


def test_all_rows_of_a_user_are_scored_by_a_model_that_saw_none_of_them() -> None:
    """Each user sees one item of their own, clicked or not: others teach nothing of it."""
    items = [f"item {user}" for user in range(100) for _ in range(3)]
    clicks = [float(user % 2) for user in range(100) for _ in range(3)]
    rows = pa.table({"item_id": items, "click": clicks, "propensity_score": [0.1] * 300,
                     "user_id": [user for user in range(100) for _ in range(3)]})  # fmt: skip
    log = logged(rows)
    shown, _ = expected(log, uniform(log))
    assert np.abs(shown - 0.5).max() < 0.15
    alone = logged(rows.drop(["user_id"]))
    assert np.ptp(expected(alone, uniform(alone))[0]) > np.ptp(shown)
