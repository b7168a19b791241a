"""How much of a candidate's difference from the baseline comes from users without recommendations from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.comparison.pairs import Pair, judge_family, pair_of, shared
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.source import Source
from recdash.metrics import define

MOST = 0.5
"""The share of a difference from which it counts as coming mostly from users without recommendations."""


@dataclass(frozen=True)
class MissingLists:
    """The users without recommendations from a candidate, who count as 0.

    ``n_users`` is their number, ``share`` the share of the whole difference from the baseline that is theirs:
    above 1 if the candidate is ahead for the others. ``served`` is the difference over all other users,
    judged alone.
    """

    n_users: int
    share: float
    served: Pair

    def completed(self, pair: Pair) -> float:
        """Returns the candidate's mean if these users had the baseline's recommendations; ``pair`` is the
        candidate's difference over all users.
        """
        return pair.base_value + self.served.paired.mean * self.served.paired.n / pair.paired.n


def missing_lists(source: Source, query: ComparisonQuery, pair: Pair) -> MissingLists | None:
    """Returns what part of a pair's difference comes from users without recommendations from the candidate.

    None if there are none among the users who count, and for metrics that are no means over users.
    """
    base, own = (source.values(run, query.metric, query.k) for run in (pair.baseline, pair.candidate))
    listed = source.under("both").values(pair.candidate, query.metric, query.k)
    if base is None or own is None or listed is None or base.rated or own.pooled or not pair.paired.mean:
        return None
    base, own = shared(base, own)
    is_served = np.isin(own.users, listed.users, assume_unique=True)
    if is_served.all() or not is_served.any():
        return None
    runs, lower = (pair.baseline, pair.candidate), define(query.metric).lower_is_better
    unjudged = pair_of(
        *runs, base.of(is_served), own.of(is_served), lower_is_better=lower, level=query.terms.level
    )
    if unjudged is None:
        return None
    served = judge_family({pair.candidate: unjudged}, query.terms)[pair.candidate]
    whole, of_served = pair.paired.mean * pair.paired.n, served.paired.mean * served.paired.n
    return MissingLists(int(np.count_nonzero(~is_served)), 1 - of_served / whole, served)
