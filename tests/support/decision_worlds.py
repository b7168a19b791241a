"""A small experiment to decide about: a baseline, two candidates, an A/B test of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from recdash.domain.records import OnlineTest
from recdash.service import Workspace

USERS = [f"u{number}" for number in range(80)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number}" for number in range(80)]})
TRAIN = pd.DataFrame({"user_id": USERS[:40], "item_id": [f"i{number + 40}" for number in range(40)]})
"""The first 40 users are known, the others new to the service."""


def lists(found: Mapping[int, int], shift: int) -> pd.DataFrame:
    """Lists of three: user n's own item at rank ``found[n % 8]``, if that is there; items of others else."""
    rows = []
    for n, user in enumerate(USERS):
        hit = found.get(n % 8)
        for rank in (1, 2, 3):
            item = f"i{n}" if rank == hit else f"i{(n + shift * rank) % 80}"
            rows.append((user, item, rank))
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


RUNS = {
    "popular": lists({0: 1}, 7),  # 10 of 80 users find their item: nDCG 1/8
    "als": lists(dict.fromkeys(range(1, 8), 1), 11),  # the other 70: 7/8
    "ease": lists({0: 1, 1: 1, 2: 1}, 13),  # 30: 3/8
}


def films(workspace: Workspace, name: str = "films") -> dict[str, str]:
    """Names → ids of the experiment ``films`` and its runs; popular is the baseline."""
    made = workspace.experiments.create(name, TRUTH, train=TRAIN, depth=3)
    ids = {run: workspace.runs.add(made.id, table, name=run)[0].run.id for run, table in RUNS.items()}
    workspace.experiments.set_baseline(made.id, ids["popular"])
    return {"films": made.id, **ids}


def sessions(engaged: Mapping[str, int], users: int = 200) -> Any:
    """``users`` a variant; so many click and watch 9 minutes, the others 3. The last one comes twice.

    So the sessions per user are as good as the same, which lets a guardrail hold.
    """
    rows = [
        {
            "unit_id": f"{variant}-{user}", "session_id": f"s{user}-{visit}", "variant": variant,
            "start_ts": f"2026-03-{2 + user % 7:02d}T12:00:00Z", "clicks": int(user < clicked),
            "watch_s": 540 if user < clicked else 180,
        }
        for variant, clicked in engaged.items()
        for user in range(users)
        for visit in ((0, 1) if user == users - 1 else (0,))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def home_page(
    workspace: Workspace, ids: Mapping[str, str], new: int = 140, name: str = "home page"
) -> OnlineTest:
    """80 of 200 users engaged in control; ``new`` of 200 where als was served."""
    links = {"control": ids["popular"], "new": ids["als"]}
    table = sessions({"control": 80, "new": new})
    return workspace.online_tests.add(ids["films"], name, {"sessions": table}, links=links)


def checkout(workspace: Workspace) -> OnlineTest:
    """60 of 200 users engaged in control A, 120 of 200 in B; in an experiment *shop* without runs."""
    table = sessions({"A": 60, "B": 120})
    experiment = workspace.experiments.create("shop")
    return workspace.online_tests.add(experiment.id, "checkout", {"sessions": table}, control="A")
