"""Cluster-robust standard errors that hold for few clusters, and the degrees of freedom of their t."""

from __future__ import annotations

import math

import numpy as np

from recdash.domain.kinds import Floats


def clustered_error(share: Floats, part: Floats) -> tuple[float, float]:
    """Returns the standard error of an estimate over clusters, and its degrees of freedom.

    ``share`` is each cluster's share L of what determines the estimate; the shares sum to 1, and each is
    below 1. ``part`` is each cluster's contribution s to the difference of the estimate from its expectation.
    A cluster pulls the estimate towards itself, so that the variance is Σ s² / (1 − L). The degrees of
    freedom are Satterthwaite's (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, "CR2").
    """
    pull = np.sort(share**2 / (1 - share))
    pairs = pull[1:] @ pull.cumsum()[:-1]  # Σ over pairs of clusters, exact where one has nearly all shares
    degrees = 1 / float(share @ share + 2 * pairs)
    return math.sqrt(float((part**2 / (1 - share)).sum())), degrees
