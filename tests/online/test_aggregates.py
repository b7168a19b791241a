"""Tests for people who only have a summary: n, mean and variance, or successes and trials."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from online_results import results_of_upload
from scipy import stats

from recdash.domain.inputs import Upload
from recdash.errors import InputError
from recdash.ingest import read_upload
from recdash.online import OnlineResults, OnlineRow, OnlineRules, templates

COLUMNS = ("variant", "metric", "n", "mean", "variance", "successes", "trials")


def summary(*rows: tuple[Any, ...]) -> Upload:
    filled = [row + (None,) * (len(COLUMNS) - len(row)) for row in rows]
    types = (pa.string(), pa.string(), *[pa.float64()] * 5)
    cells = zip(COLUMNS, types, zip(*filled, strict=True), strict=True)
    return Upload(
        "aggregates", "test.csv", pa.table({name: pa.array(values, kind) for name, kind, values in cells}), {}
    )


def row(found: OnlineResults, variant: str) -> OnlineRow:
    (one,) = [row for row in found.rows if row.variant == variant]
    return one


def test_values_and_lifts_of_means_are_those_of_welch() -> None:
    result = results_of_upload(summary(("A", "spend", 5000, 10.0, 160.0), ("B", "spend", 5100, 11.0, 250.0)))
    half = stats.t.ppf(0.975, 4999) * math.sqrt(160 / 5000)
    assert (row(result, "A").value, row(result, "A").ci_low, row(result, "A").ci_high) == pytest.approx(
        (10.0, 10 - half, 10 + half)
    )
    welch = stats.ttest_ind_from_stats(11, 250**0.5, 5100, 10, 160**0.5, 5000, equal_var=False)
    assert (row(result, "B").lift, row(result, "B").p) == pytest.approx((0.10, welch.pvalue))
    assert row(result, "B").title == "spend"


def test_an_empty_cell_may_be_nan_instead_of_null() -> None:
    nothing = float("nan")
    rows = (
        ("A", "ctr", nothing, nothing, nothing, 30, 100), ("B", "ctr", nothing, nothing, nothing, 45, 100),
        ("A", "spend", 100, 10.0, 16.0, nothing, nothing), ("B", "spend", 120, 11.0, 25.0, nothing, nothing),
    )  # fmt: skip
    cells = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    table = pa.table({name: list(values) for name, values in cells.items()})
    result = results_of_upload(read_upload("aggregates", table))
    assert [row.value for row in result.rows] == [0.3, 0.45, 10.0, 11.0]


def test_a_known_metric_bears_its_title_but_no_unit_of_ours() -> None:
    result = results_of_upload(
        summary(("A", "session_watch_time", 100, 810.0, 16.0), ("B", "session_watch_time", 99, 800.0, 25.0))
    )
    assert (row(result, "A").title, row(result, "A").unit) == ("Session watch time", "")


def test_successes_of_trials_are_a_rate_and_said_to_take_trials_as_independent() -> None:
    result = results_of_upload(
        summary(("A", "ctr", None, None, None, 30, 100), ("B", "ctr", None, None, None, 45, 100))
    )
    high = stats.binomtest(30, 100).proportion_ci(method="exact").high
    assert (row(result, "A").value, row(result, "A").ci_high, row(result, "A").n_users) == pytest.approx(
        (0.3, high, 100)
    )
    assert row(result, "B").lift == pytest.approx(0.5)
    assert "independent-trials" in {notice.code for notice in result.notices}
    assert result.health.srm_p is None


def test_a_mean_may_be_below_zero_but_is_no_base_of_a_lift() -> None:
    result = results_of_upload(summary(("A", "margin", 5000, -2.0, 1.0), ("B", "margin", 5000, 1.0, 1.0)))
    assert row(result, "A").ci_low is not None
    assert row(result, "A").ci_low < -2.0  # type: ignore[operator]
    assert row(result, "B").lift is None
    assert "the control is -2" in row(result, "B").note


def test_a_metric_without_a_row_of_the_control_has_values_but_no_lift() -> None:
    result = results_of_upload(summary(("A", "x", 10, 1.0, 1.0), ("B", "y", 10, 1.0, 1.0)))
    assert [(row.metric, row.variant, row.lift) for row in result.rows] == [
        ("x", "A", None),
        ("y", "B", None),
    ]
    assert "the control has no row" in row(result, "B").note
    (notice,) = [notice for notice in result.notices if notice.code == "no-control-row"]
    assert str(notice).startswith("metric 'y': the control 'A' has no row of it, so there is no lift")


def test_a_variance_out_of_all_proportion_gives_no_interval_and_says_so() -> None:
    result = row(results_of_upload(summary(("A", "x", 30, 1.0, 1e12), ("B", "x", 30, 1.0, 1e12))), "B")
    assert (result.lift, result.lift_low) == (0.0, None)
    assert "too large" in result.note


def test_an_unlikely_split_of_users_blocks_the_verdict() -> None:
    result = results_of_upload(summary(("A", "x", 1000, 1.0, 1.0), ("B", "x", 1200, 1.0, 1.0)))
    assert result.health.srm_p == pytest.approx(float(stats.chisquare([1000, 1200]).pvalue))
    assert result.health.blocked


def rates(*users: int | None, per_user: int = 1) -> OnlineResults:
    """Variants A, B … with so many users each, of whose trials a tenth succeeds."""
    rows = [
        (variant, "bought", n, None, None, per_user * (n or 1000) // 10, per_user * (n or 1000))
        for variant, n in zip("ABC", users, strict=False)
    ]
    return results_of_upload(summary(*rows))


def test_the_split_of_the_users_of_a_rate_is_checked_and_blocks_its_verdict() -> None:
    result = rates(1000, 1300)
    # chi-square of 1000 and 1300 against 1150 each, one degree of freedom
    assert result.health.srm_p == pytest.approx(math.erfc(math.sqrt(2 * 150**2 / 1150 / 2)))
    assert result.health.blocked
    assert result.health.srm_p < 1e-9
    assert {row.word for row in result.rows if not row.is_control} == {"not judged"}
    assert dict(result.users) == {"A": 1000, "B": 1300}
    assert not rates(1000, 1030).health.blocked


def test_of_trials_alone_it_is_said_that_they_are_no_users() -> None:
    result = rates(None, None)
    assert (result.health.srm_p, result.health.blocked) == (None, False)
    assert "counts trials rather than users" in result.health.unchecked
    assert dict(result.users) == {}


def trials_alone(*trials: int, split: Mapping[str, float] | None = None) -> OnlineResults:
    """Variants A, B … with so many trials each; every second one succeeds in the last, every tenth before."""
    succeeded = [n // (2 if place == len(trials) else 10) for place, n in enumerate(trials, start=1)]
    rows = [
        (variant, "bought", None, None, None, successes, n)
        for variant, successes, n in zip("ABC", succeeded, trials, strict=False)
    ]
    return results_of_upload(summary(*rows), rules=OnlineRules(split=split or {}))


def test_uneven_trials_without_users_block_the_verdict_that_takes_each_for_a_user() -> None:
    found = trials_alone(1000, 1300)
    assert found.health.blocked
    assert found.health.srm_p == pytest.approx(float(stats.chisquare([1000, 1300]).pvalue))
    assert row(found, "B").word == "not judged"
    (warning,) = found.health.warnings
    assert warning in found.notices
    assert "If the trials of 'bought' are users: Sample ratio mismatch (SRM): A 1,000" in str(warning)
    assert "column 'n'" in warning.fix
    assert dict(found.users) == {}


def test_even_trials_or_those_of_a_planned_split_are_judged() -> None:
    for found in (trials_alone(1000, 1030), trials_alone(1000, 1300, split={"A": 10, "B": 13})):
        assert (found.health.srm_p, found.health.blocked) == (None, False)
        assert row(found, "B").word == "better"


def test_uneven_trials_block_nothing_where_users_are_known_of_another_metric() -> None:
    found = results_of_upload(
        summary(("A", "spend", 1000, 1.0, 1.0), ("B", "spend", 1010, 1.0, 1.0),
                ("A", "clicks", None, None, None, 100, 5000), ("B", "clicks", None, None, None, 300, 6000))
    )  # fmt: skip
    assert not found.health.blocked


def test_users_are_known_only_where_each_variant_says_them() -> None:
    assert rates(1000, None).health.srm_p is None
    assert rates(1000).health.unchecked == "there is one variant"


def test_the_least_likely_split_of_several_metrics_decides() -> None:
    result = results_of_upload(
        summary(("A", "spend", 1000, 1.0, 1.0), ("B", "spend", 1010, 1.0, 1.0),
                ("A", "bought", 1000, None, None, 100, 1000), ("B", "bought", 1300, None, None, 130, 1300))
    )  # fmt: skip
    assert result.health.blocked
    assert "B 1,300" in str(result.health.warnings[0])
    # the users of the test are the most that a metric counts: 2,300 of bought, 2,010 of spend
    assert dict(result.users) == {"A": 1000, "B": 1300}


AFTER_ACTIVATION = summary(
    ("A", "spend", 9000, 1.0, 1.0), ("B", "spend", 9100, 1.1, 1.0),
    ("A", "bought", 4000, 1.0, 1.0), ("B", "bought", 4100, 1.1, 1.0),
)  # fmt: skip


def test_users_are_those_of_the_largest_population_and_each_metric_has_its_own() -> None:
    result = results_of_upload(AFTER_ACTIVATION)
    assert dict(result.users) == {"A": 9000, "B": 9100}
    assert result.users_of_pair("B") == result.users_of_pair("B", "spend") == 18100
    assert result.users_of_pair("B", "bought") == 8100
    splits = [(population.metrics, population.srm_p) for population in result.health.populations]
    assert splits == [
        (("spend",), pytest.approx(float(stats.chisquare([9000, 9100]).pvalue))),
        (("bought",), pytest.approx(float(stats.chisquare([4000, 4100]).pvalue))),
    ]
    assert result.health.srm_p == splits[0][1]
    assert not result.health.blocked


def test_a_smaller_population_that_is_split_unevenly_blocks_and_is_named() -> None:
    result = results_of_upload(
        summary(("A", "spend", 9000, 1.0, 1.0), ("B", "spend", 9010, 1.0, 1.0),
                ("A", "bought", 4000, 1.0, 1.0), ("B", "bought", 4500, 1.0, 1.0))
    )  # fmt: skip
    assert result.health.srm_p == pytest.approx(float(stats.chisquare([9000, 9010]).pvalue))
    assert result.health.blocked
    (warning,) = result.health.warnings
    assert warning.place == "users per variant of bought"
    assert "B 4,500" in warning.found


def test_metrics_of_the_same_users_are_one_population() -> None:
    result = results_of_upload(
        summary(("A", "spend", 900, 1.0, 1.0), ("B", "spend", 910, 1.0, 1.0),
                ("A", "bought", 900, 1.0, 1.0), ("B", "bought", 910, 1.0, 1.0))
    )  # fmt: skip
    assert result.health.populations == ()


def test_each_metric_of_two_of_three_variants_has_the_planned_shares_of_its_own() -> None:
    result = results_of_upload(
        summary(("A", "spend", 2000, 1.0, 1.0), ("B", "spend", 1010, 1.0, 1.0),
                ("A", "bought", 2000, 1.0, 1.0), ("C", "bought", 1500, 1.0, 1.0)),
        rules=OnlineRules(split={"A": 2, "B": 1, "C": 1}),
    )  # fmt: skip
    of_spend, of_bought = (
        stats.chisquare(n, np.array([2, 1]) / 3 * sum(n)).pvalue for n in ((2000, 1010), (2000, 1500))
    )
    splits = {population.metrics: population.srm_p for population in result.health.populations}
    assert splits == {("spend",): pytest.approx(of_spend), ("bought",): pytest.approx(of_bought)}
    with pytest.raises(InputError, match="planned split"):
        results_of_upload(
            summary(("A", "spend", 9, 1.0, 1.0), ("B", "spend", 9, 1.0, 1.0)),
            rules=OnlineRules(split={"A": 2, "B": 1, "C": 1}),
        )


def test_more_trials_than_users_are_not_independent_and_no_lift_is_judged() -> None:
    """Ten trials of each of 1,000 users are not 10,000 independent ones."""
    result = rates(1000, 1000, per_user=10)
    assert "repeated-trials" in {notice.code for notice in result.notices}
    assert (row(result, "B").lift_low, row(result, "B").p) == (None, None)
    assert "more trials than users" in row(result, "B").note
    assert row(result, "A").ci_low is None
    alone = rates(1000, 1000)
    assert row(alone, "B").lift_low is not None
    assert "independent-trials" not in {notice.code for notice in alone.notices}


def test_a_row_that_counts_no_user_is_refused() -> None:
    with pytest.raises(InputError, match="row 1: 'bought' counts 0 of 'A'"):
        rates(0, 1000)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("B", "x", 0, 1.0, 1.0), "row 2: 'x' counts 0 of 'B'"),
        (("B", "x", None, None, None, 5, 4), "row 2: 'x' has more successes than trials in 'B'"),
        (("B", "x", None, None, None, 0, 0), "row 2: 'x' counts 0 of 'B'"),
        (("A", "x", 10, 1.0, 1.0), "'x' of 'A' has 2 rows"),
    ],
)
def test_a_wrong_row_is_named_with_its_mistake(wrong: tuple[Any, ...], says: str) -> None:
    with pytest.raises(InputError) as caught:
        results_of_upload(summary(("A", "x", 10, 1.0, 1.0), wrong))
    assert says in str(caught.value)


def test_a_mean_over_users_is_preferred_to_trials() -> None:
    result = results_of_upload(summary(("A", "x", 10, 0.4, 0.2, 50, 100), ("B", "x", 10, 0.5, 0.2, 60, 100)))
    assert (row(result, "A").value, row(result, "A").n_users) == (0.4, 10)
    assert result.notices == ()


def test_the_template_is_a_test_with_results() -> None:
    table = pyarrow.csv.read_csv(io.BytesIO(templates()["aggregates"].encode()))
    result = results_of_upload(Upload("aggregates", "template.csv", table, {}))
    assert {row.metric for row in result.rows} == {"session_watch_time", "click_rate"}
    assert all(row.lift_low is not None for row in result.rows if not row.is_control)


# ── what cannot be ───────────────────────────────────────────────────────────────────────────

HEAD = "variant,metric,n,mean,variance,successes,trials\n"
FAIR = "A,m,100,1,2,,\n"


def refused(rows: str) -> str:
    with pytest.raises(InputError) as error:
        read_upload("aggregates", f"{HEAD}{rows}".encode())
    return str(error.value)


def notices(rows: str) -> str:
    upload = read_upload("aggregates", f"{HEAD}{rows}".encode())
    return "\n".join(map(str, (*upload.notices, *results_of_upload(upload).notices)))


@pytest.mark.parametrize(
    ("cells", "column"),
    [("1e300,1,2,,", "n"), ("100,1e300,2,,", "mean"), ("100,-1e300,2,,", "mean"),
     ("100,1,1e300,,", "variance"), (",,,3,1e301", "trials"), (",,,1e301,5", "successes"),
     ("inf,1,2,3,5", "n"), ("9,1,inf,3,5", "variance")],
)  # fmt: skip
def test_numbers_that_no_test_has_are_refused_with_metric_and_variant(cells: str, column: str) -> None:
    message = refused(f"{FAIR}B,m,{cells}\n")
    assert f"column '{column}': '" in message
    assert "is larger than any test can have ('m' of 'B'), in 1 row" in message


@pytest.mark.parametrize(
    ("cells", "found"),
    [("100.5,1,2,,", "column 'n': '100.5'"), (",,,0.5,0.6", "column 'trials': '0.6'")],
)
def test_users_and_trials_are_whole(cells: str, found: str) -> None:
    assert f"{found} is not a whole number of users or trials" in refused(f"{FAIR}B,m,{cells}\n")


def test_two_sets_of_one_row_that_disagree_are_said() -> None:
    agreeing = "A,ctr,100,0.3,0.21,30,100\n"
    said = "n and mean contradict successes and trials in 1 row. n, mean and variance are used"
    assert said in notices(f"{agreeing}B,ctr,100,0.4,0.24,45,100\n")
    assert said in notices(f"{agreeing}B,ctr,100,0.4,0.24,80,200\n")
    assert said in notices(f"{agreeing}B,ctr,100,0.4,0.24,0,0\n")
    assert "something else" not in notices(f"{agreeing}B,ctr,100,0.4,0.24,40,100\n")


def test_a_share_above_one_is_said() -> None:
    said = "'engagement_rate' of 'B' is 31.2, but a share is between 0 and 1"
    assert said in notices("A,engagement_rate,100,0.3,0.2,,\nB,engagement_rate,100,31.2,20,,\n")
    assert "a share" not in notices("A,engagement_rate,100,0.3,0.2,,\nB,engagement_rate,100,1,0.2,,\n")
    assert "a share" not in notices("A,session_watch_time,100,30,9,,\nB,session_watch_time,100,31,9,,\n")
