"""Predicted ratings are held against the truth and each other; the problems of all candidates are told."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import recdash
from recdash.errors import InputError, Problem

USERS = [f"u{number}" for number in range(6)]
TRUTH = pd.DataFrame(
    {
        "user_id": [user for user in USERS for _ in range(4)],
        "item_id": [str(100 + 4 * at + place) for at in range(6) for place in range(4)],
        "relevance": [1.0, 3.0, 4.0, 5.0] * 6,
    }
)
PREDICTED = TRUTH.rename(columns={"relevance": "rating"}).assign(prediction=3.0)
LISTS = {user: [str(100 + 4 * at), "200"] for at, user in enumerate(USERS)}


def evaluated(**predictions: Any) -> recdash.Evaluation:
    return recdash.evaluate({}, TRUTH, predictions=predictions, metrics="rmse")


def notices(evaluation: recdash.Evaluation) -> dict[str, Problem]:
    return {notice.code: notice for notice in evaluation.notices()}


def test_predictions_in_another_spelling_stop_with_the_repair() -> None:
    prefixed = PREDICTED.assign(item_id="movie_" + PREDICTED["item_id"])
    with pytest.raises(InputError) as error:
        evaluated(als=prefixed)
    (problem,) = error.value.problems
    assert problem.place == "predictions of 'als', column 'item_id'"
    assert "'movie_100' in the predictions, '100' in the truth" in problem.found
    assert "Remove the prefix 'movie_' from item_id" in problem.fix
    accepted = recdash.evaluate(
        {}, TRUTH, predictions={"als": prefixed}, metrics="rmse", accept_unknown_ids=True
    )
    assert [row["metric"] for row in accepted.rows()] == ["rmse"]


def test_predictions_of_other_pairs_are_told() -> None:
    """Users and items are those of the truth; each item is predicted for the user after its own."""
    shifted = PREDICTED.assign(user_id=[*PREDICTED["user_id"][4:], *PREDICTED["user_id"][:4]])
    told = notices(evaluated(als=shifted))["predictions-apart"]
    assert told.place == "predictions of 'als'"
    assert told.found.startswith("only 0 % (0 of 24) of the rows")
    assert "predictions-apart" not in notices(evaluated(als=PREDICTED))


def test_candidates_that_predict_other_rows_are_told_with_the_counts() -> None:
    told = notices(evaluated(als=PREDICTED, ease=PREDICTED[3:], knn=PREDICTED[:20]))[
        "different-rows-predicted"
    ]
    assert "als 24, ease 21, knn 20; 17 rows are predicted by all" in told.found
    assert "different-rows-predicted" not in notices(evaluated(als=PREDICTED, ease=PREDICTED[::-1]))


def test_predictions_outside_the_scale_name_their_candidate() -> None:
    evaluation = evaluated(als=PREDICTED, ease=PREDICTED.assign(prediction=30.0))
    assert notices(evaluation)["outside-scale"].place == "predictions of 'ease', column 'prediction'"


def test_the_problems_of_all_candidates_are_told_at_once() -> None:
    other = {user: ["movie_" + items[0]] for user, items in LISTS.items()}
    strangers = {f"x{user}y": items for user, items in LISTS.items()}
    bad_file = pd.DataFrame({"user_id": ["u0"], "colour": ["red"]})
    with pytest.raises(InputError) as error:
        recdash.evaluate(
            {"als": other, "ease": LISTS, "knn": strangers, "pop": bad_file},
            TRUTH,
            predictions={"svd": PREDICTED.assign(item_id="movie_" + PREDICTED["item_id"])},
        )
    text = "\n".join(str(problem) for problem in error.value.problems)
    for part in ("run 'als', column 'item_id'", "run 'knn', column 'user_id'", "predictions of 'svd'", "pop"):
        assert part in text
    assert "ease" not in text


def test_seeds_without_a_shared_user_are_told() -> None:
    apart = [{user: LISTS[user] for user in some} for some in (USERS[:3], USERS[3:])]
    as_seeds = recdash.evaluate({"als": apart}, TRUTH, metrics="recall@1", replicates="seeds")
    assert notices(as_seeds)["seeds-apart"].found.startswith("none of its 6 users has lists in two seeds")
    assert "seeds-apart" not in notices(recdash.evaluate({"als": apart}, TRUTH, metrics="recall@1"))
    same = [LISTS, LISTS]
    assert "seeds-apart" not in notices(recdash.evaluate({"als": same}, TRUTH, metrics="recall@1"))
