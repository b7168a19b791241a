"""The audit log shows where somebody changed it afterwards."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_contract import NOON, add_experiment

from recdash.domain.journal import AuditEvent, Entry, Report, SavedView, ShareLink
from recdash.store import Store, open_store
from recdash.store.audit import LONGEST, breaks, hash_of, short


def log_of(lines: int) -> list[AuditEvent]:
    deeds: list[AuditEvent] = []
    for number in range(1, lines + 1):
        before = deeds[-1].hash if deeds else ""
        deed = AuditEvent(number, NOON, "ann", "editor", "change run", f"run{number}", {"note": "x"}, "")
        deeds.append(AuditEvent(**{**vars(deed), "hash": hash_of(deed, before)}))
    return deeds


def test_an_untouched_log_has_no_break() -> None:
    assert breaks(log_of(5)) == []
    assert breaks([]) == []


@pytest.mark.parametrize(
    "change",
    [{"who": "bob"}, {"role": "admin"}, {"action": "delete run"}, {"target": "run9"}, {"details": {}}],
)
def test_a_changed_line_is_named(change: dict[str, object]) -> None:
    deeds = log_of(5)
    deeds[2] = AuditEvent(**{**vars(deeds[2]), **change})
    assert breaks(deeds) == [3]


def test_a_line_that_was_taken_out_is_missed_at_the_next() -> None:
    deeds = log_of(5)
    assert breaks(deeds[:2] + deeds[3:]) == [4]
    assert breaks(deeds[1:]) == [2]


def test_two_lines_that_changed_places_are_found() -> None:
    deeds = log_of(3)
    assert breaks([deeds[1], deeds[0], deeds[2]]) != []


def test_a_line_changed_in_the_database_is_found(tmp_path: Path) -> None:
    file = tmp_path / "recdash.db"
    store = open_store(f"sqlite:///{file}")
    home = add_experiment(store).id
    for number in range(3):
        store.journal.add(Entry(f"e{number}", home, NOON, "ann", "comment", text="x"))
    assert store.audit.breaks() == []
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE deed SET who = 'eve' WHERE number = 2")
    other.close()
    assert store.audit.breaks() == [2]
    store.close()


def test_what_was_rewritten_in_the_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "recdash.db"
    store = open_store(f"sqlite:///{file}")
    home = add_experiment(store).id
    for name in ("e1", "e2"):
        store.journal.add(Entry(name, home, NOON, "ann", "decision", facts={"outcome": "ship", "n": 3}))
    assert store.audit.altered() == []
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE entry SET facts = replace(facts, 'ship', 'do not ship') WHERE id = 'e2'")
        other.execute("INSERT INTO entry SELECT 'e3', experiment, created, author, kind, about, text, facts, "
                      "checksum FROM entry WHERE id = 'e1'")  # fmt: skip
    other.close()
    assert store.audit.breaks() == []
    assert sorted(store.audit.altered()) == ["decision e2", "decision e3"]
    store.close()


def test_long_things_are_told_in_short() -> None:
    told = short({"note": "x" * 500, "results": [{"a": 1}], "tags": ("a", "b"), "at": NOON, "n": None})
    assert told == {
        "note": "x" * LONGEST + "…", "results": "…", "tags": ["a", "b"], "at": NOON.isoformat(), "n": None,
    }  # fmt: skip


def furnished(folder: Path) -> Store:
    """A store with a decision, a revoked link, a link of a report, an archived report and a view."""
    store = open_store(f"sqlite:///{folder / 'recdash.db'}")
    home, spare = add_experiment(store).id, add_experiment(store, "spare").id
    for place in (home, spare):
        store.journal.add(Entry(f"d-{place}", place, NOON, "ann", "decision", text="Ship it."))
    for report in ("r", "gone"):
        store.reports.add(Report(report, home, NOON, "ann", "Spring"))
        store.share_links.add(ShareLink(f"l-{report}", home, NOON, "ann", NOON, report=report))
    store.share_links.update("l-r", revoked=NOON)
    store.reports.update("r", archived=NOON)
    store.reports.update("r", archived=None)
    store.saved_views.add(SavedView("v", home, "mine", NOON, "ann", "leaderboard", {"k": "2"}))
    store.saved_views.add(SavedView("w", home, "other", NOON, "ann", "leaderboard"))
    store.saved_views.delete("w")
    store.reports.delete("gone")
    store.experiments.delete(spare)
    return store


def test_what_was_changed_and_deleted_by_recdash_is_no_alteration(tmp_path: Path) -> None:
    store = furnished(tmp_path)
    assert (store.audit.altered(), store.audit.breaks()) == ([], [])
    store.close()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("DELETE FROM entry", r"decision d-\w+ \(missing\)"),
        ("DELETE FROM saved_view", r"saved view v \(missing\)"),
        ("DELETE FROM report", r"report r \(missing\)"),
        ("UPDATE share_link SET revoked = NULL", r"share link l-r \(revoked\)"),
        ("UPDATE report SET archived = created", r"report r \(archived\)"),
        ("UPDATE saved_view SET author = 'eve'", "saved view v"),
    ],
)
def test_what_was_deleted_or_taken_back_in_the_database_is_named(
    tmp_path: Path, statement: str, named: str
) -> None:
    store = furnished(tmp_path)
    with closing(sqlite3.connect(tmp_path / "recdash.db")) as other, other:
        other.execute(statement)
    other.close()
    (name,) = store.audit.altered()
    assert re.fullmatch(named, name)
    assert any(problem.code == "altered" and name in problem.place for problem in store.check())
    store.close()
