"""All answers in one sentence or two: the likely causes first, strongest first."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.diagnosis.answer import CheckAnswer
from recdash.diagnosis.checks import CHECKS

MOST_ALSO = 3
TITLES = {check.name: check.title.lower() for check in CHECKS}


def likely(answers: Sequence[CheckAnswer]) -> list[CheckAnswer]:
    """The answers that support their cause, strongest first; equal ones in the order of the checks."""
    return sorted((one for one in answers if one.verdict == "supports"), key=lambda one: -one.strength)


def summary(answers: Sequence[CheckAnswer]) -> str:
    """``Most likely: …; also …. Ruled out: …. Can't tell: ….``"""
    causes = [one.cause for one in likely(answers)]
    told = [_causes(causes)]
    for verdict, words in (("rules out", "Ruled out"), ("can't tell", "Can't tell")):
        names = [TITLES[one.check] for one in answers if one.verdict == verdict]
        told += [f"{words}: {', '.join(names)}."] if names else []
    return " ".join(told)


def _causes(causes: Sequence[str]) -> str:
    if not causes:
        return "None of the twelve checks finds a cause."
    also = "; ".join(causes[1 : 1 + MOST_ALSO])
    more = len(causes) - 1 - MOST_ALSO
    rest = f"; also {also}" if also else ""
    return f"Most likely: {causes[0]}{rest}{f'; and {more} more' if more > 0 else ''}."
