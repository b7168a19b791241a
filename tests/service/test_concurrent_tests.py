"""The users of an A/B test who are in other tests, too: how many, and whether the variants are balanced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from recdash.domain.access import Person
from recdash.service import Workspace

DAY = 86_400


def sessions(users: Any, variants: Any, first_day: int = 100, minutes: float = 1) -> pd.DataFrame:
    """A session of each user on one of four days."""
    return pd.DataFrame(
        {
            "unit_id": [f"u{user}" for user in users],
            "session_id": [f"s{place}" for place in range(len(users))],
            "variant": variants,
            "start_ts": [(first_day + place % 4) * DAY for place in range(len(users))],
            "clicks": 1,
            "watch_s": [60 * minutes + place % 7 for place in range(len(users))],
        }
    )


def turns(names: str, n: int, each: int = 1) -> list[str]:
    """``n`` names by turns, each so many times."""
    return [names[place // each % len(names)] for place in range(n)]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")


def added(workspace: Workspace, name: str, table: pd.DataFrame, experiment: str = "shop") -> str:
    known = {made.name: made.id for made in workspace.experiments.all()}
    home = known.get(experiment) or workspace.experiments.create(experiment).id
    return workspace.online_tests.add(home, name, {"sessions": table}, control="A").id


def test_shared_users_are_counted_and_balanced_variants_do_not_bias(workspace: Workspace) -> None:
    """Users 0 to 399 and 200 to 599: 200 of 400, of whom 50 are in each pair of variants."""
    menu = added(workspace, "menu", sessions(range(400), turns("AB", 400)))
    added(workspace, "price", sessions(range(200, 600), turns("AC", 400, 2)), "other shop")
    (shared,) = workspace.concurrent_tests.of(menu)
    assert (shared.other, shared.n, shared.n_users, shared.share) == ("price", 200, 400, 0.5)
    assert shared.p == pytest.approx(1)
    notice = shared.notice()
    assert notice.code == "overlap"
    assert notice.found == (
        "200 users (50.0 %) are also in 'price' of 'other shop', "
        "whose variants are balanced over those of this test (p = 1.000)"
    )


def test_variants_that_go_together_are_told(workspace: Workspace) -> None:
    """C has 100 of B's users and none of A's: of A 100, 100, 0, of B 100, 0, 100 are in none, A and C."""
    menu = added(workspace, "menu", sessions(range(400), turns("AB", 400)))
    added(workspace, "price", sessions(range(200, 600), turns("AC", 400)))
    (shared,) = workspace.concurrent_tests.of(menu)
    expected = scipy.stats.chi2_contingency([[100, 100, 0], [100, 0, 100]], correction=False).pvalue
    assert shared.p == pytest.approx(expected)
    assert shared.is_uneven
    assert shared.notice().fix.startswith("A lift may be an effect of that test")


def test_users_who_are_more_often_in_another_test_are_told(workspace: Workspace) -> None:
    """All of B's 200 users and 100 of A's are in a test of one variant that counts."""
    menu = added(workspace, "menu", sessions(range(400), turns("AB", 400)))
    both = [user for user in range(400) if user % 2 or user < 200]
    added(workspace, "price", sessions(both, ["A"] * 300))
    (shared,) = workspace.concurrent_tests.of(menu)
    expected = scipy.stats.chi2_contingency([[100, 100], [0, 200]], correction=False).pvalue
    assert (shared.n, shared.p) == (300, pytest.approx(expected))


def test_too_few_shared_users_tell_nothing_of_balance(workspace: Workspace) -> None:
    """Of 8 shared users each variant expects 4."""
    menu = added(workspace, "menu", sessions(range(400), turns("AB", 400)))
    added(workspace, "price", sessions(range(392, 600), turns("AC", 208)))
    (shared,) = workspace.concurrent_tests.of(menu)
    assert (shared.n, shared.p, shared.is_uneven) == (8, None, False)
    assert shared.as_dict()["balanced"] is None
    assert "too few to tell" in shared.notice().found


def test_other_days_other_users_and_the_same_data_are_no_overlap(workspace: Workspace) -> None:
    table = sessions(range(40), turns("AB", 40))
    menu = added(workspace, "menu", table)
    added(workspace, "menu again", table, "copy")
    added(workspace, "later", sessions(range(40), turns("AB", 40), first_day=104))
    added(workspace, "others", sessions(range(100, 140), turns("AB", 40)))
    assert workspace.concurrent_tests.of(menu) == ()
    added(workspace, "on its last day", sessions(range(40), turns("BA", 40), first_day=103))
    assert [shared.other for shared in workspace.concurrent_tests.of(menu)] == ["on its last day"]


def test_tests_of_one_name_are_told_apart_by_their_experiments(workspace: Workspace) -> None:
    menu = added(workspace, "March test", sessions(range(400), turns("AB", 400)))
    for each, home in ((2, "films"), (4, "songs")):
        added(workspace, "March test", sessions(range(400), turns("AB", 400, each)), home)
    added(workspace, "price", sessions(range(400), turns("AB", 400, 8)))
    shared = workspace.concurrent_tests.of(menu)
    texts = {users.notice().found.split(", ")[0].split("are also in ")[1] for users in shared}
    assert texts == {"'March test' of 'films'", "'March test' of 'songs'", "'price'"}
    assert {users.as_dict()["experiment"] for users in shared} == {"films", "songs", ""}


def test_later_data_of_a_test_are_no_other_test(workspace: Workspace) -> None:
    """Another test has another name, one user in another variant, or another experiment."""
    menu = added(workspace, "Menu", sessions(range(400), turns("AB", 400)))
    added(workspace, "menu, week 2", sessions(range(600), turns("AB", 600)))
    assert workspace.concurrent_tests.of(menu) == ()
    added(workspace, "menu of desserts", sessions(range(600), ["B", *turns("AB", 600)[1:]]))
    added(workspace, "menu", sessions(range(500), turns("AB", 500)), "other shop")
    added(workspace, "price", sessions(range(700), turns("AB", 700)))
    assert {users.other for users in workspace.concurrent_tests.of(menu)} == {
        "menu of desserts",
        "menu",
        "price",
    }


def test_few_users_in_the_same_variants_are_told(workspace: Workspace) -> None:
    menu = added(workspace, "menu", sessions(range(40), turns("AB", 40)))
    added(workspace, "price", sessions(range(36, 80), turns("AB", 44)))
    (shared,) = workspace.concurrent_tests.of(menu)
    assert (shared.other, shared.n, shared.p) == ("price", 4, None)


def test_a_guest_is_told_of_tests_of_their_experiment_only(workspace: Workspace) -> None:
    menu = added(workspace, "menu", sessions(range(40), turns("AB", 40)))
    added(workspace, "mine", sessions(range(40), turns("AB", 40, 2)))
    added(workspace, "theirs", sessions(range(40), turns("AB", 40, 4)), "other shop")
    everything = {shared.other for shared in workspace.concurrent_tests.of(menu)}
    assert everything == {"mine", "theirs"}
    home = workspace.store.online_tests.get(menu).experiment
    guest = workspace.seen_by(Person("guest", "viewer", home))
    assert [shared.other for shared in guest.concurrent_tests.of(menu)] == ["mine"]


def test_nothing_of_it_is_stored(workspace: Workspace) -> None:
    menu = added(workspace, "menu", sessions(range(400), turns("AB", 400)))
    added(workspace, "price", sessions(range(200, 600), turns("AC", 400)))
    before = workspace.store.audit.events()
    assert workspace.concurrent_tests.of(menu)
    assert workspace.store.audit.events() == before
    results = workspace.online_tests.results(menu)
    assert "overlap" not in " ".join(notice.code for notice in results.notices)


def test_independent_splits_are_rarely_called_unbalanced() -> None:
    """1 of 1,000 by chance: of 400 at most 4 (the Poisson chance of 5 or more is 0.01 %)."""
    from recdash.online.analysis.shared_users import _balance

    rng = np.random.default_rng(5)
    p = [_balance(rng.integers(0, 2, 500), rng.integers(0, 3, 500)) for _ in range(400)]
    assert sum(value is not None and value < 0.001 for value in p) <= 4
    assert 0.02 < np.mean([value is not None and value < 0.05 for value in p]) < 0.09
