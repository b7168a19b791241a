"""Converts hits to tables and back. The tables are stored with a run, so that no page needs the upload
again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from recdash.domain.hits import Exposure, Hits, ListMean, PopulationCounts, RankCounts, TiedHits
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Ints, Mask
from recdash.engines.exposure import no_lists
from recdash.engines.ids import ColumnTexts

_TIE_COLUMNS = ("user", "row", "first", "last")


def hits_to_tables(hits: Hits) -> dict[str, pa.Table]:
    """Returns the tables to store: ``hits`` (user, rank, row), ``lists`` (length per truth user),
    ``exposure`` and ``items``. Also ``ties`` if lists are ordered by score, and ``other_exposure`` and
    ``unknown_lists`` (length) if users without a relevant item have lists.

    Raises ValueError for hits without exposure, which are incomplete.
    """
    if hits.exposure is None:
        raise ValueError("hits can be stored only with their exposure")
    facts: dict[str, Any] = {"depth": hits.depth, "order": hits.order, "ledger": hits.ledger.as_dict()}
    if hits.duplicates != "first":
        facts["duplicates"] = hits.duplicates
    tables = {
        "hits": pa.table(
            {"user": _small(hits.user), "rank": _small(hits.rank), "row": _small(hits.row)}
        ).replace_schema_metadata({"recdash": json.dumps(facts)}),
        "lists": pa.table({"length": _small(hits.list_length)}),
        "exposure": _exposure_table(hits.exposure),
        "items": pa.table({"item_id": pa.array(hits.exposure.items, pa.string())}),
    }
    if hits.ties is not None:
        tables["ties"] = pa.table({name: _small(getattr(hits.ties, name)) for name in _TIE_COLUMNS})
    if hits.other_exposure is not None and hits.other_exposure.n_lists:
        tables["other_exposure"] = _exposure_table(hits.other_exposure)
        lengths = np.zeros(0, dtype=np.int32) if hits.unknown_lengths is None else hits.unknown_lengths
        tables["unknown_lists"] = pa.table({"length": _small(lengths)})
    return tables


def _exposure_table(exposure: Exposure) -> pa.Table:
    shown, ended = exposure.shown, exposure.ended
    means = {
        spec: [list_mean.mean.tolist(), list_mean.std_error.tolist(), list_mean.n_lists.tolist()]
        for spec, list_mean in exposure.list_means.items()
    }
    return pa.table(
        {
            "ended": _both(np.zeros(len(shown.item), dtype=bool), np.ones(len(ended.item), dtype=bool)),
            "rank": _both(_small(shown.rank), _small(ended.rank)),
            "item": _both(_small(shown.item), _small(ended.item)),
            "count": _both(_small(shown.count), _small(ended.count)),
        }
    ).replace_schema_metadata({"recdash": json.dumps({"n_lists": exposure.n_lists, "list_means": means})})


EXPOSURE_TABLES = frozenset({"exposure", "other_exposure", "items"})
"""The larger tables, which accuracy metrics do not need."""


def hits_from_tables(tables: Mapping[str, pa.Table], truth: Truth) -> Hits:
    """Returns the hits that ``hits_to_tables`` stored; without ``EXPOSURE_TABLES`` they have no exposure.
    ``truth`` must be the one with which they were matched.
    """
    facts = json.loads(tables["hits"].schema.metadata[b"recdash"])
    column = {name: tables["hits"][name].to_numpy() for name in ("user", "rank", "row")}
    ties = tables.get("ties")
    hits = Hits(
        truth=truth,
        depth=facts["depth"],
        user=column["user"],
        rank=column["rank"],
        row=column["row"],
        list_length=tables["lists"]["length"].to_numpy(),
        exposure=None,
        ledger=PopulationCounts(**facts["ledger"]),
        order=facts["order"],
        # also None for hits of releases that did not store ties
        ties=TiedHits(*(ties[name].to_numpy() for name in _TIE_COLUMNS)) if ties is not None else None,
        duplicates=facts.get("duplicates", "first"),
    )
    hits = replace(hits, unknown_lengths=_unknown_lengths(hits, tables))
    return with_exposure(hits, tables) if "exposure" in tables else hits


def with_exposure(hits: Hits, tables: Mapping[str, pa.Table]) -> Hits:
    """Returns hits that were read without ``EXPOSURE_TABLES``, with the exposure in these tables."""
    exposure, other = _exposure(tables["exposure"], tables["items"], hits.depth), None
    if "other_exposure" in tables:
        other = _exposure(tables["other_exposure"], tables["items"], hits.depth)
    elif hits.unknown_lengths is not None:
        other = no_lists(exposure.items, hits.depth)
    return replace(hits, exposure=exposure, other_exposure=other)


def _unknown_lengths(hits: Hits, tables: Mapping[str, pa.Table]) -> Ints | None:
    """Returns the lengths of lists of users outside the test set; None if they were not counted.

    A run without their table either has no lists of users without a relevant item, or was stored before they
    were counted; its population counts decide which.
    """
    if "unknown_lists" in tables:
        return tables["unknown_lists"]["length"].to_numpy()
    elsewhere = (hits.list_length > 0) & ~hits.truth.users_who_count()
    return None if hits.ledger.without_truth or elsewhere.any() else np.zeros(0, dtype=np.int32)


def _exposure(table: pa.Table, items: pa.Table, depth: int) -> Exposure:
    facts = json.loads(table.schema.metadata[b"recdash"])
    means = {spec: ListMean(*map(np.array, parts)) for spec, parts in facts["list_means"].items()}
    columns = [table[name].to_numpy() for name in ("rank", "item", "count")]
    n_shown = table.num_rows - int(np.count_nonzero(table["ended"].to_numpy()))
    shown = _rank_counts(depth, *(column[:n_shown] for column in columns))
    short = _rank_counts(depth, *(column[n_shown:] for column in columns))
    return Exposure(ColumnTexts(items["item_id"]), shown, short, facts["n_lists"], means)


def _rank_counts(depth: int, rank: Ints, item: Ints, count: Ints) -> RankCounts:
    begins = np.arange(1, depth + 2, dtype=rank.dtype)  # another type would make numpy widen all ranks
    return RankCounts(np.searchsorted(rank, begins), item, count)


def _both(shown: Ints | Mask, ended: Ints | Mask) -> pa.ChunkedArray:
    """Returns one column after the other, without a copy of either."""
    return pa.chunked_array([shown, ended])


def _small(values: Ints) -> Ints:
    return values.astype(np.int32, copy=False)
