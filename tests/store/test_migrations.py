"""The schema: what the code believes is what the migrations make, and no upgrade loses a row."""

from __future__ import annotations

import ast
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine
from store_contract import NOON, a_curve, a_run, add_experiment

from recdash.domain.journal import ShareLink
from recdash.domain.records import KeptEstimate
from recdash.errors import NameTaken, StoreError, StoreTooNew
from recdash.store import open_store, schema
from recdash.store.schema import HEAD, alembic_config

MIGRATIONS = Path(schema.__file__).parent / "migrations"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "recdash.db"


@pytest.fixture
def engine(database: Path) -> Iterator[Engine]:
    opened = create_engine(f"sqlite:///{database}")
    yield opened
    opened.dispose()


def open_and_close(database: Path, *, read_only: bool = False) -> None:
    open_store(f"sqlite:///{database}", read_only=read_only).close()


def execute(database: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(database)
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_the_migrations_make_the_tables_that_the_code_believes_in(database: Path, engine: Engine) -> None:
    open_and_close(database)
    with engine.connect() as connection:
        command.check(alembic_config(connection))


def test_the_newest_migration_is_the_one_that_the_code_expects() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_heads() == [HEAD]


def test_migrations_import_nothing_of_ours() -> None:
    files = list(MIGRATIONS.rglob("*.py"))
    imported = {name.split(".")[0] for file in files for name in imports_of(file)}
    assert imported - sys.stdlib_module_names == {"alembic", "sqlalchemy"}


def imports_of(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def test_the_first_migration_can_be_taken_back(database: Path, engine: Engine) -> None:
    open_and_close(database)
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "base")
    assert execute(database, "SELECT name FROM sqlite_master WHERE type = 'table'") == [("alembic_version",)]
    open_and_close(database)


def test_a_newer_database_is_refused_and_left_alone(database: Path) -> None:
    open_and_close(database)
    execute(database, "UPDATE alembic_version SET version_num = '9999'")
    for read_only in (False, True):
        with pytest.raises(StoreTooNew, match="schema 9999"):
            open_and_close(database, read_only=read_only)
    assert execute(database, "SELECT version_num FROM alembic_version") == [("9999",)]


def test_a_read_only_store_is_not_upgraded(database: Path) -> None:
    database.touch()
    with pytest.raises(StoreError, match="open it once for writing"):
        open_and_close(database, read_only=True)
    assert database.stat().st_size == 0


def test_a_database_with_other_tables_of_our_names_is_refused(database: Path) -> None:
    execute(database, "CREATE TABLE run (distance REAL)")
    with pytest.raises(StoreError, match="not recdash's"):
        open_and_close(database)


def test_a_database_of_the_first_schema_is_upgraded_and_keeps_its_experiments(
    filled: Path, engine: Engine
) -> None:
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0001")
    assert "tables" not in [column for _, column, *_ in execute(filled, "PRAGMA table_info(experiment)")]
    store = open_store(f"sqlite:///{filled}")
    (experiment,) = store.experiments.all()
    assert (experiment.name, experiment.tables) == ("Films", {})
    assert [run.name for run in store.runs.of_experiment(experiment.id)] == ["als", "ease"]
    store.close()


def test_a_database_without_replicates_is_upgraded_and_keeps_its_runs_names_and_curves(
    filled: Path, engine: Engine
) -> None:
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0002")
    assert "replicate_of" not in [column for _, column, *_ in execute(filled, "PRAGMA table_info(run)")]
    store = open_store(f"sqlite:///{filled}")
    (experiment,) = store.experiments.all()
    runs = store.runs.of_experiment(experiment.id)
    assert [(run.name, run.replicate_of) for run in runs] == [("als", None), ("ease", None)]
    assert set(store.curves.metrics([run.id for run in runs]).values()) == {("ndcg", "recall")}
    with pytest.raises(NameTaken):
        store.runs.add(a_run(experiment, "als"), [])
    store.runs.delete(runs[0].id)
    assert execute(filled, "SELECT count(*) FROM curve") == [(2,)]
    store.close()


def test_a_database_that_is_taken_back_forgets_its_replicates_only(filled: Path, engine: Engine) -> None:
    store = open_store(f"sqlite:///{filled}")
    (experiment,) = store.experiments.all()
    store.runs.add(a_run(experiment, "svd"), [], [(a_run(experiment, "1"), []), (a_run(experiment, "2"), [])])
    store.close()
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0002")
    assert execute(filled, "SELECT name FROM run ORDER BY slot") == [("als",), ("ease",), ("svd",)]


def test_numbers_stored_before_populations_are_called_what_they_are_and_back(
    filled: Path, engine: Engine
) -> None:
    """What counted only lists of users with a relevant item is never taken for the number of all lists."""
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0005")
    engine.dispose()  # SQLite's locks are those of the process: the store must not share the file with it
    execute(filled, "UPDATE curve SET metric = 'coverage' WHERE metric = 'ndcg'")
    execute(filled, "UPDATE curve SET metric = 'entropy(of=train,norm=max)' WHERE metric = 'recall'")
    open_and_close(filled)
    metrics = "SELECT DISTINCT metric FROM curve ORDER BY metric"
    assert execute(filled, metrics) == [
        ("coverage(users=truth)",),
        ("entropy(of=train,norm=max,users=truth)",),
    ]
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0005")
    assert execute(filled, metrics) == [("coverage",), ("entropy(of=train,norm=max)",)]


def test_a_number_of_all_lists_has_no_name_before_populations(filled: Path, engine: Engine) -> None:
    execute(filled, "UPDATE curve SET metric = 'gini' WHERE metric = 'ndcg'")
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0005")
    assert execute(filled, "SELECT DISTINCT metric FROM curve") == [("recall",)]


def test_a_database_that_demands_test_sets_is_upgraded_and_keeps_all_rows(
    filled: Path, engine: Engine
) -> None:
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0007")
    engine.dispose()
    required = "SELECT \"notnull\" FROM pragma_table_info('experiment') WHERE name = 'truth'"
    assert execute(filled, required) == [(1,)]
    store = open_store(f"sqlite:///{filled}")
    (experiment,) = store.experiments.all()
    assert execute(filled, required) == [(0,)]
    assert [run.name for run in store.runs.of_experiment(experiment.id)] == ["als", "ease"]
    assert store.damaged() == []
    store.experiments.add(replace(experiment, id="shop", name="Shop", truth=None))
    store.close()
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0007")
    assert execute(filled, "SELECT name FROM experiment") == [("Films",)]


def test_links_of_before_stay_as_they_were_written_and_limited_ones_are_not_widened(
    filled: Path, engine: Engine
) -> None:
    store = open_store(f"sqlite:///{filled}")
    home = store.experiments.all()[0].id
    store.share_links.add(ShareLink("plain", home, NOON, "ann", NOON))
    store.share_links.add(ShareLink("limited", home, NOON, "ann", NOON, numbers_only=True))
    store.share_links.note_use("plain", NOON, opened=True)
    store.close()
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0008")
    engine.dispose()
    assert execute(filled, "SELECT id FROM share_link") == [("plain",)]
    store = open_store(f"sqlite:///{filled}")
    (link,) = store.share_links.of_experiment(home)
    assert (link.numbers_only, store.damaged()) == (None, [])
    assert store.audit.altered() == ["share link limited (missing)"]
    assert store.share_links.uses(home) == {}
    store.close()


def test_a_database_without_off_policy_estimates_is_upgraded_and_keeps_its_rows(
    filled: Path, engine: Engine
) -> None:
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0011")
    engine.dispose()
    tables = "SELECT name FROM sqlite_master WHERE name = 'off_policy_estimate'"
    assert execute(filled, tables) == []
    store = open_store(f"sqlite:///{filled}")
    (experiment,) = store.experiments.all()
    assert [run.name for run in store.runs.of_experiment(experiment.id)] == ["als", "ease"]
    assert store.estimates.of_experiment(experiment.id) == []
    estimate = KeptEstimate("o", experiment.id, NOON, "ann", "uniform")
    assert store.estimates.add(estimate) == estimate
    assert (store.damaged(), store.audit.altered()) == ([], [])
    store.close()


NEXT = """
import sqlalchemy as sa
from alembic import op
revision = "9998"
down_revision = "{head}"

def upgrade():
    with op.batch_alter_table("experiment", recreate="always") as table:
        table.add_column(sa.Column("colour", sa.Text))
    {more}
"""


@pytest.fixture
def filled(database: Path) -> Path:
    """A database with an experiment, two runs and their curves."""
    store = open_store(f"sqlite:///{database}")
    experiment = add_experiment(store)
    for name in ("als", "ease"):
        store.runs.add(a_run(experiment, name), [a_curve("ndcg"), a_curve("recall")])
    store.close()
    return database


def add_migration(folder: Path, monkeypatch: pytest.MonkeyPatch, more: str = "") -> None:
    """Pretend that a release has a further migration, which recreates the table of experiments."""
    versions = folder / "versions"
    versions.mkdir()
    (versions / "9998_colour.py").write_text(NEXT.format(head=HEAD, more=more))
    real = schema.alembic_config

    def with_next(*args: object) -> object:
        config = real(*args)
        config.set_main_option("version_locations", f"{MIGRATIONS / 'versions'}:{versions}")
        return config

    monkeypatch.setattr(schema, "alembic_config", with_next)
    monkeypatch.setattr(schema, "HEAD", "9998")


def test_an_upgrade_that_recreates_a_parent_table_keeps_its_children(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_migration(tmp_path, monkeypatch)
    open_and_close(filled)
    assert execute(filled, "SELECT version_num FROM alembic_version") == [("9998",)]
    tables = ("SELECT id FROM experiment", "SELECT id FROM run", "SELECT metric FROM curve")
    assert [len(execute(filled, rows)) for rows in tables] == [1, 2, 4]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("op.execute('DELETE FROM experiment')", "break references"),
        ("op.execute('SELECT * FROM nowhere')", "no such table: nowhere"),
    ],
)
def test_an_upgrade_that_fails_changes_nothing(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, found: str
) -> None:
    before = execute(filled, "SELECT sql FROM sqlite_master ORDER BY name")
    with monkeypatch.context() as release:
        add_migration(tmp_path, release, more)
        with pytest.raises(StoreError, match=found):
            open_and_close(filled)
    assert execute(filled, "SELECT sql FROM sqlite_master ORDER BY name") == before
    assert execute(filled, "SELECT count(*) FROM experiment") == [(1,)]
    open_and_close(filled)
