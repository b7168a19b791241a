"""Long arrays that come in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class GrowingColumn:
    """A column that grows at its end, in one piece of memory.

    The system moves a large piece without copying it, where joining many needs all of them twice.
    """

    def __init__(self, kind: npt.DTypeLike) -> None:
        self._values, self._size = np.zeros(0, dtype=kind), 0

    def add(self, values: npt.NDArray[Any]) -> None:
        """Values of a wider type than there was so far widen the column."""
        end = self._size + len(values)
        if end > len(self._values):
            self._values.resize(max(end, len(self._values) * 9 // 8), refcheck=False)
        kind = np.result_type(self._values, values)
        self._values = self._values.astype(kind, copy=False)
        self._values[self._size : end] = values
        self._size = end

    def whole(self) -> Any:
        """[n] all values; they are given away, and the column is empty again."""
        values = self._values
        values.resize(self._size, refcheck=False)
        self._values, self._size = np.zeros(0, dtype=values.dtype), 0
        return values
