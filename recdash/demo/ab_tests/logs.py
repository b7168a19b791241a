"""The logs behind simulated sessions: exposures, events and served lists that add up to them.

Each session is one request with a list of five different films, any film at any place with the same chance,
so that the propensity is exactly one in all films. The films of a session's clicks stand one below the other,
and are watched one after the other: every other click has one ``watch`` event, the others three
heartbeats that count up. In some sessions without a click a film found by search is watched, which
recommendations have no part in. One event in a hundred is there twice with the same event_id, and many share
their second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.demo.ab_tests.scenario import COUNTRIES, PLATFORMS
from recdash.demo.ab_tests.sessions import People, Rng, SimulatedSessions, named
from recdash.domain.kinds import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

EXPERIMENT = "simulated"
N_FILMS, SLOTS = 997, 5
"""A prime number of films: steps of any size from any film on come by all others first."""
SEARCHED, SEARCHED_OF_LIST, REPEATED = 0.1, 0.3, 0.01
KINDS = ("impression", "click", "watch", "heartbeat")
IMPRESSION, CLICK, WATCH, HEARTBEAT = range(4)
SOURCES = ("recommendations", "search")


@dataclass(frozen=True)
class SimulatedLogs:
    """Tables as uploaded. ``exposures`` one for each session of the test, ``served`` a list for each."""

    exposures: pa.Table
    events: pa.Table
    served: pa.Table


@dataclass(frozen=True)
class _Lists:
    """[S] where the list of each session begins among the films, and its step to the next place."""

    begin: Ints
    step: Ints

    def film(self, session: Ints, rank: Ints) -> Ints:
        """The film at a place (from 1) of a session's list."""
        return 1 + (self.begin[session] + self.step[session] * (rank - 1)) % N_FILMS


def logs(rng: Rng, arms: list[str], who: People, drawn: SimulatedSessions) -> SimulatedLogs:
    n = len(drawn.user)
    lists = _Lists(rng.integers(0, N_FILMS, n), rng.integers(1, N_FILMS, n))
    return SimulatedLogs(
        exposures=_exposures(rng, arms, who, drawn),
        events=_events(rng, who, drawn, lists),
        served=_served(arms, who, drawn, lists),
    )


def _times(seconds: Ints) -> pa.Array:
    import pyarrow as pa

    return pa.array(seconds * 1_000_000, pa.timestamp("us", tz="UTC"))


def _exposures(rng: Rng, arms: list[str], who: People, drawn: SimulatedSessions) -> pa.Table:
    """Some seconds into each session of the test: who drops sessions that began before it loses the first."""
    import pyarrow as pa

    rows = np.flatnonzero(drawn.in_test)
    user = drawn.user[rows]
    return pa.table(
        {
            "experiment_id": pa.array([EXPERIMENT]).take(pa.array(np.zeros(len(rows), dtype=np.int64))),
            "unit_id": who.unit[user],
            "variant": named(drawn.arm[rows], arms),
            "ts": _times(drawn.start[rows] + rng.integers(1, 20, len(rows))),
            "country": named(who.country[user], list(COUNTRIES)),
            "platform": named(who.platform[user], list(PLATFORMS)),
        }
    )


def _served(arms: list[str], who: People, drawn: SimulatedSessions, lists: _Lists) -> pa.Table:
    import pyarrow as pa

    session = np.repeat(np.flatnonzero(drawn.in_test), SLOTS)
    rank = np.tile(np.arange(1, SLOTS + 1), len(session) // SLOTS)
    return pa.table(
        {
            "request_id": session + 1,
            "unit_id": who.unit[drawn.user[session]],
            "ts": _times(drawn.start[session]),
            "variant": named(drawn.arm[session], arms),
            "rank": rank,
            "item_id": lists.film(session, rank),
            "propensity": np.full(len(session), 1 / N_FILMS),
        }
    )


# ── events ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Events:
    """[E] what happened: ``session``, ``at`` seconds since 1970, ``kind``, ``item``, ``watch_s`` and ``rank``
    (NaN and 0 where there is none), ``source``.
    """

    session: Ints
    at: Ints
    kind: Ints
    item: Ints
    watch_s: Floats
    rank: Ints
    source: Ints


def _events(rng: Rng, who: People, drawn: SimulatedSessions, lists: _Lists) -> pa.Table:
    parts = [
        _impressions(drawn, lists),
        *_clicks_and_watching(rng, drawn, lists),
        *_searches(rng, drawn, lists),
    ]
    together = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in _Events.__dataclass_fields__
    }
    order = np.argsort(together["at"], kind="stable")
    twice = rng.random(len(order)) < REPEATED
    order = np.repeat(order, 1 + twice)
    event_id = np.repeat(np.arange(1, len(twice) + 1), 1 + twice)
    return _table(who, drawn, {name: values[order] for name, values in together.items()}, event_id)


def _table(who: People, drawn: SimulatedSessions, rows: dict[str, Any], event_id: Ints) -> pa.Table:
    import pyarrow as pa

    recommended = rows["source"] == 0
    return pa.table(
        {
            "unit_id": who.unit[drawn.user[rows["session"]]],
            "session_id": rows["session"] + 1,
            "ts": _times(rows["at"]),
            "event": named(rows["kind"], list(KINDS)),
            "item_id": rows["item"],
            "watch_s": pa.array(rows["watch_s"], mask=np.isnan(rows["watch_s"])),
            "source": named(rows["source"], list(SOURCES)),
            "position": pa.array(rows["rank"], mask=rows["rank"] == 0),
            "request_id": pa.array(rows["session"] + 1, mask=~recommended),
            "event_id": event_id,
        }
    )


def _happened(kind: int, session: Ints, at: Ints, item: Ints, **more: Any) -> _Events:
    n = len(session)
    return _Events(
        session=session,
        at=at,
        kind=np.full(n, kind),
        item=item,
        watch_s=more.get("watch_s", np.full(n, np.nan)).astype(np.float64),
        rank=more.get("rank", np.zeros(n, dtype=np.int64)),
        source=np.full(n, more.get("source", 0)),
    )


def _impressions(drawn: SimulatedSessions, lists: _Lists) -> _Events:
    session = np.repeat(np.arange(len(drawn.user)), SLOTS)
    rank = np.tile(np.arange(1, SLOTS + 1), len(drawn.user))
    return _happened(IMPRESSION, session, drawn.start[session], lists.film(session, rank), rank=rank)


def _clicks_and_watching(rng: Rng, drawn: SimulatedSessions, lists: _Lists) -> list[_Events]:
    """The n-th click of a session is n − 1 places below its first, after the film before has been watched."""
    session, n = drawn.of_click, drawn.clicks
    begin = np.repeat(n.cumsum() - n, n)
    nth = np.arange(len(session)) - begin
    top = 1 + (rng.random(len(n)) * np.maximum(SLOTS - n + 1, 1)).astype(np.int64)
    rank = top[session] + nth
    before = drawn.click_s.cumsum() - drawn.click_s
    at = drawn.start[session] + 5 + 3 * nth + before - before[begin]
    item, seconds = lists.film(session, rank), drawn.click_s
    once = np.arange(len(session)) % 2 == 0
    found = [
        _happened(CLICK, session, at, item, rank=rank),
        _happened(WATCH, session[once], (at + seconds)[once], item[once], watch_s=seconds[once]),
    ]
    for third in (1, 2, 3):
        so_far = -(-seconds * third // 3)
        beats = _happened(HEARTBEAT, session[~once], (at + so_far)[~once], item[~once], watch_s=so_far[~once])
        found.append(beats)
    return found


def _searches(rng: Rng, drawn: SimulatedSessions, lists: _Lists) -> list[_Events]:
    """In sessions without a click; some watch a film of their list after all, but did not click it there."""
    session = np.flatnonzero((drawn.clicks == 0) & (rng.random(len(drawn.user)) < SEARCHED))
    of_list = rng.random(len(session)) < SEARCHED_OF_LIST
    rank = rng.integers(1, SLOTS + 1, len(session))
    item = np.where(of_list, lists.film(session, rank), N_FILMS + rng.integers(1, N_FILMS, len(session)))
    at, seconds = drawn.start[session] + 30, rng.integers(60, 3000, len(session))
    return [
        _happened(CLICK, session, at, item, source=1),
        _happened(WATCH, session, at + seconds, item, watch_s=seconds, source=1),
    ]
