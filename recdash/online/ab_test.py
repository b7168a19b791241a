"""An A/B test from its logs to its results: the tables read together, counted by one set of rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from recdash.domain.inputs import Upload, UploadStream
from recdash.domain.kinds import OnlineKind, TableKind
from recdash.engines.allocator import release_freed_memory
from recdash.errors import InputError, Problem, UnknownName
from recdash.evaluation.column_choice import ColumnsGiven, column_choice, mappings_of
from recdash.online.analysis import aggregates as summaries
from recdash.online.analysis.results import OnlineResults, of_summaries, of_users
from recdash.online.logs.sessions import per_user
from recdash.online.metrics import KNOWN, OnlineMetric, check
from recdash.online.rules import USUAL, WHEN_FOLDED, OnlineRules
from recdash.online.users import OnlineUsers, Removed
from recdash.stats import CORRECTIONS, Correction

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.ingest import Limits

KINDS: tuple[OnlineKind, ...] = ("sessions", "events", "aggregates")
BESIDE = ("exposures", "served")
Mappings = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class OnlineTables:
    """The checked tables of one test, ready to be counted.

    ``table``: sessions (those that events are folded into, where there are events) or aggregates; ``beside``:
    exposures and served, where they were given; ``removed`` and ``notices``: what was said on the way.
    """

    kind: OnlineKind
    table: pa.Table
    beside: Mapping[str, pa.Table]
    removed: tuple[Removed, ...] = ()
    notices: tuple[Problem, ...] = ()

    @property
    def exposures(self) -> pa.Table | None:
        return self.beside.get("exposures")


def ab_test(
    *,
    sessions: Any = None,
    exposures: Any = None,
    events: Any = None,
    served: Any = None,
    aggregates: Any = None,
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = (),
    correction: Correction = "holm",
    mappings: Mappings | None = None,
    columns: ColumnsGiven | None = None,
) -> OnlineResults:
    """The results of an A/B test: health, values, lifts and intervals per metric and variant.

    Give ``sessions``; or ``exposures`` and ``events``, with ``served`` lists if there are; or ``aggregates``:
    each a file or a table. ``columns`` says what their columns mean: {"unit_id": "uid"} for every table that
    has the column, {"events": {"event": "kind"}} for one; ``mappings`` is the same by table only.
    ``control``: the variant that the others are compared with (None: the one whose name says so).
    ``metrics``: more of one's own; one with the name of a known metric replaces it. Raises InputError with
    the problems of all tables.
    """
    if correction not in CORRECTIONS:
        raise UnknownName("correction", correction, CORRECTIONS)
    given = {
        "sessions": sessions, "exposures": exposures, "events": events, "served": served,
        "aggregates": aggregates,
    }  # fmt: skip
    tables = {name: one for name, one in given.items() if one is not None}
    logs = read_logs(tables, rules, mappings, columns=columns)
    found = results_of(logs, control, rules, metrics, correction=correction)
    return replace(found, notices=(*logs.notices, *found.notices))


def read_logs(
    tables: Mapping[str, Any],
    rules: OnlineRules = USUAL,
    mappings: Mappings | None = None,
    limits: Limits | None = None,
    columns: ColumnsGiven | None = None,
) -> OnlineTables:
    """Read and check the tables of a test, by kind. Raises InputError with the problems of all of them."""
    from recdash.ingest import read_passing

    kind = kind_of(tables)
    rules.check()
    choice = column_choice(columns, cast("Sequence[TableKind]", (*KINDS, *BESIDE)))
    mappings = mappings_of(choice, list(tables), mappings)
    held = {name: one for name, one in tables.items() if name != "events"}
    uploads = _read_all(held, rules, mappings, limits)
    release_freed_memory()  # what parsing took: 130 MiB of a million sessions in CSV
    notices = tuple(notice for upload in uploads.values() for notice in upload.notices)
    beside = {name: uploads[name].table for name in BESIDE if name in uploads}
    notices += tuple(_ignored(kind, rules, has_exposures="exposures" in tables))
    if kind != "events":
        choice.check_used()
        return OnlineTables(kind, uploads[kind].table, beside, notices=notices)
    mapping = (mappings or {}).get("events")
    passing = read_passing("events", tables["events"], mapping=mapping, zone=rules.zone, limits=limits)
    choice.check_used()
    return _folded(passing, beside, rules, notices)


def _ignored(kind: OnlineKind, rules: OnlineRules, *, has_exposures: bool) -> Iterator[Problem]:
    """The rules that somebody gave and that say nothing of such logs."""
    counted = () if kind == "aggregates" else ("bot_clicks", "bot_sessions", "winsorise", "zone")
    begun = ("grace_min", "exposures_of") if has_exposures else ("starts",)
    apply = {*counted, *(begun if counted else ()), *(WHEN_FOLDED if kind == "events" else ())}
    for name, value in rules.as_dict().items():
        if value != getattr(USUAL, name) and name not in {*apply, "split", "planned_users"}:
            found = f"It says nothing of {'exposures and ' if has_exposures else ''}{kind}"
            fix = "Videos were counted before the upload." if name == "threshold_s" else ""
            yield Problem("rule-ignored", f"rule '{name}'", found, fix)


def kind_of(tables: Mapping[str, Any]) -> OnlineKind:
    """What a test is known by, from its tables' names. Raises InputError where they do not go together."""
    kinds = [kind for kind in KINDS if kind in tables]
    unknown = [name for name in tables if name not in (*KINDS, *BESIDE)]
    if len(kinds) != 1 or unknown or (kinds[0] == "events" and "exposures" not in tables):
        raise InputError(_not_together(list(tables)))
    if kinds[0] == "aggregates" and len(tables) > 1:
        raise InputError(_not_together(list(tables)))
    return kinds[0]


def _not_together(names: Sequence[str]) -> Problem:
    fix = "Give sessions, or exposures and events (served lists beside them if there are), or aggregates."
    return Problem("no-test", "tables of the test", f"given: {', '.join(names) or 'nothing'}", fix)


def _read_all(
    tables: Mapping[str, Any], rules: OnlineRules, mappings: Mappings | None, limits: Limits | None
) -> dict[str, Upload]:
    from recdash.ingest import read_upload

    found, problems = {}, []
    for name, source in tables.items():
        mapping = (mappings or {}).get(name)
        zone = rules.zone if name != "aggregates" else None
        try:
            found[name] = read_upload(
                cast(Any, name),
                source,
                mapping=mapping,
                zone=zone,
                experiment=rules.exposures_of,
                limits=limits,
            )
        except InputError as error:
            problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise InputError([one for error in problems for one in error.placed()])
    return found


def _folded(
    passing: UploadStream,
    beside: Mapping[str, pa.Table],
    rules: OnlineRules,
    notices: tuple[Problem, ...],
) -> OnlineTables:
    """Events as the sessions that they make, read as they pass."""
    from recdash.online.logs.events import sessions_of

    found = sessions_of(passing.batches(), beside["exposures"], rules, beside.get("served"))
    shown = {} if found.served is None else {"served": found.served}
    said = (*notices, *passing.notices, *found.notices)
    return OnlineTables("events", found.sessions, {**beside, **shown}, found.removed, said)


def users_of(table: pa.Table, beside: Mapping[str, pa.Table], rules: OnlineRules = USUAL) -> OnlineUsers:
    """One row per user of a test that is known by sessions. Raises InputError where they hold no test."""
    found = per_user(table, rules, beside.get("exposures"))
    release_freed_memory()
    return found


def results_of(
    logs: OnlineTables,
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = (),
    *,
    correction: Correction = "holm",
    users: OnlineUsers | None = None,
) -> OnlineResults:
    """The results of logs that were read, or are stored; ``users``, where they are counted already."""
    if logs.kind == "aggregates":
        rows = summaries.summaries(logs.table)
        return of_summaries(rows, control, rules, metrics, correction)
    if users is None:
        users = users_of(logs.table, logs.beside, rules)
    for metric in metrics:
        check(metric, users.totals)
    found = of_users(users, control, rules, with_own(metrics), correction)
    return replace(found, removed=(*logs.removed, *found.removed))


def with_own(metrics: Sequence[OnlineMetric]) -> tuple[OnlineMetric, ...]:
    """The known metrics and one's own, which replace known ones of the same name."""
    own = {metric.name: metric for metric in metrics}
    return (*(own.pop(one.name, one) for one in KNOWN), *own.values())
