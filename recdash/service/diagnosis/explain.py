"""Explains why a candidate's online result differs from its offline result, with checks on stored
evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec

from recdash.comparison import ComparisonQuery
from recdash.diagnosis import Evidence, Missing, ask_all, summary
from recdash.diagnosis.evidence import About
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem, RecdashError, UnknownName
from recdash.metrics import check_k, define, naming
from recdash.online.agreement.agreement import AGREE, quadrant
from recdash.online.agreement.join import BLOCKED, split_is_broken
from recdash.service.context import ServiceContext
from recdash.service.diagnosis.case import Case, Explanation
from recdash.service.diagnosis.offline_evidence import OfflineEvidence
from recdash.service.diagnosis.online_evidence import OnlineEvidence
from recdash.service.diagnosis.served_evidence import ServedEvidence
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.track_record import TrackRecords

P = ParamSpec("P")


@dataclass(eq=False)
class Diagnosis:
    """The service that explains the result of any variant that is linked to a run."""

    _context: ServiceContext
    _comparisons: Comparisons
    _online_evidence: OnlineEvidence
    _offline_evidence: OfflineEvidence
    _served_evidence: ServedEvidence
    _track_records: TrackRecords

    def __post_init__(self) -> None:
        self._explained = self._context.cached(self._explain, most=256)
        self._slope = self._context.cached_until_written(self._track_records.slope, most=64)

    def explain(
        self,
        test_id: str,
        variant: str,
        metric: str,
        k: int,
        online_metric: str,
        *,
        by_record: bool = True,
    ) -> Explanation:
        """Returns the answers of the twelve checks for a variant, whose run is compared with the control's.

        If the control is not linked to a run, the experiment's baseline takes its part. A check whose
        evidence is missing or damaged is inconclusive. ``by_record``: the lift that an offline gain implies
        is that of the track record, if it has a slope; reports and decisions do not use it, since it changes
        with the tests of other experiments. Raises UnknownName for an unknown variant or online metric,
        NotFound for a variant that is not linked to a run, InputError for a metric without a value per user
        and if there is no run to compare with.
        """
        check_k(k)
        test = self._context.ab_test(test_id)
        case = self._case(test, variant, metric, k, online_metric)
        slope = self._slope(case.query.metric, k, online_metric, test_id) if by_record else None
        state = self._comparisons.verdict_state(case.run_id), case.test.counting
        return self._explained(test_id, variant, case.query.metric, k, online_metric, state, slope=slope)

    def _case(self, test: OnlineTest, variant: str, metric: str, k: int, online_metric: str) -> Case:
        variants = sorted({*test.variants} - {test.control})
        if variant not in variants:
            raise UnknownName("variant", variant, variants)
        metrics = list(dict.fromkeys(str(row["metric"]) for row in test.results))
        if online_metric not in metrics:
            raise UnknownName("online metric", online_metric, metrics)
        base = self._context.run_of_control(test)
        if variant not in test.links:
            raise NotFound(f"Variant '{variant}' is not linked to a run. Link it on the Runs page.")
        if base is None or base == test.links[variant]:
            same = "variant and control served the same run"
            reason = "the control is not linked to a run" if base is None else same
            problem = f"{reason}, so there is nothing to explain"
            fix = "On the Runs page, link variant and control to the runs they served."
            raise InputError(Problem("no-base", f"test '{test.name}'", problem, fix))
        define(metric).formula()  # raises InputError if there is no value per user
        return Case(test, variant, ComparisonQuery((test.links[variant],), base, metric, k), online_metric)

    def _explain(
        self, test_id: str, variant: str, metric: str, k: int, online_metric: str,
        state: Hashable,  # noqa: ARG002 - for the cache
        *, slope: float | None,
    ) -> Explanation:  # fmt: skip
        case = self._case(self._context.ab_test(test_id), variant, metric, k, online_metric)
        evidence = replace(self._evidence(case), slope=slope)
        answers = ask_all(evidence)
        about, quadrant_in_words = evidence.about, _quadrant(case.test, evidence)
        text = summary(answers, agreed=quadrant_in_words in AGREE)
        return Explanation(
            case.test.name, variant, case.run_id, about.run, about.base, metric, k, about.online,
            quadrant_in_words, answers, text,
        )  # fmt: skip

    def _evidence(self, case: Case) -> Evidence:
        online, offline, served = self._online_evidence, self._offline_evidence, self._served_evidence
        return Evidence(
            about=self._about(case),
            gain=_unless_missing(offline.case_gain, case),
            lift=_unless_missing(online.lift_of, case, case.online_metric),
            detectable=_unless_missing(online.case_detectable, case),
            split=_unless_missing(online.case_split, case),
            popularity=_unless_missing(offline.case_popularity, case),
            times=_unless_missing(offline.case_times, case),
            audience=_unless_missing(offline.case_audience, case),
            seen=_unless_missing(served.case_seen, case),
            places=_unless_missing(served.case_places, case),
            served=_unless_missing(served.case_served, case),
            novelty=_unless_missing(online.case_novelty, case),
            stricter=_unless_missing(offline.case_stricter, case),
            sessions=_unless_missing(online.lift_of, case, "sessions_per_user"),
            segments=_unless_missing(online.case_segments, case),
        )

    def _about(self, case: Case) -> About:
        run, base = self._context.runs_of([case.run_id, case.query.baseline])
        titles = {str(row["metric"]): str(row["title"]) for row in case.test.results}
        title = naming.metric_title(case.query.metric, case.query.k)
        per = _unless_missing(self._online_evidence.per, case)
        per = None if isinstance(per, Missing) else per
        names = (run.name, base.name, case.variant, case.test.control)
        return About(*names, title, case.query.k, titles[case.online_metric], per)


def _unless_missing(
    gather: Callable[Concatenate[Case, P], Any], case: Case, *args: P.args, **named: P.kwargs
) -> Any:
    """Returns the evidence that ``gather`` returns, or why it is missing if it raises.

    So a damaged file affects one check rather than the whole page.
    """
    try:
        return gather(case, *args, **named)
    except InputError as error:
        return Missing(f"other input ({'; '.join(problem.found for problem in error.problems)})")
    except RecdashError as error:
        return Missing(f"readable evidence ({error})")


def _quadrant(test: OnlineTest, evidence: Evidence) -> str:
    """Returns whether the run won or lost offline and online, in words; ``BLOCKED`` for a sample ratio
    mismatch.
    """
    if split_is_broken(test.notices):
        return BLOCKED
    gain, lift = evidence.gain, evidence.lift
    low, high = (None, None) if isinstance(gain, Missing) else (gain.low, gain.high)
    lift_low, lift_high = (None, None) if isinstance(lift, Missing) else (lift.low, lift.high)
    return quadrant(low, high, lift_low, lift_high)
