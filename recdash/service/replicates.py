"""How far a candidate's folds or seeds lie apart, and whether a difference outlives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from recdash import views
from recdash.domain import WHOLE, Ints, Run, Scope
from recdash.metrics import define
from recdash.service.answers import Answers
from recdash.stats.replicates import Measured, ReplicateDifference, difference_over_replicates, together

if TYPE_CHECKING:
    import pandas as pd

SPREAD_COLUMNS = ("run_id", "run", "replicate", "value", "n_users")


class Replicates(Answers):
    """What is below the candidates that were uploaded several times."""

    def replicates(self, run_id: str) -> list[Run]:
        """The folds or seeds of a run, in their order; each is a run too, called by its label."""
        return list(self._below(run_id))

    def spread(self, run_ids: Sequence[str], metric: str, k: int, scope: Scope = WHOLE) -> pd.DataFrame:
        """Each replicate's own value: ``SPREAD_COLUMNS``; no rows for a run that was uploaded once.

        A fold's value is over its own users.
        """
        import pandas as pd

        views.check_cutoff(k)
        rows = [
            {"run_id": run.id, "run": run.name, "replicate": one.name, **found}
            for run in self._runs(run_ids)
            if run.replicated
            for one, found in self._found_below(run.id, metric, k, scope)
        ]
        return pd.DataFrame(rows, columns=list(SPREAD_COLUMNS))

    def _found_below(
        self, run_id: str, metric: str, k: int, scope: Scope
    ) -> list[tuple[Run, dict[str, float]]]:
        below = self._below(run_id)
        curves = self._curves([one.id for one in below], [metric], scope)
        found = [(one, curves[one.id].get(metric)) for one in below]
        return [
            (one, {"value": float(at["value"]), "n_users": at["n_users"]})
            for one, curve in found
            if curve is not None and not np.isnan((at := views.at(curve, k))["value"])
        ]

    def outliving(
        self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int, scope: Scope = WHOLE
    ) -> dict[str, ReplicateDifference]:
        """Run → its difference to the baseline over folds or seeds, all judged as one family (Holm's).

        Without the runs that lack the metric.
        """
        alone = {run: self.outlives(run, baseline_id, metric, k, scope) for run in run_ids}
        known = {run: one for run, one in alone.items() if one is not None}
        return dict(zip(known, together(list(known.values())), strict=True))

    def outlives(
        self, run_id: str, baseline_id: str, metric: str, k: int, scope: Scope = WHOLE
    ) -> ReplicateDifference | None:
        """The run minus the baseline over their folds or seeds; None where one of them lacks the metric.

        A run without folds of its own is cut to the users of the other's folds, which pairs them.
        """
        views.check_cutoff(k)
        run, baseline = self.store.run(run_id), self.store.run(baseline_id)
        asked = (metric, k, scope)
        mine, theirs = self._over_folds(run, baseline, *asked), self._over_folds(baseline, run, *asked)
        if not mine or not theirs:
            return None
        both_have_folds = _has_folds(run) and _has_folds(baseline)
        same_users = not both_have_folds or self._same_folds(run, baseline)
        return difference_over_replicates(mine, theirs, same_users=same_users)

    def _measured(self, run: Run, metric: str, k: int, scope: Scope) -> Measured:
        """The run's value in each of its replicates, or its one value; empty where it lacks the metric."""
        replicated = run.replicated
        if replicated is None:
            curve = self._curves([run.id], [metric], scope)[run.id].get(metric)
            return Measured({} if curve is None else {"": float(views.at(curve, k)["value"])})
        values = {one.name: found["value"] for one, found in self._found_below(run.id, metric, k, scope)}
        return Measured(values, replicated.noun, overlap=replicated.kind == "folds")

    def _over_folds(self, run: Run, other: Run, metric: str, k: int, scope: Scope) -> Measured | None:
        """The run's values, where the other alone has folds those over the users of each of these.

        None for a metric without a value per user: of fewer users it is another number.
        """
        folds = other.replicated
        if folds is None or not _has_folds(other) or _has_folds(run):
            return self._measured(run, metric, k, scope)
        own = self._values(run.id, metric, k, None, scope) if define(metric).has_user_values else None
        if own is None:
            return None
        parts = {one.name: self._values(one.id, metric, k, None, scope) for one in self._below(other.id)}
        shared = {label: np.isin(own.users, part.users) for label, part in parts.items() if part}
        known = {label: float(own.of(here).values.mean()) for label, here in shared.items() if here.any()}
        return Measured(known, folds.noun, overlap=True)

    def _same_folds(self, run: Run, baseline: Run) -> bool:
        """Whether the folds of both have the same users, label by label."""
        mine, theirs = (
            {one.name: self._served(one.id) for one in self._below(each.id)} for each in (run, baseline)
        )
        if mine.keys() != theirs.keys():
            return False
        return all(np.array_equal(users, theirs[label]) for label, users in mine.items())

    def _served(self, run_id: str) -> Ints:
        return np.flatnonzero(self._hits(run_id).list_length > 0)


def _has_folds(run: Run) -> bool:
    return run.replicated is not None and run.replicated.kind == "folds"
