"""Compares runs' lists: how similar they are, and which test items each run finds, or never shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Mask
from recdash.domain.records import Run
from recdash.domain.results import WHOLE, Scope
from recdash.evaluation import hit_overlap
from recdash.evaluation.hit_overlap import Headroom
from recdash.metrics import check_k
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.offline.lists import StoredLists
from recdash.service.run_data import RunData
from recdash.stats.list_overlap import ManyLists, overlap, rank_biased_overlap

if TYPE_CHECKING:
    import pandas as pd

LIST_OVERLAP_COLUMNS = (
    "run_id", "run", "overlap", "rbo", "n_users", "n_both", "hits", "unique", "won", "lost",
)  # fmt: skip
_NO_SIMILARITY = (np.zeros(0), float("nan"), 0)


class Overlap:
    """The service that compares the runs' lists and hits, independent of a metric."""

    def __init__(
        self, context: ServiceContext, data: RunData, values: MetricValues, lists: StoredLists
    ) -> None:
        self._context, self._data, self._values, self._lists = context, data, values, lists
        self._store = context.store
        self.found = context.cached(self._find, most=256)
        self._relevant = context.cached(self._mark_relevant, most=32)
        self._list_similarity = context.cached(self._compare_lists, most=1024)

    def list_overlap(
        self, run_ids: Sequence[str], baseline_id: str, k: int, scope: Scope = WHOLE
    ) -> pd.DataFrame:
        """Returns how similar each run's lists are to the baseline's, and which hits only one of them has.

        Columns: run_id and run; overlap (share of common items in the top k) and rbo (rank-biased overlap of
        the whole lists, p = 0.9), both means over n_users users; n_both, the number of users with a relevant
        item and both lists. n_users is smaller than n_both if uploads are large: then a seeded sample is
        compared. Then counts over all users: hits in the top k, unique (hits that no other run has), won
        (hits that the baseline lacks), lost (hits that only the baseline has).
        """
        import pandas as pd

        check_k(k)
        base, *others = self._context.runs_of(list(dict.fromkeys((baseline_id, *run_ids))))
        masks = {run.id: self.found(run.id, k, scope) for run in (base, *others) if run.has_lists}
        counts = dict(
            zip(masks, hit_overlap.hit_counts(list(masks.values()), masks.get(base.id)), strict=True)
        )
        rows = [
            [run.id, run.name, *self._similarity(run, base, k, scope), *vars(counts[run.id]).values()]
            for run in (base, *others)
            if run.id in masks and run.id in run_ids
        ]
        return pd.DataFrame(rows, columns=list(LIST_OVERLAP_COLUMNS))

    def _similarity(self, run: Run, base: Run, k: int, scope: Scope) -> tuple[float, float, int, int]:
        """Returns mean overlap at k, mean rank-biased overlap, the number of users compared, and the number
        of users with both lists.

        The means are NaN if no user is compared, and for the baseline itself.
        """
        if run.id == base.id or not base.has_lists:
            return float("nan"), float("nan"), 0, 0
        counted = self._users_in(run.experiment, scope)
        for either in (run, base):
            counted = counted & (self._data.hits(either.id).list_length > 0)
        overlaps, rbo, n_users = self._list_similarity(run.id, base.id, scope)
        return float(overlaps[k - 1]) if n_users else float("nan"), rbo, n_users, int(counted.sum())

    def _compare_lists(self, run_id: str, baseline_id: str, scope: Scope) -> tuple[Floats, float, int]:
        """Returns mean overlap at k = 1..depth, mean rank-biased overlap, and the number of users
        compared.
        """
        runs = [self._store.runs.get(run_id), self._store.runs.get(baseline_id)]
        if not all(map(self._lists.has_lists, runs)):
            return _NO_SIMILARITY
        are_small = all(map(self._lists.is_small, runs))
        own, other = map(
            self._lists.small_lists if are_small else self._lists.sampled_lists, (run_id, baseline_id)
        )
        counted = np.flatnonzero(self._users_in(runs[0].experiment, scope))
        users = np.intersect1d(np.intersect1d(own.user, other.user), counted)
        if not len(users):
            return _NO_SIMILARITY
        own, other = own.only(users), other.only(users)
        a, b = ManyLists(own.start, own.item), ManyLists(other.start, other.coded_as(own))
        by_k: Floats = overlap(a, b, self._data.hits(run_id).depth).mean(axis=0)
        return by_k, float(rank_biased_overlap(a, b).mean()), len(users)

    def headroom(self, run_ids: Sequence[str], k: int, scope: Scope = WHOLE) -> Headroom | None:
        """Returns what the lists of all these runs together find in the top k; None if no run has lists, or
        no user counts.
        """
        check_k(k)
        runs = [run for run in self._context.runs_of(run_ids) if run.has_lists]
        if not runs:
            return None
        hits = [self._data.hits(run.id) for run in runs]
        users = self._context.settings_of(runs[0].experiment)["users"]
        masks = [self.found(run.id, k, scope) for run in runs]
        relevant = self._relevant(runs[0].experiment, scope)
        return hit_overlap.headroom(hits[0].truth, relevant, masks, hit_overlap.users_of_all(hits, users))

    def _find(self, run_id: str, k: int, scope: Scope) -> Mask:
        hits = self._data.hits(run_id)
        check_k(k, hits.depth)
        relevant = self._relevant(self._store.runs.get(run_id).experiment, scope)
        return hit_overlap.hit_rows(hits, k, relevant)

    def _mark_relevant(self, experiment_id: str, scope: Scope) -> Mask:
        """Returns a mask [T] of the test set's rows that are relevant and in the scope."""
        truth = self._data.reference_under(experiment_id, scope.threshold).truth
        relevant = truth.relevant()
        if not scope.slice:
            return relevant
        of = self._data.slice(experiment_id, scope)
        if of.users is not None:
            relevant = relevant & np.repeat(of.users, np.diff(truth.start))
        return relevant if of.rows is None else relevant & of.rows

    def _users_in(self, experiment_id: str, scope: Scope) -> Mask:
        """Returns a mask [U] of the users with a relevant row in the scope."""
        return self._data.reference(experiment_id).truth.per_user(self._relevant(experiment_id, scope)) > 0

    def found_items(self, run_ids: Sequence[str], k: int) -> pd.DataFrame:
        """Returns a frame with a row per relevant test item: which runs find it, and which show it, in the
        top k.

        Columns: item_id, title, users (number of users who have it in the test set), finders (number of runs
        with at least one hit on it), showers (number of runs that show it to any user). Then for each run
        with lists ``found <run id>`` (number of hits on it) and ``shown <run id>`` (number of lists with it,
        also of users without a relevant item). Empty if no run has lists.
        """
        import pandas as pd

        check_k(k)
        runs = [run for run in self._context.runs_of(run_ids) if run.has_lists]
        if not runs:
            return pd.DataFrame(columns=["item_id", "title", "users", "finders", "showers"])
        experiment_id = runs[0].experiment
        truth, facts = self._data.reference(experiment_id).truth, self._lists.facts(experiment_id)
        catalogues = [self._values.catalogue_of_all_lists(run.id) for run in runs]
        exposures = [catalogue.exposure for catalogue in catalogues if catalogue is not None]
        of = hit_overlap.items_found(truth, [self.found(run.id, k, WHOLE) for run in runs], exposures, k)
        ids = [truth.items[code] for code in of.item.tolist()]
        titles = [title or item_id for title, item_id in zip(facts.titles(of.item), ids, strict=True)]
        columns: Mapping[str, object] = {
            "item_id": ids, "title": titles, "users": of.users,
            "finders": (of.found > 0).sum(axis=0), "showers": (of.shown > 0).sum(axis=0),
            **{f"found {run.id}": row for run, row in zip(runs, of.found, strict=True)},
            **{f"shown {run.id}": row for run, row in zip(runs, of.shown, strict=True)},
        }  # fmt: skip
        return pd.DataFrame(columns)
