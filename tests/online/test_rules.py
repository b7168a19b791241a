"""The rules by which an A/B test's sessions are counted: tables that can be checked by eye."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from recdash.errors import InputError
from recdash.online import OnlineRules
from recdash.online.analysis.results import of_users
from recdash.online.logs.sessions import per_user
from recdash.online.users import OnlineUsers

MINUTE, DAY = 60, 86_400
DAY_1 = 20_000  # days since 1970: the first of the test


def at(day: int, minutes: float = 0.0) -> float:
    """Seconds since 1970 of a minute of the test's day, the first being 1."""
    return (DAY_1 + day - 1) * DAY + minutes * MINUTE


def sessions(*rows: tuple[Any, ...], **further: list[Any]) -> pa.Table:
    """Rows of unit, session, variant, start, clicks, seconds watched."""
    names = ("unit_id", "session_id", "variant", "start_ts", "clicks", "watch_s")
    return pa.table({**{name: [row[i] for row in rows] for i, name in enumerate(names)}, **further})


def exposures(*rows: tuple[str, str, float]) -> pa.Table:
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(("unit_id", "variant", "ts"))})


def total(users: OnlineUsers, name: str) -> dict[str, float]:
    return dict(zip(map(str, users.unit), users.totals[name].tolist(), strict=True))


def before(users: OnlineUsers, name: str) -> dict[str, float]:
    return dict(zip(map(str, users.unit), users.before[name].tolist(), strict=True))


def removed(users: OnlineUsers, rule: str) -> dict[str, int]:
    return next((dict(one.by_variant) for one in users.removed if one.rule == rule), {})


# ── from the exposure on ─────────────────────────────────────────────────────────────────────


def test_the_session_in_which_the_exposure_fires_counts_though_it_began_before() -> None:
    # Exposed 20 minutes after the start: a minute was watched, and the grace is half an hour.
    table = sessions(
        ("u1", "a", None, at(1, 0), 1, 60.0),
        ("u1", "b", None, at(1, 600), 1, 60.0),
        ("u2", "c", None, at(1, 0), 1, 60.0),
    )
    seen = exposures(("u1", "A", at(1, 20)), ("u2", "B", at(1, 60)))
    assert total(per_user(table, OnlineRules(), seen), "sessions") == {"u1": 2, "u2": 0}
    assert before(per_user(table, OnlineRules(), seen), "sessions") == {"u1": 0, "u2": 1}
    assert total(per_user(table, OnlineRules(grace_min=60), seen), "sessions") == {"u1": 2, "u2": 1}
    assert total(per_user(table, OnlineRules(grace_min=18), seen), "sessions") == {"u1": 1, "u2": 0}


def test_a_session_is_open_until_its_last_event() -> None:
    table = sessions(("u1", "a", None, at(1, 0), 1, 60.0), ("u2", "b", None, at(1, 0), 1, 60.0))
    table = table.append_column("end_ts", pa.array([at(1, 50), at(1, 10)]))
    seen = exposures(("u1", "A", at(1, 60)), ("u2", "B", at(1, 60)))
    assert total(per_user(table, OnlineRules(), seen), "sessions") == {"u1": 1, "u2": 0}


def test_exposures_that_name_their_session_leave_nothing_to_the_grace() -> None:
    # b was over five minutes before the exposure and is not the one named; a is.
    table = sessions(
        ("u1", "b", None, at(1, 0), 1, 60.0), ("u1", "a", None, at(1, 2), 1, 60.0),
        ("u2", "c", None, at(2, 0), 0, 0.0),
    )  # fmt: skip
    seen = pa.table(
        {"unit_id": ["u1", "u1", "u2"], "variant": ["A", "A", "B"],
         "ts": [at(1, 5), at(3), at(1)], "session_id": ["a", "z", None]}
    )  # fmt: skip
    result = per_user(table, OnlineRules(), seen)
    assert total(result, "sessions") == {"u1": 1, "u2": 1}
    assert before(result, "sessions") == {"u1": 1, "u2": 0}


def test_who_was_exposed_and_never_came_counts_with_nothing() -> None:
    table = sessions(("u1", "a", None, at(2), 2, 120.0), ("u3", "c", None, at(2), 9, 9.0))
    seen = exposures(("u1", "A", at(1)), ("u2", "A", at(1)), ("u4", "B", at(1)))
    result = per_user(table, OnlineRules(), seen)
    assert total(result, "sessions") == {"u1": 1, "u2": 0, "u4": 0}
    assert result.n == {"A": 2, "B": 1}
    (notice,) = [one for one in result.notices if one.code == "never-exposed"]
    assert notice.count == 1  # u3


def test_the_first_exposure_counts_and_one_in_another_variant_excludes() -> None:
    table = sessions(("u1", "a", None, at(2), 1, 0.0), ("u2", "b", None, at(2), 1, 0.0))
    seen = exposures(
        ("u1", "A", at(5)), ("u1", "A", at(2)), ("u2", "A", at(1)), ("u2", "B", at(9)), ("u3", "B", at(1))
    )
    result = per_user(table, OnlineRules(), seen)
    assert total(result, "sessions") == {"u1": 1, "u3": 0}
    assert result.exposed.tolist() == [DAY_1 + 1, DAY_1]
    assert result.crossed == 1
    assert result.assigned == {"A": 1, "B": 1}


def test_ids_that_are_numbers_in_one_table_and_text_in_the_other_meet() -> None:
    table = sessions((7, "a", None, at(2), 1, 0.0), (8, "b", None, at(2), 1, 0.0))
    result = per_user(table, OnlineRules(), exposures(("7", "A", at(1)), ("8", "B", at(1))))
    assert total(result, "sessions") == {"7": 1, "8": 1}


# ── sessions alone ───────────────────────────────────────────────────────────────────────────


def test_sessions_before_the_test_began_are_the_time_before_whatever_their_variant() -> None:
    table = sessions(
        ("u1", "a", "B", at(1), 3, 600.0), ("u1", "b", "A", at(3), 1, 60.0), ("u2", "c", "B", at(3), 0, 0.0),
        ("u3", "d", "A", at(1), 1, 60.0),
    )  # fmt: skip
    result = per_user(table, OnlineRules(starts="2024-10-06"))  # the 20,002nd day, which is the third here
    assert total(result, "clicks") == {"u1": 1, "u2": 0}
    assert before(result, "watch_min") == {"u1": 600 / 60, "u2": 0}
    assert result.crossed == 0
    assert removed(result, "before") == {"A": 1, "B": 0}


def test_a_test_that_begins_after_all_sessions_holds_nobody() -> None:
    table = sessions(("u1", "a", "A", at(1), 1, 1.0), ("u2", "b", "B", at(1), 1, 1.0))
    with pytest.raises(InputError, match="No user was seen in a variant during the test"):
        per_user(table, OnlineRules(starts="2030-01-01"))


def test_without_variant_and_exposures_it_is_said_what_is_missing() -> None:
    table = sessions(("u1", "a", "A", at(1), 1, 1.0)).drop_columns(["variant"])
    with pytest.raises(InputError, match="no column variant says which variant users saw"):
        per_user(table)


def test_further_numbers_are_added_up_and_further_texts_tell_users_apart() -> None:
    table = sessions(
        ("u1", "a", "A", at(1), 1, 1.0), ("u1", "b", "A", at(2), 1, 1.0), ("u2", "c", "B", at(1), 1, 1.0),
        ads=[2, 3, 4], country=[None, "SE", "PT"],
    )  # fmt: skip
    result = per_user(table)
    assert total(result, "ads") == {"u1": 5, "u2": 4}
    country = result.segments["country"]
    assert [country.labels[code] for code in country.label] == ["SE", "PT"]


def test_a_row_outside_sessions_adds_its_numbers_and_no_session() -> None:
    table = sessions(
        ("u1", "a", "A", at(1), 1, 60.0), ("u1", None, "A", at(1), None, None),
        ("u1", None, "A", at(1), None, None), ("u2", "b", "B", at(1), 0, 0.0),
        lists=[None, 1, 1, None],
    )  # fmt: skip
    result = per_user(table)
    assert total(result, "lists") == {"u1": 2, "u2": 0}
    assert total(result, "sessions") == {"u1": 1, "u2": 1}


# ── machines, heavy users, days ──────────────────────────────────────────────────────────────


def busy(unit: str, variant: str, day: int, clicks: int, n_sessions: int = 1) -> list[tuple[Any, ...]]:
    return [(unit, f"{unit}-{day}-{i}", variant, at(day), clicks, 60.0) for i in range(n_sessions)]


def test_who_clicks_more_in_a_day_than_the_rule_allows_is_left_out_and_counted() -> None:
    rows = [
        *busy("bot", "B", 1, clicks=30, n_sessions=2),  # 60 in one day
        *busy("fan", "A", 1, clicks=40), *busy("fan", "A", 2, clicks=40),  # 80, on two days
        *busy("new", "B", 1, clicks=1),
    ]  # fmt: skip
    result = per_user(sessions(*rows), OnlineRules(bot_clicks=50))
    assert total(result, "clicks") == {"fan": 80, "new": 1}
    assert removed(result, "bots") == {"A": 0, "B": 1}
    assert result.assigned == {"A": 1, "B": 2}
    assert set(total(per_user(sessions(*rows), OnlineRules(bot_clicks=None)), "clicks")) == {
        "bot",
        "fan",
        "new",
    }
    assert set(total(per_user(sessions(*rows), OnlineRules(bot_clicks=60)), "clicks")) == {
        "bot",
        "fan",
        "new",
    }


def test_who_comes_more_often_in_a_day_than_the_rule_allows_is_left_out() -> None:
    rows = [*busy("bot", "B", 1, 0, n_sessions=4), *busy("new", "B", 1, 1), *busy("old", "A", 1, 1, 3)]
    result = per_user(sessions(*rows), OnlineRules(bot_sessions=3))
    assert set(total(result, "sessions")) == {"new", "old"}


def test_a_test_of_machines_alone_is_refused() -> None:
    with pytest.raises(InputError, match="All 2 users do more in a day"):
        per_user(sessions(*busy("x", "A", 1, 9), *busy("y", "B", 1, 9)), OnlineRules(bot_clicks=8))


def test_totals_beyond_the_quantile_are_cut_in_all_variants_alike() -> None:
    # Seconds of five users: 60, 120, 180, 240, 6000. Their upper quartile is 240.
    rows = [
        (f"u{i}", f"s{i}", "AB"[i % 2], at(1), 1, seconds)
        for i, seconds in enumerate((60.0, 120.0, 180.0, 240.0, 6000.0))
    ]
    result = per_user(sessions(*rows), OnlineRules(winsorise=0.75))
    assert total(result, "watch_min") == {"u0": 1, "u1": 2, "u2": 3, "u3": 4, "u4": 4}
    assert total(result, "sessions")["u4"] == 1


@pytest.mark.parametrize("rules", [OnlineRules(), OnlineRules(winsorise=0.8)])
def test_the_days_add_up_to_the_totals(rules: OnlineRules) -> None:
    rng = np.random.default_rng(3)
    n = 400
    unit = rng.integers(0, 60, n)
    table = pa.table(
        {"unit_id": unit, "session_id": np.arange(n), "variant": np.where(unit % 2, "A", "B").tolist(),
         "start_ts": at(1) + rng.integers(0, 9 * DAY, n), "clicks": rng.poisson(2, n),
         "watch_s": rng.gamma(0.5, 900, n), "ads": rng.poisson(1, n)}
    )  # fmt: skip
    result = per_user(table, rules)
    assert len(result.days.day) < n
    for name, values in result.totals.items():
        of_days = np.bincount(result.days.unit, result.days.totals[name], minlength=len(result))
        np.testing.assert_allclose(of_days, values)
    first = [result.days.day[result.days.unit == user].min() for user in range(len(result))]
    assert result.exposed.tolist() == first


def test_the_order_of_rows_changes_nothing_but_which_of_two_equal_sessions_counts() -> None:
    rng = np.random.default_rng(5)
    rows = [(f"u{i % 9}", f"s{i}", "AB"[i % 9 % 2], at(1 + i % 4), i % 3, 60.0 * i) for i in range(50)]
    straight = per_user(sessions(*rows))
    mixed = per_user(sessions(*[rows[i] for i in rng.permutation(len(rows))]))
    for name in straight.totals:
        assert total(straight, name) == pytest.approx(total(mixed, name))


# ── edges of the rules ───────────────────────────────────────────────────────────────────────


def test_who_was_exposed_without_a_time_counts_also_where_the_test_has_a_first_day() -> None:
    table = sessions(
        ("u1", "a", "A", at(1), 1, 60.0), ("u1", "b", "A", at(3), 1, 60.0),
        ("u2", None, "B", None, None, None),
    )  # fmt: skip
    result = per_user(table, OnlineRules(starts="2024-10-06"))  # the third day here
    assert result.assigned == {"A": 1, "B": 1}
    assert total(result, "sessions") == {"u1": 1, "u2": 0}


def test_the_first_day_begins_where_the_log_was_written() -> None:
    # Midnight in Berlin is 22:00 of the day before in UTC, in October.
    table = sessions(("u1", "a", "A", at(2, 22.5 * 60), 1, 60.0), ("u2", "b", "B", at(3, 600), 1, 60.0))
    assert per_user(table, OnlineRules(starts="2024-10-06", zone="Europe/Berlin")).n == {"A": 1, "B": 1}
    assert per_user(table, OnlineRules(starts="2024-10-06")).n == {"B": 1}


def test_a_session_lasts_as_long_as_was_watched_in_it() -> None:
    # Begun 80 minutes before the exposure: 60 minutes watched leave it open, 40 do not.
    table = sessions(("u1", "a", None, at(1, 0), 1, 3600.0), ("u2", "b", None, at(1, 0), 1, 2400.0))
    seen = exposures(("u1", "A", at(1, 80)), ("u2", "B", at(1, 80)))
    assert total(per_user(table, OnlineRules(), seen), "sessions") == {"u1": 1, "u2": 0}


def test_only_the_last_session_that_had_begun_can_hold_the_exposure() -> None:
    table = sessions(("u1", "a", None, at(1, 0), 1, 60.0), ("u1", "b", None, at(1, 20), 1, 60.0))
    result = per_user(table, OnlineRules(), exposures(("u1", "A", at(1, 25)), ("u2", "B", at(1))))
    assert total(result, "sessions") == {"u1": 1, "u2": 0}
    assert before(result, "sessions") == {"u1": 1, "u2": 0}


def test_a_total_that_few_users_have_is_not_cut_to_nothing() -> None:
    rows = [(f"u{i}", f"s{i}", "AB"[i % 2], at(1), 0, 60.0) for i in range(100)]
    table = sessions(*rows, plays=[3 if i == 7 else 0 for i in range(100)])
    result = per_user(table, OnlineRules(winsorise=0.9))
    assert result.totals["plays"].sum() == 3
    assert [notice.code for notice in result.notices if notice.code == "not-winsorised"] == ["not-winsorised"]


def test_lists_are_not_cut() -> None:
    lists = [1] * 9 + [50]
    rows = [(f"u{i}", None, "AB"[i % 2], at(1), None, None) for i in range(10)]
    users = [(f"u{i}", f"s{i}", "AB"[i % 2], at(1), 1, 60.0) for i in range(10)]
    table = sessions(*rows, *users, lists=[*lists, *[None] * 10])
    assert per_user(table, OnlineRules(winsorise=0.8)).totals["lists"].sum() == sum(lists)


@pytest.mark.parametrize("emptied", ["A", "B"])
def test_a_variant_of_machines_alone_is_named_and_the_others_are_counted(emptied: str) -> None:
    rows = [(f"u{i}", f"s{i}", v, at(1), 90 if v == emptied else 1, 60.0) for i, v in enumerate("AABBCC")]
    result = per_user(sessions(*rows), OnlineRules(bot_clicks=50))
    assert result.variants == tuple(v for v in "ABC" if v != emptied)
    assert result.assigned == {"A": 2, "B": 2, "C": 2}
    (notice,) = [one for one in result.notices if one.code == "variant-without-users"]
    assert f"'{emptied}'" in notice.found
    results = of_users(result)
    assert {row.variant for row in results.rows} == set(result.variants)


def test_a_session_that_went_on_after_the_exposure_counts_though_another_was_named() -> None:
    # On two devices at once: a was open when the exposure fired in b.
    table = sessions(("u1", "a", None, at(1, 0), 1, 60.0), ("u1", "b", None, at(1, 5), 1, 60.0))
    table = table.append_column("end_ts", pa.array([at(1, 30), at(1, 40)]))
    seen = pa.table({"unit_id": ["u1", "u2"], "variant": ["A", "B"], "ts": [at(1, 6), at(1)],
                     "session_id": ["b", None]})  # fmt: skip
    assert total(per_user(table, OnlineRules(), seen), "sessions") == {"u1": 2, "u2": 0}
