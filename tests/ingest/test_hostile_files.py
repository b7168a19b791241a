"""Files that froze or crashed recdash, or their like: read at once, or refused in words."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdash.cli.options import NamedFile
from recdash.errors import InputError, UploadError
from recdash.ingest import Limits, preview, read_recommendations, read_upload
from recdash.ingest.byte_source import Content, copied
from recdash.ingest.cells import tokens_in
from recdash.ingest.columns import ROLES
from recdash.ingest.formats import parquet
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.formats.registry import translate_errors
from recdash.ingest.library_errors import translating_errors
from recdash.service.validation import clean_name


def test_lists_without_brackets_may_go_on_over_lines() -> None:
    long, rest = ",".join(map(str, range(100, 130))), "200,201"
    (run,) = read_recommendations(f'user_id,items\n7,"{long}\n{rest}"\n8,"1,2"\n'.encode())
    rows = pa.Table.from_batches(list(run.batches()))
    assert rows["item_id"].to_pylist() == [*map(str, range(100, 130)), "200", "201", "1", "2"]


def test_a_cell_of_marks_is_read_at_once() -> None:
    with pytest.raises(UploadError, match="no rows"):
        list(read_recommendations(('user_id,items\nu0,"' + "," * 34 + '"\n').encode())[0].batches())


def test_too_many_columns_are_refused_before_anything_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    pq.write_table(pa.table({f"c{number}": [1] for number in range(300)}), file)
    asked: list[object] = []
    monkeypatch.setattr(parquet, "chunks_of", asked.append)
    with pytest.raises(UploadError, match="300 columns, over the limit of 200"):
        read_recommendations(file.getvalue(), limits=Limits(columns=200))
    assert asked == []


HEADERLESS = "u1,s1,a,2024-01-01 10:00:00,3,10.5\nu2,s2,b,2024-01-01 10:00:00,1,1.5\n"


@pytest.mark.parametrize("kind", sorted(ROLES))
def test_a_table_without_a_header_is_shown_and_read_or_refused_in_words(kind: Any) -> None:
    assert preview(kind, HEADERLESS.encode()).rows
    if kind != "run":
        with suppress(UploadError):
            read_upload(kind, HEADERLESS.encode())


def test_a_digit_that_is_no_decimal_is_no_rank() -> None:
    (run,) = read_recommendations("u1,i1,9715²91,0.5\nu1,i2,2,0.4\nu2,i1,1,0.3\n".encode())
    with pytest.raises(UploadError, match="9715²91"):
        list(run.batches())


def test_places_outside_a_zip_archive_are_told_in_words() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("run.csv", "user_id,item_id\nu,i\n" * 20)
    data = packed.getvalue()
    with pytest.raises(UploadError, match="the zip archive cannot be unpacked"):
        read_recommendations(data[:4] + data[100:])


def test_a_long_value_in_a_row_of_another_width_is_named_with_its_line() -> None:
    rows = "".join(f"u{number} Q0 i{number} 1 0.5 als\n" for number in range(2000))
    with pytest.raises(UploadError, match=r"line 2001: a value of over 128 KiB"):
        read_recommendations(f"{rows}u Q0 {'x' * 200_000} 1\n".encode())


def dictionary_with(words: bytes) -> bytes:
    """A run as Parquet with these two words, of two letters, in the dictionary of its items."""
    file = io.BytesIO()
    pq.write_table(pa.table({"user_id": [1, 2], "item_id": pa.array(["aa", "bb"])}), file, compression="none")
    data = file.getvalue()
    assert data.count(b"\x02\0\0\0aa\x02\0\0\0bb") == 1
    return data.replace(b"\x02\0\0\0aa\x02\0\0\0bb", words)


def test_text_in_parquet_that_is_not_utf8_is_refused_in_words() -> None:
    with pytest.raises(UploadError, match=r"the Parquet file cannot be read .*UTF8"):
        read_recommendations(dictionary_with(b"\x02\0\0\0\xffa\x02\0\0\0bb"))


def test_codes_outside_their_dictionary_are_refused_in_words() -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), ["a", "b"], safe=False)
    with pytest.raises(UploadError, match="out of bounds: 7"):
        read_recommendations(pa.table({"user_id": [1, 2], "item_id": codes}))


def test_moments_that_python_cannot_hold_are_shown_as_text() -> None:
    ends = pa.array([2**62, 0], pa.timestamp("us"))
    shown = preview("truth", pa.table({"user_id": [1, 2], "item_id": [1, 2], "timestamp": ends}))
    assert [row["user_id"] for row in shown.rows] == ["1", "2"]


def test_an_exponent_without_measure_is_no_number() -> None:
    with pytest.raises(UploadError, match="scientific notation"):
        read_upload("truth", b"user_id,item_id\nu1,1.5e99999999999999999999\nu2,7\n")


def test_errors_of_readers_become_words_and_our_own_stay() -> None:
    with (
        pytest.raises(UploadError, match="cannot be read"),
        translating_errors("code", "it cannot be read", "Mend it."),
    ):
        raise OverflowError("too large")
    with pytest.raises(KeyError), translating_errors("code", "it cannot be read", "Mend it."):
        raise KeyError("a mistake of recdash")


def test_a_disk_that_fails_halfway_is_told_in_words() -> None:
    def blocks(_columns: object, _ids: object) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]})
        raise OSError("Input/output error")

    raw = RawTable("CSV", ("a",), blocks, str, list)
    with pytest.raises(UploadError, match="the file cannot be read \\(Input/output error\\)"):
        list(translate_errors(raw).blocks(("a",), ()))


def test_a_name_longer_than_that_of_any_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("user_id,item_id\nu,i\n")
    with pytest.raises(UploadError, match="cannot be opened"):
        read_recommendations(tmp_path / ("n" * 5000))
    assert NamedFile().convert(f"{'n' * 5000}={tmp_path}/run.csv") == ("n" * 5000, tmp_path / "run.csv")
    with pytest.raises(InputError, match="5,000 characters"):
        clean_name("n" * 5000)
    assert clean_name("n" * 255)


def test_an_event_of_json_lines_without_its_time_is_refused() -> None:
    line = '{"unit_id":"u","session_id":"s","ts":"2026-03-01 12:00:00","event":"click","item_id":"i"}'
    lines = f"{line}\n{line.replace('ts', 'vs')}\n"
    with pytest.raises(UploadError, match="'' is not a time"):
        read_upload("events", lines.encode())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("'a b',\"c\"", ["'a b'", ",", '"c"']),
        ("it's,'b,c'", ["it", "'s,'", "b", ",", "c"]),
        ("it's,b", ["it", "s", ",", "b"]),
        ('it\'s,"b,c"', ["it", "s", ",", '"b,c"']),
        (r"'a\'b',", [r"'a\'b'", ","]),
        (r"'\'\'", ["\\", "\\"]),
    ],
)
def test_a_quote_that_nothing_closes_is_passed_over(text: str, tokens: list[str]) -> None:
    assert tokens_in(text) == tokens


def test_rows_of_json_with_a_key_each_are_refused_at_once() -> None:
    rows = json.dumps([{f"k{n}": n, "user_id": "u", "item_id": n} for n in range(3000)])
    with pytest.raises(UploadError, match="3,002 columns, over the limit of 200"):
        read_recommendations(rows.encode(), limits=Limits(columns=200))


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (json.dumps({f"m{n}": {"u": [1, 2]} for n in range(1001)}), "file"),
        ("user_id,item_id,model\n" + "".join(f"u1,i1,m{n}\n" for n in range(1001)), "column 'model'"),
    ],
    ids=["json", "column"],
)
def test_more_candidates_than_anyone_compares_are_refused(data: str, place: str) -> None:
    with pytest.raises(UploadError, match=f"{place}: names more than 1,000 candidates"):
        read_recommendations(data.encode(), mapping={"run": "model"} if place != "file" else None)


LONG = b"a " * (5 << 20)
"""Ten MiB without a line end."""


@pytest.mark.parametrize("separator", [b" ", b"::", b","])
def test_a_line_longer_than_a_block_is_refused_at_once(separator: bytes) -> None:
    rows = b"".join(separator.join((b"u%d" % n, b"i%d" % n, b"0.5\n")) for n in range(400_000))
    (run,) = read_recommendations(separator.join((b"user_id", b"item_id", b"score\n")) + rows)
    assert sum(batch.num_rows for batch in run.batches()) == 400_000
    data = separator.join((b"user_id", b"item_id", b"score\n")) + rows + LONG
    with pytest.raises(UploadError, match="a line of over 8 MiB"):
        [list(run.batches()) for run in read_recommendations(data)]


def test_a_quote_in_a_line_longer_than_a_block_is_not_looked_for_in_all_of_it() -> None:
    with pytest.raises(UploadError, match="line 2: a line of over 8 MiB"):
        read_recommendations(b'user_id,item_id\nu1,"' + b"x" * (9 << 20))


def test_a_text_with_blanks_is_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[str] = []

    def counted(content: Content, *how: Any) -> Content:
        copies.append(content.name)
        return copied(content, *how)

    monkeypatch.setattr("recdash.ingest.formats.text_rows.copied", counted)
    (run,) = read_recommendations(b"user_id item_id\nu1 i1\nu1 i2\n", name="run")
    assert sum(batch.num_rows for batch in run.batches()) == 2
    assert len(copies) == 1


def test_of_very_many_rows_of_another_width_not_all_are_counted() -> None:
    rows = "user_id,item_id\nu1,i1\n" + "u1,i1,0.5\n" * 30_000
    with pytest.raises(
        UploadError, match=r"line 3: 3 fields in a table of 2 columns \(and at least 9999 more"
    ):
        list(read_recommendations(rows.encode())[0].batches())


def test_bytes_that_western_encodings_leave_undefined_are_read() -> None:
    (run,) = read_recommendations(b"user_id,item_id\nM\xfcller,i\x81\x8d\x8f\x90\x9d\x80\n")
    (batch,) = run.batches()
    assert batch.to_pylist() == [{"user_id": "Müller", "item_id": "i\x81\x8d\x8f\x90\x9d€"}]
