"""Shares of a run's recommendations, and of the catalogue's items, by the values of an attribute.

A text column has one row per value. A numeric column has one row per number; if there are more than
``MOST_NUMBERS`` numbers, one per band. Bands have a round width (such as decades); if one of these would
contain most of the catalogue, bands contain about equally many items instead. The last row, ``(none)``, has
the items without a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.engines import Reference
from recdash.engines.attributes import attribute_names, has_numbers
from recdash.engines.diversity import categories
from recdash.errors import InputError, Problem, UnknownName
from recdash.evaluation.binning import equal_tops, range_labels, round_tops
from recdash.evaluation.slices import NONE
from recdash.metrics.catalogue import CatalogueInputs, ShownBy, shown_by, why_attribute_unusable

MOST_NUMBERS = 25
BANDS = 15
COLUMNS = ("value", "places", "share", "items", "catalogue_share", "values", "values_shown")


def attributes_of(reference: Reference) -> list[str]:
    """Returns the catalogue columns that can group items: numbers, and texts that several items share.

    Leaves out titles, descriptions, further ids, and empty columns. Empty without a catalogue.
    """
    catalogue = reference.tables.get("catalogue")
    if catalogue is None:
        return []
    sorting = {category.name for category in categories(catalogue)}
    return [
        name
        for name in attribute_names(catalogue)
        if name in sorting
        or (has_numbers(catalogue, name) and catalogue.table[name].null_count < catalogue.table.num_rows)
    ]


def check_attribute(reference: Reference, attribute: str) -> None:
    """Raises InputError if there is no catalogue, and UnknownName if the catalogue lacks the column."""
    catalogue = reference.tables.get("catalogue")
    if catalogue is None:
        fix = "Add a catalogue: all items, with their attributes."
        raise InputError(Problem("no-catalogue", f"attribute '{attribute}'", "there is no catalogue", fix))
    if attribute not in attribute_names(catalogue):
        raise UnknownName("attribute", attribute, attribute_names(catalogue))


def attribute_share_rows(
    inputs: CatalogueInputs, reference: Reference, attribute: str, k: int
) -> list[dict[str, Any]]:
    """Returns one dict per value with the keys ``COLUMNS``: numbers ascend, texts begin with the one of most
    items.

    ``share`` is the value's share of the recommendations within k in all lists of the run,
    ``catalogue_share`` its share of the catalogue's items; an item with several values counts in each.
    ``values`` is the number of values that the row combines, ``values_shown`` how many of them the run
    recommends. Raises InputError for a column that cannot be used.
    """
    check_attribute(reference, attribute)
    if why_unavailable := why_attribute_unusable(inputs, {"attribute": attribute}):
        raise InputError(
            Problem("no-values", f"attribute '{attribute}'", why_unavailable, "Choose another column.")
        )
    counts = shown_by(inputs.of("run"), attribute, k)
    is_number = has_numbers(reference.tables["catalogue"], attribute)
    labels, row_of = _by_size(counts) if is_number else _by_items(counts)
    sums = [
        _sums(row_of, numbers)
        for numbers in (counts.places, counts.items, np.ones_like(row_of), counts.places > 0)
    ]
    cells = [*zip(labels, *sums, strict=True), (NONE, counts.places_without, counts.items_without, 0, 0)]
    return [
        {
            "value": label,
            "places": int(places),
            "share": int(places) / counts.n_places,
            "items": int(items),
            "catalogue_share": int(items) / counts.n_items,
            "values": int(values),
            "values_shown": int(values_shown),
        }
        for label, places, items, values, values_shown in cells
    ]


def mean_rows(of_replicates: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the rows of a candidate from the rows of each of its uploads.

    Counts are added up, shares are averaged, and ``values_shown`` is the largest of the uploads.
    """
    return [
        {
            **rows[0],
            "places": sum(row["places"] for row in rows),
            "share": sum(row["share"] for row in rows) / len(rows),
            "values_shown": max(row["values_shown"] for row in rows),
        }
        for rows in zip(*of_replicates, strict=True)
    ]


def _by_items(counts: ShownBy) -> tuple[list[str], Ints]:
    """Returns the labels of the rows, one per value and most items first, and the row index of each value
    [V].
    """
    order = sorted(range(len(counts.values)), key=lambda index: (-counts.items[index], counts.values[index]))
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.arange(len(order))
    return [counts.values[index] for index in order], row


def _by_size(counts: ShownBy) -> tuple[list[str], Ints]:
    """Returns the labels of the rows, one per number or band in ascending order, and the row index of each
    value [V].
    """
    numbers = np.array(counts.values, dtype=np.float64)
    if len(numbers) > MOST_NUMBERS:
        return _bands(numbers, counts.items)
    order = np.argsort(numbers, kind="stable")
    return [counts.values[index] for index in order], np.argsort(order)


def _bands(numbers: Floats, items: Ints) -> tuple[list[str], Ints]:
    tops = round_tops(numbers, BANDS)
    if 2 * _sums(np.searchsorted(tops, numbers), items).max() > items.sum():
        tops = equal_tops(numbers, items, BANDS)
    row = np.searchsorted(tops, numbers)
    bands = [numbers[row == place] for place in range(len(tops))]
    return range_labels([(band.min(), band.max()) for band in bands]), row


def _sums(row: Ints, numbers: Any) -> Ints:
    """Returns [rows] the sums of ``numbers`` [V] per row; ``row`` [V] is the row index of each value."""
    total: Ints = np.bincount(row, numbers).astype(np.int64)
    return total
