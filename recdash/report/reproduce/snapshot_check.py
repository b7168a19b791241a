"""Compares the texts of a report that no upload can confirm with those of the stored snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from recdash.formatting.wording import listed
from recdash.report.document import Document
from recdash.report.formats.json import from_json, to_json
from recdash.report.reports import Reports
from recdash.service.workspace import Workspace

WORDS = ("title", "narrative", "author", "moment", "live")
CLOCKS_APART = timedelta(hours=1)


@dataclass(frozen=True)
class SnapshotMatch:
    """How a report's file compares with the stored snapshots.

    ``report`` is the id of the snapshot that is equal to it, None if there is none. ``against`` is what
    differs from snapshots with the same moment. ``words`` are the fields of the file that only a snapshot can
    confirm.
    """

    report: str | None
    against: tuple[str, ...] = ()
    words: tuple[str, ...] = WORDS

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Returns the fields of the file that nothing confirms; empty if a snapshot is equal to it."""
        return () if self.report else self.words

    @property
    def sentence(self) -> str:
        if self.report:
            return f"it says what the store kept of it as the snapshot {self.report}, letter for letter."
        return (
            f"not checked, because no upload gives them: {listed(self.unchecked)} are the file's own words."
        )


def snapshot_match(workspace: Workspace, document: Document, experiment_id: str) -> SnapshotMatch:
    """Returns whether a stored snapshot of the experiment with the same moment is equal to the document, or
    what differs.

    Raises ValueError for an invalid moment.
    """
    against: list[str] = []
    moment = datetime.fromisoformat(document.moment)
    for report in Reports(workspace).all(experiment_id, archived=True):
        if report.document is None or report.created != moment:
            continue
        snapshot = from_json(workspace.store.artifacts.path(report.document).read_text(encoding="utf-8"))
        if to_json(snapshot) == to_json(document):
            return SnapshotMatch(report.id)
        for name in ("title", "narrative", "author", "live"):
            stored, now = getattr(snapshot, name), getattr(document, name)
            if stored != now:
                against.append(f"{name}: the report says “{now}”; the store kept “{stored}”")
    if moment > datetime.now(UTC) + CLOCKS_APART:
        against.append(f"its moment, {document.moment}, is still to come")
    more = [name for name in ("link", "head") if getattr(document, name)]
    return SnapshotMatch(None, tuple(against), (*WORDS, *more))
