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
    """Sessions with unit_id, session_id, variant, clicks, watch_s and perhaps videos, added up.

    A session row counts once per unit and session_id, the first one; a session without clicks or
    watch time counts; a row without a session_id is a user who was exposed and had no session.
    Raises InputError when the table holds no test: nothing in it, too many variants, numbers below 0.
    """
    unit, unit_ids = _codes(table["unit_id"])
    session, sessions = _codes(table["session_id"])
    variant, variants = _codes(table["variant"])
    numbers = {name: _numbers(table[name]) for name in NUMBERS if name in table.column_names}
    named = (unit >= 0) & (variant >= 0)
    _check(variants, named, numbers)
    arm, crossed = _arms(unit[named], variant[named], len(unit_ids), len(variants))
    counted = arm >= 0
    if not counted.any():
        raise InputError(_all_crossed(crossed))
    once = _first_of_each(np.where(named, unit, -1), session, len(sessions))
    present, of_present = np.unique(arm[counted], return_inverse=True)
    totals = {name: sums[counted] for name, sums in _sums(unit, once, numbers, len(unit_ids)).items()}
    return Users(
        variants=tuple(str(variants[code]) for code in present),
        unit=unit_ids.take(np.flatnonzero(counted)),
        variant=of_present,
        totals=totals,
        crossed=crossed,
        notices=_notices(named, int((named & (session >= 0) & ~once).sum()), numbers),
    )


def _codes(column: pa.ChunkedArray) -> tuple[Ints, Any]:
    """Each row as an index into the distinct values; −1 where there is none."""
    encoded = column.unify_dictionaries().combine_chunks()
    encoded = encoded if hasattr(encoded, "indices") else encoded.dictionary_encode()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary


def _numbers(column: pa.ChunkedArray) -> Floats:
    """As float64, NaN where the cell is empty."""
    numbers: Floats = column.cast("float64").to_numpy()
    return numbers


def _check(variants: Sequence[Any], named: Bools, numbers: Mapping[str, Floats]) -> None:
    problems = [_impossible(name, values) for name, values in numbers.items() if _outside(values).any()]
    if not named.any():
        problems.append(
            Problem("empty-table", "sessions", "There are no rows to count", "Upload a log with rows.")
        )
    if len(variants) > MOST_VARIANTS:
        problems.append(_too_many(variants))
    if problems:
        raise InputError(problems)


def _outside(values: Floats) -> Bools:
    return (values < 0) | np.isinf(values)


def _impossible(name: str, values: Floats) -> Problem:
    wrong = values[_outside(values)]
    more = f" (and {len(wrong) - 1:,} more like it)" if len(wrong) > 1 else ""
    found = f"{wrong[0]:g} is not a count or a duration{more}"
    return Problem("impossible-number", f"column '{name}'", found, "Give finite numbers from 0.", len(wrong))


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
    rows = np.flatnonzero((session >= 0) & (unit >= 0))
    first = np.zeros(len(unit), dtype=np.bool_)
    first[rows[np.unique(unit[rows] * n_sessions + session[rows], return_index=True)[1]]] = True
    return first


def _sums(unit: Ints, once: Bools, numbers: Mapping[str, Floats], n_units: int) -> dict[str, Floats]:
    """[units] each total over the rows that count; an empty cell adds nothing."""

    def total(values: npt.NDArray[Any] | None = None) -> Floats:
        weights = None if values is None else np.nan_to_num(values[once].astype(np.float64))
        return np.bincount(unit[once], weights, minlength=n_units).astype(np.float64)

    totals = {
        "sessions": total(),
        "engaged_sessions": total(numbers["clicks"] > 0),
        "watch_min": total(numbers["watch_s"]) / 60,
    }
    return totals | ({"videos": total(numbers["videos"])} if "videos" in numbers else {})


def _notices(named: Bools, repeated: int, numbers: Mapping[str, Floats]) -> tuple[Problem, ...]:
    empty = {name: int(np.isnan(values).sum()) for name, values in numbers.items()}
    notices = [
        Problem("empty-number", f"column '{name}'", f"{count:,} cells are empty", "They count as 0.", count)
        for name, count in empty.items()
        if count
    ]
    if unnamed := int((~named).sum()):
        found = f"{unnamed:,} rows lack the unit or the variant"
        notices.append(Problem("missing-id", "sessions", found, "They are left out.", unnamed))
    if repeated:
        found = f"{repeated:,} rows repeat a session of the same user"
        notices.append(
            Problem("duplicate-session", "sessions", found, "The first row of each counts.", repeated)
        )
    if "videos" not in numbers:
        fix = "'Videos watched' is absent; add the column to see it."
        notices.append(Problem("missing-column", "column 'videos'", "It is not in the upload", fix))
    return tuple(notices)
