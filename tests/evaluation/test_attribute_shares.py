"""What runs show of the catalogue by an attribute, on lists counted by hand; from Python and a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import recdash
from recdash.cli import main
from recdash.domain.records import Experiment
from recdash.errors import InputError, UnknownName
from recdash.evaluation import Evaluation
from recdash.evaluation.binning import equal_tops, round_tops
from recdash.service import Workspace

TRUTH = {"u": ["a"], "v": ["b"]}
LISTS = {"u": ["a", "b"], "v": ["a", "x"]}
"""Within 2 places: a twice, b once, and x, which is not in the catalogue, once."""
POPULAR = {"u": ["a"], "v": ["a"]}
CATALOGUE = pd.DataFrame(
    {
        "item_id": ["a", "b", "c", "d"],
        "title": ["A", "B", "C", "D"],
        "genres": ["Crime|Drama", "Drama", "Comedy|Drama", None],
        "year": [1994, 2001, 2001, None],
        "imdb": ["tt1", "tt2", "tt3", "tt4"],
    }
)


def evaluated(catalogue: Any = CATALOGUE, **runs: Any) -> Evaluation:
    return recdash.evaluate(runs or {"als": LISTS}, TRUTH, metrics="recall@2", depth=2, catalogue=catalogue)


def rows(frame: pd.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return list(frame[list(columns)].itertuples(index=False, name=None))


# ── the numbers ──────────────────────────────────────────────────────────────────────────────


def test_places_and_items_count_in_each_of_an_items_values() -> None:
    result = evaluated().shown_by("genres", 2)
    assert rows(result, "value", "places", "share", "items", "catalogue_share") == [
        ("Drama", 3, 3 / 4, 3, 3 / 4),
        ("Comedy", 0, 0.0, 1, 1 / 4),
        ("Crime", 2, 2 / 4, 1, 1 / 4),
        ("(none)", 1, 1 / 4, 1, 1 / 4),
    ]
    assert rows(result, "run", "attribute", "k")[0] == ("als", "genres", 2)


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1994.0, "1994"),
        (1e10, "10000000000"),
        (-(2.0**62), "-4611686018427387904"),
        (1e19, "1e+19"),
        (-1e300, "-1e+300"),
        (2.5, "2.5"),
        (-0.0, "0"),
        (float("inf"), "(none)"),
    ],
)
@pytest.mark.parametrize("beside", [3.0, 0.5])
def test_a_number_is_written_as_such_whatever_stands_beside_it(
    number: float, written: str, beside: float
) -> None:
    items = pd.DataFrame({"item_id": ["a", "b"], "size": [number, beside]})
    result = evaluated(items).shown_by("size", 1)
    assert rows(result[result["places"] > 0], "value", "places") == [(written, 2)]


@pytest.mark.parametrize("word", ["", " ", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT"])
def test_what_libraries_write_for_nothing_is_no_value_of_an_attribute(word: str) -> None:
    genres = ["Crime", f"Crime|{word}", word, f"{word};{word}"]
    result = evaluated(CATALOGUE.assign(genres=genres)).shown_by("genres", 2)
    assert rows(result, "value", "items") == [("Crime", 2), ("(none)", 2)]


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA])
def test_nothing_in_a_list_of_values_is_no_value(nothing: Any) -> None:
    genres = [["Crime", nothing], ["Crime"], [nothing], []]
    result = evaluated(CATALOGUE.assign(genres=genres)).shown_by("genres", 2)
    assert rows(result, "value", "items") == [("Crime", 2), ("(none)", 2)]


def test_only_the_first_k_places_count() -> None:
    result = evaluated().shown_by("genres", 1)
    assert rows(result, "value", "places")[0] == ("Drama", 2)


def test_numbers_ascend() -> None:
    result = evaluated().shown_by("year", 2)
    assert rows(result, "value", "places", "items") == [("1994", 2, 1), ("2001", 1, 2), ("(none)", 1, 1)]


def test_shown_values_are_those_that_coverage_by_counts() -> None:
    evaluation = recdash.evaluate(
        {"als": LISTS}, TRUTH, metrics="coverage_by(attribute=genres)@2", catalogue=CATALOGUE
    )
    by_genre = evaluation.shown_by("genres", 2)
    assert by_genre["values_shown"].sum() / by_genre["values"].sum() == 2 / 3
    assert evaluation.table()["value"].tolist() == [pytest.approx(2 / 3)]


def of_years(years: list[Any], shown: int = 0) -> pd.DataFrame:
    """A catalogue with these years; one list of the item at ``shown``."""
    items = [f"i{place:03}" for place in range(len(years))]
    catalogue = pd.DataFrame({"item_id": items, "year": years})
    truth = {"u": [items[0]]}
    evaluation = recdash.evaluate(
        {"als": {"u": [items[shown]]}}, truth, metrics="recall@1", depth=1, catalogue=catalogue
    )
    return evaluation.shown_by("year", 1)


def test_many_years_are_shown_as_decades() -> None:
    result = of_years(list(range(1898, 2015)), shown=92)  # 1990
    assert rows(result, "value", "items", "values", "values_shown") == [
        ("1898–1899", 2, 2, 0),
        *((f"{year}–{year + 9}", 10, 10, int(year == 1990)) for year in range(1900, 2010, 10)),
        ("2010–2014", 5, 5, 0),
        ("(none)", 0, 0, 0),
    ]


def test_a_year_stays_alone_where_there_are_few() -> None:
    assert rows(of_years(list(range(1990, 2015))), "value")[:2] == [("1990",), ("1991",)]


def test_where_round_bands_would_hide_most_of_the_catalogue_bands_weigh_alike() -> None:
    """Prices 1 to 40 and one of a million: in bands of a round width all but one would be together."""
    result = of_years([*range(1, 41), 1_000_000])
    assert result["items"].max() <= 4
    assert rows(result, "value")[-2][0].endswith("1000000")


def test_what_is_no_finite_number_is_no_value() -> None:
    result = of_years([1990.5, float("nan"), float("inf"), 1992.0])
    assert rows(result, "value", "items") == [("1990.5", 1), ("1992", 1), ("(none)", 2)]


def test_bands_of_a_round_width_are_not_more_than_asked_for() -> None:
    years = np.arange(1894.0, 2015.0)
    assert round_tops(years, 15).tolist() == [*range(1899, 2010, 10), 2014]
    assert len(round_tops(np.linspace(0, 1, 1000), 15)) <= 15


def test_bands_of_equal_weight_leave_a_heavy_number_alone() -> None:
    assert equal_tops(np.array([1.0, 2, 3, 4]), np.array([1, 1, 8, 1]), 2).tolist() == [2, 3, 4]


# ── what cannot be asked ─────────────────────────────────────────────────────────────────────


def test_without_a_catalogue_there_is_nothing_to_show() -> None:
    with pytest.raises(InputError, match="there is no catalogue"):
        evaluated(catalogue=None).shown_by("genres", 2)


def test_an_attribute_that_the_catalogue_lacks_names_what_there_is() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'genres'"):
        evaluated().shown_by("genre", 2)


def test_a_column_without_values_says_so() -> None:
    empty = CATALOGUE.assign(genres="")
    with pytest.raises(InputError, match="column 'genres' of the catalogue is empty"):
        evaluated(empty).shown_by("genres", 2)


def test_a_cutoff_beyond_the_depth_is_refused() -> None:
    with pytest.raises(InputError, match="read to depth 2"):
        evaluated().shown_by("genres", 3)


# ── of stored runs ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")


@pytest.fixture
def films(space: Workspace) -> Experiment:
    return space.experiments.create("Films", TRUTH, depth=2, catalogue=CATALOGUE)


def added(space: Workspace, films: Experiment, **runs: Any) -> list[str]:
    return [space.runs.add(films.id, lists, name=name)[0].run.id for name, lists in runs.items()]


def test_attributes_are_what_sorts_the_items_and_numbers(space: Workspace, films: Experiment) -> None:
    """Each title and each imdb id belongs to one film."""
    assert space.slices.attributes(films.id) == ["genres", "year"]


def test_without_a_catalogue_or_with_ids_only_there_are_no_attributes(space: Workspace) -> None:
    assert space.slices.attributes(space.experiments.create("None", TRUTH).id) == []
    ids = space.experiments.create("Ids", TRUTH, catalogue=CATALOGUE[["item_id"]])
    assert space.slices.attributes(ids.id) == []


def test_stored_runs_show_what_runs_just_evaluated_do(space: Workspace, films: Experiment) -> None:
    ids = added(space, films, als=LISTS, popular=POPULAR)
    stored = space.slices.shown_by(ids, "genres", 2)
    fresh = evaluated(als=LISTS, popular=POPULAR).shown_by("genres", 2)
    assert stored["run_id"].unique().tolist() == ids
    numbers = ["run", "value", "places", "share", "items", "catalogue_share", "values", "values_shown"]
    pd.testing.assert_frame_equal(stored[numbers], fresh[numbers])


def test_a_stored_run_is_not_shown_beyond_its_depth(space: Workspace, films: Experiment) -> None:
    with pytest.raises(InputError, match="the depth is 2"):
        space.slices.shown_by(added(space, films, als=LISTS), "genres", 3)


# ── from a terminal ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``recdash evaluate`` with a catalogue, in a folder of its own."""
    (tmp_path / "truth.csv").write_text("user_id,item_id\nu,a\nv,b\n")
    (tmp_path / "als.csv").write_text("user_id,item_id,rank\nu,a,1\nu,b,2\nv,a,1\nv,x,2\n")
    CATALOGUE.to_csv(tmp_path / "films.csv", index=False)
    monkeypatch.chdir(tmp_path)

    def call(*more: str) -> Result:
        basics = ["--truth", "truth.csv", "--run", "als.csv", "--metrics", "recall@2"]
        return CliRunner().invoke(main, ["evaluate", *basics, "--catalogue", "films.csv", *more])

    return call


def test_the_terminal_shows_values_beside_the_catalogue(ask: Any) -> None:
    said = ask("--shown-by", "genres", "--shown-by-k", "2").stdout
    assert "genres (% of recommendations in the top 2)  catalogue   als\n" in said
    assert "Drama                                            75.0  75.0\n" in said
    assert "values shown                                        3     2\n" in said


def test_json_has_the_rows_when_asked(ask: Any) -> None:
    facts = json.loads(ask("--shown-by", "year", "--shown-by-k", "1", "--format", "json").stdout)
    assert facts["shown_by"][0] == {
        "run": "als", "attribute": "year", "k": 1, "value": "1994", "places": 2, "share": 1.0, "items": 1,
        "catalogue_share": 0.25, "values": 1, "values_shown": 1,
    }  # fmt: skip
    assert "shown_by" not in json.loads(ask("--format", "json").stdout)


def test_a_csv_of_scores_has_no_room_for_values(ask: Any) -> None:
    assert "Use --format table or json" in ask("--shown-by", "year", "--format", "csv").stderr


def test_of_many_values_the_terminal_shows_those_with_most_items(ask: Any, tmp_path: Path) -> None:
    small = "".join(f"i{place},maker {place // 2}\n" for place in range(60))
    (tmp_path / "films.csv").write_text(f"item_id,maker\n{small}a,big\nb,big\nc,big\n")
    said = ask("--shown-by", "maker", "--shown-by-k", "2").stdout
    assert re.search(r"^big +4\.8 +75\.0$", said, re.MULTILINE)
    assert "7 more values with --format json" in said
