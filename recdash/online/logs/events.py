"""Builds the session table, from which every online number comes, and lists what was excluded.

Its sources are the exposures and the events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.logs.event_reader import CLICK, HEARTBEAT, IMPRESSION, OURS, WATCH, EventReader, Events
from recdash.online.logs.event_sums import MOST_NAMES, Counted, EventSums
from recdash.online.logs.hash_index import Tally
from recdash.online.logs.served_lists import ServedLists
from recdash.online.logs.watch_times import WatchTimes
from recdash.online.rules import USUAL, OnlineRules

if TYPE_CHECKING:
    import pyarrow as pa

LATE, EARLY = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def sessions_of(
    events: Iterable[pa.RecordBatch],
    exposures: pa.Table,
    rules: OnlineRules = USUAL,
    served: pa.Table | None = None,
) -> Counted:
    """Returns the sessions of exposed users, counted from a stream of checked batches of events.

    If the log has a column ``source``, only recommended items count for clicks, watch time and videos. Each
    of the ``served`` lists adds a row (see ``online.logs.served_lists``). Raises InputError if no event
    belongs to an exposed user with a session.
    """
    import pyarrow as pa

    folded = EventCounts(exposures)
    lists = None if served is None else ServedLists(served, folded.reader)
    for batch in events:
        exposed = folded.add(batch)
        if lists is not None:
            lists.add(exposed)
    counted = folded.sums(rules).counted(folded.reader.exposed, rules)
    if lists is None:
        return counted
    table = pa.concat_tables([counted.sessions, lists.rows(rules)], promote_options="default")
    notices = (*counted.notices, *lists.notices())
    return replace(counted, sessions=table, notices=notices, served=lists.table())


def sums_of(events: Iterable[pa.RecordBatch], exposures: pa.Table, rules: OnlineRules = USUAL) -> EventSums:
    """Returns what is counted in the checked batches of some users' events."""
    folded = EventCounts(exposures)
    for batch in events:
        folded.add(batch)
    return folded.sums(rules)


class EventCounts:
    """The counts that are kept of a stream of events: one number per session and per watched item.

    Its size does not depend on the number of events.
    """

    def __init__(self, exposures: pa.Table) -> None:
        self.reader = EventReader(exposures)
        self._watch_times = WatchTimes()
        self._visit = Tally(np.int32)
        self._starts, self._ends = Tally(np.int64, LATE), Tally(np.int64, EARLY)
        self._counts = {CLICK: Tally(np.int32), IMPRESSION: Tally(np.int32)}
        self._values: dict[str, Tally] = {}
        self._names: Counter[str] = Counter()
        self._has_videos = False

    def add(self, batch: pa.RecordBatch) -> Events:
        """Counts a batch of events, and returns its events of exposed users for further use."""
        events = self.reader.read(batch)
        n = len(self.reader.visits)
        np.minimum.at(self._starts.first(n), events.visit, events.at)
        np.maximum.at(self._ends.first(n), events.visit, events.at)
        self._count(events)
        self._watch(events)
        return events

    def _count(self, events: Events) -> None:
        """Counts clicks and impressions of recommended items, and all other events under their own names."""
        for name in (CLICK, IMPRESSION):
            self._add(name, events.visit[events.named(name) & events.counts])
        met = np.bincount(events.event, minlength=len(events.names))
        for place, name in enumerate(events.names):
            self._names[name] += int(met[place])
            if name not in OURS and met[place] and (name in self._counts or self._has_room):
                rows = events.event == place
                self._add(name, events.visit[rows])
                if events.value[rows].any():
                    values = self._values.setdefault(name, Tally(np.float64))
                    np.add.at(values.first(len(self.reader.visits)), events.visit[rows], events.value[rows])

    @property
    def _has_room(self) -> bool:
        """Returns whether another name gets counts: up to ``MOST_NAMES``, besides clicks and impressions."""
        return len(self._counts) < len((CLICK, IMPRESSION)) + MOST_NAMES

    def _add(self, name: str, visit: Ints) -> None:
        counts = self._counts.setdefault(name, Tally(np.int32)).first(len(self.reader.visits))
        np.add.at(counts, visit, np.int32(1))

    def _watch(self, events: Events) -> None:
        watched = events.named(WATCH, HEARTBEAT)
        self._has_videos = self._has_videos or bool(watched.any())
        self.reader.leave_out("no-item", events.unit[watched & (events.item < 0)])
        events = events.of(watched & events.counts & (events.item >= 0))
        code, new = self._watch_times.add(events)
        self._visit.first(len(self._watch_times))[code[new]] = events.visit[new]

    # ── results ──────────────────────────────────────────────────────────────────────────────

    def sums(self, rules: OnlineRules) -> EventSums:
        """Returns what was counted so far; it is called once, as it counts what the rules exclude."""
        reader, n = self.reader, len(self.reader.visits)
        watch, videos = self._watched(rules)
        return EventSums(
            unit=reader.visits.unit,
            session=reader.visits.session_ids(),
            starts=self._starts.first(n),
            ends=self._ends.first(n),
            counts={name: counts.first(n) for name, counts in self._counts.items()},
            values={name: values.first(n) for name, values in self._values.items()},
            watch=watch,
            videos=videos,
            names=self._names,
            has_videos=self._has_videos,
            has_sessions=reader.has_sessions,
            left_out=reader.left_out,
            looked_at=reader.looked_at,
            sources=reader.sources,
            n_unexposed=reader.n_unexposed,
            n_watched_both_ways=self._watch_times.n_both_ways(),
            respelled=reader.exposed.spellings.respelled,
        )

    def _watched(self, rules: OnlineRules) -> tuple[Floats, Ints]:
        """Returns [visits] the watched seconds and [visits] the number of videos.

        It also counts what the rules' cap and threshold exclude.
        """
        seconds = self._watch_times.seconds()
        visit, unit = self._visit.first(len(seconds)), self.reader.visits.unit
        is_video = seconds > rules.threshold_s
        self.reader.leave_out("threshold", unit[visit[(seconds > 0) & ~is_video]])
        cap = np.inf if rules.item_cap_s is None else rules.item_cap_s
        self.reader.leave_out("item-cap", unit[visit[seconds > cap]])
        n = len(self.reader.visits)
        watch = np.bincount(visit, np.minimum(seconds, cap), minlength=n).astype(np.float64)
        return watch, np.bincount(visit[is_video], minlength=n).astype(np.int32)
