"""Notices of counting an A/B test are refused like those of a file: in Python, by commands, and by a plan."""

from __future__ import annotations

import pytest
from terminal import Recdash

import recdash
from recdash.errors import InputError
from recdash.online.rules import OnlineRules
from recdash.service import Workspace
from recdash.service.catalog.intake import IntakeFile

HEADER = "unit_id,session_id,variant,start_ts,clicks\n"
ROWS = [
    f"u{n},s{n},{'control' if n % 2 else 'new'},2026-03-0{1 + n % 3}T10:00:00Z,{n % 4}\n" for n in range(400)
]
SESSIONS = "".join(
    [
        HEADER,
        *ROWS,
        "u1,t1,new,2026-03-02T11:00:00Z,1\n",  # a user with both variants
        ROWS[2],  # the same session again
        "u4,t4,new,2026-03-02T12:00:00Z,900\n",  # more clicks in a day than the filter allows
        "u6,t6,new,2026-02-01T12:00:00Z,1\n",  # before the first day
    ]
)
CODES = ["bots", "crossovers", "duplicate-session", "before", "few-days"]
FILES = {"sessions.csv": SESSIONS}


@pytest.mark.parametrize("code", CODES)
def test_in_python(code: str) -> None:
    rules = OnlineRules(starts="2026-03-01")
    results = recdash.ab_test(sessions=SESSIONS.encode(), rules=rules)
    assert code in {notice.code for notice in results.noticed()}
    with pytest.raises(InputError, match=f"Files with the notice '{code}' are refused") as refusal:
        recdash.ab_test(sessions=SESSIONS.encode(), rules=rules, refuse=code)
    assert {problem.code for problem in refusal.value.problems} == {code}


@pytest.mark.parametrize(
    ("code", "command"),
    [
        ("bots", ("online", "--sessions", "sessions.csv")),
        ("crossovers", ("online", "--sessions", "sessions.csv", "--experiment", "shop")),
        ("bots", ("add", "--experiment", "new", "--sessions", "test=sessions.csv")),
        ("duplicate-session", ("add", "--experiment", "new", "sessions.csv")),
    ],
)
def test_by_commands(run: Recdash, code: str, command: tuple[str, ...]) -> None:
    assert run("add", "--experiment", "shop", "--sessions", "first=sessions.csv").exit_code == 0
    refused = run(*command, "--refuse", code)
    assert refused.exit_code == 2, refused.stdout
    assert f"Files with the notice '{code}' are refused, as you chose." in refused.stderr
    assert "new" not in run("list").stdout


def test_by_a_plan(workspace: Workspace) -> None:
    plan = workspace.intake.plan([IntakeFile("1", "sessions.csv", SESSIONS.encode())])
    assert plan.problems == ()
    refused = plan.with_settings(refuse=("bots",))
    assert [problem.code for problem in refused.problems] == ["bots"]
    assert not refused.is_ready
