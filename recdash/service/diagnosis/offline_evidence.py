"""Offline evidence for the checks: numbers about the runs of a variant and of its control."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.comparison.pairs import shared
from recdash.diagnosis import evidence_math
from recdash.diagnosis.evidence import (
    AudienceEvidence,
    Gain,
    Missing,
    OnlineChange,
    Popularity,
    Stricter,
    Times,
)
from recdash.domain.inputs import Truth
from recdash.domain.kinds import Mask
from recdash.domain.results import WHOLE, Scope, UserValues, common_bound
from recdash.formatting.numbers import three
from recdash.service.context import ServiceContext
from recdash.service.diagnosis.case import Case
from recdash.service.diagnosis.online_evidence import SESSIONS, OnlineEvidence
from recdash.service.metric_values import MetricValues
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.overlap import Overlap
from recdash.service.online.tests import OnlineTests
from recdash.service.run_data import RunData
from recdash.stats import LEAST, paired_difference

if TYPE_CHECKING:
    from recdash.engines import Reference
    from recdash.online.users import OnlineUsers
    from recdash.stats import Paired

TRAIN_ENDS = 0.99
"""The quantile of the times in the training data at which it counts as ended; later times may be clock
errors.
"""
TRAIN = Missing("training data in the experiment")
TIMES = Missing("a column of times in test set and training data")
GRADES = Missing("a rating or another grade in the test set (a column relevance)")
LISTS = Missing("lists of the run and of the control's run")


@dataclass(eq=False)
class OfflineEvidence:
    """The service that gathers the checks' evidence from offline results."""

    _context: ServiceContext
    _data: RunData
    _values: MetricValues
    _comparisons: Comparisons
    _overlap: Overlap
    _online_tests: OnlineTests
    _online_evidence: OnlineEvidence

    def case_gain(self, case: Case) -> Gain | Missing:
        """Returns the run's offline gain with the interval that pages show, which is corrected over all
        linked variants.

        Missing if either run lacks the metric.
        """
        rows = self._comparisons.pairs(replace(case.query, runs=tuple(case.test.links.values())))
        rows = rows[rows["run_id"] == case.run_id]
        if rows.empty:
            return Missing(f"{case.query.metric} of both runs, over the same users")
        row = rows.iloc[0]
        ends = float(row["ci_low"]), float(row["ci_high"])
        return Gain(float(row["mean_diff"]), *ends, float(row["base_value"]), int(row["n_users"]))

    def gain_at(self, case: Case, k: int, scope: Scope = WHOLE) -> Gain | None:
        """Returns the run's offline gain with an uncorrected 95 % interval; None if both runs have no user in
        common.
        """
        both = self._both(case, k, scope)
        return None if both is None else _gain_of(*both)

    def _both(self, case: Case, k: int, scope: Scope = WHOLE) -> tuple[UserValues, UserValues] | None:
        """Returns values per user of the run and the baseline, over the users who count in both; None if
        there are none.
        """
        own, base = (
            self._values.user_values(run_id, case.query.metric, k, None, scope)
            for run_id in (case.run_id, case.query.baseline)
        )
        both = None if own is None or base is None else shared(own, base)
        return both if both and len(both[0].users) else None

    def case_popularity(self, case: Case) -> Popularity | Missing:
        reference = self._data.reference(case.experiment_id)
        if reference.train_users is None:
            return TRAIN
        head = evidence_math.head_of(reference.train_users)
        of_row, both = head[reference.truth.item], (case.run_id, case.query.baseline)
        run, base = (self._overlap.found(run_id, case.query.k, WHOLE) for run_id in both)
        change, leaning = _changes(reference.truth, of_row, run, base, case.query.k)
        gini_run, gini_base = (
            self._comparisons.value(run_id, "gini(of=train)", case.query.k) for run_id in both
        )
        return Popularity(
            run_head=int((run & of_row).sum()),
            run_tail=int((run & ~of_row).sum()),
            base_head=int((base & of_row).sum()),
            base_tail=int((base & ~of_row).sum()),
            change=change,
            leaning=leaning,
            n_head=int(head.sum()),
            n_items=int((reference.train_users > 0).sum()),
            gini_run=math.nan if gini_run is None else gini_run,
            gini_base=math.nan if gini_base is None else gini_base,
        )

    def case_times(self, case: Case) -> Times | Missing:
        from recdash.online.logs.columns import seconds

        tables = self._data.tables(case.experiment_id)
        stamps = [
            seconds(tables[kind].table["timestamp"])
            for kind in ("truth", "train")
            if kind in tables and "timestamp" in tables[kind].table.column_names
        ]
        known = [times[np.isfinite(times)] for times in stamps]
        if len(known) < 2 or not all(len(times) for times in known):
            return TIMES
        return Times(known[0], float(np.quantile(known[1], TRAIN_ENDS, method="lower")))

    def case_stricter(self, case: Case) -> Stricter | Missing:
        """Returns the offline gain if only those test items count that meet the online definition of success.

        For watch time this is the A/B test's threshold, for grades 80 % of the best grade. Missing without
        grades.
        """
        truth = self._data.reference(case.experiment_id).truth
        gains = truth.gains(np.flatnonzero(truth.relevant()))
        if len(np.unique(gains)) < 2:
            return GRADES
        column = str(self._context.settings_of(case.experiment_id).get("relevance") or "").casefold()
        seconds = float(case.test.rules.get("threshold_s", 120.0))
        is_time = any(word in column for word in ("watch", "second", "duration"))
        if is_time and gains.max() > seconds:
            least = float(np.nextafter(seconds, np.inf))
            rule = former_rule = f"rows with more than {three(seconds)} s watched"
            left_out, lowest = f"rows with at most {three(seconds)} s watched", least
        else:
            least = evidence_math.strict_grade(gains)
            lowest = float(gains[gains >= least].min())
            better = "" if lowest == gains.max() else " or more"
            left_out = f"grades below {_grade(lowest)}"
            rule, former_rule = f"grades of {_grade(lowest)}{better}", f"grades of {_grade(least)} and more"
        already = truth.threshold is not None and truth.threshold >= least
        gain = self.gain_at(case, case.query.k, WHOLE if already else Scope(threshold=least))
        share = float((gains >= least).mean())
        if gain is None:
            return LISTS
        return Stricter(
            rule, gain, share, already=already, former_rule=former_rule, left_out=left_out, threshold=lowest
        )

    def case_audience(self, case: Case) -> AudienceEvidence | Missing:
        reference = self._data.reference(case.experiment_id)
        if case.test.kind == "aggregates":
            return SESSIONS
        if reference.history is None:
            return TRAIN
        both = self._both(case, case.query.k)
        if both is None:
            return LISTS
        evaluated, in_train = self._units_offline(case, reference)
        warm = reference.history[both[0].users] > 0
        gains = [
            _gain_of(*(values.of(part) for values in both)) if part.any() else None for part in (warm, ~warm)
        ]
        return AudienceEvidence(
            n_online=len(evaluated),
            n_both=int(evaluated.sum()),
            cold_offline=float(1 - warm.mean()),
            cold_online=float(1 - in_train.mean()),
            warm=evidence_math.enough(gains[0], LEAST),
            cold=evidence_math.enough(gains[1], LEAST),
            evaluated=self._lift_among(case, evaluated),
        )

    def _units_offline(self, case: Case, reference: Reference) -> tuple[Mask, Mask]:
        """Returns two masks over the users of the variant and the control: who counts offline, and who has
        rows in the training data.
        """
        users = self._online_tests.users(case.test.id)
        ids = users.unit if isinstance(users.unit, pa.Array) else pa.array(users.unit)
        index, truth = reference.users.copy(), reference.truth
        had = index.codes(pc.unique(self._data.tables(case.experiment_id)["train"].table["user_id"]))
        codes = index.codes(ids.filter(pa.array(_in_case(users, case))), grow=False)
        counts, in_train = (
            np.zeros(len(index) + 1, dtype=bool) for _ in range(2)
        )  # the last entry is for users who are in no table
        counts[: truth.n_users] = truth.users_who_count()
        in_train[had] = True
        return counts[codes], in_train[codes]

    def _lift_among(self, case: Case, evaluated: Mask) -> OnlineChange | None:
        """Returns the lift of the online metric among users who count offline (``evaluated``); None without a
        lift.
        """
        from recdash.online.analysis.segments import by_segment
        from recdash.online.users import Segment

        users, metric = self._online_tests.users(case.test.id), self._online_evidence.measure(case)
        if metric.quantile is not None:
            return None
        label = np.full(len(users), -1)
        label[np.flatnonzero(_in_case(users, case))[evaluated]] = 0
        cut = replace(users, segments={"evaluated": Segment(("yes",), label)})
        former = self._online_tests.rules(case.test.id).delta_method
        rows = by_segment(cut, metric, case.test.control, "evaluated", delta_method=former)
        own_row = next((row for row in rows if (row.variant, row.segment) == (case.variant, "yes")), None)
        if own_row is None or own_row.lift is None:
            return None
        lift = OnlineChange(own_row.lift, own_row.low, own_row.high)
        return evidence_math.negated(lift) if metric.direction == "down" else lift


def _changes(truth: Truth, of_head: Mask, run: Mask, base: Mask, k: int) -> tuple[Gain, Gain]:
    """Returns the change in hits per user from the baseline's to the run's list, and how much of it popular
    items add beyond their share of the baseline's hits.

    All masks are over the rows [T] of the test set. A user has at most k hits.
    """
    counted = truth.users_who_count()
    share = base[of_head].sum() / base.sum() if base.any() else 0.5
    totals, leanings = [], []
    for hits in (run, base):
        head, tail = (truth.per_user(hits & part)[counted].astype(np.float64) for part in (of_head, ~of_head))
        totals.append(head + tail)
        leanings.append((1 - share) * head - share * tail)
    change = paired_difference(totals[0], totals[1], bound=k)
    return _as_gain(change), _as_gain(paired_difference(leanings[0], leanings[1], bound=k))


def _as_gain(paired: Paired, base_value: float = 0.0) -> Gain:
    return Gain(paired.mean, paired.low, paired.high, base_value, paired.n)


def _grade(grade: float) -> str:
    return f"{grade:g}".replace("-", "−")


def _gain_of(run: UserValues, base: UserValues) -> Gain:
    bound = common_bound((base, run))
    paired = paired_difference(run.values, base.values, own=(run.own, base.own), bound=bound)
    return _as_gain(paired, float(base.values.mean()))


def _in_case(users: OnlineUsers, case: Case) -> Mask:
    """Returns a mask [U] of the users who were in the variant or in the control."""
    codes = [users.variants.index(name) for name in (case.variant, case.test.control)]
    return np.isin(users.variant, codes)
