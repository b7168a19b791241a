"""People who come, click, upload and go, without a browser: the short form of the soak of benchmarks."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarks.first_use import Dashboard
from benchmarks.sessions import PAGES
from benchmarks.soak import Soak
from benchmarks.streamlit_client import OpenPage, PageError
from recdash.service import Workspace

N_SESSIONS, N_UPLOADS = 8, 2


@pytest.fixture
def soak(server: Any, demo_folder: Path, tmp_path: Path) -> Soak:
    data = shutil.copytree(demo_folder, tmp_path / "data")
    running = server(data=data)
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    (demo,) = workspace.experiments.all()
    return Soak(Dashboard(running.url, running.process, 0.0), workspace, demo.id)


def test_sessions_and_uploads_at_once_have_no_error_and_leave_nothing(soak: Soak, tmp_path: Path) -> None:
    log, artifacts = tmp_path / "data" / "server.log", tmp_path / "data" / "artifacts"
    before = {path for path in artifacts.rglob("*") if path.is_file()}
    with ThreadPoolExecutor(4) as people:
        list(people.map(soak.session, range(N_SESSIONS)))
    assert (soak.errors, soak.n_uploads) == ([], N_UPLOADS)
    assert [home.id for home in soak.workspace.experiments.all()] == [soak.demo]
    assert {path for path in artifacts.rglob("*") if path.is_file()} == before
    assert soak.workspace.store.check() == []
    assert "Traceback" not in log.read_text()


def test_the_light_client_opens_every_page_and_notices_a_missing_one(soak: Soak) -> None:
    with OpenPage(soak.running.url) as page:
        headlines = set()
        for name in PAGES:
            page.turn_to(name, f"e={soak.demo}")
            headlines.add(next(text for text in page.texts if "<h1>" in text))
        assert len(headlines) == len(PAGES)
        with pytest.raises(PageError, match="there is no page nowhere"):
            page.turn_to("nowhere")
