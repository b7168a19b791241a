"""Tables without a header line: what their rows are, and first lines that look like a header."""

from __future__ import annotations

from datetime import datetime
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


# ── ids that are none ────────────────────────────────────────────────────────────────────────

USERS, N_ITEMS = range(1, 9), 6
SECONDS = 1_704_153_600


def rows_of(form: str) -> bytes:
    """Returns six rows of each of eight users without a header line, as ``form`` writes them."""
    rows = [
        {
            "index": N_ITEMS * place + rank,
            "user": user,
            "item": 7 * user + 11 * rank % 13,
            "rank": rank,
            "score": (N_ITEMS - rank) / 4,
            "rating": 1 + (user + rank) % 5,
            "seconds": SECONDS + 97 * (N_ITEMS * place + rank),
            "day": f"2024-01-{1 + place:02}",
            "clock": f"2024-01-{1 + place:02}T0{rank}:00:00Z",
            "compact": f"202401{1 + place:02}",
            "slashes": f"{1 + 3 * place}/01/2024",
        }
        for place, user in enumerate(USERS)
        for rank in range(N_ITEMS)
    ]
    return "".join(form.format_map(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("kind", "form", "finding", "choice"),
    [
        ("truth", "{seconds},{user},{item},{rating}", "column 1': has times", "user_id=column 2"),
        ("truth", "{user},{seconds},{item}", "column 2': has times", "user_id=column 1,item_id=column 3"),
        ("truth", "{user},{clock},{item},0", "column 2': has times", "user_id=column 1,item_id=column 3"),
        ("train", "{user}\t{clock}\t30.2\t-97.7\t{item}", "column 2': has times", "timestamp=column 2"),
        ("run", "{seconds}000,{user},{item},{score}", "column 1': has times", "user_id=column 2"),
        ("run", "{user},{day},{item},{score}", "column 2': has times", "item_id=column 3"),
        (
            "predictions",
            "{user},{seconds},{item},{rating},{score}",
            "column 2': has times",
            "item_id=column 3",
        ),
        (
            "truth",
            "{index},{user},{item},{rating},{seconds}",
            "column 1': counts the rows",
            "user_id=column 2",
        ),
        ("run", "{index},{user},{item},{score}", "column 1': counts the rows", "user_id=column 2"),
        ("run", "{index},{user},{item}", "column 1': counts the rows", "user_id=column 2,item_id=column 3"),
        ("run", "{user},{rank},{item}", "column 2': counts 0, 1, 2", "user_id=column 1,item_id=column 3"),
        ("run", "{user},{rank},{item},{score}", "column 2': counts 0, 1, 2", "item_id=column 3"),
        ("run", "{index},{seconds},a{item},b{item},c{rank}", "column 2': has times", "=column 3..column 5"),
    ],
)
def test_times_and_counts_in_rows_without_a_header_are_no_ids(
    kind: Any, form: str, finding: str, choice: str
) -> None:
    said = refused(rows_of(form), kind)
    assert finding in said
    assert choice in said


def test_what_looks_like_no_id_is_one_for_who_says_so() -> None:
    stated = {"user_id": "column 1", "item_id": "column 2"}
    pairs = pairs_of(rows_of("{user},{seconds},{item}"), "truth", mapping=stated)
    assert pairs[0] == ("1", str(SECONDS))
    chosen = {"user_id": "column 1", "item_id": "column 3", "timestamp": "column 2"}
    table = read_upload("truth", rows_of("{user},{seconds},{item}"), mapping=chosen).table
    assert table["timestamp"].to_pylist()[:2] == [SECONDS, SECONDS + 97]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (
            "truth",
            "".join(f"{user},{100 + user * 7 % 23},{user % 5 + 1}\n" for user in range(40)),
        ),  # leave one out
        ("truth", "".join(f"{user},{user * 7 % 5},{user % 5 + 1},{SECONDS}\n" for user in range(40))),
        ("run", "".join(f"{user},50,{1 - user / 50}\n" for user in range(40))),  # the most popular item
        ("truth", rows_of("2{user}00000000,17{item}00000000,{rating},{seconds}").decode()),
        ("run", rows_of("{user},17{item}0000000,{score}").decode()),
        ("run", rows_of("u{user},{rank},{score}").decode()),
        ("truth", "".join(f"{user},{item},{item}\n" for user in range(8) for item in range(1, 6))),
    ],
)
def test_ids_that_could_be_counts_or_times_are_ids(kind: Any, rows: str) -> None:
    assert len(pairs_of(rows.encode(), kind)) == rows.count("\n")


@pytest.mark.parametrize("time", ["{seconds}", "{seconds}000000", "{clock}", "{compact}", "{slashes}"])
@pytest.mark.parametrize("form", ["{{user}},{{item}},{{score}},{}", "{{user}},{{item}},{}"])
def test_times_in_rows_without_a_header_order_no_list(form: str, time: str) -> None:
    (run,) = read_recommendations(rows_of(form.format(time)), name="als")
    by_score = {"score": "column 3"} if "score" in form else {}
    assert run.mapping == {"user_id": "column 1", "item_id": "column 2", **by_score}
    (run,) = read_recommendations(rows_of("{user},{item},{rank}," + time), name="als", order="rank")
    assert run.mapping == {"user_id": "column 1", "item_id": "column 2", "rank": "column 3"}


def test_large_numbers_in_rows_without_a_header_order_lists_unless_they_may_be_times() -> None:
    """Numbers of 9 digits would be times of the last century, and those of 2033 and later are none yet."""
    for largest in ("987654321", "2000000001", "9876543210.5", "1700000000987"):
        rows = f"1,101,123456789\n1,102,{largest}\n2,101,223456789\n2,103,923456789\n".encode()
        (run,) = read_recommendations(rows, name="als")
        assert run.mapping["score"] == "column 3"
    times = b"1,101,1700000000\n1,102,1800000000\n2,101,1700000001\n2,103,1600000000\n"
    (run,) = read_recommendations(times, name="als")
    assert "score" not in run.mapping
    (notice,) = [notice for notice in run.notices if notice.code == "unread-scores"]
    assert "column 3 has numbers that seem to be times and are not read" in notice.found
    (run,) = read_recommendations(times, name="als", mapping={"score": "column 3"})
    assert "unread-scores" not in {notice.code for notice in run.notices}


@pytest.mark.parametrize(
    ("rows", "orders"),
    [
        ("{user},{item},{early},{score}", {"score": "column 4"}),
        ("{user},{item},{rank},{early}", {"rank": "column 3"}),
        ("{user},{item},{early},{rank}", {"rank": "column 4"}),
    ],
)
def test_large_numbers_beside_a_score_or_rank_order_no_list(rows: str, orders: dict[str, str]) -> None:
    """They may be times of the last century."""
    filled = "".join(
        rows.format(user=user, item=100 + rank, early=956_703_932 + user, score=1 / rank, rank=rank) + "\n"
        for user in range(4)
        for rank in (1, 2, 3)
    )
    (run,) = read_recommendations(filled.encode(), name="als")
    assert run.mapping == {"user_id": "column 1", "item_id": "column 2", **orders}


def test_only_numbers_like_times_are_told_as_such() -> None:
    rows = "".join(f"{n // 3},{n},2024-01-0{1 + n},2024-02-0{1 + n},{n % 3}\n" for n in range(9))
    (run,) = read_recommendations(rows.encode(), name="als")
    assert "unread-scores" not in {notice.code for notice in run.notices}


@pytest.mark.parametrize("time", ["{compact}", "{slashes}"])
def test_dates_of_all_forms_in_rows_without_a_header_are_times(time: str) -> None:
    table = read_upload("truth", rows_of(f"{{user}},{{item}},{time},{{rating}}")).table
    assert table["timestamp"].to_pylist()[0] == datetime(2024, 1, 1)  # noqa: DTZ001 - without a zone
    assert table["relevance"].to_pylist()[0] == 2.0
    read = read_upload("predictions", rows_of(f"{{user}},{{item}},{{rating}},{time},{{score}}"))
    assert read.mapping["prediction"] == "column 5"


@pytest.mark.parametrize("fourth", ["{rating}", "-{score}", "{rank}"])
def test_small_numbers_in_a_fourth_column_are_no_times(fourth: str) -> None:
    rows = rows_of(f"{{user}},{{item}},{{rating}},{fourth}")
    read = read_upload("truth", rows)
    assert set(read.mapping) == {"user_id", "item_id", "relevance"}
    (notice,) = [notice for notice in read.notices if notice.code == "no-times"]
    assert "timestamp=column 4" in notice.fix
    chosen = read_upload("truth", rows, mapping={"timestamp": "column 4"})
    assert "timestamp" in chosen.mapping
    assert "no-times" not in {notice.code for notice in chosen.notices}
    by_fourth = read_upload("truth", rows, mapping={"relevance": "column 4"})
    assert "no-times" not in {notice.code for notice in by_fourth.notices}
