"""A server with the part of the REST API of MLflow that recdash uses; the long tests ask MLflow itself."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

API = "/api/2.0/mlflow"
ARTIFACTS = "/api/2.0/mlflow-artifacts/artifacts/"


class Missing(Exception):
    pass


class MlflowStub:
    """``runs`` and ``files`` are what it keeps, ``asked`` the requests with their Authorization."""

    def __init__(self) -> None:
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.serve(self)

            do_POST = do_PUT = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.asked.append((request.path, request.headers.get("Authorization", "")))
        try:
            status, answer = 200, self._answer(request.command, unquote(parts.path), query, body)
        except Missing as what:
            status, answer = 404, {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": str(what)}
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def _answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> Any:
        if path.startswith(ARTIFACTS):
            name = path.removeprefix(ARTIFACTS)
            if method == "PUT":
                self.files[name] = body
                return {}
            return self._file(name)
        if path == "/get-artifact":
            return self._file(f"{self._root(query['run_uuid'])}/{query['path']}")
        facts = json.loads(body) if body else query
        return getattr(self, path.removeprefix(f"{API}/").replace("/", "_").replace("-", "_"))(facts)

    def _file(self, name: str) -> bytes:
        if name not in self.files:
            raise Missing(f"No such artifact: '{name}'")
        return self.files[name]

    def _root(self, run_id: str) -> str:
        return f"{self._run(run_id)['info']['experiment_id']}/{run_id}/artifacts"

    def _run(self, run_id: str) -> dict[str, Any]:
        if run_id not in self.runs:
            raise Missing(f"Run with id={run_id} not found")
        return self.runs[run_id]

    # ── the methods of the API ───────────────────────────────────────────────────────────────

    def experiments_create(self, facts: Any) -> Any:
        return {"experiment_id": self.experiments.setdefault(facts["name"], str(len(self.experiments) + 1))}

    def experiments_get_by_name(self, facts: Any) -> Any:
        name = facts["experiment_name"]
        if name not in self.experiments:
            raise Missing(f"Could not find experiment with name '{name}'")
        return {"experiment": {"experiment_id": self.experiments[name], "name": name}}

    def runs_create(self, facts: Any) -> Any:
        run_id = f"{len(self.runs) + 1:032x}"[::-1]
        info = {
            "run_id": run_id,
            "run_name": facts["run_name"],
            "experiment_id": facts["experiment_id"],
            "status": "RUNNING",
            "artifact_uri": f"mlflow-artifacts:/{facts['experiment_id']}/{run_id}/artifacts",
        }
        self.runs[run_id] = {"info": info, "data": {"params": [], "tags": [], "metrics": []}}
        return {"run": self.runs[run_id]}

    def runs_update(self, facts: Any) -> Any:
        self._run(facts["run_id"])["info"]["status"] = facts["status"]
        return {}

    def runs_log_batch(self, facts: Any) -> Any:
        data = self._run(facts["run_id"])["data"]
        for kind in ("params", "tags", "metrics"):
            new = {row["key"]: row for row in facts.get(kind, ())}
            data[kind] = [row for row in data[kind] if row["key"] not in new] + list(new.values())
        return {}

    def runs_get(self, facts: Any) -> Any:
        return {"run": self._run(facts["run_id"])}

    def runs_delete(self, facts: Any) -> Any:
        del self.runs[facts["run_id"]]
        return {}

    def runs_search(self, facts: Any) -> Any:
        """Two runs at a time, so that there is a next page; a filter is ``tags.NAME = 'TEXT'``."""
        runs = [run for run in self.runs.values() if run["info"]["experiment_id"] in facts["experiment_ids"]]
        if "filter" in facts:
            name, _, text = facts["filter"].removeprefix("tags.").partition(" = ")
            wanted = {"key": name, "value": text.strip("'")}
            runs = [run for run in runs if wanted in run["data"]["tags"]]
        start = int(facts.get("page_token", 0))
        more = {"next_page_token": str(start + 2)} if len(runs) > start + 2 else {}
        return {"runs": runs[start : start + 2], **more}

    def artifacts_list(self, facts: Any) -> Any:
        root = "/".join(filter(None, [self._root(facts["run_id"]), facts.get("path", "")]))
        below = {name.removeprefix(f"{root}/") for name in self.files if name.startswith(f"{root}/")}
        firsts = {name.partition("/")[0]: "/" in name for name in sorted(below)}
        before = f"{facts['path']}/" if facts.get("path") else ""
        return {"files": [{"path": f"{before}{name}", "is_dir": is_dir} for name, is_dir in firsts.items()]}
