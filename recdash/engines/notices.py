"""Puts what a pass counted in a run's lists into notices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Duplicates, Order, Ties
from recdash.errors import Problem

_DUPLICATES: Mapping[Duplicates, str] = {
    "first": "The better rank counts; the later row is dropped and the gap closed.",
    "keep": "Each counts again at its rank (duplicates=keep), so a metric can exceed 1.",
}
NOTICEABLE = 0.01
"""A notice is given if at least this share of recommended items is in the user's own training data."""


@dataclass
class PassCounts:
    """Counts of a pass over a run besides its hits."""

    rows: int = 0
    unknown_users: int = 0
    unknown_user: str = ""
    duplicates: int = 0
    duplicate_users: int = 0
    tied_rows: int = 0
    tied_users: int = 0
    gap_users: int = 0
    equal_rank_users: int = 0
    cut_lists: int = 0
    trained_rows: int = 0
    trained_pair: str = ""
    rows_looked_at: int = 0
    """Rows that were looked up in their user's training data; ``trained_rows`` of them are in it."""

    def add_trained(self, trained: int, looked_at: int) -> None:
        self.trained_rows += trained
        self.rows_looked_at += looked_at

    def add(self, others: PassCounts) -> None:
        """Adds the counts of other lists; an example is kept if there is one already."""
        for name, count in vars(others).items():
            known = getattr(self, name)
            setattr(self, name, known or count if isinstance(count, str) else known + count)

    @property
    def trained_share(self) -> float:
        return self.trained_rows / self.rows_looked_at if self.rows_looked_at else 0.0


def notices(
    run: Recommendations,
    counts: PassCounts,
    order: Order,
    ties: Ties,
    met: Mapping[str, Mapping[str, str]],
    duplicates: Duplicates = "first",
) -> list[Problem]:
    """Returns one notice for each kind of finding that occurred. ``met`` is {column: {id as written: id as
    known}}.
    """
    place = f"run '{run.name}'"
    rows, tied_in, doubled_in = counts.tied_rows, users(counts.tied_users), users(counts.duplicate_users)
    first = "The higher score" if run.has_score else "The earlier row"
    table = (
        (counts.unknown_users, "users-without-truth", f"{users(counts.unknown_users)} not in the test set",
         "Without test items, these lists count for catalogue-level metrics only."),
        (counts.duplicates, "duplicate-pairs",
         f"{counts.duplicates:,} duplicate (user, item) rows in the lists of {doubled_in}",
         _DUPLICATES[duplicates]),
        (counts.equal_rank_users, "duplicate-ranks",
         f"duplicate ranks in the lists of {users(counts.equal_rank_users)}", f"{first} goes first."),
        (counts.gap_users, "rank-gaps", f"gaps in the ranks of {users(counts.gap_users)}",
         "Ranks are renumbered 1, 2, 3 … in the order given."),
        (rows, "ties", f"{rows:,} rows with ties in the score, in the lists of {tied_in}", _tie_rule(ties)),
        (counts.trained_rows if counts.trained_share >= NOTICEABLE else 0, "seen-in-training",
         f"column 'item_id': {counts.trained_share:.0%} of the items are in their user's training data",
         "Remove them from the lists unless users really choose items again."),
        (ties == "item_desc" and order != "score", "ties-without-score",
         f"ties=item_desc has no effect: the lists are ordered by {order}", "Use order=score."),
    )  # fmt: skip
    examples = {
        "users-without-truth": f"user '{counts.unknown_user}'",
        "seen-in-training": counts.trained_pair,
    }
    problems = [
        Problem(code, place, finding, fix, int(count), examples.get(code, ""))
        for count, code, finding, fix in table
        if count
    ]
    return [*problems, *mixed_spellings(place, met)]


def users(count: int) -> str:
    """Returns the count with its noun: ``1 user``, ``1,200 users``."""
    return f"{count:,} user{'' if count == 1 else 's'}"


def _tie_rule(ties: Ties) -> str:
    if ties == "item_desc":
        return "Tied scores are ordered by item id, descending, as in trec_eval."
    return "Tied scores keep file order; ties=item_desc breaks them as trec_eval does."


def mixed_spellings(place: str, met: Mapping[str, Mapping[str, str]]) -> list[Problem]:
    """Returns one notice per column whose ids matched in another spelling. ``met`` is {column: {id as
    written: id as known}}.
    """
    return [
        Problem(
            "mixed-id-forms",
            f"{place}, column '{column}'",
            f"mixed id forms in {column}: {len(pairs):,} such as '{written}', written '{known}' elsewhere",
            "They count as the same id; write ids in one form to avoid this.",
            len(pairs),
            f"'{written}'",
        )
        for column, pairs in met.items()
        for written, known in list(pairs.items())[:1]
    ]
