"""Determines how long the lists of a file are, as far as its first rows show it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recdash.ingest.columns import wide_families
from recdash.ingest.layouts import list_in, separator_of
from recdash.ingest.looks import Look


def longest_list(look: Look, mapping: Mapping[str, str]) -> int | None:
    """Returns the length of the longest list in the first rows; None if they do not show it.

    ``mapping`` is role → column, as in a preview. If rows are in random order, the first ones show nothing
    about the file.
    """
    item = mapping.get("item_id", "").removesuffix("[]")
    family = next((f for f in wide_families(look.columns) if item.startswith(f"{f[0]} …")), None)
    if family:
        return len(family)
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
