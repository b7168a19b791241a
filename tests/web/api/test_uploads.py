"""Programs send files in parts and store them: all or nothing, the same file once, and only with a token."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from api_world import Api, page_cookie, problems
from decision_worlds import RUNS, TRUTH, sessions
from web_requests import Answer

from recdash.domain.access import AccessRole, Person
from recdash.service import Workspace
from recdash.service.catalog.intake_job import JOBS
from recdash.store import open_store
from recdash.web.api.actions import MOST_BODY
from recdash.web.api.additions import MOST_RUNNING
from recdash.web.api.uploads import KEPT_SECONDS, LastUses, _hash_of
from recdash.web.received_files import ReceivedFile, ReceivedFiles

FILES = {
    "truth.csv": TRUTH.to_csv(index=False).encode(),
    **{f"{name}.csv": table.to_csv(index=False).encode() for name, table in RUNS.items()},
    "sessions.csv": sessions({"A": 60, "B": 120}).to_csv(index=False).encode(),
}


@pytest.fixture
def files(tmp_path: Path) -> Iterator[ReceivedFiles]:
    kept = ReceivedFiles(lambda: tmp_path / "uploads")
    (tmp_path / "uploads").mkdir()
    yield kept
    kept.stop()


@pytest.fixture
def api(tmp_path: Path, files: ReceivedFiles) -> Iterator[Api]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Api(Workspace(store, person=Person("ann", "admin")), files=files)
    store.close()


def announced(name: str, content: bytes, **more: Any) -> dict[str, Any]:
    return {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **more}


def begun(api: Api, name: str, content: bytes, role: AccessRole = "editor", **more: Any) -> Any:
    return api.json("/uploads", role, method="POST", body=announced(name, content, **more))


def send(api: Api, upload: str, offset: int, *parts: bytes, role: AccessRole = "editor") -> Answer:
    named = {"upload-offset": str(offset)}
    return api.ask(f"/uploads/{upload}", role, "PATCH", headers=named, parts=list(parts))


def sent(api: Api, name: str, content: bytes | None = None) -> str:
    """The id of a file that has arrived."""
    content = FILES[name] if content is None else content
    upload = begun(api, name, content)["id"]
    assert send(api, upload, 0, content).status == 200
    return str(upload)


def added(api: Api, *names: str, **more: Any) -> Any:
    """The addition of these files, when it is over."""
    body = {
        "experiment": "films",
        "files": [{"upload": sent(api, name), "name": name} for name in names],
        **more,
    }
    addition = api.json("/additions", "editor", method="POST", body=body)
    return finished(api, addition["id"])


def on_disk(files: ReceivedFiles) -> list[Path]:
    assert files.folder is not None
    return list(files.folder.glob("*/*"))


def finished(api: Api, addition: str) -> Any:
    for _ in range(600):
        state = api.json(f"/additions/{addition}", "editor")
        if state["state"] != "running":
            return state
        time.sleep(0.05)
    raise AssertionError(state)


# ── sending ──────────────────────────────────────────────────────────────────────────────────


def test_a_file_continues_where_a_connection_was_lost(api: Api, files: ReceivedFiles) -> None:
    content = FILES["als.csv"]
    upload = begun(api, "als.csv", content)
    assert (upload["received"], upload["size"]) == (0, len(content))
    assert json.loads(send(api, upload["id"], 0, content[:5], content[5:9]).text)["received"] == 9
    assert api.json(f"/uploads/{upload['id']}", "editor")["received"] == 9
    again = send(api, upload["id"], 0, content)
    assert (again.status, json.loads(again.text)["received"]) == (409, 9)
    assert begun(api, "als.csv", content) == {**upload, "received": 9}
    assert send(api, upload["id"], 9, content[9:]).status == 200
    assert begun(api, "other name.csv", content) == {**upload, "received": len(content)}
    assert len(on_disk(files)) == 1


@pytest.mark.parametrize("headers", [{}, {"upload-offset": "many"}])
def test_bytes_without_an_offset_are_refused(api: Api, headers: dict[str, str]) -> None:
    upload = begun(api, "als.csv", b"lists")["id"]
    refused = api.ask(f"/uploads/{upload}", "editor", "PATCH", headers=headers, parts=[b"lists"])
    assert refused.status == 400
    assert problems(refused) == [
        {
            "code": "bad-request",
            "place": "header Upload-Offset",
            "finding": "it is missing, or no number of bytes",
            "fix": "Send how many bytes of the file were received; GET of the same address says it.",
        }
    ]
    assert api.json(f"/uploads/{upload}", "editor")["received"] == 0


def test_bytes_with_another_hash_are_deleted(api: Api, files: ReceivedFiles) -> None:
    upload = begun(api, "als.csv", b"right")["id"]
    refused = send(api, upload, 0, b"wrong")
    assert (refused.status, problems(refused)[0]["code"]) == (422, "hash-differs")
    assert api.ask(f"/uploads/{upload}", "editor").status == 404
    assert on_disk(files) == []
    assert problems(send(api, upload, 0, b"wrong"))[0]["code"] == "not-found"


def test_a_file_that_is_deleted_while_its_hash_is_verified_is_unknown(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deleted(file: ReceivedFile) -> str:
        file.delete()
        return _hash_of(file)

    monkeypatch.setattr("recdash.web.api.uploads._hash_of", deleted)
    upload = begun(api, "als.csv", FILES["als.csv"])["id"]
    assert send(api, upload, 0, FILES["als.csv"]).status == 404


def test_a_file_without_bytes_is_complete_at_once(api: Api) -> None:
    upload = begun(api, "empty.csv", b"")["id"]
    body = {"experiment": "films", "files": [{"upload": upload}]}
    state = finished(api, api.json("/additions", "editor", method="POST", body=body)["id"])
    assert (state["state"], state["problems"][0]["place"].startswith("empty.csv")) == ("refused", True)
    refused = api.ask("/uploads", "editor", "POST", body=announced("empty.csv", b"") | {"sha256": "0" * 64})
    assert problems(refused)[0]["code"] == "hash-differs"


def test_another_size_for_the_same_hash_is_refused(api: Api) -> None:
    begun(api, "als.csv", b"abc")
    refused = api.ask("/uploads", "editor", "POST", body=announced("als.csv", b"abc", size=4))
    assert problems(refused)[0]["code"] == "size-differs"


def test_two_tokens_send_the_same_file_each_for_itself(api: Api) -> None:
    first, second = (begun(api, "als.csv", b"abc", role)["id"] for role in ("editor", "admin"))
    assert first != second
    assert send(api, first, 0, b"abc").status == send(api, second, 0, b"abc", role="admin").status == 200


def test_more_bytes_than_announced_are_refused(api: Api) -> None:
    upload = begun(api, "als.csv", b"abc")["id"]
    refused = send(api, upload, 0, b"abcd")
    assert (refused.status, problems(refused)[0]["code"]) == (413, "too-large")


def test_files_are_those_of_one_token(api: Api) -> None:
    upload = begun(api, "als.csv", b"abc")["id"]
    for method in ("GET", "DELETE"):
        assert api.ask(f"/uploads/{upload}", "admin", method).status == 404
    assert send(api, upload, 0, b"abc", role="admin").status == 404
    assert api.ask(f"/uploads/{upload}", "editor", "DELETE").status == 204
    assert api.ask(f"/uploads/{upload}", "editor").status == 404


def test_limits_are_those_of_the_pages(tmp_path: Path, files: ReceivedFiles) -> None:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    settings = {"max_upload_bytes": 10, "upload_budget_bytes": 12}
    api = Api(Workspace(store, person=Person("ann", "admin")), settings, files=files)
    assert api.ask("/uploads", "editor", "POST", body=announced("a", b"x" * 11)).status == 413
    sent(api, "a.csv", b"x" * 10)
    over = api.ask("/uploads", "editor", "POST", body=announced("b", b"y" * 3))
    assert (over.status, problems(over)[0]["code"]) == (429, "too-many-requests")
    store.close()


def test_files_are_kept_for_an_hour_after_their_last_use() -> None:
    now = 0.0
    uses = LastUses(lambda: now)
    uses.note("token a")
    uses.note("a page")
    now = KEPT_SECONDS - 1
    assert (uses.is_open("token a"), uses.is_open("a page"), uses.is_open("token b")) == (True, False, False)
    now = KEPT_SECONDS
    assert not uses.is_open("token a")


def test_uses_that_threads_note_at_once_all_count() -> None:
    uses = LastUses(lambda: 0.0)
    sessions = [[f"token {thread} {number}" for number in range(500)] for thread in range(4)]
    threads = [Thread(target=lambda own=own: [*map(uses.note, own)]) for own in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(uses.is_open(session) for own in sessions for session in own)


# ── storing ──────────────────────────────────────────────────────────────────────────────────


def test_files_are_recognised_scored_and_stored(api: Api, files: ReceivedFiles) -> None:
    state = added(api, "truth.csv", "popular.csv", "als.csv", baseline="popular", tags=["nightly"])
    assert state["state"] == "stored", state
    result = state["result"]
    assert {file["name"]: file["kind"] for file in result["files"]} == {
        "truth.csv": "truth", "popular.csv": "run", "als.csv": "run",
    }  # fmt: skip
    assert [run["name"] for run in result["runs"]] == ["popular", "als"]
    rows = api.json("/experiments/films/scores", query={"metric": "ndcg@1"})["scores"]
    assert {row["run"]: row["value"] for row in rows} == {"popular": 1 / 8, "als": 7 / 8}
    facts = api.json("/experiments/films")
    assert [run["tags"] for run in facts["runs"]] == [["nightly"]] * 2
    assert [run["baseline"] for run in facts["runs"]] == [True, False]
    assert on_disk(files) == []
    who = {event.who for event in api.workspace.audit.events(3)}
    assert who == {"editor (token of ann)"}


def test_the_same_file_twice_is_one_run(api: Api) -> None:
    added(api, "truth.csv", "als.csv")
    again = added(api, "als.csv")
    assert [(run["name"], run["already_stored"]) for run in again["result"]["runs"]] == [("als", True)]
    assert len(api.json("/experiments/films/runs")["runs"]) == 1


def test_other_lists_under_a_known_name_are_refused_with_one_advice(api: Api) -> None:
    added(api, "truth.csv", "als.csv")
    body = {"experiment": "films", "files": [{"upload": sent(api, "ease.csv"), "run": "als"}]}
    state = finished(api, api.json("/additions", "editor", method="POST", body=body)["id"])
    (problem,) = state["problems"]
    assert (problem["code"], problem["fix"]) == ("conflict", "")
    assert problem["finding"].endswith("has the name 'als'. Choose another name")


def test_additions_that_run_together_can_have_the_same_file(api: Api, files: ReceivedFiles) -> None:
    uploads = {name: sent(api, name) for name in ("truth.csv", "popular.csv", "als.csv")}
    bodies = [
        {"experiment": "films", "files": [{"upload": uploads[name]} for name in ("truth.csv", run)]}
        for run in ("popular.csv", "als.csv")
    ]
    with JOBS.taken(lambda _n: None):  # which leaves one turn, so that the second waits for the first
        ids = [api.json("/additions", "editor", method="POST", body=body)["id"] for body in bodies]
        states = [finished(api, addition) for addition in ids]
    assert [(state["state"], state["problems"]) for state in states] == [("stored", [])] * 2
    assert {run["name"] for run in api.json("/experiments/films/runs")["runs"]} == {"popular", "als"}
    assert on_disk(files) == []


def test_an_addition_that_begins_while_its_file_is_deleted_is_told_so(
    api: Api, files: ReceivedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("truth.csv", "als.csv")
    body = {"experiment": "films", "files": [{"upload": sent(api, name), "name": name} for name in names]}
    answers: list[Answer] = []
    remove = files.remove

    def begin_another() -> None:
        answers.append(api.ask("/additions", "editor", "POST", body=body))

    other = Thread(target=begin_another)

    def remove_meanwhile(session: str, file_id: str) -> None:
        if other.ident is None:
            other.start()
            other.join(0.5)
        remove(session, file_id)

    monkeypatch.setattr(files, "remove", remove_meanwhile)
    first = finished(api, api.json("/additions", "editor", method="POST", body=body)["id"])
    other.join()
    assert first["state"] == "stored"
    assert (answers[0].status, problems(answers[0])[0]["code"]) == (404, "not-found")


def test_an_ab_test_is_stored_and_analysed(api: Api) -> None:
    state = added(api, "sessions.csv", control="A")
    assert [test["name"] for test in state["result"]["online_tests"]] == ["sessions"]
    result = api.json("/experiments/films/online_tests/sessions")
    assert (result["control"], result["users"]) == ("A", {"A": 200, "B": 200})


def test_if_one_file_is_bad_nothing_is_stored(api: Api) -> None:
    bad = sent(api, "bad.csv", b"user_id,item_id,rank\nu0,i0,first\n")
    body = {
        "experiment": "films",
        "files": [{"upload": sent(api, "truth.csv")}, {"upload": bad, "kind": "run"}],
    }
    state = finished(api, api.json("/additions", "editor", method="POST", body=body)["id"])
    assert state["state"] == "refused"
    assert "bad.csv" in state["problems"][0]["place"]
    assert api.json("/experiments") == {"experiments": []}
    assert api.json(f"/uploads/{bad}", "editor")["received"] > 0  # it can be tried again with another choice


def test_an_incomplete_file_is_not_stored(api: Api) -> None:
    upload = begun(api, "als.csv", FILES["als.csv"])["id"]
    send(api, upload, 0, FILES["als.csv"][:10])
    refused = api.ask(
        "/additions", "editor", "POST", body={"experiment": "films", "files": [{"upload": upload}]}
    )
    assert problems(refused)[0]["code"] == "incomplete-upload"


def add(api: Api, key: str, role: AccessRole = "editor", **body: Any) -> Answer:
    return api.ask("/additions", role, "POST", body=body, headers={"idempotency-key": key})


def test_an_addition_with_the_same_key_is_begun_once(api: Api) -> None:
    body = {
        "experiment": "films",
        "files": [{"upload": sent(api, name), "name": name} for name in ("truth.csv", "sessions.csv")],
    }
    with JOBS.taken(lambda _n: None):
        first, while_running = (json.loads(add(api, "a key", **body).text) for _ in range(2))
        assert while_running["id"] == first["id"]
        assert finished(api, first["id"])["state"] == "stored"
    again = add(api, "a key", **body)  # its uploads are deleted by now
    assert (again.status, json.loads(again.text)["id"]) == (202, first["id"])
    assert json.loads(again.text) == api.json(f"/additions/{first['id']}", "editor")
    assert len(api.json("/experiments/films/online_tests")["online_tests"]) == 1


def test_a_key_is_that_of_one_body_and_of_one_token(api: Api) -> None:
    upload = sent(api, "truth.csv")
    body = {"experiment": "films", "files": [{"upload": upload}]}
    first = json.loads(add(api, "a key", **body).text)["id"]
    other = add(api, "a key", **body, tags=["nightly"])
    assert (other.status, problems(other)[0]["code"]) == (422, "key-reused")
    assert add(api, "a key", "admin", **body).status == 404  # these uploads are not the admin's
    assert finished(api, first)["state"] == "stored"


def test_a_request_that_began_nothing_leaves_its_key_free(api: Api) -> None:
    upload = begun(api, "truth.csv", FILES["truth.csv"])["id"]
    body = {"experiment": "films", "files": [{"upload": upload}]}
    assert add(api, "a key", **body).status == 422
    send(api, upload, 0, FILES["truth.csv"])
    assert finished(api, json.loads(add(api, "a key", **body).text)["id"])["state"] == "stored"


def test_an_addition_whose_thread_cannot_start_is_none(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"experiment": "films", "files": [{"upload": sent(api, "truth.csv")}]}
    start = Thread.start

    def starting(thread: Thread) -> None:
        if thread.name == "addition":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as without_threads:
        without_threads.setattr(Thread, "start", starting)
        for _ in range(MOST_RUNNING + 1):  # not one of them counts as running
            with pytest.raises(RuntimeError, match="can't start new thread"):
                add(api, "a key", **body)
    assert finished(api, json.loads(add(api, "a key", **body).text)["id"])["state"] == "stored"


@pytest.mark.parametrize("key", ["", "k" * 256, "k\tk", "k\xe9"])
def test_a_key_that_is_none_is_refused(api: Api, key: str) -> None:
    refused = add(api, key, experiment="films", files=[{"upload": "0" * 32}])
    assert (refused.status, problems(refused)[0]["place"]) == (422, "header Idempotency-Key")
    assert add(api, "k" * 255, experiment="films", files=[{"upload": "0" * 32}]).status == 404


# ── who may, and what is not understood ──────────────────────────────────────────────────────

ADDITION = {"experiment": "films", "files": [{"upload": "0" * 32}]}
WRITES = [
    ("POST", "/uploads", announced("a.csv", b"a")),
    ("GET", f"/uploads/{'0' * 32}", None),
    ("PATCH", f"/uploads/{'0' * 32}", None),
    ("DELETE", f"/uploads/{'0' * 32}", None),
    ("POST", "/additions", ADDITION),
    ("GET", "/additions/none", None),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES)
def test_only_editors_with_a_token_send_files(api: Api, method: str, path: str, body: Any) -> None:
    assert api.ask(path, "viewer", method, body=body).status == 403
    assert api.ask(path, None, method, body=body).status == 401
    if method != "GET":
        assert api.ask(path, None, method, body=body, headers=page_cookie()).status == 401
    assert api.ask(path, "editor", method, body=body).status in (201, 404)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 422),
        (b"[]", {}, 422),
        (b'{"name": "a", "size": -1, "sha256": "0"}', {}, 422),
        (b'{"name": "a", "size": 1, "sha256": "' + b"0" * 64 + b'", "colour": 1}', {}, 422),
        (b'{"name": "a", "size": true, "sha256": "' + b"0" * 64 + b'"}', {}, 422),
        (b"\xff", {}, 422),
        (b" " * (MOST_BODY + 1), {}, 413),
        (b"{}", {"content-type": "text/plain"}, 415),
    ],
)
def test_a_body_that_does_not_fit_is_refused(
    api: Api, body: bytes, headers: dict[str, str], status: int
) -> None:
    named = {"content-type": "application/json", **headers}
    refused = api.ask("/uploads", "editor", "POST", parts=[body], headers=named)
    assert refused.status == status
    assert problems(refused)


@pytest.mark.parametrize(
    ("said", "links"),
    [
        ({}, {"popular": "popular", "als": "als"}),
        ({"links": {"als": "ease"}}, {"als": "ease"}),
        ({"links": {}}, {}),
    ],
    ids=["by their names", "as said", "none"],
)
def test_variants_are_linked_to_runs_of_their_names_unless_links_are_given(
    api: Api, said: dict[str, Any], links: dict[str, str]
) -> None:
    table = sessions({"popular": 60, "als": 120}).to_csv(index=False).encode()
    uploads = [{"upload": sent(api, "test.csv", table), "name": "test.csv"}]
    uploads += [
        {"upload": sent(api, name), "name": name}
        for name in ("truth.csv", "popular.csv", "als.csv", "ease.csv")
    ]
    body = {"experiment": "films", "files": uploads, "control": "popular", **said}
    state = finished(api, api.json("/additions", "editor", method="POST", body=body)["id"])
    assert (state["state"], state["problems"]) == ("stored", [])
    (test,) = state["result"]["online_tests"]
    assert test["links"] == links
    ids = {run["name"]: run["id"] for run in state["result"]["runs"]}
    (stored,) = api.workspace.online_tests.all(state["result"]["experiment"]["id"])
    assert stored.links == {variant: ids[run] for variant, run in links.items()}
