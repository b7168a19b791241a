"""A/B tests of a shop whose users have orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from recdash.domain.records import OnlineTest
from recdash.online.proposals import MetricChoices
from recdash.service import Workspace

USERS = 800


def shop_test(
    workspace: Workspace,
    name: str = "checkout",
    orders: tuple[float, float] = (0.8, 1.2),
    *,
    seed: int = 3,
    has_sessions: bool = True,
    devices: Sequence[str] | None = None,
) -> OnlineTest:
    """A test in an experiment without a test set and runs: 400 users a variant, with so many orders on
    average (control's first); no plan, no dates.

    Both variants have the same sessions. ``devices`` are the users' own.
    """
    rng, (control, new) = np.random.default_rng(seed), orders
    is_new = np.arange(USERS) % 2 == 1
    table = pd.DataFrame(
        {
            "customer": [f"c{n}" for n in range(USERS)],
            "variant": np.where(is_new, "new", "control"),
            "orders": rng.poisson(np.where(is_new, new, control)),
        }
    )
    if has_sessions:
        table["sessions"] = 5 + rng.poisson(5, USERS)
    if devices is not None:
        table["device"] = devices
    experiment = workspace.experiments.create("Shop")
    return workspace.online_tests.add(experiment.id, name, {"sessions": table})


def orders_of(means: Mapping[str, float]) -> pd.DataFrame:
    """A table of 400 users a variant, with so many orders on average."""
    rng = np.random.default_rng(1)
    return pd.concat(
        pd.DataFrame(
            {
                "customer": [f"{variant}{n}" for n in range(400)],
                "variant": variant,
                "orders": rng.poisson(mean, 400),
            }
        )
        for variant, mean in means.items()
    )


def information_test(workspace: Workspace) -> OnlineTest:
    """A test without an effect on its goal, orders, in which visits, for information, rise clearly."""
    rng, is_new = np.random.default_rng(4), np.arange(USERS) % 2 == 1
    table = pd.DataFrame(
        {
            "customer": [f"c{n}" for n in range(USERS)],
            "variant": np.where(is_new, "new", "control"),
            "orders": rng.poisson(1.0, USERS),
            "visits": rng.poisson(np.where(is_new, 6.0, 5.0)),
        }
    )
    experiment = workspace.experiments.create("Shop")
    choices = MetricChoices(goals=("orders",))
    return workspace.online_tests.add(experiment.id, "checkout", {"sessions": table}, choices=choices)
