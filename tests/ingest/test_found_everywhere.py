"""What inspecting a file finds in its lists is also found where it is scored, added and planned."""

from __future__ import annotations

from pathlib import Path

import pytest

import recdash
from recdash.errors import UploadError
from recdash.ingest import preview, read_recommendations

TRUTH = "user_id,item_id\n" + "".join(f"u{user},i{user}\n" for user in range(4))
LISTS = [
    (user, f"i{user + place}" if place < 2 else "pad", place + 1) for user in range(4) for place in range(4)
]
PADDED = "user_id,item_id,rank\n" + "".join(f"u{user},{item},{rank}\n" for user, item, rank in LISTS)
TREC = "".join(
    f"u{user} Q0 i{user + place} {place + 1} 0.{place + 1} als\n" for user in range(4) for place in range(3)
)


def codes_of(run: str) -> dict[str, set[str]]:
    scored = recdash.evaluate({"als": run.encode()}, TRUTH.encode(), metrics="ndcg@2")
    inspected = recdash.inspect(run.encode(), "run", name="als")
    together = recdash.inspect(run.encode(), "run", name="als", truth=TRUTH.encode())
    return {
        "evaluate": {notice.code for notice in scored.notices()},
        "inspect": {notice.code for notice in inspected.notices},
        "with a test set": {notice.code for notice in together.notices},
    }


@pytest.mark.parametrize(("run", "code"), [(PADDED, "padded-items"), (TREC, "trec-rank-conflict")])
def test_each_way_of_reading_finds_it(run: str, code: str) -> None:
    assert [way for way, codes in codes_of(run).items() if code not in codes] == []


def test_a_rank_that_contradicts_the_scores_is_seen_before_adding_and_can_be_chosen() -> None:
    assert "trec-rank-conflict" in {notice.code for notice in preview("run", TREC.encode()).notices}
    by_rank = preview("run", TREC.encode(), mapping={"rank": "rank"})
    assert "trec-rank-conflict" not in {notice.code for notice in by_rank.notices}
    assert by_rank.problems == ()


def test_an_empty_column_of_scores_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "als.csv"
    path.write_text("user_id,item_id,score\n" + "".join(f"u{user},i{user},\n" for user in range(4)))
    inspected = recdash.inspect(path, "run")
    assert inspected.action == "accept with warning"
    warning = next(notice for notice in inspected.notices if notice.code == "empty-scores")
    assert "score=NAME" in warning.fix
    (run,) = read_recommendations(path)
    assert (run.has_score, sum(batch.num_rows for batch in run.batches())) == (False, 4)
    with pytest.raises(UploadError, match="it is empty in every row"):
        read_recommendations(path, mapping={"score": "score"})


def test_scores_of_which_some_are_missing_are_kept() -> None:
    rows = "".join(f"u{user},i{user},{'' if user else 0.5}\n" for user in range(60))
    (run,) = read_recommendations(f"user_id,item_id,score\n{rows}".encode())
    assert run.has_score
