"""Each of the twelve checks gives each of its three answers, on evidence small enough to add up by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recdash.diagnosis import CHECKS, CheckAnswer, Evidence, Missing, ask_all
from recdash.diagnosis.answer import amounts
from recdash.diagnosis.evidence import (
    About,
    AudienceEvidence,
    ExposureEvidence,
    Gain,
    NoveltyEvidence,
    OnlineChange,
    Places,
    Popularity,
    SegmentEvidence,
    SegmentsEvidence,
    ServedOverlap,
    SplitEvidence,
    Stricter,
    Times,
)
from recdash.diagnosis.summary import summary

ABOUT = About("ALS", "Popular", "b", "a", "nDCG@10", 10, "Session watch time", per="sessions")
WON = Gain(0.02, 0.01, 0.03, base=0.2, n=400)
"""0.02 of 0.2: offline implies +10 %."""
LOST = OnlineChange(-0.05, -0.08, -0.02)
NOTHING = Evidence(
    ABOUT,
    WON,
    LOST,
    **dict.fromkeys(
        (
            "detectable", "split", "popularity", "times", "audience", "seen", "places", "served", "novelty",
            "stricter", "sessions", "segments",
        ),
        Missing("a table of its own"),
    ),  # type: ignore[arg-type]
)  # fmt: skip


def ask(check: str, **given: Any) -> CheckAnswer:
    (one,) = [one for one in CHECKS if one.name == check]
    return one.ask(replace(NOTHING, **given))


def gain(mean: float, low: float, high: float, base: float = 0.2) -> Gain:
    return Gain(mean, low, high, base, n=100)


# ── 1 noise ──────────────────────────────────────────────────────────────────────────────────


def test_noise_is_supported_while_the_online_interval_holds_what_offline_implies() -> None:
    """0.02 of 0.2 is +10 %, inside −4 .. +12 %."""
    result = ask("noise", lift=OnlineChange(0.04, -0.04, 0.12), detectable=0.11)
    assert result.verdict == "supports"
    assert "+10.0 %" in result.sentence
    assert result.statistic == "lift online −4.0 to +12.0 %; gain offline +10.0 %"
    assert result.cause == "the online interval includes the gain measured offline (+10.0 %)"
    assert result.former_cause == "the online interval contains what offline implies (+10.0 %)"


def test_noise_is_supported_where_the_offline_difference_is_not_settled() -> None:
    assert ask("noise", gain=gain(0.02, -0.01, 0.05)).verdict == "supports"


def test_noise_shows_an_unsettled_gain_over_a_tiny_baseline_as_a_difference() -> None:
    """0.02 of 0.001 is twenty times the baseline's value."""
    result = ask("noise", gain=gain(0.02, -0.01, 0.05, base=0.001))
    assert result.cause == "the offline difference is not significant (+0.0200)"
    assert result.former_cause == "the offline difference is not significant (+2,000 %)"


def test_noise_expects_the_lift_that_such_a_gain_has_meant_in_other_tests() -> None:
    """At 0.3 % online for 1 % offline, +10 % is +3.0 %, inside −4 .. +8 %, where +10 % is not."""
    lift = OnlineChange(0.02, -0.04, 0.08)
    assert ask("noise", lift=lift).verdict == "can't tell"
    result = ask("noise", lift=lift, slope=0.3)
    assert result.verdict == "supports"
    assert result.cause == (
        "the online interval includes the lift that the offline gain has meant in other A/B tests (+3.00 %)"
    )
    assert result.statistic == "lift online −4.00 to +8.00 %; gain offline +10.0 %; expected +3.00 %"
    excluded = ask("noise", lift=OnlineChange(-0.02, -0.06, 0.02), slope=0.3)
    assert excluded.verdict == "can't tell"
    assert "excludes +3.00 %, what +10.0 % offline has meant in other A/B tests" in excluded.sentence


@pytest.mark.parametrize("interval", [(-0.15, 0.09), (-0.02, 0.02), (0.0, 0.04), (-0.3, 0.0)])
def test_noise_is_not_ruled_out_while_the_online_interval_holds_zero(interval: tuple[float, float]) -> None:
    """Offline implies 0.02 / 0.2 = +10 %, outside each of them."""
    result = ask("noise", lift=OnlineChange(sum(interval) / 2, *interval), detectable=0.17)
    assert (result.verdict, result.needs) == ("can't tell", "more users")
    assert "+10.0 %, the gain measured offline" in result.sentence
    assert result.picture is not None
    assert [bar.value for bar in result.picture.bars][-1] == 17.0


def test_noise_is_ruled_out_by_a_settled_loss() -> None:
    assert ask("noise", detectable=0.04).verdict == "rules out"


def test_noise_is_ruled_out_where_both_sides_are_settled_the_same_way() -> None:
    assert (
        "in the direction of the offline difference"
        in ask("noise", lift=OnlineChange(0.02, 0.01, 0.03)).sentence
    )


def test_where_the_baseline_finds_nothing_noise_is_told_by_the_directions_alone() -> None:
    """0.02 of 0 is no share."""
    nothing = gain(0.02, 0.01, 0.03, base=0.0)
    assert ask("noise", gain=nothing).verdict == "rules out"
    assert ask("noise", gain=nothing, lift=OnlineChange(-0.01, -0.05, 0.03)).verdict == "supports"


def test_noise_cannot_be_told_without_an_interval() -> None:
    assert ask("noise", lift=OnlineChange(-0.05)).verdict == "can't tell"
    assert ask("noise", gain=Missing("lists of both runs")).needs == "lists of both runs"


# ── 2 split ──────────────────────────────────────────────────────────────────────────────────

FAIR = SplitEvidence(0.4, {"a": 1000, "b": 1010}, crossed=5, machines={"a": 4, "b": 6})


def test_after_a_broken_split_no_check_rests_on_a_lift() -> None:
    """The lift of −5 % is significant, and would rule out noise if the split were fair."""
    given = replace(
        NOTHING,
        detectable=0.04,
        sessions=OnlineChange(-0.1, -0.2, -0.05),
        novelty=NoveltyEvidence(-0.05, -0.04, 0.01, 0.0155),
    )
    fair = {one.check: one for one in ask_all(replace(given, split=FAIR))}
    broken = {one.check: one for one in ask_all(replace(given, split=replace(FAIR, srm_p=0.0004)))}
    needs_lift = ("noise", "novelty", "sessions", "segments")
    assert fair["noise"].verdict == "rules out"
    assert broken["split"].verdict == "supports"
    assert {broken[check].verdict for check in needs_lift} == {"can't tell"}
    assert broken["noise"].needs == "a test whose users are split as planned: run it again"


def test_a_broken_split_is_supported_and_comes_first() -> None:
    result = ask("split", split=replace(FAIR, srm_p=0.0004))
    assert (result.verdict, result.strength) == ("supports", 3)
    assert "<0.001" in result.statistic


def test_a_split_with_one_user_in_a_hundred_in_both_variants_is_supported() -> None:
    """21 of 1,000 + 1,010 + 21 users are 1.03 %."""
    result = ask("split", split=replace(FAIR, crossed=21))
    assert result.verdict == "supports"
    assert "1.03 %" in result.sentence


def test_a_split_that_lost_machines_in_one_variant_is_supported() -> None:
    """60 of 1,010 against 4 of 1,000: z = (.0594 − .004) / √(.0318 · .9682 · (1/1,010 + 1/1,000)) = 7.1."""
    result = ask("split", split=replace(FAIR, machines={"a": 4, "b": 60}))
    assert result.verdict == "supports"
    assert "5.94 % against 0.4" in result.sentence


def test_a_machine_or_two_say_nothing_of_the_split() -> None:
    """1 of 100 against 2 of 10,000: a share fifty times as large, of three machines."""
    few = SplitEvidence(0.4, {"a": 10_000, "b": 100}, crossed=0, machines={"a": 2, "b": 1})
    assert ask("split", split=few).verdict == "rules out"


def test_a_fair_split_is_ruled_out() -> None:
    """4 of 1,000 and 6 of 1,010 machines: z = 0.6."""
    assert ask("split", split=FAIR).verdict == "rules out"


def test_a_split_of_a_summary_cannot_be_told() -> None:
    result = ask("split", split=replace(FAIR, crossed=None, machines=None))
    assert (result.verdict, result.needs) == ("can't tell", "a table of sessions, with the user of each")


# ── 3 popularity ─────────────────────────────────────────────────────────────────────────────


def items(
    run_head: int, run_tail: int, base_head: int = 50, base_tail: int = 50, error: float = 1.0
) -> Popularity:
    """Of one user: what is found more, and how much more of it is in the head than of the baseline's; each
    ± ``error``.
    """
    head, tail, usual = run_head - base_head, run_tail - base_tail, base_head / (base_head + base_tail)
    change, leaning = (
        Gain(value, value - error, value + error, 0, n=1)
        for value in (head + tail, (1 - usual) * head - usual * tail)
    )
    counts = (run_head, run_tail, base_head, base_tail)
    return Popularity(*counts, change, leaning, n_head=20, n_items=400, gini_run=0.9, gini_base=0.8)


def test_popularity_is_supported_where_two_thirds_of_the_gain_are_in_the_head() -> None:
    """+20 in the head and +10 in the tail: 20 / 30 = 2 / 3."""
    result = ask("popularity", popularity=items(70, 60))
    assert (result.verdict, result.strength) == ("supports", 1)
    assert "66.7 %" in result.cause
    assert "more concentrated" in result.sentence


def test_popularity_is_supported_where_the_tail_has_lost_what_the_head_has_gained() -> None:
    """+40 − 10 = +30, of which the head has 40 / 30: all of it."""
    assert "all of it" in ask("popularity", popularity=items(90, 40)).cause


def test_popularity_is_ruled_out_where_the_gain_is_in_the_tail() -> None:
    """+10 and +20: a third is in the head."""
    assert ask("popularity", popularity=items(60, 70)).verdict == "rules out"
    assert ask("popularity", popularity=items(50, 50)).verdict == "rules out"


def test_popularity_is_ruled_out_where_the_run_finds_less_and_wins_all_the_same() -> None:
    """Head −30, tail +5: it has won by the order of what it finds."""
    result = ask("popularity", popularity=items(20, 55))
    assert result.verdict == "rules out"
    assert "finds fewer test items" in result.sentence


def test_popularity_is_ruled_out_where_the_gain_is_less_in_the_head_than_what_the_baseline_finds() -> None:
    """700 of a gain of 1,000 are in the head, of what the baseline finds 9,000 of 10,000."""
    result = ask("popularity", popularity=items(9700, 1300, 9000, 1000))
    assert result.verdict == "rules out"
    assert "70.0 % of the gain" in result.sentence
    assert "90.0 % of what the baseline finds" in result.sentence


def test_popularity_cannot_be_told_where_the_change_may_be_chance() -> None:
    """Head +60, tail −59 is one item more, ± 10; and the gain may not be settled either."""
    result = ask("popularity", popularity=items(110, 1, 50, 60, error=10))
    assert (result.verdict, result.needs) == ("can't tell", "more users offline")
    unsettled = gain(0.02, -0.01, 0.05)
    assert ask("popularity", gain=unsettled, popularity=items(90, 40)).verdict == "can't tell"


def test_popularity_cannot_be_told_where_the_leaning_may_be_chance() -> None:
    """+20 and +10 are 30 ± 20 more; .5 · 20 − .5 · 10 = 5 ± 20 of them lean to the head."""
    assert ask("popularity", popularity=items(70, 60, error=20)).verdict == "can't tell"


def test_a_loss_in_popular_items_explains_a_run_that_lost_offline() -> None:
    """Head −30, tail −5: 30 / 35 of the loss."""
    lost = gain(-0.02, -0.03, -0.01)
    assert "85.7 %" in ask("popularity", gain=lost, popularity=items(20, 45)).cause


def test_concentration_is_not_told_where_nothing_of_train_is_shown() -> None:
    nothing = replace(items(60, 70), gini_base=float("nan"))
    assert "concentrated" not in ask("popularity", popularity=nothing).sentence


def test_popularity_cannot_be_told_without_train() -> None:
    result = ask("popularity", popularity=Missing("training data"))
    assert result.sentence == "This check needs training data."


# ── 4 leakage ────────────────────────────────────────────────────────────────────────────────


def test_leakage_is_supported_from_one_row_in_a_hundred_before_the_end_of_train() -> None:
    """Rows at 0, 1, 2 .. 99 and train until .5: the row at 0 is before it, 1 of 100."""
    result = ask("leakage", times=Times(np.arange(100.0), train_end=0.5))
    assert (result.verdict, result.strength) == ("supports", 3)
    assert result.statistic == "1.00 % of 100 test rows before the end of training data"


def test_leakage_is_ruled_out_where_train_ends_first() -> None:
    assert ask("leakage", times=Times(np.arange(1.0, 200.0), train_end=1.0)).verdict == "rules out"


def test_leakage_cannot_be_told_without_times() -> None:
    assert ask("leakage").verdict == "can't tell"


# ── 5 users ──────────────────────────────────────────────────────────────────────────────────

OTHERS = AudienceEvidence(
    n_online=1000,
    n_both=300,
    cold_offline=0.1,
    cold_online=0.7,
    warm=gain(0.03, 0.02, 0.04),
    cold=gain(-0.07, -0.08, -0.06),
)


def test_users_are_supported_where_the_gain_of_the_users_served_is_another() -> None:
    """.3 · .03 + .7 · −.07 = −.04, where offline it is .9 · .03 + .1 · −.07 = +.02."""
    result = ask("users", audience=OTHERS)
    assert (result.verdict, result.strength) == ("supports", 2)
    assert "−0.0400 instead of +0.0200" in result.sentence


def test_users_are_supported_where_the_users_evaluated_had_the_opposite_lift() -> None:
    result = ask("users", audience=replace(OTHERS, cold_online=0.1, evaluated=OnlineChange(0.04, 0.01, 0.07)))
    assert (result.verdict, result.strength) == ("supports", 2)
    assert "Among the 300 users who were evaluated and served" in result.sentence


def test_users_are_ruled_out_where_the_users_evaluated_had_the_lift_of_all() -> None:
    """Whatever the share of new users is."""
    assert (
        ask("users", audience=replace(OTHERS, evaluated=OnlineChange(-0.06, -0.11, -0.01))).verdict
        == "rules out"
    )
    unsettled = replace(OTHERS, evaluated=OnlineChange(-0.06, -0.13, 0.01))
    assert ask("users", audience=unsettled).verdict == "supports"


def test_users_are_supported_where_nobody_new_was_evaluated_and_many_are_new() -> None:
    assert ask("users", audience=replace(OTHERS, cold_online=0.1, cold=None)).verdict == "supports"


def test_users_are_ruled_out_where_half_of_the_gain_is_left() -> None:
    """.9 · .03 + .1 · −.07 = .02, all of it; .81 · .03 + .19 · −.07 = .011, more than half of it."""
    for share in (0.1, 0.19):
        assert ask("users", audience=replace(OTHERS, cold_online=share)).verdict == "rules out"
    assert ask("users", audience=replace(OTHERS, cold_online=0.05, cold=None)).verdict == "rules out"


def mostly_new_online(n_evaluated: int) -> AudienceEvidence:
    """Returns an audience of 97 % new users, of whom so many were evaluated, with a clear gain."""
    cold = replace(gain(0.03, 0.02, 0.04), n=n_evaluated)
    return replace(OTHERS, cold_offline=0.05, cold_online=0.97, cold=cold)


def test_users_who_are_mostly_new_online_need_enough_new_ones_evaluated() -> None:
    """120 new users cannot stand for the 97 % of new ones online, however clear their gain is."""
    result = ask("users", audience=mostly_new_online(n_evaluated=120))
    assert result.verdict == "can't tell"
    assert "97.0 % of the users online are new, but only 5.00 % of those evaluated (120)" in result.sentence
    assert "The offline gain says little of them" in result.sentence
    assert result.needs == "1,000 new users or more in the test set"
    assert "Inconclusive: users" in summary([result])
    assert "Ruled out: users" in summary([result], former_verdicts=True)


def test_users_who_are_mostly_new_online_are_ruled_out_where_enough_new_ones_were_evaluated() -> None:
    result = ask("users", audience=mostly_new_online(n_evaluated=1_000))
    assert result.verdict == "rules out"
    assert "1,000 new users who were evaluated, whose gain is +0.03" in result.sentence


def test_users_cannot_be_told_where_the_gain_of_new_users_is_not_settled() -> None:
    """.3 · .03 + .7 · −.0074 = .004 of .02, but ± √((.3 · .01)² + (.7 · .03)²) = .021."""
    result = ask("users", audience=replace(OTHERS, cold=gain(-0.0074, -0.0374, 0.0226)))
    assert (result.verdict, result.needs) == ("can't tell", "more new users in the test set")
    assert ask("users", gain=gain(0.0002, -0.005, 0.005), audience=OTHERS).verdict == "can't tell"


def test_users_cannot_be_told_where_the_ids_are_others() -> None:
    result = ask("users", audience=replace(OTHERS, n_both=0))
    assert result.needs == "the same user ids in the A/B test as in the test set"
    assert ask("users").verdict == "can't tell"


# ── 6 exposure ───────────────────────────────────────────────────────────────────────────────


def test_exposure_is_supported_where_the_loser_shows_more_that_nobody_met() -> None:
    """It counts as wrong offline: 25 % of the loser's places against 5 %."""
    result = ask("exposure", gain=gain(-0.02, -0.03, -0.01), seen=ExposureEvidence(0.25, 0.05))
    assert (result.verdict, result.cause) == (
        "supports", "25.0 % of its recommendations were unseen before, of the baseline's 5.00 %",
    )  # fmt: skip
    assert ask("exposure", seen=ExposureEvidence(0.05, 0.25)).verdict == "supports"


def test_exposure_is_ruled_out_where_the_winner_shows_more_that_nobody_met_or_both_as_much() -> None:
    assert ask("exposure", seen=ExposureEvidence(0.25, 0.05)).verdict == "rules out"
    assert (
        ask("exposure", gain=gain(-0.02, -0.03, -0.01), seen=ExposureEvidence(0.25, 0.27)).verdict
        == "rules out"
    )


def test_exposure_is_supported_where_the_winner_is_judged_more_often() -> None:
    """30 % against 18 %: what is not judged counts as wrong, for the baseline more often."""
    assert ask("exposure", seen=ExposureEvidence(0.0, 0.0, 0.30, 0.18)).verdict == "supports"


def test_exposure_is_ruled_out_where_all_was_shown_and_the_loser_is_judged_more_often() -> None:
    assert ask("exposure", seen=ExposureEvidence(0.0, 0.09)).verdict == "rules out"
    assert ask("exposure", seen=ExposureEvidence(0.0, 0.0, 0.18, 0.30)).verdict == "rules out"


def test_exposure_cannot_be_told_without_served_lists() -> None:
    assert ask("exposure", seen=Missing("a table of served lists")).needs == "a table of served lists"
    unsettled = ask("exposure", gain=gain(0.02, -0.01, 0.05), seen=ExposureEvidence(0.05, 0.25))
    assert unsettled.needs == "more users offline"


# ── 7 position ───────────────────────────────────────────────────────────────────────────────


def places(at_slots: Gain, slots: int = 2) -> Places:
    return Places(slots, at_slots, np.array([100, 100]), np.array([30, 10]))


def test_position_is_supported_where_the_gain_lies_beyond_the_places_shown() -> None:
    result = ask("position", places=places(gain(0.001, -0.01, 0.012)))
    assert (result.verdict, result.strength) == ("supports", 2)
    assert result.picture is not None
    assert [bar.value for bar in result.picture.bars] == [30.0, 10.0]


def test_position_is_ruled_out_where_the_gain_is_in_the_places_shown() -> None:
    assert ask("position", places=places(gain(0.01, 0.005, 0.015))).verdict == "rules out"


def test_position_is_ruled_out_where_all_places_that_were_looked_at_were_shown() -> None:
    """k = 10 of 20 shown, whatever the gain is there."""
    result = ask("position", places=places(gain(0.001, -0.01, 0.012), slots=20))
    assert result.verdict == "rules out"
    assert ask("position", places=places(gain(0.001, -0.01, 0.012), slots=10)).verdict == "rules out"


def test_position_cannot_be_told_where_the_places_shown_may_hold_the_whole_gain() -> None:
    """.02 is inside −.001 .. +.025, and inside −.01 .. +.03."""
    for at_slots in (gain(0.012, -0.001, 0.025), gain(0.01, -0.01, 0.03)):
        assert ask("position", places=places(at_slots)).needs == "more users offline"


def test_position_cannot_be_told_without_ranks_or_without_a_gain() -> None:
    assert ask("position").verdict == "can't tell"
    unsettled = gain(0.02, -0.01, 0.05)
    assert ask("position", gain=unsettled, places=places(unsettled)).verdict == "can't tell"


# ── 8 served ─────────────────────────────────────────────────────────────────────────────────


def served(*overlap: float, n_known: int = 20, n_without: int = 0) -> ServedOverlap:
    return ServedOverlap(np.array(overlap), n_units=50, n_known=n_known, n_without=n_without)


def test_served_is_supported_where_lists_have_less_than_four_in_five_items_in_common() -> None:
    """(.5 + 1) / 2 = .75."""
    result = ask("served", served=served(0.5, 1.0))
    assert (result.verdict, result.strength) == ("supports", 3)
    assert "75.0 %" in result.cause


def test_served_is_supported_where_more_than_a_tenth_had_a_fallback() -> None:
    """3 of 20 are 15 %."""
    result = ask("served", served=served(1.0, n_without=3))
    assert result.verdict == "supports"
    assert "15.0 % of the users were served a fallback" in result.cause


def test_served_is_ruled_out_where_the_lists_are_the_same() -> None:
    assert ask("served", served=served(0.8, 0.8, n_without=2)).verdict == "rules out"


def test_served_cannot_be_told_where_the_ids_are_others() -> None:
    assert ask("served", served=served(n_known=0)).verdict == "can't tell"


# ── 9 novelty ────────────────────────────────────────────────────────────────────────────────


def test_novelty_is_supported_where_the_lift_changes() -> None:
    """log(1.01) − log(1.10) = −.085, 2.6 standard errors: p = .009."""
    result = ask("novelty", novelty=NoveltyEvidence(0.10, 0.01, -0.085, 0.085 / 2.6))
    assert result.verdict == "supports"
    assert "falls from +10.0 %" in result.sentence


def test_novelty_is_ruled_out_where_no_change_could_cancel_the_lift() -> None:
    """−log(1 − .05) = +.0513 is outside .01 ± 2.576 × .0155 = −.030 .. +.050."""
    assert ask("novelty", novelty=NoveltyEvidence(-0.05, -0.04, 0.01, 0.0155)).verdict == "rules out"


def test_novelty_cannot_be_told_where_the_whole_lift_may_have_come_and_gone() -> None:
    """.01 + 2.576 × .0165 = .0525 is above .0513."""
    result = ask("novelty", novelty=NoveltyEvidence(-0.05, -0.04, 0.01, 0.0165))
    assert (result.verdict, result.needs) == ("can't tell", "more days or more users")
    assert ask("novelty").verdict == "can't tell"


LESS_IS_BETTER = OnlineChange(0.5, 0.45, 0.55, lower_is_better=True)
"""Half of control's value: a lift of −50 %, which is better."""


def test_the_logarithm_of_half_is_taken_before_the_sign() -> None:
    assert LESS_IS_BETTER.share == -0.5
    assert LESS_IS_BETTER.log_ratio == pytest.approx(np.log(0.5))
    assert LESS_IS_BETTER.log_gain == pytest.approx(np.log(2))


def test_what_cancels_a_lift_of_which_less_is_better_doubles_the_metric() -> None:
    """log 2 = .69 would cancel half the value; 1.5, the negated lift, has the logarithm .41.

    The 99 % interval of −.19 ± 2.576 · .1 is −.45 to .07: it contains −.41, but not −.69.
    """
    result = ask("novelty", lift=LESS_IS_BETTER, novelty=NoveltyEvidence(0.5, 0.4, -0.19, 0.1))
    assert result.verdict == "rules out"
    assert result.signed_answer is not None
    assert result.signed_answer.verdict == "can't tell"
    assert result.former_answer is None  # the 95 % interval, to −.39, contains neither
    # exp(.19 + .2576) = 1.5646, exp(.19 − .2576) = .9347: the metric rose by 56 % or fell by 7 %
    assert "change −56.5 to +6.5 %" in result.statistic


def test_sessions_that_cancel_a_lift_of_which_less_is_better_are_twice_as_many() -> None:
    sessions = OnlineChange(0.3, -0.1, 1.1)  # it contains +100 %, but not the −33 % of 1 / 1.5
    result = ask("sessions", lift=LESS_IS_BETTER, sessions=sessions)
    assert result.verdict == "can't tell"
    assert result.signed_answer is not None
    assert result.former_answer is not None
    assert {result.signed_answer.verdict, result.former_answer.verdict} == {"rules out"}


def test_more_sessions_reverse_a_lift_of_which_less_is_better() -> None:
    """1.6 · .7 = 1.12: 12 % more per user, which is worse. Negated first, it was 1.6 · 1.3 = +108 %."""
    lift, sessions = (
        replace(LESS_IS_BETTER, value=0.3, low=0.25, high=0.35),
        OnlineChange(0.6, 0.5, 0.7, 1e-9),
    )
    result = ask("sessions", lift=lift, sessions=sessions)
    assert (result.verdict, result.strength) == ("supports", 2)
    assert "per user the change is −12.0 %" in result.sentence
    assert result.signed_answer is not None
    assert result.signed_answer.strength == 1


def test_older_summaries_have_the_answers_of_their_wording() -> None:
    result = ask("novelty", lift=LESS_IS_BETTER, novelty=NoveltyEvidence(0.5, 0.4, -0.19, 0.1))
    assert "Ruled out: " in summary([result])
    assert "Inconclusive: " in summary([result], signed_answers=True)
    assert "signed_answer" not in result.as_dict()


def test_novelty_between_5_and_1_percent_is_supported_in_older_reports_only() -> None:
    """2.5 standard errors: p = .012. Results warns of a novelty effect below .01."""
    result = ask("novelty", novelty=NoveltyEvidence(0.10, 0.01, -0.085, 0.085 / 2.5))
    assert result.verdict != "supports"
    assert "Most likely" not in summary([result])
    assert summary([result], former_answers=True).startswith("Most likely: the lift falls with the days")
    assert "former_answer" not in result.as_dict()


# ── 10 labels ────────────────────────────────────────────────────────────────────────────────


def counting(mean: float, low: float, high: float, base: float = 0.2, **more: Any) -> Stricter:
    found = gain(mean, low, high, base)
    return Stricter("a rating of 4 or more", found, 0.6, left_out="ratings below 4", threshold=4, **more)


@pytest.mark.parametrize(
    ("stricter", "word"),
    [
        (counting(-0.02, -0.03, -0.01), "reverses"),
        (counting(0.005, -0.005, 0.015), "disappears"),
        (counting(0.008, 0.004, 0.012), "shrinks to less than half"),
    ],
    ids=["−10 %", "not settled", ".008 / .2 = +4 % where it was +10 %"],
)
def test_labels_are_supported_where_the_gain_does_not_outlive_the_online_rule(
    stricter: Stricter, word: str
) -> None:
    result = ask("labels", stricter=stricter)
    assert (result.verdict, result.strength) == ("supports", 2)
    assert word in result.cause
    assert result.former_cause == result.mismatch_cause
    assert result.sentence.startswith("40.0 % of what counted as relevant offline were ratings below 4.")
    assert result.threshold == 4


def test_labels_keep_the_rule_of_older_reports_in_their_words() -> None:
    stricter = counting(-0.02, -0.03, -0.01, former_rule="grades of 3.2 and more")
    result = ask("labels", stricter=stricter)
    rule = "the offline gain reverses if only a rating of 4 or more count"
    assert summary([result]) == f"Most likely: what counts as relevant offline, as {rule}."
    assert summary([result], mismatch=True) == f"Most likely: label mismatch: {rule}."
    assert result.former_cause.endswith("reverses if only grades of 3.2 and more count")
    assert summary([result], former=True) == f"Most likely: {result.former_cause}."


def test_labels_are_ruled_out_where_half_of_the_gain_is_left() -> None:
    """.01 / .2 = 5 %, half of 10 %."""
    assert ask("labels", stricter=counting(0.01, 0.005, 0.015)).verdict == "rules out"


def test_labels_are_ruled_out_where_offline_counts_by_that_rule_already() -> None:
    assert ask("labels", stricter=counting(0.02, 0.01, 0.03, already=True)).verdict == "rules out"


def test_labels_cannot_be_told_where_the_stricter_gain_is_as_large_and_less_certain() -> None:
    """.022 instead of .02, but −.001 .. +.045; and .009 (less than half), but −.003 .. +.021."""
    for stricter in (counting(0.022, -0.001, 0.045), counting(0.009, -0.003, 0.021)):
        assert ask("labels", stricter=stricter).needs == "more users offline"


def test_labels_cannot_be_told_without_grades_or_without_a_gain() -> None:
    assert ask("labels").verdict == "can't tell"
    result = ask("labels", gain=gain(0.02, -0.01, 0.05), stricter=counting(0.02, -0.01, 0.05))
    assert result.needs == "more users offline"


# ── 11 sessions per user ─────────────────────────────────────────────────────────────────────


def test_sessions_are_supported_where_users_come_less_often() -> None:
    """+5 % per session over 10 % fewer sessions: 1.05 · .9 − 1 = −5.5 % per user, the other way."""
    result = ask("sessions", lift=OnlineChange(0.05, 0.02, 0.08), sessions=OnlineChange(-0.10, -0.13, -0.07))
    assert (result.verdict, result.strength) == ("supports", 2)
    assert "−5.50 %" in result.sentence


def test_sessions_are_ruled_out_where_their_change_is_too_small_to_matter() -> None:
    """A lift of −5 % would be cancelled by 1 / .95 − 1 = +5.3 %, outside ±4 %."""
    assert ask("sessions", sessions=OnlineChange(0.0, -0.04, 0.04)).verdict == "rules out"


def test_a_settled_change_in_sessions_must_matter() -> None:
    """−0.4 % is settled and small; beside a lift of +0.3 % it turns that: 1.003 · .996 − 1 = −0.1 %."""
    small = OnlineChange(-0.004, -0.007, -0.001)
    assert ask("sessions", sessions=small).verdict == "rules out"
    assert ask("sessions", sessions=small, lift=OnlineChange(0.003, 0.001, 0.005)).strength == 2


@pytest.mark.parametrize(("p", "verdict"), [(0.009, "supports"), (0.011, "can't tell")])
def test_a_change_in_sessions_is_a_cause_below_1_percent_and_below_5_in_older_reports(
    p: float, verdict: str
) -> None:
    change, lift = OnlineChange(-0.10, -0.19, -0.01, p), OnlineChange(0.05, 0.02, 0.08)
    result = ask("sessions", lift=lift, sessions=change)
    assert result.verdict == verdict
    assert summary([result], former_answers=True).startswith("Most likely: sessions per user changed by −10")


def test_sessions_are_ruled_out_where_all_users_have_as_many() -> None:
    assert ask("sessions", sessions=OnlineChange(0.0)).verdict == "rules out"
    assert ask("sessions", sessions=OnlineChange(0.1)).verdict == "can't tell"


def test_sessions_are_ruled_out_for_a_number_per_user() -> None:
    about = replace(ABOUT, online="Videos watched", per=None)
    assert ask("sessions", about=about).statistic == "Videos watched is counted per user"


def test_sessions_are_looked_at_for_other_rates_too_whose_number_per_user_they_do_not_tell() -> None:
    about = replace(ABOUT, online="List CTR", per="lists")
    result = ask(
        "sessions",
        about=about,
        lift=OnlineChange(0.05, 0.02, 0.08),
        sessions=OnlineChange(-0.10, -0.13, -0.07),
    )
    assert (result.verdict, result.strength) == ("supports", 1)
    assert result.sentence == "Users come less often, so list CTR is measured over other lists."
    assert ask("sessions", about=about, sessions=OnlineChange(0.0, -0.04, 0.04)).verdict == "rules out"


def test_sessions_cannot_be_told_where_so_many_would_not_show() -> None:
    assert ask("sessions", sessions=OnlineChange(0.0, -0.06, 0.06)).needs == "more users"
    assert ask("sessions").verdict == "can't tell"


# ── 12 segments ──────────────────────────────────────────────────────────────────────────────


def segments(*rows: tuple[str, float, float], **more: Any) -> SegmentsEvidence:
    of = [SegmentEvidence("device", label, 100, OnlineChange(lift), p) for label, lift, p in rows]
    return SegmentsEvidence(tuple(of), **{"mix_p": {"device": 0.5}, "reversed_by": (), **more})


def test_segments_are_supported_where_one_goes_the_other_way() -> None:
    result = ask("segments", segments=segments(("phone", 0.08, 0.01), ("tv", -0.2, 0.001)))
    assert (result.verdict, result.strength) == ("supports", 1)
    assert "device = phone" in result.cause


def test_segments_are_supported_by_simpson_and_by_uneven_mixes() -> None:
    rows = ("phone", 0.08, 0.3), ("tv", 0.05, 0.4)
    assert ask("segments", segments=segments(*rows, reversed_by=("device",))).strength == 3
    assert ask("segments", segments=segments(*rows, mix_p={"device": 0.0005})).strength == 3


def test_segments_are_ruled_out_where_none_is_settled_the_other_way() -> None:
    result = ask("segments", segments=segments(("phone", 0.08, 0.06), ("tv", -0.2, 0.001)))
    assert result.verdict == "rules out"
    assert result.statistic == "0 of 2 segments in the other direction; mix of users: p = 0.500"


def test_segments_cannot_be_told_without_a_column_of_them() -> None:
    assert ask("segments").verdict == "can't tell"


# ── all of them ──────────────────────────────────────────────────────────────────────────────


def test_the_checks_come_in_their_order_and_name_themselves() -> None:
    names = [
        "noise", "split", "popularity", "leakage", "users", "exposure", "position", "served", "novelty",
        "labels", "sessions", "segments",
    ]  # fmt: skip
    assert [check.name for check in CHECKS] == names
    assert [answer.check for answer in ask_all(NOTHING)] == names


def test_what_is_not_there_is_asked_for() -> None:
    told = ask_all(NOTHING)
    assert {one.needs for one in told if one.verdict == "can't tell"} == {"a table of its own"}


def test_gains_over_a_tiny_baseline_are_differences() -> None:
    """0.02 of 0.2 is +10 %; 0.5 of 0.0005 would be +100,000 %."""
    assert amounts(gain(0.02, 0.01, 0.03, 0.2)) == ["+10.0 %"]
    tiny = gain(0.5, 0.4, 0.6, 0.0005)
    assert amounts(tiny, gain(0.02, 0.01, 0.03, 0.0005)) == ["+0.500", "+0.020"]
