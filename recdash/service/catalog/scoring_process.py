"""Scores large uploads in a process of its own, so that they take neither the memory nor the interpreter of
the server, which other people's pages need.

The process reads the files as the server does (each in a reading process with limits), scores them, and
writes the files to store into a folder that it is given. It sends its progress, and at the end the rows to
store, which the server stores with the files. What it sends is unpickled, as the process is trusted like the
server: it parses an upload itself only where the server would, without limits.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from recdash.domain.access import Person
from recdash.domain.records import Experiment
from recdash.errors import InputError, Problem, RecdashError, StoreError
from recdash.evaluation import reading
from recdash.ingest.isolation.fork_server import NICENESS
from recdash.service.catalog.candidate_scoring import Candidate, prepare, score_each
from recdash.service.catalog.experiments import Setup
from recdash.service.catalog.intake_plan import RefusedFile
from recdash.service.catalog.runs import Runs, StagedRun
from recdash.service.context import ServiceContext
from recdash.service.run_data import RunData
from recdash.service.validation import Progress
from recdash.store.memory import FilesOnly

if TYPE_CHECKING:
    from recdash.ingest import Limits
    from recdash.store.artifacts import Artifacts

LEAST_BYTES = 1 << 24
"""Candidates whose files have fewer bytes together are scored in the server: the process takes 2 s to start,
and scoring them takes less.
"""
LOOK_SECONDS = 0.2
START = (
    "import os, sys; os.nice({niceness}); sys.path[:] = {path!r}; "
    "from recdash.service.catalog.scoring_process import main; main()"
)
"""What the process runs; importing alone takes half a second of processor time."""


@dataclass(frozen=True)
class ScoringRequest:
    """Candidates, and with what they are scored.

    ``setup`` has no reference data, and for an ``experiment`` that is stored no tables: both are read again.
    """

    candidates: Sequence[Candidate]
    setup: Setup
    experiment: Experiment | None
    artifacts: Artifacts
    person: Person
    limits: Limits | None


@dataclass(frozen=True)
class ScoringOutcome:
    """The scored runs, whose files are in the folder of the request, and the refused candidates."""

    runs: tuple[StagedRun, ...]
    refused: tuple[RefusedFile, ...]


def is_worth_a_process(candidates: Sequence[Candidate]) -> bool:
    """Returns whether the files of the candidates are large, and another process can open them."""
    sizes = [candidate.n_bytes for candidate in candidates]
    return None not in sizes and sum(filter(None, sizes)) >= LEAST_BYTES


# ── the server ───────────────────────────────────────────────────────────────────────────────


def score_apart(request: ScoringRequest, tell: Progress) -> ScoringOutcome:
    """Returns the outcome of a new process, which is killed if ``tell`` raises. ``tell`` is called several
    times per second.

    Raises InputError if the process ends without an outcome, and StoreError if it cannot be started or
    cannot write the files.
    """
    ours, theirs = Pipe()
    with ours:
        with theirs:
            try:
                process = _start(request, theirs)
            except OSError as error:
                reason = error.strerror or error
                raise StoreError(f"Cannot start the process that scores the files: {reason}") from error
        try:
            return _received(ours, process, tell)
        finally:
            process.kill()
            process.wait()


def _start(request: ScoringRequest, channel: Connection) -> subprocess.Popen[bytes]:
    path = request.artifacts.folder / "request"
    path.touch(mode=0o600, exist_ok=False)
    with path.open("wb") as file:
        pickle.dump(request, file, protocol=5)  # which writes the tables without a copy in memory
    command = [
        sys.executable,
        "-c",
        START.format(niceness=NICENESS, path=sys.path),
        str(path),
        str(channel.fileno()),
    ]
    return subprocess.Popen(  # noqa: S603 our own interpreter
        command, pass_fds=[channel.fileno()], stdin=subprocess.DEVNULL
    )


def _received(channel: Connection, process: subprocess.Popen[bytes], tell: Progress) -> ScoringOutcome:
    progress = 0.0, "Starting"
    while True:
        tell(*progress)
        try:
            if not channel.poll(LOOK_SECONDS):
                continue
            message = channel.recv()
        except (EOFError, OSError):  # OSError if the process ended within a message
            raise InputError(_died(process.wait())) from None
        if isinstance(message, ScoringOutcome):
            return message
        if isinstance(message, StoreError):
            raise message
        progress = message


def _died(status: int) -> Problem:
    how = f" by signal {-status}" if status < 0 else ""
    fix = "Add the files again, one after the other if the machine lacks memory."
    return Problem("scoring-died", "files", f"the process that scored them ended{how}", fix)


# ── the process ──────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Scores the request in a file. The arguments are its path and the channel's descriptor."""
    path, descriptor = sys.argv[-2:]
    channel = Connection(int(descriptor))
    threading.Thread(target=_end_with_server, args=(channel,), daemon=True).start()
    with Path(path).open("rb") as file:
        request = pickle.load(file)  # noqa: S301 written by the server
    try:
        outcome: ScoringOutcome | StoreError = outcome_of(request, lambda *progress: channel.send(progress))
    except RecdashError as error:  # as text: an error with several arguments cannot be unpickled
        outcome = StoreError(str(error))
    channel.send(outcome)


def _end_with_server(channel: Connection) -> None:
    """Ends this process when the server has closed the channel, on which it sends nothing."""
    try:
        channel.recv()
    finally:
        os._exit(1)


def outcome_of(request: ScoringRequest, tell: Progress) -> ScoringOutcome:
    """Scores the candidates of a request, and writes their files to its folder."""
    context = ServiceContext(FilesOnly(request.artifacts), request.person, request.limits)
    data = RunData(context)
    runs, experiment, setup = Runs(context, data), request.experiment, request.setup
    tables = setup.tables if experiment is None else data.tables_of(experiment)
    reference = reading.reference_of(tables, setup.settings["relevance_threshold"])
    setup = replace(setup, tables=tables, reference=reference)
    files = frozenset() if experiment is None else experiment.files

    def staged(candidate: Candidate, share: Progress) -> list[StagedRun]:
        prepared = prepare(runs, setup, candidate, share)
        share(1.0, "Writing the files")
        stored = runs.stage(setup, prepared, [candidate.facts] * len(prepared))
        return [replace(run, files=files) for run in stored]

    scored, refused = score_each(request.candidates, staged, tell)
    return ScoringOutcome(tuple(scored), tuple(refused))
