"""Compares stored runs with a baseline in every segment of users or items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recdash.comparison import ComparisonQuery
from recdash.comparison.segments import EVERYBODY, Cell, SegmentComparison, compare_segments
from recdash.domain.results import WHOLE, Scope, UserValues
from recdash.evaluation import replicate_means
from recdash.metrics import define
from recdash.metrics.sample import RelevantHits
from recdash.service.context import ServiceContext
from recdash.service.metric_values import MetricValues
from recdash.service.offline.scores import Scores
from recdash.service.offline.slices import Slices
from recdash.service.run_data import RunData
from recdash.stats import LEAST

if TYPE_CHECKING:
    import pandas as pd

SEGMENT_COLUMNS = [
    "segment", "title", "run_id", "run", "value", "n", "mean_diff", "ci_low", "ci_high", "p", "p_corrected",
    "n_users", "wins", "ties", "losses", "word", "reason",
]  # fmt: skip


class Segments:
    """The service that compares candidates with the baseline in each segment."""

    def __init__(
        self, context: ServiceContext, data: RunData, values: MetricValues, scores: Scores, slices: Slices
    ) -> None:
        self._context, self._data, self._values = context, data, values
        self._store = context.store
        self._scores, self._slices = scores, slices
        self._slice_values = context.cached(self._values_by_slice, most=256)
        self._segmented = context.cached(self._cut_and_judge, most=256)
        self._slice_samples = context.cached(self._sample_slices, most=10)  # each takes 45 MB with 162k users

    def of(self, query: ComparisonQuery, by: str, *, least: int = LEAST) -> pd.DataFrame:
        """Returns a frame with ``SEGMENT_COLUMNS``: one row per segment and run, including the baseline.

        The segment ``""`` has all users. The query's scope is ignored, because a scope is a segment here.
        ``value`` is the mean over the ``n`` users of the run, ``mean_diff`` the mean difference over the
        ``n_users`` users that it shares with the baseline. All segments with at least ``least`` users ×
        candidates are tested as one family. Raises UnknownName for an unknown attribute ``by``, InputError if
        the table with it is missing.
        """
        import pandas as pd

        result = self.segmented(query, by, least=least)
        titles = {EVERYBODY: "All users", **result.titles}
        names = result.names
        rows = [
            {"segment": segment, "title": titles[segment], "run_id": run, "run": names[run], **_row(cell)}
            for (segment, run), cell in result.cells.items()
        ]
        return pd.DataFrame(rows, columns=SEGMENT_COLUMNS)

    def segmented(self, query: ComparisonQuery, by: str, *, least: int = LEAST) -> SegmentComparison:
        """Returns the comparison that ``of`` makes into a frame, with its query and the titles of
        segments.
        """
        result = self._segmented(replace(query, scope=WHOLE), by, least)
        return replace(result, names={run.id: run.name for run in self._context.runs_of(query.shown)})

    def _cut_and_judge(self, query: ComparisonQuery, by: str, least: int) -> SegmentComparison:
        metric, k = query.metric, query.k
        cuts = self._data.slices_by(self._store.runs.get(query.baseline).experiment, by)
        titles = {cut.value: cut.title for cut in cuts}
        of_items = any(cut.rows is not None for cut in cuts)
        empty = SegmentComparison(query, by, {}, titles, {}, least, of_items)
        if not define(metric).has_user_values:
            return replace(empty, cells=self._by_value(query.shown, by, metric, k))
        values: dict[str, dict[str, UserValues | None]] = {segment: {} for segment in (EVERYBODY, *titles)}
        for run_id in query.shown:
            for segment, own in zip(values, self._slice_values(run_id, by, metric, k), strict=True):
                values[segment][run_id] = own
        return compare_segments(empty, values)

    # ── with values per user ───────────────────────────────────────────────────────────────

    def _values_by_slice(self, run_id: str, by: str, metric: str, k: int) -> tuple[UserValues | None, ...]:
        """Returns the run's values per user: first of all users, then of each slice of the attribute ``by``.

        Each is None if the run lacks the metric, or if no user counts there.
        """
        everybody = self._values.user_values(run_id, metric, k)
        cuts = self._data.slices_by(self._store.runs.get(run_id).experiment, by)
        if everybody is None:
            return (None,) * (1 + len(cuts))
        of_users = [everybody.of(cut.users[everybody.users]) for cut in cuts if cut.users is not None]
        if len(of_users) == len(cuts):
            return (everybody, *of_users)
        definition = define(metric)
        return everybody, *(
            replicate_means.user_values(definition, samples, k)
            if any(sample.n_users for sample in samples)
            else None
            for samples in self._slice_samples(run_id, by)
        )

    def _sample_slices(self, run_id: str, by: str) -> list[list[RelevantHits]]:
        """Returns for each slice the hits of the users who count in it: one sample, or one per seed."""
        run = self._store.runs.get(run_id)
        ids = self._data.replicate_ids(run_id) if run.is_mean else [run_id]
        samples = []
        for cut in self._data.slices_by(run.experiment, by):
            scope = Scope(f"{by}={cut.value}")
            # not cached, because the inputs of all slices would fill the cache
            samples.append([self._values.read_sample(id_, None, scope) for id_ in ids])
        return samples

    # ── without values per user ────────────────────────────────────────────────────────────

    def _by_value(self, run_ids: Sequence[str], by: str, metric: str, k: int) -> dict[tuple[str, str], Cell]:
        """Returns a value without a test for each (segment, run id), for catalogue-level metrics."""
        absent = self._scores.absences(run_ids, metric).items()
        cells = {(EVERYBODY, run): Cell(float("nan"), 0, why=reason) for run, reason in absent}
        whole = self._scores.scoreboard(run_ids, [metric], k).assign(slice=EVERYBODY, reason="")
        for rows in (whole, self._slices.sliced(run_ids, by, [metric], k)):
            for row in rows.to_dict("records"):
                value, n = float(row["value"]), int(row["n_users"])
                cells[row["slice"], row["run_id"]] = Cell(value, n, why=row["reason"])
        segments = dict.fromkeys(segment for segment, _ in cells)
        order = [(segment, run) for segment in segments for run in run_ids]
        return {key: cells[key] for key in order if key in cells}


def _row(cell: Cell) -> dict[str, Any]:
    paired, judged = (cell.pair.paired, cell.pair.judged) if cell.pair else (None, None)
    return {
        "value": cell.value, "n": cell.n, "mean_diff": cell.difference, "n_users": cell.n_shared,
        "ci_low": judged.corrected.low if judged else None,
        "ci_high": judged.corrected.high if judged else None,
        "p": paired.p if paired else None, "p_corrected": judged.p if judged else None,
        "wins": paired.wins if paired else None, "ties": paired.ties if paired else None,
        "losses": paired.losses if paired else None, "word": cell.word or "", "reason": cell.why,
    }  # fmt: skip
