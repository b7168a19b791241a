"""Worst, expected and best over all orders of equal scores: worked, and by trying every order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from metric_specs import ACCURACY
from small_tables import run, upload

import recdash.metrics.ties as module
from recdash.domain.hits import Hits
from recdash.engines import Reference, match, read_reference
from recdash.evaluation.metric_inputs import expectedness_of
from recdash.metrics import Definition, define, sample_of
from recdash.metrics.sample import RelevantHits
from recdash.metrics.ties import TieBand, Ties, drawn_ranks, tie_band

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class World:
    """Truth {user: {item: gain}}, lists {user: {item: score}}, train {user: items}."""

    truth: Mapping[str, Mapping[str, float]]
    scores: Scores
    train: Mapping[str, str] = field(default_factory=dict)


def reference_of(world: World) -> Reference:
    rows = [(user, item, gain) for user, gains in world.truth.items() for item, gain in gains.items()]
    train = [(user, item) for user, items in world.train.items() for item in items]
    return read_reference(
        upload("truth", "user_id item_id relevance", rows),
        train=upload("train", "user_id item_id", train) if train else None,
    )


def hits_of(world: World, reference: Reference, depth: int = 10, **how: Any) -> Hits:
    rows = [(user, item, score) for user, items in world.scores.items() for item, score in items.items()]
    return match(run("user_id item_id score", rows), reference, depth=depth, **how)[0]


def band_of(world: World, spec: str, k: int, depth: int = 10, users: Any = "truth") -> TieBand | None:
    reference = reference_of(world)
    hits = hits_of(world, reference, depth)
    return tie_band(define(spec), hits, sample_of(hits, users, expectedness=expectedness_of(reference)), k)


# ── worked by eye ────────────────────────────────────────────────────────────────────────────

ONE_OF_THREE = World({"u": {"a": 1}}, {"u": {"a": 0.5, "x": 0.5, "y": 0.5}})


def test_one_wanted_item_among_three_equals() -> None:
    band = band_of(ONE_OF_THREE, "mrr", 2)
    assert band is not None
    assert (band.worst, band.best) == (0.0, 1.0)
    assert band.expected == pytest.approx((1 + 1 / 2 + 0) / 3, abs=0.05)
    assert (band.n_users, band.n_crossed) == (1, 1)


def test_a_tie_that_does_not_cross_the_cutoff_moves_a_metric_that_looks_at_ranks_alone() -> None:
    assert band_of(ONE_OF_THREE, "precision", 3) is None
    band = band_of(ONE_OF_THREE, "mrr", 3)
    assert band is not None
    assert (band.worst, band.best, band.n_users, band.n_crossed) == (1 / 3, 1.0, 1, 0)


def test_graded_items_of_a_tie_are_put_the_higher_first_and_the_higher_last() -> None:
    world = World({"u": {"a": 1, "b": 3}}, {"u": {"a": 0.5, "b": 0.5, "x": 0.5}})
    band, log2 = band_of(world, "ndcg", 2), np.log2
    assert band is not None
    assert band.best == 1.0
    assert band.worst == pytest.approx((1 / log2(3)) / (3 + 1 / log2(3)))


def test_a_further_hit_can_lower_map_over_the_hits_found() -> None:
    # a stands first; b keeps the mean of the precisions at 1 at place 2 and beyond k, and lowers it at 3
    world = World({"u": {"a": 1, "b": 1}}, {"u": {"a": 0.9, "b": 0.5, "x": 0.5, "y": 0.5}})
    band = band_of(world, "map(norm=hits)", 3)
    assert band is not None
    assert (band.worst, band.best) == (pytest.approx((1 + 2 / 3) / 2), 1.0)


def test_only_users_who_count_have_a_say() -> None:
    world = World({"u": {"a": 1}, "v": {"a": 0}}, {"u": {"a": 2, "x": 1}, "v": {"a": 1, "x": 1}})
    assert band_of(world, "mrr", 1) is None


def test_lists_ordered_by_rank_have_no_band() -> None:
    truth = read_reference(upload("truth", "user_id item_id", [("u", "a")]))
    ranked = run("user_id item_id rank score", [("u", "x", 1, 0.5), ("u", "a", 2, 0.5)])
    hits, _ = match(ranked, truth)
    assert tie_band(define("mrr"), hits, sample_of(hits), 1) is None


def test_an_absent_metric_has_no_band() -> None:
    assert band_of(ONE_OF_THREE, "bpref", 2) is None
    assert band_of(ONE_OF_THREE, "serendipity", 2) is None


def test_a_tie_may_run_past_the_depth() -> None:
    band = band_of(ONE_OF_THREE, "recall", 1, depth=1)
    assert band is not None
    assert (band.worst, band.best) == (0.0, 1.0)


# ── places, one by one ───────────────────────────────────────────────────────────────────────

# Ranks 1 to 3 hold a relevant item, a judged negative and another; 4 to 6 two relevant ones and another.
TWO_TIES = Ties(
    first=np.array([1, 4]),
    last=np.array([3, 6]),
    group=np.array([0, 0, 1, 1]),
    user=np.array([5, 5, 7, 7]),
    row=np.array([10, 11, 12, 13]),
    relevant=np.array([True, False, True, True]),
    gain=np.array([2.0, 0.0, 1.0, 3.0]),
    expected=np.array([0.5, 0.0, 0.75, 0.25]),
)


def test_a_tie_knows_its_size_and_what_stands_in_it() -> None:
    assert TWO_TIES.size.tolist() == [3, 3]
    assert TWO_TIES.count(TWO_TIES.relevant).tolist() == [1, 2]
    assert TWO_TIES.count(TWO_TIES.gain > 2).tolist() == [0, 1]
    nothing = np.zeros(4, dtype=bool)
    assert TWO_TIES.count(nothing).tolist() == [0, 0]


def test_rows_are_sorted_inside_their_tie_alone() -> None:
    by_gain = TWO_TIES.sorted_by(TWO_TIES.gain)
    assert by_gain.row.tolist() == [11, 10, 12, 13]
    assert by_gain.gain.tolist() == [0.0, 2.0, 1.0, 3.0]
    assert by_gain.relevant.tolist() == [False, True, True, True]
    assert by_gain.expected.tolist() == [0.0, 0.5, 0.75, 0.25]
    assert (by_gain.user.tolist(), by_gain.group.tolist()) == ([5, 5, 7, 7], [0, 0, 1, 1])
    assert TWO_TIES.sorted_by(TWO_TIES.gain, ~TWO_TIES.relevant).row.tolist() == [10, 11, 12, 13]


@pytest.mark.parametrize(
    ("k", "few", "many"), [(1, [0, 0], [1, 0]), (3, [1, 0], [1, 0]), (4, [1, 0], [1, 1]), (5, [1, 1], [1, 2])]
)
def test_a_tie_shows_so_many_relevant_items_within_k(k: int, few: list[int], many: list[int]) -> None:
    found = module._within(TWO_TIES, k)
    assert [found[0].tolist(), np.maximum(found[1], 0).tolist()] == [few, many]


@pytest.mark.parametrize(
    ("step", "top", "near", "ranks"),
    [
        (0, True, True, [1, 2, 4, 6]),
        (0, True, False, [1, 3, 4, 6]),
        (0, False, True, [3, 2, 4, 6]),
        (0, False, False, [3, 1, 4, 6]),
        (1, True, True, [1, 2, 5, 6]),
        (1, False, False, [3, 1, 5, 6]),
    ],
)
def test_rows_stand_at_the_end_that_was_asked_for(step: int, top: bool, near: bool, ranks: list[int]) -> None:
    assert module._ranks(TWO_TIES, 4, step, top=top, near=near).tolist() == ranks


def test_users_are_concerned_by_a_relevant_item_and_crossed_by_one_beyond_k() -> None:
    assert module._users_in_ties(TWO_TIES, 4) == (2, 1)
    assert module._users_in_ties(TWO_TIES, 3) == (2, 1)
    assert module._users_in_ties(TWO_TIES, 2) == (2, 2)
    assert module._users_in_ties(TWO_TIES, 6) == (2, 0)
    assert module._users_in_ties(replace(TWO_TIES, relevant=np.array([False, True, True, True])), 2) == (2, 2)
    assert module._users_in_ties(replace(TWO_TIES, relevant=np.zeros(4, dtype=bool)), 2) == (0, 0)


def test_none_and_all_are_tried_and_every_number_where_a_further_hit_can_hurt() -> None:
    three = replace(TWO_TIES, first=np.array([1, 2]), last=np.array([1, 7]), group=np.array([0, 1, 1, 1]))
    three = replace(three, relevant=np.ones(4, dtype=bool))
    assert list(module._steps(define("map"), three, 4)) == [0, 3]
    assert list(module._steps(define("f1(of=map(norm=hits),recall)"), three, 4)) == [0, 1, 2, 3]
    assert list(module._steps(define("map"), three, 7)) == [0]


def test_drawn_places_differ_and_lie_inside_their_tie() -> None:
    rng = np.random.default_rng(3)
    drawn = np.array([drawn_ranks(TWO_TIES, rng) for _ in range(200)])
    assert [set(places.tolist()) for places in drawn.T] == [{1, 2, 3}] * 2 + [{4, 5, 6}] * 2
    assert (drawn[:, 0] != drawn[:, 1]).all()
    assert (drawn[:, 2] != drawn[:, 3]).all()
    assert abs(drawn.mean(axis=0) - [2, 2, 5, 5]).max() < 4 * (2 / 3 / 200) ** 0.5


def test_a_band_is_told_from_rounding() -> None:
    nearly = World({"u": {"a": 1, "b": 1 + 1e-10}}, {"u": {"a": 0.5, "b": 0.5}})
    band = band_of(nearly, "ndcg", 1)
    assert band is not None
    assert band.best - band.worst == pytest.approx(1e-10, rel=1e-3)
    hardly = World({"u": {"a": 1}}, {"u": {"z": 0.9, "a": 0.5, "x": 0.5}})
    assert band_of(hardly, "rbp(p=1e-13)", 2) is None


def test_each_user_has_a_worst_order_of_its_own() -> None:
    truth = {"u": {"a": 1}, "v": {"a": 1, "b": 1}}
    u, v = {"x": 0.9, "y": 0.8, "a": 0.5, "z": 0.5}, {"a": 0.9, "b": 0.5, "x": 0.5, "y": 0.5}
    band = band_of(World(truth, {"u": u, "v": v}), "map(norm=hits)", 3)
    # u is worst off with a beyond 3, and v with b at 3
    assert band is not None
    assert band.worst == pytest.approx((0 + (1 + 2 / 3) / 2) / 2)
    assert band.best == pytest.approx((1 / 3 + 1) / 2)


def test_the_same_orders_are_drawn_every_time() -> None:
    assert band_of(ONE_OF_THREE, "mrr", 3) == band_of(ONE_OF_THREE, "mrr", 3)


@pytest.mark.parametrize(("rows", "draws"), [(100, 20), (10_000, 50), (1, 3)])
def test_the_more_rows_there_are_the_fewer_orders_are_drawn(
    rows: int, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def draw(ties: Ties, rng: np.random.Generator) -> Any:
        drawn.append(ties)
        return drawn_ranks(ties, rng)

    monkeypatch.setattr(module, "_ROWS_TO_DRAW", rows)
    monkeypatch.setattr(module, "DRAWS", (3, 50))
    monkeypatch.setattr(module, "drawn_ranks", draw)
    # two rows are relevant and three are hit: five rows are seen in each order
    assert band_of(World({"u": {"a": 1, "b": 1, "n": 0}}, {"u": dict.fromkeys("abnx", 0.5)}), "mrr", 1)
    assert len(drawn) == draws


def test_lists_without_scores_have_no_ties_to_look_at() -> None:
    reference = reference_of(ONE_OF_THREE)
    hits = replace(hits_of(ONE_OF_THREE, reference), ties=None)
    with pytest.raises(ValueError, match=r"^lists that were not ordered by score have no ties$"):
        module._ties_of(hits, sample_of(hits), 1)


def test_ties_are_those_of_users_who_count_that_begin_within_k() -> None:
    truth = {"u": {"a": 2, "n": 0, "b": 1, "s": -1}, "v": {"n": 0}, "w": {"c": 1, "d": 3}}
    scores = {
        "u": {"x": 0.9, "a": 0.5, "n": 0.5, "s": 0.5, "b": 0.2, "y": 0.2},
        "v": {"n": 0.5, "x": 0.5},
        "w": {"c": 0.5, "d": 0.5, "z": 0.1},
    }
    world = World(truth, scores, {"u": "ab", "w": "a"})
    reference = reference_of(world)
    hits = hits_of(world, reference)
    ties = module._ties_of(hits, sample_of(hits, expectedness=expectedness_of(reference)), 4)
    assert (ties.first.tolist(), ties.last.tolist()) == ([2, 1], [4, 2])
    names = [reference.truth.items[item] for item in reference.truth.item[ties.row]]
    found = dict(zip(names, zip(ties.group, ties.user, ties.relevant, ties.gain, strict=True), strict=True))
    assert found == {
        "a": (0, 0, True, 2.0), "n": (0, 0, False, 0.0), "c": (1, 2, True, 1.0), "d": (1, 2, True, 3.0),
    }  # fmt: skip
    expected = dict(zip(names, ties.expected.tolist(), strict=True))
    assert expected["a"] > 0 == expected["n"] == expected["c"]
    to_5 = module._ties_of(hits, sample_of(hits), 5)
    assert (to_5.first.tolist(), to_5.last.tolist()) == ([2, 5, 1], [4, 6, 2])
    assert to_5.expected.tolist() == [0.0] * 5


# ── every order tried ────────────────────────────────────────────────────────────────────────

ORDERED = [definition for definition in ACCURACY if not getattr(definition.metric, "weighs_items", False)]
"""The metrics that have a band: one that weighs items has none."""
EVERY_METRIC = [*ORDERED, define("f1(of=map(norm=hits),recall)"), define("f1(of=map(norm=hits),ndcg)")]
USERS, ITEMS = "uv", "abcdef"


@st.composite
def worlds(draw: Any) -> World:
    gains = draw(st.sampled_from([(1.0,), (0.0, 1.0), (-1.0, 0.0, 1.0, 3.0)]))
    few = st.dictionaries(st.sampled_from(ITEMS[:5]), st.sampled_from(gains), max_size=5)
    scores = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([0.0, 1.0]), min_size=1)
    truth = {user: {**draw(few), "a": 1.0} for user in USERS}
    train = {user: draw(st.sampled_from(["ab", "bcd", "e", "abcde"])) for user in USERS}
    return World(truth, {user: draw(scores) for user in USERS}, train)


def orders(items: Mapping[str, float]) -> Iterator[list[str]]:
    """Every list that the scores allow."""
    falling = sorted(items, key=lambda item: -items[item])
    ties = [list(tie) for _, tie in groupby(falling, key=items.__getitem__)]
    for chosen in product(*(permutations(tie) for tie in ties)):
        yield [item for tie in chosen for item in tie]


def every_list(world: World) -> Iterator[dict[str, Sequence[str]]]:
    for lists in product(*(orders(items) for items in world.scores.values())):
        yield dict(zip(world.scores, lists, strict=True))


def samples_of_all_orders(world: World, reference: Reference, depth: int) -> Iterator[RelevantHits]:
    for lists in every_list(world):
        rows = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)]
        hits = match(run("user_id item_id rank", rows), reference, depth=depth, exposure=False)[0]
        yield sample_of(hits, expectedness=expectedness_of(reference))


def n_orders(world: World) -> int:
    return int(np.prod([sum(1 for _ in orders(items)) for items in world.scores.values()]))


def expected_of(definition: Definition, samples: Sequence[RelevantHits], k: int) -> Any:
    """[orders] the metric under each."""
    return np.array([definition.formula().values(sample, k).mean() for sample in samples])


TIED = World(
    {"u": {"a": 1.0, "b": 3.0, "n": 0.0, "s": -1.0}, "v": {"a": 1.0, "n": 0.0}, "w": {"n": 0.0}},
    {
        "u": {"x": 1.0, "a": 0.5, "b": 0.5, "n": 0.5, "y": 0.5},
        "v": {"n": 0.5, "a": 0.5, "s": 0.1},
        "w": {"n": 1, "x": 1},
    },
    {"u": "ab", "v": "a"},
)
TRIED = (
    "precision", "mrr", "map(norm=hits)", "ndcg", "ndcg(ideal=full)", "err", "bpref", "judged", "serendipity",
    "f1(of=map(norm=hits),recall)", "recall(average=micro)", "r_precision",
)  # fmt: skip


@pytest.fixture(scope="module")
def orders_of_tied() -> list[RelevantHits]:
    return list(samples_of_all_orders(TIED, reference_of(TIED), 5))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_ends_of_the_band_are_the_ends_of_all_orders(
    k: int, monkeypatch: pytest.MonkeyPatch, orders_of_tied: list[RelevantHits]
) -> None:
    monkeypatch.setattr(module, "DRAWS", (3, 3))
    reference = reference_of(TIED)
    hits, expectedness = hits_of(TIED, reference, 5, exposure=False), expectedness_of(reference)
    for spec in TRIED:
        check_band(define(spec), hits, sample_of(hits, expectedness=expectedness), orders_of_tied, k)


@settings(max_examples=2)
@given(worlds(), st.integers(1, 6))
def test_no_order_lies_outside_the_band_and_some_order_at_each_end(world: World, k: int) -> None:
    assume(1 < n_orders(world) <= 50)
    try_every_order(world, k)


@pytest.mark.long
@settings(max_examples=50)
@given(worlds(), st.integers(1, 6))
def test_of_up_to_300_orders_none_lies_outside_the_band(world: World, k: int) -> None:
    assume(1 < n_orders(world) <= 300)
    try_every_order(world, k)


def try_every_order(world: World, k: int) -> None:
    reference = reference_of(world)
    hits = hits_of(world, reference, 6, exposure=False)
    sample = sample_of(hits, expectedness=expectedness_of(reference))
    samples = list(samples_of_all_orders(world, reference, 6))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DRAWS", (3, 3))
        for definition in EVERY_METRIC:
            if not definition.why_unavailable(samples[0]):
                check_band(definition, hits, sample, samples, k)


def check_band(
    definition: Definition, hits: Hits, sample: RelevantHits, samples: Sequence[RelevantHits], k: int
) -> None:
    k = k if definition.metric.has_cutoff else hits.depth
    of_orders, said = expected_of(definition, samples, k), str(definition)
    band = tie_band(definition, hits, sample, k)
    if band is None:
        np.testing.assert_allclose(of_orders, of_orders[0], atol=1e-12, err_msg=said)
        return
    assert band.worst == pytest.approx(of_orders.min(), abs=1e-12), said
    assert band.best == pytest.approx(of_orders.max(), abs=1e-12), said
    reported = definition.formula().values(sample, k).mean()
    for value in (reported, band.expected):
        assert band.worst - 1e-12 <= value <= band.best + 1e-12, said


FOUR_AND_TWO = World(
    {"u": {"a": 1.0, "b": 3.0, "n": 0.0}, "v": {"a": 1.0}},
    {"u": dict.fromkeys("abnx", 0.5), "v": {"x": 1.0, "a": 0.5, "y": 0.5}},
)
"""Ties of four and of two."""


@pytest.fixture(scope="module")
def orders_of_four_and_two() -> list[RelevantHits]:
    return list(samples_of_all_orders(FOUR_AND_TWO, reference_of(FOUR_AND_TWO), 4))


@pytest.mark.parametrize(
    "spec", ["precision", "mrr", "map(norm=hits)", "ndcg", "f1(of=map,mar,average=means)", "bpref", "judged"]
)
def test_the_expected_value_is_the_mean_of_all_orders(
    spec: str, orders_of_four_and_two: list[RelevantHits]
) -> None:
    reference = reference_of(FOUR_AND_TWO)
    of_orders = expected_of(define(spec), orders_of_four_and_two, 2)
    hits = hits_of(FOUR_AND_TWO, reference, 4)
    band = tie_band(define(spec), hits, sample_of(hits), 2)
    assert band is not None
    assert band.expected == pytest.approx(of_orders.mean(), abs=4 * of_orders.std() / 1000**0.5)


@pytest.mark.parametrize(
    "spec",
    ["precision", "precision(average=micro)", "recall(norm=min)", "ndcg", "ndcg(gain=exp,ideal=all)", "dcg",
     "rbp", "judged", "f1", "mrr(sum=all)"],
)  # fmt: skip
@pytest.mark.parametrize("k", [1, 2, 3])
def test_of_metrics_that_add_up_over_items_the_expected_value_is_exact(
    spec: str, k: int, orders_of_four_and_two: list[RelevantHits]
) -> None:
    """Ties of four and of two, over all orders of both."""
    of_orders = expected_of(define(spec), orders_of_four_and_two, k)
    hits = hits_of(FOUR_AND_TWO, reference_of(FOUR_AND_TWO), 4)
    band = tie_band(define(spec), hits, sample_of(hits), k)
    assert band is not None
    assert (band.expected, band.expected_error) == (pytest.approx(of_orders.mean(), abs=1e-14), 0.0)


@pytest.mark.parametrize("spec", ["map", "mrr", "hit_rate", "err", "f1(average=means)", "bpref"])
def test_a_drawn_expected_value_carries_its_error(
    spec: str, orders_of_four_and_two: list[RelevantHits]
) -> None:
    hits = hits_of(FOUR_AND_TWO, reference_of(FOUR_AND_TWO), 4)
    of_orders = expected_of(define(spec), orders_of_four_and_two, 2)
    band = tie_band(define(spec), hits, sample_of(hits), 2)
    assert band is not None
    assert band.expected_error == pytest.approx(of_orders.std() / 1000**0.5, rel=0.1)
    assert abs(band.expected - of_orders.mean()) <= 4 * band.expected_error


def test_every_order_of_a_tie_is_drawn_equally_often() -> None:
    world = World({"u": {"a": 1, "b": 1}}, {"u": {"a": 0, "b": 0, "x": 0, "y": 0}})
    hits, rng = hits_of(world, reference_of(world)), np.random.default_rng(1)
    ties = module._ties_of(hits, sample_of(hits), 10)
    drawn, times = np.unique([drawn_ranks(ties, rng) for _ in range(6000)], axis=0, return_counts=True)
    assert drawn.tolist() == [list(two) for two in permutations(range(1, 5), 2)]
    assert abs(times - 500).max() < 5 * 500**0.5


# ── on a real file ───────────────────────────────────────────────────────────────────────────


def test_where_all_scores_are_equal_chance_decides_nearly_everything(shared_data: Path) -> None:
    from recdash.evaluation.reading import read_runs, read_setup

    reference = read_setup(shared_data / "movietweetings" / "truth.csv")
    (candidate,) = read_runs("ties", shared_data / "dirty" / "run_all_ties.csv")
    hits, _ = match(candidate, reference, depth=10)
    sample = sample_of(hits, "both")
    band = tie_band(define("precision"), hits, sample, 5)
    reported = define("precision").formula().values(sample, 5).mean()
    assert band is not None
    assert 0 == band.worst < band.expected < band.best
    assert band.worst <= reported <= band.best
