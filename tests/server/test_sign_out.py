"""A real server with a key: who signs out is out, and so is everyone who has copied the cookie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from app_pages import lists, store
from web_house import House, Tab, ask, opening, stream

from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.web.startup_checks import key_of


@dataclass(frozen=True)
class Keyed:
    """A running dashboard with a key, and addresses that show data."""

    house: House
    key: str

    def sign_in(self) -> dict[str, str]:
        """The headers of a browser that has just opened the printed address."""
        answer = ask(self.house, f"/key/{self.key}", {})
        assert answer.status == 303
        return {"cookie": answer.headers["set-cookie"].split(";")[0]}

    def statuses(self, headers: dict[str, str]) -> list[int]:
        paths = ("/", f"/reports/{self.house.report}")
        return [*(ask(self.house, path, headers).status for path in paths), opening(self.house, headers)]


@pytest.fixture(scope="module")
def keyed(lasting_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Keyed:
    data = tmp_path_factory.mktemp("keyed")
    started = lasting_server(data=data, settings={"RECDASH_AUTH": "key"})
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    ids = store(workspace, {"als": lists(1), "popular": lists(2)})
    report = Reports(workspace).make(Reports(workspace).question(ids["films"]), title="Films")
    return Keyed(House(started.url, workspace, ids, "", report.id), key_of(workspace.secret()))


def test_a_copied_cookie_stops_working_when_its_owner_signs_out(keyed: Keyed) -> None:
    owner, other = keyed.sign_in(), keyed.sign_in()
    copied = dict(owner)
    assert keyed.key not in owner["cookie"]
    assert keyed.statuses(copied) == keyed.statuses(other) == [200, 200, 101]
    with stream(keyed.house, copied) as wire:
        tab = Tab(keyed.house, copied, wire)
        assert "als" in tab.said
        assert "key/sign-out" in tab.said
        asked = ask(keyed.house, "/key/sign-out", owner)
        assert (asked.status, b"Sign out</button>" in asked.body) == (200, True)
        assert keyed.statuses(owner) == [200, 200, 101]
        left = ask(keyed.house, "/key/sign-out", owner, method="POST")
        assert (left.status, left.headers["location"]) == (303, "../")
        assert "max-age=0" in left.headers["set-cookie"].lower()
        tab.said = ""
        tab.run()
        assert "Sign in to read this" in tab.said
        assert "als" not in tab.said
    assert keyed.statuses(copied) == [403, 403, 403]
    assert keyed.statuses(other) == keyed.statuses(keyed.sign_in()) == [200, 200, 101]


def test_a_cookie_of_before_that_holds_the_key_leads_to_the_printed_address(keyed: Keyed) -> None:
    name = keyed.sign_in()["cookie"].partition("=")[0]
    headers = {"cookie": f"{name}={keyed.key}", "accept": "text/html"}
    answer = ask(keyed.house, "/", headers)
    assert (answer.status, b"You are not signed in" in answer.body) == (403, True)
    assert b"it ends in /key/" in answer.body
    assert ask(keyed.house, f"/key/{keyed.key}", headers).status == 303
