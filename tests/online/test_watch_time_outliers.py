"""Users whose watch time is impossible, or far beyond that of all others, are noticed and count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.errors import Problem
from recdash.online import OnlineRules

N = 400


def sessions(seed: int = 5) -> pd.DataFrame:
    """One session of each of 400 users, on one of 7 days: lognormal hours, at most about six."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "unit_id": [f"u{user}" for user in range(N)],
            "session_id": [f"s{user}" for user in range(N)],
            "variant": np.where(np.arange(N) % 2, "new", "control"),
            "start_ts": [f"2026-03-{2 + user % 7:02d}T12:00:00Z" for user in range(N)],
            "clicks": np.arange(N) % 3,
            "watch_s": np.minimum(rng.lognormal(7, 0.8, N), 20_000.0).round(),
        }
    )


def results(table: pd.DataFrame, **how: Any) -> Any:
    return recdash.ab_test(sessions=table.to_csv(index=False).encode(), control="control", **how)


def notices(table: pd.DataFrame, **how: Any) -> list[Problem]:
    test = results(table, **how)
    return [notice for notice in test.value_notices if notice.code == "watch-time-outliers"]


def with_session(table: pd.DataFrame, user: int, hours: float, number: int = 1) -> pd.DataFrame:
    """Returns the table with ``number`` more sessions of a user on the day of the first one."""
    row = table.iloc[[user]]
    more = [row.assign(session_id=f"t{user}-{place}", watch_s=3600 * hours) for place in range(number)]
    return pd.concat([table, *more], ignore_index=True)


def test_usual_watch_times_are_not_noticed() -> None:
    assert notices(sessions()) == []


def test_more_than_a_day_of_watch_time_on_one_day_is_noticed_with_its_effect() -> None:
    """Three sessions of ten hours are more than 24 hours; without the user the lift is that of the others."""
    table = sessions()
    table.loc[1, "watch_s"] = 0.0
    (notice,) = notices(with_session(table, 1, 10, number=3))
    assert (notice.count, notice.example) == (1, "u1")
    assert notice.found.startswith(
        "implausible watch time of 1 user (control 0, new 1): 1 more than 24 hours on one day. "
        "'u1' has 30.0 hours, 30.0 of them on 3 Mar 2026. The lift of 'new' in 'Engagement rate' is "
    )
    others = table.drop(index=1)
    of_new, of_control = (others.watch_s[others.variant == name].mean() for name in ("new", "control"))
    without = f"{100 * (of_new / of_control - 1):+.1f}".replace("-", "−")
    assert "in 'Session watch time' is +" in notice.found
    assert f"; without these users, it is {without}" in notice.found.split("'Session watch time'")[1]


def test_a_day_of_watch_time_over_two_days_is_possible() -> None:
    """Thirteen hours on each of two days: 26 in all."""
    table = sessions()
    table.loc[1, "watch_s"] = 13 * 3600
    later = table.iloc[[1]].assign(session_id="later", start_ts="2026-03-04T12:00:00Z")
    assert notices(pd.concat([table, later], ignore_index=True)) == []


def test_the_users_count() -> None:
    table = with_session(sessions(), 1, 30)
    test = results(table)
    (row,) = [row for row in test.rows if (row.metric, row.variant) == ("session_watch_time", "new")]
    of_new = table.watch_s[table.variant == "new"]
    assert row.value == pytest.approx(of_new.mean() / 60)
    assert "watch-time-outliers" not in {notice.code for notice in test.notices}  # those are stored


def test_far_more_than_others_is_noticed_without_times() -> None:
    """Six standard deviations of the logarithm (.8) are about 120 times the median of 18 minutes."""
    table = sessions().drop(columns="start_ts")
    table.loc[2, "watch_s"] = 500 * table.watch_s.median()
    (notice,) = notices(table)
    assert "1 user (control 1, new 0)" in notice.found
    assert "1 far more than all others. 'u2' has " in notice.found
    table.loc[2, "watch_s"] = 60 * table.watch_s.median()
    assert notices(table) == []


def test_watch_times_that_are_alike_are_no_reason() -> None:
    """All ten minutes but one of three hours: 18 times the median."""
    table = sessions().assign(watch_s=600.0)
    table.loc[2, "watch_s"] = 3 * 3600
    assert notices(table) == []


def test_the_notice_can_refuse_the_test() -> None:
    table = with_session(sessions(), 1, 30)
    with pytest.raises(recdash.errors.InputError, match="'watch-time-outliers' are refused"):
        results(table, refuse="watch-time-outliers")


def test_tests_that_were_stored_before_have_no_new_notice() -> None:
    assert notices(with_session(sessions(), 1, 30), rules=OnlineRules(delta_method=True)) == []


def test_watch_times_of_all_magnitudes_are_no_reason() -> None:
    """From 1e-300 seconds to a quarter of an hour: no watch time is far above a spread of 300 digits."""
    exponent = np.random.default_rng(2).uniform(-300, 3, N)
    assert notices(sessions().assign(watch_s=10**exponent)) == []


def test_a_lift_that_no_users_are_left_for_is_not_stated() -> None:
    """All users of the variant have more than a day, and no user of the control clicks."""
    table = sessions()
    of_new = table.variant == "new"
    table["watch_s"] = table.watch_s.where(~of_new, 30 * 3600)
    table["clicks"] = of_new.astype(int)
    (notice,) = notices(table)
    assert "'Engagement rate'" not in notice.found
    assert notice.found.endswith("; without these users, there is none")
