"""Tables elsewhere that an admin has named: in the settings, on the page Add data, in the API."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from app_pages import forget, passed, press, shell, turn_to
from running_api import Running
from source_lists import MRR, ROWS, TRUTH
from streamlit.testing.v1 import AppTest
from terminal import Recdash

import recdash
from recdash.domain.access import Person
from recdash.errors import Forbidden, InputError, NotFound, UploadError
from recdash.ingest.sources.named import named_sources
from recdash.service import Workspace
from recdash.settings import Settings, settings
from recdash.web.startup_checks import refuse_unusable_sources

FILES: dict[str, str] = {}
LISTS, LOST = "lists of tonight", "lists that are lost"


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of named sources in the settings: a query, a test set on this disk, and what is not there."""
    shop = tmp_path / "shop.db"
    with closing(sqlite3.connect(shop)) as connection, connection:
        connection.execute("CREATE TABLE lists (user_id TEXT, item_id TEXT, score REAL)")
        connection.executemany("INSERT INTO lists VALUES (?, ?, ?)", ROWS)
    connection.close()
    file = tmp_path / "sources.toml"
    queries = {LISTS: "SELECT user_id, item_id, score FROM lists", LOST: "SELECT 1 FROM nothing"}
    lines = [f'"{name}" = "sql:sqlite:///{shop} {query}"\n' for name, query in queries.items()]
    file.write_text("".join(lines))
    monkeypatch.setenv("RECDASH_SOURCES", str(file))
    settings.cache_clear()
    yield file
    settings.cache_clear()


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    pairs = [(user, item) for user, items in TRUTH.items() for item in items]
    file = tmp_path / "truth.csv"
    pd.DataFrame(pairs, columns=["user_id", "item_id"]).to_csv(file, index=False)
    return file


# ── the file ─────────────────────────────────────────────────────────────────────────────────


def test_names_and_addresses_are_read_in_their_order(named: Path) -> None:
    assert [(name, address.scheme) for name, address in named_sources(named).items()] == [
        (LISTS, "sql"),
        (LOST, "sql"),
    ]
    assert named_sources(None) == {}


def test_all_problems_of_the_file_are_told(tmp_path: Path) -> None:
    file = tmp_path / "sources.toml"
    file.write_text(
        'good = "https://example.org/a.csv"\n"a/b" = "s3://b/c"\npath = "lists.csv"\nnumber = 5\n'
    )
    with pytest.raises(InputError) as error:
        named_sources(file)
    assert [problem.found.partition(" ")[0] for problem in error.value.problems] == [
        "the",
        "'path'",
        "'number'",
    ]


@pytest.mark.parametrize("content", [b"no toml", b"\xff = 1", None], ids=["text", "bytes", "missing"])
def test_a_file_that_cannot_be_used_keeps_the_dashboard_from_starting(
    content: bytes | None, tmp_path: Path
) -> None:
    file = tmp_path / "sources.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=r"sources\.toml.*Write a line for each table"):
        refuse_unusable_sources(Settings(sources=file))


# ── the service ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("named")
def test_a_source_is_fetched_under_its_name_by_editors_only(tmp_path: Path) -> None:
    workspace = Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    folder = tmp_path / "fetched"
    folder.mkdir()
    assert workspace.sources.names() == [LISTS, LOST]
    assert workspace.sources.fetch(LISTS, folder) == folder / f"{LISTS}.parquet"
    with pytest.raises(NotFound, match="no source 'other'"):
        workspace.sources.fetch("other", folder)
    with pytest.raises(UploadError) as error:
        workspace.sources.fetch(LOST, folder)
    (problem,) = error.value.problems
    assert problem.place == f"source '{LOST}'"
    assert str(tmp_path) not in str(error.value)  # nor where the database lies
    with pytest.raises(Forbidden):
        workspace.seen_by(Person("vic", "viewer")).sources.names()
    workspace.store.close()


def test_what_is_wrong_with_a_column_of_a_source_names_the_column_and_no_place(
    tmp_path: Path, named: Path
) -> None:
    for day, users in (("1", [7]), ("2", ["007"])):
        (tmp_path / "lists" / f"day={day}").mkdir(parents=True)
        pq.write_table(pa.table({"user_id": users}), tmp_path / "lists" / f"day={day}" / "a.parquet")
    named.write_text(f'"{LOST}" = "{tmp_path}/lists"\n')
    workspace = Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    with pytest.raises(UploadError) as error:
        workspace.sources.fetch(LOST, tmp_path)
    assert str(error.value).startswith(f"source '{LOST}': column 'user_id' has numbers in 'day=1/a.parquet'")
    assert str(tmp_path) not in str(error.value)
    workspace.store.close()


def test_a_full_disk_does_not_tell_where_a_source_is(
    tmp_path: Path, named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: Any) -> None:
        raise OSError(28, "No space left on device")

    named.write_text(f'"{LOST}" = "http://inner.example/lists.csv"\n')
    monkeypatch.setattr("recdash.service.catalog.sources.fetched", full)
    workspace = Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    with pytest.raises(UploadError, match="No space left") as error:
        workspace.sources.fetch(LOST, tmp_path)
    assert "inner.example" not in str(error.value)
    workspace.store.close()


# ── the API and its client ───────────────────────────────────────────────────────────────────


@pytest.fixture
def running(tmp_path: Path, named: Path) -> Iterator[Running]:
    assert named.exists()
    folder = tmp_path / "server"
    folder.mkdir()
    server = Running(folder)
    yield server
    server.stop()


def test_a_program_has_the_server_fetch_a_source(running: Running, truth: Path) -> None:
    remote = recdash.connect(running.url, running.api.tokens["editor"])
    assert remote.sources() == [LISTS, LOST]
    stored = remote.push("nightly", [truth], sources={"als": LISTS})
    assert [run["name"] for run in stored["runs"]] == ["als"]
    home = remote.experiments.named("nightly")
    assert mrr_of(running.workspace, home.id) == pytest.approx(MRR)
    assert held(running) == []


def test_a_source_that_fails_stores_nothing(running: Running, truth: Path) -> None:
    remote = recdash.connect(running.url, running.api.tokens["editor"])
    with pytest.raises(InputError, match=f"source '{LOST}'"):
        remote.push("nightly", [truth], sources=[LOST])
    assert "nightly" not in [experiment.name for experiment in remote.experiments.all()]
    with pytest.raises(NotFound, match="no source 'other'"):
        remote.push("nightly", [truth], sources=["other"])


def test_a_file_is_either_an_upload_or_a_source(running: Running) -> None:
    for file, has in (({}, "neither of"), ({"upload": "0" * 32, "source": LISTS}, "both")):
        body = {"experiment": "nightly", "files": [file]}
        answer = running.api.ask("/additions", "editor", "POST", body=body)
        assert answer.status == 422
        assert has in answer.text


def test_push_names_a_source(running: Running, truth: Path, run: Recdash) -> None:
    to = ("--server", running.url, "--token", running.api.tokens["editor"])
    done = run("push", "nightly", str(truth), "--source", f"als={LISTS}", *to)
    assert (done.exit_code, done.stdout.strip()) == (0, "als: added"), done.stderr
    nothing = run("push", "nightly", *to)
    assert (nothing.exit_code, "at least one FILE or --source" in nothing.stderr) == (2, True)


def mrr_of(workspace: Workspace, home: str) -> float:
    (run,) = workspace.runs.all(home)
    return float(workspace.scores.scoreboard([run.id], ["mrr"], 2).iloc[0]["value"])


def held(running: Running) -> list[Path]:
    """What the server keeps of files that it received or fetched."""
    folder = running.files.folder
    assert folder is not None
    return [path for path in folder.iterdir() if path.is_dir()]


# ── the page ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def app(tmp_path: Path, store_in: Callable[[Path], None], named: Path) -> Iterator[AppTest]:
    assert named.exists()
    store_in(tmp_path)
    settings.cache_clear()
    forget()
    yield turn_to(shell({}).run(), "upload")
    forget()


def choose(app: AppTest, name: str) -> AppTest:
    box: Any = next(box for box in app.selectbox if box.label.startswith("Or fetch"))
    return passed(press(passed(box.select(name).run()), "Fetch"))


def test_the_page_fetches_a_source_as_if_it_had_been_dropped(app: AppTest) -> None:
    app = choose(app, LISTS)
    assert any(box.label.replace("\\", "") == f"What {LISTS}.parquet is" for box in app.selectbox)


def test_the_page_says_why_a_source_cannot_be_fetched(app: AppTest) -> None:
    app = choose(app, LOST)
    assert f"source '{LOST}'" in app.error[0].value.replace("\\", "")
