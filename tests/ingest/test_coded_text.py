"""Text is encoded with the codes and the dictionary that Arrow's own function gives."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recdash.ingest.formats.coded_text import coded

TEXTS = st.one_of(
    st.integers(0, 30).map(str), st.sampled_from(["", "007", "7", "12.0", " 7", "x", "é", "1" * 19, "9" * 18])
)


def _same(text: pa.Array) -> None:
    ours, theirs = coded(text), text.dictionary_encode()
    assert ours.type == theirs.type
    assert ours.indices.equals(theirs.indices)
    assert ours.dictionary.equals(theirs.dictionary)


@given(st.lists(TEXTS), st.integers(1, 9), st.integers(0, 5))
def test_codes_are_those_of_arrow(values: list[str], times: int, skipped: int) -> None:
    _same(pa.array([value for value in values for _ in range(times)], pa.string()).slice(skipped))


@pytest.mark.parametrize("last", ["42", "042", "word"])
def test_the_last_row_decides_whether_all_are_plain_numbers(last: str) -> None:
    numbers = [str(number % 97) for number in range(10_000)]
    _same(pa.array([*numbers, last], pa.string()))


@pytest.mark.parametrize("last", ["42", "042", "word"])
def test_runs_may_end_after_the_first_rows(last: str) -> None:
    runs = [str(number // 50) for number in range(10_000)]
    _same(pa.array([*runs, *(str(number % 97) for number in range(1_000)), last], pa.string()))
