"""Off-policy estimates of stored runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order
from recdash.domain.records import Run
from recdash.online.off_policy.list_policy import DEFAULT_K, ListPolicy
from recdash.online.off_policy.ope import ope
from recdash.service.context import ServiceContext
from recdash.service.run_data import RunData

if TYPE_CHECKING:
    from recdash.online.off_policy.estimates import OffPolicy


class OffPolicyEstimates:
    """The service that estimates from a log what the lists of a stored run would have earned."""

    def __init__(self, context: ServiceContext, data: RunData) -> None:
        self._context, self._data = context, data

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

    def _policy(self, run_id: str, k: int, temperature: float | None) -> ListPolicy:
        self._context.person.must_see_users()  # a log of one's own tells what is on single users' lists
        run = self._context.store.runs.get(run_id)
        return ListPolicy(run.name, lambda users: self._lists(run, users), k, temperature)

    def _lists(self, run: Run, users: pa.Array) -> pa.Table:
        """Returns the lists of these users in the order in which they were scored."""
        lists = self._data.lists_of(run)
        return in_order(_rows_of(lists, users), self._data.hits(run.id).order)


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
