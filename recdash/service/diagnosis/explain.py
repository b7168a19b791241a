"""Why a candidate did online what it did not offline: evidence from the store, and what the checks say."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

from recdash.diagnosis import Evidence, Missing, ask_all, summary
from recdash.diagnosis.evidence import About, Gain, OnlineChange
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem, RecdashError, UnknownName
from recdash.metrics import check_k, define, naming
from recdash.online.agreement.agreement import quadrant
from recdash.online.agreement.join import BLOCKED, SPLIT_BROKEN
from recdash.service.context import ServiceContext
from recdash.service.diagnosis.case import Case, Explanation
from recdash.service.diagnosis.offline_evidence import OfflineEvidence
from recdash.service.diagnosis.online_evidence import OnlineEvidence
from recdash.service.diagnosis.served_evidence import ServedEvidence
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.tests import counting_state


class Diagnosis:
    """The section "Why?" for any variant that is linked to a run."""

    def __init__(
        self,
        context: ServiceContext,
        comparisons: Comparisons,
        online_evidence: OnlineEvidence,
        offline_evidence: OfflineEvidence,
        served_evidence: ServedEvidence,
    ) -> None:
        (
            self._context,
            self._comparisons,
            self._online_evidence,
            self._offline_evidence,
            self._served_evidence,
        ) = context, comparisons, online_evidence, offline_evidence, served_evidence
        self._explained = context.cached(self._explain, most=256)

    def explain(self, test_id: str, variant: str, metric: str, k: int, online_metric: str) -> Explanation:
        """The twelve checks for a variant: its run against that of the control (else the baseline).

        Evidence that is not there, or is damaged, leaves its check without an answer. Raises UnknownName for
        an unknown variant or online metric, NotFound for a variant that is not linked to a run, InputError
        for a metric without a value per user and where there is no run to compare with.
        """
        check_k(k)
        case = self._case(
            self._context.store.online_test(test_id), variant, str(define(metric)), k, online_metric
        )
        state = self._comparisons.verdict_state(case.run_id), counting_state(case.test)
        return self._explained(case.test.id, variant, case.metric, k, online_metric, state)

    def _case(self, test: OnlineTest, variant: str, metric: str, k: int, online_metric: str) -> Case:
        variants = sorted({str(row["variant"]) for row in test.results} - {test.control})
        if variant not in variants:
            raise UnknownName("variant", variant, variants)
        metrics = list(dict.fromkeys(str(row["metric"]) for row in test.results))
        if online_metric not in metrics:
            raise UnknownName("online metric", online_metric, metrics)
        base = test.links.get(test.control) or self._context.store.experiment(test.experiment).baseline
        if variant not in test.links:
            raise NotFound(f"Variant '{variant}' is not linked to a run. Link it on the Runs page.")
        if base is None or base == test.links[variant]:
            raise InputError(_nothing_to_compare(test.name, base))
        define(metric).formula()  # refuses a metric without a value per user
        return Case(test, variant, test.links[variant], base, metric, k, online_metric)

    def _explain(
        self, test_id: str, variant: str, metric: str, k: int, online_metric: str,
        state: Hashable,  # noqa: ARG002 - a key of what is kept
    ) -> Explanation:  # fmt: skip
        case = self._case(self._context.store.online_test(test_id), variant, metric, k, online_metric)
        evidence = self._evidence(case)
        answers = ask_all(evidence)
        about = evidence.about
        return Explanation(
            case.test.name, variant, case.run_id, about.run, about.base, metric, k, about.online,
            _quadrant(case.test, evidence), answers, summary(answers),
        )  # fmt: skip

    def _evidence(self, case: Case) -> Evidence:
        return Evidence(
            about=self._case_about(case),
            gain=_there(self._offline_evidence.case_gain, case),
            lift=_there(self._case_lift, case),
            detectable=_there(self._online_evidence.case_detectable, case),
            split=_there(self._online_evidence.case_split, case),
            popularity=_there(self._offline_evidence.case_popularity, case),
            times=_there(self._offline_evidence.case_times, case),
            audience=_there(self._offline_evidence.case_audience, case),
            seen=_there(self._served_evidence.case_seen, case),
            places=_there(self._served_evidence.case_places, case),
            served=_there(self._served_evidence.case_served, case),
            fading=_there(self._online_evidence.case_fading, case),
            stricter=_there(self._offline_evidence.case_stricter, case),
            sessions=_there(self._case_sessions, case),
            segments=_there(self._online_evidence.case_segments, case),
        )

    def _case_about(self, case: Case) -> About:
        run, base = self._context.runs_of([case.run_id, case.base_id])
        titles = {str(row["metric"]): str(row["title"]) for row in case.test.results}
        title = naming.metric_title(case.metric, case.k)
        per = _there(self._online_evidence.per, case)
        per = None if isinstance(per, Missing) else per
        names = (run.name, base.name, case.variant, case.test.control)
        return About(*names, title, case.k, titles[case.online_metric], per)

    def _case_lift(self, case: Case) -> OnlineChange | Missing:
        return self._online_evidence.lift_of(case, case.online_metric)

    def _case_sessions(self, case: Case) -> OnlineChange | Missing:
        return self._online_evidence.lift_of(case, "sessions_per_user")


def _nothing_to_compare(name: str, base: str | None) -> Problem:
    problem = "the control is linked to no run" if base is None else "variant and control served the same run"
    fix = "Link variant and control to the runs that they served, on the Runs page."
    return Problem("no-base", f"test '{name}'", f"{problem}, so that there is nothing to explain", fix)


def _there(gather: Callable[[Case], Any], case: Case) -> Any:
    """The evidence, or why it cannot be had: a damaged file takes one answer away, not the page."""
    try:
        return gather(case)
    except InputError as error:
        return Missing(f"other input ({'; '.join(problem.found for problem in error.problems)})")
    except RecdashError as error:
        return Missing(f"evidence that can be read ({error})")


def _quadrant(test: OnlineTest, evidence: Evidence) -> str:
    """As on the page: nothing is told where the split of users is broken."""
    if any(notice.code == SPLIT_BROKEN for notice in test.notices):
        return BLOCKED
    gain, lift = evidence.gain, evidence.lift
    offline = Gain(0, math.nan, math.nan, 0, 0) if isinstance(gain, Missing) else gain
    online = OnlineChange(0) if isinstance(lift, Missing) else lift
    return quadrant(offline.low, offline.high, online.low, online.high)
