"""The answer of a check, and functions that write its numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import wraps
from typing import Any, Literal, TypeVar

from recdash.charts.picture import Picture
from recdash.diagnosis.evidence import Evidence, Gain, Missing, OnlineChange
from recdash.formatting import numbers

Finding = Literal["supports", "rules out", "can't tell"]
Strength = Literal[0, 1, 2, 3]
Part = TypeVar("Part")
MOST_TIMES = 10
FORMER = ("former_cause", "mismatch_cause", "former_verdict", "former_answer", "signed_answer")
"""What only older reports read."""
NO_GAIN = "There is no significant offline gain to explain."


@dataclass(frozen=True)
class CheckAnswer:
    """One check's answer: whether the evidence supports a possible cause of the contradiction.

    ``statistic`` is one line of numbers, ``sentence`` explains it in plain words. ``cause`` names a supported
    cause as part of a sentence ("its gain sits in …"). ``strength`` orders supported causes: 3: the numbers
    of one side are invalid, or are not about this run; 2: the contradiction disappears if the cause is
    accounted for; 1: the evidence points to the cause; 0: not supported. ``needs`` names the data that an
    inconclusive check lacks. ``former_cause`` is the cause in the words of reports
    of wording 7 and older, ``mismatch_cause`` in those of 8 to 11 if they named a label mismatch, and
    ``former_verdict`` the verdict of those up to 10 if it was another. ``former_answer`` is the answer of
    those up to 14 if it was another, and ``signed_answer`` that of 15. ``threshold`` is the relevance
    threshold with which offline counts as online, None if that is not the advice.
    """

    check: str
    verdict: Finding
    statistic: str
    sentence: str
    needs: str = ""
    picture: Picture | None = None
    cause: str = ""
    strength: Strength = 0
    former_cause: str = ""
    mismatch_cause: str = ""
    former_verdict: Finding | None = None
    former_answer: CheckAnswer | None = None
    signed_answer: CheckAnswer | None = None
    threshold: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values."""
        picture = self.picture.as_dict() if self.picture else None
        bare = replace(self, picture=None, former_answer=None, signed_answer=None)
        values = {**asdict(bare), "picture": picture}
        return {name: value for name, value in values.items() if name not in FORMER}

    def unless_same(self, answer: CheckAnswer) -> CheckAnswer | None:
        """Returns the answer; None if it would be told as this one is."""
        told = ((each.verdict, each.strength, each.cause) for each in (self, answer))
        return None if len(set(told)) == 1 else answer


@dataclass(frozen=True)
class Result:
    """The statistic and the picture of a check, from which its answer is made."""

    check: str
    statistic: str
    picture: Picture | None = None

    def supports(
        self, strength: Strength, cause: str, sentence: str, *, former_cause: str = ""
    ) -> CheckAnswer:
        return CheckAnswer(
            self.check,
            "supports",
            self.statistic,
            sentence,
            picture=self.picture,
            cause=cause,
            strength=strength,
            former_cause=former_cause or cause,
        )

    def rules_out(self, sentence: str) -> CheckAnswer:
        return CheckAnswer(self.check, "rules out", self.statistic, sentence, picture=self.picture)

    def too_little(self, sentence: str, needs: str) -> CheckAnswer:
        """Returns an inconclusive answer; ``needs`` names the data that would decide it."""
        return CheckAnswer(self.check, "can't tell", self.statistic, sentence, needs, self.picture)


# ── missing evidence ─────────────────────────────────────────────────────────────────────────


class MissingEvidence(Exception):
    """Raised by a check that lacks its evidence; the exception's text names what is missing."""


def need(part: Part | Missing) -> Part:
    """Returns ``part``. Raises MissingEvidence if it is a ``Missing``."""
    if isinstance(part, Missing):
        raise MissingEvidence(part.needs)
    return part


def check(ask: Callable[[Evidence], CheckAnswer]) -> Callable[[Evidence], CheckAnswer]:
    """Returns ``ask`` wrapped such that missing evidence makes an inconclusive answer instead of an
    exception.
    """

    @wraps(ask)
    def answer(evidence: Evidence) -> CheckAnswer:
        try:
            return ask(evidence)
        except MissingEvidence as error:
            sentence = f"This check needs {error}."
            return CheckAnswer(ask.__name__, "can't tell", numbers.NONE, sentence, str(error))

    return answer


# ── numbers in words ─────────────────────────────────────────────────────────────────────────


def percent(share: float | None) -> str:
    """Returns a share in %: ``42.1 %`` for 0.4213; a dash for None."""
    if not share:
        return numbers.NONE if share is None else "0 %"
    return f"{numbers.three(_percent(share))} %"


def change(share: float | None) -> str:
    """Returns a signed share in %: ``+4.21 %`` for 0.0421; a dash for None."""
    if not share:
        return numbers.NONE if share is None else "0 %"
    return numbers.change(100 * share, " %")


def amounts(*gains: Gain) -> list[str]:
    """Returns gains in % of the baseline's value; as differences if one of them is more than ten times that
    value, because a percentage of a tiny value says nothing.
    """
    if all(abs(gain.share or 0) <= MOST_TIMES for gain in gains):
        return [change(gain.share) for gain in gains]
    decimals = numbers.places([gain.mean for gain in gains])
    return [numbers.signed(gain.mean, decimals) for gain in gains]


def between(low: float | None, high: float | None) -> str:
    """Returns an interval of shares in %: ``−1.20 to +3.40 %`` for −0.012 and 0.034."""
    in_percent = ends(low, high)
    return numbers.interval(*in_percent, numbers.places(in_percent), " %")


def lift_texts(lift: OnlineChange) -> tuple[str, str]:
    """Returns a lift and its interval as texts, with the same decimals as on the page Results."""
    return numbers.estimate(100 * lift.value, *ends(lift.low, lift.high), " %")


def ends(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """Returns the ends of an interval of shares, multiplied by 100; None stays None."""
    return _percent(low), _percent(high)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
