"""A buffer for long arrays that arrive in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class GrowingColumn:
    """An array that grows at its end and stays in one contiguous piece of memory.

    The operating system can move a large piece without copying it, whereas concatenating needs twice the
    memory.
    """

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._values, self._size = np.zeros(0, dtype=kind), 0

    def add(self, values: npt.NDArray[Any]) -> None:
        """Appends values. If their type is wider than the column's, the column gets the wider type."""
        end = self._size + len(values)
        if end > len(self._values):
            self._values.resize(max(end, len(self._values) * 9 // 8), refcheck=False)
        kind = np.result_type(self._values, values)
        self._values = self._values.astype(kind, copy=False)
        self._values[self._size : end] = values
        self._size = end

    def whole(self) -> Any:
        """Returns all values [n] and leaves the column empty."""
        values = self._values
        values.resize(self._size, refcheck=False)
        self._values, self._size = np.zeros(0, dtype=values.dtype), 0
        return values
