"""Files that pages receive lie on disk, within limits, and go with their page or their process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest
from web_requests import rules

from recdash.web import received_files as module
from recdash.web.plain_pages import Refused
from recdash.web.process_folder import ProcessFolder
from recdash.web.received_files import ReceivedFile, ReceivedFiles

LIMITS = {"max_upload_bytes": 100, "max_held_bytes_per_person": 250, "max_held_bytes": 400}


@pytest.fixture
def files(tmp_path: Path) -> Iterator[ReceivedFiles]:
    received = ReceivedFiles(lambda: tmp_path / "uploads")
    yield received
    received.stop()


def announce(files: ReceivedFiles, name: str = "als.csv", size: int = 10, **where: str) -> ReceivedFile:
    at = {"session": "s1", "owner": "ada", "zone": "files", **where}
    return files.begin(at["session"], at["owner"], at["zone"], name, size, rules(**LIMITS))


def arrived(
    files: ReceivedFiles, name: str = "als.csv", data: bytes = b"user,item\n", **where: str
) -> ReceivedFile:
    file = announce(files, name, len(data), **where)
    file.append(data, file.take_over())
    return file


def on_disk(tmp_path: Path) -> list[Path]:
    found = (path for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock")
    return sorted(found, key=lambda path: path.name)  # folders have random names


# ── on disk ──────────────────────────────────────────────────────────────────────────────────


def test_a_file_arrives_in_parts_and_only_its_owner_can_read_it(files: ReceivedFiles) -> None:
    file = announce(files, size=6)
    assert (file.received, file.is_complete) == (0, False)
    for part in (b"abc", b"", b"def"):
        file.append(part, file.take_over())
    assert file.path.read_bytes() == b"abcdef"
    assert files.complete("s1", "files") == [file]
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert all(folder.stat().st_mode & 0o777 == 0o700 for folder in file.path.parents[:3])


def test_only_complete_files_are_given_in_the_order_in_which_they_were_chosen(files: ReceivedFiles) -> None:
    first, second = announce(files, "a.csv", 1), announce(files, "b.csv", 1)
    arrived(files, "other.csv", zone="another")
    arrived(files, "other.csv", session="s2")
    second.append(b"b", second.take_over())
    assert files.complete("s1", "files") == [second]
    first.append(b"a", first.take_over())
    assert files.complete("s1", "files") == [first, second]


def test_an_empty_file_is_complete_at_once(files: ReceivedFiles) -> None:
    assert announce(files, size=0).is_complete


def test_an_earlier_request_adds_nothing_any_more(files: ReceivedFiles) -> None:
    """The server may notice late that a connection was lost, whose browser sends the file again."""
    file = announce(files, size=6)
    lost = file.take_over()
    file.append(b"abc", lost)
    now = file.take_over()
    with pytest.raises(Refused, match="later request"):
        file.append(b"def", lost)
    file.append(b"def", now)
    assert file.path.read_bytes() == b"abcdef"


def test_a_new_request_continues_after_what_is_being_written(
    files: ReceivedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offset that it is compared with must not change afterwards."""
    file = announce(files, size=6)
    lost = file.take_over()
    is_writing, has_taken_over = threading.Event(), threading.Event()
    opened = Path.open

    def slow(path: Path, *more: str) -> IO[Any]:
        is_writing.set()
        has_taken_over.wait(0.2)  # does not happen meanwhile
        return opened(path, *more)

    monkeypatch.setattr(Path, "open", slow)
    with ThreadPoolExecutor(1) as earlier:
        written = earlier.submit(file.append, b"abc", lost)
        is_writing.wait()
        file.take_over()
        received = file.received
        has_taken_over.set()
        written.result()
    assert received == file.received == 3


def test_more_bytes_than_announced_are_refused(files: ReceivedFiles) -> None:
    file = announce(files, size=3)
    with pytest.raises(Refused, match="3 bytes"):
        file.append(b"abcd", file.take_over())
    assert file.path.read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "on_disk"),
    [
        ("als.csv", "als.csv"),
        ("runs/als.csv", "als.csv"),
        ("..\\..\\als.csv", "als.csv"),
        ("/etc/passwd", "passwd"),
        ("..", "upload"),
        ("a/..", "upload"),
        ("\0", "upload"),
        (f"{'ä' * 300}.csv", f"{'ä' * 98}.csv"),
        ("x" * 900, "x" * 200),
        (f"a.{'x' * 900}", f".{'x' * 199}"),
        ("\ud800.csv", "?.csv"),
    ],
)
def test_a_name_leads_to_no_other_folder(files: ReceivedFiles, name: str, on_disk: str) -> None:
    file = arrived(files, name)
    assert file.name == name
    assert (file.path.name, file.path.parent.name) == (on_disk, file.id)
    assert file.path.read_bytes() == b"user,item\n"


# ── limits ───────────────────────────────────────────────────────────────────────────────────


def refusal(files: ReceivedFiles, size: int, **where: str) -> tuple[int, str]:
    with pytest.raises(Refused) as refused:
        announce(files, "more.csv", size, **where)
    return refused.value.status, str(refused.value)


def test_a_file_is_refused_before_its_bytes_are_sent(files: ReceivedFiles, tmp_path: Path) -> None:
    assert refusal(files, 101) == (413, "A file can have at most 100 bytes.")
    assert on_disk(tmp_path) == []


def test_what_is_announced_counts_for_its_person_until_it_is_removed(files: ReceivedFiles) -> None:
    kept = [announce(files, size=100), announce(files, size=100, session="s2")]
    status, words = refusal(files, 51)
    assert (status, "at most 250 bytes" in words) == (429, True)
    announce(files, size=50)
    announce(files, size=100, owner="bob", session="s3")
    files.remove("s1", kept[0].id)
    announce(files, size=100)


def test_all_people_together_have_a_limit(files: ReceivedFiles) -> None:
    for number in range(4):
        announce(files, size=100, owner=f"p{number}", session=f"s{number}")
    assert refusal(files, 1, owner="p5")[0] == 503


def test_a_page_has_a_limit_of_files(files: ReceivedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 2)
    announce(files)
    announce(files)
    assert refusal(files, 1)[0] == 429


def test_a_disk_without_room_is_left_to_the_database(
    files: ReceivedFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SPARE_BYTES", 2**60)
    assert refusal(files, 1) == (507, "The server's disk has no room for this file.")


def test_a_disk_that_is_full_meanwhile_is_told(files: ReceivedFiles) -> None:
    file = announce(files, size=10)
    file.path.unlink()
    file.path.symlink_to("/dev/full")
    with pytest.raises(Refused, match="no room"):
        file.append(b"x" * 10, file.take_over())
    assert file.received == 0


# ── the end ──────────────────────────────────────────────────────────────────────────────────


def test_removed_files_are_gone_also_half_received_ones(files: ReceivedFiles, tmp_path: Path) -> None:
    half = announce(files, size=10)
    half.append(b"abc", half.take_over())
    arrived(files, "b.csv")
    arrived(files, "c.csv", zone="another")
    files.remove("s1", half.id)
    files.remove("s1", "unknown")
    files.remove("s2", half.id)
    with pytest.raises(Refused, match="removed"):
        half.append(b"def", half.take_over())
    with pytest.raises(Refused):
        files.find("s1", half.id)
    files.clear("s1", "files")
    assert [path.name for path in on_disk(tmp_path)] == ["c.csv"]


def test_the_files_of_a_session_go_when_it_has_ended_and_nothing_reads_them(
    files: ReceivedFiles, tmp_path: Path
) -> None:
    arrived(files, "open.csv", session="open")
    arrived(files, "read.csv", session="read")
    arrived(files, "left.csv", session="left")
    with files.in_use("read"):
        files.end_sessions(lambda session: session == "open")
        assert [path.name for path in on_disk(tmp_path)] == ["open.csv", "read.csv"]
    files.end_sessions(lambda session: session == "open")
    assert [path.name for path in on_disk(tmp_path)] == ["open.csv"]
    files.stop()
    assert on_disk(tmp_path) == []
    assert files.complete("open", "files") == []


PROCESS = """
import sys, time
from pathlib import Path
from recdash.web.process_folder import ProcessFolder
folder = ProcessFolder(Path(sys.argv[1]))
(folder.path / "half.csv").write_text("user,")
print("ready", flush=True)
if sys.argv[2] == "stay":
    time.sleep(600)
"""


def process(parent: Path, how: str) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(parent), how], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def end(started: subprocess.Popen[str], by: signal.Signals | None = None) -> None:
    if by is not None:
        os.kill(started.pid, by)
    started.communicate()


def test_the_folder_of_a_process_goes_with_it(tmp_path: Path) -> None:
    end(process(tmp_path, "end"))
    assert on_disk(tmp_path) == []


def test_what_a_killed_process_left_goes_at_the_next_start_and_that_of_running_ones_stays(
    tmp_path: Path,
) -> None:
    running, killed = process(tmp_path, "stay"), process(tmp_path, "stay")
    end(killed, signal.SIGKILL)
    assert len(on_disk(tmp_path)) == 2
    own = ProcessFolder(tmp_path)
    (left,) = on_disk(tmp_path)
    end(running, signal.SIGKILL)
    assert left.parent != own.path
    ProcessFolder(tmp_path).delete()
    assert on_disk(tmp_path) == []
    own.delete()
