"""Every route of the API with every method, for every kind of token: who gets an answer, and who none."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from api_world import Api, problems
from decision_worlds import films, home_page

from recdash.domain.access import ROLES, AccessRole, Person
from recdash.service import Workspace
from recdash.store import open_store
from recdash.web.api.routes import METHODS
from recdash.web.received_files import ReceivedFiles

PAST = datetime(2020, 1, 1, tzinfo=UTC)
ALL = dict.fromkeys(ROLES, 200)
"""What each role gets for a question."""
OF = "/experiments/{experiment}"
FOR_EDITORS: dict[AccessRole, int] = {"viewer": 403}
STATUS: dict[tuple[str, str], dict[AccessRole, int]] = {
    ("GET", "/server"): ALL,
    ("GET", "/experiments"): ALL,
    ("GET", OF): ALL,
    ("GET", f"{OF}/runs"): ALL,
    ("GET", f"{OF}/scores"): ALL,
    ("GET", f"{OF}/comparison"): ALL,
    ("GET", f"{OF}/verdict"): ALL,
    ("GET", f"{OF}/online_tests"): ALL,
    ("GET", f"{OF}/online_tests/{{test}}"): ALL,
    ("GET", f"{OF}/report"): ALL,
    ("GET", "/openapi.json"): ALL,
    ("GET", "/docs"): ALL,
    ("POST", "/uploads"): {**FOR_EDITORS, "editor": 201, "admin": 201},
    ("GET", "/uploads/{upload}"): {**FOR_EDITORS, "editor": 200, "admin": 200},
    ("PATCH", "/uploads/{upload}"): {**FOR_EDITORS, "editor": 200, "admin": 200},
    ("DELETE", "/uploads/{upload}"): {**FOR_EDITORS, "editor": 204, "admin": 204},
    ("GET", "/sources"): {**FOR_EDITORS, "editor": 200, "admin": 200},
    ("POST", "/additions"): {**FOR_EDITORS, "editor": 202, "admin": 202},
    ("GET", "/additions/{addition}"): {**FOR_EDITORS, "editor": 200, "admin": 200},
}
"""(method, route) → the status for each role. A new route must be given its row here."""
CONTENT = b"user_id,item_id,rank\nu1,i1,1\n"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("matrix")
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    workspace = Workspace(store, person=Person("ann", "admin"))
    home_page(workspace, films(workspace))
    files = ReceivedFiles(lambda: folder)
    yield Api(workspace, files=files)
    files.stop()
    store.close()


@pytest.fixture(scope="module")
def refused(api: Api) -> dict[str, dict[str, str]]:
    """Kind of visitor → the headers of somebody who has no access; each token had the rights of an admin."""
    revoked = api.workspace.tokens.create("revoked", "admin")
    earlier = Workspace(api.workspace.store, person=Person("ann", "admin"), clock=lambda: PAST)
    expired = earlier.tokens.create("expired", "admin", days=1)
    headers = {
        name: {"authorization": f"Bearer {secret}"}
        for name, secret in {
            "revoked": revoked.secret,
            "expired": expired.secret,
            "changed": f"{api.tokens['admin'][:-1]}{'A' if api.tokens['admin'][-1] != 'A' else 'B'}",
            "empty": "",
        }.items()
    }
    assert api.ask("/server", None, headers=headers["revoked"]).status == 200
    api.workspace.tokens.revoke(revoked.token.id)
    return {"no token": {}, **headers}


def routes(api: Api) -> list[str]:
    """Returns the address of each route, below the API's own."""
    paths = [re.sub(r"^/api/v1(?=/)", "", route.path) for route in api.app.routes]  # type: ignore[attr-defined]
    assert paths.pop() == "/api/{rest:path}"
    return paths


def test_the_table_has_every_route(api: Api) -> None:
    assert {path for _, path in STATUS} == set(routes(api))


def announced(content: bytes) -> dict[str, Any]:
    return {"name": "als.csv", "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def upload_of(api: Api, role: AccessRole, content: bytes = CONTENT) -> str:
    return str(api.json("/uploads", role, method="POST", body=announced(content))["id"])


def addition_of(api: Api, role: AccessRole, experiment: str) -> dict[str, Any]:
    """Returns the body of an addition of a test set that has arrived."""
    truth = f"user_id,item_id\nu,{role} {experiment}\n".encode()
    upload = upload_of(api, role, truth)
    path, named = f"/uploads/{upload}", {"upload-offset": "0"}
    assert api.ask(path, role, "PATCH", headers=named, parts=[truth]).status == 200
    return {"experiment": experiment, "files": [{"upload": upload, "kind": "truth"}]}


def last_event(api: Api) -> str:
    """The hash of the last event of the audit log, once all additions that were begun have ended."""
    for thread in threading.enumerate():
        if thread.name == "addition":
            thread.join()
    return str(api.workspace.store.audit.last())


def address(api: Api, path: str, role: AccessRole) -> str:
    """Returns the address of what exists; an upload and an addition are those of the role, where it may have
    some.
    """
    owner: AccessRole = "admin" if role == "viewer" else role
    path = path.replace("{experiment}", "films").replace("{test}", "home page")
    if "{upload}" in path:
        path = path.replace("{upload}", upload_of(api, owner))
    if "{addition}" in path:
        body = addition_of(api, owner, f"asked by {role}")
        path = path.replace("{addition}", api.json("/additions", owner, method="POST", body=body)["id"])
    return path


def sent(api: Api, method: str, path: str, role: AccessRole) -> dict[str, Any]:
    """Returns what a request of a role sends, so that nothing but the role can be refused."""
    if (method, path) == ("POST", "/uploads"):
        return {"body": announced(role.encode())}
    if (method, path) == ("POST", "/additions"):
        return {"body": addition_of(api, "admin" if role == "viewer" else role, f"stored by {role}")}
    if method == "PATCH":
        return {"headers": {"upload-offset": "0"}, "parts": [CONTENT]}
    return {}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(("method", "path"), STATUS)
def test_a_role_gets_what_is_for_it(api: Api, method: str, path: str, role: AccessRole) -> None:
    where, what = address(api, path, role), sent(api, method, path, role)
    before = last_event(api)
    answer = api.ask(where, role, method, **what)
    assert answer.status == STATUS[method, path][role], answer.text
    if answer.status == 403:
        assert problems(answer)
        assert last_event(api) == before


@pytest.mark.parametrize("visitor", ["no token", "revoked", "expired", "changed", "empty"])
def test_nobody_else_is_answered(api: Api, refused: dict[str, dict[str, str]], visitor: str) -> None:
    """The existing and the missing are refused alike, with any method."""
    before = last_event(api)
    for path in [*{path: None for _, path in STATUS}, "/nothing"]:
        for method in METHODS:
            answer = api.ask(path.replace("{experiment}", "films"), None, method, headers=refused[visitor])
            assert answer.status == 401, (method, path)
            (problem,) = problems(answer)
            assert problem["code"] == "no-access", (method, path)
    assert last_event(api) == before


@pytest.mark.parametrize("role", ROLES)
def test_other_methods_are_refused_whatever_the_role(api: Api, role: AccessRole) -> None:
    for path in {path: None for _, path in STATUS}:
        known = {method for method, own in STATUS if own == path}
        known |= {"HEAD"} if "GET" in known else set()
        for method in set(METHODS) - known:
            answer = api.ask(path, role, method)
            assert answer.status == 405, (method, path)
            assert set(answer.headers["allow"].split(", ")) == known
