"""The tables of the database, and the conversion between domain values and rows.

A row has the same attributes as its domain value, so that the conversion is one line in each direction.
Column types convert what SQL has no type for (mappings, notices, arrays).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Any

import numpy as np
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    event,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from recdash.domain.journal import ApiToken, AuditEvent, Entry, Report, SavedView, ShareLink
from recdash.domain.kinds import Floats, Ints
from recdash.domain.records import Experiment, KeptEstimate, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import EvidenceDamaged, Problem
from recdash.store.checksums import NAME, checksum, in_utc, key_checksum, seal

# ── column types ─────────────────────────────────────────────────────────────────────────────


class UtcTime(TypeDecorator[datetime]):
    """A column for times, stored as UTC and returned with that zone.

    Storing a time without a zone raises an error.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if not isinstance(value, datetime):  # None, or a damaged time (see ``_as_stored``)
            return value
        return in_utc(value)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return _as_stored(super().result_processor(dialect, coltype))


def _as_stored(read: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """Returns a reader of column values that returns unreadable values unchanged in place of raising an
    error.

    The row's checksum reveals them later, and the other rows stay readable.
    """

    def read_or_leave(value: Any) -> Any:
        try:
            return value if read is None else read(value)
        except (ValueError, TypeError):
            return value

    return read_or_leave


class Json(TypeDecorator[str]):
    """A column for JSON stored as text, because PostgreSQL's own type refuses NaN, which results contain.

    ``Kind`` converts the text, so that a damaged document affects only its own row.
    """

    impl = Text
    cache_ok = True

    def write(self, value: Any) -> str:
        return json.dumps(value, default=_plain)

    def read(self, text: str) -> Any:
        """Returns the value of the text.

        Raises ``ValueError`` or ``TypeError`` for text that recdash did not write.
        """
        return json.loads(text)


class JsonTuple(Json):
    """A column for a JSON list that is a tuple in Python."""

    cache_ok = True

    def read(self, text: str) -> tuple[Any, ...]:
        return tuple(json.loads(text))


class ProblemList(Json):
    """A column for a JSON list of ``Problem`` values."""

    cache_ok = True

    def read(self, text: str) -> tuple[Problem, ...]:
        return tuple(Problem(**problem) for problem in json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, Problem):
        return {name: fact for name, fact in asdict(value).items() if name != "example"}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be stored as JSON")


# ── tables ───────────────────────────────────────────────────────────────────────────────────


class Base(DeclarativeBase):
    # Names for every constraint: a batch migration finds constraints by name only.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class WithChecksum:
    """A row with a checksum of its columns, which is computed whenever a session writes the row.

    A migration that changes stored values, or adds a non-nullable column, must compute the checksums again.
    The seals in the audit log would no longer match such rows: ``replay`` must then know the migration.
    """

    checksum: Mapped[str] = mapped_column(Text, server_default="")


@event.listens_for(WithChecksum, "before_insert", propagate=True)
@event.listens_for(WithChecksum, "before_update", propagate=True)
def _seal(_mapper: Any, _connection: Any, row: Any) -> None:
    row.checksum = checksum(columns_of(row))


def columns_of(row: Any) -> dict[str, Any]:
    """Returns all columns of a row as they are stored."""
    return {name: getattr(row, name) for name in _column_names(row.__table__)}


@cache
def _column_names(table: Table) -> tuple[str, ...]:
    return tuple(table.columns.keys())


class OfExperiment(WithChecksum):
    """A row that belongs to an experiment and is deleted with it."""

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    experiment: Mapped[str] = mapped_column(ForeignKey("experiment.id", ondelete="CASCADE"))
    created: Mapped[datetime] = mapped_column(UtcTime)


class StoreRow(Base):
    """The only row of its table; its id names the store and the folder of the store's files."""

    __tablename__ = "store"

    id: Mapped[str] = mapped_column(Text, primary_key=True)


class ArtifactRow(Base):
    """A stored file that an experiment, run, online test or report needs, or needed before (see
    ``collect``).
    """

    __tablename__ = "artifact"

    sha256: Mapped[str] = mapped_column(Text, primary_key=True)
    n_bytes: Mapped[int] = mapped_column(BigInteger)
    created: Mapped[datetime] = mapped_column(UtcTime)


class ExperimentRow(WithChecksum, Base):
    __tablename__ = "experiment"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    name: Mapped[str] = mapped_column(Text, unique=True)
    created: Mapped[datetime] = mapped_column(UtcTime)
    truth: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"))
    train: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"))
    catalogue: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"))
    # Kind → sha256. No foreign keys: an experiment's value says what it needs (see ``Kind.needs``).
    tables: Mapped[Any] = mapped_column(Json, server_default="{}")
    settings: Mapped[Any] = mapped_column(Json)
    # No foreign key: experiment and run would refer to each other; deleting the run clears it.
    baseline: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    archived: Mapped[datetime | None] = mapped_column(UtcTime)
    demo: Mapped[bool] = mapped_column(Boolean)
    next_slot: Mapped[int] = mapped_column(Integer, default=0)

    def __init__(self, **columns: Any) -> None:
        super().__init__(**{"next_slot": 0, **columns})


_CANDIDATES: Mapping[str, Any] = {
    f"{dialect}_where": text("replicate_of IS NULL") for dialect in ("sqlite", "postgresql")
}


class RunRow(OfExperiment, Base):
    __tablename__ = "run"
    # Replicates share the table but not the names: theirs are labels, unique within a candidate.
    __table_args__ = (
        Index("uq_run_experiment_name", "experiment", "name", unique=True, **_CANDIDATES),
        Index("uq_run_replicate_name", "replicate_of", "name", unique=True),
        UniqueConstraint("experiment", "slot"),
        Index(None, "experiment", "upload"),
    )

    name: Mapped[str] = mapped_column(Text)
    slot: Mapped[int] = mapped_column(Integer)
    upload: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"))
    hits: Mapped[Any] = mapped_column(Json)
    ledger: Mapped[Any] = mapped_column(Json)
    notices: Mapped[Any] = mapped_column(ProblemList)
    tags: Mapped[Any] = mapped_column(JsonTuple)
    note: Mapped[str] = mapped_column(Text)
    params: Mapped[Any] = mapped_column(Json)
    absent: Mapped[Any] = mapped_column(Json)
    provenance: Mapped[Any] = mapped_column(Json)
    archived: Mapped[datetime | None] = mapped_column(UtcTime)
    replicate_of: Mapped[str | None] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))


class CurveRow(Base):
    """A metric of a run at every cutoff.

    The cutoffs are 1..``depth``, or else ``k`` as little-endian int32 (empty for a metric without cutoff).
    ``value`` and ``std_error`` are little-endian float64. ``checksum`` begins with a checksum of run and
    metric, which can be verified without reading the numbers.
    """

    __tablename__ = "curve"
    __table_args__ = (CheckConstraint("(depth IS NULL) <> (k IS NULL)", name="cutoffs"),)

    run: Mapped[str] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    metric: Mapped[str] = mapped_column(Text, primary_key=True)
    depth: Mapped[int | None] = mapped_column(Integer)
    k: Mapped[bytes | None] = mapped_column(LargeBinary)
    value: Mapped[bytes] = mapped_column(LargeBinary)
    std_error: Mapped[bytes] = mapped_column(LargeBinary)
    n_users: Mapped[int] = mapped_column(BigInteger)
    checksum: Mapped[str] = mapped_column(Text, server_default="")


class OnlineTestRow(OfExperiment, Base):
    __tablename__ = "online_test"
    __table_args__ = (UniqueConstraint("experiment", "name"),)

    name: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    upload: Mapped[str] = mapped_column(ForeignKey("artifact.sha256"))
    control: Mapped[str] = mapped_column(Text)
    tables: Mapped[Any] = mapped_column(Json, server_default="{}")
    rules: Mapped[Any] = mapped_column(Json, server_default="{}")
    metrics: Mapped[Any] = mapped_column(JsonTuple, server_default="[]")
    removed: Mapped[Any] = mapped_column(JsonTuple, server_default="[]")
    links: Mapped[Any] = mapped_column(Json)
    results: Mapped[Any] = mapped_column(JsonTuple)
    notices: Mapped[Any] = mapped_column(ProblemList)
    archived: Mapped[datetime | None] = mapped_column(UtcTime)


class EntryRow(OfExperiment, Base):
    """An entry in an experiment's journal, which never changes."""

    __tablename__ = "entry"
    __table_args__ = (Index(None, "experiment", "created"),)

    author: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    about: Mapped[str | None] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    facts: Mapped[Any] = mapped_column(Json)


class ReportRow(OfExperiment, Base):
    __tablename__ = "report"
    __table_args__ = (Index(None, "experiment"),)

    author: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    narrative: Mapped[str] = mapped_column(Text)
    blocks: Mapped[Any] = mapped_column(JsonTuple)
    question: Mapped[Any] = mapped_column(Json)
    document: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"))
    archived: Mapped[datetime | None] = mapped_column(UtcTime)


class ShareLinkRow(OfExperiment, Base):
    __tablename__ = "share_link"
    __table_args__ = (Index(None, "experiment"),)

    author: Mapped[str] = mapped_column(Text)
    expires: Mapped[datetime] = mapped_column(UtcTime)
    report: Mapped[str | None] = mapped_column(ForeignKey("report.id", ondelete="CASCADE"))
    label: Mapped[str] = mapped_column(Text)
    revoked: Mapped[datetime | None] = mapped_column(UtcTime)
    numbers_only: Mapped[bool | None] = mapped_column(Boolean)


class LinkUseRow(Base):
    """When a share link was last used, and how often it was opened."""

    __tablename__ = "link_use"

    link: Mapped[str] = mapped_column(ForeignKey("share_link.id", ondelete="CASCADE"), primary_key=True)
    last: Mapped[datetime] = mapped_column(UtcTime)
    n_opened: Mapped[int] = mapped_column(Integer)


class ApiTokenRow(WithChecksum, Base):
    """A token of the HTTP API, which belongs to no experiment."""

    __tablename__ = "api_token"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    created: Mapped[datetime] = mapped_column(UtcTime)
    author: Mapped[str] = mapped_column(Text)
    label: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(Text)
    expires: Mapped[datetime | None] = mapped_column(UtcTime)
    revoked: Mapped[datetime | None] = mapped_column(UtcTime)


class TokenUseRow(Base):
    """When a token of the HTTP API was last used."""

    __tablename__ = "token_use"

    token: Mapped[str] = mapped_column(ForeignKey("api_token.id", ondelete="CASCADE"), primary_key=True)
    last: Mapped[datetime] = mapped_column(UtcTime)


class EndedSessionRow(Base):
    """A sign-in session that was ended by its user, kept until its cookie expires."""

    __tablename__ = "ended_session"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    until: Mapped[datetime] = mapped_column(UtcTime)


class LibraryMetricRow(Base):
    """The definition of a metric that all A/B tests of the store have in common."""

    __tablename__ = "library_metric"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    facts: Mapped[str] = mapped_column(Text)


class SavedViewRow(OfExperiment, Base):
    __tablename__ = "saved_view"
    __table_args__ = (Index(None, "experiment"),)

    name: Mapped[str] = mapped_column(Text, unique=True)
    author: Mapped[str] = mapped_column(Text)
    page: Mapped[str] = mapped_column(Text)
    params: Mapped[Any] = mapped_column(Json)


class KeptEstimateRow(OfExperiment, Base):
    """An off-policy estimate, which never changes.

    ``run`` has no foreign key: the estimate stays when the run is deleted.
    """

    __tablename__ = "off_policy_estimate"
    __table_args__ = (Index(None, "experiment"),)

    author: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    run: Mapped[str | None] = mapped_column(Text)
    facts: Mapped[Any] = mapped_column(Json)


class AuditEventRow(Base):
    """An event of the audit log. It has no foreign keys, so that it stays when its target is deleted."""

    __tablename__ = "deed"

    number: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    at: Mapped[datetime] = mapped_column(UtcTime)
    who: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    target: Mapped[str] = mapped_column(Text)
    details: Mapped[Any] = mapped_column(Json)
    hash: Mapped[str] = mapped_column(Text)


RESTORE = "Restore the database from a backup."
UPLOAD_AGAIN = "Upload it again under the same name, or restore the database from a backup."
DAMAGED = "damaged: the stored value is not what was written, so no number is computed from it"


# ── values ↔ rows ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Kind:
    """A kind of stored record: its noun, value type and row type.

    ``files`` are the fields that name the files which a value needs: a sha256, or {name: sha256}.
    ``changes`` are the only fields that may change, for records that people write; None allows all but
    ``FIXED``. ``repair`` says how to repair a damaged record.
    """

    word: str
    value: type[Any]
    row: type[Any]
    files: tuple[str, ...] = ()
    changes: frozenset[str] | None = None
    repair: str = RESTORE

    def needs(self, value: Any) -> frozenset[str]:
        """Returns the sha256 of every file that a value needs. Raises ``TypeError`` if a field names none."""
        named = [getattr(value, field) for field in self.files]
        return frozenset().union(*map(_hashes, named))

    # Kept, because they are needed for each row that is read.
    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self.value))

    @cached_property
    def _documents(self) -> dict[str, Json]:
        """Returns {name: type} of the fields that are stored as JSON."""
        types = {name: self.row.__table__.c[name].type for name in self.names}
        return {name: kind for name, kind in types.items() if isinstance(kind, Json)}

    @property
    def changeable(self) -> frozenset[str]:
        return frozenset(self.names) - FIXED if self.changes is None else self.changes

    def has(self, field: str) -> bool:
        return field in self.names

    def home_of(self, thing: Any) -> str | None:
        """Returns the id of the experiment to which a value or row belongs; None if it belongs to none."""
        if self.has("experiment"):
            return str(thing.experiment)
        return str(thing.id) if self.value is Experiment else None

    def to_value(self, row: Any) -> Any:
        """Returns the value of a row. Raises ``EvidenceDamaged`` if its checksum does not match."""
        if not is_intact(row):
            raise EvidenceDamaged(self.damage(row))
        return self.unchecked(row)

    def unchecked(self, row: Any) -> Any:
        """Returns the value of a row without verifying its checksum.

        Raises ``EvidenceDamaged`` if it is unreadable.
        """
        stored = {name: getattr(row, name) for name in self.names}
        try:
            documents = {name: kind.read(stored[name]) for name, kind in self._documents.items()}
            value = self.value(**(stored | documents))
            self.needs(value)
        except (ValueError, TypeError, RecursionError):
            raise EvidenceDamaged(self.damage(row)) from None
        return value

    def to_row(self, value: Any) -> Any:
        return self.row(**self.columns(value))

    def columns(self, value: Any) -> dict[str, Any]:
        """Returns the columns of a value's row: {name: stored value}."""
        columns = {name: getattr(value, name) for name in self.names}
        return columns | {name: kind.write(columns[name]) for name, kind in self._documents.items()}

    def damage(self, row: Any) -> Problem:
        """Returns the problem to report for a damaged row, with how to repair it."""
        place = f"{self.word} '{row.name}'" if self.has("name") else f"{self.word} {row.id}"
        return Problem("damaged", place, DAMAGED, self.repair)


def _hashes(named: str | Mapping[str, str] | None) -> frozenset[str]:
    """Returns the sha256 that a field names. Raises ``TypeError`` for a field of another form."""
    if named is None:
        return frozenset()
    if not isinstance(named, str | Mapping):
        raise TypeError(f"{named!r} names no files")
    hashes = [named] if isinstance(named, str) else list(named.values())
    if not all(isinstance(sha256, str) for sha256 in hashes):
        raise TypeError(f"{named!r} names no files")
    return frozenset(hashes)


EXPERIMENT = Kind("experiment", Experiment, ExperimentRow, ("truth", "train", "catalogue", "tables"))
RUN = Kind("run", Run, RunRow, ("upload", "hits"), repair=UPLOAD_AGAIN)
ONLINE_TEST = Kind("online test", OnlineTest, OnlineTestRow, ("upload", "tables"), repair=UPLOAD_AGAIN)
ENTRY = Kind("entry", Entry, EntryRow, changes=frozenset())
REPORT = Kind("report", Report, ReportRow, ("document",), changes=frozenset({"archived"}))
SHARE_LINK = Kind("share link", ShareLink, ShareLinkRow, changes=frozenset({"revoked"}))
SAVED_VIEW = Kind("saved view", SavedView, SavedViewRow, changes=frozenset())
API_TOKEN = Kind("API token", ApiToken, ApiTokenRow, changes=frozenset({"revoked"}))
ESTIMATE = Kind("off-policy estimate", KeptEstimate, KeptEstimateRow, changes=frozenset())
KINDS = (EXPERIMENT, RUN, ONLINE_TEST, ENTRY, REPORT, SHARE_LINK, SAVED_VIEW, API_TOKEN, ESTIMATE)

# These fields identify a stored record and never change.
FIXED = frozenset({"id", "experiment", "created", "slot", "replicate_of", "author"})


def audit_event_of(row: AuditEventRow) -> AuditEvent:
    """Returns the event in a row of the audit log.

    If the row is unreadable, the event's details say so, which breaks the chain of hashes at this line.
    """
    columns = {field.name: getattr(row, field.name) for field in fields(AuditEvent)}
    try:
        columns["details"] = json.loads(row.details)
    except (ValueError, TypeError, RecursionError):
        columns["details"] = {"damaged": str(row.details)}
    if not isinstance(columns["at"], datetime):
        columns.update(at=datetime.min.replace(tzinfo=UTC), details={"damaged": str(row.at)})
    return AuditEvent(**columns)


def is_intact(row: Any) -> bool:
    """Returns whether a row is intact, that is, matches its checksum."""
    return bool(row.checksum == _checksum_of(row))


def links_of(test: OnlineTestRow) -> dict[str, str]:
    """Returns {variant: id of the run that it served} of an online test."""
    links: dict[str, str] = json.loads(test.links)
    return links


def seal_of(kind: Kind, row: Any) -> str | None:
    """Returns the seal of all fields of a row; None if recdash cannot have written the values."""
    try:
        return seal({name: getattr(row, name) for name in kind.names})
    except (TypeError, UnicodeError):
        return None


def seal_of_curves(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns the seal of all curves of a run, given by the columns of their rows, in any order."""
    return seal({str(columns["metric"]): seal(columns) for columns in rows})


def _checksum_of(row: Any) -> str | None:
    """Returns the checksum of a row's current columns; None if recdash cannot have written the values."""
    try:
        return checksum(columns_of(row))
    except (TypeError, UnicodeError):
        return None


def curve_columns(run: str, curve: Curve) -> dict[str, Any]:
    """Returns the columns of a curve's row. Raises ``ValueError`` if the curve's arrays differ in length."""
    n = max(len(curve.k), 1)
    if curve.value.shape != (n,) or curve.std_error.shape != (n,):
        raise ValueError(f"{curve.metric}: {len(curve.k)} cutoffs need {n} values and standard errors")
    columns = {
        "run": run,
        "metric": curve.metric,
        **_cutoff_columns(curve.k),
        "value": curve.value.astype("<f8").tobytes(),
        "std_error": curve.std_error.astype("<f8").tobytes(),
        "n_users": int(curve.n_users),
    }
    return {**columns, NAME: key_checksum(run, curve.metric) + checksum(columns)}


def _cutoff_columns(k: Ints) -> dict[str, Any]:
    if len(k) and np.array_equal(k, np.arange(1, len(k) + 1)):
        return {"depth": len(k), "k": None}
    return {"depth": None, "k": np.asarray(k).astype("<i4").tobytes()}


def curve_of(row: CurveRow) -> Curve | Unavailable:
    """Returns the curve of a row; ``Unavailable`` for a damaged row."""
    of_columns = _checksum_of(row)
    if of_columns is None or row.checksum != key_checksum(row.run, row.metric) + of_columns:
        return Unavailable(row.metric, CURVE_DAMAGED)
    return Curve(row.metric, _cutoffs(row), _floats(row.value), _floats(row.std_error), row.n_users)


CURVE_DAMAGED = f"damaged: the stored numbers are not what was written. {UPLOAD_AGAIN}"


def has_its_key(run: Any, metric: Any, stored: Any) -> bool:
    """Returns whether run and metric of a curve's row match ``stored``, the checksum of the row."""
    if not all(isinstance(column, str) for column in (run, metric, stored)):
        return False
    return bool(stored.startswith(key_checksum(run, metric)))


def _cutoffs(row: CurveRow) -> Ints:
    if row.depth is not None:
        return np.arange(1, row.depth + 1, dtype=np.int32)
    return np.frombuffer(row.k or b"", dtype="<i4").astype(np.int32)


def _floats(blob: bytes) -> Floats:
    return np.frombuffer(blob, dtype="<f8").astype(np.float64)
