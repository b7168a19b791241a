"""Snapshots of the current numbers, on which decisions and reviews are based and which never change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recdash.comparison import ComparisonQuery, Terms
from recdash.comparison.wording import guardrails_text, plain, slice_title
from recdash.decisions.snapshot import (
    AGGREGATED,
    DefinitionSnapshot,
    Difference,
    Guardrail,
    Lift,
    Named,
    Novelty,
    Offline,
    OfflineOnlineSnapshot,
    Online,
    OnlineDefinition,
    Subject,
)
from recdash.definitions import latex
from recdash.definitions.conventions import users_words, who_counts
from recdash.diagnosis.summary import likely
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, Problem, RecdashError
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.records import records
from recdash.formatting.wording import CORRECTIONS
from recdash.metrics import define
from recdash.metrics.naming import metric_title
from recdash.metrics.ranking import RankingMetric
from recdash.online import OnlineResults, OnlineRow
from recdash.online.agreement.join import SPLIT_BROKEN
from recdash.online.analysis.next_step import is_always_valid
from recdash.service.context import ServiceContext
from recdash.service.diagnosis.explain import Diagnosis
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.analysis import OnlineAnalysis
from recdash.service.online.planned import planned_pair_users
from recdash.service.online.tests import OnlineTests
from recdash.service.rules import rules_of

if TYPE_CHECKING:
    from recdash.comparison.guardrails import GuardrailResult
    from recdash.comparison.pairs import Pair


@dataclass(eq=False)
class Snapshots:
    """The service for snapshots of the current verdict and A/B test results, with the definitions of their
    metrics.
    """

    _context: ServiceContext
    _comparisons: Comparisons
    _online_tests: OnlineTests
    _online_analysis: OnlineAnalysis
    _diagnosis: Diagnosis

    # ── offline ──────────────────────────────────────────────────────────────────────────────

    def frozen_offline(self, experiment_id: str, subject: Subject) -> Offline | None:
        """Returns a snapshot of the offline results; None if the subject has no baseline.

        Raises InputError for a catalogue-level metric.
        """
        query = subject.query
        if query is None:
            return None
        rules = rules_of(self._context.store.experiments.get(experiment_id))
        query = replace(query, terms=rules.terms)
        verdict = self._comparisons.verdict(query)
        comparison, k = verdict.evidence.comparison, subject.k
        snapshot = Offline(
            subject=subject,
            state=verdict.state,
            headline=verdict.headline,
            sentences=tuple(map(plain, verdict.sentences)),
            terms=_terms(comparison.query.terms),
            pairs=tuple(_difference(pair, subject.metric, k) for pair in comparison.pairs),
            warnings=tuple(map(str, verdict.evidence.problems)),
            apart={comparison.names[run]: why for run, why in comparison.apart.items()},
            has_guardrails=bool(comparison.query.terms.guards),
            run=verdict.run,
            facts=verdict.facts,
        )
        snapshot = self._with_own(snapshot, query)
        return replace(snapshot, definitions=self._definitions(experiment_id, snapshot))

    def _with_own(self, snapshot: Offline, query: ComparisonQuery) -> Offline:
        """Returns the snapshot with metrics, guardrails and slices of the subject's own run, even if another
        run leads the comparison.
        """
        run, metric, k = snapshot.subject.run, query.metric, query.k
        if run is None or run.id == query.baseline:
            return snapshot
        evidence = self._comparisons.verdict(replace(query, runs=(run.id,))).evidence
        return replace(
            snapshot,
            metrics=tuple(_difference(pair, other, k) for other, pair in evidence.metrics),
            guardrails=tuple(_guardrail(guardrail, k) for guardrail in evidence.guardrails),
            slices=tuple(_difference(part.pair, metric, k, slice_title(part)) for part in evidence.slices),
        )

    def _definitions(self, experiment_id: str, snapshot: Offline) -> tuple[DefinitionSnapshot, ...]:
        """Returns the definitions of all metrics that have a number in the snapshot."""
        users = self._context.settings_of(experiment_id)["users"]
        others = [
            *(other.metric for other in snapshot.metrics),
            *(other.metric for other in snapshot.guardrails),
        ]
        metrics = (snapshot.subject.metric, *others)
        return tuple(_definition(metric, users) for metric in dict.fromkeys(metrics))

    # ── online ───────────────────────────────────────────────────────────────────────────────

    def frozen_online(self, test: OnlineTest, subject: Subject, *, explained: bool = True) -> Online:
        """Returns a snapshot of the A/B test's results for the subject's run.

        ``explained`` adds why offline and online results contradict each other. Raises InputError if no
        variant other than control served the run.
        """
        variant = _variant_of(test, subject)
        results = self._online_tests.results(test.id)
        rows = {(row.metric, row.variant): row for row in results.rows}
        own_rows = [row for row in results.rows if row.variant == variant]
        return Online(
            subject=subject,
            test=Named(test.id, test.name),
            variant=variant,
            control=results.control,
            users=dict(results.users),
            srm_p=results.health.srm_p,
            blocked=results.health.blocked,
            crossover=results.health.crossover,
            # the split is shown on a separate line
            warnings=tuple(
                str(warning) for warning in results.health.warnings if warning.code != SPLIT_BROKEN
            ),
            lifts=tuple(_lift(row, rows.get((row.metric, results.control))) for row in own_rows),
            sides=tuple(self._offline_online(test, subject, variant, own_rows, explained=explained)),
            definitions=tuple(self._online_definitions(test, own_rows)),
            rules=dict(test.rules),
            novelty=self._novelty(test, variant, results) if subject.variant else None,
            planned_n=planned_pair_users(self._context.store, test, results, variant),
        )

    def _novelty(self, test: OnlineTest, variant: str, results: OnlineResults) -> Novelty:
        """Returns how the lift of the test's first goal changes with the days since exposure, and the warning
        of a novelty effect in any goal.
        """
        place = f"variant '{variant}'"
        warned = (
            warning.found
            for warning in results.health.warnings
            if (warning.code, warning.place) == ("novelty", place)
        )
        warning = next(warned, "")
        if test.kind == "aggregates":
            return Novelty(warning=warning, note="the A/B test has no data per user")
        if self._online_tests.sample(test.id).days < 2:
            return Novelty(warning=warning, note="it takes data of several days")
        goal = test.primary_metric
        if self._online_analysis.metric(test.id, goal).quantile is not None:
            return Novelty(warning=warning, note="the primary metric is a quantile")
        effects = self._online_analysis.novelty_effect(test.id, goal)
        effect = next((effect for effect in effects if effect.variant == variant), None)
        if effect is None:
            return Novelty(note="it is the control")
        title = next(row.title for row in results.rows if row.metric == goal)
        return Novelty(title, effect.early_lift, effect.late_lift, effect.p, warning, effect.note)

    def _offline_online(
        self, test: OnlineTest, subject: Subject, variant: str, rows: Sequence[OnlineRow], *, explained: bool
    ) -> Iterator[OfflineOnlineSnapshot]:
        """Yields for each goal whether the run won or lost offline and online.

        If the two contradict each other, and a check supports an explanation, it comes with it.
        """
        for row in rows:
            if row.role != "goal" or row.is_control:
                continue
            question = (subject.metric, subject.k, row.metric)
            for side in records(self._online_tests.offline_online(test.id, *question)):
                if side["variant"] != variant:
                    continue
                why = ""
                if explained and "offline" in side["quadrant"]:
                    with suppress(RecdashError):
                        explanation = self._diagnosis.explain(test.id, variant, *question, by_record=False)
                        if likely(explanation.answers):
                            why = explanation.summary.partition(" Ruled out:")[0]
                yield OfflineOnlineSnapshot(row.metric, row.title, side["quadrant"], side["sentence"], why)

    def _online_definitions(self, test: OnlineTest, rows: Sequence[OnlineRow]) -> Iterator[OnlineDefinition]:
        known = self._online_analysis.definitions(test.id)
        for row in rows:
            meaning, formula = AGGREGATED, ""
            if row.metric in known:
                metric = known[row.metric]
                meaning, formula = metric.meaning, f"{metric.numerator} / {metric.denominator or 'users'}"
            yield OnlineDefinition(row.metric, row.title, meaning, formula)

    # ── where the numbers come from ──────────────────────────────────────────────────────────

    def provenance_now(self, experiment_id: str, subject: Subject) -> dict[str, Any]:
        """Returns the current time, hashes of all input data, and the versions; empty without a baseline,
        unless the subject is a variant of an A/B test.
        """
        from recdash.service.provenance import provenance, versions_here

        query = subject.query
        if query is None and subject.variant is None:
            return {}
        moment, experiment = self._context.now(), self._context.store.experiments.get(experiment_id)
        runs = {run.id: run for run in self._context.store.runs.of_experiment(experiment_id, archived=True)}
        tests = self._online_tests.all(experiment_id)
        hashes = provenance(experiment, query.shown if query else (), runs, tests, versions_here())
        return {"moment": moment.isoformat(timespec="seconds"), **hashes}


def _variant_of(test: OnlineTest, subject: Subject) -> str:
    """Returns the variant that the subject is, or that served the subject's run.

    Raises InputError if none did, or only the control.
    """
    run, place = subject.run, f"test '{test.name}'"
    if subject.variant is not None and subject.variant.test.id != test.id:
        problem = f"'{subject.variant.name}' is a variant of '{subject.variant.test.name}'"
        raise InputError(Problem("other-test", place, problem, "Attach the results of that test."))
    if subject.variant is not None:
        return subject.variant.name
    served = [variant for variant, linked in test.links.items() if run and linked == run.id]
    if not served or run is None:
        name = f"'{run.name}'" if run else "the run"
        problem = f"no variant of it is linked to {name}"
        fix = "Link the variant that served it on the Runs page."
        raise InputError(Problem("not-linked", place, problem, fix))
    challengers = [variant for variant in served if variant != test.control]
    if not challengers:
        problem = f"'{run.name}' was served by the control, so there is no lift"
        raise InputError(Problem("is-control", place, problem, "Attach a test of a variant."))
    return challengers[0]


def _lift(row: OnlineRow, control: OnlineRow | None) -> Lift:
    low, high = row.judged_interval
    return Lift(
        metric=row.metric, title=row.title, unit=row.unit, role=row.role, direction=row.direction,
        margin=row.margin, control_value=control.value if control else None, value=row.value,
        control_n=control.n_users if control else 0, n=row.n_users, numerator=row.numerator,
        denominator=row.denominator, lift=row.lift, low=low, high=high, p=row.p,
        p_corrected=row.p_corrected, word=row.word, note=row.note,
        is_always_valid=is_always_valid(row), plain=row.plain_lift,
    )  # fmt: skip


# ── offline rows ─────────────────────────────────────────────────────────────────────────────


def _difference(pair: Pair, metric: str, k: int, part: str = "") -> Difference:
    paired, judged = pair.paired, pair.judged
    return Difference(
        baseline=pair.baseline, candidate=pair.candidate, metric=metric, title=metric_title(metric, k),
        base_value=none_if_nan(pair.base_value), value=none_if_nan(pair.value),
        difference=none_if_nan(paired.mean), low=none_if_nan(judged.corrected.low),
        high=none_if_nan(judged.corrected.high), p=none_if_nan(paired.p), p_corrected=none_if_nan(judged.p),
        n=int(paired.n), wins=int(paired.wins), ties=int(paired.ties), losses=int(paired.losses),
        margin=float(judged.margin), word=judged.word, part=part,
    )  # fmt: skip


def _guardrail(guardrail: GuardrailResult, k: int) -> Guardrail:
    title = metric_title(guardrail.metric, k)
    return Guardrail(
        guardrail.metric, title, float(guardrail.base_value), float(guardrail.value),
        none_if_nan(guardrail.change), guardrail.guard, bool(guardrail.is_broken), none_if_nan(guardrail.low),
        none_if_nan(guardrail.high), guardrail.why_no_interval,
    )  # fmt: skip


def _definition(metric: str, users: Any) -> DefinitionSnapshot:
    defined = define(metric)
    of_users = isinstance(defined.metric, RankingMetric)
    counted = users_words(users) if of_users else who_counts(metric, users)
    return DefinitionSnapshot(
        str(defined), metric_title(metric), defined.metric.title, latex.formula(defined), counted
    )


def _terms(terms: Terms) -> str:
    """Returns the terms of a comparison in words, such as ``95 % intervals, corrected by Holm; less than 1 %
    of the baseline's value is too small to matter; …``.
    """
    rule = CORRECTIONS.get(terms.correction, "none")
    corrected = "not corrected" if rule == "none" else f"corrected by {rule}"
    return (
        f"{100 * terms.level:.3g} % intervals, {corrected}; less than {terms.margin} of the "
        f"baseline's value is too small to matter; {guardrails_text(terms)}"
    )
