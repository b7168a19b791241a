"""Off-policy estimates that are kept with an experiment, beside offline and online results."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from report_tables import CANDIDATES, SESSIONS, SPREAD, opened, rated_films

import recdash
from recdash.errors import NotFound
from recdash.service.plain_agreement import MetricPair, agreement_of

LOG = pd.DataFrame({"item_id": ["a"] * 300 + ["b"] * 300, "propensity_score": 0.5}).assign(
    click=[1] * 150 + [0] * 150 + [1] * 30 + [0] * 270
)
"""a is clicked in 150 of 300 rows, b in 30 of 300: .3 observed, and .5 where only a is shown."""
ONLY_A = pd.DataFrame({"item_id": ["a"], "probability": [1.0]})


def test_an_estimate_is_kept_once_beside_the_results_of_its_run(tmp_path: Path) -> None:
    """als (B) is watched longer than popular (A), as the estimate says; ease (C) shorter."""
    space = opened(tmp_path)
    made = rated_films(space, SPREAD, SESSIONS)
    ids = {run.name: run.id for run in space.runs.all(made)}
    estimates = recdash.ope(LOG, ONLY_A)
    kept = space.off_policy.keep(made, estimates, ids["als"])
    assert space.off_policy.keep(made, estimates, ids["als"]) == kept
    space.off_policy.keep(made, estimates, ids["ease"])
    space.off_policy.keep(made, estimates)
    answer = agreement_of(
        space, space.experiments.get(made), MetricPair("March", "ndcg@3", "session_watch_time")
    )
    rows = {
        row["run"]: row for row in json.loads(json.dumps(answer.as_dict(), allow_nan=False))["off_policy"]
    }
    assert len(rows) == 3
    als = rows["als"]
    assert (als["observed"], als["off_policy"], als["online"], als["agrees"]) == (
        0.3,
        "better",
        "better",
        True,
    )
    assert als["gain"] == pytest.approx(0.2, abs=0.01)
    assert (rows["ease"]["online"], rows["ease"]["agrees"]) == ("worse", False)
    assert (rows[None]["online"], rows[None]["agrees"]) == ("not tested", None)
    space.off_policy.delete(kept.id)
    assert len(space.off_policy.kept(made)) == 2


def test_a_run_of_another_experiment_is_refused(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = rated_films(space, CANDIDATES)
    other = space.experiments.create("other")
    with pytest.raises(NotFound, match="has no run"):
        space.off_policy.keep(other.id, recdash.ope(LOG, ONLY_A), space.runs.all(made)[0].id)
