"""Single users through the workspace: who gains, who is decisive, what their lists show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from user_tables import CATALOGUE, TRAIN, TRUTH, ranked

from recdash.comparison import ComparisonQuery
from recdash.domain.hits import Hits
from recdash.domain.results import Scope
from recdash.errors import InputError, NotFound
from recdash.evaluation.user_detail import OneUser
from recdash.service import Workspace
from recdash.service.offline import lists as stored_lists

BASE = ranked({"01": "xab", "02": "c", "03": "xy", "05": "f"})
GOOD = ranked({"01": "axy", "02": "xc", "03": "dx", "04": "e"})


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")


def stored(space: Workspace, **how: Any) -> dict[str, str]:
    made = space.experiments.create(
        "films", TRUTH, train=TRAIN, catalogue=CATALOGUE, depth=5, relevance_threshold=1, **how
    )
    runs = {"base": BASE, "good": GOOD}
    ids = {name: space.runs.add(made.id, table, name=name)[0].run.id for name, table in runs.items()}
    return {"films": made.id, **ids}


@pytest.fixture
def films(space: Workspace) -> dict[str, str]:
    return stored(space)


# ── who gains ────────────────────────────────────────────────────────────────────────────────


def test_users_are_counted_as_better_the_same_or_worse(space: Workspace, films: dict[str, str]) -> None:
    """MRR, base then good: 01 1/2 to 1, 02 1 to 1/2, 03 0 to 1, 04 0 to 1; 05 does not count."""
    (row,) = space.users.changes(ComparisonQuery((films["good"],), films["base"], "mrr", 3)).to_dict(
        "records"
    )
    assert {name: row[name] for name in ("n_users", "better", "same", "worse")} == {
        "n_users": 4, "better": 3, "same": 0, "worse": 1,
    }  # fmt: skip
    assert (row["gain"], row["loss"]) == (1 / 2 + 1 + 1, 1 / 2)
    assert row["half_gain"] == 2  # 1 of 2.5 is less than half, 2 is more
    assert row["typical"] == (1 / 2 + 1) / 2


def test_of_a_pooled_metric_each_users_own_value_counts(space: Workspace, films: dict[str, str]) -> None:
    """Precision of each at 1: 01 0 to 1, 02 1 to 0, 03 0 to 1, 04 0 to 1."""
    pooled, own = (
        space.users.changes(ComparisonQuery((films["good"],), films["base"], metric, 1)).iloc[0]
        for metric in ("precision(average=micro)", "precision")
    )
    assert pooled["gain"] == own["gain"] == 3
    assert (pooled["better"], pooled["worse"]) == (3, 1)


def test_only_users_with_both_lists_are_compared_where_the_rule_says_so(space: Workspace) -> None:
    """User 04 has no list in base: with users=both three are left."""
    films = stored(space, users="both")
    (row,) = space.users.changes(ComparisonQuery((films["good"],), films["base"], "mrr", 3)).to_dict(
        "records"
    )
    assert (row["n_users"], row["better"], row["worse"]) == (3, 2, 1)


def test_a_metric_without_a_value_per_user_is_refused(space: Workspace, films: dict[str, str]) -> None:
    with pytest.raises(InputError, match="it is a catalogue-level metric and has no value per user"):
        space.users.changes(ComparisonQuery((films["good"],), films["base"], "coverage", 3))
    with pytest.raises(InputError, match="the depth is 5"):
        space.users.changes(ComparisonQuery((films["good"],), films["base"], "mrr", 6))


def test_bars_hold_everybody_who_changed(space: Workspace, films: dict[str, str]) -> None:
    found = space.users.change_bars(films["good"], ComparisonQuery((films["good"],), films["base"], "mrr", 3))
    assert found.count.sum() == 4
    assert (found.edge[0], found.edge[-1]) == (pytest.approx(-0.5), pytest.approx(1))
    bars, without, n = space.users.value_bars(films["base"], "mrr", 3)
    assert (int(bars.count.sum()), without, n) == (2, 2, 4)


def test_another_threshold_and_a_part_of_the_users_change_who_is_compared(space: Workspace) -> None:
    """At 2 only 01 has a relevant item; of those with train rows 01 gains and 02 loses."""
    films = stored(space)
    good, base = films["good"], films["base"]
    strict = Scope(threshold=2)
    (row,) = space.users.changes(ComparisonQuery((good,), base, "mrr", 3, scope=strict)).to_dict("records")
    assert (row["n_users"], row["better"]) == (1, 1)
    assert space.users.decisive_users(good, ComparisonQuery((good,), base, "mrr", 3, scope=strict))[
        "user_id"
    ].tolist() == ["01"]
    user = space.users.lists([base], "01", 3, scope=strict)
    assert [place.hit for place in user.lists[0].places] == [False, True, False]
    warm = Scope(slice="user_warmth=warm")
    (row,) = space.users.changes(ComparisonQuery((good,), base, "mrr", 3, scope=warm)).to_dict("records")
    assert (row["n_users"], row["better"], row["worse"]) == (2, 1, 1)
    assert space.users.value_bars(good, "mrr", 3, warm)[2] == 2


# ── the most decisive ────────────────────────────────────────────────────────────────────────


def test_the_largest_gain_and_the_largest_loss_come_first(space: Workspace, films: dict[str, str]) -> None:
    found = space.users.decisive_users(
        films["good"], ComparisonQuery((films["good"],), films["base"], "mrr", 3)
    )
    assert found["user_id"].tolist() == ["03", "02", "04", "01"]
    assert found["difference"].tolist() == [1, -1 / 2, 1, 1 / 2]
    assert found["value"].tolist() == [1, 1 / 2, 1, 1]
    assert found["baseline_value"].tolist() == [0, 1, 0, 1 / 2]
    assert found["n_relevant"].tolist() == [1, 1, 1, 2]


def test_among_equal_gains_candidates_that_disagree_decide(space: Workspace, films: dict[str, str]) -> None:
    """03 and 04 gain as much; a third run finds 03's item as well, and not 04's."""
    third = space.runs.add(films["films"], ranked({"03": "d"}), name="third")[0].run.id
    beside = [films["good"], third]
    found = space.users.decisive_users(
        films["good"], ComparisonQuery(tuple(beside), films["base"], "mrr", 3), n=1
    )
    assert found["user_id"].tolist() == ["04"]


def test_without_a_baseline_the_highest_and_the_lowest_are_decisive(
    space: Workspace, films: dict[str, str]
) -> None:
    found = space.users.decisive_users(films["base"], ComparisonQuery((), films["base"], "mrr", 3))
    assert found["user_id"].tolist()[:2] == ["02", "03"]
    assert found["value"].tolist()[:2] == [1, 0]
    assert found["baseline_value"].isna().all()


# ── one user ─────────────────────────────────────────────────────────────────────────────────


def seen(user: OneUser) -> list[list[tuple[int, str, bool, int | None]]]:
    return [
        [(place.rank, place.item.title, place.hit, place.before) for place in one.places]
        for one in user.lists
    ]


def test_lists_stand_side_by_side_with_hits_and_the_baselines_ranks(
    space: Workspace, films: dict[str, str]
) -> None:
    user = space.users.lists([films["base"], films["good"]], "01", 3, films["base"])
    assert seen(user) == [
        [(1, "Xi", False, 1), (2, "Alpha", True, 2), (3, "b", True, 3)],
        [(1, "Alpha", True, 2), (2, "Xi", False, 1), (3, "y", False, None)],
    ]
    assert [(one.hits, one.length, one.shared) for one in user.lists] == [(2, 3, 3), (1, 3, 2)]


def test_items_have_titles_and_a_few_attributes_else_their_ids(
    space: Workspace, films: dict[str, str]
) -> None:
    user = space.users.lists([films["good"]], "01", 3)
    alpha, xi, unknown = (place.item for place in user.lists[0].places)
    assert (alpha.id, alpha.title, alpha.attributes) == ("a", "Alpha", ("Crime, Drama", "1999"))
    assert (xi.title, xi.attributes) == ("Xi", ("Drama", "2001"))
    assert (unknown.title, unknown.attributes) == ("y", ())


def test_held_out_items_come_with_their_relevance_the_highest_first(
    space: Workspace, films: dict[str, str]
) -> None:
    user = space.users.lists([films["good"]], "01", 3)
    assert [(one.item.id, one.gain, one.relevant) for one in user.held_out] == [
        ("a", 2, True),
        ("b", 1, True),
    ]
    assert user.graded


def test_history_is_newest_first_and_names_an_item_once(space: Workspace, films: dict[str, str]) -> None:
    user = space.users.lists([films["good"]], "01", 3)
    assert [item.title for item in user.history] == ["New", "Middle", "Old"]
    assert (user.n_history, user.dated) == (3, True)
    assert space.users.lists([films["good"]], "03", 3).history == ()


def test_without_times_history_is_as_in_the_file(space: Workspace) -> None:
    made = space.experiments.create("plain", TRUTH, train=TRAIN[["user_id", "item_id"]])
    run_id = space.runs.add(made.id, GOOD, name="good")[0].run.id
    user = space.users.lists([run_id], "01", 3)
    assert ([item.id for item in user.history], user.dated) == (["old", "new", "middle"], False)


def test_a_user_without_a_list_and_one_who_does_not_count_are_shown(
    space: Workspace, films: dict[str, str]
) -> None:
    both = [films["base"], films["good"]]
    nobody = space.users.lists(both, "04", 3, films["base"])
    assert [one.length for one in nobody.lists] == [0, 1]
    apart = space.users.lists(both, "05", 3, films["base"])
    assert (apart.counts, [one.hits for one in apart.lists]) == (False, [0, 0])
    assert [one.relevant for one in apart.held_out] == [False]
    assert space.users.values("05", ComparisonQuery(tuple(both[1:]), both[0], "mrr", 3)) == {}
    assert space.users.values("04", ComparisonQuery(tuple(both[1:]), both[0], "mrr", 3)) == {
        films["base"]: 0,
        films["good"]: 1,
    }


def test_an_id_finds_its_user_with_or_without_leading_zeros_and_others_are_named(
    space: Workspace, films: dict[str, str]
) -> None:
    assert space.users.lists([films["good"]], "1", 3).user_id == "01"
    with pytest.raises(NotFound, match="has no user 'nobody'"):
        space.users.lists([films["good"]], "nobody", 3)


def test_of_long_lists_fifty_places_are_shown_and_all_hits_counted(space: Workspace) -> None:
    items = [f"i{n}" for n in range(80)]
    made = space.experiments.create("long", pd.DataFrame({"user_id": ["u", "u"], "item_id": ["i3", "i70"]}))
    table = pd.DataFrame({"user_id": "u", "item_id": items, "rank": range(1, 81)})
    run_id = space.runs.add(made.id, table, name="long")[0].run.id
    (shown,) = space.users.lists([run_id], "u", 80).lists
    assert (len(shown.places), shown.hits, shown.length) == (50, 2, 80)


# ── from the stored upload ───────────────────────────────────────────────────────────────────

JSON_LISTS = {"01": ["a", "x", "y"], "02": ["x", "c"], "03": ["d", "x"], "04": ["e"]}
WIDE = "user_id,item_1,item_2,item_3\n01,a,x,y\n02,x,c,\n03,d,x,\n04,e,,\n"
BY_SCORE = GOOD.assign(score=-GOOD["rank"]).drop(columns="rank").sample(frac=1, random_state=1)


@pytest.mark.parametrize("small_rows", [0, 2_000_000])
@pytest.mark.parametrize(
    "source",
    [GOOD, GOOD.sample(frac=1, random_state=5), BY_SCORE, JSON_LISTS, WIDE.encode(), GOOD.to_csv().encode()],
    ids=["table", "shuffled", "by score", "JSON", "wide", "CSV"],
)
def test_every_format_shows_the_same_lists_large_or_small(
    space: Workspace, source: Any, small_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_lists, "SMALL_ROWS", small_rows)
    made = space.experiments.create("films", TRUTH, catalogue=CATALOGUE, relevance_threshold=1)
    run_id = space.runs.add(made.id, source, name="good")[0].run.id
    for user, items in JSON_LISTS.items():
        (shown,) = space.users.lists([run_id], user, 5).lists
        assert [place.item.id for place in shown.places] == items


@pytest.mark.parametrize("small_rows", [0, 2_000_000])
def test_every_hit_in_the_lists_is_a_hit_that_was_scored(
    with_demo: Path, small_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The demo, whose lists have gaps and ties: users at random in each of its runs."""
    monkeypatch.setattr(stored_lists, "SMALL_ROWS", small_rows)
    space = Workspace.open(f"sqlite:///{with_demo / 'recdash.db'}", with_demo / "artifacts")
    (demo,) = space.experiments.all()
    run_ids = [run.id for run in space.runs.all(demo.id)]
    users = space._data.reference(demo.id).truth.users
    for user in np.random.default_rng(1).choice(len(users), 15, replace=False).tolist():
        shown = space.users.lists(run_ids, users[user], 100)
        for one in shown.lists:
            assert (one.hits, one.length) == _scored(space._data.hits(one.run_id), user)


def _scored(hits: Hits, user: int) -> tuple[int, int]:
    relevant = hits.truth.relevant()[hits.row[hits.user == user]]
    return int(relevant.sum()), int(hits.list_length[user])


def test_real_users_see_their_lists(space: Workspace, shared_data: Path) -> None:
    """Ids of items have leading zeros here: 0482571 is The Prestige."""
    data = shared_data / "movietweetings"
    made = space.experiments.create(
        "films", data / "truth.csv", train=data / "train.csv.gz", catalogue=data / "catalogue.csv",
        relevance="none",
    )  # fmt: skip
    run_id = space.runs.add(made.id, data / "native" / "als.top20.jsonl.gz", name="als")[0].run.id
    user = space.users.lists([run_id], "3566", 20)
    assert "The Prestige (2006)" in [item.title for item in user.history]
    assert all(place.item.title != place.item.id for place in user.lists[0].places)


@pytest.mark.parametrize("small_rows", [0, 2_000_000])
def test_folds_show_the_one_list_of_each_user_and_seeds_those_of_each_seed(
    space: Workspace, films: dict[str, str], small_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of several seeds has no list of its own."""
    monkeypatch.setattr(stored_lists, "SMALL_ROWS", small_rows)
    folds, seeds = (
        space.runs.add(films["films"], parts, name=name)[0].run.id
        for name, parts in (
            ("folds", {"1": {"01": ["a", "x"]}, "2": {"02": ["c"]}}),
            ("seeds", {"7": {"01": ["a"], "02": ["x"]}, "42": {"01": ["x", "b"], "02": ["c"]}}),
        )
    )
    of_folds = space.users.lists([folds, seeds], "01", 3)
    assert seen(of_folds) == [[(1, "Alpha", True, None), (2, "Xi", False, None)]]
    each = [run.id for run in space.replicates.of(seeds)]
    shown = [[place.item.id for place in one.places] for one in space.users.lists(each, "01", 3).lists]
    assert shown == [["a"], ["x", "b"]]
    (row,) = space.users.changes(ComparisonQuery((seeds,), films["base"], "mrr", 3)).to_dict("records")
    assert row["gain"] == (1 + 1 / 2) / 2 - 1 / 2  # 01: the mean of both seeds, against 1/2
    assert space.overlap.list_overlap([seeds], films["base"], 3).empty
    assert space.overlap.found_items([seeds], 3).empty
