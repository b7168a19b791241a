"""How long writes and reads take while 16 threads write and 16 read.

Run it with ``python -m benchmarks.concurrent_writers``.

Each write adds a run with three curves; a read lists the runs and reads their curves.
"""

from __future__ import annotations

import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from recdash.domain.records import Experiment, Run
from recdash.domain.results import Curve
from recdash.errors import RecdashError
from recdash.store import new_id, open_store

N_THREADS, N_EACH = 16, 20


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder) / 'recdash.db'}")
        new = Experiment(new_id(), "films", datetime.now(UTC), None, None, None, {}, {})
        films, k = store.experiments.add(new), np.arange(1, 101)
        writes, reads, errors = list[float](), list[float](), list[RecdashError]()
        done = threading.Event()

        def write(number: int) -> None:
            for turn in range(N_EACH):
                name = f"run {number}-{turn}"
                run = Run(new_id(), films.id, name, datetime.now(UTC), 0, None, {}, {})
                curves = [Curve(metric, k, k / 200, k / 900, 7) for metric in ("map", "ndcg", "recall")]
                begun = time.perf_counter()
                try:
                    store.runs.add(run, curves)
                except RecdashError as error:
                    errors.append(error)
                writes.append(time.perf_counter() - begun)

        def read() -> None:
            while not done.is_set():
                begun = time.perf_counter()
                try:
                    shown = [run.id for run in store.runs.of_experiment(films.id)][-8:]
                    store.curves.of_runs(shown, ["ndcg"])
                except RecdashError as error:
                    errors.append(error)
                reads.append(time.perf_counter() - begun)

        writers = [threading.Thread(target=write, args=(number,)) for number in range(N_THREADS)]
        readers = [threading.Thread(target=read) for _ in range(N_THREADS)]
        for thread in (*writers, *readers):
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        for thread in readers:
            thread.join()
        stored = len(store.runs.of_experiment(films.id))
        store.close()
    print(f"{len(errors)} errors; {stored} of {N_THREADS * N_EACH} runs stored")
    p99 = np.percentile(reads, 99) * 1000
    print(f"slowest write {max(writes):.2f} s; {len(reads):,} reads, p99 {p99:.0f} ms")


if __name__ == "__main__":
    main()
