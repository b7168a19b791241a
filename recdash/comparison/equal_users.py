"""Why a candidate's value equals the baseline's for every user."""

from __future__ import annotations

from recdash.comparison.pairs import Pair
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.source import Source


def equality_of(source: Source, query: ComparisonQuery, pair: Pair, base: str) -> str:
    """Returns how a candidate equals the baseline, as the end of a sentence that begins with *it*: ``its
    nDCG@10 is equal to Popular for every user`` · ``it has no recommendations for these users``.

    Empty unless the pair is identical. The values do not tell whether both runs have the same lists.
    """
    if not pair.is_identical:
        return ""
    listed = source.under("both").values(pair.candidate, query.metric, query.k)
    if listed is not None and not len(listed.users):
        return "it has no recommendations for these users"
    if not pair.value and not pair.base_value:
        return f"its {query.where} is 0 for every user, as that of {base}"
    return f"its {query.where} is equal to {base} for every user"
