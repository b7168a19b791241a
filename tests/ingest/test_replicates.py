"""A column that names folds or seeds makes replicates of one candidate."""

from __future__ import annotations

import pytest

from recdash.domain.inputs import Recommendations
from recdash.errors import UploadError
from recdash.ingest import preview, read_recommendations

ROWS = b"user_id,item_id,rank,%s\nu1,a,1,1\nu2,b,1,2\nu1,c,2,1\n"


def items(run: Recommendations) -> list[tuple[str, str]]:
    rows = [row for batch in run.batches() for row in batch.to_pylist()]
    return [(row["user_id"], row["item_id"]) for row in rows]


@pytest.mark.parametrize(
    ("column", "noun"),
    [("fold", "fold"), ("cv_fold", "fold"), ("Random Seed", "seed"), ("split", "split"), ("repeat", "repeat"),
     ("replicate", "replicate")],
)  # fmt: skip
def test_a_column_of_folds_makes_replicates_of_one_candidate(column: str, noun: str) -> None:
    first, second = read_recommendations(ROWS % column.encode(), name="als")
    assert [(one.name, one.replicate, one.noun) for one in (first, second)] == [
        ("als", "1", noun),
        ("als", "2", noun),
    ]
    assert (items(first), items(second)) == ([("u1", "a"), ("u1", "c")], [("u2", "b")])
    assert first.notices[-1].found == f"names 2 {noun}s of one candidate: 1, 2"


def test_recommenders_and_folds_split_together_into_those_that_are_there() -> None:
    rows = b"user_id,item_id,model,fold\nu,a,als,1\nu,b,als,2\nu,c,pop,2\n"
    runs = read_recommendations(rows, name="mine")
    assert [(run.name, run.replicate, items(run)) for run in runs] == [
        ("mine: als", "1", [("u", "a")]),
        ("mine: als", "2", [("u", "b")]),
        ("mine: pop", "2", [("u", "c")]),
    ]


def test_replicates_stand_as_one_counts() -> None:
    rows = b"user_id,item_id,fold\nu,a,10\nu,b,fold 2\nu,c,9\nu,d,fold 1\n"
    assert [run.replicate for run in read_recommendations(rows)] == ["9", "10", "fold 1", "fold 2"]


@pytest.mark.parametrize(
    "values", [("42", "42"), ("train", "test"), ("True", "False"), ("yes", "no")], ids="-".join
)
def test_a_guessed_column_that_names_no_replicates_is_left_out(values: tuple[str, str]) -> None:
    rows = "user_id,item_id,split\nu,a,{}\nu,b,{}\n".format(*values).encode()
    (run,) = read_recommendations(rows)
    assert run.replicate is None
    assert items(run) == [("u", "a"), ("u", "b")]


def test_a_column_that_is_mapped_to_it_makes_replicates_whatever_it_says() -> None:
    rows = b"user_id,item_id,which\nu,a,yes\nu,b,no\n"
    runs = read_recommendations(rows, mapping={"replicate": "which"})
    assert [(run.replicate, run.noun) for run in runs] == [("no", "replicate"), ("yes", "replicate")]


def test_a_column_that_is_mapped_away_makes_none() -> None:
    (run,) = read_recommendations(ROWS % b"fold", mapping={"replicate": ""})
    assert run.replicate is None


def test_rows_without_a_label_belong_to_no_replicate() -> None:
    runs = read_recommendations(b"user_id,item_id,fold\nu,a,1\nu,b,2\nu,c,\n")
    assert [(run.replicate, items(run)) for run in runs] == [("1", [("u", "a")]), ("2", [("u", "b")])]


def test_lists_written_sideways_have_replicates_too() -> None:
    runs = read_recommendations(b"user_id,fold,rec_1,rec_2\nu1,1,a,b\nu2,2,c,d\n")
    assert [(run.replicate, items(run)) for run in runs] == [
        ("1", [("u1", "a"), ("u1", "b")]),
        ("2", [("u2", "c"), ("u2", "d")]),
    ]


def test_a_single_recommender_that_was_mapped_still_names_its_replicates() -> None:
    rows = b"user_id,item_id,which,fold\nu,a,als,1\nu,b,als,2\n"
    runs = read_recommendations(rows, mapping={"run": "which"})
    assert [(run.name, run.replicate) for run in runs] == [("als", "1"), ("als", "2")]


def test_a_preview_shows_the_column_that_is_taken() -> None:
    assert preview("run", ROWS % b"seed").mapping == {
        "user_id": "user_id", "item_id": "item_id", "rank": "rank", "replicate": "seed",
    }  # fmt: skip


def test_what_is_wrong_in_a_replicate_is_said() -> None:
    first, _ = read_recommendations(b"user_id,item_id,rank,fold\nu,a,first,1\nu,b,1,2\n")
    with pytest.raises(UploadError, match="'first' is not a rank"):
        list(first.batches())
