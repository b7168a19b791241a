"""A page of the dashboard that is open without a browser: a client of Streamlit's messages.

Fifty Chromium take more of a small machine than the server that they are to measure. This client sends what
a browser sends for a click, and waits until the server says that the run of the script has ended; it draws
nothing.
"""

from __future__ import annotations

import json
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

PATIENCE_S = 300


class PageError(Exception):
    """The page shows an exception, or the server says that there is no such page."""


@dataclass
class OpenPage:
    """A session of the dashboard, opened with ``headers``. ``buttons`` are {label: id}, and ``zones`` the
    places for files, that it shows.
    """

    url: str
    name: str = ""
    query: str = ""
    buttons: dict[str, str] = field(default_factory=dict)
    zones: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    _session: str = ""
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        connection = connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit")],
            origin=Origin(self.url),
            additional_headers=self.headers,
            max_size=None,
            open_timeout=PATIENCE_S,
        )
        self._wire = self._open.enter_context(connection)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def turn_to(self, name: str, query: str = "") -> None:
        """Has a page drawn, as a click on a link or a change in the header does. Raises ``PageError``."""
        self.name, self.query = name, query
        self.run()

    def press(self, label: str) -> None:
        """Presses the button whose label begins so. Raises ``PageError``."""
        key = next((key for shown, key in self.buttons.items() if shown.startswith(label)), None)
        if key is None:
            raise PageError(f"no button {label}; there are {[*self.buttons]}; {self.texts[-5:]}")
        self.run(WidgetState(id=key, trigger_value=True))

    def give(self, files: dict[str, bytes]) -> None:
        """Drops files into the page's drop zone. Raises ``PageError``."""
        (zone,) = self.zones
        for name, content in files.items():
            facts = {"name": name, "size": len(content), "zone": zone}
            begun = json.loads(self._send("POST", "", json.dumps(facts).encode()))
            self._send("PATCH", f"/{begun['id']}", content)
        self.run()

    def _send(self, method: str, path: str, content: bytes) -> bytes:
        address, headers = f"{self.url}/uploads/{self._session}{path}", {"Upload-Offset": "0"}
        request = urllib.request.Request(address, content, headers, method=method)  # noqa: S310 - our own
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - our own
            return bytes(answer.read())

    def run(self, trigger: WidgetState | None = None) -> None:
        """Has the script run, and returns when it has ended. Raises ``PageError``."""
        message = BackMsg()
        state = message.rerun_script
        state.page_name, state.query_string = self.name, self.query
        if trigger is not None:
            state.widget_states.widgets.append(trigger)
        self._wire.send(message.SerializeToString())
        while not self._take(self._next()):
            pass

    def _next(self) -> ForwardMsg:
        return ForwardMsg.FromString(self._wire.recv(timeout=PATIENCE_S))

    def _take(self, message: ForwardMsg) -> bool:
        """Notes what a message shows, and returns whether the run has ended."""
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._session = message.new_session.initialize.session_id
            self.buttons.clear()
            self.zones.clear()
            self.texts.clear()
        elif kind == "page_not_found":
            raise PageError(f"there is no page {self.name}")
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._note(message.delta.new_element)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "script_finished":
            return message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        return False

    def _note(self, element: Element) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            raise PageError(f"{element.exception.type}: {element.exception.message}")
        if kind == "button":
            self.buttons[element.button.label] = element.button.id
        elif kind == "bidi_component" and element.bidi_component.component_name == "recdash.file_zone":
            self.zones.append(json.loads(element.bidi_component.json)["zone"])
        elif kind == "markdown":
            self.texts.append(element.markdown.body)
        elif kind == "html" and not element.html.body.startswith("<style>"):
            self.texts.append(element.html.body)
