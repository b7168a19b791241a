"""Attributes of users, vectors of items, similarities of items: read, checked, and refused with reasons."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdash.domain.inputs import Upload
from recdash.errors import UploadError
from recdash.ingest import preview, read_upload


def rows_of(upload: Upload) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in upload.table.to_pylist()]


def refused(kind: Any, source: Any, **how: Any) -> list[str]:
    with pytest.raises(UploadError) as error:
        read_upload(kind, source, **how)
    return [str(problem) for problem in error.value.problems]


def notices(upload: Upload) -> str:
    return "\n".join(map(str, upload.notices))


def as_parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


# ── users ────────────────────────────────────────────────────────────────────────────────────


def test_a_column_of_numbers_that_changes_to_text_later_is_noticed() -> None:
    rows = "".join(f"i{n},{n % 90}\n" for n in range(30_000))
    upload = read_upload("catalogue", f"item_id,minutes\n{rows}x,short\n".encode())
    (notice,) = [notice for notice in upload.notices if notice.code == "text-among-numbers"]
    assert (notice.place, notice.count, notice.example) == ("column 'minutes'", 1, "'short'")
    assert "numbers in 30000 rows and text in 1 row" in notice.found
    codes = read_upload("catalogue", b"item_id,code\na,12\nb,x7\nc,y8\n")
    assert "text-among-numbers" not in {notice.code for notice in codes.notices}


def test_every_other_column_of_a_user_table_is_an_attribute() -> None:
    upload = read_upload("users", b"user,plan,age,zip\n7,free,31,01234\n8,paid,,98765\n")
    assert upload.table.column_names == ["user_id", "plan", "age", "zip"]
    assert rows_of(upload) == [("7", "free", 31, "01234"), ("8", "paid", None, "98765")]


@pytest.mark.parametrize(
    "source",
    [
        {"7": {"plan": "free", "age": 31}, "8": {"plan": "paid"}},
        {"user_id": ["7", "8"], "plan": ["free", "paid"], "age": [31, None]},
        b'[{"user_id": "7", "plan": "free", "age": 31}, {"user_id": "8", "plan": "paid"}]',
    ],
)
def test_attributes_come_by_user_by_column_or_by_row(source: Any) -> None:
    assert rows_of(read_upload("users", source)) == [("7", "free", 31), ("8", "paid", None)]


def test_numbers_beside_a_word_for_nothing_are_numbers() -> None:
    upload = read_upload("users", b"user,age\n7,31\n8,None\n9,NaN\n")
    assert rows_of(upload) == [("7", 31), ("8", None), ("9", None)]


def test_a_user_may_be_called_like_a_column() -> None:
    assert rows_of(read_upload("users", {"u": {"plan": "free"}, "v": {"plan": "paid"}})) == [
        ("u", "free"),
        ("v", "paid"),
    ]


def test_the_first_row_of_a_user_counts() -> None:
    upload = read_upload("users", b"user,plan\n7,free\n8,paid\n7,paid\n")
    assert rows_of(upload) == [("7", "free"), ("8", "paid")]
    assert "1 duplicate user_id" in notices(upload)


def test_several_values_in_a_cell_survive_as_text() -> None:
    upload = read_upload("users", pd.DataFrame({"user_id": [7, 8], "likes": [["Crime", "Drama"], []]}))
    assert rows_of(upload) == [(7, "Crime|Drama"), (8, "")]
    upload = read_upload("catalogue", b"item_id,genres\na,Crime|Drama\n")
    assert rows_of(upload) == [("a", "Crime|Drama")]


def test_a_user_table_without_attributes_is_refused() -> None:
    assert refused("users", b"user_id\n7\n") == [
        "columns: no column besides 'user_id'. Add a column for each attribute, such as age or country."
    ]


MONTHS = pd.PeriodIndex(["2024-01", "2024-02"], freq="M")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (MONTHS, ["2024-01", "2024-02"]),
        (pd.Categorical(MONTHS), ["2024-01", "2024-02"]),
        (pd.PeriodIndex(["2024Q1", None], freq="Q"), ["2024Q1", None]),
        (pd.arrays.IntervalArray.from_breaks([0, 18, 65]), ["(0, 18]", "(18, 65]"]),
    ],
)
def test_periods_and_intervals_are_the_words_that_pandas_shows(values: Any, words: list[Any]) -> None:
    frame = pd.DataFrame({"user_id": [7, 8], "x": values})
    assert rows_of(read_upload("users", frame)) == [(7, words[0]), (8, words[1])]
    assert preview("users", frame).rows[0]["x"] == words[0]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (10**30, "an integer of more than 64 bits. Write such numbers as text, or as decimals."),
        (
            "\ud800",
            (
                r"'\ud800' is half a character (a lone surrogate). "
                "Write the text again as UTF-8; it was cut in the middle of a character."
            ),
        ),
    ],
)
def test_a_value_that_no_column_can_hold_is_refused_with_its_column(value: Any, told: str) -> None:
    frame = pd.DataFrame({"user_id": [7, 8], "x": pd.Series([value, value], dtype=object)})
    assert refused("users", frame) == [f"column 'x': {told}"]
    assert [str(problem) for problem in preview("users", frame).problems] == [f"column 'x': {told}"]


# ── vectors ──────────────────────────────────────────────────────────────────────────────────

VECTORS = [("a", [1.0, 0.0]), ("b", [0.5, -2.0])]


@pytest.mark.parametrize(
    "source",
    [
        b"item_id,vector\na,1|0\nb,0.5|-2\n",
        b'item_id,embedding\na,"[1, 0]"\nb,"[0.5, -2.0]"\n',
        b"item_id;vector;price\na;1 0;2,5\nb;0,5 -2,0;3,5\n",
        b"item_id,vector\na,[1. 0.]\nb,[ 0.5 -2. ]\n",
        b"item_id,vector\na,[np.float64(1.0) np.float64(0.0)]\nb,[np.float64(0.5) np.float64(-2.0)]\n",
        b"item_id,f0,f1\na,1,0\nb,0.5,-2\n",
        b"movieId,x,y\na,1,0\nb,0.5,-2\n",
        b"a,1,0\nb,0.5,-2\n",
        b'{"item_id": "a", "vector": [1, 0]}\n{"item_id": "b", "vector": [0.5, -2]}\n',
        b'{"a": [1, 0], "b": [0.5, -2]}',
        {"a": [1.0, 0.0], "b": np.array([0.5, -2.0])},
        as_parquet(pa.table({"item_id": ["a", "b"], "features": [[1.0, 0.0], [0.5, -2.0]]})),
        pa.table({"item_id": ["a", "b"], "vector": pa.array([[1, 0], [0.5, -2]], pa.list_(pa.float32(), 2))}),
        pd.DataFrame({"item_id": ["a", "b"], "0": [1.0, 0.5], "1": [0, -2]}),
    ],
)
def test_vectors_come_as_one_list_or_as_many_columns(source: Any) -> None:
    upload = read_upload("vectors", source)
    assert rows_of(upload) == VECTORS
    assert upload.table["vector"].type == pa.list_(pa.float64())


def test_the_columns_of_a_vector_can_be_chosen() -> None:
    data = b"item_id,title,f0,f1,g0,g1\na,A,1,0,9,9\nb,B,0.5,-2,9,9\n"
    assert refused("vectors", data) == [
        (
            "columns: 2 groups of numbered columns may be the vector: 'f0 … f1', 'g0 … g1'. Map vector "
            "to one of them, such as 'f0 … f1', or rename its columns vector_1, vector_2 …"
        )
    ]
    assert rows_of(read_upload("vectors", data, mapping={"vector": "f0 … f1"})) == VECTORS


def test_the_preview_shows_the_columns_of_a_vector_as_one() -> None:
    shown = preview("vectors", b"item_id,x,y\na,1,0\n")
    assert shown.mapping == {"item_id": "item_id", "vector": "x … y"}
    assert "x … y" in shown.columns
    assert "x … y are the 2 numbers of one vector per row" in str(shown.notices)
    assert not shown.problems
    again = preview("vectors", b"item_id,x,y\na,1,0\n", mapping=shown.mapping)
    assert (again.mapping, again.problems) == (shown.mapping, ())


def test_all_that_is_wrong_with_vectors_is_told_at_once() -> None:
    data = b"item_id,vector\na,1|2\nb,1|2|3\nc,1|x\nd,1|y\ne,4\n"
    assert refused("vectors", data) == [
        (
            "column 'vector', line 4: 'x' is not a number (and 1 more like it). Write each vector in "
            "full, such as [0.1, 0.2, 0.3] or 0.1|0.2|0.3."
        ),
        (
            "column 'vector', line 3: 3 numbers, where the first vector has 2 (and 1 more like it). "
            "Give every item a vector of the same length."
        ),
    ]


def test_a_number_of_a_vector_must_be_finite() -> None:
    assert "line 3: 'nan' is not a number" in refused("vectors", b"item_id,vector\na,1|2\nb,1|nan\n")[0]
    assert "line 2: 'inf' is not a number" in refused("vectors", b"item_id,x,y\na,1,inf\n")[0]
    table = pa.table({"item_id": ["a", "b"], "vector": [[1.0, 2.0], [None, 3.0]]})
    assert "row 2: '' is not a number" in refused("vectors", table)[0]


def test_commas_that_may_be_decimals_or_separators_are_refused() -> None:
    told = refused("vectors", b"item_id;vector\na;1 0\nb;0,5 -2,0\n")
    assert "line 3: '0,5 -2,0' has commas that may be decimal commas or separators" in told[0]


def test_items_without_a_vector_are_left_out_and_zeros_are_noticed() -> None:
    upload = read_upload("vectors", b"item_id,vector\na,1|2\nb,\nc,0|0\na,3|4\n")
    assert rows_of(upload) == [("a", [1.0, 2.0]), ("c", [0.0, 0.0])]
    assert "no vector in 1 row" in notices(upload)
    assert "only zeros in 1 row" in notices(upload)
    assert "1 duplicate item_id" in notices(upload)


def test_a_vector_may_be_missing_anywhere_in_a_column_of_fixed_length() -> None:
    held = pa.array([None, [1, 2], None, [3, 4], None], pa.list_(pa.float32(), 2))
    table = pa.table({"item_id": list("vwxyz"), "vector": held})
    for source in (table, as_parquet(table), pa.concat_tables([table.slice(0, 3), table.slice(3)])):
        upload = read_upload("vectors", source)
        assert rows_of(upload) == [("w", [1.0, 2.0]), ("y", [3.0, 4.0])]
        assert "no vector in 3 rows" in notices(upload)


def test_a_vector_is_neither_a_word_nor_one_number() -> None:
    assert "'red' is not a number" in refused("vectors", b"item_id,vector\na,red\n")[0]
    assert "no vector column; found: item_id, price" in refused("vectors", b"item_id,price\na,3\n")[0]
    table = pa.table({"item_id": ["a"], "vector": [3]})
    assert "row 1: '3' is not a list of numbers" in refused("vectors", table)[0]


# ── similarities ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "source",
    [
        b"item_a,item_b,similarity\na,b,0.5\nb,c,-1\n",
        b"item_id_1,item_id_2,score\na,b,0.5\nb,c,-1\n",
        b"item_i;item_j;cosine\na;b;0,5\nb;c;-1,0\n",
        b"item_id,neighbor,sim\na,b,0.5\nb,c,-1\n",
        b'{"a": {"b": 0.5}, "b": {"c": -1, "a": 0.5}}',
        {"a": {"b": 0.5}, "b": {"c": -1.0}},
    ],
)
def test_similarities_come_as_pairs(source: Any) -> None:
    assert rows_of(read_upload("similarity", source)) == [("a", "b", 0.5), ("b", "c", -1.0)]


def test_a_pair_stands_once_whichever_way_round() -> None:
    upload = read_upload("similarity", b"item_a,item_b,similarity\na,b,0.5\nb,a,0.5\na,b,0.5\nc,c,1\na,c,0\n")
    assert rows_of(upload) == [("a", "b", 0.5), ("a", "c", 0.0)]
    assert "a repeated pair in 1 row" in notices(upload)
    assert "an item paired with itself in 1 row" in notices(upload)


def test_ids_of_two_types_meet() -> None:
    table = pa.table({"item_a": [1, 2], "item_b": ["2", "1"], "similarity": [0.5, 0.5]})
    assert rows_of(read_upload("similarity", table)) == [(1, "2", 0.5)]


def test_a_pair_with_two_similarities_is_refused() -> None:
    data = b"item_a,item_b,similarity\na,b,0.5\nb,a,0.4\na,c,1\nc,a,0.9\n"
    assert refused("similarity", data) == [
        (
            "column 'similarity': 'a' and 'b' have similarity 0.5 in one row and 0.4 in another (and 1 "
            "more like it). Give each pair one similarity, the same in both orders."
        )
    ]


def test_a_rounded_cosine_is_taken() -> None:
    upload = read_upload("similarity", b"item_a,item_b,similarity\na,b,1.0000001\nb,a,0.9999999\n")
    assert rows_of(upload) == [("a", "b", 1.0)]


def test_all_that_is_wrong_with_similarities_is_told_at_once() -> None:
    data = b"item_a,item_b,similarity\na,b,1.5\na,c,x\na,d,-2\na,e,\n"
    told = refused("similarity", data)
    assert [problem.split(". ")[0] for problem in told] == [
        "column 'similarity', line 3: 'x' is not a similarity",
        "column 'similarity', line 5: '' is not a similarity",
        "column 'similarity', line 2: '1.5' is not a similarity (and 1 more like it)",
    ]


def test_only_self_pairs_are_no_table() -> None:
    assert "no pair of two different items" in refused("similarity", b"item_a,item_b,similarity\na,a,1\n")[0]


def test_a_row_without_an_item_is_left_out() -> None:
    upload = read_upload("similarity", b"item_a,item_b,similarity\na,b,0.5\n,b,0.4\n")
    assert rows_of(upload) == [("a", "b", 0.5)]
    assert "no first item id in 1 row" in notices(upload)
