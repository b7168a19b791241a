"""Stored runs against a baseline in every segment of the users or of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recdash.comparison import Terms
from recdash.comparison.segments import EVERYBODY, Cell, SegmentComparison, compare_segments
from recdash.domain.results import Scope, UserValues
from recdash.evaluation import replicate_means
from recdash.metrics import Definition, check_k, define
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
    """For whom a candidate is better, and for whom it is not."""

    def __init__(
        self, context: ServiceContext, data: RunData, values: MetricValues, scores: Scores, slices: Slices
    ) -> None:
        self._context, self._data, self._values, self._scores, self._slices = (
            context,
            data,
            values,
            scores,
            slices,
        )
        self._inside = context.cached(self._values_inside, most=256)
        self._segmented = context.cached(self._cut_and_judge, most=256)
        self._slice_samples = context.cached(self._sample_slices, most=10)  # 45 MB each with 162k users

    def of(
        self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int, by: str,
        terms: Terms | None = None, *, least: int = LEAST,
    ) -> pd.DataFrame:  # fmt: skip
        """One row per segment and run, the baseline too: ``SEGMENT_COLUMNS``; everybody is segment ``""``.

        ``value`` is the mean over the run's own ``n`` users, ``mean_diff`` that over the ``n_users`` it
        shares with the baseline. All segments with at least ``least`` users × candidates are judged as one
        family. Raises UnknownName for an unknown ``by``, InputError for one whose table is missing.
        """
        import pandas as pd

        result = self.segmented(run_ids, baseline_id, metric, k, by, terms, least=least)
        titles = {EVERYBODY: "All users", **result.titles}
        rows = [
            {
                "segment": segment,
                "title": titles[segment],
                "run_id": run,
                "run": result.names[run],
                **_row(cell),
            }
            for (segment, run), cell in result.cells.items()
        ]
        return pd.DataFrame(rows, columns=SEGMENT_COLUMNS)

    def segmented(
        self, run_ids: Sequence[str], baseline_id: str, metric: str, k: int, by: str,
        terms: Terms | None = None, *, least: int = LEAST,
    ) -> SegmentComparison:  # fmt: skip
        """What ``of`` tells, with what the whole does not show."""
        check_k(k)
        runs = tuple(dict.fromkeys((baseline_id, *run_ids)))
        result = self._segmented(runs, str(define(metric)), k, by, terms or Terms(), least)
        return replace(result, names={run.id: run.name for run in self._context.runs_of(runs)})

    def _cut_and_judge(
        self, run_ids: tuple[str, ...], metric: str, k: int, by: str, terms: Terms, least: int
    ) -> SegmentComparison:
        """The first run is the baseline."""
        cuts = self._data.slices_by(self._context.store.run(run_ids[0]).experiment, by)
        titles = {cut.value: cut.title for cut in cuts}
        of_items = any(cut.rows is not None for cut in cuts)
        empty = SegmentComparison(by, metric, k, run_ids[0], {}, titles, {}, least, terms, of_items)
        if not define(metric).has_user_values:
            return replace(empty, cells=self._by_value(run_ids, by, metric, k))
        inside = {run: self._inside(run, by, metric, k) for run in run_ids}
        parts = enumerate((EVERYBODY, *titles))
        return compare_segments(
            empty, {cut: {run: values[index] for run, values in inside.items()} for index, cut in parts}
        )

    # ── with a value per user ────────────────────────────────────────────────────────────────

    def _values_inside(self, run_id: str, by: str, metric: str, k: int) -> tuple[UserValues | None, ...]:
        """A run's values of everybody, then of each slice; None where it lacks the metric."""
        everybody, cuts = (
            self._values.user_values(run_id, metric, k),
            self._data.slices_by(self._context.store.run(run_id).experiment, by),
        )
        if everybody is None:
            return (None,) * (1 + len(cuts))
        of_users = [everybody.of(cut.users[everybody.users]) for cut in cuts if cut.users is not None]
        if len(of_users) == len(cuts):
            return (everybody, *of_users)
        samples = self._slice_samples(run_id, by)
        return (everybody, *(_values_of(define(metric), of_slice, k) for of_slice in samples))

    def _sample_slices(self, run_id: str, by: str) -> list[list[RelevantHits]]:
        """For each slice who counts in it: one sample, or one per seed."""
        run = self._context.store.run(run_id)
        ids = [one.id for one in self._data.replicates_of(run_id)] if run.is_mean else [run_id]
        parts = [Scope(f"{by}={cut.value}") for cut in self._data.slices_by(run.experiment, by)]
        # not through the cache of materials, which so many would empty
        samples = [[self._values.read_material(one, None, part).sample for one in ids] for part in parts]
        return [[one for one in of_part if one is not None] for of_part in samples]

    # ── without ──────────────────────────────────────────────────────────────────────────────

    def _by_value(self, run_ids: Sequence[str], by: str, metric: str, k: int) -> dict[tuple[str, str], Cell]:
        """Values alone, of metrics that look at the lists as a whole."""
        absent = self._scores.absences(run_ids, metric).items()
        cells = {(EVERYBODY, run): Cell(float("nan"), 0, why=reason) for run, reason in absent}
        whole = self._scores.scoreboard(run_ids, [metric], k).assign(slice=EVERYBODY, reason="")
        for rows in (whole, self._slices.sliced(run_ids, by, [metric], k)):
            for row in rows.to_dict("records"):
                value, n = float(row["value"]), int(row["n_users"])
                cells[row["slice"], row["run_id"]] = Cell(value, n, why=row["reason"])
        order = (
            (segment, run) for segment in dict.fromkeys(segment for segment, _ in cells) for run in run_ids
        )
        return {key: cells[key] for key in order if key in cells}


def _values_of(definition: Definition, samples: Sequence[RelevantHits], k: int) -> UserValues | None:
    """The values of those who count in a slice; None where nobody does."""
    if not any(sample.n_users for sample in samples):
        return None
    return replicate_means.user_values(definition, samples, k)


def _row(cell: Cell) -> dict[str, Any]:
    paired = cell.pair.paired if cell.pair else None
    corrected = cell.pair.judged.corrected if cell.pair else None
    return {
        "value": cell.value, "n": cell.n, "mean_diff": cell.difference, "n_users": cell.n_shared,
        "ci_low": corrected.low if corrected else None, "ci_high": corrected.high if corrected else None,
        "p": paired.p if paired else None, "p_corrected": cell.pair.judged.p if cell.pair else None,
        "wins": paired.wins if paired else None, "ties": paired.ties if paired else None,
        "losses": paired.losses if paired else None, "word": cell.word or "", "reason": cell.why,
    }  # fmt: skip
