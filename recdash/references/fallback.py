"""Completes a candidate: users without a list get the most popular items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recdash.domain.inputs import Recommendations
from recdash.references import rankers
from recdash.references.candidates import blocks_of, id_batch
from recdash.references.context import RankerInputs
from recdash.references.rankers import Lists

Mask = npt.NDArray[np.bool_]


def completed(
    run: Recommendations, name: str, has_list: Mask, inputs: RankerInputs, facts: dict[str, Any]
) -> Recommendations:
    """Returns the run's own lists, followed by a list of popular items for every user without one.

    ``has_list`` [U] marks the users of the truth that have a list in the run. The added lists have
    ``inputs.depth`` items: those with the most users in the training data, without those the user has
    there. They are ordered by the columns that the run has, with −rank as the score. ``facts`` says where the
    lists come from.
    """

    def batches(columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        schema: pa.Schema | None = None
        for batch in run.batches() if columns is None else run.batches(columns=columns):
            schema = batch.schema
            yield batch
        if schema is not None:
            for lists in blocks_of(_popular_for_others(inputs, has_list)):
                yield _as(schema, id_batch(inputs, lists))

    return Recommendations(
        name, batches, run.has_rank, run.has_score, mapping=run.mapping, notices=run.notices, fallback=facts
    )


def _popular_for_others(inputs: RankerInputs, has_list: Mask) -> Lists:
    return ((user, items) for user, items in rankers.popular(inputs) if not has_list[user])


def _as(schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns user, item and rank in the columns and types of the schema.

    If the schema has a score, it is −rank.
    """
    rank = batch.column("rank")
    known = {
        "user_id": batch.column("user_id"),
        "item_id": batch.column("item_id"),
        "rank": rank,
        "score": pa.array(-rank.to_numpy().astype(np.float64)),
    }
    return pa.record_batch([_typed(known[field.name], field.type) for field in schema], schema=schema)


def _typed(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(wanted):
        return column.cast(wanted)
    if pa.types.is_dictionary(column.type):
        return column.cast(wanted)
    return column.cast(wanted.value_type).dictionary_encode().cast(wanted)
