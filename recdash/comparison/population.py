"""Compares the leaders over all users of the truth with those over users with a list only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recdash.formatting.wording import listed

_EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""


@dataclass(frozen=True)
class PopulationEffect:
    """The leaders over all users of the truth, and over users with a list only.

    Leaders are run ids; several if values are equal. ``values`` and ``n_users`` are {"truth" | "both": {run
    id: number}}.
    """

    leaders_truth: tuple[str, ...]
    leaders_both: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]
    n_users: Mapping[str, Mapping[str, int]]
    changes: bool
    sentence: str


def leaders(values: Mapping[str, float]) -> tuple[str, ...]:
    """Returns the keys of the highest value, and of all that equal it."""
    best = max(values.values())
    return tuple(key for key, value in values.items() if best - value <= _EQUAL)


def population_effect(
    names: Mapping[str, str],
    values: Mapping[str, Mapping[str, float]],
    n_users: Mapping[str, Mapping[str, int]],
    title: str,
) -> PopulationEffect:
    """Compares the two rules; ``names`` are {run id: name}."""
    truth, both = leaders(values["truth"]), leaders(values["both"])
    named_truth, named_both = (listed([names[run_id] for run_id in ids]) for ids in (truth, both))
    if set(truth) == set(both):
        sentence = (
            f"{named_truth} {_leads(truth)} by {title} whether or not users without recommendations count."
        )
    else:
        sentence = (
            f"If users without recommendations are excluded, {named_both} {_leads(both)} by {title} "
            f"({values['both'][both[0]]:.3g}, n = {n_users['both'][both[0]]:,}). If they count as 0, "
            f"{named_truth} {_leads(truth)} ({values['truth'][truth[0]]:.3g}, n = "
            f"{n_users['truth'][truth[0]]:,})."
        )
    return PopulationEffect(truth, both, values, n_users, set(truth) != set(both), sentence)


def _leads(runs: tuple[str, ...]) -> str:
    return "leads" if len(runs) == 1 else "lead"
