"""Limits a test to users who reached what it changed, such as those who opened the page with the list."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from recdash.domain.kinds import Mask
from recdash.errors import InputError, Problem
from recdash.online.users import Days, OnlineUsers, Removed, RowValues, Segment

RULE = "not-activated"


def activated(users: OnlineUsers, total: str) -> OnlineUsers:
    """Returns the users with a total above 0, and how many others each variant has.

    Their split has to be checked again: if a variant changes who reaches the page, these users are not
    comparable. Raises InputError for an unknown total, and if a variant has no such user.
    """
    if total not in users.totals:
        known = f"Totals: {', '.join(sorted(users.totals))}."
        message = f"no total is called '{total}'"
        raise InputError(Problem("unknown-total", "rule 'activated_by'", message, known))
    keep = users.totals[total] > 0
    counts = np.bincount(users.variant[keep], minlength=len(users.variants))
    if not counts.all():
        empty = users.variants[int(np.argmin(counts))]
        message = f"no user of '{empty}' has any '{total}'"
        raise InputError(
            Problem("no-activated-users", "rule 'activated_by'", message, "Choose another column.")
        )
    others = dict(zip(users.variants, (users.n[name] for name in users.variants), strict=True))
    left_out = {name: others[name] - int(count) for name, count in zip(users.variants, counts, strict=True)}
    removed = Removed(RULE, f"have no {total.replace('_', ' ')}", "users", left_out)
    return replace(
        _some(users, keep),
        removed=(*users.removed, *((removed,) if removed.count else ())),
        activated={name: int(count) for name, count in zip(users.variants, counts, strict=True)},
    )


def _some(users: OnlineUsers, keep: Mask) -> OnlineUsers:
    ids: Any = users.unit
    place = np.cumsum(keep) - 1
    rows = keep[users.days.unit]
    per_day = {name: values[rows] for name, values in users.days.totals.items()}
    return replace(
        users,
        unit=ids.take(np.flatnonzero(keep)) if hasattr(ids, "take") else [*itertools.compress(ids, keep)],
        variant=users.variant[keep],
        totals={name: values[keep] for name, values in users.totals.items()},
        exposed=users.exposed[keep],
        days=Days(place[users.days.unit[rows]], users.days.day[rows], per_day),
        before={name: values[keep] for name, values in users.before.items()},
        values={
            name: RowValues(place[given.user[kept]], given.value[kept], given.day[kept])
            for name, given in users.values.items()
            for kept in (keep[given.user],)
        },
        segments={
            name: Segment(segment.labels, segment.label[keep]) for name, segment in users.segments.items()
        },
    )
