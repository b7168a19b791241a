"""Words follow the statistics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from verdict_table import BASE, CLEAR, Table

from recdash.comparison import ComparisonQuery, compare, headlines, relative
from recdash.comparison.evidence import SliceDifference
from recdash.comparison.guardrails import GuardrailResult
from recdash.comparison.pairs import Pair
from recdash.comparison.query import Terms
from recdash.comparison.recommendation import recommend
from recdash.comparison.wording import user_split
from recdash.errors import Problem
from recdash.formatting.wording import finding, listed
from recdash.metrics import METRICS
from recdash.metrics.naming import BEYOND, CORE, metric_at, metric_title
from recdash.stats import Paired, judge, paired_difference
from recdash.stats.sparse import StudentT
from recdash.ui.components.metric_sets import metrics_of_set
from recdash.ui.components.notice_words import of_stored
from recdash.ui.components.tiles import Tile, of_pair, of_rail, strip_range
from recdash.ui.leaderboard.table import RankRange, in_percent, places_by_value, places_of
from recdash.ui.overview.page import telling_part, tiles


def pair(mean: float, half: float, *, margin: float = 0.0, n: int = 100) -> Pair:
    """A run with ``mean`` above a baseline of 0.2, ± ``half``: sd and p are those of that interval."""
    t = 1.984217  # 97.5 % of Student's t with 99 degrees of freedom
    sd = half / t * 10
    method = StudentT(100, mean, sd / 10)
    one = Paired(n, mean, sd, 0.5, wins=40, ties=30, losses=30, method=method)
    (judged,) = judge([one], "off", margins=[margin])
    return Pair("p", "a", 0.2, 0.2 + mean, judged)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.01, 0.02, "better"),
        (-0.02, -0.01, "worse"),
        (-0.01, 0.01, "not settled"),
        (0.0, 0.01, "not settled"),
    ],
)
def test_better_and_worse_online_need_an_interval_without_zero(low: float, high: float, word: str) -> None:
    assert finding(low, high) == word


# ── who is first ─────────────────────────────────────────────────────────────────────────────


def test_the_first_of_several_is_first_and_those_of_one_rank_share_it() -> None:
    assert headlines.first_place(["ALS"], 3, "nDCG@10") == "ALS is first on nDCG@10"
    assert headlines.first_place(["ALS", "BPR"], 3, "nDCG@10") == "ALS and BPR share first place on nDCG@10"


def test_many_who_share_first_place_are_counted() -> None:
    assert headlines.first_place(list("abcd"), 9, "nDCG@10") == "Four runs share first place on nDCG@10"


def test_where_all_share_first_place_no_more_is_said() -> None:
    assert headlines.first_place(["ALS", "BPR"], 2, "nDCG@10") == "Both runs share first place on nDCG@10"


def test_one_run_and_none_are_said_to_be_so() -> None:
    assert headlines.first_place(["ALS"], 1, "nDCG@10") == "ALS is the only run with nDCG@10"
    assert headlines.first_place([], 0, "nDCG@10") == "No run has nDCG@10"


def test_without_a_value_per_user_the_best_value_is_told_and_nothing_judged() -> None:
    assert headlines.best_value({"ALS": 0.5, "BPR": 0.4}, "Coverage@10") == "ALS has the best Coverage@10"
    assert headlines.best_value({"ALS": 0.1 + 0.2, "BPR": 0.3}, "Coverage@10") == (
        "ALS and BPR have the same Coverage@10, the best"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"ALS": "better", "BPR": "not settled"}, "One of two candidates beats Popular"),
        ({"ALS": "better", "BPR": "better"}, "Both candidates beat Popular"),
        ({"ALS": "worse", "BPR": "tie"}, "None of two candidates beats Popular"),
        ({"ALS": "better"}, "ALS beats Popular"),
        ({"ALS": "worse"}, "ALS is worse than Popular"),
        ({"ALS": "tie"}, "ALS is a tie with Popular"),
        ({"ALS": "not settled"}, "ALS is not significantly different from Popular"),
    ],
)
def test_candidates_are_counted_only_when_better(words: dict[str, str], told: str) -> None:
    assert headlines.beats(words, "Popular") == told


def test_runs_without_a_shared_user_are_named() -> None:
    assert headlines.no_shared_user(["ALS"], "Popular") == (
        "ALS shares no user with Popular, so there is nothing to compare."
    )


# ── ranks ────────────────────────────────────────────────────────────────────────────────────


def test_ranks_are_written_with_who_shares_them_and_where_they_could_have_been() -> None:
    ranks = pd.DataFrame(
        {
            "run_id": ["a", "b"],
            "rank": [1, 3],
            "rank_low": [1, 3],
            "rank_high": [2, 3],
            "shared": [True, False],
        }
    )
    found = places_of(ranks)
    assert [(one.text, one.range) for one in found.values()] == [("=1", "1–2"), ("3", "3")]


def test_equal_values_share_a_rank_where_there_is_nothing_to_test() -> None:
    found = places_by_value({"a": 0.3, "b": 0.1 + 0.2, "c": 0.1})
    assert {run: one.text for run, one in found.items()} == {"a": "=1", "b": "=1", "c": "3"}
    assert found["c"] == RankRange(3, 3, 3, shared=False)


def test_differences_in_percent_are_of_the_baseline_over_the_same_users() -> None:
    rows = {"base_value": [0.2, 0.0], "mean_diff": [0.02, 0.1], "ci_low": [0.01, 0], "ci_high": [0.03, 0.2]}
    found = in_percent(pd.DataFrame({**rows, "margin": [0.002, 0.0]}), "ndcg")
    assert found.loc[0, ["mean_diff", "ci_low", "ci_high", "margin"]].tolist() == pytest.approx(
        [10, 5, 15, 1]
    )
    assert found.loc[1, ["mean_diff", "ci_low", "ci_high"]].isna().all()  # nothing is a share of 0


@pytest.mark.parametrize(("metric", "low"), [("ndcg", -0.05), ("r2", -0.16)])
def test_only_a_metric_that_may_be_below_zero_loses_more_than_all_of_it(metric: str, low: float) -> None:
    rows = {"base_value": [0.05], "mean_diff": [-0.05], "ci_low": [-0.16], "ci_high": [0.06], "margin": [0.0]}
    assert in_percent(pd.DataFrame(rows), metric)["ci_low"].tolist() == pytest.approx([100 * low / 0.05])


# ── tiles ────────────────────────────────────────────────────────────────────────────────────


def test_a_tile_says_value_change_and_corrected_interval() -> None:
    tile = of_pair("nDCG@10", "ndcg", pair(0.02, 0.01), "95 % CI +5.0 to +15.0 %")
    assert (tile.value, tile.sign, tile.change, tile.word) == ("0.220", "▲", "+10.0 %", "better")
    assert tile.note == "95 % CI +5.0 to +15.0 %"
    assert tile.strip is not None
    assert not tile.strip.hollow


def test_a_tile_that_decides_nothing_is_hollow() -> None:
    tile = of_pair("nDCG@10", "ndcg", pair(0.01, 0.02), "")
    assert (tile.sign, tile.word) == ("?", "not settled")
    assert tile.strip is not None
    assert tile.strip.hollow


def test_a_tile_of_equal_users_has_no_interval() -> None:
    """All 100 users are equal: an interval would be about users who were not measured."""
    same = paired_difference(np.full(100, 0.2), np.full(100, 0.2), bound=1.0)
    (judged,) = judge([same], "off")
    equal = Pair("p", "a", 0.2, 0.2, judged)
    note = f"95 % CI {relative.bounds(equal, 'ndcg')}"
    tile = of_pair("nDCG@10", "ndcg", equal, note)
    assert (tile.change, tile.word, tile.note) == ("", "equal for every user", "n = 100")
    assert tile.strip is None
    assert of_pair("nDCG@10", "ndcg", pair(0.01, 0.02), note).note == note
    unknown = paired_difference(np.full(100, 0.2), np.full(100, 0.2))
    (judged,) = judge([unknown], "off")
    assert of_pair("nDCG@10", "ndcg", Pair("p", "a", 0.2, 0.2, judged), "95 % CI unknown").note == "n = 100"


def test_a_guardrail_says_whether_it_holds_and_its_interval_or_why_there_is_none() -> None:
    held = of_rail("Coverage@10", GuardrailResult("coverage", value=0.18, base_value=0.2, guard=0.2), "")
    assert (held.value, held.sign, held.change, held.word) == (
        "18.0 %",
        "▼",
        "−10.0 %",
        "within its guardrail",
    )
    broken = of_rail("Coverage@10", GuardrailResult("coverage", value=0.1, base_value=0.2, guard=0.2), "")
    assert (broken.word, broken.strip) == ("exceeds its guardrail", None)
    assert broken.note == "from 20.0 %; no interval: it was not requested"
    sure = GuardrailResult("coverage", 0.1, 0.2, 0.2, low=-0.6, high=-0.4, why_no_interval="")
    assert of_rail("Coverage@10", sure, "90 % CI").note == "from 20.0 %; 90 % CI −60.0 to −40.0 %"


def test_tiles_say_the_level_and_what_is_corrected() -> None:
    runs = {"Popular": BASE, "ALS": CLEAR}
    source = Table(
        runs,
        catalogue={("Popular", "coverage"): 0.2, ("ALS", "coverage"): 0.19},
        others={(run, metric): runs[run] for run in runs for metric in ("recall", "precision")},
        error=0.001,
    )
    query = ComparisonQuery(("ALS",), "Popular", "ndcg", 10, terms=Terms(level=0.9))
    notes = [tile.note for tile in tiles(recommend(source, compare(source, query)))]
    primary, other, coverage = notes[0], notes[1], notes[-1]
    assert primary.startswith("90 % CI +")
    assert "corrected" not in primary  # there is one candidate
    assert other.startswith("90 % CI +")
    assert other.endswith(", Holm-corrected")  # of two other metrics
    assert "; 90 % CI −" in coverage


def test_all_strips_have_one_scale_with_zero_on_it() -> None:
    tiles = [of_pair("a", "ndcg", pair(0.02, 0.01), ""), of_pair("b", "recall", pair(0.04, 0.02), "")]
    low, high = strip_range(tiles)  # 0 to 30 % with 12 % of room on both sides
    assert (low, high) == (pytest.approx(-3.6), pytest.approx(33.6))
    assert strip_range([Tile("a", "0", "=", "0 %", "tie", "")]) == (-1, 1)


def test_the_slice_that_loses_is_told_before_a_larger_one_that_gains() -> None:
    gains = SliceDifference("history", "long", "Long", pair(0.02, 0.01, n=100))
    open_ = SliceDifference("history", "short", "Short", pair(0.0, 0.05, n=90))
    loses = SliceDifference("user_warmth", "cold", "New", pair(-0.02, 0.01, n=50))
    assert telling_part([gains, open_, loses]) == loses
    assert telling_part([gains, open_]) == open_
    assert telling_part([]) is None


# ── who gains ────────────────────────────────────────────────────────────────────────────────


def test_few_users_are_counted_and_many_are_a_share_of_100() -> None:
    of, parts = user_split(120, 50, 30)
    assert (of, [part.share for part in parts]) == (100, ["60", "25", "15"])
    of, parts = user_split(12, 5, 3)
    assert (of, [part.share for part in parts]) == (20, ["12", "5", "3"])


def test_agreement_counts_the_settled_sides_that_match() -> None:
    found = headlines.agreement(["won both", "won offline, lost online", "undecided"])
    assert found == "Offline and online agree on one of three candidates"
    assert (
        headlines.agreement(["won offline, lost online"])
        == "Offline and online agree on none of one candidate"
    )
    assert headlines.agreement(["undecided"]) == "Offline and online: no significant differences yet"


def test_what_is_significant_only_offline_is_said() -> None:
    assert headlines.agreement(["undecided"], [(0.1, 0.2)]) == "Better offline, not significant online yet"
    assert headlines.agreement(["undecided"], [(-0.2, -0.1)]) == "Worse offline, not significant online yet"
    assert headlines.agreement(["undecided"] * 3, [(0.1, 0.2), (-0.2, -0.1), (None, None)]) == (
        "Offline 1 better and 1 worse of 3 candidates, online none significant yet"
    )
    assert headlines.agreement(["undecided"], [(-0.1, 0.2)]) == (
        "Offline and online: no significant differences yet"
    )


def test_a_broken_split_is_never_agreement() -> None:
    assert headlines.agreement(["blocked", "blocked"]) == (
        "Offline and online: not judged, the split of users is broken"
    )
    assert (
        headlines.agreement(["blocked", "undecided"]) == "Offline and online: no significant differences yet"
    )


@pytest.mark.parametrize("name", [*CORE, *BEYOND])
def test_every_metric_of_the_column_sets_exists(name: str) -> None:
    assert name in METRICS


def test_column_sets_start_with_the_primary_metric() -> None:
    available = [
        "ndcg",
        "recall",
        "precision",
        "hit_rate",
        "map",
        "recall(average=micro)",
        "coverage",
        "gini",
    ]
    assert metrics_of_set(available, "map", "core", few=3) == ("map", "ndcg", "recall", "precision")
    assert metrics_of_set(available, "ndcg", "beyond") == ("ndcg", "coverage", "gini")
    assert set(metrics_of_set(available, "ndcg", "all")) == set(available)


def test_metrics_carry_their_cutoff_and_their_definition() -> None:
    assert metric_at("ndcg", 10) == "nDCG@10"
    assert metric_at("r_precision", 10) == "R-precision"
    assert metric_title("precision(average=micro)") == "Precision(average=micro)"


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("notice", "found", "fix"),
    [
        (
            Problem("columns-guessed", "columns", "read as unit_id = 'customer'", "Change it if wrong."),
            "read 'customer' as user",
            "If this is wrong, add the file again and choose other columns.",
        ),
        (Problem("no-header", "file", "the first row holds values", ""), "the first row holds values", ""),
        (
            Problem("crossovers", "file", "9 users saw several variants", "This is negligible."),
            "9 users saw several variants",
            "This is negligible.",
        ),
    ],
)
def test_notices_of_what_is_stored_name_no_roles_and_a_way_that_is_left(
    notice: Problem, found: str, fix: str
) -> None:
    assert of_stored([notice]) == [replace(notice, found=found, fix=fix)]


def test_places_of_notices_are_names_on_pages_and_only_the_first_of_many() -> None:
    places = [f"run 'it's {n}'" for n in range(20)]
    assert headlines.named_places(places[:2]) == "it's 0 and it's 1"
    assert headlines.named_places(["run 'a', column 'user_id'", "table 'truth'"]) == (
        "a, column 'user_id' and table 'truth'"
    )
    assert headlines.named_places(places) == "it's 0, it's 1, it's 2 and 17 more runs"


def test_places_that_are_more_than_runs_are_never_every_run() -> None:
    assert headlines.named_places(["run 'it's a'", "run 'b'"], of=2) == "Every run"
    columns = ["run 'a', column 'score'", "run 'b', column 'rank'"]
    assert headlines.named_places(columns, of=2) == "a, column 'score' and b, column 'rank'"
