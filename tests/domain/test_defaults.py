"""The baseline of an experiment for which nobody chose one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recdash.domain.defaults import baseline_by_name, default_baseline, default_k, default_metric, is_popular
from recdash.domain.records import Experiment, Run

MORNING = datetime(2026, 10, 9, 8, tzinfo=UTC)


def experiment(baseline: str | None = None) -> Experiment:
    return Experiment("e", "films", MORNING, "sha", baseline=baseline)


def run(name: str, **provenance: Any) -> Run:
    """A run whose id is its name."""
    return Run(name, "e", name, MORNING, 0, None, {}, {}, provenance=provenance)


@pytest.mark.parametrize(
    ("names", "baseline"),
    [
        (["als", "ease", "popular"], "popular"),
        (["als", "Most Popular", "ease"], "Most Popular"),
        (["popular", "two_tower_PROD-v3"], "two_tower_PROD-v3"),
        (["als", "current2026", "popular"], "current2026"),
        (["als minus popular", "ease", "popular"], "popular"),
        (["status quo", "popular"], "status quo"),
        (["als", "production", "baseline"], "production"),
        (["als", "ease"], None),
        (["unpopular", "uncontrolled", "productions", "alive"], None),
        ([], None),
    ],
)
def test_a_name_says_which_run_is_the_baseline(names: list[str], baseline: str | None) -> None:
    assert baseline_by_name(names) == baseline


def test_the_popular_run_of_real_data_is_the_baseline(shared_data: Path) -> None:
    """They are uploaded in the order of their names, where als is the first."""
    files = (shared_data / "movietweetings" / "runs").glob("*.parquet")
    runs = [run(name) for name in sorted(file.stem for file in files)]
    assert runs[0].name == "als"
    assert default_baseline(experiment(), runs).name == "popular"


POPULAR = run("Most popular (reference)", reference="popular")
RANDOM = run("Random (reference)", reference="random")
COMPLETED = run("als + popular for the rest", fallback={"of": "als"})


@pytest.mark.parametrize(
    ("chosen", "runs", "served", "baseline"),
    [
        ("ease", [run("als"), run("ease"), run("popular")], {"als"}, "ease"),
        ("gone", [run("als"), run("ease"), run("popular")], {"als"}, "als"),
        (None, [run("als"), run("ease"), run("popular")], {"gone"}, "popular"),
        (None, [run("als"), run("ease"), COMPLETED], (), "als"),
        (None, [run("als"), run("ease"), POPULAR], (), POPULAR.id),
        (None, [run("als"), run("popular v1"), POPULAR], (), "popular v1"),
        (None, [run("als"), run("ease"), RANDOM], (), "als"),
        (None, [run("als"), RANDOM], (), RANDOM.id),
    ],
)
def test_what_a_person_or_a_test_says_comes_before_a_name(
    chosen: str | None, runs: list[Run], served: set[str], baseline: str
) -> None:
    assert default_baseline(experiment(chosen), runs, served).id == baseline


def test_a_wanted_metric_and_k_are_taken_where_they_exist() -> None:
    assert default_metric(["recall", "ndcg", "map"], "map") == "map"
    assert default_metric(["recall", "ndcg"], "map") == "ndcg"
    assert default_metric(["rmse"], "ndcg") == "rmse"
    assert (default_k(50, 20), default_k(15, 20), default_k(50), default_k(5)) == (20, 15, 10, 5)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("popular", True),
        ("Most popular", True),
        ("MostPop", True),
        ("als minus popular", False),
        ("most", False),
    ],
)
def test_a_name_says_that_popular_items_are_recommended(name: str, says: bool) -> None:
    assert is_popular(name) is says
