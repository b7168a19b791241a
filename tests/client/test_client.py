"""``recdash.connect`` answers as the local workspace does, and ``recdash push`` stores files there."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pytest
from decision_worlds import RUNS, TRUTH, sessions
from running_api import Running
from terminal import Recdash

import recdash
from recdash.client import pushing
from recdash.client.connection import NotRecdash, Server, Unauthorised
from recdash.client.pushing import upload
from recdash.client.workspace import RemoteWorkspace
from recdash.domain.results import Scope
from recdash.errors import Forbidden, InputError, NotFound
from recdash.http import HttpServer, ServerUnreachable
from recdash.service.plain_answers import ab_test_facts


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    server = Running(tmp_path_factory.mktemp("client"))
    yield server
    server.stop()


@pytest.fixture
def remote(running: Running) -> RemoteWorkspace:
    return recdash.connect(running.url, running.api.tokens["editor"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files to send."""
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    for name, table in RUNS.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_a_remote_workspace_answers_as_the_local_one(remote: RemoteWorkspace, running: Running) -> None:
    local, home = running.workspace, running.ids["films"]
    (stored,) = [one for one in remote.experiments.all() if one.id == home]
    experiment = local.experiments.get(home)
    assert (stored.name, stored.created, stored.baseline) == (
        "films",
        experiment.created,
        experiment.baseline,
    )
    assert remote.experiments.named("films") == stored == remote.experiments.get(home)
    assert [(run.id, run.name, run.created) for run in remote.runs.all(home)] == [
        (run.id, run.name, run.created) for run in local.runs.all(home)
    ]
    asked = ([running.ids["als"], running.ids["ease"]], ["ndcg", "recall"])
    pd.testing.assert_frame_equal(
        remote.scores.curves(*asked).sort_values(["run", "metric", "k"], ignore_index=True),
        local.scores.curves(*asked).sort_values(["run", "metric", "k"], ignore_index=True),
        check_dtype=False,
        check_categorical=False,
    )


def test_comparisons_and_tests_are_those_of_the_local_workspace(
    remote: RemoteWorkspace, running: Running
) -> None:
    local, home = running.workspace, running.ids["films"]
    candidates, baseline = [running.ids["als"], running.ids["ease"]], running.ids["popular"]
    question = (home, candidates, baseline, "ndcg", 2)
    scope = Scope("user_warmth=cold")
    for part in (Scope(), scope):
        own = local.comparisons.compare(local.queries.of(*question, scope=part))
        told = remote.comparisons.compare(remote.queries.of(*question, scope=part))
        assert told.as_dict() == json.loads(json.dumps(own.as_dict()))
        assert told.verdict.headline == own.verdict.headline
        assert list(told.table()["candidate"]) == list(own.table()["candidate"])
    verdict = remote.comparisons.verdict(remote.queries.of(*question))
    assert verdict.as_dict() == json.loads(
        json.dumps(local.comparisons.verdict(local.queries.of(*question)).as_dict())
    )
    (test,) = remote.online_tests.all(home)
    assert (test.id, test.links) == (running.test.id, running.test.links)
    own_results = json.loads(json.dumps(ab_test_facts(local, running.test)))
    assert remote.online_analysis.results(test.id).as_dict() == own_results


def test_a_report_is_written(remote: RemoteWorkspace, running: Running, tmp_path: Path) -> None:
    query = remote.queries.of(running.ids["films"])
    n_bytes = remote.reports.write(query, tmp_path / "report.md", title="Spring")
    assert (tmp_path / "report.md").stat().st_size == n_bytes
    assert "Spring" in (tmp_path / "report.md").read_text()


def test_errors_are_those_of_the_local_workspace(remote: RemoteWorkspace, running: Running) -> None:
    with pytest.raises(NotFound, match="No experiment is called 'nothing'"):
        remote.experiments.named("nothing")
    with pytest.raises(NotFound):
        remote.online_analysis.results("none")
    with pytest.raises(InputError) as refused:
        remote.scores.curves([running.ids["als"]], ["beauty"])
    assert refused.value.problems[0].code == "unknown-metric"
    with pytest.raises(Unauthorised, match="unknown"):
        recdash.connect(running.url, "recdash_x").experiments.all()
    reader = recdash.connect(running.url, running.api.tokens["viewer"])
    with pytest.raises(Forbidden):
        reader.push("films", [__file__])


@pytest.mark.parametrize(
    "address", ["", "dashboard", "ftp://x", "http://", "http://x?y=1", "http://x:y", "http://["]
)
def test_an_address_must_be_one(address: str) -> None:
    with pytest.raises(InputError, match="https://recdash"):
        recdash.connect(address, "recdash_x")


@pytest.mark.parametrize("address", [None, 5, True, b"http://films", ["http://films"]])
def test_an_address_of_a_wrong_type_is_refused(address: Any) -> None:
    with pytest.raises(InputError, match=r"server: .* Write the address of the dashboard"):
        recdash.connect(address, "token")


@pytest.mark.parametrize("token", [None, 5, b"s3cret", ["s3cret"]])
def test_a_token_of_a_wrong_type_is_refused_without_showing_it(token: Any) -> None:
    with pytest.raises(InputError, match="token: it is no API token") as refused:
        recdash.connect("http://localhost:1", token)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"files": 5}, "files: int 5. Give a list"),
        ({"files": [5]}, "files: int 5. Give a list"),
        ({"files": b"als.csv"}, "files: bytes b'als.csv'. Give a list"),
        ({"sources": [None]}, "sources: NoneType. Give a list"),
        ({"files": __file__, "tags": {"new"}}, "options: no JSON (Object of type set"),
        ({"files": __file__, "depth": 0}, "body depth: 0 is too small. Send 1 or more."),
        ({"files": __file__, "dept": 5}, "body dept: it is unknown."),
    ],
)
def test_what_cannot_be_pushed_is_told(remote: RemoteWorkspace, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as refused:
        remote.push("odd", **given)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("address", ["http://ann:hunter2@127.0.0.1:1", "ftp://ann:hunter2@127.0.0.1:1"])
def test_an_address_with_a_password_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(InputError, match="name or password") as refused:
        recdash.connect(address, "recdash_x")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b"<html>Welcome"), (200, b"[]"), (200, b""), (404, b"<html>No"), (404, b'{"problems": []}')],
)
def test_a_server_that_is_another_program_is_told(status: int, content: bytes) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_arguments: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        other = recdash.connect(f"http://127.0.0.1:{server.server_port}", "recdash_x")
        for question in (other.experiments.all, partial(other.push, "films", [__file__])):
            with pytest.raises(NotRecdash, match="not answer as recdash does") as failed:
                question()
            assert failed.value.problem.place == f"server http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


def test_a_server_that_never_answered_is_given_up_soon_and_named() -> None:
    address, waits, told = f"http://127.0.0.1:{free_port()}", list[float](), list[str]()
    with pytest.raises(ServerUnreachable) as failed:
        Server(address, "recdash_x", waits.append, told.append).ask("/server")
    assert waits == [0.5, 1.0]
    problem = failed.value.problem
    assert (problem.code, problem.place) == ("unreachable", f"server {address}")
    assert problem.found == "nothing accepts connections there"
    assert "port" in problem.fix
    assert [line.partition(";")[2] for line in told] == [" trying again in 0.5 s", " trying again in 1 s"]
    assert str(failed.value).startswith(f"server {address}: nothing accepts connections there. Check")


def test_a_name_without_an_address_is_told() -> None:
    with pytest.raises(ServerUnreachable, match="its name has no address"):
        Server("http://dashboard.invalid", "recdash_x", lambda _: None).ask("/server")


def test_a_server_that_speaks_no_tls_is_told(running: Running) -> None:
    address = running.url.replace("http://", "https://")
    with pytest.raises(ServerUnreachable, match="no safe connection is possible"):
        Server(address, "recdash_x", lambda _: None).ask("/server")


def test_a_connection_that_is_not_made_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.http.CONNECT_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # which never answers the handshake of TLS
        address = f"https://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ServerUnreachable, match="it does not answer in time"):
            Server(address, "recdash_x", lambda _: None).ask("/server")


def test_a_proxy_that_cannot_reach_the_server_counts_as_a_lost_connection() -> None:
    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if len(waits) == 1 else 502)
            self.end_headers()
            self.wfile.write(b"{}" if len(waits) == 1 else b"<html>Bad gateway")

        def log_message(self, *_arguments: object) -> None: ...

    waits: list[float] = []
    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = Thread(target=proxy.serve_forever)
    thread.start()
    try:
        server = Server(f"http://127.0.0.1:{proxy.server_port}", "recdash_x", waits.append)
        assert server.ask("/server") == {}
        assert waits == [0.5]
        waits.append(0)  # from now on the proxy answers 502 again
        with pytest.raises(ServerUnreachable, match="status 502"):
            server.ask("/server")
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
    assert waits == [0.5, 0, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


def test_a_server_that_answered_once_is_waited_for(tmp_path: Path) -> None:
    running = Running(tmp_path)
    waits: list[float] = []
    server = Server(running.url, running.api.tokens["viewer"], waits.append)
    server.ask("/server")
    running.stop()
    with pytest.raises(ServerUnreachable, match=str(running.port)):
        server.ask("/server")
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]


# ── push ─────────────────────────────────────────────────────────────────────────────────────


def test_push_stores_files_in_parts(
    remote: RemoteWorkspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "PART_BYTES", 1000)
    told: list[str] = []
    stored = remote.push(
        "pushed", [folder / "truth.csv", folder / "als.csv"], tell=told.append, baseline="als"
    )
    assert [run["name"] for run in stored["runs"]] == ["als"]
    size = (folder / "als.csv").stat().st_size
    sending = [text for text in told if text.startswith("Sending als.csv")]
    assert len(sending) == -(-size // 1000) > 1
    more = remote.push("pushed", {"EASE v2": folder / "ease.csv"}, tags=["nightly"])
    assert [run["name"] for run in more["runs"]] == ["EASE v2"]
    assert {run.name: run.tags for run in remote.experiments.named("pushed").runs} == {
        "als": (),
        "EASE v2": ("nightly",),
    }


def test_a_lost_answer_to_an_addition_starts_no_second_one(
    remote: RemoteWorkspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions({"A": 60, "B": 120}).to_csv(folder / "sessions.csv", index=False)
    once, answers = HttpServer._once, []

    def lose_the_first(http: HttpServer, method: str, path: str, *rest: Any) -> Any:
        answer = once(http, method, path, *rest)
        if (method, path) == ("POST", "/api/v1/additions"):
            answers.append(json.loads(answer[0].content))
            if len(answers) == 1:
                raise ConnectionResetError("lost")
        return answer

    monkeypatch.setattr(HttpServer, "_once", lose_the_first)
    stored = remote.push("lossy", [folder / name for name in ("truth.csv", "als.csv", "sessions.csv")])
    assert [answer["id"] for answer in answers] == [answers[0]["id"]] * 2
    assert [run["already_stored"] for run in stored["runs"]] == [False]
    (test,) = stored["online_tests"]
    tests = remote.online_tests.all(remote.experiments.named("lossy").id)
    assert [known.id for known in tests] == [test["id"]]
    again = remote.push("lossy", {"second": folder / "ease.csv"})
    assert [run["name"] for run in again["runs"]] == ["second"]  # each push has a key of its own


def test_an_upload_continues_where_it_ended(running: Running, folder: Path) -> None:
    server = Server(running.url, running.api.tokens["admin"])
    file = folder / "popular.csv"
    content = file.read_bytes()
    announced = {"name": file.name, "size": len(content), "sha256": pushing.hash_of(file)}
    state = server.post("/uploads", announced)
    path, headers = f"/uploads/{state['id']}", {"Upload-Offset": "0"}
    server.request("PATCH", path, content[:700], headers)
    told: list[str] = []
    assert upload(server, file, told.append) == state["id"]
    assert told == [f"Sending popular.csv: {100 * 700 // len(content)} %"]
    assert upload(server, file, told.append) == state["id"]
    assert len(told) == 1  # it has arrived
    assert running.files.folder is not None
    assert (running.files.folder / state["id"] / file.name).read_bytes() == content


def test_the_command_says_at_once_that_it_connects(
    running: Running, folder: Path, run: Recdash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_TOKEN", running.api.tokens["editor"])
    address = f"http://127.0.0.1:{free_port()}"
    call = ("push", "films", str(folder / "als.csv"), "--server", address)
    failed = run(*call)
    why = f"server {address}: nothing accepts connections there"
    assert (failed.exit_code, failed.stdout) == (2, "")
    assert failed.stderr.splitlines() == [
        f"Connecting to {address}",
        f"{why}; trying again in 0.5 s",
        f"{why}; trying again in 1 s",
        f"recdash: {why}. Check the address and its port, and that the server runs.",
    ]
    silent = run(*call, "--format", "json")
    assert (silent.exit_code, silent.stdout) == (2, "")
    assert silent.stderr.splitlines() == failed.stderr.splitlines()[-1:]


def test_the_command_pushes(
    running: Running, folder: Path, run: Recdash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_TOKEN", running.api.tokens["editor"])
    monkeypatch.chdir(folder)
    call = ("push", "from the command", "--server", running.url)
    done = run(*call, "truth.csv", "new=als.csv", "popular.csv", "--baseline", "popular")
    assert (done.exit_code, done.stdout.splitlines()) == (0, ["new: added", "popular: added"]), done.stderr
    again = run(*call, "new=als.csv", "--format", "json")
    assert [one["already_stored"] for one in json.loads(again.stdout)["runs"]] == [True]
    (folder / "bad.csv").write_text("user_id,item_id,rank\nu0,i0,first\n")
    refused = run(*call, "broken=bad.csv")
    assert (refused.exit_code, "bad.csv" in refused.stderr) == (2, True)
    missing = run(*call, "nowhere.csv")
    assert missing.exit_code == 2
    experiment = running.workspace.experiments.named("from the command")
    assert [one.name for one in running.workspace.runs.all(experiment.id)] == ["new", "popular"]


@pytest.mark.parametrize(("status", "fix"), [(404, "Check the address"), (413, "A proxy"), (504, "A proxy")])
def test_an_answer_that_is_not_recdashs_says_who_may_have_given_it(status: int, fix: str) -> None:
    assert f"(status {status}). {fix}" in str(NotRecdash("https://example.org", status))
