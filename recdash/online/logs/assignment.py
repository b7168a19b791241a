"""Who was in which variant, since when: from exposures, or from what the session rows say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.online import times

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VARIANTS = 50


@dataclass(frozen=True)
class Assigned:
    """``arm`` [units] the one variant of each unit, −1 for one without or with several; ``since`` [units]
    seconds of the first exposure, −∞ where there are no exposures; ``crossed`` units have several variants,
    ``strangers`` [units] none. ``lost``: users by variant of those that only crossed users saw.
    """

    names: tuple[str, ...]
    arm: Ints
    since: Floats
    crossed: int
    strangers: Mask
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def counted(self) -> Mask:
        return self.arm >= 0

    def by_name(self, arms: Ints) -> dict[str, int]:
        """How often each variant occurs; −1 does not count."""
        counts = np.bincount(arms[arms >= 0], minlength=len(self.names)).tolist()
        return dict(zip(self.names, counts, strict=True))


def codes(*columns: pa.ChunkedArray) -> tuple[list[Ints], Any]:
    """Each column as indices [rows] into their common distinct values, −1 where there is none."""
    import pyarrow as pa

    alike = _of_one_type(columns)
    together = pa.chunked_array([chunk for column in alike for chunk in column.chunks], alike[0].type)
    code, values = _coded(together)
    return np.split(code, np.cumsum([len(column) for column in columns])[:-1]), values


def _coded(column: pa.ChunkedArray) -> tuple[Ints, Any]:
    import pyarrow as pa

    if pa.types.is_integer(column.type) and not column.null_count:
        # Arrow's table of a million numbers takes 90 MiB, sorting them 30.
        values, code = np.unique(column.to_numpy(), return_inverse=True)
        return code.astype(np.int64, copy=False), pa.array(values)
    if pa.types.is_dictionary(column.type):
        encoded = column.unify_dictionaries().combine_chunks()
    else:
        encoded = column.combine_chunks().dictionary_encode()
    code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return code, encoded.dictionary


def _of_one_type(columns: Sequence[pa.ChunkedArray]) -> Sequence[pa.ChunkedArray]:
    """The columns with a common type: numbers in one table and text in the other are compared as text."""
    import pyarrow as pa

    types = {column.type for column in columns}
    if len(types) == 1:
        return columns
    values = {kind.value_type if pa.types.is_dictionary(kind) else kind for kind in types}
    common = values.pop() if len(values) == 1 else pa.string()
    return [column.cast(common) for column in columns]


def by_rows(unit: Ints, n_units: int, variant: pa.ChunkedArray, in_test: Mask) -> Assigned:
    """The assignment that the rows of the test say; a unit with rows before it only is in no variant."""
    (code,), names = codes(variant)
    return _assigned(unit, code, n_units, names, in_test & (code >= 0), np.full(n_units, -np.inf))


def by_exposures(unit: Ints, n_units: int, variant: pa.ChunkedArray, ts: pa.ChunkedArray) -> Assigned:
    """The assignment that the exposures say, repeated ones once."""
    (code,), names = codes(variant)
    since = np.full(n_units, np.inf)
    np.fmin.at(since, unit, times.seconds(ts))
    return _assigned(unit, code, n_units, names, code >= 0, since)


def _assigned(
    unit: Ints, variant: Ints, n_units: int, names: Sequence[Any], seen_in: Mask, since: Floats
) -> Assigned:
    if len(names) > MOST_VARIANTS:
        message = f"There are {len(names):,} different variants, such as '{names[0]}' and '{names[1]}'"
        fix = f"A test has at most {MOST_VARIANTS}. Is another column the one with the variant?"
        raise InputError(Problem("too-many-variants", "column 'variant'", message, fix, len(names)))
    seen = np.zeros((n_units, len(names)), dtype=np.bool_)
    seen[unit[seen_in], variant[seen_in]] = True
    several = seen.sum(axis=1)
    arm = np.where(several == 1, seen.argmax(axis=1), -1)
    crossed = int((several > 1).sum())
    if not (arm >= 0).any():
        raise InputError(_no_users(crossed))
    present, dense = np.unique(arm[arm >= 0], return_inverse=True)
    arm[arm >= 0] = dense
    variants = tuple(str(names[code]) for code in present.tolist())
    n_saw = {str(name): int(count) for name, count in zip(names, seen.sum(axis=0), strict=True)}
    lost = {name: count for name, count in n_saw.items() if count and name not in variants}
    return Assigned(variants, arm, since, crossed, several == 0, lost)


def _no_users(crossed: int) -> Problem:
    if not crossed:
        message = "No user was seen in a variant during the test"
        return Problem("nobody", "column 'variant'", message, "Is the day on which the test began right?", 0)
    message = f"All {crossed:,} users were seen in more than one variant"
    fix = "Is another column the one with the user?"
    return Problem("all-crossed", "column 'variant'", message, fix, crossed)
