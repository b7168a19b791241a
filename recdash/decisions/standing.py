"""The decision shown on top of an experiment, and whether the current recommendation still agrees with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from recdash.comparison.recommendation import Action, Recommendation, against
from recdash.comparison.wording import plain
from recdash.decisions.review import Decision, decisions
from recdash.domain.journal import Entry, Outcome
from recdash.domain.records import OnlineTest
from recdash.formatting.wording import small

RunOfVariant = Mapping[tuple[str, ...], str]
"""{(id of an A/B test, variant): id of the run that it served}."""
NO_LINKS: RunOfVariant = {}
OUTCOMES_OF: Mapping[Action, Outcome] = {
    "ship": "ship",
    "keep": "do not ship",
    "test": "needs A/B",
    "collect data": "inconclusive",
}
"""The outcome of a decision on the candidate in question that follows each recommendation."""


@dataclass(frozen=True)
class DecisionStanding:
    """A decision compared with the current evidence. ``agrees`` is None if they cannot be compared.

    ``because`` is the reason if it does not agree or cannot be compared, as the end of a sentence.
    ``was_against``: the decision was made against the recommendation that still applies. ``is_unchanged``:
    the recommendation also has the same reasons as then.
    """

    decision: Decision
    agrees: bool | None
    because: str = ""
    was_against: bool = False
    is_unchanged: bool = False

    @property
    def text(self) -> str:
        """Returns the result as a sentence: ``Evidence today: agrees.`` or ``Evidence today: no longer
        agrees, because …`` · ``does not agree, because …`` · ``unchanged; decided although …``
        """
        if self.agrees:
            return "Evidence today: agrees."
        if self.is_unchanged:
            return f"Evidence today: unchanged; decided although {self.because}."
        differs = "does not agree" if self.was_against else "no longer agrees"
        return f"Evidence today: {differs if self.agrees is False else 'not known'}, because {self.because}."


def runs_of_variants(tests: Iterable[OnlineTest]) -> RunOfVariant:
    """Returns the runs that the variants of A/B tests served, as far as they are linked."""
    return {(test.id, variant): run for test in tests for variant, run in test.links.items()}


def run_of(decision: Decision, links: RunOfVariant) -> str | None:
    """Returns the id of the run that a decision is about, or that its variant served; None without a run."""
    return decision.subject.run.id if decision.subject.run else links.get(decision.subject.key)


def decision_on_top(
    entries: Sequence[Entry], test: str | None = None, *, links: RunOfVariant = NO_LINKS
) -> Decision | None:
    """Returns the decision that currently applies; None if there is none. ``entries`` must begin with the
    oldest.

    Of the newest decisions on each run, the newest to ship a run comes first; if no run is to be shipped, the
    newest decision of all. With the id of an A/B test, decisions on variants of other tests are left out.
    A decision on a variant that served a run, by ``links``, is one on that run.
    """
    current = [decision for decision in decisions(entries) if decision.is_current]
    if test is not None:
        current = [decision for decision in current if _tested(decision) in (None, test)]
    newest: dict[tuple[str, ...], Decision] = {}
    for decision in current:
        run = run_of(decision, links)
        newest.setdefault((run,) if run else decision.subject.key, decision)
    shipped = [decision for decision in newest.values() if decision.outcome == "ship"]
    return next(iter(shipped or current), None)


def _tested(decision: Decision) -> str | None:
    """Returns the id of the A/B test of the variant that the decision is about; None if it is about no
    variant.
    """
    variant = decision.subject.variant
    return variant.test.id if variant else None


def standing(
    decision: Decision,
    today: Recommendation | None,
    links: RunOfVariant = NO_LINKS,
    *,
    stored: Collection[str] | None = None,
) -> DecisionStanding:
    """Returns whether a decision agrees with the current recommendation; ``today`` is None if no runs can be
    compared.

    ``links`` are the runs that variants of A/B tests served. ``stored`` are the ids of all runs of the
    experiment, archived ones included; without them a deleted run is only said to be no candidate.
    """
    run = run_of(decision, links)
    if run is not None and stored is not None and run not in stored:
        return DecisionStanding(decision, None, f"{decision.about} was deleted")
    why = _why_unknown(decision, run, today)
    if today is None or why:
        return DecisionStanding(decision, None, why)
    if _agrees(decision, run, today):
        return DecisionStanding(decision, agrees=True)
    was_against, is_unchanged = _compared_with_then(decision, today)
    word = "" if is_unchanged else "still " if was_against else "now "
    because = _why_not(decision, run, today, f"the recommendation is {word}“{today.headline}”")
    return DecisionStanding(decision, False, because, was_against, is_unchanged)


def outcome_for(run: str | None, today: Recommendation | None) -> Outcome | None:
    """Returns the outcome of a decision on this candidate that follows the recommendation; None if the
    recommendation is about another candidate, or if there is none.
    """
    leader = today.evidence.leader if today is not None else None
    if today is None or leader is None or leader.candidate != run:
        return None
    return OUTCOMES_OF.get(today.action)


def _why_unknown(decision: Decision, run: str | None, today: Recommendation | None) -> str:
    """Returns why the decision cannot be compared with the recommendation; empty if it can."""
    if decision.subject.variant is not None and run is None:
        return "offline evidence says nothing of a variant without a run"
    if today is None:
        return "there is nothing to compare"
    if today.action == "not comparable":
        return f"the runs {small(today.headline.replace('Cannot', 'cannot'))}"
    known = {today.evidence.comparison.query.baseline, *(case.pair.candidate for case in today.cases)}
    return "" if run is None or run in known else f"{decision.about} is not among the candidates"


def _compared_with_then(decision: Decision, today: Recommendation) -> tuple[bool, bool]:
    """Returns whether the decision was made when the recommendation was the same, and whether it had the same
    reasons.

    Facts are compared, which new words do not change; decisions of older releases have only sentences.
    """
    then = decision.offline
    if then is None:
        return False, False
    if then.facts:
        is_same = (then.state, then.run) == (today.action, today.run)
        return is_same, is_same and then.facts == today.facts
    is_same = then.headline == today.headline
    return is_same, is_same and then.sentences == tuple(map(plain, today.sentences))


def _agrees(decision: Decision, run: str | None, today: Recommendation) -> bool:
    is_same_run = run in (None, today.run)
    if decision.outcome == "ship":
        return today.action in ("ship", "keep") and today.run == run
    if decision.outcome == "do not ship":
        return not (today.action == "ship" and is_same_run)
    if decision.outcome == "needs A/B":
        return today.action == "test" and is_same_run
    return today.action in ("test", "collect data")


def _why_not(decision: Decision, run: str | None, today: Recommendation, instead: str) -> str:
    """Returns why a run should not be shipped, if it is among the candidates, and what is recommended
    ``instead``.
    """
    case = today.case_of(run) if run else None
    if decision.outcome != "ship" or case is None or case.case in ("proven", "sound"):
        return instead
    return f"{case.name} {plain(against(case))}; {instead}"
