"""Share links, which let others read one experiment or report, and saved views."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Literal

from recdash.domain.access import Person
from recdash.domain.journal import LinkUse, SavedView, ShareLink
from recdash.errors import InputError, NotFound, Problem, RecdashError
from recdash.service.access.signed_tokens import SignedTokens
from recdash.service.context import ServiceContext
from recdash.service.validation import check_days, one_line
from recdash.store import new_id

logger = logging.getLogger(__name__)
MOST_DAYS, USUAL_DAYS = 366, 30
LABEL_CHARS = 200
PAGE = "page"
"""The parameter of a share link's address that names the page to open; the others are those of the view."""
SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
NOTED_EVERY = timedelta(hours=1)
State = Literal["alive", "expired", "revoked"]
Reason = Literal["unknown", "expired", "revoked", "archived"]

_DEAD: dict[Reason, str] = {
    "unknown": "This share link is unknown. Check that you copied all of it, or ask the sender for it again.",
    "expired": "This share link has expired. Ask the sender for a new one.",
    "revoked": "This share link was revoked. Ask the sender for a new one.",
    "archived": "The experiment or report of this share link was archived or deleted. Ask the sender.",
}


class LinkDead(RecdashError):
    """The error for a share link that opens nothing; ``reason`` says why."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(_DEAD[reason])


@dataclass(frozen=True)
class SharedLink:
    """A share link that was just created.

    ``token`` is the part of its address that gives access. It is shown once and not stored.
    """

    token: str
    link: ShareLink


class Sharing:
    """The service for share links (create, check, revoke) and saved views (save, find, delete)."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    @cached_property
    def _tokens(self) -> SignedTokens:
        return SignedTokens(self._context.secret(), "recdash share link", salt="recdash.share")

    def share(
        self,
        experiment_id: str,
        *,
        report_id: str | None = None,
        days: float = USUAL_DAYS,
        label: str = "",
        numbers_only: bool = False,
    ) -> SharedLink:
        """Creates a link with which anyone can read the experiment, or only one report of it, for some days.

        With ``numbers_only`` its readers see no data of single users: no ids, lists or values of a user.

        Raises InputError unless 0 < ``days`` ≤ 366, and for a label that is too long; NotFound for a report
        of another experiment.
        """
        store, experiment = self._context.writable_store(), self._store.experiments.get(experiment_id)
        check_days(days, MOST_DAYS)
        if report_id is not None and store.reports.get(report_id).experiment != experiment.id:
            raise NotFound(f"No report has the id '{report_id}'.")
        (token, link_id), now = self._tokens.new(), self._context.now()
        link = ShareLink(
            id=link_id,
            experiment=experiment.id,
            created=now,
            author=self._context.person.name,
            expires=now + timedelta(days=float(days)),
            report=report_id,
            label=one_line("label", label, LABEL_CHARS),
            numbers_only=numbers_only or None,
        )
        return SharedLink(token, store.share_links.add(link))

    def shared(self, token: str) -> ShareLink:
        """Returns the share link of a token. Raises LinkDead with the reason if it no longer works."""
        store = self._store
        try:
            link = store.share_links.get(self._tokens.id_of(token))
        except NotFound:
            raise LinkDead("unknown") from None
        state = self.link_state(link)
        if state != "alive":
            raise LinkDead(state)
        is_archived = link.report is not None and store.reports.get(link.report).archived is not None
        if is_archived or store.experiments.get(link.experiment).archived is not None:
            raise LinkDead("archived")
        return link

    def link_state(self, link: ShareLink) -> State:
        if link.revoked is not None:
            return "revoked"
        return "expired" if self._context.now() >= link.expires else "alive"

    def guest_of(self, link: ShareLink) -> Person:
        """Returns the guest account with which visitors read the experiment of this link.

        Raises LinkDead for a link to a single report.
        """
        if link.report is not None:
            raise LinkDead("unknown")
        return link.guest

    def links(self, experiment_id: str) -> list[ShareLink]:
        """Returns the share links of an experiment and its reports, the newest first, with expired and
        revoked ones.

        Raises Forbidden unless the person is an editor.
        """
        self._context.person.must_be("editor")
        return self._store.share_links.of_experiment(experiment_id)

    def uses(self, experiment_id: str) -> dict[str, LinkUse]:
        """Returns {link id: use} of the experiment's links that were used.

        Raises Forbidden unless the person is an editor.
        """
        self._context.person.must_be("editor")
        return self._store.share_links.uses(experiment_id)

    def note_use(self, link: ShareLink, *, opened: bool) -> None:
        """Stores that a link was used now; with ``opened`` also that its address was opened once more.

        A use without ``opened`` is stored at most once an hour. If the use cannot be stored, the link still
        opens, and a warning is logged.
        """
        links, now = self._store.share_links, self._context.now()
        try:
            use = None if opened else links.uses(link.experiment).get(link.id)
            if use is None or now - use.last >= NOTED_EVERY:
                links.note_use(link.id, now, opened=opened)
        except RecdashError:
            logger.warning("The use of a share link could not be stored.", exc_info=True)

    def revoke(self, link_id: str) -> ShareLink:
        """Revokes a share link for good.

        Revoking it again changes nothing.

        Raises Forbidden unless the person created the link or is an admin.
        """
        store, link = self._context.writable_store(), self._store.share_links.get(link_id)
        if link.author != self._context.person.name:
            self._context.person.must_be("admin")
        if link.revoked is not None:
            return link
        return store.share_links.update(link_id, revoked=self._context.now())

    # saved views ───────────────────────────────────────────────────────────────────────────────

    def save_view(self, experiment_id: str, name: str, page: str, params: Mapping[str, str]) -> SavedView:
        """Saves a page and its parameters under a short, unique name.

        Saving the same view again changes nothing. Raises InputError for a name that cannot be part of an
        address, and NameTaken for the name of another view.
        """
        store, experiment = self._context.writable_store(), self._store.experiments.get(experiment_id)
        if not SLUG.fullmatch(name):
            fix = "Use up to 40 of a to z, 0 to 9 and -, such as weekly-check."
            raise InputError(Problem("bad-view-name", "name of the view", f"'{name[:80]}'", fix))
        view = store.saved_views.named(name)
        if view is not None and (view.experiment, view.page, view.params) == (
            experiment.id,
            page,
            dict(params),
        ):
            return view
        author, created = self._context.person.name, self._context.now()
        return store.saved_views.add(
            SavedView(new_id(), experiment.id, name, created, author, page, dict(params))
        )

    def saved_views(self, experiment_id: str) -> list[SavedView]:
        return self._store.saved_views.of_experiment(experiment_id)

    def saved_view(self, name: str) -> SavedView:
        """Returns the saved view of this name. Raises NotFound if there is none."""
        view = self._store.saved_views.named(name)
        if view is None:
            raise NotFound(f"No saved view is called '{name}'.")
        return view

    def forget_view(self, view_id: str) -> None:
        self._context.writable_store().saved_views.delete(view_id)
