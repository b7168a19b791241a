"""The description of the API is complete, and whatever fits or breaks it is answered: no error of ours, and
nothing for a visitor who may not read it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from api_world import Api, page_cookie, share_cookie
from decision_worlds import films, home_page
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recdash.domain.access import Person
from recdash.service import Workspace
from recdash.store import open_store
from recdash.web.api.actions import Actions
from recdash.web.api.openapi import document
from recdash.web.api.questions import QUESTIONS
from recdash.web.api.routes import BASE
from recdash.web.received_files import ReceivedFiles

DOCUMENT = document(BASE, QUESTIONS, Actions(None, None, None).all())  # type: ignore[arg-type]
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("openapi")
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    workspace = Workspace(store, person=Person("ann", "admin"))
    home_page(workspace, films(workspace))
    workspace.experiments.create("books", b"user_id,item_id\nu,a\n", depth=5)
    files = ReceivedFiles(lambda: folder)
    shared = workspace.sharing.share(workspace.experiments.named("films").id, numbers_only=True).token
    yield Api(workspace, {"upload_budget_bytes": 10**12}, files=files, shared=shared)
    files.stop()
    store.close()


def test_the_document_is_that_of_the_routes(api: Api) -> None:
    assert api.json("/openapi.json") == DOCUMENT
    ids = [DOCUMENT["paths"][path][method]["operationId"] for path, method in OPERATIONS]
    assert len(set(ids)) == len(ids) == 17
    headers = {
        parameter["name"]: (path, method, parameter["required"])
        for path, method in OPERATIONS
        for parameter in DOCUMENT["paths"][path][method]["parameters"]
        if parameter["in"] == "header"
    }
    assert headers == {
        "Upload-Offset": ("/uploads/{upload}", "patch", True),
        "Idempotency-Key": ("/additions", "post", False),
    }
    assert "$ref" not in json.dumps(DOCUMENT["paths"]["/additions"]["post"]["requestBody"])


def test_the_page_names_each_operation_and_loads_nothing(api: Api) -> None:
    page = api.ask("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for path, method in OPERATIONS:
        assert f"{method.upper()} {BASE}{path}" in page.text
    assert not re.search(r"<script|<link|<img|src=|@import|url\(", page.text)
    assert re.findall(r'href="([^"]*)"', page.text) == ["openapi.json"]


def test_the_description_is_for_those_who_may_read(api: Api) -> None:
    for path in ("/openapi.json", "/docs"):
        assert api.ask(path, None).status == 401


# ── requests that were drawn ─────────────────────────────────────────────────────────────────

WORDS = st.sampled_from(
    ["films", "books", "als", "popular", "ease", "home page", "ndcg@2", "recall", "user_warmth=cold", "1%",
     "coverage", "ndcg@99", "0", "", "holm", "engaged", "A", "control", "train", "ndcg(gain=exp)@3", "u1",
     "user_warmth", "pareto", "%00", "../x", "\u202e", "a" * 299]
)  # fmt: skip
TEXTS = st.one_of(WORDS, st.text(max_size=30))
JUNK: SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def fitting(schema: dict[str, Any]) -> SearchStrategy[Any]:  # noqa: PLR0911 - one for each kind of schema
    """Values that a schema describes, mostly."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*map(fitting, schema["anyOf"]))
    kind = schema.get("type")
    if kind == "array":
        return st.lists(fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object" and "properties" in schema:
        needed = {name: fitting(schema["properties"][name]) for name in schema.get("required", ())}
        others = {name: fitting(part) for name, part in schema["properties"].items() if name not in needed}
        return st.fixed_dictionaries(needed, optional=others)
    if kind == "object":
        return st.dictionaries(TEXTS, TEXTS, max_size=2)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    return {
        "integer": st.integers(0, 50),
        "number": st.floats(allow_nan=True, allow_infinity=True),
        "boolean": st.booleans(),
        "null": st.none(),
    }.get(str(kind), TEXTS)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, Any], bytes, dict[str, str]]:
    """A path, method, query, body and headers: mostly of the description, sometimes of anything."""
    path, method = draw(st.sampled_from(OPERATIONS))
    described = DOCUMENT["paths"][path][method]
    query: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for parameter in described["parameters"]:
        if parameter["in"] == "path":
            name = draw(st.one_of(TEXTS, st.just("0" * 32)))
            path = path.replace(f"{{{parameter['name']}}}", name or "x")
        elif parameter["in"] == "header":
            headers[parameter["name"].lower()] = str(draw(st.integers(-1, 5)))
        elif draw(st.booleans()):
            query[parameter["name"]] = draw(
                st.one_of(fitting(parameter["schema"]), fitting(parameter["schema"]), TEXTS)
            )
    if "format" in query and query["format"] == "pdf":
        query["format"] = "md"  # a browser would print it, which takes seconds
    query.update(draw(st.dictionaries(TEXTS, TEXTS, max_size=1)) if draw(st.integers(0, 9)) == 0 else {})
    body = b""
    if "requestBody" in described:
        content = described["requestBody"]["content"]
        if "application/json" in content:
            headers["content-type"] = "application/json"
            value = draw(st.one_of(fitting(content["application/json"]["schema"]), JUNK))
            body = json.dumps(value).encode()
        else:
            body = draw(st.binary(max_size=20))
    if draw(st.integers(0, 9)) == 0:
        method = draw(st.sampled_from(["get", "post", "put", "patch", "delete", "head", "options"]))
    return (
        path,
        method.upper(),
        {name: value for name, value in query.items() if value is not None},
        body,
        headers,
    )


VISITORS = st.sampled_from(["viewer", "editor", "admin", "nobody", "page", "guest", "wrong"])


def ask_as(api: Api, visitor: str, drawn: tuple[str, str, dict[str, Any], bytes, dict[str, str]]) -> Any:
    path, method, query, body, headers = drawn
    role: Any = visitor if visitor in api.tokens else None
    if visitor == "page":
        headers = {**headers, **page_cookie()}
    elif visitor == "guest":
        headers = {**headers, **share_cookie(api.shared)}
    elif visitor == "wrong":
        headers = {**headers, "authorization": "Bearer recdash_00.x"}
    return api.ask(path, role, method, query=query, parts=[body], headers=headers)


def check(api: Api, visitor: str, drawn: tuple[str, str, dict[str, Any], bytes, dict[str, str]]) -> None:
    before = api.workspace.store.audit.last()
    answer = ask_as(api, visitor, drawn)
    assert answer.status < 500, (visitor, drawn, answer.text)
    method, may_write = drawn[1], visitor in ("editor", "admin")
    if visitor in ("nobody", "wrong") or (method not in ("GET", "HEAD") and visitor in ("page", "guest")):
        assert answer.status == 401, (visitor, drawn)
    if answer.status >= 400:
        for problem in json.loads(answer.text)["problems"]:
            assert set(problem) == {"code", "place", "finding", "fix"}
            assert all(isinstance(text, str) for text in problem.values())
    elif answer.text and "json" in answer.headers["content-type"]:
        json.loads(answer.text, parse_constant=pytest.fail)
    if visitor == "guest":
        assert "books" not in answer.text or answer.status >= 400
        assert not re.search(r"\bu\d+\b", answer.text) or answer.status >= 400
    if not may_write:
        assert api.workspace.store.audit.last() == before


PROFILE = settings(suppress_health_check=list(HealthCheck), deadline=None)


@given(visitor=VISITORS, drawn=requests())
@settings(PROFILE, max_examples=150)
def test_no_request_fails_or_is_answered_without_permission(api: Api, visitor: str, drawn: Any) -> None:
    check(api, visitor, drawn)


@pytest.mark.long
@given(visitor=VISITORS, drawn=requests())
@settings(PROFILE, max_examples=5000)
def test_thousands_of_requests(api: Api, visitor: str, drawn: Any) -> None:
    check(api, visitor, drawn)
