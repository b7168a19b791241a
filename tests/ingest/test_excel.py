"""Excel workbooks: the sheet that fits, ids as everywhere, and the limits of other files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from workbook import sheet, workbook

from recdash.errors import UploadError
from recdash.ingest import Limits, Sheet, look, preview, read_recommendations, read_upload, sheets

TRUTH = [
    ["user_id", "item_id", "rating"],
    ["007", 9780306406157, 4],
    ["8", 12, 2.5],
    [None, None, None],
    ["9", 3, 5],
]
NOTES = [["note"], ["made by hand"]]
ONE, TWO = workbook({"orders": TRUTH}), workbook({"About": NOTES, "orders": TRUTH, "more": TRUTH[:3]})


def rows(source: Any, **how: Any) -> list[tuple[Any, ...]]:
    table = read_upload("truth", source, **how).table
    return list(zip(*(table[name].to_pylist() for name in ("user_id", "item_id", "relevance")), strict=True))


def refused(source: Any, **how: Any) -> str:
    with pytest.raises(UploadError) as refusal:
        read_upload("truth", source, **how)
    return str(refusal.value)


def test_a_workbook_without_sheets_is_refused_in_words() -> None:
    assert "the workbook has no sheet" in refused(workbook({}), name="orders.xlsx")
    assert "the workbook has no sheet" in refused(Sheet(workbook({}), "orders"), name="orders.xlsx")


def test_ids_keep_their_digits_and_empty_rows_are_no_rows() -> None:
    # Excel has floats only: whole ones are ids again, and texts keep their zeros
    assert rows(ONE) == [("007", 9780306406157, 4.0), ("8", 12, 2.5), ("9", 3, 5.0)]
    assert {notice.code for notice in read_upload("truth", ONE).notices} == {"columns-guessed"}


def test_ids_beyond_what_excel_holds_are_refused() -> None:
    table = [["user_id", "item_id"], ["a", 12345678901234567890]]
    assert "is not an id" in refused(workbook({"x": table}))


def test_a_column_of_numbers_and_texts_is_text() -> None:
    table = [["user_id", "item_id"], ["a", 12], ["b", "x7"]]
    assert read_upload("truth", workbook({"x": table})).table["item_id"].to_pylist() == ["12", "x7"]


def test_of_several_sheets_the_first_that_fits_is_read_and_named() -> None:
    upload = read_upload("truth", TWO)
    assert upload.table.num_rows == 3
    assert [(n.code, n.found) for n in upload.notices if n.code == "sheet"] == [
        ("sheet", "read from the sheet 'orders', one of 3: About, orders and more")
    ]


def test_a_sheet_can_be_chosen() -> None:
    assert len(rows(Sheet(TWO, "more"))) == 2
    assert "sheet" not in {notice.code for notice in read_upload("truth", Sheet(TWO, "more")).notices}
    assert "no sheet is called 'mine'; found: About, orders and more" in refused(Sheet(TWO, "mine"))
    assert "no user column; found: note" in refused(Sheet(TWO, "About"))


def test_a_separate_process_reads_the_same() -> None:
    limits = Limits(read_seconds=60, rows=100)
    assert rows(Sheet(TWO, "more"), limits=limits) == rows(Sheet(TWO, "more"))
    assert look(TWO, limits=limits) == look(TWO)
    assert (look(TWO).sheets, look(TWO).sheet) == (("About", "orders", "more"), "orders")
    (run,) = read_recommendations(Sheet(ONE, "orders"), name="mine", limits=limits)
    assert sum(batch.num_rows for batch in run.batches()) == 3


TITLED = [["Orders of March"], [], ["made by hand"], *TRUTH]


def test_lines_above_the_table_of_a_sheet_are_not_read_and_told() -> None:
    assert rows(workbook({"orders": TITLED})) == rows(ONE)
    (notice,) = [
        n for n in read_upload("truth", workbook({"orders": TITLED})).notices if n.code == "comments"
    ]
    assert notice.found == "2 lines above the table, such as 'Orders of March'"
    assert (notice.count, notice.example) == (2, "'Orders of March'")
    assert sheets(workbook({"a": TITLED, "b": NOTES, "c": TRUTH})) == ("a", "c")
    assert look(workbook({"About": NOTES, "more": TITLED})).sheet == "more"


def test_a_known_name_alone_in_the_first_row_is_the_header() -> None:
    table = [["user_id"], ["u1", "i1"], ["u2", "i2"]]
    assert look(workbook({"x": table})).columns[0] == "user_id"
    assert look(workbook({"x": [["Users"], *TRUTH]})).columns == ("user_id", "item_id", "rating")


def test_a_problem_says_the_row_of_the_sheet_below_lines_and_empty_rows() -> None:
    table = [["Title"], [], ["user_id", "item_id", "rating"], ["a", 1, 3], [], ["b", 2, "good"]]
    assert "row 6 of sheet 'x'" in refused(workbook({"x": table}))


def test_a_problem_says_the_row_of_the_sheet() -> None:
    table = [["user_id", "item_id", "rating"], ["a", 1, 3], ["b", 2, "good"]]
    assert "row 3 of sheet 'x'" in refused(workbook({"x": table}))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(rows=2), "3 rows, over the limit of 2"),
        (Limits(columns=2), "3 columns, over the limit of 2"),
        (Limits(inflated_bytes=100), "bytes of unpacked size"),
        (Limits(upload_bytes=100), "bytes in the file"),
    ],
)
def test_the_limits_of_other_files_hold(limits: Limits, words: str) -> None:
    assert words in refused(
        ONE if limits.rows is None else workbook({"x": [*TRUTH[:3], TRUTH[4]]}), limits=limits
    )


def test_a_sheet_of_empty_cells_is_refused_before_it_is_read() -> None:
    far = sheet(TRUTH).replace(
        "</sheetData>", '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    )
    book = workbook({"x": TRUTH}, extra={"xl/worksheets/sheet1.xml": far.encode()})
    assert "1,048,576 rows and 16,384 columns" in refused(book)


@pytest.mark.parametrize(
    "cell",
    [
        "<row r='1048576'><c r='XFD1048576'><v>1</v></c></row>",
        '<row r="1048576"><c x=">" r = "XFD1048576"><v>1</v></c></row>',
        '<row r="4"><c r="xfd1048576"><v>1</v></c></row>',
        '<row r="4"><c r="A4000000000"><v>1</v></c></row>',
        '<row r="4"><c r="nanC4"><v>1</v></c></row>',
        f'<row r="4"><c r="{"D" * 34}4"><v>1</v></c></row>',
        f'<row r="4"><c r="A{"9" * 5000}"><v>1</v></c></row>',
        '<row r="99999999"><c><v>1</v></c></row>',
    ],
    ids=[
        "single quotes",
        "blanks",
        "small letters",
        "row",
        "four letters",
        "34 letters",
        "5,000 digits",
        "row alone",
    ],
)
def test_a_far_cell_is_refused_however_its_place_is_written(cell: str) -> None:
    far = sheet(TRUTH).replace("</sheetData>", f"{cell}</sheetData>")
    book = workbook({"x": TRUTH}, extra={"xl/worksheets/sheet1.xml": far.encode()})
    assert re.search(r"a sheet of [\d,]+ rows and [\d,]+ columns", refused(book))


def test_a_bomb_is_refused_by_its_unpacked_size() -> None:
    bomb = workbook({"x": TRUTH}, extra={"xl/media/zeros.bin": bytes(30_000_000)})
    assert "times its compressed size" in refused(bomb, limits=Limits(compression_ratio=100))


def test_a_damaged_workbook_is_refused() -> None:
    broken = workbook({"x": TRUTH}, extra={"xl/worksheets/sheet1.xml": b"<worksheet><sheetData><row"})
    assert "Save the sheet with the table as CSV" in refused(broken)
    assert preview("truth", ONE[:400]).problems
