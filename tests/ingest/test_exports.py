"""Tables as spreadsheets, R and databases export them mean the same lists as the plain table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import pytest

import recdash
from recdash.errors import UploadError
from recdash.ingest import read_recommendations, read_upload

NAMES = ("user_id", "item_id", "rank", "score")
ROWS = [
    (101 + user, 2001 + (3 * user + rank) % 40, rank, 1 - rank / 16)
    for user in range(12)
    for rank in range(1, 11)
]
Cells = Callable[..., str]


def table(header: str, row: Cells, end: str = "") -> bytes:
    return (header + "\n" + "".join(row(*cells) + "\n" for cells in ROWS) + end).encode()


def joined(*cells: object) -> str:
    return ",".join(map(str, cells))


PLAIN = table(",".join(NAMES), joined)
NUMBERS = {row: number for number, row in enumerate(ROWS, 1)}
EXPORTS: dict[str, tuple[bytes, str, set[str]]] = {
    "rows of nothing at the end": (
        PLAIN + b",,,\n" * 20, "accept with warning", {"missing-user-id", "missing-item-id"},
    ),
    "a total at the end": (PLAIN + b"Total: 120,,,\n", "accept with warning", {"footer"}),
    "a remark at the end": (PLAIN + b"End of list,,,\n", "accept with warning", {"missing-item-id"}),
    "a delimiter at the end of rows": (
        table(",".join(NAMES), lambda *cells: joined(*cells) + ","),
        "accept with warning", {"trailing-delimiter"},
    ),
    "row names of R": (
        table(
            " ".join(f'"{name}"' for name in NAMES),
            lambda *cells: '"{}" "{}" "{}" {} {}'.format(NUMBERS[cells], *cells),
        ),
        "accept with mapping", {"unnamed-column"},
    ),
    "row names of pandas' to_string": (
        table("  " + " ".join(NAMES), lambda *cells: f"{NUMBERS[cells] - 1:<4}" + " ".join(map(str, cells))),
        "accept with mapping", {"unnamed-column"},
    ),
    "titles above the header": (
        b"Recommendations of ALS\nexported,2026-11-01\n\n" + PLAIN, "accept with mapping", {"comments"},
    ),
    "a title with empty cells": (b"Recommendations of ALS,,,\n" + PLAIN, "accept with mapping", {"comments"}),
}  # fmt: skip


def lists(data: bytes) -> list[tuple[object, ...]]:
    (run,) = read_recommendations(data)
    rows = [tuple(row.values()) for batch in run.batches() for row in batch.to_pylist()]
    return [(str(user), str(item), rank, score) for user, item, rank, score in rows]


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_as_the_plain_table(name: str) -> None:
    data, action, codes = EXPORTS[name]
    inspected = recdash.inspect(data, "run", name="als.csv")
    assert inspected.action == action, inspected.problems
    assert codes <= {notice.code for notice in inspected.notices}
    assert lists(data) == lists(PLAIN)


def test_a_row_without_ids_is_listed_once_as_rejected() -> None:
    inspected = recdash.inspect(PLAIN + b"End of list,,,\n", "run", name="als.csv")
    assert [(reject.row, reject.why) for reject in inspected.rejects] == [(121, "no item id")]
    assert inspected.rows == 120


def test_a_title_with_a_comma_in_every_row_does_not_move_the_columns() -> None:
    with pytest.raises(UploadError, match="3 fields in a table of 2 columns"):
        read_upload("catalogue", b"item_id,title\n7,Heat, 1995\n9,Alien, 1979\n")


LISTS: Mapping[str, Mapping[str, float]] = {
    "ann": {"i1": 0.25, "i2": 0.5}, "bob": {"i3": 0.75}, "cid": {"i1": 1e-05, "i4": 2},
}  # fmt: skip
SCORED = {
    (user, item, score) for user, of_user in LISTS.items() for item, score in of_user.items()
}  # fmt: skip


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()


def of_personalize(user: str, items: Mapping[str, float] | None) -> dict[str, Any]:
    """A line of a batch recommendation job of Amazon Personalize; one that failed has no output."""
    output = items and {"recommendedItems": list(items), "scores": list(items.values())}
    return {"input": {"userId": user}, "output": output, "error": None if items else "no such user"}


BY_ITEM = [{"user": user, "recs": dict(items)} for user, items in LISTS.items()]
FRAME = pd.DataFrame(sorted(SCORED), columns=["user_id", "item_id", "score"])
STRUCTURES = {
    "{item: score} in JSON lines": lines(BY_ITEM),
    "{item: score} and an empty one": lines([*BY_ITEM, {"user": "dan", "recs": {}}]),
    "{item: score} with scores in quotes": lines(
        [row | {"recs": {item: str(score) for item, score in row["recs"].items()}} for row in BY_ITEM]
    ),
    "{item: score} in a list of rows": json.dumps(BY_ITEM).encode(),
    "Amazon Personalize": lines([of_personalize(*given) for given in LISTS.items()]),
    "Amazon Personalize with an error": lines(
        [of_personalize(*given) for given in [*LISTS.items(), ("dan", None)]]
    ),
    "pandas, orient=index": (FRAME.to_json(orient="index") or "").encode(),
    "pandas, orient=index, from 1": (FRAME.set_index(FRAME.index + 1).to_json(orient="index") or "").encode(),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_lists_in_other_structures_of_json_are_read(name: str) -> None:
    (run,) = read_recommendations(STRUCTURES[name], name="als")
    rows = [row for batch in run.batches() for row in batch.to_pylist()]
    assert {(row["user_id"], row["item_id"], row["score"]) for row in rows} == SCORED
    assert len(rows) == len(SCORED)


def test_an_item_without_a_score_is_ranked_last() -> None:
    (run,) = read_recommendations(
        lines([{"user": "ann", "recs": {"i1": None, "i2": 0.5}}, BY_ITEM[1]]), name="als"
    )
    rows = [row for batch in run.batches() for row in batch.to_pylist() if row["user_id"] == "ann"]
    assert [(row["item_id"], row["score"]) for row in rows if row["score"] == 0.5] == [("i2", 0.5)]
    assert "score-nan" in {notice.code for notice in run.notices}


def test_objects_that_are_no_lists_are_refused_with_their_fields() -> None:
    with pytest.raises(
        UploadError, match="objects with the fields i1, i2, i3, where a list of items is expected"
    ):
        list(
            read_recommendations(lines([{"user": "ann", "recs": {"i1": "x", "i2": 0.5}}, BY_ITEM[1]]))[
                0
            ].batches()
        )


def test_an_index_that_holds_users_is_a_column_to_choose() -> None:
    document = FRAME.drop_duplicates("user_id").set_index("user_id").to_json(orient="index") or ""
    with pytest.raises(UploadError, match="no user column; found: index, item_id, score"):
        read_recommendations(document.encode(), name="als")
    (run,) = read_recommendations(document.encode(), name="als", mapping={"user_id": "index"})
    assert {user for batch in run.batches() for user in batch["user_id"].to_pylist()} == set(LISTS)
