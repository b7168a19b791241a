"""Input data: recommendations, checked tables and the truth, with their shapes.

Letters in shapes: ``U`` users of the truth, ``T`` rows of the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recdash.domain.kinds import Floats, Ints, Numbers, TableKind
from recdash.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

_USERS_AT_ONCE = 1 << 16
"""Rows counted at a time: counting all rows at once would widen each to 8 bytes."""


@dataclass(frozen=True)
class Recommendations:
    """One candidate's ranked lists: a stream of checked blocks that can be read again.

    ``batches()`` yields Arrow record batches with the columns ``user_id`` and ``item_id`` (each int64, or
    dictionary-encoded text, trimmed and never null) and, if the upload has them, ``rank`` (signed whole
    numbers of any width) and ``score`` (float64); ``batches(columns=("user_id", "item_id"))`` yields only
    those. ``notices`` grows while a stream is read and is complete when it ends; a problem found on the way
    raises ``UploadError``. ``reference`` names the reference candidate (popular, oracle …) that was computed
    here, ``fallback`` says which run popular items complete; None for an upload. ``replicate`` is the label
    of one of several uploads of the candidate, ``noun`` the word for one (fold, seed); None and "" if there
    is only one.
    """

    name: str
    batches: Callable[..., Iterator[pa.RecordBatch]]
    has_rank: bool
    has_score: bool
    is_trec: bool = False
    mapping: Mapping[str, str] = field(default_factory=dict)
    notices: list[Problem] = field(default_factory=list)
    n_rows: int | None = None
    reference: str | None = None
    fallback: Mapping[str, Any] | None = None
    replicate: str | None = None
    noun: str = ""


@dataclass(frozen=True)
class Upload:
    """A checked small table (truth, train, catalogue, users, predictions, sessions …).

    Columns by kind (ids as in :class:`Recommendations`, bold ones always there):
    truth **user_id**, **item_id**, relevance (float64), timestamp ·
    train **user_id**, **item_id**, rating, timestamp ·
    catalogue **item_id**, title, and every other column as text or number ·
    users **user_id**, and every other column as text or number ·
    vectors **item_id**, **vector** (list of float64, all of one length) ·
    similarity **item_a**, **item_b**, **similarity** (float64; a pair stands once, either way round) ·
    predictions **user_id**, **item_id**, **rating**, **prediction** ·
    policy **item_id**, **probability**, position, and every other column as text or number ·
    bandit and those of an online test (sessions, exposures, events, served, aggregates) as in the guide's
    table templates, with times in UTC (microseconds); sessions, exposures and bandit with their further
    columns as numbers or dictionary-encoded text.
    """

    kind: TableKind
    name: str
    table: pa.Table
    mapping: Mapping[str, str]
    notices: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class UploadStream:
    """An :class:`Upload` that is read as a stream instead of being held in memory.

    ``batches()`` yields its rows once, in checked batches of one schema; ``notices`` is complete when they
    end. Raises ``UploadError`` on the way, with all problems of the file.
    """

    kind: TableKind
    name: str
    batches: Callable[[], Iterator[pa.RecordBatch]]
    notices: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class Truth:
    """Test rows in compressed form: user ``u`` owns the rows ``start[u]:start[u+1]``.

    ``users`` [U] and ``items`` [N] are ids as text; ``item`` [T] is an index into ``items``, ascending within
    a user; ``gain`` [T] the relevance (1 if the upload has none), in the narrowest type that holds all of
    them: ``gains`` gives numbers to calculate with. ``graded`` is False if every relevant row has the same
    gain.
    """

    users: Sequence[str]
    items: Sequence[str]
    start: Ints
    item: Ints
    gain: Numbers
    graded: bool
    threshold: float | None = None

    @property
    def n_users(self) -> int:
        return len(self.start) - 1

    def relevant(self) -> npt.NDArray[np.bool_]:
        """Returns [T] True where the row counts as relevant: gain ≥ threshold, or > 0 without one."""
        # compared as float64: a threshold of 3.3 is more than the 3.3 of float32
        return self.gain > 0 if self.threshold is None else self.gain >= np.float64(self.threshold)

    def gains(self, rows: Ints) -> Floats:
        """Returns the gains of some rows, in full width."""
        return self.gain[rows].astype(np.float64)

    def under(self, threshold: float | None) -> Truth:
        """Returns the same rows with another relevance threshold; None: above 0."""
        if threshold == self.threshold:
            return self
        relevant = replace(self, threshold=threshold).relevant()
        gains = self.gain[relevant]
        return replace(self, threshold=threshold, graded=bool((gains != gains[:1]).any()))

    def per_user(self, rows: npt.NDArray[np.bool_]) -> Ints:
        """Returns [U] how many of the rows [T] marked belong to each user; 0 for a user without rows."""
        counted = np.diff(self.start)
        if rows.all():
            return counted
        for first in range(0, self.n_users, _USERS_AT_ONCE):
            begins = self.start[first : first + _USERS_AT_ONCE + 1]
            some = begins[:-1] < begins[1:]
            of_users = rows[begins[0] : begins[-1]]
            counted[first : first + _USERS_AT_ONCE][some] = np.add.reduceat(
                of_users, (begins[:-1] - begins[0])[some], dtype=np.int64
            )
        return counted

    def users_who_count(self) -> npt.NDArray[np.bool_]:
        """Returns [U] True where the user has a relevant row."""
        return self.per_user(self.relevant()) > 0
