"""The whole journey through the app, without a browser: add, see, change, delete."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import pytest
from app_pages import drop, finish, forget, passed, press, said, shell, turn_to
from journey_tables import HALF, PERFECT, POOR, STRANGERS, TRUTH, as_csv, as_parquet, as_trec
from streamlit.testing.v1 import AppTest

from recdash.domain.records import OnlineTest, Run
from recdash.ingest import open_upload, reader
from recdash.online import OnlineMetric
from recdash.online.plan import AnalysisPlan
from recdash.online.proposals import MetricPurpose
from recdash.service.catalog.intake import IntakeCancelled, IntakePlan
from recdash.service.catalog.intake_job import IntakeJob
from recdash.service.catalog.turns import Turns
from recdash.ui.app import state
from recdash.ui.components.templates import TEMPLATES
from recdash.ui.shell.navigation import EVERYTHING
from recdash.ui.upload import page as upload_page

SHOWN = ("title", "header", "subheader", "markdown", "caption", "error", "success", "info", "warning")
SHOP = b"customer,group,revenue\n" + b"".join(
    b"c%d,%s,%d\n" % (n, b"new" if n % 2 else b"control", n % 4) for n in range(40)
)


@pytest.fixture(scope="module", autouse=True)
def _files_are_read_in_this_process() -> Iterator[None]:
    """Files of our own making need no limits: forking a process for each takes longer than reading it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_upload, "_reader", lambda *_: reader)
        yield


@pytest.fixture
def app(tmp_path: Path, store_in: Callable[[Path], None]) -> Iterator[AppTest]:
    """The app on an empty store of its own, opened on the page Add data."""
    store_in(tmp_path)
    forget()
    yield turn_to(shell({}).run(), "upload")
    forget()


def text_of(app: AppTest) -> str:
    """All that the page says, HTML as a person reads it, backslashes of escaped Markdown removed."""
    shown = [str(element.value) for kind in SHOWN for element in app.get(kind)]
    return re.sub(r"\s+", " ", re.sub(r"\\(.)", r"\1", " ".join([said(app), *shown])))


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def box(app: AppTest, label: str) -> Any:
    return next(element for element in app.selectbox if element.label.replace("\\", "") == label)


def kind_of(app: AppTest, file_name: str) -> Any:
    return box(app, f"What {file_name} is")


def details(app: AppTest, number: int) -> AppTest:
    """Opens the details of the file of this number."""
    button = [button for button in app.button if button.label in ("Details", "Hide")][number]
    return passed(button.click().run())


def is_closed(app: AppTest, label: str) -> bool:
    return next(button for button in app.button if button.label == label).disabled


def stored_runs() -> dict[str, str]:
    """Name → id of every run in the store, archived ones too."""
    return {run.name: run.id for run in runs()}


def runs() -> list[Run]:
    workspace = state.workspace()
    experiments = workspace.experiments.all(archived=True)
    return [run for known in experiments for run in workspace.runs.all(known.id, archived=True)]


def three_runs(app: AppTest) -> AppTest:
    """A store with an experiment and three runs, as the page would store them."""
    workspace = state.workspace()
    experiment = workspace.experiments.create("films", TRUTH, depth=5)
    for name, data in (("perfect", as_csv(PERFECT)), ("half", as_parquet(HALF)), ("poor", as_csv(POOR))):
        workspace.runs.add(experiment.id, data, name=name)
    return app


def living_plans() -> list[IntakePlan]:
    gc.collect()
    return [thing for thing in gc.get_objects() if isinstance(thing, IntakePlan)]


# ── add and see ──────────────────────────────────────────────────────────────────────────────


def test_all_files_at_once_become_a_ranking_that_follows_k(app: AppTest) -> None:
    drop(
        app,
        film_fans__csv=TRUTH,
        perfect__csv=as_csv(PERFECT),
        half__parquet=as_parquet(HALF),
        poor__run=as_trec(POOR),
    )
    text = text_of(app)
    assert "Ready: 3 candidates and a test set" in text
    assert "userId → user · movieId → item · rank → position" in text
    finish(app, "Evaluate 3 candidates")
    assert "Evaluated 3 candidates in film_fans" in text_of(app)
    press(app, "View recommendation")
    assert "Add your data" in text_of(turn_to(app, "upload"))
    board = text_of(turn_to(app, "leaderboard"))
    assert re.search("perfect.*half.*poor", board)
    after = text_of(passed(app.number_input(key="frame-any-k").set_value(1).run()))
    assert "nDCG@1 " in after
    assert "0.833" in after  # recall@1 of perfect: (1/2 + 1 + 1) / 3


def test_no_plan_with_its_test_set_is_kept_once_its_files_are_stored(app: AppTest) -> None:
    shop = b"user,variant,orders,refunds\n" + b"".join(
        b"u%d,%s,%d,%d\n" % (n, b"new" if n % 2 else b"control", n % 4, n % 3) for n in range(40)
    )
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF), poor__csv=as_csv(POOR), shop__csv=shop)
    details(app, 1)
    press(app, "Make refunds a guardrail")
    assert living_plans()
    finish(app, next(label for label in labels(app) if label.startswith("Evaluate")))
    assert "Evaluated 2 candidates" in text_of(app)
    turn_to(app, "overview")
    assert not living_plans()


def test_an_a_b_test_of_a_shop_in_an_empty_store_gives_its_result(app: AppTest) -> None:
    drop(app, shop__csv=SHOP)
    assert "customer → user · group → variant · 1 metric or segment: revenue" in text_of(app)
    finish(app, "Analyze A/B test")
    press(app, "View A/B results")
    (experiment,) = state.workspace().experiments.all()
    (test,) = state.workspace().online_tests.all(experiment.id)
    # control has 0 and 2, new 1 and 3, ten of each
    assert {row["variant"]: row["value"] for row in test.results} == {"control": 1.0, "new": 2.0}
    assert "Revenue" in text_of(turn_to(app, "ab_results"))
    decision = text_of(turn_to(app, "overview"))
    assert "By the A/B test shop" in decision
    facts = "new against control · 40 users in all · split even, no planned split is given (SRM p = 1.000)"
    assert facts in decision
    assert decision.lower().count("no guardrail is set") == 1
    assert "Revenue +100 %" in decision
    for page in ("leaderboard", "segments"):
        assert "needs a test set" in text_of(turn_to(app, page))
    for page in ("offline_online", "why"):
        assert "the recommendations that each variant served" in text_of(turn_to(app, page))


def test_what_a_metric_is_for_is_chosen_before_its_results_are_seen(app: AppTest) -> None:
    shop = b"customer,group,revenue,refunds,visits\n" + b"".join(
        b"c%d,%s,%d,%d,%d\n" % (n, b"new" if n % 2 else b"control", n % 4, n % 3, n % 5) for n in range(40)
    )
    drop(app, shop__csv=shop)
    assert "Less of refunds is better: usually it is a guardrail, not a goal." in text_of(app)
    assert box(app, "refunds").value == MetricPurpose("goal", "down")
    press(app, "Make refunds a guardrail")
    assert box(app, "refunds").value == MetricPurpose("guardrail", "down")
    assert "usually" not in text_of(app)
    passed(box(app, "visits").set_value(MetricPurpose("other", "up")).run())
    finish(app, "Analyze A/B test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    rows = workspace.online_tests.results(test.id).rows
    assert {row.metric: (row.role, row.direction, row.margin) for row in rows} == {
        "revenue": ("goal", "up", None), "refunds": ("guardrail", "down", 0.02),
        "visits": ("other", "up", None),
    }  # fmt: skip


def shop_of_visitors() -> bytes:
    """Sixty customers, of whom two of three opened the page; those of new spend 2 more than before."""
    rows = [
        (
            f"c{n}",
            "new" if n % 2 else "control",
            10 + n % 7 + 2 * (n % 2),
            1 + n % 2,
            n // 2 % 3 > 0,
            10 + n % 7,
        )
        for n in range(60)
    ]
    header = "customer,group,revenue,orders,opened,history"
    return "\n".join([header, *(",".join(map(str, map(_number, row))) for row in rows)]).encode()


def _number(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


def only_test() -> OnlineTest:
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    return test


def test_the_primary_metric_and_a_covariate_are_chosen_before_results_are_seen(app: AppTest) -> None:
    drop(app, shop__csv=shop_of_visitors())
    passed(box(app, "Primary metric").set_value("orders").run())
    passed(box(app, "revenue, adjusted by").set_value("history").run())
    assert "history, adjusted by" not in [element.label for element in app.selectbox]
    finish(app, "Analyze A/B test")
    rows = state.workspace().online_tests.results(only_test().id).rows
    assert list(dict.fromkeys(row.metric for row in rows)) == ["orders", "revenue", "opened"]
    revenue = next(row for row in rows if row.metric == "revenue" and not row.is_control)
    assert revenue.plain_lift is not None


def test_a_planned_test_has_the_primary_metric_and_the_guardrail_of_its_plan(app: AppTest) -> None:
    shop = state.workspace().experiments.create("Shop")
    state.workspace().plans.add(shop.id, AnalysisPlan("orders", {"opened": 0.05}))
    drop(turn_to(app, "upload"), shop__csv=shop_of_visitors())
    passed(box(app, "Add to").set_value(shop.id).run())
    assert box(app, "Primary metric").options == ["orders (planned)", "revenue", "opened", "history"]
    assert box(app, "opened").value == MetricPurpose("guardrail", "up")
    assert "Planned: primary metric orders, guardrail opened (5 %). “Results” names" in text_of(app)
    passed(box(app, "orders").set_value(MetricPurpose("other", "up")).run())
    assert box(app, "orders").value == MetricPurpose("other", "up")
    usual, *others = box(app, "Primary metric").options
    assert (usual, "orders" in others) == ("all goals alike", True)
    passed(box(app, "orders").set_value(MetricPurpose("goal", "up")).run())
    finish(app, "Analyze A/B test")
    rows = state.workspace().online_tests.results(only_test().id).rows
    assert next(iter(rows)).metric == "orders"
    assert {row.margin for row in rows if row.metric == "opened"} == {0.05}


def test_only_users_who_opened_the_page_count_if_that_is_chosen(app: AppTest) -> None:
    drop(app, shop__csv=shop_of_visitors())
    activation = box(app, "Only users with any")
    assert activation.options == ["all users count", "opened"]  # every user has the others
    passed(activation.set_value("opened").run())
    assert box(app, "Only users with any").value == "opened"
    finish(app, "Analyze A/B test")
    assert {row["n_users"] for row in only_test().results} == {20}
    text = text_of(turn_to(app, "ab_results"))
    assert "Split of activated users ✓ even p = 1.000" in text
    assert "Only users with any opened" in text


def test_metrics_of_the_library_are_offered_where_their_columns_are_there(app: AppTest) -> None:
    library = state.workspace().metric_library
    library.add(OnlineMetric("price", "Price", "", "", "revenue", "orders"))
    library.add(OnlineMetric("per visit", "Per visit", "", "", "revenue", "visits"))
    drop(turn_to(app, "upload"), shop__csv=shop_of_visitors())
    offered = next(element for element in app.multiselect if element.label == "From the metric library")
    assert (offered.options, offered.value) == (["price: revenue / orders"], ["price"])
    passed(box(app, "Primary metric").set_value("price").run())
    offered = next(element for element in app.multiselect if element.label == "From the metric library")
    passed(offered.set_value([]).run())
    assert "price" not in box(app, "Primary metric").options
    finish(app, "Analyze A/B test")
    assert "price" not in {row["metric"] for row in only_test().results}


def test_quantiles_of_columns_can_be_chosen_among_the_metrics(app: AppTest) -> None:
    def offered() -> Any:
        return next(element for element in app.multiselect if element.label == "Quantiles of")

    shop = "user_id,variant,revenue,bought\n" + "".join(
        f"u{user},{'new' if user % 2 else 'control'},{10 + user},{user % 3 // 2}\n" for user in range(80)
    )
    drop(app, shop__csv=shop.encode())
    assert (offered().options, offered().value) == (["revenue"], [])  # bought is 0 or 1
    passed(offered().set_value(["revenue"]).run())
    assert "revenue_p95" in box(app, "Primary metric").options
    percent = next(element for element in app.number_input if element.label == "Quantile, %")
    passed(percent.set_value(50.0).run())
    passed(box(app, "Primary metric").set_value("revenue_p50").run())
    finish(app, "Analyze A/B test")
    rows = {(row["metric"], row["variant"]): row for row in only_test().results}
    # the 20th of 40 values 11, 13, … is 49
    assert rows["revenue_p50", "new"]["value"] == 49
    assert only_test().primary_metric == "revenue_p50"


def test_rules_of_watch_time_and_clicks_are_asked_for_only_where_there_are_any(app: AppTest) -> None:
    def rules() -> set[str]:
        return {element.label for element in app.number_input}

    shop = "user_id,timestamp,event_name,value\n" + "".join(
        f"u{user},2026-03-03T12:00:00Z,purchase,25\n" for user in range(40)
    )
    exposures = "experiment_id,user_id,variation,timestamp\n" + "".join(
        f"checkout,u{user},{'new' if user % 2 else 'control'},2026-03-02T09:00:00Z\n" for user in range(80)
    )
    drop(app, exposures__csv=exposures.encode(), orders__csv=shop.encode())
    assert "Ready" in text_of(app)
    assert not {label for label in rules() if "watch" in label.lower() or "Bot filter" in label}
    assert "Planned sample size, users" in rules()
    assert not re.search("video|watch|film", text_of(app).split("Advanced")[-1], re.IGNORECASE)


def test_the_metrics_of_a_test_with_standard_ones_can_be_chosen_too(app: AppTest) -> None:
    drop(app, **templates_of("exposures", "events", "served"))
    assert box(app, "sessions_per_user").value == MetricPurpose("guardrail", "up")
    passed(box(app, "videos_per_user").set_value(MetricPurpose("other", "up")).run())
    finish(app, "Analyze A/B test")
    roles = {row["metric"]: row["role"] for row in only_test().results}
    assert roles["videos_per_user"] == "other"
    assert roles["session_watch_time"] == "goal"


def test_an_a_b_test_gets_its_test_set_from_the_page_that_says_it_has_none(app: AppTest) -> None:
    experiment = state.workspace().experiments.create("shop")
    state.workspace().online_tests.add(experiment.id, "checkout", {"sessions": SHOP})
    press(turn_to(app, "leaderboard"), "Add data")
    drop(turn_to(app, "upload"), films__csv=TRUTH, half__csv=as_csv(HALF))
    assert box(app, "Add to").value == experiment.id
    finish(app, "Evaluate 1 candidate")
    (only,) = state.workspace().experiments.all()
    assert (only.id, only.truth is None, list(stored_runs())) == (experiment.id, False, ["half"])


def test_runs_are_added_to_an_experiment_that_is_there(app: AppTest) -> None:
    three_runs(app)
    drop(app, other__csv=as_csv(HALF[:2]))
    (films,) = state.workspace().experiments.all()
    assert box(app, "Add to").value == films.id
    finish(app, "Evaluate 1 candidate")
    assert list(stored_runs()) == ["perfect", "half", "poor", "other"]
    assert len(state.workspace().experiments.all()) == 1


def test_what_is_stored_already_is_told_and_not_stored_twice(app: AppTest) -> None:
    three_runs(app)
    drop(app, other__csv=as_csv(PERFECT))
    finish(app, "Evaluate 1 candidate")
    assert "Found 1 candidate stored already (perfect) in films" in text_of(app)
    assert list(stored_runs()) == ["perfect", "half", "poor"]


PAGES = [
    page
    for pages in EVERYTHING.values()
    for page in pages
    if page not in ("upload", "off_policy", "guide", "metric_library", "tokens")  # they show no run
]


def test_a_candidate_that_only_predicts_ratings_is_stored_and_every_page_opens(app: AppTest) -> None:
    data = b"user_id,item_id,rating,prediction\nu1,a,4,3\nu2,c,2,2\n"
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF), svd__csv=data)
    assert kind_of(app, "svd.csv").value == "predictions"
    finish(app, "Evaluate 2 candidates")
    svd = state.workspace().store.runs.get(stored_runs()["svd"])
    assert (svd.has_lists, "predictions" in svd.hits) == (False, True)
    told = {page: text_of(turn_to(app, page)) for page in PAGES}
    assert "only rating predictions were given" in told["leaderboard"]


# ── corrections ──────────────────────────────────────────────────────────────────────────────


def test_the_kind_and_the_columns_of_a_file_can_be_corrected(app: AppTest) -> None:
    drop(app, films__csv=b"who,what,stars\nu1,a,5\nu2,c,1\n", half__csv=as_csv(HALF))
    passed(kind_of(app, "films.csv").set_value("truth").run())
    if "User (required)" not in [element.label for element in app.selectbox]:
        details(app, 0)
    passed(box(app, "User (required)").set_value("who").run())
    passed(box(app, "Item (required)").set_value("what").run())
    passed(box(app, "Relevance").set_value("").run())
    finish(app, "Evaluate 1 candidate")
    (experiment,) = state.workspace().experiments.all()
    assert (experiment.settings["truth_users"], experiment.settings["graded"]) == (2, False)


def test_a_file_that_is_not_used_does_not_count(app: AppTest) -> None:
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF), bad__csv=b"")
    assert "1 of 3 files needs your attention" in text_of(app)
    assert is_closed(app, "Evaluate 1 candidate")
    passed(kind_of(app, "bad.csv").set_value("").run())
    finish(app, "Evaluate 1 candidate")
    assert list(stored_runs()) == ["half"]


def test_name_tags_note_and_parameters_are_stored_with_the_run(app: AppTest) -> None:
    details(drop(app, films__csv=TRUTH, als__csv=as_csv(HALF)), 1)
    next(element for element in app.text_area if element.label == "Note").set_value("second try").run()
    parameters = next(element for element in app.text_area if element.label == "Parameters")
    passed(parameters.set_value("factors 64").run())
    assert "'factors 64' is not a parameter" in text_of(app)
    assert is_closed(app, "Evaluate 1 candidate")
    parameters = next(element for element in app.text_area if element.label == "Parameters")
    passed(parameters.set_value("factors = 64").run())
    name = next(element for element in app.text_input if element.label == "Candidate")
    passed(name.set_value("als 64").run())
    finish(app, "Evaluate 1 candidate")
    (run,) = runs()
    assert (run.name, run.note, dict(run.params)) == ("als 64", "second try", {"factors": "64"})


def test_who_counts_repeated_items_and_the_baseline_are_chosen(app: AppTest) -> None:
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF), popular__csv=as_csv(POOR))
    assert (box(app, "Users who count").value, box(app, "An item that a list repeats").value) == (
        "truth", "first",
    )  # fmt: skip
    passed(box(app, "Users who count").set_value("judged_both").run())
    passed(box(app, "An item that a list repeats").set_value("keep").run())
    passed(box(app, "Baseline").set_value("half").run())
    finish(app, "Evaluate 1 candidate and the baseline")
    (made,) = state.workspace().experiments.all()
    assert (made.settings["users"], made.settings["duplicates"]) == ("judged_both", "keep")
    assert made.baseline == stored_runs()["half"]


def test_several_files_may_be_the_seeds_of_one_candidate(app: AppTest) -> None:
    drop(app, films__csv=TRUTH, als_seed7__csv=as_csv(HALF), als_seed42__csv=as_csv(PERFECT))
    control = next(
        element for element in app.segmented_control if "files of recommendations" in element.label
    )
    passed(control.set_value("seeds").run())
    finish(app, "Evaluate 1 candidate")
    (run,) = runs()
    assert run.replicated is not None
    assert (run.name, str(run.replicated), run.replicated.labels) == ("als", "2 seeds", ("7", "42"))


# ── what cannot be used ──────────────────────────────────────────────────────────────────────


def test_files_that_cannot_be_used_store_nothing_and_say_what_to_do(app: AppTest) -> None:
    drop(app, empty__csv=b"", half__csv=as_csv(HALF), alike__csv=b"item_a,item_b,similarity\na,b,7\n")
    text = text_of(app)
    assert "'7' is not a similarity" in text
    assert "need your attention" in text
    assert is_closed(app, "Evaluate 1 candidate")
    assert state.workspace().experiments.all(archived=True) == []


def test_a_run_that_shares_no_user_with_the_test_set_is_told_before_it_is_evaluated(app: AppTest) -> None:
    drop(app, films__csv=TRUTH, strangers__csv=as_csv(STRANGERS), half__csv=as_csv(HALF))
    assert "no user of this run is in the test set" in text_of(app)
    assert is_closed(app, "Evaluate 2 candidates")
    passed(kind_of(app, "strangers.csv").set_value("").run())
    finish(app, "Evaluate 1 candidate")
    assert list(stored_runs()) == ["half"]


def test_nothing_is_stored_of_what_is_cancelled(app: AppTest) -> None:
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF))
    upload = app.session_state["recdash.upload"]
    job = IntakeJob(Cancelled(), upload.plan, nullcontext())
    job.cancel()
    assert job.is_done(60)
    assert [problem.code for problem in job.outcome()[1]] == ["cancelled"]


def test_two_uploads_are_scored_at_a_time_and_others_say_how_many_are_before_them(app: AppTest) -> None:
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF))
    plan = app.session_state["recdash.upload"].plan

    def started(text: str) -> IntakeJob:
        job = IntakeJob(Cancelled(), plan, nullcontext())
        wait_for(job, text)
        return job

    def wait_for(job: IntakeJob, text: str) -> None:
        while job.text != text:
            assert not job.is_done(0.01)

    first, second = started("Scoring"), started("Scoring")
    third, fourth = started("Waiting for 1 other upload"), started("Waiting for 2 other uploads")
    third.cancel()  # while it waits
    wait_for(fourth, "Waiting for 1 other upload")
    first.cancel()
    wait_for(fourth, "Scoring")
    for job in (first, second, third, fourth):
        job.cancel()
        assert job.is_done(60)
        assert [problem.code for problem in job.outcome()[1]] == ["cancelled"]


def test_a_page_looks_at_its_files_when_it_is_its_turn(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, begun, told = Turns(1), Event(), Event()

    def other_page() -> None:
        with turns.taken(lambda _: None):
            begun.set()
            told.wait()

    class Told:
        def taken(self, waiting: Callable[[int], None]) -> AbstractContextManager[None]:
            def tell(n_before: int) -> None:
                waiting(n_before)
                assert n_before == 1
                told.set()

            return turns.taken(tell)

    monkeypatch.setattr(upload_page, "LOOKS", Told())
    other = Thread(target=other_page)
    other.start()
    begun.wait()
    drop(app, films__csv=TRUTH, half__csv=as_csv(HALF))
    other.join()
    assert "Evaluate 1 candidate" in [button.label for button in app.button]
    assert not [caption for caption in app.caption if "Waiting" in caption.value]


class Cancelled:
    """Stands for ``workspace.intake`` and looks until it is cancelled."""

    def commit(
        self,
        _plan: object,
        *,
        progress: Callable[[float, str], None],
        cancelled: Callable[[], bool],
        **_: object,
    ) -> None:
        progress(0.5, "Scoring")
        while not cancelled():
            sleep(0.01)
        raise IntakeCancelled("Cancelled. Nothing was stored.")


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


# ── A/B tests, demo ──────────────────────────────────────────────────────────────────────────


def templates_of(*kinds: str) -> dict[str, bytes]:
    return {f"{kind}__csv": TEMPLATES[kind].text.encode() for kind in kinds}


def test_an_a_b_test_is_stored_with_its_variants_linked_to_runs(app: AppTest) -> None:
    drop(three_runs(app), **templates_of("sessions"))
    (films,) = state.workspace().experiments.all()
    passed(box(app, "Add to").set_value(films.id).run())
    assert box(app, "Control").value == "control"
    passed(box(app, "new served").set_value("perfect").run())
    passed(box(app, "control served").set_value("half").run())
    finish(app, "Analyze A/B test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    ids = stored_runs()
    assert dict(test.links) == {"control": ids["half"], "new": ids["perfect"]}


def test_an_a_b_test_is_stored_from_its_events_by_the_rules_that_are_set(app: AppTest) -> None:
    drop(app, **templates_of("exposures", "events", "served"))
    seconds = next(element for element in app.number_input if element.key.endswith("rule_threshold_s_0"))
    passed(seconds.set_value(700.0).run())
    passed(next(element for element in app.number_input if element.label == "new").set_value(2.0).run())
    finish(app, "Analyze A/B test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    assert (test.kind, sorted(test.tables)) == ("events", ["exposures", "served"])
    rules = workspace.online_tests.rules(test.id)
    assert (rules.threshold_s, rules.split) == (700, {"control": 1, "new": 2})
    # watched for more than 700 s: film-01 of u1, and all three of u3
    values = {
        row.variant: row.value
        for row in workspace.online_tests.results(test.id).rows
        if row.metric == "videos_per_user"
    }
    assert values == {"control": 1 / 2, "new": 3 / 2}


def test_events_alone_are_not_enough_and_that_is_said(app: AppTest) -> None:
    drop(app, **templates_of("events"))
    assert "exposures" in text_of(app)
    assert all(button.disabled for button in app.button if button.label == "Analyze A/B test")


def test_local_times_of_a_log_are_read_in_the_zone_that_is_chosen(app: AppTest) -> None:
    drop(app, ab__csv=TEMPLATES["sessions"].text.replace("Z,", ",").encode())
    passed(next(element for element in app.selectbox if "one" in element.label.lower()).run())
    passed(app.selectbox(key="upload_zone_0").set_value("Europe/Berlin").run())
    finish(app, "Analyze A/B test")
    workspace = state.workspace()
    (test,) = workspace.online_tests.all(workspace.experiments.all()[0].id)
    assert workspace.online_tests.rules(test.id).zone == "Europe/Berlin"
    # nine o'clock in Berlin is eight in UTC, in November
    assert workspace.store.artifacts.table(test.upload)["start_ts"][0].as_py().hour == 8


def test_the_demo_is_loaded_by_one_button_and_removed_after_a_question(app: AppTest) -> None:
    press(app, "Load the demo")
    assert len(stored_runs()) == 5
    drop(turn_to(app, "upload"), films__csv=TRUTH, half__csv=as_csv(HALF))
    assert box(app, "Add to").value == ""  # own files begin a new experiment
    press(drop(app), "Remove")
    assert stored_runs() == {}
    assert "Load the demo" in labels(app)


# ── guide ────────────────────────────────────────────────────────────────────────────────────


def test_the_guide_explains_every_metric_and_preset(app: AppTest) -> None:
    turn_to(app, "guide")
    passed(app.segmented_control(key="choice-chapter").set_value("metrics").run())
    text = text_of(app)
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


def test_a_notice_that_is_refused_is_a_problem_of_its_file(app: AppTest) -> None:
    repeated = b"user_id,item_id,rank\n" + b"".join(b"u%d, i%d,1\n" % (n, n) for n in range(4))
    drop(app, truth__csv=b"user_id,item_id\nu0,i0\nu1,i1\n", als__csv=repeated)
    (chosen,) = [element for element in app.multiselect if element.label == "Refuse files with"]
    assert "blanks trimmed" in chosen.options
    passed(chosen.select("blanks-trimmed").run())
    assert "1 of 2 files needs your attention" in text_of(app)
    assert "Files with the notice 'blanks-trimmed' are refused, as you chose." in text_of(app)
    (chosen,) = [element for element in app.multiselect if element.label == "Refuse files with"]
    passed(chosen.unselect("blanks-trimmed").run())
    assert "needs your attention" not in text_of(app)
