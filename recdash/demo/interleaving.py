"""Simulates interleaving tests by team draft: between two given rankings, and with a known preference.

Letters in shapes: ``R`` requests, ``S`` slots of a list, ``L`` items of a ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask

if TYPE_CHECKING:
    import pyarrow as pa


def drawn_teams(rng: np.random.Generator, n_requests: int, n_slots: int) -> Ints:
    """Returns [R, S] the team that picks the item of each slot, 0 or 1.

    In each round of two slots a fair coin decides which team picks first (Radlinski, Kurup and Joachims
    2008).
    """
    coins = rng.integers(0, 2, (n_requests, (n_slots + 1) // 2))
    return np.stack([coins, 1 - coins], axis=2).reshape(n_requests, -1)[:, :n_slots]


def team_draft(rankings: Ints, teams: Ints, n_items: int) -> Ints:
    """Returns [R, S] the items of each list: in each slot its team's best item that is not in the list yet.

    ``rankings`` [2, R, L] are the items of both teams, each from 0 to ``n_items`` − 1, the best first; each
    has at least S items.
    """
    n_requests, n_slots = teams.shape
    request = np.arange(n_requests)
    is_listed = np.zeros((n_requests, n_items), dtype=np.bool_)
    items = np.empty((n_requests, n_slots), dtype=np.int64)
    for slot in range(n_slots):
        ranking = rankings[teams[:, slot], request]
        best = np.argmin(is_listed[request[:, None], ranking], axis=1)  # the first that is not listed
        items[:, slot] = ranking[request, best]
        is_listed[request, items[:, slot]] = True
    return items


@dataclass(frozen=True)
class Interleaved:
    """The slots of an interleaving test: ``user`` [R], and ``team`` and ``clicked`` [R, S] of each slot."""

    user: Ints
    team: Ints
    clicked: Mask

    def table(self) -> pa.Table:
        """Returns one row per slot, as it is uploaded, of the teams control and new."""
        import pyarrow as pa

        n_requests, n_slots = self.team.shape
        return pa.table(
            {
                "request_id": np.repeat(np.arange(n_requests), n_slots),
                "unit_id": np.repeat(self.user, n_slots),
                "rank": np.tile(np.arange(1, n_slots + 1), n_requests),
                "team": np.array(["control", "new"])[self.team.ravel()].tolist(),
                "clicked": self.clicked.ravel().astype(np.int64),
            }
        )


@dataclass(frozen=True)
class Clicks:
    """How users click in the lists of a simulated interleaving test.

    A user clicks an item at the first position with a probability from Beta(1, ``rarity``), and lower ones
    less often; ``eager`` users click everything. Items of the second team are clicked e^``lean`` times as
    often as those of the first. ``taste`` is the standard deviation of that logarithm between users.
    """

    lean: float = 0.0
    taste: float = 0.5
    eager: float = 0.03
    rarity: float = 9.0
    n_slots: int = 6

    def draw(self, rng: np.random.Generator, n_users: int, n_requests: int) -> Interleaved:
        """Returns ``n_requests`` lists of each user."""
        user = np.repeat(np.arange(n_users), n_requests)
        rate = rng.beta(1, self.rarity, n_users)
        is_eager = rng.random(n_users) < self.eager
        lean: Floats = self.lean + self.taste * rng.normal(size=n_users)
        team = drawn_teams(rng, len(user), self.n_slots)
        chance = rate[user][:, None] / np.sqrt(np.arange(1, self.n_slots + 1))
        chance = chance * np.exp((team - 0.5) * lean[user][:, None])
        chance = np.where(is_eager[user][:, None], 1.0, chance)
        return Interleaved(user, team, rng.random(team.shape) < chance)
