"""Each preset gives the numbers of its library, installed in an environment of its own, on real runs.

Per user where the library says it. Takes minutes: the environments are made with the first call.
"""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import recdash
from benchmarks.environments import environment_for
from benchmarks.peers import lenskit, recommenders, rectools
from benchmarks.presets import compare, library, library_names
from recdash.metrics.agreement import recorded_agreement

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
PEERS = {"rectools": rectools, "lenskit": lenskit, "recommenders": recommenders}


POOLED = {"lenskit": ["map"]}
"""Metrics whose mean is over other users than the preset's, so that recdash gives no user's own value."""
ENVIRONMENTS = ROOT / "benchmarks" / ".cache" / "environments"


@cache
def values_of(library: str, lists: Path, truth: Path, k: int) -> dict[str, Any]:
    made = environment_for(library, PEERS[library].REQUIREMENTS, ENVIRONMENTS)
    if made.reason:
        pytest.skip(f"{library} does not install here: {made.reason}")
    command = [made.python, ROOT / "tests" / "support" / "peer_values.py", library, lists, truth, str(k)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("run", ["als", "popular", "tfidf"])
@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("library", PEERS)
def test_a_preset_gives_the_numbers_of_its_library(library: str, k: int, run: str, shared_data: Path) -> None:
    films = shared_data / "movietweetings"
    lists, truth = films / "runs" / f"{run}.parquet", films / "truth.csv"
    expected = values_of(library, lists, truth, k)
    specs = [f"{metric}@{k}" for metric in expected]
    found = recdash.evaluate({run: lists}, truth, metrics=specs, preset=library)
    means = found.table().set_index("metric")["value"]
    for metric, value in expected.items():
        if isinstance(value, float) or metric in POOLED.get(library, ()):
            mean = value if isinstance(value, float) else sum(value.values()) / len(value)
            assert means[metric] == pytest.approx(mean, abs=1e-9), metric
            continue
        ours = found.per_user(f"{metric}@{k}").set_index("user_id")["value"].to_dict()
        assert set(value) <= set(ours)
        differing = {user for user, one in value.items() if abs(ours[user] - one) > 1e-9}
        assert not differing, (metric, len(differing))
        assert means[metric] == pytest.approx(sum(value.values()) / len(value), abs=1e-9), metric
        # Users that the library leaves out of its answer have nothing here.
        assert not any(ours[user] for user in set(ours) - set(value)), metric


@pytest.mark.parametrize("name", [name for name in library_names() if not library(name).NOT_RUN])
def test_a_library_asked_again_bears_out_what_is_recorded_of_it(name: str) -> None:
    again, kept = compare.record(name, ENVIRONMENTS), recorded_agreement()[name]
    if again["not_run"]:
        pytest.skip(f"{name}: {again['not_run']}")
    assert list(compare.broken_promises(name, again)) == []
    assert [(row["spec"], row["state"]) for row in again["rows"]] == [
        (row["spec"], row["state"]) for row in kept["rows"]
    ]
    if again["version"] == kept["version"]:
        assert [row["values"] for row in again["rows"]] == [row["values"] for row in kept["rows"]]
