"""``python -m benchmarks``: make the workloads, measure, and write results.json, the table and the picture.

What is not measured this time keeps its earlier figures, so that a long session may come in parts.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks import contenders, report
from benchmarks.harness import ROOT, Contender, Record, Results, run_rounds
from benchmarks.peers import peer_names
from benchmarks.workloads import SIZES
from recdash import __version__

HERE = Path(__file__).resolve().parent
PEER_SIZES = ("S", "M")
"""At L most peers would not fit in memory."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    listed = partial(str.split, sep=",")
    parser.add_argument("--sizes", type=listed, default=list(SIZES), help="default: S,M,L")
    parser.add_argument("--peers", type=listed, default=peer_names(), help="default: all in benchmarks/peers")
    parser.add_argument("--only", choices=["us", "peers"], help="leave the others' figures as they are")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--timeout", type=int, default=240, help="CPU seconds a process may take (240)")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache", help="workloads and environments")
    parser.add_argument("--output", type=Path, default=HERE, help="folder of results.json and README.md")
    parser.add_argument("--report", action="store_true", help="measure nothing; write the report again")
    return parser.parse_args()


def main(asked: argparse.Namespace) -> None:
    results = Results(asked.output / "results.json")
    asked.output.mkdir(parents=True, exist_ok=True)
    if not asked.report:
        session = datetime.now(UTC).isoformat(timespec="seconds")
        results.facts["machine"] = machine()
        for size in asked.sizes:
            _measure_size(size, asked, results, session)
    report.write(results, asked.output)


def _measure_size(size: str, asked: argparse.Namespace, results: Results, session: str) -> None:
    folder = asked.cache / "workloads"
    _run_quietly(contenders.make_workload(size, folder))
    with tempfile.TemporaryDirectory(dir=asked.cache) as store:
        taking_part: list[Contender] = []
        if asked.only == "peers":  # ratios are taken within a session
            taking_part += contenders.shared(size, folder)
        else:
            _run_quietly(contenders.store_run(size, folder, Path(store)))
            taking_part += contenders.ours(size, folder, Path(store))
        if asked.only != "us" and size in PEER_SIZES:
            taking_part += _peers(size, asked, results)
        smaller = PEER_SIZES[: PEER_SIZES.index(size)] if size in PEER_SIZES else ()
        late = results.late(smaller, asked.timeout)
        run_rounds(taking_part, asked.repeat, asked.timeout, partial(_keep, results, size), session, late)


def _peers(size: str, asked: argparse.Namespace, results: Results) -> list[Contender]:
    """The tasks of the peers that install; what is known of each goes to the results."""
    tasks = []
    _run_quietly(contenders.make_workload(contenders.FEW_USERS, asked.cache / "workloads"))
    for name in asked.peers:
        known, own = contenders.of_peer(name, size, asked.cache / "workloads", asked.cache / "environments")
        results.facts["peers"][name] = known
        tasks += own
    results.save()
    return tasks


def _keep(results: Results, size: str, key: str, record: Record) -> None:
    results.put(size, key, record)
    end = "  not in time" if record.late else f"  {record.problem}"
    print(f"{size}  {key:<40} {record.cpu[-1]:8.2f} s {record.peak[-1]:8.0f} MiB{end}", flush=True)


def _run_quietly(command: Sequence[str | Path]) -> None:
    """Raises CalledProcessError with what it said."""
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def machine() -> dict[str, str | int]:
    """What the figures depend on beside the code."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "pyarrow")},
        "recdash": _commit(),
    }


def _commit() -> str:
    """The version, and the commit where git knows it."""
    git = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    return f"{__version__} {found.stdout.strip()}".strip()


def _processor() -> str:
    """Its name where Linux says it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


if __name__ == "__main__":
    main(arguments())
