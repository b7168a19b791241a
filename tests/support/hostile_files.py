"""Files made to do harm, and what reading each costs the process of a server and its reading processes.

``python hostile_files.py FOLDER NAME…`` makes each file in the folder, reads it as a server does and prints a
line of JSON: what was said, seconds of processor time, and how many MiB the server grew at most. A name may
also be KIND=PATH, of a file that is there.
"""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import stat
import struct
import sys
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from workbook import MAIN, workbook

SECONDS, MEBIBYTES = 10, 50
"""What one file may take: of processor time in all processes, and of memory in the server."""
MIB = 1 << 20

Write = Callable[[Path], Any]


@dataclass(frozen=True)
class HostileFile:
    """A file made to do harm: how to write it, as what it is read, and the words of its refusal.

    Without words it is read. ``is_long``: it takes seconds to make or to read.
    """

    name: str
    write: Write
    says: str = ""
    kind: str = "run"
    is_long: bool = False


# ── writing ──────────────────────────────────────────────────────────────────────────────────


def of(data: bytes) -> Write:
    return lambda path: path.write_bytes(data)


def made(data: Callable[[], bytes]) -> Write:
    """Returns what writes the bytes that ``data`` returns, which are made when they are written."""
    return lambda path: path.write_bytes(data())


def streamed(parts: Callable[[], Iterable[bytes]]) -> Write:
    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.writelines(parts())

    return write


HEADER = b"user_id,item_id,score\n"
ROWS = HEADER + b"".join(b"u%d,i%d,0.%d\n" % (n // 5, n % 7, 9 - n % 5) for n in range(60))


def zipped(members: Iterable[tuple[str, bytes]], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, how)
    return file.getvalue()


def zip_that_states(size: int, data: bytes) -> bytes:
    """Returns an archive of ``data`` that states another size of it."""
    packed = zipped([("run.csv", data)])
    true, stated = struct.pack("<L", len(data)), struct.pack("<L", size)
    assert packed.count(true) >= 2
    return packed.replace(true, stated)


def zip_of_one_place(count: int) -> bytes:
    """Returns an archive whose members all lie at one place, so that a small file states a large size."""
    data = zipped([("run.csv", ROWS * 2000)])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        start = archive.start_dir
    entry = data[start : data.rindex(b"PK\5\6")]
    named = b"".join(entry.replace(b"run.csv", b"r%05d." % n) for n in range(count))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(named), start, 0)
    return data[:start] + named + end


def zip_with(change: Callable[[zipfile.ZipInfo], None], name: str = "run.csv") -> bytes:
    file = io.BytesIO()
    info = zipfile.ZipInfo(name)
    change(info)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(info, ROWS)
    return file.getvalue()


def zip_of_one_name() -> bytes:
    """Returns an archive with two files of one name."""
    return zipped([("run.csv", ROWS), ("rum.csv", ROWS[:200])]).replace(b"rum.csv", b"run.csv")


def as_link(info: zipfile.ZipInfo) -> None:
    info.external_attr = (stat.S_IFLNK | 0o777) << 16


def patched(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new)


def gzip_of_zeros(size: int, times: int = 1) -> bytes:
    data = bytes(size)
    for _ in range(times):
        data = gzip.compress(data, 9, mtime=0)
    return data


def lzma_zip_that_asks_for(dictionary: int) -> bytes:
    """Returns an archive whose LZMA data asks for a dictionary of this many bytes."""
    data = zipped([("run.csv", ROWS)], zipfile.ZIP_LZMA)
    at = data.index(b"\x5d\0\0", 30)
    return data[: at + 1] + struct.pack("<L", dictionary) + data[at + 5 :]


def as_parquet(table: pa.Table, **how: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **how)
    return file.getvalue()


def long_dictionary() -> bytes:
    """Returns a text of 8 MB that a million rows refer to."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 10**6, pa.int32()), ["t" * 8_000_000])
    return as_parquet(pa.table({"item_id": pa.array(range(10**6)), "title": text}), compression="zstd")


BARE: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}


def pairs(item: str, count: int) -> pa.Table:
    return pa.table({"user_id": ["u"] * count, "item_id": [item] * count})


def list_of_many(count: int) -> pa.Table:
    """Returns a run of one list of more than ``count`` equal items."""
    items = pa.array(np.full(count + 1, 7, np.int8))
    return pa.table(
        {"user_id": [1], "item_id": pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)}
    )


def deep_type(depth: int) -> bytes:
    values: Any = 1
    kind: Any = pa.int8()
    for _ in range(depth):
        values, kind = [values], pa.list_(kind)
    return as_parquet(pa.table({"user_id": ["u"], "item_id": pa.array([values], kind)}))


def row_groups(count: int) -> bytes:
    table = pa.table({"user_id": [f"u{n}" for n in range(count)], "item_id": [1] * count})
    return as_parquet(table, row_group_size=1)


def constant_rows(count: int) -> bytes:
    file, n_rows = io.BytesIO(), 10**6
    table = pa.table({"user_id": pa.array([1] * n_rows), "item_id": pa.array([2] * n_rows)})
    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for _ in range(count // n_rows):
            writer.write_table(table)
    return file.getvalue()


def damaged_footer() -> bytes:
    """Returns a Parquet file that says its footer is longer than the file."""
    data = as_parquet(pa.table({"user_id": ["u"], "item_id": ["i"]}))
    return data[:-8] + struct.pack("<L", 0x7FFFFFFF) + b"PAR1"


CELLS = [["user_id", "item_id", "score"], ["u1", "i1", 0.5], ["u1", "i2", 0.4]]


def sheet_of(rows: str, before: str = "", after: str = "") -> bytes:
    head = "".join(
        f'<row r="{n}">' + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>"
        for n, row in enumerate((("user_id", "item_id"), ("u1", "i1")), 1)
    )
    sheet = f'<worksheet xmlns="{MAIN}">{before}<sheetData>{head}{rows}</sheetData>{after}</worksheet>'
    return workbook({"x": CELLS}, extra={"xl/worksheets/sheet1.xml": sheet.encode()})


def shared_text(length: int, cells: int) -> bytes:
    """Returns a workbook in which many cells refer to one long text."""
    row = '<row><c t="s"><v>0</v></c><c t="s"><v>0</v></c></row>'
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{row * (cells // 2)}</sheetData></worksheet>'
    texts = f'<sst xmlns="{MAIN}"><si><t>{"t" * length}</t></si></sst>'
    return workbook(
        {"x": CELLS},
        extra={"xl/worksheets/sheet1.xml": sheet.encode(), "xl/sharedStrings.xml": texts.encode()},
    )


def merged(count: int) -> str:
    cells = "".join(f'<mergeCell ref="A{n}:XFD{n}"/>' for n in range(1, count))
    return f"<mergeCells>{cells}</mergeCells>"


SHEET = "xl/worksheets/sheet1.xml"
NO_TEXT = (
    f'<worksheet xmlns="{MAIN}"><sheetData><row r="1"><c r="A1" t="s"><v>999999999</v></c></row>'
    "</sheetData></worksheet>"
).encode()
ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
LAUGHS = (
    f'<?xml version="1.0"?><!DOCTYPE w [<!ENTITY e0 "ha">{ENTITIES}]><worksheet xmlns="{MAIN}"><sheetData>'
    '<row r="1"><c r="A1" t="inlineStr"><is><t>user_id</t></is></c>'
    '<c r="B1" t="inlineStr"><is><t>item_id</t></is></c></row>'
    '<row r="2"><c r="A2" t="inlineStr"><is><t>&e11;</t></is></c><c r="B2"><v>1</v></c></row>'
    "</sheetData></worksheet>"
).encode()


def repeated(part: bytes, size: int) -> Iterator[bytes]:
    """Yields ``part`` until there are ``size`` bytes."""
    block = part * max(1, MIB // len(part))
    yield from (block for _ in range(max(1, size // len(block))))


def of_many_keys(count: int) -> bytes:
    return json.dumps([{f"k{n}": n, "user_id": "u", "item_id": n} for n in range(count)]).encode()


def by_many_models(count: int) -> bytes:
    return json.dumps({f"m{n}": {"u": [1, 2]} for n in range(count)}).encode()


# ── the files ────────────────────────────────────────────────────────────────────────────────

RATIO, COLUMNS, LONG_VALUE = "times its compressed size", "columns, over the limit", "characters in one value"
LINE = "a line of over"
DEEP = "nested too deeply"
FAR = "rows, over the limit|a sheet of .* rows and .* columns|columns, over the limit"


def flagged(old: bytes, new: bytes) -> Write:
    """Returns what writes an archive whose members have other flags or another method."""
    return made(lambda: patched(zipped([("run.csv", ROWS)]), old, new))


PLAIN_MEMBER = b"\x14\0\0\0\x08\0"
PACKED = [
    HostileFile("zeros.zip", made(lambda: zipped([("run.csv", bytes(64 * MIB))])), RATIO),
    HostileFile("bzip2.zip", made(lambda: zipped([("run.csv", bytes(64 * MIB))], zipfile.ZIP_BZIP2)), RATIO),
    HostileFile("states-less.zip", made(lambda: zip_that_states(700, ROWS * 9000)), "cannot be unpacked"),
    HostileFile("states-more.zip", made(lambda: zip_that_states(0xFFFFFFF0, ROWS * 99)), RATIO),
    HostileFile("one-place.zip", made(lambda: zip_of_one_place(900)), RATIO),
    HostileFile(
        "nested.zip", made(lambda: zipped([("in.zip", zipped([("run.csv", ROWS)]))])), "another archive"
    ),
    HostileFile("many.zip", made(lambda: zipped((f"{n}.csv", b"") for n in range(9000))), "9,000 files"),
    HostileFile("out.zip", made(lambda: zipped([("../../../etc/cron.d/run.csv", ROWS)]))),
    HostileFile("link.zip", made(lambda: zip_with(as_link)), "holds no table"),
    HostileFile("twice.zip", made(zip_of_one_name), "2 files of one name"),
    HostileFile("locked.zip", flagged(PLAIN_MEMBER, b"\x14\0\1\0\x08\0"), "has a password"),
    HostileFile(
        "method.zip", flagged(PLAIN_MEMBER, b"\x14\0\0\0\x63\0"), "compression method is not supported"
    ),
    # Its decompressor reserves as much as the limit: whether that fits depends on what is in memory already.
    HostileFile("lzma.zip", made(lambda: lzma_zip_that_asks_for(0xFFFFFFFF)), "^read$|takes more memory"),
    HostileFile("name.zip", made(lambda: zipped([("n" * 65_000 + ".csv", ROWS)]))),
    HostileFile("zeros.csv.gz", made(lambda: gzip_of_zeros(300 * MIB)), RATIO, is_long=True),
    HostileFile("packed-twice.csv.gz", made(lambda: gzip_of_zeros(64 * MIB, 2)), "compressed twice"),
    HostileFile(
        "members.csv.gz", made(lambda: gzip.compress(ROWS) + gzip.compress(b"") * 100_000), is_long=True
    ),
    HostileFile("cut.csv.gz", made(lambda: gzip.compress(ROWS * 50)[:-20]), "truncated"),
]
TEXTS = [
    HostileFile(
        "quoted.csv",
        streamed(lambda: [HEADER, b'u1,"', *repeated(b"x", (1 << 30) - 99 * MIB)]),
        LINE,
        is_long=True,
    ),
    HostileFile(
        "one-value.csv",
        streamed(lambda: [HEADER, b"u1,", *repeated(b"x", 1 << 28)]),
        "a value of over",
        is_long=True,
    ),
    HostileFile(
        "late-value.csv",
        streamed(lambda: [ROWS, *repeated(ROWS[22:], 9 * MIB), *repeated(b"x", 16 * MIB)]),
        LINE,
    ),
    HostileFile("blanks.txt", streamed(lambda: repeated(b"a ", 1 << 27)), LINE, is_long=True),
    HostileFile(
        "columns.csv",
        made(lambda: b",".join(b"c%d" % n for n in range(100_000)) + b"\n" + b"1," * 99_999),
        LINE,
    ),
    HostileFile(
        "ragged.csv",
        streamed(lambda: [ROWS, *repeated(b"u1,i1,0.5,7\n", 16 * MIB)]),
        "4 fields in a table of 3",
    ),
    HostileFile("nul.csv", of(ROWS + b"u1,\0,1\n"), "NUL"),
    HostileFile("zeros.csv", lambda path: (path.touch(), os.truncate(path, 1 << 30)), "binary"),
    HostileFile(
        "too-long.csv",
        lambda path: (path.write_bytes(ROWS), os.truncate(path, (1 << 30) + 1)),
        "bytes in the file, over the limit",
    ),
    HostileFile("empty-lines.csv", streamed(lambda: [*repeated(b"\n", 64 * MIB), ROWS]), "the file is empty"),
    HostileFile(
        "commas.csv", streamed(lambda: [HEADER, *repeated(b",,\n", 8 * MIB)]), "no row has all its ids"
    ),
    HostileFile(
        "quotes.csv",
        streamed(lambda: [HEADER, *repeated(b'"",', 16 * MIB), b'"']),
        f"never closed|{LINE}",
        is_long=True,
    ),
    HostileFile(
        "undefined.csv", streamed(lambda: [ROWS, *repeated(b"u\x81\x81,\x8d\x8f\x90\x9d,1\n", 4 * MIB)])
    ),
    HostileFile("utf16.csv", streamed(lambda: [b"\xff\xfe", *repeated(b"a\xd8", 16 * MIB)]), "UTF-16"),
    HostileFile("cells.csv", made(lambda: b'user_id,items\nu0,"' + b"[" * 60_000 + b'"\n'), DEEP),
    HostileFile("escape.csv", of(HEADER + b"\x1b[2J\x1b]0;x\x07,\xe2\x80\xaei,1\n")),
    HostileFile("numbers.csv", made(lambda: HEADER + b"u1,i1," + b"9" * 60_000 + b"\n"), LONG_VALUE),
    HostileFile("exponents.csv", of(b"user_id,item_id\nu1,7\nu2,1.5E+99999999\n"), "scientific"),
    HostileFile("page.csv", of(b"<html><script>alert(1)</script>" + b"<td>a,b</td>\n" * 99), "HTML page"),
]
TREES = [
    HostileFile("deep.json", made(lambda: b"[" * 5_000_000), DEEP),
    HostileFile("deep-objects.json", made(lambda: b'{"a":' * 2_000_000), DEEP),
    HostileFile("deep.jsonl", made(lambda: b'{"user_id":' + b"[" * 1_000_000 + b"\n"), DEEP),
    HostileFile("keys.json", made(lambda: of_many_keys(20_000)), COLUMNS),
    HostileFile(
        "keys.jsonl",
        made(lambda: b"".join(b'{"k%d":1,"user_id":1,"item_id":2}\n' % n for n in range(100_000))),
        COLUMNS,
    ),
    HostileFile(
        "key.jsonl", made(lambda: b'{"' + b"k" * (30 * MIB) + b'":1,"user_id":1,"item_id":2}\n'), LONG_VALUE
    ),
    HostileFile(
        "digits.json",
        made(lambda: b'[{"user_id":' + b"9" * 1_000_000 + b',"item_id":1}]'),
        "limit .* for integer",
    ),
    HostileFile(
        "models.json", made(lambda: by_many_models(100_000)), "more than 1,000 candidates", is_long=True
    ),
    HostileFile("twice.json", of(b'{"u1":["i1"],"u1":["i2"]}'), "occurs twice"),
    HostileFile(
        "long.json",
        made(lambda: json.dumps([{"user_id": "u", "item_id": "x" * (40 * MIB)}]).encode()),
        LONG_VALUE,
        is_long=True,
    ),
    HostileFile(
        "empties.json",
        streamed(lambda: [b"[", *repeated(b"[],", 100 * MIB), b"[]]"]),
        "JSON|memory",
        is_long=True,
    ),
]
TABLES = [
    HostileFile(
        "lists.parquet", made(lambda: as_parquet(list_of_many(1 << 24), compression="zstd")), "values in"
    ),
    HostileFile(
        "text.parquet",
        made(lambda: as_parquet(pairs("0" * (32 * MIB), 1), compression="zstd", **BARE)),
        "values in",
    ),
    HostileFile("long.parquet", made(lambda: as_parquet(pairs("0" * (4 * MIB - 1), 4), **BARE)), LONG_VALUE),
    HostileFile("longs.parquet", made(lambda: as_parquet(pairs("0" * 9000, 20_000), **BARE))),
    HostileFile(
        "names.parquet",
        made(lambda: as_parquet(pa.table([["u"], [1]], ["user_id", "n" * (9 * MIB)]))),
        LONG_VALUE,
        is_long=True,
    ),
    HostileFile("dictionary.parquet", made(long_dictionary), LONG_VALUE, kind="catalogue", is_long=True),
    HostileFile("deep.parquet", made(lambda: deep_type(90)), "too deeply nested"),
    HostileFile("groups.parquet", made(lambda: row_groups(5_000)), is_long=True),
    HostileFile("constant.parquet", made(lambda: constant_rows(40_000_000)), is_long=True),
    HostileFile(
        "columns.parquet", made(lambda: as_parquet(pa.table({f"c{n}": [1] for n in range(5_000)}))), COLUMNS
    ),
    HostileFile("footer.parquet", made(damaged_footer), "cannot be read"),
]
SHEETS = [
    HostileFile(
        "far.xlsx", made(lambda: sheet_of('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')), FAR
    ),
    HostileFile(
        "far-quoted.xlsx",
        made(lambda: sheet_of("<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>")),
        FAR,
    ),
    HostileFile(
        "far-letters.xlsx", made(lambda: sheet_of('<row r="9"><c r="nanC9"><v>1</v></c></row>')), FAR
    ),
    HostileFile(
        "far-row.xlsx", made(lambda: sheet_of('<row r="1048576"><c><v>1</v></c></row>')), is_long=True
    ),
    HostileFile("dimension.xlsx", made(lambda: sheet_of("", before='<dimension ref="A1:XFD1048576"/>'))),
    HostileFile("merged.xlsx", made(lambda: sheet_of("", after=merged(100_000)))),
    HostileFile("shared.xlsx", made(lambda: shared_text(32_000, 400_000)), "memory", is_long=True),
    HostileFile(
        "entities.xlsx", made(lambda: workbook({"x": CELLS}, extra={SHEET: LAUGHS})), "unrecognized entity"
    ),
    HostileFile("sheets.xlsx", made(lambda: workbook({f"s{n}": CELLS for n in range(1000)}))),
    HostileFile(
        "no-texts.xlsx",
        made(lambda: workbook({"x": CELLS}, extra={SHEET: NO_TEXT})),
        "string index not found",
    ),
]
FILES = {file.name: file for file in [*PACKED, *TEXTS, *TREES, *TABLES, *SHEETS]}


# ── the server that reads them ───────────────────────────────────────────────────────────────


def said_of(file: HostileFile, path: Path) -> str:
    """Returns ``read``, or the problems with which the file was refused.

    The page Add data looks at a file first, and reads no further if that fails.
    """
    from recdash.errors import UploadError
    from recdash.ingest import Limits, look, preview, read_recommendations, read_upload
    from recdash.settings import settings

    limits = Limits(**settings().limits())
    kind: Any = file.kind
    if problems := look(path, limits=limits).problems:
        return "\n".join(map(str, problems))
    preview(kind, path, limits=limits)
    try:
        if kind != "run":
            read_upload(kind, path, limits=limits)
            return "read"
        for run in read_recommendations(path, limits=limits):
            for _ in run.batches():
                pass
    except UploadError as error:
        return "\n".join(map(str, error.problems))
    return "read"


def processor_seconds() -> float:
    """Returns the time of this process, of the fork server and of its ended reading processes."""
    from recdash.ingest.isolation.isolated_reader import FORK_SERVER

    own = time.process_time()
    stat_of = Path(f"/proc/{FORK_SERVER.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return own + sum(map(int, stat_of[11:15])) / os.sysconf("SC_CLK_TCK")


def wait_for_readers() -> None:
    """Waits until every reading process has ended, after which its time is known."""
    from recdash.ingest.isolation.isolated_reader import FORK_SERVER

    gc.collect()
    children = Path(f"/proc/{FORK_SERVER.pid}/task/{FORK_SERVER.pid}/children")
    while children.read_text().split():
        time.sleep(0.01)


def of_status(name: str) -> float:
    """Returns a figure of this process's memory in MiB, such as VmRSS."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) / 1024


def measured(file: HostileFile, path: Path) -> dict[str, Any]:
    wait_for_readers()
    Path("/proc/self/clear_refs").write_text("5")  # from here on VmHWM is the most since now
    began, before = processor_seconds(), of_status("VmRSS")
    said = said_of(file, path)
    grown = of_status("VmHWM") - before
    wait_for_readers()
    return {"name": file.name, "said": said, "s": processor_seconds() - began, "mib": grown}


def main(folder: Path, names: list[str]) -> None:
    good = HostileFile("good.csv", of(ROWS))
    good.write(folder / good.name)
    for _ in range(3):
        said_of(good, folder / good.name)  # so that no file pays for imports
    for name in names:
        kind, _, given = name.rpartition("=")
        file, path = (
            (HostileFile(given, of(b""), kind=kind), Path(given)) if kind else (FILES[name], folder / name)
        )
        if not kind:
            file.write(path)
        sys.stdout.write(json.dumps(measured(file, path)) + "\n")
        sys.stdout.flush()
        if not kind:
            path.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(FILES))
