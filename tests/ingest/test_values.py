"""Ids, ranks, scores and the rest: what is read from what was written, and what is said about it."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdash.domain.kinds import TableKind
from recdash.errors import UploadError
from recdash.ingest import preview, read_recommendations, read_upload


def run_of(source: Any, **options: Any) -> tuple[dict[str, list[Any]], str]:
    """Columns and notices of a single run."""
    (run,) = read_recommendations(source, **options)
    columns = pa.Table.from_batches(list(run.batches())).to_pydict()
    return columns, "\n".join(map(str, run.notices))


def refused(kind: TableKind, source: Any, **options: Any) -> str:
    with pytest.raises(UploadError) as refusal:
        read_upload(kind, source, **options)
    return str(refusal.value)


# ── ids ──────────────────────────────────────────────────────────────────────────────────────

IDS: dict[str, tuple[list[str], list[str], str]] = {
    "leading zeros survive": (["007", "7"], ["007", "7"], ""),
    "blanks are trimmed": ([" 7 ", "8"], ["7", "8"], "blanks trimmed around the id in 1 row"),
    "decimals become whole": (["7.0", "8.0"], ["7", "8"], "ids are decimals in 2 rows"),
    "mixed forms meet": (["7.0", "8"], ["7", "8"], "mixed id forms: '12.0' beside '12' in 1 row"),
    "missing ids are left out": (["7", "", "NaN", " "], ["7"], "no user id in 3 rows"),
    "huge numbers keep every digit": (["18446744073709551617"], ["18446744073709551617"], ""),
    "letters stay": (["a.0", "-"], ["a.0", "-"], ""),
}


@pytest.mark.parametrize("promise", IDS)
def test_text_ids(promise: str) -> None:
    written, read, notice = IDS[promise]
    lines = "".join(f"{user},x,0.5\n" for user in written)
    columns, notices = run_of(f"user_id,item_id,score\n{lines}".encode())
    assert columns["user_id"] == read
    assert notice in notices
    assert bool(notice) == bool(notices)


ARROW_IDS: dict[str, tuple[pa.Array, list[Any], str]] = {
    "small integers widen": (pa.array([7], pa.int8()), [7], ""),
    "unsigned 64-bit becomes text": (pa.array([2**63], pa.uint64()), [str(2**63)], ""),
    "whole floats become integers": (pa.array([7.0]), [7], "ids are decimals in 1 row"),
    "NaN is no id": (pa.array([7.0, float("nan")]), [7], "no user id in 1 row"),
    "null is no id": (pa.array([7, None]), [7], "no user id in 1 row"),
    "large text": (pa.array([" 07"], pa.large_string()), ["07"], "blanks trimmed"),
    "text views": (pa.array(["07"], pa.string_view()), ["07"], ""),
    "categories of integers": (pa.array([7, 7]).dictionary_encode(), [7, 7], ""),
}


@pytest.mark.parametrize("promise", ARROW_IDS)
def test_ids_of_tables(promise: str) -> None:
    written, read, notice = ARROW_IDS[promise]
    n_rows = len(written)
    table = pa.table({"user_id": written, "item_id": ["x"] * n_rows, "score": [0.5] * n_rows})
    columns, notices = run_of(table)
    assert columns["user_id"] == read
    assert notice in notices


def test_half_an_id_is_refused() -> None:
    table = pa.table({"user_id": [1.5, 2.0], "item_id": ["x", "y"]})
    with pytest.raises(UploadError, match=r"column 'user_id', row 1: 1.5 is not an id"):
        run_of(table)


@pytest.mark.parametrize("id_", ["7.0", " 7", "", "7\u200b", "e\u0301"])
def test_ids_are_counted_in_every_block_of_a_shared_dictionary(
    id_: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recdash.ingest.formats.parquet.BLOCK_ROWS", 10)
    items = ["a", "\u00e9", id_, "b", "c"] * 20
    file = io.BytesIO()
    pq.write_table(pa.table({"user_id": ["u"] * 100, "item_id": items}), file)
    _, notices = run_of(file.getvalue())
    assert "in 20 rows" in notices


# ── ranks and scores ─────────────────────────────────────────────────────────────────────────

RANKS = {
    "first": "'first' is not a rank. Ranks are whole numbers from 1, the best item first.",
    "": "'' is not a rank",
    "1.5": "'1.5' is not a rank",
    "-3": "'-3' is not a rank",
}


@pytest.mark.parametrize("rank", RANKS)
def test_a_rank_is_a_whole_number_from_one(rank: str) -> None:
    with pytest.raises(UploadError) as refusal:
        run_of(f"user,item,rank\n7,a,1\n7,b,{rank}\n".encode())
    assert "column 'rank', line 3: " in str(refusal.value)
    assert RANKS[rank] in str(refusal.value)


def test_alike_problems_are_counted_and_the_first_is_shown() -> None:
    with pytest.raises(UploadError) as refusal:
        run_of(b"user,item,rank\n7,a,1\n7,b,first\n7,c,second\n")
    assert str(refusal.value.problems[0]) == (
        "column 'rank', line 3: 'first' is not a rank (and 1 more like it). "
        "Ranks are whole numbers from 1, the best item first."
    )
    assert refusal.value.problems[0].count == 2


def test_all_problems_of_a_file_are_told_at_once() -> None:
    with pytest.raises(UploadError) as refusal:
        run_of(b"user,item,rank,score\n7,a,x,0.5\n7,b\n7,c,2,high\n")
    assert [problem.code for problem in refusal.value.problems] == ["bad-rank", "bad-number", "ragged-row"]


def test_a_line_is_counted_as_an_editor_counts_it() -> None:
    with pytest.raises(UploadError, match="line 6: 'x' is not a rank"):
        run_of(b'user,item,rank,note\n\n7,a,1,"two\nlines"\n\n7,b,x,\n')


def test_unusable_scores_go_last_and_are_counted() -> None:
    columns, notices = run_of(b"user,item,score\n7,a,NaN\n7,b,\n7,c,inf\n7,d,-1e3\n")
    assert columns["score"] == [float("-inf"), float("-inf"), float("inf"), -1000.0]
    assert "NaN or no score in 2 rows" in notices
    assert "inf or -inf as score in 1 row" in notices


NO_SCORES: dict[str, Any] = {
    "CSV": b"user,item,score\n7,a,0.5\n7,b,NaN\n7,c,\n",
    "TREC": b"7 Q0 a 1 0.5 als\n7 Q0 b 2 nan als\n7 Q0 c 3 NaN als\n",
    "JSON lines": b'{"user":7,"item":"a","score":0.5}\n{"user":7,"item":"b","score":NaN}\n'
    b'{"user":7,"item":"c"}\n',
    "JSON by user": {"7": {"a": 0.5, "b": None, "c": float("nan")}},
    "table": pa.table({"user": [7] * 3, "item": ["a", "b", "c"], "score": [0.5, float("nan"), None]}),
    "lists": pa.table({"user": [7], "items": [["a", "b", "c"]], "scores": [[0.5, float("nan"), None]]}),
}


@pytest.mark.parametrize("form", NO_SCORES)
def test_every_item_without_a_score_is_counted_once_whatever_the_form_and_the_passes(form: str) -> None:
    (run,) = read_recommendations(NO_SCORES[form])
    for _ in range(2):
        tables = pa.Table.from_batches(list(run.batches(columns=("user_id", "item_id", "score"))))
    assert tables["score"].to_pylist() == [0.5, float("-inf"), float("-inf")]
    assert [notice.count for notice in run.notices if notice.code == "score-nan"] == [2]


THOUSANDS = {
    "a larger number without": ["1,200", "900"],
    "two separators": ["1,200", "1,200,300"],
    "a point for decimals": ["1,200", "0.5"],
    "both": ["1,200", "2,300.50"],
    "empty cells between": ["", "1,200", "NaN", "900"],
}


@pytest.mark.parametrize("case", THOUSANDS)
def test_a_comma_for_thousands_is_refused_rather_than_read_as_decimal(case: str) -> None:
    lines = "".join(f"7\t{item}\t{score}\n" for item, score in enumerate(THOUSANDS[case]))
    line = 2 + THOUSANDS[case].index("1,200")
    with pytest.raises(UploadError, match=f"column 'score', line {line}: '1,200' has a thousands separator"):
        run_of(f"user\titem\tscore\n{lines}".encode())


def test_a_comma_for_thousands_is_found_out_by_a_value_far_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.ingest.formats.delimited.USUAL_BLOCK_BYTES", 1000)
    lines = "".join(f"7\t{item}\t1,200\n" for item in range(1000))
    with pytest.raises(UploadError) as refusal:
        run_of(f"user\titem\tscore\n{lines}7\tx\t900\n".encode())
    assert "column 'score', line 2: '1,200' has a thousands separator" in str(refusal.value)


@pytest.mark.parametrize(
    ("scores", "read"),
    [
        (["0,5", "900"], [0.5, 900.0]),
        (["1,200", "0,9"], [1.2, 0.9]),
        (["0,125", "100"], [0.125, 100.0]),
        (["1,234", "12"], [1.234, 12.0]),
        (["1,200", "900", "12,5"], [1.2, 900.0, 12.5]),
    ],
)
def test_a_comma_is_decimal_where_nothing_speaks_against_it(scores: list[str], read: list[float]) -> None:
    lines = "".join(f"7;{item};{score}\n" for item, score in enumerate(scores))
    columns, notices = run_of(f"user;item;score\n{lines}".encode())
    assert columns["score"] == read
    assert "decimal comma detected" in notices


def test_without_rank_and_score_the_file_order_is_said_to_count() -> None:
    assert "file order" in run_of(b"uid,sid\n7,a\n")[1]


# ── columns ──────────────────────────────────────────────────────────────────────────────────

NAMES = {
    "userId,movieId,prediction": ("userId", "movieId", "score", "prediction"),
    "uid,iid,est": ("uid", "iid", "score", "est"),
    "query_id,doc_id,rank": ("query_id", "doc_id", "rank", "rank"),
    "qid,docno,score": ("qid", "docno", "score", "score"),
    "User ID,Item ID,Position": ("User ID", "Item ID", "rank", "Position"),
}


@pytest.mark.parametrize("header", NAMES)
def test_columns_are_known_by_the_names_that_libraries_use(header: str) -> None:
    user, item, role, column = NAMES[header]
    (run,) = read_recommendations(f"{header}\n7,a,1\n".encode())
    assert run.mapping == {"user_id": user, "item_id": item, role: column}


def test_a_mapping_overrules_the_guess() -> None:
    columns, _ = run_of(b"user,item,score,other\n7,a,1,2\n", mapping={"score": "other"})
    assert columns["score"] == [2.0]


def test_an_emptied_role_is_left_out() -> None:
    columns, _ = run_of(b"user,item,score,rank\n7,a,1,x\n", mapping={"rank": ""})
    assert list(columns) == ["user_id", "item_id", "score"]


MAPPINGS = {
    "missing column": (b"item_id,score\na,1\n", {}, "no user column; found: item_id, score"),
    "unknown column": (b"user,item\n7,a\n", {"item_id": "itm"}, "found: user, item. Did you mean 'item'?"),
    "unknown role": (b"user,item\n7,a\n", {"itm_id": "item"}, "Did you mean 'item_id'?"),
    "name twice": (b"user,item,item\n7,a,b\n", {}, "the column 'item' occurs twice"),
}


@pytest.mark.parametrize("case", MAPPINGS)
def test_a_wrong_column_names_what_was_found(case: str) -> None:
    data, mapping, words = MAPPINGS[case]
    with pytest.raises(UploadError) as refusal:
        read_recommendations(data, mapping=mapping)
    assert words in str(refusal.value)


def test_one_of_two_columns_of_a_name_can_be_chosen() -> None:
    columns, _ = run_of(b"user,item,item\n7,a,b\n", mapping={"item_id": "item (2)"})
    assert columns["item_id"] == ["b"]


# ── the other tables ─────────────────────────────────────────────────────────────────────────


def test_the_relevance_of_a_truth_is_its_rating() -> None:
    upload = read_upload("truth", b"user,item,rating\n7,a,3\n7,b,-1\n")
    assert upload.table["relevance"].to_pylist() == [3.0, -1.0]
    assert "negative relevance in 1 row" in str(upload.notices[-1])


def test_yes_and_no_are_relevance() -> None:
    upload = read_upload("truth", b"user,item,relevant\n7,a,yes\n7,b,No\n7,c,TRUE\n")
    assert upload.table["relevance"].to_pylist() == [1.0, 0.0, 1.0]
    assert "yes/no in 3 rows" in str(upload.notices[-1])


def test_relevance_can_be_left_out_or_named() -> None:
    data = b"user,item,rating,weight\n7,a,x,2\n"
    assert read_upload("truth", data, relevance="none").table.column_names == ["user_id", "item_id"]
    assert read_upload("truth", data, relevance="weight").table["relevance"].to_pylist() == [2.0]


@pytest.mark.parametrize("relevance", ["good", "", "inf", "nan"])
def test_every_truth_row_needs_a_relevance(relevance: str) -> None:
    data = f"user,item,rating\n7,a,{relevance}\n".encode()
    assert f"column 'rating', line 2: '{relevance}' is not a relevance" in refused("truth", data)


TIMES = {
    "seconds": ("1375648426", pa.float64()),
    "a day": ("2024-12-31", pa.timestamp("us")),
    "day first": ("1.12.2024 12:33", pa.timestamp("us")),
    "with a zone": ("2024-12-31T10:00:00Z", pa.timestamp("us", "UTC")),
    "something else": ("last May", pa.string()),
}


@pytest.mark.parametrize("form", TIMES)
def test_times_are_numbers_or_iso(form: str) -> None:
    written, kind = TIMES[form]
    table = read_upload("train", f"user,item,timestamp\n7,a,{written}\n".encode()).table
    assert table.schema.field("timestamp").type == kind


def test_a_catalogue_keeps_every_column_and_the_first_row_of_an_item() -> None:
    data = b"movieId,title,year,code,genres\n07,A,1999,007,x|y\n07,B,2000,008,z\n8,C,,009,\n"
    upload = read_upload("catalogue", data)
    assert upload.table.to_pydict() == {
        "item_id": ["07", "8"],
        "title": ["A", "C"],
        "year": [1999, None],
        "code": ["007", "009"],
        "genres": ["x|y", ""],
    }
    assert "1 duplicate item_id" in str(upload.notices[-1])


def test_a_column_called_name_is_a_title_and_not_the_name_of_the_upload() -> None:
    upload = read_upload("catalogue", pa.table({"item_id": [1], "name": ["A"]}).to_pandas())
    assert (upload.name, upload.table["title"].to_pylist()) == ("catalogue", ["A"])


def test_an_open_file_brings_its_own_name() -> None:
    file = io.BytesIO(b"user,item\n7,a\n")
    file.name = "als.csv"
    assert [run.name for run in read_recommendations(file)] == ["als"]


def test_lists_in_a_catalogue_are_joined() -> None:
    table = pa.table({"item_id": [1], "genres": [["Crime", "Drama"]]})
    assert read_upload("catalogue", table).table["genres"].to_pylist() == ["Crime|Drama"]


def test_predictions_on_another_scale_are_noticed() -> None:
    upload = read_upload("predictions", b"uid,iid,r_ui,est\n7,a,1,10\n7,b,5,4.9\n7,c,3,5.2\n")
    assert upload.mapping == {"user_id": "uid", "item_id": "iid", "rating": "r_ui", "prediction": "est"}
    assert "outside the rating scale 1 to 5 in 1 row" in str(upload.notices[-1])


def test_missing_predictions_are_kept_and_counted() -> None:
    upload = read_upload("predictions", b"user,item,rating,prediction\n7,a,1,\n7,b,2,nan\n7,c,2,2\n")
    assert np.isnan(upload.table["prediction"].to_numpy()).tolist() == [True, True, False]
    assert "no prediction in 2 rows" in str(upload.notices[-1])


def test_predictions_must_be_finite_and_not_all_missing() -> None:
    assert "'inf'" in refused("predictions", b"user,item,rating,prediction\n7,a,1,inf\n7,b,2,2\n")
    assert "no prediction in any row" in refused("predictions", b"user,item,rating,prediction\n7,a,1,\n")


SESSIONS = "unit_id,session_id,variant,start_ts,clicks,watch_s\n"


def test_sessions_are_read_with_their_types() -> None:
    upload = read_upload(
        "sessions", f"{SESSIONS}u,s,A,2024-01-01 10:00,3,50.5\nu,t,,2024-01-01,0,0\n".encode()
    )
    assert upload.table.num_rows == 1
    assert upload.table["clicks"].to_pylist() == [3.0]
    assert upload.table.schema.field("start_ts").type == pa.timestamp("us", "UTC")
    assert "no variant in 1 row" in str(upload.notices[0])


def test_a_bad_session_row_names_every_column() -> None:
    message = refused("sessions", f"{SESSIONS}u,s,A,yesterday,x,1\n".encode())
    assert "column 'start_ts', line 2: 'yesterday' is not a time" in message
    assert "column 'clicks', line 2: 'x' is not a number" in message


def test_a_row_without_a_session_is_a_user_who_was_exposed_and_needs_no_clicks() -> None:
    upload = read_upload("sessions", f"{SESSIONS}u,s,A,5,3,50\nv,,B,5,,\nw,NaN,B,5,,\n".encode())
    assert upload.table["unit_id"].to_pylist() == ["u", "v", "w"]
    assert upload.table["session_id"].to_pylist() == ["s", None, None]
    assert upload.table["clicks"].to_pylist() == [3.0, None, None]
    assert "no session in 2 rows" in str(upload.notices[-1])


def test_exposed_users_of_a_parquet_file_may_have_nan_clicks() -> None:
    names = ("unit_id", "session_id", "variant", "start_ts", "clicks", "watch_s")
    nothing = float("nan")
    cells = ([1, 2], ["s", None], ["A", "B"], [5, None], [3.0, nothing], [50.0, nothing])
    table = pa.table(dict(zip(names, cells, strict=True)))
    assert read_upload("sessions", table).table["unit_id"].to_pylist() == [1, 2]


@pytest.mark.parametrize("clicks", ["", "nan", "inf"])
def test_a_session_needs_its_clicks(clicks: str) -> None:
    data = f"{SESSIONS}v,,B,5,,\nu,s,A,5,{clicks},1\n".encode()
    assert f"column 'clicks', line 3: '{clicks}' is not a number" in refused("sessions", data)


@pytest.mark.parametrize("clicks", ["x", "inf"])
def test_what_is_written_beside_no_session_must_still_be_a_number(clicks: str) -> None:
    data = f"{SESSIONS}v,,B,5,{clicks},\n".encode()
    assert f"column 'clicks', line 2: '{clicks}' is not a number" in refused("sessions", data)


def test_clicks_are_never_negative() -> None:
    assert "column 'clicks', line 2: '-1' is below 0" in refused(
        "sessions", f"{SESSIONS}u,s,A,5,-1,1\n".encode()
    )


AGGREGATES = {
    "means": b"variant,metric,n,mean,variance\nA,watch,10,5,2\n",
    "rates": b"variant,metric,successes,trials\nA,clicked,10,50\n",
    "both": b"variant,metric,n,mean,variance,successes,trials\nA,w,10,5,2,,\nA,c,,,,10,50\n",
}


@pytest.mark.parametrize("form", AGGREGATES)
def test_aggregates_have_means_or_rates(form: str) -> None:
    assert read_upload("aggregates", AGGREGATES[form]).table["variant"].to_pylist()[0] == "A"


def test_an_aggregate_without_either_is_refused() -> None:
    assert "neither n, mean and variance" in refused("aggregates", b"variant,metric,n\nA,watch,10\n")
    incomplete = b"variant,metric,successes,trials\nA,c,1,2\nB,c,1,\n"
    assert "in 1 row" in refused("aggregates", incomplete)


def test_a_table_whose_rows_all_lack_an_id_is_refused() -> None:
    assert "no row has all its ids" in refused("truth", b"user,item\n,a\n,b\n")


# ── preview ──────────────────────────────────────────────────────────────────────────────────


def test_a_preview_shows_roles_rows_and_choices() -> None:
    shown = preview("run", b"userId,items\n7,[1 2]\n", name="als.csv")
    assert (shown.name, shown.format, shown.columns) == ("als.csv", "CSV", ("userId", "items"))
    assert shown.mapping == {"user_id": "userId", "item_id": "items"}
    assert shown.required == ("user_id", "item_id")
    assert shown.optional == ("rank", "score", "run", "replicate")
    assert shown.rows == ({"userId": "7", "items": "[1 2]"},)
    assert shown.problems == ()


def test_a_preview_of_bad_data_tells_instead_of_raising() -> None:
    assert preview("run", b"").problems[0].code == "empty-file"
    assert (
        preview("run", b"user,items\n7,1\n", mapping={"user_id": "usr"}).problems[0].code == "unknown-column"
    )
    assert preview("run", b"user,item,rank\n7,a,x\n").problems[0].code == "bad-rank"


def test_the_mapping_of_a_preview_can_be_given_back() -> None:
    data = b"user,rec_1,rec_2\n7,a,b\n"
    shown = preview("run", data)
    assert shown.mapping == {"user_id": "user", "item_id": "rec_1 … rec_2"}
    assert run_of(data, mapping=shown.mapping)[0]["item_id"] == ["a", "b"]


# ── ids that do not occur ────────────────────────────────────────────────────────────────────


def test_a_category_without_rows_is_no_id() -> None:
    users = pd.Categorical(["u", "w"], categories=["u", "v", "w", "z"])
    table = read_upload("truth", pd.DataFrame({"user_id": users, "item_id": ["a", "b"]})).table
    assert table["user_id"].to_pylist() == ["u", "w"]
    assert table["user_id"].unique().to_pylist() == table["user_id"].chunk(0).dictionary.to_pylist()


def test_an_id_whose_rows_are_left_out_is_no_id() -> None:
    table = read_upload("truth", b"user_id,item_id\nu,a\n,x\nw,b\n").table
    assert table["item_id"].chunk(0).dictionary.to_pylist() == ["a", "b"]


def test_sessions_may_lack_the_id_that_others_have() -> None:
    text = b"unit_id,session_id,variant,start_ts,clicks,watch_s\n,s1,A,1,0,0\nu,s2,A,1,0,0\nv,,A,,,\n"
    assert read_upload("sessions", text).table["session_id"].to_pylist() == ["s2", None]


# ── decimals ─────────────────────────────────────────────────────────────────────────────────

DECIMALS: dict[str, Any] = {
    "128 bits": pa.array([Decimal("1.50"), Decimal("2.25")], pa.decimal128(10, 2)),
    "256 bits": pa.array([Decimal("1.50"), Decimal("2.25")], pa.decimal256(50, 3)),
}


@pytest.mark.parametrize("width", DECIMALS)
@pytest.mark.parametrize(("kind", "column"), [("run", "score"), ("truth", "relevance"), ("train", "rating")])
def test_exact_decimals_are_read_as_floats(kind: TableKind, column: str, width: str) -> None:
    table = pa.table({"user": ["7", "8"], "item": ["x", "y"], column: DECIMALS[width]})
    assert read_upload(kind, table).table[column].to_pylist() == [1.5, 2.25]


def test_exact_decimals_beside_floats_are_scores() -> None:
    columns, _ = run_of({"7": {"x": Decimal("0.5"), "y": 0.25}})
    assert columns["score"] == [0.5, 0.25]
