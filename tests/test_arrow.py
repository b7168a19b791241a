"""Text is read as plain numbers only if these can be written back as the same text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from recdash import arrow


def test_digits_alone_are_plain_numbers() -> None:
    column = pa.array(["x", "0", "9" * 18, "10", "007"], pa.string())
    assert arrow.plain_numbers(column.slice(1, 3)).to_pylist() == [0, 10**18 - 1, 10]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "007",
        "00",
        "-1",
        "-0",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "1.0",
        "1e3",
        "0x10",
        "1_0",
        "a",
        "٣",
        "1" * 19,
        None,
    ],
)
def test_one_other_value_leaves_all_as_text(value: str | None) -> None:
    assert arrow.plain_numbers(pa.array(["1", "20", value], pa.string())) is None


def test_no_values_are_no_numbers() -> None:
    assert arrow.plain_numbers(pa.array([], pa.string())) is None
