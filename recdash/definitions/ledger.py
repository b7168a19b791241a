"""The ledger of a run in words: who was counted, who was not, and what was mended on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class LedgerLine:
    """One count of the ledger with its meaning; ``count`` is None where it was not taken."""

    name: str
    title: str
    count: int | None
    words: str


def ledger_lines(ledger: Mapping[str, int | None], users: str, depth: int) -> list[LedgerLine]:
    """The counts that decide a score, in reading order; ``users`` is the population rule they follow."""
    left_out = users == "both"
    tied = ledger.get("tied_rows")
    doubled, doubled_in = ledger.get("duplicates") or 0, ledger.get("duplicate_users") or 0
    return [
        LedgerLine(
            "counted", "Counted", ledger.get("counted"),
            "Users with a relevant item and a list: the score is their mean." if left_out
            else "Users with a relevant item: the score is their mean.",
        ),
        LedgerLine(
            "without_list", "Without a list", ledger.get("without_list"),
            "They have a relevant item, and are left out." if left_out
            else "They have a relevant item, and count as 0.",
        ),
        LedgerLine(
            "without_relevant", "Without a relevant item", ledger.get("without_relevant"),
            "There is nothing to find for them: they never count.",
        ),
        LedgerLine(
            "without_truth", "Not in the truth", ledger.get("without_truth"),
            "The run serves them, but nothing is known about what they wanted.",
        ),
        LedgerLine(
            "short_lists", "Short lists", ledger.get("short_lists"),
            f"Lists with fewer than {depth} items: the missing places are misses.",
        ),
        LedgerLine(
            "duplicates", "Duplicate rows", ledger.get("duplicates"),
            f"An item named twice in a list ({doubled_in:,} users): the better rank stays." if doubled
            else "No list names an item twice.",
        ),
        LedgerLine("tied_rows", "Tied rows", tied, _tie_words(tied, ledger.get("tied_users") or 0)),
    ]  # fmt: skip


def _tie_words(rows: int | None, users: int) -> str:
    if rows is None:
        return "Not counted: the lists are ordered by rank, which leaves no ties."
    if not rows:
        return "No list has equal scores."
    return f"Rows with the score of their neighbour, in the lists of {users:,} users: their order is chance."
