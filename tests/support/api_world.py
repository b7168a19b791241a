"""The HTTP API of a filled store behind the door, asked in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp
from web_requests import Answer, request, rules

from recdash.domain.access import ROLES, AccessRole, Person
from recdash.domain.journal import ApiToken
from recdash.service import Workspace
from recdash.web.api.routes import ApiRoutes
from recdash.web.auth import AuthConfig
from recdash.web.middleware import AuthMiddleware
from recdash.web.received_files import ReceivedFiles, received_files
from recdash.web.sessions import new_session
from recdash.web.upload_quota import UploadQuota

KEY = "the-key"
Query = Mapping[str, Any]


@dataclass
class Api:
    """The API, and a token of each role."""

    workspace: Workspace
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: ReceivedFiles = received_files
    shared: str = ""
    """The token of a share link, if one was made."""

    def __post_init__(self) -> None:
        self.tokens: dict[AccessRole, str] = {
            role: self.workspace.tokens.create(role, role).secret for role in ROLES
        }
        quota, config = UploadQuota(lambda: 0.0), self.config()
        self.app: ASGIApp = Starlette(
            routes=ApiRoutes(config, lambda: self.workspace, quota, self.files).routes(),
            middleware=[Middleware(AuthMiddleware, config=config, quota=quota)],
        )

    def config(self) -> AuthConfig:
        def guest(token: str) -> Person:
            return self.workspace.sharing.guest_of(self.workspace.sharing.shared(token))

        def api_token(secret: str) -> ApiToken:
            return self.workspace.tokens.check(secret)

        given = rules(**{"auth": "key", "api_requests_per_minute": 10**6, **self.settings})
        ended = self.workspace.sign_ins.has_ended
        return AuthConfig(given, KEY, guest, has_ended=ended, api_token=api_token)

    def ask(
        self, path: str, role: AccessRole | None = "viewer", method: str = "GET", *,
        query: Query | None = None, body: Any = None,
        headers: Mapping[str, str] | None = None, parts: list[bytes] | None = None,
    ) -> Answer:  # fmt: skip
        """One request with a token of this role; without a token for None."""
        token = {} if role is None else {"authorization": f"Bearer {self.tokens[role]}"}
        sent = parts or [b"" if body is None else json.dumps(body).encode()]
        named = {**token, **({} if body is None else {"content-type": "application/json"}), **(headers or {})}
        return request(
            self.app, f"/api/v1{path}", method=method, headers=named, body=sent,
            query=urlencode(query or {}, doseq=True),
        )  # fmt: skip

    def json(self, path: str, role: AccessRole | None = "viewer", **more: Any) -> Any:
        answer = self.ask(path, role, **more)
        assert answer.status < 300, answer.text
        return json.loads(answer.text)


def page_cookie() -> dict[str, str]:
    """What the browser of a person with the key sends."""
    return {"cookie": f"recdash_key_8501={new_session(KEY)}"}


def share_cookie(token: str) -> dict[str, str]:
    return {"cookie": f"recdash_share_8501={token}"}


def problems(answer: Answer) -> list[dict[str, str]]:
    """The problems of an answer, each of which has all its parts."""
    assert answer.headers["content-type"] == "application/json"
    listed: list[dict[str, str]] = json.loads(answer.text)["problems"]
    assert listed
    assert all(set(problem) == {"code", "place", "finding", "fix"} for problem in listed)
    return listed
