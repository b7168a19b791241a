"""Errors of predicted ratings, over the rows of (user, item, rating, prediction)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from recdash.domain import Floats, Ints
from recdash.metrics.formulas import ratio_of_sums
from recdash.metrics.parameters import Parameter

LARGEST_RATING = 1e70
"""The standard error of RMSE adds up fourth powers, which still are numbers."""


@dataclass(frozen=True)
class Predictions:
    """``user`` [n] codes, ``rating`` and ``prediction`` [n]; ``n_missing`` more rows had no prediction."""

    user: Ints
    rating: Floats
    prediction: Floats
    n_missing: int = 0

    @property
    def n_users(self) -> int:
        return len(np.unique(self.user))


def _mean_over_rows(rows: Predictions, loss: Floats) -> tuple[float, float]:
    """Mean loss per row and its standard error, users being independent and rows of a user not."""
    user = np.unique(rows.user, return_inverse=True)[1]
    a, b = np.bincount(user, weights=loss), np.bincount(user).astype(np.float64)
    total, rows_seen, aa, ab, bb = map(np.array, (a.sum(), b.sum(), a @ a, a @ b, b @ b))
    mean, error = ratio_of_sums(total, rows_seen, aa, ab, bb, len(a))
    return float(mean), float(error)


def rmse(rows: Predictions) -> tuple[float, float]:
    mean, error = _mean_over_rows(rows, (rows.prediction - rows.rating) ** 2)
    root = float(np.sqrt(mean))
    return root, error / (2 * root) if root else 0.0


def mae(rows: Predictions) -> tuple[float, float]:
    return _mean_over_rows(rows, np.abs(rows.prediction - rows.rating))


def r2(rows: Predictions) -> tuple[float, float]:
    """1 − squared error over squared spread, each summed; the mean of the ratings is taken as known."""
    user = np.unique(rows.user, return_inverse=True)[1]
    spread = (rows.rating - rows.rating.mean()) ** 2
    a = np.bincount(user, weights=(rows.prediction - rows.rating) ** 2)
    b = np.bincount(user, weights=spread)
    total, whole, aa, ab, bb = map(np.array, (a.sum(), b.sum(), a @ a, a @ b, b @ b))
    unexplained, error = ratio_of_sums(total, whole, aa, ab, bb, len(a))
    return 1.0 - float(unexplained), float(error)


def lacks_predictions(rows: Predictions | None) -> str:
    if rows is None or not len(rows.rating):
        return "needs a table of rating predictions"
    if max(np.abs(rows.rating).max(), np.abs(rows.prediction).max()) > LARGEST_RATING:
        return f"ratings or predictions beyond {LARGEST_RATING:g}: the squares of their errors are no numbers"
    return ""


def lacks_spread(rows: Predictions | None) -> str:
    lacks = lacks_predictions(rows)
    if not lacks and rows is not None and (rows.rating == rows.rating[0]).all():
        return "all ratings are equal: there is no spread to explain"
    return lacks


@dataclass(frozen=True)
class RatingMetric:
    """A metric of predicted ratings: value and standard error in one number each."""

    name: str
    label: str
    title: str
    latex: str
    source: str
    value: Callable[[Predictions], tuple[float, float]]
    parameters: tuple[Parameter, ...] = ()
    unit: str = "rating points"
    range: str = "0 or more"
    has_cutoff: bool = False
    rises_with_k: bool = False
    lower_is_better: bool = True
    example: str = ""
    lacks: Callable[[Predictions | None], str] = lacks_predictions


RATINGS: tuple[RatingMetric, ...] = (
    RatingMetric(
        "rmse",
        "RMSE",
        "Root of the mean squared difference between predicted and given rating",
        r"\sqrt{\frac{1}{N}\sum_{i=1}^{N} (\hat y_i - y_i)^2}",
        "Herlocker et al. 2004",
        rmse,
        example="Off by 1 and by 3: √((1 + 9)/2) = 2.236.",
    ),
    RatingMetric(
        "mae",
        "MAE",
        "Mean absolute difference between predicted and given rating",
        r"\frac{1}{N}\sum_{i=1}^{N} |\hat y_i - y_i|",
        "Herlocker et al. 2004",
        mae,
        example="Off by 1 and by 3: (1 + 3)/2 = 2.",
    ),
    RatingMetric(
        "r2",
        "R²",
        "Share of the ratings' spread that the predictions explain; below 0 where their mean would do better",
        r"1 - \frac{\sum_i (\hat y_i - y_i)^2}{\sum_i (y_i - \bar y)^2}",
        "Draper & Smith 1998",
        r2,
        unit="share",
        range="at most 1",
        lower_is_better=False,
        lacks=lacks_spread,
        example="Ratings 1, 2, 3 predicted 1, 2, 2: 1 − 1/2 = 0.5.",
    ),
)
