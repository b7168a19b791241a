"""The tables that recdash and the libraries both score: drawn, small, and with what sets libraries apart.

Read with pandas alone, since a library's environment has nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

N_USERS, N_ITEMS, LENGTH, LARGEST_GRADE = 40, 60, 20, 4
N_STRANGERS = 7
CUTOFFS = (1, 3, 5, 10, 20)
WORLDS = {
    "full": "every user has a list of 20 items; every row of the truth is relevant",
    "graded": "full lists; grades 0 to 4, and users all of whose rows have grade 0",
    "ragged": "graded, with short lists, users without a list and strangers' lists",
    "ties": "ragged, with equal scores",
}


@dataclass(frozen=True)
class Tables:
    """``lists`` (user_id, item_id, rank, score, best first), ``truth`` (user_id, item_id, relevance),
    ``train`` (user_id, item_id), ``catalogue`` (item_id, kind) and ``ratings`` (user_id, item_id, rating,
    prediction); all ids are numbers.
    """

    lists: pd.DataFrame
    truth: pd.DataFrame
    train: pd.DataFrame
    catalogue: pd.DataFrame
    ratings: pd.DataFrame

    @property
    def relevant(self) -> pd.DataFrame:
        """The rows of the truth with a grade above 0."""
        return self.truth[self.truth["relevance"] > 0]

    def ranked(self) -> dict[int, list[int]]:
        """Each user's items, best first."""
        return _by_user(self.lists)

    def wanted(self) -> dict[int, list[int]]:
        """Each user's relevant items."""
        return _by_user(self.relevant)


def _by_user(rows: pd.DataFrame) -> dict[int, list[int]]:
    items: dict[int, list[int]] = {}
    for user, item in zip(rows["user_id"].tolist(), rows["item_id"].tolist(), strict=True):
        items.setdefault(user, []).append(item)
    return items


def draw(world: str, seed: int = 1) -> Tables:
    """The tables of a world, always the same."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, N_ITEMS + 1)
    popularity[-10:] = 0.0  # ten items that train does not know
    train, lists, truth = [], [], []
    for user in range(1, N_USERS + N_STRANGERS + 1):
        known = rng.choice(N_ITEMS, rng.integers(3, 12), replace=False, p=popularity / popularity.sum()) + 1
        train += [(user, item) for item in known]
        unknown = np.setdiff1d(np.arange(1, N_ITEMS + 1), known)
        listed = rng.permutation(unknown)[: _length(rng, world, user)]
        lists += [(user, item, rank, _score(world, rank)) for rank, item in enumerate(listed, start=1)]
        if user <= N_USERS:
            wanted = rng.choice(unknown, rng.integers(2, 9), replace=False)
            truth += [(user, item, _grade(rng, world, user)) for item in wanted]
    pairs = [(user, item, float(rng.integers(1, 6)), float(rng.normal(3, 1))) for user, item, _ in truth]
    of_lists = pd.DataFrame(lists, columns=["user_id", "item_id", "rank", "score"])
    return Tables(
        of_lists if world not in {"full", "graded"} else of_lists[of_lists["user_id"] <= N_USERS],
        pd.DataFrame(truth, columns=["user_id", "item_id", "relevance"]),
        pd.DataFrame(train, columns=["user_id", "item_id"]),
        pd.DataFrame({"item_id": range(1, N_ITEMS + 1), "kind": [_kind(item) for item in range(N_ITEMS)]}),
        pd.DataFrame(pairs, columns=["user_id", "item_id", "rating", "prediction"]),
    )


def _kind(item: int) -> str:
    return "|".join(f"k{number}" for number in range(4) if (item + 3) * (number + 2) % 5 < 2) or "none"


def _length(rng: np.random.Generator, world: str, user: int) -> int:
    drawn = int(rng.integers(1, LENGTH + 1))
    if world in {"full", "graded"}:
        return LENGTH
    return 0 if user % 9 == 0 else drawn


def _score(world: str, rank: int) -> float:
    return float(LENGTH - (rank // 3 if world == "ties" else rank) + 1)


def _grade(rng: np.random.Generator, world: str, user: int) -> int:
    drawn = int(rng.integers(0, LARGEST_GRADE + 1))
    if world == "full":
        return 1
    return 0 if user % 10 == 0 else drawn


def write(tables: Tables, folder: Path) -> None:
    for field in fields(tables):
        getattr(tables, field.name).to_csv(folder / f"{field.name}.csv", index=False)


def read(folder: Path) -> Tables:
    import pandas as pd

    return Tables(**{field.name: pd.read_csv(folder / f"{field.name}.csv") for field in fields(Tables)})
