"""The least that any evaluation must do, as a whole process: ``python -m benchmarks.limit LISTS``.

Streams user, item and rank, a row group or a block of text at a time, and keeps nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

COLUMNS = ["user_id", "item_id", "rank"]


def read(file: Path) -> int:
    """The number of rows that passed."""
    return _read_csv(file) if file.suffix == ".csv" else _read_parquet(file)


def _read_parquet(file: Path) -> int:
    import pyarrow.parquet as pq

    # Text as the codes that the file holds: reading it as words costs more, and nobody needs that.
    source = pq.ParquetFile(file, read_dictionary=["user_id", "item_id"])
    groups = range(source.metadata.num_row_groups)
    return sum(len(source.read_row_group(group, columns=COLUMNS)) for group in groups)


def _read_csv(file: Path) -> int:
    from pyarrow import csv

    convert = csv.ConvertOptions(include_columns=COLUMNS)
    options = csv.ReadOptions(block_size=1 << 24)
    return sum(len(batch) for batch in csv.open_csv(file, read_options=options, convert_options=convert))


if __name__ == "__main__":
    print(read(Path(sys.argv[1])))
