"""Lists rows of a file that are dropped, or that are why it is refused: at most so many of each file."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from recdash.domain.kinds import Ints

MOST_REJECTS = 1000
"""Rows listed of one file; the others are counted."""
SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejected row: its number in the file (from 1, without the header line), a value of it, and why."""

    row: int
    column: str
    value: str
    why: str


@dataclass
class Rejects:
    """The first rejected rows of a file, and how many there are; ``kept`` are the numbers of the others."""

    rows: list[Reject] = field(default_factory=list)
    count: int = 0
    kept: list[Ints] = field(default_factory=list)

    @property
    def room(self) -> int:
        return MOST_REJECTS - len(self.rows)

    def add(self, numbers: Ints, column: str, value: str, why: str) -> None:
        """Adds rows with one value by their numbers in the file."""
        self.rows += [Reject(int(number), column, value, why) for number in numbers[: self.room]]
        self.count += len(numbers)

    def add_kept(self, places: Ints, column: str, values: pa.ChunkedArray, why: str) -> None:
        """Adds rows that were read and are dropped later, by their places among the rows kept so far."""
        listed = places[: self.room]
        numbers = np.concatenate(self.kept) if self.kept else np.empty(0, dtype=np.int64)
        self.count += len(places)
        for place, number in zip(listed, numbers[listed], strict=True):
            value = str(values[int(place)].as_py())
            shown = value if len(value) <= SHOWN_CHARS else f"{value[: SHOWN_CHARS - 1]}…"
            self.rows.append(Reject(int(number), column, shown, why))
