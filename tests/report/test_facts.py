"""Sentences of different releases state the same facts, or they do not."""

from __future__ import annotations

import pytest

from recdash.report.reproduce.facts import states_the_same

NAMED = ("als", "popular", "ease")
OLD = "nDCG@10 of als is 230 % above popular"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (OLD, "als has an nDCG@10 above popular by 230 %"),
        (OLD, "nDCG@10 of als is 3.3 times that of popular"),
        ("+226 %", "×3.26"),
        ("95 % CI +161 to +246 %", "95 % CI ×2.61 to ×3.46"),
        ("95 % CI −5.00 to +246 %", "95 % CI ×0.95 to ×3.46"),
        ("+1,234 %", "×13.3"),
        ("no direction at 3", "3 and no direction"),
    ],
)
def test_other_words_and_factors_for_the_same_facts(text: str, other: str) -> None:
    assert states_the_same(text, other, NAMED)
    assert states_the_same(other, text, NAMED)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        (OLD, "nDCG@10 of als is 230 % below popular"),
        (OLD, "nDCG@10 of ease is 230 % above popular"),
        (OLD, "nDCG@10 of als is 240 % above popular"),
        (OLD, "nDCG@5 of als is 3.3 times that of popular"),
        (OLD, "nDCG@10 of als is 3.5 times that of popular"),
        ("nDCG@10 of als is 230 % below popular", "nDCG@10 of als is 3.3 times that of popular"),
        ("+229 %", "×3.26"),
        ("95 % CI +161 to +246 %", "95 % CI ×2.61"),
    ],
)
def test_other_facts(text: str, other: str) -> None:
    assert not states_the_same(text, other, NAMED)
