"""Answers as plain values for JSON: ``--format json`` of the commands and the HTTP API return the same.

Experiments, runs and tests are given by name, as people write them; experiments and tests also by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from recdash.comparison import read_margin
from recdash.domain.results import Scope
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.metrics import define, parse
from recdash.online import OnlineResults

if TYPE_CHECKING:
    from recdash.comparison import ComparisonQuery
    from recdash.comparison.result import Compared
    from recdash.domain.records import Experiment, OnlineTest, Replicated, Run
    from recdash.online.analysis.further_questions import FurtherQuestions
    from recdash.online.analysis.plan_check import PlanCheck
    from recdash.online.analysis.results import OnlineRow
    from recdash.online.analysis.shared_users import SharedUsers
    from recdash.service import Workspace
    from recdash.stats import Correction


@dataclass(frozen=True)
class NamedQuery:
    """A comparison of stored runs, by their names; what is not given follows the experiment's rules.

    ``metric`` has its cutoff, such as ``ndcg@10``; ``margin`` is a text such as ``1%`` or ``0.002``.
    """

    runs: Sequence[str] = ()
    baseline: str | None = None
    metric: str | None = None
    margin: str | None = None
    correction: Correction = "holm"
    scope: Scope = Scope()  # noqa: RUF009 - it is frozen


def experiment_of(workspace: Workspace, name: str) -> Experiment:
    """Returns the experiment with this id or name. Raises NotFound."""
    for experiment in workspace.experiments.all():
        if experiment.id == name:
            return experiment
    return workspace.experiments.named(name)


def ab_test_of(workspace: Workspace, experiment_id: str, name: str | None) -> OnlineTest:
    """Returns the A/B test with this id or name, the newest for None. Raises NotFound."""
    for test in workspace.online_tests.all(experiment_id):
        if test.id == name:
            return test
    try:
        return workspace.online_tests.named(experiment_id, name)
    except UnknownName as why:
        raise NotFound(str(why)) from None


def ids_of(runs: Iterable[Run], names: Iterable[str]) -> list[str]:
    """Returns the ids of runs with these names or ids. Raises UnknownName."""
    runs = list(runs)
    ids = {run.id: run.id for run in runs} | {run.name: run.id for run in runs}
    for name in (names := list(names)):
        if name not in ids:
            raise UnknownName("run", name, [run.name for run in runs])
    return [ids[name] for name in names]


def experiments_facts(workspace: Workspace) -> dict[str, Any]:
    """Returns the facts of each experiment."""
    known = workspace.experiments.all()
    return {"experiments": [experiment_facts(workspace, experiment) for experiment in known]}


def experiment_facts(workspace: Workspace, experiment: Experiment) -> dict[str, Any]:
    """Returns the facts of an experiment, with its runs and the names of its tests."""
    return {
        "id": experiment.id,
        "name": experiment.name,
        "created": experiment.created.isoformat(),
        "depth": experiment.settings["depth"],
        "truth_users": experiment.settings["truth_users"],
        "runs": run_facts(workspace, experiment),
        "online_tests": [test.name for test in workspace.online_tests.all(experiment.id)],
        "interleaving_tests": [test.name for test in workspace.interleaving.all(experiment.id)],
    }


def run_facts(workspace: Workspace, experiment: Experiment) -> list[dict[str, Any]]:
    """Returns the facts of each run of an experiment."""
    return [
        {
            "id": run.id,
            "name": run.name,
            "created": run.created.isoformat(),
            "tags": list(run.tags),
            "params": dict(run.params),
            "source": dict(run.source) or None,
            "baseline": run.id == experiment.baseline,
            "ledger": dict(run.ledger),
            "known_ids": run.overlap.as_dict() if run.overlap else None,
            "replicates": _replicates_facts(run.replicated),
        }
        for run in workspace.runs.all(experiment.id)
    ]


def _replicates_facts(replicated: Replicated | None) -> dict[str, Any] | None:
    return None if replicated is None else {"n": len(replicated.labels), **asdict(replicated)}


def score_rows(
    workspace: Workspace, experiment: Experiment, runs: Sequence[str], metrics: Sequence[str], scope: Scope
) -> list[dict[str, Any]]:
    """Returns a row per run, metric and cutoff: run_id, run, metric, k, value, std_error, n_users.

    A metric with a cutoff, such as ``ndcg@10``, has rows at that cutoff only. Without ``runs`` all are
    meant, without ``metrics`` those that are stored.
    """
    stored = workspace.runs.all(experiment.id)
    ids = ids_of(stored, runs) if runs else [run.id for run in stored]
    if not ids:
        return []
    specs = [parse(metric) for metric in metrics or workspace.scores.metrics_of(ids)]
    cutoffs: dict[str, set[int | None]] = {}
    for spec in specs:
        cutoffs.setdefault(str(define(spec.label)), set()).add(spec.k)
    frame = workspace.scores.curves(ids, list(cutoffs), scope)
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [_plain(row) for row in rows if {None, row["k"]} & cutoffs.get(row["metric"], {None})]


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    """Returns a row with Python's own numbers, whole cutoffs, and None for values that JSON cannot write."""
    plain = {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
    if plain["k"] is not None:
        plain["k"] = int(plain["k"])
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in plain.items()
    }


def query_of(workspace: Workspace, experiment: Experiment, asked: NamedQuery) -> ComparisonQuery:
    """Returns the query that the names mean: without ``runs`` all but reference candidates.

    Raises InputError for unknown names, and if there is no run besides the baseline.
    """
    stored = workspace.runs.all(experiment.id)
    names = asked.runs or [run.name for run in stored if not run.reference]
    baseline = asked.baseline
    if baseline is None and stored:
        baseline = workspace.queries.baseline(experiment, stored).name
    candidates = ids_of(stored, names)
    if not set(candidates) - set(ids_of(stored, [baseline] if baseline is not None else [])):
        message = f"no candidate besides '{baseline}'"
        raise InputError(Problem("no-candidate", "comparison", message, "Name a run besides the baseline."))
    spec = parse(asked.metric) if asked.metric is not None else None
    terms = replace(workspace.rules.of(experiment.id).terms, correction=asked.correction)
    if asked.margin is not None:
        terms = replace(terms, margin=read_margin(asked.margin))
    return workspace.queries.of(
        experiment.id,
        candidates,
        None if baseline is None else ids_of(stored, [baseline])[0],
        spec.label if spec else None,
        spec.k if spec else None,
        scope=asked.scope,
        terms=terms,
    )


def compared(workspace: Workspace, experiment: Experiment, asked: NamedQuery) -> Compared:
    """Returns the comparison that the names mean; ``as_dict()`` of it is its JSON."""
    return workspace.comparisons.compare(query_of(workspace, experiment, asked))


def ab_tests_facts(workspace: Workspace, experiment: Experiment) -> dict[str, Any]:
    """Returns the name, control and linked runs of each A/B test of an experiment."""
    facts = [
        {
            "id": test.id,
            "name": test.name,
            "created": test.created.isoformat(),
            "control": test.control,
            "links": dict(test.links),
        }
        for test in workspace.online_tests.all(experiment.id)
    ]
    return {"online_tests": facts}


def ab_test_facts(
    workspace: Workspace,
    test: OnlineTest,
    correction: Correction = "holm",
    asked: FurtherQuestions | None = None,
) -> dict[str, Any]:
    """Returns the results of a stored A/B test, compared with its plan if it has one, and what is asked
    further.
    """
    results = workspace.online_analysis.results(test.id, correction)
    planned, shared = workspace.plans.check(test.id), workspace.concurrent_tests.of(test.id)
    facts = stored_facts(results, planned, shared)
    return facts if asked is None else asked.added_to(facts, results)


def stored_facts(
    results: OnlineResults, planned: PlanCheck | None, shared: Sequence[SharedUsers]
) -> dict[str, Any]:
    """Returns the results of a stored A/B test, with what its plan and its users say of them."""
    facts = results_facts(results) | ({"plan": planned.as_dict()} if planned else {})
    return {**facts, "shared_users": [users.as_dict() for users in shared]}


def results_facts(results: OnlineResults) -> dict[str, Any]:
    """Returns the results as JSON-ready values; ``results`` has one row per metric and variant other than
    control.
    """
    health = results.health
    control = {row.metric: row for row in results.rows if row.is_control}
    return {
        "control": results.control,
        "users": dict(results.users),
        "health": {
            "srm_p": health.srm_p,
            **({} if health.activated_srm_p is None else {"activated_srm_p": health.activated_srm_p}),
            **({"populations": [asdict(p) for p in health.populations]} if health.populations else {}),
            "crossover": health.crossover,
            "blocked": health.blocked,
            "warnings": [f"{warning.code}: {warning}" for warning in health.warnings],
        },
        "removed": [part.as_dict() for part in results.removed],
        "notices": [
            {"code": notice.code, "text": str(notice)}
            for notice in (*results.notices, *results.value_notices)
        ],
        "results": [_result(row, control.get(row.metric)) for row in results.rows if not row.is_control],
    }


def _result(row: OnlineRow, control: OnlineRow | None) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "variant": row.variant,
        "control_value": control.value if control else None,
        "variant_value": row.value,
        "lift": row.lift,
        "lift_low": row.lift_low,
        "lift_high": row.lift_high,
        "adjusted": row.plain_lift is not None,
        "plain_lift": row.plain_lift,
        "plain_low": row.plain_low,
        "plain_high": row.plain_high,
        "difference": row.difference,
        "difference_low": row.difference_low,
        "difference_high": row.difference_high,
        "corrected_difference_low": row.corrected_difference_low,
        "corrected_difference_high": row.corrected_difference_high,
        "method": row.method,
        "p": row.p,
        "p_corrected": row.p_corrected,
        "corrected_low": row.corrected_low,
        "corrected_high": row.corrected_high,
        "sequence_low": row.sequence_low,
        "sequence_high": row.sequence_high,
        "sequence_note": row.sequence_note,
        "role": row.role,
        "margin": row.margin,
        "finding": row.word,
        "more_users": row.more_users,
        "n_control": control.n_users if control else None,
        "n_variant": row.n_users,
        "note": row.note,
    }
