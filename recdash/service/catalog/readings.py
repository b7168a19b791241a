"""What was read of the files of an intake, kept so that nothing is read twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from recdash import ingest

if TYPE_CHECKING:
    from recdash.ingest import Limits
    from recdash.ingest.looks import Look
    from recdash.service.catalog.intake_plan import IntakeFile

Answer = TypeVar("Answer")


class Readings:
    """What was read for a plan, also for those that are derived from it."""

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits
        self._kept: dict[tuple[object, ...], Any] = {}

    def once(self, key: tuple[object, ...], read: Callable[[], Answer]) -> Answer:
        """Returns what ``read`` returns, or returned before for the same key."""
        if key not in self._kept:
            self._kept[key] = read()
        answer: Answer = self._kept[key]
        return answer

    def look(self, file: IntakeFile, sheet: str | None = None) -> Look:
        """Returns the columns and first rows of a file, or of a ``sheet`` of it."""
        source = ingest.sheet_of(file.source, sheet or "")
        return self.once(
            ("look", file.key, sheet), lambda: ingest.look(source, name=file.name, limits=self._limits)
        )
