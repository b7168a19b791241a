"""Paired differences from the baseline at each cutoff, and which run leads at which k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.comparison import ComparisonQuery
from recdash.comparison.pairs import shared
from recdash.domain.kinds import Mask
from recdash.domain.results import Scope, UserValues, common_bound
from recdash.metrics import define
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.stats.all_pairs import AllPairs, compare_all_pairs, leaders
from recdash.stats.sparse import Method

if TYPE_CHECKING:
    import pandas as pd

CUTOFFS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
DELTA_COLUMNS = ["run_id", "run", "k", "mean_diff", "std_error", "ci_low", "ci_high", "n_users"]


def cutoffs_within(depth: int) -> tuple[int, ...]:
    """Returns the cutoffs at which runs are compared: those of ``CUTOFFS`` below the depth, and the depth
    itself.
    """
    return (*(k for k in CUTOFFS if k < depth), depth)


class CutoffComparisons:
    """The service that compares runs at several cutoffs at once.

    All pairs are cached, so that a comparison with another baseline computes nothing.
    """

    def __init__(self, context: ServiceContext, values: MetricValues) -> None:
        self._context, self._values = context, values
        self._across = context.cached(self._compare_across, most=256)
        self._unbeaten = context.cached(self._find_unbeaten, most=256)

    def delta_curves(self, query: ComparisonQuery) -> pd.DataFrame:
        """Returns each run's paired difference from the baseline at ``cutoffs_within`` the depth:
        ``DELTA_COLUMNS``.

        Each difference is over the users of both runs. Its interval is for one cutoff and not corrected. A
        run without the metric has no rows. Raises InputError for a metric without a value per user.
        """
        import pandas as pd

        place, pairs_by_k = self._across(tuple(sorted(query.shown)), query.metric, query.scope)
        names = {run.id: run.name for run in self._context.runs_of(query.runs)}
        others = [run for run in query.runs if run in place]
        rows = [
            {"run_id": run, "run": names[run], "k": k, **_cells(pairs, place[query.baseline], place[run])}
            for run in (others if query.baseline in place else [])
            for k, pairs in pairs_by_k.items()
        ]
        return pd.DataFrame(rows, columns=DELTA_COLUMNS)

    def leaders_by_k(self, query: ComparisonQuery) -> dict[int, tuple[str, ...]]:
        """Returns {k: ids of the leading runs}: those that no other run beats significantly (Holm, over all
        pairs and cutoffs).

        Several leaders cannot be separated. A run in which no user counts never leads. Raises InputError for
        a metric without a value per user.
        """
        place, unbeaten_at = self._unbeaten(tuple(sorted(query.shown)), query.metric, query.scope)
        known = [run for run in query.shown if run in place]
        return {k: tuple(run for run in known if unbeaten[place[run]]) for k, unbeaten in unbeaten_at.items()}

    def _find_unbeaten(
        self, run_ids: tuple[str, ...], metric: str, scope: Scope
    ) -> tuple[Mapping[str, int], Mapping[int, Mask]]:
        """Returns {run id: index} and {k: mask of the leading runs}. The query's k has no part in it, so that
        another k does not test all pairs again.
        """
        place, pairs_by_k = self._across(run_ids, metric, scope)
        return place, dict(zip(pairs_by_k, leaders(list(pairs_by_k.values())), strict=True))

    def _compare_across(
        self, run_ids: tuple[str, ...], metric: str, scope: Scope
    ) -> tuple[Mapping[str, int], Mapping[int, AllPairs]]:
        """Returns {run id: index in the pairs} of runs with at least one user who counts, and {k: all their
        pairs}.
        """
        define(metric).formula()  # raises InputError if there is no value per user
        depth = self._context.settings_of(self._context.store.runs.get(run_ids[0]).experiment)["depth"]
        ids: tuple[str, ...] = run_ids
        pairs_by_k: dict[int, AllPairs] = {}
        for k in cutoffs_within(depth):
            # Not cached: values at so many cutoffs would displace those that pages use often.
            values = {run: self._values.compute_user_values(run, metric, k, None, scope) for run in ids}
            present = {
                run: run_values
                for run, run_values in values.items()
                if run_values is not None and run_values.users.size
            }
            ids = tuple(present)
            pairs_by_k[k] = _all_pairs(list(present.values()))
        return {run: index for index, run in enumerate(ids)}, pairs_by_k


def _cells(pairs: AllPairs, baseline: int, run: int) -> dict[str, Any]:
    pair = (baseline, run)
    low, high = pairs.interval(*pair)
    return {
        "mean_diff": float(pairs.mean[pair]), "std_error": float(pairs.error[pair]), "ci_low": low,
        "ci_high": high, "n_users": int(pairs.n[pair]),
    }  # fmt: skip


def _all_pairs(values: Sequence[UserValues]) -> AllPairs:
    """Returns the differences of all pairs of runs, each over the users that both runs have.

    If all runs have the same users, they are compared at once.
    """
    if not values:
        return compare_all_pairs(np.zeros((0, 0)))
    bound = common_bound(values)
    if all(np.array_equal(values[0].users, run_values.users) for run_values in values[1:]):
        # each run's values lie side by side: differences of pairs are then read without strides
        return compare_all_pairs(np.array([run_values.values for run_values in values]).T, bound)
    r = len(values)
    n = np.diag([len(run_values.users) for run_values in values])
    mean, error = np.zeros((r, r)), np.zeros((r, r))
    sparse: dict[tuple[int, int], Method] = {}
    for row, column in combinations(range(r), 2):
        base, other = shared(values[row], values[column])
        pair = compare_all_pairs(np.column_stack([base.values, other.values]), bound)
        mean[row, column], mean[column, row] = pair.mean[0, 1], pair.mean[1, 0]
        error[row, column] = error[column, row] = pair.error[0, 1]
        n[row, column] = n[column, row] = pair.n[0, 1]
        if pair.sparse:
            sparse[row, column] = pair.sparse[0, 1]
    return AllPairs(mean, error, n, sparse)
