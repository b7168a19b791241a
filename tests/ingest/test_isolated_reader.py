"""Files read in a process of their own: the same values, and the death of a reader is an error in words."""

from __future__ import annotations

import errno
import gc
import io
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import strange_readers
from app_pages import Open

from recdash.domain.kinds import TableKind
from recdash.errors import UploadError
from recdash.ingest import (
    Limits,
    get_ready,
    look,
    preview,
    read_recommendations,
    read_stream,
    read_upload,
    reader,
)
from recdash.ingest.isolation.isolated_reader import FORK_SERVER, File, ForkServer
from recdash.service import Workspace

POPEN = subprocess.Popen
APART = Limits(read_memory_bytes=2**30, read_seconds=600)
TRUTH = "user,item,rating\n" + "".join(f"u{n % 20},i{n % 37},{n % 5}\n" for n in range(200))
RUN = "user,item,score\n" + "".join(f"u{n // 10},i{n % 41},{1 - n / 300}\n" for n in range(200))
FOLDS = "fold,user,item,score\n" + "".join(
    f"{n % 3},u{n // 10},i{n % 41},{1 - n / 300}\n" for n in range(200)
)


class NamedBytes(io.BytesIO):
    name = "somewhere/truth.of.today.csv"


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def refusal(read: Callable[..., Any], limits: Limits = APART) -> str:
    with pytest.raises(UploadError) as caught:
        list(File(b"x", read, limits, {}).batches())
    (problem,) = caught.value.problems
    return f"{problem.code}: {problem}"


# ── the same as here ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["truth", "run", "sessions"])
def test_a_preview_is_the_same(kind: TableKind) -> None:
    for text in (TRUTH, RUN, "", "a,b\n1"):
        here = reader.preview(kind, text.encode(), name="file.csv")
        assert preview(kind, text.encode(), name="file.csv", limits=APART) == here


def test_a_table_is_the_same_with_what_was_noticed(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(TRUTH + "u1,,3\n")
    sources: list[Callable[[], Any]] = [lambda: path, path.read_bytes, lambda: NamedBytes(path.read_bytes())]
    for source in sources:
        apart = read_upload("truth", source(), limits=APART)
        here = reader.read_upload("truth", source())
        assert apart.table.equals(here.table)
        assert (apart.name, apart.mapping, apart.notices) == (here.name, here.mapping, here.notices)


@pytest.mark.parametrize("text", [RUN, FOLDS])
def test_candidates_are_the_same_each_time_they_are_read_and_side_by_side(text: str) -> None:
    apart = read_recommendations(text.encode(), name="als", limits=APART)
    here = reader.read_recommendations(text.encode(), name="als")
    assert len(apart) == len(here)
    streams = list(zip(*(run.batches() for run in apart), strict=True))  # all at once
    for at, (ours, theirs) in enumerate(zip(apart, here, strict=True)):
        whole = pa.Table.from_batches(list(theirs.batches()))
        assert pa.Table.from_batches([each[at] for each in streams]).equals(whole)
        assert pa.Table.from_batches(list(ours.batches())).equals(whole)
        narrow = pa.Table.from_batches(list(ours.batches(columns=("item_id",))))
        assert narrow.equals(whole.select(["item_id"]))
        known = ("name", "has_rank", "has_score", "n_rows", "replicate", "noun", "mapping", "notices")
        assert [getattr(ours, name) for name in known] == [getattr(theirs, name) for name in known]


def test_passing_rows_are_the_same() -> None:
    apart = read_stream("truth", TRUTH.encode(), limits=APART)
    here = reader.read_stream("truth", TRUTH.encode())
    rows = pa.Table.from_batches(list(apart.batches()))
    assert rows.equals(pa.Table.from_batches(list(here.batches())))
    assert (apart.name, apart.notices) == (here.name, here.notices)


def test_what_is_wrong_is_said_as_here() -> None:
    for text in (RUN + "u1,i1,much\n", RUN + "u1,i1\n", "a,b\n", "user,item\n" + '"x,y\n'):
        said = []
        for limits in (None, APART):
            with pytest.raises(UploadError) as caught:
                [list(run.batches()) for run in read_recommendations(text.encode(), limits=limits)]
            said.append((caught.value.problems, caught.value.source))
        assert said[0] == said[1]


def test_a_table_in_memory_is_read_here() -> None:
    before = FORK_SERVER.pid
    read_upload("truth", pa.table({"user": ["a"], "item": ["b"]}), limits=APART)
    assert FORK_SERVER.pid == before


def test_of_a_long_value_only_the_beginning_is_shown() -> None:
    data = parquet(pa.table({"user": ["u"] * 3000, "item": ["x" * 9000] * 3000}))
    shown = preview("run", data, limits=APART)
    assert {len(row["item"]) for row in shown.rows} == {1000}
    first = look(data, limits=APART)
    assert {len(value) for value in first.rows["item"].to_pylist()} == {1000}
    assert (first.rows.num_rows, first.is_whole) == (3000, True)


def test_a_long_text_that_many_rows_refer_to_is_not_copied_for_each() -> None:
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["t" * 8_000_000])
    data = parquet(pa.table({"item_id": pa.array(range(20_000)), "title": texts}), compression="zstd")
    first = look(data, limits=APART)
    assert first.problems == ()
    assert {len(value) for value in first.rows["title"].to_pylist()} == {1000}


def test_first_rows_of_long_values_are_fewer() -> None:
    data = parquet(pa.table({"user": ["u"] * 20_000, "item": ["x" * 9000] * 20_000}))
    first = look(data, limits=APART)
    assert 5_000 < first.rows.num_rows < 10_000
    assert not first.is_whole


# ── the end of a reader ──────────────────────────────────────────────────────────────────────


def test_a_reader_that_sleeps_is_ended_and_said_to_take_too_long() -> None:
    assert refusal(strange_readers.sleeps, Limits(read_seconds=1)) == (
        "read-too-long: file: it was not read within 1 seconds. "
        "Split the file, or raise RECDASH_MAX_READ_SECONDS."
    )


def test_a_reader_that_takes_too_much_memory_is_ended_and_said_to() -> None:
    said = refusal(strange_readers.takes_memory, Limits(read_memory_bytes=2**28, read_seconds=60))
    assert said.startswith("read-too-large: ")
    assert "RECDASH_MAX_READ_MEMORY_BYTES" in said


@pytest.mark.parametrize("read", [strange_readers.is_killed, strange_readers.is_killed_halfway])
def test_a_reader_that_is_killed_fails_its_own_file_only(read: Callable[..., Any]) -> None:
    other = read_recommendations(RUN.encode(), limits=APART)[0]
    assert "ended by signal 9" in refusal(read)
    assert sum(batch.num_rows for batch in other.batches()) == 200
    assert read_upload("truth", TRUTH.encode(), limits=APART).table.num_rows == 200


def test_a_mistake_in_a_reader_is_an_error_in_words() -> None:
    assert "reading it failed (KeyError)" in refusal(strange_readers.fails)


def test_a_reader_ends_when_its_file_is_let_go() -> None:
    file = File(b"x", strange_readers.tells_its_number, APART, {})
    pid = file.facts["pid"]
    assert is_alive(pid)
    del file
    gc.collect()
    wait_until(lambda: not is_alive(pid))


def test_a_reader_lets_the_pages_of_the_server_come_first() -> None:
    file = File(b"x", strange_readers.tells_its_number, APART, {})
    assert os.getpriority(os.PRIO_PROCESS, file.facts["pid"]) > os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.usefixtures("no_collection")
def test_a_reader_ends_when_its_file_is_let_go_without_a_collection_of_garbage() -> None:
    file = File(b"x", strange_readers.tells_its_number, APART, {})
    pid = file.facts["pid"]
    assert sum(batch.num_rows for batch in file.batches()) == 500_000
    del file
    wait_until(lambda: not is_alive(pid))


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_reader_ends_when_its_stream_is_left_halfway() -> None:
    file = File(b"x", strange_readers.tells_its_number, APART, {})
    rows = file.batches()
    next(rows)
    rows.close()
    wait_until(lambda: not is_alive(file.facts["pid"]))
    assert sum(batch.num_rows for batch in file.batches()) == 500_000


def test_files_are_read_on_after_the_keeper_was_killed() -> None:
    FORK_SERVER.start()
    before = FORK_SERVER.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert read_upload("truth", TRUTH.encode(), limits=APART).table.num_rows == 200
    assert FORK_SERVER.pid != before


@pytest.fixture
def own_fork_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    """A fork_server of this test that was not started."""
    fork_server = ForkServer()
    monkeypatch.setattr("recdash.ingest.isolation.isolated_reader.FORK_SERVER", fork_server)
    yield fork_server
    fork_server._end()


def test_a_keeper_is_started_by_the_first_file_and_once_for_many(
    own_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[int] = []

    def counted(*arguments: Any, **how: Any) -> subprocess.Popen[bytes]:
        process = POPEN(*arguments, **how)
        begun.append(process.pid)
        return process

    monkeypatch.setattr("recdash.ingest.isolation.isolated_reader.subprocess.Popen", counted)
    with ThreadPoolExecutor(8) as many:
        starts = [many.submit(own_fork_server.start) for _ in range(8)]
        reads = [many.submit(read_upload, "truth", TRUTH.encode(), limits=APART) for _ in range(8)]
    assert [read.result().table.num_rows for read in reads] == [200] * 8
    assert [start.result() for start in starts] == [None] * 8
    assert begun == [own_fork_server.pid]


@pytest.mark.parametrize("page", ["upload", "off_policy"])
def test_a_page_that_takes_files_has_the_keeper_begin_and_no_other_page_does(
    own_fork_server: ForkServer, page: str, workspace: Workspace, open_page: Open
) -> None:
    assert not workspace.experiments.all()
    open_page("overview")
    open_page("guide")
    assert own_fork_server.pid is None
    open_page(page)
    assert own_fork_server.pid is not None


def test_a_page_opens_where_no_keeper_can_be_started(
    own_fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    with monkeypatch.context() as patched:
        patched.setattr("recdash.ingest.isolation.isolated_reader.subprocess.Popen", refused)
        get_ready()
        with pytest.raises(UploadError, match="no process can be created"):
            read_upload("truth", TRUTH.encode(), limits=APART)
    assert own_fork_server.pid is None
    assert read_upload("truth", TRUTH.encode(), limits=APART).table.num_rows == 200


def test_a_fork_server_that_does_not_answer_is_replaced(own_fork_server: ForkServer) -> None:
    read_upload("truth", TRUTH.encode(), limits=APART)
    before = own_fork_server.pid
    assert before is not None
    assert own_fork_server._control is not None
    own_fork_server._control.settimeout(0.2)
    os.kill(before, signal.SIGSTOP)
    with pytest.raises(UploadError, match="no process can be created"):
        read_upload("truth", TRUTH.encode(), limits=APART)
    assert read_upload("truth", TRUTH.encode(), limits=APART).table.num_rows == 200
    assert not is_alive(before)


ASKER = """
import resource, sys
sys.path.insert(0, {tests!r})
import strange_readers
from recdash.errors import UploadError
from recdash.ingest import Limits, read_upload
from recdash.ingest.isolation.isolated_reader import FORK_SERVER, File
APART = Limits(read_memory_bytes=2**30, read_seconds=60)
{script}
"""


def asked_elsewhere(script: str) -> subprocess.Popen[str]:
    """A process of its own that asks for reading processes."""
    code = ASKER.format(tests=str(Path(__file__).parents[1] / "support"), script=script)
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


READ = """
print(read_upload("truth", b"user,item\\na,b\\n", limits=APART).table.num_rows)
try:
    File(b"x", strange_readers.is_killed, APART, {})
except UploadError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("resource.setrlimit(resource.RLIMIT_CPU, (30, 30))", id="30 of 60 seconds of work"),
        pytest.param("resource.setrlimit(resource.RLIMIT_DATA, (2**29, 2**29))", id="half of the memory"),
        pytest.param(
            "resource.setrlimit(resource.RLIMIT_NOFILE, (2000, 2000))\n"
            "held = [open('/dev/null') for _ in range(1100)]",
            id="more open files than select() takes",
        ),
    ],
)
def test_files_are_read_under_limits_of_the_system(before: str) -> None:
    asker = asked_elsewhere(before + READ)
    out, err = asker.communicate(timeout=60)
    assert (asker.returncode, err) == (0, "")
    assert out.startswith("1\n")
    assert "ended by signal 9" in out


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux changes another process's limits")
def test_where_no_process_can_be_made_it_is_said_and_the_others_are_read_on() -> None:
    """The fork_server answers so when a fork fails; here every file that it would open is one too many."""
    script = """
other = File(b"x", strange_readers.tells_its_number, APART, {})
resource.prlimit(FORK_SERVER.pid, resource.RLIMIT_NOFILE, (4, 4))
try:
    File(b"x", strange_readers.tells_its_number, APART, {})
except UploadError as error:
    print(error.problems[0].code)
print(sum(batch.num_rows for batch in other.batches()))
"""
    asker = asked_elsewhere(script)
    out, err = asker.communicate(timeout=60)
    assert (out, err) == ("no-reader\n500000\n", "")


def test_nothing_is_left_of_a_server_that_was_killed() -> None:
    script = """
file = File(b"x", strange_readers.works_on, APART, {})
rows = file.batches()
next(rows)
print(FORK_SERVER.pid, file.facts["pid"], flush=True)
sys.stdin.read()
"""
    asker = asked_elsewhere(script)
    assert asker.stdout is not None
    pids = [int(pid) for pid in asker.stdout.readline().split()]
    assert len(pids) == 2
    asker.kill()
    asker.communicate()
    wait_until(lambda: not any(is_working(pid) for pid in pids))


def is_working(pid: int) -> bool:
    """Whether a process, perhaps of another parent, goes on."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return state.stdout.strip()[:1] not in ("", "Z")


def test_a_fork_server_that_is_not_needed_any_more_says_nothing() -> None:
    asker = asked_elsewhere("FORK_SERVER.start()")
    assert asker.communicate(timeout=60) == ("", "")  # the end of its own stderr, too


def test_a_disk_that_is_full_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(UploadError, match="No space left on device") as caught:
        read_upload("truth", TRUTH.encode(), limits=APART)
    assert caught.value.problems[0].code == "no-room"


# ── files that do harm ───────────────────────────────────────────────────────────────────────


def parquet(table: pa.Table, **how: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **how)
    return sink.getvalue()


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def small_run() -> pa.Table:
    users, items = [n // 10 for n in range(100)], [f"i{n % 30}" for n in range(100)]
    return pa.table({"user": users, "item": items, "score": [1 - n / 100 for n in range(100)]})


def list_bomb() -> bytes:
    """A list of 2^24 + 2^12 times the same item, in about a thousand bytes."""
    items = pa.concat_arrays([pa.array([7] * 2**12, pa.int8())] * (2**12 + 1))
    lists = pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)
    return parquet(pa.table({"user": [1], "item": lists}), compression="zstd")


def test_no_flipped_bit_of_a_parquet_footer_ends_the_process_that_asked() -> None:
    data = parquet(small_run())
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    bits = random.Random(14).sample(range(begin * 8, len(data) * 8), 20)
    for bit in bits:
        shown = preview("run", flipped(data, bit), name="run.parquet", limits=APART)
        assert shown.problems or shown.rows, bit


def text_bomb() -> bytes:
    """One text of 32 MiB, in about a thousand bytes."""
    return parquet(
        pa.table({"user": ["a"], "item": ["0" * 2**25]}),
        compression="zstd", use_dictionary=False, write_statistics=False,
    )  # fmt: skip


def test_a_text_of_millions_in_a_thousand_bytes_is_refused_before_it_is_decoded() -> None:
    bomb = text_bomb()
    assert len(bomb) < 5000
    with pytest.raises(UploadError, match=r"1 values in 33,5[\d,]+ bytes, compressed to "):
        reader.read_recommendations(bomb)


def test_values_that_pack_well_are_no_bomb() -> None:
    """5,000 times the same list of ids."""
    items = [f"{n:0400}" for n in range(10)] * 5_000
    users = [n // 10 for n in range(len(items))]
    data = parquet(pa.table({"user": users, "item": items}), compression="zstd", use_dictionary=False)
    chunk = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(1)
    assert chunk.total_uncompressed_size > 200 * chunk.total_compressed_size
    (run,) = reader.read_recommendations(data)
    assert sum(batch.num_rows for batch in run.batches()) == len(items)


def test_a_list_of_millions_in_a_thousand_bytes_is_refused_before_it_is_decoded() -> None:
    bomb = list_bomb()
    assert len(bomb) < 2000
    with pytest.raises(UploadError, match=r"16,781,312 values in [\d,]+ bytes"):
        reader.read_recommendations(bomb)


@pytest.mark.parametrize("name", ["killer.parquet", "pq_list_bomb.parquet", "parquet-482-n.parquet"])
def test_the_service_refuses_a_file_that_does_harm_and_goes_on(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    data = (shared_data / "hostile" / name).read_bytes()
    space = Workspace.open(f"sqlite:///{tmp_path / 'db'}", limits=APART)
    experiment = space.experiments.create("films", TRUTH.encode())
    assert space.experiments.preview("run", data, name).problems
    with pytest.raises(UploadError):
        space.runs.add(experiment.id, data, name="broken")
    (added,) = space.runs.add(experiment.id, RUN.encode(), name="als")
    assert added.run.name == "als"


@pytest.mark.parametrize("name", ["killer.parquet", "pq_list_bomb.parquet"])
def test_the_command_refuses_a_file_that_does_harm_in_words(
    shared_data: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    command = [sys.executable, "-m", "recdash", "evaluate", "--truth", str(tmp_path / "truth.csv")]
    command += ["--run", f"a={shared_data / 'hostile' / name}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("recdash: a: ")
