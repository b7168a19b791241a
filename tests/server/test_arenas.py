"""How many arenas of malloc a server's threads use: each keeps gaps that no other can fill."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

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
def test_all_threads_of_the_app_use_two_arenas(tmp_path: Path) -> None:
    facts = tmp_path / "malloc.xml"
    own = {
        "RECDASH_DATABASE_URL": f"sqlite:///{tmp_path / 'r.db'}",
        "RECDASH_ARTIFACTS": str(tmp_path / "files"),
    }
    command = [sys.executable, "-c", APP_WITH_THREADS, str(facts)]
    subprocess.run(command, cwd=ROOT, env=os.environ | own, check=True, capture_output=True)
    assert facts.read_text().count("<heap nr=") == 2
