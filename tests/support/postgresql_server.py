"""A PostgreSQL server of the tests' own, on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/bin"))
UNPRIVILEGED = "nobody"


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server that listens on loopback only and trusts whoever reaches it there."""

    folder: Path
    port: int

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://recdash@127.0.0.1:{self.port}/{database}"

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL, which refuses to work for root."""
        user = pwd.getpwnam(UNPRIVILEGED).pw_uid if os.geteuid() == 0 else None
        line = [str(PROGRAMS / program), "-D", str(self.folder / "data"), *arguments]
        with (self.folder / "output").open("a") as output:
            subprocess.run(line, check=True, user=user, cwd=self.folder, stdout=output, stderr=output)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='{self.folder}'"
        # On a busy machine the recovery takes longer than the minute that pg_ctl waits by default.
        self.run("pg_ctl", "-w", "-t", "600", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, mode: str) -> None:
        self.run("pg_ctl", "-w", "-t", "600", "-m", mode, "stop")


@contextmanager
def running_server() -> Iterator[Server]:
    """Yields a new server, which is ended and removed afterwards."""
    # Not under pytest's folder, which only its owner may enter.
    folder = Path(tempfile.mkdtemp(prefix="recdash-postgresql-"))
    if os.geteuid() == 0:
        shutil.chown(folder, UNPRIVILEGED)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        started = Server(folder, int(listener.getsockname()[1]))
    (folder / "output").touch()
    started.run("initdb", "-U", "recdash", "-A", "trust", "-E", "UTF8", "--no-locale")
    started.start()
    yield started
    started.stop("immediate")
    shutil.rmtree(folder)
