"""Adds the server's base URL to each page, and allows the page's inline scripts by their hashes."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recdash.web.headers import POLICY, policy_of

# Pages have one path segment, so the server's base is where that segment begins. Without this, the browser
# tries the page's own address first and writes two 404s to its console.
ADDRESS = (
    b"<script>window.__streamlit={BACKEND_BASE_URL:location.origin+location.pathname.replace(/[^/]*$/,'')}"
    b"</script>\n    "
)
NOT_PASSED_ON = {b"accept-encoding", b"if-none-match", b"if-modified-since"}
"""Headers dropped from requests for pages: the answer must be uncompressed and whole to hash its scripts."""
BEFORE = b'<script type="module"'


class TellAddress:
    """The ASGI middleware that adds the server's base URL to HTML pages, and to their policy the hashes of
    their scripts.

    Only pages of these ``origins`` may show them in a frame.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str] = ()) -> None:
        self.app, self.origins = app, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_page(scope):
            plain = [header for header in scope["headers"] if header[0].lower() not in NOT_PASSED_ON]
            await self.app({**scope, "headers": plain}, receive, with_address(send, self.origins))
        else:
            await self.app(scope, receive, send)


def is_page(scope: Scope) -> bool:
    """Returns whether a request is a GET for an HTML page, whose path has one segment without a dot."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "/" not in (name := scope["path"].strip("/"))
        and "." not in name
    )


def with_address(send: Send, origins: Sequence[str] = ()) -> Send:
    """Returns a ``send`` that collects an HTML response until it is complete, and adds the base URL to it."""
    start: Message = {}
    body = bytearray()

    async def send_with_address(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        elif message["type"] == "http.response.body":
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                page = bytes(body).replace(BEFORE, ADDRESS + BEFORE, 1)
                headers = [header for header in start["headers"] if header[0].lower() != b"content-length"]
                if start["status"] not in {204, 304}:  # these have no body
                    headers.append((b"content-length", str(len(page)).encode()))
                    headers.append((POLICY, policy_of(origins, page).encode()))
                await send({**start, "headers": headers})
                await send({"type": "http.response.body", "body": page})
        else:
            await send(message)

    return send_with_address
