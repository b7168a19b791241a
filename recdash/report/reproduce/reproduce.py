"""Checks a report's file: its numbers against the stored uploads, and what it shows against its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.wording import day, listed, many
from recdash.report.document import Document
from recdash.report.reports import deletion_days
from recdash.report.reproduce.compare_documents import DocumentComparison, check
from recdash.report.reproduce.deleted_users import with_stored_tables
from recdash.report.reproduce.read_file import Page, page_of, read_report
from recdash.report.reproduce.recompute import (
    changed_settings,
    experiment_of,
    recomputed,
    renamed,
    without_new_metrics,
)
from recdash.report.reproduce.snapshot_check import SnapshotMatch, snapshot_match
from recdash.service.workspace import Workspace
from recdash.version import __version__

MOST_LISTED = 20
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors that reading raises if a file has values that no report has."""
Outcome = Literal["confirmed", "data confirmed, page not compared", "not confirmed", "data deleted"]


@dataclass(frozen=True)
class Reproduction:
    """The result of checking a report's file.

    ``checked`` compares its numbers with those from the uploads. ``page`` compares what it shows with its own
    numbers; it is None for a file that has only numbers. ``against`` are contradictions to the store.
    ``snapshot`` compares its texts with those of the stored snapshot. ``notes`` are remarks in words.
    ``deleted`` are the days on which data of users were deleted from its tables; ``checked`` then compares
    with the numbers without these users.
    """

    title: str
    headline: str
    checked: DocumentComparison
    page: Page | None
    against: tuple[str, ...]
    snapshot: SnapshotMatch
    notes: tuple[str, ...]
    deleted: tuple[date, ...] = ()

    @property
    def page_difference(self) -> str:
        """Returns where the page differs from its numbers, in words; empty if it does not."""
        return self.page.differs if self.page else ""

    @property
    def outcome(self) -> Outcome:
        if self.deleted:
            return "data deleted"
        if self.checked.changes or self.against or (self.page and self.page.differs and self.page.comparable):
            return "not confirmed"
        return "data confirmed, page not compared" if self.page_difference else "confirmed"

    @property
    def holds(self) -> bool:
        return self.outcome == "confirmed"

    @property
    def text(self) -> str:
        """Returns the result as text: a line for what is confirmed, and one for each difference."""
        checked = self.checked
        counts = f"{numbers.count(checked.numbers)} numbers and {numbers.count(checked.texts)} texts"
        opening = f"{self.outcome.capitalize()}: {counts} of '{self.title}'"
        if self.deleted:
            lines = self._without_deleted(counts)
        elif self.outcome == "not confirmed":
            lines = [f"{opening} hold, but not these:"]
        else:
            lines = [f"{opening} ({self.headline}) are what the stored uploads give."]
        if checked.reworded:
            texts = many(checked.reworded, "sentence")
            lines.append(f"  - {texts} in the words of an older recdash, with the same numbers and runs")
        lines += [f"  - {change}" for change in checked.changes[:MOST_LISTED]]
        if (more := len(checked.changes) - MOST_LISTED) > 0:
            lines.append(f"  - and {numbers.count(more)} more changes")
        if self.page is not None and self.page.differs:
            otherwise = (
                f"the page says that recdash {self.page.version} made it; recdash {__version__} here makes "
                "it differently, so that a change made to the page afterwards cannot be ruled out. First, "
            )
            lines.append(f"  - {'' if self.page.comparable else otherwise}{self.page.differs}")
        lines += [f"  - {contradiction}" for contradiction in self.against]
        return "\n".join([*lines, *(f"note: {note}" for note in (self.snapshot.sentence, *self.notes))])

    def _without_deleted(self, counts: str) -> list[str]:
        """Returns what can still be said of a report whose tables had users that were deleted since."""
        days = listed([day(moment) for moment in self.deleted])
        differs = "are the same, but not these:" if self.checked.changes else "are the same, and all others."
        deleted = f"data of users were deleted on {days}, after '{self.title}' was made"
        left = "It can still be read, but its numbers can no longer be confirmed or refuted."
        return [f"Not computed again: {deleted}. {left}", f"Computed without these users, {counts} {differs}"]

    def as_dict(self) -> dict[str, Any]:
        """Returns the result as JSON-ready values."""
        return {
            "outcome": self.outcome,
            "confirmed": self.holds,
            "deleted_on": [moment.isoformat() for moment in self.deleted],
            "numbers": self.checked.numbers,
            "texts": self.checked.texts,
            "reworded": self.checked.reworded,
            "changes": [vars(change) for change in self.checked.changes],
            "shown_otherwise": self.page_difference,
            "against_the_store": list(self.against),
            "snapshot": self.snapshot.report,
            "not_checked": list(self.snapshot.unchecked),
            "notes": list(self.notes),
        }


def reproduction(workspace: Workspace, file: Path) -> Reproduction:
    """Checks an HTML or JSON file of a report.

    Raises InputError, NotFound or EvidenceDamaged if that is impossible.
    """
    read = read_report(file)
    try:
        return _reproduction(workspace, read.document, read.text)
    except UNREADABLE as error:
        message = f"its numbers or sources cannot be read ({type(error).__name__}: {error})"
        fix = "Make the report again with recdash report."
        raise InputError(Problem("no-report", str(file), message, fix)) from error


def _reproduction(workspace: Workspace, document: Document, text: str) -> Reproduction:
    made = datetime.fromisoformat(document.moment)
    deleted = deletion_days(workspace, document.provenance["experiment"]["id"], made)
    current = with_stored_tables(workspace, document) if deleted else document
    again, new_metrics = without_new_metrics(current, recomputed(workspace, current))
    experiment_id = experiment_of(workspace, current).id
    journal = workspace.journal.entries(experiment_id)
    checked = check(current, again, {entry.author for entry in journal})
    page = page_of(text, document) if text else None
    runs, snapshot = renamed(workspace, current), snapshot_match(workspace, document, experiment_id)
    settings = changed_settings(workspace, current)
    against = [*(str(run) for run in runs if run.taken), *snapshot.against]
    against += [words for name, words in settings if name == "control"]
    notes = [str(run) for run in runs if not run.taken]
    notes += [words for name, words in settings if name != "control"]
    if page is not None and page.charts:
        drawn = many(page.charts, "chart")
        notes.append(f"of {drawn} the texts are compared, and no coordinates: recdash draws otherwise today")
    if new_metrics:
        notes.append(f"recdash scores {listed(new_metrics)} today, which the report does not list")
    return Reproduction(
        document.title,
        document.lead.headline,
        checked,
        page,
        tuple(against),
        snapshot,
        tuple(notes),
        tuple(deleted) if current is not document else (),
    )
