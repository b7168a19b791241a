"""Lists that were really shown, beside what their users did: clicked lists, and lists that hold the answer.

The answer to a list is the item that its user watches next, past the threshold, on any surface, and not by
way of the list itself: an item that was clicked or watched in it is no answer to it. A list after which no
such item is watched has no known answer and cannot be judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Ints, Mask
from recdash.errors import Problem
from recdash.online.logs.event_reader import CLICK, HEARTBEAT, NONE, WATCH, EventReader, Events, keys_of
from recdash.online.logs.hash_index import Keys, Keys64, Tally, paired
from recdash.online.rules import OnlineRules

if TYPE_CHECKING:
    import pyarrow as pa

LATE = np.iinfo(np.int64).max


class Watchings:
    """What users watched, on any surface: a row for each item in a session, or outside sessions."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._unit, self._item = Tally(np.int32), Tally(np.int32)
        self._begun = Tally(np.int64, LATE)
        self._summed, self._highest = Tally(np.float64), Tally(np.float64)

    def add(self, events: Events) -> None:
        events = events.of(events.named(WATCH, HEARTBEAT) & (events.item >= 0))
        code, new = self._keys.codes(paired(events.visit, _as_keys(events.item)))
        n, beats = len(self._keys), events.named(HEARTBEAT)
        self._unit.upto(n)[code[new]] = events.unit[new]
        self._item.upto(n)[code[new]] = events.item[new]
        np.minimum.at(self._begun.upto(n), code, events.at)
        np.add.at(self._summed.upto(n), code[~beats], events.watched[~beats])
        np.maximum.at(self._highest.upto(n), code[beats], events.watched[beats])

    def past(self, threshold_s: float) -> tuple[Ints, Ints, Ints]:
        """(unit, begun, item) of those that count as videos, by unit and time."""
        n = len(self._keys)
        # rounded, so that ten times 0.1 s are no more than 1 s
        seconds = np.round(np.maximum(self._summed.upto(n), self._highest.upto(n)), 6)
        found = np.flatnonzero(seconds > threshold_s)
        unit, begun, item = (one.upto(n)[found] for one in (self._unit, self._begun, self._item))
        order = np.lexsort((item, begun, unit))
        return unit[order], begun[order], item[order]


class Lists:
    """The served lists of exposed users, by code; a list is a request of a user."""

    def __init__(self, served: pa.Table, reader: EventReader) -> None:
        self._table, self._reader = served, reader
        self._keys, self._listed, self._own, self._clicked = Keys(), Keys(), Keys(), Keys()
        self._watchings = Watchings()
        unit = reader.exposed.known(served["unit_id"].combine_chunks())
        self._rows = np.flatnonzero(unit >= 0)
        self._unit_of_row = unit[self._rows]
        request = keys_of(served["request_id"].combine_chunks())[self._rows]
        self._list, new = self._keys.codes(paired(self._unit_of_row, request))
        self._unit = self._unit_of_row[new]
        self._item = reader.items.codes(served["item_id"].combine_chunks())[self._rows]
        self._listed.codes(self._keys_of_rows())
        self._at = np.full(len(self._keys), LATE)
        np.minimum.at(self._at, self._list, _micro(served["ts"])[self._rows])
        self._of_other = self._other_variants(new)
        self._add_clicks_of_the_table()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, events: Events) -> None:
        """What a batch of events says of the lists: their own clicks, and what was watched."""
        self._watchings.add(events)
        taken = events.of(
            (events.request != NONE) & (events.item >= 0) & events.named(CLICK, WATCH, HEARTBEAT)
        )
        code, _ = self._keys.codes(paired(taken.unit, taken.request), grow=False)
        taken, code = taken.of(code >= 0), code[code >= 0]
        keys = paired(code, _as_keys(taken.item))
        self._own.codes(keys)
        self._clicked.codes(keys[taken.named(CLICK)])

    def rows(self, rules: OnlineRules) -> pa.Table:
        """A row per list, outside sessions: lists, and where clicks tell which are a list's own also
        clicked_lists, answerable_lists and answered_lists, each 0 or 1.
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
            found = {"clicked_lists": self._clicked_lists(), **self._answers(rules)}
            columns |= {name: pa.array(values.astype(np.int8)) for name, values in found.items()}
        return pa.table(columns)

    def table(self) -> pa.Table:
        """The served table, with a column click where the events told which of its items were clicked."""
        import pyarrow as pa

        if not self._knows_clicks or "click" in self._table.column_names:
            return self._table
        click = np.zeros(len(self._table))
        click[self._rows] = self._is_clicked()
        return self._table.append_column("click", pa.array(click))

    def notices(self) -> list[Problem]:
        found = [_lengths(np.bincount(self._list, minlength=len(self)))] if len(self) else []
        if strangers := len(self._table) - len(self._rows):
            what = f"{strangers:,} rows are of users who were never exposed"
            found.append(Problem("never-exposed", "served lists", what, "They do not count.", strangers))
        if self._of_other:
            what = f"{self._of_other:,} lists were made by another variant than their user's"
            fix = "They count for the user's variant. Was everybody served as assigned?"
            found.append(Problem("served-other-variant", "served lists", what, fix, self._of_other))
        return [*found, *([] if self._knows_clicks else [NO_CLICKS])]

    # ── clicks ───────────────────────────────────────────────────────────────────────────────

    @property
    def _knows_clicks(self) -> bool:
        return self._reader.has_requests or "click" in self._table.column_names

    def _add_clicks_of_the_table(self) -> None:
        if "click" in self._table.column_names:
            clicked = self._table["click"].to_numpy()[self._rows] > 0
            keys = self._keys_of_rows()[clicked]
            self._own.codes(keys)
            self._clicked.codes(keys)

    def _keys_of_rows(self) -> Keys64:
        return paired(self._list, _as_keys(self._item))

    def _is_clicked(self) -> Mask:
        """[rows of exposed users] whether the item was clicked in its list."""
        return _known(self._clicked, self._keys_of_rows())

    def _clicked_lists(self) -> Mask:
        found = np.zeros(len(self), dtype=np.bool_)
        found[self._list[self._is_clicked()]] = True
        return found

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def _answers(self, rules: OnlineRules) -> dict[str, Mask]:
        """[lists] whether an answer is known, and whether the list holds it."""
        unit, begun, item = self._watchings.past(rules.threshold_s)
        # times as places among all of them, so that unit and time fit into one number
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
        known = answer >= 0
        held = known & _known(self._listed, paired(np.arange(len(self)), _as_keys(answer)))
        return {"answerable_lists": known, "answered_lists": held}

    def _other_variants(self, first: Ints) -> int:
        """How many lists say another variant than that of their user."""
        who = self._reader.exposed.assigned
        said = np.array(self._table["variant"].take(self._rows[first]).to_pylist(), dtype=object)
        mine = np.array([*who.names, None], dtype=object)[who.arm[self._unit]]
        return int(((said != mine) & (who.arm[self._unit] >= 0)).sum())


NO_CLICKS = Problem(
    "no-request-ids",
    "served lists",
    "no event names the list that it belongs to",
    "Add request_id to the events, or click to the served lists: without, neither the online hit ratio nor "
    "the share of clicked lists can be had.",
)


def _lengths(lengths: Ints) -> Problem:
    usual = int(np.bincount(lengths).argmax())
    same = int((lengths == usual).sum())
    found = f"{len(lengths):,} lists of {usual} items"
    if same < len(lengths):
        found = f"{len(lengths):,} lists of {lengths.min()} to {lengths.max()} items, mostly {usual}"
    fix = "The online hit ratio looks at whole lists, of those after which something else is watched."
    return Problem("served-lists", "served lists", found, fix, len(lengths))


def _known(keys: Keys, wanted: Keys64) -> Mask:
    found: Mask = keys.codes(wanted, grow=False)[0] >= 0
    return found


def _as_keys(codes: Ints) -> Keys64:
    return codes.astype(np.uint64)


def _micro(column: pa.ChunkedArray) -> Ints:
    found: Ints = column.cast("int64").to_numpy()
    return found
