"""The demo tells the story it promises, by arithmetic that is done here and not by recdash."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from online_results import results_of_upload

from recdash.demo import film_service
from recdash.demo.film_service import FilmService
from recdash.domain.inputs import Upload
from recdash.online.agreement.agreement import quadrant

TIED = ("ALS v3", "EASE λ=250")


@pytest.fixture(scope="module")
def made() -> FilmService:
    return film_service.make()


def ndcg_at_10(made: FilmService, run: str) -> pd.Series:
    """Per truth user: Σ rating / log2(rank + 1) of the hits in the first ten, over the best possible."""
    truth = made.truth.to_pandas()
    ideal = truth.sort_values(["user_id", "rating"], ascending=[True, False])
    place = ideal.groupby("user_id").cumcount() + 1
    best = (ideal.rating / np.log2(place + 1))[place <= 10].groupby(ideal.user_id).sum()
    hits = made.runs[run].to_pandas().query("rank <= 10").merge(truth, on=["user_id", "item_id"])
    found = (hits.rating / np.log2(hits["rank"] + 1)).groupby(hits.user_id).sum()
    return found.reindex(best.index, fill_value=0) / best


def recall_at_10(made: FilmService, run: str) -> pd.Series:
    truth = made.truth.to_pandas()
    hits = made.runs[run].to_pandas().query("rank <= 10").merge(truth, on=["user_id", "item_id"])
    relevant = truth.groupby("user_id").size()
    return hits.groupby("user_id").size().reindex(relevant.index, fill_value=0) / relevant


def interval(difference: pd.Series) -> tuple[float, float]:
    """95 % interval of the mean of a paired difference."""
    half = 1.96 * difference.std() / math.sqrt(len(difference))
    return difference.mean() - half, difference.mean() + half


def watch_lift(made: FilmService, variant: str) -> tuple[float, float]:
    """95 % interval of the lift in watch time per session over control, by resampling users."""
    sessions = made.sessions.to_pandas()
    users = sessions.groupby(["variant", "unit_id"]).agg(watch=("watch_s", "sum"), n=("watch_s", "size"))
    rng = np.random.default_rng(1)
    means = {}
    for arm in (variant, made.control):
        totals = users.loc[arm].to_numpy(dtype=float)
        drawn = totals[rng.integers(0, len(totals), (1000, len(totals)))].sum(axis=1)
        means[arm] = drawn[:, 0] / drawn[:, 1]
    low, high = np.quantile(means[variant] / means[made.control] - 1, [0.025, 0.975])
    return float(low), float(high)


# ── the tables ───────────────────────────────────────────────────────────────────────────────


def test_a_seed_always_gives_the_same_demo_and_another_seed_another(made: FilmService) -> None:
    again, other = film_service.make(), film_service.make(seed=7)
    for name in ("catalogue", "train", "truth", "sessions"):
        assert getattr(made, name).equals(getattr(again, name)), name
        assert not getattr(made, name).equals(getattr(other, name)), name
    assert all(made.runs[name].equals(again.runs[name]) for name in made.runs)


def test_films_have_titles_of_their_own_genres_and_years(made: FilmService) -> None:
    films = made.catalogue.to_pandas()
    assert len(films) == 600
    assert films.title.is_unique
    assert films.item_id.is_unique
    assert films.genre.nunique() == 10
    assert films.year.between(1950, 2026).all()


def test_every_truth_row_is_later_than_all_of_train_and_new_to_its_user(made: FilmService) -> None:
    assert pc.min(made.truth["timestamp"]).as_py() > pc.max(made.train["timestamp"]).as_py()
    both = made.train.to_pandas().merge(made.truth.to_pandas(), on=["user_id", "item_id"])
    assert both.empty


def test_ratings_are_one_to_five_and_some_truth_users_are_new(made: FilmService) -> None:
    assert set(made.truth["rating"].to_pylist()) == {1, 2, 3, 4, 5}
    cold = set(made.truth["user_id"].to_pylist()) - set(made.train["user_id"].to_pylist())
    assert len(cold) == 110


def test_runs_are_lists_of_a_hundred_films_the_user_has_not_seen(made: FilmService) -> None:
    seen = made.train.to_pandas()[["user_id", "item_id"]]
    assert set(made.runs) == {"Popular", "ItemKNN 100", *TIED, "Two-tower 2026-10"}
    for run in made.runs.values():
        lists = run.to_pandas()
        ranks = lists.groupby("user_id")["rank"].agg(["min", "max", "nunique", "size"])
        assert (ranks == [1, 100, 100, 100]).all(axis=None)
        assert not lists.duplicated(["user_id", "item_id"]).any()
        assert lists.merge(seen).empty
        assert lists.groupby("user_id").score.is_monotonic_decreasing.all()


def test_only_the_neighbourhood_run_has_no_lists_for_new_users(made: FilmService) -> None:
    users = {name: len(set(run["user_id"].to_pylist())) for name, run in made.runs.items()}
    assert users.pop("ItemKNN 100") == 1890
    assert set(users.values()) == {2000}


def test_the_baseline_the_control_and_the_links_name_what_is_there(made: FilmService) -> None:
    assert made.baseline in made.runs
    assert set(made.links) == set(made.sessions["variant"].to_pylist())
    assert set(made.links.values()) <= set(made.runs)
    assert made.links[made.control] == made.baseline


def test_the_broken_run_has_a_text_rank_a_missing_item_and_ranks_below_one_and_between(
    made: FilmService,
) -> None:
    lines = made.broken_csv.decode().splitlines()
    assert lines[0] == "user_id,item_id,rank"
    ranks = [line.split(",")[2] for line in lines[1:]]
    assert {"first", "0", "2.5"} < set(ranks)
    assert any(line.split(",")[1] == "" for line in lines)


# ── the story ────────────────────────────────────────────────────────────────────────────────


def test_two_candidates_are_tied(made: FilmService) -> None:
    low, high = interval(ndcg_at_10(made, TIED[0]) - ndcg_at_10(made, TIED[1]))
    assert low < 0 < high
    assert high - low < 0.02


@pytest.mark.parametrize("metric", [ndcg_at_10, recall_at_10])
def test_the_two_tower_run_wins_offline_against_each_other_run(made: FilmService, metric) -> None:  # type: ignore[no-untyped-def]
    winner = metric(made, "Two-tower 2026-10")
    for other in set(made.runs) - {"Two-tower 2026-10"}:
        assert interval(winner - metric(made, other))[0] > 0.01


def test_the_two_tower_run_loses_watch_time_online_and_als_wins_it(made: FilmService) -> None:
    assert watch_lift(made, "two-tower")[1] < -0.05
    assert watch_lift(made, "als")[0] > 0.02


def test_one_candidate_won_offline_and_lost_online_and_one_won_both(made: FilmService) -> None:
    found = results_of_upload(Upload("sessions", "demo", made.sessions, {}))
    watch = {row.variant: row for row in found.rows if row.metric == "session_watch_time"}
    baseline = ndcg_at_10(made, made.baseline)
    corners = {
        variant: quadrant(
            *interval(ndcg_at_10(made, run) - baseline), watch[variant].lift_low, watch[variant].lift_high
        )
        for variant, run in made.links.items()
        if variant != made.control
    }
    assert corners == {"two-tower": "won offline, lost online", "als": "won both", "item-knn": "undecided"}


def test_the_loss_has_a_reason_in_the_data(made: FilmService) -> None:
    # The winner lists the season's hits, which are in the head, and which people start but rate low.
    counts = made.train.to_pandas().groupby("item_id").size().sort_values(ascending=False)
    head = set(counts.index[:120])
    hits = set(made.catalogue.to_pandas().query("year == 2026").item_id)
    assert len(hits & head) / len(hits) > 0.7
    rows = {name: run.to_pandas().query("rank <= 10") for name, run in made.runs.items()}
    assert rows["Two-tower 2026-10"].item_id.isin(hits).mean() > 0.5
    assert rows["ALS v3"].item_id.isin(hits).mean() < 0.2
    truth = made.truth.to_pandas()
    assert truth[truth.item_id.isin(hits)].rating.mean() < truth[~truth.item_id.isin(hits)].rating.mean() - 1


def test_the_split_is_even_and_few_units_cross(made: FilmService) -> None:
    found = results_of_upload(Upload("sessions", "demo", made.sessions, {}))
    assert found.control == "control"
    assert not found.health.blocked
    assert found.health.crossover == 9
    assert {notice.code for notice in found.notices} == {"crossovers"}
