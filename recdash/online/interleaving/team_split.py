"""Checks that fair coins drew the teams of an interleaving test.

Either ranking must come first equally often, and have equally many slots. As in the estimate, the units are
users, so that a coin which is kept for a user's requests counts once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Ints
from recdash.errors import Problem
from recdash.online.interleaving.credits import RequestCredits
from recdash.stats.sign_flips import p_value

UNEVEN = ("uneven-first-picks", "uneven-team-slots")
"""Codes of the warnings about teams so uneven that no preference may be judged."""
MISMATCH_BELOW = 0.0005
"""The p-value of each of the two checks; fair coins fail one of them in at most one of 1,000 tests."""
LEAST_USERS = 11
"""With fewer users no split has a p-value below ``MISMATCH_BELOW``."""
UNFAIR = ", which fair coins hardly ever draw"
FIX = "Look for requests that are drawn, logged or filtered differently. No preference is judged."


@dataclass(frozen=True)
class TeamSplit:
    """How often either ranking came first, and how often it had more slots than the other.

    ``first`` and ``more_slots`` are (requests of a, requests of b), or None; their p-values are None if they
    cannot be checked, and ``unchecked`` says why.
    """

    first: tuple[int, int] | None
    more_slots: tuple[int, int] | None
    first_p: float | None
    slots_p: float | None
    unchecked: str = ""

    @property
    def blocked(self) -> bool:
        """Returns True if the split is so unlikely that no preference may be judged."""
        return _is_uneven(self.first_p) or _is_uneven(self.slots_p)


def team_split(requests: RequestCredits) -> TeamSplit:
    if requests.first is None:
        return TeamSplit(None, None, None, None, "the table has credits and no slots")
    n_users = requests.n_users
    few = f"at least {LEAST_USERS} users are needed" if n_users < LEAST_USERS else ""
    first, more = _sides(requests.first), None if requests.surplus is None else _sides(requests.surplus)
    first_p = slots_p = None
    if not few:
        first_p = _p_of(requests.user, requests.first)
        slots_p = None if requests.surplus is None else _p_of(requests.user, requests.surplus)
    return TeamSplit(first, more, first_p, slots_p, few)


def split_warnings(split: TeamSplit, a: str, b: str) -> tuple[Problem, ...]:
    """Returns a problem for each check that shows a mismatch."""
    warnings = []
    if split.first is not None and _is_uneven(split.first_p):
        message = f"'{a}' came first in {split.first[0]:,} requests and '{b}' in {split.first[1]:,}{UNFAIR}"
        warnings.append(Problem("uneven-first-picks", "teams", message, FIX))
    if split.more_slots is not None and _is_uneven(split.slots_p):
        sides = split.more_slots
        message = f"'{a}' had more slots in {sides[0]:,} requests and '{b}' in {sides[1]:,}{UNFAIR}"
        warnings.append(Problem("uneven-team-slots", "teams", message, FIX))
    return tuple(warnings)


def _is_uneven(p: float | None) -> bool:
    return p is not None and p < MISMATCH_BELOW


def _sides(signs: Ints) -> tuple[int, int]:
    return int((signs < 0).sum()), int((signs > 0).sum())


def _p_of(user: Ints, signs: Ints) -> float:
    of_user = np.bincount(np.unique(user, return_inverse=True)[1], signs)
    return p_value(of_user.astype(np.float64))
