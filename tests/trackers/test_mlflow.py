"""Runs of MLflow are imported with what is known about them, and results are written back; each test asks a
small server of our own and, in the long tests, MLflow's.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import free_port
from decision_worlds import RUNS, TRUTH, lists
from mlflow_stub import MlflowStub
from terminal import Recdash, as_json

from benchmarks.environments import environment_for
from recdash.domain.access import Person
from recdash.errors import Forbidden, InputError, NotFound
from recdash.ingest import Limits
from recdash.service import Workspace
from recdash.store import open_store
from recdash.trackers import export_mlflow, import_mlflow
from recdash.trackers.exporting import metric_name
from recdash.trackers.mlflow import Mlflow, Unauthorised

MLFLOW = "mlflow==3.17.2"
SECONDS_TO_START = 240
FILES: dict[str, str] = {}
PARAMS = {"factors": "64", "optimizer.lr": "0.1"}
TAGS = {"stage": "final", "mlflow.note.content": "Trained on spring.\nWell.", "mlflow.user": "ann"}
SCORES = {"popular": 1 / 8, "als": 7 / 8, "ease": 3 / 8}
"""nDCG@3: the share of the users whose item stands first; the other users do not find theirs."""


@dataclass
class Tracking:
    """A tracking server, filled over its own REST API."""

    url: str
    stub: MlflowStub | None = None
    n_runs: int = 0

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def call(self, path: str, body: Any) -> Any:
        return json.loads(self.ask("POST", f"/api/2.0/mlflow{path}", body))

    def run(
        self,
        experiment: str,
        name: str,
        files: Mapping[str, bytes],
        *,
        params: Mapping[str, str] = PARAMS,
        tags: Mapping[str, str] = TAGS,
        status: str = "FINISHED",
    ) -> str:
        """Returns the id of a new run with these artifacts."""
        self.n_runs += 1  # runs are ordered by their start
        new = {"experiment_id": experiment, "run_name": name, "start_time": self.n_runs}
        info = self.call("/runs/create", new)
        run_id: str = info["run"]["info"]["run_id"]
        rows = {
            kind: [{"key": key, "value": value} for key, value in values.items()]
            for kind, values in (("params", params), ("tags", tags))
        }
        self.call("/runs/log-batch", {"run_id": run_id, **rows})
        for path, content in files.items():
            self.put(experiment, run_id, path, content)
        self.call("/runs/update", {"run_id": run_id, "status": status})
        return run_id

    def put(self, experiment: str, run_id: str, path: str, content: bytes) -> None:
        self.ask("PUT", self._artifact(experiment, run_id, path), content)

    def artifact(self, experiment: str, run_id: str, path: str) -> bytes:
        return bytes(self.ask("GET", self._artifact(experiment, run_id, path)))

    def _artifact(self, experiment: str, run_id: str, path: str) -> str:
        return f"/api/2.0/mlflow-artifacts/artifacts/{experiment}/{run_id}/artifacts/{path}"

    def data(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Returns {params, tags, metrics: {name: value}} of a run."""
        facts = json.loads(self.ask("GET", f"/api/2.0/mlflow/runs/get?run_id={run_id}"))["run"]["data"]
        return {kind: {row["key"]: row["value"] for row in rows} for kind, rows in facts.items()}


@pytest.fixture(scope="module", params=["stub", pytest.param("mlflow", marks=pytest.mark.long)])
def tracking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracking]:
    if request.param == "stub":
        stub = MlflowStub()
        yield Tracking(stub.url, stub)
        stub.stop()
        return
    folder = tmp_path_factory.mktemp("mlflow")
    environment = environment_for("mlflow", [MLFLOW], folder / "peers")
    assert not environment.reason, environment.reason
    port = free_port()
    command = [
        environment.python.with_name("mlflow"), "server", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=settings, stdout=log, stderr=log)
    server = Tracking(f"http://127.0.0.1:{port}")
    try:
        end = time.monotonic() + SECONDS_TO_START
        while not _is_healthy(server):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            assert time.monotonic() < end, (folder / "log").read_text()[-2000:]
            time.sleep(0.5)
        yield server
    finally:
        process.terminate()
        process.wait()


def _is_healthy(server: Tracking) -> bool:
    try:
        return bool(server.ask("GET", "/health") == b"OK")
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture
def home(tracking: Tracking, request: pytest.FixtureRequest) -> tuple[str, str]:
    """The name and id of a new experiment."""
    name = request.node.name
    return name, tracking.call("/experiments/create", {"name": name})["experiment_id"]


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "editor"))
    store.close()


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    return tmp_path / "truth.csv"


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def three_runs(tracking: Tracking, experiment: str) -> dict[str, str]:
    """{name: id} of the runs of the films, each with its lists and the test set."""
    return {
        name: tracking.run(experiment, name, {"lists/recs.csv": csv(table), "truth.csv": csv(TRUTH)})
        for name, table in RUNS.items()
    }


def test_a_round_trip_keeps_parameters_tags_notes_and_hashes(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace
) -> None:
    name, experiment = home
    ids = three_runs(tracking, experiment)
    before = {run_id: tracking.data(run_id) for run_id in ids.values()}

    imported = import_mlflow(workspace, name, tracking.url)
    assert [(run.name, run.tracked, run.state) for run in imported.runs] == [
        (run, run_id, "added") for run, run_id in ids.items()
    ]
    stored = workspace.experiments.named(name)
    runs = {run.name: run for run in workspace.runs.all(stored.id)}
    assert set(runs) == set(RUNS)
    for run in runs.values():
        assert (run.params, run.tags, run.note) == (PARAMS, ("stage=final",), "Trained on spring.\nWell.")
        sha256 = hashlib.sha256(csv(RUNS[run.name])).hexdigest()
        assert run.source == {
            "tracker": "mlflow",
            "run": ids[run.name],
            "artifacts": {"lists/recs.csv": sha256},
        }

    workspace.experiments.set_baseline(stored.id, runs["popular"].id)
    exported = export_mlflow(workspace, name, tracking.url)
    assert exported.verdict == "Ship als"
    for run, run_id in ids.items():
        now = tracking.data(run_id)
        assert now["params"] == before[run_id]["params"] == PARAMS
        assert {key: now["tags"][key] for key in before[run_id]["tags"]} == before[run_id]["tags"]
        assert TAGS.items() <= now["tags"].items()
        assert tracking.artifact(experiment, run_id, "lists/recs.csv") == csv(RUNS[run])
        assert now["metrics"]["recdash.ndcg_at_3"] == pytest.approx(SCORES[run])
        assert now["tags"]["recdash.upload_sha256"] == runs[run].upload
        assert now["tags"]["recdash.verdict"] == "Ship als"
        report = tracking.artifact(experiment, run_id, "recdash/report.html")
        assert b"Ship als" in report
    assert "recdash.compared" not in tracking.data(ids["popular"])["tags"]
    # 7/8 - 1/8 of the 80 users
    assert tracking.data(ids["als"])["tags"]["recdash.compared"] == "nDCG@3 +0.750 vs popular, better, n = 80"


def test_importing_and_exporting_again_changes_nothing(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace
) -> None:
    name, experiment = home
    ids = three_runs(tracking, experiment)
    import_mlflow(workspace, name, tracking.url)
    assert export_mlflow(workspace, name, tracking.url).runs[0].metrics
    last, kept = workspace.store.audit.last(), {run_id: tracking.data(run_id) for run_id in ids.values()}

    again = import_mlflow(workspace, name, tracking.url)
    assert [run.state for run in again.runs] == ["already stored"] * 3
    assert workspace.store.audit.last() == last
    exported = export_mlflow(workspace, name, tracking.url)
    assert [(run.metrics, run.tags) for run in exported.runs] == [({}, {})] * 3
    assert {run_id: tracking.data(run_id) for run_id in ids.values()} == kept

    new = tracking.run(experiment, "bpr", {"recs.csv": csv(lists({5: 2}, 17)), "truth.csv": csv(TRUTH)})
    more = import_mlflow(workspace, name, tracking.url)
    assert {run.tracked: run.state for run in more.runs} == {
        **dict.fromkeys(ids.values(), "already stored"),
        new: "added",
    }
    assert len(workspace.experiments.all()) == 1


def test_other_bytes_of_an_imported_artifact_are_refused(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    run_id = tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"])})
    import_mlflow(workspace, name, tracking.url, files=[truth])
    tracking.put(experiment, run_id, "recs.csv", csv(RUNS["ease"]))
    last = workspace.store.audit.last()
    with pytest.raises(InputError) as refused:
        import_mlflow(workspace, name, tracking.url, files=[truth])
    assert [problem.code for problem in refused.value.problems] == ["changed-since-import"]
    assert workspace.store.audit.last() == last


def test_what_cannot_be_imported_is_left_out_with_its_reason(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    als = {"recs.csv": csv(RUNS["als"])}
    running = tracking.run(experiment, "running", als, status="RUNNING")
    empty = tracking.run(experiment, "empty", {"model/MLmodel": b"flavors: {}"})
    with pytest.raises(InputError) as refused:
        import_mlflow(workspace, name, tracking.url, files=[truth])
    assert refused.value.problems[0].code == "nothing-to-import"
    tracking.run(experiment, "als", als)
    imported = import_mlflow(workspace, name, tracking.url, files=[truth])
    assert {run.tracked: run.why for run in imported.runs if run.state == "left out"} == {
        running: "its status is RUNNING",
        empty: "it has no table among its artifacts",
    }
    # the lists of als once more
    tracking.run(experiment, "same", als)
    same = import_mlflow(workspace, name, tracking.url, files=[truth]).runs[-1]
    assert (same.state, same.why) == ("already stored", "another run has the same lists")


def test_runs_of_one_name_are_told_apart_by_their_ids(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"])})
    import_mlflow(workspace, name, tracking.url, files=[truth])
    later = [tracking.run(experiment, "als", {"recs.csv": csv(RUNS[run])}) for run in ("ease", "popular")]
    import_mlflow(workspace, name, tracking.url, files=[truth])
    runs = workspace.runs.all(workspace.experiments.named(name).id)
    assert {run.name for run in runs} == {"als", *(f"als ({run_id[:8]})" for run_id in later)}


def test_artifacts_runs_and_the_experiment_can_be_chosen(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    files = {"out/final.csv": csv(RUNS["als"]), "loss.csv": b"step,loss\n1,0.5\n"}
    wanted = tracking.run(experiment, "als", files)
    tracking.run(experiment, "draft", {"out/final.csv": csv(RUNS["ease"])}, tags={"stage": "draft"})
    imported = import_mlflow(
        workspace,
        name,
        tracking.url,
        files=[truth],
        artifacts=["out/"],
        only="tags.stage = 'final'",
        into=f"{name} chosen",
        depth=2,
    )
    assert [run.tracked for run in imported.runs] == [wanted]
    stored = workspace.experiments.named(f"{name} chosen")
    assert stored.settings["depth"] == 2
    (run,) = workspace.runs.all(stored.id)
    assert list(run.source["artifacts"]) == ["out/final.csv"]


def test_names_and_tags_of_others_are_data(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    red = "\x1b[31m"
    tracking.run(
        experiment,
        f"a{red}\n<b>\u2060",
        {"recs.csv": csv(RUNS["als"])},
        params={"seed": f"1{red}"},
        tags={"who": f"x{red}\ny", "empty": ""},
    )
    import_mlflow(workspace, name, tracking.url, files=[truth])
    (run,) = workspace.runs.all(workspace.experiments.named(name).id)
    assert run.name == r"a\u001b[31m\u000a<b>\u2060"
    assert run.params == {"seed": r"1\u001b[31m"}
    assert set(run.tags) == {r"who=x\u001b[31m\u000ay", "empty"}


def test_another_test_set_than_the_stored_one_is_refused(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace
) -> None:
    name, experiment = home
    tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"]), "truth.csv": csv(TRUTH)})
    import_mlflow(workspace, name, tracking.url)
    tracking.run(experiment, "ease", {"recs.csv": csv(RUNS["ease"]), "truth.csv": csv(TRUTH[:70])})
    last = workspace.store.audit.last()
    with pytest.raises(InputError) as refused:
        import_mlflow(workspace, name, tracking.url)
    assert [problem.code for problem in refused.value.problems] == ["other-tables"]
    assert workspace.store.audit.last() == last


def test_a_single_run_gets_its_scores_without_a_recommendation(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    run_id = tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"])})
    import_mlflow(workspace, name, tracking.url, files=[truth])
    exported = export_mlflow(workspace, name, tracking.url, metrics=["ndcg@1", "ndcg(gain=exp)@3"])
    assert exported.verdict == ""
    assert exported.runs[0].metrics.keys() == {"recdash.ndcg_at_1", "recdash.ndcg-gain-exp_at_3"}
    assert tracking.data(run_id)["metrics"]["recdash.ndcg_at_1"] == pytest.approx(7 / 8)
    assert "recdash.verdict" not in tracking.data(run_id)["tags"]


def test_an_artifact_that_is_too_large_is_not_downloaded(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"])})
    small = Workspace(workspace.store, person=workspace.person, limits=Limits(upload_bytes=2000))
    assert len(csv(RUNS["als"])) > 2000
    with pytest.raises(InputError) as refused:
        import_mlflow(small, name, tracking.url, files=[truth])
    assert refused.value.problems[0].code == "limit-upload-bytes"


def test_an_unknown_experiment_and_a_deleted_run_are_named(
    tracking: Tracking, home: tuple[str, str], workspace: Workspace, truth: Path
) -> None:
    name, experiment = home
    with pytest.raises(NotFound, match="nothing-here"):
        import_mlflow(workspace, "nothing-here", tracking.url)
    run_id = tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"])})
    import_mlflow(workspace, name, tracking.url, files=[truth])
    if tracking.stub is not None:  # MLflow keeps deleted runs until they are purged
        tracking.call("/runs/delete", {"run_id": run_id})
        assert export_mlflow(workspace, name, tracking.url).runs[0].why == "MLflow does not have it any more"
    workspace.experiments.create("other", TRUTH)
    with pytest.raises(InputError) as refused:
        export_mlflow(workspace, "other", tracking.url)
    assert refused.value.problems[0].code == "no-tracked-run"


def test_only_editors_import_and_export(tracking: Tracking, workspace: Workspace) -> None:
    viewer = workspace.seen_by(Person("bob", "viewer"))
    with pytest.raises(Forbidden):
        import_mlflow(viewer, "any", tracking.url)
    with pytest.raises(Forbidden):
        export_mlflow(viewer, "any", tracking.url)


def test_the_commands_do_the_same(tracking: Tracking, home: tuple[str, str], run: Recdash) -> None:
    name, experiment = home
    three_runs(tracking, experiment)
    uri = ("--tracking-uri", tracking.url)
    said = run("import", "mlflow", name, *uri, "--baseline", "popular")
    assert (said.exit_code, said.stdout) == (0, "popular: added\nals: added\nease: added\n"), said.stderr
    assert as_json(run, "import", "mlflow", name, *uri)["runs"][0]["state"] == "already stored"
    said = run("export", "mlflow", name, *uri, "--metrics", "ndcg@3,recall@3", "--no-report")
    assert (said.exit_code, said.stdout.splitlines()) == (
        0,
        [
            "Ship als",
            *(f"{run}: 2 metrics, {n} tags written" for run, n in zip(RUNS, (5, 6, 6), strict=True)),
        ],
    ), said.stderr
    facts = as_json(run, "list")["experiments"][0]["runs"][0]
    assert (facts["params"], facts["source"]["tracker"]) == (PARAMS, "mlflow")


# ── the address and who asks ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("address", ["", "films", "file:///mlruns", "sqlite:///mlflow.db", "databricks"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InputError) as refused:
        Mlflow(address, {})
    assert refused.value.problems[0].code == "bad-server"


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(InputError) as refused:
        Mlflow("http://ann:pa55word@127.0.0.1:5000", {})
    assert refused.value.problems[0].code == "secret-in-address"
    assert "pa55word" not in str(refused.value)


@pytest.mark.parametrize(
    ("environment", "header"),
    [
        ({}, ""),
        ({"MLFLOW_TRACKING_TOKEN": "t0ken"}, "Bearer t0ken"),
        # base64 of ann:pa55word
        (
            {"MLFLOW_TRACKING_USERNAME": "ann", "MLFLOW_TRACKING_PASSWORD": "pa55word"},
            "Basic YW5uOnBhNTV3b3Jk",
        ),
    ],
)
def test_secrets_come_from_the_environment_and_are_not_stored(
    workspace: Workspace, truth: Path, tmp_path: Path, environment: dict[str, str], header: str
) -> None:
    stub = MlflowStub()
    tracking = Tracking(stub.url, stub)
    experiment = tracking.call("/experiments/create", {"name": "films"})["experiment_id"]
    tracking.run(experiment, "als", {"recs.csv": csv(RUNS["als"])})
    stub.asked.clear()
    import_mlflow(workspace, "films", tracking.url, files=[truth], environment=environment)
    stub.stop()
    assert {given for _, given in stub.asked} == {header}
    secrets = [value.encode() for name, value in environment.items() if not name.endswith("USERNAME")]
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 2
    assert not [secret for secret in secrets for content in written if secret in content]


@pytest.mark.parametrize(
    ("status", "error"), [(401, Unauthorised), (403, Forbidden), (404, NotFound), (500, InputError)]
)
def test_a_refusal_is_an_error_of_recdash(status: int, error: type[Exception]) -> None:
    told = Mlflow("http://127.0.0.1:5000", {})._error(status, b'{"message": "Well,\\u001b[31m\\nno"}')
    assert isinstance(told, error)
    assert "no" in str(told)


def test_names_of_metrics_are_those_that_mlflow_takes() -> None:
    assert metric_name("ndcg", 10) == "recdash.ndcg_at_10"
    assert metric_name("rmse", None) == "recdash.rmse"
    assert metric_name("coverage_by(genre)", 5) == "recdash.coverage_by-genre_at_5"
