"""What the page Add data keeps between reruns: the files, the plan, the running job, and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from recdash.domain.kinds import TableKind
from recdash.errors import Problem
from recdash.service.catalog.intake import IntakePlan, IntakeResult, PlannedFile
from recdash.service.catalog.intake_job import IntakeJob
from recdash.ui.components import file_zone
from recdash.ui.upload import words


@dataclass
class UploadState:
    """The state of the page, which is mutable on purpose.

    Streamlit may end a script at any ``st.*`` call or access to its session state. Therefore choices and
    results are stored here by plain assignments, so that the next run continues from them.

    It keeps the callbacks of widgets, and what they refer to, as long as the session, even those of widgets
    that are gone. Therefore callbacks refer to this state and never to a plan, which holds the test set.
    """

    turn: int = 0
    plan: IntakePlan | None = None
    opened: str | None = None
    """The key of the file whose details are shown."""
    target: str | None = None
    """The id of the experiment chosen for the files; "" for a new one, None if none was chosen."""
    job: IntakeJob | None = None
    result: IntakeResult | None = None
    problems: tuple[Problem, ...] = ()
    form_problems: dict[str, Sequence[Problem]] = field(default_factory=dict)
    """Problems of texts typed into a form, such as parameters, by widget key."""
    n_lines: dict[str, int | None] = field(default_factory=dict)
    """The number of lines of each file of plain text that is too long to be looked at as a whole."""

    def key(self, name: str) -> str:
        """Returns the key of a widget, which changes after storing, so that the new one is empty."""
        return f"upload_{name}_{self.turn}"

    @property
    def zone(self) -> str:
        """Returns the key of the place where files are dropped."""
        return self.key("files")

    def next_turn(self) -> None:
        file_zone.clear(self.zone)
        self.turn += 1
        self.plan, self.opened, self.target, self.job = None, None, None, None
        self.form_problems.clear()
        self.n_lines.clear()

    def about(self, file: PlannedFile) -> str:
        """Returns the line below a file's name; the lines of a file are counted once."""
        if self.plan is not None and words.needs_lines(file) and file.key not in self.n_lines:
            sources = {given.key: given.source for given in self.plan.inputs.files}
            self.n_lines[file.key] = words.count_lines(sources.get(file.key))
        return words.about(file, self.n_lines.get(file.key))

    # changes of the plan, for the callbacks of widgets ──────────────────────────────────────────

    def change_plan(self, changed: Callable[[IntakePlan], IntakePlan]) -> None:
        if self.plan is not None:
            self.problems = ()
            self.plan = changed(self.plan)

    def choose(self, key: str, **choice: Any) -> None:
        """Changes the choice for one file: see ``FileChoice``."""
        self.change_plan(lambda plan: plan.with_choice(key, **choice))

    def choose_kind(self, key: str, kind: TableKind) -> None:
        """Uses a file as a table of this kind, and shows its details if its columns must be chosen."""
        self.choose(key, kind=kind, left_out=False, mapping=None)
        files = self.plan.files if self.plan is not None else ()
        if any(file.key == key and file.problems for file in files):
            self.opened = key

    def change_settings(self, **settings: Any) -> None:
        """Changes settings of the experiment or the A/B test: see ``IntakeSettings``."""
        self.change_plan(lambda plan: plan.with_settings(**settings))

    def open(self, key: str) -> None:
        """Shows the details of a file, or hides them if they are shown."""
        self.opened = None if self.opened == key else key

    # storing ────────────────────────────────────────────────────────────────────────────────────

    def finish(self) -> None:
        """Takes over the outcome of the finished job; does nothing without a job.

        Raises its unexpected errors.
        """
        job, self.job = self.job, None
        if job is None:
            return
        result, self.problems = job.outcome()
        if result is not None:
            self.result = result
            self.next_turn()
