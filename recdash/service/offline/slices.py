"""Scores by slice of users or items, and exposure by attribute of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recdash.domain.hits import Exposure
from recdash.engines import list_metrics
from recdash.evaluation import replicates
from recdash.evaluation.attribute_shares import COLUMNS as SHOWN_COLUMNS
from recdash.evaluation.attribute_shares import (
    attribute_share_rows,
    attributes_of,
    check_attribute,
    mean_rows,
)
from recdash.evaluation.metric_inputs import hits_by_slice, hits_in_slice, slice_users
from recdash.evaluation.scoring import score_slice
from recdash.metrics import Definition, check_k, define
from recdash.metrics.catalogue import CatalogueMetric
from recdash.service import frames
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.run_data import RunData

if TYPE_CHECKING:
    import pandas as pd

    from recdash.evaluation.scoring import SliceScores


class Slices:
    """The service that scores runs by slice of users or items, and counts their exposure by attribute."""

    def __init__(self, context: ServiceContext, data: RunData, values: MetricValues) -> None:
        self._context, self._data, self._values = context, data, values
        self._store = context.store
        self._exposures = context.cached(self._expose_slices, most=4)
        self.slice_scores = context.cached(self._score_slices, most=1024)
        self._attributes = context.cached(self._read_attributes, most=64)
        self._shown_rows = context.cached(self._count_shown, most=1024)

    def of(self, experiment_id: str) -> list[str]:
        """Returns the attributes by which the experiment can be sliced, such as ``user_warmth`` or
        ``item:genre``.
        """
        return list(self._data.known_slices(experiment_id))

    def splits(self, experiment_id: str, by: str) -> bool:
        """Returns whether this attribute makes two or more slices with users who count.

        Raises UnknownName for an unknown attribute ``by``, InputError if the table with it is missing.
        """
        return len(self._data.slices_by(experiment_id, by)) > 1

    def check(self, experiment_id: str, by: str) -> None:
        """Raises UnknownName if the experiment cannot be sliced by this attribute, InputError if its table is
        missing.
        """
        self._data.slices_by(experiment_id, by)

    def sliced(self, run_ids: Sequence[str], by: str, metrics: Sequence[str], k: int) -> pd.DataFrame:
        """Returns a frame with the columns of ``recdash.service.frames.slice_rows``: one row per run, slice
        and metric.

        Raises UnknownName for an unknown attribute ``by``, InputError if the table with it is missing.
        """
        check_k(k)
        runs = self._context.runs_of(run_ids)
        scores = [(run, metric, self.slice_scores(run.id, by, metric)) for run in runs for metric in metrics]
        return frames.slice_rows(scores, k)

    def _score_slices(self, run_id: str, by: str, metric: str) -> tuple[SliceScores, ...]:
        run, definition = self._store.runs.get(run_id), define(metric)
        if run.is_mean:
            return self._mean_slices(run_id, by, definition)
        hits, reference = self._data.hits(run_id), self._data.reference(run.experiment)
        users = self._context.settings_of(run.experiment)["users"]
        # Metrics that only need counts share one pass over the lists; the others need their own.
        metric_of_lists = metric if list_metrics([definition], reference, hits.depth) else ""
        needs_exposure = isinstance(definition.metric, CatalogueMetric)
        cuts = self._data.slices_by(run.experiment, by)
        exposures = self._exposures(run_id, by, metric_of_lists) if needs_exposure else [None] * len(cuts)
        return tuple(
            score_slice(hits_in_slice(hits, exposure), reference, [definition], users, cut)
            for cut, exposure in zip(cuts, exposures, strict=True)
        )

    def _mean_slices(self, run_id: str, by: str, definition: Definition) -> tuple[SliceScores, ...]:
        """Returns the scores of each slice as means over the run's seeds."""
        experiment, ids = self._store.runs.get(run_id).experiment, self._data.replicate_ids(run_id)
        reference, users = self._data.reference(experiment), self._context.settings_of(experiment)["users"]
        hits = [self._data.hits(replicate) for replicate in ids]
        by_slice = zip(*(self.slice_scores(replicate, by, str(definition)) for replicate in ids), strict=True)
        return tuple(
            replicates.mean_slice(cut, [definition], hits, scores, reference, users)
            for cut, scores in zip(self._data.slices_by(experiment, by), by_slice, strict=True)
        )

    def _expose_slices(self, run_id: str, by: str, metric_of_lists: str) -> Sequence[Exposure | None]:
        """Returns the exposure of the run's lists to the users of each slice, from the stored upload.

        It is None for slices of items. ``metric_of_lists`` is a metric that needs the lists themselves, or
        "".
        """
        run = self._store.runs.get(run_id)
        hits, reference = self._data.hits(run_id), self._data.reference(run.experiment)
        cuts = self._data.slices_by(run.experiment, by)
        users = slice_users(cuts)
        if not users:
            return [None] * len(cuts)
        metrics = list_metrics([define(metric_of_lists)] if metric_of_lists else [], reference, hits.depth)
        hits = self._data.match_again(run_id, shown_to=users, list_metrics=metrics)
        return [own.exposure for own in hits_by_slice(hits, cuts)]

    def attributes(self, experiment_id: str) -> list[str]:
        """Returns the catalogue columns that ``shown_by`` accepts; empty without a catalogue."""
        return list(self._attributes(experiment_id))

    def shown_by(self, run_ids: Sequence[str], attribute: str, k: int) -> pd.DataFrame:
        """Returns how the runs' top-k positions, and the catalogue's items, are distributed over an
        attribute's values.

        Columns: run_id, run, then those of ``attribute_share_rows``. A run without lists has no rows. Raises
        InputError without a catalogue and for a k beyond the depth, UnknownName for a column that the
        catalogue lacks.
        """
        import pandas as pd

        check_k(k)
        rows = [
            {"run_id": run.id, "run": run.name, **row}
            for run in self._context.runs_of(run_ids)
            for row in self._shown_rows(run.id, attribute, k)
        ]
        return pd.DataFrame(rows, columns=["run_id", "run", *SHOWN_COLUMNS])

    def _read_attributes(self, experiment_id: str) -> Sequence[str]:
        return attributes_of(self._data.reference(experiment_id))

    def _count_shown(self, run_id: str, attribute: str, k: int) -> Sequence[Mapping[str, Any]]:
        run = self._store.runs.get(run_id)
        if run.is_mean:
            ids = self._data.replicate_ids(run_id)
            return mean_rows([self._shown_rows(replicate, attribute, k) for replicate in ids])
        reference = self._data.reference(run.experiment)
        check_attribute(reference, attribute)
        catalogue = self._values.catalogue_of_all_lists(run_id)
        if catalogue is None:
            return []
        check_k(k, catalogue.depth)
        return attribute_share_rows(catalogue, reference, attribute, k)
