"""Why a stored variant did online what its run did not offline: each planted cause is found in the tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recdash.diagnosis import CheckAnswer
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import InputError, NotFound, UnknownName
from recdash.online.metrics import OnlineMetric
from recdash.online.rules import OnlineRules
from recdash.service import Explanation, Workspace

USERS = [f"u{n}" for n in range(80)]
DAY = 86_400
TRUTH = pd.DataFrame(
    [(user, f"{kind}{user[1:]}", 5 if kind == "a" else 2, 100 * DAY) for user in USERS for kind in "ab"],
    columns=["user_id", "item_id", "rating", "timestamp"],
)
"""Each user holds out an item a, rated 5, and an item b, rated 2, on day 100."""
TRAIN = pd.DataFrame(
    [(user, item, 90 * DAY) for user in USERS[:40] for item in ("h1", "h2", f"c{user}")],
    columns=["user_id", "item_id", "timestamp"],
)
"""The first 40 users had h1, h2 and an item c of their own, on day 90."""


def lists(*kinds: str, users: list[str] = USERS) -> pd.DataFrame:
    """Lists of these kinds in their order: ``a`` and ``b`` are the user's own, others as they are called."""
    rows = [
        (user, f"{kind}{user[1:]}" if kind in "ab" else kind, rank)
        for user in users
        for rank, kind in enumerate(kinds, start=1)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def sessions(watched: dict[str, float], users: list[str] = USERS) -> pd.DataFrame:
    """Users by turns in control and new, one session on each of 4 days. Half of them watch double at first,
    the others later; and half of them always watch double.
    """
    rows = [
        {
            "unit_id": user, "session_id": f"{user}-{day}", "variant": ("control", "new")[n % 2],
            "start_ts": (110 + day) * DAY, "clicks": 1,
            "watch_s": watched[("control", "new")[n % 2]] * (1 + (n // 2 + day // 2) % 2) * (1 + n // 4 % 2),
            "videos": 1, "device": "phone" if n % 4 < 2 else "tv",
        }
        for n, user in enumerate(users)
        for day in range(4)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def served(control: list[str], new: list[str]) -> pd.DataFrame:
    """One request of each user, with these kinds of items."""
    rows = [
        (f"r{user}", user, 110 * DAY, ("control", "new")[n % 2], rank,
         f"{kind}{user[1:]}" if kind in "ab" else kind, int(rank == 1))
        for n, user in enumerate(USERS)
        for rank, kind in enumerate((control, new)[n % 2], start=1)
    ]  # fmt: skip
    columns = ["request_id", "unit_id", "ts", "variant", "rank", "item_id", "click"]
    return pd.DataFrame(rows, columns=columns)


def stored(
    folder: Path, run: pd.DataFrame, base: pd.DataFrame, *, tables: dict[str, Any] | None = None,
    truth: Any = TRUTH, train: Any = TRAIN, **test: Any,
) -> tuple[Workspace, OnlineTest]:  # fmt: skip
    space = Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts")
    made = space.experiments.create("films", truth, train=train, depth=3)
    ids = [
        space.runs.add(made.id, table, name=name, accept_unknown_ids=True)[0].run.id
        for name, table in (("new", run), ("old", base))
    ]
    links = dict(zip(("new", "control"), ids, strict=True))
    found = tables or {"sessions": sessions({"control": 600, "new": 300})}
    return space, space.online_tests.add(made.id, "spring", found, control="control", links=links, **test)


def explain(space: Workspace, test: OnlineTest, metric: str = "recall", k: int = 2) -> Explanation:
    return space.diagnosis.explain(test.id, "new", metric, k, "session_watch_time")


def answer(found: Explanation, check: str) -> CheckAnswer:
    return next(one for one in found.answers if one.check == check)


WITH_SERVED = {"sessions": sessions({"control": 600, "new": 300})}


# ── causes that were planted ─────────────────────────────────────────────────────────────────


def test_a_run_that_finds_what_people_rate_low_is_explained_by_what_counts(tmp_path: Path) -> None:
    """It finds b of everybody, the baseline a of every second user: recall .5 against .25; of a alone 0
    against .5.
    """
    halves = pd.concat([lists("a", "x", users=USERS[::2]), lists("x", "y", users=USERS[1::2])])
    space, test = stored(tmp_path, lists("b", "x"), halves)
    found = explain(space, test)
    assert found.quadrant == "won offline, lost online"
    assert found.question == "Why did new win offline and lose online?"
    counts = answer(found, "labels")
    assert (counts.verdict, counts.statistic) == (
        "supports",
        "+100 % offline; −100 % with grades of 5",
    )
    assert found.summary.startswith("Most likely: what counts as relevant offline, as the")


def test_served_lists_that_were_not_evaluated_are_found(tmp_path: Path) -> None:
    """New was to show b and x; it showed b and z: one of two."""
    tables = WITH_SERVED | {"served": served(["a", "x"], ["b", "z"])}
    space, test = stored(tmp_path, lists("b", "x"), lists("a", "x"), tables=tables)
    found = answer(explain(space, test), "served")
    assert (found.verdict, found.statistic) == (
        "supports", "50.0 % of shown items in the uploaded list; 0 % without a list",
    )  # fmt: skip


def test_users_without_an_uploaded_list_had_a_fallback(tmp_path: Path) -> None:
    """Of the 40 users of new, u1 u3 .. u79, the 20 with odd halves have no list: every second."""
    tables = WITH_SERVED | {"served": served(["a", "x"], ["b", "x"])}
    known = [user for user in USERS if int(user[1:]) % 4 != 3]
    space, test = stored(tmp_path, lists("b", "x", users=known), lists("a", "x"), tables=tables)
    found = answer(explain(space, test), "served")
    assert "50.0 % without a list" in found.statistic
    assert "Of 40 users served, 40 are known offline." in found.sentence


def test_the_same_lists_are_ruled_out_and_clicks_stand_by_place(tmp_path: Path) -> None:
    tables = WITH_SERVED | {"served": served(["a", "x"], ["b", "x"])}
    space, test = stored(tmp_path, lists("b", "x"), lists("a", "x"), tables=tables)
    found = explain(space, test)
    assert answer(found, "served").verdict == "rules out"
    picture = answer(found, "position").picture
    assert picture is not None
    assert [bar.value for bar in picture.bars] == [100.0, 0.0]


def test_of_a_large_upload_the_lists_of_some_users_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recdash.service.offline.lists.SMALL_ROWS", 0)
    monkeypatch.setattr("recdash.service.offline.lists.SAMPLE_USERS", 30)
    tables = WITH_SERVED | {"served": served(["a", "x"], ["b", "z"])}
    space, test = stored(tmp_path, lists("b", "x"), lists("a", "x"), tables=tables)
    found = answer(explain(space, test), "served")
    assert found.statistic == "50.0 % of shown items in the uploaded list; 0 % without a list"
    assert found.picture is not None
    assert 0 < sum(bar.value or 0 for bar in found.picture.bars) <= 30


def test_a_gain_beyond_the_places_shown_is_found(tmp_path: Path) -> None:
    """Both show a stranger first: within the one place that was shown there is nothing to gain."""
    tables = WITH_SERVED | {"served": served(["x"], ["x"])}
    space, test = stored(tmp_path, lists("x", "a"), lists("x", "y"), tables=tables)
    found = answer(explain(space, test), "position")
    assert (found.verdict, found.statistic.split(";")[0]) == (
        "supports", "gain +0.500 at k = 2, 0.000 at the 1 positions shown",
    )  # fmt: skip


def test_items_that_nobody_met_before_are_counted(tmp_path: Path) -> None:
    """Of a, h1 and z only z is neither in truth, nor in train, nor shown by the control; of x, y and w, which
    finds nothing, y and w are not.
    """
    tables = WITH_SERVED | {"served": served(["x"], ["a"])}
    space, test = stored(tmp_path, lists("a", "h1", "z"), lists("x", "y", "w"), tables=tables)
    found = answer(explain(space, test, k=3), "exposure")
    assert (found.verdict, found.statistic) == (
        "supports", "unseen before: 33.3 % of the positions, baseline 66.7 %",
    )  # fmt: skip
    assert found.picture is not None
    assert [bar.value for bar in found.picture.bars] == [pytest.approx(100 / 3), pytest.approx(200 / 3)]


def test_truth_rows_before_the_end_of_train_are_counted(tmp_path: Path) -> None:
    """The items a of day 80 lie before train's last day 90: half of the rows."""
    early = TRUTH.assign(timestamp=[80 * DAY, 100 * DAY] * len(USERS))
    space, test = stored(tmp_path, lists("a"), lists("x"), truth=early)
    found = answer(explain(space, test), "leakage")
    assert (found.verdict, found.statistic) == (
        "supports", "50.0 % of 160 test rows before the end of training data",
    )  # fmt: skip


def test_a_wrong_clock_is_no_leak(tmp_path: Path) -> None:
    """One of 120 rows of train, on day 9,000."""
    train = TRAIN.assign(timestamp=[9_000 * DAY, *TRAIN["timestamp"][1:]])
    space, test = stored(tmp_path, lists("a"), lists("x"), train=train)
    assert answer(explain(space, test), "leakage").verdict == "rules out"


def test_a_later_page_of_a_list_is_held_against_its_own_places(tmp_path: Path) -> None:
    """Ranks 2 and 3 of the request are b and x, the second and third of the uploaded list."""
    pages = served(["a", "x"], ["b", "x"])
    pages["rank"] += 1
    tables = WITH_SERVED | {"served": pages}
    space, test = stored(tmp_path, lists("y", "b", "x"), lists("a", "x"), tables=tables)
    found = answer(explain(space, test, k=3), "served")
    assert (found.verdict, found.statistic) == (
        "rules out", "100 % of shown items in the uploaded list; 0 % without a list",
    )  # fmt: skip


def test_a_gain_in_popular_items_is_told_apart(tmp_path: Path) -> None:
    """h1 and h2 have 80 of 120 rows of train; h1 alone has less than half. All hold out h1 now."""
    truth = pd.concat([TRUTH, TRUTH[::2].assign(item_id="h1")])
    space, test = stored(tmp_path, lists("h1", "x"), lists("y", "x"), truth=truth)
    found = answer(explain(space, test), "popularity")
    assert found.verdict == "supports"
    assert found.statistic.startswith("hits: head +80, tail 0")
    assert "The 2 most popular of 42 items make 100 % of the gain" in found.sentence


def test_users_who_were_not_evaluated_are_counted(tmp_path: Path) -> None:
    """80 of 160 users are known offline; 40 of them have rows in train, so that 120 of 160 are new."""
    tables = {"sessions": sessions({"control": 600, "new": 300}, [*USERS, *(f"n{n}" for n in range(80))])}
    space, test = stored(tmp_path, lists("a"), lists("x"), tables=tables)
    found = answer(explain(space, test), "users")
    assert found.statistic == "50.0 % of the users of both variants were evaluated; lift among them: −50.0 %"
    assert "Among the 80 users who were evaluated and served the lift is −50.0 %" in found.sentence


def test_segments_devices_and_days_are_looked_at(tmp_path: Path) -> None:
    space, test = stored(tmp_path, lists("a"), lists("x"))
    found = explain(space, test)
    assert (
        answer(found, "segments").statistic
        == "0 of 2 segments in the other direction; mix of users: p = 1.000"
    )
    assert answer(found, "novelty").statistic.startswith("lift early −50.0 %, late −50.0 %")
    assert answer(found, "split").statistic == "split p = 1.000; 0 users with multiple exposures"


# ── what is not there ────────────────────────────────────────────────────────────────────────


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    bare = TRUTH[["user_id", "item_id"]]
    tables = {"sessions": sessions({"control": 600, "new": 300}).drop(columns="device")}
    space, test = stored(tmp_path, lists("a"), lists("x"), truth=bare, train=None, tables=tables)
    needs = {one.check: one.needs for one in explain(space, test).answers if one.verdict == "can't tell"}
    assert needs == {
        "popularity": "training data in the experiment",
        "leakage": "a column of times in test set and training data",
        "users": "training data in the experiment",
        "exposure": "a table of served lists (request_id, unit_id, variant, rank, item_id)",
        "position": "a table of served lists (request_id, unit_id, variant, rank, item_id)",
        "served": "a table of served lists (request_id, unit_id, variant, rank, item_id)",
        "labels": "a rating or another grade in the test set (a column relevance)",
        "segments": "a column of the users' segments (country, device …) in the sessions",
    }


def test_a_summary_answers_what_it_can(tmp_path: Path) -> None:
    summary = pd.DataFrame(
        {
            "variant": ["control", "new"],
            "metric": "session_watch_time",
            "n": [400, 400],
            "mean": [10.0, 5.0],
            "variance": [4.0, 4.0],
        }
    )
    space, test = stored(tmp_path, lists("a"), lists("x"), tables={"aggregates": summary})
    found = explain(space, test)
    assert answer(found, "noise").verdict == "rules out"
    assert answer(found, "split").needs == "a table of sessions, with the user of each"
    for check in ("users", "novelty", "segments"):
        assert answer(found, check).needs == "a table of sessions, with the user of each"


def test_a_rate_of_trials_in_a_summary_is_no_number_per_user(tmp_path: Path) -> None:
    trials = pd.DataFrame(
        {"variant": ["control", "new"], "metric": "starts", "successes": [40, 20], "trials": [400, 400]}
    )
    space, test = stored(tmp_path, lists("a"), lists("x"), tables={"aggregates": trials})
    found = answer(space.diagnosis.explain(test.id, "new", "recall", 2, "starts"), "sessions")
    assert (found.verdict, found.needs) == ("can't tell", "sessions_per_user of the variant")


def test_a_damaged_file_takes_one_answer_away_and_not_the_others(tmp_path: Path) -> None:
    tables = WITH_SERVED | {"served": served(["a", "x"], ["b", "x"])}
    _, test = stored(tmp_path, lists("b", "x"), lists("a", "x"), tables=tables)
    sha = test.tables["served"]
    (file,) = (tmp_path / "artifacts").rglob(f"{sha}.parquet")
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-20])
    fresh = Workspace.open(f"sqlite:///{tmp_path / 'recdash.db'}", tmp_path / "artifacts")
    found = explain(fresh, test)
    assert answer(found, "served").needs.startswith("readable evidence")
    assert answer(found, "split").verdict == "rules out"


# ── what is asked ────────────────────────────────────────────────────────────────────────────


def test_only_a_linked_variant_and_a_metric_per_user_can_be_explained(tmp_path: Path) -> None:
    space, test = stored(tmp_path, lists("a"), lists("x"))
    with pytest.raises(UnknownName, match="No variant is called 'newer'"):
        space.diagnosis.explain(test.id, "newer", "recall", 2, "session_watch_time")
    with pytest.raises(UnknownName, match="No online metric is called 'joy'"):
        space.diagnosis.explain(test.id, "new", "recall", 2, "joy")
    with pytest.raises(InputError, match="no value per user"):
        space.diagnosis.explain(test.id, "new", "coverage", 2, "session_watch_time")
    space.online_tests.link_variants(test.id, {"control": test.links["control"]})
    with pytest.raises(NotFound, match="not linked to a run"):
        space.diagnosis.explain(test.id, "new", "recall", 2, "session_watch_time")


def test_variants_of_the_same_run_have_nothing_to_explain(tmp_path: Path) -> None:
    space, test = stored(tmp_path, lists("a"), lists("x"))
    space.online_tests.link_variants(test.id, {"control": test.links["new"], "new": test.links["new"]})
    with pytest.raises(InputError, match="served the same run"):
        explain(space, test)


def test_where_the_split_is_broken_that_comes_first(tmp_path: Path) -> None:
    """60 of 80 users are in new: χ² = 2 · 20² / 40 = 20, p < .00001."""
    rows = sessions({"control": 600, "new": 300})
    rows["variant"] = ["control" if int(user[1:]) % 4 == 0 else "new" for user in rows["unit_id"]]
    space, test = stored(tmp_path, lists("a"), lists("x"), tables={"sessions": rows})
    found = explain(space, test)
    assert found.quadrant == "blocked"
    assert found.question == "Why do new's offline and online results differ?"
    assert found.summary.startswith("Most likely: sample ratio mismatch (p <0.001)")


def test_a_renamed_run_is_explained_under_its_new_name(tmp_path: Path) -> None:
    space, test = stored(tmp_path, lists("a"), lists("x"))
    assert explain(space, test).run == "new"
    space.runs.rename(test.links["new"], "newest")
    assert explain(space, test).run == "newest"


def test_less_of_a_metric_can_be_better(tmp_path: Path) -> None:
    """Half the waiting is a lift of −50 %, and won."""
    tables = {"sessions": sessions({"control": 600, "new": 300}).assign(waits=lambda t: t["watch_s"])}
    metric = OnlineMetric("waiting", "Waiting", "s", "", "waits", "sessions", direction="down")
    space, test = stored(tmp_path, lists("a"), lists("x"), tables=tables, metrics=[metric])
    found = space.diagnosis.explain(test.id, "new", "recall", 2, "waiting")
    assert found.quadrant == "won both"
    assert answer(found, "noise").statistic.startswith("lift online +")


def test_what_served_lists_tell_can_be_explained(tmp_path: Path) -> None:
    """Of two lists in each session both are clicked in control and one in new; in long sessions one less."""
    rows = sessions({"control": 600, "new": 300})
    clicked = rows["variant"].map({"control": 2, "new": 1}) - (rows["watch_s"] > 900)
    tables = {"sessions": rows.assign(lists=2, clicked_lists=clicked)}
    space, test = stored(tmp_path, lists("a"), lists("x"), tables=tables)
    found = answer(space.diagnosis.explain(test.id, "new", "recall", 2, "list_ctr"), "sessions")
    assert (found.verdict, found.statistic) == ("rules out", "sessions per user 0 %")


def test_a_known_metric_that_the_test_counts_otherwise_is_explained_as_the_test_counts_it(
    tmp_path: Path,
) -> None:
    metric = OnlineMetric("session_watch_time", "Watch time per user", "min", "", "watch_min")
    space, test = stored(tmp_path, lists("a"), lists("x"), metrics=[metric])
    found = answer(explain(space, test), "sessions")
    assert found.statistic == "Watch time per user is counted per user"


def test_what_is_explained_follows_the_rules_of_the_test(tmp_path: Path) -> None:
    """40 and 40 users are far from ten of control for each of new."""
    space, test = stored(tmp_path, lists("a"), lists("x"))
    assert explain(space, test).quadrant == "won offline, lost online"
    space.online_tests.set_rules(test.id, OnlineRules(split={"control": 10.0, "new": 1.0}))
    assert explain(space, test).quadrant == "blocked"


def test_a_lift_is_judged_by_the_interval_that_the_page_judges_it_by(tmp_path: Path) -> None:
    """−4 % is settled by itself (−7.6 to −0.4 %) and not among all goals of the test (−9 to +1 %)."""
    space, test = stored(tmp_path, lists("a"), lists("x"))
    alone = {"lift": -0.04, "lift_low": -0.076, "lift_high": -0.004}
    changed = {**alone, "corrected_low": -0.09, "corrected_high": 0.01}
    rows = [{**row, **({} if row["is_control"] else changed)} for row in test.results]
    space.store.online_tests.update(test.id, results=rows)
    found = explain(space, test)
    assert found.quadrant == "undecided"
    assert answer(found, "noise").statistic.startswith("lift online −9.00 to +1.00 %")


def test_the_smallest_lift_that_is_found_is_that_of_the_page_of_the_test(tmp_path: Path) -> None:
    space, test = stored(tmp_path, lists("a"), lists("x"))
    picture = answer(explain(space, test), "noise").picture
    smallest = space.online_analysis.detectable(test.id, "session_watch_time")["new"]
    assert picture is not None
    assert smallest is not None
    assert [bar.value for bar in picture.bars][-1] == pytest.approx(100 * smallest)


def test_an_explanation_can_be_written_as_json(tmp_path: Path) -> None:
    space, test = stored(tmp_path, lists("a"), lists("x"))
    told = json.loads(json.dumps(explain(space, test).as_dict(), allow_nan=False))
    assert [one["check"] for one in told["answers"]][:2] == ["noise", "split"]
    assert told["question"] == "Why did new win offline and lose online?"


# ── the demo ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def demo(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Experiment]:
    folder = shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo"), dirs_exist_ok=True)
    space = Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts")
    return space, space.experiments.all()[0]


def test_the_demos_season_candidate_lost_because_offline_counts_what_nobody_finishes(
    demo: tuple[Workspace, Experiment],
) -> None:
    space, made = demo
    (test,) = space.online_tests.all(made.id)
    found = space.diagnosis.explain(test.id, "two-tower", "ndcg", 10, "session_watch_time")
    by_verdict = {verdict: [one.check for one in found.answers if one.verdict == verdict] for verdict in (
        "supports", "can't tell",
    )}  # fmt: skip
    assert by_verdict == {"supports": ["labels"], "can't tell": ["novelty"]}


def test_nothing_makes_the_demos_winner_doubtful(demo: tuple[Workspace, Experiment]) -> None:
    space, made = demo
    (test,) = space.online_tests.all(made.id)
    found = space.diagnosis.explain(test.id, "als", "ndcg", 10, "session_watch_time")
    assert found.question == "Is there any reason to doubt ALS v3's result?"
    assert found.summary.startswith("None of the twelve checks finds a reason for doubt.")
