"""Answers by name on offline and online results: whether they agree, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.comparison.result import cutoff_of
from recdash.domain.defaults import DEFAULT_SPEC
from recdash.errors import InputError, NotFound, Problem
from recdash.metrics import parse
from recdash.online.agreement.agreement import DISAGREE
from recdash.service.plain_answers import ab_test_of, ids_of

if TYPE_CHECKING:
    from recdash.domain.records import Experiment, OnlineTest
    from recdash.online.agreement.agreement import Agreement, BestMetric
    from recdash.online.agreement.kept_estimates import EstimateBesideTest
    from recdash.online.agreement.track_record import TrackRecord
    from recdash.service import Explanation, Workspace


@dataclass(frozen=True)
class MetricPair:
    """An offline metric with its cutoff, and an online metric of an A/B test, by their names.

    Without ``test`` the newest is meant; without ``online`` the first metric that disagrees, or the primary
    one.
    """

    test: str | None = None
    metric: str = DEFAULT_SPEC
    online: str | None = None

    def of(self, workspace: Workspace, experiment: Experiment) -> tuple[OnlineTest, str, int, str]:
        """Returns the test, the offline metric, its cutoff, and the online metric."""
        spec, test = parse(self.metric), ab_test_of(workspace, experiment.id, self.test)
        label, k = spec.label, cutoff_of(spec)
        if self.online is not None:
            return test, label, k, self.online
        disagreeing = workspace.online_tests.disagreeing_metrics(test.id, label, k)
        return test, label, k, test.metric_to_explain(disagreeing)


@dataclass(frozen=True)
class AgreementAnswer:
    """Whether offline metrics and an A/B test rank the runs alike, and how often they have so far.

    ``estimates`` are the off-policy estimates that are kept with the experiment.
    """

    test: str
    agreement: Agreement
    best: BestMetric
    record: TrackRecord
    estimates: list[EstimateBesideTest]

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        estimates = [estimate.as_dict() for estimate in self.estimates]
        further = {
            "best_metric": self.best.as_dict(),
            "track_record": self.record.as_dict(),
            "off_policy": estimates,
        }
        return {"test": self.test, **self.agreement.as_dict(), **further}


def agreement_of(workspace: Workspace, experiment: Experiment, asked: MetricPair) -> AgreementAnswer:
    """Returns whether offline metrics and an A/B test agree."""
    test, label, k, online = asked.of(workspace, experiment)
    return AgreementAnswer(
        test.name,
        workspace.agreement.of(test.id, label, k, online),
        workspace.agreement.best_metric(test.id, online),
        workspace.track_records.of(label, k, online, test.id),
        workspace.off_policy.beside_test(experiment.id, label, k, test.id, online),
    )


def explanation_of(
    workspace: Workspace,
    experiment: Experiment,
    asked: MetricPair,
    variant: str | None = None,
    run: str | None = None,
) -> Explanation:
    """Returns why the results of a variant differ: of the one named, else of the one that served the run,
    else of the first whose results disagree.

    Raises InputError if both a variant and a run are named, and NotFound if no variant is linked to a run.
    """
    test, label, k, online = asked.of(workspace, experiment)
    run_id = None if run is None else ids_of(workspace.runs.all(experiment.id, archived=True), [run])[0]
    chosen = _variant(workspace, test, variant, run_id, (label, k, online))
    return workspace.diagnosis.explain(test.id, chosen, label, k, online)


def _variant(
    workspace: Workspace,
    test: OnlineTest,
    variant: str | None,
    run: str | None,
    question: tuple[str, int, str],
) -> str:
    if variant is not None and run is not None:
        fix = "Name either the variant or the run."
        raise InputError(Problem("two-names", "candidate", "both a variant and a run are named", fix))
    if variant is not None:
        return variant
    linked = {name: run_id for name, run_id in test.links.items() if name != test.control}
    if run is not None:
        variants = [name for name, run_id in linked.items() if run_id == run]
        if not variants:
            raise NotFound(f"No variant of '{test.name}' is linked to that run.")
        return variants[0]
    if not linked:
        raise NotFound(f"No variant of '{test.name}' is linked to a run. Link them on the Runs page.")
    rows = workspace.online_tests.offline_online(test.id, *question)
    disagreeing = rows[rows["quadrant"].isin(DISAGREE)]["variant"].tolist()
    return str((disagreeing or list(linked))[0])
