"""Off-policy estimates of stored runs, and those that are kept with experiments."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order
from recdash.domain.records import KeptEstimate, Run
from recdash.errors import NotFound
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.records import Row, records
from recdash.metrics import define
from recdash.online.agreement.join import lower_metric_is_better
from recdash.online.agreement.kept_estimates import EstimateBesideTest
from recdash.online.off_policy.list_policy import DEFAULT_K, ListPolicy
from recdash.online.off_policy.ope import ope
from recdash.service.context import ServiceContext
from recdash.service.online.tests import OnlineTests
from recdash.service.run_data import RunData

if TYPE_CHECKING:
    from recdash.online.off_policy.estimates import OffPolicy


class OffPolicyEstimates:
    """The service that estimates from a log what the lists of a stored run would have earned, and keeps
    estimates with experiments.
    """

    def __init__(self, context: ServiceContext, data: RunData, online_tests: OnlineTests) -> None:
        self._context, self._data, self._online_tests = context, data, online_tests

    def of_run(
        self, run_id: str, log: Any, *, k: int = DEFAULT_K, temperature: float | None = None, **how: Any
    ) -> OffPolicy:
        """Returns what the run's lists would have earned per slot, estimated from a ``log`` with
        propensities and users.

        Without a ``temperature`` the policy shows the item at the rank of each position; with one it draws
        from the first ``k`` items by their scores (``ListPolicy``). ``how`` are further arguments of
        ``recdash.ope``. Raises InputError as that does, and for a run whose lists were not kept;
        Forbidden for a guest whose link shows numbers only.
        """
        return ope(log, self._policy(run_id, k, temperature), limits=self._context.limits, **how)

    # kept with experiments ─────────────────────────────────────────────────────────────────────

    def keep(self, experiment_id: str, estimates: OffPolicy, run_id: str | None = None) -> KeptEstimate:
        """Stores the numbers of estimates with an experiment, and returns them as stored; the same ones only
        once.

        ``run_id`` is the run of the experiment whose lists are the target, if it is one. The log is not
        stored. Raises NotFound for a run of another experiment.
        """
        store = self._context.writable_store()
        experiment = store.experiments.get(experiment_id)
        if run_id is not None and store.runs.get(run_id).experiment != experiment.id:
            raise NotFound(f"'{experiment.name}' has no run with the id '{run_id}'.")
        facts = json.loads(json.dumps(estimates.facts, default=np.generic.item))
        content = json.dumps([experiment.id, run_id, facts], sort_keys=True)
        key = hashlib.sha256(content.encode()).hexdigest()[:32]
        author, created = self._context.person.name, self._context.now()
        kept = KeptEstimate(key, experiment.id, created, author, estimates.target, run_id, facts)
        return store.estimates.add(kept)

    def kept(self, experiment_id: str) -> list[KeptEstimate]:
        """Returns the estimates that are kept with the experiment, the newest first."""
        return self._context.store.estimates.of_experiment(experiment_id)

    def delete(self, estimate_id: str) -> None:
        """Deletes a kept estimate for good."""
        self._context.writable_store().estimates.delete(estimate_id)

    def beside_test(
        self, experiment_id: str, metric: str, k: int, test_id: str | None = None, online_metric: str = ""
    ) -> list[EstimateBesideTest]:
        """Returns the kept estimates, each beside the offline difference and the online lift of its run in an
        A/B test; without a test alone.

        Raises UnknownName for an online metric that the test lacks.
        """
        kept = self.kept(experiment_id)
        if not kept:
            return []
        names = {
            run.id: run.name for run in self._context.store.runs.of_experiment(experiment_id, archived=True)
        }
        rows: dict[str, Row] = {}
        online_lower = False
        if test_id is not None:
            joined = records(self._online_tests.offline_online(test_id, metric, k, online_metric))
            rows = {row["run_id"]: _without_nan(row) for row in joined if row["quadrant"] != "control"}
            results = self._online_tests.result_frame(test_id)
            online_lower = lower_metric_is_better(results, online_metric)
        return [
            EstimateBesideTest(
                estimate,
                names.get(estimate.run or "", ""),
                rows.get(estimate.run or ""),
                define(metric).lower_is_better,
                online_lower,
            )
            for estimate in kept
        ]

    def _policy(self, run_id: str, k: int, temperature: float | None) -> ListPolicy:
        self._context.person.must_see_users()  # a log of one's own tells what is on single users' lists
        run = self._context.store.runs.get(run_id)
        return ListPolicy(run.name, lambda users: self._lists(run, users), k, temperature)

    def _lists(self, run: Run, users: pa.Array) -> pa.Table:
        """Returns the lists of these users in the order in which they were scored."""
        lists = self._data.lists_of(run)
        return in_order(_rows_of(lists, users), self._data.hits(run.id).order)


def _without_nan(row: Row) -> Row:
    """Returns the row with None in place of missing numbers."""
    return {name: none_if_nan(value) if isinstance(value, float) else value for name, value in row.items()}


def _rows_of(lists: Recommendations, users: pa.Array) -> pa.Table:
    """Returns the rows of these users with ids as text."""
    parts = []
    for batch in lists.batches():
        ids = batch.column("user_id").cast(pa.string())
        own = pc.is_in(ids, value_set=users)
        columns = {
            "user_id": ids.filter(own),
            "item_id": batch.column("item_id").filter(own).cast(pa.string()),
            **{
                name: batch.column(name).filter(own)
                for name in ("rank", "score")
                if name in batch.schema.names
            },
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def in_order(rows: pa.Table, order: Order) -> pa.Table:
    """Returns the rows of lists with the best items first; equal ranks by score, equal scores as they are."""
    keys = []
    if order != "file" and "score" in rows.column_names:
        keys.append(-rows["score"].to_numpy())
    if order == "rank":
        keys.append(rows["rank"].to_numpy())
    return rows.take(pa.array(np.lexsort(keys))) if keys else rows
