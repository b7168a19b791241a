"""Closes connections whose request does not arrive in time, which the web server would keep open for good."""

from __future__ import annotations

from asyncio import TimerHandle, get_running_loop
from functools import wraps
from typing import Any

HEADER_SECONDS = 20.0
"""How long the headers of a request may take, from the connection or from their first byte."""


class HeaderTimer:
    """The time limit of one connection for the headers of its next request."""

    def __init__(self, protocol: Any, seconds: float) -> None:
        self._protocol, self._seconds = protocol, seconds
        self._timer: TimerHandle | None = None
        self._answered: Any = None

    def start(self) -> None:
        """Starts to wait for a request, unless it waits already."""
        if self._timer is None:
            self._answered = self._protocol.cycle
            self._timer = get_running_loop().call_later(self._seconds, self._close)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def received(self) -> None:
        """Starts or stops the timer after data arrived: it stops if the headers are complete."""
        cycle = self._protocol.cycle
        is_open = cycle is not None and (cycle.more_body or not cycle.response_complete)
        if is_open or cycle is not self._answered:
            self.stop()
            self._answered = cycle
        else:
            self.start()

    def _close(self) -> None:
        self._timer = None
        self._protocol.transport.close()


def limit_headers(protocol: type[Any], seconds: float = HEADER_SECONDS) -> None:
    """Gives each connection of uvicorn's ``protocol`` class a time limit for headers; once per class.

    Streamlit starts uvicorn and takes no protocol class, hence this changes the class that uvicorn uses.
    """
    if hasattr(protocol, "recdash_header_seconds"):
        protocol.recdash_header_seconds = seconds
        return
    made, received, lost = protocol.connection_made, protocol.data_received, protocol.connection_lost

    @wraps(made)
    def connection_made(self: Any, transport: Any) -> None:
        made(self, transport)
        self.recdash_timer = HeaderTimer(self, type(self).recdash_header_seconds)
        self.recdash_timer.start()

    @wraps(received)
    def data_received(self: Any, data: bytes) -> None:
        received(self, data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:  # closed, or a websocket
            self.recdash_timer.stop()
        else:
            self.recdash_timer.received()

    @wraps(lost)
    def connection_lost(self: Any, exc: Exception | None) -> None:
        self.recdash_timer.stop()
        lost(self, exc)

    protocol.connection_made, protocol.data_received = connection_made, data_received
    protocol.connection_lost = connection_lost
    protocol.recdash_header_seconds = seconds
