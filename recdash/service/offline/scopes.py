"""The parts of an experiment (slices and relevance thresholds) that can be analysed separately."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError
from recdash.evaluation.relevance import suggest
from recdash.service.context import ServiceContext
from recdash.service.run_data import RunData

MOST_THRESHOLDS = 12


class Scopes:
    """The service that lists the slices and relevance thresholds that a ``Scope`` can name."""

    def __init__(self, context: ServiceContext, data: RunData) -> None:
        self._context, self._data = context, data
        self._named_slices = context.cached(self._name_slices, most=16)
        self._grades = context.cached(self._read_grades, most=16)

    def of(self, experiment_id: str, threshold: float | None = None) -> Mapping[str, str]:
        """Returns {``attribute=value``: title} of every slice in which at least one user counts."""
        return self._named_slices(experiment_id, threshold)

    def thresholds(self, experiment_id: str) -> tuple[float, ...]:
        """Returns the possible relevance thresholds, ascending; empty if all relevant rows have the same
        grade.

        If there are more than twelve grades, it returns some of them, spread evenly over the rows.
        """
        return self._grades(experiment_id)

    def other_thresholds(
        self, experiment_id: str, scope: Scope = WHOLE, *, suggested: bool = False
    ) -> Mapping[str, float]:
        """Returns {question: relevance threshold} of the other choice of relevant rows that is worth trying;
        empty if all relevant rows have the same grade.

        It is every grade if some do not count now. Otherwise only high grades: those that count by the
        experiment's own threshold; without one, those that count as liked on a rating scale, and from the
        second lowest on where the grades are no ratings. ``suggested=True`` disregards the experiment's
        threshold where every grade counts, as older reports do.
        """
        lowest, *others = self.thresholds(experiment_id) or (None,)
        if lowest is None:
            return {}
        truth = self._data.reference(experiment_id).truth
        threshold = truth.threshold if scope.threshold is None else scope.threshold
        if threshold is not None and threshold > lowest:
            return {"Any relevance above 0": lowest}
        if truth.threshold is not None and truth.threshold > lowest and not suggested:
            return {f"Only relevance of {truth.threshold:g} or more": truth.threshold}
        suggestion = suggest(truth.gain)
        liked = suggestion.threshold if suggestion else None
        high = next((grade for grade in others if liked is not None and grade >= liked), others[0])
        return {f"Only relevance of {high:g} or more": high}

    def _name_slices(self, experiment_id: str, threshold: float | None) -> Mapping[str, str]:
        titles: dict[str, str] = {}
        for by in self._data.known_slices(experiment_id):
            try:
                cuts = self._data.slices_by(experiment_id, by, threshold)
            except InputError:
                continue  # one attribute without usable values does not affect the others
            titles |= {f"{cut.by}={cut.value}": cut.title for cut in cuts}
        return titles

    def _read_grades(self, experiment_id: str) -> tuple[float, ...]:
        settings = self._context.settings_of(experiment_id)
        if settings["relevance_threshold"] is None and settings.get("graded") is False:
            return ()  # all relevant rows have the same grade; the test set need not be read
        truth = self._data.reference(experiment_id).truth
        gains = truth.gain[truth.gain > 0]
        grades = np.unique(gains)
        if len(grades) > MOST_THRESHOLDS:
            grades = np.unique(np.quantile(gains, np.linspace(0, 1, MOST_THRESHOLDS), method="nearest"))
        return tuple(grades.tolist()) if len(grades) > 1 else ()
