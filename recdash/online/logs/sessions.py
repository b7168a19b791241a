"""Session rows → one row per user, under the rules that make an A/B test fair."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.errors import InputError, Problem
from recdash.online import times
from recdash.online.logs import attributes, bots
from recdash.online.logs.assignment import Assigned, by_exposures, by_rows, codes
from recdash.online.logs.id_spellings import Spellings
from recdash.online.logs.timestamp_outliers import WHAT, Strays, exposures_without, without_strays
from recdash.online.logs.user_totals import AddedUp, SessionRows, too_rare_to_cut
from recdash.online.rules import USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed, Segment
from recdash.sorting import first_of_equals, order_of

if TYPE_CHECKING:
    import pyarrow as pa

ROLES = ("unit_id", "session_id", "variant", "start_ts", "end_ts", "clicks", "watch_s")
"""Columns with a meaning of their own; every other number is added up, every other text tells users apart."""
EXPOSURE_ROLES = ("unit_id", "session_id", "variant", "ts", "experiment_id")


def per_user(table: pa.Table, rules: OnlineRules = USUAL, exposures: pa.Table | None = None) -> OnlineUsers:
    """Checked sessions with unit_id, session_id, clicks, watch_s and perhaps more, added up per user.

    A session row counts once per unit and session_id, the first one; a session without clicks or
    watch time counts; a row without a session_id is a user who was exposed and had no session, or something
    that is counted outside sessions. ``exposures`` (unit_id, variant, ts) say who saw what since when;
    without them the column variant does, and the test begins with ``rules.starts``.
    Raises InputError when the table holds no test: no variant, too many, or no user with just one.
    """
    said: list[Problem] = []
    if exposures is not None:
        exposures, unclear = exposures_without(exposures)
        said += unclear.notices("exposures", "They do not count, nor do users without any other.")
    tables = [table] if exposures is None else [table, exposures]
    units, unit_ids = codes(*(one["unit_id"] for one in tables))
    said += _in_one_spelling(units, unit_ids) if exposures is not None else []
    rows, strays = without_strays(_rows(table, units[0]))
    said += strays.notices("sessions", "They do not count, but their users do.")
    who, before = _who(table, rows, exposures, units[-1], len(unit_ids), rules)
    _refuse_strangers(rows, who)
    segments = _segments(table, exposures, units, len(unit_ids), rows.at)
    rows = replace(rows, at=_dated(rows.at, before))
    once = (rows.session < 0) | _first_of_each(rows)
    counts = once & who.counted[rows.unit]
    # from here on only whether a row is a session matters, and no end: 15 MiB of a million
    rows = replace(rows, session=np.where(rows.session >= 0, 0, -1).astype(np.int8), end=rows.at)
    machines = bots.among(rows, counts & ~before, len(unit_ids), rules)
    arm = np.where(machines, -1, who.arm)
    if not (arm >= 0).any():
        raise InputError(_all_machines(int(machines.sum())))
    added = AddedUp(np.flatnonzero(arm >= 0), rows, counts, before)
    totals, days = added.in_test(rules)
    left, variant = np.unique(arm[added.units], return_inverse=True)
    return OnlineUsers(
        variants=tuple(who.names[code] for code in left),
        unit=unit_ids.take(added.units),
        variant=variant,
        totals=totals,
        exposed=added.exposed(who.since),
        days=days,
        before=added.before_test(rules),
        segments=attributes.kept(segments, added.units),
        assigned=who.by_name(who.arm),
        crossed=who.crossed,
        removed=(*_strays(who, rows, strays), *_removed(who, rows, once, before, machines, rules)),
        notices=(
            *said,
            *_notices(table, who, rows, once),
            *(_lost(name, count) for name, count in who.lost.items()),
            *_otherwise(table, rows, before, who, exposures),
            *(_emptied(name) for code, name in enumerate(who.names) if code not in left),
            *(_not_cut(name) for name in too_rare_to_cut(totals, rules)),
        ),
    )


def _in_one_spelling(units: list[Ints], ids: pa.Array) -> list[Problem]:
    """Gives users of the sessions the code that another spelling of theirs has in the exposures."""
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


def _refuse_strangers(rows: SessionRows, who: Assigned) -> None:
    """Raises InputError where sessions are there and not one is of somebody in the test."""
    strangers = who.strangers[rows.unit] & (rows.session >= 0)
    if strangers.any() and not (~who.strangers[rows.unit]).any():
        found = f"none of {int(strangers.sum()):,} sessions is of a user in the test"
        fix = "Do both tables write the ids of users in one way?"
        raise InputError(Problem("no-sessions", "sessions", found, fix))


def _segments(
    table: pa.Table, exposures: pa.Table | None, units: list[Ints], n_units: int, at: Floats
) -> dict[str, Segment]:
    """By column; ``at`` [sessions] seconds since 1970. What exposures say of a user comes first."""
    found = attributes.of_rows(units[0], table, attributes.text_columns(table, ROLES), n_units, at)
    if exposures is not None:
        names = attributes.text_columns(exposures, EXPOSURE_ROLES)
        found |= attributes.of_rows(units[1], exposures, names, n_units, times.seconds(exposures["ts"]))
    return found


def _rows(table: pa.Table, unit: Ints) -> SessionRows:
    (session,), _ = codes(table["session_id"])
    at = times.seconds(table["start_ts"]) if "start_ts" in table.column_names else np.zeros(len(unit))
    names = ["clicks", "watch_s", *attributes.number_columns(table, ROLES)]
    numbers = {name: _numbers(table[name]) for name in names}
    # a session lasts at least as long as was watched in it
    end = times.seconds(table["end_ts"]) if "end_ts" in table.column_names else at + numbers["watch_s"]
    return SessionRows(unit, session, at, np.fmax(at, end), numbers)


def _numbers(column: pa.ChunkedArray) -> Floats:
    """As float64; an empty cell, as of a user without a session, adds nothing."""
    numbers: Floats = np.nan_to_num(column.cast("float64").to_numpy())
    return numbers


def _dated(at: Floats, before: Mask) -> Floats:
    """A row of the test without a time is taken for one of its first moment."""
    known = at[~before & ~np.isnan(at)]
    return np.where(np.isnan(at), known.min() if len(known) else 0.0, at)


# ── who counts ───────────────────────────────────────────────────────────────────────────────


def _who(
    table: pa.Table,
    rows: SessionRows,
    exposures: pa.Table | None,
    exposed: Ints,
    n_units: int,
    rules: OnlineRules,
) -> tuple[Assigned, Mask]:
    """Who was in which variant; [rows] what lies before the test."""
    if exposures is not None:
        who = by_exposures(exposed, n_units, exposures["variant"], exposures["ts"])
        return who, ~_open_at_exposure(table, rows, exposures, exposed, who, rules)
    if "variant" not in table.column_names:
        fix = "Add the column, or upload the exposures too: unit_id, variant, ts."
        raise InputError(Problem("missing-column", "columns", "no column says who saw what: variant", fix))
    starts = rules.starts_at()
    # where no time is written, it is of the test: who was exposed and had no session counts
    before = np.zeros(len(rows.unit), dtype=np.bool_) if starts is None else rows.at < starts
    return by_rows(rows.unit, n_units, table["variant"], ~before), before


def _open_at_exposure(
    table: pa.Table, rows: SessionRows, exposures: pa.Table, exposed: Ints, who: Assigned, rules: OnlineRules
) -> Mask:
    """[rows] true for what lies after the unit's first exposure, and for the session in which that fell.

    The exposure fires inside the first session: comparing with the session's start would lose it. Where
    exposures name their session, it is that one; elsewhere the last one that had begun, if its end is less
    than the grace ago.
    """
    since = who.since[rows.unit]
    after = (rows.end >= since) | np.isnan(rows.at)  # it went on after the exposure, or began then
    still_open = (rows.end + 60 * rules.grace_min >= since) & _last_before(rows, since, len(who.arm))
    if "session_id" not in exposures.column_names:
        return after | still_open
    (mine, theirs), _ = codes(table["session_id"], exposures["session_id"])
    at = times.seconds(exposures["ts"])
    first = (at == who.since[exposed]) & (theirs >= 0)
    opened = np.full(len(who.arm), -2, dtype=np.int64)
    opened[exposed[first]] = theirs[first]
    named = opened[rows.unit] >= 0
    return after | np.where(named, mine == opened[rows.unit], still_open)


def _last_before(rows: SessionRows, since: Floats, n_units: int) -> Mask:
    """[rows] true for a unit's last session that had begun by its exposure, and for what is in no session."""
    begun = np.flatnonzero((rows.at < since) & (rows.session >= 0))
    last = np.full(n_units, -np.inf)
    np.fmax.at(last, rows.unit[begun], rows.at[begun])
    return (rows.at == last[rows.unit]) | (rows.session < 0)


def _first_of_each(rows: SessionRows) -> Mask:
    """[rows] true at the first row of every (unit, session) that there is."""
    found = np.flatnonzero(rows.session >= 0)
    key = rows.unit[found] * (int(rows.session.max(initial=0)) + 1) + rows.session[found]
    order = order_of(key)
    first = np.zeros(len(rows.unit), dtype=np.bool_)
    first[found[order[first_of_equals(key[order])]]] = True
    return first


def _all_machines(count: int) -> Problem:
    found = f"All {count:,} users do more in a day than the rule against bots allows"
    return Problem("all-bots", "rules", found, "Raise the limit, or switch the rule off.", count)


def _emptied(variant: str) -> Problem:
    found = f"No user of '{variant}' is left: all of them do more in a day than the rule against bots allows"
    return Problem("variant-without-users", "rules", found, "Raise the limit, or switch the rule off.")


def _lost(variant: str, count: int) -> Problem:
    found = f"No user of '{variant}' is left: all {count:,} who saw it also saw another variant"
    fix = "Users seen in several variants do not count. Does the column say what each user was assigned to?"
    return Problem("variant-without-users", "column 'variant'", found, fix, count)


def _otherwise(
    table: pa.Table, rows: SessionRows, before: Mask, who: Assigned, exposures: pa.Table | None
) -> list[Problem]:
    """Users of whom the sessions of the test say another variant than the exposures do."""
    if exposures is None or "variant" not in table.column_names:
        return []
    (said,), names = codes(table["variant"])
    arm_of = {name: arm for arm, name in enumerate(who.names)}
    said_arm = np.array([*(arm_of.get(str(name), -2) for name in names.to_pylist()), -1])[said]
    other = (said_arm != who.arm[rows.unit]) & (said >= 0) & who.counted[rows.unit] & ~before
    count = len(np.unique(rows.unit[other]))
    if not count:
        return []
    found = f"the sessions of {count:,} user{'s' if count > 1 else ''} say another variant than the exposures"
    fix = "The exposures count. Was everybody served as assigned?"
    return [Problem("other-variant", "column 'variant'", found, fix, count)]


def _not_cut(total: str) -> Problem:
    found = f"Fewer users have any {total.replace('_', ' ')} than the share at which totals are cut"
    return Problem("not-winsorised", "rule 'winsorise'", found, "It stays as it is.")


def _strays(who: Assigned, rows: SessionRows, strays: Strays) -> tuple[Removed, ...]:
    found = Removed("stray-times", WHAT, "rows", who.by_name(who.arm[rows.unit[strays.far]]))
    return (found,) if found.count else ()


def _removed(
    who: Assigned, rows: SessionRows, once: Mask, before: Mask, machines: Mask, rules: OnlineRules
) -> tuple[Removed, ...]:
    """What each rule left out, by variant."""
    arm = who.arm[rows.unit]
    earlier = once & before & (rows.session >= 0)
    found = [
        Removed("duplicate-session", "repeat a session of the same user", "rows", who.by_name(arm[~once])),
        Removed("before", "lie before the test", "sessions", who.by_name(arm[earlier])),
        Removed("bots", _limits(rules), "users", who.by_name(who.arm[machines])),
    ]
    return tuple(one for one in found if one.count)


def _limits(rules: OnlineRules) -> str:
    limits = [(rules.bot_clicks, "clicks"), (rules.bot_sessions, "sessions")]
    told = " or ".join(f"{limit:,} {what}" for limit, what in limits if limit is not None)
    return f"had more than {told} in one day"


def _notices(table: pa.Table, who: Assigned, rows: SessionRows, once: Mask) -> tuple[Problem, ...]:
    notices = []
    if repeated := int((~once).sum()):
        found = f"{repeated:,} rows repeat a session of the same user"
        notices.append(
            Problem("duplicate-session", "sessions", found, "The first row of each counts.", repeated)
        )
    if strangers := int((who.strangers[rows.unit] & (rows.session >= 0)).sum()):
        found = f"{strangers:,} sessions are of users who are not in the test"
        notices.append(
            Problem("never-exposed", "sessions", found, "They are in no variant and do not count.", strangers)
        )
    if "videos" not in table.column_names:
        fix = "'Videos watched' is absent; add the column to see it."
        notices.append(Problem("missing-column", "column 'videos'", "It is not in the upload", fix))
    return tuple(notices)
