"""No pattern takes longer than its text is long: a few bytes of a stranger must not stop the process."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "support" / "pumped_patterns.py"
SECONDS = 90
"""Of processor time for all patterns, which take about four; a pattern that never ends is stopped then."""


def tried(*patterns: str, seconds: int = SECONDS) -> tuple[int, str]:
    """(exit code, the last line) of a process that tries all patterns of recdash, or those given."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *patterns],
        check=False, capture_output=True, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )  # fmt: skip
    return done.returncode, f"{done.stdout.splitlines()[-1:]} {done.stderr[-2000:]}"


def test_every_pattern_is_quick_on_long_texts_made_of_itself() -> None:
    code, last = tried()
    assert code == 0, last


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"(a+)+b", marks=pytest.mark.long),  # exponential
        pytest.param(r"\s*\S+([ ,|;]+\S+)+\s*", marks=pytest.mark.long),  # exponential: 140 bytes never ended
        r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?",  # quadratic
        pytest.param(r"[\W_]+(seed|fold)?[\W_]*$", marks=pytest.mark.long),  # cubic
    ],
)
def test_a_pattern_that_takes_longer_is_noticed(pattern: str) -> None:
    code, last = tried(pattern, seconds=2)
    assert code != 0
    assert "given " in last, "it was stopped by a text"
