"""The protocol of a store. Every backend passes the contract in ``tests/support/store_contract.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from recdash.domain.journal import AuditEvent, Entry, Report, SavedView, ShareLink
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Problem

if TYPE_CHECKING:
    import pyarrow as pa

UNUSED_FOR = timedelta(hours=24)
REFERENCE_SLOTS = 1_000_000

Value = TypeVar("Value")


class ValueStore(Protocol[Value]):
    """The values of one kind, each of which belongs to an experiment."""

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Value]:
        """Returns the values of an experiment, in the listing order of their kind."""

    def get(self, key: str) -> Value:
        """Returns the value with this id."""


class ExperimentStore(Protocol):
    """The experiments of a store."""

    def all(self, archived: bool = False) -> list[Experiment]:
        """Returns all experiments, the newest first."""

    def get(self, key: str) -> Experiment:
        """Returns the experiment with this id."""

    def named(self, name: str) -> Experiment | None:
        """Returns the experiment with exactly this name, archived or not."""

    def add(self, experiment: Experiment) -> Experiment:
        """Stores an experiment; its artifacts must be stored before."""

    def update(self, key: str, **fields: Any) -> Experiment:
        """Changes fields other than id and created; ``baseline`` must be a run of the experiment."""

    def change(self, key: str, fields_of: Callable[[Experiment], Mapping[str, Any]]) -> Experiment:
        """Writes the fields that ``fields_of`` returns for the stored experiment.

        It is read and written in one transaction, so that no change of another writer is lost.
        """

    def delete(self, key: str) -> None:
        """Deletes an experiment with its runs, curves and online tests, for good."""


class RunStore(ValueStore[Run], Protocol):
    """The runs of a store and their replicates.

    Runs are listed by slot, that is in the order in which they were added. Replicates are not candidates:
    ``replicates`` lists them.
    """

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        """Returns the replicates of each of these runs, in their order; empty lists for runs uploaded
        once.
        """

    def name_of(self, key: str) -> str:
        """Returns the stored name of a run even if its row is damaged."""

    def find(self, experiment: str, upload_sha: str) -> Run | None:
        """Returns the run of this experiment made from this upload, preferably one that is not archived."""

    def add(
        self,
        run: Run,
        curves: Sequence[Curve],
        replicates: Sequence[tuple[Run, Sequence[Curve]]] = (),
    ) -> Run:
        """Stores a run with its curves; the store assigns ``slot`` and never uses it again.

        Reference candidates get slots from ``REFERENCE_SLOTS`` on: they come last and use no colour.
        ``replicates`` are stored below the run, with slots below 0; their names, the labels, are distinct.
        """

    def update(self, key: str, **fields: Any) -> Run:
        """Changes fields other than id, experiment, created, slot and replicate_of."""

    def delete(self, key: str) -> None:
        """Deletes a run, its curves and replicates, its role as baseline, its links.

        Files stay until ``ArtifactStore.collect``.
        """


class CurveStore(Protocol):
    """The curves of stored runs: each metric at every cutoff."""

    def of_runs(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        """Returns curves by run id and canonical metric; every run has an entry, which may be empty.

        A damaged curve is ``Unavailable``, with that as its reason.
        """

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Returns the sorted canonical metrics stored for each run, without reading any curve."""


class OnlineTestStore(ValueStore[OnlineTest], Protocol):
    """The online tests of a store, listed the newest first."""

    def name_of(self, key: str) -> str:
        """Returns the stored name of an online test even if its row is damaged."""

    def add(self, test: OnlineTest) -> OnlineTest:
        """Stores an online test; its upload must be stored before."""

    def update(self, key: str, **fields: Any) -> OnlineTest:
        """Changes fields other than id, experiment and created."""

    def delete(self, key: str) -> None:
        """Deletes an online test for good."""


class JournalStore(ValueStore[Entry], Protocol):
    """The journals of the experiments, the oldest entry first. Single entries are never changed or
    deleted.
    """

    def add(self, entry: Entry, check: Callable[[Sequence[Entry]], None] | None = None) -> Entry:
        """Adds to the journal if ``check`` allows it.

        ``check`` is called with the journal, the oldest entry first, while all other writers wait; any
        exception it raises is passed on, and nothing is added.
        """


class ReportStore(ValueStore[Report], Protocol):
    """The reports of a store, listed the newest first."""

    def add(self, report: Report) -> Report:
        """Stores a report; its document must be stored before."""

    def update(self, key: str, **fields: Any) -> Report:
        """Changes fields other than id, experiment, created and author."""

    def delete(self, key: str) -> None:
        """Deletes a report and the links that share it, for good."""


class ShareLinkStore(ValueStore[ShareLink], Protocol):
    """The share links of experiments and their reports, the newest first, including expired and revoked
    ones.
    """

    def add(self, link: ShareLink) -> ShareLink:
        """Stores a share link."""

    def update(self, key: str, **fields: Any) -> ShareLink:
        """Changes fields other than id, experiment, created and author."""


class SavedViewStore(ValueStore[SavedView], Protocol):
    """The saved views of a store, listed by name."""

    def named(self, name: str) -> SavedView | None:
        """Returns the saved view with exactly this name, of any experiment."""

    def add(self, view: SavedView) -> SavedView:
        """Stores a view; its name must be unique over all experiments."""

    def delete(self, key: str) -> None:
        """Deletes a saved view."""


class AuditStore(Protocol):
    """The audit log of a store: each write adds one event to it."""

    def events(self, limit: int | None = None) -> list[AuditEvent]:
        """Returns the newest events of the log, the oldest of them first; all events without a limit."""

    def last(self) -> str:
        """Returns the hash of the newest line, empty without one; nothing is stored without adding a line.

        A log that was restored and went on otherwise has another hash at the same number.
        """

    def altered(self) -> list[str]:
        """Returns entries, reports, links and views that differ from what the log says was written, by kind
        and id.
        """


class ArtifactStore(Protocol):
    """The uploaded tables and other files of a store, named by their sha256."""

    def put(self, table: pa.Table | Iterable[pa.RecordBatch]) -> str:
        """Stores a table, or a stream of batches of one schema, as Parquet; returns its sha256."""

    def put_file(self, file: Path | bytes) -> str:
        """Stores a file byte for byte; returns its sha256."""

    def path(self, sha256: str) -> Path:
        """Returns the file of an artifact. Raises ``EvidenceDamaged`` if its hash does not match."""

    def table(self, sha256: str) -> pa.Table:
        """Returns the table of an artifact. Raises ``EvidenceDamaged`` if its hash does not match."""

    def collect(self, older_than: timedelta = UNUSED_FOR) -> int:
        """Removes unreferenced files older than this; returns how many."""


class Store(Protocol):
    """Domain values in, domain values out; safe for several threads and processes.

    A store has a part for each kind of thing it holds. A write happens completely or not at all and is on
    disk when the call returns. Adding is idempotent by ``id``: adding again returns what is stored. Listings
    leave archived things out unless ``archived=True``. Raises ``NotFound`` for an id (or an artifact) that
    does not exist, ``NameTaken`` for a name in use, ``StoreBusy`` after the timeout, ``Forbidden`` for a
    write to a read-only store.

    Everything read is compared with its checksum. Listings leave damaged rows out, and ``damaged`` lists
    them; reading one by its id raises ``EvidenceDamaged``.
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
    def saved_views(self) -> SavedViewStore: ...

    @property
    def audit(self) -> AuditStore: ...

    @property
    def artifacts(self) -> ArtifactStore: ...

    @property
    def read_only(self) -> bool:
        """Returns whether every write is refused."""

    @property
    def notices(self) -> tuple[Problem, ...]:
        """Returns what the administrator should know, such as an SQLite without safe WAL."""

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        """Returns damage found by reading so far, of all experiments or of one, and how to repair it."""

    def check(self) -> list[Problem]:
        """Reads all rows and files; returns what is damaged or missing, and how to repair it."""

    def secret(self) -> bytes:
        """Returns random bytes, created at first use, the same for all who open this store."""

    def by(self, who: str, role: str, read_only: bool = False) -> Self:
        """Returns the same store for another person, named in the audit log; optionally read-only."""

    def close(self) -> None:
        """Closes all connections; the store is not usable afterwards."""
