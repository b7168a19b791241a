"""The facts that a sentence states: numbers, names and directions, which do not depend on its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10

NUMBERS = re.compile(r"[+−-]?\d[\d.,]*\d|[+−-]?\d")
FACTORS = re.compile(r"×(\d+(?:\.\d+)?)|(?<![\d.])(\d+(?:\.\d+)?) (?=times that of)")
"""Changes as factors: ``×3.26`` and ``3.3 times that of``. Older releases wrote +226 % and 230 % above."""
BETTER = {
    "above", "beat", "beats", "best", "better", "gain", "gains", "improves", "raises", "ship", "times", "won",
}  # fmt: skip
WORSE = {"below", "costs", "keep", "lose", "loses", "lost", "lowers", "worse"}
"""Words by which a sentence takes a direction."""


@dataclass(frozen=True)
class Facts:
    """The facts of a sentence: its numbers and factors as they are written, its names, and how many of its
    words mean better and worse.
    """

    numbers: Counter[str]
    factors: Counter[str]
    names: tuple[str, ...]
    n_better: int
    n_worse: int


def states_the_same(text: str, other: str, named: Collection[str]) -> bool:
    """Returns whether two sentences state the same facts; ``named`` are the names that may occur in them.

    A change in % may be the same as a factor, if both are the same number but for rounding.
    """
    facts, others = facts_of(text, named), facts_of(other, named)
    directions = (facts.names, facts.n_better, facts.n_worse)
    if directions != (others.names, others.n_better, others.n_worse):
        return False
    numbers, other_numbers = facts.numbers - others.numbers, others.numbers - facts.numbers
    factors, other_factors = facts.factors - others.factors, others.factors - facts.factors
    return _are_the_same(numbers, other_factors) and _are_the_same(other_numbers, factors)


def facts_of(text: str, named: Collection[str]) -> Facts:
    names = []
    for name in sorted(named, key=len, reverse=True):  # a name may contain another one
        parts = text.split(name)
        if any(not (left[-1:].isalnum() or right[:1].isalnum()) for left, right in pairwise(parts)):
            names.append(name)
            text = " ".join(parts)
    factors = Counter(first or second for first, second in FACTORS.findall(text))
    text = FACTORS.sub(" ", text)
    words = re.findall(r"[a-z]+", text.lower())
    n_better, n_worse = (sum(word in kind for word in words) for kind in (BETTER, WORSE))
    return Facts(Counter(NUMBERS.findall(text)), factors, tuple(names), n_better, n_worse)


def _are_the_same(changes: Counter[str], factors: Counter[str]) -> bool:
    """Returns whether changes in % are these factors, whatever their order."""
    percents = sorted(float(text.replace(",", "").replace("−", "-")) for text in changes.elements())
    in_order = sorted(factors.elements(), key=float)
    if len(percents) != len(in_order):
        return False
    return all(_is_rounded(percent, factor) for percent, factor in zip(percents, in_order, strict=True))


def _is_rounded(percent: float, factor: str) -> bool:
    """Returns whether both are the same change, rounded to as many digits as the factor has."""
    decimals = len(factor.partition(".")[2])
    digits = len(factor.replace(".", "").lstrip("0"))
    unit = 10.0 ** (floor(log10(abs(percent))) + 1 - digits) if percent else 0.0
    return abs(percent - 100 * (float(factor) - 1)) <= (100 * 10.0**-decimals + unit) / 2 + 1e-9
