"""The door of the web server: known hosts, same origin, and nobody behind it unknown."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection

from recdash.domain.access import Person
from recdash.errors import Forbidden, RecdashError
from recdash.settings import PREFIX
from recdash.web import upload_quota
from recdash.web import visitor as identity
from recdash.web.auth import AuthConfig, visitor_of
from recdash.web.error_pages import Refused
from recdash.web.headers import Application, Receive, Scope, Send, adding, of_every_answer
from recdash.web.hosts import is_loopback, parts_of
from recdash.web.login_redirect import remembering, wanted, way_back
from recdash.web.offered_files import Offered
from recdash.web.route_policy import Place, place_of
from recdash.web.socket_limits import Sockets, converse
from recdash.web.visitor import Visitor

HOSTS_VARIABLE = f"{PREFIX}ALLOWED_HOSTS"
_WHO = {
    "local": "This dashboard answers only the machine it runs on.",
    "key": "Open the address that was printed when the dashboard started: it ends in /key/ and a long key. "
    "For a container, docker logs shows it.",
    "proxy": "The proxy in front of this dashboard did not say who you are. Come in through it.",
    "oidc": "Sign in first.",
}


class AuthMiddleware:
    """ASGI middleware. Finds out once who asks, tells whoever is behind it, and lets nobody else tell.

    A foreign Host (DNS rebinding) or Origin (another site's script) gets 403 before Streamlit sees it.
    Loopback names always pass; others only when they are listed.
    """

    def __init__(
        self, app: Application, door: AuthConfig, desk: upload_quota.UploadQuota = upload_quota.desk
    ) -> None:
        self.app, self.door, self.desk = app, door, desk
        self.hosts = door.rules.hosts()
        self.sockets, self.offered = Sockets(door.rules), Offered()
        self.headers = of_every_answer(door.rules.embedders())
        self.signs_in_on_pages = door.rules.auth == "oidc"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        send = adding(send, self.headers)
        try:
            await self.admit(HTTPConnection(scope), receive, send)
        except Refused as refusal:
            await refusal.answer(scope, receive, send)

    async def admit(self, asked: HTTPConnection, receive: Receive, send: Send) -> None:
        """Raises Refused, in words, for whom and what is not let in."""
        self.refuse_foreign(asked)
        path: str = asked.scope["path"]
        place = place_of(path, self.door.rules.auth)
        if place == "hidden":
            raise Refused(404, "Nothing here", "There is no such page.")
        if place == "open":
            await self.app(telling(asked.scope, None), receive, send)
            return
        visitor = visitor_of(asked, self.door)
        person = await self.person(visitor, place)
        if place == "upload" and asked.scope.get("method") != "OPTIONS":
            receive = self.counting(asked, path, person, receive)
        if place == "page" and self.signs_in_on_pages and asked.scope.get("method") == "GET":
            await self.page(asked, visitor, receive, send)
            return
        self.refuse_foreign_file(asked, visitor)
        if asked.scope["type"] == "websocket":
            await self.converse(asked, visitor, receive, send)
            return
        await self.app(telling(asked.scope, visitor), receive, send)

    def refuse_foreign_file(self, asked: HTTPConnection, visitor: Visitor) -> None:
        """Raises Refused for a file of a page unless it was offered to this visitor."""
        path, is_read = asked.scope["path"], asked.scope.get("method") != "OPTIONS"
        if path.startswith("/media/") and is_read and not self.offered.is_offered(visitor, path):
            raise Refused(404, "Nothing here", "No page of yours offers such a file.")

    async def converse(self, asked: HTTPConnection, visitor: Visitor, receive: Receive, send: Send) -> None:
        """A page's websocket, for as long as it is open."""
        told = HTTPConnection(telling(asked.scope, visitor))
        with self.sockets.one_more(asked, visitor):
            noting = self.offered.noting(send, visitor)
            await converse(self.app, told, receive, noting, self.door.is_needed)

    def refuse_foreign(self, asked: HTTPConnection) -> None:
        """Is the Host known, and the Origin (when there is one) the same as the Host?"""
        host = asked.headers.get("host", "").lower()
        origin = asked.headers.get("origin", "").lower()
        if not self.knows(host) or (origin and parts_of(origin).netloc != host):
            raise Refused(
                403, "Not this way", f"This host or origin is not allowed. Name it in {HOSTS_VARIABLE}."
            )

    def knows(self, host: str) -> bool:
        name = parts_of(f"//{host}").hostname or ""
        return is_loopback(name) or name in self.hosts or "*" in self.hosts

    async def person(self, visitor: Visitor, place: Place) -> Person | None:
        """Raises Refused for whom has no business here; None is for pages, where people can sign in."""
        asks_later = place == "page" and self.signs_in_on_pages
        try:
            person = await run_in_threadpool(visitor.person, self.door.guest)
        except Forbidden as refusal:
            if asks_later:
                return None
            raise Refused(403, "No role here", str(refusal)) from None
        except RecdashError as dead:
            raise self.dead_link(visitor, dead) from None
        if person is None and not asks_later:
            way = ("/", "Sign in") if self.signs_in_on_pages else None
            raise Refused(403, "You are not signed in", _WHO[self.door.rules.auth], way)
        return person

    def dead_link(self, visitor: Visitor, why: RecdashError) -> Refused:
        may_go_on = visitor.name is not None or self.signs_in_on_pages
        return dead(why, ("/s/leave", "Leave this link") if may_go_on else None)

    def counting(self, asked: HTTPConnection, path: str, person: Person | None, receive: Receive) -> Receive:
        sender = upload_quota.refuse_stranger(self.desk, path, person)
        length = asked.headers.get("content-length", "")
        return upload_quota.within(receive, self.desk, sender.name, length, self.door.rules)

    async def page(self, asked: HTTPConnection, visitor: Visitor, receive: Receive, send: Send) -> None:
        """A page where people sign in: what they wanted before is remembered, and found again after."""
        is_known = visitor.name is not None or visitor.share is not None
        place = wanted(asked, self.door.pages)
        if is_known and (onwards := way_back(asked, self.door.pages)):
            await onwards(asked.scope, receive, send)
            return
        if not is_known and place:
            send = adding(send, remembering(asked, place))
        await self.app(telling(asked.scope, visitor), receive, send)


def telling(scope: Scope, visitor: Visitor | None) -> Scope:
    """``scope`` with our headers as the door means them: none that came from outside."""
    outside = [header for header in scope["headers"] if not header[0].lower().startswith(identity.OURS)]
    told = [(identity.VISITOR.encode(), visitor.sealed().encode())] if visitor else []
    return {**scope, "headers": [*outside, *told]}


def dead(why: RecdashError, way: tuple[str, str] | None = None) -> Refused:
    """The answer to a share link that lets nobody in any more, or never did."""
    reason = getattr(why, "reason", None)
    status = 503 if reason is None else 404 if reason == "unknown" else 410
    return Refused(status, "This link is closed" if reason else "Not now", str(why), way)
