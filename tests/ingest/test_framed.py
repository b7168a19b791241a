"""Tables as psql, MySQL and Markdown print them, counts of rows below a table, and signs beside numbers."""

from __future__ import annotations

import pytest

from recdash.errors import UploadError
from recdash.ingest import read_recommendations, read_upload

PSQL = """ user_id | item_id | score
---------+---------+-------
 u1      | a "b"   |   0.5
 u1      | i2      |   0.4
(2 rows)

"""
MYSQL = """+---------+---------+-------+
| user_id | item_id | score |
+---------+---------+-------+
| u1      | a "b"   |   0.5 |
| u1      | i2      |   0.4 |
+---------+---------+-------+
2 rows in set (0.00 sec)
"""
MARKDOWN = """| user_id | item_id | score |
|:--------|---------|------:|
| u1 | a "b" | 0.5 |
| u1 | i2 | 0.4 |
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("table", [PSQL, MYSQL, MARKDOWN], ids=["psql", "MySQL", "Markdown"])
def test_a_table_with_a_frame_is_read_with_a_notice(table: str, end: str) -> None:
    (run,) = read_recommendations(table.replace("\n", end).encode())
    rows = [tuple(row.values()) for batch in run.batches() for row in batch.to_pylist()]
    assert rows == [("u1", 'a "b"', 0.5), ("u1", "i2", 0.4)]
    (notice,) = [notice for notice in run.notices if notice.code == "framed-table"]
    assert "user_id" in notice.example
    assert "blanks-trimmed" not in {notice.code for notice in run.notices}


SQLCMD = """user_id,item_id
-------,-------
u1,i1
u2,i2

(2 rows affected)
"""
PADDED = """user_id    ;item_id
-----------;-------
         u1;i1
         u2;i2
"""
SQLITE = """user_id  item_id
-------  -------
u1       i1
u2       i2
"""
SIMPLE = """=======  =======
user_id  item_id
=======  =======
u1       i1
u2       i2
=======  =======
"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("table", [SQLCMD, PADDED, SQLITE, SIMPLE], ids=["sqlcmd", "padded", "SQLite", "rst"])
def test_lines_of_dashes_beside_the_header_are_no_rows(table: str, end: str) -> None:
    upload = read_upload("truth", table.replace("\n", end).encode())
    assert upload.table.select(["user_id", "item_id"]).to_pylist() == [
        {"user_id": "u1", "item_id": "i1"},
        {"user_id": "u2", "item_id": "i2"},
    ]
    (notice,) = [notice for notice in upload.notices if notice.code == "framed-table"]
    assert "line of dashes" in notice.found


def test_a_bad_value_below_a_line_of_dashes_is_named_with_its_line() -> None:
    with pytest.raises(UploadError, match="line 4: 'low' is not a relevance"):
        read_upload("truth", b"user_id,item_id,rating\n-------,-------,------\nu1,i1,3\nu2,i2,low\n")


@pytest.mark.parametrize("row", ["--,--", "-------,i1", "------,-------"])
def test_dashes_that_rule_no_header_stay_rows(row: str) -> None:
    """A line of dashes has one part for each name, none shorter than the name."""
    upload = read_upload("truth", f"user_id,item_id\n{row}\nu1,i1\n".encode())
    assert upload.table.num_rows == 2


def test_empty_cells_at_the_edges_of_psql_stay_cells() -> None:
    (run,) = read_recommendations(
        PSQL.replace("(2 rows)", "         | i3      |   0.3\n u1      | i4      |      ").encode()
    )
    assert [row["item_id"] for batch in run.batches() for row in batch.to_pylist()] == ['a "b"', "i2", "i4"]
    assert {"missing-user-id", "score-nan"} <= {notice.code for notice in run.notices}


def test_a_bad_value_in_a_frame_is_named_with_its_line() -> None:
    (run,) = read_recommendations(PSQL.replace("0.4", "low").encode())
    with pytest.raises(UploadError, match="line 4: 'low' is not a score"):
        list(run.batches())


@pytest.mark.parametrize("footer", ["(2 rows)", "2 rows selected.", "Total: 2", "2 rows in set (0.1 sec)"])
def test_a_count_of_rows_below_a_table_is_no_row(footer: str) -> None:
    upload = read_upload("truth", f"user_id,item_id\nu1,i1\nu2,i2\n\n{footer}\n".encode())
    assert upload.table.num_rows == 2
    (notice,) = [notice for notice in upload.notices if notice.code == "footer"]
    assert notice.example == f"'{footer}'"


@pytest.mark.parametrize(
    "footer",
    [
        "(1,200 rows)", "1,200 rows selected.", "Total: 1,200", "Total rows: 2", "Rows: 2", "2 rows,,",
        '"Total: 2",,', "Total,2,", "Grand total,,2", "Total;2;", "(2 lignes)", "Total : 1 200",
    ],
)  # fmt: skip
def test_a_count_of_rows_may_have_commas(footer: str) -> None:
    delimiter = ";" if ";" in footer else ","
    rows = "user_id,item_id,rating\nu1,i1,3\nu2,i2,4\n".replace(",", delimiter)
    upload = read_upload("truth", f"{rows}{footer}\n".encode())
    assert upload.table.num_rows == 2
    (notice,) = [notice for notice in upload.notices if notice.code == "footer"]
    assert footer in notice.found


@pytest.mark.parametrize(
    "row", ["total,i3,3", "Total: x,i3,3", "u3,2 rows,3", "Total,1,200", "2 rows selected,i3,3"]
)
def test_a_whole_row_is_no_footer(row: str) -> None:
    upload = read_upload("truth", f"user_id,item_id,rating\nu1,i1,3\nu2,i2,4\n{row}\n".encode())
    assert "footer" not in {notice.code for notice in upload.notices}


def test_a_row_of_two_columns_that_counts_something_is_a_row() -> None:
    upload = read_upload("truth", b"user_id,item_id\nu1,1\nu2,2\nTotal,2\n")
    assert upload.table.num_rows == 3


MARKDOWN_BARS = r"""| user_id | item_id | score |
|---------|---------|------:|
| u1 | a\|b "c" | 0.5 |
| u1 | \| | 0.4 |
"""


def test_a_bar_that_markdown_escapes_is_part_of_its_cell() -> None:
    (run,) = read_recommendations(MARKDOWN_BARS.encode())
    assert [row["item_id"] for batch in run.batches() for row in batch.to_pylist()] == ['a|b "c"', "|"]


def test_a_backslash_in_a_table_of_psql_is_a_backslash() -> None:
    (run,) = read_recommendations(PSQL.replace('a "b"', "a\\   ").encode())
    assert [row["item_id"] for batch in run.batches() for row in batch.to_pylist()] == ["a\\", "i2"]


def test_rows_of_hyphens_and_words_are_rows() -> None:
    (run,) = read_recommendations(b"user_id|item_id|score\nu1|-|0.5\nu1|total:|0.4\n")
    assert [row["item_id"] for batch in run.batches() for row in batch.to_pylist()] == ["-", "total:"]


def test_ranks_with_a_number_sign_are_read_with_a_notice() -> None:
    (run,) = read_recommendations(b"user_id,item_id,rank\nu1,i1,#1\nu1,i2,# 2\n")
    assert [row["rank"] for batch in run.batches() for row in batch.to_pylist()] == [1, 2]
    (notice,) = [notice for notice in run.notices if notice.code == "number-sign"]
    assert (notice.count, notice.example) == (2, "'#1' (line 2)")


def test_ranks_as_ordinal_numbers_are_read_with_a_notice() -> None:
    rows = b"user_id,item_id,rank\nu1,i1,1st\nu1,i2,2nd\nu1,i3,3\nu2,i4,11th\n"
    (run,) = read_recommendations(rows)
    assert [row["rank"] for batch in run.batches() for row in batch.to_pylist()] == [1, 2, 3, 11]
    (notice,) = [notice for notice in run.notices if notice.code == "number-sign"]
    assert (notice.count, notice.example) == (3, "'1st' (line 2)")


def test_scores_in_percent_are_read_with_a_notice_unless_others_are_not() -> None:
    (run,) = read_recommendations(b"user_id,item_id,score\nu1,i1,12 %\nu1,i2,3.5%\n")
    assert [row["score"] for batch in run.batches() for row in batch.to_pylist()] == [12.0, 3.5]
    (notice,) = [notice for notice in run.notices if notice.code == "percent"]
    assert notice.count == 2
    (mixed,) = read_recommendations(b"user_id,item_id,score\nu1,i1,12 %\nu1,i2,0.035\n")
    with pytest.raises(UploadError, match="'12 %' is in percent, and other scores are not"):
        list(mixed.batches())
