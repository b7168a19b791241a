"""Cells that hold lists, pairs or names: read as what they are, or asked about."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from recdash.domain.inputs import Recommendations
from recdash.errors import UploadError
from recdash.ingest import preview, read_recommendations, read_upload
from recdash.ingest.cells import Holding, holding


def csv(header: str, *rows: tuple[str, ...]) -> bytes:
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    return "\n".join([header, *lines, ""]).encode()


def lists_of(run: Recommendations) -> list[tuple[str, str]]:
    rows = [row for batch in run.batches() for row in batch.to_pylist()]
    return [(str(row["user_id"]), str(row["item_id"])) for row in rows]


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(UploadError) as refusal:
        [list(run.batches()) for run in read_recommendations(source, **options)]
    return str(refusal.value)


EXPECTED = [("1", "a1"), ("1", "b2"), ("1", "c3"), ("2", "b2"), ("2", "d4")]


@pytest.mark.parametrize(
    ("cells", "content"),
    [
        ([], "item"),
        (["2026-09-21 12:33"], "item"),
        (["[a1,b2]"], "list"),
        (["1,2", "3"], "list"),
        (["Heat", "Alien, Aliens"], "unclear"),
        (["Heat (1995)", "Alien (1979)"], "item"),
        (["1549920 (0.76)", "1409024 (-0.69)"], "item"),
        (["(500) Days of Summer (2009)", "Shanghai Triad (Yao a yao yao) (1995)"], "item"),
        (["Heat (1995)|Alien (1979)", "Casino (1995)"], "unclear"),
        (["Heat (1995), Alien (1979)", "Casino (1995), Heat (1995)"], "unclear"),
        (["Heat (1995) ;Alien (1979)", "Casino (1995); Heat (1995)"], "unclear"),
        (["12 (0.5), 13 (0.4)", "15 (0.9), 13 (0.2)"], "unclear"),
        (["12 (0.5)|13 (0.4)", "15 (0.9)|13 (0.2)"], "unclear"),
        (["12 (0.5) 13 (0.4)", "15 (0.9) 13 (0.2)"], "unclear"),
    ],
)
def test_cells_hold_lists_or_single_items(cells: list[str], content: Holding) -> None:
    assert holding(cells) == content


# ── lists without brackets ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("separator", [",", "|", ";", " "])
@pytest.mark.parametrize("said", [{}, {"item_id": "foo"}, {"item_id": "foo[]"}])
def test_lists_without_brackets_are_lists_though_their_column_is_named(
    separator: str, said: dict[str, str]
) -> None:
    table = csv("user_id,foo", ("1", separator.join(["a1", "b2", "c3"])), ("2", separator.join(["b2", "d4"])))
    (run,) = read_recommendations(table, mapping=said)
    assert lists_of(run) == EXPECTED


NAMES = csv("user_id,thing", ("1", "Red Shoes"), ("2", "Blue Hat"))


def test_words_with_blanks_are_names_or_lists_as_is_said() -> None:
    said = refused(NAMES, mapping={"item_id": "thing"})
    assert "cells such as 'Red Shoes' may hold a list of items, or one item with that name" in said
    assert "item_id=thing[] for lists, item_id=thing[1] for one item per cell" in said
    (names,) = read_recommendations(NAMES, mapping={"item_id": "Thing[1]"})
    assert lists_of(names) == [("1", "Red Shoes"), ("2", "Blue Hat")]
    (lists,) = read_recommendations(NAMES, mapping={"item_id": "thing[]"})
    assert lists_of(lists) == [("1", "Red"), ("1", "Shoes"), ("2", "Blue"), ("2", "Hat")]


def test_the_page_offers_both_readings_and_keeps_the_choice() -> None:
    result = preview("run", NAMES, mapping={"item_id": "thing"})
    assert ([problem.code for problem in result.problems], result.mapping) == (
        ["list-or-item"],
        {"user_id": "user_id"},
    )
    for label in ("thing[]", "thing[1]"):
        assert label in result.columns
        chosen = preview("run", NAMES, mapping={"item_id": label})
        assert (chosen.problems, (chosen.mapping or {})["item_id"]) == ((), label)


def test_names_with_blanks_in_a_column_called_items_can_be_kept_whole() -> None:
    table = NAMES.replace(b"thing", b"items")
    (lists,) = read_recommendations(table)
    (notice,) = [notice for notice in lists.notices if notice.code == "split-cells"]
    assert "items[1]" in notice.fix
    (names,) = read_recommendations(table, mapping={"item_id": "items[1]"})
    assert lists_of(names) == [("1", "Red Shoes"), ("2", "Blue Hat")]


def test_names_with_blanks_in_lists_with_commas_are_not_split_where_they_stand_alone() -> None:
    table = csv("user_id,items", ("1", "Red Shoes,Blue Hat"), ("2", "Blue Hat"))
    (run,) = read_recommendations(table, mapping={"item_id": "items[]"})
    assert lists_of(run) == [("1", "Red Shoes"), ("1", "Blue Hat"), ("2", "Blue Hat")]


def test_lists_behind_several_rows_of_a_user_are_asked_about() -> None:
    table = csv("user_id,foo", ("1", "a1,b2"), ("1", "c3,d4"), ("2", "a1,c3"))
    assert "item_id=foo[1]" in refused(table, mapping={"item_id": "foo"})
    (run,) = read_recommendations(table, mapping={"item_id": "foo[1]"})
    assert lists_of(run) == [("1", "a1,b2"), ("1", "c3,d4"), ("2", "a1,c3")]


@pytest.mark.parametrize("kind", ["truth", "train"])
def test_the_truth_may_hold_lists_in_a_column_of_any_name(kind: Any) -> None:
    table = csv("user_id,bought", ("1", "a1 b2 c3"), ("2", "b2 d4"))
    rows = read_upload(kind, table, mapping={"item_id": "bought"}).table.to_pylist()
    assert [(row["user_id"], row["item_id"]) for row in rows] == EXPECTED


def test_a_stored_table_of_rows_is_read_as_rows() -> None:
    stored = pa.table({"user_id": ["1", "2"], "item_id": ["a1,b2", "a1,c3"]})
    (run,) = read_recommendations(stored, checked=True)
    assert lists_of(run) == [("1", "a1,b2"), ("2", "a1,c3")]


# ── one column per model ─────────────────────────────────────────────────────────────────────


def test_short_lists_of_numbers_do_not_hide_a_model() -> None:
    table = csv("user_id,als,ease", ("1", "101 102", "103"), ("2", "104", "105"), ("3", "104 105", "107 108"))
    als, ease = read_recommendations(table)
    assert [run.name for run in (als, ease)] == ["als", "ease"]
    assert lists_of(ease) == [("1", "103"), ("2", "105"), ("3", "107"), ("3", "108")]


def test_a_column_of_single_items_beside_lists_is_asked_about() -> None:
    table = csv("user_id,als,ease", ("1", "a1,b2", "b2"), ("2", "b2,c3", "c3"), ("3", "b2", "a1"))
    said = refused(table)
    assert "'als' holds lists; 'ease' may be lists of one item" in said
    assert "item_id=als,ease to read each as a candidate, item_id=als to ignore it" in said
    assert "als,ease" in preview("run", table).columns
    both = read_recommendations(table, mapping={"item_id": "als,ease"})
    assert [run.name for run in both] == ["als", "ease"]
    assert not any("'als'" in notice.found for notice in both[1].notices)
    assert lists_of(both[1]) == [("1", "b2"), ("2", "c3"), ("3", "a1")]
    (als,) = read_recommendations(table, mapping={"item_id": "als"})
    assert lists_of(als)[:3] == [("1", "a1"), ("1", "b2"), ("2", "b2")]


def test_another_attribute_beside_lists_is_no_model() -> None:
    table = csv("user_id,foo,country", ("1", "a1,b2", "DE"), ("2", "b2,c3", "FR"))
    assert [lists_of(run)[0] for run in read_recommendations(table)] == [("1", "a1")]


MODELS = csv("user_id,model1,model2", ("1", "101,102,103", "105,101"), ("2", "102,103", "103,104"))


def test_numbered_columns_of_lists_are_models_and_no_places() -> None:
    first, second = read_recommendations(MODELS)
    assert (first.name, second.name) == ("model1", "model2")
    assert lists_of(second) == [("1", "105"), ("1", "101"), ("2", "103"), ("2", "104")]


def test_a_candidate_that_is_called_like_a_column_is_that_column() -> None:
    (run,) = read_recommendations(MODELS, name="model2")
    assert (run.name, lists_of(run)[0]) == ("model2", ("1", "105"))
    assert [run.name for run in read_recommendations(MODELS, name="new")] == ["new: model1", "new: model2"]


@pytest.mark.parametrize("cell", ["[101, 102]", "(101, 0.9)", "{101, 102}"])
def test_places_that_hold_more_than_one_item_are_refused(cell: str) -> None:
    said = refused(csv("user_id,rec_1,rec_2", ("1", cell, cell), ("2", cell, cell)))
    assert "rec_1" in said
    assert "item_id=rec_1,rec_2 for one candidate per column" in said or "set has no order" in said


# ── pairs ────────────────────────────────────────────────────────────────────────────────────

PAIRS = [
    ("[('a', 0.5), ('b', 0.75)]", "[('c', 1.0)]"),
    ("[[a, 0.5], [b, 0.75]]", "[[c, 1.0]]"),
    ("{'a': 0.5, 'b': 0.75}", "{'c': 1.0}"),
    ("[{'item': 'a', 'score': 0.5}, {'item': 'b', 'score': 0.75}]", "[{'item': 'c', 'score': 1.0}]"),
    ("[Row(itemId='a', rating=0.5), Row(itemId='b', rating=0.75)]", "[Row(itemId='c', rating=1.0)]"),
    ("[{a, 0.5}, {b, 0.75}]", "[{c, 1.0}]"),
    ("[(np.str_('a'), np.float64(0.5)), ('b', np.float32(0.75))]", "[('c', 1.0)]"),
    ("array([['a', 0.5], ['b', 0.75]], dtype=object)", "array([['c', 1.0]])"),
    ("a:0.5,b:0.75", "c:1.0"),
    ("a:0.5 | b:.75", "c:1.0"),
]


@pytest.mark.parametrize("cells", PAIRS)
@pytest.mark.parametrize("column", ["recs", "what_we_showed"])
def test_pairs_are_items_with_their_scores(cells: tuple[str, str], column: str) -> None:
    table = pa.table({"user_id": ["1", "2", "3"], column: [*cells, None]})
    (run,) = read_recommendations(table)
    rows = [tuple(row.values()) for batch in run.batches() for row in batch.to_pylist()]
    assert rows == [("1", "a", 0.5), ("1", "b", 0.75), ("2", "c", 1.0)]
    assert run.mapping == {"user_id": "user_id", "item_id": column, "score": f"{column}.score"}


def test_one_score_with_a_decimal_point_tells_pairs_from_ids() -> None:
    (run,) = read_recommendations(csv("user_id,recs", ("1", "a:1|b:0.5"), ("2", "c:0.25|a:0.125")))
    rows = [(row["item_id"], row["score"]) for batch in run.batches() for row in batch.to_pylist()]
    assert rows == [("a", 1.0), ("b", 0.5), ("c", 0.25), ("a", 0.125)]


def test_ids_with_a_colon_are_no_pairs() -> None:
    (run,) = read_recommendations(csv("user_id,recs", ("1", "film:7|film:9"), ("2", "film:9|film:7")))
    items = [row["item_id"] for batch in run.batches() for row in batch.to_pylist()]
    assert items == ["film:7", "film:9", "film:9", "film:7"]


@pytest.mark.parametrize(("kind", "value"), [("truth", "relevance"), ("train", "rating")])
def test_pairs_of_a_truth_are_items_with_their_relevance(kind: Any, value: str) -> None:
    table = read_upload(kind, csv("user_id,items", ("1", "[('a', 5), ('b', 3)]"))).table
    assert table.column_names == ["user_id", "item_id", value]
    assert table[value].to_pylist() == [5.0, 3.0]


def test_pairs_in_a_column_per_model_keep_the_scores_of_their_model() -> None:
    table = pa.table({"user_id": ["1"], "als": ["[('a', 1), ('b', 2)]"], "ease": ["[('c', 3), ('d', 4)]"]})
    scores = {
        run.name: [row["score"] for batch in run.batches() for row in batch.to_pylist()]
        for run in read_recommendations(table)
    }
    assert scores == {"als": [1.0, 2.0], "ease": [3.0, 4.0]}


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (
            "[('a', 1, 2)]",
            "row 1: a cell that cannot be read as pairs of item and score (3 values",
        ),
        ("[('a', 1), 'b']", "'b' is not a pair"),
        ("[('a', 1)", "a bracket that is not closed"),
        ("[(('a', 'b'), 1)]", "a pair has 2"),
        ("[{'name': 'a', 'year': 1}]", "fields name, year, not one item and one score"),
        ("[" * 50 + "]" * 50, "not closed, or nested too deeply"),
        ("{'a', 'b'}", "column 'recs': the cells hold sets, and a set has no order"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_column(cell: str, said: str) -> None:
    assert said in refused(pa.table({"user_id": ["1"], "recs": [cell]}))


def test_pairs_behind_plain_lists_are_refused_with_their_row() -> None:
    cells = ["[a, b]"] * 60 + ["[('a', 1)]"]
    said = refused(pa.table({"user_id": list(range(61)), "items": cells}))
    assert "row 61: pairs, records or a set where the first rows hold lists" in said


def test_the_members_of_a_set_are_items_of_a_truth() -> None:
    rows = read_upload("truth", csv("user_id,items", ("1", "{'a', 'b'}"))).table.to_pylist()
    assert [row["item_id"] for row in rows] == ["a", "b"]


def test_sets_in_a_frame_are_no_lists_of_recommendations() -> None:
    frame = pd.DataFrame({"user_id": [1, 2], "recs": [{"a", "b"}, {"c"}]})
    assert "column 'recs': the cells hold sets" in refused(frame)
    assert read_upload("truth", frame.rename(columns={"recs": "items"})).table.num_rows == 3


def test_arrays_that_numpy_prints_are_lists() -> None:
    table = pa.table({"user_id": [1, 2], "recs": ["array([1, 2, 3], dtype=int64)", "array([2, 3])"]})
    (run,) = read_recommendations(table)
    assert lists_of(run) == [("1", "1"), ("1", "2"), ("1", "3"), ("2", "2"), ("2", "3")]


@pytest.mark.parametrize("value", ["rank", "score"])
def test_a_row_with_a_rank_or_score_of_its_own_has_one_item(value: str) -> None:
    (run,) = read_recommendations(csv(f"user_id,item_id,{value}", ("1", "a,b", "1"), ("2", "c,d", "1")))
    assert lists_of(run) == [("1", "a,b"), ("2", "c,d")]


@pytest.mark.parametrize("said", [{}, {"item_id": "movie"}])
def test_titles_with_a_comma_are_asked_about(said: dict[str, str]) -> None:
    table = csv("user_id,movie", ("1", "Matrix, The"), ("2", "Game, The"))
    assert "item_id=movie[1]" in refused(table, mapping=said)


def test_brackets_and_blanks_inside_a_name_stay() -> None:
    table = csv("user_id,recs", ("1", "[Heat (1995), Alien (1979)]"), ("2", "[Heat (1995)]"))
    (run,) = read_recommendations(table)
    assert lists_of(run) == [("1", "Heat (1995)"), ("1", "Alien (1979)"), ("2", "Heat (1995)")]


@pytest.mark.parametrize("title", ["{Proof}", "[[REC]]", "(500) Days"])
def test_a_title_in_brackets_among_others_is_a_title(title: str) -> None:
    (run,) = read_recommendations(csv("user_id,item_id", ("1", title), ("1", "Heat")))
    assert lists_of(run) == [("1", title), ("1", "Heat")]


@pytest.mark.parametrize("pairs", ['[["a", 0.5], ["b", 0.75]]', "[[7, 0.5], [8, 0.75]]"])
def test_pairs_in_json_rows_are_items_with_their_scores(pairs: str) -> None:
    (run,) = read_recommendations(f'{{"user": "1", "recs": {pairs}}}\n{{"user": "2", "recs": []}}\n'.encode())
    rows = [tuple(row.values()) for batch in run.batches() for row in batch.to_pylist()]
    first, second = ("a", "b") if "a" in pairs else ("7", "8")
    assert rows == [("1", first, 0.5), ("1", second, 0.75)]


def test_a_model_without_scores_beside_one_with_pairs_keeps_its_order() -> None:
    table = csv("user_id,als,ease", ("1", "[(1, 0.5), (2, 0.75)]", "[2, 3]"))
    als, ease = read_recommendations(table)
    assert (als.has_score, ease.has_score, lists_of(ease)) == (True, False, [("1", "2"), ("1", "3")])


def test_sets_in_a_dict_of_columns_are_no_lists_of_recommendations() -> None:
    assert "column 'item_id': the cells hold sets" in refused({"user_id": [1], "item_id": [{"a", "b"}]})


GUIDS = [f"{{{n:08X}-0A1B-4C2D-8E3F-001122334455}}" for n in range(4)]


def test_ids_in_braces_are_ids_and_no_sets() -> None:
    """Microsoft's products write GUIDs so."""
    rows = [(user, item) for user in GUIDS[:2] for item in GUIDS[2:]]
    (run,) = read_recommendations(csv("user_id,item_id", *rows))
    assert lists_of(run) == rows
    (run,) = read_recommendations(csv("user_id,recs", *((u, f"[{', '.join(GUIDS[2:])}]") for u in GUIDS[:2])))
    assert lists_of(run) == rows
