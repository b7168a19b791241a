"""Names are shortened in the middle, and the names of a set never read the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recdash.formatting.html import as_label
from recdash.formatting.names import SHORTEST, shortened


def test_a_name_that_fits_stays_as_it_is() -> None:
    assert shortened(["ALS v3", "EASE"], 20) == {"ALS v3": "ALS v3", "EASE": "EASE"}


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    names = ["two_tower_in_batch_negatives_dim128", "two_tower_in_batch_negatives_dim256"]
    # 21 characters: 10 of the beginning, "…", 10 of the end.
    assert list(shortened(names, 21).values()) == ["two_tower_…ves_dim128", "two_tower_…ves_dim256"]


def test_names_with_the_same_ends_keep_what_differs_between_them() -> None:
    names = [f"two_tower_in_batch_lr0.{rate}_negatives_final_dim128" for rate in ("001", "01")]
    short = shortened(names, 24)
    assert len(set(short.values())) == 2
    for name, rate in zip(names, ("lr0.001", "lr0.01"), strict=True):
        assert short[name].startswith("two_tow")
        assert short[name].endswith("128")
        assert f"…{rate}…" in short[name]
    assert max(map(len, short.values())) <= 24


def test_where_there_is_no_room_for_the_difference_a_number_distinguishes() -> None:
    names = [f"{'a' * 40}{'b' * 30}{place:030d}{'c' * 40}" for place in range(30)]
    short = shortened(names, 14)
    assert len(set(short.values())) == 30
    assert max(map(len, short.values())) <= 14


def test_a_short_name_never_takes_the_place_of_one_that_reads_like_it() -> None:
    long = "abcdefghijklmnopqrstuvwxyz"
    taken = shortened([long], 13)[long]
    short = shortened([long, taken], 13)
    assert short[taken] == taken
    assert short[long] != taken


@given(st.lists(st.text("ab…_1", max_size=60), max_size=25), st.integers(0, 40))
def test_short_names_are_as_distinct_as_the_names(names: list[str], longest: int) -> None:
    short = shortened(names, longest)
    assert len(set(short.values())) == len(set(names))
    assert max(map(len, short.values()), default=0) <= max(longest, SHORTEST)
    assert all(short[name] == name for name in names if len(name) <= longest)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("exposures.csv", "exposures.csv"),
        ("als_v3 (1).csv", "als_v3 (1).csv"),
        ("*bold* _it_", r"\*bold\* \_it\_"),
        ("[a](b)", r"\[a\](b)"),
        ("1. x", r"1\. x"),
        (":red[x] $y$ `z`", r"\:red\[x\] \$y\$ \`z\`"),
    ],
)
def test_a_label_escapes_what_would_be_markup_and_nothing_else(name: str, label: str) -> None:
    assert as_label(name) == label
