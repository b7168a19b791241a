"""The power goes off: what was acknowledged before is there, whatever the disk kept of the rest.

``strace`` records what a writer hands to the system. At each of many moments the disk is made anew: what was
synchronised by then is on it, and of every later write it has by chance all, a part, or nothing. It does not
model disks that lie about what they have synchronised, nor names of files that were never synchronised.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from store_contract import add_experiment

from recdash.store import open_store

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]
MOMENTS, RUNS, SECTOR = 500, 25, 512
CALLS = "openat,close,write,pwrite64,fsync,fdatasync,ftruncate,link,unlink,rename"
CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+)")
BYTES = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


WRITER = """
import sys
import numpy as np, pyarrow as pa
from datetime import datetime, UTC
from recdash.domain.records import Run
from recdash.domain.results import Curve
from recdash.store import new_id, open_store
url, experiment, count = sys.argv[1:4]
store, k = open_store(url), np.arange(1, 101)
for number in range(int(count)):
    upload = store.artifacts.put(pa.table({"item_id": [number]}))
    name = f"run-{number}"
    run = Run(new_id(), experiment, name, datetime.now(UTC), 0, upload, {"hits": upload}, {})
    store.runs.add(run, [Curve(metric, k, k / 200, k / 900, 7) for metric in ("map", "ndcg", "recall")])
    print(name, flush=True)
store.close()
"""


@dataclass
class OnDisk:
    """A file: its durable bytes, and the writes that no synchronisation has followed yet."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes]] = field(default_factory=list)
    size: int = 0

    def write(self, at: int, data: bytes) -> None:
        self.pending.append((at, data))
        self.size = max(self.size, at + len(data))

    def truncate(self, size: int) -> None:
        self.pending.append((size, b""))
        self.size = size

    def sync(self) -> None:
        for at, data in self.pending:
            _apply(self.durable, at, data)
        self.pending.clear()

    def after_power_loss(self, chance: random.Random) -> bytes:
        content = bytearray(self.durable)
        for at, data in self.pending:
            if not data:
                if chance.random() < 0.5:
                    _apply(content, at, data)
                continue
            for start in range(0, len(data), SECTOR):
                if chance.random() < 0.5:
                    _apply(content, at + start, data[start : start + SECTOR])
        return bytes(content)


def _apply(content: bytearray, at: int, data: bytes) -> None:
    """Writes the data, or cuts the content at ``at`` if there is none."""
    if not data:
        del content[at:]
        content.extend(bytes(at - len(content)))
        return
    content.extend(bytes(max(0, at - len(content))))
    content[at : at + len(data)] = data


class Disk:
    """The files below ``folder`` as the recorded calls leave them, and the runs that were acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.files: dict[str, OnDisk] = {}
        for path in folder.rglob("*"):
            if path.is_file():
                self.files[str(path)] = OnDisk(bytearray(path.read_bytes()), [], path.stat().st_size)
        self.open: dict[int, tuple[str, int]] = {}
        self.acknowledged: list[str] = []

    def take(self, call: str, arguments: str, result: int) -> None:
        texts = [bytes.fromhex(text.replace("\\x", "")) for text in BYTES.findall(arguments)]
        if call == "openat":
            self._open(os.fsdecode(texts[0]), arguments, result)
        elif call in {"link", "unlink", "rename"}:
            self._name(call, [os.fsdecode(text) for text in texts])
        else:
            number = int(arguments.split(",", maxsplit=1)[0])
            if call == "write" and number == 1:
                self.acknowledged += texts[0].decode().split()
            elif number in self.open:
                self._change(call, number, arguments, texts)

    def _open(self, path: str, arguments: str, number: int) -> None:
        if path.startswith(self.folder) and not Path(path).is_dir():
            self.open[number] = (path, 0)
            if "O_CREAT" in arguments:
                self.files.setdefault(path, OnDisk())

    def _name(self, call: str, names: list[str]) -> None:
        file = self.files.get(names[0])
        if file is None:
            return
        if call != "unlink":
            self.files[names[1]] = file
        if call != "link":
            del self.files[names[0]]

    def _change(self, call: str, number: int, arguments: str, texts: list[bytes]) -> None:
        path, at = self.open[number]
        file = self.files.get(path, OnDisk())
        if call == "close":
            del self.open[number]
        elif call == "write":
            file.write(at, texts[0])
            self.open[number] = (path, at + len(texts[0]))
        elif call == "pwrite64":
            file.write(int(arguments.rsplit(",", 1)[1]), texts[0])
        elif call == "ftruncate":
            file.truncate(int(arguments.rsplit(",", 1)[1]))
        else:
            file.sync()

    def after_power_loss(self, folder: Path, chance: random.Random) -> None:
        for path, file in self.files.items():
            if path.endswith(("-shm", ".lock", ".queue")):
                continue
            copy = folder / Path(path).relative_to(self.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.after_power_loss(chance))


def test_no_acknowledged_run_is_lost_when_the_power_goes_off(tmp_path: Path) -> None:
    data = tmp_path / "data"
    url = f"sqlite:///{data / 'recdash.db'}"
    store = open_store(url)
    films = add_experiment(store)
    store.close()
    disk = Disk(data)
    log = tmp_path / "calls"
    traced = ["strace", "-f", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-o", str(log)]
    writer = [sys.executable, "-c", WRITER, url, films.id, str(RUNS)]
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    subprocess.run([*traced, *writer], check=True, capture_output=True, env=environment)
    with log.open() as lines:
        calls = [(call[1], call[2], int(call[3])) for call in map(CALL.match, lines) if call]
    database = "".join(f"\\x{byte:02x}" for byte in os.fsencode(data / "recdash.db"))
    first = next(number for number, (_, arguments, _) in enumerate(calls) if database in arguments)
    chance = random.Random(2610)
    moments = set(chance.sample(range(first, len(calls)), min(MOMENTS, len(calls) - first)))
    n_lost_writes = 0
    for number, (call, arguments, result) in enumerate(calls):
        if number in moments:
            folder = tmp_path / "after"
            disk.after_power_loss(folder, chance)
            n_lost_writes += any(file.pending for file in disk.files.values())
            again = open_store(f"sqlite:///{folder / 'recdash.db'}", found_artifacts="leave")
            names = {run.name for run in again.runs.of_experiment(films.id)}
            assert set(disk.acknowledged) <= names, number
            assert again.check() == [], number
            again.close()
            shutil.rmtree(folder)
        if result >= 0:
            disk.take(call, arguments, result)
    assert len(disk.acknowledged) == RUNS
    assert n_lost_writes > len(moments) // 20
