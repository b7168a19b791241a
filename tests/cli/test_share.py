"""Sharing and the audit log from a terminal."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from terminal import Fill, Recdash

from recdash.service import LinkDead, Workspace
from recdash.settings import settings

FILES = {"truth.csv": "user_id,item_id\nann,dune\n", "als.csv": "user_id,item_id,rank\nann,dune,1\n"}


@pytest.fixture
def films(run: Recdash, filled: Fill) -> Recdash:
    def fill() -> None:
        added = run("add", "--experiment", "films", "--truth", "truth.csv", "--run", "als=als.csv")
        assert added.exit_code == 0, added.output

    filled(fill)
    return run


def test_a_link_is_made_listed_and_taken_back(films: Recdash) -> None:
    made = films(
        "share", "--experiment", "films", "--label", "board", "--days", "7", "--link", "https://x.org/"
    )
    address = made.stdout.strip()
    assert address.startswith("https://x.org/s/")
    token = address.rpartition("/")[2]
    space = Workspace.open()
    assert space.sharing.shared(token).label == "board"
    (listed,) = json.loads(films("links", "--experiment", "films", "--format", "json").stdout)
    assert (listed["state"], listed["opens"], listed["label"]) == ("alive", "experiment", "board")
    assert "recdash revoke " + listed["id"][:12] in made.stderr
    assert films("revoke", listed["id"][:12]).exit_code == 0
    with pytest.raises(LinkDead, match="revoked"):
        space.sharing.shared(token)
    assert (listed["shows"], listed["last_used"], listed["opened"]) == ("all data", None, 0)
    assert "revoked" in films("links", "--experiment", "films").stdout


def test_links_and_views_have_the_port_of_the_settings(
    films: Recdash, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECDASH_PORT", "9876")
    settings.cache_clear()
    assert films("share", "--experiment", "films").stdout.startswith("http://127.0.0.1:9876/s/")
    saved = films("views", "--experiment", "films", "--save", "weekly").stdout
    assert "http://127.0.0.1:9876/?view=weekly" in saved


def test_an_id_that_names_no_link_is_refused(films: Recdash) -> None:
    refused = films("revoke", "abc")
    assert refused.exit_code == 2
    assert "no share link with an id that begins like this" in refused.stderr


def test_a_link_is_made_for_an_http_address_only(films: Recdash) -> None:
    refused = films("share", "--experiment", "films", "--link", "recdash.example.org")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("recdash: --link: 'recdash.example.org'. Write the dashboard's address")
    assert "no share links" in films("links", "--experiment", "films").stdout


def test_a_report_that_is_not_there_cannot_be_shared(films: Recdash) -> None:
    refused = films("share", "--experiment", "films", "--report", "Spring")
    assert refused.exit_code == 2
    assert "No report is called 'Spring'" in refused.stderr


def test_a_view_is_saved_listed_and_forgotten(films: Recdash) -> None:
    saved = films(
        "views", "--experiment", "films", "--save", "weekly", "--page", "metric-vs-k", "--param", "k=20",
        "--format", "json",
    )  # fmt: skip
    assert json.loads(saved.stdout)[0]["link"] == "http://127.0.0.1:8501/?view=weekly"
    home = Workspace.open().experiments.all()[0].id
    assert Workspace.open().sharing.saved_view("weekly").params == {"e": home, "k": "20"}
    assert "no saved view" in films("views", "--experiment", "films", "--forget", "weekly").stdout
    assert films("views", "--experiment", "films", "--save", "w", "--param", "k").exit_code == 2


def test_the_log_tells_who_did_what_and_whether_it_was_changed(films: Recdash, folder: Path) -> None:
    output = films("audit", "--format", "json")
    facts = json.loads(output.stdout)
    assert [line["action"] for line in facts["lines"]] == ["add run", "add experiment"]
    assert (output.exit_code, facts["broken"]) == (0, [])
    with closing(sqlite3.connect(folder / "store" / "recdash.db")) as other, other:
        other.execute("UPDATE deed SET who = 'eve' WHERE number = 1")
    other.close()
    changed = films("audit")
    assert changed.exit_code == 1
    assert "breaks at line 1" in changed.stderr
