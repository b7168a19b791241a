"""What is measured on a workload: the read limit, recdash as its users run it, and the peers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.environments import Environment, environment_for
from benchmarks.harness import Contender, measure
from benchmarks.peers import peer
from benchmarks.workloads import FORMS, Form, workload

SIX = ("ndcg", "recall", "precision", "map", "mrr", "hit_rate")
TASKS = {"one cutoff": "10", "every k": "1-100"}
"""What peers and we both do, with the cutoffs in a peer's words, the easier one first."""
FEW_USERS = "100"
FORMS_OF: Mapping[str, Sequence[Form]] = {"L": ("integers",), FEW_USERS: ("integers",)}
"""Sizes that come in fewer forms than all."""

SECONDS_TO_COMPILE = 600


def make_workload(size: str, folder: Path) -> Sequence[str | Path]:
    """The command that makes it; in a process of its own, because ours has to stay small."""
    return _module("workloads", size, folder, *FORMS_OF.get(size, FORMS))


def ours(size: str, folder: Path, store: Path) -> Iterator[Contender]:
    """Us and the read limit; ``store`` is the folder of a workspace that has the run."""
    for form in FORMS_OF.get(size, FORMS):
        files = workload(folder, size, form)
        yield Contender(_key("read", form), _module("limit", files.lists), _nothing)
        everything = _evaluate(size, folder, form, "--catalogue", files.catalogue)
        yield Contender(_key("everything", form), everything, _nothing)
    files = workload(folder, size)
    yield Contender(
        "everything from Python", _module("python_api", files.lists, files.truth, files.catalogue), _nothing
    )
    yield from shared(size, folder)
    yield Contender("from saved hits", _module("saved", "ask", store))


def shared(size: str, folder: Path) -> Iterator[Contender]:
    """What the peers do, by us."""
    at_ten = ",".join(f"{name}@10" for name in SIX)
    yield Contender("one cutoff", _evaluate(size, folder, "integers", "--metrics", at_ten), _at_ten)
    yield Contender("every k", _evaluate(size, folder, "integers", "--metrics", ",".join(SIX)), _at_ten)


def store_run(size: str, folder: Path, store: Path) -> Sequence[str | Path]:
    """The command that fills ``store`` for the question from saved hits."""
    files = workload(folder, size)
    return _module("saved", "store", store, files.lists, files.truth, files.catalogue)


def of_peer(name: str, size: str, folder: Path, environments: Path) -> tuple[dict[str, str], list[Contender]]:
    """What is known of a peer and its tasks; none, with the reason, where it does not install or run."""
    one = peer(name)
    known = {"title": one.TITLE, "note": one.NOTE}
    found = environment_for(name, one.REQUIREMENTS, environments)
    reason = found.reason or _first_run(name, found, folder)
    if reason:
        return {**known, "reason": reason}, []
    easy, *_ = TASKS
    tasks = [
        Contender(f"{task}, {name}", _of_peer(name, found, size, folder, cutoffs), easier=f"{easy}, {name}")
        for task, cutoffs in TASKS.items()
    ]
    return {**known, "version": found.version}, tasks


def _first_run(name: str, found: Environment, folder: Path) -> str:
    """Why it does not run; nothing if it does. What it compiles when first used is not held against it."""
    return measure(_of_peer(name, found, FEW_USERS, folder, "1-2"), SECONDS_TO_COMPILE).problem


def _of_peer(name: str, found: Environment, size: str, folder: Path, cutoffs: str) -> Sequence[str | Path]:
    files = workload(folder, size)
    return [found.python, "-m", "benchmarks.peers", name, files.lists, files.truth, cutoffs]


def _key(task: str, form: Form) -> str:
    return task if form == "integers" else f"{task}, {form}"


def _module(name: str, *arguments: str | Path) -> list[str | Path]:
    return [sys.executable, "-m", f"benchmarks.{name}", *arguments]


def _evaluate(size: str, folder: Path, form: Form, *more: str | Path) -> list[str | Path]:
    files = workload(folder, size, form)
    asked = ["--truth", files.truth, "--run", f"us={files.lists}", "--format", "json", *more]
    return [sys.executable, "-m", "recdash", "evaluate", *asked]


def _nothing(_: str) -> dict[str, float]:
    return {}


def _at_ten(output: str) -> dict[str, float]:
    rows = json.loads(output)["scores"]
    return {f"{row['metric']}@10": row["value"] for row in rows if row["k"] == 10}
