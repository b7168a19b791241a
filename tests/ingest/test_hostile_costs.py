"""What files made to do harm cost: each is read or refused in words, soon, and hardly seen by the server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hostile_files
import pytest
from hostile_files import FILES, MEBIBYTES, SECONDS
from mutated_files import HOSTILE

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="needs Linux, which tells the most memory held"
)
QUICK = [name for name, file in FILES.items() if not file.is_long]
LONG = [name for name, file in FILES.items() if file.is_long]


def measured(folder: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Returns what each file cost in one process, which reads them as a server does."""
    command = [sys.executable, hostile_files.__file__, str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert done.returncode == 0, done.stderr[-2000:]
    costs = [json.loads(line) for line in done.stdout.splitlines()]
    return {cost["name"]: cost for cost in costs}


def faults(costs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        cost
        for name, cost in costs.items()
        if cost["s"] > SECONDS
        or cost["mib"] > MEBIBYTES
        or not re.search(FILES[name].says or "^read$", cost["said"])
    ]


def test_there_are_forty_and_more() -> None:
    assert len(FILES) >= 40
    assert len(QUICK) >= 40


def test_a_hostile_file_costs_little_and_is_answered_in_words(tmp_path: Path) -> None:
    costs = measured(tmp_path, QUICK)
    assert list(costs) == QUICK
    assert faults(costs) == []


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_a_large_hostile_file_costs_little_and_is_answered_in_words(name: str, tmp_path: Path) -> None:
    assert faults(measured(tmp_path, [name])) == []


def test_a_file_that_did_harm_costs_little(shared_data: Path, tmp_path: Path) -> None:
    given = [f"{kind}={shared_data / 'hostile' / name}" for name, kind in HOSTILE.items()]
    costs = measured(tmp_path, given)
    assert len(costs) == len(HOSTILE)
    assert [cost for cost in costs.values() if cost["s"] > SECONDS or cost["mib"] > MEBIBYTES] == []
