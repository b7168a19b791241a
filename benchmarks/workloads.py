"""Invented lists with a truth, the same for a seed: ``python -m benchmarks.workloads SIZE FOLDER FORM…``.

Popular items are shown and taken more, most users take few items and some take hundreds, a model finds some
of them early, grades run from 1 to 5, and one score in eight equals the one above it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Form = Literal["integers", "text", "csv", "shuffled"]
SIZES = {"S": 10_000, "M": 162_000, "L": 1_000_000}
FORMS: tuple[Form, ...] = ("integers", "text", "csv", "shuffled")
SEED = 20
LENGTH = 100
ITEMS = 50_000
MEAN_TAKEN, MOST_TAKEN = 10, 200
GRADE_SHARES = (0.06, 0.11, 0.24, 0.34, 0.25)
FOUND_SHARE = 0.28
TIED_SHARE = 0.12
BLOCK = 10_000
"""Users made at a time, and 100 times as many rows in a row group."""


@dataclass(frozen=True)
class Workload:
    """The files of one size in one form."""

    lists: Path
    truth: Path
    catalogue: Path


def workload(folder: Path, size: str, form: Form = "integers") -> Workload:
    """Where the files are; ``shuffled`` has the lists of ``integers`` in another order."""
    end = "csv" if form == "csv" else "parquet"
    ids = "text" if form == "text" else "integers"
    home = folder / size
    return Workload(
        home / f"lists-{form}.{end}",
        home / (f"truth-{form}.csv" if form == "csv" else f"truth-{ids}.parquet"),
        home / f"catalogue-{ids}.parquet",
    )


def rows_of(size: str) -> int:
    return users_of(size) * LENGTH


def users_of(size: str) -> int:
    """A size may also be a number of users."""
    return SIZES.get(size) or int(size)


def make(folder: Path, size: str, forms: tuple[Form, ...]) -> None:
    """Write the forms that are not there yet; a form is there when its lists are, which come last."""
    (folder / size).mkdir(parents=True, exist_ok=True)
    for form in forms:
        to = workload(folder, size, form)
        if to.lists.exists():
            continue
        if form in ("csv", "shuffled"):
            make(folder, size, ("integers",))
        if form == "csv":
            _copy_as_csv(workload(folder, size), to)
        elif form == "shuffled":
            _shuffle(workload(folder, size).lists, to.lists)
        else:
            _write(to, size, text=form == "text")


# ── invention ────────────────────────────────────────────────────────────────────────────────


def blocks(n_users: int, seed: int = SEED) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Lists and truth of up to BLOCK users at a time; users and items are places from 0."""
    import numpy as np

    rng = np.random.default_rng(seed)
    taken_often = _popularity(30, 0.9)
    shown_often = _popularity(60, 1.0)
    for first in range(0, n_users, BLOCK):
        n = min(BLOCK, n_users - first)
        taken = _taken(rng, n, taken_often)
        lists, scores = _shown(rng, n, shown_often, taken)
        yield _lists_table(rng, lists, scores, first), _truth_table(rng, taken, first)


def _popularity(flat: int, power: float) -> np.ndarray:
    """[ITEMS] cumulated shares of items, the most popular first: 1 / (place + flat)^power."""
    import numpy as np

    share = np.cumsum(1 / (np.arange(ITEMS) + flat) ** power)
    return share / share[-1]


def _taken(rng: np.random.Generator, n: int, popularity: np.ndarray) -> np.ndarray:
    """Sorted distinct keys user × ITEMS + item."""
    import numpy as np

    spread = 1.1
    typical = np.log(MEAN_TAKEN) - spread**2 / 2
    counts = np.clip(np.rint(rng.lognormal(typical, spread, n)), 1, MOST_TAKEN).astype(np.int64)
    users = np.repeat(np.arange(n), counts)
    return np.unique(users * ITEMS + np.searchsorted(popularity, rng.random(len(users))))


def _shown(
    rng: np.random.Generator, n: int, popularity: np.ndarray, taken: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """[n × LENGTH] keys in list order and their scores: popular items, and some taken ones, lifted."""
    import numpy as np

    found = taken[rng.random(len(taken)) < FOUND_SHARE]
    draws = LENGTH + 60  # leaves every user more than LENGTH different items
    drawn = np.repeat(np.arange(n), draws) * ITEMS + np.searchsorted(popularity, rng.random(n * draws))
    keys, first = np.unique(np.concatenate([found, drawn]), return_index=True)
    lift = (first < len(found)) * rng.gamma(2, 0.9, len(keys))
    score = rng.standard_normal(len(keys)) + lift
    order = np.lexsort((-score, keys // ITEMS))
    users = keys[order] // ITEMS
    kept = order[np.arange(len(order)) - np.searchsorted(users, np.arange(n))[users] < LENGTH]
    return keys[kept], score[kept]


def _lists_table(rng: np.random.Generator, keys: np.ndarray, scores: np.ndarray, first: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    users, items = np.divmod(keys, ITEMS)
    places = np.arange(len(keys))
    rank = places % LENGTH + 1
    tied = (rng.random(len(keys)) < TIED_SHARE) & (rank > 1)
    top_of_tie = np.maximum.accumulate(np.where(tied, 0, places))
    return pa.table(
        {
            "user_id": users + first,
            "item_id": items,
            "score": scores[top_of_tie].astype(np.float32),
            "rank": rank.astype(np.int16),
        }
    )


def _truth_table(rng: np.random.Generator, keys: np.ndarray, first: int) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    users, items = np.divmod(keys, ITEMS)
    grades = rng.choice(np.arange(1, 6, dtype=np.int8), len(keys), p=GRADE_SHARES)
    return pa.table({"user_id": users + first, "item_id": items, "relevance": grades})


# ── ids ──────────────────────────────────────────────────────────────────────────────────────


def item_ids(text: bool) -> pa.Array:
    """[ITEMS] whole numbers with gaps in no order, or ten characters of a shop's kind."""
    import numpy as np
    import pyarrow as pa

    numbers = np.random.default_rng(SEED).permutation(np.arange(1, 4 * ITEMS + 1))[:ITEMS]
    return pa.array([f"B{_scattered(one):09X}" for one in numbers.tolist()] if text else numbers)


def user_ids(first: int, n: int, text: bool) -> pa.Array:
    """[n] ascending whole numbers with gaps, or 14 characters in no order."""
    import numpy as np
    import pyarrow as pa

    numbers = np.arange(first, first + n, dtype=np.int64) * 3 + 1_000_001
    return pa.array([f"u-{_scattered(one):012x}" for one in numbers.tolist()] if text else numbers)


def _scattered(number: int) -> int:
    """36 bits, different for different numbers below 2^36: an odd factor can be undone."""
    return number * 0x9E3779B97 % (1 << 36)


def _with_ids(table: pa.Table, first: int, items: pa.Array, text: bool) -> pa.Table:
    import pyarrow.compute as pc

    users = user_ids(first, BLOCK, text)
    table = table.set_column(0, "user_id", users.take(pc.subtract(table["user_id"], first)))
    return table.set_column(1, "item_id", items.take(table["item_id"]))


# ── files ────────────────────────────────────────────────────────────────────────────────────


def _write(to: Workload, size: str, text: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    items = item_ids(text)
    pq.write_table(pa.table({"item_id": items}), to.catalogue)
    writer = None
    truths = []
    draft = to.lists.with_suffix(".draft")
    for place, tables in enumerate(blocks(users_of(size))):
        lists, truth = (_with_ids(table, place * BLOCK, items, text) for table in tables)
        truths.append(truth)
        writer = writer or pq.ParquetWriter(draft, lists.schema)
        writer.write_table(lists)
    pq.write_table(pa.concat_tables(truths), to.truth)
    if writer:
        writer.close()
        draft.rename(to.lists)


def _copy_as_csv(source: Workload, to: Workload) -> None:
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    for parquet, csv in ((source.truth, to.truth), (source.lists, to.lists)):
        file = pq.ParquetFile(parquet)
        draft = csv.with_suffix(".draft")
        with pc.CSVWriter(draft, file.schema_arrow) as writer:
            for batch in file.iter_batches():
                writer.write_batch(batch)
        draft.rename(csv)


def _shuffle(source: Path, to: Path) -> None:
    import numpy as np
    import pyarrow.parquet as pq

    table = pq.read_table(source)
    draft = to.with_suffix(".draft")
    order = np.random.default_rng(SEED).permutation(len(table))
    pq.write_table(table.take(order), draft, row_group_size=BLOCK * LENGTH)
    draft.rename(to)


if __name__ == "__main__":
    make(Path(sys.argv[2]), sys.argv[1], tuple(form for form in FORMS if form in sys.argv[3:]))
