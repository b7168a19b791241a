"""The whole journey through the app, without a browser: add, see, change, delete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from app_pages import forget, passed, press, said, shell, turn_to
from journey_tables import HALF, PERFECT, POOR, STRANGERS, TRUTH, as_csv, as_parquet, as_trec
from streamlit.testing.v1 import AppTest

from recdash.ui.app import state
from recdash.ui.components.templates import TEMPLATES
from recdash.ui.shell.navigation import EVERYTHING

SHOWN = ("title", "header", "subheader", "markdown", "caption", "error", "success", "info", "warning")


@pytest.fixture
def app(tmp_path: Path, store_in: Callable[[Path], None]) -> Iterator[AppTest]:
    """The app on an empty store of its own, opened on the upload page."""
    store_in(tmp_path)
    forget()
    yield turn_to(shell({}).run(), "upload")
    forget()


def text_of(app: AppTest) -> str:
    """All that the page says, HTML as a person reads it, backslashes of escaped Markdown removed."""
    told = [str(element.value) for kind in SHOWN for element in app.get(kind)]
    return re.sub(r"\s+", " ", re.sub(r"\\(.)", r"\1", " ".join([said(app), *told])))


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def add_truth(app: AppTest, data: bytes = TRUTH, name: str = "films.csv") -> AppTest:
    uploader = next(one for one in app.file_uploader if one.label == "Truth")
    passed(uploader.upload(name, data, "text/csv").run())
    return app


def create_experiment(app: AppTest) -> AppTest:
    return press(add_truth(app), "Create the experiment")


def add_candidates(app: AppTest, **files: bytes) -> AppTest:
    """File names are given with ``__`` for the dot, as ``als__csv=…``."""
    uploader = next(one for one in app.file_uploader if one.label.startswith("Recommendations"))
    named = [(name.replace("__", "."), data, "application/octet-stream") for name, data in files.items()]
    return passed(uploader.set_value(named).run())


def three_runs(app: AppTest) -> AppTest:
    create_experiment(app)
    add_candidates(app, perfect__csv=as_csv(PERFECT), half__parquet=as_parquet(HALF), poor__run=as_trec(POOR))
    return press(app, "Score and store 3 candidates")


def stored_runs() -> dict[str, str]:
    """Name → id of every run in the store, archived ones too."""
    workspace = state.workspace()
    return {
        run.name: run.id
        for experiment in workspace.experiments.all(archived=True)
        for run in workspace.runs.all(experiment.id, archived=True)
    }


# ── add and see ──────────────────────────────────────────────────────────────────────────────


def test_a_truth_and_three_files_become_a_leaderboard_that_follows_k(app: AppTest) -> None:
    three_runs(app)
    assert list(stored_runs()) == ["perfect", "half", "poor"]
    board = text_of(press(app, "See it"))
    assert board.index("perfect") < board.index("half") < board.index("poor")
    turn_to(app, "leaderboard")  # the browser stays there by itself, AppTest's next run would not
    after = text_of(passed(app.number_input(key="frame-any-k").set_value(1).run()))
    assert "nDCG@1 " in after
    assert "0.833" in after  # recall@1 of perfect: (1/2 + 1 + 1) / 3


def test_an_experiment_leads_on_to_its_candidates(app: AppTest) -> None:
    create_experiment(app)
    assert "Stored the experiment films" in text_of(app).replace("**", "")
    assert [one.label for one in app.file_uploader] == [
        "Recommendations, one file per candidate, fold or seed",
        "Rating predictions, one file per candidate",
    ]


def test_who_counts_and_repeated_items_are_chosen_with_the_experiment(app: AppTest) -> None:
    add_truth(app)
    chosen = {
        one.label: one
        for one in app.selectbox
        if one.label in ("Users who count", "An item that a list repeats")
    }
    assert [one.value for one in chosen.values()] == ["truth", "first"]
    chosen["Users who count"].set_value("judged_both")
    passed(chosen["An item that a list repeats"].set_value("keep").run())
    press(app, "Create the experiment")
    (made,) = state.workspace().experiments.all()
    assert (made.settings["users"], made.settings["duplicates"]) == ("judged_both", "keep")


PAGES = [
    page
    for pages in EVERYTHING.values()
    for page in pages
    if page not in ("upload", "off_policy", "guide")  # they show no run
]


def test_a_candidate_that_only_predicts_ratings_is_stored_and_every_page_opens(app: AppTest) -> None:
    create_experiment(app)
    add_candidates(app, half__csv=as_csv(HALF))
    uploader = next(one for one in app.file_uploader if one.label.startswith("Rating predictions, one"))
    data = b"user_id,item_id,rating,prediction\nu1,a,4,3\nu2,c,2,2\n"
    passed(uploader.set_value([("svd.csv", data, "text/csv")]).run())
    press(app, "Score and store 2 candidates")
    assert "Stored the candidate **svd**" in text_of(app)
    svd = state.workspace().store.runs.get(stored_runs()["svd"])
    assert (svd.has_lists, "predictions" in svd.hits) == (False, True)
    told = {page: text_of(turn_to(app, page)) for page in PAGES}
    assert "only rating predictions were given" in told["leaderboard"]


def test_further_tables_are_checked_and_kept(app: AppTest) -> None:
    add_truth(app)
    for kind in ("users", "vectors", "similarity"):
        uploader = next(one for one in app.file_uploader if one.label == TEMPLATES[kind].title)
        passed(uploader.upload(f"{kind}.csv", TEMPLATES[kind].text.encode(), "text/csv").run())
    assert "User attributes: users.csv" in text_of(app)
    press(app, "Create the experiment")
    (experiment,) = state.workspace().experiments.all()
    assert set(experiment.tables) == {"users", "vectors", "similarity"}


def test_a_further_table_with_problems_keeps_the_experiment_from_being_stored(app: AppTest) -> None:
    add_truth(app)
    uploader = next(one for one in app.file_uploader if one.label == "Item similarities")
    passed(uploader.upload("alike.csv", b"item_a,item_b,similarity\na,b,7\n", "text/csv").run())
    assert "'7' is not a similarity" in text_of(app)
    assert next(button for button in app.button if button.label == "Create the experiment").disabled


def test_columns_are_guessed_shown_and_changeable(app: AppTest) -> None:
    add_truth(app, b"who,what,stars\nu1,a,5\nu2,c,1\n")
    assert "no user column" in text_of(app)
    box = {one.label: one for one in app.selectbox}
    passed(box["user_id (required)"].set_value("who").run())
    box = {one.label: one for one in app.selectbox}
    passed(box["item_id (required)"].set_value("what").run())
    press(app, "Create the experiment")
    assert [one.name for one in state.workspace().experiments.all()] == ["films"]


def test_a_role_set_to_not_used_is_left_out(app: AppTest) -> None:
    add_truth(app, b"user_id,item_id,rating\nu1,a,0\nu2,c,5\n")
    next(one for one in app.selectbox if one.label == "relevance").set_value("").run()
    press(app, "Create the experiment")
    (experiment,) = state.workspace().experiments.all()
    assert experiment.settings["truth_users"] == 2
    assert experiment.settings["graded"] is False


def test_the_same_file_again_is_already_there(app: AppTest) -> None:
    three_runs(app)
    add_candidates(app, other__csv=as_csv(PERFECT))
    press(app, "Score and store the candidate")
    assert "already there, as **perfect**" in text_of(app)
    assert list(stored_runs()) == ["perfect", "half", "poor"]


def test_the_same_experiment_again_is_already_there(app: AppTest) -> None:
    create_experiment(app)
    passed(app.segmented_control(key="choice-add").set_value("experiment").run())
    create_experiment(app)
    assert "already there, as **films**" in text_of(app)
    assert len(state.workspace().experiments.all(archived=True)) == 1


def test_tags_notes_and_parameters_are_stored_with_the_run(app: AppTest) -> None:
    create_experiment(app)
    add_candidates(app, als__csv=as_csv(HALF))
    next(one for one in app.text_area if one.label == "Note").set_value("second try")
    next(one for one in app.text_area if one.label == "Parameters").set_value("factors = 64")
    press(app, "Score and store the candidate")
    (run,) = state.workspace().runs.all(state.workspace().experiments.all()[0].id)
    assert (run.note, dict(run.params)) == ("second try", {"factors": "64"})


# ── what cannot be used ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"user_id,rating\nu1,5\n", ("item", "user_id, rating"), id="no item column"),
        pytest.param(b"", ("file",), id="empty file"),
        pytest.param(b"user_id,item_id\n", ("no rows",), id="header only"),
    ],
)
def test_a_truth_that_cannot_be_used_stores_nothing(app: AppTest, data: bytes, says: tuple[str, ...]) -> None:
    add_truth(app, data)
    said = text_of(app)
    assert all(words in said for words in says), said
    assert next(one for one in app.button if one.label == "Create the experiment").disabled
    assert state.workspace().experiments.all(archived=True) == []


def test_a_run_that_shares_no_user_with_the_truth_is_refused_and_leaves_nothing(app: AppTest) -> None:
    create_experiment(app)
    add_candidates(app, strangers__csv=as_csv(STRANGERS))
    press(app, "Score and store the candidate")
    said = text_of(app)
    assert "strangers** was refused. Nothing of it was stored" in said
    assert "user" in said
    assert "truth" in said
    assert stored_runs() == {}


def test_one_refused_file_does_not_keep_the_others_out(app: AppTest) -> None:
    create_experiment(app)
    add_candidates(app, strangers__csv=as_csv(STRANGERS), half__csv=as_csv(HALF))
    press(app, "Score and store 2 candidates")
    assert list(stored_runs()) == ["half"]


def test_a_parameter_line_that_is_none_is_named(app: AppTest) -> None:
    create_experiment(app)
    add_candidates(app, half__csv=as_csv(HALF))
    next(one for one in app.text_area if one.label == "Parameters").set_value("factors 64").run()
    assert "'factors 64' is not a parameter" in text_of(app)
    assert next(one for one in app.button if one.label.startswith("Score")).disabled


# ── keep runs ────────────────────────────────────────────────────────────────────────────────


def test_a_deleted_run_is_gone_once_its_name_is_typed(app: AppTest) -> None:
    turn_to(three_runs(app), "runs")
    run = stored_runs()["perfect"]
    app.text_input(key=f"delete-name-{run}").set_value("perfct")
    press_key(app, f"delete-run-{run}")
    assert "perfect" in stored_runs()
    app.text_input(key=f"delete-name-{run}").set_value("perfect")
    press_key(app, f"delete-run-{run}")
    assert list(stored_runs()) == ["half", "poor"]
    assert "perfect" not in text_of(turn_to(app, "leaderboard"))


def press_key(app: AppTest, key: str) -> AppTest:
    return passed(next(button for button in app.button if button.key == key).click().run())


def test_an_archived_run_comes_back_by_undo(app: AppTest) -> None:
    turn_to(three_runs(app), "runs")
    workspace = state.workspace()
    (experiment,) = workspace.experiments.all()
    press_key(app, f"run-archive-{stored_runs()['perfect']}")
    assert [run.name for run in workspace.runs.all(experiment.id)] == ["half", "poor"]
    press(app, "Undo")
    assert [run.name for run in workspace.runs.all(experiment.id)] == ["perfect", "half", "poor"]
    assert "Undo" not in labels(app)


def test_name_note_and_parameters_of_a_run_can_be_changed(app: AppTest) -> None:
    turn_to(three_runs(app), "runs")
    run = stored_runs()["perfect"]
    app.text_input(key=f"run-name-{run}").set_value("oracle")
    app.text_area(key=f"run-note-{run}").set_value("knows all")
    app.text_area(key=f"run-params-{run}").set_value("k = 3")
    press_key(app, f"run-save-{run}")
    assert list(stored_runs()) == ["oracle", "half", "poor"]
    said = text_of(app)
    assert "oracle" in said
    assert "knows all" in said


def test_a_name_that_another_run_has_is_refused(app: AppTest) -> None:
    turn_to(three_runs(app), "runs")
    run = stored_runs()["perfect"]
    app.text_input(key=f"run-name-{run}").set_value("half")
    press_key(app, f"run-save-{run}")
    assert list(stored_runs()) == ["perfect", "half", "poor"]
    assert len(app.error) == 1


def test_an_experiment_is_archived_and_comes_back(app: AppTest) -> None:
    turn_to(three_runs(app), "runs")
    workspace = state.workspace()
    (experiment,) = workspace.experiments.all()
    press_key(app, f"experiment-archive-{experiment.id}")
    assert workspace.experiments.all() == []
    press(app, "Undo")
    assert [one.id for one in workspace.experiments.all()] == [experiment.id]


# ── online tests, demo ───────────────────────────────────────────────────────────────────────


def test_an_online_test_is_stored_with_its_variants_linked_to_runs(app: AppTest) -> None:
    three_runs(app)
    passed(app.segmented_control(key="choice-add").set_value("online").run())
    next(one for one in app.file_uploader).upload("ab.csv", TEMPLATES["sessions"].text.encode()).run()
    box = {one.label: one for one in app.selectbox}
    assert box["Control"].value == "control"
    runs = stored_runs()
    box["new served"].set_value(runs["perfect"])
    box["control served"].set_value(runs["half"])
    press(app, "Store the online test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    assert dict(test.links) == {"control": runs["half"], "new": runs["perfect"]}


def online_files(app: AppTest, kind: str, *names: str) -> AppTest:
    """Upload the templates of these tables as one online test."""
    passed(app.segmented_control(key="choice-add").set_value("online").run())
    box = next(one for one in app.segmented_control if one.label == "What was logged")
    passed(box.set_value(kind).run())
    for name in names:
        place = next(one for one in app.file_uploader if one.label.lower().startswith(name))
        place.upload(f"{name}.csv", TEMPLATES[name].text.encode())
        passed(app.run())
    return app


def test_an_online_test_is_stored_from_its_events(app: AppTest) -> None:
    online_files(three_runs(app), "events", "exposures", "events", "served")
    seconds = next(one for one in app.number_input if "watched longer" in one.label)
    passed(seconds.set_value(700.0).run())
    said = text_of(app)
    assert "counted as recommendations: recommendations (28 events); not search (2 events)" in said
    assert "2 events are not of recommended items (control 1, new 1)" in said
    press(app, "Store the online test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    assert (test.kind, sorted(test.tables)) == ("events", ["exposures", "served"])
    assert workspace.online_tests.rules(test.id).threshold_s == 700
    # watched for more than 700 s: film-01 of u1, and all three of u3
    values = {
        row.variant: row.value
        for row in workspace.online_tests.results(test.id).rows
        if row.metric == "videos_per_user"
    }
    assert values == {"control": 1 / 2, "new": 3 / 2}


def test_events_alone_are_not_enough_and_that_is_said(app: AppTest) -> None:
    online_files(three_runs(app), "events", "events")
    assert "Still needed: exposures." in text_of(app)
    assert "Store the online test" not in labels(app)


def test_local_times_of_a_log_are_read_in_the_zone_that_is_chosen(app: AppTest) -> None:
    three_runs(app)
    passed(app.segmented_control(key="choice-add").set_value("online").run())
    local = TEMPLATES["sessions"].text.replace("Z,", ",").encode()
    passed(next(one for one in app.file_uploader).upload("ab.csv", local).run())
    assert "times without a zone in 5 rows were taken as UTC" in text_of(app)
    passed(next(one for one in app.selectbox if "Zone" in one.label).set_value("Europe/Berlin").run())
    assert "were taken as UTC" not in text_of(app)
    press(app, "Store the online test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    assert workspace.online_tests.rules(test.id).zone == "Europe/Berlin"
    # nine o'clock in Berlin is eight in UTC, in November
    assert workspace.store.artifacts.table(test.upload)["start_ts"][0].as_py().hour == 8


def test_a_planned_split_is_taken_into_the_rules(app: AppTest) -> None:
    online_files(three_runs(app), "sessions", "sessions")
    passed(next(one for one in app.number_input if one.label == "new").set_value(2.0).run())
    press(app, "Store the online test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    assert workspace.online_tests.rules(test.id).split == {"control": 1, "new": 2}


def test_the_demo_is_loaded_and_removed_by_one_button_each(app: AppTest) -> None:
    press(app, "Load the demo")
    assert len(stored_runs()) == 5
    press(turn_to(app, "upload"), "Remove the demo")
    assert stored_runs() == {}
    assert "Load the demo" in labels(app)


# ── guide ────────────────────────────────────────────────────────────────────────────────────


def test_the_guide_explains_every_metric_and_preset(app: AppTest) -> None:
    text = text_of(turn_to(app, "guide"))
    workspace = state.workspace()
    assert [metric.name for metric in workspace.definitions.guide() if f"`{metric.name}`" not in text] == []
    passed(app.segmented_control(key="choice-chapter").set_value("presets").run())
    text = text_of(app)
    assert [preset.name for preset in workspace.definitions.presets() if f"`{preset.name}`" not in text] == []


def test_the_guide_finds_words_in_all_chapters(app: AppTest) -> None:
    turn_to(app, "guide")
    passed(app.text_input(key="guide-search").set_value("gap is closed").run())
    assert [one.value for one in app.subheader] == ["Duplicates"]


def test_a_link_opens_the_guide_at_its_metric(app: AppTest) -> None:
    fresh = AppTest.from_file(app._script_path, default_timeout=300)
    fresh.query_params["metric"] = "ndcg"
    turn_to(fresh.run(), "guide")
    assert fresh.subheader[0].value == "nDCG · `ndcg`"
