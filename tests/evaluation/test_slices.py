"""Slices, on tables small enough to count by hand and on real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from small_tables import id_column, run, upload

from recdash.domain.inputs import Upload
from recdash.engines import Reference, match, read_reference
from recdash.errors import InputError, UnknownName
from recdash.evaluation.reading import read_setup
from recdash.evaluation.slices import MOST_SLICES, NONE, OTHER, known_slices, slices_of, user_slices
from recdash.ingest import read_recommendations
from recdash.metrics import define, sample_of

TRUTH = [("ann", "a"), ("ann", "b"), ("bob", "a"), ("cid", "c"), ("cid", "d"), ("dee", "b")]
TRAIN = [
    ("ann", "x"),
    ("ann", "c"),
    ("bob", "x"),
    ("eve", "x"),
    ("eve", "a"),
    *(("bob", f"o{i}") for i in range(5)),
]
LISTS = {"ann": "abz", "bob": "zaz", "cid": "dzz", "dee": "zzz"}


def attributes(kind: Any, ids: dict[str, Any], **columns: Any) -> Upload:
    ((name, values),) = ids.items()
    return Upload(kind, kind, pa.table({name: id_column(values), **columns}), {})


def reference(train: bool = True, **others: Upload) -> Reference:
    tables = {"train": upload("train", "user_id item_id", TRAIN)} if train else {}
    catalogue = others.pop("catalogue", None)
    truth = upload("truth", "user_id item_id", TRUTH)
    return read_reference(truth, catalogue=catalogue, others=others, **tables)


def users_in(by: str, known: Reference) -> dict[str, set[str]]:
    names = np.array(list(known.truth.users))
    return {one.value: set(names[one.users].tolist()) for one in slices_of(known, by)}


def items_in(by: str, known: Reference) -> dict[str, set[str]]:
    names = np.array(list(known.truth.items))
    return {one.value: set(names[known.truth.item[one.rows]].tolist()) for one in slices_of(known, by)}


# ── from train ───────────────────────────────────────────────────────────────────────────────


def test_warm_users_have_train_rows_and_cold_ones_have_none() -> None:
    assert users_in("user_warmth", reference()) == {"warm": {"ann", "bob"}, "cold": {"cid", "dee"}}


def test_warm_items_have_train_rows_and_cold_ones_have_none() -> None:
    assert items_in("item_warmth", reference()) == {"warm": {"a", "c"}, "cold": {"b", "d"}}


def test_history_bands_count_train_items() -> None:
    assert users_in("history", reference()) == {"0": {"cid", "dee"}, "1–4": {"ann"}, "5–19": {"bob"}}


def test_the_head_is_a_fifth_of_the_train_items_and_what_ties_with_its_last() -> None:
    """Eight train items, so that two are the head; the second has one user, as all the others."""
    assert items_in("popularity", reference()) == {"head": {"a", "c"}, "tail": {"b", "d"}}


def test_items_below_the_first_fifth_are_the_tail() -> None:
    """Five train items: a has two users, the others one."""
    train = upload("train", "user_id item_id", [("p", "a"), ("q", "a"), *(("p", item) for item in "cdxy")])
    known = read_reference(upload("truth", "user_id item_id", TRUTH), train=train)
    assert items_in("popularity", known) == {"head": {"a"}, "tail": {"b", "c", "d"}}


def test_a_title_says_what_the_slice_is_in_plain_words() -> None:
    titles = [one.title for one in slices_of(reference(), "user_warmth")]
    assert titles == ["Known users (with train rows)", "Users new to the service (no train rows)"]


def test_a_slice_in_which_nobody_counts_is_left_out() -> None:
    everybody = [(user, "x") for user in LISTS]
    known = read_reference(
        upload("truth", "user_id item_id", TRUTH), train=upload("train", "user_id item_id", everybody)
    )
    assert list(users_in("user_warmth", known)) == ["warm"]


def test_a_user_without_a_relevant_row_is_in_no_slice() -> None:
    rows = [("ann", "a", 1.0), ("bob", "a", 0.0)]
    known = read_reference(
        upload("truth", "user_id item_id relevance", rows),
        others={"users": attributes("users", {"user_id": ["ann", "bob"]}, plan=["free", "paid"])},
    )
    assert users_in("user:plan", known) == {"free": {"ann"}}


# ── from attributes ──────────────────────────────────────────────────────────────────────────


def test_text_makes_a_slice_of_each_value_and_one_of_those_without() -> None:
    table = attributes(
        "users", {"user_id": ["ann", "bob", "cid", "eve"]}, plan=["free", "paid", "free", "gone"]
    )
    assert users_in("user:plan", reference(users=table)) == {
        "free": {"ann", "cid"},
        "paid": {"bob"},
        NONE: {"dee"},
    }


def test_what_libraries_write_for_nothing_makes_no_slice() -> None:
    users = attributes(
        "users", {"user_id": ["ann", "bob", "cid", "dee"]}, plan=["free", "None", "nan", "null"]
    )
    assert users_in("user:plan", reference(users=users)) == {"free": {"ann"}, NONE: {"bob", "cid", "dee"}}


def test_a_cell_with_several_values_counts_in_each_of_them() -> None:
    table = attributes(
        "catalogue", {"item_id": list("abcd")}, genres=["Crime|Drama", "Drama", "", " Crime | "]
    )
    assert items_in("item:genres", reference(catalogue=table)) == {
        "Drama": {"a", "b"},
        "Crime": {"a", "d"},
        NONE: {"c"},
    }


def test_the_first_row_of_an_id_counts_however_the_id_is_spelled() -> None:
    truth = upload("truth", "user_id item_id", [("07", "a"), ("8", "a")])
    table = attributes("users", {"user_id": [7, 8, 8]}, plan=["free", "paid", "free"])
    assert users_in("user:plan", read_reference(truth, others={"users": table})) == {
        "free": {"07"},
        "paid": {"8"},
    }


def test_few_numbers_make_a_slice_each() -> None:
    table = attributes("users", {"user_id": list(LISTS)}, kids=[0, 2, None, 0])
    assert users_in("user:kids", reference(users=table)) == {"0": {"ann", "dee"}, "2": {"bob"}, NONE: {"cid"}}


def many_users(n: int, **columns: Any) -> Reference:
    ids = [f"u{place}" for place in range(n)]
    truth = upload("truth", "user_id item_id", [(user, "a") for user in ids])
    return read_reference(truth, others={"users": attributes("users", {"user_id": ids}, **columns)})


def test_many_numbers_are_cut_into_fifths() -> None:
    result = users_in("user:age", many_users(20, age=list(range(20, 40))))
    assert {value: len(users) for value, users in result.items()} == {
        "20–23": 4,
        "24–27": 4,
        "28–31": 4,
        "32–35": 4,
        "36–39": 4,
    }


def test_a_number_that_would_fill_a_band_has_it_to_itself() -> None:
    """2013 is three fifths of all; without its own band it would take 2012 in."""
    years = [*range(2001, 2013), *[2013] * 18]
    result = users_in("user:since", many_users(30, since=years))
    assert {value: len(users) for value, users in result.items()} == {
        "2001–2006": 6,
        "2007–2012": 6,
        "2013": 18,
    }


def test_fractions_and_infinities_are_cut_too() -> None:
    result = users_in(
        "user:x", many_users(15, x=[*(place / 8 for place in range(13)), float("inf"), float("nan")])
    )
    assert list(result) == ["0–0.25", "0.375–0.625", "0.75–0.875", "1–1.25", "1.375–1.5", NONE]
    assert result[NONE] == {"u13", "u14"}


def test_numbers_that_differ_late_keep_labels_of_their_own() -> None:
    result = users_in("user:x", many_users(20, x=[1 + place / 1e9 for place in range(20)]))
    assert len(result) == 5


PRICES = [4.99, 7.25, 9.99, 12.5, 15.0, 19.95]


@pytest.mark.parametrize(
    "written",
    [
        PRICES,
        [f"${price:.2f}" for price in PRICES],
        [f"{price:.2f} EUR" for price in PRICES],
        [f"{price:.2f}".replace(".", ",") for price in PRICES],
    ],
    ids=["numbers", "dollars", "euros", "decimal comma"],
)
def test_prices_are_offered_in_bands_beside_each_price(written: list[Any]) -> None:
    """Of 12 users, each fifth is 2.4: the bands end at the 4th, 6th, 8th, 10th and 12th user."""
    known = many_users(13, price=[*np.repeat(written, 2).tolist(), None])
    result = users_in("user:price (bands)", known)
    assert {value: len(users) for value, users in result.items()} == {
        "4.99–7.25": 4,
        "9.99": 2,
        "12.5": 2,
        "15": 2,
        "19.95": 2,
        NONE: 1,
    }
    assert len(users_in("user:price", known)) == 7


@pytest.mark.parametrize(
    "values",
    [
        [1.5, 2.5, 4.0, 8.0, 9.0] * 4,
        list(range(2013, 2023)) * 2,
        [float(place) ** 2 for place in range(20)],
        [f"{place:03}" for place in range(20)],
        ["new", "$3", "$4", "$5", "$6", "$7", "$8"],
        [f"SKU{place}" for place in (12, 3, 40, 51, 6, 77, 80, 9)],
    ],
    ids=["few", "consecutive", "already bands", "codes", "not all amounts", "codes with letters"],
)
def test_other_columns_have_no_second_rule_of_bands(values: list[Any]) -> None:
    assert known_slices(many_users(len(values), x=values)) == ["user:x"]


def test_bands_are_no_further_segments_of_a_recommendation() -> None:
    known = many_users(12, price=np.repeat(PRICES, 2))
    assert known_slices(known) == ["user:price", "user:price (bands)"]
    assert {one.by for one in user_slices(known)} == {"user:price"}


def test_a_column_named_like_bands_stays_that_column() -> None:
    known = many_users(12, **{"price": np.repeat(PRICES, 2), "price (bands)": ["low", "high"] * 6})
    assert known_slices(known) == ["user:price", "user:price (bands)"]
    assert {value: len(users) for value, users in users_in("user:price (bands)", known).items()} == {
        "high": 6,
        "low": 6,
    }
    assert {one.by for one in user_slices(known)} == {"user:price", "user:price (bands)"}


def test_rare_values_are_pooled_so_that_no_column_makes_more_than_twelve_slices() -> None:
    plans = [f"p{place:02}" for place in range(14) for _ in range(14 - place)] + [None]
    result = users_in("user:plan", many_users(len(plans), plan=plans))
    assert list(result) == [*(f"p{place:02}" for place in range(10)), OTHER, NONE]
    assert len(result) == MOST_SLICES
    assert len(result[OTHER]) == 4 + 3 + 2 + 1


def test_a_value_that_is_called_other_goes_with_the_pooled_ones() -> None:
    plans = ["other", "other", *(f"p{place:02}" for place in range(12))]
    result = users_in("user:plan", many_users(len(plans), plan=plans))
    assert len(result) == MOST_SLICES
    assert result[OTHER] == {"u0", "u1", "u13"}


# ── what can be asked ────────────────────────────────────────────────────────────────────────


def test_what_can_be_asked_depends_on_the_tables() -> None:
    users = attributes("users", {"user_id": ["ann"]}, plan=["free"])
    items = attributes("catalogue", {"item_id": ["a"]}, title=["A"], year=[1913])
    assert known_slices(reference(train=False)) == []
    assert known_slices(reference(users=users, catalogue=items)) == [
        "user_warmth",
        "item_warmth",
        "history",
        "popularity",
        "user:plan",
        "item:year",
    ]


@pytest.mark.parametrize(
    ("by", "table"),
    [("history", "training data"), ("user:plan", "user attributes"), ("item:year", "catalogue")],
)
def test_a_slice_whose_table_is_missing_says_which(by: str, table: str) -> None:
    with pytest.raises(InputError, match=f"needs .*{table}"):
        slices_of(reference(train=False), by)


def test_an_unknown_slice_names_the_nearest_and_the_known() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'item_warmth'.*Known: user_warmth, item_warmth"):
        slices_of(reference(), "item_warm")


def test_an_unknown_column_names_the_known() -> None:
    users = attributes("users", {"user_id": ["ann"]}, plan=["free"])
    with pytest.raises(UnknownName, match="Did you mean 'user:plan'"):
        slices_of(reference(users=users), "user:plans")


# ── the metrics of a slice ───────────────────────────────────────────────────────────────────


def recall_at_2(known: Reference, by: str) -> dict[str, tuple[float, int]]:
    rows = [
        (user, item + str(place) * (item == "z"), place)
        for user, items in LISTS.items()
        for place, item in enumerate(items, 1)
    ]
    hits, _ = match(run("user_id item_id rank", rows), known)
    result = {}
    for one in slices_of(known, by):
        sample = sample_of(hits, only=one.users, rows=one.rows)
        values = define("recall").formula().values(sample, 2)
        result[one.value] = (float(values.mean()), sample.n_users)
    return result


def test_a_user_slice_is_the_mean_over_its_users() -> None:
    """Recall@2: ann 2/2, bob 1/1; cid 1/2, dee 0/1."""
    assert recall_at_2(reference(), "user_warmth") == {"warm": (1.0, 2), "cold": ((1 / 2 + 0) / 2, 2)}


def test_an_item_slice_counts_only_its_rows_and_the_users_who_have_one() -> None:
    """Warm items a and c: ann 1/1, bob 1/1, cid 0/1. Cold items b and d: ann 1/1, cid 1/1, dee 0/1."""
    assert recall_at_2(reference(), "item_warmth") == {"warm": (2 / 3, 3), "cold": (2 / 3, 3)}


@pytest.mark.parametrize("by", ["user_warmth", "history"])
def test_user_slices_add_up_to_the_whole(by: str) -> None:
    parts = recall_at_2(reference(), by).values()
    assert sum(mean * n for mean, n in parts) / sum(n for _, n in parts) == (1 + 1 + 1 / 2 + 0) / 4


@pytest.fixture(scope="module")
def tweets(shared_data: Any) -> Reference:
    folder = shared_data / "movietweetings"
    return read_setup(folder / "truth.csv", folder / "train.csv.gz", folder / "catalogue.csv")


def test_real_users_without_a_history_are_the_cold_ones(tweets: Reference) -> None:
    counts = {
        one.value: int(one.users.sum()) for one in slices_of(tweets, "user_warmth") if one.users is not None
    }
    assert counts == {"warm": 6_263 - 2_376, "cold": 2_376}
    bands = {one.value: int(one.users.sum()) for one in slices_of(tweets, "history") if one.users is not None}
    assert bands["0"] == 2_376
    assert sum(bands.values()) == 6_263


def test_real_genres_make_twelve_slices_that_cover_every_row(tweets: Reference) -> None:
    result = slices_of(tweets, "item:genres")
    assert len(result) == MOST_SLICES
    assert np.any([one.rows for one in result], axis=0)[tweets.truth.relevant()].all()
    assert {"Drama", "Comedy"} < {one.value for one in result}


@pytest.mark.parametrize("by", ["user_warmth", "history"])
def test_real_user_slices_add_up_to_the_whole(tweets: Reference, shared_data: Any, by: str) -> None:
    (popular,) = read_recommendations(shared_data / "movietweetings" / "runs" / "popular.parquet")
    hits, _ = match(popular, tweets, depth=10)
    formula = define("ndcg").formula()
    samples = [sample_of(hits, only=one.users) for one in slices_of(tweets, by)]
    total = sum(formula.values(sample, 10).sum() for sample in samples)
    values = formula.values(sample_of(hits), 10)
    assert sum(sample.n_users for sample in samples) == len(values)
    assert total / len(values) == pytest.approx(values.mean(), abs=1e-12)
