"""The protocol of a store.

Every implementation must pass the tests in ``tests/support/store_contract.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from recdash.domain.journal import (
    ApiToken,
    AuditEvent,
    AuditResult,
    Entry,
    LinkUse,
    Report,
    SavedView,
    ShareLink,
)
from recdash.domain.records import Experiment, KeptEstimate, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.artifacts import Artifacts
    from recdash.store.backup import BackupSummary

UNUSED_FOR = timedelta(hours=24)
REFERENCE_SLOTS = 1_000_000

Value = TypeVar("Value")


@dataclass(frozen=True)
class Garbage:
    """Files that nothing needs. ``refused`` says why none is removed; empty if they are."""

    n_files: int = 0
    n_bytes: int = 0
    refused: str = ""


class ValueStore(Protocol[Value]):
    """The stored values of one kind, each of which belongs to an experiment."""

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Value]:
        """Returns the values of an experiment in the order of their kind; archived ones only if
        ``archived``.
        """

    def get(self, key: str) -> Value:
        """Returns the value with this id. Raises ``NotFound``."""


class ExperimentStore(Protocol):
    """The experiments of a store."""

    def all(self, archived: bool = False) -> list[Experiment]:
        """Returns all experiments, the newest first; archived ones only if ``archived``."""

    def get(self, key: str) -> Experiment:
        """Returns the experiment with this id. Raises ``NotFound``."""

    def named(self, name: str) -> Experiment | None:
        """Returns the experiment with exactly this name, archived or not; None if there is none."""

    def add(self, experiment: Experiment) -> Experiment:
        """Stores an experiment, and returns it as stored. The files that it needs must be stored before."""

    def update(self, key: str, **fields: Any) -> Experiment:
        """Changes fields of an experiment, and returns it. id and created cannot change; ``baseline`` must be
        a run of it.
        """

    def change(self, key: str, fields_of: Callable[[Experiment], Mapping[str, Any]]) -> Experiment:
        """Changes the fields that ``fields_of`` returns for the stored experiment, and returns the
        experiment.

        It is read and written in one transaction, so that no change of another writer is lost.
        """

    def delete(self, key: str) -> None:
        """Deletes an experiment with its runs, curves and online tests for good."""


class RunStore(ValueStore[Run], Protocol):
    """The runs of a store and their replicates.

    Runs are listed by slot, which is the order in which they were added. Replicates are not listed as runs,
    only by ``replicates``.
    """

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        """Returns the replicates of each of these runs in their order: {run id: replicates}; empty lists for
        runs without.
        """

    def name_of(self, key: str) -> str:
        """Returns the stored name of a run, even if its row is damaged. Raises ``NotFound``."""

    def find(self, experiment: str, upload_sha: str) -> Run | None:
        """Returns the run of the experiment that was made from this upload; None if there is none.

        If there are several, it prefers one that is not archived.
        """

    def add(
        self,
        run: Run,
        curves: Sequence[Curve],
        replicates: Sequence[tuple[Run, Sequence[Curve]]] = (),
    ) -> Run:
        """Stores a run with its curves and replicates, and returns it with the slot that the store assigns.

        A slot is never assigned again. Reference candidates get slots from ``REFERENCE_SLOTS``, so that they
        are listed last and use no colour. Replicates get slots below 0; their names, which are their labels,
        must differ.
        """

    def update(self, key: str, **fields: Any) -> Run:
        """Changes fields of a run, and returns it. id, experiment, created, slot and replicate_of cannot
        change.
        """

    def replace_scores(
        self,
        key: str,
        scored: Run,
        curves: Sequence[Curve],
        replicates: Sequence[tuple[Run, Sequence[Curve]]] = (),
    ) -> Run:
        """Replaces all that was computed from a run's upload, and the upload, by that of ``scored``; returns
        the run.

        The run keeps its id, slot, name and what people wrote about it. Its replicates are replaced.
        """

    def delete(self, key: str) -> None:
        """Deletes a run with its curves and replicates, and all references to it (as baseline, in online
        tests).

        Files that nothing else needs are removed with it, as with every deletion.
        """


class CurveStore(Protocol):
    """The curves of stored runs: each metric at every cutoff."""

    def of_runs(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        """Returns {run id: {canonical metric: curve}}, with an entry for every run; by default of all
        metrics.

        A damaged curve is ``Unavailable`` with the damage as its reason.
        """

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns {run id: sorted canonical metrics with a stored curve}, without reading any curve."""


class OnlineTestStore(ValueStore[OnlineTest], Protocol):
    """The online tests of a store, the newest first."""

    def name_of(self, key: str) -> str:
        """Returns the stored name of an online test, even if its row is damaged. Raises ``NotFound``."""

    def add(self, test: OnlineTest) -> OnlineTest:
        """Stores an online test, and returns it as stored. Its files must be stored before."""

    def update(self, key: str, **fields: Any) -> OnlineTest:
        """Changes fields of an online test, and returns it. id, experiment and created cannot change."""

    def delete(self, key: str) -> None:
        """Deletes an online test for good."""


class JournalStore(ValueStore[Entry], Protocol):
    """The journals of experiments, the oldest entry first.

    Single entries can neither change nor be deleted.
    """

    def add(self, entry: Entry, check: Callable[[Sequence[Entry]], None] | None = None) -> Entry:
        """Adds an entry to the journal of its experiment, unless ``check`` raises.

        ``check`` is called with the journal, the oldest entry first, while all other writers wait. Its
        exception is passed on, and nothing is added.
        """


class ReportStore(ValueStore[Report], Protocol):
    """The reports of a store, the newest first."""

    def add(self, report: Report) -> Report:
        """Stores a report, and returns it as stored. Its document must be stored before."""

    def update(self, key: str, **fields: Any) -> Report:
        """Changes fields of a report, and returns it. id, experiment, created and author cannot change."""

    def delete(self, key: str) -> None:
        """Deletes a report and the links that share it for good."""


class ShareLinkStore(ValueStore[ShareLink], Protocol):
    """The share links of experiments and their reports, the newest first; expired and revoked ones are
    included.
    """

    def add(self, link: ShareLink) -> ShareLink:
        """Stores a share link, and returns it as stored."""

    def update(self, key: str, **fields: Any) -> ShareLink:
        """Changes fields of a share link, and returns it. id, experiment, created and author cannot
        change.
        """

    def uses(self, experiment: str) -> dict[str, LinkUse]:
        """Returns {link id: use} of the experiment's links that were used."""

    def note_use(self, key: str, at: datetime, *, opened: bool) -> None:
        """Stores when a link was used, and with ``opened`` that it was opened once more.

        It is no change of the link, so the audit log does not record it. Does nothing for a deleted link.
        """


class ApiTokenStore(Protocol):
    """The tokens of the HTTP API, the newest first; expired and revoked ones are included."""

    def all(self) -> list[ApiToken]:
        """Returns all tokens."""

    def get(self, key: str) -> ApiToken:
        """Returns the token with this id. Raises ``NotFound``."""

    def add(self, token: ApiToken) -> ApiToken:
        """Stores a token, and returns it as stored."""

    def update(self, key: str, **fields: Any) -> ApiToken:
        """Changes fields of a token, and returns it. Only ``revoked`` can change."""

    def last_uses(self) -> dict[str, datetime]:
        """Returns {token id: time} of the tokens that were used."""

    def note_use(self, key: str, at: datetime) -> None:
        """Stores when a token was last used.

        It is no change of the token, so the audit log does not record it.
        """


class EndedSessionStore(Protocol):
    """The sign-in sessions that users have ended. The audit log does not record them."""

    def add(self, session: str, until: datetime, now: datetime) -> None:
        """Stores that a session has ended until its cookie expires, and removes sessions that expired before
        ``now``.
        """

    def has(self, session: str) -> bool:
        """Returns whether this session has ended."""


class MetricLibraryStore(Protocol):
    """The metrics that all A/B tests of a store have in common, as their fields by name."""

    def all(self) -> list[dict[str, Any]]:
        """Returns the fields of all metrics, sorted by name."""

    def put(self, name: str, facts: Mapping[str, Any]) -> None:
        """Stores a metric, and replaces the one of the same name."""

    def remove(self, name: str) -> None:
        """Removes a metric; does nothing if there is none of this name."""


class SavedViewStore(ValueStore[SavedView], Protocol):
    """The saved views of a store, sorted by name."""

    def named(self, name: str) -> SavedView | None:
        """Returns the saved view with exactly this name, of any experiment; None if there is none."""

    def add(self, view: SavedView) -> SavedView:
        """Stores a view, and returns it as stored. Its name must be unique among all experiments' views."""

    def delete(self, key: str) -> None:
        """Deletes a saved view."""


class EstimateStore(ValueStore[KeptEstimate], Protocol):
    """The off-policy estimates that are kept with experiments, the newest first."""

    def add(self, estimate: KeptEstimate) -> KeptEstimate:
        """Stores an estimate, and returns it as stored."""

    def delete(self, key: str) -> None:
        """Deletes an estimate for good."""


class AuditStore(Protocol):
    """The audit log of a store, to which each write adds one event."""

    def events(self, limit: int | None = None) -> list[AuditEvent]:
        """Returns the newest ``limit`` events of the log, the oldest of them first; all events for None."""

    def last(self) -> str:
        """Returns the hash of the log's newest line; empty if the log is empty.

        It changes whenever something is stored.

        If a log was restored from a backup and continued, its line with the same number has another hash.
        """

    def purged(self, experiments: Sequence[str], runs: int, online_tests: int, views: int) -> None:
        """Records that a user was removed from these experiments (ids) and from this many records, without
        saying which user.
        """

    def purges_of(self, experiment: str) -> list[datetime]:
        """Returns when users were removed from the experiment, the first time first.

        Lines of older releases do not name the experiments; they count for all.
        """

    def n_deletions(self) -> int:
        """Returns how often anything was deleted."""

    def n_purges(self) -> int:
        """Returns how often users were removed; what was read before may hold their data."""

    def breaks(self) -> list[int]:
        """Returns the numbers of the lines at which the chain of hashes is broken; empty if it is intact."""

    def altered(self) -> list[str]:
        """Returns kind and id of the records that differ from what the log says was written, with the fields
        that differ if the log tells them.

        Empty if none does.
        """

    def audited(self) -> AuditResult:
        """Reads all rows and files, and returns where they differ from their checksums and from the log's
        lines, in either direction, and what the log cannot say.
        """


class ArtifactStore(Protocol):
    """The uploaded tables and other files of a store, which are named by their sha256."""

    def put(self, table: pa.Table | Iterable[pa.RecordBatch]) -> str:
        """Stores a table, or a stream of batches with one schema, as Parquet, and returns its sha256."""

    def put_file(self, file: Path | bytes) -> str:
        """Stores a file byte for byte, and returns its sha256."""

    def apart(self, scratch: Path) -> AbstractContextManager[Artifacts]:
        """Returns files for another process, which reads these ones and writes to a folder in ``scratch``
        that is deleted at the end of the ``with`` block.
        """

    def path(self, sha256: str) -> Path:
        """Returns the path of a stored file. Raises ``EvidenceDamaged`` if its hash does not match."""

    def table(self, sha256: str) -> pa.Table:
        """Returns a stored table. Raises ``EvidenceDamaged`` if its hash does not match."""

    def garbage(self, older_than: timedelta = UNUSED_FOR, *, dry_run: bool = False) -> Garbage:
        """Removes files that nothing needs and that are older than ``older_than``, and returns how many and
        how large they are; with ``dry_run`` only counts them.

        A file may be needed soon by a row that is not stored yet; hence the age.
        """

    def remove_replaced(self) -> Garbage:
        """Removes the files that were needed once and that nothing needs any more, and says if it cannot.

        It empties the write-ahead log, too, and says if that is read.
        """

    def discard(self, is_unwanted: Callable[[pa.Table], bool]) -> Garbage:
        """Removes the files of any age that nothing needs and whose table ``is_unwanted``, such as those of
        an interrupted addition; one that is running stores them again. Says what cannot be read.
        """

    def collect(self, older_than: timedelta = UNUSED_FOR) -> int:
        """Removes files that nothing needs and that are older than ``older_than``, and returns their
        number.
        """


class Store(Protocol):
    """All stored data, one attribute for each kind of record.

    It takes and returns values of ``recdash.domain``.

    It is safe for several threads and processes. A write happens completely or not at all, and is on disk
    when the call returns. Adding is idempotent by ``id``: adding again returns what is stored. Listings omit
    archived records unless ``archived=True``. Raises ``NotFound`` for an id (or a file) that does not exist,
    ``NameTaken`` for a name in use, ``StoreBusy`` after the timeout, ``Forbidden`` for a write to a read-only
    store.

    Everything that is read is compared with its checksum. Listings omit damaged rows, which ``damaged``
    returns; reading one by its id raises ``EvidenceDamaged``.
    """

    @property
    def experiments(self) -> ExperimentStore: ...

    @property
    def runs(self) -> RunStore: ...

    @property
    def curves(self) -> CurveStore: ...

    @property
    def online_tests(self) -> OnlineTestStore: ...

    @property
    def journal(self) -> JournalStore: ...

    @property
    def reports(self) -> ReportStore: ...

    @property
    def share_links(self) -> ShareLinkStore: ...

    @property
    def api_tokens(self) -> ApiTokenStore: ...

    @property
    def metric_library(self) -> MetricLibraryStore: ...

    @property
    def ended_sessions(self) -> EndedSessionStore: ...

    @property
    def saved_views(self) -> SavedViewStore: ...

    @property
    def estimates(self) -> EstimateStore: ...

    @property
    def audit(self) -> AuditStore: ...

    @property
    def artifacts(self) -> ArtifactStore: ...

    @property
    def read_only(self) -> bool:
        """Returns whether every write is refused."""

    def has_altered_files(self) -> bool:
        """Returns whether files of the store were changed since the last call by anything other than a
        writer of the store, so that what was read from them may be damaged. It reads only stored tables
        that changed.
        """

    @property
    def notices(self) -> tuple[Problem, ...]:
        """Returns what the administrator should know, such as an SQLite version with unsafe WAL; usually
        empty.
        """

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        """Returns the damage found by reading so far, and how to repair it, of one experiment or by default
        all.
        """

    def check(self) -> list[Problem]:
        """Reads all rows and files, and returns what is damaged or missing, and how to repair it; empty if
        all is intact.
        """

    def transaction(self) -> AbstractContextManager[None]:
        """Makes all that this thread reads and writes in the block one transaction: all of it is stored, or,
        if the block raises or the process dies, nothing.

        Other writers wait meanwhile, so slow work must be done before. Files are not part of it: store them
        before.
        """

    def back_up(self, target: Path) -> BackupSummary:
        """Writes a backup to a new folder, or to a new file that ends in ``.tar``, while others read and
        write.

        Raises ``StoreError`` if ``target`` exists or cannot be written, and for PostgreSQL.
        """

    def secret(self) -> bytes:
        """Returns random bytes, which are created at first use and are the same for all who open this
        store.
        """

    def by(self, who: str, role: str, read_only: bool = False) -> Self:
        """Returns the same store for another person, whose name the audit log records; optionally
        read-only.
        """

    def close_idle_readers(self) -> None:
        """Closes connections for reading that are not in use, and frees what they have in memory. The store
        stays open.
        """

    def close(self) -> None:
        """Closes all connections; the store cannot be used afterwards."""
