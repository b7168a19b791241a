"""Results of single users: who gains, who loses, and what their lists contain.

Guests whose link shows numbers only get the totals, and Forbidden for what is about one user.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recdash.comparison import ComparisonQuery
from recdash.comparison.pairs import shared
from recdash.domain.kinds import Floats
from recdash.domain.results import WHOLE, Scope, UserValues
from recdash.errors import NotFound
from recdash.evaluation.user_detail import Beside, Histories, OneUser, held_out_of
from recdash.metrics import check_k
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.offline.lists import StoredLists
from recdash.service.run_data import RunData
from recdash.stats import differences
from recdash.stats.user_changes import Bars, bars, changes, largest_changes

if TYPE_CHECKING:
    import pandas as pd

MOST_PLACES = 50
"""How many positions of a list are shown. Hits are counted to k, even if k is larger."""
MOST_HISTORY = 10
MOST_DECISIVE = 50

CHANGE_COLUMNS = (
    "run_id", "run", "n_users", "better", "same", "worse", "gain", "loss", "half_gain", "typical",
)  # fmt: skip
DECISIVE_COLUMNS = ("user_id", "difference", "value", "baseline_value", "n_relevant")


class UserResults:
    """The service for results of runs user by user."""

    def __init__(
        self, context: ServiceContext, data: RunData, values: MetricValues, lists: StoredLists
    ) -> None:
        self._context, self._data, self._values, self._lists = context, data, values, lists
        self._store = context.store
        self._histories = context.cached(self._read_histories, most=2)
        self._gaps = context.cached(self._compare_users, most=64)

    # ── who gains, who loses ─────────────────────────────────────────────────────────────────

    def changes(self, query: ComparisonQuery) -> pd.DataFrame:
        """Returns for how many users each run is better, the same or worse than the baseline:
        ``CHANGE_COLUMNS``.

        n_users is the number of users who count in both; gain and loss are the sums of the users' changes;
        half_gain is the smallest number of users with half of the gain; typical is the median absolute change
        of the users who change.

        A run has no row if it lacks the metric, or shares no user with the baseline. Raises InputError for a
        metric without a value per user.
        """
        import pandas as pd

        rows = []
        for run in self._context.runs_of(query.runs):
            gaps = self._differences(run.id, query)
            if gaps is not None:
                rows.append([run.id, run.name, *vars(changes(gaps)).values()])
        return pd.DataFrame(rows, columns=list(CHANGE_COLUMNS))

    def change_bars(self, run_id: str, query: ComparisonQuery) -> Bars:
        """Returns the histogram of the users' differences from the baseline, without zeros; empty if there
        are none.
        """
        gaps = self._differences(run_id, query)
        return bars(np.zeros(0) if gaps is None else gaps)

    def value_bars(self, run_id: str, metric: str, k: int, scope: Scope = WHOLE) -> tuple[Bars, int, int]:
        """Returns the histogram of a run's nonzero values per user, the number of zeros, and the number of
        users.
        """
        check_k(k)
        values = self._values.user_values(run_id, metric, k, None, scope)
        if values is None:
            return bars(np.zeros(0)), 0, 0
        return bars(values.own), int((values.own == 0).sum()), len(values.own)

    def decisive_users(self, run_id: str, query: ComparisonQuery, *, n: int = MOST_DECISIVE) -> pd.DataFrame:
        """Returns the users with the largest differences from the baseline: best, worst, second best, and so
        on.

        For the baseline itself, it returns the users with the highest and lowest values. Users with the same
        difference are ordered by how much the candidates differ for them, most first. Columns: user_id,
        difference (above 0 is better), value, baseline_value, n_relevant. Empty if no user counts in both
        runs.
        """
        import pandas as pd

        self._context.person.must_see_users()
        known = self._paired_values(run_id, query)
        if known is None:
            return pd.DataFrame(columns=list(DECISIVE_COLUMNS))
        own, base = known
        is_alone = run_id == query.baseline
        gap = differences(own.own, np.full(len(own.own), np.median(own.own)) if is_alone else base.own)
        others = [self._user_values(other, query) for other in query.runs]
        chosen = largest_changes(gap, spread(own, others), n)
        experiment_id = self._store.runs.get(run_id).experiment
        truth = self._data.reference_under(experiment_id, query.scope.threshold).truth
        users = own.users[chosen]
        columns = (
            [truth.users[user] for user in users.tolist()], gap[chosen], own.own[chosen], base.own[chosen],
            truth.per_user(truth.relevant())[users],
        )  # fmt: skip
        return pd.DataFrame(dict(zip(DECISIVE_COLUMNS, columns, strict=True)))

    def _paired_values(self, run_id: str, query: ComparisonQuery) -> tuple[UserValues, UserValues] | None:
        """Returns values per user of the run and the baseline, over the users who count in both; None if
        there are none.

        If the run is the baseline, the second values are NaN.
        """
        own = self._user_values(run_id, query)
        if own is None or not len(own.users):
            return None
        if run_id == query.baseline:
            nothing = np.full(len(own.users), np.nan)
            return own, UserValues(own.users, nothing, nothing)
        base = self._user_values(query.baseline, query)
        both = None if base is None else shared(own, base)
        return both if both and len(both[0].users) else None

    def _user_values(self, run_id: str, query: ComparisonQuery) -> UserValues | None:
        return self._values.user_values(run_id, query.metric, query.k, None, query.scope)

    def _differences(self, run_id: str, query: ComparisonQuery) -> Floats | None:
        """Returns ``_compare_users``, cached; the query's other candidates do not matter, so the key is
        without them.
        """
        return self._gaps(run_id, replace(query, runs=()))

    def _compare_users(self, run_id: str, query: ComparisonQuery) -> Floats | None:
        """Returns the differences of the users who count in both runs, above 0 if the run is better; None if
        no user does.
        """
        known = self._paired_values(run_id, query)
        return None if known is None else differences(known[0].own, known[1].own)

    # ── one user ─────────────────────────────────────────────────────────────────────────────

    def lists(
        self,
        run_ids: Sequence[str],
        user_id: str,
        k: int,
        baseline_id: str | None = None,
        scope: Scope = WHOLE,
    ) -> OneUser:
        """Returns a test user with the lists of some runs of one experiment, to k or at most 50 positions.

        A run is left out if it has no lists, or its upload was not kept. Raises NotFound for a user who is
        not in the test set.
        """
        check_k(k)
        self._context.person.must_see_users()
        experiment_id = self._store.runs.get(run_ids[0]).experiment
        user = self._user(experiment_id, user_id)
        reference, facts = self._data.reference(experiment_id), self._lists.facts(experiment_id)
        truth = self._data.reference_under(experiment_id, scope.threshold).truth
        histories = self._histories(experiment_id)
        had = histories.of(user) if histories else np.zeros(0, dtype=np.int64)
        runs = [run for run in self._context.runs_of(run_ids) if self._lists.has_lists(run)]
        base = next((self._lists.one_list(run.id, user) for run in runs if run.id == baseline_id), None)
        beside = Beside(truth, user, facts, base, k, MOST_PLACES)
        rows = slice(truth.start[user], truth.start[user + 1])
        return OneUser(
            user_id=truth.users[user],
            counts=bool(truth.relevant()[rows].any()),
            graded=truth.graded,
            held_out=held_out_of(truth, user, facts),
            history=tuple(facts.of(had[:MOST_HISTORY], reference.items.ids())),
            n_history=len(had),
            dated=bool(histories and histories.dated),
            lists=tuple(beside.list_of(run.id, self._lists.one_list(run.id, user)) for run in runs),
        )

    def values(self, user_id: str, query: ComparisonQuery) -> dict[str, float]:
        """Returns {run id: metric's value for one user}, for each run in which the user counts."""
        self._context.person.must_see_users()
        user = self._user(self._store.runs.get(query.baseline).experiment, user_id)
        known = {run_id: self._user_values(run_id, query) for run_id in query.shown}
        own = {run_id: values.own[values.users == user] for run_id, values in known.items() if values}
        return {run_id: float(value[0]) for run_id, value in own.items() if len(value)}

    def _user(self, experiment_id: str, user_id: str) -> int:
        """Returns the user's code in the test set; a number may be spelled differently.

        Raises NotFound for an unknown user.
        """
        ids = pa.array([user_id.strip()], pa.string())
        code = int(self._data.reference(experiment_id).users.codes(ids, grow=False)[0])
        if code < 0:
            raise NotFound(f"The test set of this experiment has no user '{user_id}'.")
        return code

    def _read_histories(self, experiment_id: str) -> Histories | None:
        train = self._data.tables(experiment_id).get("train")
        return None if train is None else Histories(train, self._data.reference(experiment_id))


def spread(own: UserValues, others: Sequence[UserValues | None]) -> Floats:
    """Returns for each user [n] the range of the other runs' values; 0 if fewer than two of them have one."""
    low, high = np.full(len(own.users), np.inf), np.full(len(own.users), -np.inf)
    index = np.arange(len(own.users), dtype=np.float64)
    for other in filter(None, others):
        places, values = shared(UserValues(own.users, index, index), other)
        here = places.own.astype(np.int64)
        low[here] = np.minimum(low[here], values.own)
        high[here] = np.maximum(high[here], values.own)
    return np.where(high > low, high - low, 0.0)
