"""A small table that both journeys upload, in the formats that people bring.

Three users. *perfect* finds all, *half* finds one of u1's two at rank 2 and u2's, has no list for u3;
*poor* finds nothing. Recall@1: perfect (1/2 + 1 + 1) / 3, half (0 + 1 + 0) / 3, poor 0.
"""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

TRUTH = b"user_id,item_id\nu1,a\nu1,b\nu2,c\nu3,d\n"
PERFECT = [("u1", "a", 1), ("u1", "b", 2), ("u2", "c", 1), ("u3", "d", 1)]
HALF = [("u1", "x", 1), ("u1", "a", 2), ("u2", "c", 1)]
POOR = [("u1", "x", 1), ("u2", "y", 1), ("u3", "z", 1)]
STRANGERS = [("v1", "a", 1), ("v2", "b", 1)]

Rows = list[tuple[str, str, int]]


def as_csv(rows: Rows) -> bytes:
    lines = [f"{user},{item},{rank}" for user, item, rank in rows]
    return "\n".join(["user_id,item_id,rank", *lines, ""]).encode()


def as_parquet(rows: Rows) -> bytes:
    users, items, ranks = zip(*rows, strict=True)
    sink = io.BytesIO()
    pq.write_table(pa.table({"userId": users, "movieId": items, "rank": ranks}), sink)
    return sink.getvalue()


def as_trec(rows: Rows) -> bytes:
    """query Q0 document rank score tag, as trec_eval reads it: the higher score stands first."""
    return "".join(f"{user} Q0 {item} {rank} {1 / rank:.4f} poor\n" for user, item, rank in rows).encode()
