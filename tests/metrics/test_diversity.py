"""Diversity inside the lists: worked by eye, and against dense matrices of all pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity
from small_tables import id_column, run, upload

import recdash.engines.diversity as engine
from recdash.domain.inputs import Upload
from recdash.domain.results import Curve, Unavailable
from recdash.engines import Reference, list_metrics, match, read_reference
from recdash.evaluation.metric_inputs import catalogue_inputs_of
from recdash.metrics import MetricInputs, define, score

Lists = Mapping[str, Sequence[str]]
Similar = Callable[[str, str], float]
DEPTH = 5


def table(kind: Any, **columns: Any) -> Upload:
    return Upload(kind, kind, pa.table(columns), {})


def catalogue(**items: str | None) -> Upload:
    """``catalogue(a="Crime|Drama")``: items and their genres; every item has a title of its own."""
    return table(
        "catalogue",
        item_id=id_column(list(items)),
        title=pa.array([f"Film {name}" for name in items]),
        genres=pa.array(list(items.values()), pa.string()),
    )


def vectors(**items: Sequence[float]) -> Upload:
    values = pa.array([list(map(float, one)) for one in items.values()], pa.list_(pa.float64()))
    return table("vectors", item_id=id_column(list(items)), vector=values)


def similarity(pairs: Mapping[str, float]) -> Upload:
    """``similarity({"ab": 0.5})``"""
    return table(
        "similarity",
        item_a=id_column([pair[0] for pair in pairs]),
        item_b=id_column([pair[1] for pair in pairs]),
        similarity=pa.array(list(pairs.values()), pa.float64()),
    )


def reference_of(lists: Lists, *tables: Upload) -> Reference:
    """Every user wants an item that nobody is shown, so that all of them count."""
    by_kind = {one.kind: one for one in tables}
    truth = upload("truth", "user_id item_id", [(user, "wanted") for user in lists])
    return read_reference(truth, catalogue=by_kind.pop("catalogue", None), others=by_kind)


def diversity(
    lists: Lists, spec: str, *tables: Upload, reference: Reference | None = None
) -> Curve | Unavailable:
    definition = define(spec)
    reference = reference or reference_of(lists, *tables)
    rows = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, start=1)]
    watch = list_metrics([definition], reference, DEPTH)
    candidate = run("user_id item_id rank", rows, batch_rows=7)
    hits, _ = match(candidate, reference, depth=DEPTH, list_metrics=watch)
    (found,) = score([definition], MetricInputs(catalogue=catalogue_inputs_of(hits, reference)))
    return found


def values(*how: Any, **more: Any) -> list[float | None]:
    """[DEPTH] None where undefined."""
    found = diversity(*how, **more)
    assert isinstance(found, Curve), found
    return [None if np.isnan(one) else round(float(one), 12) for one in found.value]


# ── worked by eye ────────────────────────────────────────────────────────────────────────────

FILMS = catalogue(a="Crime|Drama", b="Drama", c="Comedy", d="Comedy; Drama", e=None)


def test_films_are_as_alike_as_the_genres_they_share() -> None:
    # a–b share 1 of 2 and 1: 1/√2; a–c and b–c nothing
    found = values({"u": "abc"}, "diversity", FILMS)
    assert found[:3] == [None, round(1 - 0.5**0.5, 12), round(1 - 0.5**0.5 / 3, 12)]


def test_a_list_that_has_ended_keeps_its_value() -> None:
    assert values({"u": "bc"}, "diversity", FILMS) == [None, 1.0, 1.0, 1.0, 1.0]


def test_the_mean_is_over_the_lists_that_have_two_items() -> None:
    assert values({"u": "bc", "v": "cd", "w": "a"}, "diversity", FILMS)[1] == round(1 - 0.5**0.5 / 2, 12)


def test_items_without_attributes_are_skipped() -> None:
    assert values({"u": "bec"}, "diversity", FILMS) == [None, None, 1.0, 1.0, 1.0]
    assert values({"u": "bxc"}, "diversity", FILMS) == [None, None, 1.0, 1.0, 1.0]


def test_hamming_counts_the_values_that_only_one_of_two_items_has() -> None:
    # a–b: Crime; a–c: Crime, Drama, Comedy; b–c: Drama, Comedy; then nothing is known of e
    found = values({"u": "abce"}, "diversity(by=hamming,attribute=genres)", FILMS)
    assert found == [None, 1.0, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("seed", range(3))
def test_hamming_is_the_mean_difference_of_the_dense_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((12, 4)) < 0.5
    has[:, 0] |= ~has.any(axis=1)
    names = [f"i{number}" for number in range(12)]
    films = catalogue(
        **{
            name: "|".join(f"v{at}" for at in np.flatnonzero(row))
            for name, row in zip(names, has, strict=True)
        }
    )
    lists = {user: rng.permutation(names)[:DEPTH].tolist() for user in "uvw"}
    means = [
        np.mean([(has[names.index(a)] != has[names.index(b)]).sum() for a, b in combinations(items, 2)])
        for items in lists.values()
    ]
    found = values(lists, "diversity(by=hamming,attribute=genres)", films)
    assert found[-1] == pytest.approx(np.mean(means), rel=1e-11)


def test_the_same_genres_are_no_diversity_at_all() -> None:
    films = catalogue(a="x|y|z", b="z|y|x", c="y|x|z")
    assert values({"u": "abc"}, "diversity", films)[1:3] == pytest.approx([0.0, 0.0], abs=1e-15)


def test_vectors_are_compared_by_their_angle() -> None:
    found = values({"u": "abc"}, "diversity(by=vectors)", vectors(a=[2, 0], b=[0, 3], c=[-1, 0]))
    assert found[1:3] == [1.0, round(1 + 1 / 3, 12)]


def test_a_vector_of_zeros_has_no_angle_and_is_skipped() -> None:
    found = values({"u": "acb"}, "diversity(by=vectors)", vectors(a=[2, 0], b=[0, 3], c=[0, 0]))
    assert found[1:3] == [None, 1.0]


@pytest.mark.parametrize("size", [1e-320, 1e-170, 1e-160, 1.0, 1e160, 1e308])
def test_the_length_of_a_vector_says_nothing_however_large_or_small(size: float) -> None:
    found = values({"u": "abc"}, "diversity(by=vectors)", vectors(a=[size, size], b=[1, 1], c=[-size, size]))
    assert found[1:3] == [0.0, round(2 / 3, 12)]


@pytest.mark.parametrize("one", [[1, 2.5], [3, 1, 4], [0.1, 0.7]])
def test_rounding_never_makes_equal_or_opposite_items_lie_beyond_the_range(one: list[float]) -> None:
    points = vectors(a=one, b=one, c=one, x=[-number for number in one])
    alike = diversity({"u": "abc"}, "diversity(by=vectors)", points)
    opposite = diversity({"u": "ax"}, "diversity(by=vectors)", points)
    assert isinstance(alike, Curve)
    assert isinstance(opposite, Curve)
    assert np.nanmin(alike.value) >= 0.0
    assert np.nanmax(opposite.value) <= 2.0


def test_a_pair_that_the_table_lacks_is_not_alike() -> None:
    found = values({"u": "abc"}, "diversity(by=similarity)", similarity({"ab": 0.5, "ca": 0.25}))
    assert found[1:3] == [0.5, 0.75]


def test_an_item_that_the_table_never_names_is_skipped() -> None:
    found = values({"u": "axb"}, "diversity(by=similarity)", similarity({"ab": 0.5}))
    assert found[1:3] == [None, 0.5]


def test_an_item_known_by_its_vector_alone_is_compared() -> None:
    lists = {"u": ["ghost", "b"]}
    found = values(lists, "diversity(by=vectors)", FILMS, vectors(ghost=[1, 0], b=[0, 1]))
    assert found[1] == 1.0


# ── which columns ────────────────────────────────────────────────────────────────────────────


def with_columns(**columns: Any) -> Upload:
    return table("catalogue", item_id=id_column(list("abcd")), **columns)


@pytest.mark.parametrize(
    ("column", "compared"),
    [
        (["x", "x", "y", "y"], True),
        (["x|p", "x|q", "r", "s"], True),
        (["x", "x", "y", None], True),
        (["x", "x", "y", "z", "w"][1:], False),
        ([f"a long text about {name}" for name in "abcd"], False),
        ([1990, 1990, 1990, 1990], False),
        ([None, None, None, None], False),
    ],
)
def test_columns_whose_values_items_share_are_compared(column: list[Any], compared: bool) -> None:
    columns = {"title": ["same"] * 4, "column": column}
    if column[-1] is None and column[0] is None:
        columns["column"] = pa.array(column, pa.string())
    chosen = engine.categories(with_columns(**columns))
    assert [one.name for one in chosen] == (["column"] if compared else [])


def test_a_column_can_be_asked_for_even_of_numbers() -> None:
    films = with_columns(genre=["x", "x", "x", "y"], year=[1990, 1991, 1990, 1991])
    assert values({"u": "ab"}, "diversity(attribute=year)", films)[1] == 1.0
    assert values({"u": "ab"}, "diversity(attribute=genre)", films)[1] == 0.0


def test_without_a_name_all_categories_are_compared_together() -> None:
    films = with_columns(genre=["x", "x", "y", "y"], country=["p", "q", "p", "q"])
    assert values({"u": "ab"}, "diversity", films)[1] == 0.5


# ── absent, and why ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("spec", "tables", "reason"),
    [
        ("diversity", (), "needs a catalogue table, and none was given"),
        ("diversity(by=vectors)", (FILMS,), "needs item vectors, and none were given"),
        ("diversity(by=similarity)", (FILMS,), "needs a table of item similarities, and none was given"),
        (
            "diversity(attribute=author)",
            (FILMS,),
            "the catalogue has no column 'author'; it has title, genres",
        ),
        (
            "diversity(by=vectors)",
            (vectors(x=[1], y=[2]),),
            "no list has its input: two items in a list that can be compared",
        ),
    ],
)
def test_what_is_missing_is_said(spec: str, tables: Sequence[Upload], reason: str) -> None:
    assert diversity({"u": "abc"}, spec, *tables) == Unavailable(str(define(spec)), reason)


# ── against all pairs ────────────────────────────────────────────────────────────────────────


def of_all_pairs(lists: Lists, known: set[str], similar: Similar) -> list[tuple[float, float, int]]:
    """[DEPTH] mean, standard error and lists, from every pair of every list."""
    found = []
    for k in range(1, DEPTH + 1):
        cut = [[item for item in items[:k] if item in known] for items in lists.values()]
        each = [1 - np.mean([similar(*pair) for pair in combinations(one, 2)]) for one in cut if len(one) > 1]
        error = np.std(each, ddof=1) / len(each) ** 0.5 if len(each) > 1 else np.nan
        found.append((np.mean(each) if each else np.nan, error, len(each)))
    return found


ITEMS = "abcdefgh"
some_lists = st.dictionaries(
    st.sampled_from("uvwxyz"),
    st.lists(st.sampled_from(ITEMS), unique=True, min_size=1, max_size=7),
    min_size=1,
)


def check(lists: Lists, spec: str, source: Upload, known: set[str], similar: Similar) -> None:
    definition, reference = define(spec), reference_of(lists, source)
    rows = [(user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)]
    watch = list_metrics([definition], reference, DEPTH)
    candidate = run("user_id item_id rank", rows, batch_rows=7)
    shown = match(candidate, reference, depth=DEPTH, list_metrics=watch)[0].exposure
    assert shown is not None
    found = shown.list_means[str(definition)]
    mean, error, n_lists = (
        np.array(column) for column in zip(*of_all_pairs(lists, known, similar), strict=True)
    )
    np.testing.assert_array_equal(found.n_lists, n_lists)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-9, atol=1e-12)
    # A spread of a millionth of the values is rounding to a sum of squares.
    np.testing.assert_allclose(found.std_error, error, rtol=1e-9, atol=2e-6)


@settings(max_examples=40, deadline=None)
@given(some_lists, st.integers(0, 1000))
def test_vectors_agree_with_scikit_learn_over_all_pairs(lists: Lists, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(6, 3))
    cosine = cosine_similarity(points)
    check(
        lists,
        "diversity(by=vectors)",
        vectors(**dict(zip(ITEMS, points, strict=False))),
        set(ITEMS[:6]),
        lambda a, b: cosine[ITEMS.index(a), ITEMS.index(b)],
    )


@settings(max_examples=40, deadline=None)
@given(some_lists, st.lists(st.sets(st.sampled_from("pqrs")), min_size=8, max_size=8))
def test_attributes_agree_with_the_dense_cosine_of_ones_and_zeros(
    lists: Lists, genres: list[set[str]]
) -> None:
    ones = np.array([[value in mine for value in "pqrs"] for mine in genres], dtype=float)
    cosine = cosine_similarity(ones)
    check(
        lists,
        "diversity(attribute=genres)",
        catalogue(**{item: "|".join(mine) or None for item, mine in zip(ITEMS, genres, strict=True)}),
        {item for item, mine in zip(ITEMS, genres, strict=True) if mine},
        lambda a, b: cosine[ITEMS.index(a), ITEMS.index(b)],
    )


@pytest.mark.parametrize("square", [engine._SQUARE, 0])
@settings(max_examples=40, deadline=None)
@given(
    some_lists, st.dictionaries(st.sampled_from([*map("".join, combinations(ITEMS, 2))]), st.floats(-1, 1))
)
def test_a_table_of_similarities_agrees_pair_by_pair(
    square: int, lists: Lists, pairs: dict[str, float]
) -> None:
    pairs = pairs or {"ab": 1.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_SQUARE", square)
        check(
            lists,
            "diversity(by=similarity)",
            similarity(
                {pair if index % 2 else pair[::-1]: one for index, (pair, one) in enumerate(pairs.items())}
            ),
            set("".join(pairs)),
            lambda a, b: pairs.get("".join(sorted(a + b)), 0.0),
        )


@pytest.mark.parametrize("spec", ["diversity", "diversity(by=vectors)"])
def test_lists_walked_one_by_one_give_the_same(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {"u": "abcd", "v": "dcb", "w": "ad"}
    points = vectors(a=[1, 2], b=[0, 3], c=[5, 1], d=[-1, 1])
    together = values(lists, spec, FILMS, points)
    monkeypatch.setattr(engine, "_CELLS", 1)
    assert values(lists, spec, FILMS, points) == together
