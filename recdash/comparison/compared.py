"""A comparison with everything it says: pairs, verdict, and what would change that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.comparison.pairs import Comparison, Pair, Terms, compare, shared
from recdash.comparison.source import Source
from recdash.comparison.verdict import Verdict, decide
from recdash.comparison.weighing import weigh
from recdash.domain import UserValues
from recdash.errors import InputError, Problem, UnknownName
from recdash.metrics import Spec, define
from recdash.stats import (
    benjamini_hochberg,
    bootstrap,
    differences,
    equivalence,
    grouped,
    holm,
    permutation,
    wilcoxon,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Compared:
    """Runs compared by one metric at one k."""

    source: Source
    verdict: Verdict

    @property
    def comparison(self) -> Comparison:
        return self.verdict.weighed.comparison

    def table(self) -> pd.DataFrame:
        """One row per pair: the columns of ``rows``."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dict per pair; run names, and every test that the field asks for.

        ci_low … ci_high: the plain 95 % interval of the t-test. t_p_holm and t_p_bh are corrected over all
        pairs; ``finding`` follows the comparison's own correction and margin. ``more_users`` would most
        likely settle it (0: it is settled; None: none would).
        """
        found = self.comparison
        p = np.array([pair.paired.p for pair in found.pairs])
        by_rule = zip(_corrected(holm, p), _corrected(benjamini_hochberg, p), strict=True)
        tests = self._further_tests()
        for pair, test, (by_holm, by_bh) in zip(found.pairs, tests, by_rule, strict=True):
            yield {
                **_plain_facts(found.names, pair),
                **test,
                "t_p_holm": by_holm,
                "t_p_bh": by_bh,
                "equivalence_p": _number(equivalence(pair.paired, pair.judged.margin)),
                "margin": pair.judged.margin,
                "finding": pair.judged.word,
                "more_users": pair.judged.more_users,
            }

    def _further_tests(self) -> list[dict[str, float]]:
        """Per pair, what tests without a normal distribution say.

        Pairs over the same users are drawn and swapped together: one set of draws for all of them.
        """
        both = [self._values_of(pair) for pair in self.comparison.pairs]
        together: dict[bytes, list[int]] = {}
        for at, (base, _) in enumerate(both):
            together.setdefault(base.users.tobytes(), []).append(at)
        found: list[dict[str, float]] = [{} for _ in both]
        for places in together.values():
            changes = grouped(differences(both[at][1].values, both[at][0].values) for at in places)
            lows, highs = bootstrap(changes, self.comparison.terms.level)
            for at, low, high, swapped in zip(places, lows, highs, permutation(changes), strict=True):
                base, mine = both[at]
                found[at] = {
                    "wilcoxon_p": wilcoxon(mine.own, base.own),
                    "permutation_p": float(swapped),
                    "bootstrap_low": float(low),
                    "bootstrap_high": float(high),
                }
        return found

    def _values_of(self, pair: Pair) -> tuple[UserValues, UserValues]:
        found = self.comparison
        base = self.source.values(pair.baseline, found.metric, found.k)
        mine = self.source.values(pair.candidate, found.metric, found.k)
        if base is None or mine is None:
            raise ValueError("a pair has lost its values")
        return shared(base, mine)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready: the metric, its pairs, runs without a difference to the baseline, and the verdict."""
        found = self.comparison
        return {
            "metric": found.metric,
            "k": found.k,
            "baseline": found.names[found.baseline],
            "pairs": list(self.rows()),
            "apart": {found.names[run]: why for run, why in found.apart.items()},
            "warnings": [str(problem) for problem in self.verdict.weighed.problems],
            "verdict": self.verdict.as_dict(),
        }


def compared(
    source: Source, runs: Sequence[str], baseline: str, metric: str, k: int, terms: Terms | None = None
) -> Compared:
    """Compare runs of a source and decide. Raises UnknownName for a run that it does not have."""
    for run in (baseline, *runs):
        if run not in source.names:
            raise UnknownName("run", run, sorted(source.names.values()))
    return Compared(source, decide(weigh(source, compare(source, runs, baseline, metric, k, terms))))


def cutoff_of(spec: Spec) -> int:
    """The k to compare at; 1 for a metric without one. Raises InputError where one is needed."""
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
        "ci_low": _number(paired.low),
        "ci_high": _number(paired.high),
        "effect_size": _number(paired.effect_size),
        "wins": paired.wins,
        "ties": paired.ties,
        "losses": paired.losses,
        "t_p": _number(paired.p),
    }


def _corrected(rule: Any, p: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    """Those of the known p; None for a pair without one."""
    known = ~np.isnan(p)
    found = np.full(len(p), np.nan)
    if known.any():
        found[known] = rule(p[known])
    return [_number(one) for one in found.tolist()]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
