"""A report made again from the uploads that it names: nothing that was computed before is looked at.

The uploads are found by their hashes, scored anew into a store in memory, and asked the same question; so
are the tables of A/B tests. Names, links and the rules of counting are the report's: they are settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from recdash import ingest
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.errors import NotFound, Problem
from recdash.evaluation.replicate_merge import LABEL, merge_replicates
from recdash.evaluation.replicates import group_by_candidate, score_candidate
from recdash.evaluation.scoring import score_predictions
from recdash.report.document import Document
from recdash.report.reports import Reports
from recdash.service.catalog.runs import PreparedRun, rows_of_predictions
from recdash.service.provenance import RULES
from recdash.service.question import Question
from recdash.service.workspace import Workspace
from recdash.store.memory import MemoryStore

Facts = Mapping[str, Any]


def recomputed(space: Workspace, document: Document) -> Document:
    """The same report, every number of it computed anew from the stored uploads.

    Raises NotFound for a table or run that is not stored, EvidenceDamaged for one that is damaged.
    """
    known = document.provenance
    stored = experiment_of(space, known["experiment"])
    moment = datetime.fromisoformat(document.moment)
    memory = MemoryStore(
        space.store, _as_reported(stored, known["experiment"]), space.store.entries(stored.id)
    )
    admin = replace(space.person, role="admin")
    workspace = Workspace(memory, person=admin, clock=lambda: moment)
    again = FromUploads(workspace)
    runs = {facts["id"]: _run_of(space, stored, facts) for facts in known["runs"]}
    for facts in known["runs"]:
        again.score_again(memory, facts, runs[facts["id"]])
    for facts in known["tests"]:
        memory.add_online_test(again.count_again(facts, _test_of(space, stored, facts), space))
    return Reports(workspace).report_content(
        Question.of(document.question), document.blocks, title=document.title, narrative=document.narrative,
        author=document.author, live=document.live, moment=moment,
        versions=known["versions"],
    )  # fmt: skip


class FromUploads:
    """Runs and tests of a report, scored and counted again in a workspace over a store in memory."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def score_again(self, memory: MemoryStore, facts: Facts, stored: Run) -> None:
        """Score an upload as on its first day; what was said while the file was read is as it is stored."""
        home = next(iter(memory.experiments()))
        prepared = self._prepared_again(home, facts, stored)
        added = self._workspace.runs.add_scored(home.id, prepared, str(stored.upload), {}).run
        memory.update_run(
            added.id, id=facts["id"], name=facts["name"], slot=facts["slot"], created=stored.created,
            notices=tuple(_renamed(one, stored.name, facts["name"]) for one in stored.notices),
            archived=stored.created if facts["archived"] else None,
            provenance={**added.provenance, "version": facts["scored_by"]},
        )  # fmt: skip

    def _prepared_again(self, home: Experiment, facts: Facts, stored: Run) -> PreparedRun:
        if not stored.has_lists and not stored.replicated:
            return self._rated_again(home, facts)
        several = facts.get("replicates")
        mapping = {"replicate": LABEL} if several else None
        read = ingest.read_recommendations(
            self._workspace.store.path(str(stored.upload)),
            name=facts["name"],
            mapping=mapping,
            checked=True,
        )
        reference, noun = facts.get("reference"), several["noun"] if several else ""
        (runs,) = group_by_candidate([replace(one, reference=reference, noun=noun) for one in read])
        # unknown ids were accepted when the run was stored
        tables, asked, rules = self._workspace.runs.how_scored(home.id, accept_unknown_ids=True)
        rules = replace(rules, order=_order(facts["order"]))
        rated = facts.get("predictions")
        table = (
            None if rated is None else ingest.read_upload("predictions", self._workspace.store.path(rated))
        )
        kind = several["kind"] if several else None
        scored = score_candidate(runs, tables, asked, rules, kind, predictions=table)
        return PreparedRun(merge_replicates(runs, labelled=True) if len(runs) > 1 else runs[0], scored)

    def _rated_again(self, home: Experiment, facts: Facts) -> PreparedRun:
        rated = ingest.read_upload("predictions", self._workspace.store.path(facts["predictions"]))
        reference, asked, rules = self._workspace.runs.how_scored(home.id, accept_unknown_ids=True)
        scored = score_predictions(facts["name"], rated, reference, asked, rules)
        return PreparedRun(rows_of_predictions(facts["name"], rated), scored)

    def count_again(self, facts: Facts, stored: OnlineTest, space: Workspace) -> OnlineTest:
        """The test by the report's own rules and links; what was said while its logs were read stays."""
        before = space.online_tests.ab_results(stored.id).notices
        said = [notice for notice in stored.notices if notice not in before]
        test = OnlineTest(
            facts["id"], self._workspace.experiments.all()[0].id, facts["name"],
            datetime.fromisoformat(facts["created"]), facts["kind"], facts["upload"], facts["control"],
            facts["tables"], facts["rules"], facts["metrics"], facts["removed"], facts["links"],
            archived=datetime.now(UTC) if facts["archived"] else None,
        )  # fmt: skip
        found = self._workspace.online_tests.results_of(test)
        return replace(test, results=found.records(), notices=(*said, *found.notices))


def _renamed(notice: Problem, stored: str, reported: str) -> Problem:
    """What was said of an upload, of the run as the report calls it: it may be uploaded again by now."""
    old, new = f"'{stored}'", f"'{reported}'"
    told = {name: getattr(notice, name).replace(old, new) for name in ("place", "found", "fix")}
    return replace(notice, **told)


def _order(order: str) -> Any:
    """By which column the lists were ordered; of those in the file's own order there is none to name."""
    return order if order in {"rank", "score"} else None


# ── found by their hashes ────────────────────────────────────────────────────────────────────


def experiment_of(space: Workspace, facts: Facts) -> Experiment:
    """The stored one with the very same tables and rules."""
    same = [one for one in space.experiments.all(archived=True) if _tables_of(one) == _tables_of(facts)]
    alike = [one for one in same if _rules_of(one.settings) == _rules_of(facts["settings"])]
    if not same:
        raise NotFound(
            f"No stored experiment has the tables of '{facts['name']}' (truth {str(facts['truth'])[:12]}…): "
            "it was deleted, it is kept in another store, or the report was changed."
        )
    if not alike:
        rules = f"The rules of '{facts['name']}' (depth, users, relevance)"
        raise NotFound(f"{rules} are not those that are stored.")
    return next((one for one in alike if one.id == facts["id"]), alike[0])


def _rules_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the numbers; before there was a choice, repeated items counted once."""
    return {
        "duplicates": "first",
        **{name: settings[name] for name in RULES if settings.get(name) is not None},
    }


def _tables_of(one: Experiment | Facts) -> tuple[Any, ...]:
    if isinstance(one, Experiment):
        return one.truth, one.train, one.catalogue, dict(one.tables)
    return one["truth"], one["train"], one["catalogue"], dict(one["tables"])


def _as_reported(stored: Experiment, facts: Facts) -> Experiment:
    return replace(stored, id=facts["id"], name=facts["name"], baseline=facts["baseline"])


def _run_of(space: Workspace, home: Experiment, facts: Facts) -> Run:
    """The stored run of the same upload."""
    known = [
        run
        for run in space.runs.all(home.id, archived=True)
        if run.upload == facts["upload"] and run.hits.get("predictions") == facts.get("predictions")
    ]
    if not known:
        raise NotFound(_gone("run", facts))
    return next((run for run in known if run.id == facts["id"]), known[0])


def _test_of(space: Workspace, home: Experiment, facts: Facts) -> OnlineTest:
    known = [
        test
        for test in space.online_tests.all(home.id, archived=True)
        if test.upload == facts["upload"] and dict(test.tables) == dict(facts["tables"])
    ]
    if not known:
        raise NotFound(_gone("A/B test", facts))
    return next((test for test in known if test.id == facts["id"]), known[0])


def _gone(what: str, facts: Facts) -> str:
    upload = f"{str(facts['upload'])[:12]}…"
    return (
        f"The {what} '{facts['name']}' of the report (upload {upload}) is not stored here: it was deleted, "
        "it is kept in another store, or the report was changed."
    )


@dataclass(frozen=True)
class Renamed:
    """A run that is called otherwise today; ``taken``: the report's name is that of another stored run."""

    then: str
    now: str
    taken: bool

    def __str__(self) -> str:
        if self.taken:
            return f"the name '{self.then}' is that of another run: by its upload this one is '{self.now}'"
        return f"'{self.then}' is called '{self.now}' today"


def counted_otherwise(space: Workspace, document: Document) -> list[tuple[str, str]]:
    """A/B tests that the report counts otherwise than they are stored: (what, in words).

    Links, rules and metrics may have been set anew since; the control never changes.
    """
    known = document.provenance
    home = experiment_of(space, known["experiment"])
    found = []
    for facts in known["tests"]:
        stored = _test_of(space, home, facts)
        for what in ("control", "links", "rules", "metrics"):
            then, now = _plain(facts[what]), _plain(getattr(stored, what))
            if then != now:
                words = f"of the A/B test '{facts['name']}' the report has other {what} than the store today"
                found.append((what, words))
    return found


def _plain(value: Any) -> Any:
    """Without the difference of tuples and lists."""
    return json.loads(json.dumps(value, default=dict))


def renamed(space: Workspace, document: Document) -> list[Renamed]:
    known = document.provenance
    home = experiment_of(space, known["experiment"])
    names = {run.name for run in space.runs.all(home.id, archived=True)}
    pairs = [(facts["name"], _run_of(space, home, facts).name) for facts in known["runs"]]
    return [Renamed(then, now, then in names) for then, now in pairs if then != now]
