"""Questions about single users: who gains, who loses, and what their lists show."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recdash import views
from recdash.domain import Floats, Ints
from recdash.errors import NotFound
from recdash.evaluation.one_user import Beside, Histories, OneUser, held_out_of
from recdash.service.stored_lists import StoredLists
from recdash.stats import differences
from recdash.stats.changes import Bars, alternately, bars, changes

if TYPE_CHECKING:
    import pandas as pd

MOST_PLACES = 50
"""Of a list that is shown; hits are counted to k all the same."""
MOST_HISTORY = 10
MOST_DECISIVE = 50

CHANGE_COLUMNS = (
    "run_id", "run", "n_users", "better", "same", "worse", "gain", "loss", "half_gain", "typical",
)  # fmt: skip
DECISIVE_COLUMNS = ("user_id", "difference", "value", "baseline_value", "n_relevant")


class PerUser(StoredLists):
    """What is behind the means, user by user."""

    def _keep(self) -> None:
        super()._keep()
        self._histories = lru_cache(maxsize=2)(self._read_histories)
        self._gaps = lru_cache(maxsize=64)(self._compare_users)

    # ── who gains, who loses ─────────────────────────────────────────────────────────────────

    def user_changes(self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int) -> pd.DataFrame:
        """For how many users each run is better, the same or worse than the baseline.

        Columns: run_id, run, n_users (who count in both), better, same, worse, gain and loss (sums over
        users of what the metric changes for them), half_gain (the fewest users who have half of the gain),
        typical (the median size of a change, of those who change).
        A run without the metric, or without a user in common, has no row. Raises InputError for a metric
        without a value per user.
        """
        import pandas as pd

        rows = []
        for run in self._runs(run_ids):
            gaps = self._gaps(run.id, baseline_id, metric, k)
            if gaps is not None:
                rows.append([run.id, run.name, *vars(changes(gaps[1])).values()])
        return pd.DataFrame(rows, columns=list(CHANGE_COLUMNS))

    def change_bars(self, run_id: str, baseline_id: str, metric: str, k: int) -> Bars:
        """The distribution of the users' differences to the baseline, without those that are 0."""
        gaps = self._gaps(run_id, baseline_id, metric, k)
        return bars(np.zeros(0) if gaps is None else gaps[1])

    def value_bars(self, run_id: str, metric: str, k: int) -> tuple[Bars, int, int]:
        """The distribution of one run's users by their values that are not 0; how many have 0; all."""
        own = self._own(run_id, metric, k)
        if own is None:
            return bars(np.zeros(0)), 0, 0
        return bars(own[1]), int((own[1] == 0).sum()), len(own[1])

    def decisive_users(
        self,
        run_id: str,
        baseline_id: str | None,
        metric: str,
        k: int,
        beside: Sequence[str] = (),
        n: int = MOST_DECISIVE,
    ) -> pd.DataFrame:
        """The users for whom the run differs most from the baseline: best, worst, second best, and so on.

        Among equal differences those come first for whom the runs ``beside`` differ most among each other.
        Without a baseline: the users with the highest and the lowest value. Columns: user_id, difference
        (above 0 is better), value, baseline_value, n_relevant.
        """
        import pandas as pd

        views.check_cutoff(k)
        rows = self._decisive(run_id, baseline_id, metric, k, tuple(beside), n)
        return pd.DataFrame(rows, columns=list(DECISIVE_COLUMNS))

    def _decisive(
        self, run_id: str, baseline_id: str | None, metric: str, k: int, beside: tuple[str, ...], n: int
    ) -> list[tuple[str, float, float, float, int]]:
        known = self._beside_each_other(run_id, baseline_id, metric, k)
        if known is None:
            return []
        users, values, base = known
        usual = base if baseline_id else np.full(len(values), np.median(values))
        gap = self._turned(metric, differences(values, usual))
        chosen = alternately(gap, self._spread(users, beside, metric, k), n)
        truth = self._reference(self.store.run(run_id).experiment).truth
        relevant = truth.per_user(truth.relevant())[users[chosen]]
        names = [truth.users[user] for user in users[chosen].tolist()]
        columns = (one[chosen].tolist() for one in (gap, values, base))
        return list(zip(names, *columns, relevant.tolist(), strict=True))

    def _beside_each_other(
        self, run_id: str, baseline_id: str | None, metric: str, k: int
    ) -> tuple[Ints, Floats, Floats] | None:
        """Users who count in both, what each got from the run and from the baseline (NaN without one)."""
        mine = self._own(run_id, metric, k)
        theirs = self._own(baseline_id, metric, k) if baseline_id else mine
        if mine is None or theirs is None:
            return None
        users, here, there = np.intersect1d(mine[0], theirs[0], assume_unique=True, return_indices=True)
        base = theirs[1][there] if baseline_id else np.full(len(users), np.nan)
        return (users, mine[1][here], base) if len(users) else None

    def _spread(self, users: Ints, run_ids: tuple[str, ...], metric: str, k: int) -> Floats:
        """[n] how far the runs' values of each user lie apart."""
        low, high = np.full(len(users), np.inf), np.full(len(users), -np.inf)
        for run_id in run_ids:
            own = self._own(run_id, metric, k)
            if own is not None:
                _, here, there = np.intersect1d(users, own[0], assume_unique=True, return_indices=True)
                low[here] = np.minimum(low[here], own[1][there])
                high[here] = np.maximum(high[here], own[1][there])
        return np.where(high > low, high - low, 0.0)

    def _own(self, run_id: str, metric: str, k: int) -> tuple[Ints, Floats] | None:
        """Places in the truth of the users who count, and what each got."""
        views.check_cutoff(k)
        values = self._values(run_id, metric, k)
        return None if values is None else (values.users, values.own)

    def _compare_users(
        self, run_id: str, baseline_id: str, metric: str, k: int
    ) -> tuple[Ints, Floats] | None:
        """Users who count in both, and their differences, above 0 where the run is better for them."""
        known = self._beside_each_other(run_id, baseline_id, metric, k)
        if known is None:
            return None
        users, mine, theirs = known
        return users, self._turned(metric, differences(mine, theirs))

    def _turned(self, metric: str, difference: Floats) -> Floats:
        return -difference if views.lower_is_better(metric) else difference

    # ── one user ─────────────────────────────────────────────────────────────────────────────

    def user_lists(
        self, run_ids: Sequence[str], user_id: str, k: int, baseline_id: str | None = None
    ) -> OneUser:
        """A user of the truth with the lists of some runs of one experiment, to k (at most 50 places).

        A run without lists, and one whose upload was not kept, is left out. Raises NotFound for a user whom
        the truth does not know.
        """
        views.check_cutoff(k)
        experiment_id = self.store.run(run_ids[0]).experiment
        user = self._user(experiment_id, user_id)
        reference, facts = self._reference(experiment_id), self._facts(experiment_id)
        truth, histories = reference.truth, self._histories(experiment_id)
        had = histories.of(user) if histories else np.zeros(0, dtype=np.int64)
        runs = [run for run in self._runs(run_ids) if run.hits and run.upload]
        base = next((self._one_list(run.id, user) for run in runs if run.id == baseline_id), None)
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
            lists=tuple(beside.list_of(run.id, self._one_list(run.id, user)) for run in runs),
        )

    def user_values(self, run_ids: Sequence[str], user_id: str, metric: str, k: int) -> dict[str, float]:
        """What one user got by the metric from each run, for the runs in which the user counts."""
        if not run_ids:
            return {}
        user = self._user(self.store.run(run_ids[0]).experiment, user_id)
        found_values = {}
        for run_id in run_ids:
            own = self._own(run_id, metric, k)
            at = int(np.searchsorted(own[0], user)) if own else 0
            if own and at < len(own[0]) and own[0][at] == user:
                found_values[run_id] = float(own[1][at])
        return found_values

    def _user(self, experiment_id: str, user_id: str) -> int:
        """The user's code in the truth; another spelling of a number finds it as everywhere."""
        ids = pa.array([user_id.strip()], pa.string())
        code = int(self._reference(experiment_id).users.codes(ids, grow=False)[0])
        if code < 0:
            raise NotFound(f"The truth of this experiment knows no user '{user_id}'.")
        return code

    def _read_histories(self, experiment_id: str) -> Histories | None:
        train = self._tables(experiment_id).get("train")
        return None if train is None else Histories(train, self._reference(experiment_id))
