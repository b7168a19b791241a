"""Large uploads are scored in a process of their own: it stores the same, and nothing if it ends early."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import bookshop
import numpy as np
import pytest

from recdash.domain.records import Run
from recdash.errors import InputError, StoreError
from recdash.ingest import Limits
from recdash.service import Workspace
from recdash.service.catalog import scoring_process
from recdash.service.catalog.intake import IntakeCancelled, IntakeFile, IntakePlan, IntakeResult
from recdash.store import open_store

LIMITS = Limits(read_memory_bytes=2**30, read_seconds=60)
OWN = ("id", "experiment", "created", "replicate_of", "slot")
"""Facts in which equal runs of two stores differ."""

Opened = Callable[[str], Workspace]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens empty stores, for which all files are large."""
    monkeypatch.setattr(scoring_process, "LEAST_BYTES", 0)
    workspaces = []

    def opened(name: str) -> Workspace:
        store = open_store(f"sqlite:///{tmp_path / name / 'recdash.db'}")
        workspaces.append(Workspace(store, limits=LIMITS))
        return workspaces[-1]

    yield opened
    for workspace in workspaces:
        workspace.store.close()


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder for the process, which is empty at the end."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


def files() -> dict[str, bytes]:
    """Returns a bookshop's files; *als* has two seeds, *ease* rating predictions, *knn* scores with ties."""
    given = bookshop.files()
    head, *rows = given["als.csv"].decode().splitlines()
    given["als_seed1.csv"], given["als_seed2.csv"] = given.pop("als.csv"), given["popular.csv"]
    rated = [(user, bookshop.BOOKS[0], 4, 3.5) for user in bookshop.USERS]
    given["rated.csv"] = bookshop.csv(("customer", "isbn", "rating", "prediction"), rated)
    scored = [(*row.split(",")[:2], 1 / (1 + place // 2)) for place, row in enumerate(rows)]
    given["knn.csv"] = bookshop.csv((*head.split(",")[:2], "score"), scored)
    return given


def planned(workspace: Workspace, given: Mapping[str, bytes], experiment: str | None = None) -> IntakePlan:
    plan = workspace.intake.plan(
        [IntakeFile(name, name, data) for name, data in given.items()], experiment_id=experiment
    )
    if "rated.csv" in given:
        plan = plan.with_choice("rated.csv", run="ease").with_settings(replicates="seeds", depth=15)
        for seed in ("als_seed1.csv", "als_seed2.csv"):
            plan = plan.with_choice(seed, run="als", tags=("new",), params={"dim": "64"})
    return plan


def stored_files(workspace: Workspace) -> list[str]:
    """Returns the names of all stored and temporary files."""
    folder = workspace.store.artifacts.path(workspace.store.artifacts.put_file(b"x")).parent.parent
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def stored(workspace: Workspace, done: IntakeResult) -> list[Any]:
    """Returns all that is stored of the runs and their replicates, with the bytes of each curve."""
    runs = [added.run for added in done.runs]
    replicates = workspace.store.runs.replicates([run.id for run in runs])
    every: list[Run] = [part for run in runs for part in (run, *replicates[run.id])]
    curves = workspace.store.curves.of_runs([run.id for run in every])
    return [
        (facts(run, leave=OWN), {name: facts(curve) for name, curve in curves[run.id].items()})
        for run in every
    ]


def facts(value: Any, leave: tuple[str, ...] = ()) -> dict[str, Any]:
    fields = {name: getattr(value, name) for name in value.__dataclass_fields__ if name not in leave}
    return {name: own.tobytes() if isinstance(own, np.ndarray) else own for name, own in fields.items()}


def test_the_same_is_stored_to_the_last_bit(opened: Opened, scratch: Path) -> None:
    results = []
    for where in (None, scratch):
        workspace, given = opened("here" if where is None else "apart"), files()
        later = {"knn.csv": given.pop("knn.csv")}
        first = workspace.intake.commit(planned(workspace, given), scratch=where)
        second = workspace.intake.commit(planned(workspace, later, first.experiment.id), scratch=where)
        assert [added.run.name for added in (*first.runs, *second.runs)] == ["popular", "ease", "als", "knn"]
        assert first.experiment.baseline == first.runs[0].run.id
        results.append((stored(workspace, first), stored(workspace, second), stored_files(workspace)))
    assert results[0] == results[1]


def test_progress_names_the_candidates_and_ends_with_storing(opened: Opened, scratch: Path) -> None:
    workspace, said = opened("one"), []
    workspace.intake.commit(
        planned(workspace, bookshop.files()),
        scratch=scratch,
        progress=lambda *told: said.append(told),
    )
    fractions, texts = zip(*said, strict=True)
    assert list(fractions) == sorted(fractions)
    assert (texts[0], texts[-1]) == ("Starting", "Done")
    assert [name for name in ("popular", "als", "ease") if any(name in text for text in texts)] != []


def test_a_cancelled_process_stores_nothing(opened: Opened, scratch: Path) -> None:
    workspace = opened("one")
    plan, said = planned(workspace, files()), []
    before = stored_files(workspace)
    with pytest.raises(IntakeCancelled):
        workspace.intake.commit(
            plan,
            scratch=scratch,
            progress=lambda *told: said.append(told),
            cancelled=lambda: len(said) > 2,
        )
    assert workspace.experiments.all(archived=True) == []
    assert stored_files(workspace) == before


def test_a_process_that_dies_stores_nothing(
    opened: Opened, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = opened("one")
    plan, before = planned(workspace, bookshop.files()), stored_files(workspace)
    popen = scoring_process.subprocess.Popen
    started: list[Any] = []

    def start(*arguments: Any, **how: Any) -> Any:
        started.append(popen(*arguments, **how))
        return started[-1]

    monkeypatch.setattr(scoring_process.subprocess, "Popen", start)

    def kill(*_: object) -> None:
        if started and started[-1].poll() is None:
            os.kill(started[-1].pid, signal.SIGKILL)

    with pytest.raises(InputError, match="ended by signal 9"):
        workspace.intake.commit(plan, scratch=scratch, progress=kill)
    assert workspace.experiments.all(archived=True) == []
    assert stored_files(workspace) == before


def test_a_refused_candidate_refuses_all_unless_it_is_skipped(opened: Opened, scratch: Path) -> None:
    workspace, given = opened("one"), bookshop.files()
    # only scoring finds that the predictions may belong to either of two candidates
    head, *rows = given["als.csv"].decode().splitlines()
    models = [f"{row},{model}" for model in ("v1", "v2") for row in rows]
    given["als.csv"] = "\n".join([f"{head},model", *models]).encode()
    rated = [(user, bookshop.BOOKS[0], 4, 3.5) for user in bookshop.USERS]
    given["rated.csv"] = bookshop.csv(("customer", "isbn", "rating", "prediction"), rated)
    plan = workspace.intake.plan([IntakeFile(name, name, data) for name, data in given.items()])
    plan = plan.with_choice("rated.csv", run="als")
    with pytest.raises(InputError, match="holds 2 candidates"):
        workspace.intake.commit(plan, scratch=scratch)
    assert workspace.experiments.all(archived=True) == []
    done = workspace.intake.commit(plan, scratch=scratch, skip_refused=True)
    assert [refused.name for refused in done.refused] == ["als"]
    assert [added.run.name for added in done.runs] == ["popular", "ease"]


def test_a_full_disk_is_named(
    opened: Opened, scratch: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, data in bookshop.files().items():
        (tmp_path / name).write_bytes(data)
    workspace = opened("one")
    plan = workspace.intake.plan([IntakeFile(name, name, tmp_path / name) for name in bookshop.files()])
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
    monkeypatch.setattr(scoring_process, "START", limit + scoring_process.START)
    with pytest.raises(StoreError, match="Cannot write"):
        workspace.intake.commit(plan, scratch=scratch)
    assert workspace.experiments.all(archived=True) == []


def test_a_process_that_ends_within_a_message_is_named(
    opened: Opened, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = opened("one")
    plan = planned(workspace, files())
    torn = "import os, struct, sys; os.write(int(sys.argv[-1]), struct.pack('!i', 1000) + b'x'); os._exit(9)"
    monkeypatch.setattr(scoring_process, "START", torn)
    with pytest.raises(InputError, match="the process that scored them ended"):
        workspace.intake.commit(plan, scratch=scratch)
    assert workspace.experiments.all(archived=True) == []


@pytest.mark.parametrize("broken", ["pickle.dump", "subprocess.Popen"])
def test_a_process_that_cannot_start_is_named(
    opened: Opened, scratch: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    workspace = opened("one")
    plan = planned(workspace, files())

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"{scoring_process.__name__}.{broken}", refuse)
    with pytest.raises(StoreError, match="No space left on device"):
        workspace.intake.commit(plan, scratch=scratch)
    assert workspace.experiments.all(archived=True) == []


def test_a_refused_notice_of_a_run_that_was_scored_apart_stores_nothing(
    opened: Opened, scratch: Path
) -> None:
    workspace = opened("refusing")
    plan = planned(workspace, files()).with_settings(refuse=("ties",))
    with pytest.raises(InputError, match="Files with the notice 'ties' are refused, as you chose"):
        workspace.intake.commit(plan, scratch=scratch)
    assert workspace.experiments.all(archived=True) == []
