"""What the values of a run say about its columns: told, asked, or refused; never guessed in silence."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from recdash.domain.inputs import Recommendations
from recdash.errors import UploadError
from recdash.ingest import preview, read_recommendations


def runs_of(source: Any, **options: Any) -> list[Recommendations]:
    return read_recommendations(source, **options)


def rows_of(run: Recommendations) -> list[dict[str, Any]]:
    return [row for batch in run.batches() for row in batch.to_pylist()]


def lists_of(run: Recommendations) -> list[tuple[str, str]]:
    return [(str(row["user_id"]), str(row["item_id"])) for row in rows_of(run)]


def codes(run: Recommendations) -> set[str]:
    return {notice.code for notice in run.notices}


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(UploadError) as refusal:
        [rows_of(run) for run in read_recommendations(source, **options)]
    return str(refusal.value)


# ── rows without a header line ───────────────────────────────────────────────────────────────

EITHER = b"1,101,102,103\n2,104,101,105\n3,106,107,108\n"
WIDE = [("1", "101"), ("1", "102"), ("1", "103"), ("2", "104"), ("2", "101"), ("2", "105")]


def test_rows_that_may_be_lists_or_scores_are_not_guessed() -> None:
    said = refused(EITHER)
    assert "user, item, rank, score in one row per item; or a user and the list of 3 items" in said
    assert "item_id=column 2,score=column 3 for one row per item" in said
    assert "item_id=column 2..column 4 for one list per row" in said


@pytest.mark.parametrize("label", ["column 2 … column 4", "column 2..column 4", "column 2 ... column 4"])
def test_such_rows_are_lists_for_who_says_so(label: str) -> None:
    (run,) = runs_of(EITHER, mapping={"item_id": label})
    assert lists_of(run)[:6] == WIDE


def test_such_rows_are_scores_for_who_says_so() -> None:
    (run,) = runs_of(EITHER, mapping={"item_id": "column 2", "score": "column 3"})
    assert rows_of(run)[0] == {"user_id": "1", "item_id": "101", "score": 102.0}


@pytest.mark.parametrize(
    "rows",
    [
        b"1,101,102,103,104\n2,104,101,105,103\n",  # five columns are no user, item, rank and score
        b"1,m101,m102\n2,m104,m101\n",  # words are no scores
    ],
)
def test_rows_that_can_only_be_lists_are_read_as_lists(rows: bytes) -> None:
    (run,) = runs_of(rows)
    expected = [(u, item) for u, *items in (r.split(",") for r in rows.decode().split()) for item in items]
    assert lists_of(run) == expected
    assert "wide-table" in codes(run)


@pytest.mark.parametrize(
    "rows",
    [
        b"1,101,5\n1,102,4\n2,101,3\n",  # a user has several rows
        b"1,101,0.5\n2,104,0.25\n",  # half of an id is none
        b"1,7,7\n2,9,9\n3,8,4\n",  # a list does not hold an item twice
    ],
)
def test_rows_that_cannot_be_lists_are_read_as_scores(rows: bytes) -> None:
    (run,) = runs_of(rows)
    assert [list(row) for row in rows_of(run)] == [["user_id", "item_id", "score"]] * rows.count(b"\n")


def test_the_page_leaves_the_items_of_such_rows_open() -> None:
    result = preview("run", EITHER)
    assert result.mapping == {"user_id": "column 1"}
    assert "column 2 … column 4" in result.columns
    assert [problem.code for problem in result.problems] == ["ambiguous-rows"]
    chosen = preview("run", EITHER, mapping={**result.mapping, "item_id": "column 2 … column 4"})
    assert chosen.problems == ()


@pytest.mark.parametrize("kind", ["sessions", "bandit", "policy", "exposures", "served", "aggregates"])
def test_a_log_without_a_header_line_is_refused_by_its_missing_columns(kind: Any) -> None:
    result = preview(kind, b"7,8,9\n10,11,12\n")
    assert {problem.code for problem in result.problems} == {"missing-column"}


# ── lists under any name, one column per model, one object per model ─────────────────────────


@pytest.mark.parametrize("cells", [("[101, 102]", "[104]"), ("101|102", "104|7"), ("101 102", "104 7")])
def test_lists_may_stand_in_a_column_of_any_name(cells: tuple[str, str]) -> None:
    table = pa.table({"user": ["1", "2"], "what we showed": list(cells)})
    (run,) = runs_of(table)
    assert lists_of(run)[:2] == [("1", "101"), ("1", "102")]
    assert run.mapping["item_id"] == "what we showed"


def test_titles_with_blanks_are_no_lists() -> None:
    said = refused(pa.table({"user": ["1", "2"], "favourite": ["Star Wars", "The Third Man"]}))
    assert "no item column" in said


@pytest.mark.parametrize("form", ["lists", "text"])
def test_each_column_of_lists_is_a_candidate(form: str) -> None:
    columns: dict[str, Any] = {
        "als": [["a", "b"], ["c"]],
        "ease": [["b"], ["c", "a"]],
        "actual": [["a"], ["c"]],
    }
    if form == "text":
        columns = {name: [str(items) for items in lists] for name, lists in columns.items()}
    runs = runs_of(pa.table({"user_id": [1, 2], **columns}))
    assert {run.name: lists_of(run) for run in runs} == {
        "als": [("1", "a"), ("1", "b"), ("2", "c")],
        "ease": [("1", "b"), ("2", "c"), ("2", "a")],
    }
    assert {"several-lists", "held-out-column"} <= codes(runs[0])


def test_the_page_leaves_the_items_open_where_each_column_of_lists_is_a_candidate() -> None:
    table = pa.table({"user_id": [1, 2], "als": [["a"], ["c"]], "ease": [["b"], ["d"]]})
    result = preview("run", table)
    assert (result.mapping, result.problems) == ({"user_id": "user_id"}, ())
    renamed = read_recommendations(table, name="new", mapping={"user_id": "user_id", "item_id": ""})
    assert [run.name for run in renamed] == ["new: als", "new: ease"]


def test_one_of_the_columns_of_lists_can_be_chosen() -> None:
    table = pa.table({"user_id": [1, 2], "als": [["a"], ["c"]], "ease": [["b"], ["d"]]})
    (run,) = runs_of(table, mapping={"item_id": "ease"})
    assert lists_of(run) == [("1", "b"), ("2", "d")]


@pytest.mark.parametrize(
    "lists", [{"1": ["a", "b"], "2": ["c"]}, {"1": {"a": 2.0, "b": 1.0}, "2": {"c": 1.0}}]
)
def test_json_by_model_and_user_gives_a_candidate_per_model(lists: Any) -> None:
    document = {"als": lists, "ease": dict(reversed(lists.items()))}
    runs = runs_of(json.dumps(document).encode())
    assert [run.name for run in runs] == ["als", "ease"]
    assert lists_of(runs[0]) == [("1", "a"), ("1", "b"), ("2", "c")]
    assert lists_of(runs[1]) == [("2", "c"), ("1", "a"), ("1", "b")]
    assert runs[0].has_score == isinstance(lists["1"], dict)


def test_lists_in_the_cells_of_a_wide_table_are_no_items() -> None:
    said = refused(b'user_id,rec_1,rec_2\n1,"[101, 102]","[7, 8]"\n2,"[104, 105]","[9, 4]"\n')
    assert "read as one item per cell, but the cells hold lists" in said
    assert "column 'rec_1'" in said


# ── which column orders the lists, and which way ─────────────────────────────────────────────

DOWN = b"user_id,item_id,rank\n" + b"".join(
    b"%d,a,3\n%d,b,2\n%d,c,1\n" % (user, user, user) for user in range(1, 6)
)
"""Ten neighbouring places, and all run down."""


def test_ranks_that_run_down_are_asked_about() -> None:
    said = refused(DOWN)
    assert "column 'rank': the ranks descend in every list" in said
    assert "rank=rank (or --order rank) if 1 is the best, score=rank if the largest is" in said


def test_ranks_that_run_down_are_ranks_or_scores_as_is_said() -> None:
    (as_rank,) = runs_of(DOWN, mapping={"rank": "rank"})
    (by_order,) = runs_of(DOWN, order="rank")
    (as_score,) = runs_of(DOWN, mapping={"score": "rank"})
    (stored,) = runs_of(DOWN, checked=True)
    assert [run.has_rank for run in (as_rank, by_order, stored)] == [True] * 3
    assert (as_score.has_rank, rows_of(as_score)[0]["score"]) == (False, 3.0)


def test_a_page_leaves_such_ranks_open_and_takes_either_choice() -> None:
    result = preview("run", DOWN)
    assert result.mapping is not None
    assert "rank" not in result.mapping
    for role in ("rank", "score"):
        assert preview("run", DOWN, mapping={**result.mapping, role: "rank"}).problems == ()


def test_ranks_that_rise_or_are_shuffled_are_not_asked_about() -> None:
    few = b"1,a,2\n1,b,1\n2,a,2\n2,b,1\n3,a,2\n3,b,1\n"  # three of three: rows in any order may do so
    for rows in (b"1,a,1\n1,b,2\n1,c,3\n1,d,4\n", b"1,a,3\n1,b,1\n1,c,4\n1,d,2\n", few):
        (run,) = runs_of(b"user_id,item_id,rank\n" + rows)
        assert "descending-ranks" not in codes(run)


def ranked(*lists: list[int], column: str = "rank") -> bytes:
    rows = [f"{user},i{place},{rank}" for user, ranks in enumerate(lists) for place, rank in enumerate(ranks)]
    return "\n".join([f"user_id,item_id,{column}", *rows, ""]).encode()


@pytest.mark.parametrize(
    "lists",
    [
        ([20, 19], [20, 19], [20, 19]),  # few rows, but no list begins at 1
        ([19, 20, 18], [18, 20, 19], [20, 18]),  # rows in any order
        ([5, 4, 3, 2, 1], [4, 3, 2, 1]),  # so long lists run down by chance once in 5! · 4! files
    ],
)
def test_ranks_of_which_the_largest_may_be_the_best_are_asked_about(lists: tuple[list[int], ...]) -> None:
    said = refused(ranked(*lists))
    assert "the largest rank is the best" in said
    assert "score=rank if the largest is" in said
    (run,) = runs_of(ranked(*lists), order="rank")
    assert run.has_rank


@pytest.mark.parametrize(
    "lists",
    [
        ([3, 1, 2], [2, 1]),
        ([2, 3, 4], [3, 5, 4]),  # items that were bought before are left out, and lists end anywhere
        ([1, 5, 9], [2, 4, 9], [1, 2]),
        ([7], [7], [7]),
        ([2, 3, 4], [2, 3, 4], [2, 3, 4]),  # the nearest neighbour of an item is itself, and is left out
    ],
)
def test_ranks_with_gaps_or_in_any_order_are_ranks(lists: tuple[list[int], ...]) -> None:
    (run,) = runs_of(ranked(*lists))
    assert (run.has_rank, codes(run)) == (True, set())


def test_a_few_short_lists_whose_ranks_run_down_are_told() -> None:
    (run,) = runs_of(ranked([2, 1], [2, 1], [2, 1]))
    (notice,) = [notice for notice in run.notices if notice.code == "ranks-run-down"]
    assert "score=rank" in notice.fix
    assert run.has_rank


def test_equal_ranks_of_several_seeds_run_neither_up_nor_down() -> None:
    rows = [f"u{user},i{seed},1,{seed}\n" for seed in (1, 2, 3) for user in range(20)]
    seeds = runs_of(("user_id,item_id,rank,seed\n" + "".join(rows)).encode())
    assert [codes(run) & {"descending-ranks", "ranks-run-down"} for run in seeds] == [set()] * 3


@pytest.mark.parametrize("lists", [([1, 2, 3], [1, 2]), ([0, 1, 2], [0, 1]), ([3, 1, 2], [2, 1])])
def test_a_score_that_counts_places_is_asked_about(lists: tuple[list[int], ...]) -> None:
    table = ranked(*lists, column="score")
    said = refused(table)
    assert "column 'score': counts 1 to n in each list, as ranks do: the smallest may be the best" in said
    assert "rank=score (or --order rank) if 1 is the best, score=score (or --order score)" in said
    for chosen in ({"mapping": {"rank": "score"}}, {"order": "rank"}):
        (as_rank,) = runs_of(table, **chosen)
        ranks = [row["rank"] - 1 for row in rows_of(as_rank)]
        assert ranks == [rank - min(map(min, lists)) for ranks in lists for rank in ranks]
        assert not as_rank.has_score
    for chosen in ({"mapping": {"score": "score"}}, {"order": "score"}, {"checked": True}):
        (as_score,) = runs_of(table, **chosen)
        assert (as_score.has_score, as_score.has_rank) == (True, False)


@pytest.mark.parametrize(
    "lists",
    [
        ([3, 2, 1], [2, 1]),  # the largest is in the first row: both readings agree
        ([5, 3, 4], [4, 5, 2], [1, 2, 3]),  # ratings
        ([1, 1, 2], [1, 2, 2]),
        ([1, 2], [3]),  # too few to say
        (*[[1]] * 30, [1, 3], [1, 4], [2, 4]),  # a single 1 is no place
    ],
)
def test_other_whole_scores_are_scores(lists: tuple[list[int], ...]) -> None:
    (run,) = runs_of(ranked(*lists, column="score"))
    assert (run.has_score, codes(run)) == (True, set())


@pytest.mark.parametrize("column", ["model", "seed"])
def test_several_lists_of_a_user_are_looked_at_one_by_one(column: str) -> None:
    """The scores of 1 are a hundred times those of 2, and a user has a list of each."""

    def table(head: str, row: str) -> bytes:
        rows = [
            row.format(rank=rank, up=10 - rank, score=(0.9 - rank / 10) * scale, user=user, label=label)
            for label, scale in (("1", 100), ("2", 1))
            for user in "uvw"
            for rank in (1, 2, 3, 4)
        ]
        return "\n".join([f"{column},user_id,item_id,{head}", *rows, ""]).encode()

    for head in ("rank,score", "score,prediction"):
        last = "{rank}" if head.startswith("rank") else "{up}"
        result = runs_of(table(head, "{label},{user},i{rank}," + last + ",{score}"))
        assert [codes(run) & {"rank-against-score"} for run in result] == [set()] * 2
    said = refused(table("score", "{label},{user},i{rank},{rank}"))
    assert "counts 1 to n in each list" in said


def scored(pairs: list[tuple[int, float]]) -> pa.Table:
    rank, score = zip(*pairs, strict=True)
    return pa.table({"user_id": [1] * len(pairs), "item_id": list("abcdefgh"[: len(pairs)]), "rank": rank,
                     "score": score})  # fmt: skip


def test_ranks_against_the_scores_are_asked_about() -> None:
    table = scored([(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)])
    said = refused(table)
    assert "column 'rank': contradicts 'score'" in said
    for mapping in ({"rank": "rank"}, {"rank": ""}, {"score": "-score"}):
        assert runs_of(table, mapping=mapping)
    assert runs_of(table, order="score")[0].has_score


def test_a_few_places_where_rank_and_score_disagree_are_counted() -> None:
    (run,) = runs_of(scored([(1, 0.9), (2, 0.8), (3, 0.85), (4, 0.2)]))
    (notice,) = [notice for notice in run.notices if notice.code == "rank-against-score"]
    assert "'rank' and 'score' disagree at 1 of the first 3 neighbouring rows" in notice.found
    assert "--order score" in notice.fix


def test_ranks_from_zero_are_ranks_and_that_is_said() -> None:
    (run,) = runs_of(b"user_id,item_id,rank\n1,a,0\n1,b,1\n2,a,0\n")
    assert [row["rank"] for row in rows_of(run)] == [1, 2, 1]
    assert "ranks-from-zero" in codes(run)


def test_a_column_of_zeros_is_no_rank() -> None:
    assert "'0' is not a rank" in refused(b"user_id,item_id,rank\n1,a,0\n1,b,0\n")


@pytest.mark.parametrize("name", ["distance", "L2_distance", "loss", "cosineDist"])
def test_of_a_distance_the_least_is_the_best_and_that_is_said(name: str) -> None:
    (run,) = runs_of(f"user_id,item_id,{name}\n1,a,0.5\n1,b,0.1\n2,a,0.7\n".encode())
    assert [row["score"] for row in rows_of(run)] == [-0.5, -0.1, -0.7]
    assert run.mapping["score"] == f"-{name}"
    (notice,) = [notice for notice in run.notices if notice.code == "distance"]
    assert notice.place == f"column '{name}'"
    assert f"score={name} if the highest is the best, score=-{name} if the smallest is" in notice.fix


def test_a_distance_that_falls_along_the_lists_is_asked_about() -> None:
    rows = b"user_id,item_id,distance\n1,a,0.9\n1,b,0.8\n1,c,0.7\n1,d,0.6\n"
    assert "it decreases along each list" in refused(rows)
    for column, sign in (("distance", 1), ("-distance", -1)):
        (run,) = runs_of(rows, mapping={"score": column})
        assert rows_of(run)[0]["score"] == pytest.approx(sign * 0.9)


def test_a_distance_below_zero_is_asked_about() -> None:
    rows = "user_id,item_id,{}\n1,a,-0.1\n1,b,-0.3\n1,c,-0.2\n2,d,-0.4\n"
    said = refused(rows.format("distance").encode())
    assert "mostly below 0, as no distance is" in said
    assert "score=distance if the highest is the best, score=-distance if the smallest is" in said
    (energy,) = runs_of(rows.format("energy").encode())
    (rounded,) = runs_of(b"user_id,item_id,distance\n1,a,-1e-9\n1,b,0.3\n1,c,0.2\n")
    for run, mapped in ((energy, "-energy"), (rounded, "-distance")):
        assert run.mapping["score"] == mapped


def test_the_page_offers_the_least_score_as_the_best_one() -> None:
    result = preview("run", b"user_id,item_id,distance,shelf\n1,a,0.9,x\n1,b,0.8,y\n1,c,0.7,z\n1,d,0.6,x\n")
    assert (result.reversible, len(result.problems)) == (("-distance",), 1)
    chosen = preview("run", b"user_id,item_id,distance\n1,a,0.5\n", mapping={"score": "-distance"})
    assert chosen.mapping is not None
    assert chosen.mapping["score"] == "-distance"


def test_an_item_without_a_distance_goes_last() -> None:
    (run,) = runs_of(b"user_id,item_id,distance\n1,a,\n1,b,0.1\n1,c,inf\n")
    assert [row["score"] for row in rows_of(run)] == [float("-inf"), -0.1, float("-inf")]


def test_two_scores_that_differ_are_asked_about() -> None:
    rows = b"user_id,item_id,score,prediction\n1,a,-0.4,0.4\n1,b,-0.3,0.3\n"
    assert "'score' and 'prediction' may both be the score" in refused(rows)
    for column, first in (("score", -0.4), ("prediction", 0.4)):
        (run,) = runs_of(rows, mapping={"score": column})
        assert rows_of(run)[0]["score"] == first


def test_two_scores_that_order_alike_are_told() -> None:
    (run,) = runs_of(b"user_id,item_id,score,prediction\n1,a,0.4,4\n1,b,0.3,3\n")
    (notice,) = [notice for notice in run.notices if notice.code == "two-scores"]
    assert notice.place == "column 'score'"
    assert "score=prediction" in notice.fix


def test_a_rating_beside_a_prediction_is_no_second_score() -> None:
    (run,) = runs_of(b"user_id,item_id,rating,prediction\n1,a,2,0.4\n1,b,5,0.3\n")
    assert run.mapping["score"] == "prediction"
    assert "two-scores" not in codes(run)


def test_a_trec_run_may_lack_the_tag() -> None:
    (run,) = runs_of(b"1 Q0 a 1 0.9\n1 Q0 b 2 0.8\n2 Q0 c 1 0.5\n")
    assert lists_of(run) == [("1", "a"), ("1", "b"), ("2", "c")]
    assert run.is_trec
    assert {"trec", "trec-without-tag"} <= codes(run)


@pytest.mark.parametrize(("file", "outcome"), [("two.csv", "two-scores"), ("rdesc.csv", "descending-ranks")])
def test_real_lists_in_another_order_than_meant_are_refused(
    shared_data: Path, file: str, outcome: str
) -> None:
    with pytest.raises(UploadError) as refusal:
        read_recommendations(shared_data / "hostile" / file)
    assert [problem.code for problem in refusal.value.problems] == [outcome]


# ── scores under other names, one column per model ───────────────────────────────────────────

BY_MODEL = b"user_id,item_id,%s,%s\n1,a,0.1,0.9\n1,b,0.2,0.8\n2,c,0.5,0.5\n"


def test_scores_of_several_models_are_asked_about() -> None:
    names = ("als_score", "ease_score")
    table = BY_MODEL % tuple(name.encode() for name in names)
    said = refused(table)
    assert "als_score,ease_score" in preview("run", table).columns
    assert f"no column is called score or rank, and {names[0]}, {names[1]} may hold scores" in said
    assert (
        f"score={names[0]} to order by it, score={names[0]},{names[1]} for one candidate per column" in said
    )
    both = runs_of(table, mapping={"score": ",".join(names)})
    assert {run.name: [row["score"] for row in rows_of(run)] for run in both} == {
        names[0]: [0.1, 0.2, 0.5],
        names[1]: [0.9, 0.8, 0.5],
    }
    for chosen in ({"mapping": {"score": ""}}, {"order": "file"}):
        (by_file,) = runs_of(table, **chosen)
        assert not by_file.has_score
        assert "file-order" in codes(by_file)


def test_numbers_that_may_be_scores_of_models_are_told() -> None:
    table = BY_MODEL % (b"als", b"ease")
    (by_file,) = runs_of(table)
    (notice,) = [notice for notice in by_file.notices if notice.code == "unread-scores"]
    assert notice.found == "the lists are in file order; als, ease hold numbers that are not read"
    assert [run.name for run in runs_of(table, mapping={"score": "als,ease"})] == ["als", "ease"]


def shuffled(*names: str, users: int = 6, items: int = 8) -> bytes:
    """Returns a run whose rows are in random order, with decimals that differ from row to row; a price, a
    grade and a date belong to an item, or have few values.
    """
    draw = random.Random(7)
    rows = [(f"u{user}", f"i{item}", item) for user in range(users) for item in range(items)]
    draw.shuffle(rows)
    lines = [
        f"{user},{item},{1.5 * price},{draw.randint(1, 3)},2026-09-{1 + price:02d},"
        + ",".join(f"{draw.random():.4f}" for _ in names)
        for user, item, price in rows
    ]
    return "\n".join([f"user_id,item_id,preis,sterne,tag,{','.join(names)}", *lines]).encode()


def test_shuffled_rows_are_refused_with_the_names_of_all_unknown_numbers() -> None:
    said = refused(shuffled("punkte"))
    assert "neither together nor in order of their positions" in said
    assert "preis, sterne, punkte may hold the scores or ranks" in said
    assert "score=preis or rank=preis to order by it" in said
    assert "score= for file order" in said
    for chosen in ({"mapping": {"score": ""}}, {"order": "file"}):
        (by_file,) = runs_of(shuffled("punkte"), **chosen)
        assert (by_file.has_score, "file-order" in codes(by_file)) == (False, True)
    (by_score,) = runs_of(shuffled("punkte"), mapping={"score": "punkte"})
    assert by_score.has_score


def test_decimal_commas_are_numbers_too() -> None:
    assert "punkte may hold" in refused(shuffled("punkte").replace(b",", b";").replace(b".", b","))


def test_shuffled_rows_without_unknown_numbers_stay_in_file_order_with_a_notice() -> None:
    lines = [b",".join(line.split(b",")[:2]) for line in shuffled("punkte").split(b"\n")]
    (run,) = runs_of(b"\n".join(lines))
    assert (run.has_score, "file-order" in codes(run)) == (False, True)


def test_rows_of_a_list_together_stay_in_file_order() -> None:
    by_user = sorted(shuffled("punkte").decode().split("\n")[1:])
    (run,) = runs_of(b"user_id,item_id,preis,sterne,tag,punkte\n" + "\n".join(by_user).encode())
    assert not run.has_score


@pytest.mark.parametrize("name", ["latency_ms", "preis", "km", "computed_at"])
def test_rows_position_by_position_stay_in_file_order_whatever_numbers_stand_beside(name: str) -> None:
    draw = random.Random(1)
    lists = {f"u{user}": draw.sample(range(50), 10) for user in range(60)}
    rows = [(user, items[place]) for place in range(10) for user, items in lists.items()]
    values = [
        f"{1.7e9 + n * draw.random():.3f}" if name == "computed_at" else f"{draw.random():.2f}"
        for n in range(600)
    ]
    lines = [f"{user},i{item},{value}" for (user, item), value in zip(rows, values, strict=True)]
    (run,) = runs_of("\n".join([f"user_id,item_id,{name}", *lines]).encode())
    assert (run.has_score, "file-order" in codes(run)) == (False, True)
    assert [item for user, item in lists_of(run) if user == "u0"] == [f"i{item}" for item in lists["u0"]]


@pytest.mark.parametrize("values", ["grades", "places", "times"])
def test_numbers_of_another_kind_never_order_shuffled_rows(values: str) -> None:
    draw = random.Random(2)
    rows = [(user, place) for user in range(40) for place in range(5)]
    draw.shuffle(rows)
    written = {
        "grades": lambda _: f"{draw.randint(1, 10) / 2}",
        "places": lambda place: f"{place / 10}",
        "times": lambda _: f"{1.7e9 + draw.random():.3f}",
    }[values]
    lines = [f"u{user},i{(user + place) % 30},{written(place)}" for user, place in rows]
    assert "sterne2 may hold" in refused("\n".join(["user_id,item_id,sterne2", *lines]).encode())


def test_one_score_under_a_longer_name_is_asked_about() -> None:
    table = b"user_id,item_id,als_score\n1,a,0.1\n1,b,0.2\n"
    assert "score=als_score to order by it, score= for file order" in refused(table)
    (run,) = runs_of(table, mapping={"score": "als_score"})
    assert run.has_score


@pytest.mark.parametrize("name", ["confidence", "affinity"])
def test_other_words_for_a_score_order_the_lists(name: str) -> None:
    (run,) = runs_of(f"user_id,item_id,{name}\n1,a,0.1\n1,b,0.2\n".encode())
    assert (run.has_score, codes(run)) == (True, {"columns-guessed"})


def test_another_number_beside_the_items_is_no_score() -> None:
    (run,) = runs_of(b"user_id,item_id,price,year\n1,a,9.99,1999\n1,b,5.5,2004\n")
    assert codes(run) == {"file-order"}
