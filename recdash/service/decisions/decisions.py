"""Decisions about candidates: an outcome, its reason, and the numbers at that time; they can be superseded,
but not edited.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from recdash.comparison import ComparisonQuery
from recdash.decisions import (
    OUTCOMES,
    ChecklistItem,
    Decision,
    Review,
    Subject,
    checklist,
    not_holding,
    shortcomings,
)
from recdash.decisions.changes_since import Changed, offline_changes, online_changes
from recdash.decisions.review import offline_of, online_of
from recdash.decisions.snapshot import Offline, Online
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.service.context import ServiceContext
from recdash.service.decisions.journal import MOST_CHARS, Journal, prose
from recdash.service.decisions.reviews import asked_variant, refuse_closed, refuse_superseded, still_open
from recdash.service.decisions.snapshots import Snapshots
from recdash.service.decisions.subjects import Subjects
from recdash.service.online.tests import OnlineTests
from recdash.service.rules import rules_of
from recdash.service.validation import long_text


class Numbers(NamedTuple):
    """The numbers on which a decision is based, with the checklist and their provenance; empty if the run or
    A/B test that the decision is about was deleted.
    """

    subject: Subject
    offline: Offline | None = None
    online: tuple[Online, ...] = ()
    checklist: tuple[ChecklistItem, ...] = ()
    provenance: Mapping[str, Any] = MappingProxyType({})

    def as_dict(self) -> dict[str, Any]:
        """Returns the numbers as JSON-ready values."""
        return {
            "subject": self.subject.as_dict(),
            "offline": self.offline.as_dict() if self.offline else None,
            "online": [item.as_dict() for item in self.online],
            "checklist": [item.as_dict() for item in self.checklist],
            "provenance": dict(self.provenance),
        }


@dataclass(eq=False)
class Decisions:
    """The service for recording decisions about an experiment."""

    _context: ServiceContext
    _online_tests: OnlineTests
    _snapshots: Snapshots
    _journal: Journal
    _subjects: Subjects

    def __post_init__(self) -> None:
        self._since = self._context.cached_until_written(self._read_since, most=64)

    def decide(
        self, experiment_id: str, outcome: str, *, run_id: str | None = None, text: str,
        query: ComparisonQuery | None = None, about: str | None = None, supersedes: str | None = None,
        although: str = "", author: str = "", key: str = "", variant: str | None = None,
        test: str | None = None,
    ) -> Decision:  # fmt: skip
        """Records an outcome (ship, do not ship, inconclusive or needs A/B) and its reason.

        ``about`` is the proposal that the decision answers: *ship* approves it, *do not ship* rejects it, and
        with any other outcome its review stays open. To approve although checks of the checklist fail, give
        the reason in ``although``. If the experiment's rules ask for two people, another person than proposed
        a candidate decides its review (who proposed may only withdraw it: *do not ship* while it is open),
        and *ship* needs a review. ``query`` is the comparison on which a decision without a review is based,
        by default the experiment's own. ``supersedes`` is the decision that this one replaces; if the run or
        the A/B test of that one was deleted, the new one has no numbers. ``variant`` is the variant that the
        decision is about where no run is stored, of the A/B test with the id ``test``, by default the newest.
        ``key`` is unique to a form: one form records one decision only. Raises InputError for an invalid
        combination.
        """
        words = (experiment_id, outcome, text, about, supersedes, although, run_id, query and query.as_dict())
        writing = self._journal.writing(author, key, "decide", *words, *asked_variant(variant, test))
        experiment_id = self._context.store.experiments.get(experiment_id).id
        prose_text, reason = prose("your reason", text), long_text("although", although, MOST_CHARS)
        written = self._journal.written(experiment_id, writing)
        if written is not None:
            return self._journal.decision(written.id)
        superseded = self._to_supersede(experiment_id, supersedes)
        before = superseded.subject if superseded is not None else None
        if not about and superseded is not None and _is_same(superseded.subject, run_id, variant, test):
            about = superseded.review
        review = self._to_answer(experiment_id, about, superseded)
        if run_id is not None and variant is not None:
            problem = "a decision is about a run or about a variant"
            raise InputError(Problem("run-and-variant", "variant", problem, "Name one of them."))
        if review is not None:
            subject = review.subject
        elif variant is not None and not _is_variant(before, variant, test):
            subject = self._subjects.of_variant(experiment_id, variant, test)
        elif run_id is None and before is not None:
            subject = self._subjects.again(experiment_id, before, query)
        else:
            subject = self._subjects.subject(experiment_id, run_id, query)
        has_evidence = review is not None and review.has_evidence
        is_lost = not has_evidence and bool(self._subjects.gone(subject))
        numbers = Numbers(subject) if is_lost else self._numbers(experiment_id, subject, review)
        _check(outcome, review, numbers, run_id, variant, reason)
        _check_test(review, test)
        if rules_of(self._context.store.experiments.get(experiment_id)).two_people:
            _check_two_people(outcome, review, writing.author)
        if outcome == "ship":
            self._subjects.refuse_gone(subject if is_lost else replace(subject, baseline=None))
        facts = {"outcome": outcome, "supersedes": supersedes, "although": reason, **numbers.as_dict()}
        about = review.id if review else None
        check = still_open(about or "", supersedes)
        entry = self._journal.add(writing, experiment_id, "decision", prose_text, facts, about, check=check)
        return self._journal.decision(entry.id)

    def _to_supersede(self, experiment_id: str, decision_id: str | None) -> Decision | None:
        if decision_id is None:
            return None
        decision = self._journal.decision(decision_id)
        if decision.entry.experiment != experiment_id:
            raise NotFound(f"No decision has the id '{decision_id}' in this experiment.")
        refuse_superseded(decision)
        return decision

    def _to_answer(self, experiment_id: str, proposal_id: str | None, old: Decision | None) -> Review | None:
        """Returns the review that the decision answers; None if it answers none.

        Raises NotFound for a review of another experiment, and InputError for a closed review, unless the
        decision that closed it (``old``) is now superseded.
        """
        if proposal_id is None:
            return None
        review = self._journal.review(proposal_id)
        if review.entry.experiment != experiment_id:
            raise NotFound(f"No review has the id '{proposal_id}' in this experiment.")
        refuse_closed(review, old)
        return review

    def _numbers(self, experiment_id: str, subject: Subject, review: Review | None) -> Numbers:
        """Returns the numbers on which the decision is based: the evidence of the review, else the current
        numbers.
        """
        if review is not None and review.has_evidence:
            attached = review.offline.subject if review.offline else subject
            provenance = _provenance_of(review)
            return Numbers(attached, review.offline, review.online, review.checklist, provenance)
        if review is not None:
            subject = self._subjects.named_now(subject)
        offline = self._snapshots.frozen_offline(experiment_id, subject)
        provenance = self._snapshots.provenance_now(experiment_id, subject)
        if review is not None and subject.run is not None:
            return Numbers(subject, offline, review.online, review.checklist, provenance)
        tests = self._subjects.tests_of(experiment_id, subject)
        online = tuple(self._snapshots.frozen_online(test, subject) for test in tests)
        is_candidate = bool(subject.name) and (subject.run is None or subject.run != subject.baseline)
        items = checklist(offline, online, subject.kind) if is_candidate else ()
        return Numbers(subject, offline, online, items, provenance)

    # ── then and now ─────────────────────────────────────────────────────────────────────────

    def since(self, entry_id: str) -> list[Changed]:
        """Returns what changed since an entry was written: numbers, and runs that were deleted or renamed.

        Empty if nothing changed. Raises NotFound for an unknown entry.
        """
        entry = self._context.store.journal.get(entry_id)  # raises NotFound if it may not be read
        return list(self._since(entry.id))

    def _read_since(self, entry_id: str) -> list[Changed]:
        entry = self._context.store.journal.get(entry_id)
        offline, online = offline_of(entry), online_of(entry)
        return [
            *(self._runs_since(offline.subject) if offline else ()),
            *(self._offline_since(entry.experiment, offline) if offline else ()),
            *(change for snapshot in online for change in self._online_since(snapshot)),
        ]

    def _runs_since(self, subject: Subject) -> Iterator[Changed]:
        names = self._subjects.names(subject)
        for run in (subject.run, subject.baseline, *subject.others):
            if run is not None and run.id not in names:
                yield Changed(run.name, "one of the runs", "deleted")
            elif run is not None and names[run.id] != run.name:
                yield Changed(run.name, run.name, f"now called {names[run.id]}")

    def _offline_since(self, experiment_id: str, then: Offline) -> list[Changed]:
        if self._subjects.gone(then.subject):
            return []
        now = self._snapshots.frozen_offline(experiment_id, self._subjects.named_now(then.subject))
        return offline_changes(then, now) if now else []

    def _online_since(self, then: Online) -> list[Changed]:
        try:
            test = self._context.store.online_tests.get(then.test.id)
        except NotFound:
            return [Changed(then.test.name, "an A/B test", "deleted")]
        if then.subject.variant is not None:
            return self._variant_since(test, then)
        if self._subjects.gone(then.subject) or then.subject.run is None:
            return []
        if test.links.get(then.variant) != then.subject.run.id:
            return [Changed(then.test.name, f"{then.variant} served the run", "linked to another run")]
        return online_changes(then, self._snapshots.frozen_online(test, then.subject, explained=False))

    def _variant_since(self, test: OnlineTest, then: Online) -> list[Changed]:
        results = self._online_tests.results(test.id)
        if then.variant not in results.variants:
            return [Changed(then.test.name, f"has the variant {then.variant}", "without it")]
        if results.control == then.variant != then.control:
            return [Changed(then.test.name, f"control {then.control}", f"{then.variant} is now the control")]
        return online_changes(then, self._snapshots.frozen_online(test, then.subject, explained=False))


def _is_variant(subject: Subject | None, variant: str, test_id: str | None) -> bool:
    """Returns whether the subject is this variant, of the A/B test if its id is given."""
    own = subject.variant if subject is not None else None
    return own is not None and own.name == variant and test_id in {None, own.test.id}


def _is_same(subject: Subject, run_id: str | None, variant: str | None, test_id: str | None) -> bool:
    """Returns whether a decision about this run or variant is about the subject; so is one about neither."""
    if variant is not None:
        return _is_variant(subject, variant, test_id)
    return run_id is None or (subject.run is not None and subject.run.id == run_id)


def _check(
    outcome: str, review: Review | None, numbers: Numbers, run_id: str | None, variant: str | None,
    although: str,
) -> None:  # fmt: skip
    """Raises InputError for an unknown outcome, a run or variant that the review is not about, shipping
    without a run, an A/B test to come for a variant, and approving without a reason although checks of the
    checklist fail.
    """
    if not outcome:
        raise InputError(Problem("no-outcome", "outcome", "no outcome is chosen", "Choose one."))
    if outcome not in OUTCOMES:
        raise UnknownName("outcome", outcome, OUTCOMES)
    subject = numbers.subject
    about = subject.run.id if subject.run else None
    if run_id not in {None, about} or (variant is not None and variant != subject.name and review):
        kind = "run" if run_id is not None else "variant"
        fix = (
            f"The review is about '{subject.name}'." if subject.name else "The review is about no single run."
        )
        raise InputError(Problem("other-run", kind, f"the review is about another {kind}", fix))
    if outcome == "ship" and not subject.name:
        raise InputError(Problem("no-run", "run", "no run is named", "Name the run to ship."))
    if outcome == "needs A/B" and subject.variant is not None:
        problem = f"'{subject.name}' is in an A/B test already"
        raise InputError(Problem("in-a-test", "outcome", problem, "Choose another outcome."))
    if outcome == "ship" and review is not None and not_holding(numbers.checklist) and not although:
        fix = "Give a reason for approving despite them, or choose another outcome."
        raise InputError(Problem("checklist-open", "checklist", shortcomings(numbers.checklist), fix))


def _check_test(review: Review | None, test_id: str | None) -> None:
    """Raises InputError for another A/B test than that of the variant which the review is about."""
    variant = review.subject.variant if review is not None else None
    if variant is not None and test_id not in {None, variant.test.id}:
        problem, fix = "the review is about another A/B test", f"The review is about '{variant.test.name}'."
        raise InputError(Problem("other-test", "test", problem, fix))


def _check_two_people(outcome: str, review: Review | None, author: str) -> None:
    """Raises InputError for *ship* without a review, and for a decision by the person who proposed, who may
    only withdraw the open proposal: *do not ship*.
    """
    if review is None and outcome == "ship":
        problem = "the decision rules ask for two people: one proposes, another decides"
        fix = "Propose the candidate for a review."
        raise InputError(Problem("needs-review", "review", problem, fix))
    withdraws = outcome == "do not ship" and review is not None and review.is_open
    if review is not None and review.entry.author == author and not withdraws:
        problem = f"{author} proposed the candidate, and the decision rules ask for another person to decide"
        raise InputError(Problem("own-proposal", "author", problem, "Ask another editor to decide."))


def _provenance_of(review: Review) -> dict[str, Any]:
    """Returns the provenance of the newest evidence of a review, with the A/B tests of all its evidence.

    ``attached`` are the kind and time of each piece of evidence.
    """
    last: dict[str, Any] = {}
    tests: dict[str, Any] = {}
    for evidence in sorted(review.evidence, key=lambda entry: entry.created):
        last = dict(evidence.facts["provenance"])
        tests |= {test["id"]: test for test in last.get("tests", ())}
    attached = [f"{entry.kind}, {entry.facts['provenance'].get('moment')}" for entry in review.evidence]
    return {**last, "tests": list(tests.values()), "attached": attached}
