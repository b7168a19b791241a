"""What a candidate would have if users without recommendations from it got popular items, in words."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recdash.comparison.candidate_case import two
from recdash.comparison.cells import metric_values
from recdash.comparison.missing_lists import MissingLists, missing_lists
from recdash.comparison.pairs import Pair, compare
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.sensitivity import WhatIf
from recdash.comparison.source import Source
from recdash.domain.defaults import is_popular
from recdash.formatting import numbers


@dataclass(frozen=True)
class Completion:
    """A candidate beside the run ``base``, over all users and over those it serves.

    ``pair`` is its difference from ``base`` over all users. ``where`` is the metric with its cutoff.
    """

    base: str
    metric: str
    where: str
    pair: Pair
    missing: MissingLists

    @property
    def sentences(self) -> tuple[str, ...]:
        """Returns the value over the users it serves, and, if ``base`` recommends popular items, the value
        with these for the others: ``With popular items for the others it would be about 0.0429: not
        significantly different from popular (0.0435).``
        """
        served, whole = self.missing.served, self.pair.base_value
        completed = self.missing.completed(self.pair)
        own, other, value, of_base = (
            cell.shown
            for cell in metric_values(self.metric, [served.value, served.base_value, completed, whole])
        )
        n_users = numbers.users(served.paired.n)
        over_served = f"Over the {n_users} it serves, its {self.where} is {own} ({self.base}: {other})."
        if not is_popular(self.base):
            return (over_served,)
        stands = f"{self._relation(completed)} {self.base} ({of_base})"
        return over_served, f"With popular items for the others it would be about {value}: {stands}."

    def _relation(self, completed: float) -> str:
        """Returns how the completed candidate stands to ``base``: as for the users it serves, because the
        others would have the same items from both.
        """
        word, whole = self.missing.served.judged.word, self.pair.base_value
        if self.missing.served.is_identical:
            return "as good as"
        if word == "tie":
            return "about as good as"
        if word == "not settled":
            return "not significantly different from"
        still = "still " if word == "worse" else ""
        side = "above" if completed > whole else "below"
        if not whole:
            return f"{still}{side}"
        return f"{still}{two(100 * abs(completed - whole) / abs(whole))} % {side}"


def completion_question(expected: Completion, today: Recommendation) -> WhatIf | None:
    """Returns what popular items for users without a list would change for the candidate in question: the
    others would have the same items from both runs, so that it stands as for the users it serves. None
    unless ``base`` is the baseline and recommends popular items.
    """
    evidence, served = today.evidence, expected.missing.served
    leader = evidence.leader
    if leader is None or leader.baseline != expected.pair.baseline or not is_popular(expected.base):
        return None
    completed, base = (
        cell.shown
        for cell in metric_values(
            expected.metric, [expected.missing.completed(expected.pair), expected.pair.base_value]
        )
    )
    finding = "equal for every user" if served.is_identical else _FOUND[served.judged.word]
    values = f"about {completed} vs {base}"
    is_better = served.judged.word == "better"
    matters = is_better != (evidence.finding == "better")
    name = f"{evidence.name} would be " if matters or is_better else ""
    answer = f"{'Changes' if matters else 'Same result'}: {name}{finding} ({values})"
    return WhatIf("completion", "With popular items for users without a list", answer, matters)


_FOUND = {
    "better": "better",
    "worse": "worse",
    "tie": "the difference too small to matter",
    "not settled": "not significantly different",
}


def completion(source: Source, query: ComparisonQuery, run: str, base: str) -> Completion | None:
    """Returns what ``run`` would have beside ``base``, by the metric, cutoff and terms of the query.

    None if every user who counts has a list from it, and if the two share no users.
    """
    pair = compare(source, replace(query, runs=(run,), baseline=base), among=False).to(run)
    missing = missing_lists(source, query, pair) if pair else None
    if pair is None or missing is None:
        return None
    return Completion(source.names[base], query.metric, query.where, pair, missing)
