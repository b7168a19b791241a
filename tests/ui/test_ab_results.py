"""The page A/B results over small tests: what it finds, whether to believe it, what can be changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from app_pages import (
    MadeOnce,
    Open,
    at_once,
    link,
    lists,
    markup,
    passed,
    press,
    put,
    said,
    store,
    warned,
)
from streamlit.testing.v1 import AppTest

from recdash.charts.ab_over_time import LiftPoint
from recdash.charts.marks import CONTEXT_GREY, RUN_COLOURS
from recdash.domain.access import Person
from recdash.domain.records import OnlineTest
from recdash.errors import Problem
from recdash.formatting import numbers
from recdash.formatting.html import markdown
from recdash.formatting.wording import lowered
from recdash.online import OnlineMetric, OnlineRow, OnlineRules
from recdash.online.analysis.novelty_effect import NoveltyEffect
from recdash.online.analysis.sample import SampleSummary
from recdash.online.analysis.segments import Reversal
from recdash.online.metrics import MetricRole
from recdash.online.plan import AnalysisPlan, Baseline, days_needed, users_needed
from recdash.service import Workspace
from recdash.ui.ab_results.over_time import day_labels, novelty_text
from recdash.ui.ab_results.power import effect_of, sentence
from recdash.ui.ab_results.segments import reversal_words
from recdash.ui.ab_results.table import finding_cell
from recdash.ui.app import current_user
from recdash.ui.components.online_rules import RULE_TITLES
from recdash.ui.components.widgets import notices_html

open_page = at_once
USERS = 200


def sessions(engaged: Mapping[str, int], minutes: Mapping[str, float] | None = None, days: int = 7) -> Any:
    """200 users a variant, one session each: the first ``engaged`` click; every other one watches so long.

    So the engagement rate is engaged / 200, and a session's watch time half of ``minutes`` (6).
    """
    rows = [
        {
            "unit_id": f"{variant}-{user}", "session_id": f"s{user}", "variant": variant,
            "start_ts": f"2026-03-{2 + user % days:02d}T12:00:00Z",
            "clicks": int(user < clicked), "watch_s": 60 * (minutes or {}).get(variant, 6.0) * (user % 2),
            "country": "DE" if user % 4 < 2 else "FR",
        }
        for variant, clicked in engaged.items()
        for user in range(USERS)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def added(workspace: Workspace, table: Any, **options: Any) -> OnlineTest:
    """The A/B test home page, of an experiment with the runs als and ease."""
    runs = store(workspace, {"popular": lists(9), "als": lists(2), "ease": lists(1)})
    tables = table if isinstance(table, dict) else {"sessions": table}
    served = {variant: runs[run] for variant, run in options.pop("links", {}).items()}
    return workspace.online_tests.add(runs["films"], "home page", tables, links=served, **options)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return partial(open_page, "ab_results")


def add_won_and_lost(workspace: Workspace) -> OnlineTest:
    """80 of 200 engaged against 140; 6 minutes against 3 for every other user."""
    return added(workspace, sessions({"control": 80, "new": 140}, {"new": 3.0}))


@pytest.fixture
def won_and_lost(made_once: MadeOnce) -> OnlineTest:
    return made_once(add_won_and_lost)


@pytest.fixture
def own_won_and_lost(workspace: Workspace) -> OnlineTest:
    """The same in a store to write to."""
    return add_won_and_lost(workspace)


# ── the finding ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("won_and_lost")
def test_the_title_is_the_decision_and_its_reason_follows(shown: Open) -> None:
    text = said(shown())
    assert "Roll back new home page · 2 to 8 Mar 2026 (7 days) · 400 users, no planned sample size" in text
    assert "▼ Roll back new Session watch time −" in text
    assert "Wins engagement rate, but loses session watch time." in text
    assert "The 2 lifts in goals are Holm-corrected." in text


def test_a_test_that_cannot_decide_says_how_much_of_its_plan_is_reached(
    workspace: Workspace, shown: Open
) -> None:
    """All 400 users are new in the one week: 400 more take another seven days."""
    added(workspace, sessions({"control": 100, "new": 101}), rules=OnlineRules(planned_users=800))
    text = said(shown())
    assert "Keep running, about 7 days home page" in text
    assert "400 users · 50 % of the planned 800 users per comparison" in text


def test_each_metric_has_its_values_its_sums_its_lift_and_its_word(
    won_and_lost: OnlineTest, shown: Open
) -> None:
    """70 % against 40 %: +75 %; 600 minutes of 200 sessions against 300: −50 %."""
    text = said(shown())
    assert won_and_lost.control == "control"
    assert "Engagement rate 40.0 % 80 / 200 new 70.0 % 140 / 200 +75" in text
    assert "Session watch time min 3.00 600 / 200 new 1.50 300 / 200 −50" in text
    assert text.count("▲ better") == text.count("▼ worse") == 1


def test_a_number_that_cannot_be_had_has_its_reason(workspace: Workspace, shown: Open) -> None:
    added(workspace, sessions({"control": 80, "new": 140}))
    text = said(shown())
    assert "– Sessions per user, new: all users are equal, so there is no interval." in text


def test_a_value_without_an_interval_has_its_reason(workspace: Workspace, shown: Open) -> None:
    """Of 150 users of each variant; 200 who are not skewed have one."""
    few = sessions({"control": 80, "new": 140}).groupby("variant").head(150)
    added(workspace, few)
    app = shown()
    reason = "150 users: a valid interval needs about 200 users"
    assert f"– Session watch time: no 95 % CI of the value of control and new ({reason})." in said(app)
    assert "Sessions per user: no 95 % CI" not in said(app)  # as it has no lift, for the same reason
    assert f'title="no 95 % CI: {reason}"' in markup(app).replace("\xa0", " ")


@pytest.mark.usefixtures("won_and_lost")
def test_the_correction_is_the_one_of_the_link(shown: Open) -> None:
    assert "(Benjamini–Hochberg)" in said(shown(corr="bh"))
    assert "The 2 lifts in goals are not corrected." in said(shown(corr="off"))


def test_with_one_variant_there_are_values_and_no_lift(workspace: Workspace, shown: Open) -> None:
    added(workspace, sessions({"control": 80}))
    app = shown()
    assert "Nothing to compare: control is the only variant" in said(app)
    assert "40.0 % 80 / 200" in said(app)
    assert not app.get("plotly_chart")


def test_a_gain_at_an_unplanned_end_asks_for_the_plan(workspace: Workspace, shown: Open) -> None:
    """106 of 200 engaged against 80: significant in one look, not under continuous monitoring."""
    test = added(workspace, sessions({"control": 80, "new": 106}))
    app = shown()
    assert "Ship new if this size was planned" in said(app)
    assert "Wins engagement rate, but not under continuous monitoring." in said(app)
    assert any("400 users planned" in text.value for text in app.markdown)
    press(app, "No")
    assert any("not enough to ship" in caption.value for caption in app.caption)
    press(app, "Yes")
    assert "Ship new, but the guardrail sessions per user is inconclusive home page" in said(app)
    assert "Planned sample size, users: off → 400" in said(app)
    assert workspace.online_tests.rules(test.id).planned_users == 400


def test_columns_left_out_are_named_on_the_page(workspace: Workspace, shown: Open) -> None:
    codes = [f"code {n}" for n in range(400)]
    added(workspace, sessions({"control": 80, "new": 140}).assign(coupon=codes))
    assert "column 'coupon' : ignored: 400 distinct texts" in said(shown())


# ── health ───────────────────────────────────────────────────────────────────────────────────


def test_a_broken_split_judges_nothing(workspace: Workspace, shown: Open) -> None:
    """300 users against 200: p of χ² is below 0.001."""
    more = sessions({"new": 140}).assign(unit_id=[f"again-{user}" for user in range(USERS)])
    added(workspace, pd.concat([sessions({"control": 80, "new": 140}), more[:100]]))
    app = shown()
    text = said(app)
    assert "Sample ratio mismatch (SRM): no metric is judged" in text
    assert "! mismatch p < 0.001; no planned split is given" in text
    assert "▲" not in text
    assert text.count("– not judged") == 3
    assert "Sample ratio mismatch (SRM): no metric is judged." in app.error[0].value
    assert app.error[0].value.count("Sample ratio mismatch") == 1


def test_a_split_that_was_planned_so_is_judged(workspace: Workspace, shown: Open) -> None:
    table = sessions({"control": 80, "new": 140})
    few = table[(table["variant"] == "control") | (table.index % 4 < 2)]
    added(workspace, few, rules=OnlineRules(split={"control": 2, "new": 1}))
    text = said(shown())
    assert "✓ as planned p = 1.000; planned 2 : 1" in text
    assert "Ship new" in text


def test_who_was_seen_in_several_variants_or_is_a_bot_is_counted(workspace: Workspace, shown: Open) -> None:
    table = sessions({"control": 80, "new": 140})
    table.loc[table["unit_id"] == "new-0", "clicks"] = 301
    moved = table[table["unit_id"] == "control-0"].assign(variant="new", session_id="other")
    added(workspace, pd.concat([table, moved]))
    text = said(shown())
    assert "Multiple exposures ✓ 1 user 0.250 %, excluded" in text  # 1 of 400
    assert "Bots ✓ 1 excluded 0.00 to 0.50 % of a variant" in text  # 1 of 200
    assert "Had more than 300 clicks or 100 sessions in one day users 0 1 1" in text
    assert "Users analysed users 199 199 398" in text


def test_users_without_a_session_are_known_from_exposures_alone(workspace: Workspace, shown: Open) -> None:
    table = sessions({"control": 80, "new": 140})
    exposures = table[["unit_id", "variant"]].assign(ts=table["start_ts"])
    added(workspace, {"sessions": table.drop(columns="variant")[20:], "exposures": exposures})
    assert "Exposed, no session ✓ 20 users included; 0 to 10 % of a variant" in said(shown())


@pytest.mark.usefixtures("won_and_lost")
def test_a_week_is_full_and_what_sessions_cannot_tell_says_why(shown: Open) -> None:
    text = said(shown())
    assert "Days ✓ 1 full week 2 to 8 Mar 2026 (UTC)" in text
    assert "Exposed, no session – not known needs a table of exposures" in text


@pytest.mark.parametrize(
    ("days", "says"),
    [
        (10, "? 1 week, 3 days 2 to 11 Mar 2026 (UTC); some weekdays count more often"),
        (14, "✓ 2 full weeks 2 to 15 Mar 2026 (UTC)"),
    ],
)
def test_only_full_weeks_are_as_advised(workspace: Workspace, shown: Open, days: int, says: str) -> None:
    added(workspace, sessions({"control": 80, "new": 140}, days=days))
    assert f"Days {says}" in said(shown())


def test_few_days_are_no_week(workspace: Workspace, shown: Open) -> None:
    added(workspace, sessions({"control": 80, "new": 140}, days=3))
    text = said(shown())
    assert "Days ! 3 days only" in text
    assert "The test ran for 3 days" in text


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (20_514, 20_514, "2 Mar 2026"),
        (20_514, 20_520, "2 to 8 Mar 2026"),
        (20_510, 20_514, "26 Feb to 2 Mar 2026"),
        (20_450, 20_454, "28 Dec 2025 to 1 Jan 2026"),
    ],
)
def test_dates_are_as_short_as_can_be(first: int, last: int, words: str) -> None:
    assert SampleSummary({}, 0, {}, {}, first, last).dates == words


# ── roles ────────────────────────────────────────────────────────────────────────────────────


def test_a_guardrail_holds_is_broken_or_is_inconclusive_by_its_margin(
    workspace: Workspace, shown: Open
) -> None:
    """Half the minutes, −50 %: a margin of 90 % holds, one of 10 % is broken, one of 50 % is inconclusive."""
    rails = [
        OnlineMetric(f"rail{margin}", f"Rail {margin}", "min", "", "watch_min", role="guardrail",
                     margin=margin / 100)
        for margin in (90, 50, 10)
    ]  # fmt: skip
    added(workspace, sessions({"control": 80, "new": 81}, {"new": 3.0}), metrics=rails)
    text = said(shown())
    assert "Loses session watch time and breaks the guardrail rail 10." in text
    cells = r"Rail \d+ margin: −(\d+) % .*? <0\.001 uncorrected . (holds|broken|inconclusive) "
    found = re.findall(cells, text)
    assert found == [("90", "holds"), ("50", "inconclusive"), ("10", "broken")]


def test_of_twelve_metrics_each_has_a_row_and_the_title_counts(workspace: Workspace, shown: Open) -> None:
    more = [OnlineMetric(f"m{n}", f"Minutes {n}", "min", "", "watch_min") for n in range(8)]
    added(workspace, sessions({"control": 80, "new": 140}, {"new": 3.0}), metrics=more)
    text = said(shown())
    assert "Wins engagement rate, but loses 9 goals." in text
    assert text.count("▼ worse") == 9


def test_a_metric_that_shall_fall_is_better_when_it_does(workspace: Workspace, shown: Open) -> None:
    falling = [OnlineMetric("session_watch_time", "Waiting", "min", "", "watch_min", "sessions",
                            direction="down")]  # fmt: skip
    added(workspace, sessions({"control": 80, "new": 140}, {"new": 3.0}), metrics=falling)
    text = said(shown())
    assert "Wins engagement rate and waiting." in text
    assert "lower is better" in text


# ── one metric in depth ──────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("won_and_lost")
def test_the_metric_in_depth_is_the_one_of_the_link(shown: Open) -> None:
    app = shown(om="session_watch_time", over="daily", seg="country")
    text = said(app)
    assert "Session watch time: trend" in text
    assert "Session watch time: segments" in text
    assert "To detect" not in text, "a significant loss needs no more users"
    assert link(app)["om"] == "session_watch_time"
    assert app.segmented_control(key="choice-over").value == "daily"


def test_an_open_metric_says_how_many_users_the_chosen_effect_needs(
    workspace: Workspace, shown: Open
) -> None:
    added(workspace, sessions({"control": 100, "new": 101}))
    text = said(shown(eff="5"))
    assert "? inconclusive" in text
    assert "To detect +5 % in engagement rate, this test needs about" in text
    assert "This is for the effect that you choose here" in text
    assert 'Effect "moon" isn\'t between 0.01 and 500 %; showing 2 %.' in warned(shown(eff="moon"))


@pytest.mark.usefixtures("won_and_lost")
def test_what_a_link_names_and_is_not_here_is_told(shown: Open) -> None:
    names = {"corr": "Correction", "over": "Trend", "seg": "Segment", "om": "Online metric"}
    told = warned(shown(**dict.fromkeys([*names, "t"], "moon"))).replace("\\", "")
    for noun in names.values():
        assert f'{noun} "moon" isn\'t available here; showing another.' in told
    assert 'A/B test "moon" isn\'t available here; showing the newest. It may be deleted, ' in told


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "0", "501", "moon"])
def test_an_effect_that_cannot_be_looked_for_is_none(text: str) -> None:
    assert effect_of(text) is None
    assert (effect_of("0.01"), effect_of("500")) == (0.01, 500.0)


def test_another_test_is_not_asked_for_the_segments_and_variants_of_the_last_one(
    own_won_and_lost: OnlineTest, workspace: Workspace, shown: Open
) -> None:
    table = sessions({"control": 80, "other": 140}).rename(columns={"country": "device"})
    later = workspace.online_tests.add(own_won_and_lost.experiment, "later", {"sessions": table})
    app = shown(t=own_won_and_lost.id, seg="country")
    passed(app.selectbox(key="online-test").set_value(later.id).run())
    assert "country" not in warned(app)
    assert app.selectbox(key="ab-segment").value == "device"


def test_long_names_that_differ_at_their_end_can_be_told_apart(workspace: Workspace, shown: Open) -> None:
    names = [f"a very long variant name that goes on {number}" for number in (1, 2)]
    added(workspace, sessions({"control": 80, names[0]: 81, names[1]: 82}))
    bodies = markup(shown())
    for name, shown_as in zip(names, ("hat goes on 1", "hat goes on 2"), strict=True):
        assert f'<bdi title="{name}">a very long varia…' in bodies
        assert f"{shown_as}</bdi>" in bodies


@pytest.mark.usefixtures("won_and_lost")
@pytest.mark.parametrize("how", ["cumulative", "daily", "since"])
def test_every_kind_of_days_has_its_chart_and_its_table(shown: Open, how: str) -> None:
    app = shown(over=how)
    assert len(app.get("plotly_chart")) == 3  # lifts, days, segments
    frames = [element.value for element in app.dataframe]
    over_time = next(frame for frame in frames if "day" in frame)
    assert list(over_time["variant"].unique()) == ["new"]
    assert len(over_time) == 7


@pytest.mark.parametrize(
    ("beside", "labelled"),
    [(1, [0, 7, 14, 21, 28]), (2, [0, 10, 20]), (3, [0, 18]), (5, [0, 18])],
)
def test_no_label_is_at_the_end_of_a_panel_beside_another(beside: int, labelled: list[int]) -> None:
    """Days 0 to 28: steps of 28 / 4, 28 / 3 and 28 / 1.6, rounded up. The last 15 % begin with day 23.8."""
    series = {"new": [LiftPoint(day, 1.0) for day in range(29)]}
    assert list(day_labels(None, "daily", series, beside)) == labelled


def test_two_panels_of_few_days_do_not_label_the_last_one() -> None:
    """6 days after 9 March 2026, day 20,521 since 1970: steps of 6 / 3 = 2, and none from day 5.1 on."""
    series = {"new": [LiftPoint(day, 1.0) for day in range(7)]}
    assert day_labels(20_521, "daily", series, 2) == {0: "9 Mar", 2: "11 Mar", 4: "13 Mar"}


def test_a_test_of_one_day_has_no_days_to_draw(workspace: Workspace, shown: Open) -> None:
    added(workspace, sessions({"control": 80, "new": 140}, days=1))
    app = shown()
    assert any("No trend: all data is of one day" in element.value for element in app.caption)
    assert "Days ! 1 day only 2 Mar 2026 (UTC)" in said(app)


def test_segments_say_where_the_lifts_of_the_table_are_adjusted_and_theirs_are_not(
    workspace: Workspace, shown: Open
) -> None:
    table = sessions({"control": 80, "new": 140}, {"new": 3.0})
    earlier = table.assign(
        session_id="before", start_ts="2026-02-20T12:00:00Z", clicks=table["clicks"] * (table.index % 3 > 0)
    )
    added(workspace, pd.concat([table, earlier]), rules=OnlineRules(starts="2026-03-01"))
    captions = [element.value for element in shown(om="engagement_rate").caption]
    assert any("unadjusted (no CUPED)" in text for text in captions)


@pytest.mark.usefixtures("won_and_lost")
def test_segments_of_a_test_without_a_time_before_speak_of_no_adjustment(shown: Open) -> None:
    assert not any("CUPED" in element.value for element in shown(om="engagement_rate").caption)


def test_without_words_of_users_no_segment_is_offered(workspace: Workspace, shown: Open) -> None:
    added(workspace, sessions({"control": 80, "new": 140}).drop(columns="country"))
    assert any("No column divides the users into segments" in element.value for element in shown().caption)


def test_a_fading_is_told_of_the_same_users() -> None:
    seen = NoveltyEffect("als", 812, (0, 4), (5, 9), early_lift=0.051, late_lift=0.012, difference=-0.04)
    assert novelty_text(seen, 0.004) == (
        "als: the lift fades, +5.10 % early and +1.20 % late (p = 0.004). "
        "Days 0 to 4 vs 5 to 9, the same 812 users, control included."
    )
    assert "the lift may fade, " in novelty_text(seen, 0.04)
    worse = replace(seen, early_lift=-0.01, late_lift=-0.09, difference=-0.08)
    assert "the lift falls, " in novelty_text(worse, 0.004)
    assert "the lift may fall, " in novelty_text(worse, 0.04)
    milder = replace(seen, early_lift=-0.09, late_lift=-0.01, difference=0.08)
    assert "the lift fades, " in novelty_text(milder, 0.004)
    assert "no significant change of the lift, " in novelty_text(seen, 0.4)
    unknown = NoveltyEffect("als", 0, (0, 0), (0, 0), note="a single day cannot be split into early and late")
    assert novelty_text(unknown, None) == (
        "als: a novelty effect cannot be tested: a single day cannot be split into early and late."
    )


def test_a_reversal_names_the_paradox_or_the_segments() -> None:
    assert "Simpson's paradox" in reversal_words(Reversal("als", ("DE", "FR"), all_of_them=True), "country")
    some = reversal_words(Reversal("als", ("DE", None), all_of_them=False), "country")
    assert some == "als: the lift reverses significantly in country DE and (unknown)."


def test_how_many_users_are_missing_is_one_sentence() -> None:
    needed = "To detect +2 % in CTR, this test needs about 42,000 more users."
    assert sentence("CTR", 2, {"new": 41_234}) == needed
    assert sentence("Watch", 2, {"new": 0}) == "This test is large enough to detect +2 % in watch."
    named = sentence("CTR", 2, {"B": 41_234}, {"B": "bpr"})
    assert named == "To detect +2 % in CTR, the comparison of bpr needs about 42,000 more users."
    assert "up to 52,000 more users" in sentence("Watch", 2, {"new": 0, "other": 52_000})
    assert sentence("Watch", 2, {"new": None}).startswith("No sample size detects +2 % in watch")


def test_an_abbreviation_keeps_its_capitals() -> None:
    assert (lowered("Engagement rate"), lowered("CTR")) == ("engagement rate", "CTR")


# ── what an editor can change ────────────────────────────────────────────────────────────────


def test_an_own_metric_is_made_by_form_and_removed_again(own_won_and_lost: OnlineTest, shown: Open) -> None:
    """600 minutes of 200 users."""
    key = f"{own_won_and_lost.id}-"
    app = shown()
    app.text_input(key=f"ab-name-{key}").set_value("Minutes per user")
    app.selectbox(key=f"ab-numerator-{key}").set_value("watch_min")
    press(app, "Save metric")
    text = said(app)
    assert "Minutes per user per user 3.00 600 / 200 new 1.50 300 / 200" in text
    assert "Metric Minutes per user: watch min ÷ users, higher is better, goal" in text
    passed(app.selectbox(key=f"ab-own-{own_won_and_lost.id}").set_value("minutes_per_user").run())
    press(app, "Remove custom metric")
    assert "600 / 200 new 1.50 300 / 200" in said(app)  # per session, as before
    assert "Minutes per user per user" not in said(app)


def test_a_known_metric_can_be_made_a_guardrail(own_won_and_lost: OnlineTest, shown: Open) -> None:
    name = "engagement_rate"
    app = shown()
    passed(app.selectbox(key=f"ab-own-{own_won_and_lost.id}").set_value(name).run())
    app.selectbox(key=f"ab-role-{own_won_and_lost.id}-{name}").set_value("guardrail")
    app.number_input(key=f"ab-margin-{own_won_and_lost.id}-{name}").set_value(5.0)
    press(app, "Save metric")
    text = said(app)
    assert "Engagement rate margin: −5 %" in text
    assert "Loses session watch time" in text


@pytest.mark.usefixtures("won_and_lost")
def test_a_metric_without_a_name_is_refused_where_the_form_stands(shown: Open) -> None:
    app = press(shown(), "Save metric")
    assert "it has no name" in app.error[0].value.replace("\\", "")


def test_rules_are_changed_with_a_warning_and_the_page_says_so(
    own_won_and_lost: OnlineTest, shown: Open
) -> None:
    app = shown()
    assert "Changing rules after seeing results inflates false positives." in warned(app)
    app.number_input(key=f"ab-winsorise-{own_won_and_lost.id}").set_value(0.9)
    press(app, "Apply rules")
    text = said(app)
    assert "Changed just now" in text
    assert "Outlier capping: quantile of users: off → 0.9" in text
    assert "Outlier capping: quantile of users 0.9 default: off" in text
    assert "Outlier capping at the 0.9 quantile of users." in text
    assert "Changed just now" not in said(press(app, "Close"))


def test_the_form_of_rules_begins_with_those_of_the_test_that_is_shown(
    own_won_and_lost: OnlineTest, workspace: Workspace, shown: Open
) -> None:
    workspace.online_tests.set_rules(own_won_and_lost.id, OnlineRules(bot_clicks=7))
    other = workspace.online_tests.add(
        own_won_and_lost.experiment, "other", {"sessions": sessions({"control": 80, "new": 100})}
    )

    def most_clicks(app: AppTest) -> float | None:
        return next(box.value for box in app.number_input if box.label == RULE_TITLES["bot_clicks"])

    app = shown(t=own_won_and_lost.id)
    assert most_clicks(app) == 7
    app = passed(app.selectbox(key="online-test").set_value(other.id).run())
    assert most_clicks(app) == OnlineRules().bot_clicks


@pytest.mark.usefixtures("won_and_lost")
def test_rules_that_stay_change_nothing(shown: Open) -> None:
    app = press(shown(), "Apply rules")
    assert "Nothing changed: these rules apply already." in [element.value for element in app.info]


@pytest.mark.usefixtures("won_and_lost")
def test_a_viewer_reads_and_has_no_forms(shown: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current_user, "person", lambda: Person("vera", "viewer"))
    app = shown()
    assert "Roll back new" in said(app)
    assert "Change this test" not in said(app)
    assert "Save metric" not in [button.label for button in app.button]


# ── other kinds of tests ─────────────────────────────────────────────────────────────────────


def test_of_a_table_that_is_added_up_the_rest_is_absent_with_a_reason(
    workspace: Workspace, shown: Open
) -> None:
    columns = ["variant", "metric", "n", "mean", "variance"]
    rows = [("control", "ctr", 5000, 0.20, 0.16), ("new", "ctr", 5010, 0.25, 0.18)]
    added(workspace, {"aggregates": pd.DataFrame(rows, columns=columns)})
    app = shown()
    text = said(app)
    assert "Ship new" in text
    assert "ctr 0.200 n = 5,000 new 0.250 n = 5,010 +25.0" in text
    assert "Multiple exposures – not known not available for aggregated data" in text
    assert any("These need data per user" in element.value for element in app.caption)
    assert len(app.get("plotly_chart")) == 1


def test_without_a_test_the_page_leads_to_the_upload_and_the_demo(workspace: Workspace, shown: Open) -> None:
    store(workspace, {"popular": lists(9), "als": lists(2)})
    app = shown()
    assert "No A/B test yet" in said(app)
    buttons = ["Upload an A/B test", "Load the demo", "Store plan"]
    assert [button.label for button in app.button] == buttons
    headline = "Ship ALS v3, but the guardrail sessions per user is inconclusive; roll back Two-tower 2026-10"
    assert headline in said(press(app, "Load the demo"))


@pytest.mark.parametrize("page", ["ab-results", "offline-online", "why"])
def test_a_link_to_a_test_that_is_gone_says_so_where_no_other_is_left(
    workspace: Workspace, open_page: Open, page: str
) -> None:
    store(workspace, {"popular": lists(9), "als": lists(2)})
    told = warned(open_page(page, t="moon"))
    assert 'A/B test "moon" isn\'t available here. It may be deleted, archived or of another ' in told
    assert not warned(open_page(page))


def test_a_linked_variant_wears_its_runs_colour_and_others_are_grey(
    workspace: Workspace, shown: Open
) -> None:
    added(workspace, sessions({"control": 80, "a": 140, "b": 80}), links={"a": "als"})
    bodies = markup(shown())
    assert f'square" style=--run:{RUN_COLOURS[1]}></i><bdi title="als (variant a)">als</bdi>' in bodies
    assert f'circle" style=--run:{CONTEXT_GREY}></i><bdi title="b">' in bodies


def test_a_variants_name_full_of_markup_is_shown_as_text(workspace: Workspace, shown: Open) -> None:
    hostile = "<img src=x onerror=alert(1)> [x](http://evil.example)"
    added(workspace, sessions({"control": 80, hostile: 140}))
    app = shown()
    assert f"Ship {hostile}" not in said(app)  # 40 characters of a name are enough
    assert "Ship <img src=x onerror=a…ttp://evil.example)" in said(app)
    bodies = markup(app)
    assert "<img" not in bodies


def test_the_test_is_the_one_of_the_link(workspace: Workspace, shown: Open) -> None:
    first = added(workspace, sessions({"control": 80, "new": 140}))
    workspace.online_tests.add(first.experiment, "later", {"sessions": sessions({"control": 80, "new": 81})})
    assert "later · 2 to 8 Mar" in said(shown())
    assert "home page · 2 to 8 Mar" in said(shown(t=first.id))


def test_the_table_behind_has_every_number(won_and_lost: OnlineTest, shown: Open) -> None:
    app: AppTest = shown(t=won_and_lost.id)
    frame = next(element.value for element in app.dataframe if "lift_percent" in element.value)
    rate = frame[(frame["metric"] == "engagement_rate") & ~frame["is_control"]].iloc[0]
    assert rate["lift_percent"] == pytest.approx(75.0)
    assert (rate["numerator"], rate["denominator"], rate["word"]) == (140, 200, "better")


# ── what stands beside a number ──────────────────────────────────────────────────────────────


def one_row_per_user() -> pd.DataFrame:
    """200 users a variant. Revenue is that of the time before, 4 to 13, plus 0 or 1; new earns 1 more."""
    rows = [
        (f"{variant}-{user}", variant, 4 + user % 10 + user % 2 + (variant == "new"), 4 + user % 10)
        for variant in ("control", "new")
        for user in range(USERS)
    ]
    return pd.DataFrame(rows, columns=["unit_id", "variant", "revenue", "pre_revenue"])


def test_an_adjusted_lift_says_so_where_it_stands_and_names_what_adjusts_it(
    workspace: Workspace, shown: Open
) -> None:
    added(workspace, one_row_per_user())
    text = said(shown())
    assert re.search(r"Revenue \+[\d.]+ % \(95 % CI [^)]*, CUPED-adjusted\)", text)
    assert re.search(r"adjusted \+[\d.]+ ", text)
    assert "Lifts in revenue are adjusted (CUPED) by pre_revenue, so" in text


def test_a_chosen_covariate_is_named_once(workspace: Workspace, shown: Open) -> None:
    metric = OnlineMetric("revenue", "Revenue", "", "", "revenue", covariate="pre_revenue")
    added(workspace, one_row_per_user(), metrics=[metric])
    assert "Lifts in revenue are adjusted (CUPED) by pre_revenue, so" in said(shown())


@pytest.mark.usefixtures("won_and_lost")
def test_a_lift_that_is_not_adjusted_does_not_speak_of_it(shown: Open) -> None:
    assert "adjusted" not in said(shown())


def test_a_test_without_a_linked_variant_says_what_that_means(workspace: Workspace, shown: Open) -> None:
    added(workspace, sessions({"control": 80, "new": 140}))
    app = shown()
    told = [element.value for element in app.info]
    assert any("the recommendation does not use the test" in text for text in told)


@pytest.mark.parametrize("page", ["ab_results", "offline_online", "why"])
def test_variants_are_linked_where_the_page_says_that_none_is(
    workspace: Workspace, open_page: Open, page: str
) -> None:
    test = added(workspace, sessions({"control": 80, "als": 140}))
    app = open_page(page)
    assert app.selectbox(key=f"relink-{test.id}_als").value
    app.button(key=f"online-links-{test.id}").click().run()
    (stored,) = workspace.online_tests.all(test.experiment)
    assert list(stored.links) == ["als"]


def test_a_test_with_a_linked_variant_or_without_runs_speaks_of_no_link(
    workspace: Workspace, shown: Open
) -> None:
    added(workspace, sessions({"control": 80, "new": 140}), links={"new": "als"})
    assert not shown().info
    alone = workspace.experiments.create("alone")
    workspace.online_tests.add(alone.id, "shop", {"sessions": sessions({"control": 80, "new": 140})})
    assert not shown(e=alone.id).info


@pytest.mark.usefixtures("won_and_lost")
def test_a_term_has_a_link_to_its_entry_of_the_guide(shown: Open) -> None:
    raw = markup(shown())
    for slug in ("srm", "novelty-effect"):
        assert re.search(rf'<h2>[^<]*</h2><a class="rd-help" href="[^"]*metric={slug}["&]', raw)


def test_a_notice_that_states_a_fact_has_no_warning_sign() -> None:
    fact = Problem("crossovers", "column 'variant'", "9 users saw several variants", "This is negligible.")
    warning = Problem("few-days", "days", "The test ran for 3 days", "Run it for a week.")
    assert "!" not in notices_html([fact])
    assert ">!<" in notices_html([warning])


@pytest.mark.parametrize(
    ("page", "metric"),
    [
        ("ab_results", "engagement_rate"),
        ("offline_online", "session_watch_time"),
        ("why", "session_watch_time"),
    ],
)
def test_results_begin_with_the_primary_metric_and_explanations_with_one_that_disagrees(
    workspace: Workspace, open_page: Open, page: str, metric: str
) -> None:
    """Only session watch time contradicts the offline order; the first goal is the engagement rate."""
    links = {"control": "popular", "new": "als"}
    added(workspace, sessions({"control": 80, "new": 140}, {"new": 3.0}), links=links)
    assert link(open_page(page))["om"] == metric


@pytest.mark.parametrize("page", ["offline_online", "why"])
def test_a_disagreement_in_another_metric_is_one_click_away(
    workspace: Workspace, open_page: Open, page: str
) -> None:
    links = {"control": "popular", "new": "als"}
    added(workspace, sessions({"control": 80, "new": 140}, {"new": 3.0}), links=links)
    elsewhere = said(open_page(page, om="engagement_rate"))
    assert "Offline and online disagree in: Session watch time" in elsewhere
    assert "online disagree in" not in said(open_page(page))


@pytest.mark.parametrize(
    ("role", "more_users", "said_of_it"),
    [
        ("guardrail", 20_000, "a drop of 2 % is not ruled out: needs ≈ 20,000 more users"),
        ("guardrail", 10**9, "a drop of 2 % is not ruled out: needs ≈ 1000 M more users"),
        ("guardrail", None, "a drop of 2 % is not ruled out"),
        ("goal", 20_000, "a lift as observed needs ≈ 20,000 more users"),
        ("goal", 10**9, "too small to tell: needs ≈ 1000 M more users"),
    ],
)
def test_an_inconclusive_result_says_what_it_leaves_open(
    role: MetricRole, more_users: int | None, said_of_it: str
) -> None:
    numbers = (8_000, 1.0, 0.9, 1.1, -0.01, -0.05, 0.02, 0.4)
    row = OnlineRow(
        *("visits", "Sessions per user", "", "b", False, *numbers, ""),
        role=role,
        margin=0.02,
        word="not settled",
        more_users=more_users,
    )
    cell = str(finding_cell(row, 16_000)).replace("\u00a0", " ")
    assert f">{said_of_it}<" in cell


def test_a_candidate_that_the_test_did_not_serve_is_named(workspace: Workspace, open_page: Open) -> None:
    links = {"control": "popular", "new": "als"}
    added(workspace, sessions({"control": 80, "new": 140}), links=links)
    assert "Not in this A/B test: ease." in said(open_page("offline_online"))
    assert "Not in this A/B test" not in said(open_page("offline_online", c="als"))


# ── chance to win ────────────────────────────────────────────────────────────────────────────


def test_the_chance_to_win_is_an_option(shown: Open, won_and_lost: OnlineTest) -> None:
    assert "Expected loss" not in said(passed(shown(t=won_and_lost.id)))
    page = said(passed(shown(t=won_and_lost.id, bayes="flat")))
    assert "Expected loss" in page
    assert "Prior of the lift: flat" in page
    assert ">99.9 %" in page  # 80 of 200 engaged against 140
    assert "<0.1 %" in page  # 6 minutes against 3


# ── the analysis plan ────────────────────────────────────────────────────────────────────────


def add_planned(workspace: Workspace) -> OnlineTest:
    """The test that won and lost, planned for 900 users before it was stored, and changed afterwards."""
    experiment = workspace.experiments.create("Shop").id
    plan = workspace.plans.add(experiment, AnalysisPlan("engagement_rate", users=900))
    tables = {"sessions": sessions({"control": 80, "new": 140}).drop(columns="start_ts")}
    test = workspace.online_tests.add(experiment, "home page", tables)
    workspace.plans.change(experiment, plan.id, AnalysisPlan("engagement_rate", users=400), "It looks good.")
    return test


def test_a_test_says_what_differs_from_its_plan(shown: Open, made_once: MadeOnce) -> None:
    test = made_once(add_planned)
    page = said(passed(shown(e=test.experiment, t=test.id)))
    assert "2 things differ from the plan" in page
    assert "Users changed from 900 users" in page
    assert "It looks good." in page
    assert "The data have fewer users than planned: 400 of 900" in page
    assert "44 % of the planned 900 users per comparison" in page


def add_activated(workspace: Workspace) -> OnlineTest:
    """Aggregates of 18,100 users, of whom the planned primary metric counts 8,100."""
    experiment = workspace.experiments.create("Shop").id
    workspace.plans.add(experiment, AnalysisPlan("revenue", users=15_000))
    rows = [
        ("control", "signups", 9000, 1.0, 1.0), ("new", "signups", 9100, 1.01, 1.0),
        ("control", "revenue", 4000, 5.0, 9.0), ("new", "revenue", 4100, 5.05, 9.0),
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["variant", "metric", "n", "mean", "variance"])
    return workspace.online_tests.add(experiment, "checkout", {"aggregates": table})


def test_the_planned_metric_counts_its_own_users(shown: Open, made_once: MadeOnce) -> None:
    test = made_once(add_activated)
    page = said(passed(shown(e=test.experiment, t=test.id)))
    assert "18,100 users" in page
    assert "54 % of the planned 15,000 users per comparison" in page  # 8,100 of them
    assert "8,100 of 15,000" in page
    assert "Split (SRM) of revenue" in page


def test_a_test_without_a_plan_shows_none(shown: Open, won_and_lost: OnlineTest) -> None:
    assert "Analysis plan" not in said(passed(shown(t=won_and_lost.id)))


def test_an_experiment_without_a_test_can_be_planned(workspace: Workspace, shown: Open) -> None:
    experiment = workspace.experiments.create("Shop")
    app = passed(shown(e=experiment.id))
    form = f"plan-new-{experiment.id}"
    app.text_input(key=f"{form}-primary").set_value("orders")
    app.text_input(key=f"{form}-guardrails").set_value("visits=2%")
    app.number_input(key=f"{form}-users").set_value(400)
    app.number_input(key=f"{form}-days").set_value(10)
    app = press(app, "Store plan")
    page = said(app)
    assert "A duration of 10 days is not a whole number of weeks: some weekdays count more" in page
    assert "Planned A/B tests" in page
    assert "visits (2 %)" in page
    assert "400 users, control and variant together" in page


def test_a_plan_for_the_next_test_is_shown_beside_the_results_until_it_has_one(
    workspace: Workspace, shown: Open
) -> None:
    march = added(workspace, sessions({"control": 100, "new": 100}))
    app = passed(shown(e=march.experiment, t=march.id))
    assert "Planned A/B tests" not in said(app)
    form = f"plan-new-{march.experiment}"
    app.text_input(key=f"{form}-primary").set_value("session_watch_time")
    app.number_input(key=f"{form}-users").set_value(400)
    app.text_input(key=f"{form}-test").set_value("April")
    app = press(app, "Store plan")
    assert "Planned A/B tests" in said(app)
    assert "April: session_watch_time" in [box.label for box in app.expander]
    april = workspace.online_tests.add(
        march.experiment, "April", {"sessions": sessions({"control": 90, "new": 90})}
    )
    assert "Planned A/B tests" not in said(passed(shown(e=april.experiment, t=april.id)))


def test_a_plan_takes_the_baseline_of_a_stored_test(workspace: Workspace, shown: Open) -> None:
    earlier = added(workspace, sessions({"control": 100, "new": 100}))
    baseline = workspace.plans.baselines(earlier.id).of("session_watch_time")
    experiment = workspace.experiments.create("Shop")
    app = passed(shown(e=experiment.id))
    form = f"plan-new-{experiment.id}"
    app.selectbox(key=f"{form}-kind").select("stored").run()
    app.selectbox(key=f"{form}-metric-{earlier.id}").select("session_watch_time").run()
    said_of_it = f"Control (control, 200 users): mean {numbers.three(baseline.mean)}"
    assert any(markdown(said_of_it) in text.value for text in app.caption)
    app.number_input(key=f"{form}-effect").set_value(5.0)
    press(app, "Store plan")
    (history,) = workspace.plans.all(experiment.id)
    plan = history.current.plan
    assert plan.primary == "session_watch_time"
    assert plan.users == users_needed(baseline, 0.05)
    assert baseline.users_per_day is not None
    assert plan.days == days_needed(plan.users, baseline.users_per_day)


def test_a_change_of_a_plan_can_compute_users_and_days_again(workspace: Workspace, shown: Open) -> None:
    earlier = added(workspace, sessions({"control": 100, "new": 100}))
    baseline = workspace.plans.baselines(earlier.id).of("session_watch_time")
    experiment = workspace.experiments.create("Shop")
    plan = AnalysisPlan("session_watch_time", effect=0.05, users=400, days=14, looks=2)
    history = workspace.plans.add(experiment.id, plan)
    app = passed(shown(e=experiment.id))
    form = f"plan-{history.id}-1"
    app.selectbox(key=f"{form}-kind").select("stored").run()
    assert app.selectbox(key=f"{form}-metric-{earlier.id}").value == "session_watch_time"
    app.number_input(key=f"{form}-effect").set_value(3.0)
    (reason,) = (area for area in app.text_area if area.label == "Reason of the change")
    reason.set_value("A smaller lift matters, too.")
    press(app, "Change plan")
    changed = workspace.plans.get(experiment.id, history.id).current.plan
    users = users_needed(baseline, 0.03)
    assert baseline.users_per_day is not None
    days = days_needed(users, baseline.users_per_day)
    assert changed == replace(plan, effect=0.03, users=users, days=days)


def test_a_change_without_the_baseline_that_it_chose_keeps_the_plan(
    workspace: Workspace, shown: Open
) -> None:
    experiment = workspace.experiments.create("Shop")
    plan = AnalysisPlan("orders", effect=0.05, users=400)
    history = workspace.plans.add(experiment.id, plan)
    app = passed(shown(e=experiment.id))
    app.selectbox(key=f"plan-{history.id}-1-kind").select("rate").run()
    (reason,) = (area for area in app.text_area if area.label == "Reason of the change")
    reason.set_value("A rate is known.")
    app = press(app, "Change plan")
    assert any("nothing to compute a sample size from" in error.value for error in app.error)
    assert workspace.plans.get(experiment.id, history.id).current.plan == plan


def table_of_users(**columns: Any) -> pd.DataFrame:
    """200 users in two variants: 0, 1 or 2 orders in turn, over a week."""
    days = [f"2026-03-{2 + user % 7:02d}" for user in range(USERS)]
    base = {"user_id": range(USERS), "arm": ["red", "blue"] * (USERS // 2), "start_ts": days}
    return pd.DataFrame({**base, "orders": [user % 3 for user in range(USERS)], **columns})


def with_file(workspace: Workspace, shown: Open, table: pd.DataFrame) -> tuple[AppTest, str, str]:
    """The form of a plan in a new experiment with a file as its baseline; with its key, and that of its
    experiment.
    """
    experiment = workspace.experiments.create("Shop")
    app = passed(shown(e=experiment.id))
    form = f"plan-new-{experiment.id}"
    passed(app.selectbox(key=f"{form}-kind").select("file").run())
    put(app, f"{form}-file", "earlier.csv", table.to_csv(index=False).encode())
    return passed(app.run()), form, experiment.id


def box(app: AppTest, label: str) -> Any:
    return next(box for box in [*app.selectbox, *app.text_input] if box.label == label)


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def test_a_plan_takes_the_baseline_of_a_file(workspace: Workspace, shown: Open) -> None:
    table = table_of_users()
    app, form, experiment = with_file(workspace, shown, table)
    assert "No variant is named like a control, so 'blue'" in said(app)
    passed(box(app, "Control").select("red").run())
    assert "named like a control" not in said(app)
    red = table[table["arm"] == "red"]["orders"]
    # 200 users in 7 days: 29 a day
    value = f"mean {numbers.three(red.mean())}, standard deviation {numbers.three(red.std())}"
    sentence = f"Control (red, 100 users): {value}, 29 users a day. Left out: blue (100 users)."
    assert markdown(sentence) in captions(app)
    app.number_input(key=f"{form}-effect").set_value(5.0)
    press(app, "Store plan")
    (history,) = workspace.plans.all(experiment)
    plan, baseline = history.current.plan, Baseline(red.mean(), red.std())
    assert (plan.primary, plan.users) == ("orders", users_needed(baseline, 0.05))
    assert plan.days == days_needed(plan.users, USERS / 7)
    assert not workspace.online_tests.all(experiment)


def test_the_variants_of_a_file_can_be_chosen(workspace: Workspace, shown: Open) -> None:
    table = table_of_users().rename(columns={"arm": "gruppe"})
    app, _, _ = with_file(workspace, shown, table)
    assert markdown("All 200 users: mean") in captions(app)
    passed(box(app, "Column of variants").select("gruppe").run())
    assert markdown("Control (blue, 100 users): mean") in captions(app)


def test_a_column_of_times_of_a_file_says_how_to_give_users_per_day(
    workspace: Workspace, shown: Open
) -> None:
    hours = pd.date_range("2026-03-02", periods=USERS, freq="h").astype(str)
    table = table_of_users(first_seen=hours).drop(columns="start_ts")
    app, _, _ = with_file(workspace, shown, table)
    assert "rename it exposed_at: then users per day follow from it" in said(app)
    assert "choose it as" not in said(app)
    # 200 users, one an hour, in 9 days: 22.2 a day
    app, _, _ = with_file(workspace, shown, table.rename(columns={"first_seen": "exposed_at"}))
    assert "22 users a day" in captions(app)


def test_the_users_of_a_file_can_be_named(workspace: Workspace, shown: Open) -> None:
    table = table_of_users().rename(columns={"user_id": "xyz"})
    app, _, _ = with_file(workspace, shown, table)
    (error,) = app.error
    assert "Write below which column has the users" in error.value
    assert markdown("found: xyz, arm, start_ts, orders.") in error.value
    assert "columns=" not in error.value
    passed(box(app, "Column of users").set_value("xyz").run())
    assert markdown("Control (blue, 100 users): mean") in captions(app)


def test_a_metric_of_a_file_without_a_sample_size_is_told(workspace: Workspace, shown: Open) -> None:
    app, _, _ = with_file(workspace, shown, table_of_users(refunds=0))
    passed(box(app, "Its metric").select("refunds").run())
    (warning,) = app.warning
    assert "No sample size follows from this metric" in warning.value


def test_a_wrong_plan_is_told_at_its_form(workspace: Workspace, shown: Open) -> None:
    experiment = workspace.experiments.create("Shop")
    app = press(passed(shown(e=experiment.id)), "Store plan")
    assert any("no primary metric" in error.value for error in app.error)


WAREHOUSE = "variant,date,country,n,revenue_sum,revenue_sum_squares\n" + "".join(
    f"{variant},2026-11-0{day},{country},{n},{mean * n},{(mean**2 + 9) * n}\n"
    for variant, mean in (("control", 10), ("new", 11))
    for day, n in ((1, 400), (2, 300))
    for country in ("SE", "PT")
)


def test_sums_of_a_warehouse_have_a_trend_segments_and_a_sample_size(
    workspace: Workspace, shown: Open
) -> None:
    added(workspace, {"aggregates": WAREHOUSE.encode()})
    app = shown()
    text, captions = said(app), " ".join(element.value for element in app.caption)
    assert "Lift of all users first exposed up to each day" in captions
    assert "Revenue: segments" in text
    assert "±3.18 %" in text  # 2.80 standard errors, as in tests/service/test_online.py
    assert "Not available for aggregated data" not in captions
    assert "video" not in text.lower()


def test_the_absolute_difference_is_beside_the_lift_of_shares_in_points(
    workspace: Workspace, shown: Open
) -> None:
    variants, bought = np.repeat(["control", "new"], 2000), np.repeat([1, 0, 1, 0], [400, 1600, 500, 1500])
    table = {"user_id": range(4000), "variant": variants, "bought": bought}
    test = added(workspace, {"sessions": pd.DataFrame(table)})
    row = next(row for row in workspace.online_tests.results(test.id).rows if row.variant == "new")
    low, high = (100 * (end or 0.0) for end in row.judged_difference_interval)
    assert 1 < low < 5 < high < 9
    # 500 of 2,000 are 25 %, 5 points more than 20 %
    assert f"+5.00 pp {numbers.interval(low, high, 2, ' pp')}" in said(shown())


def test_a_metric_joins_and_leaves_the_library(workspace: Workspace, shown: Open) -> None:
    test = added(workspace, {"aggregates": WAREHOUSE.encode()})
    app = shown()
    app.selectbox(key=f"ab-own-{test.id}").select("revenue").run()
    app.button(key="ab-library-revenue").click().run()
    assert [metric.name for metric in workspace.metric_library.all()] == ["revenue"]
    app.button(key="ab-library-revenue").click().run()
    assert workspace.metric_library.all() == ()


def test_a_test_of_a_shop_has_no_word_of_watching(workspace: Workspace, shown: Open) -> None:
    """Every second user of control and two of three of new order."""
    exposures = "experiment_id,user_id,variation,timestamp\n" + "".join(
        f"checkout,u{user},{'new' if user % 2 else 'control'},2026-03-02T09:00:00Z\n" for user in range(400)
    )
    events = "user_id,timestamp,event_name,value\n" + "".join(
        f"u{user},2026-03-0{3 + user % 6}T12:00:00Z,purchase,25\n" for user in range(400) if user % 4 < 3
    )
    added(workspace, {"exposures": exposures.encode(), "events": events.encode()})
    text = said(shown()).lower()
    assert "purchase value" in text
    assert all(word not in text for word in ("video", "watch", "film"))


def visitors(n_new: int) -> bytes:
    """Of 200 users each, 100 of control and so many of new opened the page."""
    of_variant = {"control": 100, "new": n_new}
    rows = "".join(
        f"{variant}{user},{variant},{int(user < of_variant[variant])},{user % 5}\n"
        for user in range(200)
        for variant in of_variant
    )
    return f"user_id,variant,opened,spend\n{rows}".encode()


def test_users_are_limited_to_activated_ones_and_their_split_is_checked(
    workspace: Workspace, shown: Open
) -> None:
    test = added(workspace, {"sessions": visitors(160)})
    app = shown()
    assert "Split of activated users" not in said(app)
    key = f"ab-activated-{test.id}"
    assert app.selectbox(key=key).options == ["all users count", "opened", "spend"]
    app.selectbox(key=key).set_value("opened")
    app = press(app, "Apply rules")
    text = said(app)
    assert "Only users with any: off → opened" in text
    # 100 and 160 of 200 each: χ² = 13.8, p = .0002
    assert "Split of activated users ! mismatch p < 0.001" in text
    assert workspace.online_tests.rules(test.id).activated_by == "opened"
    app.selectbox(key=key).set_value("")
    press(app, "Apply rules")
    assert workspace.online_tests.rules(test.id).activated_by is None


def test_users_of_another_test_are_told_beside_the_checks(workspace: Workspace, shown: Open) -> None:
    """The other test has the same 400 users in variants of the same name: they go together."""
    own = add_won_and_lost(workspace)
    assert "Other tests" not in said(shown())
    table = sessions({"control": 80, "new": 140}, {"new": 2.0})
    workspace.online_tests.add(own.experiment, "<b>prices</b>", {"sessions": table})
    text = said(shown(t=own.id))
    assert (
        "Other tests : 400 users (100 %) are also in '<b>prices</b>', whose variants are not balanced" in text
    )
    assert "compare the users who are not in it" in text
    assert "<b>prices</b>" not in markup(shown(t=own.id))
