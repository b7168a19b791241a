"""Reads the events of an A/B test as a stream, with their users and sessions.

Letters in shapes: ``n`` rows of a batch, ``visits`` sessions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online.logs.assignment import Assigned, by_exposures
from recdash.online.logs.columns import read_exposures
from recdash.online.logs.hash_index import Ids, Keys, Keys64, SeenKeys, Tally, hashes, paired
from recdash.online.logs.id_spellings import Spellings
from recdash.online.logs.sources import Sources

if TYPE_CHECKING:
    import pyarrow as pa

IMPRESSION, CLICK, WATCH, HEARTBEAT = "impression", "click", "watch", "heartbeat"
OURS = (IMPRESSION, CLICK, WATCH, HEARTBEAT)
NONE, SIXTEENTH = np.uint64(0), np.uint64(15)
ALL_LOOKED_AT = 1 << 20


class Exposed:
    """The users in an A/B test: their ids, codes and variants.

    ``units`` maps ids to codes, ``assigned`` has the variant of each code.
    """

    def __init__(self, exposures: pa.Table) -> None:
        known = read_exposures(exposures)  # per_user gives the notice of outliers
        self.units = Ids()
        chunks = [self.units.codes(chunk) for chunk in known.table["unit_id"].chunks]
        unit = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int32)
        self.assigned: Assigned = by_exposures(unit, len(self.units), known.variant, known.at)
        self.spellings = Spellings(self.units.words())

    def known(self, ids: pa.Array) -> Ints:
        """Returns [n] the code of each id, also if it is spelled differently.

        The code is −1 for a user who is not in the test.
        """
        import pyarrow as pa

        unit = self.units.codes(ids, grow=False)
        unknown = np.flatnonzero(unit < 0)
        unit[unknown] = self.spellings.find(ids.take(pa.array(unknown)))
        return unit


@dataclass(frozen=True)
class Events:
    """Some events of exposed users, n of them.

    ``unit`` [n] are codes of users, ``visit`` [n] of sessions within a user, ``item`` [n] of items (−1
    for none). ``request`` [n] are keys of requests (0 for none), ``at`` [n] microseconds since 1970,
    ``watched`` [n] seconds, ``value`` [n] the amount of other events. ``counts`` [n] is True if the item
    was recommended, ``position`` [n] starts at 1 (0 for none), ``event`` [n] are indexes into ``names``.
    """

    unit: Ints
    visit: Ints
    item: Ints
    request: Keys64
    at: Ints
    watched: Floats
    value: Floats
    counts: Mask
    position: Ints
    event: Ints
    names: tuple[str, ...]

    def named(self, *names: str) -> Mask:
        """Returns [n] True for events with one of these names."""
        return np.array([name in names for name in self.names], dtype=np.bool_)[self.event]

    def of(self, rows: Mask) -> Events:
        """Returns the events that the mask [n] marks."""
        if rows.all():
            return self
        columns = {name: getattr(self, name)[rows] for name in self.__dataclass_fields__ if name != "names"}
        return Events(**columns, names=self.names)


class SessionCodes:
    """A growing map from (user, session id) to codes.

    The activity of a user outside sessions has a code too, with an empty session id.
    """

    def __init__(self) -> None:
        self._keys = Keys()
        self._units, self._sessions = Tally(np.int32), list[Any]()

    def __len__(self) -> int:
        return len(self._keys)

    def codes(self, unit: Ints, session: Keys64, session_id: pa.Array) -> Ints:
        """Returns [n] int32 codes of the users' sessions; a new session gets the next code."""
        import pyarrow as pa

        code, new = self._keys.codes(paired(unit, session))
        self._units.first(len(self))[code[new]] = unit[new]
        self._sessions.append(session_id.take(pa.array(new)))
        return code

    @property
    def unit(self) -> Ints:
        """Returns [visits] the user's code of each session."""
        return self._units.first(len(self))

    def session_ids(self) -> pa.Array:
        """Returns [visits] the session ids as written in the log; null for activity outside sessions."""
        import pyarrow as pa

        return pa.concat_arrays(self._sessions) if self._sessions else pa.array([], pa.string())


def share_repeated(looked_at: Ints) -> float:
    """Returns the share of events with an id whose user had the same id at another time, from 0 to 1.

    Such events were not sent twice: their ids do not identify events. ``looked_at`` is that of
    ``EventReader``.
    """
    n, other = looked_at[int(looked_at[0, 0] >= ALL_LOOKED_AT)]
    return float(other / max(n, 1))


class EventReader:
    """Turns batches of a log into the events of exposed users.

    It remembers the ids it has seen. ``left_out`` maps a rule to how many events it excluded [1 + variants],
    first of users without a variant; ``looked_at`` [2, 2] has the ids checked and those that recur at another
    time, of all ids and of every sixteenth.
    """

    def __init__(self, exposures: pa.Table) -> None:
        self.exposed = Exposed(exposures)
        self.items = Ids()
        self.visits = SessionCodes()
        self.sources: Sources | None = None
        self.n_unexposed = 0
        self.has_requests, self.has_sessions = False, True
        self._event_ids, self._deliveries = SeenKeys(), SeenKeys()
        self.looked_at = np.zeros((2, 2), dtype=np.int64)  # [all ids, every 16th], [checked, recurring]
        self.left_out: dict[str, Ints] = {}

    def read(self, batch: pa.RecordBatch) -> Events:
        """Returns the batch's events of exposed users, without those that repeat an earlier event.

        Events without a session are included.
        """
        unit = self.exposed.known(batch.column("unit_id"))
        is_exposed = unit >= 0
        self.n_unexposed += int((~is_exposed).sum())
        keep = is_exposed & self._is_new(batch, unit, is_exposed)
        if not keep.all():
            import pyarrow as pa

            batch, unit = batch.filter(pa.array(keep)), unit[keep]
        return self._events(batch, unit)

    def leave_out(self, rule: str, unit: Ints) -> None:
        """Counts what a rule excludes, per variant.

        ``unit`` [n] has the user of each excluded event or item.
        """
        assigned = self.exposed.assigned
        counts = np.bincount(assigned.arm[unit] + 1, minlength=len(assigned.names) + 1)
        self.left_out[rule] = self.left_out.get(rule, 0) + counts

    def _is_new(self, batch: pa.RecordBatch, unit: Ints, known: Mask) -> Mask:
        """Returns [n] False for an event whose id its user had before; ids may restart for each user."""
        if "event_id" not in batch.schema.names:
            return known
        keys = keys_of(batch.column("event_id"))
        rows = np.flatnonzero((keys != NONE) & known)
        keys = paired(unit[rows], keys[rows])
        again = np.zeros(len(unit), dtype=np.bool_)
        again[rows] = ~self._event_ids.firsts(keys)
        self.leave_out("duplicate-event", unit[again])
        self._look_at(keys, batch.column("ts").cast("int64").to_numpy()[rows], again[rows])
        return ~again

    def _look_at(self, keys: Keys64, ts: Ints, again: Mask) -> None:
        """Counts ids that occur again at another time; in a long log only every sixteenth id is checked."""
        some = (keys & SIXTEENTH) == 0
        if self.looked_at[0, 0] >= ALL_LOOKED_AT:
            keys, ts, again, some = keys[some], ts[some], again[some], some[some]
        other = self._deliveries.firsts(paired(ts, keys)) & again
        self.looked_at += [[len(keys), other.sum()], [some.sum(), (other & some).sum()]]

    def _events(self, batch: pa.RecordBatch, unit: Ints) -> Events:
        counts = np.ones(batch.num_rows, dtype=np.bool_)
        if "source" in batch.schema.names:
            self.sources = self.sources or Sources()
            counts = self.sources.recommended(batch.column("source"))
        request = np.zeros(batch.num_rows, dtype=np.uint64)
        if "request_id" in batch.schema.names:
            request = keys_of(batch.column("request_id"))
            self.has_requests = self.has_requests or bool((request != NONE).any())
        session_id, event = self._session_ids(batch), batch.column("event")
        session = keys_of(session_id)
        self.leave_out("no-session", unit[session == NONE])
        events = Events(
            unit=unit,
            visit=self.visits.codes(unit, session, session_id),
            item=self._items(batch),
            request=request,
            at=batch.column("ts").cast("int64").to_numpy(),
            watched=_numbers(batch, "watch_s", "value"),
            value=_numbers(batch, "value", "watch_s"),
            counts=counts,
            position=_numbers(batch, "position").astype(np.int64),
            event=event.indices.to_numpy(),
            names=tuple(event.dictionary.to_pylist()),
        )
        self.leave_out("source", unit[~counts & events.named(*OURS)])
        return events

    def _session_ids(self, batch: pa.RecordBatch) -> pa.Array:
        """Returns [n] the session of each event; its time if there are none, so that rows keep it."""
        import pyarrow as pa

        self.has_sessions = "session_id" in batch.schema.names
        if self.has_sessions:
            return batch.column("session_id")
        return batch.column("ts").cast("int64").cast(pa.string())

    def _items(self, batch: pa.RecordBatch) -> Ints:
        """Returns [n] codes of the items, −1 for none."""
        if "item_id" not in batch.schema.names:
            return np.full(batch.num_rows, -1, dtype=np.int32)
        return self.items.codes(batch.column("item_id"))


def keys_of(column: pa.Array) -> Keys64:
    """Returns [n] a 64-bit key of each id, the same for 12 and "12"; 0 for an empty cell."""
    import pyarrow as pa

    keys = hashes(column if pa.types.is_string(column.type) else column.cast(pa.string()))
    return np.where(column.is_valid(), keys, NONE) if column.null_count else keys


def _numbers(batch: pa.RecordBatch, *names: str) -> Floats:
    """Returns [n] the first of these columns as float64; 0 for an empty cell, or if the batch has none."""
    name = next((name for name in names if name in batch.schema.names), None)
    if name is None:
        return np.zeros(batch.num_rows)
    return batch.column(name).fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
