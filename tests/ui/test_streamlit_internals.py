"""The installed Streamlit has what recdash needs of its insides, and only one module needs them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.testing.v1 import AppTest

from recdash.ui.app import streamlit_internals
from recdash.ui.app.streamlit_internals import (
    BrowserMessage,
    parse_message,
    running_sessions,
    script_session,
    server_option,
    session_of_download,
)

DOCUMENTED = {"streamlit", "streamlit.delta_generator"}


def modules_of_streamlit(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("streamlit"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "streamlit":
            assert node.module is not None
            yield from (f"streamlit.{name.name}" for name in node.names if node.module == "streamlit")
            yield node.module


def test_one_module_imports_what_streamlit_does_not_document(root: Path) -> None:
    paths = [root / "app.py", *(root / "pages").glob("*.py"), *(root / "recdash").rglob("*.py")]
    inner = {path.name for path in paths if set(modules_of_streamlit(path)) - DOCUMENTED}
    assert inner == {"streamlit_internals.py"}


def test_only_the_minor_version_that_was_tested_is_allowed(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bound = next(given for given in project["dependencies"] if given.startswith("streamlit"))
    major, minor = map(int, version("streamlit").split(".")[:2])
    assert re.fullmatch(rf"streamlit\[auth\]>={major}\.{minor},<{major}\.{minor + 1}", bound)


def test_all_that_is_offered_is_there() -> None:
    assert {name for name in streamlit_internals.__all__ if not hasattr(streamlit_internals, name)} == set()


def test_sessions_of_streamlit_have_what_is_called() -> None:
    assert callable(AppSession.shutdown)
    assert isinstance(AppSession.session_state, property)
    assert callable(SessionState.clear)
    assert callable(WebsocketSessionManager.list_sessions)
    assert callable(Runtime.is_active_session)


def test_no_server_runs_in_this_process() -> None:
    assert running_sessions() is None
    assert server_option("server.port") == 8501


def test_a_script_knows_its_session_and_other_code_has_none() -> None:
    def script() -> None:
        import streamlit as st

        from recdash.ui.app.streamlit_internals import script_session

        st.text(script_session())

    assert AppTest.from_function(script).run().text[0].value
    assert script_session() is None


def test_messages_are_read_with_what_they_ask_for() -> None:
    rerun, download, uploads = BackMsg(), BackMsg(), BackMsg()
    rerun.rerun_script.query_string = "e=1"
    download.backend_operation_request.session_id = "ours"
    download.backend_operation_request.deferred_file.file_id = "report"
    uploads.file_urls_request.file_names.extend(["a.csv", "b.csv"])
    assert parse_message(rerun.SerializeToString()) == BrowserMessage("rerun_script", None, "", "", 0)
    assert parse_message(download.SerializeToString()) == BrowserMessage(
        "backend_operation_request", "deferred_file", "ours", "report", 0
    )
    assert parse_message(uploads.SerializeToString()) == BrowserMessage("file_urls_request", None, "", "", 2)
    assert parse_message(b"\xff\xff") is None


def test_a_download_that_is_made_on_request_belongs_to_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    monkeypatch.setattr("streamlit.runtime.media_file_manager._get_session_id", lambda: "ours")
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    file = files.add_deferred(lambda: b"rows", "text/csv", "spot", file_name="rows.csv")
    assert session_of_download(file) == "ours"
    assert session_of_download("another") is None
