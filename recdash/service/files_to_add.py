"""Files whose kinds are recognised, and what was said about them by name: by options, or by a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recdash.service.catalog.intake import LISTS, IntakeFile, IntakePlan

if TYPE_CHECKING:
    from recdash.service import Workspace


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

    Without links in the settings, each variant is linked to the run that it is named like.
    """
    plan = workspace.intake.plan(asked.files).with_settings(name=asked.experiment, **asked.settings)
    if asked.choices:
        plan = plan.with_choices(asked.choices)
    stored = {experiment.name: experiment for experiment in workspace.experiments.all()}
    known = stored.get(asked.experiment)
    if known is not None and not (plan.of_kind("truth") and known.truth):
        plan = plan.with_experiment(known.id)
    if asked.tags or asked.accept_ids:
        said = {"tags": tuple(asked.tags), "accept_ids": asked.accept_ids}
        plan = plan.with_choices({file.key: said for file in plan.of_kind(*LISTS)})
    return workspace.intake.with_links(plan)
