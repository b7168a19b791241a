"""Files for a gate: a test set, a live baseline, and candidates that are better or worse by known amounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

USERS = 400
ITEMS = 100
AGGREGATES = "variant,metric,n,successes\nA,conversion,20000,2000\nB,conversion,20000,2200\n"
"""Conversion 10 % in control and 11 % in the variant: a lift of 10 % by arithmetic."""


def hits_of(live: int, lost: int = 0) -> Callable[[int], bool]:
    """Whether user n finds their item: the first ``live`` users do, except ``lost`` of them."""
    return lambda user: lost <= user < live


def lists(found: Callable[[int], bool]) -> str:
    """Two items for each user: their own first, if they find it, and one that depends on the user."""
    rows = []
    for user in range(USERS):
        first = f"i{user % ITEMS}" if found(user) else f"i{(user + 7) % ITEMS}"
        rows += [f"u{user},{first},1\n", f"u{user},i{(user + 13) % ITEMS},2\n"]
    return "user_id,item_id,rank\n" + "".join(rows)


FILES: Mapping[str, str] = {
    "truth.csv": "user_id,item_id\n" + "".join(f"u{user},i{user % ITEMS}\n" for user in range(USERS)),
    "catalogue.csv": "item_id\n" + "".join(f"i{item}\n" for item in range(2 * ITEMS)),
    "live.csv": lists(hits_of(300)),
    "new.csv": lists(hits_of(340, 10)),  # 330 users find their item: +10 %
    "bad.csv": lists(hits_of(300, 150)),  # 150: −50 %
    "same.csv": lists(hits_of(300)),
    "ab.csv": AGGREGATES,
}


def write(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")
