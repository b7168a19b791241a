"""Session rows → one row per user, under the rules that make an A/B test fair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.online.logs import bots
from recdash.online.logs.assignment import Assigned, by_exposures, by_rows
from recdash.online.logs.columns import SessionLog, read_sessions
from recdash.online.logs.timestamp_outliers import WHAT
from recdash.online.logs.user_totals import SessionRows, UserTotals, too_rare_to_cut
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed, Segment
from recdash.sorting import first_of_equals, order_of

if TYPE_CHECKING:
    import pyarrow as pa

REPEATS = "repeat a session of the same user"
RAISE_LIMIT = "Raise the limit, or switch the rule off."


def per_user(table: pa.Table, rules: OnlineRules = USUAL, exposures: pa.Table | None = None) -> OnlineUsers:
    """Add up checked sessions per user; they have unit_id, session_id, clicks, watch_s and any other columns.

    A session row counts once per unit and session_id, the first one; a session without clicks or
    watch time counts; a row without a session_id is a user who was exposed and had no session, or something
    that is counted outside sessions. ``exposures`` (unit_id, variant, ts) say who saw what since when;
    without them the column variant does, and the test begins with ``rules.starts``.
    Raises InputError when the table holds no test: no variant, too many, or no user with just one.
    """
    log = read_sessions(table, exposures)
    rows, n_units = log.rows, len(log.unit_ids)
    assigned, before = _assignment(log, rules)
    _refuse_strangers(rows, assigned)
    other_variant = _other_variant(log, before, assigned)
    # a row of the test without a time is taken for one of its first moment
    times_in_test = rows.at[~before & ~np.isnan(rows.at)]
    first = times_in_test.min() if len(times_in_test) else 0.0
    rows = replace(rows, at=np.where(np.isnan(rows.at), first, rows.at))
    unrepeated = (rows.session < 0) | _first_of_each(rows)
    counts = unrepeated & assigned.counted[rows.unit]
    # from here on only whether a row is a session matters, and no end: 15 MiB of a million
    rows = replace(rows, session=np.where(rows.session >= 0, 0, -1).astype(np.int8), end=rows.at)
    log = replace(log, rows=rows, variant=None, exposures=None)
    is_bot = bots.among(rows, counts & ~before, n_units, rules)
    arm = np.where(is_bot, -1, assigned.arm)
    if not (arm >= 0).any():
        count = int(is_bot.sum())
        message = f"All {count:,} users do more in a day than the rule against bots allows"
        raise InputError(Problem("all-bots", "rules", message, RAISE_LIMIT, count))
    user_totals = UserTotals(np.flatnonzero(arm >= 0), rows, counts, before)
    totals, days = user_totals.in_test(rules)
    earlier_totals, exposed = user_totals.before_test(rules), user_totals.exposed(assigned.since)
    too_rare = too_rare_to_cut(totals, rules)
    left, variant = np.unique(arm[user_totals.units], return_inverse=True)
    of_row, earlier = assigned.arm[rows.unit], unrepeated & before & (rows.session >= 0)
    removed = (
        Removed("stray-times", WHAT, "rows", assigned.by_name(of_row[log.far])),
        Removed("duplicate-session", REPEATS, "rows", assigned.by_name(of_row[~unrepeated])),
        Removed("before", "lie before the test", "sessions", assigned.by_name(of_row[earlier])),
        Removed("bots", bots.rule_in_words(rules), "users", assigned.by_name(assigned.arm[is_bot])),
    )
    return OnlineUsers(
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
    )


def _of_units(segments: Mapping[str, Segment], units: Ints) -> dict[str, Segment]:
    """The segments of some of the units, without those in which all are alike."""
    chosen = {name: Segment(segment.labels, segment.label[units]) for name, segment in segments.items()}
    return {name: segment for name, segment in chosen.items() if len(np.unique(segment.label)) > 1}


def _refuse_strangers(rows: SessionRows, assigned: Assigned) -> None:
    """Raises InputError where there are sessions and none is of a user in the test."""
    strangers = assigned.strangers[rows.unit] & (rows.session >= 0)
    if strangers.any() and assigned.strangers[rows.unit].all():
        message = f"none of {int(strangers.sum()):,} sessions is of a user in the test"
        fix = "Do both tables write the ids of users in one way?"
        raise InputError(Problem("no-sessions", "sessions", message, fix))


# ── who counts ───────────────────────────────────────────────────────────────────────────────


def _assignment(log: SessionLog, rules: OnlineRules) -> tuple[Assigned, Mask]:
    """The variant of each unit, and [rows] what lies before the test."""
    rows, n_units = log.rows, len(log.unit_ids)
    if log.exposures is None:
        if log.variant is None:
            fix = "Add the column, or upload the exposures too: unit_id, variant, ts."
            problem = Problem("missing-column", "columns", "no column says who saw what: variant", fix)
            raise InputError(problem)
        starts = rules.starts_at()
        # where no time is written, it is of the test: who was exposed and had no session counts
        before = np.zeros(len(rows.unit), dtype=np.bool_) if starts is None else rows.at < starts
        return by_rows(rows.unit, n_units, log.variant, ~before), before
    assigned = by_exposures(log.exposed, n_units, log.exposures.variant, log.exposures.at)
    return assigned, ~_open_at_exposure(log, log.exposures.at, assigned, rules)


def _open_at_exposure(log: SessionLog, at: Floats, assigned: Assigned, rules: OnlineRules) -> Mask:
    """[rows] true for what lies after the unit's first exposure, and for the session in which that fell.

    The exposure fires inside the first session: comparing with the session's start would lose it. Where
    exposures name their session, it is that one; elsewhere the last one that had begun, if its end is less
    than the grace ago.
    """
    rows, since = log.rows, assigned.since[log.rows.unit]
    after = (rows.end >= since) | np.isnan(rows.at)  # it went on after the exposure, or began then
    still_open = (rows.end + 60 * rules.grace_min >= since) & _last_before(rows, since, len(assigned.arm))
    if log.exposed_in is None:
        return after | still_open
    first = (at == assigned.since[log.exposed]) & (log.exposed_in >= 0)
    opened = np.full(len(assigned.arm), -2, dtype=np.int64)
    opened[log.exposed[first]] = log.exposed_in[first]
    named = opened[rows.unit] >= 0
    return after | np.where(named, rows.session == opened[rows.unit], still_open)


def _last_before(rows: SessionRows, since: Floats, n_units: int) -> Mask:
    """[rows] true for a unit's last session that had begun by its exposure, and for what is in no session."""
    begun = np.flatnonzero((rows.at < since) & (rows.session >= 0))
    last = np.full(n_units, -np.inf)
    np.fmax.at(last, rows.unit[begun], rows.at[begun])
    return (rows.at == last[rows.unit]) | (rows.session < 0)


def _first_of_each(rows: SessionRows) -> Mask:
    """[rows] true at the first row of every (unit, session) that there is."""
    sessions = np.flatnonzero(rows.session >= 0)
    key = rows.unit[sessions] * (int(rows.session.max(initial=0)) + 1) + rows.session[sessions]
    order = order_of(key)
    first = np.zeros(len(rows.unit), dtype=np.bool_)
    first[sessions[order[first_of_equals(key[order])]]] = True
    return first


# ── what to know ─────────────────────────────────────────────────────────────────────────────


def _row_notices(
    table: pa.Table, assigned: Assigned, rows: SessionRows, unrepeated: Mask
) -> Iterator[Problem]:
    if repeated := int((~unrepeated).sum()):
        message = f"{repeated:,} rows {REPEATS}"
        yield Problem("duplicate-session", "sessions", message, "The first row of each counts.", repeated)
    if strangers := int((assigned.strangers[rows.unit] & (rows.session >= 0)).sum()):
        message = f"{strangers:,} sessions are of users who are not in the test"
        fix = "They are in no variant and do not count."
        yield Problem("never-exposed", "sessions", message, fix, strangers)
    if "videos" not in table.column_names:
        fix = "'Videos watched' is absent; add the column to see it."
        yield Problem("missing-column", "column 'videos'", "It is not in the upload", fix)
    for variant, count in assigned.lost.items():
        message = f"No user of '{variant}' is left: all {count:,} who saw it also saw another variant"
        fix = (
            "Users seen in several variants do not count. Does the column say what each user was assigned to?"
        )
        yield Problem("variant-without-users", "column 'variant'", message, fix, count)


def _other_variant(log: SessionLog, before: Mask, assigned: Assigned) -> list[Problem]:
    """The notice of users whose sessions in the test name another variant than the exposures."""
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
        f"the sessions of {count:,} user{'s' if count > 1 else ''} say another variant than the exposures"
    )
    fix = "The exposures count. Was everybody served as assigned?"
    return [Problem("other-variant", "column 'variant'", message, fix, count)]


def _limit_notices(emptied: list[str], too_rare: list[str]) -> Iterator[Problem]:
    """Variants whose users are all bots by the rule, and totals that cannot be winsorised."""
    for variant in emptied:
        message = (
            f"No user of '{variant}' is left: all of them do more in a day than the rule against bots allows"
        )
        yield Problem("variant-without-users", "rules", message, RAISE_LIMIT)
    for total in too_rare:
        message = f"Fewer users have any {total.replace('_', ' ')} than the share at which totals are cut"
        yield Problem("not-winsorised", "rule 'winsorise'", message, "It stays as it is.")
