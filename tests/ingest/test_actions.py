"""Notices on the format of a file are separated from those on its data."""

from __future__ import annotations

from io import BytesIO

from recdash import ingest
from recdash.errors import Problem
from recdash.ingest.actions import without_formats


def test_a_semicolon_is_no_news_where_candidates_are_compared() -> None:
    read = ingest.read_upload("truth", BytesIO(b"user_id;item_id;relevance\nu;a;0,5\nu;b;1\n"))
    assert [notice.code for notice in read.notices] == ["delimiter", "decimal-comma"]
    ties = Problem("ties", "run 'als'", "3 rows with ties", "")
    assert without_formats([*read.notices, ties]) == [ties]
