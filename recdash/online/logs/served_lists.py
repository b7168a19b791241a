"""Counts served lists: those with a click, and those that contain the item watched next.

The answer to a list is the item that its user watches next for longer than the threshold, on any surface, but
not from the list: an item clicked or watched in the list is not its answer. A list after which no such item
is watched has no known answer and cannot be judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Ints, Mask
from recdash.errors import Problem
from recdash.online.logs.event_reader import CLICK, HEARTBEAT, NONE, WATCH, EventReader, Events, keys_of
from recdash.online.logs.hash_index import Keys, Keys64, Tally, paired
from recdash.online.logs.watch_times import WatchTimes
from recdash.online.rules import OnlineRules

if TYPE_CHECKING:
    import pyarrow as pa

LATE = np.iinfo(np.int64).max


class WatchedItems:
    """What users watched on any surface: one row per item in a session, or outside sessions."""

    def __init__(self) -> None:
        self._times = WatchTimes()
        self._unit, self._item = Tally(np.int32), Tally(np.int32)
        self._begun = Tally(np.int64, LATE)

    def add(self, events: Events) -> None:
        events = events.of(events.named(WATCH, HEARTBEAT) & (events.item >= 0))
        code, new = self._times.add(events)
        n = len(self._times)
        self._unit.first(n)[code[new]] = events.unit[new]
        self._item.first(n)[code[new]] = events.item[new]
        np.minimum.at(self._begun.first(n), code, events.at)

    def past(self, threshold_s: float) -> tuple[Ints, Ints, Ints]:
        """Returns (user, time, item) of the items watched for longer than the threshold.

        They are sorted by user and time.
        """
        seconds = self._times.seconds()
        n, videos = len(seconds), np.flatnonzero(seconds > threshold_s)
        unit, begun, item = (tally.first(n)[videos] for tally in (self._unit, self._begun, self._item))
        order = np.lexsort((item, begun, unit))
        return unit[order], begun[order], item[order]


class ServedLists:
    """The served lists of exposed users; a list is what one request of a user returned."""

    def __init__(self, served: pa.Table, reader: EventReader) -> None:
        self._table, self._reader = served, reader
        self._keys, self._listed, self._own, self._clicked = Keys(), Keys(), Keys(), Keys()
        self._watched = WatchedItems()
        unit = reader.exposed.known(served["unit_id"].combine_chunks())
        self._rows = np.flatnonzero(unit >= 0)
        unit = unit[self._rows]
        request = keys_of(served["request_id"].combine_chunks())[self._rows]
        self._list, new = self._keys.codes(paired(unit, request))
        self._unit = unit[new]
        self._item = reader.items.codes(served["item_id"].combine_chunks())[self._rows]
        self._listed.codes(self._keys_of_rows())
        self._at = np.full(len(self._keys), LATE)
        np.minimum.at(self._at, self._list, served["ts"].cast("int64").to_numpy()[self._rows])
        assigned = reader.exposed.assigned
        variant = np.array(served["variant"].take(self._rows[new]).to_pylist(), dtype=object)
        expected = np.array([*assigned.names, None], dtype=object)[assigned.arm[self._unit]]
        self._n_other_variant = int(((variant != expected) & (assigned.arm[self._unit] >= 0)).sum())
        if "click" in served.column_names:
            keys = self._keys_of_rows()[served["click"].to_numpy()[self._rows] > 0]
            self._own.codes(keys)
            self._clicked.codes(keys)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, events: Events) -> None:
        """Records the clicks on lists, and everything watched, in a batch of events."""
        self._watched.add(events)
        is_use = events.named(CLICK, WATCH, HEARTBEAT) & (events.request != NONE) & (events.item >= 0)
        events = events.of(is_use)
        code, _ = self._keys.codes(paired(events.unit, events.request), grow=False)
        events, code = events.of(code >= 0), code[code >= 0]
        keys = paired(code, _as_keys(events.item))
        self._own.codes(keys)
        self._clicked.codes(keys[events.named(CLICK)])

    def rows(self, rules: OnlineRules) -> pa.Table:
        """Returns a table of one row per list, in the form of session rows outside sessions.

        Its column ``lists`` is 1. If clicks can be linked to lists, the columns clicked_lists,
        answerable_lists and answered_lists are 0 or 1.
        """
        import pyarrow as pa

        units = self._reader.exposed.units.words()
        columns = {
            "unit_id": units.take(pa.array(self._unit)),
            "session_id": pa.nulls(len(self)),
            "start_ts": pa.array(self._at, pa.timestamp("us", "UTC")),
            "lists": pa.array(np.ones(len(self), dtype=np.int8)),
        }
        if self._knows_clicks:
            clicked = np.zeros(len(self), dtype=np.bool_)
            clicked[self._list[self._is_clicked()]] = True
            flags = {"clicked_lists": clicked, **self._answers(rules)}
            columns |= {name: pa.array(values.astype(np.int8)) for name, values in flags.items()}
        return pa.table(columns)

    def table(self) -> pa.Table:
        """Returns the table of served lists, with a column ``click`` if events name the list of a click."""
        import pyarrow as pa

        if not self._knows_clicks or "click" in self._table.column_names:
            return self._table
        click = np.zeros(len(self._table))
        click[self._rows] = self._is_clicked()
        return self._table.append_column("click", pa.array(click))

    def notices(self) -> list[Problem]:
        notices = [_lengths(np.bincount(self._list, minlength=len(self)))] if len(self) else []
        if n_unexposed := len(self._table) - len(self._rows):
            message = f"{n_unexposed:,} rows are of users who were never exposed"
            notices.append(
                Problem("never-exposed", "served lists", message, "They do not count.", n_unexposed)
            )
        if other := self._n_other_variant:
            message = f"{other:,} lists were served by another variant than their user's"
            fix = "They count for the user's variant. Were all users served as assigned?"
            notices.append(Problem("served-other-variant", "served lists", message, fix, other))
        return notices if self._knows_clicks else [*notices, NO_CLICKS]

    # ── clicks ───────────────────────────────────────────────────────────────────────────────

    @property
    def _knows_clicks(self) -> bool:
        return self._reader.has_requests or "click" in self._table.column_names

    def _keys_of_rows(self) -> Keys64:
        return paired(self._list, _as_keys(self._item))

    def _is_clicked(self) -> Mask:
        """Returns [rows of exposed users] True if the item was clicked in its list."""
        return _known(self._clicked, self._keys_of_rows())

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def _answers(self, rules: OnlineRules) -> dict[str, Mask]:
        """Returns two columns [lists]: whether the answer is known, and whether the list contains it."""
        unit, begun, item = self._watched.past(rules.threshold_s)
        # times as ranks, so that unit and time fit into one number
        moments = np.unique(np.concatenate([begun, self._at]))
        key = unit.astype(np.int64) << 32 | np.searchsorted(moments, begun)
        after = self._unit.astype(np.int64) << 32 | np.searchsorted(moments, self._at)
        place = np.searchsorted(key, after, side="right")
        answer = np.full(len(self), -1, dtype=np.int32)
        lists = np.arange(len(self))
        while len(lists):
            lists = lists[place[lists] < len(unit)]
            lists = lists[unit[place[lists]] == self._unit[lists]]
            watched = item[place[lists]]
            own = _known(self._own, paired(lists, _as_keys(watched)))
            answer[lists[~own]] = watched[~own]
            lists = lists[own]
            place[lists] += 1
        answerable = answer >= 0
        held = answerable & _known(self._listed, paired(np.arange(len(self)), _as_keys(answer)))
        return {"answerable_lists": answerable, "answered_lists": held}


NO_CLICKS = Problem(
    "no-request-ids",
    "served lists",
    "no event names its list",
    "Add request_id to the events, or click to the served lists. Without them, the online hit ratio "
    "and the list CTR cannot be computed.",
)


def _lengths(lengths: Ints) -> Problem:
    usual = int(np.bincount(lengths).argmax())
    same = int((lengths == usual).sum())
    message = f"{len(lengths):,} lists of {usual} items"
    if same < len(lengths):
        message = f"{len(lengths):,} lists of {lengths.min()} to {lengths.max()} items, mostly {usual}"
    fix = "The online hit ratio uses whole lists after which something else is watched."
    return Problem("served-lists", "served lists", message, fix, len(lengths))


def _known(keys: Keys, wanted: Keys64) -> Mask:
    return keys.codes(wanted, grow=False)[0] >= 0


def _as_keys(codes: Ints) -> Keys64:
    return codes.astype(np.uint64)
