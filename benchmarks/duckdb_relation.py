"""A table of DuckDB beside the same table as Parquet: ``python -m benchmarks.duckdb_relation [--size L]``.

Copies the lists of a workload into a file of DuckDB, evaluates them from a relation of it and from the
Parquet file, every metric at every k, and prints CPU seconds and peak memory of the whole processes, and the
largest difference of a value. It needs the package duckdb.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import Cost, measure
from benchmarks.workloads import Workload, make, workload

SECONDS = 600
PARQUET, DUCKDB, LIMITED, READING = "Parquet", "DuckDB", "DuckDB, limit of 128 MB", "DuckDB, reading alone"
KINDS = (PARQUET, DUCKDB, LIMITED, READING)
COPY = "copy"
COLUMNS = "user_id, item_id, rank"
ROWS_AT_ONCE = 1 << 18


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duckdb_relation", description=__doc__)
    parser.add_argument("--size", default="L")
    parser.add_argument("--cache", type=Path, default=Path(__file__).parent / ".cache")
    parser.add_argument("--do", choices=(COPY, *KINDS), help="(for its own use) copy or evaluate the lists")
    return parser.parse_args()


def database_of(files: Workload) -> Path:
    return files.lists.with_suffix(".duckdb")


def copy(folder: Path, size: str) -> None:
    """Makes the workload, and writes its lists into a file of DuckDB, once."""
    import duckdb

    make(folder, size, ("integers",))
    files = workload(folder, size)
    if not database_of(files).exists():
        with duckdb.connect(str(database_of(files))) as database:
            database.read_parquet(str(files.lists)).create("lists")


def evaluate(kind: str, files: Workload) -> None:
    """Evaluates the lists and prints every value."""
    import recdash

    lists = files.lists if kind == PARQUET else relation(kind, files)
    evaluation = recdash.evaluate({"us": lists}, files.truth, catalogue=files.catalogue)
    print(json.dumps({"values": evaluation.table()["value"].tolist()}))


def read(files: Workload) -> None:
    """Reads the columns of the lists in blocks, and keeps nothing."""
    for _ in relation(READING, files).project(COLUMNS).to_arrow_reader(ROWS_AT_ONCE):
        pass


def relation(kind: str, files: Workload) -> Any:
    import duckdb

    database = duckdb.connect(str(database_of(files)), read_only=True)
    if kind == LIMITED:
        database.execute("set memory_limit = '128MB'")
    return database.table("lists")


def largest_difference(costs: dict[str, Cost]) -> float:
    """Returns the largest absolute difference of a value from the one of Parquet; NaN if one is missing."""
    parquet, *others = (json.loads(cost.output)["values"] for cost in costs.values() if cost.output)
    pairs = [pair for values in others for pair in zip(parquet, values, strict=True)]
    differences = [abs(a - b) for a, b in pairs if not (math.isnan(a) and math.isnan(b))]
    return math.nan if any(map(math.isnan, differences)) else max(differences)


def main(asked: argparse.Namespace) -> None:
    own = [sys.executable, "-m", "benchmarks.duckdb_relation", "--size", asked.size, "--cache", asked.cache]
    measure([*own, "--do", COPY], SECONDS)  # in a process of its own: a child's peak begins at its parent's
    costs = {kind: measure([*own, "--do", kind], SECONDS) for kind in KINDS}
    print("| lists | CPU s | ÷ Parquet | peak MiB |\n|---|---:|---:|---:|")
    for kind, cost in costs.items():
        ratio = cost.cpu / costs[PARQUET].cpu
        print(cost.problem or f"| {kind} | {cost.cpu:.1f} | {ratio:.2f} | {cost.peak:.0f} |")
    print(f"largest difference of a value: {largest_difference(costs)}")


if __name__ == "__main__":
    asked = arguments()
    folder = (asked.cache / "workloads").resolve()
    if asked.do == COPY:
        copy(folder, asked.size)
    elif asked.do == READING:
        read(workload(folder, asked.size))
    elif asked.do:
        evaluate(asked.do, workload(folder, asked.size))
    else:
        main(asked)
