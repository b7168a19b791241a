"""Every result that a person gets from Python has ``.table()``: a frame, one row for each of its parts."""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd
import pytest

import recdash
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.result import Compared
from recdash.comparison.verdict import OfflineVerdict
from recdash.definitions.worked_example import Worked
from recdash.evaluation import Evaluation
from recdash.evaluation.inspection import Inspection
from recdash.formatting.result_table import ResultTable
from recdash.online.agreement.agreement import Agreement, BestMetric, DifferenceInterval, Prediction, RunPair
from recdash.online.agreement.track_record import Point, TrackRecord, track_record
from recdash.online.analysis.analysed_test import AnalysedTest
from recdash.online.analysis.chance_to_win import WinChances
from recdash.online.analysis.plan_check import Deviation, PlanCheck
from recdash.online.analysis.results import OnlineResults
from recdash.online.interleaving.results import InterleavingResults
from recdash.online.off_policy.estimates import OffPolicy
from recdash.online.plan import AnalysisPlan, PlanHistory, PlanVersion
from recdash.service.diagnosis.case import Explanation

RESULTS = [
    Evaluation, Compared, Recommendation, OfflineVerdict, Inspection, OnlineResults, AnalysedTest, WinChances,
    ResultTable, InterleavingResults, Agreement, BestMetric, TrackRecord, OffPolicy, Explanation, Worked,
    PlanHistory, PlanCheck,
]  # fmt: skip
TRUTH = {f"u{n}": [f"i{n}"] for n in range(20)}
RUNS = {
    "als": {f"u{n}": [f"i{n}", "x"] for n in range(20)},
    "popular": {f"u{n}": ["x", f"i{n if n % 2 else 99}"] for n in range(20)},
}


@pytest.mark.parametrize("kind", RESULTS)
def test_it_has_a_table(kind: type) -> None:
    assert callable(getattr(kind, "table", None))


def test_comparisons_and_verdicts_are_tables() -> None:
    compared = recdash.evaluate(RUNS, TRUTH, metrics=["recall@2"]).compare("recall@2", baseline="popular")
    verdict = compared.verdict
    table = verdict.table()
    assert len(table) == len(verdict.cases) == 1
    assert dict(table.iloc[0]) == verdict.cases[0].as_dict()
    assert verdict.offline.table().to_dict("records") == [verdict.offline.as_dict()]


def test_an_inspection_has_its_problems() -> None:
    bad = pd.DataFrame({"user_id": ["u1", "u1"], "item_id": ["a", "b"], "rank": ["first", 2]})
    inspection = recdash.inspect(bad, "run")
    table = inspection.table()
    assert table["code"].tolist() == [problem["code"] for problem in inspection.as_dict()["problems"]]
    assert set(table["level"]) == {"problem"}


def test_off_policy_estimates_are_rows() -> None:
    log = pd.DataFrame({"item_id": ["a", "b"] * 50, "click": [1, 0] * 50, "propensity_score": 0.5})
    estimates = recdash.ope(log)
    table = estimates.table().set_index("estimate")
    assert list(table.index) == list(estimates.estimates)
    assert table.loc["ips", "value"] == estimates.ips.value


def test_agreement_has_its_pairs_and_metrics() -> None:
    pair = RunPair("a", "b", DifferenceInterval(0.05, 0.15), DifferenceInterval(0.1, 0.3))
    (row,) = Agreement("ndcg", "clicks", (), (pair,), None).table().to_dict("records")
    assert (row["first"], row["offline_low"], row["online_high"], row["outcome"]) == (
        "a",
        0.05,
        0.3,
        "concordant",
    )
    best = BestMetric("clicks", 3, (Prediction("ndcg", 10, "nDCG@10", 0.5),), None, None, (), "few")
    assert best.table().to_dict("records") == [{"metric": "ndcg", "k": 10, "label": "nDCG@10", "tau": 0.5}]


def test_a_track_record_has_its_points() -> None:
    point = Point("films", "March", "t1", "als", "r1", 2.0, 1.0, 3.0, 1.0, True)
    assert track_record("ndcg", "clicks", [point]).table()["online"].tolist() == [3.0]
    assert track_record("ndcg", "clicks", []).table().columns.tolist()[:2] == ["experiment", "test"]


def test_a_plan_has_its_versions_and_differences() -> None:
    version = PlanVersion("p", AnalysisPlan("orders"), datetime(2026, 3, 1, tzinfo=UTC), "Ann", "Made.")
    history = PlanHistory((version,))
    assert history.table()[["author", "primary"]].to_dict("records") == [
        {"author": "Ann", "primary": "orders"}
    ]
    check = PlanCheck(
        history, version, is_before_data=True, deviations=(Deviation("days", "Short."),), look=1
    )
    assert check.table().to_dict("records") == [{"code": "days", "text": "Short."}]
