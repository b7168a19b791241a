"""Whether the numbers of a report's file hold: recomputed from the uploads, and as the file shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recdash import __version__, numbers
from recdash.report.checking import Change, Checked, check
from recdash.report.document import Document
from recdash.report.files import read_report, shown_otherwise
from recdash.report.provenance import versions_here
from recdash.service.recomputed import recomputed, renamed
from recdash.service.workspace import Workspace

MOST_TOLD = 20


@dataclass(frozen=True)
class Reproduction:
    """What was found: ``checked`` against the uploads, ``shown`` otherwise by the file, names that are
    ``swapped``, and notes.
    """

    title: str
    headline: str
    checked: Checked
    shown: str
    swapped: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.checked.changes and not self.shown and not self.swapped

    @property
    def text(self) -> str:
        """One line for what holds, one for each thing that does not."""
        what = f"{numbers.count(self.checked.numbers)} numbers and {numbers.count(self.checked.texts)} texts"
        begin = (
            f"Confirmed: {what} of '{self.title}' ({self.headline}) are what the stored uploads give."
            if self.holds
            else f"Not confirmed: {what} of '{self.title}' hold, but not these:"
        )
        told = [str(change) for change in self.checked.changes[:MOST_TOLD]]
        more = len(self.checked.changes) - len(told)
        told += [f"and {numbers.count(more)} more changes"] if more > 0 else []
        told += [*([self.shown] if self.shown else []), *self.swapped]
        return "\n".join([begin, *(f"  - {one}" for one in told), *(f"note: {one}" for one in self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "confirmed": self.holds,
            "numbers": self.checked.numbers,
            "texts": self.checked.texts,
            "changes": [vars(change) for change in self.checked.changes],
            "shown_otherwise": self.shown,
            "swapped_names": list(self.swapped),
            "notes": list(self.notes),
        }


def reproduction(space: Workspace, file: Path) -> Reproduction:
    """Check an HTML or JSON file. Raises InputError, NotFound and EvidenceDamaged where it cannot be done."""
    read = read_report(file)
    document = read.document
    checked = check(document, recomputed(space, document))
    same = _same_versions(document)
    shown = shown_otherwise(read.text, document) if read.text and same else ""
    others = renamed(space, document)
    swapped = tuple(str(one) for one in others if one.taken)
    notes = [str(one) for one in others if not one.taken]
    notes += [] if same or not read.text else [_only_data(document)]
    return Reproduction(document.title, document.lead.headline, checked, shown, swapped, tuple(notes))


def _same_versions(document: Document) -> bool:
    """Of what the page is made with."""
    here, there = versions_here(), document.provenance["versions"]
    return all(here.get(name) == there.get(name) for name in ("recdash", "plotly"))


def _only_data(document: Document) -> str:
    made = document.provenance["versions"].get("recdash")
    return (
        f"made with recdash {made}, checked with {__version__} (or another Plotly): its data were checked, "
        "not how the page shows them."
    )


__all__ = ["Change", "Reproduction", "reproduction"]
