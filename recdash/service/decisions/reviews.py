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
from recdash.service.online.tests import OnlineTests
from recdash.service.validation import long_text


@dataclass(eq=False)
class Reviews:
    """The service for reviews: it proposes candidates for approval, and attaches evidence to their
    reviews.
    """

    _context: ServiceContext
    _online_tests: OnlineTests
    _snapshots: Snapshots
    _journal: Journal
    _subjects: Subjects

    def propose(
        self, experiment_id: str, run_id: str, query: ComparisonQuery | None = None, *, text: str = "",
        author: str = "", key: str = "",
    ) -> Review:  # fmt: skip
        """Proposes a run for approval, in place of the query's baseline, and returns the new review.

        Without a query, the experiment's defaults apply. Raises InputError for a run or baseline that is not
        in the experiment, and if both are the same.
        """
        if not run_id:
            raise InputError(Problem("no-candidate", "run", "no candidate is chosen", "Choose one."))
        asked = query and query.as_dict()
        writing = self._journal.writing(author, key, "propose", experiment_id, text, run_id, asked)
        subject = self._subjects.subject(experiment_id, run_id, query)
        if subject.baseline is None or subject.run == subject.baseline:
            problem = (
                "it is the baseline itself" if subject.baseline else "there is no baseline to compare with"
            )
            fix = "Propose a candidate other than the baseline."
            raise InputError(Problem("no-candidate", "run", problem, fix))
        facts, note = {"subject": subject.as_dict()}, long_text("text", text, MOST_CHARS)
        return self._journal.review(self._journal.add(writing, experiment_id, "proposal", note, facts).id)

    def add_offline_evidence(
        self, proposal_id: str, text: str = "", *, author: str = "", key: str = ""
    ) -> Review:
        """Attaches the current verdict and numbers to a review.

        The newest evidence counts; earlier evidence stays in the journal.

        Raises InputError for a review that was already decided.
        """
        writing = self._journal.writing(author, key, "offline", proposal_id, text)
        review = self._journal.review(proposal_id)
        refuse_closed(review)
        subject = self._subjects.named_now(review.subject)
        offline = self._snapshots.frozen_offline(review.entry.experiment, subject)
        facts = {"offline": offline.as_dict() if offline else None}
        return self._attach(writing, review, "offline evidence", text, facts, subject)

    def add_online_evidence(
        self, proposal_id: str, test_id: str, text: str = "", *, author: str = "", key: str = ""
    ) -> Review:
        """Attaches the proposed run's current results in an A/B test to its review.

        The newest evidence from a test counts; earlier evidence stays in the journal. Raises NotFound for a
        test of another experiment, InputError if no variant served the run, and for a review that was already
        decided.
        """
        writing = self._journal.writing(author, key, "online", proposal_id, test_id, text)
        review = self._journal.review(proposal_id)
        refuse_closed(review)
        subject = self._subjects.named_now(review.subject)
        test = self._context.store.online_tests.get(test_id)
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
        """Returns the A/B tests in which a variant other than control served the proposed run."""
        review = self._journal.review(proposal_id)
        run_id = review.subject.run.id if review.subject.run else ""
        tests = self._online_tests.all(review.entry.experiment)
        return [Named(test.id, test.name) for test in tests if run_id in test.served]


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
        fix = "Replace its decision, or propose the run again."
        problem = f"it was {review.state}"
        raise InputError(Problem("review-closed", f"review of '{review.about}'", problem, fix))


def refuse_superseded(old: Decision) -> None:
    if not old.is_current:
        fix = "Replace the current decision."
        raise InputError(Problem("superseded", "decision", "it was already replaced by another", fix))
