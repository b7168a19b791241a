"""Reports made before other metrics counted the users that the primary metric names."""

from __future__ import annotations

from pathlib import Path

import pytest
import report_tables
from report_tables import CANDIDATES, USERS, films, opened

from recdash.report.reproduce.reproduce import reproduction

OLDER = Path(__file__).parent / "users"
"""Reports with wording 4, of films in which als has no lists for a fifth of the users."""


@pytest.mark.parametrize("name", [pytest.param("ndcg", marks=pytest.mark.long), "ndcg-of-users-with-lists"])
def test_they_are_confirmed_by_the_rules_of_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    als = CANDIDATES["als"]
    tables = {**CANDIDATES, "als": als[~als["user_id"].isin(USERS[:8])]}
    monkeypatch.setattr(report_tables, "CANDIDATES", tables)
    space = opened(tmp_path)
    films(space)
    found = reproduction(space, OLDER / f"{name}.json")
    assert found.holds, found.text
    assert found.checked.numbers > 500
