"""Small checked tables from rows, as the layers below ingest receive them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from recdash.domain.inputs import Recommendations, Upload

RUN_TYPES = {"rank": pa.int64(), "score": pa.float64()}
UPLOAD_TYPES = {"relevance": pa.float64(), "rating": pa.float64(), "prediction": pa.float64()}


def id_column(values: Sequence[Any]) -> pa.Array:
    """Whole numbers as int64, text dictionary-encoded: the two forms that ids have past ingest."""
    if all(isinstance(value, int) for value in values):
        return pa.array(values, pa.int64())
    return pa.array(values, pa.string()).dictionary_encode()


def columns_of(
    rows: Sequence[Sequence[Any]], names: Sequence[str], types: dict[str, Any]
) -> dict[str, pa.Array]:
    values = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return {
        name: pa.array(column, types[name]) if name in types else id_column(column)
        for name, column in values.items()
    }


def upload(kind: Any, names: str, rows: Iterable[Sequence[Any]]) -> Upload:
    """A truth, train or catalogue table: ``upload("truth", "user_id item_id", [("u", "a")])``."""
    return Upload(kind, kind, pa.table(columns_of(list(rows), names.split(), UPLOAD_TYPES)), {})


def run(
    names: str,
    rows: Iterable[Sequence[Any]],
    *,
    batch_rows: int = 1_000,
    name: str = "run",
    is_trec: bool = False,
) -> Recommendations:
    """A candidate streamed in batches of ``batch_rows`` rows, each with a dictionary of its own."""
    kept, columns = list(rows), names.split()

    def batches(columns: Sequence[str] = tuple(columns)) -> Iterator[pa.RecordBatch]:
        for begin in range(0, len(kept), batch_rows):
            batch = pa.record_batch(columns_of(kept[begin : begin + batch_rows], names.split(), RUN_TYPES))
            yield batch.select([column for column in batch.schema.names if column in columns])

    return Recommendations(name, batches, "rank" in columns, "score" in columns, is_trec=is_trec)


ADD_FILMS = (
    "add", "--experiment", "films", "--truth", "truth.csv", "--run", "als=als.csv", "--run", "ease=ease.csv",
)  # fmt: skip
"""The command that stores two candidates from files of a test's folder."""


def sessions_of_two_variants() -> Any:
    """A/B sessions of 40 users, one each, by turns in A and B."""
    import pandas as pd

    return pd.DataFrame(
        {
            "unit_id": [f"p{number}" for number in range(40)],
            "session_id": [f"s{number}" for number in range(40)],
            "variant": ["A", "B"] * 20,
            "start_ts": pd.date_range("2026-03-01", periods=40, freq="h", tz="UTC"),
            "clicks": [number % 3 for number in range(40)],
            "watch_s": [60 * (number % 5) for number in range(40)],
        }
    )
