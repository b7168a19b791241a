"""The questions of the HTTP API: each asks the workspace, and its answer is that of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports, file_name
from recdash.service import Workspace
from recdash.service.plain_answers import (
    ab_test_facts,
    ab_test_of,
    ab_tests_facts,
    compared,
    experiment_facts,
    experiment_of,
    experiments_facts,
    query_of,
    run_facts,
    score_rows,
)
from recdash.version import __version__
from recdash.web.api.parameters import (
    NoParameters,
    Parameters,
    QueryParameters,
    ReportParameters,
    ScoreParameters,
    TestParameters,
)

Path = Mapping[str, str]
"""The names in the address of a request."""


@dataclass(frozen=True)
class FileAnswer:
    """An answer that is a file, such as a report."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Question:
    """A question: its address below /api/v1, its parameters, and the function that answers it."""

    path: str
    title: str
    parameters: type[Parameters]
    answer: Callable[[Workspace, Path, Any], Any]
    returns: str


def server(workspace: Workspace, _path: Path, _asked: NoParameters) -> dict[str, Any]:
    return {"version": __version__, "person": workspace.person.name, "role": workspace.person.role}


def experiments(workspace: Workspace, _path: Path, _asked: NoParameters) -> dict[str, Any]:
    return experiments_facts(workspace)


def experiment(workspace: Workspace, path: Path, _asked: NoParameters) -> dict[str, Any]:
    return experiment_facts(workspace, experiment_of(workspace, path["experiment"]))


def runs(workspace: Workspace, path: Path, _asked: NoParameters) -> dict[str, Any]:
    return {"runs": run_facts(workspace, experiment_of(workspace, path["experiment"]))}


def scores(workspace: Workspace, path: Path, asked: ScoreParameters) -> dict[str, Any]:
    stored = experiment_of(workspace, path["experiment"])
    return {"scores": score_rows(workspace, stored, asked.run, asked.metric, asked.scope)}


def comparison(workspace: Workspace, path: Path, asked: QueryParameters) -> dict[str, Any]:
    return compared(workspace, experiment_of(workspace, path["experiment"]), asked.query).as_dict()


def verdict(workspace: Workspace, path: Path, asked: QueryParameters) -> dict[str, Any]:
    query = query_of(workspace, experiment_of(workspace, path["experiment"]), asked.query)
    return workspace.comparisons.verdict(query).as_dict()


def online_tests(workspace: Workspace, path: Path, _asked: NoParameters) -> dict[str, Any]:
    return ab_tests_facts(workspace, experiment_of(workspace, path["experiment"]))


def online_test(workspace: Workspace, path: Path, asked: TestParameters) -> dict[str, Any]:
    stored = experiment_of(workspace, path["experiment"])
    test = ab_test_of(workspace, stored.id, path["test"])
    return ab_test_facts(workspace, test, asked.correction)


def report(workspace: Workspace, path: Path, asked: ReportParameters) -> FileAnswer:
    stored, reports = experiment_of(workspace, path["experiment"]), Reports(workspace)
    is_about_runs = bool(workspace.runs.all(stored.id) or asked.query.runs or asked.metric)
    query = query_of(workspace, stored, asked.query) if is_about_runs else None
    test = ab_test_of(workspace, stored.id, asked.test).id if asked.test else None
    question = reports.question(stored.id, query, by=asked.by, test=test, online_metric=asked.online_metric)
    document = reports.content(question, title=asked.title, author=workspace.person.name)
    form = FORMS[asked.format]
    return FileAnswer(f"{file_name(document.title)}.{form.name}", form.media_type, form.write(document))


OF = "/experiments/{experiment}"
QUESTIONS = (
    Question(
        "/server", "The version of recdash, and who asks", NoParameters, server, "Version, name and role."
    ),
    Question(
        "/experiments",
        "All experiments",
        NoParameters,
        experiments,
        "As `recdash list --format json` prints it.",
    ),
    Question(OF, "One experiment", NoParameters, experiment, "Its runs and the names of its tests."),
    Question(f"{OF}/runs", "The runs of an experiment", NoParameters, runs, "A list of runs."),
    Question(
        f"{OF}/scores",
        "Scores of runs",
        ScoreParameters,
        scores,
        "A row per run, metric and cutoff: value, std_error, n_users.",
    ),
    Question(
        f"{OF}/comparison",
        "Runs compared in pairs",
        QueryParameters,
        comparison,
        "As `recdash compare --format json` prints it.",
    ),
    Question(f"{OF}/verdict", "Which run to ship", QueryParameters, verdict, "The recommendation."),
    Question(
        f"{OF}/online_tests", "The A/B tests of an experiment", NoParameters, online_tests, "A list of tests."
    ),
    Question(
        f"{OF}/online_tests/{{test}}",
        "Results of an A/B test",
        TestParameters,
        online_test,
        "As `recdash online --format json` prints it.",
    ),
    Question(
        f"{OF}/report",
        "A report",
        ReportParameters,
        report,
        "The file that `recdash report` writes; with format=json its document.",
    ),
)
