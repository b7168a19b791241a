"""Lists that are matched in parts, each user in one of them, add up to what one pass over all lists finds."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recdash.domain.inputs import Recommendations
from recdash.engines import Reference, list_metrics, match
from recdash.engines.matcher import first_plan
from recdash.engines.parts import MatchRequest, add_parts, match_part
from recdash.errors import InputError
from recdash.evaluation.reading import read_runs, read_setup
from recdash.evaluation.request import read_question
from recdash.evaluation.scoring import score_hits
from recdash.metrics import naming

N_USERS, N_ITEMS, DEPTH = 90, 40, 12
METRICS = [*naming.SCORED, "popularity", "novelty"]


def tables(order: str) -> tuple[pd.DataFrame, Reference]:
    """Returns lists with repeated items, ties, gaps in the ranks and unknown users and items."""
    random = np.random.default_rng(3)
    rows = pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(N_USERS), 15),
            "item_id": random.integers(0, N_ITEMS + 8, N_USERS * 15),
            order: np.tile(np.arange(15, 0, -1) if order == "score" else np.arange(1, 16), N_USERS),
        }
    )
    rows = rows[random.random(len(rows)) < 0.8]
    if order == "score":
        rows["score"] = rows["score"] // 2
    truth = pd.DataFrame(
        {
            "user_id": random.integers(0, N_USERS - 9, 500),
            "item_id": random.integers(0, N_ITEMS, 500),
            "relevance": random.integers(0, 4, 500),
        }
    ).drop_duplicates(["user_id", "item_id"])
    train = pd.DataFrame(
        {"user_id": random.integers(0, N_USERS, 400), "item_id": random.integers(0, 40, 400)}
    )
    items = pd.DataFrame({"item_id": range(N_ITEMS), "genre": [f"g{item % 5}" for item in range(N_ITEMS)]})
    return rows, read_setup(truth, train, items)


def read(rows: pd.DataFrame) -> Recommendations:
    (run,) = read_runs("als", pa.Table.from_pandas(rows, preserve_index=False))
    return run


def request_of(run: Recommendations, reference: Reference, **how: Any) -> MatchRequest:
    requests, _ = read_question(METRICS)
    wanted = list_metrics([asked.definition for asked in requests], reference, DEPTH)
    plan = first_plan(run, None, how.get("ties", "file"), how.get("duplicates", "first"))
    groups = [np.arange(reference.truth.n_users) % 2 == 0]
    return MatchRequest(reference, DEPTH, plan, how.get("exposure", True), wanted, groups)


def whole(run: Recommendations, request: MatchRequest) -> Any:
    return match(
        run,
        request.reference,
        depth=DEPTH,
        ties=request.plan.ties,
        duplicates=request.plan.duplicates,
        exposure=request.exposure,
        list_metrics=request.list_metrics,
        shown_to=request.shown_to,
    )


def in_parts(rows: pd.DataFrame, request: MatchRequest, *, keeps_order: bool = True) -> Any:
    """Returns the sum of five parts, each of which comes back from elsewhere."""
    parts = [match_part(read(part), request) for _, part in rows.groupby(rows["user_id"] * 7 % 5)]
    back = pickle.loads(pickle.dumps(parts))  # noqa: S301 as from another process
    return add_parts(back, read(rows), request, keeps_order=keeps_order)


def assert_same(sum_of_parts: Any, of_one: Any) -> None:
    (hits, notices), (expected, expected_notices) = sum_of_parts, of_one
    for name in ("user", "rank", "row", "list_length"):
        assert np.array_equal(getattr(hits, name), getattr(expected, name)), name
    assert (hits.ledger, hits.order) == (expected.ledger, expected.order)
    # without the examples of unknown ids, which are those that were met first
    assert hits.overlap.as_dict() == expected.overlap.as_dict()
    assert notices == expected_notices
    if expected.unknown_lengths is not None:
        assert sorted(hits.unknown_lengths) == sorted(expected.unknown_lengths)
    if expected.ties is not None:
        for name in ("user", "row", "first", "last"):
            assert np.array_equal(getattr(hits.ties, name), getattr(expected.ties, name)), name


@pytest.mark.parametrize("order", ["rank", "score"])
@pytest.mark.parametrize("duplicates", ["first", "keep"])
@pytest.mark.parametrize("exposure", [True, False])
def test_parts_add_up_to_one_pass(order: str, duplicates: str, exposure: bool) -> None:
    rows, reference = tables(order)
    request = request_of(read(rows), reference, duplicates=duplicates, exposure=exposure)
    assert_same(in_parts(rows, request), whole(read(rows), request))


@pytest.mark.parametrize("order", ["rank", "score"])
def test_every_metric_of_the_sum_is_that_of_one_pass(order: str) -> None:
    rows, reference = tables(order)
    request = request_of(read(rows), reference)
    definitions = [asked.definition for asked in read_question(METRICS)[0]]
    results = [
        score_hits(hits, reference, definitions, "truth")
        for hits, _ in (in_parts(rows, request), whole(read(rows), request))
    ]
    (curves, absent), (expected, expected_absent) = results
    assert absent == expected_absent
    assert curves.keys() == expected.keys()
    assert {"diversity", "popularity", "coverage", "ndcg"} <= set(curves)
    for metric, curve in expected.items():
        assert curves[metric].value == pytest.approx(curve.value, abs=1e-12, nan_ok=True), metric


def test_a_user_in_two_parts_is_refused() -> None:
    rows, reference = tables("rank")
    request = request_of(read(rows), reference)
    parts = [match_part(read(half), request) for half in (rows[rows["rank"] < 8], rows[rows["rank"] >= 8])]
    with pytest.raises(InputError, match="written in two ways") as refused:
        add_parts(parts, read(rows), request, keeps_order=True)
    assert [problem.code for problem in refused.value.problems] == ["user-in-two-parts"]


def test_ties_of_rows_without_an_order_are_refused_unless_items_break_them() -> None:
    rows, reference = tables("score")
    request = request_of(read(rows), reference)
    with pytest.raises(InputError, match="tied scores in the lists of"):
        in_parts(rows, request, keeps_order=False)
    by_item = replace(request, plan=replace(request.plan, ties="item_desc"))
    assert_same(in_parts(rows, by_item, keeps_order=False), whole(read(rows), by_item))


def test_equal_ranks_of_rows_without_an_order_are_refused() -> None:
    rows, reference = tables("rank")
    rows["rank"] = (rows["rank"] + 1) // 2
    request = request_of(read(rows), reference)
    with pytest.raises(InputError, match="equal ranks in the lists of"):
        in_parts(rows, request, keeps_order=False)
