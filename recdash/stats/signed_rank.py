"""Wilcoxon's signed-rank test: whether gains or losses prevail, with larger changes counting more."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats


def wilcoxon(candidate: Floats, baseline: Floats) -> float:
    """Returns the two-sided p of Wilcoxon's signed-rank test (1945) over users [n]; those without a change
    are left out.

    1 if no user's value changed. The values are used as they are, as in SciPy and the papers that cite it:
    changes that differ by rounding alone get different ranks.
    """
    from scipy import stats

    changes = candidate - baseline
    return float(stats.wilcoxon(changes).pvalue) if np.any(changes) else 1.0
