"""Reads events of an A/B test as a stream: their user and session, and whether they count."""

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
from recdash.online.users import Removed

if TYPE_CHECKING:
    import pyarrow as pa

IMPRESSION, CLICK, WATCH, HEARTBEAT = "impression", "click", "watch", "heartbeat"
OURS = (IMPRESSION, CLICK, WATCH, HEARTBEAT)
NONE, SIXTEENTH = np.uint64(0), np.uint64(15)
ALL_LOOKED_AT = 1 << 20


class Exposed:
    """The users in the test: ``units`` by code, and the variant of each."""

    def __init__(self, exposures: pa.Table) -> None:
        known = read_exposures(exposures)  # the notice of outliers is given where sessions become users
        self.units = Ids()
        chunks = [self.units.codes(chunk) for chunk in known.table["unit_id"].chunks]
        unit = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int32)
        self.assigned: Assigned = by_exposures(unit, len(self.units), known.variant, known.at)
        self.spellings = Spellings(self.units.words())

    def known(self, ids: pa.Array) -> Ints:
        """Returns [n] the unit of each id, in any spelling; −1 for a user who is not in the test."""
        import pyarrow as pa

        unit = self.units.codes(ids, grow=False)
        strangers = np.flatnonzero(unit < 0)
        unit[strangers] = self.spellings.find(ids.take(pa.array(strangers)))
        return unit


@dataclass(frozen=True)
class Events:
    """Some events of exposed users.

    ``unit``, ``visit`` (a unit's session) and ``item`` codes [n] (−1 for no item), ``request`` keys [n] (0
    for none), ``at`` [n] microseconds since 1970, ``watched`` [n] seconds, ``counts`` [n] whether their items
    were recommended, ``position`` [n] from 1 (0 for none), ``event`` [n] indexes into ``names``.
    """

    unit: Ints
    visit: Ints
    item: Ints
    request: Keys64
    at: Ints
    watched: Floats
    counts: Mask
    position: Ints
    event: Ints
    names: tuple[str, ...]

    def named(self, *names: str) -> Mask:
        """Returns [n] true for events of these names."""
        return np.array([name in names for name in self.names], dtype=np.bool_)[self.event]

    def of(self, rows: Mask) -> Events:
        if rows.all():
            return self
        columns = {name: getattr(self, name)[rows] for name in self.__dataclass_fields__ if name != "names"}
        return Events(**columns, names=self.names)


class SessionCodes:
    """A code per session of a unit; a unit's activity outside sessions has a code too, without session id."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._units, self._sessions = Tally(np.int32), list[Any]()

    def __len__(self) -> int:
        return len(self._keys)

    def codes(self, unit: Ints, session: Keys64, session_id: pa.Array) -> Ints:
        """Returns codes [n] int32 of units' sessions; ids are stored when first seen."""
        import pyarrow as pa

        code, new = self._keys.codes(paired(unit, session))
        self._units.upto(len(self))[code[new]] = unit[new]
        self._sessions.append(session_id.take(pa.array(new)))
        return code

    @property
    def unit(self) -> Ints:
        """Returns [visits] the unit of each."""
        return self._units.upto(len(self))

    def session_ids(self) -> pa.Array:
        """Returns [visits] session ids as the log writes them; null outside sessions."""
        import pyarrow as pa

        return pa.concat_arrays(self._sessions) if self._sessions else pa.array([], pa.string())


class EventReader:
    """Turns batches of events into those that count; remembers ids, and what it excluded by variant."""

    def __init__(self, exposures: pa.Table) -> None:
        self.exposed = Exposed(exposures)
        self.items = Ids()
        self.visits = SessionCodes()
        self.sources: Sources | None = None
        self.strangers = 0
        self.has_requests = False
        self._event_ids, self._deliveries = SeenKeys(), SeenKeys()
        self._looked_at = np.zeros((2, 2), dtype=np.int64)  # all of a short log, some of a long one
        self._left_out: dict[str, Ints] = {}

    def read(self, batch: pa.RecordBatch) -> Events:
        """Returns the events of exposed users that were not seen before, including those without a
        session.
        """
        unit = self.exposed.known(batch.column("unit_id"))
        is_exposed = unit >= 0
        self.strangers += int((~is_exposed).sum())
        keep = is_exposed & self._is_new(batch, unit, is_exposed)
        if not keep.all():
            import pyarrow as pa

            batch, unit = batch.filter(pa.array(keep)), unit[keep]
        return self._events(batch, unit)

    def leave_out(self, rule: str, unit: Ints) -> None:
        """Counts what a rule excludes, once for each unit [n] it belongs to."""
        assigned = self.exposed.assigned
        counts = np.bincount(assigned.arm[unit] + 1, minlength=len(assigned.names) + 1)
        self._left_out[rule] = self._left_out.get(rule, 0) + counts

    def removed(self, rule: str, description: str, unit: str) -> Removed:
        """Returns what a rule excluded of users in one variant."""
        names = self.exposed.assigned.names
        counts = self._left_out.get(rule, np.zeros(len(names) + 1, dtype=np.int64))[1:].tolist()
        return Removed(rule, description, unit, dict(zip(names, counts, strict=True)))

    def _is_new(self, batch: pa.RecordBatch, unit: Ints, known: Mask) -> Mask:
        """Returns [n] false for an event whose id its unit had before; ids may restart for each unit."""
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
        """Counts ids that recur at another time; of a long log every sixteenth id is checked."""
        some = (keys & SIXTEENTH) == 0
        if self._looked_at[0, 0] >= ALL_LOOKED_AT:
            keys, ts, again, some = keys[some], ts[some], again[some], some[some]
        other = self._deliveries.firsts(paired(ts, keys)) & again
        self._looked_at += [[len(keys), other.sum()], [some.sum(), (other & some).sum()]]

    @property
    def repeated_ids(self) -> float:
        """Returns the share of the events with an id that repeat one of their unit at another time.

        Such events were not sent twice: their ids do not identify events.
        """
        n, other = self._looked_at[int(self._looked_at[0, 0] >= ALL_LOOKED_AT)]
        return float(other / max(n, 1))

    def _events(self, batch: pa.RecordBatch, unit: Ints) -> Events:
        counts = np.ones(batch.num_rows, dtype=np.bool_)
        if "source" in batch.schema.names:
            self.sources = self.sources or Sources()
            counts = self.sources.recommended(batch.column("source"))
        request = np.zeros(batch.num_rows, dtype=np.uint64)
        if "request_id" in batch.schema.names:
            request = keys_of(batch.column("request_id"))
            self.has_requests = self.has_requests or bool((request != NONE).any())
        session, event = keys_of(batch.column("session_id")), batch.column("event")
        self.leave_out("no-session", unit[session == NONE])
        events = Events(
            unit=unit,
            visit=self.visits.codes(unit, session, batch.column("session_id")),
            item=self.items.codes(batch.column("item_id")),
            request=request,
            at=batch.column("ts").cast("int64").to_numpy(),
            watched=_numbers(batch, "watch_s"),
            counts=counts,
            position=_numbers(batch, "position").astype(np.int64),
            event=event.indices.to_numpy(),
            names=tuple(event.dictionary.to_pylist()),
        )
        self.leave_out("source", unit[~counts & events.named(*OURS)])
        return events


def keys_of(column: pa.Array) -> Keys64:
    """Returns a key [n] of each id, the same for 12 and "12"; 0 for none."""
    import pyarrow as pa

    keys = hashes(column if pa.types.is_string(column.type) else column.cast(pa.string()))
    return np.where(column.is_valid(), keys, NONE) if column.null_count else keys


def _numbers(batch: pa.RecordBatch, name: str) -> Floats:
    """Returns [n] float64, 0 for a missing value."""
    if name not in batch.schema.names:
        return np.zeros(batch.num_rows)
    return batch.column(name).fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
