"""Errors that say what to do about them.

Pages and the command line catch :class:`RecdashError`; any other error is a bug.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong or noteworthy: where it is (``place``), what was ``found`` there, and the ``fix``.

    ``code`` is a stable name for programs (``"missing-column"``), ``count`` how often the problem occurs,
    ``example`` one occurrence as far as the file alone shows it.
    Problems reject an upload; as notices they accompany an accepted one.
    """

    code: str
    place: str
    found: str
    fix: str
    count: int = 1
    example: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.place}: {self.found.rstrip('.')}. {self.fix}".rstrip()


def other_notices(notices: Iterable[Problem], known: Iterable[Problem]) -> list[Problem]:
    """Returns the notices that state other facts than the known notices, whatever their words."""
    stated = {(notice.code, notice.place) for notice in known}
    return [notice for notice in notices if (notice.code, notice.place) not in stated]


class RecdashError(Exception):
    """Base class of every error that recdash raises on purpose."""


class InputError(RecdashError):
    """Unusable input; it has *all* problems found, not only the first."""

    def __init__(self, problems: Problem | Iterable[Problem], source: str | None = None) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.source = source
        lines = "\n".join(str(problem) for problem in self.problems)
        super().__init__(f"{source}: {lines}" if source else lines)

    def placed(self) -> list[Problem]:
        """Returns the problems, with the name of the file before each place if it is known."""
        if self.source is None:
            return list(self.problems)
        return [replace(problem, place=f"{self.source}, {problem.place}") for problem in self.problems]


class UploadError(InputError):
    """A file or table that was rejected; none of it was stored."""


def all_or_problems(steps: Iterable[Callable[[], Result]]) -> list[Result]:
    """Returns the results of the steps in order.

    Raises InputError with the problems of all steps that fail.
    """
    results, refused = [], []
    for step in steps:
        try:
            results.append(step())
        except InputError as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    if refused:
        raise InputError([problem for error in refused for problem in error.placed()])
    return results


class UnknownName(InputError):
    """A metric, parameter, preset, run or other name that does not exist.

    Its message has the nearest and all known names.
    """

    def __init__(self, kind: str, name: object, known: Sequence[str]) -> None:
        self.name, self.known = str(name), tuple(known)
        shown = f"'{name}'" if isinstance(name, str) else f"{name!r}, which is not a text"
        lowered = {known_name.lower(): known_name for known_name in known}
        near = difflib.get_close_matches(self.name.lower(), lowered, n=1, cutoff=0.5)
        hint = f"Did you mean '{lowered[near[0]]}'? " if near else ""
        super().__init__(
            Problem(
                code=f"unknown-{kind.replace(' ', '-')}",
                place=kind,
                found=f"No {kind} is called {shown}",
                fix=f"{hint}Known: {', '.join(known) if known else 'none'}.",
            )
        )

    def __str__(self) -> str:
        (problem,) = self.problems
        return f"{problem.found}. {problem.fix}"


def check_known(kind: str, names: Iterable[object], known: Collection[str]) -> None:
    """Raises UnknownName for the first of the names that is not among those known; ``kind`` is what they
    name.
    """
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, list(known))


class StoreError(RecdashError):
    """The store could not do what was asked, and changed nothing."""


class NotFound(StoreError):
    """The experiment, run, online test or artifact does not exist."""


class MissingFile(NotFound):
    """A stored file is not in the store's folder."""


def no_experiment(name: str, known: Iterable[str]) -> NotFound:
    """Returns the error for a name that no experiment has, with the names of all experiments."""
    names = ", ".join(f"'{known_name}'" for known_name in known) or "none"
    return NotFound(f"No experiment is called '{name}'. Experiments: {names}.")


class NameTaken(StoreError):
    """The name already belongs to another experiment or run."""


class StoreBusy(StoreError):
    """Another process held the store's lock until the timeout."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of recdash."""


class EvidenceDamaged(StoreError):
    """A stored file or row differs from what was written; no number is computed from it.

    ``problem`` names it and says how to repair it.
    """

    def __init__(self, problem: Problem | str) -> None:
        damage = problem if isinstance(problem, Problem) else Problem("damaged", "store", problem, "")
        self.problem = damage
        super().__init__(str(problem))


class Forbidden(RecdashError):
    """The user's role does not allow the action."""
