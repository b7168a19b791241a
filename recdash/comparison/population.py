"""Compares who leads if users without recommendations count as 0 with who leads among the users with
recommendations from every run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from recdash.domain.kinds import Ints
from recdash.domain.results import UserValues, common_bound
from recdash.formatting import numbers
from recdash.formatting.wording import listed
from recdash.stats import paired_difference

_EQUAL = 1e-12
"""Largest gap between two values that counts as rounding error."""


@dataclass(frozen=True)
class PopulationEffect:
    """The leading runs over all users of the test set (``truth``), and over the users with recommendations
    from every run (``both``).

    Leaders are run ids; several if their values are equal. ``values`` and ``n_users`` are {"truth" or "both":
    {run id: number}}; under ``both`` the same users count for every run. ``changes`` is whether the leaders
    differ, ``sentence`` says it in words.
    """

    leaders_truth: tuple[str, ...]
    leaders_both: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]
    n_users: Mapping[str, Mapping[str, int]]
    changes: bool
    sentence: str


def leaders(values: Mapping[str, float]) -> tuple[str, ...]:
    """Returns the keys with the highest value; several if their values are equal."""
    best = max(values.values())
    return tuple(key for key, value in values.items() if best - value <= _EQUAL)


def population_effect(
    names: Mapping[str, str],
    everyone: Mapping[str, UserValues],
    with_lists: Mapping[str, UserValues],
    title: str,
) -> PopulationEffect | None:
    """Returns how the leaders differ between the two populations; None if no user has recommendations from
    every run.

    ``names`` is {run id: name}, ``title`` that of the metric. ``everyone`` has each run's values for all
    users with a relevant item, ``with_lists`` those of its users with recommendations.
    """
    served = [of_run.users for of_run in with_lists.values()]
    users = reduce(_in_both, served)
    if not len(users):
        return None
    shared = {
        run: own if np.array_equal(own.users, users) else own.of(np.searchsorted(own.users, users))
        for run, own in with_lists.items()
    }
    populations = {"truth": everyone, "both": shared}
    values = {
        rule: {run: float(own.values.mean()) for run, own in of_runs.items()}
        for rule, of_runs in populations.items()
    }
    n_users = {
        rule: {run: len(own.users) for run, own in of_runs.items()} for rule, of_runs in populations.items()
    }
    truth, both = leaders(values["truth"]), leaders(values["both"])
    named_truth, named_both = (listed([names[run_id] for run_id in ids]) for ids in (truth, both))
    if set(truth) == set(both):
        sentence = (
            f"{named_truth} {_leads(truth)} by {title} whether or not users without recommendations count."
        )
    else:
        second, beaten = truth[0], ""
        if second not in both:
            unsure = not _is_significant(shared[both[0]], shared[second])
            finding = ", not a significant difference" if unsure else ""
            beaten = f"; {names[second]} has {numbers.three(values['both'][second])}{finding}"
        sentence = (
            f"Among the {numbers.users(len(users))} with recommendations from every run, {named_both} "
            f"{_leads(both)} by {title} ({numbers.three(values['both'][both[0]])}{beaten}). If users without "
            f"recommendations count as 0, {named_truth} {_leads(truth)} "
            f"({numbers.three(values['truth'][second])}, n = {numbers.count(n_users['truth'][second])})."
        )
    return PopulationEffect(truth, both, values, n_users, set(truth) != set(both), sentence)


def _in_both(users: Ints, others: Ints) -> Ints:
    """Returns the users of both; most runs serve the same ones, and to see that takes a tenth of the time."""
    if np.array_equal(users, others):
        return users
    return np.intersect1d(users, others, assume_unique=True)


def _is_significant(first: UserValues, second: UserValues) -> bool:
    """Returns whether the paired difference of two runs over the same users is significant."""
    bound = common_bound((first, second))
    return paired_difference(first.values, second.values, bound=bound).excludes_zero


def _leads(runs: tuple[str, ...]) -> str:
    return "leads" if len(runs) == 1 else "lead"
