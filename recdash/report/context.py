"""The question of a report, with results that several of its sections use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from recdash.comparison import Comparison, ComparisonQuery, Source, compare, gather_evidence
from recdash.comparison.cells import finding_of
from recdash.comparison.evidence import with_harm, with_intervals, without_blocked
from recdash.comparison.relative import percent_interval
from recdash.decisions import decisions
from recdash.decisions.standing import RunOfVariant, decision_on_top, run_of, runs_of_variants
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import WHOLE
from recdash.errors import NotFound
from recdash.formatting.signs import former_sign, sign_of
from recdash.formatting.tables import Word, finding
from recdash.metrics import define
from recdash.metrics.naming import lower_is_better
from recdash.report.document import (
    AGREEMENT_WORDING,
    ANSWERS_WORDING,
    EQUAL_USERS_WORDING,
    FIRST_FORMAT,
    FORMAT,
    PLAN_WORDING,
    RISKS_WORDING,
    THRESHOLD_WORDING,
    TIES_WORDING,
    WORDING,
    RunLook,
)
from recdash.service.frames import in_order
from recdash.service.question import Question

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison.evidence import VerdictEvidence
    from recdash.comparison.pairs import Pair
    from recdash.comparison.recommendation import Recommendation
    from recdash.comparison.sensitivity import WhatIf
    from recdash.decisions import Decision
    from recdash.domain.journal import Entry
    from recdash.online.analysis.plan_check import PlanCheck
    from recdash.service import Workspace
    from recdash.stats import Correction

LONGEST = 40


@dataclass(eq=False)
class ReportContext:
    """The question of a report, with results that several of its sections use.

    ``moment``: entries of the journal after it are ignored. ``blocks`` are the names of the report's
    sections, ``versions`` those of the packages that compute it, and ``home`` is the URL of the dashboard (""
    if unknown). ``format`` and ``wording`` are those of the document, which an older report keeps when it is
    made again. ``head`` is the hash of the audit log's last line.
    """

    workspace: Workspace
    question: Question
    moment: datetime
    blocks: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    home: str = ""
    format: int = FORMAT
    wording: int = WORDING
    head: str = ""

    @property
    def query(self) -> ComparisonQuery:
        """Returns the comparison of runs. Raises NotFound if the question is about an A/B test alone."""
        if self.question.query is None:
            raise NotFound("This report is about an A/B test alone: it compares no runs.")
        return self.question.query

    @property
    def judged_query(self) -> ComparisonQuery:
        """Returns the question's comparison with the correction by which this report judges differences."""
        terms = self.query.terms
        if terms.correction != "holm":
            return self.query
        return replace(self.query, terms=replace(terms, correction=self.holm))

    @property
    def holm(self) -> Correction:
        """Returns Holm's correction; in older reports, each of several equal p-values has an interval at
        another level.
        """
        return "holm" if self.wording > TIES_WORDING else "holm in order"

    @property
    def is_about_runs(self) -> bool:
        """Returns whether runs are compared; else the report is about an A/B test alone."""
        return self.question.query is not None

    @cached_property
    def experiment(self) -> Experiment:
        return self.workspace.experiments.get(self.question.experiment)

    @cached_property
    def all_runs(self) -> Mapping[str, Run]:
        """Returns {run id: run} of all runs of the experiment, archived ones included."""
        return {run.id: run for run in self.workspace.runs.all(self.experiment.id, archived=True)}

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Returns the runs of the question, the baseline first. Raises NotFound if one was deleted."""
        if not self.is_about_runs:
            return ()
        gone = [run for run in self.query.shown if run not in self.all_runs]
        if gone:
            deleted = "a run of it was" if len(gone) == 1 else f"{len(gone)} runs of it were"
            raise NotFound(f"What this report is about is not here any more: {deleted} deleted.")
        return tuple(self.all_runs[run] for run in self.query.shown)

    @cached_property
    def names(self) -> dict[str, str]:
        return {run.id: run.name for run in self.all_runs.values()}

    @cached_property
    def short_names(self) -> dict[str, str]:
        """Returns {run id: name}, with long names shortened, for sentences that name all runs."""
        from recdash.formatting.wording import cut_inside

        return {run: cut_inside(name, LONGEST) for run, name in self.names.items()}

    @property
    def base(self) -> str:
        """Returns the name of the baseline."""
        return self.names[self.query.baseline]

    @cached_property
    def verdict_query(self) -> ComparisonQuery:
        """Returns the query on which findings are based: the question's, without reference candidates."""
        return self.judged_query.without({run.id for run in self.runs if run.reference})

    @cached_property
    def source(self) -> Source:
        scope = self.verdict_query.scope
        return self.workspace.comparisons.source(
            self.experiment.id, scope, with_tests=self.has_tests, tells_adjusted=self.tells_adjusted
        )

    @property
    def tells_adjusted(self) -> bool:
        """Returns whether lifts that CUPED adjusted say so; not in reports of ``TIES_WORDING`` and older."""
        return self.wording > TIES_WORDING

    @property
    def has_tests(self) -> bool:
        """Returns whether A/B tests count and are shown: not for a part of the users or items, of which they
        say nothing; in older reports not with another relevance threshold either.
        """
        if not self.is_about_runs:
            return True
        scope = self.query.scope
        return not scope.slice if self.wording > THRESHOLD_WORDING else scope == WHOLE

    @cached_property
    def comparison(self) -> Comparison | None:
        """Returns the comparison of the runs, without candidates that cannot be compared with the baseline.

        None for a metric without a value per user, and if there is no candidate.
        """
        if not self.is_about_runs:
            return None
        if not define(self.query.metric).is_paired or not self.verdict_query.runs:
            return None
        whole = compare(self.source, self.verdict_query)
        return whole if self.format == FIRST_FORMAT else without_blocked(self.source, whole)[0]

    @cached_property
    def recommendation(self) -> Recommendation | None:
        """Returns what to do; None if no runs are compared."""
        from recdash.comparison.recommendation import recommend

        if self.comparison is None:
            return None
        unlinked = self.wording > THRESHOLD_WORDING
        return recommend(
            self.source,
            self.comparison,
            same_users=self.same_users,
            unlinked=unlinked,
            missing=not self.former_answers,
            named=self.tells_equal_users,
            tells_control=self.wording > RISKS_WORDING,
            repeats=self.wording <= RISKS_WORDING,
            former=self.wording <= TIES_WORDING,
        )

    @property
    def same_users(self) -> bool:
        """Returns whether other metrics count the users that the primary metric names; not in older
        reports.
        """
        return self.wording > AGREEMENT_WORDING

    @cached_property
    def answers(self) -> list[WhatIf]:
        """Returns what would change the recommendation; empty if no runs are compared."""
        former, named = self.former_answers, self.tells_equal_users
        if self.wording > THRESHOLD_WORDING:
            return self.workspace.comparisons.changes(
                self.verdict_query,
                former=former,
                named=named,
                opened=self.wording > RISKS_WORDING,
                by_rule=self.wording > TIES_WORDING,
            )
        if self.recommendation is None:
            return []
        from recdash.comparison.sensitivity import changes

        settings = self.experiment.settings
        depth, users = int(settings["depth"]), settings["users"]
        return changes(
            self.source,
            self.recommendation,
            depth,
            users,
            same_users=self.same_users,
            former=former,
            named=False,
            opened=False,
            by_rule=False,
        )

    @property
    def former_answers(self) -> bool:
        """Returns whether it is a report of ``ANSWERS_WORDING`` or older."""
        return self.wording <= ANSWERS_WORDING

    @property
    def tells_equal_users(self) -> bool:
        """Returns whether a difference in which no user has another value is called equal, without an
        interval; not in reports of ``EQUAL_USERS_WORDING`` and older.
        """
        return self.wording > EQUAL_USERS_WORDING

    def sign_of(self, finding: str) -> str:
        """Returns the sign of a finding; = also for an inconclusive one in reports of
        ``EQUAL_USERS_WORDING`` and older.
        """
        return sign_of(finding) if self.tells_equal_users else former_sign(finding)

    def interval_of(self, pair: Pair) -> tuple[float, float]:
        """Returns the ends of a difference's interval as the report shows it, NaN without one."""
        if self.former_answers:
            return pair.judged.corrected.low, pair.judged.corrected.high
        return pair.interval if self.tells_equal_users else pair.bounded_interval

    def percents_of(self, pair: Pair, metric: str) -> tuple[float, float]:
        """Returns the ends of a difference's interval in % of the baseline's value, as the report shows
        it.
        """
        if self.tells_equal_users:
            return percent_interval(pair, metric)
        low, high = self.interval_of(pair)
        return pair.percent(low), pair.percent(high)

    def finding_of(self, pair: Pair) -> Word:
        """Returns the cell of a difference's finding."""
        if self.tells_equal_users:
            return finding_of(pair)
        return finding(pair.judged.word, former_sign(pair.judged.word))

    @cached_property
    def evidence(self) -> VerdictEvidence | None:
        """Returns all evidence about the candidate in question (``subject``); None if no runs are compared.

        In reports of the first format it is about the best candidate offline.
        """
        if self.comparison is None:
            return None
        if self.format == FIRST_FORMAT:
            return gather_evidence(self.source, self.comparison, same_users=False)
        return self._evidence_on_subject()

    def _evidence_on_subject(self) -> VerdictEvidence | None:
        today = self.recommendation
        case = today.case_of(self.subject) if today and self.subject else None
        if today is None or case is None or case.pair == today.evidence.leader:
            return today.evidence if today else None
        return with_intervals(self.source, with_harm(self.source, case.evidence, same_users=self.same_users))

    @cached_property
    def subject(self) -> str | None:
        """Returns the id of the candidate in question; None if there is none.

        It is the run that was decided on, else the one that the recommendation is about.
        """
        if self.recommendation is None:
            return None
        decided = run_of(self.decision, self.links) if self.decision else None
        if decided and self.recommendation.case_of(decided):
            return decided
        leader = self.recommendation.evidence.leader
        return leader.candidate if leader else None

    @cached_property
    def decision(self) -> Decision | None:
        """Returns the decision that applied at the report's moment; None if there was none.

        In a report about an A/B test alone, it is none on a variant of another test.
        """
        test = None if self.is_about_runs else self.question.test
        return decision_on_top(self._journal, test, links=self.links)

    @cached_property
    def links(self) -> RunOfVariant:
        """Returns the runs that the variants of the experiment's A/B tests served."""
        return runs_of_variants(self.workspace.online_tests.all(self.experiment.id))

    @property
    def decisions(self) -> list[Decision]:
        """Returns the decisions about the experiment until the report's moment, the newest first."""
        return decisions(self._journal)

    @cached_property
    def _journal(self) -> list[Entry]:
        """Returns the journal's entries until the report's moment, the oldest first."""
        entries = self.workspace.journal.entries(self.experiment.id)
        return [entry for entry in entries if entry.created <= self.moment][::-1]

    @cached_property
    def test(self) -> OnlineTest | None:
        """Returns the A/B test of the question; None if it has none, or if A/B tests are not shown."""
        if self.question.test is None or not self.has_tests:
            return None
        tests = self.workspace.online_tests.all(self.experiment.id, archived=True)
        return next((test for test in tests if test.id == self.question.test), None)

    @cached_property
    def plan(self) -> PlanCheck | None:
        """Returns the A/B test compared with its analysis plan as it was at the report's moment; None without
        one, and in reports of ``PLAN_WORDING`` and older.
        """
        if self.test is None or not self.tells_plan:
            return None
        return self.workspace.plans.check(self.test.id, self.moment)

    @property
    def tells_plan(self) -> bool:
        """Returns whether the report follows the analysis plan; not in reports of ``PLAN_WORDING`` and
        older.
        """
        return self.wording > PLAN_WORDING

    def scores(self, *metrics: str) -> pd.DataFrame:
        """Returns the scoreboard of the question's runs at its k: see ``Scores.scoreboard``.

        In older reports only error metrics have the least value first.
        """
        query = self.query
        scores = self.workspace.scores.scoreboard(query.shown, list(metrics), query.k, query.scope)
        if self.wording > RISKS_WORDING or scores.empty:
            return scores
        return in_order(scores, metrics[0], least_first=lower_is_better(metrics[0]))

    def looks(self) -> tuple[RunLook, ...]:
        """Returns how the question's runs, and other runs that the A/B test served, are named and drawn."""
        if not self.is_about_runs:
            return ()
        served = self.test.links.values() if self.test else ()
        shown = self.query.shown
        others = [run for run in dict.fromkeys(served) if run not in shown and run in self.all_runs]
        return tuple(
            RunLook(run.id, run.name, run.slot, "baseline" if run.id == self.query.baseline else "candidate")
            for run in (*self.runs, *(self.all_runs[run] for run in others))
        )
