"""Turns session rows into one row per user, by rules that keep an A/B test fair.

Letters in shapes: ``rows`` the session rows, ``units`` the users of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.ingest.moment_columns import EARLIER
from recdash.online.activation import activated
from recdash.online.derived import NO_NEEDS, Needs, with_totals_of_exposure
from recdash.online.logs import bots
from recdash.online.logs.assignment import Assigned, by_exposures, by_rows
from recdash.online.logs.columns import SessionLog, column_values, read_sessions
from recdash.online.logs.timestamp_outliers import WHAT
from recdash.online.logs.user_totals import SessionRows, UserTotals, too_rare_to_cut
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed, Segment
from recdash.sorting import first_of_equals, order_of

if TYPE_CHECKING:
    import pyarrow as pa

REPEATS = "repeat a session of the same user"
RAISE_LIMIT = "Raise the limit, or turn the rule off."


def per_user(
    table: pa.Table,
    rules: OnlineRules = USUAL,
    exposures: pa.Table | None = None,
    needs: Needs = NO_NEEDS,
) -> OnlineUsers:
    """Returns one row per user, counted from checked session rows.

    The table has unit_id and any other columns, such as session_id, clicks and watch_s. Of several rows
    with the same unit and session_id, the first one counts. A session without clicks or watch time counts.
    A row without a session_id is an exposed user without a session, or something counted outside sessions.
    Without a column session_id every row counts, usually one per user; its numbers are then totals, and a
    column ``pre_x`` is the total ``x`` before the test. ``exposures`` (unit_id, variant, ts) say who saw
    which variant since when. Without them the column variant does, and the test begins at ``rules.starts``.
    ``needs`` are what metrics need besides totals (``online.derived``).
    Raises InputError if the table contains no test: no variant, too many, or no user with exactly one.
    """
    log = read_sessions(table, exposures)
    rows, n_units = log.rows, len(log.unit_ids)
    assigned, before = _assignment(log, rules)
    _refuse_unassigned(rows, assigned)
    other_variant = _other_variant(log, before, assigned)
    # a row in the test without a time gets the first time in the test
    times_in_test = rows.at[~before & ~np.isnan(rows.at)]
    first = times_in_test.min() if len(times_in_test) else 0.0
    rows = replace(rows, at=np.where(np.isnan(rows.at), first, rows.at))
    unrepeated = (rows.session < 0) | _first_of_each(rows)
    counts = unrepeated & assigned.counted[rows.unit]
    # the steps below only need to know whether a row is a session: saves 15 MiB per million rows
    rows = replace(rows, session=np.where(rows.session >= 0, 0, -1).astype(np.int8), end=rows.at)
    log = replace(log, rows=rows, variant=None, exposures=None)
    is_bot = bots.among(rows, counts & ~before, n_units, rules)
    arm = np.where(is_bot, -1, assigned.arm)
    if not (arm >= 0).any():
        count = int(is_bot.sum())
        message = f"All {count:,} users do more in a day than the bot filter allows"
        raise InputError(Problem("all-bots", "rules", message, RAISE_LIMIT, count))
    user_totals = UserTotals(np.flatnonzero(arm >= 0), rows, counts, before)
    totals, days, observed = user_totals.in_test(rules, assigned.since, needs.windows)
    earlier_totals, exposed = user_totals.before_test(rules), user_totals.exposed(assigned.since)
    if not rows.has_sessions:
        earlier_totals = {**earlier_totals, **_columns_before_test(totals)}
    too_rare = too_rare_to_cut(totals, rules)
    left, variant = np.unique(arm[user_totals.units], return_inverse=True)
    of_row, earlier = assigned.arm[rows.unit], unrepeated & before & (rows.session >= 0)
    removed = (
        Removed("stray-times", WHAT, "rows", assigned.by_name(of_row[log.far])),
        Removed("duplicate-session", REPEATS, "rows", assigned.by_name(of_row[~unrepeated])),
        Removed("before", "lie before the test", "sessions", assigned.by_name(of_row[earlier])),
        Removed("bots", bots.rule_in_words(rules), "users", assigned.by_name(assigned.arm[is_bot])),
    )
    users = OnlineUsers(
        variants=tuple(assigned.names[code] for code in left),
        unit=log.unit_ids.take(user_totals.units),
        variant=variant,
        totals=totals,
        exposed=exposed,
        days=days,
        before=earlier_totals,
        segments=_of_units(log.segments, user_totals.units),
        assigned=assigned.by_name(assigned.arm),
        crossed=assigned.crossed,
        removed=tuple(rule for rule in removed if rule.count),
        notices=(
            *log.notices,
            *_row_notices(table, assigned, rows, unrepeated),
            *other_variant,
            *_limit_notices([name for code, name in enumerate(assigned.names) if code not in left], too_rare),
        ),
        values={
            name: user_totals.values(np.where(log.far, np.nan, column_values(table, name)))
            for name in needs.columns
            if name in totals
        },
    )
    users = with_totals_of_exposure(users, observed) if observed else users
    return users if rules.activated_by is None else activated(users, rules.activated_by)


def _columns_before_test(totals: dict[str, Floats]) -> dict[str, Floats]:
    """Removes columns such as ``pre_revenue`` from the totals, and returns them as pre-test totals.

    The total from ``pre_revenue`` is called ``revenue``.
    """
    pairs = [(name, name.removeprefix(EARLIER)) for name in totals if name.startswith(EARLIER)]
    return {name: totals.pop(column) for column, name in pairs if name in totals}


def _of_units(segments: Mapping[str, Segment], units: Ints) -> dict[str, Segment]:
    """Returns the segments of some units, without attributes that are the same for all of them."""
    chosen = {name: Segment(segment.labels, segment.label[units]) for name, segment in segments.items()}
    return {name: segment for name, segment in chosen.items() if len(np.unique(segment.label)) > 1}


def _refuse_unassigned(rows: SessionRows, assigned: Assigned) -> None:
    """Raises InputError if there are rows of users, and none of these users is in the test."""
    unassigned = assigned.unassigned[rows.unit] & rows.of_user_in_test
    if unassigned.any() and assigned.unassigned[rows.unit].all():
        noun = "sessions" if rows.has_sessions else "rows"
        message = f"none of {int(unassigned.sum()):,} {noun} is of a user in the test"
        fix = "Do both tables write user ids in the same form?"
        raise InputError(Problem("no-sessions", "sessions", message, fix))


# ── who counts ───────────────────────────────────────────────────────────────────────────────


def _assignment(log: SessionLog, rules: OnlineRules) -> tuple[Assigned, Mask]:
    """Returns the variant of each unit, and [rows] True for pre-test rows.

    Raises InputError if neither sessions nor exposures name a variant.
    """
    rows, n_units = log.rows, len(log.unit_ids)
    if log.exposures is None:
        if log.variant is None:
            fix = "Add the column, or upload the exposures too: unit_id, variant, ts."
            problem = Problem(
                "missing-column", "columns", "no column variant says which variant users saw", fix
            )
            raise InputError(problem)
        starts = rules.starts_at()
        # a row without a time belongs to the test: an exposed user without a session counts
        before = np.zeros(len(rows.unit), dtype=np.bool_) if starts is None else rows.at < starts
        return by_rows(rows.unit, n_units, log.variant, ~before), before
    assigned = by_exposures(log.exposed, n_units, log.exposures.variant, log.exposures.at)
    return assigned, ~_open_at_exposure(log, log.exposures.at, assigned, rules)


def _open_at_exposure(log: SessionLog, at: Floats, assigned: Assigned, rules: OnlineRules) -> Mask:
    """Returns [rows] True for rows after the unit's first exposure, and for the session of the exposure.

    An exposure happens inside the first session, which therefore starts before it. If the exposures name
    their session, it is that one. Otherwise it is the last session that started before the exposure, if it
    ended within the grace period. Without sessions in the log a row counts from the exposure on, or as long
    before as the clocks may differ.
    """
    rows, since = log.rows, assigned.since[log.rows.unit]
    after = (rows.end >= since) | np.isnan(rows.at)  # the row ended or began after the exposure
    if not rows.has_sessions:
        minutes = rules.grace_min if rules.clock_min is None else rules.clock_min
        return after | (rows.end + 60 * minutes >= since)
    still_open = (rows.end + 60 * rules.grace_min >= since) & _last_before(rows, since, len(assigned.arm))
    if log.exposed_in is None:
        return after | still_open
    first = (at == assigned.since[log.exposed]) & (log.exposed_in >= 0)
    opened = np.full(len(assigned.arm), -2, dtype=np.int64)
    opened[log.exposed[first]] = log.exposed_in[first]
    named = opened[rows.unit] >= 0
    return after | np.where(named, rows.session == opened[rows.unit], still_open)


def _last_before(rows: SessionRows, since: Floats, n_units: int) -> Mask:
    """Returns [rows] True for a unit's last session that started before its exposure.

    Rows outside sessions are True, too.
    """
    begun = np.flatnonzero((rows.at < since) & (rows.session >= 0))
    last = np.full(n_units, -np.inf)
    np.fmax.at(last, rows.unit[begun], rows.at[begun])
    return (rows.at == last[rows.unit]) | (rows.session < 0)


def _first_of_each(rows: SessionRows) -> Mask:
    """Returns [rows] True for the first row of every pair of unit and session."""
    sessions = np.flatnonzero(rows.session >= 0)
    key = rows.unit[sessions] * (int(rows.session.max(initial=0)) + 1) + rows.session[sessions]
    order = order_of(key)
    first = np.zeros(len(rows.unit), dtype=np.bool_)
    first[sessions[order[first_of_equals(key[order])]]] = True
    return first


# ── notices ──────────────────────────────────────────────────────────────────────────────────


def _row_notices(
    table: pa.Table, assigned: Assigned, rows: SessionRows, unrepeated: Mask
) -> Iterator[Problem]:
    if repeated := int((~unrepeated).sum()):
        message = f"{repeated:,} rows {REPEATS}"
        yield Problem("duplicate-session", "sessions", message, "The first row of each counts.", repeated)
    if unassigned := int((assigned.unassigned[rows.unit] & rows.of_user_in_test).sum()):
        noun = "sessions" if rows.has_sessions else "rows"
        message = f"{unassigned:,} {noun} are of users who are not in the test"
        fix = "They are in no variant and do not count."
        yield Problem("never-exposed", "sessions", message, fix, unassigned)
    if "watch_s" in table.column_names and "videos" not in table.column_names:
        fix = "'Videos watched' is missing; add the column to see it."
        yield Problem("missing-column", "column 'videos'", "It is not in the upload", fix)
    for variant, count in assigned.lost.items():
        message = f"No user of '{variant}' is left: all {count:,} also saw another variant"
        fix = "Users with multiple exposures do not count. Does the column hold the assigned variant?"
        yield Problem("variant-without-users", "column 'variant'", message, fix, count)


def _other_variant(log: SessionLog, before: Mask, assigned: Assigned) -> list[Problem]:
    """Returns the notice about users whose sessions in the test name another variant than the exposures.

    The result is empty if there are none.
    """
    if log.exposures is None or log.variant is None:
        return []
    unit, (code, names) = log.rows.unit, log.variant
    arms = {name: arm for arm, name in enumerate(assigned.names)}
    arm = np.array([*(arms.get(str(name), -2) for name in names), -1])[code]
    other = (arm != assigned.arm[unit]) & (code >= 0) & assigned.counted[unit] & ~before
    count = len(np.unique(unit[other]))
    if not count:
        return []
    message = (
        f"the sessions of {count:,} user{'s' if count > 1 else ''} name another variant than the exposures"
    )
    fix = "The exposures count. Were all users served as assigned?"
    return [Problem("other-variant", "column 'variant'", message, fix, count)]


def _limit_notices(emptied: list[str], too_rare: list[str]) -> Iterator[Problem]:
    """Yields notices about variants of which all users are bots, and about totals that cannot be capped."""
    for variant in emptied:
        message = f"No user of '{variant}' is left: all of them do more in a day than the bot filter allows"
        yield Problem("variant-without-users", "rules", message, RAISE_LIMIT)
    for total in too_rare:
        message = f"Too few users have any {total.replace('_', ' ')} to cap outliers"
        yield Problem("not-winsorised", "rule 'winsorise'", message, "It is not capped.")
