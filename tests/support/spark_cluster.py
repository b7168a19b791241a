"""A standalone Spark cluster on the loopback interface: a master and workers with a core each."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

CLASSES = "org.apache.spark.deploy"
EXECUTOR = "CoarseGrainedExecutorBackend"
START_SECONDS = 120


@dataclass(frozen=True)
class SparkCluster:
    """``log`` is what the workers write: where their executors start and end."""

    master: str
    workers: tuple[int, ...]
    logs: tuple[Path, ...]

    @property
    def log(self) -> str:
        return "".join(log.read_text() for log in self.logs)

    def executors(self) -> list[int]:
        """Returns the process ids of all executors."""
        return [
            child for worker in self.workers for child in _children(worker) if EXECUTOR in _command(child)
        ]

    def kill_executor(self) -> int:
        """Kills an executor as a machine that fails does, and returns its process id."""
        executor = self.executors()[0]
        os.kill(executor, signal.SIGKILL)
        return executor


@contextlib.contextmanager
def running_cluster(folder: Path, *, workers: int = 2, memory: str = "2g") -> Iterator[SparkCluster]:
    """Yields a cluster whose logs and working folders are in ``folder``; ends it afterwards."""
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    at = ["--host", "127.0.0.1", "--webui-port", "0"]
    with contextlib.ExitStack() as stack:
        log = folder / "master.log"
        stack.enter_context(_daemon(log, f"{CLASSES}.master.Master", "--port", str(port), *at))
        wait_for(lambda: "I have been elected leader" in log.read_text(), log)
        logs, ids = [], []
        for number in range(workers):
            logs.append(folder / f"worker{number}.log")
            work = ["--cores", "1", "--memory", memory, "--work-dir", str(folder / f"work{number}")]
            ids.append(stack.enter_context(_daemon(logs[-1], f"{CLASSES}.worker.Worker", *work, *at, master)))
        for log in logs:
            wait_for(lambda log=log: "Successfully registered with master" in log.read_text(), log)
        yield SparkCluster(master, tuple(ids), tuple(logs))


def wait_for(is_so: Callable[[], bool], log: Path, seconds: float = START_SECONDS) -> None:
    """Returns when it is so. Raises TimeoutError with the end of the log."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(log.read_text()[-2000:])
        time.sleep(0.1)


@contextlib.contextmanager
def _daemon(log: Path, kind: str, *arguments: str) -> Iterator[int]:
    """Yields the process id of a daemon of Spark, whose script becomes the Java process."""
    import pyspark

    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {
        **os.environ,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        # Spark's own switches for its daemons: small heaps, which start fast
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
    }
    with (
        log.open("w") as out,
        subprocess.Popen(
            [str(script), kind, *arguments], stdout=out, stderr=subprocess.STDOUT, env=environment
        ) as process,
    ):
        try:
            yield process.pid
        finally:
            process.terminate()  # a worker ends its executors


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
