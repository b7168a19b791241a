"""Tests whether a difference holds across folds or training seeds.

The unit is the replicate, not the user: a difference that is significant over the users of one seed may
change its sign with the next seed. Seeds are treated as independent. The folds of one cross validation are
not: any two share most of their training data, so that the plain t-test has too many false positives. The
mean over folds therefore gets the larger variance of Nadeau & Bengio 2003 (Machine Learning 52), (1/n +
n_test/n_train)·s², where n folds of about equal size have n_test/n_train = 1/(n − 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from recdash.domain.kinds import Correction, Floats
from recdash.stats.family import corrected, levels
from recdash.stats.paired import LEVEL
from recdash.stats.sparse import TIE

OVERLAPPING = ", whose training sets overlap (Nadeau and Bengio 2003)"


@dataclass(frozen=True)
class ReplicateValues:
    """A candidate's value in each of its replicates, keyed by the replicate's label.

    ``noun`` is the word for a replicate, such as "seed". ``overlap`` is True if the training sets overlap, as
    those of the folds of one cross validation do. ``trained_once`` is True if one training run was evaluated
    on the users of each fold of another candidate.
    """

    values: Mapping[str, float]
    noun: str = "seed"
    overlap: bool = False
    trained_once: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        """Returns the number of replicates with their noun, such as ``5 seeds``.

        ``one value`` for a single upload.
        """
        return f"{len(self)} {self.noun}s" if len(self) > 1 else "one value"

    @property
    def n(self) -> int:
        """Returns the number of training runs."""
        return 1 if self.trained_once else len(self)

    @property
    def numbers(self) -> Floats:
        return np.array(list(self.values.values()))

    @property
    def variance(self) -> float:
        """Returns the variance between replicates; 0 if they do not differ, or if there is only one."""
        numbers = self.numbers
        return float(numbers.var(ddof=1)) if len(numbers) > 1 and np.ptp(numbers) >= TIE else 0.0

    @property
    def variance_of_one(self) -> float:
        """Returns the variance of one training run among all possible ones.

        It is larger than the variance between folds, which differ less because they share training data.
        """
        return self.variance / (1 - 1 / len(self)) if self.overlap and len(self) > 1 else self.variance

    @property
    def variance_of_mean(self) -> float:
        """Returns the variance of the mean over replicates; larger if their training sets overlap."""
        shared = 1 / (len(self) - 1) if self.overlap and len(self) > 1 else 0.0
        return (1 / len(self) + shared) * self.variance


@dataclass(frozen=True)
class ReplicateDifference:
    """Candidate minus baseline over replicates: the mean, its interval and the p-value of a t-test.

    ``n`` and ``n_baseline`` count the training runs, each of which is a ``noun``. ``method`` names the test.
    ``error`` is the standard error of the mean, with ``freedom`` degrees of freedom. ``significant`` is True
    if the interval excludes 0. It is None if unknown, because neither candidate has several replicates or the
    replicates do not differ; interval and p are then NaN. ``family`` is the number of differences for which p
    and interval are corrected.
    """

    n: int
    n_baseline: int
    mean: float
    low: float
    high: float
    p: float
    method: str
    significant: bool | None
    error: float
    freedom: float
    noun: str = "seed"
    family: int = 1


def replicate_difference(
    candidate: ReplicateValues, baseline: ReplicateValues, *, same_users: bool = True, level: float = LEVEL
) -> ReplicateDifference:
    """Returns the difference of two candidates over their replicates.

    It is paired if both have the same labels and ``same_users`` is True, else it compares the two means.
    Raises ValueError if one of the two has no replicate.
    """
    if not len(candidate) or not len(baseline):
        raise ValueError("there is no replicate to compare")
    mean = float(candidate.numbers.mean() - baseline.numbers.mean())
    noun = max(candidate, baseline, key=len).noun
    runs = candidate.n, baseline.n
    unknown = ""
    if max(len(candidate), len(baseline)) == 1:
        unknown = "one replicate each"
    elif max(candidate.variance, baseline.variance) == 0:
        unknown = "replicates that do not differ"
    if unknown:
        return ReplicateDifference(*runs, mean, nan, nan, nan, unknown, None, nan, nan, noun)
    paired = _paired(candidate, baseline) if same_users else None
    error, freedom, method = paired or _unpaired(candidate, baseline)
    low, high = _interval(mean, error, freedom, level)
    # scipy.special alone loads in a tenth of the time of scipy.stats.
    from scipy.special import stdtr

    p = 2 * float(stdtr(freedom, -abs(mean) / error))
    significant = low > 0 or high < 0
    return ReplicateDifference(*runs, mean, low, high, p, method, significant, error, freedom, noun)


def _paired(candidate: ReplicateValues, baseline: ReplicateValues) -> tuple[float, float, str] | None:
    """Returns standard error, degrees of freedom and method of a t-test of differences paired by label.

    Returns None if the labels differ, and if all differences are equal, since a spread of 0 would give p = 0.
    """
    if candidate.values.keys() != baseline.values.keys():
        return None
    overlap = candidate.overlap or baseline.overlap
    by_label = {label: value - baseline.values[label] for label, value in candidate.values.items()}
    difference = ReplicateValues(by_label, overlap=overlap)
    if not difference.variance:
        return None
    test = "corrected resampled t-test" if overlap else "paired t-test"
    method = f"{test} over {candidate}{OVERLAPPING if overlap else ''}"
    variance = difference.variance_of_mean
    if candidate.trained_once != baseline.trained_once:
        variance += difference.variance_of_one
        method += "; the one trained once is assumed to vary as much"
    return variance**0.5, len(candidate) - 1.0, method


def _unpaired(candidate: ReplicateValues, baseline: ReplicateValues) -> tuple[float, float, str]:
    """Returns standard error, degrees of freedom and method of a t-test of two means, usually Welch's.

    A candidate with one value varies too: it is assumed to vary as much as the replicates of the other one.
    """
    several, single = sorted((candidate, baseline), key=len, reverse=True)
    overlap = OVERLAPPING if any(of.overlap for of in (candidate, baseline) if len(of) > 1) else ""
    if len(single) == 1:
        error = (several.variance_of_mean + several.variance_of_one) ** 0.5
        method = f"t-test of {several} against one value that is assumed to vary as much{overlap}"
        return error, len(several) - 1.0, method
    variances = candidate.variance_of_mean, baseline.variance_of_mean
    parts = [
        variance**2 / (len(of) - 1) for variance, of in zip(variances, (candidate, baseline), strict=True)
    ]
    freedom = sum(variances) ** 2 / sum(parts)  # Satterthwaite
    return sum(variances) ** 0.5, freedom, f"Welch's t-test, {candidate} against {baseline}{overlap}"


def judge_replicates(
    family: Sequence[ReplicateDifference], correction: Correction = "holm", level: float = LEVEL
) -> list[ReplicateDifference]:
    """Returns the differences with p, interval and ``significant`` corrected as one family.

    A difference without a p is returned unchanged and is not counted by the correction.
    """
    p = np.array([difference.p for difference in family], dtype=float)
    n = int(np.count_nonzero(~np.isnan(p)))
    corrected_p, own_levels = corrected(p, correction).tolist(), levels(p, correction, level).tolist()
    judged = []
    for difference, own_p, own_level in zip(family, corrected_p, own_levels, strict=True):
        if difference.significant is None:
            judged.append(difference)
            continue
        low, high = _interval(difference.mean, difference.error, difference.freedom, own_level)
        settled = low > 0 or high < 0
        judged.append(replace(difference, low=low, high=high, p=own_p, significant=settled, family=n))
    return judged


def _interval(mean: float, error: float, freedom: float, level: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    half = float(stdtrit(freedom, 0.5 + level / 2)) * error
    return mean - half, mean + half
