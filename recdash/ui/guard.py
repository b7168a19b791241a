"""The door of the web server: known hosts, same origin, and headers on every answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from recdash.errors import InputError
from recdash.settings import PREFIX, settings

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Streamlit's page has inline scripts and styles; nothing may come from, or go to, another host.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"SAMEORIGIN"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
HOSTS_VARIABLE = f"{PREFIX}ALLOWED_HOSTS"


def allowed_hosts() -> frozenset[str]:
    """Further host names this server answers to, from the settings; * for any.

    Empty while a setting cannot be used: the server still answers at home, where the page says which.
    """
    try:
        return settings().hosts()
    except InputError:
        return frozenset()


class Guard:
    """ASGI middleware. Loopback names always pass; others only when they are listed.

    A foreign Host (DNS rebinding) or Origin (another site's script) gets 403 before Streamlit sees it.
    """

    def __init__(self, app: Application, hosts: frozenset[str] | None = None) -> None:
        self.app = app
        self.hosts = allowed_hosts() if hosts is None else hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif not self.admits({name.lower(): value for name, value in scope["headers"]}):
            await refuse(scope, receive, send)
        else:
            await self.app(scope, receive, with_headers(send))

    def admits(self, headers: dict[bytes, bytes]) -> bool:
        """Is the Host known, and the Origin (when there is one) the same as the Host?"""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if not self.knows(host):
            return False
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        return not origin or parts_of(origin).netloc == host

    def knows(self, host: str) -> bool:
        name = parts_of(f"//{host}").hostname or ""
        return is_loopback(name) or name in self.hosts or "*" in self.hosts


def parts_of(address: str) -> SplitResult:
    """All parts are empty, and so known to nobody, for what is no address, such as ``//[::1``."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def is_loopback(name: str) -> bool:
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def with_headers(send: Send) -> Send:
    """``send`` that adds the security headers to each answer, leaving those already set."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", ())}
            added = [header for header in HEADERS if header[0] not in present]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """403 for a page, 1008 for a websocket that is not let in."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    text = f"This host or origin is not allowed. Name it in {HOSTS_VARIABLE}.".encode()
    plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    await with_headers(send)({"type": "http.response.start", "status": 403, "headers": plain})
    await send({"type": "http.response.body", "body": text})


# Pages have one path segment, so the server lies where that segment begins. Without being told, the
# browser tries the page's own address first and writes two 404s to its console.
ADDRESS = (
    b"<script>window.__streamlit={BACKEND_BASE_URL:location.origin+location.pathname.replace(/[^/]*$/,'')}"
    b"</script>\n    "
)
BEFORE = b'<script type="module"'


class TellAddress:
    """ASGI middleware: tells the browser in the HTML page where the server is."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_page(scope):
            plain = [header for header in scope["headers"] if header[0].lower() != b"accept-encoding"]
            await self.app({**scope, "headers": plain}, receive, with_address(send))
        else:
            await self.app(scope, receive, send)


def is_page(scope: Scope) -> bool:
    """A GET for an HTML page: one path segment without a file's dot."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "/" not in (name := scope["path"].strip("/"))
        and "." not in name
    )


def with_address(send: Send) -> Send:
    """``send`` that holds an HTML answer back until it is complete, and adds the address to it."""
    start: Message = {}
    body = bytearray()

    async def send_with_address(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                whole = bytes(body).replace(BEFORE, ADDRESS + BEFORE, 1)
                headers = [header for header in start["headers"] if header[0].lower() != b"content-length"]
                length = (b"content-length", str(len(whole)).encode())
                bodiless = start["status"] in {204, 304}
                await send({**start, "headers": headers if bodiless else [*headers, length]})
                await send({"type": "http.response.body", "body": whole})
        else:
            await send(message)

    return send_with_address
