"""A running dashboard behind a proxy: its visitors, their requests, and the pages that they have open."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from web_requests import PROXY_SECRET
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from recdash.service import Workspace

MEBIBYTE = 2**20
SETTINGS = {
    "RECDASH_AUTH": "proxy",
    "RECDASH_PROXY_SECRET": PROXY_SECRET,
    "RECDASH_ADMINS": "ada",
    "RECDASH_EDITORS": "ed",
    "RECDASH_VIEWERS": "vi",
    "RECDASH_MAX_UPLOAD_BYTES": str(MEBIBYTE),
    "RECDASH_UPLOAD_BUDGET_BYTES": str(4 * MEBIBYTE),
}
VISITORS = ("nobody", "guest", "viewer", "editor", "admin")
NAMES = {"viewer": "vi", "editor": "ed", "admin": "ada"}


@dataclass(frozen=True)
class House:
    """A running dashboard with films and books, a share link and a report of films."""

    url: str
    workspace: Workspace = field(repr=False)
    ids: Mapping[str, str]
    token: str
    report: str

    def headers(self, visitor: str) -> dict[str, str]:
        """What the request of such a visitor carries."""
        if visitor == "guest":
            return {"cookie": f"recdash_share_{urlsplit(self.url).port}={self.token}"}
        if visitor == "nobody":
            return {}
        return {"X-Forwarded-User": NAMES[visitor], "X-Recdash-Proxy-Secret": PROXY_SECRET}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


# ── requests ─────────────────────────────────────────────────────────────────────────────────


def ask(
    house: House, path: str, headers: Mapping[str, str], *, method: str = "GET", body: bytes | None = None
) -> Answer:
    parts = urlsplit(house.url)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=180)) as connection:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        given = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, given, answer.read())


def opening(house: House, headers: Mapping[str, str]) -> int:
    """The status that a websocket gets at its opening."""
    try:
        with stream(house, headers):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def stream(
    house: House, headers: Mapping[str, str], origin: str | None = None, session: str = ""
) -> ClientConnection:
    """A page's websocket; that of ``session`` again where the browser names one, as it does after a break."""
    names = ["streamlit", "none", session] if session else ["streamlit"]
    return connect(
        f"{house.url.replace('http', 'ws')}/_stcore/stream",
        subprotocols=[Subprotocol(name) for name in names],
        additional_headers=dict(headers),
        origin=origin,  # type: ignore[arg-type]
        max_size=None,
    )


# ── pages ────────────────────────────────────────────────────────────────────────────────────


class Tab:
    """A page that somebody has open, as the browser's script would."""

    def __init__(self, house: House, headers: Mapping[str, str], wire: ClientConnection) -> None:
        self.house, self.headers, self.wire = house, headers, wire
        self.session = self.said = ""
        self.run()

    def run(self, page: str = "") -> None:
        """Have the page with this address drawn, and note what it says."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        message.rerun_script.page_name = page
        self.wire.send(message.SerializeToString())
        while not self.take(ForwardMsg.FromString(self.wire.recv(timeout=180))):
            pass

    def take(self, message: ForwardMsg) -> bool:
        """Is that the end of the run?"""
        if message.WhichOneof("type") == "new_session":
            self.session = message.new_session.initialize.session_id
        if message.WhichOneof("type") == "delta":
            html = message.delta.new_element.html.body
            self.said += "" if html.startswith("<style>") else html  # a style sheet says nothing
        return message.WhichOneof("type") == "script_finished"

    def put(self, size: int, session: str | None = None, **headers: str) -> int:
        """The status of announcing and sending a file of so many bytes: the first one that is a refusal."""
        begun = self.announce(size, session, **headers)
        if begun.status >= 400:
            return begun.status
        path = f"/uploads/{session or self.session}/{json.loads(begun.body)['id']}"
        given = {**self.headers, **headers, "upload-offset": "0"}
        return ask(self.house, path, given, method="PATCH", body=b"x" * size).status

    def announce(self, size: int, session: str | None = None, **headers: str) -> Answer:
        body = json.dumps({"name": "f.csv", "size": size, "zone": "files"}).encode()
        path = f"/uploads/{session or self.session}"
        return ask(self.house, path, {**self.headers, **headers}, method="POST", body=body)

    def remove(self, session: str | None = None, file: str = "file") -> int:
        path = f"/uploads/{session or self.session}/{file}"
        return ask(self.house, path, self.headers, method="DELETE").status


@contextmanager
def opened(house: House, visitor: str) -> Iterator[Tab]:
    headers = house.headers(visitor)
    with stream(house, headers, origin=house.url) as wire:
        yield Tab(house, headers, wire)
