"""Adds up what was counted in parts of a log of events, and builds the session table from it.

All events of a user lie in one part, so that the sums over the parts are what a single pass counts.

Letters in shapes: ``visits`` sessions, ``A`` variants.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.errors import InputError, Problem
from recdash.formatting.wording import capital
from recdash.online.logs.event_reader import (
    CLICK,
    HEARTBEAT,
    IMPRESSION,
    OURS,
    WATCH,
    Exposed,
    share_repeated,
)
from recdash.online.logs.id_spellings import Respelled
from recdash.online.logs.sources import Sources
from recdash.online.rules import OnlineRules
from recdash.online.users import Removed

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMES = 40
MOST_REUSED_IDS = 0.2
"""Largest share of events that repeat an id at another time; with more, the ids do not identify events."""
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


@dataclass(frozen=True)
class EventSums:
    """What was counted in the events of some users.

    ``unit`` [visits] are codes of users in the exposures, ``session`` [visits] ids (null for activity outside
    sessions), ``starts`` and ``ends`` [visits] microseconds since 1970. ``counts`` and ``values`` map names
    of events to how many each session has [visits], and to the sum of their values. ``watch`` [visits] are
    the seconds watched and ``videos`` [visits] the number of videos, by the rules. ``names`` counts all
    events by their names. ``left_out`` maps a rule to what it excluded [1 + A], first of users without a
    variant. ``looked_at`` [2, 2] tells how many ids recur at another time (see ``EventReader``).
    """

    unit: Ints
    session: pa.Array
    starts: Ints
    ends: Ints
    counts: Mapping[str, Ints]
    values: Mapping[str, Floats]
    watch: Floats
    videos: Ints
    names: Counter[str]
    has_videos: bool
    has_sessions: bool
    left_out: Mapping[str, Ints]
    looked_at: Ints
    sources: Sources | None
    n_unexposed: int
    n_watched_both_ways: int
    respelled: Respelled

    def __len__(self) -> int:
        return len(self.unit)

    def counted(self, exposed: Exposed, rules: OnlineRules) -> Counted:
        """Returns the session table, and what was excluded and noticed.

        Raises InputError if no event belongs to an exposed user with a session, and if ids of events do not
        identify them.
        """
        if self.session.null_count == len(self):
            message = "no event has a session"
            if self.n_unexposed:
                message = f"no event with a session is of an exposed user; {self.n_unexposed:,} are of others"
            fix = "Do both tables write user ids in the same form?"
            raise InputError(Problem("no-events", "events", message, fix, self.n_unexposed))
        repeated = share_repeated(self.looked_at)
        if repeated > MOST_REUSED_IDS:
            message = f"{100 * repeated:.0f} % of the events have an id that their user had at "
            fix = "It does not identify events: remove the column, or write a unique id per event."
            place = "column 'event_id'"
            raise InputError(Problem("repeated-event-ids", place, f"{message}another time", fix))
        return Counted(self._table(exposed), self._removed(exposed, rules), self._notices())

    def _columns(self) -> dict[str, Floats | Ints]:
        """Returns the columns of numbers of the session table [visits]."""
        columns: dict[str, Floats | Ints] = {}
        if self.names[CLICK]:
            columns["clicks"] = self.counts[CLICK]
        if self.has_videos:
            columns |= {"watch_s": self.watch, "videos": self.videos}
        seen = {name for name, count in self.names.items() if count} - {CLICK, WATCH, HEARTBEAT}
        # too many names cannot be kinds of events: they get no columns
        for name in sorted(seen if len(seen) <= MOST_NAMES else seen & {IMPRESSION}):
            is_taken = name in RESERVED_NAMES or name.startswith("before_")
            column = "impressions" if name == IMPRESSION else f"{name} events" if is_taken else name
            columns[column] = self.counts[name]
            if name in self.values:
                columns[f"{name} value"] = self.values[name]
        return columns

    def _table(self, exposed: Exposed) -> pa.Table:
        """Returns a table of one row per session, without the activity outside sessions."""
        import pyarrow as pa

        moment, rows = pa.timestamp("us", "UTC"), self.session.is_valid().to_numpy(zero_copy_only=False)
        ids = {"unit_id": exposed.units.words().take(pa.array(self.unit[rows]))}
        ids |= {"session_id": self.session.drop_null()} if self.has_sessions else {}
        ids |= {
            "start_ts": pa.array(self.starts[rows], moment),
            "end_ts": pa.array(self.ends[rows], moment),
        }
        return pa.table(ids | {name: pa.array(values[rows]) for name, values in self._columns().items()})

    def _removed(self, exposed: Exposed, rules: OnlineRules) -> tuple[Removed, ...]:
        cap = 0.0 if rules.item_cap_s is None else rules.item_cap_s
        rules_in_words = (
            ("duplicate-event", "repeat an earlier event", "events"),
            ("no-session", "have no session", "events"),
            ("source", "are not of recommended items", "events"),
            ("no-item", "were watched without an item", "events"),
            ("threshold", f"were watched for {rules.threshold_s:g} s or less: no videos", "items"),
            ("item-cap", f"were watched for more than {cap:g} s, which count as {cap:g} s", "items"),
        )
        variants = exposed.assigned.names
        removed = []
        for rule, description, unit in rules_in_words:
            counts = self.left_out.get(rule, np.zeros(len(variants) + 1, dtype=np.int64))[1:].tolist()
            removed.append(Removed(rule, description, unit, dict(zip(variants, counts, strict=True))))
        return tuple(rule for rule in removed if rule.count)

    def _counted_of_items(self) -> str:
        """Returns what the log counts of items, as the beginning of a sentence."""
        watched = "watch time" if self.has_videos else ""
        if not self.names[CLICK]:
            return capital(watched)
        return f"Clicks and {watched}" if watched else "Clicks"

    def _notices(self) -> tuple[Problem, ...]:
        if self.sources is None:
            of_items = f"{self._counted_of_items()} of all items count."
            fix = f"{of_items} Add the column to count only recommendations."
            is_of_items = self.names[CLICK] or self.has_videos
            notices = (
                [Problem("no-source", "column 'source'", "It is not in the log", fix)] if is_of_items else []
            )
        else:
            notices = [self.sources.notice()]
        notices += self.respelled.notices()
        if self.n_unexposed:
            message = f"{self.n_unexposed:,} events are of users who were never exposed"
            fix = "They are in no variant and do not count."
            notices.append(Problem("never-exposed", "events", message, fix, self.n_unexposed))
        if twice := self.n_watched_both_ways:
            message = f"{twice:,} items of a session have watch events and heartbeats"
            fix = "The longer of the two times counts."
            notices.append(Problem("watched-both-ways", "events", message, fix, twice))
        if other := sorted(name for name, count in self.names.items() if count and name not in OURS):
            notices.append(_other_names(other))
        return tuple(notices)


def _other_names(names: list[str]) -> Problem:
    listed = ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
    if len(names) <= MOST_NAMES:
        message = f"counted under their own names: {listed}"
        return Problem("other-events", "column 'event'", message, "", len(names))
    fix = f"More than {MOST_NAMES} are not counted. Is the event in another column?"
    return Problem("too-many-events", "column 'event'", f"{len(names):,} names: {listed}", fix, len(names))


# ── parts ────────────────────────────────────────────────────────────────────────────────────


def sum_of(parts: Sequence[EventSums]) -> EventSums:
    """Returns what was counted in all parts, of which there is at least one.

    Raises InputError if a user has events in several of them.
    """
    import pyarrow as pa

    _refuse_user_in_two_parts(parts)
    return EventSums(
        unit=np.concatenate([part.unit for part in parts]),
        session=pa.concat_arrays(_of_one_type([part.session for part in parts])),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
        counts=_joined(parts, [part.counts for part in parts], np.int32),
        values=_joined(parts, [part.values for part in parts], np.float64),
        watch=np.concatenate([part.watch for part in parts]),
        videos=np.concatenate([part.videos for part in parts]),
        names=sum((part.names for part in parts), Counter()),
        has_videos=any(part.has_videos for part in parts),
        has_sessions=all(part.has_sessions for part in parts),
        left_out=_added([part.left_out for part in parts]),
        looked_at=np.sum([part.looked_at for part in parts], axis=0),
        sources=Sources.sum_of([part.sources for part in parts if part.sources is not None]),
        n_unexposed=sum(part.n_unexposed for part in parts),
        n_watched_both_ways=sum(part.n_watched_both_ways for part in parts),
        respelled=Respelled.sum_of([part.respelled for part in parts]),
    )


def _refuse_user_in_two_parts(parts: Sequence[EventSums]) -> None:
    _, n_parts = np.unique(np.concatenate([np.unique(part.unit) for part in parts]), return_counts=True)
    count = int((n_parts > 1).sum())
    if count:
        finding = (
            f"{count:,} users are written in two ways, which count as one id, so that their events are apart"
        )
        fix = "Write each user id in one way, or let this process read the table."
        raise InputError(Problem("user-in-two-parts", "events, column 'unit_id'", finding, fix, count))


def _of_one_type(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Returns the columns that have rows, as text if their types differ; one if none has."""
    import pyarrow as pa

    filled = [column for column in columns if len(column)] or list(columns[:1])
    is_one = len({column.type for column in filled}) == 1
    return filled if is_one else [column.cast(pa.string()) for column in filled]


def _joined(parts: Sequence[EventSums], of_parts: Sequence[Mapping[str, Any]], dtype: type) -> dict[str, Any]:
    """Returns {name: its numbers of the sessions of all parts}; 0 in a part without the name."""
    names = dict.fromkeys(name for of_part in of_parts for name in of_part)
    zeros: list[Any] = [np.zeros(len(part), dtype=dtype) for part in parts]
    return {
        name: np.concatenate([own.get(name, zero) for own, zero in zip(of_parts, zeros, strict=True)])
        for name in names
    }


def _added(parts: Sequence[Mapping[str, Ints]]) -> dict[str, Ints]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.sum([part[name] for part in parts if name in part], axis=0) for name in names}
