"""Judges a stored candidate against a stored baseline by the rules of a gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite

from recdash.comparison.pairs import pair_of
from recdash.comparison.result import cutoff_of
from recdash.decisions.gate.gate import refuse_incomparable
from recdash.decisions.gate.offline import GatePair, OfflineRule
from recdash.decisions.gate.online import judge_online, unfinished, variant_of
from recdash.decisions.gate.result import ExpectedLift, GateResult, Inconclusive, RuleResult
from recdash.decisions.gate.rules import GateRule, level_of_each, read_rules
from recdash.domain.records import OnlineTest
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, Problem, all_or_problems
from recdash.metrics import check_k, define, parse
from recdash.metrics.naming import lower_is_better, metric_title
from recdash.online.agreement.track_record import track_record
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.analysis import OnlineAnalysis
from recdash.service.online.planned import planned_pair_users
from recdash.service.online.tests import OnlineTests
from recdash.service.online.track_record import TrackRecords
from recdash.service.run_data import RunData
from recdash.stats.jackknife import ROUNDED


@dataclass(eq=False)
class Gates:
    """The service that says whether a stored candidate keeps to rules against a stored baseline."""

    _context: ServiceContext
    _data: RunData
    _comparisons: Comparisons
    _online_tests: OnlineTests
    _online_analysis: OnlineAnalysis
    _track_records: TrackRecords

    def judge(
        self,
        experiment_id: str,
        baseline_id: str,
        run_id: str,
        rule_texts: Sequence[str],
        *,
        inconclusive: Inconclusive = "fail",
        test: str | None = None,
        variant: str | None = None,
        scope: Scope = WHOLE,
    ) -> GateResult:
        """Returns whether a run keeps to the rules against a baseline: see ``recdash.gate``; with the online
        lift to expect, if the store has a track record.

        ``test`` is the name of the A/B test for ``online.`` rules, by default the only one between the two
        runs. Raises InputError for rules that cannot be judged, NotFound for an unknown run, and
        EvidenceDamaged if stored data of the runs is damaged.
        """
        read = read_rules(rule_texts)
        offline, online = ([rule for rule in read if rule.online == is_online] for is_online in (False, True))
        if not online and (test is not None or variant is not None):
            fix = "Add one, such as 'online.conversion >= 0', or leave the test out."
            raise InputError(Problem("no-online-rule", "A/B test", "no rule is about it", fix))
        pair = self._pair(experiment_id, baseline_id, run_id, scope)
        level, source = level_of_each(read), pair.source
        computed = all_or_problems([partial(self._offline, experiment_id, rule) for rule in offline])
        steps = [partial(pair.judge, rule, level) for rule in computed]
        judged = dict(zip(offline, all_or_problems(steps), strict=True))
        notices = list(source.problems((baseline_id, run_id)))
        if online:
            chosen = self._test(experiment_id, pair, test)
            of_test, notices_of_test = self._judged_online(chosen, pair, online, level, variant)
            judged |= of_test
            notices += notices_of_test
        expected, why = self._expected(experiment_id, pair, computed, online)
        return GateResult(
            source.names[baseline_id],
            source.names[run_id],
            tuple(judged[rule] for rule in read),
            level,
            inconclusive,
            expected,
            why,
            tuple(notices),
        )

    def _pair(self, experiment_id: str, baseline: str, candidate: str, scope: Scope) -> GatePair:
        """Returns the two runs. Raises InputError for runs that cannot be compared, and EvidenceDamaged if
        their stored data is damaged.
        """
        runs = {run.id: run for run in self._context.runs_of([baseline, candidate])}
        if len(runs) < 2:
            finding, fix = "both are the same run", "Name two runs."
            raise InputError(Problem("same-run", "baseline and candidate", finding, fix))
        stranger = next((run for run in runs.values() if run.experiment != experiment_id), None)
        if stranger is not None:
            finding = f"'{stranger.name}' is of another experiment"
            raise InputError(Problem("other-experiment", "run", finding, "Name a run of this experiment."))
        self._data.refuse_damage([baseline, candidate])
        source = self._comparisons.source(experiment_id, scope)
        refuse_incomparable(source, baseline, candidate)
        uploads = {run.upload for run in runs.values()}
        return GatePair(source, baseline, candidate, same_lists=len(uploads) == 1 and None not in uploads)

    def _offline(self, experiment_id: str, rule: GateRule) -> OfflineRule:
        """Returns the rule with its metric as stored runs have it. Raises InputError for an unknown metric,
        and for a k beyond the depth.
        """
        spec = parse(rule.metric)
        k = cutoff_of(spec)
        check_k(k, self._context.store.experiments.get(experiment_id).settings["depth"])
        return OfflineRule(rule, str(define(spec.label)), k)

    def _test(self, experiment_id: str, pair: GatePair, name: str | None) -> OnlineTest:
        """Returns the A/B test with this name; without a name the only one in which control served the
        baseline and a variant the candidate.
        """
        if name is not None:
            test = self._online_tests.named(experiment_id, name)
            served = test.links.get(test.control)
            if served not in {None, pair.baseline}:
                finding = f"its control served {pair.source.names.get(served, 'another run')}"
                fix = "Name the run that control served as the baseline."
                raise InputError(Problem("other-control", f"A/B test '{name}'", finding, fix))
            return test
        tests = [
            test
            for test in self._online_tests.all(experiment_id)
            if test.links.get(test.control) == pair.baseline and pair.candidate in test.links.values()
        ]
        if len(tests) == 1:
            return tests[0]
        finding = f"{len(tests) or 'no'} A/B test{'' if len(tests) == 1 else 's'} between the two runs"
        fix = "Name one by --test." if tests else "Link its variants to the runs, or name a test by --test."
        raise InputError(Problem("no-ab-test", "A/B test", finding, fix))

    def _judged_online(
        self,
        test: OnlineTest,
        pair: GatePair,
        rules: Sequence[GateRule],
        level: float,
        variant: str | None,
    ) -> tuple[dict[GateRule, RuleResult], Sequence[Problem]]:
        """Returns the results of the online rules, and the notices of their A/B test."""
        results = self._online_analysis.results(test.id)
        linked = [name for name, run in test.links.items() if run == pair.candidate and name != test.control]
        own = variant or (linked[0] if len(linked) == 1 else None)
        own = variant_of(results, pair.source.names[pair.candidate], own)
        steps = [partial(judge_online, results, own, rule, level) for rule in rules]
        judged = dict(zip(rules, all_or_problems(steps), strict=True))
        users = planned_pair_users(self._context.store, test, results, own)
        return judged, [*results.noticed(), *unfinished(results, own, users)]

    def _expected(
        self, experiment_id: str, pair: GatePair, offline: Sequence[OfflineRule], online: Sequence[GateRule]
    ) -> tuple[ExpectedLift | None, str]:
        """Returns the lift to expect of the candidate, or None and why: by the first rule with a value per
        user, in the first online rule's metric, else in the primary metric of the newest A/B test.
        """
        first = next((rule for rule in offline if define(rule.metric).is_paired), None)
        metric = online[0].metric if online else self._usual_metric(experiment_id)
        if first is None or metric is None:
            return None, ""
        values = (pair.source.values(run, first.metric, first.k) for run in (pair.baseline, pair.candidate))
        difference = pair_of(pair.baseline, pair.candidate, *values)
        record = self._track_records.of(first.metric, first.k, metric)
        # A test of the candidate itself would predict its own result.
        others = [point for point in record.points if point.run_id != pair.candidate]
        record = track_record(record.metric, metric, others)
        if record.calibration is None:
            return None, record.reason
        if difference is None or difference.base_value < ROUNDED or not isfinite(difference.paired.error):
            return None, f"the difference in {metric_title(first.metric, first.k)} has no share or no error"
        sign = -1 if lower_is_better(first.metric) else 1
        share = 100 / difference.base_value
        ends = record.calibration.predict(
            sign * share * difference.paired.mean, share * difference.paired.error
        )
        lift, low, high = (record.signs[1] * end / 100 for end in ends)
        return (
            ExpectedLift(record.metric, metric, lift, min(low, high), max(low, high), record.n_tests),
            "",
        )

    def _usual_metric(self, experiment_id: str) -> str | None:
        """Returns the primary metric of the experiment's newest A/B test, else of any experiment's; None
        without a test.
        """
        experiments = [experiment.id for experiment in self._context.store.experiments.all()]
        for home in (experiment_id, *experiments):
            tests = self._online_tests.all(home)
            if tests:
                return tests[0].primary_metric
        return None
