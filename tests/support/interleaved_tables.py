"""Tables of interleaving tests, drawn with a known preference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

SLOTS = 6


def team_draft(
    n_users: int = 60, n_requests: int = 20, *, lean: float = 0.0, seed: int = 0, **columns: Any
) -> pd.DataFrame:
    """Returns one row per slot of a team draft; items of ``als`` are clicked e^lean times as often."""
    chance = np.random.default_rng(seed)
    n = n_users * n_requests
    coins = chance.integers(0, 2, (n, SLOTS // 2))
    is_als = np.stack([coins, 1 - coins], axis=2).reshape(n, SLOTS).astype(bool)
    rate = np.repeat(chance.beta(1, 5, n_users), n_requests)[:, None]
    clicked = chance.random((n, SLOTS)) < rate * np.exp(lean * (is_als - 0.5))
    request = np.arange(n)
    frame = pd.DataFrame(
        {
            "request_id": np.repeat([f"r{number:05d}" for number in request], SLOTS),
            "user_id": np.repeat([f"u{number:04d}" for number in request // n_requests], SLOTS),
            "rank": np.tile(np.arange(1, SLOTS + 1), n),
            "item_id": np.tile([f"i{number}" for number in range(SLOTS)], n),
            "team": np.where(is_als, "als", "popular").ravel(),
            "clicked": clicked.ravel().astype(int),
        }
    )
    return frame.assign(**columns)
