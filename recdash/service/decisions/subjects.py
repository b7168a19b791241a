"""What reviews and decisions are about: a run against a baseline by a metric, with the names of today."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from recdash.decisions import Named, Subject
from recdash.domain.records import Run
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.metrics import check_k, define
from recdash.metrics.naming import ordered_metrics
from recdash.service.context import ServiceContext
from recdash.service.defaults import (
    MOST_CANDIDATES,
    default_baseline,
    default_candidates,
    default_k,
    default_metric,
)
from recdash.service.offline.scores import Scores


class Subjects:
    def __init__(self, context: ServiceContext, scores: Scores) -> None:
        self._context, self._scores = context, scores
        self._store = context.store

    def subject(
        self, experiment_id: str, run_id: str | None, baseline: str | None, metric: str | None,
        k: int | None, runs: Sequence[str] | None,
    ) -> Subject:  # fmt: skip
        """What is decided about, with defaults in place of what is None. Raises InputError."""
        experiment = self._store.experiments.get(experiment_id)
        known = {run.id: run for run in self._store.runs.of_experiment(experiment_id, archived=True)}
        active = [run for run in known.values() if run.archived is None]
        for own_id in (run_id, baseline, *(runs or ())):
            if own_id is not None and own_id not in known:
                raise UnknownName("run", own_id, [run.name for run in active])
        base = known.get(baseline or "") or (default_baseline(experiment, active) if active else None)
        if not metric:
            metric = default_metric(ordered_metrics(self._scores.metrics_of([run.id for run in active])))
        depth = experiment.settings["depth"]
        k = default_k(depth) if k is None else k
        check_k(k, depth)
        candidates = default_candidates(active, base) if runs is None else [known[own_id] for own_id in runs]
        others = [run for run in candidates if run != base and run.id != run_id]
        most = MOST_CANDIDATES - (run_id is not None) if runs is None else len(others)
        named = tuple(Named(run.id, run.name) for run in others[:most])
        return Subject(_named(known.get(run_id or "")), _named(base), str(define(metric)), k, named)

    def named_now(self, subject: Subject) -> Subject:
        """With the names of today. Raises InputError where run or baseline is gone; others are left out."""
        self.refuse_gone(subject)
        names = self.names(subject)
        run, baseline = (
            named and Named(named.id, names[named.id]) for named in (subject.run, subject.baseline)
        )
        others = tuple(Named(named.id, names[named.id]) for named in subject.others if named.id in names)
        return replace(subject, run=run, baseline=baseline, others=others)

    def refuse_gone(self, subject: Subject) -> None:
        """Raises InputError where run or baseline was deleted."""
        gone = self.gone(subject)
        if gone:
            fix = "Its numbers cannot be had any more; what was written down before stays."
            raise InputError([Problem("run-gone", f"run '{name}'", "it was deleted", fix) for name in gone])

    def gone(self, subject: Subject) -> list[str]:
        """The names of run and baseline, where they were deleted."""
        names = self.names(subject)
        return [named.name for named in (subject.run, subject.baseline) if named and named.id not in names]

    def names(self, subject: Subject) -> dict[str, str]:
        """Run id → name today, of those that are still there."""
        names: dict[str, str] = {}
        for named in filter(None, (subject.run, subject.baseline, *subject.others)):
            with suppress(NotFound):
                names[named.id] = self._store.runs.get(named.id).name
        return names


def _named(run: Run | None) -> Named | None:
    return None if run is None else Named(run.id, run.name)
