"""Reads tables on a Spark cluster, and matches lists with the test set there, by the code of one machine.

Spark brings all rows of a user into one partition. Each partition is read, checked and matched in its
executor by the local engine; what it collected adds up in the driver (``recdash.engines.parts``), which
computes the metrics. PySpark is imported when a session is needed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order
from recdash.engines import Reference
from recdash.engines.matcher import first_plan
from recdash.engines.parts import MatchedPart, MatchRequest, add_parts, match_part
from recdash.errors import InputError, Problem, UploadError
from recdash.evaluation.spark_rows import SparkRows, further_notices, told_by_spark
from recdash.ingest.parts import in_order
from recdash.ingest.sources.address import USER, address_in
from recdash.ingest.spark_frames import is_spark_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from recdash.ingest import Limits

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
    """The engine that reads and matches lists, and counts the events of A/B tests, on a Spark cluster.

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

        rows = self.rows(source)
        with told_by_spark(name or "run"):
            runs = ingest.read_recommendations(rows, name=name, mapping=mapping, limits=limits, order=order)
        rows.user, rows.needed = _user_and_needed(rows, runs)
        return [replace(run, matched_elsewhere=partial(_match, rows=rows)) for run in runs]

    def rows(self, source: Any) -> SparkRows:
        """Returns the rows of a Spark data frame, of ``table:NAME``, or of Parquet or CSV files at a path.

        Raises InputError for other sources, and for what Spark does not find.
        """
        if is_spark_frame(source):
            return SparkRows(source, None)
        if not isinstance(source, str | Path):
            finding = f"{type(source).__name__} is not read by Spark"
            fix = "Give a Spark data frame, table:NAME, or the path of Parquet or CSV files."
            raise UploadError(Problem("bad-source", "source", finding, fix))
        place = str(source)
        _refuse_address(place)
        _refuse_delta(place)
        with told_by_spark(_shown(place)):
            if place.startswith(TABLE):
                return SparkRows(self._table(place.removeprefix(TABLE)), None)
            kind = _kind_of(place)
            options = {"mergeSchema": True} if kind == "parquet" else {**_CSV_OPTIONS, "sep": CSV[kind]}
            read = self.session().read.format("parquet" if kind == "parquet" else "csv").options(**options)
            frame = read.load(place)
            files = in_order(frame.inputFiles())
            if names := _names_of_folders(place, files):
                frame = read.schema(_with_texts(frame.schema, names)).load(place)
            return SparkRows(frame, files)

    def _table(self, name: str) -> DataFrame:
        """Returns a table of Spark's catalogue. Raises InputError if there is none of this name."""
        session = self.session()
        if not _has_table(session, name):
            finding = "Spark's catalogue has no table of this name"
            fix = "Write table:DATABASE.NAME. Names of RECDASH_SOURCES are for pages and recdash push."
            raise InputError(Problem("no-table", f"'{TABLE}{name}'", finding, fix))
        return session.table(name)

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


def _has_table(session: SparkSession, name: str) -> bool:
    """Returns whether Spark's catalogue has the table; False for a text that is no name of a table."""
    from pyspark.errors import AnalysisException

    try:
        return session.catalog.tableExists(name)
    except AnalysisException:
        return False


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


NOT_OF_SPARK = ("sql", "https", "http", "hf", "delta", "iceberg")
"""Schemes of addresses that the local engine reads and Spark's files do not have."""


def _refuse_address(place: str) -> None:
    """Raises InputError for the address of a table that only the local engine reads."""
    address = address_in(place)
    if address is not None and address.scheme in NOT_OF_SPARK:
        finding = f"Spark reads no address that begins with {address.scheme}:"
        fix = "Leave --engine spark out, or give Spark's own table as table:NAME."
        raise InputError(Problem("spark-address", address.place, finding, fix))


def _refuse_delta(place: str) -> None:
    """Raises InputError for the folder of a Delta table, which has rows of older versions."""
    if (Path(place) / "_delta_log").is_dir():
        fix = "Give it as table:NAME, or leave --engine spark out and write delta:PATH."
        raise UploadError(Problem("lake-folder", place, "is a table of Delta Lake", fix))


def _shown(place: str) -> str:
    """Returns a path as it is, and an address without user, password and query string."""
    return USER.sub("//", place).partition("?")[0] if "://" in place else place


def _names_of_folders(place: str, files: Sequence[str]) -> set[str]:
    """Returns the columns whose values are in the names of folders below a place, such as ``day=1``."""
    below = str(Path(place).resolve()) if Path(place).exists() else place
    paths = [unquote(file).rpartition(below)[2] for file in files]
    return {step.partition("=")[0] for path in paths for step in path.split("/")[:-1] if "=" in step}


def _with_texts(schema: StructType, names: Collection[str]) -> StructType:
    """Returns a schema in which these columns are text: Spark takes 007 in the name of a folder for 7."""
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType(
        [StructField(own.name, StringType()) if own.name in names else own for own in schema.fields]
    )


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


# ── matching ─────────────────────────────────────────────────────────────────────────────────


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

    def match_rows() -> tuple[MatchedPart, Sequence[Problem]]:
        here.notices.clear()
        return match_part(here, request), here.notices

    known = list(run.notices)
    parts, notices = rows.of_parts(match_rows, run.name)
    run.notices.extend(further_notices(notices, known))
    whole = replace(request, reference=reference)
    return add_parts(parts, here, whole, keeps_order=rows.files is not None)
