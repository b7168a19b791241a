"""Wilcoxon's signed-rank test: whether gains or losses prevail, the larger changes counting more."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats


def wilcoxon(candidate: Floats, baseline: Floats) -> float:
    """Two-sided p of Wilcoxon's signed-rank test (1945) over users [n]; those without a change are left out.

    1 where no user's value changed. The values are taken as they are, as SciPy and the papers that cite it
    do: changes that differ by rounding alone get ranks of their own.
    """
    from scipy import stats

    changes = candidate - baseline
    return float(stats.wilcoxon(changes).pvalue) if np.any(changes) else 1.0
