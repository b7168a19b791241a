"""Generates the logs behind simulated sessions: exposures, events and served lists that add up to the
sessions.

Each session is one request with a list of five different films. Each film is equally likely at any position,
so that the propensity is exactly one divided by the number of films. The films that a session clicks are at
consecutive positions and are watched one after the other. Every other click has one ``watch`` event, all
others have three heartbeats with cumulative seconds. In some sessions without a click, a film that was found
by search is watched, which does not count for the recommendations. One event in a hundred is repeated with
the same event_id, and many events happen in the same second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.demo.ab_tests.scenario import COUNTRIES, PLATFORMS
from recdash.demo.ab_tests.sessions import People, Rng, SimulatedSessions, named, timestamps
from recdash.domain.kinds import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

EXPERIMENT = "simulated"
N_FILMS, SLOTS = 997, 5
"""Number of films and length of a list. The number of films is prime, so that steps of any size reach all
films before they return to the first.
"""
SEARCHED, SEARCHED_OF_LIST, REPEATED = 0.1, 0.3, 0.01
KINDS = ("impression", "click", "watch", "heartbeat")
IMPRESSION, CLICK, WATCH, HEARTBEAT = range(4)
SOURCES = ("recommendations", "search")


@dataclass(frozen=True)
class SimulatedLogs:
    """The logs as tables to upload: ``exposures`` has one row and ``served`` one list for each session of the
    test.
    """

    exposures: pa.Table
    events: pa.Table
    served: pa.Table


@dataclass(frozen=True)
class _Lists:
    """The film at the top of each session's list [S], and the step from one position to the next [S]."""

    begin: Ints
    step: Ints

    def film(self, session: Ints, rank: Ints) -> Ints:
        """Returns the film at a position (from 1) of a session's list."""
        return 1 + (self.begin[session] + self.step[session] * (rank - 1)) % N_FILMS


def logs(rng: Rng, arms: list[str], users: People, sessions: SimulatedSessions) -> SimulatedLogs:
    n = len(sessions.user)
    lists = _Lists(rng.integers(0, N_FILMS, n), rng.integers(1, N_FILMS, n))
    return SimulatedLogs(
        exposures=_exposures(rng, arms, users, sessions),
        events=_events(rng, users, sessions, lists),
        served=_served(arms, users, sessions, lists),
    )


def _exposures(rng: Rng, arms: list[str], users: People, sessions: SimulatedSessions) -> pa.Table:
    """Returns exposures some seconds after the beginning of each session of the test, so that a user's first
    session begins before the exposure.
    """
    import pyarrow as pa

    rows = np.flatnonzero(sessions.in_test)
    user = sessions.user[rows]
    return pa.table(
        {
            "experiment_id": pa.array([EXPERIMENT]).take(pa.array(np.zeros(len(rows), dtype=np.int64))),
            "unit_id": users.unit[user],
            "variant": named(sessions.arm[rows], arms),
            "ts": timestamps(sessions.start[rows] + rng.integers(1, 20, len(rows))),
            "country": named(users.country[user], list(COUNTRIES)),
            "platform": named(users.platform[user], list(PLATFORMS)),
        }
    )


def _served(arms: list[str], users: People, sessions: SimulatedSessions, lists: _Lists) -> pa.Table:
    import pyarrow as pa

    session = np.repeat(np.flatnonzero(sessions.in_test), SLOTS)
    rank = np.tile(np.arange(1, SLOTS + 1), len(session) // SLOTS)
    return pa.table(
        {
            "request_id": session + 1,
            "unit_id": users.unit[sessions.user[session]],
            "ts": timestamps(sessions.start[session]),
            "variant": named(sessions.arm[session], arms),
            "rank": rank,
            "item_id": lists.film(session, rank),
            "propensity": np.full(len(session), 1 / N_FILMS),
        }
    )


# ── events ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Events:
    """Events [E]: their ``session``, time ``at`` (seconds since 1970), ``kind``, ``item`` and ``source``;
    ``watch_s`` (NaN for none) and ``rank`` (0 for none).
    """

    session: Ints
    at: Ints
    kind: Ints
    item: Ints
    watch_s: Floats
    rank: Ints
    source: Ints


def _events(rng: Rng, users: People, sessions: SimulatedSessions, lists: _Lists) -> pa.Table:
    session = np.repeat(np.arange(len(sessions.user)), SLOTS)
    rank = np.tile(np.arange(1, SLOTS + 1), len(sessions.user))
    item = lists.film(session, rank)
    impressions = _happened(IMPRESSION, session, sessions.start[session], item, rank=rank)
    actions = [*_clicks_and_watching(rng, sessions, lists), *_searches(rng, sessions, lists)]
    parts = [impressions, *actions]
    names = _Events.__dataclass_fields__
    rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    order = np.argsort(rows["at"], kind="stable")
    twice = rng.random(len(order)) < REPEATED
    order = np.repeat(order, 1 + twice)
    event_id = np.repeat(np.arange(1, len(twice) + 1), 1 + twice)
    return _table(users, sessions, {name: values[order] for name, values in rows.items()}, event_id)


def _table(users: People, sessions: SimulatedSessions, rows: dict[str, Any], event_id: Ints) -> pa.Table:
    import pyarrow as pa

    recommended = rows["source"] == 0
    return pa.table(
        {
            "unit_id": users.unit[sessions.user[rows["session"]]],
            "session_id": rows["session"] + 1,
            "ts": timestamps(rows["at"]),
            "event": named(rows["kind"], list(KINDS)),
            "item_id": rows["item"],
            "watch_s": pa.array(rows["watch_s"], mask=np.isnan(rows["watch_s"])),
            "source": named(rows["source"], list(SOURCES)),
            "position": pa.array(rows["rank"], mask=rows["rank"] == 0),
            "request_id": pa.array(rows["session"] + 1, mask=~recommended),
            "event_id": event_id,
        }
    )


def _happened(kind: int, session: Ints, ts: Ints, item: Ints, **more: Any) -> _Events:
    n = len(session)
    return _Events(
        session=session,
        at=ts,
        kind=np.full(n, kind),
        item=item,
        watch_s=more.get("watch_s", np.full(n, np.nan)).astype(np.float64),
        rank=more.get("rank", np.zeros(n, dtype=np.int64)),
        source=np.full(n, more.get("source", 0)),
    )


def _clicks_and_watching(rng: Rng, sessions: SimulatedSessions, lists: _Lists) -> list[_Events]:
    """Returns clicks and what was watched. A session's n-th click is n − 1 positions below its first, and
    happens after the previous film was watched.
    """
    session, n = sessions.of_click, sessions.clicks
    begin = np.repeat(n.cumsum() - n, n)
    nth = np.arange(len(session)) - begin
    top = 1 + (rng.random(len(n)) * np.maximum(SLOTS - n + 1, 1)).astype(np.int64)
    rank = top[session] + nth
    before = sessions.click_s.cumsum() - sessions.click_s
    ts = sessions.start[session] + 5 + 3 * nth + before - before[begin]
    item, seconds = lists.film(session, rank), sessions.click_s
    once = np.arange(len(session)) % 2 == 0
    events = [
        _happened(CLICK, session, ts, item, rank=rank),
        _happened(WATCH, session[once], (ts + seconds)[once], item[once], watch_s=seconds[once]),
    ]
    for third in (1, 2, 3):
        so_far = -(-seconds * third // 3)
        beats = _happened(HEARTBEAT, session[~once], (ts + so_far)[~once], item[~once], watch_s=so_far[~once])
        events.append(beats)
    return events


def _searches(rng: Rng, sessions: SimulatedSessions, lists: _Lists) -> list[_Events]:
    """Returns searches in some of the sessions without a click. In some of these, the film found is one of
    the session's list that was not clicked there.
    """
    session = np.flatnonzero((sessions.clicks == 0) & (rng.random(len(sessions.user)) < SEARCHED))
    of_list = rng.random(len(session)) < SEARCHED_OF_LIST
    rank = rng.integers(1, SLOTS + 1, len(session))
    item = np.where(of_list, lists.film(session, rank), N_FILMS + rng.integers(1, N_FILMS, len(session)))
    ts, seconds = sessions.start[session] + 30, rng.integers(60, 3000, len(session))
    return [
        _happened(CLICK, session, ts, item, source=1),
        _happened(WATCH, session, ts + seconds, item, watch_s=seconds, source=1),
    ]
