"""Wilcoxon's signed-rank test: whether gains or losses prevail, where larger changes count more."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats


def wilcoxon(candidate: Floats, baseline: Floats) -> float:
    """Returns the two-sided p-value of Wilcoxon's signed-rank test (1945) over users [n].

    Users without a change are excluded; the result is 1 if no user's value changed. As in SciPy and the
    papers that cite it, values are not rounded: changes that differ only by rounding errors get different
    ranks.
    """
    from scipy import stats

    changes = candidate - baseline
    return float(stats.wilcoxon(changes).pvalue) if np.any(changes) else 1.0
