"""Files whose kinds are recognised, and what was said about them by name: by options, or by a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recdash.domain.records import Experiment
from recdash.errors import InputError, Problem
from recdash.service.catalog.intake import LISTS, IntakeFile, IntakePlan

if TYPE_CHECKING:
    from recdash.service import Workspace

RULES = ("depth", "users", "duplicates")
"""Rules of a set-up by which the same files make the same set-up."""


@dataclass(frozen=True)
class FilesToAdd:
    """Files to store in the experiment of a name, which is created if it does not exist.

    ``choices`` is {key of a file: fields of its ``FileChoice``}; ``settings`` are fields of
    ``IntakeSettings``. ``tags`` and ``accept_ids`` are for all candidates.
    """

    experiment: str
    files: Sequence[IntakeFile]
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    accept_ids: bool = False


def plan_of(workspace: Workspace, asked: FilesToAdd) -> IntakePlan:
    """Returns how the files would be stored. A test set makes a new experiment, or adds to one without.

    Without links in the settings, each variant is linked to the run that it is named like. Raises InputError
    for other rules than those of the stored experiment.
    """
    plan = workspace.intake.plan(asked.files).with_settings(name=asked.experiment, **asked.settings)
    if asked.choices:
        plan = plan.with_choices(asked.choices)
    stored = {experiment.name: experiment for experiment in workspace.experiments.all()}
    known = stored.get(asked.experiment)
    if known is not None and not (plan.of_kind("truth") and known.truth):
        check_rules(known, asked.settings)
        plan = plan.with_experiment(known.id)
    if asked.tags or asked.accept_ids:
        said = {"tags": tuple(asked.tags), "accept_ids": asked.accept_ids}
        plan = plan.with_choices({file.key: said for file in plan.of_kind(*LISTS)})
    return workspace.intake.with_links(plan)


def check_rules(home: Experiment, settings: Mapping[str, Any]) -> None:
    """Raises InputError for rules other than those with which the test set of an experiment was stored."""
    if home.truth is None:
        return
    fix = "Leave it out, or create another experiment: its rules are fixed when its test set is stored."
    stored = {"threshold": home.settings.get("relevance_threshold")} | {
        name: home.settings[name] for name in RULES if name in home.settings
    }
    problems = [
        Problem("rule-fixed", name, f"{settings[name]}; experiment '{home.name}' has {value or 'none'}", fix)
        for name, value in stored.items()
        if settings.get(name) not in (None, value)
    ]
    if problems:
        raise InputError(problems)
