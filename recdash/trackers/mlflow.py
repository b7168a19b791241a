"""The REST API of an MLflow tracking server."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from recdash.errors import Forbidden, InputError, NotFound, Problem, RecdashError
from recdash.formatting.sanitize import visible
from recdash.http import HttpServer, is_address
from recdash.trackers.tracked_run import (
    MOST_FILES,
    TrackedRun,
    bad_answer,
    name_of,
    note_of,
    params_of,
    tags_of,
)

MLFLOW = "mlflow"
API = "/api/2.0/mlflow"
PROXIED = "mlflow-artifacts"
"""The scheme of artifacts that are read and written through the server."""
SYSTEM_TAGS, OWN_TAGS = "mlflow.", "recdash."
NOTE = "mlflow.note.content"
PAGE, MOST_RUNS = 200, 2_000
MOST_LOGGED = 100
"""Largest number of tags of a request; MLflow takes at most 1,000 metrics in it."""


class Unauthorised(RecdashError):
    """The error for a name, password or token that gives no access."""


@dataclass(frozen=True)
class MlflowRun:
    """A run as MLflow describes it."""

    id: str
    name: str
    status: str
    artifact_uri: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    @property
    def why_not(self) -> str:
        """Returns why its artifacts may be incomplete; "" for a finished run."""
        return "" if self.status == "FINISHED" else f"its status is {visible(self.status)}"

    @property
    def takes_files(self) -> bool:
        """Returns whether artifacts can be written through the server."""
        return urlsplit(self.artifact_uri).scheme == PROXIED

    def as_tracked(self) -> TrackedRun:
        """Returns the run without files: neither the tags of MLflow itself nor those of recdash."""
        own = (SYSTEM_TAGS, OWN_TAGS)
        return TrackedRun(
            MLFLOW,
            self.id,
            name_of(self.name),
            params_of(self.params.items()),
            tags_of((name, value) for name, value in self.tags.items() if not name.startswith(own)),
            note_of(self.tags.get(NOTE, "")),
            why_not=self.why_not,
        )


@dataclass(frozen=True)
class Mlflow:
    """A tracking server at an address. Name and password, or a token, are read from the environment, as
    MLflow's own client does, and stored nowhere.
    """

    address: str
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def __post_init__(self) -> None:
        if not is_address(self.address):
            fix = "Write the address of the tracking server, such as http://127.0.0.1:5000."
            raise InputError(Problem("bad-server", "--tracking-uri", "it is no address", fix))
        if "@" in urlsplit(self.address).netloc:
            fix = "Leave it out, and set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
            raise InputError(Problem("secret-in-address", "--tracking-uri", "it has a name or password", fix))

    @cached_property
    def _http(self) -> HttpServer:
        headers = {"Accept": "application/json", **_authorization(self.environment)}
        return HttpServer(self.address, headers)

    # ── questions ────────────────────────────────────────────────────────────────────────────

    def experiment(self, name: str) -> str:
        """Returns the id of the experiment of this name. Raises NotFound."""
        answer = self._ask("/experiments/get-by-name", {"experiment_name": name})
        return str(_part(answer, "experiment", "experiment_id"))

    def runs(self, experiment_id: str, only: str = "") -> list[MlflowRun]:
        """Returns the runs of an experiment, the oldest first; ``only`` is a filter as MLflow writes it."""
        body: dict[str, Any] = {
            "experiment_ids": [experiment_id],
            "max_results": PAGE,
            "order_by": ["attributes.start_time ASC"],
            **({"filter": only} if only else {}),
        }
        runs: list[MlflowRun] = []
        while True:
            page = self._post("/runs/search", body)
            runs += [_run(facts) for facts in page.get("runs", ())]
            if len(runs) > MOST_RUNS:
                fix = "Choose some by --filter, such as \"tags.stage = 'final'\"."
                raise InputError(Problem("many-runs", "MLflow", f"more than {MOST_RUNS:,} runs", fix))
            if not page.get("next_page_token"):
                return runs
            body["page_token"] = page["next_page_token"]

    def run(self, run_id: str) -> MlflowRun:
        """Returns the run with this id. Raises NotFound."""
        return _run(_part(self._ask("/runs/get", {"run_id": run_id}), "run"))

    def artifacts(self, run_id: str) -> list[str]:
        """Returns the paths of the files of a run. Raises InputError for more than ``MOST_FILES``."""
        folders, paths = [""], list[str]()
        while folders:
            folder = folders.pop()
            for facts in self._listed(run_id, folder):
                (folders if facts.get("is_dir") else paths).append(str(_part(facts, "path")))
                if len(paths) + len(folders) > MOST_FILES:
                    fix = "Name those that are needed by --artifact."
                    finding = f"more than {MOST_FILES:,} artifacts"
                    raise InputError(Problem("many-artifacts", f"run '{visible(run_id)}'", finding, fix))
        return sorted(paths)

    def _listed(self, run_id: str, folder: str) -> Iterator[Mapping[str, Any]]:
        query = {"run_id": run_id, **({"path": folder} if folder else {})}
        while True:
            page = self._ask("/artifacts/list", query)
            yield from page.get("files", ())
            if not page.get("next_page_token"):
                return
            query["page_token"] = page["next_page_token"]

    def download(self, run_id: str, path: str, target: Path, most: int | None) -> None:
        """Writes an artifact to a file. Raises InputError for one of more than ``most`` bytes."""
        query = urlencode({"run_uuid": run_id, "path": path})
        try:
            with target.open("wb") as file:
                answer = self._http.save(f"/get-artifact?{query}", file, most)
        except InputError as error:
            raise InputError(error.problems, source=visible(path)) from None
        if not answer.is_success:
            raise self._error(answer.status, answer.content)

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def log(
        self, run_id: str, metrics: Mapping[str, float], tags: Mapping[str, str], milliseconds: int
    ) -> None:
        """Writes metrics, as measured at a time, and tags to a run."""
        rows = [
            {"key": name, "value": value, "timestamp": milliseconds, "step": 0}
            for name, value in metrics.items()
        ]
        pairs = [{"key": name, "value": value} for name, value in tags.items()]
        for start in range(0, max(len(rows), len(pairs)), MOST_LOGGED):
            part = slice(start, start + MOST_LOGGED)
            self._post("/runs/log-batch", {"run_id": run_id, "metrics": rows[part], "tags": pairs[part]})

    def upload(self, run: MlflowRun, path: str, content: bytes) -> None:
        """Writes an artifact of a run through the server."""
        root = urlsplit(run.artifact_uri).path.strip("/")
        self._answer("PUT", f"/api/2.0/mlflow-artifacts/artifacts/{quote(f'{root}/{path}')}", content)

    # ── requests ─────────────────────────────────────────────────────────────────────────────

    def _ask(self, path: str, query: Mapping[str, str]) -> Any:
        return _json(self._answer("GET", f"{API}{path}?{urlencode(query)}"))

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        content = json.dumps(body).encode()
        return _json(self._answer("POST", f"{API}{path}", content, {"Content-Type": "application/json"}))

    def _answer(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        answer = self._http.answer(method, path, body, headers)
        if not answer.is_success:
            raise self._error(answer.status, answer.content)
        return answer.content

    def _error(self, status: int, content: bytes) -> RecdashError:
        message = ""
        with suppress(ValueError, TypeError, KeyError):
            message = re.sub(r"\s+", " ", str(json.loads(content)["message"]))[:300]
        words = f"MLflow at {self.address} answered with status {status}{message and f': {message}'}"
        if status == 401:
            names = "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
            return Unauthorised(f"{words}. Set {names}.")
        if status == 403:
            return Forbidden(f"{words}.")
        if status == 404:
            return NotFound(f"{words}.")
        return InputError(Problem("tracker-refused", "MLflow", words, ""))


def _authorization(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the header of a request that says who asks, as MLflow's client sends it."""
    name, password = (environment.get(f"MLFLOW_TRACKING_{part}", "") for part in ("USERNAME", "PASSWORD"))
    token = environment.get("MLFLOW_TRACKING_TOKEN", "")
    if name and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
    if token and not (token.isascii() and token.isprintable()):
        raise InputError(Problem("bad-token", "MLFLOW_TRACKING_TOKEN", "it is no token", "Set it again."))
    return {"Authorization": f"Bearer {token}"} if token else {}


def _run(facts: Any) -> MlflowRun:
    info, data = _part(facts, "info"), _part(facts, "data")
    tags = _pairs(data.get("tags", ()))
    return MlflowRun(
        str(_part(info, "run_id")),
        str(info.get("run_name") or tags.get("mlflow.runName") or ""),
        str(info.get("status", "")),
        str(info.get("artifact_uri", "")),
        _pairs(data.get("params", ())),
        tags,
        {str(_part(row, "key")): row.get("value") for row in data.get("metrics", ())},
    )


def _pairs(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {str(_part(row, "key")): str(row.get("value", "")) for row in rows}


def _json(content: bytes) -> Any:
    try:
        answer = json.loads(content)
    except ValueError:
        raise bad_answer("MLflow", "the answer is no JSON") from None
    if not isinstance(answer, dict):
        raise bad_answer("MLflow", "the answer is no JSON object")
    return answer


def _part(facts: Any, *names: str) -> Any:
    """Returns a part of an answer. Raises InputError if it lacks it."""
    for name in names:
        if not isinstance(facts, dict) or name not in facts:
            raise bad_answer("MLflow", f"the answer has no '{name}'")
        facts = facts[name]
    return facts
