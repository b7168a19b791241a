"""Stores uploaded files, in threads of their own, as scoring may take longer than a request may."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import token_hex
from threading import Lock, Thread
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from recdash.domain.kinds import Duplicates, TableKind, Users
from recdash.errors import InputError, NotFound, Problem, RecdashError
from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile, IntakePlan, IntakeResult
from recdash.service.catalog.intake_job import JOBS
from recdash.service.catalog.turns import waits_for
from recdash.service.files_to_add import FilesToAdd, plan_of
from recdash.web.api.parameters import Name, Parameters, Text
from recdash.web.api.problems import FIXES, problem_facts, problems_of
from recdash.web.api.uploads import Uploads
from recdash.web.plain_pages import Refused
from recdash.web.received_files import ReceivedFile

logger = logging.getLogger(__name__)
State = Literal["running", "stored", "refused"]
MOST_FILES, MOST_RUNNING, MOST_KEPT = 100, 4, 200
KEPT_SECONDS = 24 * 3600.0
KEY, LONGEST_KEY = "Idempotency-Key", 255
"""The header that says which requests are the same one, sent again."""


class FileToStore(Parameters):
    """A file that was uploaded, or a table that the server fetches; what it is, is recognised unless ``kind``
    says so.
    """

    upload: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="The id of the upload.")] | None = (
        None
    )
    source: Name | None = Field(None, description="In place of an upload: the name of a source.")
    name: Annotated[str, Field(min_length=1, max_length=255, description="Its name.")] | None = None
    kind: TableKind | None = Field(None, description="What it is; without it, recognised.")
    run: Name | None = Field(None, description="The name of the candidate; without it, from the file.")

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.upload is None) == (self.source is None):
            given = "neither" if self.upload is None else "both"
            raise ValueError(f"it has {given} of upload and source, of which a file needs one")
        return self


class NewAddition(Parameters):
    """Files to store together, and how."""

    experiment: Name = Field(description="Name of the experiment; created if it does not exist.")
    files: list[FileToStore] = Field(min_length=1, max_length=MOST_FILES)
    baseline: Name | None = Field(None, description="Name of the baseline run.")
    tags: list[Name] = Field([], max_length=20, description="Tags for the runs.")
    accept_unknown_ids: bool = Field(False, description="Score runs even if hardly any id is known.")
    relevance: Text | None = Field(None, description="Relevance column of the test set, or none.")
    relevance_threshold: float | None = Field(None, description="Smallest relevance that is relevant.")
    depth: int | None = Field(None, ge=1, le=10_000, description="Deepest cutoff.")
    users: Users | None = Field(None, description="Users that count for accuracy.")
    duplicates: Duplicates | None = Field(None, description="Items repeated in a list.")
    replicates: Literal["seeds", "folds"] | None = Field(None, description="What several files of a run are.")
    control: Name | None = Field(None, description="Control variant of the A/B test.")
    links: dict[Name, Name] | None = Field(
        None, max_length=50, description="Which run each variant served; without it, by their names."
    )
    refuse: list[Name] = Field(
        [], max_length=50, description="Codes of notices with which files are refused."
    )

    @property
    def sources(self) -> list[str]:
        """Returns the names of the tables to fetch, each once."""
        return list(dict.fromkeys(file.source for file in self.files if file.source))

    def settings(self) -> dict[str, Any]:
        same = ("relevance", "depth", "users", "duplicates", "replicates", "control", "baseline")
        given = {name: getattr(self, name) for name in same if getattr(self, name) is not None}
        return {
            **given,
            "threshold": self.relevance_threshold,
            "links": self.links,
            "refuse": tuple(self.refuse),
        }

    def sha256(self) -> str:
        """Returns the sha256 of its fields, by which two requests are compared."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


@dataclass
class AdditionJob:
    """An addition that is being stored, was stored, or was refused; it is the thread's to change. ``uploads``
    are the ids of those that it needs; ``key`` and ``sha256`` are those of the request that began it.
    """

    id: str
    owner: str
    begun: float
    state: State = "running"
    fraction: float = 0.0
    text: str = "Reading the files"
    result: Mapping[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    uploads: frozenset[str] = frozenset()
    key: str = ""
    sha256: str = ""

    def facts(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": self.state,
            "fraction": round(self.fraction, 4),
            "text": self.text,
            "result": self.result,
            "problems": list(map(problem_facts, self.problems)),
        }

    def report_progress(self, fraction: float, text: str) -> None:
        self.fraction, self.text = min(max(fraction, 0.0), 1.0), text


class AdditionJobs:
    """The additions of all programs in this process."""

    def __init__(self, uploads: Uploads, clock: Callable[[], float] = time.monotonic) -> None:
        self._uploads, self._clock = uploads, clock
        self._jobs: dict[str, AdditionJob] = {}
        self._lock = Lock()

    def find(self, owner: str, job_id: str) -> AdditionJob:
        """Returns an addition of this owner. Raises NotFound."""
        job = self._jobs.get(job_id)
        if job is None or job.owner != owner:
            raise NotFound("You made no addition with this id, or it is too long ago.")
        return job

    def begin(self, workspace: Workspace, session: str, asked: NewAddition, key: str = "") -> AdditionJob:
        """Starts to store files, and returns the job. A request with the key of an earlier one, which is sent
        again if its answer was lost, starts nothing: the first job is returned, as far as it is now.

        Raises Forbidden unless the person is an editor, NotFound and InputError for files that are not
        there, InputError for a key that began another addition, Refused if too many additions of this token
        are being stored, and RuntimeError if no thread can be started.
        """
        workspace.person.must_be("editor")
        with self._lock:
            self._forget_old()
            if key and (first := self._begun_with(session, key, asked)):
                return first
            for name in asked.sources:
                workspace.sources.check(name)
            files = {
                file.upload: self._uploads.usable(session, file.upload) for file in asked.files if file.upload
            }
            own = [job for job in self._jobs.values() if job.owner == session and job.state == "running"]
            if len(own) >= MOST_RUNNING:
                words = f"{MOST_RUNNING} of your additions are being stored"
                raise Refused(429, "Too many additions at once", words, again_after=5)
            needed, sha256 = frozenset(files), asked.sha256()
            job = AdditionJob(token_hex(8), session, self._clock(), uploads=needed, key=key, sha256=sha256)
            work = partial(self._store, job, workspace, session, asked, files)
            Thread(target=work, name="addition", daemon=True).start()
            self._jobs[job.id] = job  # only now: without a thread it would be running for good
        return job

    def _begun_with(self, session: str, key: str, asked: NewAddition) -> AdditionJob | None:
        """Returns the addition that this token began with a key; the caller holds the lock."""
        for job in self._jobs.values():
            if (job.owner, job.key) == (session, key):
                if job.sha256 != asked.sha256():
                    finding, fix = "it began another addition", "Send each addition with a new key."
                    raise InputError(Problem("key-reused", f"header {KEY}", finding, fix))
                return job
        return None

    def _forget_old(self) -> None:
        now = self._clock()
        done = [job for job in self._jobs.values() if job.state != "running"]
        old = {job.id for job in done if now - job.begun > KEPT_SECONDS}
        old |= {job.id for job in done[: max(len(self._jobs) - MOST_KEPT, 0)]}
        self._jobs = {key: job for key, job in self._jobs.items() if key not in old}

    def _store(
        self,
        job: AdditionJob,
        workspace: Workspace,
        session: str,
        asked: NewAddition,
        uploads: dict[str, ReceivedFile],
    ) -> None:
        fetched: dict[str, ReceivedFile] = {}
        try:
            with self._uploads.files.in_use(session), JOBS.taken(partial(_say_waiting, job)):
                for name in asked.sources:
                    job.text = f"Fetching {name}"
                    fetched[name] = self._uploads.fetch(workspace, session, name)
                files = [
                    uploads[file.upload] if file.upload else fetched[str(file.source)] for file in asked.files
                ]
                job.result = _stored(workspace, asked, files, job, self._uploads.files.folder)
        except RecdashError as error:
            job.problems, job.state = tuple(problems_of(error, "addition")), "refused"
            return
        except Exception:
            logger.exception("An addition failed")
            code, fix = FIXES[500]
            job.problems = (Problem(code, "addition", "an internal error occurred; nothing was stored", fix),)
            job.state = "refused"
            return
        finally:
            for file in fetched.values():
                self._uploads.files.remove(session, file.id)
        self._release_uploads(job)
        job.fraction, job.state = 1.0, "stored"

    def _release_uploads(self, job: AdditionJob) -> None:
        """Deletes the uploads of an addition that no other one needs which is being stored: several may have
        the same test set.
        """
        with self._lock:  # also while they are deleted: an addition that begins now finds them all or none
            others = [other for other in self._jobs.values() if other.state == "running" and other is not job]
            for file_id in job.uploads.difference(*(other.uploads for other in others)):
                self._uploads.files.remove(job.owner, file_id)
            job.uploads = frozenset()


def _say_waiting(job: AdditionJob, n_before: int) -> None:
    job.text = waits_for(n_before)


def _stored(
    workspace: Workspace,
    asked: NewAddition,
    files: list[ReceivedFile],
    job: AdditionJob,
    scratch: Path | None,
) -> dict[str, Any]:
    """Returns the facts of what was stored. Raises RecdashError if nothing was."""
    plan = plan_of(workspace, _files_to_add(asked, files))
    result = workspace.intake.commit(
        plan, baseline=asked.baseline, progress=job.report_progress, scratch=scratch
    )
    return _facts(plan, result)


def _files_to_add(asked: NewAddition, files: list[ReceivedFile]) -> FilesToAdd:
    keys = [f"{number} {file.upload or file.source}" for number, file in enumerate(asked.files)]
    given = [
        IntakeFile(key, file.name or stored.name, stored.path)
        for key, file, stored in zip(keys, asked.files, files, strict=True)
    ]
    choices = {
        key: {name: value for name, value in (("kind", file.kind), ("run", file.run)) if value is not None}
        for key, file in zip(keys, asked.files, strict=True)
    }
    said = {key: choice for key, choice in choices.items() if choice}
    return FilesToAdd(
        asked.experiment, given, said, asked.settings(), asked.tags, accept_ids=asked.accept_unknown_ids
    )


def _facts(plan: IntakePlan, result: IntakeResult) -> dict[str, Any]:
    notices = [*plan.inputs.notices, *(notice for run in result.runs for notice in run.run.notices)]
    notices += [notice for test in result.tests for notice in test.notices]
    links = plan.settings.links or {}
    return {
        "experiment": {"id": result.experiment.id, "name": result.experiment.name, "is_new": result.is_new},
        "files": [
            {"name": file.file_name, "kind": file.kind, "columns": dict(file.mapping)} for file in plan.files
        ],
        "runs": [
            {"id": run.run.id, "name": run.run.name, "already_stored": run.already_there}
            for run in result.runs
        ],
        "online_tests": [
            {
                "id": test.id,
                "name": test.name,
                "links": {variant: run for variant, run in links.items() if variant in test.links},
            }
            for test in result.tests
        ],
        "notices": list(map(problem_facts, notices)),
    }
