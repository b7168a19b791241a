"""Files changed at random: each is read or refused in words, soon, and within little memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from mutated_files import HOSTILE, Good, bit_flips, good_files, mutants, outcome, watched

FORMATS = sorted(good_files())
QUICK = ("csv", "json", "parquet", "zip")
"""A text, a tree, a table of columns and a packed file: changed each time, the others by the long tests."""
FEW = 11
"""Mutants of a format in the quick test; the long one makes ten thousand."""


@pytest.mark.parametrize("kind", FORMATS)
def test_the_files_that_are_changed_are_good_ones(kind: str) -> None:
    assert [outcome(file) for file in good_files()[kind]] == ["read"] * len(good_files()[kind])


@pytest.mark.parametrize("kind", QUICK)
def test_a_changed_file_is_read_or_refused_in_words(kind: str) -> None:
    seen = list(watched(kind, 0, FEW))
    assert [each for each in seen if not each.is_good] == []
    assert len(seen) == FEW
    assert set(Counter(each.said for each in seen)) == {"read", "refused"}


@pytest.mark.long
@pytest.mark.parametrize("kind", FORMATS)
def test_ten_thousand_changed_files_are_read_or_refused_in_words(kind: str) -> None:
    assert [each for each in watched(kind, 0, 10_000, seed=1) if not each.is_good] == []


@pytest.mark.long
@pytest.mark.parametrize("place", range(len(good_files()["parquet"])))
def test_every_bit_of_a_parquet_footer_may_flip(place: int) -> None:
    n_bits = sum(1 for _ in bit_flips(good_files()["parquet"][place].data, 0, 10**9))
    assert n_bits > 1000
    assert [each for each in watched(f"footer{place}", 0, n_bits) if not each.is_good] == []


def test_a_mutant_is_the_same_whenever_it_is_made() -> None:
    made = [file.data for _, file in mutants("json", 0, 5, 0)]
    assert made == [file.data for _, file in mutants("json", 0, 5, 0)]
    assert made != [file.data for _, file in mutants("json", 0, 5, 1)]


def test_an_error_that_is_not_ours_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_file: Good) -> None:
        raise IndexError("a mistake")

    monkeypatch.setitem(outcome.__globals__["USES"], "run", broken)
    assert "IndexError: a mistake" in outcome(good_files()["csv"][0])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_did_harm_is_read_or_refused_in_words(name: str, shared_data: Path) -> None:
    data = (shared_data / "hostile" / name).read_bytes()
    assert outcome(Good(name, HOSTILE[name], data)) in ("read", "refused")
