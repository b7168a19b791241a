"""A comparison with all its results: pairs, verdict, and the case of each candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.comparison.pairs import Comparison, Pair, compare, equivalence_of, shared
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.source import Source
from recdash.domain.hits import IdOverlap
from recdash.domain.results import UserValues
from recdash.errors import InputError, Problem, UnknownName
from recdash.formatting import numbers
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.wording import first_lines, shown
from recdash.metrics import Spec, define
from recdash.stats import bootstrap, corrected, differences, grouped, permutation, wilcoxon

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

FURTHER = ("wilcoxon_p", "permutation_p", "bootstrap_low", "bootstrap_high")


@dataclass(frozen=True, repr=False)
class Compared:
    """Runs compared by one metric at one k, with the recommendation that follows."""

    source: Source
    verdict: Recommendation

    def __repr__(self) -> str:
        """Returns the recommendation, and a line for each difference from the baseline, as text: see
        ``first_lines``.
        """
        names, metric = self.comparison.names, self.comparison.query.where
        lines = [
            f"{names[pair.candidate]}: {metric} {numbers.change(pair.paired.mean)} vs "
            f"{names[pair.baseline]}, {shown(pair.judged.word)}, n = {numbers.count(pair.paired.n)}"
            for pair in self.comparison.against
        ]
        lines = first_lines(lines)
        return "\n".join([self.verdict.headline, *lines, "All numbers: .table(), .as_dict()"])

    def _repr_html_(self) -> str:
        """Returns the recommendation and the differences from the baseline as HTML, for notebooks."""
        from recdash.comparison.display import display_of

        verdict = self.verdict
        return display_of(verdict.headline, self.comparison, verdict.sentences, self.warnings).html()

    def plot(self) -> go.Figure:
        """Returns a Plotly figure of the differences from the baseline with their corrected intervals."""
        from recdash.comparison.display import plot_differences

        return plot_differences(self.comparison)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Returns what limits the comparison."""
        return tuple(map(str, self.verdict.evidence.problems))

    @property
    def comparison(self) -> Comparison:
        return self.verdict.evidence.comparison

    def table(self) -> pd.DataFrame:
        """Returns a frame with one row per pair and the columns of ``rows``."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields one dict per pair: the names of its runs, their difference, and the results of all usual
        tests.

        ``p``, ``ci_low`` and ``ci_high`` come from ``method``: the paired t-test if it is valid, else another
        valid test (see ``recdash.stats.sparse``); None if there is none. ``finding`` follows from the
        interval that is corrected within the pair's family, and from the margin. ``t_p`` is always the p of
        the paired t-test, None if the differences do not vary; ``t_p_holm`` and ``t_p_bh`` are corrected over
        all pairs.

        ``more_users`` is how many more users give an answer with a probability of 80 % if the true difference
        is the observed one; 0 if there is an answer already, None if the number is unknown. ``equivalence_p``
        is the uncorrected p of the equivalence test: below (1 − ci_corrected_level) / 2 exactly if
        ``finding`` is a tie.
        """
        comparison = self.comparison
        p = np.array([pair.paired.t_p for pair in comparison.pairs])
        holm, bh = (corrected(p, rule).tolist() for rule in ("holm", "bh"))
        for pair, tests, by_holm, by_bh in zip(
            comparison.pairs, self._further_tests(), holm, bh, strict=True
        ):
            equivalence_p = equivalence_of(pair, *self._shared_values(pair), comparison.query.terms.margin)
            yield {
                **_plain_facts(comparison.names, pair),
                **tests,
                "t_p_holm": none_if_nan(by_holm),
                "t_p_bh": none_if_nan(by_bh),
                "equivalence_p": none_if_nan(equivalence_p),
                "margin": pair.judged.margin,
                "p_corrected": none_if_nan(pair.judged.p),
                "ci_corrected_low": none_if_nan(pair.judged.corrected.low),
                "ci_corrected_high": none_if_nan(pair.judged.corrected.high),
                "ci_corrected_level": pair.judged.corrected.level,
                "method": pair.paired.method.name,
                "finding": pair.judged.word,
                "more_users": pair.judged.more_users,
            }

    def _further_tests(self) -> list[dict[str, float | None]]:
        """Returns the results of distribution-free tests, one dict per pair; None for each if a pair shares
        fewer than two users.
        """
        pairs = self.comparison.pairs
        rows: list[dict[str, float | None]] = [dict.fromkeys(FURTHER) for _ in pairs]
        for indexes in self._over_the_same_users():
            tested = self._tested([pairs[index] for index in indexes])
            for index, row in zip(indexes, tested, strict=True):
                rows[index] = row
        return rows

    def _over_the_same_users(self) -> list[list[int]]:
        """Returns groups of indexes of pairs that are resampled together, because their runs have the same
        two sets of users. Pairs with fewer than two users are left out.
        """
        runs = {run for pair in self.comparison.pairs for run in (pair.baseline, pair.candidate)}
        users = {run: _hash_of_rows(self._values_of(run)) for run in runs}
        groups: dict[frozenset[int], list[int]] = {}
        for index, pair in enumerate(self.comparison.pairs):
            if pair.paired.n > 1:
                groups.setdefault(frozenset((users[pair.baseline], users[pair.candidate])), []).append(index)
        return list(groups.values())

    def _tested(self, pairs: Sequence[Pair]) -> Iterator[dict[str, float | None]]:
        """Yields the distribution-free tests of pairs over the same users; all pairs share one set of
        resamples.
        """
        values: dict[str, UserValues] = {}
        for pair in pairs:
            if not values.keys() >= {pair.baseline, pair.candidate}:
                values[pair.baseline], values[pair.candidate] = self._shared_values(pair)
        column = {run: index for index, run in enumerate(values)}
        first = next(iter(values.values())).values
        # Relative to one run, values are as small as their differences, and as exact.
        runs = grouped(differences(own.values, first) for own in values.values())
        columns = np.array([(column[pair.candidate], column[pair.baseline]) for pair in pairs])
        lows, highs = bootstrap(runs, columns, self.comparison.query.terms.level)
        unspread = np.isnan([pair.paired.t_p for pair in pairs])
        lows[unspread] = highs[unspread] = np.nan  # all users differ equally: no spread
        swapped = permutation(runs, columns)
        for pair, *drawn in zip(pairs, swapped.tolist(), lows.tolist(), highs.tolist(), strict=True):
            by_rank = wilcoxon(values[pair.candidate].own, values[pair.baseline].own)
            yield dict(zip(FURTHER, map(none_if_nan, (by_rank, *drawn)), strict=True))

    def _shared_values(self, pair: Pair) -> tuple[UserValues, UserValues]:
        """Returns the values of baseline and candidate over the users that both have."""
        return shared(self._values_of(pair.baseline), self._values_of(pair.candidate))

    def _values_of(self, run: str) -> UserValues:
        values = self.source.values(run, self.comparison.query.metric, self.comparison.query.k)
        if values is None:
            raise ValueError("a pair has lost its values")
        return values

    def known_ids(self) -> dict[str, IdOverlap]:
        """Returns {run id: how many of its item and user ids occur in test set, catalogue and training data}.
        Runs without these counts are left out.
        """
        pairs = self.comparison.pairs
        runs = dict.fromkeys([self.comparison.query.baseline, *(pair.candidate for pair in pairs)])
        overlaps = {run: self.source.known_ids(run) for run in runs}
        return {run: overlap for run, overlap in overlaps.items() if overlap is not None}

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values: the metric, its pairs, runs without a difference from the baseline, the
        recommendation, the case of each candidate, and the verdict from offline numbers alone.
        """
        comparison = self.comparison
        return {
            "metric": comparison.query.metric,
            "k": comparison.query.k,
            "lower_is_better": comparison.lower_is_better,
            "baseline": comparison.names[comparison.query.baseline],
            "correction": comparison.query.terms.correction,
            "level": comparison.query.terms.level,
            "families": {"to the baseline": len(comparison.against), "other pairs": len(comparison.among)},
            "pairs": list(self.rows()),
            "apart": {comparison.names[run]: why for run, why in comparison.apart.items()},
            "known_ids": {
                comparison.names[run]: overlap.as_dict() for run, overlap in self.known_ids().items()
            },
            "warnings": list(self.warnings),
            "guardrails": [rail.as_dict() for rail in self.verdict.evidence.guardrails],
            "verdict": self.verdict.as_dict(),
            "candidates": [case.as_dict() for case in self.verdict.cases],
            "offline": self.verdict.offline.as_dict(),
        }


def compared(source: Source, query: ComparisonQuery) -> Compared:
    """Returns the comparison of a source's runs, with the recommendation. Raises UnknownName for an unknown
    run.
    """
    for run in query.shown:
        if run not in source.names:
            raise UnknownName("run", run, sorted(source.names.values()))
    return Compared(source, recommend(source, compare(source, query)))


def _hash_of_rows(values: UserValues) -> int:
    """Returns a hash that is equal for runs with the same users; of predicted ratings, for runs with the same
    rows.
    """
    return hash((values.users.tobytes(), values.rated[0].key.tobytes() if values.rated else b""))


def cutoff_of(spec: Spec) -> int:
    """Returns the k at which to compare; 1 for a metric without a cutoff. Raises InputError if the metric
    needs one and ``spec`` has none.
    """
    if spec.k is None and define(replace(spec, k=None)).metric.has_cutoff:
        fix = f"Write {spec.label}@10, for example."
        raise InputError(Problem("no-cutoff", f"metric '{spec}'", "no cutoff to compare at", fix))
    return spec.k or 1


def _plain_facts(names: Mapping[str, str], pair: Pair) -> dict[str, Any]:
    paired = pair.paired
    return {
        "baseline": names[pair.baseline],
        "candidate": names[pair.candidate],
        "n_users": paired.n,
        "base_value": pair.base_value,
        "value": pair.value,
        "mean_diff": paired.mean,
        "ci_low": none_if_nan(paired.low),
        "ci_high": none_if_nan(paired.high),
        "effect_size": none_if_nan(paired.effect_size),
        "wins": paired.wins,
        "ties": paired.ties,
        "losses": paired.losses,
        "p": none_if_nan(paired.p),
        "t_p": none_if_nan(paired.t_p),
    }
