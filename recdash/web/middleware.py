"""Admits requests that are for a known host, from the same origin, and by an authorised visitor."""

from __future__ import annotations

from collections.abc import Callable
from http.cookies import SimpleCookie

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recdash.domain.access import DEAD_LINK, LEAVE_LINK, Person
from recdash.errors import Forbidden, RecdashError
from recdash.settings import PREFIX
from recdash.web import access_log, upload_quota
from recdash.web import visitor as identity
from recdash.web.api.access import PREFIX as API
from recdash.web.api.access import api_visitor
from recdash.web.api.problems import refusal_answer
from recdash.web.auth import AuthConfig, signed_in, visitor_of
from recdash.web.headers import security_headers, with_headers, with_secure_cookies
from recdash.web.hosts import is_loopback, parts_of
from recdash.web.login_redirect import return_cookie, wanted, way_back
from recdash.web.offered_files import OfferedFiles
from recdash.web.plain_pages import Refused
from recdash.web.route_policy import SIGN_OUT, SIGNED_IN, AddressClass, address_class_of
from recdash.web.socket_limits import Sockets, run_with_inbox
from recdash.web.visitor import Visitor

HOSTS_VARIABLE = f"{PREFIX}ALLOWED_HOSTS"
_WHO = {
    "local": "This dashboard is available only on the machine it runs on.",
    "key": "Open the address printed when the dashboard started: it ends in /key/ and a long key. For a "
    "container, docker logs shows it.",
    "proxy": "The proxy in front of this dashboard did not send your name. Open the dashboard through it.",
    "oidc": "Sign in first.",
}


class AuthMiddleware:
    """The ASGI middleware that authenticates the visitor of a request, and passes them on in a header that
    clients cannot forge.

    A request with a foreign Host (DNS rebinding) or Origin (a script of another site) gets status 403 before
    Streamlit sees it. Loopback names are always allowed, other hosts only if they are listed.
    """

    def __init__(
        self, app: ASGIApp, config: AuthConfig, quota: upload_quota.UploadQuota = upload_quota.quota
    ) -> None:
        self.app, self.config, self.quota = app, config, quota
        self.hosts = config.rules.hosts()
        self.sockets, self.offered = Sockets(config.rules), OfferedFiles()
        self.headers = security_headers(config.rules.embedders(), https=config.rules.https)
        self.signs_in_on_pages = config.rules.auth == "oidc"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if self.config.rules.https or scope.get("scheme") in {"https", "wss"}:
            send = with_secure_cookies(send)
        send = with_headers(send, self.headers)
        request = HTTPConnection(scope)
        try:
            await self.admit(request, receive, send)
        except Refused as refusal:
            facts = {"status": refusal.status, "reason": refusal.title, "path": access_log.path_of(request)}
            access_log.record("refused", request, **facts)
            if scope["type"] == "http" and scope["path"].startswith(API):
                await refusal_answer(refusal, scope["path"])(scope, receive, send)
            else:
                await refusal.answer(scope, receive, send)

    async def admit(self, request: HTTPConnection, receive: Receive, send: Send) -> None:
        """Serves a request. Raises Refused with a reason if it is not admitted."""
        self.refuse_foreign(request)
        path: str = request.scope["path"]
        address_class = address_class_of(path, self.config.rules.auth)
        if address_class == "hidden":
            raise Refused(404, "Not found", "This page does not exist.")
        if path == SIGN_OUT:
            await end_session(request, self.config)
        elif path == SIGNED_IN:
            send = recording_sign_in(send, request, self.config)
        if address_class == "open":
            await self.app(with_visitor(request.scope, None), receive, send)
            return
        known = api_visitor if address_class == "api" else visitor_of
        visitor = await known_visitor(request, self.config, known)
        person = await self.person(visitor, address_class)
        if address_class == "upload":
            receive = self.counting(request, path, person, receive)
        if address_class == "page" and self.signs_in_on_pages and request.scope.get("method") == "GET":
            await self.page(request, visitor, receive, send)
            return
        if address_class == "api" and request.scope.get("method") == "PATCH" and person is not None:
            receive = self.counting_bytes(request, person, receive)
        self.refuse_foreign_file(request, visitor)
        if request.scope["type"] == "websocket":
            await self.serve_websocket(request, visitor, receive, send)
            return
        await self.app(with_visitor(request.scope, visitor), receive, send)

    def refuse_foreign_file(self, request: HTTPConnection, visitor: Visitor) -> None:
        """Logs that a file of a page is read. Raises Refused unless a page offered it to this visitor."""
        path = request.scope["path"]
        if not path.startswith("/media/") or request.scope.get("method") == "OPTIONS":
            return
        if not self.offered.is_offered(visitor, path):
            raise Refused(404, "Not found", "This file is not on any page you have open.")
        access_log.record("file read", request, path=path, **access_log.reader(visitor))

    async def serve_websocket(
        self, request: HTTPConnection, visitor: Visitor, receive: Receive, send: Send
    ) -> None:
        """Serves the websocket of a page while it is open."""
        named = HTTPConnection(with_visitor(request.scope, visitor))
        with self.sockets.one_more(request, visitor):
            access_log.record("page opened", request, **access_log.reader(visitor))
            recording_send = self.offered.recording(send, visitor)
            await run_with_inbox(self.app, named, receive, recording_send, self.config.is_needed)

    def refuse_foreign(self, request: HTTPConnection) -> None:
        """Raises Refused unless the Host is known, and the Origin, if there is one, is the same as the
        Host.
        """
        host = request.headers.get("host", "").lower()
        origin = request.headers.get("origin", "").lower()
        if not self.knows(host) or (origin and parts_of(origin).netloc != host):
            raise Refused(
                403, "Not allowed", f"This host or origin is not allowed. Name it in {HOSTS_VARIABLE}."
            )

    def knows(self, host: str) -> bool:
        name = parts_of(f"//{host}").hostname or ""
        return is_loopback(name) or name in self.hosts or "*" in self.hosts

    async def person(self, visitor: Visitor, address_class: AddressClass) -> Person | None:
        """Returns the visitor as a person; None if they can still sign in on the page.

        Raises Refused for others.
        """
        asks_later = address_class == "page" and self.signs_in_on_pages
        try:
            person = await run_in_threadpool(visitor.person, self.config.guest)
        except Forbidden as refusal:
            if asks_later:
                return None
            raise Refused(403, "No role here", str(refusal)) from None
        except RecdashError as error:
            raise self.closed_link(visitor, error) from None
        if person is None and not asks_later:
            way = ("/", "Sign in") if self.signs_in_on_pages else None
            status = 401 if address_class == "api" else 403
            raise Refused(status, "You are not signed in", _WHO[self.config.rules.auth], way)
        return person

    def closed_link(self, visitor: Visitor, why: RecdashError) -> Refused:
        may_go_on = visitor.name is not None or self.signs_in_on_pages
        return closed_link(why, ("/s/leave", LEAVE_LINK) if may_go_on else None)

    def counting(
        self, request: HTTPConnection, path: str, person: Person | None, receive: Receive
    ) -> Receive:
        return self.counting_bytes(request, upload_quota.require_uploader(self.quota, path, person), receive)

    def counting_bytes(self, request: HTTPConnection, sender: Person, receive: Receive) -> Receive:
        """Returns a ``receive`` that counts the bytes that a person sends, and refuses too many."""
        length = request.headers.get("content-length", "")
        return upload_quota.within(receive, self.quota, sender.name, length, self.config.rules)

    async def page(self, request: HTTPConnection, visitor: Visitor, receive: Receive, send: Send) -> None:
        """Serves a page to visitors who may have to sign in first.

        The page that they request before is stored in a cookie, and opened after sign-in.
        """
        is_known = visitor.name is not None or visitor.share is not None
        wanted_page = wanted(request, self.config.pages)
        if is_known and (onwards := way_back(request, self.config.pages)):
            await onwards(request.scope, receive, send)
            return
        if not is_known and wanted_page:
            send = with_headers(send, return_cookie(request, wanted_page))
        await self.app(with_visitor(request.scope, visitor), receive, send)


async def known_visitor(
    request: HTTPConnection,
    config: AuthConfig,
    visitor_in: Callable[[HTTPConnection, AuthConfig], Visitor] = visitor_of,
) -> Visitor:
    """Returns the visitor of a request. Raises Refused if the store cannot say whether a session has
    ended.
    """
    try:
        return await run_in_threadpool(visitor_in, request, config)
    except RecdashError as why:
        raise Refused(503, "Not now", str(why)) from None


async def end_session(request: HTTPConnection, config: AuthConfig) -> None:
    """Ends the session of a request, if it has one. Raises Refused if that cannot be stored, and for a
    request that a page of another site makes, such as for an image.
    """
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise Refused(403, "Not signed out", "Another site asked for this. Sign out on the dashboard itself.")
    visitor = await known_visitor(request, config)
    if visitor.session is None:
        return
    try:
        await run_in_threadpool(config.end_session, visitor.session)
    except RecdashError as why:
        raise Refused(503, "You are still signed in", str(why)) from None
    access_log.record("signed out", request, who=visitor.name)


def recording_sign_in(send: Send, request: HTTPConnection, config: AuthConfig) -> Send:
    """Returns a ``send`` that logs who signed in, if the response has the cookies of a sign-in."""

    async def send_and_record(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = SimpleCookie()
            for name, value in message.get("headers", ()):
                if name.lower() == b"set-cookie":
                    given.load(value.decode("latin-1"))
            visitor = signed_in({name: morsel.value for name, morsel in given.items()}, request, config)
            if visitor.name is not None:
                access_log.record("signed in", request, who=visitor.name)
        await send(message)

    return send_and_record


def with_visitor(scope: Scope, visitor: Visitor | None) -> Scope:
    """Returns ``scope`` with the visitor in recdash's own header, and without any such header from
    outside.
    """
    outside = [header for header in scope["headers"] if not header[0].lower().startswith(identity.OURS)]
    own = [(identity.VISITOR.encode(), visitor.sealed().encode())] if visitor else []
    return {**scope, "headers": [*outside, *own]}


def closed_link(why: RecdashError, way: tuple[str, str] | None = None) -> Refused:
    """Returns the response to a request with a share link that is unknown, expired or revoked."""
    reason = getattr(why, "reason", None)
    status = 503 if reason is None else 404 if reason == "unknown" else 410
    return Refused(status, DEAD_LINK if reason else "Not now", str(why), way)
