"""Records the damaged rows that are found while a store is read.

Listings leave them out, and ``Damage.found`` reports them by name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from recdash.errors import EvidenceDamaged, Problem
from recdash.store.tables import DAMAGED, UPLOAD_AGAIN, CurveRow, Kind, RunRow

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

logger = logging.getLogger(__name__)


RowAddress = tuple[type[Any], tuple[Any, ...]]
"""The address of a row: its table and its key."""


class Damage:
    """The damage found since the store was opened.

    A row that is intact when it is read again is removed from it.
    """

    def __init__(self) -> None:
        self._found: dict[RowAddress, tuple[str | None, Problem]] = {}
        self._of_all: list[Problem] = []

    def found(self, experiment: str | None = None) -> list[Problem]:
        """Returns the damage found so far in one experiment, by default in all, without duplicates; empty if
        there is none.

        Damage of the whole database is part of every experiment's.
        """
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
        """Removes the damage of rows that have been deleted or replaced since, even by another process."""
        for place in list(self._found):
            if session.get(*place) is None:
                self._found.pop(place, None)

    def of_a_curve(self, session: Session, run_id: Any, metric: Any) -> None:
        """Records a curve whose row no longer says correctly to which run and metric it belongs."""
        run = session.get(RunRow, str(run_id))
        place = f"{metric} of run '{run.name if run else run_id}'"
        problem = Problem("damaged", place, DAMAGED, UPLOAD_AGAIN)
        self._note((CurveRow, (run_id, metric)), run.experiment if run else None, problem)

    def of_all(self, problems: Iterable[Problem]) -> None:
        """Records problems of the whole database, which concern every experiment."""
        for problem in problems:
            logger.warning("%s", problem)
            self._of_all.append(problem)

    def checked(self, kind: Kind, row: Any) -> Any:
        """Returns the value of a row. Raises ``EvidenceDamaged`` if the row is damaged, and records that."""
        try:
            value = kind.to_value(row)
        except EvidenceDamaged as error:
            self._note((kind.row, (row.id,)), kind.home_of(row), error.problem)
            raise
        self._found.pop((kind.row, (row.id,)), None)
        return value

    def intact(self, kind: Kind, rows: Iterable[Any]) -> list[Any]:
        """Returns the values of those rows that are intact; records the damaged ones."""
        values = []
        for row in rows:
            try:
                values.append(self.checked(kind, row))
            except EvidenceDamaged:
                continue
        return values

    def note(self, kind: Kind, value: Any, problem: Problem) -> None:
        """Records damage to something on which a value depends, although its own row is intact."""
        self._note((kind.row, (value.id,)), value.experiment, problem)

    def _note(self, place: RowAddress, home: str | None, problem: Problem) -> None:
        if place not in self._found:
            logger.warning("%s", problem)
        self._found[place] = (home, problem)
