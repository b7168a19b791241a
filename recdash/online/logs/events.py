"""Builds the session table, from which every online number comes, and lists what was excluded.

Its sources are the exposures and the events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import InputError, Problem
from recdash.formatting.wording import capital
from recdash.online.logs.event_reader import CLICK, HEARTBEAT, IMPRESSION, OURS, WATCH, EventReader, Events
from recdash.online.logs.hash_index import Tally
from recdash.online.logs.served_lists import ServedLists
from recdash.online.logs.watch_times import WatchTimes
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import Removed

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMES = 40
MOST_REUSED_IDS = 0.2
"""Largest share of events that repeat an id at another time; with more, the ids do not identify events."""
LATE, EARLY = np.iinfo(np.int64).max, np.iinfo(np.int64).min
RESERVED_NAMES = {
    *("unit_id", "session_id", "variant", "start_ts", "end_ts", "clicks", "watch_s", "videos", "impressions"),
    *("sessions", "engaged_sessions", "watch_min"),
    *("lists", "answerable_lists", "answered_lists", "clicked_lists"),
}
"""Names that have a meaning in a session table or in its totals."""


@dataclass(frozen=True)
class Counted:
    """The sessions of an A/B test, counted from its events.

    ``sessions`` has the columns unit_id, session_id, start_ts and end_ts (times of the first and last
    event), clicks, watch_s, videos, impressions, and a count of every other event under its own name,
    with the sum of its values. Columns of events that the log does not have are missing. Without sessions
    in the log, the rows are those of a user at one time, without session_id. ``removed`` says what each
    rule excluded per variant. ``served`` are the served lists, None if not given.
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
    counted = folded.counted(rules)
    if lists is None:
        return counted
    table = pa.concat_tables([counted.sessions, lists.rows(rules)], promote_options="default")
    notices = (*counted.notices, *lists.notices())
    return replace(counted, sessions=table, notices=notices, served=lists.table())


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

    def counted(self, rules: OnlineRules) -> Counted:
        visits = self.reader.visits
        n, session = len(visits), visits.session_ids()
        if session.null_count == n:
            n_unexposed, message = self.reader.n_unexposed, "no event has a session"
            if n_unexposed:
                message = f"no event with a session is of an exposed user; {n_unexposed:,} are of others"
            fix = "Do both tables write user ids in the same form?"
            raise InputError(Problem("no-events", "events", message, fix, n_unexposed))
        repeated = self.reader.repeated_ids
        if repeated > MOST_REUSED_IDS:
            message = f"{100 * repeated:.0f} % of the events have an id that their user had at another time"
            fix = "It does not identify events: remove the column, or write a unique id per event."
            raise InputError(Problem("repeated-event-ids", "column 'event_id'", message, fix))
        watch, videos = self._watched(rules)
        columns: dict[str, Floats | Ints] = {}
        if self._names[CLICK]:
            columns["clicks"] = self._counts[CLICK].first(n)
        if self._has_videos:
            columns |= {"watch_s": watch, "videos": videos}
        seen = {name for name, count in self._names.items() if count} - {CLICK, WATCH, HEARTBEAT}
        # too many names cannot be kinds of events: they get no columns
        for name in sorted(seen if len(seen) <= MOST_NAMES else seen & {IMPRESSION}):
            is_taken = name in RESERVED_NAMES or name.startswith("before_")
            column = "impressions" if name == IMPRESSION else f"{name} events" if is_taken else name
            columns[column] = self._counts[name].first(n)
            if name in self._values:
                columns[f"{name} value"] = self._values[name].first(n)
        return Counted(self._table(session, columns), self._removed(rules), self._notices())

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

    def _table(self, session: pa.Array, columns: Mapping[str, Floats | Ints]) -> pa.Table:
        """Returns a table of one row per session, without the activity outside sessions."""
        import pyarrow as pa

        visits, moment = self.reader.visits, pa.timestamp("us", "UTC")
        n, rows = len(visits), session.is_valid().to_numpy(zero_copy_only=False)
        ids = {"unit_id": self.reader.exposed.units.words().take(pa.array(visits.unit[rows]))}
        ids |= {"session_id": session.drop_null()} if self.reader.has_sessions else {}
        ids |= {
            "start_ts": pa.array(self._starts.first(n)[rows], moment),
            "end_ts": pa.array(self._ends.first(n)[rows], moment),
        }
        return pa.table(ids | {name: pa.array(values[rows]) for name, values in columns.items()})

    def _removed(self, rules: OnlineRules) -> tuple[Removed, ...]:
        cap = 0.0 if rules.item_cap_s is None else rules.item_cap_s
        rules_in_words = (
            ("duplicate-event", "repeat an earlier event", "events"),
            ("no-session", "have no session", "events"),
            ("source", "are not of recommended items", "events"),
            ("no-item", "were watched without an item", "events"),
            ("threshold", f"were watched for {rules.threshold_s:g} s or less: no videos", "items"),
            ("item-cap", f"were watched for more than {cap:g} s, which count as {cap:g} s", "items"),
        )
        removed = [self.reader.removed(*rule) for rule in rules_in_words]
        return tuple(rule for rule in removed if rule.count)

    def _counted_of_items(self) -> str:
        """Returns what the log counts of items, as the beginning of a sentence."""
        watched = "watch time" if self._has_videos else ""
        if not self._names[CLICK]:
            return capital(watched)
        return f"Clicks and {watched}" if watched else "Clicks"

    def _notices(self) -> tuple[Problem, ...]:
        reader = self.reader
        if reader.sources is None:
            of_items = f"{self._counted_of_items()} of all items count."
            fix = f"{of_items} Add the column to count only recommendations."
            is_of_items = self._names[CLICK] or self._has_videos
            notices = (
                [Problem("no-source", "column 'source'", "It is not in the log", fix)] if is_of_items else []
            )
        else:
            notices = [reader.sources.notice()]
        notices += reader.exposed.spellings.notices()
        if n_unexposed := reader.n_unexposed:
            message = f"{n_unexposed:,} events are of users who were never exposed"
            fix = "They are in no variant and do not count."
            notices.append(Problem("never-exposed", "events", message, fix, n_unexposed))
        if twice := self._watch_times.n_both_ways():
            message = f"{twice:,} items of a session have watch events and heartbeats"
            fix = "The longer of the two times counts."
            notices.append(Problem("watched-both-ways", "events", message, fix, twice))
        if other := sorted(name for name, count in self._names.items() if count and name not in OURS):
            notices.append(_other_names(other))
        return tuple(notices)


def _other_names(names: list[str]) -> Problem:
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
    if len(names) <= MOST_NAMES:
        message = f"counted under their own names: {listed}"
        return Problem("other-events", "column 'event'", message, "", len(names))
    fix = f"More than {MOST_NAMES} are not counted. Is the event in another column?"
    return Problem("too-many-events", "column 'event'", f"{len(names):,} names: {listed}", fix, len(names))
