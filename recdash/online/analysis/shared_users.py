"""Compares the users of two A/B tests: how many are in both, and whether the other test's variants are spread
alike over this test's.

Letters in shapes: ``U`` users, ``V`` variants of this test, ``W`` variants of the other test.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import Ints, Mask
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.wording import many
from recdash.online.analysis.health import FEW_EXPECTED, MISMATCH_BELOW
from recdash.online.users import OnlineUsers


@dataclass(frozen=True)
class SharedUsers:
    """The users of an A/B test who are also in another one, ``other``.

    ``experiment`` is the name of the other test's experiment; empty if it is that of the test.
    ``n`` of the test's ``n_users`` users are in both. ``p`` is the p-value that users of all variants are in
    the other test, and in each of its variants, equally often; None if too few users are in both to tell.
    """

    other: str
    n: int
    n_users: int
    p: float | None
    experiment: str = ""

    @property
    def share(self) -> float:
        """Returns the share of the test's users who are in both, from 0 to 1."""
        return self.n / self.n_users

    @property
    def is_uneven(self) -> bool:
        """Returns whether the variants differ so much in the other test that chance hardly explains it."""
        return self.p is not None and self.p < MISMATCH_BELOW

    def notice(self) -> Problem:
        """Returns what the shared users mean for the lifts, as a notice."""
        are = "is" if self.n == 1 else "are"
        home = f" of '{self.experiment}'" if self.experiment else ""
        text = (
            f"{many(self.n, 'user')} ({numbers.three(100 * self.share)} %) {are} also in '{self.other}'{home}"
        )
        fix, code = "", "overlap"
        if self.p is None:
            text += ", too few to tell whether its variants are balanced here"
        elif self.is_uneven:
            text += f", whose variants are not balanced over those of this test ({numbers.p_equals(self.p)})"
            fix = "A lift may be an effect of that test: compare the users who are not in it."
            code = "unbalanced-overlap"
        else:
            text += f", whose variants are balanced over those of this test ({numbers.p_equals(self.p)})"
            fix = "That test does not bias the lifts."
        return Problem(code, "Other tests", text, fix, self.n)

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        return {
            **asdict(self),
            "share": self.share,
            "balanced": None if self.p is None else not self.is_uneven,
        }


def shared_users(users: OnlineUsers, others: OnlineUsers, other: str, experiment: str = "") -> SharedUsers:
    """Returns which of the ``users`` are also in another test, whose name is ``other``."""
    is_in, place = _places(users, others)
    group = np.zeros(len(users), dtype=np.int64)  # 0: not in the other test
    group[is_in] = others.variant[place] + 1
    return SharedUsers(other, int(is_in.sum()), len(users), _balance(users.variant, group), experiment)


def are_assigned_alike(users: OnlineUsers, others: OnlineUsers) -> bool:
    """Returns whether each user of two tests is in variants of the same name; True without such users."""
    is_in, place = _places(users, others)
    names, other_names = np.array(users.variants, dtype=object), np.array(others.variants, dtype=object)
    return bool((names[users.variant[is_in]] == other_names[others.variant[place]]).all())


def ran_together(users: OnlineUsers, others: OnlineUsers) -> bool:
    """Returns whether the days of two tests overlap; True if one has no times."""
    (first, last), (other_first, other_last) = _days(users), _days(others)
    if not last or not other_last:  # a log without times has all its rows on day 0
        return True
    return first <= other_last and other_first <= last


def _days(users: OnlineUsers) -> tuple[int, int]:
    days = np.concatenate([users.days.day, users.exposed])
    return int(days.min()), int(days.max())


def _places(users: OnlineUsers, others: OnlineUsers) -> tuple[Mask, Ints]:
    """Returns whether each user (U) is in the other test, too, and the place there of those who are."""
    place = pc.index_in(_ids(users), value_set=_ids(others)).to_numpy(zero_copy_only=False)
    is_in = np.isfinite(place.astype(np.float64))
    return is_in, place[is_in].astype(np.int64)


def _ids(users: OnlineUsers) -> pa.Array:
    ids = users.unit if isinstance(users.unit, pa.Array | pa.ChunkedArray) else pa.array(list(users.unit))
    ids = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    return ids.cast(pa.string())


def _balance(variant: Ints, group: Ints) -> float | None:
    """Returns the p-value that each group has the same share of all variants (chi-square test).

    If some variant expects fewer than five users of a group, all users in the other test are one group; None
    if that is still so, and if all users or none are in the other test's only variant.
    """
    from scipy.stats import chi2_contingency

    for of_user in (group, np.minimum(group, 1)):
        counts = np.zeros((int(variant.max(initial=0)) + 1, int(of_user.max(initial=0)) + 1))
        np.add.at(counts, (variant, of_user), 1)
        counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
        if min(counts.shape) < 2:
            continue
        tested = chi2_contingency(counts, correction=False)
        if tested.expected_freq.min() >= FEW_EXPECTED:
            return float(tested.pvalue)
    return None
