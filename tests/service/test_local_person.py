"""The name of the local user, who did not sign in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from recdash.service.context import UNNAMED, local_person, login_name
from recdash.settings import settings


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    for cached in (login_name, settings):
        cached.cache_clear()
    yield
    for cached in (login_name, settings):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("account", "name"), [("mara", "mara"), ("root", UNNAMED), ("Administrator", UNNAMED)]
)
def test_a_system_account_is_not_the_name_of_a_person(
    monkeypatch: pytest.MonkeyPatch, account: str, name: str
) -> None:
    monkeypatch.delenv("RECDASH_USER", raising=False)
    monkeypatch.setenv("LOGNAME", account)
    assert local_person().name == name


def test_a_name_that_was_set_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_USER", "root")
    assert local_person().name == "root"
