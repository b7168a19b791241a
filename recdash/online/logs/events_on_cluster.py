"""Counts the events of an A/B test on a Spark cluster, by the code that counts them on one machine.

Spark brings all events of a user into one partition, which its executor reads, checks and adds up to
sessions. The driver gets a row per session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.domain.inputs import UploadStream
from recdash.errors import Problem, UploadError
from recdash.evaluation.spark_rows import SparkRows, further_notices
from recdash.online.logs.event_reader import Exposed
from recdash.online.logs.event_sums import Counted, EventSums, sum_of
from recdash.online.logs.events import sums_of
from recdash.online.rules import USUAL, OnlineRules

if TYPE_CHECKING:
    import pyarrow as pa


def sessions_on_cluster(
    rows: SparkRows, events: UploadStream, exposures: pa.Table, rules: OnlineRules = USUAL
) -> Counted:
    """Returns the sessions of exposed users, counted on a cluster from ``events``, which reads ``rows``.

    The events of a table, which have no order, are counted by time. Adds the notices of all partitions to
    those of ``events``. Raises InputError for invalid rows, for users who are written in two ways, and if no
    event belongs to an exposed user with a session.
    """
    rows.user, rows.needed, rows.order = _columns_in(events, rows)
    sent = exposures.select(["unit_id", "variant", "ts"])
    known = tuple(events.notices)

    def count() -> tuple[EventSums, Sequence[Problem]]:
        events.notices.clear()
        return sums_of(events.batches(), sent, rules), events.notices

    parts, notices = rows.of_parts(count, events.name)
    events.notices.extend(further_notices(notices, known))
    # the sums of no events are among them: there may be no partition with rows
    return sum_of([sums_of((), sent, rules), *parts]).counted(Exposed(sent), rules)


def _columns_in(events: UploadStream, rows: SparkRows) -> tuple[str, list[str], list[str]]:
    """Returns the column of users, the columns that an executor needs, and those that order a user's events.

    Raises UploadError if no column holds the users alone.
    """
    names = rows.schema.names
    user, used = events.mapping.get("unit_id", ""), [*events.mapping.values()]
    if user not in names:
        finding, fix = "its users are inside another column", "Give them a column of their own."
        raise UploadError(Problem("spark-layout", "column 'unit_id'", finding, fix))
    by_time = [events.mapping.get("ts", ""), *sorted(used)]
    needed = [name for name in names if name in used] if set(used) <= set(names) else list(names)
    return user, needed, [name for name in by_time if name in names]
