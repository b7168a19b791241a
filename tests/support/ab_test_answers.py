"""All that an A/B test answers, to compare one that was counted in two ways."""

from __future__ import annotations

from typing import Any

import pandas as pd

OF_FILES = "parts"
"""The code of the notice that several files are one table, which only a local reading has to say."""


def facts(test: Any) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Returns all tables that a test answers, and what was counted, noticed and left out."""
    answers = {
        "results": test, "segments": test.segments(), "days": test.days(), "power": test.power(),
        "daily": test.days(scale="daily"), "chance": test.chance_to_win(),
    }  # fmt: skip
    return {name: answer.table() for name, answer in answers.items()}, {
        "users": dict(test.users),
        "removed": [(removed.rule, dict(removed.by_variant)) for removed in test.removed],
        "warnings": [str(problem) for problem in test.health.warnings],
        "notices": [str(problem) for problem in test.notices if problem.code != OF_FILES],
    }


def assert_equal(got: Any, expected: Any) -> None:
    """Asserts that all words are the same, and all numbers within 1e-9."""
    (tables, words), (expected_tables, expected_words) = facts(got), facts(expected)
    assert words == expected_words
    for name, table in expected_tables.items():
        assert len(table)
        pd.testing.assert_frame_equal(tables[name], table, check_exact=False, rtol=0, atol=1e-9)


def words_in(test: Any) -> set[str]:
    """Returns what a log must have, so that equal results say something."""
    return {*(metric.name for metric in test.source.metrics), *(removed.rule for removed in test.removed)} | {
        notice.code for notice in test.notices
    }
