"""Input data: recommendations, checked tables and the truth, with their array shapes.

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
"""Number of users whose rows are counted at a time; counting all at once would widen each row to 8 bytes."""


@dataclass(frozen=True)
class Recommendations:
    """One candidate's ranked lists, as a stream of checked batches that can be read several times.

    ``batches()`` yields Arrow record batches with the columns ``user_id`` and ``item_id`` (each int64, or
    dictionary-encoded text, trimmed and never null) and, if the upload has them, ``rank`` (signed integers of
    any width) and ``score`` (float64). ``batches(columns=("user_id", "item_id"))`` yields only these columns.
    Reading raises ``UploadError`` for invalid rows. ``notices`` grows while the stream is read and is
    complete at its end.

    ``reference`` is the name of a computed reference candidate (popular, oracle …), ``fallback`` describes
    the run whose lists popular items complete; both are None for an upload. If the candidate has several
    uploads, ``replicate`` is the label of this one, and ``noun`` the word for one (fold, seed); else None and
    "".

    ``matched_elsewhere`` matches the lists where they are, such as on a cluster, and returns what ``match``
    returns for the same arguments; None for lists that are streamed through this process.
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
    matched_elsewhere: Callable[..., Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Upload:
    """A checked table that is small enough for memory (truth, train, catalogue, users, predictions, sessions
    …).

    Columns by kind (ids as in :class:`Recommendations`, bold ones are always present):

    truth **user_id**, **item_id**, relevance (float64), timestamp ·
    train **user_id**, **item_id**, rating, timestamp ·
    catalogue **item_id**, title, and every other column as text or number ·
    users **user_id**, and every other column as text or number ·
    vectors **item_id**, **vector** (list of float64, all of one length) ·
    similarity **item_a**, **item_b**, **similarity** (float64; each pair once, in either order) ·
    predictions **user_id**, **item_id**, **rating**, **prediction** ·
    policy **item_id**, **probability**, position, and every other column as text or number ·
    bandit and the tables of an online test (sessions, exposures, events, served, aggregates) as in the
    guide's table templates, with times in UTC (microseconds). Further columns of sessions, exposures and
    bandit are numbers or dictionary-encoded text.
    """

    kind: TableKind
    name: str
    table: pa.Table
    mapping: Mapping[str, str]
    notices: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class UploadStream:
    """A checked table like :class:`Upload` that is read as a stream instead of being kept in memory.

    ``batches()`` yields its rows once, in checked batches of one schema. It raises ``UploadError`` with all
    problems of the file. ``notices`` is complete when the batches end. ``mapping`` is role → column.
    """

    kind: TableKind
    name: str
    batches: Callable[[], Iterator[pa.RecordBatch]]
    notices: list[Problem] = field(default_factory=list)
    mapping: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Truth:
    """The test set in compressed form: user ``u`` has the rows ``start[u]:start[u+1]``.

    ``users`` [U] and ``items`` [N] are ids as text; ``item`` [T] is an index into ``items`` and ascends
    within a user. ``gain`` [T] is the relevance (1 if the upload has none), in the narrowest type that fits;
    use ``gains`` for calculations. ``graded`` is False if all relevant rows have the same gain. A row is
    relevant from ``threshold`` on; above 0 if that is None.
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
        """Returns a mask [T] of the relevant rows: gain ≥ threshold, or gain > 0 without a threshold."""
        # compared as float64: a threshold of 3.3 is more than the 3.3 of float32
        return self.gain > 0 if self.threshold is None else self.gain >= np.float64(self.threshold)

    def gains(self, rows: Ints) -> Floats:
        """Returns the gains of some rows as float64."""
        return self.gain[rows].astype(np.float64)

    def under(self, threshold: float | None) -> Truth:
        """Returns the same rows with another relevance threshold; with None, gains above 0 are relevant."""
        if threshold == self.threshold:
            return self
        relevant = replace(self, threshold=threshold).relevant()
        gains = self.gain[relevant]
        return replace(self, threshold=threshold, graded=bool((gains != gains[:1]).any()))

    def per_user(self, rows: npt.NDArray[np.bool_]) -> Ints:
        """Returns [U] how many of the marked rows each user has; ``rows`` [T] is a mask."""
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
        """Returns a mask [U] of the users with at least one relevant row."""
        return self.per_user(self.relevant()) > 0
