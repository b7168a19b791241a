"""Tells from its values whether a column of numbers may hold the scores of a model.

A score belongs to a user and an item: it differs between the items of a user and, unlike a price or a year,
between the users of an item.
"""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats, Ints

FIRST_TIME = 100_000_000
"""Seconds since 1970, a time in 1973; larger than usual scores."""
MOST_GRADES = 11
"""Largest number of distinct whole numbers that may be grades: 0 to 10."""
MOSTLY = 0.5
"""Smallest share of lists whose values must differ."""
APART = 2
"""How many times more groups of rows than lists there are if the rows of a list are not together."""


def are_apart(list_code: Ints) -> bool:
    """Returns whether the rows of a list are not together; ``list_code`` [rows] is in file order."""
    n_groups = np.count_nonzero(np.diff(list_code)) + 1
    return bool(n_groups > APART * len(np.unique(list_code)))


def may_be_scores(list_code: Ints, item_code: Ints, values: Floats) -> bool:
    """Returns whether the values differ between the items of most lists, and between the lists of an item.

    Times are no scores, nor are few whole numbers, which may be grades.
    """
    if not len(values) or not np.isfinite(values).all():
        return False
    if (np.mod(values, 1) == 0).all():
        is_time = values.min() > FIRST_TIME
        if is_time or len(np.unique(values)) <= MOST_GRADES:
            return False
    return _share_that_differ(list_code, values) > MOSTLY and _share_that_differ(item_code, values) > MOSTLY


def _share_that_differ(group: Ints, values: Floats) -> float:
    """Returns the share of the groups of several rows whose values are not all the same; 0 without any."""
    order = np.lexsort((values, group))
    begins = np.flatnonzero(np.diff(group[order], prepend=-1))
    n_rows = np.diff(begins, append=len(group))
    last = begins + n_rows - 1
    differ = values[order][last] > values[order][begins]
    return float(differ[n_rows > 1].mean()) if (n_rows > 1).any() else 0.0
