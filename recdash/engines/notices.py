"""What a pass noticed about a run's lists, in words for a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from recdash.domain import Recommendations, Ties
from recdash.errors import Problem


@dataclass
class Seen:
    """What a pass over a run counts, beside its hits."""

    rows: int = 0
    unknown_users: int = 0
    duplicates: int = 0
    duplicate_users: int = 0
    tied_rows: int = 0
    tied_users: int = 0
    gap_users: int = 0
    equal_rank_users: int = 0
    rank_conflict_users: int = 0
    missing_scores: int = 0


def notices(run: Recommendations, seen: Seen, ties: Ties, met: Mapping[str, str]) -> list[Problem]:
    """One notice per kind that occurred; ``met`` are ids (as written, as known elsewhere)."""
    place = f"run '{run.name}'"
    s = "" if seen.unknown_users == 1 else "s"
    told = [
        Problem(
            "users-without-truth",
            place,
            f"{seen.unknown_users} user{s} not in the truth",
            "Their lists are left out: nothing is known about what they wanted.",
            seen.unknown_users,
        ),
        Problem(
            "duplicate-pairs",
            place,
            f"{seen.duplicates} duplicate (user, item) rows in the lists of {seen.duplicate_users} users",
            "The better rank counts, the later row is dropped and the gap closed.",
            seen.duplicates,
        ),
        Problem(
            "duplicate-ranks",
            place,
            f"{seen.equal_rank_users} users have duplicate ranks",
            f"{'The higher score' if run.has_score else 'The earlier row'} goes first.",
            seen.equal_rank_users,
        ),
        Problem(
            "rank-gaps",
            place,
            f"gaps in the ranks of {seen.gap_users} users",
            "Ranks are counted anew 1, 2, 3 … in the order given.",
            seen.gap_users,
        ),
        Problem(
            "rank-conflict",
            place,
            f"the rank column contradicts the score for {seen.rank_conflict_users} users, score used",
            "In a TREC run the score decides; map the rank column to follow it.",
            seen.rank_conflict_users,
        ),
        Problem(
            "ties",
            place,
            f"{seen.tied_rows} rows with ties in the score, in the lists of {seen.tied_users} users",
            _tie_rule(ties),
            seen.tied_rows,
        ),
        Problem(
            "missing-scores",
            place,
            f"{seen.missing_scores} scores are missing (NaN)",
            "Rows without a score go to the end of the list.",
            seen.missing_scores,
        ),
        _mixed_spellings(place, met),
    ]
    return [problem for problem in told if problem.count]


def _tie_rule(ties: Ties) -> str:
    if ties == "item_desc":
        return "Equal scores go by item id, descending, as in trec_eval."
    return "Equal scores keep the order of the file; ties=item_desc breaks them as trec_eval does."


def _mixed_spellings(place: str, met: Mapping[str, str]) -> Problem:
    written, known = next(iter(met.items()), ("", ""))
    return Problem(
        "mixed-id-forms",
        f"{place}, column 'item_id'",
        f"mixed id forms in item_id: {len(met)} ids such as '{written}' are written '{known}' elsewhere",
        "They count as the same item; write ids in one form to be sure.",
        len(met),
    )
