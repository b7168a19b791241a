"""Writes scores, the recommendation and a report to the runs of MLflow from which an experiment came."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recdash.domain.results import Scope
from recdash.errors import InputError, NotFound, Problem
from recdash.formatting import numbers
from recdash.formatting.wording import shown
from recdash.report.formats.registry import form_named
from recdash.report.reports import Reports
from recdash.service.plain_answers import score_rows
from recdash.trackers.mlflow import MLFLOW, OWN_TAGS, Mlflow

if TYPE_CHECKING:
    from recdash.comparison import ComparisonQuery
    from recdash.comparison.result import Compared
    from recdash.domain.records import Experiment, Run
    from recdash.service import Workspace

REPORT = "recdash/report.html"
NO_PROXY = "its artifacts are not written through the server, so it got no report"


@dataclass(frozen=True)
class ExportedRun:
    """What was written to a run of MLflow; ``why`` says what was not, and why not.

    ``metrics`` and ``tags`` are those that were new or changed.
    """

    name: str
    tracked: str
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    has_report: bool = False
    why: str = ""


@dataclass(frozen=True)
class Exported:
    """What was written to MLflow; ``verdict`` is the recommendation, "" for a single run."""

    experiment: str
    verdict: str
    runs: tuple[ExportedRun, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "verdict": self.verdict,
            "runs": [
                {
                    "name": run.name,
                    "tracked": run.tracked,
                    "metrics": dict(run.metrics),
                    "tags": dict(run.tags),
                    "report": run.has_report,
                    "why": run.why,
                }
                for run in self.runs
            ],
        }


def export_mlflow(
    workspace: Workspace,
    experiment: str,
    tracking_uri: str,
    *,
    metrics: Sequence[str] = (),
    report: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Exported:
    """Writes metrics, the recommendation and a report to the MLflow runs from which the runs of an experiment
    were imported. What is there already is not written again; nothing else of these runs is changed.

    ``metrics`` have their cutoffs, such as ``ndcg@10``; without them, those of the leaderboard are written.
    Raises InputError for an experiment without imported runs.
    """
    workspace.person.must_be("editor")
    server = Mlflow(tracking_uri, os.environ if environment is None else environment)
    stored = workspace.experiments.named(experiment)
    runs = [run for run in workspace.runs.all(stored.id) if run.source.get("tracker") == MLFLOW]
    if not runs:
        fix = "Import them: recdash import mlflow."
        raise InputError(Problem("no-tracked-run", f"experiment '{experiment}'", "no run is of MLflow", fix))
    query, compared = _compared(workspace, stored)
    scores = _scores(workspace, stored, runs, metrics, query.k)
    verdict = compared.verdict.headline if compared else ""
    content = _report(workspace, stored, query) if report else b""
    exported = []
    for run in runs:
        tags = _tags(run, stored, compared)
        exported.append(_written(server, run, scores[run.id], tags, content))
    return Exported(stored.name, verdict, tuple(exported))


def _written(
    server: Mlflow, run: Run, scores: Mapping[str, float], tags: Mapping[str, str], report: bytes
) -> ExportedRun:
    run_id = str(run.source["run"])
    try:
        there = server.run(run_id)
    except NotFound:
        return ExportedRun(run.name, run_id, {}, {}, why="MLflow does not have it any more")
    new_scores = {name: value for name, value in scores.items() if there.metrics.get(name) != value}
    new_tags = {name: text for name, text in tags.items() if there.tags.get(name) != text}
    if new_scores or new_tags:
        server.log(run_id, new_scores, new_tags, int(run.created.timestamp() * 1000))
    has_report = bool(report) and there.takes_files
    if has_report:
        server.upload(there, REPORT, report)
    why = NO_PROXY if report and not has_report else ""
    return ExportedRun(run.name, run_id, new_scores, new_tags, has_report, why)


def _compared(workspace: Workspace, home: Experiment) -> tuple[ComparisonQuery, Compared | None]:
    """Returns the default question of an experiment, and its answer; None if there is only one run."""
    query = workspace.queries.of(home.id)
    return query, workspace.comparisons.compare(query) if query.runs else None


def _scores(
    workspace: Workspace, home: Experiment, runs: Sequence[Run], metrics: Sequence[str], k: int | None
) -> dict[str, dict[str, float]]:
    """Returns {run id: {name in MLflow: value}}; without ``metrics``, those of the leaderboard at k."""
    ids = [run.id for run in runs]
    rows = score_rows(workspace, home, ids, metrics, Scope())
    scores: dict[str, dict[str, float]] = {run_id: {} for run_id in ids}
    for row in rows:
        if row["value"] is not None and (metrics or row["k"] in (None, k)):
            scores[row["run_id"]][metric_name(row["metric"], row["k"])] = float(row["value"])
    return scores


def metric_name(metric: str, k: int | None) -> str:
    """Returns the name of a metric in MLflow, which allows few signs: ``recdash.ndcg_at_10``."""
    plain = re.sub(r"[^\w.]+", "-", metric).strip("-")
    return f"{OWN_TAGS}{plain}{'' if k is None else f'_at_{k}'}"


def _tags(run: Run, home: Experiment, compared: Compared | None) -> dict[str, str]:
    """Returns what is known about a run as tags: where it is stored, the hash of its lists, how it compares
    with the baseline, and the recommendation.
    """
    tags = {"experiment": home.name, "run": run.name, "upload_sha256": str(run.upload)}
    if compared is not None:
        comparison = compared.comparison
        names = comparison.names
        tags |= {"baseline": names[comparison.query.baseline], "verdict": compared.verdict.headline}
        for pair in comparison.against:
            if pair.candidate == run.id:
                tags["compared"] = (
                    f"{comparison.query.where} {numbers.change(pair.paired.mean)} vs "
                    f"{names[pair.baseline]}, {shown(pair.judged.word)}, n = {numbers.count(pair.paired.n)}"
                )
    return {f"{OWN_TAGS}{name}": text for name, text in tags.items()}


def _report(workspace: Workspace, home: Experiment, query: ComparisonQuery) -> bytes:
    reports = Reports(workspace)
    document = reports.content(reports.question(home.id, query), author=workspace.person.name)
    return form_named("html").write(document)
