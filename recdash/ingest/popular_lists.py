"""Tells from its first rows whether a file recommends the same items to all users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from recdash.ingest.list_lengths import item_columns, longest_list
from recdash.ingest.looks import Look

FEWEST_USERS = 20
SAME = 0.6
"""Smallest share of all positions that the most shown items take, as many as a list has positions.

Lists of popular items differ a little where items that a user knows are left out.
"""


def has_same_items(look: Look, mapping: Mapping[str, str]) -> bool:
    """Returns whether the lists in the first rows hold nearly the same items for all users.

    ``mapping`` is role → column, as in a preview. Returns False for lists in cells, which a look leaves out.
    """
    user, item, length = mapping.get("user_id"), mapping.get("item_id", ""), longest_list(look, mapping)
    if user not in look.by_name or not length or "run" in mapping:
        return False
    columns = item_columns(look, item)
    if len(look.by_name[user].distinct) < FEWEST_USERS or not look.lists.isdisjoint(columns):
        return False
    shown = Counter(
        value for column in columns if column in look.by_name for value in look.by_name[column].filled
    )
    return sum(n for _, n in shown.most_common(length)) >= SAME * shown.total() > 0
