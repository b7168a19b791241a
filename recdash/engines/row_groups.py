"""Finds a user's rows in a stored upload without reading all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Ints
from recdash.engines.ids import IdIndex, number_of
from recdash.sorting import distinct

FEW = 8
"""If a user's rows are in more row groups than this, no lookup is used, because rows are not ordered by
user.
"""


class RowGroups:
    """The row groups of a stored upload: a Parquet file with the columns of :class:`Recommendations`.

    If user ids are numbers in ascending order, the file's own statistics show which groups have a user. Else
    the user column is read once, and the groups of each user are kept (4 bytes each). No file stays open, so
    that several threads can use the object.
    """

    def __init__(self, path: Path, users: IdIndex) -> None:
        self._path, self._users = path, users
        file = self._open(None)
        self._metadata, self.columns = file.metadata, tuple(file.schema_arrow.names)
        self.n_groups: int = file.num_row_groups

    def _open(self, metadata: Any) -> Any:
        import pyarrow.parquet as pq

        return pq.ParquetFile(self._path, memory_map=False, metadata=metadata)

    def of(self, user: int, user_id: str) -> Sequence[int]:
        """Returns the row groups that may have rows of this truth user; all groups if rows are not ordered by
        user.
        """
        likely = self._within_range(user_id)
        if len(likely) <= min(FEW, self.n_groups):
            return likely
        if self._found is None:
            return range(self.n_groups)
        first, groups = self._found
        likely_groups: list[int] = groups[first[user] : first[user + 1]].tolist()
        return likely_groups

    def _within_range(self, user_id: str) -> Sequence[int]:
        number = number_of(user_id)
        if number is None or self._ranges is None:
            return range(self.n_groups)
        low, high = self._ranges
        likely: list[int] = np.flatnonzero((low <= number) & (number <= high)).tolist()
        return likely

    @cached_property
    def _ranges(self) -> tuple[Ints, Ints] | None:
        """Returns the smallest and the largest user id of each group; None if the file has no such
        statistics, or if ids are texts, which may be spelled differently than in the truth.
        """
        index = self.columns.index("user_id")
        columns = [self._metadata.row_group(group).column(index) for group in range(self.n_groups)]
        stats = [column.statistics for column in columns if column.physical_type == "INT64"]
        if len(stats) < self.n_groups or any(
            statistics is None or not statistics.has_min_max for statistics in stats
        ):
            return None
        return np.array([statistics.min for statistics in stats]), np.array(
            [statistics.max for statistics in stats]
        )

    @cached_property
    def _found(self) -> tuple[Ints, Ints] | None:
        """Returns ``first`` [U + 1] and ``groups``: user u has rows in ``groups[first[u]:first[u + 1]]``.

        None if users are spread over many groups; reading stops as soon as this is clear.
        """
        parts: list[Ints] = [np.zeros(0, dtype=np.int64)]
        n_pairs = 0
        for part in self._pairs():
            parts.append(part)
            n_pairs += len(part)
            if n_pairs > FEW * len(self._users) + self.n_groups:
                return None
        pairs = distinct(np.concatenate(parts))
        first = np.searchsorted(pairs // self.n_groups, np.arange(len(self._users) + 1))
        return first, (pairs % self.n_groups).astype(np.int32)

    def _pairs(self) -> Iterator[Ints]:
        """Yields for each group one number per truth user in it: user code × number of groups + group."""
        for group in range(self.n_groups):
            code = distinct(self._users.codes(self._read(group, ["user_id"])["user_id"], grow=False))
            yield code[code >= 0].astype(np.int64) * self.n_groups + group

    def lists_in(self, groups: Sequence[int]) -> Recommendations:
        """Returns the rows of some groups, as recommendations."""

        def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            for group in groups:
                yield from self._read(group, columns).select(list(columns)).to_batches()

        n_rows = sum(self._metadata.row_group(group).num_rows for group in groups)
        has_rank, has_score = ("rank" in self.columns), ("score" in self.columns)
        return Recommendations("", batches, has_rank, has_score, n_rows=n_rows)

    def _read(self, group: int, columns: Sequence[str]) -> Any:
        file = self._open(self._metadata)
        return file.read_row_group(group, columns=list(columns), use_threads=False)
