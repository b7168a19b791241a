"""Measure whole processes, in turn and in rounds, and keep what was measured.

The machine is never quiet: CPU seconds instead of wall time, every contender once a round, and ratios taken
within a round. This module imports nothing large: a child's peak memory starts at its parent's.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHELL = ROOT / "recdash" / "ui" / "shell" / "main.py"
"""The script of the app, as app.py serves it."""
ONCE_ABOVE = 60.0
"""CPU seconds above which a contender is measured once."""
PATIENCE = 5
"""Times the allowed CPU seconds that may pass on the clock: the machine may be busy, a process asleep."""
MOST_MEMORY = int(0.8 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
"""Bytes a contender may ask for: it shall fail alone, and not take the machine with it."""


def resident(pid: int) -> int:
    """Returns the bytes that a process has in memory; 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user and system, with all children), peak memory in MiB, and what was printed.

    ``late``: the time was up, and ``cpu`` is what it took until then. ``problem``: why there is no result.
    """

    cpu: float
    peak: float
    output: str = ""
    late: bool = False
    problem: str = ""


def measure(command: Sequence[str | Path], seconds: int) -> Cost:
    """Run a command from the project's folder to its end, or end it after so many CPU seconds."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=errors, start_new_session=True)
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.prlimit(process.pid, resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        asleep = threading.Timer(PATIENCE * seconds, os.killpg, (process.pid, signal.SIGXCPU))
        asleep.start()
        _, status, used = os.wait4(process.pid, 0)
        asleep.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        late = process.returncode == -signal.SIGXCPU
        return Cost(
            cpu=used.ru_utime + used.ru_stime,
            peak=used.ru_maxrss / 1024,
            output=_text(output),
            late=late,
            problem=_reason(_text(errors), process.returncode) if process.returncode and not late else "",
        )


def _reason(errors: str, code: int) -> str:
    """The line of a traceback that names the error, else the last line, else the exit code."""
    lines = [line for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return (named or lines or [f"ended with {code}"])[-1][:200]


def _text(file: Any) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


# ── what was measured ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Record:
    """One contender's rounds of one session; ``facts`` are what it printed last."""

    session: str
    cpu: Sequence[float] = ()
    peak: Sequence[float] = ()
    late: bool = False
    problem: str = ""
    facts: Mapping[str, float] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        return bool(self.cpu) and not self.late and not self.problem

    @property
    def median_cpu(self) -> float:
        return statistics.median(self.cpu)

    @property
    def median_peak(self) -> float:
        return statistics.median(self.peak)

    def plus(self, cost: Cost, facts: Mapping[str, float]) -> Record:
        """With one more round. CPU seconds that the contender printed win over those of its process."""
        return replace(
            self,
            cpu=(*self.cpu, round(facts.get("cpu", cost.cpu), 4)),
            peak=(*self.peak, round(cost.peak, 1)),
            late=cost.late,
            problem=cost.problem,
            facts=facts,
        )


def ratio(over: Record, under: Record) -> float:
    """Median over the rounds of one session of over ÷ under; of two sessions, that of their medians."""
    if over.session != under.session or min(len(over.cpu), len(under.cpu)) < 2:
        return over.median_cpu / under.median_cpu
    return statistics.median(a / b for a, b in zip(over.cpu, under.cpu, strict=False))


def printed(output: str) -> dict[str, float]:
    """Facts that a contender prints as a JSON object."""
    found: dict[str, float] = json.loads(output)
    return found


@dataclass(frozen=True)
class Contender:
    """What is measured: its key in the results, its command, and how to read facts from its output.

    ``easier`` is the key of a task that takes it less; when that was late, so is this, untried.
    """

    key: str
    command: Sequence[str | Path]
    facts: Callable[[str], Mapping[str, float]] = printed
    easier: str = ""


class Results:
    """Records by size and key in a JSON file, written after every measurement."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.facts: dict[str, Any] = {"machine": {}, "peers": {}, "records": {}}
        if file.exists():
            self.facts |= json.loads(file.read_text(encoding="utf-8"))

    def get(self, size: str, key: str) -> Record | None:
        kept = self.facts["records"].get(size, {}).get(key)
        return None if kept is None else Record(**kept)

    def late(self, sizes: Sequence[str], seconds: int) -> dict[str, Record]:
        """By key, what did not end within about as many CPU seconds at one of these sizes."""
        found = {key: self.get(size, key) for size in sizes for key in self.facts["records"].get(size, {})}
        return {
            key: record
            for key, record in found.items()
            if record and record.late and record.cpu[-1] > 0.9 * seconds
        }

    def put(self, size: str, key: str, record: Record) -> None:
        self.facts["records"].setdefault(size, {})[key] = asdict(record)
        self.save()

    def save(self) -> None:
        draft = self.file.with_suffix(".draft")
        draft.write_text(json.dumps(self.facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        draft.replace(self.file)


def run_rounds(
    contenders: Sequence[Contender],
    rounds: int,
    seconds: int,
    keep: Callable[[str, Record], None],
    session: str,
    late: Mapping[str, Record] | None = None,
) -> None:
    """Measure every contender once a round; those that are slow, late or broken in the first round only.

    ``late`` are records of keys that were late with less to do: a bound that holds here too.
    """
    records = {one.key: Record(session) for one in contenders}
    known_late = dict(late or {})
    for turn in range(rounds):
        for one in contenders:
            so_far = records[one.key]
            if turn and (not so_far.finished or so_far.median_cpu > ONCE_ABOVE):
                continue
            bound = known_late.get(one.key) or known_late.get(one.easier)
            records[one.key] = replace(bound, session=session) if bound else _next(so_far, one, seconds)
            if records[one.key].late:
                known_late[one.key] = records[one.key]
            keep(one.key, records[one.key])


def _next(so_far: Record, one: Contender, seconds: int) -> Record:
    cost = measure(one.command, seconds)
    return so_far.plus(cost, {} if cost.late or cost.problem else one.facts(cost.output))
