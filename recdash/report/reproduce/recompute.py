"""Makes a report again from the uploads that it names, without using any stored result.

Uploads and the tables of A/B tests are found by their hashes, and scored and counted again in a store in
memory; then the same question is answered. Names, links and counting rules are those in the report.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from recdash import ingest
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.errors import NotFound, Problem, other_notices
from recdash.evaluation.candidates import (
    PreparedRun,
    group_by_candidate,
    prepare_predictions,
    prepare_runs,
)
from recdash.evaluation.replicate_merge import LABEL
from recdash.formatting.tables import Table
from recdash.metrics import METRICS
from recdash.metrics.naming import metric_at
from recdash.report.document import Document, Section
from recdash.report.reports import Reports
from recdash.service.provenance import RULES
from recdash.service.question import Question
from recdash.service.validation import quiet
from recdash.service.workspace import Workspace
from recdash.store.memory import MemoryStore

ALL_METRICS = "scores"
"""The name of the section with a row for every metric."""
INTERLEAVED = "interleaving"
"""The kind of an interleaving test."""
TABLES = ("truth", "train", "catalogue", "tables")
"""The fields of an experiment that name its tables."""
Facts = Mapping[str, Any]
Stored = TypeVar("Stored", Experiment, Run, OnlineTest)


def recomputed(workspace: Workspace, document: Document) -> Document:
    """Returns the same report with every number computed again from the stored uploads.

    Raises NotFound for a table or run that is not stored, EvidenceDamaged for one that is damaged.
    """
    known = document.provenance
    facts, stored = known["experiment"], experiment_of(workspace, document)
    reported = replace(stored, **{name: facts[name] for name in ("id", "name", "baseline", *TABLES)})
    rules = {name: facts["settings"].get(name, value) for name, value in stored.settings.items()}
    reported = replace(reported, settings=rules)
    memory = MemoryStore(workspace.store, reported, workspace.store.journal.of_experiment(stored.id))
    moment = datetime.fromisoformat(document.moment)
    admin = replace(workspace.person, role="admin")
    rebuilt = Workspace(memory, person=admin, clock=lambda: moment)
    again = FromUploads(rebuilt)
    runs = [(facts, _run_of(workspace, stored, facts)) for facts in known["runs"]]
    for facts, run in runs:
        again.score_again(memory, facts, run)
    for facts in known["tests"]:
        memory.online_tests.add(again.count_again(facts, _test_of(workspace, stored, facts), workspace))
    return Reports(rebuilt).content(
        Question.of(document.question),
        document.blocks,
        title=document.title,
        narrative=document.narrative,
        author=document.author,
        live=document.live,
        moment=moment,
        versions=known["versions"],
        home=document.link.partition("?")[0],
        form=document.format,
        wording=document.wording,
        head=document.head,
    )


def without_new_metrics(reported: Document, again: Document) -> tuple[Document, list[str]]:
    """Returns ``again`` without the metrics that recdash got after the report was made, and the names of
    these.

    The table of all metrics has a row for each metric that recdash scores today. The rows of core metrics,
    guardrails and the report's own metric are never removed, so that a report without one of these differs.
    """
    if not _is_about_runs(reported):
        return again, []
    listed, k = _metrics_listed(reported), reported.question["k"]
    may_lack = {
        metric_at(name, k)
        for name, row in METRICS.items()
        if row.usage.group == "other" and not row.usage.guardrail and name != reported.question["metric"]
    }
    new = [metric for metric in _metrics_listed(again) if metric in may_lack and metric not in listed]
    sections = tuple(
        _without_rows(section, new) if section.name == ALL_METRICS else section for section in again.sections
    )
    return replace(again, sections=sections), new


def _metrics_listed(document: Document) -> list[str]:
    tables = [table for section, table in document.tables() if section.name == ALL_METRICS]
    return [str(row[0]) for table in tables for row in table.rows]


def _without_rows(section: Section, names: Sequence[str]) -> Section:
    parts = tuple(
        replace(part, rows=tuple(row for row in part.rows if row[0] not in names))
        if isinstance(part, Table)
        else part
        for part in section.parts
    )
    return replace(section, parts=parts)


class FromUploads:
    """A workspace over a store in memory, in which the runs and A/B tests of a report are scored and counted
    again.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def score_again(self, memory: MemoryStore, facts: Facts, stored: Run) -> None:
        """Scores an upload again and stores the run in memory, with the stored notices from when the file was
        read.
        """
        experiment = next(iter(memory.experiments.all()))
        prepared = self._prepared_again(experiment, facts, stored)
        added = self._workspace.runs.add_scored(experiment.id, prepared, str(stored.upload), {}).run
        # a store in memory names tables at random; rating predictions are an upload, found by its hash
        rated = {"predictions": facts["predictions"]} if facts.get("predictions") else {}
        memory.runs.update(
            added.id,
            hits={**added.hits, **rated},
            id=facts["id"],
            name=facts["name"],
            slot=facts["slot"],
            created=stored.created,
            notices=tuple(_renamed(notice, stored.name, facts["name"]) for notice in stored.notices),
            archived=stored.created if facts["archived"] else None,
            provenance={**added.provenance, "version": facts["scored_by"]},
        )

    def _prepared_again(self, experiment: Experiment, facts: Facts, stored: Run) -> PreparedRun:
        path, name, runs = self._workspace.store.artifacts.path, facts["name"], self._workspace.runs
        # unknown ids were accepted when the run was stored
        scoring = runs.how_scored(experiment.id, accept_unknown_ids=True)
        if not stored.has_lists and not stored.replicated:
            ratings = ingest.read_upload("predictions", path(facts["predictions"]))
            return prepare_predictions(name, ratings, scoring)
        replicates = facts.get("replicates")
        mapping = {"replicate": LABEL} if replicates else None
        read = ingest.read_recommendations(path(str(stored.upload)), name=name, mapping=mapping, checked=True)
        noun, kind = (replicates["noun"], replicates["kind"]) if replicates else ("", None)
        candidates = group_by_candidate(
            [replace(run, reference=facts.get("reference"), noun=noun) for run in read]
        )
        scoring = scoring.in_order(facts["order"])
        rated = facts.get("predictions")
        predictions = None if rated is None else ingest.read_upload("predictions", path(rated))
        (prepared,) = prepare_runs(candidates, scoring, quiet, kind, predictions)
        return prepared

    def count_again(self, facts: Facts, stored: OnlineTest, workspace: Workspace) -> OnlineTest:
        """Returns the test counted with the report's rules and links, with the stored notices from when its
        logs were read.
        """
        of_logs = _of_logs(workspace, stored)
        names = ("kind", "upload", "control", "tables", "rules", "metrics", "removed", "links")
        test = OnlineTest(
            facts["id"],
            self._workspace.experiments.all()[0].id,
            facts["name"],
            datetime.fromisoformat(facts["created"]),
            **{name: facts[name] for name in names},
            archived=datetime.now(UTC) if facts["archived"] else None,
        )
        if test.is_interleaved:
            shares = self._workspace.interleaving.results_of(test)
            return replace(test, results=shares.records(), notices=(*of_logs, *shares.noticed()))
        results = self._workspace.online_tests.results_of(test)
        return replace(test, results=results.records(), notices=(*of_logs, *results.notices))


def _of_logs(workspace: Workspace, stored: OnlineTest) -> list[Problem]:
    """Returns the stored notices of a test from when its logs were read."""
    if stored.is_interleaved:
        return other_notices(stored.notices, workspace.interleaving.results_of(stored).noticed())
    return other_notices(stored.notices, workspace.online_tests.results_of(stored).notices)


def _renamed(notice: Problem, stored: str, reported: str) -> Problem:
    """Returns a run's notice with the run's name in the report, as it may have been renamed since."""
    old, new = f"'{stored}'", f"'{reported}'"
    texts = {name: getattr(notice, name).replace(old, new) for name in ("place", "found", "fix")}
    return replace(notice, **texts)


# ── stored records by hash ───────────────────────────────────────────────────────────────────


def _is_about_runs(document: Document) -> bool:
    """Returns whether the report compares runs; False for one about an A/B test alone."""
    return "k" in document.question


def experiment_of(workspace: Workspace, document: Document) -> Experiment:
    """Returns the stored experiment with exactly the same tables and rules.

    For a report about an A/B test alone it is the one with this test: a test set, which may have been added
    since, changes nothing in it. Raises NotFound if there is none.
    """
    facts, known = document.provenance["experiment"], workspace.experiments.all(archived=True)
    if not _is_about_runs(document):
        return _experiment_with_test(workspace, known, document)
    tables = _tables_of(facts)
    same_tables = [stored for stored in known if _tables_of(vars(stored)) == tables]
    if not same_tables:
        raise NotFound(
            f"No stored experiment has the tables of '{facts['name']}' (truth {str(facts['truth'])[:12]}…): "
            "it was deleted, it is kept in another store, or the report was changed."
        )
    rules = _rules_of(facts["settings"])
    same = [stored for stored in same_tables if _rules_of(stored.settings) == rules]
    if not same:
        name = facts["name"]
        raise NotFound(f"The rules of '{name}' (depth, users, relevance) are not those that are stored.")
    return _by_id(same, facts)


def _experiment_with_test(
    workspace: Workspace, known: Sequence[Experiment], document: Document
) -> Experiment:
    """Returns the experiment with the A/B test that the report is about. Raises NotFound if there is none."""
    (test,) = [test for test in document.provenance["tests"] if test["id"] == document.question["test"]]
    having = [stored for stored in known if _same_tests(workspace, stored, test)]
    if not having:
        raise _not_stored("A/B test", test)
    return _by_id(having, document.provenance["experiment"])


def _tables_of(facts: Facts) -> dict[str, Any]:
    return {name: dict(facts[name]) if name == "tables" else facts[name] for name in TABLES}


def _rules_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the rules that determine the numbers; ``duplicates`` is "first" in reports without that
    choice.
    """
    chosen = {name: settings[name] for name in RULES if settings.get(name) is not None}
    return {"duplicates": "first", **chosen}


def _run_of(workspace: Workspace, experiment: Experiment, facts: Facts) -> Run:
    """Returns the stored run of the same upload. Raises NotFound if there is none."""
    known = [
        run
        for run in workspace.runs.all(experiment.id, archived=True)
        if run.upload == facts["upload"] and run.hits.get("predictions") == facts.get("predictions")
    ]
    return _by_id(known, facts, "run")


def _test_of(workspace: Workspace, experiment: Experiment, facts: Facts) -> OnlineTest:
    """Returns the stored test of the same logs. Raises NotFound if there is none."""
    return _by_id(_same_tests(workspace, experiment, facts), facts, _kind_of(facts))


def _kind_of(facts: Facts) -> str:
    return "interleaving test" if facts["kind"] == INTERLEAVED else "A/B test"


def _same_tests(workspace: Workspace, experiment: Experiment, facts: Facts) -> list[OnlineTest]:
    return [
        test
        for test in (
            *workspace.online_tests.all(experiment.id, archived=True),
            *workspace.interleaving.all(experiment.id, archived=True),
        )
        if test.upload == facts["upload"] and dict(test.tables) == dict(facts["tables"])
    ]


def _by_id(known: Sequence[Stored], facts: Facts, kind: str = "") -> Stored:
    """Returns the record with the report's id, else the first of ``known``.

    Raises NotFound if there is none.
    """
    if not known:
        raise _not_stored(kind, facts)
    return next((stored for stored in known if stored.id == facts["id"]), known[0])


def _not_stored(kind: str, facts: Facts) -> NotFound:
    return NotFound(
        f"The {kind} '{facts['name']}' of the report (upload {str(facts['upload'])[:12]}…) is not stored "
        "here: it was deleted, it is kept in another store, or the report was changed."
    )


@dataclass(frozen=True)
class Renamed:
    """A run whose name has changed since the report; ``taken`` is whether another run has its former name
    now.
    """

    then: str
    now: str
    taken: bool

    def __str__(self) -> str:
        if self.taken:
            return f"the name '{self.then}' is that of another run: by its upload this one is '{self.now}'"
        return f"'{self.then}' is called '{self.now}' today"


def changed_settings(workspace: Workspace, document: Document) -> list[tuple[str, str]]:
    """Returns (name of the setting, sentence) for settings of tests that differ between the report and
    the store.

    Links, rules and metrics may have changed since the report; the control of an A/B test never changes.
    """
    known = document.provenance
    experiment = experiment_of(workspace, document)
    changed = []
    for facts in known["tests"]:
        stored = _test_of(workspace, experiment, facts)
        for name in ("control", "links", "rules", "metrics"):
            if _plain(facts[name]) != _plain(getattr(stored, name)):
                kind = _kind_of(facts)
                words = f"of the {kind} '{facts['name']}' the report has other {name} than the store today"
                # the control of an interleaving test may have changed, with the same numbers mirrored
                changed.append(("links" if facts["kind"] == INTERLEAVED else name, words))
    return changed


def _plain(value: Any) -> Any:
    """Returns the value as JSON would give it back, so that tuples and lists are equal."""
    return json.loads(json.dumps(value, default=dict))


def renamed(workspace: Workspace, document: Document) -> list[Renamed]:
    known = document.provenance
    experiment = experiment_of(workspace, document)
    names = {run.name for run in workspace.runs.all(experiment.id, archived=True)}
    pairs = [(facts["name"], _run_of(workspace, experiment, facts).name) for facts in known["runs"]]
    return [Renamed(then, now, then in names) for then, now in pairs if then != now]
