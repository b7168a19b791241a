"""Who leads when every user of the truth counts, and when only users with a list do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recdash.formatting.wording import listed

_EQUAL = 1e-12
"""Values closer than this are equal: only rounding separates them."""


@dataclass(frozen=True)
class PopulationEffect:
    """The leaders when every user of the truth counts, and when only users with a list do.

    Leaders are run ids; several where values are equal. ``values`` and ``n_users`` are
    {"truth" | "both": {run id: number}}.
    """

    leaders_truth: tuple[str, ...]
    leaders_both: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]
    n_users: Mapping[str, Mapping[str, int]]
    changes: bool
    sentence: str


def leaders(values: Mapping[str, float]) -> tuple[str, ...]:
    """The keys of the highest value, and of all that equal it."""
    best = max(values.values())
    return tuple(key for key, value in values.items() if best - value <= _EQUAL)


def population_effect(
    names: Mapping[str, str],
    values: Mapping[str, Mapping[str, float]],
    n_users: Mapping[str, Mapping[str, int]],
    title: str,
) -> PopulationEffect:
    """Compare the two rules; ``names`` are {run id: name}."""
    truth, both = leaders(values["truth"]), leaders(values["both"])
    named_truth, named_both = (listed([names[run_id] for run_id in ids]) for ids in (truth, both))
    if set(truth) == set(both):
        verb = "leads" if len(truth) == 1 else "lead"
        sentence = f"{named_truth} {verb} by {title} whether or not users without a list count."
    else:
        sentence = (
            f"Counting only users with lists puts {named_both} first by {title} "
            f"({values['both'][both[0]]:.3g} over {n_users['both'][both[0]]:,} users); counting every user "
            f"with a relevant item puts {named_truth} first ({values['truth'][truth[0]]:.3g} over "
            f"{n_users['truth'][truth[0]]:,})."
        )
    return PopulationEffect(truth, both, values, n_users, set(truth) != set(both), sentence)
