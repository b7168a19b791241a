"""The review of a candidate: proposed, backed with offline evidence, then with A/B tests."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.decisions import Decision, Named, Review
from recdash.decisions import review as fold
from recdash.domain.journal import Entry
from recdash.domain.records import OnlineTest
from recdash.errors import InputError, NotFound, Problem
from recdash.service.context import ServiceContext
from recdash.service.decisions.journal import Journal
from recdash.service.decisions.journal_writer import MOST_CHARS, Check, JournalWriter
from recdash.service.decisions.snapshots import Snapshots
from recdash.service.decisions.subjects import Subjects
from recdash.service.online.tests import OnlineTests
from recdash.service.validation import long_text


class Reviews:
    """How a candidate comes before the one who approves it."""

    def __init__(
        self,
        context: ServiceContext,
        online_tests: OnlineTests,
        snapshots: Snapshots,
        journal: Journal,
        *,
        writer: JournalWriter,
        subjects: Subjects,
    ) -> None:
        self._context, self._online_tests, self._snapshots = context, online_tests, snapshots
        self._journal, self._writer, self._subjects = journal, writer, subjects

    def propose(
        self, experiment_id: str, run_id: str, *, baseline: str | None = None, metric: str | None = None,
        k: int | None = None, text: str = "", runs: Sequence[str] | None = None, author: str = "",
        key: str = "",
    ) -> Review:  # fmt: skip
        """Ask for a run to be approved against the baseline (by default the experiment's own).

        ``runs``: the candidates beside which it stands. Raises InputError for a run or baseline that is not
        of the experiment, and where both are the same.
        """
        request = (run_id, baseline, metric, k, list(runs or ()))
        by = self._writer.writing(author, key, "propose", experiment_id, text, *request)
        subject = self._subjects.subject(experiment_id, run_id, baseline, metric, k, runs)
        if subject.baseline is None or subject.run == subject.baseline:
            problem = "it is the baseline itself" if subject.baseline else "there is no baseline to beat"
            raise InputError(
                Problem("no-candidate", "run", problem, "Propose a candidate beside the baseline.")
            )
        facts = {"subject": subject.as_dict()}
        return self._journal.review(self._writer.add(by, experiment_id, "proposal", _note(text), facts).id)

    def add_offline_evidence(
        self, proposal_id: str, text: str = "", *, author: str = "", key: str = ""
    ) -> Review:
        """Attach the verdict and its numbers as they stand now. Once more replaces them; both are kept."""
        by, review = (
            self._writer.writing(author, key, "offline", proposal_id, text),
            self._open_review(proposal_id),
        )
        home, subject = review.entry.experiment, self._subjects.named_now(review.subject)
        offline = self._snapshots.frozen_offline(home, subject)
        facts = {
            "offline": offline.as_dict() if offline else None,
            "provenance": self._snapshots.provenance_now(home, subject),
        }
        self._writer.add(
            by, home, "offline evidence", _note(text), facts, proposal_id, check=still_open(proposal_id)
        )
        return self._journal.review(proposal_id)

    def add_online_evidence(
        self, proposal_id: str, test_id: str, text: str = "", *, author: str = "", key: str = ""
    ) -> Review:
        """Attach what an A/B test says of the proposed run now. Once more replaces it; both are kept.

        Raises NotFound for a test of another experiment, InputError where no variant served the run.
        """
        by = self._writer.writing(author, key, "online", proposal_id, test_id, text)
        review = self._open_review(proposal_id)
        home, subject = review.entry.experiment, self._subjects.named_now(review.subject)
        test = self._test_of(home, test_id)
        facts = {
            "online": [self._snapshots.frozen_online(test, subject).as_dict()],
            "provenance": self._snapshots.provenance_now(home, subject),
        }
        self._writer.add(
            by, home, "online evidence", _note(text), facts, proposal_id, check=still_open(proposal_id)
        )
        return self._journal.review(proposal_id)

    def tests_for(self, proposal_id: str) -> list[Named]:
        """The A/B tests in which a variant beside the control served the proposed run."""
        review = self._journal.review(proposal_id)
        run = review.subject.run.id if review.subject.run else ""
        return [
            Named(test.id, test.name)
            for test in self._online_tests.all(review.entry.experiment)
            if served_by(test, run)
        ]

    def _open_review(self, proposal_id: str) -> Review:
        """Raises InputError for one that was decided."""
        review = self._journal.review(proposal_id)
        refuse_closed(review)
        return review

    def _test_of(self, experiment_id: str, test_id: str) -> OnlineTest:
        test = self._context.store.online_test(test_id)
        if test.experiment != experiment_id:
            raise NotFound(f"There is no online test with the id '{test_id}' in this experiment.")
        return test


def served_by(test: OnlineTest, run_id: str) -> bool:
    """Whether a variant beside the control served the run."""
    return any(linked == run_id for variant, linked in test.links.items() if variant != test.control)


def still_open(proposal_id: str, supersedes: str | None = None) -> Check:
    """Nobody has decided the review, or superseded the decision, while this was made ready."""

    def check(entries: Sequence[Entry]) -> None:
        old = next((one for one in fold.decisions(entries) if one.id == supersedes), None)
        if old is not None:
            refuse_superseded(old)
        for review in fold.reviews(entries):
            if review.id == proposal_id:
                refuse_closed(review, old)

    return check


def refuse_closed(review: Review, old: Decision | None = None) -> None:
    """Raises InputError for a review that was decided, unless ``old``, which decided it, is superseded."""
    held = review.decision.id if review.decision else None
    if not review.is_open and (old is None or old.id != held):
        fix = "Supersede its decision, or propose the run anew."
        problem = f"it was {review.state}"
        raise InputError(Problem("review-closed", f"review of '{review.about}'", problem, fix))


def refuse_superseded(old: Decision) -> None:
    if not old.is_current:
        fix = "Supersede the one that holds now."
        raise InputError(Problem("superseded", "decision", "it was superseded already", fix))


def _note(text: str) -> str:
    return long_text("text", text, MOST_CHARS)
