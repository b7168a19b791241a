"""The uploads of one candidate as one stream of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recdash.domain.inputs import Recommendations
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

LABEL = "replicate"
"""The column of a stored upload that tells its replicates apart."""


def together(runs: Sequence[Recommendations], *, labelled: bool = False) -> Recommendations:
    """The rows of all, one upload after the other; ``labelled`` adds the column that tells them apart.

    Raises InputError where only some have ranks, or scores: their lists would be ordered by different rules.
    """
    _check_alike(runs)
    first = runs[0]
    columns = [
        name for name in ("user_id", "item_id", "rank", "score") if getattr(first, f"has_{name}", True)
    ]
    known = {(one.code, one.place): one for run in runs for one in run.notices}
    notices = list(known.values())

    def batches(columns: Sequence[str] = tuple(columns)) -> Iterator[pa.RecordBatch]:
        for run, batch in _of_one_type(runs, columns):
            yield _with_label(batch, str(run.replicate)) if labelled else batch
        known.update({(one.code, one.place): one for run in runs for one in run.notices})
        notices[:] = known.values()

    rows = [run.n_rows for run in runs]
    n_rows = None if None in rows else sum(one or 0 for one in rows)
    return replace(first, batches=batches, notices=notices, n_rows=n_rows, replicate=None)


def _check_alike(runs: Sequence[Recommendations]) -> None:
    for column in ("rank", "score"):
        has = [bool(getattr(run, f"has_{column}")) for run in runs]
        if len(set(has)) > 1:
            labels = [f"'{run.replicate}'" for run, there in zip(runs, has, strict=True) if not there]
            found = f"{', '.join(labels[:5])} without a {column}, the others with one"
            fix = "Write the replicates of a candidate in one form."
            raise InputError(Problem("replicates-differ", f"run '{runs[0].name}'", found, fix))


def _of_one_type(
    runs: Sequence[Recommendations], columns: Sequence[str]
) -> Iterator[tuple[Recommendations, pa.RecordBatch]]:
    """Files may write ids differently, as numbers and as text: then all become text."""
    as_text = _differ(runs, columns)
    for run in runs:
        for batch in run.batches(columns):
            yield run, _plain(batch) if as_text else batch


def _differ(runs: Sequence[Recommendations], columns: Sequence[str]) -> bool:
    schemas = [batch.schema for run in runs if (batch := next(iter(run.batches(columns)), None)) is not None]
    return any(not schema.equals(schemas[0]) for schema in schemas)


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    read: dict[str, Callable[[Any], Any]] = {
        "rank": lambda column: column.cast(pa.int64()),
        "score": lambda column: column.cast(pa.float64()),
    }
    return pa.record_batch(
        {
            name: read.get(name, lambda column: column.cast(pa.string()).dictionary_encode())(batch[name])
            for name in batch.schema.names
        }
    )


def _with_label(batch: pa.RecordBatch, label: str) -> pa.RecordBatch:
    import pyarrow as pa

    return batch.append_column(LABEL, pa.repeat(label, batch.num_rows))
