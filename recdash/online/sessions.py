"""Session rows → one row per user, under the rules that make an A/B test fair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recdash.domain import Floats, Ints
from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VARIANTS = 50
NUMBERS = ("clicks", "watch_s", "videos")

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Users:
    """The per-user table: one row per unit that was seen in exactly one variant.

    ``unit`` [U] its id, ``variant`` [U] an index into ``variants``, ``totals`` [U] by name: sessions,
    engaged_sessions, watch_min and, where the upload has them, videos. ``crossed`` units were seen
    in several variants and are left out; ``notices`` say what else was.
    """

    variants: tuple[str, ...]
    unit: Sequence[Any]
    variant: Ints
    totals: Mapping[str, Floats]
    crossed: int
    notices: tuple[Problem, ...]


def per_user(table: pa.Table) -> Users:
    """Checked sessions with unit_id, session_id, variant, clicks, watch_s and perhaps videos, added up.

    A session row counts once per unit and session_id, the first one; a session without clicks or
    watch time counts; a row without a session_id is a user who was exposed and had no session.
    Raises InputError when the table holds no test: too many variants, or no user with just one.
    """
    unit, unit_ids = _codes(table["unit_id"])
    session, session_ids = _codes(table["session_id"])
    variant, variants = _codes(table["variant"])
    if len(variants) > MOST_VARIANTS:
        raise InputError(_too_many(variants))
    arm, crossed = _arms(unit, variant, len(unit_ids), len(variants))
    counted = arm >= 0
    if not counted.any():
        raise InputError(_all_crossed(crossed))
    present, of_present = np.unique(arm[counted], return_inverse=True)
    once = _first_of_each(unit, session, len(session_ids))
    numbers = {name: _numbers(table[name]) for name in NUMBERS if name in table.column_names}
    totals = _sums(unit, once, numbers, len(unit_ids))
    return Users(
        variants=tuple(str(variants[code]) for code in present),
        unit=unit_ids.take(np.flatnonzero(counted)),
        variant=of_present,
        totals={name: sums[counted] for name, sums in totals.items()},
        crossed=crossed,
        notices=_notices(int((session >= 0).sum() - once.sum()), has_videos="videos" in numbers),
    )


def _codes(column: pa.ChunkedArray) -> tuple[Ints, Any]:
    """Each row as an index into the distinct values; −1 where there is none."""
    encoded = column.unify_dictionaries().combine_chunks()
    encoded = encoded if hasattr(encoded, "indices") else encoded.dictionary_encode()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def _numbers(column: pa.ChunkedArray) -> Floats:
    """As float64; an empty cell, as of a user without a session, adds nothing."""
    numbers: Floats = np.nan_to_num(column.cast("float64").to_numpy())
    return numbers


def _too_many(variants: Sequence[Any]) -> Problem:
    return Problem(
        code="too-many-variants",
        place="column 'variant'",
        found=f"There are {len(variants):,} different variants, such as '{variants[0]}' and '{variants[1]}'",
        fix=f"A test has at most {MOST_VARIANTS}. Is another column the one with the variant?",
        count=len(variants),
    )


def _all_crossed(crossed: int) -> Problem:
    found = f"All {crossed:,} users were seen in more than one variant"
    return Problem(
        "all-crossed", "column 'variant'", found, "Is another column the one with the user?", crossed
    )


def _arms(unit: Ints, variant: Ints, n_units: int, n_variants: int) -> tuple[Ints, int]:
    """[units] the one variant of each, −1 for a unit without one or with several; how many have several."""
    seen = np.zeros((n_units, n_variants), dtype=np.bool_)
    seen[unit, variant] = True
    several = seen.sum(axis=1)
    arm = np.where(several == 1, seen.argmax(axis=1), -1)
    return arm, int((several > 1).sum())


def _first_of_each(unit: Ints, session: Ints, n_sessions: int) -> Bools:
    """True at the first row of every (unit, session) that there is."""
    rows = np.flatnonzero(session >= 0)
    first = np.zeros(len(unit), dtype=np.bool_)
    first[rows[np.unique(unit[rows] * n_sessions + session[rows], return_index=True)[1]]] = True
    return first


def _sums(unit: Ints, once: Bools, numbers: Mapping[str, Floats], n_units: int) -> dict[str, Floats]:
    """[units] each total over the rows that count."""

    def total(values: npt.NDArray[Any] | None = None) -> Floats:
        weights = None if values is None else values[once].astype(np.float64)
        return np.bincount(unit[once], weights, minlength=n_units).astype(np.float64)

    totals = {
        "sessions": total(),
        "engaged_sessions": total(numbers["clicks"] > 0),
        "watch_min": total(numbers["watch_s"]) / 60,
    }
    return totals | ({"videos": total(numbers["videos"])} if "videos" in numbers else {})


def _notices(repeated: int, *, has_videos: bool) -> tuple[Problem, ...]:
    notices = []
    if repeated:
        found = f"{repeated:,} rows repeat a session of the same user"
        notices.append(
            Problem("duplicate-session", "sessions", found, "The first row of each counts.", repeated)
        )
    if not has_videos:
        fix = "'Videos watched' is absent; add the column to see it."
        notices.append(Problem("missing-column", "column 'videos'", "It is not in the upload", fix))
    return tuple(notices)
