"""What large values of a few users mean for a lift: the capped and the trimmed lift, and notices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recdash

N = 2_000


def shop(revenue: np.ndarray) -> pd.DataFrame:
    """A table of users, every second one in the new variant."""
    variant = np.where(np.arange(len(revenue)) % 2, "new", "control")
    return pd.DataFrame(
        {"user_id": [f"u{n}" for n in range(len(revenue))], "variant": variant, "revenue": revenue}
    )


def amounts(sigma: float, n: int = N, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(1, sigma, n).round(2)


def told(test: Any, code: str) -> list[str]:
    return [notice.found for notice in test.value_notices if notice.code == code]


def test_one_user_with_more_than_a_tenth_of_a_variant_is_noticed_with_the_capped_lift() -> None:
    revenue = amounts(0.3)
    revenue[1] = 700.0
    test = recdash.ab_test(sessions=shop(revenue))
    of_new = revenue[1::2]
    share = 100 * 700 / of_new.sum()
    assert 10 < share < 20
    (text,) = told(test, "one-user-decides")
    assert text.startswith(f"one user has {share:.3g} % of the total of 'new'.")
    cap = np.quantile(revenue, 0.99, method="lower")
    capped = np.minimum(revenue, cap)
    lift = capped[1::2].mean() / capped[::2].mean() - 1
    assert (
        f"with values above {cap:.3g} counted as {cap:.3g}, it is {100 * lift:+.2f} %".replace("-", "−")
        in text
    )


def test_skewed_values_of_few_users_are_noticed_with_the_number_that_is_needed() -> None:
    revenue = amounts(1.2)
    test = recdash.ab_test(sessions=shop(revenue))
    (text,) = told(test, "skewed-values")
    rest = revenue - revenue.mean()
    needed = int(np.ceil(355 * stats.skew(rest) ** 2))  # Kohavi's rule
    assert needed > N / 2
    assert (
        f"a variant has 1,000 users. A normal approximation of values this skewed needs {needed:,}," in text
    )


@pytest.mark.parametrize("kind", ["normal", "rate", "capped", "few"])
def test_nothing_is_said_of_values_that_many_users_carry(kind: str) -> None:
    values = {
        "normal": 50 + 5 * np.random.default_rng(1).standard_normal(N),
        "rate": (np.random.default_rng(1).random(N) < 0.001).astype(float),
        "capped": amounts(1.2),
        "few": amounts(0.1, 18),
    }[kind]
    metrics = []
    if kind == "capped":
        from recdash.online import OnlineMetric

        metrics = [OnlineMetric("revenue", "Revenue", "", "", "revenue", cap=20.0)]
    test = recdash.ab_test(sessions=shop(values), metrics=metrics)
    assert not told(test, "one-user-decides") + told(test, "skewed-values")


def test_the_trimmed_lift_leaves_out_one_user_of_a_thousand() -> None:
    revenue = amounts(1.0)
    (row,) = recdash.ab_test(sessions=shop(revenue)).large_values().records()
    order = np.argsort(revenue)
    kept = np.sort(order[: N - 2])
    lift = revenue[kept[kept % 2 == 1]].mean() / revenue[kept[kept % 2 == 0]].mean() - 1
    assert row["trimmed"] == pytest.approx(lift, rel=1e-9)
    assert row["trimmed_low"] < lift < row["trimmed_high"]
    assert row["top_user"] == pytest.approx(
        max(side.max() / side.sum() for side in (revenue[::2], revenue[1::2]))
    )
    assert row["lift"] == pytest.approx(revenue[1::2].mean() / revenue[::2].mean() - 1)


def test_below_a_thousand_users_nobody_is_left_out() -> None:
    (row,) = recdash.ab_test(sessions=shop(amounts(1.0, 998))).large_values().records()
    assert row["trimmed"] is None


def test_without_values_in_one_of_a_hundred_users_there_is_no_capped_lift() -> None:
    revenue = np.zeros(N)
    revenue[:15] = 10.0 * np.arange(1, 16)
    (row,) = recdash.ab_test(sessions=shop(revenue)).large_values().records()
    assert (row["cap"], row["capped"]) == (None, None)
