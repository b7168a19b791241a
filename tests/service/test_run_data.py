"""Which stored tables of a run are read for which answer."""

from __future__ import annotations

import numpy as np
import pytest
from decision_worlds import RUNS, TRUTH

from recdash.comparison import ComparisonQuery
from recdash.service import Workspace
from recdash.store.artifacts import Artifacts


def test_values_of_users_need_no_exposure(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=3)
    runs = [workspace.runs.add(made.id, RUNS[name], name=name)[0].run for name in ("popular", "als")]
    again, n_read, table = Workspace(workspace.store), list[str](), Artifacts.table

    def counted(artifacts: Artifacts, sha256: str) -> object:
        n_read.append(sha256)
        return table(artifacts, sha256)

    monkeypatch.setattr(Artifacts, "table", counted)
    query = ComparisonQuery((runs[1].id,), runs[0].id, "ndcg", 3)
    assert len(again.comparisons.shown_pairs(query)) == 1
    assert len(again.comparisons.ranks(query)) == 2
    of_exposure = {run.hits[name] for run in runs for name in ("exposure", "items")}
    assert not of_exposure & set(n_read)
    hits, alone = again._data.hits(runs[1].id), again._data.hits_alone(runs[1].id)
    assert of_exposure & set(n_read) == {runs[1].hits[name] for name in ("exposure", "items")}
    assert hits.exposure is not None
    assert alone.exposure is None
    assert np.shares_memory(hits.user, alone.user)
