"""Interleaving tests: credits by hand, the estimate, the checks of the teams, power, and bad tables."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from interleaved_tables import SLOTS, team_draft

import recdash
from recdash.errors import InputError, Problem, UnknownName
from recdash.online.interleaving import power
from recdash.online.interleaving.credits import RequestCredits
from recdash.online.interleaving.preference import preference, user_sums
from recdash.online.interleaving.reading import requests_of
from recdash.online.interleaving.results import results_of
from recdash.online.templates import templates


def slots(
    *rows: tuple[Any, ...], names: str = "request_id user_id rank item_id team clicked"
) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=names.split())


def credits_of(frame: pd.DataFrame, control: str | None = None) -> RequestCredits:
    from recdash.online.interleaving.interleaving import read_table

    return requests_of(read_table(frame).table, control)


def codes(notices: Any) -> list[str]:
    return [notice.code for notice in notices]


def notice(requests: RequestCredits, code: str) -> Problem:
    return next(notice for notice in requests.notices if notice.code == code)


# ── credits ──────────────────────────────────────────────────────────────────────────────────


def test_team_draft_credits_the_clicks_of_either_team() -> None:
    requests = credits_of(pd.read_csv(io.StringIO(templates()["interleaving"])), "popular")
    assert (requests.a, requests.b, requests.method) == ("popular", "als", "team draft")
    assert requests.credit_a.tolist() == [0, 1]  # r1: one click on als; r2: one on popular, two on als
    assert requests.credit_b.tolist() == [1, 2]
    assert requests.first is not None
    assert requests.first.tolist() == [-1, 1]
    assert requests.surplus is not None
    assert requests.surplus.tolist() == [0, 0]
    assert requests.wins() == {"a": 0, "b": 2, "tie": 0, "none": 0}


def test_balanced_credits_the_clicks_above_the_depth_at_which_all_are_seen() -> None:
    # A = a b c d, B = b e a f, A first: the list is a b e c d f. Clicked are b and e.
    # The lowest click is e, at rank 2 of B, so k = 2. A's first two are a, b: one click. B's are b, e: two.
    rows = [
        ("r1", "u1", 1, "a", 1, 3, 0),
        ("r1", "u1", 2, "b", 2, 1, 1),
        ("r1", "u1", 3, "e", None, 2, 1),
        ("r1", "u1", 4, "c", 3, None, 0),
        ("r1", "u1", 5, "d", 4, None, 0),
        ("r1", "u1", 6, "f", None, 4, 0),
    ]
    requests = credits_of(slots(*rows, names="request_id user_id rank item_id rank_a rank_b clicked"))
    assert requests.method == "balanced"
    assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([1], [2])
    assert requests.first is not None
    assert requests.first.tolist() == [-1]
    assert requests.surplus is None


def test_a_click_on_an_item_of_neither_ranking_is_credited_to_neither() -> None:
    rows = [("r1", "u1", 1, "a", 1, 1, 0), ("r1", "u1", 2, "x", None, None, 1)]
    requests = credits_of(slots(*rows, names="request_id user_id rank item_id rank_a rank_b clicked"))
    assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([0], [0])
    assert notice(requests, "click-outside-rankings").count == 1


def test_given_credits_are_read_in_two_forms() -> None:
    wide = slots(("r2", "u1", 0, 2), ("r1", "u2", 1, 0), names="request_id user_id credit_a credit_b")
    long = slots(
        *(("r1", "u2", "A", 1), ("r2", "u1", "B", 2), ("r2", "u1", "A", 0)),
        names="request_id user_id team credit",
    )
    for requests in (credits_of(wide), credits_of(long)):
        assert (requests.a, requests.b, requests.method) == ("A", "B", "credits")
        assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([1, 0], [0, 2])
        assert requests.first is None


def test_clicks_without_a_team_count_for_neither_and_are_noticed() -> None:
    requests = credits_of(
        slots(
            ("r1", "u1", 1, "a", "both", 1),
            ("r1", "u1", 2, "b", "control", 0),
            ("r1", "u1", 3, "c", "new", 1),
            ("r1", "u1", 4, "d", None, 1),
        )
    )
    assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([0], [1])
    assert requests.first is not None
    assert requests.first.tolist() == [-1]  # the first slot with a team
    assert notice(requests, "click-without-team").count == 2


def test_a_repeated_item_counts_once_and_a_repeated_rank_says_nothing_of_who_came_first() -> None:
    requests = credits_of(
        slots(
            ("r1", "u1", 1, "a", "control", 0),
            ("r1", "u1", 1, "a", "control", 1),
            ("r1", "u1", 1, "b", "new", 0),
        )
    )
    assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([1], [0])
    assert requests.first is not None
    assert requests.first.tolist() == [0]
    assert notice(requests, "duplicate-slots").count == 1
    assert notice(requests, "shared-ranks").count == 1


@pytest.mark.parametrize("names", ["request_id user_id rank item_id team", "request_id user_id item_id team"])
def test_an_item_of_both_teams_in_one_request_is_left_out_in_any_order(names: str) -> None:
    frame = slots(
        ("r1", "u1", 1, "a", "als", 1),
        ("r1", "u1", 1, "a", "popular", 1),
        ("r1", "u1", 2, "b", "als", 1),
        ("r1", "u1", 3, "c", "popular", 0),
    )[[*names.split(), "clicked"]]
    for rows in (frame, frame.iloc[::-1]):
        requests = credits_of(rows, "popular")
        assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([0], [1])
        assert notice(requests, "contradictory-slots").count == 1


def test_given_credits_of_a_request_of_two_users_are_left_out() -> None:
    names = "request_id user_id team credit"
    frame = slots(
        ("r1", "u1", "als", 1), ("r1", "u2", "popular", 2), ("r2", "u1", "als", 3), names=names
    )  # fmt: skip
    for rows in (frame, frame.iloc[::-1]):
        requests = credits_of(rows, "popular")
        assert (requests.credit_a.tolist(), requests.credit_b.tolist()) == ([0], [3])
        assert notice(requests, "several-users").count == 1


def test_given_credits_without_a_team_are_noticed() -> None:
    names = "request_id user_id team credit"
    frame = slots(("r1", "u1", "als", 1), ("r1", "u1", "popular", 2), ("r2", "u1", "", 3), names=names)
    requests = credits_of(frame)
    assert notice(requests, "click-without-team").count == 1
    assert str(notice(requests, "click-without-team")).startswith("column 'team': 1 credit on items without")


def test_a_request_of_two_users_is_left_out() -> None:
    requests = credits_of(
        slots(
            *(("r1", "u1", 1, "a", "control", 0), ("r1", "u2", 2, "b", "new", 1)),
            *(("r2", "u1", 1, "a", "control", 1), ("r2", "u1", 2, "b", "new", 0)),
        )
    )
    assert requests.credit_a.tolist() == [1]
    assert notice(requests, "several-users").count == 1


@pytest.mark.parametrize("teams", [["a", "b", "c"], ["a", "a", "a"]])
def test_other_than_two_teams_are_refused(teams: list[str]) -> None:
    rows = [("r1", "u1", rank, f"i{rank}", team, 0) for rank, team in enumerate(teams, 1)]
    with pytest.raises(InputError, match=r"teams?: 'a'") as refused:
        credits_of(slots(*rows))
    assert refused.value.problems[0].code == "not-two-teams"


def test_a_request_given_twice_with_credits_is_refused() -> None:
    twice = slots(("r1", "u1", 1, 0), ("r1", "u1", 0, 1), names="request_id user_id credit_a credit_b")
    with pytest.raises(InputError, match="repeat a request, such as 'r1'"):
        credits_of(twice)


def test_a_table_without_teams_rankings_or_credits_says_what_to_give() -> None:
    with pytest.raises(InputError, match="Give team and clicked for each slot"):
        credits_of(slots(("r1", "u1", 1), names="request_id user_id clicked"))


def test_other_names_of_columns_are_guessed_or_chosen() -> None:
    frame = team_draft(lean=0.5).rename(columns={"team": "model", "clicked": "is_click", "rank": "position"})
    assert recdash.interleaving(frame, control="popular").preference.share == pytest.approx(
        recdash.interleaving(team_draft(lean=0.5), control="popular").preference.share or 0
    )
    odd = frame.rename(columns={"model": "who"})
    chosen = recdash.interleaving(odd, control="popular", columns={"team": "who"})
    assert chosen.wins == recdash.interleaving(frame, control="popular").wins


# ── preference ───────────────────────────────────────────────────────────────────────────────


def of_users(wins: list[tuple[int, int]]) -> RequestCredits:
    """Returns requests in which each user's given numbers of requests are won by a and by b."""
    user = np.concatenate([np.full(a + b, number) for number, (a, b) in enumerate(wins)])
    b_won = np.concatenate([np.repeat([0.0, 1.0], pair) for pair in wins])
    return RequestCredits("a", "b", "credits", user, 1 - b_won, b_won)


def test_the_preference_is_the_share_of_credited_requests_with_half_of_the_ties() -> None:
    requests = RequestCredits(
        "a", "b", "credits", np.arange(5), np.array([0, 0, 2, 1, 0.0]), np.array([3, 1, 2, 0, 0.0])
    )
    sums = user_sums(requests)
    assert sums.ratio == pytest.approx((2 - 1) / 4)  # b wins 2, a wins 1, one tie, one without credit
    assert preference(sums).share == pytest.approx((2 + 0.5) / 4)
    assert preference(user_sums(requests, "credits")).share == pytest.approx(6 / 9)
    assert preference(sums).delta == pytest.approx(0.125)


def test_errors_are_those_of_users_not_of_requests() -> None:
    by_user = results_of(of_users([(0, 10)] * 24 + [(10, 0)] * 16)).preference
    by_request = results_of(of_users([(0, 1)] * 240 + [(1, 0)] * 160)).preference
    assert by_user.share == by_request.share == pytest.approx(0.6)
    assert by_request.p is not None
    assert by_user.p is not None
    assert by_request.p < 0.001
    # 24 of 40 users: a binomial test with half of the tie
    heads = sum(math.comb(40, k) for k in range(25, 41)) + math.comb(40, 24) / 2
    assert by_user.p == pytest.approx(2 * heads / 2**40, abs=0.005)


def test_exchanging_the_rankings_mirrors_every_number() -> None:
    frame = team_draft(lean=0.4)
    one, other = (recdash.interleaving(frame, control=name) for name in ("popular", "als"))
    for row, mirrored in zip(one.rows, other.rows, strict=True):
        assert row.share == pytest.approx(1 - (mirrored.share or 0))
        assert row.low == pytest.approx(1 - (mirrored.high or 0))
        assert row.p == pytest.approx(mirrored.p)
    assert {one.finding, other.finding} == {"better", "worse"}


@pytest.mark.parametrize("seed", [1, 2])
def test_sorting_the_table_changes_no_digit(seed: int) -> None:
    frame = team_draft(lean=0.2)
    expected = recdash.interleaving(frame, control="popular").as_dict()
    shuffled = frame.sample(frac=1, random_state=seed)
    assert recdash.interleaving(shuffled, control="popular").as_dict() == expected


def test_users_who_nearly_all_prefer_one_ranking_get_a_verdict() -> None:
    n = 100
    frame = pd.DataFrame({"request_id": range(n), "user_id": range(n), "credit_a": 0, "credit_b": 1})
    frame.loc[0, ["credit_a", "credit_b"]] = 1, 0
    results = recdash.interleaving(frame)
    assert results.finding == "better"
    assert (results.preference.share, results.preference.high) == (0.99, 1.0)


def test_few_users_get_no_verdict_but_a_reason() -> None:
    results = recdash.interleaving(team_draft(n_users=12, lean=1.0), control="popular")
    assert results.finding == "not settled"
    assert results.preference.p is None
    assert results.preference.share is not None
    assert "at least 20 are needed" in results.sentence
    assert results.detectable is None


def test_users_of_one_share_get_no_verdict_since_nothing_tells_how_others_differ() -> None:
    requests = [f"{user}-{n}" for user in range(30) for n in range(4)]
    frame = pd.DataFrame({"request_id": requests, "user_id": [request.split("-")[0] for request in requests]})
    frame["credit_b"] = 1
    frame["credit_a"] = [1 if request.endswith(("-0", "-1")) else 0 for request in requests]  # ties
    results = recdash.interleaving(frame)
    assert results.preference.share == 0.75
    assert results.preference.p is None
    assert results.reason == "all users have the same share"


def test_a_few_users_with_most_requests_get_no_verdict() -> None:
    results = results_of(of_users([(0, 400)] * 3 + [(0, 1)] * 60))
    assert results.preference.p is None
    assert "63 users are worth only 3" in results.reason


def test_users_who_nearly_all_share_a_preference_near_one_half_get_no_verdict() -> None:
    # 29 users have the share 0.55 and one has 1. The interval allows for users below 0.55, of whom none was
    # seen, and has 0.5; p is 2⁻³⁰, since no user prefers a.
    results = results_of(of_users([(9, 11)] * 29 + [(0, 20)]))
    assert (results.preference.low, results.preference.p) == (None, None)
    assert results.finding == "not settled"
    assert "nearly all users have the same share of requests won, too near 50 %" in results.sentence


def test_a_table_without_clicks_has_no_preference() -> None:
    results = recdash.interleaving(team_draft(n_users=30, clicked=0), control="popular")
    assert results.preference.share is None
    assert results.reason == "no request has a credited item"
    assert "No verdict" in repr(results)


def test_the_repr_is_short_and_the_table_has_a_row_per_measure() -> None:
    results = recdash.interleaving(team_draft(lean=0.8), control="popular")
    assert repr(results).startswith("Users prefer als to popular: als won ")
    assert len(repr(results).splitlines()) == 2
    table = results.table()
    assert table["measure"].tolist() == ["requests", "credits"]
    assert table["finding"].tolist() == ["better", ""]
    assert results.warnings == ()


def test_an_unknown_control_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"No ranking is called 'ease'.*als, popular"):
        recdash.interleaving(team_draft(n_users=2), control="ease")


def test_a_guessed_control_is_noticed() -> None:
    assert "guessed-control" in codes(recdash.interleaving(team_draft(n_users=2)).notices)
    assert "guessed-control" not in codes(recdash.interleaving(team_draft(n_users=2), control="als").notices)


def test_a_notice_or_warning_can_be_refused() -> None:
    frame = team_draft(lean=1.0)
    frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    for code in ("uneven-first-picks", "guessed-control"):
        with pytest.raises(InputError, match=f"Files with the notice '{code}' are refused"):
            recdash.interleaving(frame, refuse=code)


# ── teams ────────────────────────────────────────────────────────────────────────────────────


def test_fair_coins_pass_the_checks_of_the_teams() -> None:
    split = recdash.interleaving(team_draft(), control="popular").split
    assert not split.blocked
    assert split.first_p is not None
    assert split.first_p > 0.001
    assert sum(split.first or ()) == 60 * 20


def test_a_team_that_always_comes_first_blocks_the_verdict() -> None:
    frame = team_draft(lean=1.0)
    frame["team"] = np.where(frame["rank"] % 2 == 1, "als", "popular")
    results = recdash.interleaving(frame, control="popular")
    assert results.split.blocked
    assert results.finding == "not judged"
    assert codes(results.warnings) == ["uneven-first-picks"]
    assert "'als'" in str(results.warnings[0])
    assert results.sentence == "No verdict on als against popular: the teams are uneven."


def test_a_team_whose_slots_are_lost_blocks_the_verdict() -> None:
    frame = team_draft(lean=1.0)
    lost = (frame["team"] == "popular") & (frame["rank"] == SLOTS) & (frame.index % 5 == 0)
    results = recdash.interleaving(frame[~lost], control="popular")
    assert codes(results.warnings) == ["uneven-team-slots"]


def test_credits_alone_cannot_be_checked() -> None:
    split = results_of(of_users([(1, 1)] * 30)).split
    assert not split.blocked
    assert split.unchecked == "the table has credits and no slots"


# ── power ────────────────────────────────────────────────────────────────────────────────────


def test_the_stated_number_of_users_finds_the_preference_in_four_of_five_tests() -> None:
    """One request per user, won with 0.6: spread √(1 − 0.2²), so n = (2.8016 · 0.9798 / 0.2)²."""
    sums = user_sums(of_users([(0, 1)] * 60 + [(1, 0)] * 40))
    assert sums.spread == pytest.approx(math.sqrt(1 - 0.2**2))
    needed = power.users_for(sums.spread, 0.6)
    assert needed == math.ceil((2.801585 * math.sqrt(0.96) / 0.2) ** 2)
    assert power.detectable(sums.spread, needed) == pytest.approx(0.6, abs=0.001)
    chance = np.random.default_rng(1)
    tries = 400
    found = 0
    for _ in range(tries):
        won = int(chance.binomial(needed, 0.6))
        p = preference(user_sums(of_users([(0, 1)] * won + [(1, 0)] * (needed - won)))).p
        found += p is not None and p < 0.05
    assert 0.74 < found / tries < 0.86


def test_no_effect_or_spread_has_no_number_of_users() -> None:
    assert power.users_for(1.0, 0.5) is None
    assert power.users_for(0.0, 0.6) is None
    assert power.users_for(1.0, 0.5 + 1e-9) is None
    assert power.detectable(1.0, 0) is None
    assert power.detectable(10.0, 4) is None


def test_sensitivity_compares_the_users_that_both_tests_need() -> None:
    sums = user_sums(of_users([(0, 1)] * 60 + [(1, 0)] * 40))
    z = 10 * 0.2 / math.sqrt(0.96)
    assert z == pytest.approx(10 * sums.ratio / sums.spread)
    compared = power.sensitivity(z, 100, ab_z=4.0, n_ab_users=10_000)
    factor = 2.801585
    assert compared.interleaving_users == math.ceil(100 * (factor / z) ** 2)
    assert compared.ab_users == math.ceil(10_000 * (factor / 4) ** 2)
    assert compared.ratio == pytest.approx((z / 4) ** 2 * 100)
    assert compared.low is not None
    assert compared.high is not None
    assert compared.low < compared.ratio < compared.high
    for end in (compared.low, compared.high):  # Fieller: ρ at which z − ρ · 4 is 1.96 of its own errors
        rho = math.sqrt(end / 100)
        assert abs(z - rho * 4) / math.sqrt(1 + rho**2) == pytest.approx(1.959964, abs=1e-5)


def test_an_inconclusive_ab_test_bounds_the_ratio_from_below_only() -> None:
    compared = power.sensitivity(4.4, 100, ab_z=1.0, n_ab_users=1_000)
    assert compared.high is None
    assert compared.low is not None
    assert compared.low > 0
    assert "no upper bound" in compared.note
    assert 4.4**2 + 1 > 1.96**2  # Fieller's set has a lower end only: the positive root
    rho = math.sqrt(compared.low / 10)
    assert abs(4.4 - rho) / math.sqrt(1 + rho**2) == pytest.approx(1.959964, abs=1e-5)
    assert power.sensitivity(4.4, 100, ab_z=0.0, n_ab_users=1_000).ratio is None


def test_a_z_value_has_the_sign_of_its_effect() -> None:
    assert power.z_of(0.05, 0.1) == pytest.approx(1.959964)
    assert power.z_of(0.05, -0.1) == pytest.approx(-1.959964)
    assert power.z_of(1.0, 0.1) == pytest.approx(0.0)


# ── credits as people write them ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize("names", ["request_id user_id credit_a credit_b", "request_id user_id team credit"])
def test_an_empty_credit_is_refused_rather_than_read_as_0(names: str) -> None:
    first = ("r1", "u1", 1, 0) if "credit_a" in names else ("r1", "u1", "a", 1)
    second = ("r2", "u2", 1, None) if "credit_a" in names else ("r2", "u2", "b", None)
    with pytest.raises(InputError, match="empty in 1 row, such as 'r2'") as error:
        recdash.interleaving(slots(first, second, names=names))
    assert codes(error.value.problems) == ["missing-credit"]


def test_a_request_of_two_users_is_left_out_of_team_credits_whatever_the_order() -> None:
    rows = [
        ("r1", "u1", "a", 1), ("r1", "u2", "b", 0), ("r2", "u1", "a", 0), ("r2", "u1", "b", 1),
    ]  # fmt: skip
    for order in (rows, rows[::-1]):
        requests = credits_of(slots(*order, names="request_id user_id team credit"))
        assert requests.credit_b.tolist() == [1]
        assert notice(requests, "several-users").count == 1
