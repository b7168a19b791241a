"""Addresses that only the local engine reads are refused before Spark starts."""

from __future__ import annotations

import pytest

import recdash
from recdash.errors import InputError


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("sql:postgresql://reader:secret@host/shop SELECT * FROM als", "query 'als'"),
        ("https://host/als.parquet", "https://host/als.parquet"),
        ("hf://datasets/films/als.parquet", "hf://datasets/films/als.parquet"),
        ("delta:/lake/als", "delta:/lake/als"),
        ("iceberg:lake.recs.als", "iceberg:lake.recs.als"),
    ],
)
def test_an_address_of_the_local_engine_is_refused(address: str, place: str) -> None:
    scheme = address.partition(":")[0]
    with pytest.raises(InputError) as refused:
        recdash.Spark().rows(address)
    assert str(refused.value) == (
        f"{place}: Spark reads no address that begins with {scheme}:. Leave --engine spark out, or give "
        "Spark's own table as table:NAME."
    )
