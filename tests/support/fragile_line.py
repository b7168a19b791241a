"""A line between a browser and a server that carries a number of bytes, and then stops or breaks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

PIECE = 1 << 16


class FragileLine:
    """A relay to ``server``. Once ``carried`` bytes reach ``limit``, it holds what a browser sends, or, where
    it ``breaks``, ends all connections and takes no new ones. ``mend`` lifts the limit.
    """

    def __init__(self, server: str) -> None:
        self._server = ("127.0.0.1", urlsplit(server).port or 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.carried, self.limit, self.breaks = 0, 0, False
        self._is_open = threading.Event()
        self._is_open.set()
        self._ends: set[socket.socket] = set()
        self._is_over = False
        threading.Thread(target=self._accept, daemon=True).start()

    def stop_after(self, n_bytes: int, *, breaks: bool = False) -> None:
        self.limit, self.breaks = self.carried + n_bytes, breaks

    def mend(self) -> None:
        self.limit = 0
        self._is_open.set()

    def close(self) -> None:
        self._is_over = True
        self.mend()
        self._listener.close()
        self._end_all()

    def _accept(self) -> None:
        while not self._is_over:
            try:
                browser, _ = self._listener.accept()
            except OSError:
                return
            if not self._is_open.is_set() and self.breaks:
                browser.close()
                continue
            server = socket.create_connection(self._server)
            self._ends |= {browser, server}
            for source, target in ((browser, server), (server, browser)):
                threading.Thread(target=self._carry, args=(source, target, browser), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, browser: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(PIECE):
                if source is browser:
                    self._count(len(data))
                target.sendall(data)
        for end in (source, target):
            _end(end)
            self._ends.discard(end)

    def _count(self, size: int) -> None:
        self.carried += size
        if self.limit and self.carried >= self.limit:
            self._is_open.clear()
            if self.breaks:
                self._end_all()
        if not self.breaks:
            self._is_open.wait()

    def _end_all(self) -> None:
        for end in list(self._ends):
            _end(end)


def _end(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def fragile_line(server: str) -> Iterator[FragileLine]:
    line = FragileLine(server)
    try:
        yield line
    finally:
        line.close()
