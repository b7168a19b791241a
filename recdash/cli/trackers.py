"""``recdash import`` and ``recdash export``: runs of experiment trackers, and results for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import (
    NamedFile,
    Stem,
    addition_options,
    check_names,
    form_option,
    open_workspace,
    tell,
)
from recdash.cli.terminal import say, say_json
from recdash.formatting.wording import many

if TYPE_CHECKING:
    from recdash.trackers import Imported

existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
uri_option = click.option(
    "--tracking-uri",
    envvar="MLFLOW_TRACKING_URI",
    required=True,
    help="Address of the tracking server; or set MLFLOW_TRACKING_URI.",
)
artifact_option = click.option(
    "--artifact",
    "artifacts",
    multiple=True,
    metavar="PATH",
    help="A table in each run, or a folder with tables; repeatable (default: CSV, Parquet and the like).",
)
file_option = click.option(
    "--file",
    "files",
    multiple=True,
    type=existing_file,
    help="A file to store with the runs, such as the test set; repeatable.",
)


@click.group("import")
def import_runs() -> None:
    """Store runs of an experiment tracker, with their parameters, tags and notes."""


@click.group("export")
def export_runs() -> None:
    """Write results to the runs of an experiment tracker."""


@import_runs.command("mlflow")
@click.argument("experiment")
@uri_option
@artifact_option
@file_option
@click.option("--filter", "only", default="", help="Which runs, as MLflow writes it: tags.stage = 'final'.")
@click.option("--into", default="", help="Experiment in which they are stored (default: of the same name).")
@addition_options
@form_option
def import_mlflow(experiment: str, tracking_uri: str, *, form: str, **options: Any) -> None:
    """Store the finished runs of the MLflow EXPERIMENT: the lists among their artifacts, with parameters,
    tags and notes.

    Name and password, or a token, are read from MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or
    MLFLOW_TRACKING_TOKEN. The same command again stores what is new, and changes nothing else.
    """
    from recdash.trackers import import_mlflow as imported_from

    _say_imported(imported_from(open_workspace(), experiment, tracking_uri, **_stored_how(options)), form)


@import_runs.command("wandb")
@click.argument("experiment")
@click.argument("folders", nargs=-1, required=True, type=NamedFile(), metavar="FOLDER...")
@artifact_option
@file_option
@click.option("--runs", "table", type=existing_file, help="Exported table of runs: names, tags and notes.")
@addition_options
@form_option
def import_wandb(experiment: str, folders: Sequence[tuple[str, Path]], *, form: str, **options: Any) -> None:
    """Store runs of Weights & Biases in EXPERIMENT: the tables in each FOLDER, with the parameters in its
    config.yaml.

    FOLDER is the folder of a run, such as wandb/run-20260301_120000-3f1c0a2b; NAME=FOLDER names the run. The
    same command again stores what is new, and changes nothing else.
    """
    from recdash.trackers import import_wandb as imported_from
    from recdash.trackers.wandb import name_of_folder

    named = [(name_of_folder(path) if isinstance(name, Stem) else name, path) for name, path in folders]
    check_names("FOLDER", named)
    _say_imported(imported_from(open_workspace(), experiment, dict(named), **_stored_how(options)), form)


@export_runs.command("mlflow")
@click.argument("experiment")
@uri_option
@click.option(
    "--metrics", default="", help="Comma-separated, with cutoffs (default: those of the leaderboard)."
)
@click.option("--no-report", is_flag=True, help="Write no report.")
@form_option
def export_mlflow(experiment: str, tracking_uri: str, *, metrics: str, no_report: bool, form: str) -> None:
    """Write metrics, the recommendation and a report to the MLflow runs from which EXPERIMENT was imported.

    The names of metrics and tags begin with recdash; nothing else of the runs is changed. Name and password
    are read as by recdash import mlflow.
    """
    from recdash.trackers import export_mlflow as exported_to

    names = [name.strip() for name in metrics.split(",") if name.strip()]
    done = exported_to(open_workspace(), experiment, tracking_uri, metrics=names, report=not no_report)
    if form == "json":
        say_json(done.as_dict())
        return
    if done.verdict:
        say(done.verdict)
    for run in done.runs:
        written = [
            many(len(run.metrics), "metric"),
            many(len(run.tags), "tag"),
            *(["report"] if run.has_report else []),
        ]
        say(f"{run.name}: {', '.join(written)} written{run.why and f'; {run.why}'}")


def _stored_how(options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a command as those of an import."""
    names = {"relevance_threshold": "threshold", "accept_unknown_ids": "accept_ids"}
    return {names.get(name, name): value for name, value in options.items()}


def _say_imported(imported: Imported, form: str) -> None:
    tell(imported.notices)
    if form == "json":
        say_json(imported.as_dict())
        return
    for run in imported.runs:
        say(f"{run.name}: {run.state}{run.why and f' ({run.why})'}")
