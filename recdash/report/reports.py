"""Makes, stores and writes reports, which answer a question about an experiment."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdash.domain.defaults import MOST_CANDIDATES
from recdash.domain.journal import Report
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem, RecdashError, UnknownName
from recdash.report.document import FORMAT, WORDING, Document, without_ids
from recdash.report.formats.json import from_json, to_json
from recdash.service.access.sharing import LinkDead
from recdash.service.question import Question
from recdash.service.staging import store_with_files
from recdash.service.validation import check_typed, one_line, short_text
from recdash.store import new_id

if TYPE_CHECKING:
    from recdash.comparison import ComparisonQuery
    from recdash.service import Workspace

MOST_TITLE, MOST_NARRATIVE = 200, 20_000


@dataclass(frozen=True)
class ReportFile:
    """A report as a file for download, with its name and media type."""

    name: str
    media_type: str
    content: bytes


class Reports:
    """The service for reports about the experiments of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    # ── the question ─────────────────────────────────────────────────────────────────────────

    def question(
        self,
        experiment_id: str,
        query: ComparisonQuery | None = None,
        *,
        by: str | None = None,
        test: str | None = None,
        online_metric: str | None = None,
    ) -> Question:
        """Returns the question of a report; for what is not given it takes the defaults of the pages.

        ``query`` defaults to ``workspace.queries.of``; in an experiment without runs the question is about
        the A/B test alone. ``by`` is the attribute whose slices are shown, "" for
        none. Raises InputError for a question that cannot be answered, NotFound for a run or A/B test of
        another experiment.
        """
        if query is None and not self._workspace.runs.all(experiment_id, archived=True):
            tests = self._workspace.online_tests.all(experiment_id, archived=test is not None)
            if tests:
                return self._about_test(experiment_id, tests, test, online_metric)
        query = query or self._workspace.queries.of(experiment_id)
        self._workspace.queries.check(experiment_id, query)
        if len(query.runs) > MOST_CANDIDATES:
            fix = f"Name at most {MOST_CANDIDATES}: more cannot be distinguished in one report."
            raise InputError(Problem("many-runs", "report", f"{len(query.runs)} candidates", fix))
        online_test = self._online_test(experiment_id, test)
        if online_test is not None:
            online_metric = self._online_metric(online_test, query, online_metric)
        if by is None:
            by = next(iter(self._workspace.slices.of(experiment_id)), "")
        elif by:
            self._workspace.slices.check(experiment_id, by)  # raises UnknownName for an unknown attribute
        online = (online_test.id, online_metric) if online_test else (None, None)
        return Question(experiment_id, query, by, *online)

    def _about_test(
        self, experiment_id: str, tests: Sequence[OnlineTest], test_id: str | None, metric: str | None
    ) -> Question:
        """Returns the question about an A/B test alone, by default the newest and its first goal.

        Raises NotFound for a test of another experiment, UnknownName for a metric that the test lacks.
        """
        test = tests[0] if test_id is None else _with_id(tests, test_id)
        known = list(dict.fromkeys(str(row["metric"]) for row in test.results))
        if metric is not None and metric not in known:
            raise UnknownName("online metric", metric, known)
        return Question(experiment_id, None, "", test.id, metric or test.primary_metric)

    def _online_test(self, experiment_id: str, test_id: str | None) -> OnlineTest | None:
        """Returns the A/B test with this id; without an id, the newest that is linked to a run, or None.

        Raises NotFound for a test of another experiment.
        """
        tests = self._workspace.online_tests.all(experiment_id, archived=test_id is not None)
        if test_id is None:
            return next((test for test in tests if test.links), None)
        return _with_id(tests, test_id)

    def _online_metric(self, test: OnlineTest, query: ComparisonQuery, online_metric: str | None) -> str:
        """Returns the online metric with this name; without a name, the one that the page *Offline vs online*
        opens with: see ``OnlineTest.metric_to_explain``.

        Raises UnknownName for a metric that the test lacks.
        """
        if online_metric is not None:
            self._workspace.agreement.both_sides(test.id, online_metric)  # raises UnknownName
            return online_metric
        tests = self._workspace.online_tests
        return test.metric_to_explain(tests.disagreeing_metrics(test.id, query.metric, query.k))

    # ── the answer ───────────────────────────────────────────────────────────────────────────

    def content(
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
        home: str = "",
        form: int = FORMAT,
        wording: int = WORDING,
        head: str | None = None,
    ) -> Document:
        """Returns the answer to a question as a document, with today's numbers.

        ``home`` is the URL of the dashboard, to which the report links. ``form`` and ``wording`` are the
        versions of the document to make. ``head`` is the hash of the audit log's last line, None for today's,
        which guests are not shown. Raises UnknownName for an unknown section, EvidenceDamaged if stored
        data of the runs or the test is damaged.
        """
        from recdash.report.build import content
        from recdash.report.context import ReportContext
        from recdash.report.sections import check_blocks
        from recdash.service.provenance import versions_here

        store = self._workspace.store
        tests = _not_deleted(store.online_tests.get, [question.test] if question.test else [])
        runs = _not_deleted(store.runs.get, question.query.shown if question.query else ())
        self._workspace.runs.refuse_damage(runs, tests[0] if tests else None)
        moment, versions = moment or self._workspace.now(), versions or versions_here()
        if head is None:
            head = "" if self._workspace.person.is_guest else store.audit.last()
        names = check_blocks(blocks, has_runs=question.query is not None)
        context = ReportContext(self._workspace, question, moment, names, versions, home, form, wording, head)
        return content(context, title=title, narrative=narrative, author=author, live=live)

    def write(
        self, question: Question, file: str | os.PathLike[str], blocks: Sequence[str] = (), **options: Any
    ) -> Document:
        """Writes the answer to a question to a file, whose suffix (.html, .pdf, .md, .csv, .json or .tex) is
        its format.

        ``options`` are those of ``content``. Raises InputError for another suffix, and for a file that cannot
        be written.
        """
        from recdash.report.formats.registry import form_of, write

        form = form_of(Path(file))
        document = self.content(question, blocks, **{"author": self._workspace.person.name, **options})
        write(document, form, Path(file))
        return document

    def make(
        self,
        question: Question,
        blocks: Sequence[str] = (),
        *,
        title: str = "",
        narrative: str = "",
        live: bool = False,
        author: str = "",
        key: str = "",
        home: str = "",
    ) -> Report:
        """Stores a report, and returns it: a snapshot with today's numbers, or a live one, which is only a
        question.

        ``author`` is ignored if users sign in. ``key`` is unique to a form, so that a form that is sent twice
        makes one report. ``home``: see ``content``. Raises Forbidden for a viewer.
        """
        self._workspace.person.must_be("editor")
        experiment, person = self._workspace.experiments.get(question.experiment), self._workspace.person
        title = one_line("title", title, MOST_TITLE) or experiment.name
        narrative = short_text("narrative", narrative, MOST_NARRATIVE)
        author = one_line("author", author, MOST_TITLE) if author and not person.named else person.name
        now, facts = self._workspace.now(), question.as_dict()
        document = self.content(
            question,
            blocks,
            title=title,
            narrative=narrative,
            author=author,
            live=live,
            moment=now,
            home=home,
        )
        words = (experiment.id, title, narrative, author, live, document.blocks, facts)
        report_id = _id_of(key, *words) if key else new_id()
        report = Report(report_id, experiment.id, now, author, title, narrative, document.blocks, facts)
        store, text = self._workspace.store, to_json(document).encode()
        return store_with_files(
            store,
            lambda: None if live else store.artifacts.put_file(text),
            lambda file: store.reports.add(replace(report, document=file)),
        )

    # ── stored reports ───────────────────────────────────────────────────────────────────────

    def all(self, experiment_id: str, archived: bool = False) -> list[Report]:
        """Returns the reports about an experiment, the newest first; archived ones only if ``archived``."""
        return self._workspace.store.reports.of_experiment(
            self._workspace.experiments.get(experiment_id).id, archived
        )

    def get(self, report_id: str) -> Report:
        """Returns the stored report.

        Raises NotFound for an unknown one; for viewers also if it is archived.
        """
        report = self._workspace.store.reports.get(report_id)
        if report.archived is not None and not self._workspace.person.may("editor"):
            raise NotFound("This report was archived.")
        return report

    def document(self, report_id: str, home: str = "") -> Document:
        """Returns the report's document: of a snapshot as it was stored, of a live report with today's
        numbers.

        ``home`` is the URL of the dashboard, to which a live report links.
        """
        report = self.get(report_id)
        if report.document is not None:
            file = self._workspace.store.artifacts.path(report.document)
            document = from_json(file.read_text(encoding="utf-8"))
            return without_ids(document) if self._workspace.person.numbers_only else document
        question, title = Question.of(report.question), report.title
        return self.content(
            question, report.blocks, title=title, narrative=report.narrative, author=report.author, home=home
        )

    def headline(self, report: Report) -> str:
        """Returns what a report says to do: of a snapshot at its moment, of a live report today.

        It is "" if that cannot be read, such as after a run was deleted.
        """
        from recdash.report.context import ReportContext
        from recdash.report.sections.ab_alone import headline_of_test
        from recdash.report.sections.lead import headline

        try:
            if report.document is not None:
                return _headline_in(self._workspace.store.artifacts.path(report.document))
            question = Question.of(report.question)
            context = ReportContext(self._workspace, question, self._workspace.now())
            if not context.is_about_runs:
                return headline_of_test(context)
            return headline(context) if context.runs else ""
        except (RecdashError, OSError, LookupError, TypeError, ValueError):
            return ""

    def file(self, report_id: str, form: str = "html", home: str = "") -> ReportFile:
        """Returns the report in one format.

        ``home``: see ``document``. Raises UnknownName for an unknown format.
        """
        from recdash.report.formats.registry import form_named

        chosen = form_named(form)
        report = self.get(report_id)
        content = chosen.write(self.document(report_id, home))
        return ReportFile(f"{file_name(report.title)}.{chosen.name}", chosen.media_type, content)

    def shared(self, token: str) -> ReportFile:
        """Returns the report that a share link opens, as a page; it gives no access to the rest of the
        experiment.

        Raises LinkDead if the link does not work or is for a whole experiment.
        """
        link = self._workspace.sharing.shared(token)
        if link.report is None:
            raise LinkDead("unknown")
        return Reports(self._workspace.seen_by(link.guest)).file(link.report)

    def archive(self, report_id: str) -> Report:
        self._workspace.person.must_be("editor")
        return self._workspace.store.reports.update(report_id, archived=self._workspace.now())

    def unarchive(self, report_id: str) -> Report:
        self._workspace.person.must_be("editor")
        return self._workspace.store.reports.update(report_id, archived=None)

    def delete(self, report_id: str, typed_name: str) -> None:
        """Deletes a report for good. Raises InputError unless ``typed_name`` is its exact title."""
        self._workspace.person.must_be("editor")
        check_typed(typed_name, self._workspace.store.reports.get(report_id).title)
        self._workspace.store.reports.delete(report_id)


def deletion_days(workspace: Workspace, experiment_id: str, made: datetime) -> list[date]:
    """Returns the days on which data of users were deleted from an experiment after a report of it was made;
    empty for a guest, who cannot read the audit log.
    """
    if workspace.person.is_guest:
        return []
    deleted = workspace.store.audit.purges_of(experiment_id)
    return sorted({moment.date() for moment in deleted if moment > made})


def _with_id(tests: Sequence[OnlineTest], test_id: str) -> OnlineTest:
    """Returns the A/B test with this id. Raises NotFound if it is none of the experiment's ``tests``."""
    for test in tests:
        if test.id == test_id:
            return test
    raise NotFound(f"No A/B test of this experiment has the id {test_id}.")


@lru_cache(maxsize=1_000)
def _headline_in(snapshot: Path) -> str:
    """Returns the headline in the file of a snapshot, which is named by its content and does not change."""
    return str(json.loads(snapshot.read_text(encoding="utf-8"))["lead"]["headline"])


def _id_of(key: str, *words: Any) -> str:
    """Returns the id of a report from a form; the same key and content give the same id."""
    digest = hashlib.sha256(json.dumps([key, *words]).encode()).digest()
    return base64.b32encode(digest).decode("ascii").lower()[:10]


def file_name(title: str) -> str:
    """Returns a file name that is valid in every file system, such as ``films-als-v3`` for ``Films: ALS
    v3``.
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "report"


def _not_deleted(read: Callable[[str], object], ids: Sequence[str]) -> list[str]:
    """Returns the ids of those records that still exist; the report itself says what was deleted."""
    stored = []
    for key in ids:
        with suppress(NotFound):
            read(key)
            stored.append(key)
    return stored
