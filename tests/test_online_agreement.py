"""Offline winners and online winners: the corners, and what stays undecided."""

from __future__ import annotations

import pytest

from recdash.online import quadrant


@pytest.mark.parametrize(
    ("offline", "online", "expected"),
    [
        ((0.01, 0.03), (0.02, 0.08), "won both"),
        ((0.01, 0.03), (-0.08, -0.02), "won offline, lost online"),
        ((-0.03, -0.01), (0.02, 0.08), "lost offline, won online"),
        ((-0.03, -0.01), (-0.08, -0.02), "lost both"),
        ((-0.01, 0.03), (0.02, 0.08), "undecided"),
        ((0.01, 0.03), (-0.02, 0.08), "undecided"),
        ((0.0, 0.03), (0.02, 0.08), "undecided"),
        ((0.01, 0.03), (-0.02, 0.0), "undecided"),
        ((0.01, 0.03), (None, None), "undecided"),
        ((float("nan"), float("nan")), (0.02, 0.08), "undecided"),
    ],
)
def test_a_candidate_stands_in_the_corner_that_both_intervals_point_to(
    offline: tuple[float, float], online: tuple[float, float], expected: str
) -> None:
    assert quadrant(*offline, *online) == expected
