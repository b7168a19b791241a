"""Lifts among users told apart, corrected together, and where they contradict the lift of all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import recdash
from recdash.domain.kinds import Floats, Ints
from recdash.errors import UnknownName
from recdash.online import METRICS
from recdash.online.analysis import choice
from recdash.online.analysis import lift as compare
from recdash.online.analysis.lift import Estimate
from recdash.online.analysis.pair_values import pair_values
from recdash.online.analysis.segments import SegmentLift, by_segment, simpson, whole
from recdash.online.metrics import OnlineMetric
from recdash.online.users import Days, OnlineUsers, Segment

BY_NAME = {metric.name: metric for metric in METRICS}
ENGAGEMENT, SESSIONS = BY_NAME["engagement_rate"], BY_NAME["sessions_per_user"]


def users(variant: list[int], label: list[int], sessions: list[int], engaged: list[int]) -> OnlineUsers:
    """Users of the variants a, b, c; labels are places in tv, web; −1 is not known."""
    none = np.array([], dtype=np.int64)
    return OnlineUsers(
        variants=("a", "b", "c")[: max(variant) + 1], unit=range(len(variant)), variant=np.array(variant),
        totals={"sessions": np.array(sessions, float), "engaged_sessions": np.array(engaged, float)},
        exposed=np.zeros(len(variant), dtype=np.int64), days=Days(none, none, {}), before={},
        segments={"platform": Segment(("tv", "web"), np.array(label))}, assigned={}, crossed=0, removed=(),
        notices=(),
    )  # fmt: skip


def invented(n: int = 900, variants: int = 3) -> OnlineUsers:
    rng = np.random.default_rng(7)
    sessions = 1 + rng.poisson(3, n)
    return users(
        rng.integers(0, variants, n).tolist(), rng.integers(-1, 2, n).tolist(), sessions.tolist(),
        rng.binomial(sessions, rng.random(n)).tolist(),
    )  # fmt: skip


def test_each_segment_has_its_own_lift() -> None:
    known = users([0, 0, 1, 1, 0, 1], [0, 0, 0, 0, 1, 1], [2, 2, 2, 2, 4, 4], [1, 2, 2, 2, 1, 2])
    tv, web = by_segment(known, ENGAGEMENT, "a", "platform")
    assert (tv.segment, tv.n_control, tv.n_variant) == ("tv", 2, 2)
    assert (tv.control_value, tv.variant_value, tv.lift) == (3 / 4, 1.0, pytest.approx(4 / 3 - 1))
    assert (web.segment, web.lift, web.note) == ("web", 1.0, "a variant with one user has no interval")
    assert (web.low, web.p, web.p_bh) == (None, None, None)


@pytest.mark.parametrize("metric", [ENGAGEMENT, SESSIONS])
@pytest.mark.parametrize("former", [False, True])
def test_a_segment_is_compared_as_if_there_were_no_others(metric: OnlineMetric, former: bool) -> None:
    known = invented()
    for row in by_segment(known, metric, "a", "platform", delta_method=former):
        label = {"tv": 0, "web": 1, None: -1}[row.segment]
        inside = known.segments["platform"].label == label
        totals = {name: values[inside] for name, values in known.totals.items()}
        alone = _alone(metric, totals, known.variant[inside], "abc".index(row.variant), former)
        assert (row.lift, row.low, row.high, row.p) == pytest.approx(alone[:4])


def _alone(
    metric: OnlineMetric, totals: Mapping[str, Floats], variant: Ints, code: int, former: bool
) -> Estimate:
    """Returns the lift over variant 0 of these users, as a test of them has it."""
    if former:
        arms = compare.arms(totals, variant)
        return compare.lift(metric, arms[0], arms[code])
    return choice.of_users(metric, pair_values(metric, totals, {}, variant, 0, code)).shown.lift(0.95)


def test_of_few_users_of_a_segment_no_interval_is_told() -> None:
    """Nine users of a variant are too few for a mean, however alike they are; ten are enough."""
    for few, note in ((9, "9 users of the variant: a valid interval needs about 10 users"), (10, "")):
        n = 40 + few
        variant, sessions = [0] * 40 + [1] * few, [1 + user % 3 for user in range(n)]
        (tv,) = by_segment(users(variant, [0] * n, sessions, [0] * n), SESSIONS, "a", "platform")
        assert (tv.note, tv.low is None, tv.p is None) == (note, bool(note), bool(note))


def test_segments_without_an_effect_are_called_in_one_of_twenty() -> None:
    """Of 15 skewed users against 60, the delta method misses an effect of none in more than one of ten."""
    metric, missed = OnlineMetric("sessions", "Sessions", "", "", "sessions"), [0, 0]
    for seed in range(400):
        values = np.random.default_rng(seed).lognormal(0, 1.3, 75)
        known = users([0] * 60 + [1] * 15, [0] * 75, [0] * 75, [0] * 75)
        known = replace(known, totals={"sessions": values})
        for former in (False, True):
            (tv,) = by_segment(known, metric, "a", "platform", delta_method=former)
            missed[former] += tv.low is not None and tv.high is not None and not tv.low <= 0 <= tv.high
    assert missed[False] <= 400 * 0.05 + 2 * math.sqrt(400 * 0.05 * 0.95), missed


def test_users_of_whom_it_is_not_known_are_a_segment_of_their_own() -> None:
    assert [row.segment for row in by_segment(invented(), ENGAGEMENT, "a", "platform")] == [
        "tv",
        "web",
        None,
    ] * 2


def test_all_segments_and_variants_are_one_family() -> None:
    rows = by_segment(invented(), ENGAGEMENT, "a", "platform")
    assert [row.p_bh for row in rows] == pytest.approx(
        false_discovery_control([row.p for row in rows]).tolist()
    )


def test_a_corrected_interval_without_zero_has_a_significant_corrected_p() -> None:
    """Over many samples some segments are significant alone and not after the correction."""
    n_apart = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, variant = 900, np.arange(900) % 3
        engaged = rng.binomial(1, 0.3 + 0.05 * variant)
        known = users(variant.tolist(), rng.integers(0, 2, n).tolist(), [1] * n, engaged.tolist())
        for row in by_segment(known, ENGAGEMENT, "a", "platform"):
            assert row.p_bh is not None
            assert row.low is not None
            assert row.corrected_low is not None
            assert row.corrected_high is not None
            if row.corrected_low > 0 or row.corrected_high < 0:
                assert row.p_bh < 0.05
            n_apart += row.low > 0 > row.corrected_low
    assert n_apart


def test_what_cannot_be_tested_takes_no_part_in_the_correction() -> None:
    variant, label = [0, 0, 1, 1] * 10 + [0, 1], [0] * 40 + [1, 1]
    known = users(variant, label, [2] * 40 + [4, 4], [1, 2, 2, 1] * 10 + [1, 2])
    tv, _ = by_segment(known, ENGAGEMENT, "a", "platform")
    assert tv.p_bh == tv.p == 1.0


def test_a_segment_that_is_not_there_is_named() -> None:
    with pytest.raises(UnknownName, match="platform"):
        by_segment(invented(), ENGAGEMENT, "a", "country")
    with pytest.raises(UnknownName, match="variant"):
        by_segment(invented(), ENGAGEMENT, "z", "platform")


# ── segments against the whole ───────────────────────────────────────────────────────────────


def row(
    segment: str, lift: float | None, p_bh: float | None = None, error: float | None = None
) -> SegmentLift:
    """Of variant b, with as many users as the control; the interval where there is an error."""
    ends = (None, None) if lift is None or error is None else (lift - 1.96 * error, lift + 1.96 * error)
    return SegmentLift("b", segment, 10, 10, 1.0, 1.0, lift, *ends, p_bh, p_bh)


def overall(lift: float | None, error: float = 0.01) -> dict[str, Estimate]:
    """The lift of b over all users, with an interval of twice 1.96 errors."""
    if lift is None:
        return {"b": Estimate(None)}
    return {"b": Estimate(lift, lift - 1.96 * error, lift + 1.96 * error)}


def test_the_lift_over_all_users_is_that_of_the_comparison_without_the_time_before() -> None:
    known = invented()
    result = whole(known, ENGAGEMENT, "a")
    assert list(result) == ["b", "c"]
    expected = _alone(ENGAGEMENT, known.totals, known.variant, 2, former=False)
    assert result["c"][:4] == pytest.approx(expected[:4])


def test_every_segment_against_the_whole_is_simpsons_paradox() -> None:
    """b is better on tv (1/4 against 1/5) and on the web (9/10 against 8/10), but has its users on tv."""
    times = 60
    known = users(
        variant=[0, 0, 0, 0, 1, 1, 1, 1] * times,
        label=[0, 1, 1, 1, 0, 0, 0, 1] * times,
        sessions=[5, 10, 10, 10, 4, 4, 4, 10] * times,
        engaged=[1, 8, 8, 8, 1, 1, 1, 9] * times,
    )
    rows = by_segment(known, ENGAGEMENT, "a", "platform")
    assert all((one.lift or 0) > 0 for one in rows)
    (result,) = simpson(rows, whole(known, ENGAGEMENT, "a"))
    assert (result.variant, result.segments, result.all_of_them) == ("b", ("tv", "web"), True)


def test_visits_in_other_segments_by_evenly_split_users_are_simpsons_paradox_too() -> None:
    """b brings tv, where few sessions engage, more of them; each segment is 5 % better (SE 1 %)."""
    rows = [row("tv", 0.05, error=0.01), row("web", 0.05, error=0.01)]
    (result,) = simpson(rows, overall(-0.05))
    assert result.all_of_them


def test_segments_against_an_unsettled_whole_are_no_paradox() -> None:
    rows = [row("tv", 0.05, error=0.01), row("web", 0.05, error=0.01)]
    assert simpson(rows, overall(-0.01)) == ()


def test_unsettled_segments_of_one_mix_are_no_paradox() -> None:
    """Together +2 % with SE 2 %: 1.4 for each of two."""
    rows = [row("tv", 0.02, error=0.028), row("web", 0.02, error=0.028)]
    assert simpson(rows, overall(-0.05)) == ()


def test_chance_makes_no_paradox_in_tests_without_an_effect() -> None:
    """Users of tv engage in .1 of their sessions, those of the web in .9; a coin gives the variant."""
    rng, flagged = np.random.default_rng(3), 0
    for _ in range(300):
        label = rng.integers(0, 2, 400)
        known = users(
            rng.integers(0, 2, 400).tolist(), label.tolist(), [5] * 400,
            rng.binomial(5, np.where(label == 0, 0.1, 0.9)).tolist(),
        )  # fmt: skip
        rows = by_segment(known, ENGAGEMENT, "a", "platform")
        flagged += any(one.all_of_them for one in simpson(rows, whole(known, ENGAGEMENT, "a")))
    assert flagged <= 3


def test_a_segment_that_surely_goes_the_other_way_is_named() -> None:
    rows = [row("tv", -0.2, 0.001), row("web", 0.1, 0.01), row("phone", -0.01, 0.8)]
    (result,) = simpson(rows, overall(0.05))
    assert (result.segments, result.all_of_them) == (("tv",), False)


def test_chance_is_no_contradiction() -> None:
    assert simpson([row("tv", -0.2, 0.06), row("web", 0.1, 0.01)], overall(0.05)) == ()


def test_a_single_segment_or_no_lift_contradicts_nothing() -> None:
    assert simpson([row("tv", -0.2, 0.5), row("web", None)], overall(0.05)) == ()
    assert simpson([row("tv", -0.2, 0.001)], overall(None)) == ()


def test_users_without_a_segment_come_after_the_segments() -> None:
    """Every third user has no country; variants and segments are listed by name."""
    n = 900
    table = pd.DataFrame({
        "user_id": range(n), "variant": [("a", "b", "c")[user % 3] for user in range(n)],
        "country": [("it", "fr", "")[user // 3 % 3] for user in range(n)],
        "bought": [user % 7 % 2 for user in range(n)],
    })  # fmt: skip
    found = recdash.ab_test(sessions=table.to_csv(index=False).encode(), control="a").segments("country")
    expected = [(variant, segment) for variant in "bc" for segment in ("fr", "it", None)]
    assert [(row["variant"], row["segment"]) for row in found.rows] == expected
