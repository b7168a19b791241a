"""Reads the lists of single users from stored uploads, if possible without reading the whole upload each
time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recdash.domain.kinds import Mask
from recdash.domain.records import Run
from recdash.engines.row_groups import FEW, RowGroups
from recdash.engines.user_lists import UserLists, read_lists
from recdash.evaluation.user_detail import ItemFacts
from recdash.service.context import ServiceContext
from recdash.service.run_data import RunData

SMALL_ROWS, LARGE_ROWS = 2_000_000, 1 << 25
"""The maximum number of rows of an upload whose lists are cached, which takes 4 bytes per row.

The second applies if each user's rows are spread over the file.
"""
SAMPLE_USERS, SEED = 2_000, 20261121
"""How many users' lists of a large upload are compared, and the seed with which they are drawn."""


class StoredLists:
    """The service that reads lists from stored uploads, in the order in which they were scored; cached."""

    def __init__(self, context: ServiceContext, data: RunData) -> None:
        self._context, self._data = context, data
        self._store = context.store
        self._row_groups = context.cached(self._open_row_groups, most=64)
        self.small_lists = context.cached(self._read_all_lists, most=64)
        self._large_lists = context.cached(self._read_all_lists, most=10)
        self.sampled_lists = context.cached(self._read_sample, most=64)
        self.one_list = context.cached(self._find_list, most=4096)
        self.facts = context.cached(self._read_facts, most=4)

    def _find_list(self, run_id: str, user: int) -> UserLists:
        """Returns lists of a run, among them that of this test user if the user has one.

        Of a large upload, it only reads the row groups with the user, unless these are spread over the file.
        """
        run = self._store.runs.get(run_id)
        if self.is_small(run):
            return self.small_lists(run_id)
        truth = self._data.reference(run.experiment).truth
        groups = None if run.replicate_of else self._row_groups(run_id).of(user, truth.users[user])
        if groups and len(groups) > FEW and self._n_rows(run) <= LARGE_ROWS:
            return self._large_lists(run_id)
        wanted = np.zeros(truth.n_users, dtype=bool)
        wanted[user] = True
        return self._lists_in(run, groups, wanted)

    def has_lists(self, run: Run) -> bool:
        """Returns whether each user has at most one list in the run, and the upload with the lists was kept.

        The upload of a fold or seed is that of its candidate.
        """
        home = self._store.runs.get(run.replicate_of) if run.replicate_of else run
        return run.has_lists and not run.is_mean and home.upload is not None

    def is_small(self, run: Run) -> bool:
        return self._n_rows(run) <= SMALL_ROWS

    def _n_rows(self, run: Run) -> int:
        return run.ledger["rows"] or 0

    def _open_row_groups(self, run_id: str) -> RowGroups:
        run = self._store.runs.get(run_id)
        return RowGroups(
            self._store.artifacts.path(run.upload or ""),
            self._data.reference(run.experiment).users.copy(),
        )

    def _lists_in(
        self, run: Run, groups: Sequence[int] | None = None, wanted: Mask | None = None
    ) -> UserLists:
        """Returns the lists in these row groups of a run's upload, by default in all.

        ``wanted`` [U] limits them to some test users.
        """
        hits = self._data.hits(run.id)
        rows = self._data.lists_of(run) if groups is None else self._row_groups(run.id).lists_in(groups)
        reference = self._data.reference(run.experiment)
        return read_lists(
            rows, reference, depth=hits.depth, order=hits.order, wanted=wanted, duplicates=hits.duplicates
        )

    def _read_all_lists(self, run_id: str) -> UserLists:
        return self._lists_in(self._store.runs.get(run_id))

    def _read_facts(self, experiment_id: str) -> ItemFacts:
        return ItemFacts(self._data.reference(experiment_id))

    def _read_sample(self, run_id: str) -> UserLists:
        """Returns the lists of a random sample of users, which is the same for every run of an experiment."""
        run = self._store.runs.get(run_id)
        truth = self._data.reference(run.experiment).truth
        chosen = np.flatnonzero(truth.users_who_count())
        if len(chosen) > SAMPLE_USERS:
            chosen = np.random.default_rng(SEED).choice(chosen, SAMPLE_USERS, replace=False)
        wanted = np.zeros(truth.n_users, dtype=bool)
        wanted[chosen] = True
        return self._lists_in(run, wanted=wanted)
