"""Good files of every format, changed by a seed, and what recdash makes of them in a process that may die.

``python mutated_files.py FORMAT FIRST LAST SEED`` reads the mutants FIRST … LAST-1 and prints a line of JSON
before and after each: the process that started it sees at which one it died.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import resource
import selectors
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from workbook import workbook

SECONDS, MEBIBYTES = 10, 1024
"""What reading one file may take: of processor time, and of memory beside what the process had before."""

USERS = [f"u{number}" for number in range(12)]
ITEMS = [str(100 + number) for number in range(15)]


HOSTILE = {
    "parquet-379-t.parquet": "truth",
    "parquet-482-n.parquet": "run",
    "cutmid.zip": "run",
    "re_several.csv": "run",
    "real_re.csv": "run",
    "re_number_header.csv": "run",
    "csv-1986-w.csv": "run",
    "trec-304-a.run": "run",
    "sess_nohead.csv": "sessions",
    "bandit_nohead.csv": "bandit",
}
"""Files that did harm, and as what each was read."""


# ── good files ───────────────────────────────────────────────────────────────────────────────


def run_rows() -> pd.DataFrame:
    rows = [
        (user, ITEMS[(number * 3 + rank) % 15], rank, round(1 / rank + number / 100, 3))
        for number, user in enumerate(USERS)
        for rank in range(1, 6)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank", "score"])


def truth_rows() -> pd.DataFrame:
    rows = [(user, ITEMS[(number * 3 + 2) % 15], 1.0 + number % 3) for number, user in enumerate(USERS)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "relevance"])


def session_rows() -> pd.DataFrame:
    rows = [
        (
            f"u{number}",
            f"s{number}",
            "ab"[number % 2],
            f"2026-03-0{1 + number % 7}T12:00:00Z",
            number % 3,
            7.5,
        )
        for number in range(24)
    ]
    names = ["unit_id", "session_id", "variant", "start_ts", "clicks", "watch_s"]
    return pd.DataFrame(rows, columns=names)


def event_rows() -> pd.DataFrame:
    kinds = ("impression", "click", "watch")
    rows = [
        (
            f"u{number % 8}", f"s{number % 8}", "ab"[number % 2], f"2026-03-01 12:{number:02d}:00",
            kinds[number % 3], ITEMS[number % 5], 1 + number % 4,
        )
        for number in range(40)
    ]  # fmt: skip
    return pd.DataFrame(
        rows, columns=["unit_id", "session_id", "variant", "ts", "event_type", "item_id", "position"]
    )


def exposure_rows() -> pd.DataFrame:
    rows = [(f"u{number}", "ab"[number % 2], f"2026-03-01 11:{number:02d}:00") for number in range(8)]
    return pd.DataFrame(rows, columns=["unit_id", "variant", "ts"])


def bandit_rows() -> pd.DataFrame:
    rows = [(ITEMS[number % 5], 1 + number % 3, number % 2, 0.2 + 0.1 * (number % 4)) for number in range(30)]
    return pd.DataFrame(rows, columns=["item_id", "position", "click", "propensity_score"])


def policy_rows() -> pd.DataFrame:
    """Each of five items as likely in each place."""
    rows = [(item, position, 0.2) for position in (1, 2, 3) for item in ITEMS[:5]]
    return pd.DataFrame(rows, columns=["item_id", "position", "probability"])


def as_csv(rows: pd.DataFrame, separator: str = ",") -> bytes:
    return rows.to_csv(index=False, sep=separator).encode()


def as_parquet(rows: pd.DataFrame, **how: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), file, **how)
    return file.getvalue()


def as_trec() -> bytes:
    rows = run_rows().itertuples(index=False)
    return "".join(f"{r.user_id} Q0 {r.item_id} {r.rank} {r.score} als\n" for r in rows).encode()


def as_zip(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("run.csv"), data)
    return file.getvalue()


def as_excel(rows: pd.DataFrame) -> bytes:
    cells = [list(rows.columns), *rows.to_numpy(dtype=object).tolist()]
    return repacked(workbook({"Sheet1": cells}))


def repacked(book: bytes, change: Callable[[str, bytes], bytes] = lambda _name, part: part) -> bytes:
    """Returns a workbook packed again without times, each part changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(file, "w") as archive:
        for name in old.namelist():
            info = zipfile.ZipInfo(name)
            archive.writestr(info, change(name, old.read(name)), zipfile.ZIP_DEFLATED)
    return file.getvalue()


def as_lists() -> pd.DataFrame:
    return run_rows().groupby("user_id", as_index=False).agg({"item_id": list, "score": list})


@dataclass(frozen=True)
class Good:
    """A file that recdash reads: its name, its bytes, and as what it is read."""

    name: str
    kind: str
    data: bytes


MOMENTS = {"start_ts": "datetime64[us, UTC]"}


@cache
def good_files() -> dict[str, list[Good]]:
    run, truth = run_rows(), truth_rows()
    wide = run.pivot_table(index="user_id", columns="rank", values="item_id", aggfunc="first")
    wide.columns = pd.Index([f"rec_{rank}" for rank in wide.columns])
    by_user = {
        user: dict(zip(held.item_id, held.score, strict=True)) for user, held in run.groupby("user_id")
    }
    lists = {user: list(held.item_id) for user, held in run.groupby("user_id")}
    lines = run.to_json(orient="records", lines=True).encode()
    plain_ids = run.assign(item_id=run.item_id.astype(int))
    texts = [as_csv(run), as_csv(wide.reset_index()), as_csv(as_lists())]
    return {
        "csv": [
            *(Good("run.csv", "run", text) for text in texts), Good("truth.csv", "truth", as_csv(truth)),
            Good("run.csv", "run", run.to_csv(index=False, header=False).encode()),
        ],
        "tsv": [Good("run.tsv", "run", as_csv(run, "\t")), Good("truth.tsv", "truth", as_csv(truth, "\t"))],
        "parquet": [
            Good("run.parquet", "run", as_parquet(run)),
            Good("run.parquet", "run", as_parquet(as_lists())),
            Good("run.parquet", "run", as_parquet(plain_ids, use_dictionary=False, compression="none")),
            Good("truth.parquet", "truth", as_parquet(truth, compression="zstd")),
            Good("sessions.parquet", "sessions", as_parquet(session_rows().astype(MOMENTS))),
        ],
        "jsonl": [Good("run.jsonl", "run", lines), Good("run.jsonl", "run", _lines(as_lists()))],
        "json": [
            Good("run.json", "run", json.dumps(by_user).encode()),
            Good("run.json", "run", json.dumps(lists).encode()),
            Good("run.json", "run", run.to_json(orient="records").encode()),
            Good("run.json", "run", json.dumps(run.to_dict("list")).encode()),
        ],
        "trec": [Good("als.run", "run", as_trec()), Good("x.qrels", "truth", _qrels())],
        "gzip": [Good("run.csv.gz", "run", gzip.compress(text, mtime=0)) for text in texts],
        "zip": [Good("run.zip", "run", as_zip(text)) for text in texts],
        "xlsx": [
            Good("run.xlsx", "run", as_excel(run)), Good("truth.xlsx", "truth", as_excel(truth)),
            Good("sessions.xlsx", "sessions", as_excel(session_rows())),
        ],
        "logs": [
            Good("sessions.csv", "sessions", as_csv(session_rows())),
            Good("events.csv", "events", as_csv(event_rows())),
            Good("exposures.csv", "exposures", as_csv(exposure_rows())),
            Good("bandit.csv", "bandit", as_csv(bandit_rows())),
            Good("events.jsonl", "events", _lines(event_rows())),
        ],
    }  # fmt: skip


def _lines(rows: pd.DataFrame) -> bytes:
    return rows.to_json(orient="records", lines=True).encode()


def _qrels() -> bytes:
    return "".join(
        f"{r.user_id} 0 {r.item_id} {int(r.relevance)}\n" for r in truth_rows().itertuples()
    ).encode()


# ── mutants ──────────────────────────────────────────────────────────────────────────────────

TOKENS = [
    b'"', b'""', b"'", b"\0", b"\n", b"\r", b"\r\n", b",", b"\t", b";", b"|", b"::", b" ", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xff\xfe\0\0", b"\xc3", b"\xed\xa0\x80", "²".encode(), "١٢".encode(), "½".encode(),
    "\u202e".encode(), "\u200b".encode(), "\u2028".encode(), b"\x1f", b"\x0b", b"\x0c", b"\x85", b"\x1b[2J",
    b"nan", b"inf", b"-inf", b"1e309", b"1e-400", b"9" * 25, b"9" * 5000, b"-1", b"0", b"1" * 5000 + b"e5",
    b"1.5e99999999999999999999", b"1e999999999", b"0x10", b"1_000", b"18446744073709551616",
    b"9223372036854775808", b"9999-12-31", b"0001-01-01", b"2026-02-30T25:61:61Z", b"true", b"null",
    b"None", b"NaT", b"[", b"]", b"{", b"}", b"()", b"[" * 5000, b"{" * 5000, b'{"a":' * 3000, b"[]", b"{}",
    b'"\\ud800"', b"\\ud800", b"\\", b"x" * 200_000, b"7" * 200_000, b"a,b," * 3000, b'"' * 1001,
    b"=cmd|'/C calc'!A0", b"<script>", b"../../x", b"q0", b"Q0", b"PK\x03\x04", b"PAR1", b"\x1f\x8b",
    b"np.int64(5)", b"...", b"user_id", b"item_id", b"score", b"rank", b"\n\n\n", b"e", b"E+05",
]  # fmt: skip


def mutants(kind: str, first: int, last: int, seed: int) -> Iterator[tuple[int, Good]]:
    """(number, file) of each; the same number and seed give the same file."""
    files = good_files()[kind]
    for number in range(first, last):
        rng = random.Random(f"{kind} {seed} {number}")
        good = files[number % len(files)]
        yield number, Good(good.name, good.kind, mutant(good.data, rng, kind))


SHEET = "xl/worksheets/sheet1.xml"


def mutant(data: bytes, rng: random.Random, kind: str) -> bytes:
    """``data`` after one to four changes; half of the packed files are packed again after it."""
    if kind == "xlsx" and rng.random() < 0.8:
        chosen = rng.choice([*zipfile.ZipFile(io.BytesIO(data)).namelist(), SHEET, SHEET])
        return repacked(data, lambda name, part: _changed(part, rng) if name == chosen else part)
    if kind in ("gzip", "zip") and rng.random() < 0.5:
        inner = gzip.decompress(data) if kind == "gzip" else zipfile.ZipFile(io.BytesIO(data)).read("run.csv")
        changed = _changed(inner, rng)
        return gzip.compress(changed, mtime=0) if kind == "gzip" else as_zip(changed)
    return _changed(data, rng)


def _changed(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(CHANGES)(data, rng)
    return data


def _flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) or 1)
    return data[:at] + bytes(byte ^ 1 << rng.randrange(8) for byte in data[at : at + 1]) + data[at + 1 :]


def _flip_at_end(data: bytes, rng: random.Random) -> bytes:
    """Where Parquet and zip say what is in them."""
    split = max(len(data) - rng.choice((64, 600)), 0)
    return data[:split] + _flip(data[split:], rng)


def _byte(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) or 1)
    return data[:at] + bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))]) + data[at + 1 :]


def _swap(data: bytes, rng: random.Random) -> bytes:
    one, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    width = rng.choice((1, 2, 8))
    first, second = data[one : one + width], data[other : other + width]
    return data[:one] + second + data[one + width : other] + first + data[other + width :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    at, width = rng.randrange(len(data) + 1), rng.choice((1, 3, 20, 200))
    return data[:at] + data[at + width :]


def _doubled(data: bytes, rng: random.Random) -> bytes:
    at, width = rng.randrange(len(data) + 1), rng.choice((1, 5, 50, 500))
    return data[: at + width] + data[at : at + width] * rng.choice((1, 2, 40)) + data[at + width :]


def _inserted(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TOKENS) + data[at:]


def _cell_replaced(data: bytes, rng: random.Random) -> bytes:
    """A whole field: what stands between two marks."""
    places = [at for at, byte in enumerate(data) if byte in b',\t \n":']
    if len(places) < 2:
        return _inserted(data, rng)
    at = rng.randrange(len(places) - 1)
    return data[: places[at] + 1] + rng.choice(TOKENS) + data[places[at + 1] :]


CHANGES = [_flip, _flip, _flip_at_end, _byte, _swap, _cut, _cut_out, _doubled, _inserted, _cell_replaced]


def bit_flips(data: bytes, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """(number, file) for every single bit of a Parquet footer, from its end on."""
    length = int.from_bytes(data[-8:-4], "little") + 8
    for number in range(first, min(last, 8 * length)):
        at = len(data) - 1 - number // 8
        yield number, data[:at] + bytes([data[at] ^ 1 << number % 8]) + data[at + 1 :]


# ── what recdash makes of them ───────────────────────────────────────────────────────────────


def outcome(file: Good) -> str:
    """``read``, ``refused``, or the traceback of an error that is not ours."""
    from recdash.errors import RecdashError
    from recdash.ingest import preview

    try:
        preview(file.kind, file.data, name=file.name)  # type: ignore[arg-type]
        USES[file.kind](file)
    except RecdashError:
        return "refused"
    except Exception:  # noqa: BLE001 - it is what this looks for
        return traceback.format_exc()
    return "read"


def _use_run(file: Good) -> None:
    import recdash

    _to_the_end(recdash.evaluate({"als": file.data}, _truth(), metrics=["ndcg@3", "hit_rate@3"]))


def _use_truth(file: Good) -> None:
    import recdash

    _to_the_end(recdash.evaluate({"als": _run()}, file.data, metrics=["ndcg@3", "hit_rate@3"]))


def _to_the_end(evaluation: Any) -> None:
    evaluation.table()


@cache
def _truth() -> pa.Table:
    return pa.Table.from_pandas(truth_rows())


@cache
def _run() -> pa.Table:
    return pa.Table.from_pandas(run_rows())


def _use_sessions(file: Good) -> None:
    import recdash

    recdash.ab_test(sessions=file.data)


def _use_events(file: Good) -> None:
    import recdash

    recdash.ab_test(events=file.data, exposures=as_csv(exposure_rows()))


def _use_exposures(file: Good) -> None:
    import recdash

    recdash.ab_test(events=as_csv(event_rows()), exposures=file.data)


def _use_bandit(file: Good) -> None:
    import recdash

    recdash.ope(file.data, policy_rows())


USES: dict[str, Callable[[Good], None]] = {
    "run": _use_run, "truth": _use_truth, "sessions": _use_sessions, "events": _use_events,
    "exposures": _use_exposures, "bandit": _use_bandit,
}  # fmt: skip


# ── the process that may die, and the one that watches it ────────────────────────────────────


def main(kind: str, first: int, last: int, seed: int) -> None:
    """Print {"n": number} before each mutant, and {"n", "said", "s", "mib"} after it."""
    for good in good_files()["parquet" if kind.startswith("footer") else kind]:
        outcome(good)  # so that no mutant pays for imports
    resource.setrlimit(resource.RLIMIT_AS, (_virtual() + (3 << 30), resource.RLIM_INFINITY))
    before = _resident()
    for number, file in _numbered(kind, first, last, seed):
        _say({"n": number})
        begin = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(begin) + 3 * SECONDS, resource.RLIM_INFINITY))
        said = outcome(file)
        _say({"n": number, "said": said, "s": time.process_time() - begin, "mib": _resident() - before})


def _numbered(kind: str, first: int, last: int, seed: int) -> Iterator[tuple[int, Good]]:
    if not kind.startswith("footer"):
        yield from mutants(kind, first, last, seed)
        return
    good = good_files()["parquet"][int(kind.removeprefix("footer"))]
    for number, data in bit_flips(good.data, first, last):
        yield number, Good(good.name, good.kind, data)


def _say(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def _resident() -> float:
    """The most MiB that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _virtual() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


@dataclass(frozen=True)
class Seen:
    """What became of a mutant: ``said`` is read, refused, a traceback, or how the process died."""

    number: int
    said: str
    seconds: float = 0.0
    mebibytes: float = 0.0

    @property
    def is_good(self) -> bool:
        kept = self.seconds <= SECONDS and self.mebibytes <= MEBIBYTES
        return self.said in ("read", "refused") and kept


def watched(kind: str, first: int, last: int, seed: int = 0) -> Iterator[Seen]:
    """What becomes of each mutant; a process that dies, or is at one for far too long, is replaced."""
    while first < last:
        done = first - 1
        for seen in _until_death(kind, first, last, seed):
            done = seen.number
            yield seen
        if done == first - 1:
            return
        first = done + 1


def _until_death(kind: str, first: int, last: int, seed: int) -> Iterator[Seen]:
    command = [sys.executable, __file__, kind, str(first), str(last), str(seed)]
    begun, errors = None, io.BytesIO()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        for line in _lines_of(child):
            words = json.loads(line)
            begun = words["n"] if "said" not in words else None
            if begun is None:
                yield Seen(words["n"], words["said"], words["s"], words["mib"])
        errors = (child.stderr.read() if child.stderr else "")[-800:]
    if begun is not None:
        yield Seen(begun, f"died with {child.returncode}: {errors}")
    elif child.returncode:
        yield Seen(first, f"died with {child.returncode}: {errors}")


def _lines_of(child: subprocess.Popen[str], patience: float = 900.0) -> Iterator[str]:
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while selector.select(patience):
            line = child.stdout.readline()
            if not line:
                return
            yield line
    child.kill()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
