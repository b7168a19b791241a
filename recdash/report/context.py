"""The question of a report, with the answers that several blocks share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from recdash.comparison import ComparisonQuery, compare, decide, gather_evidence
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import WHOLE
from recdash.errors import NotFound
from recdash.metrics import define
from recdash.report.document import RunLook
from recdash.service.question import Question

if TYPE_CHECKING:
    import pandas as pd

    from recdash.comparison.verdict import OfflineVerdict
    from recdash.service import Workspace

LONGEST = 40


@dataclass(eq=False)
class ReportContext:
    """The question of a report, with the answers that several blocks share.

    ``moment``: later entries of the journal are left out; ``blocks``: the names of the report's blocks;
    ``versions``: of what computes it.
    """

    workspace: Workspace
    question: Question
    moment: datetime
    blocks: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def query(self) -> ComparisonQuery:
        return self.question.query

    @cached_property
    def experiment(self) -> Experiment:
        return self.workspace.experiments.get(self.question.experiment)

    @cached_property
    def all_runs(self) -> Mapping[str, Run]:
        """Every run of the experiment by id, archived ones too."""
        return {run.id: run for run in self.workspace.runs.all(self.experiment.id, archived=True)}

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The baseline first, then the candidates. Raises NotFound for one that was deleted."""
        gone = [run for run in self.query.shown if run not in self.all_runs]
        if gone:
            deleted = "a run of it was" if len(gone) == 1 else f"{len(gone)} runs of it were"
            raise NotFound(f"What this report is about is not here any more: {deleted} deleted.")
        return tuple(self.all_runs[run] for run in self.query.shown)

    @cached_property
    def names(self) -> dict[str, str]:
        return {run.id: run.name for run in self.all_runs.values()}

    @cached_property
    def brief(self) -> dict[str, str]:
        """The names, long ones shortened, for sentences that name all runs."""
        from recdash.formatting.wording import cut_inside

        return {run: cut_inside(name, LONGEST) for run, name in self.names.items()}

    @property
    def base(self) -> str:
        """The baseline's name."""
        return self.names[self.query.baseline]

    @cached_property
    def verdict_query(self) -> ComparisonQuery:
        """What findings compare."""
        return self.query.without({run.id for run in self.runs if run.reference})

    @cached_property
    def verdict(self) -> OfflineVerdict | None:
        """The offline verdict on the best candidate; None for a metric without a value per user, and without
        a candidate.
        """
        if not define(self.query.metric).is_paired or not self.verdict_query.runs:
            return None
        source = self.workspace.comparisons.source(self.experiment.id, self.verdict_query.scope)
        return decide(gather_evidence(source, compare(source, self.verdict_query)))

    @cached_property
    def test(self) -> OnlineTest | None:
        """The A/B test of the question; None where there is none, and for a part of the users or items."""
        if self.question.test is None or self.query.scope != WHOLE:
            return None
        tests = self.workspace.online_tests.all(self.experiment.id, archived=True)
        return next((test for test in tests if test.id == self.question.test), None)

    def scores(self, *metrics: str) -> pd.DataFrame:
        """The scoreboard of the shown runs at the question's k."""
        return self.workspace.scores.scoreboard(
            self.query.shown, list(metrics), self.query.k, self.query.scope
        )

    def looks(self) -> tuple[RunLook, ...]:
        """How the shown runs, and others that the A/B test served, are named and drawn."""
        served = self.test.links.values() if self.test else ()
        shown = self.query.shown
        others = [run for run in dict.fromkeys(served) if run not in shown and run in self.all_runs]
        return tuple(
            RunLook(run.id, run.name, run.slot, "baseline" if run.id == self.query.baseline else "candidate")
            for run in (*self.runs, *(self.all_runs[run] for run in others))
        )
