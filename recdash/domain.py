"""Frozen values that travel between the layers, with their shapes.

Letters used in shapes: ``U`` users of the truth, ``T`` rows of the truth, ``H`` hits,
``K`` cutoffs 1..depth, ``N`` items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from recdash.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.number[Any]]
"""Whole or broken, of any width."""
Order = Literal["rank", "score", "file"]
Ties = Literal["file", "item_desc"]
Users = Literal["truth", "both", "judged", "judged_both", "run"]
"""Who counts for accuracy.

Users with a relevant item (truth), of these only who has a list (both); users with any row in the truth
(judged), of these only who has a list (judged_both); all who have a list (run). In the last three a user
without a relevant item counts as 0.
"""
Duplicates = Literal["first", "keep"]
"""Of an item that a list repeats the better place counts (first), or every place (keep)."""
OnlineKind = Literal["sessions", "events", "aggregates"]
"""What an A/B test is known by: its sessions, the events that make them, or somebody's summary."""
Replication = Literal["seeds", "folds"]
"""How a candidate's several uploads relate: seeds serve the same users again, folds divide the users."""
TableKind = Literal[
    "run", "truth", "train", "catalogue", "users", "vectors", "similarity", "predictions", "sessions",
    "aggregates", "exposures", "events", "served", "bandit", "policy",
]  # fmt: skip

DEFAULT_DEPTH = 100
_USERS_AT_ONCE = 1 << 16
"""So many that little is written down of them at once: counting all rows would widen each to 8 bytes."""
MISSING = ("", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT")
"""What libraries write where there is no value; whoever reads text takes these words for nothing written."""


# ── what was uploaded ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Recommendations:
    """One candidate's ranked lists: a stream of checked blocks that can be read again.

    ``batches()`` yields Arrow record batches with the columns ``user_id`` and ``item_id``
    (each int64, or dictionary-encoded text, trimmed and never null) and, where the upload has
    them, ``rank`` (signed whole numbers of any width) and ``score`` (float64);
    ``batches(columns=("user_id", "item_id"))`` yields only those. ``notices`` grows while a stream is read
    and is complete when it ends; a problem found on the way raises ``UploadError``. ``reference`` names the
    reference candidate (popular, oracle …) that was computed here; None for an upload.
    ``replicate`` is the label of one of several uploads of the candidate, ``noun`` what such a one is called
    (fold, seed); None and "" where there is only one.
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
class Passing:
    """An :class:`Upload` that is read as it passes instead of being held.

    ``batches()`` yields its rows once, in checked batches of one schema; ``notices`` is complete when they
    end. Raises ``UploadError`` on the way, with all problems of the file.
    """

    kind: TableKind
    name: str
    batches: Callable[[], Iterator[pa.RecordBatch]]
    notices: list[Problem] = field(default_factory=list)


# ── truth and hits ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Truth:
    """Held-out rows in compressed form: user ``u`` owns the rows ``start[u]:start[u+1]``.

    ``users`` [U] and ``items`` [N] are ids as text; ``item`` [T] is an index into ``items``,
    ascending within a user; ``gain`` [T] the relevance (1 where the upload has none), in the narrowest type
    that holds all of them: ``gains`` gives numbers to calculate with.
    ``graded`` is False when every relevant row has the same gain.
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
        """[T] True where the row counts as relevant: gain ≥ threshold, or > 0 without one."""
        # compared as float64: a threshold of 3.3 is more than the 3.3 of float32
        return self.gain > 0 if self.threshold is None else self.gain >= np.float64(self.threshold)

    def gains(self, rows: Ints) -> Floats:
        """The gains of some rows, in full width."""
        return self.gain[rows].astype(np.float64)

    def under(self, threshold: float | None) -> Truth:
        """The same rows, relevant from another threshold on; None: above 0."""
        if threshold == self.threshold:
            return self
        relevant = replace(self, threshold=threshold).relevant()
        gains = self.gain[relevant]
        return replace(self, threshold=threshold, graded=bool((gains != gains[:1]).any()))

    def per_user(self, rows: npt.NDArray[np.bool_]) -> Ints:
        """[U] how many of the rows [T] marked belong to each user; 0 for a user without rows."""
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
        """[U] True where the user has a relevant row."""
        return self.per_user(self.relevant()) > 0


@dataclass(frozen=True)
class Ledger:
    """Who was counted, for one run against one truth. All values are counts."""

    truth_users: int
    counted: int
    without_list: int
    without_relevant: int
    without_truth: int
    short_lists: int
    cut_lists: int
    duplicates: int
    duplicate_users: int
    tied_rows: int | None
    tied_users: int | None
    rows: int

    def as_dict(self) -> dict[str, int | None]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class Respelled:
    """Ids of one side that a table would know in another spelling.

    ``cause`` ends a sentence that begins with "they differ by"; ``fix`` is what to do about {column}, the
    column of these ids, or {other}, that of the table; ``other_way`` is cause and fix where the table is to
    be changed. So many ``rows`` more would be known, ``apart`` of them with ids of which one table has both
    spellings; ``as_written`` {table: the rows whose ids it has as they are}. ``example``: such an id, and the
    table's.
    """

    cause: str
    fix: str
    rows: int
    apart: int
    example: tuple[str, str]
    as_written: Mapping[str, int] = field(default_factory=dict)
    other_way: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class KnownIds:
    """How many of the ids of one kind, items or users, the tables of the evaluation know.

    Of a run ``rows`` are places of lists (items) or lists (users), of the truth its ids; in ``known`` of them
    one of the tables knows the id. ``ids`` counts different ids (None: not counted), ``unknown_ids`` those
    that no table knows; ``by_table``: the rows whose id the truth, catalogue, train (or the run) knows.
    ``unknown`` holds a few ids that a table does not know, ``respelled`` what it would know otherwise; under
    "any", of all tables together.
    """

    rows: int
    known: int
    unknown_ids: int
    ids: int | None
    by_table: Mapping[str, int]
    unknown: Mapping[str, Sequence[str]] = field(default_factory=dict)
    respelled: Mapping[str, Respelled] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """Of the rows, from 0 to 1; 1 without any."""
        return self.known / self.rows if self.rows else 1.0

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready: the counts."""
        counts = {"rows": self.rows, "known": self.known, "share": self.share}
        return {**counts, "ids": self.ids, "unknown_ids": self.unknown_ids, "by_table": dict(self.by_table)}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> KnownIds:
        """The inverse of ``as_dict``."""
        return cls(**{name: value for name, value in facts.items() if name != "share"})


@dataclass(frozen=True)
class IdOverlap:
    """What the tables of the evaluation know of a run's ids; ``users`` is None where it was not counted.

    ``truth_items`` and ``truth_users``: what the run and the other tables know of the truth's; None where
    that was not counted.
    """

    items: KnownIds
    users: KnownIds | None
    truth_items: KnownIds | None = None
    truth_users: KnownIds | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        sides = {"items": self.items, "users": self.users}
        of_truth = {"truth_items": self.truth_items, "truth_users": self.truth_users}
        return {
            **{name: side.as_dict() if side else None for name, side in sides.items()},
            **{name: side.as_dict() for name, side in of_truth.items() if side},
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> IdOverlap:
        """The inverse of ``as_dict``."""
        names = ("items", "users", "truth_items", "truth_users")
        return cls(*(KnownIds.of(side) if (side := facts.get(name)) else None for name in names))  # type: ignore[arg-type]


@dataclass(frozen=True)
class RankCounts:
    """Counts by rank and item: at rank k stand the items ``item[start[k-1]:start[k]]``, ``count`` times.

    ``start`` [depth + 1]; items ascend within a rank and counts are positive.
    """

    start: Ints
    item: Ints
    count: Ints

    @property
    def rank(self) -> Ints:
        """The rank of each entry, from 1."""
        return np.repeat(np.arange(1, len(self.start)), np.diff(self.start))


@dataclass(frozen=True)
class ListMean:
    """Of a value that each list has: mean [depth], its standard error [depth] and lists [depth] at every k.

    NaN where no list has the value at that k.
    """

    mean: Floats
    std_error: Floats
    n_lists: Ints


@dataclass(frozen=True)
class Exposure:
    """What was shown, and to how many.

    ``shown``: in how many lists an item stands at a rank. ``ended``: of the lists that stop before
    ``depth``, how many of length L hold the item (rank standing for L). ``items`` [N] ids as text.
    ``list_means`` are those metrics that the counts cannot give, by canonical spec without its
    population.
    """

    items: Sequence[str]
    shown: RankCounts
    ended: RankCounts
    n_lists: int
    list_means: Mapping[str, ListMean] = field(default_factory=dict)


@dataclass(frozen=True)
class TiedHits:
    """Truth rows that stand in a tie: among equal scores of one list their order is an accident.

    ``user`` [J] ascending, ``row`` [J] the truth row, ``first`` and ``last`` [J] the ranks (from 1) at which
    the tie begins and ends. Ties that begin beyond the depth are not kept; ``last`` may lie beyond it.
    """

    user: Ints
    row: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True)
class Hits:
    """Where one run's lists meet the truth: all that any accuracy metric needs.

    ``user`` [H] ascending, ``rank`` [H] 1..depth ascending within a user, ``row`` [H] the truth
    row that was hit (relevant or not: thresholds are applied later); ``list_length`` [U] items
    kept per truth user (0 = no list), at most ``depth``. ``exposure`` is None where it was not asked for,
    ``ties`` where the lists were not ordered by a score; ``shown_to`` has what was shown to each group of
    users that was asked for. ``overlap`` counts known ids; None for stored hits.

    ``exposure`` is of the lists of users with a relevant item, ``other_exposure`` of all other lists of the
    run; ``unknown_lengths`` [S] are the lengths of the lists of users who are not in the truth. Both are None
    where such lists were not counted.
    """

    truth: Truth
    depth: int
    user: Ints
    rank: Ints
    row: Ints
    list_length: Ints
    exposure: Exposure | None
    ledger: Ledger
    order: Order
    ties: TiedHits | None = None
    shown_to: Sequence[Exposure] = ()
    other_exposure: Exposure | None = None
    unknown_lengths: Ints | None = None
    duplicates: Duplicates = "first"
    overlap: IdOverlap | None = None


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Curve:
    """One metric of one run at every cutoff asked for.

    ``metric`` is the canonical spec without @k; ``k`` [K] cutoffs, or empty for a metric without
    one (then ``value`` and ``std_error`` have one entry). ``std_error`` is NaN where undefined.
    ``n_users`` are those behind the values; where not every list has one, those whose list does at the
    largest k.
    """

    metric: str
    k: Ints
    value: Floats
    std_error: Floats
    n_users: int


@dataclass(frozen=True)
class Absent:
    """A metric that cannot be had for this run, and why, in words for a person."""

    metric: str
    reason: str


@dataclass(frozen=True)
class Scope:
    """A part of an experiment that is looked at, and what counts as relevant in it.

    ``slice`` names some of the users or items as ``by=value`` (``user_warmth=cold``), empty for all;
    ``threshold`` replaces that of the experiment.
    """

    slice: str = ""
    threshold: float | None = None


WHOLE = Scope()


@dataclass(frozen=True)
class OnlineLift:
    """What an A/B test found of a run by a metric of which more is better.

    Lift and interval are shares of the control's value; the interval is the one by which the test judges it,
    corrected where the test corrects.
    """

    test: str
    title: str
    lift: float
    low: float
    high: float


@dataclass(frozen=True)
class Ratio:
    """What a ratio over all users is made of: ``a`` and ``b`` [n] of each user, NaN where one does not count.

    ``pulls``: (a, b) [m] → [m] values whose mean is the ratio over just these users.
    """

    a: Floats
    b: Floats
    pulls: Callable[[Floats, Floats], Floats]

    def of(self, places: Any) -> Ratio:
        return Ratio(self.a[places], self.b[places], self.pulls)

    def values(self) -> Floats:
        """[n] each user's pull on the ratio over those here; NaN where one does not count."""
        counts = ~np.isnan(self.a)
        found = np.full(len(counts), np.nan)
        if counts.any():
            found[counts] = self.pulls(self.a[counts], self.b[counts])
        return found


@dataclass(frozen=True)
class RatedRows:
    """Predicted ratings of one run: ``key`` [r] of the (user, item) pairs, ascending, each once; ``user``,
    ``rating`` and ``prediction`` [r]. Keys and users are codes that all compared runs share.
    """

    key: Ints
    user: Ints
    rating: Floats
    prediction: Floats

    def of(self, places: Any) -> RatedRows:
        """Some of the rows: by places, or by a mask [r]."""
        return RatedRows(self.key[places], self.user[places], self.rating[places], self.prediction[places])


@dataclass(frozen=True)
class UserValues:
    """A metric of one run, user by user: ``users`` [n] places in the truth, ascending, of those who count.

    ``values`` [n]; ``own`` [n] what each user got, which is the same but for pooled ratios. ``pooled``: what
    such a ratio is made of, once for each upload of which it is the mean. ``bound``: the values lie between 0
    and it; None where they may be any number. ``rated``: of a metric of predicted ratings the rows, and what
    makes values of some of them; two runs are compared over the rows of both.
    """

    users: Ints
    values: Floats
    own: Floats
    pooled: tuple[Ratio, ...] = ()
    bound: float | None = None
    rated: tuple[RatedRows, Callable[[RatedRows], UserValues]] | None = None

    def of(self, places: Any) -> UserValues:
        """Some of the users: by places in ``users``, or by a mask [n]; a pooled ratio is theirs alone."""
        users, own = self.users[places], self.own[places]
        if not self.pooled:
            same = self.own is self.values
            return UserValues(users, own if same else self.values[places], own, bound=self.bound)
        pooled = tuple(one.of(places) for one in self.pooled)
        return UserValues(users, pulled(pooled), own, pooled)


def common_bound(several: Sequence[UserValues]) -> float | None:
    """What no value of any is above; None where one of them has no bound."""
    bounds = [values.bound for values in several if values.bound is not None]
    return max(bounds) if bounds and len(bounds) == len(several) else None


def pulled(pooled: Sequence[Ratio]) -> Floats:
    """[n] each user's mean over the ratios in which the user counts."""
    values: Floats = np.nanmean([one.values() for one in pooled], axis=0)
    return values


# ── stored things ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Experiment:
    """One evaluation set-up; artifacts are named by their sha256.

    ``tables`` holds the tables beyond truth, train and catalogue (users, vectors, similarity), by kind.
    """

    id: str
    name: str
    created: datetime
    truth: str
    train: str | None = None
    catalogue: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    note: str = ""
    archived: datetime | None = None
    demo: bool = False


@dataclass(frozen=True)
class Replicated:
    """How often a candidate was uploaded: ``labels`` of the replicates, and what one of them is called."""

    kind: Replication
    noun: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        """``5 seeds``."""
        return f"{len(self.labels)} {self.noun}s"


@dataclass(frozen=True)
class Run:
    """One candidate's scored upload. ``slot`` numbers its colour and shape for life.

    A replicate, one of a candidate's several folds or seeds, is a run too: ``replicate_of`` is the
    candidate's id, ``name`` the replicate's label; it has no colour and is never listed as a candidate.
    """

    id: str
    experiment: str
    name: str
    created: datetime
    slot: int
    upload: str | None
    hits: Mapping[str, str]
    ledger: Mapping[str, int | None]
    notices: tuple[Problem, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    archived: datetime | None = None
    replicate_of: str | None = None

    @property
    def overlap(self) -> IdOverlap | None:
        """What the experiment's tables know of its ids; None where that was not noted when it was scored."""
        facts = self.provenance.get("known_ids")
        return IdOverlap.of(facts) if facts else None

    @property
    def reference(self) -> str | None:
        """Which reference candidate (popular, oracle …) this run is; None for an upload."""
        name: str | None = self.provenance.get("reference")
        return name

    @property
    def replicated(self) -> Replicated | None:
        """How the candidate's replicates relate; None where it was uploaded once."""
        found = self.provenance.get("replicates")
        return Replicated(found["kind"], found["noun"], tuple(found["labels"])) if found else None

    @property
    def has_lists(self) -> bool:
        """False with rating predictions only, and for the mean of seeds, whose lists are theirs."""
        return any(kind != "predictions" for kind in self.hits)

    @property
    def is_mean(self) -> bool:
        """True where users have several lists, one in each replicate, and the candidate is their mean."""
        replicated = self.replicated
        return replicated is not None and replicated.kind == "seeds"


@dataclass(frozen=True)
class OnlineTest:
    """One A/B test: its uploaded table, its control, and which run each variant served.

    ``upload`` is the table of ``kind`` (of events: the sessions that they are folded into), ``tables`` those
    beside it (exposures, served) by kind. ``rules``: how they were counted; ``metrics``: further metrics;
    ``removed``: what the rules left out of the events when they were folded.
    """

    id: str
    experiment: str
    name: str
    created: datetime
    kind: OnlineKind
    upload: str
    control: str
    tables: Mapping[str, str] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[Mapping[str, Any]] = ()
    removed: Sequence[Mapping[str, Any]] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[Mapping[str, Any]] = ()
    notices: tuple[Problem, ...] = ()
    archived: datetime | None = None
