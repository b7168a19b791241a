"""The words of a report that no upload gives, compared with the snapshot that the store kept of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from recdash.domain.journal import Report
from recdash.formatting.wording import listed
from recdash.report.document import Document
from recdash.report.formats.json import from_json, to_json
from recdash.report.reports import Reports
from recdash.report.reproduce.recompute import experiment_of
from recdash.service.workspace import Workspace

WORDS = ("title", "narrative", "author", "moment")
CLOCKS_APART = timedelta(hours=1)


@dataclass(frozen=True)
class SnapshotMatch:
    """``report``: the id of the snapshot that says the very same, None for none; ``against``: what differs
    from those of the same moment.
    """

    report: str | None
    against: tuple[str, ...] = ()

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The file's own words."""
        return () if self.report else WORDS

    @property
    def said(self) -> str:
        if self.report:
            return f"it says what the store kept of it as the snapshot {self.report}, letter for letter."
        return (
            f"not checked, because no upload gives them: {listed(self.unchecked)} are the file's own words."
        )


def frame_of(space: Workspace, document: Document) -> SnapshotMatch:
    """Raises ValueError for a moment that is none."""
    against: list[str] = []
    for report, kept in _snapshots(space, document):
        if to_json(kept) == to_json(document):
            return SnapshotMatch(report.id)
        against += _differences(kept, document)
    if datetime.fromisoformat(document.moment) > datetime.now(UTC) + CLOCKS_APART:
        against.append(f"its moment, {document.moment}, is still to come")
    return SnapshotMatch(None, tuple(against))


def _snapshots(space: Workspace, document: Document) -> Iterator[tuple[Report, Document]]:
    """Those of the same experiment and moment."""
    home = experiment_of(space, document.provenance["experiment"])
    moment = datetime.fromisoformat(document.moment)
    for report in Reports(space).reports(home.id, archived=True):
        if report.document is not None and report.created == moment:
            yield report, from_json(space.store.path(report.document).read_text(encoding="utf-8"))


def _differences(kept: Document, document: Document) -> Iterator[str]:
    for name in ("title", "narrative", "author", "live"):
        was, now = getattr(kept, name), getattr(document, name)
        if was != now:
            yield f"{name}: the report says “{now}”; the store kept “{was}”"
