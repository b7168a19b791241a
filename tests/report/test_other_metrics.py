"""The table of other metrics: guardrails and changes in the words and forms of the pages."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from report_tables import SPREAD, opened, rated_films

from recdash.comparison.guardrails import GuardrailResult
from recdash.formatting.tables import shown
from recdash.report.document import RISKS_WORDING, WORDING, Document
from recdash.report.reports import Reports
from recdash.report.sections.leader_table import _rail_row


def rail_cells(rail: GuardrailResult, wording: int) -> list[str]:
    """Returns change, interval and finding as shown."""
    context: Any = SimpleNamespace(wording=wording)
    return [shown(cell, {}) for cell in _rail_row(context, "Coverage@10", rail)[3:6]]


@pytest.mark.parametrize(
    ("rail", "now", "former"),
    [
        (
            GuardrailResult("coverage", 0.3, 0.5, 0.2, -0.45, -0.35, ""),
            ["−40.0 %", "−45.0 to −35.0 %", "▼ exceeds its guardrail"],
            ["−40.0 %", "−45.0 to −35.0 %", "▼ below its guardrail"],
        ),
        (
            GuardrailResult("coverage", 0.18, 0.003, 0.2, 49, 70, ""),
            ["×60.0", "×50.0 to ×71.0", "▲ within its guardrail"],
            ["+5,900 %", "+4,900 to +7,000 %", "▲ within its guardrail"],
        ),
        (
            GuardrailResult("coverage", 0.3, 0.002, 0.2),  # 150 times as much
            ["+0.298", "–", "▲ within its guardrail"],
            ["+14,900 %", "–", "▲ within its guardrail"],
        ),
    ],
)
def test_a_guardrail_has_the_words_of_the_pages(
    rail: GuardrailResult, now: list[str], former: list[str]
) -> None:
    assert rail_cells(rail, WORDING) == now
    assert rail_cells(rail, RISKS_WORDING) == former


def changes(document: Document) -> dict[str, list[str]]:
    """Returns {metric: change and interval as shown}."""
    (table,) = [one for _, one in document.tables() if "other metrics" in one.title]
    rows = [[shown(cell, document.names) for cell in row] for row in table.rows]
    return {row[0]: row[3:5] for row in rows}


def test_a_doubling_is_a_factor(tmp_path: Path) -> None:
    """als has an MRR@3 of 0.9: 2.7 times that of popular, 1/3."""
    space = opened(tmp_path)
    made = rated_films(space, SPREAD)
    question = Reports(space).question(made, space.queries.of(made, metric="ndcg", k=3))
    now, former = (
        changes(Reports(space).content(question, wording=wording)) for wording in (WORDING, RISKS_WORDING)
    )
    assert now["MRR@3"][0] == "×2.70"
    assert former["MRR@3"][0] == "+170 %"
    assert now["Recall@3"] == former["Recall@3"]
    assert now["Recall@3"][0] == "−10.0 %"
