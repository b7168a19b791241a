"""Sorts whole numbers fast by packing several of them into one, since numpy sorts single numbers fastest."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]


def order_of(key: Ints) -> Ints:
    """Returns the same indexes as a stable argsort.

    Each key is packed with its index into one number, which is 4 times faster for 1.6 million rows. Keys that
    are negative or too large for that are sorted by numpy's argsort.
    """
    bits = len(key).bit_length()
    if len(key) == 0 or int(key.min()) < 0 or int(key.max()) >= 1 << (63 - bits):
        return np.argsort(key, kind="stable")
    packed = key.astype(np.int64)
    packed <<= bits
    packed |= np.arange(len(key))
    packed.sort()
    packed &= (1 << bits) - 1
    return packed


def distinct(values: Ints) -> Ints:
    """Returns the distinct values in ascending order.

    np.unique hashes integers, which is 50 times slower for a million of them.
    """
    ascending = np.sort(values)
    return ascending[first_of_equals(ascending)]


def first_of_equals(ascending: Ints) -> npt.NDArray[np.bool_]:
    """Returns [n] a mask, True where a value differs from the one before it and at the first value."""
    first = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first
