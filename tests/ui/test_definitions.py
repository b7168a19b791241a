"""The Definitions page over a small store, and the banner on every page that compares."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from app_pages import TRUTH, USERS, MadeOnce, Open, at_once, link, lists, passed, said, store, warned
from browser_tabs import choose
from playwright.sync_api import Page, expect

from recdash.definitions.worked_example import Worked, example
from recdash.domain.records import Run
from recdash.metrics import METRICS, define
from recdash.service import Workspace
from recdash.ui.definitions import page as definitions
from recdash.ui.definitions import worked_example

open_page = at_once
COMPARING = ["overview", "leaderboard", "metric_vs_k", "precision_recall"]
SCORED = lists(2).rename(columns={"rank": "score"}).assign(score=1.0)
"""Every list is one tie: strangers, the user's own item, strangers."""


def add_films(workspace: Workspace) -> dict[str, str]:
    """Names → ids: the experiment; good (own item at rank 2 for all), half (at 1, for half of the users)."""
    return store(workspace, {"good": lists(2), "half": lists(1, USERS[:10]), "tied": SCORED})


@pytest.fixture
def films(made_once: MadeOnce) -> dict[str, str]:
    return made_once(add_films)


@pytest.fixture
def own_films(workspace: Workspace) -> dict[str, str]:
    """The same in a store to write to."""
    return add_films(workspace)


@pytest.fixture
def shown(open_page: Open) -> Open:
    return lambda page="definitions", **parameters: open_page(page, **parameters)


# ── the page ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("workspace")
def test_an_empty_store_says_what_to_do_next(shown: Open) -> None:
    assert "No data yet" in said(shown())


def test_one_run_has_all_its_definitions(workspace: Workspace, shown: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=5)
    workspace.runs.add(made.id, lists(2), name="only")
    app = shown()
    text = said(app)
    # one relevant item at rank 2 of 5: 1/log2(3) by default; ideal=full divides by the sum over five places
    assert "only's nDCG@5 ranges from 0.214 to 1.000 across libraries" in text
    own = ["only's nDCG@5 is 0.631", METRICS["ndcg"].plain, "recdash: nDCG@5", "across libraries"]
    assert sorted(own, key=text.index) == own  # the definition is read before those of libraries
    assert (
        "RecTools 0.214 −0.417 66 % lower ndcg(gain=binary, ideal=full) users with a relevant item n = 20"
        in text
    )
    assert [box.label for box in app.selectbox].count("Run") == 1


def test_the_best_candidate_is_shown_and_another_can_be_chosen(films: dict[str, str], shown: Open) -> None:
    """Recall@5 is 1 for tied, and 0.5 for half, which was added first."""
    app = shown(m="recall")
    assert "tied's Recall@5 is 1.00 in every library" in said(app)
    assert link(app)["r"] == films["tied"]
    passed(app.selectbox(key="definitions-run").set_value(films["half"]).run())
    assert "half's Recall@5 ranges from 0.500 to 1.000" in said(app)
    assert link(app)["r"] == films["half"]


def test_grades_below_the_threshold_that_gain_are_told_with_the_users_they_add(
    workspace: Workspace, shown: Open
) -> None:
    """Half of the users have only a low grade. recdash leaves them out; nDCG of trec_eval counts them."""
    graded = TRUTH.assign(relevance=[5 if user in USERS[:10] else 1 for user in TRUTH["user_id"]])
    made = workspace.experiments.create("graded", graded, depth=5, relevance_threshold=4)
    workspace.runs.add(made.id, SCORED, name="only")
    text = said(shown())
    assert "relevance of 4 or more; lower relevance gains too" in text
    assert "users without a relevant item count as well, and their lower relevance has a gain" in text
    recall = said(shown(m="recall"))
    assert recall.count("relevance of 4 or more") == 1
    assert "in formula, population and order. Relevant in all of them: relevance of 4 or more." in recall


def test_who_counts_is_told_as_the_cause(films: dict[str, str], shown: Open) -> None:
    text = said(shown(r=films["half"], m="recall"))
    assert (
        "Microsoft Recommenders 100 % higher. Population +0.500: only users with recommendations count."
        in text
    )
    assert "Without a list 10 They have a relevant item and count as 0." in text


def test_without_a_score_the_reason_stands_in_place_of_the_value(films: dict[str, str], shown: Open) -> None:
    text = said(shown(r=films["good"]))
    assert "trec_eval – no score column to order the lists by ndcg(grades=all)" in text
    assert "Order and ties: unknown, no score column to order the lists by." in text


def test_ties_are_broken_as_the_preset_does(films: dict[str, str], shown: Open) -> None:
    # in the file x1, the user's own item, x3; by id descending x3, x1, then the item: 1/2 becomes 1/3
    text = said(shown(r=films["tied"], m="mrr"))
    assert "trec_eval 0.333 −0.167 33 % lower mrr" in text
    assert "Order and ties −0.167: by score, tied scores by item id, descending." in text
    assert "Tied rows 60 Rows with the same score as a neighbour, in the lists of 20 users" in text


def test_ties_have_a_band_and_lists_without_ties_none(films: dict[str, str], shown: Open) -> None:
    # the user's own item is one of three with equal scores: reciprocal rank 1/3 at worst, 1 at best
    text = said(shown(r=films["tied"], m="mrr"))
    assert "Ties can change MRR@5" in text
    assert "Their order is arbitrary and can change MRR@5 by 0.667" in text
    assert re.search(r"Users 0\.333 0\.6\d\d ± 0\.00\d 1\.000 0\.500 20", text)
    assert "Ties can change" not in said(shown(r=films["good"], m="mrr"))


def test_no_number_of_the_ties_heads_its_row(films: dict[str, str], shown: Open) -> None:
    bodies = [str(body.proto.body) for body in shown(r=films["tied"], m="mrr").get("html")]
    (table,) = [body for body in bodies if "Worst order" in body]
    assert "<data" in table
    assert 'scope="row"' not in table


def test_the_view_is_in_the_link_and_comes_back_from_it(films: dict[str, str], shown: Open) -> None:
    chosen = {"r": films["good"], "p": "rectools", "ex": "run", "m": "ndcg", "k": "3"}
    app = shown(**chosen)
    assert {name: link(app)[name] for name in chosen} == chosen
    text = said(app)
    assert "RecTools: nDCG@3" in text
    norm = 1 + 1 / math.log2(3) + 1 / 2
    assert f"0.6309; divided by the norm {norm:.4f}: {0.6309 / norm:.4f}" in text
    assert any(r"\sum_{i=1}^{k}" in one.value for one in app.markdown)


@pytest.mark.usefixtures("films")
def test_a_run_named_in_vain_is_warned_of(shown: Open) -> None:
    app = shown(r="gone")
    assert 'Run "gone" isn\'t available here; showing tied.' in warned(app)
    assert link(app)["r"] == "gone"


def test_a_preset_that_is_unknown_gives_way_to_recdashs_own(films: dict[str, str], shown: Open) -> None:
    app = shown(r=films["half"], m="recall", p="nonsense")
    assert link(app)["p"] == "default"


@pytest.mark.usefixtures("with_demo")
@pytest.mark.parametrize(
    "metric",
    [
        "coverage",
        "map",
        *(
            pytest.param(metric, marks=pytest.mark.long)
            for metric in ("novelty", "personalization", "user_coverage", "r_precision")
        ),
    ],
)
def test_every_family_of_metrics_has_its_page(workspace: Workspace, shown: Open, metric: str) -> None:
    (made,) = workspace.experiments.all()
    app = shown(e=made.id, m=metric)
    assert not app.error
    assert "Why do the libraries differ?" in said(app)


def test_shares_of_the_catalogue_are_read_in_percent(workspace: Workspace, shown: Open) -> None:
    catalogue = pd.DataFrame({"item_id": [*(f"i{n}" for n in range(1, 21)), "x1", "x3", "y", "z"]})
    made = workspace.experiments.create("films", TRUTH, depth=5, catalogue=catalogue)
    workspace.runs.add(made.id, lists(2), name="good")  # shows the 20 items, x1 and x3 of 24: 91.7 %
    text = said(shown(m="coverage"))
    assert "good's Coverage@5 is 91.7 % in every library" in text
    assert "Coverage@5, %" in text
    assert "91.7 the same coverage every list n = 20" in text


def test_a_frame_with_parameters_says_what_the_other_pages_show(workspace: Workspace, shown: Open) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=5, users="both")
    workspace.runs.add(made.id, lists(1, USERS[:10]), name="half")
    text = said(shown(m="precision(average=micro)"))
    assert (
        "The other pages show Precision(average=micro)@5 0.200: only users with recommendations count."
        in text
    )


# ── the arithmetic ───────────────────────────────────────────────────────────────────────────


def worked(spec: str) -> Worked:
    found = example(define(spec))
    assert found is not None
    return found


def test_the_sum_is_written_out() -> None:
    assert worked_example.arithmetic(worked("map")) == (
        "0.5000 + 0.5000 = 1.0000; divided by the norm 3.0000: 0.3333"
    )
    assert worked_example.arithmetic(worked("recall(average=micro)")) == (
        "This user adds 1.0000 + 1.0000 = 2.0000 to the numerator and 3.0000 to the denominator; the sums "
        "over all users are divided. For this user alone: 2.0000 ÷ 3.0000 = 0.6667"
    )
    assert worked_example.combined(worked("f1(of=map,recall)")) == (
        "2 × 0.3333 × 0.6667 ÷ (0.3333 + 0.6667) = 0.4444"
    )


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.1941, 0.1943, "ranges from 0.1941 to 0.1943 across libraries"),
        (0.194, 0.194 + 1e-9, "is 0.194 in every library, up to rounding"),
        (0.194, 0.194, "is 0.194 in every library"),
    ],
)
def test_the_two_ends_of_the_title_are_told_apart(low: float, high: float, said: str) -> None:
    found = under_presets(recdash=("own", low), RecTools=("equal", high))
    assert definitions.finding(found) == f"b's bpref@10 {said}"
    assert "for the range" not in definitions.subtitle(found)


def test_a_number_that_a_library_does_not_compute_is_not_in_its_range() -> None:
    found = under_presets(
        recdash=("own", 0.221),
        RecTools=("equal", 0.214),
        Elliot=("different", 0.168),
        Tutorial=("not offered", 0.3),
        CAPRI=("documented", 0.265),
    )
    assert definitions.finding(found) == "b's bpref@10 ranges from 0.214 to 0.265 across libraries"
    assert "Not counted for the range: Elliot, which computes another number." in definitions.subtitle(found)


def under_presets(**rows: tuple[str, float]) -> definitions.PresetsOfRun:
    """A run under presets: {title: (agreement with the library, value)}, the default first."""
    default = next(iter(rows.values()))[1]
    presets = pd.DataFrame(
        {
            "preset": ["default", *(title.lower() for title in [*rows][1:])],
            "title": [*rows],
            "state": [state for state, _ in rows.values()],
            "value": [value for _, value in rows.values()],
            "difference": [value - default for _, value in rows.values()],
            "relevant": "relevance above 0",
        }
    )
    run = Run("r", "films", "b", datetime(2026, 3, 1, tzinfo=UTC), 0, None, {}, {})
    return definitions.PresetsOfRun(run, "bpref", 10, presets, presets)


def test_judged_negatives_are_told_from_what_nobody_judged() -> None:
    lines = worked_example.rows(worked("judged"))
    assert [line[0] for line in lines if "judged, not relevant" in str(line[1])] == ["3"]


def test_places_without_an_item_are_told() -> None:
    lines = worked_example.rows(worked("precision"))
    assert [line[0] for line in lines] == ["1", "2", "3", "4", "5"]
    assert "no item" in str(lines[-1][1])


def test_a_long_list_is_told_by_its_hits() -> None:
    found = worked("recall")
    places = [*found.places]
    long = Worked(found.spec, 20, "u", 3, 20, tuple(
        places[at] if at < len(places) else type(places[0])(at + 1, None, None, 0.0, 2.0) for at in range(20)
    ), found.norm, found.value)  # fmt: skip
    assert [line[0] for line in worked_example.rows(long)] == ["1", "2", "3", "4", "5 to 20"]


# ── the banner ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", COMPARING)
@pytest.mark.usefixtures("films")
def test_a_page_that_compares_says_what_is_not_comparable(shown: Open, page: str) -> None:
    text = said(shown(page))
    assert text.count("50 % of users get no recommendations from half and count as 0.") == 1
    assert "Some scores are tied" in text


@pytest.mark.parametrize("page", [*COMPARING, "offline_online"])
def test_comparable_runs_have_no_banner(workspace: Workspace, shown: Open, page: str) -> None:
    made = workspace.experiments.create("films", TRUTH, depth=5)
    ids = [workspace.runs.add(made.id, lists(at), name=f"run{at}")[0].run.id for at in (1, 2)]
    online(workspace, made.id, ids)
    app = shown(page)
    assert not [one for one in app.get("html") if "rd-banner" in one.proto.body.split("</style>")[-1]]


def test_offline_beside_online_has_the_banner_too(
    workspace: Workspace, own_films: dict[str, str], shown: Open
) -> None:
    online(workspace, own_films["films"], [own_films["good"], own_films["half"]])
    assert "50 % of users get no recommendations from half" in said(shown("offline_online"))


def online(workspace: Workspace, experiment: str, ids: list[str]) -> None:
    rows = [
        (f"{variant}{n}", variant, f"{variant}-{n}", "2026-11-01T10:00:00", n % 2, 60)
        for variant in ("control", "new")
        for n in range(40)
    ]
    columns = ["user_id", "variant", "session_id", "start_ts", "clicks", "watch_s"]
    links = dict(zip(("control", "new"), ids, strict=True))
    workspace.online_tests.add(
        experiment, "autumn", {"sessions": pd.DataFrame(rows, columns=columns)}, links=links
    )


def test_the_guide_says_why_two_libraries_disagree(workspace: Workspace, shown: Open) -> None:
    assert workspace.experiments.all() == []
    app = shown("guide", chapter="presets")
    assert app.subheader[0].value == "Why do two libraries disagree?"


# ── in a browser ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.long  # the tests above ask the same of the page without a browser
@pytest.mark.browser
def test_the_page_works_out_what_is_chosen(
    server: Callable[..., Any],
    page: Page,
    settle: Callable[[Page], None],
    console_errors: list[str],
    tmp_path: Path,
) -> None:
    data = tmp_path / "recdash-data"
    space = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    made = space.experiments.create("films", TRUTH, depth=5)
    space.runs.add(made.id, lists(2), name="good")
    page.goto(f"{server(data=data).url}/definitions")
    expect(page.get_by_role("heading", name="good's nDCG@5 ranges from")).to_be_visible()
    settle(page)
    choose(page, page.get_by_role("combobox", name="Preset"), "RecTools")
    expect(page.get_by_role("heading", name="RecTools: nDCG@5")).to_be_visible()
    expect(page.locator(".katex").first).to_be_visible()
    page.get_by_role("radio", name="One user of this run").click()
    expect(page.locator(".rd-sum")).to_contain_text("0.6309; divided by the norm 2.9485: 0.2140")
    settle(page)
    assert "p=rectools" in page.url
    assert "ex=run" in page.url
    assert console_errors == []


@pytest.mark.parametrize(
    ("difference", "says"),
    [(-0.0001, "<0.001 lower"), (0.0001, "<0.001 higher"), (-0.02, "−0.020 9.1 % lower")],
)
def test_a_difference_too_small_for_the_decimals_is_not_shown_as_zero(difference: float, says: str) -> None:
    row = {"preset": "torchmetrics", "reason": "", "value": 0.22 + difference, "difference": difference}
    text = re.sub(r"<[^>]+>", " ", str(definitions._difference(row, 0.22, 3)))
    assert html.unescape(re.sub(r"\s+", " ", text)).strip() == says
