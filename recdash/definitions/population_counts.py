"""Population counts of a run in words: which users count, and how rows were treated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recdash.domain.hits import IdOverlap, KnownIds
from recdash.evaluation.comparability import LISTED
from recdash.formatting import numbers

KNOWN_TITLES = ("Items known", "Users known")
"""Titles of the two numbers that ``known_cells`` returns."""


@dataclass(frozen=True)
class LedgerLine:
    """One population count with its meaning in words; ``count`` is None if it was not computed."""

    name: str
    title: str
    count: int | None
    words: str


COUNTED = {
    "truth": "Users with a relevant item. The score is their mean.",
    "both": "Users with a relevant item and recommendations. The score is their mean.",
    "judged": "Users in the test set. The score is their mean.",
    "judged_both": "Users in the test set with recommendations. The score is their mean.",
    "run": "Users with recommendations. The score is their mean.",
}
COUNT_WITHOUT_RELEVANT_ITEM = ("judged", "judged_both", "run")
"""The population rules under which users without a relevant item count."""
_REPEATED = {"first": "the better rank counts.", "keep": "each position counts."}


def ledger_lines(
    ledger: Mapping[str, int | None], users: str, depth: int, duplicates: str = "first"
) -> list[LedgerLine]:
    """Returns the counts that explain a score, in reading order. ``users`` is the population rule,
    ``duplicates`` the rule for repeated items.
    """
    left_out = users in LISTED
    as_zero = users in COUNT_WITHOUT_RELEVANT_ITEM
    tied = ledger.get("tied_rows")
    doubled, doubled_in = ledger.get("duplicates") or 0, ledger.get("duplicate_users") or 0
    return [
        LedgerLine(
            "counted", "Counted", ledger.get("counted"),
            COUNTED[users],
        ),
        LedgerLine(
            "without_list", "Without a list", ledger.get("without_list"),
            "They have a relevant item and are excluded." if left_out
            else "They have a relevant item and count as 0.",
        ),
        LedgerLine(
            "without_relevant", "Without a relevant item", ledger.get("without_relevant"),
            "They have nothing to find and count as 0" + (", with a list." if left_out else ".")
            if as_zero else "They have nothing to find and never count.",
        ),
        LedgerLine(
            "without_truth", "Not in the test set", ledger.get("without_truth"),
            "They have recommendations but no test rows"
            + (": they count as 0." if users == "run" else ": their lists count only for catalogue-level "
                "metrics."),
        ),
        LedgerLine(
            "short_lists", "Short lists", ledger.get("short_lists"),
            f"Lists with fewer than {depth} items. The missing positions count as misses.",
        ),
        LedgerLine(
            "duplicates", "Duplicate rows", ledger.get("duplicates"),
            f"Items repeated in a list ({doubled_in:,} users): {_REPEATED[duplicates]}" if doubled
            else "No list repeats an item.",
        ),
        LedgerLine("tied_rows", "Tied rows", tied, _tie_words(tied, ledger.get("tied_users") or 0)),
    ]  # fmt: skip


def known_cells(overlap: IdOverlap | None) -> tuple[str, str]:
    """Returns the shares of recommended positions and of users whose ids are known; a dash for a share that
    was not counted.
    """
    sides = (overlap.items, overlap.users) if overlap else (None, None)
    items, users = (numbers.NONE if side is None else numbers.share(side.known, side.rows) for side in sides)
    return items, users


def known_words(overlap: IdOverlap) -> str:
    """Returns a clause on how many recommended items and users occur in the tables, in total and by table."""
    sides = {"of recommended items": overlap.items, "of its users": overlap.users}
    texts = [f"{of} {_shares(side)}" for of, side in sides.items() if side]
    return f"known to test set, catalogue or training data: {'; '.join(texts)}"


def known_truth_words(overlap: IdOverlap) -> str:
    """Returns a clause on how many of the truth's items and users occur in the run and the other tables;
    empty if not counted.
    """
    sides = {"items": overlap.truth_items, "users": overlap.truth_users}
    texts = [f"of its {noun} {_shares(side)}" for noun, side in sides.items() if side]
    return f"of the test set known to run, catalogue or training data: {'; '.join(texts)}" if texts else ""


def _shares(side: KnownIds) -> str:
    """Returns the known share, such as ``60 % (3 of 5)``, followed by that of each table if there are
    several.
    """
    whole = numbers.share(side.known, side.rows)
    if len(side.by_table) < 2:
        return whole
    by_table = [f"{name} {numbers.share(known, side.rows)}" for name, known in side.by_table.items()]
    return f"{whole}: {', '.join(by_table)}"


def _tie_words(rows: int | None, users: int) -> str:
    if rows is None:
        return "Not counted: the lists are ordered by rank, so there are no ties."
    if not rows:
        return "No list has tied scores."
    return (
        f"Rows with the same score as a neighbour, in the lists of {users:,} users. Their order is arbitrary."
    )
