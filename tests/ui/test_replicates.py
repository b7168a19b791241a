"""Folds and seeds on the pages: their spread, what it means, and how they are uploaded."""

from __future__ import annotations

import pandas as pd
import pytest
from app_pages import USERS, MadeOnce, Open, at_once, drop, finish, lists, passed, said, store
from streamlit.testing.v1 import AppTest

from recdash.charts.marks import LIGHT, Mark
from recdash.charts.replicates import replicate_spread
from recdash.service import Workspace
from recdash.ui.app import state

open_page = at_once


def some_hits(n: int) -> pd.DataFrame:
    """The first n users find their item at rank 1, the others none."""
    return pd.concat([lists(1, USERS[:n]), lists(9, USERS[n:])])


@pytest.fixture
def films(workspace: Workspace) -> dict[str, str]:
    """Names → ids: the experiment, and runs uploaded once: poor (no hit), good (rank 2), best (rank 1)."""
    return add_films(workspace)


@pytest.fixture
def seeds(made_once: MadeOnce) -> dict[str, str]:
    """Ids of these and of runs with seeds, in a store to read."""
    return made_once(add_seeds)


@pytest.fixture
def own_seeds(workspace: Workspace) -> dict[str, str]:
    """The same in a store to write to."""
    return add_seeds(workspace)


def add_films(workspace: Workspace) -> dict[str, str]:
    return store(workspace, {"poor": lists(9), "good": lists(2), "best": lists(1)})


def add_seeds(workspace: Workspace) -> dict[str, str]:
    """Further runs: als has 5 seeds that find 11 to 15 of 20 items, bpr 3 seeds with 1 to 20."""
    films = add_films(workspace)
    for name, hits in (("als", range(11, 16)), ("bpr", (1, 9, 20))):
        tables = {f"seed {n}": some_hits(n) for n in hits}
        films[name] = workspace.runs.add(films["films"], tables, name=name)[0].run.id
    return films


def board(open_page: Open, seeds: dict[str, str], *chosen: str, base: str = "poor", **link: str) -> AppTest:
    runs = "~".join(seeds[name] for name in chosen)
    return open_page("leaderboard", e=seeds["films"], b=seeds[base], c=runs, m="recall", k="1", **link)


# ── the leaderboard ──────────────────────────────────────────────────────────────────────────


def test_without_folds_or_seeds_there_is_no_spread(open_page: Open, films: dict[str, str]) -> None:
    text = said(open_page("leaderboard", e=films["films"]))
    assert "seeds" not in text


def test_a_difference_that_holds_for_every_seed_holds_across_them(
    open_page: Open, seeds: dict[str, str]
) -> None:
    text = said(board(open_page, seeds, "als"))
    assert "The difference holds across seeds" in text
    assert "t-test of 5 seeds against one value that is assumed to vary as much" in text
    assert "Box: quartiles" in text


def test_seeds_that_lie_further_apart_than_the_candidates_are_said_to(
    open_page: Open,
    seeds: dict[str, str],
) -> None:
    # bpr: 1, 9, 20 of 20 (mean 0.5) beside als: 11 … 15 of 20 (mean 0.65), other labels
    text = said(board(open_page, seeds, "bpr", base="als"))
    assert "Seeds differ more than the candidates do" in text
    assert "Welch's t-test, 3 seeds against 5 seeds" in text
    assert "inconclusive" in text


def test_a_large_difference_is_not_significant_across_too_few_seeds(
    open_page: Open, own_seeds: dict[str, str]
) -> None:
    state.workspace().runs.add(own_seeds["films"], [some_hits(10), some_hits(17)], name="two")
    own_seeds["two"] = next(
        run.id for run in state.workspace().runs.all(own_seeds["films"]) if run.name == "two"
    )
    assert "The difference is not significant across seeds" in said(board(open_page, own_seeds, "two"))


def test_of_several_differences_those_that_hold_across_seeds_are_counted(
    open_page: Open, seeds: dict[str, str]
) -> None:
    text = said(board(open_page, seeds, "als", "bpr", "good"))
    assert "1 of 2 differences to poor hold across seeds" in text


def test_a_baseline_with_seeds_among_runs_uploaded_once_is_tested_too(
    open_page: Open,
    seeds: dict[str, str],
) -> None:
    text = said(board(open_page, seeds, "poor", "best", base="als"))
    assert "The differences hold across seeds" in text


def test_one_run_with_seeds_alone_says_how_far_they_lie_apart(open_page: Open, seeds: dict[str, str]) -> None:
    text = said(board(open_page, seeds, base="als"))
    assert "Spread over seeds" in text


def test_a_metric_without_values_per_user_has_a_spread_too(open_page: Open, seeds: dict[str, str]) -> None:
    app = open_page(
        "leaderboard", e=seeds["films"], b=seeds["poor"], c=seeds["als"], m="personalization", k="2"
    )
    assert any(words in said(app) for words in ("hold", "differ more", "not significant"))


def test_names_from_strangers_are_text(open_page: Open, own_seeds: dict[str, str]) -> None:
    space = state.workspace()
    space.runs.rename(own_seeds["als"], "<img src=x onerror=alert(1)>" + "a" * 60)
    app = board(open_page, own_seeds, "als")
    assert all("<img" not in element.proto.body for element in app.get("html"))


def test_folds_say_whom_they_count(open_page: Open, workspace: Workspace, films: dict[str, str]) -> None:
    folds = {"1": some_hits(20).query("user_id in @USERS[:6]"), "2": lists(2, USERS[6:12])}
    films["knn"] = workspace.runs.add(films["films"], folds, name="knn")[0].run.id
    text = said(board(open_page, films, "knn"))
    assert "A fold counts only users it has lists for; the table above counts the others as 0." in text
    assert "corrected resampled t-test over 2 folds" in text


# ── other pages ──────────────────────────────────────────────────────────────────────────────


PAGES = (
    "overview", "metric_vs_k", "precision_recall", "tradeoffs", "users", "segments", "items", "catalogue",
    "definitions", "runs",
)  # fmt: skip


@pytest.mark.parametrize("base", ["als", pytest.param("poor", marks=pytest.mark.long)])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_takes_seeds_as_one_run(
    page: str, base: str, open_page: Open, seeds: dict[str, str]
) -> None:
    chosen = "~".join(seeds[name] for name in ("bpr", "good", "als"))
    app = open_page(page, e=seeds["films"], b=seeds[base], c=chosen, k="2")
    assert not app.error


def test_the_overview_says_that_a_run_is_a_mean(open_page: Open, seeds: dict[str, str]) -> None:
    text = said(open_page("overview", e=seeds["films"], b=seeds["poor"], c=seeds["als"], m="recall", k="1"))
    assert "The value of a user is the mean over the 5 seeds." in text
    assert "difference to poor in Recall@1" in text
    assert "holds across seeds for als." in text


def test_items_say_why_a_mean_of_lists_is_not_looked_into(open_page: Open, seeds: dict[str, str]) -> None:
    app = open_page("items", e=seeds["films"], b=seeds["poor"], c=seeds["als"])
    assert "several lists per user" in " ".join(element.value for element in app.caption)


def test_a_mean_has_no_example_of_one_user_and_says_why(open_page: Open, seeds: dict[str, str]) -> None:
    app = open_page(
        "definitions", e=seeds["films"], b=seeds["poor"], c=seeds["als"], r=seeds["als"], ex="run"
    )
    text = " ".join(element.value for element in app.info)
    assert "the mean of 5 seeds, so each user has several lists" in text


# ── the figure ───────────────────────────────────────────────────────────────────────────────

LOOK = {"a": Mark("a", "ALS <b>", "#0072B2", "circle", "candidate")}


def rows(*values: float) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"run_id": "a", "replicate": f"<i>{n}", "value": value, "n_users": 7}
            for n, value in enumerate(values)
        ],
        columns=["run_id", "replicate", "value", "n_users"],
    )


@pytest.mark.parametrize(("n", "boxes"), [(2, 0), (3, 1)])
def test_quartiles_are_drawn_from_three_replicates_on(n: int, boxes: int) -> None:
    chart = replicate_spread(rows(*[0.1 * at for at in range(n)]), {"a": 0.2}, LOOK, LIGHT)
    assert sum(shape.type == "rect" for shape in chart.layout.shapes) == boxes
    points = next(trace for trace in chart.data if trace.mode == "markers")
    assert len(points.x) == n


def test_the_line_is_the_mean_and_labels_are_escaped() -> None:
    chart = replicate_spread(rows(0.1, 0.4), {"a": 0.9}, LOOK, LIGHT, scale=100)
    (mean,) = [trace for trace in chart.data if trace.name == "mean"]
    assert mean.x == pytest.approx((25.0, 25.0))
    hover = " ".join(str(text) for trace in chart.data for text in trace.hovertext or ())
    assert "&lt;i&gt;0" in hover
    assert "<i>" not in hover


def test_a_run_uploaded_once_is_one_mark() -> None:
    chart = replicate_spread(rows(), {"a": 0.3}, LOOK, LIGHT)
    (only,) = chart.data
    assert list(only.x) == [0.3]
    assert "uploaded once" in only.hovertext[0]


# ── uploading ────────────────────────────────────────────────────────────────────────────────


def upload(open_page: Open, films: dict[str, str], **files: pd.DataFrame) -> AppTest:
    app = open_page("upload", e=films["films"])
    named = {f"{name}__csv": table.to_csv(index=False).encode() for name, table in files.items()}
    return drop(app, **named)


def meaning(app: AppTest, what: str) -> AppTest:
    control = next(one for one in app.segmented_control if "files of recommendations are" in one.label)
    return passed(control.set_value(what).run())


def test_several_files_are_candidates_of_their_own_unless_told(
    open_page: Open, films: dict[str, str]
) -> None:
    finish(upload(open_page, films, one=some_hits(5), two=some_hits(9)), "Evaluate 2 candidates")
    assert {"one", "two"} <= {run.name for run in state.workspace().runs.all(films["films"])}


def test_a_broken_file_among_the_seeds_keeps_the_button_closed(
    open_page: Open, films: dict[str, str]
) -> None:
    broken = some_hits(5).rename(columns={"item_id": "what"}).assign(what=1.5)
    app = meaning(upload(open_page, films, s1=some_hits(5), s2=some_hits(9), s3=broken), "seeds")
    assert next(button for button in app.button if button.label == "Evaluate 1 candidate").disabled


def test_folds_that_share_users_are_refused_in_words(open_page: Open, films: dict[str, str]) -> None:
    app = meaning(upload(open_page, films, f1=some_hits(5), f2=some_hits(9)), "folds")
    finish(app, "Evaluate 1 candidate")
    text = " ".join(element.value for element in app.error)
    assert "have lists in several folds" in text


def test_a_column_of_folds_needs_no_telling(open_page: Open, films: dict[str, str]) -> None:
    table = pd.concat([lists(1, USERS[:9]).assign(fold=1), lists(2, USERS[9:]).assign(fold=2)])
    finish(upload(open_page, films, knn=table), "Evaluate 1 candidate")
    run = next(element for element in state.workspace().runs.all(films["films"]) if element.name == "knn")
    assert str(run.replicated) == "2 folds"
