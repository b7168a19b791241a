"""Merges the uploads of one candidate into one stream of lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recdash.domain.inputs import Recommendations
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "replicate"
"""The column in which a stored upload has the replicate's label."""


def merge_replicates(runs: Sequence[Recommendations], *, labelled: bool = False) -> Recommendations:
    """Returns the rows of all uploads, one upload after the other; ``labelled`` adds a column with the
    replicate's label.

    Raises InputError if only some uploads have ranks or scores, because their lists would be ordered by
    different rules.
    """
    _check_alike(runs)
    first = runs[0]
    columns = [
        name for name in ("user_id", "item_id", "rank", "score") if getattr(first, f"has_{name}", True)
    ]
    by_place: dict[tuple[str, str], Problem] = {}
    notices: list[Problem] = []

    def gather_notices() -> None:
        by_place.update({(notice.code, notice.place): notice for run in runs for notice in run.notices})
        notices[:] = by_place.values()

    gather_notices()

    def batches(columns: Sequence[str] = tuple(columns)) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for run, batch in _of_one_type(runs, columns):
            label = pa.repeat(str(run.replicate), batch.num_rows)
            yield batch.append_column(LABEL, label) if labelled else batch
        gather_notices()

    counts = [run.n_rows for run in runs]
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    return replace(first, batches=batches, notices=notices, n_rows=n_rows, replicate=None)


def _check_alike(runs: Sequence[Recommendations]) -> None:
    for column in ("rank", "score"):
        has = [bool(getattr(run, f"has_{column}")) for run in runs]
        if len(set(has)) > 1:
            labels = [f"'{run.replicate}'" for run, has_it in zip(runs, has, strict=True) if not has_it]
            text = f"{', '.join(labels[:5])} without a {column}, the others with one"
            fix = "Write the replicates of a candidate in one form."
            raise InputError(Problem("replicates-differ", f"run '{runs[0].name}'", text, fix))


def _of_one_type(
    runs: Sequence[Recommendations], columns: Sequence[str]
) -> Iterator[tuple[Recommendations, pa.RecordBatch]]:
    """Yields each upload's batches, together with the upload. If some uploads have numbers as ids and others
    texts, all ids become texts.
    """
    first = [next(iter(run.batches(columns)), None) for run in runs]
    schemas = [batch.schema for batch in first if batch is not None]
    as_text = any(not schema.equals(schemas[0]) for schema in schemas)
    for run in runs:
        for batch in run.batches(columns):
            yield run, _with_text_ids(batch) if as_text else batch


def _with_text_ids(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    numbers = {"rank": pa.int64(), "score": pa.float64()}
    return pa.record_batch(
        {
            name: batch[name].cast(numbers[name])
            if name in numbers
            else batch[name].cast(pa.string()).dictionary_encode()
            for name in batch.schema.names
        }
    )
