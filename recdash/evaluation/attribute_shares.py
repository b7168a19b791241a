"""Shares of a run's recommendations, and of the catalogue's items, by the values of an attribute.

A text column has a row for each value. Numbers have one each, or, if there are more than ``MOST_NUMBERS``,
bands: of a round width (decades), or of about equal weight if the largest of those would have most of the
catalogue. A last row, ``(none)``, has items without a value.
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
from recdash.metrics.catalogue import CatalogueInputs, ShownBy, needs_attribute, shown_by

MOST_NUMBERS = 25
BANDS = 15
COLUMNS = ("value", "places", "share", "items", "catalogue_share", "values", "values_shown")


def attributes_of(reference: Reference) -> list[str]:
    """Returns the catalogue columns that group items: numbers, and text with shared values.

    Titles, descriptions and further ids are left out, and so are empty columns.
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
    """Raises InputError without a catalogue, UnknownName for a column that it lacks."""
    catalogue = reference.tables.get("catalogue")
    if catalogue is None:
        fix = "Add a catalogue: all items, with their attributes."
        raise InputError(Problem("no-catalogue", f"attribute '{attribute}'", "there is no catalogue", fix))
    if attribute not in attribute_names(catalogue):
        raise UnknownName("attribute", attribute, attribute_names(catalogue))


def attribute_share_rows(
    inputs: CatalogueInputs, reference: Reference, attribute: str, k: int
) -> list[dict[str, Any]]:
    """Returns one dict per value, with the ``COLUMNS``; numbers ascending, text by the catalogue's items.

    ``share`` is of the recommendations within k in all lists of the run, ``catalogue_share`` of the
    catalogue's items; an item with several values counts in each. A row is over ``values`` values of the
    attribute, of which the run shows ``values_shown``. Raises InputError for a column that cannot be used.
    """
    check_attribute(reference, attribute)
    if missing_input := needs_attribute(inputs, {"attribute": attribute}):
        raise InputError(
            Problem("no-values", f"attribute '{attribute}'", missing_input, "Choose another column.")
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
    """Returns the rows of several uploads of one candidate as one.

    Counts add up, shares are means, and ``values_shown`` is that of the upload with most of them.
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
    """Returns a row per value, most items first, and the row of each value [V]."""
    order = sorted(range(len(counts.values)), key=lambda index: (-counts.items[index], counts.values[index]))
    row = np.empty(len(order), dtype=np.int64)
    row[order] = np.arange(len(order))
    return [counts.values[index] for index in order], row


def _by_size(counts: ShownBy) -> tuple[list[str], Ints]:
    """Returns a row per number or band, ascending, and the row of each value [V]."""
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
    """Returns [rows] sums of the values' ``numbers`` [V] by the row of each value [V]."""
    total: Ints = np.bincount(row, numbers).astype(np.int64)
    return total
