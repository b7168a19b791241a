"""The audit log shows where somebody changed it afterwards."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from store_contract import NOON, add_experiment

from recdash.domain.journal import AuditEvent, Entry
from recdash.store import open_store
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
    assert breaks(store.audit.events()) == []
    with sqlite3.connect(file) as other:
        other.execute("UPDATE deed SET who = 'eve' WHERE number = 2")
    other.close()
    assert breaks(store.audit.events()) == [2]
    store.close()


def test_what_was_rewritten_in_the_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "recdash.db"
    store = open_store(f"sqlite:///{file}")
    home = add_experiment(store).id
    for name in ("e1", "e2"):
        store.journal.add(Entry(name, home, NOON, "ann", "decision", facts={"outcome": "ship", "n": 3}))
    assert store.audit.altered() == []
    with sqlite3.connect(file) as other:
        other.execute("UPDATE entry SET facts = replace(facts, 'ship', 'do not ship') WHERE id = 'e2'")
        other.execute("INSERT INTO entry SELECT 'e3', experiment, created, author, kind, about, text, facts, "
                      "checksum FROM entry WHERE id = 'e1'")  # fmt: skip
    other.close()
    assert breaks(store.audit.events()) == []
    assert sorted(store.audit.altered()) == ["decision e2", "decision e3"]
    store.close()


def test_long_things_are_told_in_short() -> None:
    told = short({"note": "x" * 500, "results": [{"a": 1}], "tags": ("a", "b"), "at": NOON, "n": None})
    assert told == {
        "note": "x" * LONGEST + "…", "results": "…", "tags": ["a", "b"], "at": NOON.isoformat(), "n": None,
    }  # fmt: skip
