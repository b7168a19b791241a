"""Matches lists with the test set on a Spark cluster, by the code that matches them on one machine.

Spark brings all rows of a user into one partition. Each partition is read, checked and matched in its
executor by the local engine; what it collected adds up in the driver (``recdash.engines.parts``), which
computes the metrics. PySpark is imported when a session is needed.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order
from recdash.engines import Reference
from recdash.engines.matcher import first_plan
from recdash.engines.parts import MatchedPart, MatchRequest, add_parts, match_part
from recdash.errors import InputError, Problem, UploadError
from recdash.ingest.formats.raw_table import SAMPLE_ROWS
from recdash.ingest.formats.relation import Relation
from recdash.ingest.parts import in_order
from recdash.ingest.spark_frames import is_spark_frame
from recdash.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from recdash.ingest import Limits

FILE, BLOCK, ROW, PATH = "recdash_file", "recdash_block", "recdash_row", "recdash_path"
"""Columns that are added to keep the order of rows: number of the file, byte at which a block of it begins,
number of the row within it.
"""
_LOCAL = "^file:/+"
"""The beginning of local paths, which Spark writes in two ways, and what replaces it."""
MESSAGE = "message binary"
TABLE = "table:"
CSV = {"csv": ",", "tsv": "\t"}
_CSV_OPTIONS = {
    "header": True,
    "inferSchema": False,
    "escape": '"',
    "mode": "FAILFAST",
    "enforceSchema": False,
}
"""Every value stays text, as in the file, so that ids keep their zeros."""


@dataclass(frozen=True)
class Spark:
    """The engine that reads and matches lists on a Spark cluster.

    ``master`` is the address of the cluster: ``local[*]``, ``spark://host:7077``, ``yarn``, ``k8s://…``, or
    ``sc://host`` for Spark Connect; with None the active session, or Spark's own default. ``settings`` are
    properties of a session that is started for it, such as ``spark.executor.memory``.
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def read(
        self,
        source: Any,
        *,
        name: str | None = None,
        mapping: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        order: Order | None = None,
    ) -> list[Recommendations]:
        """Returns the candidates in ``source``: a Spark data frame, ``table:NAME``, or the path of Parquet or
        CSV files that all executors can read.

        Raises InputError for tables that this engine does not read.
        """
        from recdash import ingest

        rows = SparkRows(source, None) if is_spark_frame(source) else self._rows(source)
        with _told_by_spark(name or "run"):
            runs = ingest.read_recommendations(rows, name=name, mapping=mapping, limits=limits, order=order)
        rows.user, rows.needed = _user_and_needed(rows, runs)
        return [replace(run, matched_elsewhere=partial(_match, rows=rows)) for run in runs]

    def session(self) -> SparkSession:
        """Returns the active session, or a new one. Raises InputError without PySpark or Java."""
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            fix = "Install it: pip install 'recdash[spark]'. It needs Java 17 or later."
            raise InputError(Problem("no-spark", "engine", "PySpark is not installed", fix)) from None
        active = SparkSession.getActiveSession()
        if active is not None and self.master is None:
            return active
        builder = SparkSession.builder.appName("recdash")
        for name, value in {**_OWN_SETTINGS, **self.settings}.items():
            builder = builder.config(name, value)
        if self.master is not None and self.master.startswith("sc://"):
            builder = builder.remote(self.master)
        elif self.master is not None:
            builder = builder.master(self.master)
        if (self.master or "local").startswith("local"):  # else executors run another Python
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        return builder.getOrCreate()

    def _rows(self, source: Any) -> SparkRows:
        if not isinstance(source, str | Path):
            finding = f"{type(source).__name__} is not read by Spark"
            fix = "Give a Spark data frame, table:NAME, or the path of Parquet or CSV files."
            raise UploadError(Problem("bad-source", "source", finding, fix))
        place = str(source)
        if place.startswith(TABLE):
            return SparkRows(self.session().table(place.removeprefix(TABLE)), None)
        kind = _kind_of(place)
        read = self.session().read
        with _told_by_spark(place):
            if kind == "parquet":
                frame = read.parquet(place)
            else:
                frame = read.options(**_CSV_OPTIONS, sep=CSV[kind]).csv(place)
            return SparkRows(frame, in_order(frame.inputFiles()))


_OWN_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "262144",
    "spark.ui.showConsoleProgress": "false",
}


def _user_and_needed(rows: SparkRows, runs: Sequence[Recommendations]) -> tuple[str, list[str]]:
    """Returns the column of users, and the columns that an executor needs.

    Raises InputError if no column of the data frame holds the users alone.
    """
    names = rows.schema.names
    user = runs[0].mapping.get("user_id", "")
    if user not in names:
        finding, fix = "its users are inside another column", "Give them a column of their own."
        raise UploadError(Problem("spark-layout", "column 'user_id'", finding, fix))
    used = {column if column in names else column.removeprefix("-") for column in runs[0].mapping.values()}
    is_plain = len(runs) == 1 and runs[0].replicate is None and used <= set(names)
    return user, [name for name in names if name in used] if is_plain else list(names)


def _kind_of(place: str) -> str:
    """Returns whether the files at a path are parquet, csv or tsv. Raises InputError for others."""
    path = Path(place)
    names = [file.name for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path.name]
    kinds = {
        part
        for name in names
        if not name.startswith(("_", "."))
        for part in name.lower().split(".")[1:]
        if part in {"parquet", *CSV}
    }
    if len(kinds) == 1:
        return kinds.pop()
    if not kinds and "://" in place:
        return "parquet"
    finding = f"these files are {' and '.join(sorted(kinds)) or 'neither Parquet nor CSV'}"
    fix = "Give files that end in .parquet, .csv or .tsv, or let the local engine read them."
    raise UploadError(Problem("spark-format", f"file '{place}'", finding, fix))


# ── rows ─────────────────────────────────────────────────────────────────────────────────────


class SparkRows(Relation):
    """The rows of a Spark data frame: in the driver all of them, in an executor those of one partition.

    ``files`` are its files in the order of a local reading; None if rows have no order, as in a table. Only
    what an executor needs is pickled; ``part`` is the table of its partition.
    """

    form = "Spark data frame"

    def __init__(self, frame: DataFrame, files: Sequence[str] | None) -> None:
        self.frame = frame
        self.files = files
        self.user = ""
        self.needed: Sequence[str] = ()
        self.part: pa.Table | None = None
        self.schema = self._first.schema

    def __getstate__(self) -> dict[str, Any]:
        return {"user": self.user, "part": None, "schema": self.schema}

    @cached_property
    def _first(self) -> pa.Table:
        return self.frame.limit(SAMPLE_ROWS).toArrow()

    def first(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yields batches with the first rows."""
        return iter(self._first.select(list(columns)).to_batches())

    def place(self, row: int) -> str:
        """Returns where the row with this index is."""
        return f"row {row + 1} of a partition"

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yields record batches of these columns, of at most so many rows; the rows of a user together."""
        if self.part is not None:
            yield from self.part.select(list(columns)).to_batches(rows)
            return
        frame = self.by_user(columns) if self.user else self.frame.select(*map(_quoted, columns))
        # the columns are chosen by the first rows: a task that brings these alone, not its whole partition
        first = [] if self.user else frame.mapInArrow(_as_first_message, MESSAGE).take(1)
        yield from _batches_in(first, columns, rows)
        # one partition at a time, as the driver holds it whole
        messages = frame.mapInArrow(_as_messages, MESSAGE).toLocalIterator()
        yield from _batches_in(islice(messages, len(first), None), columns, rows)

    def by_user(self, columns: Sequence[str]) -> DataFrame:
        """Returns the columns with all rows of a user in one partition, one after the other, in the order of
        the files if they have one.
        """
        from pyspark.sql import functions as F  # noqa: N812 its usual name

        user = _quoted(self.user)
        names = list(dict.fromkeys((*map(_quoted, columns), user)))
        if self.files is None:
            return self.frame.repartition(F.col(user)).sortWithinPartitions(user).select(*names)
        place = [F.col("_metadata.file_block_start").alias(BLOCK), F.monotonically_increasing_id().alias(ROW)]
        if len(self.files) == 1:
            frame, order = self.frame.select(*names, *place), [BLOCK, ROW]
        else:
            numbers = pa.table(
                {
                    PATH: [re.sub(_LOCAL, "/", file) for file in self.files],
                    FILE: pa.array(range(len(self.files)), pa.int32()),
                }
            )
            known = F.broadcast(self.frame.sparkSession.createDataFrame(numbers))
            frame = self.frame.select(
                *names, *place, F.regexp_replace("_metadata.file_path", _LOCAL, "/").alias(PATH)
            )
            unknown = F.raise_error(F.lit("a file has no known place among the files")).cast("int")
            number = F.coalesce(F.col(FILE), unknown).alias(FILE)
            frame = frame.join(known, PATH, "left").select(*names, number, BLOCK, ROW)
            order = [FILE, BLOCK, ROW]
        return frame.repartition(F.col(user)).sortWithinPartitions(user, *order).select(*names)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _batches_in(messages: Iterable[Row], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    for row in messages:
        with pa.ipc.open_stream(row.message) as reader:
            for batch in reader:
                yield from pa.Table.from_batches([batch]).select(list(columns)).to_batches(rows)


def _as_first_message(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return islice(_as_messages(batches), 1)


def _as_messages(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields each batch as an Arrow stream in one cell."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"message": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


# ── matching ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PartOutcome:
    """What came back from one partition: what was collected, or the problems of its rows."""

    matched: MatchedPart | None
    notices: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    version: str = __version__


def _match(
    run: Recommendations,
    reference: Reference,
    *,
    depth: int,
    order: Order | None,
    ties: Any,
    duplicates: Any,
    rows: SparkRows,
    exposure: bool,
    list_metrics: Any,
    shown_to: Any,
) -> tuple[Hits, list[Problem]]:
    """Returns what ``match`` returns, computed by the executors. Raises InputError for invalid rows."""
    plan = first_plan(run, order, ties, duplicates)
    if plan.order == "file":
        finding = "neither ranks nor scores, and Spark does not keep the order of rows"
        fix = "Add a column of ranks or scores, or let the local engine read the table."
        raise InputError(Problem("no-row-order", f"run '{run.name}'", finding, fix))
    # what an executor does not use is not sent to it
    sent = replace(reference, tables={}, notices=(), train_ids=None, history=None)
    request = MatchRequest(sent, depth, plan, exposure, list_metrics or {}, shown_to)
    here = replace(run, matched_elsewhere=None)
    frame = rows.by_user(rows.needed)
    match_rows = _matcher_of(here, rows, request)
    with _told_by_spark(run.name):
        pieces = frame.mapInArrow(match_rows, "outcome binary").collect()
    outcomes = [_unpacked(piece.outcome) for piece in pieces]
    _refuse_problems(run, outcomes)
    parts = [outcome.matched for outcome in outcomes if outcome.matched is not None]
    known = {(notice.code, notice.place) for notice in run.notices}
    further = [own for outcome in outcomes for own in outcome.notices if (own.code, own.place) not in known]
    run.notices.extend(_together(further))
    whole = replace(request, reference=reference)
    return add_parts(parts, here, whole, keeps_order=rows.files is not None)


def _matcher_of(
    run: Recommendations, rows: SparkRows, request: MatchRequest
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function that matches the rows of one partition."""

    def match_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if held:
            # run.batches reads these rows: both were pickled together
            rows.part = pa.Table.from_batches(held)
            run.notices.clear()
            yield pa.record_batch({"outcome": pa.array([_packed(_outcome(run, request))], pa.binary())})

    return match_rows


def _outcome(run: Recommendations, request: MatchRequest) -> PartOutcome:
    try:
        matched = match_part(run, request)
    except InputError as error:
        return PartOutcome(None, problems=tuple(error.problems))
    return PartOutcome(matched, tuple(run.notices))


def _packed(outcome: PartOutcome) -> bytes:
    data = pickle.dumps(outcome, protocol=5)
    return len(data).to_bytes(8, "little") + pa.Codec("zstd").compress(data, asbytes=True)


def _unpacked(data: bytes) -> PartOutcome:
    size = int.from_bytes(data[:8], "little")
    outcome: PartOutcome = pickle.loads(  # noqa: S301 an executor runs what this process sends it
        pa.Codec("zstd").decompress(data[8:], size, asbytes=True)
    )
    if outcome.version != __version__:
        finding = f"the executors have recdash {outcome.version}, this process {__version__}"
        raise InputError(Problem("spark-versions", "engine", finding, "Install the same version in both."))
    return outcome


MOST_PROBLEMS = 20


def _refuse_problems(run: Recommendations, outcomes: Sequence[PartOutcome]) -> None:
    """Raises the problems of all partitions; one for those of the same kind and place."""
    problems = {(problem.code, problem.place): problem for own in outcomes for problem in own.problems}
    if problems:
        raise UploadError(list(problems.values())[:MOST_PROBLEMS], run.name)


def _together(notices: Sequence[Problem]) -> list[Problem]:
    """Returns the notices of all partitions: those of the same kind and place as one, with their sum."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for notice in notices:
        groups.setdefault((notice.code, notice.place), []).append(notice)
    return [group[0] if len(group) == 1 else _sum_of(group) for group in groups.values()]


def _sum_of(group: Sequence[Problem]) -> Problem:
    largest, total = max(group, key=lambda notice: notice.count), sum(notice.count for notice in group)
    finding = f"{largest.found} in one of {len(group)} partitions, {total:,} in all"
    return replace(largest, found=finding, count=total)


class _told_by_spark:  # noqa: N801 a context manager
    """Raises InputError in place of the errors of Spark, with what it says and what to do."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or not type(error).__module__.startswith(("pyspark", "py4j")):
            return
        text = str(error)
        if "No module named 'recdash" in text or "No module named 'pyarrow" in text:
            fix = "Install the same version of recdash in the Python of the executors (PYSPARK_PYTHON)."
            problem = Problem("spark-executors", "engine", "the executors do not have recdash", fix)
        else:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            finding = f"Spark says: {lines[0] if lines else type(error).__name__}"
            problem = Problem("spark-failed", f"'{self._name}'", finding[:500], "The log of Spark says more.")
        raise InputError(problem) from error
