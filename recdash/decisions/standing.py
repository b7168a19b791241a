"""The decision on top of an experiment, and whether today's recommendation still agrees with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recdash.comparison.recommendation import Recommendation, against
from recdash.comparison.wording import plain
from recdash.decisions.review import Decision, decisions
from recdash.domain.journal import Entry
from recdash.formatting.wording import small


@dataclass(frozen=True)
class DecisionStanding:
    """A decision against today's evidence. ``agrees`` is None where that cannot be said.

    ``because``: why it does not agree or cannot be said, as the end of a sentence.
    """

    decision: Decision
    agrees: bool | None
    because: str = ""

    @property
    def text(self) -> str:
        """Returns ``Evidence today: agrees.`` or ``Evidence today: no longer agrees, because …``"""
        if self.agrees:
            return "Evidence today: agrees."
        words = "no longer agrees, because" if self.agrees is False else "not known, because"
        return f"Evidence today: {words} {self.because}."


def decision_on_top(entries: Sequence[Entry]) -> Decision | None:
    """Returns the decision that stands: the newest to ship a run, unless a newer one is about the same run;
    else the newest. ``entries``: the oldest first.
    """
    current = [decision for decision in decisions(entries) if decision.is_current]
    newest_by_run: dict[str | None, Decision] = {}
    for decision in current:
        newest_by_run.setdefault(decision.subject.run.id if decision.subject.run else None, decision)
    shipped = [decision for decision in newest_by_run.values() if decision.outcome == "ship"]
    return next(iter(shipped or current), None)


def standing(decision: Decision, today: Recommendation | None) -> DecisionStanding:
    """Returns how a decision stands against today's recommendation; None of it: nothing can be compared."""
    if today is None:
        return DecisionStanding(decision, None, "there is nothing to compare")
    if today.action == "not comparable":
        return DecisionStanding(
            decision, None, f"the runs {small(today.headline.replace('Cannot', 'cannot'))}"
        )
    run = decision.subject.run.id if decision.subject.run else None
    known = {today.evidence.comparison.query.baseline, *(case.pair.candidate for case in today.cases)}
    if run is not None and run not in known:
        return DecisionStanding(decision, None, f"{decision.about} is not among the candidates")
    if _agrees(decision, run, today):
        return DecisionStanding(decision, agrees=True)
    return DecisionStanding(decision, agrees=False, because=_why_not(decision, run, today))


def _agrees(decision: Decision, run: str | None, today: Recommendation) -> bool:
    is_same_run = run in (None, today.run)
    if decision.outcome == "ship":
        return today.action in ("ship", "keep") and today.run == run
    if decision.outcome == "do not ship":
        return not (today.action == "ship" and is_same_run)
    if decision.outcome == "needs A/B":
        return today.action == "test" and is_same_run
    return today.action in ("test", "collect data")


def _why_not(decision: Decision, run: str | None, today: Recommendation) -> str:
    """Returns what speaks against a run that is no longer shipped, and what is recommended instead."""
    instead = f"the recommendation is now “{today.headline}”"
    case = today.case_of(run) if run else None
    if decision.outcome != "ship" or case is None or case.case in ("proven", "sound"):
        return instead
    return f"{case.name} {plain(against(case))}; {instead}"
