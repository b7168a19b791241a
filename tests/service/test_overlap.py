"""How different runs' lists are, and which held-out items each of them finds, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from user_tables import CATALOGUE, TRAIN, TRUTH, ranked

from recdash.domain.results import Scope
from recdash.errors import InputError
from recdash.service import Workspace
from recdash.service.offline import lists

K = 2
BASE = ranked({"01": "xab", "02": "cy", "03": "xy"})
GOOD = ranked({"01": "ax", "02": "yz", "04": "e"})
OTHER = ranked({"01": "ba", "03": "d"})


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")


def stored(
    space: Workspace, users: str = "truth", catalogue: pd.DataFrame | None = CATALOGUE
) -> dict[str, str]:
    made = space.experiments.create(
        "films", TRUTH, catalogue=catalogue, depth=5, relevance_threshold=1, users=users
    )
    runs = {"base": BASE, "good": GOOD, "other": OTHER}
    ids = {name: space.runs.add(made.id, table, name=name)[0].run.id for name, table in runs.items()}
    return {"films": made.id, **ids}


@pytest.fixture
def films(space: Workspace) -> dict[str, str]:
    return stored(space)


def rows(space: Workspace, films: dict[str, str]) -> dict[str, dict[str, float]]:
    found = space.overlap.list_overlap([films[name] for name in ("base", "good", "other")], films["base"], K)
    return {row["run"]: row for row in found.to_dict("records")}


# ── lists ────────────────────────────────────────────────────────────────────────────────────


def test_common_items_are_a_mean_over_users_with_both_lists(space: Workspace, films: dict[str, str]) -> None:
    """Within 2: 01 has x a against a x, 02 has c y against y z; 03 and 04 have but one list."""
    good = rows(space, films)["good"]
    assert (good["overlap"], good["n_users"], good["n_both"]) == ((2 / 2 + 1 / 2) / 2, 2, 2)


def test_rank_biased_overlap_is_of_the_whole_lists(space: Workspace, films: dict[str, str]) -> None:
    """01: x a b against a x, s = 2, l = 3, agreement 0, 2, 2. 02: c y against y z, agreement 0, 1."""
    p, weight = 0.9, (1 - 0.9) / 0.9
    seen = 2 / 2 * p**2 + 2 / 3 * p**3
    guessed = 2 * (3 - 2) / (2 * 3) * p**3
    user_01 = weight * (seen + guessed) + ((2 - 2) / 3 + 2 / 2) * p**3
    user_02 = weight * 1 / 2 * p**2 + 1 / 2 * p**2
    assert rows(space, films)["good"]["rbo"] == pytest.approx((user_01 + user_02) / 2)


def test_the_baseline_is_not_compared_with_itself(space: Workspace, films: dict[str, str]) -> None:
    base = rows(space, films)["base"]
    assert math.isnan(base["overlap"])
    assert (base["won"], base["lost"]) == (0, 0)


def test_of_large_uploads_a_sample_of_users_is_compared_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 users with equal lists, of whom 10 are looked at."""
    monkeypatch.setattr(lists, "SMALL_ROWS", 0)
    monkeypatch.setattr(lists, "SAMPLE_USERS", 10)
    space = Workspace.open(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")
    users = [f"u{n}" for n in range(100)]
    made = space.experiments.create("films", pd.DataFrame({"user_id": users, "item_id": "a"}))
    tables = [ranked(dict.fromkeys(users, items)) for items in ("abc", "abx")]
    ids = [space.runs.add(made.id, table, name=f"run {n}")[0].run.id for n, table in enumerate(tables)]
    (row,) = space.overlap.list_overlap([ids[1]], ids[0], 3).to_dict("records")
    assert (row["overlap"], row["n_users"], row["n_both"]) == (pytest.approx(2 / 3), 10, 100)


def test_items_that_no_table_knows_are_compared_by_their_ids(space: Workspace) -> None:
    """Without a catalogue x, y and z are known to the runs alone."""
    films = stored(space, catalogue=None)
    assert rows(space, films)["good"]["overlap"] == (2 / 2 + 1 / 2) / 2


# ── hits ─────────────────────────────────────────────────────────────────────────────────────


def test_hits_that_only_one_run_finds_and_those_lost_by_switching(
    space: Workspace, films: dict[str, str]
) -> None:
    """Within 2, base finds 01 a, 02 c; good 01 a, 04 e; other 01 a, 01 b, 03 d."""
    counts = {
        name: [row[what] for what in ("hits", "unique", "won", "lost")]
        for name, row in rows(space, films).items()
    }
    assert counts == {"base": [2, 1, 0, 0], "good": [2, 1, 1, 1], "other": [3, 2, 2, 1]}


def test_all_lists_together_reach_more_users_than_the_best_alone(
    space: Workspace, films: dict[str, str]
) -> None:
    """Of users 01 to 04 each has a hit in some run, two at most in one; recall of 01 is half in two runs."""
    found = space.overlap.headroom([films[name] for name in ("base", "good", "other")], K)
    assert found is not None
    assert (found.n_users, found.hit_rate, found.hit_rates) == (4, 1.0, [2 / 4, 2 / 4, 2 / 4])
    assert (found.recall, found.recalls) == (1.0, [1.5 / 4, 1.5 / 4, 2 / 4])
    assert found.best_recall == 2


def test_where_only_users_with_lists_count_the_union_is_over_those_with_all_lists(space: Workspace) -> None:
    """With users=both: 01 alone has a list in all three."""
    films = stored(space, users="both")
    found = space.overlap.headroom([films[name] for name in ("base", "good", "other")], K)
    assert found is not None
    assert (found.n_users, found.hit_rate) == (1, 1.0)


def test_hits_and_lists_of_a_part_are_those_of_its_users(space: Workspace) -> None:
    """Users 01 and 02 have train rows: base finds a and c there, good a; 01 and 02 have both lists."""
    made = space.experiments.create("films", TRUTH, train=TRAIN, depth=5, relevance_threshold=1)
    ids = [space.runs.add(made.id, table, name=name)[0].run.id for name, table in
           (("base", BASE), ("good", GOOD))]  # fmt: skip
    warm, cold = (Scope(slice=f"user_warmth={name}") for name in ("warm", "cold"))
    (row,) = space.overlap.list_overlap([ids[1]], ids[0], K, warm).to_dict("records")
    assert [row[name] for name in ("hits", "lost", "won", "n_users", "n_both")] == [1, 1, 0, 2, 2]
    (row,) = space.overlap.list_overlap([ids[1]], ids[0], K, cold).to_dict("records")
    assert [row[name] for name in ("hits", "lost", "won", "n_users", "n_both")] == [1, 0, 1, 0, 0]
    found = space.overlap.headroom(ids, K, warm)
    assert found is not None
    assert (found.n_users, found.hit_rate, found.hit_rates) == (2, 1.0, [1.0, 1 / 2])
    strict = space.overlap.headroom(ids, K, Scope(threshold=2))
    assert strict is not None
    assert (strict.n_users, strict.recall) == (1, 1.0)


# ── items ────────────────────────────────────────────────────────────────────────────────────


def test_each_held_out_item_is_found_for_some_users_and_shown_in_some_lists(
    space: Workspace, films: dict[str, str]
) -> None:
    base, good = films["base"], films["good"]
    found = space.overlap.found_items([base, good], K).set_index("item_id")
    assert list(found.index) == ["a", "b", "c", "d", "e"]  # f is relevant to nobody
    assert found["users"].tolist() == [1, 1, 1, 1, 1]
    assert found["title"].tolist() == ["Alpha", "b", "Gamma", "Delta", "Epsilon"]
    assert found[f"found {base}"].tolist() == [1, 0, 1, 0, 0]
    assert found[f"found {good}"].tolist() == [1, 0, 0, 0, 1]
    assert found["finders"].tolist() == [2, 0, 1, 0, 1]
    assert found[f"shown {base}"].tolist() == [1, 0, 1, 0, 0]
    assert found["showers"].tolist() == [2, 0, 1, 0, 1]


def test_further_down_more_is_shown(space: Workspace, films: dict[str, str]) -> None:
    """b stands third in base's list for 01, who holds it out."""
    found = space.overlap.found_items([films["base"]], 3).set_index("item_id")
    assert found.loc["b", [f"found {films['base']}", f"shown {films['base']}"]].tolist() == [1, 1]


def test_lists_of_users_without_a_relevant_item_count_as_well(space: Workspace) -> None:
    """05 holds nothing out: its list alone shows d."""
    made = space.experiments.create("films", TRUTH, catalogue=CATALOGUE, depth=5, relevance_threshold=1)
    lists_of_all = pd.concat([BASE, ranked({"05": "da"})])
    run = space.runs.add(made.id, lists_of_all, name="all", accept_unknown_ids=True)[0].run.id
    found = space.overlap.found_items([run], K).set_index("item_id")
    assert found.loc[["a", "d"], f"shown {run}"].tolist() == [2, 1]
    assert found.loc[["a", "d"], f"found {run}"].tolist() == [1, 0]
    assert found.loc["d", "showers"] == 1


def test_a_k_beyond_the_depth_is_refused(space: Workspace, films: dict[str, str]) -> None:
    for ask in (space.overlap.found_items, space.overlap.headroom):
        with pytest.raises(InputError, match="the depth is 5"):
            ask([films["base"]], 6)
