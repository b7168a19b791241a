"""The HTTP API answers with the JSON of the command line, to whoever may read it on the pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_world import Api, page_cookie, problems, share_cookie
from decision_worlds import checkout, films, home_page
from terminal import Recdash, as_json

from recdash.domain.access import ROLES, AccessRole, Person
from recdash.service import Workspace
from recdash.store import open_store

OF = "/experiments/films"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api")


@pytest.fixture(scope="module")
def workspace(folder: Path) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    workspace = Workspace(store, person=Person("ann", "admin"))
    home_page(workspace, films(workspace))
    checkout(workspace)
    workspace.experiments.create("books", b"user_id,item_id\nu,a\n", depth=5)
    yield workspace
    store.close()


@pytest.fixture(scope="module")
def api(workspace: Workspace) -> Api:
    return Api(workspace)


@pytest.fixture
def terminal(folder: Path, monkeypatch: pytest.MonkeyPatch, run: Recdash) -> Recdash:
    """The command line on the same store."""
    from recdash.settings import settings

    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{folder}/recdash.db")
    monkeypatch.setenv("RECDASH_ARTIFACTS", str(folder / "artifacts"))
    settings.cache_clear()
    return run


def test_experiments_are_as_the_command_lists_them(api: Api, terminal: Recdash) -> None:
    listed = as_json(terminal, "list")
    assert api.json("/experiments") == listed
    (stored,) = (experiment for experiment in listed["experiments"] if experiment["name"] == "films")
    assert api.json(OF) == stored == api.json(f"/experiments/{stored['id']}")
    assert api.json(f"{OF}/runs") == {"runs": stored["runs"]}


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ({}, ()),
        (
            {"metric": "recall@2", "run": ["als", "ease"]},
            ("--metric", "recall@2", "--run", "als", "--run", "ease"),
        ),
        ({"baseline": "ease", "correction": "bh"}, ("--baseline", "ease", "--correction", "bh")),
        ({"margin": "2%", "slice": "user_warmth=cold"}, ("--margin", "2%", "--slice", "user_warmth=cold")),
    ],
)  # fmt: skip
def test_a_comparison_is_that_of_the_command(
    api: Api, terminal: Recdash, query: dict[str, Any], options: tuple[str, ...]
) -> None:
    compared = as_json(terminal, "compare", "--experiment", "films", *options)
    assert api.json(f"{OF}/comparison", query=query) == compared
    assert api.json(f"{OF}/verdict", query=query) == compared["verdict"]


def test_results_of_a_test_are_those_of_the_command(api: Api, terminal: Recdash) -> None:
    (test,) = api.json(f"{OF}/online_tests")["online_tests"]
    for correction in ("holm", "bh"):
        told = as_json(terminal, "online", "--experiment", "films", "--correction", correction)
        query = {"correction": correction}
        assert api.json(f"{OF}/online_tests/{test['id']}", query=query) == told
        assert api.json(f"{OF}/online_tests/{test['name']}", query=query) == told


def test_scores_are_those_of_the_arithmetic(api: Api) -> None:
    """popular finds the item of 10 of 80 users first, als of 70, ease of 30: nDCG 1/8, 7/8, 3/8."""
    rows = api.json(f"{OF}/scores", query={"metric": "ndcg@2"})["scores"]
    assert {row["run"]: (row["k"], row["value"], row["n_users"]) for row in rows} == {
        "popular": (2, 1 / 8, 80),
        "als": (2, 7 / 8, 80),
        "ease": (2, 3 / 8, 80),
    }
    curve = api.json(f"{OF}/scores", query={"metric": ["ndcg", "recall@1"], "run": "als"})["scores"]
    assert [(row["metric"], row["k"]) for row in curve] == [
        *(("ndcg", k) for k in (1, 2, 3)),
        ("recall", 1),
    ]


def test_a_report_is_the_document_that_the_command_writes(
    api: Api, terminal: Recdash, tmp_path: Path
) -> None:
    written = tmp_path / "report.json"
    assert terminal("report", "--experiment", "films", "-o", str(written)).exit_code == 0
    own, told = json.loads(written.read_text()), api.json(f"{OF}/report")
    assert told["lead"] == own["lead"]
    assert [section["title"] for section in told["sections"]] == [
        section["title"] for section in own["sections"]
    ]
    page = api.ask(f"{OF}/report", query={"format": "html"})
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["content-disposition"].startswith("attachment")


# ── who may ask ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", ROLES)
def test_a_token_tells_who_asks(api: Api, role: AccessRole) -> None:
    told = api.json("/server", role)
    assert (told["role"], told["person"]) == (role, f"{role} (token of ann)")


def test_without_a_token_the_sign_in_of_the_pages_reads_and_nothing_else(api: Api) -> None:
    assert api.ask("/server", None).status == 401
    assert json.loads(api.ask("/server", None, headers=page_cookie()).text)["role"] == "admin"
    assert api.ask("/server", None, "POST", headers=page_cookie()).status == 401


@pytest.mark.parametrize("secret", ["", "x", "recdash_x", "\u00e9", "Bearer"])
def test_a_wrong_token_is_refused_even_with_a_sign_in(api: Api, secret: str) -> None:
    named = {**page_cookie(), "authorization": f"Bearer {secret}"}
    refused = api.ask("/experiments", None, headers=named)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="recdash"')
    (problem,) = problems(refused)
    assert problem["code"] == "no-access"


def test_a_revoked_token_is_refused_at_once(api: Api, workspace: Workspace) -> None:
    made = workspace.tokens.create("short")
    named = {"authorization": f"Bearer {made.secret}"}
    assert api.ask("/server", None, headers=named).status == 200
    workspace.tokens.revoke(made.token.id)
    assert "revoked" in problems(api.ask("/server", None, headers=named))[0]["finding"]


@pytest.mark.parametrize("numbers_only", [False, True])
def test_a_guest_reads_one_experiment(api: Api, workspace: Workspace, *, numbers_only: bool) -> None:
    home = workspace.experiments.named("films").id
    shared = share_cookie(workspace.sharing.share(home, numbers_only=numbers_only).token)
    (only,) = json.loads(api.ask("/experiments", None, headers=shared).text)["experiments"]
    assert only["name"] == "films"
    assert api.ask("/experiments/books", None, headers=shared).status == 404
    assert api.ask(f"{OF}/verdict", None, headers=shared).status == 200
    report = api.ask(f"{OF}/report", None, headers=shared)
    assert (report.status, "u79" in report.text) == (200, False)


def test_in_local_mode_a_token_is_for_this_machine(workspace: Workspace) -> None:
    local = Api(workspace, {"auth": "local"})
    assert local.ask("/server", None).status == 200
    assert local.ask("/server").status == 200
    named = {"authorization": f"Bearer {local.tokens['viewer']}", "x-forwarded-for": "203.0.113.5"}
    assert local.ask("/server", None, headers=named).status == 403


# ── what cannot be answered ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "query", "status", "code"),
    [
        ("/experiments/nothing", {}, 404, "not-found"),
        (f"{OF}/online_tests/nothing", {}, 404, "not-found"),
        ("/nothing", {}, 404, "not-found"),
        ("", {}, 404, "not-found"),
        (f"{OF}/comparison", {"run": "nobody"}, 422, "unknown-run"),
        (f"{OF}/comparison", {"run": "popular"}, 422, "no-candidate"),
        (f"{OF}/comparison", {"colour": "red"}, 422, "bad-parameter"),
        (f"{OF}/comparison", {"metric": ["ndcg@1", "ndcg@2"]}, 422, "bad-parameter"),
        (f"{OF}/comparison", {"correction": "none at all"}, 422, "bad-parameter"),
        (f"{OF}/comparison", {"relevance_threshold": "nan"}, 422, "bad-parameter"),
        (f"{OF}/comparison", {"margin": "1000%"}, 422, "bad-margin"),
        (f"{OF}/scores", {"metric": "beauty"}, 422, "unknown-metric"),
        (f"{OF}/scores", {"run": [f"run {n}" for n in range(21)]}, 422, "bad-parameter"),
        (f"{OF}/scores", {"slice": "x"}, 422, None),
        (f"{OF}/report", {"format": "exe"}, 422, "bad-parameter"),
        ("/experiments/books/verdict", {}, 422, "no-candidate"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_as_problems(
    api: Api, path: str, query: dict[str, Any], status: int, code: str | None
) -> None:
    answer = api.ask(path, query=query)
    assert answer.status == status, answer.text
    assert code in (None, problems(answer)[0]["code"]), answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_another_method_says_which_there_are(api: Api, method: str) -> None:
    refused = api.ask("/experiments", "admin", method)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
    assert problems(refused)[0]["code"] == "bad-method"


def test_too_many_requests_are_refused_for_one_token_alone(workspace: Workspace) -> None:
    limited = Api(workspace, {"api_requests_per_minute": 3})
    assert [limited.ask("/server").status for _ in range(4)] == [200, 200, 200, 429]
    refused = limited.ask("/server")
    assert problems(refused)[0]["code"] == "too-many-requests"
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert limited.ask("/server", "editor").status == 200
