"""Whether the numbers of a report's file hold: recomputed from the uploads, and as the file shows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.report.document import Document
from recdash.report.reproduce.compare_documents import DocumentComparison, check
from recdash.report.reproduce.read_file import Page, page_of, read_report
from recdash.report.reproduce.recompute import counted_otherwise, recomputed, renamed
from recdash.report.reproduce.snapshot_check import SnapshotMatch, frame_of
from recdash.service.workspace import Workspace
from recdash.version import __version__

MOST_TOLD = 20
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading raises where a file holds something else than a report does."""
Outcome = Literal["confirmed", "data confirmed, page not compared", "not confirmed"]


@dataclass(frozen=True)
class Reproduction:
    """What was found.

    ``checked`` against the uploads; the ``page`` against the file's own numbers, None for a file of nothing
    else; ``against``: what contradicts the store; ``frame``: the words that no upload gives; notes.
    """

    title: str
    headline: str
    checked: DocumentComparison
    page: Page | None
    against: tuple[str, ...]
    frame: SnapshotMatch
    notes: tuple[str, ...]

    @property
    def shown(self) -> str:
        """Where the page shows something else than its numbers, in words."""
        return self.page.differs if self.page else ""

    @property
    def outcome(self) -> Outcome:
        if self.checked.changes or self.against or (self.page and self.page.differs and self.page.comparable):
            return "not confirmed"
        return "data confirmed, page not compared" if self.shown else "confirmed"

    @property
    def holds(self) -> bool:
        return self.outcome == "confirmed"

    @property
    def text(self) -> str:
        """One line for what holds, one for each thing that does not."""
        told = [str(change) for change in self.checked.changes[:MOST_TOLD]]
        more = len(self.checked.changes) - len(told)
        told += [f"and {numbers.count(more)} more changes"] if more > 0 else []
        told += [*([self._page_said] if self.shown else []), *self.against]
        notes = [self.frame.said, *self.notes]
        return "\n".join([self._opening, *(f"  - {one}" for one in told), *(f"note: {one}" for one in notes)])

    @property
    def _opening(self) -> str:
        what = f"{numbers.count(self.checked.numbers)} numbers and {numbers.count(self.checked.texts)} texts"
        begin = f"{self.outcome.capitalize()}: {what} of '{self.title}'"
        if self.outcome == "not confirmed":
            return f"{begin} hold, but not these:"
        return f"{begin} ({self.headline}) are what the stored uploads give."

    @property
    def _page_said(self) -> str:
        if self.page is None or self.page.comparable:
            return self.shown
        return (
            f"the page says that recdash {self.page.version} made it; recdash {__version__} here makes it "
            f"otherwise, so that nobody knows whether somebody changed it. First, {self.shown}"
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "outcome": self.outcome,
            "confirmed": self.holds,
            "numbers": self.checked.numbers,
            "texts": self.checked.texts,
            "changes": [vars(change) for change in self.checked.changes],
            "shown_otherwise": self.shown,
            "against_the_store": list(self.against),
            "snapshot": self.frame.report,
            "not_checked": list(self.frame.unchecked),
            "notes": list(self.notes),
        }


def reproduction(space: Workspace, file: Path) -> Reproduction:
    """Check an HTML or JSON file. Raises InputError, NotFound and EvidenceDamaged where it cannot be done."""
    read = read_report(file)
    with _readable(file):
        return _reproduction(space, read.document, read.text)


def _reproduction(space: Workspace, document: Document, text: str) -> Reproduction:
    checked = check(document, recomputed(space, document))
    page = page_of(text, document) if text else None
    others, frame = renamed(space, document), frame_of(space, document)
    counted = counted_otherwise(space, document)
    against = [*(str(one) for one in others if one.taken), *frame.against]
    against += [words for what, words in counted if what == "control"]
    notes = [str(one) for one in others if not one.taken]
    notes += [words for what, words in counted if what != "control"]
    return Reproduction(
        document.title, document.lead.headline, checked, page, tuple(against), frame, tuple(notes)
    )


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """What a file holds that no report does is said in words."""
    try:
        yield
    except UNREADABLE as error:
        found = f"its numbers or sources cannot be read ({type(error).__name__}: {error})"
        fix = "Make the report again with recdash report."
        raise InputError(Problem("no-report", str(file), found, fix)) from error
