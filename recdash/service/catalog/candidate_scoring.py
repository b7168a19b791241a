"""Scores the candidates of an intake one after the other, and says which of them were refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from recdash.engines.allocator import release_freed_memory
from recdash.errors import InputError, Problem
from recdash.evaluation.candidates import PreparedRun
from recdash.service.catalog.experiments import Setup
from recdash.service.catalog.intake_plan import RefusedFile
from recdash.service.catalog.runs import Runs
from recdash.service.validation import Progress

Scored = TypeVar("Scored")

COLUMNS_GUESSED = "columns-guessed"
"""The code of the notice about the columns of a table, which the plan shows with the file."""


@dataclass(frozen=True)
class Candidate:
    """The files of one candidate: ``arguments`` are those of ``Runs.prepare``, ``facts`` its tags, note and
    params. ``n_bytes`` is the size of the files, None for those that another process cannot open.
    """

    name: str
    arguments: Mapping[str, Any]
    facts: Mapping[str, Any]
    n_bytes: int | None


def score_each(
    candidates: Sequence[Candidate], score: Callable[[Candidate, Progress], Sequence[Scored]], tell: Progress
) -> tuple[list[Scored], list[RefusedFile]]:
    """Returns what ``score(candidate, progress)`` returned for the candidates, and those that it refused."""
    scored: list[Scored] = []
    refused = []
    for number, candidate in enumerate(candidates):

        def share(fraction: float, text: str, number: int = number, name: str = candidate.name) -> None:
            tell((number + fraction) / len(candidates), f"{name}: {text}")

        try:
            scored += score(candidate, share)
        except InputError as error:
            refused.append(RefusedFile(candidate.name, tuple(error.placed())))
        release_freed_memory()
    return scored, refused


def prepare(runs: Runs, where: str | Setup, candidate: Candidate, tell: Progress) -> list[PreparedRun]:
    """Returns the scored runs of a candidate, without the notices about its columns, which the person has
    seen and accepted in the plan.
    """
    prepared = runs.prepare(where, name=candidate.name, progress=tell, **candidate.arguments)
    return [replace(run, scored=replace(run.scored, notices=_but_columns(run))) for run in prepared]


def _but_columns(prepared: PreparedRun) -> tuple[Problem, ...]:
    return tuple(notice for notice in prepared.scored.notices if notice.code != COLUMNS_GUESSED)
