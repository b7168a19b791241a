"""The words of a report that no upload gives, compared with the snapshot that the store kept of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

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
    from those of the same moment; ``words``: of the file that only a snapshot can confirm.
    """

    report: str | None
    against: tuple[str, ...] = ()
    words: tuple[str, ...] = WORDS

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The file's own words."""
        return () if self.report else self.words

    @property
    def sentence(self) -> str:
        if self.report:
            return f"it says what the store kept of it as the snapshot {self.report}, letter for letter."
        return (
            f"not checked, because no upload gives them: {listed(self.unchecked)} are the file's own words."
        )


def snapshot_match(workspace: Workspace, document: Document) -> SnapshotMatch:
    """Returns the stored snapshot of the same experiment and moment that says the very same, or what differs.

    Raises ValueError for a moment that cannot be read.
    """
    against: list[str] = []
    experiment = experiment_of(workspace, document.provenance["experiment"])
    moment = datetime.fromisoformat(document.moment)
    for report in Reports(workspace).all(experiment.id, archived=True):
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
    return SnapshotMatch(None, tuple(against), (*WORDS, "link") if document.link else WORDS)
