"""Evidence from served lists: what an A/B test showed, compared with the uploaded lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.diagnosis import evidence_math
from recdash.diagnosis.evidence import ExposureEvidence, Missing, Places, ServedOverlap
from recdash.domain.kinds import Ints, Mask
from recdash.engines.user_lists import UserLists
from recdash.service.context import ServiceContext
from recdash.service.diagnosis.case import Case
from recdash.service.diagnosis.offline_evidence import LISTS, OfflineEvidence
from recdash.service.offline.lists import StoredLists
from recdash.service.run_data import RunData

SERVED = Missing("a table of served lists (request_id, unit_id, variant, rank, item_id)")
NO_ROWS = Missing("served lists of this variant and of the control")


@dataclass(frozen=True)
class Requests:
    """The rows [S] of one variant in the table of served lists.

    ``request`` is the code of each row's request, from 0; ``size`` [requests] is the number of rows of each
    request. ``unit`` and ``item`` are ids, ``rank`` begins with 1, ``clicked`` is None if the table lacks
    clicks.
    """

    request: Ints
    size: Ints
    unit: pa.ChunkedArray
    item: pa.ChunkedArray
    rank: Ints
    clicked: Mask | None


@dataclass(eq=False)
class ServedEvidence:
    """The service that gathers the checks' evidence from served lists."""

    _context: ServiceContext
    _data: RunData
    _lists: StoredLists
    _offline_evidence: OfflineEvidence

    def _requests(self, case: Case, variant: str) -> Requests | Missing:
        sha = case.test.tables.get("served")
        if sha is None:
            return SERVED
        table = self._context.store.artifacts.table(sha)
        rows = table.filter(pc.equal(table["variant"].cast(pa.string()), variant))
        if not len(rows):
            return NO_ROWS
        # request ids may only be unique within a unit
        key = [_codes(rows[name]) for name in ("unit_id", "request_id")]
        _, request = np.unique(key[0] * (int(key[1].max()) + 1) + key[1], return_inverse=True)
        rank = rows["rank"].to_numpy().astype(np.int64)
        clicked = rows["click"].to_numpy() > 0 if "click" in rows.column_names else None
        return Requests(request, np.bincount(request), rows["unit_id"], rows["item_id"], rank, clicked)

    def case_seen(self, case: Case) -> ExposureEvidence | Missing:
        served = self._requests(case, case.test.control)
        if isinstance(served, Missing):
            return served
        run, base = case.run_id, case.query.baseline
        unseen, base_unseen = self._unseen(run, case, served), self._unseen(base, case, served)
        if unseen is None or base_unseen is None:
            return LISTS
        return ExposureEvidence(unseen, base_unseen, self._judged(run, case), self._judged(base, case))

    def _unseen(self, run_id: str, case: Case, served: Requests) -> float | None:
        """Returns the share of the run's top-k positions that show an item which no user had seen before the
        test.

        None if the run's exposure is not stored.
        """
        exposure, reference = self._data.hits(run_id).exposure, self._data.reference(case.experiment_id)
        if exposure is None:
            return None
        end = int(exposure.shown.start[case.query.k])
        item, count = exposure.shown.item[:end], exposure.shown.count[:end]
        index = reference.items.copy()
        codes = index.codes(pa.array(list(exposure.items), pa.string()))
        known = np.zeros(len(index) + 1, dtype=bool)  # the last entry is for items that are in no list
        known[index.codes(pc.unique(served.item), grow=False)] = True
        known[: len(reference.truth.items)] = True
        if reference.train_users is not None:
            known[: len(reference.train_users)] |= reference.train_users > 0
        return float(count[~known[codes[item]]].sum() / max(int(count.sum()), 1))

    def _judged(self, run_id: str, case: Case) -> float | None:
        """Returns the share of top-k positions whose user and item have a row in the test set.

        None if all rows of the test set are relevant, so that none says what a user disliked.
        """
        hits = self._data.hits(run_id)
        if hits.truth.relevant().all():
            return None
        places = int(np.minimum(hits.list_length, case.query.k).sum())
        return float((hits.rank <= case.query.k).sum() / max(places, 1))

    def case_places(self, case: Case) -> Places | Missing:
        served = self._requests(case, case.variant)
        if isinstance(served, Missing):
            return served
        slots = int(np.median(evidence_math.deepest(served.request, served.rank)))
        depth = self._context.settings_of(case.experiment_id)["depth"]
        gain = self._offline_evidence.gain_at(case, min(slots, depth))
        if gain is None:
            return LISTS
        clicked = None if served.clicked is None else _by_rank(served.rank[served.clicked], slots)
        return Places(slots, gain, _by_rank(served.rank, slots), clicked)

    def case_served(self, case: Case) -> ServedOverlap | Missing:
        served = self._requests(case, case.variant)
        if isinstance(served, Missing):
            return served
        reference, hits = self._data.reference(case.experiment_id), self._data.hits(case.run_id)
        users = reference.users.codes(served.unit, grow=False).astype(np.int64)
        users[users >= reference.truth.n_users] = -1
        known_users = np.unique(users[users >= 0])
        # lists of all users, or of a sample for a large upload
        is_small = self._lists.is_small(self._context.store.runs.get(case.run_id))
        lists = (self._lists.small_lists if is_small else self._lists.sampled_lists)(case.run_id)
        items = reference.items.copy()
        # items that the experiment does not know, coded as in the lists
        items.codes(pa.array(list(lists.items[lists.n_shared :]), pa.string()))
        place = _places_in(lists, users, items.codes(served.item, grow=False).astype(np.int64), len(items))
        shares = evidence_math.in_common(served.request, served.rank, place)
        user_of = np.zeros(len(served.size), dtype=np.int64)
        user_of[served.request] = np.where(np.isin(users, lists.user), users, -1)
        counted = user_of >= 0
        overlap = evidence_math.mean_by(user_of[counted], shares[counted]) if counted.any() else np.zeros(0)
        return ServedOverlap(
            overlap=overlap,
            n_units=len(pc.unique(served.unit)),
            n_known=len(known_users),
            n_without=int((hits.list_length[known_users] == 0).sum()),
        )


def _by_rank(rank: Ints, slots: int) -> Ints:
    """Returns the number of rows with each rank, from 1 to ``slots``."""
    counts: Ints = np.bincount(rank, minlength=slots + 1)[1 : slots + 1]
    return counts


def _codes(column: pa.ChunkedArray) -> Ints:
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else encoded.dictionary_encode()
    codes: Ints = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _places_in(lists: UserLists, user: Ints, item: Ints, n_items: int) -> Ints:
    """Returns the position [S], from 0, of each item in its user's uploaded list; −1 if it is not in the
    list.
    """
    lengths = np.diff(lists.start)
    key = np.repeat(lists.user.astype(np.int64), lengths) * n_items + lists.item
    order = np.argsort(key)
    rank = np.arange(len(key)) - np.repeat(lists.start[:-1], lengths)
    wanted = user * n_items + item
    index = np.minimum(np.searchsorted(key, wanted, sorter=order), max(len(key) - 1, 0))
    is_known = (user >= 0) & (item >= 0)
    place = np.full(len(wanted), -1, dtype=np.int64)
    if len(key):
        same = is_known & (key[order[index]] == wanted)
        place[same] = rank[order[index[same]]]
    return place
