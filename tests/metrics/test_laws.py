"""Laws that hold for every metric of the table, whatever the truth and the lists are."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from metric_specs import ACCURACY, COUNTED_AT_THE_DEPTH, EVERYTHING, EXPOSURE, OVER_THE_SAMPLE
from small_tables import run, upload

from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Users
from recdash.domain.results import Curve
from recdash.engines import (
    Reference,
    hits_from_tables,
    hits_to_tables,
    list_metrics,
    match,
    read_reference,
)
from recdash.evaluation.metric_inputs import expectedness_of
from recdash.evaluation.scoring import score_hits
from recdash.metrics import METRICS, Definition, define, parse, sample_of
from recdash.metrics.catalogue import CATALOGUE
from recdash.metrics.formulas import HarmonicMean, Micro, RatioFormula
from recdash.metrics.ranking import RANKING, RankingMetric
from recdash.metrics.sample import RelevantHits

WORLDS, MANY_WORLDS = 2, 100
"""In which a law is tried each time, others each time; and by `make test-long`."""
DEPTH = 6
Test = Callable[..., None]
LAWS: dict[str, Test] = {}
"""Every law in many worlds."""


def law(*drawn: st.SearchStrategy[Any]) -> Callable[[Test], Test]:
    """The test in a few worlds; that in many waits in ``LAWS``."""

    def tried(test: Test) -> Test:
        LAWS[test.__name__] = settings(max_examples=MANY_WORLDS)(given(*drawn)(test))
        return settings(max_examples=WORLDS)(given(*drawn)(test))

    return tried


# ── the whole metric table ───────────────────────────────────────────────────────────────────


def unbounded(definition: Definition) -> bool:
    bits_or_counts = definition.metric.name in {"novelty", "popularity", "dcg", "hits"} or (
        definition.metric.name == "entropy" and definition.parameters["norm"] != "max"
    )
    if definition.metric.name == "value":
        return definition.parameters["norm"] == "none"
    graded = definition.metric.name == "rbp" and definition.parameters["gain"] != "binary"
    plain_sums = any(
        part in str(definition) for part in ("sum=all", "norm=none", "by=hamming", "counted=every")
    )
    return bits_or_counts or graded or plain_sums


def test_a_metric_says_what_bounds_a_users_value() -> None:
    for definition in ACCURACY:
        assert (definition.largest_value is None) == unbounded(definition), str(definition)


def may_be_absent(definition: Definition) -> bool:
    """Only places up to m that were not read, or the lack of judged negatives, leave a hole with a reason."""
    return definition.metric.name in {"r_precision", "bpref", "judged"} or over_judged_pairs(definition)


def over_judged_pairs(definition: Definition) -> bool:
    """A mean over users with a judged negative, so that its values per user are contributions."""
    return definition.parameters.get("pairs") == "judged"


def looks_at_length(definition: Definition) -> bool:
    """Divides by the places that the list fills, so that a miss at its end counts."""
    return any(part in str(definition) for part in ("over=list", "norm=list", "ideal=list", "auc"))


OF_AN_ATTRIBUTE = {"coverage_by", "exposure_fairness"}


# ── small worlds ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class World:
    """Truth {user: {item: gain}}, lists {user: items, the best first}, train {user: items}; ids: numbers."""

    truth: Mapping[int, Mapping[int, float]]
    lists: Mapping[int, Sequence[int]]
    train: Mapping[int, Sequence[int]]
    threshold: float | None


USERS, ITEMS = range(5), range(9)
STRANGERS = range(5, 7)
KINDS = ("A", "A|B", "B", "", "C", "A;C", "D", "D", "A")
BINARY, GRADED = (0.0, 1.0), (-1.0, 0.0, 1.0, 2.0, 3.0)


@st.composite
def worlds(draw: Any) -> World:
    """User 0 always has a relevant item and a list; everything else may be missing."""
    gain = st.sampled_from(draw(st.sampled_from([BINARY, GRADED])))
    threshold = draw(st.sampled_from([None, 1.0, 2.0]))
    truth = draw(
        st.dictionaries(st.sampled_from(USERS), st.dictionaries(st.sampled_from(ITEMS[:7]), gain, min_size=1))
    )
    some_items = st.lists(st.sampled_from(ITEMS), unique=True, min_size=1, max_size=9)
    lists = draw(st.dictionaries(st.sampled_from([*USERS, *STRANGERS]), some_items))
    of_user_0 = {0: {**truth.get(0, {}), draw(st.sampled_from(ITEMS[:7])): 3.0}}
    list_of_user_0 = {0: draw(some_items)}
    train = draw(st.dictionaries(st.sampled_from(USERS), some_items, min_size=1))
    return World({**truth, **of_user_0}, {**list_of_user_0, **lists}, train, threshold)


Names = Callable[[int], Any]


def same_name(number: int) -> int:
    return number


def reference_of(
    world: World, of_user: Names = same_name, of_item: Names = same_name, seed: int = 0
) -> Reference:
    rows = [
        (of_user(user), of_item(item), gain)
        for user, gains in world.truth.items()
        for item, gain in gains.items()
    ]
    train = [(of_user(user), of_item(item)) for user, items in world.train.items() for item in items]
    Random(seed).shuffle(rows)
    return read_reference(
        upload("truth", "user_id item_id relevance", rows),
        train=upload("train", "user_id item_id", train),
        catalogue=upload("catalogue", "item_id kind", [(of_item(item), KINDS[item]) for item in ITEMS[:8]]),
        threshold=world.threshold,
    )


Row = tuple[int, int, int]


def ranked_rows(world: World) -> list[Row]:
    return [
        (user, item, rank) for user, items in world.lists.items() for rank, item in enumerate(items, start=1)
    ]


def by_rank(rows: Sequence[Row], **how: Any) -> Recommendations:
    return run("user_id item_id rank", rows, **how)


def hits_of(candidate: Recommendations, reference: Reference, depth: int = DEPTH, **how: Any) -> Hits:
    lists = list_metrics(EXPOSURE, reference, depth)
    return match(candidate, reference, depth=depth, list_metrics=lists, **how)[0]


def sample_in(world: World, users: Users = "truth") -> RelevantHits:
    reference = reference_of(world)
    return sample_of(
        hits_of(by_rank(ranked_rows(world)), reference), users, expectedness=expectedness_of(reference)
    )


def had(sample: RelevantHits, definitions: Sequence[Definition]) -> list[Definition]:
    """Those that the sample has all that they need for."""
    return [one for one in definitions if not one.why_unavailable(sample)]


def curves_of(
    candidate: Recommendations, reference: Reference, users: Users = "truth", **how: Any
) -> dict[str, Curve]:
    curves, _ = score_hits(hits_of(candidate, reference, **how), reference, EVERYTHING, users)
    return curves


def curves_in(world: World, users: Users = "truth", depth: int = DEPTH) -> dict[str, Curve]:
    return curves_of(by_rank(ranked_rows(world)), reference_of(world), users, depth=depth)


def assert_same(found: Mapping[str, Curve], expected: Mapping[str, Curve], at: slice = slice(None)) -> None:
    """Equal up to the order in which floats were added; ``at`` narrows to some cutoffs."""
    assert set(found) == set(expected)
    for metric, curve in expected.items():
        if at == slice(None) or metric not in COUNTED_AT_THE_DEPTH:
            assert found[metric].n_users == curve.n_users
        narrowed = at if len(curve.k) else slice(None)
        value, error = found[metric].value[narrowed], found[metric].std_error[narrowed]
        np.testing.assert_allclose(value, curve.value[narrowed], rtol=1e-12, atol=1e-13, err_msg=metric)
        np.testing.assert_allclose(error, curve.std_error[narrowed], rtol=1e-9, atol=1e-9, err_msg=metric)


# ── rows, names, scores ──────────────────────────────────────────────────────────────────────


@law(worlds(), st.integers(0, 100))
def test_the_order_of_rows_says_nothing_where_ranks_do(world: World, seed: int) -> None:
    rows = ranked_rows(world)
    Random(seed).shuffle(rows)
    shuffled = curves_of(by_rank(rows), reference_of(world, seed=seed))
    assert_same(shuffled, curves_in(world))


@law(worlds(), st.integers(0, 100))
def test_ties_broken_by_item_do_not_depend_on_the_order_of_rows(world: World, seed: int) -> None:
    rows = [(user, item, float(rank // 3)) for user, item, rank in ranked_rows(world)]
    shuffled = Random(seed).sample(rows, len(rows))
    reference = reference_of(world)
    first, second = (run("user_id item_id score", found) for found in (rows, shuffled))
    assert_same(curves_of(second, reference, ties="item_desc"), curves_of(first, reference, ties="item_desc"))


IDS: dict[str, tuple[Names, Names]] = {
    "text": (lambda n: f"user {n}", lambda n: f"film/{n}"),
    "leading zeros": (lambda n: f"{n:04}", lambda n: f"00{n}"),
    "negative": (lambda n: -1 - n, lambda n: -100 - n),
    "huge": (lambda n: 2**62 + n, lambda n: 10**15 + n),
    "beyond 64 bits": (lambda n: str(2**64 + n), lambda n: str(10**30 + n)),
}


@law(worlds())
def test_ids_are_only_names(world: World) -> None:
    expected = curves_in(world)
    for form, (of_user, of_item) in IDS.items():
        note(f"ids: {form}")
        rows = [(of_user(user), of_item(item), rank) for user, item, rank in ranked_rows(world)]
        assert_same(curves_of(by_rank(rows), reference_of(world, of_user, of_item)), expected)


@law(worlds())
def test_a_number_and_its_text_are_the_same_id(world: World) -> None:
    rows = [(str(user), str(item), rank) for user, item, rank in ranked_rows(world)]
    assert_same(curves_of(by_rank(rows), reference_of(world)), curves_in(world))


@law(worlds())
def test_only_the_order_of_scores_matters(world: World) -> None:
    expected = curves_in(world)
    for shift in (0.0, 7.0, -1000.0):
        note(f"scores: {shift} − rank")
        scored = run("user_id item_id score", [(*of, shift - rank) for *of, rank in ranked_rows(world)])
        assert_same(curves_of(scored, reference_of(world)), expected)


@law(worlds(), st.sampled_from([1, 2, 3, 5]))
def test_batches_of_any_size_give_the_same(world: World, batch_rows: int) -> None:
    rows = ranked_rows(world)
    cut = curves_of(by_rank(rows, batch_rows=batch_rows), reference_of(world))
    for metric, curve in curves_in(world).items():
        # Sums over blocks may differ in the last bit; a small error is a difference of large squares.
        np.testing.assert_allclose(cut[metric].value, curve.value, rtol=1e-13, err_msg=metric)
        np.testing.assert_allclose(
            cut[metric].std_error, curve.std_error, rtol=1e-12, atol=1e-13, err_msg=metric
        )


@law(worlds(), st.sampled_from([1, 2, 4]))
def test_users_seen_again_later_have_one_list(world: World, batch_rows: int) -> None:
    rows = sorted(ranked_rows(world), key=lambda row: row[2])
    scattered = curves_of(by_rank(rows, batch_rows=batch_rows), reference_of(world))
    assert_same(scattered, curves_in(world))


@law(worlds(), st.integers(0, 8))
def test_a_row_given_twice_changes_nothing(world: World, place: int) -> None:
    rows = ranked_rows(world)
    user, item, _ = rows[place % len(rows)]
    twice = [*rows, (user, item, 99)]
    assert_same(curves_of(by_rank(twice), reference_of(world)), curves_in(world))


@law(worlds(), st.integers(0, 8))
def test_a_list_that_repeats_an_item_is_the_list_without_the_repeat(world: World, place: int) -> None:
    repeating = {
        user: [*items[: place + 1], items[0], *items[place + 1 :]] for user, items in world.lists.items()
    }
    assert_same(curves_in(replace(world, lists=repeating)), curves_in(world))


# ── cutoffs ──────────────────────────────────────────────────────────────────────────────────


@law(worlds(), st.integers(1, DEPTH))
def test_items_below_k_change_nothing_at_k(world: World, k: int) -> None:
    cut = {user: items[:k] for user, items in world.lists.items()}
    found, whole = curves_in(replace(world, lists=cut)), curves_in(world)
    with_cutoff = {metric for metric, curve in whole.items() if len(curve.k) and metric in found}
    # What no list has up to k (a pair of items at k = 1) is absent from lists that end there.
    for metric in set(whole) - with_cutoff:
        assert not len(whole[metric].k) or np.isnan(whole[metric].value[:k]).all(), metric
    assert_same(
        {metric: found[metric] for metric in with_cutoff},
        {metric: whole[metric] for metric in with_cutoff},
        at=slice(k),
    )


@law(worlds(), st.integers(1, DEPTH))
def test_one_call_for_all_cutoffs_equals_a_call_per_cutoff(world: World, k: int) -> None:
    alone, whole = curves_in(world, depth=k), curves_in(world)
    for metric, curve in whole.items():
        if len(curve.k) and metric not in alone:
            assert np.isnan(curve.value[:k]).all(), metric
        elif len(curve.k):
            # atol: 1 − a mean of nearly 1 has the rounding of that mean
            np.testing.assert_allclose(
                alone[metric].value[-1], curve.value[k - 1], rtol=1e-12, atol=1e-14, err_msg=metric
            )
            np.testing.assert_allclose(
                alone[metric].std_error[-1], curve.std_error[k - 1], rtol=1e-9, atol=1e-9, err_msg=metric
            )


@law(worlds())
def test_a_short_list_equals_itself_padded_with_misses(world: World) -> None:
    misses = range(1_000, 1_000 + DEPTH)
    padded = {user: [*items, *misses] for user, items in world.lists.items()}
    found, short = curves_in(replace(world, lists=padded)), curves_in(world)
    same = {str(definition) for definition in ACCURACY if not looks_at_length(definition)}
    same &= set(found) & set(short)
    assert {str(one) for one in ACCURACY if not may_be_absent(one) and not looks_at_length(one)} <= same
    assert_same({metric: found[metric] for metric in same}, {metric: short[metric] for metric in same})


@law(worlds())
def test_metrics_that_only_collect_never_fall_with_k(world: World) -> None:
    curves = curves_in(world)
    plain = {name: f"{name}(kind)" if name in OF_AN_ATTRIBUTE else name for name in METRICS}
    rising = [str(define(plain[name])) for name, metric in METRICS.items() if metric.rises_with_k]
    assert {"recall", "hit_rate", "mrr", "map", "coverage", "rbp"} <= set(rising)
    for metric in set(rising) & set(curves):
        assert (np.diff(curves[metric].value) >= -1e-15).all(), metric


# ── values ───────────────────────────────────────────────────────────────────────────────────


@law(worlds(), st.sampled_from(["truth", "both"]))
def test_bounded_metrics_stay_between_0_and_1(world: World, users: Users) -> None:
    curves = curves_in(world, users)
    for definition in EVERYTHING:
        curve = curves.get(str(definition))
        if curve is None or unbounded(definition):
            continue
        known = curve.value[~np.isnan(curve.value)]
        assert (known >= -1e-12).all(), definition
        assert (known <= 1 + 1e-12).all(), definition


@law(worlds(), st.sampled_from(["truth", "both"]))
def test_no_accuracy_metric_is_undefined(world: World, users: Users) -> None:
    curves = curves_in(world, users)
    assert all(may_be_absent(one) for one in ACCURACY if str(one) not in curves)
    for name in curves.keys() & {str(definition) for definition in ACCURACY}:
        assert np.isfinite(curves[name].value).all(), name


LEAST: dict[str, World] = {
    "no list holds a hit": World({0: {1: 1.0}, 1: {2: 2.0}}, {0: [3], 1: [4, 5]}, {0: [1]}, None),
    "no user with a list wanted anything": World(
        {0: {1: 0.0}, 1: {2: 1.0}, 2: {1: 1.0}}, {0: [1, 2]}, {0: [1]}, None
    ),
}


@pytest.mark.parametrize("case", LEAST)
def test_where_there_is_nothing_to_find_the_value_is_zero_and_not_a_hole(case: str) -> None:
    curves = curves_in(LEAST[case])
    sample = sample_in(LEAST[case])
    for definition in had(sample, OVER_THE_SAMPLE):
        values = definition.formula().values(sample, DEPTH)
        assert np.isfinite(curves[str(definition)].value).all(), definition
        assert np.isfinite(curves[str(definition)].std_error).all(), definition
        assert curves[str(definition)].value[-1] == pytest.approx(values.mean(), rel=1e-12, abs=1e-15)
    assert curves["ndcg"].value.tolist() == [0.0] * DEPTH


@law(worlds(), st.sampled_from(["truth", "both"]))
def test_the_curve_is_the_mean_of_the_users_values(world: World, users: Users) -> None:
    sample = sample_in(world, users)
    for definition in had(sample, OVER_THE_SAMPLE):
        formula = definition.formula()
        dense = np.array([formula.values(sample, k) for k in range(1, DEPTH + 1)])
        mean, error = formula.curve(sample)
        np.testing.assert_allclose(mean, dense.mean(axis=1), rtol=1e-12, atol=1e-14, err_msg=str(definition))
        if not isinstance(formula, Micro):
            assert_error(error, dense, str(definition))


def assert_error(error: Any, dense: Any, metric: str) -> None:
    n = dense.shape[1]
    if n < 2:
        assert np.isnan(error).all()
        return
    expected = np.std(dense, axis=1, ddof=1) / np.sqrt(n)
    np.testing.assert_allclose(error, expected, rtol=1e-9, atol=1e-9, err_msg=metric)


@law(worlds())
def test_pooled_shares_have_the_error_of_the_delta_method(world: World) -> None:
    sample = sample_in(world)
    found = np.array(
        [np.bincount(sample.user, sample.rank <= k, sample.n_users) for k in range(1, DEPTH + 1)]
    )
    k = np.arange(1, DEPTH + 1)[:, None]
    norms = {
        "recall(average=micro)": sample.n_relevant,
        "precision(average=micro)": k,
        "recall(norm=min,average=micro)": np.minimum(k, sample.n_relevant),
        "precision(over=list,average=micro)": np.minimum(k, sample.list_length),
    }
    for spec, norm in norms.items():
        whole = np.broadcast_to(norm, found.shape)
        ratio = found.sum(axis=1) / whole.sum(axis=1)
        mean, error = define(spec).formula().curve(sample)
        np.testing.assert_allclose(mean, ratio, rtol=1e-12, err_msg=spec)
        assert_error(error, (found - ratio[:, None] * whole) / whole.mean(axis=1)[:, None], spec)


# ── populations ──────────────────────────────────────────────────────────────────────────────


def values_by_user(sample: RelevantHits, definition: Definition, k: int) -> dict[int, float]:
    """Empty where the sample lacks what the metric needs."""
    if definition.why_unavailable(sample):
        return {}
    values = definition.formula().values(sample, k).tolist()
    return dict(zip(sample.truth_user.tolist(), values, strict=True))


PER_USER = [one for one in OVER_THE_SAMPLE if "average=m" not in str(one) and not over_judged_pairs(one)]


@law(worlds(), st.sets(st.sampled_from(USERS)), st.integers(1, DEPTH))
def test_users_scored_in_blocks_add_up_to_all_at_once(world: World, block: set[int], k: int) -> None:
    reference = reference_of(world)
    hits, known = hits_of(by_rank(ranked_rows(world)), reference), expectedness_of(reference)
    inside = np.array([int(user) in block for user in hits.truth.users])
    whole = sample_of(hits, expectedness=known)
    parts = [sample_of(hits, only=mask, expectedness=known) for mask in (inside, ~inside)]
    for definition in had(whole, PER_USER):
        of_parts = [values_by_user(part, definition, k) for part in parts if part.n_users]
        together = {user: value for part in of_parts for user, value in part.items()}
        assert together == pytest.approx(values_by_user(whole, definition, k), rel=1e-13, abs=1e-15)


@law(worlds(), st.sampled_from(USERS))
def test_dropping_one_users_list_changes_only_that_user(world: World, dropped: int) -> None:
    lists = {user: items for user, items in world.lists.items() if user != dropped}
    if not lists.keys() & world.truth.keys():
        return
    reference = reference_of(world)
    before, after = (
        sample_of(hits_of(by_rank(ranked_rows(one)), reference), expectedness=expectedness_of(reference))
        for one in (world, replace(world, lists=lists))
    )
    names = list(reference.truth.users)
    for definition in PER_USER:
        old, new = (values_by_user(sample, definition, DEPTH) for sample in (before, after))
        for user, value in new.items():
            expected = 0.0 if names[user] == str(dropped) else old[user]
            assert value == pytest.approx(expected, rel=1e-13, abs=1e-15), definition


@law(worlds())
def test_users_without_a_list_are_zeros_of_the_truth_population(world: World) -> None:
    everyone, listed = sample_in(world, "truth"), sample_in(world, "both")
    for definition in had(everyone, PER_USER):
        total = sum(values_by_user(everyone, definition, DEPTH).values())
        of_listed = sum(values_by_user(listed, definition, DEPTH).values()) if listed.n_users else 0.0
        assert total == pytest.approx(of_listed, rel=1e-12, abs=1e-14), definition


# ── evidence ─────────────────────────────────────────────────────────────────────────────────


def through_parquet(table: pa.Table) -> pa.Table:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return pq.read_table(io.BytesIO(buffer.getvalue()))


@law(worlds(), st.sampled_from(["truth", "both"]))
def test_hits_that_were_saved_score_bit_for_bit_as_before(world: World, users: Users) -> None:
    reference = reference_of(world)
    hits = hits_of(by_rank(ranked_rows(world)), reference)
    saved = {name: through_parquet(table) for name, table in hits_to_tables(hits).items()}
    again = hits_from_tables(saved, reference.truth)
    assert (again.ledger, again.depth, again.order) == (hits.ledger, hits.depth, hits.order)
    before, after = (score_hits(one, reference, EVERYTHING, users)[0] for one in (hits, again))
    assert set(before) == set(after)
    for metric, curve in before.items():
        np.testing.assert_array_equal(after[metric].value, curve.value, err_msg=metric)
        np.testing.assert_array_equal(after[metric].std_error, curve.std_error, err_msg=metric)


@law(worlds())
def test_the_tables_of_a_sentence_grow_with_the_numbers_that_its_norm_sees(world: World) -> None:
    """Not with the users: lists of many lengths must not make a table [users × depth]."""
    sample = sample_in(world)
    seen = {"recall": sample.n_relevant, "precision(over=list)": sample.list_length}
    for spec, numbers in seen.items():
        formula = define(spec).formula()
        assert isinstance(formula, RatioFormula)
        assert formula.tables(sample)[0].shape == (DEPTH, len(set(numbers.tolist())))


def test_the_laws_look_at_every_metric_that_ranks() -> None:
    names = {parse(str(definition)).name for definition in EVERYTHING}
    assert names == {name for name, metric in METRICS.items() if metric in (*RANKING, *CATALOGUE)}
    assert all(isinstance(definition.metric, RankingMetric) for definition in ACCURACY)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────


SUMS = ("hits", "dcg", "dcg(gain=exp)", "rbp(gain=linear)", "mrr(sum=all)", "map(norm=none)")


@law(worlds())
def test_no_user_is_above_the_bound_that_k_and_the_grades_set(world: World) -> None:
    sample = sample_in(world)
    for definition in had(sample, [*map(define, SUMS), *OVER_THE_SAMPLE]):
        formula = definition.formula()
        if isinstance(formula, Micro | HarmonicMean) and formula.pooled:
            continue
        for k in (1, 3, DEPTH):
            bound = definition.bound([sample], k)
            assert bound is not None or not definition.ideal_is_best, str(definition)
            if bound is not None:
                assert formula.own(sample, k).max(initial=0.0) <= bound + 1e-12, f"{definition}@{k}"


@law(worlds(), st.lists(st.sampled_from(ITEMS), min_size=DEPTH, max_size=DEPTH))
def test_no_user_is_above_the_bound_where_each_repeat_of_an_item_counts(
    world: World, repeated: list[int]
) -> None:
    """User 0 has one relevant item in all places, user 1 any items, each several times or not."""
    wanted = next(item for item, gain in world.truth[0].items() if gain == 3.0)
    lists = {**world.lists, 0: [wanted] * DEPTH, 1: repeated}
    rows = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)]
    reference = reference_of(world)
    hits = hits_of(by_rank(rows), reference, duplicates="keep")
    sample = sample_of(hits, expectedness=expectedness_of(reference))
    for definition in had(sample, [*map(define, SUMS), *OVER_THE_SAMPLE]):
        formula = definition.formula()
        if isinstance(formula, Micro | HarmonicMean) and formula.pooled:
            continue
        for k in (1, DEPTH):
            bound = definition.bound([sample], k)
            if bound is not None:
                assert formula.own(sample, k).max(initial=0.0) <= bound + 1e-12, f"{definition}@{k}"


def test_the_bounds_of_repeated_items_by_hand() -> None:
    """One relevant item in three places: recall 3/1, nDCG (1 + 1/log2 3 + 1/2)/1; a hit is at most 1."""
    repeating = RelevantHits(
        depth=3, user=np.array([0]), rank=np.array([1]), gain=np.ones(1), n_relevant=np.array([2]),
        list_length=np.array([3]), truth_user=np.array([0]), relevant_gain=np.ones(2), item=np.array([0]),
        may_repeat=True,
    )  # fmt: skip
    bounds = {
        spec: define(spec).bound([repeating], 3) for spec in ("recall", "ndcg", "hit_rate", "precision")
    }
    assert bounds == pytest.approx(
        {"recall": 3.0, "ndcg": 1 + 1 / np.log2(3) + 1 / 2, "hit_rate": 1.0, "precision": 1.0}
    )


@law(worlds())
def test_the_bound_of_a_sum_is_that_of_the_largest_gains_in_the_first_places(world: World) -> None:
    sample = sample_in(world)
    n = min(int(sample.n_relevant.max()), 3)
    at_three = {spec: define(spec).bound([sample], 3) for spec in SUMS}
    places, top = np.arange(1, n + 1), sample.top_gain
    assert at_three["hits"] == n
    assert at_three["mrr(sum=all)"] == pytest.approx(sum(1 / places))
    assert at_three["map(norm=none)"] == pytest.approx(n)
    assert at_three["dcg"] == pytest.approx(top * sum(1 / np.log2(places + 1)))
    assert at_three["dcg(gain=exp)"] == pytest.approx((2**top - 1) * sum(1 / np.log2(places + 1)))
    assert at_three["rbp(gain=linear)"] == pytest.approx(top * 0.2 * sum(0.8 ** (places - 1)))


# ── many worlds ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
@pytest.mark.parametrize("name", LAWS)
def test_a_law_holds_in_many_worlds(name: str) -> None:
    LAWS[name]()
