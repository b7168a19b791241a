"""The dashboard starts where it is safe to, says how to come in, and else says why it does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from recdash.cli import main
from recdash.errors import InputError
from recdash.settings import settings
from recdash.ui.shell import oidc, startup

EVERYWHERE = "0.0.0.0"  # noqa: S104 - refused, or listened on behind a key


@pytest.fixture
def serve(
    store_in: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """``recdash serve`` that says what it would run instead of running it."""
    store_in(tmp_path)
    monkeypatch.setattr(os, "execv", lambda _, command: click.echo(" ".join(command)))
    monkeypatch.setattr(os, "chdir", lambda _: None)
    return lambda *options: CliRunner().invoke(main, ["serve", *options])


def test_serving_others_without_a_sign_in_is_refused(serve: Callable[..., Result]) -> None:
    refused = serve("--host", EVERYWHERE)
    assert refused.exit_code == 2
    assert f"address {EVERYWHERE}: others could reach it there" in refused.output
    assert "RECDASH_AUTH=key prints a secret address" in refused.output


def test_this_machine_is_served_and_others_with_a_key(
    serve: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--server.address 127.0.0.1 --server.port 8501" in serve().output
    monkeypatch.setenv("RECDASH_AUTH", "key")
    settings.cache_clear()
    assert f"--server.address {EVERYWHERE}" in serve("--host", EVERYWHERE).output


def streamlit(root: Path, data: Path, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """``streamlit run app.py`` to its end."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("RECDASH_", "STREAMLIT_"))
    }
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port=0", *options]
    environment = {**kept, "RECDASH_DATABASE_URL": f"sqlite:///{data}/recdash.db", **more}
    return subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def test_streamlit_itself_does_not_open_the_house_either(root: Path, tmp_path: Path) -> None:
    """Without an address Streamlit listens on every one of the machine."""
    ended = streamlit(root, tmp_path, "--server.address=")
    assert ended.returncode == 2
    assert "recdash: address (every one of this machine): others could reach it there" in ended.stderr
    assert "Traceback" not in ended.stderr


# ── what it is started with ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("RECDASH_AUTH", "everybody", "RECDASH_AUTH: 'everybody' cannot be used"),
        ("RECDASH_AUTH", "proxy", "RECDASH_PROXY_SECRET: not set. RECDASH_AUTH=proxy needs a secret"),
        ("RECDASH_PROXY_SECRET", "hunter2", "RECDASH_PROXY_SECRET: too weak"),
        ("RECDASH_SECRET", "a" * 64, "RECDASH_SECRET: too weak. Use at least 32"),
        ("RECDASH_TRUSTED_PROXIES", "the proxy", "RECDASH_TRUSTED_PROXIES: 'the proxy' cannot be used"),
        ("RECDASH_PROXY_USER_HEADER", "X-Recdash-User", "RECDASH_PROXY_USER_HEADER: 'X-Recdash-User'"),
        ("RECDASH_EMBED_FROM", "*", "RECDASH_EMBED_FROM: '*' cannot be used"),
        ("RECDASH_EMBED_FROM", "https://a.example; script-src *", "is not a site; write https://wiki.example.org"),
        ("RECDASH_UPLOAD_BUDGET_BYTES", "0", "RECDASH_UPLOAD_BUDGET_BYTES: '0' cannot be used"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_used_ends_the_start_in_words(
    store_in: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], variable: str, value: str, words: str,
) -> None:  # fmt: skip
    store_in(tmp_path)
    monkeypatch.setenv(variable, value)
    settings.cache_clear()
    with pytest.raises(SystemExit) as ended:
        startup.auth_config()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert "hunter2" not in said
    assert "aaaa" not in said


@pytest.mark.parametrize("auth", ["proxy", "oidc"])
def test_the_start_ends_in_words_until_viewers_are_named(
    store_in: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], auth: str,
) -> None:  # fmt: skip
    store_in(tmp_path)
    monkeypatch.setenv("RECDASH_AUTH", auth)
    monkeypatch.setenv("RECDASH_PROXY_SECRET", "0123456789-abcdefghij-ABCDEFGHIJ")
    settings.cache_clear()
    with pytest.raises(SystemExit) as ended:
        startup.auth_config()
    assert ended.value.code == 2
    assert "RECDASH_VIEWERS: not set" in capsys.readouterr().err


def test_serving_without_viewers_is_refused(
    serve: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_AUTH", "oidc")
    settings.cache_clear()
    refused = serve()
    assert (refused.exit_code, "RECDASH_VIEWERS: not set" in refused.output) == (2, True)


def test_a_key_is_printed_with_the_address(
    store_in: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    store_in(tmp_path)
    monkeypatch.setenv("RECDASH_AUTH", "key")
    settings.cache_clear()
    door = startup.auth_config()
    assert f":8501/key/{door.key}\n" in capsys.readouterr().out
    assert startup.auth_config().key == door.key  # also after a restart
    startup.current_user.full_workspace.clear()


GOOD = {
    "redirect_uri": "https://recdash.example.org/oauth2callback",
    "cookie_secret": "cookies-0123456789-abcdefghij-ABCDEFGHIJ",
    "client_id": "recdash",
    "client_secret": "secret",
    "server_metadata_url": "https://login.example.org/.well-known/openid-configuration",
}


@pytest.fixture
def auth_section(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Have Streamlit's secrets say this of [auth]."""
    from streamlit.runtime.secrets import AttrDict, secrets_singleton

    def say(section: dict[str, Any]) -> None:
        monkeypatch.setattr(secrets_singleton, "load_if_toml_exists", lambda: True)
        monkeypatch.setattr(type(secrets_singleton), "get", lambda *_: AttrDict(section), raising=False)

    return say


def test_with_everything_there_people_can_sign_in(auth_section: Callable[[dict[str, Any]], None]) -> None:
    auth_section(GOOD)
    oidc.refuse_unready()
    assert oidc.providers() == [oidc.ONLY]


def test_several_providers_have_a_button_each(auth_section: Callable[[dict[str, Any]], None]) -> None:
    own = {name: GOOD[name] for name in ("client_id", "client_secret", "server_metadata_url")}
    shared = {name: GOOD[name] for name in ("redirect_uri", "cookie_secret")}
    auth_section({**shared, "google": own, "okta": own})
    oidc.refuse_unready()
    assert oidc.providers() == ["google", "okta"]


@pytest.mark.parametrize("missing", GOOD)
def test_what_is_missing_for_a_sign_in_ends_the_start(
    auth_section: Callable[[dict[str, Any]], None], missing: str
) -> None:
    auth_section({name: value for name, value in GOOD.items() if name != missing})
    with pytest.raises(InputError, match=rf"(?s)\[auth\] in \.streamlit/secrets\.toml: .*{missing}"):
        oidc.refuse_unready()


def test_a_cookie_secret_that_could_be_guessed_is_refused(
    auth_section: Callable[[dict[str, Any]], None],
) -> None:
    auth_section(GOOD | {"cookie_secret": "secret"})
    with pytest.raises(InputError, match="Use at least 32 hard-to-guess characters"):
        oidc.refuse_unready()


def test_a_cookie_that_this_server_did_not_sign_names_nobody() -> None:
    assert oidc.claims({}) == {}
    assert oidc.claims({"_streamlit_user": '"{\\"is_logged_in\\": true}"'}) == {}
