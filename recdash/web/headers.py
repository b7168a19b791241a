"""The security headers of every response, which forbid requests to other hosts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256

from starlette.types import Message, Send

Headers = tuple[tuple[bytes, bytes], ...]

# Streamlit's page has inline styles, and inline scripts, each of which is allowed by its hash.
_POLICY = (
    "default-src 'self'; script-src 'self' {scripts}blob:; worker-src 'self' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self'"
)
# A report is a separate file: its script may draw, but send no requests.
_REPORT = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "font-src data:; base-uri 'none'; form-action 'none'; "
    "sandbox allow-scripts allow-downloads allow-modals allow-popups"
)
_PLAIN: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
POLICY = b"content-security-policy"
_HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")


def framed_by(origins: Sequence[str]) -> str:
    return " ".join(("frame-ancestors 'self'", *origins))


def policy_of(origins: Sequence[str], page: bytes = b"") -> str:
    """Returns the content security policy of a page: of inline scripts, it allows those in ``page`` only."""
    scripts = (f"'sha256-{b64encode(sha256(script).digest()).decode()}' " for script in _inline_scripts(page))
    return f"{_POLICY.format(scripts=''.join(scripts))}; {framed_by(origins)}"


def _inline_scripts(page: bytes) -> Iterator[bytes]:
    """Yields the scripts in the text of a page; those that it loads by ``src`` are not inline."""
    start = page.find(b"<script")
    while start >= 0:
        opened = page.find(b">", start)
        closed = page.find(b"</script>", opened)
        if opened < 0 or closed < 0:
            return
        attributes = page[start + len(b"<script") : opened].split()
        if not any(attribute.startswith(b"src=") for attribute in attributes):
            yield page[opened + 1 : closed]
        start = page.find(b"<script", closed)


def report_policy(origins: Sequence[str]) -> str:
    return f"{_REPORT}; {framed_by(origins)}"


def security_headers(origins: Sequence[str], *, https: bool = False) -> Headers:
    """Returns the security headers of every response; with ``https`` browsers then use HTTPS for a year.

    Only pages of these ``origins`` may show the dashboard in a frame. The older header X-Frame-Options cannot
    list origins, so it is omitted if there are any.
    """
    policy = (POLICY, policy_of(origins).encode())
    older = () if origins else ((b"x-frame-options", b"SAMEORIGIN"),)
    return (policy, *_PLAIN, *older, *((_HTTPS_ONLY,) if https else ()))


def with_headers(send: Send, headers: Headers) -> Send:
    """Returns a ``send`` that adds headers to each response.

    Headers that the response already has stay; cookies are added to them.
    """

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", ())} - {b"set-cookie"}
            added = [header for header in headers if header[0] not in present]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return send_with_headers


def with_secure_cookies(send: Send) -> Send:
    """Returns a ``send`` that marks every cookie as Secure: browsers send it by HTTPS only."""

    async def send_with_secure_cookies(message: Message) -> None:
        if message["type"] in {"http.response.start", "websocket.accept"}:
            headers = [
                (name, _secure(value) if name.lower() == b"set-cookie" else value)
                for name, value in message.get("headers", ())
            ]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_secure_cookies


def _secure(cookie: bytes) -> bytes:
    attributes = {part.strip().lower() for part in cookie.split(b";")[1:]}
    return cookie if b"secure" in attributes else cookie + b"; Secure"
