"""An argument of a wrong type is refused in a sentence that names it, and never guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.errors import InputError
from recdash.online.rules import OnlineRules

TRUTH = pd.DataFrame({"user_id": [1, 2], "item_id": [10, 11]})
LISTS = pd.DataFrame({"user_id": [1, 2], "item_id": [10, 12], "rank": [1, 1]})
SESSIONS = pd.DataFrame(
    {
        "user_id": range(40),
        "session_id": range(40),
        "variant": [0, 1] * 20,
        "clicks": [1, 2, 3, 1, 2] * 8,
        "timestamp": pd.Timestamp("2026-03-02"),
    }
)
BANDIT = pd.DataFrame({"item_id": [1, 2] * 20, "click": [0, 1, 1, 0] * 10, "propensity": 0.5})
NAMES_IN_TEXTS = {"variant": "variant 'als'"}
"""Names of arguments → how problems name them, if it is not the name without the plural."""


def evaluated(**changed: Any) -> Any:
    given: dict[str, Any] = {"runs": {"als": LISTS}, "truth": TRUTH, "metrics": "recall@2"}
    return recdash.evaluate(**(given | changed))


def judged(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "baseline": LISTS, "candidate": LISTS, "truth": TRUTH, "rules": ["recall@2 >= 0"],
    }  # fmt: skip
    return recdash.gate(**(given | changed))


def analysed(**changed: Any) -> Any:
    return recdash.ab_test(sessions=SESSIONS, **changed)


def estimated(**changed: Any) -> Any:
    return recdash.ope(BANDIT, **changed)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (evaluated, "runs", LISTS),
        (evaluated, "runs", "als.csv"),
        (evaluated, "runs", None),
        (evaluated, "truth", None),
        (evaluated, "predictions", LISTS),
        (evaluated, "metrics", 3),
        (evaluated, "metrics", [None]),
        (evaluated, "metrics", b"recall@2"),
        (evaluated, "depth", "5"),
        (evaluated, "depth", 2.5),
        (evaluated, "preset", 3),
        (evaluated, "preset", ["default"]),
        (evaluated, "relevance", 3),
        (evaluated, "relevance_threshold", "3"),
        (evaluated, "relevance_threshold", 10**400),
        (evaluated, "relevance_threshold", True),
        (evaluated, "engine", "spark"),
        (evaluated, "replicates", "fold"),
        (evaluated, "slices", 3),
        (evaluated, "slices", [3]),
        (evaluated, "references", 3),
        (evaluated, "references", [3]),
        (evaluated, "refuse", 3),
        (evaluated, "refuse", [None]),
        (evaluated, "accept_unknown_ids", "x"),
        (evaluated, "accept_unknown_ids", None),
        (judged, "rules", 3),
        (judged, "rules", [None]),
        (judged, "inconclusive", "passed"),
        (judged, "inconclusive", None),
        (judged, "ab_test", "sessions.csv"),
        (judged, "variant", "als"),
        (analysed, "rules", {}),
        (analysed, "metrics", ["clicks"]),
        (analysed, "metrics", 5),
        (analysed, "metrics", None),
        (analysed, "metrics", {}),
        (analysed, "goals", 3),
        (analysed, "goals", [3]),
        (analysed, "primary", ["clicks"]),
        (analysed, "primary", []),
        (analysed, "covariates", ["clicks"]),
        (analysed, "covariates", []),
        (analysed, "correction", None),
        (analysed, "mappings", [("sessions", {})]),
        (analysed, "mappings", []),
        (analysed, "mappings", {"sessions": "variant"}),
        (analysed, "mappings", {"sessions": {"variant": 5}}),
        (estimated, "clip", "10"),
        (estimated, "clip", True),
        (estimated, "switch", 10**400),
        (estimated, "n_items", "5"),
        (estimated, "n_items", float("nan")),
        (estimated, "n_items", True),
        (estimated, "n_items", 2.5),
        (estimated, "mapping", "action"),
        (estimated, "mapping", []),
        (estimated, "mapping", {"click": 5}),
        (estimated, "limits", 5),
    ],
)
def test_a_wrong_type_is_refused_by_name(call: Callable[..., Any], name: str, value: Any) -> None:
    with pytest.raises(InputError) as refused:
        call(**{name: value})
    (problem,) = refused.value.problems
    assert problem.place.startswith(NAMES_IN_TEXTS.get(name, name.rstrip("s")))
    assert problem.fix


def test_a_number_is_no_name_of_a_variant() -> None:
    with pytest.raises(InputError, match=r"No variant is called 0, which is not a text\. .*Known: 0, 1"):
        analysed(control=0)
    assert analysed(control="0").control == "0"


@pytest.mark.parametrize("effect", ["2%", float("nan"), [0.02], True])
def test_an_effect_that_is_no_number_is_refused(effect: Any) -> None:
    with pytest.raises(InputError, match=r"effect: .* Give a share, such as 0\.02"):
        analysed().power(effect)


def test_events_are_counted_by_spark_or_this_process() -> None:
    tables = {"exposures": SESSIONS[["user_id", "variant", "timestamp"]], "events": SESSIONS}
    with pytest.raises(InputError, match=r"engine: str 'spark'\. Give recdash\.Spark"):
        recdash.ab_test(**tables, engine="spark")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("threshold_s", True),
        ("bot_sessions", 10**400),
        ("planned_users", "1000"),
        ("winsorise", "0.99"),
        ("winsorise", [0.99]),
        ("winsorise", 10**400),
        ("zone", 1),
        ("zone", {}),
        ("exposures_of", 5),
        ("starts", 20260302),
        ("activated_by", ["clicks"]),
        ("split", [1, 2]),
        ("split", "even"),
        ("delta_method", "yes"),
    ],
)
def test_a_rule_of_a_wrong_type_is_refused(rule: str, value: Any) -> None:
    with pytest.raises(InputError) as refused:
        analysed(rules=OnlineRules(**{rule: value}))
    (problem,) = refused.value.problems
    assert problem.place == f"rule '{rule}'"
    assert problem.fix


def test_true_is_no_planned_share() -> None:
    with pytest.raises(InputError, match="Give each variant a share above 0"):
        analysed(rules=OnlineRules(split={"0": True, "1": 2}))


def test_mappings_of_no_table_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"mappings, session: this table was not given\. Did you mean 'sessions'"
    ):
        analysed(mappings={"session": {"variant": "variant"}})


def test_an_argument_that_a_gate_does_not_have_is_refused() -> None:
    said = r"No argument is called 'dept'\. Did you mean 'depth'"
    with pytest.raises(InputError, match=said):
        judged(dept=5)
    with pytest.raises(InputError, match=said):
        recdash.gate(rules="online.engagement_rate >= 0", ab_test=analysed(), dept=5)


def test_runs_that_were_not_scored_are_not_called_comparable() -> None:
    assert evaluated().comparability(["als"]) == []
    with pytest.raises(InputError, match=r"No run is called 'sla'"):
        evaluated().comparability(["sla"])


def test_a_prior_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match=r"prior: str 'flat'\. Give recdash"):
        analysed().chance_to_win("flat")


def test_one_text_is_one_rule_and_one_goal() -> None:
    assert repr(judged(rules="recall@2 >= 0").rules) == repr(judged().rules)  # NaN differs from itself
    (name,) = {row["metric"] for row in analysed().table().to_dict("records")} & {"engagement_rate"}
    assert analysed(goals=name).first_goal == analysed(goals=[name]).first_goal


@pytest.mark.parametrize(
    ("call", "name", "value", "table"),
    [
        (evaluated, "columns", {"train": {"user_id": "uid"}}, "train"),
        (evaluated, "columns", {"predictions": {"prediction": "p"}}, "predictions"),
        (evaluated, "columns", {"user-attributes": {"user_id": "uid"}}, "user_attributes"),
        (analysed, "columns", {"events": {"event": "kind"}}, "events"),
        (analysed, "mappings", {"events": {"event": "kind"}}, "events"),
        (estimated, "columns", {"target": {"item_id": "arm"}}, "target"),
    ],
)
def test_columns_of_a_table_that_was_not_given_are_refused(
    call: Callable[..., Any], name: str, value: Any, table: str
) -> None:
    with pytest.raises(InputError, match=f"{name}, {table}: this table was not given"):
        call(**{name: value})


def test_a_flag_of_numpy_is_one_of_python() -> None:
    assert evaluated(accept_unknown_ids=np.bool_(True)).table().equals(evaluated().table())
