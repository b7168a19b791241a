"""Errors of predicted ratings, over the rows of (user, item, rating, prediction)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from recdash.domain import Floats, Ints
from recdash.metrics.formulas import ratio_of_sums
from recdash.metrics.parameters import Parameter


@dataclass(frozen=True)
class Predictions:
    """``user`` [n] codes, ``rating`` and ``prediction`` [n]."""

    user: Ints
    rating: Floats
    prediction: Floats

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
    has_cutoff: bool = False
    rises_with_k: bool = False
    lower_is_better: bool = True
    example: str = ""

    def lacks(self, rows: Predictions | None, parameters: Mapping[str, str]) -> str:
        return "" if rows is not None and len(rows.rating) else "needs a table of rating predictions"


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
)
