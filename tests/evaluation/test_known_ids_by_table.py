"""Each table is held against a run by itself: another one that is spelled as the run hides nothing."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.errors import InputError, Problem

USERS = [f"u{number}" for number in range(10)]
ITEMS = [f"{number}" for number in range(100, 140)]
TRUTH = pd.DataFrame({"user_id": np.repeat(USERS, 4), "item_id": ITEMS})
ALL_ITEMS = [f"{number}" for number in range(100, 200)]
CATALOGUE = pd.DataFrame({"item_id": ALL_ITEMS, "price": range(100)})
TRAIN = pd.DataFrame({"user_id": np.tile(USERS, 10), "item_id": ALL_ITEMS})


def lists_items(at: int) -> list[str]:
    """Six items of a user: two held out ones at the ranks 2 and 5, four that only the other tables know."""
    first, second, third, fourth = ALL_ITEMS[40 + 6 * at : 44 + 6 * at]
    return [first, ITEMS[4 * at], second, third, ITEMS[4 * at + 1], fourth]


LISTS = pd.DataFrame(
    [
        (user, item, rank)
        for at, user in enumerate(USERS)
        for rank, item in enumerate(lists_items(at), start=1)
    ],
    columns=["user_id", "item_id", "rank"],
)  # fmt: skip


def spelled(
    table: pd.DataFrame, spelling: str = "movie_{}", every: int = 1, column: str = "item_id"
) -> pd.DataFrame:
    """The ids of every ``every``-th row in another spelling."""
    other = table.copy()
    other.loc[::every, column] = other[column][::every].map(spelling.format)
    return other


def refused(candidate: Any, truth: Any = TRUTH, **how: Any) -> list[Problem]:
    with pytest.raises(InputError) as error:
        recdash.evaluate({"als": candidate}, truth, **how)
    return list(error.value.problems)


def found(candidate: Any, truth: Any = TRUTH, **how: Any) -> recdash.Evaluation:
    return recdash.evaluate({"als": candidate}, truth, **how)


def notice(evaluation: recdash.Evaluation, code: str) -> Problem:
    (one,) = [one for one in evaluation.notices() if one.code == code]
    return one


# ── the truth is not met ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "tables",
    [
        {"catalogue": spelled(CATALOGUE)},
        {"catalogue": pd.concat([CATALOGUE, spelled(CATALOGUE)])},
        {"train": spelled(TRAIN)},
        {"catalogue": spelled(CATALOGUE), "train": spelled(TRAIN)},
    ],
    ids=["catalogue", "catalogue with both", "train", "catalogue and train"],
)
def test_a_table_spelled_as_the_run_does_not_hide_that_the_truth_is_not_met(tables: dict[str, Any]) -> None:
    (problem,) = refused(spelled(LISTS), **tables)
    assert problem.code == "ids-spelled-otherwise"
    assert problem.found.startswith(
        "only 0 % (0 of 60) of the positions in its lists have an item that the truth knows"
    )
    assert "20 more differ only by" in problem.found
    assert "'movie_100' in the run, '100' in the truth" in problem.found
    assert "Remove the prefix 'movie_' from item_id of the run" in problem.fix


def test_half_of_the_lists_spelled_as_the_catalogue_stop_too() -> None:
    half = LISTS.assign(item_id=LISTS["item_id"].where(LISTS["user_id"] < "u5", "movie_" + LISTS["item_id"]))
    (problem,) = refused(half, catalogue=spelled(CATALOGUE))
    assert problem.found.startswith("only 17 % (10 of 60)")
    assert "10 more differ only by" in problem.found


def test_a_truth_that_a_catalogue_shares_no_item_with_stops_without_a_cause_too() -> None:
    """40 of 100 items are held out: of 60 places chance alone would show 24 of them."""
    names = {one: f"{7919 * int(one):x}-é" for one in ALL_ITEMS}
    renamed = lambda table: table.assign(item_id=table["item_id"].map(names))  # noqa: E731
    (problem,) = refused(renamed(LISTS), catalogue=renamed(CATALOGUE))
    assert problem.code == "no-common-item"
    assert "that the truth knows" in problem.found


def test_ids_that_a_catalogue_tells_apart_are_no_spelling_of_each_other() -> None:
    """Articles 100 … and videos v100 … stand side by side; half of the places show videos."""
    mixed = spelled(LISTS, "v{}", every=2)
    evaluation = found(mixed, catalogue=pd.concat([CATALOGUE, spelled(CATALOGUE, "v{}")]))
    assert {one.code for one in evaluation.notices()}.isdisjoint(
        {"ids-spelled-otherwise", "some-ids-spelled-otherwise"}
    )


def test_a_run_that_shows_little_of_a_small_truth_is_scored() -> None:
    """Five items are held out of 100; no place shows one, where chance alone would show three."""
    other = LISTS.assign(item_id=[ALL_ITEMS[40 + at] for at in range(60)])
    evaluation = found(
        other, {user: [item] for user, item in zip(USERS, ITEMS[:5] * 2, strict=True)}, catalogue=CATALOGUE
    )
    assert evaluation.known_ids()["als"].items.by_table == {"truth": 0, "catalogue": 60}


# ── the truth is spelled otherwise ───────────────────────────────────────────────────────────


def test_half_of_the_truths_items_spelled_otherwise_stop() -> None:
    (problem,) = refused(LISTS, spelled(TRUTH, every=2))
    assert problem.code == "truth-spelled-otherwise"
    assert problem.place == "truth, column 'item_id'"
    assert "the prefix 'movie_'" in problem.found
    assert problem.fix.startswith("Remove the prefix 'movie_' from item_id of the truth")


def test_half_of_the_truths_users_spelled_otherwise_stop() -> None:
    half = TRUTH.assign(user_id=TRUTH["user_id"].where(TRUTH["user_id"] < "u5", "user:" + TRUTH["user_id"]))
    (problem,) = refused(LISTS, half)
    assert (problem.code, problem.place) == ("truth-spelled-otherwise", "truth, column 'user_id'")
    assert problem.found.startswith("only 50 % (5 of 10) of its users")
    assert "Remove the prefix 'user:' from user_id of the truth" in problem.fix


def test_the_side_that_is_written_otherwise_is_named() -> None:
    quoted = TRUTH.assign(item_id="'" + TRUTH["item_id"] + "'")
    (problem,) = refused(LISTS, quoted)
    assert "Write item_id of the truth without quotes" in problem.fix


# ── few places ───────────────────────────────────────────────────────────────────────────────


def test_few_places_of_which_none_is_known_stop_and_very_few_are_told() -> None:
    (problem,) = refused({"u0": list("uvwxyz")})
    assert (problem.code, problem.found.startswith("only 0 % (0 of 6)")) == ("no-common-item", True)
    told = notice(found({"u0": ["x", "y"]}), "hardly-known-ids")
    assert told.found.startswith("only 0 % (0 of 2)")
    (spelled_otherwise,) = refused({"u0": ["movie_100", "movie_101"]})
    assert "Remove the prefix 'movie_'" in spelled_otherwise.fix


def test_few_places_that_a_catalogue_hardly_knows_are_told() -> None:
    lists = {user: [f"x{7 * at}"] for at, user in enumerate(USERS[:9])} | {
        "u9": [ITEMS[0], *(f"y{at}" for at in "abc")]
    }
    told = notice(found(lists, catalogue=CATALOGUE), "hardly-known-ids")
    assert told.found.startswith("only 8 % (1 of 13)")


# ── catalogue and train ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("kind", "metric"), [("catalogue", "coverage"), ("train", "novelty")])
def test_a_table_spelled_otherwise_is_named_and_its_metrics_are_absent(kind: str, metric: str) -> None:
    table = spelled({"catalogue": CATALOGUE, "train": TRAIN}[kind])
    evaluation = found(LISTS, **{kind: table}, metrics=f"recall@6,{metric}@6")
    told = notice(evaluation, "table-spelled-otherwise")
    assert told.place == f"run 'als', {kind}"
    assert told.found.startswith("0 % (0 of 60) of the positions in its lists have an item that the")
    assert (
        f"Remove the prefix 'movie_' from item_id of the {kind.replace('train', 'training data')}" in told.fix
    )
    assert [row["metric"] for row in evaluation.rows()] == ["recall"]
    (absence,) = evaluation.absences()
    assert (absence["metric"], "0 % (0 of 60)" in absence["reason"]) == (metric, True)


def test_a_catalogue_of_other_items_is_named_without_a_cause() -> None:
    others = pd.DataFrame({"item_id": [f"{7919 * int(one):x}-é" for one in ALL_ITEMS]})
    evaluation = found(LISTS, catalogue=others, metrics="recall@6,coverage@6")
    assert notice(evaluation, "table-not-met").found.startswith("0 % (0 of 60)")
    assert [absence["metric"] for absence in evaluation.absences()] == ["coverage"]


def test_serendipity_is_absent_where_train_hardly_knows_the_held_out_items() -> None:
    """Of 40 held-out items train knows none: each would count as one that nobody expects."""
    evaluation = found(LISTS, train=TRAIN[~TRAIN["item_id"].isin(ITEMS)], metrics="recall@6,serendipity@6")
    assert [row["metric"] for row in evaluation.rows()] == ["recall"]
    (absence,) = evaluation.absences()
    assert absence["reason"] == "the training data knows only 0 % (0 of 40) of the items in the truth"
    met = found(LISTS, train=TRAIN, metrics="serendipity@6")
    assert [row["metric"] for row in met.rows()] == ["serendipity"]


# ── Unicode ──────────────────────────────────────────────────────────────────────────────────


def test_the_unicode_form_that_repairs_is_named() -> None:
    named = [f"Café-{number}" for number in ITEMS]
    truth = TRUTH.assign(item_id=named)
    lists = LISTS.assign(item_id="Café-" + LISTS["item_id"])
    decomposed = lists.assign(item_id=[unicodedata.normalize("NFD", one) for one in lists["item_id"]])
    (problem,) = refused(decomposed, truth)
    assert "normal form NFC" in problem.fix
    wide = LISTS.assign(
        item_id=["".join(chr(ord(digit) + 0xFEE0) for digit in one) for one in LISTS["item_id"]]
    )
    (problem,) = refused(wide)
    assert "normal form NFKC" in problem.fix


# ── who is shown ─────────────────────────────────────────────────────────────────────────────


def test_the_shares_of_each_table_and_of_the_truth_are_counted() -> None:
    overlap = found(LISTS[LISTS["user_id"] < "u5"], catalogue=CATALOGUE[:30]).known_ids()["als"]
    assert overlap.items.by_table == {
        "truth": 10,
        "catalogue": 10,
    }  # of five users the two held out ones: below 130
    assert overlap.truth_items is not None
    assert overlap.truth_users is not None
    assert (overlap.truth_items.rows, overlap.truth_items.known) == (40, 30)
    assert (overlap.truth_users.rows, overlap.truth_users.known) == (10, 5)
    assert overlap.as_dict()["truth_users"]["share"] == 0.5


# ── ids that meet, though little is shown ────────────────────────────────────────────────────


def test_a_run_of_other_items_than_the_held_out_ones_is_scored_where_one_table_knows_both() -> None:
    """40 of 100 items are held out, and 60 places show none: the catalogue writes both as they stand."""
    other = LISTS.assign(item_id=[ALL_ITEMS[40 + at] for at in range(60)])
    evaluation = found(other, catalogue=CATALOGUE)
    told = notice(evaluation, "hardly-known-ids")
    assert told.found.startswith("only 0 % (0 of 60)")
    assert "spelled alike" in told.fix
    assert next(evaluation.rows())["value"] == 0


def test_lists_for_many_more_users_than_truth_and_train_have_are_scored() -> None:
    """10 of 130 users of the run, less than a tenth, stand in truth or train, but all of the truth's do."""
    everyone = [*USERS, *(f"guest{number}" for number in range(120))]
    lists = {user: ["100", "150"] for user in everyone}
    truth = {user: [item] for user, item in zip(USERS[:3], ITEMS, strict=False)}
    evaluation = found(lists, truth, train=TRAIN, metrics="recall@2")
    assert notice(evaluation, "hardly-known-ids").found.startswith("only 8 % (10 of 130) of the users")
    assert [row["value"] for row in evaluation.rows()] == [pytest.approx(1 / 3)]


def test_a_few_items_spelled_otherwise_are_told_with_a_truth_alone() -> None:
    """A list of the 40 held-out items, four of them with a prefix, too few to stop; and of 20 others."""
    held_out = [f"X{item}" if at % 10 == 0 else item for at, item in enumerate(ITEMS)]
    lists = {"u0": [*held_out, *ALL_ITEMS[60:80]]}
    told = notice(found(lists, metrics="recall@60"), "some-ids-spelled-otherwise")
    assert told.found.startswith("only 60 % (36 of 60)")
    assert "4 more differ only by the prefix 'X'" in told.found


def test_a_few_items_spelled_otherwise_are_counted_over_all_tables() -> None:
    """Of 60 places nine have a prefix; the truth alone would tell of the three held-out ones among them."""
    chosen = [*LISTS.index[LISTS["item_id"].isin(ITEMS)][:3], *LISTS.index[~LISTS["item_id"].isin(ITEMS)][:6]]
    few = LISTS.copy()
    few.loc[chosen, "item_id"] = "X" + few["item_id"][chosen]
    told = notice(found(few, catalogue=CATALOGUE), "some-ids-spelled-otherwise")
    assert told.found.startswith("only 85 % (51 of 60)")
    assert "9 more differ only by the prefix 'X'" in told.found


def test_kinds_of_items_that_a_run_shows_side_by_side_are_no_spellings_of_each_other() -> None:
    """``movie_1`` and ``series_1``: the truth holds only movies, the lists show as many of each."""
    numbers = range(40)
    truth = {"u0": [f"movie_{number}" for number in numbers]}
    lists = {"u0": [f"{kind}_{number}" for number in numbers for kind in ("movie", "series")]}
    evaluation = found(lists, truth, metrics="recall@80")
    assert {one.code for one in evaluation.notices()}.isdisjoint(
        {"ids-spelled-otherwise", "some-ids-spelled-otherwise"}
    )
    assert [row["value"] for row in evaluation.rows()] == [1.0]
