"""A user who is purged: everything is as if they had never been uploaded, and their id is nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_tables import sessions_of_two_variants

from recdash.errors import InputError, NotFound, StoreBusy
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.catalog.purge import without
from recdash.store import Store, open_store
from recdash.store.connections import sqlite_driver

GONE = "Zebrafink-7"
PEOPLE = [GONE, "ann", "bob", "cid", "eve"]
TRUTH = pd.DataFrame(
    {"user_id": [*PEOPLE, "ann"], "item_id": [*"abcab", "c"], "relevance": [5, 4, 3, 5, 4, 2]}
)
TRAIN = pd.DataFrame({"user_id": [*PEOPLE, *PEOPLE[:4]], "item_id": [*"bcabc", *"cabc"]})
"""Without the user, item a is more popular than b."""
USERS = pd.DataFrame({"user_id": PEOPLE, "country": ["NZ", "NZ", "DE", "DE", "FR"]})
SCORED = pd.DataFrame(
    {
        "user_id": [*PEOPLE[:4], *PEOPLE[:4]],
        "item_id": [*"abca", *"bcab"],
        "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2],
    }
)
OF_SEEDS = pd.concat(
    [
        pd.DataFrame({"user_id": PEOPLE, "item_id": [*items], "rank": 1, "seed": seed})
        for seed, items in (("1", "abcab"), ("2", "bacba"))
    ]
)
RATED = pd.DataFrame(
    {"user_id": PEOPLE, "item_id": [*"abcab"], "rating": [5, 4, 3, 5, 2], "prediction": [4, 4, 4, 4, 3]}
)
SESSIONS = sessions_of_two_variants().assign(
    unit_id=lambda sessions: sessions["unit_id"].where(sessions.index != 4, GONE)
)
Fill = Callable[[Workspace, str | None], None]


def fill(workspace: Workspace, user: str | None = None) -> None:
    """Stores runs of every kind and an A/B test, without the rows of ``user``."""

    def of_others(table: pd.DataFrame) -> pd.DataFrame:
        column = "unit_id" if "unit_id" in table else "user_id"
        return table[table[column] != user].reset_index(drop=True)

    films = workspace.experiments.create(
        "films",
        of_others(TRUTH),
        train=of_others(TRAIN),
        user_attributes=of_others(USERS),
        relevance="relevance",
        relevance_threshold=3,
        depth=3,
    )
    als = workspace.runs.add(films.id, of_others(SCORED), name="als", predictions=of_others(RATED))[0].run
    workspace.runs.add(films.id, of_others(OF_SEEDS), name="seeds")
    workspace.runs.add(films.id, None, name="ratings", predictions=of_others(RATED))
    workspace.runs.add_fallback(als.id)
    workspace.runs.add_references(films.id, "popular")
    workspace.online_tests.add(films.id, "March", {"sessions": of_others(SESSIONS)}, control="A")


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path / 'stored' / 'recdash.db'}")
    workspace = Workspace(store)
    fill(workspace)
    yield workspace
    store.close()


@pytest.fixture
def never(tmp_path: Path) -> Iterator[Workspace]:
    """A store in which the user never was."""
    store = open_store(f"sqlite:///{tmp_path / 'never' / 'recdash.db'}")
    workspace = Workspace(store)
    fill(workspace, GONE)
    yield workspace
    store.close()


def numbers(workspace: Workspace) -> dict[str, Any]:
    """All that is computed from the tables, and the tables."""
    store = workspace.store
    (films,) = workspace.experiments.all()
    known: dict[str, Any] = {"truth users": films.settings["truth_users"]}
    for kind, sha in {"truth": films.truth, "train": films.train, **films.tables}.items():
        known[kind] = store.artifacts.table(str(sha)).to_pydict()
    for run in workspace.runs.all(films.id):
        for part in (run, *store.runs.replicates([run.id])[run.id]):
            name = f"{run.name} {part.name}"
            curves = store.curves.of_runs([part.id])[part.id].values()
            known[name] = {curve.metric: (curve.value.tolist(), curve.std_error.tolist()) for curve in curves}
            known[f"{name} hits"] = {
                kind: store.artifacts.table(sha).to_pydict() for kind, sha in part.hits.items()
            }
            known[f"{name} counts"] = (
                dict(part.ledger),
                dict(part.absent),
                sorted(n.code for n in part.notices),
            )
            if part.upload:
                known[f"{name} rows"] = store.artifacts.table(part.upload).to_pydict()
    for test in workspace.online_tests.all(films.id):
        known[test.name] = (test.results, store.artifacts.table(test.upload).to_pydict())
    return known


def test_all_numbers_are_as_if_the_user_had_never_been_uploaded(space: Workspace, never: Workspace) -> None:
    before = numbers(space)
    space.purge.user(GONE)
    after = numbers(space)
    np.testing.assert_equal(after, numbers(never))
    assert before != after
    assert space.audit.check() == []


def test_ids_names_and_what_people_wrote_stay(space: Workspace) -> None:
    (films,) = space.experiments.all()
    before = space.runs.all(films.id)
    space.runs.set_note(before[0].id, "tuned")
    space.experiments.set_baseline(films.id, before[0].id)
    space.purge.user(GONE)
    after = space.runs.all(films.id)
    assert [(run.id, run.name, run.slot, run.created) for run in after] == [
        (run.id, run.name, run.slot, run.created) for run in before
    ]
    assert after[0].note == "tuned"
    assert space.experiments.get(films.id).baseline == before[0].id
    assert after[3].fallback is not None
    assert after[3].fallback == {**(before[3].fallback or {}), "upload": after[0].upload}
    assert [run.reference for run in after[4:]] == ["popular"]


def values_in(folder: Path) -> Iterator[bytes]:
    """The bytes of every file, and of every column and dictionary of stored tables."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()
            if path.suffix == ".parquet":
                yield from map(_bytes_of, pq.read_table(path, read_dictionary=[]).columns)
                yield from map(_bytes_of, pq.read_table(path).columns)


def _bytes_of(column: pa.ChunkedArray) -> bytes:
    buffers = [buffer for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None]
    dictionaries = [chunk.dictionary for chunk in column.chunks if pa.types.is_dictionary(column.type)]
    buffers += [buffer for words in dictionaries for buffer in words.buffers() if buffer is not None]
    return b" ".join(buffer.to_pybytes() for buffer in buffers)


def test_the_id_is_in_no_file_of_the_store(space: Workspace, tmp_path: Path) -> None:
    (films,) = space.experiments.all()
    stranger = pd.DataFrame({"user_id": [GONE, "ann", "zoe"], "item_id": [*"aab"], "rank": [1, 1, 1]})
    space.runs.add(films.id, stranger, name="strangers", accept_unknown_ids=True)
    ids = [run.id for run in space.runs.all(films.id)]
    space.sharing.save_view(films.id, "one-user", "users", {"u": GONE})
    space.decisions.decide(
        films.id,
        "inconclusive",
        run_id=ids[1],
        text="Few users.",
        query=space.queries.of(films.id, [ids[1]], ids[0], "ndcg", 3),
    )
    Reports(space).make(Reports(space).question(films.id), [], author="ann")
    folder = tmp_path / "stored"
    assert any(GONE.encode() in value for value in values_in(folder))
    done = space.purge.user(GONE)
    assert (done.views, done.mentioned, done.left) == (("one-user",), (), "")
    assert [value[:80] for value in values_in(folder) if GONE.encode() in value] == []
    (event,) = [event for event in space.audit.events(100) if event.action == "purge user"]
    counts = {"runs": 6, "online tests": 1, "saved views": 1}
    assert dict(event.details) == {"experiments": [films.id], **counts}
    assert space.audit.check() == []


def test_files_that_an_interrupted_addition_left_keep_nothing_of_the_user(
    space: Workspace, tmp_path: Path
) -> None:
    others = pa.table({"user_id": ["ann"], "item_id": ["b"]})
    space.store.artifacts.put(pa.table({"user_id": [GONE, "ann"], "item_id": ["b", "a"]}))
    kept = space.store.artifacts.put(others)
    done = space.purge.user(GONE)
    assert done.left == ""
    assert [value[:80] for value in values_in(tmp_path / "stored") if GONE.encode() in value] == []
    assert space.store.artifacts.table(kept) == others


def test_a_file_that_was_not_written_to_its_end_is_said_to_be_left(space: Workspace, tmp_path: Path) -> None:
    (folder,) = (tmp_path / "stored").rglob("tmp")
    (folder / "0123").write_bytes(f"PAR1 {GONE}".encode())
    done = space.purge.user(GONE)
    assert "1 file that an addition is writing, or was writing when it was interrupted" in done.left


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE run SET slot = 7 WHERE name = 'als'", "run 'als'"),
        ("UPDATE experiment SET note = 'x'", "experiment 'films'"),
        ("UPDATE online_test SET name = 'May'", "online test 'May'"),
    ],
)
def test_what_is_damaged_and_may_have_the_user_is_named(
    space: Workspace, tmp_path: Path, damage: str, named: str
) -> None:
    database = sqlite_driver().connect(tmp_path / "stored" / "recdash.db")
    with database:
        assert database.execute(damage).rowcount == 1
    database.close()
    for dry_run in (True, False):
        assert space.purge.user(GONE, dry_run=dry_run).left.startswith(
            f"{named} cannot be read, and may have"
        )
    assert any(GONE.encode() in value for value in values_in(tmp_path / "stored"))


def test_a_dictionary_keeps_no_word_of_the_user() -> None:
    table = pa.table({"user_id": pa.array([GONE, "ann"]).dictionary_encode(), "item_id": [1, 2]})
    kept = without(table, GONE)
    assert kept.to_pydict() == {"user_id": ["ann"], "item_id": [2]}
    assert kept["user_id"].chunk(0).dictionary.to_pylist() == ["ann"]
    assert kept.schema == table.schema


def test_ids_that_are_numbers_are_compared_as_text() -> None:
    table = pa.table({"user_id": pa.array([7, 77, 7], pa.int64())})
    assert without(table, "7").to_pydict() == {"user_id": [77]}
    assert without(table, "07").num_rows == 3


def test_a_dry_run_changes_nothing(space: Workspace) -> None:
    version = space.audit.events(1)
    wanted = space.purge.user(GONE, dry_run=True)
    assert space.audit.events(1) == version
    assert replace(space.purge.user(GONE), left="") == wanted
    assert space.purge.user(GONE).is_empty


def add_while_computing(space: Workspace, n_times: int) -> Callable[[float, str], None]:
    """Returns a progress that adds a run of the user while the first ``n_times`` purges compute."""
    (films,) = space.experiments.all()
    added: list[str] = []

    def progress(_share: float, text: str) -> None:
        if text.startswith("Computing") and len(added) < n_times:
            added.append(f"late {len(added)}")
            space.runs.add(films.id, SCORED.iloc[len(added) :], name=added[-1])

    return progress


def test_what_is_added_while_a_purge_computes_is_purged_too(space: Workspace, tmp_path: Path) -> None:
    done = space.purge.user(GONE, progress=add_while_computing(space, 2))
    assert {"late 0", "late 1"} <= set(done.runs)
    assert done.left == ""
    assert [value[:80] for value in values_in(tmp_path / "stored") if GONE.encode() in value] == []
    assert (space.audit.check(), space.store.check()) == ([], [])


def test_a_purge_changes_nothing_if_data_is_added_each_time_it_computes(space: Workspace) -> None:
    with pytest.raises(StoreBusy, match="Nothing was changed"):
        space.purge.user(GONE, progress=add_while_computing(space, 3))
    (films,) = space.experiments.all()
    for run in space.runs.all(films.id):
        table = space.store.artifacts.table(str(run.upload)) if run.upload else pa.table({"user_id": [GONE]})
        assert GONE in table["user_id"].to_pylist() or run.reference
    assert (space.audit.check(), space.store.check()) == ([], [])


def test_what_people_wrote_about_the_user_is_named(space: Workspace) -> None:
    (films,) = space.experiments.all()
    run = space.runs.all(films.id)[0]
    space.runs.set_note(run.id, f"worse for {GONE}.")
    space.online_tests.add(films.id, f"of {GONE}", {"sessions": SESSIONS}, control="A")
    space.sharing.share(films.id, days=1, label=f"for {GONE}")
    link = space.store.share_links.of_experiment(films.id)[0]
    places = ("run 'als'", f"A/B test 'of {GONE}'", f"link {link.id}")
    assert space.purge.user(GONE).mentioned == places


@pytest.mark.parametrize(
    ("note", "is_named"),
    [
        ("u-7", True),
        ("see (u-7), not u-70", True),
        ("u-70, then u-7", True),
        ("u-70", False),
        ("au-7", False),
        ("u-7_b", False),
        ("éu-7", False),
    ],
)
def test_an_id_is_named_only_as_a_whole_word(space: Workspace, note: str, is_named: bool) -> None:
    (films,) = space.experiments.all()
    space.runs.set_note(space.runs.all(films.id)[0].id, note)
    numbered = pd.DataFrame({"unit_id": ["u-7", *"abcdef"], "variant": [*"ABABABA"], "clicks": 1})
    space.online_tests.add(films.id, "numbered", {"sessions": numbered}, control="A")
    assert space.purge.user("u-7", dry_run=True).mentioned == (("run 'als'",) if is_named else ())


def test_without_any_other_user_nothing_is_changed(space: Workspace) -> None:
    alone = pd.DataFrame({"user_id": ["solo"], "item_id": ["a"]})
    space.experiments.create("alone", alone, depth=3)
    with pytest.raises(InputError, match="its test set has no other user"):
        space.purge.user("solo")
    assert space.audit.check() == []


def test_a_run_that_cannot_be_scored_without_the_user_is_named_and_nothing_is_changed(
    space: Workspace,
) -> None:
    (films,) = space.experiments.all()
    lists = pd.DataFrame({"user_id": [GONE, "zoe"], "item_id": ["a", "b"], "rank": [1, 1]})
    run = space.runs.add(films.id, lists, name="his", accept_unknown_ids=True)[0].run
    before = numbers(space)
    with pytest.raises(InputError, match=r"run 'his': it cannot be scored without this user\. Delete it"):
        space.purge.user(GONE)
    np.testing.assert_equal(numbers(space), before)
    space.runs.delete(run.id, "his")
    assert not space.purge.user(GONE).is_empty


def test_a_dashboard_that_had_read_the_user_forgets_them(space: Workspace, tmp_path: Path) -> None:
    """The other process purges; the dashboard notices at the next click."""
    (films,) = space.experiments.all()
    run = space.runs.all(films.id)[0]
    seen = space.seen_by(replace(space.person, name="kim"))
    query = seen.queries.of(films.id, [run.id], run.id, "recall", 2)
    assert seen.users.values(GONE, query).keys() == {run.id}
    other: Store = open_store(f"sqlite:///{tmp_path / 'stored' / 'recdash.db'}")
    Workspace(other).purge.user(GONE)
    other.close()
    with pytest.raises(NotFound):
        space.seen_by(replace(space.person, name="kim")).users.values(GONE, query)


def test_without_an_id_no_view_is_deleted(space: Workspace) -> None:
    (films,) = space.experiments.all()
    space.sharing.save_view(films.id, "weekly", "overview", {"k": "2"})
    assert space.purge.user("").is_empty
    assert [view.name for view in space.sharing.saved_views(films.id)] == ["weekly"]


def test_a_view_of_something_else_that_is_written_alike_stays(space: Workspace) -> None:
    (films,) = space.experiments.all()
    space.sharing.save_view(films.id, "two-items", "overview", {"k": "2"})
    space.sharing.save_view(films.id, "user-two", "users", {"u": "2"})
    assert space.purge.user("2").views == ("user-two",)
    assert [view.name for view in space.sharing.saved_views(films.id)] == ["two-items"]


def test_a_finding_of_the_new_count_that_has_the_id_as_a_number_stays(space: Workspace) -> None:
    """59 of A are left, against 20 of B; the purged user is number 59."""
    (films,) = space.experiments.all()
    numbered = pd.DataFrame(
        {"unit_id": [str(number) for number in range(80)], "variant": ["A"] * 60 + ["B"] * 20, "clicks": 1}
    )
    test = space.online_tests.add(films.id, "uneven", {"sessions": numbered}, control="A")
    space.purge.user("59")
    notices = {notice.code: notice for notice in space.store.online_tests.get(test.id).notices}
    assert "59" in notices["sample-ratio-mismatch"].found


@pytest.mark.parametrize(
    ("place", "finding", "is_kept"),
    [
        ("run 'als'", "10 users have gaps in their ranks", True),
        ("run 'als'", "1,000 rows of the top 10, lines 9 and 10", True),
        ("run '10'", "gaps in the ranks", True),
        ("column '10'", "ids are decimals, such as '10.5'", True),
        ("run 'als'", "unknown: '110', '100'", True),
        ("run 'als'", "unknown: '9', '10'", False),
        ("run 'als'", "blanks trimmed around the id: ' 10 ' (line 5)", False),
        ("run 'als'", "ids are decimals in 1 row: '10.0' (line 5)", False),
        ("run 'als'", "not in their user's data: '10' of column 'user_id'", False),
        ("run 'als'", "column 'user_id': blanks in ' 9 ', '10'", False),
        ("user '10'", "no list", False),
    ],
)
def test_a_notice_goes_only_if_it_quotes_the_number_as_an_id(
    space: Workspace, place: str, finding: str, is_kept: bool
) -> None:
    (films,) = space.experiments.all()
    numbered = pd.DataFrame({"unit_id": ["10", *"abcdef"], "variant": [*"ABABABA"], "clicks": 1})
    space.online_tests.add(films.id, "numbered", {"sessions": numbered}, control="A")
    known = {"code": "known", "place": place, "found": finding, "fix": "", "count": 10}
    space.store.experiments.update(films.id, settings={**films.settings, "notices": [known]})
    space.purge.user("10")
    kept = [notice["code"] for notice in space.experiments.get(films.id).settings["notices"]]
    assert kept == [*(["known"] if is_kept else []), "users-removed"]


def elsewhere(tmp_path: Path) -> Workspace:
    """The store of ``space`` as another process opens it."""
    return Workspace(open_store(f"sqlite:///{tmp_path / 'stored' / 'recdash.db'}"))


def test_a_run_that_was_scored_with_the_user_is_refused(space: Workspace, tmp_path: Path) -> None:
    (films,) = space.experiments.all()
    before = space.runs.all(films.id)
    prepared = space.runs.prepare(films.id, SCORED.query("item_id != 'a'"), name="late")
    other = elsewhere(tmp_path)
    other.purge.user(GONE)
    with pytest.raises(InputError, match=r"a user was removed from its tables .* Add the runs again"):
        space.runs.store_prepared(films.id, prepared)
    assert len(space.runs.all(films.id)) == len(before)
    others = SCORED[SCORED["user_id"] != GONE].query("item_id != 'a'")
    late = space.runs.add(films.id, others, name="late")[0].run
    assert late.provenance["rows"] == len(others)
    assert space.users.values("ann", space.queries.of(films.id, [late.id], late.id, "recall", 2))
    other.store.close()


def test_the_log_says_from_which_experiments_a_user_was_removed(space: Workspace) -> None:
    (films,) = space.experiments.all()
    songs = space.experiments.create("songs", TRUTH[TRUTH["user_id"] != GONE])
    space.purge.user(GONE)
    (event,) = [event for event in space.audit.events() if event.action == "purge user"]
    assert event.details["experiments"] == [films.id]
    assert space.store.audit.purges_of(films.id) == [event.at]
    assert space.store.audit.purges_of(songs.id) == []
    assert space.audit.breaks() == []
