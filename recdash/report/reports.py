"""Reports: a question's answer as a document, made, kept, and written in every form."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.domain.journal import Report
from recdash.domain.records import OnlineTest, Run
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, NotFound, Problem
from recdash.metrics import check_k, define
from recdash.metrics.naming import ordered_metrics
from recdash.online.agreement.agreement import DISAGREE
from recdash.report.document import Document
from recdash.report.formats.json import from_json, to_json
from recdash.report.sections import check_blocks
from recdash.service.access.sharing import LinkDead
from recdash.service.defaults import MOST_CANDIDATES, usual_baseline, usual_candidates, usual_k, usual_metric
from recdash.service.question import Question
from recdash.service.validation import check_typed, one_line, short_text
from recdash.store import new_id

if TYPE_CHECKING:
    from recdash.comparison import Terms
    from recdash.service import Workspace

MOST_TITLE, MOST_NARRATIVE = 200, 20_000


@dataclass(frozen=True)
class ReportFile:
    """A report in one form, as a browser takes it."""

    name: str
    media_type: str
    content: bytes


class Reports:
    """What is told of an experiment, to be read elsewhere."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    # ── what is asked ────────────────────────────────────────────────────────────────────────

    def question(
        self,
        experiment_id: str,
        runs: Sequence[str] = (),
        baseline: str | None = None,
        metric: str | None = None,
        k: int | None = None,
        *,
        scope: Scope = WHOLE,
        terms: Terms | None = None,
        by: str | None = None,
        test: str | None = None,
        online_metric: str | None = None,
    ) -> Question:
        """The question with everything that was left open, as pages would choose it; ids of runs and test.

        ``by``: the slices that are shown, "" for none. Raises InputError for what cannot be asked, NotFound
        for a run or a test of another experiment.
        """
        from recdash.comparison import Terms as UsualTerms

        candidates, base = self._whom(experiment_id, runs, baseline)
        asked = str(define(metric)) if metric else self._usual_metric_of((base, *candidates))
        depth = self._workspace.experiments.depth(experiment_id)
        cutoff = usual_k(depth) if k is None else k
        check_k(cutoff, depth)
        beside = self._beside(experiment_id, test)
        online = None if beside is None else self._online_metric_of(beside, asked, cutoff, online_metric)
        return Question(
            experiment_id, candidates, base, asked, cutoff, scope, terms or UsualTerms(),
            self._slices_of(experiment_id, by), beside.id if beside else None, online,
        )  # fmt: skip

    def _whom(
        self, experiment_id: str, runs: Sequence[str], baseline: str | None
    ) -> tuple[tuple[str, ...], str]:
        """The candidates and the baseline."""
        known = {run.id: run for run in self._workspace.runs.all(experiment_id, archived=True)}
        for run in (*runs, *([baseline] if baseline else [])):
            if run not in known:
                raise NotFound(f"Run {run} is not in this experiment.")
        active = [run for run in known.values() if run.archived is None]
        if not active and not baseline:
            fix = "Upload the scored output of a recommender first."
            raise InputError(Problem("no-run", "report", "the experiment has no run", fix))
        base = (
            known[baseline]
            if baseline
            else usual_baseline(self._workspace.experiments.get(experiment_id), active)
        )
        chosen: Sequence[Run] = [known[run] for run in runs] or usual_candidates(active, base)
        candidates = tuple(run for run in dict.fromkeys(one.id for one in chosen) if run != base.id)
        if len(candidates) > MOST_CANDIDATES:
            fix = f"Name at most {MOST_CANDIDATES}: more cannot be told apart in one report."
            raise InputError(Problem("many-runs", "report", f"{len(candidates)} candidates", fix))
        return candidates, base.id

    def _usual_metric_of(self, runs: Sequence[str]) -> str:
        return usual_metric(ordered_metrics(self._workspace.scores.metrics_of(runs)))

    def _slices_of(self, experiment_id: str, by: str | None) -> str:
        known = self._workspace.slices.of(experiment_id)
        if by is None:
            return known[0] if known else ""
        if by:
            self._workspace.slices.check(experiment_id, by)  # refuses what it cannot tell apart
        return by

    def _beside(self, experiment_id: str, test: str | None) -> OnlineTest | None:
        """The test with that id; without one the newest that is linked to a run."""
        tests = self._workspace.online_tests.all(experiment_id, archived=test is not None)
        if test is None:
            return max((one for one in tests if one.links), key=lambda one: one.created, default=None)
        found = next((one for one in tests if one.id == test), None)
        if found is None:
            raise NotFound(f"A/B test {test} is not in this experiment.")
        return found

    def _online_metric_of(self, test: OnlineTest, metric: str, k: int, online_metric: str | None) -> str:
        """The first by which a run won on one side and lost on the other; else the first."""
        known = list(dict.fromkeys(str(row["metric"]) for row in test.results))
        if online_metric is not None:
            self._workspace.agreement.both_sides(test.id, online_metric)  # refuses one that the test lacks
            return online_metric
        for one in known:
            if (
                self._workspace.online_tests.offline_online(test.id, metric, k, one)["quadrant"]
                .isin(DISAGREE)
                .any()
            ):
                return one
        return known[0]

    # ── what is answered ─────────────────────────────────────────────────────────────────────

    def report_content(
        self,
        question: Question,
        blocks: Sequence[str] = (),
        *,
        title: str = "",
        narrative: str = "",
        author: str = "",
        live: bool = True,
        moment: datetime | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> Document:
        """The answer as a document, as it stands now.

        Raises UnknownName for a block that there is not, EvidenceDamaged where something stored of the
        runs is damaged.
        """
        from recdash.report.build import content

        test = next(
            iter(_not_deleted(self._workspace.store.online_test, [question.test] if question.test else [])),
            None,
        )
        self._workspace.runs.refuse_damage(_not_deleted(self._workspace.store.run, question.shown), test)
        return content(
            self._workspace, question, moment or self._workspace.now(), blocks=blocks, title=title,
            narrative=narrative, author=author, live=live, versions=versions,
        )  # fmt: skip

    def write_report(
        self, question: Question, file: str | os.PathLike[str], blocks: Sequence[str] = (), **told: Any
    ) -> Document:
        """Write the answer as FILE.html, .pdf, .md, .csv, .json or .tex; ``told`` as in ``report_content``.

        Raises InputError for a suffix that is no form, and for a file that cannot be written.
        """
        from recdash.report.formats.registry import form_of, write

        form = form_of(Path(file))
        document = self.report_content(question, blocks, **{"author": self._workspace.person.name, **told})
        write(document, form, Path(file))
        return document

    def make_report(
        self,
        question: Question,
        blocks: Sequence[str] = (),
        *,
        title: str = "",
        narrative: str = "",
        live: bool = False,
        author: str = "",
        key: str = "",
    ) -> Report:
        """Keep a report: a snapshot with its numbers as they stand, or a live one with its question alone.

        ``author`` may only be given where nobody checked who is asking; ``key`` is any text that a form has
        once, so that sending the same twice makes one report. Raises Forbidden for a viewer.
        """
        self._workspace.person.must_be("editor")
        home = self._workspace.experiments.get(question.experiment)
        told = one_line("title", title, MOST_TITLE) or home.name
        prose = short_text("narrative", narrative, MOST_NARRATIVE)
        by = (
            one_line("author", author, MOST_TITLE)
            if author and not self._workspace.person.named
            else self._workspace.person.name
        )
        now, chosen = self._workspace.now(), check_blocks(blocks)
        document = self.report_content(
            question, chosen, title=told, narrative=prose, author=by, live=live, moment=now
        )
        kept = None if live else self._workspace.store.put_file(to_json(document).encode())
        facts = question.as_dict()
        made = _id_of(key, home.id, told, prose, by, live, document.blocks, facts) or new_id()
        report = Report(made, home.id, now, by, told, prose, document.blocks, facts, kept)
        return self._workspace.store.add_report(report)

    # ── what is kept ─────────────────────────────────────────────────────────────────────────

    def reports(self, experiment_id: str, archived: bool = False) -> list[Report]:
        """The reports on an experiment, the newest first."""
        return self._workspace.store.reports(self._workspace.experiments.get(experiment_id).id, archived)

    def report(self, report_id: str) -> Report:
        """Raises NotFound, for readers also where the report was put away."""
        found = self._workspace.store.report(report_id)
        if found.archived is not None and not self._workspace.person.may("editor"):
            raise NotFound("This report was put away.")
        return found

    def report_document(self, report_id: str) -> Document:
        """A snapshot as it was kept, a live report as it stands now."""
        report = self.report(report_id)
        if report.document is not None:
            return from_json(self._workspace.store.path(report.document).read_text(encoding="utf-8"))
        return self.report_content(
            Question.of(report.question), report.blocks, title=report.title, narrative=report.narrative,
            author=report.author,
        )  # fmt: skip

    def report_file(self, report_id: str, form: str = "html") -> ReportFile:
        """The report in one form. Raises UnknownName for a form that there is not."""
        from recdash.report.formats.registry import form_named

        chosen = form_named(form)
        report = self.report(report_id)
        content = chosen.write(self.report_document(report_id))
        return ReportFile(f"{file_name(report.title)}.{chosen.name}", chosen.media_type, content)

    def shared_report(self, token: str) -> ReportFile:
        """The one report that a share link opens, as a page; the rest of its experiment stays closed.

        Raises LinkDead, also for the link of a whole experiment.
        """
        link = self._workspace.sharing.shared(token)
        if link.report is None:
            raise LinkDead("unknown")
        return Reports(self._workspace.seen_by(link.guest)).report_file(link.report)

    def archive_report(self, report_id: str) -> Report:
        self._workspace.person.must_be("editor")
        return self._workspace.store.update_report(report_id, archived=self._workspace.now())

    def restore_report(self, report_id: str) -> Report:
        self._workspace.person.must_be("editor")
        return self._workspace.store.update_report(report_id, archived=None)

    def delete_report(self, report_id: str, typed_name: str) -> None:
        """Raises InputError unless the title was typed exactly."""
        self._workspace.person.must_be("editor")
        check_typed(typed_name, self._workspace.store.report(report_id).title)
        self._workspace.store.delete_report(report_id)
        self._workspace.store.collect()


def _id_of(key: str, *words: Any) -> str:
    """The id of the report that a form makes of what was written in it; empty for no form."""
    mark = hashlib.sha256(json.dumps([key, *words]).encode()).digest()
    return base64.b32encode(mark).decode("ascii").lower()[:10] if key else ""


def file_name(title: str) -> str:
    """A name that every file system takes: ``Films: ALS v3`` → ``films-als-v3``."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "report"


def _not_deleted(read: Callable[[str], object], ids: Sequence[str]) -> list[str]:
    """The ids of what is still stored: a report says itself what of it was deleted."""
    stored = []
    for key in ids:
        with suppress(NotFound):
            read(key)
            stored.append(key)
    return stored
