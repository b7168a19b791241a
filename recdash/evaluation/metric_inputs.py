"""Collects the inputs that metrics need, for a run and for its slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.hits import Exposure, Hits
from recdash.domain.kinds import Mask, Users
from recdash.engines import Reference
from recdash.engines.attributes import attribute_names, attribute_of
from recdash.evaluation.known_ids import unmet_by_truth, unmet_tables
from recdash.metrics import MetricInputs, sample_of
from recdash.metrics.catalogue import CatalogueInputs, Labels, no_labels
from recdash.metrics.ratings import Predictions
from recdash.metrics.sample import CountedTruth, ItemExpectedness, RelevantHits, item_expectedness

if TYPE_CHECKING:
    from recdash.domain.results import Slice


def metric_inputs_of(
    hits: Hits,
    reference: Reference,
    users: Users,
    part: Slice | None = None,
    *,
    predictions: Predictions | None = None,
) -> MetricInputs:
    """Returns the inputs for all users or for a slice (``part``). Accuracy is computed from ``hits``,
    catalogue-level metrics from their exposure.

    Metrics share intermediate results through these inputs.
    """
    catalogue = catalogue_inputs_of(hits, reference, is_part=part is not None)
    return MetricInputs(relevant_hits_of(hits, reference, users, part), catalogue, predictions)


def relevant_hits_of(
    hits: Hits,
    reference: Reference,
    users: Users,
    part: Slice | None = None,
    *,
    shared: CountedTruth | None = None,
) -> RelevantHits:
    """Returns the hits of the users who count, of all users or of a slice (``part``); runs share ``shared``
    (see ``sample_of``).
    """
    only, rows = (None, None) if part is None else (part.users, part.rows)
    return sample_of(hits, users, only, rows, expectedness_of(reference), shared)


def slice_users(slices: Sequence[Slice]) -> list[Mask]:
    """Returns the mask of users of each slice of users; slices of items are left out."""
    return [part.users for part in slices if part.users is not None]


def hits_by_slice(hits: Hits, slices: Sequence[Slice]) -> list[Hits]:
    """Returns the hits once per slice, each with the exposure of the slice's users. The exposure is None for
    slices of items, and if it was not counted.
    """
    exposures = iter(hits.shown_to)
    return [hits_in_slice(hits, None if part.users is None else next(exposures, None)) for part in slices]


def hits_in_slice(hits: Hits, exposure: Exposure | None) -> Hits:
    """Returns the hits of all users, with ``exposure`` (of the slice's users) in place of theirs."""
    return replace(hits, exposure=exposure, other_exposure=None, shown_to=())


def expectedness_of(reference: Reference) -> ItemExpectedness | None:
    """Returns how expected each item of the test set is, from its popularity in the training data; None
    without training data.
    """
    if reference.train_users is None:
        return None
    in_train = int((reference.train_users > 0).sum())
    n_items = in_train if reference.catalogue is None else len(reference.catalogue)
    items = item_expectedness(reference.train_users, n_items, len(reference.truth.items))
    return replace(items, why_unavailable=unmet_by_truth(reference))


def catalogue_inputs_of(hits: Hits, reference: Reference, *, is_part: bool = False) -> CatalogueInputs | None:
    """Returns the exposure with the data of the reference on its items; None if exposure was not counted.

    ``is_part``: the exposure is that of a slice of the truth's users, so that lists of other users do not
    belong to it.
    """
    if hits.exposure is None:
        return None
    n = len(hits.exposure.items)
    unmet = unmet_tables(hits.exposure, reference)
    train = None
    if reference.train_users is not None and "train" not in unmet:
        train = np.zeros(n, dtype=np.int64)
        train[: len(reference.train_users)] = reference.train_users
    in_catalogue = None
    if reference.catalogue is not None and "catalogue" not in unmet:
        in_catalogue = np.zeros(n, dtype=bool)
        in_catalogue[reference.catalogue] = True
    in_truth = np.arange(n) < len(reference.truth.items)
    names, labels = labels_of(reference)
    return CatalogueInputs(
        hits.exposure,
        hits.depth,
        in_truth,
        in_catalogue,
        train,
        reference.n_train_users,
        names,
        labels,
        reference.tables.keys(),
        hits.other_exposure,
        is_whole=is_part or hits.other_exposure is not None,
        may_repeat=hits.duplicates == "keep",
        unmet=unmet,
    )


def labels_of(reference: Reference) -> tuple[list[str], Callable[[str], Labels]]:
    """Returns the names of the catalogue's attributes, and a function that reads the attribute of a name.
    Without a catalogue there are no names.
    """
    catalogue = reference.tables.get("catalogue")
    if catalogue is None:
        return [], no_labels
    code = reference.items.codes(catalogue.table["item_id"], grow=False)

    def read(name: str) -> Labels:
        attribute = attribute_of(catalogue, name)
        return Labels(attribute.values, code[attribute.row], attribute.value)

    return attribute_names(catalogue), read
