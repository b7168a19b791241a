"""Tables without a header line: what their rows are, and first lines that look like a header."""

from __future__ import annotations

from typing import Any

import pytest

import recdash
from recdash.errors import UploadError
from recdash.ingest import preview, read_recommendations, read_upload


def pairs_of(source: Any, kind: Any, **options: Any) -> list[tuple[str, str]]:
    if kind == "run":
        (run,) = read_recommendations(source, **options)
        rows = [row for batch in run.batches() for row in batch.to_pylist()]
    else:
        rows = read_upload(kind, source, **options).table.to_pylist()
    return [(str(row["user_id"]), str(row["item_id"])) for row in rows]


def refused(source: Any, kind: Any, **options: Any) -> str:
    with pytest.raises(UploadError) as refusal:
        pairs_of(source, kind, **options)
    return str(refusal.value)


# ── truth and train: rows of one item, or lists ──────────────────────────────────────────────

EITHER = b"1,101,102,103\n2,104,101,105\n"
AS_LISTS = [("1", "101"), ("1", "102"), ("1", "103"), ("2", "104"), ("2", "101"), ("2", "105")]


@pytest.mark.parametrize(("kind", "value"), [("truth", "relevance"), ("train", "rating")])
def test_rows_that_may_be_lists_or_values_are_asked_about(kind: Any, value: str) -> None:
    said = refused(EITHER, kind)
    assert f"user, item, {value}, timestamp in one row per item; or a user and the list of 3 items" in said
    assert f"item_id=column 2,{value}=column 3 for one row per item" in said
    assert "item_id=column 2..column 4 for one list per row" in said
    assert pairs_of(EITHER, kind, mapping={"item_id": "column 2..column 4"}) == AS_LISTS
    by_item = read_upload(kind, EITHER, mapping={"item_id": "column 2", value: "column 3"}).table
    assert by_item[value].to_pylist() == [102.0, 101.0]


@pytest.mark.parametrize(
    "rows",
    [
        b"1,101,5\n1,102,4\n2,101,3\n",  # a user has several rows
        b"1,101,5,978300760\n2,104,3,978300761\n",  # the fourth column has times
        b"".join(b"%d,%d,%d\n" % (user, 100 + user, user % 5 + 1) for user in range(40)),  # five values
        b"1,101,4.5\n2,104,3.5\n",  # half of an id is none
    ],
)
def test_rows_of_ratings_are_not_asked_about(rows: bytes) -> None:
    table = read_upload("truth", rows).table
    assert "relevance" in table.column_names
    assert table.num_rows == rows.count(b"\n")


def test_the_truth_of_an_evaluation_takes_such_a_choice() -> None:
    evaluation = recdash.evaluate(
        {"als": {"1": ["103"], "2": ["7"]}}, EITHER, metrics="mrr@1",
        columns={"truth": {"item_id": "column 2..column 4"}},
    )  # fmt: skip
    assert [row["value"] for row in evaluation.rows()] == [0.5]


# ── a first line of words ────────────────────────────────────────────────────────────────────

WORDS = b"u1,b\nu2,b\nu3,c\n"


@pytest.mark.parametrize("kind", ["run", "truth", "train"])
def test_the_first_line_is_data_for_who_names_columns_by_their_place(kind: Any) -> None:
    assert "user_id=column 1,item_id=column 2" in refused(WORDS, kind)
    chosen = {"user_id": "column 1", "item_id": "Column 2"}
    assert pairs_of(WORDS, kind, mapping=chosen) == [("u1", "b"), ("u2", "b"), ("u3", "c")]


def test_the_page_offers_the_places() -> None:
    result = preview("run", WORDS)
    assert {"column 1", "column 2"} <= set(result.columns)
    chosen = {"user_id": "column 1", "item_id": "column 2", "rank": "", "score": ""}
    read = preview("run", WORDS, mapping=chosen)
    assert (read.problems, read.mapping) == ((), {"user_id": "column 1", "item_id": "column 2"})


def test_a_range_of_places_says_the_same() -> None:
    rows = b"u1,a,b\nu2,b,c\n"
    chosen = {"user_id": "column 1", "item_id": "column 2..column 3"}
    assert pairs_of(rows, "run", mapping=chosen) == [("u1", "a"), ("u1", "b"), ("u2", "b"), ("u2", "c")]


def test_columns_by_place_hold_for_each_table_that_has_no_known_column() -> None:
    evaluation = recdash.evaluate(
        {"als": WORDS}, b"user_id,item_id\nu1,b\nu3,b\n", metrics="hit_rate@1",
        columns={"als": {"user_id": "column 1", "item_id": "column 2"}},
    )  # fmt: skip
    assert [row["value"] for row in evaluation.rows()] == [0.5]  # u1 is there


@pytest.mark.parametrize("rows", [WORDS, b"u1,m1\nu2,m7\nu3,m9\n"])
def test_data_that_is_named_as_a_column_is_not_lost_in_silence(rows: bytes) -> None:
    user, item = rows.split(b"\n")[0].decode().split(",")
    said = refused(rows, "run", mapping={"user_id": user, "item_id": item})
    assert f"the first line is read as a header ({user}, {item})" in said
    assert "If it is data, map the columns by position: user_id=column 1,item_id=column 2" in said


def test_a_header_that_is_none_of_its_values_is_a_header() -> None:
    rows = b"person,thing\nu1,b\nu2,b\n"
    assert pairs_of(rows, "run", mapping={"user_id": "person", "item_id": "thing"})[0] == ("u1", "b")


# ── a user and a list, with a delimiter each ─────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["run", "truth"])
@pytest.mark.parametrize(("outer", "inner"), [("\t", ","), (",", "|"), (";", ","), ("|", ","), ("\t", "|")])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_user_and_a_list_are_parted_by_the_outer_delimiter(
    outer: str, inner: str, n: int, kind: Any
) -> None:
    lists = {str(user): [str(100 + user + place) for place in range(n)] for user in range(3)}
    rows = "".join(f"{user}{outer}{inner.join(items)}\n" for user, items in lists.items())
    expected = [(user, item) for user, items in lists.items() for item in items]
    assert pairs_of(rows.encode(), kind) == expected


def test_a_delimiter_in_the_first_column_alone_parts_nothing_where_the_rest_is_no_list() -> None:
    (run,) = read_recommendations(b"a|b,m,0.5\na|b,n,0.25\nc|d,m,0.5\n")
    assert len(run.mapping) == 3


ORDERS = ("{user},{item},{time},{rating}", "{user},{item},{rating},{time}", "{user},{item},{time}")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("time", [1_704_153_600, "2024-01-02", "2024-01-02 00:00:00"])
@pytest.mark.parametrize("users", ["uuv", "uvw"], ids=["several rows of a user", "one row of each"])
@pytest.mark.parametrize(("kind", "value"), [("truth", "relevance"), ("train", "rating")])
def test_times_in_rows_without_a_header_are_no_ratings(
    kind: Any, value: str, users: str, time: object, order: str
) -> None:
    ratings = (5, 3, 4)
    rows = [
        order.format(user=user, item=f"i{place}", time=time, rating=rating)
        for place, (user, rating) in enumerate(zip(users, ratings, strict=True))
    ]
    columns = read_upload(kind, "\n".join(rows).encode()).table.to_pydict()
    assert len(columns["timestamp"]) == 3
    assert columns.get(value) == (None if order == ORDERS[2] else [5.0, 3.0, 4.0])


@pytest.mark.parametrize("row", ["u,i{0},4.5,17041536{0:02}", "u,i{0},17041536{0:02},4.5"])
def test_times_in_rows_without_a_header_are_no_predictions(row: str) -> None:
    rows = "\n".join(row.format(number) for number in range(3))
    with pytest.raises(UploadError, match="no prediction column"):
        read_upload("predictions", rows.encode())
    between = "u,i1,4,1704153600,3.5\nu,i2,5,1704153601,4.5"
    columns = read_upload("predictions", between.encode()).table.to_pydict()
    assert (columns["rating"], columns["prediction"]) == ([4.0, 5.0], [3.5, 4.5])


def test_large_ratings_beside_large_predictions_are_no_times() -> None:
    columns = read_upload("predictions", b"u,i,1704153600,1704153500\n").table.to_pydict()
    assert (columns["rating"], columns["prediction"]) == ([1704153600.0], [1704153500.0])


@pytest.mark.parametrize(
    "cells",
    [
        ("[i1:0.5,i2:0.25]", "[i2:9.5E-1]"),
        ("[11:0.5,12:0.25]", "[12:4]"),
        ("[('i1', 0.5), ('i2', 0.25)]", "[('i2', 0.9)]"),
    ],
    ids=["MyMediaLite", "MyMediaLite, numbers", "Python"],
)
def test_pairs_of_item_and_score_need_no_header(cells: tuple[str, str]) -> None:
    """MyMediaLite writes a user, a tab, and items with their scores in brackets."""
    rows = "".join(f"u{place}\t{cell}\n" for place, cell in enumerate(cells))
    (run,) = read_recommendations(rows.encode(), name="slim")
    read = [row for batch in run.batches() for row in batch.to_pylist()]
    assert [(row["user_id"], row["item_id"][-1], row["score"]) for row in read[:2]] == [
        ("u0", "1", 0.5),
        ("u0", "2", 0.25),
    ]
    assert len(read) == 3


@pytest.mark.parametrize("cells", ["[movie:12,movie:7]", "[movie:1.5,movie:2.5]", "[12:5,7:4]"])
def test_ids_with_a_colon_are_ids(cells: str) -> None:
    (run,) = read_recommendations(f'user_id,items\nu,"{cells}"\n'.encode(), name="slim")
    read = [row["item_id"] for batch in run.batches() for row in batch.to_pylist()]
    assert read == cells.strip("[]").split(",")
