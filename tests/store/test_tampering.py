"""Each kind of tampering with the database is named by the audit, with the table and the row."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import create_engine
from store_contract import NOON, a_curve, a_run, a_test, add_experiment, put_table, with_older_log

from recdash.domain.journal import AuditEvent, Entry, Mismatch, Report, SavedView, ShareLink
from recdash.domain.records import KeptEstimate
from recdash.errors import StoreError
from recdash.store import Store, open_store, restore_store
from recdash.store.audit import hash_of
from recdash.store.checksums import checksum, key_checksum
from recdash.store.schema import alembic_config

TIMES = ("created", "archived", "expires", "revoked")


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'recdash.db'}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a store with one of each kind of row, and of each kind of change."""
    store = open_store(url(tmp_path))
    home, spare = add_experiment(store), add_experiment(store, "spare")
    decided = Entry("", "", NOON, "ann", "decision", text="Ship.", facts={"n": 1})
    for experiment in (home, spare):
        run = store.runs.add(a_run(experiment, "als", put_table(store, 3)), [a_curve(), a_curve("recall")])
        below = [(a_run(experiment, label), [a_curve()]) for label in ("1", "2")]
        store.runs.add(a_run(experiment, "svd"), [a_curve()], below)
        test = a_test(store, experiment, links={"B": run.id}, results=({"lift": 0.5},))
        store.online_tests.add(test)
        store.journal.add(replace(decided, id=f"d-{experiment.name}", experiment=experiment.id))
    settings = {"depth": 10, "rules": {"guardrails": {"coverage": 0.2}}}
    store.experiments.update(home.id, settings=settings, baseline=run_named(store, home.id, "svd"))
    store.reports.add(Report("r", home.id, NOON, "ann", "Spring"))
    store.share_links.add(ShareLink("l", home.id, NOON, "ann", NOON))
    store.share_links.update("l", revoked=NOON)
    store.saved_views.add(SavedView("v", home.id, "mine", NOON, "ann", "leaderboard"))
    store.estimates.add(KeptEstimate("o", home.id, NOON, "ann", "als", None, {"dr": 0.1}))
    for numerator in ("orders", "revenue"):
        store.metric_library.put("price", {"name": "price", "numerator": numerator, "cap": 9.5})
    store.metric_library.put("left out", {"name": "left out"})
    store.metric_library.remove("left out")
    store.runs.add(a_run(home, "gone"), [a_curve()])
    gone = run_named(store, home.id, "gone")
    store.online_tests.add(a_test(store, home, "April", links={"B": gone}))
    store.experiments.update(home.id, baseline=gone)
    store.runs.delete(gone)
    store.runs.delete(run_named(store, spare.id, "svd"))
    store.experiments.delete(spare.id)
    store.close()
    return tmp_path


def run_named(store: Store, experiment: str, name: str) -> str:
    return next(run.id for run in store.runs.of_experiment(experiment) if run.name == name)


@pytest.fixture
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(folder / "recdash.db")
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


def audited(folder: Path) -> list[Mismatch]:
    store = open_store(url(folder))
    try:
        return list(store.audit.audited().mismatches)
    finally:
        store.close()


def with_checksums(database: sqlite3.Connection) -> None:
    """Computes the checksums again, as somebody does who knows recdash."""
    tables = (
        "experiment", "run", "online_test", "entry", "report", "share_link", "saved_view",
        "off_policy_estimate",
    )  # fmt: skip
    for table in tables:
        for row in database.execute(f"SELECT * FROM {table}").fetchall():  # noqa: S608
            columns = {name: _typed(name, row[name]) for name in row.keys()}  # noqa: SIM118
            query = f"UPDATE {table} SET checksum = ? WHERE id = ?"  # noqa: S608
            database.execute(query, (checksum(columns), row["id"]))
    for row in database.execute("SELECT * FROM curve").fetchall():
        columns = {name: row[name] for name in row.keys()}  # noqa: SIM118
        made = key_checksum(row["run"], row["metric"]) + checksum(columns)
        key = (row["run"], row["metric"])
        database.execute("UPDATE curve SET checksum = ? WHERE run = ? AND metric = ?", (made, *key))
    database.commit()


def _typed(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if name in TIMES and value is not None else value


def _rehash(database: sqlite3.Connection) -> None:
    """Hashes all lines again without the key, after the decision was taken out of the log."""
    database.execute("DELETE FROM deed WHERE action = 'add entry'")
    before = ""
    lines = database.execute("SELECT * FROM deed ORDER BY number").fetchall()
    database.execute("DELETE FROM deed")
    for number, line in enumerate(lines, 1):
        at = datetime.fromisoformat(line["at"]).replace(tzinfo=UTC)
        details = json.loads(line["details"])
        event = AuditEvent(number, at, line["who"], line["role"], line["action"], line["target"], details, "")
        before = hash_of(event, before)
        values = (number, line["at"], line["who"], line["role"], line["action"], line["target"])
        database.execute("INSERT INTO deed VALUES (?,?,?,?,?,?,?,?)", (*values, line["details"], before))


def statement(sql: str) -> Callable[[sqlite3.Connection], None]:
    return lambda database: database.executescript(sql) and None


ZEROS = "UPDATE curve SET value = zeroblob(length(value)) WHERE metric = 'recall'"
DECIDED = "decision d-Films of 'Films'"
TAMPERINGS = {
    "delete a decision": (statement("DELETE FROM entry"), "entry", DECIDED, "no row"),
    "edit a decision": (
        statement("UPDATE entry SET text = 'Do not ship.'"), "entry", DECIDED, "text is 'Do not ship.'",
    ),
    "edit a decision's numbers": (statement("UPDATE entry SET facts = '{}'"), "entry", DECIDED, "content"),
    "insert a decision without a line": (
        statement("INSERT INTO entry SELECT 'new', experiment, created, author, kind, about, text, facts, "
                  "checksum FROM entry"),
        "entry", "decision new of 'Films'", "no line",
    ),
    "delete a line": (statement("DELETE FROM deed WHERE number = 7"), "deed", "line 8", "follows line 6"),
    "edit a line": (statement("UPDATE deed SET who = 'eve' WHERE number = 7"), "deed", "line 7", "hash"),
    "change a role": (
        statement("UPDATE deed SET role = 'viewer' WHERE number = 7"), "deed", "line 7", "hash",
    ),
    "hash the whole chain again": (_rehash, "deed", "line 1", "hash"),
    "revive a revoked link": (
        statement("UPDATE share_link SET revoked = NULL"), "share_link", "share link l of 'Films'",
        "revoked is empty",
    ),
    "delete a link": (statement("DELETE FROM share_link"), "share_link", "share link l of 'Films'", "no row"),
    "zero curves": (statement(ZEROS), "curve", "curves of run 'als' of 'Films'", "2 curves are not"),
    "delete curves": (
        statement("DELETE FROM curve WHERE run = (SELECT id FROM run WHERE name = 'als')"), "curve",
        "curves of run 'als' of 'Films'", "no curves",
    ),
    "empty results": (
        statement("UPDATE online_test SET results = '[]' WHERE name = 'March'"), "online_test",
        "A/B test 'March' of 'Films'", "content",
    ),
    "link another run": (
        statement("UPDATE online_test SET links = '{\"B\": \"x\"}' WHERE name = 'March'"), "online_test",
        "A/B test 'March' of 'Films'", "content",
    ),
    "swap the truth": (
        statement("UPDATE experiment SET truth = (SELECT upload FROM run WHERE name = 'als')"), "experiment",
        "experiment 'Films'", "truth is",
    ),
    "change a run's file": (
        statement("UPDATE run SET upload = (SELECT truth FROM experiment) WHERE name = 'als'"), "run",
        "run 'als' of 'Films'", "upload is",
    ),
    "change a replicate": (
        statement("UPDATE run SET note = 'x' WHERE name = '1'"), "run", "run '1' of 'Films'", "content",
    ),
    "delete a run": (
        statement("DELETE FROM curve; DELETE FROM run WHERE name = '2'"),
        "run", "run '2' of 'Films'", "no row",
    ),
    "insert a run": (
        statement("INSERT INTO run (id, name, slot, experiment, created, upload, hits, ledger, notices, "
                  "tags, note, params, absent, provenance, checksum) SELECT 'new', 'eve', 99, experiment, "
                  "created, upload, hits, ledger, notices, tags, note, params, absent, provenance, checksum "
                  "FROM run WHERE name = 'als'"),
        "run", "run 'eve' of 'Films'", "no line",
    ),
    "loosen a guardrail": (
        statement("UPDATE experiment SET settings = replace(settings, '0.2', '0.9')"), "experiment",
        "experiment 'Films'", "settings is",
    ),
    "choose another baseline": (
        statement("UPDATE experiment SET baseline = (SELECT id FROM run WHERE name = 'als')"), "experiment",
        "experiment 'Films'", "content",
    ),
    "resize a file": (
        statement("UPDATE artifact SET n_bytes = n_bytes + 1 WHERE sha256 IN (SELECT truth FROM experiment)"),
        "artifact", "experiment 'Films'", "bytes",
    ),
    "delete a file's row": (
        statement("DELETE FROM artifact WHERE sha256 IN (SELECT truth FROM experiment)"), "artifact",
        "experiment 'Films'", "no row",
    ),
    "write a list in place of the files of a run": (
        statement("UPDATE run SET hits = '[1]' WHERE name = 'als'"), "run", "run 'als' of 'Films'",
        "damaged",
    ),
    "write a number in place of a file": (
        statement("UPDATE experiment SET tables = '{\"users\": 1}'"), "experiment", "experiment 'Films'",
        "damaged",
    ),
    "leave a trigger": (
        statement("CREATE TRIGGER later BEFORE INSERT ON deed BEGIN SELECT raise(IGNORE); END"), "database",
        "database", "trigger 'later'",
    ),
    "leave a view in place of a table": (
        statement("DROP TABLE ended_session; CREATE VIEW ended_session AS SELECT 'x' AS id, 1 AS until"),
        "database", "database", "view 'ended_session'",
    ),
    "leave a table": (
        statement("CREATE TABLE sqliteful (id TEXT)"), "database", "database", "table 'sqliteful'",
    ),
    "drop the index that keeps names apart": (
        statement("DROP INDEX uq_run_experiment_name"), "database", "database",
        "index 'uq_run_experiment_name' of table run is missing",
    ),
    "register a file that is not there": (
        statement("INSERT INTO artifact SELECT 'beef', n_bytes, created FROM artifact LIMIT 1"),
        "artifact", "file beef", "nothing that is stored needs it",
    ),
    "rewrite a report": (
        statement("UPDATE report SET author = 'eve'"), "report", "report 'Spring' of 'Films'", "content",
    ),
    "change an off-policy estimate": (
        statement("UPDATE off_policy_estimate SET facts = replace(facts, '0.1', '0.2')"),
        "off_policy_estimate", "off-policy estimate 'als' of 'Films'", "content",
    ),
    "delete an off-policy estimate": (
        statement("DELETE FROM off_policy_estimate"), "off_policy_estimate",
        "off-policy estimate 'als' of 'Films'", "no row",
    ),
    "change a metric of the library": (
        statement("UPDATE library_metric SET facts = replace(facts, 'revenue', 'orders')"), "library_metric",
        "metric 'price' of the library", "not what was written",
    ),
    "delete a metric of the library": (
        statement("DELETE FROM library_metric"), "library_metric", "metric 'price' of the library", "no row",
    ),
    "insert a metric into the library": (
        statement("INSERT INTO library_metric SELECT 'left out', facts FROM library_metric"),
        "library_metric", "metric 'left out' of the library", "no line",
    ),
}  # fmt: skip


def test_an_untouched_store_has_no_mismatch(folder: Path) -> None:
    store = open_store(url(folder))
    result = store.audit.audited()
    assert (result.mismatches, result.unsealed, result.plain) == ((), (), 0)
    store.close()


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_named_with_its_place(folder: Path, database: sqlite3.Connection, name: str) -> None:
    tamper, table, row, found = TAMPERINGS[name]
    tamper(database)
    database.commit()
    with_checksums(database)
    mismatches = audited(folder)
    assert any(
        (mismatch.table, mismatch.row) == (table, row) and found in mismatch.found and mismatch.expected
        for mismatch in mismatches
    ), mismatches


def test_a_metric_of_the_library_without_a_seal_is_compared_with_what_its_line_says(tmp_path: Path) -> None:
    store = open_store(url(tmp_path))
    store.metric_library.put("price", {"name": "price", "numerator": "revenue", "cap": 9.5})
    store.close()
    engine = create_engine(url(tmp_path))
    with_older_log(engine)
    engine.dispose()
    assert not [mismatch for mismatch in audited(tmp_path) if mismatch.table == "library_metric"]
    with closing(sqlite3.connect(tmp_path / "recdash.db")) as database, database:
        database.execute("UPDATE library_metric SET facts = replace(facts, '9.5', '9')")
    rows = [mismatch.row for mismatch in audited(tmp_path) if mismatch.table == "library_metric"]
    assert rows == ["metric 'price' of the library"]


def test_a_row_of_a_file_that_nothing_needs_is_named(folder: Path, database: sqlite3.Connection) -> None:
    store = open_store(url(folder))
    sha256 = store.artifacts.put_file(b"of nobody")
    store.close()
    database.execute(
        "INSERT INTO artifact (sha256, n_bytes, created) SELECT ?, 9, max(created) FROM artifact", (sha256,)
    )
    database.commit()
    (mismatch,) = audited(folder)
    assert (mismatch.table, mismatch.row) == ("artifact", f"file {sha256}")
    assert (mismatch.found, "recdash gc" in mismatch.expected) == ("nothing that is stored needs it", True)
    store = open_store(url(folder))
    store.artifacts.garbage()
    store.close()
    assert audited(folder) == []


def test_each_missing_index_is_named_with_the_statement_that_makes_it(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "recdash.db")) as database, database:
        query = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
        indexes = [name for (name,) in database.execute(query).fetchall()]
        for name in indexes:
            database.execute(f"DROP INDEX {name}")
    database.close()
    mismatches = audited(folder)
    assert len(mismatches) == len(indexes) > 5
    statements = [re.search(r"\((CREATE .*)\), or restore", mismatch.expected) for mismatch in mismatches]
    with closing(sqlite3.connect(folder / "recdash.db")) as database, database:
        for statement in statements:
            assert statement is not None
            database.execute(statement[1])
    database.close()
    assert audited(folder) == []


def test_lines_cut_off_at_the_end_are_missed_only_by_a_noted_hash(
    folder: Path, database: sqlite3.Connection
) -> None:
    noted = database.execute("SELECT hash FROM deed ORDER BY number DESC LIMIT 1").fetchone()[0]
    database.execute("DELETE FROM entry")
    database.execute("DELETE FROM share_link")
    database.execute("DELETE FROM saved_view")
    database.execute("DELETE FROM report")
    first = database.execute("SELECT min(number) FROM deed WHERE action = 'add entry'").fetchone()[0]
    database.execute("DELETE FROM deed WHERE number >= ?", (first,))
    database.commit()
    store = open_store(url(folder))
    assert store.audit.breaks() == []
    assert noted not in {event.hash for event in store.audit.events()}
    store.close()


def older(folder: Path, revision: str) -> None:
    """Makes the store one of an older release: no key, no seals, plain hashes, an older schema."""
    for key in folder.rglob("audit.key"):
        key.unlink()
    with closing(sqlite3.connect(folder / "recdash.db")) as database, database:
        database.row_factory = sqlite3.Row
        _add_old_seals(database)
    database.close()
    engine = create_engine(url(folder))
    with_older_log(engine)
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), revision)
    engine.dispose()


def _add_old_seals(database: sqlite3.Connection) -> None:
    """Logs the hashes that older releases logged for decisions and links."""
    names = {
        "entry": ("id", "experiment", "author", "kind", "about", "text"),
        "share_link": ("id", "experiment", "author", "report", "label"),
    }
    for table, fields in names.items():
        for row in database.execute(f"SELECT * FROM {table}").fetchall():  # noqa: S608
            facts = {name: row[name] for name in fields} | {"created": NOON.isoformat()}
            more = {"facts": json.loads(row["facts"])} if table == "entry" else {"expires": NOON.isoformat()}
            made = hashlib.sha256(json.dumps(facts | more, sort_keys=True).encode()).hexdigest()
            query = "UPDATE deed SET details = json_set(details, '$.sha256', ?) WHERE target = ?"
            database.execute(query, (made, row["id"]))


@pytest.fixture
def old_folder(tmp_path: Path) -> Path:
    """The folder of a store of an older release."""
    store = open_store(url(tmp_path))
    home = add_experiment(store)
    run = store.runs.add(a_run(home, "als"), [a_curve("ndcg"), a_curve("recall")])
    store.runs.add(replace(a_run(home, "ease"), note="x"), [a_curve()])
    store.online_tests.add(a_test(store, home, links={"B": run.id}))
    store.journal.add(Entry("d", home.id, NOON, "ann", "decision", text="Ship.", facts={"n": 1}))
    store.share_links.add(ShareLink("l", home.id, NOON, "ann", NOON, label="for bob"))
    store.close()
    older(tmp_path, "0008")
    return tmp_path


def test_rows_of_an_older_release_are_called_unsealed_and_not_altered(old_folder: Path) -> None:
    store = open_store(url(old_folder))
    result = store.audit.audited()
    assert result.mismatches == ()
    assert sorted(result.unsealed) == [
        "A/B test 'March' of 'Films'", "experiment 'Films'", "run 'als' of 'Films'", "run 'ease' of 'Films'",
    ]  # fmt: skip
    assert result.plain == 6
    (run, *_) = store.runs.of_experiment(store.experiments.all()[0].id)
    store.runs.update(run.id, note="seen")
    assert f"run '{run.name}' of 'Films'" not in store.audit.audited().unsealed
    assert store.audit.audited().mismatches == ()
    store.close()


def test_lines_of_an_older_release_cannot_be_hashed_again_once_the_key_is_there(old_folder: Path) -> None:
    open_store(url(old_folder)).close()
    with closing(sqlite3.connect(old_folder / "recdash.db")) as database, database:
        database.execute("UPDATE deed SET who = 'eve' WHERE number = 2")
    database.close()
    engine = create_engine(url(old_folder))
    with_older_log(engine)
    engine.dispose()
    (mismatch,) = audited(old_folder)
    assert (mismatch.row, "recorded beside the store's key" in mismatch.expected) == ("line 6", True)


@pytest.mark.parametrize("revision", ["0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008"])
def test_a_store_of_every_released_schema_is_clean(tmp_path: Path, revision: str) -> None:
    store = open_store(url(tmp_path))
    home = add_experiment(store)
    for name in ("als", "ease"):
        store.runs.add(a_run(home, name), [a_curve()])
    store.close()
    older(tmp_path, revision)
    store = open_store(url(tmp_path))
    assert store.audit.audited().mismatches == ()
    assert len(store.audit.audited().unsealed) == 3
    store.runs.add(a_run(home, "svd"), [a_curve()])
    assert (store.audit.audited().mismatches, store.check()) == ((), [])
    assert len(store.audit.audited().unsealed) == 3
    store.close()


def test_a_restored_backup_is_clean_and_keeps_the_key(folder: Path) -> None:
    store = open_store(url(folder))
    store.back_up(folder / "kept.tar")
    store.close()
    restore_store(folder / "kept.tar", url(folder / "elsewhere"))
    assert audited(folder / "elsewhere") == []
    restore_store(folder / "kept.tar", url(folder), replace=True)
    assert audited(folder) == []
    (aside,) = folder.glob("before-restore-*")
    assert audited(aside) == []


def test_a_restore_to_a_new_place_that_ends_once_the_database_is_there_has_the_key(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(url(folder))
    store.back_up(folder / "kept")
    store.close()
    elsewhere, replace_file = folder / "elsewhere", Path.replace

    def end_after_the_database(path: Path, target: Path) -> Path:
        replaced = replace_file(path, target)
        if target.name == "recdash.db":
            raise KeyboardInterrupt
        return replaced

    monkeypatch.setattr(Path, "replace", end_after_the_database)
    with pytest.raises(KeyboardInterrupt):
        restore_store(folder / "kept", url(elsewhere))
    monkeypatch.undo()
    assert audited(elsewhere) == []


def test_a_store_put_back_to_before_its_key_is_clean(old_folder: Path) -> None:
    store = open_store(url(old_folder))
    (key,) = (old_folder / "artifacts").rglob("audit.key")
    kept = key.read_bytes()
    store.back_up(old_folder / "kept")
    (old_folder / "kept" / "audit.key").unlink()
    manifest = json.loads((old_folder / "kept" / "manifest.json").read_text())
    del manifest["files"]["audit.key"]
    (old_folder / "kept" / "manifest.json").write_text(json.dumps(manifest))
    facts = json.loads(kept)
    facts["since"]["last"] = 99  # as if the key had come later than this backup
    store.close()
    key.write_text(json.dumps(facts))
    assert audited(old_folder) != []
    restore_store(old_folder / "kept", url(old_folder), replace=True)
    assert audited(old_folder) == []


def test_a_reader_without_a_key_reads_the_plain_lines(old_folder: Path) -> None:
    store = open_store(url(old_folder))
    store.close()
    for key in old_folder.rglob("audit.key"):
        key.unlink()
    reader = open_store(url(old_folder), read_only=True)
    assert reader.audit.breaks() == []
    reader.close()
    assert list(old_folder.rglob("audit.key")) == []


@pytest.fixture
def without_files(folder: Path) -> Path:
    """The folder of a store whose files were moved away, with the key of its log."""
    (folder / "artifacts").rename(folder / "elsewhere")
    return folder


def test_a_log_is_not_continued_without_its_key(without_files: Path) -> None:
    store = open_store(url(without_files))
    (home,) = store.experiments.all()
    with pytest.raises(StoreError, match=r"audit\.key.* is missing.*Nothing was changed.*RECDASH_ARTIFACTS"):
        store.experiments.update(home.id, note="written meanwhile")
    assert store.experiments.get(home.id).note == home.note
    result = store.audit.audited()
    (mismatch,) = [mismatch for mismatch in result.mismatches if mismatch.table == "deed"]
    assert "key is missing" in mismatch.found
    assert result.plain == 0
    store.close()
    assert list((without_files / "artifacts").rglob("audit.key")) == []
    shutil.rmtree(without_files / "artifacts")
    (without_files / "elsewhere").rename(without_files / "artifacts")
    store = open_store(url(without_files))
    store.experiments.update(home.id, note="written with the key")
    store.close()
    assert audited(without_files) == []


def test_a_log_can_be_continued_with_a_new_key_if_the_old_one_is_lost(without_files: Path) -> None:
    store = open_store(url(without_files), found_artifacts="leave")
    (home,) = store.experiments.all()
    before = store.audit.events(None)[-1].number
    store.experiments.update(home.id, note="written with another key")
    result = store.audit.audited()
    lines = [mismatch.row for mismatch in result.mismatches if mismatch.table == "deed"]
    assert lines == [f"line {number}" for number in range(1, before + 1)]
    assert result.plain == 0
    store.close()


def test_a_copy_with_its_files_is_clean(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = tmp_path_factory.mktemp("copy") / "store"
    shutil.copytree(folder, copy)
    assert audited(copy) == []


def test_a_run_that_was_scored_again_is_sealed_again(folder: Path) -> None:
    store = open_store(url(folder))
    home = store.experiments.named("Films")
    assert home is not None
    key = run_named(store, home.id, "svd")
    scored = a_run(home, "svd", put_table(store, 5))
    store.runs.replace_scores(key, scored, [a_curve("recall")], [(a_run(home, "3"), [a_curve()])])
    assert store.audit.audited().mismatches == ()
    store.close()
    with closing(sqlite3.connect(folder / "recdash.db")) as database, database:
        database.executescript("DELETE FROM curve WHERE run = (SELECT id FROM run WHERE name = '3')")
    database.close()
    (mismatch,) = audited(folder)
    assert (mismatch.row, mismatch.found) == ("curves of run '3' of 'Films'", "it has no curves")
