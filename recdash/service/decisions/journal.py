"""An experiment's journal: the reviews, decisions and comments that stand in it."""

from __future__ import annotations

from recdash.decisions import Decision, Review
from recdash.decisions import review as fold
from recdash.domain.journal import Entry
from recdash.errors import NotFound
from recdash.service.context import ServiceContext
from recdash.service.decisions.journal_writer import JournalWriter, prose


class Journal:
    """What people wrote about an experiment.

    ``author`` may only be given where visitors do not sign in; ``key`` is any text that a form has once,
    so that sending it twice writes one entry. Without it each call writes what it is told.
    """

    def __init__(self, context: ServiceContext, writer: JournalWriter) -> None:
        self._context, self._writer = context, writer

    def entries(self, experiment_id: str) -> list[Entry]:
        """Who wrote what, the newest first."""
        return self._entries(experiment_id)[::-1]

    def reviews(self, experiment_id: str) -> list[Review]:
        """The newest first."""
        return fold.reviews(self._entries(experiment_id))

    def review(self, proposal_id: str) -> Review:
        """Raises NotFound for an id that is not a proposal's."""
        known = self.reviews(self._context.store.entry(proposal_id).experiment)
        found = next((one for one in known if one.id == proposal_id), None)
        if found is None:
            raise NotFound(f"There is no review with the id '{proposal_id}'.")
        return found

    def decisions(self, experiment_id: str) -> list[Decision]:
        """The newest first; those that were superseded say by which."""
        return fold.decisions(self._entries(experiment_id))

    def decision(self, decision_id: str) -> Decision:
        """Raises NotFound for an id that is not a decision's."""
        known = self.decisions(self._context.store.entry(decision_id).experiment)
        found = next((one for one in known if one.id == decision_id), None)
        if found is None:
            raise NotFound(f"There is no decision with the id '{decision_id}'.")
        return found

    def last_decision(self, experiment_id: str) -> Decision | None:
        """The newest that nothing has superseded."""
        return fold.last_decision(self._entries(experiment_id))

    def comment(self, experiment_id: str, about: str, text: str, *, author: str = "", key: str = "") -> Entry:
        """Say something about an entry or a report of the experiment."""
        by = self._writer.writing(author, key, "comment", experiment_id, about, text)
        home = self._context.store.experiment(experiment_id).id
        if self._home_of(about) != home:
            raise NotFound(f"There is nothing with the id '{about}' to comment on.")
        return self._writer.add(by, home, "comment", prose("comment", text), {}, about)

    def _home_of(self, thing_id: str) -> str:
        """The experiment of an entry or a report."""
        try:
            return self._context.store.entry(thing_id).experiment
        except NotFound:
            return self._context.store.report(thing_id).experiment

    def _entries(self, experiment_id: str) -> list[Entry]:
        return self._context.store.entries(self._context.store.experiment(experiment_id).id)
