"""Several files at once: planned, corrected, and stored in one go."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bookshop
import pytest
from interleaved_tables import team_draft
from workbook import workbook

from recdash.errors import InputError, NameTaken
from recdash.ingest import Limits
from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeCancelled, IntakeFile, IntakePlan
from recdash.service.online import tests
from recdash.store import Store
from recdash.ui.upload import words
from recdash.ui.upload.rows import read_as


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """An empty store without limits: forking a process for each file takes longer than reading it."""
    return Workspace(workspace.store)


def planned(workspace: Workspace, files: Mapping[str, bytes], experiment: str | None = None) -> IntakePlan:
    given = [IntakeFile(name, name, data) for name, data in files.items()]
    return workspace.intake.plan(given, experiment_id=experiment)


def problems(plan: IntakePlan) -> set[str]:
    return {problem.code for problem in plan.all_problems}


@pytest.mark.parametrize("names", [bookshop.KNOWN, bookshop.UNKNOWN])
def test_a_bookshops_files_are_stored_as_they_come(workspace: Workspace, names: bookshop.Names) -> None:
    plan = planned(workspace, bookshop.files(names))
    assert (plan.is_ready, plan.run_names, plan.name) == (True, ("popular", "als", "ease"), "orders_2026")
    assert plan.depth is not None
    assert (plan.depth.depth, plan.baseline) == (bookshop.LENGTH, "popular")
    done = workspace.intake.commit(plan)
    assert [added.run.name for added in done.runs] == ["popular", "als", "ease"]
    assert done.is_new
    assert (done.refused, done.experiment.settings["depth"]) == ((), bookshop.LENGTH)
    assert done.experiment.baseline == done.runs[0].run.id
    assert "short-lists" not in {notice.code for added in done.runs for notice in added.run.notices}
    again = workspace.intake.commit(plan)
    assert (again.is_new, [added.already_there for added in again.runs]) == (False, [True] * 3)


def test_the_depth_is_that_of_lists_whose_first_rows_do_not_show_their_length(workspace: Workspace) -> None:
    pairs = [(f"u{user}", f"i{(user + place) % 50}", place) for user in range(2600) for place in range(8)]
    random.Random(1).shuffle(pairs)
    scored = "user,item,score\n" + "".join(f"{user},{item},{1 / (1 + n)}\n" for user, item, n in pairs)
    truth = "user,item\n" + "".join(f"u{user},i{user % 50}\n" for user in range(2600))
    plan = planned(workspace, {"test.csv": truth.encode(), "als.csv": scored.encode()})
    assert plan.depth is not None
    assert (plan.depth.depth, plan.depth.reason) == (8, "The longest list has 8 items.")


def test_a_file_of_unknown_columns_alone_is_read_by_the_ids_of_its_experiment(workspace: Workspace) -> None:
    files = bookshop.files(bookshop.UNKNOWN)
    lists = {name: files.pop(name) for name in ("als.csv",)}
    experiment = workspace.intake.commit(planned(workspace, files)).experiment
    header, *lines = lists["als.csv"].decode().splitlines()
    assert header == "zakaznik,polozka,folge"
    scored = [line.split(",") for line in lines]
    text = "x,y,z\n" + "".join(f"{item},{user},{1 / int(place)}\n" for user, item, place in scored)
    (file,) = planned(workspace, {"als.csv": text.encode()}, experiment.id).files
    assert (file.kind, file.mapping["user_id"], file.mapping["item_id"]) == ("run", "y", "x")


def test_a_column_of_sessions_that_is_left_out_is_told_with_its_file(workspace: Workspace) -> None:
    """Only counting the test reads enough rows to know it."""
    days = [f"202{user % 6}-{1 + user % 12:02}-{1 + user % 28:02}" for user in range(200)]
    rows = [f"u{user},{'AB'[user % 2]},{user % 7},{day}\n" for user, day in enumerate(days)]
    plan = planned(workspace, {"shop.csv": f"customer,group,orders,first_seen\n{''.join(rows)}".encode()})
    (file,) = plan.files
    assert "column 'first_seen'" in {n.place for n in file.notices if n.code == "column-left-out"}
    assert words.columns_in_words(file) == "customer → user · group → variant · 1 metric or segment: orders"
    assert "first_seen" not in read_as(file)
    assert plan.test is not None
    assert "column-left-out" not in {notice.code for notice in plan.test.notices}


def test_a_name_that_a_stored_run_has_is_said_before_the_files_are_stored(workspace: Workspace) -> None:
    files = bookshop.files()
    experiment = workspace.intake.commit(planned(workspace, files)).experiment
    lines = files["als.csv"].splitlines(keepends=True)
    few = {"als.csv": b"".join(lines[:-1]), "new.csv": files["ease.csv"]}
    plan = planned(workspace, few, experiment.id)
    assert [(notice.code, notice.place) for notice in plan.notices] == [("name-taken", "candidate 'als'")]
    with pytest.raises(NameTaken):
        workspace.intake.commit(plan)
    renamed = plan.with_choice("als.csv", run="als 2")
    assert not renamed.notices
    done = workspace.intake.commit(renamed)
    assert [(added.run.name, added.already_there) for added in done.runs] == [
        ("als 2", False),
        ("ease", True),
    ]


def test_the_segments_of_an_interleaving_test_are_known_once_it_is_counted(workspace: Workspace) -> None:
    """Titles differ within a request, and prices are numbers."""
    table = team_draft()
    country = table["request_id"].str[-1].map(lambda last: "PT" if last in "02468" else "SE")
    table = table.assign(country=country, title="title " + table["item_id"], price=range(len(table)))
    (file,) = planned(workspace, {"slots.csv": table.to_csv(index=False).encode()}).files
    assert (file.kind, file.segments) == ("interleaving", ("country",))
    one_team = table.assign(team="als").to_csv(index=False).encode()
    (file,) = planned(workspace, {"slots.csv": one_team}).files
    assert file.segments is None


def test_a_problem_with_ids_is_said_once(workspace: Workspace) -> None:
    files = bookshop.files()
    files["als.csv"] = files["als.csv"].replace(b"\nC", b"\nxC")
    als = next(file for file in planned(workspace, files).files if file.file_name == "als.csv")
    assert als.problems
    assert not set(als.problems) & set(als.notices)


def test_a_large_upload_is_written_once_for_all_reading_processes(workspace: Workspace) -> None:
    limited = Workspace(workspace.store, limits=Limits(read_seconds=60))
    files = bookshop.files()
    files["als.csv"] += b"\n" * 1_100_000
    plan = planned(limited, files)
    (path,) = [file.source for file in plan.inputs.files if isinstance(file.source, Path)]
    assert (path.name, path.read_bytes()) == ("als.csv", files["als.csv"])
    assert [added.run.name for added in limited.intake.commit(plan).runs] == ["popular", "als", "ease"]
    del plan
    gc.collect()
    assert not path.parent.exists()


def test_what_a_plan_has_read_is_freed_with_it(workspace: Workspace) -> None:
    plan = planned(workspace, bookshop.files()).with_settings(users="both")
    assert plan.setup is not None
    read = weakref.ref(plan.setup.reference)
    workspace.intake.commit(plan)
    gc.collect()
    gc.disable()  # the collector looks so seldom that tables of hundreds of MB stay for minutes
    try:
        del plan
        assert read() is None
    finally:
        gc.enable()


def test_rejected_rows_of_a_planned_file_are_listed(workspace: Workspace) -> None:
    run = b"who,what,position\nu1,a,1\n,b,2\nu1,a,3\n"
    plan = planned(workspace, {"als.csv": run})
    plan = plan.with_choice(
        "als.csv", kind="run", mapping={"user_id": "who", "item_id": "what", "rank": "position"}
    )
    lines = workspace.intake.rejects(plan, "als.csv").splitlines()
    assert lines[0] == "file,row,column,value,why"
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ["als.csv", "2", "who", ""],
        ["als.csv", "3", "what", "a"],
    ]


def test_a_plan_stores_nothing(workspace: Workspace) -> None:
    planned(workspace, bookshop.files())
    assert workspace.experiments.all(archived=True) == []


def test_one_mapping_is_reused_for_files_of_the_same_columns(workspace: Workspace) -> None:
    plan = planned(workspace, bookshop.files(bookshop.UNKNOWN))
    chosen = {"user_id": "zakaznik", "item_id": "polozka", "rank": "", "score": "-folge"}
    plan = plan.with_choice("als.csv", mapping=chosen)
    by_name = {file.file_name: file for file in plan.files}
    assert by_name["ease.csv"].same_as == by_name["popular.csv"].same_as == "als.csv"
    assert by_name["als.csv"].same_as == by_name["orders_2026.csv"].same_as == ""
    assert by_name["ease.csv"].mapping == by_name["als.csv"].mapping
    assert by_name["ease.csv"].mapping["score"] == "-folge"


@pytest.mark.parametrize(
    ("names", "swap", "code"),
    [(bookshop.UNKNOWN, False, "columns-by-values"), (bookshop.KNOWN, True, "ids-swapped")],
)
def test_what_several_files_show_together_has_an_example_and_can_be_refused(
    workspace: Workspace, names: bookshop.Names, swap: bool, code: str
) -> None:
    files = bookshop.files(names)
    if swap:
        files["als.csv"] = files["als.csv"].replace(b"customer,isbn", b"isbn,customer")
    plan = planned(workspace, files)
    als = next(file for file in plan.files if file.file_name == "als.csv")
    (notice,) = [notice for notice in als.notices if notice.code == code]
    assert (notice.count, bookshop.BOOKS[0][:6] in notice.example) == (1, True)
    refusing = plan.with_settings(refuse=(code,))
    assert (plan.is_ready, refusing.is_ready, problems(refusing)) == (True, False, {code})


def test_a_notice_of_all_rows_is_refused_when_the_files_are_stored(workspace: Workspace) -> None:
    files = bookshop.files()
    lines = files["als.csv"].splitlines(keepends=True)
    files["als.csv"] = b"".join([*lines, lines[-1]])
    plan = planned(workspace, files).with_settings(refuse=("duplicate-pairs",))
    with pytest.raises(InputError, match="'duplicate-pairs' are refused, as you chose"):
        workspace.intake.commit(plan)
    assert workspace.experiments.all(archived=True) == []
    assert workspace.intake.commit(plan.with_settings(refuse=("ties",))).is_new


def test_swapped_users_and_items_are_noticed(workspace: Workspace) -> None:
    files = bookshop.files()
    files["als.csv"] = files["als.csv"].replace(b"customer,isbn", b"isbn,customer")
    plan = planned(workspace, files)
    als = next(file for file in plan.files if file.file_name == "als.csv")
    assert plan.is_ready
    assert (als.mapping["user_id"], als.mapping["item_id"]) == ("isbn", "customer")
    assert "ids-swapped" in {notice.code for notice in als.notices}
    done = workspace.intake.commit(plan)
    assert done.runs[1].run.ledger["without_list"] == 0


def test_swapped_columns_of_a_run_alone_are_told_by_the_test_set(workspace: Workspace) -> None:
    files = bookshop.files()
    few = {name: files[name] for name in ("orders_2026.csv", "als.csv")}
    few["als.csv"] = few["als.csv"].replace(b"customer,isbn", b"isbn,customer")
    plan = planned(workspace, few)
    als = next(file for file in plan.files if file.file_name == "als.csv")
    assert (plan.is_ready, als.mapping["user_id"]) == (True, "isbn")
    assert "ids-swapped" in {notice.code for notice in als.notices}


def test_items_that_do_not_meet_are_noticed_before_scoring(workspace: Workspace) -> None:
    files = bookshop.files()
    files["als.csv"] = files["als.csv"].replace(b"9780306", b"1112223")
    plan = planned(workspace, files)
    als = next(file for file in plan.files if file.file_name == "als.csv")
    assert (als.asks_ids, plan.is_ready, problems(plan)) == (True, False, {"no-common-item"})
    assert plan.with_choice("als.csv", accept_ids=True).is_ready
    assert plan.with_choice("als.csv", left_out=True).run_names == ("popular", "ease")
    with pytest.raises(InputError, match=r"als\.csv"):
        workspace.intake.commit(plan)


@pytest.mark.parametrize("rows", [1, 40])
def test_a_column_that_never_meets_the_test_set_is_not_taken_for_the_items(
    workspace: Workspace, rows: int
) -> None:
    """It is the only column that is left, so that it was guessed and not named."""
    files = {name: data for name, data in bookshop.files().items() if name == "orders_2026.csv"}
    customers = files["orders_2026.csv"].decode().splitlines()[1 : rows + 1]
    lists = "".join(f"{line.split(',')[0]},monday,1\n" for line in customers)
    files["als.csv"] = f"customer,when,rank\n{lists}".encode()
    plan = planned(workspace, files)
    (als,) = plan.of_kind("run")
    assert not plan.is_ready
    assert "item_id" not in als.mapping
    (problem,) = als.problems
    assert problem.found == "no item column: none of the values of 'when' is an item of the test set"
    chosen = {"user_id": "customer", "item_id": "when", "rank": "rank"}
    (als,) = plan.with_choice("als.csv", mapping=chosen).of_kind("run")
    assert als.mapping["item_id"] == "when"
    assert any("monday" in str(problem) for problem in (*als.problems, *als.notices))


def test_users_that_do_not_meet_cannot_be_accepted(workspace: Workspace) -> None:
    files = bookshop.files()
    files["als.csv"] = files["als.csv"].replace(b"C0", b"K9")
    plan = planned(workspace, files)
    assert problems(plan) == {"no-common-user"}
    assert problems(plan.with_choice("als.csv", accept_ids=True)) == {"no-common-user"}


RATED = bookshop.csv(
    ("user_id", "item_id", "rating"),
    [(user, book, 1 + (number + place) % 5) for number, user in enumerate(bookshop.USERS)
     for place, book in enumerate(bookshop.BOOKS[:5])],
)  # fmt: skip
"""Each of the 40 users gave each of the grades 1 to 5 once."""


def test_a_threshold_is_suggested_with_what_it_changes(workspace: Workspace) -> None:
    plan = planned(workspace, {**bookshop.files(), "orders_2026.csv": RATED})
    assert plan.relevance is not None
    assert (plan.relevance.threshold, plan.relevance.suggested) == (4, 4)
    assert (plan.relevance.rows, plan.relevance.kept_rows) == (200, 80)  # the grades 4 and 5
    assert (plan.relevance.users, plan.relevance.kept_users) == (40, 40)
    everything = plan.with_settings(threshold=0.0)
    assert everything.relevance is not None
    assert (everything.relevance.threshold, everything.relevance.kept_rows) == (None, 200)
    assert workspace.intake.commit(plan).experiment.settings["relevance_threshold"] == 4
    assert problems(plan.with_settings(threshold=6.0)) == {"nothing-relevant"}
    assert plan.with_settings(relevance="none").relevance is None


def test_what_is_missing_or_twice_is_said_together(workspace: Workspace) -> None:
    files = bookshop.files()
    assert problems(planned(workspace, {"als.csv": files["als.csv"]})) == {"no-test-set"}
    plan = planned(workspace, files).with_choice("orders_2025.csv", kind="truth")
    assert {file.file_name: file.kind for file in plan.files}["orders_2026.csv"] == "train"
    assert problems(plan.with_choice("orders_2026.csv", kind="truth")) == {"several-tables"}
    plan = planned(workspace, files).with_choice("ease.csv", run="als")
    assert problems(plan) == {"same-name"}
    together = plan.with_settings(replicates="seeds")
    assert (together.is_ready, together.run_names) == (True, ("popular", "als"))
    assert problems(planned(workspace, {"a.csv": b"colour,size\nred,1\n"})) == {"what-is-it"}
    assert not planned(workspace, {}).is_ready


def test_what_a_file_may_be_is_said_in_the_words_of_the_menu(workspace: Workspace) -> None:
    users = b"user_id,group,country\nu1,x,de\nu2,y,at\n"
    plan = planned(workspace, {**bookshop.files(), "people.csv": users})
    (problem,) = next(file.problems for file in plan.files if file.file_name == "people.csv")
    assert problem.fix == "Choose what it is: 'A/B test', 'User attributes', 'A/B test: exposures'."


def test_seeds_of_one_candidate_are_stored_as_one(workspace: Workspace) -> None:
    plan = planned(workspace, bookshop.files()).with_choice("popular.csv", left_out=True)
    plan = plan.with_settings(replicates="seeds").with_choice("ease.csv", run="mine")
    plan = plan.with_choice("als.csv", run="mine")
    (added,) = workspace.intake.commit(plan).runs
    assert added.run.replicated is not None
    assert added.run.replicated.labels == ("als", "ease")


def test_runs_are_added_to_an_experiment(workspace: Workspace) -> None:
    files = bookshop.files()
    ease = {"ease.csv": files.pop("ease.csv")}
    first = workspace.intake.commit(planned(workspace, files))
    plan = planned(workspace, ease, first.experiment.id)
    assert (plan.is_ready, plan.name, plan.depth) == (True, "orders_2026", None)
    done = workspace.intake.commit(plan)
    assert (done.is_new, done.experiment.id) == (False, first.experiment.id)
    assert len(workspace.runs.all(first.experiment.id)) == 3
    with_truth = planned(workspace, files, first.experiment.id)
    assert "has-test-set" in problems(with_truth)


def test_lists_in_any_order_with_columns_of_unknown_names_are_candidates(workspace: Workspace) -> None:
    files = bookshop.files(bookshop.UNKNOWN)
    stored = {name: data for name, data in files.items() if name not in ("als.csv", "ease.csv")}
    experiment = workspace.intake.commit(planned(workspace, stored)).experiment
    new = {}
    for name in ("als.csv", "ease.csv"):
        head, *lines = files[name].splitlines(keepends=True)
        new[name] = b"".join([head, *sorted(lines, key=lambda line: line[::-1])])
    plan = planned(workspace, new)
    assert (len(plan.of_kind("run")), plan.of_kind("truth")) == (2, ())
    plan = plan.with_experiment(experiment.id)
    assert (plan.is_ready, plan.run_names) == (True, ("als", "ease"))


def test_tags_note_and_params_belong_to_their_run(workspace: Workspace) -> None:
    plan = planned(workspace, bookshop.files()).with_choice("als.csv", tags=("new",), params={"dim": "64"})
    runs = {added.run.name: added.run for added in workspace.intake.commit(plan).runs}
    assert (runs["als"].tags, runs["als"].params, runs["ease"].tags) == (("new",), {"dim": "64"}, ())


def test_a_cancelled_intake_stores_nothing(workspace: Workspace) -> None:
    plan, said = planned(workspace, bookshop.files()), []

    def progress(_: float, text: str) -> None:
        said.append(text)

    with pytest.raises(IntakeCancelled):
        workspace.intake.commit(
            plan, progress=progress, cancelled=lambda: any("als" in text for text in said)
        )
    assert workspace.experiments.all(archived=True) == []
    assert any("popular" in text for text in said)


def test_a_refused_run_refuses_all_unless_it_is_skipped(workspace: Workspace) -> None:
    files = bookshop.files()
    # only scoring finds that the predictions may belong to either of two candidates
    head, *rows = files["als.csv"].decode().splitlines()
    models = [f"{row},{model}" for model in ("v1", "v2") for row in rows]
    files["als.csv"] = "\n".join([f"{head},model", *models]).encode()
    rated = [(user, bookshop.BOOKS[0], 4, 3.5) for user in bookshop.USERS]
    predictions = bookshop.csv(("customer", "isbn", "rating", "prediction"), rated)
    plan = planned(workspace, {**files, "rated.csv": predictions}).with_choice("rated.csv", run="als")
    assert (plan.is_ready, plan.run_names) == (True, ("popular", "als", "ease"))
    with pytest.raises(InputError, match="holds 2 candidates"):
        workspace.intake.commit(plan)
    assert workspace.experiments.all(archived=True) == []
    done = workspace.intake.commit(plan, skip_refused=True)
    assert [refused.name for refused in done.refused] == ["als"]
    assert [added.run.name for added in done.runs] == ["popular", "ease"]


SHOP_TEST = bookshop.csv(
    ("visitor", "variant", "orders"),
    [(f"v{number}", "ab"[number % 2], number % 3 % 2) for number in range(60)],
)


def test_an_ab_test_alone_is_a_valid_start(workspace: Workspace) -> None:
    plan = planned(workspace, {"shop.csv": SHOP_TEST})
    assert plan.test is not None
    assert (plan.is_ab_only, plan.is_ready, plan.test.variants) == (True, True, ("a", "b"))
    done = workspace.intake.commit(plan.with_settings(control="b"))
    assert done.test is not None
    assert (done.test.control, done.experiment.truth, done.experiment.name) == ("b", None, "shop")


def test_an_ab_test_beside_runs_is_linked_by_their_names(workspace: Workspace) -> None:
    plan = planned(workspace, {**bookshop.files(), "shop.csv": SHOP_TEST})
    done = workspace.intake.commit(plan.with_settings(links={"a": "popular", "b": "als"}))
    assert done.test is not None
    ids = {added.run.name: added.run.id for added in done.runs}
    assert dict(done.test.links) == {"a": ids["popular"], "b": ids["als"]}
    exposures = b"user_id,variant,ts\nu1,a,2026-01-01\nu2,b,2026-01-02\nu3,b,2026-01-02\n"
    assert problems(planned(workspace, {"seen.csv": exposures})) == {"incomplete-test"}


def test_the_variant_named_like_the_baseline_is_the_control(workspace: Workspace) -> None:
    """Of als and popular no name says which is the control; the first by name would be als."""
    done = workspace.intake.commit(planned(workspace, bookshop.files()))
    rows = [(f"u{n}", ("popular", "als")[n % 2], n % 3) for n in range(60)]
    shop = {"shop.csv": bookshop.csv(["user", "variant", "orders"], rows)}
    plan = planned(workspace, shop, done.experiment.id)
    assert plan.test is not None
    assert (plan.test.control, "guessed-control" in {notice.code for notice in plan.test.notices}) == (
        "popular",
        False,
    )
    chosen = plan.with_settings(control="als").test
    assert chosen is not None
    assert chosen.control == "als"
    alone = planned(workspace, shop).test
    assert alone is not None
    assert alone.control == "popular"


SHELF_TEST = bookshop.csv(
    ["user", "variant", "orders"], [(f"u{n}", ("shelf", "als")[n % 2], n % 3) for n in range(60)]
)


def control_of(plan: IntakePlan) -> str:
    assert plan.test is not None
    return plan.test.control


def test_the_variant_that_served_the_baseline_is_the_control(workspace: Workspace) -> None:
    """No variant is named like a control; the first by name is als, the new model."""
    files = bookshop.files()
    files["team_shelf.csv"] = files.pop("popular.csv")
    done = workspace.intake.commit(planned(workspace, files).with_settings(baseline="team_shelf"))
    plan = planned(workspace, {"shop.csv": SHELF_TEST}, done.experiment.id)
    assert control_of(plan) == "shelf"
    assert control_of(plan.with_settings(links={"als": "team_shelf", "shelf": "ease"})) == "als"
    assert control_of(plan.with_settings(links={"als": "team_shelf"}, control="shelf")) == "shelf"


def test_a_link_to_the_baseline_outweighs_a_name_such_as_a_but_not_the_name_control(
    workspace: Workspace,
) -> None:
    done = workspace.intake.commit(planned(workspace, bookshop.files()))
    plan = planned(workspace, {"shop.csv": SHOP_TEST}, done.experiment.id)
    assert control_of(plan) == "a"
    assert control_of(plan.with_settings(links={"a": "als", "b": "popular"})) == "b"
    rows = [(f"u{n}", ("control", "popular")[n % 2], n % 3) for n in range(60)]
    named = {"shop.csv": bookshop.csv(["user", "variant", "orders"], rows)}
    assert control_of(planned(workspace, named, done.experiment.id)) == "control"


def test_a_control_that_was_only_the_first_by_name_is_said_of_the_stored_test(workspace: Workspace) -> None:
    stored = workspace.intake.commit(planned(workspace, {"shop.csv": SHELF_TEST})).test
    assert stored is not None
    assert stored.control == "als"
    assert "guessed-control" in {notice.code for notice in stored.notices}


def test_a_test_whose_variant_is_linked_to_the_baseline_is_stored_with_it_as_control(
    workspace: Workspace,
) -> None:
    done = workspace.intake.commit(planned(workspace, bookshop.files()))
    ids = {added.run.name: added.run.id for added in done.runs}
    tables = {"sessions": SHELF_TEST}
    links = {"shelf": ids["popular"], "als": ids["als"]}
    test = workspace.online_tests.add(done.experiment.id, "shop", tables, links=links)
    assert (test.control, "guessed-control" in {notice.code for notice in test.notices}) == ("shelf", False)
    chosen = workspace.online_tests.add(done.experiment.id, "own", tables, control="als", links=links)
    assert chosen.control == "als"


def test_a_test_is_found_again_whether_its_control_came_from_its_links_or_not(workspace: Workspace) -> None:
    done = workspace.intake.commit(planned(workspace, bookshop.files()))
    ids = {added.run.name: added.run.id for added in done.runs}
    home, tables = done.experiment.id, {"sessions": SHELF_TEST}
    links = {"shelf": ids["popular"], "als": ids["als"]}
    linked = workspace.online_tests.add(home, "linked", tables, links=links)
    for given in ({"links": links}, {}, {"control": "shelf"}):
        again = workspace.online_tests.add(home, "linked", tables, **given)
        assert (again.id, again.control, again.links) == (linked.id, "shelf", links)
    with pytest.raises(NameTaken):
        workspace.online_tests.add(home, "linked", tables, control="als")
    guessed = workspace.online_tests.add(home, "guessed", tables)
    later = workspace.online_tests.add(home, "guessed", tables, links=links)
    assert (later.id, later.control, later.links) == (guessed.id, "als", links)


def test_the_control_that_links_show_is_counted_before_the_transaction(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = workspace.intake.commit(planned(workspace, bookshop.files()))
    ids = {added.run.name: added.run.id for added in done.runs}
    links = {"shelf": ids["popular"], "als": ids["als"]}

    with monkeypatch.context() as patch:

        def refuse(*_: Any, **__: Any) -> None:
            pytest.fail("counted in the transaction")

        def storing(store: Store, stage: Callable[[], Any], rows: Callable[[Any], Any]) -> Any:
            staged = stage()
            for counting in ("counted_test", "of_users", "users_of"):
                patch.setattr(tests, counting, refuse)
            with store.transaction():
                return rows(staged)

        patch.setattr(tests, "store_with_files", storing)
        tables = {"sessions": SHELF_TEST}
        stored = workspace.online_tests.add(done.experiment.id, "shop", tables, links=links)
    assert stored.control == "shelf"
    assert list(stored.results) == workspace.online_tests.results(stored.id).records()


def test_lists_that_are_the_same_for_all_users_are_the_suggested_baseline(workspace: Workspace) -> None:
    draw, users = random.Random(5), [f"u{n}" for n in range(25)]
    truth = "user_id,item_id\n" + "".join(f"{user},i{draw.randrange(40)}\n" for user in users)
    own = "".join(f"{user},i{item}\n" for user in users for item in draw.sample(range(40), 4))
    same = "".join(f"{user},i1,i2,i3,i{4 + n % 3}\n" for n, user in enumerate(users))
    files = {
        "test.csv": truth.encode(),
        "als.csv": f"user_id,item_id\n{own}".encode(),
        "top.csv": f"user_id,rec_1,rec_2,rec_3,rec_4\n{same}".encode(),
    }
    plan = planned(workspace, files).with_choice("als.csv", kind="run")
    assert (plan.run_names, plan.baseline) == (("als", "top"), "top")
    assert plan.with_settings(baseline="als").baseline == "als"


SHOP = {
    "Käufe KW40": [["Kunde", "Artikel"], *([f"K-{n}", f"A{n % 7}"] for n in range(20))],
    "Topseller": [
        ["Kunde", "Artikel", "Rang"],
        *([f"K-{n}", f"A{rank}", rank] for n in range(20) for rank in (1, 2, 3)),
    ],
    "LightGCN": [
        ["Kunde", "Artikel", "Rang"],
        *([f"K-{n}", f"A{(n + rank) % 7}", rank] for n in range(20) for rank in (1, 2, 3)),
    ],
    "Sortiment": [["Artikel", "Bezeichnung"], *([f"A{n}", f"Produkt {n}"] for n in range(7))],
    "Pivot": [["", "Summe", "Anteil"], *([f"Woche {n}", 3.5 * n, 0.1] for n in range(3))],
    "Notiz": [["Stand September"], ["vorläufig"]],
}


def test_each_sheet_of_a_workbook_is_a_table(workspace: Workspace) -> None:
    plan = planned(workspace, {"shop.xlsx": workbook(SHOP)})
    assert [(file.file_name, file.kind, file.left_out) for file in plan.files] == [
        ("Käufe KW40", "truth", False),
        ("Topseller", "run", False),
        ("LightGCN", "run", False),
        ("Sortiment", "catalogue", False),
        ("Pivot", None, True),
    ]
    assert (plan.is_ready, plan.name, plan.given_keys) == (True, "Käufe KW40", ["shop.xlsx"])
    assert {file.sheets for file in plan.files} == {()}
    chosen = plan.with_choice("shop.xlsx/Pivot", kind="users")
    assert [file.file_name for file in chosen.used][-1] == "Pivot"
    done = workspace.intake.commit(plan)
    assert {added.run.name for added in done.runs} == {"Topseller", "LightGCN"}


def test_a_sheet_with_a_title_above_its_table_is_not_lost(workspace: Workspace) -> None:
    book = {**SHOP, "LightGCN": [["Recommendations of LightGCN, March"], [], *SHOP["LightGCN"]]}
    plan = planned(workspace, {"shop.xlsx": workbook(book)})
    (titled,) = [file for file in plan.files if file.file_name == "LightGCN"]
    assert (titled.kind, titled.left_out, plan.is_ready) == ("run", False, True)
    assert "comments" in {notice.code for notice in titled.notices}


def test_sheets_whose_names_differ_only_by_blanks_are_told_apart(workspace: Workspace) -> None:
    book = {"als": SHOP["LightGCN"], "als ": SHOP["LightGCN"]}
    (problem,) = [
        problem
        for problem in planned(workspace, {"runs.xlsx": workbook(book)}).all_problems
        if problem.code == "same-name"
    ]
    assert problem.found == "2 sheets have this name, apart from blanks at its ends: 'als' and 'als '"


def test_a_workbook_of_one_table_stays_one_file(workspace: Workspace) -> None:
    book = {name: SHOP[name] for name in ("Notiz", "Käufe KW40")}
    (file,) = planned(workspace, {"shop.xlsx": workbook(book)}).files
    assert (file.file_name, file.kind, file.sheet) == ("shop.xlsx", "truth", "Käufe KW40")
