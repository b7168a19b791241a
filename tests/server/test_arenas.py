"""How many arenas of malloc a server's threads use: each keeps gaps that no other can fill."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import ROOT

APP_WITH_THREADS = """
import app
import ctypes, sys
from threading import Barrier, Thread

together = Barrier(12)

def use_memory():
    together.wait()
    bytearray(5000)
    together.wait()

threads = [Thread(target=use_memory) for _ in range(12)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only glibc has arenas")
def test_all_threads_of_the_app_use_one_arena(tmp_path: Path) -> None:
    facts = tmp_path / "malloc.xml"
    own = {
        "RECDASH_DATABASE_URL": f"sqlite:///{tmp_path / 'r.db'}",
        "RECDASH_ARTIFACTS": str(tmp_path / "files"),
    }
    command = [sys.executable, "-c", APP_WITH_THREADS, str(facts)]
    subprocess.run(command, cwd=ROOT, env=os.environ | own, check=True, capture_output=True)
    assert facts.read_text().count("<heap nr=") == 1


ARENA_BYTES = 1 << 26
"""What glibc reserves for an arena beside the first; it begins at a multiple, and what is not in use has no
permissions.
"""


def n_arenas(mapped: str) -> int:
    """Returns the number of arenas of a process by its list of mappings."""
    lines = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (\S+)", mapped, re.MULTILINE)
    areas = [(int(begin, 16), int(end, 16), rights) for begin, end, rights in lines]
    beside_the_first = [
        used
        for used, left in pairwise(areas)
        if used[0] % ARENA_BYTES == 0 and (used[1], used[0] + ARENA_BYTES, "---p") == left
    ]
    return 1 + len(beside_the_first)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux lists what is mapped")
@pytest.mark.parametrize(
    ("file", "setting"),
    [
        ("Makefile", r"^export (MALLOC_ARENA_MAX) = (\d+)$"),
        ("Dockerfile", r"^ENV (MALLOC_ARENA_MAX)=(\d+)"),
        ("recdash/cli/serve.py", r'"(MALLOC_ARENA_MAX)", "(\d+)"'),
    ],
)
def test_a_server_has_one_arena_however_it_is_started(server: Any, file: str, setting: str) -> None:
    """Streamlit has started threads before it loads the app, each with an arena."""
    given = re.search(setting, (ROOT / file).read_text(), re.MULTILINE)
    assert given is not None
    process = server(settings={given[1]: given[2]}).process
    assert n_arenas(Path(f"/proc/{process.pid}/maps").read_text()) == 1
