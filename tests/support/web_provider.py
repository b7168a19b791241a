"""A small OpenID provider: whoever is clicked on its page has signed in."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, CLIENT_SECRET = "recdash", "the secret of the client"
COOKIE_SECRET = "cookies-0123456789-abcdefghij-ABCDEFGHIJ"  # noqa: S105


@dataclass
class Provider:
    """Claims of its people by their address; what it gave out codes for."""

    url: str
    people: Mapping[str, Mapping[str, Any]]
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one"}))
    codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "userinfo_endpoint": f"{self.url}/userinfo",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def choice(self, query: Mapping[str, str]) -> str:
        """The page on which a person says who they are."""
        links = [
            f'<li><a href="/approve?{urlencode({**query, "who": who})}">{who}</a></li>' for who in self.people
        ]
        return f"<!doctype html><title>Provider</title><ul>{''.join(links)}</ul>".replace("&", "&amp;")

    def approve(self, query: Mapping[str, str]) -> str:
        """Where the browser goes back to, with a code that is good once."""
        code = secrets.token_urlsafe(8)
        self.codes[code] = dict(query)
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: Mapping[str, str], credentials: str) -> dict[str, Any] | None:
        """The signed claims of whoever got this code; None for a wrong client, code or verifier."""
        asked = self.codes.pop(form.get("code", ""), None)
        expected = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or credentials != f"Basic {expected}" or asked["code_challenge"] != challenge:
            return None
        return {
            "access_token": asked["who"],
            "token_type": "Bearer",
            "expires_in": 600,
            "id_token": self.id_token(asked["who"], asked["nonce"]),
        }

    def id_token(self, who: str, nonce: str) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": nonce}
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims | dict(self.people[who]), self.key)


class _Desk(BaseHTTPRequestHandler):
    """The provider over HTTP."""

    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/authorize":
            self.answer("text/html", self.provider.choice(query))
        elif parts.path == "/approve":
            self.send_response(302)
            self.send_header("location", self.provider.approve(query))
            self.end_headers()
        elif parts.path == "/jwks":
            public = self.provider.key.as_dict(private=False)
            self.answer("application/json", json.dumps({"keys": [{**public, "use": "sig", "alg": "RS256"}]}))
        elif parts.path == "/userinfo":
            who = self.headers["authorization"].removeprefix("Bearer ")
            self.answer("application/json", json.dumps(self.provider.people[who]))
        else:
            self.answer("application/json", json.dumps(self.provider.metadata()))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        found = self.provider.token(form, self.headers.get("authorization", ""))
        text = json.dumps(found or {"error": "invalid_grant"})
        self.answer("application/json", text, 200 if found else 400)

    def answer(self, kind: str, text: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing on the terminal."""


@contextmanager
def running_provider(people: Mapping[str, Mapping[str, Any]]) -> Iterator[Provider]:
    """A provider on a free port of this machine, for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Desk)
    provider = Provider(f"http://127.0.0.1:{server.server_port}", people)
    server.RequestHandlerClass = type("Desk", (_Desk,), {"provider": provider})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_secrets(file: Path, provider: Provider, dashboard: str) -> Path:
    """What the dashboard at this address has to know of the provider."""
    file.write_text(
        f"""[auth]
redirect_uri = "{dashboard}/oauth2callback"
cookie_secret = "{COOKIE_SECRET}"
client_id = "{CLIENT}"
client_secret = "{CLIENT_SECRET}"
server_metadata_url = "{provider.url}/.well-known/openid-configuration"
""",
        encoding="utf-8",
    )
    return file
