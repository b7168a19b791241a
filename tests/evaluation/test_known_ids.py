"""A run whose items or users hardly meet the tables is not scored in silence."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_tables import run, upload

import recdash
from recdash.domain.hits import Hits
from recdash.engines import match, read_reference
from recdash.engines.id_spelling import likely_repair
from recdash.engines.known_ids import stored_overlap
from recdash.errors import InputError, Problem, UploadError

USERS = [f"u{number}" for number in range(10)]
ITEMS = [f"{number}" for number in range(100, 140)]
"""Each user holds out four items of their own."""
TRUTH = pd.DataFrame(
    {"user_id": np.repeat(USERS, 4), "item_id": ITEMS},
)
CATALOGUE = pd.DataFrame({"item_id": [*ITEMS, *(f"{number}" for number in range(140, 200))]})


def lists(
    spell: Callable[[str], str] = str, user: Callable[[str], str] = str, every: int = 1
) -> pd.DataFrame:
    """Six items for each user: two held out ones at the ranks 2 and 5, four that only the catalogue knows.

    ``spell`` writes the items of every ``every``-th row otherwise, ``user`` the users.
    """
    own = {2: 0, 5: 1}
    rows = [
        (user(name), ITEMS[4 * number + own[rank]] if rank in own else f"{140 + 6 * number + rank - 1}", rank)
        for number, name in enumerate(USERS)
        for rank in range(1, 7)
    ]
    frame = pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
    frame.loc[::every, "item_id"] = frame["item_id"][::every].map(spell)
    return frame


def refused(candidate: Any, truth: Any = TRUTH, **how: Any) -> Problem:
    with pytest.raises(InputError) as error:
        recdash.evaluate({"als": candidate}, truth, **how)
    (problem,) = error.value.problems
    return problem


def found(candidate: Any, truth: Any = TRUTH, **how: Any) -> recdash.Evaluation:
    return recdash.evaluate({"als": candidate}, truth, **how)


def codes(evaluation: recdash.Evaluation) -> set[str]:
    return {notice.code for notice in evaluation.notices()}


def recall(evaluation: recdash.Evaluation) -> float:
    return next(row["value"] for row in evaluation.rows() if (row["metric"], row["k"]) == ("recall", 6))


# ── another spelling ─────────────────────────────────────────────────────────────────────────

SPELLINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "prefix": (lambda one: f"movie_{one}", "Remove the prefix 'movie_' from item_id."),
    "suffix": (lambda one: f"{one}.html", "Remove the suffix '.html' from item_id."),
    "quotes": (lambda one: f"'{one}'", "without quotes"),
    "bytes": (lambda one: f"b'{one}'", "without quotes"),
    "formula": (lambda one: f'="{one}"', 'without ="…"'),
    "zero-width": (lambda one: f"{one}\u200b", "invisible characters"),
    "variant selector": (lambda one: f"{one}\U000e0101", "invisible characters"),
    "full-width": (lambda one: "".join(chr(ord(digit) + 0xFEE0) for digit in one), "Unicode normal form"),
}


@pytest.mark.parametrize(("spell", "fix"), SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("catalogue", [None, CATALOGUE], ids=["truth alone", "catalogue"])
@pytest.mark.parametrize("metrics", ["recall", "recall,coverage"], ids=["unexposed", "exposed"])
def test_items_in_another_spelling_stop_with_the_repair(
    spell: Callable[[str], str], fix: str, catalogue: pd.DataFrame | None, metrics: str
) -> None:
    problem = refused(lists(spell), catalogue=catalogue, metrics=metrics)
    assert problem.code == "ids-spelled-otherwise"
    assert problem.place == "run 'als', column 'item_id'"
    assert problem.found.startswith("only 0 % (0 of 60)")
    assert "20 more differ only by" in problem.found
    assert fix in problem.fix


def test_the_examples_are_one_of_the_run_and_one_of_the_truth() -> None:
    assert "'movie_100' in the run, '100' in the truth" in refused(lists(lambda one: f"movie_{one}")).found


def test_letters_in_another_case_or_unicode_form() -> None:
    named = [f"Café-{number}" for number in ITEMS]
    truth = TRUTH.assign(item_id=named)
    upper = refused(lists(lambda one: f"CAFÉ-{one}"), truth)
    assert "same letter case" in upper.fix
    decomposed = refused(lists(lambda one: unicodedata.normalize("NFD", f"Café-{one}")), truth)
    assert "Unicode normal form" in decomposed.fix
    assert "'Cafe\\u0301-100' in the run, 'Caf\\xe9-100' in the truth" in decomposed.found


def test_a_prefix_that_the_run_lacks_is_named() -> None:
    problem = refused(lists(), TRUTH.assign(item_id="movie_" + TRUTH["item_id"]))
    assert "Add the prefix 'movie_' to item_id." in problem.fix


def test_half_of_the_ids_are_enough() -> None:
    problem = refused(lists(lambda one: f"tt{one}", every=2), catalogue=CATALOGUE)
    assert (problem.code, "Remove the prefix 'tt'" in problem.fix) == ("ids-spelled-otherwise", True)
    assert problem.found.startswith("only 17 % (10 of 60)")
    assert "10 more differ only by" in problem.found


def test_a_few_are_told_and_scored() -> None:
    few = found(lists(lambda one: f"tt{one}", every=10), catalogue=CATALOGUE)  # 6 of 60 places
    (notice,) = [one for one in few.notices() if one.code == "some-ids-spelled-otherwise"]
    assert "90 % (54 of 60)" in notice.found
    assert "accept" not in notice.fix


def test_users_in_another_spelling_stop_too() -> None:
    half = lists(user=lambda name: name if name < "u5" else name.upper())
    problem = refused(half)
    assert (problem.code, problem.place) == ("ids-spelled-otherwise", "run 'als', column 'user_id'")
    assert problem.found.startswith(
        "only 50 % (5 of 10) of the users are in the truth; 5 more differ only by"
    )
    none = refused(lists(user=lambda name: f"user:{name}"))
    assert none.code == "no-common-user"
    assert "Remove the prefix 'user:' from user_id." in none.fix


def test_float32_took_digits() -> None:
    large = {one: str(20_000_001 + 3 * number) for number, one in enumerate(CATALOGUE["item_id"])}
    through = lambda one: f"{np.float32(large[one]):.0f}"  # noqa: E731
    problem = refused(
        lists(through).astype({"item_id": int}),
        TRUTH.assign(item_id=TRUTH["item_id"].map(large).astype(int)),
        catalogue=pd.DataFrame({"item_id": [int(value) for value in large.values()]}),
    )
    assert "rounding to float32" in problem.found
    assert "cannot be restored" in problem.fix


# ── what is legitimate ───────────────────────────────────────────────────────────────────────


def test_runs_that_recommend_what_nobody_held_out_are_scored() -> None:
    known = found(lists(), catalogue=CATALOGUE)
    assert codes(known).isdisjoint({"ids-spelled-otherwise", "few-known-ids", "some-ids-spelled-otherwise"})
    alone = found(lists())
    assert recall(alone) == recall(known) == 0.5
    assert alone.known_ids()["als"].items.known == 20
    wide = lists(lambda one: str(1_000 + int(one)), every=2)  # numbers that the small truth does not know
    assert found(wide).known_ids()["als"].items.share < 0.5


def test_digits_in_front_are_no_prefix() -> None:
    """11000 is not 1000 with a prefix: most such numbers are known by chance."""
    assert likely_repair([str(number) for number in range(11_000, 12_000)], ids(range(1_000, 2_000))) is None


def test_a_prefix_that_known_ids_have_too_tells_ids_apart() -> None:
    known = [*(str(number) for number in range(100, 200)), *(f"v{number}" for number in range(100, 150))]
    assert likely_repair([f"v{number}" for number in range(150, 200)], ids(known)) is None


def ids(values: Any) -> Any:
    import pyarrow as pa

    return pa.array(list(values))


def test_nothing_known_stops_even_without_a_cause() -> None:
    other = lists(lambda one: f"{7919 * int(one):x}-é")
    problem = refused(other)
    assert problem.code == "no-common-item"
    assert problem.found.startswith(
        "only 0 % (0 of 60) of the positions in its lists have an item that the truth knows"
    )


def test_hardly_anything_known_to_a_catalogue_stops() -> None:
    """Three of sixty places are known: with a truth alone that may be right, with a catalogue it is not."""
    other = lists(lambda one: one if one in ITEMS[:3] else str(10_000 + 7 * int(one)))
    known = sum(other["item_id"].isin(ITEMS))
    assert 0 < known < 6
    assert refused(other, catalogue=CATALOGUE).code == "few-known-ids"
    assert found(other).known_ids()["als"].items.known == known


def test_few_misses_beside_a_hit_are_no_reason_to_stop() -> None:
    assert codes(found({"u0": ["x", ITEMS[0], "y"]})).isdisjoint({"no-common-item", "few-known-ids"})


# ── somebody accepts it ──────────────────────────────────────────────────────────────────────


def test_accepted_ids_are_scored_and_told() -> None:
    other = lists(lambda one: f"tt{one}", every=2)
    accepted = found(other, accept_unknown_ids=True)
    assert "ids-spelled-otherwise" in codes(accepted)
    assert 0 < recall(accepted) < 0.5


# ── what is counted ──────────────────────────────────────────────────────────────────────────


def hits_of(rows: list[tuple[str, str, int]], exposure: bool, **tables: Any) -> tuple[Hits, Any]:
    truth = upload("truth", "user_id item_id", [("u", "a"), ("u", "b"), ("v", "a"), ("w", "c")])
    reference = read_reference(truth, **tables)
    hits, _ = match(run("user_id item_id rank", rows), reference, depth=3, exposure=exposure)
    return hits, reference


ROWS = [
    ("u", "a", 1), ("u", "x", 2), ("u", "y", 3), ("u", "b", 4), ("v", "z", 1), ("v", "x", 2), ("new", "q", 1),
    ("old", "a", 1),
]  # fmt: skip
"""Depth 3 cuts b off; new is a user whom no table knows, old one of train."""


@pytest.mark.parametrize("exposure", [True, False])
def test_places_and_users_are_counted(exposure: bool) -> None:
    tables = {
        "catalogue": upload("catalogue", "item_id", [("a",), ("x",)]),
        "train": upload("train", "user_id item_id", [("old", "y"), ("u", "b")]),
    }
    hits, reference = hits_of(ROWS, exposure, **tables)
    assert hits.overlap is not None
    items, users = hits.overlap.items, hits.overlap.users
    assert (items.rows, items.known, items.unknown_ids) == (5, 4, 1)  # a x y; z x: only z is unknown
    assert items.unknown["any"] == ["z"]
    assert items.by_table["truth"] == 1
    assert users is not None
    assert (users.rows, users.known, dict(users.by_table)) == (4, 3, {"truth": 2, "train": 2})
    assert items.by_table == {"truth": 1, "catalogue": 3, "train": 1}
    assert items.ids == 4
    if hits.exposure is not None:
        assert stored_overlap(hits.exposure, reference).items == items


def test_every_surface_of_an_evaluation_has_the_shares() -> None:
    facts = json.loads(json.dumps(found(lists(), catalogue=CATALOGUE).as_dict()))["known_ids"]["als"]
    assert facts["items"]["share"] == 1
    assert facts["items"]["by_table"] == {"truth": 20, "catalogue": 60}
    assert facts["users"] == {
        "rows": 10, "known": 10, "share": 1, "ids": 10, "unknown_ids": 0, "by_table": {"truth": 10},
    }  # fmt: skip


# ── ids that lost digits ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("written", "read"),
    [("8.829770E+05", "882977"), ("1.583421e+06", "1583421"), ("1.5E1", "15"), ("8.82977E+5", "882977")],
)
def test_exact_scientific_notation_is_read(written: str, read: str) -> None:
    truth, candidate = {"u": [read]}, pd.DataFrame({"user_id": ["u"], "item_id": [written]})
    evaluation = found(candidate, truth, metrics="recall@1")
    assert [row["value"] for row in evaluation.rows()] == [1]
    assert "scientific-ids" in codes(evaluation)


@pytest.mark.parametrize("written", ["8.8E+05", "1e+06", "1.234568E+07", "1.25E1", "1.5E-3"])
def test_scientific_notation_without_all_digits_is_refused(written: str) -> None:
    with pytest.raises(UploadError, match="scientific notation") as error:
        found(pd.DataFrame({"user_id": ["u"], "item_id": [written]}), {"u": ["a"]})
    (problem,) = error.value.problems
    assert (problem.code, "as text" in problem.fix) == ("rounded-id", True)


@pytest.mark.parametrize("written", ["5E12", "3E-10", "12e4", "1E+5"])
def test_names_that_look_like_it_stay_names(written: str) -> None:
    evaluation = found(
        pd.DataFrame({"user_id": ["u"], "item_id": [written]}), {"u": [written]}, metrics="recall@1"
    )
    assert [row["value"] for row in evaluation.rows()] == [1]


def test_float32_is_read_as_far_as_it_is_exact() -> None:
    frame = lambda number: pd.DataFrame({"user_id": [1], "item_id": np.array([number], np.float32)})  # noqa: E731
    assert codes(found(frame(2**24), {"1": ["16777216"]})) >= {"decimal-ids"}
    with pytest.raises(UploadError, match="float32"):
        found(frame(2**24 + 2), {"1": ["16777218"]})


# ── the truth as a run ───────────────────────────────────────────────────────────────────────


def test_the_truth_as_a_run_is_noticed() -> None:
    (notice,) = [one for one in found(TRUTH).notices() if one.code == "truth-as-run"]
    assert notice.found == "its 40 rows are the 40 relevant rows of the truth"
    part = [one for one in found(TRUTH[TRUTH["user_id"] < "u7"]).notices() if one.code == "truth-as-run"]
    assert [one.found for one in part] == ["28 of its 28 positions have a relevant item of their user"]


def test_good_lists_and_the_oracle_are_not_taken_for_the_truth() -> None:
    assert "truth-as-run" not in codes(found(lists()))
    assert "truth-as-run" not in codes(recdash.evaluate({}, TRUTH, references="oracle"))


# ── real files ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("file", "fix"), [("item_prefix", "'movie_'"), ("item_half", "'tt'")])
def test_hostile_files_stop(shared_data: Path, file: str, fix: str) -> None:
    truth = shared_data / "dirty/good/truth.csv"
    assert f"Remove the prefix {fix} from item_id." in refused(shared_data / f"hostile/{file}.csv", truth).fix


def test_exact_numbers_of_a_hostile_file_score_as_the_clean_one(shared_data: Path) -> None:
    truth = shared_data / "dirty/good/truth.csv"
    hostile, clean = (
        [row["value"] for row in found(shared_data / file, truth, metrics="ndcg@10,recall@20").rows()]
        for file in ("hostile/sci_exact.csv", "dirty/good/run.csv")
    )
    assert hostile == clean
