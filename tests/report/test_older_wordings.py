"""Reports of older wordings about what is written in another way today: confirmed by the rules of their
time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from report_tables import CANDIDATES, SPREAD, USERS, lists, opened, rated_films, with_runs

from recdash.report.document import WORDING
from recdash.report.reproduce.reproduce import reproduction

OLDER = Path(__file__).parent / "wordings"
"""Written by older releases of recdash: reports of wording 7 and 8, and one of the first format."""
NEAR_ZERO = {
    **CANDIDATES,
    "popular": lists(lambda number: 0 if number else 4),
    "als": lists(lambda _: 1),
}
"""popular has an MRR@4 of 0.25 / 40 = 0.00625, als of 1: 15,900 % above it."""
HIDDEN = {
    **CANDIDATES,
    "popular": lists(lambda _: 3),
    "als": lists(lambda number: 1 if number >= 30 else 3),
    "ease": lists(lambda number: 1 if number % 5 < 3 else 3),
}
"""als equals popular for all known users; ease is better for no item that was rated 4 or more."""


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("wording-8", HIDDEN),
        ("wording-7", SPREAD),
        ("wording-7-threshold", SPREAD),
        ("first-format-near-zero", NEAR_ZERO),
    ],
)
def test_they_are_confirmed(tmp_path: Path, name: str, candidates: dict[str, pd.DataFrame]) -> None:
    space, file = opened(tmp_path), OLDER / f"{name}.json"
    rated_films(space, candidates)
    assert json.loads(file.read_text("utf-8"))["wording"] < WORDING
    found = reproduction(space, file)
    assert found.holds, found.text
    assert found.checked.numbers > 300


ALS = lists(lambda number: 1 if number % 7 == 0 else 0 if number % 7 == 1 else 2 + number % 2)
UNSERVED = {
    "popular": lists(lambda number: 2 + number % 2),
    "als": ALS[ALS["user_id"].isin(USERS[:30])],
    "ease": lists(lambda _: 0),
}
"""als gives no recommendations to the ten new users, who are most of its loss; ease has no hit, so that
the interval of its loss is wider than the value of popular."""


def test_one_that_leaves_users_without_recommendations_is_confirmed(tmp_path: Path) -> None:
    space, file = opened(tmp_path), OLDER / "wording-8-unserved.json"
    with_runs(space, UNSERVED)
    found = reproduction(space, file)
    assert found.holds, found.text
    assert found.checked.numbers > 200
