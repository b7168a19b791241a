"""Two dashboards on one PostgreSQL and one folder, behind nginx with the documented file."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from app_pages import lists, store
from postgresql_server import PROGRAMS, running_server
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from web_house import House, Tab, ask, opening, stream

import recdash
from recdash.client.connection import Server
from recdash.client.pushing import upload
from recdash.errors import NotFound
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.settings import settings
from recdash.web.startup_checks import key_of

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
    pytest.mark.skipif(not (PROGRAMS / "initdb").exists(), reason="PostgreSQL is not installed"),
]
SECRET = "one-secret-for-0123456789-processes"  # noqa: S105
KEY = key_of(SECRET.encode())
MIB = 2**20
TEMPORARY = "/tmp/"  # noqa: S108 - only replaced
PATIENCE_S = 120
FAIL_TIMEOUT_S = 10
"""How long nginx leaves a process alone that did not answer."""


@dataclass
class Cluster:
    """Two dashboards behind nginx. ``processes`` are {address: server}."""

    house: House
    processes: dict[str, Any]
    environment: dict[str, str]
    log: Path
    folder: Path
    start: Callable[[int], Any]

    def upstreams(self, visitor: str, n_requests: int = 1) -> list[str]:
        """The addresses of the processes that answered requests of a visitor, once there are so many."""
        until = time.monotonic() + PATIENCE_S
        while True:
            lines = [line.split("|") for line in self.log.read_text().splitlines()]
            found = [at.split(", ")[-1] for at, whose, *_ in lines if whose == visitor]
            if len(found) >= n_requests:
                return found
            assert time.monotonic() < until, f"nginx answered {len(found)} of {n_requests} requests"
            time.sleep(0.05)

    def process_of(self, visitor: str) -> str:
        return self.upstreams(visitor)[-1]

    def recdash(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "recdash", *arguments]
        return subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, check=False
        )


@dataclass(frozen=True)
class Visitor:
    """A browser that has opened the printed address; ``node`` is its cookie of nginx."""

    cluster: Cluster
    session: str
    node: str

    @property
    def headers(self) -> dict[str, str]:
        return {"cookie": f"{self.session}; recdash_node={self.node}"}

    @property
    def process(self) -> str:
        return self.cluster.process_of(self.node)

    def statuses(self) -> list[int]:
        paths = ("/", f"/reports/{self.cluster.house.report}")
        return [
            *(ask(self.cluster.house, path, self.headers).status for path in paths),
            opening(self.cluster.house, self.headers),
        ]


class OpenTab(Tab):
    """A page whose files are noted, too."""

    def take(self, message: ForwardMsg) -> bool:
        self.files = {
            *getattr(self, "files", ()),
            *re.findall(rb"/media/\w+\.csv", message.SerializeToString()),
        }
        return super().take(message)


@contextmanager
def tab_of(visitor: Visitor, session: str = "") -> Iterator[OpenTab]:
    """A page; with a ``session``, one that connects again after a break."""
    house = visitor.cluster.house
    with stream(house, visitor.headers, origin=house.url, session=session) as wire:
        yield OpenTab(house, visitor.headers, wire)


def sign_in(cluster: Cluster) -> Visitor:
    parts = urlsplit(cluster.house.url)
    with closing(http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=180)) as connection:
        connection.request("GET", f"/key/{KEY}")
        answer = connection.getresponse()
        cookies = dict(
            value.split(";")[0].split("=", 1)
            for name, value in answer.getheaders()
            if name.lower() == "set-cookie"
        )
    assert answer.status == 303
    (session,) = (f"{name}={value}" for name, value in cookies.items() if name.startswith("recdash_key"))
    return Visitor(cluster, session, cookies["recdash_node"])


def visitors_of_both(cluster: Cluster) -> list[Visitor]:
    """A visitor of each process, the processes in their order.

    A process that was restarted gets visitors once nginx has tried it again.
    """
    until, known = time.monotonic() + PATIENCE_S, dict[str, Visitor]()
    while len(known) < 2:
        assert time.monotonic() < until, f"all visitors came to {[*known]}"
        visitor = sign_in(cluster)
        known.setdefault(visitor.process, visitor)
    return [known[address] for address in cluster.processes]


def nginx_file(root: Path, folder: Path, port: int, ports: list[int]) -> Path:
    """The documented file with other ports, names and folders; it also logs who answered whom."""
    text = (root / "docs" / "deploy" / "nginx.conf").read_text("utf-8")
    form = "$upstream_addr|$visitor|$request_method $uri|$status"
    changed = {
        TEMPORARY: f"{folder}/",
        "access_log off;": f"log_format visitor '{form}'; access_log {folder}/log visitor;",
        "listen 8080;": f"listen 127.0.0.1:{port};",
        "web1:8501": f"127.0.0.1:{ports[0]}",
        "web2:8501": f"127.0.0.1:{ports[1]}",
    }
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    file = folder / "nginx.conf"
    file.write_text(text)
    return file


@contextmanager
def running_nginx(file: Path) -> Iterator[None]:
    command = [str(NGINX), "-c", str(file), "-e", str(file.with_name("errors")), "-g", "daemon off;"]
    process = subprocess.Popen(command)
    try:
        while not file.with_name("nginx.pid").exists():
            assert process.poll() is None, file.with_name("errors").read_text()
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def cluster(root: Path, lasting_server: Any) -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="recdash-cluster-"))
    folder.chmod(0o755)  # nginx writes into it as another user
    (folder / "log").touch()
    with running_server() as database, pytest.MonkeyPatch.context() as patch:
        environment = {
            "RECDASH_DATABASE_URL": database.url(),
            "RECDASH_ARTIFACTS": str(folder / "artifacts"),
            "RECDASH_SECRET": SECRET,
        }
        for name, value in environment.items():
            patch.setenv(name, value)
        settings.cache_clear()
        ports = [lasting_server.free_port() for _ in range(3)]

        def start(port: int) -> Any:
            own = {**environment, "RECDASH_AUTH": "key"}
            return lasting_server(data=folder / str(port), settings=own, port=port)

        with ThreadPoolExecutor(2) as both:  # an empty database is set up by one, and the other waits
            processes = {f"127.0.0.1:{one.url.rpartition(':')[2]}": one for one in both.map(start, ports[1:])}
        workspace = Workspace.open(database.url(), folder / "artifacts")
        ids = store(workspace, {"als": lists(1), "popular": lists(2)})
        report = Reports(workspace).make(Reports(workspace).question(ids["films"]), title="Films")
        house = House(f"http://127.0.0.1:{ports[0]}", workspace, ids, "", report.id)
        with running_nginx(nginx_file(root, folder, ports[0], ports[1:])):
            yield Cluster(house, processes, environment, folder / "log", folder, start)
        workspace.store.close()
        lasting_server.stop()
    shutil.rmtree(folder)


# ── visitors ─────────────────────────────────────────────────────────────────────────────────


def test_both_processes_get_visitors_and_each_stays_with_theirs(cluster: Cluster) -> None:
    for visitor in visitors_of_both(cluster):
        assert visitor.statuses() == [200, 200, 101]
        with tab_of(visitor) as tab:
            assert "als" in tab.said
            tab.run("upload")
            assert tab.put(1000) == 200
            assert len(tab.files) > 0
            read = [ask(cluster.house, path.decode(), visitor.headers).status for path in sorted(tab.files)]
            assert set(read) == {200}
        # the sign-in, two pages, two websockets, a file in two requests, and the files that were read
        answered = cluster.upstreams(visitor.node, 7 + len(read))
        assert set(answered) == {visitor.process}


def test_who_signs_out_at_one_process_is_out_at_the_other(cluster: Cluster) -> None:
    here, there = visitors_of_both(cluster)
    copied = Visitor(cluster, here.session, there.node)
    assert copied.statuses() == [200, 200, 101]
    assert ask(cluster.house, "/key/sign-out", here.headers, method="POST").status == 303
    assert here.statuses() == copied.statuses() == [403, 403, 403]
    assert there.statuses() == [200, 200, 101]


# ── programs ─────────────────────────────────────────────────────────────────────────────────


def token_of(cluster: Cluster, process: str) -> str:
    """A new token whose requests go to this process."""
    while True:
        token = cluster.house.workspace.tokens.create("nightly", "editor").secret
        Server(cluster.house.url, token).ask("/experiments")
        if cluster.process_of(f"Bearer {token}") == process:
            return token


def shop_files(folder: Path, n_users: int, name: str) -> list[Path]:
    truth, run = folder / "truth.csv", folder / f"{name}.csv"
    truth.write_text(
        "user_id,item_id\n" + "".join(f"user-{user},item-{user + 1}\n" for user in range(n_users))
    )
    with run.open("w") as rows:
        rows.write("user_id,item_id,rank\n")
        for user in range(n_users):
            rows.writelines(f"user-{user},item-{user + rank},{rank}\n" for rank in range(1, 11))
    return [truth, run]


def test_a_push_in_parts_is_stored_and_seen_at_both_processes(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recdash.client.pushing.PART_BYTES", 2**18)
    both = visitors_of_both(cluster)
    with tab_of(both[0]) as first, tab_of(both[1]) as second:
        token = token_of(cluster, both[0].process)
        files = shop_files(tmp_path, 5_000, "two-tower")
        assert files[1].stat().st_size > 4 * 2**18
        stored = recdash.connect(cluster.house.url, token).push("shop", files)
        assert [run["name"] for run in stored["runs"]] == ["two-tower"]
        for tab in (first, second):
            tab.said = ""
            tab.run("experiments")
            assert "shop" in tab.said
    assert set(cluster.upstreams(f"Bearer {token}")) == {both[0].process}


def test_a_file_of_several_usual_parts_passes_nginx(cluster: Cluster, tmp_path: Path) -> None:
    token = cluster.house.workspace.tokens.create("large", "editor").secret
    server, file = Server(cluster.house.url, token), tmp_path / "large.csv"
    file.write_bytes(b"0123456789abcdef" * (20 * MIB // 16))
    state = server.ask(f"/uploads/{upload(server, file)}")
    assert (state["received"], state["size"]) == (20 * MIB, 20 * MIB)


# ── a process that is killed ─────────────────────────────────────────────────────────────────


def killed(cluster: Cluster, address: str) -> None:
    process = cluster.processes[address].process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def half_sent(tab: Tab) -> None:
    """Begins a file, and sends half of it."""
    begun = tab.announce(1000)
    path = f"/uploads/{tab.session}/{json.loads(begun.body)['id']}"
    given: Mapping[str, str] = {**tab.headers, "upload-offset": "0"}
    assert ask(tab.house, path, given, method="PATCH", body=b"x" * 500).status == 200


def begin_addition(server: Server, files: list[Path]) -> str:
    """The id of an addition that is being stored."""
    sent = [{"upload": upload(server, file), "name": file.name} for file in files]
    addition = server.post("/additions", {"experiment": "interrupted", "files": sent})
    assert server.ask(f"/additions/{addition['id']}")["state"] == "running"
    return str(addition["id"])


def assert_whole(cluster: Cluster) -> None:
    for command in ("check", "verify"):
        checked = cluster.recdash(command)
        assert checked.returncode == 0, checked.stdout + checked.stderr


def upload_folders(cluster: Cluster) -> set[Path]:
    return set(cluster.folder.glob("artifacts/uploads/process-*"))


def test_visitors_of_a_killed_process_go_on_with_the_other(cluster: Cluster, tmp_path: Path) -> None:
    here, there = visitors_of_both(cluster)
    address = here.process
    token = token_of(cluster, address)
    server, files = Server(cluster.house.url, token), shop_files(tmp_path, 60_000, "interrupted")
    with tab_of(there) as other, tab_of(here) as broken:
        broken.run("upload")
        half_sent(broken)
        addition = begin_addition(server, files)
        killed(cluster, address)
        for visitor in (here, there):
            assert visitor.statuses() == [200, 200, 101]
        other.run()
        with pytest.raises(NotFound):
            server.ask(f"/additions/{addition}")
    assert "interrupted" not in {home.name for home in cluster.house.workspace.experiments.all()}
    assert_whole(cluster)
    with tab_of(here, broken.session) as again:
        again.run("upload")
        assert again.put(1000) == 200
        assert here.process == there.process != address
        stored = recdash.connect(cluster.house.url, token).push("interrupted", files)
        assert [run["name"] for run in stored["runs"]] == ["interrupted"]
        before = upload_folders(cluster)
        cluster.processes[address] = cluster.start(int(address.rpartition(":")[2]))
        after = upload_folders(cluster)
        # the folder of the process that goes on stays, that of the killed one is replaced
        assert (len(before), len(after), len(before & after)) == (2, 2, 1)
        time.sleep(FAIL_TIMEOUT_S + 1)
        assert here.statuses() == [200, 200, 101]
        assert here.process == address
        again.run("upload")
        assert again.put(1000) == 403  # the page is at one process, its files would go to the other
    with tab_of(here, again.session) as loaded:
        loaded.run("upload")
        assert loaded.put(1000) == 200
    assert_whole(cluster)
