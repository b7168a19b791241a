"""Determines how long the lists of a file are: from its first rows, or by reading all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from recdash.domain.inputs import Recommendations
from recdash.ingest.columns import wide_families
from recdash.ingest.layouts import list_in, separator_of
from recdash.ingest.looks import Look

MOST_BYTES = 64 << 20
"""Largest size of a file that is read to its end for the length of its lists: about a second."""


def longest_list(look: Look, mapping: Mapping[str, str]) -> int | None:
    """Returns the length of the longest list in the first rows; None if they do not show it.

    ``mapping`` is role → column, as in a preview. If rows are in random order, the first ones show nothing
    about the file.
    """
    item = mapping.get("item_id", "").removesuffix("[]")
    columns = item_columns(look, item)
    if len(columns) > 1:
        return len(columns)
    if item in look.lists:
        return int(np.nanmax(look.by_name[item].numbers, initial=0)) or None
    user, rank = mapping.get("user_id"), mapping.get("rank")
    if rank in look.by_name and look.by_name[rank].is_whole:
        values = look.by_name[rank].numbers
        return int(np.nanmax(values)) + int(np.nanmin(values) == 0)
    if user not in look.by_name or item not in look.by_name:
        return None
    cells = look.by_name[item].filled
    if look.by_name[user].is_unique and len(cells) > 1:
        separator = separator_of(cells)
        return max(len(list_in(cell, separator)) for cell in cells)
    return _longest_group(look, [column for role, column in mapping.items() if role in OF_A_LIST])


def item_columns(look: Look, item: str) -> tuple[str, ...]:
    """Returns the columns that ``item`` of a preview names: several for a range, ``rec_1 … rec_9``."""
    families = wide_families(look.columns)
    return next((family for family in families if item.startswith(f"{family[0]} …")), (item,))


def longest_of(runs: Iterable[Recommendations]) -> int:
    """Returns the largest number of rows of one user in any of the runs, which are read to their end."""
    from recdash import arrow as pc

    longest = 0
    for run in runs:
        users = [_decoded(batch.column(0)) for batch in run.batches(columns=("user_id",))]
        if users:
            counts = pc.value_counts(pa.chunked_array(users)).field("counts")
            longest = max(longest, pc.max(counts).as_py() or 0)
    return longest


def _decoded(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


OF_A_LIST = ("user_id", "run", "replicate")


def _longest_group(look: Look, columns: list[str]) -> int | None:
    """Returns the largest number of rows of one list; None if lists may continue after the first rows."""
    codes = np.unique(
        np.stack([look.by_name[column].codes for column in columns]), axis=1, return_inverse=True
    )
    code = codes[1].ravel()
    n_groups = 1 + int((np.diff(code) != 0).sum())
    is_grouped = n_groups == len(np.unique(code))
    if not look.is_whole and (not is_grouped or n_groups == 1):
        return None
    return int(np.bincount(code).max())
