"""Reference candidates: lists small enough to check by eye, the same bytes twice, and the real data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import permutations
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from metric_specs import ACCURACY
from small_tables import upload

import recdash
from recdash.cli.options import REFERENCE_HELP
from recdash.domain.inputs import Upload
from recdash.errors import InputError, UnknownName
from recdash.evaluation.reading import reference_of
from recdash.metrics import Definition
from recdash.references import REFERENCES, make_references
from recdash.references.rankers import descriptions, shrunk

# Three users have a, two have b and c, one has d; "cold" has nothing in train.
TRAIN = [("u", "a"), ("u", "c"), ("v", "a"), ("v", "b"), ("w", "a"), ("w", "b"), ("w", "c"), ("x", "d")]
TRUTH = [("u", "b", 1.0), ("v", "c", 1.0), ("cold", "a", 1.0), ("cold", "z", 3.0), ("w", "d", 0.0)]
FILMS = [
    ("a", "space war", 1990),
    ("b", "space love", 1991),
    ("c", "farm love", 1990),
    ("d", "farm", 2001),
    ("z", "", 2002),
]


def truth(rows: Sequence[Any] = TRUTH) -> Upload:
    return upload("truth", "user_id item_id relevance", rows)


def train(rows: Sequence[Any] = TRAIN) -> Upload:
    return upload("train", "user_id item_id", rows)


def catalogue() -> Upload:
    import pyarrow as pa

    item, title, year = (list(column) for column in zip(*FILMS, strict=True))
    table = pa.table({"item_id": pa.array(item).dictionary_encode(), "title": title, "year": year})
    return Upload("catalogue", "catalogue", table, {})


def lists(name: str, depth: int = 10, **tables: Upload) -> Mapping[Any, list[Any]]:
    """{user: items best first} of one candidate."""
    found: dict[Any, list[Any]] = {}
    given: Any = {"truth": truth(), **tables}
    (run,) = make_references(name, reference_of(given, None), given, depth)
    for batch in run.batches():
        for row in batch.to_pylist():
            found.setdefault(row["user_id"], []).append(row["item_id"])
            assert row["rank"] == len(found[row["user_id"]])
    return found


# ── by eye ───────────────────────────────────────────────────────────────────────────────────


def test_the_most_popular_are_those_that_most_users_have_but_the_user_has_not() -> None:
    assert lists("popular", train=train()) == {
        "u": ["b", "d"],
        "v": ["c", "d"],
        "cold": ["a", "b", "c", "d"],
        "w": ["d"],
    }


def test_an_item_that_only_the_vectors_know_is_nobodys() -> None:
    vectors = upload("vectors", "item_id", [("a",), ("new",)])
    for name in ("popular", "random", "oracle"):
        assert lists(name, train=train(), vectors=vectors) == lists(name, train=train())


def test_a_user_counts_once_for_an_item_however_often_it_stands_in_train() -> None:
    often = [*TRAIN, *[("x", "d")] * 5]
    assert lists("popular", train=train(often))["cold"] == ["a", "b", "c", "d"]


def test_lists_stop_at_the_depth() -> None:
    assert lists("popular", depth=1, train=train()) == {"u": ["b"], "v": ["c"], "cold": ["a"], "w": ["d"]}


def test_few_votes_leave_an_item_near_the_overall_mean() -> None:
    found = shrunk(np.array([10.0, 8.0]), np.array([1.0, 9.0]), m=3.0, overall=4.0)
    assert found.tolist() == [(1 * 10 + 3 * 4) / 4, (9 * 8 + 3 * 4) / 12]


def test_the_weighted_rating_prefers_many_good_votes_to_a_single_perfect_one() -> None:
    votes = [("x", "d", 10.0), *[(f"user{n}", "b", 9.0) for n in range(20)], ("x", "a", 1.0)]
    rated = upload("train", "user_id item_id rating", votes)
    assert lists("weighted_rating", train=rated)["cold"] == ["b", "d", "a"]


def test_an_item_without_a_rating_is_not_recommended_by_rating() -> None:
    rated = upload("train", "user_id item_id rating", [("x", "d", 5.0), ("x", "a", None)])
    assert lists("weighted_rating", train=rated)["cold"] == ["d"]


def test_random_lists_hold_every_unseen_item_once_when_they_are_long_enough() -> None:
    found = lists("random", train=train(), catalogue=catalogue())
    assert {user: sorted(items) for user, items in found.items()} == {
        "u": ["b", "d", "z"], "v": ["c", "d", "z"], "cold": ["a", "b", "c", "d", "z"], "w": ["d", "z"],
    }  # fmt: skip


def test_without_a_catalogue_random_draws_from_train() -> None:
    assert sorted(lists("random", train=train())["cold"]) == ["a", "b", "c", "d"]


def test_random_gives_every_item_the_same_chance_at_every_rank() -> None:
    users = [(f"u{n}", "i0", 1.0) for n in range(3_000)]
    items = upload("catalogue", "item_id", [(f"i{n}",) for n in range(6)])
    found = lists("random", depth=2, truth=truth(users), catalogue=items)
    for rank in (0, 1):
        _, counts = np.unique([one[rank] for one in found.values()], return_counts=True)
        assert len(counts) == 6
        assert counts == pytest.approx([500] * 6, abs=5 * np.sqrt(3_000 * 1 / 6 * 5 / 6))


def test_content_recommends_what_shares_words_with_the_users_items() -> None:
    found = lists("content", train=train(), catalogue=catalogue())
    assert found["v"] == ["c"]  # love, with b; d and z share nothing with a and b
    assert found["u"][0] == "b"  # space with a and love with c; d shares only farm
    assert "cold" not in found


def test_a_description_holds_all_words_and_each_number_as_one_word() -> None:
    assert descriptions(catalogue().table)[:2] == ["space war year_1990", "space love year_1991"]


def test_the_oracle_ranks_the_relevant_items_by_gain_then_by_id_and_nothing_else() -> None:
    rows = [("u", "b", 1.0), ("u", "a", 1.0), ("u", "c", 2.0), ("u", "d", 0.0), ("v", "a", 0.0)]
    assert lists("oracle", truth=truth(rows)) == {"u": ["c", "a", "b"]}


def test_ids_keep_their_kind_and_their_spelling() -> None:
    numbers = upload("truth", "user_id item_id", [(7, 1), (8, 2)])
    assert lists("oracle", truth=numbers) == {7: [1], 8: [2]}
    texts = upload("truth", "user_id item_id", [("007", "01"), ("8", "2")])
    assert lists("oracle", truth=texts) == {"007": ["01"], "8": ["2"]}


@pytest.mark.parametrize("name", list(REFERENCES))
def test_the_order_of_the_rows_does_not_change_a_list(name: str) -> None:
    rated = [(*row, float(place)) for place, row in enumerate(TRAIN)]
    tables = {
        "truth": truth(),
        "train": upload("train", "user_id item_id rating", rated),
        "catalogue": catalogue(),
    }
    for kind, one in tables.items():
        rows = list(zip(*(column.to_pylist() for column in one.table.columns), strict=True))
        turned = upload(kind, " ".join(one.table.column_names), rows[::-1])
        assert lists(name, **{**tables, kind: turned}) == lists(name, **tables), kind


def test_equal_means_of_ratings_stay_equal_in_whatever_order_they_are_summed() -> None:
    ratings = {"b": [0.3, 0.1, 0.7], "a": [0.7, 0.1, 0.3], "d": [5.0]}
    assert reduce(add, ratings["b"]) > reduce(add, ratings["a"])  # sum() corrects this since Python 3.12
    votes = [(f"x{n}", item, one) for item, given in ratings.items() for n, one in enumerate(given)]
    rated = upload("train", "user_id item_id rating", votes)
    assert lists("weighted_rating", train=rated)["cold"] == ["d", "a", "b"]


@pytest.mark.parametrize("name", list(REFERENCES))
def test_a_candidate_can_be_read_again_and_by_column(name: str) -> None:
    rated = upload("train", "user_id item_id rating", [(*row, 1.0) for row in TRAIN])
    given: Any = {"truth": truth(), "train": rated, "catalogue": catalogue()}
    (run,) = make_references(name, reference_of(given, None), given, 3)
    assert list(run.batches()) == list(run.batches())
    assert next(run.batches(columns=("user_id", "item_id"))).schema.names == ["user_id", "item_id"]


# ── what is missing ──────────────────────────────────────────────────────────────────────────


def test_every_candidate_that_lacks_a_table_is_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        recdash.evaluate({}, {"u": ["a"]}, references="popular,random,content,weighted_rating,oracle")
    assert [str(problem).split(". ")[0] for problem in caught.value.problems] == [
        "reference 'popular': it needs the training data",
        "reference 'random': it needs the catalogue or the training data",
        "reference 'content': it needs the training data and the catalogue",
        "reference 'weighted_rating': it needs the training data with ratings",
    ]


def test_a_train_table_without_ratings_gives_no_weighted_rating() -> None:
    with pytest.raises(InputError, match="it needs ratings in the training data"):
        lists("weighted_rating", train=train())


def test_content_needs_words() -> None:
    bare = upload("catalogue", "item_id", [("a",), ("b",)])
    with pytest.raises(InputError, match="it needs titles or other attributes in the catalogue"):
        lists("content", train=train(), catalogue=bare)


def test_content_says_when_no_user_of_the_truth_is_in_train() -> None:
    with pytest.raises(InputError, match="gives no user of the test set a list"):
        lists("content", train=train([("stranger", "a")]), catalogue=catalogue())


def test_an_unknown_reference_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'oracle'"):
        recdash.evaluate({}, {"u": ["a"]}, references="oracl")


def test_the_help_of_the_command_names_every_reference() -> None:
    assert REFERENCE_HELP.endswith(f"{', '.join(REFERENCES)}.")


# ── the ceiling ──────────────────────────────────────────────────────────────────────────────

ITEMS = ("best", "good", "fair", "not", "unknown")
EVERY_LIST = [one for length in range(1, 5) for one in permutations(ITEMS, length)]
GAINS = {"best": 3.0, "good": 1.0, "fair": 1.0, "not": 0.0}


def every_list(depth: int) -> recdash.Evaluation:
    """One user for each list that can be made of five items, beside the oracle."""
    users = [f"u{place}" for place in range(len(EVERY_LIST))]
    wanted = [(user, item, gain) for user in users for item, gain in GAINS.items()]
    shown = {user: list(items) for user, items in zip(users, EVERY_LIST, strict=True)}
    had = train([("x", "best"), ("y", "best"), ("x", "good"), ("x", "unknown")])
    return recdash.evaluate({"any": shown}, truth(wanted), train=had, references="oracle", depth=depth)


def is_beaten(found: recdash.Evaluation, definition: Definition, k: int | None) -> bool:
    values = found.per_user(f"{definition}@{k}" if k else str(definition)).groupby("run")["value"]
    return bool(values.max()["any"] > values.min()["Oracle (reference)"] + 1e-12)


@pytest.mark.parametrize("depth", [3, 4])
def test_some_list_beats_the_oracle_only_where_the_metric_says_so(depth: int) -> None:
    """Where the oracle leaves a place empty, as at 4, each of the metrics that say so is beaten."""
    found = every_list(depth)
    asked = [one for one in ACCURACY if not one.formula().pooled]
    cutoffs = [(one, k) for one in asked for k in (range(1, depth + 1) if one.metric.has_cutoff else [None])]
    beaten = {one.metric.name for one, k in cutoffs if is_beaten(found, one, k)}
    assert beaten <= {one.metric.name for one in asked if not one.ideal_is_best}
    assert beaten == {"auc", "serendipity", "snips"} | ({"judged"} if depth == 4 else set())


# ── scored ───────────────────────────────────────────────────────────────────────────────────


def value(found: recdash.Evaluation, run: str) -> float:
    return next(row["value"] for row in found.rows() if row["run"] == run)


@pytest.mark.parametrize("threshold", [None, 2.0])
@pytest.mark.parametrize("gain", ["exp", "linear"])
def test_the_oracle_reaches_the_ideal_whatever_counts_as_relevant(gain: str, threshold: float | None) -> None:
    found = recdash.evaluate(
        {}, truth(), metrics=f"ndcg(gain={gain})@2", references="oracle", relevance_threshold=threshold
    )
    assert value(found, "Oracle (reference)") == pytest.approx(1, abs=1e-12)


def test_references_stand_beside_the_runs_under_any_preset() -> None:
    als = {"u": {"b": 1.0}, "v": {"a": 1.0}}
    found = recdash.evaluate(
        {"als": als}, truth(), train=train(), metrics="recall@1", preset="trec_eval", references=["popular"]
    )
    assert [run.name for run in found.runs] == ["als", "Most popular (reference)"]


def test_a_run_called_like_a_reference_is_told_apart() -> None:
    with pytest.raises(InputError, match="two have the name 'Oracle \\(reference\\)'"):
        recdash.evaluate({"Oracle (reference)": {"u": ["b"]}}, truth(), references="oracle")


@pytest.fixture(scope="module")
def films(shared_data: Path) -> recdash.Evaluation:
    folder = shared_data / "movietweetings"
    return recdash.evaluate(
        {"rectools": folder / "runs/popular.parquet"},
        folder / "truth.csv",
        train=folder / "train.csv.gz",
        catalogue=folder / "catalogue.csv",
        relevance="none",
        metrics="ndcg@10",
        references="popular,random,oracle",
    )


def test_most_popular_is_that_of_rectools_which_leaves_out_what_users_have(films: recdash.Evaluation) -> None:
    assert value(films, "Most popular (reference)") == pytest.approx(value(films, "rectools"), abs=1e-12)
    assert value(films, "rectools") == pytest.approx(0.04821, abs=5e-6)


def test_real_lists_lie_between_chance_and_the_ideal(films: recdash.Evaluation) -> None:
    assert value(films, "Oracle (reference)") == pytest.approx(1, abs=1e-12)
    assert 0 < value(films, "Random (reference)") < 0.002
