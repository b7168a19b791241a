"""The same three recommendations, written in every form that people upload."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdash.domain.inputs import Recommendations
from recdash.errors import UploadError
from recdash.ingest import Limits, preview, read_recommendations, read_upload
from recdash.settings import settings

# user 7 is recommended 012, then 34; user 8 is recommended 34
USERS, ITEMS = ["7", "7", "8"], ["012", "34", "34"]


def lists_of(run: Recommendations) -> list[tuple[str, str]]:
    rows = [row for batch in run.batches() for row in batch.to_pylist()]
    return [(str(row["user_id"]), str(row["item_id"])) for row in rows]


def only(source: Any, **options: Any) -> Recommendations:
    (run,) = read_recommendations(source, **options)
    return run


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def parquet(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


CSV = b"user_id,item_id\n7,012\n7,34\n8,34\n"
FLAT = pa.table({"user_id": USERS, "item_id": ITEMS})
TWICE = pa.table([pa.array(["7"]), pa.array(["12"]), pa.array(["34"])], names=["user_id", "x", "x"])
NESTED = pa.table({"user": ["7", "8"], "items": [["012", "34"], ["34"]]})
STRUCTS = pa.table(
    {
        "user": ["7", "8"],
        "recommendations": [
            [{"movieId": "012", "rating": 0.9}, {"movieId": "34", "rating": 0.8}],
            [{"movieId": "34", "rating": 0.7}],
        ],
    }
)

FORMS: dict[str, Any] = {
    "CSV": CSV,
    "CSV with a byte-order mark": b"\xef\xbb\xbf" + CSV,
    "CSV in UTF-16": CSV.decode().encode("utf-16"),
    "CSV with carriage returns": CSV.replace(b"\n", b"\r"),
    "CSV with Windows line ends": CSV.replace(b"\n", b"\r\n"),
    "CSV with blank lines": CSV.replace(b"\n", b"\n\n"),
    "CSV with an index column": b",user_id,item_id\n0,7,012\n1,7,34\n2,8,34\n",
    "CSV without a last line end": CSV.rstrip(b"\n"),
    "CSV without a header": b"7,012,0.9\n7,34,0.8\n8,34,0.7\n",
    "ranks without a header": b"7,012,1\n7,34,2\n8,34,1\n",
    "tabs": CSV.replace(b",", b"\t"),
    "semicolons and decimal commas": b"user;item;score\n7;012;0,9\n7;34;0,8\n8;34;0,7\n",
    "bars": CSV.replace(b",", b"|"),
    "double colons": b"7::012::0.9\n7::34::0.8\n8::34::0.7\n",
    "blanks": b"user item score\n7 012  0.9\n 7\t34 0.8\n8 34 0.7 \n",
    "RecBole": b"user_id:token\titem_id:token\n7\t012\n7\t34\n8\t34\n",
    "gzip": gzip.compress(CSV),
    "zip": zipped({"folder/als.csv": CSV}),
    "Parquet": parquet(FLAT),
    "Parquet in gzip": gzip.compress(parquet(FLAT)),
    "Parquet with lists": parquet(NESTED),
    "Parquet with lists of structs": parquet(STRUCTS),
    "JSON lines": b'{"user": 7, "item": "012"}\n{"user": 7, "item": 34}\n\n{"user": "8", "item": "34"}\n',
    "JSON lines with lists": b'{"user": 7, "items": ["012", "34"]}\n{"user": 8, "items": ["34"]}',
    "JSON by user": b'{"7": {"012": 0.9, "34": 0.8}, "8": {"34": 0.7}}',
    "JSON lists by user": b'{"7": ["012", "34"], "8": ["34"]}',
    "JSON pairs by user": b'{"7": [["012", 0.9], ["34", 0.8]], "8": [["34", 0.7]]}',
    "JSON rows": b'[{"user": 7, "item": "012"}, {"user": 7, "item": "34"}, {"user": 8, "item": "34"}]',
    "JSON columns": b'{"user_id": [7, 7, 8], "item_id": ["012", "34", "34"]}',
    "JSON from pandas": b'{"user": {"0": 7, "1": 7, "2": 8}, "item": {"0": "012", "1": "34", "2": "34"}}',
    "TREC run": b"7 Q0 012 1 0.9 als\n7 Q0 34 2 0.8 als\n8 Q0 34 1 0.7 als\n",
    "TREC run with tabs": b"7\tQ0\t012\t1\t0.9\tals\n7\tQ0\t34\t2\t0.8\tals\n8\tQ0\t34\t1\t0.7\tals\n",
    "lists as Python prints them": b"user,items\n7,\"['012', '34']\"\n8,\"['34']\"\n",
    "lists as JSON": b'user\titems\n7\t["012", "34"]\n8\t["34"]\n',
    "lists as numpy prints them": b"user,items\n7,[012  34]\n8,[34]\n",
    "lists of numpy scalars": b"user,items\n7,\"[np.str_('012'), np.str_('34')]\"\n8,[np.str_('34')]\n",
    "lists without brackets": b"user,items\n7,012 34\n8,34\n",
    "wide": b"user,rec_1,rec_2\n7,012,34\n8,34,\n",
    "wide with numbers from 0": b"user,0,1\n7,012,34\n8,34,\n",
    "wide beside its scores": b"user,score_1,score_2,rec_1,rec_2\n7,0.9,0.8,012,34\n8,0.7,,34,\n",
    "Arrow": FLAT,
    "Arrow with categories": FLAT.set_column(1, "item_id", FLAT["item_id"].dictionary_encode()),
    "polars": pl.from_arrow(FLAT),
    "pandas": FLAT.to_pandas(),
    "dict of dicts": {7: {"012": 0.9, 34: 0.8}, 8: {34: 0.7}},
    "dict of lists": {7: ["012", 34], 8: [34]},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_lists(form: str) -> None:
    assert lists_of(only(FORMS[form])) == list(zip(USERS, ITEMS, strict=True))


def test_a_stream_can_be_read_again() -> None:
    run = only(gzip.compress(CSV))
    assert lists_of(run) == lists_of(run)


def test_integer_ids_of_parquet_stay_integers_and_other_columns_keep_their_types() -> None:
    table = pa.table({"user_id": [7], "item_id": [34], "score": pa.array([1], pa.int8()), "rank": [1.0]})
    (batch,) = only(parquet(table)).batches()
    assert batch.schema.names == ["user_id", "item_id", "rank", "score"]
    assert batch.schema.types == [pa.int64(), pa.int64(), pa.int64(), pa.float64()]


def test_text_ids_are_dictionary_encoded() -> None:
    (batch,) = only(CSV).batches()
    assert batch.schema.types == [pa.dictionary(pa.int32(), pa.string())] * 2


def test_batches_can_be_limited_to_some_columns() -> None:
    run = only(b"user,item,score\n7,012,0.5\n")
    assert [batch.to_pydict() for batch in run.batches(columns=("score", "user_id"))] == [
        {"score": [0.5], "user_id": ["7"]}
    ]


def test_a_limited_pass_leaves_out_the_same_rows() -> None:
    run = only(b"user,item\n7,\n8,34\n")
    assert [batch.to_pydict() for batch in run.batches(columns=("user_id",))] == [{"user_id": ["8"]}]


def test_parquet_comes_row_group_by_row_group() -> None:
    run = only(parquet(FLAT, row_group_size=2))
    assert [batch.num_rows for batch in run.batches()] == [2, 1]


def test_a_score_beside_each_item_of_a_list_goes_with_it() -> None:
    rows = only(b"user\titems\tscores\n7\t[12, 34]\t[0.9, 0.8]\n").batches()
    assert next(rows).to_pydict() == {"user_id": ["7"] * 2, "item_id": ["12", "34"], "score": [0.9, 0.8]}


def test_the_score_of_a_trec_run_decides_unless_the_rank_is_asked_for() -> None:
    trec = b"7 Q0 012 5 0.9 als\n"
    assert (only(trec).has_rank, only(trec).has_score, only(trec).is_trec) == (False, True, True)
    assert only(trec, mapping={"rank": "rank"}).has_rank


# ── names ────────────────────────────────────────────────────────────────────────────────────

MODELS = b"model,user,item\nals,7,012\nbpr,7,34\nals,8,34\n"


def test_a_column_that_names_recommenders_gives_one_run_each() -> None:
    runs = read_recommendations(MODELS)
    assert {run.name: lists_of(run) for run in runs} == {
        "als": [("7", "012"), ("8", "34")],
        "bpr": [("7", "34")],
    }


@pytest.mark.parametrize("models", [[1.0, 2.0, 1.0], [True, False, True], [1, 2, 1], [" a", "b", "a "]])
def test_recommenders_are_told_apart_whatever_names_them_and_each_row_is_of_one(models: list[object]) -> None:
    runs = read_recommendations(
        pa.table({"model": models, "user": [7, 8, 8], "item": [12, 34, 12]}), name="May"
    )
    assert len({run.name for run in runs}) == 2
    assert [lists_of(run) for run in runs] == [[("7", "12"), ("8", "12")], [("8", "34")]]


def test_a_column_with_one_recommender_is_an_ordinary_column() -> None:
    assert only(b"model,user,item\nals,7,012\n", name="mine").name == "mine"


def test_a_mapped_column_names_even_a_single_recommender() -> None:
    assert only(b"who,user,item\nals,7,012\n", mapping={"run": "who"}).name == "als"


def test_a_given_name_goes_before_the_names_in_the_file() -> None:
    assert [run.name for run in read_recommendations(MODELS, name="May")] == ["May: als", "May: bpr"]


@pytest.mark.parametrize(
    ("file_name", "name"),
    [("als.csv", "als"), ("als.top20.jsonl.gz", "als.top20"), ("v1.2", "v1.2"), ("<b>.csv", "<b>")],
)
def test_a_run_is_called_like_its_file_without_the_suffix(tmp_path: Path, file_name: str, name: str) -> None:
    (tmp_path / file_name).write_bytes(CSV)
    assert only(tmp_path / file_name).name == name
    with (tmp_path / file_name).open("rb") as file:
        assert only(file).name == name


@pytest.mark.parametrize("source", [CSV, FLAT, io.BytesIO(CSV), {"7": ["012"]}], ids=type)
def test_a_given_name_keeps_its_ending(source: Any) -> None:
    assert only(source, name="bm25.run").name == "bm25.run"
    assert preview("run", source, name="bm25.run").name == "bm25.run"


def test_a_given_name_with_an_ending_goes_before_the_names_in_the_file() -> None:
    runs = read_recommendations(MODELS, name="bm25.run")
    assert [run.name for run in runs] == ["bm25.run: als", "bm25.run: bpr"]


def test_the_tag_of_a_trec_run_is_its_name() -> None:
    assert only(b"7 Q0 012 1 0.9 als\n").name == "als"


@pytest.mark.parametrize("header", ["user_id,item_id", '"user_id","item_id"', 'user_id,"item_id"'])
def test_line_breaks_in_values_are_read_in_every_block(header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.ingest.formats.delimited.USUAL_BLOCK_BYTES", 1000)
    rows = "".join(f'7,"a\n{number}"\n' for number in range(500))
    run = only(f"{header}\n8,1\n{rows}".encode())
    assert lists_of(run)[1:] == [("7", f"a\n{number}") for number in range(500)]


@pytest.mark.parametrize("last", ["09", "9"])
def test_a_zero_in_front_far_below_keeps_every_id(last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.ingest.formats.delimited.USUAL_BLOCK_BYTES", 1000)
    items = [str(number % 10) for number in range(2_000)]
    rows = "".join(f"7,{item}\n" for item in [*items, last])
    assert [item for _, item in lists_of(only(f"user_id,item_id\n{rows}".encode()))] == [*items, last]


@pytest.mark.parametrize("quote", ["", '"'])
def test_rows_longer_than_a_block_are_read_with_larger_blocks(
    quote: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recdash.ingest.formats.delimited.USUAL_BLOCK_BYTES", 1000)
    items = [f"{number}" for number in range(1_000)]
    items[500], items[800] = "x" * 1_800, "y" * 3_000
    rows = [f"7,{quote}{item}{quote}\n" for item in items]
    assert [item for _, item in lists_of(only(f"user_id,item_id\n{''.join(rows)}".encode()))] == items
    rows.insert(600, "7\n")
    with pytest.raises(UploadError, match="line 602"):
        lists_of(only(f"user_id,item_id\n{''.join(rows)}".encode()))


# ── refused ──────────────────────────────────────────────────────────────────────────────────

REFUSED: dict[str, tuple[bytes, str]] = {
    "pickle": (b"\x80\x04\x95", "a pickle, which is not supported"),
    "numpy": (b"\x93NUMPY\x01", "npy"),
    "Feather": (b"ARROW1\0\0", "Feather"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1", "Excel"),
    "Excel": (zipped({"xl/workbook.xml": b"<x/>", "xl/a.xml": b"<x/>"}), "Save the sheet"),
    "numpy in a zip": (zipped({"arr_0.npy": b"\x93NUMPY\x01"}), "npy"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not a text file"),
    "no table in a zip": (zipped({"README.md": CSV, "b.pdf": CSV}), "no table, 2 other files: 'README.md'"),
    "half a zip": (zipped({"a.csv": CSV})[:50], "zip archive cannot be unpacked"),
    "half a gzip": (gzip.compress(CSV)[:-10], "gzip data is truncated"),
    "Parquet with a name twice": (parquet(TWICE), "the column 'x' occurs twice"),
    "half a Parquet": (parquet(FLAT)[:-9], "Parquet file cannot be read"),
    "NUL": (CSV + b"8,\0\n", "line 5: a NUL byte"),
    "NUL far below": (CSV + b"8,1\n" * 300_000 + b"8,\0\n", "line 300005: a NUL byte"),
    "UTF-16 in name only": (b"\xff\xfea", "starts like UTF-16"),
    "empty": (b"", "the file is empty"),
    "blank": (b" \r\n\n", "the file is empty"),
    "only a header": (b"user,item\n", "a header (user, item) but no rows"),
    "long value": (
        b"user,item,note\n7,1," + b"x" * 70_000 + b"\n8,2,y\n",
        "column 'note', line 2: a value of over 63 KiB that begins with 'xxx",
    ),
    "long list": (b'user,items\n7,"' + b"12 " * 30_000 + b'"\n', "column 'items', line 2: a value of over"),
    "long name": (b"user,item," + b"x" * 70_000 + b"\n7,1,y\n", "line 1: a value of over 63 KiB"),
    "long line": (b"user,item\n" + b"7," * 40_000 + b"\n", "line 2: a line of over 64 KiB"),
    "unclosed quote": (b'user,item\n7,a\n7,"b\n8,c\n', "line 3: a quote is opened"),
    "JSON cut off": (b'{"7": {"012": 0.9', "broken JSON at position"),
    "JSON line cut off": (b'{"user": 7, "item": 1}\n{"user": 7, "it\n', "line 2: broken JSON at position 13"),
    "JSON of another shape": (b'{"7": 5}', "user '7': neither a list"),
    "JSON too deep": (b"[" * 100_000, "nested too deeply"),
    "JSON without rows": (b"[]", "without rows"),
    "shortened list": (b"user,items\n7,[1 2 ... 9]\n", "line 2: a list shortened with '...'"),
    "uneven lists": (b"user\titems\tscores\n7\t[1, 2]\t[0.5]\n", "line 2: 1 in this list, but 2 items"),
    "two numbered families": (b"user,a_1,a_2,b_1,b_2\n7,x,y,1,2\n", "'a_1 … a_2', 'b_1 … b_2'"),
    "many columns": (
        ("user," + ",".join(f"c{i}x" for i in range(99)) + "\n" + "1," * 99 + "1\n").encode(),
        "found: user, c0x, c1x, c2x, c3x, c4x, c5x, c6x, c7x, c8x and 90 more.",
    ),
    "many columns without a header": (
        b"1," * 40_000 + b"1\n",
        "line 1: a line of over 64 KiB, with over 32,",
    ),
    "a wide header and first row": (
        ("user," + ",".join(f"c{i}" for i in range(9000)) + "\n" + "1234," * 9000 + "1\n").encode(),
        "line 2: a header and first row of over 64 KiB",
    ),
    "a user twice": (b'{"ann": {"x": 1}, "ann": {"y": 2}}', "user 'ann': occurs twice in one {…}"),
    "an item twice": (b'{"ann": {"x": 1, "x": 2}}', "key 'x': occurs twice"),
    "a key twice in a line": (
        b'{"user": 1, "item": 2}\n{"user": 1, "item": 3, "item": 4}',
        "line 2, key 'item'",
    ),
    "half a character": (
        b'{"user": 7, "item": "a"}\n\n{"user": 7, "item": "\\ud800"}',
        "'item', line 3: '\\ud8",
    ),
    "half a character by user": (
        b'{"ann": ["x", "\\ud800"]}',
        "user 'ann': '\\ud800' holds half a character",
    ),
    "half a character in a user": (b'{"\\ud800": ["x"]}', "user '\\ud800': '\\ud800' holds half a character"),
    "half a character in a name": (b'[{"user": 1, "\\udc00": 2}]', "column '\\udc00': half a character"),
    "a list, then a value": (
        b'{"user": 7, "items": ["x"]}\n\n{"user": 8, "items": "y"}\n',
        "column 'items', line 3: a single value where other rows hold lists",
    ),
    "a value, then a list": (
        b'[{"user": 7, "items": "x"}, {"user": 8, "items": ["y"]}]',
        "column 'items', row 2: a list where other rows hold a single value",
    ),
    "a field too few": (b"user,item,score\n7,1,0.5\n7,2\n", "line 3: 2 fields in a table of 3 columns"),
}


def test_one_of_several_numbered_families_can_be_named_as_the_items() -> None:
    data = b"user,a_1,a_2,b_1,b_2\n7,x,y,012,34\n"
    assert {"a_1 … a_2", "b_1 … b_2"} < set(preview("run", data).columns)
    assert lists_of(only(data, mapping={"item_id": "b_1 … b_2"})) == [("7", "012"), ("7", "34")]


def read_all(data: bytes, limits: Limits | None = None) -> None:
    for run in read_recommendations(data, limits=limits):
        list(run.batches())


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused_in_words(case: str) -> None:
    data, words = REFUSED[case]
    with pytest.raises(UploadError) as refusal:
        read_all(data)
    assert words in str(refusal.value)


MAP = pa.array([[(12, 0.9)], [(34, 0.8)]], pa.map_(pa.int64(), pa.float64()))


@pytest.mark.parametrize("column", ["user", "item", "items", "score", "rank", "model"])
def test_a_column_of_maps_is_refused_and_a_preview_says_so_too(column: str) -> None:
    cells = {"user": [7, 8], "items" if column == "items" else "item": [12, 34]}
    data = parquet(pa.table({**cells, column: MAP}))
    with pytest.raises(UploadError, match=f"column '{column}': map<int64, double"):
        read_all(data)
    assert f"column '{column}': map<int64, double" in str(preview("run", data).problems[0])


def test_a_file_that_is_not_there_is_refused_by_its_path() -> None:
    with pytest.raises(UploadError, match=r"nowhere\.csv: cannot be opened"):
        read_recommendations("nowhere.csv")


@pytest.mark.parametrize(
    ("path", "words"), [("", "is empty"), (".", "is a folder"), ("\0", "null (byte|character)")]
)
def test_a_path_without_a_file_is_refused_by_what_it_is(path: str, words: str) -> None:
    with pytest.raises(UploadError, match=words):
        read_recommendations(path)


def test_a_device_is_refused_before_it_is_read() -> None:
    with pytest.raises(UploadError, match="/dev/zero: is a device"):
        read_recommendations("/dev/zero")


def test_a_pipe_is_read_once_and_its_rows_as_often_as_asked(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(CSV,))
    writer.start()
    run = only(tmp_path / "pipe")
    writer.join()
    assert lists_of(run) == lists_of(run) == list(zip(USERS, ITEMS, strict=True))


@pytest.mark.parametrize(
    "limits", [Limits(upload_bytes=1 << 22), Limits(upload_bytes=1 << 22, read_seconds=60)]
)
def test_a_pipe_that_never_ends_is_refused_beyond_the_limit_of_an_upload(
    tmp_path: Path, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_MAX_UPLOAD_BYTES", str(1 << 22))
    settings.cache_clear()
    os.mkfifo(tmp_path / "pipe")
    rows = f"yes u1,i1,0.5 > {tmp_path / 'pipe'}"
    with subprocess.Popen(["sh", "-c", rows], stderr=subprocess.DEVNULL) as writer:
        with pytest.raises(UploadError, match="bytes in the file, over the limit of 4,194,304"):
            read_recommendations(tmp_path / "pipe", limits=limits)
        assert writer.wait() != 0
    settings.cache_clear()


JSON_COLUMNS = ["user_id", "item_id", "score"]
JSON_ROWS = [["u1", "i1", 0.5], ["u1", "i2", 0.4]]
ROWS_OF_JSON = [dict(zip(JSON_COLUMNS, row, strict=True)) for row in JSON_ROWS]


@pytest.mark.parametrize(
    "document",
    [
        {"data": ROWS_OF_JSON, "total": 2, "page": {"next": None}},
        {"status": "ok", "results": ROWS_OF_JSON},
        {"columns": JSON_COLUMNS, "index": [0, 1], "data": JSON_ROWS},
    ],
    ids=["data", "results", "split by pandas"],
)
def test_rows_in_an_envelope_are_read_with_a_notice(document: dict[str, Any]) -> None:
    run = only(json.dumps(document).encode())
    assert [row for batch in run.batches() for row in batch.to_pylist()] == ROWS_OF_JSON
    (notice,) = [notice for notice in run.notices if notice.code == "json-envelope"]
    assert notice.count == 2
    assert "not read: " in notice.found


BY_USER = {"u1": {"i1": 2.0, "i2": 1.0}, "u2": {"i3": 1.0}}


def test_lists_by_user_beside_facts_are_read_with_a_notice() -> None:
    run = only(json.dumps({"name": "als", "k": 10, "run": BY_USER}).encode())
    plain = only(json.dumps(BY_USER).encode())
    assert [batch.to_pylist() for batch in run.batches()] == [batch.to_pylist() for batch in plain.batches()]
    (notice,) = [notice for notice in run.notices if notice.code == "json-envelope"]
    assert notice.found == "the rows are those under 'run'; not read: name, k"


def test_two_models_beside_a_fact_are_no_envelope() -> None:
    with pytest.raises(UploadError, match="user 'name'"):
        only(json.dumps({"name": "two", "als": BY_USER, "ease": BY_USER}).encode())


def test_objects_in_place_of_ids_are_named_by_their_keys() -> None:
    lines = [{"user": {"id": "u1"}, "items": ["i1", "i2"]}, {"user": {"id": "u2"}, "items": ["i3"]}]
    with pytest.raises(UploadError, match="an object with the keys id, where user_id is expected"):
        list(only("\n".join(map(json.dumps, lines)).encode()).batches())


def test_printed_python_objects_are_refused_with_what_to_write() -> None:
    line = "Prediction(uid='u1', iid='i1', r_ui=4.0, est=4.2, details={'was_impossible': False})\n"
    for data in (line * 2, f"[{line}]"):
        with pytest.raises(UploadError, match=r"printed Python objects \(Prediction\)"):
            only(data.encode())


def test_rows_above_a_second_header_are_no_titles() -> None:
    with pytest.raises(UploadError):
        list(only(b"a,1,0.5\nuser_id,item_id,score\nb,2,0.5\nc,3,0.5\n").batches())


def test_a_user_called_data_is_no_envelope() -> None:
    run = only(json.dumps({"data": ["i1", "i2"], "u2": ["i1"]}).encode())
    assert [row["user_id"] for batch in run.batches() for row in batch.to_pylist()] == ["data", "data", "u2"]


@pytest.mark.parametrize("limits", [None, Limits(read_seconds=60)])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path, limits: Limits | None) -> None:
    path = tmp_path / "run.csv"
    path.write_bytes(CSV)
    (run,) = read_recommendations(path, limits=limits)
    path.write_bytes(CSV + b"u9,i9,1\n")
    with pytest.raises(UploadError, match="changed while it was read"):
        list(run.batches())


def closed() -> io.BytesIO:
    stream = io.BytesIO(CSV)
    stream.close()
    return stream


SOURCES: dict[str, tuple[Any, str]] = {
    "text in memory": (
        io.StringIO(CSV.decode()),
        "StringIO gives text, not bytes. Open the file with mode 'rb'",
    ),
    "closed": (closed(), "BytesIO cannot be read"),
    "a class": (pa.Table, "neither a path, bytes, a binary file"),
    "a list": (["7", "012"], "Give a path, bytes, a file opened with 'rb'"),
    "nothing": (None, "NoneType is neither"),
    "a list beside a number": (
        {7: {"012": [1]}, 8: {"012": 1}},
        "user '8': a single value where other rows hold lists",
    ),
}


@pytest.mark.parametrize("case", SOURCES)
def test_what_python_gives_and_nobody_can_read_is_refused_in_words(case: str) -> None:
    source, words = SOURCES[case]
    with pytest.raises(UploadError) as refusal:
        read_recommendations(source)
    assert words in str(refusal.value)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_parquet_is_read_in_every_encoding_of_text(encoding: str) -> None:
    table = pa.table({"user_id": ["u1", "u1", "u2"], "item_id": ["i1", "i12", "i2"], "rank": [1, 2, 1]})
    written = {"user_id": encoding, "item_id": encoding, "rank": "PLAIN"}
    sink = io.BytesIO()
    pq.write_table(table, sink, use_dictionary=False, column_encoding=written)
    (run,) = read_recommendations(sink.getvalue())
    read = pa.Table.from_batches(list(run.batches())).to_pydict()
    assert (read["user_id"], read["item_id"]) == (["u1", "u1", "u2"], ["i1", "i12", "i2"])


LIMITS: dict[str, tuple[bytes, Limits, str]] = {
    "upload": (CSV, Limits(upload_bytes=10), "bytes in the file, over the limit of 10"),
    "unpacked gzip": (gzip.compress(CSV), Limits(inflated_bytes=10), "unpacked size"),
    "unpacked zip": (zipped({"a.csv": CSV}), Limits(inflated_bytes=10), "unpacked size"),
    "unpacked Parquet": (parquet(FLAT), Limits(inflated_bytes=10), "unpacked size"),
    "bomb": (gzip.compress(b"x" * 20_000_000), Limits(compression_ratio=100), "its compressed size"),
    "rows": (CSV, Limits(rows=2), "3 rows, over the limit of 2"),
    "rows of Parquet": (parquet(FLAT), Limits(rows=2), "3 rows, over the limit of 2"),
    "columns": (CSV, Limits(columns=1), "2 columns, over the limit of 1"),
    "value": (b"u,i\nabc,d\n", Limits(value_chars=2), "3 characters in one value, over the limit of 2"),
    "name": (b"u,i,abc\na,d,1\n", Limits(value_chars=2), "header: 3 characters in one value"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_limit_says_how_much_there_was_and_how_much_may_be(case: str) -> None:
    data, limits, words = LIMITS[case]
    with pytest.raises(UploadError) as refusal:
        read_all(data, limits)
    assert words in str(refusal.value)


def test_qrels_are_a_truth() -> None:
    table = read_upload("truth", b"7 0 012 2\n8 0 34 1\n").table
    assert table.to_pydict() == {"user_id": ["7", "8"], "item_id": ["012", "34"], "relevance": [2.0, 1.0]}


def test_a_ranking_of_qrels_by_user_is_read_from_json() -> None:
    truth = json.dumps({"7": {"012": 2, "34": 1}}).encode()
    assert read_upload("truth", truth).table["relevance"].to_pylist() == [2.0, 1.0]


SLOW_END = """
import io, pathlib, sys, time

class Slow(io.BytesIO):
    def read(self, *size):
        time.sleep(1.5 if self.tell() > 2**23 else 0)
        return super().read(*size)

from recdash.ingest import read_recommendations
path = pathlib.Path(sys.argv[1])
data = path.read_bytes()
run, = read_recommendations(path)
pathlib.Path.open = lambda self, *how: Slow(data)
rows = run.batches()
next(rows)
rows.close()
"""


def test_a_program_may_end_while_a_text_table_is_still_read_ahead(tmp_path: Path) -> None:
    """Arrow's threads go on for a moment; they must not need Python by then, or the process is aborted."""
    path = tmp_path / "run.csv"
    rows = (f"{n // 8},{'item' * 225}{n % 97},{-n}\n" for n in range(30_000))
    path.write_text("user,item,score\n" + "".join(rows))
    done = subprocess.run(
        [sys.executable, "-c", SLOW_END, str(path)], check=False, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_blank_lines_before_the_header_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("\n\nuser_id,item_id\nu1,a\nu1,b\n")
    (run,) = read_recommendations(path)
    assert [row for batch in run.batches() for row in batch.column(0).to_pylist()] == ["u1", "u1"]


ZIPPED = {
    "mimetype": "application/vnd.oasis.opendocument.spreadsheet", "Index/Document.iwa": "x",
    "xl/workbook.bin": "x",
}  # fmt: skip
NO_TABLES = {
    "an HTML page": b"<!DOCTYPE html>\n<html><body>Please, sign in</body></html>\n",
    "HTML": b'<table border="1">\n<tr><th>user_id</th><th>item_id</th></tr></table>\n',
    "XML": b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>\n',
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
    "a Matrix Market file": b"%%MatrixMarket matrix coordinate real general\n200 300 1\n1 2 0.5\n",
    "an ARFF file": b"@relation recs\n@attribute user_id numeric\n@data\n1,2\n",
    "SQL": b"INSERT INTO recs (user_id, item_id) VALUES (1, 2);\n",
    "printed in a terminal": (
        "shape: (1, 2)\n┌─────────┬─────────┐\n│ user_id ┆ item_id │\n╞═════════╪═════════╡\n"
    ).encode(),
    "printed in a terminal ": "┌─────────┬─────────┐\n│ user_id │ item_id │\n".encode(),
    "a tar archive": b"als.csv".ljust(257, b"\0") + b"ustar\x0000".ljust(255, b"\0"),
    "a tar archive ": gzip.compress(b"als.csv".ljust(257, b"\0") + b"ustar  \0".ljust(255, b"\0")),
    "a RAR archive": b"Rar!\x1a\x07\x01\x00xyz",
    "LZ4 data": b"\x04\x22\x4d\x18xyz",
    "a MATLAB file": b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(200, b"\0"),
    "an R data file": gzip.compress(b"RDX3\nX\n\0\0\0\x03"),
}


@pytest.mark.parametrize("what", NO_TABLES)
def test_a_file_of_another_format_is_called_by_its_name(what: str) -> None:
    with pytest.raises(UploadError) as refusal:
        read_upload("truth", NO_TABLES[what])
    (problem,) = refusal.value.problems
    assert problem.code == "unsupported-format"
    assert what.strip() in problem.found
    assert problem.fix


@pytest.mark.parametrize("name", ZIPPED)
def test_a_document_that_is_an_archive_inside_is_called_by_its_name(name: str) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr(name, ZIPPED[name])
        writer.writestr("content.xml", "<x/>")
    with pytest.raises(UploadError, match=r"an OpenDocument|Apple Numbers|binary Excel workbook \(xlsb\)"):
        read_upload("truth", archive.getvalue())


@pytest.mark.parametrize(
    "header", ["insert into,user_id,item_id", "<user>,user_id,item_id", "#shape,user_id,item_id"]
)
def test_a_table_that_only_begins_like_another_format_is_read(header: str) -> None:
    assert read_upload("truth", f"{header}\nx,u1,i1\n".encode()).table.num_rows == 1


PRETTY = "\n".join(
    json.dumps({"user_id": f"u{n}", "item_id": "i", "note": "}\n{"}, indent=2) for n in range(3)
)


@pytest.mark.parametrize("text", [PRETTY, PRETTY.replace("}\n{", "} {"), f"{PRETTY}\n\n", f"\ufeff{PRETTY}"])
def test_documents_after_one_another_are_rows(text: str) -> None:
    """jq writes them so."""
    upload = read_upload("truth", text.encode(), name="rows.json")
    assert upload.table["user_id"].to_pylist() == ["u0", "u1", "u2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"user_id": "u", "item_id": "i"}\n{\n"user_id": "u2", "item', r"position \d+"),
        ('{"u1": ["i1"]}\n[1]', "several JSON documents"),
        ("[{'user_id': 'u1', 'item_id': 'i1'}]", r"Python.*json\.dump"),
        ("{'u1': ['i1', 'i2']}", r"Python.*json\.dump"),
        ('[{"user_id": "u1", "item_id": None}]', r"Python.*json\.dump"),
    ],
)
def test_text_that_is_nearly_json_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(UploadError, match=words):
        read_upload("truth", text.encode(), name="rows.json")
