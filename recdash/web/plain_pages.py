"""Plain pages that need no scripts and no other files: errors, and questions with one button."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from recdash.formatting.html import Html, html

_STYLE = """<style>
:root{color-scheme:light dark;--ink:#18212b;--muted:#5f6b78;--bg:#fff;--line:#dfe4ea;--link:#24405e}
@media (prefers-color-scheme:dark){:root{
--ink:#e7ecf1;--muted:#a3aeba;--bg:#11161c;--line:#2d3641;--link:#9dbbdc}}
body{margin:0;background:var(--bg);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:34rem;margin:14vh auto 0;padding:0 1.5rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 .75rem}
p{margin:0 0 1rem;overflow-wrap:anywhere}
small{color:var(--muted)}
a{color:var(--link)}
button{font:inherit;padding:.35rem 1rem;border:1px solid var(--line);border-radius:.4rem;cursor:pointer;
background:transparent;color:var(--link)}
hr{border:0;border-top:1px solid var(--line);margin:1.5rem 0 .75rem}
</style>"""
_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} · recdash</title>'
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
)
_BODY = (
    "</head><body><main><h1>{title}</h1><p>{words}</p>{way}<hr><small>recdash</small></main></body></html>"
)
_WAY = '<p><a href="{to}">{label}</a></p>'
_BUTTON = '<form method="post"><button>{label}</button></form>'
_PRIVATE = {"cache-control": "no-store"}


def button_page(title: str, words: str, label: str) -> Response:
    """Returns a page with one button, which sends a POST request to the same address.

    What changes something is done by that request alone: a link of another page makes only the first one.
    """
    return _page(title, words, html(_BUTTON, label=label), 200, _PRIVATE)


def _page(title: str, words: str, way: Html, status: int, headers: Mapping[str, str]) -> Response:
    head, body = html(_PAGE, title=title), html(_BODY, title=title, words=words, way=way)
    return HTMLResponse(head + _STYLE + body, status, headers=headers)


class Refused(Exception):
    """The error for a refused request: the HTTP status, and the reason in words.

    ``way`` is a link for the user, as (address, label). ``again_after`` is the number of seconds until a
    retry is useful.
    """

    def __init__(
        self,
        status: int,
        title: str,
        words: str,
        way: tuple[str, str] | None = None,
        *,
        again_after: int | None = None,
    ) -> None:
        super().__init__(words)
        self.status, self.title, self.words, self.way = status, title, words, way
        self.headers = _PRIVATE | ({} if again_after is None else {"retry-after": str(again_after)})

    def response(self, headers: Headers) -> Response:
        """Returns an HTML page for clients that accept HTML, and plain text for others."""
        if "text/html" not in headers.get("accept", ""):
            return PlainTextResponse(f"{self.title}. {self.words}\n", self.status, headers=self.headers)
        way = html(_WAY, to=self.way[0], label=self.way[1]) if self.way else html("")
        return _page(self.title, self.words, way, self.status, self.headers)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response; a websocket is closed before it opens."""
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self.response(Headers(scope=scope))(scope, receive, send)
