"""What the recommendation says of users without recommendations, and what would change without them.

Forty users have one relevant item each; popular has it at rank 2 or 3, which is worth 1/log2(3) or 1/2.
Thirty of them are in the training data. als serves these, each with the item at the same rank as popular, but
for two that gain and two that lose.
"""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import pytest
from report_tables import USERS, lists, opened, with_runs

from recdash.comparison import ComparisonQuery, sensitivity
from recdash.comparison.recommendation import Recommendation
from recdash.comparison.source import Source
from recdash.comparison.wording import plain

POPULAR = lists(lambda number: 2 + number % 2)
ALS = lists(lambda number: {0: 1, 1: 2, 2: 3, 4: 0}.get(number, 2 + number % 2))
SECOND, THIRD = 1 / log2(3), 1 / 2


def test_the_same_users_get_one_answer(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = with_runs(space, {"popular": POPULAR, "als": ALS[ALS["user_id"].isin(USERS[:30])]})
    query = space.queries.of(made, metric="ndcg", k=3)
    # u00 gains 1 - second and u01 second - third; u02 loses second - third and u04 second; the rest is equal
    of_served = (1 - SECOND) + (SECOND - THIRD) - (SECOND - THIRD) - SECOND
    of_others = -5 * (SECOND + THIRD)  # u30 to u39
    share = of_others / (of_served + of_others)
    today = space.comparisons.recommendation(query)
    (why,) = map(plain, today.why)
    loss = -(of_served + of_others) / (20 * (SECOND + THIRD))
    assert why == (
        f"als is worse: its nDCG@3 is {100 * loss:.0f} % below popular. {100 * share:.0f} % of this loss "
        "comes from 10 users without recommendations from it; for the other 30, there is no significant "
        "difference."
    )
    base = 15 * (SECOND + THIRD) / 30
    answers = {what_if.question: what_if.answer for what_if in space.comparisons.changes(query)}
    assert answers["Only users with a list"] == (
        f"Same result, but als: no significant difference ({base + of_served / 30:.3f} vs {base:.3f}, n = 30)"
    )
    assert "Only known users" not in answers  # the same thirty users
    former = {
        what_if.question: what_if.answer
        for what_if in space.comparisons.changes(query, former=True, opened=False, by_rule=False)
    }
    assert former["Only users with a list"] == "Same result, but als: no significant difference"
    assert former["Only known users"].startswith("Inconclusive: about ")


@pytest.mark.parametrize("n_served", [30, 40])
def test_runs_are_not_compared_again_if_all_users_have_a_list(
    n_served: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, everyone = opened(tmp_path), lists(lambda number: 1 + number % 3)
    made = with_runs(space, {"popular": POPULAR, "als": everyone[everyone["user_id"].isin(USERS[:n_served])]})
    query = space.queries.of(made, metric="ndcg", k=3)
    compared: list[ComparisonQuery] = []
    recommend = sensitivity._recommend

    def counted(source: Source, query: ComparisonQuery, **how: Any) -> Recommendation:
        compared.append(query)
        return recommend(source, query, **how)

    monkeypatch.setattr(sensitivity, "_recommend", counted)
    answers = {what_if.question: what_if.answer for what_if in space.comparisons.changes(query)}
    assert (answers["Only users with a list"] == "Same result") == (n_served == 40)
    assert len(compared) == (n_served < 40)
