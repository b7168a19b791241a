"""The access log: one line of JSON for each event, which names the visitor and holds no secret."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from app_pages import lists, store
from web_requests import ask, browser_of, door, request

from recdash.errors import StoreBusy
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.web import access_log
from recdash.web.middleware import AuthMiddleware
from recdash.web.report_queue import ReportTurns


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(access_log.logger, "propagate", True)
    caplog.set_level(logging.INFO, logger=access_log.logger.name)

    def events(name: str) -> list[dict[str, Any]]:
        assert all("\n" not in text for text in caplog.messages)
        lines = [json.loads(text) for text in caplog.messages]
        return [line for line in lines if line["event"] == name]

    return events


def test_keys_are_logged_without_the_key(
    workspace: Workspace, log: Any, caplog: pytest.LogCaptureFixture
) -> None:
    browser = browser_of(workspace)
    assert [browser.get(f"/key/{key}").status for key in ("wrong-key", "the-key")] == [403, 303]
    assert [len(log(name)) for name in ("key refused", "key accepted")] == [1, 1]
    assert log("key refused")[0]["address"] == "127.0.0.1"
    assert "the-key" not in caplog.text
    assert "wrong-key" not in caplog.text


def test_links_are_logged_by_their_id(
    workspace: Workspace, log: Any, caplog: pytest.LogCaptureFixture
) -> None:
    films = store(workspace, {"als": lists(1)})["films"]
    shared, browser = workspace.sharing.share(films), browser_of(workspace)
    browser.get(f"/s/{shared.token}")
    workspace.sharing.revoke(shared.link.id)
    browser.get(f"/s/{shared.token}")
    browser.get("/s/nonsense")
    assert [(line["link"], line["experiment"]) for line in log("link opened")] == [
        (shared.link.id[:12], films)
    ]
    assert [line["reason"] for line in log("link refused")] == ["revoked", "unknown"]
    assert shared.token not in caplog.text


def test_reading_a_report_is_logged_with_its_reader(workspace: Workspace, log: Any) -> None:
    films = store(workspace, {"als": lists(1), "popular": lists(2)})["films"]
    report = Reports(workspace).make(Reports(workspace).question(films), title="Films")
    browser = browser_of(workspace)
    assert browser.get(f"/reports/{report.id}").status == 403
    browser.get("/key/the-key")
    assert browser.get(f"/reports/{report.id}").status == 200
    (line,) = log("report read")
    assert (line["report"], line["format"], line["who"]) == (report.id, "html", "key holder")
    assert [(line["status"], line["path"]) for line in log("refused")] == [(403, f"/reports/{report.id}")]


def test_signing_in_and_out_is_logged_by_name(log: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Streamlit's address sets the cookies of a sign-in; a refused one sets none."""
    claims = {"origin": "http://localhost:8501", "email": "ada@example.org", "email_verified": True}
    config = replace(door(auth="oidc"), claims=lambda cookies: claims if "user" in cookies else {})

    async def callback(scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"set-cookie", b"user=c1aims; Path=/; HttpOnly")] if scope["query_string"] else []
        await send({"type": "http.response.start", "status": 302, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    app = AuthMiddleware(callback, config)
    request(app, "/oauth2callback")
    assert log("signed in") == []
    request(app, "/oauth2callback", query="code=c0de")
    request(app, "/auth/logout")
    request(app, "/auth/logout", headers={"cookie": "user=c1aims"})
    assert [[line["who"] for line in log(name)] for name in ("signed in", "signed out")] == [
        ["ada@example.org"], ["ada@example.org"],
    ]  # fmt: skip
    assert "c1aims" not in caplog.text
    assert "c0de" not in caplog.text


@pytest.mark.parametrize(
    "path", ["/key/the-key", "/s/a-token", "/team/s/a-token", "/key/the-key/more", "/KEY/the-key"]
)
def test_the_path_of_a_refused_request_is_logged_without_its_secret(
    log: Any, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    assert ask(door(auth="key"), path, headers={"host": "elsewhere.example"}).status == 403
    (line,) = log("refused")
    assert line["reason"] == "Not allowed"
    assert "the-key" not in caplog.text
    assert "a-token" not in caplog.text


@pytest.mark.parametrize("path", ["/s/a-token/more", "/key/the-key/more", "/reports/x/more"])
def test_an_unknown_address_is_logged_without_its_secret(
    workspace: Workspace, log: Any, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    browser = browser_of(workspace)
    browser.get("/key/the-key")
    assert browser.get(path).status == 404
    (line,) = log("refused")
    assert (line["status"], line["reason"]) == (404, "Not found")
    assert "the-key" not in caplog.text
    assert "a-token" not in caplog.text


def test_a_link_whose_report_has_to_wait_is_refused_and_not_opened(
    workspace: Workspace, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    films = store(workspace, {"als": lists(1), "popular": lists(2)})["films"]
    report = Reports(workspace).make(Reports(workspace).question(films), title="Films")
    shared = workspace.sharing.share(films, report_id=report.id)

    async def busy(*_: Any) -> None:
        raise StoreBusy("Many reports are being generated.")

    with monkeypatch.context() as moment:
        moment.setattr(ReportTurns, "make", busy)
        answer = browser_of(workspace).get(f"/s/{shared.token}")
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert [(line["status"], line["path"]) for line in log("refused")] == [(503, "/s/…")]
    assert (log("link opened"), workspace.sharing.uses(films)) == ([], {})
    assert browser_of(workspace).get(f"/s/{shared.token}").status == 200
    assert len(log("link opened")) == workspace.sharing.uses(films)[shared.link.id].n_opened == 1


def test_a_strangers_text_stays_on_one_line(workspace: Workspace, log: Any) -> None:
    path = "/reports/x\n\x1b[31m{}" + "y" * 300
    assert browser_of(workspace).get(path).status == 403
    (line,) = log("refused")
    assert line["path"] == path[: access_log.LONGEST]
