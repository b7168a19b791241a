"""Determines each user's variant and first exposure, from the exposures or from the session rows.

Letters in shapes: ``units`` the users of the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.online.logs.columns import Labels

MOST_VARIANTS = 50


@dataclass(frozen=True)
class Assigned:
    """The variant of each unit, which is a user of the log.

    ``arm`` [units] is the index of the unit's variant in ``names``, −1 for none or several. ``since`` [units]
    is the first exposure in seconds since 1970, −∞ without exposures. ``crossed`` is the number of units with
    several variants; ``unassigned`` [units] marks those with none. ``lost`` is the number of users of each
    variant that only users with several variants saw.
    """

    names: tuple[str, ...]
    arm: Ints
    since: Floats
    crossed: int
    unassigned: Mask
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def counted(self) -> Mask:
        return self.arm >= 0

    def by_name(self, arms: Ints) -> dict[str, int]:
        """Returns variant → how often its index occurs in ``arms``; −1 is not counted."""
        counts = np.bincount(arms[arms >= 0], minlength=len(self.names)).tolist()
        return dict(zip(self.names, counts, strict=True))


def by_rows(unit: Ints, n_units: int, variant: Labels, in_test: Mask) -> Assigned:
    """Returns the assignment from the session rows of the test.

    A unit with only pre-test rows has no variant. Raises InputError if no user has exactly one variant, or if
    there are too many variants.
    """
    return _assigned(unit, n_units, variant, in_test & (variant.code >= 0), np.full(n_units, -np.inf))


def by_exposures(unit: Ints, n_units: int, variant: Labels, at: Floats) -> Assigned:
    """Returns the assignment from the exposures; ``at`` [exposures] are seconds since 1970.

    Repeated exposures to the same variant count once. Raises InputError if no user has exactly one variant,
    or if there are too many variants.
    """
    since = np.full(n_units, np.inf)
    np.fmin.at(since, unit, at)
    return _assigned(unit, n_units, variant, variant.code >= 0, since)


def _assigned(unit: Ints, n_units: int, variant: Labels, seen_in: Mask, since: Floats) -> Assigned:
    names = variant.names
    if len(names) > MOST_VARIANTS:
        message = f"There are {len(names):,} different variants, such as '{names[0]}' and '{names[1]}'"
        fix = f"A test has at most {MOST_VARIANTS}. Is the variant in another column?"
        raise InputError(Problem("too-many-variants", "column 'variant'", message, fix, len(names)))
    seen = np.zeros((n_units, len(names)), dtype=np.bool_)
    seen[unit[seen_in], variant.code[seen_in]] = True
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
        return Problem("nobody", "column 'variant'", message, "Is the start date of the test correct?", 0)
    message = f"All {crossed:,} users saw several variants"
    fix = "Is the user in another column?"
    return Problem("all-crossed", "column 'variant'", message, fix, crossed)
