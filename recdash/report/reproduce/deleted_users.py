"""The tables that the records of a report have after data of users were deleted from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recdash.domain.records import OnlineTest
from recdash.report.document import Document
from recdash.report.reproduce.recompute import TABLES
from recdash.service.provenance import facts_of_run
from recdash.service.workspace import Workspace

OF_UPLOAD = ("upload", "predictions", "fallback", "replicates")
"""The facts of a run that change if a user is deleted from its upload."""


def with_stored_tables(workspace: Workspace, document: Document) -> Document:
    """Returns the document with the tables, uploads and logs that its experiment, runs and tests have now.

    What is not stored by the same id stays as it is.
    """
    known = document.provenance
    facts = known["experiment"]
    stored = {experiment.id: experiment for experiment in workspace.experiments.all(archived=True)}
    if facts["id"] not in stored:
        return document
    tables = {name: getattr(stored[facts["id"]], name) for name in TABLES}
    runs = {run.id: facts_of_run(run) for run in workspace.runs.all(facts["id"], archived=True)}
    stored_tests = [
        service.all(facts["id"], archived=True)
        for service in (workspace.online_tests, workspace.interleaving)
    ]
    tests = {test.id: test for of_kind in stored_tests for test in of_kind}
    provenance = {
        **known,
        "experiment": {**facts, **tables, "tables": dict(tables["tables"])},
        "runs": [_of_run(run, runs.get(run["id"], run)) for run in known["runs"]],
        "tests": [_of_test(test, tests) for test in known["tests"]],
    }
    return document if provenance == known else replace(document, provenance=provenance)


def _of_run(reported: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: stored.get(name, value) if name in OF_UPLOAD else value for name, value in reported.items()}


def _of_test(reported: Mapping[str, Any], tests: Mapping[str, OnlineTest]) -> dict[str, Any]:
    stored = tests.get(reported["id"])
    if stored is None:
        return dict(reported)
    return {**reported, "upload": stored.upload, "tables": dict(stored.tables)}
