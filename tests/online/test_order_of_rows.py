"""The order of the rows of any file changes no number: of runs, test sets and all kinds of logs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.demo.ab_tests.ab_tests import simulate

Tables = Mapping[str, pd.DataFrame]
Answer = dict[str, Any]
ROUNDED = 1e-12
"""Sums of the same numbers in another order differ in the last digits."""


def of_test(test: Any) -> Answer:
    """Everything that a test answers."""
    tables = {
        "results": test, "segments": test.segments(), "days": test.days(), "power": test.power(),
        "chance": test.chance_to_win(),
    }  # fmt: skip
    return {name: answer.table().to_dict("list") for name, answer in tables.items()} | {
        "warnings": [str(problem) for problem in test.health.warnings],
        "notices": [str(problem) for problem in test.notices],
        "users": dict(test.users),
        "removed": [(removed.rule, dict(removed.by_variant)) for removed in test.removed],
    }


def sessions_and_events() -> tuple[Tables, Tables]:
    """A test's sessions, and its exposures, events and served lists.

    Times are equal, rows repeated, users in both variants, and segments of users change.
    """
    rng = np.random.default_rng(2)
    made = simulate(400, 5, events=True)

    def disturbed(frame: pd.DataFrame, time: str, every: str) -> pd.DataFrame:
        frame = frame.assign(**{time: frame[time].dt.floor(every)})
        for name in ("country", "platform", "variant"):
            if name in frame:
                labels = frame[name].astype(str)
                other = labels.sample(frac=1, random_state=3).to_numpy()
                frame[name] = np.where(rng.random(len(frame)) < 0.03, other, labels)
        return pd.concat([frame, frame.sample(20, random_state=1)], ignore_index=True)

    logs = made.logs
    return {"sessions": disturbed(made.sessions.to_pandas(), "start_ts", "h")}, {
        "exposures": disturbed(logs.exposures.to_pandas(), "ts", "h"),
        "events": disturbed(logs.events.to_pandas(), "ts", "min"),
        "served": logs.served.to_pandas(),
    }


def users() -> Tables:
    rng, n = np.random.default_rng(1), 300
    table = pd.DataFrame(
        {
            "user_id": [f"u{number}" for number in range(n)],
            "variant": np.where(np.arange(n) % 2, "new", "control"),
            "revenue": rng.lognormal(1, 1, n) * (rng.random(n) < 0.5),
            "orders": rng.poisson(0.7, n),
            "pre_revenue": rng.lognormal(1, 1, n),
            "device": rng.choice(["phone", "tablet"], n),
        }
    )
    return {"sessions": table}


def aggregates() -> Tables:
    by_user = users()["sessions"]
    days = pd.Timestamp("2026-11-02") + pd.to_timedelta(np.arange(len(by_user)) // 2 % 3, "D")
    rows = by_user.assign(day=days).groupby(["day", "device", "variant"]).revenue
    table = rows.agg(["count", "sum"]).assign(sum_squares=rows.agg(lambda values: (values**2).sum()))
    table = table.rename(columns={"count": "n", "sum": "revenue_sum", "sum_squares": "revenue_sum_squares"})
    return {"aggregates": table.reset_index()}


def bandit_log() -> Tables:
    rng, n = np.random.default_rng(4), 2_000
    log = pd.DataFrame(
        {
            "item_id": rng.integers(0, 8, n),
            "click": (rng.random(n) < 0.2).astype(int),
            "propensity_score": rng.uniform(0.05, 0.4, n),
            "position": rng.integers(1, 4, n),
            "user_id": rng.integers(0, 150, n),
        }
    )
    return {"log": log, "target": pd.DataFrame({"item_id": range(8), "probability": np.arange(8) / 28})}


def candidates() -> Tables:
    rng = np.random.default_rng(6)
    pairs = [(user, item) for user in range(40) for item in rng.permutation(30)[:10]]
    run = pd.DataFrame(pairs, columns=["user_id", "item_id"])
    return {
        "ranked": run.assign(rank=run.groupby("user_id").cumcount() + 1),
        # Without ties: equal scores keep the order of the file, unless another rule is chosen.
        "scored": run.assign(score=rng.permutation(len(run)) / 4),
        "truth": pd.DataFrame({"user_id": rng.integers(0, 45, 200), "item_id": rng.integers(0, 30, 200)}),
        "train": pd.DataFrame({"user_id": rng.integers(0, 45, 300), "item_id": rng.integers(0, 30, 300)}),
        "catalogue": pd.DataFrame({"item_id": range(30), "genre": rng.choice(["a", "b"], 30)}),
    }


def evaluated(ranked: Any, scored: Any, truth: Any, train: Any, catalogue: Any) -> Answer:
    evaluation = recdash.evaluate(
        {"ranked": ranked, "scored": scored}, truth, train=train, catalogue=catalogue
    )
    return {"scores": evaluation.table().to_dict("list")}


def estimated(log: Any, target: Any) -> Answer:
    return recdash.ope(log, target).as_dict()


SESSIONS, EVENTS = sessions_and_events()
KINDS: Mapping[str, tuple[Tables, Callable[..., Answer]]] = {
    "sessions": (SESSIONS, lambda **tables: of_test(recdash.ab_test(**tables))),
    "exposures, events and served lists": (EVENTS, lambda **tables: of_test(recdash.ab_test(**tables))),
    "users": (users(), lambda **tables: of_test(recdash.ab_test(**tables))),
    "aggregates": (aggregates(), lambda **tables: of_test(recdash.ab_test(**tables))),
    "bandit log": (bandit_log(), estimated),
    "candidates": (candidates(), evaluated),
}


def differences(first: Any, second: Any, place: str = "") -> list[str]:
    """The places at which two answers differ by more than rounding."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        names = [*first, *(name for name in second if name not in first)]
        return [
            line
            for name in names
            for line in differences(first.get(name), second.get(name), f"{place}.{name}")
        ]
    if isinstance(first, list | tuple) and isinstance(second, list | tuple) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [line for at, pair in pairs for line in differences(*pair, f"{place}[{at}]")]
    if isinstance(first, float) and isinstance(second, float):
        if math.isnan(first) and math.isnan(second):
            return []
        is_same = math.isclose(first, second, rel_tol=ROUNDED, abs_tol=ROUNDED)
        return [] if is_same else [f"{place}: {first!r} and {second!r}"]
    return [] if first == second else [f"{place}: {first!r} and {second!r}"]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_shuffled_rows_change_no_number_and_no_notice(kind: str, seed: int) -> None:
    tables, answer = KINDS[kind]
    shuffled = {name: table.sample(frac=1, random_state=seed) for name, table in tables.items()}
    assert differences(answer(**tables), answer(**shuffled)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_sorted_rows_change_no_number_and_no_notice(kind: str) -> None:
    tables, answer = KINDS[kind]
    by_last = {name: table.sort_values(list(table.columns[::-1])) for name, table in tables.items()}
    assert differences(answer(**tables), answer(**by_last)) == []


def test_a_difference_is_seen() -> None:
    assert differences({"a": [1.0, 2]}, {"a": [1.0 + 1e-9, 2]}) == [".a[0]: 1.0 and 1.000000001"]


def test_an_index_without_a_name_is_no_metric(tmp_path: Any) -> None:
    """As ``DataFrame.to_csv`` writes it, whose first column has no name."""
    table = users()["sessions"]
    table.sample(frac=1, random_state=1).to_csv(tmp_path / "with_index.csv")
    with_index, without = (
        recdash.ab_test(sessions=tmp_path / "with_index.csv"),
        recdash.ab_test(sessions=table),
    )
    assert differences(with_index.table().to_dict("list"), without.table().to_dict("list")) == []
