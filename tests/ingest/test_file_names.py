"""Names of files without their suffixes."""

import pytest

from recdash.ingest.file_names import plain_name


@pytest.mark.parametrize(
    ("file_name", "name"),
    [
        ("als.csv", "als"),
        ("als.top20.jsonl.gz", "als.top20"),
        ("EASE λ=250.parquet", "EASE λ=250"),
        ("model.v3", "model.v3"),
        (".csv", ".csv"),
        ("<img src=x onerror=window.recdash_xss=1>.csv", "<img src=x onerror=window.recdash_xss=1>"),
    ],
)
def test_a_plain_name_has_no_known_endings(file_name: str, name: str) -> None:
    assert plain_name(file_name) == name
