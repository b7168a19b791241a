"""Adds the server's base URL to each page, for the browser."""

from __future__ import annotations

from recdash.web.headers import Application, Message, Receive, Scope, Send

# Pages have one path segment, so the server's base is where that segment begins. Without this, the browser
# tries the page's own address first and writes two 404s to its console.
ADDRESS = (
    b"<script>window.__streamlit={BACKEND_BASE_URL:location.origin+location.pathname.replace(/[^/]*$/,'')}"
    b"</script>\n    "
)
BEFORE = b'<script type="module"'


class TellAddress:
    """The ASGI middleware that adds the server's base URL to HTML pages."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_page(scope):
            plain = [header for header in scope["headers"] if header[0].lower() != b"accept-encoding"]
            await self.app({**scope, "headers": plain}, receive, with_address(send))
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


def with_address(send: Send) -> Send:
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
                length = (b"content-length", str(len(page)).encode())
                bodiless = start["status"] in {204, 304}
                await send({**start, "headers": headers if bodiless else [*headers, length]})
                await send({"type": "http.response.body", "body": page})
        else:
            await send(message)

    return send_with_address
