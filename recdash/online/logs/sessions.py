"""Session rows → one row per user, under the rules that make an A/B test fair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.online import times
from recdash.online.logs import attributes, bots
from recdash.online.logs.assignment import Assigned, by_exposures, by_rows, codes
from recdash.online.logs.id_spellings import Spellings
from recdash.online.logs.timestamp_outliers import WHAT, exposures_without_outliers, without_outliers
from recdash.online.logs.user_totals import SessionRows, UserTotals, too_rare_to_cut
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed, Segment
from recdash.sorting import first_of_equals, order_of

if TYPE_CHECKING:
    import pyarrow as pa

ROLES = ("unit_id", "session_id", "variant", "start_ts", "end_ts", "clicks", "watch_s")
"""Columns with a meaning of their own; every other number is added up, every other text tells users apart."""
EXPOSURE_ROLES = ("unit_id", "session_id", "variant", "ts", "experiment_id")
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
    if exposures is None:
        units, unit_ids = codes(table["unit_id"])
        notices: list[Problem] = []
    else:
        exposures, outliers = exposures_without_outliers(exposures)
        units, unit_ids = codes(table["unit_id"], exposures["unit_id"])
        notices = outliers.notices("exposures", "They do not count, nor do users without any other.")
        notices += _in_one_spelling(units, unit_ids)
    rows, outliers = without_outliers(_rows(table, units[0]))
    notices += outliers.notices("sessions", "They do not count, but their users do.")
    assigned, before = _assignment(table, rows, exposures, units[-1], len(unit_ids), rules)
    _refuse_strangers(rows, assigned)
    segments = _segments(table, exposures, units, len(unit_ids), rows.at)
    # a row of the test without a time is taken for one of its first moment
    times_in_test = rows.at[~before & ~np.isnan(rows.at)]
    first = times_in_test.min() if len(times_in_test) else 0.0
    rows = replace(rows, at=np.where(np.isnan(rows.at), first, rows.at))
    unrepeated = (rows.session < 0) | _first_of_each(rows)
    counts = unrepeated & assigned.counted[rows.unit]
    # from here on only whether a row is a session matters, and no end: 15 MiB of a million
    rows = replace(rows, session=np.where(rows.session >= 0, 0, -1).astype(np.int8), end=rows.at)
    is_bot = bots.among(rows, counts & ~before, len(unit_ids), rules)
    arm = np.where(is_bot, -1, assigned.arm)
    if not (arm >= 0).any():
        count = int(is_bot.sum())
        message = f"All {count:,} users do more in a day than the rule against bots allows"
        raise InputError(Problem("all-bots", "rules", message, RAISE_LIMIT, count))
    user_totals = UserTotals(np.flatnonzero(arm >= 0), rows, counts, before)
    totals, days = user_totals.in_test(rules)
    left, variant = np.unique(arm[user_totals.units], return_inverse=True)
    of_row, earlier = assigned.arm[rows.unit], unrepeated & before & (rows.session >= 0)
    removed = (
        Removed("stray-times", WHAT, "rows", assigned.by_name(of_row[outliers.far])),
        Removed("duplicate-session", REPEATS, "rows", assigned.by_name(of_row[~unrepeated])),
        Removed("before", "lie before the test", "sessions", assigned.by_name(of_row[earlier])),
        Removed("bots", bots.rule_in_words(rules), "users", assigned.by_name(assigned.arm[is_bot])),
    )
    return OnlineUsers(
        variants=tuple(assigned.names[code] for code in left),
        unit=unit_ids.take(user_totals.units),
        variant=variant,
        totals=totals,
        exposed=user_totals.exposed(assigned.since),
        days=days,
        before=user_totals.before_test(rules),
        segments=attributes.of_units(segments, user_totals.units),
        assigned=assigned.by_name(assigned.arm),
        crossed=assigned.crossed,
        removed=tuple(rule for rule in removed if rule.count),
        notices=(
            *notices,
            *_row_notices(table, assigned, rows, unrepeated),
            *_other_variant(table, rows, before, assigned, exposures),
            *_limit_notices(
                [name for code, name in enumerate(assigned.names) if code not in left], totals, rules
            ),
        ),
    )


def _in_one_spelling(units: list[Ints], ids: pa.Array) -> list[Problem]:
    """Give users of the sessions the code that another spelling of their id has in the exposures."""
    import pyarrow as pa

    sessions, exposed = map(np.unique, units)
    other = np.setdiff1d(sessions, exposed, assume_unique=True)
    other = other[other >= 0]
    spellings = Spellings(ids.take(pa.array(exposed[exposed >= 0])))
    place = spellings.find(ids.take(pa.array(other)))
    code = np.arange(len(ids))
    code[other[place >= 0]] = exposed[exposed >= 0][place[place >= 0]]
    units[0] = code[units[0]]
    return spellings.notices()


def _refuse_strangers(rows: SessionRows, assigned: Assigned) -> None:
    """Raises InputError where there are sessions and none is of a user in the test."""
    strangers = assigned.strangers[rows.unit] & (rows.session >= 0)
    if strangers.any() and assigned.strangers[rows.unit].all():
        message = f"none of {int(strangers.sum()):,} sessions is of a user in the test"
        fix = "Do both tables write the ids of users in one way?"
        raise InputError(Problem("no-sessions", "sessions", message, fix))


def _segments(
    table: pa.Table, exposures: pa.Table | None, units: list[Ints], n_units: int, ts: Floats
) -> dict[str, Segment]:
    """By column; ``ts`` [sessions] seconds since 1970. What exposures say of a user comes first."""
    segments = attributes.of_rows(units[0], table, attributes.text_columns(table, ROLES), n_units, ts)
    if exposures is not None:
        names = attributes.text_columns(exposures, EXPOSURE_ROLES)
        segments |= attributes.of_rows(units[1], exposures, names, n_units, times.seconds(exposures["ts"]))
    return segments


def _rows(table: pa.Table, unit: Ints) -> SessionRows:
    (session,), _ = codes(table["session_id"])
    start = times.seconds(table["start_ts"]) if "start_ts" in table.column_names else np.zeros(len(unit))
    names = ["clicks", "watch_s", *attributes.number_columns(table, ROLES)]
    # an empty cell, as of a user without a session, adds nothing
    numbers = {name: np.nan_to_num(table[name].cast("float64").to_numpy()) for name in names}
    # a session lasts at least as long as was watched in it
    end = times.seconds(table["end_ts"]) if "end_ts" in table.column_names else start + numbers["watch_s"]
    return SessionRows(unit, session, start, np.fmax(start, end), numbers)


# ── who counts ───────────────────────────────────────────────────────────────────────────────


def _assignment(
    table: pa.Table,
    rows: SessionRows,
    exposures: pa.Table | None,
    exposed: Ints,
    n_units: int,
    rules: OnlineRules,
) -> tuple[Assigned, Mask]:
    """The variant of each unit, and [rows] what lies before the test."""
    if exposures is not None:
        assigned = by_exposures(exposed, n_units, exposures["variant"], exposures["ts"])
        return assigned, ~_open_at_exposure(table, rows, exposures, exposed, assigned, rules)
    if "variant" not in table.column_names:
        fix = "Add the column, or upload the exposures too: unit_id, variant, ts."
        raise InputError(Problem("missing-column", "columns", "no column says who saw what: variant", fix))
    starts = rules.starts_at()
    # where no time is written, it is of the test: who was exposed and had no session counts
    before = np.zeros(len(rows.unit), dtype=np.bool_) if starts is None else rows.at < starts
    return by_rows(rows.unit, n_units, table["variant"], ~before), before


def _open_at_exposure(
    table: pa.Table,
    rows: SessionRows,
    exposures: pa.Table,
    exposed: Ints,
    assigned: Assigned,
    rules: OnlineRules,
) -> Mask:
    """[rows] true for what lies after the unit's first exposure, and for the session in which that fell.

    The exposure fires inside the first session: comparing with the session's start would lose it. Where
    exposures name their session, it is that one; elsewhere the last one that had begun, if its end is less
    than the grace ago.
    """
    since = assigned.since[rows.unit]
    after = (rows.end >= since) | np.isnan(rows.at)  # it went on after the exposure, or began then
    still_open = (rows.end + 60 * rules.grace_min >= since) & _last_before(rows, since, len(assigned.arm))
    if "session_id" not in exposures.column_names:
        return after | still_open
    (session, exposure_session), _ = codes(table["session_id"], exposures["session_id"])
    first = (times.seconds(exposures["ts"]) == assigned.since[exposed]) & (exposure_session >= 0)
    opened = np.full(len(assigned.arm), -2, dtype=np.int64)
    opened[exposed[first]] = exposure_session[first]
    named = opened[rows.unit] >= 0
    return after | np.where(named, session == opened[rows.unit], still_open)


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


def _other_variant(
    table: pa.Table, rows: SessionRows, before: Mask, assigned: Assigned, exposures: pa.Table | None
) -> list[Problem]:
    """The notice of users whose sessions in the test name another variant than the exposures."""
    if exposures is None or "variant" not in table.column_names:
        return []
    (code,), names = codes(table["variant"])
    arms = {name: arm for arm, name in enumerate(assigned.names)}
    arm = np.array([*(arms.get(str(name), -2) for name in names.to_pylist()), -1])[code]
    other = (arm != assigned.arm[rows.unit]) & (code >= 0) & assigned.counted[rows.unit] & ~before
    count = len(np.unique(rows.unit[other]))
    if not count:
        return []
    message = (
        f"the sessions of {count:,} user{'s' if count > 1 else ''} say another variant than the exposures"
    )
    fix = "The exposures count. Was everybody served as assigned?"
    return [Problem("other-variant", "column 'variant'", message, fix, count)]


def _limit_notices(emptied: list[str], totals: Mapping[str, Floats], rules: OnlineRules) -> Iterator[Problem]:
    """Variants whose users are all bots by the rule, and totals that cannot be winsorised."""
    for variant in emptied:
        message = (
            f"No user of '{variant}' is left: all of them do more in a day than the rule against bots allows"
        )
        yield Problem("variant-without-users", "rules", message, RAISE_LIMIT)
    for total in too_rare_to_cut(totals, rules):
        message = f"Fewer users have any {total.replace('_', ' ')} than the share at which totals are cut"
        yield Problem("not-winsorised", "rule 'winsorise'", message, "It stays as it is.")
