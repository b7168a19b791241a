"""The rows of a Spark data frame: as a table that is read block by block, and as partitions of users that are
computed where they are.

Each partition is read and computed in its executor; the driver gets what was computed.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from recdash.errors import InputError, Problem, UploadError
from recdash.ingest.formats.raw_table import SAMPLE_ROWS
from recdash.ingest.formats.relation import Relation
from recdash.ingest.sources.address import USER
from recdash.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

Compute = Callable[[], tuple[Any, Sequence[Problem]]]
"""What is called for each partition: it returns a value and notices."""
FILE, BLOCK, ROW, PATH = "recdash_file", "recdash_block", "recdash_row", "recdash_path"
"""Columns that are added to keep the order of rows: number of the file, byte at which a block of it begins,
number of the row within it.
"""
_LOCAL = "^file:/+"
"""The beginning of local paths, which Spark writes in two ways, and what replaces it."""
MESSAGE = "message binary"


class SparkRows(Relation):
    """The rows of a Spark data frame: in the driver all of them, in an executor those of one partition.

    ``files`` are its files in the order of a local reading; None if rows have no order, as in a table; then
    those of a user are ordered by the columns ``order``. Only what an executor needs is pickled; ``part`` is
    the table of its partition.
    """

    form = "Spark data frame"

    def __init__(self, frame: DataFrame, files: Sequence[str] | None) -> None:
        self.frame = frame
        self.files = files
        self.user = ""
        self.needed: Sequence[str] = ()
        self.order: Sequence[str] = ()
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
            by = dict.fromkeys((user, *map(_quoted, self.order)))
            return self.frame.select(*names).repartition(F.col(user)).sortWithinPartitions(*by)
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

    def of_parts(self, compute: Compute, name: str) -> tuple[list[Any], list[Problem]]:
        """Returns what ``compute`` returns in the executor of each partition, and the notices of all.

        It returns a value that can be pickled, with notices. When it is called, these rows are those of its
        partition. Raises UploadError with the problems of all partitions; ``name`` is the table's.
        """
        compute_part = _computer_of(self, compute)
        with told_by_spark(name):
            pieces = self.by_user(self.needed).mapInArrow(compute_part, "outcome binary").collect()
        outcomes = [_unpacked(piece.outcome) for piece in pieces]
        _refuse_problems(name, outcomes)
        notices = [notice for outcome in outcomes for notice in outcome.notices]
        return [outcome.computed for outcome in outcomes], notices


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


# ── parts ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PartOutcome:
    """What came back from one partition: what was computed with its notices, or the problems of its rows."""

    computed: Any
    notices: tuple[Problem, ...] = ()
    problems: tuple[Problem, ...] = ()
    version: str = __version__


def _computer_of(
    rows: SparkRows, compute: Compute
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Returns the function that computes the outcome of one partition."""

    def compute_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [batch for batch in batches if batch.num_rows]
        if held:
            # what is computed reads these rows: both were pickled together
            rows.part = pa.Table.from_batches(held)
            yield pa.record_batch({"outcome": pa.array([_packed(_outcome(compute))], pa.binary())})

    return compute_part


def _outcome(compute: Compute) -> PartOutcome:
    try:
        computed, notices = compute()
    except InputError as error:
        return PartOutcome(None, problems=tuple(error.problems))
    return PartOutcome(computed, tuple(notices))


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


def _refuse_problems(name: str, outcomes: Sequence[PartOutcome]) -> None:
    """Raises the problems of all partitions; one for those of the same kind and place."""
    problems = {(problem.code, problem.place): problem for own in outcomes for problem in own.problems}
    if problems:
        raise UploadError(list(problems.values())[:MOST_PROBLEMS], name)


def further_notices(notices: Sequence[Problem], known: Sequence[Problem]) -> list[Problem]:
    """Returns the notices of all partitions that are not known: those of the same kind and place as one, with
    their sum.
    """
    kinds_known = {(notice.code, notice.place) for notice in known}
    notices = [notice for notice in notices if (notice.code, notice.place) not in kinds_known]
    groups: dict[tuple[str, str], list[Problem]] = {}
    for notice in notices:
        groups.setdefault((notice.code, notice.place), []).append(notice)
    return [group[0] if len(group) == 1 else _sum_of(group) for group in groups.values()]


def _sum_of(group: Sequence[Problem]) -> Problem:
    largest, total = max(group, key=lambda notice: notice.count), sum(notice.count for notice in group)
    finding = f"{largest.found} in one of {len(group)} partitions, {total:,} in all"
    return replace(largest, found=finding, count=total)


class told_by_spark:  # noqa: N801 a context manager
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
            finding = f"Spark says: {USER.sub('//', _cause(text)) or type(error).__name__}"
            problem = Problem("spark-failed", f"'{self._name}'", finding[:500], "The log of Spark says more.")
        raise InputError(problem) from error


_OF_JAVA = re.compile(r"(?:Caused by)?: (?:[\w$.]+: )?")
"""What Java writes before the words of an error."""


def _cause(text: str) -> str:
    """Returns the first line of an error of Spark; of one of Java, the words of its last cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    of_java = [_OF_JAVA.sub("", line, count=1) for line in lines if _OF_JAVA.match(line)]
    return (of_java[-1:] or lines[:1] or [""])[0]
