"""Hits as tables, and back: what is kept of a run so that no page needs the upload again."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from recdash.domain import Exposure, Hits, Ints, Ledger, Truth


def hits_to_tables(hits: Hits) -> dict[str, pa.Table]:
    """Tables ``hits`` (user, rank, row), ``lists`` (length per truth user), ``exposure``, ``items``."""
    facts = {"depth": hits.depth, "order": hits.order, "ledger": hits.ledger.as_dict()}
    return {
        "hits": pa.table(
            {"user": _small(hits.user), "rank": _small(hits.rank), "row": _small(hits.row)}
        ).replace_schema_metadata({"recdash": json.dumps(facts)}),
        "lists": pa.table({"length": _small(hits.list_length)}),
        "exposure": _exposure_table(hits.exposure),
        "items": pa.table({"item_id": pa.array(hits.exposure.items, pa.string())}),
    }


def _exposure_table(exposure: Exposure) -> pa.Table:
    ended = np.repeat([False, True], [len(exposure.rank), len(exposure.ended_length)])
    return pa.table(
        {
            "ended": ended,
            "rank": _small(np.concatenate((exposure.rank, exposure.ended_length))),
            "item": _small(np.concatenate((exposure.item, exposure.ended_item))),
            "count": _small(np.concatenate((exposure.count, exposure.ended_count))),
        }
    ).replace_schema_metadata({"recdash": json.dumps({"n_lists": exposure.n_lists})})


def hits_from_tables(tables: Mapping[str, pa.Table], truth: Truth) -> Hits:
    """The Hits that ``hits_to_tables`` took apart; ``truth`` must be the one they were made with."""
    facts = json.loads(tables["hits"].schema.metadata[b"recdash"])
    column = {name: tables["hits"][name].to_numpy() for name in ("user", "rank", "row")}
    return Hits(
        truth=truth,
        depth=facts["depth"],
        user=column["user"],
        rank=column["rank"],
        row=column["row"],
        list_length=tables["lists"]["length"].to_numpy(),
        exposure=_exposure(tables["exposure"], tables["items"]),
        ledger=Ledger(**facts["ledger"]),
        order=facts["order"],
    )


def _exposure(table: pa.Table, items: pa.Table) -> Exposure:
    ended = table["ended"].to_numpy()
    column = {name: table[name].to_numpy() for name in ("rank", "item", "count")}
    parts = [values[mask] for mask in (~ended, ended) for values in column.values()]
    n_lists = json.loads(table.schema.metadata[b"recdash"])["n_lists"]
    return Exposure(items["item_id"].to_pylist(), *parts, n_lists)


def _small(values: Ints) -> Ints:
    return values.astype(np.int32)
