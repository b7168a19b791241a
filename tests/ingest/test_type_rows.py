"""A row below the header that names the types of the columns is no row of the table."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from workbook import workbook

from recdash.errors import UploadError
from recdash.ingest import read_recommendations, read_upload

ROWS = [{"user_id": "u1", "item_id": "i1"}, {"user_id": "u2", "item_id": "i2"}]
TYPES = [
    "int64,int64", "str,int", "VARCHAR,INTEGER", "object,float64", "varchar(36),BIGINT", "<chr>,<dbl>",
    "Utf8,i64", '"decimal(10,2)",datetime64[ns]', "nvarchar(max),uniqueidentifier", "TEXT,TEXT",
    "character varying,timestamp with time zone", "Nullable(String),LowCardinality(FixedString(16))",
    'UInt64,DateTime64(3)', 'string,"timestamp[us, tz=UTC]"', "array<string>,list[str]",
]  # fmt: skip
FRAME = pd.DataFrame([["object", "int64"], ["u1", "i1"], ["u2", "i2"]], columns=["user_id", "item_id"])
SOURCES: dict[str, Any] = {
    "semicolons": b"user_id;item_id\nstr;str\nu1;i1\nu2;i2\n",
    "blanks": b"user_id item_id\nstr str\nu1 i1\nu2 i2\n",
    "other names": b"customer,product\nstr,str\nu1,i1\nu2,i2\n",
    "an empty line": b"user_id,item_id\n\nstr,str\nu1,i1\nu2,i2\n",
    "Excel": workbook({"truth": [["user_id", "item_id"], ["str", "int"], ["u1", "i1"], ["u2", "i2"]]}),
    "JSON": json.dumps([{"user_id": "string", "item_id": "string"}, *ROWS]).encode(),
    "pandas": FRAME,
}


def pairs(upload: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = upload.table.select(["user_id", "item_id"]).to_pylist()
    return rows


@pytest.mark.parametrize("types", TYPES)
def test_a_row_of_types_below_the_header_is_left_out_with_a_notice(types: str) -> None:
    upload = read_upload("truth", f"user_id,item_id\n{types}\nu1,i1\nu2,i2\n".encode())
    assert pairs(upload) == ROWS
    (notice,) = [notice for notice in upload.notices if notice.code == "type-row"]
    assert (notice.place, notice.count) == ("line 2", 1)


@pytest.mark.parametrize("form", SOURCES)
def test_a_row_of_types_is_left_out_of_every_format(form: str) -> None:
    upload = read_upload("truth", SOURCES[form])
    assert pairs(upload) == ROWS
    assert "type-row" in {notice.code for notice in upload.notices}


def test_a_run_of_ids_alone_loses_only_the_row_of_types() -> None:
    (run,) = read_recommendations(b"user_id,item_id\nobject,object\nu1,i1\nu1,i2\n")
    assert [row for batch in run.batches() for row in batch.to_pylist()] == [
        {"user_id": "u1", "item_id": "i1"},
        {"user_id": "u1", "item_id": "i2"},
    ]


def test_a_bad_value_below_a_row_of_types_is_named_with_its_line() -> None:
    with pytest.raises(UploadError, match="line 4: 'low' is not a relevance"):
        read_upload("truth", b"user_id,item_id,rating\nstr,str,float64\nu1,i1,3\nu2,i2,low\n")


@pytest.mark.parametrize(
    "rows",
    [
        "str,i1\nu1,i1",
        "int64,u1\nu1,i1",
        "text,object\nnumber,i2",
        "time,real\nu1,date",
        "str,int",
        "integers,strings\nu1,i1",
    ],
)
def test_rows_that_may_be_users_and_items_stay(rows: str) -> None:
    """Each cell must be the name of a type, and no cell of the other first rows, of which there is one."""
    upload = read_upload("truth", f"user_id,item_id\n{rows}\n".encode())
    assert upload.table.num_rows == len(rows.split("\n"))
    assert "type-row" not in {notice.code for notice in upload.notices}
