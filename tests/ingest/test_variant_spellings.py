"""Variants whose names differ only in case, blanks or Unicode forms are told."""

from __future__ import annotations

import pytest

import recdash
from recdash.domain.kinds import TableKind
from recdash.errors import Problem
from recdash.ingest import read_upload

HEADS: dict[TableKind, str] = {
    "sessions": "unit_id,variant,session_id,start_ts,clicks,watch_s\n",
    "exposures": "unit_id,variant,ts\n",
    "aggregates": "metric,variant,n,mean,variance\n",
}
RESTS: dict[TableKind, str] = {
    "sessions": "s{n},2026-03-01T12:00:00Z,1,2",
    "exposures": "2026-03-01T12:00:00Z",
    "aggregates": "5,1,1",
}


def noticed(kind: TableKind, *variants: str) -> list[Problem]:
    first = "clicks_{n}" if kind == "aggregates" else "u{n}"
    rows = "".join(f"{first},{variant},{RESTS[kind]}\n".format(n=n) for n, variant in enumerate(variants))
    upload = read_upload(kind, f"{HEADS[kind]}{rows}".encode())
    return [notice for notice in upload.notices if notice.code == "variant-spellings"]


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize(
    ("usual", "other", "shown"),
    [
        ("control", "CONTROL", "CONTROL"),
        ("new model", "newmodel", "newmodel"),
        ("new model", "new\u00a0model", r"new\xa0model"),
        ("men\u00fa", "menu\u0301", r"menu\u0301"),
        ("Stra\u00dfe", "STRASSE", "STRASSE"),
        ("a", "\uff21", r"\uff21"),
        ("b", "b\u200b", r"b\u200b"),
        ("b", "b\U000e0101", r"b\U000e0101"),
    ],
)
def test_two_spellings_of_a_variant_are_told_once(
    kind: TableKind, usual: str, other: str, shown: str
) -> None:
    (notice,) = noticed(kind, usual, other, usual, "z", usual)
    assert f"2 spellings of one variant, '{usual}' in 3 rows, '{shown}' in 1 row" in notice.found
    assert (notice.count, notice.example) == (1, f"'{shown}'")


@pytest.mark.parametrize("variants", [("a", "b", "a"), ("v1", "v01"), ("new-model", "new_model", "model")])
def test_other_names_are_other_variants(variants: tuple[str, ...]) -> None:
    assert noticed("exposures", *variants) == []


def test_many_spellings_are_counted_and_the_commonest_named() -> None:
    (notice,) = noticed("exposures", "abc", "abc", "Abc", "aBc", "abC", "ABc")
    assert notice.found.startswith("5 spellings of one variant, 'abc' in 2 rows, 'Abc' in 1 row")
    assert "and 1 more: each is read as a variant" in notice.found
    assert notice.count == 4


def test_the_results_of_a_test_tell_the_spellings() -> None:
    rows = "".join(
        f"u{n},{('control', 'CONTROL', 'new')[n % 3]},s{n},2026-03-01T12:00:00Z,{n % 4},2\n"
        for n in range(60)
    )
    results = recdash.ab_test(sessions=f"{HEADS['sessions']}{rows}".encode(), control="control")
    (notice,) = [notice for notice in results.notices if notice.code == "variant-spellings"]
    assert "'control' in 20 rows, 'CONTROL' in 20 rows" in notice.found
