"""Segments and trade-offs of stored runs: the same numbers as slices and scores give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from segment_tables import CATALOGUE, RUNS, TRAIN, TRUTH

from recdash.comparison import ComparisonQuery, Terms
from recdash.domain.results import Scope
from recdash.errors import InputError, UnknownName
from recdash.service import Workspace


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, dict[str, str]]:
    folder: Path = tmp_path_factory.mktemp("stored")
    space = Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts")
    made = space.experiments.create("films", TRUTH, train=TRAIN, catalogue=CATALOGUE, depth=2)
    ids = {name: space.runs.add(made.id, table, name=name)[0].run.id for name, table in RUNS.items()}
    return space, ids


Stored = tuple[Workspace, dict[str, str]]


def row(frame: pd.DataFrame, segment: str, run: str) -> pd.Series:
    (found,) = [one for _, one in frame[(frame["segment"] == segment) & (frame["run"] == run)].iterrows()]
    return found


# ── segments ─────────────────────────────────────────────────────────────────────────────────


def test_a_run_that_is_better_for_known_users_and_worse_for_new_ones(stored: Stored) -> None:
    """Recall: base finds one of two for everybody; known finds both for 40 users and none for 40."""
    space, ids = stored
    frame = space.segments.of(ComparisonQuery((ids["known"],), ids["base"], "recall", 2), "user_warmth")
    assert list(row(frame, "warm", "known")[["value", "n", "mean_diff", "word"]]) == [1.0, 40, 0.5, "better"]
    assert list(row(frame, "cold", "known")[["value", "n", "mean_diff", "word"]]) == [0.0, 40, -0.5, "worse"]
    assert list(row(frame, "", "known")[["value", "n", "mean_diff", "word"]]) == [0.5, 80, 0.0, "not settled"]
    assert list(row(frame, "warm", "base")[["value", "n", "word"]]) == [0.5, 40, ""]


def test_a_run_that_is_the_same_is_no_tie_where_few_users_say_so(stored: Stored) -> None:
    """Of 80 users who do not differ, up to 4.5 % of all may; that is more than the margin of 1 %."""
    space, ids = stored
    frame = space.segments.of(ComparisonQuery((ids["same"],), ids["base"], "ndcg", 2), "user_warmth")
    assert set(frame.loc[frame["run"] == "same", "word"]) == {"not settled"}


def test_in_a_slice_of_items_only_these_count(stored: Stored) -> None:
    """Base finds every a and no b; known finds a and b for half of the users."""
    space, ids = stored
    frame = space.segments.of(ComparisonQuery((ids["known"],), ids["base"], "recall", 2), "item:kind")
    assert list(row(frame, "a", "known")[["value", "mean_diff", "word"]]) == [0.5, -0.5, "worse"]
    assert list(row(frame, "b", "known")[["value", "mean_diff", "word"]]) == [0.5, 0.5, "better"]
    assert row(frame, "a", "base")["value"] == 1.0


@pytest.mark.parametrize("by", ["user_warmth", "history", "item_warmth", "popularity", "item:kind"])
@pytest.mark.parametrize(
    "metric", ["ndcg", "precision(average=micro)", "recall(average=micro)", "serendipity"]
)
def test_values_are_those_of_the_slices(stored: Stored, by: str, metric: str) -> None:
    space, ids = stored
    asked = list(ids.values())
    mine = space.segments.of(ComparisonQuery(tuple(asked), ids["base"], metric, 2), by).set_index(
        ["segment", "run_id"]
    )
    for one in space.slices.sliced(asked, by, [metric], 2).to_dict("records"):
        found = mine.loc[one["slice"], one["run_id"]]
        np.testing.assert_allclose(found["value"], one["value"], atol=1e-12)
        assert found["n"] == one["n_users"]


def test_pooled_ratios_are_those_of_the_segment_and_no_part_of_the_whole_one(stored: Stored) -> None:
    space, ids = stored
    frame = space.segments.of(
        ComparisonQuery((ids["known"],), ids["base"], "recall(average=micro)", 2), "user_warmth"
    )
    assert [row(frame, one, "known")["value"] for one in ("warm", "cold")] == [1.0, 0.0]


def test_a_metric_of_what_is_shown_has_values_and_no_words(stored: Stored) -> None:
    space, ids = stored
    frame = space.segments.of(ComparisonQuery((ids["known"],), ids["base"], "coverage", 2), "user_warmth")
    # 160 own items and two strangers: known shows new users x1 and x2
    assert row(frame, "cold", "known")["value"] == pytest.approx(2 / 162)
    assert set(frame["word"]) == {""}
    assert frame["ci_low"].isna().all()


def test_too_few_users_are_told_and_not_judged(stored: Stored) -> None:
    space, ids = stored
    frame = space.segments.of(
        ComparisonQuery((ids["known"],), ids["base"], "recall", 2), "user_warmth", least=41
    )
    found = row(frame, "warm", "known")
    assert (found["word"], found["reason"], found["mean_diff"]) == ("", "too few users", 0.5)
    assert np.isnan(found["ci_low"])


def test_the_correction_is_over_all_segments_and_candidates(stored: Stored) -> None:
    space, ids = stored
    asked = [ids["known"], ids["same"]]
    frames = {
        rule: space.segments.of(
            ComparisonQuery(tuple(asked), ids["base"], "ndcg", 2, terms=Terms(correction=rule)), "item:kind"
        )
        for rule in ("holm", "off")
    }
    off = frames["off"][frames["off"]["segment"] != ""]
    smallest = off["p"].idxmin()
    n_judged = int((off["word"] != "").sum())
    assert n_judged == 4
    assert frames["holm"].loc[smallest, "p_corrected"] == pytest.approx(n_judged * off.loc[smallest, "p"])


def test_names_are_those_of_today(stored: Stored) -> None:
    space, ids = stored
    space.segments.of(ComparisonQuery((ids["same"],), ids["base"], "ndcg", 2), "history")
    space.runs.rename(ids["same"], "renamed")
    assert "renamed" in set(
        space.segments.of(ComparisonQuery((ids["same"],), ids["base"], "ndcg", 2), "history")["run"]
    )
    space.runs.rename(ids["same"], "same")


def test_what_is_not_there_is_refused(stored: Stored) -> None:
    space, ids = stored
    with pytest.raises(UnknownName, match="item:colour"):
        space.segments.of(ComparisonQuery((ids["same"],), ids["base"], "ndcg", 2), "item:colour")
    with pytest.raises(InputError, match="table of user attributes"):
        space.segments.of(ComparisonQuery((ids["same"],), ids["base"], "ndcg", 2), "user:country")


# ── trade-offs ───────────────────────────────────────────────────────────────────────────────


def test_places_are_the_scores_and_the_front_follows(stored: Stored) -> None:
    """Recall: 0.5 each. Coverage: base and same show 80 items and a stranger, known 80 and two."""
    space, ids = stored
    found = space.tradeoffs.of(list(ids.values()), ("coverage", "recall"), 2)
    assert found.places[ids["base"]] == (pytest.approx(81 / 162), 0.5)
    assert found.places[ids["known"]] == (pytest.approx(82 / 162), 0.5)
    assert found.front == (ids["known"],)
    assert {one.sides for one in found.beaten} == {("by value", "level")}
    assert np.isnan(found.errors[ids["base"]][0])


def test_a_part_of_the_experiment_has_a_front_of_its_own(stored: Stored) -> None:
    space, ids = stored
    asked = list(ids.values())
    found = space.tradeoffs.of(asked, ("hit_rate", "recall"), 2, scope=Scope("user_warmth=cold"))
    assert found.places[ids["known"]] == (0.0, 0.0)
    (beaten,) = found.beaten
    assert (beaten.run, beaten.settled) == (ids["known"], True)
