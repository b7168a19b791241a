"""Snapshots of decisions that were stored long ago still open, with every number as it stood."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from recdash.decisions.review import Decision
from recdash.domain.journal import Entry

OLD = Path(__file__).parent / "old" / "decision.json"
"""The facts of a decision as recdash stored them when each value still had a reader of its own."""


@pytest.fixture
def facts() -> dict[str, Any]:
    return json.loads(OLD.read_text("utf-8"))


def decision(facts: dict[str, Any]) -> Decision:
    moment = datetime(2026, 10, 9, tzinfo=UTC)
    return Decision(Entry("d", "films", moment, "Mary", "decision", "p", "Ship it.", facts))


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value, default=dict))


def n_lifts(facts: dict[str, Any]) -> int:
    return sum(len(test["lifts"]) for test in facts["online"])


def test_an_old_decision_is_read_to_the_last_digit(facts: dict[str, Any]) -> None:
    old = decision(facts)
    assert old.offline is not None
    assert json.dumps(as_json(old.subject.as_dict())) == json.dumps(facts["subject"])
    offline = as_json(old.offline.as_dict())
    newer = {name: offline.pop(name) for name in ("has_guardrails", "run", "facts")}
    assert newer == {"has_guardrails": True, "run": None, "facts": []}  # which it did not say
    assert json.dumps(offline) == json.dumps(facts["offline"])
    online = as_json([test.as_dict() for test in old.online])
    assert [lift.pop("plain") for test in online for lift in test["lifts"]] == [None] * n_lifts(facts)
    assert json.dumps(online) == json.dumps(facts["online"])
    assert json.dumps(as_json([asdict(item) for item in old.checklist])) == json.dumps(facts["checklist"])
    assert old.offline.own is not None
    assert (old.about, old.offline.own.word, old.offline.own.value) == ("als", "better", 0.875)
    assert old.online[0].test.name == "home page"


def test_what_is_newer_is_left_out_and_what_is_older_has_its_default(facts: dict[str, Any]) -> None:
    facts["offline"]["added_later"] = 1
    facts["offline"]["pairs"][0]["added_later"] = 1
    (rail, *_) = facts["offline"]["guardrails"]
    for name in ("low", "high", "why_no_interval"):
        del rail[name]
    del facts["offline"]["apart"]
    old = decision(facts).offline
    assert old is not None
    assert old.apart == {}
    assert old.guardrails[0].why_no_interval == "it was not recorded"


def test_what_is_no_snapshot_is_refused(facts: dict[str, Any]) -> None:
    facts["offline"]["pairs"] = 7
    with pytest.raises(ValidationError):
        _ = decision(facts).offline
