"""A log that is counted in parts, each with all events of its users, has the sessions of one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from recdash.demo.ab_tests import simulate
from recdash.errors import InputError
from recdash.ingest import read_stream, read_upload
from recdash.online.logs.event_reader import Exposed
from recdash.online.logs.event_sums import Counted, EventSums, sum_of
from recdash.online.logs.events import sessions_of, sums_of
from recdash.online.rules import USUAL

ORDER = [("unit_id", "ascending"), ("session_id", "ascending")]


def facts(counted: Counted) -> dict[str, Any]:
    return {
        "sessions": counted.sessions.sort_by(ORDER).to_pydict(),
        "removed": [(removed.rule, dict(removed.by_variant)) for removed in counted.removed],
        "notices": [str(notice) for notice in counted.notices],
    }


def parts_of(events: pa.Table, exposures: pa.Table, n: int) -> list[EventSums]:
    """What is counted in each of n parts: the part of a user follows from the id."""
    users = events["unit_id"].to_pylist()
    part = np.array([sum(str(user).encode()) % n for user in users])
    return [sums_of(events.filter(pa.array(part == own)).to_batches(500), exposures) for own in range(n)]


def logs() -> tuple[pa.Table, pa.Table]:
    """Checked events with repeats, users who were never exposed, and own events; and the exposures."""
    made = simulate(300, 5, events=True).logs
    events = made.events
    events = pa.concat_tables([events, events.slice(0, 50)])
    who = made.exposures.filter(pc.not_equal(made.exposures["unit_id"], made.exposures["unit_id"][0]))
    batches = list(read_stream("events", events).batches())
    return pa.Table.from_batches(batches), read_upload("exposures", who).table


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_parts_add_up_to_one_pass(n_parts: int) -> None:
    events, exposures = logs()
    whole = facts(sessions_of(events.to_batches(), exposures))
    parts = parts_of(events, exposures, n_parts)
    assert facts(sum_of(parts).counted(Exposed(exposures), USUAL)) == whole
    assert len(whole["sessions"]["unit_id"]) > 300
    assert "duplicate-event" in dict(whole["removed"])


def test_a_part_without_events_adds_nothing() -> None:
    events, exposures = logs()
    whole = facts(sessions_of(events.to_batches(), exposures))
    parts = [sums_of((), exposures), *parts_of(events, exposures, 2), sums_of((), exposures)]
    assert facts(sum_of(parts).counted(Exposed(exposures), USUAL)) == whole


def test_a_user_in_two_parts_is_refused() -> None:
    events, exposures = logs()
    halves = [sums_of(events.slice(first, 2000).to_batches(), exposures) for first in (0, 2000)]
    with pytest.raises(InputError, match="users are written in two ways"):
        sum_of(halves)
