"""What any store must do: a backend's test class inherits this one and says how to open its store."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from sqlalchemy import Engine, event, select, text
from sqlalchemy.orm import Session

from recdash.domain.journal import Entry, LinkUse, Report, SavedView, ShareLink
from recdash.domain.records import Experiment, KeptEstimate, OnlineTest, Run
from recdash.domain.results import Curve
from recdash.errors import Forbidden, NameTaken, NotFound, Problem
from recdash.store import Store, new_id
from recdash.store.audit import SEALS, hash_of
from recdash.store.tables import AuditEventRow, audit_event_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTICE = Problem("tie", "user '7'", "two items share rank 1", "The first in the file counts.", 3)
NAMES = (
    "ünï‑çødé 映画 🎬",
    "<script>alert(1)</script> [x](http://y) **b**",
    "x" * 80,
    "quote ' \" ; -- %s :name",
)

Open = Callable[..., Store]


def put_table(store: Store, *values: int) -> str:
    return store.artifacts.put(pa.table({"item_id": list(values)}))


def add_experiment(store: Store, name: str = "Films", created: datetime = NOON) -> Experiment:
    return store.experiments.add(Experiment(new_id(), name, created, truth=put_table(store, 1, 2)))


def a_run(experiment: Experiment, name: str = "als", upload: str | None = None) -> Run:
    return Run(new_id(), experiment.id, name, NOON, slot=0, upload=upload, hits={}, ledger={})


def of_seeds(run: Run, *labels: str) -> Run:
    """The candidate that was uploaded once for each label."""
    replicates = {"kind": "seeds", "noun": "seed", "labels": list(labels)}
    return dataclasses.replace(run, provenance={**run.provenance, "replicates": replicates})


def with_older_log(engine: Engine) -> None:
    """Gives the lines of the audit log plain hashes and no seals, as older releases wrote them."""
    with Session(engine) as session, session.begin():
        before = ""
        for line in session.scalars(select(AuditEventRow).order_by(AuditEventRow.number)):
            details = json.loads(line.details)
            details.pop(SEALS, None)
            line.details = json.dumps(details)
            before = line.hash = hash_of(audit_event_of(line), before)


def a_curve(metric: str = "ndcg", depth: int = 3) -> Curve:
    k = np.arange(1, depth + 1)
    return Curve(metric, k, value=k / 10, std_error=k / 100, n_users=7)


def a_test(store: Store, experiment: Experiment, name: str = "March", **fields: object) -> OnlineTest:
    test = OnlineTest(new_id(), experiment.id, name, NOON, "sessions", put_table(store, 9), control="A")
    return dataclasses.replace(test, **fields)


def assert_same_curve(found: Curve, expected: Curve) -> None:
    assert (found.metric, found.n_users) == (expected.metric, expected.n_users)
    for name in ("k", "value", "std_error"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), strict=False)


@contextmanager
def counted_queries() -> Iterator[list[str]]:
    """The SQL statements that run inside the block, on any connection."""
    statements: list[str] = []

    def note(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.lstrip().upper().startswith("SELECT"):
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def in_threads(n_threads: int, work: Callable[[int], object]) -> None:
    """Run ``work(0)`` … ``work(n_threads - 1)`` at once; what one of them raises is raised here."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001  # handed to the test below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class StoreContract:
    """Inherit this and provide the fixture ``open_again``, which opens one and the same store."""

    @pytest.fixture
    def store(self, open_again: Open) -> Store:
        return open_again()

    # what comes out is what went in ────────────────────────────────────────────────────────────

    def test_an_experiment_comes_back_as_it_was_after_reopening(self, store: Store, open_again: Open) -> None:
        truth, train, catalogue, users = (put_table(store, number) for number in (1, 2, 3, 4))
        experiment = Experiment(
            new_id(), "Films", NOON, truth, train, catalogue, tables={"users": users},
            settings={"depth": 100, "threshold": 3.5, "users": ["truth"]}, note="n", archived=NOON, demo=True,
        )  # fmt: skip
        assert store.experiments.add(experiment) == experiment
        assert open_again().experiments.get(experiment.id) == experiment

    def test_an_experiment_without_a_test_set_gets_one_later(self, store: Store, open_again: Open) -> None:
        experiment = store.experiments.add(Experiment(new_id(), "Shop", NOON, truth=None))
        test = store.online_tests.add(a_test(store, experiment))
        assert open_again().experiments.get(experiment.id).truth is None
        truth = put_table(store, 1, 2)
        store.experiments.update(experiment.id, truth=truth, settings={"depth": 10})
        again = open_again()
        assert again.experiments.get(experiment.id).truth == truth
        assert again.online_tests.of_experiment(experiment.id) == [test]
        assert again.artifacts.collect() == 0, "the test set is needed"

    def test_a_run_comes_back_as_it_was_after_reopening(self, store: Store, open_again: Open) -> None:
        upload = put_table(store, 1)
        run = Run(
            new_id(), add_experiment(store).id, "als", NOON, slot=0, upload=upload, hits={"hits": upload},
            ledger={"counted": 5, "tied_rows": None}, notices=(NOTICE,), tags=("new", "映画"), note="n",
            params={"factors": "64"}, absent={"rmse": "No predictions."}, provenance={"rows": 12},
            archived=NOON,
        )  # fmt: skip
        assert store.runs.add(run, []) == run
        assert open_again().runs.get(run.id) == run

    def test_an_online_test_comes_back_as_it_was_after_reopening(
        self, store: Store, open_again: Open
    ) -> None:
        experiment = add_experiment(store)
        results = ({"metric": "engaged", "lift": 0.125}, {"metric": "watched", "lift": None})
        test = a_test(
            store, experiment, links={"B": "run1"}, results=results, notices=(NOTICE,), archived=NOON
        )
        assert store.online_tests.add(test) == test
        assert open_again().online_tests.get(test.id) == test

    def test_a_result_that_is_not_a_number_stays_not_a_number(self, store: Store) -> None:
        test = store.online_tests.add(a_test(store, add_experiment(store), results=({"p": float("nan")},)))
        assert np.isnan(store.online_tests.get(test.id).results[0]["p"])

    def test_a_numpy_number_in_the_settings_comes_back_as_a_number(self, store: Store) -> None:
        experiment = add_experiment(store)
        assert store.experiments.update(experiment.id, settings={"depth": np.int64(20)}).settings == {
            "depth": 20
        }

    @pytest.mark.parametrize(
        "curve",
        [
            a_curve(depth=100),
            Curve("recall", np.array([1, 5, 10]), np.array([0.1, 0.2, 0.3]), np.full(3, np.nan), 7),
            Curve("rmse", np.array([], dtype=int), np.array([0.9]), np.array([0.01]), 7),
            Curve("ndcg(gain=exp)", np.array([1]), np.array([1 / 3]), np.array([5e-324]), 2**40),
        ],
        ids=["every k", "some k", "no k", "one k and a parameter"],
    )
    def test_a_curve_comes_back_to_the_last_bit(self, store: Store, curve: Curve) -> None:
        run = store.runs.add(a_run(add_experiment(store)), [curve])
        assert_same_curve(store.curves.of_runs([run.id])[run.id][curve.metric], curve)

    @pytest.mark.parametrize("name", NAMES)
    def test_any_name_is_kept_as_it_was_typed(self, store: Store, name: str) -> None:
        experiment = add_experiment(store, name)
        run = store.runs.add(
            dataclasses.replace(a_run(experiment, name), tags=(name,), params={name: name}), []
        )
        assert store.experiments.named(name) == experiment
        assert store.runs.of_experiment(experiment.id) == [run]
        assert (run.name, run.tags, run.params) == (name, (name,), {name: name})

    def test_a_time_of_another_zone_comes_back_as_the_same_moment_in_utc(self, store: Store) -> None:
        in_paris = datetime(2026, 3, 1, 13, 0, 0, 123456, tzinfo=timezone(timedelta(hours=1)))
        created = add_experiment(store, created=in_paris).created
        assert (created, created.tzinfo) == (in_paris, UTC)

    # names and ids ─────────────────────────────────────────────────────────────────────────────

    def test_adding_a_run_again_changes_nothing_and_returns_the_stored_one(self, store: Store) -> None:
        experiment = add_experiment(store)
        run = store.runs.add(a_run(experiment), [a_curve()])
        again = store.runs.add(dataclasses.replace(run, note="second try"), [a_curve("recall")])
        assert again == run
        assert store.runs.of_experiment(experiment.id) == [run]
        assert store.curves.metrics([run.id]) == {run.id: ("ndcg",)}

    def test_two_experiments_cannot_have_one_name(self, store: Store) -> None:
        add_experiment(store, "Films")
        with pytest.raises(NameTaken, match="already has the name 'Films'"):
            add_experiment(store, "Films")

    def test_two_runs_of_an_experiment_cannot_have_one_name(self, store: Store) -> None:
        films, books = add_experiment(store, "Films"), add_experiment(store, "Books")
        run = store.runs.add(a_run(films, "als"), [])
        store.runs.add(a_run(books, "als"), [])
        with pytest.raises(NameTaken, match="already has the name 'als'"):
            store.runs.add(a_run(films, "als"), [])
        assert store.runs.of_experiment(films.id) == [run]

    def test_a_run_cannot_be_renamed_to_a_name_in_use_but_keeps_its_own(self, store: Store) -> None:
        experiment = add_experiment(store)
        store.runs.add(a_run(experiment, "als"), [])
        run = store.runs.add(a_run(experiment, "ease"), [])
        with pytest.raises(NameTaken):
            store.runs.update(run.id, name="als")
        assert store.runs.update(run.id, name="ease", note="same name").name == "ease"

    def test_the_name_of_an_archived_run_stays_taken(self, store: Store) -> None:
        experiment = add_experiment(store)
        store.runs.update(store.runs.add(a_run(experiment), []).id, archived=NOON)
        with pytest.raises(NameTaken):
            store.runs.add(a_run(experiment), [])

    def test_an_id_that_does_not_exist_is_named(self, store: Store) -> None:
        calls: list[Callable[[str], object]] = [
            store.experiments.get, store.experiments.update, store.experiments.delete,
            store.runs.get, store.runs.update, store.runs.delete,
            store.online_tests.get, store.online_tests.update, store.online_tests.delete,
        ]  # fmt: skip
        for call in calls:
            with pytest.raises(NotFound, match="the id 'nobody'"):
                call("nobody")

    def test_a_run_of_an_unknown_experiment_is_refused(self, store: Store) -> None:
        with pytest.raises(NotFound, match="No experiment"):
            store.runs.add(Run(new_id(), "nobody", "als", NOON, 0, None, {}, {}), [])

    def test_a_run_whose_file_was_never_put_is_refused(self, store: Store) -> None:
        experiment = add_experiment(store)
        with pytest.raises(NotFound, match="f" * 64):
            store.runs.add(a_run(experiment, upload="f" * 64), [a_curve()])
        assert store.runs.of_experiment(experiment.id) == []

    # slots ─────────────────────────────────────────────────────────────────────────────────────

    def test_slots_count_from_zero_in_each_experiment(self, store: Store) -> None:
        films, books = add_experiment(store, "Films"), add_experiment(store, "Books")
        slots = [store.runs.add(a_run(films, name), []).slot for name in "abc"]
        assert (slots, store.runs.add(a_run(books), []).slot) == ([0, 1, 2], 0)

    def test_the_slot_of_a_deleted_run_is_never_used_again(self, store: Store) -> None:
        experiment = add_experiment(store)
        runs = [store.runs.add(a_run(experiment, name), []) for name in "ab"]
        for run in runs:
            store.runs.delete(run.id)
        assert store.runs.add(a_run(experiment, "c"), []).slot == 2

    def test_a_refused_run_uses_no_slot(self, store: Store) -> None:
        experiment = add_experiment(store)
        store.runs.add(a_run(experiment, "a"), [])
        with pytest.raises(NameTaken):
            store.runs.add(a_run(experiment, "a"), [])
        assert store.runs.add(a_run(experiment, "b"), []).slot == 1

    def test_a_reference_candidate_stands_last_and_uses_up_no_slot(self, store: Store) -> None:
        experiment = add_experiment(store)
        store.runs.add(a_run(experiment, "a"), [])
        for name in ("Oracle", "Random"):
            made = {"reference": name.lower()}
            store.runs.add(dataclasses.replace(a_run(experiment, name), provenance=made), [])
        assert store.runs.add(a_run(experiment, "b"), []).slot == 1
        assert [run.name for run in store.runs.of_experiment(experiment.id)] == ["a", "b", "Oracle", "Random"]

    # replicates ────────────────────────────────────────────────────────────────────────────────

    def test_replicates_come_back_in_their_order_below_their_candidate(
        self, store: Store, open_again: Open
    ) -> None:
        experiment = add_experiment(store)
        labels = ("7", "42", "1")
        seeds = [a_run(experiment, label) for label in labels]
        run = store.runs.add(
            of_seeds(a_run(experiment), *labels), [], [(seed, [a_curve()]) for seed in seeds]
        )
        plain = store.runs.add(a_run(experiment, "ease"), [])
        replicates = open_again().runs.replicates([run.id, plain.id])
        assert [one.name for one in replicates[run.id]] == ["7", "42", "1"]
        assert {one.replicate_of for one in replicates[run.id]} == {run.id}
        assert replicates[plain.id] == []
        assert store.curves.metrics([seeds[1].id]) == {seeds[1].id: ("ndcg",)}
        assert store.runs.get(seeds[0].id) == replicates[run.id][0]

    def test_a_replicate_is_not_listed_and_uses_up_no_slot(self, store: Store) -> None:
        experiment = add_experiment(store)
        upload = put_table(store, 5)
        seeds = [a_run(experiment, label, upload) for label in "12"]
        run = store.runs.add(of_seeds(a_run(experiment), "1", "2"), [], [(seed, []) for seed in seeds])
        other = store.runs.add(a_run(experiment, "ease"), [])
        assert store.runs.of_experiment(experiment.id, archived=True) == [run, other]
        assert [run.slot, other.slot] == [0, 1]
        assert all(one.slot < 0 for one in store.runs.replicates([run.id])[run.id])
        assert store.runs.find(experiment.id, upload) is None
        with pytest.raises(NotFound):
            store.experiments.update(experiment.id, baseline=seeds[0].id)

    def test_labels_are_names_within_one_candidate_only(self, store: Store) -> None:
        experiment = add_experiment(store)
        for name in ("als", "1"):
            store.runs.add(of_seeds(a_run(experiment, name), "1"), [], [(a_run(experiment, "1"), [])])
        assert [run.name for run in store.runs.of_experiment(experiment.id)] == ["als", "1"]

    def test_a_label_that_is_there_twice_stores_nothing(self, store: Store) -> None:
        experiment = add_experiment(store)
        twice = [(a_run(experiment, "1"), []), (a_run(experiment, "1"), [])]
        with pytest.raises(NameTaken):
            store.runs.add(a_run(experiment), [a_curve()], twice)
        assert store.runs.of_experiment(experiment.id) == []

    def test_a_deleted_candidate_takes_its_replicates_and_their_curves_along(self, store: Store) -> None:
        experiment = add_experiment(store)
        seeds = [a_run(experiment, label) for label in "12"]
        run = store.runs.add(
            of_seeds(a_run(experiment), "1", "2"), [], [(seed, [a_curve()]) for seed in seeds]
        )
        store.runs.delete(run.id)
        assert store.curves.metrics([seed.id for seed in seeds]) == {seed.id: () for seed in seeds}
        for seed in seeds:
            with pytest.raises(NotFound):
                store.runs.get(seed.id)

    # listing ───────────────────────────────────────────────────────────────────────────────────

    def test_experiments_are_listed_newest_first_and_runs_by_slot(self, store: Store) -> None:
        old, new = add_experiment(store, "old"), add_experiment(store, "new", NOON + timedelta(seconds=1))
        runs = [store.runs.add(a_run(old, name), []) for name in "cab"]
        assert store.experiments.all() == [new, old]
        assert store.runs.of_experiment(old.id) == runs
        assert store.runs.of_experiment(new.id) == []

    def test_archived_things_are_listed_only_on_request(self, store: Store) -> None:
        experiment = add_experiment(store)
        run = store.runs.add(a_run(experiment), [])
        test = store.online_tests.add(a_test(store, experiment))
        run = store.runs.update(run.id, archived=NOON)
        test = store.online_tests.update(test.id, archived=NOON)
        experiment = store.experiments.update(experiment.id, archived=NOON)
        assert (
            store.experiments.all(),
            store.runs.of_experiment(experiment.id),
            store.online_tests.of_experiment(experiment.id),
        ) == (
            [],
            [],
            [],
        )
        assert store.experiments.all(archived=True) == [experiment]
        assert store.runs.of_experiment(experiment.id, archived=True) == [run]
        assert store.online_tests.of_experiment(experiment.id, archived=True) == [test]

    def test_a_restored_run_is_listed_again(self, store: Store) -> None:
        experiment = add_experiment(store)
        run = store.runs.add(dataclasses.replace(a_run(experiment), archived=NOON), [])
        restored = store.runs.update(run.id, archived=None)
        assert store.runs.of_experiment(experiment.id) == [restored]

    @pytest.mark.parametrize("n_runs", [50, pytest.param(200, marks=pytest.mark.long)])
    def test_listing_many_runs_with_their_curves_takes_two_queries(self, store: Store, n_runs: int) -> None:
        experiment = add_experiment(store)
        for number in range(n_runs):
            store.runs.add(a_run(experiment, f"run {number}"), [a_curve("ndcg"), a_curve("recall")])
        with counted_queries() as queries:
            runs = store.runs.of_experiment(experiment.id)
            curves = store.curves.of_runs([run.id for run in runs], ["ndcg"])
        assert (len(runs), len(curves), len(queries)) == (n_runs, n_runs, 2)
        assert all(list(value) == ["ndcg"] for value in curves.values())

    def test_every_run_asked_for_has_an_entry_in_the_order_asked(self, store: Store) -> None:
        experiment = add_experiment(store)
        bare = store.runs.add(a_run(experiment, "bare"), [])
        full = store.runs.add(a_run(experiment, "full"), [a_curve("recall"), a_curve("ndcg")])
        asked = [full.id, "nobody", bare.id]
        assert {run: list(found) for run, found in store.curves.of_runs(asked).items()} == {
            full.id: ["ndcg", "recall"], "nobody": [], bare.id: [],
        }  # fmt: skip
        assert list(store.curves.of_runs(asked)) == asked
        assert store.curves.metrics(asked) == {full.id: ("ndcg", "recall"), "nobody": (), bare.id: ()}
        assert store.curves.of_runs([]) == {}

    def test_an_upload_finds_its_run_in_its_experiment_only(self, store: Store) -> None:
        films, books = add_experiment(store, "Films"), add_experiment(store, "Books")
        upload = put_table(store, 5)
        archived = store.runs.add(dataclasses.replace(a_run(films, "old", upload), archived=NOON), [])
        assert store.runs.find(films.id, upload) == archived
        run = store.runs.add(a_run(films, "new", upload), [])
        assert store.runs.find(films.id, upload) == run
        assert store.runs.find(books.id, upload) is None

    # changing and deleting ─────────────────────────────────────────────────────────────────────

    def test_only_the_fields_given_change(self, store: Store) -> None:
        run = store.runs.add(a_run(add_experiment(store)), [a_curve()])
        changed = store.runs.update(run.id, name="ials", tags=["a"], note="n", params={"k": "5"})
        assert changed == dataclasses.replace(run, name="ials", tags=("a",), note="n", params={"k": "5"})
        assert store.runs.get(run.id) == changed

    @pytest.mark.parametrize("field", ["id", "slot", "created", "experiment", "nme", "replicate_of"])
    def test_what_makes_a_run_itself_cannot_be_changed(self, store: Store, field: str) -> None:
        run = store.runs.add(a_run(add_experiment(store)), [])
        with pytest.raises(TypeError, match=field):
            store.runs.update(run.id, **{field: 5})

    def test_the_baseline_must_be_a_run_of_the_experiment(self, store: Store) -> None:
        films, books = add_experiment(store, "Films"), add_experiment(store, "Books")
        own, foreign = store.runs.add(a_run(films), []), store.runs.add(a_run(books), [])
        assert store.experiments.update(films.id, baseline=own.id).baseline == own.id
        with pytest.raises(NotFound, match=foreign.id):
            store.experiments.update(films.id, baseline=foreign.id)
        assert store.experiments.get(films.id).baseline == own.id

    def test_a_deleted_run_is_gone_with_its_curves_its_baseline_and_its_links(self, store: Store) -> None:
        experiment = add_experiment(store)
        gone, kept = (store.runs.add(a_run(experiment, name), [a_curve()]) for name in ("gone", "kept"))
        store.experiments.update(experiment.id, baseline=gone.id)
        test = store.online_tests.add(a_test(store, experiment, links={"A": kept.id, "B": gone.id}))
        store.runs.delete(gone.id)
        assert store.runs.of_experiment(experiment.id) == [kept]
        assert store.curves.metrics([gone.id, kept.id]) == {gone.id: (), kept.id: ("ndcg",)}
        assert store.experiments.get(experiment.id).baseline is None
        assert store.online_tests.get(test.id).links == {"A": kept.id}

    def test_a_deleted_experiment_takes_its_runs_curves_and_online_tests_along(self, store: Store) -> None:
        gone, kept = add_experiment(store, "gone"), add_experiment(store, "kept")
        runs = [store.runs.add(a_run(experiment), [a_curve()]) for experiment in (gone, kept)]
        test = store.online_tests.add(a_test(store, gone))
        store.experiments.delete(gone.id)
        assert store.experiments.all() == [kept]
        assert store.curves.metrics([run.id for run in runs]) == {runs[0].id: (), runs[1].id: ("ndcg",)}
        for read, key in ((store.runs.get, runs[0].id), (store.online_tests.get, test.id)):
            with pytest.raises(NotFound):
                read(key)

    def test_a_deleted_online_test_is_gone(self, store: Store) -> None:
        experiment = add_experiment(store)
        test = store.online_tests.add(a_test(store, experiment))
        store.online_tests.delete(test.id)
        assert store.online_tests.of_experiment(experiment.id, archived=True) == []

    def test_files_of_all_tables_of_an_experiment_are_kept_when_others_are_collected(
        self, store: Store
    ) -> None:
        truth, users, vectors = (put_table(store, number) for number in (1, 2, 3))
        store.experiments.add(
            Experiment(new_id(), "Films", NOON, truth, tables={"users": users, "vectors": vectors})
        )
        unused = put_table(store, 4)
        assert store.artifacts.collect(older_than=timedelta(seconds=-60)) == 1
        assert [store.artifacts.table(sha256).num_rows for sha256 in (truth, users, vectors)] == [1, 1, 1]
        with pytest.raises(NotFound):
            store.artifacts.table(unused)

    def test_an_experiment_needs_the_files_of_all_its_tables(self, store: Store) -> None:
        experiment = Experiment(new_id(), "Films", NOON, put_table(store, 1), tables={"users": "0" * 64})
        with pytest.raises(NotFound):
            store.experiments.add(experiment)
        assert store.experiments.all() == []

    def test_files_of_a_deleted_run_go_with_it(self, store: Store) -> None:
        experiment = add_experiment(store)
        upload, hits = put_table(store, 5), put_table(store, 6)
        run = store.runs.add(dataclasses.replace(a_run(experiment, upload=upload), hits={"hits": hits}), [])
        other = store.runs.add(a_run(experiment, "other", upload), [])
        young = put_table(store, 7)
        assert store.artifacts.garbage(timedelta(seconds=-60), dry_run=True).n_files == 1
        store.runs.delete(run.id)
        assert store.artifacts.table(upload).num_rows == 1, "another run needs it"
        store.runs.delete(other.id)
        assert store.artifacts.table(young).num_rows == 1, "its row may be stored any moment"
        for sha256 in (upload, hits):
            with pytest.raises(NotFound):
                store.artifacts.path(sha256)
        assert store.artifacts.table(experiment.truth).num_rows == 2
        store.experiments.delete(experiment.id)
        with pytest.raises(NotFound):
            store.artifacts.table(experiment.truth)
        (garbage, none) = (store.artifacts.garbage(timedelta(seconds=-60)) for _ in range(2))
        assert (garbage.n_files, garbage.n_bytes > 100, garbage.refused) == (1, True, "")
        assert (none.n_files, none.n_bytes) == (0, 0)

    # one transaction ──────────────────────────────────────────────────────────────────────────

    def test_what_is_written_together_is_seen_by_its_writer_and_by_others_when_it_is_complete(
        self, store: Store, open_again: Open
    ) -> None:
        other, seen = open_again(), list[Experiment]()
        with store.transaction():
            home = add_experiment(store)
            run = store.runs.add(a_run(home), [a_curve()])
            store.experiments.update(home.id, baseline=run.id)
            assert store.experiments.get(home.id).baseline == run.id
            assert [known.id for known in store.runs.of_experiment(home.id)] == [run.id]
            assert list(store.curves.of_runs([run.id])[run.id]) == ["ndcg"]
            in_threads(1, lambda _: seen.extend(store.experiments.all()))
            assert seen == other.experiments.all() == []
        assert other.experiments.get(home.id).baseline == run.id
        assert store.audit.breaks() == []

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, NotFound])
    def test_what_is_written_together_is_not_written_if_anything_fails(
        self, store: Store, error: type[BaseException]
    ) -> None:
        kept = add_experiment(store, "kept")

        def write() -> None:
            with store.transaction():
                add_experiment(store)
                store.experiments.update(kept.id, note="x")
                raise error

        with pytest.raises(error):
            write()
        assert store.experiments.all() == [kept]
        assert len(store.audit.events()) == 1
        add_experiment(store)  # the next writer is not kept out

    def test_a_write_that_is_refused_takes_back_itself_alone(self, store: Store) -> None:
        with store.transaction(), store.transaction():
            home = add_experiment(store)
            store.runs.add(a_run(home), [])
            with pytest.raises(NameTaken):
                store.runs.add(a_run(home), [a_curve()])
            with pytest.raises(NotFound):
                store.runs.get("none")
            store.runs.add(a_run(home, "other"), [])
        assert [run.name for run in store.runs.of_experiment(home.id)] == ["als", "other"]
        assert store.audit.breaks() == []

    def test_a_reader_begins_no_transaction(self, store: Store) -> None:
        reader = store.by("ann", "viewer", read_only=True)
        with pytest.raises(Forbidden), reader.transaction():
            raise AssertionError

    # several at once ───────────────────────────────────────────────────────────────────────────

    def test_writers_in_threads_lose_nothing_and_share_no_slot(self, store: Store) -> None:
        experiment = add_experiment(store)

        def add_five(thread: int) -> None:
            for number in range(5):
                store.runs.add(a_run(experiment, f"{thread}-{number}"), [a_curve()])
                store.runs.of_experiment(experiment.id)

        in_threads(8, add_five)
        runs = store.runs.of_experiment(experiment.id)
        assert {run.name for run in runs} == {
            f"{thread}-{number}" for thread in range(8) for number in range(5)
        }
        assert [run.slot for run in runs] == list(range(40))

    def test_the_same_run_added_by_several_threads_is_stored_once(self, store: Store) -> None:
        experiment = add_experiment(store)
        run = a_run(experiment)
        in_threads(8, lambda _: store.runs.add(run, [a_curve()]))
        assert store.runs.of_experiment(experiment.id) == [run]

    def test_two_open_stores_see_each_others_writes(self, store: Store, open_again: Open) -> None:
        experiment = add_experiment(store)
        other = open_again()
        run = other.runs.add(a_run(experiment), [])
        assert store.runs.of_experiment(experiment.id) == [run]

    # reading only ──────────────────────────────────────────────────────────────────────────────

    def test_a_read_only_store_reads_everything_and_refuses_every_write(
        self, store: Store, open_again: Open
    ) -> None:
        experiment = add_experiment(store)
        run = store.runs.add(a_run(experiment), [a_curve()])
        viewer = open_again(read_only=True)
        assert (viewer.read_only, store.read_only) == (True, False)
        assert (viewer.experiments.all(), viewer.runs.of_experiment(experiment.id)) == ([experiment], [run])
        assert viewer.artifacts.table(experiment.truth) == store.artifacts.table(experiment.truth)
        writes: list[Callable[[], object]] = [
            lambda: viewer.experiments.add(experiment),
            lambda: viewer.experiments.update(experiment.id, note="x"),
            lambda: viewer.experiments.delete(experiment.id),
            lambda: viewer.runs.add(run, []),
            lambda: viewer.runs.update(run.id, note="x"),
            lambda: viewer.runs.delete(run.id),
            lambda: viewer.online_tests.add(a_test(store, experiment)),
            lambda: viewer.online_tests.update("any", name="x"),
            lambda: viewer.online_tests.delete("any"),
            lambda: viewer.journal.add(Entry("e", experiment.id, NOON, "ann", "comment")),
            lambda: viewer.reports.add(Report("r", experiment.id, NOON, "ann", "Spring")),
            lambda: viewer.reports.update("any", archived=NOON),
            lambda: viewer.reports.delete("any"),
            lambda: viewer.share_links.add(ShareLink("l", experiment.id, NOON, "ann", NOON)),
            lambda: viewer.share_links.update("any", revoked=NOON),
            lambda: viewer.share_links.note_use("any", NOON, opened=True),
            lambda: viewer.ended_sessions.add("s", NOON, NOON),
            lambda: viewer.saved_views.add(SavedView("v", experiment.id, "main", NOON, "ann", "overview")),
            lambda: viewer.saved_views.delete("any"),
            lambda: viewer.estimates.add(KeptEstimate("o", experiment.id, NOON, "ann", "uniform")),
            lambda: viewer.estimates.delete("any"),
            lambda: viewer.artifacts.put(pa.table({"a": [1]})),
            lambda: viewer.artifacts.put_file(b"x"),
            viewer.artifacts.collect,
        ]
        for write in writes:
            with pytest.raises(Forbidden):
                write()
        assert store.experiments.get(experiment.id) == experiment

    def test_a_view_of_the_store_for_a_reader_refuses_writes_and_leaves_the_others_alone(
        self, store: Store
    ) -> None:
        experiment = add_experiment(store)
        reader = store.by("ann", "viewer", read_only=True)
        with pytest.raises(Forbidden):
            reader.experiments.update(experiment.id, note="x")
        with pytest.raises(Forbidden):
            reader.by("ann", "editor").experiments.update(experiment.id, note="x")
        assert store.experiments.update(experiment.id, note="y") == reader.experiments.get(experiment.id)

    # what people write and share ───────────────────────────────────────────────────────────────

    def test_what_people_write_comes_back_as_it_was_after_reopening(
        self, store: Store, open_again: Open
    ) -> None:
        home, document = add_experiment(store).id, store.artifacts.put_file(b"{}")
        entry = Entry(new_id(), home, NOON, "ann", "decision", "p1", NAMES[1], {"outcome": "ship", "n": 3})
        blocks, question = ("verdict", "slices"), {"metric": "ndcg"}
        report = Report(
            new_id(), home, NOON, "ann", NAMES[0], "prose", blocks, question, document, archived=NOON
        )
        link = ShareLink("f" * 64, home, NOON, "ann", NOON + timedelta(days=1), report.id, "board", NOON)
        view = SavedView(new_id(), home, "weekly", NOON, "ann", "overview", {"k": "10"})
        assert store.journal.add(entry) == entry
        assert store.reports.add(report) == report
        assert store.share_links.add(link) == link
        assert store.saved_views.add(view) == view
        again = open_again()
        assert (again.journal.get(entry.id), again.journal.of_experiment(home)) == (entry, [entry])
        assert (again.reports.get(report.id), again.reports.of_experiment(home)) == (report, [])
        assert again.reports.of_experiment(home, archived=True) == [report]
        assert (again.share_links.get(link.id), again.share_links.of_experiment(home)) == (link, [link])
        assert (again.saved_views.named("weekly"), again.saved_views.of_experiment(home)) == (view, [view])

    def test_off_policy_estimates_are_kept_once_the_newest_first(
        self, store: Store, open_again: Open
    ) -> None:
        home = add_experiment(store).id
        older = KeptEstimate(
            "o", home, NOON, "ann", "uniform", None, {"dr": 0.1, "intervals": {"dr": [0, 1]}}
        )
        newer = dataclasses.replace(
            older, id="n", created=NOON + timedelta(hours=1), run="a run that was deleted"
        )
        for estimate in (older, newer, older):
            assert store.estimates.add(estimate) == estimate
        assert open_again().estimates.of_experiment(home) == [newer, older]
        store.estimates.delete("o")
        assert store.estimates.of_experiment(home) == [newer]

    def test_the_uses_of_a_link_are_counted_and_are_no_change_of_it(
        self, store: Store, open_again: Open
    ) -> None:
        home, later = add_experiment(store).id, NOON + timedelta(hours=2)
        for key in ("used", "unused"):
            store.share_links.add(ShareLink(key, home, NOON, "ann", NOON, numbers_only=True))
        before = store.audit.last()
        assert store.share_links.uses(home) == {}
        store.share_links.note_use("used", NOON, opened=True)
        store.share_links.note_use("used", NOON, opened=True)
        store.share_links.note_use("used", later, opened=False)
        store.share_links.note_use("deleted", NOON, opened=True)
        again = open_again()
        assert again.share_links.uses(home) == {"used": LinkUse(later, 2)}
        assert again.share_links.uses(add_experiment(store, "Songs").id) == {}
        assert (store.audit.altered(), store.audit.events()[-2].hash) == ([], before)
        store.experiments.delete(home)
        assert again.share_links.uses(home) == {}

    def test_an_ended_session_is_remembered_until_its_cookie_expires(
        self, store: Store, open_again: Open
    ) -> None:
        day, again = timedelta(days=1), open_again()
        assert not again.ended_sessions.has("first")
        store.ended_sessions.add("first", NOON + day, NOON)
        store.ended_sessions.add("first", NOON + day, NOON)  # a second click
        assert again.ended_sessions.has("first")
        store.ended_sessions.add("second", NOON + 3 * day, NOON + 2 * day)
        known = [again.ended_sessions.has(session) for session in ("first", "second", "third")]
        assert known == [False, True, False]
        assert store.audit.events() == []

    def test_a_journal_is_told_from_its_beginning(self, store: Store) -> None:
        home = add_experiment(store).id
        entries = [
            Entry(new_id(), home, NOON + timedelta(seconds=second), "ann", "comment") for second in (3, 1, 2)
        ]
        for entry in entries:
            store.journal.add(entry)
        assert [entry.created.second for entry in store.journal.of_experiment(home)] == [1, 2, 3]

    def test_of_two_who_write_at_once_the_second_sees_what_the_first_wrote(
        self, store: Store, open_again: Open
    ) -> None:
        home, other = add_experiment(store).id, open_again()
        refused: list[str] = []

        def only_one(entries: Sequence[Entry]) -> None:
            if entries:
                raise NameTaken("somebody was first")

        def write(number: int) -> None:
            entry = Entry(f"e{number}", home, NOON, "ann", "decision")
            try:
                (store, other)[number % 2].journal.add(entry, only_one)
            except NameTaken:
                refused.append(entry.id)

        in_threads(6, write)
        (kept,) = store.journal.of_experiment(home)
        assert len(refused) == 5
        assert store.journal.add(kept, only_one) == kept  # a second click

    def test_a_report_needs_its_document_and_takes_its_links_along(self, store: Store) -> None:
        home = add_experiment(store).id
        with pytest.raises(NotFound):
            store.reports.add(Report("r", home, NOON, "ann", "Spring", document="0" * 64))
        document = store.artifacts.put_file(b"numbers")
        store.reports.add(Report("r", home, NOON, "ann", "Spring", document=document))
        store.share_links.add(ShareLink("l", home, NOON, "ann", NOON, report="r"))
        assert store.artifacts.collect(older_than=timedelta(0)) == 0
        assert store.artifacts.path(document).read_bytes() == b"numbers"
        store.reports.delete("r")
        assert store.share_links.of_experiment(home) == []

    def test_two_views_of_a_name_are_refused_in_any_experiment(self, store: Store) -> None:
        for name in ("Films", "Songs"):
            home = add_experiment(store, name).id
            view = SavedView(new_id(), home, "main", NOON, "ann", "overview")
            if name == "Films":
                store.saved_views.add(view)
            else:
                with pytest.raises(NameTaken, match="saved view"):
                    store.saved_views.add(view)

    def test_all_that_was_written_goes_with_the_experiment(self, store: Store) -> None:
        home = add_experiment(store).id
        store.journal.add(Entry("e", home, NOON, "ann", "comment"))
        store.reports.add(Report("r", home, NOON, "ann", "Spring"))
        store.share_links.add(ShareLink("l", home, NOON, "ann", NOON, report="r"))
        store.saved_views.add(SavedView("v", home, "main", NOON, "ann", "overview"))
        store.estimates.add(KeptEstimate("o", home, NOON, "ann", "uniform"))
        store.experiments.delete(home)
        assert store.audit.events()[-1].details["with_it"]["off-policy estimate"] == 1
        for missing in (
            lambda: store.journal.get("e"),
            lambda: store.reports.get("r"),
            lambda: store.share_links.get("l"),
            lambda: store.estimates.get("o"),
        ):
            with pytest.raises(NotFound):
                missing()
        assert store.saved_views.named("main") is None

    # the audit log ─────────────────────────────────────────────────────────────────────────────

    def test_every_write_is_noted_with_who_did_it_and_nothing_else_is(self, store: Store) -> None:
        ann = store.by("ann", "editor")
        experiment = add_experiment(ann)
        run = ann.runs.add(a_run(experiment), [a_curve()])
        ann.runs.add(run, [a_curve()])  # a second click
        store.by("bob", "admin").runs.update(run.id, name="als 2", note="")
        ann.runs.update(run.id, name="als 2")  # as it is already
        with pytest.raises(NotFound):
            ann.runs.delete("nowhere")
        ann.runs.delete(run.id)
        told = [(deed.number, deed.who, deed.role, deed.action) for deed in store.audit.events()]
        assert told == [
            (1, "ann", "editor", "add experiment"),
            (2, "ann", "editor", "add run"),
            (3, "bob", "admin", "change run"),
            (4, "ann", "editor", "delete run"),
        ]
        details = dict(store.audit.events()[2].details)
        assert list(details.pop(SEALS)) == [f"run {run.id}"]
        assert details == {"experiment": experiment.id, "name": "als 2"}
        assert store.audit.events(1)[0].details["name"] == "als 2"
        assert store.audit.breaks() == []

    def test_what_people_wrote_is_as_they_wrote_it_and_cannot_be_changed(self, store: Store) -> None:
        home = add_experiment(store).id
        facts = {"outcome": "ship", "low": 0.1, "runs": ("a", "b"), "nested": {"b": 1, "a": None}}
        store.journal.add(Entry("e", home, NOON, "ann", "decision", facts=facts))
        store.reports.add(Report("r", home, NOON, "ann", "Spring", blocks=("verdict",), question={"k": 10}))
        store.share_links.add(ShareLink("l", home, NOON, "ann", NOON))
        store.reports.update("r", archived=NOON)
        store.share_links.update("l", revoked=NOON)
        assert store.audit.altered() == []
        for change in (
            lambda: store.reports.update("r", title="Summer"),
            lambda: store.reports.update("r", document="0" * 64),
            lambda: store.share_links.update("l", expires=NOON + timedelta(days=9)),
        ):
            with pytest.raises(TypeError, match="cannot be changed"):
                change()

    def test_the_log_tells_what_went_along(self, store: Store) -> None:
        experiment = add_experiment(store)
        run = store.runs.add(a_run(experiment), [])
        store.online_tests.add(a_test(store, experiment, links={"B": run.id}))
        store.journal.add(Entry("e", experiment.id, NOON, "ann", "comment"))
        store.runs.delete(run.id)
        assert store.audit.events(1)[0].details["unlinked_from"] == ["March"]
        store.experiments.delete(experiment.id)
        assert store.audit.events(1)[0].details["with_it"] == {"online test": 1, "entry": 1}

    def test_the_log_outlives_what_it_tells_of(self, store: Store) -> None:
        experiment = add_experiment(store)
        store.experiments.delete(experiment.id)
        assert [deed.action for deed in store.audit.events()] == ["add experiment", "delete experiment"]

    def test_writers_at_once_leave_one_unbroken_chain(self, store: Store, open_again: Open) -> None:
        home = add_experiment(store).id
        other = open_again()

        def write(number: int) -> None:
            for part in range(5):
                at = (store, other)[number % 2]
                at.journal.add(Entry(f"{number}-{part}", home, NOON, f"writer {number}", "comment"))

        in_threads(6, write)
        deeds = store.audit.events()
        assert [deed.number for deed in deeds] == list(range(1, 32))
        assert store.audit.breaks() == []

    def test_what_is_changed_behind_its_back_is_found(self, store: Store) -> None:
        home = add_experiment(store)
        for name in ("als", "ease"):
            store.runs.add(a_run(home, name), [a_curve()])
        store.online_tests.add(a_test(store, home, results=({"lift": 0.5},)))
        assert (store.check(), store.damaged()) == ([], [])
        with store._transactions.database.writer.begin() as behind:  # type: ignore[attr-defined]
            behind.execute(text("UPDATE run SET slot = 9 WHERE name = 'als'"))
            behind.execute(text("UPDATE curve SET n_users = n_users + 1"))
            behind.execute(text("UPDATE online_test SET results = replace(results, '0.5', '0.7')"))
        assert sorted(problem.place for problem in store.check()) == [
            "ndcg of run 'als'", "ndcg of run 'ease'",
            "online test 'March' of 'Films'", "run 'als' of 'Films'",
        ]  # fmt: skip
        assert [run.name for run in store.runs.of_experiment(home.id)] == ["ease"]
        assert store.online_tests.of_experiment(home.id) == []
        assert len(store.damaged(home.id)) == 2
