"""Reviews of candidates: a proposal, then evidence from offline results and A/B tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recdash.comparison import ComparisonQuery
from recdash.decisions import Decision, Named, Review, Subject
from recdash.decisions import review as fold
from recdash.domain.journal import Entry, EntryKind
from recdash.errors import InputError, NotFound, Problem
from recdash.service.context import ServiceContext
from recdash.service.decisions.journal import MOST_CHARS, Check, Journal, Writing
from recdash.service.decisions.snapshots import Snapshots
from recdash.service.decisions.subjects import Subjects
from recdash.service.validation import long_text


@dataclass(eq=False)
class Reviews:
    """The service for reviews: it proposes candidates for approval, and attaches evidence to their
    reviews.
    """

    _context: ServiceContext
    _snapshots: Snapshots
    _journal: Journal
    _subjects: Subjects

    def propose(
        self, experiment_id: str, run_id: str | None = None, query: ComparisonQuery | None = None, *,
        text: str = "", author: str = "", key: str = "", variant: str | None = None, test: str | None = None,
    ) -> Review:  # fmt: skip
        """Proposes a run for approval, in place of the query's baseline, and returns the new review.

        Without a query, the experiment's defaults apply. Where no run is stored, ``variant`` is proposed
        instead, in place of the control of the A/B test with the id ``test``, by default the newest. Raises
        InputError for a run or baseline that is not in the experiment, if both are the same, and for the
        control and a variant that served a run.
        """
        words = (experiment_id, text, run_id, query and query.as_dict(), *asked_variant(variant, test))
        writing = self._journal.writing(author, key, "propose", *words)
        if bool(run_id) == bool(variant):
            problem = "a run and a variant are given" if run_id else "no candidate is chosen"
            raise InputError(Problem("no-candidate", "run", problem, "Choose one."))
        if variant:
            subject = self._subjects.of_variant(experiment_id, variant, test)
        else:
            subject = self._run_to_propose(experiment_id, run_id, query)
        facts, note = {"subject": subject.as_dict()}, long_text("text", text, MOST_CHARS)
        return self._journal.review(self._journal.add(writing, experiment_id, "proposal", note, facts).id)

    def _run_to_propose(
        self, experiment_id: str, run_id: str | None, query: ComparisonQuery | None
    ) -> Subject:
        subject = self._subjects.subject(experiment_id, run_id, query)
        if subject.baseline is None or subject.run == subject.baseline:
            problem = (
                "it is the baseline itself" if subject.baseline else "there is no baseline to compare with"
            )
            fix = "Propose a candidate other than the baseline."
            raise InputError(Problem("no-candidate", "run", problem, fix))
        return subject

    def add_offline_evidence(
        self, proposal_id: str, text: str = "", *, author: str = "", key: str = ""
    ) -> Review:
        """Attaches the current verdict and numbers to a review.

        The newest evidence counts; earlier evidence stays in the journal.

        Raises InputError for a review that was already decided, and for one of a variant.
        """
        writing = self._journal.writing(author, key, "offline", proposal_id, text)
        review = self._journal.review(proposal_id)
        refuse_closed(review)
        if review.subject.variant is not None:
            problem = "a variant without a run has no offline results"
            fix = "Attach the results of its A/B test."
            raise InputError(Problem("no-offline", f"review of '{review.about}'", problem, fix))
        subject = self._subjects.named_now(review.subject)
        offline = self._snapshots.frozen_offline(review.entry.experiment, subject)
        facts = {"offline": offline.as_dict() if offline else None}
        return self._attach(writing, review, "offline evidence", text, facts, subject)

    def add_online_evidence(
        self, proposal_id: str, test_id: str, text: str = "", *, author: str = "", key: str = ""
    ) -> Review:
        """Attaches the current results of the proposed run or variant in an A/B test to its review.

        The newest evidence from a test counts; earlier evidence stays in the journal. Raises NotFound for a
        test of another experiment, InputError if no variant served the run, for another test than the
        proposed variant's, and for a review that was already decided.
        """
        writing = self._journal.writing(author, key, "online", proposal_id, test_id, text)
        review = self._journal.review(proposal_id)
        refuse_closed(review)
        subject = self._subjects.named_now(review.subject)
        test = self._context.ab_test(test_id)
        if test.experiment != review.entry.experiment:
            raise NotFound(f"No A/B test has the id '{test_id}' in this experiment.")
        facts = {"online": [self._snapshots.frozen_online(test, subject).as_dict()]}
        return self._attach(writing, review, "online evidence", text, facts, subject)

    def _attach(
        self, writing: Writing, review: Review, kind: EntryKind, text: str, facts: dict[str, Any],
        subject: Subject,
    ) -> Review:  # fmt: skip
        experiment_id, note = review.entry.experiment, long_text("text", text, MOST_CHARS)
        facts["provenance"] = self._snapshots.provenance_now(experiment_id, subject)
        self._journal.add(writing, experiment_id, kind, note, facts, review.id, check=still_open(review.id))
        return self._journal.review(review.id)

    def tests_for(self, proposal_id: str) -> list[Named]:
        """Returns the A/B tests whose results can be attached: the proposed variant's, or those in which a
        variant other than control served the proposed run.
        """
        review = self._journal.review(proposal_id)
        tests = self._subjects.tests_of(review.entry.experiment, review.subject)
        return [Named(test.id, test.name) for test in tests]


def asked_variant(variant: str | None, test: str | None) -> tuple[str | None, ...]:
    """Returns the words of a form about a variant; empty without one, as in forms of older releases."""
    return (variant, test) if variant else ()


def still_open(proposal_id: str, supersedes: str | None = None) -> Check:
    """Returns a check for ``Journal.add`` that raises InputError if another person has decided the review, or
    superseded the same decision, in the meantime.
    """

    def check(entries: Sequence[Entry]) -> None:
        decisions = {decision.id: decision for decision in fold.decisions(entries)}
        superseded = decisions.get(supersedes or "")
        if superseded is not None:
            refuse_superseded(superseded)
        for review in fold.reviews(entries):
            if review.id == proposal_id:
                refuse_closed(review, superseded)

    return check


def refuse_closed(review: Review, old: Decision | None = None) -> None:
    """Raises InputError for a decided review, unless ``old`` is the decision that closed it, which is now
    superseded.
    """
    held = review.decision.id if review.decision else None
    if not review.is_open and (old is None or old.id != held):
        fix = "Replace its decision, or propose the candidate again."
        problem = f"it was {review.state}"
        raise InputError(Problem("review-closed", f"review of '{review.about}'", problem, fix))


def refuse_superseded(old: Decision) -> None:
    if not old.is_current:
        fix = "Replace the current decision."
        raise InputError(Problem("superseded", "decision", "it was already replaced by another", fix))
