"""Settings come from the environment, are checked, and have defaults that need no set-up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from recdash.errors import InputError
from recdash.ingest import Limits
from recdash.settings import Settings, settings
from recdash.store import open_store


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No setting of the caller's, and an empty folder to run in."""
    for name in os.environ:
        if name.startswith("RECDASH_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    settings.cache_clear()
    yield
    settings.cache_clear()


def test_without_any_setting_everything_is_in_recdash_data_and_local(tmp_path: Path) -> None:
    assert settings().database_url == f"sqlite:///{tmp_path}/recdash-data/recdash.db"
    assert settings().artifacts is None
    assert (settings().host, settings().port) == ("127.0.0.1", 8501)


def test_a_setting_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_PORT", "9000")
    monkeypatch.setenv("RECDASH_ARTIFACTS", "/srv/files")
    assert (settings().port, settings().artifacts) == (9000, Path("/srv/files"))


def test_an_empty_variable_means_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_PORT", "")
    assert settings().port == 8501


def test_further_hosts_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings().hosts() == frozenset()
    settings.cache_clear()
    monkeypatch.setenv("RECDASH_ALLOWED_HOSTS", "Team.example, films.example,")
    assert settings().hosts() == {"team.example", "films.example"}


def test_settings_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = settings()
    monkeypatch.setenv("RECDASH_PORT", "9000")
    assert settings() is first


def test_every_value_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_PORT", "high")
    monkeypatch.setenv("RECDASH_MAX_ROWS", "0")
    with pytest.raises(InputError) as caught:
        settings()
    assert {(problem.place, problem.found) for problem in caught.value.problems} == {
        ("environment variable RECDASH_PORT", "'high' cannot be used"),
        ("environment variable RECDASH_MAX_ROWS", "'0' cannot be used"),
    }


def test_the_limits_are_those_that_ingest_knows() -> None:
    assert Limits(**settings().limits()).rows == settings().max_rows
    assert set(settings().limits()) == set(Limits.__dataclass_fields__)


def test_settings_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="frozen"):
        settings().port = 1


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_a_store_without_arguments_is_where_the_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{tmp_path}/a/films.db")
    monkeypatch.setenv("RECDASH_ARTIFACTS", f"{tmp_path}/b")
    assert folder_of_a_table() == tmp_path / "b"
    assert (tmp_path / "a" / "films.db").is_file()


def test_artifacts_are_beside_the_database_unless_said_otherwise(tmp_path: Path) -> None:
    assert folder_of_a_table() == tmp_path / "recdash-data" / "artifacts"
    assert folder_of_a_table(f"sqlite:///{tmp_path}/a/films.db") == tmp_path / "a" / "artifacts"


def test_the_artifacts_of_the_settings_are_not_used_for_another_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_ARTIFACTS", f"{tmp_path}/b")
    assert folder_of_a_table(f"sqlite:///{tmp_path}/a/films.db") == tmp_path / "a" / "artifacts"


def folder_of_a_table(database_url: str | None = None) -> Path:
    store = open_store(database_url)
    try:
        own = store.artifacts.path(store.artifacts.put(pa.table({"a": [1]}))).parents[1]
        assert own.name.startswith("store-")
        return own.parent
    finally:
        store.close()
