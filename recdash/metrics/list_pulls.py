"""Computes each list's contribution to a catalogue-level metric: its change when the user is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.metrics.catalogue import CatalogueInputs, Levels, gini_of, levels_of
from recdash.metrics.registry import Definition


@dataclass(frozen=True)
class ListWorth:
    """A list of L items adds Σ ``worth`` [N] of its items / L^``power``; minus the mean over lists, times
    ``scale``, that is its user's pull.
    """

    worth: Floats
    power: float
    scale: float


def list_worth(definition: Definition, inputs: CatalogueInputs, k: int) -> ListWorth | None:
    """Returns the worth for a metric at k, from exposure; None if counts do not tell what a list adds, and
    for other forms of a metric than its own.
    """
    make = _WORTH.get(definition.metric.name)
    usual = {knob.name: knob.default for knob in definition.metric.parameters}
    changed = {name for name, value in definition.parameters.items() if value != usual[name]}
    return None if make is None or changed - _WHOSE else make(inputs, definition.parameters, k)


def _counts(inputs: CatalogueInputs, k: int) -> Ints:
    """Returns [N] the number of lists with the item in the top k."""
    shown = inputs.exposure.shown
    end = shown.start[k]
    held = np.bincount(shown.item[:end], weights=shown.count[:end], minlength=inputs.n_items)
    return held.astype(np.int64)


def _without_one(inputs: CatalogueInputs) -> float:
    """Returns (n − 1) / n, the factor from what a total loses without one of n users to that user's pull on
    it.
    """
    return (inputs.exposure.n_lists - 1) / inputs.exposure.n_lists


def coverage(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the worth: without a list, coverage loses the items that no other list has."""
    members = inputs.members(parameters["of"])
    alone = members & (_counts(inputs, k) == 1)
    return ListWorth(alone / members.sum(), 0.0, _without_one(inputs))


def novelty(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the worth for a mean over lists: each adds its own mean."""
    return ListWorth(inputs.surprise(parameters["share"]), 1.0, 1.0 / inputs.exposure.n_lists)


def personalization(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the worth: without one of n lists, n − 1 of the pairs are lost, with their cosines.

    A list gives each of its L items the weight 1/√L, so that Σ of the weights that the item has in all lists
    / √L is the sum of its cosines, including that with itself.
    """
    weight = _counts(inputs, k) / np.sqrt(k)
    ended = inputs.exposure.ended
    length = ended.rank
    short = length < k
    shorter = ended.count * (1 / np.sqrt(length) - 1 / np.sqrt(k)) * short
    weight += np.bincount(ended.item, weights=shorter, minlength=inputs.n_items)
    n = inputs.exposure.n_lists
    return ListWorth(weight, 0.5, -2.0 / (n * (n - 2)) if n > 2 else 0.0)


def gini(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the worth: to first order, what Gini loses with one position of an item, which then ranks below
    equal counts.

    With G = Σ (2i − n − 1)·c_i / (n·C), counts ascending: (2i − n − 1) / (n·C) − G / C, i being the lowest
    index among equal counts.
    """
    members, counts = inputs.members(parameters["of"]), _counts(inputs, k)
    levels = levels_of(counts[members])
    n, total = int(levels.often.sum()), int(levels.level @ levels.often)
    worth = np.zeros(inputs.n_items)
    if total:
        lost = _lost_with_a_place(levels, n, total)
        worth[members] = lost[np.searchsorted(levels.level, counts[members])]
    return ListWorth(worth, 0.0, _without_one(inputs))


def _lost_with_a_place(levels: Levels, n: int, total: int) -> Floats:
    """Returns [levels] the loss with a position of an item of each level."""
    before = np.cumsum(levels.often) - levels.often
    lost: Floats = (2 * (before + 1) - n - 1) / (n * total) - gini_of(levels) / total
    return lost


_WHOSE = {"of", "users"}
"""Parameters that say which items or users count, rather than how."""
_WORTH: Mapping[str, Callable[[CatalogueInputs, Mapping[str, str], int], ListWorth]] = {
    "coverage": coverage, "novelty": novelty, "personalization": personalization, "gini": gini,
}  # fmt: skip
