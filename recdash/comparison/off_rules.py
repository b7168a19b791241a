"""What the rules of the experiment recommend, where a view with other choices recommends something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from recdash.comparison.candidate_case import offline_words
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.sensitivity import is_same_answer
from recdash.comparison.wording import Piece, RichText
from recdash.formatting.wording import listed, many
from recdash.metrics.naming import metric_title

MOST_NAMED = 2


@dataclass(frozen=True)
class OffRules:
    """A view's recommendation (``of_view``) beside the other one that the rules of the experiment give.

    ``at_other_k`` are the recommendations of the view at other k; they are not needed unless k differs.
    """

    of_view: Recommendation
    by_rules: Recommendation
    at_other_k: Mapping[int, Recommendation] = field(default_factory=dict)

    @property
    def _queries(self) -> tuple[ComparisonQuery, ComparisonQuery]:
        return self.of_view.evidence.comparison.query, self.by_rules.evidence.comparison.query

    @property
    def rules(self) -> str:
        """Returns the rules from which the view departs: ``nDCG@10`` · ``nDCG@10, against Popular``."""
        view, rules = self._queries
        words = [rules.where]
        if view.baseline != rules.baseline:
            words.append(f"against {self.by_rules.evidence.base}")
        if view.scope != rules.scope:
            words.append("the whole test set")
        if view.baseline == rules.baseline and set(view.runs) != set(rules.runs):
            words.append(many(len(rules.runs), "candidate"))
        return ", ".join(words)

    @property
    def only(self) -> str:
        """Returns for what alone the view's recommendation holds: ``only at k = 5; not at 10, 20 and 50`` ·
        ``only by Recall@10; not by nDCG@10``. Empty if neither k nor the metric differs from the rules.
        """
        view, rules = self._queries
        if view.metric != rules.metric:
            return f"only by {view.where}; not by {rules.where}"
        if view.k == rules.k:
            return ""
        others = {rules.k: self.by_rules, **self.at_other_k}
        same = [k for k, other in others.items() if is_same_answer(self.of_view, other)]
        differ = sorted(set(others) - set(same))
        if not differ:
            return ""
        holds = sorted([view.k, *same])
        return f"only at k = {listed([*map(str, holds)])}; not at {listed([*map(str, differ)])}"

    def limited(self) -> Recommendation:
        """Returns the view's recommendation with the sentence for what alone it holds, in place of the one
        that nothing speaks against it.
        """
        recommended = self.of_view.case_of(self.of_view.run) if self.of_view.run else None
        if recommended is None or not self.only:
            return self.of_view
        first: RichText = self.of_view.why[0]
        if recommended.case == "sound" and self.of_view.action == "ship":
            first = (Piece(f"{offline_words(recommended)}{self._inconclusive()}.", "leaderboard"),)
        verb = "recommended" if self.of_view.action == "ship" else "to be tested"
        return replace(self.of_view, why=(first, (Piece(f"It is {verb} {self.only}."),)))

    def _inconclusive(self) -> str:
        """Returns the other metrics without a significant difference, as the end of a sentence such as ``,
        but Recall@5 is inconclusive``; empty without one.
        """
        evidence = self.of_view.evidence
        unsure = [
            metric_title(metric, evidence.comparison.query.k)
            for metric, pair in evidence.metrics
            if pair.judged.word == "not settled"
        ]
        if not unsure:
            return ""
        return f", but {listed(unsure, MOST_NAMED)} {'is' if len(unsure) == 1 else 'are'} inconclusive"


def off_rules(
    of_view: Recommendation, by_rules: Recommendation | None, at_other_k: Mapping[int, Recommendation]
) -> OffRules | None:
    """Returns the two recommendations; None if they are the same, or if the rules give none."""
    if by_rules is None or is_same_answer(of_view, by_rules):
        return None
    return OffRules(of_view, by_rules, at_other_k)
