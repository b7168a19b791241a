"""Compares stored runs by two metrics at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING

from recdash.comparison import Terms
from recdash.domain.results import WHOLE, Scope
from recdash.metrics import define
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.scores import Scores

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison.pareto import Place, TradeOff


class TradeOffs:
    """The service that compares runs by two metrics at once, to show what a gain in one costs in the
    other.
    """

    def __init__(self, context: ServiceContext, scores: Scores, comparisons: Comparisons) -> None:
        self._context, self._scores, self._comparisons = context, scores, comparisons

    def of(
        self,
        run_ids: Sequence[str],
        metrics: tuple[str, str],
        k: int,
        asked: Sequence[str] | None = None,
        terms: Terms | None = None,
        *,
        scope: Scope = WHOLE,
    ) -> TradeOff:
        """Returns the Pareto front of two metrics, and which runs dominate the runs ``asked`` (by default
        all).

        A run that lacks one of the metrics is left out. Raises InputError for a k beyond the depth.
        """
        from recdash.comparison.pareto import trade_off

        named = (str(define(metrics[0])), str(define(metrics[1])))
        scores = self._scores.scoreboard(run_ids, named, k, scope)
        places = {
            run: place for run, place in _pairs(scores, named, "value").items() if all(map(isfinite, place))
        }
        source = self._comparisons.source(self._context.store.runs.get(run_ids[0]).experiment, scope)
        result = trade_off(source, named, k, places, run_ids if asked is None else asked, terms or Terms())
        return replace(result, errors=_pairs(scores, named, "std_error"))


def _pairs(scores: pd.DataFrame, metrics: tuple[str, str], column: str) -> dict[str, Place]:
    """Returns ``column`` of both metrics for each run: {run id: (first metric, second metric)}; NaN if the
    run lacks one.
    """
    table = scores.pivot_table(column, "run_id", "metric", dropna=False).reindex(columns=list(metrics))
    return {str(run): (float(x), float(y)) for run, x, y in table.itertuples(name=None)}
