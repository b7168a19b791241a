"""``recdash rename``, ``archive``, ``unarchive``, ``delete``, ``tag`` and ``note``: manage what is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from recdash.cli.options import experiment_option, open_experiment, run_ids, run_named
from recdash.cli.terminal import say
from recdash.errors import InputError, Problem, UnknownName

if TYPE_CHECKING:
    from recdash.domain.records import Experiment
    from recdash.service import Workspace

run_option = click.option("--run", help="Only this run of the experiment.")
test_option = click.option("--test", help="Only this A/B or interleaving test of the experiment.")
report_option = click.option("--report", help="Only this report of the experiment: its title or id.")


@dataclass(frozen=True)
class Target:
    """The object that a command changes: an experiment, or one of its runs, tests or reports."""

    service: Any
    key: str
    kind: str
    name: str

    def __str__(self) -> str:
        """Returns kind and name, such as ``the run 'als'``."""
        return f"the {self.kind} '{self.name}'"


def _target(
    workspace: Workspace, experiment: Experiment, run: str | None, test: str | None, report: str | None = None
) -> Target:
    """Returns the object that the options name, which may be archived. Raises InputError if they name
    several, UnknownName if it does not exist.
    """
    given = {"--run": run, "--test": test, "--report": report}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        options = " and ".join(named)
        raise InputError(Problem("two-things", options, "two things at once", "Name one of them."))
    if run is not None:
        key = run_named(run_ids(workspace, experiment.id, archived=True), run)
        return Target(workspace.runs, key, "run", run)
    if test is not None:
        stored = [
            *workspace.online_tests.all(experiment.id, archived=True),
            *workspace.interleaving.all(experiment.id, archived=True),
        ]
        known = {stored_test.name: stored_test for stored_test in stored}
        if test not in known:
            raise UnknownName("test", test, list(known))
        kind = "interleaving test" if known[test].is_interleaved else "A/B test"
        return Target(workspace.online_tests, known[test].id, kind, test)
    if report is not None:
        return _report(workspace, experiment, report)
    return Target(workspace.experiments, experiment.id, "experiment", experiment.name)


def _report(workspace: Workspace, experiment: Experiment, wanted: str) -> Target:
    """Returns the report with this id or title; the newest if several have this title. Raises UnknownName if
    there is none.
    """
    from recdash.report.reports import Reports

    reports = Reports(workspace)
    known = reports.all(experiment.id, archived=True)
    for report in known:
        if wanted in {report.id, report.title}:
            return Target(reports, report.id, "report", report.title)
    raise UnknownName("report", wanted, [report.title for report in known])


@click.command()
@experiment_option
@run_option
@click.argument("name")
def rename(experiment: str, run: str | None, name: str) -> None:
    """Give an experiment, or a run of it, another NAME."""
    target = _target(*open_experiment(experiment), run, None)
    renamed = target.service.rename(target.key, name)
    say(f"Renamed {target} to '{renamed.name}'.")


def _of_anything(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the command with options that name an experiment or a run, a test or a report of it."""
    for option in (report_option, test_option, run_option, experiment_option):
        command = option(command)
    return command


@click.command()
@_of_anything
def archive(experiment: str, run: str | None, test: str | None, report: str | None) -> None:
    """Hide an experiment, or a run, a test or a report of it. Nothing is lost: see unarchive."""
    target = _target(*open_experiment(experiment), run, test, report)
    target.service.archive(target.key)
    say(f"Archived {target}.")


@click.command()
@_of_anything
def unarchive(experiment: str, run: str | None, test: str | None, report: str | None) -> None:
    """Show again what was archived."""
    target = _target(*open_experiment(experiment), run, test, report)
    target.service.unarchive(target.key)
    say(f"Unarchived {target}.")


@click.command()
@_of_anything
@click.option("--yes", is_flag=True, help="Delete without asking for the name.")
def delete(experiment: str, run: str | None, test: str | None, report: str | None, *, yes: bool) -> None:
    """Delete an experiment, or a run, an A/B or interleaving test or a report of it, for good.

    Asks for the name first. To hide something instead, archive it.
    """
    target = _target(*open_experiment(experiment), run, test, report)
    asked = f"Type '{target.name}' to delete this {target.kind} for good"
    typed = target.name if yes else click.prompt(asked, err=True)
    target.service.delete(target.key, typed)
    say(f"Deleted {target}.")


@click.command()
@experiment_option
@click.option("--run", required=True, help="Name of the run.")
@click.option("--remove", is_flag=True, help="Remove these tags instead of adding them.")
@click.argument("tags", nargs=-1, required=True)
def tag(experiment: str, run: str, tags: Sequence[str], *, remove: bool) -> None:
    """Add TAGS to a run, or remove them."""
    workspace, stored = open_experiment(experiment)
    target = _target(workspace, stored, run, None)
    runs = workspace.runs.all(stored.id, archived=True)
    before = next(known.tags for known in runs if known.id == target.key)
    after = [known for known in before if known not in tags] if remove else [*before, *tags]
    tagged = workspace.runs.set_tags(target.key, after)
    say(f"Tags of {target}: {', '.join(tagged.tags) or 'none'}.")


@click.command()
@experiment_option
@run_option
@click.argument("text")
def note(experiment: str, run: str | None, text: str) -> None:
    """Write the note of an experiment, or of a run of it; an empty TEXT removes it."""
    target = _target(*open_experiment(experiment), run, None)
    target.service.set_note(target.key, text)
    say(f"Note of {target}: {text or 'none'}")
