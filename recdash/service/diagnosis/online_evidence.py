"""Online evidence for the checks: an A/B test's results for one variant."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from recdash.diagnosis import evidence_math
from recdash.diagnosis.evidence import (
    Missing,
    NoveltyEvidence,
    OnlineChange,
    SegmentEvidence,
    SegmentsEvidence,
    SplitEvidence,
)
from recdash.formatting.numbers import none_if_nan
from recdash.online.metrics import OnlineMetric
from recdash.service.context import ServiceContext
from recdash.service.diagnosis.case import Case
from recdash.service.online.analysis import OnlineAnalysis
from recdash.service.online.tests import OnlineTests
from recdash.stats.family import benjamini_hochberg

if TYPE_CHECKING:
    from recdash.online.analysis.segments import SegmentLift
    from recdash.online.users import OnlineUsers

SESSIONS = Missing("a table of sessions, with the user of each")
OF_QUANTILE = Missing("an online metric that is a sum over users, not a quantile")
SEGMENTS = Missing("a column of the users' segments (country, device …) in the sessions")


class OnlineEvidence:
    """The service that gathers the checks' evidence from an A/B test's results."""

    def __init__(
        self, context: ServiceContext, online_tests: OnlineTests, online_analysis: OnlineAnalysis
    ) -> None:
        self._context, self._online_tests, self._online_analysis = context, online_tests, online_analysis

    def lift_of(self, case: Case, metric: str) -> OnlineChange | Missing:
        """Returns the variant's lift and its interval, signed so that above 0 is better; Missing if it has no
        lift.
        """
        from recdash.online.agreement.join import judged_by

        rows = [row for row in case.test.results if (row["variant"], row["metric"]) == (case.variant, metric)]
        if not rows or rows[0]["lift"] is None:
            return Missing(rows[0]["note"] if rows and rows[0]["note"] else f"{metric} of the variant")
        low, high = judged_by(rows[0])
        lift = OnlineChange(rows[0]["lift"], low, high, none_if_nan(rows[0].get("p")))
        return evidence_math.negated(lift) if rows[0].get("direction") == "down" else lift

    def case_detectable(self, case: Case) -> float | Missing:
        if case.test.kind == "aggregates":
            return SESSIONS
        smallest = self._online_analysis.detectable(case.test.id, case.online_metric)[case.variant]
        return Missing("users with different values") if smallest is None else smallest

    def case_split(self, case: Case) -> SplitEvidence | Missing:
        from recdash.online.analysis import health

        planned = case.test.rules.get("split") or {}
        if case.test.kind == "aggregates":
            user_counts = self._online_tests.aggregate_table(case.test.id).user_counts()
            populations = health.populations_of(user_counts, planned)
            doubtful = health.least_likely(populations) if populations else None
            if doubtful is None or doubtful.srm_p is None:
                return Missing("the number of users by variant (column 'n')")
            return SplitEvidence(doubtful.srm_p, doubtful.users, None, None)
        users = self._online_tests.users(case.test.id)
        bots = next((removed.by_variant for removed in users.removed if removed.rule == "bots"), {})
        p = health.sample_ratio(users.assigned, planned)[0]
        return (
            Missing("a second variant")
            if p is None
            else SplitEvidence(p, users.assigned, users.crossed, bots)
        )

    def case_novelty(self, case: Case) -> NoveltyEvidence | Missing:
        from recdash.online.analysis.lift import CONFIDENCE
        from recdash.online.analysis.novelty_effect import novelty_effects

        if case.test.kind == "aggregates":
            return SESSIONS
        metric = self.measure(case)
        if metric.quantile is not None:
            return OF_QUANTILE
        users, control = self._online_tests.users(case.test.id), case.test.control
        former = self._online_tests.rules(case.test.id).delta_method
        rows = novelty_effects(users, metric, control, delta_method=former)
        row = next(row for row in rows if row.variant == case.variant)
        early, late, difference, low, high = row.early_lift, row.late_lift, row.difference, row.low, row.high
        if early is None or late is None or difference is None or low is None or high is None:
            return Missing(f"more days or users ({row.note})")
        error = (high - low) / 2 / NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
        if metric.direction == "down":
            return NoveltyEvidence(-early, -late, -difference, error)
        return NoveltyEvidence(early, late, difference, error)

    def measure(self, case: Case) -> OnlineMetric:
        return self._online_analysis.metric(case.test.id, case.online_metric)

    def per(self, case: Case) -> str | None:
        """Returns what the online metric is counted per, in words (such as sessions); None for users.

        Also None for most aggregated metrics, whose name says it.
        """
        from recdash.online.ab_test import with_standard_metrics
        from recdash.online.analysis.lift import per

        for metric in with_standard_metrics(self._online_analysis.own_metrics(case.test.id)):
            if metric.name != case.online_metric:
                continue
            if metric.quantile is not None and "sessions" in self._online_tests.users(case.test.id).totals:
                return "sessions"
            return per(metric) if metric.denominator else None
        if case.test.kind != "aggregates":
            return None
        trials = self._online_tests.aggregate_table(case.test.id).trial_counts()
        return "trials" if case.online_metric in trials else None

    def case_segments(self, case: Case) -> SegmentsEvidence | Missing:
        from recdash.online.analysis.segments import by_segment, simpson, whole

        if case.test.kind == "aggregates":
            return SESSIONS
        users, control = self._online_tests.users(case.test.id), case.test.control
        if not users.segments or isinstance(self.lift_of(case, case.online_metric), Missing):
            return SEGMENTS
        metric = self.measure(case)
        if metric.quantile is not None:
            return OF_QUANTILE
        former = self._online_tests.rules(case.test.id).delta_method
        overall = {case.variant: whole(users, metric, control, delta_method=former)[case.variant]}
        rows: list[tuple[str, SegmentLift]] = []
        reversed_segments = []
        for name in users.segments:
            lifts = by_segment(users, metric, control, name, delta_method=former)
            own = [lift for lift in lifts if lift.variant == case.variant and lift.lift is not None]
            rows += [(name, lift) for lift in own]
            if any(reversal.all_of_them for reversal in simpson(own, overall)):
                reversed_segments.append(name)
        mixes = {name: _mix_p(users, case, name) for name in users.segments}
        return SegmentsEvidence(
            _corrected(rows, down=metric.direction == "down"), mixes, tuple(reversed_segments)
        )


def _corrected(rows: Sequence[tuple[str, SegmentLift]], *, down: bool) -> tuple[SegmentEvidence, ...]:
    """Returns the evidence of all segments, with p-values corrected over segments of all kinds
    (Benjamini-Hochberg).

    ``down`` is whether less of the metric is better.
    """
    tested = np.array([row.p for _, row in rows if row.p is not None])
    corrected = iter(benjamini_hochberg(tested).tolist())
    evidence = []
    for name, row in rows:
        lift = OnlineChange(row.lift or 0.0, row.low, row.high)
        lift = evidence_math.negated(lift) if down else lift
        p = None if row.p is None else next(corrected)
        n_users = row.n_control + row.n_variant
        evidence.append(SegmentEvidence(name, row.segment or "(unknown)", n_users, lift, p))
    return tuple(evidence)


def _mix_p(users: OnlineUsers, case: Case, name: str) -> float:
    """Returns the p-value that the variant and the control have the same shares of segments; 1 if it cannot
    be tested.
    """
    from scipy.stats import chi2_contingency

    label, n_labels = users.segments[name].label + 1, len(users.segments[name].labels) + 1
    codes = [users.variants.index(variant) for variant in (case.variant, case.test.control)]
    counts = np.array([np.bincount(label[users.variant == code], minlength=n_labels) for code in codes])
    counts = counts[:, counts.sum(axis=0) > 0]
    comparable = min(counts.shape) > 1 and counts.any(axis=1).all()
    return float(chi2_contingency(counts).pvalue) if comparable else 1.0
