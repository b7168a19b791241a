"""What several tests need: real data, a store, a terminal, pages, a server, a browser that stays at home."""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import browser_tabs
import hypothesis
import portalocker
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, WebSocket, sync_playwright

if TYPE_CHECKING:  # what only some tests need is imported by the fixtures that they ask for
    from app_pages import Open
    from streamlit.testing.v1 import AppTest
    from terminal import Recdash

    from recdash.service import Workspace

    Make = Callable[[Workspace], Any]
    """Fills a store for tests, and returns what they ask for."""

ROOT = Path(__file__).resolve().parents[1]
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own in it
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4e9:
    # Every store syncs what it writes: in memory no test waits for a disk that others use too.
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)
os.environ["LOGNAME"] = "ada"  # the local user's name, also where root runs the tests
REAL_DATA = ROOT.parent / "shared" / "data"
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# An example may take as long as it does: what is slow on a busy machine is not wrong.
hypothesis.settings.register_profile(
    "recdash", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("recdash")
SECONDS_TO_START = 180
"""A server takes three of them on a quiet machine."""
OBJECTS_BETWEEN_COLLECTIONS = 50_000
"""Python's own 700 has the collector take a tenth of the tests' time."""


def is_compiled(module: Path) -> bool:
    """pytest compiles tests itself, and names what it keeps after its own version."""
    return any(
        (module.parent / "__pycache__").glob(f"{module.stem}.{sys.implementation.cache_tag}-pytest-*.pyc")
    )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """In a fresh clone one worker compiles a file of tests, and the others load what it wrote."""
    if not isinstance(collector, pytest.Module) or sys.dont_write_bytecode or is_compiled(collector.path):
        return (yield)
    with collector.path.open("rb") as source:
        portalocker.lock(source, portalocker.LOCK_EX)
        if not is_compiled(collector.path):
            return (yield)
    return (yield)


gc.disable()  # modules and tests that are being loaded are no garbage


def pytest_collection_finish() -> None:
    """From here on the collector leaves out what was loaded: it lives as long as the process."""
    gc.freeze()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 20, 20)
    gc.enable()


HEAVIEST = (
    "browser/accessibility", "report/reproduce", "setup/linters", "browser/journey_share", "ui/pages",
    "browser/markup", "ui/ab_results", "store/sqlite", "browser/history", "ui/sharing", "server/flood",
    "browser/sign_in", "ui/upload_journey", "service/decisions", "browser/journey", "ui/decisions",
    "service/workspace", "metrics/tie_band",
    "cli/control_characters", "service/reports", "cli/cli", "metrics/oracles", "metrics/laws",
    "ingest/isolated_reader", "browser/report", "ingest/regular_expressions", "ui/replicates",
    "server/fresh_server", "server/server",
)  # fmt: skip
"""The files whose tests take longest together, about in this order: eight seconds of a processor and more.

Tests in a browser wait for a server: their files stand among those that keep a processor busy.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers take files from the front: those that take longest must not be the last to be taken."""
    tests_of = Counter(item.path for item in items)
    order = {name: place for place, name in enumerate(HEAVIEST)}

    def turn(item: pytest.Item) -> tuple[object, ...]:
        name = f"{item.path.parent.name}/{item.path.stem.removeprefix('test_')}"
        place = order.get(name, len(order))
        return place, -tests_of[item.path], item.path

    items.sort(key=turn)


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real data beside the project; it is too big and not ours to keep in it."""
    if not REAL_DATA.is_dir():
        pytest.skip("no real data at ../shared/data")
    return REAL_DATA


@pytest.fixture(autouse=True)
def _no_settings_of_other_tests() -> Iterator[None]:
    """Settings are read once in a process; each test reads its own."""
    from recdash.settings import settings

    settings.cache_clear()
    yield
    settings.cache_clear()


# ── a store of one's own ─────────────────────────────────────────────────────────────────────


def settings_of(data: Path) -> dict[str, str]:
    """The environment that has recdash keep its store in the folder ``data``."""
    return {
        "RECDASH_DATABASE_URL": f"sqlite:///{data / 'recdash.db'}",
        "RECDASH_ARTIFACTS": str(data / "artifacts"),
    }


@pytest.fixture
def store_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], None]]:
    """``store_in(data)``: from here to the end of the test the settings name the store in ``data``."""
    from recdash.settings import settings

    def turn_to(data: Path) -> None:
        for name, value in settings_of(data).items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()

    yield turn_to
    settings.cache_clear()


def made_by_one_worker(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """A folder that ``make`` has filled, which all workers of a session share and copy."""
    session = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        session = session.parent
    folder = session / name
    with (session / f"{name}.lock").open("w") as held:
        portalocker.lock(held, portalocker.LOCK_EX)
        if not folder.exists():
            unfinished = Path(tempfile.mkdtemp(prefix=name, dir=session))
            make(unfinished)
            unfinished.rename(folder)
    return folder


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store: all migrations, run once."""
    from recdash.store import open_store

    def make(folder: Path) -> None:
        open_store(f"sqlite:///{folder / 'recdash.db'}").close()

    return made_by_one_worker(tmp_path_factory, "empty-store", make) / "recdash.db"


@pytest.fixture(scope="module", autouse=True)
def _new_databases_are_copies(request: pytest.FixtureRequest) -> Iterator[None]:
    """A new database is a copy of one without rows, except where tests ask how databases are made."""
    if request.path.parent.name == "store":
        yield
        return
    from recdash.store import connections

    empty, create = request.getfixturevalue("empty_database"), connections._create

    def copy(file: Path) -> None:
        if os.access(file.parent, os.W_OK) and not file.exists():
            fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
            shutil.copyfile(empty, fresh)
            with suppress(FileExistsError):  # another thread was quicker
                file.hardlink_to(fresh)
            fresh.unlink()
        create(file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "_create", copy)
        yield


@pytest.fixture(scope="session")
def compiled_statements() -> dict[Any, tuple[Any, Any]]:
    """By SQLite driver: SQLAlchemy's dialect, and the statements that it has compiled so far."""
    return {}


@pytest.fixture(scope="module", autouse=True)
def _statements_are_compiled_once(
    request: pytest.FixtureRequest, compiled_statements: dict[Any, tuple[Any, Any]]
) -> Iterator[None]:
    """Each store would compile all statements anew, which takes a third of opening one and adding a run."""
    if request.path.parent.name == "store":
        yield
        return
    from recdash.store import connections

    create = connections.create_engine

    def create_engine(*arguments: Any, **options: Any) -> Any:
        engine = create(*arguments, **options)
        dialect, _ = compiled_statements.get(driver := engine.dialect.dbapi, (None, None))
        if dialect is not None and dialect.server_version_info is not None:  # it has connected
            engine.dialect, engine._compiled_cache = compiled_statements[driver]
        elif engine.dialect.name == "sqlite":
            compiled_statements[driver] = engine.dialect, engine._compiled_cache
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connections, "create_engine", create_engine)
        yield


@pytest.fixture(scope="module", autouse=True)
def _footers_are_read_without_a_fork(request: pytest.FixtureRequest) -> Iterator[None]:
    """Files of our own making end no process, and forking one of this size takes longer than reading them.

    Tests of damaged files fork as the product does.
    """
    if request.path.parent.name in {"ingest", "store"} or "damage" in request.path.stem:
        yield
        return
    from recdash.ingest.formats import parquet_footer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_footer, "_in_a_fork", lambda read: read())  # as where there are threads
        yield


@pytest.fixture(scope="session")
def demo_folder(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the demo, to be copied: scoring it anew takes seconds."""
    from recdash.service import Workspace
    from recdash.store import open_store

    def make(data: Path) -> None:
        shutil.copyfile(empty_database, data / "recdash.db")
        store = open_store(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
        Workspace(store).demo.load()
        store.close()

    return made_by_one_worker(tmp_path_factory, "demo-store", make)


@pytest.fixture(scope="session")
def films_folder(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the films to report on, to be copied: a second of scoring for every test."""
    from report_tables import films, opened

    def make(data: Path) -> None:
        shutil.copyfile(empty_database, data / "recdash.db")
        space = opened(data)
        films(space)
        space.store.close()

    return made_by_one_worker(tmp_path_factory, "films-store", make)


@pytest.fixture
def with_demo(demo_folder: Path, tmp_path: Path) -> Path:
    """The test's own folder as a store that holds the demo already; asked for before what opens it."""
    shutil.copytree(demo_folder, tmp_path, dirs_exist_ok=True)
    return tmp_path


# ── a terminal ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def folder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    store_in: Callable[[Path], None],
) -> Path:
    """A working folder with the small files that the test's module calls FILES, and a store of its own."""
    for name, content in request.module.FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    store_in(tmp_path / "store")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Recdash:
    """``run("evaluate", "--truth", …)``: recdash, called in the folder."""
    from click.testing import CliRunner

    from recdash.cli import main

    assert folder.is_dir()
    return lambda *arguments: CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def filled_stores() -> dict[str, Path]:
    """By the name of what filled it: a store to be copied by the tests of a file."""
    return {}


@pytest.fixture
def filled(
    folder: Path, filled_stores: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Callable[[], Any]], None]:
    """``filled(fill)``: the folder's store is as ``fill()`` leaves it, which runs once for a file."""

    def fill_or_copy(fill: Callable[[], Any]) -> None:
        if (name := fill.__qualname__) in filled_stores:
            shutil.copytree(filled_stores[name], folder / "store", dirs_exist_ok=True)
            return
        fill()
        filled_stores[name] = tmp_path_factory.mktemp("filled")
        shutil.copytree(folder / "store", filled_stores[name], dirs_exist_ok=True)

    return fill_or_copy


# ── pages without a browser ──────────────────────────────────────────────────────────────────


@pytest.fixture
def workspace(tmp_path: Path, store_in: Callable[[Path], None]) -> Iterator[Workspace]:
    """An empty store of its own, which the app opens too."""
    from app_pages import forget

    from recdash.ui.app import state

    store_in(tmp_path)
    forget()
    yield state.workspace()
    forget()


@dataclass
class SharedStores:
    """The stores that tests of a file share, with what was returned on filling each, and the one in use."""

    made: dict[Make, tuple[Path, Any]] = field(default_factory=dict)
    in_use: Path | None = None
    opened: dict[tuple[Any, ...], tuple[AppTest, Any]] = field(default_factory=dict)
    """By store, page and link: the page as it was opened, and what was on it then."""


@pytest.fixture(scope="module")
def shared_stores() -> Iterator[SharedStores]:
    from app_pages import forget

    forget()
    yield SharedStores()
    forget()


@pytest.fixture
def made_once(
    shared_stores: SharedStores,
    store_in: Callable[[Path], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[Make], Any]]:
    """``made_once(make)``: what ``make(workspace)`` returned, in a store that tests of the file only read.

    The app opens that store, with the numbers that it has cached. A test that writes asks for ``workspace``.
    """
    from app_pages import forget

    from recdash.ui.app.current_user import full_workspace

    newest: list[Any] = []

    def turn_to(make: Make) -> Any:
        data, made = shared_stores.made.get(make) or (tmp_path_factory.mktemp("shared"), None)
        store_in(data)
        if shared_stores.in_use != data:
            forget()
        shared_stores.in_use = data
        if make not in shared_stores.made:
            made = make(full_workspace())
            shared_stores.made[make] = data, made
        newest[:] = full_workspace().audit.events(1)
        return deepcopy(made)  # what one test changes of it is no other test's

    yield turn_to
    assert newest == [] or full_workspace().audit.events(1) == newest, "the test wrote to what others read"


@pytest.fixture
def open_page() -> Open:
    """Open a page of the app by its file name, with a link's parameters."""
    from app_pages import passed, shell, turn_to

    def show(page: str = "overview", **link: str) -> AppTest:
        app = passed(shell(link).run())
        return app if page == "overview" else turn_to(app, page)

    return show


# ── a server of one's own ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Server:
    """A running dashboard: where it answers, where it keeps its data, what it printed."""

    url: str
    data: Path
    log: Path
    process: subprocess.Popen[bytes]


def free_port() -> int:
    """A port that is free, below those that the system gives to anybody who calls out meanwhile.

    Of the system's own chance: in every worker the tests' begins with the same seed.
    """
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port


def recdash_environment(data: Path) -> dict[str, str]:
    """The caller's environment, but with the store in ``data`` and no other setting of recdash."""
    ours = ("RECDASH_", "STREAMLIT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | settings_of(data)


def is_healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=20) as answer:
            return bool(answer.read() == b"ok")
    except (urllib.error.URLError, OSError):
        return False


def wait_until_healthy(server: Server) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not is_healthy(server.url):
        if server.process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"The server did not start:\n{server.log.read_text()}", pytrace=False)
        time.sleep(0.1)


def start_server(
    data: Path, *options: str, settings: Mapping[str, str] | None = None, port: int | None = None
) -> Server:
    data.mkdir(parents=True, exist_ok=True)
    port, log = port or free_port(), data / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", *options]
    environment = recdash_environment(data) | dict(settings or {})
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    return Server(f"http://127.0.0.1:{port}", data, log, process)


def stop_server(server: Server) -> None:
    server.process.terminate()
    try:
        server.process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()


class Servers:
    """Fresh dashboard processes, on an empty store or on that in ``data``; options are Streamlit's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.started, self.free_port = folder, list[Server](), free_port

    def __call__(
        self,
        *options: str,
        data: Path | None = None,
        settings: Mapping[str, str] | None = None,
        port: int | None = None,
    ) -> Server:
        started = start_server(data or self.folder / "recdash-data", *options, settings=settings, port=port)
        self.started.append(started)
        wait_until_healthy(started)
        return started

    def stop(self) -> None:
        for one in self.started:
            stop_server(one)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Servers]:
    """Start a fresh dashboard process: ``server()`` on an empty store, ``server(data=…)`` on another."""
    servers = Servers(tmp_path)
    yield servers
    servers.stop()


@pytest.fixture(scope="module")
def lasting_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The same, for all tests of a file."""
    servers = Servers(tmp_path_factory.mktemp("server"))
    yield servers
    servers.stop()


def decide_on_the_demo(workspace: Workspace, demo: str) -> None:
    """What people write about an experiment: an approved review, a comment, a report, a link, a view."""
    from recdash.report.reports import Reports

    run = next(run for run in workspace.runs.all(demo) if run.name == "ALS v3")
    review = workspace.reviews.propose(demo, run.id, text="It costs nothing that matters.")
    workspace.reviews.add_offline_evidence(review.id)
    workspace.reviews.add_online_evidence(review.id, workspace.online_tests.all(demo)[0].id)
    approved = workspace.decisions.decide(
        demo, "ship", about=review.id, text="Online agrees.", although="As planned."
    )
    workspace.journal.comment(demo, approved.id, "Live since Monday.")
    Reports(workspace).make(
        Reports(workspace).question(demo), title="For the board", narrative="**Why** we ship."
    )
    workspace.sharing.save_view(demo, "for-the-board", "leaderboard", {})
    workspace.sharing.share(demo, label="board")


@pytest.fixture(scope="module")
def demo_server(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One dashboard for all tests of a file: the demo with a decision and a report. None writes."""
    from recdash.service import Workspace

    data = shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo"), dirs_exist_ok=True)
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    decide_on_the_demo(workspace, workspace.experiments.all()[0].id)
    server = start_server(data)
    wait_until_healthy(server)
    yield server
    stop_server(server)


# ── a browser that stays at home ─────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium per test file: Playwright's event loop would disturb other files' AppTests."""
    from recdash.report.formats.pdf import find_browser

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_browser(), args=CHROMIUM_ARGS)
        browser_tabs.follow(chromium)
        yield chromium
        chromium.close()


def is_outside(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in {"http", "https", "ws", "wss"} and parts.hostname not in {"127.0.0.1", "localhost"}


@pytest.fixture(scope="session")
def settle() -> Callable[..., None]:
    """``settle(page, *shown)``: wait until the app has finished, and what is expected is there."""
    return browser_tabs.settle


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Who reads of a failed test reads what was on its pages."""
    report = yield
    if report.failed:
        report.sections += [("a tab", browser_tabs.words_of(tab)) for tab in browser_tabs.open_tabs()]
    return report


@pytest.fixture
def console_errors() -> list[str]:
    """What the page of this test wrote to the console as an error, or threw."""
    return []


def is_replaced_download(message: ConsoleMessage) -> bool:
    """Streamlit asks whether a download's file is there; a rerun may have replaced it by then."""
    is_file = "/media/" in message.location.get("url", "") and "404" in message.text
    return is_file or message.text == "Client Error: Download Button source error - 404"


@pytest.fixture
def page(browser: Browser, console_errors: list[str]) -> Iterator[Page]:
    """A fresh browser profile; the test fails if the page asks anything of another host."""
    outside: list[str] = []

    def note(request: Request | WebSocket) -> None:
        if is_outside(request.url):
            outside.append(request.url)

    def note_error(message: ConsoleMessage) -> None:
        if message.type == "error" and not is_replaced_download(message):
            console_errors.append(message.text)

    context = browser.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    context.on("request", note)
    context.route(is_outside, lambda route: route.abort())
    tab = context.new_page()
    tab.on("websocket", note)
    tab.on("console", note_error)
    tab.on("pageerror", lambda error: console_errors.append(str(error)))
    yield tab
    context.close()
    assert outside == [], "the page asked other hosts"
