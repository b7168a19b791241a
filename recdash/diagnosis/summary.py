"""Summarises the answers of all checks in a sentence or two; the strongest cause comes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recdash.diagnosis.answer import CheckAnswer
from recdash.diagnosis.checks import CHECKS

MOST_ALSO = 3
TITLES = {check.name: check.title.lower() for check in CHECKS}


def likely(answers: Sequence[CheckAnswer]) -> list[CheckAnswer]:
    """Returns the answers that support a cause, the strongest first; equally strong ones in the order of the
    checks.
    """
    supported = [answer for answer in answers if answer.verdict == "supports"]
    return sorted(supported, key=lambda answer: -answer.strength)


def summary(
    answers: Sequence[CheckAnswer],
    *,
    agreed: bool = False,
    former: bool = False,
    mismatch: bool = False,
    former_verdicts: bool = False,
    former_answers: bool = False,
    signed_answers: bool = False,
) -> str:
    """Returns all answers as text: ``Most likely: …; also …. Ruled out: …. Inconclusive: ….``

    ``agreed`` is True if offline and online have the same result: then nothing has a cause, and what the
    checks find are reasons for doubt. ``former`` writes the causes as reports of wording 7 and older do,
    ``mismatch`` names a label mismatch as those up to 11 do, ``former_verdicts`` takes the verdicts of those
    up to 10, ``former_answers`` the answers of those up to 14, and ``signed_answers`` those of 15.
    """
    if signed_answers:
        answers = [answer.signed_answer or answer for answer in answers]
    if former_answers:
        answers = [answer.former_answer or answer for answer in answers]
    if former_verdicts:
        answers = [replace(answer, verdict=answer.former_verdict or answer.verdict) for answer in answers]
    if former or mismatch:
        answers = [replace(answer, cause=_former_cause(answer, mismatch=not former)) for answer in answers]
    causes = [answer.cause for answer in likely(answers)]
    also, more = causes[1 : 1 + MOST_ALSO], len(causes) - 1 - MOST_ALSO
    sentences = [f"None of the twelve checks finds a {'reason for doubt' if agreed else 'cause'}."]
    if causes:
        others = f"; also {'; '.join(also)}" if also else ""
        begin = "Reason for doubt" if agreed else "Most likely"
        sentences = [f"{begin}: {causes[0]}{others}{f'; and {more} more' if more > 0 else ''}."]
    for verdict, words in (("rules out", "Ruled out"), ("can't tell", "Inconclusive")):
        names = [TITLES[answer.check] for answer in answers if answer.verdict == verdict]
        sentences += [f"{words}: {', '.join(names)}."] if names else []
    return " ".join(sentences)


def _former_cause(answer: CheckAnswer, *, mismatch: bool) -> str:
    return (answer.mismatch_cause or answer.cause) if mismatch else answer.former_cause
