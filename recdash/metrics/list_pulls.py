"""Computes each list's contribution to a catalogue-level metric: its change if the list is left out.

These contributions give the metric one value per user, called the user's pull, and thereby a standard error.

Letters in shapes: ``N`` items of the exposure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.metrics.catalogue import CatalogueInputs, Levels, gini_of, levels_of
from recdash.metrics.registry import Definition


@dataclass(frozen=True)
class ListWorth:
    """Item weights from which each list's contribution to a catalogue-level metric is computed.

    A list of L items contributes Σ ``worth`` [N] over its items, divided by L^``power``. The user's pull is
    this contribution minus its mean over all lists, times ``scale``.
    """

    worth: Floats
    power: float
    scale: float


def list_worth(definition: Definition, inputs: CatalogueInputs, k: int) -> ListWorth | None:
    """Returns the item weights for a catalogue-level metric at k, computed from the exposure.

    Returns None if the counts do not determine a list's contribution, or if the definition changes parameters
    other than ``of`` and ``users``.
    """
    make = _WORTH.get(definition.metric.name)
    usual = {knob.name: knob.default for knob in definition.metric.parameters}
    changed = {name for name, value in definition.parameters.items() if value != usual[name]}
    return None if make is None or changed - _WHOSE else make(inputs, definition.parameters, k)


def _counts(inputs: CatalogueInputs, k: int) -> Ints:
    """Returns [N] the number of lists with each item in their first k positions."""
    shown = inputs.exposure.shown
    end = shown.start[k]
    held = np.bincount(shown.item[:end], weights=shown.count[:end], minlength=inputs.n_items)
    return held.astype(np.int64)


def _without_one(inputs: CatalogueInputs) -> float:
    """Returns (n − 1) / n for n lists.

    This factor turns the change of a total when one list is left out into the pull of that list's user.
    """
    return (inputs.exposure.n_lists - 1) / inputs.exposure.n_lists


def coverage(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the weights for coverage: without a list, it loses the items that only this list shows."""
    members = inputs.members(parameters["of"])
    alone = members & (_counts(inputs, k) == 1)
    return ListWorth(alone / members.sum(), 0.0, _without_one(inputs))


def novelty(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the weights for novelty, a mean over lists: each list contributes its own mean."""
    return ListWorth(inputs.surprise(parameters["share"]), 1.0, 1.0 / inputs.exposure.n_lists)


def personalization(inputs: CatalogueInputs, parameters: Mapping[str, str], k: int) -> ListWorth:
    """Returns the weights for personalization: without a list, the cosines of its pairs are lost.

    Each of n lists is in n − 1 pairs. A list gives each of its L items the weight 1/√L. The item weights
    summed over all lists, then summed over the items of one list and divided by √L, give this list's cosines
    with all lists, including itself.
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
    """Returns the weights for Gini: the first-order change if an item loses one position.

    With G = Σ (2i − n − 1)·c_i / (n·C) over ascending counts c_i, the change is (2i − n − 1) / (n·C) − G / C.
    The index i is the lowest among items of equal count, because the item then ranks below them.
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
    """Returns [levels] the change of Gini if an item of each count level loses one position."""
    before = np.cumsum(levels.often) - levels.often
    lost: Floats = (2 * (before + 1) - n - 1) / (n * total) - gini_of(levels) / total
    return lost


_WHOSE = {"of", "users"}
"""Parameters that select the items or users that count, and leave the formula as it is."""
_WORTH: Mapping[str, Callable[[CatalogueInputs, Mapping[str, str], int], ListWorth]] = {
    "coverage": coverage, "novelty": novelty, "personalization": personalization, "gini": gini,
}  # fmt: skip
