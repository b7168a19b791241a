"""Who was counted and what was shown, down to the last row, against the same counted by pandas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from small_tables import run, upload

from recdash.domain.hits import Hits, PopulationCounts
from recdash.domain.inputs import Upload
from recdash.engines import exposure, match, read_reference, ungrouped
from recdash.engines.notices import PassCounts, notices
from recdash.errors import InputError


def truth(rows: list[tuple[Any, ...]]) -> Upload:
    return upload("truth", "user_id item_id relevance", rows)


# u, v and w want something, x does not; u has a list of 3, v of 1, w none
TRUTH = truth([("u", "a", 1.0), ("u", "b", 1.0), ("v", "a", 2.0), ("w", "c", 1.0), ("x", "a", 0.0)])
RUN = [
    ("u", "a", 1), ("u", "z", 2), ("u", "a", 3), ("u", "b", 4),
    ("v", "c", 1),
    ("x", "a", 1),
    ("stranger", "a", 1), ("stranger", "b", 2), ("other", "a", 1),
]  # fmt: skip


def test_every_user_of_truth_and_run_is_in_one_place_of_the_ledger() -> None:
    hits, _ = match(run("user_id item_id rank", RUN), read_reference(TRUTH), depth=3)
    assert hits.ledger == PopulationCounts(
        truth_users=4,
        counted=3,
        without_list=1,
        without_relevant=1,
        without_truth=2,
        short_lists=1,
        cut_lists=0,
        duplicates=1,
        duplicate_users=1,
        tied_rows=None,
        tied_users=None,
        rows=9,
    )
    assert hits.list_length.tolist() == [3, 1, 0, 1]


def test_hits_are_places_where_a_list_meets_the_truth_relevant_or_not() -> None:
    reference = read_reference(TRUTH)
    hits, _ = match(run("user_id item_id rank", RUN), reference, depth=3)
    met = [
        (reference.truth.users[user], int(rank), reference.truth.items[int(reference.truth.item[row])])
        for user, rank, row in zip(hits.user.tolist(), hits.rank, hits.row, strict=True)
    ]
    assert met == [("u", 1, "a"), ("u", 3, "b"), ("x", 1, "a")]


def test_strangers_are_counted_once_each_and_said() -> None:
    _, told = match(run("user_id item_id rank", RUN), read_reference(TRUTH))
    said = {notice.code: str(notice) for notice in told}
    assert "2 users not in the test set" in said["users-without-truth"]


@pytest.mark.parametrize("batch_rows", [1, 2, 9])
def test_a_stranger_whose_rows_do_not_stand_together_is_one_stranger(batch_rows: int) -> None:
    rows = [("stranger", "a", 1), ("u", "a", 1), ("stranger", "b", 2)]
    hits, _ = match(run("user_id item_id rank", rows, batch_rows=batch_rows), read_reference(TRUTH))
    assert (hits.ledger.without_truth, hits.ledger.rows) == (1, 3)


def test_a_threshold_decides_who_counts_and_hits_stay() -> None:
    hits, _ = match(run("user_id item_id rank", RUN), read_reference(TRUTH, threshold=2.0))
    assert (hits.ledger.counted, hits.ledger.without_relevant, hits.ledger.without_list) == (1, 3, 0)
    assert len(hits.rank) == 3


def test_a_run_without_any_user_of_the_truth_is_refused_with_examples_of_both() -> None:
    with pytest.raises(InputError) as caught:
        match(run("user_id item_id rank", [("U1", "a", 1)], name="als"), read_reference(TRUTH))
    (problem,) = caught.value.problems
    assert (problem.code, problem.place) == ("no-common-user", "run 'als', column 'user_id'")
    assert "which knows 'u', 'v', 'w'" in problem.found
    assert problem.fix.startswith("Use the same user ids in both files")


def test_a_truth_without_a_relevant_row_is_refused_with_the_rule() -> None:
    with pytest.raises(InputError, match=r"no row is relevant: none of 1 values is > 0"):
        read_reference(truth([("u", "a", 0.0)]))
    with pytest.raises(InputError, match=r"none of 1 values is ≥ 4\. Lower the relevance threshold"):
        read_reference(truth([("u", "a", 3.0)]), threshold=4)


def test_of_a_pair_twice_in_the_truth_the_highest_relevance_counts() -> None:
    reference = read_reference(truth([("u", "a", 1.0), ("u", "a", 3.0), ("u", "b", 2.0), ("u", "a", 2.0)]))
    assert reference.truth.gain.tolist() == [3.0, 2.0]
    (notice,) = reference.notices
    assert "2 duplicate (user, item) rows" in str(notice)


def test_pairs_in_train_and_truth_are_said() -> None:
    train = upload("train", "user_id item_id", [("u", "a"), ("u", "z"), ("v", "a"), ("v", "a"), ("q", "b")])
    reference = read_reference(TRUTH, train=train)
    (notice,) = reference.notices
    assert "2 (user, item) pairs are in both train and truth" in str(notice)
    assert reference.n_train_users == 3


@pytest.mark.parametrize(
    ("train_rows", "n_truth", "said", "unsaid"),
    [
        # one of twenty held-out pairs, and nothing else speaks for users who come back
        (
            [("u0", "a"), ("u0", "z")],
            20,
            "Split again without them, unless users choose the same",
            "as it",
        ),
        # half of the truth is in train; then one of twenty, but train repeats a pair twice
        (
            [("u0", "a"), ("u0", "z")],
            2,
            "this is fine. Otherwise the split leaks",
            "again (",
        ),
        (
            [("u0", "a"), ("q", "b"), ("q", "b"), ("q", "b")],
            20,
            "(train itself contains 2 pairs again)",
            "make the",
        ),
    ],
)
def test_repeat_purchases_are_not_taken_for_a_bad_split(
    train_rows: list[tuple[str, str]], n_truth: int, said: str, unsaid: str
) -> None:
    train = upload("train", "user_id item_id", train_rows)
    held_out = truth([(f"u{n}", "a", 1.0) for n in range(n_truth)])
    (notice,) = read_reference(held_out, train=train).notices
    assert f", {100 / n_truth:g} % of the truth" in notice.found
    assert said in notice.fix
    assert unsaid not in notice.fix


# ── what was shown ───────────────────────────────────────────────────────────────────────────


def shown(hits: Hits) -> dict[tuple[int, str], int]:
    assert hits.exposure is not None
    counts = hits.exposure.shown
    return {
        (int(rank), hits.exposure.items[int(item)]): int(count)
        for rank, item, count in zip(counts.rank, counts.item, counts.count, strict=True)
    }


def test_exposure_counts_the_lists_of_users_who_count_by_rank_and_item() -> None:
    hits, _ = match(run("user_id item_id rank", RUN), read_reference(TRUTH), depth=3)
    assert shown(hits) == {(1, "a"): 1, (1, "c"): 1, (2, "z"): 1, (3, "b"): 1}
    assert hits.exposure is not None
    assert hits.exposure.n_lists == 2
    ended = hits.exposure.ended
    assert [
        (int(rank), hits.exposure.items[int(item)]) for rank, item in zip(ended.rank, ended.item, strict=True)
    ] == [(1, "c")]


def test_what_is_shown_to_groups_of_users_is_counted_in_the_same_pass() -> None:
    """u is shown a, z, b, and v is shown c; x does not count; nobody of the last group has a list."""
    reference, passes = read_reference(TRUTH), []
    candidate = run("user_id item_id rank", RUN)

    def batches(**columns: Any) -> Iterator[pa.RecordBatch]:
        passes.append(columns)
        return candidate.batches(**columns)

    users = list(reference.truth.users)
    groups = [np.array([user in group for user in users]) for group in ("u", "uvx", "w")]
    hits, _ = match(replace(candidate, batches=batches), reference, depth=3, shown_to=groups)
    both = {(1, "a"): 1, (1, "c"): 1, (2, "z"): 1, (3, "b"): 1}
    alone = {place: 1 for place in both if place != (1, "c")}
    assert [shown(replace(hits, exposure=one)) for one in hits.shown_to] == [alone, both, {}]
    assert [one.n_lists for one in hits.shown_to] == [1, 2, 0]
    assert (shown(hits), len(passes)) == (both, 1)


# ── against pandas ───────────────────────────────────────────────────────────────────────────

N_USERS, N_ITEMS, LENGTH, DEPTH = 400, 90, 25, 20


@pytest.fixture(scope="module")
def drawn() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Truth of 1–30 items per user; lists of 1–25 items, some twice, for users 50 to 449."""
    rng = np.random.default_rng(11)
    truth = [
        (user, item)
        for user in range(N_USERS)
        for item in rng.choice(N_ITEMS, rng.integers(1, 31), replace=False)
    ]
    lists = [
        (user, item, rank)
        for user in range(50, N_USERS + 50)
        for rank, item in enumerate(rng.choice(N_ITEMS, rng.integers(1, LENGTH + 1)), start=1)
    ]
    return pd.DataFrame(truth, columns=["user_id", "item_id"]), pd.DataFrame(
        lists, columns=["user_id", "item_id", "rank"]
    )


def by_pandas(truth: pd.DataFrame, lists: pd.DataFrame) -> pd.DataFrame:
    """Lists of truth users, once per item, ranked anew and cut."""
    known = lists[lists.user_id.isin(truth.user_id)].sort_values(["user_id", "rank"])
    known = known.drop_duplicates(["user_id", "item_id"])
    known = known.assign(rank=known.groupby("user_id").cumcount() + 1)
    return known[known["rank"] <= DEPTH]


@pytest.mark.parametrize("arrangement", ["as given", "by rank", "shuffled"])
@pytest.mark.parametrize("size", ["large blocks and a table", "small blocks and sorting"])
@pytest.mark.parametrize("ids", ["numbers", "text"])
def test_the_pass_finds_what_pandas_finds(
    drawn: tuple[pd.DataFrame, pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    arrangement: str,
    size: str,
    ids: str,
) -> None:
    truth, lists = (
        frame.astype({"user_id": "str", "item_id": "str"}) if ids == "text" else frame for frame in drawn
    )
    if size.startswith("small"):
        monkeypatch.setattr(ungrouped, "_ROWS_PER_BLOCK", 70)
        monkeypatch.setattr(exposure, "_DENSE_CELLS", 100)
    expected = by_pandas(truth, lists)
    if arrangement == "by rank":
        lists = lists.sort_values(["rank", "user_id"])
    if arrangement == "shuffled":
        lists = lists.sample(frac=1, random_state=3)
    rows = list(zip(lists.user_id.tolist(), lists.item_id.tolist(), lists["rank"].tolist(), strict=True))
    pairs = zip(truth.user_id.tolist(), truth.item_id.tolist(), strict=True)
    reference = read_reference(upload("truth", "user_id item_id", pairs))
    hits, _ = match(run("user_id item_id rank", rows, batch_rows=333), reference, depth=DEPTH)

    users, items = list(reference.truth.users), list(reference.truth.items)
    found = {
        (users[user], items[int(reference.truth.item[row])], rank)
        for user, rank, row in zip(hits.user.tolist(), hits.rank.tolist(), hits.row.tolist(), strict=True)
    }
    met = expected.merge(truth, on=["user_id", "item_id"])
    assert found == {(str(user), str(item), rank) for user, item, rank in met.itertuples(index=False)}
    assert len(hits.rank) == len(met)
    per_rank = expected.groupby(["rank", "item_id"]).size()
    assert shown(hits) == {(rank, str(item)): count for (rank, item), count in per_rank.items()}
    lengths = expected.groupby("user_id").size().rename(index=str)
    assert hits.list_length.tolist() == [lengths.get(user, 0) for user in users]
    assert hits.ledger.without_truth == 50
    assert hits.ledger.duplicates == len(lists_of_truth_users(truth, lists)) - len(
        lists_of_truth_users(truth, lists).drop_duplicates(["user_id", "item_id"])
    )


def lists_of_truth_users(truth: pd.DataFrame, lists: pd.DataFrame) -> pd.DataFrame:
    return lists[lists.user_id.isin(truth.user_id)]


def test_an_empty_batch_in_the_stream_is_no_list() -> None:
    candidate = run("user_id item_id rank", RUN)

    def batches(columns: Any = ("user_id", "item_id", "rank")) -> Iterator[pa.RecordBatch]:
        for batch in candidate.batches(columns=columns):
            yield batch.slice(0, 0)
            yield batch

    reference = read_reference(TRUTH)
    with_empty = replace(candidate, batches=batches)
    assert match(with_empty, reference)[0].ledger == match(candidate, reference)[0].ledger


def test_a_user_who_stands_only_in_a_dictionary_is_no_stranger() -> None:
    """A column that was filtered keeps the names of rows that are gone."""
    candidate = run("user_id item_id rank", RUN)

    def batches(columns: Any = ("user_id", "item_id", "rank")) -> Iterator[pa.RecordBatch]:
        yield from (batch.slice(0, 5) for batch in candidate.batches(columns=columns))

    hits, told = match(replace(candidate, batches=batches), read_reference(TRUTH))
    assert hits.ledger.without_truth == 0
    assert "users-without-truth" not in {notice.code for notice in told}


def test_counts_of_thousands_have_a_comma() -> None:
    counts = PassCounts(duplicates=1200, duplicate_users=1100)
    (notice,) = notices(run("user_id item_id rank", RUN), counts, "rank", "file", {})
    assert notice.found == "1,200 duplicate (user, item) rows in the lists of 1,100 users"
