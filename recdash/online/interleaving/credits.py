"""The credits of an interleaving test: for each request, what either of two rankings has earned.

Letters in shapes: ``R`` requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import Problem
from recdash.online.users import Segment

Method = Literal["team draft", "balanced", "credits"]
"""How credits were assigned: by the team of each clicked item, by both rankings, or before the upload."""


@dataclass(frozen=True)
class RequestLabels:
    """When each request was made, and its attributes, such as its country.

    ``day`` [R] counts from 1970 (UTC), −1 if unknown; None without times. ``segments`` have the requests'
    values of each attribute. ``mixed`` is {column: number of requests with several values}: such a column is
    no attribute of requests.
    """

    day: Ints | None = None
    segments: Mapping[str, Segment] = field(default_factory=dict)
    mixed: Mapping[str, int] = field(default_factory=dict)

    def part(self, chosen: Mask) -> RequestLabels:
        """Returns the labels of the ``chosen`` [R] requests."""
        segments = {name: Segment(own.labels, own.label[chosen]) for name, own in self.segments.items()}
        return RequestLabels(None if self.day is None else self.day[chosen], segments, self.mixed)


NO_LABELS = RequestLabels()


@dataclass(frozen=True)
class RequestCredits:
    """The requests of an interleaving test between the rankings ``a`` and ``b``, one element each.

    ``user`` [R] are indexes into the users. ``credit_a`` and ``credit_b`` [R] are at least 0. ``first`` [R]
    says whose item came first: 1 for b, −1 for a, 0 if it was of both or is unknown. ``surplus`` [R] is 1 if
    b had more slots, −1 if a had, 0 otherwise. Both are None without slots; ``surplus`` also where the method
    does not give either ranking the same number of slots.
    """

    a: str
    b: str
    method: Method
    user: Ints
    credit_a: Floats
    credit_b: Floats
    first: Ints | None = None
    surplus: Ints | None = None
    notices: tuple[Problem, ...] = ()
    labels: RequestLabels = NO_LABELS

    def __len__(self) -> int:
        return len(self.user)

    @property
    def n_users(self) -> int:
        return len(np.unique(self.user))

    @property
    def is_credited(self) -> Mask:
        """Returns [R] True for requests in which a ranking has earned credit."""
        return (self.credit_a > 0) | (self.credit_b > 0)

    def reversed(self) -> RequestCredits:
        """Returns the same requests with the two rankings exchanged."""
        return replace(
            self,
            a=self.b,
            b=self.a,
            credit_a=self.credit_b,
            credit_b=self.credit_a,
            first=None if self.first is None else -self.first,
            surplus=None if self.surplus is None else -self.surplus,
        )

    def part(self, chosen: Mask) -> RequestCredits:
        """Returns the ``chosen`` [R] requests."""
        return replace(
            self,
            user=self.user[chosen],
            credit_a=self.credit_a[chosen],
            credit_b=self.credit_b[chosen],
            first=None if self.first is None else self.first[chosen],
            surplus=None if self.surplus is None else self.surplus[chosen],
            labels=self.labels.part(chosen),
        )

    def wins(self) -> Mapping[str, int]:
        """Returns the number of requests by outcome: ``a``, ``b``, ``tie``, and ``none`` without credit."""
        credited = self.is_credited
        return {
            "a": int((self.credit_a > self.credit_b).sum()),
            "b": int((self.credit_b > self.credit_a).sum()),
            "tie": int((credited & (self.credit_a == self.credit_b)).sum()),
            "none": int((~credited).sum()),
        }


def balanced_credits(
    request: Ints, place: Floats, rank_a: Floats, rank_b: Floats, clicked: Mask
) -> tuple[Floats, Floats]:
    """Returns [R] the credits of both rankings by balanced interleaving (Joachims 2003; Radlinski and
    Craswell 2013).

    The lowest clicked item was at the better of its two ranks, k: either ranking must be read down to k to
    show all that was clicked, and earns the clicks among its own first k items. The arguments are of n slots:
    the index of the request, the position in the list, and the item's rank in both rankings, ∞ if it is not
    in one. Clicks on items of neither ranking earn nothing.
    """
    n_requests = int(request.max(initial=-1)) + 1
    best = np.minimum(rank_a, rank_b)
    counts = clicked & np.isfinite(best)
    lowest = np.full(n_requests, -np.inf)
    np.maximum.at(lowest, request[counts], place[counts])
    is_lowest = counts & (place == lowest[request])
    depth = np.zeros(n_requests)
    np.maximum.at(depth, request[is_lowest], best[is_lowest])
    within = depth[request]
    a, b = (
        np.bincount(request[counts & (rank <= within)], minlength=n_requests).astype(np.float64)
        for rank in (rank_a, rank_b)
    )
    return a, b
