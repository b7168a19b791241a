"""Exposures and events → the session table that every online number comes from, and what did not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import InputError, Problem
from recdash.online.logs.event_reader import CLICK, HEARTBEAT, IMPRESSION, OURS, WATCH, EventReader, Events
from recdash.online.logs.hash_index import Keys, Tally, paired
from recdash.online.logs.served_lists import Lists
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import Removed

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMES = 40
MOST_UNLIKE = 0.2
"""Share of the events that may repeat an id at another time; beyond it the ids mean something else."""
LATE, EARLY = np.iinfo(np.int64).max, np.iinfo(np.int64).min
TAKEN = {
    *("unit_id", "session_id", "variant", "start_ts", "end_ts", "clicks", "watch_s", "videos", "impressions"),
    *("sessions", "engaged_sessions", "watch_min"),
    *("lists", "answerable_lists", "answered_lists", "clicked_lists"),
}
"""Names that a session table, or what is added up from it, has a meaning for."""


@dataclass(frozen=True)
class Counted:
    """``sessions``: unit_id, session_id, start_ts and end_ts (the first and last event), clicks, watch_s,
    videos, impressions and a count of every other event under its own name. ``removed`` by rule and variant.
    """

    sessions: pa.Table
    removed: tuple[Removed, ...]
    notices: tuple[Problem, ...]
    served: pa.Table | None = None


def sessions_of(
    events: Iterable[pa.RecordBatch],
    exposures: pa.Table,
    rules: OnlineRules = USUAL,
    served: pa.Table | None = None,
) -> Counted:
    """Checked batches of events, taken as they pass, added up to the sessions of exposed users.

    Only items that were recommended count for clicks, watch time and videos, where the log has a column
    ``source``. ``served`` lists add a row each (see ``online.logs.served_lists``). Raises InputError where
    no event is of an exposed user with a session.
    """
    folded = Folded(exposures)
    lists = Lists(served, folded.reader) if served is not None else None
    for batch in events:
        found = folded.add(batch)
        if lists is not None:
            lists.add(found)
    counted = folded.counted(rules)
    return counted if lists is None else _with_lists(counted, lists, rules)


def _with_lists(counted: Counted, lists: Lists, rules: OnlineRules) -> Counted:
    import pyarrow as pa

    table = pa.concat_tables([counted.sessions, lists.rows(rules)], promote_options="default")
    notices = (*counted.notices, *lists.notices())
    return replace(counted, sessions=table, notices=notices, served=lists.table())


class Folded:
    """What is kept of the events: a number per session and per watched item, whatever their number."""

    def __init__(self, exposures: pa.Table) -> None:
        self.reader = EventReader(exposures)
        self._watchings = Keys()  # an item in a visit
        self._visit = Tally(np.int32)
        self._starts, self._ends = Tally(np.int64, LATE), Tally(np.int64, EARLY)
        self._counts = {CLICK: Tally(np.int32), IMPRESSION: Tally(np.int32)}
        self._summed, self._highest = Tally(np.float64), Tally(np.float64)
        self._names: Counter[str] = Counter()
        self._has_videos = False

    def add(self, batch: pa.RecordBatch) -> Events:
        """Fold a batch in; gives its events for what else is to be made of them."""
        events = self.reader.read(batch)
        n = len(self.reader.visits)
        np.minimum.at(self._starts.upto(n), events.visit, events.at)
        np.maximum.at(self._ends.upto(n), events.visit, events.at)
        self._count(events)
        self._watch(events)
        return events

    def _count(self, events: Events) -> None:
        """Clicks and impressions of what was recommended; other events under their own names."""
        for name in (CLICK, IMPRESSION):
            self._add(name, events.visit[events.named(name) & events.counts])
        met = np.bincount(events.event, minlength=len(events.names))
        for place, name in enumerate(events.names):
            self._names[name] += int(met[place])
            if name not in OURS and met[place] and len(self._counts) <= MOST_NAMES:
                self._add(name, events.visit[events.event == place])

    def _add(self, name: str, visit: Ints) -> None:
        counts = self._counts.setdefault(name, Tally(np.int32)).upto(len(self.reader.visits))
        np.add.at(counts, visit, np.int32(1))

    def _watch(self, events: Events) -> None:
        """Watch events of an item add up; a heartbeat says how much it is by now."""
        watched = events.named(WATCH, HEARTBEAT)
        self._has_videos = self._has_videos or bool(watched.any())
        self.reader.leave_out("no-item", events.unit[watched & (events.item < 0)])
        rows = watched & events.counts & (events.item >= 0)
        events = events.of(rows)
        code, new = self._watchings.codes(paired(events.visit, events.item.astype(np.uint64)))
        n, beats = len(self._watchings), events.named(HEARTBEAT)
        self._visit.upto(n)[code[new]] = events.visit[new]
        np.add.at(self._summed.upto(n), code[~beats], events.watched[~beats])
        np.maximum.at(self._highest.upto(n), code[beats], events.watched[beats])

    # ── what comes of it ─────────────────────────────────────────────────────────────────────

    def counted(self, rules: OnlineRules) -> Counted:
        visits = self.reader.visits
        n, session = len(visits), visits.session_ids()
        if session.null_count == n:
            raise InputError(_nothing(self.reader.strangers))
        if self.reader.unlike_their_first > MOST_UNLIKE:
            raise InputError(_no_event_ids(self.reader.unlike_their_first))
        watch, videos = self._watched(rules)
        columns = {
            "clicks": self._counts[CLICK].upto(n),
            "watch_s": watch,
            **({"videos": videos} if self._has_videos else {}),
            **{self._column(name): self._counts[name].upto(n) for name in self._own_names()},
        }
        table = self._table(session, columns)
        return Counted(table, self._removed(rules), self._notices())

    def _own_names(self) -> list[str]:
        """Events with a column of their own; the others' names are too many to be kinds of events."""
        seen = {name for name, count in self._names.items() if count} - {CLICK, WATCH, HEARTBEAT}
        return sorted(seen if len(seen) <= MOST_NAMES else seen & {IMPRESSION})

    def _column(self, name: str) -> str:
        if name == IMPRESSION:
            return "impressions"
        return f"{name} events" if name in TAKEN or name.startswith("before_") else name

    def _watched(self, rules: OnlineRules) -> tuple[Floats, Ints]:
        """[visits] seconds watched and videos; what cap and threshold leave out is counted."""
        n = len(self._watchings)
        summed, highest = self._summed.upto(n), self._highest.upto(n)
        # rounded, so that ten times 0.1 s are no more than 1 s
        seconds = np.round(np.maximum(summed, highest), 6)
        visit, unit = self._visit.upto(n), self.reader.visits.unit
        is_video = seconds > rules.threshold_s
        self.reader.leave_out("threshold", unit[visit[(seconds > 0) & ~is_video]])
        cap = np.inf if rules.item_cap_s is None else rules.item_cap_s
        self.reader.leave_out("item-cap", unit[visit[seconds > cap]])
        watch = np.bincount(visit, np.minimum(seconds, cap), minlength=len(self.reader.visits)).astype(
            np.float64
        )
        return watch, np.bincount(visit[is_video], minlength=len(self.reader.visits)).astype(np.int32)

    def _table(self, session: pa.Array, columns: Mapping[str, Floats | Ints]) -> pa.Table:
        """A row per session; what has none is left out."""
        import pyarrow as pa

        visits, moment = self.reader.visits, pa.timestamp("us", "UTC")
        n, rows = len(visits), session.is_valid().to_numpy(zero_copy_only=False)
        ids = {
            "unit_id": self.reader.exposed.units.words().take(pa.array(visits.unit[rows])),
            "session_id": session.drop_null(),
            "start_ts": pa.array(self._starts.upto(n)[rows], moment),
            "end_ts": pa.array(self._ends.upto(n)[rows], moment),
        }
        return pa.table(ids | {name: pa.array(values[rows]) for name, values in columns.items()})

    def _removed(self, rules: OnlineRules) -> tuple[Removed, ...]:
        cap = 0.0 if rules.item_cap_s is None else rules.item_cap_s
        told = (
            ("duplicate-event", "have an event_id that was there before", "events"),
            ("no-session", "have no session", "events"),
            ("source", "are not of recommended items", "events"),
            ("no-item", "were watched without an item", "events"),
            ("threshold", f"were watched for {rules.threshold_s:g} s or less: no videos", "items"),
            ("item-cap", f"were watched for more than {cap:g} s, which count as {cap:g} s", "items"),
        )
        found = [self.reader.removed(*rule) for rule in told]
        return tuple(one for one in found if one.count)

    def _notices(self) -> tuple[Problem, ...]:
        n = len(self._watchings)
        twice = int(((self._summed.upto(n) > 0) & (self._highest.upto(n) > 0)).sum())
        other = sorted(name for name, count in self._names.items() if count and name not in OURS)
        told = [_sources(self.reader), *self.reader.exposed.spellings.notices()]
        told += [_strangers(self.reader.strangers)] if self.reader.strangers else []
        told += [_both_ways(twice)] if twice else []
        told += [_other_names(other)] if other else []
        return tuple(told)


def _sources(reader: EventReader) -> Problem:
    if reader.sources is not None:
        return reader.sources.notice()
    fix = "Clicks and watch time of all items count. Add it to count those of recommendations only."
    return Problem("no-source", "column 'source'", "It is not in the log", fix)


def _nothing(strangers: int) -> Problem:
    found = "no event has a session"
    if strangers:
        found = f"no event with a session is of an exposed user; {strangers:,} are of others"
    return Problem(
        "no-events", "events", found, "Do both tables write the ids of users in one way?", strangers
    )


def _no_event_ids(share: float) -> Problem:
    found = f"{100 * share:.0f} % of the events have an id that their user had at another time"
    fix = "It does not tell events apart: leave the column out, or write an id that only one event has."
    return Problem("repeated-event-ids", "column 'event_id'", found, fix)


def _strangers(count: int) -> Problem:
    found = f"{count:,} events are of users who were never exposed"
    return Problem("never-exposed", "events", found, "They are in no variant and do not count.", count)


def _both_ways(count: int) -> Problem:
    found = f"{count:,} items of a session have watch events and heartbeats"
    return Problem("watched-both-ways", "events", found, "The longer of the two times counts.", count)


def _other_names(names: list[str]) -> Problem:
    shown = ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
    if len(names) <= MOST_NAMES:
        return Problem(
            "other-events", "column 'event'", f"counted under their own names: {shown}", "", len(names)
        )
    fix = f"More than {MOST_NAMES} are not counted. Is another column the one with the event?"
    return Problem("too-many-events", "column 'event'", f"{len(names):,} names: {shown}", fix, len(names))
