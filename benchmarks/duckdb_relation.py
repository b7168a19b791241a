"""A table of DuckDB beside the same table as Parquet: ``python -m benchmarks.duckdb_relation [--size L]``.

Copies the lists of a workload into a file of DuckDB, evaluates them from a relation of it and from the
Parquet file, every metric at every k, and prints CPU seconds and peak memory of the whole processes, and the
largest difference of a value. It needs the package duckdb.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import Cost, measure
from benchmarks.workloads import Workload, make, workload

SECONDS = 600
KINDS = ("parquet", "duckdb", "duckdb, 128 MB")
MEMORY_LIMIT = "128MB"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.duckdb_relation", description=__doc__)
    parser.add_argument("--size", default="L")
    parser.add_argument("--cache", type=Path, default=Path(__file__).parent / ".cache")
    parser.add_argument("--ask", choices=KINDS, help="(for its own use) evaluate these lists")
    return parser.parse_args()


def copy(files: Workload) -> Path:
    """Writes the lists into a file of DuckDB, once, and returns it."""
    import duckdb

    to = files.lists.with_suffix(".duckdb")
    if not to.exists():
        with duckdb.connect(str(to)) as database:
            database.read_parquet(str(files.lists)).create("lists")
    return to


def ask(kind: str, files: Workload) -> None:
    """Evaluates the lists and prints every value."""
    import recdash

    evaluation = recdash.evaluate({"us": _lists(kind, files)}, files.truth, catalogue=files.catalogue)
    table = evaluation.table()
    print(json.dumps({"values": table["value"].tolist()}))


def _lists(kind: str, files: Workload) -> Any:
    if kind == "parquet":
        return files.lists
    import duckdb

    database = duckdb.connect(str(copy(files)), read_only=True)
    if kind != "duckdb":
        database.execute(f"set memory_limit = '{MEMORY_LIMIT}'")
    return database.table("lists")


def largest_difference(costs: dict[str, Cost]) -> float:
    """Returns the largest absolute difference of a value from the one of Parquet."""
    import numpy as np

    expected, *others = (np.array(json.loads(cost.output)["values"], dtype=float) for cost in costs.values())
    return max(float(np.nanmax(np.abs(values - expected))) for values in others)


def main(asked: argparse.Namespace) -> None:
    folder = (asked.cache / "workloads").resolve()
    make(folder, asked.size, ("integers",))
    copy(workload(folder, asked.size))
    own = [sys.executable, "-m", "benchmarks.duckdb_relation", "--size", asked.size, "--cache", asked.cache]
    costs = {kind: measure([*own, "--ask", kind], SECONDS) for kind in KINDS}
    print("| lists | CPU s | ÷ Parquet | peak MiB |\n|---|---:|---:|---:|")
    for kind, cost in costs.items():
        ratio = cost.cpu / costs["parquet"].cpu
        print(cost.problem or f"| {kind} | {cost.cpu:.1f} | {ratio:.2f} | {cost.peak:.0f} |")
    print(f"largest difference of a value: {largest_difference(costs)}")


if __name__ == "__main__":
    asked = arguments()
    if asked.ask:
        ask(asked.ask, workload((asked.cache / "workloads").resolve(), asked.size))
    else:
        main(asked)
