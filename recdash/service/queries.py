"""Comparison queries in which every omitted field has its default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType

from recdash.comparison import ComparisonQuery, Terms
from recdash.comparison.headlines import values
from recdash.comparison.rules import DecisionRules
from recdash.domain.arguments import check_type, texts_of
from recdash.domain.defaults import FIRST_CANDIDATES, default_baseline, default_k, default_metric
from recdash.domain.records import Experiment, Run
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, NotFound, Problem, RecdashError
from recdash.metrics import check_k
from recdash.metrics.naming import ordered_metrics
from recdash.service.context import ServiceContext
from recdash.service.offline.scores import Scores
from recdash.service.rules import rules_of


@dataclass(eq=False)
class Queries:
    """The service that makes comparison queries of an experiment's runs."""

    _context: ServiceContext
    _scores: Scores

    def __post_init__(self) -> None:
        self._best_first = self._context.cached(self._rank, most=256)

    def of(
        self,
        experiment_id: str,
        runs: Sequence[str] = (),
        baseline: str | None = None,
        metric: str | None = None,
        k: int | None = None,
        *,
        scope: Scope = WHOLE,
        terms: Terms | None = None,
    ) -> ComparisonQuery:
        """Returns a comparison query; for each field that is not given, it takes the experiment's default, as
        pages do.

        Raises NotFound for a run of another experiment, and InputError if there is no run to compare, for an
        unknown metric, and for a k beyond the depth.
        """
        runs = texts_of("runs", runs, "the id of a run")
        check_type("baseline", baseline, (str, NoneType), "Give the id of a run.")
        check_type("metric", metric, (str, NoneType), "Give the name of a metric, such as 'ndcg'.")
        experiment = self._context.store.experiments.get(experiment_id)
        known = self._runs_by_id(experiment_id, [*runs, *([baseline] if baseline else [])])
        active = [run for run in known.values() if run.archived is None]
        if not baseline and not active:
            fix = "Upload the scored output of a recommender first."
            raise InputError(Problem("no-run", "comparison", "the experiment has no run", fix))
        rules = rules_of(experiment)
        base = known[baseline] if baseline else self.baseline(experiment, active)
        candidates = tuple(runs) or tuple(
            run.id for run in self.candidates(experiment, [run.id for run in active], base.id)
        )
        if not metric:
            scored = (base.id, *candidates) if runs else [run.id for run in active]
            metric = default_metric(ordered_metrics(self._scores.metrics_of(scored)), rules.metric)
        k = default_k(experiment.settings["depth"], rules.k) if k is None else k
        check_k(k, experiment.settings["depth"])
        return ComparisonQuery(candidates, base.id, metric, k, scope, terms or rules.terms)

    def baseline(self, experiment: Experiment, runs: Sequence[Run]) -> Run:
        """Returns the run that others are compared with by default; ``default_baseline`` has the rule."""
        if experiment.baseline is not None and any(run.id == experiment.baseline for run in runs):
            return default_baseline(experiment, runs)
        tests = self._context.ab_tests(experiment.id)
        served = {test.links[test.control] for test in tests if test.control in test.links}
        return default_baseline(experiment, runs, served)

    def candidates(
        self,
        experiment: Experiment,
        run_ids: Sequence[str],
        baseline_id: str | None,
        rules: DecisionRules | None = None,
    ) -> tuple[Run, ...]:
        """Returns which of these runs are compared by default, in their given order: neither the baseline nor
        a reference and, of more than eight, those with the best values of the experiment's metric at its k.

        ``rules`` are decision rules that are not saved yet. If the values cannot be read, the first eight are
        returned. Raises NotFound for an unknown run.
        """
        runs = self._context.runs_of(run_ids)
        own = [run for run in runs if run.id != baseline_id and not run.reference]
        if len(own) <= FIRST_CANDIDATES:
            return tuple(own)
        rules, ids = rules or rules_of(experiment), [run.id for run in own]
        try:
            metric = default_metric(ordered_metrics(self._scores.metrics_of(ids)), rules.metric)
            k = default_k(experiment.settings["depth"], rules.k)
            best = self._best_first(tuple(ids), metric, k)[:FIRST_CANDIDATES]
        except RecdashError:  # a damaged run: the page says what cannot be computed
            best = tuple(ids[:FIRST_CANDIDATES])
        return tuple(run for run in own if run.id in best)

    def _rank(self, run_ids: tuple[str, ...], metric: str, k: int) -> tuple[str, ...]:
        """Returns the runs by their values of the metric at k, the best first; those without a value last."""
        known = values(self._scores.scoreboard(run_ids, (metric,), k), metric)
        return (*known, *(run_id for run_id in run_ids if run_id not in known))

    def check(self, experiment_id: str, query: ComparisonQuery) -> None:
        """Raises NotFound if the query has a run of another experiment, InputError if its k is beyond the
        depth.
        """
        self._runs_by_id(experiment_id, query.shown)
        check_k(query.k, self._context.store.experiments.get(experiment_id).settings["depth"])

    def _runs_by_id(self, experiment_id: str, wanted: Sequence[str]) -> dict[str, Run]:
        """Returns all runs of the experiment by id, archived ones included.

        Raises NotFound if one of ``wanted`` is not among them.
        """
        runs = self._context.store.runs.of_experiment(experiment_id, archived=True)
        known = {run.id: run for run in runs}
        for run_id in wanted:
            if run_id not in known:
                raise NotFound(f"Run {run_id} is not in this experiment.")
        return known
