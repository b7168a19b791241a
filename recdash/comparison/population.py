"""Compares who leads if users without recommendations count as 0 with who leads if they are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recdash.formatting.wording import listed

_EQUAL = 1e-12
"""Largest gap between two values that counts as rounding error."""


@dataclass(frozen=True)
class PopulationEffect:
    """The leading runs over all users of the test set (``truth``), and over those with recommendations
    (``both``).

    Leaders are run ids; several if their values are equal. ``values`` and ``n_users`` are {"truth" or "both":
    {run id: number}}. ``changes`` is whether the leaders differ, ``sentence`` says it in words.
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
    values: Mapping[str, Mapping[str, float]],
    n_users: Mapping[str, Mapping[str, int]],
    title: str,
) -> PopulationEffect:
    """Returns how the leaders differ between the two populations. ``names`` is {run id: name}, ``title`` that
    of the metric; ``values`` and ``n_users`` are as in ``PopulationEffect``.
    """
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
