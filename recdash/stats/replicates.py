"""Does a difference outlive the folds or training seeds that it was measured with?

The unit here is the replicate, not the user: a difference may be clear over the users of one seed and still
turn round with the next. Seeds are taken as independent. The folds of one cross validation are not: any two
share most of their training data, so that the plain t-test finds too much. Their mean has the larger variance
of Nadeau & Bengio 2003 (Machine Learning 52), (1/n + n_test/n_train)·s², where n folds of about equal size
have n_test/n_train = 1/(n − 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain import Floats
from recdash.stats.family import Correction, corrected, levels
from recdash.stats.paired import LEVEL

_EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""


@dataclass(frozen=True)
class Measured:
    """One candidate's value in each of its replicates, by label; ``noun`` says what a replicate is called.

    ``overlap`` is True where the replicates' training sets overlap: the folds of one cross validation.
    """

    values: Mapping[str, float]
    noun: str = "seed"
    overlap: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        """``5 seeds``; ``one value`` for a candidate that was uploaded once."""
        return f"{len(self)} {self.noun}s" if len(self) > 1 else "one value"


@dataclass(frozen=True)
class ReplicateDifference:
    """Candidate minus baseline, over replicates: mean, interval and p of a t-test, and the test in words.

    ``n`` and ``n_baseline`` count replicates, ``error`` is the standard error of the mean with ``freedom``
    degrees of it. ``outlives`` is True where the interval leaves out 0, None where nobody can say: neither of
    the two has more than one replicate; then interval and p are NaN.
    """

    n: int
    n_baseline: int
    mean: float
    low: float
    high: float
    p: float
    method: str
    outlives: bool | None
    error: float
    freedom: float


def difference_over_replicates(
    candidate: Measured, baseline: Measured, *, same_users: bool = True, level: float = LEVEL
) -> ReplicateDifference:
    """Paired over the labels where both have the same, measured on the same users; else the means of both.

    Raises ValueError where one of the two has no replicate.
    """
    if not len(candidate) or not len(baseline):
        raise ValueError("there is no replicate to compare")
    if len(candidate) > 1 and same_users and candidate.values.keys() == baseline.values.keys():
        return _paired(candidate, baseline, level)
    return _unpaired(candidate, baseline, level)


def _paired(candidate: Measured, baseline: Measured, level: float) -> ReplicateDifference:
    overlap = candidate.overlap or baseline.overlap
    differences = np.array([value - baseline.values[label] for label, value in candidate.values.items()])
    error = _variance_of_mean(differences, overlap) ** 0.5
    what = "corrected resampled t-test" if overlap else "paired t-test"
    method = f"{what} over {candidate}{OVERLAPPING if overlap else ''}"
    return _told(candidate, baseline, (float(differences.mean()), error, len(candidate) - 1.0), method, level)


OVERLAPPING = ", whose training sets overlap (Nadeau and Bengio 2003)"


def _unpaired(candidate: Measured, baseline: Measured, level: float) -> ReplicateDifference:
    """Welch's test; against a single value the one-sample test, which it becomes without a variance there."""
    found = [np.array(list(one.values.values())) for one in (candidate, baseline)]
    mean = float(found[0].mean() - found[1].mean())
    both = (candidate, baseline)
    variances = [_variance_of_mean(values, one.overlap) for values, one in zip(found, both, strict=True)]
    freedom = _satterthwaite(variances, [len(one) for one in both])
    one_sided = min(len(candidate), len(baseline)) == 1
    several = max(both, key=len)
    what = "one-sample t-test" if one_sided else "Welch's t-test"
    overlap = any(one.overlap for one in both if len(one) > 1)
    against = f"{several} against one value" if one_sided else f"{candidate} against {baseline}"
    method = f"{what}, {against}{OVERLAPPING if overlap else ''}"
    return _told(candidate, baseline, (mean, sum(variances) ** 0.5, freedom), method, level)


def _variance_of_mean(values: Floats, overlap: bool) -> float:
    """Of n values; 0 for a single one, which is taken as it is."""
    n = len(values)
    if n < 2 or np.ptp(values) < _EQUAL:
        return 0.0
    shared = 1 / (n - 1) if overlap else 0.0
    return (1 / n + shared) * float(values.var(ddof=1))


def _satterthwaite(variances: list[float], n: list[int]) -> float:
    """Degrees of freedom of a difference of two means with these variances."""
    parts = [variance**2 / (size - 1) for variance, size in zip(variances, n, strict=True) if variance > 0]
    return sum(variances) ** 2 / sum(parts) if parts else 1.0


def _told(
    candidate: Measured, baseline: Measured, found: tuple[float, float, float], method: str, level: float
) -> ReplicateDifference:
    mean, error, freedom = found
    n, n_baseline = len(candidate), len(baseline)
    if max(n, n_baseline) < 2:
        nan = float("nan")
        return ReplicateDifference(n, n_baseline, mean, nan, nan, nan, "one replicate each", None, nan, nan)
    (low, high), p = _interval(mean, error, freedom, level), _student(mean, error, freedom)
    return ReplicateDifference(n, n_baseline, mean, low, high, p, method, low > 0 or high < 0, error, freedom)


def together(
    family: Sequence[ReplicateDifference], correction: Correction = "holm", level: float = LEVEL
) -> list[ReplicateDifference]:
    """Differences that are shown side by side, judged as one family: p, interval and ``outlives`` corrected.

    One that nobody can judge stays as it is.
    """
    p = np.array([one.p for one in family], dtype=float)
    found = zip(family, corrected(p, correction).tolist(), levels(p, correction, level).tolist(), strict=True)
    return [one if one.outlives is None else _judged(one, its, at) for one, its, at in found]


def _judged(one: ReplicateDifference, p: float, level: float) -> ReplicateDifference:
    low, high = _interval(one.mean, one.error, one.freedom, level)
    return replace(one, low=low, high=high, p=p, outlives=low > 0 or high < 0)


def _interval(mean: float, error: float, freedom: float, level: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    if error == 0:
        mean = 0.0 if abs(mean) < _EQUAL else mean
        return mean, mean
    half = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return mean - half, mean + half


def _student(mean: float, error: float, freedom: float) -> float:
    """Two-sided p that the mean is 0."""
    # scipy.special alone loads in a tenth of the time of scipy.stats.
    from scipy.special import stdtr

    if error == 0:
        return 1.0 if abs(mean) < _EQUAL else 0.0
    return 2 * float(stdtr(freedom, -abs(mean) / error))
