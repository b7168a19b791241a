"""Tests whether a difference holds across folds or training seeds.

The unit is the replicate, not the user: a difference may be significant over the users of one seed and change
its sign with the next. Seeds are treated as independent. The folds of one cross validation are not: any two
share most of their training data, so that the plain t-test finds too much. Their mean has the larger variance
of Nadeau & Bengio 2003 (Machine Learning 52), (1/n + n_test/n_train)·s², where n folds of about equal size
have n_test/n_train = 1/(n − 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from recdash.domain.kinds import Floats
from recdash.stats.family import Correction, corrected, levels
from recdash.stats.paired import LEVEL
from recdash.stats.sparse import TIE

OVERLAPPING = ", whose training sets overlap (Nadeau and Bengio 2003)"


@dataclass(frozen=True)
class ReplicateValues:
    """A candidate's value in each of its replicates, by label; ``noun`` is the word for a replicate.

    ``overlap`` is True if the replicates' training sets overlap: the folds of one cross validation.
    ``trained_once``: the values are those of one training run over the users of another candidate's folds.
    """

    values: Mapping[str, float]
    noun: str = "seed"
    overlap: bool = False
    trained_once: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        """Returns ``5 seeds``; ``one value`` for a candidate that was uploaded once."""
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
        """Returns the variance of a single replicate; 0 if they do not differ, or there is only one."""
        numbers = self.numbers
        return float(numbers.var(ddof=1)) if len(numbers) > 1 and np.ptp(numbers) >= TIE else 0.0

    @property
    def variance_of_one(self) -> float:
        """Returns the variance of one training run among all possible; folds, which share data, differ by
        less.
        """
        return self.variance / (1 - 1 / len(self)) if self.overlap and len(self) > 1 else self.variance

    @property
    def variance_of_mean(self) -> float:
        shared = 1 / (len(self) - 1) if self.overlap and len(self) > 1 else 0.0
        return (1 / len(self) + shared) * self.variance


@dataclass(frozen=True)
class ReplicateDifference:
    """Candidate minus baseline, over replicates: mean, interval and p of a t-test, and the name of the test.

    ``n`` and ``n_baseline`` count training runs, each called a ``noun``; ``error`` is the standard error of
    the mean with ``freedom`` degrees of freedom. ``significant`` is True if the interval excludes 0, None if
    unknown: neither of the two has several replicates, or they do not differ at all. Then interval and p are
    NaN. ``family``: number of differences that p and interval are corrected for.
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
    """Returns the difference, paired over labels if both have the same and on the same users; else that of
    both means.

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
    """Returns standard error, degrees of freedom and method of a test paired by label.

    None if the labels differ, and if all differences are equal, since no spread would make p 0.
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
    """Returns standard error, degrees of freedom and method of Welch's test.

    A candidate with one value varies too: it is assumed to vary as much as the other's replicates.
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
    """Returns differences judged as one family: p, interval and ``significant`` corrected.

    One without a p is unchanged and does not count.
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
