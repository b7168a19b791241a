"""Records damage found while a store is read: damaged rows are left out of listings and reported by name."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from recdash.errors import EvidenceDamaged, Problem
from recdash.store.tables import DAMAGED, EXPERIMENT, UPLOAD_AGAIN, CurveRow, Kind, RunRow

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

logger = logging.getLogger(__name__)


Place = tuple[type[Any], tuple[Any, ...]]
"""A row: its table and its key."""


class Damage:
    """Damaged rows read since the store was opened, without those that were intact later."""

    def __init__(self) -> None:
        self._found: dict[Place, tuple[str | None, Problem]] = {}
        self._of_all: list[Problem] = []

    def found(self, experiment: str | None = None) -> list[Problem]:
        """Returns all damage found so far, or that of one experiment: each once, as discovered."""
        of_rows = [
            problem
            for home, problem in list(self._found.values())
            if None in (experiment, home) or home == experiment
        ]
        return list(dict.fromkeys([*self._of_all, *of_rows]))

    @property
    def is_of_rows(self) -> bool:
        return bool(self._found)

    def forget_gone(self, session: Session) -> None:
        """Forgets rows that were deleted or replaced, here or by another process."""
        for place in list(self._found):
            if session.get(*place) is None:
                self._found.pop(place, None)

    def of_a_curve(self, session: Session, run_id: Any, metric: Any) -> None:
        """Records that a curve's row no longer says which run and metric it belongs to."""
        run = session.get(RunRow, str(run_id))
        place = f"{metric} of run '{run.name if run else run_id}'"
        problem = Problem("damaged", place, DAMAGED, UPLOAD_AGAIN)
        self._note((CurveRow, (run_id, metric)), run.experiment if run else None, problem)

    def of_all(self, problems: Iterable[Problem]) -> None:
        """Records problems of the whole database, for every experiment."""
        for problem in problems:
            logger.warning("%s", problem)
            self._of_all.append(problem)

    def checked(self, kind: Kind, row: Any) -> Any:
        """Returns the value of a row. Raises ``EvidenceDamaged``."""
        try:
            value = kind.to_value(row)
        except EvidenceDamaged as error:
            home = row.id if kind is EXPERIMENT else row.experiment
            self._note((kind.row, (row.id,)), str(home), error.problem)
            raise
        self._found.pop((kind.row, (row.id,)), None)
        return value

    def whole(self, kind: Kind, rows: Iterable[Any]) -> list[Any]:
        """Returns the values of the rows that are intact."""
        values = []
        for row in rows:
            try:
                values.append(self.checked(kind, row))
            except EvidenceDamaged:
                continue
        return values

    def note(self, kind: Kind, value: Any, problem: Problem) -> None:
        """Records damage to something that a value needs although its own row is intact."""
        self._note((kind.row, (value.id,)), value.experiment, problem)

    def _note(self, place: Place, home: str | None, problem: Problem) -> None:
        if place not in self._found:
            logger.warning("%s", problem)
        self._found[place] = (home, problem)
