"""Tells whether the order of a file's rows can be the order of the lists."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Ints

MOST_APART = 0.25
"""Largest share of the rows after the first of their group that may be apart from the row before them."""
MOST_PASSES = 1.1
"""How many times more passes than rows of the longest list there may be.

A list may lack a position, such as an item that was filtered out.
"""


def may_rank(list_code: Ints, item_code: Ints) -> bool:
    """Returns whether the rows of a list are together, or go position by position through all lists.

    ``list_code`` and ``item_code`` [rows] are in file order. Rows that are sorted by item rank nothing.
    """
    if not len(list_code) or _are_together(list_code):
        return True
    if _are_together(item_code):
        return False
    longest = int(np.bincount(list_code).max())
    return _n_passes(list_code) <= MOST_PASSES * longest


def _are_together(group: Ints) -> bool:
    """Returns whether nearly every row follows another row of its group, or is the first one."""
    n_groups = len(np.unique(group))
    n_apart = np.count_nonzero(np.diff(group)) + 1 - n_groups
    return bool(n_apart <= MOST_APART * (len(group) - n_groups))


def _n_passes(list_code: Ints) -> int:
    """Returns the number of passes through the lists; a pass ends before a row whose list it already has.

    If the rows go position by position, there is one pass per position.
    """
    n_passes, had = 0, set[int]()
    for code in list_code.tolist():
        if code in had or not n_passes:
            n_passes, had = n_passes + 1, set()
        had.add(code)
    return n_passes
