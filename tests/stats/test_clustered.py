"""Degrees of freedom of cluster-robust errors, against the same formula in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from recdash.stats.clustered import clustered_error


def exact_degrees(shares: list[float]) -> float:
    """Returns 1 / (Σ own² − 2 Σ own · pull + (Σ pull)²) without rounding."""
    exact = [Fraction(share) for share in shares]
    own = [share / (1 - share) for share in exact]
    pull = [share**2 / (1 - share) for share in exact]
    both = sum(o * p for o, p in zip(own, pull, strict=True))
    return float(1 / (sum(o**2 for o in own) - 2 * both + sum(pull) ** 2))


@pytest.mark.parametrize("largest", [0.25, 0.9, 1 - 1e-7, 1 - 1e-9, 1 - 1e-12, 1 - 2e-16])
def test_degrees_of_freedom_are_exact_where_one_cluster_has_nearly_all_shares(largest: float) -> None:
    shares = [largest, *[(1 - largest) / 3] * 3]
    _, degrees = clustered_error(np.array(shares), np.array([1.0, -1.0, 0.5, -0.5]))
    assert degrees == pytest.approx(exact_degrees(shares), rel=1e-9)
