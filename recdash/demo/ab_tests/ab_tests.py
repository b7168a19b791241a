"""Simulates A/B tests from a seed, with exactly known effects and deliberate faults.

They are used to test the statistics, and ``recdash demo --online`` writes them to files. The module
``scenario`` explains how sessions are generated, and why the effects are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.demo.ab_tests.scenario import COUNTRIES, PLATFORMS, VIDEO_S, Known, Plan, truth
from recdash.demo.ab_tests.sessions import People, SimulatedSessions, named, people, timestamps, visits

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.demo.ab_tests.logs import SimulatedLogs


@dataclass(frozen=True)
class Simulated:
    """The tables of a simulated test, and the truth about it (``known``).

    ``sessions`` is a table to upload (unit_id, session_id, variant, start_ts, clicks, watch_s, videos,
    country, platform) in time order. ``logs`` has the same test as exposures, events and served lists; None
    if they were not requested.
    """

    sessions: pa.Table
    logs: SimulatedLogs | None
    known: Known

    def tables(self) -> dict[str, pa.Table]:
        """Returns {kind of upload: table}."""
        logs = self.logs
        more = {"exposures": logs.exposures, "events": logs.events, "served": logs.served} if logs else {}
        return {"sessions": self.sessions, **more}


def simulate(n_users: int, seed: int, *, events: bool = False, **plan: Any) -> Simulated:
    """Returns a test with ``n_users`` users before exclusions; the same seed gives the same test. ``plan``
    are the fields of ``Plan``.

    ``events``: also make the logs behind the sessions. Raises InputError for an impossible plan.
    """
    from recdash.demo.ab_tests.logs import logs

    wanted, rng = Plan(**plan), np.random.default_rng(seed)
    users = people(rng, wanted, n_users)
    sessions, crossed, bots = visits(rng, wanted, users)
    known = Known(*truth(wanted), lost=n_users - len(users), crossed=crossed, bots=bots)
    log = logs(rng, list(wanted.arms), users, sessions) if events else None
    return Simulated(_table(list(wanted.arms), users, sessions), log, known)


def _table(arms: list[str], users: People, sessions: SimulatedSessions) -> pa.Table:
    import pyarrow as pa

    user, of_click, n = sessions.user, sessions.of_click, len(sessions.user)
    return pa.table(
        {
            "unit_id": users.unit[user],
            "session_id": np.arange(1, n + 1),
            "variant": named(sessions.arm, arms),
            "start_ts": timestamps(sessions.start),
            "clicks": sessions.clicks,
            "watch_s": np.bincount(of_click, sessions.click_s, minlength=n).astype(np.int64),
            "videos": np.bincount(of_click[sessions.click_s > VIDEO_S], minlength=n),
            "country": named(users.country[user], list(COUNTRIES)),
            "platform": named(users.platform[user], list(PLATFORMS)),
        }
    )
