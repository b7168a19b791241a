"""A web server closes a connection whose request does not arrive, and no other one."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from recdash.web.connection_limits import limit_headers

SECONDS, AT_MOST = 0.5, 20.0
"""The limit of this test's server, and how long a busy machine may take to apply it."""
REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"


class Timed(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The web server's protocol with a limit of its own."""


async def echo(_scope: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    limit_headers(Timed, SECONDS)
    config = uvicorn.Config(
        echo, port=0, lifespan="off", log_level="error", http=Timed, timeout_keep_alive=int(AT_MOST)
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


def connection(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=AT_MOST)


def reply(wire: socket.socket) -> bytes:
    received = b""
    while not received.partition(b"\r\n\r\n")[2][3:]:
        received += wire.recv(1000)
    return received


def test_a_connection_without_a_request_is_closed(port: int) -> None:
    with connection(port) as silent:
        assert silent.recv(1) == b""


def test_headers_that_trickle_in_are_closed(port: int) -> None:
    with connection(port) as slow:
        begun = time.monotonic()
        slow.sendall(REQUEST[:20])
        slow.settimeout(0.1)
        while True:
            assert time.monotonic() - begun < AT_MOST
            try:
                slow.sendall(b"X")
                assert slow.recv(1) == b""
                break
            except TimeoutError:
                continue
            except OSError:
                break


def test_a_second_request_has_the_same_limit(port: int) -> None:
    with connection(port) as kept:
        kept.sendall(REQUEST + b"abcd")
        assert reply(kept).endswith(b"abcd")
        kept.sendall(REQUEST[:20])
        assert kept.recv(1) == b""


def test_a_slow_body_and_a_second_request_are_served(port: int) -> None:
    with connection(port) as patient:
        patient.sendall(REQUEST + b"ab")
        patient.settimeout(3 * SECONDS)
        with pytest.raises(TimeoutError):
            patient.recv(1)
        patient.settimeout(AT_MOST)
        patient.sendall(b"cd")
        assert reply(patient).endswith(b"abcd")
        patient.sendall(REQUEST + b"efgh")
        assert reply(patient).endswith(b"efgh")
