"""Computes an A/B test's results from its tables, which are read together and counted by the same rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, cast

from recdash.domain.arguments import check_type, texts_of, wrong_type
from recdash.domain.inputs import Upload
from recdash.domain.kinds import OnlineKind, TableKind
from recdash.engines.allocator import release_freed_memory
from recdash.errors import InputError, Problem, UnknownName, all_or_problems
from recdash.evaluation.column_choice import ColumnsGiven, check_columns, mappings_of, read_column_choice
from recdash.ingest.moment_columns import EARLIER
from recdash.ingest.notice_rules import check_refused, read_codes
from recdash.online import proposals
from recdash.online.analysis.aggregate_tables import aggregate_table
from recdash.online.analysis.analysed_test import AnalysedTest, ResultSource, with_source
from recdash.online.analysis.moments import is_aggregates, table_of
from recdash.online.analysis.results import OnlineResults, of_summaries, of_users
from recdash.online.derived import NO_NEEDS, Needs, is_observed, needs_of, resolved, with_totals
from recdash.online.logs.sessions import per_user
from recdash.online.metrics import KNOWN, OnlineMetric, check
from recdash.online.proposals import NO_CHOICE, MetricChoices
from recdash.online.rules import RULES_OF_SESSIONS, USUAL, OnlineRules
from recdash.online.users import OnlineUsers, Removed
from recdash.stats import CORRECTIONS, Correction

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.evaluation.spark import Spark
    from recdash.ingest import Limits

KINDS: tuple[OnlineKind, ...] = ("sessions", "events", "aggregates")
FURTHER_TABLES = ("exposures", "served")
Mappings = Mapping[str, Mapping[str, str]]
NO_METRIC = Problem(
    "no-metric",
    "columns",
    "no column of numbers to compare the variants by",
    "Add one, such as revenue, orders or converted (1 or 0).",
)


@dataclass(frozen=True)
class OnlineTables:
    """The checked tables of one A/B test, ready for counting.

    ``table`` has the sessions, including those built from events, or the aggregates. ``further_tables`` has
    the exposures and the served lists, if given. ``removed`` and ``notices`` say what was excluded or noticed
    while reading.
    """

    kind: OnlineKind
    table: pa.Table
    further_tables: Mapping[str, pa.Table]
    removed: tuple[Removed, ...] = ()
    notices: tuple[Problem, ...] = ()

    @property
    def exposures(self) -> pa.Table | None:
        return self.further_tables.get("exposures")


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
    refuse: str | Sequence[str] = (),
    goals: str | Sequence[str] = (),
    primary: str | None = None,
    covariates: Mapping[str, str] | None = None,
    engine: Spark | None = None,
) -> AnalysedTest:
    """Returns the results of an A/B test: its health, and values, lifts and intervals per metric and variant.

    Give ``sessions``; or ``exposures`` and ``events``, optionally with ``served`` lists; or ``aggregates``.
    Each is a file or a table; ``aggregates`` may also be {variant: tea-tasting's Aggregates}. ``columns``
    maps roles to columns: {"unit_id": "uid"} for every table that has the column, {"events": {"event":
    "kind"}} for one table; ``mappings`` has the second form only. ``control`` is the control variant (None:
    recognised by its name). ``metrics`` are custom metrics; one with the name of a standard metric replaces
    it. Without custom metrics, a table of one row per user is compared by each of its numbers. ``goals``
    are the names of the metrics that are goals, ``primary`` is that of the first one. ``covariates`` are
    {metric: the column, known before the exposure, by which its lift is adjusted}. The results also answer
    ``.segments()``, ``.days()``, ``.power()`` and ``.chance_to_win()``. ``refuse`` has codes of notices
    that are problems (see ``recdash.ingest.notice_rules``). ``engine`` is ``recdash.Spark(…)`` to count
    ``events`` on a Spark cluster, as events in a data frame of Spark are without it. Raises InputError with
    the problems of all tables.
    """
    refused_codes = read_codes(refuse)
    check_type("rules", rules, OnlineRules, "Give recdash.online.rules.OnlineRules(…).")
    metrics = _own_metrics(metrics)
    check_type("primary", primary, (str, NoneType), "Give the name of a metric.")
    check_type("covariates", covariates, (Mapping, NoneType), "Give {metric: column}.")
    if correction not in CORRECTIONS:
        raise UnknownName("correction", correction, CORRECTIONS)
    tables = {
        "sessions": sessions,
        "exposures": exposures,
        "events": events,
        "served": served,
        "aggregates": aggregates,
    }
    given = {name: table for name, table in tables.items() if table is not None}
    logs = read_logs(with_events_on_cluster(given, engine), rules, mappings, columns=columns)
    choices = MetricChoices(tuple(texts_of("goals", goals, "revenue")), primary, covariates or {})
    counted = counted_test(logs, rules, metrics, choices)
    results = counted.results(control, correction)
    results = replace(results, notices=(*logs.notices, *results.notices))
    check_refused(results.noticed(), refused_codes)
    return with_source(results, counted.source)


def _own_metrics(metrics: object) -> tuple[OnlineMetric, ...]:
    """Returns the custom metrics of an argument. Raises InputError for anything else."""
    fix = "Give a list of recdash.online.metrics.OnlineMetric(…)."
    if isinstance(metrics, str | Mapping) or not isinstance(metrics, Iterable):
        raise wrong_type("metrics", metrics, fix)
    metrics = tuple(metrics)
    for metric in metrics:
        check_type("metrics", metric, OnlineMetric, fix)
    return metrics


def with_events_on_cluster(tables: Mapping[str, Any], engine: Spark | None = None) -> Mapping[str, Any]:
    """Returns the tables of a test with its events as rows of a Spark cluster, if there is an engine or they
    are a data frame of Spark; else the tables unchanged.

    Raises InputError for an engine and tables that only this process counts.
    """
    from recdash.ingest.spark_frames import is_spark_frame

    counts_here = "events" not in tables or "served" in tables
    if engine is None and (counts_here or not is_spark_frame(tables["events"])):
        return tables
    if counts_here:
        finding = "Spark counts exposures and events, without served lists"
        fix = "Leave the engine out: this process reads all tables of a test."
        raise InputError(Problem("spark-tables", "engine", f"{finding}; given: {', '.join(tables)}", fix))
    from recdash.evaluation.request import check_engine
    from recdash.evaluation.spark import Spark

    check_engine(engine)
    return {**tables, "events": (engine or Spark()).rows(tables["events"])}


def read_logs(
    tables: Mapping[str, Any],
    rules: OnlineRules = USUAL,
    mappings: Mappings | None = None,
    limits: Limits | None = None,
    columns: ColumnsGiven | None = None,
) -> OnlineTables:
    """Returns the checked tables of a test; ``tables`` maps each kind, such as "events", to a file or table.

    Columns of unknown names are known by their values, as in ``recdash.evaluate``; a notice says so. Raises
    InputError with the problems of all tables.
    """
    check_type("tables", tables, Mapping, "Give {kind of the table: table}.")
    try:
        return _read(tables, rules, mappings, limits, columns or {})
    except InputError as error:
        from recdash.evaluation.columns_by_values import UNKNOWN_COLUMNS, columns_by_values, tables_of_a_test

        if mappings or not UNKNOWN_COLUMNS & {problem.code for problem in error.problems}:
            raise
        more, notices = columns_by_values(tables_of_a_test(tables), columns or {}, limits)
        if not notices:
            raise
        logs = _read(tables, rules, mappings, limits, more)
        return replace(logs, notices=(*notices, *logs.notices))


def _read(
    tables: Mapping[str, Any],
    rules: OnlineRules,
    mappings: Mappings | None,
    limits: Limits | None,
    columns: ColumnsGiven,
) -> OnlineTables:
    """Returns the checked tables of a test, read with the columns that were given and those known by name.

    Raises InputError with the problems of all tables.
    """
    from recdash.evaluation.spark_rows import SparkRows
    from recdash.ingest import read_stream
    from recdash.online.logs.events import sessions_of
    from recdash.online.logs.events_on_cluster import sessions_on_cluster

    kind = kind_of(tables)
    tables = with_events_on_cluster(tables)
    if is_aggregates(tables.get("aggregates")):
        tables = {"aggregates": table_of(tables["aggregates"])}
    rules.check()
    kinds = (*KINDS, *FURTHER_TABLES)
    choice = read_column_choice(columns, cast("Sequence[TableKind]", kinds))
    check_columns("mappings", mappings, (Mapping,))
    choice.check_given(tables, mappings)
    mappings = mappings_of(choice, kinds, mappings)
    uploads = _read_all({name: tables[name] for name in tables if name != "events"}, rules, mappings, limits)
    release_freed_memory()  # frees what parsing took: 130 MiB of a million sessions in CSV
    notices = tuple(notice for upload in uploads.values() for notice in upload.notices)
    further = {name: uploads[name].table for name in FURTHER_TABLES if name in uploads}
    notices += tuple(_ignored(kind, rules, has_exposures="exposures" in tables))
    if kind != "events":
        choice.check_used()
        return OnlineTables(kind, uploads[kind].table, further, notices=notices)
    mapping = (mappings or {}).get("events")
    events = read_stream("events", tables["events"], mapping=mapping, zone=rules.zone, limits=limits)
    choice.check_used()
    if isinstance(tables["events"], SparkRows):
        counted = sessions_on_cluster(tables["events"], events, further["exposures"], rules)
    else:
        counted = sessions_of(events.batches(), further["exposures"], rules, further.get("served"))
    if counted.served is not None:
        further["served"] = counted.served
    notices += (*events.notices, *counted.notices)
    return OnlineTables("events", counted.sessions, further, counted.removed, notices)


def _ignored(kind: OnlineKind, rules: OnlineRules, *, has_exposures: bool) -> Iterator[Problem]:
    """Yields a notice for each rule that was set but does not apply to tables of this kind."""
    applies = {"split", "planned_users", "delta_method"}
    if kind != "aggregates":
        applies |= {"bot_clicks", "bot_sessions", "winsorise", "zone", "activated_by"}
        applies |= {"grace_min", "clock_min", "exposures_of"} if has_exposures else {"starts"}
    if kind == "events":
        applies.update(RULES_OF_SESSIONS)
    for name, value in rules.as_dict().items():
        if value != getattr(USUAL, name) and name not in applies:
            message = f"It does not apply to {'exposures and ' if has_exposures else ''}{kind}"
            fix = "Videos were counted before the upload." if name == "threshold_s" else ""
            yield Problem("rule-ignored", f"rule '{name}'", message, fix)


def kind_of(tables: Mapping[str, Any]) -> OnlineKind:
    """Returns the kind of the test, given the names of its tables.

    Raises InputError for an invalid combination.
    """
    kinds = [kind for kind in KINDS if kind in tables]
    fits = len(kinds) == 1 and all(name in (*KINDS, *FURTHER_TABLES) for name in tables)
    if fits and kinds[0] == "events":
        fits = "exposures" in tables
    elif fits and kinds[0] == "aggregates":
        fits = len(tables) == 1
    if not fits:
        fix = "Give sessions, or exposures and events (optionally with served lists), or aggregates."
        message = f"given: {', '.join(tables) or 'nothing'}"
        raise InputError(Problem("no-test", "tables of the test", message, fix))
    return kinds[0]


def _read_all(
    tables: Mapping[str, Any], rules: OnlineRules, mappings: Mappings | None, limits: Limits | None
) -> dict[str, Upload]:
    from recdash.ingest import read_upload

    def read(name: str) -> Upload:
        zone = rules.zone if name != "aggregates" else None
        options: dict[str, Any] = {"zone": zone, "experiment": rules.exposures_of, "limits": limits}
        return read_upload(cast(Any, name), tables[name], mapping=(mappings or {}).get(name), **options)

    uploads = all_or_problems(partial(read, name) for name in tables)
    return dict(zip(tables, uploads, strict=True))


def users_of(
    table: pa.Table,
    further: Mapping[str, pa.Table],
    rules: OnlineRules = USUAL,
    needs: Needs = NO_NEEDS,
) -> OnlineUsers:
    """Returns the test's users, one row per user, from its sessions.

    ``needs`` are what metrics need besides totals. Raises InputError if the tables contain no test.
    """
    users = per_user(table, rules, further.get("exposures"), needs)
    release_freed_memory()
    return users


@dataclass(frozen=True)
class CountedTest:
    """The data of a test with its metrics.

    ``own`` are the metrics that are stored with the test: custom ones, proposed ones, and standard ones that
    were changed. ``notices`` are about them.
    """

    source: ResultSource
    own: tuple[OnlineMetric, ...]
    removed: tuple[Removed, ...] = ()
    notices: tuple[Problem, ...] = ()

    def results(self, control: str | None, correction: Correction = "holm") -> OnlineResults:
        """Returns the results with this control; None recognises it by its name."""
        source = self.source
        if source.users is None:
            assert source.aggregates is not None  # noqa: S101 - one of the two is given
            results = of_summaries(source.aggregates, control, source.rules, source.metrics, correction)
        else:
            results = of_users(source.users, control, source.rules, source.metrics, correction)
        return replace(
            results,
            removed=(*self.removed, *results.removed),
            notices=(*results.notices, *self.notices),
        )


def counted_test(
    logs: OnlineTables,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = (),
    choices: MetricChoices = NO_CHOICE,
    *,
    users: OnlineUsers | None = None,
    library: Sequence[OnlineMetric] = (),
) -> CountedTest:
    """Returns the users, or the sums over users, of a test's tables, with its metrics.

    ``users`` are the test's users if they are counted already. Without ``metrics``, those of the ``library``
    that the choices name and the tables allow are added to the proposed ones. Raises InputError if there is
    no metric, and for metrics and choices that the tables do not allow.
    """
    covariates = choices.covariates.values()
    library = choices.of_library(library)
    if logs.kind == "aggregates":
        table = aggregate_table(logs.table)
        proposed = () if metrics else table.proposed(covariates)
        of_library = [metric for metric in library if table.allows(metric) and not metrics]
        proposed = tuple({metric.name: metric for metric in (*proposed, *of_library)}.values())
        available = [metric for metric, _ in table.measured(metrics or proposed)]
        columns = [*table.totals, *table.columns_before]
        own = choices.applied(metrics or proposed, available, columns, are_given=bool(metrics))
        source = ResultSource(None, own, rules, table)
        return CountedTest(source, own, logs.removed, _noticed(own if proposed else (), of_library, choices))
    if users is None:
        users = users_of(logs.table, logs.further_tables, rules, needs_of([*metrics, *library]))
    proposed = () if metrics else proposals.propose(users, covariates)
    of_library = [m for m in library if m.fits(users.totals) and is_observed(users, m) and not metrics]
    proposed = tuple({metric.name: metric for metric in (*proposed, *of_library)}.values())
    for metric in metrics:
        check(metric, users.totals)
    if not metrics and not proposed and "sessions" not in users.totals:
        raise InputError(NO_METRIC)
    standard = [metric for metric in KNOWN if metric.is_in(users.totals)]
    own = choices.applied(
        metrics or proposed,
        standard,
        {*users.totals, *users.before, *(f"{EARLIER}{name}" for name in users.before)},
        are_given=bool(metrics),
    )
    users = with_totals(users, own)
    source = ResultSource(users, with_standard_metrics(own), rules)
    return CountedTest(source, own, logs.removed, _noticed(own if proposed else (), of_library, choices))


def _noticed(
    own: Sequence[OnlineMetric], of_library: Sequence[OnlineMetric], choices: MetricChoices
) -> tuple[Problem, ...]:
    """Returns the notices of proposed metrics, and of those of the library; chosen quantiles need none."""
    names = {metric.name for metric in of_library}
    proposed = [metric for metric in own if metric.name not in names]
    chosen = {metric.name for metric in choices.of_library(())}
    listed = [metric for metric in of_library if metric.name not in chosen]
    return (*proposals.notice(proposed), *proposals.library_notice(listed))


def results_of(
    logs: OnlineTables,
    control: str | None = None,
    rules: OnlineRules = USUAL,
    metrics: Sequence[OnlineMetric] = (),
    *,
    correction: Correction = "holm",
    users: OnlineUsers | None = None,
    choices: MetricChoices = NO_CHOICE,
) -> OnlineResults:
    """Returns the results of a test's tables, which were just read or come from the store: see
    ``counted_test``.
    """
    counted = counted_test(logs, rules, metrics, choices, users=users)
    return counted.results(control, correction)


def with_standard_metrics(metrics: Sequence[OnlineMetric]) -> tuple[OnlineMetric, ...]:
    """Returns the standard and the custom metrics, each as a ratio of totals; the primary one comes first.

    A custom metric replaces a standard one of the same name.
    """
    own = {metric.name: metric for metric in metrics}
    together = (*(own.pop(metric.name, metric) for metric in KNOWN), *own.values())
    return tuple(map(resolved, sorted(together, key=lambda metric: not metric.is_primary)))
