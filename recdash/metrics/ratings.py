"""Error metrics of predicted ratings, over rows of (user, item, rating, prediction).

Letters in shapes: ``r`` rows with a rating and a prediction, ``n`` users.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.domain.results import RatedRows, Ratio, UserValues
from recdash.metrics.formulas import ratio_of_sums
from recdash.metrics.parameters import Parameter
from recdash.metrics.usage import UNLISTED, Usage

LARGEST_RATING = 1e70
"""The standard error of RMSE sums up fourth powers, which must stay finite."""


@dataclass(frozen=True)
class Predictions:
    """Predicted ratings of one run: ``user`` [r] codes, ``rating`` [r] and ``prediction`` [r].

    ``n_missing`` further rows have a rating and no prediction.
    """

    user: Ints
    rating: Floats
    prediction: Floats
    n_missing: int = 0

    @property
    def n_users(self) -> int:
        return len(np.unique(self.user))


def _mean_over_rows(rows: Predictions, loss: Floats) -> tuple[float, float]:
    """Returns the mean loss per row and its standard error.

    Users are treated as independent of each other; the rows of one user are not.
    """
    user = np.unique(rows.user, return_inverse=True)[1]
    a, b = np.bincount(user, weights=loss), np.bincount(user).astype(np.float64)
    total, rows_seen, aa, ab, bb = map(np.array, (a.sum(), b.sum(), a @ a, a @ b, b @ b))
    mean, error = ratio_of_sums(total, rows_seen, aa, ab, bb, len(a))
    return float(mean), float(error)


def rmse(rows: Predictions) -> tuple[float, float]:
    """Returns the root mean squared error and its standard error."""
    mean, error = _mean_over_rows(rows, (rows.prediction - rows.rating) ** 2)
    root = float(np.sqrt(mean))
    return root, error / (2 * root) if root else 0.0


def mae(rows: Predictions) -> tuple[float, float]:
    """Returns the mean absolute error and its standard error."""
    return _mean_over_rows(rows, np.abs(rows.prediction - rows.rating))


def r2(rows: Predictions) -> tuple[float, float]:
    """Returns 1 − Σ squared error / Σ squared deviation from the mean rating, and its standard error.

    The mean rating is treated as known.
    """
    user = np.unique(rows.user, return_inverse=True)[1]
    spread = (rows.rating - rows.rating.mean()) ** 2
    a = np.bincount(user, weights=(rows.prediction - rows.rating) ** 2)
    b = np.bincount(user, weights=spread)
    total, whole, aa, ab, bb = map(np.array, (a.sum(), b.sum(), a @ a, a @ b, b @ b))
    unexplained, error = ratio_of_sums(total, whole, aa, ab, bb, len(a))
    return 1.0 - float(unexplained), float(error)


# ── per user, for comparing two candidates ───────────────────────────────────────────────────
# A metric over all rows is f(Σ loss / Σ weight). Users are independent, the rows of one user are not. A
# user's pull is the first-order change of the metric if the user is drawn once more (delta method).

Pulls = Callable[[Floats, Floats], Floats]
"""Maps the sums [n] of loss and of weight of each user to [n] values whose mean is the metric."""


def pulls_of_mean(loss: Floats, weight: Floats) -> Floats:
    """Returns [n] each user's pull M + (loss − M · weight) / mean weight, where M = Σ loss / Σ weight."""
    mean = loss.sum() / weight.sum()
    pulls: Floats = mean + (loss - mean * weight) / weight.mean()
    return pulls


def pulls_of_root(loss: Floats, weight: Floats) -> Floats:
    """Returns [n] each user's pull on √M: √M + (pull on M − M) / (2 √M); 0 if the loss is 0."""
    pulls, mean = pulls_of_mean(loss, weight), loss.sum() / weight.sum()
    root = float(np.sqrt(mean))
    return root + (pulls - mean) / (2 * root) if root else np.zeros_like(pulls)


def pulls_of_explained(loss: Floats, weight: Floats) -> Floats:
    """Returns [n] each user's pull on 1 − M."""
    return 1.0 - pulls_of_mean(loss, weight)


def absolute(rows: RatedRows) -> tuple[Floats, Floats]:
    """Returns [r] absolute errors as losses, and [r] weights of 1."""
    return np.abs(rows.prediction - rows.rating), np.ones(len(rows.key))


def squared(rows: RatedRows) -> tuple[Floats, Floats]:
    """Returns [r] squared errors as losses, and [r] weights of 1."""
    return (rows.prediction - rows.rating) ** 2, np.ones(len(rows.key))


def squared_over_spread(rows: RatedRows) -> tuple[Floats, Floats]:
    """Returns [r] squared errors as losses, and [r] squared deviations from the mean rating as weights."""
    return (rows.prediction - rows.rating) ** 2, (rows.rating - rows.rating.mean()) ** 2


def values_of_rows(metric: RatingMetric, rows: RatedRows) -> UserValues:
    """Returns the metric per user: each user's pull on the metric, and ``own``, the user's mean loss per row.

    For R², where higher is better, ``own`` is the negative of the mean loss.
    """
    users, user = np.unique(rows.user, return_inverse=True)
    # [n] sums over each user's rows; cast, because bincount over no rows returns integers
    loss, weight, rows_of_user = (
        np.bincount(user, weights=numbers, minlength=len(users)).astype(np.float64)
        for numbers in (*metric.parts(rows), np.ones(len(user)))
    )
    own = loss / rows_of_user
    pooled = Ratio(loss, weight, metric.pulls)
    again = partial(values_of_rows, metric)
    own = own if metric.lower_is_better else -own
    return UserValues(users, pooled.values() if len(users) else own, own, (pooled,), rated=(rows, again))


def why_predictions_unusable(rows: Predictions | None) -> str:
    """Returns why errors of predictions cannot be computed; an empty text if they can."""
    if rows is None or not len(rows.rating):
        return "needs a table of rating predictions"
    if max(np.abs(rows.rating).max(), np.abs(rows.prediction).max()) > LARGEST_RATING:
        return f"ratings or predictions beyond {LARGEST_RATING:g}: the squares of their errors overflow"
    return ""


def why_no_r_squared(rows: Predictions | None) -> str:
    """Returns why R² cannot be computed; an empty text if it can."""
    why_unavailable = why_predictions_unusable(rows)
    if not why_unavailable and rows is not None and (rows.rating == rows.rating[0]).all():
        return "all ratings are equal: there is no variance to explain"
    return why_unavailable


@dataclass(frozen=True)
class RatingMetric:
    """A metric of predicted ratings, with one value and one standard error for all rows.

    ``value`` computes both. ``parts`` returns loss [r] and weight [r] of each row, ``pulls`` turns their sums
    per user into one value per user.

    ``plain`` says to readers who do not know the metric what a value means for users.
    """

    name: str
    label: str
    title: str
    latex: str
    source: str
    value: Callable[[Predictions], tuple[float, float]]
    parts: Callable[[RatedRows], tuple[Floats, Floats]]
    pulls: Pulls
    parameters: tuple[Parameter, ...] = ()
    unit: str = "rating points"
    range: str = "0 or more"
    has_cutoff: bool = False
    rises_with_k: bool = False
    lower_is_better: bool = True
    may_be_negative: bool = False
    usage: Usage = UNLISTED
    plain: str = ""
    example: str = ""
    why_unavailable: Callable[[Predictions | None], str] = why_predictions_unusable


RATINGS: tuple[RatingMetric, ...] = (
    RatingMetric(
        "rmse",
        "RMSE",
        "Root of the mean squared difference between predicted and given rating",
        r"\sqrt{\frac{1}{N}\sum_{i=1}^{N} (\hat y_i - y_i)^2}",
        "Herlocker et al. 2004",
        rmse,
        squared,
        pulls_of_root,
        usage=Usage(group="core", order=7),
        plain="How far predicted ratings are from the users' own, where large errors weigh more: 0.9 says "
        "about 0.9 rating points. Lower is better.",
        example="Off by 1 and by 3: √((1 + 9)/2) = 2.236.",
    ),
    RatingMetric(
        "mae",
        "MAE",
        "Mean absolute difference between predicted and given rating",
        r"\frac{1}{N}\sum_{i=1}^{N} |\hat y_i - y_i|",
        "Herlocker et al. 2004",
        mae,
        absolute,
        pulls_of_mean,
        usage=Usage(group="core", order=8),
        plain="How far predicted ratings are from the users' own: 0.7 says 0.7 rating points on average. "
        "Lower is better.",
        example="Off by 1 and by 3: (1 + 3)/2 = 2.",
    ),
    RatingMetric(
        "r2",
        "R²",
        "Share of the variance of ratings that the predictions explain; below 0 if the mean rating "
        "predicts better",
        r"1 - \frac{\sum_i (\hat y_i - y_i)^2}{\sum_i (y_i - \bar y)^2}",
        "Draper & Smith 1998",
        r2,
        squared_over_spread,
        pulls_of_explained,
        unit="share",
        range="at most 1",
        lower_is_better=False,
        may_be_negative=True,
        why_unavailable=why_no_r_squared,
        plain="How much better the predictions are than the mean rating: 0.18 says that they explain 18 % "
        "of the variance of ratings, 0 that they are no better, and below 0 that they are worse.",
        example="Ratings 1, 2, 3 predicted 1, 2, 2: 1 − 1/2 = 0.5.",
    ),
)
