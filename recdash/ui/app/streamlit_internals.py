"""What recdash needs of Streamlit that Streamlit does not document.

It may change with any minor version, so pyproject.toml allows only the one against which
tests/ui/test_streamlit_internals.py has run. Nothing else imports Streamlit's inner modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamlit import runtime
from streamlit.auth_util import get_cookie_with_chunks, get_secrets_auth_section, validate_auth_credentials
from streamlit.config import get_option
from streamlit.errors import StreamlitAuthError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_session_storage import MemorySessionStorage
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.web.server.server_util import AUTH_COOKIE_NAME, get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

__all__ = [
    "BrowserMessage",
    "Sessions",
    "SignInError",
    "auth_secrets",
    "check_provider",
    "parse_message",
    "running_sessions",
    "script_session",
    "server_option",
    "session_of_download",
    "signed_in",
]

SignInError = (StreamlitAuthError, ValueError)
"""What ``check_provider`` raises."""

# ── settings ─────────────────────────────────────────────────────────────────────────────────


def server_option(name: str) -> Any:
    """Returns the value of Streamlit's setting, such as ``server.port``."""
    return get_option(name)


# ── sign-in ──────────────────────────────────────────────────────────────────────────────────


def auth_secrets() -> Mapping[str, Any]:
    """Returns the section [auth] of secrets.toml; empty if there is none."""
    section: Mapping[str, Any] = get_secrets_auth_section()
    return section


def check_provider(name: str) -> None:
    """Raises one of ``SignInError`` if the section [auth] does not describe this identity provider."""
    validate_auth_credentials(name)


def signed_in(cookies: Mapping[str, str]) -> str | bytes | None:
    """Returns the provider's claims, as JSON, of the cookies; None if this server did not sign them."""
    secret = get_cookie_secret()

    def signed(name: str) -> bytes | None:
        return decode_signed_value(secret, name, cookies.get(name, ""))

    return get_cookie_with_chunks(signed, AUTH_COOKIE_NAME)


# ── sessions ─────────────────────────────────────────────────────────────────────────────────


def script_session() -> str | None:
    """Returns the id of the session whose script runs in this thread; None outside of scripts."""
    context = get_script_run_ctx()
    return None if context is None else context.session_id


@dataclass(frozen=True)
class Sessions:
    """The sessions of a running server: those connected, and those that may come back."""

    storage: MemorySessionStorage
    is_connected: Callable[[str], bool]
    list_connected: Callable[[], list[Any]]

    def may_come_back(self, session: str) -> bool:
        return self.storage.get(session) is not None

    def end_expired(self) -> int:
        """Ends the sessions that can no longer come back, and returns their number.

        Streamlit ends them only when another session is stored or ends.
        """
        cache: Any = self.storage._cache  # noqa: SLF001
        expired = cache.expire()
        for _, info in expired:
            info.session.shutdown()
            info.session.session_state.clear()  # frees its uploads even if the session is still referred to
        return len(expired)


def running_sessions() -> Sessions | None:
    """Returns the sessions of the running server; None if no server runs in this process."""
    if not runtime.exists():
        return None
    running = runtime.get_instance()
    manager: Any = running._session_mgr  # noqa: SLF001
    return Sessions(manager._session_storage, running.is_active_session, manager.list_sessions)  # noqa: SLF001


# ── messages of browsers ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class BrowserMessage:
    """A message of a browser: its kind, the kind of operation that it asks for, and of a download the ids of
    its session and file.
    """

    kind: str | None
    operation: str | None
    session: str
    file: str
    n_files: int
    """Number of files for which the message asks for upload addresses."""


def parse_message(raw: bytes) -> BrowserMessage | None:
    """Returns the message; None for bytes that are none."""
    message = BackMsg()
    try:
        message.ParseFromString(raw)
    except Exception:  # noqa: BLE001 - protobuf's error class cannot be imported
        return None
    request = message.backend_operation_request
    return BrowserMessage(
        message.WhichOneof("type"),
        request.WhichOneof("payload"),
        request.session_id,
        request.deferred_file.file_id,
        len(message.file_urls_request.file_names),
    )


def session_of_download(file: str) -> str | None:
    """Returns the session whose page offered a download that is made on request; None if no page did."""
    offered = runtime.get_instance().media_file_mgr._deferred_callables.get(file)  # noqa: SLF001
    return None if offered is None else offered["session_id"]
